//! Receive crossing: from the MAC's clock to the core's.
//!
//! # What it does with a frame that does not fit
//!
//! Frames go through as they come. A MAC cannot wait, so when the FIFO has no room
//!
//! * for the first beat, the whole frame is dropped, and the core never sees it (`dropped`);
//! * for a later beat, the rest is dropped, and the beat before it becomes the end of a bad frame: `last` and `user`
//!   = 1 (`cut`). The core drops such a frame as it drops one that the MAC found bad.
//!
//! The reserved place for that end is the register in front of the FIFO. It holds the newest beat until the FIFO
//! takes it; when the next beat arrives earlier, the held one is made the end. So there is always an end, and it
//! takes no place in the FIFO that a beat could have used.
//!
//! The other way would be to keep a frame back until it has come as a whole, so that the core never sees a part. It
//! costs 3.1 ns for each beat after the first, 447 ns for 9,216 bytes, on every frame, to spare the core a few beats
//! of those frames that are lost anyway; the core judges frames at their end in any case.
//!
//! # Latency and stalls
//!
//! From the edge of `mac_clock` that takes a beat to `core_valid`: 1 cycle of `mac_clock` and then 4 to 5 edges of
//! `core_clock`. At 322.265625 and 250 MHz that is 15.1 to 19.1 ns by the clocks' phase, and up to 23.1 ns with the fifth
//! edge, when a register of the synchroniser settles late. A beat per cycle of the slower clock, sustained.
//! The core may stall; the FIFO has `2^A - 1` beats and three more on its way. No stall reaches the MAC.
//!
//! # Loss of alignment, of the clock, and reset
//!
//! * `aligned` low ends an open frame as bad in the next cycle; beats are ignored until it is high again, and then up
//!   to the end of the frame to which they belong.
//! * `mac_clock` stands still (known after at most 259 cycles of `core_clock`): of an open frame the core gets what is in
//!   the FIFO, and an end with `user` if the MAC's is not there. Frames in the FIFO that the core has not begun are lost,
//!   and not counted. Both sides are cleared when the clock runs again.
//! * `mac_reset`: the same, at once.
//! * `core_reset`: the core sees nothing more, both sides are cleared, and the MAC's frames are ignored until then.
//!
//! # Area
//!
//! On UltraScale+ with A = 9 (yosys): 731 LUTs, of which 512 clear the payload of an end without a beat, 1,338
//! flip-flops, 7.5 block RAMs.

use crate::hdl::beat::{keep_of, tail_of, CrossBeat};
use crate::hdl::cross_clear::CrossClear;
use spindle_blocks::{AsyncFifo, AxiStreamSource, RamStyle, RxSink};
use spindle_verilog::prelude::*;

/// Receive crossing with a FIFO of `2^A` beats: A = 9 holds three frames of 9,216 bytes.
///
/// | ports | domain |
/// |---|---|
/// | in `mac_*`: frames without ready; in `aligned` | `mac` |
/// | out `level`: beats in the FIFO; out `overflow`: high for one cycle for each frame that is cut or dropped | `mac` |
/// | out `core_*`: the same frames; in `core_ready` | `core` |
/// | out `accepted`, `bad`, `cut`, `dropped`, 32 bits each, since `core_reset`; out `mac_lost`: the MAC's clock stands still | `core` |
///
/// `accepted + bad + cut` frames have gone to the core, those of `bad` and `cut` with `user`. `bad` are those that
/// the MAC found bad or did not end.
#[block(domains(mac, core), no_default)]
pub struct RxCross<const A: usize> {
    /// Frames of the MAC.
    pub mac: RxSink,
    /// The MAC's lanes are aligned.
    pub aligned: Signal<In, Bit>,
    /// Beats in the FIFO.
    pub level: Signal<Out, Bits<A>>,
    /// A frame is cut or dropped.
    pub overflow: Signal<Out, Bit>,
    /// Frames for the core.
    pub core: AxiStreamSource,
    /// Good frames that went to the core.
    pub accepted: Signal<Out, Bits<32>>,
    /// Frames that the MAC found bad or did not end.
    pub bad: Signal<Out, Bits<32>>,
    /// Frames of which the core got a part, for want of room.
    pub cut: Signal<Out, Bits<32>>,
    /// Frames of which the core got nothing, for want of room.
    pub dropped: Signal<Out, Bits<32>>,
    /// The MAC's clock stands still.
    pub mac_lost: Signal<Out, Bit>,
    fifo: AsyncFifo<CrossBeat, A>,
    /// It counts the frames that are dropped.
    clearing: CrossClear<1>,
    /// The MAC is inside a frame.
    #[domain(mac)]
    open: Reg<Bit>,
    /// Its beats are taken.
    #[domain(mac)]
    taking: Reg<Bit>,
    #[domain(mac)]
    held: DFF<CrossBeat>,
    #[domain(mac)]
    held_valid: Reg<Bit>,
    /// The core is inside a frame.
    #[domain(core)]
    mid_frame: Reg<Bit>,
    /// A beat is offered and was not taken.
    #[domain(core)]
    waiting: Reg<Bit>,
    /// The frame is being ended without the MAC.
    #[domain(core)]
    ending: Reg<Bit>,
    #[domain(core)]
    accepted_count: Reg<Bits<32>>,
    #[domain(core)]
    bad_count: Reg<Bits<32>>,
    #[domain(core)]
    cut_count: Reg<Bits<32>>,
}

