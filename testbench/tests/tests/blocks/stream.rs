//! `StreamMonitor`: silent on lawful traffic, and each breach is reported.

use crate::blocks::common::random_bytes;
use rand::Rng;
use spindle_blocks::StreamMonitor;
use spindle_harness::{run_with_wave_on_failure, Dut, WaveContext};

fn monitor(wave: &WaveContext) -> Dut<StreamMonitor> {
    let dut = Dut::new(wave, StreamMonitor::default(), "stream_monitor");
    dut.reset();
    dut
}

/// One cycle; returns what the monitor says of everything before.
fn cycle(dut: &Dut<StreamMonitor>, data: &[u8; 64], keep: u64, last: bool, valid: bool, ready: bool) -> u64 {
    dut.data.set_bytes(data);
    dut.keep.set_bytes(&keep.to_le_bytes());
    dut.last.set(last);
    dut.valid.set(valid);
    dut.ready.set(ready);
    dut.eval();
    let seen = dut.violation.number();
    dut.tick();
    seen
}

#[test]
fn lawful_traffic_is_silent() {
    run_with_wave_on_failure("lawful_traffic_is_silent", |wave| {
        let mut rng = wave.rng();
        let dut = monitor(wave);
        for _ in 0..2000 {
            let last = rng.random_bool(0.3);
            let keep = if last { u64::MAX >> rng.random_range(0..64) } else { u64::MAX };
            let data = random_bytes(&mut rng);
            for _ in 0..rng.random_range(0..4) {
                assert_eq!(cycle(&dut, &data, keep, last, true, false), 0);
            }
            assert_eq!(cycle(&dut, &data, keep, last, true, true), 0);
            while rng.random_bool(0.3) {
                // Without valid the payload means nothing.
                assert_eq!(cycle(&dut, &random_bytes(&mut rng), rng.random(), false, false, rng.random()), 0);
            }
        }
    });
}

#[test]
fn each_breach_is_told() {
    run_with_wave_on_failure("each_breach_is_told", |wave| {
        let zero = [0; 64];
        let mut one = zero;
        one[63] = 0x80;
        let full = u64::MAX;
        // What happens in two cycles, and the bits expected from the third on.
        let cases = [
            ("valid falls", (zero, full, true, true, false), (zero, full, true, false, false), 0b0001),
            ("data changes", (zero, full, true, true, false), (one, full, true, true, true), 0b0010),
            ("keep changes", (zero, full, true, true, false), (zero, full >> 1, true, true, true), 0b0010),
            ("last changes", (zero, full, true, true, false), (zero, full, false, true, true), 0b0010),
            ("hole in keep", (zero, full, true, false, false), (zero, 0b1011, true, true, true), 0b0100),
            ("keep from bit 1", (zero, full, true, false, false), (zero, 0b10, true, true, true), 0b0100),
            ("empty keep", (zero, full, true, false, false), (zero, 0, true, true, true), 0b0100),
            ("short beat inside", (zero, full, true, false, false), (zero, full >> 1, false, true, true), 0b1000),
        ];
        for (name, a, b, expected) in cases {
            let dut = monitor(wave);
            cycle(&dut, &a.0, a.1, a.2, a.3, a.4);
            assert_eq!(cycle(&dut, &b.0, b.1, b.2, b.3, b.4), 0, "{name}: reported too early");
            for _ in 0..3 {
                assert_eq!(cycle(&dut, &zero, full, true, false, true), expected, "{name}");
            }
        }
    });
}
