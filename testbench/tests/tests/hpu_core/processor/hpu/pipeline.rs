//! The pipelined processor: cycles of its hazards, what its threads do, and every fault.

use crate::hpu_core::processor::hpu::pipeline_bench::*;
use rand::Rng;
use spindle_contract::memory_map::{
    FAULT_BREAK, FAULT_COMMAND, FAULT_FETCH, FAULT_ILLEGAL, FAULT_LOAD, FAULT_MISALIGNED, FAULT_STORE, FAULT_WATCHDOG,
};
use spindle_harness::run_with_wave_on_failure;
use spindle_hart::assembler::*;

/// x8 = scratchpad, x9 = context memory.
fn before() -> [u32; 4] {
    [lui(8, 0x3_0000), lui(9, 0x4_0000), addi(5, 0, 77), addi(6, 0, -3)]
}

/// Cycles that `words` add to a handler: F to X of what follows.
fn cost(bench: &mut Bench, words: &[u32]) -> u32 {
    let mut cycles = |words: &[u32]| {
        let ending = bench.run_program(&[&before(), words, &[RET]].concat());
        assert_eq!(ending.cause, 0, "{ending:?}");
        // The first run may find an entry of an earlier program in the predictor.
        bench.run(Launch::default()).cycles
    };
    cycles(words) - cycles(&[])
}

#[test]
fn a_handler_returns() {
    run_with_wave_on_failure("pipeline_return", |wave| {
        let mut bench = Bench::new(wave);
        // F, D, X, M1.
        assert_eq!(bench.run_program(&[RET]).cycles, 4);
        for code in [0, 1, 0xFF, 0x17F] {
            let ending = bench.run_program(&[addi(A0, 0, code), RET]);
            assert_eq!((ending.code, ending.cause, ending.cycles), (code as u8, 0, 5));
        }
        // What the registers hold that no one has written.
        let mut words = vec![lui(8, 0x4_0000)];
        for register in 1..32 {
            words.push(sw(register, 8, 4 * register as i32));
        }
        words.push(RET);
        bench.program(0, &words);
        for completion in [None, Some(false), Some(true)] {
            let ending = bench.run(Launch { completion, a0: 0x1234_5678, ..Launch::default() });
            assert_eq!(ending.cause, 0, "{ending:?}");
            for register in 1..32 {
                let value = match (register, completion) {
                    (1, _) => 0xF000_0000,
                    (2, _) => 0x5000_0400,
                    (4, _) => 0x6000_0000,
                    (8, _) => 0x4000_0000,
                    (10, _) => 0x1234_5678,
                    (11, None) | (12, Some(_)) => 0x4000_0000,
                    (11, Some(flag)) => flag.into(),
                    _ => 0,
                };
                assert_eq!(word(&bench.l2, L2_STATE + 4 * register), value, "x{register}, {completion:?}");
            }
        }
    });
}

