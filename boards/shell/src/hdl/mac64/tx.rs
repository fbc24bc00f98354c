//! Transmit side of the MAC.

use super::character::{ERRORS, FAULT_CONTROL, IDLE, IDLES, PREAMBLE, REMOTE_FAULTS, TERMINATE};
use super::crc::{advance_8, back_1, back_2, back_3, back_4, word_sum};
use super::tx_word::{Kind, Lanes, Step, DATA_OF_LAST, END_OF_LAST, END_OF_TAIL, FCS_OF_LAST, FCS_OF_TAIL};
use super::{byte_count, XgmiiSource};
use crate::hdl::width::PartSink;
use spindle_verilog::prelude::*;

/// What happened to a frame, one pulse of one cycle for each frame, when its end leaves.
#[derive(LogicStruct, Copy, Clone, Debug, Default, PartialEq)]
pub struct TxEvents {
    /// The frame left whole.
    pub sent: Bit,
    /// The frame left with error characters: its source did not keep up, or declared it bad.
    pub aborted: Bit,
    /// The link had a fault during the frame: it did not leave, or not whole.
    pub lost: Bit,
}

/// Transmit: frames without preamble and FCS become characters of an XGMII.
///
/// | ports | neighbour |
/// |---|---|
/// | in `frames` (with ready) | [`Narrow`](crate::hdl::width::Narrow) |
/// | out `xgmii` | PCS |
/// | in `enable` | the PCS takes a word; while it is low nothing moves |
/// | in `local_fault`, `remote_fault` | [`LinkFault`](super::LinkFault) of the receive side, synchronous to this clock |
/// | out `events` | counters |
///
/// **Rate.** One word of eight characters in every enabled cycle. A frame of n bytes takes (max(n, 60) + 24) / 8 cycles
/// on average, which is the rate of the line: preamble 8, FCS 4, gap 12. Frames start in lane 0 or 4; a deficit idle
/// count (46.3.1.4) makes gaps of 9 to 15 characters with an average of 12, never less than 12 · frames − 3 in sum.
///
/// **Latency.** The first byte of a frame stands on `xgmii` 8 enabled cycles after the cycle that offers it: preamble 1,
/// front 1, CRC and taking back of zeros 4, lanes 1, alignment 1. `frames_ready` is high in every cycle from the second
/// beat's on, up to the last beat: the block never stalls a frame.
///
/// **Underrun.** The source must not pause inside a frame. If a beat is missing, or the last beat has `user`, the frame
/// ends with twelve error characters and the end character, so that the receiver drops it; the rest of the frame is
/// taken and thrown away.
///
/// **Faults.** 46.3.4: with a local fault the block sends remote fault columns, with a remote fault idle. Frames are taken
/// at the rate of the line all the same and are lost; what is sent begins again with a whole frame.
///
/// **Paths.** At most 4 levels of logic (yosys, UltraScale+ and 7 series).
#[block(no_default)]
pub struct MacTx {
    /// Frames.
    pub frames: PartSink,
    /// To the PCS.
    pub xgmii: XgmiiSource,
    /// The PCS takes a word in this cycle.
    pub enable: Signal<In, Bit>,
    /// The receiver hears nothing.
    pub local_fault: Signal<In, Bit>,
    /// The other side hears nothing.
    pub remote_fault: Signal<In, Bit>,
    /// What happened to frames.
    pub events: Signal<Out, TxEvents>,
    // Front.
    step: Reg<Step>,
    /// One for each data word so far, from bit 0 on, as a frame of 60 bytes has.
    gone: Reg<Bits<8>>,
    /// Bytes of the last word, modulo 8.
    bytes: Reg<Bits<3>>,
    aborted: Reg<Bit>,
    draining: Reg<Bit>,
    shift: Reg<Bit>,
    next_shift: Reg<Bit>,
    /// Characters that gaps lack.
    deficit: Reg<Bits<2>>,
    // The pipe: data and kinds, by stage.
    data: [DFF<Bits<64>>; 5],
    kind: [Reg<Kind>; 7],
    sum: DFF<Bits<32>>,
    crc: DFF<Bits<32>>,
    crc_less: DFF<Bits<32>>,
    fcs: DFF<Bits<32>>,
    lanes: Reg<Lanes>,
    word: Reg<Bits<64>>,
    word_control: Reg<Bits<8>>,
    upper: Reg<Bits<32>>,
    upper_control: Reg<Bits<4>>,
    /// The link has a fault, or had one when this frame began.
    quiet: Reg<Bit>,
    /// `quiet` in the two words before.
    was_quiet: [Reg<Bit>; 2],
    send_remote: Reg<Bit>,
    out: Reg<Bits<64>>,
    out_control: Reg<Bits<8>>,
    ended: Reg<TxEvents>,
}

