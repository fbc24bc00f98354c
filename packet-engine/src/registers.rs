//! The register page `packet`: control, rules, counters.
//!
//! | ports | neighbour |
//! |---|---|
//! | in `csr` / out `csr_answer` | register slave |
//! | out `settings` | parser, PSN filter, scheduler, header matcher: the registers that the driver wrote |
//! | out `commit_index`, `word_source`, `word_write`, `term_write`, `rule_*`, `match_commit` / in `match_committing` | header matcher |
//! | out `peer_query` | PSN filter |
//! | in `drop`, `joined` | ingress join |
//! | out `live_index` / in `live` (1 cycle later) | scheduler |
//! | in `counts` | scheduler: pulses of a cycle, one event each |
//! | out `host_task` / in `host_task_done`, `host_task_refused`; in `task_counts` | task timers |
//! | in `task_sent` | trace points |
//! | in `frames_in`, `bytes_in`, `frames_out`, `bytes_out`, `cells_free` | traffic counters, packet buffer |
//!
//! An access is answered 6 cycles after it is seen; none is seen in the first 256 cycles after reset, in which the
//! drops of the contexts are cleared. Errors: an address without a register, a read of a write-only or a write
//! to a read-only register, a commit to a slot that does not exist or while the matcher is committing. Counters are cleared
//! by reset (those of DROPS within 64 cycles of it; before the driver switches reception on, frames are dropped with the
//! reason RX_DISABLED only).

use crate::bundles::{PeerQuerySource, SchedulerCountsSink, TaskCountsSink};
use crate::context_drops::{ContextDrop, ContextDrops};
use crate::schedule::task_timers::types::HostTask;
use spindle_blocks::{CounterBank, CsrRequest, CsrResponse, JoinTrace, PacketPage, PacketStatus, PacketStored};
use spindle_contract::params::{Config, MATCH_LITERALS, MATCH_TERMS, MATCH_WORDS};
use spindle_verilog::prelude::*;

/// Step of an access in which the page is written.
const STEP_WRITE: u64 = 1;
/// Step in which the value read is complete: the drop counters take three cycles.
const STEP_ANSWER: u64 = 5;

