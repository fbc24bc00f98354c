//! Structures of the buffer queue: reservation, entry of a mailbox, and the states of the sequencer.

use crate::prelude::*;
use spindle_contract::params::STREAM_BITS;

/// Bounds of a message that is to be bound.
#[derive(LogicStruct, Copy, Clone, Debug, Default, PartialEq)]
pub struct MessageSpan {
    /// Bytes of the message.
    pub msg_len: Bits<32>,
    /// Offset of the packet's first byte in the buffer; managed: in the message.
    pub start: Bits<32>,
    /// End of the message in the buffer; managed: length of the message.
    pub end: Bits<32>,
}

/// Window of a mailbox, and the epoch (of a stream: the ordinal) that a packet names.
#[derive(LogicStruct, Copy, Clone, Debug, Default, PartialEq)]
pub struct Tag {
    /// The mailbox is TAGGED.
    pub tagged: Bit,
    /// Window of the mailbox.
    pub window: Bits<9>,
    /// Epoch, or ordinal.
    pub epoch: Bits<16>,
}

/// The head buffer of the mailbox; TAGGED: the buffer whose epoch the packet names.
#[derive(LogicStruct, Copy, Clone, Debug, Default, PartialEq)]
pub struct Head {
    /// The buffer exists; of a stream: and it is this message's turn.
    pub active: Bit,
    /// The buffer existed, but takes no messages any more; of a stream: the message's turn is over.
    pub stale: Bit,
    /// The message ends inside the buffer.
    pub fits: Bit,
    /// Slot of the buffer.
    pub slot: Bits<14>,
    /// The buffer; managed: with the size of the message.
    pub buffer: BufferEntry,
    /// Managed: offset of the message in the buffer.
    pub offset: Bits<32>,
    /// Offset of the packet's first byte in the buffer.
    pub start: Bits<32>,
    /// Ordinal of the buffer; TAGGED: of the oldest one.
    pub epoch: Bits<16>,
    /// Buffers that take messages, with this one.
    pub credit: Bits<16>,
}

/// Checks of a message, one cycle before [`Head`] is valid, and named as there.
#[derive(LogicStruct, Copy, Clone, Debug, Default, PartialEq)]
pub struct HeadCheck {
    /// See [`Head::stale`].
    pub stale: Bit,
    /// See [`Head::fits`].
    pub fits: Bit,
    /// The message reaches the threshold.
    pub closes: Bit,
    /// See [`Head::offset`].
    pub offset: Bits<32>,
    /// See [`Head::start`].
    pub start: Bits<32>,
    /// Size of the buffer; managed: of the message.
    pub bounded: Bits<32>,
    /// See [`Head::credit`].
    pub credit: Bits<16>,
}

/// A buffer that waits, and its capacity.
#[derive(LogicStruct, Copy, Clone, Debug, Default, PartialEq)]
pub struct WaitingBuffer {
    /// The buffer.
    pub buffer: BufferEntry,
    /// `missing` at the first message.
    pub missing: Bits<32>,
}

/// A mailbox's queue.
#[derive(LogicStruct, Copy, Clone, Debug, Default, PartialEq)]
pub struct QueueEntry {
    /// The queue has a head.
    pub active: Bit,
    /// Slot of the head; TAGGED: of the newest buffer in the window.
    pub head: Bits<14>,
    /// Slot of the last buffer.
    pub tail: Bits<14>,
    /// The head; managed: with the size that is left.
    pub buffer: BufferEntry,
    /// Bytes of the messages bound to the head.
    pub reserved: Bits<32>,
    /// Bytes or operations missing up to the threshold.
    pub missing: Bits<32>,
    /// Buffers ever posted, modulo 2^16.
    pub posted: Bits<16>,
    /// Buffers ever closed (TAGGED: DONE), modulo 2^16: the ordinal of the head.
    pub closed: Bits<16>,
    /// Threshold of the mailbox; managed: less one.
    pub threshold: Bits<32>,
    /// The threshold counts operations.
    pub ops: Bit,
    /// The mailbox is managed.
    pub managed: Bit,
    /// The mailbox is TAGGED.
    pub tagged: Bit,
    /// The mailbox is a stream.
    pub ordered: Bit,
    /// Complete buffers are reported by events.
    pub event: Bit,
    /// TAGGED: window; a stream: ordinal of the message that is bound next.
    pub number: Bits<STREAM_BITS>,
}

/// States of the queue's sequencer.
#[derive(LogicState, Copy, Clone, Debug, PartialEq)]
pub enum QueueState {
    /// Reservations and freed slots.
    Run,
    /// The link of the closed head is read.
    NextLink,
    /// The next buffer is read.
    NextBuffer,
    /// The next buffer becomes the head.
    NextHead,
    /// The queue of the command's mailbox, or of the window that moves, has been read.
    Post,
    /// The size of the buffer is checked.
    Measure,
    /// The queue changes.
    Append,
    /// The positions of a window are emptied.
    Empty,
    /// The window has moved.
    Moved,
    /// The command is complete.
    Done,
}
