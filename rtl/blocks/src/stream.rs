//! The stream law, and the hardware monitor that watches it.
//!
//! 1. A beat moves in the cycle in which `valid` and `ready` are both high.
//! 2. `valid` never waits for `ready`.
//! 3. While `valid` is high and `ready` low, the payload does not change and `valid` does not fall.
//! 4. Byte 0 of a frame is `data[7:0]` of its first beat; `keep` is contiguous from bit 0, all ones except in the beat
//!    with `last`, and never zero.
//!
//! Ports of a stream `s` are `s_data`, `s_keep`, `s_last`, `s_valid` and `s_ready`. Word ports (descriptors) obey rules 1
//! to 3. A monitor sees breaches of rules 3 and 4; rule 2 is tested by offering a word and keeping `ready` low until
//! `valid` is seen.

use spindle_verilog::prelude::*;

/// The payload of one beat of a stream, for FIFOs and registers.
#[derive(LogicStruct, Copy, Clone, Debug, Default, PartialEq)]
pub struct Beat {
    /// Bytes, the first in bits 7:0.
    pub data: Bits<512>,
    /// Which bytes count; contiguous from bit 0.
    pub keep: Bits<64>,
    /// Last beat of the frame.
    pub last: Bit,
}

/// Watches one stream, and keeps its violations until reset.
///
/// All ports are inputs except `violation`, one sticky bit each, one cycle after the offending cycle:
///
/// | bit | breach |
/// |---|---|
/// | 0 | `valid` fell before the beat was taken |
/// | 1 | payload changed before the beat was taken |
/// | 2 | `keep` not contiguous from bit 0, or zero |
/// | 3 | `keep` not full in a beat without `last` |
#[block]
pub struct StreamMonitor {
    /// Bytes.
    pub data: Signal<In, Bits<512>>,
    /// Which bytes count.
    pub keep: Signal<In, Bits<64>>,
    /// Last beat.
    pub last: Signal<In, Bit>,
    /// A beat is offered.
    pub valid: Signal<In, Bit>,
    /// The beat is taken.
    pub ready: Signal<In, Bit>,
    /// Sticky breaches.
    pub violation: Signal<Out, Bits<4>>,
    previous: DFF<Beat>,
    waiting: Reg<Bit>,
    seen: Reg<Bits<4>>,
}

#[hdl]
impl StreamMonitor {
    fn update(&mut self) {
        let now = Beat { data: self.data.val(), keep: self.keep.val(), last: self.last.val() };
        self.previous.d.next = now;
        self.waiting.d.next = self.valid.val() & !self.ready.val();

        let old = self.previous.q.val();
        let changed = (old.data != self.data.val()) | (old.keep != self.keep.val()) | (old.last != self.last.val());
        let dropped = self.waiting.q.val() & !self.valid.val();
        let altered = self.waiting.q.val() & self.valid.val() & changed;
        // A contiguous mask has no bit in common with itself plus one.
        let holes = self.valid.val() & ((self.keep.val() & (self.keep.val() + 1)).any() | !self.keep.val().any());
        let short = self.valid.val() & !self.last.val() & !self.keep.val().all();
        self.seen.d.next = self.seen.q.val() | (short, holes, altered, dropped).cat::<4>();
        self.violation.next = self.seen.q.val();
    }
}
