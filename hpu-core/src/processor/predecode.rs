//! Predecoding: the form in which instruction memory stores a word, which leaves little to decode when it is fetched.
//!
//! A word of an image is written once and fetched very often. On its way into instruction memory a word that is an
//! instruction gets an operation in place of its opcode, and two marks beside it. Bits 31:7 stay as they are.
//!
//! | `legal` | `other` | bits 6:0 |
//! |---|---|---|
//! | 0 | ECALL or EBREAK | as in the image: no instruction, or constants |
//! | 1 | 0 | {reads rs2, [`operation`] of the ALU}: OP and OP-IMM |
//! | 1 | 1 | one of the other [`operation`]s |
//!
//! The operations are chosen so that nearly every output of the decoder is one of their bits or a function of six of
//! them. No word is lost: [`image_word`] is the word of the image, for loads from code and for the retirement port.

use spindle_verilog::prelude::*;

/// A word of code as instruction memory keeps it; see the module text.
#[derive(LogicStruct, Copy, Clone, Debug, Default, PartialEq)]
pub struct CodeWord {
    /// Bits 31:7 of the image, and the operation or the rest of the image's word.
    pub word: Bits<32>,
    /// With `legal` the operation is not the ALU's; without it the word is ECALL or EBREAK.
    pub other: Bit,
    /// The word is an instruction of this processor, and not one that only faults.
    pub legal: Bit,
}

/// Major opcodes (bits 6:2).
pub mod major {
    /// Loads.
    pub const LOAD: u64 = 0x00;
    /// FENCE, FENCE.I.
    pub const MISC_MEM: u64 = 0x03;
    /// Register-immediate.
    pub const OP_IMM: u64 = 0x04;
    /// AUIPC.
    pub const AUIPC: u64 = 0x05;
    /// Stores.
    pub const STORE: u64 = 0x08;
    /// Atomics.
    pub const AMO: u64 = 0x0B;
    /// Register-register.
    pub const OP: u64 = 0x0C;
    /// LUI.
    pub const LUI: u64 = 0x0D;
    /// Conditional branches.
    pub const BRANCH: u64 = 0x18;
    /// JALR.
    pub const JALR: u64 = 0x19;
    /// JAL.
    pub const JAL: u64 = 0x1B;
    /// ECALL, EBREAK, counters.
    pub const SYSTEM: u64 = 0x1C;
}

/// Operations: six bits for the ALU's, seven for the others.
///
/// | bits | of the ALU |
/// |---|---|
/// | 5:4 | `pick` of [`AluControl`](super::alu::AluControl); bit 4 is `invert`, too |
/// | 3:2 | of bitwise operations `logic`; 0 for shifts; of sums bit 2 is `alone`, and bit 3 says that it is no comparison |
/// | 1:0 | of sums and comparisons `shift_add`; else which one of those with the same bits above |
///
/// | bits | of the others |
/// |---|---|
/// | 6 | rs2 is read |
/// | 5:4 | 0 = the result is a sum, 1 = there is none, 2 and 3 = it comes late; bit 4 is `invert`, for branches and LEAST |
/// | 3 | JAL; branch; multiplication, division |
/// | 2 | `alone`: operand b is the result |
/// | 1 | load, store; counter |
/// | 0 | atomic; JALR |
pub mod operation {
    /// ADD; also of LUI, AUIPC, links and counters.
    pub const ADD: u64 = 0b00_0000;
    /// SH1ADD, SH2ADD, SH3ADD: this and the number of places.
    pub const SHIFT_ADD: u64 = 0b00_0000;
    /// SUB.
    pub const SUBTRACT: u64 = 0b01_1000;
    /// SLL, SRL.
    pub const SHIFT: u64 = 0b10_0000;
    /// SRA.
    pub const SHIFT_SIGNED: u64 = 0b10_0001;
    /// BEXT.
    pub const EXTRACT: u64 = 0b10_0010;
    /// ROL, ROR, REV8.
    pub const ROTATE: u64 = 0b10_0011;
    /// SLT, SLTU.
    pub const COMPARE: u64 = 0b11_0000;
    /// ORC.B.
    pub const OR_BYTES: u64 = 0b11_0001;
    /// ZEXT.H.
    pub const EXTEND: u64 = 0b11_0010;
    /// SEXT.B, SEXT.H.
    pub const EXTEND_SIGNED: u64 = 0b11_0011;
    /// BSET.
    pub const SET: u64 = 0b11_0100;
    /// BCLR.
    pub const CLEAR: u64 = 0b11_0110;
    /// BINV.
    pub const INVERT: u64 = 0b11_1000;
    /// XOR.
    pub const XOR: u64 = 0b11_1010;
    /// XNOR.
    pub const XNOR: u64 = 0b11_1011;
    /// AND.
    pub const AND: u64 = 0b11_1100;
    /// ANDN.
    pub const AND_NOT: u64 = 0b11_1101;
    /// OR.
    pub const OR: u64 = 0b11_1110;
    /// ORN.
    pub const OR_NOT: u64 = 0b11_1111;

