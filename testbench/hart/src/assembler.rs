//! Instruction words of RV32IMA_Zicsr_Zba_Zbb_Zbs.

/// Loads by funct3.
pub const LB: u32 = 0;
pub const LH: u32 = 1;
pub const LW: u32 = 2;
pub const LBU: u32 = 4;
pub const LHU: u32 = 5;
/// Stores by funct3.
pub const SB: u32 = 0;
pub const SH: u32 = 1;
pub const SW: u32 = 2;

pub const A0: u32 = 10;
pub const A1: u32 = 11;
pub const RA: u32 = 1;
pub const SP: u32 = 2;
pub const TP: u32 = 4;

pub const RET: u32 = 0x0000_8067;
pub const NOP: u32 = 0x0000_0013;
pub const ECALL: u32 = 0x0000_0073;
pub const EBREAK: u32 = 0x0010_0073;
pub const FENCE: u32 = 0x0FF0_000F;

/// Register-register instructions: (funct7, funct3).
pub const OPS: [(u32, u32); 18] = [
    (0x00, 0),
    (0x20, 0),
    (0x00, 1),
    (0x00, 2),
    (0x00, 3),
    (0x00, 4),
    (0x00, 5),
    (0x20, 5),
    (0x00, 6),
    (0x00, 7),
    (0x01, 0),
    (0x01, 1),
    (0x01, 2),
    (0x01, 3),
    (0x01, 4),
    (0x01, 5),
    (0x01, 6),
    (0x01, 7),
];

pub fn op((funct7, funct3): (u32, u32), rd: u32, a: u32, b: u32) -> u32 {
    funct7 << 25 | b << 20 | a << 15 | funct3 << 12 | rd << 7 | 0x33
}

pub fn add(rd: u32, a: u32, b: u32) -> u32 {
    op((0, 0), rd, a, b)
}

pub fn op_imm(funct3: u32, rd: u32, a: u32, immediate: i32) -> u32 {
    (immediate as u32 & 0xFFF) << 20 | a << 15 | funct3 << 12 | rd << 7 | 0x13
}

pub fn addi(rd: u32, a: u32, immediate: i32) -> u32 {
    op_imm(0, rd, a, immediate)
}

pub fn lui(rd: u32, upper: u32) -> u32 {
    upper << 12 | rd << 7 | 0x37
}

pub fn auipc(rd: u32, upper: u32) -> u32 {
    upper << 12 | rd << 7 | 0x17
}

/// Any constant, in two words.
pub fn li(rd: u32, value: u32) -> [u32; 2] {
    [lui(rd, value.wrapping_add(0x800) >> 12), addi(rd, rd, (value << 20) as i32 >> 20)]
}

pub fn load(funct3: u32, rd: u32, base: u32, offset: i32) -> u32 {
    (offset as u32 & 0xFFF) << 20 | base << 15 | funct3 << 12 | rd << 7 | 0x03
}

pub fn store(funct3: u32, source: u32, base: u32, offset: i32) -> u32 {
    let offset = offset as u32;
    (offset >> 5 & 0x7F) << 25 | source << 20 | base << 15 | funct3 << 12 | (offset & 0x1F) << 7 | 0x23
}

pub fn lw(rd: u32, base: u32, offset: i32) -> u32 {
    load(LW, rd, base, offset)
}

pub fn sw(source: u32, base: u32, offset: i32) -> u32 {
    store(SW, source, base, offset)
}

pub fn branch(funct3: u32, a: u32, b: u32, distance: i32) -> u32 {
    let d = distance as u32;
    (d >> 12 & 1) << 31
        | (d >> 5 & 0x3F) << 25
        | b << 20
        | a << 15
        | funct3 << 12
        | (d >> 1 & 0xF) << 8
        | (d >> 11 & 1) << 7
        | 0x63
}

pub fn jal(rd: u32, distance: i32) -> u32 {
    let d = distance as u32;
    (d >> 20 & 1) << 31 | (d >> 1 & 0x3FF) << 21 | (d >> 11 & 1) << 20 | (d >> 12 & 0xFF) << 12 | rd << 7 | 0x6F
}

pub fn jalr(rd: u32, base: u32, offset: i32) -> u32 {
    (offset as u32 & 0xFFF) << 20 | base << 15 | rd << 7 | 0x67
}

/// Reads a counter.
pub fn csrr(rd: u32, csr: u32) -> u32 {
    csr << 20 | 2 << 12 | rd << 7 | 0x73
}

/// Register-register instructions of Zba, Zbb and Zbs: (funct7, funct3).
pub const BIT_OPS: [(u32, u32); 16] = [
    (0x10, 2), // sh1add
    (0x10, 4), // sh2add
    (0x10, 6), // sh3add
    (0x20, 7), // andn
    (0x20, 6), // orn
    (0x20, 4), // xnor
    (0x05, 4), // min
    (0x05, 5), // minu
    (0x05, 6), // max
    (0x05, 7), // maxu
    (0x30, 1), // rol
    (0x30, 5), // ror
    (0x24, 1), // bclr
    (0x24, 5), // bext
    (0x34, 1), // binv
    (0x14, 1), // bset
];

/// Instructions of one operand, as `op_imm`: (funct3, immediate).
pub const UNARY: [(u32, i32); 7] = [
    (1, 0x600), // clz
    (1, 0x601), // ctz
    (1, 0x602), // cpop
    (1, 0x604), // sext.b
    (1, 0x605), // sext.h
    (5, 0x287), // orc.b
    (5, 0x698), // rev8
];

/// Shifts and single-bit instructions with an immediate: (funct3, immediate without the amount).
pub const SHIFTS: [(u32, i32); 8] = [
    (1, 0x000), // slli
    (5, 0x000), // srli
    (5, 0x400), // srai
    (5, 0x600), // rori
    (1, 0x480), // bclri
    (5, 0x480), // bexti
    (1, 0x680), // binvi
    (1, 0x280), // bseti
];

/// The half-word zero extension, a register-register code with its second operand 0.
pub fn zext_h(rd: u32, a: u32) -> u32 {
    op((0x04, 4), rd, a, 0)
}

/// funct5 of the AMOs.
pub const AMOS: [u32; 9] = [0x00, 0x01, 0x04, 0x08, 0x0C, 0x10, 0x14, 0x18, 0x1C];
/// funct5 of the load-reserved.
pub const LR: u32 = 2;
/// funct5 of the store-conditional.
pub const SC: u32 = 3;

/// An atomic: `rd` = memory at `a`, which gets the operation with `b`.
pub fn amo(funct5: u32, rd: u32, a: u32, b: u32) -> u32 {
    funct5 << 27 | b << 20 | a << 15 | 2 << 12 | rd << 7 | 0x2F
}

pub const FENCE_I: u32 = 0x0000_100F;
