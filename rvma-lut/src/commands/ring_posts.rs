//! Ring posts: carries out the commands of the command rings, which post buffers.
//!
//! | neighbour | ports |
//! |---|---|
//! | command rings | in `batch`, `batch_error`, `batch_valid`; out `batch_ready`; in `line`; out `line_ready`, `batch_done`; out `looked_at`, in `stopped`; out `halt`, `halt_pid`, `halt_at` |
//! | command unit | in `pause`; out `idle` |
//! | regions | out `query`, `query_valid` (held); in `query_done`, `query_ok` |
//! | lookup | out `request`, `request_valid`; in `request_ready`; in `table_result`, `found_valid` |
//! | buffer queue | out `queue_command`, `queue_valid` (held); in `queue_done`, `queue_ok`, `queue_small` |
//! | doorbell | out `report`, `report_pid`, `report_valid` (pulse, no ready) |
//! | registers | out pulse `buffer_posted` |
//!
//! Three stages: a command is taken apart, its memory is looked for in the process's regions, and the table asked whether its mailbox is open and
//! the process's own; up to eight wait for answers; one is with the buffer queue while the next is ready. A buffer is posted every 6 cycles when no packet is bound, and between two
//! there is a cycle in which a packet may be. Of a process whose regions are checked a buffer takes 7 cycles if it and its
//! record lie in one region, 8 if in two that are neighbours in the table, and one more for each region between.
//!
//! The doorbell's commands and these do not mix: with `pause` no further command is begun, and `idle` says that none is under way. A command
//! that fails stops its ring, and those behind it are thrown away. The process is told with the end of a batch (16 commands at most),
//! and with a failure.

use crate::commands::command_rings::Batch;
use crate::host_access::regions::RegionQuery;
use crate::types::{BufferEntry, QueueCommand, TableRequest, TableResult, NUMBER, QUEUE_POST};
use spindle_blocks::Fifo;
use spindle_contract::commands::{NOTHING, POST_BUFFER, WORD_BUFFER, WORD_CODE, WORD_RECORD, WORD_SIZE};
use spindle_contract::registers::doorbell_error;
use spindle_verilog::prelude::*;

/// Address bits of the FIFO of commands that wait for the table.
const REQUESTED_BITS: usize = 3;

/// A command of a ring.
#[derive(LogicStruct, Copy, Clone, Debug, Default, PartialEq)]
pub struct RingPost {
    /// Whose.
    pub pid: Bits<6>,
    /// Its number.
    pub number: Bits<16>,
    /// The last of its batch.
    pub last: Bit,
    /// Why it cannot be carried out, as far as it says itself.
    pub error: Bits<4>,
    /// It is none.
    pub nothing: Bit,
    /// Mailbox.
    pub mailbox: Bits<12>,
    /// Which of those that had this number.
    pub generation: Bits<4>,
    /// The buffer.
    pub buffer: BufferEntry,
    /// Host address of the record, without its four zero bits.
    pub record: Bits<60>,
}

/// A buffer of no bytes, or a record that is not aligned.
#[hdl_fn]
pub fn bad_buffer(size: Bits<32>, record_low: Bits<32>) -> Bit {
    !size.any() | record_low.get_bits::<4>(0).any()
}

