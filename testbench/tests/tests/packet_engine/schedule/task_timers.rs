//! The task timers alone: every report against lists of what waits, exact latencies, and how late a task may be.

use packet_engine::schedule::task_timers::types::{DueTask, HostTask};
use packet_engine::schedule::task_timers::TaskTimers;
use rand::seq::IndexedRandom;
use rand::Rng;
use rand_chacha::ChaCha8Rng;
use spindle_blocks::desc::{Command, CommandIssuer, ContextPolicy, PutDone};
use spindle_contract::memory_map::TASK_CANCEL;
use spindle_contract::params::{Config, WAITING_TASKS};
use spindle_harness::{run_with_wave_on_failure, share, Dut, WaveContext};
use spindle_model::packet_engine::task_timers::{TaskTimers as Model, Waiting};
use spindle_verilog::prelude::bits;
use std::cell::Cell;
use std::collections::VecDeque;

/// Cycles of the clearing after reset.
const CLEARS: u64 = 20;
/// Cycles from the taking of a task to its judgement.
const JUDGED: u64 = 3;
/// Cycles of a visit in its pipeline.
const VISIT: u32 = 3;

/// What the clock says first: it wraps in the course of each test, so that every bit of it counts.
const FIRST_CYCLE: u32 = u32::MAX - 20_000;

/// A start or a cancellation.
#[derive(Clone, Copy, Debug)]
struct Start {
    context: usize,
    argument: u64,
    delay: u32,
    frame: u16,
    /// Number in the issuer's fields; `None` = the host.
    issuer: Option<u64>,
}

/// The block, what is under way, and the model.
struct Bench {
    dut: Dut<TaskTimers>,
    rng: ChaCha8Rng,
    model: Model,
    contexts: usize,
    /// Cycle of the block.
    now: u32,
    /// Contexts that are active, and the cycle since which each is or is not.
    active: u16,
    changed: Vec<u64>,
    /// The last one that was deactivated, until its tasks have ended.
    deactivated: Option<usize>,
    /// Tasks that waited then, and when that was.
    doomed: Vec<u64>,
    doomed_at: u64,
    cycle: u64,
    /// Starts that were taken and have not been carried out.
    started: VecDeque<Start>,
    command: Option<Start>,
    host: Option<Start>,
    host_busy: bool,
    /// The answer on offer.
    answer: Option<PutDone>,
    /// A task is offered; it was taken in this cycle.
    offered: Option<Waiting>,
    taken_at: Option<u64>,
    /// Whether the tasks that are judged next get a slot.
    slots: f64,
    /// Chance that a sink is ready.
    eagerness: f64,
    /// Cycles in which the scan stood, cancellations and offers, so far.
    stood: u32,
    cancelled: u32,
    offers: u32,
    /// The same when each deadline came.
    marks: Vec<(Waiting, u32, u32, u32)>,
    /// Largest lateness beyond what the others account for.
    latest: u32,
    /// Ends of each kind: begun, refused, cancelled, dissolved.
    counts: [u32; 4],
    expected: [u32; 4],
    answered: u64,
}

impl Bench {
    fn new(wave: &WaveContext, config: Config) -> Self {
        let name = format!("task_timers_{}", config.contexts);
        let dut = Dut::new(wave, TaskTimers::starting_at(&config, FIRST_CYCLE), &name);
        let mut bench = Bench {
            dut,
            rng: wave.rng(),
            model: Model::new(config.contexts),
            contexts: config.contexts,
            now: FIRST_CYCLE,
            active: 0,
            changed: vec![0; 16],
            deactivated: None,
            doomed: vec![],
            doomed_at: 0,
            cycle: 0,
            started: VecDeque::new(),
            command: None,
            host: None,
            host_busy: false,
            answer: None,
            offered: None,
            taken_at: None,
            slots: 1.0,
            eagerness: 1.0,
            stood: 0,
            cancelled: 0,
            offers: 0,
            marks: vec![],
            latest: 0,
            counts: [0; 4],
            expected: [0; 4],
            answered: 0,
        };
        for context in 0..config.contexts {
            bench.dut.policy.offer_policy(context, true);
            bench.step();
        }
        bench.dut.policy.valid.set(false);
        bench.set_active((1u32 << config.contexts).wrapping_sub(1) as u16);
        (0..CLEARS).for_each(|_| bench.step());
        bench
    }

    fn set_active(&mut self, active: u16) {
        for context in 0..16 {
            if (self.active ^ active) >> context & 1 == 1 {
                self.changed[context] = self.cycle;
                if active >> context & 1 == 0 {
                    self.deactivated = Some(context);
                    self.doomed = self.model.waiting[context].iter().map(|task| task.argument).collect();
                    self.doomed_at = self.cycle;
                }
            }
        }
        self.active = active;
        let status = (0..16).fold(0u64, |bits, c| bits | u64::from(active >> c & 1) << (4 * c));
        self.dut.contexts.set_bytes(&status.to_le_bytes());
    }

