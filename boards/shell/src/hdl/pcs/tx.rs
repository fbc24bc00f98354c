//! Transmit side of the PCS.

use super::tx_word::{Half, Kind, Lanes, Layout, State};
use super::types::{block, error_block, reverse_2, reverse_64, CHARACTERS, CODES, CONTROL_HEADER, DATA_HEADER, SIGNAL};
use super::Gearbox;
use crate::hdl::mac64::character::{ERROR, SEQUENCE, START, TERMINATE};
use crate::hdl::mac64::XgmiiSink;
use spindle_verilog::prelude::*;

/// Transmit: words of an XGMII become scrambled blocks.
///
/// | ports | neighbour |
/// |---|---|
/// | in `xgmii`, out `enable` | MAC: a word is taken in every cycle with `enable` |
/// | out `data`, `header`, `gearbox_place` | transceiver |
///
/// **Rate.** With the gearbox [`Asynchronous`](Gearbox::Asynchronous) a block in every cycle, and `enable` is 1. With
/// [`Sequenced`](Gearbox::Sequenced) 32 in 33 cycles: `enable` is low in the cycle before the one in which `gearbox_place` is 32.
///
/// **Latency.** 5 enabled cycles from `xgmii` to `data`: lanes, halves, layout, state and payload, scrambler.
///
/// **State diagram.** That of figure 49-16: a word that is no block, or a block out of turn, becomes a block of errors.
///
/// **Paths.** At most 4 levels of logic (yosys, UltraScale+ and 7 series).
#[block(no_default)]
pub struct PcsTx {
    /// From the MAC.
    pub xgmii: XgmiiSink,
    /// A word is taken in this cycle.
    pub enable: Signal<Out, Bit>,
    /// Payload of a block.
    pub data: Signal<Out, Bits<64>>,
    /// Its header.
    pub header: Signal<Out, Bits<2>>,
    /// Place in the gearbox's round.
    pub gearbox_place: Signal<Out, Bits<7>>,
    bytes: [DFF<Bits<64>>; 3],
    lanes: DFF<Lanes>,
    halves: [DFF<Half>; 2],
    /// A block with its end in this lane.
    ends: DFF<Bits<8>>,
    codes: DFF<Bits<56>>,
    kind: Reg<Kind>,
    layout: DFF<Layout>,
    state: Reg<State>,
    payload: DFF<Bits<64>>,
    is_data: Reg<Bit>,
    is_error: Reg<Bit>,
    /// The last scrambled payload, which is the scrambler's state.
    scrambled: Reg<Bits<64>>,
    out_header: Reg<Bits<2>>,
    place: Reg<Bits<6>>,
    advance: Reg<Bit>,
    _sequenced: bool,
    _reversed: bool,
}

impl PcsTx {
    /// For a gearbox; `reversed` sends bit 63 first.
    pub fn new(gearbox: Gearbox, reversed: bool) -> Self {
        Self {
            scrambled: Reg::new(bits::<64>(u64::MAX)),
            out_header: Reg::new(bits::<2>(CONTROL_HEADER)),
            is_error: Reg::new(true),
            _sequenced: gearbox == Gearbox::Sequenced,
            _reversed: reversed,
            ..Self::blank()
        }
    }
}

impl Default for PcsTx {
    /// For a GTY with its asynchronous gearbox.
    fn default() -> Self {
        Self::new(Gearbox::Asynchronous, true)
    }
}

/// The code of a control character.
#[hdl_fn]
fn code_of(octet: Bits<8>) -> Bits<7> {
    let mut code: Bits<7> = bits::<7>(0);
    for i in 1..8 {
        if octet == bits::<8>(CHARACTERS[i]) {
            code = code | bits::<7>(CODES[i]);
        }
    }
    code
}

#[hdl]
impl PcsTx {
    fn update(&mut self) {
        if self._sequenced {
            let place = self.place.q.val();
            self.place.d.next = if place.get_bit(5) { bits::<6>(0) } else { place + 1 };
            // The next word would stand in cycle 32.
            self.advance.d.next = place != 30;
        } else {
            self.advance.d.next = true;
        }
        if self.advance.q.val() {
            self.look();
            self.sort();
            self.lay_out();
            self.decide();
            self.scramble();
        }
        self.enable.next = self.advance.q.val();
        self.gearbox_place.next = zext::<7, 6>(self.place.q.val());
        if self._reversed {
            self.data.next = reverse_64(self.scrambled.q.val());
            self.header.next = reverse_2(self.out_header.q.val());
        } else {
            self.data.next = self.scrambled.q.val();
            self.header.next = self.out_header.q.val();
        }
    }

