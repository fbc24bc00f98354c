//! Buffer queue: the posted buffers of every mailbox, as linked lists in shared RAMs with one free list.
//!
//! | neighbour | ports |
//! |---|---|
//! | binding | in `fetch`, `mailbox_number`, `tag`; `load`, `span`, `frame_number`; out `head`, in `reserve`; out `fetch_ready`, `refetch` |
//! | command unit, buffer reclaim | in `command`, `command_valid` (held); out `command_done` (pulse), `command_ok`, `command_small`, `new_window` |
//! | GET responder | in `peek` (held), `peek_slot`; out `peeked`, `peek_done` (pulse): a posted buffer by its slot, when nothing else reads |
//! | epochs | in `free_slot`, `free_mailbox`, `free_tagged`, `free_valid`; out `free_ready`; out `epoch_update`, `joined_valid` (no ready); in `epoch_update_headroom` |
//! | counters | out `record_entry`, `record_slot`, `record_write`; out `buffer_event`, `news_valid` (no ready: at most one per two cycles); in `buffer_event_headroom` |
//!
//! A buffer is POSTED (behind the head), ACTIVE (the head: messages are bound to it), DRAINING (closed: its messages still
//! arrive; any number of buffers may drain) and DONE (recorded; its slot is free when all before it are done). The state of a mailbox is its
//! head, so a binding needs one RAM read:
//!
//! | cycle | what |
//! |---|---|
//! | 0 | `fetch`: the mailbox's entry is read |
//! | 1 | `load`: the entry, or what the binding just before made of it, goes into a register |
//! | 2 | does the message fit, does it reach the threshold; the sums |
//! | 3 | `head` valid; with `reserve` the entry is written back |
//!
//! One binding per two cycles, also to one mailbox. A binding that reaches the threshold closes the head (`buffer_event`); if
//! another buffer waits behind it, fetching the new head takes three more cycles, and a binding that was loaded meanwhile
//! starts again (`refetch`). A posted buffer takes four cycles in which nothing is bound, a freed slot none.
//!
//! **TAGGED.** Of the oldest four buffers that are not DONE each takes the messages that name its ordinal. What a binding changes lies in
//! their places of the mailbox's window ([`Windows`]), read and written beside the queue in the same cycles. The queue's
//! `closed` counts DONE buffers and is the epoch, `head` is the newest buffer in the window. A freed slot of such a mailbox moves the window: four
//! cycles in which nothing is bound, seven if a buffer enters it. Opening the mailbox takes four more, in which its places are emptied.
//!
//! **Streams** are managed mailboxes that bind messages in the order of the ordinals in their packets' tags. The next one stands in the mailbox's entry and counts on
//! with each binding, so it costs no cycle; a message whose turn has not come finds no buffer, one whose turn is over is stale.
//!
//! What `missing` counts down makes the modes: bytes, or operations (a message takes one), or, managed, the bytes that may still
//! be taken before the buffer retires: its size less the least that must be left. A managed mailbox puts a message behind those
//! before it, and bounds it by what is left.

use crate::placement::queue_steps::{advanced, appended, bind, check, open_position, opened};
use crate::placement::queue_types::{Head, HeadCheck, MessageSpan, QueueEntry, QueueState, Tag, WaitingBuffer};
use crate::placement::windows::{WindowEntry, Windows};
use crate::types::{
    BufferEntry, BufferEvent, EpochUpdate, QueueCommand, RecordEntry, QUEUE_CUT, QUEUE_END, QUEUE_INIT, QUEUE_POST,
};
use spindle_blocks::ram::{RamStyle, SdpMemory, SdpRam};
use spindle_contract::params::STREAM_BITS;
use spindle_verilog::prelude::*;

