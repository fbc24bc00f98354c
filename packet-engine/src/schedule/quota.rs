//! What each context may have inside the NIC, and what it has.
//!
//! | ports | neighbour |
//! |---|---|
//! | in `policy` | HPU array: a context is installed |
//! | in `enters`, `lookup_context` | scheduler, stage L: an arrival for a context; its packet counts from here on |
//! | out `messages_full`, `packets_full`, `overload`, `user_header` | scheduler, stage R (one cycle later): limits of its context |
//! | in `starts` | scheduler, stage R: that arrival begins a message |
//! | in `packet_leaves`, `message_ends`, `owner` | scheduler, stage A: a packet or a message of context `owner` |
//! | in `clear`, `clear_index` | scheduler, after reset: the counts of this context become 0 |
//! | in `pid_index` / out `pid` | event reports: the process that gets a context's events; asynchronous |
//! | in `redirect_context` / out `redirect_pid` | dispatch: the process to whose mailboxes a context may redirect; asynchronous |
//! | in `live_index` / out `live` | registers: live messages of a context, 1 cycle later |
//!
//! Messages are counted exactly: the message before is known when the next one is judged. A packet or a message that leaves makes
//! room 2 cycles later. Arrivals and ends are two counts modulo 2^n, so that each count has one writer. Never stalls.

use spindle_blocks::{LutMemory, LutRam, PolicySink};
use spindle_verilog::prelude::*;

/// A context's limits as they are compared.
#[derive(LogicStruct, Copy, Clone, Debug, Default, PartialEq)]
struct Limits {
    /// Most messages of which one more may begin: the quota - 1; all ones = no quota, which is more than there can be.
    messages: Bits<9>,
    /// The same for packets.
    packets: Bits<11>,
    /// Overload rule.
    overload: Bits<2>,
    /// Bytes of the user header.
    user_header: Bits<7>,
}

/// See the head of this file.
#[block]
pub struct Quota {
    /// Policy of a context that was installed.
    pub policy: PolicySink,
    /// An arrival for a context is in stage L.
    pub enters: Signal<In, Bit>,
    /// Its context.
    pub lookup_context: Signal<In, Bits<4>>,
    /// Its context has its quota of messages.
    pub messages_full: Signal<Out, Bit>,
    /// Its context has its quota of packets, not counting this one.
    pub packets_full: Signal<Out, Bit>,
    /// What then holds.
    pub overload: Signal<Out, Bits<2>>,
    /// Bytes of user header that the header handler waits for.
    pub user_header: Signal<Out, Bits<7>>,
    /// The arrival in stage R begins a message of its context.
    pub starts: Signal<In, Bit>,
    /// A packet of `owner` leaves.
    pub packet_leaves: Signal<In, Bit>,
    /// A message of `owner` ends.
    pub message_ends: Signal<In, Bit>,
    /// Context of both.
    pub owner: Signal<In, Bits<4>>,
    /// Counts of `clear_index` become 0.
    pub clear: Signal<In, Bit>,
    /// Which context.
    pub clear_index: Signal<In, Bits<4>>,
    /// Context of an event.
    pub pid_index: Signal<In, Bits<4>>,
    /// The process that gets it.
    pub pid: Signal<Out, Bits<6>>,
    /// Context whose handler redirects a packet.
    pub redirect_context: Signal<In, Bits<4>>,
    /// Its process.
    pub redirect_pid: Signal<Out, Bits<6>>,
    /// Context asked for.
    pub live_index: Signal<In, Bits<4>>,
    /// Its messages alive.
    pub live: Signal<Out, Bits<9>>,
    limits: LutMemory<Limits, 4>,
    pids: LutRam<4, 6, 2>,
    packets_in: LutMemory<Bits<11>, 4>,
    packets_out: LutRam<4, 11, 2>,
    messages_in: LutRam<4, 9, 3>,
    messages_out: LutRam<4, 9, 3>,
    /// Stage R: the arrival's context, its limits and what the context has.
    here: DFF<Bits<4>>,
    limit: DFF<Limits>,
    packets: DFF<Bits<11>>,
    messages: DFF<Bits<9>>,
    /// The arrival before began a message of the same context.
    one_more: Reg<Bit>,
    answer: DFF<Bits<9>>,
}

