//! The RVMA engine: the credits of the look-up stage.

use crate::emitted;
use rvma_lut::lookup::{mailbox_table, Lookup, CREDITS};
use spindle_proof::{yosys, Proof};

#[test]
fn credits() {
    let Some(yosys) = yosys() else { return };
    let source = emitted(&mut Lookup::new(64), "lookup");
    let latency = mailbox_table::LATENCY;
    let harness = format!("`define LATENCY {latency}\n`define CREDITS {CREDITS}\n{}", include_str!("credits.sv"));
    let stages: Vec<String> = (0..latency).rev().map(|stage| format!("dut.is_packet_{stage}")).collect();
    let inside = [
        ("is_packet", stages.join(",")),
        ("credits", "dut.credits".into()),
        ("has_credit", "dut.has_credit".into()),
        ("request_valid", "dut.mailbox_table_request_valid".into()),
        ("answer_valid", "dut.mailbox_table_result_valid".into()),
        ("write_valid", "dut.result_valid".into()),
    ];
    let faults = [
        ("has_credit & mailbox_table_ready", "(has_credit | looked_up_ready) & mailbox_table_ready"),
        ("has_credit <= credits != 5'd1", "has_credit <= credits != 5'd0"),
        ("accepts & !given_back", "accepts"),
        ("given_back & !accepts", "given_back & !accepts & placement_valid"),
        ("results_read_valid & looked_up_ready", "results_read_valid"),
        ("credits <= 5'h10", "credits <= 5'h11"),
    ];
    Proof::new(source, harness).probes(inside).free(&["mailbox_table", "lut_fifo"]).depth(30).prove(&yosys, &faults);
}
