//! Reliable sender: puts and gets of the host side leave with sequence numbers, and are sent again until they are acknowledged.
//!
//! | ports | neighbour |
//! |---|---|
//! | in `put` | array, RVMA engine: puts from host memory, gets and answers to gets |
//! | out `job` | planner of the host side: segments, NOPs, OPENs, and puts that are not sequenced |
//! | in `parsed`, `bad_icrc` | parser: all frames; acknowledgements and refusals are taken a cycle later, if their ICRC is not wrong |
//! | in `lost` | framer: the data of a segment cannot be read, or its node does not exist |
//! | out `done` | array: a put is over; of one of a packet, the framer says so |
//! | out `put_event` | RVMA engine: the end of a put of the host, for the ring of its process |
//! | in `enable`, `timeout`, `hole_time`, `retries`, `limit`, `incarnation`, `turns` / out `resent`, `refused`, `refusal` | registers |
//!
//! A put with the flag UNSEQ, and every put while `enable` is low, passes unchanged. The others are cut into segments here. Each
//! segment takes the next number of its destination and a **record**: 1024 in all, in a list per destination. An acknowledgement
//! frees the records below its number and marks those of its bitmap. A record is sent again when
//!
//! * the bitmap shows that a later one arrived, and it was sent at least `hole_time` ago;
//! * it was refused permanently: its put has failed, and a NOP takes its number;
//! * nothing was acknowledged for `timeout`: the oldest 16, with congestion windows the oldest one; the time doubles, up to 8 times.
//!
//! If the oldest record itself is marked, the acknowledgement that would free it is lost: a NOP with its number, which has been
//! accepted, probes for another one. A NOP, since the put of a marked record may be over, and its slot another put's.
//!
//! After `retries` of these timeouts the destination is given up: its puts fail, and a new incarnation is opened before the next
//! put. A put is over when all its segments are acknowledged; it has failed if one was refused permanently. A refusal for lack of
//! a buffer, or because the destination is busy, is permanent when the put is older than `limit`.
//!
//! The end of a put of a packet is a job: it follows the frames of the put that are still on their way to the framer, since a put can be
//! acknowledged while a repeated segment waits there, and the packet's cells return with the end.
//!
//! One task at a time: acknowledgements, failed reads, timers, then the next segment. A change of a record or a put takes two
//! cycles: the put's state is looked up, then it is changed. New segments and repeated ones become a job in the same way, from the
//! record and the put's entry: AGAIN, HIGH, JOB. Cycles:
//!
//! | what | cycles |
//! |---|---|
//! | a put that passes | 4 |
//! | a segment | 7 |
//! | an acknowledgement | 6, and 2 per record that is looked at |
//! | more for the record that is refused | 1 |
//! | more per record that is sent again | 3 |
//! | more per put that ends | 2 |
//!
//! 16 acknowledgements wait, more are lost. Every 16 cycles the timer of one of 256 destinations is checked. After reset no put is
//! taken for 1024 cycles. Puts begin in order, 64 at a time.
//!
//! Up to `turns` puts take turns: each has a segment sent, or finds that its destination's window is full, and the next one has its
//! turn. The others wait in `waiting`, and a put that begins goes to their end. With `turns` 1, as after reset, a put is sent to its end
//! before the next one begins, and one whose destination has a full window holds up the following ones. A turn that passes to another
//! put takes 3 cycles; a put alone takes none. Puts that pass take no turns.

pub mod congestion_window;
pub mod types;

use crate::bundles::HeadersSink;
use crate::transmit::initiator::frame_head::is_of_packet;
use congestion_window::{CongestionWindow, WindowSettings, WindowStep};
use spindle_blocks::{BlockFifo, EventDesc, Fifo, FrameJob, LutMemory, PutDesc, PutDone, RamStyle, SdpMemory};
use spindle_contract::{
    descriptors::put_op,
    params::SEGMENT_BYTES,
    wire::{flag, nack, opcode, PSN_WINDOW},
};
use spindle_verilog::prelude::*;
use types::*;

/// Records that a timer sends again at once.
const BURST: u64 = 16;

