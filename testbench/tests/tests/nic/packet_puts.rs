//! Reliable puts of packets between two NICs: handlers put ranges of their packets and end at once, over a wire that loses, repeats and
//! reorders. The bytes arrive once and as they came, a packet keeps its cells until its puts are over, and then all cells are free.

use crate::nic::bench::{compiled, nodes, Node};
use crate::nic::context_puts::reliability;
use rand::Rng;
use rand_chacha::ChaCha8Rng;
use spindle::peer::{Peer, Responses};
use spindle::reliable::Reliability;
use spindle::rule_table::Action;
use spindle::rvma::{Posted, Window};
use spindle::{ContextId, ContextOptions, HostMemory};
use spindle_contract::memory_map::WATCHDOG_MOST;
use spindle_contract::params::{Config, CELL_BYTES, SEGMENT_BYTES, SLOT_BYTES};
use spindle_contract::reasons::HANDLER_FAIL;
use spindle_contract::wire::{self, status};
use spindle_harness::{seed_of_run, seeded_rng, with_seeds};
use spindle_model::frames::{udp, Ends, UDP_HEADERS};
use spindle_sim::{Routing, WireFrame, WireOptions};

const ADDRESS: u32 = 0x99;
const KEY: u32 = 0x51;
/// Orders of a test, at most.
const ORDERS: usize = 600;
/// Words of an order.
const WORDS: usize = 9;
/// Cells of the packet buffer.
const CELLS: usize = Config::SIM.cells();

/// Carries out the order in its packet, and writes down what became of it: bit 0 done, bit 1 failed, of a second put bits 2 and 3.
const HANDLER: &str = r#"
#include "spindle.h"

struct memory {
    uint32_t ended[600];
};
struct memory memory __attribute__((aligned(64)));

struct order { uint32_t number, region, from, length, node, mailbox, offset, puts, ends; };

static uint32_t outcome(spin_handle_t put) { return spin_failed(put) ? 2 : 1; }

int header_handler(const spin_header_t *h, void *state) {
    struct order order;
    (void)state;
    memcpy(&order, spin_payload(h), sizeof order);
    spin_target_t to = {
        .node = order.node, .process = 0, .mailbox = order.mailbox, .key = 0x51, .offset = order.offset };
    const uint8_t *bytes = (const uint8_t *)(order.region << 28);
    uint32_t half = order.puts == 2 ? order.length / 2 : 0;
    spin_handle_t second = 0;
    if (half) {
        spin_put_packet(&to, bytes + order.from, half);
        second = spin_handle();
        to.offset += half;
    }
    spin_put_packet(&to, bytes + order.from + half, order.length - half);
    spin_handle_t put = spin_handle();
    /* What handlers write to their packet is not sent. */
    memset((uint8_t *)spin_packet(h), 0xee, 64);
    if (order.ends == 1) {
        return SPIN_SUCCESS;
    }
    if (order.ends == 2) {
        *(volatile uint32_t *)0x90000000 = order.number;
    }
    spin_wait();
    memory.ended[order.number] = outcome(put) | (half ? outcome(second) << 2 : 0);
    return SPIN_SUCCESS;
}

int completion_handler(uint32_t dropped, bool flow, void *state) {
    (void)dropped;
    (void)flow;
    (void)state;
    return SPIN_SUCCESS;
}
"#;

/// A put of a completion handler, which has no packet.
const WITHOUT_PACKET: &str = r#"
#include "spindle.h"

int completion_handler(uint32_t dropped, bool flow, void *state) {
    (void)dropped;
    (void)flow;
    (void)state;
    spin_target_t to = { .node = 1, .process = 0, .mailbox = 0x99, .key = 0x51, .offset = 0 };
    spin_put_packet(&to, (const void *)SPIN_REGION_PACKET, 1);
    return SPIN_SUCCESS;
}
"#;

/// What the handler does after its puts are issued.
#[derive(Clone, Copy, Debug, PartialEq)]
enum End {
    /// Waits for them.
    Waits,
    /// Returns.
    Leaves,
    /// Writes where it must not.
    Faults,
}

