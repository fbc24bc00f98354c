//! The bench itself: ports, memories, one cycle.

use super::events::{Ending, HandlerEvent};
use super::loader::{stack_at, task_at, Loader, Start, STACK_BYTES};
use super::port::{CommandPort, Verdict};
use super::remote::Remote;
use super::timing::Timing;
use anyhow::Result;
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;
use spindle_contract::memory_map::{base, CODE, FAULT_WATCHDOG};
use spindle_contract::params::L1_BYTES;
use spindle_harness::{Model, Port};
use spindle_sim::fields::Packer;
use spindle_sim::fields::Reader;
use spindle_sim::Retired;
use std::collections::VecDeque;

/// Bytes of instruction memory of the bench.
pub const CODE_BYTES: usize = 64 << 10;
/// Bytes of L2 of the bench.
pub const L2_BYTES: usize = 64 << 10;
/// Longest time between two endings, unless the bench says otherwise.
const PATIENCE: u64 = 200_000;

struct Ports {
    number: Port,
    cycle: Port,
    launch: Port,
    launch_valid: Port,
    launch_ready: Port,
    launch_bank: Port,
    region_write: Port,
    region_index: Port,
    region: Port,
    fetch_address: Port,
    fetch_enable: Port,
    fetch_data: Port,
    code_address: Port,
    code_valid: Port,
    code_ready: Port,
    code_data: Port,
    l1_request: [Port; 2],
    l1_valid: [Port; 2],
    l1_grant: [Port; 2],
    l1_data: [Port; 2],
    remote: Port,
    remote_valid: Port,
    remote_ready: Port,
    answer: Port,
    answer_valid: Port,
    port: Port,
    port_write: Port,
    port_read: Port,
    port_data: Port,
    issue_done: Port,
    issue_refused: Port,
    issue_full: Port,
    port_full: Port,
    port_pending: Port,
    ending: Port,
    ending_valid: Port,
    ending_ready: Port,
    busy: Port,
    retired: Port,
    begins: Port,
    begin_thread: Port,
    begin_bank: Port,
    begin_frame: Port,
    ends: Port,
    end_thread: Port,
    end_frame: Port,
    /// The retirement port, if the processor has it.
    rvfi: Option<Port>,
}

impl Ports {
    fn find(model: &Model) -> Result<Ports> {
        let port = |name: &str| model.port(name);
        let halves =
            |name: &str| -> Result<[Port; 2]> { Ok([port(&name.replace("*", "0"))?, port(&name.replace("*", "1"))?]) };
        Ok(Ports {
            number: port("number")?,
            cycle: port("cycle")?,
            launch: port("launch")?,
            launch_valid: port("launch_valid")?,
            launch_ready: port("launch_ready")?,
            launch_bank: port("launch_bank")?,
            region_write: port("region_write")?,
            region_index: port("region_index")?,
            region: port("region")?,
            fetch_address: port("fetch_address")?,
            fetch_enable: port("fetch_enable")?,
            fetch_data: port("fetch_data")?,
            code_address: port("code_address")?,
            code_valid: port("code_valid")?,
            code_ready: port("code_ready")?,
            code_data: port("code_data")?,
            l1_request: halves("l1_*")?,
            l1_valid: halves("l1_*_valid")?,
            l1_grant: halves("l1_*_grant")?,
            l1_data: halves("l1_*_data")?,
            remote: port("remote")?,
            remote_valid: port("remote_valid")?,
            remote_ready: port("remote_ready")?,
            answer: port("answer")?,
            answer_valid: port("answer_valid")?,
            port: port("port")?,
            port_write: port("port_write")?,
            port_read: port("port_read")?,
            port_data: port("port_data")?,
            issue_done: port("issue_done")?,
            issue_refused: port("issue_refused")?,
            issue_full: port("issue_full")?,
            port_full: port("port_full")?,
            port_pending: port("port_pending")?,
            ending: port("ending")?,
            ending_valid: port("ending_valid")?,
            ending_ready: port("ending_ready")?,
            busy: port("busy")?,
            retired: port("retired")?,
            begins: port("begin_valid")?,
            begin_thread: port("begin_thread")?,
            begin_bank: port("begin_bank")?,
            begin_frame: port("begin_frame")?,
            ends: port("ends")?,
            end_thread: port("end_thread")?,
            end_frame: port("end_frame")?,
            rvfi: port("rvfi_0").ok(),
        })
    }
}

