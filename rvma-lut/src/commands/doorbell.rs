//! Doorbell pages: one page of staged registers per process.
//!
//! | neighbour | ports |
//! |---|---|
//! | CSR block | `csr`, `csr_answer`: pages from `doorbell::BASE` on |
//! | command unit | out `command`; in `staged` |
//! | event rings, moderation | out `event_head`, `event_arm` (pulse) |
//! | moderation | out `irq` (pulse) |
//! | kicks | out `kick` (pulse) |
//! | command rings | out `ring_tail` (pulse) |
//! | ring posts | in `ring_result` (pulse), `ring_result_pid`: RING_DONE |
//!
//! All staged registers and results lie in one RAM, {process, word}. A write is answered after 1 cycle, a read after 2;
//! both wait while the command unit fetches its arguments (12 cycles, for PUT and GET 24). A write to COMMAND waits for
//! the end of the command of any process under way, some 30 cycles at most plus the commands that the buffer queue has
//! before it. A command that itself waits for the host or the wire is not waited for: RESULT reads BUSY instead. Other
//! accesses go on meanwhile. RESULT reads busy from the answer to COMMAND on until the result is written. Staged
//! registers keep their values over reset; RESULT, RING_DONE and IRQ are cleared after reset, one word per cycle.
//!
//! Pages of processes that do not exist and words after KICK answer with `error`. RESULT, RING_DONE and the VALUE
//! words are read-only, COMMAND reads as 0.

use crate::commands::command_words::*;
use crate::prelude::*;
use spindle_contract::registers::{doorbell, doorbell_error, PAGE};

/// First doorbell page.
const FIRST_PAGE: u64 = (doorbell::BASE / PAGE) as u64;
/// Words of a page that exist.
const WORDS: usize = KICK + 1;

/// The doorbell pages. See the module text.
#[block]
pub struct Doorbell {
    /// Request, held until the answer.
    pub csr: Signal<In, CsrRequest>,
    /// Answer, one cycle.
    pub csr_answer: Signal<Out, CsrResponse>,
    /// Command for the command unit, with its result.
    pub command: DoorbellCommandSource,
    /// Read of a staged register of `command.owner`.
    pub staged: ArgumentSink,
    /// EVENT_HEAD: records of an event ring that the host has read.
    pub event_head: RingPointerSource,
    /// With `event_head`: bit `arm`.
    pub event_arm: Signal<Out, Bit>,
    /// IRQ.
    pub irq: ProcessWordSource,
    /// Process that writes KICK.
    pub kick: Pulse<Bits<6>>,
    /// RING_TAIL: commands that the host has put into a command ring.
    pub ring_tail: RingPointerSource,
    /// RING_DONE.
    pub ring_result: PulseSink<Bits<32>>,
    /// With `ring_result`: process.
    pub ring_result_pid: Signal<In, Bits<6>>,
    word_ram: SdpRam<11, 32>,
    answer: Reg<CsrResponse>,
    reading: Reg<Bit>,
    clearing: Reg<Bit>,
    clear_pid: Reg<Bits<6>>,
    /// Word that is cleared.
    clear_word: Reg<Bits<5>>,
    _processes: u64,
}

impl Doorbell {
    /// Pages of `processes` processes, 1 to 64.
    pub fn new(processes: usize) -> Self {
        assert!((1..=64).contains(&processes), "Doorbell: {processes} processes are not possible; choose 1 to 64");
        let words = processes.next_power_of_two() * 32;
        Self {
            word_ram: SdpRam::with_depth(RamStyle::by_size(words, 32), 1, words),
            clearing: Reg::new(true),
            clear_word: Reg::new(bits::<5>(RESULT)),
            _processes: processes as u64,
            ..Self::blank()
        }
    }
}

