//! CSR page `hpu`: staging of contexts, code and context memory windows, counters, fault reports.
//!
//! | neighbour | ports |
//! |---|---|
//! | register slave | in `csr` / out `csr_answer` |
//! | context table | out `staged`, `active` |
//! | packet engine, context table, clusters | out `policy` |
//! | clusters | out `imem`: predecoded, a cycle after the host's write |
//! | L2 | out `l2_request`; in `l2_answer` |
//! | telemetry | in `count_at`, `count`: the next counter in each cycle |
//! | context counts | out `context_index`, `context_word`; in `context_count`: that word, 2 cycles later |
//! | off-cluster unit | in `context_puts` |
//! | reports | in `fault`, `print` |
//!
//! An access is answered 2 cycles after the request; L2_DATA waits for the memory, and the read of a counter until its
//! turn comes, which takes a round of the [`Tally`](crate::array::tally::Tally) at most. A count of a context is
//! answered 3 cycles after the request. Addresses without a register answer with `error`.

use crate::array::context_counts;
use crate::array::tally::{
    group_bits, BUSY, TASKS, TOTALS, TOTAL_BUSY, TOTAL_COMMANDS, TOTAL_FAULTED, TOTAL_PRINTS_LOST, TOTAL_REPORTS_LOST,
    TOTAL_RETIRED, TOTAL_TASKS,
};
use crate::bundles::{CodeWrite, ReportQueueSink};
use crate::processor::predecode::{predecode, CodeWord};
use crate::processor::types::{RemoteAnswer, RemoteRequest};
use crate::types::{ContextEntry, ContextLimits, FaultReport, PrintPiece};
use spindle_blocks::desc::{ContextPolicy, CsrRequest, CsrResponse};
use spindle_blocks::{HpuPage, HpuStatus, PolicySource};
use spindle_contract::registers::hpu;
use spindle_verilog::prelude::*;

/// The counts of the contexts: number of the first window of 64 bytes, a multiple of 8, and how many windows there are.
const FIRST_CONTEXT_WINDOW: u64 = hpu::CONTEXT_TASKS as u64 / 64;
const CONTEXT_WORDS: u64 = context_counts::WORDS as u64;
const _: () = assert!(FIRST_CONTEXT_WINDOW.is_multiple_of(8) && hpu::CONTEXT_INSTRET_HI == hpu::CONTEXT_TASKS + 5 * 64);

/// A counter of the telemetry.
#[derive(LogicStruct, Copy, Clone, Debug, Default, PartialEq)]
pub struct CounterAt {
    /// Number of the counter.
    pub index: Bits<7>,
    /// The offset is that of a counter.
    pub exists: Bit,
    /// The offset is that of an HPU that the array does not have.
    pub missing: Bit,
}

/// The page. See the module text.
#[block]
pub struct Registers {
    /// Request, held until the answer.
    pub csr: Signal<In, CsrRequest>,
    /// Answer, one cycle.
    pub csr_answer: Signal<Out, CsrResponse>,
    /// The staged context.
    pub staged: Signal<Out, ContextEntry>,
    /// Policy of a context that is installed.
    pub policy: PolicySource,
    /// Contexts that accept packets.
    pub active: Signal<Out, Bits<16>>,
    /// Words of code, predecoded.
    pub imem: CodeWrite,
    /// Access of L2.
    pub l2_request: Source<RemoteRequest>,
    /// The word read.
    pub l2_answer: PulseSink<RemoteAnswer>,
    /// A counter.
    pub count_at: Signal<In, Bits<7>>,
    /// Its count.
    pub count: Signal<In, Bits<32>>,
    /// Context whose count is read.
    pub context_index: Signal<Out, Bits<4>>,
    /// Which of its counts.
    pub context_word: Signal<Out, Bits<3>>,
    /// That count.
    pub context_count: Signal<In, Bits<32>>,
    /// Puts of context memory.
    pub context_puts: Signal<In, Bits<9>>,
    /// Fault reports.
    pub fault: ReportQueueSink<FaultReport>,
    /// Printed pieces.
    pub print: ReportQueueSink<PrintPiece>,
    page: HpuPage,
    installing: Reg<Bit>,
    slot: DFF<Bits<4>>,
    imem_pointer: Reg<Bits<16>>,
    /// A word of code on its way, predecoded.
    code_write: Reg<Bit>,
    code_address: DFF<Bits<14>>,
    code_data: DFF<CodeWord>,
    l2_pointer: Reg<Bits<20>>,
    word_ready: Reg<Bit>,
    word: DFF<Bits<32>>,
    word_known: DFF<Bit>,
    l2_asking: Reg<Bit>,
    l2_pending: Reg<Bit>,
    answer: Reg<CsrResponse>,
    /// The counter of this index is read when its turn comes.
    counting: Reg<Bit>,
    counter_index: DFF<Bits<7>>,
    /// The count of a context is on its way, a bit per cycle.
    summing: Reg<Bits<2>>,
    _hpus: usize,
    _group: usize,
    _contexts: u64,
}

