//! A card that is a table of registers, with the few side effects that commands rely on. What is put to its own node
//! arrives in its own windows.

use spindle::{Bar, Card, Error, HostMemory, Identity, Result, SharedCard};
use spindle_contract::events;
use spindle_contract::params::Config;
use spindle_contract::registers::{
    self, doorbell, doorbell_command, doorbell_error, global, hpu, packet, rvma, trace, PAGE,
};
use spindle_contract::wire::status;
use std::collections::{HashMap, VecDeque};
use std::ops::Range;
use std::os::fd::OwnedFd;
use std::sync::{Arc, Mutex, MutexGuard};

/// A window of the card.
#[derive(Clone, Debug, Default)]
pub struct FakeWindow {
    pub process: u32,
    pub address: u64,
    pub key: u32,
    pub threshold: u32,
    pub mode: u32,
    /// Address, size and record of the buffers that are posted, and bytes in the oldest.
    pub posted: VecDeque<(u64, u32, u64)>,
    pub filled: u32,
    pub epoch: u16,
}

/// State of the card.
pub struct State {
    pub registers: HashMap<u32, u32>,
    pub l2: HashMap<u32, u32>,
    pub memory: HashMap<u64, u8>,
    pub windows: HashMap<u32, FakeWindow>,
    /// What was last put: length, node, address, mode.
    pub puts: Vec<(u32, u32, u64, u32)>,
    /// Refusal of the next put or get; 0 = it is acknowledged.
    pub refusal: u8,
    /// Events of PUT do not come.
    pub silent: bool,
    /// Records of the trace ring: cycle, stages word, HPU; they appear when the trace starts.
    pub traced: Vec<[u32; 3]>,
    pub resets: usize,
    pub transport: &'static str,
    /// Base, bytes and records written of the event rings, by process.
    rings: HashMap<u32, (u64, u32, u32)>,
    next: u64,
    cycle: u64,
    puts_made: u16,
    config: Config,
}

/// Handle to a card, for its test.
#[derive(Clone)]
pub struct Fake(Arc<Mutex<State>>);

impl Fake {
    pub fn new() -> Fake {
        let config = Config::SIM;
        let mut state = State {
            registers: HashMap::new(),
            l2: HashMap::new(),
            memory: HashMap::new(),
            windows: HashMap::new(),
            puts: Vec::new(),
            refusal: 0,
            silent: false,
            traced: Vec::new(),
            resets: 0,
            transport: "vfio-user",
            rings: HashMap::new(),
            next: 0x1_0000_0000,
            cycle: 0,
            puts_made: 0,
            config,
        };
        state.clear();
        Fake(Arc::new(Mutex::new(state)))
    }

    pub fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap()
    }

    pub fn card(&self) -> SharedCard {
        SharedCard::new(self.clone())
    }

    pub fn poke(&self, page: u32, offset: u32, value: u32) {
        self.state().registers.insert(page + offset, value);
    }

    pub fn peek(&self, page: u32, offset: u32) -> u32 {
        self.state().register(page, offset)
    }
}

impl State {
    fn clear(&mut self) {
        self.registers = registers::identity(&self.config).collect();
        self.windows.clear();
        self.rings.clear();
    }

    pub fn register(&self, page: u32, offset: u32) -> u32 {
        self.registers.get(&(page + offset)).copied().unwrap_or(0)
    }

    fn wide(&self, page: u32, low: u32, high: u32) -> u64 {
        u64::from(self.register(page, high)) << 32 | u64::from(self.register(page, low))
    }

    pub fn bytes(&self, address: u64, length: usize) -> Vec<u8> {
        (0..length as u64).map(|i| self.memory.get(&(address + i)).copied().unwrap_or(0)).collect()
    }

    fn store(&mut self, address: u64, bytes: &[u8]) {
        self.memory.extend(bytes.iter().enumerate().map(|(i, byte)| (address + i as u64, *byte)));
    }

    /// Puts an event into the ring of a process, with these words; the number is added.
    pub fn event(&mut self, process: u32, words: [u32; 7]) {
        let Some((base, bytes, written)) = self.rings.get(&process).copied() else { return };
        let records = bytes / events::BYTES as u32;
        let at = base + u64::from(written % records) * events::BYTES as u64;
        let words = words.into_iter().chain([written + 1]);
        let record: Vec<u8> = words.flat_map(u32::to_le_bytes).collect();
        self.store(at, &record);
        self.rings.insert(process, (base, bytes, written + 1));
    }

