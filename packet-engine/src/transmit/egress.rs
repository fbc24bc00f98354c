//! Egress: sends frames to the wire, with the ICRC of those that get one.
//!
//! | ports | neighbour |
//! |---|---|
//! | in `beat` | initiator |
//! | out `tx` | wire |
//! | out `frames`, `bytes` | counters |
//! | out `first`, `ends`, `frame` | trace: the wire takes the first, the last beat of this frame in this cycle |
//!
//! A MAC must not see a gap inside a frame. The array guarantees one beat in every cycle from the first beat of a frame to its
//! last (it reads them from L1 with the highest priority), and segments of host memory are offered as a whole, so a frame may
//! start at once: a [`Slice`] passes on beats, one per cycle, and adds no gaps. After the slice, the [`IcrcInserter`] appends the ICRC.
//! Latency 1 cycle; of frames with ICRC, and of frames that follow them without a pause, 5 cycles more. `tx_ready` reaches no
//! further than the registers in front of the initiator. Padding to 60 bytes is the MAC's task.

use crate::traffic::Traffic;
use crate::transmit::icrc_inserter::IcrcInserter;
use spindle_blocks::{FrameSource, Slice};
use spindle_verilog::prelude::*;

/// A beat with the number of its frame.
#[derive(LogicStruct, Copy, Clone, Debug, Default, PartialEq)]
pub struct EgressBeat {
    /// Bytes, the first in bits 7:0.
    pub data: Bits<512>,
    /// Which bytes count.
    pub keep: Bits<64>,
    /// Last beat of the frame.
    pub last: Bit,
    /// Frame sequence number of the packet that caused it.
    pub frame: Bits<16>,
    /// The frame gets an ICRC.
    pub icrc: Bit,
}

/// See the head of this file.
#[block]
pub struct Egress {
    /// A beat of a frame.
    pub beat: Sink<EgressBeat>,
    /// Bytes for the wire.
    pub tx: FrameSource,
    /// Frames sent.
    pub frames: Signal<Out, Bits<32>>,
    /// Bytes sent.
    pub bytes: Signal<Out, Bits<32>>,
    /// The first beat of a frame is taken.
    pub first: Signal<Out, Bit>,
    /// The last beat of a frame is taken.
    pub ends: Signal<Out, Bit>,
    /// Which frame.
    pub frame: Signal<Out, Bits<16>>,
    stage: Slice<EgressBeat>,
    icrc: IcrcInserter,
    traffic: Traffic,
    in_frame: Reg<Bit>,
}

#[hdl]
impl Egress {
    fn update(&mut self) {
        self.beat.join(&mut self.stage.write);
        self.stage.read.join(&mut self.icrc.write);

        let beat = self.icrc.read.val();
        let moves = self.icrc.read.valid.val() & self.tx.ready.val();
        self.icrc.read.ready.next = self.tx.ready.val();
        self.tx.data.next = beat.data;
        self.tx.keep.next = beat.keep;
        self.tx.last.next = beat.last;
        self.tx.valid.next = self.icrc.read.valid.val();

        self.traffic.keep.next = beat.keep;
        self.traffic.last.next = beat.last;
        self.traffic.moves.next = moves;
        self.frames.next = self.traffic.frames.val();
        self.bytes.next = self.traffic.bytes.val();
        self.in_frame.load(moves, !beat.last);
        self.first.next = moves & !self.in_frame.q.val();
        self.ends.next = moves & beat.last;
        self.frame.next = beat.frame;
    }
}
