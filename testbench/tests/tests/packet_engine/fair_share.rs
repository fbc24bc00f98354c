//! Shares of HPU cycles against balances that are plain numbers: who is funded, in each cycle, when charges, corrections and
//! grants meet.

use packet_engine::dispatch::fair_share::FairShare;
use rand::Rng;
use rand_chacha::ChaCha8Rng;
use spindle_contract::memory_map::WATCHDOG_BITS;
use spindle_contract::params::Config;
use spindle_harness::{run_with_wave_on_failure, Dut, WaveContext};
use spindle_model::packet_engine::fair_share::{Events, FairShare as Model, CONTEXTS};
use std::collections::VecDeque;

const CONFIG: Config = Config::SIM;
/// Cycles in which the block clears its memories after reset.
const CLEARS: u64 = 20;

/// A task: context, packet, what it was charged.
type Task = (usize, u16, u32);

struct Bench {
    dut: Dut<FairShare>,
    model: Model,
    /// Packets without a task.
    free: VecDeque<u16>,
    /// Tasks whose cost is known from the next cycle on, and tasks that run.
    given: Option<(usize, u16)>,
    sent: Option<Task>,
    running: Vec<Task>,
}

impl Bench {
    fn new(wave: &WaveContext, weights: impl Fn(usize) -> u8) -> Self {
        let dut = Dut::new(wave, FairShare::new(&CONFIG), "fair_share");
        dut.ticks(CLEARS);
        let free = (0..CONFIG.cells() as u16).collect();
        let mut bench = Bench { dut, model: Model::default(), free, given: None, sent: None, running: vec![] };
        for context in 0..CONTEXTS {
            bench.step(Events { policy: Some((context, weights(context))), ..Events::default() });
        }
        bench
    }

    /// One cycle; the charges that were made are kept by the bench.
    fn step(&mut self, mut events: Events) {
        let dut = &self.dut;
        if let Some((context, pkt, cost)) = self.sent.take() {
            events.sent = Some((pkt, cost));
            self.running.push((context, pkt, cost));
        }
        let number = |flag: Option<usize>| flag.unwrap_or(0);
        dut.charge.set(events.charge.is_some());
        dut.charge_context.set(number(events.charge));
        dut.sent.set(events.sent.is_some());
        dut.sent_pkt.set(events.sent.map_or(0, |sent| sent.0));
        dut.sent_cost.set(events.sent.map_or(0, |sent| sent.1));
        dut.ended.set(events.ended.is_some());
        dut.ended_context.set(number(events.ended.map(|ended| ended.0)));
        dut.ended_pkt.set(events.ended.map_or(0, |ended| ended.1));
        dut.ended_cycles.set(events.ended.map_or(0, |ended| ended.2));
        dut.policy_valid.set(events.policy.is_some());
        dut.policy_index.set(number(events.policy.map(|policy| policy.0)));
        dut.weight.set(events.policy.map_or(0, |policy| policy.1));
        dut.backlog.set(events.backlog);
        dut.starved.set(events.starved);
        dut.served.set(events.served);
        dut.eval();
        assert_eq!(dut.funded.number() as u16, self.model.funded(), "balances {:?}", self.model.balances);
        if let Some(cost) = self.model.cost() {
            assert_eq!(dut.cost.number() as u32, cost);
            let (context, pkt) = self.given.take().expect("a task was charged");
            self.sent = Some((context, pkt, cost));
        }
        self.given = events.charge.and_then(|context| Some((context, self.free.pop_front()?)));
        self.model.step(&events);
        dut.tick();
    }

    /// Who is funded of those that wait.
    fn ready(&self, backlog: u16) -> u16 {
        backlog & self.model.funded()
    }

    /// The end of a task that runs, if there is one.
    fn end(&mut self, rng: &mut ChaCha8Rng) -> Option<(usize, u16, u32)> {
        if self.running.is_empty() {
            return None;
        }
        let (context, pkt, _) = self.running.swap_remove(rng.random_range(0..self.running.len()));
        self.free.push_back(pkt);
        // Handlers of all lengths; few are longer than what a cost can say.
        let most = if rng.random_ratio(1, 50) { WATCHDOG_BITS } else { rng.random_range(1..17) };
        Some((context, pkt, rng.random_range(0..1 << most)))
    }
}

