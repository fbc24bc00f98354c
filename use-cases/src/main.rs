//! `spindle use-case`: lists, runs and draws the use cases.

mod plan;

use anyhow::{ensure, Context, Result};
use clap::Parser;
use comfy_table::{presets, Table};
use plan::{measure, Plan};
use spindle_contract::params::Config;
use spindle_harness::present_commit;
use spindle_use_cases::bench::Setting;
use spindle_use_cases::case::{by_name, Case, Row, ALL};
use spindle_use_cases::figure::{gallery, inputs, summary, Declared, Results, FOLDER, GALLERY};
use spindle_use_cases::{rates, tap};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Instant;

/// Use cases of the papers on the emitted NIC, against baselines on the same NIC.
#[derive(Parser)]
#[command(name = "spindle use-case", version)]
struct Arguments {
    /// The case, `list` for a list of all, or `all`.
    #[arg(required_unless_present = "measure_host")]
    name: Option<String>,
    /// Run this mode alone.
    #[arg(long)]
    mode: Option<String>,
    /// Run this point alone: the value of the x axis, such as a size in bytes.
    #[arg(long, value_name = "POINT")]
    size: Option<u64>,
    /// The host: pcie, integrated or free (software that takes no time).
    #[arg(long)]
    host: Option<String>,
    /// The wire of host-cost.toml.
    #[arg(long)]
    wire: Option<String>,
    /// The NIC.
    #[arg(long, default_value = "alveo")]
    config: String,
    /// One or two points of each mode, with the host `pcie` alone.
    #[arg(long)]
    quick: bool,
    /// Measure all points, and write the figure as JSON, CSV and SVG.
    #[arg(long, conflicts_with_all = ["mode", "size", "host", "wire", "quick"])]
    figure: bool,
    /// With --figure: measure what the kept figure lacks alone, if that is of the same NIC, handlers, case and constants.
    #[arg(long, requires = "figure")]
    lacking: bool,
    /// Draw the plots again, from the JSON that is there.
    #[arg(long, conflicts_with_all = ["mode", "size", "host", "wire", "quick", "figure"])]
    draw: bool,
    /// The name is that of a client over TAP: a program of Debian that talks to a handler of a served NIC. Needs root.
    #[arg(long, conflicts_with_all = ["mode", "size", "host", "wire", "quick", "draw"])]
    tap: bool,
    /// Cycles of the NIC per second of this machine, for a client over TAP.
    #[arg(long, value_name = "CYCLES", default_value_t = PACE, value_parser = clap::value_parser!(u64).range(1..), requires = "tap")]
    pace: u64,
    /// Folder of the figures.
    #[arg(long, default_value = FOLDER)]
    out: PathBuf,
    /// File for what happens on every NIC of a point: cycle, node, frame, HPU, event, as CSV. With --mode and --size.
    #[arg(long, value_name = "TRACE.csv", requires_all = ["mode", "size"])]
    trace: Option<PathBuf>,
    /// Measure this machine's rates for host-cost.toml, and print them.
    #[arg(long)]
    measure_host: bool,
}

/// What a busy machine of two cores keeps to.
const PACE: u64 = 4_000;

