//! Naive model of RVMA mailboxes: what the host's memory holds, which records appear and why packets are refused.
//!
//! The model knows no time. It is given the packets in the order in which the engine takes them, and treats each as placed
//! at once. Host memory at the end and the set of records do not depend on when the hardware's writes land, only the order of
//! records of different buffers does.

use spindle_contract::reasons;
use spindle_contract::registers::{doorbell_error, mailbox_mode};
use spindle_contract::wire::{
    flag, opcode, status, RECORD_BUFFER, RECORD_BYTES, RECORD_EPOCH, RECORD_LENGTH, RECORD_STATUS,
};
use std::collections::{BTreeMap, HashMap, VecDeque};

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
    messages: u32,
    reserved: u64,
    closed: bool,
    complete: bool,
    /// Bytes that arrived, and those of them that the host took.
    arrived: u64,
    placed: u64,
}

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
    /// Payload.
    pub payload: Vec<u8>,
    /// Message table slot, for messages of several packets.
    pub slot: Option<u8>,
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

#[derive(Clone, Debug)]
struct Binding {
    mailbox: (u16, u64),
    message: (u32, u16, u32),
    left: u32,
    fate: Result<Place, usize>,
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

/// Managed: the mailbox decides where a message lies.
fn is_managed(put: &Put) -> bool {
    put.flags & flag::MANAGED != 0
}

/// First byte of the message, as far as the sender chose it.
fn start_of(put: &Put) -> u64 {
    if is_managed(put) {
        0
    } else {
        put.buf_off.into()
    }
}

/// First byte behind it.
fn end_of(put: &Put) -> u64 {
    start_of(put) + u64::from(put.msg_len)
}

/// All mailboxes of a NIC.
#[derive(Clone, Debug, Default)]
pub struct Rvma {
    /// Bytes that packets wrote, by address; records are apart.
    pub memory: BTreeMap<u64, u8>,
    /// Records in the order of completion.
    pub records: Vec<Record>,
    /// Host addresses at which writes fail.
    pub failing: Vec<std::ops::Range<u64>>,
    mailboxes: HashMap<(u16, u64), Mailbox>,
    buffers: Vec<Buffer>,
    bindings: HashMap<u8, Binding>,
}

impl Rvma {
    /// INIT_WINDOW; the error is a `doorbell_error`. The model's table is never full.
    pub fn init_window(&mut self, pid: u16, addr: u64, key: u32, threshold: u32, mode: u32) -> Result<(), u32> {
        let managed = mode & mailbox_mode::MANAGED != 0;
        let known = mailbox_mode::OPS | mailbox_mode::MANAGED | mailbox_mode::NACK_OFF | mailbox_mode::DROP;
        if mode & !known != 0 || managed && mode & mailbox_mode::OPS != 0 {
            return Err(doorbell_error::UNSUPPORTED);
        }
        if threshold == 0 {
            return Err(doorbell_error::BAD_ARGUMENT);
        }
        if self.mailboxes.contains_key(&(pid, addr)) {
            return Err(doorbell_error::EXISTS);
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
        self.buffers.push(Buffer { base, size, record, epoch: mailbox.posted, ..Default::default() });
        mailbox.posted = mailbox.posted.wrapping_add(1);
        mailbox.queue.push_back(self.buffers.len() - 1);
        Ok(())
    }

    /// A packet. `Err` is the reason of its refusal.
    pub fn put(&mut self, put: &Put) -> Result<(), usize> {
        let length = put.payload.len() as u32;
        if ![opcode::PUT, opcode::GET_RESP].contains(&put.opcode) || put.flags & flag::EPOCH_VALID != 0 {
            return Err(reasons::UNSUPPORTED);
        }
        let name = (put.pid, put.addr);
        let mailbox = self.mailboxes.get(&name).ok_or(reasons::NO_MAILBOX)?;
        if is_managed(put) != (mailbox.mode & mailbox_mode::MANAGED != 0) {
            return Err(reasons::UNSUPPORTED);
        }
        if mailbox.key != put.key {
            return Err(reasons::BAD_KEY);
        }
        let end = end_of(put);
        let contradicts = end >> 32 != 0
            || u64::from(put.msg_off) + u64::from(length) > u64::from(put.msg_len)
            || (put.slot.is_none() && length != put.msg_len);

        let live = put
            .slot
            .and_then(|slot| self.bindings.get(&slot))
            .filter(|b| b.mailbox == name && b.message == put.message);
        let known = live.cloned();
        let mut binding = match known {
            Some(binding) => binding,
            None if contradicts => return Err(reasons::OUT_OF_BOUNDS),
            None => Binding { mailbox: name, message: put.message, left: put.msg_len, fate: self.bind(name, put) },
        };
        // The sender repeats what finds no buffer, unless it is not sequenced: then the message is lost as a whole.
        if binding.fate.err() == Some(reasons::NO_POSTED_BUFFER) && put.flags & flag::UNSEQ == 0 {
            return Err(reasons::NO_POSTED_BUFFER);
        }
        let fits = length <= binding.left;
        let fate = match binding.fate {
            Err(reason) => Err(reason),
            Ok(place) if contradicts || !fits || end > place.end => return Err(reasons::OUT_OF_BOUNDS),
            Ok(place) => Ok(place),
        };
        if let (Some(slot), true) = (put.slot, fits) {
            binding.left -= length;
            if binding.left == 0 {
                self.bindings.remove(&slot);
            } else {
                self.bindings.insert(slot, binding);
            }
        }
        self.place(fate?, put)
    }

    /// Binds a message to the head buffer of its mailbox.
    fn bind(&mut self, name: (u16, u64), put: &Put) -> Result<Place, usize> {
        let mailbox = self.mailboxes.get_mut(&name).expect("looked up before");
        let head = *mailbox.queue.front().ok_or(reasons::NO_POSTED_BUFFER)?;
        let buffer = &mut self.buffers[head];
        let managed = mailbox.mode & mailbox_mode::MANAGED != 0;
        let size = u64::from(buffer.size);
        let room = if managed { size - buffer.reserved } else { size };
        if end_of(put) > room {
            return Err(reasons::OUT_OF_BOUNDS);
        }
        let offset = if managed { buffer.reserved } else { 0 };
        buffer.messages += 1;
        buffer.reserved += u64::from(put.msg_len);
        let threshold = u64::from(mailbox.threshold);
        buffer.closed = if managed {
            size - buffer.reserved < threshold
        } else if mailbox.mode & mailbox_mode::OPS != 0 {
            u64::from(buffer.messages) >= threshold
        } else {
            buffer.reserved >= threshold
        };
        if buffer.closed {
            mailbox.queue.pop_front();
        }
        Ok(Place { buffer: head, offset, end: if managed { put.msg_len.into() } else { size } })
    }

    fn place(&mut self, place: Place, put: &Put) -> Result<(), usize> {
        let buffer = &mut self.buffers[place.buffer];
        let start = buffer.base.wrapping_add(place.offset + start_of(put) + u64::from(put.msg_off));
        let length = put.payload.len() as u64;
        // A transfer fails as a whole when the host refuses one of its bursts, but the others are written.
        let blocks = (0..length).map(|i| start.wrapping_add(i) & !255);
        let bad: Vec<u64> = blocks
            .filter(|block| {
                self.failing.iter().any(|f| {
                    (0..length).any(|i| {
                        let at = start.wrapping_add(i);
                        at & !255 == *block && f.contains(&at)
                    })
                })
            })
            .collect();
        for (i, byte) in put.payload.iter().enumerate() {
            let at = start.wrapping_add(i as u64);
            if !bad.contains(&(at & !255)) {
                self.memory.insert(at, *byte);
            }
        }
        buffer.arrived += length;
        if bad.is_empty() {
            buffer.placed += length;
        }
        if buffer.closed && !buffer.complete && buffer.arrived == buffer.reserved {
            buffer.complete = true;
            let whole = buffer.placed == buffer.arrived;
            self.records.push(Record {
                address: buffer.record,
                length: buffer.placed as u32,
                status: if whole { status::DONE } else { status::PARTIAL },
                epoch: buffer.epoch,
                buffer: buffer.base,
            });
        }
        if bad.is_empty() {
            Ok(())
        } else {
            Err(reasons::HOST_ERROR)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn put(message: u32, buf_off: u32, msg_off: u32, msg_len: u32, payload: &[u8]) -> Put {
        Put {
            opcode: opcode::PUT,
            addr: 7,
            key: 9,
            message: (1, 2, message),
            buf_off,
            msg_off,
            msg_len,
            payload: payload.to_vec(),
            slot: Some(message as u8),
            ..Default::default()
        }
    }

    #[test]
    fn two_messages_complete_one_buffer_exactly_once() {
        let mut rvma = Rvma::default();
        rvma.init_window(0, 7, 9, 8, 0).unwrap();
        rvma.post_buffer(0, 7, 0x1000, 8, 0x2000).unwrap();
        for p in [put(1, 0, 0, 4, &[1, 2]), put(2, 4, 2, 4, &[7, 8]), put(2, 4, 0, 4, &[5, 6])] {
            rvma.put(&p).unwrap();
            assert!(rvma.records.is_empty());
        }
        rvma.put(&put(1, 0, 2, 4, &[3, 4])).unwrap();
        assert_eq!(
            rvma.records,
            [Record { address: 0x2000, length: 8, status: status::DONE, epoch: 0, buffer: 0x1000 }]
        );
        assert_eq!(rvma.memory.values().copied().collect::<Vec<u8>>(), [1, 2, 3, 4, 5, 6, 7, 8]);
    }

    #[test]
    fn a_refused_message_stays_refused() {
        let mut rvma = Rvma::default();
        rvma.init_window(0, 7, 9, 4, 0).unwrap();
        assert_eq!(rvma.put(&put(1, 0, 0, 4, &[1, 2])), Err(reasons::NO_POSTED_BUFFER));
        rvma.post_buffer(0, 7, 0x1000, 4, 0x2000).unwrap();
        assert_eq!(rvma.put(&put(1, 0, 2, 4, &[3, 4])), Err(reasons::NO_POSTED_BUFFER));
        assert_eq!(rvma.put(&put(1, 0, 0, 4, &[1, 2])), Ok(()));
        rvma.post_buffer(0, 7, 0x3000, 4, 0x2010).unwrap();
        assert_eq!(rvma.put(&put(2, 1, 0, 4, &[1, 2])), Err(reasons::OUT_OF_BOUNDS));
        assert_eq!(rvma.put(&put(2, 0, 2, 4, &[3, 4])), Err(reasons::OUT_OF_BOUNDS));
    }

    #[test]
    fn records_are_little_endian() {
        let record =
            Record { address: 0, length: 0x0102_0304, status: 1, epoch: 0x0506, buffer: 0x0708_090A_0B0C_0D0E };
        assert_eq!(record.bytes(), [4, 3, 2, 1, 1, 0, 6, 5, 0x0E, 0x0D, 0x0C, 0x0B, 0x0A, 9, 8, 7]);
    }
}
