//! The function of a client: its process' part of the card.

use crate::bell::Bell;
use crate::card::{Card, ADMIN};
use crate::quota::{may_map, Quota};
use rustix::io::Errno;
use spindle::moderation::vector;
use spindle::vfio_user::{Doorbell, Function, Host, MapRequest};
use spindle::Access;
use spindle_contract::pci::{TIME_CYCLE, TIME_MODE, TIME_MOST, TIME_REGION_BYTES, TIME_RUN};
use spindle_contract::registers::{doorbell, global, node, rvma, PAGE};
use std::ops::Range;
use std::os::fd::{AsFd, OwnedFd};

/// Memory of a client on the card.
#[derive(Debug)]
struct Mapped {
    range: Range<u64>,
    access: Access,
}

/// What the daemon keeps of a client.
#[derive(Debug)]
pub struct Client {
    /// Its process.
    pub process: usize,
    /// Its memory and interrupts.
    pub host: Host,
    /// Process and user at the other end of its socket.
    pub peer: (u32, u32),
    bell: Bell,
    mapped: Vec<Mapped>,
}

impl Client {
    /// A client that has done nothing yet.
    pub fn new(process: usize, host: Host, peer: (u32, u32)) -> Client {
        Client { process, host, peer, bell: Bell::new(process), mapped: Vec::new() }
    }

    /// Open mailboxes.
    pub fn mailboxes(&self) -> usize {
        self.bell.mailboxes()
    }

    /// Maps and their bytes.
    pub fn maps(&self) -> (usize, u64) {
        (self.mapped.len(), self.mapped.iter().map(|map| map.range.end - map.range.start).sum())
    }

    /// Forwards the interrupts of these vectors, a bit each.
    pub fn interrupt(&self, vectors: u32) {
        let own = 1 << vector(self.process) | u32::from(self.process == ADMIN);
        let fire = vectors & own;
        for vector in (0..32).filter(|vector| fire >> vector & 1 == 1) {
            self.host.interrupts.fire(vector);
        }
    }
}

/// A client with the card, for the time of a call.
pub struct Share<'a> {
    /// The card.
    pub card: &'a mut Card,
    /// Its quota.
    pub quota: &'a Quota,
    /// The client.
    pub client: &'a mut Client,
}

impl Share<'_> {
    /// Offset of a register in the doorbell page of the process; `None`: it is another page's.
    fn own(&self, address: u32) -> Option<u32> {
        let page = doorbell::BASE + self.client.process as u32 * PAGE;
        (page..page + PAGE).contains(&address).then(|| address - page)
    }

    /// Whether the client may access a register outside of its doorbell page.
    fn may(&self, address: u32, writes: bool) -> bool {
        if self.client.process != ADMIN {
            // What the card is, its time, and what a process has to look up of its puts.
            let counters = rvma::BASE + rvma::PLACED_PACKETS..rvma::BASE + PAGE;
            let readable = address < global::BASE + PAGE
                || counters.contains(&address)
                || address == node::BASE + node::LAST_REFUSAL;
            return !writes && readable;
        }
        let page = address - address % PAGE;
        if page > doorbell::BASE {
            // Another client's: a command there that did nothing would look as if it had succeeded.
            return false;
        }
        let guarded = match page {
            rvma::BASE => (rvma::REGION_FIRST..=rvma::UNCHECKED + 4).contains(&(address % PAGE)),
            global::BASE => [global::RESET, global::IRQ_MAP].contains(&(address % PAGE)),
            _ => false,
        };
        !(writes && guarded)
    }

    /// Ends what the process has begun.
    fn close(&mut self) {
        if let Err(error) = self.client.bell.close(self.card) {
            log::warn!("process {} is not closed: {error}", self.client.process);
        }
    }

    fn take_back(&mut self, mapped: &Mapped) {
        let process = self.client.process;
        let taken = self.card.device.deregister_region(process, &mapped.range, mapped.access);
        if let Err(error) = taken {
            log::error!("a region of process {process} stays: {error}");
        }
        self.card.unmap(process, &mapped.range);
    }
}

/// The address of a word.
fn word(offset: u64, bytes: usize) -> Result<u32, Errno> {
    match bytes == 4 && offset.is_multiple_of(4) {
        true => u32::try_from(offset).map_err(|_| Errno::INVAL),
        false => Err(Errno::INVAL),
    }
}

