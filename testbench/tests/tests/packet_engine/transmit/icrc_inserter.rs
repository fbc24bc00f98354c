//! `IcrcInserter` against frames with a CRC that goes bit by bit over their bytes.

use packet_engine::transmit::icrc_inserter::{IcrcInserter, LATENCY};
use rand::Rng;
use rand_chacha::ChaCha8Rng;
use spindle_contract::wire::{spindle, HEADER_BYTES, ICRC_BYTES};
use spindle_harness::{run_with_wave_on_failure, share, Dut, WaveContext};
use spindle_model::icrc::crc32c;
use std::collections::VecDeque;

/// A frame on its way.
#[derive(Clone, Debug)]
struct Frame {
    bytes: Vec<u8>,
    icrc: bool,
    tag: u16,
    /// What the bytes after the end of the last beat are.
    junk: [u8; 64],
}

impl Frame {
    fn random(rng: &mut ChaCha8Rng, icrc: bool, length: usize) -> Frame {
        let junk = std::array::from_fn(|_| rng.random());
        Frame { bytes: (0..length).map(|_| rng.random()).collect(), icrc, tag: rng.random(), junk }
    }

    /// With the ICRC, if it gets one.
    fn sent(&self) -> Vec<u8> {
        let mut bytes = self.bytes.clone();
        if self.icrc {
            bytes.extend(crc32c(&bytes[spindle::START..]).to_le_bytes());
        }
        bytes
    }
}

/// A length that ends anywhere in a beat.
fn length(rng: &mut ChaCha8Rng, icrc: bool) -> usize {
    let shortest = if icrc { HEADER_BYTES } else { 1 };
    match rng.random_range(0..3) {
        0 => 64 * rng.random_range(2..5) - rng.random_range(0..6),
        1 => rng.random_range(shortest..300),
        _ => rng.random_range(shortest..1600),
    }
}

struct Bench {
    dut: Dut<IcrcInserter>,
    rng: ChaCha8Rng,
    cycle: u64,
    waiting: VecDeque<Frame>,
    at: usize,
    /// The beat at `write` was not taken: it stays.
    offered: bool,
    expected: VecDeque<Frame>,
    now: Vec<u8>,
    /// Cycles in which the first beat of each frame entered and left, and its last beat left.
    entered: Vec<u64>,
    left: Vec<u64>,
    ended: Vec<u64>,
    /// Cycles in which a beat was offered and not taken.
    stalls: u64,
}

impl Bench {
    fn new(wave: &WaveContext) -> Bench {
        let dut = Dut::new(wave, IcrcInserter::default(), "icrc_inserter");
        let (waiting, expected, now) = Default::default();
        let (entered, left, ended) = Default::default();
        Bench {
            dut,
            rng: wave.rng(),
            cycle: 0,
            waiting,
            at: 0,
            offered: false,
            expected,
            now,
            entered,
            left,
            ended,
            stalls: 0,
        }
    }

    fn add(&mut self, icrc: bool, length: usize) {
        let frame = Frame::random(&mut self.rng, icrc, length);
        self.expected.push_back(frame.clone());
        self.waiting.push_back(frame);
    }

