//! A Verilated NIC as an endpoint. Its host's program, or the server of its socket, runs on a thread of its own and may block in any
//! register access: the NIC pauses at the end of a window, and the thread waits until the network goes on.

use crate::endpoint::{Endpoint, Frame, Log, Report, VALUES};
use crate::noise::Noise;
use crate::served::{Listening, Served, Serving, Taken, Watched};
use anyhow::{anyhow, ensure, Context, Result};
use spindle::Device;
use spindle_cli::fate_file;
use spindle_cli::fates::{of_card, ReplySpan};
use spindle_contract::params::Config;
use spindle_harness::Source;
use spindle_sim::serve::HostPauses;
use spindle_sim::{address, Options, SentFrame, SimDevice, SimHandle, WaveRequest, WireFrame};
use std::collections::VecDeque;
use std::fs::File;
use std::io::{BufWriter, Write};
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;
use std::panic::{catch_unwind, resume_unwind, AssertUnwindSafe};
use std::path::PathBuf;
use std::sync::mpsc::{channel, Receiver, Sender};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;

/// Most NICs of a network: their numbers have eight bits in MAC addresses and in targets of puts.
pub const MOST: usize = 256;

/// A host: its number, its NIC's driver, and the NIC. Time passes in register accesses and in [`Host::run`] alone.
pub struct Host {
    /// Number of its node.
    pub number: usize,
    /// Nodes of the network.
    pub nodes: usize,
    /// The driver.
    pub device: Device<SimHandle, SimHandle>,
    /// The NIC.
    pub card: SimHandle,
    /// Its pauses.
    noise: Option<Noise>,
}

impl Host {
    /// The present cycle.
    pub fn now(&self) -> u64 {
        self.card.sim().cycle()
    }

    /// Lets so many cycles pass, and more of them if the host pauses then.
    pub fn run(&self, cycles: u64) {
        self.card.sim().run(cycles);
        self.pause();
    }

    /// Lets the host's pause pass, if there is one now.
    pub fn pause(&self) {
        if let Some(noise) = &self.noise {
            let now = self.now();
            self.card.sim().run(noise.goes_on(self.number as u32, now) - now);
        }
    }

    /// Lets cycles pass up to this one.
    pub fn run_to(&self, cycle: u64) {
        self.run(cycle.saturating_sub(self.now()));
    }

    /// Looks in every cycle until there is a result.
    ///
    /// # Errors
    /// That of the look.
    pub fn until<T>(&mut self, mut look: impl FnMut(&mut Host) -> Result<Option<T>>) -> Result<T> {
        loop {
            if let Some(result) = look(self)? {
                return Ok(result);
            }
            self.run(1);
        }
    }
}

/// The program of a host: it ends with its results.
pub type Program = Box<dyn FnOnce(&mut Host) -> Result<[u64; VALUES]> + Send>;

/// A NIC and its host's program.
pub struct Setting {
    /// The configuration.
    pub config: Config,
    /// Its Verilog.
    pub source: Source,
    /// Nodes of the network, at most [`MOST`].
    pub nodes: usize,
    /// Cycles of host memory's answers.
    pub host_latency: (u64, u64),
    /// File for a wave of this NIC.
    pub wave: Option<PathBuf>,
    /// File for the fates of the frames that this NIC takes.
    pub fates: Option<PathBuf>,
    /// Pauses of the host.
    pub noise: Option<Noise>,
}

/// What goes to the thread of a NIC: how far it may go, and the frames that come meanwhile.
struct Go {
    until: u64,
    frames: Vec<Frame>,
}

/// What comes back at the end of a window: frames, and the end of the program with its cycle and results.
struct Back {
    sent: Vec<Frame>,
    ended: Option<Ended>,
}

type Ended = (u64, Result<[u64; VALUES]>);

/// The end of the thread, since the network is gone; not a panic of the program.
struct Gone;

/// How it shows that a host has ended.
enum Ending {
    /// The cycle in which its program ended.
    Program(Option<u64>),
    /// Its clients have left.
    Served(Watched),
}

/// The NIC.
pub struct Rtl {
    go: Option<Sender<Go>>,
    /// Closed when the thread is to end.
    stop: Option<UnixStream>,
    back: Receiver<Back>,
    thread: Option<JoinHandle<Result<()>>>,
    cycle: u64,
    coming: Vec<Frame>,
    sent: VecDeque<Frame>,
    log: Log,
    ending: Ending,
    values: [u64; VALUES],
}

/// What the thread of a NIC has of the network.
struct Line {
    ended: Arc<Mutex<Option<Ended>>>,
    records: Records,
}

/// The network's end of a [`Line`].
struct Far {
    go: Sender<Go>,
    back: Receiver<Back>,
}

/// What is recorded of a NIC, for its end.
#[derive(Clone)]
struct Records {
    fates: Option<PathBuf>,
    /// Frames that it has sent, if fates are wanted.
    sent: Arc<Mutex<Vec<ReplySpan>>>,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // A panic of another holder ends the thread, which is reported.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Records {
    fn note(&self, frame: &SentFrame) {
        if self.fates.is_some() {
            let mut sent = lock(&self.sent);
            let SentFrame { bytes, first, last } = frame;
            let reply = sent.len();
            sent.push(ReplySpan { reply, first: *first, last: *last, bytes: bytes.len() });
        }
    }

