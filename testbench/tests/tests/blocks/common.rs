//! A block under test, and the checks that all word ports share.

use rand::Rng;
use rand_chacha::ChaCha8Rng;
use spindle_harness::{Model, Port, Source, WaveContext};
use spindle_verilog::prelude::Block;
use std::cell::RefCell;
use std::collections::{HashMap, VecDeque};

/// A loaded model whose ports are looked up by name.
pub struct Dut {
    pub model: Model,
    ports: RefCell<HashMap<String, Port>>,
}

/// The text of a block, ready for Verilator.
pub fn source(block: &mut impl Block, top: &str) -> Source {
    let design = spindle_verilog::emit(block, top).unwrap_or_else(|e| panic!("{top}: {e}"));
    Source::new(top, design.modules.iter().map(|m| (format!("{}.sv", m.name), m.text.clone())).collect())
}

impl Dut {
    /// Emits, compiles and loads a block; its waves are recorded when the test is repeated after a failure.
    pub fn new(wave: &WaveContext, block: &mut impl Block, top: &str) -> Self {
        let model = wave.model(&source(block, top)).unwrap_or_else(|e| panic!("{top}: {e:#}"));
        Self { model, ports: RefCell::default() }
    }

    /// The same with every register zero at the start, as rust-hdl's simulator has it.
    pub fn zeroed(block: &mut impl Block, top: &str) -> Self {
        let library = Model::build(&source(block, top)).unwrap_or_else(|e| panic!("{top}: {e:#}"));
        Self { model: library.instance_zeroed(), ports: RefCell::default() }
    }

    fn port(&self, name: &str) -> Port {
        *self
            .ports
            .borrow_mut()
            .entry(name.to_string())
            .or_insert_with(|| self.model.port(name).unwrap_or_else(|e| panic!("{e:#}")))
    }

    pub fn set(&mut self, name: &str, value: u64) {
        let port = self.port(name);
        self.model.set(port, value);
    }

    pub fn get(&mut self, name: &str) -> u64 {
        let port = self.port(name);
        self.model.get(port)
    }

    pub fn high(&mut self, name: &str) -> bool {
        self.get(name) == 1
    }

    pub fn set_bytes(&mut self, name: &str, bytes: &[u8]) {
        let port = self.port(name);
        self.model.set_bytes(port, bytes);
    }

    pub fn bytes<const N: usize>(&mut self, name: &str) -> [u8; N] {
        let port = self.port(name);
        self.model.get_bytes(port).try_into().unwrap_or_else(|_| panic!("{name} does not have {N} bytes"))
    }

    /// The bytes of a port of any width.
    pub fn all_bytes(&mut self, name: &str) -> Vec<u8> {
        let port = self.port(name);
        self.model.get_bytes(port).to_vec()
    }

    pub fn eval(&mut self) {
        self.model.eval();
    }

    pub fn tick(&mut self) {
        self.model.tick();
    }

    pub fn reset(&mut self) {
        self.model.reset(3);
    }
}

/// Random bytes.
pub fn random_bytes<const N: usize>(rng: &mut ChaCha8Rng) -> [u8; N] {
    let mut bytes = [0; N];
    rng.fill(&mut bytes[..]);
    bytes
}

/// What a word port block promises.
#[derive(Clone, Copy)]
pub struct WordPort {
    /// Words it takes when nobody reads.
    pub capacity: usize,
    /// Cycles from write to `read_valid`.
    pub latency: u64,
    /// `write_ready` does not depend on `read_ready`.
    pub registered_ready: bool,
    /// Has a `level` port.
    pub level: bool,
}

