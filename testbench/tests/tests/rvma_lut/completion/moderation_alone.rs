//! The moderation alone, against a model that visits one process after the other: all processes, any settings, pointers and
//! times. Its interrupts are compared in each cycle.

use rand::Rng;
use rand_chacha::ChaCha8Rng;
use rvma_lut::completion::moderation::Moderation;
use spindle_contract::registers::doorbell;
use spindle_harness::{run_with_wave_on_failure, share, Dut, WaveContext};
use spindle_verilog::prelude::*;
use std::collections::VecDeque;

const PROCESSES: usize = 64;
/// Cycles of a unit of time.
const UNIT: u64 = 64;

/// What is known of a process.
#[derive(Clone, Copy, Debug, Default)]
struct Process {
    enable: bool,
    delay: u16,
    events: u16,
    head: u16,
    tail: u16,
    armed: bool,
    /// Time at which the interrupt fires, since a record was unread.
    due: Option<u16>,
}

/// Inputs of a cycle.
#[derive(Clone, Copy, Debug, Default)]
struct Inputs {
    head: Option<(usize, u16, bool)>,
    settings: Option<(usize, u32)>,
    answered: Option<usize>,
    ring_set: Option<usize>,
    open: u64,
}

/// A process that is visited; `seen` is read one cycle before the decision.
#[derive(Clone, Copy, Debug)]
struct Visit {
    pid: usize,
    arms: bool,
    seen: Option<(Process, bool, u16)>,
}

struct Model {
    processes: [Process; PROCESSES],
    /// Inputs of the cycle before.
    before: Inputs,
    visits: VecDeque<Visit>,
    turn: usize,
    fires: Option<usize>,
    cycle: u64,
}

impl Model {
    fn new() -> Self {
        Model {
            processes: [Process::default(); PROCESSES],
            before: Inputs::default(),
            visits: VecDeque::new(),
            turn: 0,
            fires: None,
            cycle: 0,
        }
    }

    /// One cycle; says whose interrupt fires in it.
    fn step(&mut self, inputs: Inputs) -> Option<usize> {
        let fires = self.fires.take();
        let now = (self.cycle / UNIT) as u16;
        if self.visits.len() == 2 {
            let visit = self.visits.pop_front().unwrap();
            self.fires = self.decide(visit, now);
        }
        if let Some(visit) = self.visits.back_mut() {
            let process = self.processes[visit.pid];
            let due = now.wrapping_add(process.delay);
            visit.seen = Some((process, inputs.open >> visit.pid & 1 != 0, due));
        }
        let before = std::mem::replace(&mut self.before, inputs);
        let arms = before.head.filter(|head| head.2).map(|head| head.0);
        let pid = arms.or(before.answered).unwrap_or_else(|| {
            self.turn += 1;
            (self.turn - 1) % PROCESSES
        });
        self.visits.push_back(Visit { pid, arms: arms.is_some(), seen: None });
        if let Some(pid) = before.answered {
            let tail = &mut self.processes[pid].tail;
            *tail = tail.wrapping_add(1);
        }
        if let Some(pid) = before.ring_set {
            self.processes[pid].tail = 0;
        }
        if let Some((pid, head, _)) = inputs.head {
            self.processes[pid].head = head;
        }
        if let Some((pid, word)) = inputs.settings {
            let process = &mut self.processes[pid];
            let irq = doorbell::Irq(word);
            process.enable = irq.enable();
            process.delay = irq.time() as u16;
            process.events = irq.events() as u16;
        }
        self.cycle += 1;
        fires
    }

    fn decide(&mut self, visit: Visit, now: u16) -> Option<usize> {
        let (seen, open, due) = visit.seen.expect("a process that was read");
        let unread = seen.tail.wrapping_sub(seen.head);
        let process = &mut self.processes[visit.pid];
        process.armed |= visit.arms;
        let enough = unread >= seen.events;
        let late = seen.delay > 0 && process.due.is_some_and(|due| now.wrapping_sub(due) < 1 << 15);
        let fires = seen.enable && open && process.armed && unread > 0 && (visit.arms || enough || late);
        process.armed &= !fires;
        process.due = if process.armed && unread > 0 { process.due.or(Some(due)) } else { None };
        fires.then_some(visit.pid)
    }
}