    /// Ends the wave, and writes the fates.
    fn finish(&self, card: &mut SimDevice) -> Result<()> {
        card.wave_close()?;
        let Some(path) = &self.fates else { return Ok(()) };
        let fates = of_card(card, &lock(&self.sent));
        let cannot = || format!("cannot write the fates to {}", path.display());
        let mut file = BufWriter::new(File::create(path).with_context(cannot)?);
        fate_file::write(path, &mut file, &fates).and_then(|()| Ok(file.flush()?)).with_context(cannot)
    }
}

/// Makes a card.
fn card(node: usize, setting: &Setting) -> Result<SimDevice> {
    let nodes = setting.nodes;
    ensure!(nodes <= MOST, "{nodes} Verilated NICs; a network has at most {MOST}: use stand-ins for the others");
    // Memory latencies differ from NIC to NIC, and not from run to run.
    let seed = node as u64 + 1;
    let trace = setting.wave.is_some();
    let options = Options { trace, seed, host_latency: setting.host_latency, ..Options::default() };
    let mut card = SimDevice::new(&setting.source, &setting.config, options)?;
    card.set_tracing(setting.fates.is_some());
    if let Some(path) = &setting.wave {
        card.wave_open(path, &WaveRequest::default())?;
    }
    Ok(card)
}

/// Joins a card to the network: it pauses at the end of each window. `taken` has frames that left the card before.
fn join(card: &mut SimDevice, setting: &Setting, taken: Taken) -> (Line, Far) {
    let (go, to_go) = channel::<Go>();
    let (to_back, back) = channel();
    let nodes = setting.nodes;
    let ended: Arc<Mutex<Option<Ended>>> = Arc::default();
    let records = Records { fates: setting.fates.clone(), sent: Arc::default() };
    let (of_pause, noted) = (ended.clone(), records.clone());
    let mut begun = false;
    card.set_pause(
        0,
        Box::new(move |card| {
            if begun {
                let mut sent = std::mem::take(&mut *lock(&taken));
                sent.extend(card.take_sent());
                sent.iter().for_each(|frame| noted.note(frame));
                let sent = sent.into_iter().map(|frame| sent_frame(frame.bytes, frame.last, nodes)).collect();
                let ended = lock(&of_pause).take();
                if to_back.send(Back { sent, ended }).is_err() {
                    resume_unwind(Box::new(Gone));
                }
            }
            begun = true;
            let Ok(Go { until, frames }) = to_go.recv() else { resume_unwind(Box::new(Gone)) };
            let now = card.cycle();
            // The network hands over frames of this window and of later ones; a reset may have passed the first of them.
            for Frame { cycle, bytes, .. } in frames.into_iter().filter(|frame| frame.cycle >= now) {
                card.inject_at(cycle, WireFrame { bytes, gap: 0, bad: false }).expect("the cycle is to come");
            }
            until
        }),
    );
    (Line { ended, records }, Far { go, back })
}

impl Rtl {
    /// The NIC of a node; its program begins with the first window.
    ///
    /// # Errors
    /// The model cannot be built; the network has too many nodes.
    pub fn new(node: usize, setting: &Setting, program: Program) -> Result<Rtl> {
        let mut card = card(node, setting)?;
        let (line, far) = join(&mut card, setting, Taken::default());
        let (nodes, noise) = (setting.nodes, setting.noise);
        let run = move |_: UnixStream| host(node, nodes, noise, SimHandle::new(card), program, &line);
        Rtl::start(node, far, Ending::Program(None), run)
    }

    /// The NIC of a node, served at its socket.
    ///
    /// # Errors
    /// Those of [`Rtl::new`]; the socket cannot be had.
    pub fn serve(node: usize, setting: &Setting, serving: &Serving) -> Result<Rtl> {
        let listening = Listening::bind(serving, node)?;
        let card = card(node, setting)?;
        let pauses = setting.noise.map(|noise| -> HostPauses { Box::new(move |now| noise.goes_on(node as u32, now)) });
        let (mut served, taken) = listening.serve(card, pauses);
        let (line, far) = join(served.card(), setting, taken);
        let ending = Ending::Served(served.watched());
        Rtl::start(node, far, ending, move |stop| serve(served, &stop, &line))
    }

    fn start(
        node: usize,
        far: Far,
        ending: Ending,
        run: impl FnOnce(UnixStream) -> Result<()> + Send + 'static,
    ) -> Result<Rtl> {
        let (stop, stopped) = UnixStream::pair().context("cannot make a pair of sockets")?;
        let thread = std::thread::Builder::new()
            .name(format!("host {node}"))
            .spawn(move || run(stopped))
            .context("cannot start the thread of a host")?;
        Ok(Rtl {
            go: Some(far.go),
            stop: Some(stop),
            back: far.back,
            thread: Some(thread),
            cycle: 0,
            coming: Vec::new(),
            sent: VecDeque::new(),
            log: Log::default(),
            ending,
            values: [0; VALUES],
        })
    }

