//! Allreduce of integers: by hosts along a ring or in pairs, and by handlers of one NIC.

mod model;

use crate::bench::{window_of, Bench, Host, Program, Setting};
use crate::case::{ratios, Broken, Case, Measured, Mode, Row};
use crate::channel::{Endpoint, Shape, Way};
use crate::cost::Work;
use anyhow::{Context, Result};
use spindle::rule_table::Action;
use spindle::{ContextOptions, Target};
use std::cell::{Cell, RefCell};
use std::rc::Rc;

const HANDLERS: &[(&str, &str)] = &[("reduce.c", include_str!("handlers/reduce.c"))];
const MODES: &[Mode] = &[
    Mode { name: "ring", about: "hosts add pieces along a ring, and pass the sums on along it" },
    Mode { name: "doubling", about: "hosts exchange whole vectors in pairs, at twice the distance each time" },
    Mode { name: "spin", about: "handlers of node 0 add segments as they come, and put each sum to all nodes" },
];
/// Nodes; a power of two.
const NODES: usize = 8;
const FEW: usize = 4;
/// Bytes of a segment, and slots of a cluster, as the handler has them.
const SEGMENT: usize = 1408;
const SLOTS: usize = 5;
/// Clusters that add. A context has its scratchpad in every cluster, and two of 8 KiB fit.
const CLUSTERS: usize = 2;
/// Addresses of windows: contributions, whose low half has the number of the cluster added, and results.
const ADD: u64 = 0xADD_0000;
const RESULT: u64 = 0xADE;
/// Rounds; the first ones warm the NICs, and the last is measured.
const ROUNDS: usize = 4;
/// Cycles in which the NICs become idle.
const QUIET: u64 = 800;

/// The case.
pub const CASE: Case = Case {
    name: "allreduce",
    figure: include_str!("figure.toml"),
    handlers: HANDLERS,
    source: include_str!("case.rs"),
    modes: MODES,
    run,
    summary,
    broken: BROKEN,
};

fn run(setting: &Setting, mode: &str, point: u64) -> Result<Measured> {
    let bench = setting.bench(if setting.small() { FEW } else { NODES })?;
    let bytes = point as usize;
    let cycles = if mode == "spin" { star(&bench, bytes)? } else { by_hosts(&bench, mode == "ring", bytes)? };
    let ns = setting.ns(cycles);
    Measured::new(&bench, [("time_ns", ns), ("gb_per_s", 8.0 * bytes as f64 / ns)])
}

fn summary(rows: &[Row]) -> Vec<(String, f64)> {
    let pairs = [("ring", "spin", "ring"), ("doubling", "spin", "doubling")];
    ratios(rows, "time_ns", &[(4096, "4k"), (65536, "64k")], &pairs)
}

const BROKEN: &[Broken] = &[
    Broken::new("spin", "a slot is not cleared", "reduce.c", "sums, sums, SEGMENT", "sums, sums, 4"),
    Broken::new("spin", "a node counts twice", "reduce.c", "& own) {", "& 0) {"),
    Broken::new("spin", "segments of another turn are added", "reduce.c", "|| s->slots[number].turn != turn", ""),
    Broken::new("spin", "a sum goes beyond the result", "reduce.c", "|| place > end || length > end - place", ""),
    Broken::new(
        "spin",
        "a word is not added",
        "reduce.c",
        "sums, segment, length);\n    /*",
        "sums, segment, length - 4);\n    /*",
    ),
];

/// Adds words to words.
fn add(to: &mut [u8], from: &[u8]) {
    for (to, from) in to.chunks_exact_mut(4).zip(from.chunks_exact(4)) {
        let word = |bytes: &[u8]| u32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]);
        to.copy_from_slice(&word(to).wrapping_add(word(from)).to_le_bytes());
    }
}

/// Rounds, each compared with the model: cycles of the last.
fn rounds(bench: &Bench, bytes: usize, mut round: impl FnMut(usize) -> Result<(u64, Vec<Vec<u8>>)>) -> Result<f64> {
    let (mut cycles, nodes) = (0, bench.nodes());
    // With a long vector, the first round runs the handlers on all HPUs.
    for number in 0..if bytes > 16384 { 2 } else { ROUNDS } {
        let (taken, results) = round(number)?;
        cycles = taken;
        for (node, result) in results.iter().enumerate() {
            bench.expect(&format!("the result of node {node}"), result, &model::sum(bytes, nodes, number))?;
        }
    }
    Ok(cycles as f64)
}

