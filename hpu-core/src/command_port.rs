//! Command port of an HPU: staging registers, checks, and a table of the commands under way.
//!
//! | neighbour | ports |
//! |---|---|
//! | HPU | in `access`, `access_valid`; out `ack`, `data`, `refused`; in `running`, `page`, `begins`, `ends` |
//! | loader | in `write`, `write_page`, `origin`, `host`: what the commands of the next handler need; out `slots`, `released` |
//! | mover | out `command`, `command_valid` / in `command_ready` |
//! | mover, host, scheduler | in `complete`, `failed`: handles whose command ended |
//! | cluster | in `number`, `hpu`, `cycle`; out `current`, `issued`, `scratch_busy` |
//!
//! An access is acknowledged one cycle after it came. Three wait: ISSUE up to two cycles behind a write of an argument and while all handles are in use or the mover
//! has not taken the command before; WAIT while a command of this handler is under way. An access that is withdrawn while it waits leaves nothing behind.
//!
//! The checks run beside the handler: two stages behind the argument registers, so ISSUE only looks at their result. A command is refused if the
//! opcode is unknown; for SEND_PACKET and DMA_TO_HOST if the source is not a 64-byte aligned address in the packet or scratch region, the length is not 1 to
//! 2048 (SEND_PACKET: 14 to 2048), or source + length passes the region's bound; for DMA_TO_HOST also if [address, address + length) is not inside the
//! context's host region; for PLACE if the task has no packet.
//!
//! A new handler finds arguments of zero and no trace of earlier handlers' commands, which go on in their handles. The packet slots they read stay in use
//! (`slots`); a scratchpad does not: a handler that sends from it waits before it returns.

use crate::types::{Access, HostRegion, Launch, Origin};
use spindle_blocks::desc::Command;
use spindle_blocks::ram::LutMemory;
use spindle_contract::memory_map::{self as map, command};
use spindle_contract::params::{L1_SCRATCH_BASE, MIN_FRAME, SCRATCH_BYTES, SLOT_BYTES};
use spindle_verilog::prelude::*;

const SOURCE: u64 = map::CMD_SOURCE as u64;
const LENGTH: u64 = map::CMD_LENGTH as u64;
const ADDR_LO: u64 = map::CMD_ADDR_LO as u64;
const ADDR_HI: u64 = map::CMD_ADDR_HI as u64;
const ISSUE: u64 = map::CMD_ISSUE as u64;
const STATUS: u64 = map::CMD_STATUS as u64;
const ERROR: u64 = map::CMD_ERROR as u64;
const WAIT: u64 = map::CMD_WAIT as u64;
const SEND: u64 = command::SEND_PACKET as u64;
const PLACE: u64 = command::PLACE as u64;
const DMA: u64 = command::DMA_TO_HOST as u64;
const PACKET: u64 = map::PACKET as u64;
const SCRATCH: u64 = map::SCRATCH as u64;
const LONGEST: u64 = SLOT_BYTES as u64;
const SHORTEST_FRAME: u64 = MIN_FRAME as u64;
/// First 2 KiB block of the scratchpads in L1.
const SCRATCH_BLOCK: u64 = (L1_SCRATCH_BASE / SCRATCH_BYTES) as u64;
const VERSION: u64 = spindle_contract::VERSION as u64;
const HANDLES: usize = map::COMMAND_HANDLES;

/// Replaces the bytes that a store writes.
#[hdl_fn]
fn merge(old: Bits<32>, new: Bits<32>, strobe: Bits<4>) -> Bits<32> {
    let b0 = if strobe.get_bit(0) { new.get_bits::<8>(0) } else { old.get_bits::<8>(0) };
    let b1 = if strobe.get_bit(1) { new.get_bits::<8>(8) } else { old.get_bits::<8>(8) };
    let b2 = if strobe.get_bit(2) { new.get_bits::<8>(16) } else { old.get_bits::<8>(16) };
    let b3 = if strobe.get_bit(3) { new.get_bits::<8>(24) } else { old.get_bits::<8>(24) };
    (b3, b2, b1, b0).cat::<32>()
}

