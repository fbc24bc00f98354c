//! The HPU array: clusters, and what they share. Wiring, with four small joints: frame tags of the egress, order of the
//! puts, bus to L1, cycle counter.
//!
//! ```text
//!  task -> dispatcher -> cluster[i] -> ending_mux -> end_order -> task_done
//!             ^            |  |  |  \-> egress_arbiter -> egress (frames, payloads of puts)
//!  csr -> registers        |  |  \----> dma_router -> dma      (context_counts adds up what ending_mux passes on)
//!             |            |  |\------> place_mux -> end_order -> place
//!             |            |  \-------> fault_mux, message_mux -> reports -> registers, array_event
//!             |            |---------> off_cluster_unit -> host_read, host_atomic, put, host_put
//!             v            v  ^------- completions <- host_writer, atomic_done, put_done
//!             l2 <---------+  ^------- load_router <- load; host_writer <- host_data, l2_copy <- l2
//! ```
//!
//! Ports and neighbours: `docs/interfaces.md`, block `HpuArray`. Every output towards another engine is a register or
//! the output of a FIFO or skid buffer.

pub mod completions;
pub mod context_counts;
pub mod context_table;
pub mod dispatcher;
pub mod dma_router;
pub mod end_order;
pub mod host_writer;
pub mod l2;
pub mod l2_bank;
pub mod l2_copy;
pub mod load_router;
pub mod off_cluster_queue;
pub mod off_cluster_unit;
pub mod reports;
pub mod rr_arbiter4;
pub mod rr_mux;
pub mod tally;
pub mod telemetry;

use crate::array::completions::Completions;
use crate::array::context_counts::ContextCounts;
use crate::array::dispatcher::Dispatcher;
use crate::array::dma_router::DmaRouter;
use crate::array::end_order::EndOrder;
use crate::array::host_writer::HostWriter;
use crate::array::l2::L2;
use crate::array::l2_copy::L2Copy;
use crate::array::load_router::LoadRouter;
use crate::array::off_cluster_unit::OffClusterUnit;
use crate::array::reports::Reports;
use crate::array::rr_mux::RrMux;
use crate::array::telemetry::Telemetry;
use crate::cluster::host_arrivals::HostArrival;
use crate::cluster::Cluster;
use crate::processor::types::Rvfi;
use crate::registers::Registers;
use crate::types::{report_of, Fault, Message};
use spindle_blocks::{
    replicate, BeatSink, BeatSource, Command, CsrRequest, CsrResponse, DmaDesc, DmaDone, EgressSource, EventDesc,
    HostAtomic, HostAtomicDone, HostRead, LutFifo, PolicySource, PutDesc, PutDone, RamStyle, ReadDataSink, ReadRequest,
    Slice, StreamArbiter, TaskDesc, TaskDone,
};
use spindle_contract::params::Config;
use spindle_verilog::prelude::*;

/// What goes with a frame on the egress stream.
#[derive(LogicStruct, Copy, Clone, Debug, Default, PartialEq)]
pub struct EgressTag {
    /// Frame sequence number of the issuer's packet.
    pub frame: Bits<16>,
    /// It is the payload of a put,
    pub put: Bit,
    /// Request for a segment of context memory or of a packet, on the egress stream.
    pub segment: Bit,
    /// Checksums are inserted.
    pub checksum: Bit,
}

/// A beat of a transfer from host memory.
#[derive(LogicStruct, Copy, Clone, Debug, Default, PartialEq)]
pub struct HostBeat {
    /// Bytes, the first in bits 7:0.
    pub data: Bits<512>,
    /// Last beat of the transfer.
    pub last: Bit,
    /// With the last beat: the host answered with an error.
    pub error: Bit,
    /// The read.
    pub read: HostRead,
}

