//! The fate ports report the rule, the context, the message, the handlers and the end of every frame.
//!
//! That the ends are as many as the counters count is checked in every run of [`Nic::play`], so [`super::accounting`] checks
//! it for each drop reason alone.

use crate::nic::bench::{random_gaps, Nic, Played};
use rand::seq::IndexedRandom;
use rand::Rng;
use spindle::rule_table::Action;
use spindle::ContextOptions;
use spindle_contract::descriptors::kind;
use spindle_contract::params::SPINDLE_PORT;
use spindle_contract::reasons::*;
use spindle_harness::{seed_of_run, seeded_rng, with_seeds};
use spindle_model::frames::{put_message, spindle, udp, Ends, SpindleHeader, UDP_HEADERS};
use spindle_sim::{End, Event, FateEvent, Options, Step};
use std::collections::HashMap;

const KEY: u32 = 77;
const MAILBOX: u64 = 0x100;
/// Frames of a run; fewer than the frame numbers, so a number names a frame.
const FRAMES: usize = 400;
/// Rules of the test, in their order; the index is that of [`Expected::rule`].
const DROP_RULE: usize = 0;
const PUT_RULE: usize = 1;
const PING_RULE: usize = 2;
const INACTIVE_RULE: usize = 3;
const ECHO_RULE: usize = 4;
const FAULTY_RULE: usize = 5;

/// What a frame has to come to.
#[derive(Clone, Copy, Debug)]
struct Expected {
    rule: Option<usize>,
    /// Number of the rule among those that have a context.
    context: Option<usize>,
    end: End,
}

fn put(change: impl FnOnce(&mut SpindleHeader)) -> Vec<u8> {
    let mut header =
        SpindleHeader { addr: MAILBOX, key: KEY, msg_len: 64, payload_len: 64, ..SpindleHeader::default() };
    change(&mut header);
    spindle(&Ends::default(), 50_000, SPINDLE_PORT, &header, &[7; 64])
}

/// A frame of each kind, with what it has to come to.
fn kinds(contexts: [usize; 4]) -> Vec<(Vec<u8>, Expected)> {
    let [ping, inactive, echo, faulty] = contexts;
    let datagram = |port| udp(&Ends::default(), 1, port, &[5; 22]);
    let mut broken = datagram(9);
    broken[UDP_HEADERS + 3] ^= 1;
    let mut other = datagram(9);
    other[12..14].copy_from_slice(&[0x86, 0xDD]);
    let dropped = |reason, rule, context| Expected { rule, context, end: End::Dropped(reason) };
    let handled = Expected { rule: Some(PING_RULE), context: Some(ping), end: End::Handled };
    vec![
        (datagram(9), handled),
        (datagram(10), handled),
        (datagram(1), dropped(RULE_DROP, Some(DROP_RULE), None)),
        (datagram(2), dropped(NO_CONTEXT, Some(INACTIVE_RULE), Some(inactive))),
        (datagram(3), dropped(HANDLER_DROP, Some(ECHO_RULE), Some(echo))),
        (datagram(4), dropped(HANDLER_FAIL, Some(FAULTY_RULE), Some(faulty))),
        (broken, dropped(BAD_UDP_CHECKSUM, None, None)),
        (vec![0; 13], dropped(RUNT, None, None)),
        (other, dropped(NO_RULE, None, None)),
        (put(|_| {}), Expected { rule: Some(PUT_RULE), context: None, end: End::Placed }),
        (put(|header| header.addr = 0x999), dropped(NO_MAILBOX, Some(PUT_RULE), None)),
        (put(|header| header.key += 1), dropped(BAD_KEY, Some(PUT_RULE), None)),
        (put(|header| header.buf_off = 1 << 20), dropped(OUT_OF_BOUNDS, Some(PUT_RULE), None)),
    ]
}

/// The rules above, on a NIC; the contexts of those that have one.
fn prepare(nic: &mut Nic) -> [usize; 4] {
    // The first and the third take two slots of the matcher each, so slots and rules are numbered differently.
    nic.rule("udp.dport == 1 || udp.dport == 11", Action::Drop);
    nic.rule("spindle", Action::Mailbox);
    let ping = nic.handler("ping_pong", "udp.dport == 9 || udp.dport == 10", ContextOptions::default()).context.0;
    let inactive = nic.install("ping_pong", ContextOptions::default()).context;
    nic.rule("udp.dport == 2", Action::Context(inactive));
    let echo = nic.handler("icmp_echo", "udp.dport == 3", ContextOptions::default()).context.0;
    let faulty = nic.handler("faulty/foreign_access", "udp.dport == 4", ContextOptions::default()).context.0;
    let window = nic.device.init_window(0, MAILBOX, KEY, 1 << 20).unwrap();
    nic.device.post_buffer(window, 1 << 20).unwrap();
    nic.device.set_receive(true).unwrap();
    [ping, inactive.0, echo, faulty]
}