/// See the head of this file.
#[block]
pub struct PacketRegisters {
    /// Access.
    pub csr: Signal<In, CsrRequest>,
    /// Answer.
    pub csr_answer: Signal<Out, CsrResponse>,
    /// Control and stage registers.
    pub settings: Signal<Out, PacketStored>,
    /// Extracted word, term or rule to write.
    pub commit_index: Signal<Out, Bits<7>>,
    /// WORD_SOURCE.
    pub word_source: Signal<Out, Bits<22>>,
    /// Write the source.
    pub word_write: Signal<Out, Bit>,
    /// Write the term.
    pub term_write: Signal<Out, Bit>,
    /// RULE_POSITIVE.
    pub rule_positive: Signal<Out, Bits<MATCH_LITERALS>>,
    /// RULE_NEGATIVE.
    pub rule_negative: Signal<Out, Bits<MATCH_LITERALS>>,
    /// RULE_ACTION.
    pub rule_action: Signal<Out, Bits<32>>,
    /// Write the rule.
    pub rule_write: Signal<Out, Bit>,
    /// Make the written words, terms and rules effective.
    pub match_commit: Signal<Out, Bit>,
    /// The matcher is making them effective.
    pub match_committing: Signal<In, Bit>,
    /// Read of a peer.
    pub peer_query: PeerQuerySource,
    /// Reason of a frame that was dropped before it reached the message table.
    pub drop: PulseSink<Bits<6>>,
    /// Rule and context of a frame, and whether it is dropped.
    pub joined: Signal<In, JoinTrace>,
    /// What the scheduler counts.
    pub counts: SchedulerCountsSink,
    /// A task that the host starts.
    pub host_task: Source<HostTask>,
    /// It is carried out,
    pub host_task_done: Signal<In, Bit>,
    /// and started nothing.
    pub host_task_refused: Signal<In, Bit>,
    /// What became of tasks.
    pub task_counts: TaskCountsSink,
    /// A task was dispatched.
    pub task_sent: Signal<In, Bit>,
    /// Context whose live messages are read.
    pub live_index: Signal<Out, Bits<4>>,
    /// Number of its live messages.
    pub live: Signal<In, Bits<9>>,
    /// Frames received.
    pub frames_in: Signal<In, Bits<32>>,
    /// Bytes received.
    pub bytes_in: Signal<In, Bits<32>>,
    /// Frames sent.
    pub frames_out: Signal<In, Bits<32>>,
    /// Bytes sent.
    pub bytes_out: Signal<In, Bits<32>>,
    /// Free cells.
    pub cells_free: Signal<In, Bits<11>>,
    page: PacketPage,
    drops: CounterBank<6, 32>,
    context_drops: ContextDrops,
    /// Step of the access; 0 = none.
    step: Reg<Bits<3>>,
    request: DFF<CsrRequest>,
    word: DFF<Bits<32>>,
    known: DFF<Bit>,
    answer: Reg<CsrResponse>,
    /// The matcher took entries when the access began.
    free: DFF<Bit>,
    index: DFF<Bits<8>>,
    commit_word: Reg<Bit>,
    commit_term: Reg<Bit>,
    commit_rule: Reg<Bit>,
    commit_all: Reg<Bit>,
    query: Reg<Bit>,
    handled: Reg<Bits<32>>,
    placed: Reg<Bits<32>>,
    accepted_hpu: Reg<Bits<32>>,
    accepted_mailbox: Reg<Bits<32>>,
    accepted_host: Reg<Bits<32>>,
    tasks: Reg<Bits<32>>,
    done: Reg<Bits<32>>,
    failed: Reg<Bits<32>>,
    aged: Reg<Bits<32>>,
    /// A start of the host is on offer; it is not carried out; it was refused.
    starting: Reg<Bit>,
    start_busy: Reg<Bit>,
    start_refused: Reg<Bit>,
    start_context: DFF<Bits<4>>,
    /// The last one had been carried out when the access began.
    start_free: DFF<Bit>,
    tasks_begun: Reg<Bits<32>>,
    tasks_refused: Reg<Bits<32>>,
    tasks_cancelled: Reg<Bits<32>>,
    tasks_dissolved: Reg<Bits<32>>,
    _rules: u64,
}

impl PacketRegisters {
    /// The page of a NIC with the match rules of `config`.
    pub fn new(config: &Config) -> Self {
        Self { context_drops: ContextDrops::new(config), _rules: config.match_rules as u64, ..Self::blank() }
    }
}

