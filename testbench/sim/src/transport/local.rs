//! A simulated card of this process, as a transport.

use super::memory::{Arena, ProcessMemory};
use crate::host_memory::{SparseMemory, PAGE};
use crate::NetworkNode;
use rustix::event::{eventfd, EventfdFlags};
use spindle::dma::{Arenas, SharedMemory};
use spindle::{Bar, Card, Error, HostMemory, Identity, Result};
use spindle_contract::pci;
use spindle_contract::registers::{global, MAGIC};
use std::ops::Range;
use std::os::fd::OwnedFd;
use std::sync::{Arc, Mutex, PoisonError};

/// Where the memory that is allocated lies for the card, as over vfio-user: above 4 GiB, so that an address cut to 32 bits is
/// noticed, and where no memory of the program is.
const FIRST_ADDRESS: u64 = 4 << 30;

/// The eventfds of the vectors that someone waits for.
type Eventfds = Arc<Mutex<[Option<OwnedFd>; pci::VECTORS]>>;

/// A simulated card of this process.
pub struct LocalCard {
    node: NetworkNode,
    address: String,
    arenas: Arenas,
    next: u64,
    process: Option<Arc<ProcessMemory>>,
    /// Ranges of the program's memory that the card reaches.
    mapped: Vec<Range<u64>>,
    eventfds: Eventfds,
}

impl LocalCard {
    /// The card of a node, which has no other driver.
    pub fn new(address: &str, node: NetworkNode) -> LocalCard {
        let eventfds = Eventfds::default();
        let signalled = eventfds.clone();
        {
            let mut sim = node.card().sim();
            sim.memory().memory = SparseMemory::only_mapped();
            sim.set_interrupts(Some(Box::new(move |vectors| signal(&signalled, vectors))));
        }
        LocalCard {
            node,
            address: address.into(),
            arenas: Arenas::default(),
            next: FIRST_ADDRESS,
            process: None,
            mapped: Vec::new(),
            eventfds,
        }
    }

    /// The card on its wire.
    pub fn node(&self) -> &NetworkNode {
        &self.node
    }

    fn process_memory(&mut self) -> Result<Arc<ProcessMemory>> {
        if self.process.is_none() {
            self.process = Some(Arc::new(ProcessMemory::open()?));
        }
        Ok(self.process.clone().expect("it has been opened"))
    }
}

/// The pages in which a range lies.
fn pages(range: &Range<u64>) -> Range<u64> {
    range.start & !(PAGE - 1)..range.end.next_multiple_of(PAGE)
}

/// Adds one to the eventfds of these vectors.
fn signal(eventfds: &Eventfds, vectors: u16) {
    let eventfds = eventfds.lock().unwrap_or_else(PoisonError::into_inner);
    for (vector, eventfd) in eventfds.iter().enumerate() {
        if let (true, Some(eventfd)) = (vectors >> vector & 1 == 1, eventfd) {
            // A counter at its limit is readable already.
            let _ = rustix::io::write(eventfd, &1u64.to_ne_bytes());
        }
    }
}

impl Drop for LocalCard {
    /// The card reaches no memory of the program any more, and goes on without it if its network does.
    fn drop(&mut self) {
        let mut sim = self.node.card().sim();
        sim.set_interrupts(None);
        sim.memory().memory = SparseMemory::only_mapped();
    }
}

impl Bar for LocalCard {
    fn read32(&mut self, address: u32) -> Result<u32> {
        self.node.read32(address)
    }

    fn write32(&mut self, address: u32, value: u32) -> Result<()> {
        self.node.write32(address, value)
    }
}

impl HostMemory for LocalCard {
    fn alloc(&mut self, bytes: usize, align: usize) -> Result<u64> {
        let (node, next) = (&self.node, &mut self.next);
        self.arenas.alloc(bytes, align, |bytes| {
            let (memory, base) = (SharedMemory::new(bytes)?, *next);
            let range = base..base + memory.bytes() as u64;
            let arena = Arc::new(Arena::of(&memory, base)?);
            node.card().sim().memory().memory.map(range.clone(), arena);
            *next = range.end;
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

impl Card for LocalCard {
    fn identity(&self) -> Identity {
        Identity { address: self.address.clone(), transport: "sim", pci: None }
    }

    /// The card reaches whole pages, as after an IOMMU: it reads whole beats.
    fn map(&mut self, range: &Range<u64>) -> Result<()> {
        let process = self.process_memory()?;
        self.node.card().sim().memory().memory.map(pages(range), process);
        self.mapped.push(range.clone());
        Ok(())
    }

    fn unmap(&mut self, range: &Range<u64>) -> Result<()> {
        let Some(place) = self.mapped.iter().position(|mapped| mapped == range) else {
            return Err(Error::Memory(format!(
                "{:#x} to {:#x} was not mapped for the card; unmap what was mapped",
                range.start, range.end
            )));
        };
        self.mapped.swap_remove(place);
        self.node.card().sim().memory().memory.unmap(&pages(range));
        Ok(())
    }

    fn vectors(&self) -> usize {
        pci::VECTORS
    }

    fn interrupt(&mut self, vector: usize) -> Result<OwnedFd> {
        let mut eventfds = self.eventfds.lock().unwrap_or_else(PoisonError::into_inner);
        let place = eventfds.get_mut(vector).ok_or_else(|| {
            Error::Argument(format!("the card has no interrupt vector {vector}; choose 0 to {}", pci::VECTORS - 1))
        })?;
        let refused = |source: std::io::Error| Error::Transport {
            action: "make an eventfd".into(),
            source,
            cure: "close files of the program or raise its limit".into(),
        };
        if place.is_none() {
            let flags = EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK;
            *place = Some(eventfd(0, flags).map_err(|errno| refused(errno.into()))?);
        }
        place.as_ref().expect("it has been made").try_clone().map_err(refused)
    }

    /// All cards of the network go on.
    fn pause(&mut self, cycles: u64) -> Result<()> {
        self.node.network().run(cycles);
        Ok(())
    }

    fn time_moves_by_calls(&self) -> bool {
        true
    }

    /// Ends when the card answers, as over vfio-user.
    fn reset(&mut self) -> Result<()> {
        self.node.card().sim().reset().map_err(|error| Error::Argument(format!("{error:#}")))?;
        match self.node.read32(global::BASE + global::MAGIC)? {
            MAGIC => Ok(()),
            other => Err(Error::NotSpindle(other)),
        }
    }
}
