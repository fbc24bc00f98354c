//! The retirement ports (RVFI) of a NIC that was built with them: which instruction retired where, with what it did.

use crate::fields::Reader;
use anyhow::Result;
use spindle_harness::{Model, Port};

/// The ports of all HPUs.
pub(crate) struct RetirementPorts {
    ports: Vec<Port>,
}

impl RetirementPorts {
    /// Looks them up.
    ///
    /// # Errors
    /// The design was emitted without them.
    pub fn new(model: &Model, hpus: usize) -> Result<Self> {
        Ok(Self { ports: (0..hpus).map(|i| model.port(&format!("rvfi_{i}"))).collect::<Result<Vec<_>>>()? })
    }

    /// Hands over what retires in this cycle.
    pub fn sample(&self, model: &Model, cycle: u64, sink: &mut dyn FnMut(&Retired)) {
        for (unit, port) in self.ports.iter().enumerate() {
            if let Some(retired) = Retired::from_port(model.get_bytes(*port), cycle, unit) {
                sink(&retired);
            }
        }
    }
}

/// A retired instruction, from the retirement port (`Rvfi` in the processor's types).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Retired {
    /// Cycle since reset.
    pub cycle: u64,
    /// Number of the HPU, counted through all clusters; 0 on the bench.
    pub unit: usize,
    /// Number in its thread.
    pub order: u64,
    /// The instruction.
    pub insn: u32,
    /// It faulted.
    pub trap: bool,
    /// The handler ended with it.
    pub halt: bool,
    /// It is the first of a handler.
    pub intr: bool,
    /// Hardware thread.
    pub thread: usize,
    /// Source registers and their values.
    pub rs1: (u8, u32),
    /// The second one.
    pub rs2: (u8, u32),
    /// Destination and what it got.
    pub rd: (u8, u32),
    /// Its address.
    pub pc: u32,
    /// Address of the next one.
    pub next_pc: u32,
    /// Virtual address of its access.
    pub address: u32,
    /// Bytes read from there on.
    pub read_mask: u8,
    /// Bytes written from there on.
    pub write_mask: u8,
    /// What was read.
    pub read: u32,
    /// What was written.
    pub written: u32,
    /// Cycles since the last one of the instruction in D.
    pub since_decode: u32,
    /// Cycles since the last one in X.
    pub since_execute: u32,
    /// Cycles since the last one in M1.
    pub since_memory: u32,
}

impl Retired {
    /// Takes the port apart; `None` = nothing retires.
    pub fn from_port(bytes: &[u8], cycle: u64, unit: usize) -> Option<Retired> {
        if bytes[0] & 1 == 0 {
            return None;
        }
        let mut port = Reader::new(bytes);
        port.bit();
        let order = port.field(64);
        let insn = port.word();
        let (trap, halt, intr) = (port.bit(), port.bit(), port.bit());
        let (mode, ixl) = (port.field(2), port.field(2));
        assert_eq!((mode, ixl), (3, 1), "mode and ixl are constants");
        let thread = port.field(1) as usize;
        let (rs1_addr, rs2_addr) = (port.field(5) as u8, port.field(5) as u8);
        let (rs1, rs2) = ((rs1_addr, port.word()), (rs2_addr, port.word()));
        let rd = (port.field(5) as u8, port.word());
        let (pc, next_pc, address) = (port.word(), port.word(), port.word());
        let (read_mask, write_mask) = (port.field(4) as u8, port.field(4) as u8);
        let (read, written) = (port.word(), port.word());
        let (since_decode, since_execute, since_memory) = (port.word(), port.word(), port.word());
        Some(Retired {
            cycle,
            unit,
            order,
            insn,
            trap,
            halt,
            intr,
            thread,
            rs1,
            rs2,
            rd,
            pc,
            next_pc,
            address,
            read_mask,
            write_mask,
            read,
            written,
            since_decode,
            since_execute,
            since_memory,
        })
    }

    /// The register that it wrote, with the value.
    pub fn register(&self) -> Option<(u8, u32)> {
        (self.rd.0 != 0).then_some(self.rd)
    }

    /// What it read from memory.
    pub fn load(&self) -> Option<MemoryAccess> {
        MemoryAccess::of(self.address, self.read_mask, self.read)
    }

    /// What it wrote to memory.
    pub fn store(&self) -> Option<MemoryAccess> {
        MemoryAccess::of(self.address, self.write_mask, self.written)
    }
}

/// A piece of memory that an instruction read or wrote.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MemoryAccess {
    /// Virtual address.
    pub address: u32,
    /// 1 to 4.
    pub bytes: u32,
    /// Right-aligned, nothing above.
    pub data: u32,
}

impl MemoryAccess {
    fn of(address: u32, mask: u8, data: u32) -> Option<MemoryAccess> {
        let bytes = mask.count_ones();
        (bytes > 0).then(|| MemoryAccess { address, bytes, data: data & u32::MAX >> (32 - 8 * bytes) })
    }
}