/// First stage of the checks.
#[derive(LogicStruct, Copy, Clone, Debug, Default, PartialEq)]
pub struct Measured {
    /// The source is an aligned address inside packet or scratch region.
    pub source_ok: Bit,
    /// It is in the packet.
    pub in_packet: Bit,
    /// Bytes of the region from the source on.
    pub source_left: Bits<12>,
    /// 1 to 2048 bytes.
    pub length_ok: Bit,
    /// Enough bytes for a frame.
    pub is_frame: Bit,
    /// The host offset is inside the host region.
    pub host_ok: Bit,
    /// Bytes of the host region from there on.
    pub host_left: Bits<32>,
    /// Host address, low half.
    pub low: Bits<32>,
}

/// Second stage of the checks.
#[derive(LogicStruct, Copy, Clone, Debug, Default, PartialEq)]
pub struct Checked {
    /// SEND_PACKET is legal.
    pub send: Bit,
    /// DMA_TO_HOST is legal.
    pub dma: Bit,
    /// The source is in the packet.
    pub in_packet: Bit,
    /// Host address, low half.
    pub low: Bits<32>,
    /// Carry into the high half.
    pub carry: Bit,
}

/// The command port. See the module text.
#[derive(LogicBlock, Default)]
pub struct CommandPort {
    /// Core clock.
    pub clock: Signal<In, Clock>,
    /// Synchronous reset, active high.
    pub reset: Signal<In, Bit>,
    /// Number of the cluster.
    pub number: Signal<In, Bits<3>>,
    /// Number of the HPU in it.
    pub hpu: Signal<In, Bits<3>>,
    /// Cycle counter, for the stamp.
    pub cycle: Signal<In, Bits<32>>,
    /// Access of the HPU.
    pub access: Signal<In, Access>,
    /// It is wanted.
    pub access_valid: Signal<In, Bit>,
    /// It is done.
    pub ack: Signal<Out, Bit>,
    /// The word read.
    pub data: Signal<Out, Bits<32>>,
    /// With `ack`: the command is illegal.
    pub refused: Signal<Out, Bit>,
    /// The running handler.
    pub running: Signal<In, Launch>,
    /// Its task page.
    pub page: Signal<In, Bit>,
    /// A handler starts.
    pub begins: Signal<In, Bit>,
    /// A handler ends.
    pub ends: Signal<In, Bit>,
    /// Keep `origin` and `host` for a handler to come.
    pub write: Signal<In, Bit>,
    /// Its task page.
    pub write_page: Signal<In, Bit>,
    /// Whose task it is.
    pub origin: Signal<In, Origin>,
    /// The context's host region.
    pub host: Signal<In, HostRegion>,
    /// Whose task runs.
    pub current: Signal<Out, Origin>,
    /// A checked command.
    pub command: Signal<Out, Command>,
    /// There is one.
    pub command_valid: Signal<Out, Bit>,
    /// It is taken.
    pub command_ready: Signal<In, Bit>,
    /// Handles whose command ended.
    pub complete: Signal<In, Bits<4>>,
    /// With it: with an error.
    pub failed: Signal<In, Bits<4>>,
    /// Packet slots that commands under way read.
    pub slots: Signal<Out, Bits<16>>,
    /// Packet slot whose task ends in this cycle.
    pub released: Signal<Out, Bits<16>>,
    /// A command under way reads the scratchpad.
    pub scratch_busy: Signal<Out, Bit>,
    /// `command` is new in this cycle.
    pub issued: Signal<Out, Bit>,
    source: Reg<Bits<32>>,
    length: Reg<Bits<32>>,
    addr_lo: Reg<Bits<32>>,
    addr_hi: Reg<Bits<32>>,
    /// Cycles until the checks have seen the arguments.
    settle: Reg<Bits<2>>,
    origins: LutMemory<Origin, 1>,
    hosts: LutMemory<HostRegion, 1>,
    measured: DFF<Measured>,
    checked: DFF<Checked>,
    busy: Reg<Bits<4>>,
    error: Reg<Bits<4>>,
    mine: Reg<Bits<4>>,
    from_packet: Reg<Bits<4>>,
    from_scratch: Reg<Bits<4>>,
    handle_slot: [DFF<Bits<4>>; 4],
    last_handle: Reg<Bits<2>>,
    acknowledged: Reg<Bit>,
    refuse: DFF<Bit>,
    answer: DFF<Bits<32>>,
    offered: DFF<Command>,
    offered_valid: Reg<Bit>,
    fresh: Reg<Bit>,
    // Decisions of this cycle.
    issue: Signal<Local, Bit>,
    answers: Signal<Local, Bit>,
}

