//! Words that others change at the same time: what both threads and the other processors add up to.

use crate::hpu_core::processor::hpu::hart_bench::hart;
use rand::Rng;
use spindle_contract::memory_map::{base, CONTEXT, SCRATCH};
use spindle_contract::params::L1_SCRATCH_BASE;
use spindle_harness::run_with_wave_on_failure;
use spindle_hart::assembler::*;
use spindle_hart::{Rival, Start, Timing};

const ROUNDS: u32 = 40;
const COUNTER: u32 = 8;
const TIMES: i32 = 9;
const AMOADD: u32 = 0;
const AMOSWAP: u32 = 1;

/// Adds one to the word at x8, x9 times, and returns how often it had to try again, at most 255.
fn increments(region: u32, conditional: bool) -> Vec<u32> {
    let mut words =
        vec![lui(COUNTER, base(region) >> 12), addi(COUNTER, COUNTER, 64), addi(9, 0, TIMES), addi(5, 0, 1)];
    let once = if conditional {
        vec![amo(LR, 6, COUNTER, 0), add(6, 6, 5), amo(SC, 7, COUNTER, 6), add(18, 18, 7), branch(1, 7, 0, -16)]
    } else {
        vec![amo(AMOADD, 0, COUNTER, 5)]
    };
    let back = -4 * (once.len() as i32 + 1);
    words.extend(once);
    words.extend([addi(9, 9, -1), branch(1, 9, 0, back), addi(A0, 18, 0), RET]);
    words
}

fn word(memory: &[u8], at: usize) -> u32 {
    u32::from_le_bytes(memory[at..at + 4].try_into().expect("four bytes"))
}

#[test]
fn nothing_that_is_added_is_lost() {
    run_with_wave_on_failure("hart_contention", |context| {
        let mut rng = context.rng();
        for (region, far, at) in [(SCRATCH, false, L1_SCRATCH_BASE as u32 + 64), (CONTEXT, true, 64)] {
            let mut hart = hart(context, 0);
            hart.timing = Timing { remote: (1, 12), ..Timing::BUSY };
            hart.program(0, &increments(region, false));
            hart.program(0x1000, &increments(region, true));
            let mut total = 0;
            let mut retries = 0;
            for _ in 0..ROUNDS {
                let rivals = rng.random_range(0..40);
                hart.remote.rivals = vec![Rival { far, address: at, left: rivals, eager: 16 }];
                for entry in [0, 0x1000, 0x1000, 0] {
                    hart.queue(Start { entry: 0x1000_0000 + entry, ..Start::default() });
                    total += TIMES as u32;
                }
                hart.run_until(hart.endings.len() + 4);
                total += rivals - hart.remote.rivals[0].left;
                let memory = if far { &hart.l2 } else { &hart.l1 };
                assert_eq!(word(memory, at as usize), total, "the counter of region {region}");
                retries += hart.endings.iter().rev().take(4).map(|ending| u32::from(ending.code)).sum::<u32>();
            }
            assert!(retries > 100, "only {retries} conditional stores fail: no one competes");
        }
    });
}

#[test]
fn a_lock_holds() {
    run_with_wave_on_failure("hart_lock", |context| {
        for (region, at) in [(SCRATCH, L1_SCRATCH_BASE), (CONTEXT, 0)] {
            let mut hart = hart(context, 0);
            hart.timing = Timing::BUSY;
            // A lock in the first word; after it a plain counter in the second that is read, kept for a while, and written.
            let program = [
                lui(COUNTER, base(region) >> 12),
                addi(9, 0, TIMES),
                addi(5, 0, 1),
                amo(AMOSWAP, 6, COUNTER, 5) | 1 << 26,
                branch(1, 6, 0, -4),
                lw(7, COUNTER, 4),
                addi(7, 7, 1),
                sw(7, COUNTER, 4),
                FENCE,
                amo(AMOSWAP, 0, COUNTER, 0) | 1 << 25,
                addi(9, 9, -1),
                branch(1, 9, 0, -32),
                RET,
            ];
            hart.program(0, &program);
            for _ in 0..40 {
                hart.queue(Start::default());
            }
            hart.run_until(40);
            assert!(hart.endings.iter().all(|ending| ending.cause == 0));
            let memory = if region == CONTEXT { &hart.l2 } else { &hart.l1 };
            assert_eq!((word(memory, at), word(memory, at + 4)), (0, 40 * TIMES as u32), "region {region}");
        }
    });
}