/// Steps of each frame that was played, in order of time.
fn steps(played: &Played) -> Vec<Vec<FateEvent>> {
    let index: HashMap<u16, usize> = played.numbers.iter().enumerate().map(|(i, number)| (*number, i)).collect();
    assert_eq!(index.len(), played.numbers.len(), "each frame has a number of its own");
    let mut steps = vec![vec![]; index.len()];
    played.fates.iter().for_each(|event| steps[index[&event.frame]].push(*event));
    steps
}

#[test]
fn every_frame_has_the_fate_of_its_kind() {
    with_seeds(|| {
        let mut nic = Nic::new(Options { seed: seed_of_run("nic_fates"), tx_ready_percent: 70, ..Options::default() });
        let contexts = prepare(&mut nic);
        let kinds = kinds(contexts);
        let mut random = seeded_rng("nic_fates");
        let chosen: Vec<usize> =
            (0..FRAMES).map(|i| if i < kinds.len() { i } else { random.random_range(0..kinds.len()) }).collect();
        let frames: Vec<_> = chosen.iter().map(|kind| kinds[*kind].0.clone()).collect();
        let played = nic.play(random_gaps(&frames, 150, &mut random));
        for (frame, (steps, kind)) in steps(&played).iter().zip(&chosen).enumerate() {
            let expected = kinds[*kind].1;
            let described = || format!("frame {frame} of kind {kind}, {expected:?}: {steps:?}");
            let judged: Vec<_> = steps
                .iter()
                .filter_map(|event| match event.step {
                    Step::Judged { rule, passed } => Some((rule, passed, event.cycle)),
                    _ => None,
                })
                .collect();
            let [(rule, passed, judged_at)] = judged[..] else {
                panic!("judged {} times: {}", judged.len(), described())
            };
            assert_eq!(rule.and_then(|(slot, _)| nic.device.rule_of_slot(slot)), expected.rule, "{}", described());
            assert_eq!(rule.and_then(|(_, context)| context), expected.context, "{}", described());
            let ends: Vec<_> = steps.iter().filter(|event| matches!(event.step, Step::Ended(_))).collect();
            assert_eq!(ends.len(), 1, "{}", described());
            assert_eq!(ends[0].step, Step::Ended(expected.end), "{}", described());
            assert_eq!(steps.last().map(|event| event.step), Some(ends[0].step), "{}", described());
            assert_eq!(passed, ends[0].cycle > judged_at, "{}", described());
        }
        nic.assert_empty();
    });
}

/// Bits of a window's handle that are the number of its mailbox; the others are its generation.
const MAILBOX_NUMBER: usize = 0xFFF;

/// Frames of several messages, mixed: the frames of a message report the same slot, and the first of them begins the
/// message.
#[test]
fn frames_of_a_message_report_its_slot() {
    with_seeds(|| {
        const MESSAGES: u32 = 12;
        let mut nic = Nic::new(Options::default());
        let installed = nic.install("aggregate", ContextOptions::default());
        nic.rule("spindle.addr_lo == 5", Action::ContextPerMessage(installed.context));
        nic.device.activate(installed.context).unwrap();
        nic.rule("spindle", Action::Mailbox);
        let window = nic.device.init_window(0, MAILBOX, KEY, 1 << 20).unwrap();
        nic.device.post_buffer(window, 1 << 20).unwrap();
        nic.device.set_receive(true).unwrap();
        let mut random = seeded_rng("nic_fates_of_messages");
        let mut messages: Vec<(u32, std::vec::IntoIter<Vec<u8>>)> = (0..MESSAGES)
            .map(|id| {
                // Half of the messages go to handlers, half to the mailbox.
                let addr = if id % 2 == 0 { 5 } else { MAILBOX };
                let header =
                    SpindleHeader { addr, key: KEY, msg_id: id, buf_off: id * 4096, ..SpindleHeader::default() };
                (id, put_message(&Ends::default(), SPINDLE_PORT, &header, &[id as u8; 1500], 400).into_iter())
            })
            .collect();
        let (mut frames, mut owners) = (vec![], vec![]);
        while !messages.is_empty() {
            let at = *(0..messages.len()).collect::<Vec<_>>().choose(&mut random).unwrap();
            match messages[at].1.next() {
                Some(frame) => {
                    owners.push(messages[at].0);
                    frames.push(frame);
                }
                None => drop(messages.swap_remove(at)),
            }
        }
        let played = nic.play(random_gaps(&frames, 60, &mut random));
        let mut slots: HashMap<u32, usize> = HashMap::new();
        for (steps, owner) in steps(&played).iter().zip(&owners) {
            let joined: Vec<_> = steps
                .iter()
                .filter_map(|event| match event.step {
                    Step::Joined { slot, begins } => Some((slot, begins)),
                    _ => None,
                })
                .collect();
            let [(slot, begins)] = joined[..] else { panic!("joined {} times: {steps:?}", joined.len()) };
            assert_eq!(begins, !slots.contains_key(owner), "message {owner}");
            assert_eq!(*slots.entry(*owner).or_insert(slot), slot, "message {owner}");
            // A mailbox takes the frames that are sent to it, and no other.
            let bound: Vec<_> = steps
                .iter()
                .filter_map(|event| match event.step {
                    Step::Bound { mailbox } => Some(mailbox),
                    _ => None,
                })
                .collect();
            let taker = (owner % 2 == 1).then_some(window.mailbox as usize & MAILBOX_NUMBER);
            assert_eq!(bound, Vec::from_iter(taker), "message {owner}");
            // Handlers of the frame work for the same message.
            for event in steps {
                if let Step::Sent { slot: of_task, .. } = event.step {
                    assert_eq!(of_task, slot, "message {owner}");
                }
            }
        }
        assert_eq!(slots.len(), MESSAGES as usize);
        let distinct: std::collections::HashSet<_> = slots.values().collect();
        assert!(distinct.len() > 1, "messages that are alive at a time have different slots: {slots:?}");
        nic.assert_empty();
    });
}

