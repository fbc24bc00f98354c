//! What a processor reports: first fetches and ends.

use spindle_contract::memory_map::{base, CODE, WATCHDOG_BITS};
use spindle_sim::fields::Reader;

/// A handler begins or ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HandlerEvent {
    /// Cycle of the bench.
    pub cycle: u64,
    /// Hardware thread.
    pub thread: usize,
    /// Bank of its start; 0 for an end, which does not name it.
    pub bank: usize,
    /// Its frame.
    pub frame: u16,
}

/// How a handler ended (`Ending` in the processor's types).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ending {
    /// Its bank.
    pub bank: usize,
    /// Return code.
    pub code: u8,
    /// 0 = it returned.
    pub cause: u8,
    /// Address of the instruction that faulted.
    pub pc: u32,
    /// Address of its access.
    pub address: u32,
    /// Cycles from the first fetch to the end.
    pub cycles: u32,
    /// Instructions that retired before the one that returned or faulted.
    pub instructions: u32,
    /// Cycle in which the ending was taken.
    pub taken: u64,
}

/// Program counter and address of a fault, as the cluster reports it. `counter` is that of the processor: half words from
/// the beginning of the code, 17 bits with a sign.
pub fn place_of_fault(counter: u32, sum: u32, stray: bool, of_access: bool) -> (u32, u32) {
    let at = base(CODE).wrapping_add_signed((counter << 15) as i32 >> 14);
    (if stray { sum } else { at }, if of_access { sum } else { at })
}

impl Ending {
    pub(super) fn from_port(bytes: &[u8], cycle: u64) -> Ending {
        let mut port = Reader::new(bytes);
        let (bank, code) = (port.field(2) as usize, port.field(8) as u8);
        let (fault, cause) = (port.bit(), port.field(4) as u8);
        assert_eq!(fault, cause != 0, "a fault and its cause belong together");
        let counter = port.field(17) as u32;
        let sum = port.word();
        let (stray, of_access) = (port.bit(), port.bit());
        let (pc, address) = place_of_fault(counter, sum, stray, of_access);
        let second = port.bit();
        let clocks = [port.field(WATCHDOG_BITS) as u32, port.field(WATCHDOG_BITS) as u32];
        let (cycles, instructions) = (clocks[usize::from(second)], port.field(WATCHDOG_BITS) as u32);
        Ending { bank, code, cause, pc, address, cycles, instructions, taken: cycle }
    }
}
