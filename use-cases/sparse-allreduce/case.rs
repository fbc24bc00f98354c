//! Sparse allreduce: pairs of place and value are added by handlers of one NIC, by its host, or gathered by all hosts.

mod model;

use crate::bench::{window_of, word, Bench, Host, Landing, Program, Setting};
use crate::case::{ratios, Broken, Case, Measured, Mode, Row};
use crate::channel::{Endpoint, Shape, Way};
use crate::cost::Work;
use anyhow::{Context, Result};
use model::WORDS;
use spindle::rule_table::Action;
use spindle::{ContextOptions, Target};
use spindle_contract::params::SEGMENT_BYTES;
use std::cell::{Cell, RefCell};
use std::rc::Rc;

const HANDLERS: &[(&str, &str)] = &[("scatter.c", include_str!("handlers/scatter.c"))];
const MODES: &[Mode] = &[
    Mode { name: "star", about: "nodes put their pairs to node 0, whose host adds them and puts the sum to all" },
    Mode {
        name: "gather",
        about: "hosts exchange all pairs they know, at twice the distance each time, and each adds them",
    },
    Mode { name: "spin", about: "handlers of node 0 add the pairs in context memory, and put the sum to all" },
];
/// Nodes, powers of two: of a figure, and of a test on the small NIC.
const NODES: usize = 8;
const FEW: usize = 2;
/// Bytes of the sum, and of a pair.
const BYTES: usize = 4 * WORDS;
const PAIR: usize = 8;
/// Addresses of windows: pairs, and sums.
const ADD: u64 = 0x5A_0000;
const RESULT: u64 = 0x5B_0000;
/// Rounds; the first ones warm the NICs and use each of the three vectors, and the last is measured.
const ROUNDS: usize = 5;
/// Cycles in which the NICs become idle.
const QUIET: u64 = 800;

/// The case.
pub const CASE: Case = Case {
    name: "sparse-allreduce",
    figure: include_str!("figure.toml"),
    handlers: HANDLERS,
    source: include_str!("case.rs"),
    modes: MODES,
    run,
    summary,
    broken: BROKEN,
};

const BROKEN: &[Broken] = &[
    Broken::new("spin", "a message counts twice", "scatter.c", ">> number & 1) {", ">> number & 0) {"),
    Broken::new("spin", "a message of another turn is added", "scatter.c", " || p->buf_off >> 8 != now", ""),
    Broken::new("spin", "a place may be beyond the vector", "scatter.c", "if (pairs[i].place < WORDS) {", "{"),
    Broken::new("spin", "a pair is left out", "scatter.c", "i < count; i++", "i + 1 < count; i++"),
    Broken::new("spin", "the vector of the next turn is not cleared", "scatter.c", "next[i] = 0;", ""),
];

fn run(setting: &Setting, mode: &str, point: u64) -> Result<Measured> {
    let bench = setting.bench(if setting.small() { FEW } else { NODES })?;
    let pairs = point as usize;
    let cycles = if mode == "gather" { gather(&bench, pairs)? } else { star(&bench, pairs, mode == "spin")? };
    Measured::new(&bench, [("time_ns", setting.ns(cycles as f64))])
}

fn summary(rows: &[Row]) -> Vec<(String, f64)> {
    let pairs = [("star", "spin", "star"), ("gather", "spin", "gather")];
    ratios(rows, "time_ns", &[(64, "64"), (1024, "1024")], &pairs)
}

/// Pairs as bytes of little-endian words.
fn bytes_of(pairs: &[(u32, u32)]) -> Vec<u8> {
    pairs.iter().flat_map(|(place, value)| [place.to_le_bytes(), value.to_le_bytes()]).flatten().collect()
}