/// See the head of this file.
#[block]
pub struct Sender {
    /// Put or get to send.
    pub put: Sink<PutDesc>,
    /// Frame to make.
    pub job: Source<FrameJob>,
    /// Headers of a frame.
    pub parsed: HeadersSink,
    /// The ICRC of the frame whose headers came in the last cycle is wrong.
    pub bad_icrc: Signal<In, Bit>,
    /// Record whose frame cannot be made.
    pub lost: PulseSink<Bits<10>>,
    /// A put is over, for its issuer.
    pub done: Source<PutDone>,
    /// End of a put of the host.
    pub put_event: Source<EventDesc>,
    /// Puts are sequenced.
    pub enable: Signal<In, Bit>,
    /// Time without an acknowledgement after which records are sent again, in units of 64 cycles.
    pub timeout: Signal<In, Bits<16>>,
    /// Time after which a record is sent again if a later one arrived, in units of 64 cycles.
    pub hole_time: Signal<In, Bits<16>>,
    /// Timeouts in a row after which a destination is given up.
    pub retries: Signal<In, Bits<4>>,
    /// Age from which a put that finds no buffer has failed, in units of 1024 cycles; 0: none.
    pub limit: Signal<In, Bits<16>>,
    /// Incarnation; 0: the first window of a destination is not opened.
    pub incarnation: Signal<In, Bits<32>>,
    /// Puts that take turns, at most 64; 0 is 1.
    pub turns: Signal<In, Bits<7>>,
    /// Congestion windows.
    pub windows: Signal<In, WindowSettings>,
    /// Number of this node.
    pub own_nid: Signal<In, Bits<32>>,
    /// A record is sent again (pulse).
    pub resent: Signal<Out, Bit>,
    /// A put or get of a process is refused (pulse).
    pub refused: Signal<Out, Bit>,
    /// With it: {code, number of the put}.
    pub refusal: Signal<Out, Bits<24>>,
    congestion: CongestionWindow,
    destinations: SdpMemory<Destination, 8>,
    records: SdpMemory<SendRecord, 10>,
    /// The next record of each in its list.
    links: SdpMemory<Bits<10>, 10>,
    entries: SdpMemory<PutEntry, 6>,
    puts: LutMemory<PutState, 6>,
    free: BlockFifo<Bits<10>, 10>,
    /// The response of the last cycle, whose ICRC is compared now.
    arrived: Reg<Bit>,
    arrival: DFF<Response>,
    responses: Fifo<Response, 4>,
    state: Reg<Sending>,
    /// State in which a detour began.
    back: Reg<Sending>,
    ticks: Reg<Bits<26>>,
    cleared: Reg<Bits<10>>,
    // The destination at hand.
    node: DFF<Bits<8>>,
    destination: Reg<Destination>,
    response: DFF<Response>,
    // The record at hand, its number, and the number of records left.
    at: DFF<Bits<10>>,
    psn: DFF<Bits<32>>,
    left: DFF<Bits<11>>,
    selective: DFF<Bits<64>>,
    /// Records from the one at hand to the one that a refusal is about.
    ahead: DFF<Bits<11>>,
    /// A refused record lies ahead.
    refuses: DFF<Bit>,
    /// The destination at hand is given up since it refuses us.
    unwelcome: Reg<Bit>,
    // A record that is sent, or again.
    record: DFF<SendRecord>,
    record_at: DFF<Bits<10>>,
    record_psn: DFF<Bits<32>>,
    /// The segment is sent for the first time.
    fresh: DFF<Bit>,
    /// No record: the put passes.
    plain: DFF<Bit>,
    low: DFF<Bits<33>>,
    address: DFF<Bits<64>>,
    /// Bytes from there on; of a response: records that it frees.
    rest: DFF<Bits<32>>,
    /// Slot of the put at hand.
    slot: DFF<Bits<6>>,
    /// Its state, once it has been looked up.
    found: DFF<PutState>,
    looked_up: Reg<Bit>,
    /// The put that was looked up two cycles ago is older than the limit.
    aged: DFF<Bit>,
    aging: Reg<Bit>,
    /// When a put that begins now exceeds the limit.
    expires_at: DFF<Bits<16>>,
    /// Its state after this cycle.
    over: DFF<PutState>,
    done_sent: Reg<Bit>,
    // The put that is being sent.
    sending: Reg<Bit>,
    /// The put is not sequenced.
    passes: Reg<Bit>,
    current: DFF<Unsent>,
    /// The put has had its turn.
    served: Reg<Bit>,
    /// The other puts that have begun and are not sent, in the order of their turns.
    waiting: BlockFifo<Unsent, 6>,
    number: Reg<Bits<24>>,
    next_slot: Reg<Bits<6>>,
    // Deadlines of a record that is sent now: for a hole, and without an acknowledgement.
    hole_at: DFF<Bits<16>>,
    timeout_at: DFF<Bits<16>>,
    scan: Reg<Bits<8>>,
    due: Reg<Bit>,
    // A record whose frame could not be made.
    lost_pending: Reg<Bit>,
    lost_at: DFF<Bits<10>>,
    job_out: DFF<FrameJob>,
    offers: Reg<Bit>,
    again: Reg<Bit>,
}

impl Sender {
    /// A sender that keeps its puts, destinations and chains in memories of this kind.
    pub fn new(small: RamStyle) -> Self {
        Self {
            entries: SdpMemory::new(small, 1),
            congestion: CongestionWindow::new(small),
            destinations: SdpMemory::new(small, 1),
            links: SdpMemory::new(small, 1),
            free: BlockFifo::new(small),
            waiting: BlockFifo::new(small),
            ..Self::blank()
        }
    }
}

