//! The decoder of RV32IMA, Zicsr (counters, read only), Zifencei, Zba, Zbb and Zbs.

use super::alu::*;
use super::bit_unit::BitControl;
use super::byte_lanes::one_of_four;
use super::stages::Traits;
use spindle_verilog::prelude::*;

/// A decoded instruction. Of an illegal word only `traits.illegal` and `traits.breaks` mean anything: the rest may be that of any instruction.
#[derive(LogicStruct, Copy, Clone, Debug, Default, PartialEq)]
pub struct Decoded {
    /// What executes it.
    pub traits: Traits,
    /// Register that it writes, 0 = none.
    pub rd: Bits<5>,
    /// First register that it reads, 0 = none.
    pub rs1: Bits<5>,
    /// Second register that it reads, 0 = none.
    pub rs2: Bits<5>,
    /// `rs1` if it reads one: a field of the word, which is there before the instruction is understood.
    pub find_a: Bits<5>,
    /// It does.
    pub reads_a: Bit,
    /// `rs2` if it reads one, as early.
    pub find_b: Bits<5>,
    /// It does.
    pub reads_b: Bit,
    /// Address, or target of JAL and JALR, less the first operand; 0 for atomics. The number of a counter, too.
    pub offset: Bits<32>,
    /// Target of a branch or JAL less the program counter, halved.
    pub distance: Bits<17>,
    /// Operand a is the program counter: AUIPC, JAL.
    pub a_is_pc: Bit,
    /// Operand a is 0: LUI.
    pub a_is_zero: Bit,
    /// What operand b is, one of `SECOND_*`.
    pub second: Bits<2>,
    /// Of the immediates, that of LUI and AUIPC.
    pub upper: Bit,
    /// Bits 31:12, of which the immediate is made.
    pub field: Bits<20>,
    /// Bits 14:12.
    pub funct3: Bits<3>,
    /// Bits 31:27.
    pub funct5: Bits<5>,
    /// REV8, if it is a shift or rotation.
    pub reverses: Bit,
    /// For the ALU: a + b unless it is an instruction of the ALU or a branch, b for links and counters.
    pub alu: AluControl,
    /// For the bit unit.
    pub unit: BitControl,
}

/// `second`: a register, or nothing.
pub const SECOND_REGISTER: u64 = 0;
/// `second`: the immediate of OP-IMM, LUI and AUIPC.
pub const SECOND_IMMEDIATE: u64 = 1;
/// `second`: the address of the next instruction.
pub const SECOND_LINK: u64 = 2;
/// `second`: a counter or a constant, whose number is the low 12 bits of the offset.
pub const SECOND_COUNTER: u64 = 3;