#[test]
fn hazards_take_the_documented_cycles() {
    run_with_wave_on_failure("pipeline_hazards", |wave| {
        let mut bench = Bench::new(wave);
        let use7 = add(15, 7, 7);
        let clz = 0x6002_9393; // clz x7, x5
        let cases: [(&str, &[u32], u32); 22] = [
            ("add", &[add(7, 5, 6)], 1),
            ("add, use", &[add(7, 5, 6), use7], 2),
            ("csrr, use", &[csrr(7, 0xC00), use7], 5),
            ("clz", &[clz], 1),
            ("clz, use", &[clz, use7], 3),
            ("mul", &[op((1, 0), 7, 5, 6)], 1),
            ("mul, mul", &[op((1, 0), 7, 5, 6), op((1, 0), 7, 5, 6)], 2),
            ("mul, use", &[op((1, 0), 7, 5, 6), use7], 4),
            ("mul, 2, use", &[op((1, 0), 7, 5, 6), NOP, NOP, use7], 4),
            ("lw", &[lw(7, 8, 0)], 1),
            ("lw, use", &[lw(7, 8, 0), use7], 4),
            ("lw odd, use", &[lw(7, 8, 4), use7], 4),
            ("lw, 2, use", &[lw(7, 8, 0), NOP, NOP, use7], 4),
            ("lb, use", &[load(LB, 7, 8, 3), use7], 5),
            ("lhu, use", &[load(LHU, 7, 8, 2), use7], 5),
            ("lw misaligned, use", &[lw(7, 8, 1), use7], 5),
            ("lw across a row, use", &[lw(7, 8, 6), use7], 5),
            ("sw", &[sw(5, 8, 0)], 1),
            ("sw, sw, sw, sw", &[sw(5, 8, 0), sw(5, 8, 6), sw(5, 8, 8), sw(5, 8, 12)], 4),
            ("load, store", &[lw(7, 8, 0), sw(7, 8, 16)], 4),
            ("branch not taken", &[branch(1, 5, 5, 8)], 1),
            ("jal", &[jal(0, 4)], 1),
        ];
        for (name, words, cycles) in cases {
            assert_eq!(cost(&mut bench, words), cycles, "{name}");
        }
    });
}

#[test]
fn branches_take_the_documented_cycles() {
    run_with_wave_on_failure("pipeline_branches", |wave| {
        let mut bench = Bench::new(wave);
        // A loop: first backward branch missed, then predicted, at the end missed.
        for rounds in [1, 2, 3, 10] {
            bench.program(0x2000, &[addi(5, 0, rounds), addi(5, 5, -1), branch(1, 5, 0, -4), RET]);
            let launch = Launch { entry: 0x1000_2000, code_size: 0x4000, ..Launch::default() };
            let mut bench = Bench::new(wave);
            bench.program(0x2000, &[addi(5, 0, rounds), addi(5, 5, -1), branch(1, 5, 0, -4), RET]);
            let ending = bench.run(launch);
            let misses = if rounds == 1 { 0 } else { 2 };
            assert_eq!(ending.cycles, 4 + 1 + 2 * rounds as u32 + 3 * misses, "{rounds} rounds");
        }
        let _ = bench.run_program(&[RET]);
        // Not yet seen: three bubbles. Seen: none.
        bench.program(0x400, &[jal(0, 8), NOP, RET]);
        let launch = Launch { entry: 0x1000_0400, ..Launch::default() };
        assert_eq!(bench.run(launch).cycles, 4 + 1 + 3);
        assert_eq!(bench.run(launch).cycles, 4 + 1);
        // Another image at the same place: the stale entry is corrected.
        bench.program(0x400, &[NOP, addi(A0, 0, 3), RET]);
        let ending = bench.run(launch);
        assert_eq!((ending.code, ending.cycles), (3, 4 + 2 + 3));
        // A call: the link, the way back.
        bench.program(0x600, &[addi(5, 1, 0), jal(1, 12), addi(A0, A0, 1), jalr(0, 5, 0), addi(A0, 1, 0), RET]);
        let ending = bench.run(Launch { entry: 0x1000_0600, ..Launch::default() });
        assert_eq!((ending.cause, ending.code), (0, 0x09));
        // Both ways of every branch.
        for (funct3, a, b, taken) in [
            (0, 3, 3, true),
            (0, 3, 4, false),
            (1, 3, 4, true),
            (1, -3, -3, false),
            (4, -1, 1, true),
            (4, 1, -1, false),
            (5, 1, -1, true),
            (5, -1, 1, false),
            (6, 1, -1, true),
            (6, -1, 1, false),
            (7, -1, 1, true),
            (7, 1, -1, false),
        ] {
            let words = [addi(5, 0, a), addi(6, 0, b), addi(A0, 0, 1), branch(funct3, 5, 6, 8), addi(A0, 0, 0), RET];
            assert_eq!(bench.run_program(&words).code, u8::from(taken), "branch {funct3} of {a}, {b}");
        }
    });
}

