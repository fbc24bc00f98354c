//! Run time, instructions and ends of handlers.

use super::stages::{Producer, Trap};
use super::types::Ending;
use spindle_blocks::ram::LutMemory;
use spindle_contract::memory_map::WATCHDOG_BITS;
use spindle_verilog::prelude::*;

/// The register of the return code, a0.
const CODE: u64 = 10;

/// The clocks of both threads, their budgets, and the end of a handler that was not taken yet.
///
/// | neighbour | ports |
/// |---|---|
/// | threads | in `started`, `thread`, `runs`, `ends`; out `spent`, `expired` |
/// | M1 | in `retires`: an instruction of the thread that was the current one in the last cycle has taken effect |
/// | launches | in `watchdog`, `no_budget` of the launch that was just started; out `freed` |
/// | M1 | in `trap`; in `bank` of the current thread; out `full`: no handler may end |
/// | M3 | in `third`, `lands`, `lands_bank` |
/// | remote tracker | in `drains`: stores of a thread's ended handler are in flight |
/// | cluster | out `ending` |
///
/// The cycle of the first fetch counts as the first; a handler that returns in cycle `n` needs a budget of `n`. From
/// cycle `watchdog + 1` on, but not before the second, `spent` is high: no instruction is in M1 before the fourth. An
/// end waits until the stores of its handler have arrived; a return or fault after it waits in M1 until it has been
/// taken.
///
/// Only the current thread retires instructions, so one adder counts for both: its count and the other thread's change
/// places with the threads. An instruction that gave way to the other thread retires after the change, and is counted
/// when its thread is back. The count of a handler is without the instruction that ends it: a return retires one cycle
/// after the end, a faulting instruction never. No handler retires more instructions than its clock has cycles.
///
/// The low byte of each a0 that is written is kept by bank: that of a return is there when its end is offered, two
/// cycles later at the earliest.
#[block]
pub struct Endings {
    /// The handler of the current thread was started in the last cycle: it is fetched from now on.
    pub started: Signal<In, Bit>,
    /// Its budget.
    pub watchdog: Signal<In, Bits<WATCHDOG_BITS>>,
    /// The budget is 0 or 1.
    pub no_budget: Signal<In, Bit>,
    /// The current thread.
    pub thread: Signal<In, Bit>,
    /// Its bank.
    pub bank: Signal<In, Bits<2>>,
    /// Threads whose clocks run.
    pub runs: Signal<In, Bits<2>>,
    /// An instruction has taken effect.
    pub retires: Signal<In, Bit>,
    /// The current thread's handler ends; never with `full`.
    pub ends: Signal<In, Bit>,
    /// The incident.
    pub trap: PulseSink<Trap>,
    /// The result in M3.
    pub third: Signal<In, Producer>,
    /// M3 has a result, also of a handler that returned in the last cycle.
    pub lands: Signal<In, Bit>,
    /// Bank of its handler.
    pub lands_bank: Signal<In, Bits<2>>,
    /// Threads whose ended handlers still have stores in flight.
    pub drains: Signal<In, Bits<2>>,
    /// Budgets that are used up.
    pub spent: Signal<Out, Bits<2>>,
    /// The budget of the current thread is used up; not yet true in the cycle after a switch, in which M1 is empty.
    pub expired: Signal<Out, Bit>,
    /// An end waits.
    pub full: Signal<Out, Bit>,
    /// Bank whose ending was taken.
    pub freed: Pulse<Bits<2>>,
    /// End of a handler.
    pub ending: Source<Ending>,
    elapsed: [DFF<Bits<WATCHDOG_BITS>>; 2],
    budget: [DFF<Bits<WATCHDOG_BITS>>; 2],
    used_up: [Reg<Bit>; 2],
    expires: Reg<Bit>,
    /// Instructions of the current thread's handler and of the other one's.
    retired: Reg<Bits<WATCHDOG_BITS>>,
    other_retired: DFF<Bits<WATCHDOG_BITS>>,
    /// The other thread has retired one more.
    other_owes: DFF<Bit>,
    last_thread: Reg<Bit>,
    /// The end that waits, without its code.
    slot: DFF<Ending>,
    codes: LutMemory<Bits<8>, 2>,
    waits: Reg<Bit>,
}

#[hdl]
impl Endings {
    fn update(&mut self) {
        let thread = self.thread.val();
        let mut used_up: Bits<2> = bits::<2>(0);
        for i in 0..2 {
            let runs = self.runs.val().get_bit(i);
            let begins = self.started.val() & (thread == (i == 1));
            if begins {
                self.elapsed[i].d.next = bits::<WATCHDOG_BITS>(2);
                self.budget[i].d.next = self.watchdog.val();
            } else if runs {
                self.elapsed[i].d.next = self.elapsed[i].q.val() + 1;
            }
            let ended = self.used_up[i].q.val() | (runs & eq(self.elapsed[i].q.val(), self.budget[i].q.val()));
            used_up = used_up.replace_bit(i, if begins { self.no_budget.val() } else { ended });
            self.used_up[i].d.next = used_up.get_bit(i);
        }
        self.expires.d.next = if thread { used_up.get_bit(1) } else { used_up.get_bit(0) };
        self.expired.next = self.expires.q.val();
        self.spent.next = (self.used_up[1].q.val(), self.used_up[0].q.val()).cat::<2>();

        // In the cycle after a change of threads no instruction of the new current thread retires.
        let changed = thread != self.last_thread.q.val();
        self.last_thread.d.next = thread;
        let retired = if changed { self.other_retired.q.val() } else { self.retired.q.val() };
        let one = if changed { self.other_owes.q.val() } else { self.retires.val() };
        let counted = retired + bit_cast::<WATCHDOG_BITS, 1>(one.into());
        self.retired.d.next = if self.started.val() { bits::<WATCHDOG_BITS>(0) } else { counted };
        self.other_retired.load(changed, self.retired.q.val());
        self.other_owes.load(changed, self.retires.val());

        let trap = self.trap.val();
        let ending = Ending {
            bank: self.bank.val(),
            code: bits::<8>(0),
            fault: self.trap.valid.val(),
            cause: if self.trap.valid.val() { trap.cause } else { bits::<4>(0) },
            pc: trap.pc,
            sum: trap.address,
            stray: trap.stray,
            of_access: trap.of_access,
            thread,
            first_cycles: self.elapsed[0].q.val(),
            second_cycles: self.elapsed[1].q.val(),
            instructions: counted,
        };
        let oldest = self.slot.q.val();
        let drains = if oldest.thread { self.drains.val().get_bit(1) } else { self.drains.val().get_bit(0) };
        let valid = self.waits.q.val() & !drains;
        let taken = valid & self.ending.ready.val();
        if self.ends.val() {
            self.slot.d.next = ending;
            self.waits.d.next = true;
        } else if taken {
            self.waits.d.next = false;
        }
        self.full.next = self.waits.q.val();
        self.codes.write_enable.next = self.lands.val() & (self.third.val().rd == CODE);
        self.codes.write_address.next = self.lands_bank.val();
        self.codes.write_data.next = self.third.val().value.get_bits::<8>(0);
        self.codes.read_address.next = oldest.bank;
        self.ending.offer(valid, Ending { code: self.codes.read_data.val(), ..oldest });
        self.freed.offer(taken, oldest.bank);
    }
}
