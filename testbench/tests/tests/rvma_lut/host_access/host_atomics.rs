//! Atomic operations on host memory.

use crate::rvma_lut::rvma_engine::agents::Atomic;
use crate::rvma_lut::rvma_engine::bench::Bench;
use rand::Rng;
use spindle_contract::events::atomic::{COMPARE_AND_SWAP, FETCH_AND_ADD};
use spindle_contract::params::Config;
use spindle_harness::{run_with_wave_on_failure, WaveContext};
use spindle_model::rvma_lut::host_access;
use spindle_sim::host_memory::{SparseMemory, Timing};
use std::collections::HashMap;

const BASE: u64 = 0x2_0000_0000 - 64;

fn load(memory: &SparseMemory, address: u64, wide: bool) -> u64 {
    let mut bytes = [0; 8];
    memory.read(address, &mut bytes[..if wide { 8 } else { 4 }]);
    u64::from_le_bytes(bytes)
}

fn store(memory: &mut SparseMemory, address: u64, wide: bool, value: u64) {
    memory.write(address, &value.to_le_bytes()[..if wide { 8 } else { 4 }]);
}

/// Operations on few words, so that many meet. Those on one word happen in the order of their issue.
fn storm(context: &WaveContext, idle: u32, timing: Timing, words: u64, count: usize) {
    let mut bench = Bench::new(context, &Config::SIM, (1, 1));
    bench.host.timing = timing;
    bench.agents.idle = idle;
    let mut model = SparseMemory::default();
    for word in 0..words {
        let value = bench.rng.random::<u64>();
        store(&mut model, BASE + 8 * word, true, value);
        bench.host.write(BASE + 8 * word, &value.to_le_bytes());
    }
    let mut expected: HashMap<u64, u64> = HashMap::new();
    for who in 0..count as u64 {
        let wide = bench.rng.random();
        let address =
            BASE + 8 * bench.rng.random_range(0..words) + if wide { 0 } else { 4 * bench.rng.random_range(0..2) };
        let old = load(&model, address, wide);
        let op = if bench.rng.random() { COMPARE_AND_SWAP } else { FETCH_AND_ADD };
        // Half of the comparisons hold, and narrow ones ignore the upper half.
        let compare = match bench.rng.random_range(0..4) {
            0 => bench.rng.random(),
            1 => old ^ 1 << bench.rng.random_range(0..64),
            _ => old,
        };
        let operand = bench.rng.random();
        bench.agents.atomic(&Atomic { who, op, wide, address, operand, compare });
        if let Some(value) = host_access::atomic(op, wide, old, operand, compare) {
            store(&mut model, address, wide, value);
        }
        expected.insert(who, old);
    }
    bench.run_until("atomics", |b| b.agents.atomic_ends.len() == count);
    bench.drain();
    for end in &bench.agents.atomic_ends {
        let old = expected.remove(&end.who).unwrap_or_else(|| panic!("operation {} ended twice", end.who));
        assert_eq!((end.value, end.error), (old, false), "operation {}", end.who);
    }
    assert!(expected.is_empty());
    assert_eq!(bench.host.memory.nonzero(), model.nonzero());
}

#[test]
fn random_atomics_on_few_words() {
    run_with_wave_on_failure("rvma_atomics_few", |context| {
        let timing = Timing { aw_stall: 20, w_stall: 20, response_min: 1, response_max: 60, read_stall: 30 };
        storm(context, 20, timing, 3, 300);
    });
}

#[test]
fn random_atomics_on_many_words() {
    run_with_wave_on_failure("rvma_atomics_many", |context| {
        let timing = Timing { aw_stall: 0, w_stall: 0, response_min: 1, response_max: 20, read_stall: 0 };
        storm(context, 0, timing, 64, 600);
    });
}