#[hdl]
impl Sender {
    fn update(&mut self) {
        let state = self.state.q.val();
        let now = self.ticks.q.val().get_bits::<16>(6);
        self.take_inputs(now);
        let turn = self.look_up(state);
        let walk = self.walk(state, turn, now);
        let issue = self.issue(turn);
        let ending = self.end(state);
        let next = self.begin(turn);
        let jobs = self.jobs(turn);
        self.track_window(state, turn, walk, issue);

        self.waiting.write.valid.next = false;
        self.served.load(issue.visits, true);
        self.responses.read.ready.next = turn.idle;
        self.free.read.ready.next = issue.sends;
        self.looked_up.d.next = false;
        self.aging.d.next = false;
        self.again.d.next = false;
        match state {
            Sending::Clear => {
                self.cleared.d.next = self.cleared.q.val() + 1;
                self.state.load(self.cleared.q.val().all(), Sending::Idle);
            }
            Sending::Idle => self.choose(jobs, next),
            Sending::Response => self.take_response(),
            Sending::Judge => self.judge(jobs),
            Sending::Release => self.release(walk),
            Sending::Select => self.select_records(walk),
            Sending::Weigh => self.state.d.next = Sending::Adapt,
            Sending::Adapt => self.state.d.next = Sending::Save,
            Sending::Issue => self.issue_segment(turn, issue, jobs),
            Sending::Timer => self.check_timer(now),
            Sending::Repeat => self.repeat(walk, jobs),
            Sending::GiveUp => self.give_up(walk),
            Sending::Lost => {
                self.looked_up.d.next = !self.looked_up.q.val();
                self.state.load(self.looked_up.q.val(), Sending::Idle);
            }
            Sending::Again => {
                let base = self.entries.read_data.val().put.host_address.get_bits::<32>(0);
                self.low.d.next = bit_cast::<33, 32>(base) + bit_cast::<33, 32>(self.record.q.val().offset);
                self.rest.d.next = self.entries.read_data.val().put.length - self.record.q.val().offset;
                self.state.d.next = Sending::High;
            }
            Sending::High => {
                let high = self.entries.read_data.val().put.host_address.get_bits::<32>(32);
                let carry = bit_cast::<32, 1>(self.low.q.val().get_bit(32).into());
                self.address.d.next = (high + carry, self.low.q.val().get_bits::<32>(0)).cat::<64>();
                self.state.d.next = Sending::Job;
            }
            Sending::Job => {
                if jobs.free {
                    self.offers.d.next = true;
                    self.job_out.d.next = jobs.segment;
                    self.again.d.next = !self.plain.q.val() & !self.fresh.q.val();
                    self.sending.load(self.plain.q.val(), false);
                    self.state.d.next = self.back.q.val();
                }
            }
            Sending::Over => {
                if !self.done_sent.q.val() {
                    let done = if ending.of_packet { jobs.free } else { self.done.ready.val() };
                    self.done_sent.d.next = ending.of_get_response | done;
                    if ending.of_packet & jobs.free {
                        self.job_out.d.next = jobs.ending;
                        self.offers.d.next = true;
                    }
                } else if ending.forgets {
                    self.done_sent.d.next = false;
                    self.state.d.next = self.back.q.val();
                }
            }
            Sending::Save => self.state.d.next = Sending::Idle,
        }
        // Detours from a walk over records; the walk goes on afterwards.
        if walk.ends {
            self.state.d.next = Sending::Over;
        } else if walk.resends {
            self.state.d.next = Sending::Again;
        }

        self.begin_put(turn, next);
        self.update_put(turn, walk, issue, ending, next);
        self.approach_refused(state, walk);
        self.set_up_job(state, turn);
        self.access_destinations(state, turn);
        self.access_records(state, turn, walk, issue, jobs);

        // Results.
        let entry = self.entries.read_data.val();
        self.done.next = done_of(entry.put, self.over.q.val());
        self.put_event.next = event_of(entry, self.over.q.val());
        self.resent.next = self.again.q.val();
        self.refused.next = walk.missing & walk.refuses & ending.by_host;
        self.refusal.next = (self.response.q.val().code, entry.put.frame).cat::<24>();
    }

    /// Time, responses, and frames that could not be made.
    fn take_inputs(&mut self, now: Bits<16>) {
        self.ticks.d.next = self.ticks.q.val() + 1;
        self.hole_at.d.next = now + self.hole_time.val();
        self.timeout_at.d.next = now + self.timeout.val();
        let parsed = self.parsed.val();
        let is_response =
            parsed.is_spindle & ((parsed.opcode == bits(opcode::ACK)) | (parsed.opcode == bits(opcode::NACK)));
        // Such a refusal goes to the node that the low bits of the refused one name.
        let refuses_us = (parsed.opcode == bits(opcode::NACK))
            & (parsed.key.get_bits::<8>(24) == bits(nack::NO_PEER))
            & eq(parsed.addr.get_bits::<32>(32), self.own_nid.val());
        self.arrival.d.next = response_of(parsed);
        self.arrived.d.next = self.parsed.valid.val()
            & !self.parsed.drop.val()
            & is_response
            & (!(parsed.flags & bits(flag::UNSEQ)).any() | refuses_us)
            & self.enable.val();
        self.responses.write.offer(self.arrived.q.val() & !self.bad_icrc.val(), self.arrival.q.val());
        if self.lost.valid.val() {
            self.lost_pending.d.next = true;
            self.lost_at.d.next = self.lost.val();
        }
        self.due.load(!self.ticks.q.val().get_bits::<4>(0).any(), true);
    }

