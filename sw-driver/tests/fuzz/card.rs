//! A card that answers what it likes, to every call of the driver: no call panics or goes on for ever.

use crate::calls::Calls;
use spindle::{Bar, Device, Error, HostMemory, Result};
use spindle_contract::params::Config;
use spindle_contract::registers::{self, doorbell, global, BAR_BITS, PAGE};
use spindle_fuzz::Source;
use std::cell::{Cell, RefCell};
use std::collections::HashMap;

/// Most accesses of one call. A reset polls 4,000,000 times.
const MOST_ACCESSES: usize = 5_000_000;

/// What a register does when it is read.
#[derive(Clone, Copy, Debug)]
enum Habit {
    /// What was written to it, or what it had.
    Keeps(u32),
    /// Grows with every read.
    Counts(u32, u32),
    /// Anything.
    Random,
}

/// A card whose registers have habits of their own, and whose memory has what its side effects left there.
pub struct Hostile<'s, 'a, 'b> {
    pub source: &'s RefCell<&'s mut Source<'a, 'b>>,
    identity: HashMap<u32, u32>,
    habits: RefCell<HashMap<u32, Habit>>,
    memory: RefCell<HashMap<u64, u8>>,
    next: Cell<u64>,
    /// Where the memory of each allocation begins, and its bytes.
    pub allocations: RefCell<Vec<(u64, usize)>>,
    accesses: Cell<usize>,
    seed: Cell<u64>,
}

impl<'s, 'a, 'b> Hostile<'s, 'a, 'b> {
    fn new(source: &'s RefCell<&'s mut Source<'a, 'b>>) -> Self {
        let config = *source.borrow_mut().pick(&Config::ALL);
        let mut identity: HashMap<u32, u32> = registers::identity(&config).collect();
        // Whoever is not taken for a card is not asked further: a word of the page `global` is another one at most.
        if source.borrow_mut().chance(2) {
            let lies = [
                global::HPUS,
                global::TABLES,
                global::MEMORIES,
                global::CLOCK_MHZ,
                global::LIVE_MESSAGES,
                global::PROCESSES,
                global::BLOCKS,
                global::SHELL,
                global::SCRATCH,
                global::VERSION,
                global::MAGIC,
                global::BLOCK_LIST,
            ];
            let at = global::BASE + *source.borrow_mut().pick(&lies);
            identity.insert(at, source.borrow_mut().word());
        }
        Hostile {
            source,
            identity,
            habits: RefCell::default(),
            memory: RefCell::default(),
            next: Cell::new(0x1000),
            allocations: RefCell::default(),
            accesses: Cell::new(0),
            seed: Cell::new(0x9E37_79B9_7F4A_7C15),
        }
    }

    /// The next call may take as many accesses again.
    pub fn next_call(&self) {
        self.accesses.set(0);
    }

    fn count(&self) {
        self.accesses.set(self.accesses.get() + 1);
        assert!(self.accesses.get() < MOST_ACCESSES, "a call does not end");
    }

    /// Of a clock that the driver waits by: one that stands still, one that jumps, one that does as it should.
    fn habit(&self, address: u32) -> Habit {
        let source = &mut **self.source.borrow_mut();
        let word = source.word();
        if address == global::BASE + global::CYCLE_LO {
            return match source.below(4) {
                0 => Habit::Keeps(word),
                1 => Habit::Random,
                _ => Habit::Counts(word, 1 << 16),
            };
        }
        if address == global::BASE + global::CYCLE_HI {
            return Habit::Keeps(0);
        }
        if let Some(value) = self.identity.get(&address) {
            return Habit::Keeps(*value);
        }
        match source.below(6) {
            0 => Habit::Random,
            1 => Habit::Counts(word, *source.pick(&[1, 7, 1 << 8, 1 << 16, 1 << 31, u32::MAX])),
            // Most registers answer as those of a card: a doorbell command that is done, a queue that is empty.
            2 | 3 => Habit::Keeps(word),
            _ if address >= doorbell::BASE && address % PAGE == doorbell::RESULT => Habit::Keeps(word & 0xFF),
            _ => Habit::Keeps(0),
        }
    }

