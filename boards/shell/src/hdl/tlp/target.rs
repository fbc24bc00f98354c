//! BAR target: requests of the host, as accesses to words and completions.
//!
//! | neighbour | ports |
//! |---|---|
//! | router, through a FIFO | in `request`, `verdict` |
//! | register access | out `access`; in `answer`, `answer_error` |
//! | MSI-X | out `vectors`; in `vectors_word` |
//! | completer | out `word` (pulse), `word_at`; out `header` |
//! | `pcie_7x` | in `id` |
//!
//! One request at a time, in their order, so a read sees the writes before it.
//!
//! * A write is an access for each DW, lowest address first, with the DW's enables; a DW without enables is left out.
//! * A read is an access for each DW, whatever its enables. They count in byte count and lower address only, and a
//!   read of no byte makes no access: its DW is 0. A read is answered by a completion at each multiple of 128 bytes and
//!   at its end. A word that was answered with an error reads all ones: to a host an abort may be fatal.
//! * Any other request, and a read that hits no BAR, is answered with an unsupported-request completion.
//!
//! Addresses beyond the BAR's end are those within the BAR: bits above are ignored.
//!
//! | what | cycles |
//! |---|---|
//! | a request at the head of both FIFOs → `access`, `vectors`, or the `header` of a refusal | 1 |
//! | `answer` → next `access` of the request; → `header` | 1; 1 |
//! | `vectors` taken → next one | 2 |

use super::completer::CompletionHeader;
use super::header::{byte_count, dw, first_byte, has_data, is_wide, kind_of, payload_length, UNSUPPORTED};
use super::msix::TableAccess;
use super::route::RequestBeat;
use super::words::WordAccess;
use spindle_contract::registers::BAR_BITS;
use spindle_verilog::prelude::*;

/// Bits of the number of a word.
const WORD_BITS: usize = BAR_BITS - 2;

/// What the target does.
#[derive(LogicState, Copy, Clone, Debug, PartialEq)]
pub enum TargetState {
    /// Waits for a request.
    Idle,
    /// Offers an access to a word.
    Ask,
    /// Waits for its answer.
    Wait,
    /// Reads a word of the MSI-X table.
    Table,
    /// Offers a completion.
    Answer,
    /// Drops beats to the end of the request.
    Drain,
}

/// The target. See the module text.
#[block]
pub struct Target {
    /// Beats of requests.
    pub request: Sink<RequestBeat>,
    /// The oldest request is to be carried out.
    pub verdict: Sink<Bit>,
    /// Access to a register.
    pub access: Source<WordAccess>,
    /// Its answer.
    pub answer: PulseSink<Bits<32>>,
    /// The answer is an error.
    pub answer_error: Signal<In, Bit>,
    /// Access to the MSI-X table.
    pub vectors: Source<TableAccess>,
    /// The word that was read.
    pub vectors_word: Signal<In, Bits<32>>,
    /// Word of a completion.
    pub word: Pulse<Bits<32>>,
    /// Its number.
    pub word_at: Signal<Out, Bits<5>>,
    /// Completion to send.
    pub header: Source<CompletionHeader>,
    /// The function.
    pub id: Signal<In, Bits<16>>,
    /// An access was answered with an error.
    pub error: Signal<Out, Bit>,
    state: Reg<TargetState>,
    writes: DFF<Bit>,
    refuses: DFF<Bit>,
    to_table: DFF<Bit>,
    /// Class and attributes, in their places, and the bit that makes a completion locked.
    dw0: DFF<Bits<32>>,
    /// Requester and tag.
    requester: DFF<Bits<24>>,
    /// Word of the next access, DWs and bytes left.
    word_address: DFF<Bits<WORD_BITS>>,
    left: DFF<Bits<11>>,
    count: DFF<Bits<13>>,
    lower: DFF<Bits<7>>,
    first: DFF<Bit>,
    enables: DFF<Bits<8>>,
    /// DW of the beat, and words of the completion.
    at: DFF<Bits<2>>,
    words: DFF<Bits<6>>,
    /// The last beat of the request was taken.
    drained: DFF<Bit>,
}