    /// Looks up the state of a put: that of the record at hand, of the put that is being sent, or of the next slot.
    fn look_up(&mut self, state: Sending) -> Turn {
        let walks = (state == Sending::Release)
            | (state == Sending::Select)
            | (state == Sending::Repeat)
            | (state == Sending::GiveUp)
            | (state == Sending::Lost);
        let issues = state == Sending::Issue;
        let idle = state == Sending::Idle;
        let mut slot: Bits<6> = self.slot.q.val();
        if walks {
            slot = self.records.read_data.val().slot;
        } else if issues {
            slot = self.current.q.val().slot;
        } else if idle {
            slot = self.next_slot.q.val();
        }
        self.puts.read_address.next = slot;
        self.found.load(walks | issues | idle, self.puts.read_data.val());
        let put = self.found.q.val();
        let era = self.ticks.q.val().get_bits::<16>(10);
        self.expires_at.d.next = era + self.limit.val();
        self.aged.d.next = put.limited & !(era - put.expires).get_bit(15);
        let clears = state == Sending::Clear;
        Turn { idle, issues, walks, clears, slot, put }
    }

    /// What is done to the record at hand, whose put has been looked up.
    fn walk(&mut self, state: Sending, turn: Turn, now: Bits<16>) -> Walk {
        let record = self.records.read_data.val();
        let looked_up = self.looked_up.q.val();
        let response = self.response.q.val();
        let selective = self.selective.q.val();
        let refuses = self.refuses.q.val() & !self.ahead.q.val().any();
        let for_good = refuses
            & ((response.code >= bits(nack::NO_MAILBOX))
                | ((response.code < bits(nack::PSN_WINDOW)) & self.aged.q.val()));
        let selects = looked_up & (state == Sending::Select);
        let repeats = looked_up & (state == Sending::Repeat);
        let gives_up = looked_up & (state == Sending::GiveUp);
        let loses = looked_up & (state == Sending::Lost);
        let frees = gives_up | (looked_up & (state == Sending::Release));
        let marks = selects & selective.get_bit(0);
        let missing = selects & !selective.get_bit(0) & !record.acked;
        let refused = missing & for_good;
        // A hole; after a timeout, with windows, every record is lost, and the oldest alone is sent again.
        let hole = missing & selective.any() & !(now - record.due).get_bit(15);
        let windows = self.windows.val().enable;
        let oldest = !self.left.q.val().any();
        let credit = self.congestion.credit.val();
        let fits = if record.lost { self.congestion.room.val() } else { self.congestion.gap.val() };
        let resends = refused
            | ((hole | (missing & record.lost)) & (fits | credit))
            | (repeats & !record.acked & (oldest | !windows));
        let declares = windows & !record.lost & ((hole & !refused) | (repeats & !record.acked & !oldest));
        let settles = (frees | marks) & !record.acked;
        let ends = settles & turn.put.issued & (turn.put.open == 1);
        Walk {
            refuses,
            selects,
            repeats,
            gives_up,
            loses,
            frees,
            marks,
            missing,
            refused,
            resends,
            declares,
            settles,
            ends,
        }
    }

    /// What is done to the put that is being sent.
    fn issue(&mut self, turn: Turn) -> Issue {
        let looked_up = self.looked_up.q.val();
        let destination = self.destinations.read_data.val();
        let visits = looked_up & turn.issues;
        // The window in which the put began was given up.
        let dead = turn.put.failed | (turn.put.begun & (turn.put.generation != destination.generation));
        let last = self.current.q.val().left <= bits::<32>(SEGMENT_BYTES);
        let abandons = visits & dead;
        let sends = visits
            & !dead
            & (destination.state == OPEN)
            & (destination.count < bits(PSN_WINDOW))
            & (self.congestion.room.val() | (self.congestion.credit.val() & !self.congestion.waits.val()))
            & self.free.read.valid.val();
        let chains = sends & destination.count.any();
        Issue { visits, dead, last, abandons, sends, chains }
    }

    /// What is done to a put that is over: its issuer is answered, then a process of the host gets an event.
    fn end(&mut self, state: Sending) -> End {
        let entry = self.entries.read_data.val();
        let over = state == Sending::Over;
        let done_sent = self.done_sent.q.val();
        let of_get_response = entry.put.op == bits(put_op::GET_RESP);
        let of_packet = is_of_packet(entry.put);
        let by_host = (entry.put.issuer.handle == bits(put_op::HOST_HANDLE)) & !of_get_response;
        let forgets = over & done_sent & (!by_host | self.put_event.ready.val());
        self.done.valid.next = over & !done_sent & !of_get_response & !of_packet;
        self.put_event.valid.next = over & done_sent & by_host;
        End { of_get_response, of_packet, by_host, forgets }
    }