    /// Random numbers that do not use the choices up: a loop may ask for many.
    fn random(&self) -> u32 {
        let mut seed = self.seed.get();
        seed ^= seed << 13;
        seed ^= seed >> 7;
        seed ^= seed << 17;
        self.seed.set(seed);
        (seed >> 16) as u32
    }
}

impl Bar for &Hostile<'_, '_, '_> {
    fn read32(&mut self, address: u32) -> Result<u32> {
        self.count();
        assert!(
            address.is_multiple_of(4) && address >> BAR_BITS == 0,
            "a read of {address:#x}, where there is no register"
        );
        let known = self.habits.borrow().get(&address).copied();
        let habit = known.unwrap_or_else(|| self.habit(address));
        let (value, next) = match habit {
            Habit::Keeps(value) => (value, habit),
            Habit::Counts(value, step) => (value, Habit::Counts(value.wrapping_add(step), step)),
            Habit::Random => (self.random(), habit),
        };
        self.habits.borrow_mut().insert(address, next);
        Ok(value)
    }

    fn write32(&mut self, address: u32, value: u32) -> Result<()> {
        self.count();
        assert!(
            address.is_multiple_of(4) && address >> BAR_BITS == 0,
            "a write of {address:#x}, where there is no register"
        );
        // A plain register keeps it.
        if value.is_multiple_of(3) {
            self.habits.borrow_mut().entry(address).or_insert(Habit::Keeps(value));
        }
        Ok(())
    }
}

impl HostMemory for &Hostile<'_, '_, '_> {
    fn alloc(&mut self, bytes: usize, align: usize) -> Result<u64> {
        let start = self.next.get().next_multiple_of(align as u64);
        self.next.set(start + bytes as u64);
        self.allocations.borrow_mut().push((start, bytes));
        Ok(start)
    }

    fn free(&mut self, _address: u64) -> Result<()> {
        Ok(())
    }

    fn read(&self, address: u64, bytes: &mut [u8]) -> Result<()> {
        self.check(address, bytes.len())?;
        self.count();
        let memory = self.memory.borrow();
        for (at, byte) in (address..).zip(bytes) {
            *byte = memory.get(&at).copied().unwrap_or(0);
        }
        Ok(())
    }

    fn write(&mut self, address: u64, bytes: &[u8]) -> Result<()> {
        self.check(address, bytes.len())?;
        // Zeros are what there is already; rings and pools are large.
        let mut memory = self.memory.borrow_mut();
        for (at, byte) in (address..).zip(bytes) {
            if *byte != 0 || memory.contains_key(&at) {
                memory.insert(at, *byte);
            }
        }
        Ok(())
    }
}

impl Hostile<'_, '_, '_> {
    /// Of addresses that were never given out there is no memory.
    fn check(&self, address: u64, bytes: usize) -> Result<()> {
        match address.checked_add(bytes as u64) {
            Some(end) if end <= self.next.get() => Ok(()),
            _ => Err(Error::Memory(format!("{address:#x} is no memory of the program"))),
        }
    }

    /// The card writes into memory of the program.
    pub fn store(&self, address: u64, bytes: &[u8]) {
        self.memory.borrow_mut().extend((address..).zip(bytes.iter().copied()));
    }
}

#[test]
fn fuzz_card() {
    let mut opened = 0u32;
    spindle_fuzz::run("card", 2500, |source| {
        let source = &RefCell::new(source);
        let card = &Hostile::new(source);
        let kind = source.borrow_mut().below(3);
        let device = match kind {
            0 => Device::open(card, card),
            1 => Device::attach(card, card),
            _ => Device::share(card, card),
        };
        let Ok(mut device) = device else { return false };
        opened += 1;
        let mut calls = Calls::default();
        for _ in 0..24 {
            if source.borrow().is_empty() {
                break;
            }
            card.next_call();
            calls.one(&mut device, card);
        }
        true
    });
}