impl Default for MacTx {
    fn default() -> Self {
        Self {
            word: Reg::new(bits::<64>(IDLES)),
            word_control: Reg::new(bits::<8>(0xFF)),
            upper: Reg::new(bits::<32>(0x0707_0707u64)),
            upper_control: Reg::new(bits::<4>(0xF)),
            out: Reg::new(bits::<64>(IDLES)),
            out_control: Reg::new(bits::<8>(0xFF)),
            ..Self::blank()
        }
    }
}

#[hdl]
impl MacTx {
    fn update(&mut self) {
        let enable = self.enable.val();
        let wants = (self.step.q.val() == Step::Data) | self.draining.q.val();
        self.frames.ready.next = wants & enable;
        self.ended.d.next = TxEvents { sent: false, aborted: false, lost: false };
        if enable {
            self.choose();
            self.check_sequence();
            self.place();
            self.align();
        }
        self.xgmii.data.next = self.out.q.val();
        self.xgmii.control.next = self.out_control.q.val();
        self.events.next = self.ended.q.val();
    }

    /// What the next word is; bytes after the end of a frame become zero.
    fn choose(&mut self) {
        let valid = self.frames.valid.val();
        let last = self.frames.last.val();
        let gone = self.gone.q.val();
        let one_more = (gone.get_bits::<7>(0), true).cat::<8>();
        let eighth = gone.get_bit(6) & !gone.get_bit(7);
        let short = !gone.get_bit(6);
        let count = byte_count(self.frames.keep.val());
        let nothing = Kind {
            preamble: false,
            payload: false,
            first: !gone.get_bit(0),
            last: false,
            tail: false,
            abort: false,
            shift: self.shift.q.val(),
            bytes: self.bytes.q.val(),
        };
        let mut kind: Kind = nothing;
        let mut data: Bits<64> = bits::<64>(ERRORS);
        if self.frames.valid.val() & last {
            self.draining.d.next = false;
        }
        match self.step.q.val() {
            Step::Idle => {
                data = bits::<64>(PREAMBLE);
                self.gone.d.next = bits::<8>(0);
                self.aborted.d.next = false;
                if valid & !self.draining.q.val() {
                    kind.preamble = true;
                    kind.shift = self.next_shift.q.val();
                    self.shift.d.next = self.next_shift.q.val();
                    self.step.d.next = Step::Data;
                }
            }
            Step::Data => {
                let bad = !valid | (last & self.frames.user.val());
                kind.payload = true;
                self.gone.d.next = one_more;
                if bad {
                    kind.last = true;
                    kind.abort = true;
                    kind.bytes = bits::<3>(0);
                    self.bytes.d.next = bits::<3>(0);
                    self.aborted.d.next = true;
                    self.draining.d.next = !valid;
                    self.step.d.next = Step::Tail;
                } else {
                    data = self.frames.data.val() & byte_mask::<64, 8>(self.frames.keep.val());
                    if last & short {
                        self.step.d.next = Step::Pad;
                    } else if last {
                        // The eighth word of a frame has at least four bytes.
                        let few = eighth & (count != 0) & (count < 4);
                        let length = if few { bits::<3>(4) } else { count };
                        kind.last = true;
                        kind.bytes = length;
                        self.bytes.d.next = length;
                        self.step.d.next = Step::Tail;
                    }
                }
            }
            Step::Pad => {
                kind.payload = true;
                data = bits::<64>(0u64);
                self.gone.d.next = one_more;
                if eighth {
                    kind.last = true;
                    kind.bytes = bits::<3>(4);
                    self.bytes.d.next = bits::<3>(4);
                    self.step.d.next = Step::Tail;
                }
            }
            Step::Tail => {
                kind.tail = true;
                kind.abort = self.aborted.q.val();
                // A gap of 12 ends off a column unless the frame's length is a multiple of four: it becomes shorter, up
                // to three characters less than 12 on balance, or longer.
                let bytes = self.bytes.q.val();
                let lacking = zext::<3, 2>(self.deficit.q.val()) + zext::<3, 2>(bytes.get_bits::<2>(0));
                let longer = lacking.get_bit(2);
                self.deficit.d.next = lacking.get_bits::<2>(0);
                // Half words from the second word after the last one to the start of the next frame: those that the last
                // bytes fill (8 count as two), the longer gap, and the lane of this frame.
                let eight = bytes == 0;
                let one = bytes.get_bit(2);
                let sum = (eight, one).cat::<2>() + (false, longer).cat::<2>() + (false, self.shift.q.val()).cat::<2>();
                self.next_shift.d.next = sum.get_bit(0);
                self.step.d.next = if sum.get_bit(1) { Step::Gap } else { Step::Idle };
            }
            Step::Gap => {
                self.step.d.next = Step::Idle;
            }
        }
        self.kind[0].d.next = kind;
        self.data[0].d.next = data;
    }

