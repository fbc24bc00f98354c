//! Bundles between the blocks of this engine, each declared from the side that starts the transaction.

use crate::commands::command_rings::Batch;
use crate::completion::receive_maps::{MapQuery, NUMBER};
use crate::host_access::regions::RegionQuery;
use crate::placement::queue_types::{Head, MessageSpan, Tag};
use crate::types::{BufferEntry, QueueCommand};
use spindle_verilog::prelude::*;

/// Words from a pipeline that cannot stop: the words already in the pipeline follow after `headroom` has fallen.
#[bundle(mirror = HeadroomSink)]
pub struct HeadroomSource<T: Synth> {
    /// Word.
    pub payload: Signal<Out, T>,
    /// Word present.
    pub valid: Signal<Out, Bit>,
    /// Room for the words in the pipeline (four at most) and another one.
    pub headroom: Signal<In, Bit>,
}

/// Reservation of space in the head buffer of a mailbox, for one message. Cycle 0: `fetch`; cycle 1: `load`; cycle 3:
/// `head` and `commit`.
#[bundle(mirror = ReservationSink)]
pub struct ReservationSource {
    /// Cycle 0: read the queue of `mailbox`; only while `fetch_ready`, and not in two successive cycles.
    pub fetch: Signal<Out, Bit>,
    /// Cycles 0 and 1: mailbox.
    pub mailbox: Signal<Out, Bits<12>>,
    /// Cycles 0 and 1: window of the mailbox, epoch of the packet.
    pub tag: Signal<Out, Tag>,
    /// Cycle 1: go on with the fetched queue.
    pub load: Signal<Out, Bit>,
    /// Cycle 1: the message.
    pub message: Signal<Out, MessageSpan>,
    /// Cycle 1: frame sequence number, for the buffer event.
    pub frame: Signal<Out, Bits<16>>,
    /// A fetch may start.
    pub fetch_ready: Signal<In, Bit>,
    /// Cycle 1: no load, fetch again later.
    pub retry: Signal<In, Bit>,
    /// Cycle 3: head buffer of the mailbox.
    pub head: Signal<In, Head>,
    /// Cycle 3: bind the message to the head buffer.
    pub commit: Signal<Out, Bit>,
}

/// Change of a mailbox's queue.
#[bundle(mirror = QueueCommandSink)]
pub struct QueueCommandSource {
    /// The change; stable until `done`.
    pub payload: Signal<Out, QueueCommand>,
    /// Change requested; held until `done`.
    pub valid: Signal<Out, Bit>,
    /// Change complete.
    pub done: Signal<In, Bit>,
    /// With `done`: `QUEUE_POST` found a free slot; `QUEUE_INIT` of a TAGGED mailbox found a free window.
    pub ok: Signal<In, Bit>,
    /// With `done`: the buffer is too small for the mailbox and was not posted.
    pub small: Signal<In, Bit>,
}

/// Read of a posted buffer by its slot.
#[bundle(mirror = PeekSink)]
pub struct PeekSource {
    /// Slot; stable until `done`.
    pub slot: Signal<Out, Bits<14>>,
    /// Read requested; held until `done`.
    pub valid: Signal<Out, Bit>,
    /// With `done`: the buffer.
    pub buffer: Signal<In, BufferEntry>,
    /// Read complete.
    pub done: Signal<In, Bit>,
}

/// Slot that becomes free.
#[bundle(mirror = FreedSlotSink)]
pub struct FreedSlotSource {
    /// Slot.
    pub slot: Signal<Out, Bits<14>>,
    /// Mailbox of its buffer.
    pub mailbox: Signal<Out, Bits<12>>,
    /// That mailbox is TAGGED: its window moves.
    pub tagged: Signal<Out, Bit>,
    /// Slot offered.
    pub valid: Signal<Out, Bit>,
    /// Slot taken.
    pub ready: Signal<In, Bit>,
}

/// Taking back of buffers before they are full.
#[bundle(mirror = ReclaimSink)]
pub struct ReclaimSource {
    /// Reclaim requested; held until `done`.
    pub valid: Signal<Out, Bit>,
    /// All buffers of the mailbox; else the oldest one.
    pub closes: Signal<Out, Bit>,
    /// Reclaim complete.
    pub done: Signal<In, Bit>,
    /// With `done`: there was a buffer.
    pub found: Signal<In, Bit>,
}

