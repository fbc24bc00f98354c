//! `spindle network`: runs a study in one process, or in the ranks that `mpirun` starts.

use anyhow::{anyhow, Context, Result};
use clap::Parser;
use serde_json::json;
use spindle_cli::fate_file::fate_path;
use spindle_harness::present_commit;
use spindle_network::cases::{title, Cases};
use spindle_network::engine::Ranks;
use spindle_network::plot;
use spindle_network::run::{self, Options, Outcome, Speed, Unfinished, REACHED};
use spindle_network::served::remove_sockets;
use spindle_network::study::{Nodes, Study};
use std::io::Write;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, Ordering};

/// Simulate a network of NICs cycle by cycle, on ns-3: in one process, or in N of them with `mpirun -n N spindle network STUDY.toml`.
#[derive(Parser)]
#[command(name = "spindle network", version)]
struct Arguments {
    /// The study.
    study: PathBuf,
    /// File for the result, as JSON; without it, the result goes to standard output. For a study with cases, a folder for theirs.
    #[arg(long, value_name = "RESULT.json")]
    out: Option<PathBuf>,
    /// Run this case of a study with a table `[sweep]` alone; without it, all that have no result in the folder --out.
    #[arg(long, value_name = "N", requires = "out")]
    case: Option<usize>,
    /// Run the cases with this value of an axis, with several of them those with all, and the ones that they are compared with; print
    /// their table. What has a result in the folder --out is not run again.
    #[arg(long, value_name = "AXIS=VALUE", requires = "out", conflicts_with = "case", value_parser = value_of_axis)]
    row: Vec<(String, String)>,
    /// List the cases of the study.
    #[arg(long)]
    list: bool,
    /// Collect the results of all cases from the folder --out into this file, and print their table.
    #[arg(long, value_name = "RESULTS.json", requires = "out", conflicts_with_all = ["case", "row"])]
    collect: Option<PathBuf>,
    /// Record a wave of a node's NIC: FST if the file's name ends in .fst, else VCD.
    #[arg(long, value_name = "NODE=FILE", value_parser = file_of_node)]
    wave: Vec<(u32, PathBuf)>,
    /// Write what became of each frame that a node's NIC took: CSV if the file's name ends in .csv, a line of JSON for each frame if it
    /// ends in .json or .jsonl.
    #[arg(long, value_name = "NODE=FILE", value_parser = fates_of_node)]
    fates: Vec<(u32, PathBuf)>,
    /// Print the table of results that were collected from this study.
    #[arg(long, value_name = "RESULTS.json")]
    table: Option<PathBuf>,
    /// Draw results that were collected from this study.
    #[arg(long, value_names = ["RESULTS.json", "PLOT.svg"], num_args = 2)]
    plot: Vec<PathBuf>,
    /// Check the study, and simulate nothing.
    #[arg(long)]
    check: bool,
    /// No lines of progress.
    #[arg(long)]
    quiet: bool,
}

impl Arguments {
    /// Results of cases that have been run are collected or shown.
    fn wants_results(&self) -> bool {
        self.collect.is_some() || self.table.is_some() || !self.plot.is_empty()
    }
}

fn value_of_axis(text: &str) -> Result<(String, String), String> {
    let (axis, value) = text.split_once('=').ok_or("write the name of an axis, `=` and a value")?;
    Ok((axis.into(), value.into()))
}

fn file_of_node(text: &str) -> Result<(u32, PathBuf), String> {
    let parts = text.split_once('=').and_then(|(node, file)| Some((node.parse().ok()?, file)));
    let (node, file) = parts.filter(|(_, file)| !file.is_empty()).ok_or("write the node's number, `=` and a file")?;
    Ok((node, file.into()))
}

fn fates_of_node(text: &str) -> Result<(u32, PathBuf), String> {
    let (node, path) = file_of_node(text)?;
    fate_path(&path.to_string_lossy()).map_err(|error| format!("{error:#}"))?;
    Ok((node, path))
}

/// Time in which the first rank says what is wrong with a study on all ranks.
const FIRST: std::time::Duration = std::time::Duration::from_secs(5);

/// This rank has said what went wrong.
static FAILED: AtomicBool = AtomicBool::new(false);

/// What went wrong, and whether every rank says the same, so that the first one says it.
struct Failure {
    error: anyhow::Error,
    same: bool,
}

