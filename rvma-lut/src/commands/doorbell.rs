//! Doorbell pages: one page of staged registers per process, and the unit that carries out their commands.
//!
//! | neighbour | ports |
//! |---|---|
//! | CSR block | `csr`, `csr_answer`: pages from `doorbell::BASE` on |
//! | command unit | in `argument_index`, `argument_read`; out `argument` (next cycle); out `start`, `start_pid`, `start_code`; in `busy`, `slow`; in `result`, `result_word`, `result_valid` |
//! | event rings | out `head`, `head_pid`, `head_write` (pulse) |
//! | command rings, ring posts | out `tail`, `tail_pid`, `tail_write` (pulse); in `ring_result`, `ring_result_pid`, `ring_result_valid`: RING_DONE |
//!
//! All staged registers and the results live in one RAM, {process, word}. An access is answered after 1 cycle (writes) or 2
//! (reads); it waits while the command unit fetches its arguments (12 cycles, of PUT and GET 24). A COMMAND that finds a command of any process
//! under way waits for its end, some 30 cycles at most plus what the buffer queue has before it; but one that itself waits for
//! the host or the wire is not waited for: then RESULT says BUSY. Every other access goes on
//! meanwhile. RESULT reads busy from the answer to COMMAND on until the result is there. Staged registers keep their values over
//! reset; RESULT and RING_DONE are cleared after it, one word per cycle.
//!
//! Pages of processes that do not exist and words behind RING_DONE answer with `error`. RESULT, RING_DONE and the VALUE words cannot be
//! written, COMMAND reads as 0.

use spindle_blocks::desc::{CsrRequest, CsrResponse};
use spindle_blocks::ram::{RamStyle, SdpRam};
use spindle_contract::registers::{doorbell, doorbell_error, PAGE};
use spindle_verilog::prelude::*;

/// First doorbell page.
const FIRST_PAGE: u64 = (doorbell::BASE / PAGE) as u64;
const COMMAND: u64 = doorbell::COMMAND as u64 / 4;
const RESULT: u64 = doorbell::RESULT as u64 / 4;
const VALUE_LO: u64 = doorbell::VALUE_LO as u64 / 4;
const VALUE_HI: u64 = doorbell::VALUE_HI as u64 / 4;
const EVENT_HEAD: u64 = doorbell::EVENT_HEAD as u64 / 4;
const VALUE_LENGTH: u64 = doorbell::VALUE_LENGTH as u64 / 4;
const RING_TAIL: u64 = doorbell::RING_TAIL as u64 / 4;
const RING_DONE: u64 = doorbell::RING_DONE as u64 / 4;
/// Words of a page that exist.
const WORDS: u64 = RING_DONE + 1;

/// The doorbell pages. See the module text.
#[block]
pub struct Doorbell {
    /// Request, held until the answer.
    pub csr: Signal<In, CsrRequest>,
    /// Answer, one cycle.
    pub csr_answer: Signal<Out, CsrResponse>,
    /// Word of the commanding process that is wanted.
    pub argument_index: Signal<In, Bits<5>>,
    /// Process whose command runs.
    pub argument_pid: Signal<In, Bits<6>>,
    /// Read it in this cycle.
    pub argument_read: Signal<In, Bit>,
    /// The word, one cycle later.
    pub argument: Signal<Out, Bits<32>>,
    /// A command was written.
    pub start: Signal<Out, Bit>,
    /// By this process.
    pub start_pid: Signal<Out, Bits<6>>,
    /// The command.
    pub start_code: Signal<Out, Bits<32>>,
    /// A command is under way.
    pub busy: Signal<In, Bit>,
    /// And may last: others are refused as BUSY.
    pub slow: Signal<In, Bit>,
    /// A word of its result; process `argument_pid`.
    pub result: PulseSink<Bits<32>>,
    /// Which; RESULT comes last.
    pub result_word: Signal<In, Bits<5>>,
    /// Records that the host has read from an event ring.
    pub head: Signal<Out, Bits<16>>,
    /// Whose.
    pub head_pid: Signal<Out, Bits<6>>,
    /// EVENT_HEAD was written.
    pub head_write: Signal<Out, Bit>,
    /// Commands that the host has put into a command ring.
    pub tail: Signal<Out, Bits<16>>,
    /// Whose.
    pub tail_pid: Signal<Out, Bits<6>>,
    /// RING_TAIL was written.
    pub tail_write: Signal<Out, Bit>,
    /// RING_DONE.
    pub ring_result: PulseSink<Bits<32>>,
    /// Of this process.
    pub ring_result_pid: Signal<In, Bits<6>>,
    word_ram: SdpRam<11, 32>,
    answer: Reg<CsrResponse>,
    reading: Reg<Bit>,
    clearing: Reg<Bit>,
    clear_pid: Reg<Bits<6>>,
    clear_ring: Reg<Bit>,
    go: Signal<Local, Bit>,
    _processes: u64,
}

