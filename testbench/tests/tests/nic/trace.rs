//! The trace ring agrees with the trace ports, cycle by cycle.

use crate::nic::bench::Nic;
use rand::Rng;
use rand_chacha::ChaCha8Rng;
use spindle::rule_table::Action;
use spindle::trace::{Trace, TraceRecord};
use spindle::ContextOptions;
use spindle_contract::reasons::{
    TRACE_HPU_FIRST, TRACE_HPU_POINTS, TRACE_RECORDS, T_EGRESS_LAST, T_FIRST_BEAT, T_RECORD,
};
use spindle_harness::{seed_of_run, seeded_rng, with_seeds};
use spindle_model::frames::{udp, Ends};
use spindle_sim::{Event, Options, WireFrame};
use std::ops::Range;

/// What the ring has to hold after these events.
fn expected(events: &[Event], mask: u16) -> Vec<TraceRecord> {
    let mut records: Vec<TraceRecord> = vec![];
    let mut followed = None;
    for cycle in events.chunk_by(|a, b| a.cycle == b.cycle) {
        let first = cycle.iter().find(|event| event.point == T_FIRST_BEAT && event.frame & mask == 0);
        followed = first.map(|event| event.frame).or(followed);
        let passed: Vec<&Event> = cycle
            .iter()
            .filter(|event| Some(event.frame) == followed && (first.is_none() || event.point == T_FIRST_BEAT))
            .collect();
        if let Some(event) = passed.first() {
            let mut stages: Vec<usize> = passed.iter().map(|event| event.point).collect();
            stages.sort_unstable();
            stages.dedup();
            let of_hpus = TRACE_HPU_FIRST..TRACE_HPU_FIRST + TRACE_HPU_POINTS;
            let hpu = passed.iter().filter(|event| of_hpus.contains(&event.point)).fold(0, |hpu, e| hpu | e.unit);
            records.push(TraceRecord { cycle: event.cycle as u32, frame: event.frame, stages, hpu });
        }
    }
    records
}

/// A NIC that answers frames and drops others, and whose trace runs.
fn traced(shift: u32) -> Nic {
    let mut nic = Nic::new(Options { seed: seed_of_run("nic_trace"), ..Options::default() });
    nic.handler("ping_pong", "udp.dport == 9", ContextOptions::default());
    nic.rule("udp", Action::Drop);
    assert_eq!(nic.device.trace().unwrap(), Trace::default(), "off after reset");
    nic.device.set_receive(true).unwrap();
    nic.device.start_trace(shift).unwrap();
    nic
}

/// Whether frame `i` of [`frames`] is answered.
fn is_answered(i: usize) -> bool {
    i % 5 != 4
}

/// Frames that are answered and frames that are dropped, with a random gap of these cycles before each.
fn frames(count: usize, gaps: Range<u64>, random: &mut ChaCha8Rng) -> Vec<WireFrame> {
    let frame =
        |i: usize| udp(&Ends::default(), 1, if is_answered(i) { 9 } else { 8 }, &vec![i as u8; 40 + 30 * i % 900]);
    (0..count).map(|i| WireFrame { bytes: frame(i), gap: random.random_range(gaps.clone()), bad: false }).collect()
}

/// What the ring says of such frames and what it should; the numbers of the frames.
fn play(shift: u32, count: usize, gaps: Range<u64>) -> (Trace, Vec<TraceRecord>, Vec<u16>) {
    let mut nic = traced(shift);
    let played = nic.play(frames(count, gaps, &mut seeded_rng("nic_trace")));
    nic.device.stop_trace().unwrap();
    let seen = nic.device.trace().unwrap();
    assert_eq!(nic.device.trace().unwrap(), seen, "reading changes nothing");
    (seen, expected(&played.events, (1 << shift) - 1), played.numbers)
}

