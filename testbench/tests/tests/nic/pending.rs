//! Messages whose completion is left to a command: their buffers complete when COMPLETE or the end of the message says so.

use crate::nic::bench::{at_once, Nic};
use rand::seq::{IteratorRandom, SliceRandom};
use rand::Rng;
use rand_chacha::ChaCha8Rng;
use spindle::rule_table::Action;
use spindle::rvma::{Posted, Window};
use spindle::window::WindowOptions;
use spindle::{ContextId, ContextOptions, EventKind};
use spindle_contract::params::SPINDLE_PORT;
use spindle_contract::reasons::T_FIRST_BEAT;
use spindle_contract::wire::status;
use spindle_harness::{seed_of_run, seeded_rng, share, with_seeds};
use spindle_model::frames::{put_message, Ends, SpindleHeader};
use spindle_sim::Options;

const ADDRESS: u64 = 0x7_0000_0077;
const KEY: u32 = 3;
const PROCESS: usize = 2;
/// Windows with handlers; one more gets what these redirect.
const WINDOWS: usize = 3;
/// Messages at a time: each may keep a hardware thread of the 16.
const MESSAGES: usize = 6;
/// Cycles in which packets are placed, handlers see a word of the host, and records are written.
const SETTLED: u64 = 5000;

/// What a header handler decides: bits 7:6 of the message number.
const PLAIN: u32 = 0;
const PLACED: u32 = 1;
const PROCEED: u32 = 2;
const REDIRECTED: u32 = 3;
/// How the completion handler ends: bits 9:8. COMPLETE and its own end are two steps.
const COMPLETES: u32 = 0;
const SUCCEEDS: u32 = 1;
const FAILS: u32 = 2;

/// Completion handlers wait for words that the host writes: `go`, then `end`.
const HANDLER: &str = r#"
#include "spindle.h"

#define WINDOW 0x70000007au
static volatile struct { uint32_t go[64], end[64], at[64], stamp[64]; } control;

int header_handler(const spin_header_t *h, void *state) {
    (void)state;
    control.stamp[h->msg_id & 63] = h->stamp;
    switch (h->msg_id >> 6 & 3) {
    case 0: return SPIN_PROCESS_DATA;
    case 2: return SPIN_PROCEED_PENDING;
    default: return SPIN_PROCESS_DATA_PENDING;
    }
}
int payload_handler(const spin_payload_t *p, void *state) {
    (void)state;
    if ((p->msg_id >> 6 & 3) == 3) {
        spin_redirect(WINDOW, p->buf_off + p->msg_off);
    } else {
        spin_place();
    }
    return SPIN_SUCCESS;
}
int completion_handler(uint32_t dropped_bytes, bool flow_control_triggered, void *state) {
    const spin_task_t *c = spin_task();
    (void)dropped_bytes;
    (void)flow_control_triggered;
    (void)state;
    uint32_t n = c->msg_id & 63;
    while (!control.go[n]) {
    }
    if ((c->msg_id >> 8 & 3) == 0) {
        uint32_t at = spin_cycles();
        spin_complete(c->msg_len, c->msg_id);
        control.at[n] = at;
        while (!control.end[n]) {
        }
    }
    return (c->msg_id >> 8 & 3) == 2 ? SPIN_FAIL : SPIN_SUCCESS_PENDING;
}"#;

/// A message under way.
#[derive(Clone, Debug)]
struct Message {
    id: u32,
    /// Buffer in which it lies, and the offset there.
    buffer: usize,
    offset: usize,
    data: Vec<u8>,
    holds: bool,
    /// COMPLETE is still to come; so is its end.
    steps: Vec<bool>,
}

struct Bench {
    nic: Nic,
    context: ContextId,
    windows: Vec<Window>,
    rng: ChaCha8Rng,
    complete: usize,
}

impl Bench {
    fn new(threshold: impl Fn(usize) -> u32, seed: &str) -> Self {
        let mut nic = Nic::new(Options { seed: seed_of_run(seed), ..Options::default() });
        let options = ContextOptions { process: PROCESS as u8, ..ContextOptions::default() };
        let context = nic.install_source(HANDLER, options).context;
        nic.rule("spindle", Action::Mailbox);
        nic.device.activate(context).unwrap();
        let windows = (0..=WINDOWS)
            .map(|i| {
                let options = WindowOptions {
                    address: ADDRESS + i as u64,
                    key: KEY,
                    threshold: threshold(i),
                    context: (i < WINDOWS).then_some(context),
                    ..WindowOptions::default()
                };
                nic.device.open_window(PROCESS, &options).unwrap()
            })
            .collect();
        nic.device.set_receive(true).unwrap();
        Self { nic, context, windows, rng: seeded_rng(seed), complete: 0 }
    }

    fn write(&mut self, array: usize, number: u32, value: u32) {
        let at = (64 * array + (number & 63) as usize) * 4;
        self.nic.device.write_state(self.context, at, &value.to_le_bytes()).unwrap();
    }

