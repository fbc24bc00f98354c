//! Reliable puts of context memory between two NICs: handlers put what lies in L2, beside puts of host memory, over a wire
//! that loses and reorders; the bytes arrive once, a handle is done when they have arrived, and has failed when they cannot.

use crate::nic::bench::{compiled, nodes, Node};
use rand::Rng;
use rand_chacha::ChaCha8Rng;
use spindle::peer::{Peer, Responses};
use spindle::reliable::Reliability;
use spindle::rule_table::Action;
use spindle::{ContextId, ContextOptions, HostMemory};
use spindle_contract::memory_map::WATCHDOG_MOST;
use spindle_contract::params::{SEGMENT_BYTES, SLOT_BYTES, SPINDLE_PORT};
use spindle_contract::wire::status;
use spindle_harness::{seed_of_run, seeded_rng, with_seeds};
use spindle_model::frames::{put_message, Ends, SpindleHeader};
use spindle_sim::{Routing, WireFrame, WireOptions};
use std::ops::RangeInclusive;

const ADDRESS: u32 = 0x99;
const KEY: u32 = 0x51;
/// Bytes of context memory, and of the host region, that are put from.
const DATA: usize = 0x4000;
/// Orders of a test, at most.
const ORDERS: usize = 32;

/// Carries out the order in its packet, waits for the put, and writes down what became of it. The handler's variables begin
/// with the bytes to put.
const HANDLER: &str = r#"
#include "spindle.h"

struct memory {
    uint8_t data[0x4000];
    uint32_t ended[32];
};
struct memory memory __attribute__((aligned(64)));

struct order { uint32_t number, from, length, address, key, offset, kind, leaves; };

int payload_handler(const spin_payload_t *p, void *state) {
    struct order order;
    (void)state;
    memcpy(&order, spin_payload(p), sizeof order);
    spin_target_t to = { .node = 1, .process = 0, .mailbox = order.address, .key = order.key, .offset = order.offset };
    if (order.kind == 1) {
        spin_put_host(&to, order.from, order.length);
    } else if (order.kind == 2) {
        spin_put(&to, memory.data + order.from, order.length);
    } else {
        spin_put_context(&to, memory.data + order.from, order.length);
    }
    spin_handle_t put = spin_handle();
    if (order.leaves == 2) {
        *(volatile uint32_t *)0x90000000 = order.number;
    }
    if (order.leaves) {
        return SPIN_SUCCESS;
    }
    spin_wait();
    memory.ended[order.number] = spin_failed(put) ? 2 : 1;
    return SPIN_SUCCESS;
}
"#;

/// A put that a handler is to make.
#[derive(Clone, Copy, Debug)]
struct Order {
    from: usize,
    length: usize,
    address: u32,
    offset: usize,
    kind: Kind,
    end: End,
}

/// What a put is of.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Kind {
    Context,
    Host,
    /// Of context memory, copied when it is issued, and not acknowledged: 2,048 bytes at most.
    Copied,
}

/// What the handler does after the put is issued.
#[derive(Clone, Copy, Debug, PartialEq)]
enum End {
    /// Waits for it.
    Waits,
    /// Returns.
    Leaves,
    /// Writes where it must not.
    Faults,
}

/// Two NICs; the handlers of the first one, and what they put from: context memory, host memory.
struct Bench {
    nodes: Vec<Node>,
    context: ContextId,
    sources: [Vec<u8>; 2],
}

impl Bench {
    fn new(wire: WireOptions, reliability: Reliability, rng: &mut ChaCha8Rng) -> Bench {
        let mut nodes = nodes(2, wire);
        let sources = [(); 2].map(|()| (0..DATA).map(|_| rng.random()).collect::<Vec<u8>>());
        let mut image = compiled(HANDLER);
        image.state.resize(DATA + 4 * ORDERS, 0);
        image.state[..DATA].copy_from_slice(&sources[0]);
        let region = nodes[0].memory.alloc(DATA, 4096).unwrap();
        nodes[0].memory.write(region, &sources[1]).unwrap();
        let options = ContextOptions {
            host_region: Some((region, DATA as u32)),
            watchdog: WATCHDOG_MOST,
            ..ContextOptions::default()
        };
        let context = nodes[0].install(&image, &options).unwrap();
        nodes[0].add_rule(&"spindle".parse().unwrap(), Action::ContextPerMessage(context)).unwrap();
        nodes[0].activate(context).unwrap();
        nodes[0].set_reliability(Some(reliability)).unwrap();
        nodes[0].set_receive(true).unwrap();
        nodes[1].add_rule(&"spindle".parse().unwrap(), Action::Mailbox).unwrap();
        nodes[1].set_sequence_filter(true).unwrap();
        nodes[1].set_responses(Some(Responses::default())).unwrap();
        nodes[1].set_receive(true).unwrap();
        Bench { nodes, context, sources }
    }

