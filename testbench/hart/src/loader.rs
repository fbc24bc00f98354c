//! The loader: launches and the region table.

use spindle_contract::memory_map::{self as map, base};
use spindle_contract::params::{
    CODE_ALIGN, HPU_BANKS, L1_SCRATCH_BASE, L1_STACK_BASE, L1_TASK_BASE, SCRATCH_BYTES, SLOT_BYTES,
};
use spindle_sim::fields::Packer;
use std::collections::VecDeque;

/// Bytes of a stack in a cluster of up to four HPUs.
pub const STACK_BYTES: u32 = 1024;

/// Where a region lies, with the numbers of the processor's types.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Target {
    /// No region.
    Nowhere,
    /// L1.
    L1,
    /// L2.
    L2,
    /// The command port.
    Command,
    /// Instruction memory.
    Code,
}

/// An entry of the region table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Area {
    /// Where it lies.
    pub target: Target,
    /// Physical base.
    pub base: u32,
    /// Bytes.
    pub bound: u32,
    /// Loads are allowed.
    pub readable: bool,
    /// Stores are allowed.
    pub writable: bool,
}

impl Area {
    const fn new(target: Target, base: u32, bound: u32, access: (bool, bool)) -> Area {
        Area { target, base, bound, readable: access.0, writable: access.1 }
    }

    pub(super) fn bytes(&self) -> Vec<u8> {
        Packer::default()
            .field(self.target as u64, 3)
            .field(self.base.into(), 20)
            .field(self.bound.into(), 21)
            .field(self.readable.into(), 1)
            .field(self.writable.into(), 1)
            .bytes()
    }
}

/// A handler to start and its surroundings.
#[derive(Clone, Debug)]
pub struct Start {
    /// Entry point.
    pub entry: u32,
    /// First argument.
    pub a0: u32,
    /// A completion handler.
    pub completes: bool,
    /// Its second argument.
    pub flow_control: bool,
    /// Byte offset of the image in instruction memory.
    pub code_base: u32,
    /// Bytes of code.
    pub code_size: u32,
    /// Cycle budget.
    pub watchdog: u32,
    /// Frame number.
    pub frame: u16,
    /// L1 address and bytes of the packet.
    pub packet: (u32, u32),
    /// L1 address and bytes of the scratchpad.
    pub scratch: (u32, u32),
    /// L2 address and bytes of the state.
    pub state: (u32, u32),
    /// Content of the task page.
    pub task: [u8; map::TASK_PAGE_BYTES as usize],
    /// Content of the stack; `None` = what is there.
    pub stack: Option<Vec<u8>>,
}

impl Default for Start {
    fn default() -> Self {
        Self {
            entry: base(map::CODE),
            a0: base(map::TASK),
            completes: false,
            flow_control: false,
            code_base: 0,
            code_size: 0x10000,
            watchdog: 10_000_000,
            frame: 0,
            packet: (0, SLOT_BYTES as u32),
            scratch: (L1_SCRATCH_BASE as u32, SCRATCH_BYTES as u32),
            state: (0, 0x1000),
            task: [0; map::TASK_PAGE_BYTES as usize],
            stack: None,
        }
    }
}

impl Start {
    /// What the handler finds in a0, a1, a2.
    pub fn arguments(&self) -> [u32; 3] {
        let state = base(map::CONTEXT);
        if self.completes {
            [self.a0, self.flow_control.into(), state]
        } else {
            [self.a0, state, 0]
        }
    }

    /// What the handler finds in a register.
    pub fn register(&self, number: u32) -> u32 {
        match number {
            1 => map::RETURN_ADDRESS,
            2 => base(map::STACK) + STACK_BYTES,
            4 => base(map::TASK),
            10..=12 => self.arguments()[number as usize - 10],
            _ => 0,
        }
    }

