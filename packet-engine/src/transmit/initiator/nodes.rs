//! The register page `node`: identity of this node, and the node table.
//!
//! | ports | neighbour |
//! |---|---|
//! | in `csr` / out `csr_answer` | register slave |
//! | out `settings` | sender, responder: the registers that the driver wrote |
//! | out `own_node`, `own_sum` | framer, planners |
//! | in `lookup[i]` / out `row[i]` | planner i: the row of a node, two cycles later |
//! | in `source` | parser: the address of the source of a frame |
//! | in `ended`, `ended_error` | framer, sender |
//! | in `resent`, `refused`, `refusal` | sender |
//! | in `unsummed` | packet sums |
//! | in `ack_sent`, `nack_sent`, `nack_withheld` | responder |
//!
//! An access is answered 3 cycles after it is seen. Errors: an address without a register, a read of a write-only or a write
//! to a read-only register, a commit to a node beyond the table. After reset the table is emptied, one node per cycle; accesses
//! wait meanwhile.

use super::frame_head::*;
use crate::bundles::SourceLookupSink;
use spindle_blocks::ram::{RamStyle, SdpMemory};
use spindle_blocks::{CsrRequest, CsrResponse, NodePage, NodeStatus, NodeStored};
use spindle_contract::wire::{ICRC_BYTES, NODE_TABLE_ENTRIES};
use spindle_verilog::prelude::*;

/// Planners that look up nodes.
pub const PLANNERS: usize = 3;
/// Words of the IPv4 header that never change, and what the packet's length has besides the payload.
const FIXED_SUM: u64 = IP_FIRST + IP_FRAGMENT + IP_PROTOCOL + IP_OVERHEAD as u64;
/// Bits by which one is shifted to give the bytes of the ICRC.
const ICRC_SHIFT: usize = ICRC_BYTES.trailing_zeros() as usize;
const _: () = assert!(1 << ICRC_SHIFT == ICRC_BYTES);

/// See the head of this file.
#[block(no_default)]
pub struct Nodes {
    /// Access.
    pub csr: Signal<In, CsrRequest>,
    /// Answer.
    pub csr_answer: Signal<Out, CsrResponse>,
    /// Control and stage registers.
    pub settings: Signal<Out, NodeStored>,
    /// Identity of this node.
    pub own_node: Signal<Out, LocalNode>,
    /// Share of this node and of the constant words in each header checksum; the payload's length is added to it.
    pub own_sum: Signal<Out, Bits<17>>,
    /// Node to look up.
    pub lookup: [Signal<In, Bits<8>>; PLANNERS],
    /// Row of that node.
    pub row: [Signal<Out, NodeRow>; PLANNERS],
    /// Source of a frame, and its address.
    pub source: SourceLookupSink,
    /// A put or get ended.
    pub ended: Signal<In, Bit>,
    /// The put or get was not sent as a whole.
    pub ended_error: Signal<In, Bit>,
    /// An acknowledgement was sent.
    pub ack_sent: Signal<In, Bit>,
    /// A refusal was sent.
    pub nack_sent: Signal<In, Bit>,
    /// A refusal was withheld.
    pub nack_withheld: Signal<In, Bit>,
    /// A segment was sent again.
    pub resent: Signal<In, Bit>,
    /// A put of a process was refused.
    pub refused: Signal<In, Bit>,
    /// With `refused`: code of the refusal, number of the put.
    pub refusal: Signal<In, Bits<24>>,
    /// A frame left without the checksum that its handler wanted.
    pub unsummed: Signal<In, Bit>,
    page: NodePage,
    table: [SdpMemory<NodeRow, 8>; PLANNERS],
    sources: SdpMemory<SourceEntry, 8>,
    commit: Reg<Bit>,
    commit_index: DFF<Bits<8>>,
    node_sum: DFF<Bits<17>>,
    partial: DFF<Bits<18>>,
    sum: DFF<Bits<17>>,
    sent: Reg<Bits<32>>,
    failed: Reg<Bits<32>>,
    acks: Reg<Bits<32>>,
    nacks: Reg<Bits<32>>,
    withheld: Reg<Bits<32>>,
    repeated: Reg<Bits<32>>,
    bare: Reg<Bits<32>>,
    last_refusal: Reg<Bits<24>>,
    request: DFF<CsrRequest>,
    busy: Reg<Bit>,
    answering: Reg<Bit>,
    word: DFF<Bits<32>>,
    known: DFF<Bit>,
    answer: Reg<CsrResponse>,
    emptied: Reg<Bit>,
    empty_at: Reg<Bits<8>>,
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
            sources: SdpMemory::new(style, 2),
            ..Self::blank()
        }
    }
}

