//! A card that exists as registers alone, but for what keeps processes apart: regions, mailboxes with posted buffers, records.

use rustix::io::Errno;
use spindle::vfio_user::{Doorbell, Function, Host};
use spindle_contract::params::Config;
use spindle_contract::registers::rvma::RegionCommit;
use spindle_contract::registers::{
    self, doorbell, doorbell_command as command, doorbell_error as error, global, packet, rvma, PAGE,
};
use spindle_contract::wire::{self, status};
use std::collections::{BTreeMap, HashMap, VecDeque};
use std::sync::{Arc, Mutex};

/// A buffer that is posted.
#[derive(Clone, Copy, Debug)]
pub struct Buffer {
    pub address: u64,
    pub size: u32,
    pub record: u64,
}

#[derive(Debug, Default)]
pub struct Mailbox {
    pub process: usize,
    pub epoch: u64,
    pub buffers: VecDeque<Buffer>,
}

/// First and last page of a region, and its rights.
type Region = (u64, u64, RegionCommit);

pub struct State {
    pub host: Host,
    pub registers: HashMap<u32, u32>,
    pub mailboxes: BTreeMap<u32, Mailbox>,
    pub regions: BTreeMap<(usize, u32), Region>,
    pub cycle: u64,
    /// Reads of RESULT and COMMANDs, for the figures of the tests.
    pub reclaims: Vec<u64>,
    next: u32,
}

/// The model; clones are the same.
#[derive(Clone)]
pub struct Model(pub Arc<Mutex<State>>);

/// Cycles of an access.
const ACCESS: u64 = 10;

impl Model {
    pub fn new(host: Host) -> Model {
        let registers = registers::identity(&Config::SIM).collect();
        let (mailboxes, regions) = (BTreeMap::new(), BTreeMap::new());
        Model(Arc::new(Mutex::new(State { host, registers, mailboxes, regions, cycle: 0, reclaims: vec![], next: 1 })))
    }

    /// A message of the network for a mailbox: fills the oldest buffer and completes it; false: there is no buffer.
    pub fn deliver(&self, mailbox: u32, byte: u8) -> Result<bool, Errno> {
        let mut state = self.0.lock().unwrap();
        let Some(open) = state.mailboxes.get_mut(&mailbox) else { return Ok(false) };
        let Some(buffer) = open.buffers.pop_front() else { return Ok(false) };
        open.epoch += 1;
        let process = open.process;
        state.host.memory.write(buffer.address, &vec![byte; buffer.size as usize])?;
        state.record(&buffer, status::DONE)?;
        state.host.interrupts.fire(1 + process % 15);
        Ok(true)
    }
}

impl State {
    pub fn page(&self, process: usize, register: u32) -> u32 {
        let address = doorbell::BASE + process as u32 * PAGE + register;
        self.registers.get(&address).copied().unwrap_or(0)
    }

    fn set(&mut self, process: usize, register: u32, value: u32) {
        self.registers.insert(doorbell::BASE + process as u32 * PAGE + register, value);
    }

    fn long(&self, process: usize, register: u32) -> u64 {
        u64::from(self.page(process, register + 4)) << 32 | u64::from(self.page(process, register))
    }

    fn record(&self, buffer: &Buffer, status: u8) -> Result<(), Errno> {
        let mut record = [0; wire::RECORD_BYTES];
        record[wire::RECORD_STATUS] = status;
        record[wire::RECORD_LENGTH..wire::RECORD_LENGTH + 4].copy_from_slice(&buffer.size.to_le_bytes());
        self.host.memory.write(buffer.record, &record)
    }

    /// Whether a process may have the card write these bytes.
    fn in_region(&self, process: usize, address: u64, bytes: u64) -> bool {
        let low = self.registers.get(&(rvma::BASE + rvma::UNCHECKED)).copied().unwrap_or(0);
        let unchecked = low >> process & 1 == 1;
        let (first, last) = (address / 4096, (address + bytes - 1) / 4096);
        let mut regions = self.regions.iter().filter(|((owner, _), _)| *owner == process);
        unchecked || regions.any(|(_, region)| region.0 <= first && last <= region.1 && region.2.writable())
    }

