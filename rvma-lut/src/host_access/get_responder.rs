//! GET responder: answers GETs at mailboxes of this node with the bytes of their last complete buffer.
//!
//! | neighbour | ports |
//! |---|---|
//! | lookup | in `looked_up`: GETs that found their mailbox with its key |
//! | epochs | out `query`, `query_valid` (held), `granted`; in `epochs_busy`, `reply` |
//! | buffer queue | out `peek` (held) |
//! | placement | in `request`: passed on |
//! | packet engine | out `place_request`; in `place_data` |
//! | DMA writer | out `data_valid` (the data are those of the packet engine); in `data_ready` |
//! | report, packet engine, buffer reclaim | out `verdict`, `verdict_phase`, `outcome` (pulse); in `verdict_free` |
//! | put arbiter | out `get_answer` |
//!
//! One GET at a time. The unit reads the buffer that was completed last from the epochs; the bytes of the GET must lie
//! in the bytes placed in that buffer. A GET with the flag ACTIVE reads the oldest incomplete buffer instead, up to the
//! end of the buffer. The destination of the answer lies in the bytes of the packet itself, so its first two beats are
//! read from the packet buffer between the reads for placements. The answer is a put of host memory for the initiator;
//! up to sixteen wait for it.
//!
//! | refused | reason |
//! |---|---|
//! | no buffer of the mailbox is complete, or it was posted again; ACTIVE: none is posted | NO_POSTED_BUFFER: the source tries again |
//! | past the bytes placed (ACTIVE: past the buffer), or no bytes | OUT_OF_BOUNDS |
//! | sixteen answers wait | NO_MESSAGE_SLOT: the source tries again |
//!
//! No answer begins before its GET is accepted, and none is dropped afterwards. The next GET, and the packets after it,
//! wait for the verdict of the one before; other packets pass to binding: one GET per 16 cycles on an idle engine whose
//! packet buffer answers in 4. Nothing here waits for an answer to leave.

use crate::prelude::*;
use spindle_contract::descriptors::put_op;
use spindle_contract::reasons::{NO_MESSAGE_SLOT, NO_POSTED_BUFFER, OUT_OF_BOUNDS};
use spindle_contract::wire::{spindle, ETH_BYTES, IPV4_BYTES, SPINDLE_BYTES, SPINDLE_GET_BYTES, UDP_BYTES, VLAN_BYTES};

/// Address bits of the FIFO of answers.
const ANSWER_BITS: usize = 4;
/// Bits before the Spindle header of a frame without a VLAN tag.
const HEADER_AT: usize = 8 * (ETH_BYTES + IPV4_BYTES + UDP_BYTES);
/// First bit of `dst_pid` in the first beat.
const PID_AT: usize = HEADER_AT + 8 * spindle::DST_PID;
/// First bit of {reply mailbox, offset, key} in the second beat.
const REPLY_AT: usize = HEADER_AT + 8 * SPINDLE_BYTES - 512;
/// Bits by which a VLAN tag shifts both.
const TAG_BITS: usize = 8 * VLAN_BYTES;
/// `payload_offset` of a GET without a VLAN tag.
const PLAIN_OFFSET: u64 = (ETH_BYTES + IPV4_BYTES + UDP_BYTES + SPINDLE_GET_BYTES) as u64;

/// States of the unit.
#[derive(LogicState, Copy, Clone, Debug, PartialEq)]
pub enum GetState {
    /// Waits for a GET.
    Idle,
    /// Reads the buffer completed last, or the oldest incomplete one, from the epochs.
    Query,
    /// Reads address and size of the oldest incomplete buffer.
    Peek,
    /// Checks the bounds.
    Judge,
    /// Requests the packet from the packet buffer.
    Request,
    /// Waits for the first beat.
    First,
    /// Waits for the second beat.
    Second,
    /// Reports the verdict.
    Verdict,
}

/// An answer that waits for the initiator.
#[derive(LogicStruct, Copy, Clone, Debug, Default, PartialEq)]
pub struct GetAnswer {
    /// Node that sent the GET.
    pub node: Bits<8>,
    /// Process that sent the GET.
    pub dst_pid: Bits<16>,
    /// Process whose mailbox answers.
    pub src_pid: Bits<16>,
    /// Mailbox, offset and key for the answer.
    pub reply: Bits<128>,
    /// Host address of the bytes.
    pub host_address: Bits<64>,
    /// Bytes.
    pub length: Bits<32>,
    /// Message number of the GET.
    pub msg_id: Bits<32>,
}

