//! CSR page `hpu`: staging of contexts, code and context memory windows, counters, fault reports.
//!
//! | neighbour | ports |
//! |---|---|
//! | CSR block | in `csr` / out `csr_answer` |
//! | context table, clusters | out `staged`, `install`, `install_index`, `active` |
//! | packet engine | out `policy`, with `install` and `install_index` |
//! | clusters | out `imem_write`, `imem_address`, `imem_data`: predecoded, a cycle after the host's write |
//! | L2 | out `l2_request`, `l2_valid` / in `l2_ready`; in `l2_answer`, `l2_answer_valid` |
//! | telemetry | in `count_at`, `count`: another counter in each cycle |
//! | far unit | in `context_puts` |
//! | fault queue | in `report`, `reports`; out `pop` |
//! | print queue | in `print`, `prints`; out `print_pop` |
//!
//! An access is answered 2 cycles after the request; L2_DATA waits for the memory, and the read of a counter until its turn comes, which takes a round of the
//! [`Tally`](crate::array::tally::Tally) at most. Addresses without a register answer with `error`.

use crate::array::context_staging::ContextStaging;
use crate::array::tally::{
    group_bits, BUSY, TASKS, TOTALS, TOTAL_BUSY, TOTAL_COMMANDS, TOTAL_FAULTED, TOTAL_PRINTS_LOST, TOTAL_REPORTS_LOST,
    TOTAL_RETIRED, TOTAL_TASKS,
};
use crate::bundles::CodeWrite;
use crate::processor::predecode::{predecode, CodeWord};
use crate::processor::types::{RemoteAnswer, RemoteRequest};
use crate::types::{ContextEntry, FaultReport, PrintPiece};
use spindle_blocks::desc::{ContextPolicy, CsrRequest, CsrResponse};
use spindle_contract::registers::hpu;
use spindle_verilog::prelude::*;

const IMEM_ADDR: u64 = hpu::IMEM_ADDR as u64;
const IMEM_DATA: u64 = hpu::IMEM_DATA as u64;
const L2_ADDR: u64 = hpu::L2_ADDR as u64;
const TASKS_DONE: u64 = hpu::TASKS_DONE as u64;
const TASKS_FAULTED: u64 = hpu::TASKS_FAULTED as u64;
const BUSY_LO: u64 = hpu::BUSY_LO as u64;
const BUSY_HI: u64 = hpu::BUSY_HI as u64;
const INSTRET_LO: u64 = hpu::INSTRET_LO as u64;
const INSTRET_HI: u64 = hpu::INSTRET_HI as u64;
const COMMANDS: u64 = hpu::COMMANDS as u64;
const CONTEXT_PUTS: u64 = hpu::CONTEXT_PUTS as u64;
const FAULT_COUNT: u64 = hpu::FAULT_COUNT as u64;
const FAULT_LOST: u64 = hpu::FAULT_LOST as u64;
const FAULT_WHO: u64 = hpu::FAULT_WHO as u64;
const FAULT_PC: u64 = hpu::FAULT_PC as u64;
const FAULT_ADDRESS: u64 = hpu::FAULT_ADDRESS as u64;
const FAULT_FRAME: u64 = hpu::FAULT_FRAME as u64;
const FAULT_POP: u64 = hpu::FAULT_POP as u64;
const PRINT_COUNT: u64 = hpu::PRINT_COUNT as u64;
const PRINT_LOST: u64 = hpu::PRINT_LOST as u64;
const PRINT_WHO: u64 = hpu::PRINT_WHO as u64;
const PRINT_FRAME: u64 = hpu::PRINT_FRAME as u64;
const PRINT_LOW: u64 = hpu::PRINT_LOW as u64;
const PRINT_HIGH: u64 = hpu::PRINT_HIGH as u64;
const PRINT_POP: u64 = hpu::PRINT_POP as u64;

