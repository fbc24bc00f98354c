//! Cluster: a few HPUs that share L1, a loader and a mover. Wiring only.
//!
//! | neighbour | ports |
//! |---|---|
//! | dispatcher | in `task_desc`, `task_context`, `task_valid` / out `task_ready`, `free_hpus` |
//! | packet buffer | out `load_request`, `load_request_valid` / in `load_request_ready`; in `load_data`, `load_last`, `load_valid` / out `load_ready` |
//! | scheduler | out `done`, `done_valid` / in `done_ready`; out `place`, `place_valid` / in `place_ready` |
//! | registers | out `fault`, `fault_valid` / in `fault_ready`; in `imem_write`, `imem_address`, `imem_data`; out `busy`, `retired`, `tasks_ended`, `commands` |
//! | egress | out `egress_data`, `egress_keep`, `egress_last`, `egress_frame`, `egress_valid` / in `egress_ready` |
//! | rvma | out `dma`, `dma_valid` / in `dma_ready`; out `dma_data`, `dma_last`, `dma_data_valid` / in `dma_data_ready`; in `dma_done`, `dma_done_valid` |
//! | L2 | out `l2_access`, `l2_valid` (held) / in `l2_ack`, `l2_data` |
//! | trace | out `loaded`, `begun`, `ended`, `commanded` with their frames |
//!
//! Latencies: see [`crate::loader`], [`crate::access_router`], [`crate::command_port`] and [`crate::mover`]. From a task without packet to `begun`, idle cluster, same context: 3 cycles.
//! The number of the cluster is an input, so all clusters are the same module.

use crate::access_router::AccessRouter;
use crate::command_port::CommandPort;
use crate::hpu::Hpu;
use crate::instruction_memory::InstructionMemory;
use crate::l1::L1;
use crate::loader::Loader;
use crate::mover::Mover;
use crate::reporter::Reporter;
use crate::task_page::TaskPages;
use crate::types::{Access, ContextEntry, FaultReport, Target};
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
    /// Next task.
    pub task_desc: Signal<In, TaskDesc>,
    /// Its context.
    pub task_context: Signal<In, ContextEntry>,
    /// There is one.
    pub task_valid: Signal<In, Bit>,
    /// It is taken.
    pub task_ready: Signal<Out, Bit>,
    /// Room for tasks: HPUs that can hold one, those with nothing to do counted twice; at most 15.
    pub free_hpus: Signal<Out, Bits<4>>,
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
    /// Access of L2.
    pub l2_access: Signal<Out, Access>,
    /// It is wanted.
    pub l2_valid: Signal<Out, Bit>,
    /// It is done.
    pub l2_ack: Signal<In, Bit>,
    /// The word read.
    pub l2_data: Signal<In, Bits<32>>,
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
    hpu: Vec<Hpu>,
    port: Vec<CommandPort>,
    imem: InstructionMemory,
    l1: L1,
    task_pages: TaskPages,
    fabric: AccessRouter,
    loader: Loader,
    mover: Mover,
    reporter: Reporter,
    _hpus: usize,
}

impl Cluster {
    /// A cluster of the given NIC.
    pub fn new(config: &Config) -> Self {
        if let Err(sentence) = config.validate() {
            panic!("Cluster: {sentence}");
        }
        let hpus = config.hpus;
        Self {
            hpu: (0..hpus).map(|_| Default::default()).collect(),
            port: (0..hpus).map(|_| Default::default()).collect(),
            imem: InstructionMemory::new(hpus, config.imem_bytes),
            fabric: AccessRouter::new(hpus),
            mover: Mover::new(hpus),
            reporter: Reporter::new(hpus),
            _hpus: hpus,
            ..Default::default()
        }
    }
}

