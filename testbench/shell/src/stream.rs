//! Streams of any width, with and without ready.

use crate::frames::Frame;
use rand::Rng;
use rand_chacha::ChaCha8Rng;
use spindle_verilog::ports::Wire;
use spindle_verilog::prelude::{Bits, In, Out};
use std::collections::VecDeque;

/// Ports of a stream into a block; none where the stream has no such signal.
pub struct InPorts<const W: usize, const K: usize> {
    /// Bytes, the first in bits 7:0.
    pub data: Wire<In, Bits<W>>,
    /// Bytes that count.
    pub keep: Wire<In, Bits<K>>,
    /// Last beat of the frame.
    pub last: Wire<In, bool>,
    /// With `last`: the frame is bad.
    pub user: Wire<In, bool>,
    /// A beat is offered.
    pub valid: Wire<In, bool>,
    /// The beat is taken.
    pub ready: Option<Wire<Out, bool>>,
}

/// Ports of a stream out of a block.
pub struct OutPorts<const W: usize, const K: usize> {
    /// Bytes, the first in bits 7:0.
    pub data: Wire<Out, Bits<W>>,
    /// Bytes that count.
    pub keep: Wire<Out, Bits<K>>,
    /// Last beat of the frame.
    pub last: Wire<Out, bool>,
    /// With `last`: the frame is bad.
    pub user: Wire<Out, bool>,
    /// A beat is offered.
    pub valid: Wire<Out, bool>,
    /// The beat is taken.
    pub ready: Option<Wire<In, bool>>,
}

/// The ports of a stream that goes into a block: with ready, or as `free` without.
#[macro_export]
macro_rules! into {
    ($bundle:expr) => {
        $crate::stream::InPorts { ready: Some($bundle.ready.clone()), ..$crate::into!(free $bundle) }
    };
    (free $bundle:expr) => {
        $crate::stream::InPorts {
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
#[macro_export]
macro_rules! out_of {
    ($bundle:expr) => {
        $crate::stream::OutPorts { ready: Some($bundle.ready.clone()), ..$crate::out_of!(free $bundle) }
    };
    (free $bundle:expr) => {
        $crate::stream::OutPorts {
            data: $bundle.data.clone(),
            keep: $bundle.keep.clone(),
            last: $bundle.last.clone(),
            user: $bundle.user.clone(),
            valid: $bundle.valid.clone(),
            ready: None,
        }
    };
}
/// Sends frames into a block.
pub struct Sender<const W: usize, const K: usize> {
    ports: InPorts<W, K>,
    /// Frames to send.
    pub frames: VecDeque<Frame>,
    /// Chance of a beat in a cycle, percent.
    pub pace: u32,
    at: usize,
    offered: bool,
}

impl<const W: usize, const K: usize> Sender<W, K> {
    /// Over these ports, a beat per cycle.
    pub fn new(ports: InPorts<W, K>) -> Self {
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
    ports: OutPorts<W, K>,
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
    /// Over these ports, a beat per cycle.
    pub fn new(ports: OutPorts<W, K>) -> Self {
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
