//! Tasks on their way to the clusters: each comes to its own, with its context, whatever the other clusters do.

use crate::hpu_core::fields::{bits, field, pack, slice};
use hpu_core::array::dispatcher::Dispatcher;
use rand::seq::IndexedRandom;
use rand::Rng;
use spindle_contract::descriptors::DESCRIPTORS;
use spindle_contract::params::Config;
use spindle_harness::{run_with_wave_on_failure, Dut, WaveContext};
use std::collections::VecDeque;

const CONFIG: Config = Config::ALVEO;
const CLUSTERS: usize = CONFIG.clusters;
const HPUS: usize = CONFIG.hpus;

/// Context c has this host size.
fn host_size(context: u64) -> u64 {
    0x1000 + context
}

/// Its handler of this kind begins here.
fn handler(context: u64, kind: u64) -> u64 {
    0x4000_0000 + 0x100 * context + kind
}

/// The block with its contexts installed.
fn dispatcher(wave: &WaveContext) -> Dut<Dispatcher> {
    let dut = Dut::new(wave, Dispatcher::new(&CONFIG), "dispatcher");
    dut.install.set(true);
    for context in 0..16u64 {
        dut.install_index.set(context);
        // The host size is the tenth member.
        let handlers = [0, 1, 2].map(|kind| (handler(context, kind), 32));
        let entry = [&handlers[..], &[(0, 64), (0, 64), (0, 10), (host_size(context), 32)]].concat();
        dut.staged.set_bytes(&bits(&entry));
        dut.tick();
    }
    dut.install.set(false);
    dut
}

#[test]
fn a_cluster_that_waits_delays_no_other() {
    run_with_wave_on_failure("dispatcher", |wave| {
        let dut = dispatcher(wave);
        let mut rng = wave.rng();
        let width = DESCRIPTORS.iter().find(|d| d.name == "task_desc").expect("there are tasks").bits();
        // Tasks that each cluster has not taken: HPU, cycle of arrival, which is the frame, context, kind.
        let mut waiting: [VecDeque<(usize, u64, u64, u64)>; CLUSTERS] = Default::default();
        let (mut taken, mut longest) = ([0; CLUSTERS], 0);
        // Clusters that were ready and have got nothing since; whether one has its turn, and its task comes now.
        let (mut stands, mut comes) = ([false; CLUSTERS], false);
        for now in 0..20_000u64 {
            // Now and then one cluster takes nothing for long; with all others ready, a task waits for its turn only.
            let stuck = (now / 500 % 2 == 1).then_some((now / 1000) as usize % CLUSTERS);
            let takes: [bool; CLUSTERS] =
                std::array::from_fn(|i| stands[i] || (stuck != Some(i) && (stuck.is_some() || rng.random())));
            (0..CLUSTERS).for_each(|i| dut.ready[i].set(takes[i]));
            let free: Vec<(usize, usize)> = (0..CLUSTERS)
                .flat_map(|cluster| (0..HPUS).map(move |hpu| (cluster, hpu)))
                .filter(|(cluster, hpu)| waiting[*cluster].iter().all(|task| task.0 != *hpu))
                .collect();
            let target = free.choose(&mut rng).copied().filter(|_| stuck.is_some() || rng.random());
            dut.task_desc.valid.set(target.is_some());
            let (context, kind) = (rng.random_range(0..16), rng.random_range(0..3));
            if let Some((cluster, hpu)) = target {
                let target = [("cluster", cluster as u64), ("hpu", hpu as u64)];
                let fields = [&target[..], &[("frame", now), ("context", context), ("kind", kind)]].concat();
                dut.task_desc.set_bytes(&pack("task_desc", &fields));
            }
            dut.eval();
            let goes: Vec<usize> = (0..CLUSTERS).filter(|i| dut.valid[*i].is_high()).collect();
            assert!(goes.len() <= 1, "one task at a time");
            assert_eq!(goes.len(), usize::from(comes), "cycle {now}: a task goes when a cluster takes one");
            comes = (0..CLUSTERS).any(|i| takes[i] && !goes.contains(&i) && !waiting[i].is_empty());
            stands = std::array::from_fn(|i| takes[i] && !goes.contains(&i));
            if let Some(i) = goes.first() {
                let (hpu, since, context, kind) = waiting[*i].pop_front().expect("a task waits");
                let bytes = dut.job.bytes();
                let get = |name| field("task_desc", &bytes, name);
                assert_eq!((get("cluster"), get("hpu"), get("frame")), (*i as u64, hpu as u64, since & 0xFFFF));
                assert_eq!((get("context"), slice(&bytes, width + 170, 32)), (context, host_size(context)));
                assert_eq!((get("kind"), slice(&bytes, width, 32)), (kind, handler(context, kind)));
                assert!(takes[*i]);
                taken[*i] += 1;
                if stuck.is_some() && since >= now / 500 * 500 {
                    longest = longest.max(now - since);
                }
            }
            if let Some((cluster, hpu)) = target {
                waiting[cluster].push_back((hpu, now, context, kind));
            }
            dut.tick();
        }
        assert!(taken.iter().all(|n| *n > 1000), "{taken:?}");
        assert!(longest <= (CLUSTERS * HPUS) as u64 + 1, "a task waited {longest} cycles");
    });
}