#[test]
fn division_takes_34_cycles_to_its_use() {
    run_with_wave_on_failure("pipeline_division", |wave| {
        let mut bench = Bench::new(wave);
        let use7 = add(15, 7, 7);
        assert_eq!(cost(&mut bench, &[op((1, 4), 7, 5, 6), use7]), 35);
        for (funct3, a, b, result) in [
            (4, 77, -3, -25),
            (5, 77, -3, 0),
            (6, 77, -3, 2),
            (6, -77, 3, -2),
            (7, 77, 10, 7),
            (4, -77, 0, -1),
            (6, -77, 0, -77),
            (4, 5, 1, 5),
        ] {
            let words = [addi(5, 0, a), addi(6, 0, b), op((1, funct3), A0, 5, 6), RET];
            assert_eq!(bench.run_program(&words).code, result as u8, "{funct3} of {a}, {b}");
        }
    });
}

#[test]
fn memory_is_as_written() {
    run_with_wave_on_failure("pipeline_memory", |wave| {
        let mut bench = Bench::new(wave);
        for stall in [0, 30, 70] {
            bench.stall = stall;
            for (region, physical) in [(0x3_0000u32, L1_SCRATCH), (0x4_0000, L2_STATE)] {
                for offset in 0..12 {
                    let pattern = 0x0123_4567_89AB_CDEFu64.rotate_left(offset as u32 * 8);
                    let memory = if physical == L2_STATE { &mut bench.l2 } else { &mut bench.l1 };
                    memory[physical..][..24].copy_from_slice(&[pattern.to_le_bytes(); 3].concat());
                    // Store, load over it at once, and again in every size, right one after another.
                    let mut words = li(5, 0xA1B2_C3D4).to_vec();
                    words.extend([
                        lui(8, region),
                        store(SH, 5, 8, offset),
                        lw(6, 8, offset),
                        lw(7, 8, offset - offset % 4),
                    ]);
                    words.extend([
                        load(LB, 15, 8, offset + 1),
                        load(LHU, 16, 8, offset + 1),
                        load(LH, 17, 8, offset + 3),
                    ]);
                    words.extend([
                        lui(9, 0x2_0000),
                        sw(6, 9, 0),
                        sw(7, 9, 4),
                        sw(15, 9, 8),
                        sw(16, 9, 12),
                        sw(17, 9, 16),
                    ]);
                    words.push(RET);
                    let mut expected = [pattern.to_le_bytes(); 3].concat();
                    expected[offset as usize..][..2].copy_from_slice(&[0xD4, 0xC3]);
                    let at = |offset: i32| word(&expected, offset as usize);
                    let results = [
                        at(offset),
                        at(offset - offset % 4),
                        expected[offset as usize + 1] as i8 as u32,
                        at(offset + 1) & 0xFFFF,
                        at(offset + 3) as i16 as u32,
                    ];
                    let ending = bench.run_program(&words);
                    assert_eq!(ending.cause, 0, "{ending:?}");
                    let found: Vec<u32> = (0..5).map(|i| word(&bench.l1, L1_PACKET + 4 * i)).collect();
                    assert_eq!(found, results, "offset {offset} of {physical:#x}, stall {stall}");
                    let memory = if physical == L2_STATE { &bench.l2 } else { &bench.l1 };
                    assert_eq!(memory[physical..][..24], expected[..], "what is left");
                }
            }
        }
        // The code region is read like any other, aligned.
        bench.stall = 0;
        let words = [lui(8, 0x1_0000), lw(5, 8, 0x40), load(LBU, 6, 8, 0x43), add(A0, 5, 6), RET];
        bench.program(0x40, &[0x1200_0034]);
        assert_eq!(bench.run_program(&words).code, 0x34 + 0x12);
        // An address that is far from its base register's region.
        let words = [lui(5, 0x3_0000), addi(5, 5, -4), addi(6, 0, 99), sw(6, 5, 8), lw(A0, 5, 8), RET];
        assert_eq!(bench.run_program(&words).code, 99);
        assert_eq!(word(&bench.l1, L1_SCRATCH + 4), 99);
    });
}

