//! Epochs: the buffers of every mailbox in the order of posting, the oldest incomplete one, and the last eight complete
//! ones.
//!
//! | neighbour | ports |
//! |---|---|
//! | buffer queue | in `epoch_update` (with headroom); out `freed` |
//! | completion | in `retired` |
//! | command unit, buffer reclaim, GET responder | in `query` (held); out `reply` (pulse) |
//!
//! Buffers of a mailbox complete in any order, but leave in the order of posting: a slot becomes free, and the epoch
//! advances, when its buffer and all before it are complete. So the epoch is the ordinal of the oldest incomplete
//! buffer, and the links from that buffer to the newest stay valid. The history is a ring of eight per mailbox in the
//! order of completion; a buffer that is posted again leaves the history.
//!
//! One operation at a time: posted buffers first, then complete ones, then queries. A posted buffer takes 4 cycles, 14
//! if the history has to be searched; a complete one 4, and 3 for each slot that becomes free, 2 if no buffer follows; a
//! query 4, 5 if it reads the history, REWIND one more for each epoch.

use crate::prelude::*;

/// Steps of a search of the history: eight reads, and two until the last has been judged.
const SCAN_END: u64 = 9;

/// State of a mailbox.
#[derive(LogicStruct, Copy, Clone, Debug, Default, PartialEq)]
pub struct EpochEntry {
    /// Slot of the oldest incomplete buffer.
    pub oldest: Bits<14>,
    /// Slot of the buffer posted last.
    pub newest: Bits<14>,
    /// Buffers from `oldest` to `newest`.
    pub live: Bits<15>,
    /// Low half of the epoch.
    pub low: Bits<32>,
    /// High half of the epoch.
    pub high: Bits<32>,
    /// Index of the next complete buffer in the history.
    pub index: Bits<3>,
    /// Entries of the history that hold a buffer.
    pub held: Bits<8>,
    /// The mailbox is TAGGED.
    pub tagged: Bit,
}

/// A complete buffer.
#[derive(LogicStruct, Copy, Clone, Debug, Default, PartialEq)]
pub struct HistoryEntry {
    /// Host address.
    pub base: Bits<64>,
    /// Bytes placed.
    pub length: Bits<32>,
}

/// States of the block.
#[derive(LogicState, Copy, Clone, Debug, PartialEq)]
pub enum EpochState {
    /// Waits; reads the mailbox.
    Idle,
    /// The mailbox has been read.
    Load,
    /// A buffer is posted, or a mailbox opened.
    Join,
    /// The history is searched for a buffer that was posted again.
    Scan,
    /// A buffer is complete.
    Retire,
    /// The oldest slot becomes free.
    Free,
    /// The next buffer becomes the oldest.
    Follow,
    /// Checks whether that buffer is complete as well.
    Again,
    /// A query.
    Query,
    /// REWIND removes entries of the history.
    Rewind,
    /// The history has been read.
    Reply,
    /// The mailbox is written back.
    Save,
}

/// The epochs. See the module text.
#[block]
pub struct Epochs {
    /// Buffer posted, or mailbox opened.
    pub epoch_update: HeadroomSink<EpochUpdate>,
    /// Buffer whose record has left.
    pub retired: Sink<Retired>,
    /// Slot that becomes free.
    pub freed: FreedSlotSource,
    /// Query; held until `reply`.
    pub query: PulseSink<EpochQuery>,
    /// Answer to the query.
    pub reply: Pulse<EpochReply>,
    updates: Fifo<EpochUpdate, QUEUE_BITS>,
    retires: Fifo<Retired, QUEUE_BITS>,
    entries: SdpMemory<EpochEntry, 12>,
    nexts: SdpRam<14, 14>,
    completes: SdpRam<14, 1>,
    histories: SdpMemory<HistoryEntry, HISTORY_BITS>,
    state: Reg<EpochState>,
    updating: DFF<Bit>,
    retiring: DFF<Bit>,
    opens: DFF<Bit>,
    opens_tagged: DFF<Bit>,
    mailbox_number: DFF<Bits<12>>,
    slot: DFF<Bits<14>>,
    buffer: DFF<HistoryEntry>,
    entry: DFF<EpochEntry>,
    index: DFF<Bits<4>>,
    same: DFF<Bit>,
    carry: DFF<Bit>,
    answer: DFF<EpochReply>,
    answer_valid: Reg<Bit>,
}

