//! What a rule can say beside its context, on the whole NIC: messages that a field of the frame names and an end test ends,
//! and packets that go to the host as well.

use crate::nic::bench::{at_once, Nic};
use rand::seq::IndexedRandom;
use rand::Rng;
use spindle::rule::{Literal, Source, Term};
use spindle::rule_table::{Action, Delivery, Message};
use spindle::{ContextOptions, EventKind, Outcome, Rule};
use spindle_contract::params::SPINDLE_PORT;
use spindle_harness::{seeded_rng, with_seeds};
use spindle_model::frames::{put_message, udp, Ends, SpindleHeader, UDP_HEADERS};
use spindle_sim::Options;
use std::collections::BTreeMap;

/// Counts its calls: headers, payloads, completions.
const COUNTS: &str = r#"
#include "spin_atomic.h"
#include "spindle.h"

uint32_t calls[3];

int header_handler(const spin_header_t *h, void *state) {
    (void)h, (void)state;
    spin_amo_add(&calls[0], 1);
    return SPIN_PROCESS_DATA;
}
int payload_handler(const spin_payload_t *p, void *state) {
    (void)p, (void)state;
    spin_amo_add(&calls[1], 1);
    return SPIN_SUCCESS;
}
int completion_handler(uint32_t dropped_bytes, bool flow_control_triggered, void *state) {
    (void)dropped_bytes, (void)flow_control_triggered, (void)state;
    spin_amo_add(&calls[2], 1);
    return SPIN_SUCCESS;
}"#;

/// The only term of a rule.
fn term(text: &str) -> Term {
    let rule: Rule = text.parse().unwrap();
    let terms = rule.alternatives()[0].positive.iter().filter_map(|literal| match literal {
        Literal::Term(term) => Some(*term),
        Literal::Flag(_) => None,
    });
    let [term] = terms.collect::<Vec<_>>()[..] else { panic!("{text} is not one test") };
    term
}

/// A NIC with the context that counts, and its process' ring.
fn counting(message: Message, end: Option<Term>, to_host: bool, rule: &str) -> (Nic, spindle::ContextId) {
    let mut nic = Nic::new(Options::default());
    let context = nic.install_source(COUNTS, ContextOptions { process: 1, ..ContextOptions::default() }).context;
    nic.rule(rule, Action::Deliver(Delivery { context, message, end, to_host }));
    nic.device.activate(context).unwrap();
    nic.device.set_receive(true).unwrap();
    (nic, context)
}

fn calls(nic: &mut Nic, context: spindle::ContextId) -> [u32; 3] {
    let mut bytes = [0; 12];
    nic.device.read_state(context, 0, &mut bytes).unwrap();
    std::array::from_fn(|i| u32::from_le_bytes(bytes[4 * i..4 * i + 4].try_into().unwrap()))
}

/// Plain UDP: the first word of the payload names the message, a byte after it is 1 in its last packet. Streams are
/// interleaved, and each number is used for one message after the other.
#[test]
fn a_field_names_messages_and_a_test_ends_them() {
    with_seeds(|| {
        const STREAMS: u32 = 6;
        const MESSAGES: usize = 60;
        let mut rng = seeded_rng("a_field_names_messages_and_a_test_ends_them");
        let name = Source::Frame { offset: UDP_HEADERS, behind_tag: true };
        let (mut nic, context) = counting(Message::Field(name), Some(term("udp[12] == 1")), false, "udp");
        let mut ring = nic.device.open_ring(1, 128).unwrap();

        let mut streams: Vec<Vec<Vec<u8>>> = vec![Vec::new(); STREAMS as usize];
        let mut wanted: BTreeMap<u32, Vec<u32>> = BTreeMap::new();
        for _ in 0..MESSAGES {
            let stream = rng.random_range(0..STREAMS);
            let packets = rng.random_range(1..5);
            let mut bytes = 0;
            for packet in 1..=packets {
                let mut payload = vec![0xEE; rng.random_range(5..300)];
                payload[..4].copy_from_slice(&(stream + 0xABCD_0000).to_be_bytes());
                payload[4] = (packet == packets).into();
                bytes += payload.len() as u32;
                streams[stream as usize].push(udp(&Ends::default(), 3, 4, &payload));
            }
            wanted.entry(stream + 0xABCD_0000).or_default().push(bytes);
        }
        let mut frames = Vec::new();
        streams.iter_mut().for_each(|stream| stream.reverse());
        let mut left: Vec<usize> = (0..streams.len()).filter(|i| !streams[*i].is_empty()).collect();
        while let Some(stream) = left.choose(&mut rng).copied() {
            frames.extend(streams[stream].pop());
            left.retain(|i| !streams[*i].is_empty());
        }
        let played = nic.play(at_once(&frames));
        assert_eq!(played.drop_names(), []);
        assert_eq!(played.stats.frames_handled as usize, frames.len());
        assert_eq!(calls(&mut nic, context), [MESSAGES as u32, frames.len() as u32, MESSAGES as u32]);
        let mut lengths: BTreeMap<u32, Vec<u32>> = BTreeMap::new();
        while let Some(event) = nic.device.poll_event(&mut ring).unwrap() {
            match event.kind {
                EventKind::Message { outcome: Outcome::Done, id, length, dropped: 0, flow_control: false, .. } => {
                    lengths.entry(id).or_default().push(length)
                }
                other => panic!("no one caused {other:?}"),
            }
        }
        // Messages of one number may end in another order than they came.
        wanted.values_mut().chain(lengths.values_mut()).for_each(|lengths| lengths.sort_unstable());
        assert_eq!(lengths, wanted);
        nic.device.close_ring(ring).unwrap();
        nic.assert_empty();
    });
}

/// Every packet has its handler and stands in the mailbox's buffer as well. It is counted once, as placed.
#[test]
fn packets_go_to_the_host_as_well() {
    with_seeds(|| {
        const ADDRESS: u64 = 0x77;
        const KEY: u32 = 3;
        let mut rng = seeded_rng("packets_go_to_the_host_as_well");
        let (mut nic, context) = counting(Message::SpindleHeader, None, true, "spindle");
        let lengths: Vec<usize> = (0..8).map(|_| rng.random_range(1..6000)).collect();
        let total: usize = lengths.iter().sum();
        let window = nic.device.init_window(0, ADDRESS, KEY, total as u32).unwrap();
        let posted = nic.device.post_buffer(window, total as u32).unwrap();

        let mut frames = Vec::new();
        let mut sent = Vec::new();
        for (msg_id, length) in (0..).zip(&lengths) {
            let header = SpindleHeader {
                addr: ADDRESS,
                key: KEY,
                msg_id,
                buf_off: sent.len() as u32,
                ..SpindleHeader::default()
            };
            let data: Vec<u8> = (0..*length).map(|_| rng.random()).collect();
            frames.extend(put_message(&Ends::default(), SPINDLE_PORT, &header, &data, 1408));
            sent.extend(data);
        }
        use rand::seq::SliceRandom;
        frames.shuffle(&mut rng);
        let played = nic.play(at_once(&frames));
        assert_eq!(played.drop_names(), []);
        assert_eq!((played.stats.frames_handled, played.stats.frames_placed), (0, frames.len() as u32));
        let messages = lengths.len() as u32;
        assert_eq!(calls(&mut nic, context), [messages, frames.len() as u32, messages]);
        assert_eq!(nic.device.poll(&posted).unwrap().expect("the buffer is full").length as usize, total);
        let mut got = vec![0; total];
        nic.card.sim().memory().memory.read(posted.buffer, &mut got);
        assert!(got == sent, "the buffer holds something else");
        nic.assert_empty();
    });
}
