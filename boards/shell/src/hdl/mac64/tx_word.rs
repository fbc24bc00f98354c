//! Words on their way through the transmitter.

use spindle_verilog::prelude::*;

/// A word before it has its lanes: what it is.
#[derive(LogicStruct, Copy, Clone, Debug, Default, PartialEq)]
pub(super) struct Kind {
    /// Start, preamble and start delimiter.
    pub(super) preamble: Bit,
    /// Bytes of the frame, or padding.
    pub(super) payload: Bit,
    /// First word of the frame.
    pub(super) first: Bit,
    /// Last word with bytes of the frame.
    pub(super) last: Bit,
    /// The word after the last one: rest of the FCS, end, gap.
    pub(super) tail: Bit,
    /// The frame ends with error characters (in the last word and the tail).
    pub(super) abort: Bit,
    /// The frame begins in lane 4.
    pub(super) shift: Bit,
    /// Bytes of the last word, modulo 8 (in the last word and the tail).
    pub(super) bytes: Bits<3>,
}

/// What stands in the lanes of a word.
#[derive(LogicStruct, Copy, Clone, Debug, Default, PartialEq)]
pub(super) struct Lanes {
    /// Bytes of the data.
    pub(super) data: Bits<8>,
    /// Bytes of the FCS.
    pub(super) fcs: Bits<8>,
    /// The end of the frame.
    pub(super) terminate: Bits<8>,
    /// Control characters among `data`.
    pub(super) control: Bits<8>,
}

#[derive(Copy, Clone, Debug, PartialEq, LogicState)]
pub(super) enum Step {
    /// Between frames; a frame may begin.
    Idle,
    /// Bytes of the frame.
    Data,
    /// Zeros up to 60 bytes.
    Pad,
    /// The word after the last one.
    Tail,
    /// One more word of gap.
    Gap,
}

/// Lanes of a last word that have bytes of the frame, by its bytes modulo 8.
pub(super) const DATA_OF_LAST: [u64; 8] = [0xFF, 0x01, 0x03, 0x07, 0x0F, 0x1F, 0x3F, 0x7F];
/// Lanes of a last word that have bytes of the FCS.
pub(super) const FCS_OF_LAST: [u64; 8] = [0x00, 0x1E, 0x3C, 0x78, 0xF0, 0xE0, 0xC0, 0x80];
/// Lane of a last word that has the end.
pub(super) const END_OF_LAST: [u64; 8] = [0x00, 0x20, 0x40, 0x80, 0x00, 0x00, 0x00, 0x00];
/// Lanes of the word after it that have bytes of the FCS.
pub(super) const FCS_OF_TAIL: [u64; 8] = [0x0F, 0x00, 0x00, 0x00, 0x00, 0x01, 0x03, 0x07];
/// Lane of the word after it that has the end.
pub(super) const END_OF_TAIL: [u64; 8] = [0x10, 0x00, 0x00, 0x00, 0x01, 0x02, 0x04, 0x08];