/// Operand b, if it is no register's. Of the upper 20 bits and of the lower 12 each is one of four: an upper immediate is 0 below.
#[hdl_fn]
pub fn second_operand(decoded: Decoded, link: Bits<32>, counter: Bits<32>) -> Bits<32> {
    let takes = decoded.second == SECOND_IMMEDIATE;
    let links = decoded.second == SECOND_LINK;
    let reads = decoded.second == SECOND_COUNTER;
    let short = (takes & !decoded.upper) | reads;
    let immediate = sext::<32, 12>(decoded.field.get_bits::<12>(8));
    let above = (decoded.field, bits::<12>(0)).cat::<32>();
    let upper = one_of_four(((takes & decoded.upper) | reads, short).cat::<2>(), link, immediate, above, counter);
    let lower = one_of_four((links | reads, short).cat::<2>(), bits::<32>(0), immediate, link, counter);
    (upper.get_bits::<20>(12), lower.get_bits::<12>(0)).cat::<32>()
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

/// What is added to the first operand: I, S, J, nothing for atomics. Of the opcodes that use it bit 3 is set in JAL and AMO, bit 6 not in AMO, and bits
/// 6:5 are 1 in STORE alone.
#[hdl_fn]
fn offset(word: Bits<32>) -> Bits<32> {
    let sign = word.get_bit(31);
    let jumps = word.get_bit(3);
    let nothing = jumps & !word.get_bit(6);
    let stores = word.get_bit(5) & !word.get_bit(6);
    let low =
        if stores { word.get_bits::<5>(7) } else { (word.get_bits::<4>(21), word.get_bit(20) & !jumps).cat::<5>() };
    let whole = (
        repeat::<12>(sign),
        if jumps { word.get_bits::<8>(12) } else { repeat::<8>(sign) },
        if jumps { word.get_bit(20) } else { sign },
        word.get_bits::<6>(25),
        low,
    )
        .cat::<32>();
    if nothing {
        bits::<32>(0)
    } else {
        whole
    }
}

/// How far a branch (B) or JAL (J) goes, in half words: bit 3 tells them apart. What lies further away than the code may be is not here.
#[hdl_fn]
fn distance(word: Bits<32>) -> Bits<17> {
    let jumps = word.get_bit(3);
    (
        if jumps { word.get_bits::<6>(12) } else { repeat::<6>(word.get_bit(31)) },
        if jumps { word.get_bit(20) } else { word.get_bit(7) },
        word.get_bits::<6>(25),
        if jumps { word.get_bits::<4>(21) } else { word.get_bits::<4>(8) },
    )
        .cat::<17>()
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

/// What executes the word, from as few bits as tell the instructions apart: whether it is one is found beside it.
#[hdl_fn]
fn traits_of(word: Bits<32>) -> Traits {
    let opcode = word.get_bits::<5>(2);
    let f3 = word.get_bits::<3>(12);
    let register = opcode == major::OP;
    let immediate = opcode == major::OP_IMM;
    let load = opcode == major::LOAD;
    let store = opcode == major::STORE;
    let atomic = opcode == major::AMO;
    let fences = opcode == major::MISC_MEM;
    let branches = opcode == major::BRANCH;
    let to_register = opcode == major::JALR;
    let long = register & word.get_bit(25) & !word.get_bit(27);
    // Of the unary instructions with one shift's funct7 those that do not extend.
    let counts = immediate & (f3 == 1) & word.get_bits::<2>(29).all() & !word.get_bit(27) & !word.get_bit(22);
    let bits_unit = counts | (register & word.get_bit(25) & word.get_bit(27));
    let upper = (opcode == major::LUI) | (opcode == major::AUIPC);
    let illegal = !executes(word);
    Traits {
        load: load,
        store: store,
        atomic: atomic,
        accesses: load | store | atomic,
        jumps: (opcode == major::JAL) | to_register,
        to_register: to_register,
        branches: branches,
        multiplies: long & !f3.get_bit(2),
        divides: long & f3.get_bit(2),
        bits_unit: bits_unit,
        fences: fences,
        refetches: fences & f3.get_bit(0),
        illegal: illegal,
        breaks: (opcode == major::SYSTEM) & breaks(word),
        late: load | atomic | long | bits_unit,
        plain: (upper | immediate | (register & !(long & f3.get_bit(2))) | branches) & !illegal,
    }
}

/// Whether a word of OP-IMM is REV8.
#[hdl_fn]
fn reverses(word: Bits<32>) -> Bit {
    (word.get_bits::<3>(12) == 5) & word.get_bits::<2>(29).all() & word.get_bit(27)
}

/// The ALU's control for OP (`register`) and OP-IMM.
#[hdl_fn]
fn arithmetic(word: Bits<32>, register: Bit) -> AluControl {
    let f3 = word.get_bits::<3>(12);
    let shifts = f3.get_bits::<2>(0) == 1;
    // Bits 29, 30 and 27 tell the extensions' instructions apart.
    let set = word.get_bit(29);
    let other = word.get_bit(30);
    let single = word.get_bit(27);
    let shift_add = register & set & !f3.get_bit(0);
    let subtract = (f3 == 0) & register & other;
    let compare = (f3.get_bits::<2>(1) == 1) & !shift_add;
    // BSET, BCLR, BINV.
    let one_bit = (f3 == 1) & single;
    let zext_h = (f3 == 4) & register & single;
    let sext = (f3 == 1) & !register & set & other & !single;
    let orc_b = (f3 == 5) & set & !other & single;
    let rev8 = reverses(word);
    let bext = (f3 == 5) & !set & other & single;
    let half = word.get_bit(20);
    let plain = shifts & !single & !sext;
    // The bit unit takes the ALU's comparison for MIN and MAX; what else has bit 27 does not use the adder.
    let compares = compare | (register & single);
    AluControl {
        shift_add: if shift_add { f3.get_bits::<2>(1) } else { bits::<2>(0) },
        invert: subtract | compares,
        alone: false,
        pick: if shift_add {
            bits::<2>(PICK_SUM)
        } else if f3 == 0 {
            (bits::<1>(0), subtract).cat::<2>()
        } else if plain | bext | rev8 {
            bits::<2>(PICK_MASKED)
        } else {
            bits::<2>(PICK_BITWISE)
        },
        less: compare,
        unsigned: f3.get_bit(0),
        logic: if shifts {
            if one_bit {
                if set & other {
                    bits::<2>(LOGIC_FLIP)
                } else {
                    bits::<2>(LOGIC_SET)
                }
            } else {
                bits::<2>(LOGIC_FILL)
            }
        } else if zext_h | compare {
            bits::<2>(LOGIC_FILL)
        } else if f3.get_bit(1) {
            bits::<2>(LOGIC_BOTH)
        } else {
            bits::<2>(LOGIC_FLIP)
        },
        // BCLR; XOR and OR.
        second: if shifts { one_bit & !set } else { f3.get_bit(2) & !f3.get_bits::<2>(0).all() & !zext_h },
        whole: (plain & set) | rev8 | (!shifts & register & other),
        shift: plain & !set,
        one_hot: one_bit,
        single: bext,
        extend: zext_h | sext,
        narrow: sext & !half,
        signed: sext,
        arithmetic: plain & !set & other,
        bytes: orc_b,
        left: f3 == 1,
    }
}

/// Decoder: combinational.
///
/// | ports | meaning |
/// |---|---|
/// | in `word` | the instruction |
/// | out `decoded` | what it means |
///
/// `traits.illegal` is exact: a word of no listed instruction, or one with a reserved field. Fields of FENCE and FENCE.I are free, as the
/// specification asks of simple implementations.
///
/// 156 LUT6 on UltraScale+, 5 levels on 7 series (yosys, the block alone).
#[derive(LogicBlock, Default)]
pub struct Decoder {
    /// The instruction.
    pub word: Signal<In, Bits<32>>,
    /// What it means.
    pub decoded: Signal<Out, Decoded>,
}

impl Logic for Decoder {
    #[hdl]
    fn update(&mut self) {
        let word = self.word.val();
        let opcode = word.get_bits::<5>(2);
        let f3 = word.get_bits::<3>(12);
        let register = opcode == major::OP;
        let upper = (opcode == major::LUI) | (opcode == major::AUIPC);
        let jumps = opcode == major::JAL;
        let branches = opcode == major::BRANCH;
        let stores = opcode == major::STORE;
        let atomic = opcode == major::AMO;
        let fence = opcode == major::MISC_MEM;
        let system = opcode == major::SYSTEM;
        let none: Bits<5> = bits::<5>(0);

        self.decoded.next.traits = traits_of(word);
        self.decoded.next.rd = if stores | branches | fence { none } else { word.get_bits::<5>(7) };
        let find_a = word.get_bits::<5>(15);
        let reads_a = !(upper | jumps | fence | system);
        self.decoded.next.rs1 = if reads_a { find_a } else { none };
        self.decoded.next.find_a = find_a;
        self.decoded.next.reads_a = reads_a;
        let find_b = word.get_bits::<5>(20);
        let reads_b = register | stores | branches | atomic;
        self.decoded.next.rs2 = if reads_b { find_b } else { none };
        self.decoded.next.find_b = find_b;
        self.decoded.next.reads_b = reads_b;
        self.decoded.next.offset = offset(word);
        self.decoded.next.distance = distance(word);
        self.decoded.next.a_is_pc = (opcode == major::AUIPC) | jumps;
        self.decoded.next.a_is_zero = opcode == major::LUI;
        // Of a word that has none of these it does not matter.
        let links = word.get_bit(6) & word.get_bit(2);
        let short = word.get_bit(4) & !word.get_bit(5);
        let counts = word.get_bit(6) & word.get_bit(4);
        let upper = word.get_bit(2);
        let takes = (short | (word.get_bit(4) & upper)) & !word.get_bit(6);
        self.decoded.next.second = (links | counts, takes | counts).cat::<2>();
        self.decoded.next.upper = upper;
        self.decoded.next.field = word.get_bits::<20>(12);
        self.decoded.next.funct3 = f3;
        self.decoded.next.funct5 = word.get_bits::<5>(27);
        self.decoded.next.reverses = reverses(word);
        self.decoded.next.alu = if register | (opcode == major::OP_IMM) {
            arithmetic(word, register)
        } else {
            AluControl { invert: branches, alone: links | counts, ..Default::default() }
        };
        self.decoded.next.unit = BitControl {
            count: !f3.get_bit(2),
            ones: word.get_bit(21),
            second: if f3.get_bit(2) { f3.get_bit(1) } else { word.get_bit(20) },
            unsigned: f3.get_bit(0),
        };
    }
}
