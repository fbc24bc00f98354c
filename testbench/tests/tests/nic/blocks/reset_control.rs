//! The sequence of a reset: what it waits for, what it lets pass, and the reset that does not wait.

use rand::Rng;
use spindle_blocks::desc::CsrRequest;
use spindle_contract::registers::{global, packet};
use spindle_harness::{run_with_wave_on_failure, Dut, WaveContext};
use spindle_nic::ResetControl;
use spindle_verilog::prelude::bits;

/// Cycles in which the engines clear their tables.
const CLEAR: usize = 40;
/// Cycles of `engines_reset`.
const HOLD: usize = 16;
/// Cycles in which nothing moves, after which the reset goes on.
const SILENCE: u64 = 65_536;
const RESET: u32 = global::BASE + global::RESET;

struct Bench {
    dut: Dut<ResetControl>,
}

impl Bench {
    fn new(wave: &WaveContext) -> Self {
        let dut = Dut::new(wave, ResetControl::new(CLEAR), "reset_control");
        dut.csr.set(CsrRequest::default());
        for port in [&dut.moved, &dut.rx_valid, &dut.rx_last, &dut.tx_valid, &dut.tx_last] {
            port.set(false);
        }
        dut.quiet.set(true);
        dut.tx_ready.set(true);
        dut.eval();
        Self { dut }
    }

    fn request(&self, address: u32, write: bool) {
        self.dut.csr.set(CsrRequest { valid: true, write, addr: bits(address), wdata: bits(1u64) });
    }

    /// An access: cycles to the answer, error, value. `None`: it belongs to another block.
    fn access(&self, address: u32, write: bool) -> Option<(u64, bool, u64)> {
        self.request(address, write);
        for cycles in 0..8 {
            self.dut.eval();
            let answer = self.dut.csr_answer.get();
            if answer.ack {
                self.dut.csr.set(CsrRequest::default());
                self.dut.tick();
                return Some((cycles, answer.error, answer.rdata.to_u64()));
            }
            if cycles == 0 && !self.dut.owns_csr.is_high() {
                self.dut.csr.set(CsrRequest::default());
                return None;
            }
            self.dut.tick();
        }
        panic!("no answer to an access of {address:#x}");
    }

    fn status(&self) -> global::Reset {
        let (_, error, value) = self.access(RESET, false).expect("RESET is always answered here");
        assert!(!error);
        global::Reset(value as u32)
    }

    fn start(&self) {
        let (cycles, error, _) = self.access(RESET, true).expect("RESET is always answered here");
        assert_eq!((cycles, error), (1, false), "a write of RESET takes 2 cycles");
    }

    /// Cycles until the engines are reset, at most `limit`.
    fn until_reset(&self, limit: u64) -> Option<u64> {
        (0..=limit).find(|_| {
            self.dut.eval();
            let resets = self.dut.engines_reset.is_high();
            if !resets {
                self.dut.tick();
            }
            resets
        })
    }

    /// From the first cycle of `engines_reset` to the end; checks hold and clear.
    fn finish(&self) {
        let dut = &self.dut;
        for cycle in 0..HOLD {
            dut.eval();
            assert!(dut.engines_reset.is_high(), "cycle {cycle} of the reset");
            dut.tick();
        }
        dut.eval();
        assert!(!dut.engines_reset.is_high());
        for _ in 0..CLEAR - 4 {
            dut.eval();
            assert!(!dut.engines_reset.is_high() && dut.stop.is_high() && !dut.rx_open.is_high());
            dut.tick();
        }
        let mut left = 0;
        while dut.stop.is_high() {
            assert!(left < 8, "the reset does not end");
            left += 1;
            dut.tick();
            dut.eval();
        }
    }
}

#[test]
fn an_idle_card_is_reset_at_once() {
    run_with_wave_on_failure("reset_control_idle", |wave| {
        let bench = Bench::new(wave);
        let dut = &bench.dut;
        assert!(dut.rx_open.is_high() && dut.tx_open.is_high() && !dut.stop.is_high() && !dut.engines_reset.is_high());
        let other = packet::BASE + packet::CONTROL;
        assert_eq!(bench.access(other, false), None);
        assert_eq!(bench.status(), global::Reset::ZERO);
        bench.start();
        dut.eval();
        assert!(dut.stop.is_high() && !dut.rx_open.is_high());
        assert_eq!(bench.until_reset(10), Some(3), "drain, finish and a register");
        bench.finish();
        assert!(!bench.status().busy());
        assert_eq!(bench.access(other, true), None, "other blocks have their registers back");

        // In hold and clear other registers are refused; RESET answers, and a second write has no effect.
        bench.start();
        assert_eq!(bench.until_reset(10), Some(3));
        let began = dut.cycle();
        assert_eq!(bench.access(other, false), Some((1, true, 0)));
        assert!(bench.status().busy());
        bench.start();
        while bench.status().busy() {
            assert!(matches!(bench.access(other, true), None | Some((1, true, 0))));
            assert!(dut.cycle() - began < (HOLD + CLEAR + 20) as u64);
        }
        assert!(dut.cycle() - began > (HOLD + CLEAR - 10) as u64, "the tables have their time");
        dut.eval();
        assert!(!dut.stop.is_high());
    });
}

