//! The engine: the shim of `shim/*.cc` on ns-3, compiled once and kept with the models, and the network of this process in it.

use crate::abi::{self, RawCounts, RawEndpoint, RawLink, RawNetwork, RawNode, Shim, COUNTS};
use crate::endpoint::{Endpoint, Held, Report};
use crate::topology::Topology;
use anyhow::{anyhow, bail, ensure, Context, Result};
use spindle_contract::params::BEAT_BYTES;
use spindle_harness::native;
use std::ffi::CStr;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;

/// Femtoseconds of a nanosecond.
pub const NANOSECOND: i64 = 1_000_000;

/// Time between two looks whether the network has a reason to begin.
const LOOK: Duration = Duration::from_millis(5);

/// The shim. The headers are no units of their own.
const SHIM: [(&str, &str); 7] = [
    ("abi.h", include_str!("../shim/abi.h")),
    ("network.h", include_str!("../shim/network.h")),
    ("loss.cc", include_str!("../shim/loss.cc")),
    ("link.cc", include_str!("../shim/link.cc")),
    ("switch.cc", include_str!("../shim/switch.cc")),
    ("nic.cc", include_str!("../shim/nic.cc")),
    ("engine.cc", include_str!("../shim/engine.cc")),
];

/// Flags of the compiler. The headers of ns-3 3.37 are C++17; MPI's own C++ is not used.
const FLAGS: [&str; 9] =
    ["-std=c++17", "-O2", "-fPIC", "-Wall", "-Wextra", "-shared", "-DNS3_MPI", "-DOMPI_SKIP_MPICXX", "-Wl,-Bsymbolic"];
/// Libraries of ns-3, by name: its pkg-config files name folders that Debian has not.
const LIBRARIES: [&str; 3] = ["-lns3-point-to-point", "-lns3-network", "-lns3-core"];

/// What is missing for networks, as a sentence that says what to install; none if all is there. Quick: nothing is compiled.
pub fn missing() -> Option<String> {
    let absent = |program: &str| {
        let path = std::env::var_os("PATH").unwrap_or_default();
        !std::env::split_paths(&path).any(|folder| folder.join(program).is_file())
    };
    let lacking = match module() {
        Err(error) => format!("{error:#}"),
        Ok(_) if absent("mpicxx") || absent("mpirun") => "Open MPI is not installed".into(),
        Ok(_) => return None,
    };
    Some(format!("{lacking}; `cargo xtask setup` installs ns-3 and Open MPI and compiles the MPI module of ns-3"))
}

/// The folder of ns-3's MPI module, which `cargo xtask setup` has compiled, and the version of ns-3.
fn module() -> Result<(PathBuf, String)> {
    let dpkg = Command::new("dpkg-query").args(["-W", "-f", "${source:Version}", "libns3-dev"]).output();
    let version = dpkg.ok().filter(|output| output.status.success());
    let version = version.map(|output| String::from_utf8_lossy(&output.stdout).trim().to_string());
    let version = version.filter(|version| !version.is_empty()).context("ns-3 is not installed")?;
    let folder = native::cache_folder()?.join(format!("ns3-mpi-{version}"));
    ensure!(folder.join("include/ns3").is_dir(), "the MPI module of ns-3 {version} is not compiled");
    Ok((folder, version))
}

