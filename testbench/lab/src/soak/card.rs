//! The card, what was done to it, and the check that follows when all is at rest.

use super::actions::Images;
use super::{frames, Tally};
use anyhow::{bail, ensure, Context, Result};
use rand::seq::SliceRandom;
use rand::{Rng, RngCore, SeedableRng};
use rand_chacha::ChaCha8Rng;
use spindle::frames::Frames;
use spindle::rule_table::Action;
use spindle::rvma::{Posted, Window};
use spindle::{ContextId, ContextOptions, Device, EventRing, HostMemory};
use spindle_contract::params::{Config, SPINDLE_PORT};
use spindle_contract::wire::status;
use spindle_model::frames::{put_message, udp, Ends, SpindleHeader};
use spindle_model::handlers::{by_name, Circumstances, Outcome};
use spindle_sim::host_memory::Timing;
use spindle_sim::{Options, SimDevice, SimHandle, WireFrame};
use std::ops::Range;
use std::sync::{Arc, Mutex};

/// Cycles after which all must be at rest: a handler's budget, the age of a message and the sender's timeouts are far below.
const PATIENCE: u64 = 1_500_000;
/// Cycles between two looks, and looks in a row that must find nothing to do.
const LOOK: u64 = 256;
const QUIET_LOOKS: u32 = 24;
/// Buffers for mailboxes, and their bytes.
pub const BUFFERS: u64 = 48;
pub const BUFFER: u32 = 16 << 10;

/// The usual speed of the host.
const USUAL: Timing = Timing { aw_stall: 0, w_stall: 0, response_min: 40, response_max: 120, read_stall: 0 };

/// Host memory that knows what was allocated.
#[derive(Clone)]
pub struct Tracked {
    card: SimHandle,
    allocated: Arc<Mutex<Vec<Range<u64>>>>,
}

impl HostMemory for Tracked {
    fn alloc(&mut self, bytes: usize, align: usize) -> spindle::Result<u64> {
        let address = self.card.alloc(bytes, align)?;
        self.allocated.lock().expect("no holder panics").push(address..address + bytes as u64);
        Ok(address)
    }

    fn free(&mut self, address: u64) -> spindle::Result<()> {
        self.card.free(address)
    }

    fn read(&self, address: u64, bytes: &mut [u8]) -> spindle::Result<()> {
        self.card.read(address, bytes)
    }

    fn write(&mut self, address: u64, bytes: &[u8]) -> spindle::Result<()> {
        self.card.write(address, bytes)
    }
}

/// The NIC and its surroundings.
pub struct Card {
    pub(super) rng: ChaCha8Rng,
    pub(super) sim: SimHandle,
    pub(super) device: Device<SimHandle, Tracked>,
    pub(super) images: Images,
    pub(super) contexts: Vec<ContextId>,
    pub(super) windows: Vec<Window>,
    pub(super) frames: Option<Frames>,
    pub(super) rings: Vec<EventRing>,
    /// Places for buffers, with their records.
    pub(super) pool: Vec<Posted>,
    /// Frames that entered since the last reset, and FRAMES_IN then.
    entered: u64,
    entered_before: u32,
    /// Of the present pace: frames that wait on the wire, at most, and the share of the sent frames that come back.
    crowd: usize,
    pub(super) loops: f64,
    pub(super) tally: Tally,
    /// What was done last, for a message.
    pub(super) last: String,
}

impl Card {
    /// A card after power-on.
    pub fn new(seed: u64) -> Result<Card> {
        let config = Config::SIM;
        let source = spindle_sim::source(&config)?;
        let sim = SimHandle::new(SimDevice::new(&source, &config, Options { seed, ..Options::default() })?);
        sim.sim().set_tracing(false);
        let mut memory = Tracked { card: sim.clone(), allocated: Arc::default() };
        let places = memory.alloc(BUFFERS as usize * 2 * BUFFER as usize, 64)?;
        let place = |number: u64| {
            let buffer = places + number * 2 * u64::from(BUFFER);
            Posted { buffer, size: BUFFER, record: buffer + u64::from(BUFFER) }
        };
        let device = Device::open(sim.clone(), memory)?;
        let mut card = Card {
            rng: ChaCha8Rng::seed_from_u64(seed),
            sim,
            device,
            images: Images::compiled()?,
            contexts: vec![],
            windows: vec![],
            frames: None,
            rings: vec![],
            pool: (0..BUFFERS).map(place).collect(),
            entered: 0,
            entered_before: 0,
            crowd: 0,
            loops: 0.0,
            tally: Tally::default(),
            last: "power-on".into(),
        };
        card.begin()?;
        Ok(card)
    }

