//! Gives each task to a cluster.

use crate::context_table::ContextTable;
use crate::types::ContextEntry;
use spindle_blocks::desc::TaskDesc;
use spindle_blocks::skid::Skid;
use spindle_verilog::prelude::*;

/// A task with its context.
#[derive(LogicStruct, Copy, Clone, Debug, Default, PartialEq)]
pub struct Job {
    /// The task.
    pub task_desc: TaskDesc,
    /// Its context at dispatch.
    pub context: ContextEntry,
}

/// The home cluster if it has an HPU at rest, else the cluster with most room, one with an HPU at rest before one without; among equals the
/// lowest number.
///
/// | neighbour | ports |
/// |---|---|
/// | scheduler | in `task_desc`, `task_valid` / out `task_ready` |
/// | registers | in `staged`, `install`, `install_index`, `active`; out `contexts_feedback` |
/// | clusters | out `job` to all; out `valid[i]` / in `ready[i]`; in `free_hpus[i]`: tasks that the cluster could still take; in `has_idle[i]` |
///
/// Latency 1 cycle from `task_valid` to `valid[i]`; one task per cycle while clusters have room. Which of two clusters has more room is known one
/// cycle late; a cluster that does not take a task now gets none.
#[derive(LogicBlock)]
pub struct Dispatcher {
    /// Core clock.
    pub clock: Signal<In, Clock>,
    /// Synchronous reset, active high.
    pub reset: Signal<In, Bit>,
    /// A task.
    pub task_desc: Signal<In, TaskDesc>,
    /// There is one.
    pub task_valid: Signal<In, Bit>,
    /// It is taken.
    pub task_ready: Signal<Out, Bit>,
    /// Context to install.
    pub staged: Signal<In, ContextEntry>,
    /// Install it.
    pub install: Signal<In, Bit>,
    /// Where.
    pub install_index: Signal<In, Bits<4>>,
    /// Contexts that accept packets.
    pub active: Signal<In, Bits<16>>,
    /// For the scheduler.
    pub contexts_feedback: Signal<Out, Bits<64>>,
    /// The task and its context.
    pub job: Signal<Out, Job>,
    /// It is for this cluster.
    pub valid: Vec<Signal<Out, Bit>>,
    /// The cluster takes it.
    pub ready: Vec<Signal<In, Bit>>,
    /// Tasks that the cluster could take.
    pub free_hpus: Vec<Signal<In, Bits<4>>>,
    /// The cluster has an HPU with nothing to do.
    pub has_idle: Vec<Signal<In, Bit>>,
    contexts: ContextTable,
    buffer: Skid<Job>,
    choice: Signal<Local, Bits<8>>,
    any: Signal<Local, Bit>,
    /// Bit 8 i + j: cluster i is to be preferred to cluster j.
    preferred: Reg<Bits<64>>,
    _clusters: usize,
}

impl Dispatcher {
    /// For `clusters` clusters.
    pub fn new(clusters: usize) -> Self {
        Self {
            clock: Default::default(),
            reset: Default::default(),
            task_desc: Default::default(),
            task_valid: Default::default(),
            task_ready: Default::default(),
            staged: Default::default(),
            install: Default::default(),
            install_index: Default::default(),
            active: Default::default(),
            contexts_feedback: Default::default(),
            job: Default::default(),
            valid: (0..clusters).map(|_| Default::default()).collect(),
            ready: (0..clusters).map(|_| Default::default()).collect(),
            free_hpus: (0..clusters).map(|_| Default::default()).collect(),
            has_idle: (0..clusters).map(|_| Default::default()).collect(),
            contexts: Default::default(),
            buffer: Default::default(),
            choice: Default::default(),
            any: Default::default(),
            preferred: Default::default(),
            _clusters: clusters,
        }
    }
}

impl Logic for Dispatcher {
    #[hdl]
    fn update(&mut self) {
        regs!(self, clock, reset, preferred);
        clocks!(self, clock, reset, contexts, buffer);
        self.contexts.staged.next = self.staged.val();
        self.contexts.install.next = self.install.val();
        self.contexts.install_index.next = self.install_index.val();
        self.contexts.active.next = self.active.val();
        self.contexts_feedback.next = self.contexts.contexts_feedback.val();
        self.contexts.read_index.next = self.task_desc.val().context;
        self.buffer.write.next = Job { task_desc: self.task_desc.val(), context: self.contexts.entry.val() };
        self.buffer.write_valid.next = self.task_valid.val();
        self.task_ready.next = self.buffer.write_ready.val();

        let mut preferred: Bits<64> = bits::<64>(0);
        for i in 0..self._clusters {
            for j in 0..self._clusters {
                if i < j {
                    let mine = (self.has_idle[i].val(), self.free_hpus[i].val()).cat::<5>();
                    let other = (self.has_idle[j].val(), self.free_hpus[j].val()).cat::<5>();
                    preferred = preferred.replace_bit(8 * i + j, mine >= other);
                    preferred = preferred.replace_bit(8 * j + i, mine < other);
                }
            }
        }
        self.preferred.d.next = preferred;

        let home = self.buffer.read.val().task_desc.cluster;
        let mut choice: Bits<8> = bits::<8>(0);
        let mut at_home: Bits<8> = bits::<8>(0);
        for i in 0..self._clusters {
            let mut best: Bit = self.ready[i].val();
            for j in 0..self._clusters {
                if i != j {
                    best = best & (!self.ready[j].val() | self.preferred.q.val().get_bit(8 * i + j));
                }
            }
            choice = choice.replace_bit(i, best);
            let rests = self.ready[i].val() & self.has_idle[i].val();
            at_home = at_home.replace_bit(i, rests & (home == bits::<3>(i as u64)));
        }
        if at_home.any() {
            choice = at_home;
        }
        self.choice.next = choice;
        self.any.next = choice.any();
        for i in 0..self._clusters {
            self.valid[i].next = self.buffer.read_valid.val() & self.choice.val().get_bit(i);
        }
        self.buffer.read_ready.next = self.any.val();
        self.job.next = self.buffer.read.val();
    }
}
