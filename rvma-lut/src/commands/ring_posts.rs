//! Ring posts: carries out the commands of the command rings, which post buffers.
//!
//! | neighbour | ports |
//! |---|---|
//! | command rings | in `batch` |
//! | command unit | in `pause`; out `idle` |
//! | regions | out `region` (held) |
//! | lookup | out `request`; in `table_result` |
//! | buffer queue | out `queue_command` (held) |
//! | doorbell | out `report` (pulse), `report_pid` |
//! | registers | out pulse `buffer_posted` |
//!
//! Three stages: a command is decoded, its memory is checked against the process's regions, and the table is asked
//! whether its mailbox is open and belongs to the process; up to eight commands wait for the table; one is with the
//! buffer queue while the next is ready. A buffer is posted every 6 cycles when no packet is bound, and between two
//! posts one packet may be bound. If the regions of the process are checked, a buffer takes 7 cycles when the buffer
//! and its record lie in one region, 8 when they lie in two neighbours of the table, and one more for each region
//! between.
//!
//! Commands of the doorbell and of rings do not mix: while `pause` is high no command begins, and `idle` is high when
//! none is under way. A command that fails stops its ring; the commands after it are discarded. RING_DONE is written at
//! the end of a batch (16 commands at most) and after a failure.

use crate::host_access::regions::RegionQuery;
use crate::prelude::*;
use spindle_contract::commands::{NOTHING, POST_BUFFER, WORD_BUFFER, WORD_CODE, WORD_RECORD, WORD_SIZE};
use spindle_contract::registers::doorbell_error;

/// Address bits of the FIFO of commands that wait for the table.
const REQUESTED_BITS: usize = 3;

/// A command of a ring.
#[derive(LogicStruct, Copy, Clone, Debug, Default, PartialEq)]
pub struct RingPost {
    /// Process.
    pub pid: Bits<6>,
    /// Number of the command.
    pub number: Bits<16>,
    /// Last command of its batch.
    pub last: Bit,
    /// Error found so far.
    pub error: Bits<4>,
    /// NOTHING: the command does nothing.
    pub nothing: Bit,
    /// Mailbox.
    pub mailbox: Bits<12>,
    /// Generation of the mailbox number.
    pub generation: Bits<4>,
    /// Buffer.
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
    pub batch: BatchSink,
    /// Begin no command.
    pub pause: Signal<In, Bit>,
    /// No command is under way.
    pub idle: Signal<Out, Bit>,
    /// Memory that a command names.
    pub region: RegionQuerySource,
    /// Request to the mailbox table.
    pub request: Source<TableRequest>,
    /// Result of the oldest request.
    pub table_result: PulseSink<TableResult>,
    /// Buffer to post.
    pub queue_command: QueueCommandSource,
    /// RING_DONE of a process.
    pub report: Pulse<Bits<32>>,
    /// With `report`: process.
    pub report_pid: Signal<Out, Bits<6>>,
    /// A buffer was posted.
    pub buffer_posted: Signal<Out, Bit>,
    position: Reg<Bits<4>>,
    next: DFF<RingPost>,
    next_valid: Reg<Bit>,
    /// The memory is checked, or needs no check.
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
        self.decode();
        self.permit();
        self.post();
    }

    /// Decodes the next command.
    fn decode(&mut self) {
        let batch = self.batch.val();
        let position = self.position.q.val();
        let last = position == batch.last;
        let takes = self.batch.valid.val() & !self.next_valid.q.val() & !self.pause.val();
        self.batch.ready.next = takes & last;
        self.batch.line_ready.next = takes & !batch.overrun;
        if takes {
            let words = self.batch.line.val();
            let code = words.get_bits::<8>(32 * WORD_CODE);
            let number = words.get_bits::<16>(32 * WORD_CODE + 16);
            let size = words.get_bits::<32>(32 * WORD_SIZE);
            let nothing = code == bits(NOTHING);
            let mut error: Bits<4> = bits::<4>(doorbell_error::NONE);
            if batch.overrun {
                error = bits::<4>(doorbell_error::BAD_ARGUMENT);
            } else if self.batch.error.val() {
                error = bits::<4>(doorbell_error::HOST_ERROR);
            } else if !nothing & (code != bits(POST_BUFFER)) {
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
    }

    /// Checks the memory and asks the table. The table is asked also for commands with an error, so results stay beside
    /// their commands.
    fn permit(&mut self) {
        let next = self.next.q.val();
        let permitted = self.permitted.q.val();
        self.region.valid.next = self.next_valid.q.val() & !permitted;
        self.region.next = RegionQuery {
            pid: next.pid,
            write: true,
            address: next.buffer.base,
            length: next.buffer.size,
            has_record: true,
            record: next.record,
        };
        let answered = self.next_valid.q.val() & !permitted & self.region.done.val();
        let refused = answered & !self.region.ok.val();
        self.permitted.load(answered, true);
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
            ..TableRequest::default()
        };
        self.requested.write.next = next;
        if refused {
            self.requested.write.next.error = bits::<4>(doorbell_error::OUT_OF_REGION);
        }
        self.requested.write.valid.next = requests & self.request.ready.val();
        self.next_valid.load(requests & self.request.ready.val(), false);
        self.answers.write.next = self.table_result.val().hit;
        self.answers.write.valid.next = self.table_result.valid.val() & self.requested.read.valid.val();
    }

    /// Posts a buffer, while the next command becomes ready.
    fn post(&mut self) {
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
        self.batch.current_pid.next = job.pid;
        let discarded = self.batch.stopped.val();
        let needs_no_post = job.error.any() | job.nothing;
        let starts = self.job_valid.q.val() & !posts;
        if starts {
            self.job_valid.d.next = false;
            self.posting.d.next = job;
            self.posting_valid.d.next = !discarded & !needs_no_post;
        } else if self.queue_command.done.val() {
            self.posting_valid.d.next = false;
        }
        self.queue_command.valid.next = posts;
        self.queue_command.next = QueueCommand {
            op: bits::<2>(QUEUE_POST),
            mailbox: posting.mailbox,
            pid: posting.pid,
            buffer: posting.buffer,
            record: posting.record,
            ..QueueCommand::default()
        };

        // The end of a command: RING_DONE, or the stop of its ring.
        let posted = posts & self.queue_command.done.val();
        let ended = if posts { posting } else { job };
        let ends = posted | (starts & (needs_no_post | discarded));
        self.error.next = job.error;
        if posts {
            self.error.next = bits::<4>(doorbell_error::NONE);
            if self.queue_command.small.val() {
                self.error.next = bits::<4>(doorbell_error::BAD_ARGUMENT);
            } else if !self.queue_command.ok.val() {
                self.error.next = bits::<4>(doorbell_error::NO_SLOT);
            }
        }
        let counts = posted | (starts & needs_no_post & !discarded);
        let fails = counts & self.error.val().any();
        self.buffer_posted.next = posted & !self.error.val().any();
        self.batch.done.next = ends & ended.last;
        self.batch.halt.next = fails;
        self.batch.halt_pid.next = ended.pid;
        self.batch.halt_at.next = ended.number;
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
