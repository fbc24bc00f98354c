//! Bundles of the handler processor: its ports towards the cluster, then those between its stages.

use super::predecode::CodeWord;
use super::stages::Producer;
use super::store_buffer::{Leaving, STORE_ENTRIES};
use super::types::{PortAccess, Region, WordRequest};
use spindle_verilog::prelude::*;

/// Fetches of instruction memory.
#[bundle(mirror = FetchPortSink)]
pub struct FetchPort {
    /// Word to fetch.
    pub address: Signal<Out, Bits<14>>,
    /// Both stages of the memory advance.
    pub enable: Signal<Out, Bit>,
    /// The word, two edges later.
    pub data: Signal<In, CodeWord>,
}

/// Loads from instruction memory.
#[bundle(mirror = CodePortSink)]
pub struct CodePort {
    /// Word to load.
    pub address: Signal<Out, Bits<14>>,
    /// A load is offered.
    pub valid: Signal<Out, Bit>,
    /// The load is granted.
    pub ready: Signal<In, Bit>,
    /// The word, two cycles after the grant.
    pub data: Signal<In, Bits<32>>,
}

/// A half port of L1: words whose address bit 2 is 0, or those in which it is 1.
#[bundle(mirror = WordPortSink)]
pub struct WordPort {
    /// The access.
    pub payload: Signal<Out, WordRequest>,
    /// The access is offered.
    pub valid: Signal<Out, Bit>,
    /// A store waits for the half port; it, or a load that goes before it, is the access.
    pub stores: Signal<Out, Bit>,
    /// The access is granted, in the same cycle.
    pub grant: Signal<In, Bit>,
    /// The word read, two cycles after the grant.
    pub data: Signal<In, Bits<32>>,
}

/// Accesses of the command port, which takes them at once.
#[bundle(mirror = CommandAccessSink)]
pub struct CommandAccess {
    /// The access.
    pub payload: Signal<Out, PortAccess>,
    /// The access is a write.
    pub write: Signal<Out, Bit>,
    /// The access is a read.
    pub read: Signal<Out, Bit>,
    /// The word read, one cycle later.
    pub data: Signal<In, Bits<32>>,
    /// A command would find no handle, or no room in the command unit.
    pub full: Signal<In, Bit>,
    /// Threads whose handler has commands in flight that WAIT would wait for.
    pub pending: Signal<In, Bits<2>>,
}

/// Answer of the command unit to a write of ISSUE: one pulse.
#[bundle(mirror = IssueAnswerSink)]
pub struct IssueAnswer {
    /// The command is in flight.
    pub done: Signal<Out, Bit>,
    /// The command is illegal.
    pub refused: Signal<Out, Bit>,
    /// The command found no handle or no room.
    pub full: Signal<Out, Bit>,
}

/// A handler begins: its first instruction is fetched.
#[bundle(mirror = HandlerStartSink)]
pub struct HandlerStart {
    /// A handler begins.
    pub valid: Signal<Out, Bit>,
    /// Its hardware thread.
    pub thread: Signal<Out, Bit>,
    /// Its bank.
    pub bank: Signal<Out, Bits<2>>,
}

/// Writes of the region table.
#[bundle(mirror = RegionWriteSink)]
pub struct RegionWrite {
    /// The region.
    pub payload: Signal<Out, Region>,
    /// {bank, region}.
    pub index: Signal<Out, Bits<5>>,
    /// Write in this cycle.
    pub write: Signal<Out, Bit>,
}

/// The instruction in D, as the fetch hands it over.
#[bundle(mirror = FetchedSink)]
pub struct Fetched {
    /// D holds an instruction.
    pub valid: Signal<Out, Bit>,
    /// Its program counter.
    pub pc: Signal<Out, Bits<17>>,
    /// Its block of instruction memory.
    pub block: Signal<Out, Bits<9>>,
    /// It lies outside the code.
    pub outside: Signal<Out, Bit>,
    /// Its successor is fetched from `predicted_target`.
    pub predicted: Signal<Out, Bit>,
    /// Word offset in the image.
    pub predicted_target: Signal<Out, Bits<14>>,
    /// The prediction held the last time.
    pub sure: Signal<Out, Bit>,
}

/// A resolved branch, jump or prediction, for the branch predictor.
#[bundle(mirror = PredictorUpdateSink)]
pub struct PredictorUpdate {
    /// A branch, a jump or a predicted instruction is resolved.
    pub valid: Signal<Out, Bit>,
    /// Its word of instruction memory.
    pub pc: Signal<Out, Bits<14>>,
    /// It goes to `target`.
    pub taken: Signal<Out, Bit>,
    /// Word offset in the image.
    pub target: Signal<Out, Bits<14>>,
    /// It was predicted taken.
    pub was_hit: Signal<Out, Bit>,
    /// The prediction was sure.
    pub was_sure: Signal<Out, Bit>,
}

