//! A bound on the time of each case.

use crate::repetition;
use std::sync::mpsc::{channel, RecvTimeoutError, Sender};
use std::time::Duration;

/// Time within which a case ends, on a machine under load.
pub const CASE_LIMIT: Duration = Duration::from_secs(30);

/// A thread that ends the program when a case does not end. A parser that runs for ever cannot be stopped otherwise.
pub struct Watch(Sender<u64>);

impl Watch {
    pub fn begin(parser: &str) -> Watch {
        let (begins, cases) = channel();
        let parser = parser.to_owned();
        std::thread::spawn(move || {
            let Ok(mut seed) = cases.recv() else { return };
            loop {
                match cases.recv_timeout(CASE_LIMIT) {
                    Ok(next) => seed = next,
                    // The run is over.
                    Err(RecvTimeoutError::Disconnected) => return,
                    Err(RecvTimeoutError::Timeout) => {
                        eprintln!("a case of {parser} has not ended within {} s", CASE_LIMIT.as_secs());
                        eprintln!("{}", repetition(&parser, seed));
                        std::process::abort();
                    }
                }
            }
        });
        Watch(begins)
    }

    /// A case begins.
    pub fn next(&self, seed: u64) {
        let _ = self.0.send(seed);
    }
}
