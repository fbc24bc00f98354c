//! The checks that all blocks with a word port on either side share.

use rand::Rng;
use rand_chacha::ChaCha8Rng;
use spindle_blocks::{Fifo, PassFifo, Skid, Slice};
use spindle_harness::Dut;
use spindle_verilog::ports::HasPorts;
use spindle_verilog::prelude::{Bits, SinkPorts, SourcePorts};
use std::collections::VecDeque;

/// Random bytes.
pub fn random_bytes<const N: usize>(rng: &mut ChaCha8Rng) -> [u8; N] {
    let mut bytes = [0; N];
    rng.fill(&mut bytes[..]);
    bytes
}

/// What a word port block promises.
#[derive(Clone, Copy)]
pub struct WordPort {
    /// Words it takes when no one reads.
    pub capacity: usize,
    /// Cycles from write to `read_valid`.
    pub latency: u64,
    /// `write_ready` does not depend on `read_ready`.
    pub registered_ready: bool,
}

/// A block that takes words and hands them on.
pub trait WordPorts: HasPorts + Sized {
    /// Where words go in and come out.
    fn words(dut: &Dut<Self>) -> (&SinkPorts<Bits<32>>, &SourcePorts<Bits<32>>);

    /// The words inside, if the block counts them.
    fn level(_dut: &Dut<Self>) -> Option<u64> {
        None
    }
}

impl WordPorts for Skid<Bits<32>> {
    fn words(dut: &Dut<Self>) -> (&SinkPorts<Bits<32>>, &SourcePorts<Bits<32>>) {
        (&dut.write, &dut.read)
    }
}

impl WordPorts for Slice<Bits<32>> {
    fn words(dut: &Dut<Self>) -> (&SinkPorts<Bits<32>>, &SourcePorts<Bits<32>>) {
        (&dut.write, &dut.read)
    }
}

impl<const A: usize> WordPorts for PassFifo<Bits<32>, A> {
    fn words(dut: &Dut<Self>) -> (&SinkPorts<Bits<32>>, &SourcePorts<Bits<32>>) {
        (&dut.write, &dut.read)
    }
}

impl<const A: usize> WordPorts for Fifo<Bits<32>, A> {
    fn words(dut: &Dut<Self>) -> (&SinkPorts<Bits<32>>, &SourcePorts<Bits<32>>) {
        (&dut.write, &dut.read)
    }

    fn level(dut: &Dut<Self>) -> Option<u64> {
        Some(dut.level.number())
    }
}

/// Equivalence with a queue under random traffic, then an empty block. Payload: 32 bits.
pub fn queue_equivalence<B: WordPorts>(dut: &Dut<B>, port: WordPort, rng: &mut ChaCha8Rng, cycles: usize) {
    let (write, read) = B::words(dut);
    dut.reset();
    let mut queue: VecDeque<u64> = VecDeque::new();
    let mut offered: Option<u64> = None;
    let (mut moved, mut write_chance, mut read_chance) = (0u64, 50, 50);
    for cycle in 0..cycles + 10 * (port.capacity + 8) {
        let draining = cycle >= cycles;
        if cycle % 64 == 0 {
            // Phases: fills up, runs empty, streams at full speed.
            (write_chance, read_chance) =
                [(100, 100), (90, 20), (20, 90), (50, 50), (100, 0), (100, 97)][rng.random_range(0..6)];
        }
        if draining {
            read_chance = 100;
        } else if offered.is_none() && rng.random_range(0..100) < write_chance {
            offered = Some(rng.random::<u32>() as u64);
        }
        write.valid.set(offered.is_some());
        write.set(offered.unwrap_or_else(|| rng.random::<u32>() as u64));
        let held = queue.len();
        let ready = rng.random_range(0..100) < read_chance;
        read.ready.set(!ready);
        dut.eval();
        let before = (write.ready.number(), read.valid.number(), read.number());
        read.ready.set(ready);
        dut.eval();
        let (accepts, valid, word) = (write.ready.is_high(), read.valid.is_high(), read.number());
        if port.registered_ready {
            assert_eq!(before, (accepts as u64, valid as u64, word), "cycle {cycle}: an output follows read_ready");
        }
        if let Some(level) = B::level(dut) {
            assert_eq!(level, queue.len() as u64, "cycle {cycle}: level");
        }
        // A block without latency shows the word that it takes.
        if let (Some(word), true) = (offered, accepts) {
            queue.push_back(word);
            offered = None;
        }
        let newest = usize::from(port.latency > 0 && queue.len() > held);
        assert!(valid || port.latency > 0 || queue.is_empty(), "cycle {cycle}: a word is not offered at once");
        if valid {
            assert!(queue.len() > newest, "cycle {cycle}: a word that is not there");
            assert_eq!(Some(&word), queue.front(), "cycle {cycle}: wrong word");
        }
        if valid && ready {
            queue.pop_front();
            moved += 1;
        }
        assert!(queue.len() <= port.capacity, "cycle {cycle}: holds more than {} words", port.capacity);
        dut.tick();
    }
    assert!(queue.is_empty() && offered.is_none(), "{} words never came out", queue.len());
    assert!(moved > cycles as u64 / 8, "only {moved} words moved in {cycles} cycles");
}

