//! Words on their way through the receiver.

use spindle_verilog::prelude::*;

/// A lane of a word: what the receiver needs to know beside the byte.
#[derive(LogicStruct, Copy, Clone, Debug, Default, PartialEq)]
pub(super) struct Marks {
    pub(super) control: Bits<8>,
    pub(super) terminate: Bits<8>,
}

/// A word of a frame, beginning at lane 0.
#[derive(LogicStruct, Copy, Clone, Debug, Default, PartialEq)]
pub(super) struct Word {
    /// Start and preamble.
    pub(super) start: Bit,
    /// With `start`: they end with the start delimiter, and there is no other control character.
    pub(super) delimiter: Bit,
    /// Lanes before the first control character.
    pub(super) lanes: Bits<8>,
    /// All eight lanes.
    pub(super) full: Bit,
    /// The first control character is the end.
    pub(super) ends: Bit,
    /// Lanes before it, if not all.
    pub(super) bytes: Bits<3>,
}

/// A beat on its way to the output.
#[derive(LogicStruct, Copy, Clone, Debug, Default, PartialEq)]
pub(super) struct Leaving {
    pub(super) valid: Bit,
    pub(super) last: Bit,
    pub(super) keep: Bits<8>,
    /// The frame ends here, with or without a beat.
    pub(super) ended: Bit,
    pub(super) runt: Bit,
    pub(super) long: Bit,
    pub(super) code: Bit,
    pub(super) start: Bit,
}
