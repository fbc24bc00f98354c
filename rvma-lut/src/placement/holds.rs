//! Holds: which buffers the pending messages hold. A held buffer does not complete.
//!
//! | neighbour | ports |
//! |---|---|
//! | binding | in `hold` (pulse): a pending message is bound; out `room` |
//! | packet engine | in `pending_end`: a message is done |
//! | buffer queue | in `queue_event` (with headroom) |
//! | counters | out `buffer_event` (with headroom): holds, and the events of the queue 3 cycles later; out `hold_end` |
//! | buffer reclaim | in `sweep` (held), `sweep_all`, `sweep_slot`, `sweep_mailbox`; out `swept` |
//!
//! A message holds a buffer once, however many of its packets are bound to it in succession. The buffer bound last is at
//! the message's slot; those before are *nodes* of a list that begins there. A node is taken from a pool of 256 when a
//! message holds another buffer: by redirected packets, and in catch-all mailboxes. `room` falls while the pool may run
//! out; the binding refuses pending packets then.
//!
//! | cycle | a hold | `pending_end` | each node |
//! |---|---|---|---|
//! | 0 | the message is read | the message is read, if no hold is | the node is read, if `hold_end` is free |
//! | 1 | written; the buffer before goes to a node | emptied | given back |
//! | 2 | `buffer_event` | `hold_end` | `hold_end` |
//!
//! **Order.** The counters learn of a hold before the same packet closes the buffer, and after the buffer was posted: the
//! events of the queue pass three registers, a hold takes two cycles. Both never leave in one cycle, because two packets
//! are bound two cycles apart at least, and the queue changes by commands only while no packet is being bound.
//!
//! COMPLETE leaves `over` at the message: packets that are bound later hold nothing, until the message ends. The end of a
//! message comes after the ends of its placements, so no packet of it is bound later.
//!
//! The sweep removes the holds of a buffer (of a mailbox) that is taken back: its slot may be posted again while the message
//! is pending. It begins 8 cycles after `sweep`, when no hold is on its way, and after the last `hold_end` has been taken;
//! 256 cycles. No message is done meanwhile.

use crate::prelude::*;

/// Places: one for each message slot, and as many nodes.
const PLACES: u64 = 256;
/// Free nodes below which there is no room: three packets may be on their way.
const NODES_SPARED: u64 = 4;

/// A buffer that is held, and the next one.
#[derive(LogicStruct, Copy, Clone, Debug, Default, PartialEq)]
pub struct Hold {
    /// The buffer is held.
    pub live: Bit,
    /// Buffer.
    pub slot: Bits<14>,
    /// Its mailbox.
    pub mailbox: Bits<12>,
    /// A node follows.
    pub more: Bit,
    /// That node.
    pub link: Bits<8>,
    /// At a message: a handler gave COMPLETE.
    pub over: Bit,
}

/// Steps of the end of a message.
#[derive(LogicState, Copy, Clone, Debug, PartialEq)]
pub enum EndState {
    /// Waits; reads the message.
    Idle,
    /// The message has been read.
    First,
    /// Reads a node.
    Fetch,
    /// The node has been read.
    Node,
}