fn main() -> ExitCode {
    env_logger::Builder::from_env(env_logger::Env::default().default_filter_or("info")).init();
    let arguments = Arguments::parse();
    let variable = |name: &str| std::env::var(name).ok().and_then(|value| value.parse::<u32>().ok());
    let rank = ["OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK"].into_iter().find_map(variable);
    if let Err(error) = share_cores(variable("OMPI_COMM_WORLD_LOCAL_SIZE")) {
        eprintln!("spindle network: {error:#}");
    }
    let Err(Failure { error, same }) = run(&arguments, rank) else { return ExitCode::SUCCESS };
    match rank {
        // Open MPI and Slurm name the others, too. They end all ranks when the first one has failed, so the rank with the words is first.
        Some(rank) if same && rank > 0 => {
            FAILED.store(true, Ordering::Relaxed);
            std::thread::sleep(FIRST);
        }
        Some(rank) if !same => {
            eprintln!("spindle network: rank {rank}, after cycle {}: {error:#}", REACHED.load(Ordering::Relaxed))
        }
        _ => eprintln!("spindle network: {error:#}"),
    }
    if let (false, Some(_), Ok(ranks)) = (same, rank, Ranks::join()) {
        FAILED.store(true, Ordering::Relaxed);
        ranks.abort();
    }
    ExitCode::FAILURE
}

/// Ranks that share a core must give it up while they wait; this must be said before MPI starts.
fn share_cores(local: Option<u32>) -> Result<()> {
    let cores = std::thread::available_parallelism().context("the number of cores is not known")?.get();
    if local.is_some_and(|ranks| ranks as usize > cores) {
        std::env::set_var("OMPI_MCA_mpi_yield_when_idle", "1");
    }
    Ok(())
}

fn run(arguments: &Arguments, rank: Option<u32>) -> Result<(), Failure> {
    let same = |error| Failure { error, same: true };
    if let Some(cases) = Cases::read(&arguments.study).map_err(same)? {
        return run_cases(arguments, rank, &cases);
    }
    if arguments.case.is_some() || !arguments.row.is_empty() || arguments.list || arguments.wants_results() {
        let words = format!("{} has no table `[sweep]`, so it has no cases", arguments.study.display());
        return Err(same(anyhow!(words)));
    }
    let study = Study::read(&arguments.study).map_err(same)?;
    let (outcome, speed) = match run_study(arguments, rank, &study)? {
        Some(result) => result,
        None => return Ok(()),
    };
    let own = |error| Failure { error, same: false };
    let result = json!({ "result": outcome, "run": speed });
    let text = serde_json::to_string_pretty(&result).map_err(|error| own(error.into()))?;
    match &arguments.out {
        None => println!("{text}"),
        Some(path) => {
            let written = std::fs::write(path, text + "\n");
            written.map_err(|error| own(anyhow!("cannot write the result to {}: {error}", path.display())))?;
        }
    }
    Ok(())
}

/// Lists, collects or runs the cases of a study, each in a process of its own if there are several: ns-3 simulates once.
fn run_cases(arguments: &Arguments, rank: Option<u32>, cases: &Cases) -> Result<(), Failure> {
    let same = |error| Failure { error, same: true };
    let all = cases.settings();
    if arguments.case.is_none() && !arguments.wants_results() {
        cases.studies().map_err(same)?;
    }
    if arguments.check || arguments.list {
        // Who reads no more of it has seen enough.
        let mut out = std::io::stdout().lock();
        let mut lines = all.iter().enumerate();
        let _ = lines.try_for_each(|(number, settings)| writeln!(out, "{number}: {}", title(settings)));
        return Ok(());
    }
    if let Some(path) = &arguments.table {
        print!("{}", cases.collected(path).map_err(same)?.table());
        return Ok(());
    }
    if let [results, path] = &arguments.plot[..] {
        let drawn = plot::draw(&cases.collected(results).map_err(same)?).map_err(same)?;
        let written = std::fs::write(path, drawn);
        return written.map_err(|error| same(anyhow!("cannot write the plot to {}: {error}", path.display())));
    }
    let folder = arguments
        .out
        .as_ref()
        .with_context(|| format!("{} has {} cases; name a folder for their results with --out", cases.name, all.len()));
    let folder = folder.map_err(same)?;
    if let Some(path) = &arguments.collect {
        let collected = cases.collect(folder, &all, present_commit(8).map_err(same)?).map_err(same)?;
        let text = serde_json::to_string_pretty(&collected).map_err(|error| same(error.into()))? + "\n";
        let written = std::fs::write(path, text);
        written.map_err(|error| same(anyhow!("cannot write the results to {}: {error}", path.display())))?;
        print!("{}", collected.table());
        return Ok(());
    }
    if let Some(number) = arguments.case {
        let settings = all
            .get(number)
            .with_context(|| format!("{} has no case {number}; it has {}, from 0 on", cases.name, all.len()));
        let settings = settings.map_err(same)?;
        if cases.result(folder, settings).map_err(same)?.is_some() {
            return Ok(());
        }
        let study = cases.study(settings).map_err(same)?;
        if let Some((outcome, speed)) = run_study(arguments, rank, &study)? {
            cases.keep(folder, settings, &outcome, &speed).map_err(|error| Failure { error, same: false })?;
        }
        return Ok(());
    }
    if rank.is_some() {
        return Err(same(anyhow!(
            "{} has {} cases; ranks run one at a time, so name it with --case",
            cases.name,
            all.len()
        )));
    }
    let wanted = cases.row(&arguments.row.iter().cloned().collect()).map_err(same)?;
    for (number, settings) in all.iter().enumerate().filter(|(_, settings)| wanted.contains(settings)) {
        if cases.result(folder, settings).map_err(same)?.is_some() {
            continue;
        }
        if !arguments.quiet {
            eprintln!("spindle network: case {number} of {}: {}", all.len(), title(settings));
        }
        run_case(arguments, number).map_err(same)?;
    }
    if !arguments.row.is_empty() {
        let commit = present_commit(8).map_err(same)?;
        print!("{}", cases.collect(folder, &wanted, commit).map_err(same)?.table());
    }
    Ok(())
}

