//! Receive side of the PCS.

use super::rx_block::{Fields, Kind, Layout, State};
use super::types::{block, reverse_2, reverse_64, CHARACTERS, CODES, CONTROL_HEADER, DATA_HEADER, ERROR_CODE, SIGNAL};
use super::{BitErrors, BlockLock, Rate};
use crate::hdl::mac64::character::{ERRORS, FAULT_CONTROL, LOCAL_FAULTS, SEQUENCE, START, TERMINATE};
use crate::hdl::mac64::XgmiiSource;
use spindle_verilog::prelude::*;

/// The state of the link, as the PCS sees it.
#[derive(LogicStruct, Copy, Clone, Debug, Default, PartialEq)]
pub struct PcsStatus {
    /// Blocks are found.
    pub locked: Bit,
    /// Too many headers are invalid.
    pub high_errors: Bit,
    /// `locked` without `high_errors`: what arrives is handed on.
    pub up: Bit,
}

/// Receive: blocks become words of an XGMII.
///
/// | ports | neighbour |
/// |---|---|
/// | in `data`, `header`, `valid`, out `slip` | transceiver; `slip` moves its blocks by one bit |
/// | out `xgmii`, `enable` | MAC: there is a word in every cycle with `enable` |
/// | out `status`, `bad_header`, `bad_block` | registers of the shell; the last two are pulses |
///
/// **Rate.** A block in every cycle with `valid`.
///
/// **Latency.** 6 cycles from `data` to `xgmii` if `valid` stays high: input, descrambler, fields, kind, characters, word. The
/// word of a block with an end waits for the kind of the next block, as figure 49-17 has it.
///
/// **State diagram.** That of figure 49-17: a block that is none, or is out of turn, becomes eight error characters, also an end
/// that is followed by neither a control block nor a start. Without block lock, and with too many invalid headers
/// ([`BitErrors`]), the word is local fault.
///
/// **Paths.** At most 5 levels of logic (yosys, UltraScale+ and 7 series).
#[block(no_default)]
pub struct PcsRx {
    /// Payload of a block.
    pub data: Signal<In, Bits<64>>,
    /// Its header.
    pub header: Signal<In, Bits<2>>,
    /// There is a block.
    pub valid: Signal<In, Bit>,
    /// Move by one bit.
    pub slip: Signal<Out, Bit>,
    /// To the MAC.
    pub xgmii: XgmiiSource,
    /// There is a word.
    pub enable: Signal<Out, Bit>,
    /// State of the link.
    pub status: Signal<Out, PcsStatus>,
    /// An invalid header came while blocks are found.
    pub bad_header: Signal<Out, Bit>,
    /// A word became error characters.
    pub bad_block: Signal<Out, Bit>,
    lock: BlockLock,
    errors: BitErrors,
    came: Reg<Bit>,
    scrambled: [DFF<Bits<64>>; 2],
    headers: [Reg<Bits<2>>; 2],
    plain: DFF<Bits<64>>,
    payload: [DFF<Bits<64>>; 3],
    fields: Reg<Fields>,
    kinds: [Reg<Kind>; 2],
    layouts: [DFF<Layout>; 2],
    /// Of the block in `payload[1]`: which lanes have a start, an end or an ordered set.
    starts: Reg<Bits<2>>,
    ordered: Reg<Bits<2>>,
    ends: Reg<Bits<8>>,
    characters: DFF<Bits<64>>,
    state: Reg<State>,
    up: Reg<Bit>,
    word: Reg<Bits<64>>,
    word_control: Reg<Bits<8>>,
    moves: Reg<Bit>,
    bad: Reg<Bit>,
    invalid: Reg<Bit>,
    _reversed: bool,
}

impl PcsRx {
    /// For a line's rate; `reversed` takes bit 63 for the first.
    pub fn new(rate: Rate, reversed: bool) -> Self {
        Self::with_parts(BlockLock::default(), BitErrors::new(rate.window(), rate.limit()), reversed)
    }

    /// With a block lock and a count of errors of one's own.
    pub fn with_parts(lock: BlockLock, errors: BitErrors, reversed: bool) -> Self {
        Self {
            lock,
            errors,
            word: Reg::new(bits::<64>(LOCAL_FAULTS)),
            word_control: Reg::new(bits::<8>(FAULT_CONTROL)),
            _reversed: reversed,
            ..Self::blank()
        }
    }
}

impl Default for PcsRx {
    /// 10GBASE-R with a GTY.
    fn default() -> Self {
        Self::new(Rate::Ten, true)
    }
}

