//! Naive model of RVMA mailboxes: what the host's memory holds, which records appear and why packets are refused.
//!
//! The model knows no time. It is given the packets in the order in which the engine takes them, and treats each as placed
//! at once. Host memory at the end and the set of records do not depend on when the hardware's writes land, only the order
//! of records of different buffers does.

use spindle_contract::events;
use spindle_contract::reasons;
use spindle_contract::registers::{doorbell_error, mailbox_mode};
use spindle_contract::wire::{status, RECORD_BUFFER, RECORD_BYTES, RECORD_EPOCH, RECORD_LENGTH, RECORD_STATUS};
use std::collections::{BTreeMap, BTreeSet, HashMap, VecDeque};

pub mod host_access;
mod placement;
#[cfg(test)]
mod tests;

/// A posted buffer.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Buffer {
    /// Host address.
    pub base: u64,
    /// Bytes.
    pub size: u32,
    /// Host address of its record.
    pub record: u64,
    /// Ordinal in its mailbox.
    pub epoch: u16,
    /// Messages bound to it, and their bytes.
    owner: (u16, u64),
    messages: u32,
    reserved: u64,
    closed: bool,
    complete: bool,
    /// Message slots whose pending messages hold it.
    holders: BTreeSet<u8>,
    /// Bytes that arrived, and those of them that the host took.
    arrived: u64,
    placed: u64,
    /// End of the last byte, as an offset.
    high: u32,
}

/// Completed buffers that a mailbox remembers.
const HISTORY: usize = 8;

/// A mailbox.
#[derive(Clone, Debug, Default)]
pub struct Mailbox {
    key: u32,
    threshold: u32,
    /// `mailbox_mode`.
    mode: u32,
    /// Index of the buffers that wait; the front one is the head.
    queue: VecDeque<usize>,
    posted: u16,
    /// Buffers from the oldest incomplete one on, and the ordinal of that.
    live: VecDeque<usize>,
    epoch: u64,
    /// Stream: ordinal of the message that it binds next.
    turn: u16,
    /// Pointer and length of completed buffers, the last one at the end; `None` = posted again.
    history: Vec<Option<(u64, u32)>>,
}

/// What a packet says, as far as placement goes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Put {
    /// Spindle opcode.
    pub opcode: u8,
    /// Spindle flags.
    pub flags: u16,
    /// Destination process.
    pub pid: u16,
    /// Mailbox address.
    pub addr: u64,
    /// Mailbox key.
    pub key: u32,
    /// Source node, source process, message.
    pub message: (u32, u16, u32),
    /// Message length.
    pub msg_len: u32,
    /// Offset in the message.
    pub msg_off: u32,
    /// Base offset in the buffer.
    pub buf_off: u32,
    /// Epoch tag.
    pub epoch: u16,
    /// The Spindle header as it stands in the frame, for catch-all mailboxes.
    pub header: Vec<u8>,
    /// Payload.
    pub payload: Vec<u8>,
    /// Message table slot, for messages of several packets.
    pub slot: Option<u8>,
    /// Message table slot, if the packet's message is pending.
    pub holder: Option<u8>,
    /// A handler sends this one packet here, or bytes of it: key and flags mean nothing but that it names an epoch.
    pub redirected: bool,
}

/// A completion record.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Record {
    /// Host address of the record.
    pub address: u64,
    /// Bytes placed.
    pub length: u32,
    /// `wire::status`.
    pub status: u8,
    /// Epoch that ended.
    pub epoch: u16,
    /// Buffer pointer.
    pub buffer: u64,
}

impl Record {
    /// Its bytes in host memory.
    pub fn bytes(&self) -> [u8; RECORD_BYTES] {
        let mut out = [0; RECORD_BYTES];
        out[RECORD_LENGTH..RECORD_LENGTH + 4].copy_from_slice(&self.length.to_le_bytes());
        out[RECORD_STATUS] = self.status;
        out[RECORD_EPOCH..RECORD_EPOCH + 2].copy_from_slice(&self.epoch.to_le_bytes());
        out[RECORD_BUFFER..RECORD_BUFFER + 8].copy_from_slice(&self.buffer.to_le_bytes());
        out
    }
}

/// A buffer that ended before it was full.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Unfilled {
    /// Process of its mailbox.
    pub pid: u16,
    /// Its record.
    pub record: Record,
    /// Its high-water mark.
    pub high: u32,
}

impl Unfilled {
    /// The event in its process's ring, its `number`-th, if the mailbox has this number.
    pub fn bytes(&self, mailbox: u32, number: u32) -> Vec<u8> {
        let Record { length, status, epoch, buffer, .. } = self.record;
        let kind = u32::from(events::BUFFER) | u32::from(status) << 16;
        let words = [kind, mailbox, length, self.high, epoch.into(), buffer as u32, (buffer >> 32) as u32, number];
        words.iter().flat_map(|word| word.to_le_bytes()).collect()
    }
}