#[test]
fn atomics_answer() {
    run_with_wave_on_failure("pipeline_atomics", |wave| {
        let mut bench = Bench::new(wave);
        for (region, physical) in [(0x3_0000u32, L1_SCRATCH), (0x4_0000, L2_STATE)] {
            let memory = if physical == L2_STATE { &mut bench.l2 } else { &mut bench.l1 };
            memory[physical + 8..][..4].copy_from_slice(&40u32.to_le_bytes());
            // amoadd.w a0, x5, (x8) after a store to the same word.
            let amo = 5 << 20 | 8 << 15 | 2 << 12 | A0 << 7 | 0x2F;
            let words = [lui(8, region), addi(5, 0, 50), sw(5, 8, 8), addi(8, 8, 8), amo, add(A0, A0, A0), RET];
            assert_eq!(bench.run_program(&words).code, 100);
            let memory = if physical == L2_STATE { &bench.l2 } else { &bench.l1 };
            assert_eq!(word(memory, physical + 8), 100);
        }
    });
}

#[test]
fn a_return_is_followed_by_the_next_handler_at_once() {
    run_with_wave_on_failure("pipeline_next", |wave| {
        let mut bench = Bench::new(wave);
        bench.program(0, &[addi(5, 5, 1), addi(A0, 5, 0), sw(5, SP, -4), RET]);
        bench.queue.extend((0..20).map(|frame| Launch { frame, ..Launch::default() }));
        bench.run_until(20);
        assert!(bench.endings.iter().all(|ending| ending.cause == 0 && ending.code == 1), "registers are clean");
        for i in 1..20 {
            assert_eq!(bench.begins[i].2, bench.ends[i - 1].2 + 1, "handler {i}");
            assert_eq!(bench.begins[i].0, i as u16);
        }
    });
}

#[test]
fn an_end_waits_until_the_one_before_is_taken() {
    run_with_wave_on_failure("pipeline_room", |wave| {
        let mut bench = Bench::new(wave);
        let past_the_end = [lui(8, 0x3_0000), sw(9, 8, 4), addi(5, 0, 7), sw(5, 8, 0), sw(5, SP, 0), sw(5, 8, 4), RET];
        let cases: [(&[u32], u8, u32); 3] = [
            (&[addi(A0, 0, 3), RET], 0, 0),
            (&[EBREAK], FAULT_BREAK, 0x1000_1000),
            (&past_the_end, FAULT_STORE, 0x5000_0400),
        ];
        for (words, cause, address) in cases {
            bench.program(0, &[addi(A0, 0, 1), RET]);
            bench.program(0x1000, words);
            let (ended, taken) = (bench.ends.len(), bench.endings.len());
            bench.takes_endings = false;
            bench.queue.extend([0, 0x1000].map(|at| Launch { entry: 0x1000_0000 + at, ..Launch::default() }));
            bench.steps(60);
            assert_eq!(bench.ends.len(), ended + 1, "the second is kept from its end");
            bench.takes_endings = true;
            let from = bench.dut.cycle();
            bench.run_until(taken + 2);
            let [first, second] = bench.endings[taken..] else { panic!("two endings") };
            assert_eq!((first.cause, first.code, first.at), (0, 1, from));
            assert_eq!(second.cause, cause);
            assert!(cause != 0 || second.code == 3, "{second:?}");
            assert!(cause == 0 || second.address == address, "{second:?}");
            assert!(second.at <= from + 4 && second.cycles > 50, "{second:?}");
            if address == 0x5000_0400 {
                assert_eq!((word(&bench.l1, L1_SCRATCH), word(&bench.l1, L1_SCRATCH + 4)), (7, 0));
            }
            // Nothing is left of it.
            assert_eq!(bench.run_program(&[addi(A0, A0, 1), RET]).code, 1);
        }
    });
}

