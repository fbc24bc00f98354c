//! A bank of sums in a memory: each event adds a number to one of them.

use crate::ram::{RamStyle, SdpMemory};
use spindle_verilog::prelude::*;

/// `2^A` sums of 32 bits, one event per cycle.
///
/// | ports | meaning |
/// |---|---|
/// | in `add`, `index`, `amount` | an event: this number is added to this sum |
/// | in `read_index` / out `read_sum` | the sum, 1 cycle later, with every event up to 4 cycles before the request |
/// | out `carry`, `carry_index` | a sum has wrapped, 3 cycles after the event: input of a bank with the high halves |
/// | out `clearing` | high for `2^A` cycles after reset, while the sums are set to zero: events are lost then |
///
/// Sums wrap at 2^32. Never stalls: an event is read, added and written in three stages, and an event that finds its
/// sum in a later stage takes it from there. The readers have a copy of the memory, so that they do not take cycles of
/// the events. Levels: an adder of 32 bits after a multiplexer; `read_sum` is the output of a memory, the other outputs
/// are registers.
#[block(no_default)]
pub struct SumBank<const A: usize> {
    /// An event.
    pub add: Signal<In, Bit>,
    /// Its sum.
    pub index: Signal<In, Bits<A>>,
    /// What is added.
    pub amount: Signal<In, Bits<32>>,
    /// Sum to read.
    pub read_index: Signal<In, Bits<A>>,
    /// That sum.
    pub read_sum: Signal<Out, Bits<32>>,
    /// A sum has wrapped.
    pub carry: Signal<Out, Bit>,
    /// That sum.
    pub carry_index: Signal<Out, Bits<A>>,
    /// The sums are being cleared.
    pub clearing: Signal<Out, Bit>,
    sums: SdpMemory<Bits<32>, A>,
    copy: SdpMemory<Bits<32>, A>,
    /// Stage 1 reads the sum.
    reading: Reg<Bit>,
    read_at: DFF<Bits<A>>,
    read_amount: DFF<Bits<32>>,
    /// Stage 2 adds to what was read, or to what one of the two events just ahead made of the same sum.
    adding: Reg<Bit>,
    add_at: DFF<Bits<A>>,
    add_amount: DFF<Bits<32>>,
    follows: DFF<Bit>,
    follows_later: DFF<Bit>,
    /// Stage 3 writes.
    writing: Reg<Bit>,
    write_at: DFF<Bits<A>>,
    fresh: DFF<Bits<32>>,
    wraps: Reg<Bit>,
    /// What stage 3 has written.
    written: DFF<Bits<32>>,
    clear_at: Reg<Bits<A>>,
    cleared: Reg<Bit>,
}

impl<const A: usize> Default for SumBank<A> {
    fn default() -> Self {
        Self::new(RamStyle::Distributed)
    }
}

impl<const A: usize> SumBank<A> {
    /// In a memory of this style.
    pub fn new(style: RamStyle) -> Self {
        Self { sums: SdpMemory::new(style, 1), copy: SdpMemory::new(style, 1), ..Self::blank() }
    }
}

#[hdl]
impl<const A: usize> SumBank<A> {
    fn update(&mut self) {
        self.reading.d.next = self.add.val();
        self.read_at.d.next = self.index.val();
        self.read_amount.d.next = self.amount.val();

        let at = self.read_at.q.val();
        self.sums.read(true, at);
        // A memory has no reset: after one, a walk writes zero everywhere, through stage 3.
        let walking = !self.cleared.q.val();
        self.clear_at.d.next = self.clear_at.q.val() + 1;
        self.cleared.load(self.clear_at.q.val().all(), true);
        self.adding.d.next = self.reading.q.val() & !walking;
        self.add_at.d.next = at;
        self.add_amount.d.next = self.read_amount.q.val();
        self.follows.d.next = self.adding.q.val() & (self.add_at.q.val() == at);
        self.follows_later.d.next = self.writing.q.val() & (self.write_at.q.val() == at);

        let base = if self.follows.q.val() {
            self.fresh.q.val()
        } else if self.follows_later.q.val() {
            self.written.q.val()
        } else {
            self.sums.read_data.val()
        };
        let total = bit_cast::<33, 32>(base) + bit_cast::<33, 32>(self.add_amount.q.val());
        self.writing.d.next = self.adding.q.val() | walking;
        self.write_at.d.next = if walking { self.clear_at.q.val() } else { self.add_at.q.val() };
        self.fresh.d.next = if walking { bits::<32>(0) } else { total.get_bits::<32>(0) };
        self.wraps.d.next = self.adding.q.val() & total.get_bit(32);

        let fresh = self.fresh.q.val();
        self.sums.write(self.writing.q.val(), self.write_at.q.val(), fresh);
        self.copy.write(self.writing.q.val(), self.write_at.q.val(), fresh);
        self.written.d.next = fresh;
        self.carry.next = self.wraps.q.val();
        self.carry_index.next = self.write_at.q.val();
        self.copy.read(true, self.read_index.val());
        self.read_sum.next = self.copy.read_data.val();
        self.clearing.next = walking;
    }
}
