//! `Skid` and `Slice`.

use crate::blocks::common::{queue_equivalence, random_bytes, reset_empties, word_port_timing, WordPort};
use spindle_blocks::{Beat, Skid, Slice};
use spindle_harness::{run_with_wave_on_failure, Dut};
use spindle_verilog::prelude::Bits;

const SKID: WordPort = WordPort { capacity: 2, latency: 1, registered_ready: true };
const SLICE: WordPort = WordPort { capacity: 1, latency: 1, registered_ready: false };

#[test]
fn skid_equals_queue() {
    run_with_wave_on_failure("skid_equals_queue", |wave| {
        let mut rng = wave.rng();
        let dut = Dut::new(wave, Skid::<Bits<32>>::default(), "skid_32");
        queue_equivalence(&dut, SKID, &mut rng, 20_000);
    });
}

#[test]
fn skid_timing() {
    run_with_wave_on_failure("skid_timing", |wave| {
        let dut = Dut::new(wave, Skid::<Bits<32>>::default(), "skid_32");
        word_port_timing(&dut, SKID);
        reset_empties(&dut, SKID);
    });
}

#[test]
fn slice_equals_queue() {
    run_with_wave_on_failure("slice_equals_queue", |wave| {
        let mut rng = wave.rng();
        let dut = Dut::new(wave, Slice::<Bits<32>>::default(), "slice_32");
        queue_equivalence(&dut, SLICE, &mut rng, 20_000);
    });
}

#[test]
fn slice_timing() {
    run_with_wave_on_failure("slice_timing", |wave| {
        let dut = Dut::new(wave, Slice::<Bits<32>>::default(), "slice_32");
        word_port_timing(&dut, SLICE);
        reset_empties(&dut, SLICE);
    });
}

/// A 577-bit structure goes through unharmed.
#[test]
fn skid_carries_beats() {
    run_with_wave_on_failure("skid_carries_beats", |wave| {
        let mut rng = wave.rng();
        let dut = Dut::new(wave, Skid::<Beat>::default(), "skid_beat");
        dut.reset();
        dut.read.ready.set(true);
        dut.write.valid.set(true);
        let mut previous = None;
        for _ in 0..500 {
            let mut beat: [u8; 73] = random_bytes(&mut rng);
            beat[72] &= 1;
            dut.write.set_bytes(&beat);
            dut.eval();
            if let Some(previous) = previous {
                assert!(dut.read.valid.is_high());
                assert_eq!(dut.read.bytes(), previous);
            }
            previous = Some(beat);
            dut.tick();
        }
    });
}