impl Registers {
    /// The page of an array with `hpus` HPUs in all and `contexts` contexts.
    pub fn new(hpus: usize, contexts: usize) -> Self {
        Self { _hpus: hpus, _group: 1 << group_bits(hpus), _contexts: contexts as u64, ..Self::blank() }
    }
}

#[hdl]
impl Registers {
    fn update(&mut self) {
        let request = self.csr.val();
        let select = self.page.select.val();
        let fresh = request.valid
            & !self.word_ready.q.val()
            & !(self.l2_pending.q.val() | self.counting.q.val() | self.summing.q.val().any())
            & !self.answer.q.val().ack;
        let counter = self.counter(request.addr.get_bits::<12>(0));
        let counts = fresh & counter.exists & !request.write;
        let counted = self.counting.q.val() & (self.count_at.val() == self.counter_index.q.val());
        self.counter_index.d.next = counter.index;
        self.counting.d.next = counts | (self.counting.q.val() & !counted);

        // The counts of the contexts lie in six windows of 64 bytes.
        let window = request.addr.get_bits::<6>(6);
        let of_context =
            (window >= bits::<6>(FIRST_CONTEXT_WINDOW)) & (window < bits::<6>(FIRST_CONTEXT_WINDOW + CONTEXT_WORDS));
        self.context_index.next = request.addr.get_bits::<4>(2);
        self.context_word.next = window.get_bits::<3>(0);
        let sums = fresh & of_context & !request.write;
        self.summing.d.next = (self.summing.q.val().get_bit(0), sums).cat::<2>();
        let summed = self.summing.q.val().get_bit(1);

        // First cycle: the word is chosen, and a write takes effect.
        let take = fresh & !select.l2_data & !counts & !sums;
        let write = take & request.write;
        self.page.address.next = request.addr.get_bits::<12>(0);
        self.page.wdata.next = request.wdata;
        self.page.write.next = write;
        let report = self.fault.val();
        let print = self.print.val();
        self.page.status.next = HpuStatus {
            imem_addr: self.imem_pointer.q.val(),
            l2_addr: self.l2_pointer.q.val(),
            context_puts_under_way: self.context_puts.val().get_bits::<8>(0),
            context_puts_waiting: self.context_puts.val().get_bit(8),
            fault_count: self.fault.count.val(),
            fault_who: report.who,
            fault_pc: report.pc,
            fault_address: report.address,
            fault_frame: report.frame,
            print_count: self.print.count.val(),
            print_who: print.who,
            print_frame: print.frame,
            print_low: print.low,
            print_high: print.high,
        };
        self.word.d.next = self.page.word.val();
        self.word_known.d.next = self.page.known.val() & !counter.missing;
        self.word_ready.d.next = take;
        self.fault.pop.next = write & select.fault_pop;
        self.print.pop.next = write & select.print_pop;
        self.context(write);
        self.code(write);
        let l2_done = self.l2_window(fresh & select.l2_data, write & select.l2_addr);

        // Second cycle: the answer.
        self.answer.d.next = CsrResponse::default();
        if self.word_ready.q.val() {
            self.answer.d.next.ack = true;
            self.answer.d.next.error = !self.word_known.q.val();
            if self.word_known.q.val() & !request.write {
                self.answer.d.next.rdata = self.word.q.val();
            }
        } else if l2_done {
            self.answer.d.next.ack = true;
            self.answer.d.next.rdata = if request.write { bits::<32>(0) } else { self.l2_answer.val().data };
        }
        self.answer.load(counted, CsrResponse { ack: true, error: false, rdata: self.count.val() });
        self.answer.load(summed, CsrResponse { ack: true, error: false, rdata: self.context_count.val() });
        self.csr_answer.next = self.answer.q.val();
    }