    /// AUIPC.
    pub const AUIPC: u64 = 0b000_0000;
    /// LUI.
    pub const LUI: u64 = 0b000_0100;
    /// JALR.
    pub const JALR: u64 = 0b000_0101;
    /// A counter is read.
    pub const COUNTER: u64 = 0b000_0110;
    /// JAL.
    pub const JAL: u64 = 0b000_1100;
    /// FENCE, FENCE.I.
    pub const FENCE: u64 = 0b001_0000;
    /// Stores.
    pub const STORE: u64 = 0b101_0010;
    /// Conditional branches.
    pub const BRANCH: u64 = 0b101_1000;
    /// Loads.
    pub const LOAD: u64 = 0b010_0010;
    /// CLZ, CTZ, CPOP.
    pub const COUNT: u64 = 0b011_0000;
    /// Atomics.
    pub const ATOMIC: u64 = 0b110_0001;
    /// Division and remainder.
    pub const DIVIDE: u64 = 0b110_1000;
    /// MIN, MAX, MINU, MAXU.
    pub const LEAST: u64 = 0b111_0000;
    /// Multiplication.
    pub const MULTIPLY: u64 = 0b111_1000;
}

/// Whether a register-immediate instruction is one.
#[hdl_fn]
fn op_imm_known(funct3: Bits<3>, funct7: Bits<7>, low: Bits<5>) -> Bit {
    let shift = funct7 == 0;
    // BSETI, BCLRI, BINVI.
    let single = (funct7 == 0x14) | (funct7 == 0x24) | (funct7 == 0x34);
    // CLZ, CTZ, CPOP, SEXT.B, SEXT.H.
    let unary = (funct7 == 0x30) & ((low < 3) | (low == 4) | (low == 5));
    let right = shift | (funct7 == 0x20) | (funct7 == 0x30) | (funct7 == 0x24);
    let orc_b = (funct7 == 0x14) & (low == 7);
    let rev8 = (funct7 == 0x34) & (low == 0x18);
    match funct3.index() {
        1 => shift | single | unary,
        5 => right | orc_b | rev8,
        _ => true,
    }
}

/// Whether a register-register instruction is one.
#[hdl_fn]
fn op_known(funct3: Bits<3>, funct7: Bits<7>, rs2: Bits<5>) -> Bit {
    let f3 = funct3;
    match funct7.index() {
        // The base's; multiplication and division.
        0x00 | 0x01 => true,
        // SUB, SRA, ANDN, ORN, XNOR.
        0x20 => (f3 == 0) | f3.get_bit(2),
        // SH1ADD, SH2ADD, SH3ADD.
        0x10 => !f3.get_bit(0) & (f3 != 0),
        // ROL, ROR.
        0x30 => f3.get_bits::<2>(0) == 1,
        // ZEXT.H.
        0x04 => (f3 == 4) & (rs2 == 0),
        // MIN, MAX, MINU, MAXU.
        0x05 => f3.get_bit(2),
        // BSET, BINV.
        0x14 | 0x34 => f3 == 1,
        // BCLR, BEXT.
        0x24 => f3.get_bits::<2>(0) == 1,
        _ => false,
    }
}