/// Puts that a handler is to make of its packet.
#[derive(Clone, Debug)]
struct Order {
    /// Bytes of the packet.
    size: usize,
    /// Region of the bytes, and the first one in it.
    region: u32,
    from: usize,
    length: usize,
    node: u32,
    mailbox: u32,
    offset: usize,
    /// 1, or 2 puts, of half of the bytes each.
    puts: usize,
    end: End,
}

impl Order {
    fn of_packet(size: usize, from: usize, length: usize) -> Order {
        let region = spindle_contract::memory_map::PACKET;
        Order { size, region, from, length, node: 1, mailbox: ADDRESS, offset: 0, puts: 1, end: End::Waits }
    }

    /// The frame that brings the order with the number.
    fn frame(&self, number: usize, port: u16) -> Vec<u8> {
        let words = [number as u32, self.region, self.from as u32, self.length as u32, self.node, self.mailbox];
        let words = words.into_iter().chain([self.offset as u32, self.puts as u32, self.end as u32]);
        let mut payload: Vec<u8> = words.flat_map(|word| word.to_le_bytes()).collect();
        assert_eq!(payload.len(), 4 * WORDS);
        let others = (payload.len()..self.size - UDP_HEADERS).map(|i| (i * 7 + i / 64 + number * 31) as u8);
        payload.extend(others);
        udp(&Ends::default(), 4000, port, &payload)
    }
}

/// Two NICs, and contexts of the first one: its handlers put packets that come to these ports.
struct Bench {
    nodes: Vec<Node>,
    contexts: Vec<ContextId>,
    given: Vec<(Order, Vec<u8>)>,
}

impl Bench {
    fn new(wire: WireOptions, reliability: Option<Reliability>, contexts: usize, tailroom: u16) -> Bench {
        let mut nodes = nodes(2, wire);
        let mut image = compiled(HANDLER);
        image.state.resize(4 * ORDERS, 0);
        let options = ContextOptions { watchdog: WATCHDOG_MOST, tailroom, ..ContextOptions::default() };
        let contexts = (0..contexts)
            .map(|number| {
                let context = nodes[0].install(&image, &options).unwrap();
                let rule = format!("udp.dport == {}", 9 + number);
                nodes[0].add_rule(&rule.parse().unwrap(), Action::Context(context)).unwrap();
                nodes[0].activate(context).unwrap();
                context
            })
            .collect();
        nodes[0].set_reliability(reliability).unwrap();
        nodes[0].set_receive(true).unwrap();
        nodes[1].add_rule(&"spindle".parse().unwrap(), Action::Mailbox).unwrap();
        nodes[1].set_sequence_filter(reliability.is_some()).unwrap();
        nodes[1].set_responses(reliability.map(|_| Responses::default())).unwrap();
        nodes[1].set_receive(true).unwrap();
        Bench { nodes, contexts, given: vec![] }
    }

    fn window(&mut self, size: usize) -> Window {
        self.nodes[1].init_window(0, ADDRESS.into(), KEY, size as u32).unwrap()
    }

    /// Gives an order to a handler of a context.
    fn give(&mut self, context: usize, order: Order) {
        let bytes = order.frame(self.given.len(), 9 + context as u16);
        self.given.push((order, bytes.clone()));
        self.nodes[0].memory.card().sim().inject(WireFrame { bytes, gap: 0, bad: false });
    }

    /// Until so many frames have been handled or have failed.
    fn handled(&mut self, frames: usize) {
        for _ in 0..5000 {
            let stats = self.nodes[0].stats().unwrap();
            if (stats.frames_handled + stats.drops[HANDLER_FAIL]) as usize >= frames {
                return;
            }
        }
        panic!("{:?}", self.nodes[0].stats().unwrap());
    }

    /// Until so many puts have ended, and so many of them have failed.
    fn over(&mut self, puts: u32, failed: u32) {
        for _ in 0..20_000 {
            if self.nodes[0].puts().unwrap() == (puts - failed, failed) {
                return;
            }
        }
        panic!("{:?} puts are over", self.nodes[0].puts().unwrap());
    }

