//! Pending messages: a buffer completes when they are done.

use crate::rvma_lut::rvma_engine::bench::{Bench, Pace, FULL};
use crate::rvma_lut::rvma_engine::host_side::Twin;
use crate::rvma_lut::rvma_engine::traffic::message;
use rand::seq::{IndexedRandom, SliceRandom};
use rand::Rng;
use spindle_contract::params::Config;
use spindle_contract::reasons::NO_POSTED_BUFFER;
use spindle_contract::registers::mailbox_mode::{CATCH_ALL, MANAGED, OPS, SPILL};
use spindle_contract::wire::{flag, opcode};
use spindle_harness::{run_with_wave_on_failure, share, WaveContext};
use spindle_model::rvma_lut::Put;
use spindle_sim::host_memory::Timing;

const ADDR: u64 = 0x77;
const KEY: u32 = 5;

fn twin(context: &WaveContext, latency: (u64, u64)) -> Twin {
    let mut twin = Twin::new(Bench::new(context, &Config::SIM, latency));
    twin.bench.host.keep_log = true;
    twin
}

/// The message as one of a pending message.
fn pending(puts: Vec<Put>, slot: u8) -> Vec<Put> {
    puts.into_iter().map(|put| Put { holder: Some(slot), ..put }).collect()
}

/// Pending and other messages, shuffled, in mailboxes of every kind; redirected packets to any buffer; COMPLETE while packets
/// arrive, the end of the message after them; buffers that are taken back, and slots that are used again.
fn storm(context: &WaveContext, pace: Pace, rounds: usize) {
    let mut rng = context.rng();
    let mut twin = twin(context, (1, 1));
    twin.bench.pace = pace;
    twin.bench.agents.idle = pace.idle;
    twin.bench.host.timing = Timing { response_min: 2, response_max: 60, ..twin.bench.host.timing };
    // Bytes, operations, managed, one that spills to the next, which catches all.
    let modes = [0, OPS, MANAGED, SPILL, MANAGED | CATCH_ALL];
    let boxes: Vec<(u64, u32)> = modes.iter().enumerate().map(|(i, mode)| (ADDR + i as u64, *mode)).collect();
    for (addr, mode) in &boxes {
        let threshold = if mode & OPS != 0 { 4 } else { 900 };
        twin.open_mode(1, *addr, KEY, threshold, *mode);
    }
    let (mut id, mut base, mut record) = (1, 0x10_0000, 0x8000);
    let mut held = 0;
    for round in 0..rounds {
        for (addr, mode) in &boxes {
            for _ in 0..if mode & SPILL != 0 { rng.random_range(0..2) } else { rng.random_range(1..4) } {
                twin.post(1, *addr, base, 2000, record);
                (base, record) = (base + 0x1000, record + 16);
            }
        }
        let mut slots: Vec<u8> = (0..=255).collect();
        slots.shuffle(&mut rng);
        slots.truncate(rng.random_range(4..12));
        let mut packets = vec![];
        for slot in &slots {
            let (addr, mode) = *boxes[..4].choose(&mut rng).unwrap();
            let length = *[0, 1, 64, 300, 700].choose(&mut rng).unwrap();
            let off = rng.random_range(0..1000);
            id += 1;
            let mut parts = message(&mut rng, 1, addr, KEY, id, length, off, 128, *slot);
            for put in &mut parts {
                put.flags = if mode & MANAGED != 0 { flag::MANAGED } else { 0 };
                put.header = vec![id as u8; 48];
            }
            let is_pending = rng.random_range(0..4) != 0;
            if is_pending {
                parts = pending(parts, *slot);
            }
            // Some of its packets go to other buffers.
            for put in &mut parts {
                if is_pending && rng.random_range(0..4) == 0 {
                    put.redirected = true;
                    // Not to the catch-all mailbox, where a spilled packet may come after the next packet.
                    put.addr = boxes[..4].choose(&mut rng).unwrap().0;
                    put.slot = None;
                    (put.flags, put.msg_off, put.header) = (0, 0, vec![]);
                    put.msg_len = put.payload.len() as u32;
                }
            }
            packets.extend(parts);
        }
        packets.shuffle(&mut rng);
        let mut early: Vec<u8> = slots.iter().copied().filter(|_| rng.random_range(0..3) == 0).collect();
        for put in &packets {
            twin.put(put, 100);
            twin.bench.steps(rng.random_range(0..40));
            if rng.random_range(0..packets.len()) == 0 {
                early.pop().into_iter().for_each(|slot| twin.pending_end(slot, false));
            }
        }
        twin.check_records("before the messages are done");
        held += twin.model.held();
        if rng.random() {
            let (addr, mode) = *boxes.choose(&mut rng).unwrap();
            if rng.random() {
                let _ = twin.inc_epoch(1, addr);
            } else {
                twin.close(1, addr).unwrap();
                twin.open_mode(1, addr, KEY, if mode & OPS != 0 { 4 } else { 900 }, mode);
            }
            // Slots that were given back are posted again while they could still be held.
            twin.post(1, addr, base, 2000, record);
            (base, record) = (base + 0x1000, record + 16);
        }
        twin.check_records("after a buffer was taken back");
        slots.shuffle(&mut rng);
        for slot in &slots {
            if rng.random() {
                twin.pending_end(*slot, false);
                if rng.random() {
                    twin.check_records("after COMPLETE");
                }
            }
        }
        for slot in slots {
            twin.pending_end(slot, true);
        }
        twin.check_records(&format!("after round {round}"));
        assert_eq!(twin.model.held(), 0);
    }
    assert!(held > rounds, "{held} holds in {rounds} rounds");
    twin.finish();
}

