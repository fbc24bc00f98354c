//! Transmit crossing: from the core's clock to the MAC's.
//!
//! # A frame leaves as a whole
//!
//! The MAC must get a beat in every cycle in which it is ready, from the first beat of a frame to the last: an
//! underrun ends only with a reset of the MAC. So a frame begins when all of its beats are in the FIFO. Beats and
//! ended frames are counted across the clocks by two Gray counts. The frame is counted one cycle of `core_clock`
//! after its last beat, so the MAC's side that sees the frame sees its beats; it begins one cycle after that, when
//! the beat after the first is on its way out of the block RAM.
//!
//! # Latency and stalls
//!
//! From the edge of `core_clock` that takes the last beat to `mac_valid` with the first: 1 cycle of `core_clock` and
//! then 4 to 5 edges of `mac_clock`, but at least 5 to 6 edges of `mac_clock` after the first beat was taken. At 250
//! and 322.265625 MHz that is 13.3 to 16.4 ns by the clocks' phase, and up to 19.5 ns with the fifth edge, when a register
//! of the synchroniser settles late. The next frame follows without a gap if it is there. A beat per cycle of the slower
//! clock, sustained. `core_ready` falls when the FIFO is full; all other stalls are the MAC's.
//!
//! # What the MAC's side never does
//!
//! * It never begins a frame of less than 60 bytes: shorter ones are padded with zeros at the core's side (the MAC
//!   adds the check sequence; a CMAC does not pad). Bytes that are no part of the frame become zero.
//! * It never leaves a frame open. If the core's clock stops, the frame is sent to its end, because all of it is in
//!   the FIFO. If the core is reset, the next beat is the end with `user` = 1, 3 to 4 edges of `mac_clock` after the
//!   reset.
//! * It never sends a frame of more than [`LONGEST`] beats (or those of the constructor): such a frame ends there
//!   with `user` = 1 (`cut`).
//!
//! # No MAC
//!
//! `link` low: frames are read and thrown away, one beat a cycle (`discarded`). `mac_reset`, or a clock that stands
//! still (known after at most 259 cycles of `core_clock`): the core's frames are taken and thrown away, and not
//! counted. So a missing cable or transceiver never blocks the core. `hold` high: no frame begins, for pause frames.
//!
//! # Area
//!
//! On UltraScale+ with A = 9 (yosys): 830 LUTs, of which about 500 clear bytes that are no part of a frame, 1,441
//! flip-flops, 7.5 block RAMs.

use crate::hdl::beat::{keep_of, tail_of, CrossBeat};
use crate::hdl::cross_clear::CrossClear;
use spindle_blocks::{AsyncFifo, AxiStreamSink, AxiStreamSource, GrayCount, RamStyle};
use spindle_contract::params::MAX_FRAME;
use spindle_verilog::prelude::*;

/// Beats of the longest frame.
pub const LONGEST: usize = MAX_FRAME.div_ceil(64);
/// `tail` of the shortest frame that a MAC may get: 60 bytes.
const SHORTEST_TAIL: u64 = 59;

/// A beat for the MAC.
#[derive(LogicStruct, Copy, Clone, Debug, Default, PartialEq)]
pub struct MacBeat {
    /// Bytes, the first in bits 7:0.
    pub data: Bits<512>,
    /// Bytes that count.
    pub keep: Bits<64>,
    /// Last beat of the frame.
    pub last: Bit,
    /// With `last`: the frame is bad.
    pub user: Bit,
}