/// A reset waits until the host is quiet, then for the end of the frame that is being sent; a frame that is offered when the reset
/// comes is sent, no further one.
#[test]
fn transactions_and_a_frame_end_first() {
    run_with_wave_on_failure("reset_control_waits", |wave| {
        let bench = Bench::new(wave);
        let dut = &bench.dut;
        for frame in [false, true] {
            dut.quiet.set(false);
            dut.tx_valid.set(frame);
            dut.tx_last.set(false);
            dut.tx_ready.set(false);
            bench.start();
            assert_eq!(bench.until_reset(500), None);
            dut.quiet.set(true);
            if frame {
                // The frame was offered before the host became quiet.
                assert_eq!(bench.until_reset(500), None);
                for beat in 0..20 {
                    dut.tx_ready.set(beat % 3 == 0);
                    dut.eval();
                    assert!(dut.tx_open.is_high(), "beat {beat}");
                    assert!(!dut.engines_reset.is_high());
                    dut.tick();
                }
                dut.tx_ready.set(true);
                dut.tx_last.set(true);
                dut.tick();
                // The next frame is offered, and does not leave.
                dut.tx_last.set(false);
                dut.eval();
                assert!(!dut.tx_open.is_high());
            }
            assert!(bench.until_reset(10).is_some());
            bench.finish();
            assert!(dut.tx_open.is_high());
            assert!(!bench.status().forced());
            dut.tx_valid.set(false);
        }
    });
}

/// If the host or the wire does not move, the reset goes on without them and says so; whatever moves begins the time again.
#[test]
fn a_silent_host_or_wire_is_given_up() {
    run_with_wave_on_failure("reset_control_forced", |wave| {
        let bench = Bench::new(wave);
        let dut = &bench.dut;
        // The host is not quiet; the wire takes no beat of a frame; the engine offers no further beat of the frame.
        for case in 0..3 {
            let wire = case > 0;
            dut.quiet.set(wire);
            dut.tx_valid.set(wire);
            dut.tx_ready.set(!wire);
            dut.tick();
            bench.start();
            dut.ticks(SILENCE - 100);
            // The host moves, or a beat of the frame is taken: the time begins again.
            if wire {
                dut.tx_ready.set(true);
            }
            dut.moved.set(!wire);
            dut.tick();
            dut.moved.set(false);
            dut.tx_ready.set(case != 1);
            dut.tx_valid.set(case == 1);
            let moved = dut.cycle();
            let mut abandoned = vec![];
            while !dut.engines_reset.is_high() {
                if dut.abandon.is_high() {
                    abandoned.push(dut.cycle());
                }
                dut.tick();
                dut.eval();
            }
            assert_eq!(abandoned.len(), 1, "a pulse");
            let silent = abandoned[0] - moved;
            assert!((SILENCE - 1..=SILENCE + 1).contains(&silent), "given up after {silent} cycles");
            assert!(bench.status().busy() && bench.status().forced());
            dut.tx_valid.set(false);
            while bench.status().busy() {}
            assert!(bench.status().forced(), "until the next reset");
            dut.quiet.set(true);
            dut.tx_ready.set(true);
            bench.start();
            assert!(bench.until_reset(10).is_some());
            while bench.status().busy() {}
            assert!(!bench.status().forced());
        }
    });
}

/// Resets at random moments of traffic: the wire sees whole frames only, and the engines see frames from their first beats on.
#[test]
fn frames_stay_whole() {
    run_with_wave_on_failure("reset_control_frames", |wave| {
        let bench = Bench::new(wave);
        let dut = &bench.dut;
        let mut rng = wave.rng();
        // Beats left of the frame that is offered to the wire; beats, and beats left, of the frame that comes from the wire.
        let (mut tx_left, mut rx_beats, mut rx_left) = (0u32, 0u32, 0u32);
        let (mut wire_inside, mut engine_inside) = (false, false);
        let (mut resets, mut frames_out, mut frames_in, mut cut) = (0, 0, 0, 0);
        let mut resetting = false;
        let mut quiet_after = 0;
        for cycle in 0..60_000u64 {
            let starts = rng.random_ratio(1, 400);
            if starts {
                quiet_after = cycle + rng.random_range(0..60);
            }
            if starts {
                bench.request(RESET, true)
            } else {
                dut.csr.set(CsrRequest::default())
            }
            dut.quiet.set(cycle >= quiet_after);
            if rx_left == 0 && rng.random_bool(0.3) {
                rx_beats = rng.random_range(1..12);
                rx_left = rx_beats;
            }
            let rx_valid = rx_left > 0 && rng.random_bool(0.8);
            dut.rx_valid.set(rx_valid);
            dut.rx_last.set(rx_left == 1);
            if tx_left == 0 && rng.random_bool(0.3) {
                tx_left = rng.random_range(1..12);
            }
            let ready = rng.random_bool(0.6);
            dut.tx_valid.set(tx_left > 0);
            dut.tx_last.set(tx_left == 1);
            dut.tx_ready.set(ready);
            dut.eval();

            if rx_valid && dut.rx_open.is_high() {
                assert!(engine_inside || rx_left == rx_beats, "cycle {cycle}: a frame without its first beat");
                engine_inside = rx_left != 1;
                frames_in += u64::from(rx_left == 1);
            }
            rx_left -= u32::from(rx_valid);
            if tx_left > 0 && ready && dut.tx_open.is_high() {
                tx_left -= 1;
                wire_inside = tx_left > 0;
                frames_out += u64::from(tx_left == 0);
            }
            let resets_now = dut.engines_reset.is_high();
            resets += u64::from(resets_now && !resetting);
            resetting = resets_now;
            if resets_now {
                assert!(!wire_inside, "cycle {cycle}: the reset cuts a frame on the wire");
                cut += u64::from(engine_inside);
                // The engines forget their frames.
                tx_left = 0;
                engine_inside = false;
            }
            dut.tick();
        }
        assert!(
            frames_out > 2000 && frames_in > 2000 && cut > 20 && resets > 80,
            "{frames_out} {frames_in} {cut} {resets}"
        );
    });
}
