//! The DMA writer alone, against a host and a list of transfers: every burst in its cycle, every beat with its bytes, every end
//! with its errors; transfers of all sources, at any address, of up to 16 KiB.

use rand::Rng;
use rand_chacha::ChaCha8Rng;
use rvma_lut::host_access::dma_writer::DmaWriter;
use rvma_lut::types::{HostWrite, InternalWrite, WriteOrigin, ATOMIC, EVENT, HANDLER, PACKET, RECORD};
use spindle_blocks::desc::DmaDesc;
use spindle_blocks::RamStyle;
use spindle_harness::{random_bits, run_with_wave_on_failure, share, Dut, WaveContext};
use spindle_verilog::prelude::*;
use std::collections::VecDeque;

const LINE: usize = 64;
/// Bursts end at multiples of so many bytes.
const BURST: u64 = 256;
const PAGE: u64 = 4096;
const LONGEST: usize = 16384;
/// Bursts in flight: at most, below which data starts, below which an event or an atomic's write starts.
const FLIGHTS: usize = 512;
const DATA_STARTS: usize = 384;
const EVENTS_START: usize = 448;
/// Transfers on their way to W from which on no other one is taken.
const ORDERS: usize = 28;
/// Cycles from a burst to the one in which its answer can be taken.
const IN_FLIGHT: u64 = 3;
/// Cycles from a source beat to WVALID.
const BEAT: u64 = 3;

/// A transfer: its write as the block gets it, and the bytes.
#[derive(Clone, Debug)]
struct Transfer {
    write: HostWrite,
    bytes: Vec<u8>,
}

#[derive(Clone, Debug)]
struct Burst {
    address: u64,
    beats: u64,
    last: bool,
    origin: WriteOrigin,
}

/// A beat on W: the bytes of the lanes that are written.
#[derive(Clone, Debug, PartialEq)]
struct Beat {
    lanes: Vec<Option<u8>>,
    /// Last of its burst, of its transfer; first of its transfer.
    last: bool,
    ends: bool,
    begins: bool,
    origin: WriteOrigin,
}

impl Transfer {
    fn kind(&self) -> u64 {
        self.write.origin.kind.to_u64()
    }

    /// Addresses of the lines that the transfer touches.
    fn lines(&self) -> Vec<u64> {
        let address = self.write.address.to_u64();
        let count = (address as usize % LINE + self.bytes.len()).div_ceil(LINE);
        (0..count).map(|i| (address & !(LINE as u64 - 1)).wrapping_add((i * LINE) as u64)).collect()
    }

    fn bursts(&self) -> VecDeque<Burst> {
        let mut bursts: VecDeque<Burst> = VecDeque::new();
        for line in self.lines() {
            match bursts.back_mut() {
                Some(burst) if burst.address / BURST == line / BURST => burst.beats += 1,
                _ => bursts.push_back(Burst { address: line, beats: 1, last: false, origin: self.write.origin }),
            }
        }
        bursts.back_mut().unwrap().last = true;
        bursts
    }

    fn beats(&self) -> Vec<Beat> {
        let lines = self.lines();
        let mut lanes = vec![None; lines.len() * LINE];
        let first = self.write.address.to_u64() as usize % LINE;
        for (i, byte) in self.bytes.iter().enumerate() {
            lanes[first + i] = Some(*byte);
        }
        let beat = |(i, line): (usize, &u64)| {
            let ends = i + 1 == lines.len();
            Beat {
                lanes: lanes[i * LINE..][..LINE].to_vec(),
                last: ends || line % BURST == BURST - LINE as u64,
                ends,
                begins: i == 0,
                origin: self.write.origin,
            }
        };
        lines.iter().enumerate().map(beat).collect()
    }
}

/// How often in each cycle something is offered, or taken.
#[derive(Clone, Copy)]
struct Rates {
    records: f64,
    events: f64,
    packets: f64,
    handlers: f64,
    data: f64,
    aw: f64,
    w: f64,
    answers: f64,
    reports: f64,
    headroom: f64,
    /// Most transfers are short.
    short: bool,
}

