//! `spindle use-case`: lists, runs and draws the use cases.

use anyhow::{bail, ensure, Context, Result};
use clap::Parser;
use comfy_table::{presets, Table};
use indicatif::{ProgressBar, ProgressStyle};
use spindle_contract::params::Config;
use spindle_use_cases::bench::Setting;
use spindle_use_cases::case::{self, by_name, Case, Row, ALL};
use spindle_use_cases::cost::HostKind;
use spindle_use_cases::figure::{gallery, inputs, summary, Declared, Results, FOLDER, GALLERY};
use spindle_use_cases::rates;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

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
    /// Draw the plots again, from the JSON that is there.
    #[arg(long, conflicts_with_all = ["mode", "size", "host", "wire", "quick", "figure"])]
    draw: bool,
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
    if name == "list" {
        return list(&arguments.out);
    }
    let cases = if name == "all" { ALL.iter().collect() } else { vec![by_name(name)?] };
    if arguments.draw {
        cases.into_iter().try_for_each(|case| draw(case, &arguments.out))?;
        return fill_gallery(&arguments.out);
    }
    let config = Config::by_name(&arguments.config).with_context(|| {
        let names: Vec<_> = Config::ALL.iter().map(|config| config.name).collect();
        format!("there is no configuration `{}`; there are {}", arguments.config, names.join(", "))
    })?;
    let setting = Setting { trace: arguments.trace.clone(), ..Setting::new(config)? };
    for case in cases {
        let declared = Declared::of(case)?;
        let rows = measure(case, &declared, &setting, arguments)?;
        println!("{}", table(case, &declared, &rows));
        if arguments.figure {
            let results = Results {
                case: case.name.into(),
                config: setting.config.name.into(),
                commit: commit(),
                inputs: inputs(case, &setting.source.files),
                costs: setting.costs.values(),
                wire: declared.wire.clone(),
                summary: summary(case, &rows),
                rows,
            };
            results.write(&declared, &arguments.out)?;
            println!("{}: written to {}", case.name, arguments.out.display());
        }
    }
    if arguments.figure {
        fill_gallery(&arguments.out)?;
    }
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

/// Measures the points that are asked for.
fn measure(case: &Case, declared: &Declared, setting: &Setting, arguments: &Arguments) -> Result<Vec<Row>> {
    let modes: Vec<&str> = match &arguments.mode {
        Some(mode) => vec![mode],
        None => case.modes.iter().map(|mode| mode.name).collect(),
    };
    let points = match arguments.size {
        Some(point) if declared.points.contains(&point) => vec![point],
        Some(point) => {
            let points: Vec<_> = declared.points.iter().map(u64::to_string).collect();
            bail!("{} has no point {point}; there are {}", case.name, points.join(", "))
        }
        None if arguments.quick => declared.quick.clone(),
        None => declared.points.clone(),
    };
    let hosts = match &arguments.host {
        Some(host) => vec![HostKind::by_name(host)?],
        None if arguments.figure => {
            declared.hosts.iter().map(|host| HostKind::by_name(host)).collect::<Result<Vec<_>>>()?
        }
        None => vec![HostKind::by_name(&declared.drawn)?],
    };
    let style = ProgressStyle::with_template("{prefix} {pos} of {len} {wide_bar} {msg}, {eta} left")?;
    let progress = ProgressBar::new((modes.len() * points.len() * hosts.len()) as u64).with_style(style);
    progress.set_prefix(case.name.to_string());
    let wire = arguments.wire.clone().unwrap_or_else(|| declared.wire.clone());
    let mut jobs = Vec::new();
    for host in hosts {
        for mode in &modes {
            jobs.extend(points.iter().map(|point| (host, *mode, *point)));
        }
    }
    let rows = in_parallel(&jobs, |(host, mode, point)| {
        progress.set_message(format!("{mode} at {point}, host {}", host.name()));
        let row = case::measure(case, &Setting { host: *host, wire: wire.clone(), ..setting.clone() }, mode, *point);
        progress.inc(1);
        row
    });
    progress.finish_and_clear();
    rows
}

/// The results of all jobs in their order, or the first error; as many at a time as there are processors.
fn in_parallel<J: Sync, R: Send>(jobs: &[J], work: impl Fn(&J) -> Result<R> + Sync) -> Result<Vec<R>> {
    let next = AtomicUsize::new(0);
    let results = Mutex::new((0..jobs.len()).map(|_| None).collect::<Vec<Option<Result<R>>>>());
    let worker = || loop {
        let number = next.fetch_add(1, Ordering::Relaxed);
        let Some(job) = jobs.get(number) else { return };
        let result = work(job);
        if result.is_err() {
            // Nothing new begins after an error.
            next.store(jobs.len(), Ordering::Relaxed);
        }
        results.lock().unwrap_or_else(PoisonError::into_inner)[number] = Some(result);
    };
    std::thread::scope(|scope| {
        for _ in 0..std::thread::available_parallelism().map_or(1, usize::from) {
            scope.spawn(worker);
        }
    });
    let results = results.into_inner().unwrap_or_else(PoisonError::into_inner);
    let (done, failed): (Vec<_>, Vec<_>) = results.into_iter().flatten().partition(Result::is_ok);
    match failed.into_iter().next() {
        Some(failure) => Err(failure.err().context("an error without a reason")?),
        None => done.into_iter().collect(),
    }
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
    let output = Command::new("git").args(["rev-parse", "--short=8", "HEAD"]).output();
    match output {
        Ok(output) if output.status.success() => String::from_utf8_lossy(&output.stdout).trim().into(),
        _ => "unknown".into(),
    }
}
