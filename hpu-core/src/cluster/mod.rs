//! Cluster: a few HPUs that share L1, a loader and a read DMA. Wiring only.
//!
//! ```text
//!  task -> loader ---------> hpu[h] -> reporter -> done, fault
//!            | slots          |  |  \-> command_port[h] -> command_unit -> read DMA -> egress, dma
//!            | task_page      |  |                              \-> place, message, off_cluster_command
//!            v                v  \----> remote_router -> L2
//!  host ---> l1 <-------------+          |
//!             ^--- l1_atomics <----------+         instruction_memory -> hpu[h]
//! ```
//!
//! | neighbour | ports |
//! |---|---|
//! | dispatcher | in `task` |
//! | packet engine | out `room`: HPUs that can take a further launch; the packet engine sends a task only after that |
//! | packet buffer | in `load_data`; the dispatcher requests the packet |
//! | scheduler | out `done`; out `place` |
//! | reports | out `fault`; out `message`; in `rings_open` |
//! | off-cluster unit | out `off_cluster_command`; in `put_left`, `host_put_left`; in `enabled` |
//! | L2 copy | out `stage_request` / out `staged`; in `segment`, `segment_goes` / out `lent` |
//! | completions | in `off_cluster_done` |
//! | host writer | in `arrival`: a beat from the host or from L2 |
//! | registers | in `installed`; in `imem` |
//! | egress | out `egress` |
//! | RVMA engine | out `dma`; out `dma_data`; in `dma_done` |
//! | L2 | `l2` |
//! | telemetry | out `events`; out `rvfi[h]` if the configuration has it |
//!
//! Latencies: see [`crate::cluster::loader`], [`crate::cluster::l1`], [`crate::cluster::remote_router`],
//! [`crate::cluster::command_unit`] and [`crate::cluster::l1_read_dma`]. From a task without packet to `begun`, idle
//! cluster, same context: 4 cycles. The number of the cluster is an input, so all clusters are the same module.

pub mod amo_alu;
pub mod combine_lanes;
pub mod combiner;
pub mod command_check;
pub mod command_port;
pub mod command_rules;
pub mod command_unit;
pub mod host_arrivals;
pub mod instruction_memory;
pub mod l1;
pub mod l1_atomics;
pub mod l1_read_dma;
pub mod loader;
pub mod loader_tables;
pub mod remote_router;
pub mod reporter;
pub mod slots;
pub mod super_bank;
pub mod task_page;
pub mod task_records;

use crate::array::off_cluster_queue::OffClusterCommand;
use crate::bundles::{CodeWriteSink, HpuEvents, L2Port, TaskSink};
use crate::cluster::command_port::CommandPort;
use crate::cluster::command_unit::CommandUnit;
use crate::cluster::host_arrivals::{HostArrival, HostArrivals};
use crate::cluster::instruction_memory::InstructionMemory;
use crate::cluster::l1::L1;
use crate::cluster::l1_atomics::L1Atomics;
use crate::cluster::l1_read_dma::L1ReadDma;
use crate::cluster::loader::Loader;
use crate::cluster::remote_router::RemoteRouter;
use crate::cluster::reporter::Reporter;
use crate::cluster::slots::Slots;
use crate::cluster::task_page::TaskPage;
use crate::cluster::task_records::TaskRecords;
use crate::processor::hpu::{Hpu, HpuOptions};
use crate::processor::types::Rvfi;
use crate::types::{Fault, Issuer, Message, OffClusterDone, StageRequest};
use spindle_blocks::{replicate, BeatSink, BeatSource, Command, DmaDesc, DmaDone, PassFifo, TailedSource, TaskDone};
use spindle_contract::memory_map::{COMMAND_HANDLES, HANDLE_BITS};
use spindle_contract::params::Config;
use spindle_verilog::prelude::*;

/// The handle of this HPU whose command ends, if `ends`; none if it is another's.
#[hdl_fn]
fn handle_of(ends: Bit, issuer: Issuer, hpu: Bits<3>) -> Bits<COMMAND_HANDLES> {
    if ends & (issuer.hpu == hpu) {
        bits::<COMMAND_HANDLES>(1) << issuer.handle
    } else {
        bits::<COMMAND_HANDLES>(0)
    }
}

/// A beat of a packet on its way to L1.
#[derive(LogicStruct, Copy, Clone, Debug, Default, PartialEq)]
pub struct PacketBeat {
    /// Its bytes.
    pub data: Bits<512>,
    /// Last beat of the packet.
    pub last: Bit,
}

