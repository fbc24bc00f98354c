//! Lock-step with the reference simulator: every instruction that retires, and the memory that is left.
//!
//! Handlers run two at a time on the two hardware threads, interleaved by the latencies of the remote port, with a third one
//! preloaded. Each is compared with its own log.

use crate::hpu_core::processor::hpu::hart_bench::hart;
use crate::hpu_core::processor::hpu::random::{all_kinds, kind, program, Sizes};
use crate::hpu_core::processor::hpu::spike::{self, Commit, Memory};
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;
use spindle_contract::memory_map::{base, CODE, CONTEXT, FAULT_WATCHDOG, PACKET, RETURN_ADDRESS, SCRATCH, STACK};
use spindle_contract::params::{L1_SCRATCH_BASE, SLOT_BYTES};
use spindle_harness::{run_with_wave_on_failure, seed_of, share, skip, with_seeds};
use spindle_hart::{Ending, Hart, Start, Timing};
use spindle_sim::Retired;
use std::cell::RefCell;
use std::collections::{HashSet, VecDeque};
use std::path::{Path, PathBuf};
use std::sync::mpsc::sync_channel;

/// Instructions that a run compares, at least.
const INSTRUCTIONS: usize = 1_000_000;
/// Handlers of a batch. A batch is what is repeated with a wave if it fails.
const BATCH: usize = 12;
/// Handlers that are in the processor or wait for it; each has its own place in every memory.
const PLACES: usize = 4;
/// Bytes of instruction memory of a place.
const IMAGE: u32 = 0x4000;
const SIZES: Sizes = Sizes { packet: 2048, scratch: 2048, context: 0x1000 };
/// Cycles by which a budget may be overdrawn: a memory access that has begun ends.
const MOST_LATE: u32 = 100;
/// Pieces of a program: about 2,000 instructions.
const PIECES: usize = 1000;

/// A handler, what it finds, and what becomes of it.
struct Case {
    seed: u64,
    start: Start,
    words: Vec<u32>,
    memory: Memory,
    commits: Vec<Commit>,
}

impl Case {
    /// Whether a virtual address is in L2, and where it is in its memory; the stack lies at `stack`.
    fn physical(&self, address: u32, stack: usize) -> (bool, usize) {
        let offset = (address & 0x0FFF_FFFF) as usize;
        match address >> 28 {
            PACKET => (false, self.start.packet.0 as usize + offset),
            SCRATCH => (false, self.start.scratch.0 as usize + offset),
            STACK => (false, stack + offset),
            CONTEXT => (true, self.start.state.0 as usize + offset),
            other => panic!("region {other} is not written"),
        }
    }
}

fn random_bytes(rng: &mut ChaCha8Rng, count: usize) -> Vec<u8> {
    (0..count).map(|_| rng.random()).collect()
}

/// The name of a batch, of which its seed is made.
fn batch_name(number: usize) -> String {
    format!("hpu_lockstep_{number}")
}

/// The seed of a handler, by the seed of its batch.
fn case_seed(batch: u64, index: usize) -> u64 {
    batch.wrapping_add(index as u64)
}

/// What the seed of a handler decides before its memory: its task and its program.
fn task_and_program(seed: u64, index: usize) -> (ChaCha8Rng, Start, Vec<u32>) {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let place = (index % PLACES) as u32;
    let mut task = [0; 128];
    rng.fill(&mut task[..]);
    let start = Start {
        entry: base(CODE) + spike::FIRST_CODE,
        a0: rng.random(),
        completes: rng.random(),
        flow_control: rng.random(),
        code_base: place * IMAGE,
        code_size: IMAGE,
        frame: index as u16,
        packet: ((3 * place + rng.random_range(0..3)) * SLOT_BYTES as u32, SIZES.packet),
        scratch: (L1_SCRATCH_BASE as u32 + 0x1000 * place + 0x800 * rng.random_range(0..2), SIZES.scratch),
        state: (0x4000 * place + 0x1000 * rng.random_range(0..4), SIZES.context),
        task,
        ..Start::default()
    };
    let words = program(&mut rng, SIZES, PIECES);
    assert!(words.len() * 4 + spike::FIRST_CODE as usize <= IMAGE as usize, "{} words are too many", words.len());
    (rng, start, words)
}

