//! Look-up: checks a packet's header for contradictions while the mailbox table searches its mailbox; serves requests
//! of commands as well.
//!
//! | neighbour | ports |
//! |---|---|
//! | packet engine | in `placement` |
//! | command unit, ring posts | in `command`; out `command_result` (pulse) |
//! | buffer reclaim | in `fence_phase`; out `taken` (pulse) |
//! | binding, GET responder | out `looked_up` |
//!
//! A packet without a mailbox goes to the catch-all mailbox of its process, if there is one, at no extra cycle. A
//! mailbox opened as CATCH_ALL replaces the previous catch-all mailbox of its process until it is being closed. A
//! packet that a handler redirects is a message of its own: its mailbox checks no key, chooses the offset itself if
//! it is managed, and the packet goes to no catch-all mailbox.
//!
//! A frame for the host names its mailbox by number, which must be one with mode FRAMES of its process; no other packet goes there.
//!
//! One packet per cycle. From the placement descriptor to `looked_up`: [`LATENCY`] cycles. `placement.ready` comes from
//! registers: the rare requests of commands wait in a register and go first. The stage counts credits, so its pipeline
//! never stalls: `placement.ready` falls when [`CREDITS`] packets are in the pipeline or wait for binding.

pub mod catch_all;
pub mod mailbox_table;
pub mod stash;

use crate::lookup::catch_all::with_header;
use crate::lookup::mailbox_table::MailboxTable;
use crate::prelude::*;
use spindle_contract::reasons::{BAD_KEY, CLOSED, NO_MAILBOX, UNSUPPORTED};
use spindle_contract::registers::mailbox_mode;
use spindle_contract::wire::{flag, opcode};

/// Cycles from an accepted placement descriptor to `looked_up_valid`.
pub const LATENCY: usize = mailbox_table::LATENCY + 2;
/// Packets in the pipeline at most: as many as the FIFO at its end holds.
pub const CREDITS: u64 = 1 << QUEUE_BITS;

