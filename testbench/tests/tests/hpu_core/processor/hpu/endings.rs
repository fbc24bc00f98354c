//! How handlers end: budgets to the cycle, faults that leave no trace, endings that come after the handler's stores.

use crate::hpu_core::processor::hpu::hart_bench::hart;
use rand::Rng;
use spindle_contract::memory_map::{
    base, CMD_ISSUE, CMD_WAIT, CODE, COMMAND, CONTEXT, FAULT_COMMAND, FAULT_FETCH, FAULT_STORE, FAULT_WATCHDOG, SCRATCH,
};
use spindle_contract::params::L1_SCRATCH_BASE;
use spindle_harness::run_with_wave_on_failure;
use spindle_hart::assembler::*;
use spindle_hart::{Hart, Start, Timing};

const STATE: u32 = 8;
const PORT: u32 = 9;
const DATA: u32 = 18;

/// x8 = state, x9 = command port, x18 = scratchpad; then the words.
fn program(words: &[u32]) -> Vec<u32> {
    let bases = [(STATE, CONTEXT), (PORT, COMMAND), (DATA, SCRATCH)].map(|(rd, region)| lui(rd, base(region) >> 12));
    [&bases, words].concat()
}

fn run(hart: &mut Hart, words: &[u32], watchdog: u32) -> spindle_hart::Ending {
    hart.program(0, words);
    hart.run(Start { watchdog, ..Start::default() })
}

#[test]
fn the_watchdog_counts_to_the_cycle() {
    let loops = [addi(5, 0, 20), addi(5, 5, -1), branch(1, 5, 0, -4), RET];
    let loads = [lw(5, STATE, 0), lw(6, STATE, 4), add(5, 5, 6), RET];
    let divides = [addi(5, 0, 99), op((1, 4), 6, 5, 5), op((1, 4), 6, 6, 5), RET];
    let stores = [sw(5, STATE, 0), FENCE, sw(5, DATA, 0), RET];
    let waits = [sw(0, PORT, CMD_ISSUE as i32), lw(5, PORT, CMD_WAIT as i32), RET];
    run_with_wave_on_failure("hart_watchdog", |context| {
        let mut hart = hart(context, 0);
        for (name, words) in [
            ("a loop", &loops[..]),
            ("loads of L2", &loads),
            ("divisions", &divides),
            ("a fence", &stores),
            ("a wait for commands", &waits),
            ("a return", &[RET]),
        ] {
            let words = program(words);
            // Twice, so that the branches are predicted as in all runs that follow.
            run(&mut hart, &words, 1000);
            let cycles = run(&mut hart, &words, 1000).cycles;
            for budget in [cycles - 1, cycles, cycles + 1, cycles - 2, cycles + 20, 1, 0] {
                let ending = run(&mut hart, &words, budget);
                let cause = if budget < cycles { FAULT_WATCHDOG } else { 0 };
                assert_eq!(ending.cause, cause, "{name} of {cycles} cycles, budget {budget}: {ending:x?}");
                // The predictor is left as it was by a run to the end.
                run(&mut hart, &words, 1000);
            }
            // Every shorter budget ends it, soon.
            for budget in (2..cycles).step_by(3) {
                let ending = run(&mut hart, &words, budget);
                assert_eq!(ending.cause, FAULT_WATCHDOG, "{name} of {cycles} cycles, budget {budget}: {ending:x?}");
                assert!(ending.cycles <= budget + 8, "{name}: {} cycles for a budget of {budget}", ending.cycles);
                run(&mut hart, &words, 1000);
            }
        }
    });
}

/// The same on the thread that runs while the other one waits.
#[test]
fn the_watchdog_counts_on_the_second_thread() {
    run_with_wave_on_failure("hart_watchdog_of_the_second", |context| {
        let mut hart = hart(context, 0);
        hart.timing.remote = (2000, 2000);
        hart.program(0, &program(&[addi(5, 0, 20), addi(5, 5, -1), branch(1, 5, 0, -4), RET]));
        hart.program(0x1000, &program(&[lw(5, STATE, 0), add(5, 5, 5), RET]));
        let mut second = |watchdog| {
            let from = hart.endings.len();
            hart.queue(Start { entry: base(CODE) + 0x1000, ..Start::default() });
            hart.queue(Start { watchdog, ..Start::default() });
            hart.run_until(from + 2);
            let threads: Vec<usize> = hart.begins[from..].iter().map(|event| event.thread).collect();
            assert_eq!(threads, [0, 1]);
            hart.endings[from]
        };
        second(1000);
        let cycles = second(1000).cycles;
        for budget in [cycles - 1, cycles, cycles + 1, 2, 1, 0] {
            let cause = if budget < cycles { FAULT_WATCHDOG } else { 0 };
            let ending = second(budget);
            assert_eq!(ending.cause, cause, "{cycles} cycles, budget {budget}: {ending:x?}");
            // The predictor is left as it was by a run to the end.
            second(1000);
        }
    });
}

