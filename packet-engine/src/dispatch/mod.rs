//! Turns orders into descriptors: tasks to the HPU array, placements to the RVMA engine.
//!
//! The scheduler decides and never waits for the array or for host memory: an order that cannot leave at once is kept here, and its
//! descriptor is made from the packet's stored fields when it leaves. A task goes to an HPU that has room for it, which the array
//! shows by `room`; so the array takes every task at once, and no task waits there for another context's handler. A packet has at
//! most one task and one placement under way (a completion is a task of its message's last packet), and a slot at most one task
//! without a packet, so no queue overflows.
//!
//! | ports | neighbour |
//! |---|---|
//! | in `store`, `store_pkt`, `store_packet`, `store_terms` | scheduler: a packet, at the latest two cycles before its first order |
//! | in `store_task`, `store_slot`, `stored_task` | scheduler: likewise a task without a packet; never in the cycle of a `store` |
//! | in `redirect`, `redirection` | scheduler, with an order to place: destination of a REDIRECT; never in the cycle of a `store` |
//! | in `prefetch` | scheduler: packet and context that an order of the next cycle may have |
//! | in `order`, `task_push`, `placement_push` | scheduler: an order |
//! | in `ended`, `ended_task` | scheduler: a task came back |
//! | in `fast` | packets that need no scheduling, straight to `placement` |
//! | in `policy`, `room` | HPU array |
//! | out `task_desc`, `task_valid` | HPU array: always taken |
//! | out `placement` | RVMA engine |
//!
//! ```text
//! order -> task_queues -> choose -> request -> pick -> read order -> read packet -> task_desc
//! prefetch --------------------------^ (nothing waits: the packet is read meanwhile)
//! ```
//!
//! | cycle | what, of a task that waits |
//! |---|---|
//! | 0 | a context is chosen in turn, of those with an HPU that has room: a funded one ([`crate::dispatch::fair_share`]), or the only one |
//! | 1, 2 | an HPU is chosen ([`crate::dispatch::hpu_choice`]); the context's oldest task leaves its queue |
//! | 4 | the order is there; the packet is read |
//! | 6 | `task_valid` |
//!
//! The choice uses values that are 3 cycles old; if there is neither HPU nor task after all, only a cycle is lost. An ordered task
//! is chosen in the next cycle at the earliest: `task_valid` 7 cycles after the order. When no task waits or is being chosen, an
//! HPU is requested ahead of every possible order: `task_valid` 1 cycle after it. Rate: a task per cycle, of one context or of
//! several, less the cycles in which queued placements read.
//!
//! An ordered placement is valid 7 cycles later, up to 3 more while tasks leave, and one more if a fast one is just leaving; a fast
//! one 1 cycle. Rate: one fast placement per cycle; one queued order per 5 cycles, 6 with a fast one between. The array holds up no
//! placement, a slow host no task. Queued placements leave one turn for a fast one between two of theirs; the turn is lost if the
//! RVMA engine does not take the first of them at once. Tasks of a context and placements leave in the order of their orders.

pub mod fair_share;
pub mod hpu_choice;
pub mod task_queues;

use crate::dispatch::fair_share::FairShare;
use crate::dispatch::hpu_choice::HpuChoice;
use crate::dispatch::task_queues::TaskQueues;
use crate::schedule::message::{
    placement_of, redirected_to, stored_task, task_of, Order, PlacementOrder, PlacementTerms, Prefetch, Redirection,
    StoredPacket, TaskOrder, PACKET_TERMS_BITS, TERMS_BITS,
};
use crate::schedule::task_timers::types::DueTask;
use spindle_blocks::ram::{RamStyle, SdpMemory};
use spindle_blocks::{Fifo, PlacementDesc, PolicySink, Slice, TaskDesc, TaskDone};
use spindle_contract::params::Config;
use spindle_verilog::prelude::*;

/// What the emitter of queued placements does.
#[derive(LogicState, Copy, Clone, Debug, PartialEq)]
enum Emitter {
    /// Looks for an order.
    Idle,
    /// The packet's fields are to be read.
    Fetch,
    /// They are at the memory's output register at the end of this cycle.
    Hold,
    /// The descriptor goes into its output register.
    Emit,
}

