//! Cyclic redundancy checks of frames: the matrices of a polynomial, and CRC-32C at 64 bytes per cycle.
//!
//! A register of 32 bits is kept in the order of the wire: bit 0 of a byte comes first, bit 31 of a polynomial is x^0. The
//! register begins with all ones, and what is sent is its complement, the lowest byte first. The CRC is linear, and so are these:
//!
//! * Bytes that are 0 before the first byte that counts change a register that is 0 by nothing. So frames begin at any byte of a
//!   beat, and the ones with which the register begins are a constant that is added at the end of the first beat ([`begun`]).
//! * A last beat is filled with zeros. A receiver compares the register with the [`residue`] after as many zeros
//!   ([`advance`]); a sender takes the zeros back, because a step of the register is invertible ([`CrcEnd`]).

use spindle_contract::params::BEAT_BYTES;
use spindle_verilog::prelude::*;

/// The polynomial of Ethernet's frame check sequence.
pub const CRC32: u32 = 0xEDB8_8320;
/// The polynomial of CRC-32C (Castagnoli), that of the ICRC.
pub const CRC32C: u32 = 0x82F6_3B78;
/// Cycles from a beat to the register of [`BeatCrc`] that has it.
pub const BEAT_CRC_LATENCY: usize = 2;
/// Cycles of a [`CrcEnd`].
pub const CRC_END_LATENCY: usize = 2;

/// The register after `bytes` zero bytes.
pub const fn advance(polynomial: u32, mut state: u32, bytes: usize) -> u32 {
    let mut i = 0;
    while i < 8 * bytes {
        let out = state & 1 == 1;
        state >>= 1;
        if out {
            state ^= polynomial;
        }
        i += 1;
    }
    state
}

/// The register before `bytes` zero bytes: bit 31 shows whether the polynomial was added.
pub const fn back(polynomial: u32, mut state: u32, bytes: usize) -> u32 {
    let mut i = 0;
    while i < 8 * bytes {
        let added = state >> 31;
        if added == 1 {
            state ^= polynomial;
        }
        state = state << 1 | added;
        i += 1;
    }
    state
}

/// The register after a frame and the CRC that was sent with it.
pub const fn residue(polynomial: u32) -> u32 {
    advance(polynomial, u32::MAX, 4)
}

/// What the ones with which a register begins are at the end of a beat whose byte `first` is the first one that counts.
pub const fn begun(polynomial: u32, first: usize) -> u32 {
    advance(polynomial, u32::MAX, BEAT_BYTES - first)
}

/// For each bit of a register after (`forward`) or before `bytes` zero bytes, the bits of the register that it sums.
pub const fn rows(polynomial: u32, forward: bool, bytes: usize) -> [u64; 32] {
    let mut rows = [0; 32];
    let mut column = 0;
    while column < 32 {
        let image =
            if forward { advance(polynomial, 1 << column, bytes) } else { back(polynomial, 1 << column, bytes) };
        let mut row = 0;
        while row < 32 {
            rows[row] |= ((image >> row & 1) as u64) << column;
            row += 1;
        }
        column += 1;
    }
    rows
}

/// For each bit of a register that was 0, the bits of eight bytes that it sums when `after` zero bytes have followed them.
pub const fn word_rows(polynomial: u32, after: usize) -> [u64; 32] {
    let (low, high) = (rows(polynomial, true, after + 8), rows(polynomial, true, after + 4));
    let mut both = [0; 32];
    let mut row = 0;
    while row < 32 {
        both[row] = high[row] << 32 | low[row];
        row += 1;
    }
    both
}

/// Lanes of eight bytes in a beat.
const LANES: usize = BEAT_BYTES / 8;
/// Row `i` of lane `l` at `32 * l + i`.
const LANE_ROWS: [u64; 32 * LANES] = lane_rows();
const ADVANCE_BEAT: [u64; 32] = rows(CRC32C, true, BEAT_BYTES);
/// Steps of [`CrcEnd`]: 1, 2, 4, ... bytes.
const STEPS: usize = 6;
/// Steps of its second cycle.
const LATE_STEPS: usize = 3;
/// Row `i` of step `s` at `32 * s + i`.
const BACK_ROWS: [u64; 32 * STEPS] = back_rows();
const _: () = assert!(1 << STEPS == BEAT_BYTES);

const fn lane_rows() -> [u64; 32 * LANES] {
    let mut all = [0; 32 * LANES];
    let mut at = 0;
    while at < all.len() {
        let lane = word_rows(CRC32C, BEAT_BYTES - 8 - at / 4);
        let mut row = 0;
        while row < 32 {
            all[at + row] = lane[row];
            row += 1;
        }
        at += 32;
    }
    all
}

const fn back_rows() -> [u64; 32 * STEPS] {
    let mut all = [0; 32 * STEPS];
    let mut at = 0;
    while at < all.len() {
        let step = rows(CRC32C, false, 1 << (at / 32));
        let mut row = 0;
        while row < 32 {
            all[at + row] = step[row];
            row += 1;
        }
        at += 32;
    }
    all
}

