//! Epochs, history, and buffers that are taken back: GET_EPOCH, GET_BUF_PTRS, REWIND, INC_EPOCH, CLOSE.

use crate::rvma_lut::rvma_engine::bench::{Bench, Pace, FULL};
use crate::rvma_lut::rvma_engine::host_side::Twin;
use crate::rvma_lut::rvma_engine::traffic::message;
use rand::seq::SliceRandom;
use rand::Rng;
use spindle_contract::params::Config;
use spindle_contract::reasons::{CLOSED, NO_MAILBOX, STALE_EPOCH};
use spindle_contract::registers::{doorbell, doorbell_command, doorbell_error, mailbox_mode};
use spindle_contract::wire::{flag, status};
use spindle_harness::{run_with_wave_on_failure, WaveContext};
use spindle_model::rvma_lut::Put;
use spindle_sim::host_memory::Timing;

const ADDR: u64 = 0x77;
const KEY: u32 = 5;

fn twin(context: &WaveContext, threshold: u32) -> Twin {
    let mut twin = Twin::new(Bench::new(context, &Config::SIM, (1, 30)));
    twin.bench.host.keep_log = true;
    twin.open(1, ADDR, KEY, threshold);
    twin
}

fn parts(context: &WaveContext, id: u32, length: u32, segment: u32) -> Vec<Put> {
    message(&mut context.rng(), 1, ADDR, KEY, id, length, 0, segment, id as u8)
}

/// What the oldest record still says nothing of: (length, status) of all records so far.
fn records(twin: &Twin) -> Vec<(u32, u8)> {
    twin.model.records.iter().map(|r| (r.length, r.status)).collect()
}

/// Buffers complete in any order; the epoch is the oldest that is not complete, the history the order of completion.
#[test]
fn epochs_follow_the_oldest_buffer() {
    run_with_wave_on_failure("rvma_epochs", |context| {
        let mut twin = twin(context, 100);
        assert_eq!(twin.epoch(1, ADDR), Ok(0));
        assert_eq!(twin.buf_ptr(1, ADDR, 0), Err(doorbell_error::NOTHING));
        for i in 0..4 {
            twin.post(1, ADDR, 0x1_0000 + 0x1000 * i, 100, 0x5000 + 16 * i);
        }
        let messages: Vec<Vec<Put>> = (0..4).map(|id| parts(context, id, 100, 60)).collect();
        for message in &messages {
            twin.put(&message[1], 90);
        }
        // Second, fourth, first, third: 0, 0, 2, 4.
        for (id, epoch) in [(1, 0), (3, 0), (0, 2), (2, 4)] {
            twin.put(&messages[id][0], 90);
            assert_eq!(twin.epoch(1, ADDR), Ok(epoch));
            assert_eq!(twin.buf_ptr(1, ADDR, 0), Ok((0x1_0000 + 0x1000 * id as u64, 100)));
        }
        assert_eq!(twin.buf_ptr(1, ADDR, 3), Ok((0x1_1000, 100)));
        assert_eq!(twin.buf_ptr(1, ADDR, 4), Err(doorbell_error::NOTHING));
        // A buffer that is posted again is no history any more.
        twin.post(1, ADDR, 0x1_3000, 100, 0x6000);
        // The order of its old record and its new data means nothing.
        twin.buffers[3].1 = 0;
        assert_eq!(twin.buf_ptr(1, ADDR, 2), Err(doorbell_error::NOTHING));
        assert_eq!(twin.buf_ptr(1, ADDR, 3), Ok((0x1_1000, 100)));
        assert_eq!(twin.rewind(1, ADDR, 2), Err(doorbell_error::NOTHING));
        assert_eq!(twin.rewind(1, ADDR, 1), Ok((0x1_0000, 100)));
        assert_eq!(twin.buf_ptr(1, ADDR, 0), Ok((0x1_0000, 100)));
        assert_eq!(twin.buf_ptr(1, ADDR, 2), Ok((0x1_1000, 100)));
        assert_eq!(twin.epoch(1, ADDR), Ok(4), "the epoch never goes back");
        // Eight are remembered, also after going back.
        for i in 0..9u64 {
            twin.post(1, ADDR, 0x2_0000 + 0x1000 * i, 100, 0x7000 + 16 * i);
        }
        for id in 10..20 {
            for put in parts(context, id, 100, 100) {
                twin.put(&put, 90);
            }
        }
        for back in [0, 7, 8, 15, 16, 1 << 28] {
            let expected = if back < 8 { Ok((0x2_8000 - 0x1000 * u64::from(back), 100)) } else { Err(7) };
            assert_eq!(twin.buf_ptr(1, ADDR, back), expected, "back {back}");
        }
        assert_eq!(twin.rewind(1, ADDR, 3), Ok((0x2_5000, 100)));
        assert_eq!(twin.buf_ptr(1, ADDR, 4), Ok((0x2_1000, 100)));
        assert_eq!(twin.buf_ptr(1, ADDR, 5), Err(doorbell_error::NOTHING));
        // No one reads another's.
        let number = twin.numbers[&(1, ADDR)];
        for command in [doorbell_command::GET_EPOCH, doorbell_command::GET_BUF_PTRS, doorbell_command::REWIND] {
            assert_eq!(twin.bench.about(2, number, 0, command).0, doorbell_error::NO_MAILBOX);
        }
        twin.finish();
    });
}