#[derive(Clone, Debug)]
struct Binding {
    mailbox: (u16, u64),
    message: (u32, u16, u32),
    left: u32,
    decision: Result<Place, usize>,
}

/// Where a message lies.
#[derive(Clone, Copy, Debug)]
struct Place {
    buffer: usize,
    /// First byte of the message, as far as the mailbox chose it.
    offset: u64,
    /// What [`end_of`] may be at most.
    end: u64,
}

/// All mailboxes of a NIC.
#[derive(Clone, Debug, Default)]
pub struct Rvma {
    /// Bytes that packets wrote, by address; records are apart.
    pub memory: BTreeMap<u64, u8>,
    /// Records in the order of completion.
    pub records: Vec<Record>,
    /// Buffers that were not filled, in the order of their records.
    pub unfilled: Vec<Unfilled>,
    /// Host addresses at which writes fail.
    pub failing: Vec<std::ops::Range<u64>>,
    mailboxes: HashMap<(u16, u64), Mailbox>,
    /// Address of the catch-all mailbox of each process that has one.
    catch_all: HashMap<u16, u64>,
    buffers: Vec<Buffer>,
    bindings: HashMap<u8, Binding>,
    /// Message slots whose messages are done, though they have not ended.
    over: BTreeSet<u8>,
}

impl Rvma {
    /// The message of this slot is done: a handler gave COMPLETE, or the message has `ended`.
    pub fn pending_end(&mut self, slot: u8, ended: bool) {
        if ended {
            self.over.remove(&slot);
        } else {
            self.over.insert(slot);
        }
        for index in 0..self.buffers.len() {
            if self.buffers[index].holders.remove(&slot) {
                self.examine(index);
            }
        }
    }

    /// INIT_WINDOW; the error is a `doorbell_error`. The model's table is never full.
    pub fn init_window(&mut self, pid: u16, addr: u64, key: u32, threshold: u32, mode: u32) -> Result<(), u32> {
        let managed = mode & mailbox_mode::MANAGED != 0;
        let known = mailbox_mode::OPS
            | mailbox_mode::TAGGED
            | mailbox_mode::MANAGED
            | mailbox_mode::NACK_OFF
            | mailbox_mode::DROP
            | mailbox_mode::SPILL
            | mailbox_mode::CATCH_ALL
            | mailbox_mode::FRAMES;
        let frames = mode & mailbox_mode::FRAMES != 0;
        let alone = mode & (known & !mailbox_mode::FRAMES) == mailbox_mode::MANAGED | mailbox_mode::NACK_OFF;
        let catches = mode & mailbox_mode::CATCH_ALL != 0;
        if mode & !known != 0
            || managed && mode & mailbox_mode::OPS != 0
            || mode & mailbox_mode::STREAM == mailbox_mode::STREAM
                && mode & (mailbox_mode::SPILL | mailbox_mode::CATCH_ALL) != 0
            || catches && !managed
            || frames && !alone
        {
            return Err(doorbell_error::UNSUPPORTED);
        }
        if threshold == 0 {
            return Err(doorbell_error::BAD_ARGUMENT);
        }
        if self.mailboxes.contains_key(&(pid, addr)) {
            return Err(doorbell_error::EXISTS);
        }
        if catches {
            self.catch_all.insert(pid, addr);
        }
        self.mailboxes.insert((pid, addr), Mailbox { key, threshold, mode, ..Default::default() });
        Ok(())
    }

    /// POST_BUFFER to the mailbox of that process and address. The model's slots never run out.
    pub fn post_buffer(&mut self, pid: u16, addr: u64, base: u64, size: u32, record: u64) -> Result<(), u32> {
        if size == 0 || !record.is_multiple_of(RECORD_BYTES as u64) {
            return Err(doorbell_error::BAD_ARGUMENT);
        }
        let mailbox = self.mailboxes.get_mut(&(pid, addr)).ok_or(doorbell_error::NO_MAILBOX)?;
        if mailbox.threshold > size && mailbox.mode & mailbox_mode::OPS == 0 {
            return Err(doorbell_error::BAD_ARGUMENT);
        }
        let owner = (pid, addr);
        self.buffers.push(Buffer { base, size, record, owner, epoch: mailbox.posted, ..Default::default() });
        mailbox.posted = mailbox.posted.wrapping_add(1);
        mailbox.queue.push_back(self.buffers.len() - 1);
        mailbox.live.push_back(self.buffers.len() - 1);
        for held in mailbox.history.iter_mut().filter(|held| held.is_some_and(|h| h.0 == base)) {
            *held = None;
        }
        Ok(())
    }

    /// GET_EPOCH: the ordinal of the oldest incomplete buffer.
    pub fn get_epoch(&self, pid: u16, addr: u64) -> Result<u64, u32> {
        Ok(self.mailboxes.get(&(pid, addr)).ok_or(doorbell_error::NO_MAILBOX)?.epoch)
    }

