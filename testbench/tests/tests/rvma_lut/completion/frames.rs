//! Frames for the host: their place in host memory, and their events.

use crate::rvma_lut::rvma_engine::bench::{Bench, FrameFacts, Pace};
use crate::rvma_lut::rvma_engine::host_side::Twin;
use crate::rvma_lut::rvma_engine::traffic::message;
use rand::Rng;
use spindle_blocks::desc::EventDesc;
use spindle_contract::events::{self, BYTES};
use spindle_contract::params::Config;
use spindle_contract::reasons::{CLOSED, HOST_ERROR, NO_MAILBOX, NO_POSTED_BUFFER, OUT_OF_BOUNDS, UNSUPPORTED};
use spindle_contract::registers::{doorbell, doorbell_error, mailbox_mode, rvma};
use spindle_harness::run_with_wave_on_failure;
use spindle_verilog::prelude::bits;

const MODE: u32 = mailbox_mode::FRAMES | mailbox_mode::MANAGED | mailbox_mode::NACK_OFF;
/// Bytes below which a buffer of these tests retires.
const LONGEST: u32 = 1536;

/// The record of a frame's event, the `number`-th of its ring.
fn record(
    mailbox: u32,
    frame: u16,
    length: usize,
    address: u64,
    facts: FrameFacts,
    error: bool,
    number: u32,
) -> Vec<u8> {
    let code = facts.checks | u32::from(error) << 4;
    let words = [
        u32::from(events::FRAME) | code << 16,
        mailbox & 0xFFF,
        length as u32,
        facts.stamp,
        u32::from(frame) | facts.rule << 16,
        address as u32,
        (address >> 32) as u32,
        number,
    ];
    words.iter().flat_map(|word| word.to_le_bytes()).collect()
}

/// Gives a frame to both sides, and expects its event.
fn send(twin: &mut Twin, pid: u16, addr: u64, bytes: &[u8], facts: FrameFacts) {
    let mailbox = twin.numbers[&(pid, addr)];
    let frame = twin.bench.frame(pid, mailbox, bytes, facts);
    let placed = twin.model.frame(pid, addr, bytes);
    if let Ok(address) = placed {
        let (base, count) = twin.rings.get_mut(&pid).expect("the process has a ring");
        *count += 1;
        let record = record(mailbox, frame, bytes.len(), address, facts, false, *count);
        twin.handler_bytes.push((*base + u64::from(*count - 1) * BYTES as u64, record));
    }
    twin.expected.insert(frame, placed.map(|_| ()));
}

fn any_facts(rng: &mut impl Rng) -> FrameFacts {
    FrameFacts {
        stamp: rng.random(),
        rule: rng.random_range(0..64),
        checks: rng.random_range(0..16),
        opcode: rng.random_range(0..8),
    }
}