/// The card counts cycles from another one on.
fn compare(seen: &[TraceRecord], wanted: &[TraceRecord]) {
    assert_eq!(seen.len(), wanted.len());
    let shift = seen[0].cycle.wrapping_sub(wanted[0].cycle);
    for (seen, wanted) in seen.iter().zip(wanted) {
        let moved = TraceRecord { cycle: wanted.cycle.wrapping_add(shift), ..wanted.clone() };
        assert_eq!(*seen, moved);
    }
}

/// Each frame has left when the next one comes.
#[test]
fn packets_alone_are_seen_at_every_stage() {
    with_seeds(|| {
        let (seen, wanted, numbers) = play(0, 20, 2000..4000);
        assert_eq!(seen.lost, 0);
        assert!(wanted.iter().all(|record| record.stages.iter().all(|stage| *stage <= T_RECORD)));
        compare(&seen.records, &wanted);
        // A frame that is answered passes the first eleven stages.
        for (i, frame) in numbers.into_iter().enumerate().filter(|(i, _)| is_answered(*i)) {
            let records = seen.records.iter().filter(|record| record.frame == frame);
            let passed: Vec<usize> = records.flat_map(|record| record.stages.clone()).collect();
            assert!((T_FIRST_BEAT..=T_EGRESS_LAST).all(|stage| passed.contains(&stage)), "frame {i}: {passed:?}");
        }
    });
}

/// Reading while the ring runs neither stops nor empties it, also while a frame is inside.
#[test]
fn the_ring_is_read_while_it_runs() {
    with_seeds(|| {
        let mut random = seeded_rng("nic_trace_running");
        let mut nic = traced(0);
        let mut wanted = vec![];
        for _ in 0..2 {
            wanted.extend(expected(&nic.play(frames(8, 2000..4000, &mut random)).events, 0));
            for _ in 0..2 {
                let seen = nic.device.trace().unwrap();
                assert_eq!(seen.lost, 0);
                compare(&seen.records, &wanted);
            }
        }
        let mut before = nic.device.trace().unwrap().records;
        for frame in frames(6, 1..2, &mut random) {
            nic.card.sim().inject(frame);
            nic.card.sim().run(random.random_range(1..800));
            let seen = nic.device.trace().unwrap();
            assert_eq!(seen.lost, 0);
            assert_eq!(&seen.records[..before.len()], &before[..], "what was recorded stays");
            before = seen.records;
        }
        assert!(before.len() > wanted.len(), "later frames are recorded too");
    });
}

/// A trace that begins while a packet is inside knows nothing of it, though the trace before followed it.
#[test]
fn a_trace_begins_with_the_first_beat_of_a_packet() {
    with_seeds(|| {
        let mut random = seeded_rng("nic_trace_again");
        let mut nic = traced(0);
        let mut inside = 0;
        for frame in frames(12, 1..2, &mut random) {
            nic.card.sim().trace().clear();
            nic.card.sim().inject(frame);
            nic.card.sim().run(random.random_range(20..200));
            nic.device.stop_trace().unwrap();
            nic.device.start_trace(0).unwrap();
            let start = nic.card.sim().cycle();
            nic.card.sim().run(3000);
            assert_eq!(nic.device.trace().unwrap(), Trace::default(), "no packet has come since");
            let events = nic.card.sim().trace().events().to_vec();
            inside += usize::from(events.iter().any(|event| event.cycle > start && event.point <= T_EGRESS_LAST));
        }
        assert!(inside > 3, "a packet was inside {inside} times");
    });
}

#[test]
fn samples_of_a_crowd() {
    with_seeds(|| {
        let (seen, wanted, _) = play(4, 400, 0..20);
        assert_eq!(seen.lost, 0);
        compare(&seen.records, &wanted);
        // More than fit: the newest stay.
        let (seen, wanted, _) = play(0, 120, 0..1500);
        assert_eq!((seen.lost as usize, seen.records.len()), (wanted.len() - TRACE_RECORDS, TRACE_RECORDS));
        compare(&seen.records, &wanted[seen.lost as usize..]);
    });
}
