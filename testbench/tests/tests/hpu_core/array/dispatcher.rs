//! Tasks on their way to the clusters: each comes to its own, with its context, whatever the other clusters do.

use hpu_core::array::dispatcher::{Dispatcher, Job};
use hpu_core::types::{context_of_task, ContextEntry};
use rand::seq::IndexedRandom;
use rand::Rng;
use rand_chacha::ChaCha8Rng;
use spindle_blocks::TaskDesc;
use spindle_contract::params::Config;
use spindle_harness::{run_with_wave_on_failure, Dut};
use spindle_verilog::ports::from_bytes;
use spindle_verilog::prelude::*;
use std::collections::VecDeque;

const CONFIG: Config = Config::ALVEO;
const CLUSTERS: usize = CONFIG.clusters;
const HPUS: usize = CONFIG.hpus;
const CONTEXTS: usize = 16;

/// Random bits.
fn random<T: Packed>(rng: &mut ChaCha8Rng) -> T {
    let bytes: Vec<u8> = (0..T::BITS.div_ceil(8)).map(|_| rng.random()).collect();
    from_bytes(&bytes)
}

/// Installs `entry` as a context in this cycle, if there is one.
fn install(dut: &Dut<Dispatcher>, entry: Option<(usize, ContextEntry)>, rng: &mut ChaCha8Rng) {
    dut.install.set(entry.is_some());
    // What is staged while nothing is installed is no one's.
    let (number, staged) = entry.unwrap_or_else(|| (rng.random_range(0..CONTEXTS), random(rng)));
    dut.install_index.set(number as u64);
    dut.staged.set(staged);
}

#[test]
fn a_cluster_that_waits_delays_no_other() {
    run_with_wave_on_failure("dispatcher", |wave| {
        let dut = Dut::new(wave, Dispatcher::new(&CONFIG), "dispatcher");
        let mut rng = wave.rng();
        let mut contexts = [ContextEntry::default(); CONTEXTS];
        for (number, entry) in contexts.iter_mut().enumerate() {
            *entry = random(&mut rng);
            install(&dut, Some((number, *entry)), &mut rng);
            dut.tick();
        }
        // As they were in the cycle before, in which the job was read.
        let mut contexts_before = contexts;
        // Tasks that each cluster has not taken, and when they came.
        let mut waiting: [VecDeque<(TaskDesc, u64)>; CLUSTERS] = Default::default();
        let (mut taken, mut longest) = ([0; CLUSTERS], 0);
        // Clusters that were ready and have got nothing since; whether one has its turn, and its task comes now.
        let (mut stands, mut comes) = ([false; CLUSTERS], false);
        // Packet that was requested in the cycle before: its cluster, {head cell, bytes}. Tasks that were granted at once.
        let (mut requested, mut at_once, mut held) = (None::<(usize, (u64, u64))>, 0, 0);
        for now in 0..20_000u64 {
            // Now and then one cluster takes nothing for long; with all others ready, a task waits for its turn only.
            let stuck = (now / 500 % 2 == 1).then_some((now / 1000) as usize % CLUSTERS);
            let takes: [bool; CLUSTERS] =
                std::array::from_fn(|i| stands[i] || (stuck != Some(i) && (stuck.is_some() || rng.random())));
            (0..CLUSTERS).for_each(|i| dut.ready[i].set(takes[i]));
            let free: Vec<(usize, usize)> = (0..CLUSTERS)
                .flat_map(|cluster| (0..HPUS).map(move |hpu| (cluster, hpu)))
                .filter(|(cluster, hpu)| waiting[*cluster].iter().all(|(task, _)| task.hpu.to_u64() != *hpu as u64))
                .collect();
            let target = free.choose(&mut rng).copied().filter(|_| stuck.is_some() || rng.random());
            let mut task: TaskDesc = random(&mut rng);
            task.kind = bits(rng.random_range(0..3));
            task.length = bits([rng.random_range(1..4096), 64, 2047, 2048, 2049, 16383][rng.random_range(0..6)]);
            if let Some((cluster, hpu)) = target {
                (task.cluster, task.hpu) = (bits(cluster as u64), bits(hpu as u64));
            }
            dut.task_desc.valid.set(target.is_some());
            dut.task_desc.set(task);
            let installed = rng.random_bool(0.2).then(|| (rng.random_range(0..CONTEXTS), random(&mut rng)));
            install(&dut, installed, &mut rng);
            let room = stuck.is_some() || rng.random_range(0..4) > 0;
            dut.load.ready.set(room);
            dut.eval();
            let goes: Vec<usize> = (0..CLUSTERS).filter(|i| dut.valid[*i].is_high()).collect();
            assert!(goes.len() <= 1, "one task at a time");
            assert_eq!(goes.len(), usize::from(comes), "cycle {now}: a task goes when a cluster takes one");
            stands = std::array::from_fn(|i| takes[i] && !goes.contains(&i));
            if let Some(i) = goes.first() {
                let (task_desc, since) = waiting[*i].pop_front().expect("a task waits");
                let context = context_of_task(contexts_before[task_desc.context.to_u64() as usize], task_desc.kind);
                assert_eq!(dut.job.get(), Job { task_desc, context }, "cycle {now}");
                let packet =
                    task_desc.has_packet.then(|| (task_desc.pkt.to_u64(), task_desc.length.to_u64().min(2048)));
                assert_eq!(requested, packet.map(|packet| (*i, packet)), "cycle {now}: its packet is on its way");
                at_once += usize::from(since + 1 == now);
                assert!(takes[*i]);
                taken[*i] += 1;
                if stuck.is_some() && since >= now / 500 * 500 {
                    longest = longest.max(now - since);
                }
            }
            if let Some((cluster, _)) = target {
                waiting[cluster].push_back((task, now));
            }
            let may_go = (0..CLUSTERS).any(|i| takes[i] && !goes.contains(&i) && !waiting[i].is_empty());
            comes = room && may_go;
            held += usize::from(may_go && !room);
            requested = dut.load.taken().map(|request| {
                assert!(request.skip.to_u64() == 0 && dut.load_cluster.number().is_power_of_two());
                let cluster = dut.load_cluster.number().trailing_zeros() as usize;
                (cluster, (request.pkt.to_u64(), request.length.to_u64()))
            });
            assert!(comes || requested.is_none(), "cycle {now}: a packet of no task");
            contexts_before = contexts;
            if let Some((number, entry)) = installed {
                contexts[number] = entry;
            }
            dut.tick();
        }
        assert!(taken.iter().all(|n| *n > 1000), "{taken:?}");
        assert!(at_once > 500 && held > 500, "{at_once} tasks granted at once, {held} held up by the load router");
        assert!(longest <= (CLUSTERS * HPUS) as u64 + 1, "a task waited {longest} cycles");
    });
}

