//! The bench of the use cases: NICs on a wire, and hosts as tasks with clocks of their own.
//!
//! All NICs and hosts count the same cycles. A host's program is a future: it waits for a record, for an event or for the end of its own
//! work, and is polled once in every cycle, so that it sees a completion in the cycle in which the completion becomes visible in memory.
//! Its register writes are posted: they arrive at the card after the latency of the bus, and the program goes on. What else a host costs
//! is in `host-cost.toml`.

use crate::cost::{Costs, HostCost, HostKind, Work};
use crate::source;
use crate::trace;
use anyhow::{anyhow, bail, ensure, Context, Result};
use spindle::command_ring::CommandRing;
use spindle::peer::Responses;
use spindle::reliable::Reliability;
use spindle::rule_table::Action;
use spindle::rvma::{Completed, Posted, Window};
use spindle::window::{Counting, WindowOptions};
use spindle::{Bar, ContextId, ContextOptions, Device, HostMemory, Image, Reply, Rule, Target};
use spindle_contract::params::{Config, SEGMENT_BYTES};
use spindle_contract::registers::{doorbell, doorbell_command, packet, PAGE};
use spindle_contract::wire::{flag, status};
use spindle_harness::Source;
use spindle_model::frames::SpindleHeader;
use spindle_sdk::toolchain::Sources;
use spindle_sdk::variables::variable;
use spindle_sdk::{handler, Handler};
use spindle_sim::{address, Network, NetworkNode, Options, Routing, SimDevice, Step, WireFrame, WireOptions};
use std::cell::{Cell, RefCell, RefMut};
use std::collections::BTreeMap;
use std::future::{poll_fn, Future};
use std::path::PathBuf;
use std::pin::Pin;
use std::rc::Rc;
use std::sync::{Mutex, PoisonError};
use std::task::{Context as TaskContext, Poll, Waker};

/// The driver of a NIC on a wire.
pub type Node = Device<NetworkNode, NetworkNode>;

/// Cycles after which programs that have not ended are given up.
const PATIENCE: u64 = 2_000_000;
/// Cycles in which what a storm of requests has started ends.
const QUIET: u64 = 1000;
/// Places of a host's command ring.
const COMMANDS: usize = 256;
/// Process of the hosts' windows and doorbell.
pub const PROCESS: usize = 0;
/// Key of the hosts' windows.
pub const KEY: u32 = 0x5EED;

/// Where and how a point of a case is measured.
#[derive(Clone)]
pub struct Setting {
    /// The NIC.
    pub config: Config,
    /// Its Verilog.
    pub source: Source,
    /// The hosts.
    pub host: HostKind,
    /// Name of the wire in `host-cost.toml`.
    pub wire: String,
    /// Frames choose among four paths, and overtake each other.
    pub adaptive: bool,
    /// Seed of what is random on the wire: paths, losses.
    pub seed: u64,
    /// All constants.
    pub costs: Costs,
    /// Cycles after which programs that have not ended are given up.
    pub patience: u64,
    /// Malformed requests that a server gets, where a case has some ([`Bench::storm`]).
    pub malformed: usize,
    /// What the other NICs do meanwhile.
    pub others: Others,
    /// Replacements in the sources of handlers: tests break handlers by them.
    pub changes: Vec<Change>,
    /// File for what happens on all NICs, with which only one point is measured.
    pub trace: Option<PathBuf>,
}

/// A replacement in a handler's source.
#[derive(Clone, Copy, Debug)]
pub struct Change {
    /// File of the handler.
    pub file: &'static str,
    /// Text that occurs exactly once.
    pub from: &'static str,
    /// What stands there instead.
    pub to: &'static str,
}

impl Setting {
    /// The configuration of this name, with a PCIe host and the papers' wire.
    ///
    /// # Errors
    /// The NIC cannot be emitted, or `host-cost.toml` is wrong.
    pub fn new(config: Config) -> Result<Setting> {
        let (source, costs) = (spindle_sim::source(&config)?, Costs::load()?);
        Ok(Setting {
            config,
            source,
            host: HostKind::Pcie,
            wire: "paper".into(),
            adaptive: false,
            seed: 1,
            costs,
            patience: PATIENCE,
            malformed: 0,
            others: Others::Stand,
            changes: Vec::new(),
            trace: None,
        })
    }