    /// The counter at an offset. The telemetry offers each counter in its turn.
    fn counter(&mut self, offset: Bits<12>) -> CounterAt {
        let of_hpu = (offset >= bits::<12>(hpu::HPU_BUSY)) & (offset < bits::<12>(hpu::HPU_TASKS + 0x100));
        let number = zext::<7, 6>(offset.get_bits::<6>(2));
        let exists = number < bits::<7>(self._hpus);
        let mut is_total: Bit = true;
        let mut total: Bits<7> = bits::<7>(0);
        match offset.to_u32() {
            hpu::TASKS_DONE => total = bits::<7>(TOTAL_TASKS),
            hpu::TASKS_FAULTED => total = bits::<7>(TOTAL_FAULTED),
            hpu::BUSY_LO => total = bits::<7>(TOTAL_BUSY),
            hpu::BUSY_HI => total = bits::<7>(TOTAL_BUSY + 1),
            hpu::INSTRET_LO => total = bits::<7>(TOTAL_RETIRED),
            hpu::INSTRET_HI => total = bits::<7>(TOTAL_RETIRED + 1),
            hpu::COMMANDS => total = bits::<7>(TOTAL_COMMANDS),
            hpu::FAULT_LOST => total = bits::<7>(TOTAL_REPORTS_LOST),
            hpu::PRINT_LOST => total = bits::<7>(TOTAL_PRINTS_LOST),
            _ => is_total = false,
        }
        CounterAt {
            index: if !of_hpu {
                total | bits::<7>(TOTALS * self._group)
            } else if offset.get_bit(8) {
                number | bits::<7>(TASKS * self._group)
            } else {
                number | bits::<7>(BUSY * self._group)
            },
            exists: is_total | (of_hpu & exists),
            missing: of_hpu & !exists,
        }
    }

    /// The staged context. It is installed one cycle after the write; a number beyond the last context installs
    /// nothing.
    fn context(&mut self, write: Bit) {
        let number = self.csr.val().wdata;
        let stored = self.page.stored.val();
        self.installing.d.next = write & self.page.select.val().ctx_install & (number < bits::<32>(self._contexts));
        self.slot.d.next = number.get_bits::<4>(0);
        self.policy.valid.next = self.installing.q.val();
        self.policy.index.next = self.slot.q.val();
        self.active.next = stored.ctx_active;
        self.staged.next = ContextEntry {
            header: stored.ctx_header,
            payload: stored.ctx_payload,
            completion: stored.ctx_completion,
            task: stored.ctx_task,
            limits: ContextLimits {
                code_base: (stored.ctx_code_base_page, bits::<7>(0)).cat::<16>(),
                code_size: stored.ctx_code_size,
                state_base: stored.ctx_state_base,
                state_size: stored.ctx_state_size,
                host_lo: stored.ctx_host_lo,
                host_hi: stored.ctx_host_hi,
                host_size: stored.ctx_host_size,
                watchdog: stored.ctx_watchdog,
                scratch_base: stored.ctx_scratch_base,
                scratch_size: stored.ctx_scratch_size,
                tailroom: stored.ctx_tailroom_beats,
            },
        };
        self.policy.next = ContextPolicy {
            weight: stored.ctx_weight,
            messages: stored.ctx_quota_messages,
            packets: stored.ctx_quota_packets,
            overload: stored.ctx_overload_overload,
            user_header: stored.ctx_user_header,
            core_mask: stored.ctx_core_mask,
            pid: stored.ctx_process,
            tasks: stored.ctx_task.any(),
        };
    }

    /// The window of instruction memory: the address advances after each write.
    fn code(&mut self, write: Bit) {
        let data = self.csr.val().wdata;
        let code = write & self.page.select.val().imem_data;
        self.code_write.d.next = code;
        self.code_address.d.next = self.imem_pointer.q.val().get_bits::<14>(2);
        self.code_data.d.next = predecode(data);
        self.imem.write.next = self.code_write.q.val();
        self.imem.address.next = self.code_address.q.val();
        self.imem.data.next = self.code_data.q.val();
        if code {
            self.imem_pointer.d.next = self.imem_pointer.q.val() + 4;
        } else if write & self.page.select.val().imem_addr {
            self.imem_pointer.d.next = data.get_bits::<16>(0);
        }
    }

    /// The window of L2: `starts` an access, or `points` to another address. Returns whether the access is done.
    fn l2_window(&mut self, starts: Bit, points: Bit) -> Bit {
        let request = self.csr.val();
        self.l2_request.valid.next = self.l2_asking.q.val();
        self.l2_request.next = RemoteRequest {
            to_l2: true,
            write: request.write,
            address: self.l2_pointer.q.val() & bits::<20>(0xF_FFFC),
            size_less_one: bits::<2>(3),
            data: request.wdata,
            ..Default::default()
        };
        let done = self.l2_pending.q.val() & self.l2_answer.valid.val();
        if starts {
            self.l2_asking.d.next = true;
            self.l2_pending.d.next = true;
        } else {
            self.l2_asking.load(self.l2_request.ready.val(), false);
            self.l2_pending.load(done, false);
        }
        if done {
            self.l2_pointer.d.next = self.l2_pointer.q.val() + 4;
        } else if points {
            self.l2_pointer.d.next = request.wdata.get_bits::<20>(0);
        }
        done
    }
}
