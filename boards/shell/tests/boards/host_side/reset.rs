//! Resets, with clocks of random ratio and clocks that stand.

use rand::Rng;
use rand_chacha::ChaCha8Rng;
use spindle_boards::hdl::reset::{CoreReset, ResetPair, STRETCH};
use spindle_harness::{run_with_wave_on_failure, Dut};

#[test]
fn a_core_reset_is_stretched() {
    run_with_wave_on_failure("core_reset", |_| {
        let dut = Dut::zeroed(CoreReset::default(), "core_reset");
        let tick = || {
            dut.domain_clock.set(true);
            dut.eval();
            dut.domain_clock.set(false);
            dut.eval();
        };
        // Power-up, before any edge.
        dut.run.set(true);
        dut.eval();
        assert!(dut.domain_reset.is_high());
        for low in [1, 2, 5, 100] {
            dut.run.set(true);
            (0..100).for_each(|_| tick());
            assert!(!dut.domain_reset.is_high());
            dut.run.set(false);
            let mut edges = 0;
            for _ in 0..low {
                tick();
                edges += 1;
                assert_eq!(dut.domain_reset.is_high(), edges >= 3, "{edges} edges after run fell");
            }
            dut.run.set(true);
            let mut rises = 0;
            for edge in 1.. {
                tick();
                rises += u64::from(dut.domain_reset.is_high());
                if edge >= 3 && !dut.domain_reset.is_high() {
                    assert_eq!(edge, 2 + STRETCH);
                    break;
                }
                assert!(edge < 100);
            }
            assert!(rises + u64::from(low >= 3) >= STRETCH - 1, "{rises} cycles of reset");
        }
    });
}

/// Two clocks in picoseconds; the second one may stand.
struct Clocks {
    period: [u64; 2],
    next: [u64; 2],
    runs: [bool; 2],
}

impl Clocks {
    fn step(&mut self, dut: &Dut<ResetPair>) -> [bool; 2] {
        let now = self.next[0].min(self.next[1]);
        let due = [self.next[0] == now, self.next[1] == now];
        let edges = [due[0] && self.runs[0], due[1] && self.runs[1]];
        dut.core_clock.set(edges[0]);
        dut.mac_clock.set(edges[1]);
        dut.eval();
        dut.core_clock.set(false);
        dut.mac_clock.set(false);
        dut.eval();
        for ((next, period), due) in self.next.iter_mut().zip(self.period).zip(due) {
            *next += if due { period } else { 0 };
        }
        edges
    }
}

fn clocks(rng: &mut ChaCha8Rng) -> Clocks {
    let mut period = || rng.random_range(1500..9000);
    let period = [period(), period()];
    Clocks { period, next: [rng.random_range(0..period[0]), rng.random_range(0..period[1])], runs: [true; 2] }
}

/// After each demand both sides are in reset together for at least 3 edges of either clock, and then run again; demands of a
/// single cycle and demands that follow each other closely too.
#[test]
fn both_sides_are_reset_together() {
    run_with_wave_on_failure("reset_pair", |wave| {
        let mut rng = wave.rng();
        let mut closely = 0;
        for round in 0..300 {
            let dut = Dut::zeroed(ResetPair::default(), "reset_pair");
            let mut clocks = clocks(&mut rng);
            dut.demand.set(false);
            dut.eval();
            assert!(dut.core_reset.is_high() && dut.mac_reset.is_high(), "power-up");
            for demand in 0..4 {
                // One demand after power-up, then some more.
                clocks.runs[1] = round % 3 != 0 || demand != 1;
                let mut left = rng.random_range(1..20);
                dut.demand.set(true);
                // Edges of each clock while both sides are in reset.
                let mut together = [0u64; 2];
                let mut most = [0u64; 2];
                let mut edges = 0;
                loop {
                    // A register sees the reset that stands before the edge.
                    let both = dut.core_reset.is_high() && dut.mac_reset.is_high();
                    let edge = clocks.step(&dut);
                    if edge[0] {
                        left -= 1;
                        dut.demand.set(left > 0);
                        left = left.max(1);
                    }
                    dut.eval();
                    for i in 0..2 {
                        together[i] = if both { together[i] + u64::from(edge[i]) } else { 0 };
                        most[i] = most[i].max(together[i]);
                    }
                    edges += 1;
                    if edges == 400 && !clocks.runs[1] {
                        assert!(dut.core_reset.is_high(), "the MAC's clock stands");
                        clocks.runs[1] = true;
                    }
                    if edges > 3 && !dut.core_reset.is_high() && dut.demand.number() == 0 {
                        break;
                    }
                    assert!(edges < 3000, "round {round}: no end");
                }
                // The ratio of the clocks bounds what the other one has seen.
                assert!(most.iter().all(|edges| *edges >= 3), "round {round}, demand {demand}: {most:?}");
                // Both run, or the next demand comes at once.
                if rng.random() {
                    (0..60).for_each(|_| {
                        clocks.step(&dut);
                    });
                    assert!(!dut.core_reset.is_high() && !dut.mac_reset.is_high());
                } else {
                    closely += 1;
                }
            }
        }
        assert!(closely > 300);
    });
}
