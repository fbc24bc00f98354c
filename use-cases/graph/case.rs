//! Shortest paths over a graph whose vertices four nodes own: handlers take the minimum of the distances that arrive, or hosts do.

mod model;

use crate::bench::{window_of, word, Bench, Host, Program, Setting};
use crate::case::{ratios, value, Broken, Case, Measured, Mode, Row, HOSTS};
use anyhow::{ensure, Result};
use model::{DEGREE, FAR, NODES};
use spindle::rule_table::Action;
use spindle::{ContextId, ContextOptions, HostMemory};
use spindle_sdk::variables::variable;
use spindle_sdk::Handler;
use std::cell::{Cell, RefCell};
use std::collections::BTreeSet;
use std::rc::Rc;

const HANDLERS: &[(&str, &str)] = &[("relax.c", include_str!("handlers/relax.c"))];
const MODES: &[Mode] = &[
    Mode { name: "host", about: "each host polls for batches and takes the minima" },
    Mode {
        name: "spin",
        about: "handlers take the minima, and hand the host those vertices that are nearer than before",
    },
    Mode { name: "host-bfs", about: "as `host`, on a graph whose edges have length 1: breadth-first search" },
    Mode { name: "spin-bfs", about: "as `spin`, on that graph" },
];
/// Lengths of edges: 1 to this.
const LONGEST: usize = 255;
/// The mailbox of all nodes.
const WINDOW: u64 = 0x6A;
/// Bytes of a batch before its pairs, bytes of a pair, and of the round's number, inverted, that ends a batch which a host takes:
/// no pair holds such a word.
const HEADER: usize = 12;
const PAIR: usize = 8;
const TAIL: usize = 4;
/// Bytes of the host region before the lists, and of the record of a round there.
const RECORDS: usize = 64;
const RECORD: usize = 16;
/// Cycles in which the NICs become idle, and after which a malformed batch is dropped.
const QUIET: u64 = 1000;

/// Pairs of a full batch: a host prefers few long ones, processors prefer many short ones.
fn most_pairs(spin: bool) -> usize {
    if spin {
        16
    } else {
        170
    }
}

/// The case.
pub const CASE: Case = Case {
    name: "graph",
    figure: include_str!("figure.toml"),
    handlers: HANDLERS,
    source: include_str!("case.rs"),
    modes: MODES,
    run,
    summary,
    broken: BROKEN,
};

fn run(setting: &Setting, mode: &str, point: u64) -> Result<Measured> {
    let bench = setting.bench(NODES)?;
    let vertices = point as usize;
    let mut search = bench.set_up(|| Search::new(&bench, mode, vertices))?;
    // The first search warms the processors.
    search.refused()?;
    search.from(0)?;
    let first = search.round;
    let time = setting.ns(search.from(vertices / 2 + 1)? as f64);
    let rounds = search.round - first;
    let edges = (vertices * DEGREE) as f64;
    Measured::new(&bench, [("time_ns", time), ("mega_edges_per_s", edges / time * 1e3), ("rounds", f64::from(rounds))])
}

fn summary(rows: &[Row]) -> Vec<(String, f64)> {
    let vertices = [(32, "32"), (128, "128"), (512, "512")];
    let mut figures =
        ratios(rows, "time_ns", &vertices, &[("host", "spin", "speedup"), ("host-bfs", "spin-bfs", "speedup_bfs")]);
    for (host, name) in HOSTS {
        for mode in ["host", "spin"] {
            let rate = value(rows, mode, host, 512, "mega_edges_per_s");
            figures.extend(rate.map(|rate| (format!("mega_edges_per_s_{mode}{name}"), rate)));
        }
    }
    figures
}