/// The responder. See the module text.
#[block]
pub struct GetResponder {
    /// GET whose mailbox exists.
    pub looked_up: Sink<LookedUpPacket>,
    /// Query of the mailbox's epochs.
    pub query: Signal<Out, EpochQuery>,
    /// Query present; held until `reply`.
    pub query_valid: Signal<Out, Bit>,
    /// The reply belongs to this unit.
    pub granted: Signal<Out, Bit>,
    /// Another block queries the epochs.
    pub epochs_busy: Signal<In, Bit>,
    /// Answer to the query.
    pub reply: PulseSink<EpochReply>,
    /// Read of a posted buffer.
    pub peek: PeekSource,
    /// Payload that placement requests.
    pub request: Sink<ReadRequest>,
    /// Packet requested from the packet buffer.
    pub place_request: Source<ReadRequest>,
    /// Beat of a packet.
    pub place_data: BeatSink,
    /// The beat is for the DMA writer.
    pub data_valid: Signal<Out, Bit>,
    /// The DMA writer takes the beat.
    pub data_ready: Signal<In, Bit>,
    /// End of the GET.
    pub verdict: Pulse<PlacementDone>,
    /// Fence phase of the GET.
    pub verdict_phase: Signal<Out, Bit>,
    /// Answer of the mailbox to the GET.
    pub outcome: Signal<Out, PlacementOutcome>,
    /// `verdict` may be sent.
    pub verdict_free: Signal<In, Bit>,
    /// Answer for the initiator.
    pub get_answer: Source<PutDesc>,
    state: Reg<GetState>,
    get: DFF<LookedUpPacket>,
    owns_epochs: Reg<Bit>,
    source: DFF<EpochReply>,
    /// Low half of the address of the first byte, with its carry.
    low: DFF<Bits<33>>,
    pid: DFF<Bits<16>>,
    reply_to: DFF<Bits<128>>,
    refused: DFF<Bit>,
    reason: DFF<Bits<5>>,
    /// The request offered is that of this unit.
    offers: Reg<Bit>,
    /// Reads of placements that have not ended, and those of them before the read of this unit.
    reads: Reg<Bits<8>>,
    earlier: Reg<Bits<8>>,
    /// No read of a placement is before the read of this unit.
    next_is_ours: Reg<Bit>,
    answers: Fifo<GetAnswer, ANSWER_BITS>,
}

#[hdl]
impl GetResponder {
    fn update(&mut self) {
        let packet = self.get.q.val().packet;
        let taken = self.pass_requests(packet);
        let ours = self.pass_beats(taken);
        self.ask_epochs(packet);
        self.step(packet, taken, ours);
        self.report(packet);
    }

    /// Requests to the packet buffer: one that is offered stays until it is taken.
    fn pass_requests(&mut self, packet: Packet) -> Bit {
        let offers = self.offers.q.val();
        let open = self.request.valid.val() & !self.place_request.ready.val();
        if offers {
            self.offers.d.next = !self.place_request.ready.val();
        } else {
            self.offers.d.next = (self.state.q.val() == GetState::Request) & !open;
        }
        let taken = offers & self.place_request.ready.val();
        self.place_request.next = self.request.val();
        if offers {
            self.place_request.next =
                ReadRequest { pkt: packet.pkt, length: bit_cast::<14, 11>(packet.payload_offset), skip: bits::<8>(0) };
        }
        self.place_request.valid.next = offers | self.request.valid.val();
        self.request.ready.next = self.place_request.ready.val() & !offers;
        taken
    }

    /// Beats of the packet buffer, in the order of the reads.
    fn pass_beats(&mut self, taken: Bit) -> Bit {
        let state = self.state.q.val();
        let reading = (state == GetState::First) | (state == GetState::Second);
        let ours = reading & self.next_is_ours.q.val();
        self.data_valid.next = self.place_data.valid.val() & !ours;
        self.place_data.ready.next = ours | self.data_ready.val();
        let begins = self.request.valid.val() & !self.offers.q.val() & self.place_request.ready.val();
        let ends = self.place_data.valid.val() & !ours & self.data_ready.val() & self.place_data.last.val();
        if begins & !ends {
            self.reads.d.next = self.reads.q.val() + 1;
        } else if ends & !begins {
            self.reads.d.next = self.reads.q.val() - 1;
        }
        if taken {
            self.earlier.d.next = if ends { self.reads.q.val() - 1 } else { self.reads.q.val() };
            let last = if ends { bits::<8>(1) } else { bits::<8>(0) };
            self.next_is_ours.d.next = self.reads.q.val() == last;
        } else if ends & !self.next_is_ours.q.val() {
            self.earlier.d.next = self.earlier.q.val() - 1;
            self.next_is_ours.d.next = self.earlier.q.val() == 1;
        }
        ours
    }

    /// Queries the epochs when no other block does.
    fn ask_epochs(&mut self, packet: Packet) {
        let state = self.state.q.val();
        let owns = self.owns_epochs.q.val();
        self.owns_epochs.d.next =
            (state == GetState::Query) & (owns | !self.epochs_busy.val()) & !(owns & self.reply.valid.val());
        self.query_valid.next = owns & !self.reply.valid.val();
        self.granted.next = owns;
        self.query.next =
            EpochQuery { op: bits::<2>(QUERY_POINTER), mailbox: self.get.q.val().mailbox, back: bits::<4>(0) };
        if packet.active {
            self.query.next.op = bits::<2>(QUERY_OLDEST);
        }
    }

