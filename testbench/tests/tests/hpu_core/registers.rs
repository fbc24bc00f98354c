//! The page `hpu`: every register of the contract answers, the windows and queues do what their names say.

use crate::hpu_core::fields::code_word;
use crate::hpu_core::processor::isa;
use crate::hpu_core::processor::units::word_of;
use hpu_core::array::{context_counts, tally};
use hpu_core::registers::Registers;
use rand::seq::{IndexedRandom, SliceRandom};
use rand::Rng;
use spindle_contract::memory_map as map;
use spindle_contract::params::CODE_ALIGN;
use spindle_contract::registers::{self, hpu, Access, Kind};
use spindle_harness::{run_with_wave_on_failure, Dut, WaveContext};
use std::collections::{HashMap, HashSet};

const HPUS: usize = 8;
const CONTEXTS: usize = 8;

struct Bench {
    dut: Dut<Registers>,
    /// Memory at the L2 port.
    l2: HashMap<u64, u32>,
    /// Contexts installed: number, and the bits of the entry.
    installed: Vec<(u64, Vec<u8>)>,
    /// Words of code that left the page: where to, and the bits.
    code: Vec<(u64, u64)>,
    pops: [usize; 2],
    slow: bool,
    /// The counter that is reported, another one in each cycle.
    counter: u64,
    /// Counts of contexts that were asked for in the last two cycles.
    context_counts: [u32; 2],
}

/// Count of a counter: its address in all bits, with a multiplier that has a multiplicative inverse, so that no two are the same.
fn count(address: u64) -> u32 {
    (address as u32 + 1).wrapping_mul(0x9E37_79B9)
}

/// Count of a context, by its number and the word.
fn context_count(context: u64, word: u64) -> u32 {
    !count(context + 16 * word)
}

/// Address of a counter: group and number.
fn counter(group: usize, number: usize) -> usize {
    (group << tally::group_bits(HPUS)) + number
}

impl Bench {
    fn new(wave: &WaveContext) -> Self {
        let dut = Dut::new(wave, Registers::new(HPUS, CONTEXTS), "registers");
        Bench {
            dut,
            l2: HashMap::new(),
            installed: vec![],
            code: vec![],
            pops: [0; 2],
            slow: false,
            counter: 0,
            context_counts: [0; 2],
        }
    }

    /// One access of the page: the data, and whether it was an error.
    fn access(&mut self, write: bool, offset: u32, data: u32) -> (u32, bool) {
        let request = 1 | u128::from(write) << 1 | u128::from(hpu::BASE + offset) << 2 | u128::from(data) << 22;
        self.dut.csr.set_bytes(&request.to_le_bytes()[..7]);
        let mut waiting = 0;
        let mut answer_in = None;
        for _ in 0..40 + counter(3, 0) {
            self.counter = (self.counter + 1) % counter(3, 0) as u64;
            self.dut.count_at.set(self.counter);
            self.dut.count.set(count(self.counter));
            self.dut.context_count.set(self.context_counts[0]);
            self.dut.l2_request.ready.set(!self.slow || waiting > 2);
            self.dut.l2_answer.valid.set(answer_in == Some(0));
            self.dut.eval();
            let answer = self.dut.csr_answer.number();
            if self.dut.l2_request.valid.is_high() {
                waiting += 1;
                if self.dut.l2_request.ready.is_high() {
                    assert_eq!(answer_in, None, "one request for one access");
                    let request = self.dut.l2_request.number();
                    let (write, address) = (request >> 2 & 1 == 1, request >> 9 & 0xF_FFFF);
                    assert_eq!((request >> 1 & 1, request >> 3 & 1, request >> 29 & 3), (1, 0, 3), "a far plain word");
                    if write {
                        self.l2.insert(address, (request >> 31) as u32);
                    }
                    let word = self.l2.get(&address).copied().unwrap_or(0);
                    self.dut.l2_answer.set_bytes(&(u64::from(write) << 1 | u64::from(word) << 2).to_le_bytes()[..5]);
                    answer_in = Some(if self.slow { 9 } else { 5 });
                }
            }
            answer_in = answer_in.map(|cycles: i32| cycles - 1);
            if self.dut.policy.valid.is_high() {
                self.installed.push((self.dut.policy.index.number(), self.dut.staged.bytes()));
            }
            if self.dut.imem.write.is_high() {
                self.code.push((self.dut.imem.address.number(), self.dut.imem.data.number()));
            }
            let asked = context_count(self.dut.context_index.number(), self.dut.context_word.number());
            self.context_counts = [self.context_counts[1], asked];
            self.pops[0] += self.dut.fault.pop.number() as usize;
            self.pops[1] += self.dut.print.pop.number() as usize;
            self.dut.tick();
            if answer & 1 == 1 {
                self.dut.csr.set_bytes(&[]);
                self.dut.tick();
                return ((answer >> 2) as u32, answer >> 1 & 1 == 1);
            }
        }
        panic!("no answer at offset {offset:#x}");
    }