    fn word(&mut self, array: usize, number: u32) -> u32 {
        let mut word = [0; 4];
        let at = (64 * array + (number & 63) as usize) * 4;
        self.nic.device.read_state(self.context, at, &mut word).unwrap();
        u32::from_le_bytes(word)
    }

    fn inject(&mut self, frames: &[Vec<u8>]) {
        let mut sim = self.nic.card.sim();
        at_once(frames).into_iter().for_each(|frame| sim.inject(frame));
        while sim.pending() > 0 {
            sim.step();
        }
        sim.run(SETTLED);
    }

    fn frames(&self, message: &Message, window: usize) -> Vec<Vec<u8>> {
        let header = SpindleHeader {
            addr: ADDRESS + window as u64,
            key: KEY,
            msg_id: message.id,
            buf_off: message.offset as u32,
            dst_pid: PROCESS as u16,
            ..SpindleHeader::default()
        };
        put_message(&Ends::default(), SPINDLE_PORT, &header, &message.data, 512)
    }

    /// The host lets a handler go on.
    fn go(&mut self, message: &Message, completes: bool) {
        self.write(usize::from(!completes && message.id >> 8 & 3 == COMPLETES), message.id, 1);
        self.nic.card.sim().run(SETTLED / 5);
        self.complete += usize::from(completes);
    }

    fn check(&self, posted: &[Posted], open: &[bool], lengths: &[usize], what: &str) {
        for (i, posted) in posted.iter().enumerate() {
            let found = self.nic.device.poll(posted).unwrap().map(|record| (record.status, record.length as usize));
            let wanted = (!open[i] && lengths[i] > 0).then_some((status::DONE, lengths[i]));
            assert_eq!(found, wanted, "buffer {i}, {what}");
        }
    }
}

/// Rounds of messages, pending or not, to several windows, a buffer each; the host ends the handlers in random order; the
/// context is deactivated in some rounds, and a buffer taken back while it is held in others.
#[test]
fn random_messages() {
    with_seeds(|| {
        // Every buffer is closed by its last message: the threshold is the sum of all its messages of a round.
        const SUM: usize = 6000;
        let mut bench = Bench::new(|_| SUM as u32, "nic_pending");
        let mut ring = bench.nic.device.open_ring(PROCESS, 512).unwrap();
        let (mut held, mut taken_back, mut deactivated) = (0, 0, 0);
        for round in 0..share(12) as u32 {
            let mut posted: Vec<Posted> = vec![];
            for i in 0..=WINDOWS {
                posted.push(bench.nic.device.post_buffer(bench.windows[i], SUM as u32).unwrap());
            }
            let mut lengths = [0; WINDOWS + 1];
            let (mut messages, mut frames): (Vec<Message>, Vec<Vec<u8>>) = (vec![], vec![]);
            for number in 0..MESSAGES as u32 {
                let kind = [PLAIN, PLACED, PROCEED, REDIRECTED][bench.rng.random_range(0..4)];
                let end = [COMPLETES, SUCCEEDS, FAILS][bench.rng.random_range(0..3)];
                let window = bench.rng.random_range(0..WINDOWS);
                let buffer = if kind == REDIRECTED { WINDOWS } else { window };
                let left = SUM - lengths[buffer];
                let length = bench.rng.random_range(1..1500).min(left);
                if length == 0 {
                    continue;
                }
                let data: Vec<u8> = (0..length).map(|_| bench.rng.random_range(1..=255)).collect();
                let id = (round * MESSAGES as u32 + number) << 10 | end << 8 | kind << 6 | number;
                for array in 0..3 {
                    bench.write(array, id, 0);
                }
                let steps = if end == COMPLETES { vec![false, true] } else { vec![false] };
                let message = Message { id, buffer, offset: lengths[buffer], data, holds: kind != PLAIN, steps };
                lengths[buffer] += length;
                frames.extend(bench.frames(&message, window));
                messages.push(message);
            }
            // The rest of each buffer, by a message that is not pending and ends at once.
            let mut rest = vec![];
            for (buffer, filled) in lengths.iter_mut().enumerate() {
                let length = SUM - *filled;
                let id = (round * 8 + buffer as u32) << 10 | SUCCEEDS << 8 | PLAIN << 6 | (32 + buffer as u32);
                bench.write(0, id, 1);
                let data: Vec<u8> = (0..length).map(|_| bench.rng.random_range(1..=255)).collect();
                let message = Message { id, buffer, offset: *filled, data, holds: false, steps: vec![] };
                if length > 0 {
                    frames.extend(bench.frames(&message, buffer));
                    rest.push(message);
                }
                *filled = SUM;
            }
            frames.shuffle(&mut bench.rng);
            bench.inject(&frames);
            let holders = |messages: &[Message]| -> Vec<bool> {
                (0..=WINDOWS).map(|i| messages.iter().any(|m| m.holds && m.buffer == i)).collect()
            };
            let mut open = holders(&messages);
            held += open.iter().filter(|open| **open).count();
            bench.check(&posted, &open, &lengths, &format!("round {round}, all bytes are placed"));
            for message in messages.iter().chain(&rest) {
                let mut got = vec![0; message.data.len()];
                bench
                    .nic
                    .card
                    .sim()
                    .memory()
                    .memory
                    .read(posted[message.buffer].buffer + message.offset as u64, &mut got);
                assert!(got == message.data, "bytes of message {:x} lie in memory", message.id);
            }
            let deactivates = round % 2 == 1;
            if deactivates {
                deactivated += 1;
                bench.nic.device.deactivate(bench.context).unwrap();
            }
            if let Some(buffer) = (0..=WINDOWS).find(|i| open[*i]).filter(|_| round % 3 == 0) {
                taken_back += 1;
                bench.nic.device.inc_epoch(bench.windows[buffer]).unwrap();
                bench.nic.card.sim().run(SETTLED / 5);
                let record = bench.nic.device.poll(&posted[buffer]).unwrap().expect("it came back");
                assert_eq!((record.status, record.length as usize), (status::PARTIAL, SUM));
                // A buffer in the slot that was given back is not held.
                posted[buffer] = bench.nic.device.post_buffer(bench.windows[buffer], SUM as u32).unwrap();
                messages.iter_mut().filter(|m| m.buffer == buffer).for_each(|m| m.holds = false);
                open = holders(&messages);
                lengths[buffer] = 0;
            }
            while let Some(at) = (0..messages.len()).choose(&mut bench.rng) {
                let ends = messages[at].steps.remove(0);
                let message = messages[at].clone();
                let completes = !ends && message.id >> 8 & 3 == COMPLETES;
                bench.go(&message, completes);
                messages[at].holds = false;
                if messages[at].steps.is_empty() {
                    messages.swap_remove(at);
                }
                open = holders(&messages);
                bench.check(&posted, &open, &lengths, &format!("round {round}, after {:x}", message.id));
            }
            if deactivates {
                bench.nic.device.activate(bench.context).unwrap();
            }
            for (i, length) in lengths.iter().enumerate() {
                if *length == 0 {
                    // The new buffer has had no message; the next round needs an empty queue.
                    bench.nic.device.inc_epoch(bench.windows[i]).unwrap();
                }
            }
            bench.nic.card.sim().run(SETTLED);
        }
        let mut complete = 0;
        while let Some(event) = bench.nic.device.poll_event(&mut ring).unwrap() {
            complete += usize::from(matches!(event.kind, EventKind::Complete { .. }));
        }
        assert_eq!(complete, bench.complete, "events COMPLETE");
        assert!(held > 5 && taken_back > 0 && deactivated > 0, "{held} {taken_back} {deactivated}");
        bench.nic.assert_empty();
    });
}

