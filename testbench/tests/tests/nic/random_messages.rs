//! Random sPIN traffic on the whole NIC, message by message against what the rules of sPIN say of it.
//!
//! Packets come out of order, late, twice, or not at all; TX and host memory are slow at random; one context never returns,
//! and another one answers pings meanwhile. What handlers do is in their packets ([`scripted`](crate::nic::scripted)).

use crate::nic::bench::{Nic, Played};
use crate::nic::scripted::{traffic, Expected, Message, Traffic, CONTEXTS, FIRST, HANDLER, KEY, MESSAGES, ROOM};
use spindle::rule_table::Action;
use spindle::{ContextId, ContextOptions, EventKind, Outcome};
use spindle_contract::reasons::{DROP_REASONS, DUPLICATE, HANDLER_DROP, HANDLER_FAIL};
use spindle_harness::{seed_of_run, seeded_rng, with_seeds};
use spindle_sim::Options;
use std::collections::HashMap;

/// Longer than a late packet or a handler takes.
const TIMEOUT: u64 = 48 << 10;
const PROCESS: usize = 3;

/// Contexts of different weights and HPUs, each with a mailbox; the addresses of their buffers.
fn install(nic: &mut Nic) -> (Vec<ContextId>, Vec<u64>) {
    let masks = [u32::MAX, 0b0011_1100, u32::MAX, 0b1110_0011];
    let mut contexts = Vec::new();
    let mut buffers = Vec::new();
    for (i, core_mask) in masks.into_iter().enumerate() {
        let options =
            ContextOptions { weight: 1 + i as u8, core_mask, process: PROCESS as u8, ..ContextOptions::default() };
        let context = nic.install_source(HANDLER, options).context;
        let addr = FIRST + i as u64;
        nic.rule(&format!("spindle.addr == {addr}"), Action::ContextPerMessage(context));
        nic.device.activate(context).unwrap();
        let window = nic.device.init_window(0, addr, KEY, MESSAGES * ROOM).unwrap();
        buffers.push(nic.device.post_buffer(window, MESSAGES * ROOM).unwrap().buffer);
        contexts.push(context);
    }
    let options = ContextOptions { watchdog: 3000, process: PROCESS as u8, ..ContextOptions::default() };
    let context = nic.install("faulty/never_returns", options).context;
    nic.rule("spindle", Action::ContextPerMessage(context));
    nic.device.activate(context).unwrap();
    contexts.push(context);
    nic.handler("ping_pong", "udp", ContextOptions::default());
    (contexts, buffers)
}

/// Sums of all messages: the counters cannot say anything else.
fn counters(traffic: &Traffic, played: &Played) {
    let expected: Vec<Expected> = traffic.messages.iter().map(Message::expected).collect();
    let sum = |f: fn(&Expected) -> u32| expected.iter().map(f).sum::<u32>();
    let either = sum(|e| e.either);
    let count = |reason: usize| played.drops[reason];
    let handled = sum(|e| e.handled) + traffic.pings as u32;
    let ends = [
        ("handled", handled, played.stats.frames_handled),
        ("dropped", sum(|e| e.dropped), count(HANDLER_DROP)),
        ("failed", sum(|e| e.failed), count(HANDLER_FAIL)),
    ];
    for (what, least, counted) in ends {
        assert!((least..=least + either).contains(&counted), "{counted} packets {what}, expected {least} + {either}");
    }
    let total = |f: fn(&(&str, u32, u32)) -> u32| ends.iter().map(f).sum::<u32>();
    assert_eq!(total(|end| end.2), total(|end| end.1) + either);
    assert_eq!((played.stats.frames_placed, count(DUPLICATE)), (sum(|e| e.placed), traffic.duplicates));
    let known = [HANDLER_DROP, HANDLER_FAIL, DUPLICATE].map(|reason| DROP_REASONS[reason].0);
    assert!(played.drop_names().iter().all(|(name, _)| known.contains(name)), "{:?}", played.drop_names());
}

#[test]
fn random_messages_end_as_the_rules_say() {
    with_seeds(|| {
        let mut rng = seeded_rng("random_messages_end_as_the_rules_say");
        let mut traffic = traffic(&mut rng);
        let mut nic = Nic::new(Options {
            tx_ready_percent: 60,
            host_latency: (20, 600),
            seed: seed_of_run("random_messages_host"),
            ..Options::default()
        });
        let (contexts, buffers) = install(&mut nic);
        let mut ring = nic.device.open_ring(PROCESS, 8192).unwrap();
        nic.knows(1);
        nic.device.set_sequence_filter(true).unwrap();
        nic.device.set_message_timeout(TIMEOUT).unwrap();
        nic.device.set_receive(true).unwrap();
        let played = nic.play(std::mem::take(&mut traffic.frames));
        // The tombstones of messages that lost packets have yet to age.
        nic.card.sim().run(2 * TIMEOUT);
        counters(&traffic, &played);
        assert_eq!(played.sent.len(), traffic.pings, "the pings were answered");

        let mut ended: HashMap<u32, Outcome> = HashMap::new();
        let mut completed: HashMap<u32, (u32, u32)> = HashMap::new();
        while let Some(event) = nic.device.poll_event(&mut ring).unwrap() {
            let of = |id: u32| {
                let message = &traffic.messages[id as usize];
                assert_eq!(event.context, contexts[message.context], "message {id}");
                id
            };
            match event.kind {
                EventKind::Message { outcome, id, length, dropped, flow_control, .. } => {
                    let message = &traffic.messages[of(id) as usize];
                    assert_eq!((length, flow_control), (message.length, false), "message {id}");
                    if let Some((_, bytes)) = message.expected().completion {
                        assert_eq!(dropped, bytes, "message {id}");
                        assert!(completed.contains_key(&id), "the host is reported after the completion handler");
                    }
                    assert_eq!(ended.insert(id, outcome), None, "message {id} ended twice");
                }
                EventKind::User { user, length } => {
                    let reported = (length, (user >> 32) as u32);
                    assert_eq!(completed.insert(of(user as u32), reported), None, "completion handler twice");
                }
                EventKind::Fault(fault) => {
                    let expected = if event.context == contexts[CONTEXTS] { "FAULT_WATCHDOG" } else { "FAULT_STORE" };
                    assert_eq!(fault.cause_text().0, expected);
                }
                other => panic!("no one caused {other:?}"),
            }
        }
        for (id, message) in (0..).zip(&traffic.messages) {
            let expected = message.expected();
            assert_eq!(ended.get(&id), Some(&expected.outcome), "message {id}");
            assert_eq!(completed.get(&id), expected.completion.as_ref(), "message {id}");
            let Some(buffer) = buffers.get(message.context) else { continue };
            for packet in &message.packets {
                let mut got = vec![0; packet.payload.len()];
                let at = buffer + u64::from(id * ROOM + packet.offset);
                nic.card.sim().memory().memory.read(at, &mut got);
                let placed = if expected.placed > 0 { packet.payload.clone() } else { vec![0; got.len()] };
                assert!(got == placed, "message {id} in host memory");
            }
        }
        for context in &contexts[..CONTEXTS] {
            let mut breaches = [0; 4];
            nic.device.read_state(*context, 0, &mut breaches).unwrap();
            assert_eq!(breaches, [0; 4], "handlers ran out of order");
        }
        nic.device.close_ring(ring).unwrap();
        nic.assert_empty();
    });
}