/// Each of the eight buffers of a full history is posted again, and then is no history any more, wherever the history begins.
#[test]
fn any_buffer_of_the_history_is_posted_again() {
    run_with_wave_on_failure("rvma_posted_again", |context| {
        let mut twin = twin(context, 100);
        let base = |which: u64| 0x1_0000 + 0x1000 * which;
        let mut count = 0;
        let mut next = |twin: &mut Twin, which: u64| {
            // The order of its old record and its new data means nothing.
            twin.buffers.iter_mut().filter(|buffer| buffer.0 == base(which)).for_each(|buffer| buffer.1 = 0);
            twin.post(1, ADDR, base(which), 100, 0x8000 + 16 * count);
            count += 1;
        };
        (0..8).for_each(|which| next(&mut twin, which));
        let mut id = 0;
        let mut complete = |twin: &mut Twin, buffers: u32| {
            for _ in 0..buffers {
                id += 1;
                for put in parts(context, id, 100, 60) {
                    twin.put(&put, 90);
                }
            }
            twin.bench.drain();
        };
        complete(&mut twin, 8);
        // The order in which they are the history, the first one first.
        let mut history: Vec<u64> = (0..8).collect();
        for round in 0..16 {
            let back = (5 * round + round / 8) % 8;
            let which = history.remove(7 - back);
            next(&mut twin, which);
            for i in 0..9 {
                let found = twin.buf_ptr(1, ADDR, i as u32);
                let expected = match i {
                    _ if i == back || i == 8 => Err(doorbell_error::NOTHING),
                    _ => Ok((base(history[if i < back { 6 - i } else { 7 - i }]), 100)),
                };
                assert_eq!(found, expected, "{i} back, after the one {back} back was posted again");
            }
            complete(&mut twin, 1);
            // What is complete for the second time is the last one; the place of the first time stays empty.
            history.push(which);
            // In the second half the history begins at another of its places each time.
            let others = if round < 8 { 7 } else { 8 };
            for _ in 0..others {
                let oldest = history.remove(0);
                next(&mut twin, oldest);
                complete(&mut twin, 1);
                history.push(oldest);
            }
        }
        twin.finish();
    });
}

