//! The CSR page `node`: who we are, and the node table.
//!
//! | ports | neighbour |
//! |---|---|
//! | in `csr` / out `csr_answer` | register slave |
//! | out `own_node`, `own_sum` | framer, planners |
//! | in `lookup[i]` / out `entry[i]` | planner i: the entry of a node, two cycles later |
//! | in `ended`, `ended_error` | framer, sender |
//! | out `send`, `retries`, `timeout`, `hole_time`, `incarnation` / in `resent` | sender |
//! | out `respond`, `ack_every`, `nack_gap` / in `ack_sent`, `nack_sent`, `nack_withheld` | responder |
//!
//! An access is answered 3 cycles after it is seen. Errors: an address without a register, a read of a write-only or a write to a read-only register, a
//! commit to a node beyond the table.

use super::frame_head::*;
use spindle_blocks::ram::{RamStyle, SdpMemory};
use spindle_blocks::{CsrRequest, CsrResponse};
use spindle_contract::registers::node;
use spindle_contract::wire::NODE_TABLE_ENTRIES;
use spindle_verilog::prelude::*;

/// Planners that look up nodes.
pub const PLANNERS: usize = 3;
const ENTRIES: u64 = NODE_TABLE_ENTRIES as u64;
const FIXED_SUM: u64 = IP_FIRST + IP_FRAGMENT + IP_PROTOCOL;

/// See the head of this file.
#[block(no_default)]
pub struct Nodes {
    /// Access.
    pub csr: Signal<In, CsrRequest>,
    /// Answer.
    pub csr_answer: Signal<Out, CsrResponse>,
    /// Who we are.
    pub own_node: Signal<Out, LocalNode>,
    /// Our share of each header checksum.
    pub own_sum: Signal<Out, Bits<17>>,
    /// Node to look up.
    pub lookup: [Signal<In, Bits<8>>; PLANNERS],
    /// Its entry.
    pub entry: [Signal<Out, NodeEntry>; PLANNERS],
    /// A put or get is over.
    pub ended: Signal<In, Bit>,
    /// Not all of it was sent.
    pub ended_error: Signal<In, Bit>,
    /// Answers are sent.
    pub respond: Signal<Out, Bit>,
    /// Accepted packets for which an acknowledgement is due.
    pub ack_every: Signal<Out, Bits<6>>,
    /// Least time between two refusals to one source.
    pub nack_gap: Signal<Out, Bits<16>>,
    /// An acknowledgement was sent.
    pub ack_sent: Signal<In, Bit>,
    /// A refusal was sent.
    pub nack_sent: Signal<In, Bit>,
    /// A refusal was not.
    pub nack_withheld: Signal<In, Bit>,
    /// Puts are sequenced.
    pub send: Signal<Out, Bit>,
    /// Timeouts in a row after which a destination is given up.
    pub retries: Signal<Out, Bits<4>>,
    /// SEND_TIMES, low half.
    pub timeout: Signal<Out, Bits<16>>,
    /// SEND_TIMES, high half.
    pub hole_time: Signal<Out, Bits<16>>,
    /// SEND_INCARNATION.
    pub incarnation: Signal<Out, Bits<32>>,
    /// SEND_LIMIT.
    pub limit: Signal<Out, Bits<16>>,
    /// A segment was sent again.
    pub resent: Signal<In, Bit>,
    /// A put of a process was refused.
    pub refused: Signal<In, Bit>,
    /// With it: LAST_REFUSAL.
    pub refusal: Signal<In, Bits<24>>,
    table: [SdpMemory<NodeEntry, 8>; PLANNERS],
    own: Reg<LocalNode>,
    staged: Reg<NodeEntry>,
    commit: Reg<Bit>,
    commit_index: DFF<Bits<8>>,
    partial: DFF<Bits<18>>,
    sum: DFF<Bits<17>>,
    sent: Reg<Bits<32>>,
    failed: Reg<Bits<32>>,
    responds: Reg<Bit>,
    every: Reg<Bits<6>>,
    gap: Reg<Bits<16>>,
    acks: Reg<Bits<32>>,
    nacks: Reg<Bits<32>>,
    withheld: Reg<Bits<32>>,
    sends: Reg<Bit>,
    most: Reg<Bits<4>>,
    times: Reg<Bits<32>>,
    window: Reg<Bits<32>>,
    repeated: Reg<Bits<32>>,
    longest: Reg<Bits<16>>,
    refusals: Reg<Bits<24>>,
    request: DFF<CsrRequest>,
    busy: Reg<Bit>,
    answering: Reg<Bit>,
    word: DFF<Bits<32>>,
    known: DFF<Bit>,
    answer: Reg<CsrResponse>,
}