/// Whether the word, known to be of SYSTEM, reads a counter, misa or mhartid, and writes none.
#[hdl_fn]
fn reads_csr(word: Bits<32>) -> Bit {
    let number = word.get_bits::<12>(20);
    // cycle, time, instret and their high halves.
    let counter = ((number & 0xF7C) == 0xC00) & (number.get_bits::<2>(0) != 3);
    // CSRRS, CSRRC, CSRRSI, CSRRCI of nothing.
    word.get_bit(13) & (word.get_bits::<5>(15) == 0) & (counter | (number == 0x301) | (number == 0xF14))
}

/// ECALL, EBREAK, of SYSTEM.
#[hdl_fn]
fn breaks(word: Bits<32>) -> Bit {
    (word.get_bits::<11>(21) == 0) & (word.get_bits::<13>(7) == 0) & word.get_bits::<2>(0).all()
}

/// Whether the word is an instruction of this processor, and not one that only faults.
#[hdl_fn]
fn executes(word: Bits<32>) -> Bit {
    let f3 = word.get_bits::<3>(12);
    let f7 = word.get_bits::<7>(25);
    let f5 = word.get_bits::<5>(27);
    let low = word.get_bits::<5>(20);
    // ADD, SWAP, SC, XOR, OR, AND, MIN, MAX, MINU, MAXU; LR has no second operand.
    let atomic = (f3 == 2) & ((f5.get_bits::<2>(0) == 0) | (f5 == 1) | (f5 == 3) | ((f5 == 2) & (low == 0)));
    let known = match word.get_bits::<5>(2).to_u64() {
        major::OP_IMM => op_imm_known(f3, f7, low),
        major::OP => op_known(f3, f7, low),
        major::LUI | major::AUIPC | major::JAL => true,
        major::LOAD => (f3.get_bits::<2>(0) != 3) & (f3 != 6),
        major::STORE => f3 < 3,
        major::AMO => atomic,
        major::BRANCH => f3.get_bits::<2>(1) != 1,
        major::JALR => f3 == 0,
        major::MISC_MEM => f3 < 2,
        major::SYSTEM => reads_csr(word),
        _ => false,
    };
    known & word.get_bits::<2>(0).all()
}

use operation as op;

/// Operation of the ALU for OP (`register`) and OP-IMM.
#[hdl_fn]
fn arithmetic(word: Bits<32>, register: Bit) -> Bits<6> {
    let right = word.get_bit(14);
    // Bits 29, 30 and 27 distinguish the extensions' instructions.
    let set = word.get_bit(29);
    let other = word.get_bit(30);
    let single = word.get_bit(27);
    let by_register = register & other;
    let one_bit = if set & other {
        bits::<6>(op::INVERT)
    } else if set {
        bits::<6>(op::SET)
    } else {
        bits::<6>(op::CLEAR)
    };
    let of_bytes = if set & other {
        bits::<6>(op::ROTATE)
    } else if set {
        bits::<6>(op::OR_BYTES)
    } else {
        bits::<6>(op::EXTRACT)
    };
    let unary = if right | register { bits::<6>(op::ROTATE) } else { bits::<6>(op::EXTEND_SIGNED) };
    let turned = if set & other {
        unary
    } else if other {
        bits::<6>(op::SHIFT_SIGNED)
    } else {
        bits::<6>(op::SHIFT)
    };
    let shifted = if !single {
        turned
    } else if right {
        of_bytes
    } else {
        one_bit
    };
    let or_op = if by_register { bits::<6>(op::OR_NOT) } else { bits::<6>(op::OR) };
    let and_op = if by_register { bits::<6>(op::AND_NOT) } else { bits::<6>(op::AND) };
    let xor_op = if by_register { bits::<6>(op::XNOR) } else { bits::<6>(op::XOR) };
    let xor_or_extend = if register & single { bits::<6>(op::EXTEND) } else { xor_op };
    let bitwise = match word.get_bits::<2>(12).index() {
        0 => xor_or_extend,
        2 => or_op,
        _ => and_op,
    };
    let sum = if by_register { bits::<6>(op::SUBTRACT) } else { bits::<6>(op::ADD) };
    let by_funct3 = match word.get_bits::<3>(12).index() {
        0 => sum,
        1 | 5 => shifted,
        2 | 3 => bits::<6>(op::COMPARE),
        _ => bitwise,
    };
    let shift_add = bits::<6>(op::SHIFT_ADD) | bit_cast::<6, 2>(word.get_bits::<2>(13));
    (if register & set & !word.get_bit(12) { shift_add } else { by_funct3 })
}

