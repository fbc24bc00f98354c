//! The handler processor: the wiring of its stages.
//!
//! | neighbour | ports |
//! |---|---|
//! | loader | in `launch`; out `launch_bank`; in `region` |
//! | instruction memory | `fetch`; `code` |
//! | L1 | `l1[p]`: half port 0 even words, 1 odd words |
//! | remote unit | out `remote`; in `answer` |
//! | command port | `port`; in `issue` |
//! | cluster | out `ending` |
//! | counters, trace | out `busy`, `retired`; `begin` with `begin_frame`; `ends` with `end_thread`, `end_frame`; `bank_of`, `rvfi` |
//!
//! | stage | action |
//! |---|---|
//! | F | the instruction memory reads; prediction ([`fetch`](super::fetch)) |
//! | D | decoding, registers, forwarding ([`issue`](super::issue), [`operands`](super::operands)) |
//! | X | ALU, address, branch condition; loads are issued ([`execute`](super::execute), [`memory_stage`](super::memory_stage)) |
//! | M1 | jumps, returns, rights of accesses ([`resolve`](super::resolve)); stores leave ([`store_buffer`](super::store_buffer)) |
//! | M2 | words that were loaded, products ([`write_back`](super::write_back)) |
//! | M3 | bytes and misaligned words; register write |
//!
//! | from | to | bubbles |
//! |---|---|---|
//! | ALU | use | 0 |
//! | link | use | 0 |
//! | CLZ, CTZ, CPOP, MIN, MAX | use | 1 |
//! | counter | use | 0; the read itself waits in D until X and M1 are empty and their instructions are counted, 3 at most |
//! | product, load of an aligned word | use | 2 |
//! | load of a byte, a half word, a misaligned word | use | 3 |
//! | division | use | 33 at most |
//! | jump or branch as predicted | next instruction | 0 |
//! | jump or branch not as predicted, JALR with an offset | next instruction | 3 |
//! | return in M1 | first fetch of the next handler | 0: it is in F in the next cycle |
//! | wait in M1 | first fetch of the other handler | 1 |
//!
//! A handler returns by a JALR without offset to the return address.
//!
//! The threads are described in [`threads`](super::threads), faults in [`resolve`](super::resolve), the watchdog in
//! [`endings`](super::endings).

use super::bundles::{CodePort, CommandAccess, FetchPort, HandlerStart, IssueAnswerSink, RegionWriteSink, WordPort};
use super::endings::Endings;
use super::execute::Execute;
use super::fetch::Fetch;
use super::issue::Issue;
use super::launches::Launches;
use super::memory_stage::MemoryStage;
use super::operands::Operands;
use super::predecode::{image_word, predecode};
use super::remote_tracker::RemoteTracker;
use super::resolve::Resolve;
use super::rvfi::RetirementPort;
use super::stages::{address_in_code, block_in_code, word_of, Producer};
use super::store_buffer::StoreBuffer;
use super::threads::Threads;
use super::types::{Ending, Launch, PortAccess, RemoteAnswer, RemoteRequest, Rvfi, WordRequest};
use super::write_back::WriteBack;
use spindle_contract::memory_map::RETURN_ADDRESS;
use spindle_verilog::prelude::*;

/// Parameters of an [`Hpu`].
#[derive(Clone, Copy, Debug)]
pub struct HpuOptions {
    /// Retirement port: one element if the options have it.
    pub rvfi: bool,
    /// `fetch.data` is the word of the image, and is predecoded here: for a processor without an
    /// instruction memory.
    pub predecodes: bool,
    /// A jump there ends the handler.
    pub return_address: u32,
    /// Bytes of a stack.
    pub stack_bytes: usize,
}

impl Default for HpuOptions {
    fn default() -> Self {
        Self { rvfi: false, predecodes: false, return_address: RETURN_ADDRESS, stack_bytes: 1024 }
    }
}