const FAST: Rates = Rates {
    records: 0.0,
    events: 0.0,
    packets: 0.0,
    handlers: 0.0,
    data: 1.0,
    aw: 1.0,
    w: 1.0,
    answers: 1.0,
    reports: 1.0,
    headroom: 1.0,
    short: true,
};

/// Phases, each with its cycles.
const PHASES: [(u64, Rates); 9] = [
    // All sources at full speed.
    (500, Rates { records: 0.1, events: 0.1, packets: 1.0, handlers: 1.0, ..FAST }),
    // The host answers nothing: long transfers until data stops, then events, then records.
    (1500, Rates { packets: 1.0, handlers: 1.0, answers: 0.0, records: 0.05, events: 0.1, short: false, ..FAST }),
    (450, Rates { packets: 0.5, handlers: 0.5, answers: 0.0, records: 0.3, events: 0.9, ..FAST }),
    // Everything stalls now and then.
    (
        600,
        Rates {
            records: 0.1,
            events: 0.2,
            packets: 0.4,
            handlers: 0.4,
            data: 0.6,
            aw: 0.5,
            w: 0.5,
            reports: 0.6,
            headroom: 0.6,
            ..FAST
        },
    ),
    // The host takes no data: the transfers fill the queues.
    (300, Rates { records: 0.3, events: 0.3, packets: 0.8, handlers: 0.8, w: 0.02, ..FAST }),
    // The host takes few addresses.
    (300, Rates { records: 0.2, events: 0.2, packets: 0.8, handlers: 0.8, aw: 0.1, ..FAST }),
    // Beats come late.
    (500, Rates { records: 0.1, events: 0.1, packets: 0.8, handlers: 0.8, data: 0.05, ..FAST }),
    // The report stage is full at most times.
    (400, Rates { records: 0.2, events: 0.2, packets: 0.5, handlers: 0.5, reports: 0.05, headroom: 0.2, ..FAST }),
    // Events and records alone, back to back.
    (300, Rates { records: 0.8, events: 0.8, ..FAST }),
];

#[derive(Default)]
struct Counts {
    kinds: [usize; 5],
    errors: usize,
    posted: usize,
    no_data: usize,
    no_events: usize,
    no_bursts: usize,
    no_orders: usize,
    wraps: usize,
    carries: usize,
    turns: [usize; 2],
}

/// The writer with its model, and the neighbours.
struct Bench {
    dut: Dut<DmaWriter>,
    rng: ChaCha8Rng,
    counts: Counts,
    internal: VecDeque<Transfer>,
    packets: VecDeque<Transfer>,
    handlers: VecDeque<Transfer>,
    /// Beats of the packet buffer and of handler memory, each with whether it is the last of its transfer.
    place_beats: VecDeque<(Vec<u8>, bool)>,
    dma_beats: VecDeque<(Vec<u8>, bool)>,
    /// A beat is offered, until it is taken.
    offers: [bool; 2],
    offers_answer: Option<u64>,
    /// A handler's command in the writer, and whether handlers have the next turn.
    command: Option<Transfer>,
    handlers_next: bool,
    /// Rest of the transfer that is cut, the burst on AW, and whether it is new there.
    run: VecDeque<Burst>,
    address: Option<Burst>,
    address_new: bool,
    /// Bursts without an answer, with the cycle from which on it can be taken.
    in_flight: VecDeque<(u64, Burst)>,
    failed: bool,
    /// Beats that W has not shown, and the one there.
    beats: VecDeque<Beat>,
    beat: Option<Beat>,
    /// Transfers that were taken and have not gone into W, with the cycle and their number.
    running: VecDeque<(u64, usize)>,
    /// The same with their kind, until the last beat of the source.
    sourced: VecDeque<(u64, usize, u64)>,
    /// What one cycle before allowed: any transfer, data, events.
    order_room: Option<bool>,
    may_start: bool,
    events_may_start: bool,
    /// Bursts of which the host has the address, all data, the answer.
    addressed: usize,
    written: usize,
    answered: usize,
    ended: usize,
    /// Cycles in which a transfer was taken, AWVALID rose, a source beat was taken, a beat came to W.
    taken_at: Vec<u64>,
    addressed_at: Vec<u64>,
    sourced_at: Vec<u64>,
    beats_at: Vec<u64>,
}

