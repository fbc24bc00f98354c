//! A card for the daemon: registers that keep what is written to them, commands that end at once.

use spindle::{Bar, Card, Error, HostMemory, Identity, Result, SharedCard};
use spindle_contract::params::Config;
use spindle_contract::registers::{self, doorbell, doorbell_command as command, global, packet, PAGE};
use std::collections::HashMap;
use std::ops::Range;
use std::os::fd::{BorrowedFd, OwnedFd};
use std::sync::{Arc, Mutex};

#[derive(Default)]
pub struct State {
    pub registers: HashMap<u32, u32>,
    memory: HashMap<u64, u8>,
    next: u64,
    cycle: u64,
    mailboxes: u32,
    /// What was written since the last look.
    pub written: Vec<u32>,
    /// Memory of clients that the card reaches.
    pub mapped: Vec<Range<u64>>,
}

/// The card; clones are the same.
#[derive(Clone)]
pub struct Table(pub Arc<Mutex<State>>);

impl Table {
    pub fn new() -> Table {
        let registers = registers::identity(&Config::SIM).collect();
        Table(Arc::new(Mutex::new(State { registers, next: 0x10_0000, ..State::default() })))
    }

    /// The daemon's view of it.
    pub fn open(&self) -> spindled::card::Card {
        spindled::card::Card::open(SharedCard::new(self.clone())).expect("the daemon can take the card")
    }

    fn state(&self) -> std::sync::MutexGuard<'_, State> {
        self.0.lock().expect("no other test uses it")
    }
}

impl Bar for Table {
    fn read32(&mut self, address: u32) -> Result<u32> {
        let mut state = self.state();
        state.cycle += 100;
        Ok(match address {
            address if address == global::BASE + global::CYCLE_LO => state.cycle as u32,
            address if address == global::BASE + global::CYCLE_HI => (state.cycle >> 32) as u32,
            address => state.registers.get(&address).copied().unwrap_or(0),
        })
    }

    fn write32(&mut self, address: u32, value: u32) -> Result<()> {
        let mut state = self.state();
        state.written.push(address);
        // Whatever begins work reads as done.
        let busy = [packet::BASE + packet::MATCH_COMMIT, registers::rvma::BASE + registers::rvma::REGION_COMMIT];
        if address >= doorbell::BASE && address % PAGE == doorbell::COMMAND {
            let result = match value {
                command::INIT_WINDOW => {
                    state.mailboxes += 1;
                    doorbell::Result::ZERO.with_value(state.mailboxes)
                }
                // Every mailbox is gone at once.
                command::GET_EPOCH => doorbell::Result::ZERO.with_error(registers::doorbell_error::NO_MAILBOX),
                _ => doorbell::Result::ZERO,
            };
            state.registers.insert(address - doorbell::COMMAND + doorbell::RESULT, result.0);
        } else if !busy.contains(&address) {
            state.registers.insert(address, value);
        }
        Ok(())
    }
}

impl HostMemory for Table {
    fn alloc(&mut self, bytes: usize, align: usize) -> Result<u64> {
        let mut state = self.state();
        let start = state.next.next_multiple_of(align as u64);
        state.next = start + bytes as u64;
        Ok(start)
    }

    fn free(&mut self, _address: u64) -> Result<()> {
        Ok(())
    }

    fn read(&self, address: u64, bytes: &mut [u8]) -> Result<()> {
        let state = self.state();
        for (at, byte) in (address..).zip(bytes) {
            *byte = state.memory.get(&at).copied().unwrap_or(0);
        }
        Ok(())
    }

    fn write(&mut self, address: u64, bytes: &[u8]) -> Result<()> {
        self.state().memory.extend((address..).zip(bytes.iter().copied()));
        Ok(())
    }
}

impl Card for Table {
    fn identity(&self) -> Identity {
        Identity { address: "table".into(), transport: "sim", pci: None }
    }

    fn map(&mut self, range: &Range<u64>) -> Result<()> {
        self.state().mapped.push(range.clone());
        Ok(())
    }

    fn unmap(&mut self, range: &Range<u64>) -> Result<()> {
        self.unmap_file(range)
    }

    fn map_file(&mut self, _file: BorrowedFd<'_>, _offset: u64, range: &Range<u64>) -> Result<()> {
        self.state().mapped.push(range.clone());
        Ok(())
    }

    fn unmap_file(&mut self, range: &Range<u64>) -> Result<()> {
        let mut state = self.state();
        let at = state.mapped.iter().position(|known| known == range).expect("it was mapped");
        state.mapped.remove(at);
        Ok(())
    }

    fn vectors(&self) -> usize {
        0
    }

    fn interrupt(&mut self, _vector: usize) -> Result<OwnedFd> {
        Err(Error::Argument("no interrupts".into()))
    }

    fn pause(&mut self, cycles: u64) -> Result<()> {
        self.state().cycle += cycles;
        Ok(())
    }

    fn time_moves_by_calls(&self) -> bool {
        true
    }

    fn reset(&mut self) -> Result<()> {
        Ok(())
    }
}
