//! Changes of the card's configuration, at random.

use super::card::{Card, BUFFER};
use super::frames::{ADDRESSES, KEY, PORTS, PROCESSES};
use anyhow::{Context, Result};
use rand::seq::IndexedRandom;
use rand::Rng;
use spindle::peer::Responses;
use spindle::reliable::Reliability;
use spindle::rule_table::Action;
use spindle::rvma::Posted;
use spindle::window::{Counting, WindowOptions};
use spindle::{ContextId, ContextOptions, Error, HostMemory, Image, Kind, Overload, Reply, Rule, Target};
use spindle_sdk::Shipped;

/// Process of the window of frames; the others have mailboxes.
const FRAMES: usize = PROCESSES as usize;
/// Bytes of host memory of a context.
const REGION: usize = 64 * 8192;
/// Handlers of all kinds, also such that fail.
const HANDLERS: [&str; 14] = [
    "ping_pong",
    "icmp_echo",
    "place",
    "counter",
    "filtering",
    "aggregate",
    "accumulate",
    "parity",
    "broadcast",
    "ping_pong_stream",
    "ping_pong_host",
    "udp_to_host",
    "never_returns",
    "foreign_access",
];

/// The handlers, compiled.
pub struct Images(Vec<Image>);

impl Images {
    /// Compiles them.
    pub fn compiled() -> Result<Images> {
        let image = |name: &&str| {
            let shipped = Shipped::by_name(name).with_context(|| format!("there is no handler `{name}`"))?;
            Ok(shipped.load()?.image)
        };
        Ok(Images(HANDLERS.iter().map(image).collect::<Result<_>>()?))
    }

    /// Of `ping_pong`.
    pub fn echo(&self) -> &Image {
        &self.0[0]
    }
}

/// What a call gave, or nothing if the card had no room or refused it: at random moments that is right. Everything else is a breach.
fn allowed<T>(result: spindle::Result<T>) -> Result<Option<T>> {
    match result {
        Ok(value) => Ok(Some(value)),
        Err(Error::Full { .. } | Error::Argument(_) | Error::Doorbell { .. } | Error::Terms(_)) => Ok(None),
        Err(error) => Err(error.into()),
    }
}

/// What changes the configuration of the card.
type Change = fn(&mut Card) -> Result<()>;

impl Card {
    /// One change.
    pub(super) fn change(&mut self) -> Result<()> {
        self.tally.actions += 1;
        let changes: [(u32, &str, Change); 15] = [
            (10, "the installation of a context", Card::install),
            (6, "the removal of a context", Card::remove),
            (6, "a change of the rules", Card::change_rules),
            (10, "the opening of a window", Card::open_window),
            (40, "a post", Card::post),
            (8, "a call about a window", Card::call_window),
            (5, "the closing of a window", Card::close_window),
            (12, "a put", Card::put),
            (8, "frames of the host", Card::host_frames),
            (4, "a change of the window of frames", Card::change_frames),
            (4, "a host error", Card::host_error),
            (4, "a change of transport", Card::change_transport),
            (4, "an event ring", Card::change_ring),
            (10, "a look at counters", Card::look),
            (1, "a reset", Card::reset_somehow),
        ];
        let chosen = changes.choose_weighted(&mut self.rng, |change| change.0).expect("weights are above zero");
        self.last = chosen.1.into();
        chosen.2(self)
    }

    fn install(&mut self) -> Result<()> {
        let rng = &mut self.rng;
        let overload = [Overload::Drop, Overload::Place, Overload::Pause][rng.random_range(0..3)];
        let all = u32::MAX >> (32 - self.device.info().total_hpus());
        let host_region =
            if rng.random() { Some((self.device.memory.alloc(REGION, 4096)?, REGION as u32)) } else { None };
        let options = ContextOptions {
            watchdog: rng.random_range(300..12_000),
            host_region,
            weight: rng.random_range(1..=255),
            message_quota: [0, 0, 1, 5][rng.random_range(0..4)],
            packet_quota: [0, 0, 2, 20][rng.random_range(0..4)],
            overload,
            core_mask: if rng.random() { all } else { rng.random::<u32>() & all | 1 },
            process: rng.random_range(0..PROCESSES) as u8,
            ..ContextOptions::default()
        };
        let image = self.images.0.choose(rng).expect("there are some");
        if let Some(context) = allowed(self.device.install(image, &options))? {
            self.contexts.push(context);
            if self.rng.random_bool(0.9) {
                self.device.activate(context)?;
            }
        }
        Ok(())
    }