    /// Whether a context takes tasks, unless that has just changed.
    fn alive(&self, context: usize) -> Option<bool> {
        if context >= self.contexts {
            return Some(false);
        }
        let sure = self.cycle - self.changed[context] > 600 && self.deactivated != Some(context);
        sure.then_some(self.active >> context & 1 == 1)
    }

    /// One cycle with the inputs as they stand; checks all outputs.
    fn step(&mut self) {
        let ready = |rng: &mut ChaCha8Rng, chance: f64| rng.random_bool(chance);
        let eagerness = self.eagerness;
        self.dut.command.offer(self.command.map(|start| Command {
            context: bits(start.context as u64),
            flags: bits(1),
            issuer: issuer(start.issuer.expect("a handler's")),
            frame: bits(start.frame),
            offset: bits(start.delay),
            address: bits(start.argument),
            ..Command::default()
        }));
        self.dut.host.offer(self.host.map(|start| HostTask {
            context: bits(start.context as u64),
            argument: bits(start.argument),
            delay: bits(start.delay),
        }));
        self.dut.answer.ready.set(ready(&mut self.rng, eagerness));
        self.dut.due.ready.set(ready(&mut self.rng, eagerness));
        let judged = self.taken_at.is_some_and(|at| self.cycle == at + JUDGED);
        let taken = judged && self.rng.random_bool(self.slots);
        self.dut.judged.set(judged);
        self.dut.taken.set(taken);
        self.dut.eval();
        self.reports();
        if judged {
            self.taken_at = None;
            self.offered = None;
            self.model.judged(taken, self.now);
            self.expected[0] += u32::from(taken);
        }
        if self.cycle == self.doomed_at + 600 {
            let mut waiting = self.model.waiting.iter().flatten();
            assert!(!waiting.any(|task| self.doomed.contains(&task.argument)), "tasks outlived their context");
            self.deactivated = None;
        }
        self.offers_of_the_scan();
        if self.dut.command.moves() {
            self.started.extend(self.command.take());
        }
        if self.dut.host.moves() {
            self.started.extend(self.host.take());
        }
        self.stood += u32::from(self.offered.is_some());
        self.dut.tick();
        self.cycle += 1;
        self.now = self.now.wrapping_add(1);
        self.mark();
    }

    /// Ends of starts, which come in order, and the counters.
    fn reports(&mut self) {
        let counts = &self.dut.counts;
        let seen = [&counts.begun, &counts.refused, &counts.cancelled].map(|wire| wire.number() as u32);
        let dissolved = counts.dissolved.number() as usize;
        for (count, seen) in self.counts.iter_mut().zip(seen) {
            *count += seen;
        }
        self.counts[3] += dissolved as u32;
        if dissolved > 0 {
            let context = self.deactivated.take().expect("a context was deactivated");
            assert_eq!(self.model.dissolves(context), dissolved, "cycle {}: context {context}", self.cycle);
            self.expected[3] += dissolved as u32;
        }
        if self.dut.host_done.is_high() {
            self.host_busy = false;
            let start = self.started.pop_front().expect("the host started something");
            assert_eq!(start.issuer, None, "starts end in order");
            self.carried_out(start, self.dut.host_refused.is_high());
        }
        let answer = self.dut.answer.offered();
        if let Some(answer) = answer.filter(|_| self.answer.is_none()) {
            let start = self.started.pop_front().expect("a handler started something");
            let error = answer.error;
            assert_eq!(
                answer,
                PutDone { issuer: issuer(start.issuer.expect("a handler's")), error, ..PutDone::default() }
            );
            self.answered += 1;
            self.answer = Some(answer);
            self.carried_out(start, error);
        }
        assert_eq!(answer, self.answer, "an answer stays until it is taken");
        if self.dut.answer.moves() {
            self.answer = None;
        }
    }

    fn carried_out(&mut self, start: Start, refused: bool) {
        let Start { context, argument, delay, frame, .. } = start;
        self.expected[1] += u32::from(refused);
        let result = if delay == TASK_CANCEL {
            self.cancelled += 1;
            self.expected[2] += u32::from(!refused);
            self.model.cancels(context, argument, refused, self.alive(context))
        } else {
            // It was carried out in the cycle before.
            let deadline = self.now.wrapping_sub(1).wrapping_add(delay);
            self.model.starts(context, Waiting { argument, deadline, frame }, refused, self.alive(context))
        };
        result.unwrap_or_else(|breach| panic!("cycle {}: {breach}", self.cycle));
    }

