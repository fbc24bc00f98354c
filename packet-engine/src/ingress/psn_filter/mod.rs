//! PSN filter: passes each sequence number of a peer once.
//!
//! | ports | neighbour |
//! |---|---|
//! | in `early_spindle`, `early_peer`, `early_row` | parser: the frame whose `parsed` comes in the next cycle; at most every second cycle |
//! | in `parsed`, `bad_icrc` | parser |
//! | out `verdict` | ingress join: with `matched_valid`, 2 cycles after `parsed_valid`; zero if the frame passes untouched |
//! | in `ingress_commit` | ingress join: a pulse for a control packet that took its number, and for a held packet that was dropped there |
//! | in `scheduler_commit` | scheduler: a pulse for every other held packet |
//! | in `peer_request` / out `peer_answer` | responder: reads a peer once all commits before have taken effect |
//! | in `enable`, `peer_query` | registers: [`sequencer`] |
//!
//! A packet with a number beyond those accepted from its peer is **held**: it passes with `sequenced` = 1, and no other packet
//! with its number does, until its PSN commit comes. If the packet was accepted, the number is used up; if it was refused, the
//! number is free again, so that a retransmission passes. The rules are in `docs/transport.md`.
//!
//! Two bits are kept for each of the 1024 numbers of a window: *seen* here, *accepted* in [`accepted`]. Bit p stands for
//! the numbers p modulo 1024. It is not cleared as the window moves on but changes its meaning from lap to lap: set = seen in the
//! laps with an even number, clear = seen in those with an odd one. So a base that is a few cycles old does no harm: a number
//! below the true one still reads as seen.
//!
//! ```text
//! cycle   -1            0                1                  2
//!         rows, peer,   distance, bit    verdict, row       verdict with
//!         base read     of the row       written            matched
//! ```
//!
//! Never stalls. Cycles that no Spindle packet needs (every second one at least) go to commits, then to the sequencer. A commit
//! takes effect for packets parsed 8 cycles later (a refusal: 6) when nothing else waits. Sequenced packets are dropped as
//! PSN_WINDOW until the tables are cleared: 17 cycles per peer after reset.

pub mod accepted;
pub mod sequencer;

use crate::{
    bundles::{HeadersSink, PeerQuerySink},
    schedule::message::PsnCommit,
};
use accepted::{AcceptedNumbers, AcceptedOp, ACCEPTED_CLEAR, ACCEPTED_MARK, ACCEPTED_READ};
use sequencer::{PeerAnswerSource, PeerEntry, PeerSequencer};
use spindle_blocks::{BlockFifo, Fifo, RamStyle, SdpMemory, Skid};
use spindle_contract::{
    params::Config,
    reasons,
    wire::{control, flag, opcode},
};
use spindle_verilog::prelude::*;

/// Rows of a window: 64 numbers each.
pub const ROWS: usize = spindle_contract::wire::PSN_WINDOW / 64;
const _: () = assert!(ROWS == 16, "a row's number has four bits");

/// [`SeenOp::kind`]: a packet; its row is written if it is held.
pub const SEEN_ARRIVE: u64 = 0;
/// [`SeenOp::kind`]: a number becomes free.
pub const SEEN_REFUSE: u64 = 1;
/// [`SeenOp::kind`]: the row becomes zero.
pub const SEEN_CLEAR: u64 = 2;
/// [`SeenOp::kind`]: the row and its peer are read.
pub const SEEN_READ: u64 = 3;

/// An operation on a row of seen numbers.
#[derive(LogicStruct, Copy, Clone, Debug, Default, PartialEq)]
pub struct SeenOp {
    /// One of the `SEEN_*` constants.
    pub kind: Bits<2>,
    /// Peer.
    pub peer: Bits<8>,
    /// Row.
    pub row: Bits<4>,
    /// Number in the row; of a packet it comes a cycle later.
    pub index: Bits<6>,
    /// Lowest bit of the number's lap.
    pub lap: Bit,
}

