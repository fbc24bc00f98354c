//! The retirement ports (RVFI) of a NIC that was built with them: which instruction retired where, with what it did.

use anyhow::{ensure, Result};
use spindle_harness::{Model, Port};

/// A retired instruction, or one that faulted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Retired {
    /// Cycle since reset.
    pub cycle: u64,
    /// Number of the HPU, counted through all clusters.
    pub unit: usize,
    /// Hardware thread.
    pub thread: u8,
    /// Number of the instruction in its thread.
    pub order: u64,
    /// The instruction.
    pub instruction: u32,
    /// It faulted and had no effect.
    pub trap: bool,
    /// The handler ended with it.
    pub halt: bool,
    /// It is the first of a handler.
    pub first: bool,
    /// Its address.
    pub pc: u32,
    /// Address of the next one.
    pub next_pc: u32,
    /// Register that it wrote, with the value.
    pub register: Option<(u8, u32)>,
    /// What it read from memory.
    pub load: Option<MemoryAccess>,
    /// What it wrote to memory.
    pub store: Option<MemoryAccess>,
}

/// A piece of memory that an instruction read or wrote.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MemoryAccess {
    /// Virtual address.
    pub address: u32,
    /// 1 to 4.
    pub bytes: u32,
    /// Right-aligned.
    pub data: u32,
}

/// A field of the port: its lowest bit and its width.
#[derive(Clone, Copy)]
struct Field(u32, u32);

impl Field {
    /// The field behind this one.
    const fn next(self, width: u32) -> Field {
        Field(self.0 + self.1, width)
    }

    fn of(self, bytes: &[u8]) -> u64 {
        let Field(low, width) = self;
        let first = low as usize / 8;
        let word = bytes[first..].iter().take(9).rev().fold(0u128, |word, byte| word << 8 | u128::from(*byte));
        (word >> (low % 8)) as u64 & u64::MAX >> (64 - width)
    }
}

// The order is that of `hpu_core::processor::types::Rvfi`; this crate knows no hardware crate, so the width of the port is compared.
const VALID: Field = Field(0, 1);
const ORDER: Field = VALID.next(64);
const INSN: Field = ORDER.next(32);
const TRAP: Field = INSN.next(1);
const HALT: Field = TRAP.next(1);
const INTR: Field = HALT.next(1);
const MODE: Field = INTR.next(2);
const IXL: Field = MODE.next(2);
const THREAD: Field = IXL.next(1);
const RS1_ADDR: Field = THREAD.next(5);
const RS2_ADDR: Field = RS1_ADDR.next(5);
const RS1_RDATA: Field = RS2_ADDR.next(32);
const RS2_RDATA: Field = RS1_RDATA.next(32);
const RD_ADDR: Field = RS2_RDATA.next(5);
const RD_WDATA: Field = RD_ADDR.next(32);
const PC_RDATA: Field = RD_WDATA.next(32);
const PC_WDATA: Field = PC_RDATA.next(32);
const MEM_ADDR: Field = PC_WDATA.next(32);
const MEM_RMASK: Field = MEM_ADDR.next(4);
const MEM_WMASK: Field = MEM_RMASK.next(4);
const MEM_RDATA: Field = MEM_WMASK.next(32);
const MEM_WDATA: Field = MEM_RDATA.next(32);
const WIDTH: u32 = MEM_WDATA.0 + MEM_WDATA.1;

/// The ports of all HPUs.
pub(crate) struct RetirementPorts {
    ports: Vec<Port>,
}

impl RetirementPorts {
    /// Looks them up.
    ///
    /// # Errors
    /// The design was emitted without them, or they are not laid out as expected.
    pub fn new(model: &Model, hpus: usize) -> Result<Self> {
        let ports = (0..hpus).map(|i| model.port(&format!("rvfi_{i}"))).collect::<Result<Vec<_>>>()?;
        for port in &ports {
            ensure!(port.width() == WIDTH, "a retirement port has {} bits, not {WIDTH}", port.width());
        }
        Ok(Self { ports })
    }

    /// Hands over what retires in this cycle.
    pub fn sample(&self, model: &Model, cycle: u64, sink: &mut dyn FnMut(&Retired)) {
        for (unit, port) in self.ports.iter().enumerate() {
            let bytes = model.get_bytes(*port);
            if bytes[0] & 1 == 1 {
                sink(&decode(bytes, cycle, unit));
            }
        }
    }
}

/// The instruction on a port.
fn decode(bytes: &[u8], cycle: u64, unit: usize) -> Retired {
    let word = |field: Field| field.of(bytes) as u32;
    let flag = |field: Field| field.of(bytes) == 1;
    let access = |mask: Field, data: Field| {
        let bytes = word(mask).count_ones();
        let data = word(data) & (u64::MAX >> 32 >> (32 - 8 * bytes.clamp(1, 4))) as u32;
        (bytes > 0).then_some(MemoryAccess { address: word(MEM_ADDR), bytes, data })
    };
    Retired {
        cycle,
        unit,
        thread: word(THREAD) as u8,
        order: ORDER.of(bytes),
        instruction: word(INSN),
        trap: flag(TRAP),
        halt: flag(HALT),
        first: flag(INTR),
        pc: word(PC_RDATA),
        next_pc: word(PC_WDATA),
        register: (word(RD_ADDR) != 0).then(|| (word(RD_ADDR) as u8, word(RD_WDATA))),
        load: access(MEM_RMASK, MEM_RDATA),
        store: access(MEM_WMASK, MEM_WDATA),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_found_at_their_bits() {
        let mut bytes = vec![0u8; WIDTH.div_ceil(8) as usize];
        let mut put = |Field(low, width): Field, value: u64| {
            for bit in (0..width).filter(|bit| value >> bit & 1 == 1) {
                bytes[((low + bit) / 8) as usize] |= 1 << ((low + bit) % 8);
            }
        };
        put(VALID, 1);
        put(ORDER, 0x1234_5678_9ABC_DEF0);
        put(INSN, 0x0005_2783);
        put(HALT, 1);
        put(THREAD, 1);
        put(RD_ADDR, 15);
        put(RD_WDATA, 0xDEAD_BEEF);
        put(PC_RDATA, 0x1000_0010);
        put(PC_WDATA, 0x1000_0014);
        put(MEM_ADDR, 0x6000_0001);
        put(MEM_RMASK, 0b11);
        put(MEM_RDATA, 0xFFFF_1234);
        let expected = Retired {
            cycle: 9,
            unit: 5,
            thread: 1,
            order: 0x1234_5678_9ABC_DEF0,
            instruction: 0x0005_2783,
            trap: false,
            halt: true,
            first: false,
            pc: 0x1000_0010,
            next_pc: 0x1000_0014,
            register: Some((15, 0xDEAD_BEEF)),
            load: Some(MemoryAccess { address: 0x6000_0001, bytes: 2, data: 0x1234 }),
            store: None,
        };
        assert_eq!(decode(&bytes, 9, 5), expected);
    }
}
