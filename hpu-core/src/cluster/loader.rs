//! Loader: takes a task, brings its packet into an L1 slot, prepares a bank of an HPU for it and hands over the launch.
//!
//! | neighbour | ports |
//! |---|---|
//! | dispatcher | in `task`; in `installed` |
//! | packet buffer | in `load_last`, `load_valid` / out `load_ready` (the data goes straight to L1); the dispatcher requests the packet |
//! | L1 | out `packet_write`, `packet_beat` / in `packet_ready`; out `page`; out `scrub` |
//! | HPUs | in `launch_bank`; out `launch`, `launch_valid`; out `region`, `region_index`, `region_write` |
//! | task page | out `desc`, `packet_size`, `packet_bound`, `entry`, `hpu` |
//! | task records | out `record_write` (a bit per HPU), `bank`, `limits` |
//! | slots | in `slot` |
//!
//! | cycle | action |
//! |---|---|
//! | 0 | the task is accepted, and a slot chosen; the HPU that it names has room for its launch |
//! | 1 | records are written |
//! | 1, 2 | the task page; beats of the packet have priority |
//! | 1 to 4 | the regions CODE, CONTEXT, PACKET, SCRATCH of the bank |
//! | 2 | `launch_valid`, without a packet |
//! | k | the last beat is taken; `launch_valid` |
//! | k + 1, 4 | `task_ready`, whichever is later: the regions of a task are written to the end |
//!
//! An HPU reads its regions and L1 four cycles after the launch at the earliest, and beats that L1 has taken are in its
//! banks two cycles later at most, so the last region and the last beat may be in flight when the launch is handed
//! over.
//!
//! **Scrub.** If the bank's stack belonged to another context, it is zeroed before the launch, 64 bytes per cycle;
//! likewise the scratchpad of a context before its first task after an install. Both run beside the packet, in the
//! cycles that it leaves free.
//!
//! **Tailroom.** The packet region of a context with a tailroom of n beats ends 64 n bytes after the packet, or with its
//! slot. The beats after the last one of the packet are zeroed as a scrub is, before those of stack and scratchpad; the
//! bytes after the packet in its last beat arrive as zeros. With n beats the launch comes n + 1 cycles
//! later.
//!
//! One task at a time; at most the first 2048 bytes of a packet are loaded. An HPU holds one launch beside the handlers
//! that run, so its next packet is loaded meanwhile. After reset the regions STACK, TASK and COMMAND of all banks are
//! written, 16 cycles per HPU; tasks wait.

use crate::bundles::{PageWrite, Scrub, TaskSink};
use crate::cluster::loader_tables::{
    launch_of, limits_of, loaded_bytes, packet_beats, packet_bound, set_up_number, set_up_region, tail_beats,
    task_number, task_region, CODE_LEFT, COMPLETION, TASK_BASE,
};
use crate::processor::types::{Launch, Region};
use crate::types::{Limits, TaskContext};
use spindle_blocks::{LutMemory, TaskDesc};
use spindle_contract::params::{Config, L1_STACK_BASE, L1_TASK_BASE};
use spindle_verilog::prelude::*;

/// State of the loader.
#[derive(LogicState, Copy, Clone, Debug, PartialEq)]
pub enum LoaderState {
    /// The regions that never change are written.
    SetUp,
    /// A task may come.
    Idle,
    /// The packet arrives.
    Receive,
    /// Without a packet, or after it: the launch is handed over once all else is written.
    Launch,
}

