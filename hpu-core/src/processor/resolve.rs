//! M1: the next program counter, faults and waits.

use super::bundles::{AccessCheckSink, IssueAnswerSink};
use super::stages::{Executed, Trap, Wait, CODE_TOP};
use spindle_contract::memory_map::{FAULT_BREAK, FAULT_COMMAND, FAULT_FETCH, FAULT_ILLEGAL, FAULT_WATCHDOG};
use spindle_verilog::prelude::*;

/// Decides on the instruction in M1.
///
/// | neighbour | ports |
/// |---|---|
/// | execute | in `executed`; out `claims` |
/// | memory stage | out `live`, `acts`; in `check` |
/// | command port | in `issue`; out `replied` |
/// | store buffer, remote tracker | in `quiet`: all stores of the thread have arrived |
/// | endings | in `expired`, `ending_full`: no handler may end |
/// | threads | out `returns`, `passes`, `next`, `trap` |
/// | store buffer, remote tracker, write back | out `trapped`, `faulted`: the instruction that left M1 in the last cycle |
/// | fetch | out `redirect`, `next`, `update` |
/// | issue | in `arrives`; out `valid`, `counts`; `holds`: M1 keeps its instruction, X stays |
/// | counters | out `retires` |
///
/// Jumps and returns are decided in M1 itself. Faults and waits need the access check, and become a trap in the next
/// cycle; the instruction that has reached M1 by then is dropped with all younger ones (`live` is low). With
/// `ending_full` a return stays in M1, and a fault becomes a trap later.
#[block]
pub struct Resolve {
    /// The instruction in M1.
    pub executed: Signal<In, Executed>,
    /// An instruction moves from X to M1, if M1 does not hold.
    pub arrives: Signal<In, Bit>,
    /// M1 holds an instruction.
    pub valid: Signal<Out, Bit>,
    /// The budget of its thread is used up.
    pub expired: Signal<In, Bit>,
    /// An ending waits to be taken.
    pub ending_full: Signal<In, Bit>,
    /// The instruction was not dropped.
    pub live: Signal<Out, Bit>,
    /// The instruction may take effect.
    pub acts: Signal<Out, Bit>,
    /// The access in M1.
    pub check: AccessCheckSink,
    /// Answer of the command unit.
    pub issue: IssueAnswerSink,
    /// The command port has taken the command: the instruction moves on.
    pub replied: Signal<Out, Bit>,
    /// All stores of the thread have arrived.
    pub quiet: Signal<In, Bit>,
    /// The divider works on the instruction.
    pub divides: Signal<In, Bit>,
    /// The instruction is a division that continues.
    pub claims: Signal<Out, Bit>,
    /// The instruction stays.
    pub holds: Signal<Out, Bit>,
    /// The instruction jumps, or was predicted to.
    pub redirect: Signal<Out, Bit>,
    /// Program counter of the next instruction, or of the thread after a trap.
    pub next: Signal<Out, Bits<17>>,
    /// The instruction ends the handler.
    pub returns: Signal<Out, Bit>,
    /// It leaves M1, and cannot fault.
    pub passes: Signal<Out, Bit>,
    /// A jump or a prediction is resolved.
    pub update: Signal<Out, Bit>,
    /// A fault or a wait was found in the last cycle.
    pub trapped: Signal<Out, Bit>,
    /// It was a fault.
    pub faulted: Signal<Out, Bit>,
    /// The fault waits for room.
    pub stays: Signal<Out, Bit>,
    /// The fault or wait.
    pub trap: Pulse<Trap>,
    /// The instruction that was in M1 in the last cycle has left it.
    pub left_last: Signal<Out, Bit>,
    /// The instruction that was in M1 in the last cycle may be counted in this one.
    pub counts: Signal<Out, Bit>,
    /// An instruction has taken effect.
    pub retires: Signal<Out, Bit>,
    occupied: Reg<Bit>,
    trap_pending: Reg<Bit>,
    /// The trap need not wait for room.
    trap_due: Reg<Bit>,
    trap_reg: DFF<Trap>,
    left: Reg<Bit>,
    reply_done: Reg<Bit>,
    reply_refused: Reg<Bit>,
    reply_full: Reg<Bit>,
}

