//! Buffer queue: the posted buffers of every mailbox, as linked lists in shared RAMs with one free list.
//!
//! | neighbour | ports |
//! |---|---|
//! | binding | in `fetch`, `mailbox_number`, `tag`; `load`, `need`, `need_frame`; out `head`, in `reserve`; out `fetch_ready`, `refetch` |
//! | command unit, buffer reclaim | in `command`, `command_valid` (held); out `command_done` (pulse), `command_ok`, `command_small`, `new_window` |
//! | GET responder | in `peek` (held), `peek_slot`; out `peeked`, `peek_done` (pulse): a posted buffer by its slot, when nothing else reads |
//! | epochs | in `free_slot`, `free_mailbox`, `free_tagged`, `free_valid`; out `free_ready`; out `joined`, `joined_valid` (no ready); in `joined_room` |
//! | counters | out `record_entry`, `record_slot`, `record_write`; out `news`, `news_valid` (no ready: at most one per two cycles); in `news_room` |
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
//! One binding per two cycles, also to one mailbox. A binding that reaches the threshold closes the head (`news`); if
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

use crate::placement::queue_steps::{advanced, appended, bind, check, open_place, opened};
use crate::placement::queue_types::{Checked, Head, Need, QueueEntry, QueueState, Tag, WaitingBuffer};
use crate::placement::windows::{WindowEntry, Windows};
use crate::types::{
    BufferEntry, BufferEvent, Joined, QueueCommand, RecordEntry, QUEUE_CUT, QUEUE_END, QUEUE_INIT, QUEUE_POST,
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
    pub need: Signal<In, Need>,
    /// With `load`: frame, for the event.
    pub need_frame: Signal<In, Bits<16>>,
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
    pub joined: Pulse<Joined>,
    /// There is room for four.
    pub joined_room: Signal<In, Bit>,
    /// What the completion record of a posted buffer needs.
    pub record_entry: Signal<Out, RecordEntry>,
    /// Its slot.
    pub record_slot: Signal<Out, Bits<14>>,
    /// Write it.
    pub record_write: Signal<Out, Bit>,
    /// News for the counters.
    pub news: Pulse<BufferEvent>,
    /// The counters have room for four more.
    pub news_room: Signal<In, Bit>,
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
    load_need: DFF<Need>,
    load_tag: DFF<Tag>,
    /// Ordinal in the place that was read; else what a stream binds next.
    place_epoch: DFF<Bits<16>>,
    place_open: DFF<Bit>,
    entry: DFF<QueueEntry>,
    mailbox_3: DFF<Bits<12>>,
    frame_3: DFF<Bits<16>>,
    entry_3: DFF<QueueEntry>,
    tag_3: DFF<Tag>,
    judged: DFF<Checked>,
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
    place_free: DFF<Bit>,
    /// And one waits.
    beyond: DFF<Bit>,
    place: Reg<Bits<2>>,
    window_out: DFF<Bits<9>>,
    joined_out: DFF<Joined>,
    joined_out_valid: Reg<Bit>,
    too_small: DFF<Bit>,
    peeks: Reg<Bit>,
    /// `entry_3` is what a mailbox's queue becomes.
    stores: Reg<Bit>,
    event_out: DFF<BufferEvent>,
    event_out_valid: Reg<Bit>,
    commit: Signal<Local, Bit>,
    advance: Signal<Local, Bit>,
    written: Signal<Local, QueueEntry>,
    placed: Signal<Local, QueueEntry>,
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
        let judged = self.judged.q.val();
        let close = self.commit.val() & judged.closes;
        self.advance.next = close & !self.is_last.q.val() & !present.tagged;
        self.head.next = Head {
            active: present.active,
            stale: judged.stale,
            fits: judged.fits,
            slot: present.head,
            buffer: BufferEntry { base: present.buffer.base, size: judged.bounded },
            offset: judged.offset,
            start: judged.start,
            epoch: present.closed,
            credit: judged.credit,
        };
        // entry_3 holds the sums already, so what is written back depends on late signals by one bit only.
        let closes = self.checked.q.val() & judged.closes;
        self.written.next = present;
        self.written.next.active = present.active & !closes;
        if closes & !present.tagged {
            self.written.next.closed = present.closed + 1;
        }

        // Cycle 0 and 1: fetch and load. What a binding changes of a TAGGED mailbox comes from the place that the packet names.
        let tag = self.tag.val();
        let tag_place = tag.epoch.get_bits::<2>(0);
        let same_place = !tag.tagged | (tag_place == self.load_tag.q.val().epoch.get_bits::<2>(0));
        self.fetched.d.next = self.fetch.val();
        self.same.d.next = self.loaded.q.val() & (self.mailbox_number.val() == self.load_mailbox.q.val()) & same_place;
        let taker = self.windows.entry.val();
        self.placed.next = self.queues.read_data.val();
        if tag.tagged {
            self.placed.next.active = taker.open & self.queues.read_data.val().active;
            self.placed.next.head = taker.slot;
            self.placed.next.buffer = taker.buffer;
            self.placed.next.reserved = taker.reserved;
            self.placed.next.missing = taker.missing;
        }
        self.loaded.d.next = self.fetched.q.val() & self.load.val();
        if self.fetched.q.val() {
            self.load_mailbox.d.next = self.mailbox_number.val();
            self.load_need.d.next = self.need.val();
            self.load_frame.d.next = self.need_frame.val();
            self.load_tag.d.next = tag;
            self.place_epoch.d.next = bit_cast::<16, STREAM_BITS>(self.placed.val().number);
            self.place_open.d.next = taker.open;
            if tag.tagged {
                self.place_epoch.d.next = taker.epoch;
            }
            self.entry.d.next = self.placed.val();
            if self.same.q.val() & self.commit.val() {
                self.entry.d.next = self.written.val();
                self.place_open.d.next = self.written.val().active;
                if !tag.tagged {
                    self.place_epoch.d.next = bit_cast::<16, STREAM_BITS>(self.written.val().number);
                }
            }
        }

        // Cycle 2: check.
        let head = self.entry.q.val();
        let need = self.load_need.q.val();
        let asked = self.load_tag.q.val();
        let epoch = self.place_epoch.q.val();
        self.checked.d.next = self.loaded.q.val();
        if self.loaded.q.val() {
            self.mailbox_3.d.next = self.load_mailbox.q.val();
            self.frame_3.d.next = self.load_frame.q.val();
            self.tag_3.d.next = asked;
            self.is_last.d.next = head.head == head.tail;
            self.entry_3.d.next = bind(head, need, asked, epoch);
            self.judged.d.next = check(head, need, asked, epoch, self.place_open.q.val());
        }

        // The doorbell's command starts when no binding is under way; none starts while it waits.
        let waiting = self.command.valid.val();
        let moves = self.free_valid.val() & self.free_tagged.val();
        let still = running & !self.fetched.q.val() & !self.loaded.q.val() & !self.checked.q.val();
        self.fetch_ready.next = running & !waiting & !moves & self.news_room.val();
        self.refetch.next = !running | self.advance.val();
        self.start_move.next = still & moves;
        self.start_post.next = still & !moves & waiting & self.news_room.val() & self.joined_room.val();
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
        self.windows.place.next = tag_place;
        self.links.read_enable.next = self.start_post.val() | (self.state.q.val() == QueueState::NextLink);
        self.links.read_address.next = self.free_head.q.val();
        if self.state.q.val() == QueueState::NextLink {
            self.links.read_address.next = present.head;
        }
        let follows = self.state.q.val() == QueueState::NextBuffer;
        let peeks = self.peek.val() & running & !self.peeks.q.val();
        self.buffers.read_enable.next = follows | peeks;
        self.buffers.read_address.next = if follows { self.links.read_data.val() } else { self.peek_slot.val() };
        self.peeks.d.next = peeks;
        self.peeked.next = self.buffers.read_data.val().buffer;
        self.peek_done.next = self.peeks.q.val();

        // Write ports and events.
        self.stores.d.next = false;
        self.queues.write_enable.next =
            (self.commit.val() & !self.advance.val() & !present.tagged) | self.stores.q.val();
        self.queues.write_address.next = self.mailbox_3.q.val();
        self.queues.write_data.next = self.written.val();
        self.windows.write_enable.next = self.commit.val() & present.tagged;
        self.windows.write_window.next = self.tag_3.q.val().window;
        self.windows.write_place.next = self.tag_3.q.val().epoch.get_bits::<2>(0);
        self.windows.write_entry.next = WindowEntry {
            open: self.written.val().active,
            epoch: self.tag_3.q.val().epoch,
            slot: present.head,
            buffer: present.buffer,
            reserved: present.reserved,
            missing: present.missing,
        };
        self.windows.take.next = false;
        self.windows.give.next = false;
        self.windows.given.next = self.entry.q.val().number.get_bits::<9>(0);
        self.new_window.next = self.window_out.q.val();
        self.links.write_enable.next = false;
        self.links.write_address.next = self.free_slot.val();
        self.links.write_data.next = self.free_head.q.val();
        self.buffers.write_enable.next = false;
        self.buffers.write_address.next = self.post_slot.q.val();
        let posted = WaitingBuffer { buffer: post.buffer, missing: self.capacity.q.val() };
        self.buffers.write_data.next = posted;
        self.event_out_valid.d.next = close;
        self.event_out.d.next = BufferEvent {
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
        self.joined_out_valid.d.next = false;
        self.free_ready.next = (running & !starts & !moves) | (self.state.q.val() == QueueState::Moved);
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
                if self.free_valid.val() & !starts & !moves {
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
                self.windows.write_place.next = present.closed.get_bits::<2>(0);
                self.windows.write_entry.next = open_place(present.closed + 4, self.link.q.val(), waiting_buffer);
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
                    self.ok.d.next = self.windows.any.val() | !(post.tagged & post.opens);
                }
                self.window_out.d.next = self.windows.next.val();
                self.place.d.next = bits::<2>(0);
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
                self.place_free.d.next = live < 4;
                self.beyond.d.next = live > 4;
                self.is_last.d.next = live == 1;
                self.state.d.next = QueueState::Append;
            }
            QueueState::Append => {
                // What becomes of the mailbox's queue is written a cycle later.
                let queue = self.entry.q.val();
                self.entry_3.d.next = queue;
                self.mailbox_3.d.next = target;
                self.windows.write_window.next = queue.number.get_bits::<9>(0);
                self.windows.write_place.next = queue.closed.get_bits::<2>(0);
                self.state.d.next = QueueState::Done;
                if self.moving.q.val() & queue.active & self.beyond.q.val() {
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
                    self.event_out_valid.d.next = true;
                    self.event_out.d.next = BufferEvent {
                        open: false,
                        cut: true,
                        cancelled: post.cancelled,
                        slot: post.slot,
                        total: bits::<32>(0),
                        frame: bits::<16>(0),
                    };
                } else if post.op == QUEUE_INIT {
                    self.joined_out_valid.d.next = post.opens & self.ok.q.val();
                    self.stores.d.next = self.ok.q.val();
                    self.entry_3.d.next = opened(post, self.window_out.q.val());
                    self.windows.give.next = queue.tagged & !post.opens;
                    if post.tagged & post.opens & self.ok.q.val() {
                        self.windows.take.next = true;
                        self.state.d.next = QueueState::Empty;
                    }
                } else if self.ok.q.val() & !self.too_small.q.val() {
                    self.stores.d.next = true;
                    self.entry_3.d.next = appended(queue, self.post_slot.q.val(), posted, self.place_free.q.val());
                    self.links.write_enable.next = queue.active;
                    self.links.write_address.next = queue.tail;
                    self.links.write_data.next = self.post_slot.q.val();
                    self.windows.write_enable.next = queue.tagged & self.place_free.q.val();
                    self.windows.write_place.next = queue.posted.get_bits::<2>(0);
                    self.windows.write_entry.next = open_place(queue.posted, self.post_slot.q.val(), posted);
                    self.buffers.write_enable.next = true;
                    self.record_write.next = true;
                    self.joined_out_valid.d.next = true;
                    self.event_out_valid.d.next = true;
                    self.event_out.d.next = BufferEvent {
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
                self.windows.write_place.next = self.place.q.val();
                self.windows.write_entry.next =
                    WindowEntry { epoch: bit_cast::<16, 2>(!self.place.q.val()), ..Default::default() };
                self.place.d.next = self.place.q.val() + 1;
                if self.place.q.val().all() {
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
        self.joined_out.d.next = Joined {
            opens: post.op != QUEUE_POST,
            tagged: post.tagged,
            mailbox: post.mailbox,
            slot: self.post_slot.q.val(),
            base: post.buffer.base,
        };
        self.joined.next = self.joined_out.q.val();
        self.joined.valid.next = self.joined_out_valid.q.val();
        self.news.next = self.event_out.q.val();
        self.news.valid.next = self.event_out_valid.q.val();
    }
}
