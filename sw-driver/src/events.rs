//! Event rings: the card reports events to a process through host memory.
//!
//! A process has one ring, on its doorbell page. The card writes records into it, the driver reads them in order and gives the
//! places back. A full ring loses events, which an [`EventKind::Lost`] counts; nothing else is lost.

use crate::access::{halves, whole};
use crate::stats::Fault;
use crate::{Bar, ContextId, Device, Error, HostMemory, Print, Result};
use spindle_contract::events::{self, message, BYTES, MAX_RECORDS};
use spindle_contract::registers::{doorbell, doorbell_command, PAGE};

/// The event ring of a process, open.
#[derive(Debug)]
pub struct EventRing {
    process: usize,
    base: u64,
    records: u32,
    read: u32,
    credited: u32,
}

impl EventRing {
    /// Process of the ring.
    pub fn process(&self) -> usize {
        self.process
    }

    /// Records read so far.
    pub(crate) fn read_so_far(&self) -> u32 {
        self.read
    }

    /// The card knows which records were read.
    pub(crate) fn credited(&mut self) {
        self.credited = self.read;
    }
}

/// How a message ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// All handlers ended well.
    Done,
    /// Its header handler dropped it, or there was no room.
    Dropped,
    /// A handler failed.
    Failed,
    /// It made no progress for too long.
    Aged,
}

/// What happened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum EventKind {
    /// A message ended.
    Message {
        /// How.
        outcome: Outcome,
        /// Its number.
        id: u32,
        /// Its bytes.
        length: u32,
        /// Bytes that handlers dropped.
        dropped: u32,
        /// Node that sent it.
        source: u32,
        /// Its match bits.
        match_bits: u64,
        /// Something was dropped for lack of room.
        flow_control: bool,
    },
    /// A task without a packet failed.
    TaskFailed {
        /// Its argument.
        argument: u64,
    },
    /// A handler was ended.
    Fault(Fault),
    /// A handler printed.
    Print(Print),
    /// A handler's EVENT command.
    User {
        /// Its 64 bits.
        user: u64,
        /// Its length.
        length: u32,
    },
    /// A handler's COMPLETE command.
    Complete {
        /// Its 64 bits.
        user: u64,
        /// Its length.
        length: u32,
    },
    /// A put of the host is over: its sender waits for it no longer. Only where the card sends reliably (`Device::set_reliability`).
    Put {
        /// Its number ([`Put::number`](crate::Put)).
        number: u16,
        /// Every byte was acknowledged.
        acknowledged: bool,
        /// Code of the refusal that ended it (`wire::nack`); none if the destination did not answer or the data could not be read.
        refusal: Option<u8>,
        /// Its message.
        id: u32,
        /// Its bytes.
        length: u32,
        /// Node that it went to.
        node: u32,
        /// Mailbox that it went to.
        address: u64,
    },
    /// A buffer of a window ended before it was full, and its record follows; or a buffer of a window with events is complete.
    Buffer {
        /// Number of its mailbox, without generation.
        mailbox: u32,
        /// `wire::status` of its record.
        status: u8,
        /// Bytes placed.
        length: u32,
        /// End of the last byte placed, as an offset in the buffer.
        high_water: u32,
        /// Its epoch, low half.
        epoch: u16,
        /// Its address.
        buffer: u64,
    },
    /// A frame for the host lies in a window FRAMES.
    Frame(Arrived),
    /// A frame of the command ring has been read, and all frames of the process before it.
    Sent {
        /// Commands of the ring up to that of the frame, modulo 2^16.
        commands: u16,
        /// Its cookie.
        cookie: u16,
        /// Its bytes could not be read, and it was not sent.
        failed: bool,
    },
    /// So many events found the ring full here.
    Lost(u32),
    /// A kind that this library does not know.
    Unknown(u8),
}

