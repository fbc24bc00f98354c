//! The HPU array: clusters, and what they share. Wiring, with three small joints (frame tags of the egress, trace lanes, cycle counter).
//!
//! ```text
//!  task -> dispatcher -> cluster[i] -> endings -> task_done_feedback
//!             ^            |  |  |  \-> egress_arbiter -> egress
//!  csr -> registers        |  |  \----> dma_router -> dma
//!             |            |  |\------> places -> place_feedback
//!             |            |  \-------> faults, prints -> registers
//!             v            v
//!             l2 <---------+ <-- load_router <-- load
//! ```
//!
//! Ports and neighbours as in `docs/interfaces.md`, block `HpuArray`. Every output towards another engine is a register or the output of a
//! FIFO or skid buffer; `task_ready` too.

use crate::cluster::Cluster;
use crate::collector::Collector;
use crate::dispatcher::Dispatcher;
use crate::dma_router::DmaRouter;
use crate::l2::L2;
use crate::load_router::LoadRouter;
use crate::processor::types::Rvfi;
use crate::registers::Registers;
use crate::telemetry::Telemetry;
use crate::types::{FaultReport, PrintPiece};
use spindle_blocks::arbiter::StreamArbiter;
use spindle_blocks::desc::{
    Command, ContextPolicy, CsrRequest, CsrResponse, DmaDesc, DmaDone, ReadRequest, TaskDesc, TaskDone,
};
use spindle_blocks::fifo::LutFifo;
use spindle_contract::params::Config;
use spindle_verilog::prelude::*;

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
    /// Register access, held until the answer.
    pub csr: Signal<In, CsrRequest>,
    /// It is taken.
    pub task_ready: Signal<Out, Bit>,
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
    /// Answer, one cycle.
    pub csr_answer: Signal<Out, CsrResponse>,
    /// A fault report waits.
    pub fault_pending: Signal<Out, Bit>,
    /// Lane 4h + k: point 5 + k of HPU h fires.
    pub trace_valid: Signal<Out, Bits<128>>,
    /// Frame of each lane.
    pub trace_tags: Signal<Out, Bits<2048>>,
    /// Retired instructions, cluster by cluster; only if the configuration says so.
    pub rvfi: Vec<Signal<Out, Rvfi>>,
    dispatcher: Dispatcher,
    clusters: Vec<Cluster>,
    load_router: LoadRouter,
    egress_arbiter: StreamArbiter,
    egress_frames: LutFifo<Bits<16>, 3>,
    dma_router: DmaRouter,
    endings: Collector<TaskDone, 4>,
    places: Collector<Command, 4>,
    faults: Collector<FaultReport, 4>,
    prints: Collector<PrintPiece, 6>,
    l2: L2,
    registers: Registers,
    telemetry: Telemetry,
    /// Cycles since reset, in two halves so that no carry is long; `wraps` = the low half is all ones.
    cycle_low: Reg<Bits<32>>,
    cycle_high: Reg<Bits<32>>,
    wraps: Reg<Bit>,
    egress_inside: Reg<Bit>,
    egress_pushed: Signal<Local, Bits<16>>,
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
            csr: Default::default(),
            task_ready: Default::default(),
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
            egress_valid: Default::default(),
            dma: Default::default(),
            dma_valid: Default::default(),
            dma_data: Default::default(),
            dma_last: Default::default(),
            dma_data_valid: Default::default(),
            csr_answer: Default::default(),
            fault_pending: Default::default(),
            trace_valid: Default::default(),
            trace_tags: Default::default(),
            rvfi: (0..retirement_ports(config)).map(|_| Default::default()).collect(),
            dispatcher: Dispatcher::new(config.clusters),
            clusters: (0..config.clusters).map(|_| Cluster::new(config)).collect(),
            load_router: LoadRouter::new(config.clusters),
            egress_arbiter: StreamArbiter::new(config.clusters),
            egress_frames: Default::default(),
            dma_router: DmaRouter::new(config.clusters),
            endings: Collector::new(config.clusters),
            places: Collector::new(config.clusters),
            faults: Collector::new(config.clusters),
            prints: Collector::new(config.clusters),
            l2: L2::new(config.l2_bytes, config.clusters, config.hpus),
            registers: Registers::new(config.total_hpus(), config.contexts),
            telemetry: Telemetry::new(config),
            cycle_low: Default::default(),
            cycle_high: Default::default(),
            wraps: Default::default(),
            egress_inside: Default::default(),
            egress_pushed: Default::default(),
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
            dma_router,
            endings,
            places,
            faults,
            prints,
            l2
        );
        clocks!(self, clock, reset, registers, telemetry);

        // Tasks in, endings out.
        self.dispatcher.task_desc.next = self.task_desc.val();
        self.dispatcher.task_valid.next = self.task_valid.val();
        self.task_ready.next = self.dispatcher.task_ready.val();
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
        self.task_done_feedback.next = self.endings.read.val();
        // A PLACE reaches the scheduler before the end of the handler that issued it; the clusters hold endings back likewise.
        let placed_before = !self.places.read_valid.val();
        self.task_done_valid.next = self.endings.read_valid.val() & placed_before;
        self.endings.read_ready.next = self.task_done_ready.val() & placed_before;
        self.place_feedback.next = self.places.read.val();
        self.place_valid.next = self.places.read_valid.val();
        self.places.read_ready.next = self.place_ready.val();
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
        let full = self.faults.level.val().get_bit(4);
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
            self.dispatcher.free_hpus[i].next = self.clusters[i].free_hpus.val();
            self.dispatcher.has_idle[i].next = self.clusters[i].has_idle.val();

            self.load_router.request[i].next = self.clusters[i].load_request.val();
            self.load_router.request_valid[i].next = self.clusters[i].load_request_valid.val();
            self.clusters[i].load_request_ready.next = self.load_router.request_ready[i].val();
            self.clusters[i].load_data.next = self.load_data.val();
            self.clusters[i].load_last.next = self.load_last.val();
            self.clusters[i].load_valid.next = self.load_router.valid[i].val();
            self.load_router.ready[i].next = self.clusters[i].load_ready.val();

            self.egress_arbiter.sink_data[i].next = self.clusters[i].egress_data.val();
            self.egress_arbiter.sink_keep[i].next = self.clusters[i].egress_keep.val();
            self.egress_arbiter.sink_last[i].next = self.clusters[i].egress_last.val();
            self.egress_arbiter.sink_valid[i].next = self.clusters[i].egress_valid.val();
            self.clusters[i].egress_ready.next = self.egress_arbiter.sink_ready[i].val();

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
            // A full queue keeps the oldest reports; the newest are counted as lost and hold nobody up.
            self.clusters[i].fault_ready.next = self.faults.write_ready[i].val() | full;

            self.prints.write[i].next = self.clusters[i].print.val();
            self.prints.write_valid[i].next = self.clusters[i].print_valid.val();
            self.clusters[i].print_ready.next = self.prints.write_ready[i].val();

            self.l2.request[i].next = self.clusters[i].l2_request.val();
            self.l2.hpu[i].next = self.clusters[i].l2_hpu.val();
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
        self.load_router.load_valid.next = self.load_valid.val();
        self.load_ready.next = self.load_router.load_ready.val();

        // Frames out. The tag of a frame travels beside the arbiter's register, in the order of the frames.
        let mut moves: Bit = false;
        let mut ends: Bit = false;
        let mut frame: Bits<16> = bits::<16>(0);
        for i in 0..self._clusters {
            if self.egress_arbiter.sink_ready[i].val() & self.clusters[i].egress_valid.val() {
                moves = true;
                ends = self.clusters[i].egress_last.val();
                frame = self.clusters[i].egress_frame.val();
            }
        }
        if moves {
            self.egress_inside.d.next = !ends;
        }
        self.egress_starts.next = moves & !self.egress_inside.q.val();
        self.egress_pushed.next = frame;
        self.egress_frames.write.next = self.egress_pushed.val();
        self.egress_frames.write_valid.next = self.egress_starts.val();
        self.egress_data.next = self.egress_arbiter.source_data.val();
        self.egress_keep.next = self.egress_arbiter.source_keep.val();
        self.egress_last.next = self.egress_arbiter.source_last.val();
        self.egress_frame.next = self.egress_frames.read.val();
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
        self.l2.request[self._clusters].next = self.registers.l2_request.val();
        self.l2.hpu[self._clusters].next = bits::<3>(0);
        self.l2.valid[self._clusters].next = self.registers.l2_valid.val();
        self.registers.l2_ready.next = self.l2.ready[self._clusters].val();
        self.registers.l2_answer.next = self.l2.answer[self._clusters].val();
        self.registers.l2_answer_valid.next = self.l2.answer_valid[self._clusters].val();
        self.registers.report.next = self.faults.read.val();
        self.registers.reports.next = self.faults.level.val().get_bits::<8>(0);
        self.faults.read_ready.next = self.registers.pop.val();
        self.registers.print.next = self.prints.read.val();
        self.registers.prints.next = self.prints.level.val().get_bits::<8>(0);
        self.prints.read_ready.next = self.registers.print_pop.val();
        self.fault_pending.next = self.faults.read_valid.val();

        // Counters and trace lanes.
        let mut faulted: Bits<8> = bits::<8>(0);
        let mut lost: Bits<8> = bits::<8>(0);
        for i in 0..self._clusters {
            let reported = self.clusters[i].fault_valid.val();
            faulted = faulted.replace_bit(i, reported & (self.faults.write_ready[i].val() | full));
            lost = lost.replace_bit(i, reported & full);
            self.telemetry.busy[i].next = self.clusters[i].busy.val();
            self.telemetry.retired[i].next = self.clusters[i].retired.val();
            self.telemetry.tasks_ended[i].next = self.clusters[i].tasks_ended.val();
            self.telemetry.commands[i].next = self.clusters[i].commands.val();
            self.telemetry.print_lost[i].next = self.clusters[i].print_lost.val();
            self.telemetry.loaded[i].next = self.clusters[i].loaded.val();
            self.telemetry.loaded_frame[i].next = self.clusters[i].loaded_frame.val();
            self.telemetry.begun[i].next = self.clusters[i].begun.val();
            self.telemetry.ended[i].next = self.clusters[i].ended.val();
            self.telemetry.commanded[i].next = self.clusters[i].commanded.val();
            self.telemetry.frames_begun[i].next = self.clusters[i].frames_begun.val();
            self.telemetry.frames_ended[i].next = self.clusters[i].frames_ended.val();
            self.telemetry.frames_commanded[i].next = self.clusters[i].frames_commanded.val();
        }
        self.telemetry.faulted.next = faulted;
        self.telemetry.report_lost.next = lost;
        self.registers.totals.next = self.telemetry.totals.val();
        for i in 0..self._clusters * self._hpus {
            self.registers.hpu_busy[i].next = self.telemetry.hpu_busy[i].val();
            self.registers.hpu_tasks[i].next = self.telemetry.hpu_tasks[i].val();
        }
        self.trace_valid.next = self.telemetry.trace_valid.val();
        self.trace_tags.next = self.telemetry.trace_tags.val();
        for i in 0..self._rvfi {
            self.rvfi[i].next = self.clusters[i / self._hpus].rvfi[i % self._hpus].val();
        }
    }
}
