//! The HPU array: clusters, and what they share. Wiring, with small joints (frame tags of the egress, order of the puts, bus to L1, cycle counter).
//!
//! ```text
//!  task -> dispatcher -> cluster[i] -> endings -> task_done_feedback
//!             ^            |  |  |  \-> egress_arbiter -> egress (frames, payloads of puts)
//!  csr -> registers        |  |  \----> dma_router -> dma
//!             |            |  |\------> places -> place_feedback
//!             |            |  \-------> faults, messages -> reports -> registers, event
//!             |            |---------> far_unit -> host_read, host_atomic, put, host_put
//!             v            v  ^------- completions <- host_writer, atomic_done, put_done
//!             l2 <---------+  ^------- load_router <- load; host_writer <- host_data, stager <- l2
//! ```
//!
//! Ports and neighbours as in `docs/interfaces.md`, block `HpuArray`. Every output towards another engine is a register or the output of a
//! FIFO or skid buffer.

use crate::cluster::Cluster;
use crate::collector::Collector;
use crate::completions::Completions;
use crate::dispatcher::Dispatcher;
use crate::dma_router::DmaRouter;
use crate::far_unit::FarUnit;
use crate::host_writer::HostWriter;
use crate::l2::L2;
use crate::load_router::LoadRouter;
use crate::processor::types::Rvfi;
use crate::registers::Registers;
use crate::reports::Reports;
use crate::stager::Stager;
use crate::telemetry::Telemetry;
use crate::types::{report_of, Fault, Message};
use spindle_blocks::arbiter::StreamArbiter;
use spindle_blocks::desc::{
    Command, ContextPolicy, CsrRequest, CsrResponse, DmaDesc, DmaDone, EventDesc, HostAtomic, HostAtomicDone, HostRead,
    PutDesc, PutDone, ReadRequest, TaskDesc, TaskDone,
};
use spindle_blocks::fifo::LutFifo;
use spindle_blocks::{RamStyle, Slice};
use spindle_contract::params::Config;
use spindle_verilog::prelude::*;

/// What goes with a frame on the egress stream.
#[derive(LogicStruct, Copy, Clone, Debug, Default, PartialEq)]
pub struct EgressTag {
    /// Frame sequence number of the issuer's packet.
    pub frame: Bits<16>,
    /// It is the payload of a put,
    pub put: Bit,
    /// or a segment of context memory.
    pub segment: Bit,
}

