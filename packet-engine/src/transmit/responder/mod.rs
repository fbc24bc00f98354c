//! Responder: acknowledges packets to their sources, and refuses others.
//!
//! | ports | neighbour |
//! |---|---|
//! | in `ingress_report` | ingress join: reports of frames that end there, a pulse, at most every second cycle |
//! | in `scheduler_report` | scheduler: reports of the others, a pulse |
//! | out `peer_request` / in `peer_answer` | PSN filter: what a source has had accepted |
//! | out `job` | initiator: acknowledgements and refusals |
//! | in `control` | registers |
//!
//! An **acknowledgement** is due for a packet with the flag ACK_REQ, for a duplicate, for a control packet, and for every
//! `control.every`-th accepted packet of a source since its last acknowledgement. It is also due for the packet that fills the first
//! hole of that acknowledgement: if that packet was the last one, the sender would learn of it only by a timeout. A source with an
//! acknowledgement due takes its turn in a queue; the same acknowledgement covers what it sends until then, and the echoed fields
//! are those of its last report. A **refusal** is about one packet and goes before acknowledgements; it is withheld if the last
//! refusal to that source is not `control.nack_gap` times 64 cycles ago; time begins again every 2^22 cycles, so a refusal that
//! comes so many cycles after the last one, or up to the gap more, is withheld as well. Both carry what has been accepted, if the
//! packet is sequenced. Nothing is sent while `control.enable` is low.
//!
//! Accepted packets that a switch has marked are counted for each source, and an acknowledgement carries the count, so that none is
//! forgotten with an acknowledgement that is lost. Its flag ECN_ECHO says that there were marks since the last acknowledgement.
//!
//! A report is taken in one cycle. 16 refusals and 16 of the scheduler's reports can wait; further ones are lost, and the source
//! sends again. The last accepted report of each source and the waiting refusals share a memory with one write port and one read
//! port. From a report to `job_valid`: [`LATENCY`] cycles when nothing else waits (70 of them the PSN filter's; a refusal of an
//! unsequenced packet: 3). One answer at a time: an acknowledgement every 80 cycles at most.
//! After reset the tables are cleared for 256 cycles; reports are lost meanwhile.

pub mod types;

use crate::bundles::AckControlSink;
use crate::ingress::psn_filter::sequencer::PeerAnswerSink;
use spindle_blocks::{BlockFifo, Fifo, FrameJob, PacketReport, RamStyle, SdpMemory};
use spindle_verilog::prelude::*;
pub use types::nack_code;
use types::{reply_of, AckState, Echo, Refusal, Responding};

/// Cycles from a report to the acknowledgement that is due for it.
pub const LATENCY: usize = 79;
/// Places of refusals in the memory of reports begin here.
const REFUSALS: u64 = 256;
const REFUSALS_HIGH: u64 = REFUSALS / 16;

/// See the head of this file.
#[block]
pub struct Responder {
    /// Report of a frame that ended in the ingress join.
    pub ingress_report: PulseSink<PacketReport>,
    /// Report of any other frame.
    pub scheduler_report: PulseSink<PacketReport>,
    /// Configuration, and what was sent.
    pub control: AckControlSink,
    /// Peer to read.
    pub peer_request: Source<Bits<8>>,
    /// What that peer has had accepted.
    pub peer_answer: PeerAnswerSink,
    /// Frame to send.
    pub job: Source<FrameJob>,
    scheduler_reports: Fifo<PacketReport, 4>,
    refusals: Fifo<Refusal, 4>,
    /// Where the next refusal is kept.
    refusal_index: Reg<Bits<4>>,
    ack_queue: BlockFifo<Bits<8>, 10>,
    ack_states: SdpMemory<AckState, 8>,
    /// Time of the last refusal to a source.
    stamps: SdpMemory<Bits<16>, 8>,
    /// What was written to `ack_states` in the last cycle was read in the same one.
    state_fresh: Reg<Bit>,
    state_written: DFF<AckState>,
    /// So was what was written to `stamps`.
    stamp_fresh: Reg<Bit>,
    /// The time, in units of 64 cycles.
    now_kept: DFF<Bits<16>>,
    /// `nack_gap` before it.
    limit: DFF<Bits<16>>,
    /// Time began again between the two.
    wraps: DFF<Bit>,
    /// They differ.
    limited: DFF<Bit>,
    /// The last accepted report of each source, and after these the refusals.
    kept: SdpMemory<PacketReport, 9>,
    /// Entries that have been cleared after reset.
    cleared: Reg<Bits<9>>,
    /// Time in cycles; from the middle of its range, so that no stamp looks recent.
    ticks: Reg<Bits<22>>,
    report: DFF<PacketReport>,
    reported: Reg<Bit>,
    state: Reg<Responding>,
    peer: DFF<Bits<8>>,
    /// While a source is being answered: more of it has been accepted.
    more: Reg<Bit>,
    /// The lowest number of that.
    lowest: DFF<Bits<11>>,
    /// The answer is a refusal.
    refusing: Reg<Bit>,
    /// What the acknowledgement says of marks.
    echo: DFF<Echo>,
    ack_out: Reg<Bit>,
    nack_out: Reg<Bit>,
    withheld: Reg<Bit>,
}

