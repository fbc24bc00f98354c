//! Loader: takes a task, brings its packet into an L1 slot, writes the task page and hands the launch to an HPU.
//!
//! | neighbour | ports |
//! |---|---|
//! | dispatcher | in `task_desc`, `task_context`, `task_valid` / out `task_ready`; out `free_hpus` |
//! | packet buffer | out `load_request`, `load_request_valid` / in `load_request_ready`; in `load_last`, `load_valid` / out `load_ready` (the data goes straight to L1) |
//! | L1 | out `l1_write`, `l1_beat`; in `l1_ready` |
//! | task pages, command ports | out `page_write` (one HPU), `page_index`, `entry`, `origin` |
//! | HPUs | in `launch_ready`, `idle`, `launch_page`; out `launch`, `launch_valid` |
//! | command ports | in `released`: slots whose task ended; `used`: slots that commands still read |
//!
//! | cycle | what |
//! |---|---|
//! | 0 | the task is accepted: HPU and slot are chosen, an idle HPU before one that runs, in turn |
//! | 1 | the task page is written; `load_request` (without a packet: `launch_valid`) |
//! | k | the last beat is written |
//! | k + 1 | `launch_valid` |
//! | k + 2 | `task_ready` |
//!
//! One task at a time; at most the first 2048 bytes of a packet are loaded. An HPU holds one launch beside the handler that runs, so its next packet is loaded
//! meanwhile. A slot is free again when its task has ended and no command reads it any more.

use crate::task_page::TaskEntry;
use crate::types::{ContextEntry, HostRegion, Launch, Origin};
use spindle_blocks::desc::{ReadRequest, TaskDesc};
use spindle_blocks::RoundRobin;
use spindle_contract::descriptors::kind;
use spindle_contract::memory_map::{base, CONTEXT, TASK};
use spindle_contract::params::{SLOTS, SLOT_BYTES};
use spindle_verilog::prelude::*;

const TASK_BASE: u64 = base(TASK) as u64;
const STATE_BASE: u64 = base(CONTEXT) as u64;
const LIMIT: u64 = SLOT_BYTES as u64;
const HEADER: u64 = kind::HEADER as u64;
const PAYLOAD: u64 = kind::PAYLOAD as u64;
const COMPLETION: u64 = kind::COMPLETION as u64;

/// What the loader does.
#[derive(LogicState, Copy, Clone, Debug, PartialEq)]
pub enum LoaderState {
    /// A task may come.
    Idle,
    /// The packet is asked for.
    Request,
    /// It arrives.
    Receive,
    /// The launch is handed over.
    Launch,
}

/// The loader. See the module text.
#[derive(LogicBlock, Default)]
pub struct Loader {
    /// Core clock.
    pub clock: Signal<In, Clock>,
    /// Synchronous reset, active high.
    pub reset: Signal<In, Bit>,
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
    /// Last beat of the packet.
    pub load_last: Signal<In, Bit>,
    /// A beat is offered.
    pub load_valid: Signal<In, Bit>,
    /// It is taken.
    pub load_ready: Signal<Out, Bit>,
    /// Write the beat to L1.
    pub l1_write: Signal<Out, Bit>,
    /// Where.
    pub l1_beat: Signal<Out, Bits<10>>,
    /// L1 writes it in this cycle.
    pub l1_ready: Signal<In, Bit>,
    /// Write the task page of this HPU.
    pub page_write: Signal<Out, Bits<8>>,
    /// The page, {HPU, page}.
    pub page_index: Signal<Out, Bits<4>>,
    /// Its content.
    pub entry: Signal<Out, TaskEntry>,
    /// What commands need of it.
    pub origin: Signal<Out, Origin>,
    /// HPUs that take a launch.
    pub launch_ready: Signal<In, Bits<8>>,
    /// HPUs with nothing to do.
    pub idle: Signal<In, Bits<8>>,
    /// Task page of the next launch, per HPU.
    pub launch_page: Signal<In, Bits<8>>,
    /// Next handler.
    pub launch: Signal<Out, Launch>,
    /// For this HPU.
    pub launch_valid: Signal<Out, Bits<8>>,
    /// Slots whose task ends in this cycle.
    pub released: Signal<In, Bits<16>>,
    /// Slots that commands under way read.
    pub used: Signal<In, Bits<16>>,
    state: Reg<LoaderState>,
    arbiter: RoundRobin<8>,
    desc: DFF<TaskDesc>,
    entry_context: DFF<ContextEntry>,
    size: DFF<Bits<12>>,
    slot: DFF<Bits<4>>,
    page: DFF<Bit>,
    hpu: DFF<Bits<3>>,
    hpu_mask: Reg<Bits<8>>,
    fresh: Reg<Bit>,
    beat: DFF<Bits<5>>,
    owned: Reg<Bits<16>>,
    released_late: Reg<Bits<16>>,
    used_late: Reg<Bits<16>>,
    room: Reg<Bits<4>>,
}