/// Where a task goes.
#[derive(LogicStruct, Copy, Clone, Debug, Default, PartialEq)]
pub struct Target {
    /// Cluster.
    pub cluster: Bits<3>,
    /// HPU of the cluster.
    pub hpu: Bits<3>,
    /// What its context was charged.
    pub cost: Bits<18>,
}

/// See the head of this file.
#[block]
pub struct Dispatch {
    /// A packet is stored.
    pub store: Signal<In, Bit>,
    /// Under this head cell.
    pub store_pkt: Signal<In, Bits<10>>,
    /// Fields of the packet.
    pub store_packet: Signal<In, StoredPacket>,
    /// What its placement needs besides.
    pub store_terms: Signal<In, PlacementTerms>,
    /// A task without a packet is stored,
    pub store_task: Signal<In, Bit>,
    /// under this slot.
    pub store_slot: Signal<In, Bits<8>>,
    /// That task.
    pub stored_task: Signal<In, DueTask>,
    /// The packet of `order` goes elsewhere.
    pub redirect: Signal<In, Bit>,
    /// There.
    pub redirection: Signal<In, Redirection>,
    /// What the next order may be about.
    pub prefetch: Signal<In, Prefetch>,
    /// What to do.
    pub order: Signal<In, Order>,
    /// `order` is a task.
    pub task_push: Signal<In, Bit>,
    /// `order` is a placement.
    pub placement_push: Signal<In, Bit>,
    /// A task came back.
    pub ended: Signal<In, Bit>,
    /// That task.
    pub ended_task: Signal<In, TaskDone>,
    /// Placement that needs no scheduling.
    pub fast: Sink<PlacementDesc>,
    /// What a context may use.
    pub policy: PolicySink,
    /// HPUs that can take one task more than before.
    pub room: Signal<In, Bits<32>>,
    /// Task for the array.
    pub task_desc: Signal<Out, TaskDesc>,
    /// A task leaves.
    pub task_valid: Signal<Out, Bit>,
    /// Placement for the RVMA engine.
    pub placement: Source<PlacementDesc>,
    queues: TaskQueues,
    share: FairShare,
    hpus: HpuChoice,
    /// Contexts after the one that had the last turn.
    later: Reg<Bits<16>>,
    /// Packets, and after them tasks without a packet by their slot.
    packets: SdpMemory<StoredPacket, 11>,
    /// Terms of each packet, or the destination of its REDIRECT.
    terms: SdpMemory<Bits<TERMS_BITS>, 10>,
    /// At most one context can go, as of the last cycle.
    at_most_one: Reg<Bit>,
    chosen: Reg<Bit>,
    chosen_context: DFF<Bits<4>>,
    /// An HPU was asked for.
    requesting: Reg<Bit>,
    /// For a task that may be ordered now.
    requesting_direct: Reg<Bit>,
    requested_context: DFF<Bits<4>>,
    /// Cluster that had the last task: the next search begins after it.
    last_cluster: Reg<Bits<3>>,
    /// A task of a queue: its order is read in the first two, its packet from the third on.
    step: [Reg<Bit>; 3],
    target: [DFF<Target>; 3],
    /// The order whose packet is being read, and the one that leaves.
    order_read: [DFF<TaskOrder>; 2],
    leaves: Reg<Bit>,
    leaves_direct: Reg<Bit>,
    leaves_for: DFF<Target>,
    cycle: Reg<Bits<32>>,
    placement_orders: Fifo<PlacementOrder, 10>,
    state: Reg<Emitter>,
    current: DFF<PlacementOrder>,
    /// A placement was emitted: the next turn is the fast path's.
    gap: Reg<Bit>,
    output: Slice<PlacementDesc>,
    _home_mask: u64,
    _clusters: u64,
    /// Where tasks without a packet begin, as a power of two.
    _bare_shift: u64,
}

