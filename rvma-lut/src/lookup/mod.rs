//! Look-up: checks a packet's header for contradictions while the mailbox table is asked, and lets the doorbell ask too.
//!
//! | neighbour | ports |
//! |---|---|
//! | packet engine | in `placement`, `placement_valid`; out `placement_ready` |
//! | doorbell | in `command`, `command_valid`; out `command_ready`, `command_result`, `command_result_valid` (no ready) |
//! | buffer reclaim | in `fence_phase`; out `taken` (pulse) |
//! | binding | out `looked_up`, `looked_up_valid`; in `looked_up_ready` |
//!
//! A packet for which there is no mailbox goes to its process's catch-all, if that has one; it takes no cycle more. A mailbox opened as
//! CATCH_ALL is its process's in place of one that was it before, and until it is being closed.
//! A packet that a handler redirects is a message of its own: its mailbox asks for no key, chooses the place itself if it is managed, and no catch-all
//! mailbox gets it.
//!
//! One packet per cycle. From the placement descriptor to `looked_up_valid`: [`LATENCY`] cycles. `placement_ready` comes from
//! registers: the doorbell's rare questions wait in one of their own, and go first. It counts credits, so the pipeline itself
//! never stalls: it falls when [`CREDITS`] packets are on their way or wait for binding.

pub mod catch_all;
pub mod mailbox_table;
pub mod stash;

use crate::lookup::catch_all::with_header;
use crate::lookup::mailbox_table::MailboxTable;
use crate::types::{
    LookedUpPacket, Packet, TableRequest, TableResult, CLOSING, INSERT, LOOKUP, MODE_CLOSING, QUEUE_BITS,
};
use spindle_blocks::desc::PlacementDesc;
use spindle_blocks::ram::LutMemory;
use spindle_blocks::Fifo;
use spindle_contract::reasons::{BAD_KEY, CLOSED, NO_MAILBOX, UNSUPPORTED};
use spindle_contract::registers::mailbox_mode;
use spindle_contract::wire::{flag, opcode};
use spindle_verilog::prelude::*;

/// Cycles from an accepted placement descriptor to `looked_up_valid`.
pub const LATENCY: usize = mailbox_table::LATENCY + 2;
/// Packets that may be on their way: as many as the FIFO at the end holds.
pub const CREDITS: u64 = 1 << QUEUE_BITS;
const EPOCH_VALID: u64 = flag::EPOCH_VALID as u64;
const MANAGED: u64 = flag::MANAGED as u64;
const UNSEQ: u64 = flag::UNSEQ as u64;
const ACTIVE: u64 = flag::ACTIVE as u64;
const MANAGED_MODE: u64 = mailbox_mode::MANAGED as u64;
const TAGGED_MODE: u64 = mailbox_mode::TAGGED as u64;
const NACK_OFF: u64 = mailbox_mode::NACK_OFF as u64;
const DROP: u64 = mailbox_mode::DROP as u64;
const SPILL: u64 = mailbox_mode::SPILL as u64;

/// The look-up stage. See the module text.
#[block]
pub struct Lookup {
    /// Packet from the packet engine.
    pub placement: Sink<PlacementDesc>,
    /// Colour of packets that are taken now.
    pub fence_phase: Signal<In, Bit>,
    /// A packet is taken.
    pub taken: Signal<Out, Bit>,
    /// Question of the doorbell.
    pub command: Sink<TableRequest>,
    /// Answer for the doorbell.
    pub command_result: Pulse<TableResult>,
    /// Packet with its mailbox.
    pub looked_up: Source<LookedUpPacket>,
    mailbox_table: MailboxTable,
    /// The catch-all mailbox of each process: for packets, and for commands.
    catch_alls: [LutMemory<Bits<12>, 6>; 2],
    /// Processes that have one.
    has_catch_alls: Reg<Bits<64>>,
    results: Fifo<LookedUpPacket, QUEUE_BITS>,
    /// The doorbell's question.
    command_out: DFF<TableRequest>,
    command_out_valid: Reg<Bit>,
    /// The packet beside the table's pipeline.
    packets: [DFF<Packet>; mailbox_table::LATENCY],
    is_packet: [Reg<Bit>; mailbox_table::LATENCY],
    /// Process of that packet, and whether there can be such a process.
    owner: [DFF<Bits<7>>; mailbox_table::LATENCY],
    single_whole: DFF<Bit>,
    packet_end: DFF<Bits<32>>,
    buf_off: DFF<Bits<32>>,
    msg_off: DFF<Bits<32>>,
    credits: Reg<Bits<5>>,
    has_credit: Reg<Bit>,
    result: DFF<LookedUpPacket>,
    result_valid: Reg<Bit>,
    accepts: Signal<Local, Bit>,
}

