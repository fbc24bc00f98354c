//! Remote router: brings accesses of L2 and atomics from the HPUs to L2 and to the atomic unit of L1, and the answers
//! back.
//!
//! | neighbour | ports |
//! |---|---|
//! | HPUs | in `request[h]`; out `answer`, `answer_valid` (a bit per HPU), always taken |
//! | L2 | `l2` |
//! | atomic unit | out `atomic`, `atomic_hpu`; in `atomic_answer`, `atomic_answer_hpu` |
//!
//! Round robin over the HPUs whose request has room at its destination, one request per cycle: the atomic unit gets it
//! in that cycle, L2 one cycle later. Worst case: the other HPUs first. Answers take 1 cycle; those of L2 go first, so
//! an answer of the atomic unit waits while L2 answers.
//!
//! A load or store of L2 that crosses a word becomes two requests, the lower word first, see
//! [`L2`](crate::array::l2::L2); the second answer has the bytes that are missing in the first, and between the two an
//! answer of the atomic unit waits. At most 16 requests are in flight.

use crate::array::rr_arbiter4::RrArbiter4;
use crate::bundles::OrderedL2Port;
use crate::processor::types::{RemoteAnswer, RemoteRequest};
use spindle_blocks::{replicate, LutFifo};
use spindle_verilog::prelude::*;

/// A request and who made it.
#[derive(LogicStruct, Copy, Clone, Debug, Default, PartialEq)]
pub struct RoutedRequest {
    /// The request.
    pub request: RemoteRequest,
    /// The HPU.
    pub hpu: Bits<3>,
}

/// A request of L2 in flight.
#[derive(LogicStruct, Copy, Clone, Debug, Default, PartialEq)]
pub struct L2Part {
    /// The HPU.
    pub hpu: Bits<3>,
    /// The second part follows.
    pub first: Bit,
    /// It is the second part.
    pub second: Bit,
    /// Address bits 1:0 of the access; the first part has 4 less that many bytes.
    pub offset: Bits<2>,
}

/// The router. See the module text.
#[block]
pub struct RemoteRouter {
    /// Requests of the HPUs.
    pub request: Vec<Sink<RemoteRequest>>,
    /// An answer.
    pub answer: Signal<Out, RemoteAnswer>,
    /// HPU of the answer, one-hot.
    pub answer_valid: Signal<Out, Bits<8>>,
    /// Request for the atomic unit.
    pub atomic: Source<RemoteRequest>,
    /// HPU of the request.
    pub atomic_hpu: Signal<Out, Bits<3>>,
    /// Answer of the atomic unit.
    pub atomic_answer: Sink<RemoteAnswer>,
    /// HPU of the answer.
    pub atomic_answer_hpu: Signal<In, Bits<3>>,
    /// Accesses of L2.
    pub l2: OrderedL2Port,
    arbiter: RrArbiter4,
    /// The request in front of L2. A request that crosses a word becomes its second part here.
    head: DFF<RoutedRequest>,
    head_valid: Reg<Bit>,
    /// The request crosses a word.
    crosses: DFF<Bit>,
    in_second: Reg<Bit>,
    in_flight: LutFifo<L2Part, 4>,
    /// The answer without its data,
    answer_kind: DFF<Bits<2>>,
    /// and its data, byte by byte.
    answer_bytes: [DFF<Bits<8>>; 4],
    /// The second part's answer is still to come.
    half: Reg<Bit>,
    answer_to: Reg<Bits<8>>,
    _hpus: usize,
}

impl RemoteRouter {
    /// For `hpus` HPUs, 1 to 8.
    pub fn new(hpus: usize) -> Self {
        assert!((1..=8).contains(&hpus), "RemoteRouter: {hpus} HPUs cannot be connected; choose 1 to 8");
        Self { request: replicate(hpus), _hpus: hpus, ..Self::blank() }
    }
}

