//! Halo exchange in three dimensions (Ember's Halo3D): each host sends a face to each of six neighbours, and waits for theirs.

mod model;

use crate::bench::{Program, Setting};
use crate::case::{ratios, Case, Measured, Mode, Row};
use crate::channel::{Endpoint, Shape, Way};
use anyhow::Result;
use model::{Grid, FACES};
use std::cell::RefCell;
use std::rc::Rc;

const MODES: &[Mode] = &[
    Mode { name: "rvma", about: "a put into the mailbox of each face; its record is the completion" },
    Mode { name: "rdma", about: "a write for each face, and a send of one byte after its acknowledgement" },
    Mode { name: "rdma-imm", about: "a write with immediate for each face, over ordered routing" },
];
const GRID: Grid = Grid([4, 2, 2]);
/// On `sim`, with which tests are quick: each face goes to one of three neighbours.
const SMALL: Grid = Grid([2, 2, 2]);
/// Iterations; the first is not counted.
const ITERATIONS: usize = 4;
/// Faces of two iterations may be under way at a time: a neighbour is at most one iteration ahead.
const LANES: usize = 2;

/// The case.
pub const CASE: Case = Case {
    name: "halo3d",
    figure: include_str!("figure.toml"),
    handlers: &[],
    source: concat!(include_str!("case.rs"), include_str!("../src/channel.rs")),
    modes: MODES,
    run,
    summary,
    broken: &[],
};

fn run(setting: &Setting, mode: &str, point: u64) -> Result<Measured> {
    let (way, setting) = Way::of(mode, setting)?;
    let grid = if setting.small() { SMALL } else { GRID };
    let bench = setting.bench(grid.nodes())?;
    let bytes = point as usize;
    let shape = Shape { bytes, messages: ITERATIONS, lanes: LANES };
    let endpoint = |host| -> Result<_> {
        let mut endpoint = Endpoint::new(host, way)?;
        for face in 0..FACES {
            endpoint.send_to(grid.neighbour(endpoint.host().number(), face), face ^ 1, shape)?;
            endpoint.receive_from(shape)?;
        }
        endpoint.host().listen()?;
        Ok(Rc::new(RefCell::new(endpoint)))
    };
    let endpoints = bench.set_up(|| bench.hosts().into_iter().map(endpoint).collect::<Result<Vec<_>>>())?;
    // When the last host has ended each iteration.
    let ends = Rc::new(RefCell::new(vec![0; ITERATIONS]));
    let programs = endpoints.iter().map(|endpoint| program(endpoint.clone(), bytes, ends.clone())).collect();
    bench.run(programs)?;
    let wanted = model::received(grid, bytes, ITERATIONS);
    for (node, endpoint) in endpoints.iter().enumerate() {
        for (face, wanted) in wanted[node].iter().enumerate() {
            bench.expect(&format!("face {face} of node {node}"), &endpoint.borrow().received(face)?, wanted)?;
        }
    }
    let ends = ends.borrow();
    let cycles = (ends[ITERATIONS - 1] - ends[0]) as f64 / (ITERATIONS - 1) as f64;
    Measured::new(&bench, [("iteration_ns", setting.ns(cycles))])
}

fn summary(rows: &[Row]) -> Vec<(String, f64)> {
    ratios(rows, "iteration_ns", &[(64, "64"), (1024, "1k"), (16384, "16k")], &SPEEDUPS)
}

/// RDMA's time, of both kinds, over RVMA's.
pub const SPEEDUPS: [(&str, &str, &str); 2] = [("rdma", "rvma", "speedup"), ("rdma-imm", "rvma", "speedup_imm")];

/// A host's program.
#[expect(clippy::await_holding_refcell_ref, reason = "each program has an endpoint of its own")]
fn program(endpoint: Rc<RefCell<Endpoint>>, bytes: usize, ends: Rc<RefCell<Vec<u64>>>) -> Program {
    Box::pin(async move {
        let mut endpoint = endpoint.borrow_mut();
        let node = endpoint.host().number();
        let all: Vec<usize> = (0..FACES).collect();
        let mut faces: Vec<Vec<u8>> = (0..FACES).map(|face| model::first(node, face, bytes)).collect();
        for iteration in 0..ITERATIONS {
            let messages: Vec<(usize, &[u8])> = faces.iter().map(Vec::as_slice).enumerate().collect();
            endpoint.send(&messages).await?;
            let got = endpoint.receive(&all).await?;
            endpoint.flush().await?;
            let now = endpoint.host().now();
            let last = &mut ends.borrow_mut()[iteration];
            *last = now.max(*last);
            faces = (0..FACES).map(|face| next(&got[face], &got[(face + 1) % FACES])).collect();
        }
        Ok(())
    })
}

/// A face of the next iteration: any that depends on what was received.
fn next(face: &[u8], other: &[u8]) -> Vec<u8> {
    face.iter().zip(other.iter().rev()).map(|(a, b)| a.wrapping_mul(5) ^ b).collect()
}
