//! Instruction fields and immediates of RV32, as pure functions.

use spindle_verilog::prelude::*;

/// Major opcodes (bits 6..2).
pub mod major {
    /// Loads.
    pub const LOAD: u64 = 0x00;
    /// FENCE.
    pub const MISC_MEM: u64 = 0x03;
    /// Register-immediate.
    pub const OP_IMM: u64 = 0x04;
    /// AUIPC.
    pub const AUIPC: u64 = 0x05;
    /// Stores.
    pub const STORE: u64 = 0x08;
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
    /// SYSTEM.
    pub const SYSTEM: u64 = 0x1C;
}

/// The immediate of an instruction, by its format.
#[hdl_fn]
pub fn immediate(word: Bits<32>) -> Bits<32> {
    let opcode = word.get_bits::<5>(2);
    let i = sext::<32, 12>(word.get_bits::<12>(20));
    let s = sext::<32, 12>((word.get_bits::<7>(25), word.get_bits::<5>(7)).cat::<12>());
    let b = sext::<32, 13>(
        (word.get_bits::<1>(31), word.get_bits::<1>(7), word.get_bits::<6>(25), word.get_bits::<4>(8), bits::<1>(0))
            .cat::<13>(),
    );
    let u = (word.get_bits::<20>(12), bits::<12>(0)).cat::<32>();
    let j = sext::<32, 21>(
        (word.get_bits::<1>(31), word.get_bits::<8>(12), word.get_bits::<1>(20), word.get_bits::<10>(21), bits::<1>(0))
            .cat::<21>(),
    );
    if opcode == major::STORE {
        s
    } else if opcode == major::BRANCH {
        b
    } else if (opcode == major::LUI) | (opcode == major::AUIPC) {
        u
    } else if opcode == major::JAL {
        j
    } else {
        i
    }
}

/// Whether the word is an instruction that this processor executes: RV32IM, FENCE, and reads of cycle, time, instret.
#[hdl_fn]
pub fn is_legal(word: Bits<32>) -> Bit {
    let opcode = word.get_bits::<5>(2);
    let f3 = word.get_bits::<3>(12);
    let f7 = word.get_bits::<7>(25);
    let plain = f7 == 0;
    let alternate = f7 == 0x20;
    let counter = word.get_bits::<12>(20);
    // cycle, time, instret and their high halves.
    let is_counter = ((counter & 0xF7C) == 0xC00) & ((counter & 3) != 3);
    let known = if opcode == major::OP {
        plain | (f7 == 1) | (alternate & ((f3 == 0) | (f3 == 5)))
    } else if opcode == major::OP_IMM {
        if f3 == 1 {
            plain
        } else if f3 == 5 {
            plain | alternate
        } else {
            true
        }
    } else if opcode == major::LOAD {
        (f3 != 3) & (f3 < 6)
    } else if opcode == major::STORE {
        f3 < 3
    } else if opcode == major::BRANCH {
        (f3 != 2) & (f3 != 3)
    } else if opcode == major::JALR {
        f3 == 0
    } else if opcode == major::MISC_MEM {
        f3 == 0
    } else if opcode == major::SYSTEM {
        (f3 == 2) & (word.get_bits::<5>(15) == 0) & is_counter
    } else {
        (opcode == major::LUI) | (opcode == major::AUIPC) | (opcode == major::JAL)
    };
    known & (word.get_bits::<2>(0) == 3)
}
