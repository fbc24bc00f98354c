//! The handler processor: its stages and what joins them.
//!
//! | neighbour | ports |
//! |---|---|
//! | loader | in `launch`, `launch_valid` / out `launch_ready`, `launch_bank`; in `region_write`, `region_index`, `region` |
//! | instruction memory | out `fetch_address`, `fetch_enable`; in `fetch_data`, two edges later; out `code_address`, `code_valid` / in `code_ready`, `code_data` |
//! | L1 | out `l1_request`, `l1_valid`, `l1_stores` (the access may be a store) / in `l1_grant`, `l1_data`: half port 0 even words, 1 odd words |
//! | remote unit | out `remote`, `remote_valid` / in `remote_ready`; in `answer`, `answer_valid` |
//! | command port | out `port`, `port_write`, `port_read`; in `port_data`, `issue_done`, `issue_refused`, `issue_full`, `port_full`, `port_pending` |
//! | cluster | out `ending`, `ending_valid` / in `ending_ready` |
//! | counters, trace | out `busy`, `retired`, `begins` and what belongs to it, `ends` and what belongs to it, `bank_of`, `rvfi` |
//!
//! | stage | what is done |
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
//! | counter | use | 0; the read itself waits in D until X and M1 are empty and what was there is counted, 3 at most |
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
//! The threads are described in [`threads`](super::threads), faults in [`resolve`](super::resolve), the watchdog in [`endings`](super::endings).

use super::endings::Endings;
use super::execute::Execute;
use super::fetch::Fetch;
use super::issue::Issue;
use super::launches::Launches;
use super::memory_stage::MemoryStage;
use super::operands::Operands;
use super::predecode::{image_word, predecode, CodeWord};
use super::remote_tracker::RemoteTracker;
use super::resolve::Resolve;
use super::rvfi::RetirementPort;
use super::stages::{address_in_code, block_in_code, word_of, Producer};
use super::store_buffer::StoreBuffer;
use super::threads::Threads;
use super::types::{Ending, Launch, PortAccess, Region, RemoteAnswer, RemoteRequest, Rvfi, WordRequest};
use super::write_back::WriteBack;
use spindle_contract::memory_map::RETURN_ADDRESS;
use spindle_verilog::prelude::*;

/// Parameters of an [`Hpu`].
#[derive(Clone, Copy, Debug)]
pub struct HpuOptions {
    /// With the retirement port `rvfi`.
    pub rvfi: bool,
    /// `fetch_data` has the word of the image, and the predecoder stands behind it: for a processor without an instruction memory.
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
    /// Write a region.
    pub region_write: Signal<In, Bit>,
    /// {bank, region}.
    pub region_index: Signal<In, Bits<5>>,
    /// What it is.
    pub region: Signal<In, Region>,
    /// Word of instruction memory.
    pub fetch_address: Signal<Out, Bits<14>>,
    /// Both stages of the memory move.
    pub fetch_enable: Signal<Out, Bit>,
    /// The word.
    pub fetch_data: Signal<In, CodeWord>,
    /// Word of instruction memory to load.
    pub code_address: Signal<Out, Bits<14>>,
    /// Load it.
    pub code_valid: Signal<Out, Bit>,
    /// It is loaded.
    pub code_ready: Signal<In, Bit>,
    /// The word.
    pub code_data: Signal<In, Bits<32>>,
    /// Accesses of L1.
    pub l1_request: [Signal<Out, WordRequest>; 2],
    /// They are wanted.
    pub l1_valid: [Signal<Out, Bit>; 2],
    /// A store waits for the half port: it, or a load that goes before it, is the access.
    pub l1_stores: [Signal<Out, Bit>; 2],
    /// They take place.
    pub l1_grant: [Signal<In, Bit>; 2],
    /// What was read.
    pub l1_data: [Signal<In, Bits<32>>; 2],
    /// Access of the remote unit.
    pub remote: Source<RemoteRequest>,
    /// Answer.
    pub answer: PulseSink<RemoteAnswer>,
    /// Access of the command port.
    pub port: Signal<Out, PortAccess>,
    /// It is a write.
    pub port_write: Signal<Out, Bit>,
    /// It is a read.
    pub port_read: Signal<Out, Bit>,
    /// What was read.
    pub port_data: Signal<In, Bits<32>>,
    /// The command was taken,
    pub issue_done: Signal<In, Bit>,
    /// refused,
    pub issue_refused: Signal<In, Bit>,
    /// or found no handle.
    pub issue_full: Signal<In, Bit>,
    /// No handle is free.
    pub port_full: Signal<In, Bit>,
    /// Commands of a thread's handler are under way.
    pub port_pending: Signal<In, Bits<2>>,
    /// How a handler ended.
    pub ending: Source<Ending>,
    /// A handler runs.
    pub busy: Signal<Out, Bit>,
    /// An instruction was executed.
    pub retired: Signal<Out, Bit>,
    /// The first instruction of a handler is fetched.
    pub begins: Signal<Out, Bit>,
    /// Its thread.
    pub begin_thread: Signal<Out, Bit>,
    /// Its bank.
    pub begin_bank: Signal<Out, Bits<2>>,
    /// Its frame.
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
    fetch: Fetch,
    issue: Issue,
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
        let trap = self.resolve.trap.val();
        let trap_valid = self.resolve.trap.valid.val();
        let executed = self.execute.executed.val();
        let issued = self.issue.issued.val();
        let live = self.resolve.live.val();
        let holds = self.resolve.holds.val();
        let advance = !holds;
        let ends = self.threads.ends.val();
        let start = self.threads.start.val();
        let enters = start | self.threads.enter_other.val();
        let redirect = self.threads.back.val() | self.resolve.redirect.val();
        self.flush.next = ends | trap_valid | enters | redirect;
        let flush = self.flush.val();