/// Frames of two processes between puts, with stalls of everything: memory, events, refusals and counters are the model's.
/// The process changes from frame to frame.
#[test]
fn frames_are_the_models() {
    run_with_wave_on_failure("rvma_frames_model", |context| {
        let mut twin = Twin::new(Bench::new(context, &Config::SIM, (3, 90)));
        twin.bench.host.keep_log = true;
        twin.bench.pace = Pace { idle: 20, read_stall: 20, done_stall: 20 };
        let mut rng = context.rng();
        let mut next = 0;
        for (pid, addr) in [(2, 7), (5, 9)] {
            twin.open_ring(pid, 0xFF80_0000 + (u64::from(pid) << 20), 1024 * BYTES as u32);
            twin.open_mode(pid, addr, 1, LONGEST, MODE);
        }
        twin.open(1, 3, 4, 1 << 20);
        twin.post(1, 3, 0x4000_0000, 1 << 20, 0x6000);
        for round in 0..60u32 {
            for (pid, addr) in [(2, 7), (5, 9)] {
                // Buffers that are no lines; in every second ten rounds they run out.
                if round / 10 % 2 == 0 && rng.random_bool(0.25) {
                    let base = 0x1_0000_0000 - 0x8000 + next * 0x4000 + rng.random_range(0..64);
                    twin.post(pid, addr, base, rng.random_range(LONGEST..0x2000), 0x8000 + next * 16);
                    next += 1;
                }
            }
            let changes = rng.random_range(0.0..1.0);
            let mut first: bool = rng.random();
            for _ in 0..rng.random_range(1..8) {
                first ^= rng.random_bool(changes);
                let (pid, addr) = if first { (2, 7) } else { (5, 9) };
                let longest = if rng.random() { 200 } else { LONGEST as usize };
                let mut bytes = vec![0; rng.random_range(14..=longest)];
                rng.fill(&mut bytes[..]);
                let facts = any_facts(&mut rng);
                send(&mut twin, pid, addr, &bytes, facts);
                if rng.random_bool(0.3) {
                    for put in message(&mut rng, 1, 3, 4, round, 512, round * 512, 256, 0) {
                        twin.put(&put, 76);
                    }
                }
            }
            twin.bench.drain();
        }
        let count = |reason| twin.expected.values().filter(|end| **end == Err(reason)).count();
        let placed = twin.expected.values().filter(|end| end.is_ok()).count();
        assert!(placed > 150 && count(NO_POSTED_BUFFER) > 20, "{placed} placed, {} refused", count(NO_POSTED_BUFFER));
        twin.finish();
    });
}