fn case(spike: &Path, folder: &Path, seed: u64, index: usize) -> Case {
    let (mut rng, mut start, words) = task_and_program(seed, index);
    let memory = spike::memory(&start, |bytes| random_bytes(&mut rng, bytes));
    start.stack = Some(memory.stack.clone());
    let commits = spike::run(spike, folder, &words, &start, &memory);
    if sc_outcomes(&commits).is_none() && rng.random_range(0..3) == 0 {
        start.watchdog = rng.random_range(40..8000);
    }
    Case { seed, start, words, memory, commits }
}

/// Which SC succeed, if they do not just as their reservations say: the simulator drops those now and then.
fn sc_outcomes(commits: &[Commit]) -> Option<VecDeque<bool>> {
    let mut reserved = None;
    let (mut outcomes, mut plain) = (VecDeque::new(), true);
    // The address of a failed SC is not in the log: it fails for want of a reservation, or because this one does not match,
    // which cannot be known.
    for commit in commits {
        match commit.insn & 0xF800_007F {
            0x1000_002F => reserved = commit.load.map(|_| commit.insn >> 15 & 31),
            0x1800_002F => {
                let does = commit.store.is_some();
                plain &= does == (reserved.take() == Some(commit.insn >> 15 & 31));
                outcomes.push_back(does);
            }
            _ => {}
        }
    }
    (!plain).then_some(outcomes)
}

/// A handler that runs: how far it has been compared.
struct Progress {
    case: Case,
    at: usize,
    registers: [u32; 32],
}

/// Bytes of a load or store.
fn mask(insn: u32) -> u8 {
    [1, 3, 15][(insn >> 12 & 3) as usize]
}

impl Progress {
    fn new(case: Case) -> Progress {
        let registers = std::array::from_fn(|number| case.start.register(number as u32));
        Progress { case, at: 0, registers }
    }

    /// What is wrong with an instruction, if anything is.
    fn complaint(&self, retired: &Retired) -> Option<String> {
        let Some(commit) = self.case.commits.get(self.at) else { return Some("the handler should have ended".into()) };
        let last = self.at + 1 == self.case.commits.len();
        let next = self.case.commits.get(self.at + 1).map_or(RETURN_ADDRESS, |next| next.pc);
        let is_counter = commit.insn & 0x7F == 0x73;
        let rd = commit.rd.map_or((0, 0), |(rd, value)| (rd, if is_counter { retired.rd.1 } else { value }));
        let source = |(number, value): (u8, u32)| number == 0 || value == self.registers[number as usize];
        let checks = [
            (retired.pc == commit.pc && retired.insn == commit.insn, "another instruction".to_string()),
            (!retired.trap, "a fault".into()),
            (retired.intr == (self.at == 0), "intr".into()),
            (retired.halt == last, "halt".into()),
            (retired.next_pc == next, format!("the next pc is {next:#x}")),
            (retired.rd == rd, format!("rd is {rd:x?}")),
            (source(retired.rs1) && source(retired.rs2), "a source is another".into()),
            (
                commit.load.is_none_or(|at| (retired.address, retired.read_mask) == (at, mask(commit.insn))),
                "the load is another".into(),
            ),
            (commit.load.is_some() || retired.read_mask == 0, "no load".into()),
            (
                commit.store.is_none_or(|(at, value, bytes)| {
                    let all = u32::MAX >> (32 - 8 * u32::from(bytes));
                    let same = (retired.address, retired.write_mask) == (at, mask(commit.insn));
                    same && retired.written & all == value
                }),
                "the store is another".into(),
            ),
            (commit.store.is_some() || retired.write_mask == 0, "no store".into()),
        ];
        checks.into_iter().find(|check| !check.0).map(|check| check.1)
    }

