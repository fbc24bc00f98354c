//! Binding: gives a message its buffer when its first packet arrives, and every later packet the same buffer.
//!
//! | neighbour | ports |
//! |---|---|
//! | lookup | in `looked_up` |
//! | buffer queue | out `reservation` |
//! | placement, completion, receive maps | out `bound` (with headroom), `bound_mailbox` |
//! | report | out `verdict` (with headroom): packets that need no write |
//! | buffer reclaim | in `sweep` (held), `sweep_all`, `sweep_slot`, `sweep_mailbox`; out `swept`; out `verdict_phase` |
//! | holds | out `hold` (pulse, beside `bound` or `verdict`): a pending message is bound; in `hold_room` |
//! | packet engine | out `outcome` (pulse, beside `bound` or `verdict`) |
//! | frame events | out `frame_decided`, `frame_placed`: a frame for the host is refused, or bound; in `frame_headroom` |
//! | frame places | in `frame_room`: a record of the event ring can be reserved for the frame that is decided |
//!
//! Throughput is one packet per two cycles, latency four cycles from `looked_up` to `bound` or `verdict`. The stage
//! stalls while the buffer queue changes a head or posts a buffer, and while `bound` or `verdict` lacks headroom.
//!
//! The first packet of a message decides: the message is bound to the head buffer, where `msg_len` bytes are reserved,
//! or it is refused. The decision is kept in a RAM indexed by `msg_slot` until packets with `msg_len` bytes have
//! passed. A TAGGED mailbox binds to the buffer whose epoch the packet names, if that is one of the oldest four.
//! Messages of one packet have no slot and leave no entry. A sequenced message that finds no buffer leaves no entry
//! either: its sender repeats it, and a buffer may be posted meanwhile. An entry names the message in full, so a slot
//! that the message table reassigned before all bytes passed here binds anew (a handler may place only some packets).
//!
//! If the mailbox has mode SPILL, a message that finds no buffer goes to the catch-all mailbox of its process: each of
//! its packets passes this stage again, four cycles later at the earliest, as a message of its own. These packets go
//! before others.
//!
//! A frame for the host is a message of its own. Without a record of the event ring it is refused like one without a buffer.
//! `frame_room` is about the process of the oldest frame, two cycles late, so a frame for another mailbox than the frame
//! before enters when that frame has been decided: 2 cycles later.
//!
//! A pending message holds its buffer from its first pending packet on: once for each buffer that it is bound to, and for
//! each packet that is a message of its own. While the holds have no room, such a packet is refused like one without a
//! buffer.
//!
//! A packet is written only if it lies inside its message, the message as this packet describes it lies inside the
//! buffer, and the payloads seen so far do not exceed `msg_len`. So a sender that contradicts itself reaches neither
//! memory outside the buffer nor bytes of a complete buffer.

use crate::lookup::catch_all::with_header;
use crate::placement::queue_types::{MessageSpan, Tag};
use crate::prelude::*;
use spindle_contract::reasons::{CLOSED, NO_POSTED_BUFFER, OUT_OF_BOUNDS, STALE_EPOCH};

/// State of a message.
#[derive(LogicStruct, Copy, Clone, Debug, Default, PartialEq)]
pub struct BindingEntry {
    /// The slot holds a message.
    pub live: Bit,
    /// The message was refused.
    pub refused: Bit,
    /// The message holds its buffer.
    pub held: Bit,
    /// Reason of the refusal.
    pub reason: Bits<5>,
    /// Slot of the message's buffer.
    pub slot: Bits<14>,
    /// Buffer of the message.
    pub buffer: BufferEntry,
    /// MANAGED: offset of the message in the buffer.
    pub offset: Bits<32>,
    /// Payload bytes that have not passed yet.
    pub left: Bits<32>,
    /// Mailbox.
    pub mailbox: Bits<12>,
    /// Source node.
    pub src_nid: Bits<32>,
    /// Source process.
    pub src_pid: Bits<16>,
    /// Message number.
    pub msg_id: Bits<32>,
}

