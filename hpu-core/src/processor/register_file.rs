//! The registers of both threads.

use spindle_blocks::ram::LutRam;
use spindle_verilog::prelude::*;

/// Mark of all registers after a reset: it becomes a handler's number after every register has been unmarked once more.
const NOBODY: u64 = 15;
/// Registers that are unmarked after a handler.
const SWEPT: u64 = 4;

/// 2 x 32 registers in LUT RAM, each with a mark that tells which handler wrote it.
///
/// | neighbour | ports |
/// |---|---|
/// | decoder | in `thread`, `read_a`, `read_b` / out `data_a`, `data_b`, `known_a`, `known_b`: the running handler has written the register |
/// | write back | in `write`, `write_thread`, `write_index`, `write_data`, seen from the next cycle on |
/// | threads | in `clear`: the handler of `thread` ends, nothing is known from the next cycle on; out `ready` |
///
/// Handlers of a thread are numbered modulo 16; a register is known if it carries the number of the running handler. After each handler four
/// registers are given the number of the one that has just ended, in the cycles in which the pipeline fills again and writes nothing: so each
/// register is marked anew every eight handlers, long before its number comes back. After a reset all 64 are, one in each cycle, until `ready`.
#[derive(LogicBlock, Default)]
pub struct RegisterFile {
    /// Core clock.
    pub clock: Signal<In, Clock>,
    /// Synchronous reset, active high.
    pub reset: Signal<In, Bit>,
    /// Handlers may start.
    pub ready: Signal<Out, Bit>,
    /// The thread in D.
    pub thread: Signal<In, Bit>,
    /// Its handler ends.
    pub clear: Signal<In, Bit>,
    /// First register to read.
    pub read_a: Signal<In, Bits<5>>,
    /// Second register to read.
    pub read_b: Signal<In, Bits<5>>,
    /// Its value.
    pub data_a: Signal<Out, Bits<32>>,
    /// Its value.
    pub data_b: Signal<Out, Bits<32>>,
    /// It was written.
    pub known_a: Signal<Out, Bit>,
    /// It was written.
    pub known_b: Signal<Out, Bit>,
    /// Write in this cycle; never register 0.
    pub write: Signal<In, Bit>,
    /// Of this thread.
    pub write_thread: Signal<In, Bit>,
    /// Register to write.
    pub write_index: Signal<In, Bits<5>>,
    /// What.
    pub write_data: Signal<In, Bits<32>>,
    words: LutRam<6, 32, 2>,
    /// By thread, so that each is compared with its thread's number at once.
    marks: [LutRam<5, 4, 2>; 2],
    number: [Reg<Bits<4>>; 2],
    /// Registers still to be unmarked after a handler, of `swept`.
    left: Reg<Bits<3>>,
    swept: DFF<Bit>,
    /// Registers unmarked since the reset.
    filled: Reg<Bits<7>>,
}

impl Logic for RegisterFile {
    #[hdl]
    fn update(&mut self) {
        regs!(self, clock, reset, left, filled);
        dffs!(self, clock, swept);
        let thread = self.thread.val();
        for i in 0..2 {
            regs!(self, clock, reset, number[i]);
            if self.clear.val() & (thread == (i == 1)) {
                self.number[i].d.next = self.number[i].q.val() + 1;
            }
        }
        let ready = self.filled.q.val().get_bit(6);
        if !ready {
            self.filled.d.next = self.filled.q.val() + 1;
        }
        let write = self.write.val();
        if self.clear.val() {
            self.left.d.next = bits::<3>(SWEPT);
            self.swept.d.next = thread;
        } else if self.left.q.val().any() & !write {
            self.left.d.next = self.left.q.val() - 1;
        }

        let writer = if self.write_thread.val() { self.number[1].q.val() } else { self.number[0].q.val() };
        let last = if self.swept.q.val() { self.number[1].q.val() } else { self.number[0].q.val() };
        let unmark = if ready {
            (self.swept.q.val(), last.get_bits::<3>(0), self.left.q.val().get_bits::<2>(0)).cat::<6>()
        } else {
            self.filled.q.val().get_bits::<6>(0)
        };
        // Values are written by instructions alone, marks also to unmark.
        self.words.clock.next = self.clock.val();
        self.words.write_enable.next = write;
        self.words.write_address.next = (self.write_thread.val(), self.write_index.val()).cat::<6>();
        self.words.write_data.next = self.write_data.val();
        self.words.read_address[0].next = (thread, self.read_a.val()).cat::<6>();
        self.words.read_address[1].next = (thread, self.read_b.val()).cat::<6>();
        self.data_a.next = self.words.read_data[0].val();
        self.data_b.next = self.words.read_data[1].val();
        let old = if ready { last - 1 } else { bits::<4>(NOBODY) };
        let unmarks = self.left.q.val().any() | !ready;
        let mark_thread = if write { self.write_thread.val() } else { unmark.get_bit(5) };
        let mut known_a: Bits<2> = bits::<2>(0);
        let mut known_b: Bits<2> = bits::<2>(0);
        for i in 0..2 {
            self.marks[i].clock.next = self.clock.val();
            self.marks[i].write_enable.next = (write | unmarks) & (mark_thread == (i == 1));
            self.marks[i].write_address.next = if write { self.write_index.val() } else { unmark.get_bits::<5>(0) };
            self.marks[i].write_data.next = if write { writer } else { old };
            self.marks[i].read_address[0].next = self.read_a.val();
            self.marks[i].read_address[1].next = self.read_b.val();
            // Register 0 is never written, so it is never known.
            let number = self.number[i].q.val();
            known_a = known_a.replace_bit(i, self.marks[i].read_data[0].val() == number);
            known_b = known_b.replace_bit(i, self.marks[i].read_data[1].val() == number);
        }
        self.known_a.next = if thread { known_a.get_bit(1) } else { known_a.get_bit(0) };
        self.known_b.next = if thread { known_b.get_bit(1) } else { known_b.get_bit(0) };
        self.ready.next = ready;
    }
}
