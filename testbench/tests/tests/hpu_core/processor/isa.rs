//! The instruction set of the processor as a table of masks and as functions on words, independent of the decoder.

/// Which fields an instruction uses.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Format {
    /// rd, rs1, rs2.
    R,
    /// rd, rs1, immediate.
    I,
    /// rd, rs1; a0 is read as second operand.
    Jump,
    /// rs1, rs2, immediate.
    S,
    /// rs1, rs2, offset.
    B,
    /// rd, upper immediate.
    U,
    /// rd, offset.
    J,
    /// rd, counter.
    Csr,
    /// Nothing.
    None,
}

/// An instruction: `word & mask == value`.
#[derive(Clone, Copy, Debug)]
pub struct Instruction {
    pub name: &'static str,
    pub mask: u32,
    pub value: u32,
    /// Its `Kind`, by number.
    pub kind: u64,
    pub format: Format,
}

pub const ILLEGAL: u64 = 0;
pub const ALU: u64 = 1;
pub const BITS: u64 = 2;
pub const MUL: u64 = 3;
pub const DIV: u64 = 4;
pub const LOAD: u64 = 5;
pub const STORE: u64 = 6;
pub const AMO: u64 = 7;
pub const BRANCH: u64 = 8;
pub const JAL: u64 = 9;
pub const JALR: u64 = 10;
pub const CSR: u64 = 11;
pub const FENCE: u64 = 12;
pub const FENCE_I: u64 = 13;
pub const BREAK: u64 = 14;

/// Every instruction that the processor executes.
pub fn table() -> Vec<Instruction> {
    use Format::*;
    let mut all = vec![];
    let mut add = |name, mask, value, kind, format| all.push(Instruction { name, mask, value, kind, format });
    add("lui", 0x7F, 0x37, ALU, U);
    add("auipc", 0x7F, 0x17, ALU, U);
    add("jal", 0x7F, 0x6F, JAL, J);
    add("jalr", 0x707F, 0x67, JALR, Jump);
    for (name, f3) in [("beq", 0), ("bne", 1), ("blt", 4), ("bge", 5), ("bltu", 6), ("bgeu", 7)] {
        add(name, 0x707F, f3 << 12 | 0x63, BRANCH, B);
    }
    for (name, f3) in [("lb", 0), ("lh", 1), ("lw", 2), ("lbu", 4), ("lhu", 5)] {
        add(name, 0x707F, f3 << 12 | 0x03, LOAD, I);
    }
    for (name, f3) in [("sb", 0), ("sh", 1), ("sw", 2)] {
        add(name, 0x707F, f3 << 12 | 0x23, STORE, S);
    }
    for (name, f3) in [("add", 0), ("slt", 2), ("sltu", 3), ("xor", 4), ("or", 6), ("and", 7)] {
        add(name, 0x707F, f3 << 12 | 0x13, ALU, I);
    }
    // With an amount or a second register.
    for (name, f7, f3, forms) in [
        ("add", 0x00, 0, 'r'),
        ("sub", 0x20, 0, 'r'),
        ("sll", 0x00, 1, 'b'),
        ("slt", 0x00, 2, 'r'),
        ("sltu", 0x00, 3, 'r'),
        ("xor", 0x00, 4, 'r'),
        ("srl", 0x00, 5, 'b'),
        ("sra", 0x20, 5, 'b'),
        ("or", 0x00, 6, 'r'),
        ("and", 0x00, 7, 'r'),
        ("andn", 0x20, 7, 'r'),
        ("orn", 0x20, 6, 'r'),
        ("xnor", 0x20, 4, 'r'),
        ("sh1add", 0x10, 2, 'r'),
        ("sh2add", 0x10, 4, 'r'),
        ("sh3add", 0x10, 6, 'r'),
        ("rol", 0x30, 1, 'r'),
        ("ror", 0x30, 5, 'b'),
        ("bset", 0x14, 1, 'b'),
        ("bclr", 0x24, 1, 'b'),
        ("binv", 0x34, 1, 'b'),
        ("bext", 0x24, 5, 'b'),
    ] {
        add(name, 0xFE00_707F, f7 << 25 | f3 << 12 | 0x33, ALU, R);
        if forms == 'b' {
            add(name, 0xFE00_707F, f7 << 25 | f3 << 12 | 0x13, ALU, I);
        }
    }
    for (name, f3) in [("min", 4), ("minu", 5), ("max", 6), ("maxu", 7)] {
        add(name, 0xFE00_707F, 5 << 25 | f3 << 12 | 0x33, BITS, R);
    }
    for (f3, name) in ["mul", "mulh", "mulhsu", "mulhu", "div", "divu", "rem", "remu"].into_iter().enumerate() {
        add(name, 0xFE00_707F, 1 << 25 | (f3 as u32) << 12 | 0x33, if f3 < 4 { MUL } else { DIV }, R);
    }
    add("zext.h", 0xFFF0_707F, 0x0800_4033, ALU, R);
    for (name, value, kind) in [
        ("clz", 0x6000_1013, BITS),
        ("ctz", 0x6010_1013, BITS),
        ("cpop", 0x6020_1013, BITS),
        ("sext.b", 0x6040_1013, ALU),
        ("sext.h", 0x6050_1013, ALU),
        ("orc.b", 0x2870_5013, ALU),
        ("rev8", 0x6980_5013, ALU),
    ] {
        add(name, 0xFFF0_707F, value, kind, I);
    }
    add("lr", 0xF9F0_707F, 0x1000_202F, AMO, R);
    for f5 in [0x00, 0x01, 0x03, 0x04, 0x08, 0x0C, 0x10, 0x14, 0x18, 0x1C] {
        add("amo", 0xF800_707F, f5 << 27 | 0x202F, AMO, R);
    }
    add("fence", 0x707F, 0x000F, FENCE, None);
    add("fence.i", 0x707F, 0x100F, FENCE_I, None);
    add("ecall", 0xFFFF_FFFF, 0x0000_0073, BREAK, None);
    add("ebreak", 0xFFFF_FFFF, 0x0010_0073, BREAK, None);
    for csr in [0xC00, 0xC01, 0xC02, 0xC80, 0xC81, 0xC82, 0xF14, 0x301] {
        for f3 in [2, 3, 6, 7] {
            add("csrr", 0xFFFF_F07F, csr << 20 | f3 << 12 | 0x73, CSR, Csr);
        }
    }
    all
}

