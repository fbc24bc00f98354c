//! Arithmetic of the [`buffer_queue`](crate::placement::buffer_queue): a mailbox's queue after a reservation, a posted
//! buffer, a closed head.

use crate::placement::queue_types::{HeadCheck, MessageSpan, QueueEntry, Tag, WaitingBuffer};
use crate::placement::windows::WindowEntry;
use crate::prelude::*;
use spindle_contract::params::STREAM_BITS;

/// Checks a message against the head, or against a position of the window; `epoch` is that of the position, of a stream
/// the ordinal of the next message.
#[hdl_fn]
pub fn check(head: QueueEntry, span: MessageSpan, tag: Tag, epoch: Bits<16>, position_open: Bit) -> HeadCheck {
    let offset = head.reserved & repeat::<32>(head.managed);
    let step = if head.ops { bits::<32>(1) } else { span.msg_len };
    let late =
        if tag.tagged { (tag.epoch - head.closed).get_bit(15) } else { (tag.epoch - epoch).get_bit(STREAM_BITS - 1) };
    HeadCheck {
        stale: ((tag.tagged | head.ordered) & late) | (tag.tagged & (epoch == tag.epoch) & !position_open),
        fits: span.end <= head.buffer.size,
        closes: step >= head.missing,
        offset: offset,
        start: span.start + offset,
        bounded: if head.managed { span.msg_len } else { head.buffer.size },
        credit: head.posted - head.closed,
    }
}

/// The queue with the message bound, if its head takes it.
#[hdl_fn]
pub fn bind(head: QueueEntry, span: MessageSpan, tag: Tag, epoch: Bits<16>) -> QueueEntry {
    let apart = epoch ^ tag.epoch;
    let same = !apart.get_bits::<STREAM_BITS>(0).any() & !(tag.tagged & apart.any());
    let step = if head.ops { bits::<32>(1) } else { span.msg_len };
    QueueEntry {
        active: head.active & (same | !(tag.tagged | head.ordered)),
        buffer: BufferEntry {
            base: head.buffer.base,
            size: if head.managed { head.buffer.size - span.msg_len } else { head.buffer.size },
        },
        reserved: head.reserved + span.msg_len,
        missing: head.missing - step,
        number: if head.ordered { head.number + 1 } else { head.number },
        ..head
    }
}

/// The queue of a mailbox that is opened, or emptied.
#[hdl_fn]
pub fn opened(post: QueueCommand, window: Bits<9>) -> QueueEntry {
    QueueEntry {
        active: false,
        threshold: post.threshold,
        ops: post.ops,
        managed: post.managed,
        tagged: post.tagged & post.opens,
        ordered: post.ordered & post.opens,
        event: post.event,
        number: bit_cast::<STREAM_BITS, 9>(window & repeat::<9>(post.tagged)),
        ..Default::default()
    }
}

/// The queue with another buffer, which is the head if there is none, or, with `position_free`, the newest in the
/// window.
#[hdl_fn]
pub fn appended(queue: QueueEntry, slot: Bits<14>, posted: WaitingBuffer, position_free: Bit) -> QueueEntry {
    let first = !queue.active;
    QueueEntry {
        active: true,
        head: if first | (queue.tagged & position_free) { slot } else { queue.head },
        tail: slot,
        buffer: if first { posted.buffer } else { queue.buffer },
        reserved: if first { bits::<32>(0) } else { queue.reserved },
        missing: if first { posted.missing } else { queue.missing },
        posted: queue.posted + 1,
        ..queue
    }
}

/// The queue with the buffer after the head as its head.
#[hdl_fn]
pub fn advanced(queue: QueueEntry, slot: Bits<14>, waiting: WaitingBuffer) -> QueueEntry {
    QueueEntry {
        head: slot,
        buffer: waiting.buffer,
        reserved: bits::<32>(0),
        missing: waiting.missing,
        closed: queue.closed + 1,
        ..queue
    }
}

/// A position of a window with a buffer that takes messages.
#[hdl_fn]
pub fn open_position(epoch: Bits<16>, slot: Bits<14>, waiting: WaitingBuffer) -> WindowEntry {
    WindowEntry {
        open: true,
        epoch: epoch,
        slot: slot,
        buffer: waiting.buffer,
        reserved: bits::<32>(0),
        missing: waiting.missing,
    }
}
