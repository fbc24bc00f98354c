//! Cluster: a few HPUs that share L1, a loader and a mover. Wiring only.
//!
//! ```text
//!  task -> loader ---------> hpu[h] -> reporter -> done, fault
//!            | slots          |  |  \-> command_port[h] -> mover -> egress, dma, place
//!            | task_page      |  |                     \-> printer -> print
//!            v                v  \----> remote_router -> L2
//!            l1 <-------------+          |
//!             ^--- l1_atomics <----------+         instruction_memory -> hpu[h]
//! ```
//!
//! | neighbour | ports |
//! |---|---|
//! | dispatcher | in `task_desc`, `task_context`, `task_valid` / out `task_ready`; out `free_hpus`, `has_idle` |
//! | packet buffer | out `load_request`, `load_request_valid` / in `load_request_ready`; in `load_data`, `load_last`, `load_valid` / out `load_ready` |
//! | scheduler | out `done`, `done_valid` / in `done_ready`; out `place`, `place_valid` / in `place_ready` |
//! | registers | out `fault`, `fault_valid` / in `fault_ready`; out `print`, `print_valid` / in `print_ready`; out `print_lost`; in `installed`, `installed_index`; in `imem_write`, `imem_address`, `imem_data`; out `busy`, `retired`, `tasks_ended`, `commands` |
//! | egress | out `egress_data`, `egress_keep`, `egress_last`, `egress_frame`, `egress_valid` / in `egress_ready` |
//! | rvma | out `dma`, `dma_valid` / in `dma_ready`; out `dma_data`, `dma_last`, `dma_data_valid` / in `dma_data_ready`; in `dma_done`, `dma_done_valid` |
//! | L2 | out `l2_request`, `l2_hpu`, `l2_valid` / in `l2_ready`; in `l2_answer`, `l2_answer_hpu`, `l2_answer_valid`, in the order of the requests |
//! | trace | out `loaded`, `begun`, `ended`, `commanded` with their frames; out `rvfi[h]` if the configuration asks for it |
//!
//! Latencies: see [`crate::loader`], [`crate::l1`], [`crate::remote_router`], [`crate::command_port`] and [`crate::mover`]. From a task without packet to
//! `begun`, idle cluster, same context: 4 cycles. The number of the cluster is an input, so all clusters are the same module.

use crate::command_port::CommandPort;
use crate::instruction_memory::InstructionMemory;
use crate::l1::L1;
use crate::l1_atomics::L1Atomics;
use crate::loader::Loader;
use crate::mover::Mover;
use crate::printer::Printer;
use crate::processor::hpu::{Hpu, HpuOptions};
use crate::processor::types::{RemoteAnswer, RemoteRequest, Rvfi};
use crate::remote_router::RemoteRouter;
use crate::reporter::Reporter;
use crate::slots::Slots;
use crate::task_page::TaskPage;
use crate::task_records::TaskRecords;
use crate::types::{ContextEntry, FaultReport, PrintPiece};
use spindle_blocks::desc::{Command, DmaDesc, DmaDone, ReadRequest, TaskDesc, TaskDone};
use spindle_contract::memory_map::COMMAND_HANDLES;
use spindle_contract::params::Config;
use spindle_verilog::prelude::*;

const PLACE: u64 = spindle_contract::memory_map::command::PLACE as u64;