/// A word in the form of instruction memory.
#[hdl_fn]
pub fn predecode(word: Bits<32>) -> CodeWord {
    let legal = executes(word);
    let opcode = word.get_bits::<5>(2);
    let register = opcode == major::OP;
    let immediate = opcode == major::OP_IMM;
    let long = register & word.get_bit(25) & !word.get_bit(27);
    let least = register & word.get_bit(25) & word.get_bit(27);
    // Of the unary instructions with one shift's funct7 those that do not extend.
    let counts = immediate
        & (word.get_bits::<3>(12) == 1)
        & word.get_bits::<2>(29).all()
        & !word.get_bit(27)
        & !word.get_bit(22);
    let other = match opcode.to_u64() {
        major::OP_IMM => bits::<7>(op::COUNT),
        major::OP => {
            if least {
                bits::<7>(op::LEAST)
            } else if word.get_bit(14) {
                bits::<7>(op::DIVIDE)
            } else {
                bits::<7>(op::MULTIPLY)
            }
        }
        major::LUI => bits::<7>(op::LUI),
        major::AUIPC => bits::<7>(op::AUIPC),
        major::JAL => bits::<7>(op::JAL),
        major::JALR => bits::<7>(op::JALR),
        major::BRANCH => bits::<7>(op::BRANCH),
        major::LOAD => bits::<7>(op::LOAD),
        major::STORE => bits::<7>(op::STORE),
        major::AMO => bits::<7>(op::ATOMIC),
        major::MISC_MEM => bits::<7>(op::FENCE),
        _ => bits::<7>(op::COUNTER),
    };
    let of_alu = (register & !long & !least) | (immediate & !counts);
    let operation =
        if of_alu { (false, register, arithmetic(word, register)).cat::<8>() } else { (true, other).cat::<8>() };
    CodeWord {
        word: (word.get_bits::<25>(7), if legal { operation.get_bits::<7>(0) } else { word.get_bits::<7>(0) })
            .cat::<32>(),
        other: if legal { operation.get_bit(7) } else { (opcode == major::SYSTEM) & breaks(word) },
        legal,
    }
}

/// The word of the image.
#[hdl_fn]
pub fn image_word(code: CodeWord) -> Bits<32> {
    let word = code.word;
    let special = code.other;
    let late = special & word.get_bit(5);
    let early = special & !word.get_bit(5) & !word.get_bit(4);
    let between = special & !word.get_bit(5) & word.get_bit(4);
    let bit_6 = (early & (word.get_bit(0) | word.get_bit(1) | word.get_bit(3))) | (between & word.get_bit(3));
    let bit_5 = word.get_bit(6) | (early & word.get_bit(2));
    let bit_4 = !special | (early & !word.get_bit(3) & !word.get_bit(0)) | (late & !word.get_bits::<2>(0).any());
    let bit_3 = (early & word.get_bit(3)) | (between & !word.get_bit(6)) | (late & word.get_bit(0));
    let bit_2 = (early & !word.get_bit(1)) | (between & !word.get_bit(6)) | (late & word.get_bit(0));
    let low =
        if code.legal { (bit_6, bit_5, bit_4, bit_3, bit_2, true, true).cat::<7>() } else { word.get_bits::<7>(0) };
    (word.get_bits::<25>(7), low).cat::<32>()
}