    fn remove(&mut self) -> Result<()> {
        if self.contexts.is_empty() {
            return Ok(());
        }
        let index = self.rng.random_range(0..self.contexts.len());
        // With live messages it stays, inactive, and is removed later.
        if allowed(self.device.remove(self.contexts[index]))?.is_some() {
            self.contexts.swap_remove(index);
        }
        Ok(())
    }

    fn change_rules(&mut self) -> Result<()> {
        let count = self.rng.random_range(0..10);
        let mut rules: Vec<(Rule, Action)> = vec![];
        for _ in 0..count {
            let rng = &mut self.rng;
            let text = match rng.random_range(0..8) {
                0 => "spindle".into(),
                1 => "icmp".into(),
                2 => format!("udp.dport in {}..{}", rng.random_range(0..4), rng.random_range(4..PORTS)),
                3 => format!("spindle.addr == {}", rng.random_range(0..ADDRESSES)),
                4 => format!(
                    "spindle.dst_pid == {} && frame.len > {}",
                    rng.random_range(0..PROCESSES),
                    rng.random_range(0..600)
                ),
                5 => format!("!(vlan || spindle.addr == {})", rng.random_range(0..ADDRESSES)),
                _ => format!("udp.dport == {}", rng.random_range(0..PORTS)),
            };
            let context = self.contexts.choose(rng).copied().unwrap_or(ContextId(0));
            let action = match rng.random_range(0..10) {
                0 => Action::Drop,
                1..=3 => Action::Context(context),
                4..=5 => Action::ContextPerMessage(context),
                6 => Action::Host,
                _ => Action::Mailbox,
            };
            rules.push((text.parse()?, action));
        }
        allowed(self.device.replace_rules(rules.iter().map(|(rule, action)| (rule, *action))))?;
        Ok(())
    }

    fn open_window(&mut self) -> Result<()> {
        let rng = &mut self.rng;
        let (managed, tagged) = (rng.random_bool(0.3), rng.random_bool(0.3));
        let options = WindowOptions {
            address: rng.random_range(0..ADDRESSES),
            key: KEY,
            threshold: if rng.random() { rng.random_range(1..4) } else { rng.random_range(1..8000) },
            counting: if rng.random() { Counting::Bytes } else { Counting::Operations },
            tagged,
            managed,
            silent: rng.random_bool(0.2),
            spills: rng.random_bool(0.2),
            catch_all: rng.random_bool(0.1),
            event: rng.random_bool(0.3),
            context: if rng.random_bool(0.2) { self.contexts.choose(rng).copied() } else { None },
            ..WindowOptions::default()
        };
        let process = rng.random_range(0..PROCESSES);
        if let Some(window) = allowed(self.device.open_window(process.into(), &options))? {
            self.windows.push(window);
        }
        Ok(())
    }

    fn post(&mut self) -> Result<()> {
        let Some(window) = self.windows.choose(&mut self.rng).copied() else { return Ok(()) };
        let place = *self.pool.choose(&mut self.rng).expect("there are some");
        let posted = Posted { size: self.rng.random_range(1..=BUFFER), ..place };
        allowed(self.device.post(window, posted))?;
        Ok(())
    }

    fn call_window(&mut self) -> Result<()> {
        let Some(window) = self.windows.choose(&mut self.rng).copied() else { return Ok(()) };
        let back = self.rng.random_range(0..9);
        match self.rng.random_range(0..4) {
            0 => drop(allowed(self.device.inc_epoch(window))?),
            1 => drop(allowed(self.device.epoch(window))?),
            2 => drop(allowed(self.device.completed_buffer(window, back))?),
            _ => drop(allowed(self.device.rewind(window, back))?),
        }
        Ok(())
    }

    fn close_window(&mut self) -> Result<()> {
        if self.windows.is_empty() {
            return Ok(());
        }
        let window = self.windows.swap_remove(self.rng.random_range(0..self.windows.len()));
        allowed(self.device.close_window(window))?;
        Ok(())
    }