    fn read(&mut self, offset: u32) -> u32 {
        let (data, error) = self.access(false, offset, 0);
        assert!(!error, "offset {offset:#x}");
        data
    }

    fn write(&mut self, offset: u32, data: u32) {
        assert_eq!(self.access(true, offset, data), (0, false), "offset {offset:#x}");
    }
}

#[test]
fn what_the_contract_lists_answers_and_nothing_else() {
    run_with_wave_on_failure("registers_all", |wave| {
        let mut bench = Bench::new(wave);
        let listed: Vec<(u32, &str)> = registers::HPU
            .registers
            .iter()
            .flat_map(|r| {
                let count = if r.count == 64 { HPUS as u32 } else { r.count };
                (0..count).map(|i| (r.offset + 4 * i, r.access.name()))
            })
            .collect();
        for offset in (0..0x1000).step_by(4) {
            let known = listed.iter().any(|(at, _)| *at == offset);
            assert_eq!(bench.access(false, offset, 0).1, !known, "offset {offset:#x}");
        }
    });
}

#[test]
fn contexts_are_staged_and_installed() {
    run_with_wave_on_failure("registers_contexts", |wave| {
        let mut bench = Bench::new(wave);
        let mut rng = wave.rng();
        // Registers and widths in the order of the entry's fields.
        let fields = [
            (hpu::CTX_HEADER, 32),
            (hpu::CTX_PAYLOAD, 32),
            (hpu::CTX_COMPLETION, 32),
            (hpu::CTX_TASK, 32),
            (hpu::CTX_CODE_BASE, 16),
            (hpu::CTX_CODE_SIZE, 17),
            (hpu::CTX_STATE_BASE, 20),
            (hpu::CTX_STATE_SIZE, 21),
            (hpu::CTX_HOST_LO, 32),
            (hpu::CTX_HOST_HI, 32),
            (hpu::CTX_HOST_SIZE, 32),
            (hpu::CTX_WATCHDOG, map::WATCHDOG_BITS),
            (hpu::CTX_SCRATCH_BASE, 16),
            (hpu::CTX_SCRATCH_SIZE, 16),
            (hpu::CTX_TAILROOM, 5),
        ];
        // The tailroom is in bytes there, in beats here.
        let shift = |offset: u32| if offset == hpu::CTX_TAILROOM { 6 } else { 0 };
        // Register, its bits, and where they are in the policy.
        let policies = [
            (hpu::CTX_WEIGHT, 0xFF, [(0, 8, 0), (0, 0, 0)]),
            (hpu::CTX_QUOTA, 0x07FF_01FF, [(0, 9, 8), (16, 11, 17)]),
            (hpu::CTX_OVERLOAD, 3, [(0, 2, 28), (0, 0, 0)]),
            (hpu::CTX_USER_HEADER, 0x7F, [(0, 7, 30), (0, 0, 0)]),
            (hpu::CTX_CORE_MASK, u32::MAX, [(0, 32, 37), (0, 0, 0)]),
            (hpu::CTX_PROCESS, 0x3F, [(0, 6, 69), (0, 0, 0)]),
        ];
        let word =
            |bench: &Bench| bench.dut.policy.bytes().iter().rev().fold(0u128, |word, b| word << 8 | u128::from(*b));
        assert_eq!(word(&bench), 1 | u128::from(u32::MAX) << 37, "weight 1, all HPUs, no task handler");
        let slots = (0..2 * CONTEXTS as u32).chain((4..32).map(|bit| 1 << bit | 3)).chain((0..40).map(|i| i % 8));
        for slot in slots {
            let mut values: Vec<u32> = fields.iter().map(|(_, width)| rng.random::<u32>() >> (32 - width)).collect();
            // A task handler, or none; images are aligned.
            values[3] = [0, 1 << rng.random_range(0..32), values[3]][rng.random_range(0..3)];
            values[4] &= !(CODE_ALIGN as u32 - 1);
            // Register, what is written, what is read.
            let staged = fields.iter().zip(&values).map(|((offset, _), value)| {
                let word = *value << shift(*offset);
                (*offset, word, word)
            });
            let mut writes: Vec<(u32, u32, u32)> = staged.collect();
            for (offset, mask, _) in policies {
                let value = rng.random();
                writes.push((offset, value, value & mask));
            }
            let active: u32 = rng.random_range(0..0x10000);
            writes.push((hpu::CTX_ACTIVE, active, active));
            writes.shuffle(&mut rng);
            for (offset, value, _) in &writes {
                bench.write(*offset, *value);
            }
            for (offset, _, value) in &writes {
                assert_eq!(bench.read(*offset), *value, "offset {offset:#x}");
            }
            let mut expected = u128::from(values[3] != 0) << 75;
            for (offset, _, parts) in policies {
                let (_, value, _) = writes.iter().find(|write| write.0 == offset).expect("it is written");
                for (from, width, to) in parts {
                    expected |= (u128::from(*value) >> from & ((1 << width) - 1)) << to;
                }
            }
            assert_eq!((word(&bench), bench.dut.active.number()), (expected, u64::from(active)));
            bench.write(hpu::CTX_INSTALL, slot);
            let installed = std::mem::take(&mut bench.installed);
            if slot >= CONTEXTS as u32 {
                assert_eq!(installed, [], "there is no context {slot}");
                continue;
            }
            let [(number, bits)] = &installed[..] else { panic!("one install, not {}", installed.len()) };
            assert_eq!(*number, u64::from(slot));
            let mut at = 0;
            for ((offset, width), value) in fields.iter().zip(&values) {
                let bit = |i: usize| u32::from(bits[(at + i) / 8] >> ((at + i) % 8) & 1);
                assert_eq!((0..*width).fold(0, |n, i| n | bit(i) << i), *value, "offset {offset:#x}");
                at += width;
            }
        }
    });
}