impl<const A: usize> Default for RxCross<A> {
    fn default() -> Self {
        Self { fifo: AsyncFifo::new(RamStyle::Block), ..Self::blank() }
    }
}

#[hdl]
impl<const A: usize> RxCross<A> {
    fn update(&mut self) {
        self.join_clocks();
        self.from_mac();
        self.to_core();
    }

    fn join_clocks(&mut self) {
        self.clearing.mac_clock.next = self.mac_clock.val();
        self.clearing.mac_reset.next = self.mac_reset.val();
        self.clearing.mac_quiet.next = true;
        self.clearing.core_clock.next = self.core_clock.val();
        self.clearing.core_reset.next = self.core_reset.val();
        self.clearing.core_quiet.next = !self.mid_frame.q.val() & !self.waiting.q.val();
        self.mac_lost.next = self.clearing.mac_lost.val();
        self.dropped.next = self.clearing.totals[0].val();
        self.fifo.write_clock.next = self.mac_clock.val();
        self.fifo.write_reset.next = self.clearing.mac_clear.val();
        self.fifo.read_clock.next = self.core_clock.val();
        self.fifo.read_reset.next = self.clearing.core_clear.val();
    }

    fn from_mac(&mut self) {
        let stop = self.clearing.mac_stop.val();
        let aligned = self.aligned.val();
        let valid = self.mac.valid.val();
        let last = self.mac.last.val();
        let moves = !self.held_valid.q.val() | self.fifo.write.ready.val();
        let first = !self.open.q.val();
        self.open.load(valid, !last);

        let starts = valid & first & aligned & moves & !stop;
        let more = valid & self.taking.q.val() & aligned & moves & !stop;
        // Out of room, or out of alignment.
        let broken = self.taking.q.val() & (!aligned | (valid & !moves));
        if stop | broken {
            self.taking.d.next = false;
        } else if starts | more {
            self.taking.d.next = !last;
        }
        let drops = valid & first & aligned & !moves & !stop;
        self.clearing.occurs[0].next = drops;
        self.overflow.next = drops | (broken & aligned & !stop);

        let now = CrossBeat {
            data: self.mac.data.val(),
            tail: tail_of(self.mac.keep.val()),
            last: last,
            user: last & self.mac.user.val(),
            cut: false,
        };
        let mut closing = self.held.q.val();
        closing.last = true;
        closing.user = true;
        closing.cut = aligned;
        if broken {
            self.held.d.next = closing;
        } else if starts | more {
            self.held.d.next = now;
        }
        if stop {
            self.held_valid.d.next = false;
        } else {
            self.held_valid.d.next = starts | more | broken | !moves;
        }
        self.fifo.write.offer(self.held_valid.q.val() & !stop, self.held.q.val());
        self.level.next = self.fifo.level.val();
    }

    fn to_core(&mut self) {
        let stop = self.clearing.core_stop.val();
        let mid_frame = self.mid_frame.q.val();
        let ending = self.ending.q.val();
        let word = self.fifo.read.val();
        // What was begun or offered goes on.
        let flows = !ending & (mid_frame | self.waiting.q.val() | !stop);
        let offer = self.fifo.read.valid.val() & flows;
        let ready = self.core.ready.val();
        self.fifo.read.ready.next = ready & flows;
        self.waiting.d.next = offer & !ready;
        // Nothing more comes for a frame that is open.
        if mid_frame & stop & !self.fifo.read.valid.val() & !ending {
            self.ending.d.next = true;
        } else if ending & ready {
            self.ending.d.next = false;
        }
        let last = ending | word.last;
        let user = ending | word.user;
        let moves = (offer | ending) & ready;
        self.mid_frame.load(moves, !last);
        if moves & last {
            if !user {
                self.accepted_count.d.next = self.accepted_count.q.val() + 1;
            } else if word.cut & !ending {
                self.cut_count.d.next = self.cut_count.q.val() + 1;
            } else {
                self.bad_count.d.next = self.bad_count.q.val() + 1;
            }
        }
        self.accepted.next = self.accepted_count.q.val();
        self.bad.next = self.bad_count.q.val();
        self.cut.next = self.cut_count.q.val();

        self.core.valid.next = offer | ending;
        // The payload of an end must not follow what the FIFO shows meanwhile.
        self.core.data.next = if ending { bits::<512>(0) } else { word.data };
        self.core.keep.next = if ending { bits::<64>(1) } else { keep_of(word.tail) };
        self.core.last.next = last;
        self.core.user.next = user;
    }
}