    /// After power-on or a reset: nothing is open, the card knows itself as its own peer, and receives.
    pub(super) fn begin(&mut self) -> Result<()> {
        (self.contexts, self.windows, self.rings, self.frames) = (vec![], vec![], vec![], None);
        {
            // What was on the wire enters while reception is off.
            let mut sim = self.sim.sim();
            sim.cancel_pending();
            while sim.pending() > 0 {
                sim.step();
            }
            sim.run(300);
            sim.take_sent();
        }
        let own = spindle_sim::address(0);
        self.device.set_identity(0, own.mac, own.ip)?;
        (0..3).try_for_each(|node| self.device.set_node(node, Some(spindle_sim::address(node))))?;
        self.device.set_message_timeout(20_000)?;
        self.device.set_receive(true)?;
        (self.entered, self.entered_before) = (0, self.device.stats()?.frames_in);
        Ok(())
    }

    /// Cycles of the card's clock.
    pub fn cycle(&self) -> u64 {
        self.sim.sim().cycle()
    }

    /// What happened so far.
    pub fn tally(&self) -> Tally {
        Tally { cycles: self.cycle(), ..self.tally.clone() }
    }

    /// When something went wrong, for a message.
    pub fn moment(&self) -> String {
        format!("in cycle {}, after {}", self.cycle(), self.last)
    }

    /// Another load, and another speed of host and wire.
    pub fn change_pace(&mut self) {
        self.crowd = [0, 2, 40, 400][self.rng.random_range(0..4)];
        self.loops = [0.0, 0.2][self.rng.random_range(0..2)];
        let slow = self.rng.random_bool(0.5);
        let mut stall = |most: u32| if slow { self.rng.random_range(0..=most) } else { 0 };
        let (aw_stall, w_stall, read_stall) = (stall(60), stall(60), stall(60));
        let response_max = if slow { self.rng.random_range(60..1500) } else { 120 };
        let percent = [100, 100, 60, 15][self.rng.random_range(0..4)];
        let most_open = [4, 16, 64, usize::MAX][self.rng.random_range(0..4)];
        let mut sim = self.sim.sim();
        sim.set_tx_ready(self.rng.random(), percent);
        sim.memory().timing = Timing { aw_stall, w_stall, read_stall, response_min: 10, response_max };
        sim.memory().most_open = most_open;
    }

    /// Traffic for some cycles, and now and then a change.
    pub fn act(&mut self) -> Result<()> {
        while self.sim.sim().pending() < self.crowd {
            self.enter(frames::some);
        }
        let cycles = self.rng.random_range(20..1200);
        self.sim.sim().run(cycles);
        self.come_back();
        match self.rng.random_range(0..100) {
            0..4 => self.change_pace(),
            4..50 => self.change()?,
            _ => {}
        }
        Ok(())
    }

    /// Puts frames on the wire.
    fn enter(&mut self, frames: impl FnOnce(&mut ChaCha8Rng) -> Vec<WireFrame>) {
        let frames = frames(&mut self.rng);
        self.entered += frames.len() as u64;
        self.tally.frames += frames.len() as u64;
        let mut sim = self.sim.sim();
        frames.into_iter().for_each(|frame| sim.inject(frame));
    }

    /// Takes what the card has sent; some of that comes back, as the card is its own peer.
    fn come_back(&mut self) {
        let sent = self.sim.sim().take_sent();
        for frame in sent {
            if self.rng.random_bool(self.loops) {
                self.enter(|_| vec![WireFrame { bytes: frame.bytes, gap: 0, bad: false }]);
            }
        }
    }

    /// A frame on the wire that is reset with the card has not entered.
    pub(super) fn reset(&mut self, whole: bool) -> Result<()> {
        self.tally.resets += 1;
        if whole {
            // As PCI does: what is under way on the ports is lost too.
            self.sim.sim().reset()?;
            self.device = Device::open(self.sim.clone(), self.device.memory.clone())?;
        } else {
            ensure!(
                self.device.reset()?,
                "the card did not become quiet before its reset, though host and wire answer"
            );
        }
        self.begin()
    }

    /// No new traffic, an eager host and wire; at rest, nothing may be left inside, nothing may be lost, and the card must serve.
    pub fn check(&mut self) -> Result<()> {
        self.last = "the end of a period".into();
        {
            let mut sim = self.sim.sim();
            sim.set_tx_ready(0, 100);
            sim.memory().timing = USUAL;
            sim.memory().most_open = usize::MAX;
            sim.memory().failing.clear();
        }
        self.rest()?;
        self.account().context("at rest")?;
        self.close_all()?;
        self.rest()?;
        self.account().context("with all closed")?;
        self.memory_is_whole()?;
        self.probe().context("the card does not serve")?;
        self.account().context("after the probe")?;
        self.tally.checks += 1;
        Ok(())
    }

    /// Runs until nothing moves.
    fn rest(&mut self) -> Result<()> {
        let end = self.cycle() + PATIENCE;
        let (mut last, mut quiet) = (None, 0);
        while quiet < QUIET_LOOKS {
            self.sim.sim().run(LOOK);
            let stats = self.device.stats()?;
            let mut sim = self.sim.sim();
            let idle = sim.pending() == 0 && sim.memory().idle() && stats.inside() == 0 && stats.messages_open == 0;
            let sent = sim.take_sent().len();
            quiet = if idle && sent == 0 && last.as_ref() == Some(&stats) { quiet + 1 } else { 0 };
            if sim.cycle() > end {
                bail!("not at rest after {PATIENCE} cycles: {} frames inside, {stats:#?}", stats.inside());
            }
            last = Some(stats);
        }
        Ok(())
    }

