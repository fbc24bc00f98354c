//! Bounds on waits, in the card's own cycles.

use crate::{Bar, Device, HostMemory, Result};

/// Looks in a row at which the clock may be no later. A look reads registers, each of which takes the card several cycles.
const STILL: u32 = 1000;

/// How long a caller waits for a card.
pub(crate) struct Patience {
    cycles: u64,
    start: u64,
    /// Latest cycle that was seen, and looks since then.
    latest: u64,
    still: u32,
}

impl Patience {
    fn new(cycles: u64, now: u64) -> Patience {
        Patience { cycles, start: now, latest: now, still: 0 }
    }

    /// Whether the wait is over in this cycle: so many cycles have passed, or the card's clock has stopped or was reset.
    fn is_over(&mut self, now: u64) -> bool {
        if now > self.latest {
            (self.latest, self.still) = (now, 0);
        } else {
            self.still += 1;
        }
        now.saturating_sub(self.start) > self.cycles || self.still > STILL
    }
}

impl<B: Bar, M: HostMemory> Device<B, M> {
    /// Begins a wait of so many cycles.
    pub(crate) fn patience(&mut self, cycles: u64) -> Result<Patience> {
        Ok(Patience::new(cycles, self.cycle()?))
    }

    /// Whether a wait is over.
    pub(crate) fn is_over(&mut self, patience: &mut Patience) -> Result<bool> {
        let now = self.cycle()?;
        Ok(patience.is_over(now))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Looks until a wait of 5000 cycles is over.
    fn looks(mut clock: impl FnMut(u64) -> u64) -> u64 {
        let mut patience = Patience::new(5000, clock(0));
        (1..100_000).find(|look| patience.is_over(clock(*look))).expect("every wait ends")
    }

    #[test]
    fn a_wait_ends_by_cycles_or_by_a_clock_that_fails() {
        assert_eq!(looks(|look| 7 + look * 10), 501);
        assert_eq!(looks(|_| 7), u64::from(STILL) + 1, "the clock stands still");
        assert_eq!(looks(|look| 7 + look % 2), u64::from(STILL) + 2, "it goes to and fro");
        assert_eq!(looks(|look| if look < 10 { 9000 + look } else { look }), 9 + u64::from(STILL) + 1, "it was reset");
        assert_eq!(looks(|look| look * u64::from(STILL) / (2 * u64::from(STILL))), 10_002, "it is slow");
    }
}