impl Function for Share<'_> {
    fn read(&mut self, offset: u64, bytes: &mut [u8]) -> Result<(), Errno> {
        let address = word(offset, bytes.len())?;
        let value = match self.own(address) {
            Some(offset) => self.client.bell.read(self.card, offset)?,
            None if self.may(address, false) => self.card.read(address)?,
            None => return Err(Errno::ACCESS),
        };
        bytes.copy_from_slice(&value.to_le_bytes());
        Ok(())
    }

    fn write(&mut self, offset: u64, bytes: &[u8]) -> Result<(), Errno> {
        let address = word(offset, bytes.len())?;
        let value = u32::from_le_bytes(bytes.try_into().map_err(|_| Errno::INVAL)?);
        match self.own(address) {
            Some(offset) => self.client.bell.write(self.card, self.quota, offset, value),
            None if self.may(address, true) => self.card.write(address, value),
            None => Err(Errno::ACCESS),
        }
    }

    /// Closes rings and windows; memory stays mapped, as of any function that is reset.
    fn reset(&mut self) {
        self.close();
    }

    /// The card's time, if it moves by calls.
    fn own_region(&self) -> u64 {
        match self.card.card.lock().time_moves_by_calls() {
            true => TIME_REGION_BYTES,
            false => 0,
        }
    }

    fn read_own(&mut self, offset: u64, bytes: &mut [u8]) -> Result<(), Errno> {
        let value = match offset {
            TIME_CYCLE => {
                let cycle = self.card.device.cycle();
                self.card.settle(cycle)?
            }
            TIME_MODE => 1,
            _ => return Err(Errno::INVAL),
        };
        let size = bytes.len();
        bytes.copy_from_slice(value.to_le_bytes().get(..size).ok_or(Errno::INVAL)?);
        Ok(())
    }

    fn write_own(&mut self, offset: u64, bytes: &[u8]) -> Result<(), Errno> {
        let cycles = u64::from_le_bytes(bytes.try_into().map_err(|_| Errno::INVAL)?);
        if offset != TIME_RUN || cycles > TIME_MOST {
            return Err(Errno::INVAL);
        }
        let run = self.card.card.lock().pause(cycles);
        self.card.settle(run)
    }

    fn doorbells(&self) -> Vec<Doorbell> {
        let page = doorbell::BASE + self.client.process as u32 * PAGE;
        vec![Doorbell { offset: (page + doorbell::KICK).into(), value: 1 }]
    }

    fn doorbell_event(&mut self, doorbell: Doorbell) -> Option<OwnedFd> {
        let event = self.card.card.lock().kick(doorbell.offset as u32, doorbell.value);
        self.card.settle(event).ok().flatten()
    }

    fn connected(&mut self) {
        let (pid, uid) = self.client.peer;
        log::info!("process {}: client with pid {pid} of user {uid}", self.client.process);
    }

    fn leaving(&mut self) {
        self.close();
    }

    fn disconnected(&mut self) {
        log::info!("process {}: the client is gone", self.client.process);
    }

    fn map(&mut self, map: &MapRequest) -> Result<(), Errno> {
        // Memory that only the client reaches is nothing to the card.
        let Some((file, offset)) = &map.file else { return Ok(()) };
        let (maps, bytes) = self.client.maps();
        may_map(self.quota, maps, bytes, map.range.end - map.range.start)?;
        let process = self.client.process;
        self.card.map(process, file.as_fd(), *offset, &map.range)?;
        let access = match (map.readable, map.writable) {
            (true, false) => Access::Read,
            (false, true) => Access::Write,
            _ => Access::ReadWrite,
        };
        let registered = self.card.device.register_region(process, map.range.clone(), access);
        if let Err(errno) = self.card.settle(registered) {
            self.card.unmap(process, &map.range);
            return Err(errno);
        }
        self.client.mapped.push(Mapped { range: map.range.clone(), access });
        Ok(())
    }

    fn unmap(&mut self, range: &Range<u64>) {
        let inside = |map: &Mapped| range.start <= map.range.start && map.range.end <= range.end;
        let (gone, stay) = std::mem::take(&mut self.client.mapped).into_iter().partition(inside);
        self.client.mapped = stay;
        Vec::<Mapped>::into_iter(gone).for_each(|mapped| self.take_back(&mapped));
    }
}
