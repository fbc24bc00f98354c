//! Scheduler of the two hardware threads.

use super::bundles::{DividerStatusSink, Injection};
use super::stages::{Trap, Wait};
use super::types::RemoteAnswer;
use spindle_blocks::ram::LutMemory;
use spindle_verilog::prelude::*;

/// The scheduler of the two threads.
///
/// | neighbour | ports |
/// |---|---|
/// | launches | in `waiting`; out `start`, `started` |
/// | M1 | in `returns`; in `passes`, `continues`; in `trap` |
/// | remote unit | in `answer`; in `owed`; out `forgets`: the answer of a thread is no longer needed |
/// | divider | in `divider`; out `cancel` |
/// | command port | in `port_full`, `port_pending` |
/// | issue | out `ready`, `injection`, `inject_quotient` |
/// | endings | in `spent`: a thread's budget is used up; out `ends`, `runs` |
/// | fetch | out `enter_other`, `start`, `back`, `other_pc` |
/// | the HPU's wiring | out `current`, `other_runs`, `alive` |
///
/// At most one thread has instructions in F to M1: the current one. It leaves when its handler ends or when it is
/// blocked, if the other one is runnable or else a launch waits and a thread is free; and it gives way as soon as the
/// older thread is runnable again, after an instruction that cannot fault. A return leads to the other handler's fetch
/// in the next cycle; a wait, which is resolved one cycle after M1, in the cycle after that. A blocked thread without a
/// successor refetches the following instructions, which then wait in D.
///
/// A thread whose budget is spent is not blocked any more: its next instruction faults instead of executing.
#[block]
pub struct Threads {
    /// A launch waits.
    pub waiting: Signal<In, Bit>,
    /// The handler returns.
    pub returns: Signal<In, Bit>,
    /// An instruction that cannot fault leaves M1.
    pub passes: Signal<In, Bit>,
    /// Program counter after it, or of the thread after the trap.
    pub continues: Signal<In, Bits<17>>,
    /// A fault or a wait.
    pub trap: PulseSink<Trap>,
    /// Answer of the remote unit.
    pub answer: PulseSink<RemoteAnswer>,
    /// Threads whose answer belongs to a handler that has ended.
    pub owed: Signal<In, Bits<2>>,
    /// State of the divider.
    pub divider: DividerStatusSink,
    /// No handle is free.
    pub port_full: Signal<In, Bit>,
    /// Commands of a thread's handler are in flight.
    pub port_pending: Signal<In, Bits<2>>,
    /// Budgets that are used up.
    pub spent: Signal<In, Bits<2>>,
    /// Thread that is fetched.
    pub current: Signal<Out, Bit>,
    /// It may issue instructions.
    pub ready: Signal<Out, Bit>,
    /// A result that is injected. `choice` is a register, as it chooses among words.
    pub injection: Injection,
    /// The injection is the divider's.
    pub inject_quotient: Signal<Out, Bit>,
    /// The waiting launch starts: fetch its entry.
    pub start: Signal<Out, Bit>,
    /// The launch was started in the last cycle.
    pub started: Signal<Out, Bit>,
    /// Fetch from `other_pc` of the other thread.
    pub enter_other: Signal<Out, Bit>,
    /// A takeover would be by the other thread: known early.
    pub other_runs: Signal<Out, Bit>,
    /// Program counter of the other thread.
    pub other_pc: Signal<Out, Bits<17>>,
    /// A wait begins without a takeover: fetch from `continues`.
    pub back: Signal<Out, Bit>,
    /// The handler of the current thread ends.
    pub ends: Signal<Out, Bit>,
    /// Threads whose clocks run.
    pub runs: Signal<Out, Bits<2>>,
    /// Threads with a handler.
    pub alive: Signal<Out, Bits<2>>,
    /// Threads that no longer need their answer.
    pub forgets: Signal<Out, Bits<2>>,
    /// No thread needs the division.
    pub cancel: Signal<Out, Bit>,
    thread: Reg<Bit>,
    /// The thread that began first, if both have a handler.
    older: Reg<Bit>,
    has_handler: [Reg<Bit>; 2],
    blocked: [Reg<Bit>; 2],
    /// A result has to be injected before the next instruction.
    expects: [Reg<Bit>; 2],
    waits: [DFF<Wait>; 2],
    restart: [DFF<Bits<17>>; 2],
    rd: [DFF<Bits<5>>; 2],
    funct3: [DFF<Bits<3>>; 2],
    first: Reg<Bit>,
    choice: DFF<Bits<2>>,
    answers: LutMemory<Bits<32>, 1>,
    wakes: Signal<Local, Bits<2>>,
}

