//! Tasks without a packet on the whole NIC: handlers and the host start them, at once or after a delay; chains of them; what is refused,
//! cancelled, or ends with its context; faults.

use crate::nic::bench::{at_once, Installed, Nic};
use rand::Rng;
use spindle::tasks::TaskCounters;
use spindle::{ContextId, ContextOptions, EventKind, Outcome};
use spindle_contract::memory_map::{base, CMD_ISSUE, COMMAND, TASK_CANCEL};
use spindle_contract::params::{Config, WAITING_TASKS};
use spindle_contract::reasons::HANDLER_DROP;
use spindle_harness::{seed_of_run, seeded_rng, with_seeds};
use spindle_model::frames::{udp, Ends};
use spindle_sim::Options;
use std::collections::HashMap;

/// A round of the scan of waiting tasks, and the cycles from an offer to the handler's first instruction when the NIC is idle.
const ROUND: u32 = (WAITING_TASKS * Config::SIM.contexts) as u32;
const TO_HANDLER: u32 = 40;
/// From an ISSUE to the cycle from which its delay counts: the command unit, the way to the packet engine, the timers.
const TO_TIMERS: u32 = 30;
/// Entries of the log.
const LOG: usize = 128;

/// The payload is a list of {action, argument (two words), delay}. Each is commanded and waited for; `failed` counts by action. A task
/// writes itself into the log. A task whose argument has bits 7:0 set starts the next one, with the delay of bits 31:8. With bit 63 it
/// fails.
const HANDLER: &str = r#"
#include "spin_atomic.h"
#include "spindle.h"

enum { LOG = 128, START = 1, CANCEL = 2 };
static struct {
    uint32_t tasks, failed[3], issued;
    struct { uint32_t low, high, due, began, frame, issued; } log[LOG];
} seen;

int header_handler(const spin_header_t *h, void *state) {
    (void)state;
    const uint32_t *word = (const uint32_t *)spin_payload(h);
    for (uint32_t i = 0; i < h->payload_len / 16; i++, word += 4) {
        uint64_t argument = (uint64_t)word[2] << 32 | word[1];
        seen.issued = spin_cycles();
        if (word[0] == START) {
            spin_start(argument, word[3]);
        } else {
            spin_cancel(argument);
        }
        spin_handle_t handle = spin_handle();
        spin_wait_for(handle);
        if (spin_failed(handle)) {
            spin_amo_add(&seen.failed[word[0]], 1);
        }
    }
    return SPIN_PROCESS_DATA;
}
int task_handler(const spin_task_t *t, void *state) {
    uint32_t began = spin_cycles();
    (void)state;
    uint32_t at = spin_amo_add(&seen.tasks, 1);
    if (at < LOG) {
        seen.log[at].low = t->addr_lo;
        seen.log[at].high = t->addr_hi;
        seen.log[at].due = t->stamp;
        seen.log[at].began = began;
        seen.log[at].frame = t->frame;
        seen.log[at].issued = seen.issued;
    }
    if (t->kind != SPIN_KIND_TASK || t->packet_len || t->payload_len || t->msg_id || t->msg_len || t->src_nid) {
        return SPIN_FAIL;
    }
    if (t->addr_lo & 0xff) {
        spin_start(spin_argument(t) - 1, t->addr_lo >> 8);
    }
    return t->addr_hi >> 31 ? SPIN_FAIL : SPIN_SUCCESS;
}"#;

/// A task as its handler saw it.
#[derive(Clone, Copy, Debug)]
struct Seen {
    argument: u64,
    due: u32,
    began: u32,
    frame: u32,
    issued: u32,
}

fn words(nic: &mut Nic, context: ContextId, count: usize) -> Vec<u32> {
    let mut bytes = vec![0; 4 * count];
    nic.device.read_state(context, 0, &mut bytes).unwrap();
    bytes.chunks(4).map(|word| u32::from_le_bytes(word.try_into().unwrap())).collect()
}

