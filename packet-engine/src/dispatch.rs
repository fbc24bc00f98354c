//! Turns orders into descriptors: tasks to the HPU array, placements to the RVMA engine.
//!
//! The scheduler decides in a few cycles and never waits for the array or for host memory: what cannot leave at once is kept
//! here as an [`Order`], and its descriptor is built from the packet's stored fields when there is room. A packet has at most
//! one task and one placement under way and a message at most one completion, so the queues (2048 and 1024 orders) never
//! overflow.
//!
//! | ports | neighbour |
//! |---|---|
//! | in `store`, `store_pkt`, `store_packet` | scheduler: remember a packet |
//! | in `ahead`, `order`, `task_push`, `place_push` | scheduler: an order, and 2 cycles before it its packet, for the short way |
//! | in `fast`, `fast_valid` / out `fast_ready` | packets that need no scheduling, straight to `placement` |
//! | out `task_desc`, `task_valid` / in `task_ready` | HPU array |
//! | out `placement`, `placement_valid` / in `placement_ready` | RVMA engine |
//!
//! Latency: an ordered task is valid 1 cycle later when nothing else waits, else 7 cycles after its turn comes; an ordered
//! placement 7 cycles; a fast one 1 cycle. Tasks leave in the order of their orders, and so do placements. Rate: one fast
//! placement per cycle; one queued order per 4 cycles. A full array holds up no placement, a slow host no task. Queued
//! placements let at least one fast one through between two of theirs.

use crate::message::{placement_of, task_of, Order, StoredPacket};
use spindle_blocks::ram::{RamStyle, SdpMemory};
use spindle_blocks::{Fifo, PlacementDesc, Slice, TaskDesc};
use spindle_verilog::prelude::*;

/// What the emitter does.
#[derive(LogicState, Copy, Clone, Debug, PartialEq)]
enum Emitter {
    /// Looks for an order.
    Idle,
    /// The packet's fields are being read.
    Fetch,
    /// They are at the memory's output register at the end of this cycle.
    Hold,
    /// The descriptor goes into its output register.
    Emit,
}

/// See the head of this file.
#[derive(LogicBlock)]
pub struct Dispatch {
    #[allow(missing_docs)]
    pub clock: Signal<In, Clock>,
    #[allow(missing_docs)]
    pub reset: Signal<In, Bit>,
    /// Remember `store_packet`.
    pub store: Signal<In, Bit>,
    /// Under this head cell.
    pub store_pkt: Signal<In, Bits<10>>,
    /// Fields of the packet.
    pub store_packet: Signal<In, StoredPacket>,
    /// What to do.
    pub order: Signal<In, Order>,
    /// Packet of the order that may come in 2 cycles.
    pub ahead: Signal<In, Bits<10>>,
    /// `order` is a task.
    pub task_push: Signal<In, Bit>,
    /// `order` is a placement.
    pub place_push: Signal<In, Bit>,
    /// Placement that needs no scheduling.
    pub fast: Signal<In, PlacementDesc>,
    /// It is offered.
    pub fast_valid: Signal<In, Bit>,
    /// It is taken.
    pub fast_ready: Signal<Out, Bit>,
    /// Task for the array.
    pub task_desc: Signal<Out, TaskDesc>,
    /// It is offered.
    pub task_valid: Signal<Out, Bit>,
    /// The array takes it.
    pub task_ready: Signal<In, Bit>,
    /// Placement for the RVMA engine.
    pub placement: Signal<Out, PlacementDesc>,
    /// It is offered.
    pub placement_valid: Signal<Out, Bit>,
    /// The RVMA engine takes it.
    pub placement_ready: Signal<In, Bit>,
    tasks: Fifo<Order, 11>,
    places: Fifo<Order, 10>,
    packets: SdpMemory<StoredPacket, 10>,
    state: Reg<Emitter>,
    current: DFF<Order>,
    placing: Reg<Bit>,
    /// A placement was emitted: the next turn is the fast path's.
    gap: Reg<Bit>,
    task_out: DFF<TaskDesc>,
    task_out_valid: Reg<Bit>,
    output: Slice<PlacementDesc>,
    _home_mask: u64,
    _clusters: u64,
}