#[test]
fn random_pending_messages() {
    run_with_wave_on_failure("rvma_pending", |context| storm(context, FULL, share(60)));
}

#[test]
fn random_pending_messages_with_pauses() {
    run_with_wave_on_failure("rvma_pending_slow", |context| {
        storm(context, Pace { idle: 60, read_stall: 30, done_stall: 30 }, share(40));
    });
}

/// Empty messages close a buffer of operations, and hold it; each order of the ends.
#[test]
fn empty_operations_hold_their_buffer() {
    run_with_wave_on_failure("rvma_pending_empty", |context| {
        let mut rng = context.rng();
        let mut twin = twin(context, (1, 1));
        twin.open_mode(1, ADDR, KEY, 1, OPS);
        for round in 0..8 {
            twin.post(1, ADDR, 0x1_0000 + 0x1000 * round, 100, 0x5000 + 16 * round);
            for put in pending(message(&mut rng, 1, ADDR, KEY, 1 + round as u32, 0, 0, 64, 9), 9) {
                twin.put(&put, 100);
            }
            twin.check_records("the message holds the buffer that it closed");
            twin.pending_end(9, round % 2 == 0);
            twin.check_records("the message is done");
            assert_eq!(twin.model.records.len() as u64, round + 1);
            twin.pending_end(9, true);
        }
        twin.finish();
    });
}

/// One message holds as many buffers as there are nodes, less those that are spared: packets that would hold another one find no
/// buffer, others do. When it is done, all its buffers complete, and all nodes are free again.
#[test]
fn as_many_buffers_as_there_are_nodes() {
    /// The buffer bound last is at the message; below four free nodes there is no room.
    const HELD: u32 = 1 + 256 - 3;
    run_with_wave_on_failure("rvma_pending_nodes", |context| {
        let mut twin = twin(context, (1, 1));
        twin.open_mode(1, ADDR, KEY, 64, 0);
        let mut posted = 0;
        for round in 0..2 {
            for _ in 0..=HELD {
                twin.post(1, ADDR, 0x10_0000 + 0x100 * posted, 64, 0x8000 + 16 * posted);
                posted += 1;
            }
            let put = |number: u32, holder: Option<u8>| Put {
                opcode: opcode::PUT,
                pid: 1,
                addr: ADDR,
                message: (7, 7, number),
                msg_len: 64,
                payload: vec![number as u8; 64],
                holder,
                redirected: true,
                ..Put::default()
            };
            for number in 0..HELD {
                twin.put(&put(number, Some(5)), 100);
                twin.bench.steps(20);
            }
            for slot in [5, 6] {
                let frame = twin.bench.put(&put(HELD, Some(slot)), 100);
                twin.expected.insert(frame, Err(NO_POSTED_BUFFER));
            }
            twin.check_records("all are held");
            assert_eq!(twin.model.held(), HELD as usize);
            twin.put(&put(HELD + 1, None), 100);
            twin.check_records("one is not");
            twin.pending_end(5, true);
            // Epochs take one record in 7 cycles, in which the host is idle for some.
            twin.bench.steps(10 * u64::from(HELD));
            twin.check_records("the message is done");
            assert_eq!(twin.model.records.len() as u32, (round + 1) * (HELD + 1));
        }
        twin.finish();
    });
}

/// Cycles from the end of a pending message to its buffer's record.
#[test]
fn cycles() {
    run_with_wave_on_failure("rvma_pending_cycles", |context| {
        let mut rng = context.rng();
        for closes_late in [false, true] {
            let mut twin = twin(context, (20, 20));
            twin.open_mode(1, ADDR, KEY, 100, 0);
            twin.post(1, ADDR, 0x1_0000, 100, 0x5000);
            for put in pending(message(&mut rng, 1, ADDR, KEY, 1, 100, 0, 100, 3), 3) {
                twin.put(&put, 100);
            }
            twin.bench.drain();
            twin.pending_end(3, closes_late);
            twin.bench.drain();
            let taken = twin.bench.agents.pending_ends.taken[0];
            let record = twin.bench.host.log.iter().find(|burst| burst.bytes[0].0 == 0x5000).expect("a record");
            assert_eq!(record.offered_cycle - taken, 7, "from `pending_end` to AWVALID of the record");
            twin.finish();
        }
    });
}
