//! Brings the accesses of a cluster's HPUs to L1, to the task pages and to L2.
//!
//! | neighbour | ports |
//! |---|---|
//! | HPUs | in `access[h]`, `target[h]`, `valid[h]`; out `ack[h]`, `data[h]` |
//! | L1 | out `l1_enable`, `l1_address`, `l1_strobe`, `l1_write`; in `l1_read`, two cycles later |
//! | task pages | out `task_index`, `task_word`; in `task_read`, two cycles later |
//! | L2 | out `l2_access`, `l2_valid` (held) / in `l2_ack`, `l2_data` |
//!
//! L1 and task pages: one access per cycle, round robin over the HPUs. A write is acknowledged one cycle after its grant, a read two; an access is granted in
//! its first cycle if no other HPU asks, at most (HPUs − 1) cycles later otherwise. L2: one access of the cluster at a time, round robin; one cycle from
//! `valid` to `l2_valid`, and the acknowledgement is passed on in its cycle.

use crate::types::{Access, Target};
use spindle_blocks::RoundRobin;
use spindle_verilog::prelude::*;

/// The access_router. See the module text.
#[derive(LogicBlock, Default)]
pub struct AccessRouter {
    /// Core clock.
    pub clock: Signal<In, Clock>,
    /// Synchronous reset, active high.
    pub reset: Signal<In, Bit>,
    /// Accesses.
    pub access: Vec<Signal<In, Access>>,
    /// Where they go.
    pub target: Vec<Signal<In, Target>>,
    /// They are wanted.
    pub valid: Vec<Signal<In, Bit>>,
    /// They are done.
    pub ack: Vec<Signal<Out, Bit>>,
    /// The words read.
    pub data: Vec<Signal<Out, Bits<32>>>,
    /// A word access of L1.
    pub l1_enable: Signal<Out, Bit>,
    /// Its byte address.
    pub l1_address: Signal<Out, Bits<16>>,
    /// Bytes to write.
    pub l1_strobe: Signal<Out, Bits<4>>,
    /// What to write.
    pub l1_write: Signal<Out, Bits<32>>,
    /// The word read.
    pub l1_read: Signal<In, Bits<32>>,
    /// Task page to read, {HPU, page}.
    pub task_index: Signal<Out, Bits<4>>,
    /// Word of it.
    pub task_word: Signal<Out, Bits<5>>,
    /// The word read.
    pub task_read: Signal<In, Bits<32>>,
    /// Access of L2.
    pub l2_access: Signal<Out, Access>,
    /// It is wanted.
    pub l2_valid: Signal<Out, Bit>,
    /// It is done.
    pub l2_ack: Signal<In, Bit>,
    /// The word read.
    pub l2_data: Signal<In, Bits<32>>,
    local_arbiter: RoundRobin<8>,
    granted: Signal<Local, Access>,
    /// HPUs with a write or a read in its first cycle, and with a read in its second.
    writing: Reg<Bits<8>>,
    reading: Reg<Bits<8>>,
    read: Reg<Bits<8>>,
    task_first: DFF<Bit>,
    task_second: DFF<Bit>,
    far_arbiter: RoundRobin<8>,
    chosen: Signal<Local, Access>,
    remote: DFF<Access>,
    far_busy: Reg<Bit>,
    far_hpu: Reg<Bits<8>>,
    _hpus: usize,
}

impl AccessRouter {
    /// For `hpus` HPUs, 1 to 8.
    pub fn new(hpus: usize) -> Self {
        assert!((1..=8).contains(&hpus), "AccessRouter: {hpus} HPUs cannot be connected; choose 1 to 8");
        Self {
            access: (0..hpus).map(|_| Default::default()).collect(),
            target: (0..hpus).map(|_| Default::default()).collect(),
            valid: (0..hpus).map(|_| Default::default()).collect(),
            ack: (0..hpus).map(|_| Default::default()).collect(),
            data: (0..hpus).map(|_| Default::default()).collect(),
            _hpus: hpus,
            ..Default::default()
        }
    }
}

impl Logic for AccessRouter {
    #[hdl]
    fn update(&mut self) {
        regs!(self, clock, reset, writing, reading, read, far_busy, far_hpu);
        dffs!(self, clock, task_first, task_second, remote);
        clocks!(self, clock, reset, local_arbiter, far_arbiter);

        // Who asks for what. An HPU holds its access until the acknowledgement, so those under way are left out.
        let under_way = self.writing.q.val() | self.reading.q.val() | self.read.q.val();
        let mut near_wants: Bits<8> = bits::<8>(0);
        let mut is_task: Bits<8> = bits::<8>(0);
        let mut writes: Bits<8> = bits::<8>(0);
        let mut to_l2: Bits<8> = bits::<8>(0);
        for i in 0..self._hpus {
            let target = self.target[i].val();
            near_wants =
                near_wants.replace_bit(i, self.valid[i].val() & ((target == Target::L1) | (target == Target::Task)));
            is_task = is_task.replace_bit(i, target == Target::Task);
            writes = writes.replace_bit(i, self.access[i].val().write);
            to_l2 = to_l2.replace_bit(i, self.valid[i].val() & (target == Target::L2));
        }

        // L1 and task pages.
        self.local_arbiter.request.next = near_wants & !under_way;
        self.local_arbiter.accept.next = true;
        self.local_arbiter.lock.next = false;
        let grant = self.local_arbiter.grant.val();
        self.granted.next = Access::default();
        for i in 0..self._hpus {
            if grant.get_bit(i) {
                self.granted.next = self.access[i].val();
            }
        }
        let granted = self.granted.val();
        let to_task = (grant & is_task).any();
        self.l1_enable.next = self.local_arbiter.any.val() & !to_task;
        self.l1_address.next = granted.address.get_bits::<16>(0);
        self.l1_strobe.next = if granted.write { granted.strobe } else { bits::<4>(0) };
        self.l1_write.next = granted.data;
        self.task_index.next = (self.local_arbiter.index.val().get_bits::<3>(0), granted.address.get_bit(7)).cat::<4>();
        self.task_word.next = granted.address.get_bits::<5>(2);
        self.writing.d.next = grant & writes;
        self.reading.d.next = grant & !writes;
        self.read.d.next = self.reading.q.val();
        self.task_first.d.next = to_task;
        self.task_second.d.next = self.task_first.q.val();
        let near = if self.task_second.q.val() { self.task_read.val() } else { self.l1_read.val() };

        // L2.
        self.far_arbiter.request.next = to_l2;
        self.far_arbiter.accept.next = !self.far_busy.q.val();
        self.far_arbiter.lock.next = false;
        self.chosen.next = Access::default();
        for i in 0..self._hpus {
            if self.far_arbiter.grant.val().get_bit(i) {
                self.chosen.next = self.access[i].val();
            }
        }
        if !self.far_busy.q.val() {
            self.remote.d.next = self.chosen.val();
            self.far_hpu.d.next = self.far_arbiter.grant.val();
            self.far_busy.d.next = self.far_arbiter.any.val();
        } else if self.l2_ack.val() {
            self.far_busy.d.next = false;
        }
        self.l2_access.next = self.remote.q.val();
        self.l2_valid.next = self.far_busy.q.val();

        let far_done = self.far_busy.q.val() & self.l2_ack.val();
        for i in 0..self._hpus {
            self.ack[i].next = self.writing.q.val().get_bit(i)
                | self.read.q.val().get_bit(i)
                | (far_done & self.far_hpu.q.val().get_bit(i));
            self.data[i].next = if self.target[i].val() == Target::L2 { self.l2_data.val() } else { near };
        }
    }
}