/// Drives the inputs and compares the interrupt; returns it.
fn step(dut: &Dut<Moderation>, model: &mut Model, inputs: Inputs) -> Option<usize> {
    dut.head.valid.set(inputs.head.is_some());
    if let Some((pid, head, arm)) = inputs.head {
        dut.head.payload.set(bits(u64::from(head)));
        dut.head.pid.set(bits(pid as u64));
        dut.arm.set(arm);
    }
    dut.settings.valid.set(inputs.settings.is_some());
    if let Some((pid, word)) = inputs.settings {
        dut.settings.payload.set(bits(u64::from(word)));
        dut.settings.pid.set(bits(pid as u64));
    }
    dut.answered.offer(inputs.answered.map(|pid| bits(pid as u64)));
    dut.ring_set.set(inputs.ring_set.is_some());
    if let Some(pid) = inputs.ring_set {
        dut.ring_pid.set(bits(pid as u64));
    }
    dut.open.set(bits(inputs.open));
    dut.eval();
    let found = dut.irq_fires.valid.is_high().then(|| dut.irq_fires.payload.number() as usize);
    let expected = model.step(inputs);
    assert_eq!(found, expected, "cycle {} after the reset, {inputs:x?}", model.cycle);
    dut.tick();
    found
}

fn started(wave: &WaveContext) -> Dut<Moderation> {
    Dut::new(wave, Moderation::new(), "moderation")
}

/// A reset, and the cycles in which all processes are cleared.
fn reset(dut: &Dut<Moderation>, open: u64) -> Model {
    dut.head.valid.set(false);
    dut.settings.valid.set(false);
    dut.answered.valid.set(false);
    dut.ring_set.set(false);
    dut.reset();
    let mut model = Model::new();
    for _ in 0..PROCESSES {
        step(dut, &mut model, Inputs { open, ..Inputs::default() });
    }
    model
}

fn time(rng: &mut ChaCha8Rng) -> u32 {
    match rng.random_range(0..4) {
        0 => 0,
        1 => 1 << rng.random_range(0..15),
        2 => rng.random_range(0..1 << 15),
        _ => rng.random_range(1..20),
    }
}

#[test]
fn random_records_are_the_models() {
    run_with_wave_on_failure("moderation_alone_random", |wave| {
        let mut rng = wave.rng();
        let dut = started(wave);
        let mut fired = [0; PROCESSES];
        for _ in 0..share(24) {
            let mut model = reset(&dut, rng.random());
            for phase in 0..6 {
                // Processes that take part, and how often each input comes.
                let few = rng.random_range(0..PROCESSES);
                let mask = if phase % 2 == 0 { PROCESSES - 1 } else { few };
                let rates: [f64; 4] = match rng.random_range(0..4) {
                    0 => [0.5, 0.2, 1.0, 0.02],
                    1 => [0.02, 0.02, 0.5, 0.0],
                    2 => [0.01, 0.005, 0.02, 0.001],
                    _ => [0.002, 0.002, 0.003, 0.0002],
                };
                let mut open = u64::MAX;
                for _ in 0..3000 {
                    if rng.random_bool(0.002) {
                        open = rng.random::<u64>() | rng.random::<u64>();
                    }
                    let pid = |rng: &mut ChaCha8Rng| rng.random_range(0..PROCESSES) & mask;
                    let mut inputs = Inputs { open, ..Inputs::default() };
                    if rng.random_bool(rates[0]) {
                        let pid = pid(&mut rng);
                        let tail = model.processes[pid].tail;
                        let head = match rng.random_range(0..8) {
                            0 => rng.random(),
                            1 => tail.wrapping_sub(1 << rng.random_range(0..16)),
                            2 => tail.wrapping_sub(rng.random_range(0..300)),
                            _ => tail,
                        };
                        inputs.head = Some((pid, head, rng.random()));
                    }
                    if rng.random_bool(rates[1]) {
                        let irq = doorbell::Irq(rng.random()).with_enable(rng.random_range(0..4) != 0);
                        let events = match rng.random_range(0..5) {
                            0 => rng.random_range(0..256),
                            1 => 1 << rng.random_range(0..8),
                            _ => rng.random_range(0..4),
                        };
                        let irq = irq.with_events(events).with_time(time(&mut rng));
                        inputs.settings = Some((pid(&mut rng), irq.0));
                    }
                    // The host has answered all records before a ring is opened or closed.
                    if rng.random_bool(rates[3]) {
                        inputs.ring_set = Some(pid(&mut rng));
                    } else if rng.random_bool(rates[2]) {
                        inputs.answered = Some(pid(&mut rng));
                    }
                    if let Some(pid) = step(&dut, &mut model, inputs) {
                        fired[pid] += 1;
                    }
                }
            }
        }
        assert!(fired.iter().all(|count| *count > 0), "{fired:?} interrupts of each process");
        assert!(fired.iter().sum::<usize>() > 500, "{fired:?} interrupts of each process");
    });
}

