//! Sleep until the card's interrupt.
//!
//! Processes of a program may share a vector, and any number of threads may wait for each. One of them watches the eventfd, because a
//! read of it takes the signal from the others; the others sleep on a condition, and all look again when the alarm has gone off.
//!
//! No wake-up is lost: a thread remembers how often the alarm went off, arms its process' interrupt, looks once more, and sleeps only if
//! the alarm has not gone off since. A thread that reads events which another one may wait for rings the alarm itself.

use crate::node::lock;
use spindle::irq;
use std::os::fd::OwnedFd;
use std::sync::{Condvar, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// The interrupts of a vector.
pub struct Alarm {
    event: OwnedFd,
    state: Mutex<State>,
    rung: Condvar,
}

#[derive(Default)]
struct State {
    /// How often the alarm has gone off.
    count: u64,
    /// A thread watches the eventfd.
    watched: bool,
}

impl Alarm {
    /// The alarm of an eventfd, which no one else reads.
    pub fn new(event: OwnedFd) -> Alarm {
        Alarm { event, state: Mutex::default(), rung: Condvar::new() }
    }

    /// How often it has gone off.
    pub fn count(&self) -> u64 {
        lock(&self.state).count
    }

    /// Sets it off.
    pub fn ring(&self) {
        let mut state = lock(&self.state);
        state.count += 1;
        self.rung.notify_all();
        if state.watched {
            irq::signal(&self.event);
        }
    }

    /// Sleeps until it has gone off more than `count` times, at most so long.
    pub fn sleep(&self, count: u64, limit: Duration) {
        let end = Instant::now() + limit;
        let mut state = lock(&self.state);
        while state.count == count {
            let left = end.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return;
            }
            if state.watched {
                let slept = self.rung.wait_timeout(state, left);
                state = slept.unwrap_or_else(PoisonError::into_inner).0;
                continue;
            }
            state.watched = true;
            drop(state);
            // Memory for the system's list may be missing, for a moment: this wait ends, and its thread looks again.
            let rung = irq::wait(&self.event, left);
            state = lock(&self.state);
            state.watched = false;
            if matches!(rung, Ok(1..)) {
                state.count += 1;
            }
            // One of the others watches now, if the alarm has not gone off.
            self.rung.notify_all();
            if rung.is_err() {
                return;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::thread::{scope, sleep};

    const LONG: Duration = Duration::from_secs(60);

    fn alarm() -> (Alarm, OwnedFd) {
        let event = irq::create().unwrap();
        let card = irq::duplicate(&event).unwrap();
        (Alarm::new(event), card)
    }

    #[test]
    fn one_interrupt_wakes_every_thread() {
        let (alarm, card) = alarm();
        let awake = AtomicUsize::new(0);
        let begin = Instant::now();
        scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    alarm.sleep(0, LONG);
                    awake.fetch_add(1, Ordering::Relaxed);
                });
            }
            sleep(Duration::from_millis(50));
            assert_eq!(awake.load(Ordering::Relaxed), 0);
            assert!(irq::signal(&card));
        });
        assert_eq!((awake.load(Ordering::Relaxed), alarm.count()), (4, 1));
        assert!(begin.elapsed() < LONG / 2);
        assert_eq!(irq::take(&card), 0, "the signal is taken");
    }

    #[test]
    fn an_interrupt_before_the_sleep_is_not_slept_through() {
        let (alarm, card) = alarm();
        let count = alarm.count();
        assert!(irq::signal(&card));
        alarm.sleep(count, LONG);
        assert_eq!(alarm.count(), count + 1);
        alarm.ring();
        alarm.sleep(count + 1, LONG);
    }

    #[test]
    fn the_end_of_the_watch_passes_it_on() {
        let (alarm, card) = alarm();
        scope(|scope| {
            // The first watches, and its time is over before the signal.
            scope.spawn(|| alarm.sleep(0, Duration::from_millis(50)));
            sleep(Duration::from_millis(20));
            scope.spawn(|| {
                let begin = Instant::now();
                alarm.sleep(0, LONG);
                assert!(begin.elapsed() < LONG / 2);
            });
            sleep(Duration::from_millis(100));
            assert_eq!(alarm.count(), 0);
            assert!(irq::signal(&card));
        });
    }

    #[test]
    fn a_thread_of_the_program_wakes_the_watching_one() {
        let (alarm, _card) = alarm();
        let begin = Instant::now();
        scope(|scope| {
            scope.spawn(|| alarm.sleep(0, LONG));
            sleep(Duration::from_millis(20));
            alarm.ring();
        });
        assert!(begin.elapsed() < LONG / 2);
    }
}
