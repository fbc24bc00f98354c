//! Tasks that wait: for their delay, then for a message slot.
//!
//! | ports | neighbour |
//! |---|---|
//! | in `command` | HPU array: TASK commands of handlers |
//! | out `answer` | HPU array, by way of the ends of puts: a TASK is carried out, or started nothing |
//! | in `host` / out `host_done`, `host_refused` | registers: a start of the host; the pulse that ends it |
//! | in `contexts`, `policy` | HPU array: active contexts, and those with a task handler |
//! | out `due` | scheduler: a task that is due; its fields stay until `judged` |
//! | out `due_alive` | scheduler: since the task was started its context has always been active |
//! | in `judged`, `taken` | scheduler: 3 cycles after `due` was taken; the task has a message slot, or tries again |
//! | out `counts` | registers: pulses |
//!
//! Each context has [`WAITING_TASKS`] places. A start takes a free place of its context, and is refused if there is none, or if the
//! context is not active or has no task handler. A scan visits one place per cycle, a round in [`WAITING_TASKS`] × contexts cycles,
//! and offers a task whose deadline has come. A task that gets no message slot stays in its place, and is offered again in the next
//! round: nothing is lost, and no context waits for another one. A start without a delay is offered at once, if the scan has had
//! eight visits since the last offer.
//!
//! | cycle | event of a start |
//! |---|---|
//! | 0 | `command` is taken |
//! | 1 | its context's free place is chosen |
//! | 2 | the place is written; `answer` and, without a delay, `due` are valid in the next cycle |
//!
//! The deadline is cycle 2 plus the delay. **Lateness**, from the deadline to `due_valid`: at most a round and 3 cycles when no other
//! task is due, plus 8 for each offer in between, plus 20 for each cancellation. While the scheduler takes no `due`, the scan stands.
//!
//! A cancellation visits the places of its context, and succeeds if one has the argument; its answer comes 20 cycles after its taking
//! if no task is due meanwhile. Starts and cancellations follow each other in order, 2 cycles per start, 16 wait. When a context is
//! deactivated, the next visit to one of its places ends all its tasks that wait, so within 16 visits; until then it takes no other
//! ones, even if it is active again.
//!
//! The used places are a word of 16 bits per context in LUT RAM, cleared in 16 cycles after reset; the rest is block RAM.

pub mod types;

use crate::bundles::TaskCountsSource;
use spindle_blocks::ram::{LutRam, RamStyle, SdpMemory};
use spindle_blocks::{Command, LutFifo, PolicySink, PutDone};
use spindle_contract::params::{Config, WAITING_TASKS};
use spindle_verilog::prelude::*;
use types::{count_of, start_of, start_of_host, DueTask, HostTask, TaskStart, WaitingTask, CANCEL};

const _: () = assert!(WAITING_TASKS == 16, "a word of used places has 16 bits");

/// See the head of this file.
#[block]
pub struct TaskTimers {
    /// TASK of a handler.
    pub command: Sink<Command>,
    /// Start of the host.
    pub host: Sink<HostTask>,
    /// The start of the host is carried out.
    pub host_done: Signal<Out, Bit>,
    /// It started, or cancelled, nothing.
    pub host_refused: Signal<Out, Bit>,
    /// `ContextStatus` of context c in bits 4c+3..4c.
    pub contexts: Signal<In, Bits<64>>,
    /// Policy of a context that was installed.
    pub policy: PolicySink,
    /// Task that is due.
    pub due: Source<DueTask>,
    /// Its context has been active since the start; until `judged`.
    pub due_alive: Signal<Out, Bit>,
    /// What became of the task that was taken last.
    pub judged: Signal<In, Bit>,
    /// It has a message slot.
    pub taken: Signal<In, Bit>,
    /// End of a TASK command.
    pub answer: Source<PutDone>,
    /// What happened.
    pub counts: TaskCountsSource,
    queue: LutFifo<TaskStart, 4>,
    places: LutRam<4, 16, 2>,
    entries: SdpMemory<WaitingTask, 8>,
    cycle: Reg<Bits<32>>,
    clearing: Reg<Bits<5>>,
    /// Contexts with a task handler; those of them that are active; those that were not since the last visit.
    handled: Reg<Bits<16>>,
    alive: Reg<Bits<16>>,
    stale: Reg<Bits<16>>,
    /// A free place of the oldest start's context was looked for; that place; there is none.
    looked: Reg<Bit>,
    place: DFF<Bits<4>>,
    full: DFF<Bit>,
    /// Next place of the scan: {place, context}. Next place of a cancellation; 16 = all were visited.
    scan_at: Reg<Bits<8>>,
    cancel_at: Reg<Bits<5>>,
    /// First stage of a visit: the place is being read.
    visits: Reg<Bit>,
    visit_at: DFF<Bits<8>>,
    visit_used: DFF<Bit>,
    visit_cancels: DFF<Bit>,
    /// All tasks of its context end: these.
    dissolves: Reg<Bit>,
    dissolved: DFF<Bits<16>>,
    /// Second stage: the place has a task that is due, or the one to cancel.
    is_due: Reg<Bit>,
    is_cancelled: Reg<Bit>,
    found_at: DFF<Bits<8>>,
    found: DFF<WaitingTask>,
    /// A task is offered; it is judged.
    offers: Reg<Bit>,
    judging: Reg<Bit>,
    offered: DFF<DueTask>,
    offered_at: DFF<Bits<8>>,
    /// Visits since the last offer, at most 8.
    rest: Reg<Bits<4>>,
    answers: Reg<Bit>,
    answered: DFF<PutDone>,
    host_done_out: Reg<Bit>,
    host_refused_out: DFF<Bit>,
    begun_out: Reg<Bit>,
    refused_out: Reg<Bit>,
    cancelled_out: Reg<Bit>,
    dissolved_out: Reg<Bits<5>>,
    _mask: u64,
    _shift: u64,
    _last: u64,
}

