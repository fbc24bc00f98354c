//! The user side of `pcie_7x`, and packets inside of the bridge.
//!
//! Facts of the 128-bit interface (PG054): DW n of a beat is `tdata[32n+31:32n]`. DWs of a header are numbers; in a DW
//! of data the byte of the lowest address is the highest. On receive, `tuser` is
//!
//! | bits | meaning |
//! |---|---|
//! | 0, 1 | ECRC error, poisoned |
//! | 9:2 | BARs that are hit; both halves of a 64-bit BAR |
//! | 14:10 | bit 14: a packet starts in this beat, at byte 13:10, which is 0 or 8 |
//! | 21:17 | bit 21: a packet ends in this beat, at byte 20:17, which is 3, 7, 11 or 15 |
//!
//! A packet that starts at byte 8 shares its beat with the end of the packet before. On transmit each packet starts at
//! byte 0.

use spindle_verilog::prelude::*;

/// Packets from the link.
#[bundle(mirror = RxAxisSink)]
pub struct RxAxisSource {
    /// Four DWs.
    pub tdata: Signal<Out, Bits<128>>,
    /// See the module text.
    pub tuser: Signal<Out, Bits<22>>,
    /// A beat is offered.
    pub tvalid: Signal<Out, Bit>,
    /// The beat is taken.
    pub tready: Signal<In, Bit>,
}

/// Packets to the link.
#[bundle(mirror = TxAxisSink)]
pub struct TxAxisSource {
    /// Four DWs.
    pub tdata: Signal<Out, Bits<128>>,
    /// Bytes that count: whole DWs from byte 0, all but in the last beat.
    pub tkeep: Signal<Out, Bits<16>>,
    /// Last beat of the packet.
    pub tlast: Signal<Out, Bit>,
    /// Always 0: no ECRC, not poisoned, no cut-through, not abandoned.
    pub tuser: Signal<Out, Bits<4>>,
    /// A beat is offered.
    pub tvalid: Signal<Out, Bit>,
    /// The beat is taken.
    pub tready: Signal<In, Bit>,
}

/// The configuration of the core's function. All of it may change at any time.
#[bundle(mirror = FunctionSink)]
pub struct FunctionSource {
    /// PCI command register; bit 2: bus master.
    pub command: Signal<Out, Bits<16>>,
    /// Device control register; 7:5 maximum payload, 14:12 maximum read request.
    pub dcommand: Signal<Out, Bits<16>>,
    /// Bus.
    pub bus_number: Signal<Out, Bits<8>>,
    /// Device.
    pub device_number: Signal<Out, Bits<5>>,
    /// Function.
    pub function_number: Signal<Out, Bits<3>>,
    /// MSI-X is enabled.
    pub interrupt_msixenable: Signal<Out, Bit>,
    /// All vectors of the function are masked.
    pub interrupt_msixfm: Signal<Out, Bit>,
}

/// A packet on its way to the link, from DW 0 on.
#[bundle(mirror = PacketSink)]
pub struct PacketSource {
    /// Four DWs.
    pub data: Signal<Out, Bits<128>>,
    /// DWs that count, less one; 3 in each beat but the last.
    pub top: Signal<Out, Bits<2>>,
    /// Last beat of the packet.
    pub last: Signal<Out, Bit>,
    /// A beat is offered.
    pub valid: Signal<Out, Bit>,
    /// The beat is taken.
    pub ready: Signal<In, Bit>,
}

/// A beat of a packet from the link, from DW 0 on.
#[derive(LogicStruct, Copy, Clone, Debug, Default, PartialEq)]
pub struct RxBeat {
    /// Four DWs.
    pub data: Bits<128>,
    /// DWs that count, less one.
    pub top: Bits<2>,
    /// First beat of the packet.
    pub first: Bit,
    /// Last beat of the packet.
    pub last: Bit,
    /// With `last`: the packet has no end. The beat has no data.
    pub cut: Bit,
    /// BARs that are hit.
    pub bars: Bits<8>,
}

/// Things that a correct host does not do, each a pulse.
#[derive(LogicStruct, Copy, Clone, Debug, Default, PartialEq)]
pub struct TlpEvents {
    /// A packet whose length is not that of its header, or a completion that does not fit its read.
    pub malformed: Bit,
    /// A request that is not supported.
    pub unsupported: Bit,
    /// A poisoned write or completion.
    pub poisoned: Bit,
    /// A completion that no read waits for.
    pub unexpected: Bit,
    /// A read of host memory without an answer.
    pub timeout: Bit,
    /// A register did not answer, or answered with an error.
    pub bar_error: Bit,
}
