//! The registers between the pipeline's stages.
//!
//! A program counter is kept as `Bits<17>`: the byte offset in the image, halved and signed. Bit 0 is set by a jump to
//! an address that is not a multiple of four, bit 16 by one before the image; both only ever stand in a slot that
//! faults.

use super::alu::AluControl;
use super::bit_unit::BitControl;
use spindle_contract::memory_map::{base, CODE};
use spindle_contract::params::CODE_ALIGN;
use spindle_verilog::prelude::*;

/// Bits 31:17 of an address in code.
pub const CODE_TOP: u64 = base(CODE) as u64 >> 17;

/// The address that a program counter stands for.
#[hdl_fn]
pub fn address_of(pc: Bits<17>) -> Bits<32> {
    let negative = pc.get_bit(16);
    (bits::<3>(0), !negative, repeat::<10>(negative), pc, bits::<1>(0)).cat::<32>()
}

/// The same of an instruction that executes: it is in the image.
#[hdl_fn]
pub fn address_in_code(pc: Bits<17>) -> Bits<32> {
    (bits::<15>(0x0800), pc.get_bits::<16>(0), bits::<1>(0)).cat::<32>()
}

/// An instruction in X, without its operands.
#[derive(LogicStruct, Copy, Clone, Debug, Default, PartialEq)]
pub struct Issued {
    /// Register that it writes.
    pub rd: Bits<5>,
    /// Bits 14:12.
    pub funct3: Bits<3>,
    /// Bits 31:27.
    pub funct5: Bits<5>,
    /// Its program counter.
    pub pc: Bits<17>,
    /// Its block of instruction memory.
    pub block: Bits<9>,
    /// It was fetched from outside the code.
    pub outside: Bit,
    /// Its successor was fetched from `predicted_target`.
    pub predicted: Bit,
    /// Word offset in the image.
    pub predicted_target: Bits<14>,
    /// The prediction is a sure one.
    pub sure: Bit,
    /// Not an instruction: it carries an answer or a first argument to its register.
    pub micro: Bit,
    /// What is added to the first operand.
    pub offset: Bits<32>,
    /// That of a load or store, plus 4.
    pub next_offset: Bits<13>,
    /// That of a JALR is 0.
    pub no_offset: Bit,
    /// Where a branch or JAL goes.
    pub target: Bits<17>,
    /// For the ALU.
    pub alu: AluControl,
    /// For the bit unit.
    pub unit: BitControl,
    /// Its class.
    pub traits: Traits,
}

/// An instruction in M1.
#[derive(LogicStruct, Copy, Clone, Debug, Default, PartialEq)]
pub struct Executed {
    /// Register that it writes.
    pub rd: Bits<5>,
    /// Bits 14:12.
    pub funct3: Bits<3>,
    /// Bits 31:27.
    pub funct5: Bits<5>,
    /// Its program counter.
    pub pc: Bits<17>,
    /// Its block of instruction memory.
    pub block: Bits<9>,
    /// The next one.
    pub after: Bits<17>,
    /// It was fetched from outside the code.
    pub outside: Bit,
    /// See [`Issued`].
    pub predicted: Bit,
    /// See [`Issued`].
    pub sure: Bit,
    /// See [`Issued`].
    pub micro: Bit,
    /// It is a jump, or a branch whose condition holds.
    pub taken: Bit,
    /// Where it goes then, but for a JALR, which goes to `sum`.
    pub target: Bits<17>,
    /// That is not `predicted_target`. Of a JALR with an offset this is not known: always set.
    pub target_missed: Bit,
    /// It ends the handler: a JALR without offset to the return address.
    pub exits: Bit,
    /// a + immediate: address of an access, target of JAL and JALR.
    pub sum: Bits<32>,
    /// Second operand: what is stored.
    pub b: Bits<32>,
    /// Its class.
    pub traits: Traits,
}

