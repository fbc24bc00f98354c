//! The round-robin arbiter.

use crate::emitted;
use spindle_blocks::RoundRobin;
use spindle_proof::{yosys, Proof};

fn proof<const N: usize>() -> Proof {
    let source = emitted(&mut RoundRobin::<N>::default(), "round_robin");
    let probes = [("after_last", "dut.after_last"), ("dut_holder", "dut.holder"), ("dut_locked", "dut.locked")];
    Proof::new(source, format!("`define N {N}\n{}", include_str!("round_robin.sv"))).probes(probes)
}

#[test]
fn round_robin() {
    let Some(yosys) = yosys() else { return };
    let faults = [
        ("choice = later & ~later_after", "choice = later"),
        ("choice = holder & request", "choice = holder"),
        ("if (locked) choice", "if (locked & !(|later)) choice"),
        ("after_last <= after", "after_last <= after_last"),
        ("locked <= lock", "locked <= 1'b0"),
    ];
    proof::<3>().prove(&yosys, &faults);
    proof::<8>().prove(&yosys, &faults);
}
