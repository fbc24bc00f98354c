//! AXI4-Stream at the ports of a model: a driver, a receiver and a monitor of the stream law.
//!
//! A stream named `s` has the ports `s_data`, `s_keep`, `s_last`, `s_valid`, `s_ready` and perhaps `s_user`. Byte 0 is
//! `data[7:0]`; bit 0 of `user` in the last beat marks a bad frame. One cycle of a bench:
//!
//! ```no_run
//! # use spindle_harness::{Model, StreamSink, StreamSource};
//! # fn cycle(model: &mut Model, source: &mut StreamSource, sink: &mut StreamSink) {
//! source.drive(model); // valid and payload
//! sink.drive(model); //   ready
//! model.eval();
//! source.sample(model); // did the beat move?
//! sink.sample(model); //   collect, check the law
//! model.tick();
//! # }
//! ```

use crate::model::{Model, Port};
use anyhow::{bail, Result};
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;
use std::collections::VecDeque;

/// A frame as it travels on a stream.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Frame {
    /// Its bytes, first on the wire first.
    pub bytes: Vec<u8>,
    /// Marked bad by `user[0]` in its last beat.
    pub bad: bool,
}

impl From<Vec<u8>> for Frame {
    fn from(bytes: Vec<u8>) -> Self {
        Self { bytes, bad: false }
    }
}

/// When a side of a stream is willing: `valid` for a source, `ready` for a sink.
#[derive(Clone, Debug)]
pub struct Pace {
    rng: ChaCha8Rng,
    kind: PaceKind,
}

#[derive(Clone, Debug)]
enum PaceKind {
    Constant(bool),
    Percent(u32),
    Runs { longest: u32, active: bool, left: u32 },
}

impl Pace {
    /// Willing in every cycle.
    pub fn always() -> Self {
        Self::of(0, PaceKind::Constant(true))
    }

    /// Never willing.
    pub fn never() -> Self {
        Self::of(0, PaceKind::Constant(false))
    }

    /// Willing in `percent` of the cycles, each decided alone.
    pub fn percent(seed: u64, percent: u32) -> Self {
        assert!(percent <= 100, "a pace of {percent} % is not possible; give at most 100");
        Self::of(seed, PaceKind::Percent(percent))
    }

    /// Willing and unwilling in turns of random length, 1 to `longest` cycles: finds what single gaps do not.
    pub fn runs(seed: u64, longest: u32) -> Self {
        assert!(longest > 0, "runs of no cycles are not possible; give at least 1");
        Self::of(seed, PaceKind::Runs { longest, active: false, left: 0 })
    }

    fn of(seed: u64, kind: PaceKind) -> Self {
        Self { rng: ChaCha8Rng::seed_from_u64(seed), kind }
    }

    /// The decision for the next cycle.
    pub fn decide(&mut self) -> bool {
        match &mut self.kind {
            PaceKind::Constant(value) => *value,
            PaceKind::Percent(percent) => self.rng.random_range(0..100) < *percent,
            PaceKind::Runs { longest, active, left } => {
                if *left == 0 {
                    *active = !*active;
                    *left = self.rng.random_range(1..=*longest);
                }
                *left -= 1;
                *active
            }
        }
    }
}

/// The ports of one stream.
#[derive(Clone, Debug)]
struct StreamPorts {
    prefix: String,
    data: Port,
    keep: Port,
    last: Port,
    valid: Port,
    ready: Port,
    user: Option<Port>,
    /// Bytes of a beat.
    bytes: usize,
}

impl StreamPorts {
    fn new(model: &Model, prefix: &str) -> Result<Self> {
        let port = |name: &str| model.port(&format!("{prefix}_{name}"));
        let user = if model.has_port(&format!("{prefix}_user")) { Some(port("user")?) } else { None };
        let (data, keep) = (port("data")?, port("keep")?);
        let bytes = keep.width() as usize;
        if data.width() as usize != 8 * bytes {
            bail!("stream `{prefix}` has {} data bits but {bytes} keep bits; it needs one per byte", data.width());
        }
        let (last, valid, ready) = (port("last")?, port("valid")?, port("ready")?);
        Ok(Self { prefix: prefix.into(), data, keep, last, valid, ready, user, bytes })
    }

