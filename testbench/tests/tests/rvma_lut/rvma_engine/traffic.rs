//! Random traffic against the model.

use crate::rvma_lut::rvma_engine::bench::{Bench, Pace, FULL};
use crate::rvma_lut::rvma_engine::host_side::Twin;
use rand::seq::SliceRandom;
use rand::Rng;
use rand_chacha::ChaCha8Rng;
use spindle_contract::params::Config;
use spindle_contract::reasons::{
    BAD_KEY, DROP_REASONS, NO_MAILBOX, NO_POSTED_BUFFER, OUT_OF_BOUNDS, STALE_EPOCH, UNSUPPORTED,
};
use spindle_contract::registers::mailbox_mode::{CATCH_ALL, MANAGED, NACK_OFF, OPS, SPILL, STREAM, TAGGED};
use spindle_contract::wire::{flag, opcode, SPINDLE_BYTES};
use spindle_harness::{run_with_wave_on_failure, WaveContext};
use spindle_model::rvma_lut::Put;
use spindle_sim::host_memory::Timing;

/// Byte offset of the payload in frames without and with VLAN tag.
pub const OFFSETS: [usize; 2] = [90, 94];

pub fn payload(rng: &mut ChaCha8Rng, length: usize) -> Vec<u8> {
    (0..length).map(|_| rng.random()).collect()
}

#[allow(clippy::too_many_arguments)] // one per header field, as the callers read
/// A message cut into packets of `segment` bytes.
pub fn message(
    rng: &mut ChaCha8Rng,
    pid: u16,
    addr: u64,
    key: u32,
    id: u32,
    length: u32,
    buf_off: u32,
    segment: u32,
    slot: u8,
) -> Vec<Put> {
    let count = length.div_ceil(segment).max(1);
    (0..count)
        .map(|i| {
            let msg_off = i * segment;
            Put {
                opcode: if id.is_multiple_of(7) { opcode::GET_RESP } else { opcode::PUT },
                pid,
                addr,
                key,
                message: (0x0A00_0001 + u32::from(pid), 5, id),
                msg_len: length,
                msg_off,
                buf_off,
                payload: payload(rng, segment.min(length - msg_off) as usize),
                slot: (count > 1).then_some(slot),
                ..Default::default()
            }
        })
        .collect()
}

/// The packets of streams change places until they come in the order of their ordinals.
fn in_order(packets: &mut [Put]) {
    let of_stream = |put: &Put| put.flags & flag::MANAGED != 0 && put.flags & flag::EPOCH_VALID != 0;
    let places: Vec<usize> = (0..packets.len()).filter(|i| of_stream(&packets[*i])).collect();
    let mut sorted: Vec<Put> = places.iter().map(|i| packets[*i].clone()).collect();
    sorted.sort_by_key(|put| put.epoch);
    for (place, put) in places.iter().zip(sorted) {
        packets[*place] = put;
    }
}

