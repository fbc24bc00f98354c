//! A bound on the time of each case.

use crate::repetition;
use std::io::Write;
use std::sync::mpsc::{channel, RecvTimeoutError, Sender};
use std::time::Duration;

/// Time within which a case ends, on a machine under load.
pub const CASE_LIMIT: Duration = Duration::from_secs(120);

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
                        // Past the test runner, which would keep the text and be ended with it.
                        let seconds = CASE_LIMIT.as_secs();
                        let text = format!("a case of {parser} has not ended within {seconds} s\n");
                        let _ = std::io::stderr().write_all((text + &repetition(&parser, seed) + "\n").as_bytes());
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
