//! Arithmetic of COMBINE: 32 bytes of source and destination per cycle.
//!
//! | neighbour | ports |
//! |---|---|
//! | combiner | in `operation`, held from the first bytes of a command to its last result; in `columns`: see [`columns_of`] |
//! | | in `source`, `destination`, `high`, with `valid`: the halves of beats, lower and upper |
//! | | out `result`, `result_high`, with `result_valid`, three cycles later; `result` stays until the next one |
//!
//! Elements begin at multiples of four lanes, so eight groups of four lanes are independent of one another.
//!
//! | cycle | event |
//! |---|---|
//! | 0 | bytes come |
//! | 1 | source times constant, in GF(2^8); sum or difference of destination and source |
//! | 2 | from its highest byte, whether an element is out of range, or larger; the result is chosen |
//! | 3 | `result` |
//!
//! The product with the constant 1 is the source, so what is not a product passes the same LUTs. A carry bit between
//! two bytes kills, passes or makes a carry, so one adder serves all sizes; the bit of the sum there is the carry out of
//! the byte below.

use spindle_blocks::replicate;
use spindle_contract::memory_map::combine::{ADD, ADDS, ADDU, MAX, MAXU, MIN, MINU, POLYNOMIAL};
use spindle_verilog::prelude::*;

const KIND_ADD: u64 = ADD as u64;
const KIND_ADDS: u64 = ADDS as u64;
const KIND_ADDU: u64 = ADDU as u64;
const KIND_MIN: u64 = MIN as u64;
const KIND_MINU: u64 = MINU as u64;
const KIND_MAX: u64 = MAX as u64;
const KIND_MAXU: u64 = MAXU as u64;
/// The polynomial without its highest term.
const REDUCTION: u64 = POLYNOMIAL as u64 & 0xFF;
/// Groups of four lanes.
const GROUPS: usize = 8;

/// Operation of a COMBINE, as ADDR_HI has it: {kind, size}.
#[derive(LogicStruct, Copy, Clone, Debug, Default, PartialEq)]
pub struct Operation {
    /// Elements of 1, 2 or 4 bytes.
    pub size: Bits<2>,
    /// As in `memory_map::combine`.
    pub kind: Bits<3>,
}

/// An element times x.
#[hdl_fn]
fn doubled(element: Bits<8>) -> Bits<8> {
    let shifted = (element.get_bits::<7>(0), false).cat::<8>();
    shifted ^ (bits::<8>(REDUCTION) & repeat::<8>(element.get_bit(7)))
}

/// The constant times 1, x, x^2 and so on: a product is the sum of those where the factor has a one.
#[hdl_fn]
pub fn columns_of(constant: Bits<8>) -> Bits<64> {
    let one = doubled(constant);
    let two = doubled(one);
    let three = doubled(two);
    let four = doubled(three);
    let five = doubled(four);
    let six = doubled(five);
    (doubled(six), six, five, four, three, two, one, constant).cat::<64>()
}

/// An element times the constant of these columns.
#[hdl_fn]
fn product(element: Bits<8>, columns: Bits<64>) -> Bits<8> {
    let chosen = columns & byte_mask::<64, 8>(element);
    let low = chosen.get_bits::<8>(0) ^ chosen.get_bits::<8>(8) ^ chosen.get_bits::<8>(16);
    let middle = chosen.get_bits::<8>(24) ^ chosen.get_bits::<8>(32) ^ chosen.get_bits::<8>(40);
    low ^ middle ^ chosen.get_bits::<8>(48) ^ chosen.get_bits::<8>(56)
}

/// Four lanes with the bits between them.
#[hdl_fn]
fn spread(lanes: Bits<32>, between: Bits<3>) -> Bits<35> {
    (
        lanes.get_bits::<8>(24),
        between.get_bit(2),
        lanes.get_bits::<8>(16),
        between.get_bit(1),
        lanes.get_bits::<8>(8),
        between.get_bit(0),
        lanes.get_bits::<8>(0),
    )
        .cat::<35>()
}

/// Carry out of the highest lane, then the four lanes with the carries out of the lower three between them, where an
/// element ends; destination + source, or destination - source.
#[hdl_fn]
fn sums_of(destination: Bits<32>, source: Bits<32>, ends: Bits<3>, subtracts: Bit) -> Bits<36> {
    let a = spread(destination, !ends | repeat::<3>(subtracts));
    let b = spread(source ^ repeat::<32>(subtracts), ends & repeat::<3>(subtracts));
    add_with_carry::<36, 35>(a, b, subtracts)
}