    /// To the card itself, or to a node that never answers.
    fn put(&mut self) -> Result<()> {
        let rng = &mut self.rng;
        let from = self.pool.choose(rng).expect("there are some").buffer + rng.random_range(0..100);
        let length = if rng.random() { rng.random_range(0..100) } else { rng.random_range(0..10_000) };
        let kinds = [Kind::Bound, Kind::Managed, Kind::Tagged(rng.random_range(0..4))];
        let target = Target {
            node: rng.random_range(0..4),
            process: rng.random_range(0..PROCESSES),
            address: rng.random_range(0..ADDRESSES),
            key: KEY,
            offset: rng.random_range(0..100),
            kind: *kinds.choose(rng).expect("there are some"),
        };
        let process = rng.random_range(0..PROCESSES).into();
        if rng.random_bool(0.7) {
            allowed(self.device.put(process, from, length, &target))?;
        } else {
            let reply = Reply { address: rng.random_range(0..ADDRESSES), key: KEY, offset: 0 };
            allowed(self.device.get(process, length, &target, &reply))?;
        }
        Ok(())
    }

    fn host_frames(&mut self) -> Result<()> {
        let Some(frames) = &mut self.frames else { return Ok(()) };
        for _ in 0..20 {
            if self.device.receive_frame(frames)?.is_none() {
                break;
            }
        }
        let bytes = vec![self.rng.random(); self.rng.random_range(14..3000)];
        let count = self.rng.random_range(0..6);
        let batch = vec![(&bytes[..], None); count];
        self.device.send_frames(frames, &batch)?;
        frames.other_events().for_each(drop);
        Ok(())
    }

    fn change_frames(&mut self) -> Result<()> {
        match self.frames.take() {
            Some(frames) => self.device.close_frames(frames)?,
            None => {
                let frames = self.device.open_frames(FRAMES, 2, 32 << 10)?;
                self.device.frames_to_host(Some(frames.window()), self.rng.random())?;
                self.frames = Some(frames);
            }
        }
        Ok(())
    }

    /// Some buffers answer with errors, until another change.
    fn host_error(&mut self) -> Result<()> {
        let place = *self.pool.choose(&mut self.rng).expect("there are some");
        let mut sim = self.sim.sim();
        if self.rng.random() {
            sim.memory().failing.clear();
        } else {
            sim.memory().failing.push(place.buffer..place.buffer + 64);
        }
        Ok(())
    }

    fn change_transport(&mut self) -> Result<()> {
        let (reliable, filtered) = (self.rng.random_bool(0.6), self.rng.random_bool(0.6));
        let reliability =
            Reliability { timeout: 64, hole_time: 16, retries: 2, incarnation: self.rng.random_range(1..99) };
        self.device.set_sequence_filter(filtered)?;
        self.device.set_source_check(self.rng.random_bool(0.2))?;
        self.device.set_responses((filtered && self.rng.random_bool(0.9)).then(Responses::default))?;
        allowed(self.device.set_reliability(reliable.then_some(reliability)))?;
        Ok(())
    }

    fn change_ring(&mut self) -> Result<()> {
        if self.rings.len() < 3 && self.rng.random() {
            let process = self.rng.random_range(0..PROCESSES).into();
            if self.rings.iter().all(|ring| ring.process() != process) {
                let records = [16, 64][self.rng.random_range(0..2)];
                self.rings.extend(allowed(self.device.open_ring(process, records))?);
            }
        } else if let Some(ring) = self.rings.pop() {
            self.device.close_ring(ring)?;
        }
        for ring in &mut self.rings {
            while self.device.poll_event(ring)?.is_some() {}
        }
        Ok(())
    }

    fn look(&mut self) -> Result<()> {
        let device = &mut self.device;
        match self.rng.random_range(0..6) {
            0 => drop(device.counters()?),
            1 => while device.pop_fault()?.is_some() {},
            2 => drop(device.prints()?),
            3 => drop(device.hpu_load()?),
            4 => device.start_trace(self.rng.random_range(0..5))?,
            _ => drop(device.stop_trace().and_then(|()| device.trace())?),
        }
        Ok(())
    }

    /// By the register, or as PCI does.
    fn reset_somehow(&mut self) -> Result<()> {
        let whole = self.rng.random();
        self.reset(whole)
    }

    /// Everything that is open goes.
    pub(super) fn close_all(&mut self) -> Result<()> {
        self.device.clear_rules().context("clearing the rules")?;
        if let Some(frames) = self.frames.take() {
            self.device.close_frames(frames).context("closing the window of frames")?;
        }
        for window in std::mem::take(&mut self.windows) {
            self.device.close_window(window).context("closing a window")?;
        }
        for context in std::mem::take(&mut self.contexts) {
            self.device.remove(context).context("removing a context")?;
        }
        for ring in std::mem::take(&mut self.rings) {
            self.device.close_ring(ring).context("closing an event ring")?;
        }
        self.device.set_sequence_filter(false)?;
        self.device.set_responses(None)?;
        self.device.set_reliability(None)?;
        Ok(())
    }
}