    /// Gives the orders, numbered from `first` on, to handlers of the first NIC, a packet each.
    fn give(&mut self, first: usize, orders: &[Order]) {
        for (number, order) in (first..).zip(orders) {
            let words = [number, order.from, order.length, order.address as usize, KEY as usize, order.offset];
            let words = words.into_iter().chain([order.kind as usize, order.end as usize]);
            let payload: Vec<u8> = words.flat_map(|word| (word as u32).to_le_bytes()).collect();
            let header = SpindleHeader { src_nid: 1, msg_id: number as u32, ..SpindleHeader::default() };
            for bytes in put_message(&Ends::default(), SPINDLE_PORT, &header, &payload, SEGMENT_BYTES) {
                self.nodes[0].memory.card().sim().inject(WireFrame { bytes, gap: 0, bad: false });
            }
        }
    }

    /// What became of each order so far: 0 nothing, 1 done, 2 failed.
    fn ended(&mut self, orders: usize) -> Vec<u32> {
        let mut bytes = vec![0; 4 * orders];
        self.nodes[0].read_state(self.context, DATA, &mut bytes).unwrap();
        bytes.chunks(4).map(|word| u32::from_le_bytes(word.try_into().expect("four bytes"))).collect()
    }

    /// The bytes that an order is about.
    fn bytes(&self, order: &Order) -> &[u8] {
        &self.sources[usize::from(order.kind == Kind::Host)][order.from..][..order.length]
    }

    /// Until all orders have ended.
    fn wait(&mut self, orders: usize) -> Vec<u32> {
        for _ in 0..2000 {
            let ended = self.ended(orders);
            if ended.iter().all(|end| *end != 0) {
                return ended;
            }
        }
        panic!("{:?} orders have ended", self.ended(orders));
    }
}

/// A wire that loses, repeats and reorders.
fn bad_wire() -> WireOptions {
    WireOptions {
        loss: 0.12,
        duplication: 0.03,
        routing: Routing::Adaptive,
        paths: 5,
        step: 130,
        seed: seed_of_run("context_puts_wire"),
        ..WireOptions::default()
    }
}

/// The planner is up to 32 segments ahead of the wire: a hole is not one before they have had their turn.
pub fn reliability(retries: u8) -> Reliability {
    Reliability { timeout: 96, hole_time: 24, retries, incarnation: 0x5EED }
}

/// Orders whose bytes lie one after the other in one buffer, of these kinds; half of them have so many bytes.
fn random_orders(rng: &mut ChaCha8Rng, kinds: &[Kind], bytes: RangeInclusive<usize>) -> (Vec<Order>, usize) {
    let mut offset = 0;
    let orders = (0..ORDERS)
        .map(|_| {
            let length = match rng.random_range(0..4) {
                0 => rng.random_range(1..9),
                1 => [63, 64, 65, 101, 102, 103, 1407, 1408, 1409, 2816][rng.random_range(0..10)],
                _ => rng.random_range(bytes.clone()),
            };
            let kind = kinds[rng.random_range(0..kinds.len())];
            let length = if kind == Kind::Copied { length.min(SLOT_BYTES) } else { length };
            let from = rng.random_range(0..=DATA - length);
            offset += length;
            Order { from, length, address: ADDRESS, offset: offset - length, kind, end: End::Waits }
        })
        .collect();
    (orders, offset)
}

/// All orders arrive once and whole, and none has ended before its bytes were there.
fn arrives(wire: WireOptions, seed: &str, kinds: &[Kind], bytes: RangeInclusive<usize>) -> (Bench, usize) {
    let mut rng = seeded_rng(seed);
    let mut bench = Bench::new(wire, reliability(15), &mut rng);
    let (orders, size) = random_orders(&mut rng, kinds, bytes);
    let window = bench.nodes[1].init_window(0, ADDRESS.into(), KEY, size as u32).unwrap();
    let posted = bench.nodes[1].post_buffer(window, size as u32).unwrap();
    bench.give(0, &orders);
    let mut seen = [false; ORDERS];
    for look in 0.. {
        assert!(look < 3000, "{:?}", bench.ended(ORDERS));
        for (number, end) in bench.ended(ORDERS).into_iter().enumerate() {
            assert!(end < 2, "order {number} failed: {:?}", orders[number]);
            if end == 1 && !seen[number] {
                seen[number] = true;
                let order = &orders[number];
                let mut got = vec![0; order.length];
                bench.nodes[1].memory.read(posted.buffer + order.offset as u64, &mut got).unwrap();
                assert!(got == bench.bytes(order), "order {number} is done, its bytes are others: {order:?}");
            }
        }
        if seen.iter().all(|seen| *seen) {
            break;
        }
    }
    let completed = bench.nodes[1].wait(&posted, 1).unwrap();
    assert_eq!((completed.status, completed.length as usize), (status::DONE, size));
    let segments = orders.iter().map(|order| order.length.div_ceil(SEGMENT_BYTES)).sum::<usize>();
    assert_eq!(bench.nodes[0].puts().unwrap(), (ORDERS as u32, 0));
    let expected = Some(Peer { node: 0, expected: segments as u32, selective: 0 });
    assert_eq!(bench.nodes[1].peer(0).unwrap(), expected, "each segment took one number");
    assert_eq!(bench.nodes[1].stats().unwrap().frames_placed as usize, segments, "and was placed once");
    (bench, segments)
}