    /// The CRC of the frame, three cycles after its words: zero bytes are counted first and taken back afterwards.
    fn check_sequence(&mut self) {
        for i in 1..5 {
            self.data[i].d.next = self.data[i - 1].q.val();
        }
        for i in 1..7 {
            self.kind[i].d.next = self.kind[i - 1].q.val();
        }
        let ones = bits::<64>(0xFFFF_FFFFu64);
        let first_word = if self.kind[0].q.val().first { self.data[0].q.val() ^ ones } else { self.data[0].q.val() };
        self.sum.d.next = word_sum(first_word);
        let kind = self.kind[1].q.val();
        let carried = if kind.first { bits::<32>(0) } else { advance_8(self.crc.q.val()) };
        if kind.payload {
            self.crc.d.next = self.sum.q.val() ^ carried;
        }
        // 8 - bytes zeros.
        let bytes = self.kind[2].q.val().bytes;
        let crc = self.crc.q.val();
        let four = (bytes != 0) & (bytes < 5);
        self.crc_less.d.next = if four { back_4(crc) } else { crc };
        let less = self.crc_less.q.val();
        let low = self.kind[3].q.val().bytes.get_bits::<2>(0);
        self.fcs.d.next = !select(low, [less, back_3(less), back_2(less), back_1(less)]);
    }

