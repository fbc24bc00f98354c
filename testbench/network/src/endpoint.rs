//! What stands at the end of a node's cable: a Verilated NIC with its host, or what stands for one.

use crate::abi::{RawEndpoint, RawFrame, NONE};
use anyhow::{ensure, Result};
use std::collections::{BTreeMap, VecDeque};
use std::ffi::c_void;
use std::panic::{catch_unwind, AssertUnwindSafe};
use std::time::{Duration, Instant};

/// A frame of the network.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Frame {
    /// Sent: cycle of the last beat. Received: cycle of the first beat.
    pub cycle: u64,
    /// Sent: destination, none if no node has the address. Received: source.
    pub peer: Option<u32>,
    /// Frames of one flow take one path with ECMP.
    pub flow: u32,
    /// Bytes on the wire, without preamble and FCS; `bytes` may be the first of them alone.
    pub length: u32,
    /// The bytes that are carried.
    pub bytes: Vec<u8>,
    /// A switch has marked the frame.
    pub marked: bool,
    /// Received: switches on the way.
    pub hops: u32,
}

/// An endpoint. It simulates a window of cycles at a time, when all frames are known that come in it.
pub trait Endpoint {
    /// Simulates the cycles before `until`; the first cycle after them in which there is something to do if no other frame comes,
    /// `u64::MAX` if there is none.
    ///
    /// # Errors
    /// The NIC or its host has failed.
    fn step(&mut self, until: u64) -> Result<u64>;

    /// A frame whose first beat comes in `frame.cycle`.
    ///
    /// # Errors
    /// That cycle has been simulated.
    fn inject(&mut self, frame: Frame) -> Result<()>;

    /// The next frame that was sent in the cycles simulated last.
    fn take(&mut self) -> Option<Frame>;

    /// What the endpoint reports.
    fn report(&self) -> Report;

    /// Whether the endpoint has a reason for the network to begin: one of a network suffices.
    fn ready(&self) -> bool {
        true
    }

    /// The network begins.
    fn begin(&mut self) {}

    /// The network has ended: what was recorded is written.
    ///
    /// # Errors
    /// A file cannot be written.
    fn finish(&mut self) -> Result<()> {
        Ok(())
    }
}

/// Frames that come to a node without a NIC and leave it, in the order of their cycles.
#[derive(Default)]
pub struct Port {
    /// The cycle that is simulated, or the first of the next window.
    pub cycle: u64,
    inbox: BTreeMap<(u64, u64), Frame>,
    arrived: u64,
    sent: VecDeque<Frame>,
}

impl Port {
    /// Cycle in which the next frame comes, `u64::MAX` if none is known.
    pub fn comes(&self) -> u64 {
        self.inbox.first_key_value().map_or(u64::MAX, |((cycle, _), _)| *cycle)
    }

    /// The next frame that has come by cycle `at`.
    pub fn due(&mut self, at: u64) -> Option<Frame> {
        let entry = self.inbox.first_entry()?;
        let (cycle, _) = *entry.key();
        (cycle <= at).then(|| entry.remove())
    }

    /// Sends a frame, after all that were sent before.
    pub fn send(&mut self, frame: Frame) {
        self.sent.push_back(frame);
    }

    /// The window is over; what [`Endpoint::step`] gives back, of a node with something to do in cycle `next`.
    pub fn end(&mut self, until: u64, next: u64) -> u64 {
        self.cycle = until;
        // A frame that ends in a later window is handed over after that window.
        let leaves = self.sent.front().map_or(u64::MAX, |frame| frame.cycle);
        next.min(leaves.max(until))
    }

    /// As of [`Endpoint::inject`].
    ///
    /// # Errors
    /// The frame comes too late.
    pub fn inject(&mut self, frame: Frame) -> Result<()> {
        ensure!(
            frame.cycle >= self.cycle,
            "a frame for cycle {} comes when the node is in cycle {}; shorten the window",
            frame.cycle,
            self.cycle
        );
        self.arrived += 1;
        self.inbox.insert((frame.cycle, self.arrived), frame);
        Ok(())
    }

    /// As of [`Endpoint::take`].
    pub fn take(&mut self) -> Option<Frame> {
        let ended = self.sent.front().is_some_and(|frame| frame.cycle < self.cycle);
        ended.then(|| self.sent.pop_front()).flatten()
    }
}

/// Values of a host's program, in its own order.
pub const VALUES: usize = 4;

/// The state of an endpoint.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Report {
    /// Cycle in which its program ended, if it has.
    pub done: Option<u64>,
    /// Digest of all frames received, with their cycles.
    pub digest: u64,
    /// Frames received.
    pub received: u64,
    /// Bytes received.
    pub bytes: u64,
    /// Frames received with a mark.
    pub marked: u64,
    /// Results of the program.
    pub values: [u64; VALUES],
}

/// A digest of nothing (FNV-1a).
pub const EMPTY_DIGEST: u64 = 0xcbf2_9ce4_8422_2325;

/// A digest with more bytes (FNV-1a).
pub fn digest_with<'a>(digest: u64, bytes: impl IntoIterator<Item = &'a u8>) -> u64 {
    bytes.into_iter().fold(digest, |digest, byte| (digest ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3))
}

/// What an endpoint has received, as a digest of cycles, sources and bytes.
#[derive(Clone, Copy, Debug)]
pub struct Log {
    digest: u64,
    frames: u64,
    bytes: u64,
    marked: u64,
}

