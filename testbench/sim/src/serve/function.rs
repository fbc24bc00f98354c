//! The simulated card as the function of a vfio-user server.

use super::wire::{exchange, send, Wire};
use super::TimeMode;
use crate::host_memory::{Backing, Reached, SparseMemory, Unreachable};
use crate::SimDevice;
use rustix::io::Errno;
use spindle::vfio_user::{DmaTable, Function, Host};
use spindle_contract::pci;
use spindle_contract::registers::{packet, Word};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

/// Cycles between two looks at the wire while the card runs.
const SLICE: u64 = 8;

/// Memory of the client; the card reaches what the client has mapped.
#[derive(Debug)]
struct ClientMemory(DmaTable);

impl Backing for ClientMemory {
    fn read(&self, address: u64, bytes: &mut [u8]) -> Reached {
        self.0.read(address, bytes).map_err(|_| Unreachable)
    }

    fn write(&self, address: u64, bytes: &[u8]) -> Reached {
        self.0.write(address, bytes).map_err(|_| Unreachable)
    }
}

/// The cycle, from a given one on, in which the host goes on: a later one while the host pauses.
pub type HostPauses = Box<dyn FnMut(u64) -> u64 + Send>;

/// Who has used a card.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Clients {
    /// Clients that have agreed on the protocol so far.
    pub came: u64,
    /// One of them is connected.
    pub here: bool,
    /// Cycle in which the last one left.
    pub left: u64,
}

/// A simulated card with its wire.
pub struct NicFunction {
    sim: SimDevice,
    wire: Box<dyn Wire + Send>,
    mode: TimeMode,
    keeps: bool,
    /// Something has happened since the server last looked.
    active: Arc<AtomicBool>,
    pauses: Option<HostPauses>,
    clients: Arc<Mutex<Clients>>,
    failure: Option<anyhow::Error>,
}

impl NicFunction {
    /// The card, whose host is `host`. With `keeps`, the card is not reset when its client goes.
    pub fn new(
        mut sim: SimDevice,
        host: &Host,
        wire: Box<dyn Wire + Send>,
        mode: TimeMode,
        keeps: bool,
    ) -> NicFunction {
        let mut memory = SparseMemory::only_mapped();
        memory.map(0..u64::MAX, Arc::new(ClientMemory(host.memory.clone())));
        sim.memory().memory = memory;
        let active = Arc::new(AtomicBool::new(false));
        let (interrupts, seen) = (host.interrupts.clone(), active.clone());
        // What the card wrote before is in memory already: the host's writes are posted.
        sim.set_interrupts(Some(Box::new(move |vectors| {
            seen.store(true, Ordering::Relaxed);
            for vector in (0..pci::VECTORS).filter(|vector| vectors >> vector & 1 == 1) {
                interrupts.fire(vector);
            }
        })));
        let clients = Arc::default();
        NicFunction { sim, wire, mode, keeps, active, pauses: None, clients, failure: None }
    }

    /// The card.
    pub fn sim(&mut self) -> &mut SimDevice {
        &mut self.sim
    }

    /// Accesses of the host wait for the end of its pauses, which take time of the card.
    pub fn set_pauses(&mut self, pauses: Option<HostPauses>) {
        self.pauses = pauses;
    }

    /// Who has used the card; the value goes on to change.
    pub fn clients(&self) -> Arc<Mutex<Clients>> {
        self.clients.clone()
    }

    /// The wire.
    pub fn wire(&self) -> &dyn Wire {
        self.wire.as_ref()
    }

    /// Moves the card on, and frames between it and the wire.
    pub fn run(&mut self, cycles: u64) {
        let mut left = cycles;
        while left > 0 {
            self.exchange();
            let slice = left.min(SLICE);
            self.sim.run(slice);
            left -= slice;
        }
        self.exchange();
    }

    /// Moves a card that is late on: it sends frames and takes none, since those on its wire are for a later cycle.
    pub fn catch_up(&mut self, cycles: u64) {
        self.sim.run(cycles);
        let sent = send(&mut self.sim, self.wire.as_mut());
        self.moved(sent);
    }

    /// Moves frames between the card and its wire. A failure is kept for [`NicFunction::take_failure`].
    pub fn exchange(&mut self) {
        let moved = exchange(&mut self.sim, self.wire.as_mut());
        self.moved(moved);
    }

    fn moved(&mut self, moved: anyhow::Result<bool>) {
        match moved {
            Ok(moved) => _ = self.active.fetch_or(moved, Ordering::Relaxed),
            Err(error) => self.failure = Some(error),
        }
    }

