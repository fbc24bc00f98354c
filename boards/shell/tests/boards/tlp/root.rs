//! A naive root complex: it carries out writes, and answers reads late, in pieces and in any order.

use super::memory::Memory;
use super::packet::{Completion, Sent};
use rand::Rng;
use rand_chacha::ChaCha8Rng;
use std::collections::VecDeque;

/// What becomes of a read.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Fate {
    Good,
    /// Ends with this status after some of its lines.
    Status(u8),
    /// One of its completions is poisoned.
    Poisoned,
    /// One of its completions has a DW too many, or one too few, or another byte count.
    Malformed,
    /// It gets no completion until `Root::answer_lost`.
    Lost,
}

/// A read under way.
#[derive(Clone, Debug)]
struct Read {
    tag: u8,
    address: u64,
    data: Vec<u8>,
    done: usize,
    fate: Fate,
    due: u64,
}

/// The root complex.
pub struct Root {
    pub memory: Memory,
    pub id: u16,
    pub max_payload: usize,
    pub max_read: usize,
    /// Read completion boundary.
    pub boundary: usize,
    /// Least cycles from a read to its first completion, and most cycles more.
    pub least: u64,
    pub latency: u64,
    /// Weights of the fates: good, status, poisoned, malformed, lost.
    pub fates: [u32; 5],
    rng: ChaCha8Rng,
    reads: Vec<Read>,
    lost: Vec<Read>,
    /// Lines of reads in the order of the packets, and whether they fail.
    pub lines: VecDeque<(u64, bool)>,
    /// Messages of MSI-X: address and data.
    pub messages: Vec<(u64, u32)>,
    pub message_page: Option<u64>,
    pub most_reads: usize,
    pub writes: usize,
}

impl Root {
    pub fn new(rng: ChaCha8Rng) -> Self {
        Self {
            memory: Memory::default(),
            id: 0x0500,
            max_payload: 256,
            max_read: 512,
            boundary: 64,
            least: 0,
            latency: 200,
            fates: [1, 0, 0, 0, 0],
            rng,
            reads: vec![],
            lost: vec![],
            lines: VecDeque::new(),
            messages: vec![],
            message_page: None,
            most_reads: 0,
            writes: 0,
        }
    }

    fn fate(&mut self) -> Fate {
        let mut pick = self.rng.random_range(0..self.fates.iter().sum());
        let choices =
            [Fate::Good, Fate::Status([1, 2, 4][pick as usize % 3]), Fate::Poisoned, Fate::Malformed, Fate::Lost];
        for (choice, weight) in choices.into_iter().zip(self.fates) {
            if pick < weight {
                return choice;
            }
            pick -= weight;
        }
        Fate::Good
    }

    /// A memory request of the card.
    pub fn take(&mut self, dws: &[u32], cycle: u64) {
        let sent = Sent::parse(dws, self.id);
        if sent.write {
            assert!(4 * sent.words <= self.max_payload, "{} DWs exceed the maximum payload", sent.words);
            if self.message_page == Some(sent.address / 4096) {
                assert_eq!((sent.words, sent.first), (1, 15));
                self.messages.push((sent.address, u32::from_le_bytes(sent.data[..4].try_into().expect("a DW"))));
                return;
            }
            self.writes += 1;
            sent.bytes().for_each(|(address, value)| self.memory.write(address, value));
            return;
        }
        assert!(4 * sent.words <= self.max_read, "{} DWs exceed the maximum read request", sent.words);
        assert!(sent.tag < 32, "tag {} is an extended one", sent.tag);
        assert_eq!((sent.first, sent.last), (15, 15));
        let known = self.reads.iter().chain(&self.lost).find(|read| read.tag == sent.tag);
        assert!(known.is_none(), "tag {} is in use: {known:?}", sent.tag);
        let fate = self.fate();
        let lines = (0..sent.words / 16).map(|i| (sent.address + 64 * i as u64, fate != Fate::Good));
        self.lines.extend(lines);
        let data = self.memory.read(sent.address, 4 * sent.words);
        let due = cycle + self.least + self.rng.random_range(0..=self.latency);
        let read = Read { tag: sent.tag, address: sent.address, data, done: 0, fate, due };
        if fate == Fate::Lost {
            self.lost.push(read);
        } else {
            self.reads.push(read);
        }
        self.most_reads = self.most_reads.max(self.reads.len());
    }

    /// Reads that got no completion so far.
    pub fn under_way(&self) -> usize {
        self.reads.len()
    }

    pub fn lost(&self) -> usize {
        self.lost.len()
    }

    /// Reads that got a malformed completion, or none since before `cycle`, get good ones after all.
    pub fn answer_lost(&mut self, cycle: u64) {
        let (late, still): (Vec<_>, Vec<_>) =
            self.lost.drain(..).partition(|read| read.fate == Fate::Malformed || read.due < cycle);
        self.reads.extend(late.into_iter().map(|read| Read { fate: Fate::Good, ..read }));
        self.lost = still;
    }

    /// The link goes down.
    pub fn reset(&mut self) {
        self.reads.clear();
        self.lost.clear();
        self.lines.clear();
    }

    /// A completion that is due, of any read.
    pub fn completion(&mut self, cycle: u64) -> Option<Vec<u32>> {
        let due: Vec<usize> = (0..self.reads.len()).filter(|i| self.reads[*i].due <= cycle).collect();
        if due.is_empty() {
            return None;
        }
        let index = due[self.rng.random_range(0..due.len())];
        let read = &mut self.reads[index];
        let missing = read.data.len() - read.done;
        // Pieces end at multiples of the boundary.
        let at = read.address + read.done as u64;
        let mut ends: Vec<usize> =
            (1..=missing).filter(|n| at.wrapping_add(*n as u64).is_multiple_of(self.boundary as u64)).collect();
        ends.push(missing);
        let bytes = ends[self.rng.random_range(0..ends.len())];
        let mut completion = Completion {
            id: 0,
            status: 0,
            byte_count: missing as u16,
            requester: self.id,
            tag: read.tag,
            lower: at as u8 & 0x7F,
            poisoned: false,
            marks: 0,
            data: Some(read.data[read.done..read.done + bytes].to_vec()),
        };
        let last = bytes == missing;
        let strikes = last || self.rng.random_range(0..3) == 0;
        match read.fate {
            Fate::Status(status) if strikes => {
                (completion.status, completion.data) = (status, None);
                self.reads.remove(index);
                return Some(completion.packet().dws);
            }
            Fate::Poisoned if strikes => {
                completion.poisoned = true;
                // The others may be poisoned or not.
            }
            Fate::Malformed if strikes => {
                let mut dws = completion.packet().dws;
                match self.rng.random_range(0..4) {
                    0 => dws.push(0x0BAD_0BAD),
                    1 => drop(dws.pop()),
                    2 => dws[1] ^= 0x40,
                    _ => dws.truncate(4),
                }
                // The tag is not used any more.
                let read = self.reads.remove(index);
                self.lost.push(Read { fate: Fate::Malformed, ..read });
                return Some(dws);
            }
            _ => {}
        }
        read.done += bytes;
        read.due = cycle + if self.rng.random() { 0 } else { self.rng.random_range(0..=self.latency / 4) };
        if last {
            self.reads.remove(index);
        }
        Some(completion.packet().dws)
    }
}
