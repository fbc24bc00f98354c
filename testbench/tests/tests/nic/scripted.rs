//! Messages whose packets carry what their handlers shall do, the handler that obeys them, and what the rules of sPIN say of
//! their ends.

use rand::seq::IndexedRandom;
use rand::Rng;
use rand_chacha::ChaCha8Rng;
use spindle::Outcome;
use spindle_contract::memory_map::{SPIN_DROP, SPIN_FAIL, SPIN_PROCEED, SPIN_PROCESS_DATA};
use spindle_contract::params::SPINDLE_PORT;
use spindle_contract::wire::flag;
use spindle_model::frames::{spindle, udp, Ends, SpindleHeader};
use spindle_sim::WireFrame;

/// Messages of a run.
pub const MESSAGES: u32 = 700;
/// Contexts that run [`HANDLER`].
pub const CONTEXTS: usize = 4;
/// Match bits of the first context; those after the last belong to the context that never returns.
pub const FIRST: u64 = 0x100;
pub const KEY: u32 = 99;
/// Bytes of the buffer that a message has to itself.
pub const ROOM: u32 = 8192;
/// A code that stands for a store to where nothing is.
const FAULT: u8 = 9;
/// Obeys the packets, and watches over its order: breaches are counted in the first word of its variables.
pub const HANDLER: &str = r#"
#include "spin_atomic.h"
#include "spindle.h"

enum { FAULT = 9 };

/* By slot: number of the message + 1, and how many payload handlers it had. */
struct {
    uint32_t breaches;
    struct { volatile uint32_t name, payloads; } of[256];
} seen;

/* Runs for so many cycles, and ends so. */
static int play(const uint8_t *script) {
    uint32_t start = spin_cycles(), cycles = spin_get16(script);
    while (spin_cycles() - start < cycles) {}
    if (script[2] == FAULT) {
        *(volatile uint32_t *)4 = 1;
    }
    return script[2];
}
int header_handler(const spin_header_t *h, void *state) {
    (void)state;
    seen.of[h->msg_slot].payloads = 0;
    seen.of[h->msg_slot].name = h->msg_id + 1;
    spin_fence();
    return play(spin_payload(h));
}
int payload_handler(const spin_payload_t *p, void *state) {
    (void)state;
    if (seen.of[p->msg_slot].name != p->msg_id + 1) {
        spin_amo_add(&seen.breaches, 1);
    }
    spin_amo_add(&seen.of[p->msg_slot].payloads, 1);
    return play(spin_payload(p) + 3);
}
int completion_handler(uint32_t dropped_bytes, bool flow_control_triggered, void *state) {
    (void)flow_control_triggered, (void)state;
    const spin_task_t *task = spin_task();
    if (seen.of[task->msg_slot].name != task->msg_id + 1) {
        spin_amo_add(&seen.breaches, 1);
    }
    seen.of[task->msg_slot].name = 0;
    spin_event(seen.of[task->msg_slot].payloads, (uint64_t)dropped_bytes << 32 | task->msg_id);
    return SPIN_SUCCESS;
}"#;

/// A packet that is sent, and the end of its payload handler.
pub struct Packet {
    pub offset: u32,
    pub payload: Vec<u8>,
    pub code: u8,
}

pub struct Message {
    /// Of [`CONTEXTS`], or the one that never returns.
    pub context: usize,
    /// The end of its header handler.
    pub code: u8,
    pub length: u32,
    pub packets: Vec<Packet>,
    pub lossy: bool,
}

/// What the rules say of a message.
pub struct Expected {
    pub outcome: Outcome,
    /// What its completion handler reports: packets that had a payload handler, and bytes dropped.
    pub completion: Option<(u32, u32)>,
    /// Packets by their end; those of a message that fails in a payload handler are `either`: it depends on what ran before.
    pub handled: u32,
    pub placed: u32,
    pub dropped: u32,
    pub failed: u32,
    pub either: u32,
}

