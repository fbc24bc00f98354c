//! Host atomics: read, modify and write of a word of host memory; the old value is the answer.
//!
//! | neighbour | ports |
//! |---|---|
//! | HPU array | in `host_atomic`; out `done` (pulse) |
//! | DMA reader | out `read`; in `word` (pulse), `word_error` |
//! | DMA writer | out `write`; in `finished` (pulse), `finished_error` |
//!
//! Up to four operations are under way, each on its own 8 bytes of memory. An operation on the bytes of another one
//! waits for that one's end, and the operations after it wait too. An operation ends with the host's answer to its
//! write or, if its comparison or its read failed, with the read. So operations on one address are atomic among those
//! of this unit; plain reads and writes of the NIC and accesses of the host are not ordered with them.
//!
//! Request taken → read 2 cycles; word → write 4 cycles, → `done` of an operation that writes nothing 5 cycles; last
//! answer → `done` 1 cycle. One operation per 4 cycles. Slots are assigned in turn, so an operation waits for the end of
//! the fourth one before it.

use crate::prelude::*;
use spindle_contract::events::atomic::FETCH_AND_ADD;

/// Operations under way.
const SLOTS: usize = 4;

/// State of the oldest operation whose word has arrived.
#[derive(LogicState, Copy, Clone, Debug, PartialEq)]
pub enum AtomicState {
    /// Waits for a word.
    Idle,
    /// Compares and adds.
    Sum,
    /// Decides.
    Decide,
    /// Offers the write.
    Write,
    /// Answers without a write.
    Answer,
}

/// The atomics unit. See the module text.
#[block]
pub struct HostAtomics {
    /// Operation, its address naturally aligned.
    pub host_atomic: Sink<HostAtomic>,
    /// Operation that is complete.
    pub done: Pulse<HostAtomicDone>,
    /// Read of a word.
    pub read: Source<HostRead>,
    /// Word of the oldest read.
    pub word: PulseSink<Bits<64>>,
    /// With `word`: the host answered with an error.
    pub word_error: Signal<In, Bit>,
    /// Word to write.
    pub write: Source<InternalWrite>,
    /// Answered write; `slot` is the operation's, `tag` its issuer.
    pub finished: PulseSink<WriteOrigin>,
    /// With `finished`: the host answered with an error.
    pub finished_error: Signal<In, Bit>,
    request: DFF<HostAtomic>,
    waiting: Reg<Bit>,
    checked: Reg<Bit>,
    clash: DFF<Bit>,
    busy: [Reg<Bit>; SLOTS],
    words: [DFF<Bits<61>>; SLOTS],
    operations: LutMemory<HostAtomic, 2>,
    /// {error, value} of each operation's word: for the sum, and for the answer.
    values: LutRam<2, 65, 2>,
    /// Slot that is assigned next, that gets its word next, that is computed next; modulo 2 · SLOTS.
    next: Reg<Bits<3>>,
    answered: Reg<Bits<3>>,
    worked: Reg<Bits<3>>,
    state: Reg<AtomicState>,
    job: DFF<HostAtomic>,
    old: DFF<Bits<65>>,
    low: DFF<Bits<33>>,
    same: DFF<Bits<2>>,
    result: DFF<Bits<64>>,
    ended: DFF<HostAtomicDone>,
    ended_valid: Reg<Bit>,
    issues: Signal<Local, Bit>,
    leaves: Signal<Local, Bit>,
}

/// The word, or its lower half.
#[hdl_fn]
fn narrowed(word: Bits<64>, wide: Bit) -> Bits<64> {
    if wide {
        word
    } else {
        bit_cast::<64, 32>(word.get_bits::<32>(0))
    }
}

#[hdl]
impl HostAtomics {
    fn update(&mut self) {
        let slot = self.next.q.val().get_bits::<2>(0);
        let issues = self.take_request(slot);
        self.work(slot, issues);
    }

    /// A request waits in a register until its bytes and a slot are free. A comparison that is a cycle early only waits
    /// longer.
    fn take_request(&mut self, slot: Bits<2>) -> Bit {
        let request = self.request.q.val();
        let mut clash: Bit = false;
        let mut taken: Bit = false;
        for i in 0..SLOTS {
            clash = clash | (self.busy[i].q.val() & (self.words[i].q.val() == request.address.get_bits::<61>(3)));
            taken = taken | (self.busy[i].q.val() & (slot == bits::<2>(i)));
        }
        self.clash.d.next = clash;
        let requests = self.checked.q.val() & !self.clash.q.val() & !taken;
        self.issues.next = requests & self.read.ready.val();
        let issues = self.issues.val();
        self.host_atomic.ready.next = !self.waiting.q.val();
        if !self.waiting.q.val() {
            self.waiting.d.next = self.host_atomic.valid.val();
            self.request.d.next = self.host_atomic.val();
        } else if issues {
            self.waiting.d.next = false;
        }
        self.checked.d.next = self.waiting.q.val() & !issues;
        self.read.valid.next = requests;
        self.read.next = HostRead {
            address: request.address,
            length: if request.wide { bits::<16>(8) } else { bits::<16>(4) },
            ..HostRead::default()
        };
        self.operations.write(issues, slot, request);
        self.next.load(issues, self.next.q.val() + 1);

        // Words come in the order of the reads.
        self.values.write_enable.next = self.word.valid.val();
        self.values.write_address.next = self.answered.q.val().get_bits::<2>(0);
        self.values.write_data.next = (self.word_error.val(), self.word.val()).cat::<65>();
        self.answered.load(self.word.valid.val(), self.answered.q.val() + 1);
        issues
    }