/// The control character of a code.
#[hdl_fn]
fn character_of(code: Bits<7>) -> Bits<8> {
    let mut character: Bits<8> = bits::<8>(0);
    for i in 0..8 {
        if code == bits::<7>(CODES[i]) {
            character = character | bits::<8>(CHARACTERS[i]);
        }
    }
    character
}

/// There is a control character of this code.
#[hdl_fn]
fn is_code(code: Bits<7>) -> Bit {
    let mut known: Bit = false;
    for i in 0..8 {
        known = known | (code == bits::<7>(CODES[i]));
    }
    known
}

#[hdl]
impl PcsRx {
    fn update(&mut self) {
        if self._reversed {
            self.scrambled[0].d.next = reverse_64(self.data.val());
            self.headers[0].d.next = reverse_2(self.header.val());
        } else {
            self.scrambled[0].d.next = self.data.val();
            self.headers[0].d.next = self.header.val();
        }
        self.came.d.next = self.valid.val();
        let came = self.came.q.val();
        let good = self.headers[0].q.val().xor();
        self.lock.valid.next = came;
        self.lock.good.next = good;
        self.errors.valid.next = came;
        self.errors.good.next = good;
        self.errors.locked.next = self.lock.locked.val();
        self.up.d.next = self.lock.locked.val() & !self.errors.high.val();
        self.invalid.d.next = came & !good & self.lock.locked.val();
        self.moves.d.next = came;
        self.bad.d.next = false;
        if came {
            self.descramble();
            self.look();
            self.sort();
            self.spell();
            self.decide();
        }
        self.slip.next = self.lock.slip.val();
        self.xgmii.data.next = self.word.q.val();
        self.xgmii.control.next = self.word_control.q.val();
        self.enable.next = self.moves.q.val();
        self.bad_header.next = self.invalid.q.val();
        self.bad_block.next = self.bad.q.val();
        self.status.next =
            PcsStatus { locked: self.lock.locked.val(), high_errors: self.errors.high.val(), up: self.up.q.val() };
    }

    /// x^58 + x^39 + 1.
    fn descramble(&mut self) {
        let now = self.scrambled[0].q.val();
        let all = (now, self.scrambled[1].q.val()).cat::<128>();
        self.scrambled[1].d.next = now;
        self.plain.d.next = now ^ all.get_bits::<64>(25) ^ all.get_bits::<64>(6);
        self.headers[1].d.next = self.headers[0].q.val();
    }

    /// The fields of a block.
    fn look(&mut self) {
        let plain = self.plain.q.val();
        let header = self.headers[1].q.val();
        let control = header == bits::<2>(CONTROL_HEADER);
        let kind = plain.get_bits::<8>(0);
        let mut ends: Bits<8> = bits::<8>(0);
        let mut codes: Bits<8> = bits::<8>(0);
        let mut errors: Bits<8> = bits::<8>(0);
        for i in 0..8 {
            ends = ends.replace_bit(i, control & (kind == bits::<8>(block::TERMINATE[i])));
            let code = plain.get_bits::<7>(8 + 7 * i);
            codes = codes.replace_bit(i, is_code(code));
            errors = errors.replace_bit(i, code == bits::<7>(ERROR_CODE));
        }
        let low = plain.get_bits::<4>(32);
        let high = plain.get_bits::<4>(36);
        self.fields.d.next = Fields {
            data: header == bits::<2>(DATA_HEADER),
            control: control & (kind == bits::<8>(block::CONTROL)),
            control_ordered: control & (kind == bits::<8>(block::CONTROL_ORDERED)),
            control_start: control & (kind == bits::<8>(block::CONTROL_START)),
            ordered_start: control & (kind == bits::<8>(block::ORDERED_START)),
            ordered_ordered: control & (kind == bits::<8>(block::ORDERED_ORDERED)),
            start: control & (kind == bits::<8>(block::START)),
            ordered_control: control & (kind == bits::<8>(block::ORDERED_CONTROL)),
            ends,
            codes,
            error: errors.any(),
            ordered_low: low.all() | !low.any(),
            ordered_high: high.all() | !high.any(),
        };
        self.payload[0].d.next = plain;
    }