impl Bench {
    fn new(wave: &WaveContext) -> Self {
        let dut = Dut::new(wave, DmaWriter::new(RamStyle::Block), "dma_writer");
        // A completion record is taken by `record_ready`.
        dut.ignore(dut.internal_write.channel());
        let mut bench = Self {
            dut,
            rng: wave.rng(),
            counts: Counts::default(),
            internal: VecDeque::new(),
            packets: VecDeque::new(),
            handlers: VecDeque::new(),
            place_beats: VecDeque::new(),
            dma_beats: VecDeque::new(),
            offers: [false; 2],
            offers_answer: None,
            command: None,
            handlers_next: false,
            run: VecDeque::new(),
            address: None,
            address_new: false,
            in_flight: VecDeque::new(),
            failed: false,
            beats: VecDeque::new(),
            beat: None,
            running: VecDeque::new(),
            sourced: VecDeque::new(),
            order_room: Some(false),
            may_start: false,
            events_may_start: false,
            addressed: 0,
            written: 0,
            answered: 0,
            ended: 0,
            taken_at: vec![],
            addressed_at: vec![],
            sourced_at: vec![],
            beats_at: vec![],
        };
        bench.reset();
        bench
    }

    /// A reset, also in the middle of transfers.
    fn reset(&mut self) {
        let dut = &self.dut;
        for valid in [&dut.internal_write.valid, &dut.packet_write.valid, &dut.dma.valid, &dut.dma_data.valid] {
            valid.set(false);
        }
        dut.place_data.valid.set(false);
        dut.host.bvalid.set(false);
        dut.reset();
        self.internal.clear();
        self.packets.clear();
        self.handlers.clear();
        self.place_beats.clear();
        self.dma_beats.clear();
        (self.offers, self.offers_answer) = ([false; 2], None);
        (self.command, self.handlers_next) = (None, false);
        self.run.clear();
        (self.address, self.address_new) = (None, false);
        self.in_flight.clear();
        self.failed = false;
        self.beats.clear();
        self.beat = None;
        self.running.clear();
        self.sourced.clear();
        (self.order_room, self.may_start, self.events_may_start) = (Some(false), false, false);
        (self.addressed, self.written, self.answered, self.ended) = (0, 0, 0, 0);
        for times in [&mut self.taken_at, &mut self.addressed_at, &mut self.sourced_at, &mut self.beats_at] {
            times.clear();
        }
    }

    /// An address: most lie just before a multiple of 256 bytes, a page, 4 GiB, or the end of the address space.
    fn address(&mut self, reach: u64) -> u64 {
        let rng = &mut self.rng;
        let end = match rng.random_range(0..6) {
            0 => 0,
            1 => u64::from(rng.random::<u32>()) << 32,
            2 => rng.random::<u64>() & !(PAGE - 1),
            3 => rng.random::<u64>() & !(BURST - 1),
            4 => 1 << rng.random_range(12..64),
            _ => rng.random(),
        };
        end.wrapping_sub(rng.random_range(0..=reach))
    }

    fn transfer(&mut self, kind: u64, address: u64, offset: usize, length: usize) -> Transfer {
        let origin = WriteOrigin { kind: bits(kind), length: bits(length as u64), ..random_bits(&mut self.rng) };
        let write = HostWrite {
            address: bits(address),
            last_line: bits(((address as usize % LINE + length - 1) / LINE) as u64),
            offset: bits(offset as u64),
            origin,
        };
        Transfer { write, bytes: (0..length).map(|_| self.rng.random()).collect() }
    }

    /// A write of the engine itself: up to 32 bytes of one line.
    fn offer_internal(&mut self, kind: u64) {
        let length = if self.rng.random() { 32 } else { self.rng.random_range(1..=32) };
        let line = self.address(300) & !(LINE as u64 - 1);
        let address = line + self.rng.random_range(0..=(LINE - length) as u64);
        let transfer = self.transfer(kind, address, 0, length);
        self.internal.push_back(transfer);
    }