impl Message {
    fn random(context: usize, rng: &mut ChaCha8Rng) -> Message {
        let code =
            *[SPIN_PROCESS_DATA, SPIN_PROCESS_DATA, SPIN_PROCESS_DATA, SPIN_PROCEED, SPIN_DROP, SPIN_FAIL, FAULT]
                .choose(rng)
                .expect("seven");
        let (drops, fails) = (rng.random_bool(0.3), rng.random_bool(0.15));
        let cycles = |rng: &mut ChaCha8Rng| match rng.random_range(0..100) {
            0 => rng.random_range(1..=5000u16),
            1..10 => rng.random_range(1..=500),
            _ => rng.random_range(1..=50),
        };
        let [a, b] = cycles(rng).to_be_bytes();
        let header = [a, b, code];
        let mut offset = 0;
        let mut packet = |rng: &mut ChaCha8Rng| {
            let code = match () {
                _ if fails && rng.random_bool(0.4) => *[SPIN_FAIL, FAULT].choose(rng).expect("two"),
                _ if drops && rng.random_bool(0.4) => SPIN_DROP,
                _ => SPIN_PROCESS_DATA,
            };
            let [c, d] = cycles(rng).to_be_bytes();
            let length = if rng.random_bool(0.2) { 1408 } else { rng.random_range(6..700) };
            let mut payload: Vec<u8> = (0..length).map(|_| rng.random_range(1..=255)).collect();
            payload[..6].copy_from_slice(&[header[0], header[1], header[2], c, d, code]);
            offset += payload.len() as u32;
            Packet { offset: offset - payload.len() as u32, payload, code }
        };
        let count = *[1, 1, 2, 3, 5].choose(rng).expect("five");
        let packets: Vec<Packet> = (0..count).map(|_| packet(rng)).collect();
        Message { context, code, length: offset, packets, lossy: false }
    }

    pub fn expected(&self) -> Expected {
        let all = self.packets.len() as u32;
        let none = Expected {
            outcome: if self.lossy { Outcome::Aged } else { Outcome::Done },
            completion: None,
            handled: 0,
            placed: 0,
            dropped: 0,
            failed: 0,
            either: 0,
        };
        match self.code {
            _ if self.context == CONTEXTS => Expected { outcome: Outcome::Failed, failed: all, ..none },
            SPIN_DROP => Expected { outcome: Outcome::Dropped, dropped: all, ..none },
            SPIN_PROCEED => Expected { placed: all, completion: (!self.lossy).then_some((0, 0)), ..none },
            SPIN_PROCESS_DATA if self.packets.iter().any(|p| ![SPIN_PROCESS_DATA, SPIN_DROP].contains(&p.code)) => {
                Expected { outcome: Outcome::Failed, either: all, ..none }
            }
            SPIN_PROCESS_DATA => {
                let dropped = self.packets.iter().filter(|packet| packet.code == SPIN_DROP);
                let bytes = dropped.clone().map(|packet| packet.payload.len() as u32).sum();
                let dropped = dropped.count() as u32;
                let completion = (!self.lossy).then_some((all, bytes));
                Expected { completion, handled: all - dropped, dropped, ..none }
            }
            _ => Expected { outcome: Outcome::Failed, failed: all, ..none },
        }
    }
}

/// What came over the wire.
pub struct Traffic {
    pub messages: Vec<Message>,
    pub frames: Vec<WireFrame>,
    pub pings: usize,
    pub duplicates: u32,
}

/// Frames of all messages: near their place, some late, some twice. A message that loses packets is not protected by
/// sequence numbers.
pub fn traffic(rng: &mut ChaCha8Rng) -> Traffic {
    let mut messages = Vec::new();
    let mut timed: Vec<(usize, Vec<u8>)> = Vec::new();
    let (mut psn, mut at, mut pings, mut duplicates) = (0, 0, 0, 0);
    for id in 0..MESSAGES {
        let context = if rng.random_ratio(1, 60) { CONTEXTS } else { rng.random_range(0..CONTEXTS) };
        let mut message = Message::random(context, rng);
        let free = rng.random_bool(0.2);
        if free && message.packets.len() > 1 && rng.random_ratio(1, 5) {
            let lost = rng.random_range(0..message.packets.len());
            message.packets.remove(lost);
            message.lossy = true;
        }
        for packet in &message.packets {
            let header = SpindleHeader {
                flags: if free { flag::UNSEQ } else { 0 },
                psn,
                addr: FIRST + context as u64,
                key: KEY,
                msg_id: id,
                msg_len: message.length,
                msg_off: packet.offset,
                buf_off: id * ROOM,
                payload_len: packet.payload.len() as u16,
                ..SpindleHeader::default()
            };
            psn += u32::from(!free);
            let frame = spindle(&Ends::default(), 40_000, SPINDLE_PORT, &header, &packet.payload);
            let late = if rng.random_ratio(1, 30) { 300 } else { 30 };
            if !free && rng.random_ratio(1, 20) {
                timed.push((at + rng.random_range(0..200), frame.clone()));
                duplicates += 1;
            }
            timed.push((at + rng.random_range(0..late), frame));
            at += 1;
        }
        if id % 8 == 0 {
            timed.push((at, udp(&Ends::default(), 7, 9, &vec![id as u8; rng.random_range(20..900)])));
            pings += 1;
        }
        messages.push(message);
    }
    timed.sort_by_key(|(at, _)| *at);
    let frames = timed.into_iter().map(|(_, bytes)| WireFrame { bytes, gap: rng.random_range(0..70), bad: false });
    Traffic { messages, frames: frames.collect(), pings, duplicates }
}
