//! The gearbox of host memory.

use super::RatioFifo;
use crate::hdl::xdma::{XdmaHostSink, XdmaHostSource};
use spindle_verilog::prelude::*;

/// Beats of 512 bits in a write that the gearbox holds.
pub const MOST_BEATS: usize = 7;

/// An address.
#[derive(LogicStruct, Copy, Clone, Debug, Default, PartialEq)]
pub struct GearAddress {
    /// Address.
    pub address: Bits<64>,
    /// Beats of 256 bits, less one.
    pub len: Bits<8>,
}

/// A beat of a write, and its halves that are not sent.
#[derive(LogicStruct, Copy, Clone, Debug, Default, PartialEq)]
pub struct GearWord {
    /// Data.
    pub data: Bits<512>,
    /// Bytes to write.
    pub strobes: Bits<64>,
    /// Last beat.
    pub last: Bit,
    /// The low half is not sent.
    pub no_low: Bit,
    /// The high half is not sent.
    pub no_high: Bit,
}

/// A beat of a read.
#[derive(LogicStruct, Copy, Clone, Debug, Default, PartialEq)]
pub struct GearBeat {
    /// Data.
    pub data: Bits<512>,
    /// Response.
    pub response: Bits<2>,
    /// Last beat.
    pub last: Bit,
}

/// Host memory. Latencies and bursts: the text of the module above.
#[block(domains(core, pcie))]
pub struct HostGearbox {
    /// The host bridge, 512 bits.
    pub engine: XdmaHostSink<512, 64>,
    /// The XDMA, 256 bits.
    pub pcie: XdmaHostSource<256, 32>,
    write_addresses: RatioFifo<GearAddress, 2>,
    write_words: RatioFifo<GearWord, 3>,
    write_answers: RatioFifo<Bits<2>, 2>,
    read_addresses: RatioFifo<GearAddress, 2>,
    read_beats: RatioFifo<GearBeat, 2>,
    /// The write whose beats are being taken.
    #[domain(core)]
    writing: Reg<Bit>,
    #[domain(core)]
    begins: Reg<Bit>,
    #[domain(core)]
    skips: Reg<Bit>,
    #[domain(core)]
    address: DFF<Bits<64>>,
    #[domain(core)]
    len: DFF<Bits<8>>,
    /// The high half is sent next.
    #[domain(pcie)]
    high: Reg<Bit>,
    /// The low half of a beat of a read.
    #[domain(pcie)]
    low: DFF<Bits<256>>,
    #[domain(pcie)]
    low_response: DFF<Bits<2>>,
    #[domain(pcie)]
    low_held: Reg<Bit>,
}

#[hdl]
impl HostGearbox {
    fn update(&mut self) {
        self.clock_fifos();
        self.take_writes();
        self.send_writes();
        self.pass_reads();
    }

    fn clock_fifos(&mut self) {
        self.write_addresses.write_clock.next = self.core_clock.val();
        self.write_addresses.write_reset.next = self.core_reset.val();
        self.write_addresses.read_clock.next = self.pcie_clock.val();
        self.write_addresses.read_reset.next = self.pcie_reset.val();
        self.write_words.write_clock.next = self.core_clock.val();
        self.write_words.write_reset.next = self.core_reset.val();
        self.write_words.read_clock.next = self.pcie_clock.val();
        self.write_words.read_reset.next = self.pcie_reset.val();
        self.write_answers.write_clock.next = self.pcie_clock.val();
        self.write_answers.write_reset.next = self.pcie_reset.val();
        self.write_answers.read_clock.next = self.core_clock.val();
        self.write_answers.read_reset.next = self.core_reset.val();
        self.read_addresses.write_clock.next = self.core_clock.val();
        self.read_addresses.write_reset.next = self.core_reset.val();
        self.read_addresses.read_clock.next = self.pcie_clock.val();
        self.read_addresses.read_reset.next = self.pcie_reset.val();
        self.read_beats.write_clock.next = self.pcie_clock.val();
        self.read_beats.write_reset.next = self.pcie_reset.val();
        self.read_beats.read_clock.next = self.core_clock.val();
        self.read_beats.read_reset.next = self.core_reset.val();
    }