/// Entries of packets, by head cell, and as many of tasks without a packet, by slot.
pub fn bare_base(config: &Config) -> usize {
    config.cells().max(config.live_messages).next_power_of_two()
}

impl Dispatch {
    /// For the HPUs, contexts and cells of `config`. UltraRAM holds what is kept of packets and tasks where there is any.
    pub fn new(config: &Config) -> Self {
        if let Err(sentence) = config.validate() {
            panic!("Dispatch: {sentence}");
        }
        let style = if config.has_ultra_ram() { RamStyle::Ultra } else { RamStyle::sparing(config.cells()) };
        let half = bare_base(config);
        Self {
            queues: TaskQueues::new(config),
            share: FairShare::new(config),
            hpus: HpuChoice::new(config),
            packets: SdpMemory::with_depth(style, 2, 2 * half),
            terms: SdpMemory::with_depth(style, 2, config.cells()),
            last_cluster: Reg::new(bits::<3>(config.clusters as u64 - 1)),
            placement_orders: Fifo::with_depth(RamStyle::sparing(config.cells()), config.cells()),
            _home_mask: config.clusters.next_power_of_two() as u64 - 1,
            _clusters: config.clusters as u64,
            _bare_shift: half.trailing_zeros() as u64,
            ..Self::blank()
        }
    }
}

#[hdl]
impl Dispatch {
    fn update(&mut self) {
        self.cycle.d.next = self.cycle.q.val() + 1;
        let idle = self.state.q.val() == Emitter::Idle;
        // A queued placement takes one turn, so that it finds a cycle in which no task's packet is read.
        let placement_waits = self.placement_orders.read.valid.val() & !self.gap.q.val();
        let start_placement = idle & placement_waits & !self.output.read.valid.val();
        let fetch = (self.state.q.val() == Emitter::Fetch) & !self.step[1].q.val();
        self.install();
        self.choose(start_placement);
        self.request_hpu(fetch);
        self.pick();
        self.access_packets(idle, fetch);
        self.emit(idle, placement_waits, start_placement, fetch);
    }

    /// Policies and ends.
    fn install(&mut self) {
        let policy = self.policy.val();
        let ended = self.ended_task.val();
        self.hpus.core_mask.next = policy.core_mask;
        self.hpus.policy_index.next = self.policy.index.val();
        self.hpus.policy_valid.next = self.policy.valid.val();
        self.hpus.room.next = self.room.val();
        self.hpus.ended.next = self.ended.val();
        self.hpus.ended_cluster.next = ended.cluster;
        self.hpus.ended_hpu.next = ended.hpu;
        self.share.weight.next = policy.weight;
        self.share.policy_index.next = self.policy.index.val();
        self.share.policy_valid.next = self.policy.valid.val();
        self.share.ended.next = self.ended.val();
        self.share.ended_context.next = ended.context;
        self.share.ended_pkt.next = self.index_of(ended.pkt, ended.kind.all());
        self.share.ended_cycles.next = ended.cycles;
    }

    /// Chooses a context.
    fn choose(&mut self, start_placement: Bit) {
        let backlog = self.queues.backlog.val();
        let later = self.later.q.val();
        let eligible = self.hpus.eligible.val();
        let eligible_funded = self.hpus.eligible_funded.val();
        let runnable = backlog & eligible;
        let funded = backlog & eligible_funded;
        self.hpus.funded.next = self.share.funded.val();
        // A context that is alone needs no funds.
        self.at_most_one.d.next = !(runnable & (runnable - 1)).any();
        let unfunded = self.at_most_one.q.val() & !funded.any();
        let next_in_turn = if unfunded { (runnable & later).any() } else { (funded & later).any() };
        // One search among the contexts; whether there are any is decided beside it.
        let allowed = (eligible_funded | (eligible & repeat::<16>(unfunded))) & backlog;
        let selected = first_set::<4, 16>(allowed & (later | repeat::<16>(!next_in_turn)));
        let goes = (funded.any() | (self.at_most_one.q.val() & runnable.any())) & !start_placement;
        self.chosen.d.next = goes;
        self.chosen_context.d.next = selected;
        self.later.load(goes, bits::<16>(0xFFFE) << selected);
        self.share.backlog.next = self.queues.backlog.val();
        // High also when no context can go, since the round is over when one can, and when none waits, so that debts are forgiven.
        let starved = !(backlog & self.share.funded.val()).any();
        self.share.starved.next = (runnable.any() & !funded.any()) | starved;
        self.share.served.next = funded.any();
    }