/// A read or a write that fails is said, and the next operation on the word goes on.
#[test]
fn errors_are_said() {
    run_with_wave_on_failure("rvma_atomics_errors", |context| {
        let mut bench = Bench::new(context, &Config::SIM, (1, 9));
        bench.host.keep_log = true;
        let add = |who, address| Atomic { who, op: FETCH_AND_ADD, wide: true, address, operand: 5, compare: 0 };
        bench.host.write(0x1000, &7u64.to_le_bytes());
        bench.host.failing = vec![0x2000..0x2001];
        bench.agents.atomic(&add(1, 0x2000));
        bench.agents.atomic(&add(2, 0x2000));
        bench.agents.atomic(&add(3, 0x1000));
        bench.run_until("atomics", |b| b.agents.atomic_ends.len() == 3);
        let mut ends: Vec<_> = bench.agents.atomic_ends.iter().map(|e| (e.who, e.error)).collect();
        ends.sort_unstable();
        assert_eq!(ends, [(1, true), (2, true), (3, false)]);
        assert_eq!(load(&bench.host.memory, 0x1000, true), 12);
        assert_eq!(load(&bench.host.memory, 0x2000, true), 0);
        // The word can be read, but the answer to the write is an error.
        bench.host.failing.clear();
        bench.agents.atomic(&add(4, 0x1000));
        bench.run_until("the read", |b| b.host.read_log.len() == 4);
        bench.host.failing = vec![0x1000..0x1001];
        bench.run_until("the write", |b| b.agents.atomic_ends.len() == 4);
        let end = bench.agents.atomic_ends[3];
        assert_eq!((end.who, end.error, end.value), (4, true, 12));
    });
}

#[test]
fn figures_of_atomics() {
    run_with_wave_on_failure("rvma_atomics_figures", |context| {
        let mut bench = Bench::new(context, &Config::SIM, (10, 10));
        bench.host.keep_log = true;
        let swap = |who, address| Atomic { who, op: COMPARE_AND_SWAP, wide: false, address, operand: 1, compare: who };
        bench.agents.atomic(&swap(0, 0x1004));
        bench.run_until("an atomic", |b| b.agents.atomic_ends.len() == 1);
        let (read, write) = (bench.host.read_log[0], bench.host.log[0].clone());
        assert_eq!((write.address, write.bytes.len()), (0x1000, 4));
        let taken = bench.agents.atomics.taken[0];
        println!(
            "taken to ARVALID {}, R to AWVALID {}, B to done {}",
            read.offered_cycle - taken,
            write.offered_cycle - read.last_cycle,
            bench.agents.atomic_ends[0].cycle - write.response_cycle
        );
        assert_eq!(read.offered_cycle - taken, 6);
        assert_eq!(write.offered_cycle - read.last_cycle, 9);
        assert_eq!(bench.agents.atomic_ends[0].cycle - write.response_cycle, 1);

        // A comparison that fails ends with the read.
        bench.agents.atomic(&swap(1, 0x2000));
        bench.run_until("an atomic", |b| b.agents.atomic_ends.len() == 2);
        let read = bench.host.read_log[1];
        assert_eq!(bench.agents.atomic_ends[1].cycle - read.last_cycle, 7);
        assert_eq!(bench.host.log.len(), 1, "nothing was written");
    });
}

#[test]
fn four_words_at_a_time() {
    run_with_wave_on_failure("rvma_atomics_overlap", |context| {
        let swap = |who, address| Atomic { who, op: COMPARE_AND_SWAP, wide: false, address, operand: 1, compare: who };
        // Four at a time, if their words differ; one at a time, if not.
        for (same, most) in [(false, 4), (true, 1)] {
            let mut bench = Bench::new(context, &Config::SIM, (100, 100));
            for who in 0..12 {
                bench.agents.atomic(&swap(who, if same { 0x1000 } else { 0x1000 + 8 * who }));
            }
            bench.run_until("atomics", |b| b.agents.atomic_ends.len() == 12);
            assert_eq!(bench.host.most_reads_in_flight, most, "same word: {same}");
        }
    });
}
