//! The shadow line of a process: pointers of its rings in host memory, which one write of any value makes the card read.
//!
//! For a program that may only ring an eventfd, which writes KICK: it writes the pointers to memory, then kicks. Contract: `shadow`.

use crate::access::halves;
use crate::{Bar, Device, EventRing, HostMemory, Result};
use spindle_contract::registers::{doorbell, doorbell_command, PAGE};
use spindle_contract::shadow::{BYTES, WORD_EVENT_HEAD, WORD_RING_TAIL};

/// The shadow line of a process.
#[derive(Debug)]
pub struct Shadow {
    process: usize,
    /// Address of the line.
    pub line: u64,
}

impl<B: Bar, M: HostMemory> Device<B, M> {
    /// Allocates a shadow line for a process, with both pointers 0, and names it to the card.
    pub fn open_shadow(&mut self, process: usize) -> Result<Shadow> {
        let line = self.memory.alloc(BYTES, BYTES)?;
        self.memory.write(line, &[0; BYTES])?;
        self.open_shadow_at(process, line)
    }

    /// Names this line of 64 bytes, aligned to 64, to the card.
    ///
    /// # Errors
    /// The line is not aligned, or outside the regions of a confined process.
    pub fn open_shadow_at(&mut self, process: usize, line: u64) -> Result<Shadow> {
        self.shadow_command(process, line, BYTES as u32)?;
        Ok(Shadow { process, line })
    }

    /// Removes the shadow line. When this returns, the card does not read it any more.
    pub fn close_shadow(&mut self, shadow: Shadow) -> Result<()> {
        self.shadow_command(shadow.process, 0, 0)
    }

    fn shadow_command(&mut self, process: usize, line: u64, bytes: u32) -> Result<()> {
        let [low, high] = halves(line);
        let staging = [(doorbell::BUFFER_LO, low), (doorbell::BUFFER_HI, high), (doorbell::SIZE, bytes)];
        self.ring(process, "open_shadow", doorbell_command::OPEN_SHADOW, &staging)?;
        Ok(())
    }

    /// Writes to the line how many commands the process has put into its command ring.
    pub fn shadow_tail(&mut self, shadow: &Shadow, tail: u32) -> Result<()> {
        self.memory.write(shadow.line + 4 * WORD_RING_TAIL as u64, &(tail & 0xFFFF).to_le_bytes())
    }

    /// Writes to the line which records of the event ring have been read, and whether the interrupt is armed.
    pub fn shadow_head(&mut self, shadow: &Shadow, ring: &EventRing, arm: bool) -> Result<()> {
        let word = doorbell::EventHead::ZERO.with_event_head(ring.read_so_far() & 0xFFFF).with_arm(arm);
        self.memory.write(shadow.line + 4 * WORD_EVENT_HEAD as u64, &word.0.to_le_bytes())
    }

    /// Makes the card read the line. The effect comes some hundred cycles later.
    pub fn kick(&mut self, shadow: &Shadow) -> Result<()> {
        self.bar.write32(doorbell::BASE + shadow.process as u32 * PAGE + doorbell::KICK, 1)
    }
}