/// The loader. See the module text.
#[block]
pub struct Loader {
    /// Next task.
    pub task: TaskSink,
    /// A context that was installed.
    pub installed: PulseSink<Bits<4>>,
    /// Last beat of the packet.
    pub load_last: Signal<In, Bit>,
    /// A beat is offered.
    pub load_valid: Signal<In, Bit>,
    /// The beat is taken.
    pub load_ready: Signal<Out, Bit>,
    /// Write the beat to L1.
    pub packet_write: Signal<Out, Bit>,
    /// Beat of L1.
    pub packet_beat: Signal<Out, Bits<10>>,
    /// L1 takes the beat.
    pub packet_ready: Signal<In, Bit>,
    /// Halves of the task page.
    pub page: PageWrite,
    /// Beats that are zeroed.
    pub scrub: Scrub,
    /// Bank of the next launch, two bits per HPU.
    pub launch_bank: Signal<In, Bits<16>>,
    /// Next handler.
    pub launch: Signal<Out, Launch>,
    /// The launch is for this HPU.
    pub launch_valid: Signal<Out, Bits<8>>,
    /// A region.
    pub region: Signal<Out, Region>,
    /// Its index in the table, {bank, region}.
    pub region_index: Signal<Out, Bits<5>>,
    /// Write the region, in this HPU.
    pub region_write: Signal<Out, Bits<8>>,
    /// Task that is being loaded.
    pub desc: Signal<Out, TaskDesc>,
    /// Bytes of its packet that are loaded.
    pub packet_size: Signal<Out, Bits<12>>,
    /// Bytes of its packet region.
    pub packet_bound: Signal<Out, Bits<12>>,
    /// Context of the task.
    pub entry: Signal<Out, TaskContext>,
    /// HPU of the task.
    pub hpu: Signal<Out, Bits<3>>,
    /// Bank of the task.
    pub bank: Signal<Out, Bits<2>>,
    /// Write the records, of this HPU.
    pub record_write: Signal<Out, Bits<8>>,
    /// Limits of its commands.
    pub limits: Signal<Out, Limits>,
    /// A free slot.
    pub slot: Sink<Bits<4>>,
    state: Reg<LoaderState>,
    held: DFF<TaskDesc>,
    /// Zero until the regions that never change are written, and so are `size` and `held_slot`.
    held_entry: Reg<TaskContext>,
    /// First argument of the handler: the missing bytes, or its task page.
    a0: DFF<Bits<32>>,
    size: Reg<Bits<12>>,
    held_slot: Reg<Bits<4>>,
    /// {HPU, bank} of the task, or of the step of the set-up.
    task_index: Reg<Bits<5>>,
    hpu_mask: Reg<Bits<8>>,
    fresh: Reg<Bit>,
    beat: DFF<Bits<5>>,
    /// Step of the set-up of a bank: its region.
    step: Reg<Bits<2>>,
    /// Regions and halves of the page that are still to be written.
    regions_left: Reg<Bits<3>>,
    pages_left: Reg<Bits<2>>,
    /// {valid, context} of the last owner of the stack of each bank.
    owners: LutMemory<Bits<5>, 5>,
    /// Contexts whose scratchpad is to be zeroed; this context's mark is cleared in a cycle without an install.
    dirty: LutMemory<Bit, 4>,
    cleans: Reg<Bit>,
    stack_due: Reg<Bit>,
    scratch_due: Reg<Bit>,
    /// Beats to be zeroed.
    scrub_left: Reg<Bits<10>>,
    scrub_at: DFF<Bits<10>>,
    _hpus: usize,
    /// The highest number that an HPU may have, so that no bits of numbers are kept that are always zero.
    _highest: u64,
    _last_task_index: u64,
    _stack_shift: usize,
}

impl Loader {
    /// For the HPUs of a configuration.
    pub fn new(config: &Config) -> Self {
        Self {
            _hpus: config.hpus,
            _highest: config.hpus.next_power_of_two() as u64 - 1,
            _last_task_index: 4 * config.hpus as u64 - 1,
            _stack_shift: config.stack_bytes().trailing_zeros() as usize,
            ..Self::blank()
        }
    }
}

#[hdl]
impl Loader {
    fn update(&mut self) {
        let state = self.state.q.val();
        let in_set_up = state == LoaderState::SetUp;
        let in_receive = state == LoaderState::Receive;
        let accept = self.accept_task();
        let beat_moves = self.load_packet(in_receive);
        let page_done = self.write_page();
        let task_index = self.task_index.q.val();
        let stack_base = bits::<20>(L1_STACK_BASE) + (bit_cast::<20, 5>(task_index) << self._stack_shift as u64);
        let is_clean = self.scrub(in_set_up, stack_base);
        // With the last beat the launch is handed over at once, unless a page or a scrub is unfinished.
        let ends = beat_moves & self.load_last.val();
        let launches = ((state == LoaderState::Launch) | ends) & page_done & is_clean;
        self.advance(accept, ends, launches);
        self.write_regions(in_set_up, accept, stack_base);
        self.hand_over(launches);
    }