    /// What handlers of a context wrote down.
    fn ended(&mut self, context: usize) -> Vec<u32> {
        let mut bytes = vec![0; 4 * ORDERS];
        let context = self.contexts[context];
        self.nodes[0].read_state(context, 0, &mut bytes).unwrap();
        bytes.chunks(4).map(|word| u32::from_le_bytes(word.try_into().expect("four bytes"))).collect()
    }

    fn cells_free(&mut self) -> usize {
        self.nodes[0].stats().unwrap().cells_free as usize
    }

    /// All cells of both NICs are free, soon.
    fn all_cells_free(&mut self) {
        for look in 0.. {
            let free = [0, 1].map(|node| self.nodes[node].stats().unwrap().cells_free as usize);
            if free == [CELLS; 2] {
                return;
            }
            assert!(look < 100, "{free:?} of {CELLS} cells are free");
        }
    }

    /// What was put is in the buffer.
    fn arrived(&mut self, posted: &Posted, which: impl Fn(&Order) -> bool) {
        for (number, (order, frame)) in self.given.iter().enumerate().filter(|(_, (order, _))| which(order)) {
            let mut got = vec![0; order.length];
            self.nodes[1].memory.read(posted.buffer + order.offset as u64, &mut got).unwrap();
            assert!(got == frame[order.from..][..order.length], "order {number}: the bytes are others: {order:?}");
        }
    }
}

/// Every segment on the wire, also one that its receiver drops as a duplicate, has the bytes of its put. Returns how many there were.
fn check_wire(bench: &Bench, wanted: &[u8]) -> usize {
    let mut segments = 0;
    for frame in bench.nodes[0].memory.network().take_received(1) {
        let header = &frame[wire::HEADER_BYTES - wire::SPINDLE_BYTES..];
        if header[wire::spindle::OPCODE] != wire::opcode::PUT {
            continue;
        }
        let word = |at: usize| u32::from_be_bytes(header[at..at + 4].try_into().expect("four bytes")) as usize;
        let length = usize::from(u16::from_be_bytes([
            header[wire::spindle::PAYLOAD_LEN],
            header[wire::spindle::PAYLOAD_LEN + 1],
        ]));
        let from = word(wire::spindle::BUF_OFF) + word(wire::spindle::MSG_OFF);
        let found = &frame[wire::HEADER_BYTES..][..length];
        assert!(found == &wanted[from..][..length], "{length} bytes at offset {from} are of another packet");
        segments += 1;
    }
    segments
}

fn bad_wire() -> WireOptions {
    WireOptions {
        loss: 0.12,
        duplication: 0.05,
        routing: Routing::Adaptive,
        paths: 5,
        step: 130,
        seed: seed_of_run("packet_puts_wire"),
        ..WireOptions::default()
    }
}

/// An order about any range of a packet, or about one with an end at a boundary.
fn random_order(rng: &mut ChaCha8Rng) -> Order {
    let least = UDP_HEADERS + 4 * WORDS;
    let size = match rng.random_range(0..4) {
        0 => [least, 511, 512, 513, 576, 1024, 1498, 2048, 2500][rng.random_range(0..9)],
        _ => rng.random_range(least..1514),
    };
    let seen = size.min(SLOT_BYTES);
    let from = [0, 42, rng.random_range(0..seen), rng.random_range(0..seen)][rng.random_range(0..4)];
    let length = match rng.random_range(0..4) {
        0 => seen - from,
        1 => [1, 38, 39, 64, SEGMENT_BYTES][rng.random_range(0..5)].min(seen - from),
        _ => rng.random_range(1..=seen - from),
    };
    let puts = if length > 1 && rng.random_range(0..4) == 0 { 2 } else { 1 };
    let end = [End::Waits, End::Leaves, End::Leaves][rng.random_range(0..3)];
    Order { puts, end, ..Order::of_packet(size, from, length) }
}