/// Some contexts that wait, are charged, and end tasks; few of them, so that all kinds of changes meet.
#[test]
fn balances() {
    run_with_wave_on_failure("fair_share_balances", |wave| {
        let mut rng = wave.rng();
        let mut bench = Bench::new(wave, |context| [1, 2, 7, 64, 255][context % 5]);
        let mut phase = 0;
        // The largest quantum is rare.
        while phase < 260 || bench.model.rounds.iter().any(|count| *count <= 5) {
            assert!(phase < 3000, "rounds by their doublings: {:?}", bench.model.rounds);
            let count = [1, 2, 3, 16][phase % 4];
            let contexts: Vec<usize> = (0..count).map(|i| (i + phase) % CONTEXTS).collect();
            let waits = rng.random::<u16>() | 1 << contexts[0];
            let all = contexts.iter().fold(0, |all, context| all | 1 << context);
            let (charges, ends) = (rng.random_range(0.1..0.9), rng.random_range(0.1..0.9));
            // Where none is served, the quantum is doubled again and again.
            let serves = if rng.random() { 0.9 } else { 0.01 };
            for _ in 0..400 {
                let backlog = match rng.random_range(0..20) {
                    0 => rng.random(),
                    1 if phase >= 200 => 0,
                    _ => waits & all,
                };
                let ready = bench.ready(backlog);
                let context = contexts[rng.random_range(0..contexts.len())];
                // A context that is not funded is charged as well: a context that waits alone goes without funds.
                let goes = bench.free.len() > 2
                    && rng.random_bool(charges)
                    && (ready >> context & 1 == 1 || rng.random_ratio(1, 10));
                let ended = if rng.random_bool(ends) { bench.end(&mut rng) } else { None };
                let policy = rng.random_ratio(1, 200).then(|| (context, rng.random_range(1..=255)));
                bench.step(Events {
                    charge: goes.then_some(context),
                    sent: None,
                    ended,
                    policy,
                    backlog,
                    starved: ready == 0 || rng.random_ratio(1, 100),
                    served: ready != 0 && rng.random_bool(serves),
                });
            }
            phase += 1;
            assert!(bench.model.balances.iter().all(|balance| balance.abs() < 1 << 25), "{:?}", bench.model.balances);
        }
        let Model { meetings, rounds, idle_rounds, .. } = &bench.model;
        assert!(*idle_rounds > 20, "{idle_rounds} rounds while none waited");
        println!("meetings {meetings:?}, rounds {rounds:?}");
        assert!(meetings.iter().all(|count| *count > 10), "{meetings:?}");
    });
}

/// A round that funded no context is followed by one with twice the quantum; the first one after reset follows none.
#[test]
fn the_first_round_grants_one_quantum() {
    run_with_wave_on_failure("fair_share_first_round", |wave| {
        let mut bench = Bench::new(wave, |_| 1);
        // A task that found an HPU at once: no context has waited, and none was served.
        let idle = |bench: &mut Bench| (0..20).for_each(|_| bench.step(Events::default()));
        bench.step(Events { charge: Some(3), ..Events::default() });
        idle(&mut bench);
        let (context, pkt, _) = bench.running.pop().expect("the task runs");
        bench.step(Events { ended: Some((context, pkt, 5 * 4096 + 1)), ..Events::default() });
        idle(&mut bench);
        // It owes a little more than five quanta, and gets one, two, four.
        for granted in [1, 3, 7] {
            assert_eq!(bench.dut.funded.number() as u16 >> 3 & 1, 0);
            bench.step(Events { backlog: 1 << 3, starved: true, ..Events::default() });
            idle(&mut bench);
            assert_eq!(bench.model.balances[3], granted * 4096 - 5 * 4096 - 1);
        }
        assert_eq!(bench.dut.funded.number() as u16 >> 3 & 1, 1);
    });
}
