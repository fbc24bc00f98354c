//! Bytes that handlers read from host memory, from the read to the strobes of L1 and the words of context memory: the reader of
//! the RVMA engine, the writer of the array and the queues of the clusters, joined as in the NIC. Every host address and every
//! destination within a beat.

use hpu_core::array::host_writer::HostWriter;
use hpu_core::array::l2_copy::L2Copy;
use hpu_core::bundles::BeatWrite;
use hpu_core::cluster::host_arrivals::{HostArrival, HostArrivals, ReadEnd};
use hpu_core::processor::types::{RemoteAnswer, RemoteRequest};
use hpu_core::types::{OffClusterDone, StageRequest};
use rand::Rng;
use rand_chacha::ChaCha8Rng;
use rvma_lut::host_access::read_answers::ReadAnswers;
use rvma_lut::host_access::read_buffer::ReadBuffer;
use rvma_lut::host_access::read_requests::{ReadRequests, CLIENTS};
use spindle_blocks::bundles::{AxiReadAddressSource, AxiReadDataSource};
use spindle_blocks::desc::{CommandIssuer, HostRead};
use spindle_blocks::{replicate, RamStyle};
use spindle_harness::{run_with_wave_on_failure, share, Dut, WaveContext};
use spindle_testing::variation;
use spindle_verilog::prelude::*;
use std::collections::VecDeque;
use std::ops::Range;

const CLUSTERS: usize = 2;
const LINE: usize = 64;
const L1_BYTES: usize = 1 << 16;
const L2_BYTES: usize = 1 << 20;
/// Places for bytes on their way: one of each holds the longest read and what is around it.
const PLACES: usize = 16;
const PLACE: usize = 4096;
/// Host memory is this pattern, again and again.
const PATTERN: usize = 1 << 14;
const LONGEST: usize = 2048;
/// Bytes of a piece that begins with a beat.
const PIECE: u64 = 1024;
/// Cycles from a request of L2 to its answer.
const L2_LATENCY: u64 = 5;

/// The reader for one client, and the writer.
#[block]
pub struct FromHost {
    pub read: Sink<HostRead>,
    pub target: Signal<In, Bits<15>>,
    pub ar: AxiReadAddressSource,
    pub r: AxiReadDataSource,
    pub l1: Vec<BeatWrite>,
    pub read_ended: Vec<Pulse<ReadEnd>>,
    pub l2_request: Source<RemoteRequest>,
    pub l2_answer: PulseSink<RemoteAnswer>,
    pub done: Source<OffClusterDone>,
    requests: ReadRequests,
    answers: ReadAnswers,
    buffer: ReadBuffer,
    writer: HostWriter,
    copy: L2Copy,
    arrivals: Vec<HostArrivals>,
}

impl FromHost {
    fn new(style: RamStyle) -> Self {
        Self {
            l1: replicate(CLUSTERS),
            read_ended: replicate(CLUSTERS),
            arrivals: replicate(CLUSTERS),
            buffer: ReadBuffer::new(style),
            writer: HostWriter::new(CLUSTERS, RamStyle::Block),
            copy: L2Copy::new(CLUSTERS),
            ..Self::blank()
        }
    }
}