#[test]
fn the_scheduler_knows_the_handlers_of_each_context() {
    run_with_wave_on_failure("dispatcher_status", |wave| {
        let dut = Dut::new(wave, Dispatcher::new(&CONFIG), "dispatcher");
        let mut rng = wave.rng();
        // Which handlers each context has: the handlers of an install are given 2 cycles later, `active` a cycle later.
        let (mut handlers, mut handlers_before) = ([[false; 3]; CONTEXTS], [[false; 3]; CONTEXTS]);
        let mut active = 0u64;
        for cycle in 0..20_000 {
            // An entry point has one bit, which any bit may be, or there is no handler.
            let mut point = || bits::<32>(if rng.random() { 1u64 << rng.random_range(0..32) } else { 0 });
            let (header, payload, completion) = (point(), point(), point());
            let entry = ContextEntry { header, payload, completion, ..random(&mut rng) };
            let installed = rng.random::<bool>().then(|| (rng.random_range(0..CONTEXTS), entry));
            install(&dut, installed, &mut rng);
            dut.eval();
            let expected = (0..CONTEXTS).fold(0, |status, c| {
                let [header, payload, completion] = handlers_before[c].map(u64::from);
                status | ((active >> c & 1) | header << 1 | payload << 2 | completion << 3) << (4 * c)
            });
            assert_eq!(dut.context_status.number(), expected, "cycle {cycle}");
            handlers_before = handlers;
            if let Some((number, entry)) = installed {
                handlers[number] = [entry.header, entry.payload, entry.completion].map(|point| point.any());
            }
            active = rng.random_range(0..1 << CONTEXTS);
            dut.active.set(active);
            dut.tick();
        }
    });
}
