//! Cards of another program, over vfio-user: `unix:/run/nic0.sock`. The other program is `spindle serve`, or `spindled`, which owns a
//! card and gives each client a share of it: the registers of one process.
//!
//! Memory for the card lies in files that the server maps. Memory of the program is given by a descriptor of `/proc/self/mem`: the
//! server cannot map that file, and reads and writes it, so that any memory can be registered at its own address.

use super::pages::{MapPages, Pages};
use crate::config_space::{COMMAND_MEMORY_AND_MASTER, COMMAND_OFFSET};
use crate::dma::{Arenas, SharedMemory, HUGE_PAGE};
use crate::vfio_user::function::{ERROR, MSIX};
use crate::vfio_user::{Client, IoEventFd};
use crate::{irq, Bar, Card, Error, HostMemory, Identity, Result};
use spindle_contract::pci::{REGISTER_BAR, TIME_MODE, TIME_MOST, TIME_REGION, TIME_REGION_KIND, TIME_RUN, VENDOR};
use spindle_contract::registers::{self, global};
use std::fs::File;
use std::ops::Range;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::Path;
use std::time::{Duration, Instant};
use vfio_bindings::bindings::vfio::{VFIO_PCI_CONFIG_REGION_INDEX, VFIO_REGION_TYPE_PCI_VENDOR_TYPE};

const CONFIG: u32 = VFIO_PCI_CONFIG_REGION_INDEX;
const REGISTERS: u32 = REGISTER_BAR as u32;
const TIME: u32 = TIME_REGION as u32;
const PAGE: u64 = 4096;
/// Addresses for the card's memory if the server names none: above the low 4 GiB, below the program's own.
const WINDOW: Range<u64> = 4 << 30..1 << 40;
/// Vectors of a function, by the field of MSI-X that counts them.
const MOST_VECTORS: usize = 2048;
/// What a read of an absent PCI function gives.
const ALL_ONES: u32 = u32::MAX;
/// How long a reset may take.
const RESET_LIMIT: Duration = Duration::from_secs(10);
/// A pause ends after so long at most: who waits looks again.
const LONGEST_PAUSE: Duration = Duration::from_millis(10);

/// How long a card whose time moves by calls may take for an answer: in a network its time stands still until all other clients call,
/// too, and they may be started by hand. A server that ends closes its socket, which is noticed at once.
const STEP_LIMIT: Duration = Duration::from_secs(24 * 60 * 60);

/// A card of another program, open.
#[derive(Debug)]
pub struct UserCard {
    client: Client,
    arenas: Arenas,
    pages: Pages,
    /// Addresses that the card's memory has not used yet.
    free: Range<u64>,
    memory: File,
    vectors: Vec<Option<OwnedFd>>,
    error: Option<OwnedFd>,
    doorbells: Option<Vec<(IoEventFd, OwnedFd)>>,
    registers: u64,
    time_moves_by_calls: bool,
    pci: (u16, u16),
}

/// Gives the server pages of the program.
struct OwnPages<'a> {
    client: &'a mut Client,
    memory: &'a File,
}

impl MapPages for OwnPages<'_> {
    fn map_pages(&mut self, pages: &Range<u64>) -> Result<()> {
        self.client.map(self.memory.as_fd(), pages.start, pages)
    }

    fn unmap_pages(&mut self, pages: &Range<u64>) -> Result<()> {
        self.client.unmap(pages)
    }
}

impl UserCard {
    /// Connects to the server of a socket, and switches the card's memory and bus master on.
    pub fn open(path: &Path) -> Result<UserCard> {
        UserCard::over(Client::connect(path)?)
    }

    /// The card of a connection.
    pub fn over(mut client: Client) -> Result<UserCard> {
        let info = client.info()?;
        let registers = client.region(REGISTERS)?.bytes;
        let time_moves_by_calls = info.regions > TIME && has_steps(&mut client)?;
        if time_moves_by_calls {
            client.set_limit(STEP_LIMIT);
        }
        let mut ids = [0; 4];
        client.read(CONFIG, 0, &mut ids)?;
        let vectors = client.interrupts(MSIX)?;
        if vectors > MOST_VECTORS {
            return Err(client.lost(format!(
                "its server reports {vectors} interrupt vectors, where MSI-X has at most {MOST_VECTORS}"
            )));
        }
        let window = client.server().window.map_or(WINDOW, |[start, end]| start..end);
        let memory = File::options().read(true).write(true).open("/proc/self/mem").map_err(|source| {
            let cure = "mount /proc".into();
            Error::Transport { action: "open the memory of this program, /proc/self/mem".into(), source, cure }
        })?;
        let mut card = UserCard {
            client,
            arenas: Arenas::default(),
            pages: Pages::new(PAGE),
            free: window,
            memory,
            vectors: (0..vectors).map(|_| None).collect(),
            error: None,
            doorbells: None,
            registers,
            time_moves_by_calls,
            pci: (u16::from_le_bytes([ids[0], ids[1]]), u16::from_le_bytes([ids[2], ids[3]])),
        };
        card.switch(COMMAND_MEMORY_AND_MASTER)?;
        card.watch_errors()?;
        Ok(card)
    }