/// From the handler's COMPLETE to AWVALID of the record, in an idle NIC.
#[test]
fn cycles() {
    /// From the read of the cycle counter: the stores of the words and of ISSUE, then the way of the command.
    const TO_RECORD: u32 = 36;

    let mut bench = Bench::new(|_| 1000, "nic_pending_cycles");
    let mut ring = bench.nic.device.open_ring(PROCESS, 16).unwrap();
    for (number, kind) in [PLACED, PROCEED].into_iter().enumerate() {
        let posted = bench.nic.device.post_buffer(bench.windows[0], 1000).unwrap();
        let id = COMPLETES << 8 | kind << 6 | number as u32;
        let message = Message { id, buffer: 0, offset: 0, data: vec![7; 1000], holds: true, steps: vec![] };
        let frames = bench.frames(&message, 0);
        bench.nic.card.sim().memory().keep_log = true;
        bench.nic.card.sim().trace().clear();
        bench.inject(&frames);
        assert_eq!(bench.nic.device.poll(&posted).unwrap(), None, "held");
        bench.go(&message, true);
        let (at, stamp) = (bench.word(2, id), bench.word(3, id));
        let record = bench.nic.device.poll(&posted).unwrap().expect("complete");
        assert_eq!((record.status, record.length), (status::DONE, 1000));
        let mut sim = bench.nic.card.sim();
        let first = sim.trace().events().iter().find(|event| event.point == T_FIRST_BEAT).expect("a frame").cycle;
        let burst = sim
            .memory()
            .log
            .iter()
            .find(|burst| burst.bytes.first().is_some_and(|byte| byte.0 == posted.record))
            .expect("a record");
        let offered = burst.offered_cycle as u32;
        let took = offered.wrapping_sub(at.wrapping_sub(stamp).wrapping_add(first as u32));
        drop(sim);
        assert_eq!(took, TO_RECORD, "cycles from the look at the clock to AWVALID");
        bench.go(&message, false);
    }
    while bench.nic.device.poll_event(&mut ring).unwrap().is_some() {}
    bench.nic.assert_empty();
}