/// Programs that write all registers, at 0, and that collect in a0 what no one may find in them, at 0x1000.
fn programs_of_registers(bench: &mut Bench) {
    let others: Vec<u32> = (3..32).filter(|register| !matches!(register, 4 | 10 | 11 | 12)).collect();
    let mut writes: Vec<u32> = others.iter().map(|register| addi(*register, 0, 1)).collect();
    writes.push(RET);
    bench.program(0, &writes);
    let mut reads: Vec<u32> = others.iter().map(|register| op((0, 6), A0, A0, *register)).collect();
    reads.push(RET);
    bench.program(0x1000, &reads);
}

#[test]
fn no_handler_finds_registers_of_an_earlier_one() {
    run_with_wave_on_failure("pipeline_registers", |wave| {
        let mut bench = Bench::new(wave);
        // The first writes all registers; the others, however many, see none of it. Their a0 is their argument: 0.
        programs_of_registers(&mut bench);
        // Short ones between them: only the numbers of the handlers go on.
        bench.program(0x2000, &[RET]);
        for between in 0..40 {
            bench.queue.push_back(Launch::default());
            bench.queue.extend((0..between).map(|_| Launch { entry: 0x1000_2000, ..Launch::default() }));
            bench.queue.push_back(Launch { entry: 0x1000_1000, a0: 0, ..Launch::default() });
            bench.run_until(bench.endings.len() + between + 2);
            let last = bench.endings.last().expect("it has ended");
            assert_eq!((last.cause, last.code), (0, 0), "{between} handlers between them");
        }
    });
}

#[test]
fn handlers_of_both_threads_find_no_registers_of_earlier_ones() {
    run_with_wave_on_failure("pipeline_registers_of_both", |wave| {
        let mut bench = Bench::new(wave);
        let mut rng = wave.rng();
        programs_of_registers(&mut bench);
        // Ends follow one another as closely as can be: returns alone, after a write, and of a thread that has waited for
        // L2.
        let state = lui(8, 0x4_0000);
        bench.program(0x2000, &[RET]);
        bench.program(0x3000, &[addi(31, 0, 1), RET]);
        bench.program(0x4000, &[state, lw(9, 8, 0), RET]);
        bench.program(0x5000, &[state, lw(0, 8, 0), addi(31, 0, 1), RET]);
        for _ in 0..300 {
            let from = bench.endings.len();
            let mut entries = vec![0, 0];
            entries.extend((0..rng.random_range(0..40)).map(|_| 0x1000 * rng.random_range(2..6)));
            entries.extend([0x1000, 0x1000]);
            bench.queue.extend(entries.iter().map(|at| Launch { entry: 0x1000_0000 + at, a0: 0, ..Launch::default() }));
            bench.run_until(from + entries.len());
            for ending in &bench.endings[from..] {
                assert_eq!((ending.cause, ending.code), (0, 0), "{entries:x?}");
            }
        }
    });
}

