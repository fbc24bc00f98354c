//! Broadcast along a redundant graph: it reaches all living nodes while others are dead.

mod model;

use crate::bench::{window_of, Bench, Host, Program, Setting};
use crate::case::{ratios, Broken, Case, Measured, Mode, Row};
use anyhow::Result;
use model::BYTES;
use spindle::rule_table::Action;
use spindle::ContextOptions;
use std::cell::Cell;
use std::rc::Rc;

const HANDLERS: &[(&str, &str)] = &[("forward.c", include_str!("handlers/forward.c"))];
const MODES: &[Mode] = &[
    Mode { name: "host", about: "each host polls its memory, and puts a message to its neighbours when it has come" },
    Mode { name: "spin", about: "handlers pass on a message that comes for the first time, and deliver it once" },
];
/// Nodes, also on the small NIC; powers of two. Node 0 is the root.
const NODES: usize = 8;
const FEW: usize = 4;
/// The mailbox of all nodes.
const WINDOW: u64 = 0xF7;
/// Messages that a node has room for; those that warm the NICs, and those that are measured.
const ROOM: usize = 64;
const WARM: usize = 16;
const ROUNDS: usize = 2;
/// Cycles in which the NICs become idle.
const QUIET: u64 = 600;

/// The case.
pub const CASE: Case = Case {
    name: "ft-broadcast",
    figure: include_str!("figure.toml"),
    handlers: HANDLERS,
    source: include_str!("case.rs"),
    modes: MODES,
    run,
    summary,
    broken: BROKEN,
};

fn run(setting: &Setting, mode: &str, point: u64) -> Result<Measured> {
    let nodes = if setting.small() { FEW } else { NODES };
    let bench = setting.bench(nodes)?;
    // Neighbours of the root: the farthest one, then the first one.
    let dead = &[nodes / 2, 1][..point as usize];
    let group = bench.set_up(|| Group::new(&bench, mode, dead))?;
    for number in 0..WARM {
        group.broadcast(number)?;
    }
    group.check(WARM)?;
    let mut cycles = 0;
    for number in WARM..WARM + ROUNDS {
        group.refused(number)?;
        cycles += group.broadcast(number)?;
        group.check(number + 1)?;
    }
    Measured::new(&bench, [("time_ns", setting.ns(cycles as f64 / ROUNDS as f64))])
}

fn summary(rows: &[Row]) -> Vec<(String, f64)> {
    ratios(rows, "time_ns", &[(0, "0"), (1, "1"), (2, "2")], &[("host", "spin", "speedup")])
}

const BROKEN: &[Broken] = &[
    Broken::new("spin", "a message is delivered each time that it comes", "forward.c", "& bit) {", "& 0) {"),
    Broken::new(
        "spin",
        "a message may have any length",
        "forward.c",
        "p->msg_len != BYTES || p->payload_len != BYTES",
        "false",
    ),
    Broken::new("spin", "a message may have any number", "forward.c", "number >= MESSAGES", "false"),
    Broken::new("spin", "nothing is passed on", "forward.c", "distance = nodes / 2;", "distance = 0;"),
];

/// Nodes of the graph that are linked with this one, the farthest first.
fn neighbours(node: usize, nodes: usize) -> Vec<usize> {
    let mut all = Vec::new();
    let mut distance = nodes / 2;
    while distance > 0 {
        for other in [(node + distance) % nodes, (node + nodes - distance) % nodes] {
            if !all.contains(&other) {
                all.push(other);
            }
        }
        distance /= 2;
    }
    all
}

/// The nodes.
struct Group<'a> {
    bench: &'a Bench,
    spin: bool,
    dead: Vec<usize>,
    hosts: Vec<Host>,
    /// Messages of each node, one after another. The root writes its own.
    memories: Vec<u64>,
    /// What the root sends that is malformed.
    scratch: u64,
}

