//! Ping-pong: half the time from a host's put to its completion of the reply.

mod model;

use crate::bench::{window_of, Bench, Host, Program, Setting, KEY, PROCESS};
use crate::case::{ratios, value, Broken, Case, Measured, Mode, Row};
use anyhow::Result;
use spindle::rule_table::Action;
use spindle::rvma::{Posted, Window};
use spindle::{ContextOptions, Target};
use spindle_contract::params::SEGMENT_BYTES;
use std::cell::Cell;
use std::rc::Rc;

const HANDLERS: &[(&str, &str)] = &[
    ("p4.c", include_str!("handlers/p4.c")),
    ("store.c", include_str!("handlers/store.c")),
    ("stream.c", include_str!("../../handlers/examples/ping_pong_stream.c")),
];
const MODES: &[Mode] = &[
    Mode { name: "rdma", about: "the second host polls its memory and puts the message back" },
    Mode {
        name: "p4",
        about: "the NIC puts the message back from host memory when it is complete, as a triggered operation",
    },
    Mode { name: "store", about: "handlers answer one packet from the packet, more from host memory" },
    Mode { name: "stream", about: "handlers answer each packet as it comes" },
];
/// Address of the windows of both hosts.
const WINDOW: u64 = 0x70;
/// Rounds that are counted.
const COUNTED: usize = 2;
/// Messages of at least so many packets warm several processors each.
const LONG: usize = 64 << 10;

/// The case.
pub const CASE: Case = Case {
    name: "ping-pong",
    figure: include_str!("figure.toml"),
    handlers: HANDLERS,
    source: include_str!("case.rs"),
    modes: MODES,
    run,
    summary,
    broken: BROKEN,
};

fn run(setting: &Setting, mode: &str, point: u64) -> Result<Measured> {
    let bench = setting.bench(2)?;
    let bytes = point as usize;
    let cycles = if mode == "rdma" { by_hosts(&bench, bytes)? } else { by_nic(&bench, mode, bytes)? };
    let half = setting.ns(cycles / 2.0);
    let times = [("half_rtt_ns", half), ("gb_per_s", 8.0 * bytes as f64 / half)];
    let instructions = bench.instructions([1])?.map(|mean| ("instructions", mean));
    Measured::new(&bench, times.into_iter().chain(instructions))
}

fn summary(rows: &[Row]) -> Vec<(String, f64)> {
    let sizes = [(8, "8"), (65536, "64k")];
    let taken = ratios(rows, "half_rtt_ns", &sizes, &[("stream", "rdma", "reduction")]);
    let mut figures: Vec<_> = taken.into_iter().map(|(key, share)| (key, 1.0 - share)).collect();
    let instructions = value(rows, "stream", "pcie", 8, "instructions");
    figures.extend(instructions.map(|mean| ("instructions_8".into(), mean)));
    figures
}

const BROKEN: &[Broken] = &[
    Broken::new("p4", "a byte is missing", "p4.c", "task->msg_len);", "task->msg_len - 1);"),
    Broken::new(
        "store",
        "the payload begins a byte late",
        "store.c",
        "&sender, spin_payload(p),",
        "&sender, spin_payload(p) + 1,",
    ),
    Broken::new(
        "stream",
        "the offset is one too high",
        "stream.c",
        "p->buf_off + p->msg_off,",
        "p->buf_off + p->msg_off + 1,",
    ),
];

fn target(node: usize) -> Target {
    window_of(node, WINDOW, 0)
}

/// Both hosts take part. A program that polls the last byte needs no completion, since packets arrive in order.
fn by_hosts(bench: &Bench, bytes: usize) -> Result<f64> {
    let hosts = [bench.host(0), bench.host(1)];
    let mut buffers = [0; 2];
    for (host, buffer) in hosts.iter().zip(&mut buffers) {
        *buffer = host.alloc(bytes)?;
        host.endless_window(WINDOW, *buffer, bytes)?;
        host.listen()?;
    }
    let from = hosts[0].alloc(bytes)?;
    let pings = hosts[0].prepare(PROCESS, from, bytes, &target(1))?;
    let pongs = hosts[1].prepare(PROCESS, buffers[1], bytes, &target(0))?;
    let last = bytes as u64 - 1;
    measure(bench, bytes, |round| {
        let message = model::message(bytes, round);
        hosts[0].write(from, &message)?;
        let (start, end) = (bench.now(), Rc::new(Cell::new(0)));
        let (a, b, seen, tail) = (hosts[0].clone(), hosts[1].clone(), end.clone(), message[bytes - 1]);
        let first: Program = Box::pin(async move {
            a.fire(&pings).await?;
            a.bytes(buffers[0] + last, &[tail]).await?;
            seen.set(a.now());
            Ok(())
        });
        let second: Program = Box::pin(async move {
            b.bytes(buffers[1] + last, &[tail]).await?;
            b.fire(&pongs).await
        });
        bench.run(vec![first, second])?;
        bench.expect("the reply", &hosts[0].read(buffers[0], bytes)?, &model::reply(&message))?;
        Ok(end.get() - start)
    })
}