/// A cluster. See the module text.
#[derive(LogicBlock, Default)]
pub struct Cluster {
    /// Core clock.
    pub clock: Signal<In, Clock>,
    /// Synchronous reset, active high.
    pub reset: Signal<In, Bit>,
    /// Number of the cluster.
    pub number: Signal<In, Bits<3>>,
    /// Cycles since reset.
    pub cycle: Signal<In, Bits<64>>,
    /// Next task.
    pub task_desc: Signal<In, TaskDesc>,
    /// Its context.
    pub task_context: Signal<In, ContextEntry>,
    /// There is one.
    pub task_valid: Signal<In, Bit>,
    /// It is taken.
    pub task_ready: Signal<Out, Bit>,
    /// HPUs that can take one task more than before.
    pub room: Signal<Out, Bits<8>>,
    /// Room for tasks: HPUs that can hold one, those with nothing to do counted twice; at most 15.
    pub free_hpus: Signal<Out, Bits<4>>,
    /// An HPU with nothing to do takes a task.
    pub has_idle: Signal<Out, Bit>,
    /// A context was installed: its scratchpad is to be zeroed.
    pub installed: Signal<In, Bit>,
    /// This one.
    pub installed_index: Signal<In, Bits<4>>,
    /// Stream this packet.
    pub load_request: Signal<Out, ReadRequest>,
    /// The request stands.
    pub load_request_valid: Signal<Out, Bit>,
    /// It is taken.
    pub load_request_ready: Signal<In, Bit>,
    /// Bytes of the packet.
    pub load_data: Signal<In, Bits<512>>,
    /// Last beat.
    pub load_last: Signal<In, Bit>,
    /// A beat is offered.
    pub load_valid: Signal<In, Bit>,
    /// It is taken.
    pub load_ready: Signal<Out, Bit>,
    /// What became of a task.
    pub done: Signal<Out, TaskDone>,
    /// There is one.
    pub done_valid: Signal<Out, Bit>,
    /// It is taken.
    pub done_ready: Signal<In, Bit>,
    /// A fault.
    pub fault: Signal<Out, FaultReport>,
    /// There is one.
    pub fault_valid: Signal<Out, Bit>,
    /// It is taken.
    pub fault_ready: Signal<In, Bit>,
    /// Frame for the wire.
    pub egress_data: Signal<Out, Bits<512>>,
    /// Which bytes count.
    pub egress_keep: Signal<Out, Bits<64>>,
    /// Last beat.
    pub egress_last: Signal<Out, Bit>,
    /// Frame sequence number of the issuer's packet.
    pub egress_frame: Signal<Out, Bits<16>>,
    /// A beat is offered.
    pub egress_valid: Signal<Out, Bit>,
    /// It is taken.
    pub egress_ready: Signal<In, Bit>,
    /// A write to host memory.
    pub dma: Signal<Out, DmaDesc>,
    /// There is one.
    pub dma_valid: Signal<Out, Bit>,
    /// It is taken.
    pub dma_ready: Signal<In, Bit>,
    /// Its data.
    pub dma_data: Signal<Out, Bits<512>>,
    /// Last beat.
    pub dma_last: Signal<Out, Bit>,
    /// A beat is offered.
    pub dma_data_valid: Signal<Out, Bit>,
    /// It is taken.
    pub dma_data_ready: Signal<In, Bit>,
    /// A DMA command of any cluster has ended.
    pub dma_done: Signal<In, DmaDone>,
    /// In this cycle.
    pub dma_done_valid: Signal<In, Bit>,
    /// A packet to place.
    pub place: Signal<Out, Command>,
    /// There is one.
    pub place_valid: Signal<Out, Bit>,
    /// It is taken.
    pub place_ready: Signal<In, Bit>,
    /// What handlers print.
    pub print: Signal<Out, PrintPiece>,
    /// There is some.
    pub print_valid: Signal<Out, Bit>,
    /// It is taken.
    pub print_ready: Signal<In, Bit>,
    /// HPUs of which a piece is lost.
    pub print_lost: Signal<Out, Bits<8>>,
    /// Request of L2; never crosses a word.
    pub l2_request: Signal<Out, RemoteRequest>,
    /// Of this HPU.
    pub l2_hpu: Signal<Out, Bits<3>>,
    /// It stands.
    pub l2_valid: Signal<Out, Bit>,
    /// It is taken.
    pub l2_ready: Signal<In, Bit>,
    /// Answer of L2.
    pub l2_answer: Signal<In, RemoteAnswer>,
    /// For this HPU; the order of the answers says the same.
    pub l2_answer_hpu: Signal<In, Bits<3>>,
    /// There is one.
    pub l2_answer_valid: Signal<In, Bit>,
    /// Write a word of instruction memory.
    pub imem_write: Signal<In, Bit>,
    /// Where.
    pub imem_address: Signal<In, Bits<14>>,
    /// What.
    pub imem_data: Signal<In, Bits<32>>,
    /// HPUs in a handler.
    pub busy: Signal<Out, Bits<8>>,
    /// HPUs that execute an instruction.
    pub retired: Signal<Out, Bits<8>>,
    /// HPUs whose handler ends.
    pub tasks_ended: Signal<Out, Bits<8>>,
    /// HPUs that issued a command.
    pub commands: Signal<Out, Bits<8>>,
    /// HPUs whose packet has been loaded; one at a time.
    pub loaded: Signal<Out, Bits<8>>,
    /// Its frame.
    pub loaded_frame: Signal<Out, Bits<16>>,
    /// HPUs that fetch the first instruction of a handler.
    pub begun: Signal<Out, Bits<8>>,
    /// HPUs whose handler ends.
    pub ended: Signal<Out, Bits<8>>,
    /// HPUs that issued a command.
    pub commanded: Signal<Out, Bits<8>>,
    /// Frames of `begun`, 16 bits per HPU.
    pub frames_begun: Signal<Out, Bits<128>>,
    /// Frames of `ended`.
    pub frames_ended: Signal<Out, Bits<128>>,
    /// Frames of `commanded`.
    pub frames_commanded: Signal<Out, Bits<128>>,
    /// Retired instructions of each HPU, if the configuration says so.
    pub rvfi: Vec<Signal<Out, Rvfi>>,
    hpu: Vec<Hpu>,
    command_port: Vec<CommandPort>,
    imem: InstructionMemory,
    l1: L1,
    atomics: L1Atomics,
    remote: RemoteRouter,
    loader: Loader,
    slots: Slots,
    task_page: TaskPage,
    records: TaskRecords,
    mover: Mover,
    printer: Printer,
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
            rvfi: if config.rvfi { (0..hpus).map(|_| Default::default()).collect() } else { vec![] },
            hpu: (0..hpus).map(|_| Hpu::new(options)).collect(),
            command_port: (0..hpus).map(|_| Default::default()).collect(),
            imem: InstructionMemory::new(hpus, config.imem_bytes),
            l1: L1::new(hpus),
            atomics: L1Atomics::new(hpus),
            remote: RemoteRouter::new(hpus),
            loader: Loader::new(config),
            mover: Mover::new(hpus),
            printer: Printer::new(hpus),
            reporter: Reporter::new(hpus),
            _hpus: hpus,
            _rvfi: config.rvfi,
            ..Default::default()
        }
    }
}

