//! Predecoder, decoder, ALU, bit unit and multiplier: every instruction's word goes through both decoders into the units, as
//! in the pipeline.

use crate::hpu_core::processor::isa::{self, compute, immediate, Format, Instruction, ALU, BITS, BRANCH, ILLEGAL, MUL};
use hpu_core::processor::alu::{alu_extend, turn_of, Alu, PICK_SUM};
use hpu_core::processor::bit_unit::BitUnit;
use hpu_core::processor::decode::{second_operand, Decoder};
use hpu_core::processor::multiplier::Multiplier;
use hpu_core::processor::predecode::{image_word, predecode};
use rand::seq::IndexedRandom;
use rand::Rng;
use rand_chacha::ChaCha8Rng;
use spindle_harness::{run_with_wave_on_failure, Dut};
use spindle_verilog::prelude::*;

/// The values that carries, signs and counts go wrong at.
pub const CORNERS: [u32; 20] = [
    0,
    1,
    2,
    3,
    7,
    31,
    32,
    0xFF,
    0x8000,
    0xFFFF,
    0x1_0000,
    0x7FFF_FFFE,
    0x7FFF_FFFF,
    0x8000_0000,
    0x8000_0001,
    0xAAAA_AAAA,
    0x0080_FF01,
    0xFFFF_0000,
    0xFFFF_FFFE,
    0xFFFF_FFFF,
];

/// A corner, a word of any magnitude, or the same as another operand.
pub fn operand(rng: &mut ChaCha8Rng, other: u32) -> u32 {
    match rng.random_range(0..8) {
        0 | 1 => *CORNERS.choose(rng).expect("there are some"),
        2 => rng.random::<u32>() >> rng.random_range(0..32),
        3 => !(rng.random::<u32>() >> rng.random_range(0..32)),
        4 => other,
        _ => rng.random(),
    }
}

/// A random word of an instruction.
pub fn word_of(rng: &mut ChaCha8Rng, instruction: &Instruction) -> u32 {
    (rng.random::<u32>() & !instruction.mask) | instruction.value
}

/// The units after the decoder, with the operands that the pipeline would choose.
#[block(no_reset)]
struct Execute {
    pub word: Signal<In, Bits<32>>,
    pub a: Signal<In, Bits<32>>,
    pub b: Signal<In, Bits<32>>,
    pub advance: Signal<In, Bit>,
    pub extend: Signal<In, Bit>,
    pub extend_size: Signal<In, Bits<2>>,
    pub extend_unsigned: Signal<In, Bit>,
    pub kind: Signal<Out, Bits<4>>,
    pub accesses: Signal<Out, Bit>,
    pub late: Signal<Out, Bit>,
    pub plain: Signal<Out, Bit>,
    pub rd: Signal<Out, Bits<5>>,
    pub rs1: Signal<Out, Bits<5>>,
    pub rs2: Signal<Out, Bits<5>>,
    pub immediate: Signal<Out, Bits<32>>,
    pub offset: Signal<Out, Bits<32>>,
    pub distance: Signal<Out, Bits<17>>,
    pub a_is_pc: Signal<Out, Bit>,
    pub reads_b: Signal<Out, Bit>,
    pub upper: Signal<Out, Bits<2>>,
    pub lower: Signal<Out, Bits<2>>,
    pub image: Signal<Out, Bits<32>>,
    pub funct3: Signal<Out, Bits<3>>,
    pub funct5: Signal<Out, Bits<5>>,
    pub passes: Signal<Out, Bit>,
    pub result: Signal<Out, Bits<32>>,
    pub sum: Signal<Out, Bits<32>>,
    pub equal: Signal<Out, Bit>,
    pub less: Signal<Out, Bit>,
    pub less_unsigned: Signal<Out, Bit>,
    pub bits_result: Signal<Out, Bits<32>>,
    pub product_low: Signal<Out, Bits<32>>,
    pub product_high: Signal<Out, Bits<32>>,
    pub wants_high: Signal<Out, Bit>,
    decoder: Decoder,
    alu: Alu,
    unit: BitUnit,
    multiplier: Multiplier,
}

