//! `BlockLock` and `BitErrors` against figures 49-14 and 49-15; the watch over a receiver.

use rand::Rng;
use spindle_boards::hdl::gty_watch::GtyWatch;
use spindle_boards::hdl::pcs::{BitErrors, BlockLock};
use spindle_harness::{run_with_wave_on_failure, Dut};

/// Figure 49-14, and the pause after a slip.
#[derive(Default)]
struct Lock {
    sh_cnt: u32,
    sh_invalid_cnt: u32,
    block_lock: bool,
    pause: u32,
}

impl Lock {
    /// A header; whether it slips.
    fn header(&mut self, good: bool, pause: u32) -> bool {
        if self.pause > 0 {
            self.pause -= 1;
            return false;
        }
        self.sh_cnt += 1;
        if good {
            if self.sh_cnt == 64 {
                self.block_lock |= self.sh_invalid_cnt == 0;
                (self.sh_cnt, self.sh_invalid_cnt) = (0, 0);
            }
            return false;
        }
        self.sh_invalid_cnt += 1;
        if self.sh_invalid_cnt == 16 || !self.block_lock {
            *self = Self { pause, ..Self::default() };
            return true;
        }
        if self.sh_cnt == 64 {
            (self.sh_cnt, self.sh_invalid_cnt) = (0, 0);
        }
        false
    }
}

#[test]
fn lock_equals_the_figure() {
    run_with_wave_on_failure("block_lock", |wave| {
        let mut rng = wave.rng();
        for wait in [1, 32] {
            let dut = Dut::new(wave, BlockLock::new(wait), &format!("block_lock_{wait}"));
            let mut model = Lock::default();
            let (mut slips, mut locks, mut locked, mut rate) = (0, 0, false, 0.0);
            let mut slipped = false;
            for cycle in 0..400_000 {
                if cycle % 700 == 0 {
                    rate = [0.0, 0.01, 0.1, 0.2, 0.25, 0.3, 0.5][rng.random_range(0..7)];
                }
                let (valid, good) = (rng.random_bool(0.9), !rng.random_bool(rate));
                dut.valid.set(valid);
                dut.good.set(good);
                dut.eval();
                assert_eq!((dut.locked.is_high(), dut.slip.is_high()), (locked, slipped), "cycle {cycle}");
                slipped = valid && model.header(good, wait as u32);
                slips += usize::from(slipped);
                locks += usize::from(model.block_lock && !locked);
                locked = model.block_lock;
                dut.tick();
            }
            assert!(slips > 1000 && locks > 50, "{slips} slips, {locks} locks");
        }
    });
}

/// 16 of 19,531, and small windows at random.
#[test]
fn errors_equal_the_figure() {
    run_with_wave_on_failure("bit_errors", |wave| {
        let mut rng = wave.rng();
        for (window, limit, name) in
            [(100u64, 5u64, "bit_errors_5_100"), (19_531, 16, "bit_errors_10g"), (4, 2, "bit_errors_2_4")]
        {
            let dut = Dut::new(wave, BitErrors::new(window, limit), name);
            let (mut at, mut count, mut high) = (0, 0, false);
            let (mut rises, mut falls, mut rate) = (0, 0, 0.0);
            for cycle in 0..600_000u64 {
                // Few errors, then many for two windows, then any number: so there are rises and falls under every seed.
                if cycle % window == 0 {
                    let usual = limit as f64 / window as f64;
                    let some = [0.3, 0.8, 1.0, 1.2, 2.0][rng.random_range(0..5)];
                    rate = usual * [0.3, 2.0, 2.0, some][(cycle / window % 4) as usize];
                }
                let locked = cycle % (40 * window) > 3;
                let (valid, good) = (rng.random_bool(0.95), !rng.random_bool(rate.min(1.0)));
                dut.valid.set(valid);
                dut.good.set(good);
                dut.locked.set(locked);
                dut.tick();
                let before = high;
                if !locked {
                    (at, count, high) = (0, 0, false);
                } else if valid {
                    count += u64::from(!good);
                    at += 1;
                    if at == window {
                        high = count >= limit;
                        (at, count) = (0, 0);
                    } else if count >= limit {
                        high = true;
                    }
                }
                rises += usize::from(high && !before);
                falls += usize::from(before && !high);
                dut.eval();
                assert_eq!(dut.high.is_high(), high, "cycle {cycle}: {count} of {limit} at {at}");
            }
            assert!(rises > 3 && falls > 3, "{rises} rises, {falls} falls");
        }
    });
}

/// A receiver without lock is reset for 64 cycles in every so many; a lock ends the reset and begins the count anew.
#[test]
fn a_receiver_without_lock_is_reset() {
    run_with_wave_on_failure("gty_watch", |wave| {
        const PATIENCE: usize = 200;
        let dut = Dut::new(wave, GtyWatch::new(PATIENCE as u64), "gty_watch");
        let run = |locked: bool, cycles: usize| -> Vec<bool> {
            dut.locked.set(locked);
            let mut seen = vec![];
            for _ in 0..cycles {
                dut.eval();
                seen.push(dut.reset_rx.is_high());
                dut.tick();
            }
            seen
        };
        assert!(run(true, 3 * PATIENCE).iter().all(|resets| !resets));
        // Two cycles for the synchroniser.
        let lost = run(false, 2 + 3 * PATIENCE);
        for (cycle, resets) in lost.into_iter().enumerate() {
            let since = cycle as i64 - 2;
            let wanted = since >= PATIENCE as i64 && (since as usize % PATIENCE) < 64;
            assert_eq!(resets, wanted, "cycle {cycle} without lock");
        }
        assert!(run(false, 10).iter().all(|resets| *resets), "the third reset");
        assert!(run(true, PATIENCE)[3..].iter().all(|resets| !resets), "a lock ends it");
        assert!(run(false, PATIENCE + 1).iter().all(|resets| !resets), "the count begins anew");
    });
}
