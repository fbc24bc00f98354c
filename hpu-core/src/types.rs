//! Structures between the blocks of a cluster and of the array.

use crate::processor::stages::address_of;
use spindle_contract::descriptors::kind;
use spindle_contract::memory_map::{HANDLE_BITS, ISSUE_FLAGS_BITS, WATCHDOG_BITS};
use spindle_verilog::prelude::*;

/// A NIC has 2 to the power of this many handles at most.
pub const COMMAND_BITS: usize = 8;
const _: () = assert!(spindle_contract::reasons::TRACE_HPUS << HANDLE_BITS <= 1 << COMMAND_BITS);
const HEADER: u64 = kind::HEADER as u64;
const PAYLOAD: u64 = kind::PAYLOAD as u64;
const COMPLETION: u64 = kind::COMPLETION as u64;

/// Limits of a context.
#[derive(LogicStruct, Copy, Clone, Debug, Default, PartialEq)]
pub struct ContextLimits {
    /// Byte offset of the image in instruction memory.
    pub code_base: Bits<16>,
    /// Bytes of code.
    pub code_size: Bits<17>,
    /// Byte offset of the state in L2.
    pub state_base: Bits<20>,
    /// Bytes of state.
    pub state_size: Bits<21>,
    /// Host region, low half.
    pub host_lo: Bits<32>,
    /// Host region, high half.
    pub host_hi: Bits<32>,
    /// Bytes of the host region.
    pub host_size: Bits<32>,
    /// Cycle budget of a handler.
    pub watchdog: Bits<WATCHDOG_BITS>,
    /// L1 byte address of the scratchpad, a multiple of its size rounded up to a power of two.
    pub scratch_base: Bits<16>,
    /// Bytes of the scratchpad, a multiple of 64.
    pub scratch_size: Bits<16>,
    /// Beats of zeros after a packet.
    pub tailroom: Bits<5>,
}

/// A context as the dispatcher knows it. Copied into the task at dispatch.
#[derive(LogicStruct, Copy, Clone, Debug, Default, PartialEq)]
pub struct ContextEntry {
    /// Entry point of the header handler, 0 = none.
    pub header: Bits<32>,
    /// Entry point of the payload handler, 0 = none.
    pub payload: Bits<32>,
    /// Entry point of the completion handler, 0 = none.
    pub completion: Bits<32>,
    /// Entry point of the task handler, 0 = none.
    pub task: Bits<32>,
    /// The rest.
    pub limits: ContextLimits,
}

/// A context as the loader of a cluster needs it: of the entry points only that of the task's handler.
#[derive(LogicStruct, Copy, Clone, Debug, Default, PartialEq)]
pub struct TaskContext {
    /// Entry point of the handler, 0 = none.
    pub handler: Bits<32>,
    /// The rest.
    pub limits: ContextLimits,
}

/// The context of a task of this kind. Chosen once for all clusters.
#[hdl_fn]
pub fn context_of_task(context: ContextEntry, kind: Bits<2>) -> TaskContext {
    TaskContext {
        handler: match kind.to_u64() {
            HEADER => context.header,
            PAYLOAD => context.payload,
            COMPLETION => context.completion,
            _ => context.task,
        },
        limits: context.limits,
    }
}

/// Task of a handler, as its commands and its end name it.
#[derive(LogicStruct, Copy, Clone, Debug, Default, PartialEq)]
pub struct Origin {
    /// 0 header, 1 payload, 2 completion, 3 task.
    pub kind: Bits<2>,
    /// Execution context.
    pub context: Bits<4>,
    /// Message table slot.
    pub msg_slot: Bits<8>,
    /// Frame sequence number.
    pub frame: Bits<16>,
    /// There is a packet.
    pub has_packet: Bit,
    /// Its head cell.
    pub pkt: Bits<10>,
    /// Its L1 slot.
    pub slot: Bits<4>,
}

