//! FIFOs with one clock, skid buffer and slice: no word is lost, doubled, overtaken or altered while it waits.

use crate::{emitted, words, LAW};
use spindle_blocks::{BlockFifo, LutFifo, RamStyle, Skid, Slice};
use spindle_proof::{yosys, Proof};
use spindle_verilog::prelude::Bits;

/// A FIFO's proof; `more` are probes beyond those that all have.
fn fifo(source: spindle_harness::Source, shape: Shape, more: &[&'static str]) -> Proof {
    let Shape { width, address, depth, lut } = shape;
    let kind = if lut { "`define LUT\n`define STAGES 0\n" } else { "`define STAGES 2\n" };
    let head = format!("`define WIDTH {width}\n`define ADDRESS {address}\n`define DEPTH {depth}\n{kind}");
    let words = words("dut.memory", depth);
    Proof::new(source, head + LAW + include_str!("fifo.sv"))
        .probes(["write_pointer", "read_pointer", "used", "full"].iter().chain(more).map(|n| (*n, format!("dut.{n}"))))
        .probes([("words", words)])
}

/// Of a FIFO: bits of a word and of an address, words, and the memory.
#[derive(Clone, Copy)]
struct Shape {
    width: usize,
    address: usize,
    depth: usize,
    lut: bool,
}

fn lut<const W: usize, const A: usize>() -> Proof {
    let source = emitted(&mut LutFifo::<Bits<W>, A>::default(), "lut_fifo");
    fifo(source, Shape { width: W, address: A, depth: 1 << A, lut: true }, &["filled"])
}

#[test]
fn fifo_in_lut_ram() {
    let Some(yosys) = yosys() else { return };
    let faults = [
        ("write_valid & !full", "write_valid"),
        ("read_ready & filled", "read_ready"),
        ("full <= write_next == read_pointer", "full <= (write_pointer == read_pointer) & filled"),
    ];
    lut::<1, 1>().prove(&yosys, &faults);
    lut::<8, 2>().prove(&yosys, &faults);
    lut::<1, 3>().prove(&yosys, &faults);
}

fn block<const W: usize, const A: usize>(style: RamStyle, depth: usize) -> Proof {
    let source = emitted(&mut BlockFifo::<Bits<W>, A>::with_depth(style, depth), "block_fifo");
    let more = ["room", "stored_any", "fetched", "head_valid", "head"];
    let proof = fifo(source, Shape { width: W, address: A, depth, lut: false }, &more);
    proof.probes([("latch", "dut.memory.fetched")])
}

#[test]
fn fifo_in_block_ram() {
    let Some(yosys) = yosys() else { return };
    let faults = [
        ("write_valid & !full", "write_valid"),
        ("stored_any & (head_moves | !fetched)", "stored_any"),
        ("read_ready | !head_valid", "1'b1"),
        ("used <= ~room", "used <= room"),
        ("stored_any <= read_next != write_pointer", "stored_any <= 1'b0"),
    ];
    block::<1, 2>(RamStyle::Block, 4).prove(&yosys, &faults);
    block::<8, 3>(RamStyle::Block, 4).prove(&yosys, &faults);
    block::<8, 2>(RamStyle::Distributed, 4).prove(&yosys, &faults);
}

fn registers(source: spindle_harness::Source, width: usize, kind: &str, probes: &[&str]) -> Proof {
    let head = format!("`define WIDTH {width}\n{kind}");
    let probes = probes.iter().map(|name| (*name, format!("dut.{name}")));
    Proof::new(source, head + LAW + include_str!("registers.sv")).probes(probes)
}

#[test]
fn skid_buffer() {
    let Some(yosys) = yosys() else { return };
    let skid = |source, width| registers(source, width, "", &["head", "spare", "head_valid", "spare_valid"]);
    let faults = [
        ("head_valid <= write_valid | spare_valid", "head_valid <= write_valid"),
        ("if (room) spare", "if (write_valid) spare"),
        ("if (room) head <= write", "if (room | write_valid) head <= write"),
        ("end else spare_valid <= write_valid | spare_valid", "end else spare_valid <= write_valid"),
        ("read_ready | !head_valid", "1'b1"),
    ];
    skid(emitted(&mut Skid::<Bits<1>>::default(), "skid"), 1).prove(&yosys, &faults);
    skid(emitted(&mut Skid::<Bits<8>>::default(), "skid"), 8).prove(&yosys, &faults);
}

#[test]
fn slice() {
    let Some(yosys) = yosys() else { return };
    let slice = |source, width| registers(source, width, "`define SLICE\n", &["head"]);
    let faults = [
        ("read_ready | !head_valid", "1'b1"),
        ("if (advance) head <= write", "if (write_valid) head <= write"),
        ("head_valid <= write_valid", "head_valid <= 1'b1"),
        ("assign write_ready = advance", "assign write_ready = read_ready"),
    ];
    slice(emitted(&mut Slice::<Bits<1>>::default(), "slice"), 1).prove(&yosys, &faults);
    slice(emitted(&mut Slice::<Bits<8>>::default(), "slice"), 8).prove(&yosys, &faults);
}