/// What is set is forgotten at a reset.
#[test]
fn a_reset_restores_what_the_contract_says() {
    run_with_wave_on_failure("registers_reset", |wave| {
        let mut bench = Bench::new(wave);
        let mut rng = wave.rng();
        let set = |kind| matches!(kind, Kind::Control | Kind::Stage | Kind::Pointer);
        let registers = registers::HPU.registers.iter().filter(|r| set(r.kind) && r.access == Access::ReadWrite);
        let registers: Vec<_> = registers.collect();
        for _ in 0..4 {
            for register in &registers {
                bench.write(register.offset, rng.random());
            }
            bench.dut.reset();
            for register in &registers {
                assert_eq!(bench.read(register.offset), register.reset(), "{}", register.name);
            }
        }
        assert!(registers.len() > 20, "{} registers", registers.len());
    });
}

#[test]
fn windows_move_on() {
    run_with_wave_on_failure("registers_windows", |wave| {
        let mut rng = wave.rng();
        let mut bench = Bench::new(wave);
        for round in 0..24 {
            bench.slow = round % 2 == 1;
            let from = if round < 2 { 0x1234 } else { rng.random_range(0..(1 << 20) - 32) & !3 };
            let words: [u32; 8] = rng.random();
            bench.write(hpu::L2_ADDR, from);
            words.iter().for_each(|word| bench.write(hpu::L2_DATA, *word));
            assert_eq!(bench.read(hpu::L2_ADDR), from + 32);
            let kept: HashMap<u64, u32> =
                words.iter().zip(0..).map(|(word, i)| (u64::from(from + 4 * i), *word)).collect();
            assert_eq!(bench.l2, kept);
            bench.write(hpu::L2_ADDR, from);
            for word in words {
                assert_eq!(bench.read(hpu::L2_DATA), word);
            }
            bench.l2.clear();
        }
    });
}

