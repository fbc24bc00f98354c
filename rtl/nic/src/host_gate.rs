//! Host gate: stops the AXI4 master between two bursts, so that the engines can be reset without harm to the host.
//!
//! | neighbour | ports |
//! |---|---|
//! | RVMA engine | `engine`, the AXI4 master |
//! | host | `host` |
//! | reset control | in `stop`, `abandon` (pulse); out `quiet`, `moved` |
//!
//! Adds no cycle: the gate is a condition on the handshakes. While `stop` is high no burst begins. An address that has
//! been offered is taken, every burst whose address or first beat has been taken gets its other half, and all answers
//! are taken. `quiet` is high when nothing is under way.
//!
//! `abandon` gives up what is under way, before the engines are reset although the host is not quiet. Answers that come
//! for it later are taken here, and no engine sees them. Halves of write bursts that are missing then stay missing.

use spindle_blocks::{AxiSink, AxiSource};
use spindle_verilog::prelude::*;

/// Bits of the counts: at most 512 bursts are under way.
const COUNT: usize = 11;

/// The gate. See the module text.
#[block]
pub struct HostGate {
    /// The engine's side.
    pub engine: AxiSink,
    /// The host's side.
    pub host: AxiSource,
    /// No burst may begin.
    pub stop: Signal<In, Bit>,
    /// Give up what is under way.
    pub abandon: Signal<In, Bit>,
    /// Nothing is under way, and nothing can begin.
    pub quiet: Signal<Out, Bit>,
    /// The host took or gave something.
    pub moved: Signal<Out, Bit>,
    /// Write addresses taken, less bursts whose last beat was taken: negative while data lead.
    ahead: Reg<Bits<COUNT>>,
    /// Bursts without an answer: address taken.
    writes: Reg<Bits<COUNT>>,
    reads: Reg<Bits<COUNT>>,
    /// Answers of bursts that were given up.
    lost_writes: Reg<Bits<COUNT>>,
    lost_reads: Reg<Bits<COUNT>>,
    /// A beat was taken, and it was not the last of its burst.
    in_burst: Reg<Bit>,
    /// Offered and not taken.
    address_held: Reg<Bit>,
    data_held: Reg<Bit>,
    read_held: Reg<Bit>,
}

#[hdl]
impl HostGate {
    fn update(&mut self) {
        self.pass();
        let written = self.gate_writes();
        let read = self.gate_reads();
        self.moved.next = written | read;
        let under_way = self.ahead.q.val().any() | self.writes.q.val().any() | self.reads.q.val().any();
        let offered =
            self.in_burst.q.val() | self.address_held.q.val() | self.data_held.q.val() | self.read_held.q.val();
        self.quiet.next = self.stop.val() & !under_way & !offered;
    }

    /// Payloads.
    fn pass(&mut self) {
        self.host.awid.next = self.engine.awid.val();
        self.host.awaddr.next = self.engine.awaddr.val();
        self.host.awlen.next = self.engine.awlen.val();
        self.host.awsize.next = self.engine.awsize.val();
        self.host.awburst.next = self.engine.awburst.val();
        self.host.wdata.next = self.engine.wdata.val();
        self.host.wstrb.next = self.engine.wstrb.val();
        self.host.wlast.next = self.engine.wlast.val();
        self.engine.bid.next = self.host.bid.val();
        self.engine.bresp.next = self.host.bresp.val();
        self.host.arid.next = self.engine.arid.val();
        self.host.araddr.next = self.engine.araddr.val();
        self.host.arlen.next = self.engine.arlen.val();
        self.host.arsize.next = self.engine.arsize.val();
        self.host.arburst.next = self.engine.arburst.val();
        self.engine.rid.next = self.host.rid.val();
        self.engine.rdata.next = self.host.rdata.val();
        self.engine.rresp.next = self.host.rresp.val();
        self.engine.rlast.next = self.host.rlast.val();
    }

    /// Returns whether an address, a beat or an answer moves.
    fn gate_writes(&mut self) -> Bit {
        let stop = self.stop.val();
        let ahead = self.ahead.q.val();
        let data_leads = ahead.get_bit(COUNT - 1);
        let data_begun = self.in_burst.q.val() | self.data_held.q.val();
        // The burst of the next address has begun with its data; the burst of the next beat with its address.
        let address_due = data_leads | (!ahead.any() & data_begun);
        let data_due = ahead.any() & !data_leads;
        let address_open = !stop | self.address_held.q.val() | address_due;
        let data_open = !stop | data_begun | data_due;
        let address = self.engine.awvalid.val() & address_open;
        let data = self.engine.wvalid.val() & data_open;
        self.host.awvalid.next = address;
        self.engine.awready.next = self.host.awready.val() & address_open;
        self.host.wvalid.next = data;
        self.engine.wready.next = self.host.wready.val() & data_open;
        let address_moves = address & self.host.awready.val();
        let data_moves = data & self.host.wready.val();
        let burst_ends = data_moves & self.engine.wlast.val();
        self.address_held.d.next = address & !self.host.awready.val();
        self.data_held.d.next = data & !self.host.wready.val();
        self.in_burst.load(data_moves, !self.engine.wlast.val());
        if address_moves & !burst_ends {
            self.ahead.d.next = ahead + 1;
        } else if burst_ends & !address_moves {
            self.ahead.d.next = ahead - 1;
        }

        // Answers. Those of bursts that were given up come first.
        let lost = self.lost_writes.q.val().any();
        self.engine.bvalid.next = self.host.bvalid.val() & !lost;
        self.host.bready.next = self.engine.bready.val() | lost;
        let answer_moves = self.host.bvalid.val() & (self.engine.bready.val() | lost);
        let answered = answer_moves & !lost;
        if address_moves & !answered {
            self.writes.d.next = self.writes.q.val() + 1;
        } else if answered & !address_moves {
            self.writes.d.next = self.writes.q.val() - 1;
        }
        self.lost_writes.load(answer_moves & lost, self.lost_writes.q.val() - 1);
        if self.abandon.val() {
            self.lost_writes.d.next = self.writes.q.val();
            self.writes.d.next = bits::<COUNT>(0);
            self.ahead.d.next = bits::<COUNT>(0);
            self.in_burst.d.next = false;
            self.address_held.d.next = false;
            self.data_held.d.next = false;
        }
        address_moves | data_moves | answer_moves
    }

    /// Returns whether an address or a beat moves.
    fn gate_reads(&mut self) -> Bit {
        let open = !self.stop.val() | self.read_held.q.val();
        let address = self.engine.arvalid.val() & open;
        self.host.arvalid.next = address;
        self.engine.arready.next = self.host.arready.val() & open;
        self.read_held.d.next = address & !self.host.arready.val();
        let address_moves = address & self.host.arready.val();
        let lost = self.lost_reads.q.val().any();
        self.engine.rvalid.next = self.host.rvalid.val() & !lost;
        self.host.rready.next = self.engine.rready.val() | lost;
        let data_moves = self.host.rvalid.val() & (self.engine.rready.val() | lost);
        let burst_ends = data_moves & self.host.rlast.val();
        let answered = burst_ends & !lost;
        if address_moves & !answered {
            self.reads.d.next = self.reads.q.val() + 1;
        } else if answered & !address_moves {
            self.reads.d.next = self.reads.q.val() - 1;
        }
        self.lost_reads.load(burst_ends & lost, self.lost_reads.q.val() - 1);
        if self.abandon.val() {
            self.lost_reads.d.next = self.reads.q.val();
            self.reads.d.next = bits::<COUNT>(0);
            self.read_held.d.next = false;
        }
        address_moves | data_moves
    }
}