/// Adds pairs to a dense vector.
fn add(vector: &mut [u8], pairs: &[u8]) {
    for pair in pairs.chunks_exact(PAIR) {
        if word(pair, 0) as usize >= WORDS {
            continue;
        }
        let place = 4 * word(pair, 0) as usize;
        let sum = word(vector, place).wrapping_add(word(pair, 4));
        vector[place..place + 4].copy_from_slice(&sum.to_le_bytes());
    }
}

/// By hosts that gather all pairs.
fn gather(bench: &Bench, pairs: usize) -> Result<u64> {
    let nodes = bench.hosts().len();
    let steps = nodes.ilog2() as usize;
    let ends = bench.set_up(|| {
        let mut ends = Vec::new();
        for (node, host) in bench.hosts().into_iter().enumerate() {
            let mut end = Endpoint::new(host, Way::Rvma)?;
            for step in 0..steps {
                let shape = Shape { bytes: (PAIR * pairs) << step, messages: ROUNDS, lanes: 2 };
                end.send_to(node ^ 1 << step, step, shape)?;
                end.receive_from(shape)?;
            }
            end.host().listen()?;
            ends.push(Rc::new(RefCell::new(Some(end))));
        }
        Ok(ends)
    })?;
    let mut cycles = 0;
    for round in 0..ROUNDS {
        bench.idle(QUIET);
        let (start, last) = (bench.now(), Rc::new(Cell::new(0)));
        let sums: Vec<Rc<RefCell<Vec<u8>>>> = (0..nodes).map(|_| Rc::default()).collect();
        let programs = (0..nodes).map(|node| -> Program {
            let (end, result, last) = (ends[node].clone(), sums[node].clone(), last.clone());
            Box::pin(async move {
                let mut endpoint = end.take().context("the endpoint is in use")?;
                let mut known = bytes_of(&model::pairs(pairs, node, round));
                for step in 0..steps {
                    endpoint.send(&[(step, &known)]).await?;
                    known.extend(&endpoint.receive(&[step]).await?[0]);
                }
                endpoint.host().work(Work::Add, known.len()).await;
                let mut sum = vec![0; BYTES];
                add(&mut sum, &known);
                last.set(last.get().max(endpoint.host().now()));
                result.replace(sum);
                end.replace(Some(endpoint));
                Ok(())
            })
        });
        bench.run(programs.collect())?;
        cycles = last.get() - start;
        for (node, sum) in sums.iter().enumerate() {
            bench.expect(&format!("the sum of node {node}"), &sum.borrow(), &model::sum(pairs, nodes, round))?;
        }
    }
    Ok(cycles)
}

/// A node of the star: its host, its pairs, and where the sum comes.
struct Leaf {
    host: Host,
    pairs: u64,
    sum: Landing,
}

