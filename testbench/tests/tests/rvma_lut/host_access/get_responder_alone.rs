//! The GET responder alone, against a model that answers one GET after the other: reads of placements that pass it, epochs that
//! others query, an initiator that takes no answer, any address and any bounds. All outputs are compared in each cycle.

use rand::Rng;
use rand_chacha::ChaCha8Rng;
use rvma_lut::host_access::get_responder::GetResponder;
use rvma_lut::types::{BufferEntry, EpochQuery, EpochReply, LookedUpPacket, Packet, QUERY_OLDEST, QUERY_POINTER};
use spindle_blocks::desc::{CommandIssuer, PlacementDone, PlacementOutcome, PutDesc, ReadRequest};
use spindle_contract::descriptors::put_op;
use spindle_contract::reasons::{NO_MESSAGE_SLOT, NO_POSTED_BUFFER, OUT_OF_BOUNDS};
use spindle_contract::wire::{get_reply, spindle, SPINDLE_BYTES, SPINDLE_GET_BYTES, VLAN_BYTES};
use spindle_harness::{near, random_bits, random_value, run_with_wave_on_failure, share, Dut, WaveContext};
use spindle_verilog::ports::from_bytes;
use spindle_verilog::prelude::*;
use std::collections::VecDeque;

/// Answers that may wait.
const ANSWERS: usize = 16;
const BEAT: usize = 64;
/// Payload offset of a GET without a tag.
const PLAIN: u64 = (spindle::START + SPINDLE_GET_BYTES) as u64;
/// Reads of placements that the packet buffer may owe.
const READS: usize = 255;

/// What a GET waits for.
#[derive(Clone, Debug, PartialEq)]
enum Step {
    /// The epochs; whether its query is there.
    Epochs(bool),
    /// The buffer.
    Peek,
    /// The check of its bounds.
    Judge,
    /// The turn of its read; whether the read is offered.
    Read(bool),
    /// Its first beat, its second beat.
    Beats(Option<Vec<u8>>),
    /// The end.
    Verdict(Result<Box<PutDesc>, usize>),
}

impl Step {
    fn is_verdict(&self) -> bool {
        matches!(self, Step::Verdict(_))
    }
}

/// A GET that is being answered.
#[derive(Clone, Debug)]
struct Get {
    looked_up: LookedUpPacket,
    source: EpochReply,
    step: Step,
}

/// A read that the packet buffer owes: its beats, and whether the GET's.
#[derive(Clone, Debug)]
struct Read {
    of_get: bool,
    beats: VecDeque<Vec<u8>>,
}

/// Inputs of a cycle.
#[derive(Clone, Debug, Default)]
struct Inputs {
    looked_up: Option<LookedUpPacket>,
    epochs_busy: bool,
    reply: Option<EpochReply>,
    peeked: Option<BufferEntry>,
    request: Option<ReadRequest>,
    place_ready: bool,
    /// The packet buffer brings a beat.
    beat: bool,
    data_ready: bool,
    verdict_free: bool,
    answer_ready: bool,
}

/// Outputs of a cycle.
#[derive(Clone, Debug, Default, PartialEq)]
struct Outputs {
    looked_up_ready: bool,
    query: Option<EpochQuery>,
    granted: bool,
    peek: Option<u64>,
    request_ready: bool,
    place_request: Option<ReadRequest>,
    /// Only while a beat is there.
    beat_taken: bool,
    data_valid: bool,
    verdict: Option<(PlacementDone, PlacementOutcome, bool)>,
    answer: Option<PutDesc>,
}

/// How often the interesting cases came.
#[derive(Clone, Copy, Debug, Default)]
struct Seen {
    answered: usize,
    active: usize,
    tagged: usize,
    /// Refusals: no buffer, bounds, no room for the answer.
    refused: [usize; 3],
    /// Bounds that are exceeded by one byte, met exactly, and GETs without bytes.
    beyond: usize,
    exact: usize,
    empty: usize,
    /// Addresses with a carry into the high half.
    carries: usize,
    /// Cycles in which a GET waited for others: for the epochs, for a read that was offered before, for beats of placements, for the
    /// verdicts of others.
    epochs: usize,
    offered: usize,
    earlier: usize,
    verdicts: usize,
    /// Most reads of placements before the read of a GET.
    most_earlier: usize,
    /// A GET without a NACK: always, for lack of a buffer.
    silent: usize,
    silent_unbound: usize,
}

