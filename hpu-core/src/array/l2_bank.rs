//! One bank of context memory: arbitration, memory, atomics.

use crate::array::rr_arbiter4::RrArbiter4;
use crate::cluster::amo_alu::{amo_choice, amo_result, amo_sum, STORES_OPERAND};
use crate::processor::byte_lanes::rotate_bytes;
use crate::processor::types::{RemoteAnswer, RemoteRequest};
use spindle_blocks::{replicate, ByteRam, RamStyle};
use spindle_verilog::prelude::*;

/// Requesters of a bank: up to eight clusters and the host.
pub const REQUESTERS: usize = 9;
/// Words of a row.
pub const ROW_WORDS: usize = 4;
/// Bits of a row.
pub const ROW_BITS: usize = 32 * ROW_WORDS;
/// Hardware threads of all clusters: {cluster, HPU, thread}.
pub const HARTS: usize = 128;
/// funct5 of LR and SC.
pub(crate) const LR: u64 = 0b00010;
const SC: u64 = 0b00011;

/// A request with the HPU that made it.
#[derive(LogicStruct, Copy, Clone, Debug, Default, PartialEq)]
pub struct L2Request {
    /// The request.
    pub request: RemoteRequest,
    /// The HPU in its cluster.
    pub hpu: Bits<3>,
    /// It is the second part of an access that crosses a word: its bytes in this word.
    pub second: Bit,
}

/// An answer with the HPU that gets it.
#[derive(LogicStruct, Copy, Clone, Debug, Default, PartialEq)]
pub struct L2Answer {
    /// An answer.
    pub answer: RemoteAnswer,
    /// The HPU in its cluster.
    pub hpu: Bits<3>,
}

/// State of a request beside the memory.
#[derive(LogicStruct, Copy, Clone, Debug, Default, PartialEq)]
pub struct L2Passage {
    /// The HPU that asked.
    pub hpu: Bits<3>,
    /// Its thread.
    pub thread: Bit,
    /// It is a store.
    pub write: Bit,
    /// Its word in the row,
    pub word: Bits<2>,
    /// and its first byte.
    pub lane: Bits<2>,
    /// It is an SC: the answer is `failed`.
    pub conditional: Bit,
    /// The SC stored nothing.
    pub failed: Bit,
}

/// A bank: every fourth word of context memory, in rows of four words. Row r of all banks together is beat r of context memory.
///
/// | neighbour | ports |
/// |---|---|
/// | requesters | in `request[i]`, `valid[i]` / out `grant[i]`: one per cycle, round robin |
/// | L2 | in `reserving`: {cluster, HPU, thread} whose LR or SC was granted in the cycle before, in any bank |
/// | | in `claim`: a beat is next, nothing is granted; in `wide`, `wide_row`: the beat is read; out `shut`: an AMO keeps the bank |
/// | L2 copy | out `row_data`: the row, 3 cycles after `wide`, not registered |
/// | answers | out `answer` for `answer_to` (one-hot), 3 cycles after the grant, not registered |
///
/// | cycle | action |
/// |---|---|
/// | 0 | grant: round robin among the clusters, and the host in every other turn; or a row for the L2 copy |
/// | 1 | address to the memory; a store (and an SC that succeeds) is written; reservations are made and ended |
/// | 2 | array read |
/// | 3 | row out of the memory's output register, its word: answer; an AMO's sum is computed |
/// | 4 | the AMO's result is written |
///
/// An AMO keeps the bank for 4 cycles, any other request for one. The bank has one reservation address: harts that
/// reserve the same word share it; an LR of another word takes it over if no hart holds it or if it is 255 cycles old.
/// So some hart's SC always succeeds; an SC may fail without a reason that the hart can see. Any write of the reserved
/// word ends all its reservations, and an SC always ends its hart's.
#[block]
pub struct L2Bank {
    /// Requests.
    pub request: Vec<Signal<In, L2Request>>,
    /// The request is offered, and is for this bank.
    pub valid: Vec<Signal<In, Bit>>,
    /// The request is taken.
    pub grant: Vec<Signal<Out, Bit>>,
    /// Nothing is granted: a beat is next.
    pub claim: Signal<In, Bit>,
    /// The row of the beat is read, which stands before grants,
    pub wide: Signal<In, Bit>,
    /// this one.
    pub wide_row: Signal<In, Bits<14>>,
    /// An AMO keeps the bank: it grants nothing.
    pub shut: Signal<Out, Bit>,
    /// The row that was read.
    pub row_data: Signal<Out, Bits<ROW_BITS>>,
    /// Harts whose LR or SC is at the memory of its bank now.
    pub reserving: Signal<In, Bits<HARTS>>,
    /// An answer.
    pub answer: Signal<Out, L2Answer>,
    /// Requester of the answer, one-hot.
    pub answer_to: Signal<Out, Bits<REQUESTERS>>,
    arbiter: RrArbiter4,
    /// The host was granted last.
    host_last: Reg<Bit>,
    memory: ByteRam<14, 16, ROW_BITS>,
    /// The request granted last; an AMO stays here until it is written.
    chosen: DFF<L2Request>,
    /// Requester of the request that is 1, 2 or 3 cycles after its grant.
    granted: Reg<Bits<REQUESTERS>>,
    /// A row for the L2 copy was granted.
    wide_granted: Reg<Bit>,
    reading: Reg<Bits<REQUESTERS>>,
    read: Reg<Bits<REQUESTERS>>,
    /// An AMO is 2, 3 or 4 cycles after its grant.
    amo_reading: Reg<Bit>,
    amo_read: Reg<Bit>,
    amo_writes: Reg<Bit>,
    old: DFF<Bits<32>>,
    sum: DFF<Bits<32>>,
    passage: [DFF<L2Passage>; 2],
    /// The reserved word, the harts that hold it, and its age.
    reserved_place: DFF<Bits<16>>,
    holders: Reg<Bits<HARTS>>,
    age: Reg<Bits<8>>,
    _requesters: usize,
}