/// The buffer queues. See the module text.
#[block]
pub struct BufferQueue {
    /// Read the queue of `mailbox_number`; only while `fetch_ready`, and not in two successive cycles.
    pub fetch: Signal<In, Bit>,
    /// Mailbox, in the cycle of `fetch` and the next.
    pub mailbox_number: Signal<In, Bits<12>>,
    /// Its window and the packet's epoch, likewise.
    pub tag: Signal<In, Tag>,
    /// One cycle after `fetch`: go on with it.
    pub load: Signal<In, Bit>,
    /// With `load`: the message.
    pub span: Signal<In, MessageSpan>,
    /// With `load`: frame, for the event.
    pub frame_number: Signal<In, Bits<16>>,
    /// Two cycles after `load`: the head buffer.
    pub head: Signal<Out, Head>,
    /// In that cycle: bind the message to it.
    pub reserve: Signal<In, Bit>,
    /// A fetch may start.
    pub fetch_ready: Signal<Out, Bit>,
    /// No load in this cycle: fetch again later.
    pub refetch: Signal<Out, Bit>,
    /// Command of the doorbell.
    pub command: PulseSink<QueueCommand>,
    /// The command is done.
    pub command_done: Signal<Out, Bit>,
    /// With it: there was a free slot; opened: and a free window, if it needs one.
    pub command_ok: Signal<Out, Bit>,
    /// With it: the buffer was too small for the mailbox, and not posted.
    pub command_small: Signal<Out, Bit>,
    /// Window of the mailbox opened last.
    pub new_window: Signal<Out, Bits<9>>,
    /// Which buffer has `peek_slot`? Held until `peek_done`.
    pub peek: Signal<In, Bit>,
    /// The slot.
    pub peek_slot: Signal<In, Bits<14>>,
    /// The buffer.
    pub peeked: Signal<Out, BufferEntry>,
    /// There it is.
    pub peek_done: Signal<Out, Bit>,
    /// Slot of a completed buffer.
    pub free_slot: Signal<In, Bits<14>>,
    /// There is one.
    pub free_valid: Signal<In, Bit>,
    /// Its mailbox.
    pub free_mailbox: Signal<In, Bits<12>>,
    /// Which is TAGGED.
    pub free_tagged: Signal<In, Bit>,
    /// It is taken.
    pub free_ready: Signal<Out, Bit>,
    /// Buffer posted, or mailbox opened or emptied.
    pub epoch_update: Pulse<EpochUpdate>,
    /// There is room for four.
    pub epoch_update_headroom: Signal<In, Bit>,
    /// What the completion record of a posted buffer needs.
    pub record_entry: Signal<Out, RecordEntry>,
    /// Its slot.
    pub record_slot: Signal<Out, Bits<14>>,
    /// Write it.
    pub record_write: Signal<Out, Bit>,
    /// News for the counters.
    pub buffer_event: Pulse<BufferEvent>,
    /// The counters have room for four more.
    pub buffer_event_headroom: Signal<In, Bit>,
    queues: SdpMemory<QueueEntry, 12>,
    buffers: SdpMemory<WaitingBuffer, 14>,
    links: SdpRam<14, 14>,
    windows: Windows,
    state: Reg<QueueState>,
    fetched: Reg<Bit>,
    loaded: Reg<Bit>,
    checked: Reg<Bit>,
    same: Reg<Bit>,
    load_mailbox: DFF<Bits<12>>,
    load_frame: DFF<Bits<16>>,
    load_span: DFF<MessageSpan>,
    load_tag: DFF<Tag>,
    /// Ordinal in the place that was read; else what a stream binds next.
    position_epoch: DFF<Bits<16>>,
    position_open: DFF<Bit>,
    entry: DFF<QueueEntry>,
    mailbox_3: DFF<Bits<12>>,
    frame_3: DFF<Bits<16>>,
    entry_3: DFF<QueueEntry>,
    tag_3: DFF<Tag>,
    head_check: DFF<HeadCheck>,
    is_last: DFF<Bit>,
    /// Slots never used so far.
    fresh: Reg<Bits<15>>,
    free_head: DFF<Bits<14>>,
    free_count: Reg<Bits<15>>,
    freed_any: Reg<Bit>,
    fresh_any: Reg<Bit>,
    post_slot: DFF<Bits<14>>,
    link: DFF<Bits<14>>,
    ok: DFF<Bit>,
    capacity: DFF<Bits<32>>,
    /// The slot to be cut is the head, and the only one.
    cuts_head: DFF<Bit>,
    cuts_last: DFF<Bit>,
    cutting: Reg<Bit>,
    /// The window of a mailbox moves.
    moving: Reg<Bit>,
    /// It has a place free for another buffer.
    position_free: DFF<Bit>,
    /// And one waits.
    waits_beyond: DFF<Bit>,
    position: Reg<Bits<2>>,
    window_out: DFF<Bits<9>>,
    epoch_update_out: DFF<EpochUpdate>,
    epoch_update_out_valid: Reg<Bit>,
    too_small: DFF<Bit>,
    peeks: Reg<Bit>,
    /// `entry_3` is what a mailbox's queue becomes.
    stores: Reg<Bit>,
    buffer_event_out: DFF<BufferEvent>,
    buffer_event_out_valid: Reg<Bit>,
    commit: Signal<Local, Bit>,
    advance: Signal<Local, Bit>,
    entry_written: Signal<Local, QueueEntry>,
    fetched_entry: Signal<Local, QueueEntry>,
    start_post: Signal<Local, Bit>,
    start_move: Signal<Local, Bit>,
    _slots: u64,
}