/// The binding stage. See the module text.
#[block]
pub struct Binding {
    /// Packet with its mailbox.
    pub looked_up: Sink<LookedUpPacket>,
    /// Reservation in the head buffer of the mailbox.
    pub reservation: ReservationSource,
    /// Packet to write, with its buffer.
    pub bound: HeadroomSource<BoundPacket>,
    /// With `bound`: the mailbox.
    pub bound_mailbox: Signal<Out, Bits<12>>,
    /// Packet that needs no write: refused, or empty.
    pub verdict: HeadroomSource<PlacementDone>,
    /// Fence phase of the packet at `verdict`.
    pub verdict_phase: Signal<Out, Bit>,
    /// A pending message holds its buffer.
    pub hold: Pulse<HoldRequest>,
    /// Buffers may be held.
    pub hold_room: Signal<In, Bit>,
    /// Answer of the mailbox to the packet.
    pub outcome: Pulse<PlacementOutcome>,
    /// Bind no message, and refuse the rest of some messages.
    pub sweep: Signal<In, Bit>,
    /// Sweep the messages of `sweep_mailbox`; else those bound to `sweep_slot`.
    pub sweep_all: Signal<In, Bit>,
    /// Buffer slot.
    pub sweep_slot: Signal<In, Bits<14>>,
    /// Mailbox.
    pub sweep_mailbox: Signal<In, Bits<12>>,
    /// Sweep complete.
    pub swept: Signal<Out, Bit>,
    /// A frame for the host is bound or refused.
    pub frame_decided: Signal<Out, Bit>,
    /// With `frame_decided`: it is bound.
    pub frame_placed: Signal<Out, Bit>,
    /// Its event has a place in the event ring.
    pub frame_room: Signal<In, Bit>,
    /// Frames for the host may be bound.
    pub frame_headroom: Signal<In, Bit>,
    messages: SdpMemory<BindingEntry, 8>,
    fetched: Reg<Bit>,
    loaded: Reg<Bit>,
    checked: Reg<Bit>,
    same: Reg<Bit>,
    packet: DFF<LookedUpPacket>,
    entry: DFF<BindingEntry>,
    packet_3: DFF<LookedUpPacket>,
    /// The entry; of a new message with the fields of the packet, of every message with the bytes left after this
    /// packet.
    entry_3: DFF<BindingEntry>,
    known: DFF<Bit>,
    fits: DFF<Bit>,
    enough_left: DFF<Bit>,
    ends: DFF<Bit>,
    left_new: DFF<Bits<32>>,
    start_known: DFF<Bits<32>>,
    hold_out: DFF<HoldRequest>,
    hold_out_valid: Reg<Bit>,
    outcome_out: DFF<PlacementOutcome>,
    outcome_out_valid: Reg<Bit>,
    bound_out: DFF<BoundPacket>,
    bound_out_valid: Reg<Bit>,
    bound_mailbox_out: DFF<Bits<12>>,
    verdict_out: DFF<PlacementDone>,
    verdict_out_valid: Reg<Bit>,
    verdict_phase_out: DFF<Bit>,
    clearing: Reg<Bit>,
    clear_slot: Reg<Bits<8>>,
    /// Slot that the sweep reads; 256 = all have been read.
    sweep_at: Reg<Bits<9>>,
    sweep_reads: Signal<Local, Bit>,
    sweep_read: Reg<Bit>,
    stores: Signal<Local, Bit>,
    entry_written: Signal<Local, BindingEntry>,
    /// Packets on their way to a catch-all mailbox. Two at most: they go before others, and one packet is in the
    /// pipeline when another one is decided.
    spilled: [DFF<LookedUpPacket>; 2],
    spilled_valid: [Reg<Bit>; 2],
    /// Index of the next packet that enters `spilled`, and of the next one that leaves.
    spill_in: Reg<Bit>,
    spill_out: Reg<Bit>,
    /// The packet in cycle 1 came from `spilled`.
    from_spill: Reg<Bit>,
    next: Signal<Local, LookedUpPacket>,
    to_catch_all: Signal<Local, Bit>,
    placed: Signal<Local, Bit>,
    reason: Signal<Local, Bits<5>>,
}

impl Binding {
    /// A binding stage that keeps its messages in a memory of this kind.
    pub fn new(style: RamStyle) -> Self {
        Self { messages: SdpMemory::new(style, 1), clearing: Reg::new(true), ..Self::blank() }
    }
}

