//! Budgets of every size: no bit of the comparison with the clock is missing, on either thread.

use crate::hpu_core::processor::hpu::hart_bench::hart;
use rand::Rng;
use spindle_contract::memory_map::{base, CODE, CONTEXT, FAULT_WATCHDOG, WATCHDOG_BITS};
use spindle_harness::run_with_wave_on_failure;
use spindle_hart::assembler::*;
use spindle_hart::{Ending, Hart, Start};
use std::collections::BTreeSet;

/// Offsets of the programs: one of some tens of cycles, one that waits for L2, one without an end.
const SHORT: usize = 0;
const WAITING: usize = 0x1000;
const ENDLESS: usize = 0x2000;

/// A handler with this budget on a thread, on the second one while the first one waits.
fn run(hart: &mut Hart, rng: &mut impl Rng, thread: usize, program: usize, watchdog: u32) -> Ending {
    let (from, begun) = (hart.endings.len(), hart.begins.len());
    if thread == 1 {
        hart.queue(Start { entry: base(CODE) + WAITING as u32, ..Start::default() });
    }
    let frame = rng.random();
    hart.queue(Start { entry: base(CODE) + program as u32, watchdog, frame, ..Start::default() });
    hart.run_until(from + 1 + thread);
    let (begin, end) = (hart.begins[begun + thread], hart.ends[from]);
    assert_eq!((begin.thread, begin.frame, end.thread, end.frame), (thread, frame, thread, frame));
    hart.endings[from]
}

/// For each bit a budget that is enough, and would not be without the bit.
#[test]
fn no_bit_of_a_budget_is_left_out() {
    run_with_wave_on_failure("hart_budget_bits", |context| {
        let mut rng = context.rng();
        let mut hart = hart(context, 0);
        hart.program(WAITING, &[lui(8, base(CONTEXT) >> 12), lw(5, 8, 0), add(5, 5, 5), RET]);
        hart.program(ENDLESS, &[branch(0, 0, 0, 0)]);
        for thread in 0..2 {
            hart.timing.remote = (500, 500);
            let mut tried = BTreeSet::new();
            // Which of the low bits can be tried depends on the handler's cycles.
            for more in 0..3 {
                let mut words = vec![addi(5, 0, 20), addi(5, 5, -1), branch(1, 5, 0, -4)];
                words.resize(3 + more, addi(0, 0, 0));
                words.push(RET);
                hart.program(SHORT, &words);
                // Twice, so that the branches are predicted as in all runs that follow.
                let cycles = [(); 2].map(|()| run(&mut hart, &mut rng, thread, SHORT, 400).cycles)[1];
                for bit in 0..WATCHDOG_BITS as u32 {
                    let spent = (3..cycles).rev().find(|spent| spent >> bit & 1 == 0 && spent + (1 << bit) >= cycles);
                    let Some(spent) = spent else { continue };
                    let ending = run(&mut hart, &mut rng, thread, SHORT, spent + (1 << bit));
                    assert_eq!(ending.cause, 0, "bit {bit} on thread {thread}, {cycles} cycles: {ending:x?}");
                    tried.insert(bit);
                }
            }
            assert_eq!(tried.len(), WATCHDOG_BITS, "{tried:?}");
            // The clock has these bits too.
            let budget = (1 << 17) + 100;
            let longer = u64::from(budget) + 2000;
            hart.timing.remote = (longer, longer);
            hart.patience = 2 * longer;
            let ending = run(&mut hart, &mut rng, thread, ENDLESS, budget);
            let in_time = (budget..budget + 9).contains(&ending.cycles);
            assert!(ending.cause == FAULT_WATCHDOG && in_time, "thread {thread}, budget {budget}: {ending:x?}");
        }
    });
}
