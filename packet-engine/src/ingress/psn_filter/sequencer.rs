//! Operations on a peer that take many steps: clearing all peers after reset, opening a peer, reading a peer.
//!
//! | ports | neighbour |
//! |---|---|
//! | out `step`, `seen_step`, `accepted_step` | filter: the step is made on the seen row, the accepted row or both in this cycle |
//! | in `seen_free`, `accepted_free` | filter: the rows are free for a step |
//! | in `base_advances` | filter: no peer is read, since its base may be about to move on, for 3 cycles for each row |
//! | in `entry_read`, `base_read` (1 cycle later), `rows_differ`, `was_accepted` (2 cycles later) | filter: what a step read |
//! | out `entry`, `entry_write` / in `entry_free` | filter: new entry of the peer `step.peer` |
//! | in `open`, `open_peer`, `open_entry` / out `idle` | filter: an OPEN, only while `idle` |
//! | out `opening`, `cleared` | filter: the peer `step.peer` is closed; the clearing after reset is over |
//! | in `query`, `query_peer` / out `queried_entry` | registers |
//! | in `peer_request` / out `peer_request_busy`, `peer_answer` | responder |
//!
//! Opening: the peer's rows are compared until no number is held any more, since the commits of held packets would count in the new
//! window; then they are cleared, then the entry is written. Packets pass that are announced 35 cycles after the verdict on the
//! OPEN, when no number is held and nothing else happens. Reading takes 70 cycles; an OPEN interrupts a reading, which then
//! begins again.

use crate::bundles::PeerEntrySource;
use spindle_verilog::prelude::*;

/// An entry of the peer table.
#[derive(LogicStruct, Copy, Clone, Debug, Default, PartialEq)]
pub struct PeerEntry {
    /// The entry belongs to a node.
    pub live: Bit,
    /// That node.
    pub node: Bits<32>,
    /// Incarnation; 0 without an OPEN.
    pub incarnation: Bits<32>,
}

/// What a peer has had accepted, as the responder reads it.
#[bundle(mirror = PeerAnswerSink)]
pub struct PeerAnswerSource {
    /// The answer to the last request (pulse); the rest stays until the next request.
    pub valid: Signal<Out, Bit>,
    /// Lowest number that has not been accepted.
    pub expected: Signal<Out, Bits<32>>,
    /// Bit i: that number + i has been accepted.
    pub selective: Signal<Out, Bits<64>>,
}

/// A step.
#[derive(LogicStruct, Copy, Clone, Debug, Default, PartialEq)]
pub struct Step {
    /// The row is cleared; else read.
    pub clears: Bit,
    /// Peer.
    pub peer: Bits<8>,
    /// Row, and the lowest bit of its lap above it.
    pub row: Bits<5>,
    /// Number in the row.
    pub index: Bits<6>,
}

/// What the sequencer does.
#[derive(LogicState, Copy, Clone, Debug, PartialEq)]
enum Phase {
    /// Rows are cleared.
    Clear,
    /// The entry is written.
    Write,
    /// Nothing.
    Idle,
    /// Rows are compared.
    Compare,
    /// The last comparison comes.
    Compared,
    /// A peer that was asked for is read.
    Read,
    /// Its entry comes.
    Entry,
    /// Its bits come.
    Collect,
    /// The last bits come.
    Collected,
}

const LAST_ROW: u64 = 15;

