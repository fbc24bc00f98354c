//! The join of the puts of processes and handlers: each leaves once, in the order of its source, and ends are counted.

use rand::Rng;
use rvma_lut::commands::put_arbiter::PutArbiter;
use spindle_blocks::desc::{PutDesc, PutDone};
use spindle_blocks::RamStyle;
use spindle_contract::descriptors::put_op::HOST_HANDLE;
use spindle_harness::{random_bits, run_with_wave_on_failure, Dut};
use spindle_verilog::prelude::{bits, SinkPorts};
use std::collections::VecDeque;

/// By what the test knows answers to GETs.
const ANSWER_HANDLE: u64 = 5;

/// Where puts come from: processes, the HPU array, answers to GETs.
fn sources(dut: &Dut<PutArbiter>) -> [&SinkPorts<PutDesc>; 3] {
    [&dut.process_put, &dut.array_put, &dut.get_answer]
}

fn random_put(handle: u64, rng: &mut impl Rng) -> PutDesc {
    let mut put: PutDesc = random_bits(rng);
    put.issuer.handle = bits(handle);
    put
}

#[test]
fn every_put_leaves_once_in_the_order_of_its_source() {
    run_with_wave_on_failure("every_put_leaves_once_in_the_order_of_its_source", |wave| {
        let dut = Dut::new(wave, PutArbiter::new(RamStyle::Block), "put_arbiter");
        let mut rng = wave.rng();
        let mut offered: [Option<PutDesc>; 3] = Default::default();
        let mut inside: [VecDeque<PutDesc>; 3] = Default::default();
        let (mut taken, mut left) = ([0u64; 3], [0; 3]);
        // Puts of the command unit, which get a number; those of the rings have theirs.
        let (mut ring, mut numbered) = (false, 0u64);
        let (mut expected, mut seen) = ([0u64; 2], [0u64; 2]);
        const CYCLES: u64 = 20_000;
        for cycle in 0..CYCLES {
            let quiet = cycle + 100 > CYCLES;
            for (source, port) in sources(&dut).into_iter().enumerate() {
                // The doorbell needs longer for a put than the others, and goes first.
                let rare = if source == 0 { 16 } else { 3 };
                if offered[source].is_none() && !quiet && rng.random_ratio(1, rare) {
                    offered[source] = Some(match source {
                        2 => random_put(ANSWER_HANDLE, &mut rng),
                        _ => random_put(rng.random_range(0..4), &mut rng),
                    });
                    if source == 0 {
                        ring = rng.random_ratio(1, 4);
                        dut.from_ring.set(ring);
                    }
                }
                port.offer(offered[source]);
            }
            // For long times the initiator is busy with one put.
            dut.host_put.ready.set(quiet || cycle % 500 > 200 && rng.random_ratio(1, 2));
            let ends = !quiet && rng.random_ratio(1, 4);
            let (host, error) = (rng.random_bool(0.5), rng.random_bool(0.3));
            // Every other one is that of a handler.
            let handle = if host { 0 } else { rng.random_range(1..16) } ^ u64::from(HOST_HANDLE);
            let mut done: PutDone = random_bits(&mut rng);
            (done.issuer.handle, done.error) = (bits(handle), error);
            dut.put_done.offer(ends.then_some(done));
            if ends && host {
                expected[0] += 1;
                expected[1] += u64::from(error);
            }
            dut.eval();
            for (source, port) in sources(&dut).into_iter().enumerate() {
                if port.moves() {
                    let mut put = offered[source].take().expect("it is offered");
                    taken[source] += 1;
                    if source == 0 {
                        numbered += u64::from(!ring);
                        put.issuer.handle = bits(HOST_HANDLE);
                        if !ring {
                            assert_eq!(dut.number.number(), numbered & 0xFFFF);
                            put.frame = bits(numbered);
                        }
                    }
                    inside[source].push_back(put);
                    // Four wait and one leaves; two places are for processes only.
                    assert!(inside.iter().map(VecDeque::len).sum::<usize>() <= 5);
                    assert!(inside[1].len() + inside[2].len() <= 3);
                }
            }
            if let Some(put) = dut.host_put.offered() {
                let source = match put.issuer.handle.to_u64() {
                    handle if handle == u64::from(HOST_HANDLE) => 0,
                    ANSWER_HANDLE => 2,
                    _ => 1,
                };
                assert_eq!(Some(&put), inside[source].front());
                if dut.host_put.moves() {
                    left[source] += 1;
                    inside[source].pop_front();
                }
            }
            seen[0] += dut.ended.number();
            seen[1] += dut.failed.number();
            dut.tick();
        }
        assert!(inside.iter().all(VecDeque::is_empty), "{inside:?}");
        assert_eq!((taken, seen), (left, expected));
        assert!(taken.iter().all(|taken| *taken > 500) && seen[1] > 500, "{taken:?} {seen:?}");
        assert!(numbered > 400 && taken[0] - numbered > 100, "{numbered} of {}", taken[0]);
    });
}

/// A put leaves four cycles after it was taken; an answer waits a cycle for its turn.
#[test]
fn latency_of_the_join() {
    run_with_wave_on_failure("latency_of_the_join", |wave| {
        for (source, latency) in [(0, 4), (1, 4), (2, 5)] {
            let dut = Dut::new(wave, PutArbiter::new(RamStyle::Block), "put_arbiter");
            let port = sources(&dut)[source];
            dut.host_put.ready.set(true);
            port.valid.set(true);
            dut.eval();
            let mut cycles = 0;
            while !dut.host_put.valid.is_high() {
                assert!(cycles < 10, "source {source}: no put");
                let taken = port.moves();
                dut.tick();
                if taken {
                    port.valid.set(false);
                }
                dut.eval();
                cycles += 1;
            }
            assert_eq!(cycles, latency, "source {source}");
        }
    });
}
