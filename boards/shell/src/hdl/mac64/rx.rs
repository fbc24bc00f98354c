//! Receive side of the MAC.

use super::character::{DELIMITER, START, TERMINATE};
use super::crc::{advance_8, residue_after, word_sum};
use super::rx_word::{Leaving, Marks, Word};
use super::{byte_count, XgmiiSink};
use crate::hdl::width::RxPartSource;
use spindle_verilog::prelude::*;

/// Full words of the shortest frame, with its FCS: 64 bytes.
const SHORTEST_WORDS: u64 = 8;

/// How a frame ended, one pulse of one cycle for each frame. A bad frame is counted under the first of `code`, `long`,
/// `runt` and `fcs` that holds.
#[derive(LogicStruct, Copy, Clone, Debug, Default, PartialEq)]
pub struct RxEvents {
    /// The frame is good.
    pub good: Bit,
    /// The FCS is wrong.
    pub fcs: Bit,
    /// Fewer than 64 bytes with the FCS.
    pub runt: Bit,
    /// More bytes than the receiver takes.
    pub long: Bit,
    /// A control character other than the end inside the frame.
    pub code: Bit,
    /// A start without a start delimiter; not a frame.
    pub start: Bit,
}

/// Receive: characters of an XGMII become frames without preamble and FCS.
///
/// | ports | neighbour |
/// |---|---|
/// | in `xgmii`, `enable` | PCS: a word in every enabled cycle; while it is low nothing moves |
/// | out `frames` (no ready) | [`Widen`](crate::hdl::width::Widen) |
/// | out `events` | counters |
///
/// **Rate.** One word in every enabled cycle, and any gap from five characters with the end on, the shortest that a receiver
/// meets (46.2.1). An end and a start in one word, which clause 49 cannot encode, end the frame as bad.
///
/// **Latency.** The first byte of a frame stands on `frames` 10 enabled cycles after the cycle in which it stands on
/// `xgmii`, in whichever lane the frame starts: input 2, alignment 1, marks 1, look ahead 2, CRC 3, output 1. The last
/// four bytes of a frame are its FCS and do not leave, so each word waits for the next one.
///
/// **Bad frames.** `frames_user` is high with `frames_last` for a frame with a wrong FCS, fewer than 64 bytes, more than
/// `longest` bytes (FCS included, a multiple of 8), or a control character before its end. A frame of fewer than 13 bytes
/// may leave no beat. A frame that is too long is cut off at `longest` bytes or less. A start that no start delimiter
/// follows is not a frame; what follows is ignored up to the next start. A start inside a frame ends that frame as bad.
///
/// **Paths.** At most 5 levels of logic (yosys, UltraScale+ and 7 series): the carry of the count of words.
#[block(no_default)]
pub struct MacRx {
    /// From the PCS.
    pub xgmii: XgmiiSink,
    /// There is a word in this cycle.
    pub enable: Signal<In, Bit>,
    /// Frames.
    pub frames: RxPartSource,
    /// How frames ended.
    pub events: Signal<Out, RxEvents>,
    // Input, and the word before it.
    data: [DFF<Bits<64>>; 2],
    marks: [Reg<Marks>; 2],
    start: Reg<Bits<2>>,
    shift: Reg<Bit>,
    begins: Reg<Bit>,
    // Aligned.
    aligned: DFF<Bits<64>>,
    aligned_marks: Reg<Marks>,
    aligned_start: Reg<Bit>,
    // Marked.
    bytes: DFF<Bits<64>>,
    word: Reg<Word>,
    // Frames.
    in_frame: Reg<Bit>,
    first: Reg<Bit>,
    words: Reg<Bits<11>>,
    enough: Reg<Bit>,
    at_limit: Reg<Bit>,
    /// The word that waits is one of the frame.
    held: Reg<Bit>,
    /// The word that waits is the last one, and its bytes.
    rest: Reg<Bit>,
    rest_keep: Reg<Bits<8>>,
    rest_runt: Reg<Bit>,
    waiting: DFF<Bits<64>>,
    leaving: [Reg<Leaving>; 4],
    leaving_data: [DFF<Bits<64>>; 4],
    // CRC.
    sum: DFF<Bits<32>>,
    sum_first: Reg<Bit>,
    crc: DFF<Bits<32>>,
    ending: [Reg<Bit>; 3],
    ending_bytes: [DFF<Bits<3>>; 2],
    differs: DFF<Bits<8>>,
    intact: Reg<Bit>,
    out_data: DFF<Bits<64>>,
    out: Reg<Leaving>,
    bad: Reg<Bit>,
    ended: Reg<RxEvents>,
    _last_word: u64,
}

