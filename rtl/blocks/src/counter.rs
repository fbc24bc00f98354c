//! A bank of event counters in LUT RAM.

use crate::ram::LutRam;
use spindle_verilog::prelude::*;

/// `2^A` counters of 32 bits, at most two events per cycle.
///
/// | ports | meaning |
/// |---|---|
/// | in `a_valid`, `a_index`; in `b_valid`, `b_index` | an event of this number happened; both may name the same counter |
/// | in `read_index` / out `read_count` | the count, 2 cycles later, with every event before the cycle of the request |
/// | out `clearing` | high for `2^A` cycles after reset, while the counters are set to zero: events are lost then |
///
/// Each event port has its own half of every count, so there is no conflict; the halves are added when read. Counts wrap
/// at 2^32. An event takes one registered cycle and one read-add-write cycle (10 levels with carry cells).
#[derive(LogicBlock)]
pub struct CounterBank<const A: usize> {
    #[allow(missing_docs)]
    pub clock: Signal<In, Clock>,
    #[allow(missing_docs)]
    pub reset: Signal<In, Bit>,
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
    pub read_count: Signal<Out, Bits<32>>,
    /// The counters are being cleared.
    pub clearing: Signal<Out, Bit>,
    halves: [LutRam<A, 32, 2>; 2],
    hit: [Reg<Bit>; 2],
    index: [DFF<Bits<A>>; 2],
    read_at: DFF<Bits<A>>,
    sum: DFF<Bits<32>>,
    clear_at: Reg<Bits<A>>,
    cleared: Reg<Bit>,
}

impl<const A: usize> Default for CounterBank<A> {
    fn default() -> Self {
        assert!((1..=8).contains(&A), "CounterBank: it has 2^1 to 2^8 counters, not 2^{A}; choose another A");
        Self {
            clock: Default::default(),
            reset: Default::default(),
            a_valid: Default::default(),
            a_index: Default::default(),
            b_valid: Default::default(),
            b_index: Default::default(),
            read_index: Default::default(),
            read_count: Default::default(),
            clearing: Default::default(),
            halves: Default::default(),
            hit: Default::default(),
            index: Default::default(),
            read_at: Default::default(),
            sum: Default::default(),
            clear_at: Default::default(),
            cleared: Default::default(),
        }
    }
}

impl<const A: usize> Logic for CounterBank<A> {
    #[hdl]
    fn update(&mut self) {
        regs!(self, clock, reset, hit, clear_at, cleared);
        dffs!(self, clock, index, read_at, sum);
        self.hit[0].d.next = self.a_valid.val();
        self.index[0].d.next = self.a_index.val();
        self.hit[1].d.next = self.b_valid.val();
        self.index[1].d.next = self.b_index.val();
        self.read_at.d.next = self.read_index.val();

        // LUT RAM has no reset: after one, a walk writes zero everywhere.
        let walking = !self.cleared.q.val();
        self.clear_at.d.next = self.clear_at.q.val() + 1;
        if self.clear_at.q.val().all() {
            self.cleared.d.next = true;
        }
        for i in 0..2 {
            self.halves[i].clock.next = self.clock.val();
            self.halves[i].write_enable.next = walking | self.hit[i].q.val();
            self.halves[i].write_address.next = if walking { self.clear_at.q.val() } else { self.index[i].q.val() };
            self.halves[i].write_data.next = if walking { bits::<32>(0) } else { self.halves[i].read_data[0].val() + 1 };
            self.halves[i].read_address[0].next = self.index[i].q.val();
            self.halves[i].read_address[1].next = self.read_at.q.val();
        }
        self.sum.d.next = self.halves[0].read_data[1].val() + self.halves[1].read_data[1].val();
        self.read_count.next = self.sum.q.val();
        self.clearing.next = walking;
    }
}
