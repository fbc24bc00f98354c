//! The gearbox of BAR accesses.

use super::RatioFifo;
use crate::hdl::xdma::{XdmaBarSink, XdmaBarSource};
use spindle_verilog::prelude::*;

/// An address of a BAR access.
#[derive(LogicStruct, Copy, Clone, Debug, Default, PartialEq)]
pub struct BarAddress {
    /// Id.
    pub id: Bits<4>,
    /// Address.
    pub address: Bits<64>,
    /// Beats less one.
    pub len: Bits<8>,
    /// Logarithm of the bytes of a beat.
    pub size: Bits<3>,
}

/// A beat of a BAR write.
#[derive(LogicStruct, Copy, Clone, Debug, Default, PartialEq)]
pub struct BarWord {
    /// Data.
    pub data: Bits<256>,
    /// Bytes to write.
    pub strobes: Bits<32>,
    /// Last beat.
    pub last: Bit,
}

/// An answer to a BAR write.
#[derive(LogicStruct, Copy, Clone, Debug, Default, PartialEq)]
pub struct BarAnswer {
    /// Id.
    pub id: Bits<4>,
    /// Response.
    pub response: Bits<2>,
}

/// A beat of a BAR read.
#[derive(LogicStruct, Copy, Clone, Debug, Default, PartialEq)]
pub struct BarBeat {
    /// Id.
    pub id: Bits<4>,
    /// Data.
    pub data: Bits<256>,
    /// Response.
    pub response: Bits<2>,
    /// Last beat.
    pub last: Bit,
}

/// BAR accesses. Latencies: the text of the module above.
#[block(domains(pcie, core))]
pub struct BarGearbox {
    /// The XDMA.
    pub pcie: XdmaBarSink<256, 32>,
    /// The BAR bridge.
    pub core: XdmaBarSource<256, 32>,
    write_addresses: RatioFifo<BarAddress, 2>,
    write_words: RatioFifo<BarWord, 2>,
    write_answers: RatioFifo<BarAnswer, 2>,
    read_addresses: RatioFifo<BarAddress, 2>,
    read_beats: RatioFifo<BarBeat, 2>,
}

#[hdl]
impl BarGearbox {
    fn update(&mut self) {
        self.clock_fifos();
        self.pass_writes();
        self.pass_reads();
    }

    fn clock_fifos(&mut self) {
        self.write_addresses.write_clock.next = self.pcie_clock.val();
        self.write_addresses.write_reset.next = self.pcie_reset.val();
        self.write_addresses.read_clock.next = self.core_clock.val();
        self.write_addresses.read_reset.next = self.core_reset.val();
        self.write_words.write_clock.next = self.pcie_clock.val();
        self.write_words.write_reset.next = self.pcie_reset.val();
        self.write_words.read_clock.next = self.core_clock.val();
        self.write_words.read_reset.next = self.core_reset.val();
        self.write_answers.write_clock.next = self.core_clock.val();
        self.write_answers.write_reset.next = self.core_reset.val();
        self.write_answers.read_clock.next = self.pcie_clock.val();
        self.write_answers.read_reset.next = self.pcie_reset.val();
        self.read_addresses.write_clock.next = self.pcie_clock.val();
        self.read_addresses.write_reset.next = self.pcie_reset.val();
        self.read_addresses.read_clock.next = self.core_clock.val();
        self.read_addresses.read_reset.next = self.core_reset.val();
        self.read_beats.write_clock.next = self.core_clock.val();
        self.read_beats.write_reset.next = self.core_reset.val();
        self.read_beats.read_clock.next = self.pcie_clock.val();
        self.read_beats.read_reset.next = self.pcie_reset.val();
    }

    fn pass_writes(&mut self) {
        self.write_addresses.write.offer(
            self.pcie.awvalid.val(),
            BarAddress {
                id: self.pcie.awid.val(),
                address: self.pcie.awaddr.val(),
                len: self.pcie.awlen.val(),
                size: self.pcie.awsize.val(),
            },
        );
        self.pcie.awready.next = self.write_addresses.write.ready.val();
        let address = self.write_addresses.read.val();
        self.core.awid.next = address.id;
        self.core.awaddr.next = address.address;
        self.core.awlen.next = address.len;
        self.core.awsize.next = address.size;
        self.core.awburst.next = bits::<2>(1);
        self.core.awprot.next = bits::<3>(0);
        self.core.awlock.next = false;
        self.core.awcache.next = bits::<4>(0);
        self.core.awvalid.next = self.write_addresses.read.valid.val();
        self.write_addresses.read.ready.next = self.core.awready.val();

        self.write_words.write.offer(
            self.pcie.wvalid.val(),
            BarWord { data: self.pcie.wdata.val(), strobes: self.pcie.wstrb.val(), last: self.pcie.wlast.val() },
        );
        self.pcie.wready.next = self.write_words.write.ready.val();
        let word = self.write_words.read.val();
        self.core.wdata.next = word.data;
        self.core.wstrb.next = word.strobes;
        self.core.wlast.next = word.last;
        self.core.wvalid.next = self.write_words.read.valid.val();
        self.write_words.read.ready.next = self.core.wready.val();

        self.write_answers
            .write
            .offer(self.core.bvalid.val(), BarAnswer { id: self.core.bid.val(), response: self.core.bresp.val() });
        self.core.bready.next = self.write_answers.write.ready.val();
        let answer = self.write_answers.read.val();
        self.pcie.bid.next = answer.id;
        self.pcie.bresp.next = answer.response;
        self.pcie.bvalid.next = self.write_answers.read.valid.val();
        self.write_answers.read.ready.next = self.pcie.bready.val();
    }

    fn pass_reads(&mut self) {
        self.read_addresses.write.offer(
            self.pcie.arvalid.val(),
            BarAddress {
                id: self.pcie.arid.val(),
                address: self.pcie.araddr.val(),
                len: self.pcie.arlen.val(),
                size: self.pcie.arsize.val(),
            },
        );
        self.pcie.arready.next = self.read_addresses.write.ready.val();
        let address = self.read_addresses.read.val();
        self.core.arid.next = address.id;
        self.core.araddr.next = address.address;
        self.core.arlen.next = address.len;
        self.core.arsize.next = address.size;
        self.core.arburst.next = bits::<2>(1);
        self.core.arprot.next = bits::<3>(0);
        self.core.arlock.next = false;
        self.core.arcache.next = bits::<4>(0);
        self.core.arvalid.next = self.read_addresses.read.valid.val();
        self.read_addresses.read.ready.next = self.core.arready.val();

        self.read_beats.write.offer(
            self.core.rvalid.val(),
            BarBeat {
                id: self.core.rid.val(),
                data: self.core.rdata.val(),
                response: self.core.rresp.val(),
                last: self.core.rlast.val(),
            },
        );
        self.core.rready.next = self.read_beats.write.ready.val();
        let beat = self.read_beats.read.val();
        self.pcie.rid.next = beat.id;
        self.pcie.rdata.next = beat.data;
        self.pcie.rresp.next = beat.response;
        self.pcie.rlast.next = beat.last;
        self.pcie.rvalid.next = self.read_beats.read.valid.val();
        self.read_beats.read.ready.next = self.pcie.rready.val();
    }
}