    /// Requests an HPU for the chosen context, else ahead of an order.
    fn request_hpu(&mut self, fetch: Bit) {
        let chosen = self.chosen.q.val();
        let moves = chosen | self.requesting.q.val() | self.step[0].q.val() | self.step[1].q.val();
        let prefetch = self.prefetch.val();
        let low = prefetch.slot.get_bits::<3>(0) & bits::<3>(self._home_mask);
        let mut home: Bits<3> = low;
        if bit_cast::<4, 3>(low) >= bits::<4>(self._clusters) {
            home = bit_cast::<3, 4>(bit_cast::<4, 3>(low) - bits::<4>(self._clusters));
        }
        let request_context = if chosen { self.chosen_context.q.val() } else { prefetch.context };
        self.hpus.request.next = true;
        self.hpus.request_context.next = request_context;
        // The HPU that is found is late, so the step to the next cluster is made here.
        let last_cluster = self.last_cluster.q.val();
        let turn = if last_cluster == bits::<3>(self._clusters - 1) { bits::<3>(0) } else { last_cluster + 1 };
        self.hpus.from.next = if chosen { turn } else { home };
        self.requesting.d.next = chosen;
        self.requesting_direct.d.next = !moves & !fetch;
        self.requested_context.d.next = request_context;
    }

    /// Gives the HPU a task: its order is read, then its packet; ahead of an order the packet was read with the request.
    fn pick(&mut self) {
        let order = self.order.val();
        let found = self.hpus.found.val();
        let direct = self.task_push.val()
            & self.requesting_direct.q.val()
            & !self.queues.backlog.val().any()
            & (order.context == self.requested_context.q.val())
            & found;
        let task_order = TaskOrder {
            pkt: order.pkt,
            slot: order.slot,
            kind: order.kind,
            dropped: order.dropped,
            flow_control: order.flow_control,
        };
        self.queues.push.next = self.task_push.val() & !direct;
        self.queues.order.next = task_order;
        self.queues.push_context.next = order.context;
        self.queues.queue.next = self.requested_context.q.val();
        let pops = self.requesting.q.val() & found & self.queues.has_task.val();
        let taken = pops | direct;
        self.queues.pop.next = pops;
        self.hpus.accept.next = taken;
        self.share.charge.next = taken;
        self.share.charge_context.next = self.requested_context.q.val();
        self.last_cluster.load(taken, self.hpus.cluster.val());

        let picked = Target { cluster: self.hpus.cluster.val(), hpu: self.hpus.hpu.val(), cost: bits::<18>(0) };
        self.step[0].d.next = pops;
        self.step[1].d.next = self.step[0].q.val();
        self.step[2].d.next = self.step[1].q.val();
        self.target[0].d.next = picked;
        self.target[1].d.next = self.target[0].q.val();
        self.target[1].d.next.cost = self.share.cost.val();
        self.target[2].d.next = self.target[1].q.val();
        self.order_read[0].d.next = self.queues.popped.val();
        self.order_read[1].d.next = if direct { task_order } else { self.order_read[0].q.val() };
        self.leaves.d.next = self.step[2].q.val() | direct;
        self.leaves_direct.d.next = direct;
        self.leaves_for.d.next = if direct { picked } else { self.target[2].q.val() };
        let leaving = self.order_read[1].q.val();
        let target = self.leaves_for.q.val();
        self.share.sent.next = self.leaves.q.val();
        self.share.sent_pkt.next = self.index_of(leaving.pkt, leaving.kind.all());
        self.share.sent_cost.next = if self.leaves_direct.q.val() { self.share.cost.val() } else { target.cost };
        let packet = self.packets.read_data.val();
        self.task_desc.next = task_of(leaving, packet, target.cluster, target.hpu, self.cycle.q.val());
        self.task_valid.next = self.leaves.q.val();
    }