/// INC_EPOCH ends the oldest buffer with what has been placed; the rest of its messages is stale, the next buffer is not
/// touched.
#[test]
fn inc_epoch_cuts_the_oldest_buffer() {
    run_with_wave_on_failure("rvma_inc_epoch", |context| {
        let mut twin = twin(context, 300);
        assert_eq!(twin.inc_epoch(1, ADDR), Err(doorbell_error::NOTHING));
        for i in 0..4 {
            twin.post(1, ADDR, 0x1_0000 + 0x1000 * i, 400, 0x5000 + 16 * i);
        }
        // The first buffer drains, the second is the head.
        let first = parts(context, 1, 300, 100);
        let second = parts(context, 2, 200, 100);
        for put in [&first[2], &second[0]] {
            twin.put(put, 90);
        }
        assert_eq!(twin.inc_epoch(1, ADDR), Ok(()));
        assert_eq!(records(&twin), [(100, status::PARTIAL)]);
        assert_eq!(twin.epoch(1, ADDR), Ok(1));
        let stale = twin.put(&first[0], 90);
        assert_eq!(twin.expected[&stale], Err(STALE_EPOCH));
        // Now the head, with a message under way; the third buffer takes its place.
        assert_eq!(twin.inc_epoch(1, ADDR), Ok(()));
        for put in [&second[1], &first[1]] {
            let stale = twin.put(put, 90);
            assert_eq!(twin.expected[&stale], Err(STALE_EPOCH));
        }
        for put in parts(context, 3, 300, 100) {
            twin.put(&put, 90);
        }
        twin.bench.drain();
        assert_eq!(records(&twin)[1..], [(100, status::PARTIAL), (300, status::DONE)]);
        // The last one, empty; after it there is nothing to end, and a buffer that is posted then works as ever.
        assert_eq!(twin.inc_epoch(1, ADDR), Ok(()));
        assert_eq!(twin.inc_epoch(1, ADDR), Err(doorbell_error::NOTHING));
        assert_eq!((records(&twin)[3], twin.epoch(1, ADDR)), ((0, status::PARTIAL), Ok(4)));
        twin.post(1, ADDR, 0x9_0000, 400, 0x6000);
        for put in parts(context, 4, 300, 100) {
            twin.put(&put, 90);
        }
        let number = twin.numbers[&(1, ADDR)];
        assert_eq!(twin.bench.about(2, number, 0, doorbell_command::INC_EPOCH).0, doorbell_error::NO_MAILBOX);
        twin.finish();
    });
}

/// CLOSE returns every buffer, cuts every message, forgets the mailbox, and makes its handle worthless.
#[test]
fn close_returns_every_buffer() {
    run_with_wave_on_failure("rvma_close", |context| {
        let mut twin = twin(context, 300);
        for i in 0..4 {
            twin.post(1, ADDR, 0x1_0000 + 0x1000 * i, 300, 0x5000 + 16 * i);
        }
        let handle = twin.numbers[&(1, ADDR)];
        let half = parts(context, 1, 300, 100);
        let other = parts(context, 2, 200, 100);
        for put in [&half[0], &half[1], &other[1]] {
            twin.put(put, 90);
        }
        assert_eq!(twin.bench.about(2, handle, 0, doorbell_command::CLOSE).0, doorbell_error::NO_MAILBOX);
        assert_eq!(twin.close(1, ADDR), Ok(()));
        assert_eq!(records(&twin), [200, 100, 0, 0].map(|length| (length, status::CANCELLED)));
        let gone = twin.put(&half[2], 90);
        assert_eq!(twin.expected[&gone], Err(NO_MAILBOX));
        for command in [doorbell_command::CLOSE, doorbell_command::INC_EPOCH, doorbell_command::GET_EPOCH] {
            assert_eq!(twin.bench.about(1, handle, 0, command).0, doorbell_error::NO_MAILBOX);
        }
        // The same address again: another handle, a new history, and the old messages do not come back to life.
        twin.open(1, ADDR, KEY, 300);
        let again = twin.numbers[&(1, ADDR)];
        assert_eq!((again & 0xFFF, again >> 12), (handle & 0xFFF, (handle >> 12) + 1));
        assert_eq!(twin.bench.post_buffer(1, handle, 0x9_0000, 300, 0x6000), Err(doorbell_error::NO_MAILBOX));
        assert_eq!(twin.epoch(1, ADDR), Ok(0));
        assert_eq!(twin.buf_ptr(1, ADDR, 0), Err(doorbell_error::NOTHING));
        twin.post(1, ADDR, 0x9_0000, 300, 0x6000);
        let closed = twin.put(&half[2], 90);
        assert_eq!(twin.expected[&closed], Err(CLOSED));
        for put in parts(context, 3, 300, 100) {
            twin.put(&put, 90);
        }
        twin.finish();
    });
}