/// A task that has ended.
#[derive(LogicStruct, Copy, Clone, Debug, Default, PartialEq)]
pub struct EndedTask {
    /// The task.
    pub origin: Origin,
    /// Payload bytes of its packet.
    pub payload_len: Bits<16>,
}

/// Task of a command, and its limits.
#[derive(LogicStruct, Copy, Clone, Debug, Default, PartialEq)]
pub struct Limits {
    /// The task.
    pub origin: Origin,
    /// Bytes of the packet region,
    pub packet_size: Bits<12>,
    /// and of the frame in it: without the tailroom.
    pub frame_size: Bits<12>,
    /// First beat of the scratchpad in L1.
    pub scratch_beat: Bits<10>,
    /// Bytes of the scratchpad.
    pub scratch_size: Bits<16>,
    /// Address of the state in L2; the offset is OR-ed in.
    pub state_base: Bits<20>,
    /// Bytes of the state.
    pub state_size: Bits<21>,
    /// Host region, low half of its address.
    pub host_low: Bits<32>,
    /// High half.
    pub host_high: Bits<32>,
    /// Bytes of the host region.
    pub host_size: Bits<32>,
}

/// An ISSUE, from a command port to the command unit.
#[derive(LogicStruct, Copy, Clone, Debug, Default, PartialEq)]
pub struct IssueRequest {
    /// Its thread.
    pub thread: Bit,
    /// Bank of its task.
    pub bank: Bits<2>,
    /// As in `memory_map::command`; 0 if it is none.
    pub opcode: Bits<4>,
    /// Flags of ISSUE that the opcode knows (`command_rules::knows_flags`).
    pub flags: Bits<ISSUE_FLAGS_BITS>,
    /// Handle that the command would get.
    pub handle: Bits<HANDLE_BITS>,
    /// No handle is free.
    pub full: Bit,
}

/// Who issued a command.
#[derive(LogicStruct, Copy, Clone, Debug, Default, PartialEq)]
pub struct Issuer {
    /// HPU.
    pub hpu: Bits<3>,
    /// Handle.
    pub handle: Bits<HANDLE_BITS>,
}

/// Destination of bytes that the read DMA moves.
#[derive(LogicState, Copy, Clone, Debug, PartialEq)]
pub enum Destination {
    /// To the wire, as a frame.
    Wire,
    /// To the wire, as the payload of a put.
    Put,
    /// To the host.
    Host,
    /// To the wire, as a segment of context memory or of a packet that the initiator requested.
    Segment,
    /// To the combiner.
    Combiner,
}

/// Bytes of L1 that leave: from the command unit to the read DMA.
#[derive(LogicStruct, Copy, Clone, Debug, Default, PartialEq)]
pub struct MoveJob {
    /// Their destination.
    pub destination: Destination,
    /// Checksums are inserted: they are a frame.
    pub checksum: Bit,
    /// Their issuer.
    pub issuer: Issuer,
    /// Its context.
    pub context: Bits<4>,
    /// Frame sequence number of its packet.
    pub frame: Bits<16>,
    /// Address of the first one in L1; for the combiner: of the first lane (see [`crate::cluster::combiner`]).
    pub at: Bits<16>,
    /// Bytes.
    pub length: Bits<12>,
    /// Host address; for the combiner: a [`CombineTarget`].
    pub address: Bits<64>,
}

/// What a job for the combiner has in place of a host address.
#[derive(LogicStruct, Copy, Clone, Debug, Default, PartialEq)]
pub struct CombineTarget {
    /// Address of the destination in L1.
    pub to: Bits<16>,
    /// As ADDR_HI has it: {kind, size}.
    pub operation: Bits<5>,
    /// Constant of a product.
    pub constant: Bits<8>,
    /// The source is in the stage.
    pub staged: Bit,
    /// Zero.
    pub spare: Bits<34>,
}