/// The immediate of a word of a format.
pub fn immediate(format: Format, word: u32) -> u32 {
    let field = |low: u32, width: u32| word >> low & ((1 << width) - 1);
    let sign = |value: u32, width: u32| ((value << (32 - width)) as i32 >> (32 - width)) as u32;
    match format {
        Format::I | Format::Jump | Format::Csr => sign(field(20, 12), 12),
        Format::S => sign(field(25, 7) << 5 | field(7, 5), 12),
        Format::B => sign(field(31, 1) << 12 | field(7, 1) << 11 | field(25, 6) << 5 | field(8, 4) << 1, 13),
        Format::U => word & 0xFFFF_F000,
        Format::J => sign(field(31, 1) << 20 | field(12, 8) << 12 | field(20, 1) << 11 | field(21, 10) << 1, 21),
        Format::R | Format::None => 0,
    }
}

/// What an instruction of the ALU, the bit unit, the multiplier or the divider leaves in its destination.
pub fn compute(name: &str, a: u32, b: u32) -> u32 {
    let n = b % 32;
    let (ia, ib) = (a as i32, b as i32);
    let wide = |x: i64, y: i64| ((x * y) >> 32) as u32;
    match name {
        "add" => a.wrapping_add(b),
        "sub" => a.wrapping_sub(b),
        "lui" => b,
        "auipc" => a.wrapping_add(b),
        "slt" => (ia < ib) as u32,
        "sltu" => (a < b) as u32,
        "xor" => a ^ b,
        "or" => a | b,
        "and" => a & b,
        "xnor" => !(a ^ b),
        "orn" => a | !b,
        "andn" => a & !b,
        "sll" => a << n,
        "srl" => a >> n,
        "sra" => (ia >> n) as u32,
        "rol" => a.rotate_left(n),
        "ror" => a.rotate_right(n),
        "sh1add" => (a << 1).wrapping_add(b),
        "sh2add" => (a << 2).wrapping_add(b),
        "sh3add" => (a << 3).wrapping_add(b),
        "bset" => a | 1 << n,
        "bclr" => a & !(1 << n),
        "binv" => a ^ 1 << n,
        "bext" => a >> n & 1,
        "zext.h" => a & 0xFFFF,
        "sext.h" => a as i16 as u32,
        "sext.b" => a as i8 as u32,
        "rev8" => a.swap_bytes(),
        "orc.b" => u32::from_le_bytes(a.to_le_bytes().map(|byte| if byte == 0 { 0 } else { 255 })),
        "clz" => a.leading_zeros(),
        "ctz" => a.trailing_zeros(),
        "cpop" => a.count_ones(),
        "min" => ia.min(ib) as u32,
        "max" => ia.max(ib) as u32,
        "minu" => a.min(b),
        "maxu" => a.max(b),
        "mul" => a.wrapping_mul(b),
        "mulh" => wide(ia.into(), ib.into()),
        "mulhsu" => wide(ia.into(), b.into()),
        "mulhu" => ((u64::from(a) * u64::from(b)) >> 32) as u32,
        "div" if b == 0 => u32::MAX,
        "div" => ia.wrapping_div(ib) as u32,
        "divu" => a.checked_div(b).unwrap_or(u32::MAX),
        "rem" if b == 0 => a,
        "rem" => ia.wrapping_rem(ib) as u32,
        "remu" => a.checked_rem(b).unwrap_or(a),
        _ => panic!("{name} computes nothing"),
    }
}