#[hdl]
impl Execute {
    fn update(&mut self) {
        let code = predecode(self.word.val());
        self.image.next = image_word(code);
        self.decoder.code.next = code;
        let decoded = self.decoder.decoded.val();
        let traits = decoded.traits;
        // As the table numbers them.
        self.kind.next = if traits.breaks & traits.illegal {
            bits::<4>(isa::BREAK)
        } else if traits.illegal {
            bits::<4>(ILLEGAL)
        } else if traits.refetches {
            bits::<4>(isa::FENCE_I)
        } else if traits.fences {
            bits::<4>(isa::FENCE)
        } else if traits.load {
            bits::<4>(isa::LOAD)
        } else if traits.store {
            bits::<4>(isa::STORE)
        } else if traits.atomic {
            bits::<4>(isa::AMO)
        } else if traits.branches {
            bits::<4>(BRANCH)
        } else if traits.to_register {
            bits::<4>(isa::JALR)
        } else if traits.jumps {
            bits::<4>(isa::JAL)
        } else if traits.bits_unit {
            bits::<4>(BITS)
        } else if traits.multiplies {
            bits::<4>(MUL)
        } else if traits.divides {
            bits::<4>(isa::DIV)
        } else if decoded.counts {
            bits::<4>(isa::CSR)
        } else {
            bits::<4>(ALU)
        };
        self.accesses.next = traits.accesses;
        self.late.next = traits.late;
        self.plain.next = traits.plain;
        self.rd.next = decoded.rd;
        self.rs1.next = decoded.rs1;
        self.rs2.next = decoded.rs2;
        let second = second_operand(decoded, bits::<32>(0), bits::<32>(0));
        self.immediate.next = second;
        self.offset.next = decoded.offset;
        self.distance.next = decoded.distance;
        self.a_is_pc.next = decoded.a_is_pc;
        self.reads_b.next = decoded.reads_b;
        self.upper.next = decoded.upper;
        self.lower.next = decoded.lower;
        self.funct3.next = decoded.funct3;
        self.funct5.next = decoded.funct5;
        self.passes.next = decoded.alu.alone & (decoded.alu.pick == PICK_SUM) & !decoded.alu.less;
        let b = if decoded.reads_b { self.b.val() } else { second };
        self.alu.a.next = self.a.val();
        self.alu.b.next = b;
        self.alu.amount.next = turn_of(b.get_bits::<5>(0), !decoded.funct3.get_bit(2), decoded.reverses);
        self.alu.control.next = if self.extend.val() {
            alu_extend(self.extend_size.val(), self.extend_unsigned.val())
        } else {
            decoded.alu
        };
        self.alu.funct3.next = decoded.funct3;
        self.result.next = self.alu.result.val();
        self.sum.next = self.alu.sum.val();
        self.equal.next = self.alu.equal.val();
        self.less.next = self.alu.less.val();
        self.less_unsigned.next = self.alu.less_unsigned.val();
        self.unit.enable.next = true;
        self.unit.a.next = self.a.val();
        self.unit.b.next = self.b.val();
        self.unit.control.next = decoded.unit;
        self.unit.funct3.next = decoded.funct3;
        self.unit.less.next = self.alu.less.val();
        self.unit.less_unsigned.next = self.alu.less_unsigned.val();
        self.bits_result.next = self.unit.result.val();
        self.multiplier.advance.next = self.advance.val();
        self.multiplier.a.next = self.a.val();
        self.multiplier.b.next = self.b.val();
        self.multiplier.funct3.next = decoded.funct3;
        self.product_low.next = self.multiplier.low.val();
        self.product_high.next = self.multiplier.high.val();
        self.wants_high.next = self.multiplier.wants_high.val();
    }
}

