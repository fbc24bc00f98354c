//! The register slave: always an answer, and one.

use crate::emitted;
use spindle_blocks::CsrBlock;
use spindle_proof::{yosys, Proof};

/// The slave, its patience replaced by another one if that is given: the number of cycles less one.
fn proof(patience: Option<u64>) -> Proof {
    let mut source = emitted(&mut CsrBlock::default(), "csr_block");
    if let Some(patience) = patience {
        let (_, text) = source.files.iter_mut().find(|(_, text)| text.contains("10'h3ff")).expect("the patience");
        *text = text.replace("10'h3ff", &format!("10'd{patience}"));
    }
    let patience = patience.unwrap_or(1023);
    let bound = 2 * (patience + 1) + 3;
    let head = format!("`define PATIENCE {patience}\n`define BOUND {bound}\n");
    let inside = [
        ("address_held", "dut.write_address_held"),
        ("data_held", "dut.write_data_held"),
        ("read_held", "dut.read_address_held"),
        ("state", "dut.state"),
        ("patience", "dut.patience"),
        ("is_write", "dut.request[1]"),
    ];
    Proof::new(source, head + include_str!("csr.sv")).probes(inside)
}

#[test]
fn register_slave() {
    let Some(yosys) = yosys() else { return };
    // The bound is reached: with one cycle less there is a run that breaks it.
    let faults = [
        ("`define BOUND 11", "`define BOUND 10"),
        ("patience == 10'd3", "(patience == 10'd3) & request.write"),
        ("!read_address_held | !request.write", "1'b1"),
        ("if (bar_bready) bvalid", "if (1'b1) bvalid"),
        ("rvalid <= !request.write", "rvalid <= 1'b1"),
        ("(bar_rready & rvalid)", "bar_rready"),
        ("request.valid <= 1'b0", "request.valid <= request.write"),
    ];
    proof(Some(3)).prove(&yosys, &faults);
    proof(None).prove(&yosys, &[]);
}