impl Dispatch {
    /// `home` of a task spreads messages over this many clusters; 1 to 8.
    pub fn new(clusters: usize) -> Self {
        assert!(
            (1..=8).contains(&clusters),
            "Dispatch: there are 1 to 8 clusters, not {clusters}; correct the configuration"
        );
        Self {
            clock: Default::default(),
            reset: Default::default(),
            store: Default::default(),
            store_pkt: Default::default(),
            store_packet: Default::default(),
            order: Default::default(),
            ahead: Default::default(),
            task_push: Default::default(),
            place_push: Default::default(),
            fast: Default::default(),
            fast_valid: Default::default(),
            fast_ready: Default::default(),
            task_desc: Default::default(),
            task_valid: Default::default(),
            task_ready: Default::default(),
            placement: Default::default(),
            placement_valid: Default::default(),
            placement_ready: Default::default(),
            tasks: Default::default(),
            places: Default::default(),
            packets: SdpMemory::new(RamStyle::Block, 2),
            state: Default::default(),
            current: Default::default(),
            placing: Default::default(),
            gap: Default::default(),
            task_out: Default::default(),
            task_out_valid: Default::default(),
            output: Default::default(),
            _home_mask: clusters.next_power_of_two() as u64 - 1,
            _clusters: clusters as u64,
        }
    }
}

impl Logic for Dispatch {
    #[hdl]
    fn update(&mut self) {
        clocks!(self, clock, reset, tasks, places, output);
        regs!(self, clock, reset, state, placing, gap, task_out_valid);
        dffs!(self, clock, current, task_out);

        let idle = self.state.q.val() == Emitter::Idle;
        let emit = self.state.q.val() == Emitter::Emit;

        // The short way: an ordered task goes straight to its output register when no other waits.
        let queue_empty = self.tasks.level.val() == 0;
        let task_room = !self.task_out_valid.q.val() | self.task_ready.val();
        let direct = self.task_push.val() & queue_empty & idle & task_room;

        let task_waits = self.tasks.read_valid.val();
        let place_waits = self.places.read_valid.val() & !self.gap.q.val();
        let start_place = idle & place_waits & !self.output.read_valid.val();
        // The output must be free and stay so: queue_empty is false here, so no direct task comes between.
        let start_task = idle & !start_place & task_waits & !self.task_out_valid.q.val();

        self.tasks.write.next = self.order.val();
        self.tasks.write_valid.next = self.task_push.val() & !direct;
        self.tasks.read_ready.next = start_task;
        self.places.write.next = self.order.val();
        self.places.write_valid.next = self.place_push.val();
        self.places.read_ready.next = start_place;

        if idle {
            self.gap.d.next = false;
            self.placing.d.next = start_place;
            if start_place {
                self.current.d.next = self.places.read.val();
                self.state.d.next = Emitter::Fetch;
            } else if start_task {
                self.current.d.next = self.tasks.read.val();
                self.state.d.next = Emitter::Fetch;
            }
        } else {
            match self.state.q.val() {
                Emitter::Fetch => self.state.d.next = Emitter::Hold,
                Emitter::Hold => self.state.d.next = Emitter::Emit,
                _ => {
                    self.state.d.next = Emitter::Idle;
                    self.gap.d.next = self.placing.q.val();
                }
            }
        }

        self.packets.clock.next = self.clock.val();
        self.packets.write_enable.next = self.store.val();
        self.packets.write_address.next = self.store_pkt.val();
        self.packets.write_data.next = self.store_packet.val();
        self.packets.read_enable.next = true;
        // Nobody fetched 2 cycles ago if the emitter is idle now, so that the fields of an order are there.
        let fetching = self.state.q.val() == Emitter::Fetch;
        self.packets.read_address.next = if fetching { self.current.q.val().pkt } else { self.ahead.val() };

        let order = if idle { self.order.val() } else { self.current.q.val() };
        let packet = self.packets.read_data.val();
        let low = order.slot.get_bits::<3>(0) & bits::<3>(self._home_mask);
        let mut home: Bits<3> = low;
        if bit_cast::<4, 3>(low) >= bits::<4>(self._clusters) {
            home = bit_cast::<3, 4>(bit_cast::<4, 3>(low) - bits::<4>(self._clusters));
        }
        if direct | (emit & !self.placing.q.val()) {
            self.task_out.d.next = task_of(order, packet, home);
            self.task_out_valid.d.next = true;
        } else if self.task_ready.val() {
            self.task_out_valid.d.next = false;
        }
        self.task_desc.next = self.task_out.q.val();
        self.task_valid.next = self.task_out_valid.q.val();

        // While a queued placement waits or is being built, fast ones wait, and the output, once empty, stays empty.
        let busy = place_waits | (!idle & self.placing.q.val());
        let emit_place = emit & self.placing.q.val();
        self.output.write.next = if emit_place {
            placement_of(self.current.q.val(), true, self.packets.read_data.val())
        } else {
            self.fast.val()
        };
        self.output.write_valid.next = emit_place | (self.fast_valid.val() & !busy);
        self.fast_ready.next = self.output.write_ready.val() & !busy;
        self.output.read_ready.next = self.placement_ready.val();
        self.placement.next = self.output.read.val();
        self.placement_valid.next = self.output.read_valid.val();
    }
}