/// A cluster. See the module text.
#[block]
pub struct Cluster {
    /// Number of the cluster.
    pub number: Signal<In, Bits<3>>,
    /// Cycles since reset.
    pub cycle: Signal<In, Bits<64>>,
    /// Next task.
    pub task: TaskSink,
    /// HPUs that can take one task more than before.
    pub room: Signal<Out, Bits<8>>,
    /// A context that was installed: its scratchpad is to be zeroed.
    pub installed: PulseSink<Bits<4>>,
    /// Bytes of the packet.
    pub load_data: BeatSink,
    /// The end of a task.
    pub done: Source<TaskDone>,
    /// A fault.
    pub fault: Source<Fault>,
    /// Bytes for the wire.
    pub egress: TailedSource,
    /// Write to host memory.
    pub dma: Source<DmaDesc>,
    /// Its bytes.
    pub dma_data: BeatSource,
    /// End of a write to host memory, of any cluster.
    pub dma_done: PulseSink<DmaDone>,
    /// A packet to place.
    pub place: Source<Command>,
    /// Messages of handlers.
    pub message: Source<Message>,
    /// Contexts whose process has an open event ring.
    pub rings_open: Signal<In, Bits<16>>,
    /// Contexts whose packets keep as many cells as they may for reliable puts.
    pub packets_full: Signal<In, Bits<16>>,
    /// Opcodes of commands that are implemented.
    pub enabled: Signal<In, Bits<16>>,
    /// Off-cluster commands.
    pub off_cluster_command: Source<OffClusterCommand>,
    /// A put of this cluster has left the off-cluster unit.
    pub put_left: Signal<In, Bit>,
    /// A put of host memory or a get has left it.
    pub host_put_left: Signal<In, Bit>,
    /// Bytes of L2 for the stage.
    pub stage_request: Pulse<StageRequest>,
    /// The bytes are in the stage.
    pub staged: Signal<Out, Bit>,
    /// A segment that is to pass the stage.
    pub segment: PulseSink<StageRequest>,
    /// The segment gets the stage.
    pub lent: Signal<Out, Bit>,
    /// The segments before the one in the stage have begun to leave.
    pub segment_goes: Signal<In, Bit>,
    /// End of an off-cluster command of any cluster.
    pub off_cluster_done: Sink<OffClusterDone>,
    /// Beat of the host or of L2.
    pub arrival: Sink<HostArrival>,
    /// Accesses of L2.
    pub l2: L2Port,
    /// Words of code from the host.
    pub imem: CodeWriteSink,
    /// Events of the HPUs, for counters and trace.
    pub events: HpuEvents,
    /// Retired instructions of each HPU, if the configuration says so.
    pub rvfi: Vec<Signal<Out, Rvfi>>,
    hpu: Vec<Hpu>,
    command_port: Vec<CommandPort>,
    command_unit: CommandUnit,
    instruction_memory: InstructionMemory,
    /// Beats of the packet that the loader has not written to L1. All of a slot have room, so no cluster holds up the packets of
    /// the others.
    packet_arrivals: PassFifo<PacketBeat, 5>,
    host_arrivals: HostArrivals,
    l1: L1,
    atomics: L1Atomics,
    remote: RemoteRouter,
    loader: Loader,
    slots: Slots,
    task_page: TaskPage,
    records: TaskRecords,
    l1_read_dma: L1ReadDma,
    reporter: Reporter,
    /// HPUs that took launches in the last cycle.
    had_room: Reg<Bits<8>>,
    _hpus: usize,
    _rvfi: bool,
}

impl Cluster {
    /// A cluster of the given NIC.
    pub fn new(config: &Config) -> Self {
        if let Err(sentence) = config.validate() {
            panic!("Cluster: {sentence}");
        }
        let hpus = config.hpus;
        let options = HpuOptions { rvfi: config.rvfi, stack_bytes: config.stack_bytes(), ..HpuOptions::default() };
        Self {
            rvfi: if config.rvfi { replicate(hpus) } else { vec![] },
            hpu: (0..hpus).map(|_| Hpu::new(options)).collect(),
            command_port: replicate(hpus),
            instruction_memory: InstructionMemory::new(hpus, config.imem_bytes),
            l1: L1::new(hpus),
            atomics: L1Atomics::new(hpus),
            remote: RemoteRouter::new(hpus),
            loader: Loader::new(config),
            command_unit: CommandUnit::new(hpus),
            records: TaskRecords::new(config),
            reporter: Reporter::new(hpus),
            _hpus: hpus,
            _rvfi: config.rvfi,
            ..Self::blank()
        }
    }
}

