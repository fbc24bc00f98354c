//! `spindle serve`: the simulated card as a PCI function, for drivers of other processes and of virtual machines.
//!
//! One thread owns the model, its sockets and its wire. [`TimeMode`] says when the card's time moves. In mode `free` the thread looks
//! at the sockets every few cycles; after [`REST_AFTER`] cycles in which nothing happened the card rests: the thread waits in `poll`
//! and moves the card on by a few cycles now and then, so that its timers go on, slowly, and an idle card takes no core. A card with a
//! pace runs so many cycles per second, whether there is something to do or not: [`Pace`].

mod background;
pub mod control;
pub mod exercise;
mod function;
mod pace;
pub mod wire;

pub use background::Background;
pub use function::{Clients, HostPauses, NicFunction};

use crate::transport::device;
use crate::{Options, SimDevice};
use anyhow::{ensure, Context, Result};
use control::Control;
use pace::{Pace, AT_ONCE};
use rustix::event::{poll, PollFd, PollFlags, Timespec};
use rustix::io::Errno;
use spindle::config_space::Layout;
use spindle::vfio_user::{Host, Server};
use spindle_contract::params::Config;
use spindle_contract::pci;
use std::os::fd::BorrowedFd;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};
use wire::{Link, Nowhere, PcapWire, TapWire, Wire};

/// Cycles without an access, a frame, a transaction, a handler or an interrupt after which a card rests: twice the retransmission
/// time of `librvma`, so that a segment that was lost is sent again before the card's time slows down.
pub const REST_AFTER: u64 = 128 * 1024;
/// Cycles between two looks at the sockets.
const LOOK_EVERY: u64 = 8;
/// What a resting card runs at a time, and the longest wait before that.
const REST_CYCLES: u64 = 64;
const REST_WAIT: Duration = Duration::from_millis(10);
/// The longest wait of a card whose time moves by accesses: the wire is looked after.
const STEP_WAIT: Duration = Duration::from_millis(50);

/// What moves the card's time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TimeMode {
    /// The card runs on its own.
    Free,
    /// Register accesses and the driver's pauses alone, as of a card in the driver's process: the same program takes the same cycles.
    Step,
}

/// What is at the other end of the wire.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum End {
    /// Nothing.
    Nowhere,
    /// A capture that enters, and a file for what the card sends.
    Pcap(PathBuf, Option<PathBuf>),
    /// A TAP interface of this machine.
    Tap(String),
    /// Another served card: both name this path.
    Link(PathBuf),
}

/// How a card is served.
#[derive(Clone, Debug)]
pub struct ServeOptions {
    /// Socket for the driver.
    pub socket: PathBuf,
    /// Configuration of the NIC.
    pub config: Config,
    /// What moves its time.
    pub time: TimeMode,
    /// Cycles per second in mode `free`, at least 1; `None`: as many as the machine can, and none to speak of while the card rests.
    pub pace: Option<u64>,
    /// The wire.
    pub end: End,
    /// The model can record waves, and is slower.
    pub waves: bool,
    /// The card keeps its state when its driver goes; else it is reset, as the kernel's VFIO does.
    pub keep: bool,
    /// Seed of the latencies of host memory.
    pub seed: u64,
}

impl ServeOptions {
    /// The default configuration at this socket, in mode `free`, its wire nowhere.
    pub fn at(socket: &Path) -> ServeOptions {
        let time = TimeMode::Free;
        let seed = Options::default().seed;
        ServeOptions {
            socket: socket.into(),
            config: Config::SIM,
            time,
            pace: None,
            end: End::Nowhere,
            waves: false,
            keep: false,
            seed,
        }
    }
}

/// The sockets of a card: the one for its driver, and the one beside it for requests of waves.
pub struct Sockets {
    server: Server,
    host: Host,
    control: Control,
}

impl Sockets {
    /// Listens. Sockets that a server left are replaced.
    ///
    /// # Errors
    /// Another server has the socket, or the socket cannot be made.
    pub fn bind(socket: &Path) -> Result<Sockets> {
        let host = Host::new(pci::VECTORS);
        let server = Server::bind(socket, Layout::CARD, host.clone())?;
        Ok(Sockets { server, host, control: Control::bind(socket)? })
    }

    /// Serves a card with this wire.
    pub fn serve(self, sim: SimDevice, wire: Box<dyn Wire + Send>, mode: TimeMode, keep: bool) -> NicServer {
        let Sockets { server, host, control } = self;
        let function = NicFunction::new(sim, &host, wire, mode, keep);
        NicServer { server, function, control, mode, pace: None, idle: 0 }
    }
}

/// A card that is served.
pub struct NicServer {
    server: Server,
    function: NicFunction,
    control: Control,
    mode: TimeMode,
    pace: Option<Pace>,
    idle: u64,
}

