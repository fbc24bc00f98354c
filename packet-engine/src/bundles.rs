//! Bundles that several blocks of the packet engine share.

use spindle_blocks::PacketDesc;
use spindle_verilog::prelude::*;

/// Beats of a frame with their place in the frame. The sink takes every beat.
#[bundle(mirror = ParserBeatSink)]
pub struct ParserBeatSource {
    /// Bytes; 0 after the end of the frame.
    pub data: Signal<Out, Bits<512>>,
    /// A beat is there.
    pub valid: Signal<Out, Bit>,
    /// First beat of the frame.
    pub first: Signal<Out, Bit>,
    /// Second beat of the frame.
    pub second: Signal<Out, Bit>,
    /// Last beat of the frame.
    pub last: Signal<Out, Bit>,
    /// The frame has a VLAN tag.
    pub vlan: Signal<Out, Bit>,
    /// Index in the frame of the beat's last byte.
    pub end: Signal<Out, Bits<14>>,
}

/// [`ParserBeatSource`] without headers: what the packet buffer stores.
#[bundle(mirror = StoredBeatSink, part_of(ParserBeatSource, ParserBeatSink))]
pub struct StoredBeatSource {
    /// Bytes; 0 after the end of the frame.
    pub data: Signal<Out, Bits<512>>,
    /// Last beat of the frame.
    pub last: Signal<Out, Bit>,
    /// A beat is there.
    pub valid: Signal<Out, Bit>,
}

/// Descriptor of a frame, one pulse per frame, with the decision to drop the frame.
#[bundle(mirror = FrameDescSink)]
pub struct FrameDescSource {
    /// Descriptor.
    pub payload: Signal<Out, PacketDesc>,
    /// The frame is dropped.
    pub drop: Signal<Out, Bit>,
    /// Reason of the drop.
    pub reason: Signal<Out, Bits<5>>,
    /// A frame is there.
    pub valid: Signal<Out, Bit>,
}

/// [`FrameDescSource`] without the reason.
#[bundle(mirror = HeadersSink, part_of(FrameDescSource, FrameDescSink))]
pub struct HeadersSource {
    /// Descriptor.
    pub payload: Signal<Out, PacketDesc>,
    /// The frame is dropped.
    pub drop: Signal<Out, Bit>,
    /// A frame is there.
    pub valid: Signal<Out, Bit>,
}

/// A frame that the packet buffer has stored, one pulse per frame.
#[bundle(mirror = WrittenSink)]
pub struct WrittenSource {
    /// Head cell, which names the packet.
    pub pkt: Signal<Out, Bits<10>>,
    /// Cells of the frame.
    pub cells: Signal<Out, Bits<5>>,
    /// The frame was not stored.
    pub overflow: Signal<Out, Bit>,
    /// A frame has ended.
    pub valid: Signal<Out, Bit>,
}