/// Compiles the shim, if the cache has it not, and opens it.
fn load() -> Result<Shim> {
    if let Some(sentence) = missing() {
        bail!("{sentence}");
    }
    let (module, version) = module()?;
    let mpi = output(Command::new("mpicxx").arg("--showme:version"))?;
    let compiler = output(Command::new("mpicxx").arg("--version"))?;
    let mut inputs: Vec<&str> = SHIM.iter().flat_map(|(name, text)| [*name, *text]).collect();
    inputs.extend(FLAGS.iter().chain(&LIBRARIES));
    inputs.extend([version.as_str(), mpi.trim(), compiler.lines().next().unwrap_or_default()]);
    let library = native::shared_object("spindle-network", &inputs, |work| build(work, &module))?;
    macro_rules! symbol {
        ($name:literal) => {{
            // SAFETY: the shim exports the function with the signature of the field: `abi.rs` and `shim/abi.h` are one contract.
            *unsafe { library.get(concat!("spindle_network_", $name, "\0").as_bytes()) }
                .with_context(|| concat!("the shim lacks spindle_network_", $name))?
        }};
    }
    let shim = Shim {
        layout: symbol!("layout"),
        error: symbol!("error"),
        join: symbol!("join"),
        create: symbol!("create"),
        run: symbol!("run"),
        counts: symbol!("counts"),
        lookahead: symbol!("lookahead"),
        sum: symbol!("sum"),
        max: symbol!("max"),
        destroy: symbol!("destroy"),
        leave: symbol!("leave"),
        abort: symbol!("abort"),
    };
    let mut sizes = [0; 6];
    // SAFETY: the function fills six numbers.
    unsafe { (shim.layout)(sizes.as_mut_ptr()) };
    ensure!(
        sizes == abi::sizes(),
        "shim/abi.h has structures of {sizes:?} bytes, and src/abi.rs of {:?}",
        abi::sizes()
    );
    Ok(shim)
}

/// Compiles the shim as one unit, since ns-3's headers take longest.
fn build(work: &Path, module: &Path) -> Result<PathBuf> {
    let mut unit = String::new();
    for (name, text) in SHIM {
        std::fs::write(work.join(name), text).with_context(|| format!("cannot write {name} to the cache"))?;
        if name.ends_with(".cc") {
            unit.push_str(&format!("#include \"{name}\"\n"));
        }
    }
    let (source, built) = (work.join("shim.cc"), work.join("shim.so"));
    std::fs::write(&source, unit)?;
    let mut objects: Vec<PathBuf> = std::fs::read_dir(module)?.flatten().map(|entry| entry.path()).collect();
    objects.retain(|path| path.extension().is_some_and(|end| end == "o"));
    objects.sort();
    let mut compiler = Command::new("mpicxx");
    compiler.args(FLAGS).arg("-I").arg(module.join("include")).arg(&source).args(objects).args(LIBRARIES);
    output(compiler.arg("-o").arg(&built)).context("the engine of networks cannot be compiled")?;
    Ok(built)
}

fn output(command: &mut Command) -> Result<String> {
    let program = command.get_program().to_string_lossy().into_owned();
    let output = command.output().with_context(|| format!("cannot run {program}; run `cargo xtask setup`"))?;
    let errors = String::from_utf8_lossy(&output.stderr);
    ensure!(output.status.success(), "{program} failed ({}):\n{}", output.status, errors.trim_end());
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

/// The shim of this process, and the ranks that it has joined.
#[derive(Clone, Copy)]
pub struct Ranks {
    shim: Shim,
    /// Number of this one.
    pub rank: u32,
    /// All of them.
    pub ranks: u32,
}

impl Ranks {
    /// Joins the ranks that `mpirun` has started: one, if this process was started without it.
    ///
    /// # Errors
    /// ns-3 or Open MPI is missing, or refuses.
    pub fn join() -> Result<Ranks> {
        static JOINED: OnceLock<Result<Ranks, String>> = OnceLock::new();
        let join = || {
            let shim = load()?;
            let (mut rank, mut ranks) = (0, 1);
            // SAFETY: both are variables of this function.
            check(&shim, unsafe { (shim.join)(&mut rank, &mut ranks) })?;
            Ok(Ranks { shim, rank, ranks })
        };
        let joined = JOINED.get_or_init(|| join().map_err(|error: anyhow::Error| format!("{error:#}")));
        joined.clone().map_err(|sentence| anyhow!("{sentence}"))
    }

    /// Sums over all ranks, each of which calls this with as many values.
    ///
    /// # Errors
    /// MPI refuses.
    pub fn sum(&self, values: &mut [u64]) -> Result<()> {
        // SAFETY: so many values lie there.
        check(&self.shim, unsafe { (self.shim.sum)(values.as_mut_ptr(), values.len() as u32) })
    }

    /// Likewise the greatest.
    ///
    /// # Errors
    /// MPI refuses.
    pub fn max(&self, values: &mut [u64]) -> Result<()> {
        // SAFETY: so many values lie there.
        check(&self.shim, unsafe { (self.shim.max)(values.as_mut_ptr(), values.len() as u32) })
    }

    /// Ends MPI; nothing of it may be called after this.
    pub fn leave(self) {
        // SAFETY: no value of the shim is in use.
        unsafe { (self.shim.leave)() }
    }

    /// Ends all ranks; returns if this is the only one.
    pub fn abort(self) {
        // SAFETY: the call has no preconditions.
        unsafe { (self.shim.abort)(1) }
    }
}

/// The error of a call of the shim.
fn check(shim: &Shim, result: i32) -> Result<()> {
    if result >= 0 {
        return Ok(());
    }
    // SAFETY: the shim's text lives until its next call.
    let text = unsafe { CStr::from_ptr((shim.error)()) };
    Err(anyhow!("{}", text.to_string_lossy()))
}

/// How switches choose among shortest paths.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Deserialize, serde::Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Routing {
    /// One path to a destination.
    #[default]
    Static,
    /// One path for the frames of a flow.
    Ecmp,
    /// The output that is free first, for each frame.
    Adaptive,
}

