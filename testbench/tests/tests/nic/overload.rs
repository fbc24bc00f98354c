//! Contexts that are given more than they may have, and messages whose rest never comes, on the whole NIC: what is dropped,
//! placed or refused, what the completion handler and the host receive, and that the counters say the same.

use crate::nic::bench::{at_once, Nic, Played};
use spindle::rule_table::Action;
use spindle::{ContextId, ContextOptions, EventKind, EventRing, Outcome, Overload};
use spindle_contract::params::SPINDLE_PORT;
use spindle_contract::reasons::{DROP_REASONS, DUPLICATE, PAUSED, QUOTA};
use spindle_model::frames::{spindle, udp, Ends, SpindleHeader};
use spindle_sim::{Options, WireFrame};

/// Bytes of a packet.
const PIECE: usize = 64;
const KEY: u32 = 7;
const NODE: u32 = 5;
/// Match bits of the contexts: one for each rule.
const RULES: [(u64, Overload); 3] = [(0x10, Overload::Drop), (0x20, Overload::Pause), (0x30, Overload::Place)];
/// A handler that takes longer than all frames of a play take to arrive, and keeps the sums of what its completion handler
/// was reported.
const SLOW: &str = r#"
#include "spin_atomic.h"
#include "spindle.h"

struct { uint32_t headers, payloads, completions, dropped, triggered; } reported;

static int linger(uint32_t *count) {
    spin_amo_add(count, 1);
    for (uint32_t start = spin_cycles(); spin_cycles() - start < 2000;) {}
    return 0;
}
int header_handler(const spin_header_t *h, void *state) {
    (void)h, (void)state;
    return linger(&reported.headers);
}
int payload_handler(const spin_payload_t *p, void *state) {
    (void)p, (void)state;
    return linger(&reported.payloads);
}
int completion_handler(uint32_t dropped_bytes, bool flow_control_triggered, void *state) {
    (void)state;
    spin_amo_add(&reported.completions, 1);
    spin_amo_add(&reported.dropped, dropped_bytes);
    spin_amo_add(&reported.triggered, flow_control_triggered);
    return SPIN_SUCCESS;
}"#;

/// Packet `part` of a message of `parts`; sequence numbers count from 0 in the order in which `psn` is asked for them.
fn packet(addr: u64, msg_id: u32, part: usize, parts: usize, psn: u32) -> Vec<u8> {
    let header = SpindleHeader {
        flags: 0,
        psn,
        src_nid: NODE,
        addr,
        key: KEY,
        msg_id,
        msg_len: (parts * PIECE) as u32,
        msg_off: (part * PIECE) as u32,
        buf_off: msg_id * (parts * PIECE) as u32,
        payload_len: PIECE as u16,
        ..SpindleHeader::default()
    };
    spindle(&Ends::default(), 40_000, SPINDLE_PORT, &header, &[(16 * msg_id) as u8 + part as u8 + 1; PIECE])
}

/// Installs [`SLOW`] for messages with these match bits.
fn slow(nic: &mut Nic, addr: u64, options: ContextOptions) -> ContextId {
    let context = nic.install_source(SLOW, options).context;
    nic.rule(&format!("spindle.addr == {addr}"), Action::ContextPerMessage(context));
    nic.device.activate(context).unwrap();
    context
}

/// The sums: header, payload, completion handlers; bytes, and how often flow control was triggered.
fn reported(nic: &mut Nic, context: ContextId) -> [u32; 5] {
    let mut bytes = [0; 20];
    nic.device.read_state(context, 0, &mut bytes).unwrap();
    std::array::from_fn(|i| u32::from_le_bytes(bytes[4 * i..4 * i + 4].try_into().unwrap()))
}

/// A NIC with a context for each rule, the PSN filter on, and the ring of their process.
fn overloaded(limits: ContextOptions) -> (Nic, [ContextId; 3], EventRing) {
    let mut nic = Nic::new(Options::default());
    let contexts = RULES.map(|(addr, overload)| slow(&mut nic, addr, ContextOptions { overload, ..limits }));
    nic.knows(NODE);
    nic.device.set_sequence_filter(true).unwrap();
    let ring = nic.device.open_ring(limits.process.into(), 64).unwrap();
    nic.device.set_receive(true).unwrap();
    (nic, contexts, ring)
}

/// How the messages of each context ended: id, outcome, dropped bytes, flow control, in order of id.
fn ends(nic: &mut Nic, ring: &mut EventRing, contexts: &[ContextId]) -> Vec<Vec<(u32, Outcome, u32, bool)>> {
    let mut ends = vec![Vec::new(); contexts.len()];
    while let Some(event) = nic.device.poll_event(ring).unwrap() {
        let at = contexts.iter().position(|context| *context == event.context).expect("no one else has a ring");
        match event.kind {
            EventKind::Message { outcome, id, dropped, flow_control, .. } => {
                ends[at].push((id, outcome, dropped, flow_control))
            }
            other => panic!("no one caused {other:?}"),
        }
    }
    ends.iter_mut().for_each(|ends| ends.sort_unstable_by_key(|end| end.0));
    ends
}