/// A read under way in a memory with an output register: data two cycles after the request.
#[derive(Default)]
struct TwoCycles {
    array: u32,
    output: u32,
}

impl TwoCycles {
    fn advance(&mut self, word: u32) {
        self.output = std::mem::replace(&mut self.array, word);
    }
}

/// One processor on its bench.
pub struct Hart {
    /// The model.
    pub model: Model,
    /// Instruction memory.
    pub code: Vec<u32>,
    /// L1.
    pub l1: Vec<u8>,
    /// L2.
    pub l2: Vec<u8>,
    /// How unkind the surroundings are.
    pub timing: Timing,
    /// What is after the remote port.
    pub remote: Remote,
    /// The command port.
    pub commands: CommandPort,
    /// Endings that were taken.
    pub endings: Vec<Ending>,
    /// Instructions that retired; whoever reads them may clear them.
    pub retired: Vec<Retired>,
    /// Keep `retired`.
    pub keep_retired: bool,
    /// Words of instruction memory that are read, with the cycle, if they are asked for.
    pub fetches: Option<Vec<(u64, u32)>>,
    /// First fetches.
    pub begins: Vec<HandlerEvent>,
    /// Ends.
    pub ends: Vec<HandlerEvent>,
    /// Pulses of `retired`.
    pub instructions: u64,
    /// Cycles of `busy`.
    pub busy_cycles: u64,
    /// Longest time between two endings.
    pub patience: u64,
    loader: Loader,
    hpu: usize,
    ports: Ports,
    rng: ChaCha8Rng,
    fetch: TwoCycles,
    data: TwoCycles,
    halves: [TwoCycles; 2],
    port_data: u32,
    launch_bank: Option<u64>,
    ending: Option<Vec<u8>>,
    /// By thread: instructions of its handler on the retirement port.
    of_thread: [u32; 2],
    /// Instructions of ended handlers, before the one that ended each: by the retirement port, and as reported.
    counted: VecDeque<u32>,
    reported: VecDeque<Ending>,
}

/// Bits of the offset in the code region that a program counter has.
const CODE_BITS: u32 = 17;

/// Whether a program counter can hold the address.
fn is_code(address: u32) -> bool {
    address >> CODE_BITS == base(CODE) >> CODE_BITS
}

impl Hart {
    /// A processor after reset, number `hpu` of its cluster.
    pub fn new(mut model: Model, seed: u64, hpu: usize) -> Result<Hart> {
        let ports = Ports::find(&model)?;
        model.set(ports.number, hpu as u64);
        model.reset(4);
        Ok(Hart {
            model,
            code: vec![0; CODE_BYTES / 4],
            l1: vec![0; L1_BYTES],
            l2: vec![0; L2_BYTES],
            timing: Timing::IDLE,
            remote: Remote::default(),
            commands: CommandPort::default(),
            endings: vec![],
            retired: vec![],
            keep_retired: true,
            fetches: None,
            begins: vec![],
            ends: vec![],
            instructions: 0,
            busy_cycles: 0,
            patience: PATIENCE,
            loader: Loader::new(hpu),
            hpu,
            ports,
            rng: ChaCha8Rng::seed_from_u64(seed),
            fetch: TwoCycles::default(),
            data: TwoCycles::default(),
            halves: Default::default(),
            port_data: 0,
            launch_bank: None,
            ending: None,
            of_thread: [0; 2],
            counted: VecDeque::new(),
            reported: VecDeque::new(),
        })
    }

    /// Puts a program at a byte offset of instruction memory.
    pub fn program(&mut self, at: usize, words: &[u32]) {
        self.code[at / 4..][..words.len()].copy_from_slice(words);
    }

    /// Appends a handler to those that wait.
    pub fn queue(&mut self, start: Start) {
        self.loader.queue.push_back(start);
    }