#[derive(Default)]
struct Model {
    get: Option<Get>,
    answers: VecDeque<PutDesc>,
    reads: VecDeque<Read>,
    seen: Seen,
}

fn big_endian(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0, |value, byte| value << 8 | u64::from(*byte))
}

/// The put that answers a GET whose bytes are those of the frame up to its payload.
fn answer(packet: &Packet, address: u64, frame: &[u8]) -> PutDesc {
    let tag = if packet.payload_offset == bits(PLAIN) { 0 } else { VLAN_BYTES };
    let field = |at: usize, bytes: usize| big_endian(&frame[spindle::START + tag + at..][..bytes]);
    PutDesc {
        op: bits(put_op::GET_RESP),
        from_host: true,
        node: bits(packet.src_nid.to_u64() % 256),
        dst_pid: packet.src_pid,
        src_pid: bits(field(spindle::DST_PID, 2)),
        addr: bits(field(SPINDLE_BYTES + get_reply::ADDR, 8)),
        buf_off: bits(field(SPINDLE_BYTES + get_reply::OFFSET, 4)),
        key: bits(field(SPINDLE_BYTES + get_reply::KEY, 4)),
        length: packet.msg_len,
        host_address: bits(address.wrapping_add(packet.start.to_u64())),
        reply_key: packet.msg_id,
        issuer: CommandIssuer { cluster: bits(7), hpu: bits(7), handle: bits(0) },
        ..PutDesc::default()
    }
}

impl Model {
    /// A cycle. Beats are those of `reads`.
    fn step(&mut self, inputs: &Inputs) -> Outputs {
        let mut outputs = Outputs {
            looked_up_ready: self.get.is_none(),
            answer: self.answers.front().copied(),
            ..Outputs::default()
        };
        let beat = self.pass(inputs, &mut outputs);
        let made = match self.get.take() {
            None => {
                let begin = |looked_up| Get { looked_up, source: EpochReply::default(), step: Step::Epochs(false) };
                self.get = inputs.looked_up.map(begin);
                None
            }
            Some(mut get) => {
                if get.step.is_verdict() && inputs.verdict_free {
                    self.end(&get, &mut outputs)
                } else {
                    if let Some(next) = self.advance(&mut get, inputs, beat, &mut outputs) {
                        get.step = next;
                    }
                    self.get = Some(get);
                    None
                }
            }
        };
        if inputs.answer_ready {
            self.answers.pop_front();
        }
        self.answers.extend(made);
        outputs
    }

    /// Requests and beats of placements pass. Returns the beat of the GET.
    fn pass(&mut self, inputs: &Inputs, outputs: &mut Outputs) -> Option<Vec<u8>> {
        let offers = self.get.as_ref().is_some_and(|get| get.step == Step::Read(true));
        outputs.request_ready = inputs.place_ready && !offers;
        outputs.place_request = inputs.request;
        if !inputs.beat {
            return None;
        }
        // Beats go to the owner of the oldest read.
        let read = self.reads.front_mut().expect("a read is owed");
        let of_get = read.of_get;
        outputs.data_valid = !of_get;
        outputs.beat_taken = of_get || inputs.data_ready;
        self.seen.earlier += usize::from(!of_get && self.get.as_ref().is_some_and(|get| get.step == Step::Beats(None)));
        if !outputs.beat_taken {
            return None;
        }
        let beat = read.beats.pop_front();
        if read.beats.is_empty() {
            self.reads.pop_front();
        }
        beat.filter(|_| of_get)
    }