#[hdl]
impl Nodes {
    fn update(&mut self) {
        let stored = self.page.stored.val();
        let own = LocalNode {
            nid: stored.local_nid,
            mac: (stored.local_mac_hi, stored.local_mac_lo).cat::<48>(),
            ip: stored.local_ip,
        };
        let staged = NodeEntry {
            mac: (stored.node_mac_hi, stored.node_mac_lo).cat::<48>(),
            ip: stored.node_ip,
            port: stored.node_port_port,
            present: stored.node_port_present,
            icrc: stored.node_port_use_icrc,
        };

        // The table. The sum follows the address by a cycle, as the commit follows the write of its register.
        self.node_sum.d.next = bit_cast::<17, 16>(stored.node_ip.get_bits::<16>(0))
            + bit_cast::<17, 16>(stored.node_ip.get_bits::<16>(16));
        let tail = (staged.icrc, bits::<ICRC_SHIFT>(0)).cat::<{ ICRC_SHIFT + 1 }>();
        let row = NodeRow {
            entry: staged,
            sum: bit_cast::<18, 17>(self.node_sum.q.val()) + bit_cast::<18, { ICRC_SHIFT + 1 }>(tail),
        };
        let empties = !self.emptied.q.val();
        self.empty_at.d.next = self.empty_at.q.val() + 1;
        self.emptied.load(self.empty_at.q.val().all(), true);
        for i in 0..PLANNERS {
            self.table[i].write(self.commit.q.val(), self.commit_index.q.val(), row);
            if empties {
                self.table[i].write(true, self.empty_at.q.val(), NodeRow::default());
            }
            self.table[i].read(true, self.lookup[i].val());
            self.row[i].next = self.table[i].read_data.val();
        }

        self.sources.write(
            self.commit.q.val(),
            self.commit_index.q.val(),
            SourceEntry { present: staged.present, ip: staged.ip, requires_icrc: stored.node_port_require_icrc },
        );
        if empties {
            self.sources.write(true, self.empty_at.q.val(), SourceEntry::default());
        }
        self.sources.read(self.source.read.val(), self.source.node.val());
        self.source.present.next = self.sources.read_data.val().present;
        self.source.ip.next = self.sources.read_data.val().ip;
        self.source.requires.next = self.sources.read_data.val().requires_icrc;

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

        self.acks.load(self.ack_sent.val(), self.acks.q.val() + 1);
        self.nacks.load(self.nack_sent.val(), self.nacks.q.val() + 1);
        self.withheld.load(self.nack_withheld.val(), self.withheld.q.val() + 1);
        self.repeated.load(self.resent.val(), self.repeated.q.val() + 1);
        self.bare.load(self.unsummed.val(), self.bare.q.val() + 1);
        self.last_refusal.load(self.refused.val(), self.refusal.val());
        self.settings.next = stored;

        // Accesses.
        self.answer.d.next = CsrResponse::default();
        let request = self.request.q.val();
        let idle = !self.busy.q.val() & !self.answering.q.val() & !self.answer.q.val().ack;
        let takes = self.csr.val().valid & idle & !empties;
        self.request.load(takes, self.csr.val());
        self.busy.d.next = takes;
        self.answering.d.next = self.busy.q.val();
        let write = self.busy.q.val() & request.write;
        self.page.address.next = request.addr.get_bits::<12>(0);
        self.page.wdata.next = request.wdata;
        self.page.write.next = write;
        self.page.status.next = NodeStatus {
            puts_done: self.sent.q.val(),
            puts_failed: self.failed.q.val(),
            acks_sent: self.acks.q.val(),
            nacks_sent: self.nacks.q.val(),
            nacks_withheld: self.withheld.q.val(),
            segments_resent: self.repeated.q.val(),
            sends_unsummed: self.bare.q.val(),
            last_refusal_number: self.last_refusal.q.val().get_bits::<16>(0),
            last_refusal_code: self.last_refusal.q.val().get_bits::<8>(16),
        };
        let commits = self.page.select.val().node_commit;
        let exists = request.wdata < NODE_TABLE_ENTRIES as u64;
        self.commit.d.next = write & commits & exists;
        self.commit_index.d.next = request.wdata.get_bits::<8>(0);
        self.word.d.next = self.page.word.val();
        self.known.d.next =
            if request.write { self.page.writable.val() & (!commits | exists) } else { self.page.readable.val() };
        if self.answering.q.val() {
            let value = if self.known.q.val() & !request.write { self.word.q.val() } else { bits::<32>(0) };
            self.answer.d.next = CsrResponse { ack: true, error: !self.known.q.val(), rdata: value };
        }
        self.csr_answer.next = self.answer.q.val();
    }
}
