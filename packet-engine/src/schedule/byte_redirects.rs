//! Redirects of bytes: keeps them from the command to the placement, and reports the end of each to its handler.
//!
//! | neighbour | ports |
//! |---|---|
//! | event arbiter | in `command` (pulse): it takes a redirect of bytes |
//! | | out `ended`: ends of placements, those of bytes with the slot of their message |
//! | scheduler, stage A | in `judged`, `holds`: the oldest command that is not judged has its packet, whose cells stay; or came too late |
//! | HPU array | in `policy`: a context is installed |
//! | dispatch | out `placement` |
//! | RVMA engine | in `placement_done` |
//! | packet engine | out `answer`: the command is over |
//!
//! A command holds its handle from its issue to its `answer`, so all queues hold one entry of each handle of the array and never
//! fill: a host that is slow stops the handlers that redirect to it, and no others. In the RVMA engine a redirect is named by
//! its handle, since it is the only command there; the slot of its message is kept here meanwhile.
//!
//! 5 cycles from `command` to `placement` if `judged` comes 3 cycles after `command`. A redirect per cycle, in the order of the
//! commands. `placement_done` passes in its cycle. An `answer` comes the cycle after the end of the placement, or when the turn of
//! a command comes that was too late.

use spindle_blocks::ram::{LutMemory, RamStyle};
use spindle_blocks::{BlockFifo, Command, CommandIssuer, LutFifo, PlacementDesc, PlacementDone, PolicySink, PutDone};
use spindle_contract::memory_map::{COMMAND_HANDLES, HANDLE_BITS};
use spindle_contract::params::Config;
use spindle_contract::wire::flag;
use spindle_contract::VERSION;
use spindle_verilog::prelude::*;

/// Address bits of the queues: handles of the largest array.
const QUEUE_BITS: usize = 8;
/// Bits of the name of a command, [`Config::command_number`].
const NAME_BITS: usize = 8;
const DESC_VERSION: u64 = VERSION as u64;

/// Handles of all HPUs, as the depth of a queue.
fn depth(config: &Config) -> usize {
    let depth = (config.total_hpus() * COMMAND_HANDLES).next_power_of_two();
    assert!(depth <= 1 << QUEUE_BITS, "ByteRedirects: {depth} handles; widen QUEUE_BITS");
    depth
}

/// A redirect that waits for the RVMA engine.
#[derive(LogicStruct, Copy, Clone, Debug, Default, PartialEq)]
struct ByteRedirect {
    /// Its command.
    name: Bits<NAME_BITS>,
    /// Frame sequence number of the packet.
    frame: Bits<16>,
    /// Head cell of the packet.
    pkt: Bits<10>,
    /// First byte, in the frame.
    first: Bits<11>,
    /// Bytes.
    length: Bits<12>,
    /// Process of the context.
    pid: Bits<6>,
    /// Mailbox address.
    address: Bits<64>,
    /// Offset in the buffer.
    offset: Bits<32>,
    /// `epoch` counts.
    by_epoch: Bit,
    /// Epoch, or ordinal.
    epoch: Bits<16>,
}

/// A command that is over.
#[derive(LogicStruct, Copy, Clone, Debug, Default, PartialEq)]
struct EndedRedirect {
    /// The command.
    name: Bits<NAME_BITS>,
    /// The bytes were not placed.
    error: Bit,
}

/// The redirect that a handler commands, to mailboxes of this process.
#[hdl_fn]
fn redirect_of(command: Command, name: Bits<NAME_BITS>, pid: Bits<6>) -> ByteRedirect {
    ByteRedirect {
        name,
        frame: command.frame,
        pkt: command.pkt,
        first: command.first,
        length: command.length,
        pid,
        address: command.address,
        offset: command.offset,
        by_epoch: command.flags.get_bit(2),
        epoch: command.epoch,
    }
}

/// Its placement: a message of its own.
#[hdl_fn]
fn placement_of_bytes(redirect: ByteRedirect) -> PlacementDesc {
    PlacementDesc {
        version: bits::<4>(DESC_VERSION),
        frame: redirect.frame,
        pkt: redirect.pkt,
        payload_offset: redirect.first,
        payload_len: zext::<16, 12>(redirect.length),
        flags: if redirect.by_epoch { bits::<16>(flag::EPOCH_VALID) } else { bits::<16>(0) },
        dst_pid: zext::<16, 6>(redirect.pid),
        addr: redirect.address,
        msg_len: zext::<32, 12>(redirect.length),
        buf_off: redirect.offset,
        epoch: redirect.epoch,
        msg_slot: redirect.name,
        from_handler: true,
        redirected: true,
        of_bytes: true,
        ..Default::default()
    }
}