/// A reset of a single cycle empties the block, whatever is in it: nothing comes out, and the block takes as many words as ever.
pub fn reset_empties<B: WordPorts>(dut: &Dut<B>, port: WordPort) {
    let (write, read) = B::words(dut);
    write.valid.set(false);
    dut.reset();
    for words in 0..=port.capacity.min(9) as u64 {
        read.ready.set(false);
        for n in 0..words {
            write.valid.set(true);
            write.set(n);
            dut.eval();
            assert!(write.ready.is_high(), "word {n} of {words} had to wait");
            dut.tick();
        }
        write.valid.set(false);
        // Once while words are under way, once at rest.
        if words % 2 == 0 {
            (0..port.latency + 2).for_each(|_| dut.tick());
        }
        dut.reset_for(1);
        for _ in 0..port.latency + 4 {
            dut.eval();
            assert!(!read.valid.is_high(), "a word came out after a reset of {words} words");
            assert_eq!(B::level(dut).unwrap_or(0), 0, "level after a reset of {words} words");
            dut.tick();
        }
        let mut taken = 0;
        while write.ready.is_high() && taken <= port.capacity as u64 {
            write.valid.set(true);
            write.set(100 + taken);
            dut.tick();
            taken += 1;
            write.valid.set(false);
            dut.eval();
        }
        assert_eq!(taken, port.capacity as u64, "capacity after a reset of {words} words");
        read.ready.set(true);
        for n in 0..taken {
            dut.eval();
            assert!(read.valid.is_high() && read.number() == 100 + n, "word {n} after a reset of {words} words");
            dut.tick();
        }
        dut.reset();
    }
}

/// Exact latency, capacity, and one word per cycle when empty and when full.
pub fn word_port_timing<B: WordPorts>(dut: &Dut<B>, port: WordPort) {
    let (write, read) = B::words(dut);
    dut.reset();
    // One word through the idle block.
    read.ready.set(false);
    write.set(0xA5A5);
    write.valid.set(true);
    dut.eval();
    assert!(write.ready.is_high(), "an idle block takes a word at once");
    let mut latency = 0;
    if !read.valid.is_high() {
        dut.tick();
        write.valid.set(false);
        latency = 1;
    }
    dut.eval();
    while !read.valid.is_high() {
        assert!(latency < 20, "the word never came out");
        dut.tick();
        dut.eval();
        latency += 1;
    }
    assert_eq!(latency, port.latency, "latency");
    assert_eq!(read.number(), 0xA5A5);

    // Words that trickle in while the sink waits come out one per cycle afterwards.
    dut.reset();
    let words = port.capacity.min(6) as u64;
    for n in 0..words {
        for gap in 0..6 {
            write.valid.set(gap == 0);
            write.set(n);
            dut.tick();
        }
    }
    write.valid.set(false);
    read.ready.set(true);
    for n in 0..words {
        dut.eval();
        assert!(read.valid.is_high() && read.number() == n, "bubble before word {n} of {words}");
        dut.tick();
    }
    read.ready.set(false);

    // Fill: exactly the capacity.
    dut.reset();
    let mut taken = 0;
    write.valid.set(true);
    for _ in 0..port.capacity + 10 {
        write.set(taken);
        dut.eval();
        taken += u64::from(write.ready.is_high());
        dut.tick();
    }
    assert_eq!(taken, port.capacity as u64, "capacity");

    // Read and write in every cycle from there on: a word per cycle comes out, in order.
    read.ready.set(true);
    for n in 0..3 * port.capacity as u64 + 20 {
        write.set(taken);
        dut.eval();
        assert!(read.valid.is_high(), "bubble at word {n}");
        assert_eq!(read.number(), n);
        taken += u64::from(write.ready.is_high());
        dut.tick();
    }
    assert!(taken >= 4 * port.capacity as u64 + 19, "the writer was held up more than once: {taken} words taken");

    // The same from empty.
    dut.reset();
    read.ready.set(true);
    write.valid.set(true);
    let total = 3 * port.capacity as u64 + 50;
    for n in 0..total + port.latency {
        write.set(n);
        dut.eval();
        assert!(write.ready.is_high(), "word {n} had to wait");
        assert_eq!(read.valid.is_high(), n >= port.latency, "word {n}");
        if n >= port.latency {
            assert_eq!(read.number(), n - port.latency);
        }
        dut.tick();
    }
}
