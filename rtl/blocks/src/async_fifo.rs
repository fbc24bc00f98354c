//! FIFO between two clocks.

use crate::crossing::GrayCount;
use crate::ram::{CrossMemory, LutMemory, RamStyle};
use spindle_verilog::prelude::*;

/// FIFO between two unrelated clocks, first word fall through, in LUT RAM or block RAM.
///
/// | ports | clock |
/// |---|---|
/// | `write_clock`, `write_reset`, in `write`, `write_valid` / out `write_ready`, `level` | source |
/// | `read_clock`, `read_reset`, out `read`, `read_valid` / in `read_ready` | sink |
///
/// Only Gray-coded pointers cross, one bit at a time, through two registers marked `ASYNC_REG` ([`GrayCount`]). All
/// outputs come from registers. One word per cycle of the slower clock, sustained for A ≥ 4 (block RAM: A ≥ 5).
///
/// | storage | holds | a word is offered after the edge that took it |
/// |---|---|---|
/// | LUT RAM, A from 2 to 9 | `2^A - 1` words and one in the output register | 3 to 4 edges of `read_clock` |
/// | block RAM, A from 2 to 15 | `2^A - 1` words and two on the way to the output | 4 to 5 edges of `read_clock` |
///
/// The place of a word is free again 3 to 4 edges of `write_clock` after it left the memory. Both resets have to be
/// active together for at least 3 edges of the slower clock; each may end on its own.
///
/// `level` counts the words in the memory as the source knew them two cycles ago: never less than there were then. Where
/// it is not read, its logic is removed.
#[block(domains(write, read), no_default)]
pub struct AsyncFifo<T: Synth, const A: usize> {
    /// Word from the source.
    pub write: Sink<T>,
    /// Words in the memory.
    pub level: Signal<Out, Bits<A>>,
    /// Oldest word.
    pub read: Source<T>,
    #[domain(write)]
    lut: Vec<LutMemory<T, A>>,
    block: Vec<CrossMemory<T, A>>,
    written: GrayCount<A>,
    taken: GrayCount<A>,
    #[domain(write)]
    room: Reg<Bit>,
    /// Words that were written, and those that the source knows to have left.
    #[domain(write)]
    came: Reg<Bits<A>>,
    #[domain(write)]
    left: Reg<Bits<A>>,
    #[domain(write)]
    held: Reg<Bits<A>>,
    /// Block RAM: its output latch has a word.
    #[domain(read)]
    fetched: Vec<Reg<Bit>>,
    #[domain(read)]
    head: DFF<T>,
    #[domain(read)]
    head_valid: Reg<Bit>,
    _in_luts: bool,
}

impl<T: Synth, const A: usize> Default for AsyncFifo<T, A> {
    fn default() -> Self {
        Self::new(RamStyle::Distributed)
    }
}

impl<T: Synth, const A: usize> AsyncFifo<T, A> {
    /// A FIFO in LUT RAM or in block RAM.
    pub fn new(style: RamStyle) -> Self {
        let (in_luts, most) = match style {
            RamStyle::Distributed => (true, 9),
            RamStyle::Block => (false, 15),
            RamStyle::Ultra => panic!("AsyncFifo: UltraRAM has one clock; choose RamStyle::Block"),
        };
        assert!(
            (2..=most).contains(&A),
            "AsyncFifo: the memory has 2^2 to 2^{most} words, not 2^{A}; choose another A"
        );
        Self {
            lut: if in_luts { vec![LutMemory::default()] } else { vec![] },
            block: if in_luts { vec![] } else { vec![CrossMemory::default()] },
            fetched: if in_luts { vec![] } else { vec![Reg::default()] },
            _in_luts: in_luts,
            ..Self::blank()
        }
    }
}

#[hdl]
impl<T: Synth, const A: usize> AsyncFifo<T, A> {
    fn update(&mut self) {
        self.written.from_clock.next = self.write_clock.val();
        self.written.from_reset.next = self.write_reset.val();
        self.written.to_clock.next = self.read_clock.val();
        self.written.to_reset.next = self.read_reset.val();
        self.taken.from_clock.next = self.read_clock.val();
        self.taken.from_reset.next = self.read_reset.val();
        self.taken.to_clock.next = self.write_clock.val();
        self.taken.to_reset.next = self.write_reset.val();

        // Write side. Full when one more word would make the pointers equal. What is seen of the reader is old, which
        // errs to full.
        let push = self.write.valid.val() & self.room.q.val();
        let at = self.written.count.val();
        let after = if push { at + 2 } else { at + 1 };
        self.room.d.next = (after ^ (after >> 1)) != self.taken.seen.val();
        self.written.step.next = push;
        self.write.ready.next = self.room.q.val();
        self.came.d.next = at;
        self.left.d.next = self.taken.seen_count.val();
        self.held.d.next = self.came.q.val() - self.left.q.val();
        self.level.next = self.held.q.val();

        // Read side. A word was in the memory long before its pointer is seen here.
        let some = self.taken.gray.val() != self.written.seen.val();
        let moves = self.read.ready.val() | !self.head_valid.q.val();
        if self._in_luts {
            self.lut[0].write(push, at, self.write.val());
            self.lut[0].read_address.next = self.taken.count.val();
            self.taken.step.next = some & moves;
            if moves {
                self.head.d.next = self.lut[0].read_data.val();
                self.head_valid.d.next = some;
            }
        } else {
            let fetch = some & (moves | !self.fetched[0].q.val());
            self.block[0].write_clock.next = self.write_clock.val();
            self.block[0].read_clock.next = self.read_clock.val();
            self.block[0].write(push, at, self.write.val());
            self.block[0].read(fetch, self.taken.count.val());
            self.taken.step.next = fetch;
            if fetch {
                self.fetched[0].d.next = true;
            } else if moves {
                self.fetched[0].d.next = false;
            }
            if moves {
                self.head.d.next = self.block[0].read_data.val();
                self.head_valid.d.next = self.fetched[0].q.val();
            }
        }
        self.read.offer(self.head_valid.q.val(), self.head.q.val());
    }
}