    /// Whether its budget may end before it does.
    fn may_be_stopped(&self) -> bool {
        self.case.start.watchdog != Start::default().watchdog
    }

    /// Whether a handler that is stopped may stand at `pc`: at its next instruction, or after it if that waits for an
    /// answer.
    fn may_stand_at(&self, pc: u32) -> bool {
        let Some(commit) = self.case.commits.get(self.at) else { return false };
        let (opcode, funct3) = (commit.insn & 0x7F, commit.insn >> 12 & 7);
        let divides = opcode == 0x33 && commit.insn >> 25 == 1 && funct3 > 3;
        let waits = divides || opcode == 0x2F || opcode == 0x03 && commit.load.is_some_and(|at| at >> 28 == CONTEXT);
        let after = self.case.commits.get(self.at + 1).map_or(RETURN_ADDRESS, |next| next.pc);
        self.may_be_stopped() && (pc == commit.pc || waits && pc == after)
    }

    /// Compares an instruction that the watchdog stops.
    fn trap(&self, retired: &Retired, folder: &Path) {
        let nothing = retired.halt && retired.rd.0 == 0 && retired.write_mask == 0;
        if !(self.may_stand_at(retired.pc) && nothing) {
            self.fail(&format!("a trap: expected {:x?}, retired {retired:x?}", self.case.commits.get(self.at)), folder);
        }
    }

    /// Compares the ending of a handler whose budget was used up.
    fn stopped(&self, ending: &Ending, folder: &Path) {
        let in_time = ending.cycles <= self.case.start.watchdog + MOST_LATE;
        if !(self.may_stand_at(ending.pc) && ending.address == ending.pc && in_time) {
            self.fail(&format!("it ends by {ending:x?} in front of {:x?}", self.case.commits.get(self.at)), folder);
        }
    }

    /// Compares an instruction.
    fn retire(&mut self, retired: &Retired, folder: &Path) {
        if let Some(complaint) = self.complaint(retired) {
            self.fail(
                &format!("{complaint}: expected {:x?}, retired {retired:x?}", self.case.commits.get(self.at)),
                folder,
            );
        }
        if let Some((rd, _)) = self.case.commits[self.at].rd.filter(|_| !retired.halt) {
            // The link of the return comes after the return code has been read.
            self.registers[rd as usize] = retired.rd.1;
        }
        self.at += 1;
    }

    /// Gives up; the program stays in the folder.
    fn fail(&self, why: &str, folder: &Path) -> ! {
        let path = folder.with_file_name(format!("lockstep-{}.hex", self.case.seed));
        let text: String = self.case.words.iter().map(|word| format!("{word:08x}\n")).collect();
        std::fs::write(&path, text).expect("the target folder can be written");
        let from = self.at.saturating_sub(12);
        for commit in &self.case.commits[from..self.at.min(self.case.commits.len())] {
            eprintln!("before: {commit:x?}");
        }
        panic!(
            "handler {} (seed {}), instruction {} of {}: {why}; program in {}",
            self.case.start.frame,
            self.case.seed,
            self.at,
            self.case.commits.len(),
            path.display()
        );
    }
}

/// The comparison of a batch.
struct Bench<'a> {
    hart: Hart,
    folder: &'a Path,
    waiting: Vec<Option<Case>>,
    /// By thread: handlers whose first instruction has been fetched and not retired.
    begun: [VecDeque<usize>; 2],
    running: [Option<Progress>; 2],
    ended: Vec<Progress>,
    orders: [Option<u64>; 2],
    /// What L1 and L2 have to be once nothing runs.
    l1: Vec<u8>,
    l2: Vec<u8>,
    /// Instructions by thread.
    compared: [usize; 2],
    /// Kinds of instructions that have retired.
    kinds: HashSet<(u32, u32, u32)>,
    /// Handlers that the watchdog has ended.
    stopped: usize,
    finished: [bool; BATCH],
}