fn main() -> ExitCode {
    env_logger::Builder::from_env(env_logger::Env::default().default_filter_or("info")).init();
    match run(&Arguments::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("spindle use-case: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn run(arguments: &Arguments) -> Result<()> {
    if arguments.measure_host {
        print!("{}", rates::measure()?);
        return Ok(());
    }
    let name = arguments.name.as_deref().unwrap_or_default();
    if arguments.tap {
        return clients(name, arguments);
    }
    if name == "list" {
        return list(&arguments.out);
    }
    let cases = if name == "all" { ALL.iter().collect() } else { vec![by_name(name)?] };
    if arguments.draw {
        cases.into_iter().try_for_each(|case| draw(case, &arguments.out))?;
        return fill_gallery(&arguments.out);
    }
    let setting = Setting { trace: arguments.trace.clone(), ..Setting::new(config(arguments)?)? };
    let plans = cases.into_iter().map(|case| Plan::new(case, &setting, arguments)).collect::<Result<Vec<_>>>()?;
    let begin = Instant::now();
    measure(&plans, &setting, |plan, rows| {
        println!("{}", table(plan.case, &plan.declared, &rows));
        if arguments.figure {
            let results = Results {
                case: plan.case.name.into(),
                config: setting.config.name.into(),
                commit: commit(),
                inputs: plan.inputs.clone(),
                costs: setting.costs.values(),
                wire: plan.declared.wire.clone(),
                summary: summary(plan.case, &rows),
                rows,
            };
            results.write(&plan.declared, &arguments.out)?;
            println!("{}: written to {}", plan.case.name, arguments.out.display());
        }
        Ok(())
    })?;
    if let [_, _, ..] = plans[..] {
        let points: usize = plans.iter().map(|plan| plan.jobs.len()).sum();
        println!("{} cases, {points} points, {:.0} s", plans.len(), begin.elapsed().as_secs_f64());
    }
    if arguments.figure {
        fill_gallery(&arguments.out)?;
    }
    Ok(())
}

fn config(arguments: &Arguments) -> Result<Config> {
    Config::by_name(&arguments.config).with_context(|| {
        let names: Vec<_> = Config::ALL.iter().map(|config| config.name).collect();
        format!("there is no configuration `{}`; there are {}", arguments.config, names.join(", "))
    })
}

/// Runs a client over TAP, or `all`, or lists them.
fn clients(name: &str, arguments: &Arguments) -> Result<()> {
    if name == "list" {
        let mut table = Table::new();
        table.load_preset(presets::UTF8_FULL_CONDENSED);
        table.set_header(["client", "package", "handler", "what it does"]);
        for client in tap::ALL {
            table.add_row([client.name, client.package, client.handler.0, client.about]);
        }
        println!("{table}");
        return Ok(());
    }
    let options = tap::Options { config: config(arguments)?, pace: Some(arguments.pace), broken: false };
    let clients = if name == "all" { tap::ALL.iter().collect() } else { vec![tap::by_name(name)?] };
    let (mut measured, mut failed) = (Vec::new(), Vec::new());
    for client in clients {
        match tap::run(client, &options) {
            Ok(tap::Outcome::Measured(measurement)) => measured.push(measurement),
            Ok(tap::Outcome::Skipped(sentence)) => println!("{}: skipped: {sentence}", client.name),
            // The other clients have NICs of their own.
            Err(error) => failed.push(error.context(client.name)),
        }
    }
    println!("{}", tap::table(&measured));
    if arguments.figure {
        let mut results = tap::Results::load(&arguments.out)?;
        let commit = commit();
        measured.into_iter().for_each(|one| results.replace(tap::Measurement { commit: commit.clone(), ..one }));
        results.write(&arguments.out)?;
        if arguments.out == Path::new(FOLDER) && Path::new(GALLERY).exists() {
            let page = std::fs::read_to_string(GALLERY).with_context(|| format!("cannot read {GALLERY}"))?;
            std::fs::write(GALLERY, tap::page(&page, &results)?).with_context(|| format!("cannot write {GALLERY}"))?;
        }
    }
    failed.iter().for_each(|error| eprintln!("{error:#}"));
    ensure!(failed.is_empty(), "{} clients failed", failed.len());
    Ok(())
}

/// Writes the table of the gallery, if this is a checkout and these are its figures.
fn fill_gallery(folder: &Path) -> Result<()> {
    if folder != Path::new(FOLDER) || !Path::new(GALLERY).exists() {
        return Ok(());
    }
    let page = std::fs::read_to_string(GALLERY).with_context(|| format!("cannot read {GALLERY}"))?;
    std::fs::write(GALLERY, gallery(&page, folder)?).with_context(|| format!("cannot write {GALLERY}"))
}

/// All rows, and what they say of the targets.
fn table(case: &Case, declared: &Declared, rows: &[Row]) -> String {
    let mut names: Vec<&String> = rows.iter().flat_map(|row| row.values.keys()).collect();
    names.sort_unstable();
    names.dedup();
    let mut table = Table::new();
    table.load_preset(presets::UTF8_FULL_CONDENSED);
    table.set_header(["mode", "host", "point"].into_iter().chain(names.iter().map(|name| name.as_str())));
    for row in rows {
        let values =
            names.iter().map(|name| row.values.get(*name).map_or(String::new(), |value| format!("{value:.2}")));
        table.add_row([row.mode.clone(), row.host.clone(), row.point.to_string()].into_iter().chain(values));
    }
    let mut text = table.to_string();
    let summary = (case.summary)(rows);
    for target in &declared.target {
        if let Some((_, value)) = summary.iter().find(|(key, _)| *key == target.key) {
            let verdict = match target.reached(*value) {
                None => "no target",
                Some(true) => "reached",
                Some(false) => "missed",
            };
            text +=
                &format!("\n{}: {value:.3} (target {}, {verdict}; paper: {})", target.key, target.text(), target.paper);
        }
    }
    text
}

/// Every case with its modes and the state of its figure.
fn list(folder: &Path) -> Result<()> {
    let mut table = Table::new();
    table.load_preset(presets::UTF8_FULL_CONDENSED);
    table.set_header(["case", "modes", "points", "figure"]);
    for case in ALL {
        let declared = Declared::of(case)?;
        let modes: Vec<_> = case.modes.iter().map(|mode| mode.name).collect();
        let figure = match Results::load(folder, case.name)? {
            None => "none".into(),
            Some(results) => {
                let config = Config::by_name(&results.config).context("a figure names an unknown configuration")?;
                let setting = Setting::new(config)?;
                let fresh = results.are_fresh(&inputs(case, &setting.source.files), &setting.costs.values());
                format!("commit {}{}", results.commit, if fresh { "" } else { ", stale" })
            }
        };
        table.add_row([case.name.to_string(), modes.join(" "), declared.points.len().to_string(), figure]);
    }
    println!("{table}");
    Ok(())
}

/// Draws a figure from its JSON.
fn draw(case: &Case, folder: &Path) -> Result<()> {
    let results = Results::load(folder, case.name)?;
    let mut results = results.with_context(|| {
        format!("{} has no figure; `spindle use-case {} --figure` measures one", case.name, case.name)
    })?;
    ensure!(results.case == case.name, "{} holds results of {}", folder.display(), results.case);
    results.summary = summary(case, &results.rows);
    results.write(&Declared::of(case)?, folder)
}

/// The commit of the checkout, short.
fn commit() -> String {
    present_commit(8).unwrap_or_else(|_| "unknown".into())
}