/// A result that is injected into X in place of an instruction, from the threads to the issue stage.
#[bundle(mirror = InjectionSink)]
pub struct Injection {
    /// A result has to be injected, and is there.
    pub valid: Signal<Out, Bit>,
    /// A thread waits for a result that is to be injected: `valid` may rise.
    pub expected: Signal<Out, Bit>,
    /// The result: 0 = `answer`, 1 = first argument of a handler, 2 = quotient, 3 = remainder.
    pub choice: Signal<Out, Bits<2>>,
    /// Answer of the remote unit.
    pub answer: Signal<Out, Bits<32>>,
    /// Register of the result.
    pub rd: Signal<Out, Bits<5>>,
    /// Extension of the answer, as funct3 of a load.
    pub funct3: Signal<Out, Bits<3>>,
    /// The injection takes place.
    pub taken: Signal<In, Bit>,
}

/// Operands of an injection, which take the place of those in D.
#[bundle(mirror = InjectedOperandsSink)]
pub struct InjectedOperands {
    /// X gets these operands.
    pub valid: Signal<Out, Bit>,
    /// First operand.
    pub a: Signal<Out, Bits<32>>,
    /// All bits of the second operand.
    pub b: Signal<Out, Bit>,
}

/// Result of a division.
#[bundle(mirror = DivisionSink)]
pub struct Division {
    /// Magnitude of the quotient.
    pub quotient: Signal<Out, Bits<32>>,
    /// Magnitude of the remainder.
    pub remainder: Signal<Out, Bits<32>>,
    /// The result is negative.
    pub negate: Signal<Out, Bit>,
}

/// State of the divider, for the threads.
#[bundle(mirror = DividerStatusSink)]
pub struct DividerStatus {
    /// The result is there.
    pub done: Signal<Out, Bit>,
    /// The result is for this thread.
    pub thread: Signal<Out, Bit>,
    /// The divider cannot take operands.
    pub busy: Signal<Out, Bit>,
    /// The result is the remainder, not the quotient.
    pub takes_remainder: Signal<Out, Bit>,
}

/// What the memory stage finds out about the access in M1.
#[bundle(mirror = AccessCheckSink)]
pub struct AccessCheck {
    /// The instruction stays in M1.
    pub stalls: Signal<Out, Bit>,
    /// The access faults.
    pub faults: Signal<Out, Bit>,
    /// Cause of the fault.
    pub cause: Signal<Out, Bits<4>>,
    /// The access has left for the remote unit; its thread waits for the answer.
    pub leaves_long: Signal<Out, Bit>,
    /// The access reads WAIT while commands are in flight.
    pub again: Signal<Out, Bit>,
    /// The access is a write of ISSUE that has left.
    pub issuing: Signal<Out, Bit>,
}

/// Accesses that go from M1 into the store buffer, and what a load in X has to know of the buffer.
#[bundle(mirror = StoreQueueSink)]
pub struct StoreQueue {
    /// An access leaves M1.
    pub push: Signal<Out, Bit>,
    /// The access.
    pub entry: Signal<Out, Leaving>,
    /// M1 may push `entry` in this cycle.
    pub may_push: Signal<Out, Bit>,
    /// Region and bits 14:3 of the address of `entry`.
    pub entry_row: Signal<Out, Bits<15>>,
    /// `entry` begins in one word and ends in the next.
    pub entry_crosses: Signal<Out, Bit>,
    /// Region and bits 14:3 of the address of the load in X.
    pub look_row: Signal<Out, Bits<15>>,
    /// The load in X crosses a row of eight bytes.
    pub look_crosses: Signal<Out, Bit>,
    /// No load uses the half ports of L1 in this cycle.
    pub may_use: Signal<Out, Bit>,
    /// The buffer takes nothing.
    pub full: Signal<In, Bit>,
    /// The buffer is empty.
    pub empty: Signal<In, Bit>,
    /// Entries, also one that comes in this cycle, that the load must not overtake.
    pub overlap: Signal<In, Bits<STORE_ENTRIES>>,
    /// Entries that have not left.
    pub waiting: Signal<In, Bits<STORE_ENTRIES>>,
    /// The oldest entry has waited too long for the half ports.
    pub urgent: Signal<In, Bit>,
}

/// Remote accesses that go into the store buffer, for the tracker of their answers.
#[bundle(mirror = RemotePushSink)]
pub struct RemotePush {
    /// The push is a posted write.
    pub write: Signal<Out, Bit>,
    /// The push is a load of L2 or an atomic.
    pub read: Signal<Out, Bit>,
    /// Posted writes must wait.
    pub write_stalls: Signal<In, Bit>,
    /// Loads of L2 and atomics must wait.
    pub read_stalls: Signal<In, Bit>,
}

/// Results of M1, M2 and M3, for forwarding.
#[bundle(mirror = ResultsSink)]
pub struct Results {
    /// M1.
    pub first: Signal<Out, Producer>,
    /// M2.
    pub second: Signal<Out, Producer>,
    /// M3, written at the end of this cycle.
    pub third: Signal<Out, Producer>,
    /// Thread of the result in M3.
    pub third_thread: Signal<Out, Bit>,
}
