//! Bundles that several engines share: beats, frames, AXI4.
//!
//! A bundle is declared once, from the side of the source; `mirror` names the other side. [`Join`] connects two of them
//! in one line. Words with and without back-pressure are `Source`, `Sink`, `Pulse` and `PulseSink` of
//! `spindle_verilog`.

use crate::desc::ContextPolicy;
use spindle_contract::registers::BAR_BITS;
use spindle_verilog::prelude::*;

/// Beats of 512 bits.
#[bundle(mirror = BeatSink)]
pub struct BeatSource {
    /// Bytes, the first in bits 7:0.
    pub payload: Signal<Out, Bits<512>>,
    /// Last beat of the transfer.
    pub last: Signal<Out, Bit>,
    /// A beat is offered.
    pub valid: Signal<Out, Bit>,
    /// The beat is taken.
    pub ready: Signal<In, Bit>,
}

/// Beats that host memory answers a read with; `Tag` is the read.
#[bundle(mirror = ReadDataSink)]
pub struct ReadDataSource<Tag: Synth> {
    /// Bytes, the first in bits 7:0.
    pub payload: Signal<Out, Bits<512>>,
    /// Last beat of the read.
    pub last: Signal<Out, Bit>,
    /// With the last beat: the host answered with an error.
    pub error: Signal<Out, Bit>,
    /// The read.
    pub tag: Signal<Out, Tag>,
    /// A beat is offered.
    pub valid: Signal<Out, Bit>,
    /// The beat is taken.
    pub ready: Signal<In, Bit>,
}

/// Frames as AXI4-Stream; rules in `docs/streams.md`.
#[bundle(mirror = AxiStreamSink)]
pub struct AxiStreamSource {
    /// Bytes, the first in bits 7:0.
    pub data: Signal<Out, Bits<512>>,
    /// Bytes that count; contiguous from bit 0.
    pub keep: Signal<Out, Bits<64>>,
    /// Last beat of the frame.
    pub last: Signal<Out, Bit>,
    /// With `last`: the frame is bad.
    pub user: Signal<Out, Bit>,
    /// A beat is offered.
    pub valid: Signal<Out, Bit>,
    /// The beat is taken.
    pub ready: Signal<In, Bit>,
}

/// [`AxiStreamSource`] without `user`.
#[bundle(mirror = FrameSink, part_of(AxiStreamSource, AxiStreamSink))]
pub struct FrameSource {
    /// Bytes, the first in bits 7:0.
    pub data: Signal<Out, Bits<512>>,
    /// Bytes that count; contiguous from bit 0.
    pub keep: Signal<Out, Bits<64>>,
    /// Last beat of the frame.
    pub last: Signal<Out, Bit>,
    /// A beat is offered.
    pub valid: Signal<Out, Bit>,
    /// The beat is taken.
    pub ready: Signal<In, Bit>,
}

/// Frames from the wire, which cannot wait.
#[bundle(mirror = RxSink, part_of(AxiStreamSource, AxiStreamSink))]
pub struct RxSource {
    /// Bytes, the first in bits 7:0.
    pub data: Signal<Out, Bits<512>>,
    /// Bytes that count; contiguous from bit 0.
    pub keep: Signal<Out, Bits<64>>,
    /// Last beat of the frame.
    pub last: Signal<Out, Bit>,
    /// With `last`: the frame is bad.
    pub user: Signal<Out, Bit>,
    /// There is a beat.
    pub valid: Signal<Out, Bit>,
}

/// Frames that handlers send, from the HPU array to the initiator.
#[bundle(mirror = EgressSink)]
pub struct EgressSource {
    /// Bytes, the first in bits 7:0.
    pub data: Signal<Out, Bits<512>>,
    /// Bytes that count; contiguous from bit 0.
    pub keep: Signal<Out, Bits<64>>,
    /// Last beat of the frame.
    pub last: Signal<Out, Bit>,
    /// Frame number of the packet whose handler sends.
    pub frame: Signal<Out, Bits<16>>,
    /// The frame is the payload of a put, not a frame.
    pub put: Signal<Out, Bit>,
    /// The frame is to be cut into segments.
    pub segment: Signal<Out, Bit>,
    /// Checksums are inserted into the frame.
    pub checksum: Signal<Out, Bit>,
    /// A beat is offered.
    pub valid: Signal<Out, Bit>,
    /// The beat is taken.
    pub ready: Signal<In, Bit>,
}

