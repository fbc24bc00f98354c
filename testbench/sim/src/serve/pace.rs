//! A fixed relation of the card's time to that of the machine, for programs that talk to the card over a TAP interface and measure.

use std::time::{Duration, Instant};

/// A card that is later than this lets the lost time be: its time goes on from here.
const LATEST: Duration = Duration::from_secs(1);

/// Most cycles between two looks at the sockets.
pub const AT_ONCE: u64 = 64;

/// So many cycles per second of the machine. The card runs as fast as it can while it is late.
#[derive(Debug)]
pub struct Pace {
    rate: u64,
    /// Where both clocks were compared first. None: not yet.
    origin: Option<(Instant, u64)>,
}

impl Pace {
    /// This many cycles per second, at least 1.
    pub fn new(rate: u64) -> Pace {
        Pace { rate: rate.max(1), origin: None }
    }

    /// Where the clocks are compared from. Register accesses move a card on beside its pace: it does not stand still for that afterwards.
    fn origin(&mut self, cycle: u64, now: Instant) -> (Instant, u64) {
        let (begin, first) = *self.origin.get_or_insert((now, cycle));
        if cycle > first + self.cycles(now.saturating_duration_since(begin)) {
            self.origin = Some((now, cycle));
            return (now, cycle);
        }
        (begin, first)
    }

    /// When the card, in this cycle, has its next one: a wait from `now`, zero if it is late.
    pub fn wait(&mut self, cycle: u64, now: Instant) -> Duration {
        let (begin, first) = self.origin(cycle, now);
        (begin + self.time(cycle + 1 - first)).saturating_duration_since(now)
    }

    /// Cycles that the card has to run now, some at a time.
    pub fn due(&mut self, cycle: u64, now: Instant) -> u64 {
        let (begin, first) = self.origin(cycle, now);
        let ideal = first + self.cycles(now.saturating_duration_since(begin));
        let late = ideal.saturating_sub(cycle);
        if self.time(late) > LATEST {
            log::warn!(
                "this machine is too slow for {} cycles per second: the card's time is {late} cycles late",
                self.rate
            );
            // It takes frames now, as a card that is not late does.
            self.origin = Some((now, cycle));
            return 0;
        }
        late.min(AT_ONCE)
    }

    fn time(&self, cycles: u64) -> Duration {
        // Every cycle on its own would lose the fraction of a nanosecond.
        let (seconds, rest) = (cycles / self.rate, cycles % self.rate);
        Duration::from_secs(seconds)
            + Duration::from_nanos((u128::from(rest) * 1_000_000_000 / u128::from(self.rate)) as u64)
    }

    fn cycles(&self, time: Duration) -> u64 {
        (time.as_nanos() * u128::from(self.rate) / 1_000_000_000) as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_late_card_catches_up_and_an_early_one_goes_on_from_there() {
        let (mut pace, begin) = (Pace::new(25_000), Instant::now());
        let after = |micros| begin + Duration::from_micros(micros);
        assert_eq!(pace.wait(100, begin), Duration::from_micros(40));
        assert_eq!(pace.due(100, begin), 0);
        // Register accesses have moved the card on by ten cycles: from here on, it has its pace again.
        assert_eq!(pace.wait(110, after(40)), Duration::from_micros(40));
        assert_eq!(pace.due(110, after(40)), 0);
        assert_eq!(pace.wait(110, after(120)), Duration::ZERO);
        assert_eq!(pace.due(110, after(120)), 2);
        assert_eq!(pace.due(112, after(40_040)), AT_ONCE);
        assert_eq!(pace.due(1109, after(40_040)), 1);
    }

    #[test]
    fn time_that_is_lost_for_good_is_let_be() {
        let (mut pace, begin) = (Pace::new(1000), Instant::now());
        assert_eq!(pace.due(0, begin), 0);
        let late = begin + Duration::from_millis(1001);
        assert_eq!(pace.due(0, late), 0);
        // The two clocks are compared from here on.
        assert_eq!(pace.wait(0, late), Duration::from_millis(1));
        assert_eq!(pace.due(8, late + Duration::from_millis(9)), 1);
        assert_eq!(pace.due(9, late + Duration::from_millis(100)), AT_ONCE);
    }
}
