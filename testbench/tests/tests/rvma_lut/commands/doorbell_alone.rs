//! The doorbell pages alone, against the words of their pages: accesses of any address, a command unit that fetches arguments and
//! writes results, and RING_DONE, in every cycle.

use rand::seq::IndexedRandom;
use rand::Rng;
use rand_chacha::ChaCha8Rng;
use rvma_lut::commands::doorbell::Doorbell;
use spindle_blocks::desc::{CsrRequest, CsrResponse};
use spindle_contract::registers::{doorbell, doorbell_error, PAGE};
use spindle_harness::{random_value, run_with_wave_on_failure, share, Dut, WaveContext};
use spindle_verilog::prelude::*;

/// Words of a page.
const WORDS: usize = doorbell::KICK as usize / 4 + 1;
/// What RESULT reads while the command of its process is carried out.
const BUSY: u32 = 1 << 31;

const fn word(offset: u32) -> usize {
    offset as usize / 4
}

/// Words that only the card writes.
const RESULTS: [usize; 5] = [
    word(doorbell::RESULT),
    word(doorbell::VALUE_LO),
    word(doorbell::VALUE_HI),
    word(doorbell::VALUE_LENGTH),
    word(doorbell::RING_DONE),
];
/// Words that are zero after a reset, in the order in which they are cleared.
const CLEARED: [usize; 3] = [word(doorbell::RESULT), word(doorbell::RING_DONE), word(doorbell::IRQ)];

/// The command that is carried out.
#[derive(Clone, Copy)]
struct Running {
    owner: usize,
    /// It waits for the host or the wire.
    slow: bool,
}

/// How often, in percent of the cycles, things happen.
#[derive(Clone, Copy)]
struct Pace {
    accesses: u32,
    /// Of the writes: to COMMAND.
    commands: u32,
    fetches: u32,
    /// Words of the result, of which one in eight is the last.
    results: u32,
    ring_results: u32,
    /// Accesses of what does not exist, or is another block's.
    strangers: u32,
}

const PACES: [Pace; 4] = [
    Pace { accesses: 100, commands: 10, fetches: 20, results: 20, ring_results: 5, strangers: 10 },
    Pace { accesses: 100, commands: 40, fetches: 60, results: 5, ring_results: 30, strangers: 5 },
    Pace { accesses: 30, commands: 30, fetches: 30, results: 30, ring_results: 30, strangers: 30 },
    Pace { accesses: 100, commands: 2, fetches: 0, results: 80, ring_results: 1, strangers: 1 },
];

#[derive(Debug, Default)]
struct Seen {
    reads: u32,
    writes: u32,
    refused: u32,
    started: u32,
    /// COMMAND while another command is slow; cycles in which COMMAND waits.
    busy: u32,
    waits: u32,
    /// Reads of RESULT that are busy, or of another process meanwhile.
    reads_busy: u32,
    reads_other: u32,
    fetched: u32,
    ignored: u32,
}

/// The process and the word of an address: none of another block; no word if the address does not exist.
fn place(address: u32, processes: usize) -> Option<(usize, Option<usize>)> {
    let offset = address.checked_sub(doorbell::BASE)?;
    let (page, word) = ((offset / PAGE) as usize, (offset % PAGE) as usize / 4);
    Some((page, (page < processes && word < WORDS).then_some(word)))
}

struct Bench {
    dut: Dut<Doorbell>,
    rng: ChaCha8Rng,
    processes: usize,
    /// Words of the pages; unknown until they are written.
    words: Vec<[Option<u32>; WORDS]>,
    /// Cycles until all words are cleared.
    clears: usize,
    request: Option<CsrRequest>,
    /// Cycles for which a request of another block is left there.
    leaves: u32,
    /// Read that was begun in the cycle before: process, word.
    reading: Option<(usize, usize)>,
    /// Word that the command unit has asked for in the cycle before.
    fetched: Option<Option<u32>>,
    /// Answer of this cycle; the word may be unknown.
    answer: Option<(bool, Option<u32>)>,
    running: Option<Running>,
    pace: Pace,
    seen: Seen,
}