    /// The same setting on the NIC of another configuration; on `sim`, with which tests are quick, the setting itself.
    ///
    /// # Errors
    /// There is no such configuration, or its NIC cannot be emitted.
    pub fn on(&self, config: &str) -> Result<Setting> {
        if self.config.name == Config::SIM.name {
            return Ok(self.clone());
        }
        let config = Config::by_name(config).with_context(|| format!("there is no configuration `{config}`"))?;
        // The Verilog of a NIC takes seconds to emit, and every point of a case asks for it.
        static SOURCES: Mutex<BTreeMap<&str, Source>> = Mutex::new(BTreeMap::new());
        let mut sources = SOURCES.lock().unwrap_or_else(PoisonError::into_inner);
        let source = match sources.get(config.name) {
            Some(source) => source.clone(),
            None => sources.entry(config.name).or_insert(spindle_sim::source(&config)?).clone(),
        };
        Ok(Setting { source, config, ..self.clone() })
    }

    /// Whether the NIC is the small one, `sim`, with which tests and quick runs take seconds: cases take fewer nodes and smaller codes
    /// there, and warm no processor. Figures are measured on larger ones.
    pub fn small(&self) -> bool {
        self.config.name == Config::SIM.name
    }

    /// Cycles that a frame is on the wire.
    ///
    /// # Errors
    /// `host-cost.toml` has no such wire.
    pub fn wire_cycles(&self) -> Result<u64> {
        Ok(self.wire_options()?.latency)
    }

    /// What the wire does.
    fn wire_options(&self) -> Result<WireOptions> {
        let names = || self.costs.wire.keys().cloned().collect::<Vec<_>>().join(", ");
        let wire = self.costs.wire.get(&self.wire);
        let wire = wire.with_context(|| format!("there is no wire `{}`; there are {}", self.wire, names()))?;
        let latency = self.cycles(wire.ns);
        let (routing, paths) = if self.adaptive { (Routing::Adaptive, 4) } else { (Routing::Ordered, 1) };
        // The paths of an adaptive network differ by a fifth of the shortest, as in `docs/rvma-vs-rdma.md`.
        Ok(WireOptions {
            latency,
            routing,
            paths,
            step: latency.div_ceil(5),
            seed: self.seed,
            ..WireOptions::default()
        })
    }

    /// Cycles of so many nanoseconds.
    pub fn cycles(&self, ns: f64) -> u64 {
        (ns * f64::from(self.config.clock_mhz) / 1000.0).round() as u64
    }

    /// Nanoseconds of so many cycles.
    pub fn ns(&self, cycles: f64) -> f64 {
        cycles * 1000.0 / f64::from(self.config.clock_mhz)
    }

    /// NICs that know each other, number their packets and acknowledge them, with a window rule for all Spindle packets and the
    /// receivers on.
    ///
    /// # Errors
    /// A model cannot be built, or a NIC does not answer.
    pub fn bench(&self, nodes: usize) -> Result<Bench> {
        ensure!((1..=16).contains(&nodes), "{nodes} nodes; the bench has 1 to 16: choose so many");
        let cost = HostCost::new(&self.costs, self.host, self.config.clock_mhz)?;
        let options = |seed| Options { seed, host_latency: (cost.bus, cost.bus), ..Options::default() };
        let card = |number: usize| -> Result<SimDevice> {
            let mut card = SimDevice::new(&self.source, &self.config, options(number as u64 + 1))?;
            card.set_tracing(self.trace.is_some());
            Ok(card)
        };
        let network = Network::new((0..nodes).map(card).collect::<Result<_>>()?, self.wire_options()?);
        let open = |number: usize| -> Result<HostState> {
            let node = network.node(number);
            let mut device = Device::open(node.clone(), node)?;
            device.set_identity(number as u32, address(number).mac, address(number).ip)?;
            for other in 0..nodes {
                device.set_node(other, Some(address(other)))?;
            }
            device.set_sequence_filter(true)?;
            device.set_responses(Some(Responses { ack_every: 8, ..Responses::default() }))?;
            device.set_reliability(Some(Reliability { timeout: 256, hole_time: 64, retries: 15, incarnation: 0 }))?;
            let ring = device.open_commands(PROCESS, COMMANDS)?;
            Ok(HostState { device, ring, contexts: Vec::new() })
        };
        network.set_apart(true);
        let hosts = (0..nodes).map(open).collect::<Result<Vec<_>>>();
        network.set_apart(false);
        let hosts = hosts?;
        let now = network.node(0).card().sim().cycle();
        // The tables of peers are clear: 17 cycles for each peer (docs/transport.md), and what is under way then.
        let cleared = 17 * self.config.peers as u64 + 64;
        network.run(cleared.saturating_sub(now));
        let state = BenchState { network, hosts, cost, agreed: Cell::new(0) };
        Ok(Bench { setting: self.clone(), state: Rc::new(RefCell::new(state)) })
    }
}

