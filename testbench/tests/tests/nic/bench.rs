//! A NIC on the bench: handlers compiled and installed, frames played until all is quiet, and the state in which it must be
//! left.

use rand::Rng;
use rand_chacha::ChaCha8Rng;
use spindle::rule_table::Action;
use spindle::stats::Stats;
use spindle::{ContextId, ContextOptions, Device, Icrc, Image, Rule};
use spindle_contract::params::{Config, SPINDLE_PORT};
use spindle_contract::reasons::{DROP_COUNT, DROP_REASONS, T_EGRESS_FIRST, T_FIRST_BEAT};
use spindle_contract::wire::NODE_TABLE_ENTRIES;
use spindle_harness::Source;
use spindle_model::frames::Ends;
use spindle_sdk::Sources;
use spindle_sim::{
    address, End, Event, FateEvent, Network, NetworkNode, Options, SentFrame, SimDevice, SimHandle, Step, WireFrame,
    WireOptions,
};
use spindle_verilog::Design;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::OnceLock;

/// The configuration under test.
pub const CONFIG: Config = Config::SIM;
/// Bound of each wait.
const LIMIT: u64 = 400_000;
/// Cycles between two looks at the counters. A look itself takes some 2,000, a read of each counter.
const LOOK: u64 = 256;
/// Looks in a row that must find nothing to do.
const QUIET_LOOKS: u32 = 4;

/// Elaborates a NIC.
pub fn emit(config: Config) -> Design {
    spindle_nic::emit(&config).unwrap_or_else(|error| panic!("{error}"))
}

/// The text of a NIC.
fn source(config: Config) -> Source {
    spindle_sim::source(&config).unwrap_or_else(|error| panic!("{error:#}"))
}

/// The text of the NIC under test, elaborated once.
fn usual_source() -> &'static Source {
    static SOURCE: OnceLock<Source> = OnceLock::new();
    SOURCE.get_or_init(|| source(CONFIG))
}

/// Where the SDK is.
fn sdk() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../handlers")
}

/// A file of this process' own.
fn temporary(ending: &str) -> PathBuf {
    static COUNT: AtomicU32 = AtomicU32::new(0);
    let number = COUNT.fetch_add(1, Ordering::Relaxed);
    Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("nic-{}-{number}.{ending}", std::process::id()))
}

/// Compiles a handler.
fn image(source: &Path) -> Image {
    spindle_sdk::load(&Sources::one(source)).unwrap_or_else(|error| panic!("{error:#}")).image
}

/// An example handler, compiled.
pub fn example(name: &str) -> Image {
    image(&sdk().join(format!("examples/{name}.c")))
}

/// A handler of this C source, compiled.
pub fn compiled(text: &str) -> Image {
    let source = temporary("c");
    std::fs::write(&source, text).expect("the target folder can be written");
    let image = image(&source);
    let _ = std::fs::remove_file(&source);
    image
}

/// NICs after reset, joined by a wire.
fn network(config: &Config, source: &Source, nodes: usize, wire: WireOptions) -> Network {
    let card = |seed| SimDevice::new(source, config, Options { seed, ..Options::default() }).unwrap();
    Network::new((0..nodes as u64).map(card).collect(), wire)
}

/// The driver of a NIC on a wire.
pub type Node = Device<NetworkNode, NetworkNode>;

/// Opens NICs on a wire, each with all of them in its node table.
pub fn nodes(count: usize, wire: WireOptions) -> Vec<Node> {
    opened(network(&CONFIG, usual_source(), count, wire), count)
}

/// The same with NICs of another configuration.
pub fn nodes_of(config: Config, count: usize, wire: WireOptions) -> Vec<Node> {
    opened(network(&config, &source(config), count, wire), count)
}

