//! Internet checksums of a running stream, without a single carry chain.
//!
//! A ones' complement sum is kept as two 16-bit numbers, `sum` and `carry`, whose end-around sum it is. Three numbers become two
//! by a full adder per bit, with the carries rotated instead of shifted: one logic level whatever the width. A packet is intact
//! when its words, checksum included, add up to a multiple of 65535 that is not zero, and that is seen on the pair directly
//! ([`balanced`]): the two numbers complement each other. They are never both all ones: six words have at most six ones in a bit,
//! and 7 would be needed in each bit of the last six. The byte order of the words does not matter: swapping all of them swaps the
//! sum.

use crate::replicate;
use spindle_contract::params::BEAT_BYTES;
use spindle_verilog::prelude::*;

/// Words of a beat.
pub const BEAT_WORDS: usize = BEAT_BYTES / 2;

/// A checksum that is written into a beat.
#[derive(LogicStruct, Copy, Clone, Debug, Default, PartialEq)]
pub struct ChecksumField {
    /// The beat has the field.
    pub present: Bit,
    /// Word of the beat.
    pub word: Bits<5>,
    /// What is written, the first byte in bits 7:0.
    pub value: Bits<16>,
}

/// Sum output of a full adder per bit.
#[hdl_fn]
pub fn add_sum(a: Bits<16>, b: Bits<16>, c: Bits<16>) -> Bits<16> {
    a ^ b ^ c
}

/// Carry output of a full adder per bit, with the end-around carry.
#[hdl_fn]
pub fn sum_carry(a: Bits<16>, b: Bits<16>, c: Bits<16>) -> Bits<16> {
    let majority = (a & b) | (a & c) | (b & c);
    (majority.get_bits::<15>(0), majority.get_bit(15)).cat::<16>()
}

/// How many of six words have each bit, bit 0 of it: the words' weight.
#[hdl_fn]
fn six_ones(a: Bits<16>, b: Bits<16>, c: Bits<16>, d: Bits<16>, e: Bits<16>, f: Bits<16>) -> Bits<16> {
    a ^ b ^ c ^ d ^ e ^ f
}

/// Bit 1 of it, one place further, around the end.
#[hdl_fn]
fn six_twos(a: Bits<16>, b: Bits<16>, c: Bits<16>, d: Bits<16>, e: Bits<16>, f: Bits<16>) -> Bits<16> {
    let low = (a & b) | (a & c) | (b & c);
    let high = (d & e) | (d & f) | (e & f);
    let twos = low ^ high ^ ((a ^ b ^ c) & (d ^ e ^ f));
    (twos.get_bits::<15>(0), twos.get_bit(15)).cat::<16>()
}

/// Bit 2 of it, two places further, around the end.
#[hdl_fn]
fn six_fours(a: Bits<16>, b: Bits<16>, c: Bits<16>, d: Bits<16>, e: Bits<16>, f: Bits<16>) -> Bits<16> {
    let low = (a & b) | (a & c) | (b & c);
    let high = (d & e) | (d & f) | (e & f);
    let fours = (low & high) | ((low | high) & ((a ^ b ^ c) & (d ^ e ^ f)));
    (fours.get_bits::<14>(0), fours.get_bits::<2>(14)).cat::<16>()
}

/// Adds the ten words of an IPv4 header as [`Compressor`] does: `carry` above `sum`.
#[hdl_fn]
pub fn sum_of_ten(words: Bits<160>) -> Bits<32> {
    let a = words.get_bits::<16>(0);
    let b = words.get_bits::<16>(16);
    let c = words.get_bits::<16>(32);
    let d = words.get_bits::<16>(48);
    let e = words.get_bits::<16>(64);
    let f = words.get_bits::<16>(80);
    let g = words.get_bits::<16>(96);
    let h = words.get_bits::<16>(112);
    let i = words.get_bits::<16>(128);
    let j = words.get_bits::<16>(144);
    let ones = six_ones(a, b, c, d, e, f);
    let twos = six_twos(a, b, c, d, e, f);
    let fours = six_fours(a, b, c, d, e, f);
    let more_ones = six_ones(g, h, i, j, ones, twos);
    let more_twos = six_twos(g, h, i, j, ones, twos);
    let more_fours = six_fours(g, h, i, j, ones, twos);
    let sum = add_sum(fours, more_ones, more_twos);
    let carry = sum_carry(fours, more_ones, more_twos);
    (sum_carry(more_fours, sum, carry), add_sum(more_fours, sum, carry)).cat::<32>()
}

/// The sum of what a checksum covers says "intact": for a pair that [`sum_of_ten`] or a [`Compressor`] with an adder of six made.
#[hdl_fn]
pub fn balanced(sum: Bits<16>, carry: Bits<16>) -> Bit {
    (sum ^ carry).all()
}

/// Adds N words, combinational. Six words become three at each step, the last few go through full adders.
///
/// | ports | meaning |
/// |---|---|
/// | in `words` | the words |
/// | out `sum`, `carry` | two numbers with the same end-around sum |
#[block(combinational, no_default)]
pub struct Compressor<const N: usize> {
    /// Words to add.
    pub words: [Signal<In, Bits<16>>; N],
    /// First half of the result.
    pub sum: Signal<Out, Bits<16>>,
    /// Second half of the result.
    pub carry: Signal<Out, Bits<16>>,
    /// A queue: every adder takes numbers from its front and appends its results, so numbers are used in the order of
    /// their depth.
    queue: Vec<Signal<Local, Bits<16>>>,
    /// Adders of six.
    _sixes: usize,
    /// Full adders at the end.
    _last: usize,
}