/// The look-up stage. See the module text.
#[block]
pub struct Lookup {
    /// Packet from the packet engine.
    pub placement: Sink<PlacementDesc>,
    /// Fence phase of packets that enter now.
    pub fence_phase: Signal<In, Bit>,
    /// A packet enters.
    pub taken: Signal<Out, Bit>,
    /// Request of a command.
    pub command: Sink<TableRequest>,
    /// Result of the request.
    pub command_result: Pulse<TableResult>,
    /// Packet with its mailbox.
    pub looked_up: Source<LookedUpPacket>,
    mailbox_table: MailboxTable,
    /// The catch-all mailbox of each process: for packets, and for commands.
    catch_alls: [LutMemory<Bits<12>, 6>; 2],
    /// Processes that have a catch-all mailbox.
    has_catch_alls: Reg<Bits<64>>,
    results: Fifo<LookedUpPacket, QUEUE_BITS>,
    /// Request of a command.
    command_out: DFF<TableRequest>,
    command_out_valid: Reg<Bit>,
    /// The packet in step with the pipeline of the table.
    packets: [DFF<Packet>; mailbox_table::LATENCY],
    is_packet: [Reg<Bit>; mailbox_table::LATENCY],
    /// {process number is valid, process} of that packet.
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
        self.accept();
        self.resolve();
        self.catch_all_mailboxes();
    }

    /// Cycle 0: a request of a command goes first, else a packet.
    fn accept(&mut self) {
        let desc = self.placement.val();
        let ready = self.mailbox_table.ready.val();
        let command_waits = self.command_out_valid.q.val();
        let free = self.has_credit.q.val() & ready & !command_waits;
        self.placement.ready.next = free;
        self.accepts.next = self.placement.valid.val() & free;
        let open = !command_waits | ready;
        self.command.ready.next = open;
        self.command_out_valid.load(open, self.command.valid.val());
        self.command_out.load(open & self.command.valid.val(), self.command.val());
        self.mailbox_table.request.valid.next = self.accepts.val() | (command_waits & ready);
        self.mailbox_table.request.next = TableRequest {
            op: if desc.host { bits::<3>(NUMBER) } else { bits::<3>(LOOKUP) },
            pid: desc.dst_pid,
            addr: desc.addr,
            key: desc.key,
            mailbox: desc.addr.get_bits::<12>(0),
            generation: desc.addr.get_bits::<4>(12),
            ..TableRequest::default()
        };
        if command_waits {
            self.mailbox_table.request.next = self.command_out.q.val();
        }
        // A managed mailbox chooses the offset of the message itself.
        let managed = (desc.flags & bits(flag::MANAGED)).any();
        let buf_off = if managed { bits::<32>(0) } else { desc.buf_off };
        let asks_bytes = desc.opcode == bits(opcode::GET);
        let gets = asks_bytes & !desc.redirected & !desc.host;
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
            sequenced: !(desc.flags & bits(flag::UNSEQ)).any(),
            managed: managed,
            fence_phase: self.fence_phase.val(),
            single: desc.redirected,
            inconsistent: false,
            tagged: (desc.flags & bits(flag::EPOCH_VALID)).any(),
            epoch: desc.epoch,
            get: gets,
            active: (desc.flags & bits(flag::ACTIVE)).any(),
            unsupported: if desc.redirected { asks_bytes } else { !writes & !asks_bytes & !desc.host },
            host: desc.host,
            of_bytes: desc.of_bytes,
            pending: desc.pending & desc.has_slot,
        };
        self.is_packet[0].d.next = self.accepts.val();
        self.owner[0].d.next = (!desc.dst_pid.get_bits::<10>(6).any(), desc.dst_pid.get_bits::<6>(0)).cat::<7>();
        self.taken.next = self.accepts.val();
        self.packet_end.d.next = desc.msg_off + bit_cast::<32, 16>(desc.payload_len);
        self.buf_off.d.next = buf_off;
        self.msg_off.d.next = desc.msg_off;
        // A message without state is this one packet; the bytes of a GET are not in the packet.
        self.single_whole.d.next = gets | desc.has_slot | (desc.msg_len == bit_cast::<32, 16>(desc.payload_len));

        // Cycle 1: a sum that is less than a summand has wrapped.
        let first = self.packets[0].q.val();
        let wraps = (first.end < self.buf_off.q.val()) | (self.packet_end.q.val() < self.msg_off.q.val());
        let inconsistent = wraps | (self.packet_end.q.val() > first.msg_len) | !self.single_whole.q.val();
        // A stage moves only for a packet, so that it is made of registers.
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
    }

    /// Cycle 7: the result of the table.
    fn resolve(&mut self) {
        let found = self.mailbox_table.result.val();
        let packet = self.packets[mailbox_table::LATENCY - 1].q.val();
        let mine = self.is_packet[mailbox_table::LATENCY - 1].q.val();
        self.result_valid.d.next = self.mailbox_table.result.valid.val() & mine;
        self.command_result.offer(self.mailbox_table.result.valid.val() & !mine, found);
        let closing = (found.mode & MODE_CLOSING).any();
        let owner = self.owner[mailbox_table::LATENCY - 1].q.val();
        let has_catch_all = self.has_catch_alls.q.val().get_bit(owner.get_bits::<6>(0).index()) & owner.get_bit(6);
        let catch_all = self.catch_alls[0].read_data.val();
        let by_tag = (found.mode & bits(mailbox_mode::TAGGED)).any();
        let managed_one = (found.mode & bits(mailbox_mode::MANAGED)).any();
        // At this point only a packet that a handler redirects is a message of its own.
        let redirected = packet.single;
        let other_kind = (!redirected & (packet.managed != managed_one)) | (packet.tagged != by_tag);
        let takes_frames = (found.mode & bits(mailbox_mode::FRAMES)).any();
        let other_class = (!packet.get & other_kind) | (packet.host ^ takes_frames);
        let foreign = packet.unsupported | (found.hit & !closing & other_class);
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
                refused: foreign | !found.hit | closing | !(found.key_fits | redirected | packet.host),
                reason: reason,
                mailbox: found.mailbox,
                tagged: by_tag & !managed_one,
                window: found.window,
                // Without a mailbox, the mode is what a closed mailbox left: the sender of such a packet gets a NACK.
                silent: found.hit & (found.mode & bits(mailbox_mode::NACK_OFF)).any(),
                silent_unbound: found.hit & (found.mode & bits(mailbox_mode::DROP)).any(),
                spills: (found.mode & bits(mailbox_mode::SPILL)).any() & has_catch_all & !redirected & !packet.host,
                catch_all: catch_all,
            };
            if redirected & managed_one {
                self.result.d.next.packet.start = bits::<32>(0);
                self.result.d.next.packet.end = packet.msg_len;
                self.result.d.next.packet.inconsistent = false;
            }
            if !found.hit & !packet.unsupported & !packet.get & has_catch_all & !redirected & !packet.host {
                self.result.d.next =
                    LookedUpPacket { packet: with_header(packet), mailbox: catch_all, ..LookedUpPacket::default() };
            }
        }
        self.catch_alls[0].read_address.next = owner.get_bits::<6>(0);
    }

    /// The catch-all mailbox of each process; the FIFO of results.
    fn catch_all_mailboxes(&mut self) {
        let command = self.command_out.q.val();
        let asker = command.pid.get_bits::<6>(0);
        let command_taken = self.command_out_valid.q.val() & self.mailbox_table.ready.val();
        let opens = command_taken & (command.op == INSERT) & (command.mode & bits::<9>(mailbox_mode::CATCH_ALL)).any();
        let closes = command_taken & (command.op == CLOSING) & (self.catch_alls[1].read_data.val() == command.mailbox);
        self.has_catch_alls.load(opens | closes, self.has_catch_alls.q.val().replace_bit(asker.index(), opens));
        for i in 0..2 {
            self.catch_alls[i].write(opens, asker, command.mailbox);
        }
        self.catch_alls[1].read_address.next = asker;

        // Cycle 8: into the FIFO, which has room by the credits.
        self.results.write.offer(self.result_valid.q.val(), self.result.q.val());
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
