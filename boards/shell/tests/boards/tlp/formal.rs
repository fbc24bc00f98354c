//! Proofs with yosys: what no order of inputs can break.

use crate::yosys::yosys;
use spindle_boards::hdl::tlp::words::RegisterAccess;
use spindle_harness::source_of;
use std::path::Path;
use std::process::{Command, Stdio};

/// Patience of the block in the proof.
const PATIENCE: u64 = 6;
/// Cycles of the induction.
const STEPS: u64 = PATIENCE + 8;

/// Every access is answered once, at most so many cycles after it was taken, whatever NIC and page do.
const BOUND: u64 = PATIENCE + 2;

/// The monitor; `LIMIT` is the bound.
const MONITOR: &str = "
module proof(input logic clock, input logic [57:0] access, input logic access_valid, input logic abandon,
  input logic awready, wready, bvalid, arready, rvalid, input logic [1:0] bresp, rresp, input logic [31:0] rdata,
  input logic [33:0] csr_answer);
  logic access_ready, answer_valid;
  register_access dut(.clock(clock), .reset(1'b0), .access(access), .access_valid(access_valid),
    .access_ready(access_ready), .answer_valid(answer_valid), .abandon(abandon), .bar_awready(awready),
    .bar_wready(wready), .bar_bvalid(bvalid), .bar_bresp(bresp), .bar_arready(arready), .bar_rvalid(rvalid),
    .bar_rresp(rresp), .bar_rdata(rdata), .csr_answer(csr_answer));
  logic waits = 0;
  logic [7:0] age = 0;
  always @(posedge clock) begin
    if (access_valid && access_ready && !abandon) begin
      waits <= 1; age <= 1;
    end else if (answer_valid || abandon) waits <= 0;
    else if (waits) age <= age + 1;
    assert (waits == (!access_ready || answer_valid));
    assert (!waits || age <= LIMIT);
  end
endmodule
";

/// Whether the induction proves the monitor's assertions with this limit.
fn proves(yosys: &Path, limit: u64) -> bool {
    let source = source_of(&mut RegisterAccess::with_patience(PATIENCE), "register_access").expect("the block emits");
    let folder = tempfile::tempdir().expect("a temporary folder");
    let mut text: String = source.files.iter().map(|(_, text)| text.as_str()).collect();
    text.push_str(&MONITOR.replace("LIMIT", &limit.to_string()));
    std::fs::write(folder.path().join("proof.sv"), text).expect("the folder can be written");
    let script = format!(
        "read_verilog -formal -sv proof.sv; hierarchy -check -top proof; proc; flatten; async2sync; chformal -lower; \
         opt_clean; sat -tempinduct -prove-asserts -set-init-zero -maxsteps {STEPS} -verify proof"
    );
    let mut command = Command::new(yosys);
    let output = command.args(["-q", "-p", &script]).current_dir(folder.path()).stdin(Stdio::null()).output();
    let output = output.expect("yosys starts");
    let text = String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr);
    let failed = text.contains("proof did fail") || text.contains("Reached maximum number of time steps");
    assert!(output.status.success() || failed, "yosys fails:\n{text}");
    output.status.success()
}

#[test]
fn every_access_is_answered_within_its_bound() {
    let Some(yosys) = yosys() else {
        return;
    };
    assert!(proves(&yosys, BOUND));
    assert!(!proves(&yosys, BOUND - 1), "the bound is reached");
}
