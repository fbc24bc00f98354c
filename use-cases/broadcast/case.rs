//! Broadcast along a binomial tree: from the root's first put to the last host's completion.

mod model;

use crate::bench::{window_of, Bench, Host, Prepared, Program, Setting, KEY, PROCESS};
use crate::case::{ratios, value, Broken, Case, Measured, Mode, Row};
use anyhow::Result;
use spindle::rule_table::{Action, Delivery, Message};
use spindle::rvma::{Posted, Window};
use spindle::{ContextId, ContextOptions};
use std::cell::Cell;
use std::rc::Rc;

const HANDLERS: &[(&str, &str)] =
    &[("p4.c", include_str!("handlers/p4.c")), ("stream.c", include_str!("handlers/stream.c"))];
const MODES: &[Mode] = &[
    Mode { name: "rdma", about: "each host polls its memory, and puts the message to its children" },
    Mode {
        name: "p4",
        about: "the NIC puts the message to the children from host memory when it is complete, as triggered operations",
    },
    Mode { name: "stream", about: "handlers put each packet to the children from the packet buffer as it comes" },
];
/// Bytes of the two messages, each in windows of its own.
const SIZES: [usize; 2] = [8, 64 << 10];
/// Addresses of the windows of these messages, the same at all nodes, and of that of the messages that warm the NICs.
const WINDOWS: [u64; 2] = [0x70, 0x71];
const WARM: u64 = 0x72;
/// Messages that warm the NICs: two for each HPU, so that each has run the handlers.
const WARM_MESSAGES: usize = 32;
/// Rounds of a size; the first is not counted.
const ROUNDS: usize = 2;
/// Cycles after which the NICs are idle: the last acknowledgements have come.
const QUIET: u64 = 400;

/// The case.
pub const CASE: Case = Case {
    name: "broadcast",
    figure: include_str!("figure.toml"),
    handlers: HANDLERS,
    source: include_str!("case.rs"),
    modes: MODES,
    run,
    summary,
    broken: BROKEN,
};

fn run(setting: &Setting, mode: &str, point: u64) -> Result<Measured> {
    let bench = setting.bench(point as usize)?;
    let nodes = bench.set_up(|| {
        let nodes: Vec<Node> = bench.hosts().into_iter().map(|host| Node::new(host, mode)).collect::<Result<_>>()?;
        if mode != "rdma" {
            install(&bench, &nodes, mode)?;
        }
        nodes.iter().try_for_each(|node| node.host.listen())?;
        Ok(nodes)
    })?;
    prepare(&bench, &nodes, mode)?;
    warm(&bench, &nodes)?;
    let mut times = [0.0; 2];
    for (size, time) in times.iter_mut().enumerate() {
        let mut cycles = 0;
        for round in 0..ROUNDS {
            let taken = broadcast(&bench, &nodes, mode, size, round)?;
            cycles += if round == 0 { 0 } else { taken };
        }
        *time = setting.ns(cycles as f64 / (ROUNDS - 1) as f64);
    }
    let times = [("time_8_ns", times[0]), ("time_64k_ns", times[1])];
    let instructions = bench.instructions(0..point as usize)?.map(|mean| ("instructions", mean));
    Measured::new(&bench, times.into_iter().chain(instructions))
}

fn summary(rows: &[Row]) -> Vec<(String, f64)> {
    let of_size = |size: &str| {
        let pairs = [("rdma", "stream", "rdma"), ("p4", "stream", "p4")];
        ratios(rows, &format!("time_{size}_ns"), &[(16, size)], &pairs)
    };
    let instructions = value(rows, "stream", "pcie", 16, "instructions").map(|mean| ("instructions_16".into(), mean));
    ["8", "64k"].into_iter().flat_map(of_size).chain(instructions).collect()
}

const BROKEN: &[Broken] = &[
    Broken::new(
        "p4",
        "the children get their bytes from another place",
        "p4.c",
        "task->buf_off, task->msg_len",
        "8, task->msg_len",
    ),
    Broken::new("stream", "the payload begins a byte early", "stream.c", "spin_payload(p),", "spin_payload(p) - 1,"),
];

/// A host and what it needs for its part. Both windows of a node have the same memory, which a handler can name by an offset.
struct Node {
    host: Host,
    memory: u64,
    /// By size.
    windows: [Window; 2],
    records: [u64; 2],
}

impl Node {
    fn new(host: Host, mode: &str) -> Result<Node> {
        let memory = host.alloc(SIZES[1])?;
        host.endless_window(WARM, memory, SIZES[0])?;
        let of_size = |size: usize| match mode {
            "rdma" => host.endless_window(WINDOWS[size], memory, SIZES[size]),
            _ => Ok(host.nic(|nic| nic.init_window(PROCESS, WINDOWS[size], KEY, SIZES[size] as u32))?),
        };
        let windows = [of_size(0)?, of_size(1)?];
        let records = [host.alloc(64)?, host.alloc(64)?];
        Ok(Node { host, memory, windows, records })
    }

    fn posted(&self, size: usize) -> Posted {
        Posted { buffer: self.memory, size: SIZES[size] as u32, record: self.records[size] }
    }
}