/// The second NIC answers. Packets of its answer may arrive in any order, so the record of the buffer ends a round; an answer of one packet
/// is there with its last byte, as with RDMA.
fn by_nic(bench: &Bench, mode: &str, bytes: usize) -> Result<f64> {
    let (a, b) = (bench.host(0), bench.host(1));
    let file = HANDLERS.iter().map(|(file, _)| *file).find(|file| file.strip_suffix(".c") == Some(mode));
    let handler = bench.compile(HANDLERS, file.unwrap_or_default())?;
    let window = b.nic(|nic| nic.init_window(PROCESS, WINDOW, KEY, bytes as u32))?;
    let memory = b.alloc(bytes)?;
    let options = ContextOptions { host_region: Some((memory, bytes as u32)), ..ContextOptions::default() };
    let context = b.install(&handler.image, "spindle", &options, Action::ContextPerMessage)?;
    b.set_word(context, &handler, "key", KEY)?;
    b.listen()?;
    posted(&b, window, memory, bytes)?;
    let (window, memory) = (a.nic(|nic| nic.init_window(PROCESS, WINDOW, KEY, bytes as u32))?, a.alloc(bytes)?);
    let replies = posted(&a, window, memory, bytes)?;
    a.listen()?;
    let from = a.alloc(bytes)?;
    let pings = a.prepare(PROCESS, from, bytes, &target(1))?;
    measure(bench, bytes, |round| {
        let message = model::message(bytes, round);
        a.write(from, &message)?;
        let (start, end) = (bench.now(), Rc::new(Cell::new(0)));
        let (host, reply, seen, tail) = (a.clone(), replies[round], end.clone(), message[bytes - 1]);
        let first: Program = Box::pin(async move {
            host.fire(&pings).await?;
            if bytes <= SEGMENT_BYTES {
                host.bytes(reply.buffer + bytes as u64 - 1, &[tail]).await?;
            } else {
                host.record(&reply).await?;
            }
            seen.set(host.now());
            Ok(())
        });
        bench.run(vec![first])?;
        bench.expect("the reply", &a.read(replies[round].buffer, bytes)?, &model::reply(&message))?;
        Ok(end.get() - start)
    })
}

/// Posts a buffer for each round: the same memory, records of their own.
fn posted(host: &Host, window: Window, memory: u64, bytes: usize) -> Result<Vec<Posted>> {
    let post = |_| {
        let record = host.alloc(64)?;
        Ok(host.nic(|nic| nic.post(window, Posted { buffer: memory, size: bytes as u32, record }))?)
    };
    (0..rounds(host, bytes)).map(post).collect()
}

/// Rounds in all. Those that are not counted have every handler processor run the handlers once, since the first run on a processor waits
/// for instructions.
fn rounds(host: &Host, bytes: usize) -> usize {
    let processors = host.nic(|nic| nic.info().total_hpus());
    COUNTED + if bytes < LONG { processors + 2 } else { 4 }
}

/// Mean cycles of the counted rounds. Between rounds the NICs become idle.
fn measure(bench: &Bench, bytes: usize, mut round: impl FnMut(usize) -> Result<u64>) -> Result<f64> {
    const QUIET: u64 = 2000;
    let mut cycles = Vec::new();
    for number in 0..rounds(&bench.host(0), bytes) {
        cycles.push(round(number)?);
        bench.idle(QUIET);
    }
    let counted = &cycles[cycles.len() - COUNTED..];
    Ok(counted.iter().sum::<u64>() as f64 / COUNTED as f64)
}
