//! Packet slots: which are free, and when one is free again.

use hpu_core::cluster::slots::Slots;
use rand::Rng;
use spindle_contract::params::SLOTS;
use spindle_harness::{run_with_wave_on_failure, Dut};
use std::collections::VecDeque;

#[test]
fn a_slot_is_free_when_task_and_commands_are_over() {
    run_with_wave_on_failure("slots", |wave| {
        let dut = Dut::new(wave, Slots::default(), "slots");
        let mut rng = wave.rng();
        // While no slot is asked about, the number at `probe` is an old one, and the answer says nothing.
        dut.probe_used.set(true);
        for _ in 0..SLOTS {
            dut.tick();
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
            dut.ended.valid.set(ended.is_some());
            dut.ended.set(ended.unwrap_or(15));
            dut.slot.ready.set(takes);
            dut.eval();
            assert_eq!(dut.slot.valid.is_high(), !free.is_empty(), "cycle {cycle}");
            empty += u64::from(free.is_empty());
            let offered = free.front().copied();
            assert!(offered.is_none_or(|slot| dut.slot.number() == slot as u64));
            if takes {
                tasks.extend(free.pop_front());
                taken += 1;
            }
            let answer = asked.map_or_else(|| rng.random(), |slot| cycle < read_until[slot]);
            let used = asked.is_some() && answer;
            let next = leaving.front().copied();
            if let Some(slot) = asked {
                assert_eq!(dut.probe.number(), slot as u64);
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
            dut.probe_used.set(answer);
            if let Some(slot) = ended {
                leaving.push_back(slot);
                read_until[slot] = cycle + if rng.random_bool(0.3) { rng.random_range(1..80) } else { 0 };
            }
            dut.tick();
        }
        assert_eq!(free.len() + usize::from(asked.is_some()) + leaving.len() + tasks.len(), SLOTS);
        assert!(taken > 500 && asked_again > 500 && empty > 500, "{taken}, {asked_again}, {empty}");
    });
}

#[test]
fn three_cycles_behind_its_end() {
    run_with_wave_on_failure("slots_latency", |wave| {
        let dut = Dut::new(wave, Slots::default(), "slots");
        // All are taken as soon as they are there.
        let mut seen = Vec::new();
        while seen.len() < SLOTS {
            dut.eval();
            dut.slot.ready.set(dut.slot.valid.is_high());
            if dut.slot.valid.is_high() {
                seen.push(dut.slot.number());
            }
            dut.tick();
        }
        assert_eq!(seen, (0..SLOTS as u64).collect::<Vec<_>>());
        dut.slot.ready.set(false);
        dut.ended.valid.set(true);
        dut.ended.set(7);
        for cycle in 0..5 {
            dut.eval();
            assert_eq!(dut.slot.valid.is_high(), cycle >= 3, "cycle {cycle}");
            dut.tick();
            dut.ended.valid.set(false);
        }
        assert_eq!(dut.slot.number(), 7);
    });
}
