//! Tasks without a packet: exact cycles, admission, ends. The judge's random traffic has them among its packets.

use crate::packet_engine::schedule::payload_scheduler::bench::{packet, Bench};
use packet_engine::schedule::task_timers::types::{DueTask, WaitingTask};
use spindle_blocks::desc::{ContextPolicy, EventDesc};
use spindle_contract::descriptors::{action, kind};
use spindle_contract::params::Config;
use spindle_contract::{events, memory_map as code};
use spindle_harness::{run_with_wave_on_failure, WaveContext};
use spindle_verilog::prelude::bits;

const CONTEXT: u64 = 1;
const COMPLETION: u64 = 4;

fn due(argument: u64) -> DueTask {
    DueTask {
        context: bits(CONTEXT),
        task: WaitingTask { argument: bits(argument), deadline: bits(1234), frame: bits(77) },
    }
}

/// Offers a task until it is judged: cycles from its taking to the judgement, and whether it has begun.
fn offer(bench: &mut Bench, task: &DueTask) -> (u64, bool) {
    let mut taken = None;
    for _ in 0..40 {
        bench.dut.due.offer((taken.is_none()).then_some(*task));
        bench.dut.eval();
        let moves = bench.dut.due.moves();
        let (judged, begun) = (bench.dut.task_judged.is_high(), bench.dut.task_taken.is_high());
        let now = bench.now;
        bench.cycle();
        if judged {
            return (now - taken.expect("it was taken before"), begun);
        }
        taken = taken.or(moves.then_some(now));
    }
    panic!("the task is never judged");
}

fn bench(wave: &WaveContext, policy: ContextPolicy) -> Bench {
    let bench = Bench::with_policy(wave, Config::SIM, COMPLETION, &policy);
    bench.dut.due_alive.set(true);
    bench
}

#[test]
fn a_task_goes_to_an_hpu_and_ends() {
    run_with_wave_on_failure("task_begins", |wave| {
        let mut bench = bench(wave, ContextPolicy { pid: bits(41), ..ContextPolicy::default() });
        for (number, argument) in [0u64, u64::MAX, 0x0123_4567_89AB_CDEF].into_iter().enumerate() {
            let before = bench.now;
            assert_eq!(offer(&mut bench, &due(argument)), (3, true));
            // The taking is in the first cycle: an order 4 cycles after it, a task 1 cycle later.
            while bench.tasks.len() == number {
                bench.cycle();
            }
            assert_eq!(bench.now - 1 - before, 5, "cycles from a task that is due to the array");
            let task = *bench.tasks.last().expect("it was sent");
            assert_eq!(task.kind.to_u64(), u64::from(kind::TASK));
            assert_eq!((task.addr.to_u64(), task.stamp.to_u64(), task.frame.to_u64()), (argument, 1234, 77));
            assert_eq!((task.context.to_u64(), task.has_packet), (CONTEXT, false));
            assert_eq!(task.pkt.to_u64(), task.msg_slot.to_u64());
            assert_eq!(bench.dut.counts.messages_open.number(), 1);
            bench.ends(kind::TASK, task.msg_slot.to_u64(), task.pkt.to_u64(), code::SPIN_SUCCESS);
            assert_eq!(bench.dut.counts.messages_open.number(), 0);
        }
        assert_eq!((bench.freed.len(), bench.events.len()), (0, 0), "no cell returns, no event is sent");
    });
}

/// A task that fails has an event that says so, with its argument.
#[test]
fn a_task_that_fails_has_an_event() {
    run_with_wave_on_failure("task_fails", |wave| {
        let mut bench = bench(wave, ContextPolicy { pid: bits(41), ..ContextPolicy::default() });
        for value in [code::SPIN_FAIL, code::SPIN_DROP, code::SPIN_SUCCESS_PENDING, 200] {
            offer(&mut bench, &due(0xABCD_0000_1111 + u64::from(value)));
            bench.cycles(10);
            let task = bench.tasks.pop().expect("it was sent");
            bench.ends(kind::TASK, task.msg_slot.to_u64(), task.pkt.to_u64(), value);
            let wanted = EventDesc {
                pid: bits(41),
                kind: bits(u64::from(events::MESSAGE)),
                context: bits(CONTEXT),
                code: bits(u64::from(events::message::FAILED)),
                flags: bits(u64::from(events::message::TASK)),
                user: task.addr,
                ..EventDesc::default()
            };
            assert_eq!(bench.events.pop(), Some(wanted), "code {value}");
        }
        assert!(bench.freed.is_empty(), "no cell returns");
    });
}

/// A task counts against its context's quota of messages, as a message does; neither begins while the quota is used up.
#[test]
fn a_task_waits_for_the_quota_of_its_context() {
    run_with_wave_on_failure("task_quota", |wave| {
        let mut bench = bench(wave, ContextPolicy { messages: bits(1), ..ContextPolicy::default() });
        assert_eq!(offer(&mut bench, &due(1)), (3, true));
        bench.cycles(10);
        assert_eq!(offer(&mut bench, &due(2)), (3, false), "the context has its message");
        bench.send(&packet(1, action::CONTEXT, CONTEXT, 5, 10, 10));
        assert_eq!(bench.drops.len(), 1, "a message is turned away by the quota");
        let task = bench.tasks.pop().expect("it was sent");
        assert!(bench.tasks.is_empty());
        bench.ends(kind::TASK, task.msg_slot.to_u64(), task.pkt.to_u64(), code::SPIN_SUCCESS);
        assert_eq!(offer(&mut bench, &due(2)), (3, true));
        bench.cycles(10);
        let task = bench.tasks.pop().expect("it was sent");
        bench.ends(kind::TASK, task.msg_slot.to_u64(), task.pkt.to_u64(), code::SPIN_SUCCESS);
        // Of a context that is not active none begins, nor of one that was not.
        bench.dut.due_alive.set(false);
        assert_eq!(offer(&mut bench, &due(3)), (3, false));
        bench.dut.due_alive.set(true);
        bench.dut.contexts.set_bytes(&[0; 8]);
        bench.cycles(3);
        assert_eq!(offer(&mut bench, &due(3)), (3, false));
        bench.cycles(20);
        assert_eq!((bench.tasks.len(), bench.dut.counts.messages_open.number()), (0, 0));
    });
}

/// Every slot can have a task; one more waits. Their orders wait in their context's queue as long as no HPU has room.
#[test]
fn as_many_tasks_as_slots() {
    run_with_wave_on_failure("task_slots", |wave| {
        let mut bench = bench(wave, ContextPolicy::default());
        let slots = Config::SIM.live_messages;
        // Each HPU announced room for one task.
        bench.dut.task_room.set(0);
        for number in 0..slots as u64 {
            assert_eq!(offer(&mut bench, &due(number)), (3, true), "task {number}");
        }
        assert_eq!(offer(&mut bench, &due(9999)), (3, false), "no slot is free");
        bench.cycles(20);
        while bench.tasks.len() < slots {
            let before = bench.tasks.len();
            bench.dut.task_room.set(u32::MAX);
            bench.cycles(1);
            bench.dut.task_room.set(0);
            bench.cycles(200);
            assert!(bench.tasks.len() > before, "{before} tasks left, the others do not");
        }
        let arguments: Vec<u64> = bench.tasks.iter().map(|task| task.addr.to_u64()).collect();
        assert_eq!(arguments, (0..slots as u64).collect::<Vec<_>>());
    });
}
