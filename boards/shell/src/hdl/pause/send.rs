//! Pauses of transmission, and pause frames that are sent.

use super::{BYTES, DESTINATION, OPERATION};
use spindle_blocks::{AxiStreamSink, AxiStreamSource, Level};
use spindle_verilog::prelude::*;

/// Cycles after which a pause is asked for again while the FIFO stays full. The pause that is asked for is 65,535
/// quanta, at the least 108,132 cycles.
pub const REFRESH: u64 = 1 << 15;

/// Bytes of a pause frame that count.
const KEEP: u64 = (1 << BYTES as u64) - 1;

/// Holds transmission for received pauses, and puts pause frames between the frames of the core.
///
/// | ports | neighbour |
/// |---|---|
/// | in `turn`, `quanta`, `above`, `below`: registers of another clock | [`PauseReceive`](super::PauseReceive) |
/// | in `from_cross_*` / out `to_mac_*`; out `hold`; in `address` | as of [`Pause`](super::Pause) |
///
/// `quanta` has to stand still for 3 cycles after `turn` has changed.
#[block(no_default)]
pub struct PauseSend {
    /// Frames of the core.
    pub from_cross: AxiStreamSink,
    /// Those, and pause frames.
    pub to_mac: AxiStreamSource,
    /// Address of this port.
    pub address: Signal<In, Bits<48>>,
    /// Begin no frame.
    pub hold: Signal<Out, Bit>,
    /// Changes with each received pause frame.
    pub turn: Signal<In, Bit>,
    /// What it asks for.
    pub quanta: Signal<In, Bits<16>>,
    /// The receive FIFO is so full that a pause is needed.
    pub above: Signal<In, Bit>,
    /// It is so empty that none is.
    pub below: Signal<In, Bit>,
    turned: Level,
    high: Level,
    low: Level,
    /// `turned`, one cycle later; without a reset, after which it would be taken for a frame.
    turn_before: DFF<Bit>,
    fresh: Reg<Bit>,
    taken: DFF<Bits<16>>,
    /// Quanta to hold.
    left: Reg<Bits<16>>,
    phase: Reg<Bits<8>>,
    holding: Reg<Bit>,
    /// The other end was asked for a pause.
    asked: Reg<Bit>,
    since: Reg<Bits<16>>,
    /// A frame of the core is under way.
    mid_frame: Reg<Bit>,
    sending: Reg<Bit>,
    _numerator: u64,
    _denominator: u64,
}

impl PauseSend {
    /// A quantum is `cycles.0 / cycles.1` cycles.
    pub(super) fn new(cycles: (u64, u64)) -> Self {
        Self { _numerator: cycles.0, _denominator: cycles.1, ..Self::blank() }
    }
}

#[hdl]
impl PauseSend {
    fn update(&mut self) {
        self.obey();
        self.ask();
    }

    fn obey(&mut self) {
        self.turned.level.next = self.turn.val();
        let turned = self.turned.seen.val();
        self.turn_before.d.next = turned;
        let fresh = turned != self.turn_before.q.val();
        self.fresh.d.next = fresh;
        if fresh {
            self.taken.d.next = self.quanta.val();
        }
        // A quantum is the numerator in steps of the denominator.
        let phase = self.phase.q.val() + bits::<8>(self._denominator);
        let full = phase >= bits::<8>(self._numerator);
        if self.fresh.q.val() {
            self.left.d.next = self.taken.q.val();
            self.phase.d.next = bits::<8>(0);
            self.holding.d.next = self.taken.q.val().any();
        } else if self.left.q.val().any() {
            self.phase.d.next = if full { phase - bits::<8>(self._numerator) } else { phase };
            if full {
                self.left.d.next = self.left.q.val() - 1;
                self.holding.d.next = self.left.q.val() != 1;
            }
        }
        self.hold.next = self.holding.q.val();
    }

    fn ask(&mut self) {
        self.high.level.next = self.above.val();
        self.low.level.next = self.below.val();
        let above = self.high.seen.val();
        let below = self.low.seen.val();
        let asked = self.asked.q.val();
        let old = self.since.q.val().get_bit(15);
        let wants = if asked { below | (above & old) } else { above };
        let sending = self.sending.q.val();
        let valid = self.from_cross.valid.val();
        let moves = valid & self.to_mac.ready.val() & !sending;
        self.mid_frame.load(moves, !self.from_cross.last.val());
        // No beat is offered in the next cycle that was offered before.
        let between = (moves & self.from_cross.last.val()) | (!self.mid_frame.q.val() & !valid);
        if sending {
            self.sending.d.next = !self.to_mac.ready.val();
        } else if wants & between {
            self.sending.d.next = true;
            self.asked.d.next = !below;
        }
        if sending {
            self.since.d.next = bits::<16>(0);
        } else if !old {
            self.since.d.next = self.since.q.val() + 1;
        }

        let mut pause: Bits<512> = bits(0);
        for i in 0..6 {
            pause = pause | (bits::<512>(DESTINATION[i]) << (8 * i as u64));
        }
        for i in 0..4 {
            pause = pause | (bits::<512>(OPERATION[i]) << (96 + 8 * i as u64));
        }
        let quanta = repeat::<16>(asked);
        let own = byte_swap(self.address.val());
        let frame = pause | (bit_cast::<512, 48>(own) << 48) | (bit_cast::<512, 16>(quanta) << 128);
        self.to_mac.data.next = if sending { frame } else { self.from_cross.data.val() };
        self.to_mac.keep.next = if sending { bits::<64>(KEEP) } else { self.from_cross.keep.val() };
        self.to_mac.last.next = sending | self.from_cross.last.val();
        self.to_mac.user.next = !sending & self.from_cross.user.val();
        self.to_mac.valid.next = sending | valid;
        self.from_cross.ready.next = self.to_mac.ready.val() & !sending;
    }
}