/// The array. See the module text.
#[derive(LogicBlock)]
pub struct HpuArray {
    /// Core clock.
    pub clock: Signal<In, Clock>,
    /// Synchronous reset, active high.
    pub reset: Signal<In, Bit>,
    /// A task.
    pub task_desc: Signal<In, TaskDesc>,
    /// There is one.
    pub task_valid: Signal<In, Bit>,
    /// The ending is taken.
    pub task_done_ready: Signal<In, Bit>,
    /// The command is taken.
    pub place_ready: Signal<In, Bit>,
    /// The request is taken.
    pub load_request_ready: Signal<In, Bit>,
    /// Beat of a packet.
    pub load_data: Signal<In, Bits<512>>,
    /// Last beat of the request.
    pub load_last: Signal<In, Bit>,
    /// A beat is offered.
    pub load_valid: Signal<In, Bit>,
    /// The beat is taken.
    pub egress_ready: Signal<In, Bit>,
    /// The transfer is taken.
    pub dma_ready: Signal<In, Bit>,
    /// The beat is taken.
    pub dma_data_ready: Signal<In, Bit>,
    /// A transfer that the host has answered.
    pub dma_done_feedback: Signal<In, DmaDone>,
    /// There is one.
    pub dma_done_valid: Signal<In, Bit>,
    /// Opcodes of commands that have somebody who does them, a bit each.
    pub enabled: Signal<In, Bits<16>>,
    /// The read is taken.
    pub host_read_ready: Signal<In, Bit>,
    /// Bytes that were read, in the order of the requests.
    pub host_data: Signal<In, Bits<512>>,
    /// Last beat of a read.
    pub host_data_last: Signal<In, Bit>,
    /// With it: the host answered with an error.
    pub host_data_error: Signal<In, Bit>,
    /// The read.
    pub host_data_tag: Signal<In, HostRead>,
    /// A beat is offered.
    pub host_data_valid: Signal<In, Bit>,
    /// The atomic is taken.
    pub host_atomic_ready: Signal<In, Bit>,
    /// An atomic is over.
    pub atomic_done_feedback: Signal<In, HostAtomicDone>,
    /// There is one.
    pub atomic_done_valid: Signal<In, Bit>,
    /// The put is taken.
    pub put_ready: Signal<In, Bit>,
    /// The put of host memory is taken, or the get.
    pub host_put_ready: Signal<In, Bit>,
    /// A segment of context memory that is wanted on the egress stream.
    pub segment: Signal<In, HostRead>,
    /// There is one.
    pub segment_valid: Signal<In, Bit>,
    /// A put or get is over.
    pub put_done_feedback: Signal<In, PutDone>,
    /// There is one.
    pub put_done_valid: Signal<In, Bit>,
    /// The event is taken.
    pub array_event_ready: Signal<In, Bit>,
    /// Processes with an open event ring.
    pub rings_open: Signal<In, Bits<64>>,
    /// Register access, held until the answer.
    pub csr: Signal<In, CsrRequest>,
    /// How a task ended.
    pub task_done_feedback: Signal<Out, TaskDone>,
    /// There is one.
    pub task_done_valid: Signal<Out, Bit>,
    /// A PLACE command.
    pub place_feedback: Signal<Out, Command>,
    /// There is one.
    pub place_valid: Signal<Out, Bit>,
    /// Four bits a context, as `ContextStatus`.
    pub contexts_feedback: Signal<Out, Bits<64>>,
    /// HPUs (cluster * hpus + hpu) that can take one task more than before.
    pub room_feedback: Signal<Out, Bits<32>>,
    /// Policy of a context that is installed.
    pub policy: Signal<Out, ContextPolicy>,
    /// The context.
    pub policy_index: Signal<Out, Bits<4>>,
    /// It is installed in this cycle.
    pub policy_valid: Signal<Out, Bit>,
    /// Packet wanted.
    pub load_request: Signal<Out, ReadRequest>,
    /// There is a request.
    pub load_request_valid: Signal<Out, Bit>,
    /// The beat is taken.
    pub load_ready: Signal<Out, Bit>,
    /// Beat of a frame from a handler.
    pub egress_data: Signal<Out, Bits<512>>,
    /// Bytes that count.
    pub egress_keep: Signal<Out, Bits<64>>,
    /// Last beat of the frame.
    pub egress_last: Signal<Out, Bit>,
    /// Frame that caused it.
    pub egress_frame: Signal<Out, Bits<16>>,
    /// It is the payload of the oldest put, not a frame.
    pub egress_put: Signal<Out, Bit>,
    /// It is the oldest segment that was asked for.
    pub egress_segment: Signal<Out, Bit>,
    /// A beat is offered.
    pub egress_valid: Signal<Out, Bit>,
    /// Transfer to host memory.
    pub dma: Signal<Out, DmaDesc>,
    /// There is one.
    pub dma_valid: Signal<Out, Bit>,
    /// Its bytes.
    pub dma_data: Signal<Out, Bits<512>>,
    /// Last beat.
    pub dma_last: Signal<Out, Bit>,
    /// A beat is offered.
    pub dma_data_valid: Signal<Out, Bit>,
    /// Read of host memory.
    pub host_read: Signal<Out, HostRead>,
    /// There is one.
    pub host_read_valid: Signal<Out, Bit>,
    /// The beat is taken.
    pub host_data_ready: Signal<Out, Bit>,
    /// Atomic on host memory.
    pub host_atomic: Signal<Out, HostAtomic>,
    /// There is one.
    pub host_atomic_valid: Signal<Out, Bit>,
    /// Put of handler memory: its payload follows on the egress stream.
    pub put: Signal<Out, PutDesc>,
    /// There is one.
    pub put_valid: Signal<Out, Bit>,
    /// The segment is taken.
    pub segment_ready: Signal<Out, Bit>,
    /// Put of host memory or of context memory, or get.
    pub host_put: Signal<Out, PutDesc>,
    /// There is one.
    pub host_put_valid: Signal<Out, Bit>,
    /// Event for the host.
    pub array_event: Signal<Out, EventDesc>,
    /// There is one.
    pub array_event_valid: Signal<Out, Bit>,
    /// Answer, one cycle.
    pub csr_answer: Signal<Out, CsrResponse>,
    /// A fault report waits.
    pub fault_pending: Signal<Out, Bit>,
    /// Lane 4h + k: point 5 + k of HPU h fires.
    pub trace_valid: Signal<Out, Bits<128>>,
    /// Frame of each lane.
    pub trace_tags: Signal<Out, Bits<2048>>,
    /// Hardware thread of the handler that starts on HPU i, with its lane of point 6.
    pub trace_threads: Signal<Out, Bits<32>>,
    /// Retired instructions, cluster by cluster; only if the configuration says so.
    pub rvfi: Vec<Signal<Out, Rvfi>>,
    dispatcher: Dispatcher,
    clusters: Vec<Cluster>,
    load_router: LoadRouter,
    egress_arbiter: StreamArbiter,
    egress_frames: LutFifo<EgressTag, 3>,
    /// Clusters whose puts the initiator has taken, in that order.
    put_order: LutFifo<Bits<3>, 3>,
    dma_router: DmaRouter,
    endings: Collector<TaskDone>,
    places: Collector<Command>,
    faults: Collector<Fault>,
    messages: Collector<Message>,
    /// What has been collected. Endings wait for the scheduler, which must not keep an HPU from its next task; all others may wait where they come from.
    ended: LutFifo<TaskDone, 4>,
    placed: Slice<Command>,
    faulted: Slice<Fault>,
    said: Slice<Message>,
    reports: Reports,
    far_unit: FarUnit,
    host_writer: HostWriter,
    stager: Stager,
    completions: Completions,
    l2: L2,
    registers: Registers,
    telemetry: Telemetry,
    /// Cycles since reset, in two halves so that no carry is long; `wraps` = the low half is all ones.
    cycle_low: Reg<Bits<32>>,
    cycle_high: Reg<Bits<32>>,
    wraps: Reg<Bit>,
    egress_inside: Reg<Bit>,
    egress_pushed: Signal<Local, EgressTag>,
    bus: Signal<Local, Bits<512>>,
    egress_starts: Signal<Local, Bit>,
    dma_done_register: DFF<DmaDone>,
    dma_done_pulse: Reg<Bit>,
    room: Reg<Bits<32>>,
    _clusters: usize,
    _hpus: usize,
    _rvfi: usize,
}