/// The CRC-32C register of frames, a beat per cycle.
///
/// | ports | meaning |
/// |---|---|
/// | in `beat` (pulse), `first` | a beat of a frame; bytes that do not count, before and after those that do, are 0 |
/// | in `start` | with `first`: [`begun`] of the byte at which the frame begins |
/// | in `moves` | the stages move; while `moves` is low, all of them hold |
/// | out `state` | the register, with the zeros of a last beat; of a beat after [`BEAT_CRC_LATENCY`] cycles in which the stages moved |
///
/// | cycle | |
/// |---|---|
/// | 0 | the beat: each of 8 lanes of 64 bits is summed to 32 bits |
/// | 1 | the sum of the lanes, and of the register a beat later |
/// | 2 | the register |
///
/// One beat per cycle for ever; a frame may begin in the cycle after the last beat of another.
#[block(no_reset)]
pub struct BeatCrc {
    /// Bytes that count.
    pub beat: PulseSink<Bits<512>>,
    /// First beat of a frame.
    pub first: Signal<In, Bit>,
    /// Share of the ones with which the register begins.
    pub start: Signal<In, Bits<32>>,
    /// The stages move.
    pub moves: Signal<In, Bit>,
    /// The register.
    pub state: Signal<Out, Bits<32>>,
    lanes: [DFF<Bits<32>>; LANES],
    summed: DFF<Bit>,
    summed_first: DFF<Bit>,
    summed_start: DFF<Bits<32>>,
    kept: DFF<Bits<32>>,
}

#[hdl]
impl BeatCrc {
    fn update(&mut self) {
        let moves = self.moves.val();
        let data = self.beat.val();
        for l in 0..LANES {
            let word = data.get_bits::<64>(64 * l);
            let mut sum: Bits<32> = bits::<32>(0);
            for i in 0..32 {
                sum = sum.replace_bit(i, (word & bits::<64>(LANE_ROWS[32 * l + i])).xor());
            }
            self.lanes[l].load(moves, sum);
        }
        self.summed.load(moves, self.beat.valid.val());
        self.summed_first.load(moves, self.first.val());
        self.summed_start.load(moves, self.start.val());

        let kept = self.kept.q.val();
        let mut later: Bits<32> = bits::<32>(0);
        for i in 0..32 {
            later = later.replace_bit(i, (kept & bits::<32>(ADVANCE_BEAT[i])).xor());
        }
        let carried = if self.summed_first.q.val() { self.summed_start.q.val() } else { later };
        let lanes = (self.lanes[0].q.val() ^ self.lanes[1].q.val() ^ self.lanes[2].q.val() ^ self.lanes[3].q.val())
            ^ (self.lanes[4].q.val() ^ self.lanes[5].q.val() ^ self.lanes[6].q.val() ^ self.lanes[7].q.val());
        self.kept.load(moves & self.summed.q.val(), lanes ^ carried);
        self.state.next = kept;
    }
}

/// Takes the zeros at the end of a last beat back, and complements the register: the CRC-32C that is sent.
///
/// | ports | meaning |
/// |---|---|
/// | in `state`, `zeros` | the register after a last beat with so many zero bytes at its end |
/// | in `moves` | the stages move, else they hold |
/// | out `crc` | its CRC, after [`CRC_END_LATENCY`] cycles in which the stages moved; the byte in bits 7:0 is sent first |
///
/// The first cycle takes 32, 16 and 8 bytes back, the second one 4, 2 and 1. One register per cycle.
#[block(no_reset)]
pub struct CrcEnd {
    /// The register.
    pub state: Signal<In, Bits<32>>,
    /// Zero bytes at its end.
    pub zeros: Signal<In, Bits<6>>,
    /// The stages move.
    pub moves: Signal<In, Bit>,
    /// The CRC.
    pub crc: Signal<Out, Bits<32>>,
    early: DFF<Bits<32>>,
    early_zeros: DFF<Bits<LATE_STEPS>>,
    late: DFF<Bits<32>>,
}

#[hdl]
impl CrcEnd {
    fn update(&mut self) {
        let moves = self.moves.val();
        let zeros = self.zeros.val();
        let mut state: Bits<32> = self.state.val();
        for s in 0..STEPS - LATE_STEPS {
            let step = STEPS - 1 - s;
            let mut earlier: Bits<32> = bits::<32>(0);
            for i in 0..32 {
                earlier = earlier.replace_bit(i, (state & bits::<32>(BACK_ROWS[32 * (STEPS - 1 - s) + i])).xor());
            }
            state = if zeros.get_bit(step) { earlier } else { state };
        }
        self.early.load(moves, state);
        self.early_zeros.load(moves, zeros.get_bits::<LATE_STEPS>(0));

        let mut rest: Bits<32> = self.early.q.val();
        for s in 0..LATE_STEPS {
            let step = LATE_STEPS - 1 - s;
            let mut earlier: Bits<32> = bits::<32>(0);
            for i in 0..32 {
                earlier = earlier.replace_bit(i, (rest & bits::<32>(BACK_ROWS[32 * (LATE_STEPS - 1 - s) + i])).xor());
            }
            rest = if self.early_zeros.q.val().get_bit(step) { earlier } else { rest };
        }
        self.late.load(moves, !rest);
        self.crc.next = self.late.q.val();
    }
}