#[hdl]
impl Binding {
    fn update(&mut self) {
        let p = self.packet_3.q.val().packet;
        self.decide(p);
        self.spill(p);
        self.sweep_messages();
        self.send_out(p);
        self.fetch_and_load();
        self.compare();
    }

    /// Cycle 3: decides about the packet and writes the entry of its message.
    fn decide(&mut self, p: Packet) {
        let decided = self.packet_3.q.val();
        let bound = self.entry_3.q.val();
        let head = self.reservation.head.val();
        let known = self.known.q.val();
        let is_new = !known & !decided.refused & !p.inconsistent;
        let eventless = p.host & !self.frame_room.val();
        let holds = p.pending & !(known & bound.held);
        let unheld = holds & !self.hold_room.val();
        let reserves = is_new & head.active & head.fits & !eventless & !unheld;
        self.frame_decided.next = self.checked.q.val() & p.host;
        self.frame_placed.next = reserves;
        let in_bounds = self.fits.q.val() & self.enough_left.q.val() & !p.inconsistent;
        let continues = known & !bound.refused & in_bounds & !decided.refused & !unheld;
        self.reservation.commit.next = reserves;
        self.placed.next = reserves | continues;
        self.reason.next = bits::<5>(OUT_OF_BOUNDS);
        if decided.refused {
            self.reason.next = decided.reason;
        } else if known & bound.refused {
            self.reason.next = bound.reason;
        } else if is_new & head.stale {
            self.reason.next = bits::<5>(STALE_EPOCH);
        } else if (is_new & (!head.active | eventless)) | unheld {
            self.reason.next = bits::<5>(NO_POSTED_BUFFER);
        }
        // A message that found no buffer goes to the catch-all mailbox as a whole, even if a buffer is posted
        // meanwhile.
        let was_unbound = known & bound.refused & (bound.reason == bits(NO_POSTED_BUFFER));
        self.to_catch_all.next =
            decided.spills & ((is_new & !head.active & !head.stale) | (was_unbound & !decided.refused));

        // The entry of the message.
        self.entry_written.next = bound;
        self.entry_written.next.live = !self.ends.q.val();
        if !known {
            self.entry_written.next.refused = !reserves;
            self.entry_written.next.held = p.pending;
            self.entry_written.next.reason = self.reason.val();
            self.entry_written.next.slot = head.slot;
            self.entry_written.next.buffer = head.buffer;
            self.entry_written.next.offset = head.offset;
            self.entry_written.next.left = self.left_new.q.val();
        } else if continues & p.pending {
            self.entry_written.next.held = true;
        }
        // A packet refused for itself (key, header) does not decide about its message.
        self.stores.next = self.checked.q.val()
            & p.has_slot
            & !p.single
            & ((is_new & ((!unheld & (head.active | head.stale | decided.spills)) | !p.sequenced))
                | continues
                | (known & bound.refused & self.enough_left.q.val() & !decided.refused));
        self.messages.write(self.stores.val() | self.clearing.q.val(), p.msg_slot, self.entry_written.val());
        if self.clearing.q.val() {
            self.messages.write_address.next = self.clear_slot.q.val();
            self.messages.write_data.next.live = false;
            self.clear_slot.d.next = self.clear_slot.q.val() + 1;
            self.clearing.d.next = !self.clear_slot.q.val().all();
        }
    }

    /// Cycle 3: keeps a packet without a buffer for the catch-all mailbox.
    fn spill(&mut self, p: Packet) {
        let spills = self.checked.q.val() & self.to_catch_all.val();
        let spill_in = self.spill_in.q.val();
        self.spill_in.d.next = spill_in ^ spills;
        let spilled = LookedUpPacket {
            packet: with_header(p),
            refused: false,
            mailbox: self.packet_3.q.val().catch_all,
            tagged: false,
            spills: false,
            ..self.packet_3.q.val()
        };
        if spills & !spill_in {
            self.spilled[0].d.next = spilled;
            self.spilled_valid[0].d.next = true;
        } else if spills {
            self.spilled[1].d.next = spilled;
            self.spilled_valid[1].d.next = true;
        }
    }