    /// What each lane has.
    fn look(&mut self) {
        let control = self.xgmii.control.val();
        let mut lanes: Lanes = Lanes {
            data: !control,
            character: bits::<8>(0),
            error: bits::<8>(0),
            start: bits::<8>(0),
            terminate: bits::<8>(0),
            ordered: bits::<8>(0),
        };
        for i in 0..8 {
            let octet = self.xgmii.data.val().get_bits::<8>(8 * i);
            let mut known: Bit = false;
            for k in 0..8 {
                known = known | (octet == bits::<8>(CHARACTERS[k]));
            }
            let is_control = control.get_bit(i);
            lanes.character = lanes.character.replace_bit(i, is_control & known);
            lanes.error = lanes.error.replace_bit(i, is_control & (octet == bits::<8>(ERROR)));
            lanes.start = lanes.start.replace_bit(i, is_control & (octet == bits::<8>(START)));
            lanes.terminate = lanes.terminate.replace_bit(i, is_control & (octet == bits::<8>(TERMINATE)));
            let set = (octet == bits::<8>(SEQUENCE)) | (octet == bits::<8>(SIGNAL));
            lanes.ordered = lanes.ordered.replace_bit(i, is_control & set);
        }
        self.bytes[0].d.next = self.xgmii.data.val();
        self.lanes.d.next = lanes;
    }

    /// What each half is, and whether the block has an end.
    fn sort(&mut self) {
        let lanes = self.lanes.q.val();
        self.bytes[1].d.next = self.bytes[0].q.val();
        for h in 0..2 {
            let rest = lanes.data.get_bits::<3>(4 * h + 1).all();
            let ordered = lanes.ordered.get_bit(4 * h) & rest;
            self.halves[h].d.next = Half {
                data: lanes.data.get_bits::<4>(4 * h).all(),
                characters: lanes.character.get_bits::<4>(4 * h).all(),
                errors: lanes.error.get_bits::<4>(4 * h).any(),
                ordered,
                signal: ordered & self.bytes[0].q.val().get_bit(32 * h + 6),
                start: lanes.start.get_bit(4 * h) & rest,
            };
        }
        let mut ends: Bits<8> = bits::<8>(0);
        for i in 0..8 {
            let mut fits: Bit = lanes.terminate.get_bit(i);
            for k in 0..8 {
                if k < i {
                    fits = fits & lanes.data.get_bit(k);
                } else if k > i {
                    fits = fits & lanes.character.get_bit(k);
                }
            }
            ends = ends.replace_bit(i, fits);
        }
        self.ends.d.next = ends;
    }

