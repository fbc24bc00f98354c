//! Counts the frames and bytes of one stream.
//!
//! Ports: in `keep`, `last`, `moves` (a beat moves in this cycle); out `frames`, `bytes` (modulo 2^32, 3 cycles later), from
//! registers. `keep` must be contiguous from bit 0, which turns the count into a binary search. Never stalls.

use spindle_verilog::prelude::*;

/// How many of the 64 bytes count.
#[hdl_fn]
pub fn bytes_kept(keep: Bits<64>) -> Bits<7> {
    let b5 = keep.get_bit(31);
    let k5 = if b5 { keep.get_bits::<32>(32) } else { keep.get_bits::<32>(0) };
    let b4 = k5.get_bit(15);
    let k4 = if b4 { k5.get_bits::<16>(16) } else { k5.get_bits::<16>(0) };
    let b3 = k4.get_bit(7);
    let k3 = if b3 { k4.get_bits::<8>(8) } else { k4.get_bits::<8>(0) };
    let b2 = k3.get_bit(3);
    let k2 = if b2 { k3.get_bits::<4>(4) } else { k3.get_bits::<4>(0) };
    let b1 = k2.get_bit(1);
    let k1 = if b1 { k2.get_bits::<2>(2) } else { k2.get_bits::<2>(0) };
    let below = (false, b5, b4, b3, b2, b1, k1.get_bit(0)).cat::<7>();
    if keep.get_bit(63) {
        bits::<7>(64)
    } else {
        below
    }
}

/// See the head of this file.
#[block]
pub struct Traffic {
    /// Which bytes of the beat count.
    pub keep: Signal<In, Bits<64>>,
    /// Last beat of its frame.
    pub last: Signal<In, Bit>,
    /// A beat moves.
    pub moves: Signal<In, Bit>,
    /// Frames so far.
    pub frames: Signal<Out, Bits<32>>,
    /// Bytes so far.
    pub bytes: Signal<Out, Bits<32>>,
    seen: DFF<Bits<64>>,
    moved: Reg<Bit>,
    ended: Reg<Bit>,
    size: Reg<Bits<7>>,
    frame_count: Reg<Bits<32>>,
    byte_count: Reg<Bits<32>>,
}

#[hdl]
impl Traffic {
    fn update(&mut self) {
        self.seen.d.next = self.keep.val();
        self.moved.d.next = self.moves.val();
        self.ended.d.next = self.moves.val() & self.last.val();
        self.size.d.next = if self.moved.q.val() { bytes_kept(self.seen.q.val()) } else { bits::<7>(0) };
        self.byte_count.d.next = self.byte_count.q.val() + bit_cast::<32, 7>(self.size.q.val());
        self.frame_count.load(self.ended.q.val(), self.frame_count.q.val() + 1);
        self.frames.next = self.frame_count.q.val();
        self.bytes.next = self.byte_count.q.val();
    }
}