    /// Where a packet, or a task without a packet, is kept.
    fn index_of(&mut self, pkt: Bits<10>, bare: Bit) -> Bits<11> {
        bit_cast::<11, 10>(pkt) | (bit_cast::<11, 1>(bare.into()) << self._bare_shift)
    }

    /// Stores packets, and reads one for a task that leaves its queue, else for a placement, else ahead of an order.
    fn access_packets(&mut self, idle: Bit, fetch: Bit) {
        let of_task = self.store_task.val();
        let slot_index = self.index_of(bit_cast::<10, 8>(self.store_slot.val()), true);
        self.packets.write_enable.next = self.store.val() | of_task;
        self.packets.write_address.next = if of_task { slot_index } else { bit_cast::<11, 10>(self.store_pkt.val()) };
        self.packets.write_data.next =
            if of_task { stored_task(self.stored_task.val()) } else { self.store_packet.val() };
        let popped = self.queues.popped.val();
        let popped_index = self.index_of(popped.pkt, popped.kind.all());
        let prefetch = self.prefetch.val();
        let prefetch_index = self.index_of(prefetch.pkt, prefetch.bare);
        self.packets.read_enable.next = true;
        self.packets.read_address.next = if self.step[1].q.val() {
            popped_index
        } else if fetch {
            bit_cast::<11, 10>(self.current.q.val().pkt)
        } else {
            prefetch_index
        };

        let redirects = self.redirect.val();
        self.terms.write_enable.next = self.store.val() | redirects;
        self.terms.write_address.next = if redirects { self.order.val().pkt } else { self.store_pkt.val() };
        self.terms.write_data.next = if redirects {
            pack(self.redirection.val())
        } else {
            bit_cast::<TERMS_BITS, PACKET_TERMS_BITS>(pack(self.store_terms.val()))
        };
        self.terms.read(!idle, self.current.q.val().pkt);
    }

    /// Queued placements, and fast ones between them.
    fn emit(&mut self, idle: Bit, placement_waits: Bit, start_placement: Bit, fetch: Bit) {
        let order = self.order.val();
        let packet = self.packets.read_data.val();
        self.placement_orders.write.next = PlacementOrder {
            pkt: order.pkt,
            slot: order.slot,
            from_handler: order.from_handler,
            pending: order.pending,
            redirected: order.redirected,
        };
        self.placement_orders.write.valid.next = self.placement_push.val();
        self.placement_orders.read.ready.next = start_placement;
        match self.state.q.val() {
            Emitter::Idle => {
                self.gap.d.next = false;
                self.current.d.next = self.placement_orders.read.val();
                self.state.load(start_placement, Emitter::Fetch);
            }
            Emitter::Fetch => {
                self.state.load(fetch, Emitter::Hold);
            }
            Emitter::Hold => self.state.d.next = Emitter::Emit,
            _ => {
                self.state.d.next = Emitter::Idle;
                self.gap.d.next = true;
            }
        }

        // While a queued placement waits or is being built, fast ones wait, and the output, once empty, stays empty.
        let busy = placement_waits | !idle;
        let emit_placement = self.state.q.val() == Emitter::Emit;
        let current = self.current.q.val();
        let kept = self.terms.read_data.val();
        let terms = unpack::<PlacementTerms, PACKET_TERMS_BITS>(kept.get_bits::<PACKET_TERMS_BITS>(0));
        let placed = placement_of(current, true, packet, terms);
        self.output.write.next = if !emit_placement {
            self.fast.val()
        } else if current.redirected {
            redirected_to(unpack::<Redirection, TERMS_BITS>(kept), placed)
        } else {
            placed
        };
        self.output.write.valid.next = emit_placement | (self.fast.valid.val() & !busy);
        self.fast.ready.next = self.output.write.ready.val() & !busy;
        self.output.read.join(&mut self.placement);
    }
}