#[hdl]
impl PacketRegisters {
    fn update(&mut self) {
        self.count();

        // One access at a time; the request is held until the cycle after the answer.
        let request = self.request.q.val();
        self.answer.d.next = CsrResponse::default();
        if self.step.q.val() == 0 {
            // One answer for the whole access, although the matcher may begin or end a commit meanwhile, and the host's task its start.
            self.free.d.next = !self.match_committing.val();
            self.start_free.d.next = !self.start_busy.q.val();
            if self.csr.val().valid & !self.answer.q.val().ack & !self.context_drops.clearing.val() {
                self.request.d.next = self.csr.val();
                self.step.d.next = bits::<3>(STEP_WRITE);
            }
        } else if self.step.q.val() == STEP_ANSWER {
            self.step.d.next = bits::<3>(0);
            let value = if self.known.q.val() & !request.write { self.word.q.val() } else { bits::<32>(0) };
            self.answer.d.next = CsrResponse { ack: true, error: !self.known.q.val(), rdata: value };
        } else {
            self.step.d.next = self.step.q.val() + 1;
        }
        self.csr_answer.next = self.answer.q.val();
        let write = (self.step.q.val() == STEP_WRITE) & request.write;
        self.page.address.next = request.addr.get_bits::<12>(0);
        self.page.wdata.next = request.wdata;
        self.page.write.next = write;
        self.page.status.next = PacketStatus {
            match_commit_busy: self.match_committing.val(),
            frames_in: self.frames_in.val(),
            frames_to_hpu: self.accepted_hpu.q.val(),
            frames_to_mailbox: self.accepted_mailbox.q.val(),
            frames_to_host: self.accepted_host.q.val(),
            frames_out: self.frames_out.val(),
            bytes_in: self.bytes_in.val(),
            bytes_out: self.bytes_out.val(),
            tasks: self.tasks.q.val(),
            messages_open: self.counts.messages_open.val(),
            messages_done: self.done.q.val(),
            messages_failed: self.failed.q.val(),
            cells_free: self.cells_free.val(),
            frames_handled: self.handled.q.val(),
            frames_placed: self.placed.q.val(),
            messages_aged: self.aged.q.val(),
            task_start_busy: self.start_busy.q.val(),
            task_start_refused: self.start_refused.q.val(),
            tasks_begun: self.tasks_begun.q.val(),
            tasks_refused: self.tasks_refused.q.val(),
            tasks_cancelled: self.tasks_cancelled.q.val(),
            tasks_dissolved: self.tasks_dissolved.q.val(),
            peer_query_busy: self.peer_query.busy.val(),
            peer_live: self.peer_query.live.val(),
            peer_node: self.peer_query.node.val(),
            peer_expected: self.peer_query.expected.val(),
            peer_selective_0: self.peer_query.selective.val().get_bits::<32>(0),
            peer_selective_1: self.peer_query.selective.val().get_bits::<32>(32),
        };

        // Windows and commits.
        let select = self.page.select.val();
        let free = self.free.q.val();
        let word_exists = (request.wdata < MATCH_WORDS as u64) & free;
        let term_exists = (request.wdata < MATCH_TERMS as u64) & free;
        let task_free = self.start_free.q.val();
        let rule_exists = (request.wdata < self._rules) & free;
        self.drops.read_index.next = request.addr.get_bits::<6>(2);
        self.live_index.next = request.addr.get_bits::<4>(2);
        self.context_drops.read_reason.next = request.addr.get_bits::<5>(2);
        self.context_drops.read_context.next = request.addr.get_bits::<4>(7);
        self.word.d.next = if select.drops {
            self.drops.read_count.val()
        } else if select.context_drops {
            self.context_drops.count.val()
        } else if select.context_live {
            zext::<32, 9>(self.live.val())
        } else {
            self.page.word.val()
        };
        let refused = (select.word_commit & !word_exists)
            | (select.term_commit & !term_exists)
            | (select.rule_commit & !rule_exists)
            | (select.match_commit & !free)
            | (select.task_start & (!task_free | request.wdata.get_bits::<28>(4).any()));
        self.known.d.next = if request.write { self.page.writable.val() & !refused } else { self.page.readable.val() };
        self.index.d.next = request.wdata.get_bits::<8>(0);
        self.commit_word.d.next = write & select.word_commit & word_exists;
        self.commit_term.d.next = write & select.term_commit & term_exists;
        self.commit_rule.d.next = write & select.rule_commit & rule_exists;
        self.commit_all.d.next = write & select.match_commit & free;
        self.query.d.next = write & select.peer_query;

        let stored = self.page.stored.val();
        self.start_task(write & select.task_start & task_free & !request.wdata.get_bits::<28>(4).any());
        self.settings.next = stored;
        self.peer_query.peer.next = self.index.q.val();
        self.peer_query.start.next = self.query.q.val();
        self.commit_index.next = self.index.q.val().get_bits::<7>(0);
        self.word_source.next = (
            stored.word_source_order,
            stored.word_source_tagged_odd,
            stored.word_source_tagged_even,
            stored.word_source_odd,
            stored.word_source_even,
        )
            .cat::<22>();
        self.word_write.next = self.commit_word.q.val();
        self.term_write.next = self.commit_term.q.val();
        let positive = (stored.rule_positive_2, stored.rule_positive_1, stored.rule_positive_0).cat::<96>();
        let negative = (stored.rule_negative_2, stored.rule_negative_1, stored.rule_negative_0).cat::<96>();
        self.rule_positive.next = positive.get_bits::<MATCH_LITERALS>(0);
        self.rule_negative.next = negative.get_bits::<MATCH_LITERALS>(0);
        self.rule_action.next = (
            stored.rule_action_valid,
            bits::<6>(0),
            stored.rule_action_to_host,
            stored.rule_action_has_end,
            stored.rule_action_end_term,
            bits::<2>(0),
            stored.rule_action_message_word,
            bits::<2>(0),
            stored.rule_action_message,
            stored.rule_action_context,
            bits::<2>(0),
            stored.rule_action_action,
        )
            .cat::<32>();
        self.rule_write.next = self.commit_rule.q.val();
        self.match_commit.next = self.commit_all.q.val();
    }

