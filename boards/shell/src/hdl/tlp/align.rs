//! Aligner: packets of the link, which may start in the middle of a beat, as packets that start with a beat.
//!
//! | neighbour | ports |
//! |---|---|
//! | `pcie_7x` | in `rx` |
//! | router | out `beat` |
//!
//! Each packet has a beat with `first`, and a beat with `last`, always: a packet that breaks off, because another one
//! starts before its end, is ended by a beat with `cut`. DWs before the first packet are dropped.
//!
//! The beat of a packet that started at byte 8 is made of the upper half of one beat and the lower half of the next
//! one. If such a packet ends in an upper half, its last beat is given one cycle later, and `rx` waits for that cycle.
//!
//! BARs of a packet that starts at byte 8 are those of its second beat, in which the core still shows them; if another
//! packet starts in that beat, those of its first one. PG054 does not say to which of two packets the bits belong.
//!
//! `rx` → `beat`: 1 cycle, for the upper half of a beat 1 cycle after the beat that follows. A beat per cycle. All
//! outputs come from registers, but `rx.tready`, which follows `beat.ready`.

use super::ports::{RxAxisSink, RxBeat};
use spindle_blocks::Slice;
use spindle_verilog::prelude::*;

/// What lies in the upper half of the beat before.
#[derive(LogicState, Copy, Clone, Debug, PartialEq)]
pub enum AlignState {
    /// Nothing: packets start at byte 0.
    Straight,
    /// The beginning of a beat.
    Shifted,
    /// The last DWs of a packet.
    Tail,
}

/// The aligner. See the module text.
#[block]
pub struct Aligner {
    /// Packets of the link.
    pub rx: RxAxisSink,
    /// Aligned packets.
    pub beat: Source<RxBeat>,
    state: Reg<AlignState>,
    /// A packet has started and not ended.
    under_way: Reg<Bit>,
    /// The upper half of the beat before, and its packet.
    upper: DFF<Bits<64>>,
    upper_first: DFF<Bit>,
    upper_bars: DFF<Bits<8>>,
    /// Tail: the second DW counts.
    tail_two: DFF<Bit>,
    output: Slice<RxBeat>,
}

#[hdl]
impl Aligner {
    fn update(&mut self) {
        let user = self.rx.tuser.val();
        let starts = user.get_bit(14);
        let starts_middle = starts & user.get_bit(13);
        let starts_low = starts & !user.get_bit(13);
        let ends = user.get_bit(21);
        let ends_high = user.get_bit(20);
        let ends_odd = user.get_bit(19);
        let bars = user.get_bits::<8>(2);
        let data = self.rx.tdata.val();
        let under_way = self.under_way.q.val();

        let mut taken = self.rx.tvalid.val();
        let mut given: Bit = false;
        let mut goes_on: Bit = under_way;
        let mut state: AlignState = self.state.q.val();
        let mut out =
            RxBeat { data, top: (ends_high, ends_odd).cat::<2>(), first: starts_low, last: ends, cut: false, bars };
        match self.state.q.val() {
            AlignState::Straight => {
                if under_way & (starts_low | (starts_middle & !ends)) {
                    // The packet before has no end.
                    out.first = false;
                    out.last = true;
                    out.cut = true;
                    given = self.rx.tvalid.val();
                    taken = false;
                    goes_on = !self.rx.tvalid.val();
                } else {
                    // The old packet, or one that starts at byte 0.
                    given = self.rx.tvalid.val() & (under_way | starts_low);
                    goes_on = starts_middle | ((under_way | starts_low) & !ends);
                    state = if starts_middle { AlignState::Shifted } else { AlignState::Straight };
                }
                if !ends {
                    out.top = bits::<2>(3);
                }
            }
            AlignState::Shifted => {
                out.data = (data.get_bits::<64>(0), self.upper.q.val()).cat::<128>();
                out.first = self.upper_first.q.val();
                out.bars = if starts { self.upper_bars.q.val() } else { bars };
                given = self.rx.tvalid.val();
                if starts_low | (starts_middle & (!ends | ends_high)) {
                    out.last = true;
                    out.cut = true;
                    taken = false;
                    goes_on = false;
                    state = AlignState::Straight;
                } else if ends & ends_high {
                    out.top = bits::<2>(3);
                    out.last = false;
                    state = AlignState::Tail;
                } else if ends {
                    out.top = (true, ends_odd).cat::<2>();
                    goes_on = starts;
                    state = if starts_middle { AlignState::Shifted } else { AlignState::Straight };
                } else {
                    out.top = bits::<2>(3);
                }
            }
            _ => {
                out.data = bit_cast::<128, 64>(self.upper.q.val());
                out.top = (false, self.tail_two.q.val()).cat::<2>();
                out.first = false;
                out.last = true;
                taken = false;
                given = true;
                goes_on = false;
                state = AlignState::Straight;
            }
        }

        let room = self.output.write.ready.val();
        self.rx.tready.next = room & (taken | !self.rx.tvalid.val());
        self.output.write.offer(given, out);
        if room & (given | taken) {
            self.state.d.next = state;
            self.under_way.d.next = goes_on;
        }
        if room & taken {
            self.upper.d.next = data.get_bits::<64>(64);
            self.upper_first.d.next = starts_middle;
            self.upper_bars.d.next = bars;
            self.tail_two.d.next = ends_odd;
        }
        self.output.read.join(&mut self.beat);
    }
}