    pub fn has_ring(&self, process: u32) -> bool {
        self.rings.contains_key(&process)
    }

    /// Bytes come for a window.
    pub fn arrive(&mut self, process: u32, address: u64, offset: u32, bytes: &[u8]) -> bool {
        let found = self.windows.iter().find(|(_, window)| (window.process, window.address) == (process, address));
        let Some(number) = found.map(|(number, _)| *number) else { return false };
        let window = self.windows.get_mut(&number).unwrap();
        let Some((buffer, size, record)) = window.posted.front().copied() else { return false };
        let managed = doorbell::Mode(window.mode).managed();
        let offset = if managed { window.filled } else { offset };
        window.filled += bytes.len() as u32;
        let done = if managed { size - window.filled < window.threshold } else { window.filled >= window.threshold };
        let (length, epoch) = (window.filled, window.epoch);
        if done {
            window.posted.pop_front();
            window.filled = 0;
            window.epoch += 1;
        }
        self.store(buffer + u64::from(offset), bytes);
        if done {
            self.record(record, length, status::DONE, epoch, buffer);
        }
        true
    }

    fn record(&mut self, record: u64, length: u32, status: u8, epoch: u16, buffer: u64) {
        let mut bytes = length.to_le_bytes().to_vec();
        bytes.extend([status, 0]);
        bytes.extend(epoch.to_le_bytes());
        bytes.extend(buffer.to_le_bytes());
        self.store(record, &bytes);
    }

    fn doorbell(&mut self, process: u32, command: u32) {
        let page = doorbell::BASE + process * PAGE;
        let address = self.wide(page, doorbell::ADDR_LO, doorbell::ADDR_HI);
        let buffer = self.wide(page, doorbell::BUFFER_LO, doorbell::BUFFER_HI);
        let size = self.register(page, doorbell::SIZE);
        let mailbox = self.register(page, doorbell::MAILBOX);
        let unchecked = self.wide(rvma::BASE, rvma::UNCHECKED, rvma::UNCHECKED + 4) >> process & 1 == 1;
        let result = match command {
            doorbell_command::INIT_WINDOW => {
                let number = self.windows.len() as u32 + 1;
                let window = FakeWindow {
                    process,
                    address,
                    key: self.register(page, doorbell::KEY),
                    threshold: self.register(page, doorbell::THRESHOLD),
                    mode: self.register(page, doorbell::MODE),
                    ..FakeWindow::default()
                };
                self.windows.insert(number, window);
                Ok(number)
            }
            doorbell_command::POST_BUFFER | doorbell_command::OPEN_RING | doorbell_command::PUT if !unchecked => {
                Err(doorbell_error::OUT_OF_REGION)
            }
            doorbell_command::POST_BUFFER => {
                let record = self.wide(page, doorbell::RECORD_LO, doorbell::RECORD_HI);
                let window = self.windows.get_mut(&mailbox).expect("an open window");
                window.posted.push_back((buffer, size, record));
                Ok(0)
            }
            doorbell_command::CLOSE => {
                let window = self.windows.remove(&mailbox).expect("an open window");
                for (i, (buffer, _, record)) in window.posted.iter().enumerate() {
                    let filled = if i == 0 { window.filled } else { 0 };
                    self.record(*record, filled, status::CANCELLED, window.epoch + i as u16, *buffer);
                }
                Ok(0)
            }
            doorbell_command::OPEN_RING if size == 0 => {
                self.rings.remove(&process);
                Ok(0)
            }
            doorbell_command::OPEN_RING => {
                self.rings.insert(process, (buffer, size, 0));
                Ok(0)
            }
            doorbell_command::PUT | doorbell_command::GET => Ok(self.transfer(process, command, buffer)),
            _ => Err(doorbell_error::UNSUPPORTED),
        };
        let word = match result {
            Ok(value) => doorbell::Result::ZERO.with_value(value),
            Err(code) => doorbell::Result::ZERO.with_error(code),
        };
        self.registers.insert(page + doorbell::RESULT, word.0);
    }

