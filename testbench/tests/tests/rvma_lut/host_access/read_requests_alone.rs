//! The request side of the reader alone, against a model that cuts one transfer after the other: any address and length, four
//! clients, room and host that come and go. All outputs are compared in each cycle.

use rand::Rng;
use rand_chacha::ChaCha8Rng;
use rvma_lut::host_access::read_requests::{ReadPiece, ReadRequests, ATOMICS, BUFFERED, CLIENTS, RINGS};
use spindle_blocks::desc::HostRead;
use spindle_harness::{near, random_bits, run_with_wave_on_failure, share, Dut, WaveContext};
use spindle_verilog::prelude::*;

const LINE: u64 = 64;
/// Most bytes of a piece, of a short one, and of a burst.
const PIECE: u64 = 1024;
const SHORT: u64 = 256;
const BURST: u64 = 256;
/// Cycles from a request to the address of its first burst.
const LATENCY: u64 = 4;

/// Bytes that are still to be read.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Span {
    address: u64,
    bytes: u64,
    /// Byte of the client's beat at which the first one is handed over.
    to: u64,
}

impl Span {
    /// The first `bytes` bytes, and the rest, which begins with a beat.
    fn split(self, bytes: u64) -> (Span, Option<Span>) {
        let rest = Span { address: self.address.wrapping_add(bytes), bytes: self.bytes - bytes, to: 0 };
        (Span { bytes, ..self }, (rest.bytes > 0).then_some(rest))
    }

    /// Bytes up to the end of the span, from the beginning of the client's beat on.
    fn reach(self) -> u64 {
        self.to + self.bytes
    }

    /// The same bytes with all of the lines that hold them.
    fn lines(self) -> Span {
        let offset = self.address % LINE;
        Span { address: self.address - offset, bytes: (offset + self.bytes).next_multiple_of(LINE), to: 0 }
    }

    /// Whether the last byte lies beyond the next multiple of 4 GiB.
    fn carries(self) -> bool {
        self.address >> 32 != self.address.wrapping_add(self.bytes - 1) >> 32
    }
}

/// A piece that was cut and waits for its place in the order of answers.
#[derive(Clone, Copy, Debug)]
struct Piece {
    client: usize,
    span: Span,
    ends: bool,
}

/// Inputs of a cycle.
#[derive(Clone, Copy, Debug, Default)]
struct Inputs {
    reads: [Option<Span>; CLIENTS],
    room: [bool; BUFFERED],
    short_room: [bool; BUFFERED],
    headroom: bool,
    ar_ready: bool,
}

/// Outputs of a cycle.
#[derive(Clone, Debug, Default, PartialEq)]
struct Outputs {
    ready: [bool; CLIENTS],
    /// Client, beats.
    reserve: Option<(usize, u64)>,
    piece: Option<ReadPiece>,
    /// Address, beats.
    ar: Option<(u64, u64)>,
    burst: bool,
}

#[derive(Default)]
struct Model {
    transfers: [Option<Span>; CLIENTS],
    turn: usize,
    piece: Option<Piece>,
    /// Lines of the present piece for which no address was made.
    lines: Option<Span>,
    ar: Option<Span>,
    seen: Seen,
}

/// How often the interesting cases came.
#[derive(Clone, Copy, Debug, Default)]
struct Seen {
    pieces: u64,
    /// Pieces of both clients with a buffer could be cut.
    both: u64,
    /// A short piece went where there was no room for a whole one.
    short: u64,
    /// A piece of more than 256 bytes waited, although there was room for a short one.
    long_waits: u64,
    /// A rare client went before one that could have gone.
    urgent: u64,
    /// A line more than beats, a beat more than lines.
    more_lines: u64,
    more_beats: u64,
    /// Transfers of several pieces of which the first has fewer than 1024 bytes.
    cut: u64,
    /// Bursts, pieces and transfers across 4 GiB; the last one of them from the end of memory to its start.
    carries: [u64; 3],
    wraps: u64,
    /// Cycles in which the order of answers, and the host, held something up.
    no_headroom: u64,
    no_ready: u64,
    /// Transfers of 1 byte, and of the most bytes.
    least: u64,
    most: u64,
}