#[hdl]
impl FromHost {
    fn update(&mut self) {
        // As in the RVMA engine.
        self.requests.read[0].offer(self.read.valid.val() & self.buffer.tag.ready.val(), self.read.val());
        self.buffer.tag.offer(self.read.valid.val() & self.requests.read[0].ready.val(), self.read.val());
        let takes = self.requests.read[0].ready.val() & self.buffer.tag.ready.val();
        self.read.ready.next = takes;
        for i in 1..CLIENTS {
            self.requests.read[i].offer(false, HostRead::default());
        }
        self.requests.room[0].next = self.buffer.room.val();
        self.requests.short_room[0].next = self.buffer.short_room.val();
        self.requests.room[1].next = false;
        self.requests.short_room[1].next = false;
        self.buffer.reserve.next = self.requests.reserve[0].val();
        self.buffer.reserve_beats.next = self.requests.reserve_beats.val();
        self.buffer.beat.next = self.answers.data.val();
        self.buffer.beat_last.next = self.answers.data_last.val();
        self.buffer.beat_error.next = self.answers.data_error.val();
        self.buffer.beat.valid.next = self.answers.data_valid[0].val();
        self.buffer.whole.next = false;
        self.buffer.held.next = false;
        self.requests.piece.join(&mut self.answers.piece);
        self.requests.host.join(&mut self.ar);
        self.answers.host.join(&mut self.r);

        // As in the array.
        self.writer.target.offer(self.read.valid.val() & takes, self.target.val());
        self.writer.host_last.next = self.buffer.data.last.val();
        self.writer.host_error.next = self.buffer.data.error.val();
        self.writer.host_tag.next = self.buffer.data.tag.val();
        self.writer.host_valid.next = self.buffer.data.valid.val();
        self.buffer.data.ready.next = self.writer.host_ready.val();
        self.writer.copy_valid.next = false;
        self.writer.copy_cluster.next = bits::<3>(0);
        self.writer.copy_beat.next = bits::<10>(0);
        self.writer.copy_last.next = false;
        self.writer.copy_tail.next = bits::<6>(0);
        self.copy.store.next = self.buffer.data.val();
        self.copy.store_beat.next = self.writer.beat.val();
        self.copy.store_from.next = self.writer.store_from.val();
        self.copy.store_end.next = self.writer.store_end.val();
        self.copy.store_last.next = self.buffer.data.last.val();
        self.copy.store.valid.next = self.writer.store_valid.val();
        self.writer.store_ready.next = self.copy.store.ready.val();
        self.copy.beat.ready.next = false;
        self.copy.segment.offer(false, HostRead::default());
        self.copy.segment_begins.next = false;
        self.copy.row.ready.next = false;
        self.copy.row_data.next = bits::<512>(0);
        self.copy.row_answered.next = false;
        self.copy.packet_request.ready.next = false;
        self.copy.packet_data.next = bits::<512>(0);
        self.copy.packet_data.last.next = false;
        self.copy.packet_data.valid.next = false;
        for i in 0..CLUSTERS {
            self.copy.request[i].offer(false, StageRequest::default());
            self.copy.lent[i].next = false;
            self.copy.staged[i].next = self.arrivals[i].staged.val();
            self.arrivals[i].arrival.offer(
                self.writer.write[i].val(),
                HostArrival {
                    data: self.buffer.data.val(),
                    keep: self.writer.keep.val(),
                    beat: self.writer.beat.val().get_bits::<10>(0),
                    last: self.writer.last.val(),
                    of_copy: self.writer.of_l2_copy.val(),
                    issuer: self.writer.issuer.val(),
                    error: self.writer.error.val(),
                },
            );
            self.writer.ready[i].next = self.arrivals[i].arrival.ready.val();
            self.arrivals[i].write.join(&mut self.l1[i]);
            self.arrivals[i].read_ended.join(&mut self.read_ended[i]);
        }
        self.copy.l2_request.join(&mut self.l2_request);
        self.l2_answer.join(&mut self.copy.l2_answer);
        self.writer.done.join(&mut self.done);
    }
}

/// A read: `length` bytes of the host from `from` on, to byte `to` of L1 of a cluster or of L2.
#[derive(Clone, Copy, Debug)]
struct Read {
    from: u64,
    /// Memory: a cluster, or L2.
    memory: usize,
    to: usize,
    length: usize,
    place: usize,
    /// Cycle in which it was taken.
    taken: u64,
}

/// How busy the others are.
#[derive(Clone, Copy, Debug, Default)]
struct Pace {
    /// Share of the cycles in which the host, L1 and L2 do nothing.
    stall: f64,
    /// Some lines cannot be read.
    errors: bool,
    /// Cycles from an address to its first line.
    latency: u64,
}