impl L2Bank {
    /// A bank of `bytes` for `requesters` requesters.
    pub fn new(bytes: usize, requesters: usize) -> Self {
        // Small ones would leave most of an UltraRAM empty, and only large devices have it.
        let style = if bytes > 64 << 10 { RamStyle::Ultra } else { RamStyle::Block };
        Self {
            request: replicate(requesters),
            valid: replicate(requesters),
            grant: replicate(requesters),
            memory: ByteRam::with_depth(style, 2, bytes / (4 * ROW_WORDS)),
            _requesters: requesters,
            ..Self::blank()
        }
    }
}

#[hdl]
impl L2Bank {
    fn update(&mut self) {
        // Cycle 0: the grant. An AMO in progress shuts the bank.
        let held = self.chosen.q.val().request;
        let busy = self.granted.q.val().any();
        let reserves = held.atomic & (held.operation == bits::<5>(LR));
        let conditional = held.atomic & (held.operation == bits::<5>(SC));
        let modifies = busy & held.atomic & !reserves & !conditional;
        let shut = modifies | self.amo_reading.q.val() | self.amo_read.q.val();
        self.shut.next = shut;
        self.grant_request(shut | self.claim.val());

        // Cycle 1: reservations, and the plain write.
        let place = held.address.get_bits::<16>(4);
        // An LR or SC ends the reservation of its hart in any bank; only one in this bank makes a reservation here.
        let mut own: Bits<HARTS> = bits::<HARTS>(0);
        if busy & (reserves | conditional) {
            let mut own_requester: Bits<HARTS> = bits::<HARTS>(0);
            for i in 0..REQUESTERS - 1 {
                for k in 0..HARTS / (REQUESTERS - 1) {
                    own_requester =
                        own_requester.replace_bit(HARTS / (REQUESTERS - 1) * i + k, self.granted.q.val().get_bit(i));
                }
            }
            own = self.reserving.val() & own_requester;
        }
        let same = self.reserved_place.q.val() == place;
        let succeeds = conditional & same & (self.holders.q.val() & own).any();
        let others = self.holders.q.val() & !self.reserving.val();
        let old_enough = self.age.q.val().all();
        let stores = (held.write & !held.atomic) | succeeds;
        self.age.load(!old_enough, self.age.q.val() + 1);
        self.holders.d.next = others;
        if busy & same & (stores | modifies) {
            self.holders.d.next = bits::<HARTS>(0);
        } else if busy & reserves {
            if same & others.any() {
                self.holders.d.next = others | own;
            } else if !others.any() | old_enough {
                self.holders.d.next = own;
                self.reserved_place.d.next = place;
                self.age.d.next = bits::<8>(0);
            }
        }
        let lane = held.address.get_bits::<2>(0);
        let bytes = match held.size_less_one.to_u64() {
            0 => bits::<4>(0b0001),
            1 => bits::<4>(0b0011),
            2 => bits::<4>(0b0111),
            _ => bits::<4>(0b1111),
        };
        // Bytes after the word are written by the second part, at the lanes to which the first one rotated them.
        let both = bit_cast::<8, 4>(bytes) << lane;
        let own_bytes = if self.chosen.q.val().second { both.get_bits::<4>(4) } else { both.get_bits::<4>(0) };
        let strobe = if self.amo_writes.q.val() {
            bits::<4>(0b1111)
        } else if busy & stores {
            own_bytes
        } else {
            bits::<4>(0)
        };
        let word = held.address.get_bits::<2>(4);
        self.memory.write_strobe.next = bit_cast::<16, 4>(strobe) << (word, bits::<2>(0)).cat::<4>();
        self.memory.write_address.next = held.address.get_bits::<14>(6);
        // A store's operand is rotated to its lane; that of an atomic is in lane 0.
        let choice = if self.amo_writes.q.val() {
            amo_choice(self.old.q.val(), held.data, held.operation, self.sum.q.val())
        } else {
            bits::<3>(STORES_OPERAND)
        };
        // Cycle 4 of an AMO, which still stands in `chosen`.
        let placed = rotate_bytes(held.data, bits::<2>(0) - lane);
        let stored = amo_result(self.old.q.val(), placed, self.sum.q.val(), choice);
        self.memory.write_data.next = (stored, stored, stored, stored).cat::<ROW_BITS>();
        self.memory.read(busy | self.wide_granted.q.val(), held.address.get_bits::<14>(6));
        self.reading.d.next = self.granted.q.val();
        self.amo_reading.d.next = modifies;
        self.passage[0].d.next = L2Passage {
            hpu: self.chosen.q.val().hpu,
            thread: held.thread,
            write: held.write,
            word,
            lane,
            conditional,
            failed: !succeeds,
        };

        // Cycle 2: the array is read.
        self.read.d.next = self.reading.q.val();
        self.amo_read.d.next = self.amo_reading.q.val();
        self.passage[1].d.next = self.passage[0].q.val();

        // Cycle 3: the answer.
        let passage = self.passage[1].q.val();
        let row = self.memory.read_data.val();
        self.row_data.next = row;
        let word = select(
            passage.word,
            [row.get_bits::<32>(0), row.get_bits::<32>(32), row.get_bits::<32>(64), row.get_bits::<32>(96)],
        );
        if self.amo_read.q.val() {
            self.old.d.next = word;
            self.sum.d.next = amo_sum(word, held.data, held.operation);
        }
        self.amo_writes.d.next = self.amo_read.q.val();
        let mut data: Bits<32> = rotate_bytes(word, passage.lane);
        if passage.conditional {
            data = bit_cast::<32, 1>(passage.failed.into());
        }
        self.answer.next =
            L2Answer { answer: RemoteAnswer { thread: passage.thread, write: passage.write, data }, hpu: passage.hpu };
        self.answer_to.next = self.read.q.val();
    }