/// What other NICs do in a storm of requests to one of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Others {
    /// They run: timers of theirs are on time.
    Run,
    /// They stand still, and what the one sends is taken off the wire.
    Stand,
}

struct HostState {
    device: Node,
    ring: CommandRing,
    /// Contexts that [`Host::install`] has made.
    contexts: Vec<ContextId>,
}

struct BenchState {
    network: Network,
    hosts: Vec<HostState>,
    cost: HostCost,
    /// Comparisons with the model that agreed.
    agreed: Cell<u64>,
}

/// NICs, their hosts, and a wire.
pub struct Bench {
    setting: Setting,
    state: Rc<RefCell<BenchState>>,
}

/// The program of a host.
pub type Program = Pin<Box<dyn Future<Output = Result<()>>>>;

impl Bench {
    /// A host, to prepare its NIC and to write its program with.
    pub fn host(&self, number: usize) -> Host {
        Host { number, state: self.state.clone() }
    }

    /// Every host.
    pub fn hosts(&self) -> Vec<Host> {
        let nodes = self.state.borrow().hosts.len();
        (0..nodes).map(|number| self.host(number)).collect()
    }

    /// Compiles a handler of a case. The case's other files are in the same folder, for `#include`.
    ///
    /// # Errors
    /// The compiler is missing or refuses the source; a change of a test does not fit it.
    pub fn compile(&self, files: &[(&'static str, &'static str)], file: &str) -> Result<Handler> {
        self.compile_as(files, file, |sources| sources)
    }

    /// As [`Bench::compile`], with options of the compiler.
    ///
    /// # Errors
    /// As there.
    pub fn compile_as(
        &self,
        files: &[(&'static str, &'static str)],
        file: &str,
        options: impl FnOnce(Sources) -> Sources,
    ) -> Result<Handler> {
        ensure!(files.iter().any(|(name, _)| *name == file), "no handler {file}");
        let folder = tempfile::tempdir()?;
        for (name, source) in files {
            let mut text = source.to_string();
            for change in self.setting.changes.iter().filter(|change| change.file == *name) {
                let places = text.matches(change.from).count();
                ensure!(
                    places == 1,
                    "`{}` occurs {places} times in {name}; a change needs exactly one place",
                    change.from
                );
                text = text.replace(change.from, change.to);
            }
            std::fs::write(folder.path().join(name), text)?;
        }
        let sources = options(Sources::one(&folder.path().join(file)));
        handler::load(&sources).with_context(|| format!("{file} cannot be compiled"))
    }

    /// The setting.
    pub fn setting(&self) -> &Setting {
        &self.setting
    }

    /// How many nodes there are.
    pub fn nodes(&self) -> usize {
        self.state.borrow().hosts.len()
    }

    /// The present cycle.
    pub fn now(&self) -> u64 {
        now(&self.state.borrow())
    }

    /// Lets all NICs go on by so many cycles, while no host does anything.
    pub fn idle(&self, cycles: u64) {
        self.state.borrow().network.run(cycles);
    }

    /// The wire loses this share of the frames that leave from now on, by a random sequence that is the same in each run.
    pub fn lose(&self, share: f64) {
        self.state.borrow().network.set_wire(|wire| wire.loss = share);
    }

    /// Frames that the wire has lost.
    pub fn lost(&self) -> u64 {
        self.state.borrow().network.counts().lost
    }

    /// Prepares NICs while no frame is under way: each goes on by what its own registers take, so that many take the time of one.
    ///
    /// # Errors
    /// That of the call.
    pub fn set_up<T>(&self, call: impl FnOnce() -> Result<T>) -> Result<T> {
        let network = self.state.borrow().network.clone();
        network.set_apart(true);
        let result = call();
        network.set_apart(false);
        result
    }

