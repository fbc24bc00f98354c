//! Frames between beats of 512 bits and a MAC of 64 bits, in the MAC's clock.

use spindle_blocks::{AxiStreamSink, RxSource};
use spindle_verilog::prelude::*;

/// Frames in beats of 64 bits.
#[bundle(mirror = PartSink)]
pub struct PartSource {
    /// Bytes, the first in bits 7:0.
    pub data: Signal<Out, Bits<64>>,
    /// Bytes that count; contiguous from bit 0, all of them except in the last beat.
    pub keep: Signal<Out, Bits<8>>,
    /// Last beat of the frame.
    pub last: Signal<Out, Bit>,
    /// With `last`: the frame is bad.
    pub user: Signal<Out, Bit>,
    /// A beat is offered.
    pub valid: Signal<Out, Bit>,
    /// The beat is taken.
    pub ready: Signal<In, Bit>,
}

/// [`PartSource`] from the wire, which cannot wait.
#[bundle(mirror = RxPartSink, part_of(PartSource, PartSink))]
pub struct RxPartSource {
    /// Bytes, the first in bits 7:0.
    pub data: Signal<Out, Bits<64>>,
    /// Bytes that count; contiguous from bit 0, all of them except in the last beat.
    pub keep: Signal<Out, Bits<8>>,
    /// Last beat of the frame.
    pub last: Signal<Out, Bit>,
    /// With `last`: the frame is bad.
    pub user: Signal<Out, Bit>,
    /// There is a beat.
    pub valid: Signal<Out, Bit>,
}

/// Eight beats of 64 bits become one of 512.
///
/// | ports | neighbour |
/// |---|---|
/// | in `narrow_*` | a MAC of 64 bits |
/// | out `wide_*`, from registers; bytes that `keep` does not cover are zero | [`RxCross`](super::rx_cross::RxCross) |
///
/// A beat of 512 bits is there in the cycle after its last part: the eighth, or the one with `last`. No stalls: a
/// part in every cycle.
///
/// Area on UltraScale+ (yosys): 15 LUTs, 582 flip-flops.
#[block]
pub struct Widen {
    /// Frames of the MAC.
    pub narrow: RxPartSink,
    /// The same frames.
    pub wide: RxSource,
    data: [DFF<Bits<64>>; 8],
    keep: [DFF<Bits<8>>; 8],
    last: DFF<Bit>,
    user: DFF<Bit>,
    valid: Reg<Bit>,
    /// The next part.
    at: Reg<Bits<3>>,
}

#[hdl]
impl Widen {
    fn update(&mut self) {
        let valid = self.narrow.valid.val();
        let last = self.narrow.last.val();
        let at = self.at.q.val();
        if valid {
            for i in 0..8 {
                if at == bits::<3>(i as u64) {
                    self.data[i].d.next = self.narrow.data.val();
                    self.keep[i].d.next = self.narrow.keep.val();
                } else if !at.any() {
                    self.data[i].d.next = bits::<64>(0);
                    self.keep[i].d.next = bits::<8>(0);
                }
            }
            self.last.d.next = last;
            self.user.d.next = last & self.narrow.user.val();
            self.at.d.next = if last { bits::<3>(0) } else { at + 1 };
        }
        self.valid.d.next = valid & (last | at.all());

        let mut data: Bits<512> = bits(0);
        let mut keep: Bits<64> = bits(0);
        for i in 0..8 {
            data = data | (bit_cast::<512, 64>(self.data[i].q.val()) << (64 * i as u64));
            keep = keep | (bit_cast::<64, 8>(self.keep[i].q.val()) << (8 * i as u64));
        }
        self.wide.data.next = data;
        self.wide.keep.next = keep;
        self.wide.last.next = self.last.q.val();
        self.wide.user.next = self.user.q.val();
        self.wide.valid.next = self.valid.q.val();
    }
}

/// A beat of 512 bits becomes up to eight of 64.
///
/// | ports | neighbour |
/// |---|---|
/// | in `wide_*` / out `wide_ready` | [`TxCross`](super::tx_cross::TxCross) |
/// | out `narrow_*`, from registers / in `narrow_ready` | a MAC of 64 bits |
///
/// Latency 1 cycle. While the source offers the beats of a frame one after another, its parts leave without a gap,
/// and the next frame follows at once. `wide_ready` follows `narrow_ready` in the same cycle.
///
/// Area on UltraScale+ (yosys): 509 LUTs, 579 flip-flops.
#[block]
pub struct Narrow {
    /// Frames of the core.
    pub wide: AxiStreamSink,
    /// The same frames.
    pub narrow: PartSource,
    data: DFF<Bits<512>>,
    keep: DFF<Bits<64>>,
    last: DFF<Bit>,
    user: DFF<Bit>,
    valid: Reg<Bit>,
}

#[hdl]
impl Narrow {
    fn update(&mut self) {
        let valid = self.valid.q.val();
        let keep = self.keep.q.val();
        let final_part = !keep.get_bit(8);
        let ready = self.narrow.ready.val();
        let free = !valid | (ready & final_part);
        if free {
            self.data.d.next = self.wide.data.val();
            self.keep.d.next = self.wide.keep.val();
            self.last.d.next = self.wide.last.val();
            self.user.d.next = self.wide.user.val();
            self.valid.d.next = self.wide.valid.val();
        } else if ready {
            self.data.d.next = self.data.q.val() >> 64;
            self.keep.d.next = keep >> 8;
        }
        self.wide.ready.next = free;
        let last = self.last.q.val() & final_part;
        self.narrow.data.next = self.data.q.val().get_bits::<64>(0);
        self.narrow.keep.next = keep.get_bits::<8>(0);
        self.narrow.last.next = last;
        self.narrow.user.next = last & self.user.q.val();
        self.narrow.valid.next = valid;
    }
}
