//! Atomic operations on host memory, event rings and their interrupts, naively.

use spindle_contract::events;

/// What an atomic operation stores, if anything, on finding `old`.
pub fn atomic(op: u8, wide: bool, old: u64, operand: u64, compare: u64) -> Option<u64> {
    let cut = |x: u64| if wide { x } else { x & 0xFFFF_FFFF };
    match op {
        events::atomic::FETCH_AND_ADD => Some(cut(old.wrapping_add(operand))),
        _ if cut(old) == cut(compare) => Some(cut(operand)),
        _ => None,
    }
}

/// An event, as its source gives it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Event {
    pub kind: u8,
    pub context: u8,
    pub code: u8,
    pub flags: u8,
    pub id: u32,
    pub length: u32,
    pub extra: u32,
    pub source: u32,
    pub user: u64,
}

impl Event {
    /// The record with this number.
    pub fn record(&self, number: u32) -> [u8; events::BYTES] {
        let kind = u32::from_le_bytes([self.kind, self.context, self.code, self.flags]);
        let words =
            [kind, self.id, self.length, self.extra, self.source, self.user as u32, (self.user >> 32) as u32, number];
        let mut bytes = [0; events::BYTES];
        for (i, word) in words.iter().enumerate() {
            bytes[4 * i..4 * i + 4].copy_from_slice(&word.to_le_bytes());
        }
        bytes
    }

    /// The event of a record, and its number.
    pub fn parse(bytes: &[u8]) -> (Event, u32) {
        let word = |i: usize| u32::from_le_bytes(bytes[4 * i..4 * i + 4].try_into().expect("four bytes"));
        let event = Event {
            kind: bytes[0],
            context: bytes[1],
            code: bytes[2],
            flags: bytes[3],
            id: word(events::WORD_ID),
            length: word(events::WORD_LENGTH),
            extra: word(events::WORD_EXTRA),
            source: word(events::WORD_SOURCE),
            user: u64::from(word(events::WORD_USER + 1)) << 32 | u64::from(word(events::WORD_USER)),
        };
        (event, word(events::WORD_SEQUENCE))
    }
}

/// A ring: what the host should find in it.
#[derive(Clone, Debug)]
pub struct EventRing {
    records: u32,
    head: u32,
    lost: u32,
    /// Records written so far.
    pub written: Vec<[u8; events::BYTES]>,
}

impl EventRing {
    /// An empty ring of so many records.
    pub fn new(records: u32) -> Self {
        Self { records, head: 0, lost: 0, written: vec![] }
    }

    fn write(&mut self, event: &Event) {
        let number = self.written.len() as u32 + 1;
        self.written.push(event.record(number));
    }

    fn full(&self) -> bool {
        self.written.len() as u32 - self.head == self.records
    }

    /// An event comes.
    pub fn event(&mut self, event: &Event) {
        if self.full() {
            self.lost += 1;
        } else {
            self.write(event);
        }
    }

    /// The host has read so many records.
    pub fn read_up_to(&mut self, head: u32) {
        self.head = head;
        if self.lost > 0 && !self.full() {
            let length = std::mem::take(&mut self.lost);
            self.write(&Event { kind: events::LOST, length, ..Event::default() });
        }
    }

    /// The ring's memory.
    pub fn memory(&self) -> Vec<u8> {
        let mut bytes = vec![0; self.records as usize * events::BYTES];
        for (i, record) in self.written.iter().enumerate() {
            let at = i % self.records as usize * events::BYTES;
            bytes[at..at + events::BYTES].copy_from_slice(record);
        }
        bytes
    }
}

/// The interrupt of an event ring without a limit of time.
#[derive(Clone, Copy, Debug, Default)]
pub struct Interrupt {
    /// Interrupts are requested.
    pub enable: bool,
    /// Unread records that request it.
    pub events: u32,
    armed: bool,
    /// Records that the host has read.
    pub head: u32,
}

impl Interrupt {
    /// The host writes EVENT_HEAD while the ring has so many records; says whether the interrupt fires.
    pub fn write_head(&mut self, head: u32, arm: bool, written: u32) -> bool {
        self.head = head;
        self.armed |= arm;
        arm && written > head && self.fire(true) || self.look(written)
    }

    /// The ring has so many records now, or IRQ was written; says whether the interrupt fires.
    pub fn look(&mut self, written: u32) -> bool {
        let unread = written - self.head;
        let enough = unread > 0 && unread >= self.events;
        self.fire(enough)
    }

    fn fire(&mut self, due: bool) -> bool {
        let fires = due && self.armed && self.enable;
        self.armed &= !fires;
        fires
    }
}
