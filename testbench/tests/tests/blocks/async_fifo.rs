//! `AsyncFifo` with two clocks of random ratio and phase.

use crate::blocks::common::Dut;
use rand::Rng;
use spindle_blocks::AsyncFifo;
use spindle_harness::{run_with_wave_on_failure, WaveContext};
use spindle_verilog::prelude::Bits;
use std::collections::VecDeque;

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

fn rise(dut: &mut Dut, edges: [bool; 2]) {
    for (name, edge) in ["write_clock", "read_clock"].iter().zip(edges) {
        dut.set(name, edge as u64);
    }
    dut.eval();
    for name in ["write_clock", "read_clock"] {
        dut.set(name, 0);
    }
    dut.eval();
}

fn fifo(wave: &WaveContext) -> Dut {
    Dut::new(wave, &mut AsyncFifo::<Bits<32>, 4>::default(), "async_fifo_4")
}

fn reset(dut: &mut Dut) {
    for (value, edges) in [(1, 8), (0, 6)] {
        for name in ["write_reset", "read_reset"] {
            dut.set(name, value);
        }
        for name in ["write_valid", "read_ready"] {
            dut.set(name, 0);
        }
        for _ in 0..edges {
            rise(dut, [true, true]);
        }
    }
}

#[test]
fn nothing_is_lost_between_clocks() {
    run_with_wave_on_failure("nothing_is_lost_between_clocks", |wave| {
        let mut rng = wave.rng();
        let mut dut = fifo(wave);
        for (write, read) in [(4000, 4000), (4000, 3999), (3103, 8000), (8000, 3103), (1000, 20011), (20011, 1000)] {
            reset(&mut dut);
            let mut clocks =
                Clocks { period: [write, read], next: [rng.random_range(0..write), rng.random_range(0..read)] };
            let mut queue: VecDeque<u64> = VecDeque::new();
            let (mut offered, mut held): (Option<u64>, Option<u64>) = (None, None);
            let (mut sent, mut received, mut fullest) = (0, 0, 0);
            let mut edges = 0;
            while received < 3000 {
                edges += 1;
                assert!(edges < 400_000, "stuck after {received} words");
                let edge = clocks.step();
                // Inputs of a side change only at its own edges, and are what they were just before them.
                if edge[0] {
                    if offered.is_none() && sent < 3000 && rng.random_bool(0.9) {
                        offered = Some(rng.random::<u32>() as u64);
                    }
                    dut.set("write_valid", offered.is_some() as u64);
                    dut.set("write", offered.unwrap_or(0xDEAD));
                }
                if edge[1] {
                    dut.set("read_ready", rng.random_bool(0.9) as u64);
                }
                dut.eval();
                if edge[1] {
                    let shown = dut.high("read_valid").then(|| dut.get("read"));
                    assert!(held.is_none() || held == shown, "the word changed before it was taken");
                    held = None;
                    if let Some(word) = shown {
                        assert_eq!(Some(&word), queue.front(), "word {received}");
                        if dut.high("read_ready") {
                            queue.pop_front();
                            received += 1;
                        } else {
                            held = Some(word);
                        }
                    }
                }
                if edge[0] && dut.high("write_ready") {
                    if let Some(word) = offered.take() {
                        queue.push_back(word);
                        sent += 1;
                    }
                }
                fullest = fullest.max(queue.len());
                rise(&mut dut, edge);
            }
            assert!(queue.is_empty() && fullest <= 16, "holds {fullest} words");
        }
    });
}

/// Latency with equal clocks, capacity, and one word per cycle.
#[test]
fn timing() {
    run_with_wave_on_failure("timing", |wave| {
        let mut dut = fifo(wave);
        reset(&mut dut);
        dut.set("write_valid", 1);
        let mut edges = 0;
        while !dut.high("read_valid") {
            assert!(edges < 20, "the word never came out");
            rise(&mut dut, [true, true]);
            dut.set("write_valid", 0);
            dut.eval();
            edges += 1;
        }
        // The edge that takes the word, two for the synchroniser, one for the output register.
        assert_eq!(edges, 4);

        reset(&mut dut);
        dut.set("write_valid", 1);
        let mut taken = 0;
        for _ in 0..40 {
            dut.eval();
            taken += dut.get("write_ready");
            rise(&mut dut, [true, true]);
        }
        assert_eq!(taken, 16, "15 words in the memory and one in the register");

        reset(&mut dut);
        dut.set("write_valid", 1);
        dut.set("read_ready", 1);
        for n in 0..200 {
            dut.set("write", n);
            dut.eval();
            assert!(dut.high("write_ready"), "word {n} had to wait");
            assert_eq!(dut.high("read_valid"), n >= 4);
            if n >= 4 {
                assert_eq!(dut.get("read"), n - 4);
            }
            rise(&mut dut, [true, true]);
        }
    });
}