/// See the head of this file.
#[block]
pub struct PeerSequencer {
    /// The step.
    pub step: Signal<Out, Step>,
    /// The step is made on the seen row.
    pub seen_step: Signal<Out, Bit>,
    /// The step is made on the accepted row.
    pub accepted_step: Signal<Out, Bit>,
    /// The seen rows are free.
    pub seen_free: Signal<In, Bit>,
    /// The accepted rows are free.
    pub accepted_free: Signal<In, Bit>,
    /// A base is on its way from row to row.
    pub base_advances: Signal<In, Bit>,
    /// Entry of a peer that was read.
    pub entry_read: Signal<In, PeerEntry>,
    /// Its base.
    pub base_read: Signal<In, Bits<32>>,
    /// Its seen and accepted rows differ.
    pub rows_differ: Signal<In, Bit>,
    /// Its number was accepted.
    pub was_accepted: Signal<In, Bit>,
    /// Entry to write.
    pub entry: Signal<Out, PeerEntry>,
    /// Write it.
    pub entry_write: Signal<Out, Bit>,
    /// The entry can be written.
    pub entry_free: Signal<In, Bit>,
    /// Open a peer.
    pub open: Signal<In, Bit>,
    /// Peer to open.
    pub open_peer: Signal<In, Bits<8>>,
    /// Its entry.
    pub open_entry: Signal<In, PeerEntry>,
    /// An OPEN can be taken.
    pub idle: Signal<Out, Bit>,
    /// The peer of the step is closed.
    pub opening: Signal<Out, Bit>,
    /// The clearing after reset is over.
    pub cleared: Signal<Out, Bit>,
    /// Read the entry of `query_peer`.
    pub query: Signal<In, Bit>,
    /// Entry that the registers read.
    pub query_peer: Signal<In, Bits<8>>,
    /// That entry.
    pub queried_entry: PeerEntrySource,
    /// Peer that the responder reads; only while not `peer_request_busy`.
    pub peer_request: PulseSink<Bits<8>>,
    /// The peer has not been read yet.
    pub peer_request_busy: Signal<Out, Bit>,
    /// What the peer has had accepted.
    pub peer_answer: PeerAnswerSource,
    /// With the answer: the entry belongs to a node.
    pub peer_answer_live: Signal<Out, Bit>,
    phase: Reg<Phase>,
    peer: Reg<Bits<8>>,
    /// Row, or number of the bit.
    count: Reg<Bits<6>>,
    entry_new: Reg<PeerEntry>,
    opens: Reg<Bit>,
    /// `opens`, delayed by one cycle: a packet may have read the entry before it was written.
    opened: Reg<Bit>,
    all_clear: Reg<Bit>,
    /// A comparison comes in two cycles, in one.
    comparing: [Reg<Bit>; 2],
    /// One found a difference.
    differs: Reg<Bit>,
    queried: Reg<Bit>,
    queried_peer: Reg<Bits<8>>,
    /// The responder's request, and whether it is the one that is being answered.
    requested: Reg<Bit>,
    requested_peer: Reg<Bits<8>>,
    for_responder: Reg<Bit>,
    answered: Reg<Bit>,
    /// What the registers show.
    shown_live: Reg<Bit>,
    shown_node: Reg<Bits<32>>,
    shown_expected: Reg<Bits<32>>,
    shown_selective: Reg<Bits<64>>,
    live: Reg<Bit>,
    node: Reg<Bits<32>>,
    expected: Reg<Bits<32>>,
    /// Low bits of the number whose bit is read.
    number: Reg<Bits<11>>,
    selective: Reg<Bits<64>>,
    /// A bit comes in two cycles, in one.
    coming: [Reg<Bit>; 2],
    _last: usize,
}

impl PeerSequencer {
    /// A sequencer of `peers` peers.
    pub fn new(peers: usize) -> Self {
        Self { _last: peers - 1, ..Self::blank() }
    }
}

