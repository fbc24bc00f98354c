//! Ingress join: joins the results of the matcher and of the packet buffer for a frame, and passes the frame on or drops it.
//!
//! | neighbour | ports |
//! |---|---|
//! | header matcher | in `matched`; no ready |
//! | PSN filter | in `verdict`, with `matched_valid`; out `psn_commit`: one pulse per held frame that ends here |
//! | packet buffer | in `written`; no ready; out `free` |
//! | responder | out `report`: one pulse per frame that ends here and whose source gets an answer |
//! | scheduler | out `packet`, `packet_intake` |
//! | registers | out `drop`: one pulse per dropped frame |
//! | trace ports | out `trace`: one record per frame, in the cycle of `drop_valid` if the frame is dropped |
//!
//! A frame is dropped for the reason of the PSN filter (which has none for a frame that the parser drops), else for the matcher's,
//! else as NO_BUFFER when the buffer overflowed. The report of a frame that is dropped as NO_PEER names its source in the high half of
//! `addr`, since the refusal goes to the node that the low bits of that number name. Dropped frames that have cells are freed in order.
//!
//! From `matched_valid` to `packet_valid` or `drop_valid`: [`LATENCY`] cycle when nothing waits. One frame per cycle, never
//! stalls: every frame that waits here, to be passed on or to be freed, holds a cell, and both FIFOs are as deep as the
//! buffer has cells. While the sink stalls, frames wait in a block RAM FIFO (3 cycles), from which they follow without gaps.
//!
//! Both sides come in frame order. The buffer is always first: its pulse comes [`WRITTEN_AHEAD`] cycles before the matcher's,
//! because both delays after the last beat are constant; its pulses wait in a FIFO.

use crate::bundles::{FrameDescSink, WrittenSink};
use crate::ingress::arrival::{intake_of, Intake};
use crate::ingress::psn_filter::PsnVerdict;
use crate::ingress::{header_matcher, packet_buffer, parser};
use crate::schedule::message::PsnCommit;
use crate::transmit::responder::nack_code;
use spindle_blocks::{Fifo, JoinTrace, PacketDesc, PacketReport, RamStyle, Slice};
use spindle_contract::{
    reasons,
    wire::{opcode, ECN_MARKED},
};
use spindle_verilog::prelude::*;

/// Cycles from `matched_valid` to `packet_valid` or `drop_valid`.
pub const LATENCY: usize = 1;
/// Cycles by which `written_valid` comes before `matched_valid`.
pub const WRITTEN_AHEAD: usize =
    parser::LATENCY + header_matcher::LATENCY - parser::BEAT_LATENCY - packet_buffer::WRITTEN_LATENCY;
// The FIFO of written frames has 16 places and a latency of 1.
const _: () = assert!(WRITTEN_AHEAD >= 1 && WRITTEN_AHEAD < 16);

/// Result of the packet buffer for a frame.
#[derive(LogicStruct, Copy, Clone, Debug, Default, PartialEq)]
pub struct Written {
    pkt: Bits<10>,
    cells: Bits<5>,
    overflow: Bit,
}

/// The frame at the head, with its route.
#[derive(LogicStruct, Copy, Clone, Debug, Default, PartialEq)]
pub struct Entry {
    packet: PacketDesc,
    intake: Intake,
}

/// See the head of this file.
#[block]
pub struct IngressJoin {
    /// Frame with its rule.
    pub matched: FrameDescSink,
    /// Verdict of the PSN filter on the matched frame.
    pub verdict: Signal<In, PsnVerdict>,
    /// Commit of a frame whose sequence number is held.
    pub psn_commit: Pulse<PsnCommit>,
    /// Report of a frame that ends here and whose source gets an answer.
    pub report: Pulse<PacketReport>,
    /// Frame that the packet buffer stored.
    pub written: WrittenSink,
    /// Packet whose cells return.
    pub free: Source<Bits<10>>,
    /// Frame for the scheduler.
    pub packet: Source<PacketDesc>,
    /// Route of that frame.
    pub packet_intake: Signal<Out, Intake>,
    /// Reason of a dropped frame.
    pub drop: Pulse<Bits<6>>,
    /// Rule and context of a frame, and whether it goes on.
    pub trace: Signal<Out, JoinTrace>,
    stored: Fifo<Written, 4>,
    frees: Fifo<Bits<10>, 10>,
    queue: Fifo<PacketDesc, 10>,
    front: Slice<Entry>,
    dropped: Reg<Bit>,
    reason: DFF<Bits<6>>,
    traced: Reg<JoinTrace>,
    commit_out_valid: Reg<Bit>,
    commit_out: DFF<PsnCommit>,
    report_out_valid: Reg<Bit>,
    report_out: DFF<PacketReport>,
}