    /// Ends the thread, and returns its error.
    fn end(&mut self) -> Result<()> {
        (self.go, self.stop) = (None, None);
        match self.thread.take().map(JoinHandle::join) {
            None => Ok(()),
            Some(result) => {
                result.unwrap_or_else(|_| Err(anyhow!("the thread of the host panicked; its message is above")))
            }
        }
    }
}

/// The thread of a host: its program, and after its end the NIC alone, until the network is gone.
fn host(node: usize, nodes: usize, noise: Option<Noise>, card: SimHandle, program: Program, line: &Line) -> Result<()> {
    let run = || -> Result<[u64; VALUES]> {
        // The first step waits for the first window.
        let device = Device::open(card.clone(), card.clone())?;
        program(&mut Host { number: node, nodes, device, card: card.clone(), noise })
    };
    let result = match catch_unwind(AssertUnwindSafe(run)) {
        Ok(result) => result,
        Err(panic) if panic.is::<Gone>() => return line.records.finish(&mut card.sim()),
        Err(panic) => Err(anyhow!("the host's program panicked: {}", words(panic.as_ref()))),
    };
    let now = card.sim().cycle();
    *lock(&line.ended) = Some((now, result));
    let _gone = catch_unwind(AssertUnwindSafe(|| card.sim().run(u64::MAX)));
    line.records.finish(&mut card.sim())
}

/// The thread of a served NIC: its sockets, until the network is gone.
fn serve(mut served: Served, stop: &UnixStream, line: &Line) -> Result<()> {
    match catch_unwind(AssertUnwindSafe(|| served.run(stop.as_fd()))) {
        Ok(result) => result?,
        Err(panic) if panic.is::<Gone>() => {}
        Err(panic) => return Err(anyhow!("the server of a NIC panicked: {}", words(panic.as_ref()))),
    }
    line.records.finish(served.card())
}

/// The words of a panic.
fn words(panic: &(dyn std::any::Any + Send)) -> String {
    let words = panic.downcast_ref::<String>().cloned();
    words.or_else(|| panic.downcast_ref::<&str>().map(|words| words.to_string())).unwrap_or_default()
}

/// A frame that a NIC has sent, with the node to which it goes by its MAC address.
fn sent_frame(bytes: Vec<u8>, last: u64, nodes: usize) -> Frame {
    let to = bytes.get(5).map(|number| usize::from(*number));
    let to = to.filter(|number| *number < nodes && bytes.starts_with(&address(*number).mac));
    // The pseudo-flow of UDP over IPv4: addresses and ports.
    let flow = bytes.get(26..38).map_or(0, |part| {
        part.iter().fold(0x811c_9dc5_u32, |hash, byte| (hash ^ u32::from(*byte)).wrapping_mul(0x0100_0193))
    });
    let length = bytes.len() as u32;
    Frame { cycle: last, peer: to.map(|number| number as u32), flow, length, bytes, marked: false, hops: 0 }
}

impl Endpoint for Rtl {
    fn step(&mut self, until: u64) -> Result<u64> {
        let frames = std::mem::take(&mut self.coming);
        let going = self.go.as_ref().is_some_and(|go| go.send(Go { until, frames }).is_ok());
        let back = if going { self.back.recv().ok() } else { None };
        let Some(Back { sent, ended }) = back else {
            self.end()?;
            return Err(anyhow!("the thread of the host has ended"));
        };
        self.cycle = until;
        self.sent.extend(sent);
        if let Some((cycle, result)) = ended {
            self.values = result.with_context(|| format!("the host's program failed in cycle {cycle}"))?;
            self.ending = Ending::Program(Some(cycle));
        }
        // The NIC itself always goes on.
        Ok(until)
    }

    fn inject(&mut self, frame: Frame) -> Result<()> {
        ensure!(
            frame.cycle >= self.cycle,
            "a frame for cycle {} comes when the NIC is in cycle {}; shorten the window",
            frame.cycle,
            self.cycle
        );
        self.log.add(&frame);
        self.coming.push(frame);
        Ok(())
    }

    fn take(&mut self) -> Option<Frame> {
        self.sent.pop_front()
    }

    fn report(&self) -> Report {
        match &self.ending {
            Ending::Program(done) => self.log.report(*done, self.values),
            Ending::Served(watched) => {
                let clients = watched.clients();
                let done = (clients.came > 0 && !clients.here).then_some(clients.left);
                self.log.report(done, [clients.came, 0, 0, 0])
            }
        }
    }

    fn ready(&self) -> bool {
        match &self.ending {
            Ending::Program(_) => true,
            Ending::Served(watched) => watched.ready(),
        }
    }

    fn begin(&mut self) {
        if let Ending::Served(watched) = &self.ending {
            watched.begin();
        }
    }

    fn finish(&mut self) -> Result<()> {
        self.end()
    }
}

impl Drop for Rtl {
    fn drop(&mut self) {
        if let Err(error) = self.end() {
            log::error!("{error:#}");
        }
    }
}