/// The processor. See the module text.
#[block(no_default)]
pub struct Hpu {
    /// Number in the cluster.
    pub number: Signal<In, Bits<3>>,
    /// Cycles since reset.
    pub cycle: Signal<In, Bits<64>>,
    /// Next handler.
    pub launch: Sink<Launch>,
    /// Its bank.
    pub launch_bank: Signal<Out, Bits<2>>,
    /// Write of a region.
    pub region: RegionWriteSink,
    /// Fetches of instruction memory.
    pub fetch: FetchPort,
    /// Loads from instruction memory.
    pub code: CodePort,
    /// Half ports of L1: even words, odd words.
    pub l1: [WordPort; 2],
    /// Access of the remote unit.
    pub remote: Source<RemoteRequest>,
    /// Answer of the remote unit.
    pub answer: PulseSink<RemoteAnswer>,
    /// Accesses of the command port.
    pub port: CommandAccess,
    /// Answer of the command unit to a write of ISSUE.
    pub issue: IssueAnswerSink,
    /// End of a handler.
    pub ending: Source<Ending>,
    /// A handler runs.
    pub busy: Signal<Out, Bit>,
    /// An instruction is executed.
    pub retired: Signal<Out, Bit>,
    /// A handler begins.
    pub begin: HandlerStart,
    /// Frame of the handler that begins.
    pub begin_frame: Signal<Out, Bits<16>>,
    /// A return or a fault is resolved.
    pub ends: Signal<Out, Bit>,
    /// Its thread.
    pub end_thread: Signal<Out, Bit>,
    /// Its frame.
    pub end_frame: Signal<Out, Bits<16>>,
    /// Banks of both threads.
    pub bank_of: Signal<Out, Bits<4>>,
    /// Retirement port: one element if asked for.
    pub rvfi: Vec<Signal<Out, Rvfi>>,
    launches: Launches,
    threads: Threads,
    endings: Endings,
    fetch_stage: Fetch,
    issue_stage: Issue,
    operands: Operands,
    execute: Execute,
    memory: MemoryStage,
    resolve: Resolve,
    store_buffer: StoreBuffer,
    tracker: RemoteTracker,
    write_back: WriteBack,
    retirement: Vec<RetirementPort>,
    flush: Signal<Local, Bit>,
    _rvfi: bool,
    _predecodes: bool,
}

impl Default for Hpu {
    fn default() -> Self {
        Self::new(HpuOptions::default())
    }
}

impl Hpu {
    /// A processor with these parameters.
    pub fn new(options: HpuOptions) -> Self {
        Self {
            rvfi: if options.rvfi { vec![Default::default()] } else { vec![] },
            operands: Operands::new(options.return_address, options.stack_bytes),
            execute: Execute::new(options.return_address),
            retirement: if options.rvfi { vec![Default::default()] } else { vec![] },
            _rvfi: options.rvfi,
            _predecodes: options.predecodes,
            ..Self::blank()
        }
    }
}

