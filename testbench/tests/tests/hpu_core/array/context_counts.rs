//! The counts of the contexts against sums of 64 bits.

use crate::hpu_core::fields::pack;
use hpu_core::array::context_counts::{ContextCounts, WORDS};
use rand::Rng;
use spindle_harness::{run_with_wave_on_failure, Dut};

/// Cycles in which the counts are cleared, and after which an end is in every word: 5, and 3 more in a high half.
const CLEARING: usize = 16;
const SETTLED: usize = 8;
/// Cycles from a request to its count.
const READ: usize = 2;

/// The words of a context.
#[derive(Clone, Copy, Default)]
struct Context {
    tasks: u32,
    faulted: u32,
    cycles: u64,
    instructions: u64,
}

impl Context {
    fn words(&self) -> [u32; WORDS] {
        let halves = |sum: u64| [sum as u32, (sum >> 32) as u32];
        let ([cycles, cycles_high], [instructions, instructions_high]) =
            (halves(self.cycles), halves(self.instructions));
        [self.tasks, self.faulted, cycles, cycles_high, instructions, instructions_high]
    }
}

#[test]
fn every_end_is_in_the_sums() {
    run_with_wave_on_failure("context_counts", |wave| {
        let dut = Dut::new(wave, ContextCounts::default(), "context_counts");
        let mut rng = wave.rng();
        let mut contexts = [Context::default(); 16];
        (0..CLEARING).for_each(|_| dut.tick());
        for burst in 0..60 {
            // Bursts of one end per cycle, some of one context.
            let only = (burst % 3 == 0).then(|| rng.random_range(0..16usize));
            for _ in 0..rng.random_range(1..600) {
                let ends = burst % 2 == 0 || rng.random_range(0..4) > 0;
                let context = only.unwrap_or_else(|| rng.random_range(0..16));
                // Large numbers, so that low halves wrap.
                let (cycles, instructions) = (rng.random_range(0..1u64 << 24), rng.random_range(0..1u64 << 24));
                let fault = rng.random_range(0..4) == 0;
                let fields = [
                    ("context", context as u64),
                    ("fault", fault.into()),
                    ("cycles", cycles),
                    ("instructions", instructions),
                ];
                dut.ended.valid.set(ends);
                dut.ended.set_bytes(&pack("task_done", &fields));
                if ends {
                    let sums = &mut contexts[context];
                    sums.tasks += 1;
                    sums.faulted += u32::from(fault);
                    sums.cycles += cycles;
                    sums.instructions += instructions + u64::from(!fault);
                }
                dut.tick();
            }
            dut.ended.valid.set(false);
            (0..SETTLED).for_each(|_| dut.tick());
            for (number, context) in contexts.iter().enumerate() {
                for (word, expected) in context.words().into_iter().enumerate() {
                    dut.read_context.set(number);
                    dut.read_word.set(word);
                    (0..READ).for_each(|_| dut.tick());
                    dut.eval();
                    assert_eq!(dut.count.number(), u64::from(expected), "burst {burst}, context {number}, word {word}");
                }
            }
        }
        let high = contexts.iter().filter(|context| context.cycles >> 32 > 0 && context.instructions >> 32 > 0);
        assert!(high.count() > 8, "few high halves have counted");
    });
}
