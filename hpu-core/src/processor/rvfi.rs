//! The retirement port, for simulation and formal builds.

use super::decode::Decoded;
use super::stages::{address_of, Executed, Trap};
use super::types::Rvfi;
use crate::cluster::amo_alu::AmoAlu;
use spindle_verilog::prelude::*;

/// funct5 of LR and SC.
const LR: u64 = 2;
const SC: u64 = 3;

/// Follows every instruction through the pipeline, and reports it in M3.
///
/// | neighbour | ports |
/// |---|---|
/// | issue, operands | in `word`, `decoded` of D; in `a`, `b` of X |
/// | execute, resolve | in `executed`, `live`, `holds`, `next`, `returns` of M1 |
/// | | in `left`, `trap`, `trap_valid`, one cycle later, or with `stays` when that is over |
/// | write back | in `value` of M3 |
/// | threads | in `thread`, `started` |
/// | outside | out `rvfi` |
///
/// An instruction that waits for an answer (division, load of L2, atomic) retires when the answer is written: its
/// thread does nothing in between. If the handler ends before that, it does not retire. A jump out of the code retires
/// and halts; an instruction that the watchdog stops traps. A jump to half a word traps, as RISC-V has it: the
/// processor finds out at what stands there, which does not retire.
#[block]
pub struct RetirementPort {
    /// The word in D.
    pub word: Signal<In, Bits<32>>,
    /// Its meaning.
    pub decoded: Signal<In, Decoded>,
    /// First operand in X.
    pub a: Signal<In, Bits<32>>,
    /// Second operand in X.
    pub b: Signal<In, Bits<32>>,
    /// The current thread.
    pub thread: Signal<In, Bit>,
    /// A handler was started in the last cycle.
    pub started: Signal<In, Bit>,
    /// The instruction in M1.
    pub executed: Signal<In, Executed>,
    /// M1 holds an instruction.
    pub live: Signal<In, Bit>,
    /// It stays.
    pub holds: Signal<In, Bit>,
    /// Program counter of the next instruction.
    pub next: Signal<In, Bits<17>>,
    /// It ends the handler.
    pub returns: Signal<In, Bit>,
    /// The instruction that was in M1 in the last cycle has left it.
    pub left: Signal<In, Bit>,
    /// The fault that left M1 last has to wait.
    pub stays: Signal<In, Bit>,
    /// A fault or a wait.
    pub trap: PulseSink<Trap>,
    /// Result of M3.
    pub value: Signal<In, Bits<32>>,
    /// The instruction that retires.
    pub rvfi: Signal<Out, Rvfi>,
    execute: DFF<Rvfi>,
    first: DFF<Rvfi>,
    second: DFF<Rvfi>,
    third: DFF<Rvfi>,
    second_micro: Reg<Bit>,
    third_valid: Reg<Bit>,
    third_micro: Reg<Bit>,
    /// Of the handler's first instruction.
    fresh: [Reg<Bit>; 2],
    /// Instructions that wait for an answer.
    waiting: [DFF<Rvfi>; 2],
    waits: [Reg<Bit>; 2],
    order: [Reg<Bits<64>>; 2],
    /// Cycles since reset: the stages keep in `since_*` when an instruction left them.
    now: Reg<Bits<32>>,
    amo: AmoAlu,
}

