//! A card for the library: a table of registers, whose commands end as the test likes.

use spindle::{Bar, Card, Error, HostMemory, Identity, Node, Result, SharedCard};
use spindle_contract::params::Config;
use spindle_contract::registers::{self, doorbell, global, PAGE};
use spindle_rvma::{Member, Session};
use std::collections::HashMap;
use std::ops::Range;
use std::os::fd::OwnedFd;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::Arc;

/// Cycles of an access: many, so that waits are few looks.
const ACCESS: u32 = 10_000;

struct Table {
    registers: HashMap<u32, u32>,
    memory: HashMap<u64, u8>,
    next: u64,
    cycle: u32,
    /// How the next command ends: RESULT.
    result: Arc<AtomicU32>,
}

impl Bar for Table {
    fn read32(&mut self, address: u32) -> Result<u32> {
        self.cycle = self.cycle.wrapping_add(ACCESS);
        Ok(match address {
            address if address == global::BASE + global::CYCLE_LO => self.cycle,
            address if address >= doorbell::BASE && address % PAGE == doorbell::RESULT => {
                self.result.load(Ordering::Relaxed)
            }
            address => self.registers.get(&address).copied().unwrap_or(0),
        })
    }

    fn write32(&mut self, _: u32, _: u32) -> Result<()> {
        Ok(())
    }
}

impl HostMemory for Table {
    fn alloc(&mut self, bytes: usize, align: usize) -> Result<u64> {
        let start = self.next.next_multiple_of(align as u64);
        self.next = start + bytes as u64;
        Ok(start)
    }

    fn free(&mut self, _address: u64) -> Result<()> {
        Ok(())
    }

    fn read(&self, address: u64, bytes: &mut [u8]) -> Result<()> {
        for (at, byte) in (address..).zip(bytes) {
            *byte = self.memory.get(&at).copied().unwrap_or(0);
        }
        Ok(())
    }

    fn write(&mut self, address: u64, bytes: &[u8]) -> Result<()> {
        // Zeros are what there is already, and rings are large.
        if self.memory.is_empty() && bytes.iter().all(|byte| *byte == 0) {
            return Ok(());
        }
        for (at, byte) in (address..).zip(bytes) {
            if *byte != 0 || self.memory.contains_key(&at) {
                self.memory.insert(at, *byte);
            }
        }
        Ok(())
    }
}

impl Card for Table {
    fn identity(&self) -> Identity {
        Identity { address: "table".into(), transport: "sim", pci: None }
    }

    fn map(&mut self, _range: &Range<u64>) -> Result<()> {
        Ok(())
    }

    fn unmap(&mut self, _range: &Range<u64>) -> Result<()> {
        Ok(())
    }

    fn vectors(&self) -> usize {
        0
    }

    fn interrupt(&mut self, _vector: usize) -> Result<OwnedFd> {
        Err(Error::Argument("no interrupts".into()))
    }

    fn pause(&mut self, cycles: u64) -> Result<()> {
        self.cycle = self.cycle.wrapping_add(cycles as u32);
        Ok(())
    }

    fn time_moves_by_calls(&self) -> bool {
        true
    }

    fn reset(&mut self) -> Result<()> {
        Ok(())
    }
}

/// A network of one such card, and what decides how its commands end.
pub fn network(round_trip: u64) -> (Session, Arc<AtomicU32>) {
    let result = Arc::new(AtomicU32::new(0));
    let table = Table {
        registers: registers::identity(&Config::SIM).collect(),
        memory: HashMap::new(),
        next: 0x1_0000,
        cycle: 0,
        result: result.clone(),
    };
    let member = Member { card: SharedCard::new(table), address: Node::numbered(0) };
    (Session::new(vec![member], round_trip).expect("the card can be opened"), result)
}
