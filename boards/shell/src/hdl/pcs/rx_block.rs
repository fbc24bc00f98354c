//! Blocks on their way through the receiver.

use spindle_verilog::prelude::*;

/// A block's fields.
#[derive(LogicStruct, Copy, Clone, Debug, Default, PartialEq)]
pub(super) struct Fields {
    pub(super) data: Bit,
    pub(super) control: Bit,
    pub(super) control_ordered: Bit,
    pub(super) control_start: Bit,
    pub(super) ordered_start: Bit,
    pub(super) ordered_ordered: Bit,
    pub(super) start: Bit,
    pub(super) ordered_control: Bit,
    /// An end in this lane.
    pub(super) ends: Bits<8>,
    /// The code of this lane is one.
    pub(super) codes: Bits<8>,
    /// One of the codes is an error.
    pub(super) error: Bit,
    pub(super) ordered_low: Bit,
    pub(super) ordered_high: Bit,
}

/// What a block is.
#[derive(LogicStruct, Copy, Clone, Debug, Default, PartialEq)]
pub(super) struct Kind {
    pub(super) control: Bit,
    pub(super) start: Bit,
    pub(super) data: Bit,
    pub(super) terminate: Bit,
}

/// Where the bytes of a word come from; otherwise they are control characters.
#[derive(LogicStruct, Copy, Clone, Debug, Default, PartialEq)]
pub(super) struct Layout {
    /// From their own places.
    pub(super) direct: Bits<8>,
    /// From one place further.
    pub(super) moved: Bits<8>,
}

#[derive(Copy, Clone, Debug, PartialEq, LogicState)]
pub(super) enum State {
    /// RX_INIT, RX_C and RX_T.
    Between,
    /// RX_D.
    Inside,
    /// RX_E.
    Broken,
}