impl MacRx {
    /// A receiver of frames of at most `longest` bytes, FCS included: a multiple of 8.
    pub fn new(longest: usize) -> Self {
        assert!(
            longest.is_multiple_of(8) && (64..=16_376).contains(&longest),
            "MacRx: the longest frame has a multiple of 8 bytes, 64 to 16,376, not {longest}; choose another length"
        );
        let none = Marks { control: bits::<8>(0xFF), terminate: bits::<8>(0) };
        Self {
            marks: [Reg::new(none), Reg::new(none)],
            aligned_marks: Reg::new(none),
            _last_word: longest as u64 / 8 - 1,
            ..Self::blank()
        }
    }
}

impl Default for MacRx {
    /// Frames of up to 9,600 bytes, as the vendor's 100G MAC is configured.
    fn default() -> Self {
        Self::new(9_600)
    }
}

#[hdl]
impl MacRx {
    fn update(&mut self) {
        self.out.d.next = Leaving {
            valid: false,
            last: false,
            keep: bits::<8>(0),
            ended: false,
            runt: false,
            long: false,
            code: false,
            start: false,
        };
        self.ended.d.next = RxEvents { good: false, fcs: false, runt: false, long: false, code: false, start: false };
        if self.enable.val() {
            self.align();
            self.mark();
            self.frame();
            self.check_sequence();
            self.leave();
        }
        self.frames.data.next = self.out_data.q.val();
        self.frames.keep.next = self.out.q.val().keep;
        self.frames.last.next = self.out.q.val().last;
        self.frames.user.next = self.bad.q.val();
        self.frames.valid.next = self.out.q.val().valid;
        self.events.next = self.ended.q.val();
    }

    /// Moves frames that start in lane 4 to lane 0: half of a word and half of the next one.
    fn align(&mut self) {
        let data = self.xgmii.data.val();
        let control = self.xgmii.control.val();
        let mut terminate: Bits<8> = bits::<8>(0);
        for i in 0..8 {
            let terminates = control.get_bit(i) & (data.get_bits::<8>(8 * i) == bits::<8>(TERMINATE));
            terminate = terminate.replace_bit(i, terminates);
        }
        self.data[0].d.next = data;
        self.marks[0].d.next = Marks { control, terminate };
        let low = control.get_bit(0) & (data.get_bits::<8>(0) == bits::<8>(START));
        let high = control.get_bit(4) & (data.get_bits::<8>(32) == bits::<8>(START));
        self.start.d.next = (high, low).cat::<2>();

        self.data[1].d.next = self.data[0].q.val();
        self.marks[1].d.next = self.marks[0].q.val();
        let start = self.start.q.val();
        self.begins.d.next = start != 0;
        if start != 0 {
            self.shift.d.next = start.get_bit(1);
        }

        let older = self.data[1].q.val();
        let newer = self.data[0].q.val();
        let older_marks = self.marks[1].q.val();
        let newer_marks = self.marks[0].q.val();
        self.aligned_start.d.next = self.begins.q.val();
        if self.shift.q.val() {
            self.aligned.d.next = (newer.get_bits::<32>(0), older.get_bits::<32>(32)).cat::<64>();
            self.aligned_marks.d.next = Marks {
                control: (newer_marks.control.get_bits::<4>(0), older_marks.control.get_bits::<4>(4)).cat::<8>(),
                terminate: (newer_marks.terminate.get_bits::<4>(0), older_marks.terminate.get_bits::<4>(4)).cat::<8>(),
            };
        } else {
            self.aligned.d.next = older;
            self.aligned_marks.d.next = older_marks;
        }
    }

    /// Finds the first control character of a word.
    fn mark(&mut self) {
        let marks = self.aligned_marks.q.val();
        let data = self.aligned.q.val();
        let mut open: Bit = true;
        let mut ended: Bit = false;
        let mut lanes: Bits<8> = bits::<8>(0);
        for i in 0..8 {
            ended = ended | (open & marks.terminate.get_bit(i));
            open = open & !marks.control.get_bit(i);
            lanes = lanes.replace_bit(i, open);
        }
        self.bytes.d.next = data;
        self.word.d.next = Word {
            start: self.aligned_start.q.val(),
            delimiter: (marks.control == 1) & (data.get_bits::<8>(56) == bits::<8>(DELIMITER)),
            lanes,
            full: open,
            ends: ended,
            bytes: byte_count(lanes),
        };
    }