#[hdl]
impl PeerSequencer {
    fn update(&mut self) {
        let phase = self.phase.q.val();
        let both_free = self.seen_free.val() & self.accepted_free.val();
        let last_row = self.count.q.val() == LAST_ROW;

        self.opened.d.next = self.opens.q.val();
        self.comparing[0].d.next = false;
        self.comparing[1].d.next = self.comparing[0].q.val();
        let differs = self.differs.q.val() | (self.comparing[1].q.val() & self.rows_differ.val());
        self.differs.d.next = differs;
        self.coming[0].d.next = false;
        self.coming[1].d.next = self.coming[0].q.val();
        if self.coming[1].q.val() {
            // The bit of the base comes first and ends lowest.
            self.selective.d.next = (self.was_accepted.val(), self.selective.q.val().get_bits::<63>(1)).cat::<64>();
        }
        if self.query.val() {
            self.queried.d.next = true;
            self.queried_peer.d.next = self.query_peer.val();
        }
        if self.peer_request.valid.val() {
            self.requested.d.next = true;
            self.requested_peer.d.next = self.peer_request.val();
        }
        self.answered.d.next = false;

        let mut seen_step: Bit = false;
        let mut accepted_step: Bit = false;
        match phase {
            Phase::Clear => {
                seen_step = both_free;
                accepted_step = both_free;
                if both_free {
                    self.count.d.next = if last_row { bits::<6>(0) } else { self.count.q.val() + 1 };
                    self.phase.load(last_row, Phase::Write);
                }
            }
            Phase::Write => {
                if self.entry_free.val() {
                    self.phase.d.next = Phase::Clear;
                    if self.all_clear.q.val() {
                        self.phase.d.next = Phase::Idle;
                        self.opens.d.next = false;
                    } else {
                        self.peer.d.next = self.peer.q.val() + 1;
                        if self.peer.q.val() == self._last as u64 {
                            self.phase.d.next = Phase::Idle;
                            self.all_clear.d.next = true;
                        }
                    }
                }
            }
            Phase::Idle => {
                self.for_responder.d.next = self.requested.q.val();
                if self.requested.q.val() {
                    self.phase.d.next = Phase::Read;
                    self.peer.d.next = self.requested_peer.q.val();
                } else if self.queried.q.val() {
                    self.phase.d.next = Phase::Read;
                    self.peer.d.next = self.queried_peer.q.val();
                }
            }
            Phase::Compare => {
                seen_step = both_free;
                accepted_step = both_free;
                self.comparing[0].d.next = both_free;
                if both_free {
                    self.count.d.next = if last_row { bits::<6>(0) } else { self.count.q.val() + 1 };
                    self.phase.load(last_row, Phase::Compared);
                }
            }
            Phase::Compared => {
                if !self.comparing[0].q.val() {
                    self.differs.d.next = false;
                    self.phase.d.next = if differs { Phase::Compare } else { Phase::Clear };
                }
            }
            Phase::Read => {
                // A base between two rows would leave out what has been accepted of the next one, and no later answer might come.
                seen_step = self.seen_free.val() & !self.base_advances.val();
                self.phase.load(seen_step, Phase::Entry);
            }
            Phase::Entry => {
                self.live.d.next = self.entry_read.val().live;
                self.node.d.next = self.entry_read.val().node;
                self.expected.d.next = self.base_read.val();
                self.number.d.next = self.base_read.val().get_bits::<11>(0);
                self.phase.d.next = Phase::Collect;
            }
            Phase::Collect => {
                accepted_step = self.accepted_free.val();
                self.coming[0].d.next = self.accepted_free.val();
                if self.accepted_free.val() {
                    self.number.d.next = self.number.q.val() + 1;
                    self.count.d.next = self.count.q.val() + 1;
                    self.phase.load(self.count.q.val().all(), Phase::Collected);
                }
            }
            Phase::Collected => {
                if !self.coming[0].q.val() & !self.coming[1].q.val() {
                    self.phase.d.next = Phase::Idle;
                    if self.for_responder.q.val() {
                        self.requested.d.next = false;
                        self.answered.d.next = true;
                    } else {
                        self.queried.d.next = self.query.val();
                        self.shown_live.d.next = self.live.q.val();
                        self.shown_node.d.next = self.node.q.val();
                        self.shown_expected.d.next = self.expected.q.val();
                        self.shown_selective.d.next = self.selective.q.val();
                    }
                }
            }
        }
        // An OPEN interrupts a reading, which begins again afterwards.
        let can_open = (phase == Phase::Idle) | (phase == Phase::Read) | (phase == Phase::Collect);
        if self.open.val() & can_open {
            self.phase.d.next = Phase::Compare;
            self.count.d.next = bits::<6>(0);
            self.peer.d.next = self.open_peer.val();
            self.entry_new.d.next = self.open_entry.val();
            self.opens.d.next = true;
        }
        self.seen_step.next = seen_step;
        self.accepted_step.next = accepted_step;
        self.idle.next = can_open;
        self.show(phase);
    }

    /// The step, and what was read.
    fn show(&mut self, phase: Phase) {
        let number = self.number.q.val();
        let collects = phase == Phase::Collect;
        self.step.next = Step {
            clears: phase == Phase::Clear,
            peer: self.peer.q.val(),
            row: if collects { number.get_bits::<5>(6) } else { self.count.q.val().get_bits::<5>(0) },
            index: number.get_bits::<6>(0),
        };
        self.entry.next = self.entry_new.q.val();
        self.entry_write.next = phase == Phase::Write;
        self.opening.next = self.opens.q.val() | self.opened.q.val();
        self.cleared.next = self.all_clear.q.val();
        self.queried_entry.busy.next = self.queried.q.val();
        self.queried_entry.live.next = self.shown_live.q.val();
        self.queried_entry.node.next = self.shown_node.q.val();
        self.queried_entry.expected.next = self.shown_expected.q.val();
        self.queried_entry.selective.next = self.shown_selective.q.val();
        self.peer_request_busy.next = self.requested.q.val();
        self.peer_answer.valid.next = self.answered.q.val();
        self.peer_answer_live.next = self.live.q.val();
        self.peer_answer.expected.next = self.expected.q.val();
        self.peer_answer.selective.next = self.selective.q.val();
    }
}
