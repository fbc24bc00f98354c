//! The registers of both threads.

use spindle_blocks::ram::LutRam;
use spindle_verilog::prelude::*;

/// Mark of all registers after a reset: it becomes a handler's number after every register has been unmarked once more.
const NO_HANDLER: u64 = 15;
/// Registers that are unmarked after a handler.
const SWEPT: u64 = 4;

/// 2 x 32 registers in LUT RAM, each with a mark beside it that names the handler that wrote it.
///
/// | neighbour | ports |
/// |---|---|
/// | decoder | in `thread`, `read_a`, `read_b` / out `data_a`, `data_b`, `known_a`, `known_b`: |
/// | | the running handler has written the register |
/// | write back | in `write`, `write_thread`, `write_index`, `write_data`, seen from the next cycle on |
/// | threads | in `clear`: the handler of `thread` ends, nothing is known from the next cycle on; out `ready` |
///
/// Handlers of a thread are numbered modulo 16; a register is known if it carries the number of the running handler.
/// After each handler four registers are given the number of the one that has just ended, in the cycles in which the
/// pipeline fills again and writes nothing: so each register is marked anew every eight handlers, long before its
/// number comes back. After a reset all 64 are, one in each cycle, until `ready`.
#[block]
pub struct RegisterFile {
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
    /// The running handler has written it.
    pub known_a: Signal<Out, Bit>,
    /// The running handler has written it.
    pub known_b: Signal<Out, Bit>,
    /// Write in this cycle; never register 0.
    pub write: Signal<In, Bit>,
    /// Its thread.
    pub write_thread: Signal<In, Bit>,
    /// Register to write.
    pub write_index: Signal<In, Bits<5>>,
    /// The value.
    pub write_data: Signal<In, Bits<32>>,
    /// {lowest bits of the mark, value}: what five columns of LUT RAM on UltraScale+ hold anyway.
    words: LutRam<6, 35, 2>,
    /// The mark's highest bit, a memory for each reader: so it takes no further column.
    tops: [LutRam<6, 1, 1>; 2],
    number: [Reg<Bits<4>>; 2],
    /// That of the thread in D, a cycle late: D is empty in the first cycle after a switch or an end.
    current: DFF<Bits<4>>,
    /// 8 less the registers of `swept` still to be unmarked after a handler, or 0. The highest bit is set while any are
    /// left.
    sweep: Reg<Bits<3>>,
    swept: DFF<Bit>,
    /// Registers unmarked since the reset.
    filled: Reg<Bits<7>>,
}

#[hdl]
impl RegisterFile {
    fn update(&mut self) {
        let thread = self.thread.val();
        for i in 0..2 {
            self.number[i].load(self.clear.val() & (thread == (i == 1)), self.number[i].q.val() + 1);
        }
        let ready = self.filled.q.val().get_bit(6);
        self.filled.load(!ready, self.filled.q.val() + 1);
        let write = self.write.val();
        if self.clear.val() {
            self.sweep.d.next = bits::<3>(8 - SWEPT);
            self.swept.d.next = thread;
        } else if self.sweep.q.val().get_bit(2) & !write {
            self.sweep.d.next = self.sweep.q.val() + 1;
        }

        let writer = if self.write_thread.val() { self.number[1].q.val() } else { self.number[0].q.val() };
        let last = if self.swept.q.val() { self.number[1].q.val() } else { self.number[0].q.val() };
        let unmark = if ready {
            (self.swept.q.val(), last.get_bits::<3>(0), self.sweep.q.val().get_bits::<2>(0)).cat::<6>()
        } else {
            self.filled.q.val().get_bits::<6>(0)
        };
        // A register that is unmarked may get any value.
        let old = if ready { last - 1 } else { bits::<4>(NO_HANDLER) };
        let mark = if write { writer } else { old };
        let address = if write { (self.write_thread.val(), self.write_index.val()).cat::<6>() } else { unmark };
        let writes = write | self.sweep.q.val().get_bit(2) | !ready;
        self.words.write(writes, address, (mark.get_bits::<3>(0), self.write_data.val()).cat::<35>());
        self.current.d.next = if thread { self.number[1].q.val() } else { self.number[0].q.val() };
        self.words.read_address[0].next = (thread, self.read_a.val()).cat::<6>();
        self.words.read_address[1].next = (thread, self.read_b.val()).cat::<6>();
        let mut known: Bits<2> = bits::<2>(0);
        for i in 0..2 {
            self.tops[i].write(writes, address, mark.get_bits::<1>(3));
            self.tops[i].read_address[0].next = self.words.read_address[i].val();
            let low = self.words.read_data[i].val().get_bits::<3>(32);
            // Register 0 is never written, so it is never known.
            known = known.replace_bit(i, (self.tops[i].read_data[0].val(), low).cat::<4>() == self.current.q.val());
        }
        self.data_a.next = self.words.read_data[0].val().get_bits::<32>(0);
        self.data_b.next = self.words.read_data[1].val().get_bits::<32>(0);
        self.known_a.next = known.get_bit(0);
        self.known_b.next = known.get_bit(1);
        self.ready.next = ready;
    }
}
