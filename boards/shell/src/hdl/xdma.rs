//! Ports of the bridge `xdma` as bundles: the fields have the names of the IP's own ports.

use spindle_verilog::prelude::*;

/// `m_axib`: accesses of the host to the BARs, `W` bits and `S = W / 8` strobes. The source is the IP.
#[bundle(mirror = XdmaBarSink)]
pub struct XdmaBarSource<const W: usize, const S: usize> {
    /// Id of the write.
    pub awid: Signal<Out, Bits<4>>,
    /// Write address.
    pub awaddr: Signal<Out, Bits<64>>,
    /// Beats less one.
    pub awlen: Signal<Out, Bits<8>>,
    /// Logarithm of the bytes of a beat.
    pub awsize: Signal<Out, Bits<3>>,
    /// INCR.
    pub awburst: Signal<Out, Bits<2>>,
    /// Not used.
    pub awprot: Signal<Out, Bits<3>>,
    /// Not used.
    pub awlock: Signal<Out, Bit>,
    /// Not used.
    pub awcache: Signal<Out, Bits<4>>,
    /// Write address offered.
    pub awvalid: Signal<Out, Bit>,
    /// Write address taken.
    pub awready: Signal<In, Bit>,
    /// Write data.
    pub wdata: Signal<Out, Bits<W>>,
    /// Bytes to write.
    pub wstrb: Signal<Out, Bits<S>>,
    /// Last beat of the burst.
    pub wlast: Signal<Out, Bit>,
    /// Write data offered.
    pub wvalid: Signal<Out, Bit>,
    /// Write data taken.
    pub wready: Signal<In, Bit>,
    /// Id of the answer to a write.
    pub bid: Signal<In, Bits<4>>,
    /// Answer to a write.
    pub bresp: Signal<In, Bits<2>>,
    /// Answer offered.
    pub bvalid: Signal<In, Bit>,
    /// Answer taken.
    pub bready: Signal<Out, Bit>,
    /// Id of the read.
    pub arid: Signal<Out, Bits<4>>,
    /// Read address.
    pub araddr: Signal<Out, Bits<64>>,
    /// Beats less one.
    pub arlen: Signal<Out, Bits<8>>,
    /// Logarithm of the bytes of a beat.
    pub arsize: Signal<Out, Bits<3>>,
    /// INCR.
    pub arburst: Signal<Out, Bits<2>>,
    /// Not used.
    pub arprot: Signal<Out, Bits<3>>,
    /// Not used.
    pub arlock: Signal<Out, Bit>,
    /// Not used.
    pub arcache: Signal<Out, Bits<4>>,
    /// Read address offered.
    pub arvalid: Signal<Out, Bit>,
    /// Read address taken.
    pub arready: Signal<In, Bit>,
    /// Id of the data.
    pub rid: Signal<In, Bits<4>>,
    /// Read data.
    pub rdata: Signal<In, Bits<W>>,
    /// Answer to the read.
    pub rresp: Signal<In, Bits<2>>,
    /// Last beat of the burst.
    pub rlast: Signal<In, Bit>,
    /// Read data offered.
    pub rvalid: Signal<In, Bit>,
    /// Read data taken.
    pub rready: Signal<Out, Bit>,
}

/// `s_axib`: accesses of the card to host memory, `W` bits and `S = W / 8` strobes. The sink is the IP.
#[bundle(mirror = XdmaHostSink)]
pub struct XdmaHostSource<const W: usize, const S: usize> {
    /// Id of the write.
    pub awid: Signal<Out, Bits<8>>,
    /// Write address.
    pub awaddr: Signal<Out, Bits<64>>,
    /// Window of the address: 0.
    pub awregion: Signal<Out, Bits<4>>,
    /// Beats less one.
    pub awlen: Signal<Out, Bits<8>>,
    /// Logarithm of the bytes of a beat.
    pub awsize: Signal<Out, Bits<3>>,
    /// INCR.
    pub awburst: Signal<Out, Bits<2>>,
    /// Write address offered.
    pub awvalid: Signal<Out, Bit>,
    /// Write address taken.
    pub awready: Signal<In, Bit>,
    /// Write data.
    pub wdata: Signal<Out, Bits<W>>,
    /// Bytes to write.
    pub wstrb: Signal<Out, Bits<S>>,
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
    /// Window of the address: 0.
    pub arregion: Signal<Out, Bits<4>>,
    /// Beats less one.
    pub arlen: Signal<Out, Bits<8>>,
    /// Logarithm of the bytes of a beat.
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
    pub rdata: Signal<In, Bits<W>>,
    /// Answer to the read.
    pub rresp: Signal<In, Bits<2>>,
    /// Last beat of the burst.
    pub rlast: Signal<In, Bit>,
    /// Read data offered.
    pub rvalid: Signal<In, Bit>,
    /// Read data taken.
    pub rready: Signal<Out, Bit>,
}

/// `s_axil`: registers of the bridge itself, AXI4-Lite of 32 bits. The sink is the IP.
#[bundle(mirror = XdmaLiteSink)]
pub struct XdmaLiteSource {
    /// Write address.
    pub awaddr: Signal<Out, Bits<32>>,
    /// 0.
    pub awprot: Signal<Out, Bits<3>>,
    /// Write address offered.
    pub awvalid: Signal<Out, Bit>,
    /// Write address taken.
    pub awready: Signal<In, Bit>,
    /// Write data.
    pub wdata: Signal<Out, Bits<32>>,
    /// All bytes.
    pub wstrb: Signal<Out, Bits<4>>,
    /// Write data offered.
    pub wvalid: Signal<Out, Bit>,
    /// Write data taken.
    pub wready: Signal<In, Bit>,
    /// Answer to a write.
    pub bresp: Signal<In, Bits<2>>,
    /// Answer offered.
    pub bvalid: Signal<In, Bit>,
    /// Answer taken.
    pub bready: Signal<Out, Bit>,
    /// Read address.
    pub araddr: Signal<Out, Bits<32>>,
    /// 0.
    pub arprot: Signal<Out, Bits<3>>,
    /// Read address offered.
    pub arvalid: Signal<Out, Bit>,
    /// Read address taken.
    pub arready: Signal<In, Bit>,
    /// Read data.
    pub rdata: Signal<In, Bits<32>>,
    /// Answer to the read.
    pub rresp: Signal<In, Bits<2>>,
    /// Read data offered.
    pub rvalid: Signal<In, Bit>,
    /// Read data taken.
    pub rready: Signal<Out, Bit>,
}