const BROKEN: &[Broken] = &[
    Broken::new(
        "spin",
        "the last pair of a batch is missing",
        "relax.c",
        "pairs * sizeof(struct pair);\n    uint32_t any",
        "(pairs ? pairs - 1 : 0) * sizeof(struct pair);\n    uint32_t any",
    ),
    Broken::new("spin", "the greater distance is kept", "relax.c", "spin_amo_minu(", "spin_amo_maxu("),
    Broken::new("spin", "a vertex of no node is taken", "relax.c", "any >= mine", "false"),
    Broken::new(
        "spin",
        "a batch may have any length",
        "relax.c",
        "length != sizeof(struct batch) + pairs * sizeof(struct pair) ||",
        "",
    ),
    Broken::new("spin", "a batch may have any number", "relax.c", "number >= batches ||", ""),
    Broken::new("spin", "a batch of any round is taken", "relax.c", " || round - now > 1", ""),
    Broken::new(
        "spin",
        "a round ends before its last batch has come",
        "relax.c",
        "change = (1u << 24) + batches - 1;",
        "change = 1u << 24;",
    ),
];

/// What a node knows.
struct Node {
    distances: Vec<u32>,
    /// Vertices of the node that are nearer than when their edges were relaxed last.
    nearer: BTreeSet<usize>,
}

impl Node {
    /// Takes an offer to a vertex of the node.
    fn offer(&mut self, vertex: usize, distance: u32) {
        if distance < self.distances[vertex] {
            self.distances[vertex] = distance;
            self.nearer.insert(vertex);
        }
    }

    /// Takes pairs.
    fn offers(&mut self, pairs: &[u8]) {
        for pair in pairs.chunks_exact(PAIR) {
            self.offer(word(pair, 0) as usize, word(pair, 4));
        }
    }
}

/// Addresses of a node's memory.
#[derive(Clone, Copy)]
struct Memory {
    /// Batches that leave: of even and odd rounds, for each node.
    from: u64,
    /// Batches that arrive: likewise, of each node. Mode spin: records and lists.
    to: u64,
}

/// The nodes.
struct Search<'a> {
    bench: &'a Bench,
    spin: bool,
    graph: Rc<Vec<Vec<(usize, u32)>>>,
    memories: Vec<Memory>,
    /// Bytes of a full batch, and the batches of a round for which there is room.
    batch: usize,
    places: usize,
    /// Bytes of a list.
    list: usize,
    /// The handler and its context on each node.
    contexts: Option<(Handler, Vec<ContextId>)>,
    /// The next round; the rounds of all searches are counted.
    round: u32,
}

impl<'a> Search<'a> {
    fn new(bench: &'a Bench, mode: &str, vertices: usize) -> Result<Self> {
        let spin = mode.starts_with("spin");
        let longest = if mode.ends_with("bfs") { 1 } else { LONGEST };
        let graph = Rc::new(model::graph(vertices, longest));
        // Pairs that a node sends to another one in a round, and that one receives.
        let edges = |from: usize, to: usize| -> usize {
            let leaving = graph.iter().skip(from).step_by(NODES).flatten();
            leaving.filter(|(v, _)| v % NODES == to).count()
        };
        let all = || (0..NODES).flat_map(|from| (0..NODES).filter(move |to| *to != from).map(move |to| (from, to)));
        let most = all().map(|(from, to)| edges(from, to)).max().unwrap_or_default();
        let batch = HEADER + most_pairs(spin) * PAIR + TAIL;
        let places = most.div_ceil(most_pairs(spin)).max(1);
        let list = NODES * most * PAIR;
        let room = 2 * NODES * places * batch;
        let region = if spin { RECORDS + 2 * list } else { room };
        let hosts = bench.hosts();
        let memory =
            |host: &Host| -> Result<Memory> { Ok(Memory { from: host.alloc(room)?, to: host.alloc(region)? }) };
        let memories = hosts.iter().map(memory).collect::<Result<Vec<_>>>()?;
        let mut contexts = None;
        if spin {
            let handler = bench.compile(HANDLERS, "relax.c")?;
            let install = |(host, memory): (&Host, &Memory)| -> Result<ContextId> {
                let host_region = Some((memory.to, region as u32));
                let options = ContextOptions { host_region, ..ContextOptions::default() };
                let rule = format!("spindle.addr == {WINDOW}");
                let context = host.install(&handler.image, &rule, &options, Action::ContextPerMessage)?;
                host.set_word(context, &handler, "vertices", (vertices / NODES) as u32)?;
                Ok(context)
            };
            let installed = hosts.iter().zip(&memories).map(install).collect::<Result<Vec<_>>>()?;
            contexts = Some((handler, installed));
        } else {
            for (host, memory) in hosts.iter().zip(&memories) {
                host.endless_window(WINDOW, memory.to, room)?;
            }
        }
        hosts.iter().try_for_each(Host::listen)?;
        let graph = graph.clone();
        Ok(Search { bench, spin, graph, memories, batch, places, list, contexts, round: 1 })
    }

