//! Binding: gives a message its buffer when its first packet arrives, and every later packet the same one.
//!
//! | neighbour | ports |
//! |---|---|
//! | lookup | in `looked_up`, `looked_up_valid`; out `looked_up_ready` |
//! | buffer queue | out `fetch`, `mailbox_number`, `tag`, `load`, `need`, `need_frame`, `reserve`; in `fetch_ready`, `refetch`, `head` |
//! | placement | out `job`, `job_valid` (no ready); in `job_room` |
//! | buffer reclaim | in `sweep` (held), `sweep_all`, `sweep_slot`, `sweep_mailbox`; out `swept`; out `verdict_color` |
//! | report | out `verdict`, `verdict_valid` (no ready); in `verdict_room` |
//! | packet engine | out `outcome`, `outcome_valid` (pulse, beside `job_valid` or `verdict_valid`) |
//!
//! One packet per two cycles; four cycles from `looked_up_valid` to `job_valid` or `verdict_valid`. Stalls while the buffer
//! queue changes a head or posts a buffer, and while one of the queues behind it has less than four places.
//!
//! The fate of a message is decided once, at the packet that arrives first: bound to the head buffer, with `msg_len` bytes
//! reserved there, or refused. It is kept in a RAM indexed by `msg_slot` until packets with `msg_len` bytes have been seen.
//! A TAGGED mailbox binds to the buffer whose epoch the packet names instead, if that is one of the oldest four.
//! Messages of one packet have no slot and leave nothing behind. A sequenced message that finds no buffer leaves nothing either:
//! its sender repeats it, and then it may find one. The entry names the message in full, so a slot that the
//! message table gave away before all bytes passed here (a handler that places only some packets) binds anew.
//!
//! Where a mailbox wants it, a message that finds no buffer goes to the catch-all of its process instead: each of its packets takes a second turn, four
//! cycles later at the earliest, as a message of its own. Such turns go first.
//!
//! A packet is written only if it lies inside its message, the message as *this* packet describes it inside the buffer, and
//! the payloads seen so far inside `msg_len`: a sender that contradicts itself cannot reach memory outside the buffer, nor
//! bytes of a buffer that is complete.

use crate::lookup::catch_all::with_header;
use crate::placement::queue_types::{Head, Need, Tag};
use crate::types::{BufferEntry, LookedUp, PlaceJob};
use spindle_blocks::desc::{PlacementDone, PlacementOutcome};
use spindle_blocks::ram::{RamStyle, SdpMemory};
use spindle_contract::reasons::{CLOSED, NO_POSTED_BUFFER, OUT_OF_BOUNDS, STALE_EPOCH};
use spindle_verilog::prelude::*;

/// What is known of a message.
#[derive(LogicStruct, Copy, Clone, Debug, Default, PartialEq)]
pub struct BindingEntry {
    /// The slot holds a message.
    pub live: Bit,
    /// It was refused.
    pub refused: Bit,
    /// Why.
    pub reason: Bits<5>,
    /// Buffer it is bound to.
    pub slot: Bits<14>,
    /// The buffer.
    pub buffer: BufferEntry,
    /// Where it lies in the buffer, if the mailbox chose that.
    pub offset: Bits<32>,
    /// Bytes not seen yet.
    pub left: Bits<32>,
    /// Mailbox.
    pub mailbox: Bits<12>,
    /// Source node.
    pub src_nid: Bits<32>,
    /// Source process.
    pub src_pid: Bits<16>,
    /// Message.
    pub msg_id: Bits<32>,
}