#[hdl]
impl Resolve {
    fn update(&mut self) {
        let executed = self.executed.val();
        let traits = executed.traits;
        let live = self.occupied.q.val() & !self.trap_pending.q.val();
        let overdue = self.expired.val() & !executed.micro & !self.check.issuing.val();
        let acts = live & !overdue;
        self.live.next = live;
        self.acts.next = acts;
        let exits = executed.exits;
        let ending_full = self.ending_full.val();
        let holds = self.check.stalls.val() | (live & ((traits.fences & !self.quiet.val()) | (exits & ending_full)));
        self.holds.next = holds;
        self.occupied.d.next = if holds { live } else { self.arrives.val() };
        self.valid.next = self.occupied.q.val();

        // Where the program goes. JALR clears bit 0 of its target, which a program counter does not even have; the sum
        // of a stray JALR still has it.
        let missed = (executed.taken != executed.predicted) | (executed.taken & executed.target_missed);
        let illegal = traits.illegal;
        let stray = traits.jumps & !exits & !illegal & (executed.sum.get_bits::<15>(17) != CODE_TOP);
        // An incident decides alone: there is nothing alive in M1 then.
        let trap_due = self.trap_due.q.val();
        let pc = self.trap_reg.q.val().pc;
        let restart = pc.get_bits::<16>(1) + (bits::<15>(0), !self.trap_reg.q.val().again).cat::<16>();
        let next = select(
            (trap_due | (executed.taken & traits.to_register), trap_due | (executed.taken & !traits.to_register))
                .cat::<2>(),
            [
                bit_cast::<32, 17>(executed.after),
                bit_cast::<32, 17>(executed.target),
                bit_cast::<32, 17>(executed.sum.get_bits::<17>(1)),
                bit_cast::<32, 17>((restart, pc.get_bit(0)).cat::<17>()),
            ],
        );
        self.next.next = next.get_bits::<17>(0);
        self.redirect.next = live & (missed | traits.refetches);
        // A return is neither injected nor a write of ISSUE.
        self.returns.next = live & exits & !ending_full & !self.expired.val();
        self.update.next = acts & !exits & (traits.jumps | traits.branches | executed.predicted);
        // Nor is what may give way to the other thread.
        self.passes.next = live & traits.plain & !self.expired.val();

        // What happens in the next cycle.
        self.reply_done.d.next = self.issue.done.val();
        self.reply_refused.d.next = self.issue.refused.val();
        self.reply_full.d.next = self.issue.full.val();
        self.replied.next = self.reply_done.q.val();
        let refused = self.check.issuing.val() & self.reply_refused.q.val();
        let no_handle = self.check.issuing.val() & self.reply_full.q.val();
        let divides = traits.divides;
        self.claims.next = acts & divides & !illegal;
        let faults = overdue | illegal | stray | self.check.faults.val() | refused;
        let waits = self.check.leaves_long.val() | self.check.again.val() | no_handle | divides;
        let again = self.check.again.val() | no_handle | (divides & !self.divides.val());
        // A fault that finds no room stays, in the place of whatever comes to M1, which is not live.
        let stays = self.trap_pending.q.val() & !self.trap_due.q.val();
        self.trap_pending.d.next = (live & (faults | waits)) | stays;
        self.trap_due.d.next = (live & !(faults & ending_full) & (faults | waits)) | (stays & !ending_full);
        let trap = self.trap_reg.q.val();
        if !stays {
            self.trap_reg.d.next = Trap {
                fault: faults,
                cause: if overdue {
                    bits::<4>(FAULT_WATCHDOG)
                } else if executed.outside | stray {
                    bits::<4>(FAULT_FETCH)
                } else if traits.breaks {
                    bits::<4>(FAULT_BREAK)
                } else if illegal {
                    bits::<4>(FAULT_ILLEGAL)
                } else if refused {
                    bits::<4>(FAULT_COMMAND)
                } else {
                    self.check.cause.val()
                },
                pc: executed.pc,
                stray: stray & !overdue,
                of_access: !overdue & !illegal,
                address: (executed.sum.get_bits::<31>(1), executed.sum.get_bit(0) & !traits.to_register).cat::<32>(),
                again,
                reason: if divides {
                    if self.divides.val() {
                        Wait::Quotient
                    } else {
                        Wait::Divider
                    }
                } else if no_handle {
                    Wait::Handle
                } else if self.check.again.val() {
                    Wait::Commands
                } else {
                    Wait::Answer
                },
                rd: executed.rd,
                funct3: if divides { bits::<3>(2) } else { executed.funct3 },
            };
        }
        self.stays.next = stays;
        self.trapped.next = self.trap_pending.q.val();
        self.faulted.next = self.trap_pending.q.val() & trap.fault;
        self.trap.offer(self.trap_due.q.val(), trap);

        // An instruction that faulted or will be executed again has not retired.
        self.left.d.next = acts & !holds & !executed.micro;
        self.left_last.next = self.left.q.val() & !stays;
        self.counts.next = self.left.q.val();
        self.retires.next = self.left.q.val() & !(self.trap_pending.q.val() & (trap.fault | trap.again));
    }
}
