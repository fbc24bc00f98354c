//! Combiner: combines the bytes of a COMBINE, and writes them back to L1.
//!
//! | neighbour | ports |
//! |---|---|
//! | read DMA | in `job`: a command begins, after `ended` of the one before |
//! | | in `operand`, with `of_source` or `of_destination`: a beat of lanes. Each one of the source is followed by that of |
//! | | the destination, before the next one of the source comes; of the destination one in two cycles at most |
//! | | out `ended`: the last write was taken in the cycle before |
//! | L1 | out `write`: taken in the second cycle at the latest |
//!
//! **Lanes.** The read DMA turns both operands so that elements begin at multiples of four lanes: lane l of the first
//! beat holds the byte of the destination's address A - s + l, where A is the first beat's address and s = -A' mod 4 for
//! the destination's first byte A'. [CombineLanes] takes half a beat per cycle. Results are turned back by s lanes, for
//! which the next half must have come: a command of n beats of the destination has n + 1 beats of lanes.
//!
//! | cycle | event |
//! |---|---|
//! | 0 | `of_destination`: the lower halves go to the lanes |
//! | 1 | the upper halves |
//! | 3 | the lower result; the upper half of the beat before is turned back |
//! | 4 | that beat is offered to L1 |
//!
//! 32 bytes per cycle. Nothing stalls: a beat of L1 is offered in every other cycle at most, and taken in its first or
//! second cycle.

use crate::bundles::BeatWrite;
use crate::cluster::combine_lanes::{columns_of, CombineLanes, Operation};
use crate::types::Issuer;
use spindle_contract::memory_map::combine;
use spindle_verilog::prelude::*;

const KIND_GF: u64 = combine::GF as u64;

/// A COMBINE.
#[derive(LogicStruct, Copy, Clone, Debug, Default, PartialEq)]
pub struct CombineJob {
    /// Its issuer.
    pub issuer: Issuer,
    /// Address of the destination in L1.
    pub to: Bits<16>,
    /// Beats of the destination.
    pub beats: Bits<6>,
    /// Byte after the last one in its last beat; 0 = all of it.
    pub end: Bits<6>,
    /// Operation.
    pub operation: Operation,
    /// Constant of a product.
    pub constant: Bits<8>,
}

/// Bytes below this one.
#[hdl_fn]
fn bytes_below(byte: Bits<6>) -> Bits<64> {
    !(repeat::<64>(true) << byte)
}

/// The combiner. See the module text.
#[block(no_default)]
pub struct Combiner {
    /// A command begins.
    pub job: PulseSink<CombineJob>,
    /// A beat of lanes.
    pub operand: Signal<In, Bits<512>>,
    /// It is of the source.
    pub of_source: Signal<In, Bit>,
    /// It is of the destination.
    pub of_destination: Signal<In, Bit>,
    /// Beats that are written.
    pub write: BeatWrite,
    /// Issuer of a command whose last write has been taken.
    pub ended: Pulse<Issuer>,
    lanes: CombineLanes,
    held: DFF<CombineJob>,
    columns: DFF<Bits<64>>,
    /// Lanes of the source.
    source: DFF<Bits<512>>,
    /// Upper half of the destination's lanes, which go to the lanes in this cycle.
    upper: DFF<Bits<256>>,
    upper_goes: Reg<Bit>,
    /// The result before, in lanes; the lower half of a beat, turned back.
    earlier: DFF<Bits<256>>,
    lower: DFF<Bits<256>>,
    /// A lower result has come: the next one completes a beat.
    begun: Reg<Bit>,
    /// Next beat to write; beats to complete; the next one is the first.
    beat: DFF<Bits<10>>,
    left: DFF<Bits<6>>,
    is_first: Reg<Bit>,
    /// The write.
    writes: Reg<Bit>,
    data: DFF<Bits<512>>,
    keep: DFF<Bits<64>>,
    is_last: DFF<Bit>,
    ended_now: Reg<Bit>,
}

impl Default for Combiner {
    fn default() -> Self {
        Self { lanes: CombineLanes::new(), ..Self::blank() }
    }
}

#[hdl]
impl Combiner {
    fn update(&mut self) {
        let begins = self.job.valid.val();
        let job = self.held.q.val();
        self.held.load(begins, self.job.val());
        let is_product = job.operation.kind == bits::<3>(KIND_GF);
        self.columns.d.next = columns_of(if is_product { job.constant } else { bits::<8>(1) });

        // Halves of beats to the lanes.
        let operand = self.operand.val();
        let comes = self.of_destination.val();
        let upper_goes = self.upper_goes.q.val();
        self.source.load(self.of_source.val(), operand);
        self.upper.load(comes, operand.get_bits::<256>(256));
        self.upper_goes.d.next = comes;
        let source = self.source.q.val();
        self.lanes.operation.next = job.operation;
        self.lanes.columns.next = self.columns.q.val();
        self.lanes.source.next = if upper_goes { source.get_bits::<256>(256) } else { source.get_bits::<256>(0) };
        self.lanes.destination.next = if upper_goes { self.upper.q.val() } else { operand.get_bits::<256>(0) };
        self.lanes.high.next = upper_goes;
        self.lanes.valid.next = comes | upper_goes;

        // Results, turned back.
        let result = self.lanes.result.val();
        let is_new = self.lanes.result_valid.val();
        let completes = is_new & !self.lanes.result_high.val();
        self.earlier.load(is_new, result);
        let both = (result.get_bits::<24>(0), self.earlier.q.val()).cat::<280>();
        let turned = match job.to.get_bits::<2>(0).index() {
            0 => both.get_bits::<256>(0),
            1 => both.get_bits::<256>(24),
            2 => both.get_bits::<256>(16),
            _ => both.get_bits::<256>(8),
        };
        self.lower.load(is_new & !completes, turned);

        // Writes.
        let begun = self.begun.q.val();
        let emits = completes & begun;
        let is_first = self.is_first.q.val();
        let left = self.left.q.val();
        let is_last = left == 1;
        let taken = self.writes.q.val() & self.write.ready.val();
        self.begun.d.next = (begun | completes) & !begins;
        self.is_first.d.next = begins | (is_first & !emits);
        self.writes.d.next = emits | (self.writes.q.val() & !taken);
        if begins {
            self.beat.d.next = self.job.val().to.get_bits::<10>(6);
            self.left.d.next = self.job.val().beats;
        } else {
            self.beat.load(taken, self.beat.q.val() + 1);
            self.left.load(emits, left - 1);
        }
        if emits {
            let from = if is_first { !bytes_below(job.to.get_bits::<6>(0)) } else { repeat::<64>(true) };
            let upto = if is_last & job.end.any() { bytes_below(job.end) } else { repeat::<64>(true) };
            self.keep.d.next = from & upto;
            self.data.d.next = (turned, self.lower.q.val()).cat::<512>();
            self.is_last.d.next = is_last;
        }
        self.write.write.next = self.writes.q.val();
        self.write.beat.next = self.beat.q.val();
        self.write.data.next = self.data.q.val();
        self.write.keep.next = self.keep.q.val();
        self.ended_now.d.next = taken & self.is_last.q.val();
        self.ended.valid.next = self.ended_now.q.val();
        self.ended.next = job.issuer;
    }
}
