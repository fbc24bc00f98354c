//! Command rings: posting many buffers with one register access.

use crate::access::halves;
use crate::rvma::{refusal, Posted, Window};
use crate::{Bar, Device, Error, HostMemory, Result};
use spindle_contract::commands::{self, BYTES, MAX_COMMANDS};
use spindle_contract::registers::{doorbell, doorbell_command, doorbell_error, PAGE};
use spindle_contract::wire;

/// The command ring of a process, open.
#[derive(Debug)]
pub struct CommandRing {
    process: usize,
    base: u64,
    places: u32,
    /// Commands written, and those that the card had carried out when it was asked last.
    tail: u32,
    done: u32,
    /// Command that was made nothing of, and may still be reported as failed.
    mended: Option<u32>,
}

impl<B: Bar, M: HostMemory> Device<B, M> {
    /// Allocates the command ring of a process and opens it; `places` is a power of two from 2 to 32768. One that the process had before
    /// is forgotten.
    pub fn open_commands(&mut self, process: usize, places: usize) -> Result<CommandRing> {
        if !places.is_power_of_two() || !(2..=MAX_COMMANDS).contains(&places) {
            return Err(Error::Argument(format!(
                "a command ring of {places} places cannot be had; choose a power of two from 2 to {MAX_COMMANDS}"
            )));
        }
        let bytes = places * BYTES;
        let base = self.memory.alloc(bytes, bytes)?;
        self.commands_command(process, base, bytes as u32)?;
        Ok(CommandRing { process, base, places: places as u32, tail: 0, done: 0, mended: None })
    }

    /// Closes a ring. When this returns the card does not read its memory any more; commands that were not carried out never will be.
    pub fn close_commands(&mut self, ring: CommandRing) -> Result<()> {
        self.commands_command(ring.process, 0, 0)
    }

    fn commands_command(&mut self, process: usize, base: u64, bytes: u32) -> Result<()> {
        let [base_lo, base_hi] = halves(base);
        let staging = [
            (doorbell::BUFFER_LO, base_lo),
            (doorbell::BUFFER_HI, base_hi),
            (doorbell::SIZE, bytes),
            (doorbell::RING_TAIL, 0),
        ];
        self.ring(process, "open_commands", doorbell_command::OPEN_COMMANDS, &staging)?;
        Ok(())
    }

    /// Posts as many of these buffers as the ring has room for, and returns their number. Their records are zeroed.
    /// RING_TAIL is written once, for all.
    ///
    /// # Errors
    /// An earlier post could not be carried out: see [`Device::posts_left`].
    pub fn post_many(&mut self, ring: &mut CommandRing, window: Window, buffers: &[Posted]) -> Result<usize> {
        if window.process != ring.process {
            return Err(Error::Argument(format!(
                "the window belongs to process {}, the command ring to process {}",
                window.process, ring.process
            )));
        }
        if ring.tail.wrapping_sub(ring.done) as usize + buffers.len() > ring.places as usize {
            self.posts_left(ring)?;
        }
        let room = ring.places - ring.tail.wrapping_sub(ring.done);
        let taken = buffers.len().min(room as usize);
        for posted in &buffers[..taken] {
            self.memory.write(posted.record, &[0; wire::RECORD_BYTES])?;
            let at = ring.base + u64::from(ring.tail % ring.places) * BYTES as u64;
            self.memory.write(at, &command(window.mailbox, posted))?;
            ring.tail = ring.tail.wrapping_add(1);
        }
        if taken > 0 {
            self.write_tail(ring)?;
        }
        Ok(taken)
    }

    /// How many posts of a ring have not been carried out. Posts that wait for a free buffer slot are tried again.
    ///
    /// # Errors
    /// The oldest of them cannot be carried out. The ring skips it, and continues with the next one.
    pub fn posts_left(&mut self, ring: &mut CommandRing) -> Result<u32> {
        let page = doorbell::BASE + ring.process as u32 * PAGE;
        let state = doorbell::RingDone(self.bar.read32(page + doorbell::RING_DONE)?);
        let ahead = (state.done() as u16).wrapping_sub(ring.done as u16);
        ring.done = ring.done.wrapping_add(ahead.into());
        let left = ring.tail.wrapping_sub(ring.done);
        match state.error() {
            doorbell_error::NONE => {}
            _ if ring.mended == Some(ring.done) => {}
            doorbell_error::NO_SLOT => self.write_tail(ring)?,
            code => {
                let at = ring.base + u64::from(ring.done % ring.places) * BYTES as u64;
                self.memory.write(at, &[commands::NOTHING; BYTES])?;
                ring.mended = Some(ring.done);
                self.write_tail(ring)?;
                return Err(Error::Doorbell { command: "post_many", why: refusal(code) });
            }
        }
        Ok(left)
    }

    /// Waits until all posts of a ring have been carried out, at most `cycles` cycles of the card.
    pub fn wait_posts(&mut self, ring: &mut CommandRing, cycles: u64) -> Result<()> {
        let start = self.cycle()?;
        while self.posts_left(ring)? > 0 {
            if self.cycle()?.saturating_sub(start) > cycles {
                return Err(Error::Timeout { what: format!("posts of process {}", ring.process), cycles });
            }
        }
        Ok(())
    }

    fn write_tail(&mut self, ring: &CommandRing) -> Result<()> {
        let page = doorbell::BASE + ring.process as u32 * PAGE;
        self.bar.write32(page + doorbell::RING_TAIL, ring.tail & 0xFFFF)
    }
}

/// The command that posts a buffer.
fn command(mailbox: u32, posted: &Posted) -> [u8; BYTES] {
    let head = commands::Head::ZERO.with_code(commands::POST_BUFFER.into()).with_mailbox(mailbox);
    let mut bytes = [0; BYTES];
    let mut word = |at: usize, value: &[u8]| bytes[4 * at..4 * at + value.len()].copy_from_slice(value);
    word(commands::WORD_CODE, &head.0.to_le_bytes());
    word(commands::WORD_SIZE, &posted.size.to_le_bytes());
    word(commands::WORD_BUFFER, &posted.buffer.to_le_bytes());
    word(commands::WORD_RECORD, &posted.record.to_le_bytes());
    bytes
}