/// The page. See the module text.
#[block]
pub struct Registers {
    /// Request, held until the answer.
    pub csr: Signal<In, CsrRequest>,
    /// Answer, one cycle.
    pub csr_answer: Signal<Out, CsrResponse>,
    /// The staged context.
    pub staged: Signal<Out, ContextEntry>,
    /// Its policy.
    pub policy: Signal<Out, ContextPolicy>,
    /// Install both.
    pub install: Signal<Out, Bit>,
    /// Where.
    pub install_index: Signal<Out, Bits<4>>,
    /// Contexts that accept packets.
    pub active: Signal<Out, Bits<16>>,
    /// Words of code, predecoded.
    pub imem: CodeWrite,
    /// Access to L2.
    pub l2_request: Signal<Out, RemoteRequest>,
    /// It is wanted.
    pub l2_valid: Signal<Out, Bit>,
    /// It is taken.
    pub l2_ready: Signal<In, Bit>,
    /// The word read.
    pub l2_answer: PulseSink<RemoteAnswer>,
    /// A counter.
    pub count_at: Signal<In, Bits<7>>,
    /// Its count.
    pub count: Signal<In, Bits<32>>,
    /// Puts of context memory.
    pub context_puts: Signal<In, Bits<9>>,
    /// Oldest fault report.
    pub report: Signal<In, FaultReport>,
    /// Reports waiting.
    pub reports: Signal<In, Bits<8>>,
    /// Drop the oldest report.
    pub pop: Signal<Out, Bit>,
    /// Oldest piece of text.
    pub print: Signal<In, PrintPiece>,
    /// Pieces waiting.
    pub prints: Signal<In, Bits<8>>,
    /// Drop the oldest piece.
    pub print_pop: Signal<Out, Bit>,
    staging: ContextStaging,
    imem_pointer: Reg<Bits<16>>,
    /// A word of code on its way, predecoded.
    code_write: Reg<Bit>,
    code_address: DFF<Bits<14>>,
    code_data: DFF<CodeWord>,
    l2_pointer: Reg<Bits<20>>,
    word_ready: Reg<Bit>,
    word: DFF<Bits<32>>,
    word_known: DFF<Bit>,
    report_word: DFF<Bits<32>>,
    l2_asking: Reg<Bit>,
    l2_pending: Reg<Bit>,
    answer: Reg<CsrResponse>,
    take: Signal<Local, Bit>,
    /// A counter is read: this one.
    counting: Reg<Bit>,
    wanted: DFF<Bits<7>>,
    _hpus: usize,
    _group: usize,
}

impl Registers {
    /// The page of an array with `hpus` HPUs in all and `contexts` contexts.
    pub fn new(hpus: usize, contexts: usize) -> Self {
        Self { staging: ContextStaging::new(contexts), _hpus: hpus, _group: 1 << group_bits(hpus), ..Self::blank() }
    }
}

