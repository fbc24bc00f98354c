//! AXI4-Lite slave in front of the register pages.

use crate::bundles::AxiLiteSink;
use crate::desc::{CsrRequest, CsrResponse};
use spindle_contract::registers::BAR_BITS;
use spindle_verilog::prelude::*;

/// AXI response: done.
const OKAY: u64 = 0;
/// AXI response: no block answered, or a write of less than a word.
const SLVERR: u64 = 2;
/// AXI response: no such register.
const DECERR: u64 = 3;
/// Cycles after which an unanswered access is ended, minus one.
const PATIENCE: u64 = 1023;

/// State of the slave.
#[derive(LogicState, Copy, Clone, Debug, PartialEq)]
pub enum CsrState {
    /// Waits for an address.
    Idle,
    /// The request is offered to the blocks.
    Access,
    /// The response is offered to the host.
    Respond,
}

/// AXI4-Lite slave: one register access at a time, handed to the blocks as [`CsrRequest`].
///
/// | ports | neighbour |
/// |---|---|
/// | `bar_aw*`, `bar_w*`, `bar_b*`, `bar_ar*`, `bar_r*` | host (20-bit byte address, 32-bit data) |
/// | out `csr` | the blocks, gated by the address range of each where they are connected |
/// | in `csr_answer` | OR of the blocks' answers |
///
/// Address and data of a write may arrive in either order; reads and writes that wait together take turns. `csr.valid`
/// is held with stable fields until `csr_answer.ack` and low in the cycle after it, also when a block answers at once.
/// An access takes 3 cycles plus the block's time from `ar` (or the later of `aw` and `w`) taken to the response
/// offered, if the block acknowledges in the cycle of the request: taken → request → answer registered → offered.
///
/// Responses: OKAY; DECERR for an unknown register (`error`); SLVERR when no block answers within 1024 cycles, and for
/// a write whose strobe is not 0xF, which is not passed on. Address bits 1:0 are ignored. A block that gives up an
/// access later than 1024 cycles must not acknowledge it any more: it sees `csr.valid` fall.
#[block]
pub struct CsrBlock {
    /// Write address.
    pub bar: AxiLiteSink,
    /// To the blocks.
    pub csr: Signal<Out, CsrRequest>,
    /// From the blocks.
    pub csr_answer: Signal<In, CsrResponse>,
    write_address: DFF<Bits<BAR_BITS>>,
    write_address_held: Reg<Bit>,
    write_data: DFF<Bits<32>>,
    write_whole: DFF<Bit>,
    write_data_held: Reg<Bit>,
    read_address: DFF<Bits<BAR_BITS>>,
    read_address_held: Reg<Bit>,
    state: Reg<CsrState>,
    request: Reg<CsrRequest>,
    patience: Reg<Bits<10>>,
    read_data: DFF<Bits<32>>,
    response: DFF<Bits<2>>,
    bvalid: Reg<Bit>,
    rvalid: Reg<Bit>,
}

#[hdl]
impl CsrBlock {
    fn update(&mut self) {
        // One register per channel.
        if !self.write_address_held.q.val() {
            self.write_address.d.next = self.bar.awaddr.val();
            self.write_address_held.d.next = self.bar.awvalid.val();
        }
        if !self.write_data_held.q.val() {
            self.write_data.d.next = self.bar.wdata.val();
            self.write_whole.d.next = self.bar.wstrb.val().all();
            self.write_data_held.d.next = self.bar.wvalid.val();
        }
        if !self.read_address_held.q.val() {
            self.read_address.d.next = self.bar.araddr.val();
            self.read_address_held.d.next = self.bar.arvalid.val();
        }
        self.bar.awready.next = !self.write_address_held.q.val();
        self.bar.wready.next = !self.write_data_held.q.val();
        self.bar.arready.next = !self.read_address_held.q.val();

        // `request.write` is still the direction of the access before: the other one goes first.
        let write_waits = self.write_address_held.q.val() & self.write_data_held.q.val();
        let read_waits = self.read_address_held.q.val();
        let writes = write_waits & (!read_waits | !self.request.q.val().write);
        let address = if writes { self.write_address.q.val() } else { self.read_address.q.val() };
        match self.state.q.val() {
            CsrState::Idle => {
                if write_waits | read_waits {
                    let refuse = writes & !self.write_whole.q.val();
                    self.request.d.next = CsrRequest {
                        valid: !refuse,
                        write: writes,
                        addr: (address.get_bits::<18>(2), bits::<2>(0)).cat::<20>(),
                        wdata: self.write_data.q.val(),
                    };
                    self.patience.d.next = bits::<10>(0);
                    self.response.d.next = bits::<2>(SLVERR);
                    self.state.d.next = CsrState::Access;
                    if refuse {
                        self.state.d.next = CsrState::Respond;
                        self.bvalid.d.next = true;
                    }
                    if writes {
                        self.write_address_held.d.next = false;
                        self.write_data_held.d.next = false;
                    } else {
                        self.read_address_held.d.next = false;
                    }
                }
            }
            CsrState::Access => {
                let answer = self.csr_answer.val();
                self.patience.d.next = self.patience.q.val() + 1;
                self.read_data.d.next = answer.rdata;
                self.response.load(answer.ack, if answer.error { bits::<2>(DECERR) } else { bits::<2>(OKAY) });
                if answer.ack | (self.patience.q.val() == bits::<10>(PATIENCE)) {
                    self.request.d.next.valid = false;
                    self.bvalid.d.next = self.request.q.val().write;
                    self.rvalid.d.next = !self.request.q.val().write;
                    self.state.d.next = CsrState::Respond;
                }
            }
            _ => {
                self.bvalid.load(self.bar.bready.val(), false);
                self.rvalid.load(self.bar.rready.val(), false);
                if (self.bar.bready.val() & self.bvalid.q.val()) | (self.bar.rready.val() & self.rvalid.q.val()) {
                    self.state.d.next = CsrState::Idle;
                }
            }
        }

        self.csr.next = self.request.q.val();
        self.bar.bvalid.next = self.bvalid.q.val();
        self.bar.bresp.next = self.response.q.val();
        self.bar.rvalid.next = self.rvalid.q.val();
        self.bar.rresp.next = self.response.q.val();
        self.bar.rdata.next = self.read_data.q.val();
    }
}
