//! Dispositions: reports to the PSN filter and the responder what became of packets.
//!
//! | ports | neighbour |
//! |---|---|
//! | in `store`, `packet` | scheduler: a packet arrives, and its origin is kept |
//! | in `lookup_pkt` / out `frame` | scheduler: a packet that may be disposed of 2 cycles later; then its frame number |
//! | in `placement_outcome` | RVMA engine: the mailbox's answer to a packet, before its `placement_done` |
//! | in `dispose`, `arrived`, `accepted`, `reason` | scheduler: the packet's disposition is known, at its arrival or after its placement |
//! | out `psn_commit` | PSN filter: one pulse per sequenced packet |
//! | out `report` | responder: in the same cycle, for every sequenced packet and for others that were refused |
//!
//! 1 cycle from `dispose` to both outputs. One packet per cycle, never stalls. The origin of a packet is written when the packet
//! arrives and read when its disposition is known, however late that is.

use crate::{schedule::message::PsnCommit, transmit::responder::nack_code};
use spindle_blocks::{PacketDesc, PacketReport, PlacementOutcome, RamStyle, SdpMemory};
use spindle_contract::wire::{flag, opcode, ECN_MARKED};
use spindle_verilog::prelude::*;

/// Origin of a packet, as the PSN filter and the responder know it.
#[derive(LogicStruct, Copy, Clone, Debug, Default, PartialEq)]
struct Origin {
    /// Its source may be answered.
    answered: Bit,
    sequenced: Bit,
    /// The source waits for an acknowledgement.
    urgent: Bit,
    /// A switch has marked it.
    marked: Bit,
    node: Bits<8>,
    src_pid: Bits<16>,
    dst_pid: Bits<16>,
    addr: Bits<64>,
    msg_id: Bits<32>,
    psn: Bits<32>,
    frame: Bits<16>,
}

/// The origin of a packet.
#[hdl_fn]
fn origin_of(packet: PacketDesc) -> Origin {
    Origin {
        answered: packet.is_spindle
            & ((packet.opcode == bits(opcode::PUT))
                | (packet.opcode == bits(opcode::GET))
                | (packet.opcode == bits(opcode::GET_RESP))),
        sequenced: packet.sequenced,
        urgent: (packet.flags & bits(flag::ACK_REQ)).any(),
        marked: packet.ecn == bits(ECN_MARKED),
        node: packet.src_nid.get_bits::<8>(0),
        src_pid: packet.src_pid,
        dst_pid: packet.dst_pid,
        addr: packet.addr,
        msg_id: packet.msg_id,
        psn: packet.psn,
        frame: packet.frame,
    }
}

/// See the head of this file.
#[block]
pub struct Dispositions {
    /// A packet is taken.
    pub store: Signal<In, Bit>,
    /// That packet.
    pub packet: Signal<In, PacketDesc>,
    /// Head cell of the packet that is looked up.
    pub lookup_pkt: Signal<In, Bits<10>>,
    /// Answer of a mailbox to a packet.
    pub placement_outcome: PulseSink<PlacementOutcome>,
    /// The disposition of the packet that was looked up two cycles ago is known.
    pub dispose: Signal<In, Bit>,
    /// The packet has just arrived.
    pub arrived: Signal<In, Bit>,
    /// The packet was taken, or placed.
    pub accepted: Signal<In, Bit>,
    /// Reason of the refusal.
    pub reason: Signal<In, Bits<5>>,
    /// Frame number of the packet that was looked up two cycles ago.
    pub frame: Signal<Out, Bits<16>>,
    /// Commit of a sequenced packet.
    pub psn_commit: Pulse<PsnCommit>,
    /// Report of a packet whose source gets an answer.
    pub report: Pulse<PacketReport>,
    origins: SdpMemory<Origin, 10>,
    /// Answers of mailboxes, by packet.
    outcomes: SdpMemory<PlacementOutcome, 10>,
    commit_out: DFF<PsnCommit>,
    commit_out_valid: Reg<Bit>,
    report_out: DFF<PacketReport>,
    report_out_valid: Reg<Bit>,
}

impl Dispositions {
    /// For packets of a buffer with `cells` cells.
    pub fn new(cells: usize) -> Self {
        Self {
            origins: SdpMemory::with_depth(RamStyle::sparing(cells), 2, cells),
            outcomes: SdpMemory::with_depth(RamStyle::sparing(cells), 2, cells),
            ..Self::blank()
        }
    }
}

#[hdl]
impl Dispositions {
    fn update(&mut self) {
        self.origins.write(self.store.val(), self.packet.val().pkt, origin_of(self.packet.val()));
        self.origins.read(true, self.lookup_pkt.val());
        self.outcomes.write_enable.next = self.placement_outcome.valid.val();
        self.outcomes.write_address.next = self.placement_outcome.val().pkt;
        self.outcomes.write_data.next = self.placement_outcome.val();
        self.outcomes.read(true, self.lookup_pkt.val());

        let origin = self.origins.read_data.val();
        self.frame.next = origin.frame;
        let outcome = self.outcomes.read_data.val();
        let disposes = self.dispose.val();
        let arrived = self.arrived.val();
        let accepted = self.accepted.val();
        let code = nack_code(self.reason.val());
        let refused = code.any() & (arrived | !outcome.silent);
        self.commit_out_valid.d.next = disposes & origin.sequenced;
        self.report_out_valid.d.next = disposes & origin.answered & (if accepted { origin.sequenced } else { refused });
        if disposes {
            self.commit_out.d.next = PsnCommit { accepted, peer: origin.node, psn: origin.psn.get_bits::<11>(0) };
            self.report_out.d.next = PacketReport {
                node: origin.node,
                src_pid: origin.src_pid,
                dst_pid: origin.dst_pid,
                addr: origin.addr,
                msg_id: origin.msg_id,
                psn: origin.psn,
                epoch: outcome.epoch & repeat::<16>(!arrived),
                credit: outcome.credit & repeat::<16>(!arrived),
                code: code & repeat::<8>(!accepted),
                sequenced: origin.sequenced,
                urgent: origin.urgent,
                marked: origin.marked,
                frame: origin.frame,
            };
        }
        self.psn_commit.offer(self.commit_out_valid.q.val(), self.commit_out.q.val());
        self.report.offer(self.report_out_valid.q.val(), self.report_out.q.val());
    }
}
