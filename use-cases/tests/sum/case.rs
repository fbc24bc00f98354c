//! Sum: a node adds the numbers of a message, by a handler or by its host.

mod model;

use crate::bench::{window_of, word, Setting, KEY};
use crate::case::{ratios, Broken, Case, Measured, Mode, Row};
use crate::cost::Work;
use anyhow::Result;
use spindle::rule_table::Action;
use spindle::ContextOptions;
use std::cell::Cell;
use std::rc::Rc;

const HANDLERS: &[(&str, &str)] = &[("sum.c", include_str!("handlers/sum.c"))];
const MODES: &[Mode] = &[
    Mode { name: "nic", about: "a payload handler adds, and puts the sum" },
    Mode { name: "host", about: "a program polls its memory, adds, and puts the sum" },
];
/// Address of the windows: of the numbers, and of the sum.
const WINDOW: u64 = 0x77;
/// Rounds: after the first ones each of the 16 processors has run the handler once, and waits for no instructions.
const ROUNDS: u64 = 24;
/// Cycles in which the NICs become idle.
const QUIET: u64 = 500;

/// The case.
pub const CASE: Case = Case {
    name: "sum",
    figure: include_str!("figure.toml"),
    handlers: HANDLERS,
    source: include_str!("case.rs"),
    modes: MODES,
    run,
    summary,
    broken: BROKEN,
};

const BROKEN: &[Broken] =
    &[Broken::new("nic", "a number is left out", "sum.c", "p->payload_len / 4;", "p->payload_len / 4 - 1;")];

fn summary(rows: &[Row]) -> Vec<(String, f64)> {
    ratios(rows, "latency_ns", &[(16, "16")], &[("host", "nic", "host_over_nic")])
}

fn run(setting: &Setting, mode: &str, point: u64) -> Result<Measured> {
    let bench = setting.bench(2)?;
    let (requester, adder) = (bench.host(0), bench.host(1));
    let bytes = 4 * point as usize;

    // The requester polls the memory of a window for the answer.
    let (from, answer) = (requester.alloc(bytes)?, requester.alloc(4)?);
    requester.endless_window(WINDOW, answer, 4)?;
    requester.listen()?;

    // The adder has a handler, or a window that its host polls.
    let (request, result) = (adder.alloc(bytes)?, adder.alloc(4)?);
    if mode == "nic" {
        let handler = bench.compile(HANDLERS, "sum.c")?;
        let context =
            adder.install(&handler.image, "spindle", &ContextOptions::default(), Action::ContextPerMessage)?;
        adder.set_word(context, &handler, "key", KEY)?;
    } else {
        adder.endless_window(WINDOW, request, bytes)?;
    }
    adder.listen()?;

    let mut latency = 0;
    for round in 0..ROUNDS {
        let numbers = model::numbers(point, round);
        let message: Vec<u8> = numbers.iter().flat_map(|number| number.to_le_bytes()).collect();
        let sum = model::sum(&numbers).to_le_bytes();
        requester.write(from, &message)?;

        let (start, end) = (bench.now(), Rc::new(Cell::new(0)));
        let (host, seen) = (requester.clone(), end.clone());
        let mut programs: Vec<crate::bench::Program> = vec![Box::pin(async move {
            host.put(from, bytes, &window_of(1, WINDOW, 0)).await?;
            host.bytes(answer, &sum).await?;
            seen.set(host.now());
            Ok(())
        })];
        if mode == "host" {
            let (host, last) = (adder.clone(), message[bytes - 4..].to_vec());
            programs.push(Box::pin(async move {
                host.bytes(request + bytes as u64 - 4, &last).await?;
                host.work(Work::Add, bytes).await;
                let numbers = host.read(request, bytes)?;
                let sum = (0..bytes).step_by(4).fold(0u32, |sum, at| sum.wrapping_add(word(&numbers, at)));
                host.write(result, &sum.to_le_bytes())?;
                host.put(result, 4, &window_of(0, WINDOW, 0)).await
            }));
        }
        bench.run(programs)?;
        bench.expect("the sum", &requester.read(answer, 4)?, &sum)?;
        latency = end.get() - start;
        bench.idle(QUIET);
    }
    Measured::new(&bench, [("latency_ns", setting.ns(latency as f64))])
}