#[hdl]
impl RetirementPort {
    fn update(&mut self) {
        let decoded = self.decoded.val();
        let executed = self.executed.val();
        let none: Bits<5> = bits::<5>(0);
        let zero: Bits<32> = bits::<32>(0);

        let now = self.now.q.val();
        self.now.d.next = now + 1;

        // D to X, X to M1.
        if !self.holds.val() {
            self.execute.d.next = Rvfi {
                insn: self.word.val(),
                rs1_addr: decoded.rs1,
                rs2_addr: decoded.rs2,
                since_decode: now,
                ..Default::default()
            };
            let execute = self.execute.q.val();
            self.first.d.next = Rvfi {
                rs1_rdata: if execute.rs1_addr.any() { self.a.val() } else { zero },
                rs2_rdata: if execute.rs2_addr.any() { self.b.val() } else { zero },
                since_execute: now,
                ..execute
            };
        }

        // M1 to M2: all but the result.
        let is_load = executed.traits.load;
        let is_store = executed.traits.store;
        let is_atomic = executed.traits.atomic;
        let jumps = executed.traits.jumps;
        let mask = match executed.funct3.get_bits::<2>(0).index() {
            0 => bits::<4>(1),
            1 => bits::<4>(3),
            _ => bits::<4>(15),
        };
        let reads = is_load | (is_atomic & (executed.funct5 != SC));
        let writes = is_store | (is_atomic & (executed.funct5 != LR));
        if !self.stays.val() {
            self.second.d.next = Rvfi {
                halt: self.returns.val(),
                mode: bits::<2>(3),
                ixl: bits::<2>(1),
                thread: self.thread.val(),
                rd_addr: executed.rd,
                pc_rdata: address_of(executed.pc),
                pc_wdata: if jumps { executed.sum & 0xFFFF_FFFE } else { address_of(self.next.val()) },
                mem_addr: if reads | writes { executed.sum } else { zero },
                mem_rmask: if reads { mask } else { bits::<4>(0) },
                mem_wmask: if writes { mask } else { bits::<4>(0) },
                mem_wdata: executed.b,
                since_memory: now,
                ..self.first.q.val()
            };
        }
        self.second_micro.d.next = self.live.val() & !self.holds.val() & executed.micro;

        // M2 to M3, or aside until the answer is there.
        let second = self.second.q.val();
        let trap = self.trap.val();
        let faults = self.trap.valid.val() & trap.fault;
        let waits = self.trap.valid.val() & !trap.fault & !trap.again;
        let fresh = if second.thread { self.fresh[1].q.val() } else { self.fresh[0].q.val() };
        let stands_askew = second.pc_rdata.get_bit(1) & !fresh;
        let goes_askew = second.pc_wdata.get_bit(1);
        let retires = (faults | (self.left.val() & !self.trap.valid.val())) & !stands_askew;
        let traps = (faults & !trap.stray) | goes_askew;
        let moved = Rvfi {
            trap: traps,
            halt: second.halt | faults | goes_askew,
            intr: fresh,
            rd_addr: if traps { none } else { second.rd_addr },
            mem_rmask: if traps { bits::<4>(0) } else { second.mem_rmask },
            mem_wmask: if traps { bits::<4>(0) } else { second.mem_wmask },
            ..second
        };
        self.third_valid.d.next = retires;
        self.third_micro.d.next = self.second_micro.q.val();
        self.third.d.next = moved;

        // M3.
        let third_thread = self.third.q.val().thread;
        let late =
            self.third_micro.q.val() & (if third_thread { self.waits[1].q.val() } else { self.waits[0].q.val() });
        let kept = if third_thread { self.waiting[1].q.val() } else { self.waiting[0].q.val() };
        let record = if late { kept } else { self.third.q.val() };
        let valid = late | self.third_valid.q.val();
        let operation = kept.insn.get_bits::<5>(27);
        let value = self.value.val();
        self.amo.old.next = value;
        self.amo.operand.next = kept.rs2_rdata;
        self.amo.funct5.next = operation;
        let modifies = late & record.mem_rmask.any() & record.mem_wmask.any();
        let conditional = late & record.mem_wmask.any() & !record.mem_rmask.any();
        self.rvfi.next = Rvfi {
            valid,
            order: if third_thread { self.order[1].q.val() } else { self.order[0].q.val() },
            rd_wdata: if record.rd_addr.any() { value } else { zero },
            mem_rdata: value,
            mem_wmask: if conditional & value.any() { bits::<4>(0) } else { record.mem_wmask },
            mem_wdata: if modifies { self.amo.result.val() } else { record.mem_wdata },
            since_decode: now - record.since_decode,
            since_execute: now - record.since_execute,
            since_memory: now - record.since_memory,
            ..record
        };

        for i in 0..2 {
            let mine = second.thread == (i == 1);
            self.fresh[i].load(mine & (retires | waits), false);
            self.fresh[i].load(self.started.val() & (self.thread.val() == (i == 1)), true);
            if valid & (third_thread == (i == 1)) {
                self.order[i].d.next = self.order[i].q.val() + 1;
                self.waits[i].d.next = false;
            }
            self.waits[i].load(mine & faults, false);
            if mine & waits {
                self.waits[i].d.next = true;
                self.waiting[i].d.next = moved;
            }
        }
    }
}