/// The binding stage. See the module text.
#[block]
pub struct Binding {
    /// Packet with its mailbox.
    pub looked_up: Sink<LookedUp>,
    /// Read the mailbox's queue.
    pub fetch: Signal<Out, Bit>,
    /// Of this mailbox.
    pub mailbox_number: Signal<Out, Bits<12>>,
    /// With `job_valid`: the mailbox that takes the packet.
    pub job_mailbox: Signal<Out, Bits<12>>,
    /// Its window and the packet's epoch.
    pub tag: Signal<Out, Tag>,
    /// Go on with it.
    pub load: Signal<Out, Bit>,
    /// The message.
    pub need: Signal<Out, Need>,
    /// Frame.
    pub need_frame: Signal<Out, Bits<16>>,
    /// A fetch may start.
    pub fetch_ready: Signal<In, Bit>,
    /// No load in this cycle.
    pub refetch: Signal<In, Bit>,
    /// Head buffer of the mailbox.
    pub head: Signal<In, Head>,
    /// Bind the message to it.
    pub reserve: Signal<Out, Bit>,
    /// Packet to place.
    pub job: Pulse<PlaceJob>,
    /// There is room for four.
    pub job_room: Signal<In, Bit>,
    /// Packet that needs no write: refused, or empty.
    pub verdict: Pulse<PlacementDone>,
    /// There is room for four.
    pub verdict_room: Signal<In, Bit>,
    /// What the mailbox said.
    pub outcome: Pulse<PlacementOutcome>,
    /// Bind nothing, and refuse what is left of some messages.
    pub sweep: Signal<In, Bit>,
    /// Those of the mailbox; else those bound to the buffer.
    pub sweep_all: Signal<In, Bit>,
    /// The buffer.
    pub sweep_slot: Signal<In, Bits<14>>,
    /// The mailbox.
    pub sweep_mailbox: Signal<In, Bits<12>>,
    /// It is done.
    pub swept: Signal<Out, Bit>,
    /// Colour of the packet at `verdict`.
    pub verdict_color: Signal<Out, Bit>,
    messages: SdpMemory<BindingEntry, 8>,
    fetched: Reg<Bit>,
    loaded: Reg<Bit>,
    checked: Reg<Bit>,
    same: Reg<Bit>,
    packet: DFF<LookedUp>,
    entry: DFF<BindingEntry>,
    packet_3: DFF<LookedUp>,
    entry_3: DFF<BindingEntry>,
    known: DFF<Bit>,
    fits: DFF<Bit>,
    enough_left: DFF<Bit>,
    ends: DFF<Bit>,
    left_fresh: DFF<Bits<32>>,
    start_known: DFF<Bits<32>>,
    outcome_out: DFF<PlacementOutcome>,
    outcome_out_valid: Reg<Bit>,
    job_out: DFF<PlaceJob>,
    job_out_valid: Reg<Bit>,
    verdict_out: DFF<PlacementDone>,
    verdict_out_valid: Reg<Bit>,
    clearing: Reg<Bit>,
    clear_slot: Reg<Bits<8>>,
    /// Slot that the sweep reads; 256 = all have been read.
    sweep_at: Reg<Bits<9>>,
    sweep_reads: Signal<Local, Bit>,
    sweep_read: Reg<Bit>,
    verdict_hue: DFF<Bit>,
    loads: Signal<Local, Bit>,
    stores: Signal<Local, Bit>,
    written: Signal<Local, BindingEntry>,
    /// Packets that found no buffer and go to a catch-all mailbox: two at most, because they go before others, of which one is under way when
    /// another is decided. In registers, since a choice of three for the next packet costs no more than one of two.
    spilled: [DFF<LookedUp>; 2],
    spilled_valid: [Reg<Bit>; 2],
    /// Place of the next one that comes, and of the next one that goes.
    spilled_in: Reg<Bit>,
    spilled_out: Reg<Bit>,
    /// The packet under way came from there.
    again: Reg<Bit>,
    next: Signal<Local, LookedUp>,
    next_again: Signal<Local, Bit>,
    mailbox_out: DFF<Bits<12>>,
    spill: Signal<Local, Bit>,
    place: Signal<Local, Bit>,
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
        // Cycle 3: the fate of the packet.
        let decided = self.packet_3.q.val();
        let p = decided.packet;
        let bound = self.entry_3.q.val();
        let head = self.head.val();
        let known = self.known.q.val();
        let fresh = !known & !decided.refused & !p.outside;
        let reserves = fresh & head.active & head.fits;
        let sound = self.fits.q.val() & self.enough_left.q.val() & !p.outside;
        let goes_on = known & !bound.refused & sound & !decided.refused;
        self.reserve.next = reserves;
        self.place.next = reserves | goes_on;
        self.reason.next = bits::<5>(OUT_OF_BOUNDS);
        if decided.refused {
            self.reason.next = decided.reason;
        } else if known & bound.refused {
            self.reason.next = bound.reason;
        } else if fresh & head.stale {
            self.reason.next = bits::<5>(STALE_EPOCH);
        } else if fresh & !head.active {
            self.reason.next = bits::<5>(NO_POSTED_BUFFER);
        }