    /// A task that the block begins to offer, and one that moves.
    fn offers_of_the_scan(&mut self) {
        if let Some(due) = self.dut.due.offered() {
            let DueTask { context, task } = due;
            let task = Waiting {
                argument: task.argument.to_u64(),
                deadline: task.deadline.to_u64() as u32,
                frame: task.frame.to_u64() as u16,
            };
            if self.offered.is_none() {
                let late = self.model.offers(context.index(), task, self.now);
                let late = late.unwrap_or_else(|breach| panic!("cycle {}: {breach}", self.cycle));
                if let Some(at) = self.marks.iter().position(|mark| mark.0 == task) {
                    let (_, stood, cancelled, offers) = self.marks.swap_remove(at);
                    let others = self.stood - stood + 4 * (self.offers - offers) + 20 * (self.cancelled - cancelled);
                    self.latest = self.latest.max(late.saturating_sub(others));
                }
                self.offers += 1;
                self.offered = Some(task);
            }
            assert_eq!(self.offered, Some(task), "an offer changed");
            if self.dut.due.moves() {
                self.taken_at = Some(self.cycle);
            }
        }
    }

    /// Notes what had happened when a deadline came.
    fn mark(&mut self) {
        let due = self.model.waiting.iter().flatten().filter(|task| task.deadline == self.now);
        self.marks.extend(due.map(|task| (*task, self.stood, self.cancelled, self.offers)));
    }

    fn waiting(&self) -> usize {
        self.model.waiting.iter().map(Vec::len).sum()
    }

    /// Nothing is under way.
    fn drain(&mut self, limit: usize) {
        for _ in 0..limit {
            if self.waiting() == 0 && self.started.is_empty() && self.command.is_none() && self.taken_at.is_none() {
                break;
            }
            self.step();
        }
        (0..4).for_each(|_| self.step());
        assert_eq!((self.waiting(), self.started.len()), (0, 0), "tasks or starts are left");
        assert_eq!(self.counts, self.expected, "begun, refused, cancelled, dissolved");
    }
}

/// Arguments of all bits, each another one: the multiplier has a multiplicative inverse.
fn argument_of(number: u64) -> u64 {
    number.wrapping_mul(0x9E37_79B9_7F4A_7C15)
}

fn issuer(number: u64) -> CommandIssuer {
    CommandIssuer { cluster: bits(number & 7), hpu: bits(number >> 3 & 7), handle: bits(number >> 6 & 3) }
}

/// Gives a context its policy.
trait OfferPolicy {
    fn offer_policy(&self, context: usize, tasks: bool);
}
impl OfferPolicy for spindle_blocks::bundles::PolicySinkPorts {
    fn offer_policy(&self, context: usize, tasks: bool) {
        self.set(ContextPolicy { tasks, ..ContextPolicy::default() });
        self.index.set(context);
        self.valid.set(true);
    }
}