    /// Cycle 0: the grant, round robin among the clusters, and the host in every other turn; or the row of a beat.
    fn grant_request(&mut self, shut: Bit) {
        let mut requests: Bits<8> = bits::<8>(0);
        for i in 0..self._requesters - 1 {
            requests = requests.replace_bit(i, self.valid[i].val());
        }
        let host_requests = self.valid[self._requesters - 1].val();
        let by_host = host_requests & (!requests.any() | !self.host_last.q.val());
        self.arbiter.request.next = requests;
        self.arbiter.accept.next = !shut & !by_host;
        let mut grant: Bits<REQUESTERS> = bits::<REQUESTERS>(0);
        for i in 0..self._requesters - 1 {
            grant = grant.replace_bit(i, self.arbiter.grant.val().get_bit(i) & !shut & !by_host);
        }
        grant = grant.replace_bit(self._requesters - 1, by_host & !shut);
        self.granted.d.next = grant;
        for i in 0..self._requesters {
            self.grant[i].next = grant.get_bit(i);
        }
        let mut chosen: L2Request = self.request[0].val();
        for i in 0..self._requesters - 1 {
            if self.arbiter.index.val() == bits::<3>(i) {
                chosen = self.request[i].val();
            }
        }
        if by_host {
            chosen = self.request[self._requesters - 1].val();
        }
        if (requests.any() | host_requests) & !shut {
            self.host_last.d.next = by_host;
            self.chosen.d.next = chosen;
        }
        self.wide_granted.d.next = self.wide.val();
        if self.wide.val() {
            self.chosen.d.next = L2Request {
                request: RemoteRequest {
                    address: (self.wide_row.val(), bits::<6>(0)).cat::<20>(),
                    ..Default::default()
                },
                ..Default::default()
            };
        }
    }
}
