//! Runs checks and counts them. The lines are read by `cargo xtask vm`.

use anyhow::Result;
use std::time::Instant;

/// The count, so far.
pub struct Checks {
    start: Instant,
    passed: usize,
    failed: usize,
}

impl Default for Checks {
    fn default() -> Self {
        Checks { start: Instant::now(), passed: 0, failed: 0 }
    }
}

impl Checks {
    /// Runs a check: its text says what was seen. `None` if it failed.
    pub fn run<T>(&mut self, name: &str, check: impl FnOnce() -> Result<(T, String)>) -> Option<T> {
        let start = Instant::now();
        match check() {
            Ok((value, seen)) => {
                self.passed += 1;
                println!("check: {name}: {seen} ({:.2} s)", start.elapsed().as_secs_f64());
                Some(value)
            }
            Err(error) => {
                self.fail(name, &error);
                None
            }
        }
    }

    /// Counts a failure.
    pub fn fail(&mut self, name: &str, error: &anyhow::Error) {
        self.failed += 1;
        println!("FAILED: {name}: {error:#}");
    }

    /// The last line.
    pub fn close(&self) {
        let verdict = if self.failed == 0 { "passed" } else { "FAILED" };
        println!(
            "guest: {verdict}: {} checks, {} failed, {:.1} s",
            self.passed,
            self.failed,
            self.start.elapsed().as_secs_f64()
        );
    }
}