/// Check of host memory against the regions of a process.
#[bundle(mirror = RegionQuerySink)]
pub struct RegionQuerySource {
    /// Memory; stable until `done`.
    pub payload: Signal<Out, RegionQuery>,
    /// Check requested; held until `done`.
    pub valid: Signal<Out, Bit>,
    /// Check complete.
    pub done: Signal<In, Bit>,
    /// With `done`: the process may use the memory.
    pub ok: Signal<In, Bit>,
}

/// Read or end of a receive map.
#[bundle(mirror = MapQuerySink)]
pub struct MapQuerySource {
    /// Query; stable until `done`.
    pub payload: Signal<Out, MapQuery>,
    /// Query present; held until `done`.
    pub valid: Signal<Out, Bit>,
    /// Query answered.
    pub done: Signal<In, Bit>,
    /// With `done`: the map belongs to the process.
    pub ok: Signal<In, Bit>,
    /// With `done`: word of the map.
    pub word: Signal<In, Bits<64>>,
}

/// Assignment of a receive map to the buffer that is being posted.
#[bundle(mirror = MapAssignSink)]
pub struct MapAssignSource {
    /// The posted buffer gets map `next`.
    pub assign: Signal<Out, Bit>,
    /// Logarithm of the granule.
    pub granule: Signal<Out, Bits<5>>,
    /// A map is free.
    pub any: Signal<In, Bit>,
    /// Number of that map.
    pub next: Signal<In, Bits<NUMBER>>,
}

/// Doorbell command of a process, with its result.
#[bundle(mirror = DoorbellCommandSink)]
pub struct DoorbellCommandSource {
    /// Process that writes COMMAND.
    pub pid: Signal<Out, Bits<6>>,
    /// Value written to COMMAND.
    pub code: Signal<Out, Bits<32>>,
    /// COMMAND written.
    pub start: Signal<Out, Bit>,
    /// A command is being carried out.
    pub busy: Signal<In, Bit>,
    /// That command may take long: other processes get BUSY.
    pub slow: Signal<In, Bit>,
    /// Process of that command.
    pub owner: Signal<In, Bits<6>>,
    /// Word of the result.
    pub result: Signal<In, Bits<32>>,
    /// Number of the word in the page; RESULT comes last.
    pub result_word: Signal<In, Bits<5>>,
    /// Word of the result present.
    pub result_valid: Signal<In, Bit>,
}

/// Read of the staged registers of the process whose command is carried out.
#[bundle(mirror = ArgumentSink)]
pub struct ArgumentSource {
    /// Number of the word.
    pub index: Signal<Out, Bits<5>>,
    /// Read the word.
    pub read: Signal<Out, Bit>,
    /// One cycle later: the word.
    pub word: Signal<In, Bits<32>>,
}

/// Pointer into a ring of a process, as the host wrote it.
#[bundle(mirror = RingPointerSink)]
pub struct RingPointerSource {
    /// Records read, or commands written, modulo 2^16.
    pub payload: Signal<Out, Bits<16>>,
    /// Process.
    pub pid: Signal<Out, Bits<6>>,
    /// Pointer written.
    pub valid: Signal<Out, Bit>,
}

/// Word that a process wrote.
#[bundle(mirror = ProcessWordSink)]
pub struct ProcessWordSource {
    /// The word.
    pub payload: Signal<Out, Bits<32>>,
    /// Process.
    pub pid: Signal<Out, Bits<6>>,
    /// Word written.
    pub valid: Signal<Out, Bit>,
}

/// Commands of a ring, and the stopping of rings.
#[bundle(mirror = BatchSink)]
pub struct BatchSource {
    /// Commands that have arrived.
    pub payload: Signal<Out, Batch>,
    /// The host answered the read of the batch with an error.
    pub error: Signal<Out, Bit>,
    /// Batch offered; its commands follow one per cycle.
    pub valid: Signal<Out, Bit>,
    /// Last command of the batch taken.
    pub ready: Signal<In, Bit>,
    /// Next command of the batch.
    pub line: Signal<Out, Bits<512>>,
    /// The command is taken.
    pub line_ready: Signal<In, Bit>,
    /// Last command of a batch complete.
    pub done: Signal<In, Bit>,
    /// Process whose ring `stopped` is about.
    pub current_pid: Signal<In, Bits<6>>,
    /// The ring of `current_pid` is stopped.
    pub stopped: Signal<Out, Bit>,
    /// Stop the ring of `halt_pid`.
    pub halt: Signal<In, Bit>,
    /// Process.
    pub halt_pid: Signal<In, Bits<6>>,
    /// Number of the command that failed.
    pub halt_at: Signal<In, Bits<16>>,
    /// With `halt`: the ring begins again with that command by itself.
    pub halt_again: Signal<In, Bit>,
}
