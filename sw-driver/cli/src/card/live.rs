//! A running card, as the commands use it.

use super::address::{is_share, ADMINISTRATOR};
use anyhow::{bail, Context, Result};
use signal_hook::consts::{SIGINT, SIGTERM};
use spindle::{Device, Identity, SharedCard};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Cycles that pass at a time on a card whose time moves by calls.
const STEP: u64 = 256;
/// How long a program that waits for another card sleeps at a time.
const NAP: Duration = Duration::from_millis(1);

/// The user wants the command to end.
#[derive(Clone, Default)]
pub struct Stop(Arc<AtomicBool>);

impl Stop {
    /// Set by Ctrl-C and SIGTERM; a second signal ends the program at once.
    ///
    /// # Errors
    /// The system refuses the handlers.
    pub fn by_signals() -> Result<Stop> {
        let stop = Stop::default();
        for signal in [SIGINT, SIGTERM] {
            // In this order: the first signal finds the flag clear.
            signal_hook::flag::register_conditional_shutdown(signal, 128 + signal, stop.0.clone())
                .and_then(|_| signal_hook::flag::register(signal, stop.0.clone()))
                .context("cannot catch signals")?;
        }
        Ok(stop)
    }

    /// Ends the command.
    pub fn set(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    /// Whether the command has to end.
    pub fn is_set(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

/// How long a command waits: until it is stopped, and no longer than its time limit.
#[derive(Clone)]
pub struct Patience {
    stop: Stop,
    end: Option<Instant>,
}

impl Patience {
    /// From now on, so many seconds; `None`: without limit.
    pub fn new(stop: &Stop, seconds: Option<f64>) -> Patience {
        let end = seconds.and_then(|seconds| Instant::now().checked_add(Duration::try_from_secs_f64(seconds).ok()?));
        Patience { stop: stop.clone(), end }
    }

    /// Time that is left.
    pub fn left(&self) -> Duration {
        self.end.map_or(Duration::MAX, |end| end.saturating_duration_since(Instant::now()))
    }

    /// Whether the waiting is over.
    pub fn is_over(&self) -> bool {
        self.stop.is_set() || self.end.is_some_and(|end| Instant::now() >= end)
    }
}

/// Why a command cannot use what this address opens.
fn unusable(address: &str) -> String {
    match address.rsplit_once('/') {
        Some((folder, name)) if is_share(name) => {
            format!("{address} gives programs their share of a card, and commands need the card: use {folder}/{ADMINISTRATOR}")
        }
        _ => format!("cannot use the card {address}"),
    }
}

/// A card to which the command has attached.
pub struct Live {
    /// The card.
    pub card: SharedCard,
    /// What the card is, and where.
    pub identity: Identity,
    /// Its driver.
    pub device: Device<SharedCard, SharedCard>,
    /// The process whose share of the card this is, and nothing else; `None`: the card.
    pub share: Option<usize>,
}

impl Live {
    /// Attaches to a card and changes nothing.
    ///
    /// # Errors
    /// The card is none, or of another version.
    pub fn attach(card: SharedCard) -> Result<Live> {
        let identity = card.lock().identity();
        let device = Device::attach(card.clone(), card.clone()).with_context(|| unusable(&identity.address))?;
        Ok(Live { card, identity, device, share: None })
    }

    /// Likewise, or takes the share that the card is, for a command that needs no more than a process.
    ///
    /// # Errors
    /// As [`Live::attach`].
    pub fn attach_or_share(card: SharedCard) -> Result<Live> {
        let Some(process) = card.lock().process() else { return Live::attach(card) };
        let identity = card.lock().identity();
        let device = Device::share(card.clone(), card.clone())?;
        Ok(Live { card, identity, device, share: Some(process) })
    }

    /// Lets some time pass on the card: so much as fits between two looks.
    ///
    /// # Errors
    /// The card does not answer.
    pub fn breathe(&self) -> Result<()> {
        let mut card = self.card.lock();
        if card.time_moves_by_calls() {
            card.pause(STEP)?;
        } else {
            drop(card);
            std::thread::sleep(NAP);
        }
        Ok(())
    }

    /// Looks until there is something, or the patience is over.
    ///
    /// # Errors
    /// The card does not answer.
    pub fn wait<T>(
        &mut self,
        patience: &Patience,
        mut look: impl FnMut(&mut Live) -> Result<Option<T>>,
    ) -> Result<Option<T>> {
        loop {
            if let Some(found) = look(self)? {
                return Ok(Some(found));
            }
            if patience.is_over() {
                return Ok(None);
            }
            self.breathe()?;
        }
    }

    /// Lets the process name host memory while `use_card` runs; a process that was confined is confined again. The owner of a share has
    /// done that.
    ///
    /// # Errors
    /// There is no such process, the daemon gives another one, or those of `use_card`.
    pub fn as_process<T>(&mut self, process: usize, use_card: impl FnOnce(&mut Live) -> Result<T>) -> Result<T> {
        self.check_process(process)?;
        if self.share.is_some() {
            return use_card(self);
        }
        let confined = !self.device.trusts(process);
        if confined {
            self.device.trust(process)?;
        }
        let result = use_card(self);
        if confined {
            self.device.confine(process)?;
        }
        result
    }

    /// Whether this way to the card gives a process.
    fn check_process(&self, process: usize) -> Result<()> {
        let address = &self.identity.address;
        match (self.share, address.rsplit_once('/')) {
            (Some(own), _) if own != process => {
                bail!("{address} is the share of process {own}; leave --process out, or use the socket of process {process}")
            }
            (None, Some((folder, ADMINISTRATOR))) if process != 0 => bail!(
                "{address} is process 0 of the card, and others are their programs' alone; use --process 0, or, for what \
                 needs no more than a process (`spindle events`), {folder}/process{process}.sock"
            ),
            _ => Ok(()),
        }
    }

    /// Seconds of so many cycles at the card's nominal clock.
    pub fn seconds(&self, cycles: u64) -> f64 {
        cycles as f64 / (f64::from(self.device.info().clock_mhz.max(1)) * 1e6)
    }

    /// Whether contexts and rules stay in the card when this program leaves it.
    pub fn keeps_state(&self) -> bool {
        // The kernel resets a function when its VFIO file is closed; a card in process ends with the program.
        !matches!(self.identity.transport, "vfio" | "sim")
    }
}

#[cfg(test)]
mod tests {
    use super::unusable;

    #[test]
    fn a_share_is_no_card_for_commands() {
        let sentence = unusable("unix:/run/spindle/card.sock");
        assert!(sentence.ends_with("use unix:/run/spindle/admin.sock"), "{sentence}");
        assert!(unusable("unix:/run/spindle/process12.sock").contains("share of a card"));
        assert_eq!(
            unusable("unix:/run/spindle/processor.sock"),
            "cannot use the card unix:/run/spindle/processor.sock"
        );
        assert_eq!(unusable("0000:65:00.0"), "cannot use the card 0000:65:00.0");
    }
}