/// Random messages of which many never end, random commands in between, everything against the model.
#[test]
fn random_cuts() {
    run_with_wave_on_failure("rvma_random_cuts", |context| {
        let mut rng = context.rng();
        let mut twin = Twin::new(Bench::new(context, &Config::SIM, (1, 60)));
        twin.bench.host.keep_log = true;
        // Each buffer that is taken back is reported with its high-water mark.
        twin.open_ring(1, 0x40_0000, 1 << 15);
        let modes = [0, mailbox_mode::OPS, mailbox_mode::MANAGED, mailbox_mode::TAGGED, mailbox_mode::STREAM];
        let threshold = |mode| if mode == mailbox_mode::OPS { 3 } else { 500 };
        for (addr, mode) in modes.iter().enumerate() {
            twin.open_mode(1, addr as u64, KEY, threshold(*mode), *mode);
        }
        let (mut next, mut id, mut cuts, mut closes, mut found) = (0u64, 0, 0, 0, 0);
        for _ in 0..60 {
            for addr in 0..5 {
                for _ in 0..rng.random_range(0..4) {
                    next += 1;
                    twin.post(1, addr, 0x10_0000 + 0x1000 * next, 800, 0x9000_0000 + 16 * next);
                }
            }
            // As in the random traffic: the tags that are open now.
            let epoch = twin.model.get_epoch(1, 3).unwrap();
            let (mut packets, mut late) = (vec![], vec![]);
            for slot in 0..12 {
                let addr = rng.random_range(0..5usize);
                let length = rng.random_range(1..500);
                id += 1;
                let buf_off = rng.random_range(0..300);
                let mut parts = message(&mut rng, 1, addr as u64, KEY, id, length, buf_off, 90, slot);
                let flags = match modes[addr] {
                    mailbox_mode::MANAGED => flag::MANAGED,
                    mailbox_mode::TAGGED => flag::EPOCH_VALID,
                    mailbox_mode::STREAM => flag::EPOCH_VALID | flag::MANAGED,
                    _ => 0,
                };
                let mut epoch = epoch.wrapping_add(rng.random_range(0..4));
                if modes[addr] == mailbox_mode::STREAM {
                    epoch = u64::from(twin.model.turn(1, 4)) + rng.random_range(0..2);
                }
                parts.iter_mut().for_each(|p| (p.flags, p.epoch) = (flags, epoch as u16));
                if rng.random_range(0..3) == 0 {
                    late.extend(parts.pop());
                }
                packets.extend(parts);
            }
            packets.shuffle(&mut rng);
            for put in &packets {
                twin.put(put, 90);
            }
            for addr in 0..5 {
                match rng.random_range(0..8) {
                    0..3 => cuts += u32::from(twin.inc_epoch(1, addr).is_ok()),
                    3 => {
                        closes += 1;
                        twin.close(1, addr).unwrap();
                        twin.open_mode(1, addr, KEY, threshold(modes[addr as usize]), modes[addr as usize]);
                    }
                    4 => found += u32::from(twin.buf_ptr(1, addr, rng.random_range(0..9)).is_ok()),
                    5 => found += u32::from(twin.rewind(1, addr, rng.random_range(0..4)).is_ok()),
                    _ => found += u32::from(twin.epoch(1, addr).is_ok()),
                }
            }
            late.retain(|_| rng.random());
            for put in &late {
                twin.put(put, 90);
            }
        }
        assert!(cuts > 20 && closes > 10 && found > 40, "{cuts} cuts, {closes} closes, {found} answers");
        assert!(twin.rings[&1].1 > 30 && twin.rings[&1].1 < 1024, "{} events", twin.rings[&1].1);
        for reason in [STALE_EPOCH, CLOSED] {
            assert!(twin.expected.values().any(|e| *e == Err(reason)), "no packet was refused with {reason}");
        }
        twin.finish();
    });
}