impl Bench<'_> {
    fn begin(&mut self, case: Case) {
        let Case { start, words, memory, .. } = &case;
        let hart = &mut self.hart;
        hart.program((start.code_base + spike::FIRST_CODE) as usize, words);
        for (bytes, at) in [(&memory.packet, start.packet.0), (&memory.scratch, start.scratch.0)] {
            hart.l1[at as usize..][..bytes.len()].copy_from_slice(bytes);
            self.l1[at as usize..][..bytes.len()].copy_from_slice(bytes);
        }
        hart.l2[start.state.0 as usize..][..memory.context.len()].copy_from_slice(&memory.context);
        self.l2[start.state.0 as usize..][..memory.context.len()].copy_from_slice(&memory.context);
        hart.queue(start.clone());
        self.waiting.push(Some(case));
    }

    /// The next handler's place is free: the one that had it has ended.
    fn may_begin(&self) -> bool {
        let next = self.waiting.len();
        next < PLACES || self.finished[next - PLACES]
    }

    fn step(&mut self) {
        let begins = self.hart.begins.len();
        let endings = self.hart.endings.len();
        self.hart.step();
        for i in begins..self.hart.begins.len() {
            let event = self.hart.begins[i];
            let frame = event.frame as usize;
            let case = self.waiting[frame].as_ref().expect("a handler begins once");
            self.hart.remote.sc_script[event.thread] = sc_outcomes(&case.commits);
            self.begun[event.thread].push_back(frame);
        }
        for retired in std::mem::take(&mut self.hart.retired) {
            self.retire(&retired);
        }
        if self.hart.endings.len() > endings {
            self.end(endings);
        }
    }

    fn retire(&mut self, retired: &Retired) {
        let thread = retired.thread;
        if let Some(order) = self.orders[thread].replace(retired.order) {
            assert_eq!(retired.order, order + 1, "instructions of a thread are counted: {retired:x?}");
        }
        if retired.intr {
            let frame = self.begun[thread].pop_front().expect("a handler begins before its first instruction retires");
            let case = self.waiting[frame].take().expect("a handler begins once");
            // One that was stopped while it waited for an answer says nothing here.
            self.ended.extend(self.running[thread].take_if(|progress| progress.may_be_stopped()));
            assert!(self.running[thread].is_none(), "a handler begins before its predecessor has ended");
            self.running[thread] = Some(Progress::new(case));
        }
        let progress = self.running[thread].as_mut().unwrap_or_else(|| panic!("no handler runs: {retired:x?}"));
        if retired.trap {
            progress.trap(retired, self.folder);
            self.ended.extend(self.running[thread].take());
            return;
        }
        progress.retire(retired, self.folder);
        self.compared[thread] += 1;
        self.kinds.insert(kind(retired.insn));
        if retired.halt {
            self.ended.extend(self.running[thread].take());
        }
    }

    /// Compares an ending and what the handler left in memory.
    fn end(&mut self, index: usize) {
        let ending = self.hart.endings[index];
        let bank = ending.bank;
        // Handlers of the two threads may end in any order; the bank says which it was.
        let frame = self.hart.begins.iter().rev().find(|event| event.bank == bank).expect("it has begun").frame;
        let is_it = |progress: &Progress| progress.case.start.frame == frame;
        let mut progress = match self.ended.iter().position(is_it) {
            Some(at) => self.ended.swap_remove(at),
            None => {
                let thread = self.running.iter().position(|running| running.as_ref().is_some_and(is_it));
                self.running[thread.expect("its first instruction has retired")].take().expect("it runs")
            }
        };
        let code = progress.registers[10] as u8;
        if ending.cause == FAULT_WATCHDOG {
            progress.stopped(&ending, self.folder);
            self.stopped += 1;
        } else if (ending.cause, ending.code, progress.at) != (0, code, progress.case.commits.len()) {
            progress.fail(&format!("it should return {code}: {ending:x?}"), self.folder);
        }
        let (stack, task) = self.hart.bank_memory(bank);
        let (done, rest) = progress.case.commits.split_at(progress.at);
        let mut stores: Vec<_> = done.iter().filter_map(|commit| commit.store).collect();
        // An atomic whose handler was stopped may have been done.
        if let Some(store) = rest.first().filter(|next| next.insn & 0x7F == 0x2F).and_then(|next| next.store) {
            let (far, at) = progress.case.physical(store.0, stack);
            let memory = if far { &self.hart.l2 } else { &self.hart.l1 };
            stores.extend((memory[at..at + 4] == store.1.to_le_bytes()).then_some(store));
        }
        for (address, value, bytes) in stores {
            let bytes = usize::from(bytes);
            progress.case.memory.at(address, bytes).copy_from_slice(&value.to_le_bytes()[..bytes]);
        }
        self.finished[usize::from(frame)] = true;
        let Case { start, memory, .. } = &progress.case;
        for (name, expected, at, far) in [
            ("packet", &memory.packet[..], start.packet.0 as usize, false),
            ("scratchpad", &memory.scratch, start.scratch.0 as usize, false),
            ("stack", &memory.stack, stack, false),
            ("task page", &start.task, task, false),
            ("state", &memory.context, start.state.0 as usize, true),
        ] {
            let (found, shadow) = if far { (&self.hart.l2, &mut self.l2) } else { (&self.hart.l1, &mut self.l1) };
            shadow[at..at + expected.len()].copy_from_slice(expected);
            if let Some(i) = (0..expected.len()).find(|i| found[at + i] != expected[*i]) {
                progress.fail(&format!("{name}[{i:#x}] is {:#x}, not {:#x}", found[at + i], expected[i]), self.folder);
            }
        }
    }
}