    /// `keep` as a number of bytes, or `None` if it is not contiguous from bit 0.
    fn kept(&self, model: &Model) -> Option<usize> {
        let keep = model.get_bytes(self.keep);
        let count: usize = keep.iter().map(|byte| byte.count_ones() as usize).sum();
        let contiguous = (0..self.bytes).all(|i| (keep[i / 8] >> (i % 8) & 1 == 1) == (i < count));
        contiguous.then_some(count)
    }

    fn bad(&self, model: &Model) -> bool {
        self.user.is_some_and(|user| model.get_bytes(user)[0] & 1 == 1)
    }
}

/// Drives frames into a stream of the model. A beat once offered stays until it moves.
pub struct StreamSource {
    ports: StreamPorts,
    pace: Pace,
    frames: VecDeque<Frame>,
    /// Bytes of the front frame that have moved.
    position: usize,
    offering: bool,
    keep: Vec<u8>,
}

impl StreamSource {
    /// A source at the ports `<prefix>_...`, willing in every cycle.
    pub fn new(model: &Model, prefix: &str) -> Result<Self> {
        let ports = StreamPorts::new(model, prefix)?;
        let keep = vec![0; ports.bytes.div_ceil(8)];
        Ok(Self { ports, pace: Pace::always(), frames: VecDeque::new(), position: 0, offering: false, keep })
    }

    /// Inserts idle cycles.
    pub fn with_pace(mut self, pace: Pace) -> Self {
        self.pace = pace;
        self
    }

    /// Queues a frame.
    pub fn send(&mut self, frame: impl Into<Frame>) {
        let frame = frame.into();
        assert!(!frame.bytes.is_empty(), "an empty frame cannot travel on a stream; give it at least one byte");
        self.frames.push_back(frame);
    }

    /// Frames that have not moved completely.
    pub fn pending(&self) -> usize {
        self.frames.len()
    }

    /// Sets `valid` and the payload for this cycle; before `eval`.
    pub fn drive(&mut self, model: &mut Model) {
        let ports = &self.ports;
        if !self.offering {
            self.offering = !self.frames.is_empty() && self.pace.decide();
            if self.offering {
                let frame = &self.frames[0];
                let rest = &frame.bytes[self.position..];
                let beat = &rest[..rest.len().min(ports.bytes)];
                let last = rest.len() <= ports.bytes;
                self.keep.fill(0);
                for i in 0..beat.len() {
                    self.keep[i / 8] |= 1 << (i % 8);
                }
                model.set_bytes(ports.data, beat);
                model.set_bytes(ports.keep, &self.keep);
                model.set(ports.last, last.into());
                if let Some(user) = ports.user {
                    model.set_bytes(user, &[u8::from(last && frame.bad)]);
                }
            }
        }
        model.set(ports.valid, self.offering.into());
    }

    /// Notices whether the beat moved; after `eval`.
    pub fn sample(&mut self, model: &Model) {
        if self.offering && model.is_set(self.ports.ready) {
            self.offering = false;
            self.position += self.ports.bytes;
            if self.position >= self.frames[0].bytes.len() {
                self.frames.pop_front();
                self.position = 0;
            }
        }
    }
}

/// Checks the stream law at any stream of the model's ports, in either direction.
///
/// `valid` does not fall and the payload does not change until the beat has moved; `keep` is contiguous from byte 0,
/// never empty, and full in every beat but the last. A breach panics with the stream's name and the cycle.
pub struct StreamMonitor {
    ports: StreamPorts,
    /// The payload that waited for `ready` in the last cycle.
    waiting: Option<Vec<u8>>,
    beats: u64,
    frames: u64,
    stalls: u64,
}

impl StreamMonitor {
    /// A monitor of the ports `<prefix>_...`.
    pub fn new(model: &Model, prefix: &str) -> Result<Self> {
        Ok(Self { ports: StreamPorts::new(model, prefix)?, waiting: None, beats: 0, frames: 0, stalls: 0 })
    }

    /// Beats that moved.
    pub fn beats(&self) -> u64 {
        self.beats
    }

