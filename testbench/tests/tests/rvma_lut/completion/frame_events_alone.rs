//! The frame events alone, against queues: any frame, any address, errors of the host; event, room and process in each cycle.

use rand::Rng;
use rvma_lut::completion::frame_events::{FrameEvents, HostFrame, ARRIVALS, FRAMES, STOP};
use rvma_lut::types::BoundPacket;
use spindle_blocks::desc::EventDesc;
use spindle_contract::events::FRAME;
use spindle_harness::{run_with_wave_on_failure, share, Dut};
use spindle_verilog::prelude::*;
use std::collections::VecDeque;

/// Cycles in which binding may still place frames after the room has fallen.
const LATE: usize = 5;

#[test]
fn random_frames_are_the_models() {
    run_with_wave_on_failure("frame_events_alone_random", |wave| {
        let mut rng = wave.rng();
        let dut = Dut::new(wave, FrameEvents::default(), "frame_events");
        let (mut refused, mut errors, mut full, mut most, mut reports) = (0, 0, 0, 0, 0);
        for _ in 0..4 {
            dut.arrival.valid.set(false);
            dut.decided.set(false);
            dut.bound.valid.set(false);
            dut.finished.set(false);
            dut.report.ready.set(false);
            dut.reset();
            let mut arrivals: VecDeque<HostFrame> = VecDeque::new();
            let mut placed: Option<HostFrame> = None;
            // Bound frames that the host has not answered, with the cycle; events, and from which cycle on they may leave.
            let mut bound: VecDeque<(u64, EventDesc)> = VecDeque::new();
            let mut ended: VecDeque<(u64, EventDesc)> = VecDeque::new();
            let mut out: Option<EventDesc> = None;
            let mut open = 0;
            let mut rooms = [false; LATE + 1];
            for cycle in 0..share(15_000) as u64 {
                // Phases of full speed, without answers, without room for events, and with few frames.
                let phase = cycle / 400 % 5;
                let (arrives, decides, answers, room) = match phase {
                    0 => (1.0, 1.0, 1.0, 1.0),
                    1 => (0.9, 0.8, 0.01, 1.0),
                    2 => (0.8, 0.9, 0.9, 0.01),
                    3 => (0.05, 0.2, 0.3, 0.5),
                    _ => (0.6, 0.4, 0.5, 0.7),
                };
                let arrival = (arrivals.len() < ARRIVALS && rng.random_bool(arrives)).then(|| HostFrame {
                    pid: bits(rng.random_range(0..64)),
                    mailbox: bits(rng.random_range(0..1 << 12)),
                    frame: bits(u64::from(rng.random::<u16>())),
                    length: bits(rng.random_range(0..1 << 14)),
                    stamp: bits(u64::from(rng.random::<u32>())),
                    rule: bits(rng.random_range(0..64)),
                    checks: bits(rng.random_range(0..16)),
                });
                dut.arrival.offer(arrival);
                let decided = rooms[LATE] && !arrivals.is_empty() && rng.random_bool(decides);
                let places = rng.random_range(0..8) != 0;
                dut.decided.set(decided);
                dut.placed.set(places);
                // Half of the addresses end beyond the low word.
                let (base, start) = (rng.random::<u64>(), rng.random::<u32>());
                dut.bound.offer(placed.map(|_| BoundPacket {
                    base: bits(base),
                    start: bits(u64::from(start)),
                    slot: bits(rng.random_range(0..1 << 14)),
                    frame: bits(u64::from(rng.random::<u16>())),
                    ..BoundPacket::default()
                }));
                let answered = bound.front().is_some_and(|frame| frame.0 < cycle) && rng.random_bool(answers);
                let error = rng.random_range(0..4) == 0;
                dut.finished.set(answered);
                dut.finished_error.set(error);
                let ready = rng.random_bool(room);
                dut.report.ready.set(ready);
                dut.eval();

                if let Some(oldest) = arrivals.front() {
                    assert_eq!(dut.pid.number(), oldest.pid.to_u64(), "cycle {cycle}");
                }
                assert_eq!(dut.take.is_high(), decided && places, "cycle {cycle}");
                assert_eq!(dut.headroom.is_high(), rooms[0], "cycle {cycle}: {open} frames without an event");
                assert_eq!(dut.report.offered(), out, "cycle {cycle}");

                // An event leaves as soon as the one before it has moved.
                let moves = out.is_some() && ready;
                reports += usize::from(moves);
                rooms.rotate_right(1);
                rooms[0] = open < STOP;
                full += usize::from(!rooms[0]);
                if moves {
                    out = None;
                }
                let leaves = out.is_none() && ended.front().is_some_and(|event| event.0 <= cycle);
                if leaves {
                    out = ended.pop_front().map(|event| event.1);
                    open -= 1;
                }
                if answered {
                    let (_, mut event) = bound.pop_front().unwrap();
                    event.code = bits(event.code.to_u64() | u64::from(error) << 4);
                    ended.push_back((cycle + 1, event));
                    errors += usize::from(error);
                }
                if let Some(frame) = placed.take() {
                    let event = EventDesc {
                        pid: frame.pid,
                        kind: bits(u64::from(FRAME)),
                        code: bits(frame.checks.to_u64()),
                        id: bits(frame.mailbox.to_u64()),
                        length: bits(frame.length.to_u64()),
                        extra: frame.stamp,
                        source: bits(frame.rule.to_u64() << 16 | frame.frame.to_u64()),
                        user: bits(base.wrapping_add(u64::from(start))),
                        ..EventDesc::default()
                    };
                    bound.push_back((cycle, event));
                }
                if decided {
                    let oldest = arrivals.pop_front().unwrap();
                    if places {
                        placed = Some(oldest);
                        open += 1;
                    } else {
                        refused += 1;
                    }
                }
                arrivals.extend(arrival);
                most = most.max(open);
                dut.tick();
            }
        }
        let seen = [refused, errors, full, reports];
        assert!(seen.iter().all(|count| *count > 200), "{seen:?} refused, host errors, cycles without room, events");
        assert!((STOP..=FRAMES).contains(&most), "{most} frames without an event");
    });
}

/// From the last answer to the event: two cycles.
#[test]
fn cycles_of_an_event() {
    run_with_wave_on_failure("frame_events_alone_cycles", |wave| {
        let dut = Dut::new(wave, FrameEvents::default(), "frame_events");
        for signal in
            [&dut.decided, &dut.placed, &dut.finished, &dut.finished_error, &dut.arrival.valid, &dut.bound.valid]
        {
            signal.set(false);
        }
        dut.report.ready.set(true);
        dut.reset();
        for _ in 0..40 {
            dut.arrival.offer(Some(HostFrame { pid: bits(33), ..HostFrame::default() }));
            dut.tick();
            dut.arrival.valid.set(false);
            dut.decided.set(true);
            dut.placed.set(true);
            dut.tick();
            dut.decided.set(false);
            dut.bound.offer(Some(BoundPacket::default()));
            dut.tick();
            dut.bound.valid.set(false);
            dut.finished.set(true);
            let answered = dut.cycle();
            dut.tick();
            dut.finished.set(false);
            dut.eval();
            while dut.report.taken().is_none() {
                dut.tick();
                dut.eval();
            }
            assert_eq!(dut.cycle() - answered, 2);
            dut.tick();
        }
    });
}