/// Every reason to refuse a frame, and a packet that is none.
#[test]
fn what_is_refused() {
    run_with_wave_on_failure("rvma_frames_refused", |context| {
        let mut twin = Twin::new(Bench::new(context, &Config::SIM, (1, 40)));
        let forbidden = [0, mailbox_mode::DROP, mailbox_mode::SPILL, mailbox_mode::CATCH_ALL, mailbox_mode::TAGGED];
        for mode in forbidden.map(|more| MODE | more).into_iter().skip(1).chain([
            mailbox_mode::FRAMES,
            mailbox_mode::FRAMES | mailbox_mode::MANAGED,
            mailbox_mode::FRAMES | mailbox_mode::NACK_OFF,
        ]) {
            assert_eq!(twin.bench.init_window(2, 1, 0, 64, mode), Err(doorbell_error::UNSUPPORTED), "{mode:#x}");
        }
        twin.open_mode(2, 7, 1, 64, MODE);
        twin.open_mode(2, 8, 1, 64, mailbox_mode::MANAGED | mailbox_mode::NACK_OFF);
        let (frames, other) = (twin.numbers[&(2, 7)], twin.numbers[&(2, 8)]);
        twin.post(2, 8, 0x20_0000, 4096, 0x5000);
        let mut rng = context.rng();
        let end = |twin: &mut Twin, frame: u16| {
            twin.bench.drain();
            let done = *twin.bench.done.iter().find(|done| done.frame == frame).expect("it ends");
            assert!(done.placed || done.outcome.0 || done.reason == NO_MAILBOX, "a refusal is silent");
            if done.placed {
                Ok(())
            } else {
                Err(done.reason)
            }
        };
        let facts = FrameFacts::default();
        let offer = |twin: &mut Twin, pid, mailbox| {
            let frame = twin.bench.frame(pid, mailbox, &[5; 100], facts);
            end(twin, frame)
        };
        assert_eq!(offer(&mut twin, 2, frames), Err(NO_POSTED_BUFFER), "no buffer");
        twin.post(2, 7, 0x30_0000, 4096, 0x5010);
        assert_eq!(offer(&mut twin, 2, frames), Err(NO_POSTED_BUFFER), "no event ring");
        assert_eq!(offer(&mut twin, 3, frames), Err(NO_MAILBOX), "of another process");
        assert_eq!(offer(&mut twin, 2, frames ^ 0x1000), Err(NO_MAILBOX), "of another generation");
        assert_eq!(offer(&mut twin, 2, other), Err(UNSUPPORTED), "no window of frames");
        // Packets do not come into a window of frames, whatever they are.
        for redirected in [false, true] {
            let mut put = message(&mut rng, 2, 7, 1, 1, 64, 0, 64, 0).remove(0);
            put.flags = if redirected { 0 } else { spindle_contract::wire::flag::MANAGED };
            put.redirected = redirected;
            let frame = twin.put(&put, 76);
            assert_eq!(end(&mut twin, frame), Err(UNSUPPORTED));
        }
        let mut get = message(&mut rng, 2, 7, 1, 1, 64, 0, 64, 0).remove(0);
        get.opcode = spindle_contract::wire::opcode::GET;
        let frame = twin.bench.get(&get, (1, 2, 3), 92);
        assert_eq!(end(&mut twin, frame), Err(UNSUPPORTED));
        // A ring of eight records has no place for frames, one of 16 has eight.
        let ring = |twin: &mut Twin, records: u32| {
            twin.bench.stage(2, doorbell::EVENT_HEAD, 0);
            twin.open_ring(2, 0x80_0000, records * BYTES as u32);
        };
        ring(&mut twin, 8);
        assert_eq!(offer(&mut twin, 2, frames), Err(NO_POSTED_BUFFER), "a short ring");
        ring(&mut twin, 16);
        for place in 0..8 {
            assert_eq!(offer(&mut twin, 2, frames), Ok(()), "place {place}");
        }
        assert_eq!(offer(&mut twin, 2, frames), Err(NO_POSTED_BUFFER), "all places taken");
        twin.bench.stage(2, doorbell::EVENT_HEAD, 1);
        assert_eq!(offer(&mut twin, 2, frames), Ok(()));
        assert_eq!(offer(&mut twin, 2, frames), Err(NO_POSTED_BUFFER));
        // The host refuses a line: the event says so.
        twin.bench.stage(2, doorbell::EVENT_HEAD, 9);
        let at = 0x30_0000 + 9 * 128;
        twin.bench.host.failing = vec![at..at + 1];
        assert_eq!(offer(&mut twin, 2, frames), Err(HOST_ERROR));
        let record_at = 0x80_0000 + 9 * BYTES as u64;
        let bytes = twin.bench.host.memory.bytes(record_at, BYTES);
        let last = twin.bench.done.last().expect("it ended").frame;
        assert_eq!(bytes, record(frames, last, 100, at, facts, true, 10));
        // What does not fit ends beyond the buffer; a closed window is gone.
        let long = twin.bench.frame(2, frames, &[5; 4000], facts);
        assert_eq!(end(&mut twin, long), Err(OUT_OF_BOUNDS));
        assert_eq!(twin.bench.counter(rvma::EVENTS_LOST), 0);
        twin.close(2, 7).unwrap();
        let gone = offer(&mut twin, 2, frames);
        assert!(gone == Err(NO_MAILBOX) || gone == Err(CLOSED), "{gone:?}");
    });
}

