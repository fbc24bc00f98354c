//! Register slices where a stream crosses from one die region (SLR) to the next.
//!
//! | ports | neighbour |
//! |---|---|
//! | in `write`, `write_valid` / out `write_ready` | source, in one region |
//! | out `read`, `read_valid` / in `read_ready` | sink, in the other |
//!
//! Two [`Skid`]s in a row: `near` belongs to the region of the source, `far` to that of the sink. Payload, `valid` and
//! `ready` leave a register on one side and reach a register on the other with at most one LUT between, so the crossing
//! has a cycle of its own. Latency 2 cycles, one word per cycle, holds up to four words.

use super::tx_cross::MacBeat;
use spindle_blocks::{AxiStreamSink, AxiStreamSource, Skid};
use spindle_verilog::prelude::*;

/// The slices. See the module text.
#[block]
pub struct SlrSlice<T: Synth> {
    /// Word from the source.
    pub write: Sink<T>,
    /// Word for the sink.
    pub read: Source<T>,
    near: Skid<T>,
    far: Skid<T>,
}

#[hdl]
impl<T: Synth> SlrSlice<T> {
    fn update(&mut self) {
        self.write.join(&mut self.near.write);
        self.near.read.join(&mut self.far.write);
        self.far.read.join(&mut self.read);
    }
}

/// Frames in the core's clock, from one place of the device to another.
///
/// | ports | neighbour |
/// |---|---|
/// | in `write_*` / out `write_ready` | source |
/// | out `read_*` / in `read_ready` | sink |
///
/// [`near`](Self::near): both are in one die region; wires. [`far`](Self::far): an [`SlrSlice`] between them, 2 cycles.
#[block(no_default)]
pub struct FrameSlice {
    /// Frames of the source.
    pub write: AxiStreamSink,
    /// The same frames.
    pub read: AxiStreamSource,
    slice: Vec<SlrSlice<MacBeat>>,
    _far: bool,
}

impl Default for FrameSlice {
    fn default() -> Self {
        Self::near()
    }
}

impl FrameSlice {
    /// Wires.
    pub fn near() -> Self {
        Self { slice: vec![], _far: false, ..Self::blank() }
    }

    /// Register slices.
    pub fn far() -> Self {
        Self { slice: vec![SlrSlice::default()], _far: true, ..Self::blank() }
    }
}

#[hdl]
impl FrameSlice {
    fn update(&mut self) {
        if self._far {
            let beat = MacBeat {
                data: self.write.data.val(),
                keep: self.write.keep.val(),
                last: self.write.last.val(),
                user: self.write.user.val(),
            };
            self.slice[0].write.offer(self.write.valid.val(), beat);
            self.write.ready.next = self.slice[0].write.ready.val();
            let far = self.slice[0].read.val();
            self.read.data.next = far.data;
            self.read.keep.next = far.keep;
            self.read.last.next = far.last;
            self.read.user.next = far.user;
            self.read.valid.next = self.slice[0].read.valid.val();
            self.slice[0].read.ready.next = self.read.ready.val();
        } else {
            self.read.data.next = self.write.data.val();
            self.read.keep.next = self.write.keep.val();
            self.read.last.next = self.write.last.val();
            self.read.user.next = self.write.user.val();
            self.read.valid.next = self.write.valid.val();
            self.write.ready.next = self.read.ready.val();
        }
    }
}
