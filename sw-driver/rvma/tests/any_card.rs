//! The library over a card that is no simulated one: a table of registers that records what is mapped for it.

use spindle::{Bar, HostMemory, Node, Result};
use spindle_contract::params::Config;
use spindle_contract::registers::{self, global};
use spindle_rvma::{Card, Member, Session, SharedCard};
use std::cell::RefCell;
use std::collections::HashMap;
use std::ops::Range;
use std::rc::Rc;

/// Calls of the library on a card's memory, in their order.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Call {
    Map(Range<u64>),
    Unmap(Range<u64>),
    Refuse(Vec<Range<u64>>),
    Pass(u64),
}

#[derive(Default)]
struct Table {
    registers: HashMap<u32, u32>,
    memory: HashMap<u64, u8>,
    next: u64,
    calls: Rc<RefCell<Vec<Call>>>,
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
    fn map(&mut self, range: &Range<u64>) {
        self.calls.borrow_mut().push(Call::Map(range.clone()));
    }

    fn unmap(&mut self, range: &Range<u64>) {
        self.calls.borrow_mut().push(Call::Unmap(range.clone()));
    }

    fn refuse(&mut self, pages: &[Range<u64>]) {
        self.calls.borrow_mut().push(Call::Refuse(pages.to_vec()));
    }

    fn pass(&mut self, cycles: u64) {
        self.calls.borrow_mut().push(Call::Pass(cycles));
    }
}

#[test]
fn memory_and_time_go_through_the_card() {
    let table = Table::new(&Config::ALVEO);
    let calls = table.calls.clone();
    let address = Node { mac: [2, 0, 0, 0, 0, 1], ip: [10, 0, 0, 1], port: 9 };
    let session = Session::new(vec![Member { card: SharedCard::new(table), address }], 2000).unwrap();
    let nic = session.open(0, 1).unwrap();
    assert!(session.open(1, 0).is_err_and(|error| error.to_string().contains("there is no node 1")));
    let taken = || std::mem::take(&mut *calls.borrow_mut());
    assert_eq!(taken(), []);

    let range = 0x7000_0100..0x7000_0200;
    nic.register(range.clone()).unwrap();
    assert_eq!(taken(), [Call::Map(range.clone()), Call::Refuse(vec![])]);
    nic.deregister(&range).unwrap();
    // The page holds no registered byte any more.
    let page = 0x7000_0000..0x7000_1000;
    assert_eq!(taken(), [Call::Unmap(range), Call::Refuse(vec![page])]);

    session.run(300);
    assert_eq!(taken(), [Call::Pass(300)]);
    let error = nic.wait("a record", 100, || false).unwrap_err().to_string();
    assert!(error.contains("a record"), "{error}");
    assert_eq!(taken(), [Call::Pass(64), Call::Pass(36)]);
}