    /// Takes the next task: its slot, and the bank of the HPU that it names.
    fn accept_task(&mut self) -> Bit {
        let in_idle = self.state.q.val() == LoaderState::Idle;
        let is_open = in_idle & (self.regions_left.q.val() < 2);
        let ready = is_open & self.slot.valid.val();
        let accept = ready & self.task.valid.val();
        self.task.ready.next = ready;
        let offered = self.task.desc.val();
        let mut target: Bits<8> = bits::<8>(0);
        self.slot.ready.next = accept & offered.has_packet;
        let mut bank: Bits<2> = bits::<2>(0);
        let offered_hpu = offered.hpu & self._highest;
        for i in 0..self._hpus {
            if offered_hpu == bits::<3>(i) {
                target = target.replace_bit(i, true);
                bank = bank | self.launch_bank.val().get_bits::<2>(2 * i);
            }
        }
        if is_open {
            self.held.d.next = offered;
            self.held_entry.d.next = self.task.context.val();
            let completes = offered.kind == bits::<2>(COMPLETION);
            self.a0.d.next = if completes { offered.dropped_bytes } else { bits::<32>(TASK_BASE) };
            self.size.d.next = loaded_bytes(offered);
            self.held_slot.d.next = self.slot.val();
            self.task_index.d.next = (offered_hpu, bank).cat::<5>();
            self.hpu_mask.d.next = target;
            self.beat.d.next = bits::<5>(0);
        }
        self.pages_left.load(accept, bits::<2>(2));
        self.fresh.d.next = accept;
        accept
    }

    /// Writes the beats of the packet to L1; whether one is taken in this cycle.
    fn load_packet(&mut self, in_receive: Bit) -> Bit {
        let slot = self.held_slot.q.val();
        self.load_ready.next = in_receive & self.packet_ready.val();
        self.packet_write.next = in_receive & self.load_valid.val();
        self.packet_beat.next = (bits::<1>(0), slot, self.beat.q.val()).cat::<10>();
        let beat_moves = in_receive & self.load_valid.val() & self.packet_ready.val();
        self.beat.load(beat_moves, self.beat.q.val() + 1);
        beat_moves
    }

    /// Writes the task page; whether the second half is taken by the end of this cycle.
    fn write_page(&mut self) -> Bit {
        let task_index = self.task_index.q.val();
        let pages_left = self.pages_left.q.val();
        let writes_page = pages_left.any();
        self.page.write.next = writes_page;
        self.page.half.next = pages_left.get_bit(0);
        self.page.beat.next =
            bits::<10>(L1_TASK_BASE as u64 / 64) | (bits::<4>(0), task_index, pages_left.get_bit(0)).cat::<10>();
        self.pages_left.load(writes_page & self.page.ready.val(), pages_left - 1);
        let page_done = !pages_left.get_bit(1) & (!pages_left.get_bit(0) | self.page.ready.val());
        page_done
    }

    /// Zeroes the tailroom, the stack if its last owner was another context, and the scratchpad if the context is new;
    /// whether all are clean.
    fn scrub(&mut self, in_set_up: Bit, stack_base: Bits<20>) -> Bit {
        let fresh = self.fresh.q.val();
        let held = self.held.q.val();
        let owner = (bits::<1>(1), held.context).cat::<5>();
        self.owners.write(fresh | in_set_up, self.task_index.q.val(), if in_set_up { bits::<5>(0) } else { owner });
        self.owners.read_address.next = self.task_index.q.val();
        let scrub_left = self.scrub_left.q.val();
        let scrubs = scrub_left.any();
        if fresh {
            self.stack_due.d.next = self.owners.read_data.val() != owner;
            self.scratch_due.d.next = self.dirty.read_data.val();
        }
        let installed = self.installed.valid.val();
        let cleans = fresh | self.cleans.q.val();
        // An install goes first; that of this context sets the mark again.
        self.cleans.d.next = cleans & installed & (self.installed.val() != held.context);
        self.dirty.write(installed | cleans, if installed { self.installed.val() } else { held.context }, installed);
        self.dirty.read_address.next = held.context;
        if scrubs {
            if self.scrub.ready.val() {
                self.scrub_at.d.next = self.scrub_at.q.val() + 1;
                self.scrub_left.d.next = scrub_left - 1;
            }
        } else if fresh {
            let beats = packet_beats(self.size.q.val());
            let after = (bits::<1>(0), self.held_slot.q.val(), beats.get_bits::<5>(0)).cat::<10>();
            self.scrub_at.d.next = after;
            self.scrub_left.d.next = zext::<10, 5>(tail_beats(beats, self.held_entry.q.val().limits.tailroom));
        } else if self.stack_due.q.val() {
            self.stack_due.d.next = false;
            self.scrub_at.d.next = stack_base.get_bits::<10>(6);
            self.scrub_left.d.next = bits::<10>(1 << (self._stack_shift - 6));
        } else if self.scratch_due.q.val() {
            self.scratch_due.d.next = false;
            self.scrub_at.d.next = self.held_entry.q.val().limits.scratch_base.get_bits::<10>(6);
            self.scrub_left.d.next = self.held_entry.q.val().limits.scratch_size.get_bits::<10>(6);
        }
        self.scrub.write.next = scrubs;
        self.scrub.beat.next = self.scrub_at.q.val();
        let is_clean = !scrubs & !self.stack_due.q.val() & !self.scratch_due.q.val() & !fresh;
        is_clean
    }

