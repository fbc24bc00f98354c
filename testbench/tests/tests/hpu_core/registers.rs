//! The page `hpu`: every register of the contract answers, the windows and queues do what their names say.

use hpu_core::array::tally;
use hpu_core::registers::Registers;
use rand::Rng;
use spindle_contract::memory_map as map;
use spindle_contract::params::CODE_ALIGN;
use spindle_contract::registers::{self, hpu};
use spindle_harness::{run_with_wave_on_failure, Model, Source, WaveContext};
use std::collections::HashMap;

const HPUS: usize = 8;
const CONTEXTS: usize = 8;

struct Bench {
    model: Model,
    /// Memory behind the L2 port.
    l2: HashMap<u64, u32>,
    /// Contexts installed: number, and the bits of the entry.
    installed: Vec<(u64, Vec<u8>)>,
    pops: [usize; 2],
    slow: bool,
    /// The counter that is told, another one in each cycle; its count is its address and this.
    counter: u64,
}

const COUNT: u64 = 0x1234_5600;

/// Address of a counter: group and number.
fn counter(group: usize, number: usize) -> usize {
    (group << tally::group_bits(HPUS)) + number
}

impl Bench {
    fn new(wave: &WaveContext) -> Self {
        let design =
            spindle_verilog::emit(&mut Registers::new(HPUS, CONTEXTS), "registers").unwrap_or_else(|e| panic!("{e}"));
        let source = Source::from_text("registers", design.to_string());
        let mut model = wave.model(&source).unwrap_or_else(|error| panic!("{error:#}"));
        model.reset(2);
        Bench { model, l2: HashMap::new(), installed: vec![], pops: [0; 2], slow: false, counter: 0 }
    }

    fn set(&mut self, name: &str, value: u64) {
        let port = self.model.port(name).unwrap_or_else(|error| panic!("{error}"));
        self.model.set(port, value);
    }

    fn get(&self, name: &str) -> u64 {
        self.model.get(self.model.port(name).unwrap_or_else(|error| panic!("{error}")))
    }

