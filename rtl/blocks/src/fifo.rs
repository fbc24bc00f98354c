//! FIFOs with one clock, first word fall through.

use crate::ram::{LutMemory, RamStyle, SdpMemory};
use spindle_verilog::prelude::*;

/// Deepest FIFO (address bits) that `Fifo::default()` keeps in LUT RAM.
const LUT_ADDRESS_BITS: usize = 6;

/// FIFO of `2^A` words, first word fall through, in LUT RAM (A ≤ 6) or block RAM.
///
/// | ports | neighbour |
/// |---|---|
/// | in `write`, `write_valid` / out `write_ready` | source |
/// | out `read`, `read_valid` / in `read_ready` | sink |
/// | out `level` | words written and not yet read, as of the start of the cycle |
///
/// `read_valid`, `write_ready` and `level` come from registers. One word in and one word out per cycle, sustained, also
/// when nearly full or nearly empty. Latency from write to `read_valid`: 1 cycle in LUT RAM (`read` is the LUT RAM's
/// output), 3 in block RAM (`read` is a register after the RAM). A full FIFO takes a word in the cycle after one was
/// read.
#[block(no_default)]
pub struct Fifo<T: Synth, const A: usize> {
    /// Word from the source.
    pub write: Sink<T>,
    /// Oldest word.
    pub read: Source<T>,
    /// Words inside.
    pub level: Signal<Out, Bits<16>>,
    lut: Vec<LutFifo<T, A>>,
    block: Vec<BlockFifo<T, A>>,
    _in_luts: bool,
}

impl<T: Synth, const A: usize> Default for Fifo<T, A> {
    fn default() -> Self {
        Self::new(if A <= LUT_ADDRESS_BITS { RamStyle::Distributed } else { RamStyle::Block })
    }
}

impl<T: Synth, const A: usize> Fifo<T, A> {
    /// A FIFO in the given kind of memory.
    pub fn new(style: RamStyle) -> Self {
        Self::with_depth(style, 1 << A)
    }

    /// Only `depth` words: a power of two. Fewer than all are the FIFO of block RAM, with its latency, in any kind of
    /// memory.
    pub fn with_depth(style: RamStyle, depth: usize) -> Self {
        assert!((1..=15).contains(&A), "Fifo: the depth is 2^1 to 2^15 words, not 2^{A}; choose another A");
        let in_luts = style == RamStyle::Distributed && depth == 1 << A;
        assert!(
            depth.is_power_of_two() && depth <= 1 << A,
            "Fifo: {depth} words of 2^{A}; choose a smaller power of two"
        );
        Self {
            lut: if in_luts { vec![LutFifo::default()] } else { vec![] },
            block: if in_luts { vec![] } else { vec![BlockFifo::with_depth(style, depth)] },
            _in_luts: in_luts,
            ..Self::blank()
        }
    }
}

#[hdl]
impl<T: Synth, const A: usize> Fifo<T, A> {
    fn update(&mut self) {
        if self._in_luts {
            self.write.join(&mut self.lut[0].write);
            self.lut[0].read.join(&mut self.read);
            self.level.next = self.lut[0].level.val();
        } else {
            self.write.join(&mut self.block[0].write);
            self.block[0].read.join(&mut self.read);
            self.level.next = self.block[0].level.val();
        }
    }
}

/// The FIFO in LUT RAM: the oldest word is the RAM's asynchronous output.
#[block]
pub struct LutFifo<T: Synth, const A: usize> {
    /// Word from the source.
    pub write: Sink<T>,
    /// Oldest word.
    pub read: Source<T>,
    /// Words inside.
    pub level: Signal<Out, Bits<16>>,
    memory: LutMemory<T, A>,
    write_pointer: Reg<Bits<A>>,
    read_pointer: Reg<Bits<A>>,
    /// Words inside, modulo 2^A: 0 stands for empty or full.
    used: Reg<Bits<A>>,
    full: Reg<Bit>,
    filled: Reg<Bit>,
}