/// The log, and the commands that failed: starts, cancellations.
fn log(nic: &mut Nic, context: ContextId) -> (Vec<Seen>, [u32; 2]) {
    let words = words(nic, context, 5 + 6 * LOG);
    let seen = |w: &[u32]| Seen {
        argument: u64::from(w[1]) << 32 | u64::from(w[0]),
        due: w[2],
        began: w[3],
        frame: w[4],
        issued: w[5],
    };
    (words[5..].chunks(6).take(words[0] as usize).map(seen).collect(), [words[2], words[3]])
}

/// Actions of the payload.
fn start(argument: u64, delay: u32) -> [u32; 4] {
    [1, argument as u32, (argument >> 32) as u32, delay]
}
fn cancel(argument: u64) -> [u32; 4] {
    [2, argument as u32, (argument >> 32) as u32, 0]
}

fn frame(port: u16, actions: &[[u32; 4]]) -> Vec<u8> {
    let bytes: Vec<u8> = actions.iter().flatten().flat_map(|word| word.to_le_bytes()).collect();
    udp(&Ends::default(), 1, port, &bytes)
}

/// The NIC with [`HANDLER`] for UDP port 9.
fn open(options: ContextOptions) -> (Nic, Installed) {
    let mut nic = Nic::new(Options { seed: seed_of_run("nic_tasks"), ..Options::default() });
    let installed = install(&mut nic, HANDLER, 9, options);
    nic.device.set_receive(true).unwrap();
    (nic, installed)
}

fn install(nic: &mut Nic, source: &str, port: u16, options: ContextOptions) -> Installed {
    let installed = nic.install_source(source, options);
    nic.rule(&format!("udp.dport == {port}"), spindle::rule_table::Action::Context(installed.context));
    nic.device.activate(installed.context).unwrap();
    installed
}

/// Delays of random length, and chains: every task runs once, with its argument and the frame that led to it, never early, and late by
/// no more than the scan and the tasks before it allow.
#[test]
fn chains_of_delayed_tasks() {
    with_seeds(|| {
        let (mut nic, Installed { context, .. }) = open(ContextOptions::default());
        let mut rng = seeded_rng("nic_tasks");
        let mut expected: HashMap<u64, u32> = HashMap::new();
        let mut frames = vec![];
        for number in 0..4u64 {
            let mut actions = vec![];
            for i in 0..4u64 {
                let (chain, delay) = (rng.random_range(0..6u64), rng.random_range(0..3000u64));
                let first = rng.random_range(0..2000);
                let argument = (16 * number + i) << 32 | delay << 8 | chain;
                actions.push(start(argument, first));
                expected.insert(argument, first);
                expected.extend((0..chain).map(|left| (argument - chain + left, delay as u32)));
            }
            frames.push(frame(9, &actions));
        }
        let played = nic.play(at_once(&frames));
        nic.card.sim().run(30_000);
        let (mut tasks, failed) = log(&mut nic, context);
        assert_eq!((tasks.len(), failed), (expected.len(), [0, 0]));
        assert_eq!(
            nic.device.task_counters().unwrap(),
            TaskCounters { begun: tasks.len() as u32, ..Default::default() }
        );
        tasks.sort_by_key(|task| task.argument);
        for task in &tasks {
            assert!(expected.remove(&task.argument).is_some(), "{task:x?} ran twice, or was never started");
            let cause = played.numbers[(task.argument >> 36) as usize];
            assert_eq!(task.frame, u32::from(cause), "{task:x?}");
            let late = task.began.wrapping_sub(task.due);
            // At most 64 others are due meanwhile.
            assert!(late < ROUND + 8 * 64 + TO_HANDLER, "{task:x?} is {late} cycles late");
        }
        // In a chain the next one is due after its delay, from the command in the handler before.
        for pair in tasks.windows(2).filter(|pair| pair[0].argument + 1 == pair[1].argument) {
            let (next, before) = (pair[0], pair[1]);
            let delay = (before.argument >> 8 & 0xFF_FFFF) as u32;
            let after = next.due.wrapping_sub(before.began);
            assert!((delay..delay + 300).contains(&after), "{next:x?} is due {after} cycles after {before:x?}");
        }
        nic.assert_empty();
    });
}