    /// L1 addresses of the stack of a bank, and of its task page.
    pub fn bank_memory(&self, bank: usize) -> (usize, usize) {
        (stack_at(self.hpu, bank), task_at(self.hpu, bank))
    }

    /// Bytes of a stack.
    pub const fn stack_bytes() -> u32 {
        STACK_BYTES
    }

    /// Bank of the launch that is being made ready or that is offered.
    pub fn bank_of_next(&self) -> Option<usize> {
        self.loader.next.as_ref().map(|next| next.0)
    }

    /// One cycle.
    pub fn step(&mut self) {
        let now = self.model.cycle();
        self.drive_loader();
        self.drive_memories(now);
        self.drive_port(now);
        self.model.eval();
        let grants = self.grant_l1();
        self.model.eval();
        self.sample_memories(now, grants);
        self.sample_remote(now);
        self.sample_port(now);
        self.sample_launch();
        self.sample_events(now);
        self.sample_ending(now);
        self.model.tick();
    }

    fn drive_loader(&mut self) {
        let (model, ports) = (&mut self.model, &self.ports);
        match self.loader.entries.pop_front() {
            Some((index, area)) => {
                model.set(ports.region_write, 1);
                model.set(ports.region_index, index as u64);
                model.set_bytes(ports.region, &area.bytes());
                model.set(ports.launch_valid, 0);
            }
            None => {
                model.set(ports.region_write, 0);
                match self.loader.offered() {
                    Some(start) => {
                        model.set_bytes(ports.launch, &start.launch());
                        model.set(ports.launch_valid, 1);
                    }
                    None => model.set(ports.launch_valid, 0),
                }
            }
        }
    }

    fn drive_memories(&mut self, now: u64) {
        let (model, ports, rng) = (&mut self.model, &self.ports, &mut self.rng);
        model.set(ports.cycle, now);
        model.set(ports.fetch_data, self.fetch.output.into());
        model.set(ports.code_data, self.data.output.into());
        model.set(ports.code_ready, (!Timing::chance(rng, self.timing.code_denied)).into());
        for half in 0..2 {
            model.set(ports.l1_data[half], self.halves[half].output.into());
            model.set(ports.l1_grant[half], 0);
        }
        model.set(ports.remote_ready, (!Timing::chance(rng, self.timing.remote_denied)).into());
        match self.remote.step(now, &mut self.l1, &mut self.l2, rng) {
            Some(answer) => {
                let (thread, write) = (answer.thread as u64, u64::from(answer.write));
                let bytes = Packer::default().field(thread, 1).field(write, 1).field(answer.data.into(), 32).bytes();
                model.set_bytes(ports.answer, &bytes);
                model.set(ports.answer_valid, 1);
            }
            None => model.set(ports.answer_valid, 0),
        }
    }

    fn drive_port(&mut self, now: u64) {
        let (model, ports) = (&mut self.model, &self.ports);
        let pulse = self.commands.pulse(now);
        model.set(ports.issue_done, (pulse == Some(Verdict::Done)).into());
        model.set(ports.issue_refused, (pulse == Some(Verdict::Refused)).into());
        model.set(ports.issue_full, (pulse == Some(Verdict::Full)).into());
        model.set(ports.port_full, self.commands.is_full(now).into());
        model.set(ports.port_pending, self.commands.pending(now));
        model.set(ports.port_data, self.port_data.into());
        // An atomic of a handler that was stopped is done before anybody is reported: no atomic unit takes longer than a report.
        let ending_ready = !Timing::chance(&mut self.rng, self.timing.ending_denied) && !self.remote.modifies();
        model.set(ports.ending_ready, ending_ready.into());
    }

    /// Grants what is wanted and not denied.
    fn grant_l1(&mut self) -> [bool; 2] {
        let mut grants = [false; 2];
        for (half, grant) in grants.iter_mut().enumerate() {
            *grant =
                self.model.is_set(self.ports.l1_valid[half]) && !Timing::chance(&mut self.rng, self.timing.l1_denied);
            self.model.set(self.ports.l1_grant[half], (*grant).into());
        }
        grants
    }