#[test]
fn code_is_predecoded_on_its_way() {
    run_with_wave_on_failure("registers_code", |wave| {
        let mut bench = Bench::new(wave);
        let mut rng = wave.rng();
        let table = isa::table();
        for piece in 0..100 {
            // The last one runs over the end of the address; bits 1:0 are kept, and name no other word.
            let from = if piece == 99 { 0xFFF0 } else { rng.random_range(0..0xFF00) };
            bench.write(hpu::IMEM_ADDR, from);
            assert_eq!(bench.read(hpu::IMEM_ADDR), from);
            // Instructions and constants.
            let words: Vec<u32> = (0..rng.random_range(8..20))
                .map(|_| match table.choose(&mut rng) {
                    Some(instruction) if rng.random_bool(0.7) => word_of(&mut rng, instruction),
                    _ => rng.random(),
                })
                .collect();
            for word in &words {
                bench.write(hpu::IMEM_DATA, *word);
            }
            let at = |i: usize| (from + 4 * i as u32) & 0xFFFF;
            assert_eq!(bench.read(hpu::IMEM_ADDR), at(words.len()), "the address goes on");
            let expected: Vec<(u64, u64)> =
                words.iter().enumerate().map(|(i, word)| (u64::from(at(i) / 4), code_word(*word))).collect();
            assert_eq!(std::mem::take(&mut bench.code), expected, "from {from:#x}");
        }
        // Every operation with every function, most of which are none.
        let operations: HashSet<u32> = table.iter().map(|instruction| instruction.value & 0x7F).collect();
        let mut words: Vec<u32> = operations
            .iter()
            .flat_map(|operation| (0..1 << 10).map(move |f| operation | (f & 7) << 12 | f >> 3 << 25))
            .collect();
        words.shuffle(&mut rng);
        bench.write(hpu::IMEM_ADDR, 0);
        for (i, word) in words.into_iter().enumerate() {
            let word = word | rng.random::<u32>() & 0x01FF_8F80;
            bench.write(hpu::IMEM_DATA, word);
            assert_eq!(bench.code.pop(), Some((i as u64 % 0x4000, code_word(word))), "{word:#x}");
        }
        // No other write is one of code.
        for register in registers::HPU.registers.iter().filter(|r| r.offset != hpu::IMEM_DATA) {
            bench.access(true, register.offset, rng.random());
        }
        assert_eq!(bench.code, []);
    });
}

