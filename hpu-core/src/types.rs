//! What the blocks of a cluster hand to one another.

use spindle_verilog::prelude::*;

/// A context as the cluster needs it: entry points, memory regions, budget. Copied into the task at dispatch.
#[derive(LogicStruct, Copy, Clone, Debug, Default, PartialEq)]
pub struct ContextEntry {
    /// Entry point of the header handler, 0 = none.
    pub header: Bits<32>,
    /// Entry point of the payload handler, 0 = none.
    pub payload: Bits<32>,
    /// Entry point of the completion handler, 0 = none.
    pub completion: Bits<32>,
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
    pub watchdog: Bits<32>,
    /// L1 byte address of the scratchpad, a multiple of its size rounded up to a power of two.
    pub scratch_base: Bits<16>,
    /// Bytes of the scratchpad, a multiple of 64.
    pub scratch_size: Bits<16>,
}

/// A word access of L2 by the host.
#[derive(LogicStruct, Copy, Clone, Debug, Default, PartialEq)]
pub struct Access {
    /// Physical byte address, word aligned.
    pub address: Bits<20>,
    /// 1 = write.
    pub write: Bit,
    /// Bytes to write.
    pub strobe: Bits<4>,
    /// What to write.
    pub data: Bits<32>,
}

/// Whose task a handler runs: what its commands and its end name.
#[derive(LogicStruct, Copy, Clone, Debug, Default, PartialEq)]
pub struct Origin {
    /// 0 header, 1 payload, 2 completion.
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
    /// Its payload bytes.
    pub payload_len: Bits<16>,
    /// Its L1 slot.
    pub slot: Bits<4>,
}

/// What the command port of an HPU checks commands against, and what its prints name.
#[derive(LogicStruct, Copy, Clone, Debug, Default, PartialEq)]
pub struct Limits {
    /// 0 header, 1 payload, 2 completion.
    pub kind: Bits<2>,
    /// Execution context.
    pub context: Bits<4>,
    /// Frame sequence number.
    pub frame: Bits<16>,
    /// There is a packet.
    pub has_packet: Bit,
    /// Its L1 slot.
    pub slot: Bits<4>,
    /// Its bytes in the slot.
    pub packet_size: Bits<12>,
    /// First beat of the scratchpad in L1.
    pub scratch_beat: Bits<10>,
    /// Bytes of the scratchpad.
    pub scratch_size: Bits<16>,
    /// Bytes of the host region.
    pub host_size: Bits<32>,
}

/// A command as a command port hands it to the mover.
#[derive(LogicStruct, Copy, Clone, Debug, Default, PartialEq)]
pub struct PortCommand {
    /// As in `memory_map::command`.
    pub opcode: Bits<4>,
    /// Bank of the task.
    pub bank: Bits<2>,
    /// Slot of the port's command table.
    pub handle: Bits<2>,
    /// Frame sequence number of the task.
    pub frame: Bits<16>,
    /// First beat of the data in L1.
    pub beat: Bits<10>,
    /// Bytes.
    pub length: Bits<12>,
    /// Offset in the host region.
    pub offset: Bits<32>,
}

/// The host memory that a context may write.
#[derive(LogicStruct, Copy, Clone, Debug, Default, PartialEq)]
pub struct HostRegion {
    /// Address, low half.
    pub low: Bits<32>,
    /// Address, high half.
    pub high: Bits<32>,
    /// Bytes.
    pub size: Bits<32>,
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
