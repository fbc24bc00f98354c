//! Atomics on L1: AMOs, LR and SC of a cluster's HPUs, one after the other.
//!
//! | neighbour | ports |
//! |---|---|
//! | remote router | in `request`, `hpu`; out `answer`, `answer_hpu` |
//! | L1 | out `access`, always granted; in `words[p]`, the word read, two cycles later; out `lock`; in `shared_write` |
//!
//! | cycle | action |
//! |---|---|
//! | 0 | the request is taken |
//! | 1 | the super-bank of the word is locked; the word is read |
//! | 3 | the word arrives |
//! | 4 | sum or difference of word and operand |
//! | 5 | the new word is written; LR and an SC that fails: an access that writes nothing |
//! | 6 | the answer is offered, the super-bank is unlocked |
//!
//! The unit uses the half ports of HPU 0. No other access reads or writes a word of the super-bank in between, so an
//! AMO is one step in the order of the accesses.
//!
//! LR makes a reservation of its word, one per hardware thread. The reservation ends when an atomic writes in the
//! word's super-bank, when a store to a scratchpad is granted there, or with the next LR or SC of the thread. So among
//! threads that execute only LR and SC, the first SC always succeeds. Stores to stacks and packets do not end
//! reservations, since each thread has its own.

use crate::cluster::amo_alu::{amo_choice, amo_result, amo_sum, STORES_NOTHING};
use crate::processor::types::{RemoteAnswer, RemoteRequest, WordRequest};
use spindle_blocks::{replicate, LutMemory};
use spindle_verilog::prelude::*;

/// funct5 of LR and SC.
const LR: u64 = 0b00010;
const SC: u64 = 0b00011;

/// State of the unit.
#[derive(LogicState, Copy, Clone, Debug, PartialEq)]
pub enum AtomicState {
    /// A request may come.
    Idle,
    /// The word is read.
    Read,
    /// The word is on its way.
    Fetch,
    /// The word arrives.
    Select,
    /// The new word is made.
    Modify,
    /// The new word is written.
    Write,
    /// The answer is offered.
    Answer,
}

/// The atomic unit. See the module text.
#[block]
pub struct L1Atomics {
    /// The access.
    pub request: Sink<RemoteRequest>,
    /// HPU of the request.
    pub hpu: Signal<In, Bits<3>>,
    /// The answer.
    pub answer: Source<RemoteAnswer>,
    /// HPU of the answer.
    pub answer_hpu: Signal<Out, Bits<3>>,
    /// Access of a word of L1.
    pub access: Pulse<WordRequest>,
    /// Word read, two cycles later: even and odd words.
    pub words: [Signal<In, Bits<32>>; 2],
    /// Super-banks that grant this unit alone.
    pub lock: Signal<Out, Bits<8>>,
    /// Super-banks in which a store to a scratchpad or an atomic was done in the cycle before.
    pub shared_write: Signal<In, Bits<8>>,
    state: Reg<AtomicState>,
    held: DFF<RemoteRequest>,
    held_hpu: DFF<Bits<3>>,
    locked: Reg<Bits<8>>,
    old: DFF<Bits<32>>,
    /// Sum of the word and the operand, the first half of the arithmetic; the second half is done on the way to L1.
    sum: DFF<Bits<32>>,
    /// What is stored in the cycle of the write. In all others the access is zero, since it is joined by an OR with the
    /// stores of the HPUs.
    choice: Reg<Bits<3>>,
    failed: DFF<Bit>,
    reserved: Reg<Bits<16>>,
    /// Word address of each thread's reservation, {HPU, thread}, and its super-bank.
    reservation: LutMemory<Bits<14>, 4>,
    reserved_in: Vec<DFF<Bits<3>>>,
    _hpus: usize,
}

impl L1Atomics {
    /// For `hpus` HPUs, 1 to 8.
    pub fn new(hpus: usize) -> Self {
        assert!((1..=8).contains(&hpus), "L1Atomics: {hpus} HPUs cannot be served; choose 1 to 8");
        Self {
            choice: Reg::new(bits::<3>(STORES_NOTHING)),
            reserved_in: replicate(2 * hpus),
            _hpus: hpus,
            ..Self::blank()
        }
    }
}

