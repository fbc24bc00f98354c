//! Vector map of the XDMA: written once after reset, because it starts with all user interrupts on vector 0.
//!
//! | neighbour | ports |
//! |---|---|
//! | XDMA `s_axil` | `pcie` |
//! | shell page | out `mapped`: all words were written and read back; out `failed`: one was not |
//!
//! Runs on the XDMA's clock. After reset four words of the map (interrupt i on vector i) and the mask of all interrupts
//! are written, one access at a time, then all five are read back. A word that is answered with an error, not within 4096
//! cycles, or reads back otherwise sets `failed`; the sequence goes on with the next word. After an access without an answer
//! it ends, since a further access would meet the old answer. The driver reads both bits, and can write the map by BAR 2.
//!
//! Address and data are offered together, and held until each is taken. An access takes 2 cycles and those of the XDMA.

use spindle_contract::pci::{xdma, VECTORS};
use spindle_verilog::prelude::*;

use super::xdma::XdmaLiteSource;

/// Words: the map, and the mask.
const WORDS: usize = VECTORS / 4 + 1;

/// What the block does.
#[derive(LogicState, Copy, Clone, Debug, PartialEq)]
pub enum InitStep {
    /// Begins an access.
    Begin,
    /// An access is under way.
    Access,
    /// Done, or given up.
    Over,
}

/// The block. See the module text.
#[block]
pub struct IrqInit {
    /// Registers of the XDMA.
    pub pcie: XdmaLiteSource,
    /// All words were written and read back.
    pub mapped: Signal<Out, Bit>,
    /// A word was not.
    pub failed: Signal<Out, Bit>,
    step: Reg<InitStep>,
    /// Reads, after the writes.
    reading: Reg<Bit>,
    number: Reg<Bits<3>>,
    aw: Reg<Bit>,
    w: Reg<Bit>,
    ar: Reg<Bit>,
    patience: Reg<Bits<12>>,
    trouble: Reg<Bit>,
}

#[hdl]
impl IrqInit {
    fn update(&mut self) {
        let number = self.number.q.val();
        let is_mask = number == bits::<3>(WORDS as u64 - 1);
        // Vector i in byte i.
        let first = bit_cast::<32, 3>(number) << 2;
        let map = (first + 3) << 24 | (first + 2) << 16 | (first + 1) << 8 | first;
        let word = if is_mask { bits::<32>((1 << VECTORS as u64) - 1) } else { map };
        let address = if is_mask {
            bits::<32>((xdma::IRQ_BLOCK + xdma::IRQ_MASK) as u64)
        } else {
            bits::<32>((xdma::IRQ_BLOCK + xdma::IRQ_VECTORS) as u64) + (bit_cast::<32, 3>(number) << 2)
        };

        let answered = if self.reading.q.val() { self.pcie.rvalid.val() } else { self.pcie.bvalid.val() };
        let response = if self.reading.q.val() { self.pcie.rresp.val() } else { self.pcie.bresp.val() };
        let wrong = response.any() | (self.reading.q.val() & (self.pcie.rdata.val() != word));
        match self.step.q.val() {
            InitStep::Begin => {
                self.aw.d.next = !self.reading.q.val();
                self.w.d.next = !self.reading.q.val();
                self.ar.d.next = self.reading.q.val();
                self.patience.d.next = bits::<12>(0);
                self.step.d.next = InitStep::Access;
            }
            InitStep::Access => {
                self.patience.d.next = self.patience.q.val() + 1;
                if self.pcie.awready.val() {
                    self.aw.d.next = false;
                }
                if self.pcie.wready.val() {
                    self.w.d.next = false;
                }
                if self.pcie.arready.val() {
                    self.ar.d.next = false;
                }
                if answered {
                    self.trouble.d.next = self.trouble.q.val() | wrong;
                    self.number.d.next = if is_mask { bits::<3>(0) } else { number + 1 };
                    self.reading.d.next = self.reading.q.val() | is_mask;
                    self.step.d.next = InitStep::Begin;
                    if is_mask & self.reading.q.val() {
                        self.step.d.next = InitStep::Over;
                    }
                } else if self.patience.q.val().all() {
                    self.trouble.d.next = true;
                    self.step.d.next = InitStep::Over;
                }
            }
            _ => {}
        }
        self.pcie.awaddr.next = address;
        self.pcie.awprot.next = bits::<3>(0);
        self.pcie.awvalid.next = self.aw.q.val();
        self.pcie.wdata.next = word;
        self.pcie.wstrb.next = bits::<4>(0xF);
        self.pcie.wvalid.next = self.w.q.val();
        self.pcie.bready.next = true;
        self.pcie.araddr.next = address;
        self.pcie.arprot.next = bits::<3>(0);
        self.pcie.arvalid.next = self.ar.q.val();
        self.pcie.rready.next = true;
        self.mapped.next = (self.step.q.val() == InitStep::Over) & !self.trouble.q.val();
        self.failed.next = self.trouble.q.val();
    }
}