impl Doorbell {
    /// Pages of `processes` processes, 1 to 64.
    pub fn new(processes: usize) -> Self {
        assert!((1..=64).contains(&processes), "Doorbell: {processes} processes cannot be had; choose 1 to 64");
        let words = processes.next_power_of_two() * 32;
        Self {
            word_ram: SdpRam::with_depth(RamStyle::by_size(words, 32), 1, words),
            clearing: Reg::new(true),
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
        let known =
            (page < bits::<8>(FIRST_PAGE + self._processes)) & !request.addr.get_bits::<5>(7).any() & (word < WORDS);
        let is_result = word == RESULT;
        let read_only =
            is_result | (word == VALUE_LO) | (word == VALUE_HI) | (word == VALUE_LENGTH) | (word == RING_DONE);
        let is_command = word == COMMAND;

        // The command unit uses the RAM first; a command waits for the one under way.
        let idle = !self.answer.q.val().ack & !self.reading.q.val() & !self.clearing.q.val();
        let held = self.argument_read.val()
            | self.result.valid.val()
            | self.ring_result.valid.val()
            | (known & request.write & is_command & self.busy.val() & !self.slow.val());
        self.go.next = request.valid & mine & idle & !held;
        let writes = self.go.val() & known & request.write;
        let reads = self.go.val() & known & !request.write;

        self.word_ram.write_enable.next = writes & !read_only;
        self.word_ram.write_address.next = (pid, word).cat::<11>();
        self.word_ram.write_data.next = request.wdata;
        if self.clearing.q.val() {
            self.word_ram.write_enable.next = true;
            let cleared = if self.clear_ring.q.val() { bits::<5>(RING_DONE) } else { bits::<5>(RESULT) };
            self.word_ram.write_address.next = (self.clear_pid.q.val(), cleared).cat::<11>();
            self.word_ram.write_data.next = bits::<32>(0);
            self.clear_pid.d.next = self.clear_pid.q.val() + 1;
            if self.clear_pid.q.val() == bits::<6>(self._processes - 1) {
                self.clear_pid.d.next = bits::<6>(0);
                self.clear_ring.d.next = true;
                self.clearing.d.next = !self.clear_ring.q.val();
            }
        } else if writes & is_command & self.busy.val() {
            self.word_ram.write_address.next = (pid, bits::<5>(RESULT)).cat::<11>();
            self.word_ram.write_data.next = bits::<32>((doorbell_error::BUSY << 16) as u64);
        } else if self.result.valid.val() {
            self.word_ram.write_enable.next = true;
            self.word_ram.write_address.next = (self.argument_pid.val(), self.result_word.val()).cat::<11>();
            self.word_ram.write_data.next = self.result.val();
        } else if self.ring_result.valid.val() {
            self.word_ram.write_enable.next = true;
            self.word_ram.write_address.next = (self.ring_result_pid.val(), bits::<5>(RING_DONE)).cat::<11>();
            self.word_ram.write_data.next = self.ring_result.val();
        }
        self.word_ram.read_enable.next = self.argument_read.val() | reads;
        self.word_ram.read_address.next = (pid, word).cat::<11>();
        if self.argument_read.val() {
            self.word_ram.read_address.next = (self.argument_pid.val(), self.argument_index.val()).cat::<11>();
        }
        self.argument.next = self.word_ram.read_data.val();
        self.start.next = writes & is_command & !self.busy.val();
        self.start_pid.next = pid;
        self.start_code.next = request.wdata;
        self.head.next = request.wdata.get_bits::<16>(0);
        self.head_pid.next = pid;
        self.head_write.next = writes & (word == EVENT_HEAD);
        self.tail.next = request.wdata.get_bits::<16>(0);
        self.tail_pid.next = pid;
        self.tail_write.next = writes & (word == RING_TAIL);

        // Answers: at once, but for reads.
        self.reading.d.next = reads;
        self.answer.d.next =
            CsrResponse { ack: self.go.val() & !reads, error: self.go.val() & !known, rdata: bits::<32>(0) };
        if self.reading.q.val() {
            self.answer.d.next.ack = true;
            if !is_command {
                self.answer.d.next.rdata = self.word_ram.read_data.val();
            }
            // While the process's command runs, the word in the RAM is the result of the one before.
            if is_result & self.busy.val() & (self.argument_pid.val() == pid) {
                self.answer.d.next.rdata = bits::<32>(0x8000_0000_u32);
            }
        }
        self.csr_answer.next = self.answer.q.val();
    }
}