    fn length(&mut self, short: bool) -> usize {
        match self.rng.random_range(0..if short { 40 } else { 6 }) {
            0 => self.rng.random_range(1..=LONGEST),
            1 => LONGEST - self.rng.random_range(0..3),
            2 => LINE * self.rng.random_range(1..=16),
            3..6 => self.rng.random_range(1..=1500),
            6..20 => self.rng.random_range(1..=LINE),
            _ => self.rng.random_range(1..=300),
        }
    }

    fn offer_packet(&mut self, address: u64, offset: usize, length: usize, surplus: usize) {
        let transfer = self.transfer(PACKET, address, offset, length);
        let beats = self.source_beats(&transfer, surplus);
        self.place_beats.extend(beats);
        self.packets.push_back(transfer);
    }

    fn offer_handler(&mut self, address: u64, length: usize, surplus: usize) {
        let mut transfer = self.transfer(HANDLER, address, 0, length);
        // A command names only frame and issuer.
        let WriteOrigin { kind, frame, tag, length, .. } = transfer.write.origin;
        transfer.write.origin = WriteOrigin { kind, frame, tag, length, ..WriteOrigin::default() };
        let beats = self.source_beats(&transfer, surplus);
        self.dma_beats.extend(beats);
        self.handlers.push_back(transfer);
    }

    /// Beats of the source, in which the bytes begin at the transfer's offset; `surplus` beats follow.
    fn source_beats(&mut self, transfer: &Transfer, surplus: usize) -> Vec<(Vec<u8>, bool)> {
        let offset = transfer.write.offset.to_u64() as usize;
        let count = (offset + transfer.bytes.len()).div_ceil(LINE) + surplus;
        let mut bytes: Vec<u8> = (0..count * LINE).map(|_| self.rng.random()).collect();
        bytes[offset..][..transfer.bytes.len()].copy_from_slice(&transfer.bytes);
        bytes.chunks(LINE).enumerate().map(|(i, beat)| (beat.to_vec(), i + 1 == count)).collect()
    }

    fn offer_random(&mut self, rates: &Rates) {
        if self.internal.front().is_none_or(|transfer| transfer.kind() != RECORD) && self.rng.random_bool(rates.records)
        {
            // A record goes before an event that waits.
            self.offer_internal(RECORD);
            self.internal.rotate_right(1);
        }
        if self.internal.is_empty() && self.rng.random_bool(rates.events) {
            let kind = if self.rng.random() { EVENT } else { ATOMIC };
            self.offer_internal(kind);
        }
        // Beats may lie ready before the transfer is taken.
        if self.packets.is_empty() && self.rng.random_bool(rates.packets) {
            let length = self.length(rates.short);
            let address = self.address(2 * length as u64);
            let (offset, surplus) = (self.rng.random_range(0..LINE), self.surplus());
            self.offer_packet(address, offset, length, surplus);
        }
        if self.handlers.is_empty() && self.rng.random_bool(rates.handlers) {
            let length = self.length(rates.short);
            let address = self.address(2 * length as u64);
            let surplus = self.surplus();
            self.offer_handler(address, length, surplus);
        }
    }

    fn surplus(&mut self) -> usize {
        if self.rng.random_range(0..8) == 0 {
            self.rng.random_range(1..4)
        } else {
            0
        }
    }