struct Bench {
    dut: Dut<FromHost>,
    rng: ChaCha8Rng,
    pace: Pace,
    pattern: Vec<u8>,
    /// L1 of each cluster, and L2; as they are, and as they should be.
    memories: Vec<Vec<u8>>,
    wanted: Vec<Vec<u8>>,
    free: Vec<usize>,
    offered: Option<Read>,
    flight: VecDeque<Read>,
    /// Lines of the pieces whose addresses have not come.
    unaddressed: VecDeque<Range<u64>>,
    lines: VecDeque<(u64, u64)>,
    line: Option<u64>,
    answers: VecDeque<u64>,
    /// Cycles from the last read to its end, cycles of all ends; reads that failed; beats of L1 that were written, and those in which
    /// L1 was not ready.
    latency: u64,
    ends: Vec<u64>,
    failed: u64,
    written: u64,
    refused: u64,
}

impl Bench {
    fn new(wave: &WaveContext, style: RamStyle, pace: Pace) -> Self {
        let mut rng = wave.rng();
        let sizes = [vec![L1_BYTES; CLUSTERS], vec![L2_BYTES]].concat();
        let memories: Vec<Vec<u8>> = sizes.iter().map(|size| (0..*size).map(|_| rng.random()).collect()).collect();
        let dut = Dut::new(wave, FromHost::new(style), "from_host");
        // The pattern goes on after its end.
        let mut pattern: Vec<u8> = (0..PATTERN).map(|_| rng.random()).collect();
        pattern.extend_from_within(..LONGEST);
        Self {
            dut,
            rng,
            pace,
            pattern,
            wanted: memories.clone(),
            memories,
            free: (0..PLACES).collect(),
            offered: None,
            flight: VecDeque::new(),
            unaddressed: VecDeque::new(),
            lines: VecDeque::new(),
            line: None,
            answers: VecDeque::new(),
            latency: 0,
            ends: vec![],
            failed: 0,
            written: 0,
            refused: 0,
        }
    }

    fn host(&self, address: u64, length: usize) -> &[u8] {
        &self.pattern[address as usize % PATTERN..][..length]
    }

    /// The host does not answer for this line.
    fn fails(&self, line: u64) -> bool {
        self.pace.errors && (line / LINE as u64).wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 59 == 0
    }

    fn busy(&mut self) -> bool {
        self.pace.stall > 0.0 && self.rng.random_bool(self.pace.stall)
    }

    /// Offers a read as soon as there is a place for it; false: not in this cycle.
    fn offers(&mut self, from: u64, memory: usize, byte: usize, length: usize) -> bool {
        if self.offered.is_some() || self.free.is_empty() {
            return false;
        }
        let place = self.free.swap_remove(0);
        let to = place * PLACE + 15 * LINE + byte;
        self.offered = Some(Read { from, memory, to, length, place, taken: 0 });
        true
    }