    /// Computes the oldest operation whose word has arrived, and answers. Both RAMs show the operation until it leaves.
    fn work(&mut self, slot: Bits<2>, issues: Bit) {
        let present = self.worked.q.val().get_bits::<2>(0);
        self.operations.read_address.next = present;
        self.values.read_address[0].next = present;
        let job = self.job.q.val();
        let old = self.old.q.val().get_bits::<64>(0);
        let failed = self.old.q.val().get_bit(64);
        let adds = job.op == bits::<2>(FETCH_AND_ADD);
        let finished = self.finished.valid.val();
        self.leaves.next = false;
        match self.state.q.val() {
            AtomicState::Idle => {
                let operation = self.operations.read_data.val();
                let value = self.values.read_data[0].val();
                self.job.d.next = operation;
                self.old.d.next =
                    (value.get_bits::<1>(64), narrowed(value.get_bits::<64>(0), operation.wide)).cat::<65>();
                self.state.load(self.worked.q.val() != self.answered.q.val(), AtomicState::Sum);
            }
            AtomicState::Sum => {
                self.low.d.next =
                    bit_cast::<33, 32>(old.get_bits::<32>(0)) + bit_cast::<33, 32>(job.operand.get_bits::<32>(0));
                self.same.d.next = (
                    old.get_bits::<32>(32) == job.compare.get_bits::<32>(32),
                    old.get_bits::<32>(0) == job.compare.get_bits::<32>(0),
                )
                    .cat::<2>();
                self.state.d.next = AtomicState::Decide;
            }
            AtomicState::Decide => {
                let low = self.low.q.val();
                let carry = bit_cast::<32, 1>(low.get_bits::<1>(32));
                let high = old.get_bits::<32>(32) + job.operand.get_bits::<32>(32) + carry;
                self.result.d.next = if adds { (high, low.get_bits::<32>(0)).cat::<64>() } else { job.operand };
                let equal = self.same.q.val().get_bit(0) & (self.same.q.val().get_bit(1) | !job.wide);
                self.state.d.next = if !failed & (adds | equal) { AtomicState::Write } else { AtomicState::Answer };
            }
            AtomicState::Write => {
                if self.write.ready.val() {
                    self.leaves.next = true;
                    self.state.d.next = AtomicState::Idle;
                }
            }
            AtomicState::Answer => {
                if !finished {
                    self.leaves.next = true;
                    self.state.d.next = AtomicState::Idle;
                }
            }
            _ => self.state.d.next = AtomicState::Idle,
        }
        self.worked.load(self.leaves.val(), self.worked.q.val() + 1);
        let issuer = (job.issuer.cluster, job.issuer.hpu, job.issuer.handle).cat::<10>();
        let slot_of_job = bit_cast::<14, 2>(present);
        self.write.valid.next = self.state.q.val() == AtomicState::Write;
        self.write.next = InternalWrite {
            host_write: HostWrite {
                address: job.address,
                origin: WriteOrigin {
                    kind: bits::<3>(ATOMIC),
                    slot: slot_of_job,
                    tag: issuer,
                    // Width of the old value, for the answer.
                    has_slot: job.wide,
                    length: if job.wide { bits::<16>(8) } else { bits::<16>(4) },
                    ..WriteOrigin::default()
                },
                ..HostWrite::default()
            },
            data: bit_cast::<256, 64>(self.result.q.val()),
        };

        // Answers to writes go first, they cannot wait.
        let origin = self.finished.val();
        let ended_slot = if finished { origin.slot.get_bits::<2>(0) } else { present };
        self.values.read_address[1].next = ended_slot;
        let ends = finished | (self.leaves.val() & (self.state.q.val() == AtomicState::Answer));
        let tag = if finished { origin.tag } else { issuer };
        let wide = if finished { origin.has_slot } else { job.wide };
        self.ended_valid.d.next = ends;
        self.ended.d.next = HostAtomicDone {
            issuer: issuer_of(tag),
            error: if finished { self.finished_error.val() } else { failed },
            value: narrowed(self.values.read_data[1].val().get_bits::<64>(0), wide),
        };
        for i in 0..SLOTS {
            if issues & (slot == bits::<2>(i)) {
                self.busy[i].d.next = true;
                self.words[i].d.next = self.request.q.val().address.get_bits::<61>(3);
            } else if ends & (ended_slot == bits::<2>(i)) {
                self.busy[i].d.next = false;
            }
        }
        self.done.offer(self.ended_valid.q.val(), self.ended.q.val());
    }
}