/// The time of each process ends, for each bit of it, and also when the clock of the block begins anew.
#[test]
fn every_time_ends() {
    run_with_wave_on_failure("moderation_alone_times", |wave| {
        let mut rng = wave.rng();
        let dut = started(wave);
        let mut model = reset(&dut, u64::MAX);
        let mut fired = [0; PROCESSES];
        let mut step = |inputs: Inputs| {
            if let Some(pid) = step(&dut, &mut model, Inputs { open: u64::MAX, ..inputs }) {
                fired[pid] += 1;
            }
        };
        // Process 15 or above: a time of 2^14 units would end after a million cycles.
        for pid in 0..PROCESSES {
            let time = if pid < 15 { 1 << pid } else { rng.random_range(0..1 << 15) };
            let irq = doorbell::Irq::ZERO.with_enable(true).with_events(255).with_time(time);
            step(Inputs { settings: Some((pid, irq.0)), head: Some((pid, 0, true)), ..Inputs::default() });
            step(Inputs { answered: Some(pid), ..Inputs::default() });
        }
        for _ in 0..(1 << 14) * UNIT + 200 {
            step(Inputs::default());
        }
        assert!(fired[..15].iter().all(|count| *count == 1), "{fired:?}");
    });
}

/// From an answer, and from the arming while a record is unread: four cycles. From the settings: at most a round and three.
#[test]
fn cycles_to_an_interrupt() {
    run_with_wave_on_failure("moderation_alone_cycles", |wave| {
        let dut = started(wave);
        let mut model = reset(&dut, u64::MAX);
        let mut cycles_of = |pid: usize, inputs: Inputs| {
            step(&dut, &mut model, Inputs { open: u64::MAX, ..inputs });
            let idle = Inputs { open: u64::MAX, ..Inputs::default() };
            (1..200).find(|_| step(&dut, &mut model, idle) == Some(pid))
        };
        let mut longest = 0;
        for pid in 0..PROCESSES {
            let on = Some((pid, doorbell::Irq::ZERO.with_enable(true).with_events(1).0));
            let arm = |head| Inputs { head: Some((pid, head, true)), ..Inputs::default() };
            let answered = Inputs { answered: Some(pid), ..Inputs::default() };
            assert_eq!(cycles_of(pid, Inputs { settings: on, ..arm(0) }), None, "process {pid}: no record");
            assert_eq!(cycles_of(pid, answered), Some(4), "process {pid}: a record");
            assert_eq!(cycles_of(pid, answered), None, "process {pid}: not armed");
            assert_eq!(cycles_of(pid, arm(1)), Some(4), "process {pid}: armed");
            let off = Some((pid, 0));
            assert_eq!(cycles_of(pid, Inputs { settings: off, ..arm(1) }), None, "process {pid}: not enabled");
            let enabled = cycles_of(pid, Inputs { settings: on, ..Inputs::default() }).expect("an interrupt");
            assert!((3..3 + PROCESSES).contains(&enabled), "process {pid}: {enabled} cycles from the settings");
            longest = longest.max(enabled);
        }
        assert!(longest > PROCESSES / 2, "{longest} cycles at most");
    });
}
