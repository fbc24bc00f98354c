//! Hands each task to its cluster.

use crate::array::context_table::ContextTable;
use crate::array::rr_arbiter4::RrArbiter4;
use crate::types::{context_of_task, ContextEntry, TaskContext};
use spindle_blocks::{replicate, LutFifo, RamStyle, SdpMemory, TaskDesc};
use spindle_contract::params::Config;
use spindle_verilog::prelude::*;

/// A task with its context.
#[derive(LogicStruct, Copy, Clone, Debug, Default, PartialEq)]
pub struct Job {
    /// The task.
    pub task_desc: TaskDesc,
    /// Its context at dispatch.
    pub context: TaskContext,
}

/// A task that waits.
#[derive(LogicStruct, Copy, Clone, Debug, Default, PartialEq)]
pub struct QueuedTask {
    /// Its HPU.
    pub hpu: Bits<3>,
    /// Its context.
    pub context: Bits<4>,
}

/// Keeps tasks until the loader of their cluster takes them, with a queue of its own for each cluster.
///
/// | neighbour | ports |
/// |---|---|
/// | packet engine | in `task_desc`, `task_valid`: always taken |
/// | registers | in `staged`, `install`, `install_index`, `active`; out `context_status` |
/// | clusters | out `job` to all; out `valid[i]` / in `ready[i]` |
///
/// The packet engine sends a task only to an HPU that has room for it (`task_room`), and no second one before that HPU has room again: so
/// there is at most one task of each HPU here, one place for each is enough, and a cluster that takes no task delays nobody else's.
/// Latency 2 cycles from `task_valid` to `valid[i]`: the cluster that is `ready` has its turn, and a cycle later the task and its context are there. A cluster stays ready
/// until it has got one. One task per cycle, one per two cycles to a cluster; clusters in turn, the tasks of a cluster in the order in which they came.
#[block]
pub struct Dispatcher {
    /// A task, always taken.
    pub task_desc: PulseSink<TaskDesc>,
    /// Context to install.
    pub staged: Signal<In, ContextEntry>,
    /// Install it.
    pub install: Signal<In, Bit>,
    /// Where.
    pub install_index: Signal<In, Bits<4>>,
    /// Contexts that accept packets.
    pub active: Signal<In, Bits<16>>,
    /// For the scheduler.
    pub context_status: Signal<Out, Bits<64>>,
    /// The task and its context.
    pub job: Signal<Out, Job>,
    /// It is for this cluster.
    pub valid: Vec<Signal<Out, Bit>>,
    /// The cluster takes a task, and does so until one comes.
    pub ready: Vec<Signal<In, Bit>>,
    contexts: ContextTable,
    /// The task of each HPU.
    tasks: SdpMemory<TaskDesc, 6>,
    /// HPUs whose tasks wait, of each cluster.
    queue: Vec<LutFifo<QueuedTask, 3>>,
    arbiter: RrArbiter4,
    /// The cluster that has its turn, a cycle later.
    granted: Reg<Bits<8>>,
    _clusters: usize,
    _shift: u64,
}

impl Dispatcher {
    /// For the clusters of `config`.
    pub fn new(config: &Config) -> Self {
        let style = RamStyle::spare(config);
        // Seven columns of a few words, which UltraRAM has to spare where there is any.
        let tasks = if config.has_ultra_ram() { RamStyle::Ultra } else { style };
        let (clusters, shift) = (config.clusters, config.hpus.next_power_of_two().trailing_zeros());
        Self {
            valid: replicate(clusters),
            ready: replicate(clusters),
            contexts: ContextTable::new(style),
            tasks: SdpMemory::with_depth(tasks, 1, (clusters << shift).next_power_of_two().max(2)),
            queue: replicate(clusters),
            _clusters: clusters,
            _shift: shift.into(),
            ..Self::blank()
        }
    }
}

#[hdl]
impl Dispatcher {
    fn update(&mut self) {
        self.contexts.staged.next = self.staged.val();
        self.contexts.install.next = self.install.val();
        self.contexts.install_index.next = self.install_index.val();
        self.contexts.active.next = self.active.val();
        self.context_status.next = self.contexts.context_status.val();

        let incoming = self.task_desc.val();
        self.tasks.write_enable.next = self.task_desc.valid.val();
        self.tasks.write_address.next =
            (bit_cast::<6, 3>(incoming.cluster) << self._shift) | bit_cast::<6, 3>(incoming.hpu);
        self.tasks.write_data.next = incoming;
        let mut request: Bits<8> = bits::<8>(0);
        for i in 0..self._clusters {
            self.queue[i].write.next = QueuedTask { hpu: incoming.hpu, context: incoming.context };
            self.queue[i].write.valid.next = self.task_desc.valid.val() & (incoming.cluster == bits::<3>(i));
            let is_ready = self.ready[i].val() & !self.granted.q.val().get_bit(i);
            request = request.replace_bit(i, self.queue[i].read.valid.val() & is_ready);
        }
        self.arbiter.request.next = request;
        self.arbiter.accept.next = true;
        let grant = self.arbiter.grant.val();
        let mut address: Bits<6> = bits::<6>(0);
        let mut entry_index: Bits<4> = bits::<4>(0);
        for i in 0..self._clusters {
            let queued = self.queue[i].read.val();
            if grant.get_bit(i) {
                address = address | (bits::<6>(i) << self._shift) | bit_cast::<6, 3>(queued.hpu);
                entry_index = entry_index | queued.context;
            }
            self.queue[i].read.ready.next = grant.get_bit(i);
            self.valid[i].next = self.granted.q.val().get_bit(i);
        }
        self.granted.d.next = grant;
        self.tasks.read_enable.next = self.arbiter.any.val();
        self.tasks.read_address.next = address;
        self.contexts.read_enable.next = self.arbiter.any.val();
        self.contexts.read_index.next = entry_index;
        let task_desc = self.tasks.read_data.val();
        self.job.next = Job { task_desc, context: context_of_task(self.contexts.entry.val(), task_desc.kind) };
    }
}
