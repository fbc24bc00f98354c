//! The FIFO between two clocks of any ratio, phase and pauses: no word is lost, doubled, overtaken or altered while it
//! waits, and neither pointer overtakes the other.

use crate::{emitted, words};
use spindle_blocks::{AsyncFifo, RamStyle};
use spindle_proof::{yosys, Proof};
use spindle_verilog::prelude::Bits;

fn proof<const W: usize, const A: usize>(style: RamStyle) -> Proof {
    let source = emitted(&mut AsyncFifo::<Bits<W>, A>::new(style), "async_fifo");
    let in_luts = style == RamStyle::Distributed;
    let (memory, stages) = if in_luts { ("dut.lut_0", 1) } else { ("dut.block_0", 2) };
    let head = format!("`define WIDTH {W}\n`define ADDRESS {A}\n`define STAGES {stages}\n");
    let pointers = ["written", "taken"].into_iter().flat_map(|side| {
        ["binary", "coded", "near", "far"].map(|part| (format!("{side}_{part}"), format!("dut.{side}.{part}")))
    });
    let latch = if in_luts {
        [format!("{W}'d0"), "1'b0".into()]
    } else {
        ["dut.block_0.fetched", "dut.fetched_0"].map(String::from)
    };
    Proof::new(source, head + include_str!("async_fifo.sv"))
        .probes(pointers)
        .probes([
            ("fetching", "dut.taken.step"),
            ("room", "dut.room"),
            ("head", "dut.head"),
            ("head_valid", "dut.head_valid"),
        ])
        .probes([("words", words(memory, 1 << A))])
        .probes(["latch", "latch_valid"].into_iter().zip(latch))
        .any_clocks()
        .depth(24)
}

#[test]
fn fifo_between_two_clocks() {
    let Some(yosys) = yosys() else { return };
    let of_two_bits = [
        ("(written_count + 2'd2)", "(written_count + 2'd1)"),
        ("wire push = write_valid & room;", "wire push = write_valid;"),
        ("next ^ {1'b0, next[1]}", "next"),
        ("wire some = taken_gray != written_seen;", "wire some = read_ready | (taken_gray != written_seen);"),
        ("!= taken_seen", "!= (write_valid ? taken_gray : taken_seen)"),
        ("read_ready | !head_valid", "1'b1"),
    ];
    proof::<1, 2>(RamStyle::Block).prove(&yosys, &of_two_bits);
    proof::<1, 2>(RamStyle::Distributed).prove(&yosys, &of_two_bits);
    proof::<8, 3>(RamStyle::Block).prove(&yosys, &[]);
    proof::<8, 3>(RamStyle::Distributed).prove(&yosys, &[]);
}