impl Default for Log {
    fn default() -> Self {
        Log { digest: EMPTY_DIGEST, frames: 0, bytes: 0, marked: 0 }
    }
}

impl Log {
    /// Adds a frame.
    pub fn add(&mut self, frame: &Frame) {
        let cycle = frame.cycle.to_le_bytes();
        let peer = frame.peer.unwrap_or(NONE).to_le_bytes();
        self.digest = digest_with(self.digest, cycle.iter().chain(&peer).chain(&frame.bytes));
        self.frames += 1;
        self.bytes += u64::from(frame.length);
        self.marked += u64::from(frame.marked);
    }

    /// The report's part of the log.
    pub fn report(&self, done: Option<u64>, values: [u64; VALUES]) -> Report {
        let Log { digest, frames, bytes, marked } = *self;
        Report { done, digest, received: frames, bytes, marked, values }
    }
}

/// An endpoint whose frames are looked at as they leave: those for which `passes` is false are lost.
pub struct Outgoing<E, F> {
    /// The endpoint.
    pub endpoint: E,
    /// Sees each frame once, in the order in which they leave.
    pub passes: F,
}

impl<E: Endpoint, F: FnMut(&Frame) -> bool> Endpoint for Outgoing<E, F> {
    fn step(&mut self, until: u64) -> Result<u64> {
        self.endpoint.step(until)
    }

    fn inject(&mut self, frame: Frame) -> Result<()> {
        self.endpoint.inject(frame)
    }

    fn take(&mut self) -> Option<Frame> {
        loop {
            let frame = self.endpoint.take()?;
            if (self.passes)(&frame) {
                return Some(frame);
            }
        }
    }

    fn report(&self) -> Report {
        self.endpoint.report()
    }

    fn ready(&self) -> bool {
        self.endpoint.ready()
    }

    fn begin(&mut self) {
        self.endpoint.begin();
    }

    fn finish(&mut self) -> Result<()> {
        self.endpoint.finish()
    }
}

/// An endpoint at the C ABI, with its number and the error that ended it.
pub(crate) struct Held {
    pub endpoint: Box<dyn Endpoint>,
    node: u32,
    /// What the last `take` handed out.
    taken: Vec<u8>,
    pub error: Option<anyhow::Error>,
    /// Time that its windows have taken.
    pub busy: Duration,
}

impl Held {
    pub fn new(node: u32, endpoint: Box<dyn Endpoint>) -> Box<Held> {
        Box::new(Held { endpoint, node, taken: Vec::new(), error: None, busy: Duration::ZERO })
    }

    /// The functions that the shim calls. `self` must stay where it is while the network lives.
    pub fn raw(&mut self) -> RawEndpoint {
        let context = std::ptr::from_mut(self).cast();
        RawEndpoint { context, step: Some(step), inject: Some(inject), take: Some(take) }
    }

    /// Calls the endpoint; no panic goes through C++.
    fn call(&mut self, call: impl FnOnce(&mut Held) -> Result<i32>) -> i32 {
        let result = catch_unwind(AssertUnwindSafe(|| call(self)))
            .unwrap_or_else(|_| Err(anyhow::anyhow!("the endpoint panicked; its message is above")));
        result.unwrap_or_else(|error| {
            self.error = Some(error.context(format!("node {}", self.node)));
            -1
        })
    }
}

unsafe extern "C" fn step(context: *mut c_void, until: u64, next: *mut u64) -> i32 {
    // SAFETY: the shim passes what `Held::raw` gave it, one call at a time, and `next` is its own variable.
    let (held, next) = unsafe { (&mut *context.cast::<Held>(), &mut *next) };
    let start = Instant::now();
    let result = held.call(|held| {
        *next = held.endpoint.step(until)?;
        Ok(0)
    });
    held.busy += start.elapsed();
    result
}

unsafe extern "C" fn inject(context: *mut c_void, frame: *const RawFrame) -> i32 {
    // SAFETY: as in `step`; the frame and its bytes live as long as the call.
    let (held, frame) = unsafe { (&mut *context.cast::<Held>(), &*frame) };
    let bytes = match frame.carried {
        0 => Vec::new(),
        // SAFETY: `carried` bytes lie there.
        carried => unsafe { std::slice::from_raw_parts(frame.bytes, carried as usize) }.to_vec(),
    };
    let RawFrame { cycle, peer, flow, length, marked, hops, .. } = *frame;
    let frame = Frame { cycle, peer: Some(peer), flow, length, bytes, marked: marked != 0, hops };
    held.call(|held| held.endpoint.inject(frame).map(|()| 0))
}

unsafe extern "C" fn take(context: *mut c_void, frame: *mut RawFrame) -> i32 {
    // SAFETY: as in `step`; the frame is the shim's own variable.
    let (held, raw) = unsafe { (&mut *context.cast::<Held>(), &mut *frame) };
    held.call(|held| {
        let Some(frame) = held.endpoint.take() else { return Ok(0) };
        held.taken = frame.bytes;
        *raw = RawFrame {
            cycle: frame.cycle,
            peer: frame.peer.unwrap_or(NONE),
            flow: frame.flow,
            length: frame.length,
            carried: held.taken.len() as u32,
            bytes: held.taken.as_ptr(),
            marked: frame.marked.into(),
            hops: 0,
        };
        Ok(1)
    })
}
