//! Reports the ends of messages to the processes of their contexts.
//!
//! | ports | neighbour |
//! |---|---|
//! | in `starts`, `start_slot`, `start_name` | scheduler: a message begins |
//! | in `report`, `slot`, `ended` | scheduler: a message ended, and its event is due |
//! | out `pid_index` / in `pid` | quotas: the process of a context |
//! | out `room` | scheduler: 8 more reports have room |
//! | out `message_event` | RVMA engine |
//!
//! Latency from `report` to `message_event_valid`: 3 cycles. `room` falls while the RVMA engine takes no event; then no new event
//! is begun, so none is lost. A slot may begin a new message 2 cycles after its report.

use spindle_blocks::{EventDesc, Fifo, RamStyle, SdpMemory, Slice};
use spindle_contract::events;
use spindle_verilog::prelude::*;

/// Reports from which there is no room: what the FIFO has beyond is for the events that are on their way.
const FULL: u64 = 24;

/// Name of a message, given by its sender.
#[derive(LogicStruct, Copy, Clone, Debug, Default, PartialEq)]
pub struct MessageName {
    /// Message number.
    pub msg_id: Bits<32>,
    /// Source node.
    pub src_nid: Bits<32>,
    /// Match bits.
    pub addr: Bits<64>,
    /// Length; unknown for a message that is named by a field.
    pub total: Bits<32>,
}

/// How a message ended.
#[derive(LogicStruct, Copy, Clone, Debug, Default, PartialEq)]
pub struct MessageEnd {
    /// Its context.
    pub context: Bits<4>,
    /// `events::message`.
    pub code: Bits<2>,
    /// Flow control was triggered.
    pub flow_control: Bit,
    /// Bytes dropped.
    pub dropped: Bits<32>,
    /// Named by a field.
    pub by_field: Bit,
    /// No message, but a task without a packet.
    pub task: Bit,
    /// Minus the bytes that arrived, of a message that is named by a field.
    pub missing: Bits<32>,
}

/// See the head of this file.
#[block]
pub struct MessageReport {
    /// A message begins.
    pub starts: Signal<In, Bit>,
    /// Slot of that message.
    pub start_slot: Signal<In, Bits<8>>,
    /// Name of that message.
    pub start_name: Signal<In, MessageName>,
    /// A message ended.
    pub report: Signal<In, Bit>,
    /// Slot of that message.
    pub slot: Signal<In, Bits<8>>,
    /// How the message ended.
    pub ended: Signal<In, MessageEnd>,
    /// Context whose process is looked up.
    pub pid_index: Signal<Out, Bits<4>>,
    /// That process.
    pub pid: Signal<In, Bits<6>>,
    /// Reports have room.
    pub room: Signal<Out, Bit>,
    /// Event.
    pub message_event: Source<EventDesc>,
    names: SdpMemory<MessageName, 8>,
    reports: Fifo<EventDesc, 5>,
    output: Slice<EventDesc>,
    due: Reg<Bit>,
    last: DFF<MessageEnd>,
    has_room: Reg<Bit>,
}

impl MessageReport {
    /// Reports of `slots` messages.
    pub fn new(slots: usize, style: RamStyle) -> Self {
        Self { names: SdpMemory::with_depth(style, 1, slots), ..Self::blank() }
    }
}

#[hdl]
impl MessageReport {
    fn update(&mut self) {
        self.names.write(self.starts.val(), self.start_slot.val(), self.start_name.val());
        self.names.read(true, self.slot.val());
        self.due.d.next = self.report.val();
        self.last.d.next = self.ended.val();

        let name = self.names.read_data.val();
        let last = self.last.q.val();
        self.pid_index.next = last.context;
        self.reports.write.next = EventDesc {
            pid: self.pid.val(),
            kind: bits::<4>(events::MESSAGE),
            context: last.context,
            code: bit_cast::<8, 2>(last.code),
            flags: bit_cast::<8, 2>((last.task, last.flow_control).cat::<2>()),
            id: name.msg_id,
            length: if last.by_field { bits::<32>(0) - last.missing } else { name.total },
            extra: last.dropped,
            source: name.src_nid,
            user: name.addr,
        };
        self.reports.write.valid.next = self.due.q.val();
        self.has_room.d.next = self.reports.level.val() < FULL;
        self.room.next = self.has_room.q.val();

        self.reports.read.join(&mut self.output.write);
        self.output.read.join(&mut self.message_event);
    }
}
