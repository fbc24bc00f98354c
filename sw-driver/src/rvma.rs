//! RVMA mailboxes: windows, posted buffers, completion records.

use crate::access::{halves, whole};
use crate::{Bar, Device, Error, HostMemory, Result};
use spindle_contract::registers::{doorbell, doorbell_command, doorbell_error, PAGE};
use spindle_contract::wire;

/// A mailbox, open.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Window {
    /// The process it belongs to: its doorbell page.
    pub process: usize,
    /// The card's handle of it: its number, and above that a generation.
    pub mailbox: u32,
}

impl Window {
    /// Its number, as events name it.
    pub fn number(self) -> u32 {
        const NUMBER: u32 = 0xFFF;
        self.mailbox & NUMBER
    }
}

/// A buffer posted to a mailbox.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Posted {
    /// Address of its memory.
    pub buffer: u64,
    /// Its bytes.
    pub size: u32,
    /// Address of its completion record.
    pub record: u64,
}

/// A completion record, written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Completed {
    /// Bytes placed.
    pub length: u32,
    /// `wire::status`.
    pub status: u8,
    /// Epoch that ended.
    pub epoch: u16,
    /// Address of the buffer.
    pub buffer: u64,
}

impl Completed {
    /// The record of these bytes, if the card has written it.
    pub fn parse(record: &[u8; wire::RECORD_BYTES]) -> Option<Completed> {
        let word = |at: usize| u32::from_le_bytes([record[at], record[at + 1], record[at + 2], record[at + 3]]);
        let status = record[wire::RECORD_STATUS];
        (status != 0).then(|| Completed {
            length: word(wire::RECORD_LENGTH),
            status,
            epoch: u16::from_le_bytes([record[wire::RECORD_EPOCH], record[wire::RECORD_EPOCH + 1]]),
            buffer: whole(word(wire::RECORD_BUFFER), word(wire::RECORD_BUFFER + 4)),
        })
    }

    /// The record at this address, if the card has written it.
    fn read(memory: &impl HostMemory, address: u64) -> Result<Option<Completed>> {
        // The status first: the card may write the record while its bytes are read, and all of them are there when the status is.
        let mut status = [0];
        memory.read(address + wire::RECORD_STATUS as u64, &mut status)?;
        if status == [0] {
            return Ok(None);
        }
        let mut record = [0; wire::RECORD_BYTES];
        memory.read(address, &mut record)?;
        Ok(Completed::parse(&record))
    }
}

/// Register reads after which an unanswered doorbell command is given up.
const DOORBELL_POLLS: usize = 10_000;

impl<B: Bar, M: HostMemory> Device<B, M> {
    /// Opens a mailbox of process `process` for puts to `address` with `key`; a buffer is complete after `threshold` bytes.
    pub fn init_window(&mut self, process: usize, address: u64, key: u32, threshold: u32) -> Result<Window> {
        let staging = [
            (doorbell::ADDR_LO, halves(address)[0]),
            (doorbell::ADDR_HI, halves(address)[1]),
            (doorbell::KEY, key),
            (doorbell::THRESHOLD, threshold),
            (doorbell::MODE, 0),
        ];
        let mailbox = self.ring(process, "init_window", doorbell_command::INIT_WINDOW, &staging)?;
        Ok(Window { process, mailbox })
    }

    /// Allocates a buffer and its record and posts them.
    pub fn post_buffer(&mut self, window: Window, size: u32) -> Result<Posted> {
        let buffer = self.memory.alloc(size as usize, 64)?;
        let record = self.memory.alloc(wire::RECORD_BYTES, wire::RECORD_BYTES)?;
        self.post(window, Posted { buffer, size, record })
    }

    /// Posts memory of the caller. The record is zeroed first.
    pub fn post(&mut self, window: Window, posted: Posted) -> Result<Posted> {
        self.stage_buffer(window, posted)?;
        self.ring(window.process, "post_buffer", doorbell_command::POST_BUFFER, &[])?;
        Ok(posted)
    }

    /// Stages what a buffer is posted with, and zeroes its record.
    pub(crate) fn stage_buffer(&mut self, window: Window, posted: Posted) -> Result<()> {
        self.memory.write(posted.record, &[0; wire::RECORD_BYTES])?;
        let staging = [
            (doorbell::MAILBOX, window.mailbox),
            (doorbell::BUFFER_LO, halves(posted.buffer)[0]),
            (doorbell::BUFFER_HI, halves(posted.buffer)[1]),
            (doorbell::SIZE, posted.size),
            (doorbell::RECORD_LO, halves(posted.record)[0]),
            (doorbell::RECORD_HI, halves(posted.record)[1]),
        ];
        self.stage_bell(window.process, &staging)
    }

    /// The record, if the buffer is complete.
    pub fn poll(&self, posted: &Posted) -> Result<Option<Completed>> {
        Completed::read(&self.memory, posted.record)
    }

    /// Waits for the completion of a buffer, at most `cycles` cycles of the card.
    pub fn wait(&mut self, posted: &Posted, cycles: u64) -> Result<Completed> {
        let mut patience = self.patience(cycles)?;
        loop {
            if let Some(completed) = self.poll(posted)? {
                return Ok(completed);
            }
            if self.is_over(&mut patience)? {
                return Err(Error::Timeout { what: format!("the completion record at {:#x}", posted.record), cycles });
            }
        }
    }