/// Compares everything that the decoder says about a word with the table.
fn check_decoded(unit: &Dut<Execute>, table: &[Instruction], word: u32) -> u64 {
    unit.word.set(word);
    unit.eval();
    let found: Vec<_> = table.iter().filter(|entry| word & entry.mask == entry.value).collect();
    assert!(found.len() < 2, "{word:08x} is in the table twice: {found:?}");
    let kind = found.first().map_or(ILLEGAL, |entry| entry.kind);
    assert_eq!((unit.image.number() as u32), word, "the image's word, {found:?}");
    assert_eq!(unit.kind.number(), kind, "kind of {word:08x}, {found:?}");
    let Some(entry) = found.first().filter(|_| kind != isa::BREAK) else {
        assert_eq!(unit.plain.number(), 0, "{word:08x}");
        return kind;
    };
    let traits = [&unit.accesses, &unit.late, &unit.plain].map(|wire| wire.is_high());
    let expected = [
        [isa::LOAD, isa::STORE, isa::AMO].contains(&kind),
        [isa::LOAD, isa::AMO, MUL, isa::DIV, BITS].contains(&kind),
        [ALU, BITS, MUL, BRANCH].contains(&kind),
    ];
    assert_eq!(traits, expected, "traits of {} {word:08x}", entry.name);
    let format = entry.format;
    let used = |unused: &[Format], low: u32| if unused.contains(&format) { 0 } else { word >> low & 31 };
    let rd = used(&[Format::S, Format::B, Format::None], 7);
    let rs1 = used(&[Format::U, Format::J, Format::Csr, Format::None], 15);
    let rs2 = match format {
        Format::R | Format::S | Format::B => word >> 20 & 31,
        _ => 0,
    };
    let fields = [&unit.rd, &unit.rs1, &unit.rs2].map(|wire| wire.number() as u32);
    assert_eq!(fields, [rd, rs1, rs2], "registers of {} {word:08x}", entry.name);
    if format != Format::None && (format != Format::R || entry.name == "lr" || entry.name == "amo") {
        let expected = immediate(format, word);
        if kind == ALU {
            assert_eq!((unit.immediate.number() as u32), expected, "immediate of {} {word:08x}", entry.name);
        } else if ![BRANCH, BITS].contains(&kind) {
            assert_eq!((unit.offset.number() as u32), expected, "offset of {} {word:08x}", entry.name);
        }
        if kind == BRANCH || entry.name == "jal" {
            let distance = unit.distance.number() as u32;
            assert_eq!(distance, expected >> 1 & 0x1_FFFF, "distance of {} {word:08x}", entry.name);
        }
    }
    // The result of these is operand b.
    let passes = [isa::JAL, isa::JALR, isa::CSR].contains(&kind) || entry.name == "lui";
    assert!(!passes || unit.passes.is_high(), "{} {word:08x} passes the second operand on", entry.name);
    // Of what reads no second operand but for its address, it does not matter. {upper, lower}, or a register.
    let choices = [unit.reads_b.number(), unit.upper.number(), unit.lower.number()];
    let expected = match format {
        Format::I if kind == ALU => Some([0, 1, 1]),
        Format::U => Some([0, 2, 0]),
        Format::J | Format::Jump => Some([0, 0, 2]),
        Format::Csr => Some([0, 3, 3]),
        Format::R | Format::S | Format::B => Some([1, choices[1], choices[2]]),
        _ => None,
    };
    assert!(expected.is_none_or(|it| it == choices), "second operand of {} {word:08x}: {choices:?}", entry.name);
    assert_eq!(unit.a_is_pc.is_high(), ["auipc", "jal"].contains(&entry.name), "operand of {} {word:08x}", entry.name);
    assert_eq!((unit.funct3.number() as u32, unit.funct5.number() as u32), (word >> 12 & 7, word >> 27));
    kind
}

#[test]
fn decoder_knows_exactly_the_instruction_set() {
    run_with_wave_on_failure("units_decoder", |context| {
        let mut rng = context.rng();
        let unit = Dut::new(context, Execute::default(), "execute");
        let table = isa::table();
        let mut seen = [0u32; 15];
        let mut check = |word| seen[check_decoded(&unit, &table, word) as usize] += 1;
        // Every opcode, funct3 and funct7; low register fields that name unary operations.
        for opcode in 0..128u32 {
            for f3 in 0..8 {
                for f7 in 0..128 {
                    let others = rng.random::<u32>() & 0x01FF_8F80;
                    check(f7 << 25 | f3 << 12 | opcode | others);
                }
            }
        }
        // Every upper half of the opcodes in which it matters, also with the registers that SYSTEM wants to be 0.
        for opcode in [0x13, 0x33, 0x2F, 0x73] {
            for f3 in 0..8 {
                for upper in 0..4096 {
                    check(upper << 20 | f3 << 12 | opcode);
                    check(upper << 20 | f3 << 12 | opcode | (rng.random::<u32>() & 0xF_8F80));
                }
            }
        }
        for _ in 0..100_000 {
            check(rng.random());
            // One bit off an instruction.
            let instruction = table.choose(&mut rng).expect("there are some");
            let word = word_of(&mut rng, instruction);
            check(word);
            check(word ^ 1 << rng.random_range(0..32));
        }
        assert!(seen.iter().all(|count| *count > 50), "{seen:?}");
    });
}

#[test]
fn every_instruction_computes() {
    run_with_wave_on_failure("units_execute", |context| {
        let mut rng = context.rng();
        let unit = Dut::new(context, Execute::default(), "execute");
        let table: Vec<_> = isa::table().into_iter().filter(|entry| [ALU, BITS].contains(&entry.kind)).collect();
        let check = |rng: &mut ChaCha8Rng, entry: &Instruction, a: u32, b: u32| {
            let word = word_of(rng, entry);
            unit.word.set(word);
            unit.a.set(a);
            unit.b.set(b);
            unit.eval();
            let second = if [Format::I, Format::U].contains(&entry.format) { immediate(entry.format, word) } else { b };
            let expected = compute(entry.name, a, second);
            let result = if entry.kind == ALU {
                unit.result.number() as u32
            } else {
                unit.tick();
                unit.eval();
                unit.bits_result.number() as u32
            };
            assert_eq!(result, expected, "{} {word:08x} of {a:08x}, {second:08x}", entry.name);
        };
        for entry in &table {
            for a in CORNERS {
                for b in CORNERS {
                    check(&mut rng, entry, a, b);
                }
                for n in 0..32 {
                    check(&mut rng, entry, a, n);
                    check(&mut rng, entry, 1 << n, a);
                }
            }
        }
        for _ in 0..150_000 {
            let a = operand(&mut rng, 0);
            let b = operand(&mut rng, a);
            let instruction = table.choose(&mut rng).expect("there are some");
            check(&mut rng, instruction, a, b);
        }
    });
}

