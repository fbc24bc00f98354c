//! Types of applications: a message is unpacked as a nested type of MPI describes.

mod model;
mod types;

use crate::bench::{window_of, Program, Setting, KEY, PROCESS};
use crate::case::{value, Broken, Case, Measured, Mode, Row};
use anyhow::{bail, Result};
use spindle::events::EventKind;
use spindle::rule_table::Action;
use spindle::rvma::Posted;
use spindle::{ContextOptions, Overload};
use std::cell::{Cell, RefCell};
use std::rc::Rc;
use types::Type;

const HANDLERS: &[(&str, &str)] = &[("ddt.c", include_str!("handlers/ddt.c"))];
const MODES: &[Mode] = &[
    Mode { name: "rdma", about: "the message lands in one piece, and the host unpacks it" },
    Mode {
        name: "spin",
        about: "handlers write each block to its place, by a list that the host has compiled from the type",
    },
];
/// Address of the window of the messages.
const WINDOW: u64 = 0x70;
/// Cycles after which the NICs are idle.
const QUIET: u64 = 2000;

/// The case.
pub const CASE: Case = Case {
    name: "ddt-apps",
    figure: include_str!("figure.toml"),
    handlers: HANDLERS,
    source: concat!(include_str!("case.rs"), include_str!("types.rs")),
    modes: MODES,
    run,
    summary,
    broken: BROKEN,
};

const BROKEN: &[Broken] = &[
    Broken::new("spin", "the next element begins where this one does", "ddt.c", "base += t->extent;", ""),
    Broken::new(
        "spin",
        "a block that a packet cuts begins anew",
        "ddt.c",
        "[block] + at - t->starts[block],",
        "[block],",
    ),
];

/// The type of a point.
fn type_of(point: u64) -> Result<Type> {
    Ok(match point {
        // hvec(..)[vec(32 6 8)[ctg(18)[float]]]
        1 => {
            let site = Type::Contiguous(18, Box::new(Type::Bytes(4)));
            let plane = Type::Vector { count: 32, length: 6, stride: 8, of: Box::new(site) };
            Type::Hvector { count: 40, length: 1, stride: 20480, of: Box::new(plane) }
        }
        2 => Type::Hvector {
            count: 130,
            length: 1,
            stride: 130 * 130 * 8,
            of: Box::new(Type::Contiguous(130, Box::new(Type::Bytes(8)))),
        },
        3 => {
            let point = Type::Contiguous(5, Box::new(Type::Bytes(8)));
            let row = Type::Hvector { count: 64, length: 1, stride: 5 * 8 * 8, of: Box::new(point) };
            Type::Hvector { count: 64, length: 1, stride: 66 * 5 * 8 * 8, of: Box::new(row) }
        }
        4 => {
            let chosen: Vec<(usize, usize)> = (0..48).map(|i| (1, 4 * i + i % 3)).collect();
            let positions = Type::Indexed(chosen.clone(), Box::new(Type::Contiguous(3, Box::new(Type::Bytes(8)))));
            let group = Type::Struct(vec![(0, positions), (6144, Type::Indexed(chosen, Box::new(Type::Bytes(4))))]);
            Type::Hvector { count: 16, length: 1, stride: 8192, of: Box::new(group) }
        }
        _ => bail!("there are types 1 to 4"),
    })
}

fn run(setting: &Setting, mode: &str, point: u64) -> Result<Measured> {
    let bench = setting.bench(2)?;
    let program = type_of(point)?.compile();
    let (bytes, memory) = (program.count * program.size(), program.count * program.extent);
    let (sender, receiver) = (bench.host(0), bench.host(1));
    let (from, array, landing) = (sender.alloc(bytes)?, receiver.alloc(memory)?, receiver.alloc(bytes)?);
    let message = model::message(bytes);
    sender.write(from, &message)?;
    // The sender takes acknowledgements.
    sender.listen()?;
    let window = receiver.nic(|nic| nic.init_window(PROCESS, WINDOW, KEY, bytes as u32))?;
    let spin = mode == "spin";
    let events = Rc::new(RefCell::new(receiver.nic(|nic| nic.open_ring(PROCESS, 64))?));
    if spin {
        let handler = bench.compile(HANDLERS, "ddt.c")?;
        let options = ContextOptions {
            host_region: Some((array, memory as u32)),
            overload: Overload::Pause,
            ..ContextOptions::default()
        };
        let context = receiver.install(&handler.image, "spindle", &options, Action::ContextPerMessage)?;
        let offsets: Vec<u32> = program.blocks.iter().map(|(at, _)| *at as u32).collect();
        for (name, value) in [("size", program.size()), ("extent", program.extent), ("blocks", offsets.len())] {
            receiver.set_word(context, &handler, name, value as u32)?;
        }
        receiver.set_words(context, &handler, "starts", &program.starts())?;
        receiver.set_words(context, &handler, "offsets", &offsets)?;
    }
    receiver.listen()?;
    let put = sender.prepare(0, from, bytes, &window_of(1, WINDOW, 0))?;
    let wanted = model::after(&message, &model::places(point), memory);
    // The first message warms the NICs.
    let mut cycles = 0;
    for _ in 0..2 {
        receiver.write(array, &model::before(memory))?;
        let posted = Posted { buffer: landing, size: bytes as u32, record: receiver.alloc(64)? };
        if !spin {
            receiver.nic(|nic| nic.post(window, posted))?;
        }
        bench.idle(QUIET);
        let (start, end) = (bench.now(), Rc::new(Cell::new(0)));
        let (seen, host, events, program) = (end.clone(), receiver.clone(), events.clone(), program.clone());
        let starter = sender.clone();
        let sends: Program = Box::pin(async move { starter.fire(&put).await });
        let takes: Program = Box::pin(async move {
            if spin {
                let event = host.until(|nic| Ok(nic.poll_event(&mut events.borrow_mut())?)).await?;
                match event.kind {
                    EventKind::Message { dropped: 0, .. } => {}
                    other => bail!("the message ended as {other:?}"),
                }
                host.overhead().await;
            } else {
                host.record(&posted).await?;
                host.blocks(program.count * program.blocks.len(), bytes).await;
                let mut at = landing;
                for element in 0..program.count {
                    for (offset, length) in &program.blocks {
                        let to = array + (element * program.extent + offset) as u64;
                        host.write(to, &host.read(at, *length)?)?;
                        at += *length as u64;
                    }
                }
            }
            seen.set(host.now());
            Ok(())
        });
        bench.run(vec![sends, takes])?;
        bench.expect("the array", &receiver.read(array, memory)?, &wanted)?;
        cycles = end.get() - start;
    }
    let time = setting.ns(cycles as f64);
    Measured::new(&bench, [("completion_ns", time), ("gb_per_s", 8.0 * bytes as f64 / time)])
}

fn summary(rows: &[Row]) -> Vec<(String, f64)> {
    let mut figures = Vec::new();
    for (point, name) in [(1, "milc"), (2, "mg"), (3, "lu"), (4, "particles")] {
        let get = |mode, what| value(rows, mode, "pcie", point, what);
        figures.extend(get("spin", "gb_per_s").map(|rate| (format!("{name}_gb_per_s"), rate)));
        if let (Some(spin), Some(rdma)) = (get("spin", "completion_ns"), get("rdma", "completion_ns")) {
            figures.push((format!("{name}_over_rdma"), rdma / spin));
        }
    }
    figures
}