#[hdl]
impl L1Atomics {
    fn update(&mut self) {
        let state = self.state.q.val();
        let held = self.held.q.val();
        let is_lr = held.operation == bits::<5>(LR);
        let is_sc = held.operation == bits::<5>(SC);

        // The steps.
        self.request.ready.next = state == AtomicState::Idle;
        match state {
            AtomicState::Idle => {
                self.held.d.next = self.request.val();
                self.held_hpu.d.next = self.hpu.val();
                if self.request.valid.val() {
                    self.state.d.next = AtomicState::Read;
                    self.locked.d.next = bits::<8>(1) << self.request.val().address.get_bits::<3>(2);
                }
            }
            AtomicState::Read => self.state.d.next = AtomicState::Fetch,
            AtomicState::Fetch => self.state.d.next = AtomicState::Select,
            AtomicState::Select => self.state.d.next = AtomicState::Modify,
            AtomicState::Modify => self.state.d.next = AtomicState::Write,
            AtomicState::Write => {
                self.state.d.next = AtomicState::Answer;
                self.locked.d.next = bits::<8>(0);
            }
            AtomicState::Answer => {
                self.state.load(self.answer.ready.val(), AtomicState::Idle);
            }
        }
        self.lock.next = self.locked.q.val();

        // The word.
        let old = self.old.q.val();
        let sum = amo_sum(old, held.data, held.operation);
        self.sum.d.next = sum;
        self.choice.reset.next = state != AtomicState::Modify;
        self.choice.d.next = amo_choice(old, held.data, held.operation, sum);
        let writes = (state == AtomicState::Write) & !is_lr & !(is_sc & self.failed.q.val());
        self.access.next = WordRequest {
            row: held.address.get_bits::<13>(3),
            offset: (held.address.get_bit(2) & writes, bits::<2>(0)).cat::<3>(),
            size_less_one: repeat::<2>(writes),
            data: amo_result(old, held.data, self.sum.q.val(), self.choice.q.val()),
            // A write ends reservations.
            shared: writes,
            write: writes,
        };
        self.access.valid.next = (state == AtomicState::Read) | (state == AtomicState::Write);
        if state == AtomicState::Select {
            self.old.d.next = if held.address.get_bit(2) { self.words[1].val() } else { self.words[0].val() };
        }
        self.answer.next = RemoteAnswer {
            thread: held.thread,
            write: false,
            data: if is_sc { bit_cast::<32, 1>(self.failed.q.val().into()) } else { self.old.q.val() },
        };
        self.answer_hpu.next = self.held_hpu.q.val();
        self.answer.valid.next = state == AtomicState::Answer;

        // Reservations. Writes that were granted before the lock are known when the word is modified.
        let word_address = held.address.get_bits::<14>(2);
        let owner = (self.held_hpu.q.val(), held.thread).cat::<4>();
        let in_modify = state == AtomicState::Modify;
        self.failed.load(in_modify, true);
        self.reservation.write(in_modify & is_lr, owner, word_address);
        self.reservation.read_address.next = owner;
        let is_same = self.reservation.read_data.val() == word_address;
        let mut reserved: Bits<16> = self.reserved.q.val();
        for i in 0..2 * self._hpus {
            let mine = owner == bits::<4>(i);
            let lost = (self.shared_write.val() >> self.reserved_in[i].q.val()).get_bit(0);
            self.failed.load(in_modify & mine & is_sc & self.reserved.q.val().get_bit(i) & is_same, false);
            if (in_modify & mine & is_sc) | lost {
                reserved = reserved.replace_bit(i, false);
            }
            if in_modify & mine & is_lr {
                self.reserved_in[i].d.next = word_address.get_bits::<3>(0);
                reserved = reserved.replace_bit(i, true);
            }
        }
        self.reserved.d.next = reserved;
    }
}
