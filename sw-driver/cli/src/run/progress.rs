//! Progress of a long run, on a terminal only.

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::io::IsTerminal;
use std::time::Duration;

/// A bar with the time that remains; nothing where standard error is no terminal.
pub struct Progress {
    bar: ProgressBar,
    frames: usize,
}

impl Progress {
    /// Of a run that takes about `cycles` for `frames`.
    pub fn new(cycles: u64, frames: usize) -> Progress {
        let bar = if std::io::stderr().is_terminal() {
            ProgressBar::with_draw_target(Some(cycles.max(1)), ProgressDrawTarget::stderr_with_hz(4))
        } else {
            ProgressBar::hidden()
        };
        let style = ProgressStyle::with_template(
            "{elapsed_precise} [{bar:30}] {percent:>3} % of {len} cycles, {msg}, {per_sec}, ETA {eta}",
        )
        .map(|style| {
            style.progress_chars("##-").with_key(
                "per_sec",
                |state: &indicatif::ProgressState, out: &mut dyn std::fmt::Write| {
                    let _ = write!(out, "{:.0} cycles/s", state.per_sec());
                },
            )
        });
        if let Ok(style) = style {
            bar.set_style(style);
        }
        bar.enable_steady_tick(Duration::from_millis(250));
        Progress { bar, frames }
    }

    /// After so many cycles, with so many frames that have not entered.
    pub fn at(&self, cycles: u64, pending: usize) {
        if self.bar.is_hidden() {
            return;
        }
        self.bar.set_position(cycles.min(self.bar.length().unwrap_or(cycles)));
        let text = if pending > 0 {
            format!("frame {} of {}", self.frames - pending, self.frames)
        } else {
            "frames inside come to their end".to_owned()
        };
        self.bar.set_message(text);
    }

    /// Removes the bar.
    pub fn finish(&self) {
        self.bar.finish_and_clear();
    }
}
