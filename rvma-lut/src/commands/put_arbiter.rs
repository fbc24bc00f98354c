//! Put arbiter: puts and gets of processes and of handlers, and answers to GETs, one after another to the initiator.
//!
//! | neighbour | ports |
//! |---|---|
//! | command unit, ring posts | in `process_put`, `from_ring`; out `number`: number of the next put of the command unit |
//! | GET responder | in `get_answer` |
//! | HPU array | in `array_put` |
//! | packet engine | out `host_put`; in `put_done` (pulse) |
//! | registers | out pulses `ended`, `failed` |
//!
//! Puts wait in a FIFO of four words, in the order of their arrival. Handlers and answers, in turn, leave two of the
//! words to processes, whose puts are taken at once or refused: the command unit does not wait for a put to leave.
//! Latency: four cycles, of an answer five; one put per two cycles. Puts of the command unit are numbered from 1 after reset
//! and sent in that order; those of command rings bring a number of the process, the cookie. Their handle is one that no
//! handler has; their number takes the field of the frame number of handlers' puts.

use crate::prelude::*;
use spindle_contract::descriptors::put_op;
use spindle_contract::wire::flag;

/// Address bits of the FIFO.
const WAITING_BITS: usize = 2;
/// Level of the FIFO at which only puts of processes are taken.
const SHARED: u64 = 2;

/// Kind of a put of a process.
#[derive(LogicStruct, Copy, Clone, Debug, Default, PartialEq)]
pub struct ProcessPut {
    /// A get.
    pub get: Bit,
    /// Get: from the oldest buffer that is not complete.
    pub active: Bit,
    /// Put: the target is TAGGED.
    pub tagged: Bit,
    /// Put: the target is MANAGED.
    pub managed: Bit,
}

/// A put or get of a process, of which `put` has the places. Put: `reply_key` is the epoch that it names.
#[hdl_fn]
pub fn put_of_process(kind: ProcessPut, put: PutDesc) -> PutDesc {
    PutDesc {
        op: if kind.get { bits::<2>(put_op::GET) } else { bits::<2>(put_op::PUT) },
        from_host: !kind.get,
        flags: if kind.get {
            bits::<16>(flag::ACTIVE) & repeat::<16>(kind.active)
        } else {
            (bits::<16>(flag::EPOCH_VALID) & repeat::<16>(kind.tagged))
                | (bits::<16>(flag::MANAGED) & repeat::<16>(kind.managed))
        },
        // No processor waits for the end of this put.
        issuer: CommandIssuer { cluster: bits::<3>(7), hpu: bits::<3>(7), handle: bits::<4>(put_op::HOST_HANDLE) },
        ..put
    }
}

/// The arbiter. See the module text.
#[block]
pub struct PutArbiter {
    /// Put or get of a process.
    pub process_put: Sink<PutDesc>,
    /// It comes from a command ring: its number is in `frame`.
    pub from_ring: Signal<In, Bit>,
    /// Number of the next put of the command unit.
    pub number: Signal<Out, Bits<16>>,
    /// Answer to a GET.
    pub get_answer: Sink<PutDesc>,
    /// Put from host memory, or get, of a handler.
    pub array_put: Sink<PutDesc>,
    /// Put, get or answer for the initiator.
    pub host_put: Source<PutDesc>,
    /// A put or get is complete.
    pub put_done: PulseSink<PutDone>,
    /// A put or get of a process is complete.
    pub ended: Signal<Out, Bit>,
    /// With `ended`: it was not sent as a whole.
    pub failed: Signal<Out, Bit>,
    waiting: BlockFifo<PutDesc, WAITING_BITS>,
    next_number: Reg<Bits<16>>,
    offered: DFF<PutDesc>,
    offers: Reg<Bit>,
    /// Answers have their turn; else handlers.
    answer_turn: Reg<Bit>,
    ended_out: Reg<Bit>,
    failed_out: Reg<Bit>,
}

impl PutArbiter {
    /// An arbiter whose first put is number 1, with its FIFO in a memory of the given kind.
    pub fn new(style: RamStyle) -> Self {
        Self { waiting: BlockFifo::new(style), next_number: Reg::new(bits::<16>(1)), ..Self::blank() }
    }
}

#[hdl]
impl PutArbiter {
    fn update(&mut self) {
        // Into the FIFO: processes first.
        let process_put = self.process_put.valid.val();
        let room = (self.waiting.level.val() < SHARED) & !process_put;
        let answers = self.answer_turn.q.val();
        self.process_put.ready.next = self.waiting.write.ready.val();
        self.number.next = self.next_number.q.val();
        self.get_answer.ready.next = room & answers;
        self.array_put.ready.next = room & !answers;
        self.waiting.write.next = self.array_put.val();
        if process_put {
            self.waiting.write.next = self.process_put.val();
            self.waiting.write.next.issuer.handle = bits::<4>(put_op::HOST_HANDLE);
            if !self.from_ring.val() {
                self.waiting.write.next.frame = self.next_number.q.val();
            }
        } else if answers {
            self.waiting.write.next = self.get_answer.val();
        }
        let others = room & (if answers { self.get_answer.valid.val() } else { self.array_put.valid.val() });
        self.waiting.write.valid.next = process_put | others;
        let numbers = process_put & !self.from_ring.val() & self.waiting.write.ready.val();
        self.next_number.load(numbers, self.next_number.q.val() + 1);
        // An answer waits a cycle for its turn, so that `array_put.ready` depends on registers alone.
        self.answer_turn.d.next = self.get_answer.valid.val() & !(answers & room);

        // Out of it.
        let free = !self.offers.q.val();
        self.waiting.read.ready.next = free;
        if free {
            self.offers.d.next = self.waiting.read.valid.val();
            self.offered.d.next = self.waiting.read.val();
        } else if self.host_put.ready.val() {
            self.offers.d.next = false;
        }
        self.host_put.offer(self.offers.q.val(), self.offered.q.val());

        let from_process = self.put_done.valid.val() & (self.put_done.val().issuer.handle == bits(put_op::HOST_HANDLE));
        self.ended_out.d.next = from_process;
        self.failed_out.d.next = from_process & self.put_done.val().error;
        self.ended.next = self.ended_out.q.val();
        self.failed.next = self.failed_out.q.val();
    }
}
