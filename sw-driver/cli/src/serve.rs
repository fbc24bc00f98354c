//! `spindle serve` and `spindle wave`: the simulated NIC as a PCI function for other programs.

use anyhow::{bail, Context, Result};
use signal_hook::consts::{SIGINT, SIGTERM};
use spindle_sim::serve::control::{record, Order};
use spindle_sim::serve::{End, NicServer, ServeOptions, TimeMode};
use std::io::Write;
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};

/// How the address of a served card begins.
const PREFIX: &str = "unix:";

/// Arguments of `spindle serve`.
#[derive(clap::Args, Clone, Debug)]
pub struct ServeArguments {
    /// Socket for drivers, which open the card as unix:PATH.
    #[arg(long, value_name = "PATH")]
    socket: PathBuf,
    /// Configuration of the NIC.
    #[arg(long, default_value = "sim")]
    config: String,
    /// What moves the card's time.
    #[arg(long, value_enum, default_value = "free")]
    time: Time,
    /// The card's cycles per second; without this, as many as this machine can. A client over TAP that measures time needs a fixed pace.
    #[arg(long, value_name = "CYCLES", value_parser = clap::value_parser!(u64).range(1..))]
    pace: Option<u64>,
    /// Frames of IN enter when the driver switches reception on; what the card sends goes to OUT.
    #[arg(long, value_name = "IN[,OUT]", group = "wire")]
    pcap: Option<String>,
    /// The wire is this TAP interface, which is made if there is none.
    #[arg(long, value_name = "NAME", group = "wire")]
    tap: Option<String>,
    /// The wire is a cable to another served card that names the same path: unix:PATH.
    #[arg(long, value_name = "ADDRESS", group = "wire")]
    link: Option<String>,
    /// `spindle wave` can record waves; the card is about half as fast.
    #[arg(long)]
    waves: bool,
    /// The card keeps its handlers and rules when its driver goes; else it is reset, as by the kernel's VFIO.
    #[arg(long)]
    keep: bool,
    /// Seed of the latencies of host memory.
    #[arg(long, default_value_t = 1)]
    seed: u64,
}

/// What moves the card's time.
#[derive(clap::ValueEnum, Clone, Copy, Debug)]
enum Time {
    /// The card runs on its own, and rests when there is nothing to do.
    Free,
    /// Register accesses and the driver's pauses alone: the same program takes the same cycles.
    Step,
}

impl ServeArguments {
    fn end(&self) -> Result<End> {
        Ok(match (&self.pcap, &self.tap, &self.link) {
            (Some(files), _, _) => match files.split_once(',') {
                Some((input, output)) => End::Pcap(input.into(), Some(output.into())),
                None => End::Pcap(files.into(), None),
            },
            (_, Some(name), _) => End::Tap(name.clone()),
            (_, _, Some(address)) => End::Link(path_of(address)?.into()),
            _ => End::Nowhere,
        })
    }
}

/// The path of an address of a socket.
fn path_of(address: &str) -> Result<&Path> {
    match address.strip_prefix(PREFIX) {
        Some(path) if !path.is_empty() => Ok(Path::new(path)),
        _ => bail!("`{address}` is no address of a socket; give {PREFIX}PATH"),
    }
}

/// Serves a card until Ctrl-C or SIGTERM.
///
/// # Errors
/// See [`NicServer::open`] and [`NicServer::run`].
pub fn serve(arguments: &ServeArguments) -> Result<()> {
    // The first signal ends the server in order; while the model is built, it ends the program.
    let options = ServeOptions {
        socket: arguments.socket.clone(),
        config: crate::config::config(&arguments.config)?,
        time: match arguments.time {
            Time::Free => TimeMode::Free,
            Time::Step => TimeMode::Step,
        },
        pace: arguments.pace,
        end: arguments.end()?,
        waves: arguments.waves,
        keep: arguments.keep,
        seed: arguments.seed,
    };
    let mut server = NicServer::open(&options)?;
    let stop = signals()?;
    println!("serving a card of configuration `{}` at {PREFIX}{}", arguments.config, arguments.socket.display());
    std::io::stdout().flush().context("cannot write to standard output")?;
    server.run(stop.as_fd())
}

/// A socket that becomes readable with SIGINT or SIGTERM; a second signal ends the program.
fn signals() -> Result<UnixStream> {
    let (stop, caught) = UnixStream::pair().context("cannot make a pair of sockets")?;
    let stopping = std::sync::Arc::default();
    for signal in [SIGINT, SIGTERM] {
        // In this order: the first signal finds the flag clear.
        signal_hook::flag::register_conditional_shutdown(signal, 128 + signal, std::sync::Arc::clone(&stopping))
            .and_then(|_| signal_hook::flag::register(signal, std::sync::Arc::clone(&stopping)))
            .and_then(|_| signal_hook::low_level::pipe::register(signal, caught.try_clone()?))
            .context("cannot catch signals")?;
    }
    Ok(stop)
}

/// Arguments of `spindle wave`.
#[derive(clap::Args, Clone, Debug)]
pub struct WaveArguments {
    /// Cycles from now on. A card whose time moves by accesses waits for its driver.
    #[arg(long, value_name = "N", default_value_t = 1000)]
    cycles: u64,
    /// File: FST if its name ends in .fst, else VCD.
    #[arg(long, value_name = "FILE")]
    out: PathBuf,
    /// All signals, not the interfaces alone.
    #[arg(long)]
    all: bool,
}

/// Has a served card record a wave.
///
/// # Errors
/// No card is named, it is not served with `--waves`, or the file cannot be written.
pub fn wave(arguments: &WaveArguments, card: Option<&str>) -> Result<()> {
    let card = &crate::card::address(card)?;
    if arguments.cycles == 0 {
        bail!("a wave of no cycles; give --cycles 1 or more");
    }
    let socket = path_of(card).context("only a served card records waves")?;
    let fst = arguments.out.extension().is_some_and(|extension| extension == "fst");
    let order = Order { cycles: arguments.cycles, fst, all: arguments.all };
    let bytes = record(socket, &order, &arguments.out)?;
    eprintln!("spindle: {} cycles, {bytes} bytes in {}", arguments.cycles, arguments.out.display());
    Ok(())
}