    /// Frames in = handled + placed + dropped = frames that entered; all cells are free; the host saw clean AXI.
    fn account(&mut self) -> Result<()> {
        let stats = self.device.stats()?;
        ensure!(stats.inside() == 0, "{} frames are neither handled, placed nor dropped: {stats:#?}", stats.inside());
        let seen = u64::from(stats.frames_in.wrapping_sub(self.entered_before));
        ensure!(seen == self.entered, "{} frames entered, FRAMES_IN counted {seen}: {stats:#?}", self.entered);
        let cells = Config::SIM.cells() as u32;
        ensure!(stats.cells_free == cells, "{} cells of {cells} are free: {stats:#?}", stats.cells_free);
        ensure!(stats.messages_open == 0, "{} messages are open: {stats:#?}", stats.messages_open);
        let mut sim = self.sim.sim();
        ensure!(sim.memory().violations.is_empty(), "breaches of AXI: {:#?}", sim.memory().violations);
        Ok(())
    }

    /// Every byte that is not zero lies in something that was allocated. Then memory is emptied.
    fn memory_is_whole(&mut self) -> Result<()> {
        let mut allocated = self.device.memory.allocated.lock().expect("no holder panics").clone();
        allocated.sort_by_key(|range| range.start);
        let written = self.sim.sim().memory().memory.nonzero();
        for (address, byte) in written {
            let after = allocated.partition_point(|range| range.start <= address);
            let inside = after > 0 && allocated[after - 1].contains(&address);
            ensure!(inside, "byte {byte:#04x} was written to {address:#x}, outside of every buffer");
        }
        self.sim.sim().memory().memory = Default::default();
        Ok(())
    }

    /// A known handler answers, and a put arrives, byte for byte.
    fn probe(&mut self) -> Result<()> {
        let context = self.device.install(self.images.echo(), &ContextOptions::default())?;
        self.device.replace_rules([
            (&"udp.dport == 9".parse()?, Action::Context(context)),
            (&"spindle".parse()?, Action::Mailbox),
        ])?;
        self.device.activate(context)?;
        let window = self.device.init_window(1, 0x77, frames::KEY, 6000)?;
        let posted = self.device.post(window, self.pool[0])?;
        let model = by_name("ping_pong").context("ping_pong has a model")?;
        let (mut wire, mut answers) = (vec![], vec![]);
        for length in [1, 22, 23, 500, 1400] {
            let frame = udp(&Ends::default(), 1, 9, &self.random_bytes(length));
            let Outcome::Answer(answer) = model(&frame, Circumstances { number: 0, host_bytes: 0 }) else {
                bail!("the model of ping_pong answers every datagram")
            };
            answers.push(answer);
            wire.push(frame);
        }
        let data = self.random_bytes(6000);
        let header =
            SpindleHeader { addr: 0x77, key: frames::KEY, dst_pid: 1, msg_id: self.rng.random(), ..Default::default() };
        wire.extend(put_message(&Ends::default(), SPINDLE_PORT, &header, &data, 1408));
        wire.shuffle(&mut self.rng);
        self.sim.sim().take_sent();
        self.enter(|_| wire.into_iter().map(|bytes| WireFrame { bytes, gap: 0, bad: false }).collect());
        let completed = self.device.wait(&posted, 100_000)?;
        ensure!((completed.status, completed.length) == (status::DONE, 6000), "the record is {completed:?}");
        let mut got = vec![0; data.len()];
        self.device.memory.read(posted.buffer, &mut got)?;
        ensure!(got == data, "the bytes of the put are others");
        self.sim.sim().run(20_000);
        let mut sent: Vec<Vec<u8>> = self.sim.sim().take_sent().into_iter().map(|frame| frame.bytes).collect();
        sent.sort();
        answers.sort();
        ensure!(
            sent == answers,
            "{} answers of {} are right",
            sent.iter().filter(|s| answers.contains(s)).count(),
            answers.len()
        );
        self.device.close_window(window)?;
        self.device.clear_rules()?;
        self.device.remove(context)?;
        Ok(())
    }

    fn random_bytes(&mut self, length: usize) -> Vec<u8> {
        let mut bytes = vec![0; length];
        self.rng.fill_bytes(&mut bytes);
        bytes
    }

    /// For a test of the checks.
    #[cfg(test)]
    pub fn forget_a_frame(&mut self) {
        self.enter(|_| vec![WireFrame { bytes: vec![1; 64], gap: 0, bad: false }]);
        self.entered -= 1;
    }

    /// For a test of the checks.
    #[cfg(test)]
    pub fn write_astray(&mut self) {
        let after = self.pool.last().expect("there are some").record + u64::from(BUFFER);
        self.sim.sim().memory().memory.write(after, &[1]);
    }
}