    /// Runs the programs side by side until all have ended.
    ///
    /// # Errors
    /// That of the first program that fails; a program does not end.
    pub fn run(&self, programs: Vec<Program>) -> Result<()> {
        let mut programs: Vec<Option<Program>> = programs.into_iter().map(Some).collect();
        let mut context = TaskContext::from_waker(Waker::noop());
        let end = self.now() + self.setting.patience;
        self.post_writes(true);
        let result = loop {
            let mut running = false;
            let mut failed = None;
            for (number, slot) in programs.iter_mut().enumerate() {
                let Some(program) = slot else { continue };
                match program.as_mut().poll(&mut context) {
                    Poll::Pending => running = true,
                    Poll::Ready(Ok(())) => *slot = None,
                    Poll::Ready(Err(error)) => failed = failed.or(Some(error.context(format!("program {number}")))),
                }
            }
            if let Some(error) = failed {
                break Err(error);
            }
            if !running {
                break Ok(());
            }
            if self.now() >= end {
                let patience = self.setting.patience;
                break Err(anyhow!(
                    "the programs of the hosts do not end within {patience} cycles; {}",
                    self.state_of_nics()
                ));
            }
            let state = self.state.borrow();
            state.network.run(1);
        };
        self.post_writes(false);
        self.write_trace().and(result)
    }

    /// Writes what has happened so far, if that is asked for.
    fn write_trace(&self) -> Result<()> {
        let Some(path) = &self.setting.trace else { return Ok(()) };
        let state = self.state.borrow();
        let log = |number| state.network.node(number).card().sim().trace().clone();
        trace::write(path, &(0..state.hosts.len()).map(log).collect::<Vec<_>>())
    }

    /// What the NICs have to say of programs that do not end.
    fn state_of_nics(&self) -> String {
        let state_of = |number: usize, host: &mut HostState| -> Result<String> {
            let stats = host.device.stats()?;
            let drops: Vec<String> = stats.drop_reasons().map(|(reason, count)| format!("{reason} {count}")).collect();
            let (resent, failed) = (host.device.segments_resent()?, host.device.failed_puts()?);
            let fault =
                host.device.pop_fault()?.map_or(String::new(), |fault| format!(", fault: {}", fault.cause_text().0));
            Ok(format!(
                "NIC {number}: {} frames in, {} inside, dropped: [{}], {} messages open, {} failed, {} cells free, {resent} segments sent \
                 again, {failed} puts given up{fault}",
                stats.frames_in,
                stats.inside(),
                drops.join(", "),
                stats.messages_open,
                stats.messages_failed,
                stats.cells_free,
            ))
        };
        let mut state = self.state.borrow_mut();
        let states =
            state.hosts.iter_mut().enumerate().map(|(number, host)| {
                state_of(number, host).unwrap_or_else(|error| format!("NIC {number}: {error:#}"))
            });
        states.collect::<Vec<_>>().join("; ")
    }

    fn post_writes(&self, on: bool) {
        let mut state = self.state.borrow_mut();
        let delay = on.then_some(state.cost.bus);
        for host in &mut state.hosts {
            host.device.bar.post_writes(delay);
        }
    }

    /// Compares bytes with those of the model. Without one comparison that agrees, a case has no result.
    ///
    /// # Errors
    /// They differ: the place of the first that does.
    pub fn expect(&self, what: &str, got: &[u8], wanted: &[u8]) -> Result<()> {
        ensure!(got.len() == wanted.len(), "{what}: {} bytes, the model has {}", got.len(), wanted.len());
        if let Some(at) = (0..got.len()).find(|at| got[*at] != wanted[*at]) {
            bail!("{what}: byte {at} is {:#04x}, the model has {:#04x}", got[at], wanted[at]);
        }
        let state = self.state.borrow();
        state.agreed.set(state.agreed.get() + 1);
        Ok(())
    }

    /// Gives a NIC malformed requests, [`Setting::malformed`] of them: puts of a node to a mailbox, unsequenced, whose bytes are these in
    /// turn. Meanwhile the other NICs do what [`Setting::others`] says.
    ///
    /// # Errors
    /// A request does not come to its end.
    pub fn storm(&self, from: usize, to: usize, address: u64, requests: &[Vec<u8>]) -> Result<()> {
        let put = |bytes: &Vec<u8>| {
            let header = SpindleHeader {
                src_nid: from as u32,
                flags: flag::UNSEQ,
                src_pid: PROCESS as u16,
                dst_pid: PROCESS as u16,
                addr: address,
                key: KEY,
                msg_id: 0xBAD,
                msg_len: bytes.len() as u32,
                payload_len: bytes.len() as u16,
                ..SpindleHeader::default()
            };
            source::frame(to, from, &header, bytes)
        };
        let short = requests.iter().filter(|bytes| bytes.len() <= SEGMENT_BYTES);
        self.storm_of_frames(to, &short.map(put).collect::<Vec<_>>())
    }