/// The unit. See the module text.
#[block]
pub struct RingPosts {
    /// Commands of a process.
    pub batch: Sink<Batch>,
    /// They could not be read.
    pub batch_error: Signal<In, Bit>,
    /// The next two.
    pub line: Signal<In, Bits<512>>,
    /// Both are taken.
    pub line_ready: Signal<Out, Bit>,
    /// The last command of a batch has ended.
    pub batch_done: Signal<Out, Bit>,
    /// Process whose ring is looked at.
    pub looked_at: Signal<Out, Bits<6>>,
    /// It is stopped.
    pub stopped: Signal<In, Bit>,
    /// Stop a ring.
    pub halt: Signal<Out, Bit>,
    /// Of this process.
    pub halt_pid: Signal<Out, Bits<6>>,
    /// At this command.
    pub halt_at: Signal<Out, Bits<16>>,
    /// Begin nothing.
    pub pause: Signal<In, Bit>,
    /// Nothing is under way.
    pub idle: Signal<Out, Bit>,
    /// Memory that a command names.
    pub query: Pulse<RegionQuery>,
    /// There is an answer.
    pub query_done: Signal<In, Bit>,
    /// With it: it may.
    pub query_ok: Signal<In, Bit>,
    /// Question to the table.
    pub request: Source<TableRequest>,
    /// The table's answer to the oldest question.
    pub table_result: PulseSink<TableResult>,
    /// Buffer to post.
    pub queue_command: Signal<Out, QueueCommand>,
    /// Held until `queue_done`.
    pub queue_valid: Signal<Out, Bit>,
    /// It is done.
    pub queue_done: Signal<In, Bit>,
    /// With it: there was a free slot.
    pub queue_ok: Signal<In, Bit>,
    /// With it: the buffer is too small.
    pub queue_small: Signal<In, Bit>,
    /// RING_DONE of a process.
    pub report: Pulse<Bits<32>>,
    /// Which.
    pub report_pid: Signal<Out, Bits<6>>,
    /// A buffer was posted.
    pub buffer_posted: Signal<Out, Bit>,
    position: Reg<Bits<4>>,
    next: DFF<RingPost>,
    next_valid: Reg<Bit>,
    /// Its process may name its memory, or that does not matter.
    permitted: Reg<Bit>,
    requested: Fifo<RingPost, REQUESTED_BITS>,
    answers: Fifo<Bit, REQUESTED_BITS>,
    job: DFF<RingPost>,
    job_valid: Reg<Bit>,
    posting: DFF<RingPost>,
    posting_valid: Reg<Bit>,
    report_out: DFF<Bits<32>>,
    report_pid_out: DFF<Bits<6>>,
    report_out_valid: Reg<Bit>,
    error: Signal<Local, Bits<4>>,
    _mailboxes: u64,
}

impl RingPosts {
    /// The unit in front of a table of `mailboxes` entries.
    pub fn new(mailboxes: usize) -> Self {
        Self { _mailboxes: mailboxes as u64, ..Self::blank() }
    }
}