/// By hosts, along a ring or by recursive doubling.
fn by_hosts(bench: &Bench, ring: bool, bytes: usize) -> Result<f64> {
    let nodes = bench.nodes();
    let steps = if ring { 2 * (nodes - 1) } else { nodes.ilog2() as usize };
    // A ring has one channel to the next node; in pairs there is one for each distance.
    let shape = match ring {
        true => Shape { bytes: bytes / nodes, messages: steps * ROUNDS, lanes: 2 },
        false => Shape { bytes, messages: ROUNDS, lanes: 2 },
    };
    let ends = bench.set_up(|| {
        let mut ends = Vec::new();
        for (node, host) in bench.hosts().into_iter().enumerate() {
            let mut end = Endpoint::new(host, Way::Rvma)?;
            let peers: Vec<(usize, usize)> = match ring {
                true => vec![((node + 1) % nodes, 0)],
                false => (0..steps).map(|step| (node ^ 1 << step, step)).collect(),
            };
            for (to, number) in peers {
                end.send_to(to, number, shape)?;
                end.receive_from(shape)?;
            }
            end.host().listen()?;
            ends.push(Rc::new(RefCell::new(Some(end))));
        }
        Ok(ends)
    })?;
    rounds(bench, bytes, |round| {
        bench.idle(QUIET);
        let (start, last) = (bench.now(), Rc::new(Cell::new(0)));
        let results: Vec<Rc<RefCell<Vec<u8>>>> =
            (0..nodes).map(|node| Rc::new(RefCell::new(model::vector(bytes, node, round)))).collect();
        let programs = (0..nodes).map(|node| -> Program {
            let (end, result, last) = (ends[node].clone(), results[node].clone(), last.clone());
            Box::pin(async move {
                let mut endpoint = end.take().context("the endpoint is in use")?;
                let mut vector = result.take();
                if ring {
                    around(&mut endpoint, (node, nodes), &mut vector).await?;
                } else {
                    for step in 0..steps {
                        endpoint.send(&[(step, &vector)]).await?;
                        let other = endpoint.receive(&[step]).await?;
                        endpoint.host().work(Work::Add, bytes).await;
                        add(&mut vector, &other[0]);
                    }
                }
                last.set(last.get().max(endpoint.host().now()));
                result.replace(vector);
                end.replace(Some(endpoint));
                Ok(())
            })
        });
        bench.run(programs.collect())?;
        Ok((last.get() - start, results.into_iter().map(|result| result.take()).collect()))
    })
}

/// A node's part in a ring of so many: pieces are added on their first way round, and passed on as sums on the second.
async fn around(end: &mut Endpoint, (node, nodes): (usize, usize), vector: &mut [u8]) -> Result<()> {
    let piece = vector.len() / nodes;
    for step in 0..2 * (nodes - 1) {
        let (out, back) = ((node + 2 * nodes - step) % nodes, (node + 2 * nodes - step - 1) % nodes);
        end.send(&[(0, &vector[out * piece..][..piece])]).await?;
        let other = end.receive(&[0]).await?;
        let place = &mut vector[back * piece..][..piece];
        if step < nodes - 1 {
            end.host().work(Work::Add, piece).await;
            add(place, &other[0]);
        } else {
            // It lies where it came: nothing is copied.
            place.copy_from_slice(&other[0]);
        }
    }
    Ok(())
}