#[test]
fn context_memory_over_a_faithful_wire() {
    with_seeds(|| {
        let (mut bench, _) = arrives(WireOptions::default(), "context_puts", &[Kind::Context], 1..=4000);
        assert_eq!(bench.nodes[0].segments_resent().unwrap(), 0);
    });
}

#[test]
fn context_memory_beside_host_memory_over_a_bad_wire() {
    with_seeds(|| {
        let wire = bad_wire();
        let (mut bench, segments) = arrives(wire, "context_puts_mixed", &[Kind::Context, Kind::Host], 1..=4000);
        let resent = bench.nodes[0].segments_resent().unwrap();
        let counts = bench.nodes[0].memory.network().counts();
        assert!(counts.lost > 0 && resent > 0, "{segments} segments, {counts:?}, {resent} sent again");
    });
}

/// Long puts of all handlers at once: segments of several puts are in all stages, and lost ones are read again meanwhile.
#[test]
fn many_segments_over_a_bad_wire() {
    with_seeds(|| {
        let (mut bench, segments) = arrives(bad_wire(), "context_puts_long", &[Kind::Context], 6000..=DATA);
        let resent = bench.nodes[0].segments_resent().unwrap();
        let counts = bench.nodes[0].memory.network().counts();
        assert!(counts.lost > 0 && resent > 0, "{segments} segments, {counts:?}, {resent} sent again");
    });
}

/// Commands copy bytes of context memory, 33 rows of it at most, through the stages that segments take in turn.
#[test]
fn copied_bytes_beside_segments() {
    with_seeds(|| {
        let mut rng = seeded_rng("context_puts_copied");
        let mut bench = Bench::new(WireOptions::default(), reliability(15), &mut rng);
        let kinds = [Kind::Context, Kind::Copied, Kind::Copied, Kind::Host];
        let (orders, size) = random_orders(&mut rng, &kinds, 1500..=5000);
        let window = bench.nodes[1].init_window(0, ADDRESS.into(), KEY, size as u32).unwrap();
        let posted = bench.nodes[1].post_buffer(window, size as u32).unwrap();
        bench.give(0, &orders);
        assert_eq!(bench.wait(ORDERS), [1; ORDERS]);
        let completed = bench.nodes[1].wait(&posted, 200_000).unwrap();
        assert_eq!((completed.status, completed.length as usize), (status::DONE, size));
        for order in &orders {
            let mut got = vec![0; order.length];
            bench.nodes[1].memory.read(posted.buffer + order.offset as u64, &mut got).unwrap();
            assert!(got == bench.bytes(order), "the bytes are others: {order:?}");
        }
    });
}