    /// The next state.
    fn advance(&mut self, accept: Bit, ends: Bit, launches: Bit) {
        let offered = self.task.desc.val();
        match self.state.q.val() {
            LoaderState::SetUp => {
                self.step.d.next = self.step.q.val() + 1;
                if self.step.q.val().all() {
                    self.task_index.d.next = self.task_index.q.val() + 1;
                    self.state.load(self.task_index.q.val() == self._last_task_index, LoaderState::Idle);
                }
            }
            LoaderState::Idle => {
                self.state.load(accept, if offered.has_packet { LoaderState::Receive } else { LoaderState::Launch });
            }
            LoaderState::Receive => {
                if launches {
                    self.state.d.next = LoaderState::Idle;
                } else if ends {
                    self.state.d.next = LoaderState::Launch;
                }
            }
            LoaderState::Launch => {
                // The HPU had room when the task was sent, and only this loader gives it launches.
                self.state.load(launches, LoaderState::Idle);
            }
        }
    }

    /// Writes the regions of the set-up, then those of each task.
    fn write_regions(&mut self, in_set_up: Bit, accept: Bit, stack_base: Bits<20>) {
        let task_index = self.task_index.q.val();
        let slot = self.held_slot.q.val();
        let entry = self.held_entry.q.val();
        let regions_left = self.regions_left.q.val();
        let writes_region = regions_left.any();
        if accept {
            self.regions_left.d.next = bits::<3>(CODE_LEFT);
        } else if writes_region {
            self.regions_left.d.next = regions_left - 1;
        }
        let number = if in_set_up { set_up_number(self.step.q.val()) } else { task_number(regions_left) };
        let fixed = set_up_region(self.step.q.val(), task_index, stack_base, bits::<21>(1 << self._stack_shift));
        let bound = packet_bound(self.size.q.val(), entry.limits.tailroom);
        let region = task_region(regions_left, entry, slot, bound);
        self.region.next = if in_set_up { fixed } else { region };
        self.region_index.next = (task_index.get_bits::<2>(0), number).cat::<5>();
        self.region_write.next = if in_set_up {
            bits::<8>(1) << task_index.get_bits::<3>(2)
        } else if writes_region {
            self.hpu_mask.q.val()
        } else {
            bits::<8>(0)
        };
    }

    /// Writes the task records, and hands the launch over.
    fn hand_over(&mut self, launches: Bit) {
        let held = self.held.q.val();
        let entry = self.held_entry.q.val();
        let slot = self.held_slot.q.val();
        self.desc.next = held;
        self.packet_size.next = self.size.q.val();
        let bound = packet_bound(self.size.q.val(), entry.limits.tailroom);
        self.packet_bound.next = bound;
        self.entry.next = entry;
        self.hpu.next = self.task_index.q.val().get_bits::<3>(2);
        self.bank.next = self.task_index.q.val().get_bits::<2>(0);
        self.record_write.next = if self.fresh.q.val() { self.hpu_mask.q.val() } else { bits::<8>(0) };
        self.limits.next = limits_of(held, entry, slot, self.size.q.val(), bound);
        self.launch.next = launch_of(held, entry, self.a0.q.val());
        self.launch_valid.next = if launches { self.hpu_mask.q.val() } else { bits::<8>(0) };
    }
}
