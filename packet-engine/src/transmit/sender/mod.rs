//! Reliable sender: puts and gets of the host side leave with sequence numbers, and are sent again until they are acknowledged.
//!
//! | ports | neighbour |
//! |---|---|
//! | in `put`, `put_valid` / out `put_ready` | array, RVMA engine: puts from host memory, gets and answers to gets |
//! | out `job`, `job_valid` / in `job_ready` | planner of the host side: segments, NOPs, OPENs, and puts that are not sequenced |
//! | in `parsed`, `parsed_drop`, `parsed_valid` | parser: acknowledgements and refusals are taken from all frames |
//! | in `lost`, `lost_record` | framer: the data of a segment cannot be read, or its node does not exist |
//! | out `done`, `done_valid` / in `done_ready` | array: a put is over |
//! | out `put_event`, `put_event_valid` / in `put_event_ready` | RVMA engine: the end of a put of the host, for the ring of its process |
//! | in `enable`, `timeout`, `hole_time`, `retries`, `limit`, `incarnation` / out `resent`, `refused` (pulses), `refusal` | registers |
//!
//! A put with the flag UNSEQ, and every put while `enable` is low, passes as it is. The others are cut into segments here. Each takes the next number
//! of its destination and a **record**: 1024 in all, in a list per destination. An acknowledgement frees the records below its number and marks
//! those of its bitmap. A record is sent again when
//!
//! * the bitmap shows that a later one arrived, and it was sent at least `hole_time` ago;
//! * it was refused for good: its put has failed, and a NOP takes its number;
//! * nothing was acknowledged for `timeout`: the oldest 16, and the time doubles, up to 8 times.
//!
//! After `retries` of these the destination is given up: its puts fail, and a new incarnation is opened before the next one. A put is over when
//! all its segments are acknowledged; it has failed if one was refused for good. A refusal for lack of a buffer, or because the destination is busy, is
//! for good when the put is older than `limit`.
//!
//! One thing at a time: acknowledgements, failed reads, timers, then the next segment. What is done to a record or a put takes two cycles: its put's
//! state is looked up, then it is done. A segment that is sent for the first time and one that is sent again become a job in the same way, from its
//! record and the put's entry: AGAIN, HIGH, JOB. Cycles: a put that passes 3; a segment 7; an acknowledgement 4 and 2 per record that it looks at, 1 more for the record that is refused, 3
//! more per record that is sent again, 2 more per put that ends; 16 acknowledgements wait, more are lost. A timer is looked at every 16 cycles, one of
//! 256. Behind reset nothing is taken for 1024 cycles. Puts are begun in order, 64 at a time: one whose destination has its window full holds up those
//! behind it.

pub mod types;

use crate::bundles::HeadersSink;
use spindle_blocks::fifo::BlockFifo;
use spindle_blocks::ram::{LutMemory, RamStyle, SdpMemory};
use spindle_blocks::{EventDesc, Fifo, FrameJob, PutDesc, PutDone};
use spindle_contract::descriptors::put_op;
use spindle_contract::params::SEGMENT_BYTES;
use spindle_contract::wire::{flag, nack, opcode, PSN_WINDOW};
use spindle_verilog::prelude::*;
use types::*;

const SEGMENT: u64 = SEGMENT_BYTES as u64;
const WINDOW: u64 = PSN_WINDOW as u64;
const UNSEQ: u64 = flag::UNSEQ as u64;
/// Codes from here on are for good.
/// Codes below are for good of a put that is older than the limit.
/// [`PutDesc::handle`] of a put that the host asked for.
/// Records that a timer sends again at once.
const BURST: u64 = 16;