#[test]
fn branches_compare_and_the_adder_adds() {
    run_with_wave_on_failure("units_compare", |context| {
        let mut rng = context.rng();
        let unit = Dut::new(context, Execute::default(), "execute");
        let check = |a: u32, b: u32| {
            unit.a.set(a);
            unit.b.set(b);
            unit.word.set(0x63);
            unit.eval();
            let reported = [&unit.equal, &unit.less, &unit.less_unsigned].map(|wire| wire.is_high());
            assert_eq!(reported, [a == b, (a as i32) < b as i32, a < b], "{a:08x}, {b:08x}");
            // ADD.
            unit.word.set(0x33);
            unit.eval();
            assert_eq!((unit.sum.number() as u32), a.wrapping_add(b), "{a:08x} + {b:08x}");
        };
        CORNERS.into_iter().for_each(|a| CORNERS.into_iter().for_each(|b| check(a, b)));
        for _ in 0..100_000 {
            let a = operand(&mut rng, 0);
            let b = if rng.random_bool(0.2) { a ^ 1 << rng.random_range(0..32) } else { operand(&mut rng, a) };
            check(a, b);
        }
    });
}

#[test]
fn answers_are_extended() {
    run_with_wave_on_failure("units_extend", |context| {
        let mut rng = context.rng();
        let unit = Dut::new(context, Execute::default(), "execute");
        unit.extend.set(true);
        // A register-register word: the control must not come from it.
        unit.word.set(0x33);
        unit.b.set(0);
        for _ in 0..100_000 {
            let a = operand(&mut rng, 0);
            let size = [0, 1, 3][rng.random_range(0..3)];
            let without_sign = rng.random::<bool>();
            unit.a.set(a);
            unit.extend_size.set(size);
            unit.extend_unsigned.set(without_sign);
            unit.eval();
            let expected = match (size, without_sign) {
                (0, false) => a as i8 as u32,
                (0, true) => a & 0xFF,
                (1, false) => a as i16 as u32,
                (1, true) => a & 0xFFFF,
                _ => a,
            };
            assert_eq!((unit.result.number() as u32), expected, "{a:08x}, size {size}, unsigned {without_sign}");
        }
    });
}

#[test]
fn products_come_a_cycle_after_m1() {
    run_with_wave_on_failure("units_multiplier", |context| {
        let mut rng = context.rng();
        let unit = Dut::new(context, Execute::default(), "execute");
        let table: Vec<_> = isa::table().into_iter().filter(|entry| entry.kind == MUL).collect();
        // Whether it is the high word, and the product of what stands in M1.
        let mut first = None;
        let corners = CORNERS.into_iter().flat_map(|a| CORNERS.into_iter().map(move |b| (a, b)));
        let mut pairs: Vec<_> = corners.flat_map(|pair| [pair; 4]).collect();
        pairs.extend((0..120_000).map(|_| {
            let a = operand(&mut rng, 0);
            (a, operand(&mut rng, a))
        }));
        for (i, (a, b)) in pairs.into_iter().enumerate() {
            let entry = &table[i % 4];
            loop {
                let advance = rng.random_bool(0.7);
                // While the pipeline stands, operands may still change: only those of the last cycle count.
                let last = advance;
                unit.word.set(if last { word_of(&mut rng, entry) } else { rng.random() });
                unit.a.set(if last { a } else { rng.random() });
                unit.b.set(if last { b } else { rng.random() });
                unit.advance.set(advance);
                let high_comes = unit.wants_high.is_high();
                unit.tick();
                unit.eval();
                if let Some((high, expected)) = first {
                    assert_eq!(high_comes, high);
                    let word = if high { &unit.product_high } else { &unit.product_low };
                    assert_eq!(word.number() as u32, expected, "after {} of {a:08x}, {b:08x}", entry.name);
                }
                if advance {
                    first = Some((entry.name != "mul", compute(entry.name, a, b)));
                    break;
                }
            }
        }
    });
}