/// One task alone: exact bounds, and the cycles from the command to the handler's first instruction.
#[test]
fn delays_are_kept() {
    let (mut nic, Installed { context, .. }) = open(ContextOptions::default());
    let mut rng = seeded_rng("nic_tasks");
    // The first handlers of a context wait for its stacks and scratchpads to be zeroed.
    const WARM: u64 = 60;
    for number in 0..WARM {
        nic.device.start_task(context, number << 32, 0).unwrap();
    }
    let delays: Vec<u32> = [0; 8].into_iter().chain((0..24).map(|_| rng.random_range(1..3000))).collect();
    for (number, delay) in delays.iter().enumerate() {
        nic.play(at_once(&[frame(9, &[start((number as u64) << 32, *delay)])]));
        nic.card.sim().run(u64::from(*delay) + 1000);
    }
    let (tasks, _) = log(&mut nic, context);
    let tasks = &tasks[WARM as usize..];
    assert_eq!(tasks.len(), delays.len());
    let mut direct = vec![];
    for (number, (task, delay)) in tasks.iter().zip(&delays).enumerate() {
        assert_eq!(task.argument, (number as u64) << 32);
        let counted = task.due.wrapping_sub(task.issued).wrapping_sub(*delay);
        assert!(counted < TO_TIMERS, "the delay of {task:x?} counts {counted} cycles after its command");
        let late = task.began.wrapping_sub(task.due);
        if *delay == 0 {
            direct.push(task.began.wrapping_sub(task.issued));
            assert!(late < TO_HANDLER, "{task:x?} is {late} cycles late");
        } else {
            assert!(late < ROUND + 3 + TO_HANDLER, "{task:x?} is {late} cycles late");
        }
    }
    println!("cycles from the command to the first instruction: {direct:?}");
    assert!(direct.iter().all(|cycles| *cycles <= TO_TIMERS + TO_HANDLER), "{direct:?}");
    nic.assert_empty();
}