/// See the head of this file.
#[block]
pub struct Sender {
    /// What to send.
    pub put: Sink<PutDesc>,
    /// Frames to make.
    pub job: Source<FrameJob>,
    /// Headers of a frame.
    pub parsed: HeadersSink,
    /// The frame of a record cannot be made (pulse).
    pub lost: Signal<In, Bit>,
    /// Which.
    pub lost_record: Signal<In, Bits<10>>,
    /// Whose put is over.
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
    /// A record is sent again (pulse).
    pub resent: Signal<Out, Bit>,
    /// A put or get of a process is refused (pulse).
    pub refused: Signal<Out, Bit>,
    /// With it: {code, number of the put}.
    pub refusal: Signal<Out, Bits<24>>,
    destinations: SdpMemory<Destination, 8>,
    records: SdpMemory<SendRecord, 10>,
    /// The record behind each in its list.
    links: SdpMemory<Bits<10>, 10>,
    entries: SdpMemory<PutEntry, 6>,
    puts: LutMemory<PutState, 6>,
    free: BlockFifo<Bits<10>, 10>,
    responses: Fifo<Response, 4>,
    state: Reg<Sending>,
    /// Where a detour began.
    back: Reg<Sending>,
    ticks: Reg<Bits<26>>,
    cleared: Reg<Bits<10>>,
    // The destination at hand.
    node: DFF<Bits<8>>,
    destination: Reg<Destination>,
    response: DFF<Response>,
    // The record at hand, its number, and those behind it.
    at: DFF<Bits<10>>,
    psn: DFF<Bits<32>>,
    left: DFF<Bits<11>>,
    selective: DFF<Bits<64>>,
    /// Records from the one at hand to the one that a refusal speaks of.
    ahead: DFF<Bits<11>>,
    /// There is such a one.
    refuses: DFF<Bit>,
    // A record that is sent, or again.
    record: DFF<SendRecord>,
    record_at: DFF<Bits<10>>,
    record_psn: DFF<Bits<32>>,
    /// It is sent for the first time.
    fresh: DFF<Bit>,
    /// There is none: the put passes.
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
    /// It is older than the limit: of a put that was looked up two cycles ago.
    aged: DFF<Bit>,
    aging: Reg<Bit>,
    /// When a put that begins now is.
    expires_at: DFF<Bits<16>>,
    /// Its state behind what happens to it now.
    over: DFF<PutState>,
    done_sent: Reg<Bit>,
    // The put that is being sent.
    sending: Reg<Bit>,
    /// It is not sequenced.
    passes: Reg<Bit>,
    current_node: DFF<Bits<8>>,
    current_slot: DFF<Bits<6>>,
    current_offset: DFF<Bits<32>>,
    current_left: DFF<Bits<32>>,
    /// Its destination was given up.
    broken: Reg<Bit>,
    number: Reg<Bits<24>>,
    next_slot: Reg<Bits<6>>,
    // Timers: in how long a hole is one, and silence too long.
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
    /// A sender that keeps its puts, destinations and chains in memories of this kind: 64 words of 500 bits, 256 of 125 and 2 x 1024 of 10, which are
    /// ten block RAMs or 1,800 LUTs.
    pub fn new(small: RamStyle) -> Self {
        Self {
            entries: SdpMemory::new(small, 1),
            destinations: SdpMemory::new(small, 1),
            links: SdpMemory::new(small, 1),
            free: BlockFifo::new(small),
            ..Self::blank()
        }
    }
}