impl BufferQueue {
    /// Queues of `mailboxes` mailboxes that share `posted_buffers` slots; windows that were given back stand in a memory of the given kind.
    pub fn new(mailboxes: usize, posted_buffers: usize, returned: RamStyle) -> Self {
        assert!(
            posted_buffers.is_power_of_two() && (64..=16384).contains(&posted_buffers),
            "BufferQueue: {posted_buffers} posted buffers cannot be had; choose a power of two from 64 to 16384"
        );
        // Beyond 8192 words an UltraRAM column costs less than the block RAMs.
        let style = if posted_buffers > 8192 { RamStyle::Ultra } else { RamStyle::Block };
        Self {
            queues: SdpMemory::with_depth(RamStyle::Block, 1, mailboxes),
            buffers: SdpMemory::with_depth(style, 1, posted_buffers),
            links: SdpRam::with_depth(RamStyle::Block, 1, posted_buffers),
            windows: Windows::new(mailboxes, returned),
            fresh_any: Reg::new(true),
            _slots: posted_buffers as u64,
            ..Self::blank()
        }
    }
}

#[hdl]
impl BufferQueue {
    fn update(&mut self) {
        let running = self.state.q.val() == QueueState::Run;
        let post = self.command.val();

        // Cycle 3 of a binding: commit.
        let present = self.entry_3.q.val();
        self.commit.next = self.checked.q.val() & self.reserve.val();
        let head_check = self.head_check.q.val();
        let close = self.commit.val() & head_check.closes;
        self.advance.next = close & !self.is_last.q.val() & !present.tagged;
        self.head.next = Head {
            active: present.active,
            stale: head_check.stale,
            fits: head_check.fits,
            slot: present.head,
            buffer: BufferEntry { base: present.buffer.base, size: head_check.bounded },
            offset: head_check.offset,
            start: head_check.start,
            epoch: present.closed,
            credit: head_check.credit,
        };
        // entry_3 holds the sums already, so what is written back depends on late signals by one bit only.
        let closes = self.checked.q.val() & head_check.closes;
        self.entry_written.next = present;
        self.entry_written.next.active = present.active & !closes;
        if closes & !present.tagged {
            self.entry_written.next.closed = present.closed + 1;
        }

        // Cycle 0 and 1: fetch and load. What a binding changes of a TAGGED mailbox comes from the place that the packet names.
        let tag = self.tag.val();
        let tag_position = tag.epoch.get_bits::<2>(0);
        let same_position = !tag.tagged | (tag_position == self.load_tag.q.val().epoch.get_bits::<2>(0));
        self.fetched.d.next = self.fetch.val();
        self.same.d.next =
            self.loaded.q.val() & (self.mailbox_number.val() == self.load_mailbox.q.val()) & same_position;
        let window_entry = self.windows.entry.val();
        self.fetched_entry.next = self.queues.read_data.val();
        if tag.tagged {
            self.fetched_entry.next.active = window_entry.open & self.queues.read_data.val().active;
            self.fetched_entry.next.head = window_entry.slot;
            self.fetched_entry.next.buffer = window_entry.buffer;
            self.fetched_entry.next.reserved = window_entry.reserved;
            self.fetched_entry.next.missing = window_entry.missing;
        }
        self.loaded.d.next = self.fetched.q.val() & self.load.val();
        if self.fetched.q.val() {
            self.load_mailbox.d.next = self.mailbox_number.val();
            self.load_span.d.next = self.span.val();
            self.load_frame.d.next = self.frame_number.val();
            self.load_tag.d.next = tag;
            self.position_epoch.d.next = bit_cast::<16, STREAM_BITS>(self.fetched_entry.val().number);
            self.position_open.d.next = window_entry.open;
            if tag.tagged {
                self.position_epoch.d.next = window_entry.epoch;
            }
            self.entry.d.next = self.fetched_entry.val();
            if self.same.q.val() & self.commit.val() {
                self.entry.d.next = self.entry_written.val();
                self.position_open.d.next = self.entry_written.val().active;
                if !tag.tagged {
                    self.position_epoch.d.next = bit_cast::<16, STREAM_BITS>(self.entry_written.val().number);
                }
            }
        }

        // Cycle 2: check.
        let head = self.entry.q.val();
        let span = self.load_span.q.val();
        let tag_2 = self.load_tag.q.val();
        let epoch = self.position_epoch.q.val();
        self.checked.d.next = self.loaded.q.val();
        if self.loaded.q.val() {
            self.mailbox_3.d.next = self.load_mailbox.q.val();
            self.frame_3.d.next = self.load_frame.q.val();
            self.tag_3.d.next = tag_2;
            self.is_last.d.next = head.head == head.tail;
            self.entry_3.d.next = bind(head, span, tag_2, epoch);
            self.head_check.d.next = check(head, span, tag_2, epoch, self.position_open.q.val());
        }

        // The doorbell's command starts when no binding is under way; none starts while it waits.
        let waiting = self.command.valid.val();
        let window_moves = self.free_valid.val() & self.free_tagged.val();
        let idle = running & !self.fetched.q.val() & !self.loaded.q.val() & !self.checked.q.val();
        self.fetch_ready.next = running & !waiting & !window_moves & self.buffer_event_headroom.val();
        self.refetch.next = !running | self.advance.val();
        self.start_move.next = idle & window_moves;
        self.start_post.next =
            idle & !window_moves & waiting & self.buffer_event_headroom.val() & self.epoch_update_headroom.val();
        let starts = self.start_post.val() | self.start_move.val();
        let target = if self.moving.q.val() { self.free_mailbox.val() } else { post.mailbox };

        // Read ports.
        self.queues.read_enable.next = self.fetch.val() | starts;
        self.queues.read_address.next = self.mailbox_number.val();
        if self.start_post.val() {
            self.queues.read_address.next = post.mailbox;
        } else if self.start_move.val() {
            self.queues.read_address.next = self.free_mailbox.val();
        }
        self.windows.read_enable.next = self.fetch.val() & tag.tagged;
        self.windows.window.next = tag.window;
        self.windows.position.next = tag_position;
        self.links.read_enable.next = self.start_post.val() | (self.state.q.val() == QueueState::NextLink);
        self.links.read_address.next = self.free_head.q.val();
        if self.state.q.val() == QueueState::NextLink {
            self.links.read_address.next = present.head;
        }
        let reads_next = self.state.q.val() == QueueState::NextBuffer;
        let peeks = self.peek.val() & running & !self.peeks.q.val();
        self.buffers.read_enable.next = reads_next | peeks;
        self.buffers.read_address.next = if reads_next { self.links.read_data.val() } else { self.peek_slot.val() };
        self.peeks.d.next = peeks;
        self.peeked.next = self.buffers.read_data.val().buffer;
        self.peek_done.next = self.peeks.q.val();

        // Write ports and events.
        self.stores.d.next = false;
        self.queues.write_enable.next =
            (self.commit.val() & !self.advance.val() & !present.tagged) | self.stores.q.val();
        self.queues.write_address.next = self.mailbox_3.q.val();
        self.queues.write_data.next = self.entry_written.val();
        self.windows.write_enable.next = self.commit.val() & present.tagged;
        self.windows.write_window.next = self.tag_3.q.val().window;
        self.windows.write_position.next = self.tag_3.q.val().epoch.get_bits::<2>(0);
        self.windows.write_entry.next = WindowEntry {
            open: self.entry_written.val().active,
            epoch: self.tag_3.q.val().epoch,
            slot: present.head,
            buffer: present.buffer,
            reserved: present.reserved,
            missing: present.missing,
        };
        self.windows.allocate.next = false;
        self.windows.give_back.next = false;
        self.windows.returned_window.next = self.entry.q.val().number.get_bits::<9>(0);
        self.new_window.next = self.window_out.q.val();
        self.links.write_enable.next = false;
        self.links.write_address.next = self.free_slot.val();
        self.links.write_data.next = self.free_head.q.val();
        self.buffers.write_enable.next = false;
        self.buffers.write_address.next = self.post_slot.q.val();
        let posted = WaitingBuffer { buffer: post.buffer, missing: self.capacity.q.val() };
        self.buffers.write_data.next = posted;
        self.buffer_event_out_valid.d.next = close;
        self.buffer_event_out.d.next = BufferEvent {
            open: false,
            cut: false,
            cancelled: false,
            slot: present.head,
            total: present.reserved,
            frame: self.frame_3.q.val(),
        };
        self.record_entry.next = RecordEntry {
            base: post.buffer.base,
            record: post.record,
            epoch: self.entry.q.val().posted,
            mailbox: post.mailbox,
            pid: post.pid,
        };
        self.record_slot.next = self.post_slot.q.val();
        self.record_write.next = false;
        self.epoch_update_out_valid.d.next = false;
        self.free_ready.next = (running & !starts & !window_moves) | (self.state.q.val() == QueueState::Moved);
        self.command_done.next = false;
        self.command_ok.next = self.ok.q.val();
        self.command_small.next = self.too_small.q.val();

        let waiting_buffer = self.buffers.read_data.val();
        match self.state.q.val() {
            QueueState::Run => {
                if self.advance.val() {
                    self.state.d.next = QueueState::NextLink;
                } else if starts {
                    self.moving.d.next = self.start_move.val();
                    self.state.d.next = QueueState::Post;
                }
                if self.free_valid.val() & !starts & !window_moves {
                    self.links.write_enable.next = true;
                    self.free_head.d.next = self.free_slot.val();
                    self.free_count.d.next = self.free_count.q.val() + 1;
                    self.freed_any.d.next = true;
                }
            }
            QueueState::NextLink => {
                self.state.d.next = QueueState::NextBuffer;
            }
            QueueState::NextBuffer => {
                self.link.d.next = self.links.read_data.val();
                self.state.d.next = QueueState::NextHead;
            }
            QueueState::NextHead => {
                self.queues.write_enable.next = true;
                self.queues.write_data.next = advanced(present, self.link.q.val(), waiting_buffer);
                // The fifth buffer takes the place of the first.
                self.windows.write_enable.next = present.tagged;
                self.windows.write_window.next = present.number.get_bits::<9>(0);
                self.windows.write_position.next = present.closed.get_bits::<2>(0);
                self.windows.write_entry.next = open_position(present.closed + 4, self.link.q.val(), waiting_buffer);
                self.state.d.next = QueueState::Run;
                if self.cutting.q.val() {
                    self.state.d.next = QueueState::Done;
                } else if self.moving.q.val() {
                    self.state.d.next = QueueState::Moved;
                }
            }
            QueueState::Post => {
                // Freed slots first; `links` was read at `free_head` for the case that one is taken.
                self.entry.d.next = self.queues.read_data.val();
                self.link.d.next = self.links.read_data.val();
                self.ok.d.next = self.freed_any.q.val() | self.fresh_any.q.val();
                if post.op == QUEUE_INIT {
                    self.ok.d.next = self.windows.any_free.val() | !(post.tagged & post.opens);
                }
                self.window_out.d.next = self.windows.free.val();
                self.position.d.next = bits::<2>(0);
                self.post_slot.d.next = self.fresh.q.val().get_bits::<14>(0);
                if self.freed_any.q.val() {
                    self.post_slot.d.next = self.free_head.q.val();
                }
                self.state.d.next = QueueState::Measure;
            }
            QueueState::Measure => {
                // Operations need no room. A managed buffer holds at least what must be left.
                let queue = self.entry.q.val();
                let size = post.buffer.size;
                self.capacity.d.next = queue.threshold;
                if queue.managed {
                    self.capacity.d.next = size - queue.threshold;
                }
                let tight = queue.managed & (queue.threshold == size);
                self.too_small.d.next = !queue.ops & ((size < queue.threshold) | tight);
                self.cuts_head.d.next = queue.active & (queue.head == post.slot);
                self.cuts_last.d.next = queue.head == queue.tail;
                let live = queue.posted - queue.closed;
                self.position_free.d.next = live < 4;
                self.waits_beyond.d.next = live > 4;
                self.is_last.d.next = live == 1;
                self.state.d.next = QueueState::Append;
            }
            QueueState::Append => {
                // What becomes of the mailbox's queue is written a cycle later.
                let queue = self.entry.q.val();
                self.entry_3.d.next = queue;
                self.mailbox_3.d.next = target;
                self.windows.write_window.next = queue.number.get_bits::<9>(0);
                self.windows.write_position.next = queue.closed.get_bits::<2>(0);
                self.state.d.next = QueueState::Done;
                if self.moving.q.val() & queue.active & self.waits_beyond.q.val() {
                    self.state.d.next = QueueState::NextLink;
                } else if self.moving.q.val() {
                    // The oldest buffer is DONE. A mailbox that is being closed has no queue any more.
                    self.stores.d.next = queue.active;
                    self.entry_3.d.next.active = !self.is_last.q.val();
                    self.entry_3.d.next.closed = queue.closed + 1;
                    self.state.d.next = QueueState::Moved;
                } else if (post.op == QUEUE_CUT) & queue.tagged {
                    // The oldest buffer takes no more messages.
                    self.windows.write_enable.next = true;
                    self.windows.write_entry.next = WindowEntry { epoch: queue.closed, ..Default::default() };
                } else if post.op == QUEUE_CUT {
                    // The head goes as if its threshold were reached; a buffer that drains is not in the queue any more.
                    if self.cuts_head.q.val() & self.cuts_last.q.val() {
                        self.stores.d.next = true;
                        self.entry_3.d.next.active = false;
                        self.entry_3.d.next.closed = queue.closed + 1;
                    } else if self.cuts_head.q.val() {
                        self.cutting.d.next = true;
                        self.state.d.next = QueueState::NextLink;
                    }
                } else if post.op == QUEUE_END {
                    self.buffer_event_out_valid.d.next = true;
                    self.buffer_event_out.d.next = BufferEvent {
                        open: false,
                        cut: true,
                        cancelled: post.cancelled,
                        slot: post.slot,
                        total: bits::<32>(0),
                        frame: bits::<16>(0),
                    };
                } else if post.op == QUEUE_INIT {
                    self.epoch_update_out_valid.d.next = post.opens & self.ok.q.val();
                    self.stores.d.next = self.ok.q.val();
                    self.entry_3.d.next = opened(post, self.window_out.q.val());
                    self.windows.give_back.next = queue.tagged & !post.opens;
                    if post.tagged & post.opens & self.ok.q.val() {
                        self.windows.allocate.next = true;
                        self.state.d.next = QueueState::Empty;
                    }
                } else if self.ok.q.val() & !self.too_small.q.val() {
                    self.stores.d.next = true;
                    self.entry_3.d.next = appended(queue, self.post_slot.q.val(), posted, self.position_free.q.val());
                    self.links.write_enable.next = queue.active;
                    self.links.write_address.next = queue.tail;
                    self.links.write_data.next = self.post_slot.q.val();
                    self.windows.write_enable.next = queue.tagged & self.position_free.q.val();
                    self.windows.write_position.next = queue.posted.get_bits::<2>(0);
                    self.windows.write_entry.next = open_position(queue.posted, self.post_slot.q.val(), posted);
                    self.buffers.write_enable.next = true;
                    self.record_write.next = true;
                    self.epoch_update_out_valid.d.next = true;
                    self.buffer_event_out_valid.d.next = true;
                    self.buffer_event_out.d.next = BufferEvent {
                        open: true,
                        cut: false,
                        cancelled: false,
                        slot: self.post_slot.q.val(),
                        total: bits::<32>(0),
                        frame: bits::<16>(0),
                    };
                    if self.freed_any.q.val() {
                        self.free_head.d.next = self.link.q.val();
                        self.free_count.d.next = self.free_count.q.val() - 1;
                        self.freed_any.d.next = self.free_count.q.val() != 1;
                    } else {
                        self.fresh.d.next = self.fresh.q.val() + 1;
                        self.fresh_any.d.next = self.fresh.q.val() != bits::<15>(self._slots - 1);
                    }
                }
            }
            QueueState::Empty => {
                // An ordinal that does not belong there.
                self.windows.write_enable.next = true;
                self.windows.write_window.next = self.window_out.q.val();
                self.windows.write_position.next = self.position.q.val();
                self.windows.write_entry.next =
                    WindowEntry { epoch: bit_cast::<16, 2>(!self.position.q.val()), ..Default::default() };
                self.position.d.next = self.position.q.val() + 1;
                if self.position.q.val().all() {
                    self.state.d.next = QueueState::Done;
                }
            }
            QueueState::Moved => {
                self.links.write_enable.next = true;
                self.free_head.d.next = self.free_slot.val();
                self.free_count.d.next = self.free_count.q.val() + 1;
                self.freed_any.d.next = true;
                self.moving.d.next = false;
                self.state.d.next = QueueState::Run;
            }
            QueueState::Done => {
                self.command_done.next = true;
                self.cutting.d.next = false;
                self.state.d.next = QueueState::Run;
            }
            _ => {
                self.state.d.next = QueueState::Run;
            }
        }
        self.epoch_update_out.d.next = EpochUpdate {
            opens: post.op != QUEUE_POST,
            tagged: post.tagged,
            mailbox: post.mailbox,
            slot: self.post_slot.q.val(),
            base: post.buffer.base,
        };
        self.epoch_update.next = self.epoch_update_out.q.val();
        self.epoch_update.valid.next = self.epoch_update_out_valid.q.val();
        self.buffer_event.next = self.buffer_event_out.q.val();
        self.buffer_event.valid.next = self.buffer_event_out_valid.q.val();
    }
}