#[test]
fn threads_switch_while_one_waits() {
    run_with_wave_on_failure("pipeline_threads", |wave| {
        let mut bench = Bench::new(wave);
        bench.latency = 60;
        bench.l2[L2_STATE..][..4].copy_from_slice(&7u32.to_le_bytes());
        // The first waits for L2; the second counts meanwhile; the first goes on as soon as its answer is there.
        bench.program(0, &[lui(9, 0x4_0000), lw(A0, 9, 0), addi(A0, A0, 1), addi(A0, A0, 1), RET]);
        bench.program(0x1000, &[addi(5, 0, 200), addi(5, 5, -1), branch(1, 5, 0, -4), addi(A0, 0, 55), RET]);
        bench.queue.push_back(Launch { frame: 1, ..Launch::default() });
        bench.queue.push_back(Launch { frame: 2, entry: 0x1000_1000, ..Launch::default() });
        bench.run_until(2);
        let (first, second) = (bench.endings[0], bench.endings[1]);
        assert_eq!((first.code, first.cause), (9, 0));
        assert_eq!((second.code, second.cause), (55, 0));
        let request = bench.requests[0].1;
        // In M1 in the cycle before it is at the port; resolved one later; the second is fetched in the next but one.
        assert_eq!(bench.begins[1].2 - (request - 1), 2, "switch");
        assert!(bench.ends[0].2 < request + 60 + 12, "the older one goes first");
        // A lone handler waits for nothing but the answer.
        let alone = bench.run(Launch::default());
        assert_eq!(alone.code, 9);
        let request = bench.requests[1].1;
        let end = bench.ends[2].2;
        // Answer, injection, X, then three instructions down to M1.
        assert_eq!(end - (request + 60), 1 + 1 + 1 + 2 + 1, "answer to return");
    });
}

#[test]
fn commands_wait_for_their_reply() {
    run_with_wave_on_failure("pipeline_commands", |wave| {
        let mut bench = Bench::new(wave);
        let words =
            [lui(8, 0x7_0000), addi(5, 0, 3), sw(5, 8, 4), sw(5, 8, 0x10), lw(A0, 8, 0x10), addi(A0, A0, 1), RET];
        bench.command[4] = 8;
        let ending = bench.run_program(&words);
        assert_eq!((ending.cause, ending.code), (0, 9));
        assert_eq!(bench.writes.iter().map(|w| (w.0, w.1)).collect::<Vec<_>>(), [(1, 3), (4, 3)]);
        // Full twice: executed again, when there is room.
        bench.writes.clear();
        bench.replies.extend([Reply::Full, Reply::Full, Reply::Done]);
        let ending = bench.run(Launch::default());
        assert_eq!((ending.cause, ending.code, bench.writes.len()), (0, 9, 4));
        bench.replies.push_back(Reply::Refused);
        let ending = bench.run(Launch::default());
        assert_eq!((ending.cause, ending.pc, ending.address), (FAULT_COMMAND, 0x1000_000C, 0x7000_0010));
        // WAIT while commands are under way.
        bench.pending = 1;
        bench.program(0, &[lui(8, 0x7_0000), lw(8, 8, 0x1C), addi(A0, 0, 5), RET]);
        bench.queue.push_back(Launch::default());
        bench.steps(100);
        assert_eq!(bench.endings.len(), 3);
        bench.pending = 0;
        bench.run_until(4);
        assert_eq!((bench.endings[3].cause, bench.endings[3].code), (0, 5));
    });
}