#[hdl]
impl Sender {
    fn update(&mut self) {
        let state = self.state.q.val();
        let idle = state == Sending::Idle;
        let issues = state == Sending::Issue;
        let destination = self.destination.q.val();
        let left = self.left.q.val();
        let psn = self.psn.q.val();

        // Time, responses, and frames that could not be made.
        self.ticks.d.next = self.ticks.q.val() + 1;
        let now = self.ticks.q.val().get_bits::<16>(6);
        self.hole_at.d.next = now + self.hole_time.val();
        self.timeout_at.d.next = now + self.timeout.val();
        let era = self.ticks.q.val().get_bits::<16>(10);
        self.expires_at.d.next = era + self.limit.val();
        let parsed = self.parsed.val();
        let is_response =
            parsed.is_spindle & ((parsed.opcode == bits(opcode::ACK)) | (parsed.opcode == bits(opcode::NACK)));
        self.responses.write.next = response_of(parsed);
        self.responses.write.valid.next = self.parsed.valid.val()
            & !self.parsed.drop.val()
            & is_response
            & !(parsed.flags & UNSEQ).any()
            & self.enable.val();
        if self.lost.val() {
            self.lost_pending.d.next = true;
            self.lost_at.d.next = self.lost_record.val();
        }
        if !self.ticks.q.val().get_bits::<4>(0).any() {
            self.due.d.next = true;
        }

        // Jobs leave from a register.
        let job_free = !self.offers.q.val();
        if self.job.ready.val() {
            self.offers.d.next = false;
        }
        self.job.next = self.job_out.q.val();
        self.job.valid.next = self.offers.q.val();

        // What the memories answer.
        let fetched = self.destinations.read_data.val();
        let record = self.records.read_data.val();
        let link = self.links.read_data.val();
        let entry = self.entries.read_data.val();

        // The put of the record at hand.
        let walks = (state == Sending::Release)
            | (state == Sending::Select)
            | (state == Sending::Repeat)
            | (state == Sending::GiveUp)
            | (state == Sending::Lost);
        let mut slot: Bits<6> = self.slot.q.val();
        if walks {
            slot = record.slot;
        } else if issues {
            slot = self.current_slot.q.val();
        } else if idle {
            slot = self.next_slot.q.val();
        }
        self.puts.read_address.next = slot;
        if walks | issues | idle {
            self.found.d.next = self.puts.read_data.val();
        }
        let put = self.found.q.val();
        self.aged.d.next = put.limited & !(era - put.expires).get_bit(15);

        // What is done in this cycle. To the record at hand, whose put has been looked up:
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
        let resends =
            refused | (missing & selective.any() & !(now - record.due).get_bit(15)) | (repeats & !record.acked);
        let settles = (frees | marks) & !record.acked;
        let ends = settles & put.issued & (put.open == 1);
        // to the put that is being sent:
        let dead = put.failed | self.broken.q.val();
        let last = self.current_left.q.val() <= bits::<32>(SEGMENT);
        let abandons = looked_up & issues & dead;
        let sends = looked_up
            & issues
            & !dead
            & (fetched.state == OPEN)
            & (fetched.count < WINDOW)
            & self.free.read.valid.val();
        let chains = sends & fetched.count.any();
        // to the put that is over:
        let ending = state == Sending::Over;
        let done_sent = self.done_sent.q.val();
        let is_get_response = entry.put.op == bits(put_op::GET_RESP);
        let by_host = (entry.put.handle == bits(put_op::HOST_HANDLE)) & !is_get_response;
        let forgets = ending & done_sent & (!by_host | self.put_event.ready.val());
        self.done.valid.next = ending & !done_sent & !is_get_response;
        self.put_event.valid.next = ending & done_sent & by_host;
        // and to the next one. One that passes leaves the slot as free as it was.
        let busy =
            self.responses.read.valid.val() | self.lost_pending.q.val() | self.due.q.val() | self.sending.q.val();
        let sequenced = self.enable.val() & !(self.put.val().flags & UNSEQ).any();
        let welcome = idle & looked_up & !busy & !put.live;
        let takes = welcome & self.put.valid.val();
        let begins = takes & sequenced;
        self.put.ready.next = welcome;

        // The job of a record, and the one that opens a window.
        let plain = self.plain.q.val();
        let job = job_of(
            entry,
            self.record.q.val(),
            self.record_at.q.val(),
            self.record_psn.q.val(),
            self.address.q.val(),
            self.rest.q.val(),
            JobKind {
                plain: plain,
                failed: self.over.q.val().failed,
                again: !self.fresh.q.val(),
                last: !self.sending.q.val(),
            },
        );
        let generation = if issues { fetched.generation } else { destination.generation };
        let incarnation = incarnation_of(self.incarnation.val(), generation);
        let open_job = opening(job, self.node.q.val(), incarnation);

        self.responses.read.ready.next = idle;
        self.free.read.ready.next = sends;
        self.looked_up.d.next = false;
        self.aging.d.next = false;
        self.again.d.next = false;
        match state {
            Sending::Clear => {
                self.cleared.d.next = self.cleared.q.val() + 1;
                if self.cleared.q.val().all() {
                    self.state.d.next = Sending::Idle;
                }
            }
            Sending::Idle => {
                self.back.d.next = Sending::Idle;
                if self.responses.read.valid.val() {
                    self.response.d.next = self.responses.read.val();
                    self.state.d.next = Sending::Response;
                } else if self.lost_pending.q.val() {
                    self.lost_pending.d.next = self.lost.val();
                    self.state.d.next = Sending::Lost;
                } else if self.due.q.val() {
                    self.due.d.next = false;
                    self.scan.d.next = self.scan.q.val() + 1;
                    self.state.d.next = Sending::Timer;
                } else if self.sending.q.val() {
                    if job_free {
                        self.state.d.next = if self.passes.q.val() { Sending::Again } else { Sending::Issue };
                    }
                } else {
                    self.looked_up.d.next = true;
                }
            }
            Sending::Response => {
                self.destination.d.next = fetched;
                self.psn.d.next = fetched.base;
                self.rest.d.next = response.expected - fetched.base;
                self.selective.d.next = response.selective;
                self.low.d.next = bit_cast::<33, 32>(response.about - fetched.base);
                self.state.d.next = Sending::Judge;
            }
            Sending::Judge => {
                let known = !self.rest.q.val().get_bits::<21>(11).any()
                    & (self.rest.q.val().get_bits::<11>(0) <= destination.count);
                self.left.d.next = self.rest.q.val().get_bits::<11>(0);
                self.ahead.d.next = self.low.q.val().get_bits::<11>(0);
                self.refuses.d.next = response.refusal & !self.low.q.val().get_bits::<21>(11).any();
                self.state.d.next = Sending::Idle;
                if response.opens {
                    if (destination.state == OPENING) & (response.incarnation == incarnation) {
                        self.destination.d.next.state = bits::<2>(OPEN);
                        self.state.d.next = Sending::Save;
                    }
                } else if (destination.state == OPEN) & known {
                    // A refusal that need not stay one: the destination lives, and is tried again soon.
                    if response.refusal & (response.code < bits(nack::NO_MAILBOX)) {
                        self.destination.d.next.retries = bits::<4>(0);
                        self.destination.d.next.deadline = self.hole_at.q.val();
                    }
                    self.state.d.next = Sending::Release;
                }
            }
            Sending::Release => {
                self.back.d.next = Sending::Release;
                if frees {
                    self.left.d.next = left - 1;
                    self.psn.d.next = psn + 1;
                    self.destination.d.next.base = psn + 1;
                    self.destination.d.next.count = destination.count - 1;
                    self.destination.d.next.head = link;
                    self.destination.d.next.retries = bits::<4>(0);
                    self.destination.d.next.deadline = self.timeout_at.q.val();
                } else if left.any() {
                    self.looked_up.d.next = true;
                } else {
                    self.left.d.next = destination.count;
                    self.state.d.next = Sending::Select;
                }
            }
            Sending::Select => {
                self.back.d.next = Sending::Select;
                if selects {
                    self.left.d.next = left - 1;
                    self.psn.d.next = psn + 1;
                    self.selective.d.next = selective >> 1;
                    if settles {
                        self.destination.d.next.retries = bits::<4>(0);
                        self.destination.d.next.deadline = self.timeout_at.q.val();
                    }
                } else if left.any() & (selective.any() | self.refuses.q.val()) {
                    // The age of a put that is refused is known a cycle later.
                    self.aging.d.next = refuses;
                    self.looked_up.d.next = !refuses | self.aging.q.val();
                } else {
                    self.state.d.next = Sending::Save;
                }
            }
            Sending::Issue => {
                self.destination.d.next = fetched;
                let opens = self.incarnation.val().any() | fetched.generation.any();
                if !looked_up {
                    self.looked_up.d.next = true;
                } else if dead {
                    self.sending.d.next = false;
                    self.broken.d.next = false;
                    self.state.d.next = if put.open.any() { Sending::Idle } else { Sending::Over };
                } else if fetched.state == NEW {
                    self.destination.d.next.state = if opens { bits::<2>(OPENING) } else { bits::<2>(OPEN) };
                    self.destination.d.next.deadline = self.timeout_at.q.val();
                    if opens {
                        self.job_out.d.next = open_job;
                        self.offers.d.next = true;
                    }
                    self.state.d.next = Sending::Save;
                } else if sends {
                    self.current_offset.d.next = self.current_offset.q.val() + SEGMENT;
                    self.current_left.d.next = self.current_left.q.val() - SEGMENT;
                    self.sending.d.next = !last;
                    self.destination.d.next.psn = fetched.psn + 1;
                    self.destination.d.next.count = fetched.count + 1;
                    self.destination.d.next.tail = self.free.read.val();
                    if !chains {
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
            Sending::Timer => {
                self.destination.d.next = fetched;
                self.psn.d.next = fetched.base;
                self.left.d.next = bits::<11>(0);
                let waits = (fetched.state == OPENING) | ((fetched.state == OPEN) & fetched.count.any());
                let times = if fetched.retries > 3 { bits::<2>(3) } else { fetched.retries.get_bits::<2>(0) };
                self.state.d.next = Sending::Idle;
                if waits & !(now - fetched.deadline).get_bit(15) {
                    self.destination.d.next.retries = fetched.retries + 1;
                    self.destination.d.next.deadline = now + (self.timeout.val() << times);
                    self.state.d.next =
                        if fetched.retries >= self.retries.val() { Sending::GiveUp } else { Sending::Repeat };
                }
            }
            Sending::Repeat => {
                self.back.d.next = Sending::Repeat;
                if repeats {
                    self.left.d.next = left + 1;
                    self.psn.d.next = psn + 1;
                } else if destination.state == OPENING {
                    if job_free {
                        self.job_out.d.next = open_job;
                        self.offers.d.next = true;
                        self.state.d.next = Sending::Save;
                    }
                } else if (left == destination.count) | (left == BURST) {
                    self.state.d.next = Sending::Save;
                } else {
                    self.looked_up.d.next = true;
                }
            }
            Sending::GiveUp => {
                self.back.d.next = Sending::GiveUp;
                if gives_up {
                    self.destination.d.next.count = destination.count - 1;
                } else if destination.count.any() {
                    self.looked_up.d.next = true;
                } else {
                    self.destination.d.next =
                        Destination { generation: destination.generation + 1, ..Default::default() };
                    if self.sending.q.val() & (self.current_node.q.val() == self.node.q.val()) {
                        self.broken.d.next = true;
                    }
                    self.state.d.next = Sending::Save;
                }
            }
            Sending::Lost => {
                self.looked_up.d.next = !looked_up;
                if looked_up {
                    self.state.d.next = Sending::Idle;
                }
            }
            Sending::Again => {
                let base = entry.put.host_address.get_bits::<32>(0);
                self.low.d.next = bit_cast::<33, 32>(base) + bit_cast::<33, 32>(self.record.q.val().offset);
                self.rest.d.next = entry.put.length - self.record.q.val().offset;
                self.state.d.next = Sending::High;
            }
            Sending::High => {
                let high = entry.put.host_address.get_bits::<32>(32);
                let carry = bit_cast::<32, 1>(self.low.q.val().get_bit(32).into());
                self.address.d.next = (high + carry, self.low.q.val().get_bits::<32>(0)).cat::<64>();
                self.state.d.next = Sending::Job;
            }
            Sending::Job => {
                if job_free {
                    self.offers.d.next = true;
                    self.job_out.d.next = job;
                    self.again.d.next = !plain & !self.fresh.q.val();
                    if plain {
                        self.sending.d.next = false;
                    }
                    self.state.d.next = self.back.q.val();
                }
            }
            Sending::Over => {
                if !done_sent {
                    self.done_sent.d.next = is_get_response | self.done.ready.val();
                } else if forgets {
                    self.done_sent.d.next = false;
                    self.state.d.next = self.back.q.val();
                }
            }
            Sending::Save => {
                self.state.d.next = Sending::Idle;
            }
        }
        // Detours from a walk over records: it goes on behind them.
        if ends {
            self.state.d.next = Sending::Over;
        } else if resends {
            self.state.d.next = Sending::Again;
        }

        // A put begins.
        let op = self.put.val().op;
        if takes {
            self.sending.d.next = true;
            self.passes.d.next = !sequenced;
            self.current_node.d.next = self.put.val().node;
            self.current_slot.d.next = slot;
            self.current_offset.d.next = bits::<32>(0);
            // A get is one frame.
            self.current_left.d.next = self.put.val().length & repeat::<32>(op != bits(put_op::GET));
        }
        if begins {
            self.next_slot.d.next = self.next_slot.q.val() + 1;
            self.number.d.next = self.number.q.val() + 1;
        }
        // Numbers of puts that are not sequenced have a zero where these have their second one.
        let number = (bits::<2>(3), self.number.q.val(), slot).cat::<32>();
        self.entries.write_enable.next = takes;
        self.entries.write_address.next = slot;
        self.entries.write_data.next = PutEntry {
            put: self.put.val(),
            msg_id: if op == bits(put_op::GET_RESP) { self.put.val().reply_key } else { number },
        };

        // What becomes of the state of a put.
        let mut new_put: PutState = put;
        if sends {
            new_put.issued = last;
            new_put.open = put.open + 1;
        } else if settles {
            new_put.open = put.open - 1;
        }
        if abandons {
            new_put.issued = true;
        }
        if abandons | refused | gives_up | loses {
            new_put.failed = true;
        }
        if refused {
            new_put.code = response.code;
        }
        if walks | issues {
            self.slot.d.next = slot;
            self.over.d.next = new_put;
        }
        let clears = state == Sending::Clear;
        let clear_index = self.cleared.q.val();
        let loses_record = loses & put.live & !record.acked;
        self.puts.write_enable.next = clears | settles | refused | loses_record | abandons | sends | forgets | begins;
        self.puts.write_address.next = if clears { clear_index.get_bits::<6>(0) } else { slot };
        self.puts.write_data.next = new_put;
        if clears | forgets | begins {
            self.puts.write_data.next = PutState {
                live: begins,
                limited: self.limit.val().any(),
                expires: self.expires_at.q.val(),
                ..Default::default()
            };
        }

        // The record that a refusal speaks of comes nearer.
        if selects | ((state == Sending::Release) & frees) {
            self.ahead.d.next = self.ahead.q.val() - 1;
            if !self.ahead.q.val().any() {
                self.refuses.d.next = false;
            }
        }

        // What a detour is about: the record that is looked at, that of the next segment, or the frames of a put that passes.
        if walks & !(state == Sending::Lost) {
            self.record.d.next = record;
            self.record_at.d.next = self.at.q.val();
            self.record_psn.d.next = psn;
            self.plain.d.next = false;
            self.fresh.d.next = false;
        } else if issues | idle {
            self.record.d.next = SendRecord { slot: slot, offset: self.current_offset.q.val(), ..Default::default() };
            self.record_at.d.next = self.free.read.val();
            self.record_psn.d.next = fetched.psn;
            self.plain.d.next = idle;
            self.fresh.d.next = true;
        }

        // Destinations.
        let mut node: Bits<8> = self.node.q.val();
        if idle {
            node = if self.responses.read.valid.val() {
                self.responses.read.val().node
            } else if self.due.q.val() {
                self.scan.q.val()
            } else {
                self.current_node.q.val()
            };
        }
        self.node.d.next = node;
        self.destinations.read_enable.next = idle;
        self.destinations.read_address.next = node;
        self.destinations.write_enable.next = clears | (state == Sending::Save);
        self.destinations.write_address.next = if clears { clear_index.get_bits::<8>(0) } else { self.node.q.val() };
        // Nothing has come to hand while the tables are cleared.
        self.destinations.write_data.next = destination;

        // Records, and the lists of them.
        let mut at: Bits<10> = self.at.q.val();
        if frees | selects | repeats {
            at = link;
        } else if idle {
            at = self.lost_at.q.val();
        } else if (state == Sending::Response) | (state == Sending::Timer) {
            at = fetched.head;
        }
        self.at.d.next = at;
        let sent = state == Sending::Job;
        self.records.read_enable.next = !idle | self.lost_pending.q.val();
        self.records.read_address.next = at;
        self.records.write_enable.next = (marks & settles) | (sent & job_free & !plain);
        self.records.write_address.next = if sent { self.record_at.q.val() } else { self.at.q.val() };
        self.records.write_data.next = if sent { self.record.q.val() } else { record };
        if sent {
            self.records.write_data.next.due = self.hole_at.q.val();
        } else {
            self.records.write_data.next.acked = true;
        }
        self.links.read_enable.next = !idle;
        self.links.read_address.next = at;
        self.links.write_enable.next = chains;
        self.links.write_address.next = fetched.tail;
        self.links.write_data.next = self.free.read.val();
        self.entries.read_enable.next = walks | (idle & self.sending.q.val());
        self.entries.read_address.next = if walks { record.slot } else { self.current_slot.q.val() };
        self.free.write.next = if clears { clear_index } else { self.at.q.val() };
        self.free.write.valid.next = clears | frees;

        // The end of a put.
        let over = self.over.q.val();
        self.done.next = done_of(entry.put, over);
        self.put_event.next = event_of(entry, over);
        self.resent.next = self.again.q.val();
        self.refused.next = missing & refuses & by_host;
        self.refusal.next = (response.code, entry.put.frame).cat::<24>();
    }
}
