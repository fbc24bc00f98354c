//! A simulated shell as a card of the driver: registers and memory as the host of a real card has them, interrupts by messages,
//! reset by PERST.

use super::bench::Bench;
use super::cmac::Frame;
use spindle::{irq, Bar, Card, Error, HostMemory, Identity, Result};
use spindle_contract::pci;
use spindle_contract::registers::{global, BAR_BITS, MAGIC};
use spindle_sim::transport::ProcessMemory;
use std::collections::VecDeque;
use std::ops::Range;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Where memory of the host begins, as for simulated cards: above 4 GiB, so that an address cut to 32 bits is noticed.
const FIRST_ADDRESS: u64 = 4 << 30;
/// Bytes left free between two allocations.
const GUARD: u64 = 4096;
const PAGE: u64 = 4096;

type Eventfds = Arc<Mutex<[Option<OwnedFd>; pci::VECTORS]>>;
/// Gets the vectors of messages.
pub type MessageSink = Box<dyn FnMut(usize) + Send>;

/// A shell with a host on one side and a wire on the other.
pub trait Shell: Send {
    /// The host reads a register; all ones if the read fails; nothing after the host's patience.
    fn read_register(&mut self, address: u64) -> Option<u32>;
    /// The host writes a register.
    fn write_register(&mut self, address: u64, value: u32) -> Option<()>;
    /// Lets so many cycles of the core pass.
    fn run(&mut self, cycles: u64);
    /// PERST; then the host enables interrupts again.
    fn reset(&mut self);
    /// The host enables MSI-X, vector by vector.
    fn enable_messages(&mut self);
    /// Who gets the messages.
    fn set_messages(&mut self, sink: MessageSink);
    /// Messages so far, by vector.
    fn messages(&self) -> [u64; pci::VECTORS];
    /// Memory of the host.
    fn read_memory(&mut self, address: u64, bytes: &mut [u8]);
    /// Memory of the host.
    fn write_memory(&mut self, address: u64, bytes: &[u8]);
    /// Frames that are to come from the wire.
    fn incoming(&mut self) -> &mut VecDeque<Frame>;
    /// Frames that came, with the times of their last beats.
    fn arrived(&mut self) -> &mut Vec<Frame>;
    /// Frames that were sent.
    fn sent(&mut self) -> &mut Vec<Frame>;
    /// A cable from the transmitter to the receiver.
    fn set_loop(&mut self, looped: bool);

    /// Moves on until `done`, or for so many cycles of the core; whether it was done.
    fn run_while(&mut self, cycles: u64, mut done: impl FnMut(&mut Self) -> bool) -> bool
    where
        Self: Sized,
    {
        for _ in 0..cycles {
            if done(self) {
                return true;
            }
            self.run(1);
        }
        done(self)
    }
}

/// The card. Clones are the same card.
pub struct ShellCard<B> {
    bench: Arc<Mutex<B>>,
    next: Arc<Mutex<u64>>,
    eventfds: Eventfds,
}

impl<B> Clone for ShellCard<B> {
    fn clone(&self) -> Self {
        Self { bench: self.bench.clone(), next: self.next.clone(), eventfds: self.eventfds.clone() }
    }
}

impl<B: Shell> ShellCard<B> {
    /// The card of a shell. The host has enabled MSI-X.
    pub fn new(mut bench: B) -> Self {
        let eventfds = Eventfds::default();
        let signalled = eventfds.clone();
        bench.enable_messages();
        bench.set_messages(Box::new(move |vector| {
            let eventfds = signalled.lock().unwrap_or_else(PoisonError::into_inner);
            if let Some(eventfd) = eventfds.get(vector).and_then(Option::as_ref) {
                irq::signal(eventfd);
            }
        }));
        Self { bench: Arc::new(Mutex::new(bench)), next: Arc::new(Mutex::new(FIRST_ADDRESS)), eventfds }
    }

    /// The bench, for what the driver does not see.
    pub fn bench(&self) -> MutexGuard<'_, B> {
        self.bench.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The eventfd of a vector.
    pub fn eventfd(&self, vector: usize) -> Result<OwnedFd> {
        let mut eventfds = self.eventfds.lock().unwrap_or_else(PoisonError::into_inner);
        let place = eventfds.get_mut(vector).ok_or_else(|| Error::Argument(format!("there is no vector {vector}")))?;
        if place.is_none() {
            *place = Some(irq::create()?);
        }
        irq::duplicate(place.as_ref().expect("it has been made").as_fd())
    }

    /// PERST, as the kernel does it.
    pub fn restart(&mut self) -> Result<()> {
        self.bench().reset();
        match self.read32(global::BASE + global::MAGIC)? {
            MAGIC => Ok(()),
            other => Err(Error::NotSpindle(other)),
        }
    }
}

fn silent(access: &'static str, address: u32) -> Error {
    Error::Bar { access, address, why: "the shell did not answer; every access has an answer".into() }
}

impl<B: Shell> Bar for ShellCard<B> {
    /// A read that is answered with an error reads all ones, as on PCI Express.
    fn read32(&mut self, address: u32) -> Result<u32> {
        assert!(address.is_multiple_of(4) && address >> BAR_BITS == 0, "{address:#x} is no register");
        self.bench().read_register(address.into()).ok_or_else(|| silent("a read", address))
    }

    fn write32(&mut self, address: u32, value: u32) -> Result<()> {
        assert!(address.is_multiple_of(4) && address >> BAR_BITS == 0, "{address:#x} is no register");
        self.bench().write_register(address.into(), value).ok_or_else(|| silent("a write", address))
    }
}

impl<B: Shell> HostMemory for ShellCard<B> {
    fn alloc(&mut self, bytes: usize, align: usize) -> Result<u64> {
        let mut next = self.next.lock().unwrap_or_else(PoisonError::into_inner);
        let start = next.next_multiple_of(align as u64);
        *next = start + bytes as u64 + GUARD;
        self.bench().write_memory(start, &vec![0; bytes]);
        Ok(start)
    }

    fn free(&mut self, _address: u64) -> Result<()> {
        Ok(())
    }

    fn read(&self, address: u64, bytes: &mut [u8]) -> Result<()> {
        self.bench().read_memory(address, bytes);
        Ok(())
    }

    fn write(&mut self, address: u64, bytes: &[u8]) -> Result<()> {
        self.bench().write_memory(address, bytes);
        Ok(())
    }
}

impl Card for ShellCard<Bench> {
    fn identity(&self) -> Identity {
        Identity { address: "shell".into(), transport: "sim", pci: Some((pci::VENDOR, pci::DEVICE)) }
    }

    fn map(&mut self, range: &Range<u64>) -> Result<()> {
        let memory = Arc::new(ProcessMemory::open()?);
        self.bench().xdma.memory.map(pages(range), memory);
        Ok(())
    }

    fn unmap(&mut self, range: &Range<u64>) -> Result<()> {
        self.bench().xdma.memory.unmap(&pages(range));
        Ok(())
    }

    fn vectors(&self) -> usize {
        pci::VECTORS
    }

    fn interrupt(&mut self, vector: usize) -> Result<OwnedFd> {
        self.eventfd(vector)
    }

    fn pause(&mut self, cycles: u64) -> Result<()> {
        self.bench().run(cycles);
        Ok(())
    }

    fn time_moves_by_calls(&self) -> bool {
        true
    }

    fn reset(&mut self) -> Result<()> {
        self.restart()
    }
}

/// The pages in which a range lies.
fn pages(range: &Range<u64>) -> Range<u64> {
    range.start & !(PAGE - 1)..range.end.next_multiple_of(PAGE)
}