    /// Sweep: reads one slot per cycle and marks its message as refused in the next cycle, if the sweep is for it. No
    /// packet is in the pipeline then.
    fn sweep_messages(&mut self) {
        let swept = self.messages.read_data.val();
        let slot_read = (self.sweep_at.q.val() - 1).get_bits::<8>(0);
        let drained = !self.fetched.q.val() & !self.loaded.q.val() & !self.checked.q.val();
        self.sweep_reads.next = self.sweep.val() & drained & !self.sweep_at.q.val().get_bit(8);
        self.sweep_read.d.next = self.sweep_reads.val();
        if !self.sweep.val() {
            self.sweep_at.d.next = bits::<9>(0);
        } else if self.sweep_reads.val() {
            self.sweep_at.d.next = self.sweep_at.q.val() + 1;
        }
        self.swept.next = self.sweep_at.q.val().get_bit(8) & !self.sweep_read.q.val();
        if self.sweep_read.q.val() {
            let is_meant = if self.sweep_all.val() {
                swept.mailbox == self.sweep_mailbox.val()
            } else {
                swept.slot == self.sweep_slot.val()
            };
            self.messages.write(swept.live & !swept.refused & is_meant, slot_read, swept);
            self.messages.write_data.next.refused = true;
            self.messages.write_data.next.reason = bits::<5>(STALE_EPOCH);
            if self.sweep_all.val() {
                self.messages.write_data.next.reason = bits::<5>(CLOSED);
            }
        }
    }

    /// Cycle 3: the packet leaves to placement or, without a write, to report.
    fn send_out(&mut self, p: Packet) {
        let decided = self.packet_3.q.val();
        let bound = self.entry_3.q.val();
        let head = self.reservation.head.val();
        let checked = self.checked.q.val();
        self.bound_out_valid.d.next = checked & self.placed.val() & p.payload_len.any();
        self.verdict_out_valid.d.next = checked & !(self.placed.val() & p.payload_len.any()) & !self.to_catch_all.val();
        self.outcome_out_valid.d.next = checked & !self.to_catch_all.val();
        let held = self.known.q.val() & bound.held;
        self.hold_out_valid.d.next = checked & self.placed.val() & p.pending & !held;
        if checked {
            self.hold_out.d.next = HoldRequest {
                msg_slot: p.msg_slot,
                slot: if self.known.q.val() { bound.slot } else { head.slot },
                mailbox: decided.mailbox,
            };
        }
        self.verdict_phase_out.d.next = p.fence_phase;
        if checked {
            self.bound_mailbox_out.d.next = decided.mailbox;
            self.bound_out.d.next = BoundPacket {
                base: head.buffer.base,
                start: head.start,
                slot: head.slot,
                frame: p.frame,
                pkt: p.pkt,
                payload_offset: p.payload_offset,
                payload_len: p.payload_len,
                has_slot: p.has_slot,
                msg_slot: p.msg_slot,
                fence_phase: p.fence_phase,
                host: p.host,
                of_bytes: p.of_bytes,
            };
            if self.known.q.val() {
                self.bound_out.d.next.base = bound.buffer.base;
                self.bound_out.d.next.start = self.start_known.q.val();
                self.bound_out.d.next.slot = bound.slot;
            }
        }
        if checked {
            self.verdict_out.d.next =
                verdict_of(p, self.placed.val(), if self.placed.val() { bits::<5>(0) } else { self.reason.val() });
        }
        if checked {
            self.outcome_out.d.next = PlacementOutcome {
                pkt: p.pkt,
                silent: decided.silent | (decided.silent_unbound & !head.active & !head.stale),
                epoch: head.epoch,
                credit: head.credit,
            };
        }
        self.bound.offer(self.bound_out_valid.q.val(), self.bound_out.q.val());
        self.bound_mailbox.next = self.bound_mailbox_out.q.val();
        self.verdict.offer(self.verdict_out_valid.q.val(), self.verdict_out.q.val());
        self.verdict_phase.next = self.verdict_phase_out.q.val();
        self.hold.offer(self.hold_out_valid.q.val(), self.hold_out.q.val());
        self.outcome.offer(self.outcome_out_valid.q.val(), self.outcome_out.q.val());
    }

