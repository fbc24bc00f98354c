//! The C ABI of engine and endpoint, as `shim/abi.h` has it. Times are femtoseconds, unless they are cycles.

use std::ffi::{c_char, c_void};

/// No switch, no link, no node.
pub const NONE: u32 = u32::MAX;

/// A frame at an endpoint.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct RawFrame {
    /// Sent: cycle of the last beat. Received: cycle of the first beat.
    pub cycle: u64,
    /// Sent: destination, or [`NONE`]. Received: source.
    pub peer: u32,
    /// Frames of one flow take one path with ECMP.
    pub flow: u32,
    /// Bytes on the wire, without preamble and FCS.
    pub length: u32,
    /// Bytes at `bytes`.
    pub carried: u32,
    /// The bytes; valid until the next call.
    pub bytes: *const u8,
    /// 1: a switch has marked the frame.
    pub marked: u32,
    /// Switches on the way.
    pub hops: u32,
}

/// An endpoint: functions and what they get. A negative result is an error, whose text the endpoint keeps.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub struct RawEndpoint {
    /// First argument of each function.
    pub context: *mut c_void,
    /// Simulates up to a cycle; sets the next cycle in which there is something to do.
    pub step: Option<unsafe extern "C" fn(*mut c_void, u64, *mut u64) -> i32>,
    /// A frame comes in.
    pub inject: Option<unsafe extern "C" fn(*mut c_void, *const RawFrame) -> i32>,
    /// The next frame that was sent: 1, or 0 if there is none.
    pub take: Option<unsafe extern "C" fn(*mut c_void, *mut RawFrame) -> i32>,
}

/// A cable between two switches.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct RawLink {
    /// One end.
    pub a: u32,
    /// The other.
    pub b: u32,
    /// Flight time.
    pub delay: i64,
    /// Time of one byte.
    pub byte: i64,
}

/// A node and its cable.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct RawNode {
    /// Its switch, or the other node where there is no switch.
    pub at: u32,
    /// Its rank.
    pub rank: u32,
    /// Flight time of its cable.
    pub delay: i64,
    /// Time of one byte.
    pub byte: i64,
    /// Clock period.
    pub cycle: i64,
    /// Cycles that it simulates at once.
    pub window: u64,
    /// Of a node of this rank.
    pub endpoint: RawEndpoint,
}

/// A network.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct RawNetwork {
    /// Rank of each switch.
    pub ranks: *const u32,
    /// Cables between switches.
    pub links: *const RawLink,
    /// Nodes.
    pub nodes: *const RawNode,
    /// By switch and destination switch: where its outputs begin in `route_ports`.
    pub route_start: *const u64,
    /// Outputs: 2 l + d is direction d of link l.
    pub route_ports: *const u32,
    /// How many switches.
    pub switch_count: u32,
    /// How many links.
    pub link_count: u32,
    /// How many nodes.
    pub node_count: u32,
    /// 0 static, 1 ECMP, 2 adaptive.
    pub routing: u32,
    /// From the input of a switch to its output.
    pub latency: i64,
    /// Bytes that an output holds.
    pub queue: u64,
    /// Bytes from which on frames are marked.
    pub mark: u64,
    /// Bytes between two frames.
    pub overhead: u32,
    /// Bytes of a beat.
    pub beat: u32,
    /// 1: switches store frames.
    pub store: u32,
    /// Zero.
    pub spare: u32,
    /// Seed of loss, corruption and paths.
    pub seed: u64,
    /// Share of lost frames, times 2^64.
    pub loss: u64,
    /// Share of corrupted frames, times 2^64.
    pub corruption: u64,
}

/// How many counters [`RawCounts`] has.
pub const COUNTS: usize = 11;

/// What became of the frames of a rank so far: a sum over ranks, apart from the last.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub struct RawCounts {
    /// In the order of [`crate::engine::Counts`].
    pub values: [u64; COUNTS],
}

/// Bytes of the structures here.
pub fn sizes() -> [u64; 6] {
    let sizes = [
        size_of::<RawFrame>(),
        size_of::<RawEndpoint>(),
        size_of::<RawLink>(),
        size_of::<RawNode>(),
        size_of::<RawNetwork>(),
        size_of::<RawCounts>(),
    ];
    sizes.map(|bytes| bytes as u64)
}

/// Functions of the shim.
#[derive(Clone, Copy)]
pub struct Shim {
    /// Bytes of the structures, in the order of [`sizes`].
    pub layout: unsafe extern "C" fn(*mut u64),
    /// Text of the last error.
    pub error: unsafe extern "C" fn() -> *const c_char,
    /// Joins the ranks.
    pub join: unsafe extern "C" fn(*mut u32, *mut u32) -> i32,
    /// Makes a network.
    pub create: unsafe extern "C" fn(*const RawNetwork) -> i32,
    /// Simulates up to a time.
    pub run: unsafe extern "C" fn(i64) -> i32,
    /// Counters of this rank.
    pub counts: unsafe extern "C" fn(*mut RawCounts) -> i32,
    /// Time by which ranks may differ.
    pub lookahead: unsafe extern "C" fn() -> i64,
    /// Sums over ranks.
    pub sum: unsafe extern "C" fn(*mut u64, u32) -> i32,
    /// Maxima over ranks.
    pub max: unsafe extern "C" fn(*mut u64, u32) -> i32,
    /// Removes the network.
    pub destroy: unsafe extern "C" fn(),
    /// Ends MPI.
    pub leave: unsafe extern "C" fn(),
    /// Ends all ranks.
    pub abort: unsafe extern "C" fn(i32),
}

impl Default for RawFrame {
    fn default() -> Self {
        let bytes = std::ptr::null();
        RawFrame { cycle: 0, peer: NONE, flow: 0, length: 0, carried: 0, bytes, marked: 0, hops: 0 }
    }
}
