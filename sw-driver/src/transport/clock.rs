//! Pauses in cycles of a card whose clock runs by itself.

use super::bar::MappedBar;
use crate::Result;
use spindle_contract::registers::global;
use std::time::Duration;

/// A pause ends after so long at most: who waits looks again.
const LONGEST: Duration = Duration::from_millis(10);

/// The card's nominal clock, read when it is needed first.
#[derive(Debug, Default)]
pub(crate) struct Clock(Option<u32>);

impl Clock {
    /// Sleeps about so many cycles.
    pub fn pause(&mut self, bar: &mut MappedBar, cycles: u64) -> Result<()> {
        let mhz = match self.0 {
            Some(mhz) => mhz,
            None => *self.0.insert(bar.read32(global::BASE + global::CLOCK_MHZ)?),
        };
        std::thread::sleep(Duration::from_micros(cycles / u64::from(mhz.max(1))).min(LONGEST));
        Ok(())
    }
}
