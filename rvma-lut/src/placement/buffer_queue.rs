//! Buffer queue: the posted buffers of every mailbox, as linked lists in shared RAMs with one free list.
//!
//! | neighbour | ports |
//! |---|---|
//! | binding | in `reservation` |
//! | command unit, ring posts, buffer reclaim | in `command` (held); out `new_window` |
//! | GET responder | in `peek` (held): a posted buffer by its slot, read while the queue reads none |
//! | epochs | in `freed`; out `epoch_update` (with headroom) |
//! | counters, completion, receive maps | out `posted` (pulse), `posted_record` |
//! | holds, on the way to the counters | out `buffer_event` (with headroom, at most one per two cycles) |
//!
//! A buffer is POSTED (it waits after the head), ACTIVE (the head: messages are bound to it), DRAINING (closed: its
//! messages still arrive; any number of buffers may drain) or DONE (recorded; its slot is free when all buffers before
//! it are done). The entry of a mailbox holds its head, so a reservation needs one RAM read:
//!
//! | cycle | step |
//! |---|---|
//! | 0 | `fetch`: the mailbox's entry is read |
//! | 1 | `load`: the entry, or the result of the reservation just before, goes into a register |
//! | 2 | does the message fit, does it reach the threshold; the sums |
//! | 3 | `head` valid; with `commit` the entry is written back |
//!
//! Throughput is one reservation per two cycles, also for one mailbox. A reservation that reaches the threshold closes
//! the head (`buffer_event`); if another buffer waits, fetching the new head takes three more cycles, and a reservation
//! that was loaded meanwhile starts again (`retry`). Posting a buffer takes four cycles without reservations, freeing a
//! slot none.
//!
//! **TAGGED.** Each of the oldest four buffers that are not DONE takes the messages that name its ordinal. Its changing
//! fields lie in the mailbox's window ([`Windows`]), which is read and written beside the queue in the same cycles. The
//! queue's `closed` counts DONE buffers and is the epoch, `head` is the newest buffer in the window. A freed slot of
//! such a mailbox moves the window: four cycles without reservations, seven if a buffer enters the window. Opening the
//! mailbox takes four more, to empty the window.
//!
//! **Streams** are managed mailboxes that bind messages in the order of the ordinals in their packets' tags. The next
//! ordinal lies in the mailbox's entry and counts with each reservation, so it costs no cycle. A message before its
//! turn finds no buffer, one after its turn is stale.
//!
//! The count `missing` makes the modes: bytes, operations (a message counts one), or, managed, the bytes that may still
//! be reserved before the buffer retires: its size less the least that must be left. A managed mailbox appends a
//! message to those before it, and bounds it by the space left.

use crate::placement::queue_steps::{advanced, appended, bind, check, open_position, opened};
use crate::placement::queue_types::{Head, HeadCheck, MessageSpan, QueueEntry, QueueState, Tag, WaitingBuffer};
use crate::placement::windows::{WindowEntry, Windows};
use crate::prelude::*;
use spindle_contract::params::STREAM_BITS;