/// Other events storm a small ring: frames lose no event, and no record is overwritten.
#[test]
fn events_of_frames_are_never_lost() {
    run_with_wave_on_failure("rvma_frames_events", |context| {
        let mut twin = Twin::new(Bench::new(context, &Config::SIM, (1, 60)));
        let records = 32u32;
        let base = 0x80_0000;
        twin.open_ring(4, base, records * BYTES as u32);
        twin.open_mode(4, 7, 1, 64, MODE);
        twin.post(4, 7, 0x40_0000, 1 << 20, 0x5000);
        let number = twin.numbers[&(4, 7)];
        let mut rng = context.rng();
        for id in 0..1200u32 {
            let event = EventDesc { pid: bits(4u64), kind: bits(events::USER), id: bits(id), ..EventDesc::default() };
            twin.bench.agents.event(rng.random_range(0..2), event);
        }
        let (mut read, mut frames, mut lost, mut offered) = (0u32, 0usize, 0u32, 0usize);
        let mut users = 0u32;
        for step in 0.. {
            if offered < 400 && twin.bench.open_packets() < 30 && rng.random_bool(0.7) {
                twin.bench.frame(4, number, &[1; 60], FrameFacts { stamp: offered as u32, ..FrameFacts::default() });
                offered += 1;
            }
            twin.bench.steps(rng.random_range(1..6));
            if step % 7 == 0 {
                loop {
                    let at = base + u64::from(read % records) * BYTES as u64;
                    let record = twin.bench.host.memory.bytes(at, BYTES);
                    let word = |i: usize| {
                        u32::from_le_bytes([record[4 * i], record[4 * i + 1], record[4 * i + 2], record[4 * i + 3]])
                    };
                    if word(events::WORD_SEQUENCE) != read + 1 {
                        assert!(word(events::WORD_SEQUENCE) <= read, "record {read} was overwritten");
                        break;
                    }
                    match word(0) as u8 & 15 {
                        events::FRAME => frames += 1,
                        events::LOST => lost += word(events::WORD_LENGTH),
                        _ => users += 1,
                    }
                    read += 1;
                }
                twin.bench.stage(4, doorbell::EVENT_HEAD, read & 0xFFFF);
            }
            if offered == 400 && twin.bench.open_packets() == 0 && twin.bench.agents.idle() && users + lost == 1200 {
                break;
            }
            assert!(step < 60_000, "{offered} frames, {users} users, {lost} lost");
        }
        let placed = twin.bench.done.iter().filter(|done| done.placed).count();
        assert_eq!(frames, placed, "each placed frame has its event");
        assert!(placed > 50 && placed < 400 && lost > 50, "{placed} placed, {lost} lost");
    });
}

/// Frames of all one length at full speed: cycles per frame.
fn pace(bench: &mut Bench, mailbox: u32, bytes: usize) -> f64 {
    for stamp in 0..200 {
        bench.frame(1, mailbox, &vec![3; bytes], FrameFacts { stamp, ..FrameFacts::default() });
    }
    let first = bench.done.len();
    bench.drain();
    let ends = &bench.done[first..];
    assert!(ends.iter().all(|done| done.placed));
    (ends[180].cycle - ends[20].cycle) as f64 / 160.0
}

#[test]
fn cycles_per_frame() {
    run_with_wave_on_failure("rvma_frames_cycles", |context| {
        for latency in [20, 200] {
            let mut bench = Bench::new(context, &Config::SIM, (latency, latency));
            let mut twin = Twin::new(bench);
            twin.open_ring(1, 0x80_0000, 4096 * BYTES as u32);
            bench = twin.bench;
            let mailbox = bench.init_window(1, 5, 1, LONGEST, MODE).unwrap();
            bench.post_buffer(1, mailbox, 0x1000_0000, 1 << 24, 0x5000).unwrap();
            let (short, long) = (pace(&mut bench, mailbox, 60), pace(&mut bench, mailbox, 1500));
            println!("latency {latency}: {short:.2} cycles per frame of 60 bytes, {long:.2} of 1500 bytes");
            assert!(short <= if latency == 20 { 2.1 } else { 5.0 }, "{short} cycles per frame of 60 bytes");
            // Every frame is for another process than the one before.
            twin = Twin::new(bench);
            twin.open_ring(2, 0x90_0000, 4096 * BYTES as u32);
            bench = twin.bench;
            let other = bench.init_window(2, 5, 1, LONGEST, MODE).unwrap();
            bench.post_buffer(2, other, 0x2000_0000, 1 << 24, 0x5010).unwrap();
            for i in 0..200 {
                let (pid, mailbox) = if i % 2 == 0 { (1, mailbox) } else { (2, other) };
                bench.frame(pid, mailbox, &[3; 60], FrameFacts::default());
            }
            let first = bench.done.len();
            bench.drain();
            let ends = &bench.done[first..];
            assert!(ends.iter().all(|done| done.placed), "a change of the process costs no frame");
            let changing = (ends[180].cycle - ends[20].cycle) as f64 / 160.0;
            println!("latency {latency}: {changing:.2} cycles per frame of 60 bytes, each for another process");
            assert!(changing <= 5.0, "{changing} cycles");
            assert!(long <= 25.1, "{long} cycles per frame of 1500 bytes: {} bits per cycle", 12_000.0 / long);
        }
    });
}