/// Facts about a packet before the verdict.
#[derive(LogicStruct, Copy, Clone, Debug, Default, PartialEq)]
pub struct Claim {
    /// Its number counts.
    sequenced: Bit,
    /// The packet is a NOP.
    nop: Bit,
    /// The packet is an OPEN.
    open: Bit,
    /// The packet is an ACK or a NACK that the sender takes.
    response: Bit,
    /// Source.
    node: Bits<32>,
    /// Incarnation that an OPEN carries.
    incarnation: Bits<32>,
    /// Its peer has its node.
    same: Bit,
    /// The peer table has no node in the entry.
    vacant: Bit,
    /// Its peer has that incarnation.
    same_incarnation: Bit,
    /// Its peer is being cleared.
    blocked: Bit,
    /// Its number, less the lowest that has not been accepted.
    distance: Bits<32>,
    /// Its bit in the row.
    level: Bit,
}

/// The verdict on a packet.
#[derive(LogicStruct, Copy, Clone, Debug, Default, PartialEq)]
pub struct PsnVerdict {
    /// The packet is dropped.
    pub drop: Bit,
    /// Why, if it is.
    pub reason: Bits<5>,
    /// Its number is held.
    pub held: Bit,
    /// The packet is a control packet and accepted as such; `drop` is set too.
    pub control: Bit,
}

/// A commit, or a request of the responder, which waits for the commits before it.
#[derive(LogicStruct, Copy, Clone, Debug, Default, PartialEq)]
pub struct QueuedCommit {
    commit: PsnCommit,
    query: Bit,
}

/// A row of seen numbers after an operation.
#[derive(LogicStruct, Copy, Clone, Debug, Default, PartialEq)]
struct SeenChange {
    /// The operation's bit of the row changes.
    changes: Bit,
    /// New value of that bit.
    value: Bit,
    row: Bits<64>,
}

/// See the head of this file.
#[block]
pub struct PsnFilter {
    /// A frame of at least two beats is a Spindle packet, malformed or not.
    pub early_spindle: Signal<In, Bit>,
    /// Low bits of its source.
    pub early_peer: Signal<In, Bits<8>>,
    /// Row of its number.
    pub early_row: Signal<In, Bits<4>>,
    /// Headers of a frame.
    pub parsed: HeadersSink,
    /// The ICRC of the frame whose headers came in the last cycle is wrong: it passes untouched, to be dropped.
    pub bad_icrc: Signal<In, Bit>,
    /// What becomes of it.
    pub verdict: Signal<Out, PsnVerdict>,
    /// Commit of a packet that ended in the ingress join.
    pub ingress_commit: PulseSink<PsnCommit>,
    /// Commit of any other held packet.
    pub scheduler_commit: PulseSink<PsnCommit>,
    /// Sequence numbers are filtered.
    pub enable: Signal<In, Bit>,
    /// Read of a peer by the registers.
    pub peer_query: PeerQuerySink,
    /// Acknowledgements and refusals are the sender's: they go no further.
    pub take_responses: Signal<In, Bit>,
    /// Peer that the responder reads.
    pub peer_request: Sink<Bits<8>>,
    /// What that peer has had accepted.
    pub peer_answer: PeerAnswerSource,
    /// With the answer: the entry belongs to a node.
    pub peer_answer_live: Signal<Out, Bit>,
    accepted: AcceptedNumbers,
    sequencer: PeerSequencer,
    seen: SdpMemory<Bits<64>, 12>,
    peers: SdpMemory<PeerEntry, 8>,
    bases: SdpMemory<Bits<32>, 8>,
    ingress_commits: Fifo<PsnCommit, 4>,
    /// As deep as the buffer has cells: every held packet has one. A request finds no room in a full queue and waits.
    scheduler_commits: BlockFifo<QueuedCommit, 10>,
    queued: Skid<QueuedCommit>,
    // Cycle 0: the memories have answered.
    looking: Reg<Bit>,
    look: DFF<SeenOp>,
    /// The operation one, two cycles before has the same row.
    after_near: Reg<Bit>,
    after_far: Reg<Bit>,
    // Cycle 1: the verdict.
    judging: Reg<Bit>,
    judged: DFF<SeenOp>,
    claim: DFF<Claim>,
    row: DFF<Bits<64>>,
    // Cycle 2.
    verdict_out: Reg<PsnVerdict>,
    last_row: DFF<Bits<64>>,
    /// This node became a peer in the last cycle.
    opened: Reg<Bit>,
    opened_node: DFF<Bits<32>>,
    _last: usize,
}