    fn step(&mut self) {
        let cycle = self.dut.cycle();
        self.dut.read.valid.set(self.offered.is_some());
        if let Some(read) = &self.offered {
            let in_l2 = read.memory == CLUSTERS;
            let issuer = CommandIssuer {
                cluster: bits(read.memory % CLUSTERS),
                hpu: bits(read.place / 4),
                handle: bits(read.place % 4),
            };
            self.dut.read.payload.set(HostRead {
                issuer,
                address: bits(read.from),
                length: bits(read.length),
                offset: bits(read.to % LINE),
                ..HostRead::default()
            });
            self.dut.target.set(u64::from(in_l2) << 14 | (read.to / LINE) as u64);
        }
        let (ar, l1, l2, done) = (!self.busy(), !self.busy(), !self.busy(), !self.busy());
        self.dut.ar.arready.set(ar);
        if self.line.is_none() && self.lines.front().is_some_and(|line| line.0 <= cycle) && !self.busy() {
            self.line = self.lines.pop_front().map(|line| line.1);
        }
        self.dut.r.rvalid.set(self.line.is_some());
        if let Some(line) = self.line {
            self.dut.r.rdata.set_bytes(self.host(line, LINE));
            self.dut.r.rresp.set(if self.fails(line) { 2 } else { 0 });
        }
        for i in 0..CLUSTERS {
            self.dut.l1[i].ready.set(l1);
        }
        self.dut.l2_request.ready.set(l2);
        let answered = self.answers.front().is_some_and(|due| *due <= cycle);
        self.dut.l2_answer.valid.set(answered);
        if answered {
            self.answers.pop_front();
            self.dut.l2_answer.payload.set(RemoteAnswer { write: true, ..RemoteAnswer::default() });
        }
        self.dut.done.ready.set(done);
        self.dut.eval();
        if self.dut.read.moves() {
            let read = Read { taken: cycle, ..self.offered.take().expect("a read is offered") };
            self.flight.push_back(read);
            self.cut(&read);
        }
        if ar && self.dut.ar.arvalid.is_high() {
            self.address(cycle);
        }
        if self.dut.r.rready.is_high() {
            self.line = None;
        }
        self.write(l1);
        if self.dut.l2_request.moves() {
            let request = self.dut.l2_request.payload.get();
            let (at, count) = (request.address.to_u64() as usize, request.size_less_one.to_u64() as usize + 1);
            assert!(request.write && at % 4 + count <= 4, "a store of a word, or of some of its bytes");
            let data = request.data.to_u64().to_le_bytes();
            self.memories[CLUSTERS][at..at + count].copy_from_slice(&data[..count]);
            self.answers.push_back(cycle + L2_LATENCY);
        }
        if self.dut.done.moves() {
            let done = self.dut.done.payload.get();
            assert!(!done.has_result);
            let issuer = (done.issuer.hpu.to_u64(), done.issuer.handle.to_u64());
            self.end(cycle, CLUSTERS, done.cluster.to_u64(), issuer, done.error);
        }
        for i in 0..CLUSTERS {
            if self.dut.read_ended[i].valid.is_high() {
                let done = self.dut.read_ended[i].payload.get();
                let issuer = (done.issuer.hpu.to_u64(), done.issuer.handle.to_u64());
                self.end(cycle, i, i as u64, issuer, done.error);
            }
        }
        self.dut.tick();
    }

    /// The lines of a read: of up to 16 beats, then of up to 16 beats, and so on.
    fn cut(&mut self, read: &Read) {
        let (mut from, mut left, mut room) = (read.from, read.length as u64, PIECE - (read.to % LINE) as u64);
        while left > 0 {
            let bytes = left.min(room);
            self.unaddressed.push_back(from & !63..(from + bytes).next_multiple_of(LINE as u64));
            (from, left, room) = (from + bytes, left - bytes, PIECE);
        }
    }

    /// A burst: of lines that hold bytes of the piece that is next, and of no others.
    fn address(&mut self, cycle: u64) {
        let (first, beats) = (self.dut.ar.araddr.number(), self.dut.ar.arlen.number() + 1);
        let piece = self.unaddressed.front_mut().expect("a read was taken");
        assert!(
            first == piece.start && first + beats * LINE as u64 <= piece.end,
            "{beats} lines at {first:#x}: {piece:x?}"
        );
        piece.start += beats * LINE as u64;
        if piece.is_empty() {
            self.unaddressed.pop_front();
        }
        let due = cycle + self.pace.latency;
        self.lines.extend((0..beats).map(|i| (due, first + i * LINE as u64)));
    }

    /// Beats for L1.
    fn write(&mut self, ready: bool) {
        for cluster in (0..CLUSTERS).filter(|i| self.dut.l1[*i].write.is_high()) {
            let port = &self.dut.l1[cluster];
            let keep = port.keep.number();
            assert_ne!(keep, 0, "a beat without a byte");
            self.refused += u64::from(!ready);
            self.written += u64::from(ready);
            if ready {
                let at = LINE * port.beat.number() as usize;
                let data = port.data.bytes();
                for byte in (0..LINE).filter(|byte| keep >> byte & 1 == 1) {
                    self.memories[cluster][at + byte] = data[byte];
                }
            }
        }
    }