fn opened(network: Network, count: usize) -> Vec<Node> {
    let open = |number: usize| {
        let node = network.node(number);
        let mut device = Device::open(node.clone(), node).unwrap();
        let own = address(number);
        device.set_identity(number as u32, own.mac, own.ip).unwrap();
        (0..count).for_each(|other| device.set_node(other, Some(address(other))).unwrap());
        device
    };
    (0..count).map(open).collect()
}

/// A handler that is installed.
pub struct Installed {
    pub context: ContextId,
    pub image: Image,
}

/// The NIC.
pub struct Nic {
    config: Config,
    pub card: SimHandle,
    pub device: Device<SimHandle, SimHandle>,
}

/// What became of the frames that were played.
pub struct Played {
    /// Frames that were sent, each with the index of the frame that caused it.
    pub sent: Vec<(usize, SentFrame)>,
    /// Number that the NIC gave to each frame.
    pub numbers: Vec<u16>,
    /// Everything that the trace showed.
    pub events: Vec<Event>,
    /// What the fate ports reported.
    pub fates: Vec<FateEvent>,
    /// Frames dropped meanwhile, by reason.
    pub drops: [u32; DROP_COUNT],
    /// Counters at the end.
    pub stats: Stats,
}

impl Nic {
    /// After reset.
    pub fn new(options: Options) -> Nic {
        Nic::open(CONFIG, usual_source(), options)
    }

    /// A NIC of another configuration after reset.
    pub fn of(config: Config, options: Options) -> Nic {
        Nic::open(config, &source(config), options)
    }

    fn open(config: Config, source: &Source, options: Options) -> Nic {
        let card = SimHandle::new(SimDevice::new(source, &config, options).unwrap());
        let device = Device::open(card.clone(), card.clone()).unwrap();
        Nic { config, card, device }
    }

    /// Enters a node into the node table, with the address from which frames of the tests come.
    pub fn knows(&mut self, node: u32) {
        self.enter(node, Icrc::default());
    }

    /// The same, and packets of the node need an ICRC.
    pub fn requires_icrc(&mut self, node: u32) {
        self.enter(node, Icrc { sends: false, requires: true });
    }

    fn enter(&mut self, node: u32, icrc: Icrc) {
        let Ends { src_mac: mac, src_ip: ip, .. } = Ends::default();
        let entry = spindle::Node { mac, ip, port: SPINDLE_PORT };
        self.device.set_checked_node((node % NODE_TABLE_ENTRIES as u32) as usize, entry, icrc).unwrap();
    }

    /// Installs an example handler without activating it.
    pub fn install(&mut self, name: &str, options: ContextOptions) -> Installed {
        self.install_image(example(name), options)
    }

    /// Installs a handler of this C source without activating it.
    pub fn install_source(&mut self, text: &str, options: ContextOptions) -> Installed {
        self.install_image(compiled(text), options)
    }

    fn install_image(&mut self, image: Image, options: ContextOptions) -> Installed {
        Installed { context: self.device.install(&image, &options).unwrap(), image }
    }

    /// Adds a rule after the others.
    pub fn rule(&mut self, text: &str, action: Action) -> Rule {
        let rule: Rule = text.parse().unwrap();
        self.device.add_rule(&rule, action).unwrap();
        rule
    }

    /// Installs an example handler for the frames of a rule, and activates it.
    pub fn handler(&mut self, name: &str, rule: &str, options: ContextOptions) -> Installed {
        let installed = self.install(name, options);
        self.rule(rule, Action::Context(installed.context));
        self.device.activate(installed.context).unwrap();
        installed
    }