/// Random starts, cancellations, deactivations, refusals and back-pressure. `delays` = longest usual delay.
fn play(name: &str, config: Config, eagerness: f64, slots: f64, delays: u32) -> [u32; 2] {
    let latest = Cell::new([0; 2]);
    run_with_wave_on_failure(name, |wave| {
        let mut bench = Bench::new(wave, config);
        (bench.eagerness, bench.slots) = (eagerness, slots);
        let mut next = 0u64;
        let mut most = 0;
        let all = (1u32 << config.contexts).wrapping_sub(1) as u16;
        for cycle in 0..share(180_000) as u64 {
            let busy = cycle / 3000 % 3 != 2;
            // A burst fills a context.
            let narrow = cycle / 1000 % 4 == 1;
            let rate = if busy { 0.3 } else { 0.01 };
            let mut start = |bench: &mut Bench, issuer: Option<u64>| {
                let rng = &mut bench.rng;
                let context = if narrow { 1 } else { rng.random_range(0..16.min(config.contexts + 1)) };
                let waiting = bench.model.waiting.get(context).filter(|list| !list.is_empty());
                next += 1;
                if rng.random_bool(0.2) {
                    let known = waiting.filter(|_| rng.random_bool(0.8)).and_then(|list| list.choose(rng));
                    let argument = known.map_or(argument_of(next), |task| task.argument);
                    return Start { context, argument, delay: TASK_CANCEL, frame: 0, issuer };
                }
                let delay = match rng.random_range(0..10) {
                    0..3 => 0,
                    3 => rng.random_range(0..16 * delays),
                    _ => rng.random_range(1..delays),
                };
                let frame = if issuer.is_some() { rng.random() } else { 0 };
                let argument = argument_of(next);
                Start { context, argument, delay, frame, issuer }
            };
            if bench.command.is_none() && bench.rng.random_bool(rate) {
                let number = bench.rng.random_range(0..256);
                bench.command = Some(start(&mut bench, Some(number)));
            }
            if !bench.host_busy && bench.rng.random_bool(rate / 8.0) {
                bench.host = Some(start(&mut bench, None));
                bench.host_busy = true;
            }
            // One context at a time is not active while it has tasks.
            // Some are active again before their tasks have ended.
            let stays = bench.deactivated.is_none() || bench.rng.random_ratio(1, 20);
            let again = bench.rng.random_ratio(1, 3) && bench.cycle == bench.doomed_at + 6;
            if bench.active != all && (again || stays && bench.rng.random_bool(0.02)) {
                bench.set_active(all);
            } else if bench.active == all && bench.deactivated.is_none() && bench.rng.random_bool(0.01) {
                let context = bench.rng.random_range(0..config.contexts);
                bench.set_active(all & !(1 << context));
            }
            bench.step();
            let gone =
                (0..config.contexts).find(|c| bench.active >> c & 1 == 0 && bench.cycle - bench.changed[*c] > 2000);
            if let Some(context) = gone {
                assert!(bench.model.waiting[context].is_empty(), "tasks outlived context {context}");
            }
            most = most.max(bench.waiting());
        }
        bench.set_active(all);
        bench.slots = 1.0;
        bench.drain(40 * delays as usize);
        println!("{name}: {:?}, at most {most} wait, latest {}", bench.counts, bench.latest);
        assert!(bench.counts[..3].iter().all(|count| *count > 20) && bench.counts[3] > 5, "{:?}", bench.counts);
        latest.set([bench.latest, most as u32]);
    });
    latest.get()
}

/// A round of visits.
fn round(config: &Config) -> u32 {
    (WAITING_TASKS * config.contexts) as u32
}

#[test]
fn every_report_eager() {
    let [latest, most] = play("task_timers_eager", Config::SIM, 1.0, 1.0, 500);
    assert!(latest <= round(&Config::SIM) + VISIT, "{latest} cycles late");
    assert!(most > 40, "{most} waited");
}

/// Sinks are slow, and half the tasks find no slot.
#[test]
fn every_report_slow() {
    play("task_timers_slow", Config::SIM, 0.3, 0.5, 2000);
}

#[test]
fn a_single_context() {
    play("task_timers_single", Config { contexts: 1, ..Config::SIM }, 0.8, 0.9, 300);
}

/// From the taking of a start to its answer, and to the offer of a task without a delay; from a deadline to the offer.
#[test]
fn latencies() {
    run_with_wave_on_failure("task_timers_latencies", |wave| {
        let config = Config::SIM;
        let mut bench = Bench::new(wave, config);
        let start = |delay, argument| Start { context: 5, argument, delay, frame: 9, issuer: Some(77) };
        // Cycles from the taking of a start to its answer, and to the next offer.
        let mut run = |start: Start| {
            bench.command = Some(start);
            bench.step();
            assert!(bench.command.is_none(), "an idle block takes a start at once");
            let (taken, offers) = (bench.cycle - 1, bench.offers);
            let (mut answer, mut offer) = (None, None);
            let before = bench.answered;
            for _ in 0..2000 {
                if answer.is_some() && (offer.is_some() || start.delay == TASK_CANCEL) {
                    break;
                }
                bench.step();
                answer = answer.or((bench.answered > before).then_some(bench.cycle - 1 - taken));
                offer = offer.or((bench.offers > offers).then_some(bench.cycle - 1 - taken));
            }
            (0..20).for_each(|_| bench.step());
            (answer.expect("an answer"), offer)
        };
        assert_eq!(run(start(0, 1)), (3, Some(3)), "at once");
        // The deadline is 2 cycles after the taking, and the delay. Every phase of the scan is met.
        let (mut least, mut most) = (u64::MAX, 0);
        for delay in 1..share(600) as u32 {
            let (answer, offer) = run(start(delay, delay.into()));
            assert_eq!(answer, 3);
            let late = offer.expect("an offer") - 2 - u64::from(delay);
            (least, most) = (least.min(late), most.max(late));
        }
        println!("{least} to {most} cycles late");
        assert!(least >= 1 && most <= u64::from(round(&config) + VISIT), "{least} to {most} cycles late");
        let (answer, _) = run(start(TASK_CANCEL, 5));
        println!("a cancellation that finds nothing takes {answer} cycles");
        assert!(answer <= 20, "{answer} cycles for a cancellation");
    });
}