    /// The oldest read to this memory has ended: its bytes are there, those around them are what they were, and it says whether a
    /// line has failed. Reads to different memories may overtake one another.
    fn end(&mut self, cycle: u64, memory: usize, cluster: u64, issuer: (u64, u64), error: bool) {
        let oldest = self.flight.iter().position(|read| read.memory == memory);
        let read = oldest.and_then(|oldest| self.flight.remove(oldest)).expect("a read is under way");
        assert_eq!(cluster, (read.memory % CLUSTERS) as u64);
        assert_eq!(issuer, (read.place as u64 / 4, read.place as u64 % 4));
        let failed = (read.from & !63..read.from + read.length as u64).step_by(LINE).any(|line| self.fails(line));
        assert_eq!(error, failed, "{read:x?}");
        let bytes = self.host(read.from, read.length).to_vec();
        self.wanted[read.memory][read.to..read.to + read.length].copy_from_slice(&bytes);
        let around = read.to - LINE..read.to + read.length + LINE;
        let (memory, wanted) = (&self.memories[read.memory][around.clone()], &self.wanted[read.memory][around]);
        assert!(memory == wanted, "{read:x?}: {memory:x?} instead of {wanted:x?}");
        self.free.push(read.place);
        self.failed += u64::from(failed);
        self.latency = cycle - read.taken;
        self.ends.push(cycle);
    }

    /// Until all reads have ended; then no other byte has changed.
    fn finish(&mut self) {
        while self.offered.is_some() || !self.flight.is_empty() {
            self.step();
        }
        for _ in 0..20 {
            self.step();
        }
        assert!(self.memories == self.wanted, "no other byte has changed");
        assert!(self.lines.is_empty() && self.line.is_none() && self.answers.is_empty());
    }

    /// All of these reads: (host address, memory, byte of the beat, length).
    fn play(&mut self, reads: impl IntoIterator<Item = (u64, usize, usize, usize)>) {
        for (from, memory, byte, length) in reads {
            while !self.offers(from, memory, byte, length) {
                self.step();
            }
        }
        self.finish();
    }
}

/// Where the host's lines begin, some of them on the other side of 4 GiB.
fn anywhere(rng: &mut ChaCha8Rng) -> u64 {
    let near_4_gib = 0x1_0000_0000 - LINE as u64 * rng.random_range(0..40);
    [near_4_gib, rng.random::<u64>() >> 1 & !63][rng.random_range(0..2)]
}

/// A pace of each kind: at full speed, and with pauses of all others.
const PACES: [Pace; 2] =
    [Pace { stall: 0.0, errors: true, latency: 3 }, Pace { stall: 0.3, errors: true, latency: 20 }];

/// The part of `count` that falls to this variation: over the variations of a run every number comes once.
fn part(count: usize) -> impl Iterator<Item = usize> + Clone {
    let parts = 6 / share(6);
    let mine = (variation() as usize).min(parts - 1);
    (0..count).skip(mine).step_by(parts)
}

/// Every byte of a line of the host to every byte of a beat of L1, with every length up to 200.
#[test]
fn every_alignment_and_length() {
    run_with_wave_on_failure("from_host_alignments", |wave| {
        for (i, pace) in PACES.into_iter().enumerate() {
            let mut bench = Bench::new(wave, RamStyle::Distributed, pace);
            let mut rng = bench.rng.clone();
            let lengths = part(200).skip(i).step_by(2).map(|length| length + 1);
            let pairs = lengths.flat_map(|length| (0..LINE * LINE).map(move |pair| (length, pair)));
            bench.play(pairs.map(|(length, pair)| {
                (anywhere(&mut rng) + (pair / LINE) as u64, pair % 3 % CLUSTERS, pair % LINE, length)
            }));
            assert!(bench.failed > 1000 && (bench.refused > 1000 || pace.stall == 0.0));
        }
    });
}