impl<const N: usize> Default for Compressor<N> {
    fn default() -> Self {
        assert!(N >= 4, "Compressor: {N} words need no tree; use at least 4");
        let sixes = (N - 3) / 3;
        let last = N - 3 * sixes - 2;
        Self { queue: replicate(N + 3 * sixes + 2 * last), _sixes: sixes, _last: last, ..Self::blank() }
    }
}

#[hdl]
impl<const N: usize> Compressor<N> {
    fn update(&mut self) {
        for i in 0..N {
            self.queue[i].next = self.words[i].val();
        }
        for k in 0..self._sixes {
            let a = self.queue[6 * k].val();
            let b = self.queue[6 * k + 1].val();
            let c = self.queue[6 * k + 2].val();
            let d = self.queue[6 * k + 3].val();
            let e = self.queue[6 * k + 4].val();
            let f = self.queue[6 * k + 5].val();
            self.queue[N + 3 * k].next = six_ones(a, b, c, d, e, f);
            self.queue[N + 3 * k + 1].next = six_twos(a, b, c, d, e, f);
            self.queue[N + 3 * k + 2].next = six_fours(a, b, c, d, e, f);
        }
        for k in 0..self._last {
            let a = self.queue[6 * self._sixes + 3 * k].val();
            let b = self.queue[6 * self._sixes + 3 * k + 1].val();
            let c = self.queue[6 * self._sixes + 3 * k + 2].val();
            self.queue[N + 3 * self._sixes + 2 * k].next = add_sum(a, b, c);
            self.queue[N + 3 * self._sixes + 2 * k + 1].next = sum_carry(a, b, c);
        }
        self.sum.next = self.queue[N + 3 * self._sixes + 2 * self._last - 2].val();
        self.carry.next = self.queue[N + 3 * self._sixes + 2 * self._last - 1].val();
    }
}

/// What is written for this sum: its complement, and 0xFFFF, its other form, for 0, which means for UDP that there is no checksum.
#[hdl_fn]
pub fn never_zero(sum: Bits<16>) -> Bits<16> {
    if sum.all() {
        sum
    } else {
        !sum
    }
}

/// The end-around sum of two numbers, before its carry goes around.
#[hdl_fn]
pub fn sum_of_pair(a: Bits<16>, b: Bits<16>) -> Bits<17> {
    zext::<17, 16>(a) + zext::<17, 16>(b)
}

/// Lets the carry of [`sum_of_pair`] go around. Two numbers of 16 bits carry once.
#[hdl_fn]
pub fn fold(total: Bits<17>) -> Bits<16> {
    total.get_bits::<16>(0) + zext::<16, 1>(total.get_bit(16).into())
}

/// Cycles from the last beat of a [`StreamSum`] to its sum.
pub const STREAM_SUM_LATENCY: usize = 3;

/// Adds the words of frames, 64 bytes per cycle, frame after frame without a bubble.
///
/// | ports | meaning |
/// |---|---|
/// | in `beat` (pulse), `first`, `last` | a beat of a frame; bytes that do not count are 0 |
/// | out `total` (pulse) | the end-around sum of a frame, [`STREAM_SUM_LATENCY`] cycles after its last beat |
///
/// Cycle 1: the words. Cycle 2: the sum, in two numbers. Cycle 3: the sum before its carry goes around.
#[block]
pub struct StreamSum {
    /// Bytes that count.
    pub beat: PulseSink<Bits<512>>,
    /// First beat of a frame.
    pub first: Signal<In, Bit>,
    /// Last beat of a frame.
    pub last: Signal<In, Bit>,
    /// Sum of a frame.
    pub total: Pulse<Bits<16>>,
    tree: Compressor<34>,
    words: DFF<Bits<512>>,
    words_valid: Reg<Bit>,
    words_first: DFF<Bit>,
    words_last: DFF<Bit>,
    sum: DFF<Bits<16>>,
    carry: DFF<Bits<16>>,
    summed: Reg<Bit>,
    pair: DFF<Bits<17>>,
    paired: Reg<Bit>,
}

#[hdl]
impl StreamSum {
    fn update(&mut self) {
        let arrives = self.beat.valid.val();
        self.words_valid.d.next = arrives;
        self.words.load(arrives, self.beat.val());
        self.words_first.d.next = self.first.val();
        self.words_last.d.next = self.last.val();

        let continues = repeat::<16>(!self.words_first.q.val());
        for i in 0..BEAT_WORDS {
            self.tree.words[i].next = self.words.q.val().get_bits::<16>(16 * i);
        }
        self.tree.words[BEAT_WORDS].next = self.sum.q.val() & continues;
        self.tree.words[BEAT_WORDS + 1].next = self.carry.q.val() & continues;
        let valid = self.words_valid.q.val();
        self.sum.load(valid, self.tree.sum.val());
        self.carry.load(valid, self.tree.carry.val());
        self.summed.d.next = valid & self.words_last.q.val();

        self.paired.d.next = self.summed.q.val();
        self.pair.d.next = sum_of_pair(self.sum.q.val(), self.carry.q.val());
        self.total.offer(self.paired.q.val(), fold(self.pair.q.val()));
    }
}
