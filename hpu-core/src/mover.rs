//! Mover: carries out the commands of a cluster's HPUs. SEND_PACKET and DMA_TO_HOST read L1 and stream it out; PLACE is passed on.
//!
//! | neighbour | ports |
//! |---|---|
//! | command ports | in `command[h]`, `command_valid[h]` / out `command_ready[h]`; out `sent`, `placed` (pulses) with HPU and handle |
//! | task records | out `index`; in `origin`, `host`, in the same cycle: whose command it is |
//! | L1 | out `read`, `beat` / in `read_ready`; in `hold`: do not begin another command; in `data`, two cycles later |
//! | cluster | in `number`, `cycle` |
//! | packet engine | out `egress_data`, `egress_keep`, `egress_last`, `egress_frame`, `egress_valid` / in `egress_ready`; out `place`, `place_valid` / in `place_ready` |
//! | rvma | out `dma`, `dma_valid` / in `dma_ready`; out `dma_data`, `dma_last`, `dma_data_valid` / in `dma_data_ready` |
//!
//! Round robin over the HPUs, one command after the other. From `command_valid` to the first beat on `egress_valid`: 5 cycles; then one beat per cycle while ready, no bubble
//! inside a command nor between two. A SEND_PACKET is done when its last beat was taken; a PLACE when it was taken. DMA descriptors and DMA data come
//! in the same order, a descriptor before its first beat.

use crate::types::{HostRegion, Origin, PortCommand};
use spindle_blocks::desc::{Command, DmaDesc};
use spindle_blocks::fifo::LutFifo;
use spindle_blocks::RoundRobin;
use spindle_contract::memory_map::command;
use spindle_verilog::prelude::*;

const PLACE: u64 = command::PLACE as u64;
const DMA: u64 = command::DMA_TO_HOST as u64;
const VERSION: u64 = spindle_contract::VERSION as u64;

/// Who issued a command.
#[derive(LogicStruct, Copy, Clone, Debug, Default, PartialEq)]
pub struct Issuer {
    /// HPU.
    pub hpu: Bits<3>,
    /// Handle.
    pub handle: Bits<2>,
}

/// What goes with a beat.
#[derive(LogicStruct, Copy, Clone, Debug, Default, PartialEq)]
pub struct Tag {
    /// Which bytes count.
    pub keep: Bits<64>,
    /// Last beat.
    pub last: Bit,
    /// To the host, not to the wire.
    pub is_dma: Bit,
    /// Frame sequence number of the issuer's packet.
    pub frame: Bits<16>,
    /// Issuer.
    pub issuer: Issuer,
}

/// A beat on its way out.
#[derive(LogicStruct, Copy, Clone, Debug, Default, PartialEq)]
pub struct Moved {
    /// Bytes.
    pub data: Bits<512>,
    /// What goes with them.
    pub tag: Tag,
}

/// A command that is read from L1.
#[derive(LogicStruct, Copy, Clone, Debug, Default, PartialEq)]
pub struct Job {
    /// Next beat.
    pub beat: Bits<10>,
    /// Beats to read.
    pub beats: Bits<6>,
    /// None has been read.
    pub first: Bit,
    /// Which bytes of the last beat count.
    pub last_keep: Bits<64>,
    /// To the host, not to the wire.
    pub is_dma: Bit,
    /// Frame sequence number of the issuer's packet.
    pub frame: Bits<16>,
    /// Issuer.
    pub issuer: Issuer,
}

