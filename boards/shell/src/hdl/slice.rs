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

use spindle_blocks::Skid;
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
