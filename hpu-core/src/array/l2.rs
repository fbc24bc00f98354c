//! Context memory (L2): shared by all clusters and the host.

use crate::array::l2_bank::{L2Answer, L2Bank, L2Request, HARTS, LR, REQUESTERS, ROW_WORDS};
use crate::bundles::L2PortSink;
use spindle_blocks::{replicate, LutFifo};
use spindle_verilog::prelude::*;

/// Banks, interleaved by the lowest bits of the word address.
const BANKS: usize = 4;

/// Four banks that work side by side; atomics are done at the bank.
///
/// | neighbour | ports |
/// |---|---|
/// | clusters | `port[i]` |
/// | registers (the host) and L2 copy | `port[i]` with the highest `i` |
/// | L2 copy | in `beat`: a beat that is read; out `beat_data`, `beat_answered`: its bytes, 3 cycles after it was taken, not registered |
///
/// Data are right-aligned both ways: the bytes of a store are rotated to the lanes of its address, the word of a load
/// back. Of a request that crosses its word, the bytes in that word are written; the bytes after it are the second
/// part, a request with the next word's address and the same lowest two bits, whose answer has its bytes at their
/// positions in the first answer. Every request is answered, a store too.
///
/// Latency: a request is in front of its bank one cycle after it was taken, and is answered 4 cycles after the bank's
/// grant: 5 cycles from request to answer without contention. The answers of a requester come in the order of its
/// requests. Each requester may send one request per cycle.
///
/// **Beats** for the L2 copy: all banks read a row in one cycle, and grant nothing else in that cycle. Beats come one per cycle
/// while no request waits in front of a bank. Otherwise they leave every second cycle to the requests. A beat waits until no
/// AMO keeps a bank, 3 cycles at most, and meanwhile nothing is granted; so AMOs cannot keep a beat from its turn.
///
/// Worst case in front of a bank: every other cluster once and the host between any two, each 1 cycle, or 4 with an AMO. While
/// beats are read, each takes 2 cycles, or 5 with an AMO in any bank. A beat is read 2 cycles after the one before at the latest,
/// or 5 with an AMO.
#[block]
pub struct L2 {
    /// Accesses of each requester.
    pub port: Vec<L2PortSink>,
    /// Beat that is read.
    pub beat: Sink<Bits<14>>,
    /// The beat that was read,
    pub beat_data: Signal<Out, Bits<512>>,
    /// in this cycle.
    pub beat_answered: Signal<Out, Bit>,
    /// Requests in front of the banks, two of each requester.
    front: Vec<LutFifo<L2Request, 1>>,
    bank: [L2Bank; BANKS],
    reserving: Reg<Bits<HARTS>>,
    /// Beats that were taken 1, 2 and 3 cycles ago, a bit each.
    beats: Reg<Bits<3>>,
    answers: Vec<DFF<L2Answer>>,
    answered: Reg<Bits<REQUESTERS>>,
    _requesters: usize,
    _hpus: usize,
}

impl L2 {
    /// `bytes` of memory for `clusters` clusters of `hpus` HPUs, and the host.
    pub fn new(bytes: usize, clusters: usize, hpus: usize) -> Self {
        assert!((1..REQUESTERS).contains(&clusters), "L2: {clusters} clusters cannot be served; use 1 to 8");
        assert!((1..=8).contains(&hpus), "L2: clusters of {hpus} HPUs do not fit a number of three bits; use 1 to 8");
        assert!(bytes.is_power_of_two() && bytes >= 4096, "L2: {bytes} bytes; use a power of two from 4 KiB on");
        let requesters = clusters + 1;
        Self {
            port: replicate(requesters),
            front: replicate(requesters),
            bank: std::array::from_fn(|_| L2Bank::new(bytes / BANKS, requesters)),
            answers: replicate(requesters),
            _requesters: requesters,
            _hpus: hpus,
            ..Self::blank()
        }
    }
}