/// Batches of orders, the next one when all handlers of the last one have ended: their packets may still be under way, and others come
/// to cells that have just returned.
fn random_puts(wire: WireOptions, reliability: Reliability, name: &str, batches: usize) -> Bench {
    let mut rng = seeded_rng(name);
    let mut bench = Bench::new(wire, Some(reliability), 1, 0);
    bench.nodes[0].memory.network().keep_received();
    const BATCH: usize = 24;
    let orders: Vec<Order> = (0..batches * BATCH).map(|_| random_order(&mut rng)).collect();
    let size = orders.iter().map(|order| order.length).sum::<usize>();
    let window = bench.window(size);
    let posted = bench.nodes[1].post_buffer(window, size as u32).unwrap();
    let (mut offset, mut puts, mut segments) = (0, 0, 0);
    for (i, order) in orders.into_iter().enumerate() {
        let half = if order.puts == 2 { order.length / 2 } else { 0 };
        puts += order.puts as u32;
        segments += half.div_ceil(SEGMENT_BYTES) + (order.length - half).div_ceil(SEGMENT_BYTES);
        let length = order.length;
        bench.give(0, Order { offset, ..order });
        offset += length;
        if (i + 1) % BATCH == 0 {
            bench.handled(i + 1);
        }
    }
    bench.over(puts, 0);
    let completed = bench.nodes[1].wait(&posted, 200_000).unwrap();
    assert_eq!((completed.status, completed.length as usize), (status::DONE, size));
    bench.arrived(&posted, |_| true);
    let wanted: Vec<u8> =
        bench.given.iter().flat_map(|(order, frame)| frame[order.from..][..order.length].to_vec()).collect();
    assert!(check_wire(&bench, &wanted) >= segments);
    let ended = bench.ended(0);
    for (number, (order, _)) in bench.given.iter().enumerate() {
        let wanted = if order.end != End::Waits { 0 } else { [1, 5][order.puts - 1] };
        assert_eq!(ended[number], wanted, "order {number}: {order:?}");
    }
    let expected = Some(Peer { node: 0, expected: segments as u32, selective: 0 });
    assert_eq!(bench.nodes[1].peer(0).unwrap(), expected, "each segment took one number");
    assert_eq!(bench.nodes[1].stats().unwrap().frames_placed as usize, segments, "and was placed once");
    bench.all_cells_free();
    bench
}

#[test]
fn ranges_over_a_faithful_wire() {
    with_seeds(|| {
        let mut bench = random_puts(WireOptions::default(), reliability(15), "packet_puts", 8);
        assert_eq!(bench.nodes[0].segments_resent().unwrap(), 0);
    });
}

#[test]
fn ranges_over_a_bad_wire() {
    with_seeds(|| {
        let mut bench = random_puts(bad_wire(), reliability(15), "packet_puts_bad", 16);
        let resent = bench.nodes[0].segments_resent().unwrap();
        assert!(resent > 20, "{resent} sent again");
    });
}

/// Segments are repeated long before they can be acknowledged: so one is under way again whenever a put is over, and others come to the
/// cells of its packet at once.
#[test]
fn a_repeated_segment_never_has_the_bytes_of_another_packet() {
    with_seeds(|| {
        let wire = WireOptions { latency: 900, ..WireOptions::default() };
        let impatient = Reliability { timeout: 3, hole_time: 1, retries: 15, incarnation: 0x5EED };
        let mut bench = random_puts(wire, impatient, "packet_puts_repeated", 12);
        // A timeout of a destination that has acknowledged the oldest segment repeats none.
        let resent = bench.nodes[0].segments_resent().unwrap();
        assert!(resent > 20, "{resent} sent again");
    });
}