    /// A put or a get, to and from this card itself.
    fn transfer(&mut self, process: u32, command: u32, buffer: u64) -> u32 {
        let page = doorbell::BASE + process * PAGE;
        let length = self.register(page, doorbell::LENGTH);
        let node = self.register(page, doorbell::NODE);
        let address = self.wide(page, doorbell::ADDR_LO, doorbell::ADDR_HI);
        let offset = self.register(page, doorbell::OFFSET);
        self.puts_made += 1;
        self.puts.push((length, node, address, self.register(page, doorbell::MODE)));
        if self.silent {
            return self.puts_made.into();
        }
        let code = u32::from(std::mem::take(&mut self.refusal));
        if code == 0 && command == doorbell_command::PUT {
            let bytes = self.bytes(buffer, length as usize);
            self.arrive(self.register(page, doorbell::TARGET_PID), address, offset, &bytes);
        } else if code == 0 {
            let bytes: Vec<u8> = (0..length).map(|i| (i + offset) as u8).collect();
            self.arrive(process, buffer, 0, &bytes);
        }
        let head = events::Head::ZERO.with_kind(events::PUT.into()).with_code(u32::from(code != 0));
        let source = events::HostPut::ZERO.with_number(self.puts_made.into()).with_node(node);
        self.event(process, [head.0, 0, length, code, source.0, address as u32, (address >> 32) as u32]);
        self.puts_made.into()
    }
}

impl Bar for Fake {
    fn read32(&mut self, address: u32) -> Result<u32> {
        let state = &mut *self.state();
        state.cycle += 10;
        Ok(match address {
            a if a == global::BASE + global::CYCLE_LO => state.cycle as u32,
            a if a == global::BASE + global::CYCLE_HI => (state.cycle >> 32) as u32,
            a if a == hpu::BASE + hpu::L2_DATA => {
                let at = state.registers.entry(hpu::BASE + hpu::L2_ADDR).or_default();
                *at += 4;
                state.l2.get(&(*at - 4)).copied().unwrap_or(0)
            }
            a if (trace::BASE + trace::RECORD_CYCLE..=trace::BASE + trace::RECORD_HPU).contains(&a) => {
                let index = state.register(trace::BASE, trace::INDEX) as usize;
                state.traced[index][(a - trace::BASE - trace::RECORD_CYCLE) as usize / 4]
            }
            _ => state.registers.get(&address).copied().unwrap_or(0),
        })
    }

    fn write32(&mut self, address: u32, value: u32) -> Result<()> {
        let state = &mut *self.state();
        if address == hpu::BASE + hpu::L2_DATA {
            let at = state.registers.entry(hpu::BASE + hpu::L2_ADDR).or_default();
            *at += 4;
            let at = *at - 4;
            state.l2.insert(at, value);
        } else if address == trace::BASE + trace::CONTROL {
            let follows = trace::Control(value).follow();
            let written = if follows { state.traced.len() as u32 } else { 0 };
            state.registers.insert(trace::BASE + trace::WRITTEN, written);
            state.registers.insert(address, value);
        } else if address == packet::BASE + packet::MATCH_COMMIT {
            // The commit has happened at once.
        } else if address >= doorbell::BASE && address % PAGE == doorbell::COMMAND {
            state.doorbell((address - doorbell::BASE) / PAGE, value);
        } else {
            state.registers.insert(address, value);
        }
        Ok(())
    }
}

impl HostMemory for Fake {
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
        bytes.copy_from_slice(&self.state().bytes(address, bytes.len()));
        Ok(())
    }

    fn write(&mut self, address: u64, bytes: &[u8]) -> Result<()> {
        self.state().store(address, bytes);
        Ok(())
    }
}

impl Card for Fake {
    fn identity(&self) -> Identity {
        Identity {
            address: "unix:/run/fake.sock".into(),
            transport: self.state().transport,
            pci: Some((0x1af4, 0x10f0)),
        }
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
        self.state().cycle += cycles;
        Ok(())
    }

    fn time_moves_by_calls(&self) -> bool {
        true
    }

    fn reset(&mut self) -> Result<()> {
        let mut state = self.state();
        state.clear();
        state.resets += 1;
        Ok(())
    }
}