/// Frames that the handlers of one cluster send: the last beat has a count of bytes instead of a mask.
#[bundle(mirror = TailedSink)]
pub struct TailedSource {
    /// Bytes, the first in bits 7:0.
    pub data: Signal<Out, Bits<512>>,
    /// Last beat of the frame,
    pub last: Signal<Out, Bit>,
    /// of so many bytes; 0 = all.
    pub tail: Signal<Out, Bits<6>>,
    /// Frame number of the packet whose handler sends.
    pub frame: Signal<Out, Bits<16>>,
    /// The frame is the payload of a put, not a frame.
    pub put: Signal<Out, Bit>,
    /// The frame is to be cut into segments.
    pub segment: Signal<Out, Bit>,
    /// Checksums are inserted into the frame.
    pub checksum: Signal<Out, Bit>,
    /// A beat is offered.
    pub valid: Signal<Out, Bit>,
    /// The beat is taken.
    pub ready: Signal<In, Bit>,
}

/// AXI4 master of 512 bits without `lock`, `cache`, `prot`, `qos` and `region`.
#[bundle(mirror = AxiSink)]
pub struct AxiSource {
    /// Id of the write.
    pub awid: Signal<Out, Bits<8>>,
    /// Write address.
    pub awaddr: Signal<Out, Bits<64>>,
    /// Beats less one.
    pub awlen: Signal<Out, Bits<8>>,
    /// 64 bytes a beat.
    pub awsize: Signal<Out, Bits<3>>,
    /// INCR.
    pub awburst: Signal<Out, Bits<2>>,
    /// Write address offered.
    pub awvalid: Signal<Out, Bit>,
    /// Write address taken.
    pub awready: Signal<In, Bit>,
    /// Write data.
    pub wdata: Signal<Out, Bits<512>>,
    /// Bytes to write.
    pub wstrb: Signal<Out, Bits<64>>,
    /// Last beat of the burst.
    pub wlast: Signal<Out, Bit>,
    /// Write data offered.
    pub wvalid: Signal<Out, Bit>,
    /// Write data taken.
    pub wready: Signal<In, Bit>,
    /// Id of the answer to a write.
    pub bid: Signal<In, Bits<8>>,
    /// Answer to a write.
    pub bresp: Signal<In, Bits<2>>,
    /// Answer offered.
    pub bvalid: Signal<In, Bit>,
    /// Answer taken.
    pub bready: Signal<Out, Bit>,
    /// Id of the read.
    pub arid: Signal<Out, Bits<8>>,
    /// Read address.
    pub araddr: Signal<Out, Bits<64>>,
    /// Beats less one.
    pub arlen: Signal<Out, Bits<8>>,
    /// 64 bytes a beat.
    pub arsize: Signal<Out, Bits<3>>,
    /// INCR.
    pub arburst: Signal<Out, Bits<2>>,
    /// Read address offered.
    pub arvalid: Signal<Out, Bit>,
    /// Read address taken.
    pub arready: Signal<In, Bit>,
    /// Id of the data.
    pub rid: Signal<In, Bits<8>>,
    /// Read data.
    pub rdata: Signal<In, Bits<512>>,
    /// Answer to the read.
    pub rresp: Signal<In, Bits<2>>,
    /// Last beat of the burst.
    pub rlast: Signal<In, Bit>,
    /// Read data offered.
    pub rvalid: Signal<In, Bit>,
    /// Read data taken.
    pub rready: Signal<Out, Bit>,
}