    fn sample_memories(&mut self, now: u64, grants: [bool; 2]) {
        let (model, ports) = (&self.model, &self.ports);
        let noise: u32 = self.rng.random();
        if model.is_set(ports.fetch_enable) {
            let address = model.get(ports.fetch_address);
            self.fetch.advance(self.code[address as usize]);
            if let Some(fetches) = &mut self.fetches {
                fetches.push((now, address as u32));
            }
        }
        let reads = model.is_set(ports.code_valid) && model.is_set(ports.code_ready);
        self.data.advance(if reads { self.code[model.get(ports.code_address) as usize] } else { noise });
        for (half, grant) in grants.into_iter().enumerate() {
            let mut word = noise.rotate_left(8);
            if grant {
                let mut request = Reader::new(model.get_bytes(ports.l1_request[half]));
                let at = (request.field(13) as usize) << 3 | half << 2;
                let (offset, size_less_one) = (request.field(3) as usize, request.field(2) as usize);
                let (data, _shared, write) = (request.word(), request.bit(), request.bit());
                if write {
                    for (byte, value) in bytes_of_half(half, offset, size_less_one, data) {
                        self.l1[at + byte] = value;
                    }
                } else {
                    word = u32::from_le_bytes(self.l1[at..at + 4].try_into().expect("four bytes"));
                }
            }
            self.halves[half].advance(word);
        }
    }

    fn sample_remote(&mut self, now: u64) {
        let (model, ports) = (&self.model, &self.ports);
        if model.is_set(ports.remote_valid) {
            let taken = model.is_set(ports.remote_ready);
            self.remote.offered(model.get_bytes(ports.remote), taken, now, &self.timing, &mut self.rng);
        } else {
            self.remote.idle();
        }
    }

    fn sample_port(&mut self, now: u64) {
        let (model, ports) = (&self.model, &self.ports);
        let (write, read) = (model.is_set(ports.port_write), model.is_set(ports.port_read));
        assert!(!(write && read), "the command port is read and written at once");
        self.port_data = self.rng.random();
        if write || read {
            let bytes = model.get_bytes(ports.port);
            let word = self.commands.access(bytes, write, now, &self.timing, &mut self.rng);
            if read {
                self.port_data = word;
            }
        }
    }

    fn sample_launch(&mut self) {
        let (model, ports) = (&self.model, &self.ports);
        let (ready, bank) = (model.is_set(ports.launch_ready), model.get(ports.launch_bank));
        if let Some(before) = self.launch_bank.filter(|_| ready) {
            assert_eq!(before, bank, "launch_bank changes before a launch is taken");
        }
        self.launch_bank = ready.then_some(bank);
        if ready && self.loader.offered().is_some() && model.is_set(ports.launch_valid) {
            let (promised, _) = self.loader.next.take().expect("a launch is offered");
            assert_eq!(promised as u64, bank, "a launch is taken for another bank");
            self.launch_bank = None;
        } else if ready && self.loader.entries.is_empty() {
            let (stack, task) = (stack_at(self.hpu, bank as usize), task_at(self.hpu, bank as usize));
            if let Some(start) = self.loader.begin(bank as usize) {
                self.l1[task..task + start.task.len()].copy_from_slice(&start.task);
                if let Some(bytes) = &start.stack {
                    self.l1[stack..stack + bytes.len()].copy_from_slice(bytes);
                }
            }
        }
    }