        // Launches, threads, endings.
        self.launch.join(&mut self.launches.launch);
        self.launches.freed.next = self.endings.freed.val();
        self.launches.freed_bank.next = self.endings.freed_bank.val();
        self.launches.start.next = start;
        self.launches.started.next = self.threads.started.val();
        self.launches.enter_other.next = self.threads.enter_other.val();
        self.launches.current.next = thread;
        self.threads.waiting.next = self.launches.waiting.val() & self.operands.ready.val();
        self.threads.returns.next = self.resolve.returns.val();
        self.threads.passes.next = self.resolve.passes.val();
        self.threads.continues.next = self.resolve.next.val();
        self.threads.trap.valid.next = trap_valid;
        self.threads.trap.next = trap;
        self.threads.answer.next = self.answer.val();
        self.threads.answer.valid.next = self.tracker.answered.val();
        self.threads.owed.next = self.tracker.owed.val();
        self.threads.divider_done.next = self.execute.divider_done.val();
        self.threads.divider_thread.next = self.execute.divider_thread.val();
        self.threads.divider_busy.next = self.execute.divider_busy.val();
        self.threads.port_full.next = self.port_full.val();
        self.threads.port_pending.next = self.port_pending.val();
        self.threads.spent.next = self.endings.spent.val();
        self.threads.injected.next = self.issue.injected.val();
        self.endings.started.next = self.threads.started.val();
        self.endings.watchdog.next = launched.watchdog;
        self.endings.no_budget.next = launched.no_budget;
        self.endings.thread.next = thread;
        self.endings.bank.next = bank;
        self.endings.runs.next = self.threads.runs.val();
        self.endings.ends.next = ends;
        self.endings.trap.valid.next = trap_valid;
        self.endings.trap.next = trap;
        self.endings.third.next = self.write_back.third.val();
        self.endings.lands.next = self.write_back.lands.val();
        self.endings.lands_bank.next = self.write_back.lands_bank.val();
        self.endings.drains.next = self.tracker.drains.val();
        self.endings.ending.join(&mut self.ending);

        // F.
        self.fetch.code.next = code;
        self.fetch.enter.next = enters;
        let other_pc = self.threads.other_pc.val();
        let to_other = self.threads.other_runs.val();
        self.fetch.enter_pc.next = if to_other { other_pc } else { launched.entry };
        self.fetch.enter_block.next =
            if to_other { block_in_code(other_pc, self.launches.other_base.val()) } else { launched.block };
        self.fetch.redirect.next = redirect;
        self.fetch.redirect_pc.next = self.resolve.next.val();
        self.fetch.drop.next = flush;
        self.fetch.hold.next = self.issue.hold.val();
        self.fetch.update.next = self.resolve.update.val();
        self.fetch.update_word.next = word_of(executed.pc, executed.block);
        self.fetch.update_taken.next = executed.taken;
        self.fetch.update_target.next = self.resolve.next.val().get_bits::<14>(1);
        self.fetch.update_was_hit.next = executed.predicted;
        self.fetch.update_was_sure.next = executed.sure;

