//! The join of the puts of processes and handlers: each leaves once, in the order of its source, and ends are counted.

use crate::packet_engine::dut::{Dut, Record};
use rand::Rng;
use rvma_lut::commands::put_arbiter::PutArbiter;
use spindle_blocks::RamStyle;
use spindle_contract::descriptors::put_op::HOST_HANDLE;
use spindle_harness::run_with_wave_on_failure;
use std::collections::VecDeque;

const PUT_BITS: [(&str, u32); 10] = [
    ("op", 2),
    ("from_host", 1),
    ("node", 8),
    ("dst_pid", 16),
    ("src_pid", 16),
    ("key", 32),
    ("length", 32),
    ("buf_off", 32),
    ("reply_off", 32),
    ("frame", 16),
];

/// By what the test knows answers to GETs.
const ANSWER_HANDLE: u64 = 5;
const SOURCES: [(usize, &str); 3] = [(0, "process_put"), (1, "array_put"), (2, "get_answer")];

fn random_put(handle: u64, rng: &mut impl Rng) -> Record {
    let mut put = Record::new(&PUT_BITS.map(|(name, width)| (name, rng.random::<u64>() & ((1 << width) - 1))));
    put.0.extend([("addr", rng.random()), ("host_address", rng.random()), ("handle", handle)]);
    put
}

/// The fields that a record names, of another one.
fn like(put: &Record, of: &Record) -> Record {
    Record(put.0.keys().map(|name| (*name, of.get(name))).collect())
}

#[test]
fn every_put_leaves_once_in_the_order_of_its_source() {
    run_with_wave_on_failure("every_put_leaves_once_in_the_order_of_its_source", |wave| {
        let mut dut = Dut::new(wave, &mut PutArbiter::new(RamStyle::Block), "put_arbiter");
        let mut rng = wave.rng();
        let mut offered: [Option<Record>; 3] = Default::default();
        let mut inside: [VecDeque<Record>; 3] = Default::default();
        let (mut taken, mut left, mut held) = ([0u64; 3], [0; 3], None);
        let (mut expected, mut seen) = ([0u64; 2], [0u64; 2]);
        const CYCLES: u64 = 20_000;
        for cycle in 0..CYCLES {
            let quiet = cycle + 100 > CYCLES;
            for (source, port) in SOURCES {
                // The doorbell needs longer for a put than the others, and goes first.
                let rare = if source == 0 { 16 } else { 3 };
                if offered[source].is_none() && !quiet && rng.random_ratio(1, rare) {
                    offered[source] = Some(match source {
                        2 => random_put(ANSWER_HANDLE, &mut rng),
                        _ => random_put(rng.random_range(0..4), &mut rng),
                    });
                }
                dut.set(&format!("{port}_valid"), offered[source].is_some().into());
                dut.put(port, "put_desc", &offered[source].clone().unwrap_or_default());
            }
            // For long times the initiator is busy with one put.
            dut.set("host_put_ready", (quiet || cycle % 500 > 200 && rng.random_ratio(1, 2)).into());
            let ends = !quiet && rng.random_ratio(1, 4);
            let (host, error) = (rng.random_bool(0.5), rng.random_bool(0.3));
            let handle = if host { HOST_HANDLE.into() } else { rng.random_range(0..4) };
            dut.set("put_done_valid", ends.into());
            dut.put("put_done", "put_done", &Record::new(&[("handle", handle), ("error", error.into())]));
            if ends && host {
                expected[0] += 1;
                expected[1] += u64::from(error);
            }
            dut.eval();
            for (source, port) in SOURCES {
                if offered[source].is_some() && dut.high(&format!("{port}_ready")) {
                    let mut put = offered[source].take().expect("it is offered");
                    taken[source] += 1;
                    if source == 0 {
                        assert_eq!(dut.get("number"), taken[0] & 0xFFFF);
                        put.0.insert("handle", HOST_HANDLE.into());
                        put.0.insert("frame", taken[0] & 0xFFFF);
                    }
                    inside[source].push_back(put);
                    // Four wait and one leaves; two places are for processes only.
                    assert!(inside.iter().map(VecDeque::len).sum::<usize>() <= 5);
                    assert!(inside[1].len() + inside[2].len() <= 3);
                }
            }
            if dut.high("host_put_valid") {
                let put = dut.record("host_put", "put_desc");
                let source = match put.get("handle") {
                    handle if handle == u64::from(HOST_HANDLE) => 0,
                    ANSWER_HANDLE => 2,
                    _ => 1,
                };
                let first = inside[source].front().expect("somebody asked for it");
                assert_eq!(like(first, &put), *first);
                assert!(held.as_ref().is_none_or(|held| *held == put), "what is offered stays");
                held = Some(put);
                if dut.high("host_put_ready") {
                    (held, left[source]) = (None, left[source] + 1);
                    inside[source].pop_front();
                }
            } else {
                assert_eq!(held, None);
            }
            seen[0] += dut.get("ended");
            seen[1] += dut.get("failed");
            dut.tick();
        }
        assert!(inside.iter().all(VecDeque::is_empty), "{inside:?}");
        assert_eq!((taken, seen), (left, expected));
        assert!(taken.iter().all(|taken| *taken > 500) && seen[1] > 500, "{taken:?} {seen:?}");
    });
}

/// A put leaves four cycles after it was taken; an answer waits a cycle for its turn.
#[test]
fn latency_of_the_join() {
    run_with_wave_on_failure("latency_of_the_join", |wave| {
        for (port, latency) in [("array_put", 4), ("get_answer", 5), ("process_put", 4)] {
            let mut dut = Dut::new(wave, &mut PutArbiter::new(RamStyle::Block), "put_arbiter");
            dut.set("host_put_ready", 1);
            dut.set(&format!("{port}_valid"), 1);
            dut.eval();
            let mut cycles = 0;
            while !dut.high("host_put_valid") {
                assert!(cycles < 10, "{port}: no put");
                let taken = dut.high(&format!("{port}_ready"));
                dut.tick();
                if taken {
                    dut.set(&format!("{port}_valid"), 0);
                }
                dut.eval();
                cycles += 1;
            }
            assert_eq!(cycles, latency, "{port}");
        }
    });
}
