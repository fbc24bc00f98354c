//! Which cluster gets a task, against the rule.

use hpu_core::dispatcher::Dispatcher;
use rand::Rng;
use spindle_contract::descriptors::DESCRIPTORS;
use spindle_harness::{run_with_wave_on_failure, Source};

const CLUSTERS: usize = 4;

/// A task description with this home and frame.
fn task(home: u64, frame: u64) -> Vec<u8> {
    let descriptor = DESCRIPTORS.iter().find(|d| d.name == "task_desc").expect("the contract has a task_desc");
    let mut bytes = vec![0u8; descriptor.bits().div_ceil(8)];
    let mut at = 0;
    for field in descriptor.fields {
        let value = match field.name {
            "cluster" => home,
            "frame" => frame,
            _ => 0,
        };
        for bit in (0..field.bits).filter(|bit| value >> bit & 1 == 1) {
            bytes[(at + bit) / 8] |= 1 << ((at + bit) % 8);
        }
        at += field.bits;
    }
    bytes
}

#[test]
fn home_then_the_most_room() {
    run_with_wave_on_failure("dispatcher", |wave| {
        let design =
            spindle_verilog::emit(&mut Dispatcher::new(CLUSTERS), "dispatcher").unwrap_or_else(|e| panic!("{e}"));
        let mut model = wave.model(&Source::from_text("dispatcher", design.to_string())).expect("it compiles");
        let mut rng = wave.rng();
        let port = |name: &str| model.port(name).unwrap_or_else(|error| panic!("{error}"));
        let each = |name: &str| (0..CLUSTERS).map(|i| port(&format!("{name}_{i}"))).collect::<Vec<_>>();
        let (desc, offered, taken) = (port("task_desc"), port("task_valid"), port("task_ready"));
        let [valid, ready, free, idle] = ["valid", "ready", "free_hpus", "has_idle"].map(each);
        model.reset(2);
        let mut sent = [0; CLUSTERS];
        let mut at_home = 0;
        for round in 0..3000u64 {
            // A task waits while no cluster is ready; the clusters' room has been standing for a cycle when one is.
            let home = rng.random_range(0..8);
            let rooms: [(u64, u64); CLUSTERS] =
                std::array::from_fn(|_| (rng.random_range(0..2), rng.random_range(0..16)));
            for i in 0..CLUSTERS {
                model.set(idle[i], rooms[i].0);
                model.set(free[i], rooms[i].1);
                model.set(ready[i], 0);
            }
            model.set_bytes(desc, &task(home, round));
            model.set(offered, 1);
            model.eval();
            assert!(model.is_set(taken), "round {round}: the buffer is empty");
            model.tick();
            model.set(offered, 0);
            for _ in 0..rng.random_range(0..3) {
                model.tick();
            }
            let mask: u64 = rng.random_range(1..1 << CLUSTERS);
            for (i, ready) in ready.iter().enumerate() {
                model.set(*ready, mask >> i & 1);
            }
            model.eval();
            let can = |i: &usize| mask >> i & 1 == 1;
            let most = (0..CLUSTERS).filter(can).rev().max_by_key(|i| rooms[*i]).expect("one is ready");
            let is_home = |i: usize| home == i as u64 && rooms[i].0 == 1;
            let expected = (0..CLUSTERS).filter(can).find(|i| is_home(*i)).unwrap_or(most);
            at_home += usize::from(is_home(expected));
            for (i, valid) in valid.iter().enumerate() {
                assert_eq!(
                    model.is_set(*valid),
                    i == expected,
                    "round {round}, cluster {i}: home {home}, {rooms:?}, ready {mask:#b}"
                );
            }
            sent[expected] += 1;
            model.tick();
        }
        assert!(sent.iter().all(|n| *n > 300) && at_home > 300, "{sent:?}, {at_home} at home");
    });
}