    fn sample_events(&mut self, now: u64) {
        let (model, ports) = (&self.model, &self.ports);
        self.instructions += u64::from(model.is_set(ports.retired));
        self.busy_cycles += u64::from(model.is_set(ports.busy));
        if model.is_set(ports.begins) {
            let thread = model.get(ports.begin_thread) as usize;
            let (bank, frame) = (model.get(ports.begin_bank) as usize, model.get(ports.begin_frame) as u16);
            self.begins.push(HandlerEvent { cycle: now, thread, bank, frame });
            self.commands.begin(thread);
        }
        if model.is_set(ports.ends) {
            let (thread, frame) = (model.get(ports.end_thread) as usize, model.get(ports.end_frame) as u16);
            self.ends.push(HandlerEvent { cycle: now, thread, bank: 0, frame });
        }
        if let Some(retired) = ports.rvfi.and_then(|rvfi| Retired::from_port(model.get_bytes(rvfi), now, 0)) {
            let count = &mut self.of_thread[retired.thread];
            if retired.intr {
                *count = 0;
            }
            if retired.halt {
                // A jump to half a word traps here. The processor carries it out and faults at what stands there, unless the
                // target is out of the code: then the jump itself faults.
                let goes_askew = retired.pc & 2 == 0 && retired.next_pc & 2 != 0 && is_code(retired.next_pc);
                self.counted.push_back(*count + u32::from(goes_askew));
            }
            *count += 1;
            if self.keep_retired {
                self.retired.push(retired);
            }
        }
    }

    fn sample_ending(&mut self, now: u64) {
        let (model, ports) = (&self.model, &self.ports);
        if !model.is_set(ports.ending_valid) {
            assert!(self.ending.is_none(), "an ending is withdrawn");
            return;
        }
        let bytes = model.get_bytes(ports.ending).to_vec();
        if let Some(before) = self.ending.take() {
            assert_eq!(before, bytes, "an ending changes while it waits");
        }
        if !model.is_set(ports.ending_ready) {
            self.ending = Some(bytes);
            return;
        }
        let ending = Ending::from_port(&bytes, now);
        assert!(std::mem::take(&mut self.loader.taken[ending.bank]), "bank {} ends twice", ending.bank);
        self.endings.push(ending);
        if self.ports.rvfi.is_some() {
            self.reported.push_back(ending);
        }
        self.compare_counts();
    }

    /// The processor's count of each handler is that of its retirement port, which is some cycles later. An instruction
    /// whose answer the watchdog did not wait for is counted, and has no record there.
    fn compare_counts(&mut self) {
        while let (Some(counted), Some(ending)) = (self.counted.front(), self.reported.front()) {
            let unanswered = u32::from(ending.cause == FAULT_WATCHDOG && ending.instructions == counted + 1);
            assert_eq!(counted + unanswered, ending.instructions, "instructions before the end of {ending:?}");
            self.counted.pop_front();
            self.reported.pop_front();
        }
    }

    /// So many cycles.
    pub fn steps(&mut self, cycles: u64) {
        for _ in 0..cycles {
            self.step();
        }
    }

    /// Runs until so many handlers have ended since the bench began.
    pub fn run_until(&mut self, endings: usize) {
        let mut limit = self.model.cycle() + self.patience;
        let mut seen = self.endings.len();
        while self.endings.len() < endings {
            assert!(self.model.cycle() < limit, "no ending after {} cycles", self.patience);
            self.step();
            if self.endings.len() > seen {
                (seen, limit) = (self.endings.len(), self.model.cycle() + self.patience);
            }
        }
    }

    /// Runs one handler to its end.
    pub fn run(&mut self, start: Start) -> Ending {
        self.queue(start);
        self.run_until(self.endings.len() + 1);
        *self.endings.last().expect("one has ended")
    }

    /// Runs a program that stands at offset 0 of its image, alone.
    pub fn run_program(&mut self, words: &[u32]) -> Ending {
        self.program(0, words);
        self.run(Start::default())
    }

    /// A word of L2.
    pub fn l2_word(&self, at: usize) -> u32 {
        u32::from_le_bytes(self.l2[at..at + 4].try_into().expect("four bytes"))
    }
}

/// Bytes of a store that lie in the word of this half port, each with its place in the word: the store has `size_less_one` +
/// 1 bytes of `data` and begins at `offset`, the address bits 2:0. What goes beyond the odd word lies in the next row's even
/// one.
pub fn bytes_of_half(half: usize, offset: usize, size_less_one: usize, data: u32) -> impl Iterator<Item = (usize, u8)> {
    let bytes = data.to_le_bytes().into_iter().take(size_less_one + 1).enumerate();
    bytes
        .map(move |(i, byte)| (offset + i, byte))
        .filter(move |(at, _)| at / 4 % 2 == half)
        .map(|(at, byte)| (at % 4, byte))
}