/// The seventeenth task that waits, a cancellation without a task, and a context without a task handler: the command fails, nothing else
/// does. A delay that does not exist is a fault of the command.
#[test]
fn what_is_refused() {
    const WITHOUT: &str = r#"
        #include "spindle.h"
        static uint32_t failed;
        int header_handler(const spin_header_t *h, void *state) {
            (void)h, (void)state;
            spin_start(1, 0);
            spin_wait();
            failed += spin_failed(spin_handle());
            return SPIN_PROCESS_DATA;
        }"#;
    const BAD: &str = r#"
        #include "spindle.h"
        int header_handler(const spin_header_t *h, void *state) {
            (void)h, (void)state;
            spin_start(1, 0x80000001u);
            return SPIN_PROCESS_DATA;
        }
        int task_handler(const spin_task_t *t, void *state) {
            (void)state;
            spin_start(spin_argument(t), 0xffffffffu);
            return SPIN_SUCCESS;
        }"#;
    let (mut nic, Installed { context, .. }) = open(ContextOptions { process: 2, ..ContextOptions::default() });
    let without = install(&mut nic, WITHOUT, 10, ContextOptions::default());
    let bad = install(&mut nic, BAD, 11, ContextOptions { process: 2, ..ContextOptions::default() });
    let mut ring = nic.device.open_ring(2, 64).unwrap();
    let most = WAITING_TASKS as u64;
    let starts: Vec<_> = (0..most + 3).map(|i| start(i << 32, 200_000)).collect();
    nic.play(at_once(&[frame(9, &starts)]));
    assert_eq!(log(&mut nic, context).1, [3, 0]);
    // Two are cancelled, one of them twice; then two have room.
    let again = [cancel(3 << 32), cancel(3 << 32), cancel(0), start(77 << 32, 0), start(78 << 32, 100)];
    nic.play(at_once(&[frame(9, &again), frame(10, &[])]));
    nic.card.sim().run(1000);
    let (tasks, failed) = log(&mut nic, context);
    assert_eq!(failed, [3, 1]);
    assert_eq!(tasks.iter().map(|task| task.argument >> 32).collect::<Vec<_>>(), [77, 78]);
    assert_eq!(words(&mut nic, without.context, 1), [1], "there is no task handler");
    let counts = TaskCounters { begun: 2, refused: 3 + 1 + 1, cancelled: 2, dissolved: 0 };
    assert_eq!(nic.device.task_counters().unwrap(), counts);

    // Faults of the command: of the handler with a packet, and of the task. The latter has an event with its argument, as has a task
    // that returns a failure; a task that ends well has none.
    nic.play(at_once(&[frame(11, &[])]));
    nic.device.start_task(bad.context, 5 << 40 | 6, 0).unwrap();
    nic.card.sim().run(1000);
    nic.device.start_task(context, 1 << 63 | 9 << 32, 0).unwrap();
    nic.device.start_task(context, 8 << 32, 0).unwrap();
    nic.card.sim().run(1000);
    let (mut faults, mut failures) = (vec![], vec![]);
    while let Some(event) = nic.device.poll_event(&mut ring).unwrap() {
        match event.kind {
            EventKind::Fault(fault) => faults.push(fault),
            EventKind::TaskFailed { argument } => failures.push((event.context, argument)),
            EventKind::Message { outcome: Outcome::Failed, .. } => failures.push((event.context, 0)),
            _ => {}
        }
    }
    assert_eq!(failures, [(bad.context, 0), (bad.context, 5 << 40 | 6), (context, 1 << 63 | 9 << 32)]);
    assert_eq!(faults.len(), 2);
    for (fault, kind) in faults.iter().zip(["header", "task"]) {
        assert_eq!((fault.kind_text(), fault.cause_text().0, fault.context), (kind, "FAULT_COMMAND", bad.context));
        assert_eq!(fault.address, base(COMMAND) + CMD_ISSUE);
        let (function, _) = bad.image.symbol(fault.pc).expect("the pc lies in a function");
        assert_eq!(function, format!("{kind}_handler"));
    }
    nic.device.close_ring(ring).unwrap();

    // The tasks that wait end with their context, and nothing of it is left.
    assert_eq!(nic.device.live_messages(context).unwrap(), 0);
    nic.device.deactivate(context).unwrap();
    nic.card.sim().run(u64::from(ROUND));
    let left = WAITING_TASKS as u32 - 2;
    assert_eq!(nic.device.task_counters().unwrap().dissolved, left);
    nic.device.remove(context).unwrap();
    nic.card.sim().run(250_000);
    assert_eq!(nic.device.task_counters().unwrap().begun, 2 + 1 + 2, "no task of it has begun since");
    nic.assert_empty();
}

/// The host's doorbell: at once, after a delay, cancelled; and what it refuses.
#[test]
fn the_host_starts_tasks() {
    let (mut nic, Installed { context, .. }) = open(ContextOptions::default());
    nic.device.start_task(context, u64::MAX >> 1 & !0xFF, 0).unwrap();
    let rung = nic.card.sim().cycle() as u32;
    nic.device.start_task(context, 1 << 32, 5000).unwrap();
    nic.device.start_task(context, 2 << 32, 400).unwrap();
    assert!(nic.device.cancel_task(context, 1 << 32).unwrap());
    assert!(!nic.device.cancel_task(context, 1 << 32).unwrap());
    assert!(!nic.device.cancel_task(context, 3 << 32).unwrap());
    nic.card.sim().run(8000);
    let (tasks, _) = log(&mut nic, context);
    assert_eq!(tasks.iter().map(|task| task.argument).collect::<Vec<_>>(), [u64::MAX >> 1 & !0xFF, 2 << 32]);
    assert!(tasks.iter().all(|task| task.frame == 0), "no packet led to them: {tasks:x?}");
    let passed = tasks[1].due.wrapping_sub(rung);
    assert!((400..1000).contains(&passed), "{passed} cycles from the doorbell of a delay of 400");
    let counts = TaskCounters { begun: 2, refused: 2, cancelled: 1, dissolved: 0 };
    assert_eq!(nic.device.task_counters().unwrap(), counts);

    // Refused: too long a delay; seventeen that wait; a context that is not active, or is none.
    let sentence = nic.device.start_task(context, 0, TASK_CANCEL).unwrap_err().to_string();
    assert!(sentence.contains("2147483648"), "{sentence}");
    (0..WAITING_TASKS as u64).for_each(|i| nic.device.start_task(context, i, 1_000_000).unwrap());
    let sentence = nic.device.start_task(context, 99, 0).unwrap_err().to_string();
    assert!(sentence.contains("takes no task"), "{sentence}");
    nic.device.deactivate(context).unwrap();
    nic.card.sim().run(u64::from(ROUND));
    assert!(nic.device.start_task(context, 99, 0).is_err());
    assert!(nic.device.start_task(ContextId(99), 0, 0).is_err());
    assert_eq!(nic.device.task_counters().unwrap().dissolved, WAITING_TASKS as u32);
    nic.assert_empty();
}

