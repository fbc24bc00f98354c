//! Words on their way through the transmitter.

use spindle_verilog::prelude::*;

/// What the lanes of a word have, a bit each.
#[derive(LogicStruct, Copy, Clone, Debug, Default, PartialEq)]
pub(super) struct Lanes {
    pub(super) data: Bits<8>,
    /// A control character with a code of seven bits.
    pub(super) character: Bits<8>,
    /// An error.
    pub(super) error: Bits<8>,
    pub(super) start: Bits<8>,
    pub(super) terminate: Bits<8>,
    pub(super) ordered: Bits<8>,
}

/// What four lanes are.
#[derive(LogicStruct, Copy, Clone, Debug, Default, PartialEq)]
pub(super) struct Half {
    pub(super) data: Bit,
    pub(super) characters: Bit,
    /// There is an error among the characters.
    pub(super) errors: Bit,
    /// An ordered set.
    pub(super) ordered: Bit,
    /// The ordered set is a signal.
    pub(super) signal: Bit,
    /// A start and three bytes.
    pub(super) start: Bit,
}

/// What a block is.
#[derive(LogicStruct, Copy, Clone, Debug, Default, PartialEq)]
pub(super) struct Kind {
    pub(super) control: Bit,
    pub(super) start: Bit,
    pub(super) data: Bit,
    pub(super) terminate: Bit,
}

/// Where the bits of a block come from.
#[derive(LogicStruct, Copy, Clone, Debug, Default, PartialEq)]
pub(super) struct Layout {
    /// Block type field, or the first byte of data.
    pub(super) first: Bits<8>,
    /// Bytes at their own places; bit 0 is not used.
    pub(super) direct: Bits<8>,
    /// Bytes one place further.
    pub(super) moved: Bits<8>,
    /// Codes.
    pub(super) codes: Bits<8>,
    pub(super) signal_low: Bit,
    pub(super) signal_high: Bit,
}

#[derive(Copy, Clone, Debug, PartialEq, LogicState)]
pub(super) enum State {
    /// TX_INIT, TX_C and TX_T.
    Between,
    /// TX_D.
    Inside,
    /// TX_E.
    Broken,
}