#[test]
fn answers_that_come_too_late_find_nobody() {
    run_with_wave_on_failure("hart_late_answers", |context| {
        let mut rng = context.rng();
        let mut hart = hart(context, 0);
        hart.timing.remote = (1, 120);
        hart.l2[..4].copy_from_slice(&0x5A5A_5A5Au32.to_le_bytes());
        hart.l2[4..8].copy_from_slice(&7u32.to_le_bytes());
        let late = program(&[lw(A0, STATE, 0), RET]);
        let fair = program(&[lw(A0, STATE, 4), addi(A0, A0, 1), RET]);
        hart.program(0, &late);
        hart.program(0x1000, &fair);
        let mut late_ones = vec![];
        for frame in 0..300u16 {
            let is_late = rng.random_range(0..3) > 0;
            late_ones.push(is_late);
            let (entry, watchdog) = if is_late { (0, rng.random_range(5..60)) } else { (0x1000, 10_000) };
            hart.queue(Start { entry: base(CODE) + entry, watchdog, frame, ..Start::default() });
        }
        hart.run_until(300);
        // Endings come in the order of their ends.
        assert_eq!(hart.ends.len(), 300);
        let mut faults = 0;
        for (event, ending) in hart.ends.iter().zip(&hart.endings) {
            if late_ones[event.frame as usize] {
                assert!(matches!((ending.cause, ending.code), (FAULT_WATCHDOG, _) | (0, 0x5A)), "{ending:x?}");
                faults += u32::from(ending.cause != 0);
            } else {
                assert_eq!((ending.cause, ending.code), (0, 8), "{ending:x?}");
            }
        }
        assert!(faults > 50, "only {faults} handlers were late");
    });
}

#[test]
fn what_follows_a_fault_does_not_happen() {
    run_with_wave_on_failure("hart_precise", |context| {
        let mut rng = context.rng();
        let mut hart = hart(context, 0);
        let scratch = L1_SCRATCH_BASE;
        for round in 0..200 {
            hart.timing = if round % 2 == 0 { Timing::IDLE } else { Timing::BUSY };
            hart.l1[scratch..scratch + 64].fill(0xEE);
            hart.l2[..64].fill(0xEE);
            hart.commands.writes.clear();
            // So many stores of each kind, and distances to the fault at random.
            let mut words = program(&[addi(5, 0, 1)]);
            let mut stores = [0; 2];
            for _ in 0..rng.random_range(0..8) {
                let far = usize::from(rng.random::<bool>());
                words.push(sw(5, [DATA, STATE][far], 4 * stores[far]));
                stores[far] += 1;
            }
            let faulting =
                [0, EBREAK, lw(6, 0, 0), sw(5, STATE, -1), jalr(0, 0, 2), amo(0, 6, PORT, 5)][rng.random_range(0..6)];
            let at = base(CODE) + 4 * words.len() as u32;
            words.push(faulting);
            for _ in 0..6 {
                let base = [DATA, STATE, PORT][rng.random_range(0..3)];
                words.push(sw(5, base, 4 * rng.random_range(0..8)));
            }
            words.push(RET);
            let ending = run(&mut hart, &words, 10_000);
            let fetch = ending.cause == FAULT_FETCH;
            assert!(ending.cause != 0 && (fetch || ending.pc == at), "{faulting:#x} at {at:#x}: {ending:x?}");
            for (memory, from, count) in [(&hart.l1, scratch, stores[0]), (&hart.l2, 0, stores[1])] {
                for i in 0..16 {
                    let value = u32::from_le_bytes(memory[from + 4 * i..][..4].try_into().expect("four bytes"));
                    let expected = if (i as i32) < count { 1 } else { 0xEEEE_EEEE };
                    assert_eq!(value, expected, "word {i} in front of {faulting:#x}, with its ending");
                }
            }
            assert!(hart.commands.writes.is_empty(), "a command port write after {faulting:#x}");
        }
    });
}

