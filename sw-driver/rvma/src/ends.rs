//! Puts and gets of a process, from the call that posted them to the wait for their end: the NIC writes how each
//! ended into the process's event ring.

use crate::alarm::Alarm;
use crate::contexts::Event;
use crate::node::Node;
use anyhow::Result;
use spindle::put::Put;
use spindle::{Error, EventKind, EventRing};
use spindle_contract::wire::{nack, status};
use std::collections::{BTreeMap, HashMap, HashSet, VecDeque};
use std::fmt;
use std::ops::Range;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::Arc;

/// Events that are kept until the program takes them.
const KEPT_EVENTS: usize = 65_536;
/// Ends that are kept until the program waits for them.
const KEPT: u64 = 30_000;
/// Bits of an operation's number that count; the bits above name the process.
const COUNT_BITS: u32 = 24;
const COUNT: u64 = (1 << COUNT_BITS) - 1;

/// A put or get that was posted, as `RVMA_Op` names it: a number of the open process in the upper 8 bits, then a count from 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Op(pub u32);

/// A put that did not arrive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PutFailed {
    /// Code of the refusal (`wire::nack`); none if the destination did not answer, or the memory could not be read.
    pub refusal: Option<u8>,
}

impl fmt::Display for PutFailed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.refusal {
            None => f.write_str("the destination does not answer, or the memory of the put cannot be read"),
            Some(code @ (nack::NO_BUFFER | nack::BUSY)) => {
                write!(f, "the put limit of the node is over: {}", reason(code))
            }
            Some(code) => f.write_str(reason(code)),
        }
    }
}

impl std::error::Error for PutFailed {}

/// What a refusal means.
fn reason(code: u8) -> &'static str {
    match code {
        nack::NO_BUFFER => "no buffer is posted to the window, or none whose turn it is",
        nack::BUSY => "the destination has no room for the put at present",
        nack::PSN_WINDOW => "the put is ahead of the receive window of the destination",
        nack::NO_MAILBOX => "the destination has no such window",
        nack::CLOSED => "the window was closed before the put had arrived",
        nack::BAD_KEY => "the key is not the window's",
        nack::OUT_OF_BOUNDS => "the put reaches beyond the buffer",
        nack::STALE_EPOCH => "the put's buffer was taken back before it had arrived",
        nack::BAD_VERSION => "the window is of another kind than the put",
        _ => "the destination refused the put",
    }
}

/// How far a put or get is.
#[derive(Debug)]
enum Fate {
    UnderWay {
        /// Memory that the NIC reads for it.
        memory: Range<u64>,
        /// Code of the refusal that was seen last.
        refusal: Option<u8>,
    },
    Ended(std::result::Result<(), PutFailed>),
}

/// Puts and gets of a process.
pub struct Ends {
    ring: EventRing,
    /// Upper bits of its operations.
    tag: u32,
    /// How many were posted.
    posted: u64,
    /// Those that are under way, and those that nothing has waited for, by their ordinals.
    fates: BTreeMap<u64, Fate>,
    /// Ordinals of those under way, by their numbers on the NIC.
    numbers: HashMap<u16, u64>,
    /// Events for the program.
    events: VecDeque<Event>,
    /// Events that found no room after those.
    lost: u32,
    /// Mailboxes whose complete buffers are events for the program; those of others only end its waits.
    reporting: HashSet<u32>,
    /// Of the process' vector, if it has interrupts, and how often it had gone off when the interrupt was armed last.
    alarm: Option<Arc<Alarm>>,
    armed: Option<u64>,
}

impl Ends {
    /// No operation yet.
    pub fn new(ring: EventRing, alarm: Option<Arc<Alarm>>) -> Ends {
        static OPENED: AtomicU32 = AtomicU32::new(0);
        let tag = OPENED.fetch_add(1, Ordering::Relaxed) << COUNT_BITS;
        Ends {
            ring,
            tag,
            posted: 0,
            fates: BTreeMap::new(),
            numbers: HashMap::new(),
            events: VecDeque::new(),
            lost: 0,
            reporting: HashSet::new(),
            alarm,
            armed: None,
        }
    }

    /// The ring, at the end of the process.
    pub fn into_ring(self) -> EventRing {
        self.ring
    }

    /// Keeps a put or get that the NIC has taken.
    pub fn post(&mut self, put: Put, memory: Range<u64>) -> Op {
        self.posted += 1;
        self.numbers.insert(put.number, self.posted);
        self.fates.insert(self.posted, Fate::UnderWay { memory, refusal: None });
        while let Some((first, Fate::Ended(_))) = self.fates.first_key_value() {
            if first + KEPT >= self.posted {
                break;
            }
            self.fates.pop_first();
        }
        Op(self.tag | (self.posted & COUNT) as u32)
    }

