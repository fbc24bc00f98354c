//! `spindle network`: runs a study in one process, or in the ranks that `mpirun` starts.

use anyhow::{anyhow, Context, Result};
use clap::Parser;
use serde_json::json;
use spindle_cli::fate_file::fate_path;
use spindle_network::engine::Ranks;
use spindle_network::run::{self, Options, Unfinished, REACHED};
use spindle_network::served::remove_sockets;
use spindle_network::study::{Nodes, Study};
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, Ordering};

/// Simulate a network of NICs cycle by cycle, on ns-3: in one process, or in N of them with `mpirun -n N spindle network STUDY.toml`.
#[derive(Parser)]
#[command(name = "spindle network", version)]
struct Arguments {
    /// The study.
    study: PathBuf,
    /// File for the result, as JSON; without it, the result goes to standard output.
    #[arg(long, value_name = "RESULT.json")]
    out: Option<PathBuf>,
    /// Record a wave of a node's NIC: FST if the file's name ends in .fst, else VCD.
    #[arg(long, value_name = "NODE=FILE", value_parser = file_of_node)]
    wave: Vec<(u32, PathBuf)>,
    /// Write what became of each frame that a node's NIC took: CSV if the file's name ends in .csv, a line of JSON for each frame if it
    /// ends in .json or .jsonl.
    #[arg(long, value_name = "NODE=FILE", value_parser = fates_of_node)]
    fates: Vec<(u32, PathBuf)>,
    /// Check the study, and simulate nothing.
    #[arg(long)]
    check: bool,
    /// No lines of progress.
    #[arg(long)]
    quiet: bool,
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
        // Open MPI and Slurm name the others, too.
        Some(rank) if same && rank > 0 => {}
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
    let study = Study::read(&arguments.study).map_err(same)?;
    let (waves, fates) = (arguments.wave.clone(), arguments.fates.clone());
    let options = Options { waves, fates, progress: !arguments.quiet };
    if arguments.check {
        run::check(&study, &options, 1).map_err(same)?;
        println!("{}: {} nodes, {} switches", study.name, study.topology.nodes.len(), study.topology.switches);
        return Ok(());
    }
    let ranks = Ranks::join().map_err(same)?;
    run::check(&study, &options, ranks.ranks).map_err(|error| {
        ranks.leave();
        same(error)
    })?;
    match (rank, &study.nodes) {
        (Some(rank), _) => tell_the_end(rank).map_err(same)?,
        (None, Nodes::Served { .. }) => leave_no_sockets().map_err(same)?,
        (None, _) => {}
    }
    let own = |error| Failure { error, same: false };
    let (outcome, speed) = run::run(&study, &options, ranks).map_err(|error| {
        let same = error.is::<Unfinished>();
        if same {
            ranks.leave();
        }
        Failure { error, same }
    })?;
    if ranks.rank == 0 {
        let result = json!({ "result": outcome, "run": speed });
        let text = serde_json::to_string_pretty(&result).map_err(|error| own(error.into()))?;
        match &arguments.out {
            None => println!("{text}"),
            Some(path) => {
                let written = std::fs::write(path, text + "\n");
                written.map_err(|error| own(anyhow!("cannot write the result to {}: {error}", path.display())))?;
            }
        }
    }
    ranks.leave();
    Ok(())
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
