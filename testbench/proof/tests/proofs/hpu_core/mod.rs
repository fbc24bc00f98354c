//! The HPU array: its arbiter, and the packet slots of a cluster.

use crate::emitted;
use hpu_core::array::rr_arbiter4::RrArbiter4;
use hpu_core::cluster::slots::Slots;
use spindle_contract::params::SLOTS;
use spindle_proof::{yosys, Proof};

#[test]
fn arbiter_of_eight() {
    let Some(yosys) = yosys() else { return };
    let source = emitted(&mut RrArbiter4::default(), "rr_arbiter4");
    let probes = ["last_0", "last_1", "last_group"].map(|name| (name, format!("dut.{name}")));
    let faults = [
        ("request[6] & ((index_2 == 2'd2) & in_high)", "request[6] & (index_2 == 2'd2)"),
        ("request[3] & ((index_2 == 2'd3) & !in_high)", "((index_2 == 2'd3) & !in_high)"),
        ("(!(|low) | !last_group)", "(!(|low) | !last_group | high[3])"),
        ("else last_0 <= low_index", "else last_0 <= 2'd3"),
        ("last_group <= in_high", "last_group <= 1'b1"),
    ];
    Proof::new(source, include_str!("rr_arbiter4.sv")).probes(probes).prove(&yosys, &faults);
}

#[test]
fn packet_slots() {
    let Some(yosys) = yosys() else { return };
    let source = emitted(&mut Slots::default(), "slots");
    let wires = [
        "free_write",
        "free_write_valid",
        "leaving_write",
        "leaving_write_valid",
        "leaving_read",
        "leaving_read_valid",
    ];
    let registers = ["begun", "probed", "probed_valid"];
    let inside = wires.into_iter().chain(registers).map(|name| (name, format!("dut.{name}")));
    let faults = [
        ("probed_valid & !probe_used", "probed_valid"),
        ("ended_valid | (probed_valid & probe_used)", "ended_valid"),
        ("!(probe_used & ended_valid)", "1'b1"),
        ("free_write = begins ? begun : probed", "free_write = begun"),
        ("begun != 4'hc", "begun != 4'hd"),
    ];
    Proof::new(source, format!("`define SLOTS {SLOTS}\n{}", include_str!("slots.sv")))
        .probes(inside)
        .probes([("leaving_read_ready", "dut.moves")])
        .free(&["lut_fifo"])
        .prove(&yosys, &faults);
}