        // D.
        let mut fetched = self.fetch_data.val();
        if self._predecodes {
            fetched = predecode(fetched.word);
        }
        self.issue.code.next = fetched;
        self.issue.decoding.next = self.fetch.valid.val();
        self.issue.pc.next = self.fetch.pc.val();
        self.issue.block.next = self.fetch.block.val();
        self.issue.outside.next = self.fetch.outside.val();
        self.issue.predicted.next = self.fetch.predicted.val();
        self.issue.predicted_target.next = self.fetch.predicted_target.val();
        self.issue.sure.next = self.fetch.sure.val();
        self.issue.hazard.next = self.operands.hazard.val();
        self.issue.ready.next = self.threads.ready.val();
        self.issue.expecting.next = self.threads.expecting.val();
        self.issue.inject.next = self.threads.inject.val();
        self.issue.inject_choice.next = self.threads.inject_choice.val();
        self.issue.answer_value.next = self.threads.answer_value.val();
        self.issue.answer_rd.next = self.threads.answer_rd.val();
        self.issue.answer_funct3.next = self.threads.answer_funct3.val();
        self.issue.started.next = self.threads.started.val();
        self.issue.first_argument.next = launched.a0;
        self.issue.quotient.next = self.execute.quotient.val();
        self.issue.remainder.next = self.execute.remainder.val();
        self.threads.takes_remainder.next = self.execute.takes_remainder.val();
        self.issue.negate.next = self.execute.negate.val();
        self.issue.holds.next = holds;
        self.issue.flush.next = flush;
        self.issue.first_valid.next = self.resolve.valid.val() | self.resolve.counts.val();
        self.operands.decoded.next = self.issue.decoded.val();
        self.operands.pc.next = address_in_code(self.fetch.pc.val());
        self.operands.link.next = address_in_code(self.fetch.after.val());
        self.operands.counter.next = self.execute.counter.val();
        self.execute.counter_number.next = fetched.word.get_bits::<12>(20);
        self.operands.thread.next = thread;
        self.operands.clear.next = ends;
        self.operands.completes.next = code.completes;
        self.operands.flow_control.next = code.flow_control;
        self.operands.injects.next = self.issue.injects.val();
        self.operands.inject_a.next = self.issue.inject_a.val();
        self.operands.inject_b.next = self.issue.inject_b.val();
        self.operands.advance.next = advance;
        self.operands.executes.next = Producer {
            writes: self.issue.writes.val(),
            ready: self.issue.quick.val(),
            rd: issued.rd,
            value: self.execute.alu_value.val(),
        };
        self.operands.first.next = self.write_back.first.val();
        self.operands.second.next = self.write_back.second.val();
        self.operands.third.next = self.write_back.third.val();
        self.operands.third_thread.next = self.write_back.third_thread.val();

        // X and M1.
        self.execute.number.next = self.number.val();
        self.execute.cycle.next = self.cycle.val();
        self.execute.thread.next = thread;
        self.execute.issued.next = issued;
        self.execute.valid.next = self.issue.valid.val();
        self.execute.a.next = self.operands.a.val();
        self.execute.b.next = self.operands.b.val();
        self.execute.amount.next = self.operands.amount.val();
        self.execute.sum.next = self.memory.sum.val();
        self.execute.advance.next = advance;
        self.execute.retires.next = self.resolve.retires.val();
        self.execute.claims.next = self.resolve.claims.val();
        self.execute.cancel.next = self.threads.cancel.val();
        self.execute.taken.next = self.issue.injected.val() & self.threads.inject_quotient.val();
        self.resolve.executed.next = executed;
        self.resolve.arrives.next = self.issue.valid.val() & !flush;
        self.resolve.expired.next = self.endings.expired.val();
        self.resolve.ending_full.next = self.endings.full.val();
        self.resolve.stalls.next = self.memory.stalls.val();
        self.resolve.faults.next = self.memory.faults.val();
        self.resolve.cause.next = self.memory.cause.val();
        self.resolve.leaves_long.next = self.memory.leaves_long.val();
        self.resolve.again.next = self.memory.again.val();
        self.resolve.issuing.next = self.memory.issuing.val();
        self.resolve.done.next = self.issue_done.val();
        self.resolve.refused.next = self.issue_refused.val();
        self.resolve.full.next = self.issue_full.val();
        self.resolve.quiet.next = self.store_buffer.empty.val() & self.tracker.quiet.val();
        self.resolve.divides.next = self.execute.divides.val();
        self.memory.region_write.next = self.region_write.val();
        self.memory.region_index.next = self.region_index.val();
        self.memory.region.next = self.region.val();
        self.memory.thread.next = thread;
        self.memory.bank.next = bank;
        self.memory.issued.next = issued;
        self.memory.valid.next = self.issue.valid.val();
        self.memory.a.next = self.operands.a.val();
        self.memory.advance.next = advance;
        self.memory.executed.next = executed;
        self.memory.live.next = live;
        self.memory.full.next = self.store_buffer.full.val();
        self.memory.empty.next = self.store_buffer.empty.val();
        self.memory.overlap.next = self.store_buffer.overlap.val();
        self.memory.waiting.next = self.store_buffer.waiting.val();
        self.memory.urgent.next = self.store_buffer.urgent.val();
        self.memory.write_stalls.next = self.tracker.write_stalls.val();
        self.memory.read_stalls.next = self.tracker.read_stalls.val();
        self.memory.code_ready.next = self.code_ready.val();
        self.memory.replied.next = self.resolve.replied.val();
        let pending = self.port_pending.val();
        self.memory.pending.next = if thread { pending.get_bit(1) } else { pending.get_bit(0) };