/// Rounds of: post some buffers, throw in many messages whose packets are shuffled together, wait.
fn storm(context: &WaveContext, pace: Pace, timing: Timing, rounds: usize, posted: bool) {
    let mut rng = context.rng();
    let mut twin = Twin::new(Bench::new(context, &Config::SIM, (1, 1)));
    twin.bench.pace = pace;
    twin.bench.host.timing = timing;
    twin.bench.host.keep_log = true;
    if posted {
        twin.bench.csr(true, spindle_contract::registers::rvma::BASE, 1);
    }
    let boxes: Vec<(u16, u64, u32, u32, u32)> = (0..12u64)
        .map(|i| {
            let mode = [
                SPILL,
                TAGGED,
                OPS,
                MANAGED,
                TAGGED | SPILL,
                0,
                OPS | NACK_OFF,
                STREAM,
                0,
                TAGGED,
                TAGGED | OPS,
                TAGGED,
            ][i as usize];
            let threshold = rng.random_range(1..if mode & OPS == 0 { 2000 } else { 5 });
            ((i % 4) as u16, 0x7000_0000_0000 + (i / 4) * 0x100, rng.random(), threshold, mode)
        })
        .collect();
    for (pid, addr, key, threshold, mode) in &boxes {
        twin.open_mode(*pid, *addr, *key, *threshold, *mode);
    }
    // What finds no buffer of process 0, and no mailbox of process 1. One process with both would have packets of second
    // turns among others, in an order that the model does not know.
    for pid in 0..2 {
        twin.open_mode(pid, 0xCA, 0, 1500, MANAGED | CATCH_ALL);
    }
    let (mut next_base, mut next_record, mut id) = (0x1_0000_0000u64 - 20_000, 0x9_0000_0000u64, 0u32);
    for _ in 0..rounds {
        for (pid, addr, _, threshold, _) in &boxes {
            for _ in 0..rng.random_range(0..6) {
                let size = threshold + rng.random_range(0..6000);
                let base = next_base + rng.random_range(0..200);
                next_base = base + u64::from(size) + 300;
                twin.post(*pid, *addr, base, size, next_record);
                next_record += 16;
            }
        }
        for pid in 0..2 {
            for _ in 0..rng.random_range(0..3) {
                twin.post(pid, 0xCA, next_base, 9000, next_record);
                (next_base, next_record) = (next_base + 9200, next_record + 16);
            }
        }
        // The hardware's epochs lag the model's while packets are under way: a tag is one of those that are open now,
        // and may be closed when it comes, or one that is neither before nor after.
        let epochs: Vec<u64> = boxes.iter().map(|b| twin.model.get_epoch(b.0, b.1).unwrap()).collect();
        let mut turn = boxes.iter().map(|b| twin.model.turn(b.0, b.1)).max().unwrap();
        let mut packets = vec![];
        for slot in 0..40u8 {
            let which = rng.random_range(0..boxes.len());
            let (pid, addr, key, _, mode) = boxes[which];
            id += 1;
            let length = match rng.random_range(0..10) {
                0 => 0,
                1..4 => rng.random_range(1..80),
                4..8 => rng.random_range(1..2000),
                _ => rng.random_range(1..6000),
            };
            let far = rng.random_range(0..8) == 0;
            let buf_off = rng.random_range(0..if far { 8000 } else { 400 });
            let segment = if rng.random() { 1408 } else { rng.random_range(1..600).max(length / 20 + 1) };
            let mut parts = message(&mut rng, pid, addr, key, id, length, buf_off, segment, slot);
            let mut flags = if mode & MANAGED == 0 { 0 } else { flag::MANAGED };
            if rng.random() {
                flags |= flag::UNSEQ;
            }
            if mode & TAGGED != 0 {
                flags |= flag::EPOCH_VALID;
            }
            let ahead = if rng.random_range(0..10) == 0 { rng.random_range(8..30_000) } else { rng.random_range(0..4) };
            let epoch = epochs[which].wrapping_sub(u64::from(rng.random_range(0..10) == 0)).wrapping_add(ahead);
            parts.iter_mut().for_each(|p| (p.flags, p.epoch) = (flags, epoch as u16));
            if mode & STREAM == STREAM && rng.random_range(0..10) != 0 {
                parts.iter_mut().for_each(|p| p.epoch = turn);
                turn = turn.wrapping_add(1);
            }
            if pid < 2 {
                parts.iter_mut().for_each(|p| p.header = payload(&mut rng, SPINDLE_BYTES));
            }
            // Now and then something that must be refused.
            match rng.random_range(0..60) {
                0 => parts.iter_mut().for_each(|p| p.key ^= 1),
                1 => parts[0].key ^= 0x8000_0000,
                2 if pid != 0 => parts.iter_mut().for_each(|p| p.addr ^= 1),
                3 => parts.iter_mut().for_each(|p| p.flags ^= flag::MANAGED),
                4 => parts.iter_mut().for_each(|p| p.opcode = opcode::CTRL),
                5 => parts.iter_mut().for_each(|p| p.pid += 0x100),
                6 => parts.iter_mut().for_each(|p| p.buf_off = u32::MAX - 10),
                7 => parts.last_mut().unwrap().msg_off += 1,
                8 => parts.iter_mut().for_each(|p| p.flags ^= flag::EPOCH_VALID),
                _ => {}
            }
            packets.extend(parts);
        }
        // Handlers send some packets elsewhere, out of their messages.
        for put in &mut packets {
            if rng.random_range(0..12) == 0 {
                let which = rng.random_range(0..boxes.len());
                let (pid, addr, _, _, mode) = boxes[which];
                let stray = rng.random_range(0..20) == 0;
                // Bytes of it, for a message of any kind of mailbox; else its payload.
                let of_bytes: bool = rng.random();
                let ahead: u64 = rng.random_range(0..4);
                let (flags, epoch) = match () {
                    () if !of_bytes || (mode & TAGGED != 0) == stray => (0, 0),
                    () if mode & STREAM == STREAM && rng.random_range(0..10) != 0 => {
                        turn = turn.wrapping_add(1);
                        (flag::MANAGED | flag::EPOCH_VALID, turn.wrapping_sub(1))
                    }
                    () => (flag::EPOCH_VALID, epochs[which].wrapping_add(ahead) as u16),
                };
                *put = Put {
                    opcode: match rng.random_range(0..if stray { 4 } else { 3 }) {
                        _ if of_bytes => 0,
                        code => [0, opcode::PUT, opcode::PUT, opcode::GET][code],
                    },
                    flags,
                    epoch,
                    pid,
                    addr: addr ^ u64::from(rng.random_range(0..20) == 0),
                    message: put.message,
                    msg_len: put.payload.len() as u32,
                    buf_off: if mode & MANAGED != 0 || stray { rng.random() } else { rng.random_range(0..2000) },
                    payload: std::mem::take(&mut put.payload),
                    slot: (!of_bytes).then_some(put.slot.unwrap_or(40)),
                    redirected: true,
                    ..Put::default()
                };
            }
        }
        packets.shuffle(&mut rng);
        if rng.random() {
            in_order(&mut packets);
        }
        for put in &packets {
            let of_bytes = put.redirected && put.slot.is_none();
            let offset = if of_bytes { rng.random_range(0..2048) } else { OFFSETS[rng.random_range(0..2)] };
            twin.put(put, offset);
            if twin.bench.open_packets() > 900 {
                twin.bench.run_until("room", |b| b.open_packets() < 500);
            }
        }
        for _ in 0..rng.random_range(0..10) {
            let who = rng.random_range(0..1024);
            let length = rng.random_range(1..2049);
            let data = payload(&mut rng, length);
            let base = 0x20_0000_0000 + u64::from(id) * 0x1_0000 + rng.random_range(0..0x8000u64);
            id += 1;
            twin.bench.dma(who, base, &data);
            twin.handler_bytes.push((base, data));
        }
        twin.bench.drain();
    }
    // A storm that refuses nothing, or completes next to nothing, would prove little.
    let records = twin.model.records.len();
    assert!(records > 2 * rounds, "the traffic must complete buffers; it completed {records}");
    for reason in [UNSUPPORTED, NO_MAILBOX, BAD_KEY, NO_POSTED_BUFFER, OUT_OF_BOUNDS, STALE_EPOCH] {
        assert!(
            twin.expected.values().any(|e| *e == Err(reason)),
            "the traffic never ran into {}",
            DROP_REASONS[reason].0
        );
    }
    assert!(twin.redirected > rounds, "handlers must send packets here; {} were placed", twin.redirected);
    let in_flight = twin.finish().host.most_in_flight;
    println!("{records} records, at most {in_flight} bursts in flight");
}