#[hdl]
impl Hpu {
    fn update(&mut self) {
        let thread = self.threads.current.val();
        let bank = self.launches.bank.val();
        let code = self.launches.code.val();
        let launched = self.launches.launched.val();
        let executed = self.execute.executed.val();
        let issued = self.issue_stage.issued.val();
        let live = self.resolve.live.val();
        let holds = self.resolve.holds.val();
        let advance = !holds;
        let ends = self.threads.ends.val();
        let enters = self.threads.start.val() | self.threads.enter_other.val();
        let redirect = self.threads.back.val() | self.resolve.redirect.val();
        self.flush.next = ends | self.resolve.trap.valid.val() | enters | redirect;
        let flush = self.flush.val();

        // Launches, threads, endings.
        self.launch.join(&mut self.launches.launch);
        self.endings.freed.join(&mut self.launches.freed);
        self.launches.start.next = self.threads.start.val();
        self.launches.started.next = self.threads.started.val();
        self.launches.enter_other.next = self.threads.enter_other.val();
        self.launches.current.next = thread;
        self.threads.waiting.next = self.launches.waiting.val() & self.operands.ready.val();
        self.threads.returns.next = self.resolve.returns.val();
        self.threads.passes.next = self.resolve.passes.val();
        self.threads.continues.next = self.resolve.next.val();
        self.resolve.trap.join(&mut self.threads.trap);
        self.threads.answer.offer(self.tracker.answered.val(), self.answer.val());
        self.threads.owed.next = self.tracker.owed.val();
        self.execute.divider_status.join(&mut self.threads.divider);
        self.threads.port_full.next = self.port.full.val();
        self.threads.port_pending.next = self.port.pending.val();
        self.threads.spent.next = self.endings.spent.val();
        self.endings.started.next = self.threads.started.val();
        self.endings.watchdog.next = launched.watchdog;
        self.endings.no_budget.next = launched.no_budget;
        self.endings.thread.next = thread;
        self.endings.bank.next = bank;
        self.endings.runs.next = self.threads.runs.val();
        self.endings.retires.next = self.resolve.retires.val();
        self.endings.ends.next = ends;
        self.resolve.trap.join(&mut self.endings.trap);
        self.endings.third.next = self.write_back.results.third.val();
        self.endings.lands.next = self.write_back.lands.val();
        self.endings.lands_bank.next = self.write_back.lands_bank.val();
        self.endings.drains.next = self.tracker.drains.val();
        self.endings.ending.join(&mut self.ending);

        // F.
        self.fetch_stage.code.next = code;
        self.fetch_stage.enter.next = enters;
        let other_pc = self.threads.other_pc.val();
        let to_other = self.threads.other_runs.val();
        self.fetch_stage.enter_pc.next = if to_other { other_pc } else { launched.entry };
        self.fetch_stage.enter_block.next =
            if to_other { block_in_code(other_pc, self.launches.other_base.val()) } else { launched.block };
        self.fetch_stage.redirect.next = redirect;
        self.fetch_stage.redirect_pc.next = self.resolve.next.val();
        self.fetch_stage.drop.next = flush;
        self.fetch_stage.hold.next = self.issue_stage.hold.val();
        self.fetch_stage.update.valid.next = self.resolve.update.val();
        self.fetch_stage.update.pc.next = word_of(executed.pc, executed.block);
        self.fetch_stage.update.taken.next = executed.taken;
        self.fetch_stage.update.target.next = self.resolve.next.val().get_bits::<14>(1);
        self.fetch_stage.update.was_hit.next = executed.predicted;
        self.fetch_stage.update.was_sure.next = executed.sure;

        // D.
        let mut fetched = self.fetch.data.val();
        if self._predecodes {
            fetched = predecode(fetched.word);
        }
        self.issue_stage.code.next = fetched;
        self.fetch_stage.fetched.join(&mut self.issue_stage.fetched);
        self.issue_stage.hazard.next = self.operands.hazard.val();
        self.issue_stage.ready.next = self.threads.ready.val();
        self.threads.injection.join(&mut self.issue_stage.injection);
        self.issue_stage.started.next = self.threads.started.val();
        self.issue_stage.first_argument.next = launched.a0;
        self.execute.division.join(&mut self.issue_stage.division);
        self.issue_stage.holds.next = holds;
        self.issue_stage.flush.next = flush;
        self.issue_stage.first_valid.next = self.resolve.valid.val() | self.resolve.counts.val();
        self.operands.decoded.next = self.issue_stage.decoded.val();
        self.operands.pc.next = address_in_code(self.fetch_stage.fetched.pc.val());
        self.operands.link.next = address_in_code(self.fetch_stage.after.val());
        self.operands.counter.next = self.execute.counter.val();
        self.execute.counter_number.next = fetched.word.get_bits::<12>(20);
        self.operands.thread.next = thread;
        self.operands.clear.next = ends;
        self.operands.completes.next = code.completes;
        self.operands.flow_control.next = code.flow_control;
        self.issue_stage.injected.join(&mut self.operands.injected);
        self.operands.advance.next = advance;
        self.operands.executes.next = Producer {
            writes: self.issue_stage.writes.val(),
            ready: self.issue_stage.quick.val(),
            rd: issued.rd,
            value: self.execute.alu_value.val(),
        };
        self.write_back.results.join(&mut self.operands.results);

        // X and M1.
        self.execute.number.next = self.number.val();
        self.execute.cycle.next = self.cycle.val();
        self.execute.thread.next = thread;
        self.execute.issued.next = issued;
        self.execute.valid.next = self.issue_stage.valid.val();
        self.execute.a.next = self.operands.a.val();
        self.execute.b.next = self.operands.b.val();
        self.execute.amount.next = self.operands.amount.val();
        self.execute.sum.next = self.memory.sum.val();
        self.execute.advance.next = advance;
        self.execute.retires.next = self.resolve.retires.val();
        self.execute.claims.next = self.resolve.claims.val();
        self.execute.cancel.next = self.threads.cancel.val();
        self.execute.taken.next = self.issue_stage.injection.taken.val() & self.threads.inject_quotient.val();
        self.resolve.executed.next = executed;
        self.resolve.arrives.next = self.issue_stage.valid.val() & !flush;
        self.resolve.expired.next = self.endings.expired.val();
        self.resolve.ending_full.next = self.endings.full.val();
        self.memory.check.join(&mut self.resolve.check);
        self.issue.join(&mut self.resolve.issue);
        self.resolve.quiet.next = self.store_buffer.queue.empty.val() & self.tracker.quiet.val();
        self.resolve.divides.next = self.execute.divides.val();
        self.region.join(&mut self.memory.region);
        self.memory.thread.next = thread;
        self.memory.bank.next = bank;
        self.memory.issued.next = issued;
        self.memory.valid.next = self.issue_stage.valid.val();
        self.memory.a.next = self.operands.a.val();
        self.memory.advance.next = advance;
        self.memory.executed.next = executed;
        self.memory.live.next = live;
        self.memory.code_ready.next = self.code.ready.val();
        self.memory.replied.next = self.resolve.replied.val();
        let pending = self.port.pending.val();
        self.memory.pending.next = if thread { pending.get_bit(1) } else { pending.get_bit(0) };

        // Memories.
        self.memory.queue.join(&mut self.store_buffer.queue);
        self.store_buffer.remote.join(&mut self.remote);
        self.store_buffer.squash.next = self.resolve.faulted.val();
        self.store_buffer.ends.next = ends;
        self.store_buffer.thread.next = thread;
        self.memory.remote.join(&mut self.tracker.push);
        self.tracker.thread.next = thread;
        self.answer.join(&mut self.tracker.answer);
        self.tracker.forgets.next = self.threads.forgets.val();
        self.tracker.squash.next = self.resolve.faulted.val();
        self.tracker.ends.next = ends;
        self.tracker.draining.next = self.store_buffer.draining.val();
        for i in 0..2 {
            let store = self.store_buffer.request[i].val();
            let stores = self.memory.queue.may_use.val();
            self.l1[i].next =
                WordRequest { row: if stores { store.row } else { self.memory.row[i].val() }, write: stores, ..store };
            self.l1[i].valid.next = self.memory.reads[i].val() | self.store_buffer.valid[i].val();
            self.l1[i].stores.next = self.store_buffer.wants[i].val();
            self.memory.grant[i].next = self.l1[i].grant.val();
            self.store_buffer.grant[i].next = self.l1[i].grant.val();
            self.write_back.l1_data[i].next = self.l1[i].data.val();
        }
        let port = self.store_buffer.port.val();
        let reads_port = self.memory.port_read.val();
        self.port.next = PortAccess {
            thread: if reads_port { thread } else { port.thread },
            bank: if reads_port { bank } else { port.bank },
            word: if reads_port { executed.sum.get_bits::<4>(2) } else { port.word },
            data: port.data,
        };
        self.port.write.next = self.store_buffer.port_write.val();
        self.port.read.next = reads_port;
        self.code.address.next = self.memory.code_address.val();
        self.code.valid.next = self.memory.code_valid.val();

        // M2 and M3.
        self.write_back.thread.next = thread;
        self.write_back.bank.next = bank;
        self.write_back.issued.next = issued;
        self.write_back.writes.next = self.issue_stage.writes.val();
        self.write_back.flush.next = flush;
        self.write_back.executed.next = executed;
        self.write_back.live.next = live;
        self.write_back.holds.next = holds;
        self.write_back.ends.next = ends | self.resolve.trapped.val();
        self.write_back.value.next = self.execute.first_value.val();
        self.write_back.multiplies.next = self.execute.multiplies.val();
        self.write_back.wants_high.next = self.execute.wants_high.val();
        self.write_back.product[0].next = self.execute.product[0].val();
        self.write_back.product[1].next = self.execute.product[1].val();
        self.write_back.from.next = self.memory.from.val();
        self.write_back.other_granted.next = self.memory.other_granted.val();
        self.write_back.code_data.next = self.code.data.val();
        self.write_back.port_data.next = self.port.data.val();

        // To the outside.
        self.fetch.address.next = self.fetch_stage.address.val();
        self.fetch.enable.next = self.fetch_stage.enable.val();
        self.launch_bank.next = self.launches.launch_bank.val();
        self.busy.next = self.threads.alive.val().any();
        self.retired.next = self.resolve.retires.val();
        self.begin.valid.next = self.threads.started.val();
        self.begin.thread.next = thread;
        self.begin.bank.next = self.launches.begin_bank.val();
        self.begin_frame.next = launched.frame;
        self.ends.next = ends;
        self.end_thread.next = thread;
        self.end_frame.next = self.launches.frame.val();
        self.bank_of.next = self.launches.bank_of.val();
        if self._rvfi {
            self.retirement[0].word.next = image_word(fetched);
            self.retirement[0].decoded.next = self.issue_stage.decoded.val();
            self.retirement[0].a.next = self.operands.a.val();
            self.retirement[0].b.next = self.operands.b.val();
            self.retirement[0].thread.next = thread;
            self.retirement[0].started.next = self.threads.started.val();
            self.retirement[0].executed.next = executed;
            self.retirement[0].live.next = live;
            self.retirement[0].holds.next = holds;
            self.retirement[0].next.next = self.resolve.next.val();
            self.retirement[0].returns.next = self.resolve.returns.val();
            self.retirement[0].left.next = self.resolve.left_last.val();
            self.retirement[0].stays.next = self.resolve.stays.val();
            self.resolve.trap.join(&mut self.retirement[0].trap);
            self.retirement[0].value.next = self.write_back.results.third.val().value;
            self.rvfi[0].next = self.retirement[0].rvfi.val();
        }
    }
}
