//! Ends of tasks do not overtake commands, however long the packet engine stalls.

use crate::hpu_core::fields::{field, pack_random};
use hpu_core::array::end_order::EndOrder;
use rand::Rng;
use spindle_harness::{run_with_wave_on_failure, Dut};
use std::collections::VecDeque;

/// Commands that the block holds, and ends.
const COMMANDS: u64 = 2;
const ENDS: usize = 16;

/// An end: its frame, how many commands came in before it or in its cycle, and the cycle.
struct End {
    frame: u64,
    after: u64,
    cycle: usize,
}

#[test]
fn no_end_overtakes_a_command() {
    run_with_wave_on_failure("end_order", |wave| {
        let dut = Dut::new(wave, EndOrder::default(), "end_order");
        let mut rng = wave.rng();
        let (mut commands, mut ends) = (VecDeque::<Vec<u8>>::new(), VecDeque::<End>::new());
        let (mut came, mut left) = (0, 0);
        let (mut ended, mut most_ends, mut behind_second) = (0, 0, 0);
        let (mut offered_command, mut offered_end): (Option<Vec<u8>>, Option<Vec<u8>>) = (None, None);
        let (mut taken, mut command_chance, mut end_chance, mut done_chance) = (0, 0, 0, 0);
        for cycle in 0..40_000usize {
            // The packet engine takes nothing for a while, then a command every few cycles or in every one.
            if cycle % 32 == 0 {
                taken = [0, 10, 30, 100, 100][rng.random_range(0..5)];
                command_chance = [3, 5, 10, 50][rng.random_range(0..4)];
                end_chance = [3, 10, 100][rng.random_range(0..3)];
                done_chance = [20, 80, 100][rng.random_range(0..3)];
            }
            let drains = cycle >= 39_800;
            if !drains && offered_command.is_none() && rng.random_range(0..100) < command_chance {
                offered_command = Some(pack_random("command", &[], &mut rng));
            }
            // Ends come while two commands stand, too, as often as otherwise.
            let chance = if came - left == COMMANDS { 30 } else { end_chance };
            if !drains && offered_end.is_none() && rng.random_range(0..100) < chance {
                offered_end = Some(pack_random("task_done", &[], &mut rng));
            }
            let (command, end) = (&offered_command, &offered_end);
            dut.command.valid.set(command.is_some());
            dut.command.set_bytes(command.as_ref().unwrap_or(&pack_random("command", &[], &mut rng)));
            dut.ending.valid.set(end.is_some());
            dut.ending.set_bytes(end.as_ref().unwrap_or(&pack_random("task_done", &[], &mut rng)));
            dut.place.ready.set(drains || rng.random_range(0..100) < taken);
            dut.task_done.ready.set(drains || rng.random_range(0..100) < done_chance);
            dut.eval();

            assert_eq!(dut.place.valid.is_high(), !commands.is_empty(), "cycle {cycle}: every command is offered");
            assert_eq!(dut.command.ready.is_high(), came - left < COMMANDS, "cycle {cycle}: room for two commands");
            assert_eq!(dut.ending.ready.is_high(), ends.len() < ENDS, "cycle {cycle}: room for ends");
            let (leaves, leaves_end) = (dut.place.ready.is_high(), dut.task_done.ready.is_high());
            if dut.task_done.valid.is_high() {
                let end = ends.front().expect("an end that did not come");
                assert_eq!(field("task_done", &dut.task_done.bytes(), "frame"), end.frame, "cycle {cycle}");
                assert!(left >= end.after, "cycle {cycle}: an end overtakes a command");
                assert!(end.cycle < cycle, "cycle {cycle}: ends take a cycle");
            } else {
                assert!(ends.is_empty() || came > left, "cycle {cycle}: nothing holds the end up");
            }
            if dut.task_done.valid.is_high() && leaves_end {
                ends.pop_front();
                ended += 1;
            }
            if dut.place.valid.is_high() && leaves {
                behind_second += u64::from(ends.front().is_some_and(|end| leaves_end && end.after == left + COMMANDS));
                assert_eq!(dut.place.bytes(), commands.pop_front().unwrap(), "cycle {cycle}: the oldest command");
                left += 1;
            }
            if dut.command.ready.is_high() {
                came += u64::from(offered_command.is_some());
                commands.extend(offered_command.take());
            }
            if dut.ending.ready.is_high() {
                ends.extend(offered_end.take().map(|end| End {
                    frame: field("task_done", &end, "frame"),
                    after: came,
                    cycle,
                }));
            }
            most_ends = most_ends.max(ends.len());
            dut.tick();
        }
        assert!(commands.is_empty() && ends.is_empty(), "{} commands and {} ends are lost", commands.len(), ends.len());
        // Ends that the scheduler would take while the first of their two commands leaves are those that a mistake lets pass.
        assert!(came > 2000 && ended > 2000 && behind_second > 20, "{came} {ended} {behind_second}");
        assert_eq!(most_ends, ENDS, "the queue of ends has been full");
    });
}