impl Logic for CommandPort {
    #[hdl]
    fn update(&mut self) {
        regs!(
            self,
            clock,
            reset,
            source,
            length,
            addr_lo,
            addr_hi,
            settle,
            busy,
            error,
            mine,
            from_packet,
            from_scratch,
            last_handle
        );
        regs!(self, clock, reset, acknowledged, offered_valid, fresh);
        dffs!(self, clock, measured, checked, handle_slot, refuse, answer, offered);

        // What is known of the task of each page.
        self.origins.clock.next = self.clock.val();
        self.origins.write_enable.next = self.write.val();
        self.origins.write_address.next = self.write_page.val().into();
        self.origins.write_data.next = self.origin.val();
        self.origins.read_address.next = self.page.val().into();
        self.hosts.clock.next = self.clock.val();
        self.hosts.write_enable.next = self.write.val();
        self.hosts.write_address.next = self.write_page.val().into();
        self.hosts.write_data.next = self.host.val();
        self.hosts.read_address.next = self.page.val().into();
        let origin = self.origins.read_data.val();
        let host = self.hosts.read_data.val();
        let running = self.running.val();
        self.current.next = origin;

        // First stage of the checks.
        let source = self.source.q.val();
        let length = self.length.q.val();
        let region = source.get_bits::<4>(28);
        let in_packet = region == bits::<4>(PACKET);
        let bound = if in_packet { running.packet_size } else { bits::<12>(LONGEST) };
        let offset = source.get_bits::<12>(0);
        let aligned = !source.get_bits::<6>(0).any();
        self.measured.d.next = Measured {
            source_ok: (in_packet | (region == bits::<4>(SCRATCH)))
                & aligned
                & !source.get_bits::<16>(12).any()
                & (offset <= bound),
            in_packet: in_packet,
            source_left: bound - offset,
            length_ok: length.any() & (length <= bits::<32>(LONGEST)),
            is_frame: length >= bits::<32>(SHORTEST_FRAME),
            host_ok: !self.addr_hi.q.val().any() & (self.addr_lo.q.val() <= host.size),
            host_left: host.size - self.addr_lo.q.val(),
            low: host.low + self.addr_lo.q.val(),
        };

        // Second stage.
        let measured = self.measured.q.val();
        let source_ok = measured.source_ok & measured.length_ok & (length.get_bits::<12>(0) <= measured.source_left);
        self.checked.d.next = Checked {
            send: source_ok & measured.is_frame,
            dma: source_ok & measured.host_ok & (bit_cast::<32, 12>(length.get_bits::<12>(0)) <= measured.host_left),
            in_packet: measured.in_packet,
            low: measured.low,
            carry: measured.low < host.low,
        };

        // The access.
        let access = self.access.val();
        let word = (access.address.get_bits::<3>(2), bits::<2>(0)).cat::<5>();
        let writes = self.access_valid.val() & !self.acknowledged.q.val() & access.write;
        let reads = self.access_valid.val() & !self.acknowledged.q.val() & !access.write;
        let stages = writes & !word.get_bit(4);
        if stages {
            if word == bits::<5>(SOURCE) {
                self.source.d.next = merge(source, access.data, access.strobe);
            } else if word == bits::<5>(LENGTH) {
                self.length.d.next = merge(length, access.data, access.strobe);
            } else if word == bits::<5>(ADDR_LO) {
                self.addr_lo.d.next = merge(self.addr_lo.q.val(), access.data, access.strobe);
            } else {
                self.addr_hi.d.next = merge(self.addr_hi.q.val(), access.data, access.strobe);
            }
        }
        if self.begins.val() {
            self.source.d.next = bits::<32>(0);
            self.length.d.next = bits::<32>(0);
            self.addr_lo.d.next = bits::<32>(0);
            self.addr_hi.d.next = bits::<32>(0);
        }
        let settled = !self.settle.q.val().any();
        if stages | self.begins.val() {
            self.settle.d.next = bits::<2>(2);
        } else if !settled {
            self.settle.d.next = self.settle.q.val() - 1;
        }

        // ISSUE.
        let busy = self.busy.q.val();
        let checked = self.checked.q.val();
        let opcode = merge(bits::<32>(0), access.data, access.strobe);
        let is_send = opcode == bits::<32>(SEND);
        let is_place = opcode == bits::<32>(PLACE);
        let is_dma = opcode == bits::<32>(DMA);
        let legal = (is_send & checked.send) | (is_dma & checked.dma) | (is_place & origin.has_packet);
        let issuing = writes & (word == bits::<5>(ISSUE)) & settled;
        let refuse = issuing & !legal;
        let room = !busy.all() & (!self.offered_valid.q.val() | self.command_ready.val());
        self.issue.next = issuing & legal & room;
        let handle = if !busy.get_bit(0) {
            bits::<2>(0)
        } else if !busy.get_bit(1) {
            bits::<2>(1)
        } else if !busy.get_bit(2) {
            bits::<2>(2)
        } else {
            bits::<2>(3)
        };
        let taken = if self.issue.val() { bits::<4>(1) << handle } else { bits::<4>(0) };
        let by_packet = (is_send | is_dma) & checked.in_packet;
        let by_scratch = (is_send | is_dma) & !checked.in_packet;
        self.busy.d.next = (busy & !self.complete.val()) | taken;
        self.error.d.next = (self.error.q.val() | (self.complete.val() & self.failed.val())) & !taken;
        self.mine.d.next = if self.begins.val() { bits::<4>(0) } else { self.mine.q.val() | taken };
        if self.issue.val() {
            self.last_handle.d.next = handle;
            self.from_packet.d.next = (self.from_packet.q.val() & !taken) | (taken & repeat::<4>(by_packet));
            self.from_scratch.d.next = (self.from_scratch.q.val() & !taken) | (taken & repeat::<4>(by_scratch));
        }
        for i in 0..HANDLES {
            if taken.get_bit(i) {
                self.handle_slot[i].d.next = running.slot;
            }
        }
        let block = if checked.in_packet {
            bit_cast::<5, 4>(running.slot)
        } else {
            bit_cast::<5, 3>(self.hpu.val()) + bits::<5>(SCRATCH_BLOCK)
        };
        if self.issue.val() {
            self.offered.d.next = Command {
                version: bits::<4>(VERSION),
                opcode: opcode.get_bits::<4>(0),
                flags: bits::<8>(0),
                context: origin.context,
                cluster: self.number.val(),
                hpu: self.hpu.val(),
                handle: bit_cast::<4, 2>(handle),
                frame: origin.frame,
                msg_slot: origin.msg_slot,
                pkt: origin.pkt,
                source: (block, source.get_bits::<11>(0)).cat::<16>(),
                length: length.get_bits::<16>(0),
                address: (host.high + bit_cast::<32, 1>(checked.carry.into()), checked.low).cat::<64>(),
                stamp: self.cycle.val(),
                spare: bits::<16>(0),
            };
            self.offered_valid.d.next = true;
        } else if self.command_ready.val() {
            self.offered_valid.d.next = false;
        }
        self.fresh.d.next = self.issue.val();

        // The answer.
        let pending = busy & self.mine.q.val();
        let waits = reads & (word == bits::<5>(WAIT)) & pending.any();
        self.answers.next = (reads & !waits) | (writes & (word != bits::<5>(ISSUE))) | self.issue.val() | refuse;
        self.acknowledged.d.next = self.answers.val();
        self.refuse.d.next = refuse;
        self.answer.d.next = match word.to_u64() {
            SOURCE => source,
            LENGTH => length,
            ADDR_LO => self.addr_lo.q.val(),
            ADDR_HI => self.addr_hi.q.val(),
            ISSUE => bit_cast::<32, 2>(self.last_handle.q.val()),
            STATUS => bit_cast::<32, 4>(pending),
            ERROR => bit_cast::<32, 4>(self.error.q.val() & self.mine.q.val()),
            _ => bits::<32>(0),
        };
        self.ack.next = self.acknowledged.q.val();
        self.refused.next = self.refuse.q.val();
        self.data.next = self.answer.q.val();

        self.command.next = self.offered.q.val();
        self.command_valid.next = self.offered_valid.q.val();
        self.issued.next = self.fresh.q.val();
        let mut slots: Bits<16> = bits::<16>(0);
        for i in 0..HANDLES {
            if busy.get_bit(i) & self.from_packet.q.val().get_bit(i) {
                slots = slots | (bits::<16>(1) << self.handle_slot[i].q.val());
            }
        }
        self.slots.next = slots;
        self.scratch_busy.next = (busy & self.from_scratch.q.val()).any();
        self.released.next =
            if self.ends.val() & running.packet_size.any() { bits::<16>(1) << running.slot } else { bits::<16>(0) };
    }
}