    /// Core: beats of a write, then its address.
    fn take_writes(&mut self) {
        let writing = self.writing.q.val();
        let ready = writing & self.write_words.write.ready.val() & self.write_addresses.write.ready.val();
        let moves = ready & self.engine.wvalid.val();
        let last = self.engine.wlast.val();
        let strobes = self.engine.wstrb.val();
        let no_low = self.begins.q.val() & !strobes.get_bits::<32>(0).any();
        let no_high = last & !no_low & !strobes.get_bits::<32>(32).any();
        self.engine.wready.next = ready;
        self.write_words.write.offer(
            moves,
            GearWord { data: self.engine.wdata.val(), strobes: strobes, last: last, no_low: no_low, no_high: no_high },
        );
        let skips = if self.begins.q.val() { no_low } else { self.skips.q.val() };
        let less = (skips & no_high, skips ^ no_high).cat::<2>();
        let halves = (self.len.q.val() << 1) + 1 - bit_cast::<8, 2>(less);
        let line = self.address.q.val().get_bits::<58>(6);
        self.write_addresses
            .write
            .offer(moves & last, GearAddress { address: (line, skips, bits::<5>(0)).cat::<64>(), len: halves });
        self.begins.load(moves, false);
        self.skips.load(moves, skips);

        let takes = !writing | (moves & last);
        self.engine.awready.next = takes;
        if takes {
            self.writing.d.next = self.engine.awvalid.val();
            self.begins.d.next = true;
            self.address.d.next = self.engine.awaddr.val();
            self.len.d.next = self.engine.awlen.val();
        }

        self.engine.bid.next = bits::<8>(0);
        self.engine.bresp.next = self.write_answers.read.val();
        self.engine.bvalid.next = self.write_answers.read.valid.val();
        self.write_answers.read.ready.next = self.engine.bready.val();
    }

    /// XDMA: addresses and halves of beats.
    fn send_writes(&mut self) {
        let address = self.write_addresses.read.val();
        self.pcie.awid.next = bits::<8>(0);
        self.pcie.awaddr.next = address.address;
        self.pcie.awregion.next = bits::<4>(0);
        self.pcie.awlen.next = address.len;
        self.pcie.awsize.next = bits::<3>(5);
        self.pcie.awburst.next = bits::<2>(1);
        self.pcie.awvalid.next = self.write_addresses.read.valid.val();
        self.write_addresses.read.ready.next = self.pcie.awready.val();

        let word = self.write_words.read.val();
        let high = self.high.q.val() | word.no_low;
        let ends = high | word.no_high;
        self.pcie.wdata.next = if high { word.data.get_bits::<256>(256) } else { word.data.get_bits::<256>(0) };
        self.pcie.wstrb.next = if high { word.strobes.get_bits::<32>(32) } else { word.strobes.get_bits::<32>(0) };
        self.pcie.wlast.next = word.last & ends;
        self.pcie.wvalid.next = self.write_words.read.valid.val();
        let moves = self.write_words.read.valid.val() & self.pcie.wready.val();
        self.write_words.read.ready.next = self.pcie.wready.val() & ends;
        self.high.load(moves, !ends);

        self.write_answers.write.offer(self.pcie.bvalid.val(), self.pcie.bresp.val());
        self.pcie.bready.next = self.write_answers.write.ready.val();
    }

    /// Reads, both sides.
    fn pass_reads(&mut self) {
        self.read_addresses.write.offer(
            self.engine.arvalid.val(),
            GearAddress { address: self.engine.araddr.val(), len: (self.engine.arlen.val() << 1) + 1 },
        );
        self.engine.arready.next = self.read_addresses.write.ready.val();
        let address = self.read_addresses.read.val();
        self.pcie.arid.next = bits::<8>(0);
        self.pcie.araddr.next = address.address;
        self.pcie.arregion.next = bits::<4>(0);
        self.pcie.arlen.next = address.len;
        self.pcie.arsize.next = bits::<3>(5);
        self.pcie.arburst.next = bits::<2>(1);
        self.pcie.arvalid.next = self.read_addresses.read.valid.val();
        self.read_addresses.read.ready.next = self.pcie.arready.val();

        // A low half waits for the high one. A burst that ends with a low half is none of the IP's; it is passed on.
        let held = self.low_held.q.val();
        let whole = held | self.pcie.rlast.val();
        let ready = !whole | self.read_beats.write.ready.val();
        let moves = self.pcie.rvalid.val() & ready;
        self.pcie.rready.next = ready;
        self.low_held.load(moves, !whole);
        if moves & !whole {
            self.low.d.next = self.pcie.rdata.val();
            self.low_response.d.next = self.pcie.rresp.val();
        }
        let low = if held { self.low.q.val() } else { self.pcie.rdata.val() };
        let low_response = if held { self.low_response.q.val() } else { bits::<2>(0) };
        self.read_beats.write.offer(
            self.pcie.rvalid.val() & whole,
            GearBeat {
                data: (self.pcie.rdata.val(), low).cat::<512>(),
                response: self.pcie.rresp.val() | low_response,
                last: self.pcie.rlast.val(),
            },
        );
        let beat = self.read_beats.read.val();
        self.engine.rid.next = bits::<8>(0);
        self.engine.rdata.next = beat.data;
        self.engine.rresp.next = beat.response;
        self.engine.rlast.next = beat.last;
        self.engine.rvalid.next = self.read_beats.read.valid.val();
        self.read_beats.read.ready.next = self.engine.rready.val();
    }
}