/// The holds. See the module text.
#[block]
pub struct Holds {
    /// A pending message is bound to a buffer.
    pub hold: PulseSink<HoldRequest>,
    /// Buffers may be held.
    pub room: Signal<Out, Bit>,
    /// A message is done.
    pub pending_end: Sink<PendingEnd>,
    /// Buffer posted, closed or cut.
    pub queue_event: HeadroomSink<BufferEvent>,
    /// Buffer posted, closed, cut or held.
    pub buffer_event: HeadroomSource<BufferEvent>,
    /// A hold is over.
    pub hold_end: Source<HoldEnd>,
    /// Remove holds.
    pub sweep: Signal<In, Bit>,
    /// Those of `sweep_mailbox`; else those of `sweep_slot`.
    pub sweep_all: Signal<In, Bit>,
    /// Buffer slot.
    pub sweep_slot: Signal<In, Bits<14>>,
    /// Mailbox.
    pub sweep_mailbox: Signal<In, Bits<12>>,
    /// Sweep complete.
    pub swept: Signal<Out, Bit>,
    messages: SdpMemory<Hold, 8>,
    nodes: SdpMemory<Hold, 8>,
    /// Nodes that were given back.
    returned: Fifo<Bits<8>, 8>,
    /// Nodes that were never taken.
    fresh: Reg<Bits<9>>,
    free_nodes: Reg<Bits<9>>,
    has_room: Reg<Bit>,
    clearing: Reg<Bit>,
    clear_slot: Reg<Bits<8>>,
    requested: Reg<Bit>,
    request: DFF<HoldRequest>,
    /// The place that was read last was written in the same cycle, with this.
    overtaken: Reg<Bit>,
    newest: DFF<Hold>,
    message: Signal<Local, Hold>,
    reads: Signal<Local, Bit>,
    read_at: Signal<Local, Bits<8>>,
    writes: Signal<Local, Bit>,
    write_at: Signal<Local, Bits<8>>,
    written: Signal<Local, Hold>,
    state: Reg<EndState>,
    node: DFF<Bits<8>>,
    held_out: DFF<Bits<14>>,
    held_out_valid: Reg<Bit>,
    hold_end_out: DFF<HoldEnd>,
    hold_end_out_valid: Reg<Bit>,
    end_frame: DFF<Bits<16>>,
    delayed: [DFF<BufferEvent>; 3],
    delayed_valid: [Reg<Bit>; 3],
    /// Cycles since `sweep`, at most 7.
    waited: Reg<Bits<3>>,
    /// Place that the sweep reads; 256 = all have been read.
    sweep_at: Reg<Bits<9>>,
    sweep_reads: Signal<Local, Bit>,
    sweep_read: Reg<Bit>,
    takes_node: Signal<Local, Bit>,
    gives_node: Signal<Local, Bit>,
}

impl Holds {
    /// Holds in memories of this kind.
    pub fn new(style: RamStyle) -> Self {
        Self {
            messages: SdpMemory::new(style, 1),
            nodes: SdpMemory::new(style, 1),
            returned: Fifo::new(RamStyle::Distributed),
            free_nodes: Reg::new(bits(PLACES)),
            clearing: Reg::new(true),
            ..Self::blank()
        }
    }
}

#[hdl]
impl Holds {
    fn update(&mut self) {
        self.message.next = if self.overtaken.q.val() { self.newest.q.val() } else { self.messages.read_data.val() };
        self.reads.next = self.hold.valid.val();
        self.read_at.next = self.hold.val().msg_slot;
        self.writes.next = self.clearing.q.val();
        self.write_at.next = self.clear_slot.q.val();
        self.written.next = Hold::default();
        self.clear_slot.load(self.clearing.q.val(), self.clear_slot.q.val() + 1);
        self.clearing.load(self.clear_slot.q.val().all(), false);
        self.nodes.read(self.state.q.val() == EndState::Fetch, self.node.q.val());
        self.nodes.write(false, self.node.q.val(), Hold::default());

        self.take_hold();
        self.end_message();
        self.sweep_holds();
        self.count_nodes();

        self.messages.read(self.reads.val(), self.read_at.val());
        self.messages.write(self.writes.val(), self.write_at.val(), self.written.val());
        self.overtaken.d.next = self.reads.val() & self.writes.val() & (self.read_at.val() == self.write_at.val());
        self.newest.d.next = self.written.val();
        self.pass_events();
    }

    /// A message holds another buffer; the one before goes to a node.
    fn take_hold(&mut self) {
        let message = self.message.val();
        let request = self.request.q.val();
        self.requested.d.next = self.hold.valid.val();
        self.request.load(self.hold.valid.val(), self.hold.val());
        let again = message.live & (message.slot == request.slot);
        let takes = self.requested.q.val() & !message.over & !again;
        let moves = takes & message.live;
        let returned = self.returned.read.valid.val();
        let node = if returned { self.returned.read.val() } else { self.fresh.q.val().get_bits::<8>(0) };
        self.takes_node.next = moves;
        self.returned.read.ready.next = moves;
        self.fresh.load(moves & !returned, self.fresh.q.val() + 1);
        if takes {
            self.writes.next = true;
            self.write_at.next = request.msg_slot;
            self.written.next = Hold {
                live: true,
                slot: request.slot,
                mailbox: request.mailbox,
                more: message.more | message.live,
                link: if message.live { node } else { message.link },
                over: false,
            };
        }
        if moves {
            self.nodes.write(true, node, message);
        }
        self.held_out_valid.d.next = takes;
        self.held_out.d.next = request.slot;
    }