    /// Cycles 0 and 1: reads the entry of the message and the queue of the mailbox. Not in the cycle in which an entry
    /// is written, so a RAM never reads what it writes. A fetch is repeated if the queue changes its head.
    fn fetch_and_load(&mut self) {
        let spill_out = self.spill_out.q.val();
        let spill_waits = if spill_out { self.spilled_valid[1].q.val() } else { self.spilled_valid[0].q.val() };
        let next_from_spill = if self.fetched.q.val() { self.from_spill.q.val() } else { spill_waits };
        self.from_spill.d.next = next_from_spill;
        self.next.next = self.looked_up.val();
        if next_from_spill {
            self.next.next = if spill_out { self.spilled[1].q.val() } else { self.spilled[0].q.val() };
        }
        let next = self.next.val();
        let offered = self.looked_up.valid.val() | spill_waits;
        let headroom = self.bound.headroom.val() & self.verdict.headroom.val() & self.frame_headroom.val();
        // A packet that was refused names no mailbox.
        let loaded = self.packet.q.val();
        let moves_on = loaded.refused | (loaded.mailbox != next.mailbox);
        let waits = self.loaded.q.val() & loaded.packet.host & next.packet.host & moves_on;
        let starts = offered & self.reservation.fetch_ready.val() & headroom & !waits;
        let free = !self.fetched.q.val() & !self.checked.q.val() & !self.clearing.q.val() & !self.sweep.val();
        self.reservation.fetch.next = starts & free;
        self.reservation.mailbox.next = next.mailbox;
        self.reservation.tag.next = Tag { tagged: next.tagged, window: next.window, epoch: next.packet.epoch };
        self.messages.read((starts & free) | self.sweep_reads.val(), next.packet.msg_slot);
        if self.sweep.val() {
            self.messages.read_address.next = self.sweep_at.q.val().get_bits::<8>(0);
        }
        self.fetched.d.next = starts & free;

        let loads = self.fetched.q.val() & !self.reservation.retry.val();
        self.reservation.load.next = loads;
        self.looked_up.ready.next = loads & !self.from_spill.q.val();
        let leaves = loads & self.from_spill.q.val();
        self.spill_out.d.next = spill_out ^ leaves;
        if leaves & !spill_out {
            self.spilled_valid[0].d.next = false;
        } else if leaves {
            self.spilled_valid[1].d.next = false;
        }
        self.reservation.message.next =
            MessageSpan { msg_len: next.packet.msg_len, start: next.packet.start, end: next.packet.end };
        self.reservation.frame.next = next.packet.frame;
        self.loaded.d.next = loads;
        self.same.d.next = self.loaded.q.val() & (next.packet.msg_slot == self.packet.q.val().packet.msg_slot);
        if self.fetched.q.val() {
            self.packet.d.next = next;
            self.entry.d.next = self.messages.read_data.val();
            self.entry.load(self.same.q.val() & self.stores.val(), self.entry_written.val());
        }
    }

    /// Cycle 2: compares the packet with the entry of its slot: same message, packet in bounds, bytes left.
    fn compare(&mut self) {
        let entry = self.entry.q.val();
        let loaded = self.packet.q.val();
        let q = loaded.packet;
        let length = bit_cast::<32, 16>(q.payload_len);
        self.checked.d.next = self.loaded.q.val();
        if self.loaded.q.val() {
            let is_known = q.has_slot
                & !q.single
                & entry.live
                & (entry.mailbox == loaded.mailbox)
                & (entry.src_nid == q.src_nid)
                & (entry.src_pid == q.src_pid)
                & (entry.msg_id == q.msg_id);
            self.packet_3.d.next = loaded;
            self.entry_3.d.next = entry;
            self.entry_3.d.next.left = entry.left - length;
            self.entry_3.d.next.mailbox = loaded.mailbox;
            self.entry_3.d.next.src_nid = q.src_nid;
            self.entry_3.d.next.src_pid = q.src_pid;
            self.entry_3.d.next.msg_id = q.msg_id;
            self.start_known.d.next = q.start + entry.offset;
            self.left_new.d.next = q.msg_len - length;
            self.known.d.next = is_known;
            self.fits.d.next = q.end <= entry.buffer.size;
            self.enough_left.d.next = length <= entry.left;
            self.ends.d.next = length == (if is_known { entry.left } else { q.msg_len });
        }
    }
}
