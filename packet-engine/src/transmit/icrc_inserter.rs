//! ICRC inserter: appends the CRC-32C of Spindle header and payload to the frames of the NIC that get one.
//!
//! | ports | neighbour |
//! |---|---|
//! | in `write` | egress: beats of frames; all beats of a frame have the same `icrc` |
//! | out `read` | wire: the same beats, and four bytes more in a frame with `icrc` |
//!
//! Frames without ICRC pass in the same cycle, through no register, as long as no frame with ICRC is under way before them. A frame
//! with ICRC goes through a line of [`LATENCY`] stages, with every frame that follows it before the line has run empty:
//!
//! | cycle | of a beat |
//! |---|---|
//! | 0 | at `write`; bytes that do not count become 0; the lanes of the CRC; the beat goes into the line's LUT RAM |
//! | 1 | the CRC's register ([`BeatCrc`]) |
//! | 2 | of a last beat: 32, 16 and 8 of its zeros are taken back ([`CrcEnd`]) |
//! | 3 | 4, 2 and 1 of them, which gives the CRC |
//! | 4 | the beat comes out of the LUT RAM; the CRC turns to the bytes at which it is inserted |
//! | [`LATENCY`] | at `read` |
//!
//! The line moves as a whole, whenever what is at `read` is taken or is no beat: a frame that enters without gaps leaves without
//! gaps. A last beat of more than 60 bytes has no room for the CRC. A beat of 1 to 4 bytes follows it, for which the line stands still
//! for one cycle; `write` stalls for no other reason of this block.

use crate::traffic::bytes_kept;
use crate::transmit::egress::EgressBeat;
use spindle_blocks::crc::{begun, BeatCrc, CrcEnd, BEAT_CRC_LATENCY, CRC32C, CRC_END_LATENCY};
use spindle_blocks::LutMemory;
use spindle_contract::params::BEAT_BYTES;
use spindle_contract::wire::{spindle, ICRC_BYTES};
use spindle_verilog::prelude::*;

/// Cycles from `write` to `read` of a frame with ICRC.
pub const LATENCY: usize = 5;
const _: () = assert!(LATENCY == BEAT_CRC_LATENCY + CRC_END_LATENCY + 1);

/// Stages of the line before the one at `read`: the beat is in its LUT RAM.
const STORED: usize = LATENCY - 1;
/// Address bits of the LUT RAM.
const LINE_BITS: usize = 3;
const _: () = assert!(STORED < 1 << LINE_BITS);
/// First byte of the CRC: frames of the NIC have no VLAN tag.
const START: usize = spindle::START;
const BEGUN: u64 = begun(CRC32C, START) as u64;
/// Bytes of a last beat that leave room for the ICRC.
const ROOM: usize = BEAT_BYTES - ICRC_BYTES;

/// What is at `read`.
#[derive(LogicStruct, Copy, Clone, Debug, Default, PartialEq)]
struct Leaving {
    beat: EgressBeat,
    /// Bytes of the beat that are bytes of the ICRC,
    fill: Bits<64>,
    /// and of the beat that follows it.
    rest: Bits<ICRC_BYTES>,
    /// The ICRC, with each byte at its place in a word of the beat.
    icrc: Bits<32>,
}

/// See the head of this file.
#[block]
pub struct IcrcInserter {
    /// Beat of a frame.
    pub write: Sink<EgressBeat>,
    /// Beat for the wire.
    pub read: Source<EgressBeat>,
    in_frame: Reg<Bit>,
    /// Stages with a beat, the youngest in bit 0.
    line: Reg<Bits<STORED>>,
    line_beats: LutMemory<EgressBeat, LINE_BITS>,
    /// Where the next beat is written.
    line_at: Reg<Bits<LINE_BITS>>,
    crc: BeatCrc,
    crc_end: CrcEnd,
    /// Zero bytes at the end of the beats in stages 1 and 2.
    zeros: [DFF<Bits<6>>; BEAT_CRC_LATENCY],
    leaving: DFF<Leaving>,
    leaves: Reg<Bit>,
    /// The bytes of the ICRC for which the beat had no room are at `read`.
    spills: Reg<Bit>,
}

/// The ICRC of a last beat of so many bytes, modulo 4, with each byte at its place in a word.
#[hdl_fn]
fn turned(crc: Bits<32>, bytes: Bits<2>) -> Bits<32> {
    match bytes.index() {
        0 => crc,
        1 => (crc.get_bits::<24>(0), crc.get_bits::<8>(24)).cat::<32>(),
        2 => (crc.get_bits::<16>(0), crc.get_bits::<16>(16)).cat::<32>(),
        _ => (crc.get_bits::<8>(0), crc.get_bits::<24>(8)).cat::<32>(),
    }
}

