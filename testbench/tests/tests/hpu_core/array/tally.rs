//! The counters of the array against sums in words: each visit reports exactly what has come by then.

use hpu_core::array::tally::{self, Tally};
use rand::Rng;
use spindle_harness::{run_with_wave_on_failure, Dut};

/// Cycles from an event to the cycle in which its count may be reported: of a source with one event per cycle, and of one with
/// many.
const DELAY: usize = 4;
const SUM_DELAY: usize = 6;

/// What a counter counts.
#[derive(Clone, Copy)]
enum Source {
    /// One bit of one of the vectors.
    Bit(usize, usize),
    /// All bits of a vector, and how often the count has wrapped.
    Sum(usize),
    Wraps(usize),
    None,
}

fn source(address: usize, hpus: usize) -> Source {
    let group = 1 << tally::group_bits(hpus);
    match (address / group, address % group) {
        (tally::BUSY, i) if i < hpus => Source::Bit(0, i),
        (tally::TASKS, i) if i < hpus => Source::Bit(1, i),
        (tally::TOTALS, tally::TOTAL_TASKS) => Source::Sum(1),
        (tally::TOTALS, tally::TOTAL_BUSY) => Source::Sum(0),
        (tally::TOTALS, tally::TOTAL_RETIRED) => Source::Sum(2),
        (tally::TOTALS, tally::TOTAL_COMMANDS) => Source::Sum(3),
        (tally::TOTALS, i) if i == tally::TOTAL_BUSY + 1 => Source::Wraps(0),
        (tally::TOTALS, i) if i == tally::TOTAL_RETIRED + 1 => Source::Wraps(2),
        (tally::TOTALS, i @ tally::TOTAL_FAULTED..=tally::TOTAL_PRINTS_LOST) => {
            Source::Bit(4, i - tally::TOTAL_FAULTED)
        }
        _ => Source::None,
    }
}

fn counts(hpus: usize, start: u32) {
    run_with_wave_on_failure(&format!("tally_{hpus}_{start:x}"), |wave| {
        let dut = Dut::new(wave, Tally::starting_at(hpus, start), "tally");
        let mut rng = wave.rng();
        let round = 3 << tally::group_bits(hpus);
        // Events before each cycle: of each bit, and of each vector.
        let mut bits = vec![[[0u32; 32]; 5]];
        let mut sums = vec![[0u64; 5]];
        let mut reported = 0;
        for cycle in 0..60 * round {
            let vectors: [u32; 5] = std::array::from_fn(|vector| {
                let few = rng.random::<u32>() & rng.random::<u32>() & rng.random::<u32>();
                let mask = if vector == 4 { 7 } else { u32::MAX >> (32 - hpus) };
                [few, rng.random(), u32::MAX, 0][cycle / 50 % 4] & mask
            });
            for (wire, vector) in [&dut.busy, &dut.ended, &dut.retired, &dut.commands].into_iter().zip(vectors) {
                wire.set(vector);
            }
            for (i, wire) in [&dut.faulted, &dut.report_lost, &dut.print_lost].into_iter().enumerate() {
                wire.set(vectors[4] >> i & 1 == 1);
            }
            dut.eval();
            // The first counter comes out 3 cycles after its visit.
            if cycle >= 3 {
                let address = (cycle - 3) % round;
                assert_eq!(dut.at.number(), address as u64, "cycle {cycle}");
                let by = |delay: usize| (cycle + 1).saturating_sub(delay);
                let expected = match source(address, hpus) {
                    Source::Bit(vector, i) => start.wrapping_add(bits[by(DELAY)][vector][i]),
                    Source::Sum(vector) => start.wrapping_add(sums[by(SUM_DELAY)][vector] as u32),
                    Source::Wraps(vector) => {
                        // The low half was reported in the cycle before.
                        start.wrapping_add(((u64::from(start) + sums[by(SUM_DELAY + 1)][vector]) >> 32) as u32)
                    }
                    Source::None => start,
                };
                assert_eq!(dut.count.number(), u64::from(expected), "counter {address:#x} in cycle {cycle}");
                reported += 1;
            }
            let (mut next_bits, mut next_sums) = (bits[cycle], sums[cycle]);
            for (vector, word) in vectors.into_iter().enumerate() {
                next_sums[vector] += u64::from(word.count_ones());
                for (i, count) in next_bits[vector].iter_mut().enumerate() {
                    *count += word >> i & 1;
                }
            }
            bits.push(next_bits);
            sums.push(next_sums);
            dut.tick();
        }
        assert_eq!(reported, 60 * round - 3);
        assert!(sums.last().is_some_and(|sums| sums[..4].iter().all(|sum| *sum > 1000)), "few events came");
    });
}

#[test]
fn sixteen_hpus() {
    counts(16, 0);
}

#[test]
fn most_hpus() {
    counts(32, 0);
}

#[test]
fn few_hpus() {
    counts(3, 0);
}

#[test]
fn counts_wrap_and_low_halves_carry() {
    // Of all HPUs, so that every bit of a sum between two visits comes to use.
    counts(32, u32::MAX - 700);
}
