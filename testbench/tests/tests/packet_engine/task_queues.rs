//! The queues of tasks that wait, alone, against a queue for each context: tasks in and out in the same cycle, of one context or of
//! several.

use packet_engine::dispatch::task_queues::TaskQueues;
use packet_engine::schedule::message::TaskOrder;
use rand::seq::IteratorRandom;
use rand::Rng;
use spindle_contract::params::{Config, MAX_CONTEXTS};
use spindle_harness::{random_bits, run_with_wave_on_failure, share, Dut};
use std::collections::VecDeque;

const CONFIG: Config = Config { packet_buffer_bytes: 64 << 10, ..Config::SIM };
/// Tasks that wait, at most.
const PLACES: usize = CONFIG.cells() + CONFIG.live_messages;
/// Cycles in which pointers are cleared after reset.
const CLEARS: u64 = 20;

#[test]
fn tasks_leave_in_the_order_of_their_context() {
    run_with_wave_on_failure("task_queues_random", |wave| {
        let mut rng = wave.rng();
        let dut = Dut::new(wave, TaskQueues::new(&CONFIG), "task_queues");
        dut.push.set(false);
        dut.pop.set(false);
        dut.ticks(CLEARS);
        let mut queues = vec![VecDeque::<TaskOrder>::new(); MAX_CONTEXTS];
        let mut popped: VecDeque<Option<TaskOrder>> = [None, None].into();
        let (mut left, mut full, mut last, mut first) = (0, 0, 0, 0);
        let mut reset_at = 0;
        for cycle in 0..share(60_000) {
            // One context has most tasks, another one from time to time.
            let phase = cycle / 4500;
            // Now and then the last task of a context leaves while the next one comes.
            let single = (0..MAX_CONTEXTS).filter(|queue| queues[*queue].len() == 1).choose(&mut rng);
            let meets = single.filter(|_| rng.random_bool(0.1));
            let usual = if rng.random_bool(0.8) { 7 * phase % MAX_CONTEXTS } else { rng.random_range(0..MAX_CONTEXTS) };
            let context = meets.unwrap_or(usual);
            if phase % 3 == 2 && reset_at != phase {
                reset_at = phase;
                dut.push.set(false);
                dut.pop.set(false);
                dut.reset();
                dut.ticks(CLEARS);
                queues.iter_mut().for_each(VecDeque::clear);
                popped = [None, None].into();
            }
            let waiting: usize = queues.iter().map(VecDeque::len).sum();
            // There are as many tasks as cells and message slots, at most.
            let rate = [0.95, 0.4, 0.6][cycle / 300 % 3];
            let push = (waiting < PLACES && rng.random_bool(rate)).then(|| random_bits::<TaskOrder>(&mut rng));
            dut.push.set(push.is_some());
            dut.push_context.set(context);
            dut.order.set(push.unwrap_or_else(|| random_bits(&mut rng)));
            let some = (0..MAX_CONTEXTS).filter(|queue| !queues[*queue].is_empty()).choose(&mut rng);
            let usual = some.filter(|_| rng.random_bool(0.8)).unwrap_or_else(|| rng.random_range(0..MAX_CONTEXTS));
            let queue = meets.unwrap_or(usual);
            let pops = !queues[queue].is_empty() && rng.random_bool(1.0 - rate / 2.0);
            dut.queue.set(queue);
            dut.pop.set(pops);
            dut.eval();

            assert_eq!(dut.has_task.is_high(), !queues[queue].is_empty(), "cycle {cycle}: context {queue}");
            let backlog = (0..MAX_CONTEXTS).filter(|queue| !queues[*queue].is_empty()).fold(0, |bits, c| bits | 1 << c);
            assert_eq!(dut.backlog.number(), backlog, "cycle {cycle}");
            if let Some(task) = popped.pop_front().expect("two cycles") {
                assert_eq!(dut.popped.get(), task, "cycle {cycle}");
                left += 1;
            }
            popped.push_back(pops.then(|| queues[queue].pop_front().expect("a task")));
            last += usize::from(pops && queues[queue].is_empty() && push.is_none());
            first += usize::from(pops && queues[queue].is_empty() && push.is_some() && context == queue);
            if let Some(task) = push {
                queues[context].push_back(task);
            }
            full += usize::from(queues[context].len() > PLACES * 9 / 10);
            dut.tick();
        }
        assert!(left > 5000 && full > 100, "{left} tasks, {full} cycles with a full queue");
        assert!(last > 200 && first > 20, "{last} queues became empty, {first} for no cycle");
    });
}