/// What the oldest start does in a cycle.
#[derive(LogicStruct, Copy, Clone, Debug, Default, PartialEq)]
pub struct StartStep {
    /// It is a cancellation under way.
    pub cancels: Bit,
    /// It ends.
    pub ends: Bit,
    /// It started, or cancelled, nothing.
    pub refused: Bit,
    /// It takes a place.
    pub inserts: Bit,
    /// It is offered at once.
    pub direct: Bit,
}

impl TaskTimers {
    /// For the contexts of `config`.
    pub fn new(config: &Config) -> Self {
        Self::starting_at(config, 0)
    }

    /// The same, with a clock that counts from `first_cycle` after reset.
    pub fn starting_at(config: &Config, first_cycle: u32) -> Self {
        let contexts = config.contexts.next_power_of_two();
        let all = WAITING_TASKS * contexts;
        Self {
            cycle: Reg::new(bits::<32>(first_cycle)),
            entries: SdpMemory::with_depth(RamStyle::spare(config), 1, all),
            _mask: contexts as u64 - 1,
            _shift: contexts.trailing_zeros() as u64,
            _last: all as u64 - 1,
            ..Self::blank()
        }
    }
}

#[hdl]
impl TaskTimers {
    fn update(&mut self) {
        self.cycle.d.next = self.cycle.q.val() + 1;
        self.follow_contexts();
        self.take_starts();
        let step = self.start();
        self.visit(step);
        self.offer(step);
        self.keep_places(step);
        self.report(step);
    }

    /// The contexts whose tasks may wait.
    fn follow_contexts(&mut self) {
        let mut handled: Bits<16> = self.handled.q.val();
        let mut active: Bits<16> = bits::<16>(0);
        for c in 0..16 {
            if self.policy.valid.val() & (self.policy.index.val() == bits::<4>(c)) {
                handled = handled.replace_bit(c, self.policy.val().tasks);
            }
            active = active.replace_bit(c, self.contexts.val().get_bit(4 * c));
        }
        self.handled.d.next = handled;
        self.alive.d.next = active & self.handled.q.val();
        let clears = !self.clearing.q.val().get_bit(4);
        self.clearing.load(clears, self.clearing.q.val() + 1);
    }

    /// Starts wait in order; that of the host goes first, since the host has one at a time.
    fn take_starts(&mut self) {
        let by_host = self.host.valid.val();
        let room = self.queue.write.ready.val();
        self.queue.write.next = if by_host { start_of_host(self.host.val()) } else { start_of(self.command.val()) };
        self.queue.write.valid.next = by_host | self.command.valid.val();
        self.host.ready.next = room;
        self.command.ready.next = room & !by_host;
    }

