//! Proofs with yosys: what no order of inputs can break.

use crate::yosys::yosys;
use spindle_boards::hdl::tlp::words::RegisterAccess;
use spindle_harness::source_of;
use spindle_proof::Proof;

/// Patience of the block in the proof.
const PATIENCE: u64 = 6;
/// Every access is answered once, at most so many cycles after it was taken, whatever NIC and page do.
const BOUND: u64 = PATIENCE + 2;

fn monitor() -> String {
    format!(
        "module props(input logic clock, input logic [57:0] access, input logic access_valid, input logic abandon,
  input logic awready, wready, bvalid, arready, rvalid, input logic [1:0] bresp, rresp, input logic [31:0] rdata,
  input logic [33:0] csr_answer);
  logic reset = 1;
  always @(posedge clock) reset <= 0;
  logic access_ready, answer_valid;
  dut dut(.clock(clock), .reset(reset), .access(access), .access_valid(access_valid),
    .access_ready(access_ready), .answer_valid(answer_valid), .abandon(abandon), .bar_awready(awready),
    .bar_wready(wready), .bar_bvalid(bvalid), .bar_bresp(bresp), .bar_arready(arready), .bar_rvalid(rvalid),
    .bar_rresp(rresp), .bar_rdata(rdata), .csr_answer(csr_answer));
  logic waits;
  logic [7:0] age;
  always @(posedge clock) begin
    if (reset) waits <= 0;
    else if (access_valid && access_ready && !abandon) begin
      waits <= 1; age <= 1;
    end else if (answer_valid || abandon) waits <= 0;
    else if (waits) age <= age + 1;
  end
  always @* if (!reset) begin
    once: assert (waits == (!access_ready || answer_valid));
    bound: assert (!waits || age <= {BOUND});
  end
endmodule
"
    )
}

#[test]
fn every_access_is_answered_within_its_bound() {
    let Some(yosys) = yosys() else {
        return;
    };
    let source = source_of(&mut RegisterAccess::with_patience(PATIENCE), "register_access").expect("the block emits");
    // The bound is reached: one cycle less is broken.
    let (bound, less) = (format!("age <= {BOUND}"), format!("age <= {}", BOUND - 1));
    Proof::new(source, monitor()).k(8).prove(&yosys, &[(&bound, &less)]);
}
