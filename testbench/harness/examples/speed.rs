//! How long a model takes to build and how fast it runs: `cargo run -p spindle-harness --example speed -- TOP FILE...`

use anyhow::{bail, Context, Result};
use spindle_harness::{Model, Source};
use std::path::Path;
use std::time::Instant;

fn main() -> Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let Some((top, paths)) = arguments.split_first().filter(|(_, paths)| !paths.is_empty()) else {
        bail!("name the top module and its files: speed TOP FILE...")
    };
    let mut files = Vec::new();
    for path in paths {
        let name = Path::new(path).file_name().context("a file needs a name")?.to_string_lossy().into_owned();
        files.push((name, std::fs::read_to_string(path).with_context(|| format!("cannot read {path}"))?));
    }
    let start = Instant::now();
    let library = Model::build(&Source::new(top.as_str(), files))?;
    println!("build or cache hit: {:.2} s", start.elapsed().as_secs_f64());
    let mut model = library.instance();
    if let Some(port) = library.ports().iter().find(|port| port.name == "clk") {
        model.set_clock(&port.name)?;
    }
    let cycles = 200_000;
    let start = Instant::now();
    model.ticks(cycles);
    println!("batched: {:.0} cycles/s", cycles as f64 / start.elapsed().as_secs_f64());
    let start = Instant::now();
    for _ in 0..cycles {
        model.eval();
        model.tick();
    }
    println!("eval and tick each cycle: {:.0} cycles/s", cycles as f64 / start.elapsed().as_secs_f64());
    Ok(())
}
