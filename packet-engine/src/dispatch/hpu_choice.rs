//! Chooses the HPU of a task.
//!
//! An HPU can be given a task when it has room: the array sends a pulse each time the slot for its next launch is free, so a task
//! that leaves here never waits for another context's handler. Of the HPUs with room that the context may use, those with the
//! fewest tasks come first; among these the first one from cluster `from` on, else the lowest.
//!
//! | ports | neighbour |
//! |---|---|
//! | in `core_mask`, `policy_index`, `policy_valid` | HPU array: a context is installed |
//! | in `room` | HPU array: HPUs that can take one task more than before; the first pulse comes after reset |
//! | in `ended`, `ended_cluster`, `ended_hpu` | scheduler: a task came back |
//! | in `request`, `request_context`, `from` | dispatch, cycle 0 |
//! | out `found`, `cluster`, `hpu` / in `accept` | dispatch, cycle 1: the answer, and whether it is used |
//! | in `funded` / out `eligible`, `eligible_funded` | dispatch: contexts for which an HPU has room, and those with funds; 1 cycle old |
//!
//! One request per cycle. An HPU that is given a task in one cycle is not offered in the next. So the answer may be an HPU with
//! more tasks than another one has, or none, although the other one is free again. No HPU is given two tasks for one pulse of
//! room.

use spindle_blocks::{ram::LutMemory, replicate};
use spindle_contract::params::Config;
use spindle_verilog::prelude::*;

/// See the head of this file.
#[block]
pub struct HpuChoice {
    /// HPUs that a context may use.
    pub core_mask: Signal<In, Bits<32>>,
    /// The context.
    pub policy_index: Signal<In, Bits<4>>,
    /// A context is installed.
    pub policy_valid: Signal<In, Bit>,
    /// HPUs that can take one task more.
    pub room: Signal<In, Bits<32>>,
    /// A task ended.
    pub ended: Signal<In, Bit>,
    /// In this cluster.
    pub ended_cluster: Signal<In, Bits<3>>,
    /// On this HPU.
    pub ended_hpu: Signal<In, Bits<3>>,
    /// An HPU is wanted.
    pub request: Signal<In, Bit>,
    /// For a task of this context.
    pub request_context: Signal<In, Bits<4>>,
    /// Preferably in this cluster.
    pub from: Signal<In, Bits<3>>,
    /// There is one for the question of the last cycle.
    pub found: Signal<Out, Bit>,
    /// Its cluster.
    pub cluster: Signal<Out, Bits<3>>,
    /// Its number there.
    pub hpu: Signal<Out, Bits<3>>,
    /// The HPU is given a task.
    pub accept: Signal<In, Bit>,
    /// Contexts with funds.
    pub funded: Signal<In, Bits<16>>,
    /// Contexts for which an HPU has room.
    pub eligible: Signal<Out, Bits<16>>,
    /// Those of them that have funds.
    pub eligible_funded: Signal<Out, Bits<16>>,
    masks: LutMemory<Bits<32>, 4>,
    /// The same once more, for all contexts at once.
    mask: Vec<Reg<Bits<32>>>,
    with_room: Reg<Bits<32>>,
    /// Tasks that an HPU was given and that have not come back.
    tasks: Vec<Reg<Bits<3>>>,
    requested: Reg<Bit>,
    best: DFF<Bits<32>>,
    rest: DFF<Bits<32>>,
    preferred: DFF<Bits<32>>,
    choice: Signal<Local, Bits<32>>,
    eligible_now: Reg<Bits<16>>,
    funded_now: Reg<Bits<16>>,
    _contexts: usize,
    _hpus: usize,
    _total: usize,
    _present: u64,
}

impl HpuChoice {
    /// For the HPUs and contexts of `config`.
    pub fn new(config: &Config) -> Self {
        let total = config.total_hpus();
        Self {
            mask: replicate(config.contexts),
            tasks: replicate(total),
            _contexts: config.contexts,
            _hpus: config.hpus,
            _total: total,
            _present: (1 << total) - 1,
            ..Self::blank()
        }
    }
}

#[hdl]
impl HpuChoice {
    fn update(&mut self) {
        // The HPUs that there are: what the others would take vanishes.
        let with_room = self.with_room.q.val() & bits::<32>(self._present);

        // Policies.
        self.masks.write(self.policy_valid.val(), self.policy_index.val(), self.core_mask.val());
        self.masks.read_address.next = self.request_context.val();
        let mut eligible: Bits<16> = bits::<16>(0);
        for c in 0..self._contexts {
            if self.policy_valid.val() & (self.policy_index.val() == bits::<4>(c)) {
                self.mask[c].d.next = self.core_mask.val();
            }
            eligible = eligible.replace_bit(c, (self.mask[c].q.val() & with_room).any());
        }
        self.eligible_now.d.next = eligible;
        self.funded_now.d.next = eligible & self.funded.val();
        self.eligible.next = self.eligible_now.q.val();
        self.eligible_funded.next = self.funded_now.q.val();

        // Cycle 1: the choice among those that were selected.
        let preferred = self.best.q.val() & self.preferred.q.val();
        let choice = if preferred.any() {
            lowest_set(preferred)
        } else if self.best.q.val().any() {
            lowest_set(self.best.q.val())
        } else {
            lowest_set(self.rest.q.val())
        };
        self.choice.next = choice;
        self.found.next = self.requested.q.val() & self.rest.q.val().any();
        let used = if self.accept.val() { self.choice.val() } else { bits::<32>(0) };
        let mut cluster: Bits<3> = bits::<3>(0);
        let mut hpu: Bits<3> = bits::<3>(0);
        for i in 0..self._total {
            if self.choice.val().get_bit(i) {
                cluster = cluster | bits::<3>((i / self._hpus) as u64);
                hpu = hpu | bits::<3>((i % self._hpus) as u64);
            }
        }
        self.cluster.next = cluster;
        self.hpu.next = hpu;
        self.with_room.d.next = (with_room & !used) | (self.room.val() & bits::<32>(self._present));

        // Tasks of each HPU.
        let mut idle: Bits<32> = bits::<32>(0);
        let mut one: Bits<32> = bits::<32>(0);
        let mut two: Bits<32> = bits::<32>(0);
        let mut from_onward: Bits<32> = bits::<32>(0);
        for i in 0..self._total {
            let tasks = self.tasks[i].q.val();
            idle = idle.replace_bit(i, tasks == 0);
            one = one.replace_bit(i, tasks == 1);
            two = two.replace_bit(i, tasks == 2);
            from_onward = from_onward.replace_bit(i, self.from.val() <= bits::<3>((i / self._hpus) as u64));
            let ends = self.ended.val()
                & (self.ended_cluster.val() == bits::<3>((i / self._hpus) as u64))
                & (self.ended_hpu.val() == bits::<3>((i % self._hpus) as u64));
            if used.get_bit(i) & !ends {
                self.tasks[i].d.next = tasks + 1;
            } else if !used.get_bit(i) & ends {
                self.tasks[i].d.next = tasks - 1;
            }
        }

        // Cycle 0: the least loaded ones with room, without the one that is given a task now.
        let usable = self.masks.read_data.val() & with_room;
        let best = if (usable & idle).any() {
            usable & idle
        } else if (usable & one).any() {
            usable & one
        } else if (usable & two).any() {
            usable & two
        } else {
            usable
        };
        self.requested.d.next = self.request.val();
        self.best.d.next = best & !used;
        self.rest.d.next = usable & !used;
        self.preferred.d.next = from_onward;
    }
}