/// Cycles from a frame's lane `buffered` to the record that it joins a message.
const JOINED_AFTER: u64 = 4;

/// Waits for context memory, so that the other hardware thread gets a handler meanwhile.
const WAITS: &str = r#"
#include "spindle.h"
static volatile uint32_t words[8];
int header_handler(const spin_header_t *h, void *state) {
    (void)h;
    (void)state;
    for (uint32_t i = 0; i < 40; i++) words[i % 8] += i;
    return SPIN_PROCESS_DATA;
}
int payload_handler(const spin_payload_t *p, void *state) {
    (void)p;
    (void)state;
    return SPIN_SUCCESS;
}"#;

/// Each handler that was sent to an HPU starts there, and the two kinds come in their order; every record comes in the cycle
/// that docs/interfaces.md gives, relative to the trace points.
#[test]
fn every_start_was_sent_to_its_hpu() {
    with_seeds(|| {
        let mut nic = Nic::new(Options::default());
        let installed = nic.install_source(WAITS, ContextOptions::default());
        nic.rule("udp", Action::Context(installed.context));
        nic.device.activate(installed.context).unwrap();
        nic.device.set_receive(true).unwrap();
        let frames: Vec<_> = (0..120).map(|i| udp(&Ends::default(), 1, 9, &vec![i as u8; 20 + 3 * i])).collect();
        let played = nic.play(random_gaps(&frames, 12, &mut seeded_rng("nic_fates_of_handlers")));
        let (mut starts, mut threads) = (0, [0; 2]);
        for steps in steps(&played) {
            let (mut sent, mut kinds) = (None, vec![]);
            for event in steps {
                // The HPU that passes a point in the cycle of the record, or some cycles earlier.
                let passed = |point, earlier| {
                    let at =
                        |e: &&Event| e.point == point && e.frame == event.frame && e.cycle + earlier == event.cycle;
                    played.events.iter().find(at).map(|e| e.unit)
                };
                match event.step {
                    Step::Judged { .. } => assert_eq!(passed(T_MATCHED, 0), Some(0)),
                    Step::Joined { .. } => assert_eq!(passed(T_BUFFERED, JOINED_AFTER), Some(0)),
                    Step::Sent { unit, kind, .. } => {
                        assert_eq!(passed(T_SCHEDULED, 0), Some(0));
                        assert_eq!(sent.replace(unit), None, "one handler at a time");
                        kinds.push(kind);
                    }
                    Step::Started { unit, thread } => {
                        assert_eq!(sent.take(), Some(unit));
                        assert_eq!(passed(T_HANDLER_START, 0), Some(unit));
                        starts += 1;
                        threads[usize::from(thread)] += 1;
                    }
                    Step::Bound { mailbox } => panic!("mailbox {mailbox} takes a frame of the context"),
                    Step::Ended(_) => {}
                }
            }
            assert_eq!(sent, None, "every handler that was sent has started");
            assert_eq!(kinds, [kind::HEADER, kind::PAYLOAD]);
        }
        assert_eq!(starts, played.stats.tasks_done);
        assert!(threads[0] > 0 && threads[1] > 0, "both hardware threads of the HPUs work: {threads:?}");
    });
}