/// The mover. See the module text.
#[derive(LogicBlock, Default)]
pub struct Mover {
    /// Core clock.
    pub clock: Signal<In, Clock>,
    /// Synchronous reset, active high.
    pub reset: Signal<In, Bit>,
    /// Number of the cluster.
    pub number: Signal<In, Bits<3>>,
    /// Cycles since reset, low half, for the stamp.
    pub cycle: Signal<In, Bits<32>>,
    /// Commands.
    pub command: Vec<Signal<In, PortCommand>>,
    /// They are offered.
    pub command_valid: Vec<Signal<In, Bit>>,
    /// They are taken.
    pub command_ready: Vec<Signal<Out, Bit>>,
    /// Task of the command that is taken, {HPU, bank}.
    pub index: Signal<Out, Bits<5>>,
    /// Whose it is.
    pub origin: Signal<In, Origin>,
    /// Host region of its context.
    pub host: Signal<In, HostRegion>,
    /// A SEND_PACKET is done.
    pub sent: Signal<Out, Bit>,
    /// Whose.
    pub sent_issuer: Signal<Out, Issuer>,
    /// A PLACE is done.
    pub placed: Signal<Out, Bit>,
    /// Whose.
    pub placed_issuer: Signal<Out, Issuer>,
    /// Read L1.
    pub read: Signal<Out, Bit>,
    /// This beat.
    pub beat: Signal<Out, Bits<10>>,
    /// Do not begin another command.
    pub hold: Signal<In, Bit>,
    /// It is read.
    pub read_ready: Signal<In, Bit>,
    /// It, two cycles later.
    pub data: Signal<In, Bits<512>>,
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
    /// A packet to place.
    pub place: Signal<Out, Command>,
    /// There is one.
    pub place_valid: Signal<Out, Bit>,
    /// It is taken.
    pub place_ready: Signal<In, Bit>,
    arbiter: RoundRobin<8>,
    chosen: Signal<Local, PortCommand>,
    /// The command that is read next: checked and with its owner, but its address is still an offset.
    staged: DFF<Command>,
    staged_host: DFF<HostRegion>,
    next_valid: Reg<Bit>,
    place_command: DFF<Command>,
    place_waits: Reg<Bit>,
    /// Descriptor of a DMA: first with a carry to be added, then as it goes out.
    carry: DFF<Bit>,
    sum: DFF<DmaDesc>,
    sum_waits: Reg<Bit>,
    host_write: DFF<DmaDesc>,
    host_write_waits: Reg<Bit>,
    job: DFF<Job>,
    job_valid: Reg<Bit>,
    in_flight: [DFF<Tag>; 2],
    in_flight_valid: [Reg<Bit>; 2],
    outgoing: LutFifo<Moved, 2>,
    _hpus: usize,
}

impl Mover {
    /// For `hpus` HPUs, 1 to 8.
    pub fn new(hpus: usize) -> Self {
        assert!((1..=8).contains(&hpus), "Mover: {hpus} HPUs cannot be served; choose 1 to 8");
        Self {
            command: (0..hpus).map(|_| Default::default()).collect(),
            command_valid: (0..hpus).map(|_| Default::default()).collect(),
            command_ready: (0..hpus).map(|_| Default::default()).collect(),
            _hpus: hpus,
            ..Default::default()
        }
    }
}