/// The high-water mark of a buffer that is not filled: the end of its last byte, wherever packets lie and in whatever order
/// they come; also when the host refused a write; nothing of a buffer that is filled, nor of the one before in its slot.
#[test]
fn high_water_marks() {
    run_with_wave_on_failure("rvma_marks", |context| {
        let mut twin = twin(context, 300);
        twin.open_ring(1, 0x40_0000, 1 << 10);
        for i in 0..3 {
            twin.post(1, ADDR, 0x1_0000 + 0x1000 * i, 1000, 0x5000 + 16 * i);
        }
        let at = |id, length, buf_off| message(&mut context.rng(), 1, ADDR, KEY, id, length, buf_off, 100, id as u8);
        // Back to back in one buffer: up, down, up.
        let (low, far) = (at(1, 150, 20), at(2, 149, 700));
        for put in [&low[1], &far[1], &far[0]] {
            twin.put(put, 90);
        }
        twin.inc_epoch(1, ADDR).unwrap();
        assert_eq!((twin.model.unfilled[0].high, twin.model.unfilled[0].record.length), (849, 199));
        // The second is filled, the third is empty.
        for put in at(3, 300, 50) {
            twin.put(&put, 90);
        }
        twin.inc_epoch(1, ADDR).unwrap();
        assert_eq!((twin.model.unfilled[1].high, twin.model.unfilled.len()), (0, 2));
        // The slots of the first ones again, and a write that fails.
        twin.post(1, ADDR, 0x2_0000, 1000, 0x6000);
        twin.post(1, ADDR, 0x3_0000, 1000, 0x6010);
        twin.bench.host.failing = vec![0x2_0000..0x2_0100];
        twin.model.failing = vec![0x2_0000..0x2_0100];
        for put in at(4, 300, 0) {
            twin.put(&put, 90);
        }
        twin.bench.drain();
        let number = twin.numbers[&(1, ADDR)];
        twin.report(number);
        assert_eq!((twin.model.unfilled[2].high, twin.model.unfilled[2].record.status), (300, status::PARTIAL));
        twin.put(&at(5, 90, 200)[0], 90);
        twin.close(1, ADDR).unwrap();
        assert_eq!((twin.model.unfilled[3].high, twin.rings[&1].1), (290, 4));
        twin.finish();
    });
}

/// Commands at any moment of the traffic, with a host that answers late: every buffer gets exactly one record, nothing is
/// written after it, and every packet ends.
#[test]
fn cuts_at_any_moment() {
    run_with_wave_on_failure("rvma_cuts_any_moment", |context| {
        for (pace, timing) in [
            (FULL, Timing { aw_stall: 0, w_stall: 0, response_min: 1, response_max: 400, read_stall: 0 }),
            (
                Pace { idle: 20, read_stall: 30, done_stall: 30 },
                Timing { aw_stall: 40, w_stall: 40, response_min: 100, response_max: 900, read_stall: 0 },
            ),
        ] {
            let mut rng = context.rng();
            let mut bench = Bench::new(context, &Config::SIM, (1, 1));
            bench.pace = pace;
            bench.host.timing = timing;
            bench.host.keep_log = true;
            let mut number = bench.init_window(1, ADDR, KEY, 1000, 0).unwrap();
            let mut posted: Vec<(u64, u64)> = vec![];
            for round in 0..40u32 {
                for _ in 0..rng.random_range(1..9) {
                    let i = posted.len() as u64;
                    let (base, record) = (0x10_0000 + 0x1000 * i, 0x9000_0000 + 16 * i);
                    bench.post_buffer(1, number, base, 2000, record).unwrap();
                    posted.push((base, record));
                }
                let mut packets = vec![];
                for slot in 0..10 {
                    let length = rng.random_range(1..1500);
                    packets.extend(message(&mut rng, 1, ADDR, KEY, round * 100 + slot, length, 0, 200, slot as u8));
                }
                packets.shuffle(&mut rng);
                for put in &packets {
                    bench.put(put, 90);
                }
                bench.steps(rng.random_range(0..200));
                if rng.random_range(0..4) == 0 {
                    assert_eq!(bench.about(1, number, 0, doorbell_command::CLOSE).0, doorbell_error::NONE);
                    number = bench.init_window(1, ADDR, KEY, 1000, 0).unwrap();
                } else {
                    let answer = bench.about(1, number, 0, doorbell_command::INC_EPOCH).0;
                    assert!([doorbell_error::NONE, doorbell_error::NOTHING].contains(&answer));
                }
                bench.run_until("room", |b| b.open_packets() < 200);
            }
            assert_eq!(bench.about(1, number, 0, doorbell_command::CLOSE).0, doorbell_error::NONE);
            bench.drain();
            let log = &bench.host.log;
            let mut seen = [0u32; 4];
            for (base, record) in &posted {
                let its: Vec<_> = log.iter().filter(|b| b.bytes[0].0 == *record).collect();
                assert_eq!(its.len(), 1, "buffer {base:#x} has {} records", its.len());
                let data = log.iter().filter(|b| (*base..*base + 0x1000).contains(&b.bytes[0].0));
                let last = data.map(|b| b.response_cycle).max().unwrap_or(0);
                assert!(its[0].offered_cycle > last, "data of {base:#x} was answered in {last}, after its record left");
                seen[usize::from(bench.host.memory.bytes(*record, 16)[4])] += 1;
            }
            assert!(seen[0] == 0 && seen[1..].iter().all(|n| *n > 0), "records by status: {seen:?}");
            let refused = |reason| bench.done.iter().filter(|d| !d.placed && d.reason == reason).count();
            assert!(refused(STALE_EPOCH) > 0 && refused(CLOSED) > 0);
        }
    });
}