#[hdl]
impl<T: Synth, const A: usize> LutFifo<T, A> {
    fn update(&mut self) {
        let push = self.write.valid.val() & !self.full.q.val();
        let pop = self.read.ready.val() & self.filled.q.val();
        let write_next = self.write_pointer.q.val() + 1;
        let read_next = self.read_pointer.q.val() + 1;
        self.write_pointer.load(push, write_next);
        self.read_pointer.load(pop, read_next);
        // Full and filled follow from the pointers: the counter serves `level` alone, and is removed where `level` is
        // not read.
        if push & !pop {
            self.used.d.next = self.used.q.val() + 1;
            self.full.d.next = write_next == self.read_pointer.q.val();
            self.filled.d.next = true;
        } else if pop & !push {
            self.used.d.next = self.used.q.val() - 1;
            self.full.d.next = false;
            self.filled.d.next = read_next != self.write_pointer.q.val();
        }

        self.memory.write(push, self.write_pointer.q.val(), self.write.val());
        self.memory.read_address.next = self.read_pointer.q.val();

        self.read.offer(self.filled.q.val(), self.memory.read_data.val());
        self.write.ready.next = !self.full.q.val();
        self.level.next = bit_cast::<16, A>(self.used.q.val()).replace_bit(A, self.full.q.val());
    }
}

/// The FIFO in block RAM: two words are fetched ahead, one in the RAM's output latch and one in a register after it.
#[block(no_default)]
pub struct BlockFifo<T: Synth, const A: usize> {
    /// Word from the source.
    pub write: Sink<T>,
    /// Oldest word.
    pub read: Source<T>,
    /// Words inside.
    pub level: Signal<Out, Bits<16>>,
    memory: SdpMemory<T, A>,
    head: DFF<T>,
    write_pointer: Reg<Bits<A>>,
    read_pointer: Reg<Bits<A>>,
    /// Words inside, modulo 2^A.
    used: Reg<Bits<A>>,
    /// `-used`, modulo 2^A. With both counts, no adder waits for the choice between a word more and a word less.
    room: Reg<Bits<A>>,
    /// There is no room for a word.
    full: Reg<Bit>,
    /// The RAM has words that were not fetched.
    stored_any: Reg<Bit>,
    fetched: Reg<Bit>,
    head_valid: Reg<Bit>,
    _last: usize,
    /// Every address is used.
    _whole: bool,
}

impl<T: Synth, const A: usize> Default for BlockFifo<T, A> {
    fn default() -> Self {
        Self::new(RamStyle::Block)
    }
}

impl<T: Synth, const A: usize> BlockFifo<T, A> {
    /// A FIFO in block RAM or UltraRAM, or in LUT RAM with the same latency.
    pub fn new(style: RamStyle) -> Self {
        Self::with_depth(style, 1 << A)
    }

    /// Only `depth` words: a power of two.
    pub fn with_depth(style: RamStyle, depth: usize) -> Self {
        Self {
            memory: SdpMemory::with_depth(style, 1, depth),
            _last: depth - 1,
            _whole: depth == 1 << A,
            ..Self::blank()
        }
    }
}

#[hdl]
impl<T: Synth, const A: usize> BlockFifo<T, A> {
    fn update(&mut self) {
        let push = self.write.valid.val() & !self.full.q.val();
        let pop = self.read.ready.val() & self.head_valid.q.val();
        let head_moves = self.read.ready.val() | !self.head_valid.q.val();
        let fetch = self.stored_any.q.val() & (head_moves | !self.fetched.q.val());

        let read_next = self.read_pointer.q.val() + 1;
        self.write_pointer.load(push, self.write_pointer.q.val() + 1);
        self.read_pointer.load(fetch, read_next);
        let used = self.used.q.val();
        let room = self.room.q.val();
        if push & !pop {
            self.used.d.next = used + 1;
            self.room.d.next = !used;
            self.full.d.next = if self._whole { used.all() } else { used == self._last as u64 };
        } else if pop & !push {
            self.used.d.next = !room;
            self.room.d.next = room + 1;
            self.full.d.next = false;
        }
        if push & !fetch {
            self.stored_any.d.next = true;
        } else if fetch & !push {
            self.stored_any.d.next = read_next != self.write_pointer.q.val();
        }
        if fetch {
            self.fetched.d.next = true;
        } else if head_moves {
            self.fetched.d.next = false;
        }
        if head_moves {
            self.head.d.next = self.memory.read_data.val();
            self.head_valid.d.next = self.fetched.q.val();
        }

        self.memory.write(push, self.write_pointer.q.val(), self.write.val());
        self.memory.read(fetch, self.read_pointer.q.val());

        self.read.offer(self.head_valid.q.val(), self.head.q.val());
        self.write.ready.next = !self.full.q.val();
        // Of 2^A words the count is 0 when it is full.
        let full = self.full.q.val() & !self.used.q.val().any();
        self.level.next = bit_cast::<16, A>(self.used.q.val()).replace_bit(A, full);
    }
}