#[test]
fn faults_name_the_instruction() {
    run_with_wave_on_failure("pipeline_faults", |wave| {
        let mut bench = Bench::new(wave);
        let at = 0x1000_0010;
        let access = |base: u32, word: fn(u32, u32, i32) -> u32, offset: i32| vec![lui(8, base), word(5, 8, offset)];
        let cases: Vec<(&str, Vec<u32>, u8, u32, u32)> = vec![
            ("illegal", vec![0], FAULT_ILLEGAL, at, at),
            ("ebreak", vec![EBREAK], FAULT_BREAK, at, at),
            ("ecall", vec![ECALL], FAULT_BREAK, at, at),
            ("region 0", vec![lw(5, 0, 4)], FAULT_LOAD, at, 4),
            ("region 8", access(0x8_0000, lw, 4), FAULT_LOAD, at + 4, 0x8000_0004),
            ("load after the end", access(0x5_0000, lw, 1021), FAULT_LOAD, at + 4, 0x5000_03FD),
            ("store after the end", access(0x5_0000, sw, 1024), FAULT_STORE, at + 4, 0x5000_0400),
            ("store before the start", access(0x5_0000, sw, -1), FAULT_STORE, at + 4, 0x4FFF_FFFF),
            ("store to code", access(0x1_0000, sw, 0), FAULT_STORE, at + 4, 0x1000_0000),
            ("store to the task page", access(0x6_0000, sw, 0), FAULT_STORE, at + 4, 0x6000_0000),
            ("misaligned command", access(0x7_0000, lw, 1), FAULT_MISALIGNED, at + 4, 0x7000_0001),
            ("state after the end", access(0x4_0001, lw, 0), FAULT_LOAD, at + 4, 0x4000_1000),
            ("jump before the code", vec![jal(0, -0x20)], FAULT_FETCH, 0x0FFF_FFF0, 0x0FFF_FFF0),
            ("branch before the code", vec![branch(0, 0, 0, -0x20)], FAULT_FETCH, 0x0FFF_FFF0, 0x0FFF_FFF0),
            ("jump after the code", vec![jal(0, 0x7FF0)], FAULT_FETCH, 0x1000_8000, 0x1000_8000),
            ("jump far away", vec![lui(8, 0x2_0000), jalr(0, 8, 4)], FAULT_FETCH, 0x2000_0004, 0x2000_0004),
            (
                "jump far away, bit 0 ignored",
                vec![lui(8, 0x2_0000), jalr(0, 8, 5)],
                FAULT_FETCH,
                0x2000_0004,
                0x2000_0004,
            ),
            ("misaligned jump", vec![jal(0, 0x12)], FAULT_FETCH, 0x1000_0022, 0x1000_0022),
        ];
        for (name, words, cause, pc, address) in cases {
            let before = [addi(5, 0, 1), lui(9, 0x3_0000), sw(5, 9, 0), sw(0, 9, 4)];
            bench.l1[L1_SCRATCH..][..8].fill(0xEE);
            // Whatever follows has no effect.
            let ending = bench.run_program(&[&before[..], &words, &[sw(5, 9, 4), sw(5, 9, 4), RET]].concat());
            assert_eq!((ending.cause, ending.pc, ending.address), (cause, pc, address), "{name}");
            assert_eq!((word(&bench.l1, L1_SCRATCH), word(&bench.l1, L1_SCRATCH + 4)), (1, 0), "{name}: stores");
        }
        // Running off the end.
        bench.program(0, &[NOP; 5]);
        let ending = bench.run(Launch { code_size: 16, ..Launch::default() });
        assert_eq!((ending.cause, ending.pc, ending.address), (FAULT_FETCH, 0x1000_0010, 0x1000_0010));
        // The next handler finds nothing wrong.
        assert_eq!(bench.run_program(&[addi(A0, A0, 1), RET]).code, 1);
    });
}

#[test]
fn the_watchdog_counts_exactly() {
    run_with_wave_on_failure("pipeline_watchdog", |wave| {
        let mut bench = Bench::new(wave);
        bench.program(0, &[NOP, NOP, NOP, NOP, RET]);
        let cycles = bench.run(Launch::default()).cycles;
        assert_eq!(cycles, 8);
        for (watchdog, cause) in [(cycles - 1, FAULT_WATCHDOG), (cycles, 0), (cycles + 1, 0), (0, FAULT_WATCHDOG)] {
            assert_eq!(bench.run(Launch { watchdog, ..Launch::default() }).cause, cause, "budget {watchdog}");
        }
        // A thread that waits for an answer that is late: the answer finds no one.
        bench.latency = 500;
        bench.program(0, &[lui(9, 0x4_0000), lw(A0, 9, 0), RET]);
        let ending = bench.run(Launch { watchdog: 100, ..Launch::default() });
        assert_eq!((ending.cause, ending.pc), (FAULT_WATCHDOG, 0x1000_0008));
        assert!(ending.cycles < 110);
        bench.l2[L2_STATE..][..4].copy_from_slice(&7u32.to_le_bytes());
        bench.latency = 20;
        let ending = bench.run(Launch::default());
        assert_eq!((ending.cause, ending.code), (0, 7));
    });
}