impl Bench {
    fn new(wave: &WaveContext, processes: usize, name: &str) -> Self {
        let dut = Dut::new(wave, Doorbell::new(processes), name);
        let mut bench = Bench {
            dut,
            rng: wave.rng(),
            processes,
            words: vec![[None; WORDS]; processes],
            clears: 0,
            request: None,
            leaves: 0,
            reading: None,
            fetched: None,
            answer: None,
            running: None,
            pace: PACES[0],
            seen: Seen::default(),
        };
        bench.reset();
        bench
    }

    fn reset(&mut self) {
        self.dut.csr.set(CsrRequest::default());
        self.dut.command.result_valid.set(false);
        self.dut.command.busy.set(false);
        self.dut.staged.read.set(false);
        self.dut.ring_result.valid.set(false);
        self.dut.reset();
        (self.request, self.reading, self.fetched, self.answer, self.running) = (None, None, None, None, None);
        self.clears = CLEARED.len() * self.processes;
        for page in &mut self.words {
            for word in CLEARED {
                page[word] = Some(0);
            }
        }
    }

    fn chance(&mut self, percent: u32) -> bool {
        self.rng.random_range(0..100) < percent
    }

    /// An access of a page.
    fn access(&mut self) -> CsrRequest {
        let Pace { commands, strangers, .. } = self.pace;
        let (commands, stranger) = (self.chance(commands), self.chance(strangers));
        let running = self.running;
        let rng = &mut self.rng;
        let pid = match running {
            Some(running) if rng.random_range(0..3) == 0 => running.owner,
            _ => rng.random_range(0..self.processes),
        };
        let write = rng.random();
        let word = match rng.random_range(0..4) {
            _ if write && commands => word(doorbell::COMMAND),
            0 => *RESULTS.choose(rng).expect("a word"),
            _ => rng.random_range(0..WORDS),
        };
        let mut address = doorbell::BASE + pid as u32 * PAGE + 4 * word as u32;
        if stranger {
            address = match rng.random_range(0..4) {
                0 => rng.random_range(0..1 << 18) * 4,
                1 => address ^ 1 << rng.random_range(7..20),
                2 => address & !(PAGE - 1) | (rng.random_range(WORDS as u32..32) * 4),
                _ => address + self.processes as u32 * PAGE,
            } & 0xF_FFFC;
        }
        let wdata: Bits<32> = if rng.random() { bits(u64::from(rng.random::<u32>())) } else { random_value(rng) };
        CsrRequest { valid: true, write, addr: bits(u64::from(address)), wdata }
    }

