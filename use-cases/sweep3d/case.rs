//! Wavefronts over a grid (Ember's Sweep3D): a host waits for two neighbours, and sends on to the two others, plane after plane.

mod model;

use crate::bench::{Host, Program, Setting};
use crate::case::{ratios, Case, Measured, Mode, Row};
use crate::channel::{Endpoint, Shape, Way};
use crate::halo3d::SPEEDUPS;
use anyhow::Result;
use model::{Grid, EAST, NORTH, SOUTH, WEST};
use std::cell::RefCell;
use std::rc::Rc;

const MODES: &[Mode] = &[
    Mode { name: "rvma", about: "a put into a mailbox of its own for each plane; its record is the completion" },
    Mode { name: "rdma", about: "a write for each plane, and a send of one byte after its acknowledgement" },
    Mode { name: "rdma-imm", about: "a write with immediate for each plane, over ordered routing" },
];
const GRID: Grid = Grid(4, 4);
/// On `sim`, with which tests are quick: the smallest one with a node in the middle.
const SMALL: Grid = Grid(3, 3);
/// Planes of a sweep, and sweeps: to the south-east and back, twice. The first two are not counted.
const PLANES: usize = 4;
const SWEEPS: usize = 4;

/// The case.
pub const CASE: Case = Case {
    name: "sweep3d",
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
    let bench = setting.bench(grid.0 * grid.1)?;
    let bytes = point as usize;
    // All planes of a sweep may be under way on a channel, which is used by every second sweep.
    let shape = Shape { bytes, messages: PLANES * SWEEPS / 2, lanes: PLANES };
    let endpoint = |host: Host| -> Result<_> {
        let node = host.number();
        let mut endpoint = Endpoint::new(host, way)?;
        let mut ends = Ends::default();
        for direction in [EAST, SOUTH, WEST, NORTH] {
            let Some(other) = grid.neighbour(node, direction) else { continue };
            // The number of the channel at the receiver: how many it has before that direction.
            let back = (direction + 2) % 4;
            let number = (0..back).filter(|before| grid.neighbour(other, *before).is_some()).count();
            endpoint.send_to(other, number, shape)?;
            endpoint.receive_from(shape)?;
            ends.0[direction] = Some(ends.0.iter().flatten().count());
        }
        endpoint.host().listen()?;
        Ok((Rc::new(RefCell::new(endpoint)), ends))
    };
    let endpoints = bench.set_up(|| bench.hosts().into_iter().map(endpoint).collect::<Result<Vec<_>>>())?;
    let done = Rc::new(RefCell::new(vec![0; SWEEPS]));
    let programs = endpoints.iter().map(|(endpoint, ends)| program(endpoint.clone(), *ends, bytes, done.clone()));
    bench.run(programs.collect())?;
    let wanted = model::received(grid, bytes, PLANES, SWEEPS);
    for (node, (endpoint, ends)) in endpoints.iter().enumerate() {
        for (direction, channel) in ends.0.iter().enumerate() {
            let Some(channel) = channel else { continue };
            let got = endpoint.borrow().received(*channel)?;
            bench.expect(&format!("planes of node {node} from {direction}"), &got, &wanted[node][direction])?;
        }
    }
    let done = done.borrow();
    let cycles = (done[SWEEPS - 1] - done[1]) as f64 / (SWEEPS - 2) as f64;
    Measured::new(&bench, [("sweep_ns", setting.ns(cycles))])
}

fn summary(rows: &[Row]) -> Vec<(String, f64)> {
    ratios(rows, "sweep_ns", &[(64, "64"), (1024, "1k")], &SPEEDUPS)
}

/// The channel of each direction.
#[derive(Clone, Copy, Default)]
struct Ends([Option<usize>; 4]);

/// A host's program; it notes when the last host has ended each sweep.
#[expect(clippy::await_holding_refcell_ref, reason = "each program has an endpoint of its own")]
fn program(endpoint: Rc<RefCell<Endpoint>>, ends: Ends, bytes: usize, done: Rc<RefCell<Vec<u64>>>) -> Program {
    Box::pin(async move {
        let mut endpoint = endpoint.borrow_mut();
        let node = endpoint.host().number();
        for sweep in 0..SWEEPS {
            let (from, to) =
                if sweep % 2 == 0 { ([WEST, NORTH], [EAST, SOUTH]) } else { ([EAST, SOUTH], [WEST, NORTH]) };
            for plane in 0..PLANES {
                let channels: Vec<usize> = from.iter().filter_map(|direction| ends.0[*direction]).collect();
                let mut came = endpoint.receive(&channels).await?.into_iter();
                let mut inputs = Vec::new();
                for direction in from {
                    let here = ends.0[direction].and_then(|_| came.next());
                    inputs.push(here.unwrap_or_else(|| model::rim(node, plane, bytes)));
                }
                let outputs = [0, 1].map(|k| next(&inputs[0], &inputs[1], k + sweep as u8));
                let messages: Vec<(usize, &[u8])> = to
                    .iter()
                    .zip(&outputs)
                    .filter_map(|(way, bytes)| Some((ends.0[*way]?, bytes.as_slice())))
                    .collect();
                endpoint.send(&messages).await?;
            }
            endpoint.flush().await?;
            let now = endpoint.host().now();
            let last = &mut done.borrow_mut()[sweep];
            *last = now.max(*last);
        }
        Ok(())
    })
}

/// What goes on: any bytes that depend on all that came.
fn next(first: &[u8], second: &[u8], salt: u8) -> Vec<u8> {
    first.iter().zip(second.iter().rev()).map(|(a, b)| a.wrapping_mul(7).wrapping_add(*b) ^ salt).collect()
}
