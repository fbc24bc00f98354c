//! Ctrl-C and SIGTERM: the first one ends the run in order, the second one ends the program.

use super::outputs::Leftovers;
use anyhow::{Context, Result};
use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::iterator::Signals;
use std::sync::atomic::{AtomicBool, AtomicI32, Ordering};
use std::sync::Arc;

/// Signals caught from here on.
#[derive(Clone, Default)]
pub struct Interrupts {
    /// The first signal, 0 before it.
    signal: Arc<AtomicI32>,
    /// The NIC runs: the first signal is left to the run.
    running: Arc<AtomicBool>,
}

/// Exit status of a program that a signal ended.
fn status(signal: i32) -> i32 {
    128 + signal
}

impl Interrupts {
    /// Starts to catch signals. Before [`Interrupts::run_starts`] the first one ends the program, and `leftovers` are removed.
    ///
    /// # Errors
    /// The system refuses the handlers or the thread.
    pub fn catch(leftovers: Leftovers) -> Result<Interrupts> {
        let interrupts = Interrupts::default();
        let mut signals = Signals::new([SIGINT, SIGTERM]).context("cannot catch signals")?;
        let shared = interrupts.clone();
        std::thread::Builder::new()
            .name("signals".into())
            .spawn(move || {
                for signal in &mut signals {
                    let first = shared.signal.swap(signal, Ordering::SeqCst) == 0;
                    if first && shared.running.load(Ordering::SeqCst) {
                        eprintln!("spindle: interrupted; what is there is written, a second interrupt ends the program at once");
                        continue;
                    }
                    if let Ok(files) = leftovers.lock() {
                        files.iter().for_each(|file| drop(std::fs::remove_file(file)));
                    }
                    // The simulation goes on in another thread, so no destructor may run.
                    signal_hook::low_level::exit(status(signal));
                }
            })
            .context("cannot start the thread that waits for signals")?;
        Ok(interrupts)
    }

    /// From here on, the first signal is left to the run.
    pub fn run_starts(&self) {
        self.running.store(true, Ordering::SeqCst);
    }

    /// A signal has come.
    pub fn pending(&self) -> bool {
        self.signal.load(Ordering::Relaxed) != 0
    }

    /// The error of an interrupted run.
    pub fn error(&self) -> Interrupted {
        Interrupted { signal: self.signal.load(Ordering::SeqCst) }
    }
}

/// The run was ended by a signal, in order.
#[derive(Clone, Copy, Debug)]
pub struct Interrupted {
    signal: i32,
}

impl Interrupted {
    /// Exit status of the program: 130 after SIGINT, 143 after SIGTERM.
    pub fn status(self) -> u8 {
        status(self.signal) as u8
    }
}

impl std::fmt::Display for Interrupted {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "the run was interrupted; the outputs hold what was there until then")
    }
}

impl std::error::Error for Interrupted {}
