//! What a key-value store must answer.
//!
//! Requests that are under way together may take effect in any order, but each between its arrival and its reply. So a GET has a value
//! that its key has had meanwhile, and no mixture of two.

use std::collections::HashMap;

/// Bytes of a header.
pub const HEADER: usize = 18;
/// Of a value.
pub const VALUE: usize = 64;

/// What is wanted of a key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Operation {
    /// Its value.
    Get,
    /// Stores a value.
    Set(Vec<u8>),
    /// Stores a value if the present one begins with this word.
    Cas(u32, Vec<u8>),
}

/// A request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Request {
    /// Number.
    pub id: u32,
    /// Key.
    pub key: u64,
    /// What is wanted.
    pub operation: Operation,
}

/// A value: other bytes for each seed.
pub fn value(seed: u64) -> Vec<u8> {
    let word = |i: usize| seed.wrapping_mul(0x9E37_79B9_7F4A_7C15).wrapping_add(i as u64 * 0x1_0000_0101);
    (0..VALUE).map(|i| (word(i) >> (8 * (i % 5))) as u8).collect()
}

impl Request {
    fn header(&self, status: u8) -> Vec<u8> {
        let (code, expected) = match &self.operation {
            Operation::Get => (1, 0),
            Operation::Set(_) => (2, 0),
            Operation::Cas(expected, _) => (3, *expected),
        };
        let mut bytes = vec![code, status];
        bytes.extend(self.id.to_le_bytes());
        bytes.extend(self.key.to_le_bytes());
        bytes.extend(expected.to_le_bytes());
        bytes
    }

    /// Its bytes.
    pub fn bytes(&self) -> Vec<u8> {
        let mut bytes = self.header(0);
        if let Operation::Set(value) | Operation::Cas(_, value) = &self.operation {
            bytes.extend(value);
        }
        bytes
    }

    /// The reply: what was found, or whether something was stored.
    fn reply(&self, found: Result<&[u8], ()>) -> Vec<u8> {
        let mut bytes = self.header(u8::from(found.is_err()));
        if let (Operation::Get, Ok(value)) = (&self.operation, found) {
            bytes.extend(value);
        }
        bytes
    }
}

/// Payloads that are no requests: too short, too long, of an operation that does not exist. Nothing may come of them.
pub fn malformed(key: u64) -> Vec<Vec<u8>> {
    let of = |operation: u8, length: usize| {
        let mut bytes = Request { id: 0, key, operation: Operation::Set(vec![0xBA; 4 * VALUE]) }.bytes();
        bytes[0] = operation;
        bytes.truncate(length);
        bytes
    };
    vec![
        of(1, HEADER - 1),
        of(1, HEADER + VALUE),
        of(2, HEADER),
        of(2, HEADER + VALUE - 1),
        of(2, HEADER + VALUE + 1),
        of(3, HEADER + 4),
        of(0, HEADER),
        of(4, HEADER + VALUE),
        of(0xFF, HEADER + VALUE),
        of(2, 1),
    ]
}

/// A request that was answered, with the cycles in which it arrived and its reply left.
#[derive(Clone, Debug)]
pub struct Event {
    /// The request.
    pub request: Request,
    /// When it arrived, or later.
    pub start: u64,
    /// When its reply left, or later.
    pub end: u64,
}

/// A value that was stored, between these two times.
type Stored<'a> = (&'a [u8], u64, u64);

/// The store.
#[derive(Default)]
pub struct Store(HashMap<u64, Vec<u8>>);

impl Store {
    /// The reply to a request that is alone.
    pub fn answer(&mut self, request: &Request) -> Vec<u8> {
        match &request.operation {
            Operation::Get => request.reply(self.0.get(&request.key).map(Vec::as_slice).ok_or(())),
            Operation::Set(value) => {
                self.0.insert(request.key, value.clone());
                request.reply(Ok(&[]))
            }
            Operation::Cas(expected, value) => match self.0.get_mut(&request.key) {
                Some(present) if present[..4] == expected.to_le_bytes() => {
                    present.clone_from(value);
                    request.reply(Ok(&[]))
                }
                _ => request.reply(Err(())),
            },
        }
    }

    /// All replies that each of these requests, GET and SET under way together after those that were alone, may have. Every key is
    /// known.
    pub fn answers(&self, events: &[Event]) -> Vec<Vec<Vec<u8>>> {
        let mut sets: HashMap<u64, Vec<Stored>> =
            self.0.iter().map(|(key, value)| (*key, vec![(value.as_slice(), 0, 0)])).collect();
        for event in events {
            if let Operation::Set(value) = &event.request.operation {
                sets.entry(event.request.key).or_default().push((value, event.start, event.end));
            }
        }
        let answers = |event: &Event| match event.request.operation {
            Operation::Get => {
                let sets = &sets[&event.request.key];
                // A value is over if another one was stored after it and before this request arrived.
                let over = |end: u64| sets.iter().any(|(_, start, stored)| *start > end && *stored < event.start);
                let may = sets.iter().filter(|(_, start, end)| *start <= event.end && !over(*end));
                may.map(|(value, _, _)| event.request.reply(Ok(value))).collect()
            }
            _ => vec![event.request.reply(Ok(&[]))],
        };
        events.iter().map(answers).collect()
    }
}