impl Logic for Mover {
    #[hdl]
    fn update(&mut self) {
        regs!(self, clock, reset, next_valid, place_waits, sum_waits, host_write_waits, job_valid, in_flight_valid);
        dffs!(self, clock, staged, staged_host, place_command, carry, sum, host_write, job, in_flight);
        clocks!(self, clock, reset, arbiter, outgoing);

        // Reading: beats under way and those that are held are four at most.
        let job = self.job.q.val();
        let last = job.beats == 1;
        let under_way = bit_cast::<3, 1>(self.in_flight_valid[0].q.val().into())
            + bit_cast::<3, 1>(self.in_flight_valid[1].q.val().into());
        let wants = self.job_valid.q.val()
            & !(job.first & self.hold.val())
            & (self.outgoing.level.val().get_bits::<3>(0) + under_way < 4);
        let reads = wants & self.read_ready.val();
        self.read.next = wants;
        self.beat.next = job.beat;
        self.in_flight_valid[0].d.next = reads;
        self.in_flight_valid[1].d.next = self.in_flight_valid[0].q.val();
        self.in_flight[1].d.next = self.in_flight[0].q.val();
        self.in_flight[0].d.next = Tag {
            keep: if last { job.last_keep } else { repeat::<64>(true) },
            last: last,
            is_dma: job.is_dma,
            frame: job.frame,
            issuer: job.issuer,
        };
        if reads {
            self.job.d.next.beat = job.beat + 1;
            self.job.d.next.beats = job.beats - 1;
            self.job.d.next.first = false;
        }

        // The next job starts when this one is read. A DMA also needs room for its descriptor.
        let next = self.staged.q.val();
        let next_is_dma = next.opcode == bits::<4>(DMA);
        let job_ends = !self.job_valid.q.val() | (reads & last);
        let starts = self.next_valid.q.val()
            & job_ends
            & !(next_is_dma & (self.sum_waits.q.val() | self.host_write_waits.q.val()));
        let issuer = Issuer { hpu: next.hpu, handle: next.handle.get_bits::<2>(0) };
        let tail = next.length.get_bits::<6>(0);
        let whole = !tail.any();
        if starts {
            self.job_valid.d.next = true;
            self.job.d.next = Job {
                beat: next.source.get_bits::<10>(6),
                beats: next.length.get_bits::<6>(6) + bit_cast::<6, 1>((!whole).into()),
                first: true,
                last_keep: if whole { repeat::<64>(true) } else { !(repeat::<64>(true) << tail) },
                is_dma: next_is_dma,
                frame: next.frame,
                issuer: issuer,
            };
        } else if job_ends {
            self.job_valid.d.next = false;
        }
        // The host address is a sum of 64 bits: its low half in the first step, the carry in the second.
        let low = bit_cast::<33, 32>(self.staged_host.q.val().low) + bit_cast::<33, 32>(next.address.get_bits::<32>(0));
        self.sum_waits.d.next = starts & next_is_dma;
        self.carry.d.next = low.get_bit(32);
        self.sum.d.next = DmaDesc {
            version: bits::<4>(VERSION),
            context: next.context,
            cluster: next.cluster,
            hpu: next.hpu,
            handle: next.handle,
            frame: next.frame,
            address: (self.staged_host.q.val().high, low.get_bits::<32>(0)).cat::<64>(),
            length: next.length,
            spare: bits::<8>(0),
        };
        if self.sum_waits.q.val() {
            self.host_write_waits.d.next = true;
            self.host_write.d.next = self.sum.q.val();
            self.host_write.d.next.address = (
                self.sum.q.val().address.get_bits::<32>(32) + bit_cast::<32, 1>(self.carry.q.val().into()),
                self.sum.q.val().address.get_bits::<32>(0),
            )
                .cat::<64>();
        } else if self.dma_ready.val() {
            self.host_write_waits.d.next = false;
        }
        self.dma.next = self.host_write.q.val();
        self.dma_valid.next = self.host_write_waits.q.val();

        // Choosing: what cannot be stored now does not ask.
        let next_free = !self.next_valid.q.val() | starts;
        let place_free = !self.place_waits.q.val();
        let mut request: Bits<8> = bits::<8>(0);
        for i in 0..self._hpus {
            let free = if self.command[i].val().opcode == bits::<4>(PLACE) { place_free } else { next_free };
            request = request.replace_bit(i, self.command_valid[i].val() & free);
        }
        self.arbiter.request.next = request;
        self.arbiter.accept.next = true;
        self.arbiter.lock.next = false;
        let grant = self.arbiter.grant.val();
        self.chosen.next = PortCommand::default();
        for i in 0..self._hpus {
            self.command_ready[i].next = grant.get_bit(i);
            if grant.get_bit(i) {
                self.chosen.next = self.command[i].val();
            }
        }
        let chosen = self.chosen.val();
        let hpu = self.arbiter.index.val().get_bits::<3>(0);
        self.index.next = (hpu, chosen.bank).cat::<5>();
        let origin = self.origin.val();
        let command = Command {
            version: bits::<4>(VERSION),
            opcode: chosen.opcode,
            flags: bits::<8>(0),
            context: origin.context,
            cluster: self.number.val(),
            hpu: hpu,
            handle: bit_cast::<4, 2>(chosen.handle),
            frame: chosen.frame,
            msg_slot: origin.msg_slot,
            pkt: origin.pkt,
            source: (chosen.beat, bits::<6>(0)).cat::<16>(),
            length: bit_cast::<16, 12>(chosen.length),
            address: bit_cast::<64, 32>(chosen.offset),
            stamp: self.cycle.val(),
            spare: bits::<16>(0),
        };
        let is_place = chosen.opcode == bits::<4>(PLACE);
        if next_free {
            self.staged.d.next = command;
            self.staged_host.d.next = self.host.val();
            self.next_valid.d.next = self.arbiter.any.val() & !is_place;
        }
        if place_free {
            self.place_command.d.next = command;
            self.place_waits.d.next = self.arbiter.any.val() & is_place;
        } else if self.place_ready.val() {
            self.place_waits.d.next = false;
        }
        let placed = self.place_command.q.val();
        self.place.next = placed;
        self.place_valid.next = self.place_waits.q.val();
        self.placed.next = self.place_waits.q.val() & self.place_ready.val();
        self.placed_issuer.next = Issuer { hpu: placed.hpu, handle: placed.handle.get_bits::<2>(0) };

        // Out.
        self.outgoing.write.next = Moved { data: self.data.val(), tag: self.in_flight[1].q.val() };
        self.outgoing.write_valid.next = self.in_flight_valid[1].q.val();
        let out = self.outgoing.read.val();
        let to_host = self.outgoing.read_valid.val() & out.tag.is_dma;
        let to_wire = self.outgoing.read_valid.val() & !out.tag.is_dma;
        self.egress_data.next = out.data;
        self.egress_keep.next = out.tag.keep;
        self.egress_last.next = out.tag.last;
        self.egress_frame.next = out.tag.frame;
        self.egress_valid.next = to_wire;
        self.dma_data.next = out.data;
        self.dma_last.next = out.tag.last;
        self.dma_data_valid.next = to_host;
        self.outgoing.read_ready.next =
            if out.tag.is_dma { self.dma_data_ready.val() } else { self.egress_ready.val() };
        self.sent.next = to_wire & self.egress_ready.val() & out.tag.last;
        self.sent_issuer.next = out.tag.issuer;
    }
}