    fn step(&mut self) {
        let pace = self.pace;
        if self.request.is_none() && self.chance(pace.accesses) {
            self.request = Some(self.access());
            self.leaves = self.rng.random_range(1..12);
        }
        let (fetches, results, rings) =
            (self.chance(pace.fetches), self.chance(pace.results), self.chance(pace.ring_results));
        let ready = self.clears == 0;
        let rng = &mut self.rng;
        let dut = &self.dut;
        let request = self.request.unwrap_or_else(|| CsrRequest {
            valid: false,
            write: rng.random(),
            addr: bits(u64::from(doorbell::BASE) + rng.random_range(0..1 << 8) * 4),
            wdata: bits(u64::from(rng.random::<u32>())),
        });
        dut.csr.set(request);
        // The command unit: words of its process are read, words of the result are written, RESULT at last.
        if let Some(running) = &mut self.running {
            running.slow ^= rng.random_range(0..10) == 0;
        }
        let owner = self.running.map_or_else(|| rng.random_range(0..self.processes), |running| running.owner);
        let fetch = (self.running.is_some() && fetches).then(|| rng.random_range(0..=word(doorbell::TARGET_PID)));
        let result = (self.running.is_some() && fetch.is_none() && results).then(|| {
            let word = if rng.random_range(0..8) == 0 { RESULTS[0] } else { RESULTS[rng.random_range(1..5)] };
            (word, rng.random::<u32>())
        });
        dut.command.busy.set(self.running.is_some());
        dut.command.slow.set(self.running.map_or_else(|| rng.random(), |running| running.slow));
        dut.command.owner.set(owner);
        dut.staged.read.set(fetch.is_some());
        dut.staged.index.set(fetch.unwrap_or_else(|| rng.random_range(0..32)));
        dut.command.result_valid.set(result.is_some());
        let (result_word, value) = result.unwrap_or_else(|| (rng.random_range(0..32), rng.random()));
        dut.command.result_word.set(result_word);
        dut.command.result.set(value);
        // No command of a ring ends while a result is written.
        let ring =
            (ready && result.is_none() && rings).then(|| (rng.random_range(0..self.processes), rng.random::<u32>()));
        dut.ring_result.valid.set(ring.is_some());
        let (ring_pid, ring_word) = ring.unwrap_or_else(|| (rng.random_range(0..self.processes), rng.random()));
        dut.ring_result_pid.set(ring_pid);
        dut.ring_result.payload.set(ring_word);
        dut.eval();
        let at = format!("cycle {}: {request:?}", dut.cycle());

        // The answer of this cycle.
        let found = dut.csr_answer.get();
        let expected = match self.answer {
            None => CsrResponse { error: found.error, rdata: found.rdata, ..CsrResponse::default() },
            Some((error, word)) => {
                CsrResponse { ack: true, error, rdata: word.map_or(found.rdata, |word| bits(u64::from(word))) }
            }
        };
        assert_eq!(found, expected, "{at}");
        if let Some(Some(word)) = self.fetched.take() {
            assert_eq!(dut.staged.word.number(), u64::from(word), "{at}");
            self.seen.fetched += 1;
        }

        // An access begins.
        let address = request.addr.to_u64() as u32;
        let place = place(address, self.processes);
        let (pid, number) = place.unwrap_or((0, None));
        let command = request.write && number == Some(word(doorbell::COMMAND));
        let waits = command && self.running.is_some_and(|running| !running.slow);
        let free = ready && self.answer.is_none() && self.reading.is_none();
        let offered = request.valid && place.is_some() && free;
        let taken = fetch.is_some() || result.is_some() || ring.is_some();
        let begins = offered && !taken && !waits;
        self.seen.waits += u32::from(offered && waits);
        let write = number.filter(|_| begins && request.write);
        let read = number.filter(|_| begins && !request.write);
        let value = request.wdata.to_u64();
        let written = |offset: u32| write == Some(word(offset));
        let of = |offset: u32, value: u64| written(offset).then_some((pid as u64, value));

        let starts = command && begins && self.running.is_none();
        let found = dut.command.start.is_high().then(|| (dut.command.pid.number(), dut.command.code.number()));
        assert_eq!(found, starts.then_some((pid as u64, value)), "{at}");
        let head = &dut.event_head;
        let found = head.valid.is_high().then(|| (head.pid.number(), head.payload.number()));
        assert_eq!(found, of(doorbell::EVENT_HEAD, value & 0xFFFF), "{at}");
        if found.is_some() {
            assert_eq!(dut.event_arm.is_high(), value >> 31 != 0, "{at}");
        }
        let tail = &dut.ring_tail;
        let found = tail.valid.is_high().then(|| (tail.pid.number(), tail.payload.number()));
        assert_eq!(found, of(doorbell::RING_TAIL, value & 0xFFFF), "{at}");
        let irq = &dut.irq;
        let found = irq.valid.is_high().then(|| (irq.pid.number(), irq.payload.number()));
        assert_eq!(found, of(doorbell::IRQ, value), "{at}");
        let found = dut.kick.offered().map(|pid| pid.to_u64());
        assert_eq!(found, written(doorbell::KICK).then_some(pid as u64), "{at}");

        // Reads are answered a cycle later than writes; RESULT is busy while the command of its process is carried out.
        if self.answer.is_some() {
            self.request = None;
        }
        self.answer = match self.reading.take() {
            Some((_, number)) if number == word(doorbell::COMMAND) => Some((false, Some(0))),
            Some((pid, number)) if number == word(doorbell::RESULT) && self.running.is_some_and(|r| r.owner == pid) => {
                self.seen.reads_busy += 1;
                Some((false, Some(BUSY)))
            }
            Some((pid, number)) => {
                let of_result = number == word(doorbell::RESULT) && self.running.is_some();
                self.seen.reads_other += u32::from(of_result);
                // What is written in this cycle comes too late for the read.
                Some((false, self.words[pid][number]))
            }
            None if begins && (number.is_none() || request.write) => Some((number.is_none(), Some(0))),
            None => None,
        };
        self.seen.reads += u32::from(read.is_some());
        self.seen.writes += u32::from(write.is_some());
        self.seen.refused += u32::from(begins && number.is_none());
        self.reading = read.map(|number| (pid, number));
        self.fetched = fetch.map(|number| self.words[owner][number]);

        // Words change.
        if let Some(number) = write.filter(|number| !RESULTS.contains(number) && (!command || starts)) {
            self.words[pid][number] = Some(value as u32);
        }
        if command && begins {
            if starts {
                self.running = Some(Running { owner: pid, slow: rng.random() });
                self.seen.started += 1;
            } else {
                self.words[pid][word(doorbell::RESULT)] = Some(doorbell_error::BUSY << 16);
                self.seen.busy += 1;
            }
        }
        if let Some((number, value)) = result {
            self.words[owner][number] = Some(value);
            if number == word(doorbell::RESULT) {
                self.running = None;
            }
        }
        if let Some((pid, value)) = ring {
            self.words[pid][word(doorbell::RING_DONE)] = Some(value);
        }
        self.clears = self.clears.saturating_sub(1);
        if place.is_none() && self.request.is_some() {
            // Another block answers.
            self.leaves -= 1;
            if self.leaves == 0 {
                self.request = None;
                self.seen.ignored += 1;
            }
        }
        dut.tick();
    }
}