impl Responder {
    /// A responder that keeps what it has to answer in a memory of this kind.
    pub fn new(style: RamStyle) -> Self {
        Self {
            ack_queue: BlockFifo::new(style),
            ack_states: SdpMemory::new(style, 1),
            stamps: SdpMemory::new(style, 1),
            kept: SdpMemory::with_depth(style, 1, REFUSALS as usize + 16),
            ticks: Reg::new(bits::<22>(1 << 21)),
            ..Self::blank()
        }
    }
}

#[hdl]
impl Responder {
    fn update(&mut self) {
        let state = self.state.q.val();
        let ready = self.cleared.q.val().get_bit(8);
        let fetches = state == Responding::Fetch;
        let report_out = self.kept.read_data.val();
        let refusal = self.refusing.q.val();

        // Take a report: the join's at once, the scheduler's when there is none and no source leaves the queue.
        self.scheduler_reports.write.next = self.scheduler_report.val();
        self.scheduler_reports.write.valid.next = self.scheduler_report.valid.val() & self.control.enable.val();
        let from_scheduler = !self.ingress_report.valid.val() & !fetches;
        self.scheduler_reports.read.ready.next = from_scheduler;
        let comes = self.control.enable.val()
            & ready
            & (self.ingress_report.valid.val() | (from_scheduler & self.scheduler_reports.read.valid.val()));
        self.reported.d.next = comes;
        let incoming =
            if self.ingress_report.valid.val() { self.ingress_report.val() } else { self.scheduler_reports.read.val() };
        self.report.load(comes, incoming);
        // What is due to its source is read meanwhile; without a report, to the source that is being answered or is the next one.
        let chooses = state == Responding::Choose;
        let next_node = if comes {
            incoming.node
        } else if chooses {
            self.ack_queue.read.val()
        } else {
            self.peer.q.val()
        };
        let answering = chooses | fetches | (state == Responding::Wait) | (state == Responding::Note);
        self.ack_states.read(comes | answering, next_node);
        self.stamps.read(comes, next_node);

        // What it means.
        let report = self.report.q.val();
        let reported = self.reported.q.val();
        let accepted = reported & !report.code.any();
        let refused = reported & report.code.any();
        // Without a report: of the source that is being answered.
        let node = if reported { report.node } else { self.peer.q.val() };
        let ack_state =
            if self.state_fresh.q.val() { self.state_written.q.val() } else { self.ack_states.read_data.val() };
        let count = ack_state.count + 1;
        let marked = report.marked & report.sequenced;
        // Numbers in a circle of twice the window.
        let psn = report.psn.get_bits::<11>(0);
        let fills = ack_state.hole & report.sequenced & (psn == ack_state.missing);
        let answers = report.urgent | fills | (count >= self.control.every.val());
        let notes = (state == Responding::Note) & !reported;
        let hole = self.peer_answer.selective.val().any();
        let missing = self.peer_answer.expected.val().get_bits::<11>(0);
        // What came while the answer was made is not in it: if the first hole was filled, the lowest number of that is not above it.
        let returns = notes & hole & self.more.q.val() & !(missing - self.lowest.q.val()).get_bit(10);
        self.ack_queue.write.offer(((accepted & answers) | returns) & !ack_state.queued, node);
        self.ticks.d.next = self.ticks.q.val() + 1;
        let now = self.ticks.q.val().get_bits::<16>(6);
        let since = now - self.control.nack_gap.val();
        self.now_kept.d.next = now;
        self.limit.d.next = since;
        self.wraps.d.next = now < since;
        self.limited.d.next = self.control.nack_gap.val().any();
        // A refusal is recent if its time is after the limit and not after now: two parallel comparisons.
        let stamp = self.stamps.read_data.val();
        let after_limit = stamp > self.limit.q.val();
        let not_later = stamp <= self.now_kept.q.val();
        let recent = if self.stamp_fresh.q.val() {
            self.limited.q.val()
        } else if self.wraps.q.val() {
            after_limit | not_later
        } else {
            after_limit & not_later
        };
        let passes = refused & !recent;
        let index = self.refusal_index.q.val();
        self.refusals.write.offer(passes, Refusal { index, sequenced: report.sequenced });
        let kept = passes & self.refusals.write.ready.val();
        self.refusal_index.load(kept, index + 1);
        self.kept.write_enable.next = accepted | kept;
        self.kept.write_address.next =
            if refused { (bits::<5>(REFUSALS_HIGH), index).cat::<9>() } else { (false, report.node).cat::<9>() };
        self.kept.write_data.next = report;
        self.withheld.d.next = refused & !kept;
        self.control.nack_withheld.next = self.withheld.q.val();
        let clears = !ready;
        self.cleared.load(clears, self.cleared.q.val() + 1);
        self.stamps.write_enable.next = kept | clears;
        self.stamps.write_address.next = if clears { self.cleared.q.val().get_bits::<8>(0) } else { report.node };
        self.stamps.write_data.next = self.now_kept.q.val() & repeat::<16>(!clears);
        self.stamp_fresh.d.next = kept & (report.node == next_node);

        if accepted & report.sequenced & (report.node == self.peer.q.val()) {
            self.more.d.next = true;
            self.lowest.load(!self.more.q.val() | (psn - self.lowest.q.val()).get_bit(10), psn);
        }

        // Whom to answer. A source leaves the queue before the PSN filter is asked: what comes later is due anew.
        let leaves = fetches & !reported;
        self.ack_states.write_enable.next = accepted | leaves | notes | clears;
        self.ack_states.write_address.next = if clears { self.cleared.q.val().get_bits::<8>(0) } else { node };
        let mut changed: AckState = AckState::default();
        if accepted {
            changed = AckState {
                queued: ack_state.queued | answers,
                count: if answers { bits::<6>(0) } else { count },
                hole: ack_state.hole & !fills,
                missing: ack_state.missing,
                echo: ack_state.echo | marked,
                marks: ack_state.marks + bit_cast::<8, 1>(marked.into()),
            };
        } else if notes {
            changed = AckState {
                queued: ack_state.queued | returns,
                count: if returns { bits::<6>(0) } else { ack_state.count },
                hole: hole & !returns,
                missing,
                echo: false,
                marks: ack_state.marks,
            };
        } else if leaves {
            changed = AckState { echo: ack_state.echo, marks: ack_state.marks, ..Default::default() };
        }
        self.echo.load(notes, Echo { fresh: ack_state.echo, count: ack_state.marks });
        self.ack_states.write_data.next = changed;
        self.state_written.d.next = changed;
        self.state_fresh.d.next = (accepted | leaves | notes) & (node == next_node);
        let refuses = self.refusals.read.valid.val();
        self.refusals.read.ready.next = chooses;
        self.ack_queue.read.ready.next = chooses & !refuses;
        // Fetched until the source leaves the queue, so that its very last report is what stays.
        self.kept.read_enable.next = (chooses & (refuses | self.ack_queue.read.valid.val())) | fetches;
        self.kept.read_address.next = if chooses & refuses {
            (bits::<5>(REFUSALS_HIGH), self.refusals.read.val().index).cat::<9>()
        } else {
            (false, if chooses { self.ack_queue.read.val() } else { self.peer.q.val() }).cat::<9>()
        };
        self.step(refuses, leaves, notes);

        // The answer.
        let offers = state == Responding::Offer;
        self.peer_request.offer(state == Responding::Request, report_out.node);
        self.job.valid.next = offers;
        self.job.next = reply_of(
            report_out,
            refusal,
            self.peer_answer.expected.val(),
            self.peer_answer.selective.val(),
            self.echo.q.val(),
        );
        self.ack_out.d.next = offers & self.job.ready.val() & !refusal;
        self.nack_out.d.next = offers & self.job.ready.val() & refusal;
        self.control.sent.next = self.ack_out.q.val();
        self.control.nack_sent.next = self.nack_out.q.val();
    }

    /// The next state.
    fn step(&mut self, refuses: Bit, leaves: Bit, notes: Bit) {
        match self.state.q.val() {
            Responding::Choose => {
                self.refusing.d.next = refuses;
                self.peer.d.next = self.ack_queue.read.val();
                if refuses {
                    self.state.d.next =
                        if self.refusals.read.val().sequenced { Responding::Request } else { Responding::Offer };
                } else if self.ack_queue.read.valid.val() {
                    self.state.d.next = Responding::Fetch;
                }
            }
            Responding::Fetch => {
                if leaves {
                    self.more.d.next = false;
                    self.state.d.next = Responding::Request;
                }
            }
            Responding::Request => {
                self.state.load(self.peer_request.ready.val(), Responding::Wait);
            }
            Responding::Wait => {
                if self.peer_answer.valid.val() {
                    self.state.d.next = if self.refusing.q.val() { Responding::Offer } else { Responding::Note };
                }
            }
            Responding::Note => {
                self.state.load(notes, Responding::Offer);
            }
            Responding::Offer => {
                self.state.load(self.job.ready.val(), Responding::Choose);
            }
        }
    }
}