/// What cables and switches do.
#[derive(Clone, Copy, Debug)]
pub struct Physics {
    /// Choice of paths.
    pub routing: Routing,
    /// Flight time of a cable between a node and its switch, in femtoseconds.
    pub cable: i64,
    /// Of a cable between switches.
    pub trunk: i64,
    /// Of a longer cable between groups of a dragonfly.
    pub long: i64,
    /// From a frame's head at the input of a switch to its head at the output, in femtoseconds.
    pub latency: i64,
    /// Time of a byte on a cable, in femtoseconds.
    pub byte: i64,
    /// Bytes that an output of a switch holds.
    pub queue: u64,
    /// Bytes in an output from which on frames are marked.
    pub mark: u64,
    /// Bytes between two frames on a cable.
    pub overhead: u32,
    /// Switches store a frame before they pass it on.
    pub store: bool,
    /// Share of the frames that each cable loses, 0 to 1.
    pub loss: f64,
    /// Share of the frames of which each cable changes a byte.
    pub corruption: f64,
    /// Seed of losses, corruption and paths.
    pub seed: u64,
    /// Clock period of the NICs, in femtoseconds.
    pub cycle: i64,
    /// Cycles that a NIC simulates at once: at most its cable.
    pub window: u64,
}

impl Default for Physics {
    /// 128 Gb/s, cables of 88 ns to nodes and 40 ns between switches, switches of 100 ns with 128 KiB in each output, 250 MHz.
    fn default() -> Self {
        Physics {
            routing: Routing::Static,
            cable: 88 * NANOSECOND,
            trunk: 40 * NANOSECOND,
            long: 40 * NANOSECOND,
            latency: 100 * NANOSECOND,
            byte: 62_500,
            queue: 128 << 10,
            mark: u64::MAX,
            overhead: 0,
            store: false,
            loss: 0.0,
            corruption: 0.0,
            seed: 1,
            cycle: 4 * NANOSECOND,
            window: 22,
        }
    }
}

/// What became of the frames of a network.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Counts {
    /// Sent by nodes.
    pub sent: u64,
    /// Handed to nodes.
    pub delivered: u64,
    /// Dropped since an output was full.
    pub dropped: u64,
    /// Lost by cables.
    pub lost: u64,
    /// To no node of the network.
    pub astray: u64,
    /// With a byte changed by a cable, each time.
    pub corrupted: u64,
    /// Marked by a switch, each time.
    pub marked: u64,
    /// In outputs and on cables.
    pub queued: u64,
    /// Frames through switches.
    pub hops: u64,
    /// Windows that nodes have simulated.
    pub windows: u64,
    /// Most bytes in an output.
    pub deepest: u64,
}

impl Counts {
    /// Whether every frame that was sent is somewhere.
    pub fn balance(&self) -> bool {
        self.sent == self.delivered + self.dropped + self.lost + self.astray + self.queued
    }
}