/// Transmit crossing with a FIFO of `2^A` beats, which the longest frame has to fit: A = 9 holds three frames of
/// 9,216 bytes.
///
/// | ports | domain |
/// |---|---|
/// | in `core_*` / out `core_ready` | `core` |
/// | out `mac_*`, all from registers / in `mac_ready`; in `link`: the MAC sends; in `hold`: begin no frame | `mac` |
/// | out `sent`, `discarded`, `cut`, 32 bits each, since `core_reset`; out `mac_lost`: the MAC's clock stands still | `core` |
///
/// `sent` are frames whose last beat was offered to the MAC, those with `user` included; frames that a reset of the core
/// ends are not.
#[block(domains(core, mac), no_default)]
pub struct TxCross<const A: usize> {
    /// Frames of the core.
    pub core: AxiStreamSink,
    /// Frames for the MAC.
    pub mac: AxiStreamSource,
    /// The MAC sends; if not, frames are discarded.
    pub link: Signal<In, Bit>,
    /// Begin no frame.
    pub hold: Signal<In, Bit>,
    /// Frames that went to the MAC.
    pub sent: Signal<Out, Bits<32>>,
    /// Frames that were thrown away without a link.
    pub discarded: Signal<Out, Bits<32>>,
    /// Frames that were too long.
    pub cut: Signal<Out, Bits<32>>,
    /// The MAC's clock stands still.
    pub mac_lost: Signal<Out, Bit>,
    fifo: AsyncFifo<CrossBeat, A>,
    /// Frames that are in the FIFO as a whole.
    whole: GrayCount<12>,
    /// It counts the frames that are sent, and those that are discarded.
    clearing: CrossClear<2>,
    /// The core is inside a frame.
    #[domain(core)]
    open: Reg<Bit>,
    /// Its rest is thrown away.
    #[domain(core)]
    swallow: Reg<Bit>,
    /// Beats of the frame so far.
    #[domain(core)]
    beats: Reg<Bits<8>>,
    /// The last beat was written in the cycle before.
    #[domain(core)]
    ended: Reg<Bit>,
    #[domain(core)]
    cut_count: Reg<Bits<32>>,
    /// `whole`, one cycle later.
    #[domain(mac)]
    known: Reg<Bits<12>>,
    /// The MAC is inside a frame.
    #[domain(mac)]
    mid_frame: Reg<Bit>,
    /// The frame in the FIFO is thrown away.
    #[domain(mac)]
    discarding: Reg<Bit>,
    /// Frames that were begun.
    #[domain(mac)]
    begun: Reg<Bits<12>>,
    #[domain(mac)]
    out: DFF<MacBeat>,
    #[domain(mac)]
    out_valid: Reg<Bit>,
    _longest: u64,
}

impl<const A: usize> Default for TxCross<A> {
    fn default() -> Self {
        Self::with_longest(LONGEST)
    }
}

impl<const A: usize> TxCross<A> {
    /// For frames of at most so many beats; longer ones are cut.
    pub fn with_longest(beats: usize) -> Self {
        assert!(
            (2..=11).contains(&A) && (1..=255).contains(&beats) && beats < 1 << A,
            "TxCross: a frame of {beats} beats has to fit a FIFO of 2^{A}; choose at most 255 beats and A from 2 to 11"
        );
        Self { fifo: AsyncFifo::new(RamStyle::Block), _longest: beats as u64, ..Self::blank() }
    }
}

#[hdl]
impl<const A: usize> TxCross<A> {
    fn update(&mut self) {
        self.join_clocks();
        self.from_core();
        self.to_mac();
    }

    fn join_clocks(&mut self) {
        self.clearing.mac_clock.next = self.mac_clock.val();
        self.clearing.mac_reset.next = self.mac_reset.val();
        self.clearing.mac_quiet.next = !self.mid_frame.q.val();
        self.clearing.core_clock.next = self.core_clock.val();
        self.clearing.core_reset.next = self.core_reset.val();
        self.clearing.core_quiet.next = true;
        self.mac_lost.next = self.clearing.mac_lost.val();
        self.sent.next = self.clearing.totals[0].val();
        self.discarded.next = self.clearing.totals[1].val();
        self.fifo.write_clock.next = self.core_clock.val();
        self.fifo.write_reset.next = self.clearing.core_clear.val();
        self.fifo.read_clock.next = self.mac_clock.val();
        self.fifo.read_reset.next = self.clearing.mac_clear.val();
        self.whole.from_clock.next = self.core_clock.val();
        self.whole.from_reset.next = self.clearing.core_clear.val();
        self.whole.to_clock.next = self.mac_clock.val();
        self.whole.to_reset.next = self.clearing.mac_clear.val();
    }