    /// Whether the next put begins. A put that passes leaves its slot free.
    fn begin(&mut self, turn: Turn) -> Begin {
        let busy =
            self.responses.read.valid.val() | self.lost_pending.q.val() | self.due.q.val() | self.sending.q.val();
        let sequenced = self.enable.val() & !(self.put.val().flags & bits(flag::UNSEQ)).any();
        let others = self.waiting.level.val().get_bits::<7>(0);
        let chooses = turn.idle & self.looked_up.q.val() & !busy;
        let takes_puts = chooses & !turn.put.live & (!others.any() | (others < self.turns.val()));
        let takes = takes_puts & self.put.valid.val();
        let begins = takes & sequenced;
        let joins = begins & others.any();
        let resumes = chooses & !takes & self.waiting.read.valid.val();
        // The put at hand has had its turn, and another one waits for its own.
        let takes_turns = self.turns.val() > bits::<7>(1);
        let yields = self.served.q.val() & takes_turns & (others.any() | self.put.valid.val());
        self.put.ready.next = takes_puts;
        Begin { sequenced, takes, begins, joins, resumes, yields }
    }

    /// The job of a record and the job that opens a window. Jobs leave from a register.
    fn jobs(&mut self, turn: Turn) -> Jobs {
        let free = !self.offers.q.val();
        self.offers.load(self.job.ready.val(), false);
        self.job.offer(self.offers.q.val(), self.job_out.q.val());
        let segment = job_of(
            self.entries.read_data.val(),
            self.record.q.val(),
            self.record_at.q.val(),
            self.record_psn.q.val(),
            self.address.q.val(),
            self.rest.q.val(),
            JobKind {
                plain: self.plain.q.val(),
                failed: self.over.q.val().failed,
                again: !self.fresh.q.val(),
                last: !self.sending.q.val(),
                asks: self.congestion.asks.val(),
            },
        );
        let generation = if turn.issues {
            self.destinations.read_data.val().generation
        } else {
            self.destination.q.val().generation
        };
        let incarnation = incarnation_of(self.incarnation.val(), generation);
        let asks = !turn.issues & (self.destination.q.val().state == OPEN);
        let control = control_job(segment, self.node.q.val(), incarnation, asks, self.psn.q.val());
        let ending = ending_of(segment, self.entries.read_data.val().put, self.over.q.val());
        Jobs { free, segment, incarnation, control, ending }
    }

    /// Chooses what is done next.
    fn choose(&mut self, jobs: Jobs, next: Begin) {
        self.back.d.next = Sending::Idle;
        if self.responses.read.valid.val() {
            self.response.d.next = self.responses.read.val();
            self.state.d.next = Sending::Response;
        } else if self.lost_pending.q.val() {
            self.lost_pending.d.next = self.lost.valid.val();
            self.state.d.next = Sending::Lost;
        } else if self.due.q.val() {
            self.due.d.next = false;
            self.scan.d.next = self.scan.q.val() + 1;
            self.state.d.next = Sending::Timer;
        } else if self.sending.q.val() & next.yields {
            self.waiting.write.valid.next = true;
            self.sending.d.next = false;
        } else if self.sending.q.val() {
            self.state.load(jobs.free, if self.passes.q.val() { Sending::Again } else { Sending::Issue });
        } else {
            // The slot of the next put is another one after a put was taken.
            self.looked_up.d.next = !next.takes;
        }
    }

    /// The destination of a response has been read.
    fn take_response(&mut self) {
        let response = self.response.q.val();
        let destination = self.destinations.read_data.val();
        self.destination.d.next = destination;
        self.psn.d.next = destination.base;
        self.rest.d.next = response.expected - destination.base;
        self.selective.d.next = response.selective;
        self.low.d.next = bit_cast::<33, 32>(response.about - destination.base);
        self.state.d.next = Sending::Judge;
    }

    /// Whether the response is about numbers that were sent.
    fn judge(&mut self, jobs: Jobs) {
        let response = self.response.q.val();
        let destination = self.destination.q.val();
        let known =
            !self.rest.q.val().get_bits::<21>(11).any() & (self.rest.q.val().get_bits::<11>(0) <= destination.count);
        self.left.d.next = self.rest.q.val().get_bits::<11>(0);
        self.ahead.d.next = self.low.q.val().get_bits::<11>(0);
        self.refuses.d.next = response.refusal & !self.low.q.val().get_bits::<21>(11).any();
        self.unwelcome.d.next = response.stranger;
        self.state.d.next = Sending::Idle;
        if response.stranger {
            let under_way =
                !self.low.q.val().get_bits::<21>(11).any() & (self.low.q.val().get_bits::<11>(0) < destination.count);
            if ((destination.state == OPENING) & response.opens & (response.incarnation == jobs.incarnation))
                | ((destination.state == OPEN) & !response.opens & under_way)
            {
                self.state.d.next = Sending::GiveUp;
            }
        } else if response.opens {
            if (destination.state == OPENING) & (response.incarnation == jobs.incarnation) {
                self.destination.d.next.state = bits::<2>(OPEN);
                self.state.d.next = Sending::Save;
            }
        } else if (destination.state == OPEN) & known {
            // The refusal may be temporary: the destination answers, so it is tried again soon.
            if response.refusal & (response.code < bits(nack::NO_MAILBOX)) {
                self.destination.d.next.retries = bits::<4>(0);
                self.destination.d.next.deadline = self.hole_at.q.val();
            }
            self.state.d.next = Sending::Release;
        }
    }