    /// Frames that moved completely.
    pub fn frames(&self) -> u64 {
        self.frames
    }

    /// Cycles in which a beat waited.
    pub fn stalls(&self) -> u64 {
        self.stalls
    }

    /// Forgets what was waiting; to be called when the model is reset.
    pub fn restart(&mut self) {
        self.waiting = None;
    }

    /// Checks this cycle; after `eval`. Returns whether a beat moves.
    #[track_caller]
    pub fn sample(&mut self, model: &Model) -> bool {
        let ports = &self.ports;
        let broken = |what: &str| -> ! { panic!("stream `{}`, cycle {}: {what}", ports.prefix, model.cycle()) };
        if !model.is_set(ports.valid) {
            if self.waiting.take().is_some() {
                broken("valid fell before the beat had moved");
            }
            return false;
        }
        let payload_ports = [Some(ports.data), Some(ports.keep), Some(ports.last), ports.user];
        let parts = payload_ports.into_iter().flatten().map(|port| model.get_bytes(port));
        if let Some(waiting) = &self.waiting {
            if !parts.clone().flatten().eq(waiting.iter()) {
                broken("the payload changed while the beat waited");
            }
        }
        let last = model.is_set(ports.last);
        match ports.kept(model) {
            None => broken("keep has a hole or does not begin at byte 0"),
            Some(0) => broken("a beat without bytes"),
            Some(count) if !last && count != ports.bytes => broken("a beat that is not the last is not full"),
            Some(_) => {}
        }
        let moves = model.is_set(ports.ready);
        if moves {
            self.waiting = None;
            self.beats += 1;
            self.frames += u64::from(last);
        } else {
            self.stalls += 1;
            if self.waiting.is_none() {
                self.waiting = Some(parts.flatten().copied().collect());
            }
        }
        moves
    }
}

/// Receives frames from a stream of the model, checking the stream law.
pub struct StreamSink {
    monitor: StreamMonitor,
    pace: Pace,
    partial: Vec<u8>,
    frames: VecDeque<Frame>,
}

impl StreamSink {
    /// A sink at the ports `<prefix>_...`, ready in every cycle.
    pub fn new(model: &Model, prefix: &str) -> Result<Self> {
        let monitor = StreamMonitor::new(model, prefix)?;
        Ok(Self { monitor, pace: Pace::always(), partial: Vec::new(), frames: VecDeque::new() })
    }

    /// Inserts back-pressure.
    pub fn with_pace(mut self, pace: Pace) -> Self {
        self.pace = pace;
        self
    }

    /// From now on the sink is ready at this pace.
    pub fn set_pace(&mut self, pace: Pace) {
        self.pace = pace;
    }

    /// Sets `ready` for this cycle; before `eval`.
    pub fn drive(&mut self, model: &mut Model) {
        let ready = self.pace.decide();
        model.set(self.monitor.ports.ready, ready.into());
    }

    /// Collects a moving beat and checks the law; after `eval`. Returns whether a beat moves.
    #[track_caller]
    pub fn sample(&mut self, model: &Model) -> bool {
        let moves = self.monitor.sample(model);
        if moves {
            let ports = &self.monitor.ports;
            let count = ports.kept(model).expect("the monitor has checked keep");
            self.partial.extend_from_slice(&model.get_bytes(ports.data)[..count]);
            if model.is_set(ports.last) {
                self.frames.push_back(Frame { bytes: std::mem::take(&mut self.partial), bad: ports.bad(model) });
            }
        }
        moves
    }

    /// The oldest complete frame.
    pub fn receive(&mut self) -> Option<Frame> {
        self.frames.pop_front()
    }

    /// Whether nothing is left, not even part of a frame.
    pub fn is_empty(&self) -> bool {
        self.frames.is_empty() && self.partial.is_empty()
    }

    /// The counters of the stream.
    pub fn monitor(&self) -> &StreamMonitor {
        &self.monitor
    }

    /// Forgets what was in flight; to be called when the model is reset.
    pub fn restart(&mut self) {
        self.monitor.restart();
        self.partial.clear();
    }
}