/// Every byte of a beat of context memory, with every length up to 200.
#[test]
fn every_destination_in_context_memory() {
    run_with_wave_on_failure("from_host_context", |wave| {
        for (i, pace) in PACES.into_iter().enumerate() {
            let mut bench = Bench::new(wave, RamStyle::Distributed, pace);
            let mut rng = bench.rng.clone();
            let lengths = part(200).skip(i).step_by(2).map(|length| length + 1);
            let pairs = lengths.flat_map(|length| (0..LINE).map(move |byte| (length, byte)));
            bench.play(
                pairs.map(|(length, byte)| (anywhere(&mut rng) + rng.random_range(0..64), CLUSTERS, byte, length)),
            );
            assert!(bench.failed > 50 && bench.written == 0);
        }
    });
}

/// Reads of any length to any memory, side by side.
#[test]
fn long_reads() {
    run_with_wave_on_failure("from_host_long", |wave| {
        for (pace, style) in PACES.into_iter().zip([RamStyle::Distributed, RamStyle::Ultra]) {
            let mut bench = Bench::new(wave, style, pace);
            let mut rng = bench.rng.clone();
            let reads = (0..share(4000)).map(|_| {
                let length = match rng.random_range(0..4) {
                    0 => rng.random_range(1..=64),
                    1 => [960, 961, 1023, 1024, 1025, 1408, 1984, 1985, 2047, 2048][rng.random_range(0..10)],
                    _ => rng.random_range(1..=LONGEST),
                };
                let memory = [0, 1, 0, 1, CLUSTERS][rng.random_range(0..5)];
                (anywhere(&mut rng) + rng.random_range(0..64), memory, rng.random_range(0..LINE), length)
            });
            bench.play(reads);
            assert!(bench.failed > 20);
        }
    });
}

/// Cycles from a read to its end, with a host that answers in ten; and of many, one after the other.
#[test]
fn cycles_of_a_read() {
    run_with_wave_on_failure("from_host_cycles", |wave| {
        let pace = Pace { latency: 10, ..Pace::default() };
        let mut bench = Bench::new(wave, RamStyle::Distributed, pace);
        // Byte of the line, of the beat, bytes; cycles to L1, to context memory (one for each word that holds a byte).
        let cases = [
            (0, 0, 64, 20, 40),
            (7, 7, 57, 20, 39),
            (7, 42, 22, 20, 30),
            (42, 7, 22, 21, 32),
            (0, 42, 64, 21, 42),
            (42, 0, 64, 21, 41),
            (0, 0, 1408, 41, 397),
            (42, 42, 1408, 42, 399),
            (0, 42, 1408, 42, 399),
            (42, 0, 1408, 42, 398),
            (42, 7, 1408, 43, 400),
            (7, 42, 1408, 42, 399),
        ];
        let mut found = vec![];
        for (from, byte, length, ..) in cases {
            let mut cycles = |memory| {
                bench.play([(0x4000 + from, memory, byte, length)]);
                bench.latency
            };
            found.push((from, byte, length, cycles(0), cycles(CLUSTERS)));
        }
        println!("{found:?}");
        assert_eq!(found, cases, "byte of the line, of the beat, bytes; cycles to L1, to context memory");
        // Reads one after the other: each takes its beats on the bus or in the buffer, and a cycle.
        let cases = [(0, 0, 32), (42, 42, 33), (0, 42, 33), (42, 0, 33), (42, 7, 34), (7, 42, 33)];
        let found = cases.map(|(from, byte, _)| {
            bench.ends.clear();
            bench.play((0..64).map(|i| (0x4000 + 2048 * i + from, 0, byte, 1984)));
            let taken = bench.ends[63] - bench.ends[0];
            assert_eq!(taken % 63, 0, "each read takes as many cycles as any other");
            (from, byte, taken / 63)
        });
        assert_eq!(found, cases, "byte of the line, of the beat, cycles of a read of 1984 bytes");
    });
}