    /// As [`Bench::storm`], with frames.
    ///
    /// # Errors
    /// As there.
    pub fn storm_of_frames(&self, to: usize, frames: &[Vec<u8>]) -> Result<()> {
        // Frames inside the NIC, so that none is lost, and frames after which the trace is emptied.
        const INSIDE: usize = 8;
        const SOME: usize = 1000;
        if self.setting.malformed == 0 {
            return Ok(());
        }
        let state = self.state.borrow();
        let network = &state.network;
        let node = network.node(to);
        let card = node.card();
        card.sim().set_tracing(true);
        card.sim().take_arrivals();
        let mut left = self.setting.malformed;
        let mut all = frames.iter().cycle();
        while left > 0 {
            card.sim().trace().clear();
            let mut some = all.by_ref().take(left.min(SOME)).cloned();
            left -= left.min(SOME);
            let (start, mut arrived, mut ended, mut seen) = (now(&state), 0, 0, 0);
            let mut next = some.next();
            while next.is_some() || ended < arrived || card.sim().pending() > 0 {
                {
                    // Frames of other NICs come in between and count too.
                    let mut sim = card.sim();
                    arrived += sim.take_arrivals().len();
                    let fates = sim.trace().fates();
                    ended += fates[seen..].iter().filter(|fate| matches!(fate.step, Step::Ended(_))).count();
                    seen = fates.len();
                    if sim.pending() < 2 && arrived + sim.pending() < ended + INSIDE {
                        if let Some(bytes) = next.take() {
                            sim.inject(WireFrame { bytes, gap: 0, bad: false });
                            next = some.next();
                        }
                    }
                }
                match self.setting.others {
                    Others::Run => network.run(1),
                    // Nodes that stand still get nothing.
                    Others::Stand => {
                        let mut sim = card.sim();
                        sim.step();
                        sim.take_sent();
                    }
                }
                ensure!(
                    now(&state) < start + PATIENCE,
                    "{ended} of {arrived} frames came to their end within {PATIENCE} cycles"
                );
            }
        }
        card.sim().set_tracing(false);
        network.run(QUIET);
        Ok(())
    }

    /// Mean instructions of a handler's run, over all runs of the handlers that [`Host::install`] has given to these nodes; `None` if none
    /// has run.
    ///
    /// # Errors
    /// A NIC does not answer.
    pub fn instructions(&self, nodes: impl IntoIterator<Item = usize>) -> Result<Option<f64>> {
        let mut state = self.state.borrow_mut();
        let (mut runs, mut sum) = (0, 0);
        for node in nodes {
            let HostState { device, contexts, .. } = &mut state.hosts[node];
            for context in contexts.iter() {
                let counters = device.context_counters(*context)?;
                runs += u64::from(counters.tasks);
                sum += counters.instructions;
            }
        }
        Ok((runs > 0).then(|| sum as f64 / runs as f64))
    }

    /// Checks that no NIC has broken the protocol of the host's bus.
    ///
    /// # Errors
    /// The first breach.
    pub fn check_buses(&self) -> Result<()> {
        for (number, host) in self.state.borrow().hosts.iter().enumerate() {
            let mut sim = host.device.memory.card().sim();
            if let Some(breach) = sim.memory().violations.first() {
                bail!("NIC {number}: {breach}");
            }
        }
        Ok(())
    }

    /// How often [`Bench::expect`] has agreed.
    pub fn agreed(&self) -> u64 {
        self.state.borrow().agreed.get()
    }
}

fn now(state: &BenchState) -> u64 {
    state.hosts.iter().map(|host| host.device.memory.card().sim().cycle()).max().unwrap_or(0)
}

/// A put whose arguments stand in a doorbell page already: one posted register write starts it.
#[derive(Clone, Copy, Debug)]
pub struct Prepared {
    /// Address of its COMMAND register.
    command: u32,
}

impl Prepared {
    /// The put that [`Host::prepare`] has prepared on the page of this process.
    pub fn of(process: usize) -> Prepared {
        Prepared { command: doorbell::BASE + process as u32 * PAGE + doorbell::COMMAND }
    }
}

/// A window and the buffer that is posted there again for each round.
#[derive(Clone, Copy, Debug)]
pub struct Landing {
    /// The window.
    pub window: Window,
    /// Its buffer and record.
    pub posted: Posted,
}

impl Landing {
    /// A window of this address that is complete after so many bytes, with memory for them. Nothing is posted yet.
    ///
    /// # Errors
    /// The NIC refuses.
    pub fn new(host: &Host, address: u64, bytes: usize) -> Result<Landing> {
        let window = host.nic(|nic| nic.init_window(PROCESS, address, KEY, bytes as u32))?;
        let posted = Posted { buffer: host.alloc(bytes)?, size: bytes as u32, record: host.alloc(64)? };
        Ok(Landing { window, posted })
    }