    /// The sequencer.
    fn step(&mut self, packet: Packet, taken: Bit, ours: Bit) {
        let state = self.state.q.val();
        let plain = packet.payload_offset == PLAIN_OFFSET;
        let source = self.source.q.val();
        self.peek.valid.next = state == GetState::Peek;
        self.peek.slot.next = source.slot;
        self.looked_up.ready.next = state == GetState::Idle;
        match state {
            GetState::Idle => {
                if self.looked_up.valid.val() {
                    self.get.d.next = self.looked_up.val();
                    self.state.d.next = GetState::Query;
                }
            }
            GetState::Query => {
                if self.owns_epochs.q.val() & self.reply.valid.val() {
                    self.source.d.next = self.reply.val();
                    self.state.d.next = GetState::Judge;
                    self.state.load(packet.active & self.reply.val().ok, GetState::Peek);
                }
            }
            GetState::Peek => {
                if self.peek.done.val() {
                    self.source.d.next.value = self.peek.buffer.val().base;
                    self.source.d.next.length = self.peek.buffer.val().size;
                    self.state.d.next = GetState::Judge;
                }
            }
            GetState::Judge => {
                self.low.d.next = bit_cast::<33, 32>(source.value.get_bits::<32>(0)) + bit_cast::<33, 32>(packet.start);
                let fits = (packet.end <= source.length) & packet.msg_len.any();
                self.refused.d.next = true;
                self.state.d.next = GetState::Verdict;
                if !source.ok {
                    self.reason.d.next = bits::<5>(NO_POSTED_BUFFER);
                } else if !fits {
                    self.reason.d.next = bits::<5>(OUT_OF_BOUNDS);
                } else if !self.answers.write.ready.val() {
                    self.reason.d.next = bits::<5>(NO_MESSAGE_SLOT);
                } else {
                    self.refused.d.next = false;
                    self.reason.d.next = bits::<5>(0);
                    self.state.d.next = GetState::Request;
                }
            }
            GetState::Request => {
                self.state.load(taken, GetState::First);
            }
            GetState::First => {
                if ours & self.place_data.valid.val() {
                    let beat = self.place_data.val();
                    let bytes =
                        if plain { beat.get_bits::<16>(PID_AT) } else { beat.get_bits::<16>(PID_AT + TAG_BITS) };
                    self.pid.d.next = (bytes.get_bits::<8>(0), bytes.get_bits::<8>(8)).cat::<16>();
                    self.state.d.next = GetState::Second;
                }
            }
            GetState::Second => {
                if self.place_data.valid.val() {
                    let beat = self.place_data.val();
                    let bytes =
                        if plain { beat.get_bits::<128>(REPLY_AT) } else { beat.get_bits::<128>(REPLY_AT + TAG_BITS) };
                    self.reply_to.d.next = byte_swap(bytes);
                    self.state.d.next = GetState::Verdict;
                }
            }
            GetState::Verdict => {
                self.state.load(self.verdict_free.val(), GetState::Idle);
            }
            _ => self.state.d.next = GetState::Idle,
        }
    }

    /// The verdict, and the answer.
    fn report(&mut self, packet: Packet) {
        let source = self.source.q.val();
        let refused = self.refused.q.val();
        let reports = (self.state.q.val() == GetState::Verdict) & self.verdict_free.val();
        self.verdict.next = verdict_of(packet, !refused, self.reason.q.val());
        self.verdict_phase.next = packet.fence_phase;
        self.outcome.next = PlacementOutcome {
            pkt: packet.pkt,
            silent: self.get.q.val().silent | (self.get.q.val().silent_unbound & !source.ok),
            epoch: bits::<16>(0),
            credit: bits::<16>(0),
        };
        self.verdict.valid.next = reports;
        let low = self.low.q.val();
        let high = source.value.get_bits::<32>(32) + bit_cast::<32, 1>(low.get_bits::<1>(32));
        self.answers.write.next = GetAnswer {
            node: packet.src_nid.get_bits::<8>(0),
            dst_pid: packet.src_pid,
            src_pid: self.pid.q.val(),
            reply: self.reply_to.q.val(),
            host_address: (high, low.get_bits::<32>(0)).cat::<64>(),
            length: packet.msg_len,
            msg_id: packet.msg_id,
        };
        self.answers.write.valid.next = reports & !refused;
        let get_answer = self.answers.read.val();
        self.get_answer.next = PutDesc {
            op: bits::<2>(put_op::GET_RESP),
            from_host: true,
            node: get_answer.node,
            dst_pid: get_answer.dst_pid,
            src_pid: get_answer.src_pid,
            addr: get_answer.reply.get_bits::<64>(64),
            buf_off: get_answer.reply.get_bits::<32>(32),
            key: get_answer.reply.get_bits::<32>(0),
            length: get_answer.length,
            host_address: get_answer.host_address,
            reply_key: get_answer.msg_id,
            // No processor waits for the end of this put.
            issuer: CommandIssuer { cluster: bits::<3>(7), hpu: bits::<3>(7), handle: bits::<4>(0) },
            ..PutDesc::default()
        };
        self.get_answer.valid.next = self.answers.read.valid.val();
        self.answers.read.ready.next = self.get_answer.ready.val();
    }
}