    /// Arms the interrupt for the next event, if it is not armed. All events until now have been read.
    ///
    /// Returns how often the alarm had gone off before that.
    pub fn arm(&mut self, node: &Node, alarm: &Alarm) -> Result<u64> {
        self.read(node)?;
        let count = alarm.count();
        if self.armed != Some(count) {
            node.driver().arm(&mut self.ring)?;
            self.armed = Some(count);
        }
        Ok(count)
    }

    /// Says whether complete buffers of a mailbox are events for the program. The mailbox has no buffer yet.
    pub fn report(&mut self, node: &Node, mailbox: u32, reports: bool) -> Result<()> {
        // Events of an earlier mailbox of this number.
        self.read(node)?;
        match reports {
            true => self.reporting.insert(mailbox),
            false => self.reporting.remove(&mailbox),
        };
        Ok(())
    }

    /// Whether an event is one for the program.
    fn reports(&self, event: &EventKind) -> bool {
        match event {
            EventKind::Buffer { mailbox, status: status::DONE, .. } => self.reporting.contains(mailbox),
            _ => true,
        }
    }

    /// Reads the events that the NIC has written. Other threads may wait for them, so the alarm goes off.
    pub fn read(&mut self, node: &Node) -> Result<()> {
        let mut any = false;
        while let Some(event) = node.driver().poll_event(&mut self.ring)? {
            any = true;
            if let EventKind::Put { number, acknowledged, refusal, .. } = event.kind {
                if let Some(ordinal) = self.numbers.remove(&number) {
                    let end = if acknowledged { Ok(()) } else { Err(PutFailed { refusal }) };
                    self.fates.insert(ordinal, Fate::Ended(end));
                }
            }
            if let Some(event) = Event::of(&event).filter(|_| self.reports(&event.kind)) {
                if self.events.len() < KEPT_EVENTS {
                    self.events.push_back(event);
                } else {
                    self.lost = self.lost.saturating_add(1);
                }
            }
        }
        if let Some(alarm) = self.alarm.as_ref().filter(|_| any) {
            alarm.ring();
        }
        Ok(())
    }

    /// The oldest event for the program.
    pub fn take_event(&mut self) -> Option<Event> {
        let lost = std::mem::take(&mut self.lost);
        let event = self.events.pop_front();
        if lost > 0 {
            self.events.push_back(Event::lost(lost));
        }
        event
    }

    /// Keeps a refusal of the put or get with this number on the NIC.
    pub fn refuse(&mut self, number: u16, code: u8) {
        let fate = self.numbers.get(&number).and_then(|ordinal| self.fates.get_mut(ordinal));
        if let Some(Fate::UnderWay { refusal, .. }) = fate {
            *refusal = Some(code);
        }
    }

    /// How an operation ended, once; `None`: it is under way.
    ///
    /// # Errors
    /// The program posted no such operation, or has waited for it.
    pub fn end(&mut self, op: Op) -> Result<Option<std::result::Result<(), PutFailed>>> {
        let ordinal = self.ordinal(op)?;
        match self.fates.get(&ordinal) {
            Some(Fate::UnderWay { .. }) => Ok(None),
            Some(Fate::Ended(end)) => {
                let end = *end;
                self.fates.remove(&ordinal);
                Ok(Some(end))
            }
            None => Err(refuse(op, "is over, and the program has waited for it; each operation is waited for once")),
        }
    }

    /// What is known of an operation under way, for a wait that ends before it.
    pub fn state(&self, op: Op) -> String {
        let fate = self.ordinal(op).ok().and_then(|ordinal| self.fates.get(&ordinal));
        match fate {
            Some(Fate::UnderWay { refusal: Some(code), .. }) => {
                format!("the end of operation {:#x} (last refusal: {})", op.0, reason(*code))
            }
            _ => format!("the end of operation {:#x} (no refusal has been reported)", op.0),
        }
    }

    /// Memory of the operations under way.
    pub fn in_use(&self) -> impl Iterator<Item = &Range<u64>> {
        self.fates.values().filter_map(|fate| match fate {
            Fate::UnderWay { memory, .. } => Some(memory),
            Fate::Ended(_) => None,
        })
    }

    fn ordinal(&self, op: Op) -> Result<u64> {
        if op.0 & !(COUNT as u32) != self.tag {
            return Err(refuse(op, "is unknown: this process posted no put or get of that number"));
        }
        let back = self.posted.wrapping_sub(op.0.into()) & COUNT;
        if back >= self.posted {
            return Err(refuse(op, "is unknown: no put or get of that number was posted"));
        }
        let ordinal = self.posted - back;
        if back > KEPT && !self.fates.contains_key(&ordinal) {
            return Err(refuse(
                op,
                "is over and no longer remembered: the program has waited for it, or 30,000 others have followed it",
            ));
        }
        Ok(ordinal)
    }
}

fn refuse(op: Op, why: &str) -> anyhow::Error {
    Error::Argument(format!("operation {:#x} {why}", op.0)).into()
}