/// A frame in host memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Arrived {
    /// Number of its mailbox, without generation.
    pub mailbox: u32,
    /// Its address.
    pub address: u64,
    /// Its bytes, without frame check sequence.
    pub length: u32,
    /// Cycle of the card in which its first beat came, modulo 2^32.
    pub stamp: u32,
    /// Its number.
    pub number: u16,
    /// Rule that sent it to the host; none if no rule matched.
    pub rule: Option<usize>,
    /// IPv4 without options and fragments, and the checksum of its header is right.
    pub ip_checksum: bool,
    /// UDP or ICMP, and its checksum is there and right.
    pub l4_checksum: bool,
    /// It has an 802.1Q tag.
    pub vlan: bool,
    /// Host memory refused a part of it: its bytes are undefined.
    pub host_error: bool,
}

impl Arrived {
    /// The frame of a record's words.
    fn parse(code: u8, words: [u32; 4], address: u64) -> Self {
        let [mailbox, length, stamp, source] = words;
        let (code, received) = (events::FrameCode(code.into()), events::Received(source));
        Arrived {
            mailbox,
            address,
            length,
            stamp,
            number: received.frame() as u16,
            rule: code.ruled().then_some(received.rule() as usize),
            ip_checksum: code.ip_checksum(),
            l4_checksum: code.l4_checksum(),
            vlan: code.vlan(),
            host_error: code.host_error(),
        }
    }
}

/// An event.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Event {
    /// Number in its ring, from 1.
    pub number: u32,
    /// Context that it is about.
    pub context: ContextId,
    /// What happened.
    pub kind: EventKind,
}

impl Event {
    /// The event of a record.
    pub fn parse(record: &[u8; BYTES]) -> Event {
        let word =
            |i: usize| u32::from_le_bytes([record[4 * i], record[4 * i + 1], record[4 * i + 2], record[4 * i + 3]]);
        let head = events::Head(word(events::WORD_KIND));
        let (code, context) = (head.code() as u8, ContextId(head.context() as usize));
        let (id, length) = (word(events::WORD_ID), word(events::WORD_LENGTH));
        let (extra, source) = (word(events::WORD_EXTRA), word(events::WORD_SOURCE));
        let user = whole(word(events::WORD_USER), word(events::WORD_USER + 1));
        // Faults and prints name the handler that they come from.
        let origin = events::Handler(length);
        let (hpu, cluster) = (origin.hpu() as usize, origin.cluster() as usize);
        let packet = events::Packet(source);
        let (frame, handler) = (packet.frame() as u16, packet.handler() as u8);
        let put = events::HostPut(source);
        let kind = match head.kind() as u8 {
            events::MESSAGE if head.flags() as u8 & message::TASK != 0 => EventKind::TaskFailed { argument: user },
            events::MESSAGE => EventKind::Message {
                outcome: match code {
                    message::DONE => Outcome::Done,
                    message::DROPPED => Outcome::Dropped,
                    message::AGED => Outcome::Aged,
                    _ => Outcome::Failed,
                },
                id,
                length,
                dropped: extra,
                source,
                match_bits: user,
                flow_control: head.flags() as u8 & message::FLOW_CONTROL != 0,
            },
            events::FAULT => EventKind::Fault(Fault {
                cause: code,
                context,
                cluster,
                hpu,
                msg_slot: origin.msg_slot() as usize,
                pc: id,
                address: extra,
                frame,
                kind: handler,
            }),
            events::PRINT => {
                let characters = user.to_le_bytes();
                let text = characters[..usize::from(code).min(characters.len())].to_vec();
                EventKind::Print(Print { cluster, hpu, context, kind: handler, frame, text })
            }
            events::USER => EventKind::User { user, length },
            events::COMPLETE => EventKind::Complete { user, length },
            events::PUT => EventKind::Put {
                number: put.number() as u16,
                acknowledged: code == 0,
                refusal: (extra != 0).then_some(extra as u8),
                id,
                length,
                node: put.node(),
                address: user,
            },
            events::BUFFER => EventKind::Buffer {
                mailbox: id,
                status: code,
                length,
                high_water: extra,
                epoch: source as u16,
                buffer: user,
            },
            events::FRAME => EventKind::Frame(Arrived::parse(code, [id, length, extra, source], user)),
            events::SENT => EventKind::Sent { commands: id as u16, cookie: source as u16, failed: code != 0 },
            events::LOST => EventKind::Lost(length),
            other => EventKind::Unknown(other),
        };
        Event { number: word(events::WORD_SEQUENCE), context, kind }
    }
}

