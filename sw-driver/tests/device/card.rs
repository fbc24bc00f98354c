//! A card that exists only as a table of registers, and host memory beside it: both keep in one list what the driver does.

use spindle::{Bar, Device, Error, HostMemory, Kind, Result, Target};
use spindle_contract::descriptors::action;
use spindle_contract::params::Config;
use spindle_contract::registers::{self, doorbell, global, hpu, packet, PAGE};
use spindle_model::packet_engine::header_matcher::{Rule as MatchRule, RuleSet, Source, Term};
use std::cell::RefCell;
use std::collections::{HashMap, VecDeque};
use std::rc::Rc;

/// Bytes of a line of host memory.
const LINE: u64 = 64;

/// The place that puts and gets of the tests name, a different value in each field.
pub const TARGET: Target = Target {
    node: 0xA1,
    process: 0xB2C3,
    address: 0x1122_3344_5566_7788,
    key: 0xDEAD_BEEF,
    offset: 0x0102_0304,
    kind: Kind::Bound,
};

/// What the driver did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// Wrote a register.
    Write(u32, u32),
    /// Wrote so many bytes of host memory.
    Memory(u64, usize),
}

/// A register file with the few side effects that the driver relies on.
pub struct Card {
    pub registers: HashMap<u32, u32>,
    /// Slots of the matcher: sources of words, terms, rules; and what a commit made of them.
    pub slots: RuleSet,
    pub rules: RuleSet,
    pub commits: usize,
    pub imem: HashMap<u32, u32>,
    pub l2: HashMap<u32, u32>,
    pub installed: Vec<(u32, HashMap<u32, u32>)>,
    /// Answer of the next doorbell commands, and reads of RESULT that say busy first.
    pub doorbell: (u32, u32),
    pub commands: Vec<(u32, u32)>,
    /// PRINT_WHO, _FRAME, _LOW and _HIGH of the pieces that wait.
    pub prints: VecDeque<[u32; 4]>,
    pub next: u64,
    pub cycle: u32,
    /// Cycles that pass with each read.
    pub step: u32,
    /// Cycle in which the record at this address appears.
    pub complete: Option<(u32, u64, [u8; 16])>,
    /// What the next reads of a register give, before its value.
    pub answers: HashMap<u32, VecDeque<u32>>,
    /// Accesses of this register fail.
    pub broken: Option<u32>,
    /// Writes of host memory fail.
    pub no_memory: bool,
    /// What the card writes to host memory after the driver's next read of it.
    pub late: Option<(u64, Vec<u8>)>,
    /// Registers read and steps since the last look at them.
    pub reads: Vec<u32>,
    pub steps: Vec<Step>,
    /// Allocations: address, bytes, alignment; addresses that were given back.
    pub allocations: Vec<(u64, usize, usize)>,
    pub freed: Vec<u64>,
    memory: HashMap<u64, [u8; LINE as usize]>,
}

impl Card {
    fn byte(&self, at: u64) -> u8 {
        self.memory.get(&(at / LINE)).map_or(0, |line| line[(at % LINE) as usize])
    }

    fn store(&mut self, mut at: u64, mut bytes: &[u8]) {
        while !bytes.is_empty() {
            let start = (at % LINE) as usize;
            let part = bytes.len().min(LINE as usize - start);
            self.memory.entry(at / LINE).or_insert([0; LINE as usize])[start..start + part]
                .copy_from_slice(&bytes[..part]);
            (at, bytes) = (at + part as u64, &bytes[part..]);
        }
    }
}

#[derive(Clone)]
pub struct Handle(pub Rc<RefCell<Card>>);

impl Handle {
    pub fn new(config: &Config) -> Handle {
        let mut card = Card {
            registers: HashMap::new(),
            slots: RuleSet::empty(config.match_rules),
            rules: RuleSet::empty(config.match_rules),
            commits: 0,
            imem: HashMap::new(),
            l2: HashMap::new(),
            installed: Vec::new(),
            prints: Default::default(),
            doorbell: (0, 0),
            commands: Vec::new(),
            next: 0x1000,
            cycle: 0,
            step: 5,
            complete: None,
            answers: HashMap::new(),
            broken: None,
            no_memory: false,
            late: None,
            reads: Vec::new(),
            steps: Vec::new(),
            allocations: Vec::new(),
            freed: Vec::new(),
            memory: HashMap::new(),
        };
        // What an earlier owner left.
        card.slots.rules.fill(MatchRule { valid: true, action: action::DROP, ..MatchRule::default() });
        card.registers.extend(registers::identity(config));
        Handle(Rc::new(RefCell::new(card)))
    }

    pub fn open(&self) -> Result<Device<Handle, Handle>> {
        Device::open(self.clone(), self.clone())
    }

    /// An open device of such a card, whose steps so far are forgotten.
    pub fn opened(config: &Config) -> (Handle, Device<Handle, Handle>) {
        let handle = Handle::new(config);
        let device = handle.open().unwrap();
        handle.steps();
        (handle, device)
    }