#[hdl]
impl Cluster {
    fn update(&mut self) {
        self.imem.join(&mut self.instruction_memory.imem);

        // Loader.
        self.task.join(&mut self.loader.task);
        self.packet_arrivals.write.offer(
            self.load_data.valid.val(),
            PacketBeat { data: self.load_data.val(), last: self.load_data.last.val() },
        );
        self.load_data.ready.next = self.packet_arrivals.write.ready.val();
        self.loader.load_last.next = self.packet_arrivals.read.val().last;
        self.loader.load_valid.next = self.packet_arrivals.read.valid.val();
        self.packet_arrivals.read.ready.next = self.loader.load_ready.val();
        self.installed.join(&mut self.loader.installed);
        self.l1.packet_write.next = self.loader.packet_write.val();
        self.l1.packet_beat.next = self.loader.packet_beat.val();
        self.l1.packet_data.next = self.packet_arrivals.read.val().data;
        self.arrival.join(&mut self.host_arrivals.arrival);
        self.host_arrivals.write.join(&mut self.l1.host);
        let even = self.l1.packet_room[0].val();
        let odd = self.l1.packet_room[1].val();
        self.loader.packet_ready.next = if self.loader.packet_beat.val().get_bit(0) { odd } else { even };
        self.loader.page.join(&mut self.l1.page);
        self.loader.scrub.join(&mut self.l1.scrub);
        self.slots.slot.join(&mut self.loader.slot);
        self.events.loaded.next = self.loader.launch_valid.val();
        self.events.loaded_frame.next = self.loader.launch.val().frame;

        // Task page and records.
        self.task_page.desc.next = self.loader.desc.val();
        self.task_page.size.next = self.loader.packet_size.val();
        self.task_page.bound.next = self.loader.packet_bound.val();
        self.task_page.entry.next = self.loader.entry.val();
        self.task_page.hpu.next = self.loader.hpu.val();
        self.task_page.number.next = self.number.val();
        self.task_page.cycle.next = self.cycle.val().get_bits::<32>(0);
        self.l1.page_low.next = self.task_page.low.val();
        self.l1.page_high.next = self.task_page.high.val();
        self.records.write.next = self.loader.record_write.val().any();
        self.records.write_index.next = (self.loader.hpu.val(), self.loader.bank.val()).cat::<5>();
        self.records.write_limits.next = self.loader.limits.val();
        self.records.write_payload_len.next = self.loader.desc.val().payload_len;
        self.records.command_read.next = self.command_unit.looks.val();
        self.records.command_index.next = self.command_unit.index.val();
        self.command_unit.limits.next = self.records.command_limits.val();
        self.records.ending_index.next = self.reporter.index.val();
        self.reporter.ended_task.next = self.records.ended_task.val();
        self.reporter.ended.join(&mut self.slots.ended);

        // Atomics of L1, L2.
        self.remote.atomic.join(&mut self.atomics.request);
        self.atomics.hpu.next = self.remote.atomic_hpu.val();
        self.atomics.answer.join(&mut self.remote.atomic_answer);
        self.remote.atomic_answer_hpu.next = self.atomics.answer_hpu.val();
        self.atomics.access.join(&mut self.l1.guest);
        for p in 0..2 {
            self.atomics.words[p].next = self.l1.word[p].data.val();
        }
        self.l1.lock.next = self.atomics.lock.val();
        self.atomics.shared_write.next = self.l1.shared_write.val();
        self.remote.l2.join(&mut self.l2);

        // Commands.
        self.command_unit.number.next = self.number.val();
        self.command_unit.cycle.next = self.cycle.val().get_bits::<32>(0);
        self.command_unit.enabled.next = self.enabled.val();
        self.command_unit.rings_open.next = self.rings_open.val();
        self.command_unit.packets_full.next = self.packets_full.val();
        self.command_unit.place.join(&mut self.place);
        self.command_unit.message.join(&mut self.message);
        self.command_unit.off_cluster.join(&mut self.off_cluster_command);
        self.command_unit.put_left.next = self.put_left.val();
        self.command_unit.host_put_left.next = self.host_put_left.val();
        self.command_unit.stage_request.join(&mut self.stage_request);
        self.command_unit.staged.next = self.host_arrivals.staged.val();
        self.staged.next = self.host_arrivals.staged.val();
        self.segment.join(&mut self.command_unit.segment);
        self.lent.next = self.command_unit.lent.val();
        self.command_unit.segment_goes.next = self.segment_goes.val();
        self.command_unit.stage_left.next = self.l1_read_dma.stage_left.val();
        self.l1_read_dma.number.next = self.number.val();
        self.command_unit.job.join(&mut self.l1_read_dma.job);
        self.l1_read_dma.wide.join(&mut self.l1.wide);
        for g in 0..2 {
            self.l1_read_dma.data[g].next = self.l1.wide_data[g].val();
        }
        self.l1_read_dma.combined.join(&mut self.l1.combined);
        self.l1_read_dma.egress.join(&mut self.egress);
        self.l1_read_dma.dma.join(&mut self.dma);
        self.l1_read_dma.dma_data.join(&mut self.dma_data);

        // Reporter.
        self.reporter.number.next = self.number.val();
        self.reporter.done.join(&mut self.done);
        // A PLACE leaves before the end of the handler that issued it.
        self.reporter.hold.next = self.command_unit.place.valid.val();
        self.reporter.fault.join(&mut self.fault);

        // HPUs and their command ports.
        let off_cluster = self.off_cluster_done.val();
        let off_cluster_answers = self.off_cluster_done.valid.val() & (off_cluster.cluster == self.number.val());
        let mut off_cluster_taken: Bit = false;
        let host_answers = self.dma_done.valid.val() & (self.dma_done.val().issuer.cluster == self.number.val());
        let dma_issuer = self.dma_done.val().issuer;
        let host_issuer = Issuer { hpu: dma_issuer.hpu, handle: dma_issuer.handle.get_bits::<HANDLE_BITS>(0) };
        let read_end = self.host_arrivals.read_ended.val();
        let mut launch_ready: Bits<8> = bits::<8>(0);
        let mut launch_bank: Bits<16> = bits::<16>(0);
        let mut busy: Bits<8> = bits::<8>(0);
        let mut retired: Bits<8> = bits::<8>(0);
        let mut begun: Bits<8> = bits::<8>(0);
        let mut threads_begun: Bits<8> = bits::<8>(0);
        let mut ended: Bits<8> = bits::<8>(0);
        let mut used: Bit = false;
        let mut frames_begun: Bits<128> = bits::<128>(0);
        let mut frames_ended: Bits<128> = bits::<128>(0);
        for i in 0..self._hpus {
            self.hpu[i].number.next = bits::<3>(i);
            self.hpu[i].launch.offer(self.loader.launch_valid.val().get_bit(i), self.loader.launch.val());
            self.hpu[i].cycle.next = self.cycle.val();
            self.hpu[i].region.next = self.loader.region.val();
            self.hpu[i].region.index.next = self.loader.region_index.val();
            self.hpu[i].region.write.next = self.loader.region_write.val().get_bit(i);
            self.hpu[i].fetch.join(&mut self.instruction_memory.fetch[i]);
            self.hpu[i].code.join(&mut self.instruction_memory.code[i]);
            for p in 0..2 {
                self.hpu[i].l1[p].join(&mut self.l1.word[2 * i + p]);
            }
            self.hpu[i].remote.join(&mut self.remote.request[i]);
            self.hpu[i].answer.offer(self.remote.answer_valid.val().get_bit(i), self.remote.answer.val());

            self.hpu[i].port.join(&mut self.command_port[i].port);
            self.hpu[i].issue.done.next = self.command_unit.done.val().get_bit(i);
            self.hpu[i].issue.refused.next = self.command_unit.refused.val().get_bit(i);
            self.hpu[i].issue.full.next = self.command_unit.full.val().get_bit(i);
            self.hpu[i].begin.join(&mut self.command_port[i].begin);
            self.command_port[i].request.join(&mut self.command_unit.request[i]);
            self.command_port[i].request_taken.next = self.command_unit.request_taken.val().get_bit(i);
            self.command_port[i].word.next = self.command_unit.word.val();
            self.command_unit.argument[i].next = self.command_port[i].argument.val();
            self.command_unit.argument_written[i].next = self.command_port[i].argument_written.val();
            self.command_port[i].answered.next = self.command_unit.answered.val().get_bit(i);
            self.command_port[i].accept.next = self.command_unit.accept.val().get_bit(i);
            self.command_port[i].accept_packet.next = self.command_unit.accept_packet.val();
            self.command_port[i].accept_slot.next = self.command_unit.accept_slot.val();
            self.command_port[i].blocked.next = self.command_unit.blocked.val();
            self.command_port[i].probe.next = self.slots.probe.val();
            used = used | self.command_port[i].probe_used.val();

            // Commands of this HPU that end in this cycle.
            let hpu = bits::<3>(i);
            let at_wire = handle_of(self.l1_read_dma.sent.valid.val(), self.l1_read_dma.sent.val(), hpu);
            let combined = self.l1_read_dma.combine_ended.val();
            let at_combiner = handle_of(self.l1_read_dma.combine_ended.valid.val(), combined, hpu);
            let at_place = handle_of(self.command_unit.placed.valid.val(), self.command_unit.placed.val(), hpu);
            let unkept = handle_of(self.command_unit.unkept.valid.val(), self.command_unit.unkept.val(), hpu);
            let at_host = handle_of(host_answers, host_issuer, hpu);
            let by_off_cluster = off_cluster_answers & (off_cluster.issuer.hpu == hpu);
            self.command_port[i].result.valid.next = by_off_cluster & off_cluster.has_result;
            self.command_port[i].result_handle.next = off_cluster.issuer.handle;
            self.command_port[i].result.next = off_cluster.result;
            let off_cluster_ends = by_off_cluster & (!off_cluster.has_result | self.command_port[i].result.ready.val());
            off_cluster_taken = off_cluster_taken | off_cluster_ends;
            let at_off_cluster = handle_of(off_cluster_ends, off_cluster.issuer, hpu);
            let at_arrivals = handle_of(self.host_arrivals.read_ended.valid.val(), read_end.issuer, hpu);
            self.command_port[i].complete.next =
                at_wire | at_combiner | at_place | unkept | at_host | at_off_cluster | at_arrivals;
            self.command_port[i].failed.next = unkept
                | (at_host & repeat::<COMMAND_HANDLES>(self.dma_done.val().error))
                | (at_off_cluster & repeat::<COMMAND_HANDLES>(off_cluster.error))
                | (at_arrivals & repeat::<COMMAND_HANDLES>(read_end.error));

            self.hpu[i].ending.join(&mut self.reporter.ending[i]);
            launch_ready = launch_ready.replace_bit(i, self.hpu[i].launch.ready.val());
            launch_bank = launch_bank | (bit_cast::<16, 2>(self.hpu[i].launch_bank.val()) << bits::<4>(2 * i as u64));
            busy = busy.replace_bit(i, self.hpu[i].busy.val());
            retired = retired.replace_bit(i, self.hpu[i].retired.val());
            begun = begun.replace_bit(i, self.hpu[i].begin.valid.val());
            threads_begun = threads_begun.replace_bit(i, self.hpu[i].begin.thread.val());
            ended = ended.replace_bit(i, self.hpu[i].ends.val());
            frames_begun =
                frames_begun | (bit_cast::<128, 16>(self.hpu[i].begin_frame.val()) << bits::<7>(16 * i as u64));
            frames_ended =
                frames_ended | (bit_cast::<128, 16>(self.hpu[i].end_frame.val()) << bits::<7>(16 * i as u64));
        }
        self.had_room.d.next = launch_ready;
        self.room.next = launch_ready & !self.had_room.q.val();
        self.loader.launch_bank.next = launch_bank;
        self.slots.probe_used.next = used;
        self.off_cluster_done.ready.next = off_cluster_taken;
        if self._rvfi {
            for i in 0..self._hpus {
                self.rvfi[i].next = self.hpu[i].rvfi[0].val();
            }
        }
        self.events.busy.next = busy;
        self.events.retired.next = retired;
        self.events.tasks_ended.next = ended;
        self.events.commands.next = self.command_unit.issued.val();
        self.events.begun.next = begun;
        self.events.threads_begun.next = threads_begun;
        self.events.ended.next = ended;
        self.events.commanded.next = self.command_unit.issued.val();
        self.events.frames_begun.next = frames_begun;
        self.events.frames_ended.next = frames_ended;
        self.events.commanded_frame.next = self.command_unit.issued_frame.val();
    }
}