    /// One access of the page: the data, and whether it was an error.
    fn access(&mut self, write: bool, offset: u32, data: u32) -> (u32, bool) {
        let port = self.model.port("csr").unwrap_or_else(|error| panic!("{error}"));
        let request = 1 | u128::from(write) << 1 | u128::from(hpu::BASE + offset) << 2 | u128::from(data) << 22;
        self.model.set_bytes(port, &request.to_le_bytes()[..7]);
        let mut waiting = 0;
        let mut answer_in = None;
        for _ in 0..40 + counter(3, 0) {
            self.counter = (self.counter + 1) % counter(3, 0) as u64;
            self.set("count_at", self.counter);
            self.set("count", COUNT + self.counter);
            self.set("l2_request_ready", (!self.slow || waiting > 2).into());
            self.set("l2_answer_valid", (answer_in == Some(0)).into());
            self.model.eval();
            let answer = self.get("csr_answer");
            if self.get("l2_request_valid") == 1 {
                waiting += 1;
                if self.get("l2_request_ready") == 1 {
                    assert_eq!(answer_in, None, "one request for one access");
                    let request = self.get("l2_request");
                    let (write, address) = (request >> 2 & 1 == 1, request >> 9 & 0xF_FFFF);
                    assert_eq!((request >> 1 & 1, request >> 3 & 1, request >> 29 & 3), (1, 0, 3), "a far plain word");
                    if write {
                        self.l2.insert(address, (request >> 31) as u32);
                    }
                    let word = self.l2.get(&address).copied().unwrap_or(0);
                    self.set("l2_answer", u64::from(write) << 1 | u64::from(word) << 2);
                    answer_in = Some(if self.slow { 9 } else { 5 });
                }
            }
            answer_in = answer_in.map(|cycles: i32| cycles - 1);
            if self.get("policy_valid") == 1 {
                let staged = self.model.port("staged").unwrap_or_else(|error| panic!("{error}"));
                self.installed.push((self.get("policy_index"), self.model.get_bytes(staged).to_vec()));
            }
            for (count, name) in [(0, "fault_pop"), (1, "print_pop")] {
                self.pops[count] += self.get(name) as usize;
            }
            self.model.tick();
            if answer & 1 == 1 {
                self.model.set_bytes(port, &[]);
                self.model.tick();
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
        ];
        for slot in 0..2 * CONTEXTS as u32 {
            let mut values: Vec<u32> = fields.iter().map(|(_, width)| rng.random::<u32>() >> (32 - width)).collect();
            // Images are aligned.
            values[3] &= !(CODE_ALIGN as u32 - 1);
            for ((offset, _), value) in fields.iter().zip(&values) {
                bench.write(*offset, *value);
            }
            for ((offset, _), value) in fields.iter().zip(&values) {
                assert_eq!(bench.read(*offset), *value, "offset {offset:#x}");
            }
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
        let policy = bench.model.port("policy").unwrap_or_else(|error| panic!("{error}"));
        let word = |bench: &Bench| {
            bench.model.get_bytes(policy).iter().rev().fold(0u128, |word, b| word << 8 | u128::from(*b))
        };
        assert_eq!(word(&bench), 1 | u128::from(u32::MAX) << 37, "weight 1, all HPUs");
        // Register, its bits, and where they are in the policy.
        let policies = [
            (hpu::CTX_WEIGHT, 0xFF, [(0, 8, 0), (0, 0, 0)]),
            (hpu::CTX_QUOTA, 0x07FF_01FF, [(0, 9, 8), (16, 11, 17)]),
            (hpu::CTX_OVERLOAD, 3, [(0, 2, 28), (0, 0, 0)]),
            (hpu::CTX_USER_HEADER, 0x7F, [(0, 7, 30), (0, 0, 0)]),
            (hpu::CTX_CORE_MASK, u32::MAX, [(0, 32, 37), (0, 0, 0)]),
            (hpu::CTX_PROCESS, 0x3F, [(0, 6, 69), (0, 0, 0)]),
        ];
        let mut expected = 0u128;
        for (offset, mask, parts) in policies {
            let value: u32 = rng.random();
            bench.write(offset, value);
            assert_eq!(bench.read(offset), value & mask, "offset {offset:#x}");
            for (from, width, to) in parts {
                expected |= (u128::from(value) >> from & ((1 << width) - 1)) << to;
            }
        }
        // The weight and the mask replace what stood there.
        assert_eq!(word(&bench), expected);
        bench.write(hpu::CTX_ACTIVE, 0xBEEF);
        assert_eq!((bench.read(hpu::CTX_ACTIVE), bench.get("active")), (0xBEEF, 0xBEEF));
    });
}

#[test]
fn windows_move_on() {
    run_with_wave_on_failure("registers_windows", |wave| {
        let mut bench = Bench::new(wave);
        for slow in [false, true] {
            bench.slow = slow;
            bench.write(hpu::L2_ADDR, 0x1234);
            for i in 0..8 {
                bench.write(hpu::L2_DATA, 0x1000_0001 * i);
            }
            assert_eq!(bench.read(hpu::L2_ADDR), 0x1254);
            bench.write(hpu::L2_ADDR, 0x1234);
            for i in 0..8 {
                assert_eq!(bench.read(hpu::L2_DATA), 0x1000_0001 * i);
            }
            assert_eq!(bench.l2.len(), 8);
            bench.l2.clear();
        }
    });
}

#[test]
fn reports_and_prints_are_shown_and_dropped() {
    run_with_wave_on_failure("registers_reports", |wave| {
        let mut bench = Bench::new(wave);
        let report: Vec<u8> = (0..16).map(|i| 0x11 * i).collect();
        let print: Vec<u8> = (0..14).map(|i| 0xF0 - 3 * i).collect();
        let word = |bytes: &[u8]| bytes.iter().rev().fold(0, |word, byte| word << 8 | u32::from(*byte));
        for (name, bytes) in [("fault", &report), ("print", &print)] {
            let port = bench.model.port(name).unwrap_or_else(|error| panic!("{error}"));
            bench.model.set_bytes(port, bytes);
        }
        bench.set("fault_count", 3);
        bench.set("print_count", 64);
        bench.set("context_puts", 0x181);
        let expected = [
            (hpu::FAULT_COUNT, 3),
            (hpu::FAULT_WHO, word(&report[..4])),
            (hpu::FAULT_PC, word(&report[4..8])),
            (hpu::FAULT_ADDRESS, word(&report[8..12])),
            (hpu::FAULT_FRAME, word(&report[12..])),
            (hpu::PRINT_COUNT, 64),
            (hpu::PRINT_WHO, word(&print[..4])),
            (hpu::PRINT_FRAME, word(&print[4..6])),
            (hpu::PRINT_LOW, word(&print[6..10])),
            (hpu::PRINT_HIGH, word(&print[10..])),
            (hpu::CONTEXT_PUTS, 0x181),
        ];
        for (offset, value) in expected {
            assert_eq!(bench.read(offset), value, "offset {offset:#x}");
        }
        assert_eq!(bench.pops, [0, 0], "reading drops nothing");
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
            assert_eq!(u64::from(bench.read(offset)), COUNT + address as u64, "offset {offset:#x}");
            // A write changes nothing and waits for nothing.
            let before = bench.counter;
            bench.write(offset, 1);
            assert_eq!((bench.counter + counter(3, 0) as u64 - before) % counter(3, 0) as u64, 3, "offset {offset:#x}");
        }
    });
}