#[hdl]
impl L2 {
    fn update(&mut self) {
        self.read_beats();
        let mut reserving: Bits<HARTS> = bits::<HARTS>(0);
        let mut answered: Bits<REQUESTERS> = bits::<REQUESTERS>(0);
        for i in 0..self._requesters {
            self.front[i].write.next = L2Request {
                request: self.port[i].request.val(),
                hpu: self.port[i].hpu.val(),
                second: self.port[i].second.val(),
            };
            self.front[i].write.valid.next = self.port[i].valid.val();
            self.port[i].ready.next = self.front[i].write.ready.val();

            let front = self.front[i].read.val();
            let mut granted: Bit = false;
            for b in 0..BANKS {
                self.bank[b].request[i].next = front;
                self.bank[b].valid[i].next =
                    self.front[i].read.valid.val() & (front.request.address.get_bits::<2>(2) == bits::<2>(b));
                granted = granted | self.bank[b].grant[i].val();
            }
            self.front[i].read.ready.next = granted;

            // LR and SC differ in the lowest bit of funct5. The host has no atomics.
            let reserves =
                granted & front.request.atomic & (front.request.operation.get_bits::<4>(1) == bits::<4>(LR >> 1));
            if i + 1 < self._requesters {
                for h in 0..self._hpus {
                    let mine = reserves & (front.hpu == bits::<3>(h));
                    reserving = reserving.replace_bit(16 * i + 2 * h, mine & !front.request.thread);
                    reserving = reserving.replace_bit(16 * i + 2 * h + 1, mine & front.request.thread);
                }
            }

            // At most one bank answers, since a requester sends one request per cycle.
            let mut from: Bits<BANKS> = bits::<BANKS>(0);
            for b in 0..BANKS {
                from = from.replace_bit(b, self.bank[b].answer_to.val().get_bit(i));
            }
            let number = (from.get_bit(3) | from.get_bit(2), from.get_bit(3) | from.get_bit(1)).cat::<2>();
            answered = answered.replace_bit(i, from.any());
            if from.any() {
                self.answers[i].d.next = match number.index() {
                    0 => self.bank[0].answer.val(),
                    1 => self.bank[1].answer.val(),
                    2 => self.bank[2].answer.val(),
                    _ => self.bank[3].answer.val(),
                };
            }
            self.port[i].answer.next = self.answers[i].q.val().answer;
            self.port[i].answer_hpu.next = self.answers[i].q.val().hpu;
            self.port[i].answer_valid.next = self.answered.q.val().get_bit(i);
        }
        self.reserving.d.next = reserving;
        self.answered.d.next = answered;
    }

    /// A beat is read when no AMO keeps a bank; the requests that wait have every second cycle.
    fn read_beats(&mut self) {
        let mut waits: Bit = false;
        for i in 0..self._requesters {
            waits = waits | self.front[i].read.valid.val();
        }
        let mut shut: Bit = false;
        for b in 0..BANKS {
            shut = shut | self.bank[b].shut.val();
        }
        let beats = self.beats.q.val();
        let turn = !(waits & beats.get_bit(0));
        let claims = self.beat.valid.val() & turn;
        let takes = claims & !shut;
        self.beat.ready.next = turn & !shut;
        self.beats.d.next = (beats.get_bits::<2>(0), takes).cat::<3>();
        let mut data: Bits<512> = bits::<512>(0);
        for b in 0..BANKS {
            self.bank[b].reserving.next = self.reserving.q.val();
            self.bank[b].claim.next = claims;
            self.bank[b].wide.next = takes;
            self.bank[b].wide_row.next = self.beat.val();
            for k in 0..ROW_WORDS {
                let word = self.bank[b].row_data.val().get_bits::<32>(32 * k);
                data.set_bits::<32>(32 * (BANKS * k + b), word);
            }
        }
        self.beat_data.next = data;
        self.beat_answered.next = beats.get_bit(2);
    }
}