    /// A message is done: its holds are over, one after the other.
    fn end_message(&mut self) {
        let done = self.pending_end.val();
        let free = !self.hold_end_out_valid.q.val() | self.hold_end.ready.val();
        let stops = self.clearing.q.val() | self.sweep.val();
        let first = self.state.q.val() == EndState::First;
        let at_node = self.state.q.val() == EndState::Node;
        let hold = if first { self.message.val() } else { self.nodes.read_data.val() };
        self.pending_end.ready.next = first;
        self.gives_node.next = at_node;
        self.returned.write.offer(at_node, self.node.q.val());
        self.hold_end_out_valid.load(self.hold_end.ready.val(), false);
        if self.state.q.val() == EndState::Idle {
            if self.pending_end.valid.val() & !self.hold.valid.val() & free & !stops {
                self.reads.next = true;
                self.read_at.next = done.msg_slot;
                self.state.d.next = EndState::First;
            }
        } else if self.state.q.val() == EndState::Fetch {
            self.state.load(free, EndState::Node);
        } else {
            if first {
                self.writes.next = true;
                self.write_at.next = done.msg_slot;
                self.written.next = Hold { over: !done.ended, ..Hold::default() };
                self.end_frame.d.next = done.frame;
            }
            self.state.d.next = if hold.more { EndState::Fetch } else { EndState::Idle };
            self.node.d.next = hold.link;
            self.hold_end_out_valid.d.next = hold.live;
            self.hold_end_out.d.next =
                HoldEnd { slot: hold.slot, frame: if first { done.frame } else { self.end_frame.q.val() } };
        }
        self.hold_end.offer(self.hold_end_out_valid.q.val(), self.hold_end_out.q.val());
    }

    /// Sweep: reads one message and one node per cycle, and writes both without their holds in the next cycle.
    fn sweep_holds(&mut self) {
        let at = self.sweep_at.q.val();
        let idle = (self.state.q.val() == EndState::Idle) & !self.hold_end_out_valid.q.val();
        let waited = self.waited.q.val();
        self.waited.d.next = if !self.sweep.val() {
            bits::<3>(0)
        } else if waited.all() {
            waited
        } else {
            waited + 1
        };
        self.sweep_reads.next = self.sweep.val() & waited.all() & idle & !at.get_bit(8);
        self.sweep_read.d.next = self.sweep_reads.val();
        if !self.sweep.val() {
            self.sweep_at.d.next = bits::<9>(0);
        } else if self.sweep_reads.val() {
            self.sweep_at.d.next = at + 1;
            self.reads.next = true;
            self.read_at.next = at.get_bits::<8>(0);
            self.nodes.read(true, at.get_bits::<8>(0));
        }
        self.swept.next = at.get_bit(8) & !self.sweep_read.q.val();

        let message = self.message.val();
        let node = self.nodes.read_data.val();
        let was_at = (at - 1).get_bits::<8>(0);
        if self.sweep_read.q.val() {
            let of_message = if self.sweep_all.val() {
                message.mailbox == self.sweep_mailbox.val()
            } else {
                message.slot == self.sweep_slot.val()
            };
            let of_node = if self.sweep_all.val() {
                node.mailbox == self.sweep_mailbox.val()
            } else {
                node.slot == self.sweep_slot.val()
            };
            self.writes.next = of_message;
            self.write_at.next = was_at;
            self.written.next = Hold { live: false, ..message };
            self.nodes.write(of_node, was_at, Hold { live: false, ..node });
        }
    }

    /// Free nodes.
    fn count_nodes(&mut self) {
        let free = self.free_nodes.q.val();
        if self.takes_node.val() & !self.gives_node.val() {
            self.free_nodes.d.next = free - 1;
        } else if !self.takes_node.val() & self.gives_node.val() {
            self.free_nodes.d.next = free + 1;
        }
        self.has_room.d.next = free >= NODES_SPARED;
        self.room.next = self.has_room.q.val();
    }

    /// Holds, and the events of the queue.
    fn pass_events(&mut self) {
        self.queue_event.headroom.next = self.buffer_event.headroom.val();
        self.delayed[0].d.next = self.queue_event.val();
        self.delayed_valid[0].d.next = self.queue_event.valid.val();
        for i in 1..3 {
            self.delayed[i].d.next = self.delayed[i - 1].q.val();
            self.delayed_valid[i].d.next = self.delayed_valid[i - 1].q.val();
        }
        self.buffer_event.next = self.delayed[2].q.val();
        if self.held_out_valid.q.val() {
            self.buffer_event.next = BufferEvent { hold: true, slot: self.held_out.q.val(), ..BufferEvent::default() };
        }
        self.buffer_event.valid.next = self.held_out_valid.q.val() | self.delayed_valid[2].q.val();
    }
}