/// How unkind the surroundings of a batch are.
fn timing(rng: &mut ChaCha8Rng, batch: usize) -> Timing {
    match batch % 4 {
        0 => Timing::BUSY,
        1 => Timing { remote: (1, rng.random_range(2..100)), ..Timing::IDLE },
        2 => Timing { l1_denied: rng.random_range(1..200), remote_denied: rng.random_range(0..200), ..Timing::BUSY },
        _ => Timing { remote: (1, 3), ..Timing::IDLE },
    }
}

/// What a batch has compared.
#[derive(Default)]
struct Compared {
    instructions: usize,
    kinds: HashSet<(u32, u32, u32)>,
    /// Handlers that the watchdog has ended.
    stopped: usize,
    programs: HashSet<Vec<u32>>,
}

impl Compared {
    fn add(&mut self, other: Compared) {
        self.instructions += other.instructions;
        self.stopped += other.stopped;
        self.kinds.extend(other.kinds);
        self.programs.extend(other.programs);
    }
}

/// Prints how a batch that fails is repeated without those before it.
struct Repetition(usize);

impl Drop for Repetition {
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("{}: add SPINDLE_BATCH={} to run this batch alone", batch_name(self.0), self.0);
        }
    }
}

/// Runs a batch.
fn batch(spike: &Path, folder: &Path, number: usize) -> Compared {
    let found = std::cell::Cell::default();
    let _repetition = Repetition(number);
    run_with_wave_on_failure(&batch_name(number), |context| {
        let seed = context.seed();
        std::thread::scope(|scope| {
            let (send, receive) = sync_channel(PLACES);
            scope.spawn(move || {
                // It ends early if the comparison has failed.
                let mut cases = (0..BATCH).map(|index| case(spike, folder, case_seed(seed, index), index));
                cases.by_ref().all(|case| send.send(case).is_ok());
            });
            let mut rng = context.rng();
            let mut hart = hart(context, number % 4);
            hart.timing = timing(&mut rng, number);
            hart.l1 = random_bytes(&mut rng, hart.l1.len());
            hart.l2 = random_bytes(&mut rng, hart.l2.len());
            let (l1, l2) = (hart.l1.clone(), hart.l2.clone());
            let mut bench = Bench {
                hart,
                folder,
                waiting: vec![],
                begun: Default::default(),
                running: Default::default(),
                ended: vec![],
                orders: [None; 2],
                l1,
                l2,
                compared: [0; 2],
                kinds: HashSet::new(),
                stopped: 0,
                finished: [false; BATCH],
            };
            let mut programs = HashSet::new();
            let mut patience = 0;
            while bench.hart.endings.len() < BATCH {
                if bench.waiting.len() < BATCH && bench.may_begin() {
                    let case = receive.recv().expect("the reference simulator runs every program");
                    programs.insert(case.words.clone());
                    bench.begin(case);
                }
                let before = bench.compared;
                bench.step();
                patience = if bench.compared > before { 0 } else { patience + 1 };
                assert!(patience < 20_000, "nothing retires any more");
            }
            assert!(bench.hart.l1 == bench.l1, "L1 is changed where no one wrote");
            assert!(bench.hart.l2 == bench.l2, "L2 is changed where no one wrote");
            let total: usize = bench.compared.iter().sum();
            // What waited for its answer when the watchdog came has been counted and did not retire.
            let pulses = bench.hart.instructions as usize;
            assert!((total..=total + bench.stopped).contains(&pulses), "{pulses} pulses of `retired`, {total} retired");
            assert!(bench.compared.iter().all(|count| *count > total / 8), "one thread has little to do");
            found.set(Compared { instructions: total, kinds: bench.kinds, stopped: bench.stopped, programs });
        });
    });
    found.take()
}