/// See the head of this file.
#[block]
pub struct ByteRedirects {
    /// A command is taken.
    pub command: PulseSink<Command>,
    /// The oldest command that was not judged is judged:
    pub judged: Signal<In, Bit>,
    /// its packet stays until the placement is over; else the command has no effect.
    pub holds: Signal<In, Bit>,
    /// Policy of a context that was installed.
    pub policy: PolicySink,
    /// Placement of bytes.
    pub placement: Source<PlacementDesc>,
    /// Ended placement, of bytes or of a packet.
    pub placement_done: Sink<PlacementDone>,
    /// The same, with the slot of its message.
    pub ended: Source<PlacementDone>,
    /// End of a command.
    pub answer: Source<PutDone>,
    queue: BlockFifo<ByteRedirect, QUEUE_BITS>,
    /// What was said of each command.
    verdicts: LutFifo<Bit, QUEUE_BITS>,
    answers: LutFifo<EndedRedirect, QUEUE_BITS>,
    /// Process of each context.
    processes: LutMemory<Bits<6>, 4>,
    /// Message slot of each command.
    slots: LutMemory<Bits<8>, NAME_BITS>,
    /// Bits of an HPU's number in its cluster, and the highest one.
    _shift: u64,
    _hpus: u64,
}

impl ByteRedirects {
    /// For the handles of `config`.
    pub fn new(config: &Config) -> Self {
        Self {
            queue: BlockFifo::with_depth(RamStyle::spare(config), depth(config)),
            _shift: config.hpu_bits() as u64,
            _hpus: (1 << config.hpu_bits()) - 1,
            ..Self::blank()
        }
    }
}

#[hdl]
impl ByteRedirects {
    fn update(&mut self) {
        // Commands in.
        let command = self.command.val();
        self.processes.write(self.policy.valid.val(), self.policy.index.val(), self.policy.val().pid);
        self.processes.read_address.next = command.context;
        let issuer = command.issuer;
        let hpu = (zext::<5, 3>(issuer.cluster) << self._shift) | zext::<5, 3>(issuer.hpu);
        let name = (hpu, issuer.handle.get_bits::<HANDLE_BITS>(0)).cat::<NAME_BITS>();
        let redirect = redirect_of(command, name, self.processes.read_data.val());
        self.queue.write.offer(self.command.valid.val(), redirect);
        self.slots.write(self.command.valid.val(), redirect.name, command.msg_slot);
        self.verdicts.write.offer(self.judged.val(), self.holds.val());

        // Ends of placements.
        let done = self.placement_done.val();
        self.slots.read_address.next = done.msg_slot;
        let slot = if done.of_bytes { self.slots.read_data.val() } else { done.msg_slot };
        self.ended.offer(self.placement_done.valid.val(), PlacementDone { msg_slot: slot, ..done });
        self.placement_done.ready.next = self.ended.ready.val();
        let ends = self.placement_done.valid.val() & self.ended.ready.val() & done.of_bytes;

        // Placements out. A command that came too late ends when no other one does.
        let oldest = self.queue.read.val();
        let is_judged = self.queue.read.valid.val() & self.verdicts.read.valid.val();
        let goes = is_judged & self.verdicts.read.val();
        let fails = is_judged & !self.verdicts.read.val() & !ends;
        let leaves = (goes & self.placement.ready.val()) | fails;
        self.placement.offer(goes, placement_of_bytes(oldest));
        self.queue.read.ready.next = leaves;
        self.verdicts.read.ready.next = leaves;

        // Answers.
        self.answers.write.next = EndedRedirect {
            name: if ends { done.msg_slot } else { oldest.name },
            error: if ends { !done.placed } else { true },
        };
        self.answers.write.valid.next = ends | fails;
        let over = self.answers.read.val();
        let hpu = over.name.get_bits::<5>(HANDLE_BITS);
        let issuer = CommandIssuer {
            cluster: (hpu >> self._shift).get_bits::<3>(0),
            hpu: hpu.get_bits::<3>(0) & self._hpus,
            handle: zext::<4, HANDLE_BITS>(over.name.get_bits::<HANDLE_BITS>(0)),
        };
        self.answer.offer(self.answers.read.valid.val(), PutDone { issuer, error: over.error, ..Default::default() });
        self.answers.read.ready.next = self.answer.ready.val();
    }
}
