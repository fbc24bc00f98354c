//! Two clocks, and frames on streams of any width with and without ready.

use rand::Rng;
use rand_chacha::ChaCha8Rng;
use spindle_verilog::ports::Wire;
use spindle_verilog::prelude::{Bits, In, Out};
use std::collections::VecDeque;

/// A frame, and whether its end says that it is bad.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Frame {
    /// Bytes without check sequence.
    pub bytes: Vec<u8>,
    /// `user` with `last`.
    pub bad: bool,
}

/// A good frame of `length` bytes: number, then noise.
pub fn frame(rng: &mut ChaCha8Rng, number: u32, length: usize) -> Frame {
    let mut bytes = vec![0; length];
    rng.fill(&mut bytes[..]);
    let number = number.to_le_bytes();
    let shown = length.min(4);
    bytes[..shown].copy_from_slice(&number[..shown]);
    Frame { bytes, bad: false }
}

/// A length that is interesting: short ones, ends of beats, long ones.
pub fn length(rng: &mut ChaCha8Rng, longest: usize) -> usize {
    let length = match rng.random_range(0..10) {
        0..4 => rng.random_range(14..=130),
        4..6 => 64 * rng.random_range(1..=8),
        6..8 => 64 * rng.random_range(1..=8) + rng.random_range(1..=63),
        8 => rng.random_range(14..=1518),
        _ => rng.random_range(14..=longest),
    };
    length.min(longest)
}

/// Two clocks in picoseconds; a clock that does not run has no edges.
pub struct Clocks {
    /// Of each clock.
    pub period: [u64; 2],
    /// Time of its next edge.
    pub next: [u64; 2],
    /// Whether it has edges.
    pub runs: [bool; 2],
}

impl Clocks {
    /// Running clocks of random phase.
    pub fn new(rng: &mut ChaCha8Rng, period: [u64; 2]) -> Self {
        Self { period, next: period.map(|period| rng.random_range(0..period)), runs: [true; 2] }
    }

    /// Which clocks rise next, sometimes both at once.
    pub fn step(&mut self) -> [bool; 2] {
        let now = self.next[0].min(self.next[1]);
        let due = [self.next[0] == now, self.next[1] == now];
        for (i, due) in due.iter().enumerate() {
            self.next[i] += if *due { self.period[i] } else { 0 };
        }
        [due[0] && self.runs[0], due[1] && self.runs[1]]
    }

    /// Time in picoseconds.
    pub fn now(&self) -> u64 {
        self.next[0].min(self.next[1])
    }
}

/// Ports of a stream into a block; none where the stream has no such signal.
pub struct Into<const W: usize, const K: usize> {
    pub data: Wire<In, Bits<W>>,
    pub keep: Wire<In, Bits<K>>,
    pub last: Wire<In, bool>,
    pub user: Wire<In, bool>,
    pub valid: Wire<In, bool>,
    pub ready: Option<Wire<Out, bool>>,
}

/// Ports of a stream out of a block.
pub struct OutOf<const W: usize, const K: usize> {
    pub data: Wire<Out, Bits<W>>,
    pub keep: Wire<Out, Bits<K>>,
    pub last: Wire<Out, bool>,
    pub user: Wire<Out, bool>,
    pub valid: Wire<Out, bool>,
    pub ready: Option<Wire<In, bool>>,
}

/// The ports of a stream that goes into a block: with ready, or as `free` without.
macro_rules! into {
    ($bundle:expr) => {
        $crate::wire_side::bench::Into { ready: Some($bundle.ready.clone()), ..into!(free $bundle) }
    };
    (free $bundle:expr) => {
        $crate::wire_side::bench::Into {
            data: $bundle.data.clone(),
            keep: $bundle.keep.clone(),
            last: $bundle.last.clone(),
            user: $bundle.user.clone(),
            valid: $bundle.valid.clone(),
            ready: None,
        }
    };
}

/// The ports of a stream that comes out of a block.
macro_rules! out_of {
    ($bundle:expr) => {
        $crate::wire_side::bench::OutOf { ready: Some($bundle.ready.clone()), ..out_of!(free $bundle) }
    };
    (free $bundle:expr) => {
        $crate::wire_side::bench::OutOf {
            data: $bundle.data.clone(),
            keep: $bundle.keep.clone(),
            last: $bundle.last.clone(),
            user: $bundle.user.clone(),
            valid: $bundle.valid.clone(),
            ready: None,
        }
    };
}
pub(crate) use {into, out_of};

/// Sends frames into a block.
pub struct Sender<const W: usize, const K: usize> {
    ports: Into<W, K>,
    /// Frames to send.
    pub frames: VecDeque<Frame>,
    /// Chance of a beat in a cycle, percent.
    pub pace: u32,
    at: usize,
    offered: bool,
}

impl<const W: usize, const K: usize> Sender<W, K> {
    pub fn new(ports: Into<W, K>) -> Self {
        Self { ports, frames: VecDeque::new(), pace: 100, at: 0, offered: false }
    }

