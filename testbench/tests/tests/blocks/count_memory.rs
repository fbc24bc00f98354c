//! `CountMemory` against an array of counts.

use rand::Rng;
use spindle_blocks::CountMemory;
use spindle_harness::{run_with_wave_on_failure, Dut};
use std::collections::VecDeque;

/// Cycles from a visit to its count.
const DELAY: usize = 3;

fn counts(counters: usize, start: u32) {
    run_with_wave_on_failure(&format!("count_memory_{counters}"), |wave| {
        let mut rng = wave.rng();
        let dut = Dut::new(wave, CountMemory::new(counters), "count_memory");
        dut.last.set(counters as u64 - 1);
        dut.start.set(start);
        // The memory is not empty when the second run begins.
        for _ in 0..2 {
            dut.reset();
            let mut counts = vec![start; counters];
            let mut reported: VecDeque<(usize, u32)> = VecDeque::new();
            let (mut carry, mut carries) = (0, 0);
            for cycle in 0..100 * counters {
                let number = cycle % counters;
                dut.eval();
                assert_eq!(dut.visited.number(), number as u64, "cycle {cycle}");
                // Little, much, less than nothing.
                let more = match rng.random_range(0..4) {
                    0 => 0,
                    1 => rng.random_range(0..100),
                    2 => rng.random::<u32>(),
                    _ => rng.random_range(0u32..8).wrapping_neg(),
                };
                let is_low = rng.random();
                dut.more.set(more);
                dut.is_low.set(is_low);
                dut.eval();
                if cycle >= DELAY {
                    let (at, count) = reported.pop_front().expect("every visit is reported");
                    assert_eq!((dut.at.number(), dut.count.number()), (at as u64, u64::from(count)), "cycle {cycle}");
                }
                let sum = u64::from(counts[number]) + u64::from(more) + carry;
                counts[number] = sum as u32;
                carry = if is_low { sum >> 32 } else { 0 };
                carries += carry;
                reported.push_back((number, sum as u32));
                dut.tick();
            }
            assert!(carries > counters as u64, "{carries} carries");
        }
    });
}

#[test]
fn two() {
    counts(2, 0);
}

#[test]
fn fifteen() {
    counts(15, 0xFFFF_FFF0);
}

#[test]
fn all() {
    counts(128, 7);
}