/// The byte of which each of so many packets in a buffer consists.
fn pieces(nic: &mut Nic, buffer: u64, count: usize) -> Vec<u8> {
    let mut bytes = vec![0; count * PIECE];
    nic.card.sim().memory().memory.read(buffer, &mut bytes);
    let one = |piece: &[u8]| {
        assert!(piece.iter().all(|byte| *byte == piece[0]), "{piece:?}");
        piece[0]
    };
    bytes.chunks(PIECE).map(one).collect()
}

/// What a play did: handled, placed, and dropped by reason.
fn counted(before: &Played, played: &Played) -> (u32, u32, Vec<(&'static str, u32)>) {
    let change = |f: fn(&Played) -> u32| f(played) - f(before);
    (change(|p| p.stats.frames_handled), change(|p| p.stats.frames_placed), played.drop_names())
}

fn dropped(reasons: &[(usize, u32)]) -> Vec<(&'static str, u32)> {
    reasons.iter().map(|(reason, count)| (DROP_REASONS[*reason].0, *count)).collect()
}

#[test]
fn messages_beyond_a_quota() {
    const MESSAGES: u32 = 6;
    const MOST: u32 = 2;
    const BEYOND: u32 = MESSAGES - MOST;
    let limits = ContextOptions { message_quota: MOST as u16, process: 2, ..ContextOptions::default() };
    let (mut nic, contexts, mut ring) = overloaded(limits);
    let window = nic.device.init_window(0, RULES[2].0, KEY, BEYOND * PIECE as u32).unwrap();
    let posted = nic.device.post_buffer(window, MESSAGES * PIECE as u32).unwrap();

    let nothing = nic.play(Vec::new());
    let all: Vec<_> = (0..MESSAGES)
        .flat_map(|id| (0..3).map(move |rule| packet(RULES[rule].0, id, 0, 1, id * 3 + rule as u32)))
        .collect();
    let first = nic.play(at_once(&all));
    assert_eq!(counted(&nothing, &first), (3 * MOST, BEYOND, dropped(&[(QUOTA, BEYOND), (PAUSED, BEYOND)])));
    let record = nic.device.poll(&posted).unwrap().expect("those that were placed fill the buffer");
    assert_eq!(record.length, BEYOND * PIECE as u32);
    let wanted = |id: usize| if id < MOST as usize { 0 } else { 16 * id as u8 + 1 };
    assert_eq!(
        pieces(&mut nic, posted.buffer, MESSAGES as usize),
        (0..MESSAGES as usize).map(wanted).collect::<Vec<_>>()
    );

    // What was refused comes again, and then everything: nothing passes twice.
    let refused: Vec<_> = all.iter().skip(3 * MOST as usize).enumerate().filter(|(i, _)| i % 3 < 2).collect();
    let mut before = first;
    for pair in refused.chunks(4) {
        let frames: Vec<_> = pair.iter().map(|(_, frame)| (*frame).clone()).collect();
        let played = nic.play(at_once(&frames));
        assert_eq!(counted(&before, &played), (4, 0, vec![]));
        before = played;
    }
    let again = nic.play(at_once(&all));
    assert_eq!(counted(&before, &again), (0, 0, dropped(&[(DUPLICATE, all.len() as u32)])));

    let ends = ends(&mut nic, &mut ring, &contexts);
    for (rule, (_, overload)) in RULES.into_iter().enumerate() {
        let placed = |id| overload == Overload::Place && id >= MOST;
        let wanted: Vec<_> = (0..MESSAGES).map(|id| (id, Outcome::Done, 0, placed(id))).collect();
        assert_eq!(ends[rule], wanted, "{overload:?}");
        let ran = if overload == Overload::Place { MOST } else { MESSAGES };
        assert_eq!(reported(&mut nic, contexts[rule]), [ran, ran, ran, 0, 0], "{overload:?}");
    }
    nic.device.close_ring(ring).unwrap();
    nic.assert_empty();
}

#[test]
fn packets_beyond_a_quota() {
    const PACKETS: usize = 6;
    const MOST: usize = 2;
    const BEYOND: u32 = (PACKETS - MOST) as u32;
    const LOST: u32 = BEYOND * PIECE as u32;
    let limits = ContextOptions { packet_quota: MOST as u16, process: 2, ..ContextOptions::default() };
    let (mut nic, contexts, mut ring) = overloaded(limits);
    let window = nic.device.init_window(0, RULES[2].0, KEY, LOST).unwrap();
    let posted = nic.device.post_buffer(window, (PACKETS * PIECE) as u32).unwrap();

    let nothing = nic.play(Vec::new());
    let all: Vec<_> = (0..PACKETS)
        .flat_map(|part| (0..3).map(move |rule| packet(RULES[rule].0, 0, part, PACKETS, (part * 3 + rule) as u32)))
        .collect();
    let mut before = nic.play(at_once(&all));
    let most = MOST as u32;
    assert_eq!(counted(&nothing, &before), (3 * most, BEYOND, dropped(&[(QUOTA, BEYOND), (PAUSED, BEYOND)])));
    assert_eq!(before.stats.messages_open, 1, "the message whose packets were refused waits for them");
    let refused: Vec<_> = all.iter().skip(3 * MOST + 1).step_by(3).cloned().collect();
    for frames in refused.chunks(MOST) {
        let played = nic.play(at_once(frames));
        assert_eq!(counted(&before, &played), (most, 0, vec![]));
        before = played;
    }
    // The sequence numbers of what was dropped inside a message are used up: its bytes have arrived.
    let again = nic.play(at_once(&all));
    assert_eq!(again.drop_names(), dropped(&[(DUPLICATE, all.len() as u32)]));
    // The buffer waits for the bytes that the handlers took, as for every message that was bound to it.
    assert_eq!(pieces(&mut nic, posted.buffer, PACKETS), [0, 0, 3, 4, 5, 6]);
    assert_eq!(nic.device.poll(&posted).unwrap(), None);

    let all_ran = PACKETS as u32;
    for (rule, ran, lost, triggered) in [(0, most, LOST, true), (1, all_ran, 0, false), (2, most, 0, true)] {
        assert_eq!(reported(&mut nic, contexts[rule]), [1, ran, 1, lost, triggered.into()], "{:?}", RULES[rule]);
    }
    let ends = ends(&mut nic, &mut ring, &contexts);
    let wanted = [(LOST, true), (0, false), (0, true)].map(|(lost, flow)| vec![(0, Outcome::Done, lost, flow)]);
    assert_eq!(ends, wanted);
    nic.device.close_ring(ring).unwrap();
    nic.assert_empty();
}

/// Messages that lack a packet end by their age, with an event and without their completion handler; another context notices
/// nothing.
#[test]
fn messages_whose_rest_never_comes() {
    const MESSAGES: u32 = 5;
    const PARTS: usize = 3;
    const ADDR: u64 = 0x40;
    const ANSWERED: usize = 40;
    const TIMEOUT: u64 = 8 << 10;
    let mut nic = Nic::new(Options::default());
    let context = slow(&mut nic, ADDR, ContextOptions { process: 2, ..ContextOptions::default() });
    nic.handler("ping_pong", "udp", ContextOptions::default());
    let mut ring = nic.device.open_ring(2, 64).unwrap();
    nic.device.set_message_timeout(TIMEOUT).unwrap();
    nic.device.set_receive(true).unwrap();
    let nothing = nic.play(Vec::new());

    // One packet of each message is lost, another one each time.
    let number = |id: u32, part: usize| id * PARTS as u32 + part as u32;
    let mut lossy = Vec::new();
    let mut lost = Vec::new();
    for id in 0..MESSAGES {
        for part in 0..PARTS {
            let list = if part == id as usize % PARTS { &mut lost } else { &mut lossy };
            list.push(packet(ADDR, id, part, PARTS, number(id, part)));
        }
    }
    let kept = lossy.len();
    let others =
        (0..ANSWERED).map(|i| WireFrame { bytes: udp(&Ends::default(), 1, 9, &[i as u8; 100]), gap: 1000, bad: false });
    let frames: Vec<_> = at_once(&lossy).into_iter().chain(others).collect();
    let played = nic.play(frames);
    assert_eq!(counted(&nothing, &played), ((kept + ANSWERED) as u32, 0, vec![]));
    assert_eq!(played.sent.len(), ANSWERED);
    assert_eq!((played.stats.messages_aged, played.stats.messages_open), (MESSAGES, 0));
    assert_eq!(reported(&mut nic, context), [MESSAGES, kept as u32, 0, 0, 0], "no completion handler has run");
    let aged: Vec<_> = (0..MESSAGES).map(|id| (id, Outcome::Aged, 0, false)).collect();
    assert_eq!(ends(&mut nic, &mut ring, &[context]), [aged]);

    // The numbers are free for messages of their own, which are whole.
    let whole: Vec<_> = (0..MESSAGES)
        .flat_map(|id| (0..PARTS).rev().map(move |part| packet(ADDR, id, part, PARTS, number(id, part))))
        .collect();
    let later = nic.play(at_once(&whole));
    assert_eq!(counted(&played, &later), (whole.len() as u32, 0, vec![]));
    assert_eq!(reported(&mut nic, context)[2..], [MESSAGES, 0, 0]);
    let done: Vec<_> = (0..MESSAGES).map(|id| (id, Outcome::Done, 0, false)).collect();
    assert_eq!(ends(&mut nic, &mut ring, &[context]), [done]);
    // One packet alone begins its message anew, and ages.
    for frame in at_once(&lost[..1]) {
        nic.card.sim().inject(frame);
    }
    nic.card.sim().run(3000);
    assert_eq!(nic.device.stats().unwrap().messages_open, 1);
    nic.card.sim().run(TIMEOUT * 3 / 2);
    assert_eq!(nic.device.stats().unwrap().messages_aged, MESSAGES + 1);
    nic.device.close_ring(ring).unwrap();
    nic.assert_empty();
}