    /// What the oldest start does: a place is looked for, then the start is carried out.
    fn start(&mut self) -> StartStep {
        let head = self.queue.read.val();
        self.places.read_address[1].next = head.task.context;
        let used = self.places.read_data[1].val();
        self.place.d.next = first_set::<4, 16>(!used);
        self.full.d.next = used.all();

        let found = self.is_due.q.val() | self.is_cancelled.q.val();
        let standing = self.offers.q.val() | self.judging.q.val();
        let is_cancellation = head.task.delay.get_bit(CANCEL);
        let free = !self.answers.q.val() | head.by_host;
        let runs = self.looked.q.val() & free & self.clearing.q.val().get_bit(4);
        let cancels = runs & is_cancellation;
        let visited = self.cancel_at.q.val().get_bit(4) & !(self.visits.q.val() & self.visit_cancels.q.val());
        let misses = cancels & visited & !found & !standing;
        // A place that becomes free in this cycle is seen in the next one.
        let frees = found | standing | self.dissolves.q.val();
        let starts = runs & !is_cancellation & !frees;
        let alive = self.takes_tasks(head.task.context);
        let inserts = starts & alive & !self.full.q.val();
        let ends = starts | misses | self.is_cancelled.q.val();
        self.looked.d.next = self.queue.read.valid.val() & !ends & !frees;
        self.queue.read.ready.next = ends;
        StartStep {
            cancels,
            ends,
            refused: misses | (starts & !inserts),
            inserts,
            direct: inserts & !head.task.delay.any() & self.rest.q.val().get_bit(3),
        }
    }

    /// Visits a place per cycle. What is found, and an offer, voids the visits after it: the scan goes back, a cancellation begins
    /// anew.
    fn visit(&mut self, step: StartStep) {
        let head = self.queue.read.val();
        let found = self.is_due.q.val() | self.is_cancelled.q.val();
        let voids = found | step.direct;
        let standing = self.offers.q.val() | self.judging.q.val();
        let goes = !voids & !standing & !self.dissolves.q.val() & self.clearing.q.val().get_bit(4);
        let cancels = step.cancels & !self.cancel_at.q.val().get_bit(4);
        let scan_at = self.scan_at.q.val();
        let cancel_place = bit_cast::<8, 4>(self.cancel_at.q.val().get_bits::<4>(0)) << self._shift;
        let at = if cancels { cancel_place | bit_cast::<8, 4>(head.task.context & self._mask) } else { scan_at };
        let owner = at.get_bits::<4>(0) & self._mask;
        let place = (at >> self._shift).get_bits::<4>(0);
        let kept_at = if self.judging.q.val() { self.offered_at.q.val() } else { self.found_at.q.val() };
        self.places.read_address[0].next =
            if found | self.judging.q.val() { kept_at.get_bits::<4>(0) & self._mask } else { owner };
        let used = self.places.read_data[0].val();
        // A context that does not exist has no task, although its number leads to the places of one that does.
        let alive = self.takes_tasks(if cancels { head.task.context } else { owner });
        let one: Bits<16> = bits::<16>(1);
        // A visit that is void does not count: its context stays stale until the next one.
        let counts = self.visits.q.val() & !self.visit_cancels.q.val() & !voids;
        let visited = if counts { one << (self.visit_at.q.val().get_bits::<4>(0) & self._mask) } else { bits::<16>(0) };
        self.stale.d.next = (self.stale.q.val() & !visited) | !self.alive.q.val();
        self.entries.read(true, at);
        self.visits.d.next = goes;
        self.visit_at.d.next = at;
        self.visit_used.d.next = used.get_bit(place.index()) & alive;
        self.visit_cancels.d.next = cancels;
        self.dissolves.d.next = goes & !cancels & !alive & used.any();
        self.dissolved.d.next = used;
        if voids {
            self.scan_at.load(self.visits.q.val() & !self.visit_cancels.q.val(), self.visit_at.q.val());
        } else if goes & !cancels {
            self.scan_at.d.next = if scan_at == self._last { bits::<8>(0) } else { scan_at + 1 };
        }
        if voids | !step.cancels {
            self.cancel_at.d.next = bits::<5>(0);
        } else if goes & cancels {
            self.cancel_at.d.next = self.cancel_at.q.val() + 1;
        }

        let entry = self.entries.read_data.val();
        let reads = self.visits.q.val() & self.visit_used.q.val() & !voids;
        let left = self.cycle.q.val() - entry.deadline;
        self.is_due.d.next = reads & !self.visit_cancels.q.val() & !left.get_bit(31);
        self.is_cancelled.d.next = reads & self.visit_cancels.q.val() & (entry.argument == head.task.argument);
        self.found_at.d.next = self.visit_at.q.val();
        self.found.d.next = entry;
    }

    /// Whether a context has tasks that wait, or may have.
    fn takes_tasks(&mut self, owner: Bits<4>) -> Bit {
        (self.alive.q.val() & !self.stale.q.val()).get_bit(owner.index())
    }

