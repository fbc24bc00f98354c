//! Ring posts: carries out the commands of the command rings, which post buffers, put, get and send frames.
//!
//! | neighbour | ports |
//! |---|---|
//! | command rings | in `batch` |
//! | command unit | in `pause`; out `idle` |
//! | regions | out `region` (held) |
//! | lookup | out `request`; in `table_result` |
//! | buffer queue | out `queue_command` (held) |
//! | put arbiter | out `put` |
//! | frame sends | out `frame` |
//! | doorbell | out `report` (pulse), `report_pid` |
//! | registers | out pulse `buffer_posted`; in `senders`: processes that may send frames |
//!
//! Three stages: a command is decoded, its memory is checked against the process's regions, and the table is asked
//! whether its mailbox is open and belongs to the process; up to eight commands wait for the table; one is with the
//! buffer queue while the next is ready. A buffer is posted every 6 cycles when no packet is bound, and between two
//! posts one packet may be bound. If the regions of the process are checked, a buffer takes 7 cycles when the buffer
//! and its record lie in one region, 8 when they lie in two neighbours of the table, and one more for each region
//! between.
//!
//! A put, get or frame takes 2 cycles, or as long as its receiver takes: RING_DONE counts it when it has been handed on. One that
//! is not taken for [`PATIENCE`] cycles leaves its ring, which is fetched again from there on, so that the other rings go on.
//!
//! Commands of the doorbell and of rings do not mix: while `pause` is high no command begins, and `idle` is high when
//! none is under way. A command that fails stops its ring; the commands after it are discarded. RING_DONE is written at
//! the end of a batch (16 commands at most) and when a ring stops or is left.

use crate::commands::put_arbiter::{put_of_process, ProcessPut};
use crate::host_access::frame_sends::FrameSend;
use crate::host_access::frame_sums::FrameChecksum;
use crate::host_access::regions::RegionQuery;
use crate::prelude::*;
use spindle_contract::commands::*;
use spindle_contract::registers::doorbell_error;

/// Address bits of the FIFO of commands that wait for the table.
const REQUESTED_BITS: usize = 3;
/// Address bits of the counter of cycles for which a put or frame waits.
const PATIENCE_BITS: usize = 8;
/// Cycles for which a put or frame waits.
pub const PATIENCE: u64 = 1 << PATIENCE_BITS;
/// First bits of the cookie and of the flags of a command.
const COOKIE_AT: usize = 32 * WORD_CODE + 16;
const FLAGS_AT: usize = 32 * WORD_CODE + 8;

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
    /// The command: one of `POSTS` to `SENDS`, or nothing.
    pub kind: Bits<3>,
    /// Flags of PUT, GET and SEND_FRAME.
    pub flags: Bits<3>,
    /// Mailbox {generation, number}; PUT, GET, SEND_FRAME: cookie.
    pub mailbox: Bits<16>,
    /// Buffer, bytes of a put, or frame. GET: address of the reply mailbox, and bytes.
    pub buffer: BufferEntry,
    /// Host address of the record; PUT, GET: address of the mailbox there. SEND_FRAME: checksum.
    pub addr: Bits<64>,
    /// PUT, GET: key there.
    pub key: Bits<32>,
    /// PUT, GET: offset there.
    pub offset: Bits<32>,
    /// PUT, GET: node.
    pub node: Bits<8>,
    /// PUT, GET: process there.
    pub target: Bits<16>,
    /// GET: offset of the reply.
    pub reply_off: Bits<32>,
    /// PUT: epoch; GET: key of the reply mailbox.
    pub reply_key: Bits<32>,
}

/// [`RingPost::kind`]: posts a buffer.
const POSTS: u64 = 1;
/// [`RingPost::kind`]: puts.
const PUTS: u64 = 2;
/// [`RingPost::kind`]: gets.
const GETS: u64 = 3;
/// [`RingPost::kind`]: sends a frame.
const SENDS: u64 = 4;

/// Kind of a command; 0: nothing, or unknown.
#[hdl_fn]
fn kind_of(code: Bits<8>) -> Bits<3> {
    if code == bits(POST_BUFFER) {
        bits::<3>(POSTS)
    } else if code == bits(PUT) {
        bits::<3>(PUTS)
    } else if code == bits(GET) {
        bits::<3>(GETS)
    } else if code == bits(SEND_FRAME) {
        bits::<3>(SENDS)
    } else {
        bits::<3>(0)
    }
}

