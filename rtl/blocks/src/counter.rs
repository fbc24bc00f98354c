//! A bank of event counters in LUT RAM.

use crate::ram::LutRam;
use spindle_verilog::prelude::*;

/// `2^A` counters of `W` bits, at most two events per cycle.
///
/// | ports | meaning |
/// |---|---|
/// | in `a_valid`, `a_index`; in `b_valid`, `b_index` | an event of this number happened; both may name the same counter |
/// | in `read_index` / out `read_count` | the count, 3 cycles later, with every event up to 3 cycles before the request |
/// | out `clearing` | high for `2^A` cycles after reset, while the counters are set to zero: events are lost then |
///
/// Each event port has its own half of every count, so there is no conflict; the halves are added when read. Counts
/// wrap at `2^W`. Never stalls: an event is read, added and written in three stages, and an event that finds its counter
/// in a later stage takes the value from there. Levels: 10 with carry cells; all outputs are registers.
#[block(no_default)]
pub struct CounterBank<const A: usize, const W: usize> {
    /// First event of the cycle.
    pub a_valid: Signal<In, Bit>,
    /// Its counter.
    pub a_index: Signal<In, Bits<A>>,
    /// Second event of the cycle.
    pub b_valid: Signal<In, Bit>,
    /// Its counter.
    pub b_index: Signal<In, Bits<A>>,
    /// Counter to read.
    pub read_index: Signal<In, Bits<A>>,
    /// Its count.
    pub read_count: Signal<Out, Bits<W>>,
    /// The counters are being cleared.
    pub clearing: Signal<Out, Bit>,
    halves: [LutRam<A, W, 2>; 2],
    /// Stage 1 reads the counter.
    hit: [Reg<Bit>; 2],
    index: [DFF<Bits<A>>; 2],
    /// Stage 2 adds one to what was read, or to what the event just ahead made of the same counter.
    adding: [Reg<Bit>; 2],
    add_index: [DFF<Bits<A>>; 2],
    follows: [DFF<Bit>; 2],
    old: [DFF<Bits<W>>; 2],
    /// Stage 3 writes.
    writing: [Reg<Bit>; 2],
    write_index: [DFF<Bits<A>>; 2],
    new: [DFF<Bits<W>>; 2],
    read_at: DFF<Bits<A>>,
    read_half: [DFF<Bits<W>>; 2],
    sum: DFF<Bits<W>>,
    clear_at: Reg<Bits<A>>,
    cleared: Reg<Bit>,
}

impl<const A: usize, const W: usize> Default for CounterBank<A, W> {
    fn default() -> Self {
        assert!((1..=8).contains(&A), "CounterBank: it has 2^1 to 2^8 counters, not 2^{A}; choose another A");
        Self::blank()
    }
}

#[hdl]
impl<const A: usize, const W: usize> CounterBank<A, W> {
    fn update(&mut self) {
        self.hit[0].d.next = self.a_valid.val();
        self.index[0].d.next = self.a_index.val();
        self.hit[1].d.next = self.b_valid.val();
        self.index[1].d.next = self.b_index.val();
        self.read_at.d.next = self.read_index.val();

        // LUT RAM has no reset: after one, a walk writes zero everywhere, through stage 3.
        let walking = !self.cleared.q.val();
        self.clear_at.d.next = self.clear_at.q.val() + 1;
        self.cleared.load(self.clear_at.q.val().all(), true);
        for i in 0..2 {
            let index = self.index[i].q.val();
            let being_added = self.adding[i].q.val() & (self.add_index[i].q.val() == index);
            let being_written = self.writing[i].q.val() & (self.write_index[i].q.val() == index);
            self.adding[i].d.next = self.hit[i].q.val() & !walking;
            self.add_index[i].d.next = index;
            self.follows[i].d.next = being_added;
            self.old[i].d.next = if being_written { self.new[i].q.val() } else { self.halves[i].read_data[0].val() };

            let base = if self.follows[i].q.val() { self.new[i].q.val() } else { self.old[i].q.val() };
            self.writing[i].d.next = self.adding[i].q.val() | walking;
            self.write_index[i].d.next = if walking { self.clear_at.q.val() } else { self.add_index[i].q.val() };
            self.new[i].d.next = if walking { bits::<W>(0) } else { base + 1 };

            self.halves[i].write(self.writing[i].q.val(), self.write_index[i].q.val(), self.new[i].q.val());
            self.halves[i].read_address[0].next = index;
            self.halves[i].read_address[1].next = self.read_at.q.val();
            self.read_half[i].d.next = self.halves[i].read_data[1].val();
        }
        self.sum.d.next = self.read_half[0].q.val() + self.read_half[1].q.val();
        self.read_count.next = self.sum.q.val();
        self.clearing.next = walking;
    }
}