    /// Sets all inputs of a cycle.
    fn drive(&mut self, rates: &Rates) {
        let (dut, rng) = (&self.dut, &mut self.rng);
        dut.internal_write.offer(self.internal.front().map(|transfer| {
            let mut data = [0; 32];
            rng.fill(&mut data);
            data[..transfer.bytes.len()].copy_from_slice(&transfer.bytes);
            InternalWrite { host_write: transfer.write, data: spindle_verilog::ports::from_bytes(&data) }
        }));
        dut.packet_write.offer(self.packets.front().map(|transfer| transfer.write));
        dut.dma.offer(self.handlers.front().map(|transfer| {
            let HostWrite { address, origin, .. } = transfer.write;
            DmaDesc {
                version: bits(3),
                context: bits(9),
                issuer: rvma_lut::types::issuer_of(origin.tag),
                frame: origin.frame,
                address,
                length: origin.length,
                spare: bits(0x5A),
            }
        }));
        for (i, (port, beats)) in
            [(&dut.place_data, &self.place_beats), (&dut.dma_data, &self.dma_beats)].into_iter().enumerate()
        {
            self.offers[i] |= !beats.is_empty() && rng.random_bool(rates.data);
            port.valid.set(self.offers[i]);
            if self.offers[i] {
                port.set_bytes(&beats[0].0);
                port.last.set(beats[0].1);
            }
        }
        dut.host.awready.set(rng.random_bool(rates.aw));
        dut.host.wready.set(rng.random_bool(rates.w));
        if self.offers_answer.is_none()
            && self.answered < self.addressed.min(self.written)
            && rng.random_bool(rates.answers)
        {
            // An error has bit 1: SLVERR, DECERR.
            self.offers_answer = Some([0, 0, 0, 0, 0, 1, 2, 3][rng.random_range(0..8)]);
        }
        dut.host.bvalid.set(self.offers_answer.is_some());
        dut.host.bid.set(0);
        dut.host.bresp.set(self.offers_answer.unwrap_or_else(|| rng.random_range(0..4)));
        dut.finished.ready.set(rng.random_bool(rates.reports));
        dut.has_headroom.set(rng.random_bool(rates.headroom));
    }

    /// One cycle, compared with the model.
    fn cycle(&mut self, rates: &Rates) {
        self.drive(rates);
        self.dut.eval();
        let cycle = self.dut.cycle();
        let beat_taken = self.check_beats(cycle);
        let issue = self.issue();
        let taken = self.check_choice(cycle, issue);
        self.check_addresses(cycle, issue);
        let answer = self.check_answers(cycle);
        self.move_on(cycle, issue, taken, beat_taken, answer);
        self.dut.tick();
    }

    /// The next burst goes to AW.
    fn issue(&self) -> bool {
        let open = self.address.is_some() && !self.dut.host.awready.is_high();
        !self.run.is_empty() && !open && self.in_flight.len() < FLIGHTS
    }

    /// The beat on W. Returns whether the host takes it.
    fn check_beats(&mut self, cycle: u64) -> bool {
        let dut = &self.dut;
        if self.beat.is_none() && dut.host.wvalid.is_high() {
            let beat = self.beats.pop_front().unwrap_or_else(|| panic!("cycle {cycle}: a beat of no transfer"));
            if beat.ends {
                let (_, number) = self.running.pop_front().unwrap();
                while self.sourced.front().is_some_and(|(_, other, kind)| *other <= number && *kind >= RECORD) {
                    self.sourced.pop_front();
                }
            }
            self.beat = Some(beat);
            self.beats_at.push(cycle);
        }
        assert_eq!(dut.host.wvalid.is_high(), self.beat.is_some(), "cycle {cycle}");
        let taken = self.beat.is_some() && dut.host.wready.is_high();
        let mut begins = false;
        let mut posted = None;
        if let Some(beat) = &self.beat {
            let (data, strobe) = (dut.host.wdata.bytes(), dut.host.wstrb.number());
            let lanes: Vec<_> = (0..LINE).map(|lane| (strobe >> lane & 1 == 1).then_some(data[lane])).collect();
            assert_eq!(lanes, beat.lanes, "cycle {cycle}: {:x?}", beat.origin);
            assert_eq!(dut.host.wlast.is_high(), beat.last, "cycle {cycle}");
            assert_eq!(dut.beat_frame.get(), beat.origin.frame, "cycle {cycle}");
            begins = taken && beat.begins && beat.origin.kind.to_u64() == PACKET;
            posted = (taken && beat.ends && beat.origin.posted).then_some(beat.origin);
        }
        assert_eq!(dut.first_beat.is_high(), begins, "cycle {cycle}");
        assert_eq!(dut.written.offered(), posted, "cycle {cycle}");
        self.counts.posted += usize::from(posted.is_some());
        taken
    }