    /// Puts FCS, end and idle characters into the lanes.
    fn place(&mut self) {
        let kind = self.kind[3].q.val();
        let mut lanes: Lanes =
            Lanes { data: bits::<8>(0), fcs: bits::<8>(0), terminate: bits::<8>(0), control: bits::<8>(0) };
        if kind.preamble {
            lanes.data = bits::<8>(0xFF);
            lanes.control = bits::<8>(1);
        } else if kind.abort {
            lanes.data = if kind.last { bits::<8>(0xFF) } else { bits::<8>(0x0F) };
            lanes.terminate = if kind.last { bits::<8>(0) } else { bits::<8>(0x10) };
            lanes.control = bits::<8>(0xFF);
        } else if kind.last {
            for n in 0..8 {
                if kind.bytes == bits::<3>(n) {
                    lanes.data = bits::<8>(DATA_OF_LAST[n]);
                    lanes.fcs = bits::<8>(FCS_OF_LAST[n]);
                    lanes.terminate = bits::<8>(END_OF_LAST[n]);
                }
            }
        } else if kind.payload {
            lanes.data = bits::<8>(0xFF);
        } else if kind.tail {
            for n in 0..8 {
                if kind.bytes == bits::<3>(n) {
                    lanes.fcs = bits::<8>(FCS_OF_TAIL[n]);
                    lanes.terminate = bits::<8>(END_OF_TAIL[n]);
                }
            }
        }
        self.lanes.d.next = lanes;

        let now = self.lanes.q.val();
        let fcs = self.fcs.q.val();
        let low = self.kind[4].q.val().bytes.get_bits::<2>(0);
        let mut word: Bits<64> = bits::<64>(0u64);
        let mut control: Bits<8> = bits::<8>(0);
        for i in 0..8 {
            // Lane i has byte i - bytes of the FCS.
            let check = select(
                low,
                [
                    fcs.get_bits::<8>(8 * (i % 4)),
                    fcs.get_bits::<8>(8 * ((i + 3) % 4)),
                    fcs.get_bits::<8>(8 * ((i + 2) % 4)),
                    fcs.get_bits::<8>(8 * ((i + 1) % 4)),
                ],
            );
            let filler = if now.terminate.get_bit(i) { bits::<8>(TERMINATE) } else { bits::<8>(IDLE) };
            let given = if now.data.get_bit(i) { self.data[4].q.val().get_bits::<8>(8 * i) } else { filler };
            let octet = if now.fcs.get_bit(i) { check } else { given };
            word = word | (zext::<64, 8>(octet) << bits::<6>(8 * i));
            let plain = (now.data.get_bit(i) & !now.control.get_bit(i)) | now.fcs.get_bit(i);
            control = control.replace_bit(i, !plain);
        }
        self.word.d.next = word;
        self.word_control.d.next = control;
    }

    /// Moves frames that begin in lane 4 by half a word, and sends the state of the link instead of frames while there is a fault.
    fn align(&mut self) {
        let ahead = self.kind[4].q.val();
        let fault = self.local_fault.val() | self.remote_fault.val();
        let kind = self.kind[5].q.val();
        // The end of a frame that begins in lane 4 may stand in the word after its tail, which is a gap then.
        let in_frame = !ahead.preamble & (ahead.payload | ahead.tail | (kind.tail & kind.shift));
        self.quiet.d.next = fault | (self.quiet.q.val() & in_frame);
        self.was_quiet[0].d.next = self.quiet.q.val();
        self.was_quiet[1].d.next = self.was_quiet[0].q.val();
        self.send_remote.d.next = self.local_fault.val();

        let word = self.word.q.val();
        let control = self.word_control.q.val();
        self.upper.d.next = word.get_bits::<32>(32);
        self.upper_control.d.next = control.get_bits::<4>(4);
        if self.quiet.q.val() {
            let remote = self.send_remote.q.val();
            self.out.d.next = if remote { bits::<64>(REMOTE_FAULTS) } else { bits::<64>(IDLES) };
            self.out_control.d.next = if remote { bits::<8>(FAULT_CONTROL) } else { bits::<8>(0xFF) };
        } else if kind.shift {
            self.out.d.next = (word.get_bits::<32>(0), self.upper.q.val()).cat::<64>();
            self.out_control.d.next = (control.get_bits::<4>(0), self.upper_control.q.val()).cat::<8>();
        } else {
            self.out.d.next = word;
            self.out_control.d.next = control;
        }
        let left = self.kind[6].q.val();
        // The word that has the end: the tail, the one before it, or the one after it.
        let early = !left.shift & (left.bytes != 0) & !left.bytes.get_bit(2);
        let late = left.shift & (left.bytes == 0);
        let lost =
            if early { self.was_quiet[1].q.val() } else { self.was_quiet[0].q.val() | (late & self.quiet.q.val()) };
        self.ended.d.next = TxEvents {
            sent: left.tail & !lost & !left.abort,
            aborted: left.tail & !lost & left.abort,
            lost: left.tail & lost,
        };
    }
}