/// By handlers of node 0.
fn star(bench: &Bench, bytes: usize) -> Result<f64> {
    let hosts = bench.hosts();
    let nodes = bench.set_up(|| {
        let mut nodes = Vec::new();
        for host in &hosts {
            let (vector, result) = (host.alloc(bytes)?, host.alloc(bytes)?);
            host.endless_window(RESULT, result, bytes)?;
            nodes.push((host.clone(), vector, result));
        }
        install(bench, &hosts[0], bytes)?;
        hosts.iter().try_for_each(Host::listen)?;
        Ok(nodes)
    })?;
    let segments = bytes.div_ceil(SEGMENT);
    let first = Rc::new(Cell::new(0));
    rounds(bench, bytes, |round| {
        // Messages that must change nothing, and then the next round.
        refused(bench, &nodes[1].0, bytes, place(first.get(), 0))?;
        for (node, (host, vector, result)) in nodes.iter().enumerate() {
            host.write(*vector, &model::vector(bytes, node, round))?;
            host.write(*result, &vec![0; bytes])?;
        }
        bench.idle(QUIET);
        let wanted = Rc::new(model::sum(bytes, bench.nodes(), round));
        let (start, last) = (bench.now(), Rc::new(Cell::new(0)));
        let programs = nodes.iter().map(|(host, vector, result)| -> Program {
            let (host, vector, result, wanted, last) = (host.clone(), *vector, *result, wanted.clone(), last.clone());
            let first = first.get();
            Box::pin(async move {
                let extent = |segment: usize| (segment * SEGMENT, SEGMENT.min(bytes - segment * SEGMENT));
                let put = |segment: usize| {
                    let (at, length) = extent(segment);
                    (vector + at as u64, length, place(first + segment, at))
                };
                // As many segments as there are slots leave at once; each sum that has come lets the next one leave.
                let ahead = CLUSTERS * SLOTS;
                let mut puts: Vec<_> = (0..segments.min(ahead)).map(put).collect();
                if round == 0 && host.number() == 1 {
                    // A second copy, which must not be added.
                    puts.insert(1, put(0));
                }
                host.put_all(&puts).await?;
                for segment in 0..segments {
                    // The last bytes of a segment are its last to come.
                    let (at, length) = extent(segment);
                    let tail = at + length - 4;
                    host.bytes(result + tail as u64, &wanted[tail..tail + 4]).await?;
                    if segment + ahead < segments {
                        host.put_all(&[put(segment + ahead)]).await?;
                    }
                }
                last.set(last.get().max(host.now()));
                Ok(())
            })
        });
        bench.run(programs.collect())?;
        first.set(first.get() + segments);
        let results = nodes.iter().map(|(host, _, result)| host.read(*result, bytes)).collect::<Result<_>>()?;
        Ok((last.get() - start, results))
    })
}

/// Where a segment is added: the number of segments before it decides cluster, slot and turn.
fn place(number: usize, at: usize) -> Target {
    let (cluster, nth) = (number % CLUSTERS, number / CLUSTERS);
    window_of(0, (at as u64) << 32 | ADD | cluster as u64, ((nth / SLOTS) << 8) | (nth % SLOTS))
}

/// Handlers of each cluster, in a context of its own.
fn install(bench: &Bench, host: &Host, bytes: usize) -> Result<()> {
    let handler = bench.compile(HANDLERS, "reduce.c")?;
    let hpus = bench.setting().config.hpus;
    for cluster in 0..CLUSTERS {
        let cores = ((1 << hpus) - 1) << (cluster * hpus);
        let options = ContextOptions {
            core_mask: cores,
            scratch_bytes: Some(SLOTS * (SEGMENT + 16)),
            ..ContextOptions::default()
        };
        let rule = format!("spindle && spindle.addr_lo == {}", ADD | cluster as u64);
        let context = host.install(&handler.image, &rule, &options, Action::ContextPerMessage)?;
        host.set_word(context, &handler, "nodes", bench.nodes() as u32)?;
        host.set_word(context, &handler, "bytes", bytes as u32)?;
        host.set_target(context, &handler, "result", &window_of(0, RESULT, 0))?;
    }
    Ok(())
}

/// Puts that the handler must drop: of no slot, of another turn, beyond the result, no whole words, too long.
fn refused(bench: &Bench, host: &Host, bytes: usize, good: Target) -> Result<()> {
    let from = host.alloc(2 * SEGMENT)?;
    host.write(from, &vec![0xA5; 2 * SEGMENT])?;
    let beyond = Target { address: good.address | (bytes as u64) << 32, ..good };
    let puts = [
        (from, 64, Target { offset: good.offset | 0xff, ..good }),
        (from, 64, Target { offset: good.offset + 0x100, ..good }),
        (from, 64, beyond),
        (from, 63, good),
        (from, 2 * SEGMENT, good),
    ];
    let host = host.clone();
    bench.run(vec![Box::pin(async move { host.put_all(&puts).await })])
}