impl<B: Bar, M: HostMemory> Device<B, M> {
    /// Allocates the event ring of a process and opens it; `records` is a power of two from 2 to 32768. Its faults and what its
    /// handlers print go there from now on. A ring that the process had before is forgotten.
    pub fn open_ring(&mut self, process: usize, records: usize) -> Result<EventRing> {
        if !records.is_power_of_two() || !(2..=MAX_RECORDS).contains(&records) {
            return Err(Error::Argument(format!(
                "an event ring of {records} records cannot be had; choose a power of two from 2 to {MAX_RECORDS}"
            )));
        }
        let bytes = records * BYTES;
        let base = self.memory.alloc(bytes, bytes)?;
        self.memory.write(base, &vec![0; bytes])?;
        self.ring_command(process, base, bytes as u32)?;
        Ok(EventRing { process, base, records: records as u32, read: 0, credited: 0 })
    }

    /// Closes a ring and frees its memory, to which the card writes no more. Events that were not read are gone.
    pub fn close_ring(&mut self, ring: EventRing) -> Result<()> {
        self.ring_command(ring.process, 0, 0)?;
        self.memory.free(ring.base)
    }

    fn ring_command(&mut self, process: usize, base: u64, bytes: u32) -> Result<()> {
        let [base_lo, base_hi] = halves(base);
        let staging = [
            (doorbell::BUFFER_LO, base_lo),
            (doorbell::BUFFER_HI, base_hi),
            (doorbell::SIZE, bytes),
            (doorbell::EVENT_HEAD, 0),
        ];
        self.ring(process, "open_ring", doorbell_command::OPEN_RING, &staging)?;
        Ok(())
    }

    /// The next event, if there is one. Looking costs no register access; places are given back when a quarter of the ring has been
    /// read, and when it is found empty.
    pub fn poll_event(&mut self, ring: &mut EventRing) -> Result<Option<Event>> {
        let at = ring.base + u64::from(ring.read % ring.records) * BYTES as u64;
        // The number first: the rest of a record is there when its number is.
        let mut number = [0; 4];
        self.memory.read(at + 4 * events::WORD_SEQUENCE as u64, &mut number)?;
        let (mut event, mut read) = (None, ring.read);
        if u32::from_le_bytes(number) == read.wrapping_add(1) {
            let mut record = [0; BYTES];
            self.memory.read(at, &mut record)?;
            event = Some(Event::parse(&record));
            read = read.wrapping_add(1);
        }
        let owed = read.wrapping_sub(ring.credited);
        if owed > 0 && (event.is_none() || owed >= (ring.records / 4).max(1)) {
            let page = doorbell::BASE + ring.process as u32 * PAGE;
            // An event is read when this has been written: after an error it comes again.
            self.bar.write32(page + doorbell::EVENT_HEAD, read & 0xFFFF)?;
            ring.credited = read;
        }
        ring.read = read;
        Ok(event)
    }

    /// Waits for the next event, at most `cycles` cycles of the card.
    pub fn wait_event(&mut self, ring: &mut EventRing, cycles: u64) -> Result<Event> {
        let mut patience = self.patience(cycles)?;
        loop {
            if let Some(event) = self.poll_event(ring)? {
                return Ok(event);
            }
            if self.is_over(&mut patience)? {
                return Err(Error::Timeout { what: format!("an event of process {}", ring.process), cycles });
            }
        }
    }
}