/// The network of this process: the nodes and switches of its rank.
pub struct Network {
    ranks: Ranks,
    held: Vec<Option<Box<Held>>>,
    physics: Physics,
    /// ns-3 has one simulation in a process.
    _only: MutexGuard<'static, ()>,
}

impl Network {
    /// Makes the nodes and switches of this rank; `endpoint` gives the endpoints of its nodes. Waits until no other network of this
    /// process is left.
    ///
    /// # Errors
    /// A window is longer than its cable; there are more ranks than switches; an endpoint cannot be made.
    pub fn new(
        ranks: Ranks,
        topology: &Topology,
        physics: Physics,
        mut endpoint: impl FnMut(u32) -> Result<Box<dyn Endpoint>>,
    ) -> Result<Network> {
        static ONLY: Mutex<()> = Mutex::new(());
        let only = ONLY.lock().unwrap_or_else(PoisonError::into_inner);
        for (what, share) in [("loss", physics.loss), ("corruption", physics.corruption)] {
            ensure!((0.0..=1.0).contains(&share), "a {what} of {share}; choose 0 to 1");
        }
        let partition = topology.partition(ranks.ranks)?;
        let place = |node: usize| partition.get(topology.nodes[node] as usize).copied().unwrap_or(0);
        let mut held = Vec::new();
        let mut nodes = Vec::new();
        for (node, at) in topology.nodes.iter().enumerate() {
            let rank = if topology.switches == 0 { 0 } else { place(node) };
            let mut one = None;
            if rank == ranks.rank {
                one = Some(Held::new(node as u32, endpoint(node as u32)?));
            }
            let raw = one.as_mut().map_or(RawEndpoint::default(), |held| held.raw());
            held.push(one);
            let Physics { cable: delay, byte, cycle, window, .. } = physics;
            nodes.push(RawNode { at: *at, rank, delay, byte, cycle, window, endpoint: raw });
        }
        let raw_link = |link: &crate::topology::Link| {
            let delay = if link.long { physics.long } else { physics.trunk };
            RawLink { a: link.a, b: link.b, delay, byte: physics.byte }
        };
        let links: Vec<RawLink> = topology.links.iter().map(raw_link).collect();
        let routes = topology.routes();
        // 2^64 times the share; all frames is the greatest number.
        let share = |share: f64| (share * 2f64.powi(64)) as u64;
        let raw = RawNetwork {
            ranks: partition.as_ptr(),
            links: links.as_ptr(),
            nodes: nodes.as_ptr(),
            route_start: routes.start.as_ptr(),
            route_ports: routes.ports.as_ptr(),
            switch_count: topology.switches,
            link_count: links.len() as u32,
            node_count: nodes.len() as u32,
            routing: physics.routing as u32,
            latency: physics.latency,
            queue: physics.queue,
            mark: physics.mark,
            overhead: physics.overhead,
            beat: BEAT_BYTES as u32,
            store: physics.store.into(),
            spare: 0,
            seed: physics.seed,
            loss: share(physics.loss),
            corruption: share(physics.corruption),
        };
        // Made before the call, so that a network that is made in part is removed.
        let network = Network { ranks, held, physics, _only: only };
        // SAFETY: the tables live until the call returns, and the endpoints as long as `network`, which removes the shim's network first.
        check(&ranks.shim, unsafe { (ranks.shim.create)(&raw) })?;
        Ok(network)
    }

    /// Waits until a node of any rank has a reason to begin; then all begin.
    ///
    /// # Errors
    /// MPI refuses.
    pub fn begin(&mut self) -> Result<()> {
        loop {
            let mut ready = [self.held.iter().flatten().filter(|held| held.endpoint.ready()).count() as u64];
            self.ranks.sum(&mut ready)?;
            if ready != [0] {
                break;
            }
            std::thread::sleep(LOOK);
        }
        self.held.iter_mut().flatten().for_each(|held| held.endpoint.begin());
        Ok(())
    }