    /// What the block is, and where its bytes are.
    fn sort(&mut self) {
        let f = self.fields.q.val();
        let codes_low = f.codes.get_bits::<4>(0).all();
        let codes_high = f.codes.get_bits::<4>(4).all();
        // Errors may stand beside an ordered set, a start or an end, but not in a block of eight characters.
        let control = (f.control & codes_low & codes_high & !f.error)
            | (f.control_ordered & codes_low & f.ordered_high)
            | (f.ordered_control & f.ordered_low & codes_high)
            | (f.ordered_ordered & f.ordered_low & f.ordered_high);
        let start = (f.control_start & codes_low) | (f.ordered_start & f.ordered_low) | f.start;
        let mut terminate: Bit = false;
        let mut moved: Bits<8> = bits::<8>(0);
        for i in 0..8 {
            let mut fits: Bit = f.ends.get_bit(i);
            let mut later: Bit = false;
            for k in 0..8 {
                if k > i {
                    fits = fits & f.codes.get_bit(k);
                    later = later | f.ends.get_bit(k);
                }
            }
            terminate = terminate | fits;
            moved = moved.replace_bit(i, later);
        }
        self.kinds[0].d.next = Kind { control, start, data: f.data, terminate };
        let low = f.data | f.start | f.ordered_start | f.ordered_ordered | f.ordered_control;
        let high = f.data | f.start | f.control_ordered | f.control_start | f.ordered_start | f.ordered_ordered;
        self.layouts[0].d.next =
            Layout { direct: (repeat::<3>(high), f.data | f.start, repeat::<3>(low), f.data).cat::<8>(), moved };
        self.starts.d.next = (f.control_start | f.ordered_start, f.start).cat::<2>();
        self.ordered.d.next =
            (f.control_ordered | f.ordered_ordered, f.ordered_control | f.ordered_ordered | f.ordered_start).cat::<2>();
        self.ends.d.next = f.ends;
        self.payload[1].d.next = self.payload[0].q.val();
    }

    /// The control character that each lane has if it has one.
    fn spell(&mut self) {
        let payload = self.payload[1].q.val();
        let ends = self.ends.q.val();
        let starts = self.starts.q.val();
        let ordered = self.ordered.q.val();
        let mut characters: Bits<64> = bits::<64>(0u64);
        for i in 0..8 {
            let mut character: Bits<8> = character_of(payload.get_bits::<7>(8 + 7 * i));
            if i % 4 == 0 {
                if ordered.get_bit(i / 4) {
                    let signal = payload.get_bit(32 + i);
                    character = if signal { bits::<8>(SIGNAL) } else { bits::<8>(SEQUENCE) };
                } else if starts.get_bit(i / 4) {
                    character = bits::<8>(START);
                }
            }
            if ends.get_bit(i) {
                character = bits::<8>(TERMINATE);
            }
            characters = characters | (zext::<64, 8>(character) << bits::<6>(8 * i));
        }
        self.characters.d.next = characters;
        self.payload[2].d.next = payload;
        self.layouts[1].d.next = self.layouts[0].q.val();
        self.kinds[1].d.next = self.kinds[0].q.val();
    }

    /// The state diagram, and the word.
    fn decide(&mut self) {
        let kind = self.kinds[1].q.val();
        let follows = self.kinds[0].q.val();
        let ends = kind.terminate & (follows.start | follows.control);
        let mut in_turn: Bit = kind.control | kind.start;
        match self.state.q.val() {
            State::Between => {}
            State::Inside => {
                in_turn = kind.data | ends;
            }
            State::Broken => {
                in_turn = kind.control | kind.data | ends;
            }
        }
        let layout = self.layouts[1].q.val();
        let payload = self.payload[2].q.val();
        let mut word: Bits<64> = self.characters.q.val();
        for i in 0..8 {
            let own = payload.get_bits::<8>(8 * i);
            let next = if i < 7 { payload.get_bits::<8>(8 * ((i + 1) % 8)) } else { bits::<8>(0) };
            let octet = if layout.direct.get_bit(i) { own } else { next };
            if layout.direct.get_bit(i) | layout.moved.get_bit(i) {
                let hole = bits::<64>(0xFFu64) << bits::<6>(8 * i);
                word = (word & !hole) | (zext::<64, 8>(octet) << bits::<6>(8 * i));
            }
        }
        if !self.up.q.val() {
            self.state.d.next = State::Between;
            self.word.d.next = bits::<64>(LOCAL_FAULTS);
            self.word_control.d.next = bits::<8>(FAULT_CONTROL);
        } else if in_turn {
            self.state.d.next = if kind.start | kind.data { State::Inside } else { State::Between };
            self.word.d.next = word;
            self.word_control.d.next = !(layout.direct | layout.moved);
        } else {
            self.state.d.next = State::Broken;
            self.word.d.next = bits::<64>(ERRORS);
            self.word_control.d.next = bits::<8>(0xFF);
            self.bad.d.next = true;
        }
    }
}