#[hdl]
impl RingPosts {
    fn update(&mut self) {
        // The next command.
        let batch = self.batch.val();
        let position = self.position.q.val();
        let last = position == batch.last;
        let takes = self.batch.valid.val() & !self.next_valid.q.val() & !self.pause.val();
        self.batch.ready.next = takes & last;
        self.line_ready.next = takes & !batch.overrun & (last | position.get_bit(0));
        if takes {
            let line = self.line.val();
            let words = if position.get_bit(0) { line.get_bits::<256>(256) } else { line.get_bits::<256>(0) };
            let code = words.get_bits::<8>(32 * WORD_CODE);
            let number = words.get_bits::<16>(32 * WORD_CODE + 16);
            let size = words.get_bits::<32>(32 * WORD_SIZE);
            let nothing = code == (NOTHING as u64);
            let mut error: Bits<4> = bits::<4>(doorbell_error::NONE);
            if batch.overrun {
                error = bits::<4>(doorbell_error::BAD_ARGUMENT);
            } else if self.batch_error.val() {
                error = bits::<4>(doorbell_error::HOST_ERROR);
            } else if !nothing & (code != (POST_BUFFER as u64)) {
                error = bits::<4>(doorbell_error::UNSUPPORTED);
            } else if !nothing & bad_buffer(size, words.get_bits::<32>(32 * WORD_RECORD)) {
                error = bits::<4>(doorbell_error::BAD_ARGUMENT);
            } else if !nothing & (number.get_bits::<12>(0) > bits::<12>(self._mailboxes - 1)) {
                error = bits::<4>(doorbell_error::NO_MAILBOX);
            }
            self.next_valid.d.next = true;
            self.permitted.d.next = error.any() | nothing;
            self.next.d.next = RingPost {
                pid: batch.pid,
                number: batch.first + bit_cast::<16, 4>(position),
                last: last,
                error: error,
                nothing: nothing,
                mailbox: number.get_bits::<12>(0),
                generation: number.get_bits::<4>(12),
                buffer: BufferEntry { base: words.get_bits::<64>(32 * WORD_BUFFER), size: size },
                record: words.get_bits::<60>(32 * WORD_RECORD + 4),
            };
            self.position.d.next = if last { bits::<4>(0) } else { position + 1 };
        }

        // The table is asked also for what is wrong already, so that answers stay beside their commands.
        let next = self.next.q.val();
        let permitted = self.permitted.q.val();
        self.query.valid.next = self.next_valid.q.val() & !permitted;
        self.query.next = RegionQuery {
            pid: next.pid,
            write: true,
            address: next.buffer.base,
            length: next.buffer.size,
            has_record: true,
            record: next.record,
        };
        let answered = self.next_valid.q.val() & !permitted & self.query_done.val();
        let refused = answered & !self.query_ok.val();
        if answered {
            self.permitted.d.next = true;
        }
        if refused {
            self.next.d.next.error = bits::<4>(doorbell_error::OUT_OF_REGION);
        }
        let requests = self.next_valid.q.val() & (permitted | answered) & self.requested.write.ready.val();
        self.request.valid.next = requests;
        self.request.next = TableRequest {
            op: bits::<3>(NUMBER),
            pid: bit_cast::<16, 6>(next.pid),
            mailbox: next.mailbox,
            generation: next.generation,
            ..Default::default()
        };
        self.requested.write.next = next;
        if refused {
            self.requested.write.next.error = bits::<4>(doorbell_error::OUT_OF_REGION);
        }
        self.requested.write.valid.next = requests & self.request.ready.val();
        if requests & self.request.ready.val() {
            self.next_valid.d.next = false;
        }
        self.answers.write.next = self.table_result.val().hit;
        self.answers.write.valid.next = self.table_result.valid.val() & self.requested.read.valid.val();

        // One is made ready while another is being posted.
        let waits = self.requested.read.valid.val() & self.answers.read.valid.val();
        let loads = waits & !self.job_valid.q.val();
        self.requested.read.ready.next = loads;
        self.answers.read.ready.next = loads;
        if loads {
            self.job_valid.d.next = true;
            self.job.d.next = self.requested.read.val();
            if !self.requested.read.val().error.any() & !self.requested.read.val().nothing & !self.answers.read.val() {
                self.job.d.next.error = bits::<4>(doorbell_error::NO_MAILBOX);
            }
        }
        let job = self.job.q.val();
        let posting = self.posting.q.val();
        let posts = self.posting_valid.q.val();
        self.looked_at.next = job.pid;
        let discarded = self.stopped.val();
        let needs_no_post = job.error.any() | job.nothing;
        let starts = self.job_valid.q.val() & !posts;
        if starts {
            self.job_valid.d.next = false;
            self.posting.d.next = job;
            self.posting_valid.d.next = !discarded & !needs_no_post;
        } else if self.queue_done.val() {
            self.posting_valid.d.next = false;
        }
        self.queue_valid.next = posts;
        self.queue_command.next = QueueCommand {
            op: bits::<2>(QUEUE_POST),
            mailbox: posting.mailbox,
            pid: posting.pid,
            buffer: posting.buffer,
            record: posting.record,
            ..Default::default()
        };

        // How a command ended.
        let posted = posts & self.queue_done.val();
        let ended = if posts { posting } else { job };
        let ends = posted | (starts & (needs_no_post | discarded));
        self.error.next = job.error;
        if posts {
            self.error.next = bits::<4>(doorbell_error::NONE);
            if self.queue_small.val() {
                self.error.next = bits::<4>(doorbell_error::BAD_ARGUMENT);
            } else if !self.queue_ok.val() {
                self.error.next = bits::<4>(doorbell_error::NO_SLOT);
            }
        }
        let counts = posted | (starts & needs_no_post & !discarded);
        let fails = counts & self.error.val().any();
        self.buffer_posted.next = posted & !self.error.val().any();
        self.batch_done.next = ends & ended.last;
        self.halt.next = fails;
        self.halt_pid.next = ended.pid;
        self.halt_at.next = ended.number;
        self.report_out_valid.d.next = fails | (counts & ended.last);
        if counts {
            let done = if fails { ended.number } else { ended.number + 1 };
            self.report_out.d.next = (bits::<12>(0), self.error.val(), done).cat::<32>();
            self.report_pid_out.d.next = ended.pid;
        }
        self.report.next = self.report_out.q.val();
        self.report_pid.next = self.report_pid_out.q.val();
        self.report.valid.next = self.report_out_valid.q.val();
        self.idle.next = !self.next_valid.q.val()
            & !self.requested.read.valid.val()
            & !self.job_valid.q.val()
            & !posts
            & !self.report_out_valid.q.val();
    }
}
