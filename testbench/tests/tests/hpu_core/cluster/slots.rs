//! Packet slots: which are free, and when one is free again.

use crate::hpu_core::dut::Dut;
use hpu_core::cluster::slots::Slots;
use rand::Rng;
use spindle_contract::params::SLOTS;
use spindle_harness::run_with_wave_on_failure;
use std::collections::VecDeque;

#[test]
fn a_slot_is_free_when_task_and_commands_are_over() {
    run_with_wave_on_failure("slots", |wave| {
        let mut dut = Dut::new(wave, &mut Slots::default(), "slots");
        let mut rng = wave.rng();
        for _ in 0..SLOTS {
            dut.model.tick();
        }
        let mut free: VecDeque<usize> = (0..SLOTS).collect();
        let mut leaving: VecDeque<usize> = VecDeque::new();
        // The one that is asked about.
        let mut asked: Option<usize> = None;
        let mut tasks: Vec<usize> = Vec::new();
        // Until when commands read each slot.
        let mut read_until = [0; SLOTS];
        let (mut taken, mut asked_again, mut empty) = (0, 0, 0);
        for cycle in 0..20_000u64 {
            // Times of few tasks, of more than there are slots, and of endings only.
            let (takes, ends) = [(0.2, 0.3), (1.0, 0.1), (0.0, 1.0)][cycle as usize / 500 % 3];
            let ended = (!tasks.is_empty() && rng.random_bool(ends))
                .then(|| tasks.swap_remove(rng.random_range(0..tasks.len())));
            let takes = rng.random_bool(takes) && !free.is_empty();
            dut.set("ended_valid", ended.is_some().into());
            dut.set("ended", ended.unwrap_or(15) as u64);
            dut.set("slot_ready", takes.into());
            dut.model.eval();
            assert_eq!(dut.high("slot_valid"), !free.is_empty(), "cycle {cycle}");
            empty += u64::from(free.is_empty());
            let offered = free.front().copied();
            assert!(offered.is_none_or(|slot| dut.get("slot") == slot as u64));
            if takes {
                tasks.extend(free.pop_front());
                taken += 1;
            }
            let used = asked.is_some_and(|slot| cycle < read_until[slot]);
            let next = leaving.front().copied();
            if let Some(slot) = asked {
                assert_eq!(dut.get("probe"), slot as u64);
                if !used {
                    free.push_back(slot);
                } else if ended.is_none() {
                    leaving.push_back(slot);
                    asked_again += 1;
                }
            }
            if !used || ended.is_none() {
                asked = next;
                leaving.drain(..usize::from(next.is_some()));
            }
            dut.set("probe_used", u64::from(used));
            if let Some(slot) = ended {
                leaving.push_back(slot);
                read_until[slot] = cycle + if rng.random_bool(0.3) { rng.random_range(1..80) } else { 0 };
            }
            dut.model.tick();
        }
        assert_eq!(free.len() + usize::from(asked.is_some()) + leaving.len() + tasks.len(), SLOTS);
        assert!(taken > 500 && asked_again > 500 && empty > 500, "{taken}, {asked_again}, {empty}");
    });
}

#[test]
fn three_cycles_behind_its_end() {
    run_with_wave_on_failure("slots_latency", |wave| {
        let mut dut = Dut::new(wave, &mut Slots::default(), "slots");
        // All are taken as soon as they are there.
        let mut seen = Vec::new();
        while seen.len() < SLOTS {
            dut.model.eval();
            dut.set("slot_ready", dut.get("slot_valid"));
            if dut.high("slot_valid") {
                seen.push(dut.get("slot"));
            }
            dut.model.tick();
        }
        assert_eq!(seen, (0..SLOTS as u64).collect::<Vec<_>>());
        dut.set("slot_ready", 0);
        dut.set("ended_valid", 1);
        dut.set("ended", 7);
        for cycle in 0..5 {
            dut.model.eval();
            assert_eq!(dut.high("slot_valid"), cycle >= 3, "cycle {cycle}");
            dut.model.tick();
            dut.set("ended_valid", 0);
        }
        assert_eq!(dut.get("slot"), 7);
    });
}