impl Lookup {
    /// A look-up stage with a table of `mailboxes` entries.
    pub fn new(mailboxes: usize) -> Self {
        Self {
            mailbox_table: MailboxTable::new(mailboxes),
            credits: Reg::new(bits::<5>(CREDITS)),
            has_credit: Reg::new(true),
            ..Self::blank()
        }
    }
}

#[hdl]
impl Lookup {
    fn update(&mut self) {
        // Cycle 0: the doorbell first, else a packet.
        let desc = self.placement.val();
        let ready = self.mailbox_table.ready.val();
        let command_waits = self.command_out_valid.q.val();
        let free = self.has_credit.q.val() & ready & !command_waits;
        self.placement.ready.next = free;
        self.accepts.next = self.placement.valid.val() & free;
        let open = !command_waits | ready;
        self.command.ready.next = open;
        if open {
            self.command_out_valid.d.next = self.command.valid.val();
        }
        if open & self.command.valid.val() {
            self.command_out.d.next = self.command.val();
        }
        self.mailbox_table.request.valid.next = self.accepts.val() | (command_waits & ready);
        self.mailbox_table.request.next = TableRequest {
            op: bits::<3>(LOOKUP),
            pid: desc.dst_pid,
            addr: desc.addr,
            key: desc.key,
            mode: bits::<9>(0),
            window: bits::<9>(0),
            mailbox: bits::<12>(0),
            generation: bits::<4>(0),
        };
        if command_waits {
            self.mailbox_table.request.next = self.command_out.q.val();
        }
        // A managed mailbox chooses the message's place itself.
        let managed = (desc.flags & MANAGED).any();
        let buf_off = if managed { bits::<32>(0) } else { desc.buf_off };
        let asks_bytes = desc.opcode == bits(opcode::GET);
        let gets = asks_bytes & !desc.redirected;
        let writes = (desc.opcode == bits(opcode::PUT)) | (desc.opcode == bits(opcode::GET_RESP));
        self.packets[0].d.next = Packet {
            frame: desc.frame,
            pkt: desc.pkt,
            payload_offset: desc.payload_offset,
            payload_len: desc.payload_len,
            src_nid: desc.src_nid,
            src_pid: desc.src_pid,
            msg_id: desc.msg_id,
            msg_len: desc.msg_len,
            has_slot: desc.has_slot,
            msg_slot: desc.msg_slot,
            start: buf_off + desc.msg_off,
            end: buf_off + desc.msg_len,
            sequenced: !(desc.flags & UNSEQ).any(),
            managed: managed,
            fence_phase: self.fence_phase.val(),
            single: desc.redirected,
            inconsistent: false,
            tagged: (desc.flags & EPOCH_VALID).any(),
            epoch: desc.epoch,
            get: gets,
            active: (desc.flags & ACTIVE).any(),
            unsupported: if desc.redirected { asks_bytes } else { !writes & !asks_bytes },
        };
        self.is_packet[0].d.next = self.accepts.val();
        self.owner[0].d.next = (!desc.dst_pid.get_bits::<10>(6).any(), desc.dst_pid.get_bits::<6>(0)).cat::<7>();
        self.taken.next = self.accepts.val();
        self.packet_end.d.next = desc.msg_off + bit_cast::<32, 16>(desc.payload_len);
        self.buf_off.d.next = buf_off;
        self.msg_off.d.next = desc.msg_off;
        // A message without state is this one packet, and what a GET wants is not in it.
        self.single_whole.d.next = gets | desc.has_slot | (desc.msg_len == bit_cast::<32, 16>(desc.payload_len));

        // Cycle 1: a sum that is below its summand has wrapped.
        let first = self.packets[0].q.val();
        let wraps = (first.end < self.buf_off.q.val()) | (self.packet_end.q.val() < self.msg_off.q.val());
        let inconsistent = wraps | (self.packet_end.q.val() > first.msg_len) | !self.single_whole.q.val();
        // Each stage moves for a packet alone: registers, where a chain that always moves would be LUTs.
        for i in 1..mailbox_table::LATENCY {
            self.is_packet[i].d.next = self.is_packet[i - 1].q.val();
            if self.is_packet[i - 1].q.val() {
                self.packets[i].d.next = self.packets[i - 1].q.val();
                self.owner[i].d.next = self.owner[i - 1].q.val();
            }
        }
        if self.is_packet[0].q.val() {
            self.packets[1].d.next.inconsistent = inconsistent;
        }

        // Cycle 7: the table's answer.
        let found = self.mailbox_table.result.val();
        let packet = self.packets[mailbox_table::LATENCY - 1].q.val();
        let mine = self.is_packet[mailbox_table::LATENCY - 1].q.val();
        self.result_valid.d.next = self.mailbox_table.result.valid.val() & mine;
        self.command_result.next = found;
        self.command_result.valid.next = self.mailbox_table.result.valid.val() & !mine;
        let closing = (found.mode & MODE_CLOSING).any();
        let owner = self.owner[mailbox_table::LATENCY - 1].q.val();
        let has_catch_all = self.has_catch_alls.q.val().get_bit(owner.get_bits::<6>(0).index()) & owner.get_bit(6);
        let catch_all = self.catch_alls[0].read_data.val();
        let by_tag = (found.mode & TAGGED_MODE).any();
        let managed_one = (found.mode & MANAGED_MODE).any();
        // Nothing is caught yet: these are the packets that a handler redirects.
        let redirected = packet.single;
        let other_kind = (!redirected & (packet.managed != managed_one)) | (packet.tagged != by_tag);
        let foreign = packet.unsupported | (found.hit & !closing & !packet.get & other_kind);
        let reason = if foreign {
            bits::<5>(UNSUPPORTED)
        } else if !found.hit {
            bits::<5>(NO_MAILBOX)
        } else if closing {
            bits::<5>(CLOSED)
        } else {
            bits::<5>(BAD_KEY)
        };
        if mine {
            self.result.d.next = LookedUpPacket {
                packet: packet,
                refused: foreign | !found.hit | closing | !(found.key_fits | redirected),
                reason: reason,
                mailbox: found.mailbox,
                tagged: by_tag & !managed_one,
                window: found.window,
                silent: (found.mode & NACK_OFF).any(),
                silent_unbound: (found.mode & DROP).any(),
                spills: (found.mode & SPILL).any() & has_catch_all & !redirected,
                catch_all: catch_all,
            };
            if redirected & managed_one {
                self.result.d.next.packet.start = bits::<32>(0);
                self.result.d.next.packet.end = packet.msg_len;
                self.result.d.next.packet.inconsistent = false;
            }
            if !found.hit & !packet.unsupported & !packet.get & has_catch_all & !redirected {
                self.result.d.next =
                    LookedUpPacket { packet: with_header(packet), mailbox: catch_all, ..Default::default() };
            }
        }

        // Which mailboxes catch all.
        let command = self.command_out.q.val();
        let asker = command.pid.get_bits::<6>(0);
        let command_taken = command_waits & ready;
        let opens = command_taken & (command.op == INSERT) & (command.mode & bits::<9>(mailbox_mode::CATCH_ALL)).any();
        let closes = command_taken & (command.op == CLOSING) & (self.catch_alls[1].read_data.val() == command.mailbox);
        if opens | closes {
            self.has_catch_alls.d.next = self.has_catch_alls.q.val().replace_bit(asker.index(), opens);
        }
        for i in 0..2 {
            self.catch_alls[i].write_enable.next = opens;
            self.catch_alls[i].write_address.next = asker;
            self.catch_alls[i].write_data.next = command.mailbox;
        }
        self.catch_alls[0].read_address.next = owner.get_bits::<6>(0);
        self.catch_alls[1].read_address.next = asker;

        // Cycle 8: into the queue, which has room by the credits.
        self.results.write.next = self.result.q.val();
        self.results.write.valid.next = self.result_valid.q.val();
        self.results.read.join(&mut self.looked_up);
        let given_back = self.results.read.valid.val() & self.looked_up.ready.val();
        if self.accepts.val() & !given_back {
            self.credits.d.next = self.credits.q.val() - 1;
            self.has_credit.d.next = self.credits.q.val() != 1;
        } else if given_back & !self.accepts.val() {
            self.credits.d.next = self.credits.q.val() + 1;
            self.has_credit.d.next = true;
        }
    }
}