    /// Writes the command register, and waits for the reply.
    fn switch(&mut self, command: u16) -> Result<()> {
        self.client.write(CONFIG, COMMAND_OFFSET, &command.to_le_bytes())
    }

    /// Gives the server an eventfd for errors of the card, if it reports them.
    fn watch_errors(&mut self) -> Result<()> {
        if self.client.interrupts(ERROR)? > 0 {
            let event = irq::create()?;
            self.client.set_interrupts(ERROR, 0, &[event.as_fd()])?;
            self.error = Some(event);
        }
        Ok(())
    }

    /// An error if the server has reported one of the card.
    fn check(&mut self) -> Result<()> {
        match self.error.as_ref().is_some_and(|event| irq::take(event) > 0) {
            true => Err(self.client.lost("its server reports an error of the card")),
            false => Ok(()),
        }
    }

    fn word(&mut self, address: u32) -> Result<u32> {
        let mut word = [0; 4];
        let read = self.client.read(REGISTERS, address.into(), &mut word);
        read.map_err(|error| of_register(error, "read", address))?;
        Ok(u32::from_le_bytes(word))
    }

    fn in_bar(&self, access: &'static str, address: u32) -> Result<()> {
        match address.is_multiple_of(4) && u64::from(address) + 4 <= self.registers {
            true => Ok(()),
            false => {
                let why = format!("the BAR has {} bytes, and registers are aligned to 4", self.registers);
                Err(Error::Bar { access, address, why })
            }
        }
    }
}

/// Whether the server has the region of the card's time, and the time moves by calls.
fn has_steps(client: &mut Client) -> Result<bool> {
    let kind = VFIO_REGION_TYPE_PCI_VENDOR_TYPE | u32::from(VENDOR);
    if client.region(TIME)?.kind != Some((kind, TIME_REGION_KIND)) {
        return Ok(false);
    }
    let mut mode = [0; 8];
    client.read(TIME, TIME_MODE, &mut mode)?;
    Ok(mode != [0; 8])
}

/// A refusal as an error of the register.
fn of_register(error: Error, access: &'static str, address: u32) -> Error {
    match error {
        Error::Refused { why, .. } => Error::Bar { access, address, why },
        other => other,
    }
}

impl Drop for UserCard {
    fn drop(&mut self) {
        // After the reply nothing is written to the program's memory, whenever the server notices the end.
        if let Err(error) = self.switch(0) {
            log::debug!("{}: {error}", self.client.address());
        }
    }
}

impl Bar for UserCard {
    fn read32(&mut self, address: u32) -> Result<u32> {
        self.in_bar("read", address)?;
        self.check()?;
        let value = self.word(address)?;
        if value == ALL_ONES && self.word(global::BASE + global::MAGIC)? == ALL_ONES {
            return Err(self.client.lost("its registers read all ones, as those of an unplugged card do"));
        }
        Ok(value)
    }

    /// Posted, as on a bus. On a card whose time moves by calls, the write has ended: when a later look at memory finds what the card
    /// wrote meanwhile does not depend on the speed of the server.
    fn write32(&mut self, address: u32, value: u32) -> Result<()> {
        self.in_bar("write", address)?;
        if self.time_moves_by_calls {
            let written = self.client.write(REGISTERS, address.into(), &value.to_le_bytes());
            return written.map_err(|error| of_register(error, "write", address));
        }
        self.client.post(REGISTERS, address.into(), &value.to_le_bytes())
    }
}