#[test]
fn every_instruction_agrees_with_the_reference_simulator() {
    let Some(spike) = spike::find() else {
        return skip(&format!("there is no spike; {}", spike::INSTALL));
    };
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("lockstep-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("the target folder can be written");
    if let Ok(only) = std::env::var("SPINDLE_BATCH") {
        let number = only.parse().unwrap_or_else(|_| panic!("SPINDLE_BATCH={only} is no batch; give a number"));
        println!("batch {number}: {} instructions compared", batch(&spike, &folder, number).instructions);
        std::fs::remove_dir_all(&folder).expect("the target folder can be written");
        return;
    }
    let all = RefCell::new(Compared::default());
    with_seeds(|| {
        let mut of_seed = Compared::default();
        for number in 0.. {
            of_seed.add(batch(&spike, &folder, number));
            assert_eq!(of_seed.programs.len(), BATCH * (number + 1), "programs were compared more than once");
            if of_seed.instructions >= share(INSTRUCTIONS) {
                break;
            }
        }
        all.borrow_mut().add(of_seed);
    });
    let all = all.into_inner();
    println!("{} instructions compared; the watchdog ended {} handlers", all.instructions, all.stopped);
    // One seed alone need not meet everything.
    if all.instructions >= INSTRUCTIONS {
        let absent: Vec<_> = all_kinds().into_iter().filter(|word| !all.kinds.contains(&kind(*word))).collect();
        assert!(absent.is_empty(), "never executed: {absent:08x?}");
        assert!(all.stopped > 10, "the watchdog ended only {} handlers", all.stopped);
    }
    std::fs::remove_dir_all(&folder).expect("the target folder can be written");
}

#[test]
fn every_batch_has_programs_of_its_own() {
    for variation in [0, 1, 42] {
        let batches = (0..20).map(|number| seed_of(&batch_name(number), variation));
        let programs: HashSet<Vec<u32>> = batches
            .flat_map(|seed| (0..BATCH).map(move |index| task_and_program(case_seed(seed, index), index).2))
            .collect();
        assert_eq!(programs.len(), 20 * BATCH, "SPINDLE_SEED={variation}");
    }
}