impl IngressJoin {
    /// A join for a packet buffer of `cells` cells: that many frames can wait.
    pub fn new(cells: usize) -> Self {
        Self {
            frees: Fifo::with_depth(RamStyle::sparing(cells), cells),
            queue: Fifo::with_depth(RamStyle::sparing(cells), cells),
            ..Self::blank()
        }
    }
}

#[hdl]
impl IngressJoin {
    fn update(&mut self) {
        self.stored.write.next.pkt = self.written.pkt.val();
        self.stored.write.next.cells = self.written.cells.val();
        self.stored.write.next.overflow = self.written.overflow.val();
        self.stored.write.valid.next = self.written.valid.val();
        self.stored.read.ready.next = self.matched.valid.val();
        let cells = self.stored.read.val();
        let verdict = self.verdict.val();
        let refused = self.matched.drop.val() | verdict.drop;
        let pass = self.matched.valid.val() & !refused & !cells.overflow;
        let free = self.matched.valid.val() & refused & !cells.overflow;

        // Pass on: straight to the head when nothing waits in the queue.
        let empty = !self.queue.level.val().any();
        let straight = empty & self.front.write.ready.val();
        let mut joined: PacketDesc = self.matched.val();
        joined.sequenced = verdict.held;
        joined.pkt = cells.pkt;
        joined.cells = cells.cells;
        self.queue.write.offer(pass & !straight, joined);
        self.queue.read.ready.next = self.front.write.ready.val();
        let head = if empty { joined } else { self.queue.read.val() };
        self.front.write.next = Entry { packet: head, intake: intake_of(head) };
        self.front.write.valid.next = (empty & pass) | self.queue.read.valid.val();
        self.front.read.ready.next = self.packet.ready.val();
        self.packet.next = self.front.read.val().packet;
        self.packet_intake.next = self.front.read.val().intake;
        self.packet.valid.next = self.front.read.valid.val();

        // Drop.
        self.frees.write.offer(free, cells.pkt);
        self.frees.read.join(&mut self.free);
        self.dropped.d.next = self.matched.valid.val() & (refused | cells.overflow);
        let reason = if verdict.drop {
            zext::<6, 5>(verdict.reason)
        } else if self.matched.drop.val() {
            self.matched.reason.val()
        } else {
            bits::<6>(reasons::NO_BUFFER)
        };
        self.reason.d.next = reason;
        self.traced.d.next = JoinTrace {
            valid: self.matched.valid.val(),
            frame: self.matched.val().frame,
            ruled: self.matched.val().ruled,
            rule: self.matched.val().rule,
            action: self.matched.val().action,
            context: self.matched.val().context,
            dropped: refused | cells.overflow,
            reason,
        };
        // A control packet has taken its number; the number of a packet that is dropped is free again.
        self.commit_out_valid.d.next = self.matched.valid.val() & verdict.held & (refused | cells.overflow);
        self.commit_out.d.next = PsnCommit {
            accepted: verdict.control,
            peer: self.matched.val().src_nid.get_bits::<8>(0),
            psn: self.matched.val().psn.get_bits::<11>(0),
        };
        // Sources of sequenced packets get an answer: an acknowledgement for a duplicate or a control packet, else a refusal.
        let control = (reason == bits(reasons::CONTROL)) & (self.matched.val().opcode == bits(opcode::CTRL));
        let repeated = verdict.drop & ((reason == bits(reasons::DUPLICATE)) | control);
        let beyond = verdict.drop & (reason == bits(reasons::PSN_WINDOW));
        // The numbers that are kept in its entry are another node's, so its own says nothing.
        let stranger = verdict.drop & (reason == bits(reasons::NO_PEER));
        // No report comes of a reason of the parser, of which some have a sixth bit.
        let code = nack_code(reason.get_bits::<5>(0));
        let reports =
            self.matched.valid.val() & (refused | cells.overflow) & (verdict.held | repeated | beyond | stranger);
        self.report_out_valid.d.next = reports & (repeated | code.any());
        if reports {
            let matched = self.matched.val();
            self.report_out.d.next = PacketReport {
                node: matched.src_nid.get_bits::<8>(0),
                src_pid: matched.src_pid,
                dst_pid: matched.dst_pid,
                addr: if stranger {
                    (matched.src_nid, matched.addr.get_bits::<32>(0)).cat::<64>()
                } else {
                    matched.addr
                },
                msg_id: matched.msg_id,
                psn: matched.psn,
                code: code & repeat::<8>(!repeated),
                sequenced: !stranger,
                urgent: true,
                marked: matched.ecn == bits(ECN_MARKED),
                frame: matched.frame,
                ..Default::default()
            };
        }
        self.report.offer(self.report_out_valid.q.val(), self.report_out.q.val());
        self.psn_commit.offer(self.commit_out_valid.q.val(), self.commit_out.q.val());
        self.drop.offer(self.dropped.q.val(), self.reason.q.val());
        self.trace.next = self.traced.q.val();
    }
}
