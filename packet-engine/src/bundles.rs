//! Bundles that several blocks of the packet engine share.

use crate::schedule::message::Outcome;
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
    pub reason: Signal<Out, Bits<6>>,
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

/// The parser reads the node table: the entry of the source of each frame.
#[bundle(mirror = SourceLookupSink)]
pub struct SourceLookupSource {
    /// Read the entry (pulse).
    pub read: Signal<Out, Bit>,
    /// Low bits of the source node.
    pub node: Signal<Out, Bits<8>>,
    /// 2 cycles later, until 2 cycles after the next read: the table has the node,
    pub present: Signal<In, Bit>,
    /// with this IPv4 address.
    pub ip: Signal<In, Bits<32>>,
    /// The node must use the ICRC.
    pub requires: Signal<In, Bit>,
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

/// A read of the peer table by the registers.
#[bundle(mirror = PeerQuerySink)]
pub struct PeerQuerySource {
    /// Read the entry (pulse).
    pub start: Signal<Out, Bit>,
    /// Entry of the table.
    pub peer: Signal<Out, Bits<8>>,
    /// The entry has not been read yet.
    pub busy: Signal<In, Bit>,
    /// The entry belongs to a node.
    pub live: Signal<In, Bit>,
    /// That node.
    pub node: Signal<In, Bits<32>>,
    /// Lowest number that has not been accepted.
    pub expected: Signal<In, Bits<32>>,
    /// Bit i: that number + i has been accepted.
    pub selective: Signal<In, Bits<64>>,
}

/// The answer of a [`PeerQuerySource`].
#[bundle(mirror = PeerEntrySink, part_of(PeerQuerySink, PeerQuerySource))]
pub struct PeerEntrySource {
    /// The entry has not been read yet.
    pub busy: Signal<Out, Bit>,
    /// The entry belongs to a node.
    pub live: Signal<Out, Bit>,
    /// That node.
    pub node: Signal<Out, Bits<32>>,
    /// Lowest number that has not been accepted.
    pub expected: Signal<Out, Bits<32>>,
    /// Bit i: that number + i has been accepted.
    pub selective: Signal<Out, Bits<64>>,
}

/// What the responder is configured with, and what it reports to the registers.
#[bundle(mirror = AckControlSink)]
pub struct AckControlSource {
    /// Acknowledgements and refusals are sent.
    pub enable: Signal<Out, Bit>,
    /// Accepted packets after which an acknowledgement is due, at least 1.
    pub every: Signal<Out, Bits<6>>,
    /// Shortest time between two refusals to one source, in units of 64 cycles.
    pub nack_gap: Signal<Out, Bits<16>>,
    /// An acknowledgement was sent (pulse).
    pub sent: Signal<In, Bit>,
    /// A refusal was sent (pulse).
    pub nack_sent: Signal<In, Bit>,
    /// A refusal was withheld (pulse).
    pub nack_withheld: Signal<In, Bit>,
}

/// What became of tasks, for the registers.
#[bundle(mirror = TaskCountsSink)]
pub struct TaskCountsSource {
    /// A task has begun (pulse).
    pub begun: Signal<Out, Bit>,
    /// A start or a cancellation had no effect (pulse).
    pub refused: Signal<Out, Bit>,
    /// A task was cancelled (pulse).
    pub cancelled: Signal<Out, Bit>,
    /// Tasks that ended with their context in one cycle.
    pub dissolved: Signal<Out, Bits<5>>,
}

/// What the scheduler reports to the registers.
#[bundle(mirror = SchedulerCountsSink)]
pub struct SchedulerCountsSource {
    /// A frame ended (pulse).
    pub outcome: Signal<Out, Outcome>,
    /// A rule had given that frame to a context,
    pub of_context: Signal<Out, Bit>,
    /// to this one.
    pub context: Signal<Out, Bits<4>>,
    /// A message ended well (pulse).
    pub message_done: Signal<Out, Bit>,
    /// A message ended because a handler failed (pulse).
    pub message_failed: Signal<Out, Bit>,
    /// A message ended of age (pulse).
    pub message_aged: Signal<Out, Bit>,
    /// A frame was accepted for a context (pulse).
    pub to_hpu: Signal<Out, Bit>,
    /// Frames accepted for a mailbox in one cycle: at most one by each path.
    pub to_mailbox: Signal<Out, Bits<2>>,
    /// A frame was accepted for the host (pulse).
    pub to_host: Signal<Out, Bit>,
    /// Messages alive.
    pub messages_open: Signal<Out, Bits<16>>,
}