impl PsnFilter {
    /// A filter for the peers of `config`. Its windows lie in UltraRAM if they fill one.
    pub fn new(config: &Config) -> Self {
        let rows = config.peers * ROWS;
        let style = if rows >= 4096 { RamStyle::Ultra } else { RamStyle::Block };
        Self {
            accepted: AcceptedNumbers::new(config.peers, style, RamStyle::on(config, config.peers)),
            sequencer: PeerSequencer::new(config.peers),
            seen: SdpMemory::with_depth(style, 1, rows),
            scheduler_commits: BlockFifo::new(RamStyle::spare(config)),
            peers: SdpMemory::with_depth(RamStyle::on(config, config.peers), 1, config.peers),
            bases: SdpMemory::with_depth(RamStyle::on(config, config.peers), 1, config.peers),
            _last: config.peers - 1,
            ..Self::blank()
        }
    }
}

#[hdl]
impl PsnFilter {
    fn update(&mut self) {
        self.queue_commits();
        let commit = self.queued.read.val().commit;
        let known = self.queued.read.valid.val() & !self.queued.read.val().query;
        let refuses = known & !commit.accepted & !self.early_spindle.val();
        let marks = known & commit.accepted & self.accepted.ready.val();
        let queries =
            self.queued.read.valid.val() & self.queued.read.val().query & !self.sequencer.peer_request_busy.val();
        self.queued.read.ready.next = refuses | marks | queries;
        self.sequencer.peer_request.offer(queries, commit.peer & (self._last as u64));
        self.sequencer.seen_free.next = !self.early_spindle.val() & !refuses;
        self.sequencer.accepted_free.next = self.accepted.ready.val() & !marks;

        self.read_seen(commit, refuses);
        self.start_accepted(commit, marks);
        // Cycle 1 comes before cycle 0, which needs the new row.
        let pass = self.judge();
        let change = self.change_seen(pass);
        self.write_peers(pass);
        self.compare(change);
        self.serve_sequencer();
    }

    /// Queues commits and peer requests. Commits of the ingress join, of which there are few, go first. All pass a
    /// register, so that the queues do not see in the same cycle whether a packet comes.
    fn queue_commits(&mut self) {
        self.ingress_commits.write.offer(self.ingress_commit.valid.val(), self.ingress_commit.val());
        let commits = self.scheduler_commit.valid.val();
        let peer_query = PsnCommit { peer: self.peer_request.val(), ..Default::default() };
        self.scheduler_commits.write.next =
            QueuedCommit { commit: if commits { self.scheduler_commit.val() } else { peer_query }, query: !commits };
        self.scheduler_commits.write.valid.next = commits | self.peer_request.valid.val();
        self.peer_request.ready.next = !commits & self.scheduler_commits.write.ready.val();
        let from_ingress = self.ingress_commits.read.valid.val();
        self.queued.write.next = if from_ingress {
            QueuedCommit { commit: self.ingress_commits.read.val(), query: false }
        } else {
            self.scheduler_commits.read.val()
        };
        self.queued.write.valid.next = from_ingress | self.scheduler_commits.read.valid.val();
        self.ingress_commits.read.ready.next = self.queued.write.ready.val();
        self.scheduler_commits.read.ready.next = self.queued.write.ready.val() & !from_ingress;
    }

    /// Cycle -1: reads the seen row of a packet, of a refusal or of the sequencer's step.
    fn read_seen(&mut self, commit: PsnCommit, refuses: Bit) {
        let walk = self.sequencer.step.val();
        let mut op = SeenOp {
            kind: bits::<2>(SEEN_ARRIVE),
            peer: self.early_peer.val() & (self._last as u64),
            row: self.early_row.val(),
            ..Default::default()
        };
        if refuses {
            op = SeenOp {
                kind: bits::<2>(SEEN_REFUSE),
                peer: commit.peer & (self._last as u64),
                row: commit.psn.get_bits::<4>(6),
                index: commit.psn.get_bits::<6>(0),
                lap: commit.psn.get_bit(10),
            };
        } else if !self.early_spindle.val() {
            op = SeenOp {
                kind: if walk.clears { bits::<2>(SEEN_CLEAR) } else { bits::<2>(SEEN_READ) },
                peer: walk.peer,
                row: walk.row.get_bits::<4>(0),
                ..Default::default()
            };
        }
        let begins = self.early_spindle.val() | refuses | self.sequencer.seen_step.val();
        self.looking.d.next = begins;
        self.look.d.next = op;
        let row_address = (op.peer, op.row).cat::<12>();
        let look = self.look.q.val();
        let judged = self.judged.q.val();
        self.after_near.d.next = self.looking.q.val() & (row_address == (look.peer, look.row).cat::<12>());
        self.after_far.d.next = self.judging.q.val() & (row_address == (judged.peer, judged.row).cat::<12>());
        self.seen.read(begins, row_address);
        self.peers.read(begins, op.peer);
        self.bases.read(begins, op.peer);
    }