    /// Which block it is.
    fn lay_out(&mut self) {
        let low = self.halves[0].q.val();
        let high = self.halves[1].q.val();
        let ends = self.ends.q.val();
        let terminates = ends.any();
        let quiet = low.characters | low.ordered;
        // Errors may stand beside an ordered set, a start or an end, but not in a block of eight characters.
        let refused = low.characters & high.characters & (low.errors | high.errors);
        self.kind.d.next = Kind {
            control: quiet & (high.characters | high.ordered) & !refused,
            start: (low.start & high.data) | (quiet & high.start),
            data: low.data & high.data,
            terminate: terminates,
        };
        let bytes = self.bytes[1].q.val();
        let mut first: Bits<8> = bits::<8>(0);
        if low.data & high.data {
            first = bytes.get_bits::<8>(0);
        }
        if low.characters & high.characters {
            first = first | bits::<8>(block::CONTROL);
        }
        if low.characters & high.ordered {
            first = first | bits::<8>(block::CONTROL_ORDERED);
        }
        if low.characters & high.start {
            first = first | bits::<8>(block::CONTROL_START);
        }
        if low.ordered & high.start {
            first = first | bits::<8>(block::ORDERED_START);
        }
        if low.ordered & high.ordered {
            first = first | bits::<8>(block::ORDERED_ORDERED);
        }
        if low.start & high.data {
            first = first | bits::<8>(block::START);
        }
        if low.ordered & high.characters {
            first = first | bits::<8>(block::ORDERED_CONTROL);
        }
        for i in 0..8 {
            if ends.get_bit(i) {
                first = first | bits::<8>(block::TERMINATE[i]);
            }
        }
        let direct_low = !terminates & (low.data | low.start | low.ordered);
        let direct_high = !terminates & (high.data | high.start | high.ordered);
        let mut moved: Bits<8> = bits::<8>(0);
        let mut coded: Bits<8> = bits::<8>(0);
        let mut codes: Bits<56> = bits::<56>(0u64);
        for i in 0..8 {
            let mut later: Bit = false;
            let mut earlier: Bit = false;
            for k in 0..8 {
                if k >= i {
                    later = later | ends.get_bit(k);
                } else {
                    earlier = earlier | ends.get_bit(k);
                }
            }
            moved = moved.replace_bit(i, later);
            let characters = if i < 4 { low.characters } else { high.characters };
            coded = coded.replace_bit(i, characters | earlier);
            codes = codes | (zext::<56, 7>(code_of(bytes.get_bits::<8>(8 * i))) << bits::<6>(7 * i));
        }
        self.layout.d.next = Layout {
            first,
            direct: (repeat::<3>(direct_high), high.data & !terminates, repeat::<3>(direct_low), false).cat::<8>(),
            moved,
            codes: coded,
            signal_low: low.signal,
            signal_high: high.signal,
        };
        self.codes.d.next = codes;
        self.bytes[2].d.next = bytes;
    }

    /// The state diagram, and the payload if the block is in turn.
    fn decide(&mut self) {
        let kind = self.kind.q.val();
        let mut in_turn: Bit = kind.control | kind.start;
        match self.state.q.val() {
            State::Between => {}
            State::Inside => {
                in_turn = kind.data | kind.terminate;
            }
            State::Broken => {
                in_turn = kind.control | kind.data | kind.terminate;
            }
        }
        self.state.d.next = if !in_turn {
            State::Broken
        } else if kind.start | kind.data {
            State::Inside
        } else {
            State::Between
        };
        self.is_error.d.next = !in_turn;
        self.is_data.d.next = kind.data;

        let layout = self.layout.q.val();
        let bytes = self.bytes[2].q.val();
        let coded = self.codes.q.val();
        let mut payload: Bits<64> = zext::<64, 8>(layout.first);
        for i in 1..8 {
            let own = bytes.get_bits::<8>(8 * i) & repeat::<8>(layout.direct.get_bit(i));
            let earlier = bytes.get_bits::<8>(8 * i - 8) & repeat::<8>(layout.moved.get_bit(i));
            payload = payload | (zext::<64, 8>(own | earlier) << bits::<6>(8 * i));
        }
        for i in 0..8 {
            let code = coded.get_bits::<7>(7 * i) & repeat::<7>(layout.codes.get_bit(i));
            payload = payload | (zext::<64, 7>(code) << bits::<6>(7 * i + 8));
        }
        let signals = (repeat::<4>(layout.signal_high), repeat::<4>(layout.signal_low)).cat::<8>();
        self.payload.d.next = payload | (zext::<64, 8>(signals) << bits::<6>(32));
    }

    /// x^58 + x^39 + 1, over 64 bits.
    fn scramble(&mut self) {
        let error = self.is_error.q.val();
        let plain = if error { bits::<64>(ERROR_BLOCK) } else { self.payload.q.val() };
        let old = self.scrambled.q.val();
        let low = plain.get_bits::<39>(0) ^ old.get_bits::<39>(25) ^ old.get_bits::<39>(6);
        let middle = plain.get_bits::<19>(39) ^ low.get_bits::<19>(0) ^ old.get_bits::<19>(45);
        let high = plain.get_bits::<6>(58) ^ low.get_bits::<6>(19) ^ low.get_bits::<6>(0);
        self.scrambled.d.next = (high, middle, low).cat::<64>();
        let data = self.is_data.q.val() & !error;
        self.out_header.d.next = if data { bits::<2>(DATA_HEADER) } else { bits::<2>(CONTROL_HEADER) };
    }
}

const ERROR_BLOCK: u64 = error_block();