/// How many retirement ports the array has: one for each HPU, or none.
pub fn retirement_ports(config: &Config) -> usize {
    if config.rvfi {
        config.total_hpus()
    } else {
        0
    }
}

impl HpuArray {
    /// The array of a (valid) configuration.
    pub fn new(config: &Config) -> Self {
        Self {
            clock: Default::default(),
            reset: Default::default(),
            task_desc: Default::default(),
            task_valid: Default::default(),
            task_done_ready: Default::default(),
            place_ready: Default::default(),
            load_request_ready: Default::default(),
            load_data: Default::default(),
            load_last: Default::default(),
            load_valid: Default::default(),
            egress_ready: Default::default(),
            dma_ready: Default::default(),
            dma_data_ready: Default::default(),
            dma_done_feedback: Default::default(),
            dma_done_valid: Default::default(),
            enabled: Default::default(),
            host_read_ready: Default::default(),
            host_data: Default::default(),
            host_data_last: Default::default(),
            host_data_error: Default::default(),
            host_data_tag: Default::default(),
            host_data_valid: Default::default(),
            host_atomic_ready: Default::default(),
            atomic_done_feedback: Default::default(),
            atomic_done_valid: Default::default(),
            put_ready: Default::default(),
            host_put_ready: Default::default(),
            segment: Default::default(),
            segment_valid: Default::default(),
            put_done_feedback: Default::default(),
            put_done_valid: Default::default(),
            array_event_ready: Default::default(),
            rings_open: Default::default(),
            csr: Default::default(),
            task_done_feedback: Default::default(),
            task_done_valid: Default::default(),
            place_feedback: Default::default(),
            place_valid: Default::default(),
            contexts_feedback: Default::default(),
            room_feedback: Default::default(),
            policy: Default::default(),
            policy_index: Default::default(),
            policy_valid: Default::default(),
            load_request: Default::default(),
            load_request_valid: Default::default(),
            load_ready: Default::default(),
            egress_data: Default::default(),
            egress_keep: Default::default(),
            egress_last: Default::default(),
            egress_frame: Default::default(),
            egress_put: Default::default(),
            egress_segment: Default::default(),
            egress_valid: Default::default(),
            dma: Default::default(),
            dma_valid: Default::default(),
            dma_data: Default::default(),
            dma_last: Default::default(),
            dma_data_valid: Default::default(),
            host_read: Default::default(),
            host_read_valid: Default::default(),
            host_data_ready: Default::default(),
            host_atomic: Default::default(),
            host_atomic_valid: Default::default(),
            put: Default::default(),
            put_valid: Default::default(),
            segment_ready: Default::default(),
            host_put: Default::default(),
            host_put_valid: Default::default(),
            array_event: Default::default(),
            array_event_valid: Default::default(),
            csr_answer: Default::default(),
            fault_pending: Default::default(),
            trace_valid: Default::default(),
            trace_tags: Default::default(),
            trace_threads: Default::default(),
            rvfi: (0..retirement_ports(config)).map(|_| Default::default()).collect(),
            dispatcher: Dispatcher::new(config),
            clusters: (0..config.clusters).map(|_| Cluster::new(config)).collect(),
            load_router: LoadRouter::new(config.clusters),
            egress_arbiter: StreamArbiter::new(config.clusters),
            egress_frames: Default::default(),
            put_order: Default::default(),
            dma_router: DmaRouter::new(config.clusters),
            endings: Collector::new(config.clusters),
            places: Collector::new(config.clusters),
            faults: Collector::new(config.clusters),
            messages: Collector::new(config.clusters),
            ended: Default::default(),
            placed: Default::default(),
            faulted: Default::default(),
            said: Default::default(),
            reports: Reports::new(RamStyle::spare(config)),
            far_unit: FarUnit::new(config.clusters),
            host_writer: HostWriter::new(config.clusters, RamStyle::spare(config)),
            stager: Stager::new(config.clusters),
            completions: Default::default(),
            l2: L2::new(config.l2_bytes, config.clusters, config.hpus),
            registers: Registers::new(config.total_hpus(), config.contexts),
            telemetry: Telemetry::new(config),
            cycle_low: Default::default(),
            cycle_high: Default::default(),
            wraps: Default::default(),
            egress_inside: Default::default(),
            egress_pushed: Default::default(),
            bus: Default::default(),
            egress_starts: Default::default(),
            dma_done_register: Default::default(),
            dma_done_pulse: Default::default(),
            room: Default::default(),
            _clusters: config.clusters,
            _hpus: config.hpus,
            _rvfi: retirement_ports(config),
        }
    }
}

