//! `Skid` and `Slice`.

use crate::blocks::common::{queue_equivalence, random_bytes, word_port_timing, Dut, WordPort};
use spindle_blocks::{Beat, Skid, Slice};
use spindle_harness::run_with_wave_on_failure;
use spindle_verilog::prelude::Bits;

const SKID: WordPort = WordPort { capacity: 2, latency: 1, registered_ready: true, level: false };
const SLICE: WordPort = WordPort { capacity: 1, latency: 1, registered_ready: false, level: false };

#[test]
fn skid_equals_queue() {
    run_with_wave_on_failure("skid_equals_queue", |wave| {
        let mut rng = wave.rng();
        let mut dut = Dut::new(wave, &mut Skid::<Bits<32>>::default(), "skid_32");
        queue_equivalence(&mut dut, SKID, &mut rng, 20_000);
    });
}

#[test]
fn skid_timing() {
    run_with_wave_on_failure("skid_timing", |wave| {
        word_port_timing(&mut Dut::new(wave, &mut Skid::<Bits<32>>::default(), "skid_32"), SKID);
    });
}

#[test]
fn slice_equals_queue() {
    run_with_wave_on_failure("slice_equals_queue", |wave| {
        let mut rng = wave.rng();
        let mut dut = Dut::new(wave, &mut Slice::<Bits<32>>::default(), "slice_32");
        queue_equivalence(&mut dut, SLICE, &mut rng, 20_000);
    });
}

#[test]
fn slice_timing() {
    run_with_wave_on_failure("slice_timing", |wave| {
        word_port_timing(&mut Dut::new(wave, &mut Slice::<Bits<32>>::default(), "slice_32"), SLICE);
    });
}

/// A 577-bit structure goes through unharmed.
#[test]
fn skid_carries_beats() {
    run_with_wave_on_failure("skid_carries_beats", |wave| {
        let mut rng = wave.rng();
        let mut dut = Dut::new(wave, &mut Skid::<Beat>::default(), "skid_beat");
        dut.reset();
        dut.set("read_ready", 1);
        dut.set("write_valid", 1);
        let mut previous = None;
        for _ in 0..500 {
            let mut beat: [u8; 73] = random_bytes(&mut rng);
            beat[72] &= 1;
            dut.set_bytes("write", &beat);
            dut.eval();
            if let Some(previous) = previous {
                assert!(dut.high("read_valid"));
                assert_eq!(dut.bytes::<73>("read"), previous);
            }
            previous = Some(beat);
            dut.tick();
        }
    });
}