impl Model {
    /// The client whose piece is cut next.
    fn choose(&mut self, inputs: &Inputs) -> Option<usize> {
        let fits = |client: usize| {
            self.transfers[client]
                .is_some_and(|left| inputs.room[client] || left.reach() <= SHORT && inputs.short_room[client])
        };
        let urgent = [ATOMICS, RINGS].into_iter().find(|client| self.transfers[*client].is_some());
        let other = [self.turn, 1 - self.turn].into_iter().find(|client| fits(*client));
        self.seen.urgent += u64::from(urgent.is_some() && other.is_some());
        if urgent.is_none() {
            self.seen.both += u64::from(fits(0) && fits(1));
            let waits = |client: usize| self.transfers[client].is_some() && inputs.short_room[client] && !fits(client);
            self.seen.long_waits += u64::from(waits(0) || waits(1));
        }
        urgent.or(other)
    }

    fn step(&mut self, inputs: &Inputs) -> Outputs {
        let mut outputs = Outputs { ready: self.transfers.map(|left| left.is_none()), ..Outputs::default() };
        // The address channel, and the burst that follows.
        outputs.ar = self.ar.map(|burst| (burst.address, burst.bytes / LINE));
        let waits = self.ar.is_some() && !inputs.ar_ready;
        self.seen.no_ready += u64::from(waits && self.lines.is_some());
        let had_lines = self.lines.is_some();
        if !waits {
            self.ar = self.lines.map(|lines| {
                let (burst, rest) = lines.split(lines.bytes.min(BURST - lines.address % BURST));
                self.lines = rest;
                self.seen.carries[0] += u64::from(rest.is_some_and(|rest| rest.address as u32 == 0));
                burst
            });
            outputs.burst = self.ar.is_some();
        }
        // The piece that waits.
        let had_piece = self.piece.is_some();
        self.seen.no_headroom += u64::from(had_piece && !had_lines && !inputs.headroom);
        if !had_lines && inputs.headroom {
            if let Some(Piece { client, span, ends }) = self.piece.take() {
                let lines = span.lines();
                outputs.piece = Some(ReadPiece {
                    client: bits(client as u64),
                    ends,
                    offset: bits(span.address % LINE),
                    to: bits(span.to),
                    last: bits(span.bytes - 1),
                    lines: bits(lines.bytes / LINE - 1),
                });
                self.seen.pieces += 1;
                let beats = span.reach().div_ceil(LINE);
                self.seen.more_lines += u64::from(lines.bytes / LINE > beats);
                self.seen.more_beats += u64::from(lines.bytes / LINE < beats);
                self.seen.carries[1] += u64::from(span.carries());
                self.lines = Some(lines);
            }
        }
        // The next one.
        let chosen = if had_piece { None } else { self.choose(inputs) };
        if let Some(client) = chosen {
            let left = self.transfers[client].take().expect("a transfer is chosen");
            let (span, rest) = left.split(left.bytes.min(PIECE - left.to));
            self.seen.cut += u64::from(rest.is_some() && left.to > 0);
            self.piece = Some(Piece { client, span, ends: rest.is_none() });
            self.transfers[client] = rest;
            if client < BUFFERED {
                outputs.reserve = Some((client, span.reach().div_ceil(LINE)));
                self.turn = 1 - client;
                self.seen.short += u64::from(!inputs.room[client]);
            }
        }
        for client in 0..CLIENTS {
            if let (true, Some(read)) = (outputs.ready[client], inputs.reads[client]) {
                self.transfers[client] = Some(read);
                self.seen.carries[2] += u64::from(read.carries());
                self.seen.wraps += u64::from(read.address.checked_add(read.bytes - 1).is_none());
                self.seen.least += u64::from(read.bytes == 1);
                self.seen.most += u64::from(read.bytes == 0xFFFF);
            }
        }
        outputs
    }
}

struct Bench {
    dut: Dut<ReadRequests>,
    rng: ChaCha8Rng,
    model: Model,
    reads: [Option<Span>; CLIENTS],
}

impl Bench {
    fn new(wave: &WaveContext) -> Self {
        let dut = Dut::new(wave, ReadRequests::default(), "read_requests");
        let mut bench = Bench { dut, rng: wave.rng(), model: Model::default(), reads: [None; CLIENTS] };
        bench.reset();
        bench
    }

    fn reset(&mut self) {
        self.reads = [None; CLIENTS];
        self.drive(&Inputs::default());
        self.dut.reset();
        self.model = Model { seen: self.model.seen, ..Model::default() };
    }

