//! The choice of HPUs alone, against sets of HPUs with room and numbers of their tasks: any context, cluster, policy and pulse of
//! room in any cycle.

use packet_engine::dispatch::hpu_choice::HpuChoice;
use rand::seq::IteratorRandom;
use rand::Rng;
use spindle_contract::params::{Config, HPU_BANKS, MAX_CONTEXTS};
use spindle_harness::{run_with_wave_on_failure, share, Dut};

/// An answer: HPUs that are preferred, and those that have room at all.
struct Answer {
    best: Vec<usize>,
    rest: Vec<usize>,
    from: usize,
}

impl Answer {
    /// The HPU that is offered: of the best ones the first from a cluster on, else the first; without a best one the first of all.
    fn hpu(&self, per_cluster: usize) -> Option<usize> {
        let near = self.best.iter().find(|hpu| **hpu / per_cluster >= self.from);
        near.or(self.best.first()).or(self.rest.first()).copied()
    }
}

fn plays(name: &str, config: &Config, top: &str) {
    run_with_wave_on_failure(name, |wave| {
        let mut rng = wave.rng();
        let dut = Dut::new(wave, HpuChoice::new(config), top);
        let total = config.total_hpus();
        let mut masks = [0u32; MAX_CONTEXTS];
        // Until each context is installed, its mask in the memory is not known.
        let mut installed = 0;
        let mut room = 0u32;
        let mut tasks = vec![0usize; total];
        let mut answer: Option<Answer> = None;
        let (mut eligible, mut funded) = (0, 0);
        let (mut taken, mut none, mut second, mut loads) = (0, 0, 0, [0; HPU_BANKS]);
        for cycle in 0..share(45_000) {
            // Phases in which HPUs are busy, and in which they are not.
            let busy = cycle / 500 % 2 == 0;
            let policy = (installed < MAX_CONTEXTS || rng.random_bool(0.01)).then(|| {
                let context = if installed < MAX_CONTEXTS { installed } else { rng.random_range(0..MAX_CONTEXTS) };
                let mask = rng.random::<u32>() & if rng.random() { rng.random() } else { u32::MAX };
                (context, mask)
            });
            dut.policy_valid.set(policy.is_some());
            dut.policy_index.set(policy.map_or_else(|| rng.random_range(0..MAX_CONTEXTS), |policy| policy.0));
            dut.core_mask.set(policy.map_or_else(|| rng.random(), |policy| policy.1));
            // Room comes once per task. HPUs that do not exist do not count.
            let mut pulses = rng.random::<u32>() & !(u32::MAX >> (32 - total));
            for (hpu, tasks) in tasks.iter().enumerate() {
                let may = room >> hpu & 1 == 0 && *tasks < HPU_BANKS;
                pulses |= u32::from(may && rng.random_bool(if busy { 0.1 } else { 0.3 })) << hpu;
            }
            dut.room.set(pulses);
            let works = (0..total).filter(|hpu| tasks[*hpu] > 0).choose(&mut rng);
            let ends = works.filter(|_| rng.random_bool(if busy { 0.1 } else { 0.7 }));
            let place = ends.unwrap_or_else(|| rng.random_range(0..total));
            dut.ended.set(ends.is_some());
            dut.ended_cluster.set(place / config.hpus);
            dut.ended_hpu.set(place % config.hpus);
            let request = installed == MAX_CONTEXTS && rng.random_bool(0.9);
            let context = rng.random_range(0..MAX_CONTEXTS);
            let from = rng.random_range(0..config.clusters);
            dut.request.set(request);
            dut.request_context.set(context);
            dut.from.set(from);
            let funds: u16 = rng.random();
            dut.funded.set(funds);
            dut.accept.set(false);
            dut.eval();

            assert_eq!(dut.eligible.number(), eligible, "cycle {cycle}");
            assert_eq!(dut.eligible_funded.number(), funded, "cycle {cycle}");
            let found =
                dut.found.is_high().then(|| dut.cluster.number() as usize * config.hpus + dut.hpu.number() as usize);
            let expected = answer.as_ref().and_then(|answer| answer.hpu(config.hpus));
            assert_eq!(found, expected, "cycle {cycle}, tasks {tasks:?}");
            none += usize::from(answer.is_some() && expected.is_none());
            let used = expected.filter(|_| rng.random_bool(0.7));
            dut.accept.set(used.is_some());
            dut.eval();

            // What a context may have is known a cycle later.
            eligible = (0..MAX_CONTEXTS).filter(|c| masks[*c] & room != 0).fold(0, |bits, c| bits | 1 << c);
            funded = eligible & u64::from(funds);
            answer = request.then(|| {
                let usable: Vec<usize> = (0..total).filter(|hpu| masks[context] & room & 1 << hpu != 0).collect();
                let load = |hpu: usize| tasks[hpu].min(HPU_BANKS - 1);
                let least = usable.iter().map(|hpu| load(*hpu)).min();
                let left = |hpu: &usize| Some(*hpu) != used;
                let best = usable.iter().copied().filter(|hpu| Some(load(*hpu)) == least).filter(left).collect();
                Answer { best, rest: usable.into_iter().filter(left).collect(), from }
            });
            if let Some(hpu) = used {
                room &= !(1 << hpu);
                loads[tasks[hpu]] += 1;
                tasks[hpu] += 1;
                taken += 1;
            }
            second +=
                usize::from(answer.as_ref().is_some_and(|answer| answer.best.is_empty() && !answer.rest.is_empty()));
            if let Some(hpu) = ends {
                tasks[hpu] -= 1;
            }
            room |= pulses & u32::MAX >> (32 - total);
            if let Some((context, mask)) = policy {
                masks[context] = mask;
                installed = MAX_CONTEXTS.min(installed + 1);
            }
            dut.tick();
        }
        assert!(taken > 1000 && none > 100 && second > 20, "{taken} taken, {none} none, {second} not the best");
        assert!(loads.iter().all(|count| *count > 20), "{loads:?} HPUs with so many tasks");
    });
}

#[test]
fn the_least_loaded_hpu_of_the_nearest_cluster() {
    plays("hpu_choice_random", &Config::SIM, "hpu_choice");
}

/// As many HPUs as there can be, in clusters of another size.
#[test]
fn one_of_32_hpus() {
    plays("hpu_choice_random_32", &Config { clusters: 4, hpus: 8, ..Config::SIM }, "hpu_choice_32");
}