impl Logic for Cluster {
    #[hdl]
    fn update(&mut self) {
        clocks!(self, clock, reset, hpu, command_port, l1, atomics, remote, loader, slots, mover, printer, reporter);
        regs!(self, clock, reset, had_room);
        self.records.clock.next = self.clock.val();
        self.imem.clock.next = self.clock.val();
        self.imem.write.next = self.imem_write.val();
        self.imem.write_address.next = self.imem_address.val();
        self.imem.write_data.next = self.imem_data.val();

        // Loader.
        self.loader.task_desc.next = self.task_desc.val();
        self.loader.task_context.next = self.task_context.val();
        self.loader.task_valid.next = self.task_valid.val();
        self.task_ready.next = self.loader.task_ready.val();
        self.free_hpus.next = self.loader.free_hpus.val();
        self.load_request.next = self.loader.load_request.val();
        self.load_request_valid.next = self.loader.load_request_valid.val();
        self.loader.load_request_ready.next = self.load_request_ready.val();
        self.loader.load_last.next = self.load_last.val();
        self.loader.load_valid.next = self.load_valid.val();
        self.load_ready.next = self.loader.load_ready.val();
        self.has_idle.next = self.loader.has_idle.val();
        self.loader.installed.next = self.installed.val();
        self.loader.installed_index.next = self.installed_index.val();
        self.l1.packet_write.next = self.loader.packet_write.val();
        self.l1.packet_beat.next = self.loader.packet_beat.val();
        self.l1.packet_data.next = self.load_data.val();
        self.loader.packet_ready.next = self.l1.packet_ready.val();
        self.l1.page_write.next = self.loader.page_write.val();
        self.l1.page_half.next = self.loader.page_half.val();
        self.l1.page_beat.next = self.loader.page_beat.val();
        self.loader.page_ready.next = self.l1.page_ready.val();
        self.l1.scrub_write.next = self.loader.scrub_write.val();
        self.l1.scrub_beat.next = self.loader.scrub_beat.val();
        self.loader.scrub_ready.next = self.l1.scrub_ready.val();
        self.loader.slot.next = self.slots.slot.val();
        self.loader.slot_available.next = self.slots.available.val();
        self.slots.take.next = self.loader.slot_take.val();
        self.loaded.next = self.loader.launch_valid.val();
        self.loaded_frame.next = self.loader.launch.val().frame;

        // Task page and records.
        self.task_page.desc.next = self.loader.desc.val();
        self.task_page.entry.next = self.loader.entry.val();
        self.task_page.hpu.next = self.loader.hpu.val();
        self.task_page.number.next = self.number.val();
        self.task_page.cycle.next = self.cycle.val().get_bits::<32>(0);
        self.l1.page_low.next = self.task_page.low.val();
        self.l1.page_high.next = self.task_page.high.val();
        self.records.write.next = self.loader.record_write.val().any();
        self.records.write_index.next = (self.loader.hpu.val(), self.loader.bank.val()).cat::<5>();
        self.records.write_origin.next = self.loader.origin.val();
        self.records.write_host.next = self.loader.host.val();
        self.records.command_index.next = self.mover.index.val();
        self.mover.origin.next = self.records.command_origin.val();
        self.mover.host.next = self.records.command_host.val();
        self.records.ending_index.next = self.reporter.index.val();
        self.reporter.origin.next = self.records.ending_origin.val();
        self.slots.ended.next = self.reporter.ended.val();
        self.slots.ended_slot.next = self.reporter.ended_slot.val();

        // Atomics of L1, L2.
        self.atomics.request.next = self.remote.atomic.val();
        self.atomics.hpu.next = self.remote.atomic_hpu.val();
        self.atomics.valid.next = self.remote.atomic_valid.val();
        self.remote.atomic_ready.next = self.atomics.ready.val();
        self.remote.atomic_answer.next = self.atomics.answer.val();
        self.remote.atomic_answer_hpu.next = self.atomics.answer_hpu.val();
        self.remote.atomic_answer_valid.next = self.atomics.answer_valid.val();
        self.atomics.answer_ready.next = self.remote.atomic_answer_ready.val();
        self.l1.atomic_read.next = self.atomics.read.val();
        self.l1.atomic_beat.next = self.atomics.beat.val();
        self.atomics.read_ready.next = self.l1.atomic_read_ready.val();
        self.atomics.wide_data.next = self.l1.wide_data.val();
        self.l1.atomic_write.next = self.atomics.write.val();
        self.l1.atomic_word.next = self.atomics.word.val();
        self.l1.atomic_data.next = self.atomics.data.val();
        self.atomics.write_ready.next = self.l1.atomic_write_ready.val();
        self.atomics.settled.next = self.l1.settled.val();
        self.l1.lock.next = self.atomics.lock.val();
        self.atomics.shared_write.next = self.l1.shared_write.val();
        self.l2_request.next = self.remote.l2_request.val();
        self.l2_hpu.next = self.remote.l2_hpu.val();
        self.l2_valid.next = self.remote.l2_valid.val();
        self.remote.l2_ready.next = self.l2_ready.val();
        self.remote.l2_answer.next = self.l2_answer.val();
        self.remote.l2_answer_valid.next = self.l2_answer_valid.val();

        // Mover and printer.
        self.mover.number.next = self.number.val();
        self.mover.cycle.next = self.cycle.val().get_bits::<32>(0);
        self.l1.mover_read.next = self.mover.read.val();
        self.l1.mover_beat.next = self.mover.beat.val();
        self.mover.read_ready.next = self.l1.mover_ready.val();
        self.mover.hold.next = self.l1.mover_hold.val();
        self.mover.data.next = self.l1.wide_data.val();
        self.print.next = self.printer.print.val();
        self.print_valid.next = self.printer.print_valid.val();
        self.printer.print_ready.next = self.print_ready.val();
        self.print_lost.next = self.printer.print_lost.val();
        self.egress_data.next = self.mover.egress_data.val();
        self.egress_keep.next = self.mover.egress_keep.val();
        self.egress_last.next = self.mover.egress_last.val();
        self.egress_frame.next = self.mover.egress_frame.val();
        self.egress_valid.next = self.mover.egress_valid.val();
        self.mover.egress_ready.next = self.egress_ready.val();
        self.dma.next = self.mover.dma.val();
        self.dma_valid.next = self.mover.dma_valid.val();
        self.mover.dma_ready.next = self.dma_ready.val();
        self.dma_data.next = self.mover.dma_data.val();
        self.dma_last.next = self.mover.dma_last.val();
        self.dma_data_valid.next = self.mover.dma_data_valid.val();
        self.mover.dma_data_ready.next = self.dma_data_ready.val();
        self.place.next = self.mover.place.val();
        self.place_valid.next = self.mover.place_valid.val();
        self.mover.place_ready.next = self.place_ready.val();

        // Reporter.
        self.reporter.number.next = self.number.val();
        self.done.next = self.reporter.done.val();
        // A PLACE leaves before the end of the handler that issued it.
        let mut placing: Bit = self.mover.place_valid.val();
        for i in 0..self._hpus {
            placing = placing
                | (self.command_port[i].command_valid.val()
                    & (self.command_port[i].command.val().opcode == bits::<4>(PLACE)));
        }
        self.reporter.hold.next = placing;
        self.done_valid.next = self.reporter.done_valid.val();
        self.reporter.done_ready.next = self.done_ready.val();
        self.fault.next = self.reporter.fault.val();
        self.fault_valid.next = self.reporter.fault_valid.val();
        self.reporter.fault_ready.next = self.fault_ready.val();

        // HPUs and their command ports.
        let host_answers = self.dma_done_valid.val() & (self.dma_done.val().cluster == self.number.val());
        let mut launch_ready: Bits<8> = bits::<8>(0);
        let mut launch_bank: Bits<16> = bits::<16>(0);
        let mut idle: Bits<8> = bits::<8>(0);
        let mut busy: Bits<8> = bits::<8>(0);
        let mut retired: Bits<8> = bits::<8>(0);
        let mut begun: Bits<8> = bits::<8>(0);
        let mut ended: Bits<8> = bits::<8>(0);
        let mut commanded: Bits<8> = bits::<8>(0);
        let mut used: Bit = false;
        let mut frames_begun: Bits<128> = bits::<128>(0);
        let mut frames_ended: Bits<128> = bits::<128>(0);
        let mut frames_commanded: Bits<128> = bits::<128>(0);
        for i in 0..self._hpus {
            self.hpu[i].number.next = bits::<3>(i as u64);
            self.hpu[i].launch.next = self.loader.launch.val();
            self.hpu[i].launch_valid.next = self.loader.launch_valid.val().get_bit(i);
            self.hpu[i].cycle.next = self.cycle.val();
            self.hpu[i].region.next = self.loader.region.val();
            self.hpu[i].region_index.next = self.loader.region_index.val();
            self.hpu[i].region_write.next = self.loader.region_write.val().get_bit(i);
            self.imem.fetch_address[i].next = self.hpu[i].fetch_address.val();
            self.imem.fetch_enable[i].next = self.hpu[i].fetch_enable.val();
            self.hpu[i].fetch_data.next = self.imem.fetch_data[i].val();
            self.imem.code_address[i].next = self.hpu[i].code_address.val();
            self.imem.code_valid[i].next = self.hpu[i].code_valid.val();
            self.hpu[i].code_ready.next = self.imem.code_ready[i].val();
            self.hpu[i].code_data.next = self.imem.code_data[i].val();
            for p in 0..2 {
                self.l1.word[2 * i + p].next = self.hpu[i].l1_request[p].val();
                self.l1.word_valid[2 * i + p].next = self.hpu[i].l1_valid[p].val();
                self.hpu[i].l1_grant[p].next = self.l1.word_grant[2 * i + p].val();
                self.hpu[i].l1_data[p].next = self.l1.word_data[2 * i + p].val();
            }
            self.remote.request[i].next = self.hpu[i].remote.val();
            self.remote.valid[i].next = self.hpu[i].remote_valid.val();
            self.hpu[i].remote_ready.next = self.remote.ready[i].val();
            self.hpu[i].answer.next = self.remote.answer.val();
            self.hpu[i].answer_valid.next = self.remote.answer_valid.val().get_bit(i);

            self.command_port[i].number.next = self.number.val();
            self.command_port[i].hpu.next = bits::<3>(i as u64);
            self.command_port[i].port.next = self.hpu[i].port.val();
            self.command_port[i].port_write.next = self.hpu[i].port_write.val();
            self.command_port[i].port_read.next = self.hpu[i].port_read.val();
            self.hpu[i].port_data.next = self.command_port[i].port_data.val();
            self.hpu[i].issue_done.next = self.command_port[i].issue_done.val();
            self.hpu[i].issue_refused.next = self.command_port[i].issue_refused.val();
            self.hpu[i].issue_full.next = self.command_port[i].issue_full.val();
            self.hpu[i].port_full.next = self.command_port[i].port_full.val();
            self.hpu[i].port_pending.next = self.command_port[i].port_pending.val();
            self.command_port[i].begins.next = self.hpu[i].begins.val();
            self.command_port[i].begin_thread.next = self.hpu[i].begin_thread.val();
            self.command_port[i].begin_bank.next = self.hpu[i].begin_bank.val();
            self.command_port[i].limits_write.next = self.loader.record_write.val().get_bit(i);
            self.command_port[i].limits_bank.next = self.loader.bank.val();
            self.command_port[i].limits.next = self.loader.limits.val();
            self.command_port[i].probe.next = self.slots.probe.val();
            used = used | self.command_port[i].probe_used.val();
            self.printer.piece[i].next = self.command_port[i].print.val();
            self.printer.valid[i].next = self.command_port[i].print_valid.val();
            self.command_port[i].print_ready.next = self.printer.ready[i].val();
            self.mover.command[i].next = self.command_port[i].command.val();
            self.mover.command_valid[i].next = self.command_port[i].command_valid.val();
            self.command_port[i].command_ready.next = self.mover.command_ready[i].val();

            // Commands of this HPU that end in this cycle.
            let by_wire = self.mover.sent.val() & (self.mover.sent_issuer.val().hpu == bits::<3>(i as u64));
            let by_place = self.mover.placed.val() & (self.mover.placed_issuer.val().hpu == bits::<3>(i as u64));
            let by_host = host_answers & (self.dma_done.val().hpu == bits::<3>(i as u64));
            let mut complete: Bits<4> = bits::<4>(0);
            let mut failed: Bits<4> = bits::<4>(0);
            for k in 0..COMMAND_HANDLES {
                let at_host = by_host & (self.dma_done.val().handle == bits::<4>(k as u64));
                let at_wire = by_wire & (self.mover.sent_issuer.val().handle == bits::<2>(k as u64));
                let at_place = by_place & (self.mover.placed_issuer.val().handle == bits::<2>(k as u64));
                complete = complete.replace_bit(k, at_host | at_wire | at_place);
                failed = failed.replace_bit(k, at_host & self.dma_done.val().error);
            }
            self.command_port[i].complete.next = complete;
            self.command_port[i].failed.next = failed;

            self.reporter.ending[i].next = self.hpu[i].ending.val();
            self.reporter.ending_valid[i].next = self.hpu[i].ending_valid.val();
            self.hpu[i].ending_ready.next = self.reporter.ending_ready[i].val();
            launch_ready = launch_ready.replace_bit(i, self.hpu[i].launch_ready.val());
            launch_bank = launch_bank | (bit_cast::<16, 2>(self.hpu[i].launch_bank.val()) << bits::<4>(2 * i as u64));
            idle = idle.replace_bit(i, !self.hpu[i].busy.val());
            busy = busy.replace_bit(i, self.hpu[i].busy.val());
            retired = retired.replace_bit(i, self.hpu[i].retired.val());
            begun = begun.replace_bit(i, self.hpu[i].begins.val());
            ended = ended.replace_bit(i, self.hpu[i].ends.val());
            commanded = commanded.replace_bit(i, self.command_port[i].issued.val());
            frames_begun =
                frames_begun | (bit_cast::<128, 16>(self.hpu[i].begin_frame.val()) << bits::<7>(16 * i as u64));
            frames_ended =
                frames_ended | (bit_cast::<128, 16>(self.hpu[i].end_frame.val()) << bits::<7>(16 * i as u64));
            frames_commanded = frames_commanded
                | (bit_cast::<128, 16>(self.command_port[i].command.val().frame) << bits::<7>(16 * i as u64));
        }
        self.loader.launch_ready.next = launch_ready;
        self.had_room.d.next = launch_ready;
        self.room.next = launch_ready & !self.had_room.q.val();
        self.loader.launch_bank.next = launch_bank;
        self.loader.idle.next = idle;
        self.slots.probe_used.next = used;
        if self._rvfi {
            for i in 0..self._hpus {
                self.rvfi[i].next = self.hpu[i].rvfi[0].val();
            }
        }
        self.busy.next = busy;
        self.retired.next = retired;
        self.tasks_ended.next = ended;
        self.commands.next = commanded;
        self.begun.next = begun;
        self.ended.next = ended;
        self.commanded.next = commanded;
        self.frames_begun.next = frames_begun;
        self.frames_ended.next = frames_ended;
        self.frames_commanded.next = frames_commanded;
    }
}