    /// Which transfer is taken: one of the engine itself first, then packets and handlers in turn.
    fn check_choice(&mut self, cycle: u64, issue: bool) -> Option<Transfer> {
        let dut = &self.dut;
        let free = self.run.is_empty() || (issue && self.run.len() == 1);
        let room = free && self.order_room.unwrap_or_else(|| dut.record_ready.is_high());
        let events_room = room && self.events_may_start;
        assert_eq!(dut.record_ready.is_high(), room, "cycle {cycle}");
        assert_eq!(dut.internal_write.ready.is_high(), events_room, "cycle {cycle}");
        let engine = !self.internal.is_empty();
        let data_room = room && self.may_start && !engine;
        let handler = self.command.is_some() && (self.handlers_next || self.packets.is_empty());
        let takes_handler = data_room && handler;
        let takes_packet = data_room && !handler && !self.packets.is_empty();
        if !self.packets.is_empty() {
            assert_eq!(dut.packet_write.ready.is_high(), takes_packet, "cycle {cycle}");
        }
        assert_eq!(dut.dma.ready.is_high(), self.command.is_none() || takes_handler, "cycle {cycle}");

        let waits = self.command.is_some() || !self.packets.is_empty();
        let turned = self.command.is_some() && !self.packets.is_empty();
        let limit = self.in_flight.len();
        self.counts.no_orders += usize::from(free && !room);
        self.counts.no_data += usize::from(room && waits && !engine && limit > DATA_STARTS && !self.may_start);
        self.counts.no_events += usize::from(room && engine && limit > EVENTS_START && !self.events_may_start);
        let taken = if engine {
            let record = self.internal[0].kind() == RECORD;
            if record && room || events_room {
                self.internal.pop_front()
            } else {
                None
            }
        } else if takes_handler {
            self.handlers_next = false;
            self.counts.turns[1] += usize::from(turned);
            self.command.take()
        } else if takes_packet {
            self.handlers_next = true;
            self.counts.turns[0] += usize::from(turned);
            self.packets.pop_front()
        } else {
            None
        };
        if self.command.is_none() {
            self.command = self.handlers.pop_front();
        }
        taken
    }

    /// The burst on AW.
    fn check_addresses(&mut self, cycle: u64, issue: bool) {
        let dut = &self.dut;
        let host = &dut.host;
        assert_eq!(dut.burst.is_high(), issue, "cycle {cycle}: {} bursts in flight", self.in_flight.len());
        assert_eq!(host.awvalid.is_high(), self.address.is_some(), "cycle {cycle}");
        let mut record = false;
        if let Some(burst) = &self.address {
            let found = (host.awaddr.number(), host.awlen.number() + 1);
            assert_eq!(found, (burst.address, burst.beats), "cycle {cycle}: {:x?}", burst.origin);
            let fixed = (host.awid.number(), host.awsize.number(), host.awburst.number());
            assert_eq!(fixed, (0, 6, 1), "cycle {cycle}: id 0, beats of 64 bytes, INCR");
            assert!(burst.address % PAGE + burst.beats * LINE as u64 <= PAGE, "a burst crosses 4 KiB");
            assert_eq!(dut.address_frame.get(), burst.origin.frame, "cycle {cycle}");
            record = self.address_new && burst.origin.kind.to_u64() == RECORD;
            if self.address_new {
                self.addressed_at.push(cycle);
            }
        }
        assert_eq!(dut.record_issued.is_high(), record, "cycle {cycle}");
    }

