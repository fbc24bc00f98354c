//! RV32IM instruction words.

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