/// AXI4-Lite master of 32 bits: accesses to the BAR.
#[bundle(mirror = AxiLiteSink)]
pub struct AxiLiteSource {
    /// Write address.
    pub awaddr: Signal<Out, Bits<BAR_BITS>>,
    /// Write address offered.
    pub awvalid: Signal<Out, Bit>,
    /// Write address taken.
    pub awready: Signal<In, Bit>,
    /// Write data.
    pub wdata: Signal<Out, Bits<32>>,
    /// Bytes to write; only 0xF is served.
    pub wstrb: Signal<Out, Bits<4>>,
    /// Write data offered.
    pub wvalid: Signal<Out, Bit>,
    /// Write data taken.
    pub wready: Signal<In, Bit>,
    /// Write response.
    pub bresp: Signal<In, Bits<2>>,
    /// Write response offered.
    pub bvalid: Signal<In, Bit>,
    /// Write response taken.
    pub bready: Signal<Out, Bit>,
    /// Read address.
    pub araddr: Signal<Out, Bits<BAR_BITS>>,
    /// Read address offered.
    pub arvalid: Signal<Out, Bit>,
    /// Read address taken.
    pub arready: Signal<In, Bit>,
    /// Read data.
    pub rdata: Signal<In, Bits<32>>,
    /// Read response.
    pub rresp: Signal<In, Bits<2>>,
    /// Read response offered.
    pub rvalid: Signal<In, Bit>,
    /// Read response taken.
    pub rready: Signal<Out, Bit>,
}

/// Write channels of [`AxiSource`].
#[bundle(mirror = AxiWriteSink, part_of(AxiSource, AxiSink))]
pub struct AxiWriteSource {
    /// Id of the write.
    pub awid: Signal<Out, Bits<8>>,
    /// Write address.
    pub awaddr: Signal<Out, Bits<64>>,
    /// Beats less one.
    pub awlen: Signal<Out, Bits<8>>,
    /// 64 bytes a beat.
    pub awsize: Signal<Out, Bits<3>>,
    /// INCR.
    pub awburst: Signal<Out, Bits<2>>,
    /// Write address offered.
    pub awvalid: Signal<Out, Bit>,
    /// Write address taken.
    pub awready: Signal<In, Bit>,
    /// Write data.
    pub wdata: Signal<Out, Bits<512>>,
    /// Bytes to write.
    pub wstrb: Signal<Out, Bits<64>>,
    /// Last beat of the burst.
    pub wlast: Signal<Out, Bit>,
    /// Write data offered.
    pub wvalid: Signal<Out, Bit>,
    /// Write data taken.
    pub wready: Signal<In, Bit>,
    /// Id of the answer to a write.
    pub bid: Signal<In, Bits<8>>,
    /// Answer to a write.
    pub bresp: Signal<In, Bits<2>>,
    /// Answer offered.
    pub bvalid: Signal<In, Bit>,
    /// Answer taken.
    pub bready: Signal<Out, Bit>,
}

/// Read address channel of [`AxiSource`].
#[bundle(mirror = AxiReadAddressSink, part_of(AxiSource, AxiSink))]
pub struct AxiReadAddressSource {
    /// Id of the read.
    pub arid: Signal<Out, Bits<8>>,
    /// Read address.
    pub araddr: Signal<Out, Bits<64>>,
    /// Beats less one.
    pub arlen: Signal<Out, Bits<8>>,
    /// 64 bytes a beat.
    pub arsize: Signal<Out, Bits<3>>,
    /// INCR.
    pub arburst: Signal<Out, Bits<2>>,
    /// Read address offered.
    pub arvalid: Signal<Out, Bit>,
    /// Read address taken.
    pub arready: Signal<In, Bit>,
}

/// Read data channel, for one id and bursts whose beats are counted, of [`AxiSource`].
#[bundle(mirror = AxiReadDataSink, part_of(AxiSource, AxiSink))]
pub struct AxiReadDataSource {
    /// Read data.
    pub rdata: Signal<In, Bits<512>>,
    /// Answer to the read.
    pub rresp: Signal<In, Bits<2>>,
    /// Read data offered.
    pub rvalid: Signal<In, Bit>,
    /// Read data taken.
    pub rready: Signal<Out, Bit>,
}

/// Policy of a context, one pulse when the context is installed.
#[bundle(mirror = PolicySink)]
pub struct PolicySource {
    /// Policy.
    pub payload: Signal<Out, ContextPolicy>,
    /// The context.
    pub index: Signal<Out, Bits<4>>,
    /// A context is installed.
    pub valid: Signal<Out, Bit>,
}
