//! Two clocks without a common edge.

use rand::Rng;
use rand_chacha::ChaCha8Rng;

/// Periods of a CMAC's clock, 322.265625 MHz, and of an Alveo core's, 250 MHz, in units of 1/330 ns: 3.10303 and 4 ns.
pub const CMAC_AND_CORE: [u64; 2] = [1024, 1320];
/// Units of [`CMAC_AND_CORE`] in a second.
pub const SECOND: u64 = 330_000_000_000;

/// Two clocks, in any unit of time; a clock that does not run has no edges.
pub struct Clocks {
    /// Of each clock.
    pub period: [u64; 2],
    /// Time of its next edge.
    pub next: [u64; 2],
    /// Whether it has edges.
    pub runs: [bool; 2],
}

impl Clocks {
    /// Running clocks of random phase.
    pub fn new(rng: &mut ChaCha8Rng, period: [u64; 2]) -> Self {
        Self { period, next: period.map(|period| rng.random_range(0..period)), runs: [true; 2] }
    }

    /// Which clocks rise next, sometimes both at once.
    pub fn step(&mut self) -> [bool; 2] {
        let now = self.next[0].min(self.next[1]);
        let due = [self.next[0] == now, self.next[1] == now];
        for (i, due) in due.iter().enumerate() {
            self.next[i] += if *due { self.period[i] } else { 0 };
        }
        [due[0] && self.runs[0], due[1] && self.runs[1]]
    }

    /// Time of the next edge.
    pub fn now(&self) -> u64 {
        self.next[0].min(self.next[1])
    }
}
