//! `spindle netdev`: a card as a network interface of Linux, over TAP.
//!
//! Frames that match no rule of the card, and those of rules with the action HOST, go to the interface: rules of `--rule`,
//! which go with the interface, and others. What the system sends there leaves through the card. Handlers and mailboxes go
//! on to serve their packets. Checksums are offloaded both ways: the card inserts those that the system leaves out, and the
//! system does not check those that the card has found right.

pub mod header;

use crate::card::live::Stop;
use anyhow::{bail, Context, Result};
use header::Header;
use rustix::event::{poll, PollFd, PollFlags, Timespec};
use rustix::io::Errno;
use spindle::resident::{Effect, ResidentRule};
use spindle::tap::{Tap, HEADER_BYTES};
use spindle::{Device, Rule, SharedCard};
use spindle_contract::commands::{MAX_FRAME, MIN_FRAME};
use std::time::Duration;

/// Buffers for frames that arrive.
const BUFFERS: usize = 4;
const BUFFER_BYTES: u32 = 128 << 10;
/// Frames that one turn takes from either side.
const TURN: usize = 32;
/// Cycles that pass in a turn on a card whose time moves by calls.
const PAUSE: u64 = 256;
/// Waits of a program that looks for frames in memory: it waits the longer, the longer there was none.
const SHORTEST_WAIT: Duration = Duration::from_micros(50);
const LONGEST_WAIT: Duration = Duration::from_millis(2);

/// Arguments of `spindle netdev`.
#[derive(clap::Args, Clone, Debug)]
pub struct NetdevArguments {
    /// Interface; it is made if there is none, and goes with this program unless it was there before.
    #[arg(long, value_name = "NAME", default_value = "spindle0")]
    name: String,
    /// Process of the card whose window, rings and doorbell page are used [default: the last one].
    #[arg(long, value_name = "NUMBER")]
    process: Option<usize>,
    /// Frames that go to the interface although another rule of the card matches them, such as 'eth.type == 0x0806 || icmp';
    /// may be given several times. These rules come before all others, and go with the interface.
    #[arg(long = "rule", value_name = "RULE")]
    rules: Vec<Rule>,
    /// Only frames of rules go to the interface, those of --rule and others with the action HOST; not those that match no rule.
    #[arg(long)]
    by_rule: bool,
}

/// `spindle netdev`: runs until Ctrl-C or SIGTERM.
///
/// # Errors
/// As for [`run`]; the card cannot be opened.
pub fn command(arguments: &NetdevArguments, card: Option<&str>) -> Result<()> {
    let stop = Stop::by_signals()?;
    run(arguments, crate::card::open(card)?, &stop).map(drop)
}

/// What has passed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Frames from the card to the system.
    pub received: u64,
    /// Frames from the system to the card.
    pub sent: u64,
    /// Frames that neither side took.
    pub lost: u64,
}

/// Runs the interface until `stop` is set.
///
/// # Errors
/// The interface cannot be opened, the card has no such process or is gone.
pub fn run(arguments: &NetdevArguments, card: SharedCard, stop: &Stop) -> Result<Counts> {
    let tap = Tap::open(&arguments.name, true)?;
    let calls = card.lock().time_moves_by_calls();
    let mut device = Device::attach(card.clone(), card.clone())?;
    let processes = device.info().processes;
    let process = arguments.process.unwrap_or(processes - 1);
    if process >= processes {
        bail!("the card has no process {process}; choose 0 to {}", processes - 1);
    }
    // The process names memory of this program alone; the transport bounds what the card reaches.
    let confined = !device.trusts(process);
    if confined {
        device.trust(process)?;
    }
    let frames = device.open_frames(process, BUFFERS, BUFFER_BYTES)?;
    device.frames_to_host(Some(frames.window()), !arguments.by_rule)?;
    let rules: Vec<_> = arguments.rules.iter().map(to_host).collect();
    if !rules.is_empty() {
        device.put_resident_rules_first(&rules)?;
    }
    let received_before = device.receives()?;
    device.set_receive(true)?;
    eprintln!("spindle: the card is the interface {}; bring it up with `ip link set {0} up`", tap.name());
    let mut bridge = Bridge {
        tap,
        device,
        frames,
        held: None,
        counts: Counts::default(),
        buffer: vec![0; HEADER_BYTES + MAX_FRAME + 1],
    };
    let ended = bridge.serve(stop, calls.then_some(&card));
    let Bridge { mut device, frames, counts, .. } = bridge;
    if ended.is_ok() {
        if !rules.is_empty() {
            device.remove_resident_rules(&rules)?;
        }
        device.close_frames(frames)?;
        if confined {
            device.confine(process)?;
        }
        if !received_before {
            device.set_receive(false)?;
        }
        eprintln!(
            "spindle: {} frames to the system, {} to the card, {} lost",
            counts.received, counts.sent, counts.lost
        );
    }
    ended.map(|()| counts)
}