    /// Frees the records below the number of a response.
    fn release(&mut self, walk: Walk) {
        self.back.d.next = Sending::Release;
        if walk.frees {
            self.left.d.next = self.left.q.val() - 1;
            self.psn.d.next = self.psn.q.val() + 1;
            self.destination.d.next.base = self.psn.q.val() + 1;
            self.destination.d.next.count = self.destination.q.val().count - 1;
            self.destination.d.next.head = self.links.read_data.val();
            self.restart_timer();
        } else if self.left.q.val().any() {
            self.looked_up.d.next = true;
        } else {
            self.left.d.next = self.destination.q.val().count;
            self.state.d.next = Sending::Select;
        }
    }

    /// The destination answers: its oldest record gets the full time.
    fn restart_timer(&mut self) {
        self.destination.d.next.retries = bits::<4>(0);
        self.destination.d.next.deadline = self.timeout_at.q.val();
    }

    /// Marks the records of a response's bitmap, or sends them again.
    fn select_records(&mut self, walk: Walk) {
        let selective = self.selective.q.val();
        // Lost records that wait.
        let refills = self.congestion.waits.val() & (self.congestion.room.val() | self.congestion.credit.val());
        self.back.d.next = Sending::Select;
        if walk.selects {
            self.left.d.next = self.left.q.val() - 1;
            self.psn.d.next = self.psn.q.val() + 1;
            self.selective.d.next = selective >> 1;
            if walk.settles {
                self.restart_timer();
            }
        } else if self.left.q.val().any() & (selective.any() | self.refuses.q.val() | refills) {
            // The age of a put that is refused is known a cycle later.
            self.aging.d.next = walk.refuses;
            self.looked_up.d.next = !walk.refuses | self.aging.q.val();
        } else {
            self.state.d.next = if self.windows.val().enable { Sending::Weigh } else { Sending::Save };
        }
    }

    /// Opens the window of the current put's destination, or sends the next segment.
    fn issue_segment(&mut self, turn: Turn, issue: Issue, jobs: Jobs) {
        let destination = self.destinations.read_data.val();
        self.destination.d.next = destination;
        let opens = self.incarnation.val().any() | destination.generation.any();
        if !self.looked_up.q.val() {
            self.looked_up.d.next = true;
        } else if issue.dead {
            self.sending.d.next = false;
            self.state.d.next = if turn.put.open.any() { Sending::Idle } else { Sending::Over };
        } else if destination.state == NEW {
            self.destination.d.next.state = if opens { bits::<2>(OPENING) } else { bits::<2>(OPEN) };
            self.destination.d.next.deadline = self.timeout_at.q.val();
            if opens {
                self.job_out.d.next = jobs.control;
                self.offers.d.next = true;
            }
            self.state.d.next = Sending::Save;
        } else if issue.sends {
            self.current.d.next.offset = self.current.q.val().offset + bits(SEGMENT_BYTES);
            self.current.d.next.left = self.current.q.val().left - bits(SEGMENT_BYTES);
            self.sending.d.next = !issue.last;
            self.destination.d.next.psn = destination.psn + 1;
            self.destination.d.next.count = destination.count + 1;
            self.destination.d.next.tail = self.free.read.val();
            if !issue.chains {
                self.destination.d.next.head = self.free.read.val();
                self.destination.d.next.deadline = self.timeout_at.q.val();
                self.destination.d.next.retries = bits::<4>(0);
            }
            self.back.d.next = Sending::Save;
            self.state.d.next = Sending::Again;
        } else {
            self.state.d.next = Sending::Idle;
        }
    }

    /// Whether the oldest record of a destination has waited too long.
    fn check_timer(&mut self, now: Bits<16>) {
        let destination = self.destinations.read_data.val();
        self.destination.d.next = destination;
        self.psn.d.next = destination.base;
        self.left.d.next = bits::<11>(0);
        self.unwelcome.d.next = false;
        let waits = (destination.state == OPENING) | ((destination.state == OPEN) & destination.count.any());
        let times = if destination.retries > 3 { bits::<2>(3) } else { destination.retries.get_bits::<2>(0) };
        self.state.d.next = Sending::Idle;
        if waits & !(now - destination.deadline).get_bit(15) {
            self.destination.d.next.retries = destination.retries + 1;
            self.destination.d.next.deadline = now + (self.timeout.val() << times);
            self.state.d.next =
                if destination.retries >= self.retries.val() { Sending::GiveUp } else { Sending::Repeat };
        }
    }

