//! The trace ring: how it is switched, and which of its records are read while it goes on.

use crate::card::{refused, Handle};
use spindle::trace::{Trace, TraceRecord};
use spindle_contract::params::Config;
use spindle_contract::registers::trace;

const CONTROL: u32 = trace::BASE + trace::CONTROL;
const WRITTEN: u32 = trace::BASE + trace::WRITTEN;
const INDEX: u32 = trace::BASE + trace::INDEX;

#[test]
fn a_trace_begins_with_an_empty_ring() {
    let (handle, mut device) = Handle::opened(&Config::SIM);
    for (shift, mask) in [(0, 0), (1, 1), (3, 7), (15, 0x7FFF), (16, 0x7FFF), (u32::MAX, 0x7FFF)] {
        device.start_trace(shift).unwrap();
        assert_eq!(handle.writes(), [(CONTROL, 0), (trace::BASE + trace::SAMPLE_MASK, mask), (CONTROL, 1)]);
    }
    device.stop_trace().unwrap();
    assert_eq!(handle.writes(), vec![(CONTROL, 0)]);
}

#[test]
fn a_record_has_its_stages_in_order() {
    let (handle, mut device) = Handle::opened(&Config::SIM);
    handle.poke(WRITTEN, 1);
    handle.poke(trace::BASE + trace::RECORD_CYCLE, 0xCAFE_0001);
    handle.poke(trace::BASE + trace::RECORD_STAGES, 0x8421_BEEF);
    handle.poke(trace::BASE + trace::RECORD_HPU, 31);
    let record = TraceRecord { cycle: 0xCAFE_0001, frame: 0xBEEF, stages: vec![0, 5, 10, 15], hpu: 31 };
    assert_eq!(device.trace_since(0).unwrap(), Trace { records: vec![record], lost: 0 });
}

#[test]
fn a_ring_is_frozen_while_all_of_it_is_read() {
    let (handle, mut device) = Handle::opened(&Config::SIM);
    for control in [0, 1] {
        handle.poke(CONTROL, control);
        handle.poke(WRITTEN, 2);
        assert_eq!(device.trace().unwrap().records.len(), 2);
        assert_eq!(handle.writes(), [(CONTROL, control | 2), (INDEX, 0), (INDEX, 1), (CONTROL, control)]);
    }
    // It goes on after an error too.
    handle.break_register(Some(WRITTEN));
    device.trace().unwrap_err();
    assert_eq!(handle.writes(), [(CONTROL, 3), (CONTROL, 1)]);
}

#[test]
fn what_newer_records_have_overwritten_is_lost() {
    let (handle, mut device) = Handle::opened(&Config::SIM);
    // First record wanted, records written, and after the reads: the first one read, how many are valid, how many lost.
    for (first, written, now, read, valid, lost) in [
        (0, 0, 0, 0, 0, 0),
        (0, 3, 3, 0, 3, 0),
        (2, 3, 3, 2, 1, 0),
        (3, 3, 3, 3, 0, 0),
        (0, 512, 512, 0, 512, 0),
        (0, 513, 513, 1, 512, 1),
        (100, 700, 700, 188, 512, 88),
        (190, 700, 700, 190, 510, 0),
        // While they are read, some more come.
        (0, 512, 514, 0, 510, 2),
        (100, 512, 514, 100, 412, 0),
        (0, 512, 5000, 0, 0, 512),
        (100, 512, 5000, 100, 0, 412),
    ] {
        handle.answer(WRITTEN, [written, now]);
        handle.steps();
        let trace = device.trace_since(first).unwrap();
        assert_eq!((trace.records.len(), trace.lost), (valid, lost), "{first} of {written}, then {now}");
        let expected: Vec<(u32, u32)> = (read..written).map(|number| (INDEX, number % 512)).collect();
        assert_eq!(handle.writes(), expected, "{first} of {written}");
        handle.0.borrow_mut().answers.clear();
    }
}

#[test]
fn the_newest_of_records_are_kept_when_some_were_overwritten() {
    let (handle, mut device) = Handle::opened(&Config::SIM);
    handle.answer(WRITTEN, [512, 514]);
    handle.answer(trace::BASE + trace::RECORD_CYCLE, 0..512);
    let cycles: Vec<u32> = device.trace_since(0).unwrap().records.iter().map(|record| record.cycle).collect();
    assert_eq!(cycles, (2..512).collect::<Vec<_>>());
}

#[test]
fn a_ring_that_was_reset_while_it_was_read_is_not_believed() {
    let (handle, mut device) = Handle::opened(&Config::SIM);
    handle.answer(WRITTEN, [10, 9]);
    let sentence = refused(device.trace_since(0));
    assert!(sentence.contains("9 records of its trace after 10: it was reset meanwhile"), "{sentence}");
    handle.poke(WRITTEN, 5);
    assert_eq!(device.trace_since(7).unwrap(), Trace { records: vec![], lost: 0 }, "none of these was written yet");
}
