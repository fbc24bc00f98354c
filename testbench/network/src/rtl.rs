//! A Verilated NIC as an endpoint. Its host's program runs on a thread of its own and may block in any register access: the NIC
//! pauses at the end of a window, and the thread waits until the network goes on.

use crate::endpoint::{Endpoint, Frame, Log, Report, VALUES};
use anyhow::{anyhow, ensure, Context, Result};
use spindle::Device;
use spindle_contract::params::Config;
use spindle_harness::Source;
use spindle_sim::{address, Options, SimDevice, SimHandle, WaveRequest, WireFrame};
use std::collections::VecDeque;
use std::panic::{catch_unwind, resume_unwind, AssertUnwindSafe};
use std::path::PathBuf;
use std::sync::mpsc::{channel, Receiver, Sender};
use std::sync::{Arc, Mutex, PoisonError};
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
}

impl Host {
    /// The present cycle.
    pub fn now(&self) -> u64 {
        self.card.sim().cycle()
    }

    /// Lets so many cycles pass.
    pub fn run(&self, cycles: u64) {
        self.card.sim().run(cycles);
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

/// The NIC.
pub struct Rtl {
    go: Option<Sender<Go>>,
    back: Receiver<Back>,
    thread: Option<JoinHandle<()>>,
    cycle: u64,
    coming: Vec<Frame>,
    sent: VecDeque<Frame>,
    log: Log,
    done: Option<u64>,
    values: [u64; VALUES],
}

impl Rtl {
    /// The NIC of a node after reset, and its host's program, which begins with the first window.
    ///
    /// # Errors
    /// The model cannot be built; the network has too many nodes.
    pub fn new(node: usize, setting: &Setting, program: Program) -> Result<Rtl> {
        let nodes = setting.nodes;
        ensure!(nodes <= MOST, "{nodes} Verilated NICs; a network has at most {MOST}: use stand-ins for the others");
        // Memory latencies differ from NIC to NIC, and not from run to run.
        let seed = node as u64 + 1;
        let trace = setting.wave.is_some();
        let options = Options { trace, seed, host_latency: setting.host_latency, ..Options::default() };
        let mut card = SimDevice::new(&setting.source, &setting.config, options)?;
        card.set_tracing(false);
        if let Some(path) = &setting.wave {
            card.wave_open(path, &WaveRequest::default())?;
        }
        let (go, to_go) = channel::<Go>();
        let (to_back, back) = channel();
        let ended: Arc<Mutex<Option<Ended>>> = Arc::default();
        let of_pause = ended.clone();
        card.set_pause(
            0,
            Box::new(move |card| {
                if card.cycle() > 0 {
                    let sent =
                        card.take_sent().into_iter().map(|frame| sent_frame(frame.bytes, frame.last, nodes)).collect();
                    let ended = of_pause.lock().unwrap_or_else(PoisonError::into_inner).take();
                    if to_back.send(Back { sent, ended }).is_err() {
                        resume_unwind(Box::new(Gone));
                    }
                }
                let Ok(Go { until, frames }) = to_go.recv() else { resume_unwind(Box::new(Gone)) };
                for Frame { cycle, bytes, .. } in frames {
                    // The network hands over frames of this window and of later ones.
                    card.inject_at(cycle, WireFrame { bytes, gap: 0, bad: false })
                        .expect("`inject` has compared the cycles");
                }
                until
            }),
        );
        let thread = std::thread::Builder::new()
            .name(format!("host {node}"))
            .spawn(move || host(node, nodes, SimHandle::new(card), program, &ended))
            .context("cannot start the thread of a host")?;
        Ok(Rtl {
            go: Some(go),
            back,
            thread: Some(thread),
            cycle: 0,
            coming: Vec::new(),
            sent: VecDeque::new(),
            log: Log::default(),
            done: None,
            values: [0; VALUES],
        })
    }
}

/// The thread of a host: its program, and after its end the NIC alone, until the network is gone.
fn host(node: usize, nodes: usize, card: SimHandle, program: Program, ended: &Mutex<Option<Ended>>) {
    let run = || -> Result<[u64; VALUES]> {
        // The first step waits for the first window.
        let device = Device::open(card.clone(), card.clone())?;
        program(&mut Host { number: node, nodes, device, card: card.clone() })
    };
    let result = match catch_unwind(AssertUnwindSafe(run)) {
        Ok(result) => result,
        Err(panic) if panic.is::<Gone>() => return finish(&card),
        Err(panic) => {
            let words = panic.downcast_ref::<String>().cloned();
            let words = words.or_else(|| panic.downcast_ref::<&str>().map(|words| words.to_string()));
            Err(anyhow!("the host's program panicked: {}", words.unwrap_or_default()))
        }
    };
    let now = card.sim().cycle();
    *ended.lock().unwrap_or_else(PoisonError::into_inner) = Some((now, result));
    let _gone = catch_unwind(AssertUnwindSafe(|| card.sim().run(u64::MAX)));
    finish(&card);
}

/// Ends the wave.
fn finish(card: &SimHandle) {
    if let Err(error) = card.sim().wave_close() {
        log::error!("{error:#}");
    }
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
        let gone = || anyhow!("the thread of the host has ended");
        self.go.as_ref().with_context(gone)?.send(Go { until, frames }).map_err(|_| gone())?;
        let Back { sent, ended } = self.back.recv().map_err(|_| gone())?;
        self.cycle = until;
        self.sent.extend(sent);
        if let Some((cycle, result)) = ended {
            self.values = result.with_context(|| format!("the host's program failed in cycle {cycle}"))?;
            self.done = Some(cycle);
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
        self.log.report(self.done, self.values)
    }
}

impl Drop for Rtl {
    fn drop(&mut self) {
        self.go = None;
        if let Some(thread) = self.thread.take() {
            // A panic of the program was reported as its end.
            let _ = thread.join();
        }
    }
}
