//! Interrupts: which vector a process has, and when records of its event ring are worth an interrupt.
//!
//! An interrupt is armed for one time by [`Device::arm`], and fires for the records after those that the ring has given out. A program
//! that waits reads its ring until it is empty, arms, and sleeps: a record that comes between the two fires at once. An interrupt
//! without a record is possible, for instance when a ring is opened again.

use crate::{Bar, Device, Error, EventRing, HostMemory, Registers, Result};
use spindle_contract::pci::VECTORS;
use spindle_contract::registers::{doorbell, global, PAGE};

/// Cycles of a unit of IRQ.time, and the most units.
const UNIT: u64 = 64;
const MOST_UNITS: u64 = (1 << 15) - 1;

/// Vector of a process after reset: 1 to 15. Vector 0 is the card's own.
pub const fn vector(process: usize) -> usize {
    1 + process % (VECTORS - 1)
}

/// When an armed interrupt fires.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct InterruptOptions {
    /// So many unread records, at least 1.
    pub events: u8,
    /// So many cycles after the first unread record, rounded up to a multiple of 64; 0: only the records count.
    pub cycles: u64,
}

impl Default for InterruptOptions {
    /// At the first record.
    fn default() -> Self {
        InterruptOptions { events: 1, cycles: 0 }
    }
}

impl<B: Bar, M: HostMemory> Device<B, M> {
    /// Lets the event ring of a process request interrupts, once each time that it is [armed](Device::arm); `None`: never, as after reset.
    ///
    /// # Errors
    /// The process has no doorbell page, or the time is more than the card can count: 2,097,088 cycles.
    pub fn set_interrupt(&mut self, process: usize, options: Option<InterruptOptions>) -> Result<()> {
        let word = match options {
            None => doorbell::Irq::ZERO,
            Some(options) if options.cycles.div_ceil(UNIT) > MOST_UNITS => {
                return Err(Error::Argument(format!(
                    "an interrupt cannot wait for {} cycles; at most {}, 0 = no limit",
                    options.cycles,
                    UNIT * MOST_UNITS
                )));
            }
            Some(options) => doorbell::Irq::ZERO
                .with_events(options.events.into())
                .with_time(options.cycles.div_ceil(UNIT) as u32)
                .with_enable(true),
        };
        self.stage_bell(process, &[(doorbell::IRQ, word.0)])
    }

    /// Sets the interrupt vector of a process: 0 to 15. After reset the process has [`vector`] of its number.
    ///
    /// # Errors
    /// There is no such process or vector.
    pub fn set_vector(&mut self, process: usize, vector: usize) -> Result<()> {
        if process >= self.info.processes || vector >= VECTORS {
            return Err(Error::Argument(format!(
                "process {process} cannot have vector {vector}; the card has {} processes and {VECTORS} vectors",
                self.info.processes
            )));
        }
        self.bar.write(global::IrqMap::ZERO.with_process(process as u32).with_vector(vector as u32))
    }

    /// Chooses the causes of the card's own interrupt, vector 0: fault reports, printed text. It comes when a cause appears, so the owner
    /// takes reports until there is none.
    pub fn set_card_interrupt(&mut self, faults: bool, prints: bool) -> Result<()> {
        self.bar.write(global::IrqCard::ZERO.with_faults(faults).with_prints(prints))
    }

    /// Arms the interrupt of a ring for one time, and gives back the places of the records that were read.
    pub fn arm(&mut self, ring: &mut EventRing) -> Result<()> {
        let word = doorbell::EventHead::ZERO.with_event_head(ring.read_so_far() & 0xFFFF).with_arm(true);
        let page = doorbell::BASE + ring.process() as u32 * PAGE;
        self.bar.write32(page + doorbell::EVENT_HEAD, word.0)?;
        ring.credited();
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::vector;

    #[test]
    fn processes_share_the_vectors_after_the_cards_own() {
        let vectors: Vec<usize> = (0..17).map(vector).collect();
        assert_eq!(vectors[..15], (1..16).collect::<Vec<_>>());
        assert_eq!(vectors[15..], [1, 2]);
    }
}
