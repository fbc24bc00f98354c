//! Put join: puts and gets of processes, those of handlers from host memory, and answers to GETs, one after the other to the initiator.
//!
//! | neighbour | ports |
//! |---|---|
//! | command unit | in `own`, `own_valid` / out `own_ready`; out `number`: what the next one is called |
//! | GET responder | in `answer`, `answer_valid` / out `answer_ready` |
//! | array | in `array_put`, `array_put_valid` / out `array_put_ready` |
//! | packet engine | out `host_put`, `host_put_valid` / in `host_put_ready`; in `put_done`, `put_done_valid` (pulse) |
//! | registers | out pulses `ended`, `failed` |
//!
//! One put of a process waits here while the one before it leaves, so that the command unit can refuse a third at once and other processes do
//! not wait for it. When several wait they take turns: handlers and the rest, and of these processes and answers. Latency one cycle for handlers, two for processes; one put per two
//! cycles. Puts of processes are numbered from 1 behind reset and sent in that order; the handle that they leave with is one that
//! no handler has, and their number stands where those of handlers have their frame's.

use spindle_blocks::desc::{PutDesc, PutDone};
use spindle_contract::descriptors::put_op;
use spindle_verilog::prelude::*;

const HOST_HANDLE: u64 = put_op::HOST_HANDLE as u64;

/// The join. See the module text.
#[derive(LogicBlock, Default)]
pub struct PutJoin {
    /// Core clock.
    pub clock: Signal<In, Clock>,
    /// Synchronous reset, active high.
    pub reset: Signal<In, Bit>,
    /// Put or get of a process.
    pub own: Signal<In, PutDesc>,
    /// There is one.
    pub own_valid: Signal<In, Bit>,
    /// It is taken.
    pub own_ready: Signal<Out, Bit>,
    /// Its number.
    pub number: Signal<Out, Bits<16>>,
    /// Answer to a GET.
    pub answer: Signal<In, PutDesc>,
    /// There is one.
    pub answer_valid: Signal<In, Bit>,
    /// It is taken.
    pub answer_ready: Signal<Out, Bit>,
    /// Put from host memory, or get, of a handler.
    pub array_put: Signal<In, PutDesc>,
    /// There is one.
    pub array_put_valid: Signal<In, Bit>,
    /// It is taken.
    pub array_put_ready: Signal<Out, Bit>,
    /// Put or get of either.
    pub host_put: Signal<Out, PutDesc>,
    /// There is one.
    pub host_put_valid: Signal<Out, Bit>,
    /// It is taken.
    pub host_put_ready: Signal<In, Bit>,
    /// A put or get of anybody is over.
    pub put_done: Signal<In, PutDone>,
    /// There is one.
    pub put_done_valid: Signal<In, Bit>,
    /// One of a process is over.
    pub ended: Signal<Out, Bit>,
    /// It was not sent as a whole.
    pub failed: Signal<Out, Bit>,
    waiting: DFF<PutDesc>,
    waits: Reg<Bit>,
    next_number: Reg<Bits<16>>,
    offered: DFF<PutDesc>,
    offers: Reg<Bit>,
    /// A process was last.
    array_turn: Reg<Bit>,
    /// Of the rest, a process was last.
    answer_turn: Reg<Bit>,
    ended_out: Reg<Bit>,
    failed_out: Reg<Bit>,
}

impl PutJoin {
    /// A join whose first put is number 1.
    pub fn new() -> Self {
        Self { next_number: Reg::new(bits::<16>(1)), ..Default::default() }
    }
}

impl Logic for PutJoin {
    #[hdl]
    fn update(&mut self) {
        regs!(self, clock, reset, waits, next_number, offers, array_turn, answer_turn, ended_out, failed_out);
        dffs!(self, clock, waiting, offered);
        let waits = self.waits.q.val();
        let free = !self.offers.q.val();
        self.own_ready.next = !waits;
        self.number.next = self.next_number.q.val();
        let answers = self.answer_valid.val();
        let rest_goes = free & (waits | answers) & !(self.array_turn.q.val() & self.array_put_valid.val());
        let own_goes = rest_goes & waits & !(self.answer_turn.q.val() & answers);
        self.answer_ready.next = rest_goes & !own_goes;
        self.array_put_ready.next = free & (!(waits | answers) | self.array_turn.q.val());
        if waits {
            self.waits.d.next = !own_goes;
        } else if self.own_valid.val() {
            self.waits.d.next = true;
            self.waiting.d.next = self.own.val();
            self.waiting.d.next.handle = bits::<4>(HOST_HANDLE);
            self.waiting.d.next.frame = self.next_number.q.val();
            self.next_number.d.next = self.next_number.q.val() + 1;
        }
        if own_goes {
            self.offers.d.next = true;
            self.array_turn.d.next = true;
            self.answer_turn.d.next = true;
            self.offered.d.next = self.waiting.q.val();
        } else if rest_goes {
            self.offers.d.next = true;
            self.array_turn.d.next = true;
            self.answer_turn.d.next = false;
            self.offered.d.next = self.answer.val();
        } else if free & self.array_put_valid.val() {
            self.offers.d.next = true;
            self.array_turn.d.next = false;
            self.offered.d.next = self.array_put.val();
        } else if self.host_put_ready.val() {
            self.offers.d.next = false;
        }
        self.host_put.next = self.offered.q.val();
        self.host_put_valid.next = self.offers.q.val();

        let ours = self.put_done_valid.val() & (self.put_done.val().handle == HOST_HANDLE);
        self.ended_out.d.next = ours;
        self.failed_out.d.next = ours & self.put_done.val().error;
        self.ended.next = self.ended_out.q.val();
        self.failed.next = self.failed_out.q.val();
    }
}
