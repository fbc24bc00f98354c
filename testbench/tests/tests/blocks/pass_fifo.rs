//! `PassFifo` against a queue, and its timing.

use crate::blocks::common::{queue_equivalence, reset_empties, word_port_timing, WordPort};
use spindle_blocks::PassFifo;
use spindle_harness::{run_with_wave_on_failure, Dut, WaveContext};
use spindle_verilog::prelude::Bits;

fn check<const A: usize>(wave: &WaveContext, name: &str) {
    let port = WordPort { capacity: 1 << A, latency: 0, registered_ready: true };
    let mut rng = wave.rng();
    let dut = Dut::new(wave, PassFifo::<Bits<32>, A>::default(), name);
    queue_equivalence(&dut, port, &mut rng, 6_000 + (20 << A));
    word_port_timing(&dut, port);
    reset_empties(&dut, port);
}

#[test]
fn words_pass_an_empty_one() {
    run_with_wave_on_failure("pass_fifo", |wave| {
        check::<1>(wave, "pass_fifo_1");
        check::<2>(wave, "pass_fifo_2");
        check::<5>(wave, "pass_fifo_5");
    });
}