/// Handlers end by a fault, or at once, and the context accepts nothing more, while segments of their puts are under way: they
/// arrive whole, and the context's memory is no one else's before. A put of bytes that are not the context's is none.
#[test]
fn puts_outlive_their_handlers_and_their_context() {
    with_seeds(|| {
        let mut rng = seeded_rng("context_puts_outlive");
        let mut bench = Bench::new(bad_wire(), reliability(15), &mut rng);
        const LENGTH: usize = 12_000;
        const PUTS: usize = 8;
        let window = bench.nodes[1].init_window(0, ADDRESS.into(), KEY, (PUTS * LENGTH) as u32).unwrap();
        let orders: Vec<Order> = (0..PUTS)
            .map(|number| Order {
                from: rng.random_range(0..=DATA - LENGTH),
                length: LENGTH,
                address: ADDRESS,
                offset: number * LENGTH,
                kind: Kind::Context,
                end: if number % 2 == 1 { End::Faults } else { End::Leaves },
            })
            .collect();
        // Beyond the end of the context's memory.
        let outside = Order { from: DATA, length: 0x8000, ..orders[0] };
        bench.give(0, &orders[..4]);
        bench.give(PUTS, &[outside]);
        bench.give(4, &orders[4..]);
        let mut faults = 0;
        for look in 0.. {
            faults += usize::from(bench.nodes[0].pop_fault().unwrap().is_some());
            // Faults of four handlers after their put, and of one whose put is refused; the last handler is one of them.
            if faults == PUTS / 2 + 1 && bench.nodes[0].live_messages(bench.context).unwrap() == 0 {
                break;
            }
            assert!(look < 5000, "{faults} faults");
        }
        bench.nodes[0].deactivate(bench.context).unwrap();
        let error = bench.nodes[0].remove(bench.context).unwrap_err().to_string();
        assert!(error.contains(&format!("({PUTS} now)")), "{error}");
        // Up to here every segment was refused.
        let posted = bench.nodes[1].post_buffer(window, (PUTS * LENGTH) as u32).unwrap();
        let completed = bench.nodes[1].wait(&posted, 2_000_000).unwrap();
        assert_eq!((completed.status, completed.length as usize), (status::DONE, PUTS * LENGTH));
        for order in &orders {
            let mut got = vec![0; LENGTH];
            bench.nodes[1].memory.read(posted.buffer + order.offset as u64, &mut got).unwrap();
            assert!(got == bench.bytes(order), "the bytes are others: {order:?}");
        }
        assert!(bench.nodes[0].pop_fault().unwrap().is_none(), "no other handler faults");
        for look in 0.. {
            let puts = bench.nodes[0].puts().unwrap();
            if puts == (PUTS as u32, 0) {
                break;
            }
            assert!(look < 30_000, "the puts are not over: {puts:?} complete and failed");
        }
        bench.nodes[0].remove(bench.context).unwrap();
    });
}

/// Every packet is refused until there is a buffer, and read again from context memory each time.
#[test]
fn what_finds_no_buffer_comes_again() {
    with_seeds(|| {
        let mut rng = seeded_rng("context_puts_again");
        let mut bench = Bench::new(WireOptions::default(), reliability(3), &mut rng);
        let size = 3 * SEGMENT_BYTES;
        let order = Order { from: 5, length: size, address: ADDRESS, offset: 0, kind: Kind::Context, end: End::Waits };
        let window = bench.nodes[1].init_window(0, ADDRESS.into(), KEY, size as u32).unwrap();
        bench.give(0, &[order]);
        for look in 0.. {
            assert_eq!(bench.ended(1), [0]);
            if bench.nodes[0].segments_resent().unwrap() >= 6 {
                break;
            }
            assert!(look < 2000, "nothing is sent again");
        }
        let posted = bench.nodes[1].post_buffer(window, size as u32).unwrap();
        assert_eq!(bench.wait(1), [1]);
        let mut got = vec![0; size];
        bench.nodes[1].memory.read(posted.buffer, &mut got).unwrap();
        assert!(got == bench.bytes(&order), "the bytes are others");
    });
}

/// A mailbox that is not there refuses for good, and a peer that says nothing is given up: both end the handle with an
/// error, and what follows is sent.
#[test]
fn what_cannot_arrive_fails() {
    with_seeds(|| {
        let mut rng = seeded_rng("context_puts_fail");
        let mut bench = Bench::new(WireOptions::default(), reliability(2), &mut rng);
        let window = bench.nodes[1].init_window(0, ADDRESS.into(), KEY, 5000).unwrap();
        let posted = bench.nodes[1].post_buffer(window, 5000).unwrap();
        let good = Order { from: 64, length: 5000, address: ADDRESS, offset: 0, kind: Kind::Context, end: End::Waits };
        let nowhere = Order { address: ADDRESS + 1, ..good };
        bench.give(0, &[nowhere, good, nowhere]);
        assert_eq!(bench.wait(3), [2, 1, 2]);
        let mut got = vec![0; 5000];
        bench.nodes[1].memory.read(posted.buffer, &mut got).unwrap();
        assert!(got == bench.bytes(&good), "the bytes are others");
        assert_eq!(bench.nodes[0].puts().unwrap(), (1, 2));

        bench.nodes[1].set_responses(None).unwrap();
        bench.give(3, &[good]);
        assert_eq!(bench.wait(4), [2, 1, 2, 2]);
        assert!(bench.nodes[0].segments_resent().unwrap() >= 4);

        // No one waits for the last one, and its context's memory is no one else's until it has been given up.
        bench.give(4, &[Order { end: End::Leaves, ..good }]);
        let handled = |bench: &mut Bench| bench.nodes[0].stats().unwrap().frames_handled;
        while handled(&mut bench) < 5 || bench.nodes[0].live_messages(bench.context).unwrap() > 0 {}
        let error = bench.nodes[0].remove(bench.context).unwrap_err().to_string();
        assert!(error.contains("(1 now)"), "{error}");
        for look in 0.. {
            if bench.nodes[0].puts().unwrap() == (1, 4) {
                break;
            }
            assert!(look < 5000, "it is not given up");
        }
        bench.nodes[0].remove(bench.context).unwrap();
    });
}