    /// Marks an accepted number, or carries out the sequencer's step.
    fn start_accepted(&mut self, commit: PsnCommit, marks: Bit) {
        let walk = self.sequencer.step.val();
        self.accepted.op.valid.next = marks | self.sequencer.accepted_step.val();
        self.accepted.op.next = if marks {
            AcceptedOp {
                kind: bits::<2>(ACCEPTED_MARK),
                peer: commit.peer & (self._last as u64),
                row: commit.psn.get_bits::<5>(6),
                index: commit.psn.get_bits::<6>(0),
            }
        } else {
            AcceptedOp {
                kind: if walk.clears { bits::<2>(ACCEPTED_CLEAR) } else { bits::<2>(ACCEPTED_READ) },
                peer: walk.peer,
                row: walk.row,
                index: walk.index,
            }
        };
    }

    /// Cycle 1: the verdict. Returns whether the packet passes and its number is held.
    fn judge(&mut self) -> Bit {
        let judged = self.judged.q.val();
        let claim = self.claim.q.val();
        let ours = claim.same | claim.vacant;
        let in_window = !claim.distance.get_bits::<22>(10).any();
        let below = claim.distance.get_bit(31);
        let fresh = claim.level == judged.lap;
        let arrives = self.judging.q.val() & (judged.kind == SEEN_ARRIVE) & !self.bad_icrc.val();
        let counts = arrives & claim.sequenced;
        let opens = arrives & claim.open;
        let responds = arrives & claim.response;
        let open_now = ours & !claim.blocked & self.sequencer.idle.val();
        let pass = counts & ours & !claim.blocked & in_window & fresh;
        self.verdict_out.d.next = PsnVerdict {
            drop: (counts & !pass) | (pass & claim.nop) | opens | responds,
            reason: if responds {
                bits::<5>(reasons::CONTROL)
            } else if !ours {
                bits::<5>(reasons::NO_PEER)
            } else if (pass & claim.nop) | (opens & open_now) {
                bits::<5>(reasons::CONTROL)
            } else if counts & !claim.blocked & (in_window | below) {
                bits::<5>(reasons::DUPLICATE)
            } else {
                bits::<5>(reasons::PSN_WINDOW)
            },
            held: pass,
            control: pass & claim.nop,
        };
        self.verdict.next = self.verdict_out.q.val();
        self.sequencer.open.next = opens & open_now & !(claim.same & claim.same_incarnation);
        self.sequencer.open_peer.next = judged.peer;
        self.sequencer.open_entry.next = PeerEntry { live: true, node: claim.node, incarnation: claim.incarnation };
        pass
    }

    /// Cycle 1: writes the row. A seen bit differs from the bit of its lap; a row that was only read stays the same.
    fn change_seen(&mut self, pass: Bit) -> SeenChange {
        let judged = self.judged.q.val();
        let changes = pass | (judged.kind == SEEN_REFUSE);
        let value = judged.lap ^ (judged.kind == SEEN_ARRIVE);
        let chosen = (bits::<64>(1) << judged.index) & repeat::<64>(changes);
        let row =
            ((self.row.q.val() & !chosen) | (repeat::<64>(value) & chosen)) & repeat::<64>(judged.kind != SEEN_CLEAR);
        self.last_row.d.next = row;
        self.seen.write_enable.next = self.judging.q.val() & (changes | (judged.kind == SEEN_CLEAR));
        self.seen.write_address.next = (judged.peer, judged.row).cat::<12>();
        self.seen.write_data.next = row;
        SeenChange { changes, value, row }
    }