    /// Sends the oldest records of a destination again, or its OPEN; if the oldest has been acknowledged, a probe.
    fn repeat(&mut self, walk: Walk, jobs: Jobs) {
        let destination = self.destination.q.val();
        let left = self.left.q.val();
        let asks = !left.any() & self.records.read_data.val().acked;
        self.back.d.next = Sending::Repeat;
        if walk.repeats {
            self.left.d.next = left + 1;
            self.psn.d.next = self.psn.q.val() + 1;
        } else if (destination.state == OPENING) | asks {
            if jobs.free {
                self.job_out.d.next = jobs.control;
                self.offers.d.next = true;
                self.state.d.next = Sending::Save;
            }
        } else if (left == destination.count) | ((left == BURST) & !self.windows.val().enable) {
            self.state.d.next = Sending::Save;
        } else {
            self.looked_up.d.next = true;
        }
    }

    /// Gives up the records of a destination that does not answer.
    fn give_up(&mut self, walk: Walk) {
        let destination = self.destination.q.val();
        self.back.d.next = Sending::GiveUp;
        if walk.gives_up {
            self.destination.d.next.count = destination.count - 1;
        } else if destination.count.any() {
            self.looked_up.d.next = true;
        } else {
            self.destination.d.next = Destination {
                generation: destination.generation + 1,
                unwelcome: self.unwelcome.q.val(),
                ..Default::default()
            };
            self.state.d.next = Sending::Save;
        }
    }

    /// What happens to the congestion window of the destination at hand.
    fn track_window(&mut self, state: Sending, turn: Turn, walk: Walk, issue: Issue) {
        let response = self.response.q.val();
        let destination = self.destination.q.val();
        let windows = self.windows.val().enable;
        let looked_up = self.looked_up.q.val();
        let record = self.records.read_data.val();
        let repeated = (state == Sending::Repeat)
            & !looked_up
            & windows
            & (destination.state == OPEN)
            & self.left.q.val().any()
            & (self.left.q.val() == destination.count);
        self.congestion.settings.next = self.windows.val();
        self.congestion.step.next = WindowStep {
            loads: (state == Sending::Response) | (state == Sending::Timer) | (turn.issues & !looked_up),
            issues: issue.sends,
            judges: state == Sending::Judge,
            counts: !response.refusal & !response.opens,
            learns: (state == Sending::Judge) & response.opens & !response.refusal,
            settles: walk.settles,
            declares: walk.declares,
            resends: walk.resends,
            of_lost: record.lost,
            weighs: state == Sending::Weigh,
            adapts: state == Sending::Adapt,
            expires: repeated,
            forgets: state == Sending::GiveUp,
            saves: state == Sending::Save,
            clears: turn.clears,
            address: if turn.clears { self.cleared.q.val().get_bits::<8>(0) } else { self.node.q.val() },
            marks: response.marks,
            base: destination.base.get_bits::<12>(0),
            psn: destination.psn.get_bits::<12>(0),
        };
    }

    /// Stores a put that begins.
    fn begin_put(&mut self, turn: Turn, next: Begin) {
        let put = self.put.val();
        let op = put.op;
        let begun = Unsent {
            node: put.node,
            slot: turn.slot,
            offset: bits::<32>(0),
            // A get is one frame.
            left: put.length & repeat::<32>(op != bits(put_op::GET)),
        };
        if next.takes | next.resumes {
            self.sending.d.next = !next.joins;
            self.passes.d.next = next.takes & !next.sequenced;
            self.current.d.next = if next.takes { begun } else { self.waiting.read.val() };
            self.served.d.next = false;
        }
        self.waiting.read.ready.next = next.resumes;
        self.waiting.write.next = if self.sending.q.val() { self.current.q.val() } else { begun };
        if next.joins {
            self.waiting.write.valid.next = true;
        }
        if next.begins {
            self.next_slot.d.next = self.next_slot.q.val() + 1;
            self.number.d.next = self.number.q.val() + 1;
        }
        // The second highest bit of the number is 0 for puts that are not sequenced.
        let number = (bits::<2>(3), self.number.q.val(), turn.slot).cat::<32>();
        self.entries.write_enable.next = next.takes;
        self.entries.write_address.next = turn.slot;
        self.entries.write_data.next =
            PutEntry { put, msg_id: if op == bits(put_op::GET_RESP) { put.reply_key } else { number } };
    }