    /// Of a stream: ordinal of the message that it binds next.
    pub fn turn(&self, pid: u16, addr: u64) -> u16 {
        self.mailboxes[&(pid, addr)].turn
    }

    /// GET_BUF_PTRS: pointer and length of the buffer that was completed `back` buffers before the last.
    pub fn get_buf_ptr(&self, pid: u16, addr: u64, back: usize) -> Result<(u64, u32), u32> {
        let history = &self.mailboxes.get(&(pid, addr)).ok_or(doorbell_error::NO_MAILBOX)?.history;
        let reach = history.iter().rev().take(HISTORY);
        reach.copied().nth(back).flatten().ok_or(doorbell_error::NOTHING)
    }

    /// The oldest buffer that is not complete: pointer and size.
    pub fn oldest(&self, pid: u16, addr: u64) -> Result<(u64, u32), u32> {
        let live = &self.mailboxes.get(&(pid, addr)).ok_or(doorbell_error::NO_MAILBOX)?.live;
        let oldest = live.front().ok_or(doorbell_error::NOTHING)?;
        Ok((self.buffers[*oldest].base, self.buffers[*oldest].size))
    }

    /// REWIND: likewise, and that buffer is the last one then. What lies before it comes no nearer: the ring has eight
    /// places.
    pub fn rewind(&mut self, pid: u16, addr: u64, back: usize) -> Result<(u64, u32), u32> {
        let found = self.get_buf_ptr(pid, addr, back)?;
        let history = &mut self.mailboxes.get_mut(&(pid, addr)).expect("looked up before").history;
        let kept = history.len() - back;
        let lost = kept.saturating_sub(HISTORY - back);
        history.truncate(kept);
        history[..lost].fill(None);
        Ok(found)
    }

    /// INC_EPOCH: ends the oldest incomplete buffer; its messages are cut.
    pub fn inc_epoch(&mut self, pid: u16, addr: u64) -> Result<(), u32> {
        let mailbox = self.mailboxes.get_mut(&(pid, addr)).ok_or(doorbell_error::NO_MAILBOX)?;
        let oldest = *mailbox.live.front().ok_or(doorbell_error::NOTHING)?;
        mailbox.queue.retain(|waiting| *waiting != oldest);
        self.buffers[oldest].closed = true;
        for binding in self.bindings.values_mut().filter(|b| b.decision.is_ok_and(|place| place.buffer == oldest)) {
            binding.decision = Err(reasons::STALE_EPOCH);
        }
        self.complete(oldest, status::PARTIAL);
        Ok(())
    }

    /// CLOSE: every message of the mailbox is cut, every buffer returned.
    pub fn close(&mut self, pid: u16, addr: u64) -> Result<(), u32> {
        let live = self.mailboxes.get(&(pid, addr)).ok_or(doorbell_error::NO_MAILBOX)?.live.clone();
        for binding in self.bindings.values_mut().filter(|b| b.mailbox == (pid, addr) && b.decision.is_ok()) {
            binding.decision = Err(reasons::CLOSED);
        }
        for index in live {
            if !self.buffers[index].complete {
                self.complete(index, status::CANCELLED);
            }
        }
        self.mailboxes.remove(&(pid, addr));
        if self.catch_all.get(&pid) == Some(&addr) {
            self.catch_all.remove(&pid);
        }
        Ok(())
    }

    /// Holds of all buffers that are not complete.
    pub fn held(&self) -> usize {
        self.buffers.iter().filter(|buffer| !buffer.complete).map(|buffer| buffer.holders.len()).sum()
    }

    /// Completes a buffer if all of its bytes have arrived, and no message holds it.
    fn examine(&mut self, index: usize) {
        let buffer = &self.buffers[index];
        if buffer.closed && !buffer.complete && buffer.arrived == buffer.reserved && buffer.holders.is_empty() {
            let whole = buffer.placed == buffer.arrived;
            self.complete(index, if whole { status::DONE } else { status::PARTIAL });
        }
    }

    /// A buffer is complete: its record, its place in the history, and the epoch.
    fn complete(&mut self, index: usize, ending: u8) {
        let buffer = &mut self.buffers[index];
        buffer.complete = true;
        let length = buffer.placed as u32;
        let record =
            Record { address: buffer.record, length, status: ending, epoch: buffer.epoch, buffer: buffer.base };
        self.records.push(record);
        if ending != status::DONE {
            self.unfilled.push(Unfilled { pid: buffer.owner.0, record, high: buffer.high });
        }
        let mailbox = self.mailboxes.get_mut(&buffer.owner).expect("open while it has buffers");
        mailbox.history.push(Some((buffer.base, length)));
        while mailbox.live.front().is_some_and(|oldest| self.buffers[*oldest].complete) {
            mailbox.live.pop_front();
            mailbox.epoch += 1;
        }
    }
}
