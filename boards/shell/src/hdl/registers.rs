//! The register page of a shell with what it needs of the board: the page, the reader of the device's number, the LEDs.
//!
//! | neighbour | ports |
//! |---|---|
//! | BAR bridge | `csr`, `csr_answer` |
//! | host side | in `host`: [`HostState`] |
//! | MAC | in `mac`: [`MacState`] |
//! | primitive `DNA_PORTE2` or `DNA_PORT` | `dna` |
//! | pads | out `led` |
//!
//! One clock, that of the core. A shell has one MAC; the page shows the second one as a port of the network without a MAC.
//! Answers and latencies are those of [`Identity`].

use super::identity::{Built, DnaReader, Identity};
use super::leds::{Leds, LEDS};
use super::link::MacState;
use spindle_blocks::{CsrRequest, CsrResponse};
use spindle_contract::pci::VECTORS;
use spindle_verilog::prelude::*;

/// State of the host's side, as the page `shell` shows and counts it. Levels of the PCIe block and of interrupts may be of a
/// clock with edges in common with the core's.
#[derive(LogicStruct, Copy, Clone, Debug, Default, PartialEq)]
pub struct HostState {
    /// The PCIe link is up.
    pub link_up: Bit,
    /// Its state, as the PCIe block numbers it.
    pub ltssm: Bits<6>,
    /// The host has enabled MSI-X.
    pub msix_enable: Bit,
    /// The vector map stands.
    pub vectors_set: Bit,
    /// It does not.
    pub vectors_failed: Bit,
    /// Requests of interrupts on their way.
    pub irq_pending: Bits<VECTORS>,
    /// Bursts that are refused in this cycle: write, read.
    pub refused: Bits<2>,
    /// Bursts that are given up in this cycle.
    pub abandoned: Bits<2>,
    /// The BAR bridge ends an access in this cycle.
    pub silent: Bit,
}

/// Pins of the primitive that holds the device's number; see [`DnaReader`].
#[bundle(mirror = DnaPrimitive)]
pub struct DnaPins {
    /// Clock of the primitive.
    pub clk: Signal<Out, Bit>,
    /// Load.
    pub read: Signal<Out, Bit>,
    /// Shift.
    pub shift: Signal<Out, Bit>,
    /// What is shifted in: 0.
    pub din: Signal<Out, Bit>,
    /// The bit.
    pub dout: Signal<In, Bit>,
}

/// The registers. See the module text.
#[block(no_default)]
pub struct Registers {
    /// Access, held until its answer.
    pub csr: Signal<In, CsrRequest>,
    /// Answer, one cycle.
    pub csr_answer: Signal<Out, CsrResponse>,
    /// The host's side.
    pub host: Signal<In, HostState>,
    /// The MAC.
    pub mac: Signal<In, MacState>,
    /// The device's number.
    pub dna: DnaPins,
    /// The LEDs, high is lit.
    pub led: Signal<Out, Bits<LEDS>>,
    identity: Identity,
    dna_reader: DnaReader,
    leds: Leds,
}

impl Default for Registers {
    /// Those of no board.
    fn default() -> Self {
        Self::blank()
    }
}

impl Registers {
    /// The registers of a shell, on a device whose number has so many bits: 57 or 96.
    pub fn new(built: &Built, dna_bits: u64) -> Self {
        Self { identity: Identity::new(built), dna_reader: DnaReader::new(dna_bits), ..Self::blank() }
    }
}

#[hdl]
impl Registers {
    fn update(&mut self) {
        self.identity.csr.next = self.csr.val();
        self.csr_answer.next = self.identity.csr_answer.val();
        let host = self.host.val();
        self.identity.link_up.next = host.link_up;
        self.identity.ltssm.next = host.ltssm;
        self.identity.msix_enable.next = host.msix_enable;
        self.identity.vectors_set.next = host.vectors_set;
        self.identity.vectors_failed.next = host.vectors_failed;
        self.identity.irq_pending.next = host.irq_pending;
        self.identity.refused.next = host.refused;
        self.identity.abandoned.next = host.abandoned;
        self.identity.silent.next = host.silent;
        self.identity.mac[0].next = self.mac.val();
        self.identity.mac[1].next = MacState::default();

        self.identity.dna.next = self.dna_reader.dna.val();
        self.identity.dna_valid.next = self.dna_reader.valid.val();
        self.dna.clk.next = self.dna_reader.dna_clk.val();
        self.dna.read.next = self.dna_reader.dna_read.val();
        self.dna.shift.next = self.dna_reader.dna_shift.val();
        self.dna.din.next = self.dna_reader.dna_din.val();
        self.dna_reader.dna_dout.next = self.dna.dout.val();

        self.leds.link_up.next = host.link_up;
        self.leds.mac_up.next = self.mac.val().up;
        self.leds.identify.next = self.identity.identify.val();
        self.led.next = self.leds.led.val();
    }
}