    /// The new state of the put at hand.
    fn update_put(&mut self, turn: Turn, walk: Walk, issue: Issue, ending: End, next: Begin) {
        let mut put: PutState = turn.put;
        if issue.sends {
            put.issued = issue.last;
            put.open = turn.put.open + 1;
        } else if walk.settles {
            put.open = turn.put.open - 1;
        }
        if issue.visits & !turn.put.begun {
            put.begun = true;
            put.generation = self.destinations.read_data.val().generation;
        }
        if issue.abandons {
            put.issued = true;
        }
        if issue.abandons | walk.refused | walk.gives_up | walk.loses {
            put.failed = true;
        }
        if walk.refused {
            put.code = self.response.q.val().code;
        } else if (walk.gives_up & !turn.put.failed & self.unwelcome.q.val())
            | (issue.abandons & !turn.put.failed & self.destinations.read_data.val().unwelcome)
        {
            put.code = bits(nack::NO_PEER);
        }
        if turn.walks | turn.issues {
            self.slot.d.next = turn.slot;
            self.over.d.next = put;
        }
        let loses_record = walk.loses & turn.put.live & !self.records.read_data.val().acked;
        self.puts.write_enable.next =
            turn.clears | walk.settles | walk.refused | loses_record | issue.visits | ending.forgets | next.begins;
        self.puts.write_address.next = if turn.clears { self.cleared.q.val().get_bits::<6>(0) } else { turn.slot };
        self.puts.write_data.next = put;
        if turn.clears | ending.forgets | next.begins {
            self.puts.write_data.next = PutState {
                live: next.begins,
                limited: self.limit.val().any(),
                expires: self.expires_at.q.val(),
                ..Default::default()
            };
        }
    }

    /// Counts the records up to the one that a refusal is about.
    fn approach_refused(&mut self, state: Sending, walk: Walk) {
        if walk.selects | ((state == Sending::Release) & walk.frees) {
            self.ahead.d.next = self.ahead.q.val() - 1;
            self.refuses.load(!self.ahead.q.val().any(), false);
        }
    }

    /// What a detour is about: the record that is looked at, that of the next segment, or the frames of a put that passes.
    fn set_up_job(&mut self, state: Sending, turn: Turn) {
        if turn.walks & !(state == Sending::Lost) {
            self.record.d.next = self.records.read_data.val();
            self.record.d.next.lost = false;
            self.record_at.d.next = self.at.q.val();
            self.record_psn.d.next = self.psn.q.val();
            self.plain.d.next = false;
            self.fresh.d.next = false;
        } else if turn.issues | turn.idle {
            self.record.d.next =
                SendRecord { slot: turn.slot, offset: self.current.q.val().offset, ..Default::default() };
            self.record_at.d.next = self.free.read.val();
            self.record_psn.d.next = self.destinations.read_data.val().psn;
            self.plain.d.next = turn.idle;
            self.fresh.d.next = true;
        }
    }

    fn access_destinations(&mut self, state: Sending, turn: Turn) {
        let mut node: Bits<8> = self.node.q.val();
        if turn.idle {
            node = if self.responses.read.valid.val() {
                self.responses.read.val().node
            } else if self.due.q.val() {
                self.scan.q.val()
            } else {
                self.current.q.val().node
            };
        }
        self.node.d.next = node;
        self.destinations.read(turn.idle, node);
        self.congestion.read.next = turn.idle;
        self.congestion.node.next = node;
        self.destinations.write_enable.next = turn.clears | (state == Sending::Save);
        self.destinations.write_address.next =
            if turn.clears { self.cleared.q.val().get_bits::<8>(0) } else { self.node.q.val() };
        // The register still has its reset value while the tables are cleared.
        self.destinations.write_data.next = self.destination.q.val();
    }

    fn access_records(&mut self, state: Sending, turn: Turn, walk: Walk, issue: Issue, jobs: Jobs) {
        let record = self.records.read_data.val();
        let mut at: Bits<10> = self.at.q.val();
        if walk.frees | walk.selects | walk.repeats {
            at = self.links.read_data.val();
        } else if turn.idle {
            at = self.lost_at.q.val();
        } else if (state == Sending::Response) | (state == Sending::Timer) {
            at = self.destinations.read_data.val().head;
        }
        self.at.d.next = at;
        let sent = state == Sending::Job;
        self.records.read(!turn.idle | self.lost_pending.q.val(), at);
        let loses = walk.declares & !walk.resends;
        self.records.write_enable.next = (walk.marks & walk.settles) | loses | (sent & jobs.free & !self.plain.q.val());
        self.records.write_address.next = if sent { self.record_at.q.val() } else { self.at.q.val() };
        self.records.write_data.next = if sent { self.record.q.val() } else { record };
        if sent {
            self.records.write_data.next.due = self.hole_at.q.val();
        } else {
            self.records.write_data.next.acked = !loses;
            self.records.write_data.next.lost = loses;
        }
        self.links.read(!turn.idle, at);
        self.links.write(issue.chains, self.destinations.read_data.val().tail, self.free.read.val());
        self.entries.read_enable.next = turn.walks | (turn.idle & self.sending.q.val());
        self.entries.read_address.next = if turn.walks { record.slot } else { self.current.q.val().slot };
        self.free.write.next = if turn.clears { self.cleared.q.val() } else { self.at.q.val() };
        self.free.write.valid.next = turn.clears | walk.frees;
    }
}