impl Epochs {
    /// Epochs of `mailboxes` mailboxes that share `posted_buffers` slots.
    pub fn new(mailboxes: usize, posted_buffers: usize) -> Self {
        let style = |words| if words > 8192 { RamStyle::Ultra } else { RamStyle::Block };
        let places = mailboxes * 8;
        Self {
            entries: SdpMemory::with_depth(RamStyle::Block, 1, mailboxes),
            nexts: SdpRam::with_depth(style(posted_buffers), 1, posted_buffers),
            completes: SdpRam::with_depth(RamStyle::by_size(posted_buffers, 1), 1, posted_buffers),
            histories: SdpMemory::with_depth(style(places), 1, places),
            ..Self::blank()
        }
    }
}

#[hdl]
impl Epochs {
    fn update(&mut self) {
        self.updates.write.offer(self.epoch_update.valid.val(), self.epoch_update.val());
        self.epoch_update.headroom.next = self.updates.level.val() < QUEUE_STOP;
        self.retired.join(&mut self.retires.write);
        self.access_entry();
        let oldest = self.access_slots();
        let newest = self.access_history();
        self.answer_valid.d.next = false;
        self.step(oldest, newest);
        self.reply.offer(self.answer_valid.q.val(), self.answer.q.val());
    }

    /// Reads the mailbox of the next operation; writes the mailbox of the present one.
    fn access_entry(&mut self) {
        let idle = self.state.q.val() == EpochState::Idle;
        let update_waits = self.updates.read.valid.val();
        let retire = self.retires.read.valid.val();
        self.updates.read.ready.next = idle;
        self.retires.read.ready.next = idle & !update_waits;
        self.entries.read(idle & (update_waits | retire | self.query.valid.val()), self.query.val().mailbox);
        if update_waits {
            self.entries.read_address.next = self.updates.read.val().mailbox;
        } else if retire {
            self.entries.read_address.next = self.retires.read.val().mailbox;
        }
        self.entries.write(self.state.q.val() == EpochState::Save, self.mailbox_number.q.val(), self.entry.q.val());
    }

    /// Links and completion marks of slots.
    fn access_slots(&mut self) -> Bit {
        let entry = self.entry.q.val();
        let adds_slot = (self.state.q.val() == EpochState::Join) & !self.opens.q.val();
        let oldest = self.slot.q.val() == entry.oldest;
        self.nexts.write(adds_slot & entry.live.any(), entry.newest, self.slot.q.val());
        self.nexts.read(self.state.q.val() == EpochState::Free, entry.oldest);
        self.completes.write_enable.next = adds_slot | ((self.state.q.val() == EpochState::Retire) & !oldest);
        self.completes.write_address.next = self.slot.q.val();
        self.completes.write_data.next = if adds_slot { bits::<1>(0) } else { bits::<1>(1) };
        self.completes.read(self.state.q.val() == EpochState::Follow, self.nexts.read_data.val());
        self.freed.valid.next = self.state.q.val() == EpochState::Free;
        self.freed.slot.next = entry.oldest;
        self.freed.mailbox.next = self.mailbox_number.q.val();
        self.freed.tagged.next = entry.tagged;
        oldest
    }

    /// The history: written at its end, read backwards from the newest entry, or searched.
    fn access_history(&mut self) -> Bits<3> {
        let entry = self.entry.q.val();
        let number = self.mailbox_number.q.val();
        let scanning = self.state.q.val() == EpochState::Scan;
        let index = self.index.q.val();
        let newest = entry.index - 1;
        self.histories.write_enable.next = self.state.q.val() == EpochState::Retire;
        self.histories.write_address.next = (number, entry.index).cat::<HISTORY_BITS>();
        self.histories.write_data.next = self.buffer.q.val();
        self.histories.read_enable.next = scanning | (self.state.q.val() == EpochState::Query);
        self.histories.read_address.next = (number, newest - index.get_bits::<3>(0)).cat::<HISTORY_BITS>();
        if scanning {
            self.histories.read_address.next = (number, index.get_bits::<3>(0)).cat::<HISTORY_BITS>();
        }
        self.same.load(scanning, self.histories.read_data.val().base == self.buffer.q.val().base);
        newest
    }

    fn begin(&mut self) {
        let update_waits = self.updates.read.valid.val();
        let retire = self.retires.read.valid.val();
        let query = self.query.val();
        self.updating.d.next = update_waits;
        self.retiring.d.next = retire;
        self.opens.d.next = self.updates.read.val().opens;
        self.opens_tagged.d.next = self.updates.read.val().tagged;
        self.mailbox_number.d.next = query.mailbox;
        self.index.d.next = query.back;
        if update_waits {
            self.mailbox_number.d.next = self.updates.read.val().mailbox;
            self.slot.d.next = self.updates.read.val().slot;
            self.buffer.d.next.base = self.updates.read.val().base;
            self.index.d.next = bits::<4>(0);
        } else if retire {
            self.mailbox_number.d.next = self.retires.read.val().mailbox;
            self.slot.d.next = self.retires.read.val().slot;
            self.buffer.d.next =
                HistoryEntry { base: self.retires.read.val().base, length: self.retires.read.val().length };
        }
        self.state.load(update_waits | retire | self.query.valid.val(), EpochState::Load);
    }