impl<'a> Group<'a> {
    fn new(bench: &'a Bench, mode: &str, dead: &[usize]) -> Result<Self> {
        let (spin, hosts) = (mode == "spin", bench.hosts());
        let memories = hosts.iter().map(|host| host.alloc(ROOM * BYTES)).collect::<Result<Vec<_>>>()?;
        let scratch = hosts[0].alloc(1024)?;
        let handler = if spin { Some(bench.compile(HANDLERS, "forward.c")?) } else { None };
        for (node, host) in hosts.iter().enumerate() {
            match &handler {
                // Its NIC takes messages, and no program looks.
                _ if dead.contains(&node) => {
                    host.endless_window(WINDOW, host.alloc(ROOM * BYTES)?, ROOM * BYTES)?;
                }
                Some(handler) if node > 0 => {
                    let host_region = Some((memories[node], (ROOM * BYTES) as u32));
                    let options = ContextOptions { host_region, ..ContextOptions::default() };
                    let context = host.install(&handler.image, "spindle", &options, Action::ContextPerMessage)?;
                    host.set_word(context, handler, "rank", node as u32)?;
                    host.set_word(context, handler, "size", hosts.len() as u32)?;
                    host.set_target(context, handler, "peers", &window_of(0, WINDOW, 0))?;
                }
                // What comes back to the root: its own messages, and in mode spin into a place of no message.
                Some(_) => {
                    host.endless_window(WINDOW, host.alloc(BYTES)?, BYTES)?;
                }
                None => {
                    host.endless_window(WINDOW, memories[node], ROOM * BYTES)?;
                }
            }
            host.listen()?;
        }
        Ok(Group { bench, spin, dead: dead.to_vec(), hosts, memories, scratch })
    }

    /// A broadcast: cycles from the root's call until the last living host has the message.
    fn broadcast(&self, number: usize) -> Result<u64> {
        let message = model::message(number);
        let at = number * BYTES;
        self.hosts[0].write(self.memories[0] + at as u64, &message)?;
        let (start, end) = (self.bench.now(), Rc::new(Cell::new(0)));
        let nodes = self.hosts.len();
        let living = (0..nodes).filter(|node| !self.dead.contains(node));
        let programs = living.map(|node| -> Program {
            let (host, message, seen, spin) = (self.hosts[node].clone(), message.clone(), end.clone(), self.spin);
            let from = self.memories[node] + at as u64;
            Box::pin(async move {
                if node > 0 {
                    host.bytes(from, &message).await?;
                    seen.set(seen.get().max(host.now()));
                }
                if node == 0 || !spin {
                    let offset = if spin { 0 } else { at };
                    for other in neighbours(node, nodes) {
                        host.put(from, BYTES, &window_of(other, WINDOW, offset)).await?;
                    }
                }
                Ok(())
            })
        });
        self.bench.run(programs.collect())?;
        self.bench.idle(QUIET);
        Ok(end.get() - start)
    }

    /// Messages that no handler may take, to the last node, a living neighbour of the root, and the last message again.
    fn refused(&self, number: usize) -> Result<()> {
        if !self.spin {
            return Ok(());
        }
        let (root, last) = (self.hosts[0].clone(), self.hosts.len() - 1);
        let mut puts = Vec::new();
        self.bench.storm(0, last, WINDOW, &model::malformed(number))?;
        for (i, message) in model::malformed(number).into_iter().chain([model::message(number - 1)]).enumerate() {
            let from = self.scratch + 128 * i as u64;
            root.write(from, &message)?;
            puts.push((from, message.len(), window_of(last, WINDOW, 0)));
        }
        self.bench.run(vec![Box::pin(async move { root.put_all(&puts).await })])?;
        self.bench.idle(2 * QUIET);
        Ok(())
    }

    /// Compares the memories of all nodes.
    fn check(&self, messages: usize) -> Result<()> {
        for (node, host) in self.hosts.iter().enumerate() {
            let got = host.read(self.memories[node], ROOM * BYTES)?;
            let wanted = model::memory(!self.dead.contains(&node), messages, ROOM * BYTES);
            self.bench.expect(&format!("the memory of node {node}"), &got, &wanted)?;
        }
        Ok(())
    }
}