/// While a mailbox is closed against a slow host, other processes are not kept waiting: BUSY, and later their turn.
#[test]
fn a_long_command_is_not_waited_for() {
    run_with_wave_on_failure("rvma_busy", |context| {
        let mut bench = Bench::new(context, &Config::SIM, (3000, 3000));
        let number = bench.init_window(1, ADDR, KEY, 1000, 0).unwrap();
        let other = bench.init_window(2, ADDR, KEY, 1000, 0).unwrap();
        bench.post_buffer(1, number, 0x1_0000, 1000, 0x5000).unwrap();
        bench.put(&parts(context, 1, 300, 300)[0], 90);
        bench.steps(60);
        bench.stage(1, doorbell::MAILBOX, number);
        bench.stage(1, doorbell::COMMAND, doorbell_command::CLOSE);
        bench.steps(400);
        let start = bench.dut.cycle();
        assert_eq!(bench.post_buffer(2, other, 0x2_0000, 1000, 0x6000), Err(doorbell_error::BUSY));
        assert!(bench.dut.cycle() < start + 200, "it was waited for");
        bench.drain();
        assert_eq!(bench.post_buffer(2, other, 0x2_0000, 1000, 0x6000), Ok(()));
        assert_eq!(bench.post_buffer(1, number, 0x2_0000, 1000, 0x6000), Err(doorbell_error::NO_MAILBOX));
    });
}

/// The cost of the rare commands on an idle engine, from the doorbell's COMMAND to RESULT.
#[test]
fn command_cycles() {
    run_with_wave_on_failure("rvma_command_cycles", |context| {
        let mut bench = Bench::new(context, &Config::SIM, (20, 20));
        let number = bench.init_window(1, ADDR, KEY, 100, 0).unwrap();
        for i in 0..3 {
            bench.post_buffer(1, number, 0x1_0000 + 0x1000 * i, 100, 0x5000 + 16 * i).unwrap();
        }
        bench.drain();
        let mut cost = |command| {
            let start = bench.dut.cycle();
            assert_eq!(bench.about(1, number, 0, command).0, doorbell_error::NONE);
            bench.dut.cycle() - start
        };
        let cycles = [
            doorbell_command::GET_EPOCH,
            doorbell_command::INC_EPOCH,
            doorbell_command::GET_BUF_PTRS,
            doorbell_command::REWIND,
            doorbell_command::CLOSE,
        ]
        .map(&mut cost);
        println!("GET_EPOCH, INC_EPOCH, GET_BUF_PTRS, REWIND, CLOSE of two buffers: {cycles:?} cycles");
        assert!(
            cycles[1] < 420 && cycles[4] < 470,
            "a cut takes the 260 cycles of its sweep and little more: {cycles:?}"
        );
    });
}