    /// Writes the staging registers, issues the command and waits for the result.
    pub(crate) fn ring(
        &mut self,
        process: usize,
        name: &'static str,
        command: u32,
        staging: &[(u32, u32)],
    ) -> Result<u32> {
        self.stage_bell(process, staging)?;
        self.command(process, name, command)?.map_err(|code| Error::Doorbell { command: name, why: refusal(code) })
    }

    /// Refuses a process that this card does not have.
    pub(crate) fn check_process(&self, process: usize) -> Result<()> {
        if process >= self.info.processes {
            return Err(Error::Argument(format!(
                "process {process} has no doorbell page; the card has {}",
                self.info.processes
            )));
        }
        Ok(())
    }

    /// Refuses a window that this card cannot have given: its process, or a handle beyond the 16 bits of commands and registers.
    pub(crate) fn check_window(&self, window: Window) -> Result<()> {
        self.check_process(window.process)?;
        if window.mailbox > u32::from(u16::MAX) {
            return Err(Error::Argument(format!(
                "{:#x} is no handle of a mailbox; use the window that Device::open_window returns",
                window.mailbox
            )));
        }
        Ok(())
    }

    /// Writes staged registers of a process' page.
    pub(crate) fn stage_bell(&mut self, process: usize, staging: &[(u32, u32)]) -> Result<()> {
        self.check_process(process)?;
        let page = doorbell::BASE + process as u32 * PAGE;
        for (register, value) in staging {
            self.bar.write32(page + register, *value)?;
        }
        Ok(())
    }

    /// Issues a command with what is staged: its result, or the card's error code.
    pub(crate) fn command(
        &mut self,
        process: usize,
        name: &'static str,
        command: u32,
    ) -> Result<std::result::Result<u32, u32>> {
        let page = doorbell::BASE + process as u32 * PAGE;
        self.bar.write32(page + doorbell::COMMAND, command)?;
        for _ in 0..DOORBELL_POLLS {
            let result = doorbell::Result(self.bar.read32(page + doorbell::RESULT)?);
            if !result.busy() {
                return Ok(match result.error() {
                    // Of another process; this one was not begun.
                    doorbell_error::BUSY => {
                        self.bar.write32(page + doorbell::COMMAND, command)?;
                        continue;
                    }
                    doorbell_error::NONE => Ok(result.value()),
                    code => Err(code),
                });
            }
        }
        Err(Error::Doorbell { command: name, why: "it did not answer; the card may need a reset" })
    }
}

pub(crate) fn refusal(code: u32) -> &'static str {
    match code {
        doorbell_error::UNSUPPORTED => "this version of the hardware does not know the command",
        doorbell_error::TABLE_FULL => "the mailbox table has no room for this address; close a mailbox",
        doorbell_error::EXISTS => "the address is open already; close its mailbox first",
        doorbell_error::NO_MAILBOX => "there is no such mailbox, or it belongs to another process",
        doorbell_error::NO_SLOT => "no buffer slot is free; wait for a completion",
        doorbell_error::NO_MAP => {
            "no receive map is free, or there is no such map of this process; give one back with free_map"
        }
        doorbell_error::NO_RIGHT => "the process may not send frames; give it the right with set_sender",
        doorbell_error::NOTHING => "there is no incomplete buffer, or no such buffer in the history",
        doorbell_error::BUSY => "a command of another process is under way; try again",
        doorbell_error::OUT_OF_REGION => "the process names memory outside of its regions, or without the right; register it first",
        doorbell_error::HOST_ERROR => "the card could not read the command from host memory",
        doorbell_error::BAD_ARGUMENT => {
            "a record must be aligned to 16, a size must not be 0, a threshold must be between 1 and the size, and a ring \
             must be a power of two aligned to its size"
        }
        _ => "an error code that this library does not know",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::Cell;

    /// A record that the card writes after so many bytes have been read.
    struct WrittenAfter(Cell<usize>);

    const RECORD: [u8; wire::RECORD_BYTES] = [7, 1, 0, 0, 1, 0, 9, 0, 0x40, 0, 0, 0, 2, 0, 0, 0];

    impl HostMemory for WrittenAfter {
        fn alloc(&mut self, _: usize, _: usize) -> Result<u64> {
            unreachable!("the record is there")
        }

        fn free(&mut self, _: u64) -> Result<()> {
            unreachable!("the record stays")
        }

        fn read(&self, address: u64, bytes: &mut [u8]) -> Result<()> {
            for (at, byte) in bytes.iter_mut().enumerate() {
                *byte = if self.0.get() == 0 { RECORD[address as usize + at] } else { 0 };
                self.0.set(self.0.get().saturating_sub(1));
            }
            Ok(())
        }

        fn write(&mut self, _: u64, _: &[u8]) -> Result<()> {
            unreachable!("the card writes it")
        }
    }

    #[test]
    fn a_record_that_is_written_while_it_is_read_is_whole_or_not_there() {
        let whole = Completed { length: 0x107, status: 1, epoch: 9, buffer: 2 << 32 | 0x40 };
        for bytes in 0..40 {
            let memory = WrittenAfter(Cell::new(bytes));
            match Completed::read(&memory, 0).unwrap() {
                Some(completed) => assert_eq!(completed, whole, "written after {bytes} bytes"),
                None => assert!(bytes > 0),
            }
        }
    }
}