impl Default for Nodes {
    fn default() -> Self {
        Self::new(RamStyle::Block)
    }
}

impl Nodes {
    /// Registers whose table of nodes lies in memories of this kind.
    pub fn new(style: RamStyle) -> Self {
        Self {
            table: std::array::from_fn(|_| SdpMemory::new(style, 2)),
            every: Reg::new(bits::<6>(node::AckControl::RESET.ack_every())),
            gap: Reg::new(bits::<16>(node::AckControl::RESET.nack_gap())),
            most: Reg::new(bits::<4>(node::SendControl::RESET.retries())),
            times: Reg::new(bits::<32>(node::SendTimes::RESET.0)),
            ..Self::blank()
        }
    }
}

#[hdl]
impl Nodes {
    fn update(&mut self) {
        let own = self.own.q.val();
        let staged = self.staged.q.val();

        // The table.
        for i in 0..PLANNERS {
            self.table[i].write_enable.next = self.commit.q.val();
            self.table[i].write_address.next = self.commit_index.q.val();
            self.table[i].write_data.next = staged;
            self.table[i].read_enable.next = true;
            self.table[i].read_address.next = self.lookup[i].val();
            self.entry[i].next = self.table[i].read_data.val();
        }

        // Our share of the checksum: two adds, in two cycles; it changes with the driver's configuration only.
        self.partial.d.next = bit_cast::<18, 16>(own.ip.get_bits::<16>(16))
            + bit_cast::<18, 16>(own.ip.get_bits::<16>(0))
            + bits::<18>(FIXED_SUM);
        self.sum.d.next = bit_cast::<17, 16>(self.partial.q.val().get_bits::<16>(0))
            + bit_cast::<17, 2>(self.partial.q.val().get_bits::<2>(16));
        self.own_node.next = own;
        self.own_sum.next = self.sum.q.val();

        if self.ended.val() {
            if self.ended_error.val() {
                self.failed.d.next = self.failed.q.val() + 1;
            } else {
                self.sent.d.next = self.sent.q.val() + 1;
            }
        }

        if self.ack_sent.val() {
            self.acks.d.next = self.acks.q.val() + 1;
        }
        if self.nack_sent.val() {
            self.nacks.d.next = self.nacks.q.val() + 1;
        }
        if self.nack_withheld.val() {
            self.withheld.d.next = self.withheld.q.val() + 1;
        }
        if self.resent.val() {
            self.repeated.d.next = self.repeated.q.val() + 1;
        }
        if self.refused.val() {
            self.refusals.d.next = self.refusal.val();
        }
        self.limit.next = self.longest.q.val();
        self.send.next = self.sends.q.val();
        self.retries.next = self.most.q.val();
        self.timeout.next = self.times.q.val().get_bits::<16>(0);
        self.hole_time.next = self.times.q.val().get_bits::<16>(16);
        self.incarnation.next = self.window.q.val();
        self.respond.next = self.responds.q.val();
        self.ack_every.next = self.every.q.val();
        self.nack_gap.next = self.gap.q.val();

        // Accesses.
        self.answer.d.next = Default::default();
        self.commit.d.next = false;
        let request = self.request.q.val();
        let takes = self.csr.val().valid & !self.busy.q.val() & !self.answering.q.val() & !self.answer.q.val().ack;
        if takes {
            self.request.d.next = self.csr.val();
        }
        self.busy.d.next = takes;
        self.answering.d.next = self.busy.q.val();
        let write = self.busy.q.val() & request.write;
        let data = request.wdata;
        let mut word: Bits<32> = bits::<32>(0);
        let mut known: Bit = !request.addr.get_bits::<2>(0).any();
        match request.addr.get_bits::<12>(0).to_u32() {
            node::LOCAL_NID => {
                word = own.nid;
                if write {
                    self.own.d.next.nid = data;
                }
            }
            node::LOCAL_MAC_LO => {
                word = own.mac.get_bits::<32>(0);
                if write {
                    self.own.d.next.mac = (own.mac.get_bits::<16>(32), data).cat::<48>();
                }
            }
            node::LOCAL_MAC_HI => {
                word = bit_cast::<32, 16>(own.mac.get_bits::<16>(32));
                if write {
                    self.own.d.next.mac = (data.get_bits::<16>(0), own.mac.get_bits::<32>(0)).cat::<48>();
                }
            }
            node::LOCAL_IP => {
                word = own.ip;
                if write {
                    self.own.d.next.ip = data;
                }
            }
            node::NODE_MAC_LO => {
                word = staged.mac.get_bits::<32>(0);
                if write {
                    self.staged.d.next.mac = (staged.mac.get_bits::<16>(32), data).cat::<48>();
                }
            }
            node::NODE_MAC_HI => {
                word = bit_cast::<32, 16>(staged.mac.get_bits::<16>(32));
                if write {
                    self.staged.d.next.mac = (data.get_bits::<16>(0), staged.mac.get_bits::<32>(0)).cat::<48>();
                }
            }
            node::NODE_IP => {
                word = staged.ip;
                if write {
                    self.staged.d.next.ip = data;
                }
            }
            node::NODE_PORT => {
                word = (staged.present, bits::<15>(0), staged.port).cat::<32>();
                if write {
                    self.staged.d.next.port = data.get_bits::<16>(0);
                    self.staged.d.next.present = data.get_bit(31);
                }
            }
            node::NODE_COMMIT => {
                known = request.write & (data < ENTRIES);
                self.commit.d.next = write & (data < ENTRIES);
            }
            node::ACK_CONTROL => {
                word = (self.gap.q.val(), bits::<2>(0), self.every.q.val(), bits::<7>(0), self.responds.q.val())
                    .cat::<32>();
                if write {
                    self.responds.d.next = data.get_bit(0);
                    self.every.d.next = data.get_bits::<6>(8);
                    self.gap.d.next = data.get_bits::<16>(16);
                }
            }
            node::SEND_CONTROL => {
                word = (bits::<20>(0), self.most.q.val(), bits::<7>(0), self.sends.q.val()).cat::<32>();
                if write {
                    self.sends.d.next = data.get_bit(0);
                    self.most.d.next = data.get_bits::<4>(8);
                }
            }
            node::SEND_TIMES => {
                word = self.times.q.val();
                if write {
                    self.times.d.next = data;
                }
            }
            node::SEND_INCARNATION => {
                word = self.window.q.val();
                if write {
                    self.window.d.next = data;
                }
            }
            node::SEND_LIMIT => {
                word = bit_cast::<32, 16>(self.longest.q.val());
                if write {
                    self.longest.d.next = data.get_bits::<16>(0);
                }
            }
            node::LAST_REFUSAL => {
                word = bit_cast::<32, 24>(self.refusals.q.val());
                known = !request.write;
            }
            node::SEGMENTS_RESENT => {
                word = self.repeated.q.val();
                known = !request.write;
            }
            node::ACKS_SENT => {
                word = self.acks.q.val();
                known = !request.write;
            }
            node::NACKS_SENT => {
                word = self.nacks.q.val();
                known = !request.write;
            }
            node::NACKS_WITHHELD => {
                word = self.withheld.q.val();
                known = !request.write;
            }
            node::PUTS_DONE => {
                word = self.sent.q.val();
                known = !request.write;
            }
            node::PUTS_FAILED => {
                word = self.failed.q.val();
                known = !request.write;
            }
            _ => {
                known = false;
            }
        }
        self.commit_index.d.next = data.get_bits::<8>(0);
        self.word.d.next = word;
        self.known.d.next = known;
        if self.answering.q.val() {
            let value = if self.known.q.val() & !request.write { self.word.q.val() } else { bits::<32>(0) };
            self.answer.d.next = CsrResponse { ack: true, error: !self.known.q.val(), rdata: value };
        }
        self.csr_answer.next = self.answer.q.val();
    }
}