impl NicServer {
    /// Builds the model, which takes minutes the first time, listens, and opens the wire. Sockets that a server left are replaced.
    ///
    /// # Errors
    /// Another server has the socket, the wire cannot be opened, the model cannot be built, or the pace is none.
    pub fn open(options: &ServeOptions) -> Result<NicServer> {
        ensure!(options.pace != Some(0), "a pace of no cycles per second; give 1 or more");
        ensure!(
            options.pace.is_none() || options.time == TimeMode::Free,
            "a card whose time moves by accesses has no pace"
        );
        // A client that comes while a model is built would wait for minutes.
        let sim = device(&options.config, Options { trace: options.waves, seed: options.seed, ..Options::default() })?;
        let sockets = Sockets::bind(&options.socket)?;
        let wire: Box<dyn Wire + Send> = match &options.end {
            End::Nowhere => Box::new(Nowhere),
            End::Pcap(input, output) => {
                let period = 1000.0 / f64::from(options.config.clock_mhz);
                Box::new(PcapWire::open(input, output.as_deref(), period)?)
            }
            End::Tap(name) => Box::new(TapWire::open(name)?),
            End::Link(path) => Box::new(Link::open(path)?),
        };
        let pace = options.pace.map(Pace::new);
        Ok(NicServer { pace, ..sockets.serve(sim, wire, options.time, options.keep) })
    }

    /// The card with its wire.
    pub fn function(&mut self) -> &mut NicFunction {
        &mut self.function
    }

    /// Serves until `stop` is readable.
    ///
    /// # Errors
    /// The wire cannot be used any more.
    pub fn run(&mut self, stop: BorrowedFd<'_>) -> Result<()> {
        while !self.turn(stop)? {}
        self.server.disconnect(&mut self.function);
        Ok(())
    }

    /// Looks once at all sockets, after a wait of at most so long for one of them, and answers what is there; true: `stop` is readable.
    /// Who keeps the card's time in place of [`NicServer::run`] calls this again and again.
    ///
    /// # Errors
    /// The sockets cannot be waited for.
    pub fn look(&mut self, stop: BorrowedFd<'_>, wait: Duration) -> Result<bool> {
        let (ready, stopped) = self.wait(stop, wait)?;
        if ready {
            self.server.service(&mut self.function);
        }
        self.control.service(self.function.sim());
        Ok(stopped)
    }

    /// Looks once at all sockets and moves the card on; true: `stop` is readable.
    fn turn(&mut self, stop: BorrowedFd<'_>) -> Result<bool> {
        let paced = self.pace.is_some();
        let rests = !paced && self.mode == TimeMode::Free && self.idle >= REST_AFTER && !self.control.records();
        let cycle = self.function.sim().cycle();
        let wait = match self.mode {
            TimeMode::Free if rests => REST_WAIT,
            TimeMode::Free if paced => {
                self.pace.as_mut().map_or(Duration::ZERO, |pace| pace.wait(cycle, Instant::now()))
            }
            TimeMode::Free => Duration::ZERO,
            TimeMode::Step => STEP_WAIT,
        };
        let stopped = self.look(stop, wait)?;
        let cycle = self.function.sim().cycle();
        match (self.mode, self.pace.as_mut().map(|pace| pace.due(cycle, Instant::now()))) {
            (TimeMode::Free, Some(late)) => {
                self.function.catch_up(late);
                if late < AT_ONCE {
                    self.function.exchange();
                }
            }
            (TimeMode::Free, None) => self.function.run(if rests { REST_CYCLES } else { LOOK_EVERY }),
            (TimeMode::Step, _) => self.function.exchange(),
        }
        self.idle = if self.function.take_active() { 0 } else { self.idle.saturating_add(LOOK_EVERY) };
        match self.function.take_failure() {
            Some(failure) => Err(failure.context("the card's wire has failed")),
            None => Ok(stopped),
        }
    }

    /// Waits for anything, at most so long: whether there is something, and whether `stop` is readable.
    fn wait(&self, stop: BorrowedFd<'_>, limit: Duration) -> Result<(bool, bool)> {
        let mut fds = vec![PollFd::from_borrowed_fd(stop, PollFlags::IN)];
        fds.extend(self.server.poll_fds());
        fds.extend(self.control.poll_fds());
        fds.extend(self.function.wire().poll_fds());
        let limit = Timespec::try_from(limit).context("a wait is too long")?;
        match poll(&mut fds, Some(&limit)) {
            Ok(ready) => Ok((ready > 0, !fds[0].revents().is_empty())),
            Err(Errno::INTR) => Ok((false, false)),
            Err(error) => Err(error).context("cannot wait for sockets"),
        }
    }
}