    /// Distances of all vertices from this one: cycles until the last host knows that there is nothing left to do.
    fn from(&mut self, source: usize) -> Result<u64> {
        let own = self.graph.len() / NODES;
        self.reset()?;
        let nodes: Vec<Rc<RefCell<Node>>> = (0..NODES)
            .map(|_| Rc::new(RefCell::new(Node { distances: vec![FAR; own], nearer: BTreeSet::new() })))
            .collect();
        nodes[source % NODES].borrow_mut().offer(source / NODES, 0);
        let (start, end) = (self.bench.now(), Rc::new(Cell::new((0, 0))));
        let programs = nodes.iter().enumerate().map(|(node, state)| self.program(node, state, &end)).collect();
        self.bench.run(programs)?;
        self.bench.idle(QUIET);
        let (last, round) = end.get();
        self.round = round;
        let wanted = model::distances(&self.graph, source);
        for (node, state) in nodes.iter().enumerate() {
            let got: Vec<u8> = state.borrow().distances.iter().flat_map(|word| word.to_le_bytes()).collect();
            self.bench.expect(&format!("distances at node {node}"), &got, &model::of_node(&wanted, node))?;
        }
        self.check(&model::offers(&self.graph, source))?;
        Ok(last - start)
    }

    /// The program of a node: rounds until no node has relaxed an edge.
    fn program(&self, node: usize, state: &Rc<RefCell<Node>>, end: &Rc<Cell<(u64, u32)>>) -> Program {
        let (host, state, end, graph) = (self.bench.host(node), state.clone(), end.clone(), self.graph.clone());
        let (spin, memory, list, most) = (self.spin, self.memories[node], self.list, most_pairs(self.spin));
        let (places, bytes, mut round) = (self.places, self.batch, self.round);
        let place = move |round: u32, node: usize| ((round as usize % 2 * NODES + node) * places) * bytes;
        let others: Vec<usize> = (1..NODES).map(|distance| (node + distance) % NODES).collect();
        Box::pin(async move {
            loop {
                // Edges to vertices of the node itself are relaxed at once, for the next round.
                let nearer = std::mem::take(&mut state.borrow_mut().nearer);
                let mut batches = vec![Vec::new(); NODES];
                for vertex in &nearer {
                    let mut state = state.borrow_mut();
                    let distance = state.distances[*vertex];
                    for (to, length) in &graph[vertex * NODES + node] {
                        match to % NODES == node {
                            true => state.offer(to / NODES, distance + length),
                            false => batches[to % NODES].push([(to / NODES) as u32, distance + length]),
                        }
                    }
                }
                let edges = nearer.len() * DEGREE;
                host.blocks(edges, edges * PAIR).await;
                let mut puts = Vec::new();
                for other in &others {
                    let pairs = &batches[*other];
                    let count = pairs.len().div_ceil(most).max(1);
                    for number in 0..count {
                        let pairs = &pairs[number * most..pairs.len().min((number + 1) * most)];
                        let head = [number, count, pairs.len(), nearer.len()];
                        let mut message: Vec<u8> = head.iter().flat_map(|n| (*n as u16).to_le_bytes()).collect();
                        message.extend(round.to_le_bytes());
                        message.extend(pairs.iter().flatten().flat_map(|word| word.to_le_bytes()));
                        if !spin {
                            message.extend((!round).to_le_bytes());
                        }
                        let from = memory.from + (place(round, *other) + number * bytes) as u64;
                        host.write(from, &message)?;
                        let offset = if spin { 0 } else { place(round, node) + number * bytes };
                        puts.push((from, message.len(), window_of(*other, WINDOW, offset)));
                    }
                }
                host.put_all(&puts).await?;
                let mut active = nearer.len();
                if spin {
                    let at = memory.to + (round as usize % 2 * RECORD) as u64;
                    let record = host
                        .until(|nic| {
                            let mut record = [0; 12];
                            nic.memory.read(at, &mut record)?;
                            Ok((word(&record, 8) == round).then_some(record))
                        })
                        .await?;
                    host.overhead().await;
                    let (length, others_active) = (word(&record, 0) as usize, word(&record, 4) as usize);
                    ensure!(length <= list, "a list of {length} bytes");
                    active += others_active;
                    let pairs = host.read(memory.to + (RECORDS + round as usize % 2 * list) as u64, length)?;
                    host.blocks(length / PAIR, length).await;
                    state.borrow_mut().offers(&pairs);
                } else {
                    for other in &others {
                        let (mut number, mut count) = (0, 1);
                        while number < count {
                            let at = memory.to + (place(round, *other) + number * bytes) as u64;
                            let message = host
                                .until(|nic| {
                                    let mut message = vec![0; bytes];
                                    nic.memory.read(at, &mut message)?;
                                    let end = HEADER + PAIR * (word(&message, 4) as usize & 0xFFFF);
                                    let whole = word(&message, 8) == round
                                        && end + TAIL <= bytes
                                        && word(&message, end) == !round;
                                    message.truncate(end);
                                    Ok(whole.then_some(message))
                                })
                                .await?;
                            host.overhead().await;
                            if number == 0 {
                                count = word(&message, 0) as usize >> 16;
                                active += word(&message, 4) as usize >> 16;
                            }
                            host.blocks((message.len() - HEADER) / PAIR, message.len()).await;
                            state.borrow_mut().offers(&message[HEADER..]);
                            number += 1;
                        }
                    }
                }
                round += 1;
                if active == 0 {
                    end.set((end.get().0.max(host.now()), round));
                    return Ok(());
                }
            }
        })
    }

