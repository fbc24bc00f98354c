//! Congestion control of the reliable sender: a window of segments in flight for each destination, which marks of switches shrink.

use crate::{Bar, Device, Error, HostMemory, Registers, Result};
use spindle_contract::registers::node::{Congestion as Control, CongestionWindow};

/// Largest window, in segments.
pub const LARGEST_WINDOW: u16 = 1023;

/// How the card keeps what is in flight to a destination within a window.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Congestion {
    /// A marked packet takes 2^-`shrink` of a segment from the window of its destination; at most 3.
    pub shrink: u8,
    /// Smallest window, in segments, at least 1.
    pub least: u16,
    /// Window of a path that was not used yet, in segments, between `least` and `most`: at least what is in flight on an idle
    /// path, lest it lose rate.
    pub first: u16,
    /// Largest window, in segments, at most [`LARGEST_WINDOW`].
    pub most: u16,
}

impl Default for Congestion {
    fn default() -> Self {
        let windows = CongestionWindow::RESET;
        Self {
            shrink: Control::RESET.shrink() as u8,
            least: windows.least() as u16,
            first: windows.first() as u16,
            most: windows.most() as u16,
        }
    }
}

impl Congestion {
    /// Whether a card can do that.
    ///
    /// # Errors
    /// `shrink` or a window is out of range.
    pub fn check(&self) -> Result<()> {
        let Congestion { shrink, least, first, most } = *self;
        if shrink > 3 {
            return Err(Error::Argument(format!("a mark that takes 2^-{shrink} of a segment; choose at most 3")));
        }
        if !(1 <= least && least <= first && first <= most && most <= LARGEST_WINDOW) {
            return Err(Error::Argument(format!(
                "windows of {least}, {first} and {most} segments; choose 1 to {LARGEST_WINDOW}, none smaller than the one before"
            )));
        }
        Ok(())
    }
}

impl<B: Bar, M: HostMemory> Device<B, M> {
    /// Has the card obey the marks that the switches set in the packets which it sends reliably ([`Device::set_reliability`]), and
    /// send these as ECN-capable; `None`, as after reset: only the window of sequence numbers limits what is in flight. Receivers
    /// need nothing for it. Not while puts are under way.
    ///
    /// # Errors
    /// That of [`Congestion::check`].
    pub fn set_congestion_control(&mut self, congestion: Option<Congestion>) -> Result<()> {
        let chosen = congestion.unwrap_or_default();
        chosen.check()?;
        let Congestion { shrink, least, first, most } = chosen;
        let windows = CongestionWindow::ZERO.with_least(least.into()).with_first(first.into()).with_most(most.into());
        self.bar.write(windows)?;
        self.bar.write(Control::ZERO.with_shrink(shrink.into()).with_obey_marks(congestion.is_some()))
    }

    /// Whether the card obeys marks ([`Device::set_congestion_control`]).
    pub fn obeys_marks(&mut self) -> Result<bool> {
        Ok(self.bar.read::<Control>()?.obey_marks())
    }
}