/// A buffer of no bytes, or a record that is not aligned.
#[hdl_fn]
pub fn bad_buffer(size: Bits<32>, record_low: Bits<32>) -> Bit {
    !size.any() | record_low.get_bits::<4>(0).any()
}

/// A checksum that cannot be inserted: `start` or `offset` is odd or too large, or the field is not in the frame.
#[hdl_fn]
fn bad_checksum(word: Bits<32>, size: Bits<32>) -> Bit {
    let start = word.get_bits::<16>(0);
    let offset = word.get_bits::<16>(16);
    let odd = ((start | offset) & !bits::<16>(MAX_CHECKSUM)).any();
    // Both are even, so the last byte of the field is the odd one.
    let field_end = (zext::<9, 8>(start.get_bits::<8>(0)) + zext::<9, 8>(offset.get_bits::<8>(0))) | bits::<9>(1);
    let outside = !size.get_bits::<23>(9).any() & (size.get_bits::<9>(0) <= field_end);
    odd | outside
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
    /// Put or get; `frame` is its cookie.
    pub put: Source<PutDesc>,
    /// Frame to send.
    pub frame: Source<FrameSend>,
    /// Bit p = process p may send frames.
    pub senders: Signal<In, Bits<64>>,
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
    waited: Reg<Bits<PATIENCE_BITS>>,
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
            let number = words.get_bits::<16>(COOKIE_AT);
            let flags = words.get_bits::<8>(FLAGS_AT);
            let size = words.get_bits::<32>(32 * WORD_SIZE);
            let kind = kind_of(code);
            let posts = kind == bits(POSTS);
            let frames = kind == bits(SENDS);
            let unknown = !kind.any() & (code != bits(NOTHING));
            let unsupported = unknown | (frames & (flags & !bits::<8>(FRAME_EVENT | FRAME_CHECKSUM)).any());
            let inserts = (flags & bits::<8>(FRAME_CHECKSUM)).any();
            let bad_frame = (size < bits::<32>(MIN_FRAME))
                | (size > bits::<32>(MAX_FRAME))
                | (inserts & bad_checksum(words.get_bits::<32>(32 * WORD_CHECKSUM), size));
            let bad = (posts & bad_buffer(size, words.get_bits::<32>(32 * WORD_RECORD))) | (frames & bad_frame);
            let no_right = frames & !self.senders.val().get_bit(batch.pid.index());
            let mut error: Bits<4> = bits::<4>(doorbell_error::NONE);
            if batch.overrun {
                error = bits::<4>(doorbell_error::BAD_ARGUMENT);
            } else if self.batch.error.val() {
                error = bits::<4>(doorbell_error::HOST_ERROR);
            } else if unsupported {
                error = bits::<4>(doorbell_error::UNSUPPORTED);
            } else if no_right {
                error = bits::<4>(doorbell_error::NO_RIGHT);
            } else if bad {
                error = bits::<4>(doorbell_error::BAD_ARGUMENT);
            } else if posts & (number.get_bits::<12>(0) > bits::<12>(self._mailboxes - 1)) {
                error = bits::<4>(doorbell_error::NO_MAILBOX);
            }
            self.next_valid.d.next = true;
            let names_memory = posts | frames | ((kind == bits(PUTS)) & size.any());
            self.permitted.d.next = error.any() | !names_memory;
            self.next.d.next = RingPost {
                pid: batch.pid,
                number: batch.first + bit_cast::<16, 4>(position),
                last: last,
                error: error,
                kind: kind,
                flags: flags.get_bits::<3>(0),
                mailbox: number,
                buffer: BufferEntry { base: words.get_bits::<64>(32 * WORD_BUFFER), size: size },
                addr: words.get_bits::<64>(32 * WORD_ADDR),
                key: words.get_bits::<32>(32 * WORD_KEY),
                offset: words.get_bits::<32>(32 * WORD_OFFSET),
                node: words.get_bits::<8>(32 * WORD_TARGET),
                target: words.get_bits::<16>(32 * WORD_TARGET + 16),
                reply_off: words.get_bits::<32>(32 * WORD_REPLY_OFFSET),
                reply_key: words.get_bits::<32>(32 * WORD_EPOCH),
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
        let next_posts = next.kind == bits(POSTS);
        self.region.next = RegionQuery {
            pid: next.pid,
            write: next_posts,
            address: next.buffer.base,
            length: next.buffer.size,
            has_record: next_posts,
            record: next.addr.get_bits::<60>(4),
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
            mailbox: next.mailbox.get_bits::<12>(0),
            generation: next.mailbox.get_bits::<4>(12),
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
            let named = self.requested.read.val().kind == bits(POSTS);
            if !self.requested.read.val().error.any() & named & !self.answers.read.val() {
                self.job.d.next.error = bits::<4>(doorbell_error::NO_MAILBOX);
            }
        }
        let job = self.job.q.val();
        let posting = self.posting.q.val();
        let posts = self.posting_valid.q.val();
        self.batch.current_pid.next = job.pid;
        let discarded = self.batch.stopped.val();
        let needs_no_post = job.error.any() | !job.kind.any();
        let starts = self.job_valid.q.val() & !posts;
        if starts {
            self.job_valid.d.next = false;
            self.posting.d.next = job;
            self.posting_valid.d.next = !discarded & !needs_no_post;
        }
        let to_queue = posting.kind == bits(POSTS);
        let to_frames = posting.kind == bits(SENDS);
        let to_puts = !to_queue & !to_frames;
        let gives_up = self.waited.q.val().all();
        let hands_on = (to_puts & self.put.ready.val()) | (to_frames & self.frame.ready.val());
        self.waited.d.next =
            if posts & !to_queue & !hands_on & !gives_up { self.waited.q.val() + 1 } else { bits::<PATIENCE_BITS>(0) };
        let posted = posts & if to_queue { self.queue_command.done.val() } else { hands_on | gives_up };
        self.posting_valid.load(posted, false);
        self.put.valid.next = posts & to_puts;
        let kind = ProcessPut {
            get: posting.kind == bits(GETS),
            active: posting.flags.get_bit(0),
            tagged: posting.flags.get_bit(1),
            managed: posting.flags.get_bit(2),
        };
        self.put.next = put_of_process(
            kind,
            PutDesc {
                node: posting.node,
                dst_pid: posting.target,
                src_pid: zext::<16, 6>(posting.pid),
                addr: posting.addr,
                key: posting.key,
                buf_off: posting.offset,
                length: posting.buffer.size,
                host_address: posting.buffer.base,
                reply_addr: posting.buffer.base,
                reply_off: posting.reply_off,
                reply_key: posting.reply_key,
                frame: posting.mailbox,
                ..PutDesc::default()
            },
        );
        self.frame.valid.next = posts & to_frames;
        self.frame.next = FrameSend {
            pid: posting.pid,
            number: posting.number + 1,
            cookie: posting.mailbox,
            wants_event: posting.flags.get_bit(0),
            address: posting.buffer.base,
            length: posting.buffer.size.get_bits::<14>(0),
            checksum: FrameChecksum {
                wanted: posting.flags.get_bit(1),
                start: posting.addr.get_bits::<7>(1),
                field: zext::<8, 7>(posting.addr.get_bits::<7>(1)) + zext::<8, 7>(posting.addr.get_bits::<7>(17)),
            },
        };
        self.queue_command.valid.next = posts & to_queue;
        self.queue_command.next = QueueCommand {
            op: bits::<2>(QUEUE_POST),
            mailbox: posting.mailbox.get_bits::<12>(0),
            pid: posting.pid,
            buffer: posting.buffer,
            record: posting.addr.get_bits::<60>(4),
            ..QueueCommand::default()
        };

        // The end of a command: RING_DONE, or the stop of its ring.
        let ended = if posts { posting } else { job };
        let ends = posted | (starts & (needs_no_post | discarded));
        self.error.next = job.error;
        if posts {
            self.error.next = bits::<4>(doorbell_error::NONE);
            if to_queue & self.queue_command.small.val() {
                self.error.next = bits::<4>(doorbell_error::BAD_ARGUMENT);
            } else if to_queue & !self.queue_command.ok.val() {
                self.error.next = bits::<4>(doorbell_error::NO_SLOT);
            }
        }
        let counts = posted | (starts & needs_no_post & !discarded);
        // A put or frame that was not taken ends nothing: its ring begins again with that command.
        let leaves = posted & !to_queue & !hands_on;
        let fails = (counts & self.error.val().any()) | leaves;
        self.buffer_posted.next = posted & to_queue & !self.error.val().any();
        self.batch.done.next = ends & ended.last;
        self.batch.halt.next = fails;
        self.batch.halt_pid.next = ended.pid;
        self.batch.halt_at.next = ended.number;
        self.batch.halt_again.next = leaves;
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