#[test]
fn reports_and_prints_are_shown_and_dropped() {
    run_with_wave_on_failure("registers_reports", |wave| {
        let mut bench = Bench::new(wave);
        let mut rng = wave.rng();
        let word = |bytes: &[u8]| bytes.iter().rev().fold(0, |word, byte| word << 8 | u32::from(*byte));
        let stage: Vec<u32> =
            registers::HPU.registers.iter().filter(|r| r.kind == Kind::Stage).map(|r| r.offset).collect();
        for _ in 0..32 {
            // Whatever the settings are.
            stage.iter().for_each(|offset| bench.write(*offset, rng.random()));
            let (report, print): ([u8; 16], [u8; 14]) = (rng.random(), rng.random());
            let (faults, prints, puts) = (rng.random::<u8>(), rng.random::<u8>(), rng.random_range(0..0x200u32));
            bench.dut.fault.set_bytes(&report);
            bench.dut.print.set_bytes(&print);
            bench.dut.fault.count.set(faults);
            bench.dut.print.count.set(prints);
            bench.dut.context_puts.set(puts);
            let mut expected = [
                (hpu::FAULT_COUNT, faults.into()),
                (hpu::FAULT_WHO, word(&report[..4])),
                (hpu::FAULT_PC, word(&report[4..8])),
                (hpu::FAULT_ADDRESS, word(&report[8..12])),
                (hpu::FAULT_FRAME, word(&report[12..])),
                (hpu::PRINT_COUNT, prints.into()),
                (hpu::PRINT_WHO, word(&print[..4])),
                (hpu::PRINT_FRAME, word(&print[4..6])),
                (hpu::PRINT_LOW, word(&print[6..10])),
                (hpu::PRINT_HIGH, word(&print[10..])),
                (hpu::CONTEXT_PUTS, puts),
            ];
            expected.shuffle(&mut rng);
            for (offset, value) in expected {
                assert_eq!(bench.read(offset), value, "offset {offset:#x}");
            }
        }
        assert_eq!(bench.pops, [0, 0], "reading drops nothing, nor do other writes");
        bench.write(hpu::FAULT_POP, 1);
        bench.write(hpu::PRINT_POP, 1);
        bench.write(hpu::PRINT_POP, 1);
        assert_eq!(bench.pops, [1, 2]);
    });
}

#[test]
fn counters_are_told_in_their_turn() {
    run_with_wave_on_failure("registers_counters", |wave| {
        let mut bench = Bench::new(wave);
        let totals = [
            (hpu::TASKS_DONE, tally::TOTAL_TASKS),
            (hpu::TASKS_FAULTED, tally::TOTAL_FAULTED),
            (hpu::BUSY_LO, tally::TOTAL_BUSY),
            (hpu::BUSY_HI, tally::TOTAL_BUSY + 1),
            (hpu::INSTRET_LO, tally::TOTAL_RETIRED),
            (hpu::INSTRET_HI, tally::TOTAL_RETIRED + 1),
            (hpu::COMMANDS, tally::TOTAL_COMMANDS),
            (hpu::FAULT_LOST, tally::TOTAL_REPORTS_LOST),
            (hpu::PRINT_LOST, tally::TOTAL_PRINTS_LOST),
        ];
        let totals = totals.map(|(offset, number)| (offset, counter(tally::TOTALS, number)));
        let by_hpu = (0..HPUS).flat_map(|i| {
            let offset = 4 * i as u32;
            [(hpu::HPU_BUSY + offset, counter(tally::BUSY, i)), (hpu::HPU_TASKS + offset, counter(tally::TASKS, i))]
        });
        for (offset, address) in totals.into_iter().chain(by_hpu) {
            assert_eq!(bench.read(offset), count(address as u64), "offset {offset:#x}");
            // A write changes nothing and waits for nothing.
            let before = bench.counter;
            bench.write(offset, 1);
            assert_eq!((bench.counter + counter(3, 0) as u64 - before) % counter(3, 0) as u64, 3, "offset {offset:#x}");
        }
    });
}

#[test]
fn each_count_of_each_context_has_its_register() {
    run_with_wave_on_failure("registers_context_counts", |wave| {
        let mut bench = Bench::new(wave);
        let words = [
            hpu::CONTEXT_TASKS,
            hpu::CONTEXT_FAULTED,
            hpu::CONTEXT_CYCLES_LO,
            hpu::CONTEXT_CYCLES_HI,
            hpu::CONTEXT_INSTRET_LO,
            hpu::CONTEXT_INSTRET_HI,
        ];
        assert_eq!(words.len(), context_counts::WORDS);
        for context in 0..16 {
            for (word, first) in words.into_iter().enumerate() {
                let offset = first + 4 * context;
                let wanted = context_count(context.into(), word as u64);
                assert_eq!(bench.read(offset), wanted, "offset {offset:#x}");
                // A write changes nothing.
                bench.write(offset, !wanted);
                assert_eq!(bench.read(offset), wanted, "offset {offset:#x}");
            }
        }
    });
}
