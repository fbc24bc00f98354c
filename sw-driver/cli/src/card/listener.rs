//! The event ring of a process, as commands wait for its records: asleep until the card's interrupt, where it has interrupts.

use super::live::{Live, Patience};
use anyhow::{Context, Result};
use spindle::moderation::vector;
use spindle::{irq, Event, EventRing, InterruptOptions};
use std::os::fd::OwnedFd;
use std::time::Duration;

/// Longest sleep: a signal that ends the command is noticed by then.
const LONGEST: Duration = Duration::from_millis(100);

/// An open event ring with its interrupt.
pub struct Listener {
    ring: EventRing,
    /// `None`: the transport has no interrupts, or time passes by calls only.
    interrupt: Option<OwnedFd>,
}

impl Listener {
    /// Opens the ring of a process with so many places.
    ///
    /// # Errors
    /// There is no such process, or the card does not answer.
    pub fn open(live: &mut Live, process: usize, records: usize) -> Result<Listener> {
        let ring = live.device.open_ring(process, records)?;
        let mut card = live.card.lock();
        let has = !card.time_moves_by_calls() && vector(process) < card.vectors();
        let interrupt = has.then(|| card.interrupt(vector(process))).transpose()?;
        drop(card);
        if has {
            live.device.set_interrupt(process, Some(InterruptOptions::default()))?;
        }
        Ok(Listener { ring, interrupt })
    }

    /// Closes the ring.
    ///
    /// # Errors
    /// The card does not answer.
    pub fn close(self, live: &mut Live) -> Result<()> {
        if self.interrupt.is_some() {
            live.device.set_interrupt(self.ring.process(), None)?;
        }
        Ok(live.device.close_ring(self.ring)?)
    }

    /// Looks until there is something, or the patience is over. A look that finds nothing has read all events.
    ///
    /// # Errors
    /// The card does not answer.
    pub fn wait<T>(
        &mut self,
        live: &mut Live,
        patience: &Patience,
        mut look: impl FnMut(&mut Live, &mut EventRing) -> Result<Option<T>>,
    ) -> Result<Option<T>> {
        loop {
            if let Some(found) = look(live, &mut self.ring)? {
                return Ok(Some(found));
            }
            if patience.is_over() {
                return Ok(None);
            }
            let Some(interrupt) = &self.interrupt else {
                live.breathe()?;
                continue;
            };
            live.device.arm(&mut self.ring)?;
            // What came before the interrupt was armed requests none.
            if let Some(found) = look(live, &mut self.ring)? {
                return Ok(Some(found));
            }
            irq::wait(interrupt, patience.left().min(LONGEST)).context("cannot wait for an interrupt")?;
        }
    }
}

/// Looks for the next event.
///
/// # Errors
/// The card does not answer.
pub fn next(live: &mut Live, ring: &mut EventRing) -> Result<Option<Event>> {
    Ok(live.device.poll_event(ring)?)
}

/// Reads all events, for a wait that only they end.
///
/// # Errors
/// The card does not answer.
pub fn skip(live: &mut Live, ring: &mut EventRing) -> Result<()> {
    while next(live, ring)?.is_some() {}
    Ok(())
}