/// Handlers return or fault at once, and the receiver has no buffer: the packets stay, while others come and go through all the other
/// cells; their context is switched off, and cannot be removed. Then there is a buffer.
#[test]
fn packets_outlive_their_handlers_and_their_context() {
    with_seeds(|| {
        let mut rng = seeded_rng("packet_puts_outlive");
        let mut bench = Bench::new(bad_wire(), Some(reliability(15)), 2, 0);
        const KEPT: usize = 20;
        const OTHERS: usize = 400;
        let mut size = 0;
        for number in 0..KEPT {
            let bytes = rng.random_range(600..1498);
            let from = rng.random_range(0..500);
            let order = Order::of_packet(bytes, from, rng.random_range(1..=bytes - from));
            let end = if number % 4 == 3 { End::Faults } else { End::Leaves };
            let order = Order { end, offset: size, ..order };
            size += order.length;
            bench.give(0, order);
        }
        let window = bench.window(size);
        bench.handled(KEPT);
        let cells: usize = bench.given.iter().map(|(_, frame)| frame.len().div_ceil(CELL_BYTES)).sum();
        assert_eq!(bench.cells_free(), CELLS - cells, "the packets keep their cells");
        let context = bench.contexts[0];
        bench.nodes[0].deactivate(context).unwrap();
        let error = bench.nodes[0].remove(context).unwrap_err().to_string();
        assert!(error.contains(&format!("({KEPT} now)")), "{error}");
        // Others pass: their handlers' puts are of nothing that is there, so they fault.
        let nothing = Order { length: 2000, ..Order::of_packet(1400, 42, 0) };
        for number in 0..OTHERS {
            bench.give(1, nothing.clone());
            if number % 8 == 7 {
                bench.handled(KEPT + number + 1);
            }
        }
        assert_eq!(bench.cells_free(), CELLS - cells, "they still do");
        let posted = bench.nodes[1].post_buffer(window, size as u32).unwrap();
        let completed = bench.nodes[1].wait(&posted, 3_000_000).unwrap();
        assert_eq!((completed.status, completed.length as usize), (status::DONE, size));
        bench.arrived(&posted, |order| order.length != 2000);
        bench.over(KEPT as u32, 0);
        bench.all_cells_free();
        bench.nodes[0].remove(context).unwrap();
    });
}

/// A context keeps 3/8 of the cells at most; then its puts fail at once, those of another context do not.
#[test]
fn beyond_its_share_a_put_fails() {
    with_seeds(|| {
        let mut bench = Bench::new(WireOptions::default(), Some(reliability(15)), 2, 0);
        const LONG: usize = 9000;
        let cells = LONG.div_ceil(CELL_BYTES);
        let most = (CELLS * 3 / 8).div_ceil(cells);
        let window = bench.window(100 * (most + 1));
        for number in 0..most {
            bench.give(0, Order { end: End::Leaves, offset: 100 * number, ..Order::of_packet(LONG, number, 100) });
            bench.handled(number + 1);
        }
        // These wait for their handle: it has failed already.
        for number in most..most + 3 {
            bench.give(0, Order { mailbox: 1, ..Order::of_packet(LONG, number, 100) });
            bench.handled(number + 1);
            assert_eq!(bench.ended(0)[number], 2, "put {number}");
        }
        assert_eq!(bench.cells_free(), CELLS - most * cells);
        bench.give(1, Order { end: End::Leaves, offset: 100 * most, ..Order::of_packet(LONG, 77, 100) });
        bench.handled(most + 4);
        assert_eq!(bench.cells_free(), CELLS - (most + 1) * cells, "another context has its share");
        let posted = bench.nodes[1].post_buffer(window, 100 * (most as u32 + 1)).unwrap();
        let completed = bench.nodes[1].wait(&posted, 2_000_000).unwrap();
        assert_eq!(completed.status, status::DONE);
        bench.arrived(&posted, |order| order.mailbox == ADDRESS);
        bench.over(most as u32 + 1, 0);
        bench.all_cells_free();
        // And it may put again.
        let number = bench.given.len();
        bench.give(0, Order { node: 99, ..Order::of_packet(LONG, 0, 1) });
        bench.handled(number + 1);
        assert_eq!(bench.ended(0)[number], 2, "a node that is not there");
        bench.all_cells_free();
    });
}

