//! `SumBank` against an array of sums, in block RAM and in LUT RAM.

use rand::Rng;
use spindle_blocks::{RamStyle, SumBank};
use spindle_harness::{run_with_wave_on_failure, Dut};
use std::collections::VecDeque;

/// Cycles from an event to the first request that sees it.
const SEEN: usize = 4;
/// Cycles from an event to its carry.
const CARRY: usize = 3;

fn adds_every_event(style: RamStyle) {
    run_with_wave_on_failure(&format!("sum_bank_{}", style.attribute()), |wave| {
        let mut rng = wave.rng();
        let dut = Dut::new(wave, SumBank::<4>::new(style), "sum_bank");
        for round in 0..2 {
            dut.add.set(false);
            dut.reset();
            // The clearing walk lasts 16 cycles, also in the second round, when the sums are not zero.
            for cycle in 0..17 {
                dut.eval();
                assert_eq!(dut.clearing.is_high(), cycle < 16, "round {round}, cycle {cycle}");
                dut.tick();
            }
            let mut sums = [0u32; 16];
            // The sums at the start of each of the last cycles, the newest first.
            let mut history = VecDeque::from([sums; SEEN]);
            let mut carries = VecDeque::from([None; CARRY]);
            let mut asked = None;
            let (mut events, mut wraps) = (0, 0);
            for cycle in 0..20_000 {
                // One event per cycle for long times, and few distinct sums: the same one in consecutive cycles, and
                // with one or two others between.
                let adds = cycle / 500 % 2 == 0 || rng.random_range(0..3) > 0;
                let index = rng.random_range(0..16usize) & rng.random_range(0..16usize);
                let amount: u32 = if rng.random() { rng.random() } else { rng.random_range(0..3) };
                let read = rng.random_range(0..16usize);
                dut.add.set(adds);
                dut.index.set(index);
                dut.amount.set(amount);
                dut.read_index.set(read);
                dut.eval();
                if let Some(expected) = asked {
                    assert_eq!(dut.read_sum.number(), u64::from(expected), "round {round}, cycle {cycle}");
                }
                let carried = carries.pop_back().flatten();
                let shown = dut.carry.is_high().then(|| dut.carry_index.number() as usize);
                assert_eq!(shown, carried, "round {round}, cycle {cycle}");
                asked = Some(history[SEEN - 1][read]);
                let (sum, wrapped) = sums[index].overflowing_add(if adds { amount } else { 0 });
                sums[index] = sum;
                carries.push_front(wrapped.then_some(index));
                events += u32::from(adds);
                wraps += u32::from(wrapped);
                history.pop_back();
                history.push_front(sums);
                dut.tick();
            }
            assert!(events > 15_000 && wraps > 1000, "{events} events, {wraps} wraps");
        }
    });
}

#[test]
fn in_lut_ram() {
    adds_every_event(RamStyle::Distributed);
}

#[test]
fn in_block_ram() {
    adds_every_event(RamStyle::Block);
}