    /// No NIC knows a distance.
    fn reset(&self) -> Result<()> {
        let Some((handler, contexts)) = &self.contexts else { return Ok(()) };
        self.bench.set_up(|| {
            contexts.iter().enumerate().try_for_each(|(node, context)| {
                let host = self.bench.host(node);
                host.set_words(*context, handler, "distances", &vec![FAR; self.graph.len() / NODES])?;
                host.set_word(*context, handler, "open_round", self.round)
            })
        })
    }

    /// Batches that have no effect, to node 0.
    fn refused(&self) -> Result<()> {
        if !self.spin {
            return Ok(());
        }
        self.reset()?;
        let (host, vertices) = (self.bench.host(1), self.graph.len() / NODES);
        let (mut puts, mut from) = (Vec::new(), self.memories[1].from);
        let malformed = model::malformed(vertices, self.round);
        self.bench.storm(1, 0, WINDOW, &malformed)?;
        for batch in malformed {
            host.write(from, &batch)?;
            puts.push((from, batch.len(), window_of(0, WINDOW, 0)));
            from += 64;
        }
        self.bench.run(vec![Box::pin(async move { host.put_all(&puts).await })])?;
        self.bench.idle(QUIET);
        self.check(&vec![FAR; self.graph.len()])
    }

    /// Compares what the NICs hold.
    fn check(&self, wanted: &[u32]) -> Result<()> {
        let Some((handler, contexts)) = &self.contexts else { return Ok(()) };
        let variable = variable(&handler.elf, &handler.image, "distances")?;
        let mut held = vec![vec![0; wanted.len() / NODES * 4]; NODES];
        self.bench.set_up(|| {
            for (node, (context, held)) in contexts.iter().zip(&mut held).enumerate() {
                self.bench.host(node).nic(|nic| nic.read_state(*context, variable.offset, held))?;
            }
            Ok(())
        })?;
        for (node, held) in held.iter().enumerate() {
            self.bench.expect(&format!("offers at the NIC of node {node}"), held, &model::of_node(wanted, node))?;
        }
        Ok(())
    }
}