#[hdl]
impl Target {
    fn update(&mut self) {
        self.request.ready.next = false;
        self.verdict.ready.next = false;
        self.access.valid.next = false;
        self.vectors.valid.next = false;
        self.header.valid.next = false;
        self.word.valid.next = false;
        self.error.next = false;
        self.word.next = self.answer.val();
        match self.state.q.val() {
            TargetState::Idle => self.begin(),
            TargetState::Ask => self.ask(),
            TargetState::Wait => {
                if self.answer.valid.val() {
                    self.error.next = self.answer_error.val();
                    self.advance();
                    if self.answer_error.val() {
                        self.word.next = repeat::<32>(true);
                    }
                }
            }
            TargetState::Table => {
                self.advance();
                self.word.next = self.vectors_word.val();
            }
            TargetState::Answer => self.complete(),
            _ => {
                self.request.ready.next = true;
                self.state.load(self.request.valid.val() & self.request.val().last, TargetState::Idle);
            }
        }
        self.drive();
    }

    /// Idle: the header of a request.
    fn begin(&mut self) {
        let beat = self.request.val();
        let dw0 = beat.data.get_bits::<32>(0);
        let dw1 = beat.data.get_bits::<32>(32);
        let wide = is_wide(dw0);
        let kind = kind_of(dw0);
        let address = if wide { beat.data.get_bits::<32>(96) } else { beat.data.get_bits::<32>(64) };
        let length = payload_length(dw0);
        let first = dw1.get_bits::<4>(0);
        let refuses = kind.refused | (kind.read & !beat.registers & !beat.msix);
        let nothing = kind.read & (length == bits::<11>(1)) & !first.any();
        let locked = kind.refused & !has_data(dw0) & (dw0.get_bits::<5>(24) == bits::<5>(1));

        self.writes.d.next = kind.write;
        self.refuses.d.next = refuses;
        self.to_table.d.next = beat.msix & !beat.registers;
        // Bits 22:20, 18, 13:12 are those of the request.
        self.dw0.d.next = (dw0 & bits::<32>(0x0074_3000)) | (bit_cast::<32, 1>(locked.into()) << 24);
        self.requester.d.next = dw1.get_bits::<24>(8);
        self.word_address.d.next = address.get_bits::<WORD_BITS>(2);
        self.left.d.next = length;
        self.count.d.next = if kind.read { byte_count(length, first, dw1.get_bits::<4>(4)) } else { bits::<13>(4) };
        self.lower.d.next = (address.get_bits::<5>(2), first_byte(first)).cat::<7>();
        self.first.d.next = true;
        self.enables.d.next = dw1.get_bits::<8>(0);
        self.at.d.next = if wide { bits::<2>(0) } else { bits::<2>(3) };
        self.words.d.next = if nothing { bits::<6>(1) } else { bits::<6>(0) };
        self.drained.d.next = beat.last;
        self.word.next = bits::<32>(0);
        if self.request.valid.val() & self.verdict.valid.val() {
            self.verdict.ready.next = true;
            if !self.verdict.val() {
                self.state.d.next = TargetState::Drain;
            } else {
                // The first word of a write with a short header lies in this beat.
                self.request.ready.next = !kind.write | wide;
                self.word.valid.next = nothing;
                if nothing {
                    self.left.d.next = bits::<11>(0);
                }
                self.state.d.next = if refuses | nothing { TargetState::Answer } else { TargetState::Ask };
            }
        }
    }