/// Class of an instruction, decoded in D.
#[derive(LogicStruct, Copy, Clone, Debug, Default, PartialEq)]
pub struct Traits {
    /// Load.
    pub load: Bit,
    /// Store.
    pub store: Bit,
    /// Atomic.
    pub atomic: Bit,
    /// One of these three.
    pub accesses: Bit,
    /// JAL or JALR.
    pub jumps: Bit,
    /// JALR.
    pub to_register: Bit,
    /// Conditional branch.
    pub branches: Bit,
    /// Multiplication.
    pub multiplies: Bit,
    /// Division.
    pub divides: Bit,
    /// The bit unit's.
    pub bits_unit: Bit,
    /// FENCE or FENCE.I.
    pub fences: Bit,
    /// FENCE.I.
    pub refetches: Bit,
    /// No instruction, or one that only faults: the other traits may be those of any.
    pub illegal: Bit,
    /// ECALL or EBREAK.
    pub breaks: Bit,
    /// Its result, if it has one, is not there in X.
    pub late: Bit,
    /// It can neither fault nor wait nor end the handler.
    pub plain: Bit,
}

/// The result of an instruction after D, for forwarding.
#[derive(LogicStruct, Copy, Clone, Debug, Default, PartialEq)]
pub struct Producer {
    /// It writes `rd`, which is not register 0.
    pub writes: Bit,
    /// `value` is the result.
    pub ready: Bit,
    /// Register.
    pub rd: Bits<5>,
    /// Value.
    pub value: Bits<32>,
}

/// Reason of a blocked thread.
#[derive(LogicState, Copy, Clone, Debug, PartialEq)]
pub enum Wait {
    /// The answer to a remote request, which is then injected.
    Answer,
    /// The divider's result, which is then injected.
    Quotient,
    /// The divider is busy with the other thread.
    Divider,
    /// Commands are in flight.
    Commands,
    /// No handle of the command port is free.
    Handle,
}

/// A fault or a wait, resolved in the cycle after M1 found it.
#[derive(LogicStruct, Copy, Clone, Debug, Default, PartialEq)]
pub struct Trap {
    /// The handler ends; else its thread waits.
    pub fault: Bit,
    /// Cause of the fault.
    pub cause: Bits<4>,
    /// Program counter of the instruction.
    pub pc: Bits<17>,
    /// The fault is a jump's: `address`, not `pc`, is where it was to continue.
    pub stray: Bit,
    /// The fault is one of an access, at `address`.
    pub of_access: Bit,
    /// Sum of the instruction; of a JALR with bit 0 clear, which makes it the target.
    pub address: Bits<32>,
    /// The instruction takes no effect now: the thread continues with it, not after it.
    pub again: Bit,
    /// Reason of the wait.
    pub reason: Wait,
    /// Register that the answer goes to.
    pub rd: Bits<5>,
    /// How the answer is extended, as funct3 of a load.
    pub funct3: Bits<3>,
}

// The widths of the next two functions, and of all that holds a block.
const _: () = assert!(CODE_ALIGN == 1 << 7, "an image begins with a block of instruction memory");

/// The block of instruction memory, of `CODE_ALIGN` bytes, in which a program counter is, in an image that begins with
/// `base`.
#[hdl_fn]
pub fn block_in_code(pc: Bits<17>, base: Bits<9>) -> Bits<9> {
    pc.get_bits::<9>(6) | base
}

/// The word of instruction memory at a program counter in this block.
#[hdl_fn]
pub fn word_of(pc: Bits<17>, block: Bits<9>) -> Bits<14> {
    (block, pc.get_bits::<5>(1)).cat::<14>()
}

/// The code of a handler.
#[derive(LogicStruct, Copy, Clone, Debug, Default, PartialEq)]
pub struct Code {
    /// Where the image begins in instruction memory, in units of `CODE_ALIGN`.
    pub base: Bits<9>,
    /// Words.
    pub size: Bits<15>,
    /// See [`Launch`](super::types::Launch).
    pub completes: Bit,
    /// See [`Launch`](super::types::Launch).
    pub flow_control: Bit,
}