    /// The answer of the host, and the end of a transfer. Returns whether the answer is taken.
    fn check_answers(&mut self, cycle: u64) -> bool {
        let dut = &self.dut;
        let oldest = self.in_flight.front().filter(|burst| burst.0 <= cycle).map(|burst| &burst.1);
        let ready = oldest.is_some() && dut.finished.ready.is_high();
        assert_eq!(dut.host.bready.is_high(), ready, "cycle {cycle}");
        let answer = ready && self.offers_answer.is_some();
        let error = answer && self.offers_answer.is_some_and(|answer| answer & 2 != 0);
        assert_eq!(dut.answer_error.is_high(), error, "cycle {cycle}");
        let end = oldest.filter(|burst| answer && burst.last).map(|burst| burst.origin);
        assert_eq!(dut.finished.offered(), end, "cycle {cycle}");
        if answer {
            self.failed |= error;
        }
        if let Some(origin) = end {
            assert_eq!(dut.finished_error.is_high(), self.failed, "cycle {cycle}: {origin:x?}");
            self.counts.errors += usize::from(self.failed);
            self.counts.kinds[origin.kind.to_u64() as usize] += 1;
            self.failed = false;
            self.ended += 1;
        }
        answer
    }

    /// What may be taken in the next cycle, and what the cycle changes.
    fn move_on(&mut self, cycle: u64, issue: bool, taken: Option<Transfer>, beat_taken: bool, answer: bool) {
        let flights = self.in_flight.len();
        let there = |since: u64| since + 2 <= cycle;
        let running = self.running.iter().filter(|order| there(order.0)).count();
        let sourced = self.sourced.iter().filter(|order| there(order.0)).count();
        // Beats of the engine itself are taken inside.
        let inside = self.sourced.iter().take_while(|order| there(order.0) && order.2 >= RECORD).count();
        self.order_room = if running >= ORDERS || sourced - inside >= ORDERS {
            Some(false)
        } else if sourced >= ORDERS {
            None
        } else {
            Some(true)
        };
        self.may_start = self.dut.has_headroom.is_high() && flights < DATA_STARTS;
        self.events_may_start = flights < EVENTS_START;
        self.counts.no_bursts += usize::from(flights == FLIGHTS && !self.run.is_empty());

        if self.address.is_some() && self.dut.host.awready.is_high() {
            self.address = None;
            self.addressed += 1;
        }
        if issue {
            let burst = self.run.pop_front().unwrap();
            self.in_flight.push_back((cycle + IN_FLIGHT, burst.clone()));
            self.address = Some(burst);
        }
        self.address_new = issue;
        if answer {
            self.in_flight.pop_front();
            self.answered += 1;
            self.offers_answer = None;
        }
        if beat_taken {
            self.written += usize::from(self.beat.take().unwrap().last);
        }
        self.take_source_beats(cycle);
        if let Some(transfer) = taken {
            let (first, end) = (transfer.lines()[0], *transfer.lines().last().unwrap());
            self.counts.wraps += usize::from(end < first);
            self.counts.carries += usize::from(end > first && end >> 32 != first >> 32);
            self.run = transfer.bursts();
            self.beats.extend(transfer.beats());
            self.running.push_back((cycle, self.taken_at.len()));
            self.sourced.push_back((cycle, self.taken_at.len(), transfer.kind()));
            self.taken_at.push(cycle);
        }
    }

    fn take_source_beats(&mut self, cycle: u64) {
        let dut = &self.dut;
        let ports = [(&dut.place_data, &mut self.place_beats), (&dut.dma_data, &mut self.dma_beats)];
        for (i, (port, beats)) in ports.into_iter().enumerate() {
            if self.offers[i] && port.ready.is_high() {
                self.offers[i] = false;
                self.sourced_at.push(cycle);
                let (_, last) = beats.pop_front().unwrap();
                if last {
                    // Transfers of the engine itself before this one have lost their beats as well.
                    let mut kinds = std::iter::from_fn(|| self.sourced.pop_front()).map(|order| order.2);
                    let kind = kinds.find(|kind| *kind < RECORD);
                    assert_eq!(kind, Some([PACKET, HANDLER][i]), "cycle {cycle}: the beat of another source");
                }
            }
        }
    }

    /// Ends all transfers; then nothing moves any more.
    fn drain(&mut self) {
        let begin = self.dut.cycle();
        while self.ended < self.taken_at.len()
            || !(self.internal.is_empty() && self.packets.is_empty() && self.handlers.is_empty())
            || self.command.is_some()
        {
            assert!(self.dut.cycle() - begin < 30_000, "{} of {} transfers ended", self.ended, self.taken_at.len());
            self.cycle(&FAST);
        }
        assert!(self.place_beats.is_empty() && self.dma_beats.is_empty() && self.beats.is_empty());
        for _ in 0..20 {
            self.cycle(&FAST);
        }
    }
}

