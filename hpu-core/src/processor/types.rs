//! Structures between the processor and its cluster.

use spindle_contract::memory_map::WATCHDOG_BITS;
use spindle_verilog::prelude::*;

/// A task that an HPU can start: everything but its regions, which are in the region table.
#[derive(LogicStruct, Copy, Clone, Debug, Default, PartialEq)]
pub struct Launch {
    /// Entry point as a program counter: see [`stages`](super::stages).
    pub entry: Bits<17>,
    /// Its block of instruction memory, of `CODE_ALIGN` bytes.
    pub block: Bits<9>,
    /// First argument: the task page, or the dropped bytes of a completion handler.
    pub a0: Bits<32>,
    /// A completion handler: a1 = `flow_control`, a2 = state; else a1 = state.
    pub completes: Bit,
    /// Second argument of a completion handler.
    pub flow_control: Bit,
    /// Where the image begins in instruction memory, in units of `CODE_ALIGN`; the offset in the image is OR-ed in.
    pub code_base: Bits<9>,
    /// Words of code.
    pub code_size: Bits<15>,
    /// Cycle budget.
    pub watchdog: Bits<WATCHDOG_BITS>,
    /// It is 0 or 1.
    pub no_budget: Bit,
    /// Frame sequence number, the tag of trace points.
    pub frame: Bits<16>,
}

/// Where an access goes once its region is known.
#[derive(LogicState, Copy, Clone, Debug, PartialEq)]
pub enum Target {
    /// No region: a fault. First, so that an entry of zeros is no region.
    Nowhere,
    /// Packet slot, stack, scratchpad or task page.
    L1,
    /// Context memory.
    L2,
    /// Command port.
    Command,
    /// Instruction memory, through its data port.
    Code,
}

/// An entry of the region table.
#[derive(LogicStruct, Copy, Clone, Debug, Default, PartialEq)]
pub struct Region {
    /// Where the region lies.
    pub target: Target,
    /// Physical address, a multiple of 16, OR-ed to the offset.
    pub base: Bits<20>,
    /// Bytes.
    pub bound: Bits<21>,
    /// Loads are allowed.
    pub readable: Bit,
    /// Stores and atomics are allowed.
    pub writable: Bit,
}

/// An access of one half port of L1.
#[derive(LogicStruct, Copy, Clone, Debug, Default, PartialEq)]
pub struct WordRequest {
    /// Address bits 15:3; bit 2 is the half port.
    pub row: Bits<13>,
    /// Of a write: address bits 2:0 of the store, of whose bytes those in this half port's word are meant.
    pub offset: Bits<3>,
    /// Its bytes less one: 0, 1, 3.
    pub size_less_one: Bits<2>,
    /// Data of the store, right-aligned: L1 moves it to its lanes once for all HPUs.
    pub data: Bits<32>,
    /// The address is in a scratchpad: a write there ends reservations.
    pub shared: Bit,
    /// It is a write: known before the rest is, since the grants of the whole cluster wait for it.
    pub write: Bit,
}

/// An access that leaves the cluster's fast path: L2, and the atomics of L1.
#[derive(LogicStruct, Copy, Clone, Debug, Default, PartialEq)]
pub struct RemoteRequest {
    /// Hardware thread, named by the answer.
    pub thread: Bit,
    /// L2, not L1.
    pub to_l2: Bit,
    /// A store: posted, its answer only says that it is done.
    pub write: Bit,
    /// AMO, LR or SC.
    pub atomic: Bit,
    /// funct5 of the atomic.
    pub operation: Bits<5>,
    /// Physical byte address; of any alignment for loads and stores.
    pub address: Bits<20>,
    /// Bytes less one: 0, 1, 3.
    pub size_less_one: Bits<2>,
    /// Data of a store, right-aligned, or the operand of an atomic.
    pub data: Bits<32>,
}

/// The answer to a [`RemoteRequest`].
#[derive(LogicStruct, Copy, Clone, Debug, Default, PartialEq)]
pub struct RemoteAnswer {
    /// Hardware thread.
    pub thread: Bit,
    /// To a store.
    pub write: Bit,
    /// The word read, right-aligned, bytes beyond the size undefined; SC: 0 = stored, 1 = not.
    pub data: Bits<32>,
}