    pub fn poke(&self, address: u32, value: u32) {
        self.0.borrow_mut().registers.insert(address, value);
    }

    pub fn register(&self, address: u32) -> u32 {
        self.0.borrow().registers.get(&address).copied().unwrap_or(0)
    }

    /// The next reads of a register give these values.
    pub fn answer(&self, address: u32, values: impl IntoIterator<Item = u32>) {
        self.0.borrow_mut().answers.entry(address).or_default().extend(values);
    }

    /// Results of the next doorbell commands of a process, one look at RESULT each.
    pub fn results(&self, process: u32, values: impl IntoIterator<Item = u32>) {
        self.answer(page(process) + doorbell::RESULT, values);
    }

    /// Accesses of this register fail from now on.
    pub fn break_register(&self, address: Option<u32>) {
        self.0.borrow_mut().broken = address;
    }

    pub fn store(&self, address: u64, bytes: &[u8]) {
        self.0.borrow_mut().store(address, bytes);
    }

    pub fn bytes(&self, address: u64, count: usize) -> Vec<u8> {
        let card = self.0.borrow();
        (address..address + count as u64).map(|at| card.byte(at)).collect()
    }

    /// Little-endian words of host memory.
    pub fn words<const N: usize>(&self, address: u64) -> [u32; N] {
        let bytes = self.bytes(address, 4 * N);
        std::array::from_fn(|i| u32::from_le_bytes(bytes[4 * i..4 * i + 4].try_into().unwrap()))
    }

    /// What the driver has done since the last look.
    pub fn steps(&self) -> Vec<Step> {
        let mut card = self.0.borrow_mut();
        card.reads.clear();
        std::mem::take(&mut card.steps)
    }

    /// The registers that it has written since then, in their order.
    pub fn writes(&self) -> Vec<(u32, u32)> {
        let write = |step| match step {
            Step::Write(address, value) => Some((address, value)),
            Step::Memory(..) => None,
        };
        self.steps().into_iter().filter_map(write).collect()
    }

    /// How often it has read a register since then.
    pub fn reads_of(&self, address: u32) -> usize {
        self.0.borrow().reads.iter().filter(|read| **read == address).count()
    }
}

/// Address of a process's doorbell page.
pub const fn page(process: u32) -> u32 {
    doorbell::BASE + process * PAGE
}

/// These registers of a page, with their values.
pub fn of_page<const N: usize>(page: u32, registers: [(u32, u32); N]) -> Vec<(u32, u32)> {
    registers.map(|(register, value)| (page + register, value)).to_vec()
}

/// A result that is an error of the driver, as a sentence.
#[track_caller]
pub fn refused<T>(result: Result<T>) -> String {
    match result {
        // Its sentence looks like that of an argument.
        Err(Error::Plugin(sentence)) => panic!("an error of a library: {sentence}"),
        Err(error) => error.to_string(),
        Ok(_) => panic!("it is not refused"),
    }
}

/// The source of an extracted word that a value of WORD_SOURCE names.
fn source(value: packet::WordSource) -> Source {
    let at = |even: u32, odd: u32| match value.order() {
        packet::WordSource::ORDER_EVEN_FIRST => (4 * even as usize, 4 * odd as usize + 2),
        _ => (4 * odd as usize + 2, 4 * even as usize),
    };
    if value.order() == packet::WordSource::ORDER_LENGTH {
        return Source::Length;
    }
    let (untagged, tagged) = (at(value.even(), value.odd()), at(value.tagged_even(), value.tagged_odd()));
    assert!(untagged.1 == untagged.0 + 2 && tagged.1 == tagged.0 + 2, "halves that do not follow: {value:?}");
    Source::Frame { untagged: untagged.0, tagged: tagged.0 }
}

fn silent(access: &'static str, address: u32) -> Error {
    Error::Bar { access, address, why: "it is silent".into() }
}

impl Bar for Handle {
    fn read32(&mut self, address: u32) -> Result<u32> {
        let card = &mut *self.0.borrow_mut();
        card.cycle = card.cycle.wrapping_add(card.step);
        card.reads.push(address);
        if card.broken == Some(address) {
            return Err(silent("read", address));
        }
        if let Some(value) = card.answers.get_mut(&address).and_then(VecDeque::pop_front) {
            return Ok(value);
        }
        if let Some((due, record, bytes)) = card.complete {
            if card.cycle >= due {
                card.store(record, &bytes);
            }
        }
        if address == global::BASE + global::CYCLE_LO {
            return Ok(card.cycle);
        }
        if address >= doorbell::BASE && address % registers::PAGE == doorbell::RESULT {
            if card.doorbell.1 > 0 {
                card.doorbell.1 -= 1;
                return Ok(1 << 31);
            }
            return Ok(card.doorbell.0);
        }
        if address == hpu::BASE + hpu::L2_DATA {
            let at = card.registers.entry(hpu::BASE + hpu::L2_ADDR).or_default();
            *at += 4;
            return Ok(card.l2.get(&(*at - 4)).copied().unwrap_or(0));
        }
        if address == hpu::BASE + hpu::PRINT_COUNT {
            return Ok(card.prints.len() as u32);
        }
        let words = [hpu::PRINT_WHO, hpu::PRINT_FRAME, hpu::PRINT_LOW, hpu::PRINT_HIGH];
        if let Some(word) = words.iter().position(|offset| address == hpu::BASE + offset) {
            return Ok(card.prints.front().map_or(0xDEAD_DEAD, |piece| piece[word]));
        }
        Ok(card.registers.get(&address).copied().unwrap_or(0))
    }

