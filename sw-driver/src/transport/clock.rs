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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_clock_is_read_once() {
        use crate::transport::bar::Presence;
        use std::os::unix::fs::FileExt;
        let file = tempfile::tempfile().unwrap();
        file.set_len(4096).unwrap();
        let mut bar = MappedBar::map(&file, 0, 4096, Presence::new("0000:65:00.0")).unwrap();
        // A card that names no clock: a cycle is a microsecond.
        Clock::default().pause(&mut bar, 1).unwrap();
        let mut clock = Clock::default();
        file.write_all_at(&250u32.to_le_bytes(), (global::BASE + global::CLOCK_MHZ).into()).unwrap();
        clock.pause(&mut bar, 1).unwrap();
        assert_eq!(clock.0, Some(250));
        let begin = std::time::Instant::now();
        clock.pause(&mut bar, 250_000).unwrap();
        assert!(begin.elapsed() >= Duration::from_millis(1));
        let begin = std::time::Instant::now();
        clock.pause(&mut bar, u64::MAX).unwrap();
        assert!((LONGEST..Duration::from_secs(10)).contains(&begin.elapsed()));
        // What it read before needs no register; a new one learns that the card is gone.
        file.write_all_at(&[0xFF; 4096], 0).unwrap();
        clock.pause(&mut bar, 1).unwrap();
        assert!(Clock::default().pause(&mut bar, 1).is_err());
    }
}