    fn commit(&mut self, value: u32) {
        let commit = RegionCommit(value);
        let word = |offset: u32| u64::from(self.registers.get(&(rvma::BASE + offset)).copied().unwrap_or(0));
        let page = |register: u32| (word(register + 4) << 32 | word(register)) >> 12;
        let key = (commit.process() as usize, commit.region());
        match commit.readable() || commit.writable() {
            true => drop(self.regions.insert(key, (page(rvma::REGION_FIRST), page(rvma::REGION_LAST), commit))),
            false => drop(self.regions.remove(&key)),
        }
    }

    fn command(&mut self, process: usize, code: u32) -> Result<u32, u32> {
        let mailbox = self.page(process, doorbell::MAILBOX);
        let of_process = self.mailboxes.get(&mailbox).is_some_and(|open| open.process == process);
        match code {
            command::INIT_WINDOW => {
                let number = self.next;
                self.next += 1;
                self.mailboxes.insert(number, Mailbox { process, ..Mailbox::default() });
                Ok(number)
            }
            command::OPEN_RING | command::OPEN_COMMANDS | command::OPEN_SHADOW => Ok(0),
            command::PUT | command::GET => Err(error::UNSUPPORTED),
            _ if !of_process => Err(error::NO_MAILBOX),
            command::POST_BUFFER => {
                let buffer = Buffer {
                    address: self.long(process, doorbell::BUFFER_LO),
                    size: self.page(process, doorbell::SIZE),
                    record: self.long(process, doorbell::RECORD_LO),
                };
                let fits = self.in_region(process, buffer.address, buffer.size.into())
                    && self.in_region(process, buffer.record, wire::RECORD_BYTES as u64);
                if !fits {
                    return Err(error::OUT_OF_REGION);
                }
                self.mailboxes.get_mut(&mailbox).expect("it is open").buffers.push_back(buffer);
                Ok(0)
            }
            command::GET_EPOCH => {
                let epoch = self.mailboxes[&mailbox].epoch;
                self.set(process, doorbell::VALUE_LO, epoch as u32);
                self.set(process, doorbell::VALUE_HI, (epoch >> 32) as u32);
                Ok(0)
            }
            command::CLOSE => {
                self.reclaims.push(self.cycle);
                for buffer in self.mailboxes.remove(&mailbox).expect("it is open").buffers {
                    self.record(&buffer, status::CANCELLED).expect("the memory of a closed buffer is mapped");
                }
                Ok(0)
            }
            _ => Err(error::UNSUPPORTED),
        }
    }
}

impl Function for Model {
    fn read(&mut self, offset: u64, bytes: &mut [u8]) -> Result<(), Errno> {
        let mut state = self.0.lock().unwrap();
        state.cycle += ACCESS;
        let value = match offset as u32 {
            address if address == global::BASE + global::CYCLE_LO => state.cycle as u32,
            address if address == global::BASE + global::CYCLE_HI => (state.cycle >> 32) as u32,
            address => state.registers.get(&address).copied().unwrap_or(0),
        };
        bytes.copy_from_slice(&value.to_le_bytes());
        Ok(())
    }

    fn write(&mut self, offset: u64, bytes: &[u8]) -> Result<(), Errno> {
        let (address, value) = (offset as u32, u32::from_le_bytes(bytes.try_into().unwrap()));
        let mut state = self.0.lock().unwrap();
        state.cycle += ACCESS;
        if address == packet::BASE + packet::MATCH_COMMIT {
            // Done at once: it reads as not busy.
        } else if address == rvma::BASE + rvma::REGION_COMMIT {
            state.commit(value);
        } else if address >= doorbell::BASE && address % PAGE == doorbell::COMMAND {
            let process = ((address - doorbell::BASE) / PAGE) as usize;
            let result = match state.command(process, value) {
                Ok(value) => doorbell::Result::ZERO.with_value(value),
                Err(code) => doorbell::Result::ZERO.with_error(code),
            };
            state.set(process, doorbell::RESULT, result.0);
        } else if address >= doorbell::BASE && address % PAGE == doorbell::KICK {
            *state.registers.entry(address).or_default() += 1;
        } else {
            state.registers.insert(address, value);
        }
        Ok(())
    }

    fn reset(&mut self) {}

    fn doorbells(&self) -> Vec<Doorbell> {
        let page = |process: u32| u64::from(doorbell::BASE + process * PAGE + doorbell::KICK);
        (0..16).map(|process| Doorbell { offset: page(process), value: 1 }).collect()
    }
}
