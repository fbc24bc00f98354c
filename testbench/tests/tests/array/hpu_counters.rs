//! The counts of each HPU against sums in words.

use crate::cluster::dut::Dut;
use hpu_core::hpu_counters::HpuCounters;
use rand::Rng;
use spindle_harness::run_with_wave_on_failure;
use std::collections::VecDeque;

const HPUS: usize = 16;
/// Cycles within which an event is in its count, with as many questions as may be asked.
const DELAY: usize = 100;

#[test]
fn every_cycle_and_task_counts() {
    run_with_wave_on_failure("hpu_counters", |wave| {
        let mut dut = Dut::new(wave, &mut HpuCounters::new(HPUS), "hpu_counters");
        let mut rng = wave.rng();
        for round in 0..2 {
            dut.set("reset", 1);
            dut.model.tick();
            dut.set("reset", 0);
            let mut sums = [[0u64; HPUS]; 2];
            // The sums at the start of each of the last cycles, the newest first.
            let mut history = VecDeque::from(vec![sums; DELAY]);
            let mut asked: Option<(usize, usize)> = None;
            let mut quiet = 2;
            for cycle in 0..20_000 {
                // Few, many, all, none.
                let some = |rng: &mut dyn rand::RngCore| match cycle / 500 % 4 {
                    0 => rng.next_u32() & rng.next_u32() & rng.next_u32(),
                    1 => rng.next_u32(),
                    2 => u32::MAX,
                    _ => 0,
                };
                let events = [some(&mut rng), some(&mut rng)];
                dut.set("busy", events[0].into());
                dut.set("ended", events[1].into());
                if let Some((kind, hpu)) = asked {
                    dut.model.eval();
                    let (least, most) = (history[DELAY - 1][kind][hpu], history[0][kind][hpu]);
                    let count = dut.get("count");
                    assert!(
                        (least..=most).contains(&count),
                        "round {round}, cycle {cycle}: {count}, not {least} to {most}"
                    );
                }
                // As often as allowed in some phases, so that visits are late.
                quiet += 1;
                let asks = quiet > 2 && (cycle / 1_500 % 2 == 0 || rng.random_range(0..8) == 0);
                let (kind, hpu) = (rng.random_range(0..2), rng.random_range(0..HPUS));
                dut.set("asks", asks.into());
                dut.set("index", (32 * kind + hpu) as u64);
                asked = asks.then_some((kind, hpu));
                if asks {
                    quiet = 0;
                }
                for (kind, events) in events.iter().enumerate() {
                    for (hpu, sum) in sums[kind].iter_mut().enumerate() {
                        *sum += u64::from(events >> hpu & 1);
                    }
                }
                history.pop_back();
                history.push_front(sums);
                dut.model.tick();
            }
            assert!(sums.iter().flatten().all(|&sum| sum > 5_000), "few events came");
        }
    });
}

/// The latency that the block's text promises, to the cycle, and the time without counts behind a reset.
#[test]
fn a_count_is_visited_every_64_cycles() {
    run_with_wave_on_failure("hpu_counters_visit", |wave| {
        for phase in 0..64 {
            let mut dut = Dut::new(wave, &mut HpuCounters::new(HPUS), "hpu_counters");
            dut.set("reset", 1);
            dut.model.tick();
            dut.set("reset", 0);
            for _ in 0..128 + phase {
                dut.model.tick();
            }
            dut.set("ended", 1 << 5);
            dut.model.tick();
            dut.set("ended", 0);
            // Slot 37 is visited in cycles 37 modulo 64, that of the event too; its count is read in the next cycle and written in the one behind.
            let wait = (37 + 64 - phase) % 64 + 1;
            for _ in 0..wait {
                dut.model.tick();
            }
            let mut read = || {
                dut.set("asks", 1);
                dut.set("index", 32 + 5);
                dut.model.tick();
                dut.set("asks", 0);
                dut.model.eval();
                let count = dut.get("count");
                dut.model.tick();
                dut.model.tick();
                count
            };
            assert_eq!(read(), 0, "event in phase {phase}: the count is being written");
            assert_eq!(read(), 1, "event in phase {phase}");
        }
    });
}
