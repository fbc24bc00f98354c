//! `Fifo` over depths and kinds of memory.

use crate::blocks::common::{queue_equivalence, reset_empties, word_port_timing, WordPort};
use spindle_blocks::{Fifo, RamStyle};
use spindle_harness::{run_with_wave_on_failure, Dut, WaveContext};
use spindle_verilog::prelude::Bits;

fn check<const A: usize>(wave: &WaveContext, style: RamStyle, name: &str) {
    check_depth::<A>(wave, style, 1 << A, name);
}

fn check_depth<const A: usize>(wave: &WaveContext, style: RamStyle, depth: usize, name: &str) {
    let latency = if style == RamStyle::Distributed { 1 } else { 3 };
    let port = WordPort { capacity: depth, latency, registered_ready: true };
    let mut rng = wave.rng();
    let dut = Dut::new(wave, Fifo::<Bits<32>, A>::with_depth(style, depth), name);
    queue_equivalence(&dut, port, &mut rng, 6_000 + (20 << A));
    word_port_timing(&dut, port);
    reset_empties(&dut, port);
}

#[test]
fn lut_fifo() {
    run_with_wave_on_failure("lut_fifo", |wave| {
        check::<1>(wave, RamStyle::Distributed, "fifo_lut_1");
        check::<2>(wave, RamStyle::Distributed, "fifo_lut_2");
        check::<4>(wave, RamStyle::Distributed, "fifo_lut_4");
        check::<6>(wave, RamStyle::Distributed, "fifo_lut_6");
    });
}

#[test]
fn block_fifo() {
    run_with_wave_on_failure("block_fifo", |wave| {
        check::<2>(wave, RamStyle::Block, "fifo_block_2");
        check::<3>(wave, RamStyle::Block, "fifo_block_3");
        check::<7>(wave, RamStyle::Block, "fifo_block_7");
        check::<10>(wave, RamStyle::Block, "fifo_block_10");
        check_depth::<10>(wave, RamStyle::Block, 64, "fifo_block_10_of_64");
    });
}

#[test]
fn ultra_fifo() {
    run_with_wave_on_failure("ultra_fifo", |wave| {
        check::<8>(wave, RamStyle::Ultra, "fifo_ultra_8");
    });
}

/// The default picks LUT RAM up to 64 words: seen by the latency.
#[test]
fn default_memory() {
    run_with_wave_on_failure("default_memory", |wave| {
        let port = WordPort { capacity: 64, latency: 1, registered_ready: true };
        word_port_timing(&Dut::new(wave, Fifo::<Bits<32>, 6>::default(), "fifo_default_6"), port);
        let port = WordPort { capacity: 128, latency: 3, ..port };
        word_port_timing(&Dut::new(wave, Fifo::<Bits<32>, 7>::default(), "fifo_default_7"), port);
    });
}