    /// Whether the card has anything to do, or there was an access, a frame or an interrupt since the last call.
    pub fn take_active(&mut self) -> bool {
        self.active.swap(false, Ordering::Relaxed) || !self.sim.quiet()
    }

    /// Why the wire cannot be used any more.
    pub fn take_failure(&mut self) -> Option<anyhow::Error> {
        self.failure.take()
    }

    fn restart(&mut self) {
        // What the card has sent is the wire's: a client that has the answer to its reset finds the frames there.
        self.exchange();
        if let Err(error) = self.sim.reset() {
            self.failure = Some(error);
        }
    }

    fn access(&mut self) {
        self.active.store(true, Ordering::Relaxed);
    }

    /// An access of the host, which may pause before it.
    fn host_access(&mut self) {
        self.access();
        let now = self.sim.cycle();
        let goes_on = self.pauses.as_mut().map_or(now, |pauses| pauses(now));
        if goes_on > now {
            self.run(goes_on - now);
        }
    }

    fn note(&self, change: impl FnOnce(&mut Clients)) {
        change(&mut self.clients.lock().unwrap_or_else(PoisonError::into_inner));
    }
}

/// The words of an access: registers are read and written whole.
fn words(offset: u64, bytes: usize) -> Result<impl Iterator<Item = u32>, Errno> {
    match offset.is_multiple_of(4) && bytes.is_multiple_of(4) {
        true => Ok((0..bytes as u64 / 4).map(move |word| (offset + 4 * word) as u32)),
        false => Err(Errno::INVAL),
    }
}

fn refused(error: anyhow::Error) -> Errno {
    log::debug!("{error:#}");
    Errno::IO
}

impl Function for NicFunction {
    fn read(&mut self, offset: u64, bytes: &mut [u8]) -> Result<(), Errno> {
        self.host_access();
        for (address, word) in words(offset, bytes.len())?.zip(bytes.chunks_exact_mut(4)) {
            word.copy_from_slice(&self.sim.read32(address).map_err(refused)?.to_le_bytes());
        }
        Ok(())
    }

    fn write(&mut self, offset: u64, bytes: &[u8]) -> Result<(), Errno> {
        self.host_access();
        for (address, word) in words(offset, bytes.len())?.zip(bytes.chunks_exact(4)) {
            let value = u32::from_le_bytes(word.try_into().expect("chunks are words"));
            self.sim.write32(address, value).map_err(refused)?;
            if address == packet::BASE + packet::CONTROL && packet::Control::from_bits(value).receive() {
                self.wire.receiving();
            }
        }
        Ok(())
    }

    fn reset(&mut self) {
        self.access();
        self.restart();
    }

    fn own_region(&self) -> u64 {
        pci::TIME_REGION_BYTES
    }

    fn read_own(&mut self, offset: u64, bytes: &mut [u8]) -> Result<(), Errno> {
        let value = match offset {
            pci::TIME_CYCLE => self.sim.cycle(),
            pci::TIME_MODE => u64::from(self.mode == TimeMode::Step),
            _ => return Err(Errno::INVAL),
        };
        let place: &mut [u8; 8] = bytes.try_into().map_err(|_| Errno::INVAL)?;
        *place = value.to_le_bytes();
        Ok(())
    }

    fn write_own(&mut self, offset: u64, bytes: &[u8]) -> Result<(), Errno> {
        let value = u64::from_le_bytes(bytes.try_into().map_err(|_| Errno::INVAL)?);
        if offset != pci::TIME_RUN || self.mode != TimeMode::Step || value > pci::TIME_MOST {
            return Err(Errno::INVAL);
        }
        self.host_access();
        self.run(value);
        Ok(())
    }

    fn connected(&mut self) {
        self.note(|clients| (clients.came, clients.here) = (clients.came + 1, true));
    }

    fn disconnected(&mut self) {
        if !self.clients.lock().unwrap_or_else(PoisonError::into_inner).here {
            // It never agreed on the protocol, as one that looks whether a server listens: the card has seen nothing of it.
            return;
        }
        self.access();
        if self.keeps {
            log::info!("the client is gone; the card keeps its state");
        } else {
            log::info!("the client is gone; the card is reset");
            self.restart();
        }
        let cycle = self.sim.cycle();
        self.note(|clients| (clients.here, clients.left) = (false, cycle));
    }
}