#[test]
fn full_speed() {
    run_with_wave_on_failure("rvma_full_speed", |c| {
        storm(c, FULL, Timing { aw_stall: 0, w_stall: 0, response_min: 1, response_max: 1, read_stall: 0 }, 12, false)
    });
}

#[test]
fn everybody_stalls() {
    let pace = Pace { idle: 30, read_stall: 40, done_stall: 50 };
    run_with_wave_on_failure("rvma_everybody_stalls", |c| {
        storm(
            c,
            pace,
            Timing { aw_stall: 50, w_stall: 50, response_min: 1, response_max: 300, read_stall: 0 },
            8,
            false,
        )
    });
}

#[test]
fn posted_order() {
    let pace = Pace { idle: 20, read_stall: 20, done_stall: 20 };
    // Answers in step with the beats, so that the check of the order holds for this mode too.
    run_with_wave_on_failure("rvma_posted_order", |c| {
        storm(c, pace, Timing { aw_stall: 0, w_stall: 30, response_min: 1, response_max: 1, read_stall: 0 }, 4, true)
    });
}

#[test]
fn slow_addresses() {
    run_with_wave_on_failure("rvma_slow_addresses", |c| {
        storm(c, FULL, Timing { aw_stall: 95, w_stall: 0, response_min: 1, response_max: 40, read_stall: 0 }, 4, false)
    });
}

#[test]
fn slow_data_and_slow_scheduler() {
    let pace = Pace { idle: 0, read_stall: 0, done_stall: 95 };
    run_with_wave_on_failure("rvma_slow_data", |c| {
        storm(
            c,
            pace,
            Timing { aw_stall: 0, w_stall: 80, response_min: 200, response_max: 900, read_stall: 0 },
            4,
            false,
        )
    });
}