        // No buffer: the whole message goes to the catch-all mailbox packet by packet, also when a buffer is posted meanwhile.
        let lost = known & bound.refused & (bound.reason == NO_POSTED_BUFFER as u64);
        self.spill.next = decided.spills & ((fresh & !head.active & !head.stale) | (lost & !decided.refused));
        let spills = self.checked.q.val() & self.spill.val();
        let comes_to = self.spilled_in.q.val();
        self.spilled_in.d.next = comes_to ^ spills;
        let spilled = LookedUp {
            packet: with_header(p),
            refused: false,
            mailbox: decided.catcher,
            tagged: false,
            spills: false,
            ..decided
        };
        if spills & !comes_to {
            self.spilled[0].d.next = spilled;
            self.spilled_valid[0].d.next = true;
        } else if spills {
            self.spilled[1].d.next = spilled;
            self.spilled_valid[1].d.next = true;
        }

        // What is kept of the message. `entry_3` has the bytes left already.
        self.written.next = bound;
        self.written.next.live = !self.ends.q.val();
        if !known {
            self.written.next.refused = !reserves;
            self.written.next.reason = self.reason.val();
            self.written.next.slot = head.slot;
            self.written.next.buffer = head.buffer;
            self.written.next.offset = head.offset;
            self.written.next.left = self.left_fresh.q.val();
        }
        // A packet refused for itself (key, header) says nothing of its message.
        self.stores.next = self.checked.q.val()
            & p.has_slot
            & !p.caught
            & ((fresh & (head.active | head.stale | decided.spills | !p.sequenced))
                | goes_on
                | (known & bound.refused & self.enough_left.q.val() & !decided.refused));
        self.messages.write_enable.next = self.stores.val() | self.clearing.q.val();
        self.messages.write_address.next = p.msg_slot;
        self.messages.write_data.next = self.written.val();
        if self.clearing.q.val() {
            self.messages.write_address.next = self.clear_slot.q.val();
            self.messages.write_data.next.live = false;
            self.clear_slot.d.next = self.clear_slot.q.val() + 1;
            self.clearing.d.next = !self.clear_slot.q.val().all();
        }

        // A sweep: one slot per cycle is read and, in the next, refused if it is meant. Nothing is being bound then.
        let swept = self.messages.read_data.val();
        let behind = (self.sweep_at.q.val() - 1).get_bits::<8>(0);
        let still = !self.fetched.q.val() & !self.loaded.q.val() & !self.checked.q.val();
        self.sweep_reads.next = self.sweep.val() & still & !self.sweep_at.q.val().get_bit(8);
        self.sweep_read.d.next = self.sweep_reads.val();
        if !self.sweep.val() {
            self.sweep_at.d.next = bits::<9>(0);
        } else if self.sweep_reads.val() {
            self.sweep_at.d.next = self.sweep_at.q.val() + 1;
        }
        self.swept.next = self.sweep_at.q.val().get_bit(8) & !self.sweep_read.q.val();
        if self.sweep_read.q.val() {
            let meant = if self.sweep_all.val() {
                swept.mailbox == self.sweep_mailbox.val()
            } else {
                swept.slot == self.sweep_slot.val()
            };
            self.messages.write_enable.next = swept.live & !swept.refused & meant;
            self.messages.write_address.next = behind;
            self.messages.write_data.next = swept;
            self.messages.write_data.next.refused = true;
            self.messages.write_data.next.reason = bits::<5>(STALE_EPOCH);
            if self.sweep_all.val() {
                self.messages.write_data.next.reason = bits::<5>(CLOSED);
            }
        }

        self.job_out_valid.d.next = self.checked.q.val() & self.place.val() & p.payload_len.any();
        if self.checked.q.val() {
            self.mailbox_out.d.next = decided.mailbox;
            self.job_out.d.next = PlaceJob {
                base: head.buffer.base,
                start: head.start,
                slot: head.slot,
                frame: p.frame,
                pkt: p.pkt,
                payload_offset: p.payload_offset,
                payload_len: p.payload_len,
                has_slot: p.has_slot,
                msg_slot: p.msg_slot,
                color: p.color,
            };
            if known {
                self.job_out.d.next.base = bound.buffer.base;
                self.job_out.d.next.start = self.start_known.q.val();
                self.job_out.d.next.slot = bound.slot;
            }
        }
        self.verdict_hue.d.next = p.color;
        self.verdict_color.next = self.verdict_hue.q.val();
        self.verdict_out_valid.d.next =
            self.checked.q.val() & !(self.place.val() & p.payload_len.any()) & !self.spill.val();
        if self.checked.q.val() {
            self.verdict_out.d.next = PlacementDone {
                pkt: p.pkt,
                frame: p.frame,
                has_slot: p.has_slot,
                msg_slot: p.msg_slot,
                payload_len: p.payload_len,
                placed: self.place.val(),
                reason: self.reason.val(),
                spare: bits::<7>(0),
            };
            if self.place.val() {
                self.verdict_out.d.next.reason = bits::<5>(0);
            }
        }

