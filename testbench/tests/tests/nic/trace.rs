//! The trace ring agrees with the trace ports, cycle by cycle.

use crate::nic::bench::{random_gaps, Nic};
use spindle::rule_table::Action;
use spindle::trace::{Trace, TraceRecord};
use spindle::ContextOptions;
use spindle_contract::reasons::{TRACE_HPU_FIRST, TRACE_HPU_POINTS, TRACE_RECORDS, T_FIRST_BEAT, T_RECORD};
use spindle_harness::{seed_of_run, seeded_rng, with_seeds};
use spindle_model::frames::{udp, Ends};
use spindle_sim::{Event, Options};

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

/// Handlers that answer and frames that are placed, some close to each other; what the ring says and what it should.
fn play(shift: u32, frames: usize, gap: u64) -> (Trace, Vec<TraceRecord>) {
    let mut nic = Nic::new(Options { seed: seed_of_run("nic_trace"), ..Options::default() });
    nic.handler("ping_pong", "udp.dport == 9", ContextOptions::default());
    nic.rule("udp", Action::Drop);
    assert_eq!(nic.device.trace().unwrap(), Trace::default(), "off after reset");
    nic.device.set_receive(true).unwrap();
    nic.device.start_trace(shift).unwrap();
    let frames: Vec<_> = (0..frames)
        .map(|i| udp(&Ends::default(), 1, if i % 5 == 4 { 8 } else { 9 }, &vec![i as u8; 40 + 30 * i % 900]))
        .collect();
    let mut random = seeded_rng("nic_trace");
    let played = nic.play(random_gaps(&frames, gap, &mut random));
    nic.device.stop_trace().unwrap();
    let seen = nic.device.trace().unwrap();
    assert_eq!(nic.device.trace().unwrap(), seen, "reading changes nothing");
    (seen, expected(&played.events, (1 << shift) - 1))
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

#[test]
fn packets_alone_are_seen_at_every_stage() {
    with_seeds(|| {
        let (seen, wanted) = play(0, 20, 3000);
        assert_eq!(seen.lost, 0);
        assert!(wanted.iter().all(|record| record.stages.iter().all(|stage| *stage <= T_RECORD)));
        compare(&seen.records, &wanted);
        // The first frame is answered: it passes the first eleven stages.
        let frame = seen.records[0].frame;
        let passed: Vec<usize> = seen
            .records
            .iter()
            .filter(|record| record.frame == frame)
            .flat_map(|record| record.stages.clone())
            .collect();
        assert!((T_FIRST_BEAT..11).all(|stage| passed.contains(&stage)), "{passed:?}");
    });
}

#[test]
fn samples_of_a_crowd() {
    with_seeds(|| {
        let (seen, wanted) = play(4, 400, 20);
        assert_eq!(seen.lost, 0);
        compare(&seen.records, &wanted);
        // More than fit: the newest stay.
        let (seen, wanted) = play(0, 120, 1500);
        assert_eq!((seen.lost as usize, seen.records.len()), (wanted.len() - TRACE_RECORDS, TRACE_RECORDS));
        compare(&seen.records, &wanted[seen.lost as usize..]);
    });
}