    /// Posts the buffer, before programs run: no time of theirs passes.
    ///
    /// # Errors
    /// The NIC refuses.
    pub fn post(&self, host: &Host) -> Result<()> {
        host.nic(|nic| nic.post(self.window, self.posted))?;
        Ok(())
    }
}

/// A host: its processor's time, its memory, its NIC. Clones are the same host.
#[derive(Clone)]
pub struct Host {
    number: usize,
    state: Rc<RefCell<BenchState>>,
}

impl Host {
    /// Its number: that of its node.
    pub fn number(&self) -> usize {
        self.number
    }

    fn device(&self) -> RefMut<'_, Node> {
        RefMut::map(self.state.borrow_mut(), |state| &mut state.hosts[self.number].device)
    }

    /// The driver, for what is prepared before a measurement, and for what has no method here. While programs run, register writes
    /// are posted, and a read moves all NICs on until its answer has come. `Host` must not be used inside.
    pub fn nic<T>(&self, call: impl FnOnce(&mut Node) -> T) -> T {
        call(&mut self.device())
    }

    /// The present cycle.
    pub fn now(&self) -> u64 {
        now(&self.state.borrow())
    }

    /// The host's costs.
    pub fn cost(&self) -> HostCost {
        self.state.borrow().cost
    }

    /// Installs a handler for the messages or frames of a rule.
    ///
    /// # Errors
    /// The NIC has no room, or the rule is none.
    pub fn install(
        &self,
        image: &Image,
        rule: &str,
        options: &ContextOptions,
        action: fn(ContextId) -> Action,
    ) -> Result<ContextId> {
        let mut state = self.state.borrow_mut();
        let HostState { device, contexts, .. } = &mut state.hosts[self.number];
        let context = device.install(image, options)?;
        device.add_rule(&rule.parse::<Rule>()?, action(context))?;
        device.activate(context)?;
        contexts.push(context);
        Ok(context)
    }

    /// Sets a variable of a handler that is a 32-bit word.
    ///
    /// # Errors
    /// The image has no such variable, or the NIC refuses.
    pub fn set_word(&self, context: ContextId, handler: &Handler, name: &str, value: u32) -> Result<()> {
        self.set_words(context, handler, name, &[value])
    }

    /// Sets the first words of a variable.
    ///
    /// # Errors
    /// The image has no such variable, the variable is shorter, or the NIC refuses.
    pub fn set_words(&self, context: ContextId, handler: &Handler, name: &str, values: &[u32]) -> Result<()> {
        let variable = variable(&handler.elf, &handler.image, name)?;
        let bytes: Vec<u8> = values.iter().flat_map(|value| value.to_le_bytes()).collect();
        ensure!(bytes.len() <= variable.bytes, "`{name}` has {} bytes, {} are set", variable.bytes, bytes.len());
        Ok(self.device().write_state(context, variable.offset, &bytes)?)
    }

    /// Sets a variable of a handler that is a `spin_target_t`.
    ///
    /// # Errors
    /// As [`Host::set_words`].
    pub fn set_target(&self, context: ContextId, handler: &Handler, name: &str, to: &Target) -> Result<()> {
        let (low, high) = (to.address as u32, (to.address >> 32) as u32);
        let words = [to.node.into(), to.process.into(), low, high, to.key, to.offset];
        self.set_words(context, handler, name, &words)
    }

    /// Spindle packets that no handler takes go to windows from now on, and the receiver is on. Call it after all rules are there.
    ///
    /// # Errors
    /// The NIC has no rule left.
    pub fn listen(&self) -> Result<()> {
        let mut device = self.device();
        device.add_rule(&"spindle".parse::<Rule>()?, Action::Mailbox)?;
        Ok(device.set_receive(true)?)
    }

    /// Zeroed memory.
    ///
    /// # Errors
    /// There is no such memory.
    pub fn alloc(&self, bytes: usize) -> Result<u64> {
        Ok(self.device().memory.alloc(bytes.max(1), 64)?)
    }

    /// Writes memory; takes no time: see [`Host::work`].
    ///
    /// # Errors
    /// The address is none.
    pub fn write(&self, address: u64, bytes: &[u8]) -> Result<()> {
        Ok(self.device().memory.write(address, bytes)?)
    }

    /// Reads memory; takes no time.
    ///
    /// # Errors
    /// The address is none.
    pub fn read(&self, address: u64, bytes: usize) -> Result<Vec<u8>> {
        let mut got = vec![0; bytes];
        self.device().memory.read(address, &mut got)?;
        Ok(got)
    }

    /// Opens a window that completes after `threshold` bytes, and posts a buffer.
    ///
    /// # Errors
    /// The NIC refuses.
    pub fn window(&self, address: u64, bytes: usize) -> Result<(Window, Posted)> {
        let mut device = self.device();
        let window = device.init_window(PROCESS, address, KEY, bytes as u32)?;
        let posted = device.post_buffer(window, bytes as u32)?;
        Ok((window, posted))
    }

    /// Opens a window of this memory that takes any number of messages and never completes, for programs that poll the memory and for
    /// handlers that write to it.
    ///
    /// # Errors
    /// The NIC refuses.
    pub fn endless_window(&self, address: u64, buffer: u64, bytes: usize) -> Result<Window> {
        // More operations than are ever done.
        let (threshold, counting) = (u32::MAX, Counting::Operations);
        let options = WindowOptions { address, key: KEY, threshold, counting, ..WindowOptions::default() };
        let posted = Posted { buffer, size: bytes as u32, record: self.alloc(64)? };
        let mut device = self.device();
        let window = device.open_window(PROCESS, &options)?;
        device.post(window, posted)?;
        Ok(window)
    }

    /// Prepares a put on the doorbell page of a process, before the clock runs.
    ///
    /// # Errors
    /// The NIC does not answer.
    pub fn prepare(&self, process: usize, from: u64, bytes: usize, target: &Target) -> Result<Prepared> {
        let page = doorbell::BASE + process as u32 * PAGE;
        let mut device = self.device();
        for (register, value) in [
            (doorbell::BUFFER_LO, from as u32),
            (doorbell::BUFFER_HI, (from >> 32) as u32),
            (doorbell::LENGTH, bytes as u32),
            (doorbell::NODE, target.node.into()),
            (doorbell::TARGET_PID, target.process.into()),
            (doorbell::ADDR_LO, target.address as u32),
            (doorbell::ADDR_HI, (target.address >> 32) as u32),
            (doorbell::KEY, target.key),
            (doorbell::OFFSET, target.offset),
            (doorbell::MODE, 0),
        ] {
            device.bar.write32(page + register, value)?;
        }
        Ok(Prepared::of(process))
    }

    /// Starts a prepared put: the overhead of a message, then one register write that the program does not wait for.
    ///
    /// # Errors
    /// The NIC refused an earlier write.
    pub async fn fire(&self, put: &Prepared) -> Result<()> {
        self.overhead().await;
        Ok(self.device().bar.write32(put.command, doorbell_command::PUT)?)
    }

    /// Puts bytes of memory: the overhead of a message, a command in the ring, one register write that the program does not wait for.
    ///
    /// # Errors
    /// The command ring is full.
    pub async fn put(&self, from: u64, bytes: usize, target: &Target) -> Result<()> {
        self.overhead().await;
        self.put_now(&[(from, bytes, *target)])
    }

    /// Puts several ranges with one register write; the overhead is that of each.
    ///
    /// # Errors
    /// The command ring is full.
    pub async fn put_all(&self, puts: &[(u64, usize, Target)]) -> Result<()> {
        self.busy(self.cost().overhead * puts.len() as u64).await;
        self.put_now(puts)
    }

    /// As [`Host::put_all`]; the events of the puts have these numbers.
    ///
    /// # Errors
    /// The command ring is full.
    pub async fn put_numbered(&self, puts: &[(u64, usize, Target, u16)]) -> Result<()> {
        self.busy(self.cost().overhead * puts.len() as u64).await;
        self.add_puts(puts.iter().copied())
    }

    /// Gets several ranges of other nodes' windows, each with its own reply to a window of this one, with one register write; the
    /// overhead is that of each: bytes, source, address of the window here.
    ///
    /// # Errors
    /// The command ring is full.
    pub async fn get_all(&self, gets: &[(usize, Target, u64)]) -> Result<()> {
        self.busy(self.cost().overhead * gets.len() as u64).await;
        let mut state = self.state.borrow_mut();
        let HostState { device, ring, .. } = &mut state.hosts[self.number];
        for (bytes, from, address) in gets {
            let reply = Reply { address: *address, key: KEY, offset: 0 };
            ensure!(device.add_get(ring, *bytes as u32, from, &reply, true, 0)?, "the command ring is full");
        }
        Ok(device.write_commands(ring)?)
    }

    fn put_now(&self, puts: &[(u64, usize, Target)]) -> Result<()> {
        self.add_puts(puts.iter().map(|(from, bytes, target)| (*from, *bytes, *target, 0)))
    }

    fn add_puts(&self, puts: impl Iterator<Item = (u64, usize, Target, u16)>) -> Result<()> {
        let mut state = self.state.borrow_mut();
        let HostState { device, ring, .. } = &mut state.hosts[self.number];
        for (from, bytes, target, number) in puts {
            ensure!(device.add_put(ring, from, bytes as u32, &target, number)?, "the command ring is full");
        }
        Ok(device.write_commands(ring)?)
    }

    /// Posts a buffer again, through the command ring; its record is zeroed. Takes the overhead of a message.
    ///
    /// # Errors
    /// The command ring is full.
    pub async fn post(&self, window: Window, posted: Posted) -> Result<()> {
        self.overhead().await;
        let mut state = self.state.borrow_mut();
        let HostState { device, ring, .. } = &mut state.hosts[self.number];
        ensure!(device.post_many(ring, window, &[posted])? == 1, "the command ring is full");
        Ok(())
    }

    /// Starts a task of a context: the overhead of a message, and register writes that the program does not wait for. It does not learn
    /// whether the NIC took the task, so the next one must not be started before this one runs.
    ///
    /// # Errors
    /// The NIC refused an earlier write.
    pub async fn start_task(&self, context: ContextId, argument: u64) -> Result<()> {
        self.overhead().await;
        let mut device = self.device();
        for (register, value) in [
            (packet::TASK_ARGUMENT, argument as u32),
            (packet::TASK_ARGUMENT + 4, (argument >> 32) as u32),
            (packet::TASK_DELAY, 0),
            (packet::TASK_START, context.0 as u32),
        ] {
            device.bar.write32(packet::BASE + register, value)?;
        }
        Ok(())
    }

    /// Waits until the record of a buffer can be seen; the overhead of a message follows.
    ///
    /// # Errors
    /// The buffer ended otherwise than by its threshold.
    pub async fn record(&self, posted: &Posted) -> Result<Completed> {
        let completed = self.until(|device| Ok(device.poll(posted)?)).await?;
        ensure!(completed.status == status::DONE, "a buffer ended as {completed:?}");
        self.overhead().await;
        Ok(completed)
    }

    /// Waits until these bytes of memory are there, as a program that polls memory does; the overhead of a message follows.
    ///
    /// # Errors
    /// The address is none.
    pub async fn bytes(&self, address: u64, wanted: &[u8]) -> Result<()> {
        let mut got = vec![0; wanted.len()];
        self.until(|device| {
            device.memory.read(address, &mut got)?;
            Ok((got == wanted).then_some(()))
        })
        .await?;
        self.overhead().await;
        Ok(())
    }

    /// Polls every cycle until there is a result.
    ///
    /// # Errors
    /// That of the poll.
    pub async fn until<T>(&self, mut poll: impl FnMut(&mut Node) -> Result<Option<T>>) -> Result<T> {
        poll_fn(move |_| match poll(&mut self.device()) {
            Ok(None) => Poll::Pending,
            Ok(Some(value)) => Poll::Ready(Ok(value)),
            Err(error) => Poll::Ready(Err(error)),
        })
        .await
    }

    /// Lets so many cycles pass in which the processor does something else.
    pub async fn busy(&self, cycles: u64) {
        let end = self.now() + cycles;
        poll_fn(move |_| if self.now() >= end { Poll::Ready(()) } else { Poll::Pending }).await;
    }

    /// The processor time of a message.
    pub async fn overhead(&self) {
        self.busy(self.cost().overhead).await;
    }

    /// The processor time of the check of a capability's tag.
    pub async fn check(&self) {
        self.busy(self.cost().check).await;
    }

    /// The processor time of work on so many bytes; the bytes themselves are the caller's.
    pub async fn work(&self, work: Work, bytes: usize) {
        self.busy(self.cost().work(work, bytes)).await;
    }

    /// The processor time of a strided copy.
    pub async fn blocks(&self, blocks: usize, bytes: usize) {
        self.busy(self.cost().blocks(blocks, bytes)).await;
    }
}

/// The word of host memory at a place.
pub fn word(bytes: &[u8], at: usize) -> u32 {
    u32::from_le_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]])
}

/// A window of another node.
pub fn window_of(node: usize, address: u64, offset: usize) -> Target {
    let kind = spindle::Kind::Bound;
    Target { node: node as u8, process: PROCESS as u16, address, key: KEY, offset: offset as u32, kind }
}
