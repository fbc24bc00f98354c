//! Watchdog, hand-over from one handler to the next, scrubbing, endings that nobody takes.

use crate::assembler::*;
use crate::processor::{Launch, Processor};
use spindle_contract::memory_map::{base, CODE, COMMAND, CONTEXT, FAULT_WATCHDOG};
use spindle_harness::run_with_wave_on_failure;

/// Programs that end, by what their last instructions are.
fn programs() -> Vec<Vec<u32>> {
    let context = lui(8, base(CONTEXT) >> 12);
    vec![
        vec![RET],
        vec![NOP, NOP, RET],
        vec![addi(A0, 0, 5), jalr(0, RA, 0)],
        vec![context, sw(A0, 8, 0), RET],
        vec![context, lw(A0, 8, 1), RET],
        vec![op((1, 4), A0, A0, A1), RET],
        vec![op((1, 1), A0, A0, A1), RET],
    ]
}

#[test]
fn the_watchdog_is_exact() {
    run_with_wave_on_failure("hpu_watchdog", |context| {
        let mut hpu = Processor::new(context, 0);
        hpu.latency = (3, 3);
        for program in programs() {
            let free = hpu.run_program(&program);
            assert_eq!(free.cause, 0);
            for budget in 1..free.cycles + 3 {
                let ending = hpu.run(Launch { watchdog: budget, ..Launch::default() });
                if budget >= free.cycles {
                    assert_eq!(ending, free, "a budget of {budget}, the handler takes {}", free.cycles);
                } else {
                    assert_eq!(ending.cause, FAULT_WATCHDOG, "a budget of {budget}, the handler takes {}", free.cycles);
                    // An access under way is waited for; this one takes three cycles a word.
                    assert!((budget + 1..=budget + 8).contains(&ending.cycles), "a budget of {budget}: {ending:x?}");
                }
            }
        }
    });
}

#[test]
fn the_watchdog_ends_every_kind_of_endless_handler() {
    run_with_wave_on_failure("hpu_endless", |context| {
        let mut hpu = Processor::new(context, 0);
        let (context, command) = (lui(8, base(CONTEXT) >> 12), lui(8, base(COMMAND) >> 12));
        let endless: [&[u32]; 5] = [
            &[jal(0, 0)],
            &[op((1, 5), 5, 5, 6), jal(0, -4)],
            &[context, lw(5, 8, 3), jal(0, -4)],
            &[context, sw(5, 8, 3), jal(0, -4)],
            &[command, lw(5, 8, 0x1C), RET],
        ];
        hpu.latency = (1, 7);
        hpu.command_stuck = true;
        for program in endless {
            for budget in 200..230 {
                hpu.program(0, program);
                let ending = hpu.run(Launch { watchdog: budget, ..Launch::default() });
                assert_eq!(ending.cause, FAULT_WATCHDOG);
                // Two words of seven cycles each, and a fetch.
                assert!((budget + 1..=budget + 16).contains(&ending.cycles), "a budget of {budget}: {ending:x?}");
                let last = base(CODE) + 4 * program.len() as u32;
                assert!(
                    (base(CODE)..last).contains(&ending.pc),
                    "the report names an instruction of the handler: {ending:x?}"
                );
            }
        }
        // Where a command is waited for, the end is exact, and the report names the access.
        let ending = hpu.run(Launch { watchdog: 100, ..Launch::default() });
        assert_eq!((ending.cycles, ending.pc, ending.address), (101, base(CODE) + 4, base(COMMAND) + 0x1C));
        hpu.command_stuck = false;
        assert_eq!(hpu.run(Launch::default()).cause, 0, "the next handler is not concerned");
    });
}

#[test]
fn a_waiting_handler_follows_in_the_next_cycle() {
    run_with_wave_on_failure("hpu_hand_over", |context| {
        let mut hpu = Processor::new(context, 0);
        for program in programs() {
            hpu.program(0, &program);
            hpu.run(Launch::default());
            let (begins, ends) = (hpu.begins.len(), hpu.ends.len());
            let endings = hpu.endings.len();
            // Faults hand over as fast as returns.
            let faulty = Launch { entry: 4, ..Launch::default() };
            for frame in 0..20 {
                hpu.queue.push_back(Launch { frame, ..if frame % 3 == 2 { faulty } else { Launch::default() } });
            }
            hpu.run_until(endings + 20);
            for i in 1..20 {
                let (frame, begin) = hpu.begins[begins + i];
                assert_eq!((usize::from(frame), begin), (i, hpu.ends[ends + i - 1] + 1), "handler {i} of {program:x?}");
            }
            // The budget and the length that is reported start with the first fetch.
            for i in 0..20 {
                let cycles = hpu.ends[ends + i] - hpu.begins[begins + i].1 + 1;
                assert_eq!(u64::from(hpu.endings[endings + i].cycles), cycles);
            }
        }
        // Launches alternate between the task pages.
        assert!(hpu.launch_pages.windows(2).all(|pair| pair[0] != pair[1]), "{:?}", hpu.launch_pages);
    });
}

#[test]
fn another_context_costs_a_scrub() {
    run_with_wave_on_failure("hpu_scrub", |context| {
        let mut hpu = Processor::new(context, 0);
        hpu.program(0, &[RET]);
        hpu.scrub = 9;
        hpu.run(Launch::default());
        assert_eq!(hpu.scrubs, 1, "nothing is known of the memory after a reset");
        let (begins, ends) = (hpu.begins.len(), hpu.ends.len());
        let contexts = [0, 0, 3, 3, 0, 15, 15];
        for context in contexts {
            hpu.queue.push_back(Launch { context, ..Launch::default() });
        }
        hpu.run_until(contexts.len() + 1);
        assert_eq!(hpu.scrubs, 4);
        for i in 1..contexts.len() {
            let pause = hpu.begins[begins + i].1 - hpu.ends[ends + i - 1];
            assert_eq!(pause, if contexts[i] == contexts[i - 1] { 1 } else { 10 }, "before handler {i}");
        }
        // The scrub is not on the account of the handler.
        assert!(hpu.endings.iter().all(|ending| ending.cycles == hpu.endings[0].cycles));
    });
}

#[test]
fn endings_wait_until_they_are_taken() {
    run_with_wave_on_failure("hpu_endings", |context| {
        let mut hpu = Processor::new(context, 0);
        hpu.program(0, &[RET]);
        hpu.takes_endings = false;
        for code in 0..6 {
            hpu.queue.push_back(Launch { arguments: [code, 0, 0], ..Launch::default() });
        }
        hpu.steps(300);
        // The second handler started in the cycle in which the first ended; no third one without room for its ending.
        assert_eq!(hpu.ends.len(), 2);
        hpu.takes_endings = true;
        hpu.run_until(6);
        assert_eq!(hpu.endings.iter().map(|ending| ending.code).collect::<Vec<_>>(), [0, 1, 2, 3, 4, 5]);
        hpu.steps(50);
        assert_eq!((hpu.endings.len(), hpu.begins.len()), (6, 6));
    });
}
