//! The library over a card that is no simulated one: a table of registers that records what is mapped for it.

#[macro_use(assert_eq)]
extern crate spindle_testing;

use spindle::{Bar, Card, HostMemory, Identity, Node, Result, SharedCard};
use spindle_contract::params::Config;
use spindle_contract::registers::{self, global};
use spindle_rvma::{Member, Session, Sign};
use std::collections::HashMap;
use std::ops::Range;
use std::os::fd::OwnedFd;
use std::sync::{Arc, Mutex};

/// Calls of the library on a card's memory, in their order.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Call {
    Map(Range<u64>),
    Unmap(Range<u64>),
    Pause(u64),
}

#[derive(Default)]
struct Table {
    registers: HashMap<u32, u32>,
    memory: HashMap<u64, u8>,
    next: u64,
    by_calls: bool,
    calls: Arc<Mutex<Vec<Call>>>,
}

impl Table {
    fn new(config: &Config) -> Table {
        let mut table = Table { next: 0x1_0000, ..Table::default() };
        table.registers.extend(registers::identity(config));
        table
    }
}

impl Bar for Table {
    fn read32(&mut self, address: u32) -> Result<u32> {
        // Each access takes time, so that every wait of the driver ends.
        *self.registers.entry(global::BASE + global::CYCLE_LO).or_default() += 1000;
        Ok(self.registers.get(&address).copied().unwrap_or(0))
    }

    /// Every command is done at once: a register that a write starts something with reads 0.
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
        self.memory.extend((address..).zip(bytes.iter().copied()));
        Ok(())
    }
}

impl Card for Table {
    fn identity(&self) -> Identity {
        Identity { address: "table".into(), transport: "sim", pci: None }
    }

    fn map(&mut self, range: &Range<u64>) -> Result<()> {
        self.calls.lock().unwrap().push(Call::Map(range.clone()));
        Ok(())
    }

    fn unmap(&mut self, range: &Range<u64>) -> Result<()> {
        self.calls.lock().unwrap().push(Call::Unmap(range.clone()));
        Ok(())
    }

    fn vectors(&self) -> usize {
        0
    }

    fn interrupt(&mut self, _vector: usize) -> Result<OwnedFd> {
        Err(spindle::Error::Argument("no interrupts".into()))
    }

    fn pause(&mut self, cycles: u64) -> Result<()> {
        self.calls.lock().unwrap().push(Call::Pause(cycles));
        Ok(())
    }

    fn time_moves_by_calls(&self) -> bool {
        self.by_calls
    }

    fn reset(&mut self) -> Result<()> {
        Ok(())
    }
}

/// A session of one such card, and the calls on its memory.
fn session(by_calls: bool) -> (Session, Arc<Mutex<Vec<Call>>>) {
    let table = Table { by_calls, ..Table::new(&Config::ALVEO) };
    let calls = table.calls.clone();
    let address = Node { mac: [2, 0, 0, 0, 0, 1], ip: [10, 0, 0, 1], port: 9 };
    (Session::new(vec![Member { card: SharedCard::new(table), address }], 2000).unwrap(), calls)
}

#[test]
fn memory_and_time_go_through_the_card() {
    let (session, calls) = session(true);
    let nic = session.open(0, 1).unwrap();
    assert!(session.open(1, 0).is_err_and(|error| error.to_string().contains("there is no node 1")));
    let taken = || std::mem::take(&mut *calls.lock().unwrap());
    assert_eq!(taken(), []);

    let range = 0x7000_0100..0x7000_0200;
    nic.register(range.clone()).unwrap();
    assert_eq!(taken(), [Call::Map(range.clone())]);
    nic.deregister(&range).unwrap();
    assert_eq!(taken(), [Call::Unmap(range.clone())]);

    session.run(300).unwrap();
    assert_eq!(taken(), [Call::Pause(300)]);
    let mut looks = 0;
    // Of 4 ns each: 100 cycles.
    let over = nic
        .node()
        .until(400, Sign::default(), || {
            Ok({
                looks += 1;
                (looks > 5).then_some(())
            })
        })
        .unwrap();
    assert_eq!((over, looks), (None, 3));
    assert_eq!(taken(), [Call::Pause(64), Call::Pause(36)]);

    // What a process leaves is unmapped with its last owner.
    nic.register(range.clone()).unwrap();
    drop((nic, session));
    assert_eq!(taken(), [Call::Map(range.clone()), Call::Unmap(range)]);
}

/// Where time moves by itself, waits sleep, end at their limits, and do not stop other threads.
#[test]
fn threads_wait_side_by_side() {
    let (session, calls) = session(false);
    let nic = session.open(0, 1).unwrap();
    let byte = std::sync::atomic::AtomicU8::new(0);
    std::thread::scope(|scope| {
        let waits: Vec<_> = (0..3)
            // SAFETY: the byte outlives the threads.
            .map(|_| scope.spawn(|| unsafe { nic.wait_byte("a byte", byte.as_ptr(), u64::MAX) }))
            .collect();
        // SAFETY: the byte outlives the call.
        let late = unsafe { nic.wait_byte("a byte", byte.as_ptr(), 50_000) };
        assert!(late.unwrap_err().to_string().contains("a byte did not come within 12500 cycles"));
        byte.store(1, std::sync::atomic::Ordering::Release);
        assert!(waits.into_iter().all(|wait| wait.join().unwrap().is_ok()));
    });
    assert_eq!(*calls.lock().unwrap(), []);
}
