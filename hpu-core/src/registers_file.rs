//! The integer registers. Nothing has to be written to start a handler.

use crate::types::Launch;
use spindle_blocks::ram::LutRam;
use spindle_contract::memory_map::{base, RETURN_ADDRESS, STACK, TASK};
use spindle_contract::params::STACK_BYTES;
use spindle_verilog::prelude::*;

const STACK_TOP: u64 = base(STACK) as u64 + STACK_BYTES as u64;
const TASK_PAGE: u64 = base(TASK) as u64;

/// 32 registers in LUT RAM with a written-bit each.
///
/// A register that the running handler has not written reads what the launch says: ra = the return address, sp = the end of the stack, tp = the
/// task page, a0 to a2 = the arguments, all others 0. So a start only clears the 32 bits, and nothing of an earlier handler can be seen.
///
/// | neighbour | ports |
/// |---|---|
/// | HPU | in `launch`, `clear`; in `read_a`, `read_b` / out `data_a`, `data_b`; in `write_enable`, `write_index`, `write_data` |
///
/// Reads are asynchronous; a write, and `clear`, are seen from the next cycle on. `clear` wins over a write.
#[derive(LogicBlock, Default)]
pub struct RegisterFile {
    /// Core clock.
    pub clock: Signal<In, Clock>,
    /// Synchronous reset, active high.
    pub reset: Signal<In, Bit>,
    /// The running handler.
    pub launch: Signal<In, Launch>,
    /// A handler starts with the next cycle.
    pub clear: Signal<In, Bit>,
    /// First register to read.
    pub read_a: Signal<In, Bits<5>>,
    /// Second register to read.
    pub read_b: Signal<In, Bits<5>>,
    /// Its value.
    pub data_a: Signal<Out, Bits<32>>,
    /// Its value.
    pub data_b: Signal<Out, Bits<32>>,
    /// Write in this cycle; never register 0.
    pub write_enable: Signal<In, Bit>,
    /// Register to write.
    pub write_index: Signal<In, Bits<5>>,
    /// What.
    pub write_data: Signal<In, Bits<32>>,
    words: LutRam<5, 32, 2>,
    written: Reg<Bits<32>>,
}

#[hdl_fn]
fn initial(index: Bits<5>, a0: Bits<32>, a1: Bits<32>, a2: Bits<32>) -> Bits<32> {
    match index.index() {
        1 => bits::<32>(RETURN_ADDRESS as u64),
        2 => bits::<32>(STACK_TOP),
        4 => bits::<32>(TASK_PAGE),
        10 => a0,
        11 => a1,
        12 => a2,
        _ => bits::<32>(0),
    }
}

impl Logic for RegisterFile {
    #[hdl]
    fn update(&mut self) {
        regs!(self, clock, reset, written);
        self.words.clock.next = self.clock.val();
        self.words.write_enable.next = self.write_enable.val();
        self.words.write_address.next = self.write_index.val();
        self.words.write_data.next = self.write_data.val();
        self.words.read_address[0].next = self.read_a.val();
        self.words.read_address[1].next = self.read_b.val();
        let one: Bits<32> = bits::<32>(1);
        if self.clear.val() {
            self.written.d.next = bits::<32>(0);
        } else if self.write_enable.val() {
            self.written.d.next = self.written.q.val() | (one << self.write_index.val());
        }
        let launch = self.launch.val();
        let known_a = self.written.q.val().get_bit(self.read_a.val().index());
        let known_b = self.written.q.val().get_bit(self.read_b.val().index());
        let initial_a = initial(self.read_a.val(), launch.a0, launch.a1, launch.a2);
        let initial_b = initial(self.read_b.val(), launch.a0, launch.a1, launch.a2);
        self.data_a.next = if known_a { self.words.read_data[0].val() } else { initial_a };
        self.data_b.next = if known_b { self.words.read_data[1].val() } else { initial_b };
    }
}