/// Bytes of context memory, or of a packet, for the stage of a cluster.
#[derive(LogicStruct, Copy, Clone, Debug, Default, PartialEq)]
pub struct StageRequest {
    /// Address of the first one in L2, or in the packet's frame.
    pub at: Bits<20>,
    /// Bytes.
    pub length: Bits<12>,
    /// They are a packet's,
    pub of_packet: Bit,
    /// that of this head cell.
    pub pkt: Bits<10>,
}

/// The end of an off-cluster command.
#[derive(LogicStruct, Copy, Clone, Debug, Default, PartialEq)]
pub struct OffClusterDone {
    /// Cluster of the issuer.
    pub cluster: Bits<3>,
    /// Its issuer.
    pub issuer: Issuer,
    /// It failed.
    pub error: Bit,
    /// It has a result.
    pub has_result: Bit,
    /// Its result.
    pub result: Bits<64>,
}

/// A message of a handler for the host: PRINT, EVENT or COMPLETE.
#[derive(LogicStruct, Copy, Clone, Debug, Default, PartialEq)]
pub struct Message {
    /// Opcode, as in `memory_map::command`.
    pub opcode: Bits<4>,
    /// The words and their issuer.
    pub piece: PrintPiece,
    /// Message slot of the task.
    pub msg_slot: Bits<8>,
    /// LENGTH.
    pub length: Bits<32>,
}

/// A fault, as a cluster reports it.
#[derive(LogicStruct, Copy, Clone, Debug, Default, PartialEq)]
pub struct Fault {
    /// Cause.
    pub cause: Bits<4>,
    /// Its context.
    pub context: Bits<4>,
    /// HPU.
    pub hpu: Bits<3>,
    /// Cluster.
    pub cluster: Bits<3>,
    /// Message slot of the task.
    pub msg_slot: Bits<8>,
    /// Frame sequence number.
    pub frame: Bits<16>,
    /// Kind of handler.
    pub kind: Bits<2>,
    /// Program counter of the instruction, as in [`stages`](crate::processor::stages).
    pub pc: Bits<17>,
    /// Address of its access or target of its jump.
    pub sum: Bits<32>,
    /// It jumped to `sum`, where the handler cannot continue.
    pub stray: Bit,
    /// Its access faulted.
    pub of_access: Bit,
}

/// A fault, laid out as the FAULT_* registers of the page `hpu`.
#[derive(LogicStruct, Copy, Clone, Debug, Default, PartialEq)]
pub struct FaultReport {
    /// Cause [3:0], context [7:4], HPU [15:8], cluster [23:16], message slot [31:24].
    pub who: Bits<32>,
    /// Program counter.
    pub pc: Bits<32>,
    /// Address of the access.
    pub address: Bits<32>,
    /// Frame [15:0], kind of handler [17:16].
    pub frame: Bits<32>,
}

/// The report of a fault. The program counter is where the handler was to continue; the address is that of the access,
/// or that of the instruction if there was no access.
#[hdl_fn]
pub fn report_of(fault: Fault) -> FaultReport {
    let at = address_of(fault.pc);
    FaultReport {
        who: (fault.msg_slot, bit_cast::<8, 3>(fault.cluster), bit_cast::<8, 3>(fault.hpu), fault.context, fault.cause)
            .cat::<32>(),
        pc: if fault.stray { fault.sum } else { at },
        address: if fault.of_access { fault.sum } else { at },
        frame: (bits::<14>(0), fault.kind, fault.frame).cat::<32>(),
    }
}

/// Up to eight characters that a handler prints, laid out as the PRINT_* registers of the page `hpu`.
#[derive(LogicStruct, Copy, Clone, Debug, Default, PartialEq)]
pub struct PrintPiece {
    /// Characters [3:0], context [7:4], HPU [15:8], cluster [23:16], kind of handler [25:24].
    pub who: Bits<32>,
    /// Frame sequence number.
    pub frame: Bits<16>,
    /// Characters 0 to 3, the first in [7:0].
    pub low: Bits<32>,
    /// Characters 4 to 7.
    pub high: Bits<32>,
}