    /// What the GET waits for after this cycle, if for something else than before.
    fn advance(
        &mut self,
        get: &mut Get,
        inputs: &Inputs,
        beat: Option<Vec<u8>>,
        outputs: &mut Outputs,
    ) -> Option<Step> {
        let Get { looked_up, source, step } = get;
        let packet = looked_up.packet;
        match step {
            Step::Epochs(false) => {
                self.seen.epochs += usize::from(inputs.epochs_busy);
                (!inputs.epochs_busy).then_some(Step::Epochs(true))
            }
            Step::Epochs(true) => {
                outputs.granted = true;
                let op = if packet.active { QUERY_OLDEST } else { QUERY_POINTER };
                let query = EpochQuery { op: bits(op), mailbox: looked_up.mailbox, back: bits(0) };
                outputs.query = inputs.reply.is_none().then_some(query);
                *source = inputs.reply?;
                Some(if packet.active && source.ok { Step::Peek } else { Step::Judge })
            }
            Step::Peek => {
                outputs.peek = Some(source.slot.to_u64());
                let buffer = inputs.peeked?;
                (source.value, source.length) = (buffer.base, buffer.size);
                Some(Step::Judge)
            }
            Step::Judge => {
                let (end, length) = (packet.end.to_u64(), source.length.to_u64());
                let empty = packet.msg_len == bits(0);
                if !source.ok {
                    return Some(Step::Verdict(Err(NO_POSTED_BUFFER)));
                }
                if end > length || empty {
                    self.seen.beyond += usize::from(end == length + 1);
                    self.seen.empty += usize::from(empty && end <= length);
                    return Some(Step::Verdict(Err(OUT_OF_BOUNDS)));
                }
                if self.answers.len() == ANSWERS {
                    return Some(Step::Verdict(Err(NO_MESSAGE_SLOT)));
                }
                self.seen.exact += usize::from(end == length);
                Some(Step::Read(false))
            }
            Step::Read(false) => {
                // A read of a placement that is offered stays.
                let open = inputs.request.is_some() && !inputs.place_ready;
                self.seen.offered += usize::from(open);
                (!open).then_some(Step::Read(true))
            }
            Step::Read(true) => {
                let length = bits(packet.payload_offset.to_u64());
                outputs.place_request = Some(ReadRequest { pkt: packet.pkt, length, skip: bits(0) });
                self.seen.most_earlier = self.seen.most_earlier.max(self.reads.len());
                inputs.place_ready.then_some(Step::Beats(None))
            }
            Step::Beats(None) => Some(Step::Beats(Some(beat?))),
            Step::Beats(Some(first)) => {
                let frame = [&first[..], &beat?[..]].concat();
                Some(Step::Verdict(Ok(Box::new(answer(&packet, source.value.to_u64(), &frame)))))
            }
            Step::Verdict(_) => {
                self.seen.verdicts += 1;
                None
            }
        }
    }

    /// The verdict of the GET. Returns the answer.
    fn end(&mut self, get: &Get, outputs: &mut Outputs) -> Option<PutDesc> {
        let Get { looked_up, source, step: Step::Verdict(answer) } = get else { panic!("{get:?} has no verdict") };
        let packet = looked_up.packet;
        let done = PlacementDone {
            pkt: packet.pkt,
            frame: packet.frame,
            has_slot: packet.has_slot,
            msg_slot: packet.msg_slot,
            payload_len: packet.payload_len,
            placed: answer.is_ok(),
            reason: bits(answer.as_ref().err().copied().unwrap_or(0) as u64),
            of_bytes: packet.of_bytes,
            ..PlacementDone::default()
        };
        let silent = looked_up.silent || looked_up.silent_unbound && !source.ok;
        let outcome = PlacementOutcome { pkt: packet.pkt, silent, ..PlacementOutcome::default() };
        outputs.verdict = Some((done, outcome, packet.fence_phase));
        self.seen.silent += usize::from(looked_up.silent && !looked_up.silent_unbound);
        self.seen.silent_unbound += usize::from(silent && !looked_up.silent);
        match answer {
            Ok(put) => {
                self.seen.answered += 1;
                self.seen.active += usize::from(packet.active);
                self.seen.tagged += usize::from(packet.payload_offset != bits(PLAIN));
                let base = source.value.to_u64();
                self.seen.carries += usize::from(base >> 32 != put.host_address.to_u64() >> 32);
            }
            Err(reason) => {
                let reasons = [NO_POSTED_BUFFER, OUT_OF_BOUNDS, NO_MESSAGE_SLOT];
                let at = reasons.iter().position(|known| known == reason).expect("a known reason");
                self.seen.refused[at] += 1;
            }
        }
        answer.as_ref().ok().map(|put| **put)
    }
}

