//! `Fifo` over depths and kinds of memory.

use crate::common::{queue_equivalence, word_port_timing, Dut, WordPort};
use spindle_blocks::{Fifo, RamStyle};
use spindle_harness::seeded_rng;
use spindle_verilog::prelude::Bits;

fn check<const A: usize>(style: RamStyle, name: &str) {
    let latency = if style == RamStyle::Distributed { 1 } else { 3 };
    let port = WordPort { capacity: 1 << A, latency, registered_ready: true, level: true };
    let mut rng = seeded_rng(name);
    let mut dut = Dut::new(&mut Fifo::<Bits<32>, A>::new(style), name);
    queue_equivalence(&mut dut, port, &mut rng, 6_000 + (20 << A));
    word_port_timing(&mut dut, port);
}

#[test]
fn lut_fifo() {
    check::<1>(RamStyle::Distributed, "fifo_lut_1");
    check::<2>(RamStyle::Distributed, "fifo_lut_2");
    check::<4>(RamStyle::Distributed, "fifo_lut_4");
    check::<6>(RamStyle::Distributed, "fifo_lut_6");
}

#[test]
fn block_fifo() {
    check::<2>(RamStyle::Block, "fifo_block_2");
    check::<3>(RamStyle::Block, "fifo_block_3");
    check::<7>(RamStyle::Block, "fifo_block_7");
    check::<10>(RamStyle::Block, "fifo_block_10");
}

#[test]
fn ultra_fifo() {
    check::<8>(RamStyle::Ultra, "fifo_ultra_8");
}

/// The default picks LUT RAM up to 64 words: seen by the latency.
#[test]
fn default_memory() {
    let port = WordPort { capacity: 64, latency: 1, registered_ready: true, level: true };
    word_port_timing(&mut Dut::new(&mut Fifo::<Bits<32>, 6>::default(), "fifo_default_6"), port);
    let port = WordPort { capacity: 128, latency: 3, ..port };
    word_port_timing(&mut Dut::new(&mut Fifo::<Bits<32>, 7>::default(), "fifo_default_7"), port);
}
