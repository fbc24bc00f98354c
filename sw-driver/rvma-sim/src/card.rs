//! A NIC of a simulated network as a card of the driver.

use crate::memory::Mapped;
use crate::simulation::Simulation;
use spindle::{Bar, Card, Error, HostMemory, Identity, Result};
use spindle_sim::NetworkNode;
use std::ops::Range;
use std::os::fd::OwnedFd;
use std::sync::{Arc, Mutex, PoisonError};

/// A NIC of a [`Simulation`]. Time passes for all NICs of the network in each call that takes time.
pub struct SimulatedCard {
    simulation: Arc<Simulation>,
    config: &'static str,
    place: usize,
    mapped: Arc<Mutex<Mapped>>,
}

impl SimulatedCard {
    pub(crate) fn new(simulation: Arc<Simulation>, config: &'static str, place: usize) -> SimulatedCard {
        SimulatedCard { simulation, config, place, mapped: Arc::default() }
    }

    /// Lets time pass for all NICs of the network.
    ///
    /// # Errors
    /// The simulation has failed.
    pub fn run(&self, cycles: u64) -> Result<()> {
        self.simulation.run(cycles)
    }

    fn call<T: Send + 'static>(&self, call: impl FnOnce(&mut NetworkNode) -> T + Send + 'static) -> Result<T> {
        let place = self.place;
        self.simulation.call(move |network| call(&mut network.node(place)))
    }
}

impl Bar for SimulatedCard {
    fn read32(&mut self, address: u32) -> Result<u32> {
        self.call(move |node| node.read32(address))?
    }

    fn write32(&mut self, address: u32, value: u32) -> Result<()> {
        self.call(move |node| node.write32(address, value))?
    }
}

impl HostMemory for SimulatedCard {
    fn alloc(&mut self, bytes: usize, align: usize) -> Result<u64> {
        self.call(move |node| node.alloc(bytes, align))?
    }

    fn free(&mut self, address: u64) -> Result<()> {
        self.call(move |node| node.free(address))?
    }

    fn read(&self, address: u64, bytes: &mut [u8]) -> Result<()> {
        let length = bytes.len();
        let read = self.call(move |node| {
            let mut bytes = vec![0; length];
            node.read(address, &mut bytes).map(|()| bytes)
        })??;
        bytes.copy_from_slice(&read);
        Ok(())
    }

    fn write(&mut self, address: u64, bytes: &[u8]) -> Result<()> {
        let bytes = bytes.to_vec();
        self.call(move |node| node.write(address, &bytes))?
    }
}

impl Card for SimulatedCard {
    fn identity(&self) -> Identity {
        Identity { address: format!("{}{}", crate::SCHEME, self.config), transport: "sim", pci: None }
    }

    fn map(&mut self, range: &Range<u64>) -> Result<()> {
        let (mapped, range) = (self.mapped.clone(), range.clone());
        self.call(move |node| {
            let mut sim = node.card().sim();
            mapped.lock().unwrap_or_else(PoisonError::into_inner).map(sim.memory(), &range);
        })
    }

    fn unmap(&mut self, range: &Range<u64>) -> Result<()> {
        let (mapped, asked) = (self.mapped.clone(), range.clone());
        let known = self.call(move |node| {
            let mut sim = node.card().sim();
            mapped.lock().unwrap_or_else(PoisonError::into_inner).unmap(sim.memory(), &asked)
        })?;
        if known {
            return Ok(());
        }
        let bytes = range.end.saturating_sub(range.start);
        Err(Error::Argument(format!("the {bytes} bytes at {:#x} are not mapped for the card", range.start)))
    }

    fn vectors(&self) -> usize {
        0
    }

    fn interrupt(&mut self, _vector: usize) -> Result<OwnedFd> {
        Err(Error::Argument("a simulated card in the same process has no interrupts; its time moves by calls".into()))
    }

    fn pause(&mut self, cycles: u64) -> Result<()> {
        self.simulation.run(cycles)
    }

    fn time_moves_by_calls(&self) -> bool {
        true
    }

    /// A card that was just opened comes from reset. One that is open cannot be reset without the network.
    fn reset(&mut self) -> Result<()> {
        Err(Error::Argument("a simulated card in the same process is not reset; close it, and open it again".into()))
    }
}

impl Drop for SimulatedCard {
    /// The card reaches nothing of the program any more, while the others of its network go on.
    fn drop(&mut self) {
        let mapped = self.mapped.clone();
        let _ = self.call(move |node| {
            let mut sim = node.card().sim();
            mapped.lock().unwrap_or_else(PoisonError::into_inner).clear(sim.memory());
        });
    }
}