#[hdl]
impl Doorbell {
    fn update(&mut self) {
        let request = self.csr.val();
        let page = request.addr.get_bits::<8>(12);
        let pid = (page - FIRST_PAGE).get_bits::<6>(0);
        let word = request.addr.get_bits::<5>(2);
        let mine = page >= FIRST_PAGE;
        let known = (page < bits::<8>(FIRST_PAGE + self._processes))
            & !request.addr.get_bits::<5>(7).any()
            & (word < bits(WORDS));
        let is_result = word == bits(RESULT);
        let read_only = is_result
            | (word == bits(VALUE_LO))
            | (word == bits(VALUE_HI))
            | (word == bits(VALUE_LENGTH))
            | (word == bits(RING_DONE));
        let is_command = word == bits(COMMAND);

        // The command unit goes first at the RAM; a command waits for the one under way.
        let idle = !self.answer.q.val().ack & !self.reading.q.val() & !self.clearing.q.val();
        let blocked = self.staged.read.val()
            | self.command.result_valid.val()
            | self.ring_result.valid.val()
            | (known & request.write & is_command & self.command.busy.val() & !self.command.slow.val());
        let go = request.valid & mine & idle & !blocked;
        let writes = go & known & request.write;
        let reads = go & known & !request.write;

        self.word_ram.write(writes & !read_only, (pid, word).cat::<11>(), request.wdata);
        if self.clearing.q.val() {
            self.word_ram.write_enable.next = true;
            let cleared = self.clear_word.q.val();
            self.word_ram.write_address.next = (self.clear_pid.q.val(), cleared).cat::<11>();
            self.word_ram.write_data.next = bits::<32>(0);
            self.clear_pid.d.next = self.clear_pid.q.val() + 1;
            if self.clear_pid.q.val() == bits::<6>(self._processes - 1) {
                self.clear_pid.d.next = bits::<6>(0);
                self.clear_word.d.next = if cleared == bits(RESULT) { bits::<5>(RING_DONE) } else { bits::<5>(IRQ) };
                self.clearing.d.next = cleared != bits(IRQ);
            }
        } else if writes & is_command & self.command.busy.val() {
            self.word_ram.write_address.next = (pid, bits::<5>(RESULT)).cat::<11>();
            self.word_ram.write_data.next = bits::<32>(doorbell_error::BUSY << 16);
        } else if self.command.result_valid.val() {
            self.word_ram.write_enable.next = true;
            self.word_ram.write_address.next = (self.command.owner.val(), self.command.result_word.val()).cat::<11>();
            self.word_ram.write_data.next = self.command.result.val();
        } else if self.ring_result.valid.val() {
            self.word_ram.write_enable.next = true;
            self.word_ram.write_address.next = (self.ring_result_pid.val(), bits::<5>(RING_DONE)).cat::<11>();
            self.word_ram.write_data.next = self.ring_result.val();
        }
        self.word_ram.read(self.staged.read.val() | reads, (pid, word).cat::<11>());
        if self.staged.read.val() {
            self.word_ram.read_address.next = (self.command.owner.val(), self.staged.index.val()).cat::<11>();
        }
        self.staged.word.next = self.word_ram.read_data.val();
        self.command.start.next = writes & is_command & !self.command.busy.val();
        self.command.pid.next = pid;
        self.command.code.next = request.wdata;
        self.event_head.next = request.wdata.get_bits::<16>(0);
        self.event_head.pid.next = pid;
        self.event_head.valid.next = writes & (word == bits(EVENT_HEAD));
        self.event_arm.next = request.wdata.get_bit(31);
        self.irq.next = request.wdata;
        self.irq.pid.next = pid;
        self.irq.valid.next = writes & (word == bits(IRQ));
        self.kick.offer(writes & (word == bits(KICK)), pid);
        self.ring_tail.next = request.wdata.get_bits::<16>(0);
        self.ring_tail.pid.next = pid;
        self.ring_tail.valid.next = writes & (word == bits(RING_TAIL));

        // Writes are answered at once, reads a cycle later.
        self.reading.d.next = reads;
        self.answer.d.next = CsrResponse { ack: go & !reads, error: go & !known, rdata: bits::<32>(0) };
        if self.reading.q.val() {
            self.answer.d.next.ack = true;
            if !is_command {
                self.answer.d.next.rdata = self.word_ram.read_data.val();
            }
            // While the process's command is carried out, the word in the RAM is the result of the previous command.
            if is_result & self.command.busy.val() & (self.command.owner.val() == pid) {
                self.answer.d.next.rdata = bits::<32>(0x8000_0000_u32);
            }
        }
        self.csr_answer.next = self.answer.q.val();
    }
}