/// A mailbox that is not there, a node that is not there, and a peer that says nothing end the handle with an error, and the cells
/// return.
#[test]
fn what_cannot_arrive_fails() {
    with_seeds(|| {
        let mut bench = Bench::new(WireOptions::default(), Some(reliability(2)), 1, 0);
        let window = bench.window(1000);
        let posted = bench.nodes[1].post_buffer(window, 1000).unwrap();
        let good = Order::of_packet(1200, 77, 1000);
        bench.give(0, Order { mailbox: 1, ..good.clone() });
        bench.give(0, Order { node: 200, ..good.clone() });
        bench.give(0, good.clone());
        bench.handled(3);
        assert_eq!(bench.ended(0)[..3], [2, 2, 1]);
        bench.arrived(&posted, |order| order.mailbox == ADDRESS && order.node == 1);
        bench.all_cells_free();
        bench.nodes[1].set_responses(None).unwrap();
        bench.give(0, good.clone());
        bench.give(0, Order { end: End::Leaves, ..good });
        bench.handled(5);
        bench.over(5, 4);
        assert_eq!(bench.ended(0)[3], 2);
        bench.all_cells_free();
    });
}

/// A range outside of the packet, or of another region, ends the handler, and so does a put of a handler without a packet; tailroom is
/// not part of the packet.
#[test]
fn only_the_packet_is_put() {
    with_seeds(|| {
        let mut bench = Bench::new(WireOptions::default(), Some(reliability(15)), 1, 128);
        let size = 1000;
        let good = Order::of_packet(size, 0, size);
        let bad = [
            Order { length: size + 1, ..good.clone() },
            Order { from: 1, ..good.clone() },
            Order { from: size, length: 1, ..good.clone() },
            Order { length: 0, ..good.clone() },
            Order { from: 0x7FF_FFFF, length: 1, ..good.clone() },
            Order { region: spindle_contract::memory_map::SCRATCH, length: 1, ..good.clone() },
            Order { region: spindle_contract::memory_map::CONTEXT, length: 1, ..good.clone() },
            Order { node: 1 << 8, ..good.clone() },
            Order { length: 2001, ..Order::of_packet(2500, 48, 0) },
        ];
        for (number, order) in bad.iter().enumerate() {
            bench.give(0, order.clone());
            bench.handled(number + 1);
            let fault = bench.nodes[0].pop_fault().unwrap().unwrap_or_else(|| panic!("no fault of {order:?}"));
            assert_eq!(fault.cause_text().0, "FAULT_COMMAND", "{order:?}");
        }
        let context = {
            let image = compiled(WITHOUT_PACKET);
            let node = &mut bench.nodes[0];
            let context = node.install(&image, &ContextOptions::default()).unwrap();
            node.add_rule(&"udp.dport == 77".parse().unwrap(), Action::Context(context)).unwrap();
            node.activate(context).unwrap();
            context
        };
        let bytes = udp(&Ends::default(), 4000, 77, &[7; 100]);
        bench.nodes[0].memory.card().sim().inject(WireFrame { bytes, gap: 0, bad: false });
        bench.handled(bad.len() + 1);
        for look in 0.. {
            if let Some(fault) = bench.nodes[0].pop_fault().unwrap() {
                assert_eq!((fault.context, fault.cause_text().0), (context, "FAULT_COMMAND"));
                break;
            }
            assert!(look < 100, "no fault of a handler without a packet");
        }
        assert_eq!(bench.nodes[0].puts().unwrap(), (0, 0));
        bench.all_cells_free();
    });
}

/// Without reliable transport a put is sent once, and its packet's cells return.
#[test]
fn without_reliable_transport_it_is_sent_once() {
    with_seeds(|| {
        let mut rng = seeded_rng("packet_puts_plain");
        let mut bench = Bench::new(WireOptions::default(), None, 1, 0);
        const PUTS: usize = 60;
        let window = bench.window(PUTS * SLOT_BYTES);
        let posted = bench.nodes[1].post_buffer(window, (PUTS * SLOT_BYTES) as u32).unwrap();
        for number in 0..PUTS {
            let order = random_order(&mut rng);
            bench.give(0, Order { offset: number * SLOT_BYTES, puts: 1, ..order });
            if number % 20 == 19 {
                bench.handled(number + 1);
            }
        }
        bench.over(PUTS as u32, 0);
        bench.all_cells_free();
        bench.arrived(&posted, |_| true);
    });
}