    /// Cycle 1: a node's first packet makes it a peer.
    fn write_peers(&mut self, pass: Bit) {
        let claim = self.claim.q.val();
        let becomes = pass & claim.vacant;
        self.opened.d.next = becomes;
        self.opened_node.d.next = claim.node;
        self.peers.write_enable.next = becomes | self.sequencer.entry_write.val();
        self.sequencer.entry_free.next = !becomes;
        self.peers.write_address.next = if becomes { self.judged.q.val().peer } else { self.sequencer.step.val().peer };
        self.peers.write_data.next = if becomes {
            PeerEntry { live: true, node: claim.node, incarnation: bits::<32>(0) }
        } else {
            self.sequencer.entry.val()
        };
        self.bases.write(self.accepted.base_write.val(), self.accepted.base_peer.val(), self.accepted.base.val());
    }

    /// Cycle 0: compares the packet with its row, its peer and the base.
    fn compare(&mut self, change: SeenChange) {
        let look = self.look.q.val();
        let judged = self.judged.q.val();
        let walk = self.sequencer.step.val();
        let parsed = self.parsed.val();
        let entry = self.peers.read_data.val();
        let read_row = if self.after_near.q.val() {
            change.row
        } else if self.after_far.q.val() {
            self.last_row.q.val()
        } else {
            self.seen.read_data.val()
        };
        // The packet's bit of that row, taken before the verdict is there, which comes last of all.
        let number = parsed.psn.get_bits::<6>(0);
        let near_level = if judged.kind == SEEN_CLEAR {
            false
        } else if change.changes & (judged.index == number) {
            change.value
        } else {
            self.row.q.val().get_bit(number.index())
        };
        let far_level = if self.after_far.q.val() {
            self.last_row.q.val().get_bit(number.index())
        } else {
            self.seen.read_data.val().get_bit(number.index())
        };
        let arriving = look.kind == SEEN_ARRIVE;
        let spindle = self.parsed.valid.val() & !self.parsed.drop.val() & parsed.is_spindle;
        let filtered = spindle & self.enable.val();
        let carries = (parsed.opcode == bits(opcode::PUT))
            | (parsed.opcode == bits(opcode::GET))
            | (parsed.opcode == bits(opcode::GET_RESP));
        let unseq = (parsed.flags & bits(flag::UNSEQ)).any();
        let nop = (parsed.opcode == bits(opcode::CTRL)) & (parsed.msg_id == bits(control::NOP));
        let peer = parsed.src_nid.get_bits::<8>(0) & (self._last as u64);
        let opened_node = self.opened_node.q.val();
        let just_opened = self.opened.q.val() & (opened_node.get_bits::<8>(0) & (self._last as u64) == peer);
        self.claim.d.next = Claim {
            sequenced: filtered & ((carries & !unseq) | nop),
            nop,
            open: filtered & (parsed.opcode == bits(opcode::CTRL)) & (parsed.msg_id == bits(control::OPEN)),
            response: spindle
                & self.take_responses.val()
                & ((parsed.opcode == bits(opcode::ACK)) | (parsed.opcode == bits(opcode::NACK))),
            node: parsed.src_nid,
            incarnation: parsed.key,
            same: (entry.live & (entry.node == parsed.src_nid))
                | (self.opened.q.val() & (opened_node == parsed.src_nid)),
            vacant: !entry.live & !just_opened,
            same_incarnation: entry.incarnation == parsed.key,
            blocked: !self.sequencer.cleared.val() | (self.sequencer.opening.val() & (walk.peer == peer)),
            distance: parsed.psn - self.bases.read_data.val(),
            level: if self.after_near.q.val() { near_level } else { far_level },
        };
        self.judging.d.next = self.looking.q.val();
        self.judged.d.next = look;
        if arriving {
            self.judged.d.next.index = number;
            self.judged.d.next.lap = parsed.psn.get_bit(10);
        }
        self.row.d.next = read_row;
    }

    /// What the sequencer reads, and what it read.
    fn serve_sequencer(&mut self) {
        self.sequencer.entry_read.next = self.peers.read_data.val();
        self.sequencer.base_read.next = self.bases.read_data.val();
        self.sequencer.rows_differ.next = self.row.q.val() != self.accepted.row.val();
        self.sequencer.was_accepted.next = self.accepted.was_accepted.val();
        self.sequencer.base_advances.next = self.accepted.advances.val();
        self.sequencer.query.next = self.peer_query.start.val();
        self.sequencer.query_peer.next = self.peer_query.peer.val() & (self._last as u64);
        self.sequencer.queried_entry.join(&mut self.peer_query);
        self.sequencer.peer_answer.join(&mut self.peer_answer);
        self.peer_answer_live.next = self.sequencer.peer_answer_live.val();
    }
}