struct Bench {
    dut: Dut<GetResponder>,
    rng: ChaCha8Rng,
    model: Model,
    /// The next GET, and what its mailbox has for it.
    looked_up: Option<(LookedUpPacket, EpochReply)>,
    request: Option<ReadRequest>,
    /// The beat that is offered waits.
    beat: bool,
    /// Replies that a query of others has yet to get.
    busy: bool,
    /// What the mailbox of the present GET has for it.
    plan: EpochReply,
}

/// How willing the neighbours are.
#[derive(Clone, Copy, Debug)]
struct Paces {
    gets: f64,
    busy: f64,
    replies: f64,
    requests: f64,
    place_ready: f64,
    beats: f64,
    data_ready: f64,
    verdict_free: f64,
    answers: f64,
}

/// A packet buffer that answers at once, and neighbours that wait for nothing.
const OPEN: Paces = Paces {
    gets: 0.0,
    busy: 0.0,
    replies: 1.0,
    requests: 0.0,
    place_ready: 1.0,
    beats: 1.0,
    data_ready: 1.0,
    verdict_free: 1.0,
    answers: 1.0,
};

impl Bench {
    fn new(wave: &WaveContext) -> Self {
        let dut = Dut::new(wave, GetResponder::default(), "get_responder");
        let mut bench = Bench {
            dut,
            rng: wave.rng(),
            model: Model::default(),
            looked_up: None,
            request: None,
            beat: false,
            busy: false,
            plan: EpochReply::default(),
        };
        bench.reset();
        bench
    }

    fn reset(&mut self) {
        self.drive(&Inputs::default(), &[]);
        self.dut.reset();
        self.model = Model { seen: self.model.seen, ..Model::default() };
        (self.looked_up, self.request, self.beat, self.busy) = (None, None, false, false);
    }

    fn drive(&mut self, inputs: &Inputs, beat: &[u8]) {
        let (dut, rng) = (&self.dut, &mut self.rng);
        dut.looked_up.valid.set(inputs.looked_up.is_some());
        dut.looked_up.payload.set(inputs.looked_up.unwrap_or_else(|| random_bits(rng)));
        dut.epochs_busy.set(inputs.epochs_busy);
        dut.reply.valid.set(inputs.reply.is_some());
        dut.reply.payload.set(inputs.reply.unwrap_or_else(|| random_bits(rng)));
        dut.peek.done.set(inputs.peeked.is_some());
        dut.peek.buffer.set(inputs.peeked.unwrap_or_else(|| random_bits(rng)));
        dut.request.valid.set(inputs.request.is_some());
        dut.request.payload.set(inputs.request.unwrap_or_else(|| random_bits(rng)));
        dut.place_request.ready.set(inputs.place_ready);
        dut.place_data.valid.set(inputs.beat);
        if inputs.beat {
            dut.place_data.payload.set(from_bytes::<Bits<512>>(beat));
        } else {
            dut.place_data.payload.set(random_bits::<Bits<512>>(rng));
        }
        let last = self.model.reads.front().map(|read| read.beats.len() == 1);
        dut.place_data.last.set(if inputs.beat { last == Some(true) } else { rng.random() });
        dut.data_ready.set(inputs.data_ready);
        dut.verdict_free.set(inputs.verdict_free);
        dut.get_answer.ready.set(inputs.answer_ready);
    }

    fn outputs(&self, inputs: &Inputs) -> Outputs {
        let dut = &self.dut;
        let verdict = dut.verdict.offered();
        Outputs {
            looked_up_ready: dut.looked_up.ready.is_high(),
            query: dut.query_valid.is_high().then(|| dut.query.get()),
            granted: dut.granted.is_high(),
            peek: dut.peek.valid.is_high().then(|| dut.peek.slot.number()),
            request_ready: dut.request.ready.is_high(),
            place_request: dut.place_request.offered(),
            beat_taken: inputs.beat && dut.place_data.ready.is_high(),
            data_valid: dut.data_valid.is_high(),
            verdict: verdict.map(|done| (done, dut.outcome.get(), dut.verdict_phase.is_high())),
            answer: dut.get_answer.offered(),
        }
    }