impl HostMemory for UserCard {
    fn alloc(&mut self, bytes: usize, align: usize) -> Result<u64> {
        let (client, free) = (&mut self.client, &mut self.free);
        self.arenas.alloc(bytes, align, |bytes| {
            let memory = SharedMemory::new(bytes)?;
            // A server may name a window that ends with the last address.
            let base = free.start.checked_next_multiple_of(HUGE_PAGE as u64).unwrap_or(u64::MAX);
            let end = base.saturating_add(memory.bytes() as u64);
            if end > free.end || end - base < memory.bytes() as u64 {
                let (wanted, left) = (memory.bytes(), free.end.saturating_sub(base) as usize);
                let cure = "free memory, or ask for less";
                return Err(Error::Full { what: "bytes at the addresses of its window", wanted, free: left, cure });
            }
            client.map(memory.file(), 0, &(base..end))?;
            free.start = end;
            Ok((memory, base))
        })
    }

    fn free(&mut self, address: u64) -> Result<()> {
        self.arenas.free(address)
    }

    fn read(&self, address: u64, bytes: &mut [u8]) -> Result<()> {
        self.arenas.read(address, bytes)
    }

    fn write(&mut self, address: u64, bytes: &[u8]) -> Result<()> {
        self.arenas.write(address, bytes)
    }
}

impl Card for UserCard {
    fn identity(&self) -> Identity {
        Identity { address: self.client.address().into(), transport: "vfio-user", pci: Some(self.pci) }
    }

    fn map(&mut self, range: &Range<u64>) -> Result<()> {
        self.pages.map(range, &mut OwnPages { client: &mut self.client, memory: &self.memory })
    }

    fn unmap(&mut self, range: &Range<u64>) -> Result<()> {
        self.pages.unmap(range, &mut OwnPages { client: &mut self.client, memory: &self.memory })
    }

    fn map_file(&mut self, file: BorrowedFd<'_>, offset: u64, range: &Range<u64>) -> Result<()> {
        self.client.map(file, offset, range)
    }

    fn unmap_file(&mut self, range: &Range<u64>) -> Result<()> {
        self.client.unmap(range)
    }

    fn process(&self) -> Option<usize> {
        self.client.server().process
    }

    fn vectors(&self) -> usize {
        self.vectors.len()
    }

    fn interrupt(&mut self, vector: usize) -> Result<OwnedFd> {
        let count = self.vectors.len();
        let Some(place) = self.vectors.get_mut(vector) else {
            return Err(Error::Argument(format!("the card has no vector {vector}; it has {count}")));
        };
        if place.is_none() {
            let event = irq::create()?;
            self.client.set_interrupts(MSIX, vector, &[event.as_fd()])?;
            *place = Some(event);
        }
        irq::duplicate(place.as_ref().expect("it was made"))
    }

    fn kick(&mut self, address: u32, value: u32) -> Result<Option<OwnedFd>> {
        if self.doorbells.is_none() {
            self.doorbells = Some(match self.client.doorbells(REGISTERS) {
                // A server that does not know the request has no such way.
                Err(Error::Refused { .. }) => Vec::new(),
                doorbells => doorbells?,
            });
        }
        let is_it = |entry: &IoEventFd| (entry.offset, entry.value) == (address.into(), value.into());
        let found = self.doorbells.iter().flatten().find(|(entry, _)| is_it(entry));
        found.map(|(_, event)| irq::duplicate(event)).transpose()
    }

    fn pause(&mut self, cycles: u64) -> Result<()> {
        self.check()?;
        if !self.time_moves_by_calls {
            // A cycle is at least a nanosecond; of a simulated card it is many microseconds, and who waits looks more often.
            std::thread::sleep(Duration::from_micros(cycles).min(LONGEST_PAUSE));
            return Ok(());
        }
        let mut left = cycles;
        while left > 0 {
            let part = left.min(TIME_MOST);
            self.client.write(TIME, TIME_RUN, &part.to_le_bytes())?;
            left -= part;
        }
        Ok(())
    }

    fn time_moves_by_calls(&self) -> bool {
        self.time_moves_by_calls
    }

    fn reset(&mut self) -> Result<()> {
        self.client.reset()?;
        self.switch(COMMAND_MEMORY_AND_MASTER)?;
        let begin = Instant::now();
        while self.word(global::BASE + global::MAGIC)? != registers::MAGIC {
            if begin.elapsed() > RESET_LIMIT {
                return Err(self.client.lost("it does not answer after a reset"));
            }
            self.pause(1000)?;
        }
        Ok(())
    }
}