        self.outcome_out_valid.d.next = self.checked.q.val() & !self.spill.val();
        if self.checked.q.val() {
            self.outcome_out.d.next = PlacementOutcome {
                pkt: p.pkt,
                silent: decided.silent | (decided.quiet & !head.active & !head.stale),
                epoch: head.epoch,
                credit: head.credit,
            };
        }
        self.outcome.next = self.outcome_out.q.val();
        self.outcome.valid.next = self.outcome_out_valid.q.val();

        // Cycle 0: read. Not in the cycle in which a binding is written back, so the RAMs never read what they write.
        let goes_from = self.spilled_out.q.val();
        let waits = if goes_from { self.spilled_valid[1].q.val() } else { self.spilled_valid[0].q.val() };
        self.next_again.next = waits;
        if self.fetched.q.val() {
            self.next_again.next = self.again.q.val();
        }
        self.again.d.next = self.next_again.val();
        self.next.next = self.looked_up.val();
        if self.next_again.val() {
            self.next.next = if goes_from { self.spilled[1].q.val() } else { self.spilled[0].q.val() };
        }
        let next = self.next.val();
        let there = self.looked_up.valid.val() | waits;
        let starts = there & self.fetch_ready.val() & self.job_room.val() & self.verdict_room.val();
        let free = !self.fetched.q.val() & !self.checked.q.val() & !self.clearing.q.val() & !self.sweep.val();
        self.fetch.next = starts & free;
        self.mailbox_number.next = next.mailbox;
        self.tag.next = Tag { tagged: next.tagged, window: next.window, epoch: next.packet.epoch };
        self.messages.read_enable.next = (starts & free) | self.sweep_reads.val();
        self.messages.read_address.next = next.packet.msg_slot;
        if self.sweep.val() {
            self.messages.read_address.next = self.sweep_at.q.val().get_bits::<8>(0);
        }
        self.fetched.d.next = starts & free;

        // Cycle 1: load, or start again when the queue changes its head.
        self.loads.next = self.fetched.q.val() & !self.refetch.val();
        self.load.next = self.loads.val();
        self.looked_up.ready.next = self.loads.val() & !self.again.q.val();
        let leaves = self.loads.val() & self.again.q.val();
        self.spilled_out.d.next = goes_from ^ leaves;
        if leaves & !goes_from {
            self.spilled_valid[0].d.next = false;
        } else if leaves {
            self.spilled_valid[1].d.next = false;
        }
        self.need.next = Need { msg_len: next.packet.msg_len, start: next.packet.start, end: next.packet.end };
        self.need_frame.next = next.packet.frame;
        self.loaded.d.next = self.loads.val();
        self.same.d.next = self.loaded.q.val() & (next.packet.msg_slot == self.packet.q.val().packet.msg_slot);
        if self.fetched.q.val() {
            self.packet.d.next = next;
            self.entry.d.next = self.messages.read_data.val();
            if self.same.q.val() & self.stores.val() {
                self.entry.d.next = self.written.val();
            }
        }

        // Cycle 2: is it the message of the slot; does the packet fit; what is left behind it.
        let entry = self.entry.q.val();
        let loaded = self.packet.q.val();
        let q = loaded.packet;
        let length = bit_cast::<32, 16>(q.payload_len);
        self.checked.d.next = self.loaded.q.val();
        if self.loaded.q.val() {
            let is_known = q.has_slot
                & !q.caught
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
            self.left_fresh.d.next = q.msg_len - length;
            self.known.d.next = is_known;
            self.fits.d.next = q.end <= entry.buffer.size;
            self.enough_left.d.next = length <= entry.left;
            self.ends.d.next = length == (if is_known { entry.left } else { q.msg_len });
        }

        self.job.next = self.job_out.q.val();
        self.job_mailbox.next = self.mailbox_out.q.val();
        self.job.valid.next = self.job_out_valid.q.val();
        self.verdict.next = self.verdict_out.q.val();
        self.verdict.valid.next = self.verdict_out_valid.q.val();
    }
}
