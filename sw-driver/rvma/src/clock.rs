//! Time of the card: limits are in nanoseconds for programs, and in cycles for the card.

/// `RVMA_FOREVER`.
pub const FOREVER: u64 = u64::MAX;

/// The clock of a card.
#[derive(Clone, Copy, Debug)]
pub struct Clock {
    mhz: u32,
}

impl Clock {
    /// Of the frequency that the card names. A card without one counts as if it had 1 GHz.
    pub fn new(mhz: u32) -> Clock {
        Clock { mhz: if mhz == 0 { 1000 } else { mhz } }
    }

    /// Cycles within so many nanoseconds, the last one begun included; `FOREVER` stays.
    pub fn cycles(self, nanoseconds: u64) -> u64 {
        if nanoseconds == FOREVER {
            return FOREVER;
        }
        let cycles = (u128::from(nanoseconds) * u128::from(self.mhz)).div_ceil(1000);
        cycles.min(u128::from(FOREVER - 1)) as u64
    }

    /// Nanoseconds of so many cycles.
    pub fn nanoseconds(self, cycles: u64) -> u64 {
        let nanoseconds = u128::from(cycles) * 1000 / u128::from(self.mhz);
        nanoseconds.min(u128::from(FOREVER - 1)) as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_in_cycles() {
        let clock = Clock::new(250);
        assert_eq!([0, 1, 4, 5, 1000].map(|time| clock.cycles(time)), [0, 1, 1, 2, 250]);
        assert_eq!(clock.cycles(FOREVER), FOREVER);
        assert_eq!(Clock::new(4000).cycles(FOREVER - 1), FOREVER - 1);
        assert_eq!(clock.nanoseconds(33_553_408), 134_213_632);
    }

    #[test]
    fn a_clock_without_a_frequency_has_one_cycle_a_nanosecond() {
        let clock = Clock::new(0);
        assert_eq!([0, 1, 7, FOREVER - 1].map(|time| clock.cycles(time)), [0, 1, 7, FOREVER - 1]);
        assert_eq!([0, 1, 7, FOREVER].map(|cycles| clock.nanoseconds(cycles)), [0, 1, 7, FOREVER - 1]);
        // A slow one: what is begun counts for a limit, and not for a time that has passed.
        let slow = Clock::new(3);
        assert_eq!([1, 333, 334, 666, 667].map(|time| slow.cycles(time)), [1, 1, 2, 2, 3]);
        assert_eq!([0, 1, 2, 3].map(|cycles| slow.nanoseconds(cycles)), [0, 333, 666, 1000]);
        assert_eq!(slow.nanoseconds(FOREVER), FOREVER - 1);
    }
}