/// Equivalence with a queue under random traffic, then an empty block. Payload: 32 bits.
pub fn queue_equivalence(dut: &mut Dut, port: WordPort, rng: &mut ChaCha8Rng, cycles: usize) {
    dut.reset();
    let mut queue: VecDeque<u64> = VecDeque::new();
    let mut offered: Option<u64> = None;
    let mut stalled: Option<u64> = None;
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
        dut.set("write_valid", offered.is_some() as u64);
        dut.set("write", offered.unwrap_or_else(|| rng.random::<u32>() as u64));
        let ready = rng.random_range(0..100) < read_chance;
        dut.set("read_ready", !ready as u64);
        dut.eval();
        let before = (dut.get("write_ready"), dut.get("read_valid"), dut.get("read"));
        dut.set("read_ready", ready as u64);
        dut.eval();
        let (accepts, valid, word) = (dut.high("write_ready"), dut.high("read_valid"), dut.get("read"));
        if port.registered_ready {
            assert_eq!(before, (accepts as u64, valid as u64, word), "cycle {cycle}: an output follows read_ready");
        }
        if port.level {
            assert_eq!(dut.get("level"), queue.len() as u64, "cycle {cycle}: level");
        }
        if let Some(held) = stalled {
            assert!(valid && word == held, "cycle {cycle}: the payload changed before it was taken");
        }
        if valid {
            assert_eq!(Some(&word), queue.front(), "cycle {cycle}: wrong word");
        }
        stalled = (valid && !ready).then_some(word);
        if valid && ready {
            queue.pop_front();
            moved += 1;
        }
        if let (Some(word), true) = (offered, accepts) {
            queue.push_back(word);
            offered = None;
        }
        assert!(queue.len() <= port.capacity, "cycle {cycle}: holds more than {} words", port.capacity);
        dut.tick();
    }
    assert!(queue.is_empty() && offered.is_none(), "{} words never came out", queue.len());
    assert!(moved > cycles as u64 / 8, "only {moved} words moved in {cycles} cycles");
}

/// Exact latency, capacity, and one word per cycle when empty and when full.
pub fn word_port_timing(dut: &mut Dut, port: WordPort) {
    dut.reset();
    // One word through the idle block.
    dut.set("read_ready", 0);
    dut.set("write", 0xA5A5);
    dut.set("write_valid", 1);
    dut.eval();
    assert!(dut.high("write_ready"), "an idle block takes a word at once");
    dut.tick();
    dut.set("write_valid", 0);
    let mut latency = 1;
    dut.eval();
    while !dut.high("read_valid") {
        assert!(latency < 20, "the word never came out");
        dut.tick();
        dut.eval();
        latency += 1;
    }
    assert_eq!(latency, port.latency, "latency");
    assert_eq!(dut.get("read"), 0xA5A5);

    // Words that trickle in while the sink waits come out one per cycle afterwards.
    dut.reset();
    let words = port.capacity.min(6) as u64;
    for n in 0..words {
        for gap in 0..6 {
            dut.set("write_valid", (gap == 0) as u64);
            dut.set("write", n);
            dut.tick();
        }
    }
    dut.set("write_valid", 0);
    dut.set("read_ready", 1);
    for n in 0..words {
        dut.eval();
        assert!(dut.high("read_valid") && dut.get("read") == n, "bubble before word {n} of {words}");
        dut.tick();
    }
    dut.set("read_ready", 0);

    // Fill: exactly the capacity.
    dut.reset();
    let mut taken = 0;
    dut.set("write_valid", 1);
    for _ in 0..port.capacity + 10 {
        dut.set("write", taken);
        dut.eval();
        taken += dut.get("write_ready");
        dut.tick();
    }
    assert_eq!(taken, port.capacity as u64, "capacity");

    // Read and write in every cycle from there on: a word per cycle comes out, in order.
    dut.set("read_ready", 1);
    for n in 0..3 * port.capacity as u64 + 20 {
        dut.set("write", taken);
        dut.eval();
        assert!(dut.high("read_valid"), "bubble at word {n}");
        assert_eq!(dut.get("read"), n);
        taken += dut.get("write_ready");
        dut.tick();
    }
    assert!(taken >= 4 * port.capacity as u64 + 19, "the writer was held up more than once: {taken} words taken");

    // The same from empty.
    dut.reset();
    dut.set("read_ready", 1);
    dut.set("write_valid", 1);
    let total = 3 * port.capacity as u64 + 50;
    for n in 0..total + port.latency {
        dut.set("write", n);
        dut.eval();
        assert!(dut.high("write_ready"), "word {n} had to wait");
        assert_eq!(dut.high("read_valid"), n >= port.latency, "word {n}");
        if n >= port.latency {
            assert_eq!(dut.get("read"), n - port.latency);
        }
        dut.tick();
    }
}