/// At node 0, by handlers or by the host.
fn star(bench: &Bench, pairs: usize, handlers: bool) -> Result<u64> {
    let (bytes, nodes) = (PAIR * pairs, bench.hosts().len());
    let leaves = bench.set_up(|| {
        let mut leaves = Vec::new();
        for host in bench.hosts() {
            let (pairs, sum) = (host.alloc(bytes)?, Landing::new(&host, RESULT, BYTES)?);
            leaves.push(Leaf { host, pairs, sum });
        }
        Ok(leaves)
    })?;
    let root = bench.host(0);
    // Of the host: where the pairs of each node come, and where the sum leaves.
    let (places, sum) = (root.alloc(nodes * bytes)?, root.alloc(BYTES)?);
    bench.set_up(|| {
        if handlers {
            install(bench, &root, bytes)?;
        } else {
            root.endless_window(ADD, places, nodes * bytes)?;
        }
        bench.hosts().iter().try_for_each(Host::listen)
    })?;
    let mut cycles = 0;
    for round in 0..ROUNDS {
        if handlers {
            refused(bench, &leaves[1], round)?;
        }
        for (node, leaf) in leaves.iter().enumerate() {
            leaf.sum.post(&leaf.host)?;
            leaf.host.write(leaf.pairs, &bytes_of(&model::pairs(pairs, node, round)))?;
        }
        bench.idle(QUIET);
        let wanted = model::sum(pairs, nodes, round);
        let (start, last) = (bench.now(), Rc::new(Cell::new(0)));
        let mut programs: Vec<Program> = Vec::new();
        for (node, leaf) in leaves.iter().enumerate() {
            let (host, from, sum, last) = (leaf.host.clone(), leaf.pairs, leaf.sum, last.clone());
            programs.push(Box::pin(async move {
                let puts: Vec<(u64, usize, Target)> = if handlers {
                    let parts = (0..bytes).step_by(SEGMENT_BYTES).enumerate();
                    let part = |(number, at): (usize, usize)| {
                        (from + at as u64, SEGMENT_BYTES.min(bytes - at), window_of(0, ADD, round << 8 | number))
                    };
                    let mut puts: Vec<_> = parts.map(part).collect();
                    if node == 1 {
                        // A second copy, which must not be added.
                        puts.insert(1, puts[0]);
                    }
                    puts
                } else {
                    vec![(from, bytes, window_of(0, ADD, node * bytes))]
                };
                host.put_all(&puts).await?;
                host.record(&sum.posted).await?;
                last.set(last.get().max(host.now()));
                Ok(())
            }));
        }
        if !handlers {
            let host = root.clone();
            programs.push(Box::pin(async move {
                let mut vector = vec![0; BYTES];
                for node in 0..nodes {
                    // The last pair of a message is its last to come.
                    let pairs = bytes_of(&model::pairs(pairs, node, round));
                    let place = places + (node * bytes) as u64;
                    host.bytes(place + (bytes - PAIR) as u64, &pairs[bytes - PAIR..]).await?;
                    host.work(Work::Add, bytes).await;
                    add(&mut vector, &host.read(place, bytes)?);
                }
                host.write(sum, &vector)?;
                let puts: Vec<_> = (0..nodes).map(|node| (sum, BYTES, window_of(node, RESULT, 0))).collect();
                host.put_all(&puts).await
            }));
        }
        bench.run(programs)?;
        cycles = last.get() - start;
        for (node, leaf) in leaves.iter().enumerate() {
            bench.expect(
                &format!("the sum of node {node}"),
                &leaf.host.read(leaf.sum.posted.buffer, BYTES)?,
                &wanted,
            )?;
        }
    }
    Ok(cycles)
}

/// Handlers of node 0.
fn install(bench: &Bench, host: &Host, bytes: usize) -> Result<()> {
    let handler = bench.compile(HANDLERS, "scatter.c")?;
    let rule = format!("spindle && spindle.addr_lo == {ADD}");
    let context = host.install(&handler.image, &rule, &ContextOptions::default(), Action::ContextPerMessage)?;
    host.set_word(context, &handler, "nodes", bench.hosts().len() as u32)?;
    host.set_word(context, &handler, "messages", bytes.div_ceil(SEGMENT_BYTES) as u32)?;
    host.set_target(context, &handler, "result", &window_of(0, RESULT, 0))
}

/// Puts that the handler must drop: of no message of a node, of another turn, no whole pairs, several packets.
fn refused(bench: &Bench, leaf: &Leaf, round: usize) -> Result<()> {
    let from = leaf.host.alloc(2 * SEGMENT_BYTES)?;
    leaf.host.write(from, &bytes_of(&vec![(3, 1); 2 * SEGMENT_BYTES / PAIR]))?;
    let target = |turn: usize, number: usize| window_of(0, ADD, turn << 8 | number);
    let puts = [
        (from, 64, target(round, 0xff)),
        (from, 64, target(round + 1, 0)),
        (from, 60, target(round, 0)),
        (from, 2 * SEGMENT_BYTES, target(round, 0)),
    ];
    let host = leaf.host.clone();
    bench.run(vec![Box::pin(async move { host.put_all(&puts).await })])
}