/// An access of the command port: aligned words only.
#[derive(LogicStruct, Copy, Clone, Debug, Default, PartialEq)]
pub struct PortAccess {
    /// Hardware thread.
    pub thread: Bit,
    /// Its bank.
    pub bank: Bits<2>,
    /// Address bits 5:2.
    pub word: Bits<4>,
    /// Data to write.
    pub data: Bits<32>,
}

/// The end of a handler. The report of a fault is made of it once for all clusters, by
/// [`report_of`](crate::types::report_of); the [`reporter`](crate::cluster::reporter) chooses among the clocks of all
/// threads of a cluster.
#[derive(LogicStruct, Copy, Clone, Debug, Default, PartialEq)]
pub struct Ending {
    /// Its bank.
    pub bank: Bits<2>,
    /// Return code, `a0[7:0]`.
    pub code: Bits<8>,
    /// Ended by a fault.
    pub fault: Bit,
    /// Cause.
    pub cause: Bits<4>,
    /// Program counter of the instruction that faulted, as in [`stages`](super::stages).
    pub pc: Bits<17>,
    /// Address of its access or target of its jump.
    pub sum: Bits<32>,
    /// It jumped to `sum`, where the handler cannot continue.
    pub stray: Bit,
    /// Its access faulted.
    pub of_access: Bit,
    /// Hardware thread of the handler.
    pub thread: Bit,
    /// The first thread's clock: for an ending of that thread, the cycles from the first fetch to the end.
    pub first_cycles: Bits<WATCHDOG_BITS>,
    /// The second thread's.
    pub second_cycles: Bits<WATCHDOG_BITS>,
    /// Instructions that retired before the one that returned or faulted.
    pub instructions: Bits<WATCHDOG_BITS>,
}

/// One retired instruction: the RISC-V formal interface (RVFI, <https://github.com/SymbioticEDA/riscv-formal>), one
/// channel, with the hardware thread beside it. `order` counts per thread.
#[derive(LogicStruct, Copy, Clone, Debug, Default, PartialEq)]
pub struct Rvfi {
    /// An instruction retires.
    pub valid: Bit,
    /// Number of the instruction in its thread since reset.
    pub order: Bits<64>,
    /// The instruction.
    pub insn: Bits<32>,
    /// It faulted.
    pub trap: Bit,
    /// The handler ended with it.
    pub halt: Bit,
    /// It is the first of a handler.
    pub intr: Bit,
    /// Privilege, always 3.
    pub mode: Bits<2>,
    /// XLEN, always 1.
    pub ixl: Bits<2>,
    /// Hardware thread.
    pub thread: Bit,
    /// First source register, 0 = none.
    pub rs1_addr: Bits<5>,
    /// Second source register.
    pub rs2_addr: Bits<5>,
    /// Its value.
    pub rs1_rdata: Bits<32>,
    /// Its value.
    pub rs2_rdata: Bits<32>,
    /// Destination, 0 = none.
    pub rd_addr: Bits<5>,
    /// Its value.
    pub rd_wdata: Bits<32>,
    /// Address of the instruction.
    pub pc_rdata: Bits<32>,
    /// Address of the next one.
    pub pc_wdata: Bits<32>,
    /// Virtual address of the access.
    pub mem_addr: Bits<32>,
    /// Bytes read, from `mem_addr` on.
    pub mem_rmask: Bits<4>,
    /// Bytes written.
    pub mem_wmask: Bits<4>,
    /// Data read.
    pub mem_rdata: Bits<32>,
    /// Data written.
    pub mem_wdata: Bits<32>,
    /// Cycles since the last one of the instruction in D. This field and the next two are no part of RVFI.
    pub since_decode: Bits<32>,
    /// Cycles since the last one in X.
    pub since_execute: Bits<32>,
    /// Cycles since the last one in M1.
    pub since_memory: Bits<32>,
}