    /// The launch as the loader of a cluster makes it.
    pub fn launch(&self) -> Vec<u8> {
        let stray = self.entry >> 17 != base(map::CODE) >> 17;
        let entry = (self.entry >> 2 & 0xFFFF) << 1 | (self.entry >> 1 & 1) | u32::from(stray);
        let block = (self.entry & 0xFFFF | self.code_base) / CODE_ALIGN as u32;
        Packer::default()
            .field(entry.into(), 17)
            .field(block.into(), 9)
            .field(self.a0.into(), 32)
            .field(self.completes.into(), 1)
            .field(self.flow_control.into(), 1)
            .field((self.code_base / CODE_ALIGN as u32).into(), 9)
            .field((self.code_size / 4).into(), 15)
            .field(self.watchdog.into(), map::WATCHDOG_BITS)
            .field((self.watchdog < 2).into(), 1)
            .field(self.frame.into(), 16)
            .bytes()
    }

    fn regions(&self) -> [(u32, Area); 4] {
        let l1 = |(base, bound): (u32, u32)| Area::new(Target::L1, base, bound, (true, true));
        [
            (map::CODE, Area::new(Target::Code, self.code_base, self.code_size, (true, false))),
            (map::PACKET, l1(self.packet)),
            (map::SCRATCH, l1(self.scratch)),
            (map::CONTEXT, Area::new(Target::L2, self.state.0, self.state.1, (true, true))),
        ]
    }
}

/// L1 address of the stack of a bank.
pub fn stack_at(hpu: usize, bank: usize) -> usize {
    L1_STACK_BASE + (hpu * HPU_BANKS + bank) * STACK_BYTES as usize
}

/// L1 address of the task page of a bank.
pub fn task_at(hpu: usize, bank: usize) -> usize {
    L1_TASK_BASE + (hpu * HPU_BANKS + bank) * map::TASK_PAGE_BYTES as usize
}

/// Writes regions one a cycle, then offers the launch.
pub(super) struct Loader {
    /// Handlers that wait for their turn.
    pub queue: VecDeque<Start>,
    /// Entries of the region table still to be written.
    pub entries: VecDeque<(usize, Area)>,
    /// The launch whose regions are being written or that is offered.
    pub next: Option<(usize, Start)>,
    /// Which banks are taken.
    pub taken: [bool; HPU_BANKS],
}

impl Loader {
    /// Everything that is written once after reset is yet to be written.
    pub fn new(hpu: usize) -> Loader {
        let mut entries = VecDeque::new();
        for bank in 0..HPU_BANKS {
            let (stack, task) = (stack_at(hpu, bank) as u32, task_at(hpu, bank) as u32);
            entries.extend([
                (index(bank, map::STACK), Area::new(Target::L1, stack, STACK_BYTES, (true, true))),
                (index(bank, map::TASK), Area::new(Target::L1, task, map::TASK_PAGE_BYTES, (true, false))),
                (index(bank, map::COMMAND), Area::new(Target::Command, 0, map::COMMAND_PORT_BYTES, (true, true))),
            ]);
            entries.push_back((index(bank, 0), Area::new(Target::Nowhere, 0, 0, (false, false))));
        }
        Loader { queue: VecDeque::new(), entries, next: None, taken: [false; HPU_BANKS] }
    }

    /// The next handler, if one waits, gets `bank`: its regions are to be written, and by the caller its memory.
    pub fn begin(&mut self, bank: usize) -> Option<&Start> {
        if self.next.is_some() {
            return None;
        }
        let start = self.queue.pop_front()?;
        assert!(!self.taken[bank], "bank {bank} is given out twice");
        self.taken[bank] = true;
        self.entries.extend(start.regions().map(|(region, area)| (index(bank, region), area)));
        self.next = Some((bank, start));
        self.next.as_ref().map(|next| &next.1)
    }

    /// The launch, once all its regions are written.
    pub fn offered(&self) -> Option<&Start> {
        self.next.as_ref().filter(|_| self.entries.is_empty()).map(|next| &next.1)
    }
}

/// Index of an entry of the region table.
pub(super) fn index(bank: usize, region: u32) -> usize {
    bank << 3 | region as usize
}