    /// The sequencer. `oldest`: the slot is the mailbox's oldest; `newest`: index of the newest entry of the history.
    fn step(&mut self, oldest: Bit, newest: Bits<3>) {
        let entry = self.entry.q.val();
        let query = self.query.val();
        let index = self.index.q.val();
        match self.state.q.val() {
            EpochState::Idle => self.begin(),
            EpochState::Load => {
                self.entry.d.next = self.entries.read_data.val();
                self.state.d.next = EpochState::Query;
                if self.updating.q.val() {
                    self.state.d.next = EpochState::Join;
                } else if self.retiring.q.val() {
                    self.state.d.next = EpochState::Retire;
                }
            }
            EpochState::Join => {
                self.state.d.next = EpochState::Save;
                if self.opens.q.val() {
                    self.entry.d.next = EpochEntry { tagged: self.opens_tagged.q.val(), ..EpochEntry::default() };
                } else {
                    self.entry.d.next.newest = self.slot.q.val();
                    self.entry.d.next.live = entry.live + 1;
                    if !entry.live.any() {
                        self.entry.d.next.oldest = self.slot.q.val();
                    }
                    self.state.load(entry.held.any(), EpochState::Scan);
                }
            }
            EpochState::Scan => {
                // Step i reads entry i, compares entry i - 1 and removes entry i - 2.
                self.index.d.next = index + 1;
                if self.same.q.val() & (index >= 2) {
                    self.entry.d.next.held = entry.held & !(bits::<8>(1) << (index - 2).get_bits::<3>(0));
                }
                self.state.load(index == SCAN_END, EpochState::Save);
            }
            EpochState::Retire => {
                self.entry.d.next.index = entry.index + 1;
                self.entry.d.next.held = entry.held | (bits::<8>(1) << entry.index);
                self.state.d.next = if oldest { EpochState::Free } else { EpochState::Save };
            }
            EpochState::Free => {
                if self.freed.ready.val() {
                    self.entry.d.next.live = entry.live - 1;
                    self.entry.d.next.low = entry.low + 1;
                    self.carry.d.next = entry.low.all();
                    self.state.d.next = EpochState::Follow;
                }
            }
            EpochState::Follow => {
                self.entry.d.next.oldest = self.nexts.read_data.val();
                if self.carry.q.val() {
                    self.entry.d.next.high = entry.high + 1;
                }
                self.state.d.next = if entry.live.any() { EpochState::Again } else { EpochState::Save };
            }
            EpochState::Again => {
                self.state.d.next = EpochState::Save;
                self.state.load(self.completes.read_data.val().any(), EpochState::Free);
            }
            EpochState::Query => {
                self.answer.d.next.slot = entry.oldest;
                self.answer.d.next.ok = true;
                self.answer.d.next.value = (entry.high, entry.low).cat::<64>();
                self.answer.d.next.length = bits::<32>(0);
                if query.op == QUERY_EPOCH {
                    self.answer_valid.d.next = true;
                    self.state.d.next = EpochState::Save;
                } else if query.op == QUERY_OLDEST {
                    self.answer.d.next.ok = entry.live.any();
                    self.answer_valid.d.next = true;
                    self.state.d.next = EpochState::Save;
                } else {
                    let asked_index = newest - index.get_bits::<3>(0);
                    self.answer.d.next.ok = entry.held.get_bit(asked_index.index()) & !index.get_bit(3);
                    self.state.d.next = EpochState::Reply;
                }
            }
            EpochState::Reply => {
                self.answer.d.next.value = self.histories.read_data.val().base;
                self.answer.d.next.length = self.histories.read_data.val().length;
                self.answer_valid.d.next = true;
                self.state.d.next = EpochState::Save;
                self.state.load((query.op == QUERY_REWIND) & self.answer.q.val().ok & index.any(), EpochState::Rewind);
            }
            EpochState::Rewind => {
                self.entry.d.next.index = newest;
                self.entry.d.next.held = entry.held & !(bits::<8>(1) << newest);
                self.index.d.next = index - 1;
                self.state.load(index == 1, EpochState::Save);
            }
            EpochState::Save => self.state.d.next = EpochState::Idle,
            _ => self.state.d.next = EpochState::Idle,
        }
    }
}