/// The array. See the module text.
#[block]
pub struct HpuArray {
    /// A task, always taken.
    pub task_desc: PulseSink<TaskDesc>,
    /// The end of a task.
    pub task_done: Source<TaskDone>,
    /// A PLACE, REDIRECT or TASK command, or a packet that is being put.
    pub place: Source<Command>,
    /// Request for a packet.
    pub load_request: Source<ReadRequest>,
    /// Beat of a packet.
    pub load_data: BeatSink,
    /// Beat of a frame from a handler.
    pub egress: EgressSource,
    /// Write to host memory.
    pub dma: Source<DmaDesc>,
    /// Its bytes.
    pub dma_data: BeatSource,
    /// A write to host memory that the host has answered.
    pub dma_done: PulseSink<DmaDone>,
    /// Opcodes of commands that are implemented, a bit each.
    pub enabled: Signal<In, Bits<16>>,
    /// Read of host memory.
    pub host_read: Source<HostRead>,
    /// Bytes that were read, in the order of the requests.
    pub host_data: ReadDataSink<HostRead>,
    /// Atomic on host memory.
    pub host_atomic: Source<HostAtomic>,
    /// End of an atomic.
    pub atomic_done: PulseSink<HostAtomicDone>,
    /// Put of handler memory: its payload follows on the egress stream.
    pub put: Source<PutDesc>,
    /// Put of host memory, of context memory or, reliably, of a packet, or get.
    pub host_put: Source<PutDesc>,
    /// A segment of context memory or of a packet that is wanted on the egress stream.
    pub segment: Sink<HostRead>,
    /// Beats of a packet for such a segment.
    pub segment_request: Source<ReadRequest>,
    /// A beat.
    pub segment_data: BeatSink,
    /// Contexts whose packets keep as many cells as they may for reliable puts.
    pub packets_full: Signal<In, Bits<16>>,
    /// End of a put or get.
    pub put_done: PulseSink<PutDone>,
    /// Event for the host.
    pub array_event: Source<EventDesc>,
    /// Processes with an open event ring.
    pub rings_open: Signal<In, Bits<64>>,
    /// Register access, held until the answer.
    pub csr: Signal<In, CsrRequest>,
    /// Four bits a context, as `ContextStatus`.
    pub context_status: Signal<Out, Bits<64>>,
    /// HPUs (cluster * hpus + hpu) that can take one task more than before.
    pub task_room: Signal<Out, Bits<32>>,
    /// Policy of a context that is installed.
    pub policy: PolicySource,
    /// Answer, one cycle.
    pub csr_answer: Signal<Out, CsrResponse>,
    /// A fault report waits.
    pub fault_pending: Signal<Out, Bit>,
    /// A piece of text waits.
    pub print_pending: Signal<Out, Bit>,
    /// Lane 4h + k: trace point 5 + k of HPU h.
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
    ending_mux: RrMux<TaskDone>,
    place_mux: RrMux<Command>,
    fault_mux: RrMux<Fault>,
    message_mux: RrMux<Message>,
    end_order: EndOrder,
    /// Collected from the clusters; they may wait at their source.
    fault_slice: Slice<Fault>,
    message_slice: Slice<Message>,
    reports: Reports,
    off_cluster_unit: OffClusterUnit,
    /// Beats from host memory. The RVMA engine is far away, and whether a cluster takes a beat is known late in a cycle. Two
    /// words, as in a skid buffer, in LUT RAM.
    host_beats: LutFifo<HostBeat, 1>,
    host_writer: HostWriter,
    l2_copy: L2Copy,
    completions: Completions,
    l2: L2,
    registers: Registers,
    telemetry: Telemetry,
    context_counts: ContextCounts,
    /// Cycles since reset, in two halves so that no carry is long; `wraps` = the low half is all ones.
    cycle_low: Reg<Bits<32>>,
    cycle_high: Reg<Bits<32>>,
    wraps: Reg<Bit>,
    egress_inside: Reg<Bit>,
    egress_pushed: Signal<Local, EgressTag>,
    bus: Signal<Local, HostArrival>,
    egress_starts: Signal<Local, Bit>,
    dma_done_register: DFF<DmaDone>,
    dma_done_pulse: Reg<Bit>,
    room: Reg<Bits<32>>,
    full: Reg<Bits<16>>,
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
            rvfi: replicate(retirement_ports(config)),
            dispatcher: Dispatcher::new(config),
            clusters: (0..config.clusters).map(|_| Cluster::new(config)).collect(),
            load_router: LoadRouter::new(config.clusters),
            egress_arbiter: StreamArbiter::new(config.clusters),
            dma_router: DmaRouter::new(config.clusters),
            ending_mux: RrMux::new(config.clusters),
            place_mux: RrMux::new(config.clusters),
            fault_mux: RrMux::new(config.clusters),
            message_mux: RrMux::new(config.clusters),
            reports: Reports::new(RamStyle::spare(config)),
            off_cluster_unit: OffClusterUnit::new(config.clusters),
            host_writer: HostWriter::new(config.clusters, RamStyle::spare(config)),
            l2_copy: L2Copy::new(config.clusters),
            l2: L2::new(config.l2_bytes, config.clusters, config.hpus),
            registers: Registers::new(config.total_hpus(), config.contexts),
            telemetry: Telemetry::new(config),
            _clusters: config.clusters,
            _hpus: config.hpus,
            _rvfi: retirement_ports(config),
            ..Self::blank()
        }
    }
}

