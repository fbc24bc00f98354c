//! Every instruction on operands at the corners, against what the instruction set says of it, written down in Rust's own
//! arithmetic.

use crate::hpu_core::processor::hpu::hart_bench::hart;
use spindle_contract::memory_map::{base, CODE, CONTEXT, FAULT_BREAK, FAULT_ILLEGAL, PACKET, SCRATCH};
use spindle_contract::params::L1_SCRATCH_BASE;
use spindle_harness::run_with_wave_on_failure;
use spindle_hart::assembler::*;
use spindle_hart::{Hart, Timing};

const OPERANDS: [u32; 9] = [0, 1, 2, 31, 0x7FFF_FFFF, 0x8000_0000, 0x8000_0001, 0xFFFF_FFFF, 0x1234_80FE];

/// Name, instruction as (funct7, funct3), meaning.
type Binary = (&'static str, (u32, u32), fn(u32, u32) -> u32);

fn high(product: i64) -> u32 {
    (product >> 32) as u32
}

const BINARY: &[Binary] = &[
    ("add", (0x00, 0), |a, b| a.wrapping_add(b)),
    ("sub", (0x20, 0), |a, b| a.wrapping_sub(b)),
    ("sll", (0x00, 1), |a, b| a << (b & 31)),
    ("slt", (0x00, 2), |a, b| u32::from((a as i32) < b as i32)),
    ("sltu", (0x00, 3), |a, b| u32::from(a < b)),
    ("xor", (0x00, 4), |a, b| a ^ b),
    ("srl", (0x00, 5), |a, b| a >> (b & 31)),
    ("sra", (0x20, 5), |a, b| (a as i32 >> (b & 31)) as u32),
    ("or", (0x00, 6), |a, b| a | b),
    ("and", (0x00, 7), |a, b| a & b),
    ("mul", (0x01, 0), |a, b| a.wrapping_mul(b)),
    ("mulh", (0x01, 1), |a, b| high(i64::from(a as i32) * i64::from(b as i32))),
    ("mulhsu", (0x01, 2), |a, b| high(i64::from(a as i32) * i64::from(b))),
    ("mulhu", (0x01, 3), |a, b| high((u64::from(a) * u64::from(b)) as i64)),
    ("div", (0x01, 4), |a, b| if b == 0 { u32::MAX } else { (a as i32).wrapping_div(b as i32) as u32 }),
    ("divu", (0x01, 5), |a, b| a.checked_div(b).unwrap_or(u32::MAX)),
    ("rem", (0x01, 6), |a, b| if b == 0 { a } else { (a as i32).wrapping_rem(b as i32) as u32 }),
    ("remu", (0x01, 7), |a, b| a.checked_rem(b).unwrap_or(a)),
    ("sh1add", (0x10, 2), |a, b| (a << 1).wrapping_add(b)),
    ("sh2add", (0x10, 4), |a, b| (a << 2).wrapping_add(b)),
    ("sh3add", (0x10, 6), |a, b| (a << 3).wrapping_add(b)),
    ("andn", (0x20, 7), |a, b| a & !b),
    ("orn", (0x20, 6), |a, b| a | !b),
    ("xnor", (0x20, 4), |a, b| !(a ^ b)),
    ("min", (0x05, 4), |a, b| (a as i32).min(b as i32) as u32),
    ("minu", (0x05, 5), |a, b| a.min(b)),
    ("max", (0x05, 6), |a, b| (a as i32).max(b as i32) as u32),
    ("maxu", (0x05, 7), |a, b| a.max(b)),
    ("rol", (0x30, 1), |a, b| a.rotate_left(b & 31)),
    ("ror", (0x30, 5), |a, b| a.rotate_right(b & 31)),
    ("bclr", (0x24, 1), |a, b| a & !(1 << (b & 31))),
    ("bext", (0x24, 5), |a, b| a >> (b & 31) & 1),
    ("binv", (0x34, 1), |a, b| a ^ 1 << (b & 31)),
    ("bset", (0x14, 1), |a, b| a | 1 << (b & 31)),
];

/// Register-immediate instructions: name, funct3, code bits above a shift amount, meaning. The immediate is what follows.
type Immediate = (&'static str, u32, i32, fn(u32, u32) -> u32);

const ARITHMETIC: &[Immediate] = &[
    ("addi", 0, 0, |a, i| a.wrapping_add(i)),
    ("slti", 2, 0, |a, i| u32::from((a as i32) < i as i32)),
    ("sltiu", 3, 0, |a, i| u32::from(a < i)),
    ("xori", 4, 0, |a, i| a ^ i),
    ("ori", 6, 0, |a, i| a | i),
    ("andi", 7, 0, |a, i| a & i),
];

const AMOUNT: &[Immediate] = &[
    ("slli", 1, 0x000, |a, i| a << i),
    ("srli", 5, 0x000, |a, i| a >> i),
    ("srai", 5, 0x400, |a, i| (a as i32 >> i) as u32),
    ("rori", 5, 0x600, |a, i| a.rotate_right(i)),
    ("bclri", 1, 0x480, |a, i| a & !(1 << i)),
    ("bexti", 5, 0x480, |a, i| a >> i & 1),
    ("binvi", 1, 0x680, |a, i| a ^ 1 << i),
    ("bseti", 1, 0x280, |a, i| a | 1 << i),
];

const ONE_OPERAND: &[Immediate] = &[
    ("clz", 1, 0x600, |a, _| a.leading_zeros()),
    ("ctz", 1, 0x601, |a, _| a.trailing_zeros()),
    ("cpop", 1, 0x602, |a, _| a.count_ones()),
    ("sext.b", 1, 0x604, |a, _| a as i8 as u32),
    ("sext.h", 1, 0x605, |a, _| a as i16 as u32),
    ("orc.b", 5, 0x287, |a, _| u32::from_le_bytes(a.to_le_bytes().map(|byte| if byte == 0 { 0 } else { 0xFF }))),
    ("rev8", 5, 0x698, |a, _| a.swap_bytes()),
];

/// A piece of program that leaves its result in x7, and what that has to be.
struct Check {
    name: String,
    words: Vec<u32>,
    result: u32,
}

/// Runs the pieces, in programs of as many as a packet has words, and compares.
fn run_checks(hart: &mut Hart, checks: &[Check]) {
    for part in checks.chunks(512) {
        let mut words = vec![lui(8, base(PACKET) >> 12), lui(9, base(CONTEXT) >> 12), lui(3, base(SCRATCH) >> 12)];
        for (i, check) in part.iter().enumerate() {
            words.extend(&check.words);
            words.push(sw(7, 8, 4 * i as i32));
        }
        words.push(RET);
        let ending = hart.run_program(&words);
        assert_eq!(ending.cause, 0, "{ending:x?}");
        for (check, found) in part.iter().zip(hart.l1.chunks(4)) {
            let found = u32::from_le_bytes(found.try_into().expect("four bytes"));
            assert_eq!(found, check.result, "{}: {found:#x}, not {:#x}", check.name, check.result);
        }
    }
}

fn with_operands(name: &str, a: u32, b: u32, word: u32, result: u32) -> Check {
    let name = format!("{name} of {a:#x} and {b:#x}");
    Check { name, words: [&li(5, a)[..], &li(6, b), &[word]].concat(), result }
}

#[test]
fn arithmetic() {
    run_with_wave_on_failure("hart_arithmetic", |context| {
        let mut hart = hart(context, 0);
        let mut checks = vec![];
        for a in OPERANDS {
            for b in OPERANDS {
                checks.extend(
                    BINARY.iter().map(|(name, code, f)| with_operands(name, a, b, op(*code, 7, 5, 6), f(a, b))),
                );
            }
            for i in [0, 1, -1, 2047, -2048] {
                let word = |funct3| op_imm(funct3, 7, 5, i);
                checks.extend(ARITHMETIC.iter().map(|(n, f3, _, f)| with_operands(n, a, 0, word(*f3), f(a, i as u32))));
            }
            for i in [0, 1, 7, 16, 31] {
                let word = |funct3, code| op_imm(funct3, 7, 5, code | i);
                checks.extend(
                    AMOUNT.iter().map(|(n, f3, c, f)| with_operands(n, a, i as u32, word(*f3, *c), f(a, i as u32))),
                );
            }
            checks
                .extend(ONE_OPERAND.iter().map(|(n, f3, c, f)| with_operands(n, a, 0, op_imm(*f3, 7, 5, *c), f(a, 0))));
            checks.push(with_operands("zext.h", a, 0, zext_h(7, 5), a & 0xFFFF));
        }
        run_checks(&mut hart, &checks);
    });
}

#[test]
fn upper_immediates_and_links() {
    run_with_wave_on_failure("hart_upper", |context| {
        let mut hart = hart(context, 0);
        let at = base(CODE);
        hart.program(
            0,
            &[
                lui(8, base(PACKET) >> 12),
                lui(5, 0xFFFFF),
                auipc(6, 0x80000),
                jal(7, 8),
                EBREAK,
                auipc(28, 0),
                jalr(29, 28, 13),
                EBREAK,
                sw(5, 8, 0),
                sw(6, 8, 4),
                sw(7, 8, 8),
                sw(29, 8, 12),
                RET,
            ],
        );
        let ending = hart.run(Default::default());
        assert_eq!(ending.cause, 0, "{ending:x?}");
        let word = |i: usize| u32::from_le_bytes(hart.l1[4 * i..][..4].try_into().expect("four bytes"));
        assert_eq!([word(0), word(1), word(2), word(3)], [0xFFFF_F000, 0x8000_0008 + at, at + 16, at + 28]);
    });
}

#[test]
fn branches() {
    type Condition = (&'static str, u32, fn(u32, u32) -> bool);
    let conditions: [Condition; 6] = [
        ("beq", 0, |a, b| a == b),
        ("bne", 1, |a, b| a != b),
        ("blt", 4, |a, b| (a as i32) < b as i32),
        ("bge", 5, |a, b| a as i32 >= b as i32),
        ("bltu", 6, |a, b| a < b),
        ("bgeu", 7, |a, b| a >= b),
    ];
    run_with_wave_on_failure("hart_branches", |context| {
        let mut hart = hart(context, 0);
        let mut checks = vec![];
        for (name, funct3, f) in conditions {
            for a in OPERANDS {
                for b in OPERANDS {
                    let words =
                        [&li(5, a)[..], &li(6, b), &[addi(7, 0, 1), branch(funct3, 5, 6, 8), addi(7, 0, 0)]].concat();
                    checks.push(Check { name: format!("{name} of {a:#x} and {b:#x}"), words, result: f(a, b).into() });
                }
            }
        }
        run_checks(&mut hart, &checks);
    });
}

/// The word at `at` after a store of `value`.
fn stored(before: [u8; 8], at: usize, value: u32, size: usize) -> u64 {
    let mut after = before;
    after[at..at + size].copy_from_slice(&value.to_le_bytes()[..size]);
    u64::from_le_bytes(after)
}

#[test]
fn loads_and_stores_of_every_size_and_alignment() {
    const PATTERN: [u8; 8] = [0x80, 0x7F, 0xFF, 0x01, 0xA5, 0xFE, 0x00, 0xC3];
    run_with_wave_on_failure("hart_loads_and_stores", |context| {
        let mut hart = hart(context, 0);
        let [low, high] = [0, 4].map(|at| u32::from_le_bytes(PATTERN[at..at + 4].try_into().expect("four bytes")));
        for timing in [Timing::IDLE, Timing::BUSY] {
            hart.timing = timing;
            let mut checks = vec![];
            // x3 = scratchpad in L1, x9 = state in L2, at both parities of words.
            for (region, at) in [(3, 64), (3, 68), (9, 64), (9, 76)] {
                let fill = |words: &mut Vec<u32>| {
                    for (value, at) in [(low, at), (high, at + 4)] {
                        words.extend(li(5, value));
                        words.push(sw(5, region, at));
                    }
                };
                for offset in 0..5 {
                    for funct3 in [LB, LH, LW, LBU, LHU] {
                        let size = 1 << (funct3 & 3);
                        if offset as usize + size > 8 {
                            continue;
                        }
                        let mut bytes = [0; 4];
                        bytes[..size].copy_from_slice(&PATTERN[offset as usize..][..size]);
                        let raw = u32::from_le_bytes(bytes);
                        let result = match funct3 {
                            LB => raw as i8 as u32,
                            LH => raw as i16 as u32,
                            _ => raw,
                        };
                        let mut words = vec![];
                        fill(&mut words);
                        words.push(load(funct3, 7, region, at + offset));
                        checks.push(Check {
                            name: format!("load {funct3} at {at}+{offset} of x{region}"),
                            words,
                            result,
                        });
                        if funct3 > LW {
                            continue;
                        }
                        let after = stored(PATTERN, offset as usize, 0x1357_9BDF, size);
                        for (word, result) in [(0, after as u32), (4, (after >> 32) as u32)] {
                            let mut words = vec![];
                            fill(&mut words);
                            words.extend(li(6, 0x1357_9BDF));
                            words.extend([store(funct3, 6, region, at + offset), lw(7, region, at + word)]);
                            checks.push(Check {
                                name: format!("store {funct3} at {at}+{offset} of x{region}"),
                                words,
                                result,
                            });
                        }
                    }
                }
            }
            run_checks(&mut hart, &checks);
        }
    });
}

#[test]
fn loads_of_code() {
    run_with_wave_on_failure("hart_code_loads", |context| {
        let mut hart = hart(context, 0);
        hart.timing = Timing::BUSY;
        let image = 0x2000;
        // Two words after the program; x5 points there.
        let data = [0x80FF_7F01u32, 0x0123_4567];
        let mut checks = vec![(LW, 0, data[0]), (LW, 4, data[1])];
        for (at, byte) in data[0].to_le_bytes().into_iter().enumerate() {
            checks.extend([(LB, at as i32, byte as i8 as u32), (LBU, at as i32, byte.into())]);
        }
        checks.extend([(LH, 0, 0x7F01), (LH, 2, 0x80FFu16 as i16 as u32), (LHU, 2, 0x80FF)]);
        for (funct3, offset, result) in checks {
            let program = [lui(8, base(PACKET) >> 12), auipc(5, 0), load(funct3, 7, 5, 16 + offset), sw(7, 8, 0), RET];
            hart.program(image, &[&program[..], &data].concat());
            let start = spindle_hart::Start { code_base: image as u32, code_size: 28, ..Default::default() };
            assert_eq!(hart.run(start).cause, 0);
            let found = u32::from_le_bytes(hart.l1[..4].try_into().expect("four bytes"));
            assert_eq!(found, result, "load {funct3} of code at {offset}");
        }
    });
}

#[test]
fn atomics() {
    type Operation = (&'static str, u32, fn(u32, u32) -> u32);
    let operations: [Operation; 9] = [
        ("amoadd", 0x00, |old, b| old.wrapping_add(b)),
        ("amoswap", 0x01, |_, b| b),
        ("amoxor", 0x04, |old, b| old ^ b),
        ("amoor", 0x08, |old, b| old | b),
        ("amoand", 0x0C, |old, b| old & b),
        ("amomin", 0x10, |old, b| (old as i32).min(b as i32) as u32),
        ("amomax", 0x14, |old, b| (old as i32).max(b as i32) as u32),
        ("amominu", 0x18, |old, b| old.min(b)),
        ("amomaxu", 0x1C, |old, b| old.max(b)),
    ];
    // What an atomic asks for is the bench's to compute: here it is seen that operation, operand, address and result take
    // their ways.
    run_with_wave_on_failure("hart_atomics", |context| {
        let mut hart = hart(context, 0);
        let mut checks = vec![];
        for region in [3, 9] {
            for (name, funct5, f) in operations {
                for (i, old) in OPERANDS.into_iter().enumerate() {
                    let b = OPERANDS[(i * 5 + funct5 as usize) % OPERANDS.len()];
                    let ordering = (i as u32 & 3) << 25;
                    let before = [&[addi(28, region, 100)], &li(5, old)[..], &li(6, b), &[sw(5, 28, 0)]].concat();
                    let atomic = amo(funct5, 7, 28, 6) | ordering;
                    let name = format!("{name} of {old:#x} and {b:#x} in the region of x{region}");
                    checks.push(Check { name: name.clone(), words: [&before[..], &[atomic]].concat(), result: old });
                    let words = [&before[..], &[atomic, lw(7, 28, 0)]].concat();
                    checks.push(Check { name, words, result: f(old, b) });
                }
            }
            let pointers = [addi(28, region, 200), addi(29, region, 204), addi(5, 0, 55), addi(6, 0, 66), sw(5, 28, 0)];
            let mut add = |name: &str, words: &[u32], result: u32| {
                let words = [&pointers[..], words].concat();
                checks.push(Check { name: format!("{name} in the region of x{region}"), words, result });
            };
            add("lr", &[amo(LR, 7, 28, 0)], 55);
            add("sc after lr", &[amo(LR, 7, 28, 0), amo(SC, 7, 28, 6)], 0);
            add("what sc stored", &[amo(LR, 7, 28, 0), amo(SC, 7, 28, 6), lw(7, 28, 0)], 66);
            add("a second sc", &[amo(LR, 7, 28, 0), amo(SC, 7, 28, 5), amo(SC, 7, 28, 6)], 1);
            add("sc elsewhere", &[amo(LR, 7, 28, 0), amo(SC, 7, 29, 6)], 1);
            add("a failed sc stores nothing", &[amo(LR, 7, 29, 0), amo(SC, 7, 28, 6), lw(7, 28, 0)], 55);
        }
        run_checks(&mut hart, &checks);
    });
}

#[test]
fn what_is_no_instruction_faults() {
    let amo_like = |funct3: u32| amo(0, 7, 5, 6) & !(7 << 12) | funct3 << 12;
    let words = [
        0x0000_0000,
        0xFFFF_FFFF,
        addi(7, 5, 0) & !2, // compressed
        load(3, 7, 3, 0),   // ld
        load(6, 7, 3, 0),   // lwu
        load(7, 7, 3, 0),
        store(3, 7, 3, 0), // sd
        branch(2, 5, 6, 8),
        branch(3, 5, 6, 8),
        jalr(7, 5, 0) | 1 << 12,
        op((0x20, 1), 7, 5, 6),
        op((0x02, 0), 7, 5, 6),
        op((0x40, 0), 7, 5, 6),
        op((0x05, 1), 7, 5, 6), // clmul
        op((0x04, 4), 7, 5, 6), // pack
        op((0x10, 1), 7, 5, 6),
        op((0x14, 5), 7, 5, 6),
        op_imm(1, 7, 5, 0x020), // shift by 32
        op_imm(5, 7, 5, 0x420),
        op_imm(1, 7, 5, 0x603),
        op_imm(5, 7, 5, 0x286),
        op_imm(5, 7, 5, 0x699),
        amo(0x05, 7, 5, 6),
        amo(LR, 7, 5, 6),                                // lr has no second operand
        amo_like(3),                                     // amoadd.d
        0x3020_0073,                                     // mret
        0x1050_0073,                                     // wfi
        csrr(7, 0xC00) & !(7 << 12) | 1 << 12 | 5 << 15, // csrrw
        csrr(7, 0xC00) | 5 << 15,                        // csrrs of something
        csrr(7, 0xC03),                                  // hpmcounter3
        csrr(7, 0x300),                                  // mstatus
        0x0000_2007,                                     // flw
        0x0000_0053,                                     // fadd.s
        0x0000_101B,                                     // slliw
        0x0000_003B,                                     // addw
        0x0000_200F,
    ];
    run_with_wave_on_failure("hart_illegal", |context| {
        let mut hart = hart(context, 0);
        for word in words {
            let ending = hart.run_program(&[lui(3, base(SCRATCH) >> 12), addi(5, 3, 0), word, RET]);
            let at = base(CODE) + 8;
            let found = (ending.cause, ending.pc, ending.address);
            assert_eq!(found, (FAULT_ILLEGAL, at, at), "{word:#010x}: {ending:x?}");
        }
        for word in [ECALL, EBREAK] {
            let ending = hart.run_program(&[NOP, word, RET]);
            assert_eq!((ending.cause, ending.pc), (FAULT_BREAK, base(CODE) + 4));
        }
    });
}

#[test]
fn hints_and_fences_do_nothing() {
    let words = [
        FENCE,
        FENCE_I,
        0x0330_000F, // fence rw, rw
        0x8330_000F, // fence.tso
        0x0100_000F, // pause
        addi(0, 5, 1),
        op((0, 0), 0, 5, 6),
        lui(0, 0x12345),
        load(LW, 0, 3, 0),
        amo(0, 0, 3, 0),
    ];
    run_with_wave_on_failure("hart_hints", |context| {
        let mut hart = hart(context, 0);
        hart.l1[L1_SCRATCH_BASE..L1_SCRATCH_BASE + 4].copy_from_slice(&77u32.to_le_bytes());
        let checks: Vec<Check> = words
            .into_iter()
            .map(|word| Check {
                name: format!("{word:#010x}"),
                words: vec![addi(7, 0, 9), word, addi(7, 7, 0), add(7, 7, 0)],
                result: 9,
            })
            .collect();
        run_checks(&mut hart, &checks);
    });
}