/// The children of a node in the tree, that with the largest tree of its own first.
fn children(node: usize, nodes: usize) -> Vec<usize> {
    let first = (node + 1).next_power_of_two();
    (0..).map(|k| node + (first << k)).take_while(|child| *child < nodes).collect()
}

/// Handlers at all nodes that have a parent and children.
fn install(bench: &Bench, nodes: &[Node], mode: &str) -> Result<()> {
    let handler = bench.compile(HANDLERS, if mode == "p4" { "p4.c" } else { "stream.c" })?;
    let action: fn(ContextId) -> Action = if mode == "p4" {
        Action::ContextPerMessage
    } else {
        |context| Action::Deliver(Delivery { context, message: Message::SpindleHeader, end: None, to_host: true })
    };
    for (number, node) in nodes.iter().enumerate().skip(1) {
        if children(number, nodes.len()).is_empty() {
            continue;
        }
        let region = Some((node.memory, SIZES[1] as u32));
        let options = ContextOptions { host_region: region, ..ContextOptions::default() };
        let context = node.host.install(&handler.image, "spindle", &options, action)?;
        for (name, value) in [("key", KEY), ("rank", number as u32), ("size", nodes.len() as u32)] {
            node.host.set_word(context, &handler, name, value)?;
        }
    }
    Ok(())
}

/// Prepares the first put of the hosts that put, of each size on a doorbell page of its own: of all in mode `rdma`, of the root alone
/// otherwise. The other puts take the command ring, since the NIC keeps one put of the doorbells beside that which leaves.
fn prepare(bench: &Bench, nodes: &[Node], mode: &str) -> Result<()> {
    let putting = if mode == "rdma" { nodes } else { &nodes[..1] };
    let mut programs: Vec<Program> = Vec::new();
    for (number, node) in putting.iter().enumerate() {
        let (host, memory) = (node.host.clone(), node.memory);
        let children = children(number, nodes.len());
        programs.push(Box::pin(async move {
            if let Some(child) = children.first() {
                for size in 0..SIZES.len() {
                    host.prepare(size, memory, SIZES[size], &window_of(*child, WINDOWS[size], 0))?;
                }
            }
            host.busy(QUIET).await;
            Ok(())
        }));
    }
    bench.run(programs)
}

/// Small messages down the tree, until each HPU has run the handlers. What hosts do in mode `rdma` needs none.
fn warm(bench: &Bench, nodes: &[Node]) -> Result<()> {
    let (root, memory) = (nodes[0].host.clone(), nodes[0].memory);
    let children = children(0, nodes.len());
    bench.run(vec![Box::pin(async move {
        for _ in 0..WARM_MESSAGES {
            let puts: Vec<_> = children.iter().map(|child| (memory, SIZES[0], window_of(*child, WARM, 0))).collect();
            root.put_all(&puts).await?;
            // With its acknowledgement a put takes the NIC half as long. One that still waited would keep the doorbell's put out.
            root.busy(40 * children.len() as u64).await;
        }
        Ok(())
    })])?;
    bench.idle(2 * QUIET);
    Ok(())
}

/// A broadcast: cycles from the root's start to the last host's completion. All memories are compared.
fn broadcast(bench: &Bench, nodes: &[Node], mode: &str, size: usize, round: usize) -> Result<u64> {
    let bytes = SIZES[size];
    let message = model::message(bytes, round);
    nodes[0].host.write(nodes[0].memory, &message)?;
    if mode != "rdma" {
        let post = |node: &Node| -> Program {
            let (host, window, posted) = (node.host.clone(), node.windows[size], node.posted(size));
            Box::pin(async move { host.post(window, posted).await })
        };
        bench.run(nodes[1..].iter().map(post).collect())?;
    }
    bench.idle(QUIET);
    let (start, end) = (bench.now(), Rc::new(Cell::new(0)));
    let mut programs: Vec<Program> = Vec::new();
    for (number, node) in nodes.iter().enumerate() {
        let puts = mode == "rdma" || number == 0;
        let children = if puts { children(number, nodes.len()) } else { Vec::new() };
        let (host, posted, seen, mode) = (node.host.clone(), node.posted(size), end.clone(), mode.to_string());
        let (memory, last, tail) = (node.memory, node.memory + bytes as u64 - 1, message[bytes - 1]);
        programs.push(Box::pin(async move {
            if number > 0 && mode == "rdma" {
                // Packets arrive in order: the last byte is the last.
                host.bytes(last, &[tail]).await?;
            } else if number > 0 {
                host.record(&posted).await?;
            }
            if number > 0 {
                seen.set(seen.get().max(host.now()));
            }
            for (k, child) in children.iter().enumerate() {
                if k == 0 {
                    host.fire(&Prepared::of(size)).await?;
                } else {
                    host.put(memory, bytes, &window_of(*child, WINDOWS[size], 0)).await?;
                }
            }
            Ok(())
        }));
    }
    bench.run(programs)?;
    for ((number, node), wanted) in nodes.iter().enumerate().zip(model::memories(nodes.len(), &message)) {
        bench.expect(&format!("the memory of node {number}"), &node.host.read(node.memory, bytes)?, &wanted)?;
    }
    Ok(end.get() - start)
}