#[hdl]
impl HpuArray {
    fn update(&mut self) {
        // Tasks in, endings out.
        self.task_desc.join(&mut self.dispatcher.task_desc);
        self.context_status.next = self.dispatcher.context_status.val();
        self.registers.policy.join(&mut self.policy);
        let mut room: Bits<32> = bits::<32>(0);
        for i in 0..self._clusters * self._hpus {
            room = room.replace_bit(i, self.clusters[i / self._hpus].room.val().get_bit(i % self._hpus));
        }
        self.room.d.next = room;
        self.task_room.next = self.room.q.val();
        self.ending_mux.read.join(&mut self.end_order.ending);
        let ends = self.ending_mux.read.valid.val() & self.end_order.ending.ready.val();
        self.context_counts.ended.offer(ends, self.ending_mux.read.val());
        // Commands of handlers, before the ends of these handlers; the clusters hold ends back likewise.
        self.place_mux.read.join(&mut self.end_order.command);
        self.end_order.place.join(&mut self.place);
        self.end_order.task_done.join(&mut self.task_done);
        self.dma_done_register.d.next = self.dma_done.val();
        self.dma_done_pulse.d.next = self.dma_done.valid.val();

        // The cycle.
        self.cycle_low.d.next = self.cycle_low.q.val() + 1;
        self.wraps.d.next = self.cycle_low.q.val() == bits::<32>(0xFFFF_FFFE_u32);
        self.cycle_high.load(self.wraps.q.val(), self.cycle_high.q.val() + 1);
        let cycle = (self.cycle_high.q.val(), self.cycle_low.q.val()).cat::<64>();

        let packet = self.load_data.val() & byte_mask::<512, 64>(self.load_router.keep.val());
        // Two buses to L1: one for packets, one for bytes read from host memory or from L2.
        let of_copy = self.host_writer.of_l2_copy.val();
        self.bus.next = HostArrival {
            data: if of_copy { self.l2_copy.data.val() } else { self.host_beats.read.val().data },
            keep: self.host_writer.keep.val(),
            beat: self.host_writer.beat.val().get_bits::<10>(0),
            last: self.host_writer.last.val(),
            of_copy,
            issuer: self.host_writer.issuer.val(),
            error: self.host_writer.error.val(),
        };
        let mut off_cluster_taken: Bit = false;
        let job = self.dispatcher.job.val();
        for i in 0..self._clusters {
            self.clusters[i].number.next = bits::<3>(i);
            self.clusters[i].cycle.next = cycle;
            self.clusters[i].installed.offer(self.registers.policy.valid.val(), self.registers.policy.index.val());
            self.clusters[i].task.desc.next = job.task_desc;
            self.clusters[i].task.context.next = job.context;
            self.clusters[i].task.valid.next = self.dispatcher.valid[i].val();
            self.dispatcher.ready[i].next = self.clusters[i].task.ready.val();

            self.clusters[i].load_data.next = packet;
            self.clusters[i].arrival.offer(self.host_writer.write[i].val(), self.bus.val());
            self.host_writer.ready[i].next = self.clusters[i].arrival.ready.val();
            self.clusters[i].enabled.next = self.enabled.val();
            self.clusters[i].rings_open.next = self.reports.rings_open.val();
            self.clusters[i].packets_full.next = self.full.q.val();
            self.clusters[i].off_cluster_command.join(&mut self.off_cluster_unit.command[i]);
            self.clusters[i].put_left.next = self.off_cluster_unit.put_left.val().get_bit(i);
            self.clusters[i].host_put_left.next = self.off_cluster_unit.host_put_left.val().get_bit(i);
            self.clusters[i].stage_request.join(&mut self.l2_copy.request[i]);
            self.l2_copy.staged[i].next = self.clusters[i].staged.val();
            self.clusters[i].segment.offer(self.l2_copy.lend.val().get_bit(i), self.l2_copy.lent_segment.val());
            self.clusters[i].segment_goes.next = self.l2_copy.goes.val().get_bit(i);
            self.l2_copy.lent[i].next = self.clusters[i].lent.val();
            self.clusters[i].off_cluster_done.offer(self.completions.done.valid.val(), self.completions.done.val());
            off_cluster_taken = off_cluster_taken | self.clusters[i].off_cluster_done.ready.val();
            self.clusters[i].load_data.last.next = self.load_data.last.val();
            self.clusters[i].load_data.valid.next = self.load_router.valid[i].val();
            self.load_router.ready[i].next = self.clusters[i].load_data.ready.val();

            self.egress_arbiter.sink_data[i].next = self.clusters[i].egress.data.val();
            self.egress_arbiter.sink_last[i].next = self.clusters[i].egress.last.val();
            self.egress_arbiter.sink_tail[i].next = self.clusters[i].egress.tail.val();
            // The payload of a put waits until the initiator has its descriptor and the payloads of the puts before it.
            let may_pass = !self.clusters[i].egress.put.val()
                | (self.put_order.read.valid.val() & (self.put_order.read.val() == bits::<3>(i)));
            self.egress_arbiter.sink_valid[i].next = self.clusters[i].egress.valid.val() & may_pass;
            self.clusters[i].egress.ready.next = self.egress_arbiter.sink_ready[i].val() & may_pass;

            self.clusters[i].dma.join(&mut self.dma_router.desc[i]);
            self.clusters[i].dma_data.join(&mut self.dma_router.data[i]);
            self.clusters[i].dma_done.offer(self.dma_done_pulse.q.val(), self.dma_done_register.q.val());

            self.clusters[i].done.join(&mut self.ending_mux.write[i]);
            self.clusters[i].place.join(&mut self.place_mux.write[i]);
            self.clusters[i].fault.join(&mut self.fault_mux.write[i]);
            self.clusters[i].message.join(&mut self.message_mux.write[i]);

            self.clusters[i].l2.join(&mut self.l2.port[i]);
            self.registers.imem.join(&mut self.clusters[i].imem);
        }

        // Packets in.
        self.dispatcher.load.join(&mut self.load_router.request);
        self.load_router.cluster.next = self.dispatcher.load_cluster.val();
        self.load_router.load_request.join(&mut self.load_request);
        self.load_router.load_last.next = self.load_data.last.val();
        self.load_router.load_valid.next = self.load_data.valid.val();
        self.load_data.ready.next = self.load_router.load_ready.val();

        // Frames out. The tag of a frame travels beside the arbiter's register, in the order of the frames.
        let mut moves: Bit = false;
        let mut ends: Bit = false;
        let mut tag: EgressTag = EgressTag::default();
        for i in 0..self._clusters {
            if self.clusters[i].egress.ready.val() & self.clusters[i].egress.valid.val() {
                moves = true;
                ends = self.clusters[i].egress.last.val();
                tag = EgressTag {
                    frame: self.clusters[i].egress.frame.val(),
                    put: self.clusters[i].egress.put.val(),
                    segment: self.clusters[i].egress.segment.val(),
                    checksum: self.clusters[i].egress.checksum.val(),
                };
            }
        }
        self.egress_inside.load(moves, !ends);
        self.egress_starts.next = moves & !self.egress_inside.q.val();
        self.put_order.read.ready.next = moves & ends & tag.put;
        self.l2_copy.segment_begins.next = self.egress_starts.val() & tag.segment;
        self.egress_pushed.next = tag;
        self.egress_frames.write.offer(self.egress_starts.val(), self.egress_pushed.val());
        self.egress.data.next = self.egress_arbiter.source.data.val();
        self.egress.keep.next = self.egress_arbiter.source.keep.val();
        self.egress.last.next = self.egress_arbiter.source.last.val();
        self.egress.frame.next = self.egress_frames.read.val().frame;
        self.egress.put.next = self.egress_frames.read.val().put;
        self.egress.segment.next = self.egress_frames.read.val().segment;
        self.egress.checksum.next = self.egress_frames.read.val().checksum;
        self.egress.valid.next = self.egress_arbiter.source.valid.val();
        self.egress_arbiter.source.ready.next = self.egress.ready.val();
        self.egress_frames.read.ready.next =
            self.egress_arbiter.source.valid.val() & self.egress.ready.val() & self.egress_arbiter.source.last.val();

        // Host memory.
        self.dma_router.dma.join(&mut self.dma);
        self.dma_router.dma_data.join(&mut self.dma_data);

        // Registers.
        self.registers.csr.next = self.csr.val();
        self.csr_answer.next = self.registers.csr_answer.val();
        self.dispatcher.staged.next = self.registers.staged.val();
        self.dispatcher.install.next = self.registers.policy.valid.val();
        self.dispatcher.install_index.next = self.registers.policy.index.val();
        self.dispatcher.active.next = self.registers.active.val();
        self.l2_copy.row.join(&mut self.l2.beat);
        self.l2_copy.row_data.next = self.l2.beat_data.val();
        self.l2_copy.row_answered.next = self.l2.beat_answered.val();
        // The host and the words that the L2 copy writes share a port of L2; the number of the HPU distinguishes their answers.
        let by_host = self.registers.l2_request.valid.val();
        self.l2.port[self._clusters].request.next =
            if by_host { self.registers.l2_request.val() } else { self.l2_copy.l2_request.val() };
        self.l2.port[self._clusters].hpu.next = if by_host { bits::<3>(0) } else { bits::<3>(1) };
        self.l2.port[self._clusters].second.next = false;
        self.l2.port[self._clusters].valid.next = by_host | self.l2_copy.l2_request.valid.val();
        let l2_ready = self.l2.port[self._clusters].ready.val();
        self.registers.l2_request.ready.next = l2_ready;
        self.l2_copy.l2_request.ready.next = l2_ready & !by_host;
        let to_l2_copy = self.l2.port[self._clusters].answer_hpu.val().get_bit(0);
        self.registers.l2_answer.next = self.l2.port[self._clusters].answer.val();
        self.registers.l2_answer.valid.next = self.l2.port[self._clusters].answer_valid.val() & !to_l2_copy;
        self.l2_copy.l2_answer.next = self.l2.port[self._clusters].answer.val();
        self.l2_copy.l2_answer.valid.next = self.l2.port[self._clusters].answer_valid.val() & to_l2_copy;
        self.reports.queued_fault.join(&mut self.registers.fault);
        self.reports.queued_print.join(&mut self.registers.print);
        self.fault_pending.next = self.reports.fault_pending.val();
        self.print_pending.next = self.reports.print_pending.val();

        // Faults and messages.
        self.fault_mux.read.join(&mut self.fault_slice.write);
        self.reports.fault.offer(self.fault_slice.read.valid.val(), report_of(self.fault_slice.read.val()));
        self.fault_slice.read.ready.next = self.reports.fault.ready.val();
        self.message_mux.read.join(&mut self.message_slice.write);
        self.message_slice.read.join(&mut self.reports.message);
        self.registers.policy.join(&mut self.reports.policy);
        self.reports.processes_open.next = self.rings_open.val();
        self.reports.record.join(&mut self.array_event);

        // Off-cluster commands.
        self.registers.policy.join(&mut self.off_cluster_unit.policy);
        self.off_cluster_unit.host_read.join(&mut self.host_read);
        self.off_cluster_unit.host_atomic.join(&mut self.host_atomic);
        self.off_cluster_unit.atomic_ended.next = self.completions.atomic_ended.val();
        self.off_cluster_unit.context_put_ended.next = self.put_done.valid.val() & self.put_done.val().of_context;
        self.registers.context_puts.next = self.off_cluster_unit.context_puts.val();
        // A put is offered while the order has room for its cluster.
        let ordered = self.put_order.write.ready.val();
        self.put.offer(self.off_cluster_unit.put.valid.val() & ordered, self.off_cluster_unit.put.val());
        self.off_cluster_unit.put.ready.next = self.put.ready.val() & ordered;
        self.put_order.write.next = self.off_cluster_unit.put.val().issuer.cluster;
        self.put_order.write.valid.next = self.off_cluster_unit.put.valid.val() & self.put.ready.val();
        self.off_cluster_unit.host_put.join(&mut self.host_put);
        self.host_writer.target.valid.next = self.off_cluster_unit.host_read.valid.val() & self.host_read.ready.val();
        self.host_writer.target.next = self.off_cluster_unit.target.val();
        self.host_beats.write.next = HostBeat {
            data: self.host_data.val(),
            last: self.host_data.last.val(),
            error: self.host_data.error.val(),
            read: self.host_data.tag.val(),
        };
        self.host_beats.write.valid.next = self.host_data.valid.val();
        self.host_data.ready.next = self.host_beats.write.ready.val();
        let host_beat = self.host_beats.read.val();
        self.host_writer.host_last.next = host_beat.last;
        self.host_writer.host_error.next = host_beat.error;
        self.host_writer.host_tag.next = host_beat.read;
        self.host_writer.host_valid.next = self.host_beats.read.valid.val();
        self.host_beats.read.ready.next = self.host_writer.host_ready.val();
        self.host_writer.copy_valid.next = self.l2_copy.beat.valid.val();
        self.host_writer.copy_cluster.next = self.l2_copy.cluster.val();
        self.host_writer.copy_beat.next = self.l2_copy.beat.val();
        self.host_writer.copy_last.next = self.l2_copy.last.val();
        self.host_writer.copy_tail.next = self.l2_copy.tail.val();
        self.l2_copy.beat.ready.next = self.host_writer.copy_ready.val();
        self.segment.join(&mut self.l2_copy.segment);
        self.l2_copy.packet_request.join(&mut self.segment_request);
        self.segment_data.join(&mut self.l2_copy.packet_data);
        self.full.d.next = self.packets_full.val();
        self.l2_copy.store.next = host_beat.data;
        self.l2_copy.store_beat.next = self.host_writer.beat.val();
        self.l2_copy.store_from.next = self.host_writer.store_from.val();
        self.l2_copy.store_end.next = self.host_writer.store_end.val();
        self.l2_copy.store_last.next = host_beat.last;
        self.l2_copy.store.valid.next = self.host_writer.store_valid.val();
        self.host_writer.store_ready.next = self.l2_copy.store.ready.val();
        self.host_writer.done.join(&mut self.completions.read_done);
        self.atomic_done.join(&mut self.completions.atomic_done);
        self.put_done.join(&mut self.completions.put_done);
        self.completions.done.ready.next = off_cluster_taken;

        // Counters and trace lanes.
        for i in 0..self._clusters {
            self.clusters[i].events.join(&mut self.telemetry.events[i]);
        }
        self.telemetry.faulted.next = self.reports.faulted.val();
        self.telemetry.report_lost.next = self.reports.fault_lost.val();
        self.telemetry.print_lost.next = self.reports.print_lost.val();
        self.registers.count_at.next = self.telemetry.count_at.val();
        self.registers.count.next = self.telemetry.count.val();
        self.context_counts.read_context.next = self.registers.context_index.val();
        self.context_counts.read_word.next = self.registers.context_word.val();
        self.registers.context_count.next = self.context_counts.count.val();
        self.trace_valid.next = self.telemetry.trace_valid.val();
        self.trace_tags.next = self.telemetry.trace_tags.val();
        self.trace_threads.next = self.telemetry.trace_threads.val();
        for i in 0..self._rvfi {
            self.rvfi[i].next = self.clusters[i / self._hpus].rvfi[i % self._hpus].val();
        }
    }
}