impl Logic for Cluster {
    #[hdl]
    fn update(&mut self) {
        clocks!(self, clock, reset, hpu, port, l1, task_pages, fabric, loader, mover, reporter);
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
        self.loader.l1_ready.next = self.l1.loader_ready.val();
        self.l1.loader_write.next = self.loader.l1_write.val();
        self.l1.loader_beat.next = self.loader.l1_beat.val();
        self.l1.loader_data.next = self.load_data.val();
        self.loaded.next = self.loader.launch_valid.val();
        self.loaded_frame.next = self.loader.launch.val().frame;

        // Task pages.
        self.task_pages.number.next = self.number.val();
        self.task_pages.write.next = self.loader.page_write.val().any();
        self.task_pages.write_index.next = self.loader.page_index.val();
        self.task_pages.entry.next = self.loader.entry.val();
        self.task_pages.read_index.next = self.fabric.task_index.val();
        self.task_pages.read_word.next = self.fabric.task_word.val();
        self.fabric.task_read.next = self.task_pages.read_data.val();

        // L1 and L2.
        self.l1.word_enable.next = self.fabric.l1_enable.val();
        self.l1.word_address.next = self.fabric.l1_address.val();
        self.l1.word_strobe.next = self.fabric.l1_strobe.val();
        self.l1.word_write.next = self.fabric.l1_write.val();
        self.fabric.l1_read.next = self.l1.word_read.val();
        self.l1.mover_read.next = self.mover.read.val();
        self.l1.mover_beat.next = self.mover.beat.val();
        self.mover.data.next = self.l1.mover_data.val();
        self.l2_access.next = self.fabric.l2_access.val();
        self.l2_valid.next = self.fabric.l2_valid.val();
        self.fabric.l2_ack.next = self.l2_ack.val();
        self.fabric.l2_data.next = self.l2_data.val();

        // Mover.
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
            placing =
                placing | (self.port[i].command_valid.val() & (self.port[i].command.val().opcode == bits::<4>(PLACE)));
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
        let mut launch_page: Bits<8> = bits::<8>(0);
        let mut idle: Bits<8> = bits::<8>(0);
        let mut scrub: Bits<8> = bits::<8>(0);
        let mut busy: Bits<8> = bits::<8>(0);
        let mut retired: Bits<8> = bits::<8>(0);
        let mut begun: Bits<8> = bits::<8>(0);
        let mut ended: Bits<8> = bits::<8>(0);
        let mut commanded: Bits<8> = bits::<8>(0);
        let mut released: Bits<16> = bits::<16>(0);
        let mut used: Bits<16> = bits::<16>(0);
        let mut frames_begun: Bits<128> = bits::<128>(0);
        let mut frames_ended: Bits<128> = bits::<128>(0);
        let mut frames_commanded: Bits<128> = bits::<128>(0);
        for i in 0..self._hpus {
            self.hpu[i].number.next = bits::<3>(i as u64);
            self.hpu[i].launch.next = self.loader.launch.val();
            self.hpu[i].launch_valid.next = self.loader.launch_valid.val().get_bit(i);
            self.imem.fetch_address[i].next = self.hpu[i].fetch_address.val();
            self.hpu[i].fetch_data.next = self.imem.fetch_data[i].val();

            // Accesses: the command port is private, everything else goes through the access_router.
            let at_port = self.hpu[i].access_target.val() == Target::Command;
            self.fabric.access[i].next = self.hpu[i].access.val();
            self.fabric.target[i].next = self.hpu[i].access_target.val();
            self.fabric.valid[i].next = self.hpu[i].access_valid.val();
            self.port[i].access.next = self.hpu[i].access.val();
            self.port[i].access_valid.next = self.hpu[i].access_valid.val() & at_port;
            self.hpu[i].access_ack.next = self.fabric.ack[i].val() | (self.port[i].ack.val() & at_port);
            self.hpu[i].access_data.next = if at_port { self.port[i].data.val() } else { self.fabric.data[i].val() };
            self.hpu[i].access_fault.next = self.port[i].refused.val() & at_port;

            self.port[i].number.next = self.number.val();
            self.port[i].hpu.next = bits::<3>(i as u64);
            self.port[i].cycle.next = self.task_pages.cycle.val();
            self.port[i].running.next = self.hpu[i].running.val();
            self.port[i].page.next = self.hpu[i].page.val();
            self.port[i].begins.next = self.hpu[i].begins.val();
            self.port[i].ends.next = self.hpu[i].ends.val();
            self.port[i].write.next = self.loader.page_write.val().get_bit(i);
            self.port[i].write_page.next = self.loader.page_index.val().get_bit(0);
            self.port[i].origin.next = self.loader.origin.val();
            self.port[i].host.next = self.loader.entry.val().host;
            self.mover.command[i].next = self.port[i].command.val();
            self.mover.command_valid[i].next = self.port[i].command_valid.val();
            self.port[i].command_ready.next = self.mover.command_ready[i].val();

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
            self.port[i].complete.next = complete;
            self.port[i].failed.next = failed;

            self.reporter.origin[i].next = self.port[i].current.val();
            self.reporter.ending[i].next = self.hpu[i].ending.val();
            self.reporter.ending_valid[i].next = self.hpu[i].ending_valid.val();
            self.hpu[i].ending_ready.next = self.reporter.ending_ready[i].val();
            // The scratchpad is not cleared under a command that reads it.
            scrub = scrub.replace_bit(i, self.hpu[i].scrub_valid.val() & !self.port[i].scratch_busy.val());
            self.hpu[i].scrub_done.next = self.l1.scrub_done.val().get_bit(i);

            launch_ready = launch_ready.replace_bit(i, self.hpu[i].launch_ready.val());
            launch_page = launch_page.replace_bit(i, self.hpu[i].launch_page.val());
            idle = idle.replace_bit(i, !self.hpu[i].busy.val() & !self.hpu[i].scrub_valid.val());
            busy = busy.replace_bit(i, self.hpu[i].busy.val());
            retired = retired.replace_bit(i, self.hpu[i].retired.val());
            begun = begun.replace_bit(i, self.hpu[i].begins.val());
            ended = ended.replace_bit(i, self.hpu[i].ends.val());
            commanded = commanded.replace_bit(i, self.port[i].issued.val());
            released = released | self.port[i].released.val();
            used = used | self.port[i].slots.val();
            frames_begun =
                frames_begun | (bit_cast::<128, 16>(self.hpu[i].begin_frame.val()) << bits::<7>(16 * i as u64));
            frames_ended =
                frames_ended | (bit_cast::<128, 16>(self.hpu[i].end_frame.val()) << bits::<7>(16 * i as u64));
            frames_commanded =
                frames_commanded | (bit_cast::<128, 16>(self.port[i].command.val().frame) << bits::<7>(16 * i as u64));
        }
        self.loader.launch_ready.next = launch_ready;
        self.loader.launch_page.next = launch_page;
        self.loader.idle.next = idle;
        self.loader.released.next = released;
        self.loader.used.next = used;
        self.l1.scrub_valid.next = scrub;
        self.reporter.ends.next = ended;
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