impl Logic for HpuArray {
    #[hdl]
    fn update(&mut self) {
        regs!(self, clock, reset, egress_inside, dma_done_pulse, room, cycle_low, cycle_high, wraps);
        dffs!(self, clock, dma_done_register);
        clocks!(
            self,
            clock,
            reset,
            dispatcher,
            clusters,
            load_router,
            egress_arbiter,
            egress_frames,
            put_order,
            dma_router,
            endings,
            places,
            faults,
            messages,
            ended,
            placed,
            faulted,
            said,
            l2
        );
        clocks!(self, clock, reset, registers, telemetry, reports, far_unit, host_writer, stager, completions);

        // Tasks in, endings out.
        self.dispatcher.task_desc.next = self.task_desc.val();
        self.dispatcher.task_valid.next = self.task_valid.val();
        self.contexts_feedback.next = self.dispatcher.contexts_feedback.val();
        self.policy.next = self.registers.policy.val();
        self.policy_index.next = self.registers.install_index.val();
        self.policy_valid.next = self.registers.install.val();
        let mut room: Bits<32> = bits::<32>(0);
        for i in 0..self._clusters * self._hpus {
            room = room.replace_bit(i, self.clusters[i / self._hpus].room.val().get_bit(i % self._hpus));
        }
        self.room.d.next = room;
        self.room_feedback.next = self.room.q.val();
        self.ended.write.next = self.endings.read.val();
        self.ended.write_valid.next = self.endings.read_valid.val();
        self.endings.read_ready.next = self.ended.write_ready.val();
        self.placed.write.next = self.places.read.val();
        self.placed.write_valid.next = self.places.read_valid.val();
        self.places.read_ready.next = self.placed.write_ready.val();
        self.task_done_feedback.next = self.ended.read.val();
        // A PLACE reaches the scheduler before the end of the handler that issued it; the clusters hold endings back likewise.
        let placed_before = !self.placed.read_valid.val();
        self.task_done_valid.next = self.ended.read_valid.val() & placed_before;
        self.ended.read_ready.next = self.task_done_ready.val() & placed_before;
        self.place_feedback.next = self.placed.read.val();
        self.place_valid.next = self.placed.read_valid.val();
        self.placed.read_ready.next = self.place_ready.val();
        self.dma_done_register.d.next = self.dma_done_feedback.val();
        self.dma_done_pulse.d.next = self.dma_done_valid.val();

        // The cycle.
        self.cycle_low.d.next = self.cycle_low.q.val() + 1;
        self.wraps.d.next = self.cycle_low.q.val() == bits::<32>(0xFFFF_FFFE);
        if self.wraps.q.val() {
            self.cycle_high.d.next = self.cycle_high.q.val() + 1;
        }
        let cycle = (self.cycle_high.q.val(), self.cycle_low.q.val()).cat::<64>();

        // What the clusters share.
        // The bus to L1 carries packets, and between them what was read from host memory or from L2.
        let host_owns = self.host_writer.owns_bus.val();
        self.bus.next = if host_owns & self.host_writer.of_stage.val() {
            self.stager.data.val()
        } else if host_owns {
            self.host_data.val()
        } else {
            self.load_data.val()
        };
        let mut far_taken: Bit = false;
        let job = self.dispatcher.job.val();
        for i in 0..self._clusters {
            self.clusters[i].number.next = bits::<3>(i as u64);
            self.clusters[i].cycle.next = cycle;
            self.clusters[i].installed.next = self.registers.install.val();
            self.clusters[i].installed_index.next = self.registers.install_index.val();
            self.clusters[i].task_desc.next = job.task_desc;
            self.clusters[i].task_context.next = job.context;
            self.clusters[i].task_valid.next = self.dispatcher.valid[i].val();
            self.dispatcher.ready[i].next = self.clusters[i].task_ready.val();

            self.load_router.request[i].next = self.clusters[i].load_request.val();
            self.load_router.request_valid[i].next = self.clusters[i].load_request_valid.val();
            self.clusters[i].load_request_ready.next = self.load_router.request_ready[i].val();
            self.clusters[i].load_data.next = self.bus.val();
            self.clusters[i].host_write.next = self.host_writer.write[i].val();
            self.clusters[i].host_beat.next = self.host_writer.beat.val().get_bits::<10>(0);
            self.clusters[i].host_keep.next = self.host_writer.keep.val();
            self.clusters[i].host_partial.next = self.host_writer.partial.val();
            self.host_writer.ready[i].next = self.clusters[i].host_ready.val();
            self.clusters[i].enabled.next = self.enabled.val();
            self.clusters[i].rings_open.next = self.reports.rings_open.val();
            self.far_unit.word[i].next = self.clusters[i].far_word.val();
            self.far_unit.valid[i].next = self.clusters[i].far_valid.val();
            self.clusters[i].far_ready.next = self.far_unit.ready[i].val();
            self.clusters[i].put_left.next = self.far_unit.put_left.val().get_bit(i);
            self.clusters[i].host_put_left.next = self.far_unit.host_put_left.val().get_bit(i);
            self.stager.ask[i].next = self.clusters[i].stage_ask.val();
            self.stager.ask_valid[i].next = self.clusters[i].stage_valid.val();
            self.clusters[i].staged.next = self.stager.staged.val().get_bit(i);
            self.clusters[i].segment_length.next = self.stager.segment_length.val();
            self.clusters[i].segment_valid.next = self.stager.lend.val().get_bit(i);
            self.stager.lent[i].next = self.clusters[i].lent.val();
            self.clusters[i].far_done.next = self.completions.done.val();
            self.clusters[i].far_done_valid.next = self.completions.done_valid.val();
            far_taken = far_taken | self.clusters[i].far_done_ready.val();
            self.clusters[i].load_last.next = self.load_last.val();
            self.clusters[i].load_valid.next = self.load_router.valid[i].val();
            self.load_router.ready[i].next = self.clusters[i].load_ready.val();

            self.egress_arbiter.sink_data[i].next = self.clusters[i].egress_data.val();
            self.egress_arbiter.sink_last[i].next = self.clusters[i].egress_last.val();
            self.egress_arbiter.sink_tail[i].next = self.clusters[i].egress_tail.val();
            // The payload of a put waits until the initiator has its descriptor and those before it their payloads.
            let may_pass = !self.clusters[i].egress_put.val()
                | (self.put_order.read_valid.val() & (self.put_order.read.val() == bits::<3>(i as u64)));
            self.egress_arbiter.sink_valid[i].next = self.clusters[i].egress_valid.val() & may_pass;
            self.clusters[i].egress_ready.next = self.egress_arbiter.sink_ready[i].val() & may_pass;

            self.dma_router.desc[i].next = self.clusters[i].dma.val();
            self.dma_router.desc_valid[i].next = self.clusters[i].dma_valid.val();
            self.clusters[i].dma_ready.next = self.dma_router.desc_ready[i].val();
            self.dma_router.data[i].next = self.clusters[i].dma_data.val();
            self.dma_router.last[i].next = self.clusters[i].dma_last.val();
            self.dma_router.valid[i].next = self.clusters[i].dma_data_valid.val();
            self.clusters[i].dma_data_ready.next = self.dma_router.ready[i].val();
            self.clusters[i].dma_done.next = self.dma_done_register.q.val();
            self.clusters[i].dma_done_valid.next = self.dma_done_pulse.q.val();

            self.endings.write[i].next = self.clusters[i].done.val();
            self.endings.write_valid[i].next = self.clusters[i].done_valid.val();
            self.clusters[i].done_ready.next = self.endings.write_ready[i].val();
            self.places.write[i].next = self.clusters[i].place.val();
            self.places.write_valid[i].next = self.clusters[i].place_valid.val();
            self.clusters[i].place_ready.next = self.places.write_ready[i].val();
            self.faults.write[i].next = self.clusters[i].fault.val();
            self.faults.write_valid[i].next = self.clusters[i].fault_valid.val();
            self.clusters[i].fault_ready.next = self.faults.write_ready[i].val();
            self.messages.write[i].next = self.clusters[i].message.val();
            self.messages.write_valid[i].next = self.clusters[i].message_valid.val();
            self.clusters[i].message_ready.next = self.messages.write_ready[i].val();

            self.l2.request[i].next = self.clusters[i].l2_request.val();
            self.l2.hpu[i].next = self.clusters[i].l2_hpu.val();
            self.l2.second[i].next = self.clusters[i].l2_second.val();
            self.l2.valid[i].next = self.clusters[i].l2_valid.val();
            self.clusters[i].l2_ready.next = self.l2.ready[i].val();
            self.clusters[i].l2_answer.next = self.l2.answer[i].val();
            self.clusters[i].l2_answer_hpu.next = self.l2.answer_hpu[i].val();
            self.clusters[i].l2_answer_valid.next = self.l2.answer_valid[i].val();
            self.clusters[i].imem_write.next = self.registers.imem_write.val();
            self.clusters[i].imem_address.next = self.registers.imem_address.val();
            self.clusters[i].imem_data.next = self.registers.imem_data.val();
        }

        // Packets in.
        self.load_request.next = self.load_router.load_request.val();
        self.load_request_valid.next = self.load_router.load_request_valid.val();
        self.load_router.load_request_ready.next = self.load_request_ready.val();
        self.load_router.load_last.next = self.load_last.val();
        self.load_router.load_valid.next = self.load_valid.val() & !host_owns;
        self.load_ready.next = self.load_router.load_ready.val() & !host_owns;

        // Frames out. The tag of a frame travels beside the arbiter's register, in the order of the frames.
        let mut moves: Bit = false;
        let mut ends: Bit = false;
        let mut tag: EgressTag = EgressTag::default();
        for i in 0..self._clusters {
            if self.clusters[i].egress_ready.val() & self.clusters[i].egress_valid.val() {
                moves = true;
                ends = self.clusters[i].egress_last.val();
                tag = EgressTag {
                    frame: self.clusters[i].egress_frame.val(),
                    put: self.clusters[i].egress_put.val(),
                    segment: self.clusters[i].egress_segment.val(),
                };
            }
        }
        if moves {
            self.egress_inside.d.next = !ends;
        }
        self.egress_starts.next = moves & !self.egress_inside.q.val();
        self.put_order.read_ready.next = moves & ends & tag.put;
        self.stager.segment_left.next = moves & ends & tag.segment;
        self.egress_pushed.next = tag;
        self.egress_frames.write.next = self.egress_pushed.val();
        self.egress_frames.write_valid.next = self.egress_starts.val();
        self.egress_data.next = self.egress_arbiter.source_data.val();
        self.egress_keep.next = self.egress_arbiter.source_keep.val();
        self.egress_last.next = self.egress_arbiter.source_last.val();
        self.egress_frame.next = self.egress_frames.read.val().frame;
        self.egress_put.next = self.egress_frames.read.val().put;
        self.egress_segment.next = self.egress_frames.read.val().segment;
        self.egress_valid.next = self.egress_arbiter.source_valid.val();
        self.egress_arbiter.source_ready.next = self.egress_ready.val();
        self.egress_frames.read_ready.next =
            self.egress_arbiter.source_valid.val() & self.egress_ready.val() & self.egress_arbiter.source_last.val();

        // Host memory.
        self.dma.next = self.dma_router.dma.val();
        self.dma_valid.next = self.dma_router.dma_valid.val();
        self.dma_router.dma_ready.next = self.dma_ready.val();
        self.dma_data.next = self.dma_router.dma_data.val();
        self.dma_last.next = self.dma_router.dma_last.val();
        self.dma_data_valid.next = self.dma_router.dma_data_valid.val();
        self.dma_router.dma_data_ready.next = self.dma_data_ready.val();

        // Registers.
        self.registers.csr.next = self.csr.val();
        self.csr_answer.next = self.registers.csr_answer.val();
        self.dispatcher.staged.next = self.registers.staged.val();
        self.dispatcher.install.next = self.registers.install.val();
        self.dispatcher.install_index.next = self.registers.install_index.val();
        self.dispatcher.active.next = self.registers.active.val();
        // The host and the stager share a port of L2; the number of the HPU tells their answers apart.
        let by_host = self.registers.l2_valid.val();
        self.l2.request[self._clusters].next =
            if by_host { self.registers.l2_request.val() } else { self.stager.l2_request.val() };
        self.l2.hpu[self._clusters].next = if by_host { bits::<3>(0) } else { bits::<3>(1) };
        self.l2.second[self._clusters].next = false;
        self.l2.valid[self._clusters].next = by_host | self.stager.l2_valid.val();
        let l2_ready = self.l2.ready[self._clusters].val();
        self.registers.l2_ready.next = l2_ready;
        self.stager.l2_ready.next = l2_ready & !by_host;
        let to_stager = self.l2.answer_hpu[self._clusters].val().get_bit(0);
        self.registers.l2_answer.next = self.l2.answer[self._clusters].val();
        self.registers.l2_answer_valid.next = self.l2.answer_valid[self._clusters].val() & !to_stager;
        self.stager.l2_answer.next = self.l2.answer[self._clusters].val();
        self.stager.l2_answer_valid.next = self.l2.answer_valid[self._clusters].val() & to_stager;
        self.registers.report.next = self.reports.queued_fault.val();
        self.registers.reports.next = self.reports.faults.val();
        self.reports.fault_pop.next = self.registers.pop.val();
        self.registers.print.next = self.reports.queued_print.val();
        self.registers.prints.next = self.reports.prints.val();
        self.reports.print_pop.next = self.registers.print_pop.val();
        self.fault_pending.next = self.reports.fault_pending.val();

        // Faults and messages.
        self.faulted.write.next = self.faults.read.val();
        self.faulted.write_valid.next = self.faults.read_valid.val();
        self.faults.read_ready.next = self.faulted.write_ready.val();
        self.reports.fault.next = report_of(self.faulted.read.val());
        self.reports.fault_valid.next = self.faulted.read_valid.val();
        self.faulted.read_ready.next = self.reports.fault_ready.val();
        self.said.write.next = self.messages.read.val();
        self.said.write_valid.next = self.messages.read_valid.val();
        self.messages.read_ready.next = self.said.write_ready.val();
        self.reports.message.next = self.said.read.val();
        self.reports.message_valid.next = self.said.read_valid.val();
        self.said.read_ready.next = self.reports.message_ready.val();
        self.reports.policy.next = self.registers.policy.val();
        self.reports.policy_index.next = self.registers.install_index.val();
        self.reports.policy_valid.next = self.registers.install.val();
        self.reports.processes_open.next = self.rings_open.val();
        self.array_event.next = self.reports.record.val();
        self.array_event_valid.next = self.reports.record_valid.val();
        self.reports.record_ready.next = self.array_event_ready.val();

        // Commands that are done outside.
        self.far_unit.policy.next = self.registers.policy.val();
        self.far_unit.policy_index.next = self.registers.install_index.val();
        self.far_unit.policy_valid.next = self.registers.install.val();
        self.host_read.next = self.far_unit.host_read.val();
        self.host_read_valid.next = self.far_unit.host_read_valid.val();
        self.far_unit.host_read_ready.next = self.host_read_ready.val();
        self.host_atomic.next = self.far_unit.host_atomic.val();
        self.host_atomic_valid.next = self.far_unit.host_atomic_valid.val();
        self.far_unit.host_atomic_ready.next = self.host_atomic_ready.val();
        self.far_unit.atomic_ended.next = self.completions.atomic_ended.val();
        self.far_unit.context_put_ended.next = self.put_done_valid.val() & self.put_done_feedback.val().of_context;
        self.registers.context_puts.next = self.far_unit.context_puts.val();
        // A put is offered while its cluster's number has a place in the order.
        let ordered = self.put_order.write_ready.val();
        self.put.next = self.far_unit.put.val();
        self.put_valid.next = self.far_unit.put_valid.val() & ordered;
        self.far_unit.put_ready.next = self.put_ready.val() & ordered;
        self.put_order.write.next = self.far_unit.put.val().cluster;
        self.put_order.write_valid.next = self.far_unit.put_valid.val() & self.put_ready.val();
        self.host_put.next = self.far_unit.host_put.val();
        self.host_put_valid.next = self.far_unit.host_put_valid.val();
        self.far_unit.host_put_ready.next = self.host_put_ready.val();
        self.host_writer.asked.next = self.far_unit.host_read_valid.val() & self.host_read_ready.val();
        self.host_writer.place.next = self.far_unit.place.val();
        self.host_writer.host_last.next = self.host_data_last.val();
        self.host_writer.host_error.next = self.host_data_error.val();
        self.host_writer.host_tag.next = self.host_data_tag.val();
        self.host_writer.host_valid.next = self.host_data_valid.val();
        self.host_data_ready.next = self.host_writer.host_ready.val();
        self.host_writer.load_valid.next = self.load_valid.val();
        self.host_writer.stage_valid.next = self.stager.beat_valid.val();
        self.host_writer.stage_cluster.next = self.stager.cluster.val();
        self.host_writer.stage_beat.next = self.stager.beat.val();
        self.stager.beat_ready.next = self.host_writer.stage_ready.val();
        self.stager.segment.next = self.segment.val();
        self.stager.segment_valid.next = self.segment_valid.val();
        self.segment_ready.next = self.stager.segment_ready.val();
        self.stager.store.next = self.host_data.val();
        self.stager.store_beat.next = self.host_writer.beat.val();
        self.stager.store_bytes.next = self.host_writer.bytes.val();
        self.stager.store_last.next = self.host_data_last.val();
        self.stager.store_valid.next = self.host_writer.store_valid.val();
        self.host_writer.store_ready.next = self.stager.store_ready.val();
        self.completions.read_done.next = self.host_writer.done.val();
        self.completions.read_done_valid.next = self.host_writer.done_valid.val();
        self.host_writer.done_ready.next = self.completions.read_done_ready.val();
        self.completions.atomic_done.next = self.atomic_done_feedback.val();
        self.completions.atomic_done_valid.next = self.atomic_done_valid.val();
        self.completions.put_done.next = self.put_done_feedback.val();
        self.completions.put_done_valid.next = self.put_done_valid.val();
        self.completions.done_ready.next = far_taken;

        // Counters and trace lanes.
        for i in 0..self._clusters {
            self.telemetry.busy[i].next = self.clusters[i].busy.val();
            self.telemetry.retired[i].next = self.clusters[i].retired.val();
            self.telemetry.tasks_ended[i].next = self.clusters[i].tasks_ended.val();
            self.telemetry.commands[i].next = self.clusters[i].commands.val();
            self.telemetry.loaded[i].next = self.clusters[i].loaded.val();
            self.telemetry.loaded_frame[i].next = self.clusters[i].loaded_frame.val();
            self.telemetry.begun[i].next = self.clusters[i].begun.val();
            self.telemetry.threads_begun[i].next = self.clusters[i].threads_begun.val();
            self.telemetry.ended[i].next = self.clusters[i].ended.val();
            self.telemetry.commanded[i].next = self.clusters[i].commanded.val();
            self.telemetry.frames_begun[i].next = self.clusters[i].frames_begun.val();
            self.telemetry.frames_ended[i].next = self.clusters[i].frames_ended.val();
            self.telemetry.commanded_frame[i].next = self.clusters[i].commanded_frame.val();
        }
        self.telemetry.faulted.next = self.reports.faulted.val();
        self.telemetry.report_lost.next = self.reports.fault_lost.val();
        self.telemetry.print_lost.next = self.reports.print_lost.val();
        self.registers.count_at.next = self.telemetry.count_at.val();
        self.registers.count.next = self.telemetry.count.val();
        self.trace_valid.next = self.telemetry.trace_valid.val();
        self.trace_tags.next = self.telemetry.trace_tags.val();
        self.trace_threads.next = self.telemetry.trace_threads.val();
        for i in 0..self._rvfi {
            self.rvfi[i].next = self.clusters[i / self._hpus].rvfi[i % self._hpus].val();
        }
    }
}