    fn write32(&mut self, address: u32, value: u32) -> Result<()> {
        let card = &mut *self.0.borrow_mut();
        if card.broken == Some(address) {
            return Err(silent("write", address));
        }
        card.steps.push(Step::Write(address, value));
        let register = |page: u32, offset: u32| card.registers.get(&(page + offset)).copied().unwrap_or(0);
        let p = |offset: u32| register(packet::BASE, offset);
        let literals = |first: u32| (0..3).fold(0u128, |all, i| all | u128::from(p(first + 4 * i)) << (32 * i));
        if address == packet::BASE + packet::WORD_COMMIT {
            card.slots.sources[value as usize] = source(packet::WordSource(p(packet::WORD_SOURCE)));
        } else if address == packet::BASE + packet::TERM_COMMIT {
            card.slots.terms[value as usize] =
                Term { mask: p(packet::TERM_MASK), low: p(packet::TERM_LOW), high: p(packet::TERM_HIGH) };
        } else if address == packet::BASE + packet::RULE_COMMIT {
            let action = packet::RuleAction(p(packet::RULE_ACTION));
            card.slots.rules[value as usize] = MatchRule {
                valid: action.valid(),
                positive: literals(packet::RULE_POSITIVE),
                negative: literals(packet::RULE_NEGATIVE),
                action: action.action() as u8,
                context: action.context() as u8,
                ..MatchRule::default()
            };
        } else if address == packet::BASE + packet::MATCH_COMMIT {
            card.rules = card.slots.clone();
            card.commits += 1;
        } else if address == hpu::BASE + hpu::PRINT_POP {
            card.prints.pop_front();
        } else if address == hpu::BASE + hpu::FAULT_POP {
            // The next report, which is none of the driver's business yet.
            for register in [hpu::FAULT_WHO, hpu::FAULT_PC, hpu::FAULT_ADDRESS, hpu::FAULT_FRAME] {
                card.registers.insert(hpu::BASE + register, 0xDEAD_DEAD);
            }
        } else if address == hpu::BASE + hpu::CTX_INSTALL {
            let staged = card
                .registers
                .iter()
                .filter(|(a, _)| (hpu::BASE..hpu::BASE + hpu::TASKS_DONE).contains(*a))
                .map(|(a, v)| (a - hpu::BASE, *v))
                .collect();
            card.installed.push((value, staged));
        } else if address == hpu::BASE + hpu::IMEM_DATA || address == hpu::BASE + hpu::L2_DATA {
            let (memory, pointer) = if address == hpu::BASE + hpu::IMEM_DATA {
                (&mut card.imem, hpu::IMEM_ADDR)
            } else {
                (&mut card.l2, hpu::L2_ADDR)
            };
            let at = card.registers.entry(hpu::BASE + pointer).or_default();
            memory.insert(*at, value);
            *at += 4;
        } else if address >= doorbell::BASE && address % registers::PAGE == doorbell::COMMAND {
            card.commands.push((address, value));
        } else {
            card.registers.insert(address, value);
        }
        Ok(())
    }
}

impl HostMemory for Handle {
    fn alloc(&mut self, bytes: usize, align: usize) -> Result<u64> {
        let mut card = self.0.borrow_mut();
        let start = card.next.next_multiple_of(align as u64);
        card.next = start + bytes as u64;
        card.allocations.push((start, bytes, align));
        Ok(start)
    }

    fn free(&mut self, address: u64) -> Result<()> {
        self.0.borrow_mut().freed.push(address);
        Ok(())
    }

    fn read(&self, address: u64, bytes: &mut [u8]) -> Result<()> {
        let mut card = self.0.borrow_mut();
        (address..).zip(bytes).for_each(|(at, byte)| *byte = card.byte(at));
        if let Some((at, late)) = card.late.take() {
            card.store(at, &late);
        }
        Ok(())
    }

    fn write(&mut self, address: u64, bytes: &[u8]) -> Result<()> {
        let mut card = self.0.borrow_mut();
        if card.no_memory {
            return Err(Error::Memory("it is not there".into()));
        }
        card.steps.push(Step::Memory(address, bytes.len()));
        card.store(address, bytes);
        Ok(())
    }
}
