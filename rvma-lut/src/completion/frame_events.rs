//! Frame events: an event FRAME for each frame for the host that lies in host memory.
//!
//! | neighbour | ports |
//! |---|---|
//! | packet engine | in `arrival` (pulse): a frame for the host is on its way to its mailbox |
//! | binding | in `decided`, `placed`: the oldest of these frames is refused, or bound; out `headroom` |
//! | binding | in `bound` (pulse), one cycle later: its buffer |
//! | frame places | out `pid`: process of that frame; out `take` (pulse) |
//! | DMA writer | in `finished` (pulse), `finished_error`: the host has answered the oldest bound frame |
//! | event rings | out `report` |
//!
//! Frames keep their order from the look-up to the host's answers, so queues carry what the event reports: [`ARRIVALS`] frames in the
//! look-up and [`FRAMES`] between binding and event. With [`STOP`] of these, binding takes no packet until an event has left: an event
//! waits for the host's write channel alone. `finished` → `report`: 2 cycles.

use crate::prelude::*;
use spindle_contract::events::{FrameCode, FRAME};

/// Address bits of the queue of frames in the look-up.
const ARRIVAL_BITS: usize = 5;
/// Address bits of the queue of bound frames.
const FRAME_BITS: usize = 6;
/// Frames in the look-up.
pub const ARRIVALS: usize = 1 << ARRIVAL_BITS;
/// Bound frames without an event.
pub const FRAMES: u64 = 1 << FRAME_BITS;
/// Bound frames at which binding stops: those that are in its pipeline may follow.
pub const STOP: u64 = FRAMES - 8;

/// A frame for the host.
#[derive(LogicStruct, Copy, Clone, Debug, Default, PartialEq)]
pub struct HostFrame {
    /// Process of the mailbox.
    pub pid: Bits<6>,
    /// Mailbox.
    pub mailbox: Bits<12>,
    /// Frame sequence number.
    pub frame: Bits<16>,
    /// Bytes.
    pub length: Bits<14>,
    /// Cycle of the first beat.
    pub stamp: Bits<32>,
    /// Rule that matched.
    pub rule: Bits<6>,
    /// Code of the event.
    pub checks: Bits<4>,
}

/// A frame with its place in host memory.
#[derive(LogicStruct, Copy, Clone, Debug, Default, PartialEq)]
struct PlacedFrame {
    frame: HostFrame,
    address: Bits<64>,
}

/// See the module text.
#[block]
pub struct FrameEvents {
    /// A frame for the host enters the look-up.
    pub arrival: PulseSink<HostFrame>,
    /// The oldest frame in the look-up is bound or refused.
    pub decided: Signal<In, Bit>,
    /// With `decided`: it is bound.
    pub placed: Signal<In, Bit>,
    /// One cycle after `placed`: its buffer.
    pub bound: PulseSink<BoundPacket>,
    /// Binding may take a frame.
    pub headroom: Signal<Out, Bit>,
    /// Process of the oldest frame in the look-up.
    pub pid: Signal<Out, Bits<6>>,
    /// A place in its event ring is taken.
    pub take: Signal<Out, Bit>,
    /// The host has answered the oldest bound frame.
    pub finished: Signal<In, Bit>,
    /// With `finished`: one of the answers was an error.
    pub finished_error: Signal<In, Bit>,
    /// Event of the oldest frame that the host has answered.
    pub report: Source<EventDesc>,
    arrivals: Fifo<HostFrame, ARRIVAL_BITS>,
    /// The frame that was bound, on its way to `frames`.
    current: DFF<HostFrame>,
    half: DFF<HostFrame>,
    half_valid: Reg<Bit>,
    low: DFF<Bits<33>>,
    high: DFF<Bits<32>>,
    frames: Fifo<PlacedFrame, FRAME_BITS>,
    /// For each frame that the host has answered: an answer was an error.
    ends: Fifo<Bit, FRAME_BITS>,
    /// Bound frames without an event.
    open: Reg<Bits<7>>,
    has_headroom: Reg<Bit>,
    out: Slice<EventDesc>,
}

#[hdl]
impl FrameEvents {
    fn update(&mut self) {
        // In the look-up.
        self.arrivals.write.offer(self.arrival.valid.val(), self.arrival.val());
        self.arrivals.read.ready.next = self.decided.val();
        let oldest = self.arrivals.read.val();
        self.pid.next = oldest.pid;
        self.take.next = self.decided.val() & self.placed.val();
        self.current.load(self.decided.val(), oldest);

        // Its address, in two steps.
        let bound = self.bound.val();
        self.half_valid.d.next = self.bound.valid.val();
        if self.bound.valid.val() {
            self.half.d.next = self.current.q.val();
            self.low.d.next = zext::<33, 32>(bound.base.get_bits::<32>(0)) + zext::<33, 32>(bound.start);
            self.high.d.next = bound.base.get_bits::<32>(32);
        }
        let low = self.low.q.val();
        let high = self.high.q.val() + zext::<32, 1>(low.get_bit(32).into());
        let address = (high, low.get_bits::<32>(0)).cat::<64>();
        self.frames.write.offer(self.half_valid.q.val(), PlacedFrame { frame: self.half.q.val(), address });

        // The host's answers.
        self.ends.write.offer(self.finished.val(), self.finished_error.val());
        let ready = self.out.write.ready.val();
        let leaves = self.frames.read.valid.val() & self.ends.read.valid.val() & ready;
        self.frames.read.ready.next = leaves;
        self.ends.read.ready.next = leaves;
        let frame = self.frames.read.val().frame;
        self.out.write.next = EventDesc {
            pid: frame.pid,
            kind: bits::<4>(FRAME),
            code: (bits::<3>(0), self.ends.read.val(), frame.checks).cat::<8>(),
            id: zext::<32, 12>(frame.mailbox),
            length: zext::<32, 14>(frame.length),
            extra: frame.stamp,
            source: (bits::<10>(0), frame.rule, frame.frame).cat::<32>(),
            user: self.frames.read.val().address,
            ..EventDesc::default()
        };
        self.out.write.valid.next = leaves;
        self.out.read.join(&mut self.report);

        let takes = self.take.val();
        if takes & !leaves {
            self.open.d.next = self.open.q.val() + 1;
        } else if leaves & !takes {
            self.open.d.next = self.open.q.val() - 1;
        }
        self.has_headroom.d.next = self.open.q.val() < STOP;
        self.headroom.next = self.has_headroom.q.val();
    }
}

// The code of the event is {error of the host, checks}.
const _: () = assert!(FrameCode::ZERO.with_host_error(true).0 == 1 << 4);