#[test]
fn the_retirement_port_tells_everything() {
    run_with_wave_on_failure("pipeline_rvfi", |wave| {
        let mut bench = Bench::new(wave);
        bench.l2[L2_STATE..][..4].copy_from_slice(&40u32.to_le_bytes());
        let amo = 5 << 20 | 9 << 15 | 2 << 12 | 7 << 7 | 0x2F;
        let words = [
            lui(9, 0x4_0000),
            lw(5, 9, 0),
            addi(6, 0, 6),
            op((1, 4), 6, 5, 6),
            amo,
            store(SH, 6, SP, -3),
            load(LB, 6, SP, -2),
            branch(0, 0, 0, 8),
            EBREAK,
            RET,
        ];
        bench.program(0, &words);
        bench.queue.extend([Launch::default(); 2]);
        bench.run_until(2);
        bench.program(0, &[addi(5, 0, 1), sw(5, 0, 4)]);
        bench.run(Launch::default());
        bench.steps(5);
        assert_eq!(bench.retired, 9 + 9 + 1);
        let of = |pc: u32, words: &[u32]| words[(pc - 0x1000_0000) as usize / 4];
        for thread in 0..2 {
            let trace = bench.trace.iter().filter(|retired| retired.thread == thread);
            assert!(trace.clone().enumerate().all(|(i, retired)| retired.order == i as u64), "numbers");
        }
        let first: Vec<Retired> = bench.trace.iter().filter(|retired| retired.thread == 0).take(9).copied().collect();
        for (i, retired) in first.iter().enumerate() {
            assert_eq!(retired.insn, of(retired.pc, &words));
            assert_eq!(retired.flags, [false, i == 8, i == 0]);
            assert_eq!(retired.next_pc, first.get(i + 1).map_or(0xF000_0000, |next| next.pc));
        }
        let results: Vec<_> = first.iter().map(|retired| retired.rd).collect();
        let sum = [(9, 0x4000_0000), (5, 40), (6, 6), (6, 6), (7, 40), (0, 0), (6, 0), (0, 0), (0, 0)];
        assert_eq!(results, sum);
        assert_eq!(first[1].memory, (0x4000_0000, 0xF, 0));
        assert_eq!((first[3].rs1, first[3].rs2), (40, 6));
        assert_eq!((first[4].memory, first[4].written), ((0x4000_0000, 0xF, 0xF), 80));
        assert_eq!((first[5].memory, first[5].written), ((0x5000_03FD, 0, 3), 6));
        assert_eq!(first[6].memory, (0x5000_03FE, 1, 0));
        let last = &bench.trace[bench.trace.len() - 2..];
        assert_eq!((last[0].rd, last[0].flags), ((5, 1), [false, false, true]));
        assert_eq!((last[1].rd, last[1].flags, last[1].memory.1), ((0, 0), [true, true, false], 0));
    });
}

#[test]
fn a_jump_to_half_a_word_traps() {
    run_with_wave_on_failure("pipeline_askew", |wave| {
        let mut bench = Bench::new(wave);
        for (jump, pc) in [(branch(0, 0, 0, 6), 4), (jal(1, 10), 4), (jalr(5, 9, 2), 4), (branch(1, 0, 0, 6), 12)] {
            bench.trace.clear();
            bench.program(0, &[lui(9, 0x1_0000), jump, addi(6, 0, 6), EBREAK]);
            bench.run(Launch::default());
            bench.steps(5);
            let (last, before) = bench.trace.split_last().expect("something retires");
            assert_eq!((last.pc, last.rd, last.flags), (0x1000_0000 + pc, (0, 0), [true, true, false]));
            assert!(before.iter().enumerate().all(|(i, retired)| retired.pc == 0x1000_0000 + 4 * i as u32));
            assert_eq!(before.len(), pc as usize / 4);
            assert_eq!(last.next_pc & 2, if pc == 4 { 2 } else { 0 });
        }
    });
}