    /// Plays frames with their gaps, until nothing moves any more.
    pub fn play(&mut self, frames: impl IntoIterator<Item = WireFrame>) -> Played {
        let before = self.device.stats().unwrap();
        let mut count = 0;
        {
            let mut sim = self.card.sim();
            sim.trace().clear();
            assert_eq!(sim.sent_count(), 0, "frames of the last play came late");
            for frame in frames {
                sim.inject(frame);
                count += 1;
            }
            while sim.pending() > 0 {
                sim.step();
            }
        }
        let deadline = self.card.sim().cycle() + LIMIT;
        let mut last = (Stats::default(), 0);
        let mut quiet = 0;
        while quiet < QUIET_LOOKS {
            self.card.sim().run(LOOK);
            let now = (self.device.stats().unwrap(), self.card.sim().sent_count());
            quiet = if now == last && now.0.inside() == 0 { quiet + 1 } else { 0 };
            assert!(self.card.sim().cycle() < deadline, "not quiet after {LIMIT} cycles: {now:?}");
            last = now;
        }
        let stats = last.0;
        let mut sim = self.card.sim();
        let events = sim.trace().events().to_vec();
        let fates = sim.trace().fates().to_vec();
        let numbers: Vec<u16> = events.iter().filter(|e| e.point == T_FIRST_BEAT).map(|e| e.frame).collect();
        assert_eq!(numbers.len(), count, "every frame gets a number");
        let causes = events.iter().filter(|e| e.point == T_EGRESS_FIRST).map(|e| {
            numbers.iter().rposition(|number| *number == e.frame).expect("a frame out has the number of a frame in")
        });
        let sent = sim.take_sent();
        assert_eq!(causes.clone().count(), sent.len());
        let sent = causes.zip(sent).collect();
        let mut drops = stats.drops;
        drops.iter_mut().zip(before.drops).for_each(|(now, then)| *now -= then);
        let (handled, placed) =
            (stats.frames_handled - before.frames_handled, stats.frames_placed - before.frames_placed);
        assert_ends(&fates, handled, placed, &drops);
        Played { sent, numbers, events, fates, drops, stats }
    }

    /// Every frame has come to an end and been counted once, all cells are back, no message is open, the host saw clean AXI.
    pub fn assert_empty(&mut self) {
        let stats = self.device.stats().unwrap();
        let ended = u64::from(stats.frames_handled) + u64::from(stats.frames_placed) + stats.dropped();
        assert_eq!(u64::from(stats.frames_in), ended, "in = handled + placed + dropped: {stats:?}");
        assert_eq!(stats.cells_free as usize, self.config.cells(), "all cells are free: {stats:?}");
        assert_eq!(stats.messages_open, 0, "no message is open: {stats:?}");
        let mut sim = self.card.sim();
        assert!(sim.memory().idle(), "nothing is under way to the host");
        assert_eq!(sim.memory().violations, Vec::<String>::new());
    }
}

/// As many ends of frames on the fate ports as the counters counted, by kind and reason.
fn assert_ends(fates: &[FateEvent], handled: u32, placed: u32, drops: &[u32; DROP_COUNT]) {
    let count = |end: End| fates.iter().filter(|event| event.step == Step::Ended(end)).count() as u32;
    assert_eq!((count(End::Handled), count(End::Placed)), (handled, placed), "handled and placed");
    for (reason, (name, _)) in DROP_REASONS.iter().enumerate() {
        assert_eq!(count(End::Dropped(reason)), drops[reason], "{name}");
    }
}

impl Played {
    /// Drops as names and counts, for messages and comparisons.
    pub fn drop_names(&self) -> Vec<(&'static str, u32)> {
        DROP_REASONS.iter().zip(self.drops).filter(|(_, count)| *count > 0).map(|((name, _), n)| (*name, n)).collect()
    }
}

/// Frames back to back.
pub fn at_once(frames: &[Vec<u8>]) -> Vec<WireFrame> {
    frames.iter().map(|bytes| WireFrame { bytes: bytes.clone(), gap: 0, bad: false }).collect()
}

/// Frames with random gaps below `limit` cycles.
pub fn random_gaps(frames: &[Vec<u8>], limit: u64, random: &mut ChaCha8Rng) -> Vec<WireFrame> {
    frames
        .iter()
        .map(|bytes| WireFrame { bytes: bytes.clone(), gap: random.random_range(0..limit), bad: false })
        .collect()
}