    /// Starts a task of the host, one at a time.
    fn start_task(&mut self, starts: Bit) {
        let stored = self.page.stored.val();
        let done = self.host_task_done.val();
        self.starting.d.next = starts | (self.starting.q.val() & !self.host_task.ready.val());
        self.start_busy.d.next = starts | (self.start_busy.q.val() & !done);
        self.start_refused.load(done, self.host_task_refused.val());
        self.start_context.load(starts, self.request.q.val().wdata.get_bits::<4>(0));
        self.host_task.offer(
            self.starting.q.val(),
            HostTask {
                context: self.start_context.q.val(),
                argument: (stored.task_argument_1, stored.task_argument_0).cat::<64>(),
                delay: stored.task_delay,
            },
        );
    }

    /// Counts events.
    fn count(&mut self) {
        let outcome = self.counts.outcome.val();
        self.drops.a_valid.next = self.drop.valid.val();
        self.drops.a_index.next = self.drop.val();
        self.drops.b_valid.next = outcome.dropped;
        self.drops.b_index.next = zext::<6, 5>(outcome.reason);
        self.context_drops.joined.next = self.joined.val();
        self.context_drops.dropped.offer(
            outcome.dropped & self.counts.of_context.val(),
            ContextDrop { context: self.counts.context.val(), reason: outcome.reason },
        );
        self.handled.load(outcome.handled, self.handled.q.val() + 1);
        self.placed.load(outcome.placed, self.placed.q.val() + 1);
        self.accepted_hpu.load(self.counts.to_hpu.val(), self.accepted_hpu.q.val() + 1);
        self.accepted_mailbox.d.next = self.accepted_mailbox.q.val() + zext::<32, 2>(self.counts.to_mailbox.val());
        self.accepted_host.load(self.counts.to_host.val(), self.accepted_host.q.val() + 1);
        self.tasks.load(self.task_sent.val(), self.tasks.q.val() + 1);
        self.done.load(self.counts.message_done.val(), self.done.q.val() + 1);
        self.failed.load(self.counts.message_failed.val(), self.failed.q.val() + 1);
        self.aged.load(self.counts.message_aged.val(), self.aged.q.val() + 1);
        self.tasks_begun.load(self.task_counts.begun.val(), self.tasks_begun.q.val() + 1);
        self.tasks_refused.load(self.task_counts.refused.val(), self.tasks_refused.q.val() + 1);
        self.tasks_cancelled.load(self.task_counts.cancelled.val(), self.tasks_cancelled.q.val() + 1);
        self.tasks_dissolved.d.next = self.tasks_dissolved.q.val() + zext::<32, 5>(self.task_counts.dissolved.val());
    }
}