    fn drive(&mut self, inputs: &Inputs) {
        for (client, read) in inputs.reads.iter().enumerate() {
            let port = &self.dut.read[client];
            port.valid.set(read.is_some());
            match read {
                // The fields that only the client needs do not change while a read waits.
                Some(read) => port.payload.set(HostRead {
                    client: bits(client as u64),
                    frame: bits(read.address % 0x1_0000),
                    address: bits(read.address),
                    length: bits(read.bytes),
                    offset: bits(read.to),
                    ..HostRead::default()
                }),
                None => port.payload.set(random_bits::<HostRead>(&mut self.rng)),
            }
        }
        for client in 0..BUFFERED {
            self.dut.room[client].set(inputs.room[client]);
            self.dut.short_room[client].set(inputs.short_room[client]);
        }
        self.dut.piece.headroom.set(inputs.headroom);
        self.dut.host.arready.set(inputs.ar_ready);
    }

    fn outputs(&self) -> Outputs {
        let dut = &self.dut;
        let reserved: Vec<usize> = (0..BUFFERED).filter(|client| dut.reserve[*client].is_high()).collect();
        assert!(reserved.len() < 2, "cycle {}: two pieces are cut", dut.cycle());
        let burst = dut.host.arvalid.is_high();
        let (id, size, kind) = (dut.host.arid.number(), dut.host.arsize.number(), dut.host.arburst.number());
        assert!(!burst || (id, size, kind) == (0, 6, 1), "cycle {}: id {id}, size {size}, {kind}", dut.cycle());
        Outputs {
            ready: std::array::from_fn(|client| dut.read[client].ready.is_high()),
            reserve: reserved.first().map(|client| (*client, dut.reserve_beats.number() + 1)),
            piece: dut.piece.valid.is_high().then(|| dut.piece.payload.get()),
            ar: burst.then(|| (dut.host.araddr.number(), dut.host.arlen.number() + 1)),
            burst: dut.burst.is_high(),
        }
    }

    /// A cycle in which the reads that wait are offered.
    fn step(&mut self, inputs: Inputs) -> Outputs {
        let inputs = Inputs { reads: self.reads, ..inputs };
        self.drive(&inputs);
        self.dut.eval();
        let found = self.outputs();
        let expected = self.model.step(&inputs);
        assert_eq!(found, expected, "cycle {}: {inputs:x?}", self.dut.cycle());
        self.dut.tick();
        for (read, ready) in self.reads.iter_mut().zip(found.ready) {
            read.take_if(|_| ready);
        }
        found
    }
}

/// A read: of few bytes, of many, up to a multiple of a piece, of the least and the most; anywhere, or around a power of two.
fn read(rng: &mut ChaCha8Rng, longest: u64) -> Span {
    let bytes = match rng.random_range(0..8) {
        0 => 1,
        1 => rng.random_range(1..=SHORT + 1),
        2 => SHORT * rng.random_range(1..=8) + rng.random_range(0..3) - 1,
        3 => PIECE * rng.random_range(1..=4) + SHORT * rng.random_range(0..2) + rng.random_range(0..3) - 1,
        4 => 0xFFFF,
        5 => rng.random_range(1..=0xFFFF),
        _ => rng.random_range(1..=4 * LINE),
    };
    let bytes = bytes.min(longest);
    let edge = match rng.random_range(0..4) {
        0 => rng.random::<u64>(),
        1 => 0,
        2 => rng.random::<u64>() << 32,
        _ => rng.random_range(1..64u64) << 32,
    };
    // The end of a burst, of a piece or of the transfer lies near the edge; one bit of the address may be another one.
    let before = rng.random_range(0..=bytes);
    let near_edge = edge.wrapping_sub(before);
    let address = near(rng, near_edge, 64, 2);
    let address = if rng.random_range(0..4) == 0 { address & !(LINE - 1) } else { address };
    // The end of the client's beats is at most 64 KiB after their beginning.
    let to = [0, rng.random_range(0..LINE), address % LINE][rng.random_range(0..3)].min(0x1_0000 - bytes);
    Span { address, bytes, to }
}

