//! Hands each task to its cluster.

use crate::array::context_table::ContextTable;
use crate::array::rr_arbiter4::RrArbiter4;
use crate::cluster::loader_tables::loaded_bytes;
use crate::types::{context_of_task, ContextEntry, TaskContext};
use spindle_blocks::{replicate, LutMemory, PassFifo, RamStyle, ReadRequest, TaskDesc};
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

/// A task that waits for its cluster.
#[derive(LogicStruct, Copy, Clone, Debug, Default, PartialEq)]
pub struct QueuedTask {
    /// HPU of the task.
    pub hpu: Bits<3>,
    /// Its context.
    pub context: Bits<4>,
    /// Head cell of its packet,
    pub pkt: Bits<10>,
    /// and how many bytes of the packet are loaded; 0 = there is none.
    pub size: Bits<12>,
}

/// Keeps tasks until the loader of their cluster takes them, in one queue per cluster, and requests their packets.
///
/// | neighbour | ports |
/// |---|---|
/// | packet engine | in `task_desc`: always taken |
/// | registers | in `staged`, `install`, `install_index`, `active`; out `context_status` |
/// | clusters | out `job` to all; out `valid[i]` / in `ready[i]` |
/// | load router | out `load`, `load_cluster`: the packet of the task that is granted |
///
/// The packet engine sends a task only to an HPU that has room for it (`task_room`), and no second one before that HPU
/// has room again. So the queues hold at most one task of each HPU, and a cluster that takes no task delays only its
/// own. A cluster that is `ready` is granted, in the cycle of `task_desc` if no other task waits; a cycle later its task and the context
/// are on `job`. A cluster stays ready until a task comes. One task per cycle, one per two cycles to a cluster; clusters are served
/// round robin, the tasks of a cluster in their order.
///
/// The packet is requested with the grant, so that it is on its way while the cluster takes the task; its beats come to the queue of
/// the cluster, which has room for all of them since the cluster takes no further task before it has loaded the packet. While the
/// load router has no room, no task is granted.
#[block]
pub struct Dispatcher {
    /// A task, always taken.
    pub task_desc: PulseSink<TaskDesc>,
    /// Context to install.
    pub staged: Signal<In, ContextEntry>,
    /// Install the context.
    pub install: Signal<In, Bit>,
    /// Number of the context.
    pub install_index: Signal<In, Bits<4>>,
    /// Contexts that accept packets.
    pub active: Signal<In, Bits<16>>,
    /// Status of the contexts, for the scheduler.
    pub context_status: Signal<Out, Bits<64>>,
    /// A task and its context.
    pub job: Signal<Out, Job>,
    /// The job is for this cluster.
    pub valid: Vec<Signal<Out, Bit>>,
    /// The cluster takes a task, and stays ready until one comes.
    pub ready: Vec<Signal<In, Bit>>,
    /// Packet of the task that is granted.
    pub load: Source<ReadRequest>,
    /// Cluster that is granted, one-hot.
    pub load_cluster: Signal<Out, Bits<8>>,
    contexts: ContextTable,
    /// The task of each HPU: in LUT RAM, so that a task can be read in the cycle after it came.
    tasks: LutMemory<TaskDesc, 5>,
    /// HPUs whose tasks wait, of each cluster.
    queue: Vec<PassFifo<QueuedTask, 3>>,
    arbiter: RrArbiter4,
    /// Cluster that was granted in the last cycle, one-hot.
    granted: Reg<Bits<8>>,
    /// HPU of the task that was granted in the last cycle.
    granted_place: DFF<Bits<5>>,
    _clusters: usize,
    _shift: u64,
}

impl Dispatcher {
    /// For the clusters of `config`.
    pub fn new(config: &Config) -> Self {
        let style = RamStyle::spare(config);
        let (clusters, shift) = (config.clusters, config.hpu_bits());
        Self {
            valid: replicate(clusters),
            ready: replicate(clusters),
            contexts: ContextTable::new(style),
            queue: replicate(clusters),
            _clusters: clusters,
            _shift: shift as u64,
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
        let place = (bit_cast::<5, 3>(incoming.cluster) << self._shift) | bit_cast::<5, 3>(incoming.hpu);
        self.tasks.write(self.task_desc.valid.val(), place, incoming);
        let waiting = QueuedTask {
            hpu: incoming.hpu,
            context: incoming.context,
            pkt: incoming.pkt,
            size: loaded_bytes(incoming),
        };
        let mut request: Bits<8> = bits::<8>(0);
        for i in 0..self._clusters {
            self.queue[i].write.offer(self.task_desc.valid.val() & (incoming.cluster == bits::<3>(i)), waiting);
            let is_ready = self.ready[i].val() & !self.granted.q.val().get_bit(i);
            request = request.replace_bit(i, self.queue[i].read.valid.val() & is_ready);
        }
        self.arbiter.request.next = request;
        let room = self.load.ready.val();
        self.arbiter.accept.next = room;
        let grant = self.arbiter.grant.val() & repeat::<8>(room);
        let grants = self.arbiter.any.val() & room;
        let mut granted_place: Bits<5> = bits::<5>(0);
        let mut entry_index: Bits<4> = bits::<4>(0);
        let mut pkt: Bits<10> = bits::<10>(0);
        let mut size: Bits<12> = bits::<12>(0);
        for i in 0..self._clusters {
            if grant.get_bit(i) {
                let hpu = self.queue[i].read.val().hpu;
                granted_place = granted_place | (bits::<5>(i) << self._shift) | bit_cast::<5, 3>(hpu);
                entry_index = entry_index | self.queue[i].read.val().context;
                pkt = pkt | self.queue[i].read.val().pkt;
                size = size | self.queue[i].read.val().size;
            }
            self.queue[i].read.ready.next = grant.get_bit(i);
            self.valid[i].next = self.granted.q.val().get_bit(i);
        }
        self.granted.d.next = grant;
        self.load.offer(
            self.arbiter.any.val() & size.any(),
            ReadRequest { pkt, length: bit_cast::<14, 12>(size), skip: bits::<8>(0) },
        );
        self.load_cluster.next = grant;
        self.contexts.read_enable.next = grants;
        self.contexts.read_index.next = entry_index;
        self.granted_place.d.next = granted_place;
        self.tasks.read_address.next = self.granted_place.q.val();
        let task_desc = self.tasks.read_data.val();
        self.job.next = Job { task_desc, context: context_of_task(self.contexts.entry.val(), task_desc.kind) };
    }
}