    /// A cycle; `begins`: a frame may begin. Inside a frame there is a beat in every cycle, as the framer promises.
    fn step(&mut self, begins: bool, ready: bool) {
        let offers = !self.waiting.is_empty() && (begins || self.offered || self.at > 0);
        let frame = self.waiting.front().filter(|_| offers);
        let last = frame.is_some_and(|frame| self.at + 64 >= frame.bytes.len());
        if let Some(frame) = frame {
            let part = &frame.bytes[self.at..frame.bytes.len().min(self.at + 64)];
            let mut beat = frame.junk.to_vec();
            beat[..part.len()].copy_from_slice(part);
            beat.extend((u64::MAX >> (64 - part.len())).to_le_bytes());
            let flags = u32::from(last) | u32::from(frame.tag) << 1 | u32::from(frame.icrc) << 17;
            beat.extend(&flags.to_le_bytes()[..3]);
            self.dut.write.set_bytes(&beat);
        }
        self.dut.write.valid.set(offers);
        self.dut.read.ready.set(ready);
        self.dut.eval();
        if offers {
            if self.dut.write.moves() {
                if self.at == 0 {
                    self.entered.push(self.cycle);
                }
                self.at += 64;
                if last {
                    self.waiting.pop_front();
                    self.at = 0;
                }
                self.offered = false;
            } else {
                self.offered = true;
                self.stalls += 1;
            }
        }
        let valid = self.dut.read.valid.is_high();
        assert!(valid || self.now.is_empty(), "cycle {}: a gap inside a frame", self.cycle);
        if valid && ready {
            let beat = self.dut.read.bytes();
            let frame = self.expected.front().expect("a frame that no one sent");
            let keep = u64::from_le_bytes(beat[64..72].try_into().expect("eight bytes"));
            let flags = u32::from_le_bytes([beat[72], beat[73], beat[74], 0]);
            let (count, last) = (keep.trailing_ones() as usize, flags & 1 == 1);
            assert_eq!(keep, u64::MAX >> (64 - count), "cycle {}", self.cycle);
            assert!(last || count == 64, "cycle {}: a hole inside a frame", self.cycle);
            assert_eq!(flags >> 1 & 0xFFFF, u32::from(frame.tag), "cycle {}", self.cycle);
            if self.now.is_empty() {
                self.left.push(self.cycle);
            }
            self.now.extend(&beat[..count]);
            if last {
                self.ended.push(self.cycle);
                let sent = std::mem::take(&mut self.now);
                let frame = self.expected.pop_front().expect("it is there");
                assert_eq!(
                    sent,
                    frame.sent(),
                    "cycle {}: {} bytes, icrc {}",
                    self.cycle,
                    frame.bytes.len(),
                    frame.icrc
                );
            }
        }
        self.dut.tick();
        self.cycle += 1;
    }

    /// Until all frames are out, the wire always ready.
    fn drain(&mut self) {
        for _ in 0..20_000 {
            if self.expected.is_empty() {
                return;
            }
            self.step(true, true);
        }
        panic!("{} frames do not leave", self.expected.len());
    }
}

#[test]
fn random_frames() {
    run_with_wave_on_failure("icrc_inserter_random_frames", |wave| {
        let mut bench = Bench::new(wave);
        for round in 0..12 {
            let (begins, ready) = ([1.0, 0.5, 0.05][round % 3], bench.rng.random_range(0.3..=1.0));
            let share_of_icrc = [0.5, 1.0, 0.1, 0.5][round % 4];
            for _ in 0..share(360) {
                let icrc = bench.rng.random_bool(share_of_icrc);
                let length = length(&mut bench.rng, icrc);
                bench.add(icrc, length);
            }
            while !bench.expected.is_empty() {
                let (begins, ready) = (bench.rng.random_bool(begins), bench.rng.random_bool(ready));
                bench.step(begins, ready);
            }
        }
    });
}

/// What the header comment promises: no cycle for frames without ICRC, and one stall for each ICRC that needs a beat of its own.
#[test]
fn cycles() {
    run_with_wave_on_failure("icrc_inserter_cycles", |wave| {
        let mut bench = Bench::new(wave);
        for length in [60, 64, 1500] {
            bench.add(false, length);
            bench.drain();
            assert_eq!(bench.entered.last(), bench.left.last(), "a frame without ICRC passes at once");
        }
        for length in HEADER_BYTES..HEADER_BYTES + 64 {
            (0..2 * LATENCY).for_each(|_| bench.step(true, true));
            let from = bench.left.len();
            (0..20).for_each(|_| bench.add(true, length));
            bench.stalls = 0;
            bench.drain();
            assert_eq!(bench.left[from] - bench.entered[from], LATENCY as u64, "{length} bytes");
            let beats = (length + ICRC_BYTES).div_ceil(64) as u64;
            assert_eq!(bench.ended[from + 19] - bench.left[from] + 1, 20 * beats, "{length} bytes: a beat per cycle");
            // The last of them finds an idle line.
            let spills = beats - length.div_ceil(64) as u64;
            assert!(bench.stalls <= 20 * spills, "{length} bytes: {} stalls", bench.stalls);
        }
        // After a frame with ICRC, the next one follows it, with or without.
        let from = bench.left.len();
        bench.add(true, 200);
        bench.add(false, 200);
        bench.drain();
        assert_eq!(bench.left[from + 1], bench.ended[from] + 1);
        // And when the line is empty, a frame without ICRC passes at once again.
        bench.add(false, 200);
        bench.drain();
        assert_eq!(bench.entered.last(), bench.left.last());
    });
}
