//! Waits of the library: on a card whose time moves by calls they move it; else they look for a moment, then sleep until the
//! card's interrupt, or between looks where there is none.

use crate::monitor::Monitor;
use crate::node::Node;
use crate::process::Process;
use anyhow::Result;
use std::time::{Duration, Instant};

/// Cycles between two looks at a record, of a card whose time moves by calls.
const LOOK: u64 = 64;
/// How long a wait looks all the time before it sleeps.
const SPIN: Duration = Duration::from_micros(20);
/// Shortest and longest sleep between two looks of a wait that no interrupt ends.
const SLEEP: (Duration, Duration) = (Duration::from_micros(20), Duration::from_millis(1));
/// How much a limit may be exceeded on a card that is slower than its clock says.
const CLOCK: Duration = Duration::from_millis(10);
/// Longest time between two looks: the card may be gone, or an interrupt lost on its way.
const ALIVE: Duration = Duration::from_millis(20);

/// What shows that another look is worth its while.
#[derive(Clone, Copy, Default)]
pub struct Sign<'a> {
    /// A byte that the card changes.
    pub byte: Option<*const u8>,
    /// A process that gets an event.
    pub event: Option<&'a Process>,
}

impl Node {
    /// Looks until there is a result, at most `limit` nanoseconds of the card's time; `None`: the time is over.
    ///
    /// # Errors
    /// A look fails, or the card is gone.
    pub fn until<T>(&self, limit: u64, sign: Sign<'_>, look: impl FnMut() -> Result<Option<T>>) -> Result<Option<T>> {
        if self.moves_by_calls() {
            self.move_until(self.clock().cycles(limit), look)
        } else {
            self.sleep_until(limit, sign, look)
        }
    }

    /// Of a card whose time moves by calls.
    fn move_until<T>(&self, limit: u64, mut look: impl FnMut() -> Result<Option<T>>) -> Result<Option<T>> {
        let mut waited = 0;
        loop {
            if let Some(result) = look()? {
                return Ok(Some(result));
            }
            if waited >= limit {
                return Ok(None);
            }
            let step = LOOK.min(limit - waited);
            self.card().lock().pause(step)?;
            waited += step;
        }
    }

    /// Of a card whose time moves by itself, perhaps more slowly than the host's: the limit is one of the card's clock.
    fn sleep_until<T>(
        &self,
        limit: u64,
        sign: Sign<'_>,
        mut look: impl FnMut() -> Result<Option<T>>,
    ) -> Result<Option<T>> {
        let (begin, mut sleep) = (Instant::now(), SLEEP.0);
        let alarm = sign.event.and_then(|process| Some((process, process.alarm()?)));
        let mut watch = Watch::new(limit);
        loop {
            if let Some(result) = look()? {
                return Ok(Some(result));
            }
            if begin.elapsed() < SPIN {
                match sign.byte {
                    // SAFETY: the byte can be read as long as the wait for it lasts.
                    Some(byte) => unsafe { Monitor::of_processor().wait(byte) },
                    None => std::hint::spin_loop(),
                }
                continue;
            }
            if watch.over(self)? {
                // What came until then counts.
                return look();
            }
            match alarm {
                Some((process, alarm)) => {
                    let count = process.arm(alarm)?;
                    // What came before the interrupt was armed requests none.
                    if let Some(result) = look()? {
                        return Ok(Some(result));
                    }
                    alarm.sleep(count, watch.left());
                }
                None => {
                    std::thread::sleep(sleep.min(Duration::from_nanos(limit).max(SLEEP.0)));
                    sleep = (sleep * 2).min(SLEEP.1);
                }
            }
        }
    }
}

/// A limit of the card's time, which is looked at now and then.
struct Watch {
    limit: u64,
    start: Option<u64>,
    /// When the clock is looked at next.
    next: Instant,
    /// Shortest time between two looks.
    pace: Duration,
}

impl Watch {
    fn new(limit: u64) -> Watch {
        Watch { limit, start: None, next: Instant::now(), pace: SLEEP.0 }
    }

    /// Whether the limit is over.
    fn over(&mut self, node: &Node) -> Result<bool> {
        let begin = Instant::now();
        if begin < self.next {
            return Ok(false);
        }
        let now = node.driver().cycle()?;
        let passed = now.saturating_sub(*self.start.get_or_insert(now));
        let cycles = node.clock().cycles(self.limit);
        // No card runs faster than its clock says.
        let left = Duration::from_nanos(node.clock().nanoseconds(cycles.saturating_sub(passed)));
        self.next = begin + left.max(self.pace).min(ALIVE);
        self.pace = (self.pace * 2).min(CLOCK);
        Ok(passed >= cycles)
    }

    /// Time until the next look.
    fn left(&self) -> Duration {
        self.next.saturating_duration_since(Instant::now())
    }
}