    fn from_core(&mut self) {
        let stop = self.clearing.core_stop.val();
        let swallow = self.swallow.q.val() | stop;
        let ready = self.fifo.write.ready.val() | swallow;
        self.core.ready.next = ready;
        let takes = self.core.valid.val() & ready;
        let last = self.core.last.val();
        let first = !self.open.q.val();
        self.open.load(takes, !last);
        let too_long = (self.beats.q.val() == bits::<8>(self._longest - 1)) & !last;
        let push = takes & !swallow;
        if stop {
            // What is open must not go on in the middle.
            self.swallow.d.next = (self.open.q.val() & !(takes & last)) | (takes & !last);
            self.beats.d.next = bits::<8>(0);
        } else if takes & last {
            self.swallow.d.next = false;
            self.beats.d.next = bits::<8>(0);
        } else if push {
            self.swallow.d.next = too_long;
            self.beats.d.next = if too_long { bits::<8>(0) } else { self.beats.q.val() + 1 };
        }
        if push & too_long {
            self.cut_count.d.next = self.cut_count.q.val() + 1;
        }
        self.cut.next = self.cut_count.q.val();

        let keep = self.core.keep.val();
        let tail = tail_of(keep);
        let pads = first & last & (tail < bits::<6>(SHORTEST_TAIL));
        let data = if last { self.core.data.val() & byte_mask::<512, 64>(keep) } else { self.core.data.val() };
        let beat = CrossBeat {
            data: data,
            tail: if pads { bits::<6>(SHORTEST_TAIL) } else { tail },
            last: last | too_long,
            user: too_long | (last & self.core.user.val()),
            cut: false,
        };
        self.fifo.write.offer(self.core.valid.val() & !swallow, beat);
        self.ended.d.next = push & (last | too_long);
        self.whole.step.next = self.ended.q.val() & !stop;
    }

    fn to_mac(&mut self) {
        let stop = self.clearing.mac_stop.val();
        let mid_frame = self.mid_frame.q.val();
        let discarding = self.discarding.q.val();
        let begun = self.begun.q.val();
        let word = self.fifo.read.val();
        let some = self.fifo.read.valid.val();
        let moves = self.mac.ready.val() | !self.out_valid.q.val();
        self.known.d.next = self.whole.seen.val();
        let whole = some & ((begun ^ (begun >> 1)) != self.known.q.val());

        let idle = !mid_frame & !discarding & !stop;
        let starts = idle & whole & self.link.val() & !self.hold.val() & moves;
        let discard = (idle & whole & !self.link.val()) | (discarding & some);
        let more = mid_frame & !stop & moves & some;
        let abort = mid_frame & stop & moves;
        let load = starts | more;
        self.fifo.read.ready.next = load | discard;
        if self.clearing.mac_clear.val() {
            self.begun.d.next = bits::<12>(0);
        } else if idle & (starts | discard) {
            self.begun.d.next = begun + 1;
        }
        if load {
            self.mid_frame.d.next = !word.last;
        } else if abort {
            self.mid_frame.d.next = false;
        }
        if self.clearing.mac_clear.val() {
            self.discarding.d.next = false;
        } else if discard {
            self.discarding.d.next = !word.last;
        }
        self.clearing.occurs[0].next = load & word.last;
        self.clearing.occurs[1].next = discard & word.last;

        if moves {
            self.out.d.next =
                MacBeat { data: word.data, keep: keep_of(word.tail), last: word.last | abort, user: word.user | abort };
            self.out_valid.d.next = load | abort;
        }
        let out = self.out.q.val();
        self.mac.data.next = out.data;
        self.mac.keep.next = out.keep;
        self.mac.last.next = out.last;
        self.mac.user.next = out.user;
        self.mac.valid.next = self.out_valid.q.val();
    }
}