/// A store that waits for L1, and just after it one that faults: the second leaves no trace, and the ending waits for the first.
#[test]
fn an_ending_comes_after_the_store_before_the_fault() {
    run_with_wave_on_failure("hart_fault_behind_a_store", |context| {
        let mut hart = hart(context, 0);
        hart.timing = Timing { l1_denied: 230, ..Timing::IDLE };
        for round in 1..60u8 {
            let words =
                program(&[addi(5, 0, round.into()), FENCE, sw(5, DATA, 0), sw(5, STATE, -1), sw(5, DATA, 4), RET]);
            let ending = run(&mut hart, &words, 10_000);
            assert_eq!(ending.cause, FAULT_STORE, "{ending:x?}");
            let words = [L1_SCRATCH_BASE, L1_SCRATCH_BASE + 4].map(|at| hart.l1[at]);
            assert_eq!(words, [round, 0], "in round {round}, with the ending");
        }
    });
}

#[test]
fn an_ending_comes_after_the_stores() {
    run_with_wave_on_failure("hart_drain", |context| {
        let mut hart = hart(context, 0);
        // Slow answers, and handlers one after another: whatever runs meanwhile, what a handler wrote is there with its
        // ending.
        hart.timing = Timing { remote: (30, 90), ..Timing::BUSY };
        let mut words = program(&[lw(5, TP, 0)]);
        words.extend((0..4).map(|i| sw(5, STATE, 64 * i)));
        words.push(RET);
        hart.program(0, &words);
        for frame in 0..200u32 {
            let mut task = [0; 128];
            task[..4].copy_from_slice(&(frame + 1).to_le_bytes());
            let state = (0x100 * (frame % 8), 0x100);
            hart.queue(Start { frame: frame as u16, task, state, ..Start::default() });
        }
        while hart.endings.len() < 200 {
            let before = hart.endings.len();
            hart.step();
            if hart.endings.len() > before {
                let frame = u32::from(hart.ends[before].frame);
                for i in 0..4 {
                    let value = hart.l2_word((0x100 * (frame % 8) + 64 * i) as usize);
                    // A later handler may have been there.
                    assert!(value > frame && value % 8 == (frame + 1) % 8, "frame {frame}: word {i} is {value}");
                }
            }
        }
    });
}

#[test]
fn commands_are_taken_once_and_refused_precisely() {
    run_with_wave_on_failure("hart_commands", |context| {
        let mut hart = hart(context, 0);
        for timing in [Timing::IDLE, Timing::BUSY] {
            hart.timing = timing;
            hart.commands.words[CMD_ISSUE as usize / 4] = 3;
            hart.commands.refused = vec![9];
            let words = program(&[
                addi(5, 0, 2),
                sw(5, PORT, 4),
                sw(5, PORT, CMD_ISSUE as i32),
                lw(A0, PORT, CMD_ISSUE as i32),
                lw(6, PORT, CMD_WAIT as i32),
                add(A0, A0, A0),
                RET,
            ]);
            for full in [0, 1, 200] {
                hart.commands.writes.clear();
                hart.commands.full_until = hart.model.cycle() + full;
                let ending = run(&mut hart, &words, 10_000);
                assert_eq!((ending.cause, ending.code), (0, 6), "{ending:x?}");
                let offsets: Vec<u32> = hart.commands.writes.iter().map(|write| write.offset).collect();
                // While there was no handle the write was tried again.
                assert_eq!(&offsets[..2], [4, CMD_ISSUE]);
                assert!(offsets[2..].iter().all(|offset| *offset == CMD_ISSUE) && offsets.len() < 5, "{offsets:x?}");
            }
            hart.commands.writes.clear();
            let words = program(&[addi(5, 0, 9), sw(5, PORT, CMD_ISSUE as i32), sw(5, PORT, 0), sw(5, DATA, 0), RET]);
            let ending = run(&mut hart, &words, 10_000);
            let at = base(CODE) + 16;
            assert_eq!((ending.cause, ending.pc, ending.address), (FAULT_COMMAND, at, base(COMMAND) + CMD_ISSUE));
            assert_eq!(hart.commands.writes.len(), 1);
        }
    });
}

#[test]
fn a_wait_lasts_as_long_as_the_commands() {
    run_with_wave_on_failure("hart_wait", |context| {
        let mut hart = hart(context, 0);
        hart.timing.command = (150, 150);
        let words = program(&[sw(0, PORT, CMD_ISSUE as i32), lw(6, PORT, CMD_WAIT as i32), RET]);
        let ending = run(&mut hart, &words, 10_000);
        assert!((150..190).contains(&ending.cycles), "{ending:x?}");
        // Another handler runs meanwhile, and is done before.
        let quick = [addi(A0, 0, 1), RET];
        hart.program(0x1000, &quick);
        hart.queue(Start { frame: 1, ..Start::default() });
        hart.queue(Start { frame: 2, entry: base(CODE) + 0x1000, ..Start::default() });
        hart.run_until(3);
        assert_eq!([hart.endings[1].code, hart.endings[2].code], [1, base(CONTEXT) as u8]);
    });
}