    /// Inputs of the next edge.
    pub fn drive(&mut self, rng: &mut ChaCha8Rng) {
        if !self.offered {
            self.offered = !self.frames.is_empty() && rng.random_range(0..100) < self.pace;
            if self.offered {
                let frame = &self.frames[0];
                let rest = &frame.bytes[self.at..];
                let beat = &rest[..rest.len().min(K)];
                let last = rest.len() <= K;
                // Bytes that do not count are noise.
                let mut data = vec![0; K];
                rng.fill(&mut data[..]);
                data[..beat.len()].copy_from_slice(beat);
                self.ports.data.set_bytes(&data);
                let keep: Vec<u8> =
                    (0..K / 8).map(|i| (0..8).map(|b| u8::from(8 * i + b < beat.len()) << b).sum()).collect();
                self.ports.keep.set_bytes(&keep);
                self.ports.last.set(last);
                // Without `last` it counts for nothing.
                self.ports.user.set(if last { frame.bad } else { rng.random_bool(0.3) });
            }
        }
        self.ports.valid.set(self.offered);
    }

    /// What the edge will take; after `eval`. A frame whose last beat moves.
    pub fn sample(&mut self) -> Option<Frame> {
        if self.offered && self.ports.ready.as_ref().is_none_or(|ready| ready.is_high()) {
            self.offered = false;
            self.at += K;
            if self.at >= self.frames[0].bytes.len() {
                self.at = 0;
                return self.frames.pop_front();
            }
        }
        None
    }

    /// Whether a frame was begun and not ended.
    pub fn inside(&self) -> bool {
        self.at > 0
    }

    /// Gives up the frame that was begun; the next one begins.
    pub fn abandon(&mut self) {
        if self.at > 0 {
            self.frames.pop_front();
        }
        (self.at, self.offered) = (0, false);
    }
}

/// Receives frames from a block, and checks the stream law.
pub struct Receiver<const W: usize, const K: usize> {
    ports: OutOf<W, K>,
    /// Frames that have ended.
    pub frames: VecDeque<Frame>,
    /// Chance of ready in a cycle, percent.
    pub pace: u32,
    /// No gap in a frame while ready is high, 60 bytes at the least unless bad: a MAC.
    pub mac: bool,
    partial: Vec<u8>,
    waiting: Option<(Vec<u8>, Vec<u8>, bool, bool)>,
    ready: bool,
}

impl<const W: usize, const K: usize> Receiver<W, K> {
    pub fn new(ports: OutOf<W, K>) -> Self {
        Self { ports, frames: VecDeque::new(), pace: 100, mac: false, partial: vec![], waiting: None, ready: true }
    }

    /// `ready` of the next edge.
    pub fn drive(&mut self, rng: &mut ChaCha8Rng) {
        if let Some(ready) = &self.ports.ready {
            self.ready = rng.random_range(0..100) < self.pace;
            ready.set(self.ready);
        }
    }

    /// What the edge will take; after `eval`. Whether a beat moves.
    #[track_caller]
    pub fn sample(&mut self) -> bool {
        let ports = &self.ports;
        if !ports.valid.is_high() {
            assert!(self.waiting.is_none(), "valid fell before the beat was taken");
            assert!(!self.mac || self.partial.is_empty(), "the MAC starves inside a frame");
            return false;
        }
        let beat = (ports.data.bytes(), ports.keep.bytes(), ports.last.is_high(), ports.user.is_high());
        assert!(self.waiting.as_ref().is_none_or(|held| *held == beat), "the beat changed before it was taken");
        if !self.ready {
            self.waiting = Some(beat);
            return false;
        }
        self.waiting = None;
        let (data, keep, last, user) = beat;
        let count = (0..K).take_while(|i| keep[i / 8] >> (i % 8) & 1 == 1).count();
        let ones: u32 = keep.iter().map(|byte| byte.count_ones()).sum();
        assert!(count > 0 && ones as usize == count && (last || count == K), "keep {keep:?}, last {last}");
        self.partial.extend_from_slice(&data[..count]);
        if last {
            let frame = Frame { bytes: std::mem::take(&mut self.partial), bad: user };
            if self.mac {
                assert!(frame.bytes.len() >= 60, "the MAC gets a frame of {} bytes", frame.bytes.len());
                assert!(data[count..].iter().all(|byte| *byte == 0), "bytes of another frame");
            }
            self.frames.push_back(frame);
        }
        true
    }

    /// Whether a frame was begun and not ended.
    pub fn inside(&self) -> bool {
        !self.partial.is_empty()
    }

    /// Forgets what was under way: the receiver is reset.
    pub fn restart(&mut self) {
        self.partial.clear();
        self.waiting = None;
    }
}

/// `frames` are some of `sent`, in their order, without one twice.
#[track_caller]
pub fn assert_some_of(frames: &[Frame], sent: &[Frame]) {
    let mut rest = sent.iter();
    for (i, frame) in frames.iter().enumerate() {
        assert!(rest.any(|other| other == frame), "frame {i} of {} bytes was not sent, or not then", frame.bytes.len());
    }
}