    /// Offers a task that is due, until it is judged.
    fn offer(&mut self, step: StartStep) {
        let head = self.queue.read.val();
        let begins = self.is_due.q.val() | step.direct;
        let leaves = self.offers.q.val() & self.due.ready.val();
        self.offers.d.next = begins | (self.offers.q.val() & !leaves);
        self.judging.d.next = leaves | (self.judging.q.val() & !self.judged.val());
        if self.is_due.q.val() {
            self.offered_at.d.next = self.found_at.q.val();
            self.offered.d.next =
                DueTask { context: self.found_at.q.val().get_bits::<4>(0) & self._mask, task: self.found.q.val() };
        } else if step.direct {
            self.offered_at.d.next = self.start_at();
            self.offered.d.next = DueTask { context: head.task.context, task: self.waiting() };
        }
        self.due.offer(self.offers.q.val(), self.offered.q.val());
        self.due_alive.next = self.takes_tasks(self.offered.q.val().context);
        let rest = self.rest.q.val();
        if begins {
            self.rest.d.next = bits::<4>(0);
        } else if self.visits.q.val() & !rest.get_bit(3) {
            self.rest.d.next = rest + 1;
        }
    }

    /// The place that the oldest start takes.
    fn start_at(&mut self) -> Bits<8> {
        let head = self.queue.read.val();
        (bit_cast::<8, 4>(self.place.q.val()) << self._shift) | bit_cast::<8, 4>(head.task.context & self._mask)
    }

    /// The oldest start as a task that waits.
    fn waiting(&mut self) -> WaitingTask {
        let head = self.queue.read.val();
        WaitingTask { argument: head.task.argument, deadline: self.cycle.q.val() + head.task.delay, frame: head.frame }
    }

    /// Takes and gives back places. A task that was not taken is due anew, so that its deadline stays in the past.
    fn keep_places(&mut self, step: StartStep) {
        let head = self.queue.read.val();
        let judged = self.judging.q.val() & self.judged.val();
        let again = judged & !self.taken.val();
        let at = self.start_at();
        self.entries.write_enable.next = step.inserts | again;
        self.entries.write_address.next = if again { self.offered_at.q.val() } else { at };
        let mut entry: WaitingTask = self.waiting();
        if again {
            entry = self.offered.q.val().task;
            entry.deadline = self.cycle.q.val();
        }
        self.entries.write_data.next = entry;

        let clears = !self.clearing.q.val().get_bit(4);
        let begun = judged & self.taken.val();
        let cancelled = self.is_cancelled.q.val();
        let dissolves = self.dissolves.q.val() & !cancelled & !self.is_due.q.val();
        let kept_at = if begun { self.offered_at.q.val() } else { self.found_at.q.val() };
        let one: Bits<16> = bits::<16>(1);
        let kept_place = (kept_at >> self._shift).get_bits::<4>(0);
        let left = self.places.read_data[0].val() & !(one << kept_place);
        self.places.write_enable.next = clears | begun | cancelled | dissolves | step.inserts;
        self.places.write_address.next = if clears {
            self.clearing.q.val().get_bits::<4>(0)
        } else if begun | cancelled {
            kept_at.get_bits::<4>(0) & self._mask
        } else if dissolves {
            self.visit_at.q.val().get_bits::<4>(0) & self._mask
        } else {
            head.task.context
        };
        self.places.write_data.next = if clears | dissolves {
            bits::<16>(0)
        } else if begun | cancelled {
            left
        } else {
            self.places.read_data[1].val() | (one << self.place.q.val())
        };
        self.begun_out.d.next = begun;
        self.cancelled_out.d.next = cancelled;
        self.dissolved_out.d.next = count_of(self.dissolved.q.val()) & repeat::<5>(dissolves);
    }

    /// Answers, and what is counted.
    fn report(&mut self, step: StartStep) {
        let head = self.queue.read.val();
        let answers = step.ends & !head.by_host;
        self.answers.d.next = answers | (self.answers.q.val() & !self.answer.ready.val());
        if answers {
            self.answered.d.next = PutDone { issuer: head.issuer, error: step.refused, ..Default::default() };
        }
        self.answer.offer(self.answers.q.val(), self.answered.q.val());
        self.host_done_out.d.next = step.ends & head.by_host;
        self.host_refused_out.d.next = step.refused;
        self.host_done.next = self.host_done_out.q.val();
        self.host_refused.next = self.host_refused_out.q.val();
        self.refused_out.d.next = step.refused;
        self.counts.begun.next = self.begun_out.q.val();
        self.counts.refused.next = self.refused_out.q.val();
        self.counts.cancelled.next = self.cancelled_out.q.val();
        self.counts.dissolved.next = self.dissolved_out.q.val();
    }
}