#[test]
fn random_accesses_are_the_models() {
    run_with_wave_on_failure("doorbell_alone_random", |wave| {
        for (processes, name, cycles) in
            [(64, "doorbell", 8_000), (5, "doorbell_five", 4_000), (1, "doorbell_one", 4_000)]
        {
            let mut bench = Bench::new(wave, processes, name);
            for round in 0..12 {
                bench.pace = PACES[round % PACES.len()];
                for _ in 0..share(cycles) {
                    bench.step();
                }
                if round % 5 == 4 {
                    bench.reset();
                }
            }
            let seen = &bench.seen;
            let counts = [seen.reads, seen.writes, seen.refused, seen.started, seen.busy, seen.waits, seen.reads_busy];
            assert!(counts.iter().chain([&seen.fetched, &seen.ignored]).all(|count| *count > 2), "{seen:?}");
            assert!(processes == 1 || seen.reads_other > 2, "{seen:?}");
        }
    });
}

/// Accesses wait until the words are cleared; then a write is answered after a cycle, a read after two.
#[test]
fn cycles_of_an_access() {
    run_with_wave_on_failure("doorbell_alone_cycles", |wave| {
        let processes = 64;
        let bench = Bench::new(wave, processes, "doorbell");
        let mut begin = bench.dut.cycle() + (CLEARED.len() * processes) as u64;
        for (write, cycles) in [(true, 1), (false, 2), (false, 2), (true, 1)] {
            let addr = bits(u64::from(doorbell::BASE + 63 * PAGE + doorbell::IRQ));
            bench.dut.csr.set(CsrRequest { valid: true, write, addr, wdata: bits(7u64) });
            bench.dut.eval();
            while !bench.dut.csr_answer.get().ack {
                bench.dut.tick();
                bench.dut.eval();
            }
            assert_eq!(bench.dut.cycle() - begin, cycles, "a write: {write}");
            bench.dut.tick();
            bench.dut.csr.set(CsrRequest::default());
            bench.dut.tick();
            begin = bench.dut.cycle();
        }
    });
}