/// Tasks of one context that find their quota used up wait, and all begin later; those of another context do not notice.
#[test]
fn a_quota_holds_tasks_back() {
    const SLOW: &str = r#"
        #include "spin_atomic.h"
        #include "spindle.h"
        static struct { uint32_t count, running, most; } slow;
        int task_handler(const spin_task_t *t, void *state) {
            (void)t, (void)state;
            uint32_t now = spin_amo_add(&slow.running, 1) + 1;
            spin_amo_maxu(&slow.most, now);
            for (uint32_t start = spin_cycles(); spin_cycles() - start < 3000;) {}
            spin_amo_add(&slow.count, 1);
            spin_amo_add(&slow.running, -1);
            return SPIN_SUCCESS;
        }"#;
    let (mut nic, Installed { context, .. }) = open(ContextOptions::default());
    let slow = install(&mut nic, SLOW, 10, ContextOptions { message_quota: 2, ..ContextOptions::default() });
    for i in 0..10 {
        nic.device.start_task(slow.context, i, 0).unwrap();
    }
    nic.device.start_task(context, 5 << 32, 0).unwrap();
    // Less than one of the slow tasks takes, of which five follow one another.
    nic.card.sim().run(u64::from(4 * ROUND));
    let (tasks, _) = log(&mut nic, context);
    assert_eq!(tasks.len(), 1, "another context does not wait");
    nic.card.sim().run(30_000);
    assert_eq!(words(&mut nic, slow.context, 3), [10, 0, 2], "all have run, two at a time");
    assert_eq!(nic.device.task_counters().unwrap().begun, 11);
    nic.assert_empty();
}

/// The example: each subscriber gets its packet back, at intervals.
#[test]
fn heartbeats() {
    const INTERVAL: u32 = 700;
    const BEATS: u32 = 4;
    let mut nic = Nic::new(Options::default());
    let installed = nic.handler("heartbeat", "udp.dport == 9", ContextOptions::default());
    // Its first two variables.
    let variables: Vec<u8> = [INTERVAL, BEATS].iter().flat_map(|word| word.to_le_bytes()).collect();
    nic.device.write_state(installed.context, 0, &variables).unwrap();
    nic.device.set_receive(true).unwrap();
    let frames: Vec<_> = (0..3).map(|i| udp(&Ends::default(), 100 + i, 9, &[i as u8; 60])).collect();
    let played = nic.play(at_once(&[&frames[..], &[udp(&Ends::default(), 1, 9, &[0; 900])]].concat()));
    assert_eq!(played.drops[HANDLER_DROP], 1, "one is too long");
    nic.card.sim().run(u64::from((BEATS + 2) * (INTERVAL + ROUND)));
    let mut sent: Vec<_> = played.sent.into_iter().map(|(_, frame)| frame).collect();
    sent.extend(nic.card.sim().take_sent());
    assert_eq!(sent.len(), 3 * BEATS as usize);
    for i in 0..3u16 {
        let port = (100 + i).to_be_bytes();
        let of_port = sent.iter().filter(|frame| frame.bytes[36..38] == port);
        let beats: Vec<u64> = of_port.map(|frame| frame.first).collect();
        assert_eq!(beats.len(), BEATS as usize);
        for pair in beats.windows(2) {
            let gap = (pair[1] - pair[0]) as u32;
            assert!(
                (INTERVAL - ROUND..INTERVAL + ROUND + 200).contains(&gap),
                "{gap} cycles between beats of {INTERVAL}"
            );
        }
    }
    nic.assert_empty();
}