/// Whether an element, of which these are the highest bits and the carry, becomes the end of the range, or the source's.
#[hdl_fn]
fn hits(kind: Bits<3>, carry: Bit, destination: Bit, source: Bit, sum: Bit) -> Bit {
    match kind.to_u64() {
        KIND_ADDS => (destination == source) & (sum != destination),
        KIND_ADDU | KIND_MINU => carry,
        KIND_MAXU => !carry,
        KIND_MIN => carry ^ destination ^ source,
        KIND_MAX => !(carry ^ destination ^ source),
        _ => false,
    }
}

/// For each lane, the bit of the highest lane of its element.
#[hdl_fn]
fn of_elements(tops: Bits<4>, size: Bits<2>) -> Bits<4> {
    let is_word = size.get_bit(1);
    let is_half = size.get_bit(0);
    let third = if is_word | is_half { tops.get_bit(3) } else { tops.get_bit(2) };
    let second = if is_word { tops.get_bit(3) } else { tops.get_bit(1) };
    let first = if is_word {
        tops.get_bit(3)
    } else if is_half {
        tops.get_bit(1)
    } else {
        tops.get_bit(0)
    };
    (tops.get_bit(3), third, second, first).cat::<4>()
}

/// A byte of the result. `adds`: the sum, or ones if it `hits`, or zeros with `low`; else with `low` the destination, or
/// the source if it `hits`; else destination + product.
#[hdl_fn]
fn chosen(sum: Bits<8>, destination: Bits<8>, product: Bits<8>, hit: Bit, adds: Bit, low: Bits<8>) -> Bits<8> {
    let hit_all = repeat::<8>(hit);
    let added = (sum & !hit_all) | (hit_all & !low);
    let either = (product & hit_all) | (destination & !hit_all);
    let other = (either & low) | ((destination ^ product) & !low);
    if adds {
        added
    } else {
        other
    }
}

/// Results of one group of lanes.
#[hdl_fn]
fn results_of(operation: Operation, destination: Bits<32>, product: Bits<32>, sums: Bits<36>) -> Bits<32> {
    let kind = operation.kind;
    let size = operation.size;
    let sum =
        (sums.get_bits::<8>(27), sums.get_bits::<8>(18), sums.get_bits::<8>(9), sums.get_bits::<8>(0)).cat::<32>();
    let signs =
        (destination.get_bit(31), destination.get_bit(23), destination.get_bit(15), destination.get_bit(7)).cat::<4>();
    let tops = (
        hits(kind, sums.get_bit(35), destination.get_bit(31), product.get_bit(31), sum.get_bit(31)),
        hits(kind, sums.get_bit(26), destination.get_bit(23), product.get_bit(23), sum.get_bit(23)),
        hits(kind, sums.get_bit(17), destination.get_bit(15), product.get_bit(15), sum.get_bit(15)),
        hits(kind, sums.get_bit(8), destination.get_bit(7), product.get_bit(7), sum.get_bit(7)),
    )
        .cat::<4>();
    let hit = of_elements(tops, size);
    let adds = (kind == bits::<3>(KIND_ADD)) | (kind == bits::<3>(KIND_ADDS)) | (kind == bits::<3>(KIND_ADDU));
    // A signed sum that is too small ends as a one before zeros, one that is too large as a zero before ones.
    let saturates = kind == bits::<3>(KIND_ADDS);
    let compares = kind.get_bit(2);
    let low = (of_elements(signs, size) & repeat::<4>(saturates)) | repeat::<4>(compares);
    let is_byte = !size.any();
    let highest = (true, is_byte, !size.get_bit(1), is_byte).cat::<4>() & repeat::<4>(saturates);
    let high = low ^ highest;
    (
        chosen(
            sum.get_bits::<8>(24),
            destination.get_bits::<8>(24),
            product.get_bits::<8>(24),
            hit.get_bit(3),
            adds,
            (high.get_bit(3), repeat::<7>(low.get_bit(3))).cat::<8>(),
        ),
        chosen(
            sum.get_bits::<8>(16),
            destination.get_bits::<8>(16),
            product.get_bits::<8>(16),
            hit.get_bit(2),
            adds,
            (high.get_bit(2), repeat::<7>(low.get_bit(2))).cat::<8>(),
        ),
        chosen(
            sum.get_bits::<8>(8),
            destination.get_bits::<8>(8),
            product.get_bits::<8>(8),
            hit.get_bit(1),
            adds,
            (high.get_bit(1), repeat::<7>(low.get_bit(1))).cat::<8>(),
        ),
        chosen(
            sum.get_bits::<8>(0),
            destination.get_bits::<8>(0),
            product.get_bits::<8>(0),
            hit.get_bit(0),
            adds,
            (high.get_bit(0), repeat::<7>(low.get_bit(0))).cat::<8>(),
        ),
    )
        .cat::<32>()
}