#[test]
fn random_transfers_are_the_models() {
    run_with_wave_on_failure("dma_writer_alone_random", |wave| {
        let mut bench = Bench::new(wave);
        for round in 0..4 {
            bench.reset();
            let begin = bench.dut.cycle();
            let total: u64 = PHASES.iter().map(|phase| phase.0).sum();
            for _ in 0..share(15_000) {
                let mut at = (bench.dut.cycle() - begin) % total;
                let mut phases = PHASES.iter();
                let rates = loop {
                    let (cycles, rates) = phases.next().unwrap();
                    if at < *cycles {
                        break rates;
                    }
                    at -= cycles;
                };
                bench.offer_random(rates);
                bench.cycle(rates);
            }
            // Every second round ends by a reset.
            if round % 2 == 1 {
                bench.drain();
            }
        }
        let Counts { kinds, errors, posted, no_data, no_events, no_bursts, no_orders, wraps, carries, turns } =
            bench.counts;
        assert!(kinds.iter().all(|count| *count > 200), "{kinds:?} ends of each kind");
        let seen = [errors, posted, wraps, carries, turns[0], turns[1]];
        assert!(
            seen.iter().all(|count| *count > 30),
            "{seen:?} errors, posted, over the end of the address space, over 4 GiB, turns of packets, of handlers"
        );
        let seen = [no_data, no_events, no_bursts, no_orders];
        assert!(
            seen.iter().all(|count| *count > 20),
            "{seen:?} cycles without room for data, for events, for bursts, for transfers"
        );
    });
}

/// A transfer to AWVALID, a source beat to WVALID, an answer to the end.
#[test]
fn cycles_of_a_transfer() {
    run_with_wave_on_failure("dma_writer_alone_cycles", |wave| {
        let mut bench = Bench::new(wave);
        for (lane, offset, length) in [(0, 0, 64), (5, 0, 100), (63, 62, 300), (3, 8, 200)] {
            bench.reset();
            (0..4).for_each(|_| bench.cycle(&FAST));
            bench.offer_packet(0xF00 + lane, offset, length, 0);
            bench.drain();
            assert_eq!(bench.addressed_at[0] - bench.taken_at[0], 2);
            // Bytes that move to lower lanes leave with the second beat.
            let beat = usize::from((lane as usize) < offset);
            assert_eq!(bench.beats_at[0] - bench.sourced_at[beat], BEAT, "lane {lane}, offset {offset}");
        }
    });
}

/// A beat in each cycle, also from transfer to transfer; a transfer, a burst and a beat in each cycle.
#[test]
fn no_cycle_is_lost() {
    run_with_wave_on_failure("dma_writer_alone_no_cycle_is_lost", |wave| {
        let successive = |times: &[u64]| times.windows(2).all(|pair| pair[1] == pair[0] + 1);
        let mut bench = Bench::new(wave);
        bench.reset();
        for _ in 0..100 {
            let (lane, length) = (bench.rng.random_range(0..LINE), bench.rng.random_range(1..=1500));
            let offset = bench.rng.random_range(0..=lane);
            let line = bench.address(9000) & !(LINE as u64 - 1);
            bench.offer_packet(line + lane as u64, offset, length, 0);
            let (address, length) = (bench.address(9000), bench.rng.random_range(1..=1500));
            bench.offer_handler(address, length, 0);
        }
        bench.drain();
        assert!(successive(&bench.beats_at), "{:?}", bench.beats_at);
        bench.reset();
        for i in 0..350 {
            bench.offer_internal([RECORD, EVENT, ATOMIC][i % 3]);
        }
        bench.drain();
        for times in [&bench.taken_at, &bench.addressed_at, &bench.beats_at] {
            assert!(times.len() == 350 && successive(times), "{times:?}");
        }
    });
}