#[test]
fn every_piece_and_burst_is_the_models() {
    run_with_wave_on_failure("read_requests_alone_random", |wave| {
        let mut bench = Bench::new(wave);
        for cycle in 0..share(90_000) {
            let rng = &mut bench.rng;
            let phase = cycle / 600 % 6;
            // Reads of the clients with and without a buffer, room, headroom, ARREADY; most bytes of a read.
            let (reads, rare, room, headroom, ready, longest) = match phase {
                0 => (0.9, 0.02, 1.0, 1.0, 1.0, 0xFFFF),
                1 => (0.9, 0.02, 0.3, 0.8, 0.8, 2 * PIECE),
                2 => (0.3, 0.9, 0.9, 0.9, 0.9, SHORT),
                3 => (0.9, 0.1, 0.05, 1.0, 1.0, PIECE),
                4 => (0.9, 0.3, 0.9, 0.1, 0.9, 4 * LINE),
                _ => (0.5, 0.1, 0.9, 0.9, 0.1, 0xFFFF),
            };
            if cycle % 9000 == 8999 {
                bench.reset();
                continue;
            }
            for client in 0..CLIENTS {
                let (chance, most) = if client < BUFFERED { (reads, longest) } else { (rare, longest.min(2 * PIECE)) };
                if bench.reads[client].is_none() && rng.random_bool(chance) {
                    bench.reads[client] = Some(read(rng, most));
                }
            }
            let room: [bool; BUFFERED] = std::array::from_fn(|_| rng.random_bool(room));
            // What a whole piece fits into, a short one does.
            let short_room = room.map(|room| room || rng.random_bool(0.3));
            let (headroom, ar_ready) = (rng.random_bool(headroom), rng.random_bool(ready));
            bench.step(Inputs { room, short_room, headroom, ar_ready, ..Inputs::default() });
        }
        let Seen { pieces, both, short, long_waits, urgent, more_lines, carries, wraps, .. } = bench.model.seen;
        let Seen { no_headroom, no_ready, least, most, more_beats, cut, .. } = bench.model.seen;
        let counts = [pieces / 10, both, long_waits, urgent, more_lines, more_beats, cut, no_headroom, no_ready];
        assert!(counts.into_iter().all(|count| count > 100), "{:?}", bench.model.seen);
        let counts = [short, carries[0], carries[1], carries[2], wraps, least];
        assert!(counts.into_iter().all(|count| count > 20) && most > 0, "{:?}", bench.model.seen);
    });
}

/// A request and its address, requests of one byte, pieces of few bytes of all clients, and the bursts of a long transfer.
#[test]
fn cycles_of_a_read() {
    run_with_wave_on_failure("read_requests_alone_cycles", |wave| {
        let mut bench = Bench::new(wave);
        let open =
            Inputs { room: [true; 2], short_room: [true; 2], headroom: true, ar_ready: true, ..Inputs::default() };
        for client in 0..CLIENTS {
            bench.reads[client] = Some(Span { address: bench.rng.random(), bytes: 1, to: 0 });
            let cycles = (0..100).position(|_| bench.step(open).ar.is_some());
            assert_eq!(cycles, Some(LATENCY as usize), "client {client}: request to ARVALID");
            bench.step(open);
        }
        // Requests of one client, and pieces of all of them: one per two cycles.
        for clients in [1, CLIENTS] {
            let offer = |bench: &mut Bench| {
                for client in 0..clients {
                    bench.reads[client].get_or_insert(Span { address: 0, bytes: 1, to: 0 });
                }
                bench.step(open)
            };
            for _ in 0..20 {
                offer(&mut bench);
            }
            let outputs: Vec<Outputs> = (0..200).map(|_| offer(&mut bench)).collect();
            let taken = outputs.iter().flat_map(|outputs| &outputs.ready[..clients]).filter(|ready| **ready).count();
            let bursts = outputs.iter().filter(|outputs| outputs.burst).count();
            assert_eq!((taken, bursts), (100, 100), "{clients} clients");
            for _ in 0..20 {
                bench.step(open);
            }
        }
        // 64 pieces of four bursts.
        bench.reads[1] = Some(Span { address: 0xFFFF_8000, bytes: 0xFFFF, to: 0 });
        let cycles: Vec<usize> = (0..600).filter(|_| bench.step(open).ar.is_some()).collect();
        assert_eq!(cycles.len(), 256);
        println!("256 bursts in {} cycles", cycles[255] - cycles[0] + 1);
    });
}
