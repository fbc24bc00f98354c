//! The packet engine: the queue of free message slots.

use crate::{emitted, words, LAW};
use packet_engine::schedule::message_index::free_slots::FreeSlots;
use spindle_blocks::RamStyle;
use spindle_proof::{yosys, Proof};

fn free_slots(slots: usize, style: RamStyle) -> Proof {
    let source = emitted(&mut FreeSlots::new(slots, style), "free_slots");
    let harness = format!("`define SLOTS {slots}\n{LAW}{}", include_str!("free_slots.sv"));
    let inside = ["read_at", "write_at", "offered"].map(|name| (name, format!("dut.{name}")));
    let memory = [("latch", "dut.queue.fetched".into()), ("words", words("dut.queue", slots))];
    Proof::new(source, harness).probes(inside).probes(memory)
}

#[test]
fn message_slots() {
    let Some(yosys) = yosys() else { return };
    let faults = [
        ("wire vacant = !offered | take", "wire vacant = 1'b1"),
        ("(read_at != write_at) & !hold", "(read_at != write_at)"),
        ("if (give_back) write_at", "if (give_back & !take) write_at"),
        ("offered <= load | !vacant", "offered <= load"),
    ];
    free_slots(4, RamStyle::Block).prove(&yosys, &faults);
    free_slots(16, RamStyle::Distributed).prove(&yosys, &faults);
}