/// Runs a case in a process of its own.
fn run_case(arguments: &Arguments, number: usize) -> Result<()> {
    let own = std::env::current_exe().context("cannot find this program")?;
    let mut command = std::process::Command::new(own);
    command.arg(&arguments.study).args(["--case", &number.to_string()]);
    command.args(arguments.out.iter().flat_map(|folder| ["--out".as_ref(), folder.as_os_str()]));
    if arguments.quiet {
        command.arg("--quiet");
    }
    let status = command.status().context("cannot start a case")?;
    anyhow::ensure!(
        status.success(),
        "case {number} has failed; finished cases are kept, and the same command goes on"
    );
    Ok(())
}

/// Runs a study, or checks it; its result on the first rank.
fn run_study(arguments: &Arguments, rank: Option<u32>, study: &Study) -> Result<Option<(Outcome, Speed)>, Failure> {
    let same = |error| Failure { error, same: true };
    let (waves, fates) = (arguments.wave.clone(), arguments.fates.clone());
    let options = Options { waves, fates, progress: !arguments.quiet };
    if arguments.check {
        run::check(study, &options, 1).map_err(same)?;
        println!("{}: {} nodes, {} switches", study.name, study.topology.nodes.len(), study.topology.switches);
        return Ok(None);
    }
    let ranks = Ranks::join().map_err(same)?;
    run::check(study, &options, ranks.ranks).map_err(|error| {
        ranks.leave();
        same(error)
    })?;
    match (rank, &study.nodes) {
        (Some(rank), _) => tell_the_end(rank).map_err(same)?,
        (None, Nodes::Served { .. }) => leave_no_sockets().map_err(same)?,
        (None, _) => {}
    }
    let result = run::run(study, &options, ranks).map_err(|error| {
        let same = error.is::<Unfinished>();
        if same {
            ranks.leave();
        }
        Failure { error, same }
    })?;
    let first = ranks.rank == 0;
    ranks.leave();
    Ok(first.then_some(result))
}

/// When another rank dies, the launcher ends this one by SIGTERM: it then says how far it had come.
fn tell_the_end(rank: u32) -> Result<()> {
    let mut signals = signal_hook::iterator::Signals::new([signal_hook::consts::SIGTERM])?;
    std::thread::spawn(move || {
        if signals.forever().next().is_some() {
            let cycle = REACHED.load(Ordering::Relaxed);
            if !FAILED.load(Ordering::Relaxed) {
                eprintln!(
                    "spindle network: rank {rank} is ended after cycle {cycle}, since another rank has died or the run was \
                     stopped"
                );
            }
            remove_sockets();
            std::process::exit(128 + signal_hook::consts::SIGTERM);
        }
    });
    Ok(())
}

/// A run that the user stops removes its sockets.
fn leave_no_sockets() -> Result<()> {
    let mut signals = signal_hook::iterator::Signals::new([signal_hook::consts::SIGINT, signal_hook::consts::SIGTERM])?;
    std::thread::spawn(move || {
        if let Some(signal) = signals.forever().next() {
            remove_sockets();
            eprintln!("spindle network: stopped after cycle {}", REACHED.load(Ordering::Relaxed));
            std::process::exit(128 + signal);
        }
    });
    Ok(())
}
