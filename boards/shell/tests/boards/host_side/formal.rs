//! Proofs by k-induction (yosys `sat`): for any behaviour of the neighbours and any number of cycles. Each property is also
//! shown to fail on a block with one line broken, by a counterexample from reset.

use crate::yosys::yosys;
use spindle_boards::hdl::bar::BarBridge;
use spindle_boards::hdl::host::HostBridge;
use spindle_boards::hdl::irq::IrqBridge;
use spindle_harness::{source_of, Source};
use spindle_proof::Proof;
use spindle_verilog::prelude::Block;

fn emitted(block: &mut impl Block, top: &str) -> Source {
    source_of(block, top).unwrap_or_else(|error| panic!("{top}: {error}"))
}

/// The begin of every wrapper: a reset of two cycles, then none.
const RESET: &str = "
  reg [1:0] age = 0;
  always @(posedge clock) if (age != 3) age <= age + 1;
  wire reset = age < 2;
";

/// Cycles of the bridge's patience in the proof.
const PATIENCE: u64 = 3;
/// Cycles in which the bridge neither takes from the host nor offers to it, at most: two lanes, each an access that is given
/// up, with the step that begins it; and the step that ends the beat.
const BOUND: u64 = 2 * (PATIENCE + 2) + 1;

fn bar() -> Proof {
    let wrapper = format!(
        "module props(input clock, input [63:0] awaddr, araddr, input [3:0] awid, arid, input [7:0] awlen, arlen,
    input [2:0] awsize, arsize, input awvalid, wvalid, arvalid, bready, rready, wlast, input [63:0] wdata,
    input [7:0] wstrb, input nawready, nwready, narready, nbvalid, nrvalid, input [1:0] nbresp, nrresp,
    input [31:0] nrdata, input [33:0] answer);
  {RESET}
  wire awready, wready, arready, bvalid, rvalid, rlast;
  wire [3:0] bid, rid;
  wire nawvalid, nwvalid, narvalid;
  dut dut (.clock(clock), .reset(reset), .pcie_awid(awid), .pcie_awaddr(awaddr), .pcie_awlen(awlen),
    .pcie_awsize(awsize), .pcie_awburst(2'd1), .pcie_awprot(3'd0), .pcie_awlock(1'b0), .pcie_awcache(4'd0),
    .pcie_awvalid(awvalid), .pcie_awready(awready), .pcie_wdata(wdata), .pcie_wstrb(wstrb), .pcie_wlast(wlast),
    .pcie_wvalid(wvalid), .pcie_wready(wready), .pcie_bid(bid), .pcie_bvalid(bvalid), .pcie_bready(bready),
    .pcie_arid(arid), .pcie_araddr(araddr), .pcie_arlen(arlen), .pcie_arsize(arsize), .pcie_arburst(2'd1),
    .pcie_arprot(3'd0), .pcie_arlock(1'b0), .pcie_arcache(4'd0), .pcie_arvalid(arvalid), .pcie_arready(arready),
    .pcie_rid(rid), .pcie_rlast(rlast), .pcie_rvalid(rvalid), .pcie_rready(rready),
    .nic_awvalid(nawvalid), .nic_awready(nawready), .nic_wvalid(nwvalid), .nic_wready(nwready), .nic_bresp(nbresp),
    .nic_bvalid(nbvalid), .nic_arvalid(narvalid), .nic_arready(narready), .nic_rdata(nrdata), .nic_rresp(nrresp),
    .nic_rvalid(nrvalid), .csr_answer(answer));
  (* keep *) wire [2:0] step;
  (* keep *) wire owed, owed_write;
  // A burst is owed an answer from its address to its last answer, and the id is kept.
  wire takes = (awvalid & awready) | (arvalid & arready);
  wire ends = (bvalid & bready) | (rvalid & rready & rlast);
  reg owes = 0;
  reg [3:0] id = 0;
  always @(posedge clock) begin
    if (reset) owes <= 0; else owes <= (owes | takes) & ~ends;
    if (takes) id <= awvalid & awready ? awid : arid;
  end
  // Cycles in which the host waits for the bridge.
  wire waits = ~(awready | arready | wready | bvalid | rvalid);
  reg [7:0] waited = 0;
  always @(posedge clock) if (reset | ~waits) waited <= 0; else waited <= waited + 1;
  // What the NIC was offered and has not taken stands.
  reg offered_aw = 0, offered_w = 0, offered_ar = 0;
  always @(posedge clock) begin
    offered_aw <= nawvalid & ~nawready & ~reset;
    offered_w <= nwvalid & ~nwready & ~reset;
    offered_ar <= narvalid & ~narready & ~reset;
  end
  always @* if (!reset) begin
    answered: assert(waited < {BOUND} || ~waits);
    none_lost: assert(owes != (awready | arready));
    steps: assert(step <= 5 & bvalid == (step == 4) & rvalid == (step == 5));
    offers: assert((~(nawvalid | nwvalid) | (owed & owed_write)) & (~narvalid | (owed & ~owed_write)));
    one_kind: assert(bvalid + rvalid + wready + (awready | arready) <= 1);
    id_echoed: assert(~owes | (bid == id & rid == id));
    stands: assert((~offered_aw | nawvalid) & (~offered_w | nwvalid) & (~offered_ar | narvalid));
  end
endmodule
"
    );
    let mut bridge = BarBridge::<64, 8, 2, 1>::with_patience(PATIENCE);
    let peeks = [("step", "dut.step"), ("owed", "dut.owed"), ("owed_write", "dut.owed_write")];
    Proof::new(emitted(&mut bridge, "bar_bridge"), wrapper).probes(peeks).k(12).depth(30)
}

/// Whatever the NIC and the shell's page do, the host waits for the bridge for a bounded time; no burst is left without an
/// answer, and ids come back.
#[test]
fn bar_always_answers() {
    let faults = [
        ("wire gives_up = patience >= 12'd3", "wire gives_up = patience >= 12'hfff"),
        ("if (pcie_bready) ", "if (1'b1) "),
        ("id <= writes ?", "id <= pcie_awvalid ?"),
        ("if (nic_awready & aw)", "if (aw)"),
    ];
    let Some(yosys) = yosys() else { return };
    bar().prove(&yosys, &faults);
}

fn irq() -> Proof {
    let wrapper = format!(
        "module props(input clock, input [15:0] request, ack, input msix);
  {RESET}
  wire [15:0] acknowledge, req, pending;
  dut dut (.clock(clock), .reset(reset), .request(request), .acknowledge(acknowledge), .usr_irq_req(req),
    .usr_irq_ack(ack), .msix_enable(msix), .pending(pending));
  reg [15:0] past_req = 0, past_ack = 0, past_pending = 0, past_acknowledge = 0, taken = 0;
  reg past_msix = 0;
  wire [15:0] now = taken | (acknowledge & ~past_acknowledge);
  always @(posedge clock) begin
    past_req <= reset ? 0 : req;
    past_ack <= ack;
    past_pending <= reset ? 0 : pending;
    past_msix <= msix;
    past_acknowledge <= reset ? 0 : acknowledge;
    taken <= reset ? 0 : now & ~(req & ack);
  end
  always @* if (!reset) begin
    // A request falls with its acknowledgement only, or when MSI-X is off.
    held: assert(~((past_req & ~req) & ~past_ack & {{16{{past_msix}}}}));
    // What was acknowledged to the NIC is pending until the XDMA has acknowledged it: no more and no less.
    never_lost: assert(pending == now);
    // What is pending is requested in the next cycle.
    asked: assert(~(past_pending & ~(past_req & past_ack) & ~req & {{16{{past_msix}}}}));
    off: assert(past_msix | ~req);
    only_pending: assert(~(req & ~pending));
  end
endmodule
"
    );
    Proof::new(emitted(&mut IrqBridge::default(), "irq_bridge"), wrapper).k(2).depth(12)
}

/// A request is held until it is acknowledged, and what was taken from the NIC is never lost.
#[test]
fn interrupts_are_held_and_never_lost() {
    let faults = [
        ("held <= (held | takes) & ~sent", "held <= (held | takes) & ~usr_irq_ack"),
        ("asked <= ((held & ~sent) | takes) & enabled", "asked <= takes & enabled"),
        ("asked <= ((held & ~sent) | takes) & enabled", "asked <= (held & ~sent) | takes"),
        ("held <= (held | takes) & ~sent", "held <= (held | takes) & ~sent & enabled"),
    ];
    let Some(yosys) = yosys() else { return };
    irq().prove(&yosys, &faults);
}

fn host() -> Proof {
    let ports = |channel: &str| {
        format!(
            ".engine_{channel}id({channel}id), .engine_{channel}addr({channel}addr), .engine_{channel}len({channel}len),
    .engine_{channel}size(3'd6), .engine_{channel}burst(2'd1), .engine_{channel}valid({channel}valid),
    .pcie_{channel}valid(p{channel}valid), .pcie_{channel}ready(p{channel}ready), .pcie_{channel}addr(p{channel}addr)"
        )
    };
    let wrapper = format!(
        "module props(input clock, input [7:0] awid, arid, awlen, arlen, input [63:0] awaddr, araddr, wstrb,
    input [511:0] wdata, input awvalid, wvalid, wlast, arvalid, bready, rready, pawready, pwready, parready, pbvalid,
    prvalid, prlast, input [1:0] pbresp, prresp, input up);
  {RESET}
  wire pawvalid, parvalid, pbready, prready;
  wire [63:0] pawaddr, paraddr;
  dut dut (.clock(clock), .reset(reset), {aw}, {ar},
    .engine_wdata(wdata), .engine_wstrb(wstrb), .engine_wlast(wlast), .engine_wvalid(wvalid), .engine_bready(bready),
    .engine_rready(rready), .pcie_wready(pwready), .pcie_bid(8'd0), .pcie_bresp(pbresp), .pcie_bvalid(pbvalid),
    .pcie_bready(pbready), .pcie_rid(8'd0), .pcie_rdata(512'd0), .pcie_rresp(prresp), .pcie_rlast(prlast),
    .pcie_rvalid(prvalid), .pcie_rready(prready), .link_up(up));
  (* keep *) wire [5:0] writes, reads, lost_writes, lost_reads;
  (* keep *) wire w_head, w_spare, r_head, r_spare;
  (* keep *) wire [71:0] w_spare_word, r_spare_word;
  // Bursts in the XDMA.
  reg [5:0] in_writes = 0, in_reads = 0;
  wire aw = pawvalid & pawready, b = pbvalid & pbready;
  wire ar = parvalid & parready, r = prvalid & prready & prlast;
  always @(posedge clock) begin
    in_writes <= reset ? 0 : in_writes + aw - b;
    in_reads <= reset ? 0 : in_reads + ar - r;
  end
  // The XDMA answers what it has, and only that.
  always @* assume(~pbvalid | (in_writes != 0 & ~reset));
  always @* assume(~prvalid | (in_reads != 0 & ~reset));
  always @* if (!reset) begin
    limit: assert(in_writes <= {LIMIT} & in_reads <= {LIMIT});
    counts: assert(writes == in_writes + w_head + w_spare & reads == in_reads + r_head + r_spare);
    bounds: assert(writes <= {LIMIT} & reads <= {LIMIT});
    lost: assert(lost_writes <= writes & lost_reads <= reads);
    skids: assert((~w_spare | w_head) & (~r_spare | r_head));
    near: assert((~pawvalid | pawaddr[63:48] == 0) & (~parvalid | paraddr[63:48] == 0));
    spares: assert((~w_spare | w_spare_word[63:48] == 0) & (~r_spare | r_spare_word[63:48] == 0));
  end
endmodule
",
        aw = ports("aw"),
        ar = ports("ar"),
    );
    let peeks = [
        ("writes", "dut.writes"),
        ("reads", "dut.reads"),
        ("lost_writes", "dut.lost_writes"),
        ("lost_reads", "dut.lost_reads"),
        ("w_head", "dut.write_addresses.head_valid"),
        ("w_spare", "dut.write_addresses.spare_valid"),
        ("r_head", "dut.read_addresses.head_valid"),
        ("r_spare", "dut.read_addresses.spare_valid"),
        ("w_spare_word", "dut.write_addresses.spare"),
        ("r_spare_word", "dut.read_addresses.spare"),
    ];
    Proof::new(emitted(&mut HostBridge::new(LIMIT, 48), "host_bridge"), wrapper).probes(peeks).depth(14)
}

/// Bursts in the XDMA in the proof: few, so that a broken block exceeds the limit soon.
const LIMIT: usize = 3;

/// Never more bursts in the XDMA than the limit, whatever the link does, and none beyond 48 bits.
#[test]
fn outstanding_bursts_and_addresses_keep_their_limits() {
    let faults = [
        ("(writes < 6'd3)", "(writes < 6'd5)"),
        ("(reads < 6'd3)", "(reads < 6'd5)"),
        ("else if (!up) lost_writes <= writes", "else if (!up) lost_writes <= 6'd9 + writes"),
        ("wire far = |", "wire far = &"),
    ];
    let Some(yosys) = yosys() else { return };
    host().prove(&yosys, &faults);
}