    fn step(&mut self, paces: &Paces) -> Outputs {
        let get = self.model.get.as_ref();
        let granted = get.is_some_and(|get| get.step == Step::Epochs(true));
        let peeks = get.is_some_and(|get| get.step == Step::Peek);
        let rng = &mut self.rng;
        // Others query the epochs, and get their replies while the GET's query is not there.
        self.busy |= rng.random_bool(paces.busy);
        let replies = rng.random_bool(paces.replies);
        let reply = if granted {
            // The bytes of the source are in the plan of the GET, or come with the buffer.
            let active = get.is_some_and(|get| get.looked_up.packet.active);
            let reply = if active && self.plan.ok { EpochReply { ok: true, ..random_bits(rng) } } else { self.plan };
            replies.then_some(reply)
        } else {
            (self.busy && replies).then(|| random_bits(rng))
        };
        let peeked = (peeks && rng.random_bool(paces.replies))
            .then_some(BufferEntry { base: self.plan.value, size: self.plan.length });
        if self.request.is_none() && self.model.reads.len() < READS && rng.random_bool(paces.requests) {
            self.request = Some(random_bits(rng));
        }
        self.beat = self.beat || !self.model.reads.is_empty() && rng.random_bool(paces.beats);
        let inputs = Inputs {
            looked_up: self.looked_up.map(|(get, _)| get),
            epochs_busy: self.busy,
            reply,
            peeked,
            request: self.request,
            place_ready: rng.random_bool(paces.place_ready) && self.model.reads.len() < READS,
            beat: self.beat,
            data_ready: rng.random_bool(paces.data_ready),
            verdict_free: rng.random_bool(paces.verdict_free),
            answer_ready: rng.random_bool(paces.answers),
        };
        let beat = if self.beat { self.model.reads[0].beats[0].clone() } else { vec![] };
        self.drive(&inputs, &beat);
        self.dut.eval();
        let found = self.outputs(&inputs);
        let before = self.model.get.clone();
        let expected = self.model.step(&inputs);
        assert_eq!(found, expected, "cycle {}: {before:x?}", self.dut.cycle());
        self.dut.tick();

        self.busy &= granted || reply.is_none();
        if let Some((_, plan)) = self.looked_up.take_if(|_| found.looked_up_ready) {
            self.plan = plan;
        }
        self.beat &= !found.beat_taken;
        if found.place_request.is_some() && inputs.place_ready {
            let of_get = !found.request_ready;
            let count = if of_get { 2 } else { self.rng.random_range(1..4) };
            let beats = (0..count).map(|_| (0..BEAT).map(|_| self.rng.random()).collect()).collect();
            self.model.reads.push_back(Read { of_get, beats });
            if !of_get {
                self.request = None;
            }
        }
        found
    }

    /// A GET, and the source that the mailbox has for it.
    fn offer(&mut self) {
        let rng = &mut self.rng;
        let base = match rng.random_range(0..3) {
            0 => rng.random(),
            1 => (rng.random::<u64>() << 32).wrapping_sub(rng.random_range(0..4096)),
            _ => random_value::<Bits<64>>(rng).to_u64(),
        };
        // Bytes of the source and of the GET; half of the GETs end near the end of the source.
        let length = rng.random::<u32>() >> rng.random_range(0..32);
        let bytes = match rng.random_range(0..6) {
            0 => 0,
            1 => length.min(1),
            2 => length,
            _ => rng.random_range(0..=length),
        };
        let room = length - bytes;
        let start = match rng.random_range(0..4) {
            0 => rng.random_range(0..=room),
            1 => near(rng, room.into(), 32, 1) as u32,
            2 => room.saturating_add(1),
            _ => room,
        };
        // The look-up refuses what ends beyond 4 GiB.
        let bytes = bytes.min(u32::MAX - start);
        let payload_offset = PLAIN + if rng.random() { VLAN_BYTES as u64 } else { 0 };
        let packet = Packet {
            payload_offset: bits(payload_offset),
            msg_len: bits(u64::from(bytes)),
            start: bits(u64::from(start)),
            end: bits(u64::from(start + bytes)),
            ..random_bits(rng)
        };
        let ok = rng.random_range(0..8) != 0;
        let source = EpochReply { ok, value: bits(base), length: bits(u64::from(length)), ..random_bits(rng) };
        self.looked_up = Some((LookedUpPacket { packet, ..random_bits(rng) }, source));
    }
}

