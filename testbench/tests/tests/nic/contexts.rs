//! What the NIC counts by context, against the instructions that its processors retire and the fates of its frames.

use crate::nic::bench::{at_once, random_gaps, Installed, Nic, Played, CONFIG};
use rand::seq::IndexedRandom;
use rand::Rng;
use spindle::counters::ContextCounters;
use spindle::rule_table::Action;
use spindle::{ContextId, ContextOptions, Overload};
use spindle_contract::params::{Config, SPINDLE_PORT};
use spindle_contract::reasons::*;
use spindle_harness::{seeded_rng, with_seeds};
use spindle_model::frames::{echo_request, spindle, udp, Ends, SpindleHeader};
use spindle_sim::{End, Options, Retired, Step, WireFrame};
use std::collections::HashMap;
use std::sync::{Arc, Mutex};

/// Waits for context memory and divides, so that the two hardware threads take turns in the middle of handlers.
const BUSY: &str = r#"
#include "spindle.h"
static volatile uint32_t words[8];
int header_handler(const spin_header_t *h, void *state) {
    (void)state;
    for (uint32_t i = 0; i < 5 + h->frame_len % 7; i++) words[i % 8] += 1000 / (i + 1);
    return SPIN_PROCESS_DATA;
}
int payload_handler(const spin_payload_t *p, void *state) {
    (void)p, (void)state;
    words[7] += words[6];
    return SPIN_SUCCESS;
}"#;
/// Returns an error for every packet.
const FAILS: &str = r#"
#include "spindle.h"
int header_handler(const spin_header_t *h, void *state) {
    (void)h, (void)state;
    return SPIN_FAIL;
}"#;
/// Longer than the frames that meet its quota take to arrive.
const LINGERS: &str = r#"
#include "spindle.h"
int header_handler(const spin_header_t *h, void *state) {
    (void)h, (void)state;
    for (uint32_t start = spin_cycles(); spin_cycles() - start < 300;) {}
    return SPIN_PROCESS_DATA;
}"#;
const KEY: u32 = 9;

/// A context of this source for a UDP port; returns it.
fn context(nic: &mut Nic, text: &str, port: u16, options: ContextOptions) -> ContextId {
    let Installed { context, .. } = nic.install_source(text, options);
    nic.rule(&format!("udp.dport == {port}"), Action::Context(context));
    nic.device.activate(context).unwrap();
    context
}

/// The counters of each context.
fn counters(nic: &mut Nic, contexts: &[ContextId]) -> Vec<ContextCounters> {
    contexts.iter().map(|context| nic.device.context_counters(*context).unwrap()).collect()
}

/// By context, from the trace: tasks, faults, instructions, and drops by reason.
#[derive(Default, Debug, PartialEq, Eq, Clone)]
struct Traced {
    tasks: u32,
    faulted: u32,
    instructions: u64,
    drops: HashMap<usize, u32>,
}

impl Traced {
    fn of(counters: &ContextCounters) -> Traced {
        let drops =
            (0..CONTEXT_DROP_COUNT).map(|reason| (reason, counters.drops[reason])).filter(|(_, count)| *count > 0);
        let ContextCounters { tasks, faulted, instructions, .. } = *counters;
        Traced { tasks, faulted, instructions, drops: drops.collect() }
    }
}

/// What the fate ports and the retirement ports report of a play. The n-th handler that starts in a hardware thread is
/// the n-th that ends there.
fn traced(played: &Played, retired: &[Retired]) -> HashMap<usize, Traced> {
    let mut owner: HashMap<u16, usize> = HashMap::new();
    let mut of_contexts: HashMap<usize, Traced> = HashMap::new();
    let mut starts: HashMap<(usize, usize), Vec<usize>> = HashMap::new();
    for event in &played.fates {
        match event.step {
            Step::Judged { rule: Some((_, Some(context))), .. } => drop(owner.insert(event.frame, context)),
            Step::Started { unit, thread } => {
                starts.entry((unit, thread.into())).or_default().push(owner[&event.frame])
            }
            _ => {}
        }
    }
    for event in &played.fates {
        if let (Step::Ended(End::Dropped(reason)), Some(context)) = (event.step, owner.get(&event.frame)) {
            *of_contexts.entry(*context).or_default().drops.entry(reason).or_default() += 1;
        }
    }
    let mut at: HashMap<(usize, usize), usize> = HashMap::new();
    for retired in retired {
        let thread = (retired.unit, retired.thread);
        let handler = at.entry(thread).or_default();
        let counted = of_contexts.entry(starts[&thread][*handler]).or_default();
        counted.instructions += u64::from(!retired.trap);
        if retired.halt {
            counted.tasks += 1;
            counted.faulted += u32::from(retired.trap);
            *handler += 1;
        }
    }
    let ended: usize = at.values().sum();
    assert_eq!(ended, starts.values().map(Vec::len).sum::<usize>(), "every handler that started has ended");
    of_contexts
}