#[hdl]
impl Threads {
    fn update(&mut self) {
        let thread = self.thread.q.val();
        let trap = self.trap.val();
        let blocks = self.trap.valid.val() & !trap.fault;
        let faults = self.trap.valid.val() & trap.fault;
        let ends = self.returns.val() | faults;
        let owed = self.owed.val();
        let answer_owed = if self.answer.val().thread { owed.get_bit(1) } else { owed.get_bit(0) };
        let answered = self.answer.valid.val() & !answer_owed;

        self.wake(answered);
        let current_alive = if thread { self.has_handler[1].q.val() } else { self.has_handler[0].q.val() };
        let other_alive = if thread { self.has_handler[0].q.val() } else { self.has_handler[1].q.val() };
        let blocked = if thread { self.blocked[1].q.val() } else { self.blocked[0].q.val() };
        let other_blocked = if thread { self.blocked[0].q.val() } else { self.blocked[1].q.val() };
        let expects = if thread { self.expects[1].q.val() } else { self.expects[0].q.val() };
        let divides: Bits<2> =
            (self.waits[1].q.val() == Wait::Quotient, self.waits[0].q.val() == Wait::Quotient).cat::<2>();
        let quotient = if thread { divides.get_bit(1) } else { divides.get_bit(0) };

        // The next thread.
        let other_runs = other_alive & !other_blocked;
        let makes_room = self.passes.val() & other_runs & (self.older.q.val() != thread);
        let current_rests = !current_alive | blocked;
        let moved_on = self.returns.val() | self.trap.valid.val();
        let enters = other_runs & (current_rests | moved_on | makes_room);
        // Early signals are gathered first: returns and traps come late.
        let may_replace = !other_runs & self.waiting.val();
        let may_start = may_replace & (!current_alive | !other_alive);
        let starts = (may_start & current_rests) | (may_start & moved_on) | (may_replace & ends);
        let on_same = !current_alive | ends;
        let start_thread = if on_same { thread } else { !thread };
        self.start.next = starts;
        self.enter_other.next = enters;
        self.other_runs.next = other_runs;
        self.other_pc.next = if thread { self.restart[0].q.val() } else { self.restart[1].q.val() };
        self.back.next = blocks & !enters & !starts;
        self.first.d.next = starts;
        self.started.next = self.first.q.val();
        if enters {
            self.thread.d.next = !thread;
        } else if starts {
            self.thread.d.next = start_thread;
        }
        // A thread that is alone is the older one.
        self.older.load(ends, !thread);
        if starts {
            self.older.d.next = if other_alive { !start_thread } else { start_thread };
            self.older.load(!on_same, thread);
        }

        for i in 0..2 {
            let mine = thread == (i == 1);
            self.blocked[i].load(self.wakes.val().get_bit(i), false);
            self.expects[i].load(mine & self.injection.taken.val(), false);
            if mine & blocks {
                self.blocked[i].d.next = true;
                self.expects[i].d.next = (trap.reason == Wait::Answer) | (trap.reason == Wait::Quotient);
                self.waits[i].d.next = trap.reason;
                self.rd[i].d.next = trap.rd;
                self.funct3[i].d.next = trap.funct3;
            }
            self.restart[i].load(mine & (blocks | makes_room), self.continues.val());
            self.has_handler[i].load(mine & ends, false);
            self.has_handler[i].load(starts & (start_thread == (i == 1)), true);
        }

        self.answers.write(answered, self.answer.val().thread.into(), self.answer.val().data);
        self.answers.read_address.next = thread.into();
        self.injection.answer.next = self.answers.read_data.val();
        self.injection.rd.next = if thread { self.rd[1].q.val() } else { self.rd[0].q.val() };
        self.injection.funct3.next = if thread { self.funct3[1].q.val() } else { self.funct3[0].q.val() };
        // A quotient is injected in the cycle in which it is there.
        let quotient_there = self.divider.done.val() & (self.divider.thread.val() == thread);
        self.injection.expected.next = self.expects[0].q.val() | self.expects[1].q.val();
        self.injection.valid.next = expects & (if quotient { quotient_there } else { !blocked });
        self.inject_quotient.next = quotient;
        // The injection of the next cycle: a division by 1 is done by then.
        let begins = blocks & (trap.reason == Wait::Quotient);
        let own_quotient = begins | (quotient & !blocks);
        let other_quotient = if thread { divides.get_bit(0) } else { divides.get_bit(1) };
        let of_divider = !starts & (if enters { other_quotient } else { own_quotient });
        self.choice.d.next = (of_divider, starts | (of_divider & self.divider.takes_remainder.val())).cat::<2>();
        self.injection.choice.next = self.choice.q.val();

        self.current.next = thread;
        self.ready.next = current_alive & !blocked & !expects;
        self.ends.next = ends;
        self.alive.next = (self.has_handler[1].q.val(), self.has_handler[0].q.val()).cat::<2>();
        let second_runs = self.has_handler[1].q.val() & (thread | self.blocked[1].q.val());
        let first_runs = self.has_handler[0].q.val() & (!thread | self.blocked[0].q.val());
        self.runs.next = (second_runs, first_runs).cat::<2>();
    }

    /// Wakes blocked threads, and gives up the waits of threads whose budget is spent.
    fn wake(&mut self, answered: Bit) {
        let mut wakes: Bits<2> = bits::<2>(0);
        let mut forgets: Bits<2> = bits::<2>(0);
        let mut cancel: Bit = false;
        for i in 0..2 {
            let wakes_now = match self.waits[i].q.val() {
                Wait::Answer => answered & (self.answer.val().thread == (i == 1)),
                Wait::Quotient => self.divider.done.val() & (self.divider.thread.val() == (i == 1)),
                Wait::Divider => !self.divider.busy.val(),
                Wait::Commands => !self.port_pending.val().get_bit(i),
                _ => !self.port_full.val(),
            };
            let waits_spent = self.spent.val().get_bit(i) & (self.blocked[i].q.val() | self.expects[i].q.val());
            wakes = wakes.replace_bit(i, self.blocked[i].q.val() & (wakes_now | self.spent.val().get_bit(i)));
            forgets = forgets.replace_bit(
                i,
                waits_spent & self.blocked[i].q.val() & (self.waits[i].q.val() == Wait::Answer) & !wakes_now,
            );
            cancel = cancel | (waits_spent & self.expects[i].q.val() & (self.waits[i].q.val() == Wait::Quotient));
            self.expects[i].load(waits_spent, false);
        }
        self.wakes.next = wakes;
        self.forgets.next = forgets;
        self.cancel.next = cancel;
    }
}