#[test]
fn every_answer_is_the_models() {
    run_with_wave_on_failure("get_responder_alone_random", |wave| {
        let mut bench = Bench::new(wave);
        for cycle in 0..share(120_000) {
            let base = Paces { gets: 0.5, requests: 0.3, ..OPEN };
            let paces = match cycle / 1000 % 6 {
                0 => Paces { gets: 1.0, ..base },
                1 => Paces { busy: 0.3, replies: 0.2, place_ready: 0.5, beats: 0.8, answers: 0.2, ..base },
                // Answers that cannot leave.
                2 => Paces { requests: 0.1, answers: 0.005, ..base },
                3 => {
                    Paces { requests: 0.2, data_ready: 0.7, verdict_free: 0.2, place_ready: 0.3, answers: 0.5, ..base }
                }
                4 => Paces { requests: 0.1, busy: 0.05, replies: 0.7, place_ready: 0.5, verdict_free: 0.4, ..base },
                // Many reads of placements, of which the packet buffer owes some for a while afterwards.
                _ => Paces { requests: 1.0, beats: 0.3, ..base },
            };
            if cycle % 13_000 == 12_999 {
                bench.reset();
            }
            if bench.looked_up.is_none() && bench.rng.random_bool(paces.gets) {
                bench.offer();
            }
            bench.step(&paces);
        }
        let seen = bench.model.seen;
        let Seen { answered, active, tagged, refused, beyond, exact, empty, carries, silent, silent_unbound, .. } =
            seen;
        let gets = [answered / 10, active, tagged, beyond, exact, empty, carries, silent, silent_unbound];
        assert!(gets.iter().chain(&refused).all(|count| *count > 20), "{seen:?}");
        let Seen { epochs, offered, earlier, verdicts, most_earlier, .. } = seen;
        assert!([epochs, earlier, most_earlier].iter().all(|count| *count > 100), "{seen:?}");
        assert!([offered, verdicts].iter().all(|count| *count > 20), "{seen:?}");
    });
}

/// One GET per 16 cycles if the epochs reply after 4 and the packet buffer answers in 4.
#[test]
fn cycles_of_a_get() {
    run_with_wave_on_failure("get_responder_alone_cycles", |wave| {
        let mut bench = Bench::new(wave);
        let mut ends = vec![];
        // Cycles for which the query, and the read, are there.
        let (mut queried, mut read) = (0, 0);
        for _ in 0..200 {
            if bench.looked_up.is_none() {
                let packet =
                    Packet { payload_offset: bits(PLAIN), msg_len: bits(1), end: bits(1), ..Packet::default() };
                let source = EpochReply { ok: true, length: bits(1), ..EpochReply::default() };
                bench.looked_up = Some((LookedUpPacket { packet, ..LookedUpPacket::default() }, source));
            }
            read = if bench.model.reads.is_empty() { 0 } else { read + 1 };
            let replies = if queried >= 4 { 1.0 } else { 0.0 };
            let beats = if read >= 4 { 1.0 } else { 0.0 };
            let outputs = bench.step(&Paces { replies, beats, ..OPEN });
            queried = if outputs.query.is_some() { queried + 1 } else { 0 };
            if outputs.verdict.is_some() {
                ends.push(bench.dut.cycle());
            }
        }
        assert!(ends.len() > 10 && ends.windows(2).all(|pair| pair[1] - pair[0] == 16), "{ends:?}");
    });
}