#[test]
fn tasks_instructions_and_drops_are_those_of_the_trace() {
    with_seeds(|| {
        let mut nic = Nic::of(Config { rvfi: true, ..CONFIG }, Options::default());
        nic.knows(3);
        nic.device.set_sequence_filter(true).unwrap();
        let quota = ContextOptions { message_quota: 1, overload: Overload::Pause, ..ContextOptions::default() };
        let limited = ContextOptions { watchdog: 200, ..ContextOptions::default() };
        let inactive = nic.install("ping_pong", ContextOptions::default()).context;
        let sequenced = nic.install("ping_pong", ContextOptions::default()).context;
        nic.rule(&format!("udp.dport == {SPINDLE_PORT}"), Action::Context(sequenced));
        nic.device.activate(sequenced).unwrap();
        let mut contexts = vec![inactive, sequenced];
        nic.rule("udp.dport == 10", Action::Context(inactive));
        contexts.push(context(&mut nic, BUSY, 11, ContextOptions::default()));
        contexts.push(context(&mut nic, FAILS, 12, ContextOptions::default()));
        contexts.push(context(&mut nic, LINGERS, 13, quota));
        contexts.push(nic.handler("faulty/foreign_access", "udp.dport == 14", ContextOptions::default()).context);
        contexts.push(nic.handler("faulty/never_returns", "udp.dport == 15", limited).context);
        contexts.push(nic.handler("icmp_echo", "udp.dport == 16 || icmp", ContextOptions::default()).context);
        nic.rule("udp.dport == 17", Action::Drop);
        nic.device.set_receive(true).unwrap();

        let retired = Arc::new(Mutex::new(vec![]));
        let sink = Arc::clone(&retired);
        nic.card.sim().set_retired(Some(Box::new(move |record| sink.lock().unwrap().push(*record))));
        let mut random = seeded_rng("nic_contexts");
        let ports = [10, 11, 11, 11, 11, 12, 13, 13, 14, 15, 16, 17, 18];
        let mut psn = 0;
        let mut frames: Vec<Vec<u8>> = (0..600)
            .map(|i| match random.random_range(0..8) {
                0 => echo_request(&Ends::default(), 1, i, &vec![i as u8; random.random_range(1..400)]),
                1 => {
                    // Some numbers come twice, and some are beyond the window.
                    psn += random.random_range(0..2);
                    let beyond = if random.random_range(0..10) == 0 { 5000 } else { 0 };
                    let payload = [i as u8; 40];
                    let header = SpindleHeader {
                        flags: 0,
                        psn: psn + beyond,
                        src_nid: 3,
                        key: KEY,
                        msg_id: i.into(),
                        msg_len: 40,
                        payload_len: 40,
                        ..Default::default()
                    };
                    spindle(&Ends::default(), 50_000, SPINDLE_PORT, &header, &payload)
                }
                _ => udp(
                    &Ends::default(),
                    1,
                    *ports.choose(&mut random).unwrap(),
                    &vec![i as u8; random.random_range(1..300)],
                ),
            })
            .collect();
        frames.push(udp(&Ends::default(), 1, 11, &[0; 20]));
        let played = nic.play(random_gaps(&frames, 60, &mut random));
        nic.card.sim().set_retired(None);
        let traced = traced(&played, &retired.lock().unwrap());
        let counted = counters(&mut nic, &contexts);
        for (context, counted) in contexts.iter().zip(&counted) {
            let expected = traced.get(&context.0).cloned().unwrap_or_default();
            assert_eq!(Traced::of(counted), expected, "context {}", context.0);
        }
        // The sums are those that the NIC counts for itself.
        let stats = played.stats;
        let all = nic.device.counters().unwrap().contexts;
        assert_eq!(all.iter().map(|context| context.tasks).sum::<u32>(), stats.tasks_done);
        assert_eq!(all.iter().map(|context| context.faulted).sum::<u32>(), stats.tasks_faulted);
        assert_eq!(all.iter().map(|context| context.instructions).sum::<u64>(), stats.instructions);
        for reason in [NO_CONTEXT, HANDLER_DROP, HANDLER_FAIL, PAUSED, DUPLICATE, PSN_WINDOW] {
            let of_contexts: u32 = all.iter().map(|context| context.drops[reason]).sum();
            assert!(of_contexts > 0, "{} did not occur", DROP_REASONS[reason].0);
            assert_eq!(of_contexts, stats.drops[reason], "{}", DROP_REASONS[reason].0);
        }
        for reason in [NO_RULE, RULE_DROP] {
            assert!(stats.drops[reason] > 0 && all.iter().all(|context| context.drops[reason] == 0));
        }
        nic.assert_empty();
    });
}

