//! `AsyncFifo` with two clocks of random ratio and phase, in LUT RAM and in block RAM.

use rand::Rng;
use spindle_blocks::{AsyncFifo, RamStyle};
use spindle_harness::{run_with_wave_on_failure, Dut, WaveContext};
use spindle_verilog::prelude::Bits;
use std::collections::VecDeque;

type Fifo = AsyncFifo<Bits<32>, 4>;

/// A storage, the edges from the one that takes a word to its offer with equal clocks, and the words that fit.
const KINDS: [(RamStyle, &str, u64, u64); 2] =
    [(RamStyle::Distributed, "async_fifo_4", 4, 16), (RamStyle::Block, "async_fifo_4_block", 5, 17)];

/// Two clocks in picoseconds; time of the next rising edge of each.
struct Clocks {
    period: [u64; 2],
    next: [u64; 2],
}

impl Clocks {
    /// Which clocks rise next (sometimes both at once).
    fn step(&mut self) -> [bool; 2] {
        let now = self.next[0].min(self.next[1]);
        let rise = [self.next[0] == now, self.next[1] == now];
        for (i, rises) in rise.iter().enumerate() {
            self.next[i] += if *rises { self.period[i] } else { 0 };
        }
        rise
    }
}

fn rise(dut: &Dut<Fifo>, edges: [bool; 2]) {
    dut.write_clock.set(edges[0]);
    dut.read_clock.set(edges[1]);
    dut.eval();
    dut.write_clock.set(false);
    dut.read_clock.set(false);
    dut.eval();
}

fn fifo(wave: &WaveContext, (style, name, ..): (RamStyle, &str, u64, u64)) -> Dut<Fifo> {
    Dut::new(wave, Fifo::new(style), name)
}

fn reset(dut: &Dut<Fifo>) {
    for (value, edges) in [(true, 8), (false, 6)] {
        dut.write_reset.set(value);
        dut.read_reset.set(value);
        dut.write.valid.set(false);
        dut.read.ready.set(false);
        for _ in 0..edges {
            rise(dut, [true, true]);
        }
    }
}

#[test]
fn nothing_is_lost_between_clocks() {
    run_with_wave_on_failure("nothing_is_lost_between_clocks", |wave| {
        for kind in KINDS {
            random_traffic(wave, kind);
        }
    });
}

fn random_traffic(wave: &WaveContext, kind: (RamStyle, &str, u64, u64)) {
    let mut rng = wave.rng();
    let dut = fifo(wave, kind);
    for (write, read) in [(4000, 4000), (4000, 3999), (3103, 8000), (8000, 3103), (1000, 20011), (20011, 1000)] {
        reset(&dut);
        let mut clocks =
            Clocks { period: [write, read], next: [rng.random_range(0..write), rng.random_range(0..read)] };
        let mut queue: VecDeque<u64> = VecDeque::new();
        let (mut offered, mut held): (Option<u64>, Option<u64>) = (None, None);
        let (mut sent, mut received, mut fullest) = (0, 0, 0);
        let (mut edges, mut recent) = (0, [0; 2]);
        while received < 3000 {
            edges += 1;
            assert!(edges < 400_000, "stuck after {received} words");
            let edge = clocks.step();
            // Inputs of a side change only at its own edges, and are what they were just before them.
            if edge[0] {
                if offered.is_none() && sent < 3000 && rng.random_bool(0.9) {
                    offered = Some(rng.random::<u32>() as u64);
                }
                dut.write.valid.set(offered.is_some());
                dut.write.set(offered.unwrap_or(0xDEAD));
            }
            if edge[1] {
                dut.read.ready.set(rng.random_bool(0.9));
            }
            dut.eval();
            if edge[0] {
                // Two cycles late, so it lacks what was written in these; two words are on their way out.
                let (level, inside) = (dut.level.number(), queue.len() as u64);
                assert!(level <= 15 && level + recent[0] + recent[1] + 2 >= inside, "level {level} of {inside}");
                recent = [0, recent[0]];
            }
            if edge[1] {
                let shown = dut.read.valid.is_high().then(|| dut.read.number());
                assert!(held.is_none() || held == shown, "the word changed before it was taken");
                held = None;
                if let Some(word) = shown {
                    assert_eq!(Some(&word), queue.front(), "word {received}");
                    if dut.read.ready.is_high() {
                        queue.pop_front();
                        received += 1;
                    } else {
                        held = Some(word);
                    }
                }
            }
            if edge[0] && dut.write.ready.is_high() {
                if let Some(word) = offered.take() {
                    queue.push_back(word);
                    sent += 1;
                    recent[0] = 1;
                }
            }
            fullest = fullest.max(queue.len());
            rise(&dut, edge);
        }
        assert!(queue.is_empty() && fullest <= kind.3 as usize, "holds {fullest} words");
    }
}

/// Latency with equal clocks, capacity, and one word per cycle.
#[test]
fn timing() {
    run_with_wave_on_failure("timing", |wave| {
        for kind in KINDS {
            exact_timing(wave, kind);
        }
    });
}

fn exact_timing(wave: &WaveContext, kind: (RamStyle, &str, u64, u64)) {
    let (.., latency, capacity) = kind;
    let dut = fifo(wave, kind);
    reset(&dut);
    dut.write.valid.set(true);
    let mut edges = 0;
    while !dut.read.valid.is_high() {
        assert!(edges < 20, "the word never came out");
        rise(&dut, [true, true]);
        dut.write.valid.set(false);
        dut.eval();
        edges += 1;
    }
    // The edge that takes the word, two for the synchroniser, one for the output register, one for the block RAM.
    assert_eq!(edges, latency);

    reset(&dut);
    dut.write.valid.set(true);
    let mut taken = 0;
    for _ in 0..40 {
        dut.eval();
        taken += u64::from(dut.write.ready.is_high());
        rise(&dut, [true, true]);
    }
    assert_eq!(taken, capacity, "15 words in the memory and the others on the way out");
    assert_eq!(dut.level.number(), 15);

    reset(&dut);
    dut.write.valid.set(true);
    dut.read.ready.set(true);
    for n in 0..200 {
        dut.write.set(n);
        dut.eval();
        assert!(dut.write.ready.is_high(), "word {n} had to wait");
        assert_eq!(dut.read.valid.is_high(), n >= latency);
        if n >= latency {
            assert_eq!(dut.read.number(), n - latency);
        }
        rise(&dut, [true, true]);
    }
}