/// The buffer queues. See the module text.
#[block]
pub struct BufferQueue {
    /// Reservation in the head buffer of a mailbox.
    pub reservation: ReservationSink,
    /// Change of a queue.
    pub command: QueueCommandSink,
    /// Window of the mailbox opened last.
    pub new_window: Signal<Out, Bits<9>>,
    /// Read of a posted buffer.
    pub peek: PeekSink,
    /// Slot of a buffer that is DONE, like all before it.
    pub freed: FreedSlotSink,
    /// Buffer posted, or mailbox opened or emptied.
    pub epoch_update: HeadroomSource<EpochUpdate>,
    /// Slot of a buffer that is being posted.
    pub posted: Pulse<Bits<14>>,
    /// With `posted`: fields of the completion record.
    pub posted_record: Signal<Out, RecordEntry>,
    /// Buffer posted, closed or cut.
    pub buffer_event: HeadroomSource<BufferEvent>,
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
    load_message: DFF<MessageSpan>,
    load_tag: DFF<Tag>,
    /// TAGGED: ordinal at the window position that was read; else ordinal of the stream's next message.
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
    /// Bytes of the buffer that is posted: the sources of a command take turns, so the bytes are found out late.
    size: DFF<Bits<32>>,
    ok: DFF<Bit>,
    capacity: DFF<Bits<32>>,
    /// The slot to be cut is the head, and the only buffer.
    cuts_head: DFF<Bit>,
    cuts_last: DFF<Bit>,
    cutting: Reg<Bit>,
    /// The window of a mailbox moves.
    moving: Reg<Bit>,
    /// The window has a free position.
    position_free: DFF<Bit>,
    /// A buffer waits outside the window.
    waits_beyond: DFF<Bit>,
    position: Reg<Bits<2>>,
    window_out: DFF<Bits<9>>,
    epoch_update_out: DFF<EpochUpdate>,
    epoch_update_out_valid: Reg<Bit>,
    too_small: DFF<Bit>,
    peeks: Reg<Bit>,
    /// `entry_3` is to be written.
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
    /// Queues of `mailboxes` mailboxes that share `posted_buffers` slots; the numbers of free windows lie in a memory
    /// of the given kind.
    pub fn new(mailboxes: usize, posted_buffers: usize, returned: RamStyle) -> Self {
        assert!(
            posted_buffers.is_power_of_two() && (64..=16384).contains(&posted_buffers),
            "BufferQueue: {posted_buffers} posted buffers are not possible; choose a power of two from 64 to 16384"
        );
        // Beyond 8192 words an UltraRAM column costs less than block RAM.
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

/// Start of a command or of a window's move, in state `Run`.
#[derive(LogicStruct, Copy, Clone, Debug, Default, PartialEq)]
struct Start {
    /// State `Run`.
    running: Bit,
    /// A command starts, or a window moves.
    starts: Bit,
    /// A freed slot belongs to a TAGGED mailbox.
    window_moves: Bit,
}

#[hdl]
impl BufferQueue {
    fn update(&mut self) {
        let close = self.commit_reservation();
        self.fetch_and_load();
        self.check_message();
        let start = self.choose_start();
        self.read_memories(start);
        let post = self.command.val();
        let posted = WaitingBuffer { buffer: post.buffer, missing: self.capacity.q.val() };
        self.write_memories(close, start, posted);
        self.step(start, posted);
        self.epoch_update_out.d.next = EpochUpdate {
            opens: post.op != QUEUE_POST,
            tagged: post.tagged,
            mailbox: post.mailbox,
            slot: self.post_slot.q.val(),
            base: post.buffer.base,
        };
        self.epoch_update.offer(self.epoch_update_out_valid.q.val(), self.epoch_update_out.q.val());
        self.buffer_event.offer(self.buffer_event_out_valid.q.val(), self.buffer_event_out.q.val());
    }

    /// Cycle 3: shows the head and commits the reservation.
    fn commit_reservation(&mut self) -> Bit {
        let present = self.entry_3.q.val();
        self.commit.next = self.checked.q.val() & self.reservation.commit.val();
        let head_check = self.head_check.q.val();
        let close = self.commit.val() & head_check.closes;
        self.advance.next = close & !self.is_last.q.val() & !present.tagged;
        self.reservation.head.next = Head {
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
        // `entry_3` holds the sums already, so the written entry depends on late signals by one bit only.
        let closes = self.checked.q.val() & head_check.closes;
        self.entry_written.next = present;
        self.entry_written.next.active = present.active & !closes;
        if closes & !present.tagged {
            self.entry_written.next.closed = present.closed + 1;
        }
        close
    }

    /// Cycles 0 and 1. TAGGED: the changing fields come from the window position that the packet names.
    fn fetch_and_load(&mut self) {
        let tag = self.reservation.tag.val();
        let tag_position = tag.epoch.get_bits::<2>(0);
        let same_position = !tag.tagged | (tag_position == self.load_tag.q.val().epoch.get_bits::<2>(0));
        self.fetched.d.next = self.reservation.fetch.val();
        self.same.d.next =
            self.loaded.q.val() & (self.reservation.mailbox.val() == self.load_mailbox.q.val()) & same_position;
        self.windows.read_enable.next = self.reservation.fetch.val() & tag.tagged;
        self.windows.window.next = tag.window;
        self.windows.position.next = tag_position;
        let window_entry = self.windows.entry.val();
        self.fetched_entry.next = self.queues.read_data.val();
        if tag.tagged {
            self.fetched_entry.next.active = window_entry.open & self.queues.read_data.val().active;
            self.fetched_entry.next.head = window_entry.slot;
            self.fetched_entry.next.buffer = window_entry.buffer;
            self.fetched_entry.next.reserved = window_entry.reserved;
            self.fetched_entry.next.missing = window_entry.missing;
        }
        self.loaded.d.next = self.fetched.q.val() & self.reservation.load.val();
        if self.fetched.q.val() {
            self.load_mailbox.d.next = self.reservation.mailbox.val();
            self.load_message.d.next = self.reservation.message.val();
            self.load_frame.d.next = self.reservation.frame.val();
            self.load_tag.d.next = tag;
            self.position_epoch.d.next = bit_cast::<16, STREAM_BITS>(self.fetched_entry.val().number);
            self.position_open.d.next = window_entry.open;
            self.position_epoch.load(tag.tagged, window_entry.epoch);
            self.entry.d.next = self.fetched_entry.val();
            if self.same.q.val() & self.commit.val() {
                self.entry.d.next = self.entry_written.val();
                self.position_open.d.next = self.entry_written.val().active;
                self.position_epoch.load(!tag.tagged, bit_cast::<16, STREAM_BITS>(self.entry_written.val().number));
            }
        }
    }

    /// Cycle 2.
    fn check_message(&mut self) {
        let head = self.entry.q.val();
        let message = self.load_message.q.val();
        let tag_2 = self.load_tag.q.val();
        let epoch = self.position_epoch.q.val();
        self.checked.d.next = self.loaded.q.val();
        if self.loaded.q.val() {
            self.mailbox_3.d.next = self.load_mailbox.q.val();
            self.frame_3.d.next = self.load_frame.q.val();
            self.tag_3.d.next = tag_2;
            self.is_last.d.next = head.head == head.tail;
            self.entry_3.d.next = bind(head, message, tag_2, epoch);
            self.head_check.d.next = check(head, message, tag_2, epoch, self.position_open.q.val());
        }
    }

    /// A command starts when no reservation is in the pipeline; no reservation starts while a command waits.
    fn choose_start(&mut self) -> Start {
        let running = self.state.q.val() == QueueState::Run;
        let waiting = self.command.valid.val();
        let window_moves = self.freed.valid.val() & self.freed.tagged.val();
        let idle = running & !self.fetched.q.val() & !self.loaded.q.val() & !self.checked.q.val();
        self.reservation.fetch_ready.next = running & !waiting & !window_moves & self.buffer_event.headroom.val();
        self.reservation.retry.next = !running | self.advance.val();
        self.start_move.next = idle & window_moves;
        self.start_post.next =
            idle & !window_moves & waiting & self.buffer_event.headroom.val() & self.epoch_update.headroom.val();
        let starts = self.start_post.val() | self.start_move.val();
        self.freed.ready.next = (running & !starts & !window_moves) | (self.state.q.val() == QueueState::Moved);
        Start { running, starts, window_moves }
    }

    /// Read ports of the queues, links and buffers.
    fn read_memories(&mut self, start: Start) {
        self.queues.read(self.reservation.fetch.val() | start.starts, self.reservation.mailbox.val());
        if self.start_post.val() {
            self.queues.read_address.next = self.command.val().mailbox;
        } else if self.start_move.val() {
            self.queues.read_address.next = self.freed.mailbox.val();
        }
        self.links.read(self.start_post.val() | (self.state.q.val() == QueueState::NextLink), self.free_head.q.val());
        if self.state.q.val() == QueueState::NextLink {
            self.links.read_address.next = self.entry_3.q.val().head;
        }
        let reads_next = self.state.q.val() == QueueState::NextBuffer;
        let peeks = self.peek.valid.val() & start.running & !self.peeks.q.val();
        self.buffers.read_enable.next = reads_next | peeks;
        self.buffers.read_address.next = if reads_next { self.links.read_data.val() } else { self.peek.slot.val() };
        self.peeks.d.next = peeks;
        self.peek.buffer.next = self.buffers.read_data.val().buffer;
        self.peek.done.next = self.peeks.q.val();
    }

    /// Write ports and outputs, as long as no state changes them.
    fn write_memories(&mut self, close: Bit, start: Start, posted: WaitingBuffer) {
        let post = self.command.val();
        let present = self.entry_3.q.val();
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
        self.links.write(false, self.freed.slot.val(), self.free_head.q.val());
        self.buffers.write(false, self.post_slot.q.val(), posted);
        self.buffer_event_out_valid.d.next = close;
        self.buffer_event_out.d.next = BufferEvent {
            slot: present.head,
            total: present.reserved,
            frame: self.frame_3.q.val(),
            ..BufferEvent::default()
        };
        self.posted_record.next = RecordEntry {
            base: post.buffer.base,
            record: post.record,
            epoch: self.entry.q.val().posted,
            mailbox: post.mailbox,
            pid: post.pid,
            event: self.entry.q.val().event,
        };
        self.posted.offer(false, self.post_slot.q.val());
        self.epoch_update_out_valid.d.next = false;
        self.command.done.next = false;
        self.command.ok.next = self.ok.q.val();
        self.command.small.next = self.too_small.q.val();
    }

    /// The sequencer.
    fn step(&mut self, start: Start, posted: WaitingBuffer) {
        match self.state.q.val() {
            QueueState::Run => {
                if self.advance.val() {
                    self.state.d.next = QueueState::NextLink;
                } else if start.starts {
                    self.moving.d.next = self.start_move.val();
                    self.state.d.next = QueueState::Post;
                }
                if self.freed.valid.val() & !start.starts & !start.window_moves {
                    self.free_slot();
                }
            }
            QueueState::NextLink => self.state.d.next = QueueState::NextBuffer,
            QueueState::NextBuffer => {
                self.link.d.next = self.links.read_data.val();
                self.state.d.next = QueueState::NextHead;
            }
            QueueState::NextHead => self.next_head(),
            QueueState::Post => self.choose_slot(),
            QueueState::Measure => self.measure(),
            QueueState::Append => self.change_queue(posted),
            QueueState::Empty => {
                // An ordinal that does not belong to this position.
                self.windows.write_enable.next = true;
                self.windows.write_window.next = self.window_out.q.val();
                self.windows.write_position.next = self.position.q.val();
                self.windows.write_entry.next =
                    WindowEntry { epoch: bit_cast::<16, 2>(!self.position.q.val()), ..WindowEntry::default() };
                self.position.d.next = self.position.q.val() + 1;
                self.state.load(self.position.q.val().all(), QueueState::Done);
            }
            QueueState::Moved => {
                self.free_slot();
                self.moving.d.next = false;
                self.state.d.next = QueueState::Run;
            }
            QueueState::Done => {
                self.command.done.next = true;
                self.cutting.d.next = false;
                self.state.d.next = QueueState::Run;
            }
            _ => self.state.d.next = QueueState::Run,
        }
    }

    /// The freed slot becomes the head of the free list.
    fn free_slot(&mut self) {
        self.links.write_enable.next = true;
        self.free_head.d.next = self.freed.slot.val();
        self.free_count.d.next = self.free_count.q.val() + 1;
        self.freed_any.d.next = true;
    }

    /// The buffer after the head becomes the head, or enters the window at the position of the oldest one.
    fn next_head(&mut self) {
        let present = self.entry_3.q.val();
        let waiting_buffer = self.buffers.read_data.val();
        self.queues.write_enable.next = true;
        self.queues.write_data.next = advanced(present, self.link.q.val(), waiting_buffer);
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

    /// A freed slot goes first; `links` was read at `free_head` for the case that the slot is used.
    fn choose_slot(&mut self) {
        let post = self.command.val();
        self.entry.d.next = self.queues.read_data.val();
        self.link.d.next = self.links.read_data.val();
        self.size.d.next = post.buffer.size;
        self.ok.d.next = self.freed_any.q.val() | self.fresh_any.q.val();
        self.ok.load(post.op == QUEUE_INIT, self.windows.any_free.val() | !(post.tagged & post.opens));
        self.window_out.d.next = self.windows.free.val();
        self.position.d.next = bits::<2>(0);
        self.post_slot.d.next = self.fresh.q.val().get_bits::<14>(0);
        self.post_slot.load(self.freed_any.q.val(), self.free_head.q.val());
        self.state.d.next = QueueState::Measure;
    }

    /// Operations need no space. A managed buffer holds at least the bytes that must be left.
    fn measure(&mut self) {
        let queue = self.entry.q.val();
        let size = self.size.q.val();
        self.capacity.d.next = if queue.managed { size - queue.threshold } else { queue.threshold };
        let tight = queue.managed & (queue.threshold == size);
        self.too_small.d.next = !queue.ops & ((size < queue.threshold) | tight);
        self.cuts_head.d.next = queue.active & (queue.head == self.command.val().slot);
        self.cuts_last.d.next = queue.head == queue.tail;
        let live = queue.posted - queue.closed;
        self.position_free.d.next = live < 4;
        self.waits_beyond.d.next = live > 4;
        self.is_last.d.next = live == 1;
        self.state.d.next = QueueState::Append;
    }

    /// Carries out the command or the move. The new entry of the mailbox is written a cycle later.
    fn change_queue(&mut self, posted: WaitingBuffer) {
        let queue = self.entry.q.val();
        let post = self.command.val();
        let target = if self.moving.q.val() { self.freed.mailbox.val() } else { post.mailbox };
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
            self.windows.write_entry.next = WindowEntry { epoch: queue.closed, ..WindowEntry::default() };
        } else if post.op == QUEUE_CUT {
            // The head leaves as if its threshold were reached; a buffer that drains has left the queue already.
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
            self.buffer_event_out.d.next =
                BufferEvent { cut: true, cancelled: post.cancelled, slot: post.slot, ..BufferEvent::default() };
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
            self.append(posted);
        }
    }

    /// Appends the posted buffer to the queue.
    fn append(&mut self, posted: WaitingBuffer) {
        let queue = self.entry.q.val();
        self.stores.d.next = true;
        self.entry_3.d.next = appended(queue, self.post_slot.q.val(), posted, self.position_free.q.val());
        self.links.write(queue.active, queue.tail, self.post_slot.q.val());
        self.windows.write_enable.next = queue.tagged & self.position_free.q.val();
        self.windows.write_position.next = queue.posted.get_bits::<2>(0);
        self.windows.write_entry.next = open_position(queue.posted, self.post_slot.q.val(), posted);
        self.buffers.write_enable.next = true;
        self.posted.valid.next = true;
        self.epoch_update_out_valid.d.next = true;
        self.buffer_event_out_valid.d.next = true;
        self.buffer_event_out.d.next =
            BufferEvent { open: true, slot: self.post_slot.q.val(), ..BufferEvent::default() };
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