#[hdl]
impl Registers {
    fn update(&mut self) {
        let request = self.csr.val();
        let offset = request.addr.get_bits::<12>(0);
        let index = request.addr.get_bits::<6>(2);
        let is_l2 = offset == bits::<12>(hpu::L2_DATA);
        let waits = self.l2_pending.q.val() | self.counting.q.val();
        let fresh = request.valid & !self.word_ready.q.val() & !waits & !self.answer.q.val().ack;

        // A counter is told when its turn comes.
        let of_hpu = (offset >= bits::<12>(hpu::HPU_BUSY)) & (offset < bits::<12>(hpu::HPU_TASKS as u64 + 0x100));
        let of_tasks = request.addr.get_bit(8);
        let mut is_total: Bit = true;
        let mut total: Bits<7> = bits::<7>(0);
        match offset.to_u64() {
            TASKS_DONE => total = bits::<7>(TOTAL_TASKS),
            TASKS_FAULTED => total = bits::<7>(TOTAL_FAULTED),
            BUSY_LO => total = bits::<7>(TOTAL_BUSY),
            BUSY_HI => total = bits::<7>(TOTAL_BUSY as u64 + 1),
            INSTRET_LO => total = bits::<7>(TOTAL_RETIRED),
            INSTRET_HI => total = bits::<7>(TOTAL_RETIRED as u64 + 1),
            COMMANDS => total = bits::<7>(TOTAL_COMMANDS),
            FAULT_LOST => total = bits::<7>(TOTAL_REPORTS_LOST),
            PRINT_LOST => total = bits::<7>(TOTAL_PRINTS_LOST),
            _ => is_total = false,
        }
        self.wanted.d.next = if !of_hpu {
            total | bits::<7>((TOTALS * self._group) as u64)
        } else if of_tasks {
            bit_cast::<7, 6>(index) | bits::<7>((TASKS * self._group) as u64)
        } else {
            bit_cast::<7, 6>(index) | bits::<7>((BUSY * self._group) as u64)
        };
        let hpu_known = bit_cast::<7, 6>(index) < bits::<7>(self._hpus);
        let is_counter = is_total | (of_hpu & hpu_known);
        let counts = fresh & is_counter & !request.write;
        let counted = self.counting.q.val() & (self.count_at.val() == self.wanted.q.val());
        self.counting.d.next = counts | (self.counting.q.val() & !counted);
        self.take.next = fresh & !is_l2 & !counts;

        // First cycle: the word is chosen. The reports have their own register, so that no multiplexer is deep.
        let of_reports = offset.get_bits::<6>(6) == bits::<6>(hpu::FAULT_COUNT as u64 / 64);
        let report = self.report.val();
        let print = self.print.val();
        let mut report_known: Bit = true;
        let mut report_word: Bits<32> = bits::<32>(0);
        match offset.to_u64() {
            FAULT_COUNT => report_word = bit_cast::<32, 8>(self.reports.val()),
            FAULT_WHO => report_word = report.who,
            FAULT_PC => report_word = report.pc,
            FAULT_ADDRESS => report_word = report.address,
            FAULT_FRAME => report_word = report.frame,
            PRINT_COUNT => report_word = bit_cast::<32, 8>(self.prints.val()),
            PRINT_WHO => report_word = print.who,
            PRINT_FRAME => report_word = bit_cast::<32, 16>(print.frame),
            PRINT_LOW => report_word = print.low,
            PRINT_HIGH => report_word = print.high,
            FAULT_POP | PRINT_POP => report_word = bits::<32>(0),
            _ => report_known = false,
        }
        self.report_word.d.next = report_word;
        self.staging.offset.next = offset;
        self.staging.data.next = request.wdata;
        let mut word: Bits<32> = self.staging.word.val();
        let mut known: Bit = true;
        match offset.to_u64() {
            IMEM_ADDR => word = bit_cast::<32, 16>(self.imem_pointer.q.val()),
            IMEM_DATA => word = bits::<32>(0),
            L2_ADDR => word = bit_cast::<32, 20>(self.l2_pointer.q.val()),
            CONTEXT_PUTS => word = bit_cast::<32, 9>(self.context_puts.val()),
            _ => known = self.staging.known.val(),
        }
        self.word.d.next = word;
        self.word_known.d.next = is_counter | if of_reports { report_known } else { known };
        self.word_ready.d.next = self.take.val();

        // Writes take effect in the same cycle.
        let write = self.take.val() & request.write;
        let data = request.wdata;
        self.staging.write.next = write;
        self.staged.next = self.staging.staged.val();
        self.policy.next = self.staging.policy.val();
        self.install.next = self.staging.install.val();
        self.install_index.next = self.staging.install_index.val();
        self.active.next = self.staging.active.val();

        // Windows: the pointer moves on after each access.
        let code = write & (offset == bits::<12>(IMEM_DATA));
        self.code_write.d.next = code;
        self.code_address.d.next = self.imem_pointer.q.val().get_bits::<14>(2);
        self.code_data.d.next = predecode(data);
        self.imem.write.next = self.code_write.q.val();
        self.imem.address.next = self.code_address.q.val();
        self.imem.data.next = self.code_data.q.val();
        if code {
            self.imem_pointer.d.next = self.imem_pointer.q.val() + 4;
        } else if write & (offset == bits::<12>(IMEM_ADDR)) {
            self.imem_pointer.d.next = data.get_bits::<16>(0);
        }
        self.l2_valid.next = self.l2_asking.q.val();
        self.l2_request.next = RemoteRequest {
            to_l2: true,
            write: request.write,
            address: self.l2_pointer.q.val() & bits::<20>(0xF_FFFC),
            size_less_one: bits::<2>(3),
            data,
            ..Default::default()
        };
        let l2_done = self.l2_pending.q.val() & self.l2_answer.valid.val();
        if fresh & is_l2 {
            self.l2_asking.d.next = true;
            self.l2_pending.d.next = true;
        } else {
            if self.l2_ready.val() {
                self.l2_asking.d.next = false;
            }
            if l2_done {
                self.l2_pending.d.next = false;
            }
        }
        if l2_done {
            self.l2_pointer.d.next = self.l2_pointer.q.val() + 4;
        } else if write & (offset == bits::<12>(L2_ADDR)) {
            self.l2_pointer.d.next = data.get_bits::<20>(0);
        }
        self.pop.next = write & (offset == bits::<12>(FAULT_POP));
        self.print_pop.next = write & (offset == bits::<12>(PRINT_POP));

        // Second cycle: the answer.
        self.answer.d.next = CsrResponse { ack: false, error: false, rdata: bits::<32>(0) };
        if self.word_ready.q.val() {
            self.answer.d.next.ack = true;
            self.answer.d.next.error = !self.word_known.q.val();
            if self.word_known.q.val() & !request.write {
                self.answer.d.next.rdata = if of_reports { self.report_word.q.val() } else { self.word.q.val() };
            }
        } else if l2_done {
            self.answer.d.next.ack = true;
            self.answer.d.next.rdata = if request.write { bits::<32>(0) } else { self.l2_answer.val().data };
        }
        if counted {
            self.answer.d.next = CsrResponse { ack: true, error: false, rdata: self.count.val() };
        }
        self.csr_answer.next = self.answer.q.val();
    }
}