/// One task at a time: its cycles are those from the first fetch to the end, both of them in the trace.
#[test]
fn cycles_are_those_of_the_trace() {
    let mut nic = Nic::new(Options::default());
    let busy = context(&mut nic, BUSY, 11, ContextOptions::default());
    let lingers = context(&mut nic, LINGERS, 12, ContextOptions::default());
    nic.device.set_receive(true).unwrap();
    let mut before = [ContextCounters::default(); 2];
    for (port, length) in [(11, 20), (12, 20), (11, 26), (12, 300), (11, 43)] {
        let played = nic.play(at_once(&[udp(&Ends::default(), 1, port, &vec![7; length])]));
        let at = |point| played.events.iter().filter(move |event| event.point == point).map(|event| event.cycle);
        let cycles: u64 = at(T_HANDLER_START).zip(at(T_HANDLER_END)).map(|(start, end)| end - start + 1).sum();
        let tasks = at(T_HANDLER_END).count() as u32;
        let now = [busy, lingers].map(|context| nic.device.context_counters(context).unwrap());
        let (mine, other) = if port == 11 { (0, 1) } else { (1, 0) };
        let grown = now[mine].since(&before[mine]);
        assert_eq!((grown.tasks, grown.cycles), (tasks, cycles), "port {port}, {length} bytes");
        assert!(tasks > 0 && grown.instructions > 0 && grown.instructions < cycles);
        assert_eq!(now[other], before[other], "the other context did nothing");
        before = now;
    }
}

/// Frames that were dropped because the packet buffer was full are counted, while handlers of the same context end.
#[test]
fn frames_that_found_no_buffer_belong_to_their_context() {
    let mut nic = Nic::new(Options::default());
    let limit = ContextOptions { core_mask: 1, ..ContextOptions::default() };
    let slow = context(&mut nic, LINGERS, 11, limit);
    nic.device.set_receive(true).unwrap();
    let frames = CONFIG.cells() + 100;
    let frame = WireFrame { bytes: udp(&Ends::default(), 1, 11, &[7; 60]), gap: 0, bad: false };
    let played = nic.play(vec![frame; frames]);
    let counted = nic.device.context_counters(slow).unwrap();
    let expected = [NO_BUFFER, NO_MESSAGE_SLOT].map(|reason| played.drops[reason]);
    assert_eq!([NO_BUFFER, NO_MESSAGE_SLOT].map(|reason| counted.drops[reason]), expected);
    assert!(expected.iter().sum::<u32>() > 0, "nothing was dropped");
    assert_eq!(counted.dropped(), played.drops.iter().copied().map(u64::from).sum::<u64>());
}

/// A packet for a message that has all its bytes is not the parser's drop, although the reason is.
#[test]
fn a_packet_too_many_belongs_to_its_context() {
    let mut nic = Nic::new(Options::default());
    let lingers = nic.install_source(LINGERS, ContextOptions::default()).context;
    nic.rule(&format!("udp.dport == {SPINDLE_PORT}"), Action::ContextPerMessage(lingers));
    nic.device.activate(lingers).unwrap();
    nic.device.set_receive(true).unwrap();
    let packet = |msg_off: u32, payload_len: u16| {
        let ids = SpindleHeader { src_nid: 3, key: KEY, msg_id: 1, ..Default::default() };
        let header = SpindleHeader { msg_len: 80, msg_off, payload_len, ..ids };
        spindle(&Ends::default(), 50_000, SPINDLE_PORT, &header, &[7; 40])
    };
    // The second frame has another length than its header says, and meets no rule.
    let played = nic.play(at_once(&[packet(0, 40), packet(40, 20), packet(40, 40), packet(40, 40)]));
    let counted = nic.device.context_counters(lingers).unwrap();
    assert_eq!((played.drops[BAD_TRANSPORT], counted.drops[BAD_TRANSPORT], counted.dropped()), (2, 1, 1));
    assert_eq!((counted.tasks, counted.faulted), (1, 0));
}

/// An image that takes the place of another begins with nothing counted; the card goes on, until it is reset.
#[test]
fn a_new_context_begins_at_nothing() {
    let mut nic = Nic::new(Options::default());
    let first = context(&mut nic, FAILS, 11, ContextOptions::default());
    nic.device.set_receive(true).unwrap();
    let frame = udp(&Ends::default(), 1, 11, &[7; 60]);
    nic.play(at_once(&vec![frame.clone(); 3]));
    let counted = nic.device.context_counters(first).unwrap();
    assert_eq!((counted.tasks, counted.faulted, counted.drops[HANDLER_FAIL]), (3, 0, 3));
    nic.device.remove(first).unwrap();
    let second = nic.install_source(LINGERS, ContextOptions::default()).context;
    assert_eq!(second, first);
    assert_eq!(nic.device.context_counters(second).unwrap(), ContextCounters::default());
    nic.device.activate(second).unwrap();
    nic.play(at_once(&[frame]));
    assert_eq!(nic.device.context_counters(second).unwrap().tasks, 1);
    assert_eq!(nic.device.counters().unwrap().contexts[first.0].tasks, 4);
    nic.device.reset().unwrap();
    assert_eq!(nic.device.context_counters(second).unwrap(), ContextCounters::default());
    assert_eq!(nic.device.counters().unwrap().contexts, vec![ContextCounters::default(); CONFIG.contexts]);
    let error = nic.device.context_counters(ContextId(CONFIG.contexts)).unwrap_err().to_string();
    assert!(error.contains("there is no context 16"), "{error}");
}