#[hdl]
impl IcrcInserter {
    fn update(&mut self) {
        let waits = self.leaving.q.val().rest.any() & !self.spills.q.val();
        let moves = !self.leaves.q.val() | (self.read.ready.val() & !waits);
        let empty = !self.leaves.q.val() & !self.line.q.val().any();
        let passes = empty & !self.write.val().icrc;
        self.write.ready.next = if empty { self.read.ready.val() } else { moves };
        let taken = self.write.valid.val() & self.write.ready.val();
        let enters = taken & !passes;
        self.in_frame.load(taken, !self.write.val().last);

        self.compute(enters, moves);
        self.store(enters, moves);
        self.leave(empty, waits);
    }

    /// Cycles 0 to 3: the CRC.
    fn compute(&mut self, enters: Bit, moves: Bit) {
        let beat = self.write.val();
        let mut covered: Bits<512> = beat.data;
        for b in 0..BEAT_BYTES {
            let counts = if b < START { beat.keep.get_bit(b) & self.in_frame.q.val() } else { beat.keep.get_bit(b) };
            covered.set_bits::<8>(8 * b, beat.data.get_bits::<8>(8 * b) & repeat::<8>(counts));
        }
        self.crc.beat.offer(enters, covered);
        self.crc.first.next = !self.in_frame.q.val();
        self.crc.start.next = bits::<32>(BEGUN);
        self.crc.moves.next = moves;
        // 64 less the bytes, which are 1 to 64.
        let kept = bytes_kept(beat.keep);
        self.zeros[0].load(moves, bits::<6>(0) - kept.get_bits::<6>(0));
        self.zeros[1].load(moves, self.zeros[0].q.val());
        self.crc_end.state.next = self.crc.state.val();
        self.crc_end.zeros.next = self.zeros[1].q.val();
        self.crc_end.moves.next = moves;
    }

    /// Cycles 0 to 4: the beat waits for it.
    fn store(&mut self, enters: Bit, moves: Bit) {
        let at = self.line_at.q.val();
        self.line_at.load(moves, at + 1);
        self.line.load(moves, (self.line.q.val().get_bits::<{ STORED - 1 }>(0), enters).cat::<STORED>());
        self.line_beats.write(moves, at, self.write.val());
        self.line_beats.read_address.next = at - (STORED as u64);

        let beat = self.line_beats.read_data.val();
        let ends = beat.last & beat.icrc;
        let keep = beat.keep;
        let after = !keep & (keep.get_bits::<ROOM>(0), bits::<ICRC_BYTES>(0xF)).cat::<64>() & repeat::<64>(ends);
        let rest = keep.get_bits::<ICRC_BYTES>(ROOM) & repeat::<ICRC_BYTES>(ends);
        let mut leaving: EgressBeat = beat;
        leaving.data = beat.data & byte_mask::<512, 64>(keep);
        leaving.keep = keep | after;
        leaving.last = beat.last & !rest.any();
        let place = bytes_kept(keep).get_bits::<2>(0);
        self.leaves.load(moves, self.line.q.val().get_bit(STORED - 1));
        self.leaving
            .load(moves, Leaving { beat: leaving, fill: after, rest, icrc: turned(self.crc_end.crc.val(), place) });
    }

    /// What is at `read`.
    fn leave(&mut self, empty: Bit, waits: Bit) {
        let leaving = self.leaving.q.val();
        let spills = self.spills.q.val();
        let mut data: Bits<512> = leaving.beat.data;
        for b in 0..BEAT_BYTES {
            let sent = leaving.beat.data.get_bits::<8>(8 * b);
            let inserted = leaving.icrc.get_bits::<8>(8 * (b % ICRC_BYTES));
            let fills = if b < ICRC_BYTES { leaving.fill.get_bit(b) | spills } else { leaving.fill.get_bit(b) };
            let kept = if b < ICRC_BYTES { sent & repeat::<8>(!spills) } else { sent };
            data.set_bits::<8>(8 * b, kept | (inserted & repeat::<8>(fills)));
        }
        let mut beat: EgressBeat = leaving.beat;
        beat.data = data;
        if spills {
            beat.keep = zext::<64, ICRC_BYTES>(leaving.rest);
            beat.last = true;
        }
        self.read.offer(
            self.leaves.q.val() | (empty & self.write.valid.val() & !self.write.val().icrc),
            if empty { self.write.val() } else { beat },
        );
        self.spills.load(self.leaves.q.val() & self.read.ready.val(), waits);
    }
}
