//! Reporter: turns the ends of a cluster's handlers into `TaskDone` messages and faults.
//!
//! | neighbour | ports |
//! |---|---|
//! | HPUs | in `ending[h]` |
//! | task records | out `index`; in `ended_task`, in the same cycle: the task |
//! | slots | out `ended`: the task no longer needs its packet |
//! | command unit | in `hold`: a PLACE is on its way, ends wait |
//! | array | out `done`; out `fault`; in `number` |
//!
//! Round robin, one end per cycle while both outputs are free; 1 cycle from `ending` to `done` without contention. A
//! fault is offered in the same cycle as its `done`.

use crate::array::rr_arbiter4::RrArbiter4;
use crate::processor::types::Ending;
use crate::types::{EndedTask, Fault};
use spindle_blocks::{replicate, TaskDone};
use spindle_verilog::prelude::*;

/// The reporter. See the module text.
#[block]
pub struct Reporter {
    /// Number of the cluster.
    pub number: Signal<In, Bits<3>>,
    /// No end is taken in this cycle.
    pub hold: Signal<In, Bit>,
    /// Task whose end is examined, {HPU, bank}.
    pub index: Signal<Out, Bits<5>>,
    /// That task.
    pub ended_task: Signal<In, EndedTask>,
    /// Slot of a task with a packet that has ended.
    pub ended: Pulse<Bits<4>>,
    /// How handlers ended.
    pub ending: Vec<Sink<Ending>>,
    /// The end of a task.
    pub done: Source<TaskDone>,
    /// A fault.
    pub fault: Source<Fault>,
    arbiter: RrArbiter4,
    done_reg: DFF<TaskDone>,
    done_reg_valid: Reg<Bit>,
    fault_reg: DFF<Fault>,
    fault_reg_valid: Reg<Bit>,
    _hpus: usize,
}

impl Reporter {
    /// For `hpus` HPUs, 1 to 8.
    pub fn new(hpus: usize) -> Self {
        assert!((1..=8).contains(&hpus), "Reporter: {hpus} HPUs cannot be served; choose 1 to 8");
        Self { ending: replicate(hpus), _hpus: hpus, ..Self::blank() }
    }
}

#[hdl]
impl Reporter {
    fn update(&mut self) {
        let done_free = !self.done_reg_valid.q.val() | self.done.ready.val();
        let fault_free = !self.fault_reg_valid.q.val() | self.fault.ready.val();
        let free = done_free & fault_free & !self.hold.val();
        let mut request: Bits<8> = bits::<8>(0);
        for i in 0..self._hpus {
            request = request.replace_bit(i, self.ending[i].valid.val());
        }
        self.arbiter.request.next = request;
        self.arbiter.accept.next = free;
        let index = self.arbiter.index.val();
        for i in 0..self._hpus {
            self.ending[i].ready.next = self.arbiter.grant.val().get_bit(i) & free;
        }
        let ending = select(index, self.ending.vals());
        self.index.next = (index, ending.bank).cat::<5>();
        let origin = self.ended_task.val().origin;
        let takes = self.arbiter.any.val() & free;
        self.ended.offer(takes & origin.has_packet, origin.slot);
        if takes {
            self.done_reg.d.next = TaskDone {
                version: bits::<4>(spindle_contract::VERSION),
                kind: origin.kind,
                context: origin.context,
                msg_slot: origin.msg_slot,
                frame: origin.frame,
                has_packet: origin.has_packet,
                pkt: origin.pkt,
                payload_len: self.ended_task.val().payload_len,
                code: ending.code,
                fault: ending.fault,
                cause: ending.cause,
                cycles: if ending.thread { ending.second_cycles } else { ending.first_cycles },
                cluster: self.number.val(),
                hpu: index,
                instructions: ending.instructions,
            };
            self.done_reg_valid.d.next = true;
        } else if self.done.ready.val() {
            self.done_reg_valid.d.next = false;
        }
        if takes & ending.fault {
            self.fault_reg.d.next = Fault {
                cause: ending.cause,
                context: origin.context,
                hpu: index,
                cluster: self.number.val(),
                msg_slot: origin.msg_slot,
                frame: origin.frame,
                kind: origin.kind,
                pc: ending.pc,
                sum: ending.sum,
                stray: ending.stray,
                of_access: ending.of_access,
            };
            self.fault_reg_valid.d.next = true;
        } else if self.fault.ready.val() {
            self.fault_reg_valid.d.next = false;
        }
        self.done.offer(self.done_reg_valid.q.val(), self.done_reg.q.val());
        self.fault.offer(self.fault_reg_valid.q.val(), self.fault_reg.q.val());
    }
}