/// The lanes. See the module text.
#[block]
pub struct CombineLanes {
    /// The operation.
    pub operation: Signal<In, Operation>,
    /// Columns of its constant; of 1 if it has none.
    pub columns: Signal<In, Bits<64>>,
    /// Bytes of the source,
    pub source: Signal<In, Bits<256>>,
    /// and of the destination.
    pub destination: Signal<In, Bits<256>>,
    /// They are the upper half of a beat.
    pub high: Signal<In, Bit>,
    /// Bytes come.
    pub valid: Signal<In, Bit>,
    /// The result,
    pub result: Signal<Out, Bits<256>>,
    /// of an upper half.
    pub result_high: Signal<Out, Bit>,
    /// There is a new result.
    pub result_valid: Signal<Out, Bit>,
    /// The bytes that came in the cycle before.
    source_now: DFF<Bits<256>>,
    destination_now: DFF<Bits<256>>,
    high_now: DFF<Bit>,
    comes: Reg<Bit>,
    /// Products, sums, and the destination.
    products: Vec<DFF<Bits<32>>>,
    sums: Vec<DFF<Bits<36>>>,
    destination_then: DFF<Bits<256>>,
    high_then: DFF<Bit>,
    multiplied: Reg<Bit>,
    /// The result.
    results: Vec<DFF<Bits<32>>>,
    high_last: DFF<Bit>,
    done: Reg<Bit>,
}

impl CombineLanes {
    /// The lanes.
    pub fn new() -> Self {
        Self { products: replicate(GROUPS), sums: replicate(GROUPS), results: replicate(GROUPS), ..Self::blank() }
    }
}

#[hdl]
impl CombineLanes {
    fn update(&mut self) {
        let operation = self.operation.val();
        let columns = self.columns.val();
        self.source_now.d.next = self.source.val();
        self.destination_now.d.next = self.destination.val();
        self.high_now.d.next = self.high.val();
        self.comes.d.next = self.valid.val();
        self.destination_then.d.next = self.destination_now.q.val();
        self.high_then.d.next = self.high_now.q.val();
        self.multiplied.d.next = self.comes.q.val();
        self.done.d.next = self.multiplied.q.val();
        self.high_last.load(self.multiplied.q.val(), self.high_then.q.val());

        let subtracts = operation.kind.get_bit(2);
        let is_byte = !operation.size.any();
        let ends = (is_byte, !operation.size.get_bit(1), is_byte).cat::<3>();
        let mut result: Bits<256> = bits::<256>(0);
        for g in 0..GROUPS {
            let source = self.source_now.q.val().get_bits::<32>(32 * g);
            let destination = self.destination_now.q.val().get_bits::<32>(32 * g);
            self.products[g].d.next = (
                product(source.get_bits::<8>(24), columns),
                product(source.get_bits::<8>(16), columns),
                product(source.get_bits::<8>(8), columns),
                product(source.get_bits::<8>(0), columns),
            )
                .cat::<32>();
            self.sums[g].d.next = sums_of(destination, source, ends, subtracts);
            let chosen = results_of(
                operation,
                self.destination_then.q.val().get_bits::<32>(32 * g),
                self.products[g].q.val(),
                self.sums[g].q.val(),
            );
            self.results[g].load(self.multiplied.q.val(), chosen);
            result = result | (bit_cast::<256, 32>(self.results[g].q.val()) << bits::<9>(32 * g as u64));
        }
        self.result.next = result;
        self.result_high.next = self.high_last.q.val();
        self.result_valid.next = self.done.q.val();
    }
}