/// The rule in the list of the card.
fn to_host(rule: &Rule) -> ResidentRule {
    ResidentRule { rule: rule.text().into(), effect: Effect::Host }
}

/// A frame that the card has no room for yet, without header, and where its checksum goes.
type Held = (Vec<u8>, Option<(u16, u16)>);

/// The interface and the card.
struct Bridge {
    tap: Tap,
    device: Device<SharedCard, SharedCard>,
    frames: spindle::frames::Frames,
    held: Option<Held>,
    counts: Counts,
    buffer: Vec<u8>,
}

impl Bridge {
    /// Moves frames until `stop`; `paused` is a card that must be given its time.
    fn serve(&mut self, stop: &Stop, paused: Option<&SharedCard>) -> Result<()> {
        let mut wait = SHORTEST_WAIT;
        while !stop.is_set() {
            let moved = self.pass_to_system()? | self.pass_to_card()?;
            if let Some(card) = paused {
                card.lock().pause(PAUSE)?;
            }
            wait = if moved { SHORTEST_WAIT } else { (wait * 2).min(LONGEST_WAIT) };
            if !moved {
                self.rest(if paused.is_some() { Duration::ZERO } else { wait })?;
            }
        }
        Ok(())
    }

    /// Waits for a frame of the system, at most so long.
    fn rest(&self, limit: Duration) -> Result<()> {
        let limit = Timespec::try_from(limit).context("a wait is too long")?;
        // A frame that is held waits for the card, not for the system.
        let interest = if self.held.is_some() { PollFlags::empty() } else { PollFlags::IN };
        match poll(&mut [PollFd::new(&self.tap, interest)], Some(&limit)) {
            Ok(_) | Err(Errno::INTR) => Ok(()),
            Err(error) => Err(error).context("cannot wait for the interface"),
        }
    }

    /// Hands the system what has arrived.
    fn pass_to_system(&mut self) -> Result<bool> {
        for turn in 0..TURN {
            let Some(frame) = self.device.receive_frame(&mut self.frames)? else { return Ok(turn > 0) };
            let header = Header { checked: frame.arrived.l4_checksum, checksum: None };
            let bytes = [&header.bytes()[..], &frame.bytes].concat();
            match self.tap.send(&bytes)? {
                true => self.counts.received += 1,
                false => self.counts.lost += 1,
            }
        }
        Ok(true)
    }

    /// Hands the card what the system sends.
    fn pass_to_card(&mut self) -> Result<bool> {
        let mut batch = Vec::new();
        while batch.len() < TURN {
            match self.held.take().map_or_else(|| self.next_of_system(), |held| Ok(Some(held)))? {
                Some(frame) => batch.push(frame),
                None => break,
            }
        }
        if batch.is_empty() {
            return Ok(false);
        }
        let mut left = &batch[..];
        while !left.is_empty() {
            let parts: Vec<_> = left.iter().map(|(bytes, checksum)| (&bytes[..], *checksum)).collect();
            let sent = self.device.send_frames(&mut self.frames, &parts)?;
            self.counts.sent += sent as u64;
            left = &left[sent..];
            if !left.is_empty() && !self.pass_to_system()? {
                break;
            }
        }
        // One frame is kept; the others are lost, as in an interface whose queue is full.
        self.held = left.first().cloned();
        self.counts.lost += left.len().saturating_sub(1) as u64;
        Ok(left.len() < batch.len())
    }

    /// The next frame of the system that the card can send.
    fn next_of_system(&mut self) -> Result<Option<Held>> {
        while let Some(length) = self.tap.receive(&mut self.buffer)? {
            let parsed = self.buffer[..length].split_first_chunk::<HEADER_BYTES>();
            let sendable = parsed.filter(|(_, frame)| (MIN_FRAME..=MAX_FRAME).contains(&frame.len()));
            let Some((header, frame)) = sendable else {
                self.counts.lost += 1;
                continue;
            };
            let mut frame = frame.to_vec();
            let checksum = header::inserted(&Header::parse(header), &mut frame);
            return Ok(Some((frame, checksum)));
        }
        Ok(None)
    }
}
