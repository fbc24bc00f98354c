//! What the buffer queue is asked and says, what it keeps of a mailbox, and the states of its sequencer.

use crate::prelude::*;
use spindle_contract::params::STREAM_BITS;

/// What a binding asks of the head buffer.
#[derive(LogicStruct, Copy, Clone, Debug, Default, PartialEq)]
pub struct MessageSpan {
    /// Bytes of the message.
    pub msg_len: Bits<32>,
    /// First byte of the packet in the buffer; managed: in the message.
    pub start: Bits<32>,
    /// First byte behind the message in the buffer; managed: its length.
    pub end: Bits<32>,
}

/// The window of a mailbox, and the epoch (of a stream: the ordinal) that a packet names.
#[derive(LogicStruct, Copy, Clone, Debug, Default, PartialEq)]
pub struct Tag {
    /// The mailbox is TAGGED.
    pub tagged: Bit,
    /// Its window.
    pub window: Bits<9>,
    /// The epoch, or the ordinal.
    pub epoch: Bits<16>,
}

/// The head buffer of the mailbox; TAGGED: the one whose epoch the packet names.
#[derive(LogicStruct, Copy, Clone, Debug, Default, PartialEq)]
pub struct Head {
    /// There is one; of a stream: and it is this message's turn.
    pub active: Bit,
    /// There was one, but it takes no messages any more; of a stream: the message's turn is over.
    pub stale: Bit,
    /// The message ends inside it.
    pub fits: Bit,
    /// Its slot.
    pub slot: Bits<14>,
    /// The buffer; managed: its size is the message's.
    pub buffer: BufferEntry,
    /// Where the message lies in the buffer, if the mailbox chooses that.
    pub offset: Bits<32>,
    /// First byte of the packet in the buffer.
    pub start: Bits<32>,
    /// Its ordinal; TAGGED: of the oldest one.
    pub epoch: Bits<16>,
    /// Buffers that take messages, this one included.
    pub credit: Bits<16>,
}

/// What is found out of a message a cycle before [`Head`] is valid, named as there.
#[derive(LogicStruct, Copy, Clone, Debug, Default, PartialEq)]
pub struct HeadCheck {
    /// See [`Head::stale`].
    pub stale: Bit,
    /// See [`Head::fits`].
    pub fits: Bit,
    /// It reaches the threshold.
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

/// A buffer that waits, and how much of it there is to take.
#[derive(LogicStruct, Copy, Clone, Debug, Default, PartialEq)]
pub struct WaitingBuffer {
    /// The buffer.
    pub buffer: BufferEntry,
    /// `missing` of its first message.
    pub missing: Bits<32>,
}

/// A mailbox's queue.
#[derive(LogicStruct, Copy, Clone, Debug, Default, PartialEq)]
pub struct QueueEntry {
    /// There is a head.
    pub active: Bit,
    /// Slot of the head; TAGGED: of the newest buffer in the window.
    pub head: Bits<14>,
    /// Slot of the last buffer.
    pub tail: Bits<14>,
    /// The head; managed: its size is what is left of it.
    pub buffer: BufferEntry,
    /// Bytes of the messages bound to the head.
    pub reserved: Bits<32>,
    /// What is missing up to the threshold.
    pub missing: Bits<32>,
    /// Buffers ever posted, modulo 2^16.
    pub posted: Bits<16>,
    /// Buffers ever closed (TAGGED: DONE), modulo 2^16: the ordinal of the head.
    pub closed: Bits<16>,
    /// Of the mailbox; managed: less one.
    pub threshold: Bits<32>,
    /// It counts operations.
    pub ops: Bit,
    /// It is managed.
    pub managed: Bit,
    /// It is TAGGED.
    pub tagged: Bit,
    /// It is a stream.
    pub ordered: Bit,
    /// TAGGED: its window; a stream: ordinal of the message that it binds next.
    pub number: Bits<STREAM_BITS>,
}

/// States of the queue's sequencer.
#[derive(LogicState, Copy, Clone, Debug, PartialEq)]
pub enum QueueState {
    /// Bindings and freed slots.
    Run,
    /// The link of the closed head is read.
    NextLink,
    /// The buffer behind it is read.
    NextBuffer,
    /// It becomes the head.
    NextHead,
    /// The queue of the mailbox that gets a buffer, or whose window moves, has been read.
    Post,
    /// The buffer is measured.
    Measure,
    /// The buffer is appended.
    Append,
    /// The places of a window are emptied.
    Empty,
    /// The window has moved.
    Moved,
    /// The doorbell hears of it.
    Done,
}