    /// Begins and ends frames. The word before this one waits: whether it is the last one, and how much of it, is known
    /// now.
    fn frame(&mut self) {
        let word = self.word.q.val();
        let in_frame = self.in_frame.q.val();
        let more = in_frame & word.full;
        let over = self.at_limit.q.val() & word.lanes.get_bit(0);
        let ends = word.ends & !over;
        // More than the FCS is in this word: the beat after the waiting one is the last.
        let late = word.lanes.get_bit(4);
        let finish = in_frame & (over | !word.full);
        let rest = in_frame & ends & late;

        let words = self.words.q.val();
        if more {
            self.words.d.next = words + 1;
            self.first.d.next = false;
            self.enough.d.next = self.enough.q.val() | (words == (SHORTEST_WORDS - 1));
            self.at_limit.d.next = words == bits::<11>(self._last_word);
        }
        self.held.d.next = more & !over;
        if finish {
            self.in_frame.d.next = false;
        }
        if word.start {
            self.in_frame.d.next = word.delimiter;
            self.first.d.next = true;
            self.words.d.next = bits::<11>(0);
            self.enough.d.next = false;
            self.at_limit.d.next = false;
        }

        self.rest.d.next = rest;
        self.rest_keep.d.next = zext::<8, 4>(word.lanes.get_bits::<4>(4));
        self.rest_runt.d.next = !self.enough.q.val();
        self.waiting.d.next = self.bytes.q.val();
        self.leaving_data[0].d.next = self.waiting.q.val();
        let code = !word.full & !word.ends;
        if self.rest.q.val() {
            self.leaving[0].d.next = Leaving {
                valid: true,
                last: true,
                keep: self.rest_keep.q.val(),
                ended: true,
                runt: self.rest_runt.q.val(),
                long: false,
                code: false,
                start: word.start & !word.delimiter,
            };
        } else {
            self.leaving[0].d.next = Leaving {
                valid: in_frame & self.held.q.val(),
                last: finish & !rest,
                keep: if ends & !late {
                    (word.lanes.get_bits::<4>(0), bits::<4>(0xF)).cat::<8>()
                } else {
                    bits::<8>(0xFF)
                },
                ended: finish & !rest,
                runt: ends & !self.enough.q.val(),
                long: over & !code,
                code,
                start: word.start & !word.delimiter,
            };
        }
    }

    /// Compares the CRC, four cycles after the end, with that of a good frame.
    fn check_sequence(&mut self) {
        let word = self.word.q.val();
        let masked = self.bytes.q.val() & byte_mask::<64, 8>(word.lanes);
        let ones = bits::<64>(0xFFFF_FFFFu64);
        self.sum.d.next = word_sum(if self.first.q.val() { masked ^ ones } else { masked });
        self.sum_first.d.next = self.first.q.val();
        self.ending[0].d.next = self.in_frame.q.val() & word.ends;
        self.ending_bytes[0].d.next = word.bytes;

        let carried = if self.sum_first.q.val() { bits::<32>(0) } else { advance_8(self.crc.q.val()) };
        self.crc.d.next = self.sum.q.val() ^ carried;
        self.ending[1].d.next = self.ending[0].q.val();
        self.ending_bytes[1].d.next = self.ending_bytes[0].q.val();

        let difference = self.crc.q.val() ^ residue_after(self.ending_bytes[1].q.val());
        let mut differs: Bits<8> = bits::<8>(0);
        for i in 0..8 {
            differs = differs.replace_bit(i, difference.get_bits::<4>(4 * i).any());
        }
        self.differs.d.next = differs;
        self.ending[2].d.next = self.ending[1].q.val();
        if self.ending[2].q.val() {
            self.intact.d.next = !self.differs.q.val().any();
        }
    }

    /// Judges frames.
    fn leave(&mut self) {
        for i in 1..4 {
            self.leaving[i].d.next = self.leaving[i - 1].q.val();
            self.leaving_data[i].d.next = self.leaving_data[i - 1].q.val();
        }
        let beat = self.leaving[3].q.val();
        let intact = self.intact.q.val();
        let misshapen = beat.code | beat.long | beat.runt;
        self.out.d.next = beat;
        self.out_data.d.next = self.leaving_data[3].q.val();
        self.bad.d.next = beat.last & (misshapen | !intact);
        self.ended.d.next = RxEvents {
            good: beat.ended & !misshapen & intact,
            fcs: beat.ended & !misshapen & !intact,
            runt: beat.ended & beat.runt & !beat.code & !beat.long,
            long: beat.ended & beat.long & !beat.code,
            code: beat.ended & beat.code,
            start: beat.start,
        };
    }
}
