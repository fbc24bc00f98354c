//! What becomes of a packet: its mailbox, its buffer, its bytes.

use super::{Binding, Place, Put, Rvma};
use spindle_contract::params::STREAM_BITS;
use spindle_contract::reasons;
use spindle_contract::registers::mailbox_mode;
use spindle_contract::wire::{flag, opcode};

/// Buffers of a TAGGED mailbox that messages may name.
const WINDOW: usize = 4;

/// Bytes of a line: frames for the host are written in multiples of it.
const LINE: usize = 64;

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

/// End of the message.
fn end_of(put: &Put) -> u64 {
    start_of(put) + u64::from(put.msg_len)
}

impl Rvma {
    /// A packet. `Err` is the reason of its refusal.
    pub fn put(&mut self, put: &Put) -> Result<(), usize> {
        if put.redirected {
            return self.redirected(put);
        }
        let length = put.payload.len() as u32;
        if ![opcode::PUT, opcode::GET_RESP].contains(&put.opcode) {
            return Err(reasons::UNSUPPORTED);
        }
        let name = (put.pid, put.addr);
        let Some(mailbox) = self.mailboxes.get(&name) else {
            return self.caught(put, reasons::NO_MAILBOX);
        };
        let spills = mailbox.mode & mailbox_mode::SPILL != 0 && self.catch_all.contains_key(&put.pid);
        let tagged = put.flags & flag::EPOCH_VALID != 0;
        if is_managed(put) != (mailbox.mode & mailbox_mode::MANAGED != 0)
            || tagged != (mailbox.mode & mailbox_mode::TAGGED != 0)
            || mailbox.mode & mailbox_mode::FRAMES != 0
        {
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
            None => Binding { mailbox: name, message: put.message, left: put.msg_len, decision: self.bind(name, put) },
        };
        // The sender repeats a packet without a buffer, unless it is not sequenced or has gone to the catch-all: then the message is lost.
        let unbound = binding.decision.err() == Some(reasons::NO_POSTED_BUFFER);
        if unbound && put.flags & flag::UNSEQ == 0 && !spills {
            return Err(reasons::NO_POSTED_BUFFER);
        }
        let fits = length <= binding.left;
        let decision = match binding.decision {
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
        if unbound && spills {
            return self.caught(put, reasons::NO_POSTED_BUFFER);
        }
        self.place(decision?, put)
    }

    /// A whole frame for the host window: a message in whole lines. Returns its host address.
    pub fn frame(&mut self, pid: u16, addr: u64, frame: &[u8]) -> Result<u64, usize> {
        let name = (pid, addr);
        let mailbox = self.mailboxes.get(&name).ok_or(reasons::NO_MAILBOX)?;
        if mailbox.mode & mailbox_mode::FRAMES == 0 {
            return Err(reasons::UNSUPPORTED);
        }
        let mut payload = frame.to_vec();
        payload.resize(frame.len().next_multiple_of(LINE), 0);
        let put = Put { pid, addr, flags: flag::MANAGED, msg_len: payload.len() as u32, payload, ..Put::default() };
        let place = self.bind(name, &put)?;
        let address = self.buffers[place.buffer].base + place.offset;
        self.place(place, &put)?;
        Ok(address)
    }

    /// A packet that a handler redirects is a message of its own, and no catch-all mailbox gets it.
    fn redirected(&mut self, put: &Put) -> Result<(), usize> {
        let mode = self.mailboxes.get(&(put.pid, put.addr)).map(|mailbox| mailbox.mode);
        let tagged = put.flags & flag::EPOCH_VALID != 0;
        let refuses = |mode: u32| mode & mailbox_mode::FRAMES != 0 || tagged != (mode & mailbox_mode::TAGGED != 0);
        if put.opcode == opcode::GET || mode.is_some_and(refuses) {
            return Err(reasons::UNSUPPORTED);
        }
        let managed = mode.ok_or(reasons::NO_MAILBOX)? & mailbox_mode::MANAGED != 0;
        let flags = if managed { flag::MANAGED } else { 0 };
        let whole = Put { flags, msg_len: put.payload.len() as u32, msg_off: 0, ..put.clone() };
        if end_of(&whole) >> 32 != 0 {
            return Err(reasons::OUT_OF_BOUNDS);
        }
        let place = self.bind((put.pid, put.addr), &whole)?;
        self.place(place, &whole)
    }

    /// Header and payload of a packet go to the catch-all mailbox of its process, if that has one.
    fn caught(&mut self, put: &Put, reason: usize) -> Result<(), usize> {
        let addr = *self.catch_all.get(&put.pid).ok_or(reason)?;
        let payload = [&put.header[..], &put.payload].concat();
        let whole = Put {
            flags: flag::MANAGED,
            addr,
            msg_len: payload.len() as u32,
            msg_off: 0,
            payload,
            slot: None,
            ..put.clone()
        };
        let place = self.bind((put.pid, addr), &whole)?;
        self.place(place, &whole)
    }

    /// Binds a message to the head buffer of its mailbox, of a stream only at its turn; TAGGED: to the buffer that the message
    /// names, if that is among the oldest four.
    fn bind(&mut self, name: (u16, u64), put: &Put) -> Result<Place, usize> {
        let mailbox = self.mailboxes.get_mut(&name).expect("looked up before");
        let stream = mailbox.mode & mailbox_mode::STREAM == mailbox_mode::STREAM;
        let turn = put.epoch.wrapping_sub(mailbox.turn) % (1 << STREAM_BITS);
        if stream && turn != 0 {
            return Err(if turn < 1 << (STREAM_BITS - 1) { reasons::NO_POSTED_BUFFER } else { reasons::STALE_EPOCH });
        }
        let head = if stream || mailbox.mode & mailbox_mode::TAGGED == 0 {
            *mailbox.queue.front().ok_or(reasons::NO_POSTED_BUFFER)?
        } else {
            let ahead = put.epoch.wrapping_sub(mailbox.epoch as u16);
            if ahead >= 1 << 15 {
                return Err(reasons::STALE_EPOCH);
            }
            let named = mailbox.live.iter().take(WINDOW).nth(ahead.into()).ok_or(reasons::NO_POSTED_BUFFER)?;
            if self.buffers[*named].closed {
                return Err(reasons::STALE_EPOCH);
            }
            *named
        };
        let buffer = &mut self.buffers[head];
        let managed = mailbox.mode & mailbox_mode::MANAGED != 0;
        let size = u64::from(buffer.size);
        let room = if managed { size - buffer.reserved } else { size };
        if end_of(put) > room {
            return Err(reasons::OUT_OF_BOUNDS);
        }
        let offset = if managed { buffer.reserved } else { 0 };
        mailbox.turn = mailbox.turn.wrapping_add(stream.into());
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
            mailbox.queue.retain(|waiting| *waiting != head);
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
        if length > 0 {
            let end = place.offset + start_of(put) + u64::from(put.msg_off) + length;
            buffer.high = buffer.high.max(end as u32);
        }
        if bad.is_empty() {
            buffer.placed += length;
        }
        buffer.holders.extend(put.holder.filter(|slot| !self.over.contains(slot)));
        self.examine(place.buffer);
        if bad.is_empty() {
            Ok(())
        } else {
            Err(reasons::HOST_ERROR)
        }
    }
}