        // Memories.
        self.store_buffer.push.next = self.memory.push.val();
        self.store_buffer.entry.next = self.memory.entry.val();
        self.store_buffer.entry_row.next = self.memory.entry_row.val();
        self.store_buffer.entry_crosses.next = self.memory.entry_crosses.val();
        self.store_buffer.look_row.next = self.memory.look_row.val();
        self.store_buffer.look_crosses.next = self.memory.look_crosses.val();
        self.store_buffer.may_push.next = self.memory.may_push.val();
        self.store_buffer.may_use.next = self.memory.may_use.val();
        self.store_buffer.remote.join(&mut self.remote);
        self.store_buffer.squash.next = self.resolve.faulted.val();
        self.store_buffer.ends.next = ends;
        self.store_buffer.thread.next = thread;
        self.tracker.thread.next = thread;
        self.tracker.push_write.next = self.memory.push_write.val();
        self.tracker.push_read.next = self.memory.push_read.val();
        self.answer.join(&mut self.tracker.answer);
        self.tracker.forgets.next = self.threads.forgets.val();
        self.tracker.squash.next = self.resolve.faulted.val();
        self.tracker.ends.next = ends;
        self.tracker.draining.next = self.store_buffer.draining.val();
        for i in 0..2 {
            let store = self.store_buffer.request[i].val();
            let stores = self.memory.may_use.val();
            self.l1_request[i].next = WordRequest {
                row: if stores { store.row } else { self.memory.row[i].val() },
                offset: store.offset,
                size_less_one: store.size_less_one,
                data: store.data,
                shared: store.shared,
                write: stores,
            };
            self.l1_valid[i].next = self.memory.reads[i].val() | self.store_buffer.valid[i].val();
            self.l1_stores[i].next = self.store_buffer.wants[i].val();
            self.memory.grant[i].next = self.l1_grant[i].val();
            self.store_buffer.grant[i].next = self.l1_grant[i].val();
            self.write_back.l1_data[i].next = self.l1_data[i].val();
        }
        let port = self.store_buffer.port.val();
        let reads_port = self.memory.port_read.val();
        self.port.next = PortAccess {
            thread: if reads_port { thread } else { port.thread },
            bank: if reads_port { bank } else { port.bank },
            word: if reads_port { executed.sum.get_bits::<4>(2) } else { port.word },
            data: port.data,
        };
        self.port_write.next = self.store_buffer.port_write.val();
        self.port_read.next = reads_port;
        self.code_address.next = self.memory.code_address.val();
        self.code_valid.next = self.memory.code_valid.val();

        // M2 and M3.
        self.write_back.thread.next = thread;
        self.write_back.bank.next = bank;
        self.write_back.issued.next = issued;
        self.write_back.writes.next = self.issue.writes.val();
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
        self.write_back.code_data.next = self.code_data.val();
        self.write_back.port_data.next = self.port_data.val();

        // To the outside.
        self.fetch_address.next = self.fetch.address.val();
        self.fetch_enable.next = self.fetch.enable.val();
        self.launch_bank.next = self.launches.launch_bank.val();
        self.busy.next = self.threads.alive.val().any();
        self.retired.next = self.resolve.retires.val();
        self.begins.next = self.threads.started.val();
        self.begin_thread.next = thread;
        self.begin_bank.next = self.launches.begin_bank.val();
        self.begin_frame.next = launched.frame;
        self.ends.next = ends;
        self.end_thread.next = thread;
        self.end_frame.next = self.launches.frame.val();
        self.bank_of.next = self.launches.bank_of.val();
        if self._rvfi {
            self.retirement[0].word.next = image_word(fetched);
            self.retirement[0].decoded.next = self.issue.decoded.val();
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
            self.retirement[0].trap.valid.next = trap_valid;
            self.retirement[0].trap.next = trap;
            self.retirement[0].value.next = self.write_back.third.val().value;
            self.rvfi[0].next = self.retirement[0].rvfi.val();
        }
    }
}