#[hdl]
impl RemoteRouter {
    fn update(&mut self) {
        // The register towards L2 is free, or will be.
        let head = self.head.q.val();
        let request = head.request;
        let offset = request.address.get_bits::<2>(0);
        let crosses = self.crosses.q.val();
        let head_offered = self.head_valid.q.val() & self.in_flight.write.ready.val();
        let moves = head_offered & self.l2.ready.val();
        let l2_room = !self.head_valid.q.val() | (moves & !crosses);

        // The grant.
        let mut requests: Bits<8> = bits::<8>(0);
        for i in 0..self._hpus {
            let room = if self.request[i].val().to_l2 { l2_room } else { self.atomic.ready.val() };
            requests = requests.replace_bit(i, self.request[i].valid.val() & room);
        }
        self.arbiter.request.next = requests;
        self.arbiter.accept.next = true;
        let index = self.arbiter.index.val();
        let chosen = select(index, self.request.vals());
        for i in 0..self._hpus {
            self.request[i].ready.next = self.arbiter.grant.val().get_bit(i);
        }
        self.atomic.next = chosen;
        self.atomic_hpu.next = index;
        self.atomic.valid.next = self.arbiter.any.val() & !chosen.to_l2;
        let sent = RoutedRequest { request: chosen, hpu: index };
        let sends = self.arbiter.any.val() & chosen.to_l2;

        // To L2, in two parts if need be.
        let second = self.in_second.q.val();
        if l2_room {
            self.head_valid.d.next = sends;
            self.in_second.d.next = false;
        }
        let sent_last = bit_cast::<3, 2>(chosen.address.get_bits::<2>(0)) + bit_cast::<3, 2>(chosen.size_less_one);
        if sends {
            self.head.d.next = sent;
            self.crosses.d.next = sent_last.get_bit(2) & !chosen.atomic;
        } else if moves {
            self.crosses.d.next = false;
            self.in_second.d.next = crosses;
            self.head.d.next.request.address = (request.address.get_bits::<18>(2) + 1, offset).cat::<20>();
        }
        self.l2.request.next = request;
        self.l2.hpu.next = head.hpu;
        self.l2.second.next = second;
        self.l2.valid.next = head_offered;
        self.in_flight.write.offer(moves, L2Part { hpu: head.hpu, first: crosses, second, offset });

        // Answers. The bytes of the second part are written by the enables of bytes.
        let part = self.in_flight.read.val();
        let answered = self.l2.answer_valid.val();
        self.in_flight.read.ready.next = answered;
        let atomic_room = !answered & !self.half.q.val();
        let by_atomic = self.atomic_answer.valid.val() & atomic_room;
        self.atomic_answer.ready.next = atomic_room;
        self.half.load(answered, part.first);
        let source = if answered { self.l2.answer.val() } else { self.atomic_answer.val() };
        self.answer_kind.load(answered | atomic_room, (source.write, source.thread).cat::<2>());
        for b in 0..4 {
            let in_second = bit_cast::<3, 2>(part.offset) > bits::<3>(3 - b as u64);
            if (answered & (!part.second | in_second)) | atomic_room {
                self.answer_bytes[b].d.next = source.data.get_bits::<8>(8 * b);
            }
        }
        let to = if answered { part.hpu } else { self.atomic_answer_hpu.val() };
        self.answer_to.d.next = if (answered & !part.first) | by_atomic { bits::<8>(1) << to } else { bits::<8>(0) };
        self.answer.next = RemoteAnswer {
            thread: self.answer_kind.q.val().get_bit(0),
            write: self.answer_kind.q.val().get_bit(1),
            data: (
                self.answer_bytes[3].q.val(),
                self.answer_bytes[2].q.val(),
                self.answer_bytes[1].q.val(),
                self.answer_bytes[0].q.val(),
            )
                .cat::<32>(),
        };
        self.answer_valid.next = self.answer_to.q.val();
    }
}