    /// Ask: the access of the next DW.
    fn ask(&mut self) {
        let skips = self.writes.q.val() & !self.present().any();
        let ready = self.request.valid.val() | !self.writes.q.val();
        let to_table = self.to_table.q.val();
        self.access.valid.next = ready & !skips & !to_table;
        self.vectors.valid.next = ready & !skips & to_table;
        if ready & skips {
            self.advance();
        } else if ready {
            if to_table {
                self.state.load(self.vectors.ready.val(), TargetState::Table);
            } else {
                self.state.load(self.access.ready.val(), TargetState::Wait);
            }
        }
    }

    /// The enables of the next DW.
    fn present(&mut self) -> Bits<4> {
        let enables = self.enables.q.val();
        let last = self.left.q.val() == bits::<11>(1);
        if self.first.q.val() {
            enables.get_bits::<4>(0)
        } else if last {
            enables.get_bits::<4>(4)
        } else {
            bits::<4>(0xF)
        }
    }

    /// The access of a DW is over.
    fn advance(&mut self) {
        let write = self.writes.q.val();
        let last = self.left.q.val() == bits::<11>(1);
        self.left.d.next = self.left.q.val() - 1;
        self.word_address.d.next = self.word_address.q.val() + 1;
        self.first.d.next = false;
        self.at.d.next = self.at.q.val() + 1;
        self.word.valid.next = !write;
        self.words.load(!write, self.words.q.val() + 1);
        self.request.ready.next = write & (last | self.at.q.val().all());
        let cuts = self.word_address.q.val().get_bits::<5>(0).all();
        if write & last {
            self.state.d.next = if self.request.val().last { TargetState::Idle } else { TargetState::Drain };
        } else if !write & (last | cuts) {
            self.state.d.next = TargetState::Answer;
        } else {
            self.state.d.next = TargetState::Ask;
        }
    }

    /// Answer: a completion.
    fn complete(&mut self) {
        self.header.valid.next = true;
        let over = self.refuses.q.val() | !self.left.q.val().any();
        let words = self.words.q.val();
        if self.header.ready.val() {
            let bytes = bit_cast::<13, 6>(words) << 2;
            self.count.d.next = self.count.q.val() - (bytes - bit_cast::<13, 2>(self.lower.q.val().get_bits::<2>(0)));
            self.lower.d.next = bits::<7>(0);
            self.words.d.next = bits::<6>(0);
            if !over {
                self.state.d.next = TargetState::Ask;
            } else {
                self.state.d.next = if self.drained.q.val() { TargetState::Idle } else { TargetState::Drain };
            }
        }
    }

    fn drive(&mut self) {
        let word = byte_swap(dw(self.request.val().data, self.at.q.val()));
        let strobes = self.present();
        let address = self.word_address.q.val();
        let write = self.writes.q.val();
        self.access.next =
            WordAccess { write, address: (address, bits::<2>(0)).cat::<BAR_BITS>(), data: word, strobes };
        self.vectors.next = TableAccess { write, word: address.get_bits::<10>(0), data: word, strobes };
        self.word_at.next =
            if self.state.q.val() == TargetState::Idle { bits::<5>(0) } else { self.words.q.val().get_bits::<5>(0) };
        let refuses = self.refuses.q.val();
        let words = if refuses { bits::<6>(0) } else { self.words.q.val() };
        // A completion: type 01010, with data or without.
        let dw0 = self.dw0.q.val() | bit_cast::<32, 6>(words);
        let dw0 = dw0 | if refuses { bits::<32>(0x0A00_0000) } else { bits::<32>(0x4A00_0000) };
        let status = if refuses { bits::<3>(UNSUPPORTED) } else { bits::<3>(0) };
        let lower = if refuses { bits::<7>(0) } else { self.lower.q.val() };
        let dw1 = (self.id.val(), status, bits::<1>(0), self.count.q.val().get_bits::<12>(0)).cat::<32>();
        let dw2 = (self.requester.q.val(), bits::<1>(0), lower).cat::<32>();
        self.header.next = CompletionHeader { dws: (dw2, dw1, dw0).cat::<96>(), words };
    }
}