impl Logic for Loader {
    #[hdl]
    fn update(&mut self) {
        regs!(self, clock, reset, state, hpu_mask, fresh, owned, released_late, used_late, room);
        dffs!(self, clock, desc, entry_context, size, slot, page, hpu, beat);
        clocks!(self, clock, reset, arbiter);
        let idle_state = self.state.q.val() == LoaderState::Idle;

        // Slots. Both inputs are taken one cycle late, so a slot that passes from its task to a command is never seen free in between.
        self.released_late.d.next = self.released.val();
        self.used_late.d.next = self.used.val();
        let occupied = self.owned.q.val() | self.used_late.q.val();
        let mut free_slot: Bits<4> = bits::<4>(0);
        for i in 0..SLOTS {
            if !occupied.get_bit(SLOTS - 1 - i) {
                free_slot = bits::<4>((SLOTS - 1 - i) as u64);
            }
        }
        let has_slot = !occupied.get_bits::<12>(0).all();

        // An HPU for the next task.
        let vacant = self.launch_ready.val() & self.idle.val();
        self.arbiter.request.next = if vacant.any() { vacant } else { self.launch_ready.val() };
        let ready = idle_state & has_slot & self.launch_ready.val().any();
        let accept = ready & self.task_valid.val();
        self.arbiter.accept.next = accept;
        self.arbiter.lock.next = false;
        self.task_ready.next = ready;
        let offered = self.task_desc.val();
        let taken = if accept & offered.has_packet { bits::<16>(1) << free_slot } else { bits::<16>(0) };
        self.owned.d.next = (self.owned.q.val() & !self.released_late.q.val()) | taken;
        if idle_state {
            self.desc.d.next = offered;
            self.entry_context.d.next = self.task_context.val();
            self.size.d.next = if !offered.has_packet {
                bits::<12>(0)
            } else if offered.length > bits::<14>(LIMIT) {
                bits::<12>(LIMIT)
            } else {
                offered.length.get_bits::<12>(0)
            };
            self.slot.d.next = free_slot;
            self.hpu.d.next = self.arbiter.index.val().get_bits::<3>(0);
            self.hpu_mask.d.next = self.arbiter.grant.val();
            self.page.d.next = (self.arbiter.grant.val() & self.launch_page.val()).any();
            self.beat.d.next = bits::<5>(0);
        }
        self.fresh.d.next = accept;

        // The packet.
        let in_receive = self.state.q.val() == LoaderState::Receive;
        self.load_request.next = ReadRequest {
            pkt: self.desc.q.val().pkt,
            length: bit_cast::<14, 12>(self.size.q.val()),
            skip: bits::<8>(0),
        };
        self.load_request_valid.next = self.state.q.val() == LoaderState::Request;
        self.load_ready.next = in_receive & self.l1_ready.val();
        self.l1_write.next = in_receive & self.load_valid.val();
        self.l1_beat.next = (bits::<1>(0), self.slot.q.val(), self.beat.q.val()).cat::<10>();
        let beat_moves = in_receive & self.load_valid.val() & self.l1_ready.val();
        if beat_moves {
            self.beat.d.next = self.beat.q.val() + 1;
        }
        let launching = self.state.q.val() == LoaderState::Launch;
        match self.state.q.val() {
            LoaderState::Idle => {
                if accept {
                    self.state.d.next = if offered.has_packet { LoaderState::Request } else { LoaderState::Launch };
                }
            }
            LoaderState::Request => {
                if self.load_request_ready.val() {
                    self.state.d.next = LoaderState::Receive;
                }
            }
            LoaderState::Receive => {
                if beat_moves & self.load_last.val() {
                    self.state.d.next = LoaderState::Launch;
                }
            }
            LoaderState::Launch => {
                // The HPU was ready when it was chosen, and nobody else gives it launches.
                self.state.d.next = LoaderState::Idle;
            }
        }

        // Task page and launch.
        let held = self.desc.q.val();
        let owner = self.entry_context.q.val();
        self.page_write.next = if self.fresh.q.val() { self.hpu_mask.q.val() } else { bits::<8>(0) };
        self.page_index.next = (self.hpu.q.val(), self.page.q.val()).cat::<4>();
        self.entry.next = TaskEntry {
            desc: held,
            state_size: owner.state_size,
            host: HostRegion { low: owner.host_lo, high: owner.host_hi, size: owner.host_size },
        };
        self.origin.next = Origin {
            kind: held.kind,
            context: held.context,
            msg_slot: held.msg_slot,
            frame: held.frame,
            has_packet: held.has_packet,
            pkt: held.pkt,
            payload_len: held.payload_len,
        };
        let completes = held.kind == bits::<2>(COMPLETION);
        self.launch.next = Launch {
            entry: match held.kind.to_u64() {
                HEADER => owner.header,
                PAYLOAD => owner.payload,
                _ => owner.completion,
            },
            a0: if completes { held.dropped_bytes } else { bits::<32>(TASK_BASE) },
            a1: if completes { bit_cast::<32, 1>(held.flow_control.into()) } else { bits::<32>(STATE_BASE) },
            a2: if completes { bits::<32>(STATE_BASE) } else { bits::<32>(0) },
            code_base: owner.code_base,
            code_size: owner.code_size,
            state_base: owner.state_base,
            state_size: owner.state_size,
            slot: self.slot.q.val(),
            packet_size: self.size.q.val(),
            watchdog: owner.watchdog,
            context: held.context,
            frame: held.frame,
        };
        self.launch_valid.next = if launching { self.hpu_mask.q.val() } else { bits::<8>(0) };

        // How much the dispatcher may still send here; the HPU of the task under way is not ready.
        let open = if idle_state { self.launch_ready.val() } else { self.launch_ready.val() & !self.hpu_mask.q.val() };
        let mut count: Bits<5> = bits::<5>(0);
        for i in 0..8 {
            count = count
                + bit_cast::<5, 1>(open.get_bit(i).into())
                + bit_cast::<5, 1>((open.get_bit(i) & self.idle.val().get_bit(i)).into());
        }
        self.room.d.next = if count.get_bit(4) { bits::<4>(15) } else { count.get_bits::<4>(0) };
        self.free_hpus.next = self.room.q.val();
    }
}