    /// Ends all nodes of this rank: what was recorded is written. Nothing is simulated after this.
    ///
    /// # Errors
    /// A file cannot be written.
    pub fn finish(&mut self) -> Result<()> {
        let mut nodes = self.held.iter_mut().enumerate();
        nodes.try_for_each(|(node, held)| match held {
            Some(held) => held.endpoint.finish().with_context(|| format!("node {node}")),
            None => Ok(()),
        })
    }

    /// Simulates up to this cycle of the nodes' clock.
    ///
    /// # Errors
    /// A node has failed, or a frame lies in the past.
    pub fn run(&mut self, cycle: u64) -> Result<()> {
        // Two steps of time before the cycle, one before the windows that end there.
        let until = cycle as i64 * self.physics.cycle - 2;
        // SAFETY: `Network::new` has made the network.
        let result = unsafe { (self.ranks.shim.run)(until) };
        if result >= 0 {
            return Ok(());
        }
        // The error of an endpoint is more than the shim's word for it.
        let of_endpoint = self.held.iter_mut().flatten().find_map(|held| held.error.take());
        of_endpoint.map_or_else(|| check(&self.ranks.shim, result), Err)
    }

    /// What became of the frames on all ranks so far.
    ///
    /// # Errors
    /// MPI refuses.
    pub fn counts(&self) -> Result<Counts> {
        let mut raw = RawCounts::default();
        // SAFETY: the network was made, and `raw` is a variable of this function.
        check(&self.ranks.shim, unsafe { (self.ranks.shim.counts)(&mut raw) })?;
        let mut deepest = [raw.values[COUNTS - 1]];
        self.ranks.sum(&mut raw.values)?;
        self.ranks.max(&mut deepest)?;
        let [sent, delivered, dropped, lost, astray, corrupted, marked, queued, hops, windows, _] = raw.values;
        let [deepest] = deepest;
        Ok(Counts { sent, delivered, dropped, lost, astray, corrupted, marked, queued, hops, windows, deepest })
    }

    /// Femtoseconds by which ranks may differ; 0 if no cable joins this rank to another.
    pub fn lookahead(&self) -> i64 {
        // SAFETY: the network was made.
        unsafe { (self.ranks.shim.lookahead)() }
    }

    /// The reports of all nodes of all ranks.
    ///
    /// # Errors
    /// MPI refuses.
    pub fn reports(&self) -> Result<Vec<Report>> {
        let row = |held: &Option<Box<Held>>| {
            let report = held.as_ref().map(|held| held.endpoint.report()).unwrap_or_default();
            let done = report.done.map_or(0, |cycle| cycle + 1);
            let Report { digest, received, bytes, marked, values: [a, b, c, d], .. } = report;
            [done, digest, received, bytes, marked, a, b, c, d]
        };
        let mut values: Vec<u64> = self.held.iter().flat_map(row).collect();
        self.ranks.sum(&mut values)?;
        let report = |row: &[u64; 9]| {
            let [done, digest, received, bytes, marked, values @ ..] = *row;
            Report { done: done.checked_sub(1), digest, received, bytes, marked, values }
        };
        Ok(values.as_chunks().0.iter().map(report).collect())
    }

    /// Whether the programs of all nodes have ended.
    ///
    /// # Errors
    /// MPI refuses.
    pub fn done(&self) -> Result<bool> {
        let running = self.held.iter().flatten().filter(|held| held.endpoint.report().done.is_none()).count();
        let mut sum = [running as u64];
        self.ranks.sum(&mut sum)?;
        Ok(sum == [0])
    }

    /// Seconds that nodes of all ranks have taken for their windows.
    ///
    /// # Errors
    /// MPI refuses.
    pub fn busy(&self) -> Result<f64> {
        let nanoseconds = self.held.iter().flatten().map(|held| held.busy.as_nanos() as u64).sum();
        let mut sum = [nanoseconds];
        self.ranks.sum(&mut sum)?;
        Ok(sum[0] as f64 / 1e9)
    }

    /// The ranks.
    pub fn ranks(&self) -> Ranks {
        self.ranks
    }
}

impl Drop for Network {
    fn drop(&mut self) {
        // SAFETY: after this the shim calls no endpoint.
        unsafe { (self.ranks.shim.destroy)() }
    }
}