#[hdl]
impl Quota {
    fn update(&mut self) {
        let policy = self.policy.val();
        self.limits.write_enable.next = self.policy.valid.val();
        self.limits.write_address.next = self.policy.index.val();
        self.limits.write_data.next = Limits {
            messages: policy.messages - 1,
            packets: policy.packets - 1,
            overload: policy.overload,
            user_header: policy.user_header,
        };
        self.pids.write(self.policy.valid.val(), self.policy.index.val(), policy.pid);
        self.pids.read_address[0].next = self.pid_index.val();
        self.pid.next = self.pids.read_data[0].val();
        self.pids.read_address[1].next = self.redirect_context.val();
        self.redirect_pid.next = self.pids.read_data[1].val();

        // Stage L.
        let clear = self.clear.val();
        let lookup_context = self.lookup_context.val();
        let owner = self.owner.val();
        self.limits.read_address.next = lookup_context;
        self.packets_in.read_address.next = lookup_context;
        self.packets_out.read_address[0].next = lookup_context;
        self.messages_in.read_address[0].next = lookup_context;
        self.messages_out.read_address[0].next = lookup_context;
        let entered = self.packets_in.read_data.val();
        self.here.d.next = lookup_context;
        self.limit.d.next = self.limits.read_data.val();
        self.packets.d.next = entered - self.packets_out.read_data[0].val();
        self.messages.d.next = self.messages_in.read_data[0].val() - self.messages_out.read_data[0].val();
        self.packets_in.write_enable.next = self.enters.val() | clear;
        self.packets_in.write_address.next = if clear { self.clear_index.val() } else { lookup_context };
        self.packets_in.write_data.next = if clear { bits::<11>(0) } else { entered + 1 };

        // Stage R.
        let here = self.here.q.val();
        self.messages_in.read_address[1].next = here;
        self.messages_in.write_enable.next = self.starts.val() | clear;
        self.messages_in.write_address.next = if clear { self.clear_index.val() } else { here };
        self.messages_in.write_data.next = if clear { bits::<9>(0) } else { self.messages_in.read_data[1].val() + 1 };
        self.one_more.d.next = self.starts.val() & (here == lookup_context);
        let limit = self.limit.q.val();
        let messages = self.messages.q.val();
        self.messages_full.next = (messages > limit.messages) | (self.one_more.q.val() & (messages == limit.messages));
        self.packets_full.next = self.packets.q.val() > limit.packets;
        self.overload.next = limit.overload;
        self.user_header.next = limit.user_header;

        // Stage A.
        self.packets_out.read_address[1].next = owner;
        self.messages_out.read_address[1].next = owner;
        let out_address = if clear { self.clear_index.val() } else { owner };
        self.packets_out.write_enable.next = self.packet_leaves.val() | clear;
        self.packets_out.write_address.next = out_address;
        self.packets_out.write_data.next = if clear { bits::<11>(0) } else { self.packets_out.read_data[1].val() + 1 };
        self.messages_out.write_enable.next = self.message_ends.val() | clear;
        self.messages_out.write_address.next = out_address;
        self.messages_out.write_data.next = if clear { bits::<9>(0) } else { self.messages_out.read_data[1].val() + 1 };

        self.messages_in.read_address[2].next = self.live_index.val();
        self.messages_out.read_address[2].next = self.live_index.val();
        self.answer.d.next = self.messages_in.read_data[2].val() - self.messages_out.read_data[2].val();
        self.live.next = self.answer.q.val();
    }
}
