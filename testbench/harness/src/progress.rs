//! The progress of a build, for programs whose user waits for it.

use indicatif::{ProgressBar, ProgressStyle};
use std::io::IsTerminal;
use std::sync::Mutex;
use std::time::{Duration, Instant};

/// Least time between two lines where there is no terminal.
const LINE_EVERY: Duration = Duration::from_secs(10);

/// Where the progress of builds is shown. A model that is in the cache shows nothing.
pub struct Progress {
    /// Name of the program in front of each line; `None` shows nothing.
    program: Option<&'static str>,
    terminal: bool,
    state: Mutex<State>,
}

struct State {
    start: Instant,
    shown: Instant,
    units: usize,
    done: usize,
    bar: Option<ProgressBar>,
    /// Lines that were written instead of a bar.
    lines: Vec<String>,
}

impl Progress {
    /// Shows nothing.
    pub fn silent() -> Progress {
        Progress::of(None, false)
    }

    /// Shows builds on standard error: a bar on a terminal, else a line now and then.
    pub fn stderr(program: &'static str) -> Progress {
        Progress::of(Some(program), std::io::stderr().is_terminal())
    }

    fn of(program: Option<&'static str>, terminal: bool) -> Progress {
        let now = Instant::now();
        let state = State { start: now, shown: now, units: 0, done: 0, bar: None, lines: Vec::new() };
        Progress { program, terminal, state: Mutex::new(state) }
    }

    fn with(&self, action: impl FnOnce(&mut State, &str)) {
        if let Some(program) = self.program {
            action(&mut self.state.lock().unwrap_or_else(|poisoned| poisoned.into_inner()), program);
        }
    }

    /// Another process builds the same model.
    pub(crate) fn waits(&self, top: &str) {
        self.with(|state, program| {
            state.line(program, &format!("waiting for another process that builds the model of `{top}`"))
        });
    }

    /// A build begins.
    pub(crate) fn begins(&self, top: &str, folder: &std::path::Path) {
        self.with(|state, program| {
            (state.start, state.units, state.done) = (Instant::now(), 0, 0);
            let place = folder.display();
            state.line(program, &format!("building the model of `{top}` (some minutes, once; then it is in {place})"));
            if self.terminal {
                state.bar = Some(ProgressBar::new_spinner().with_message("Verilator"));
                state.restyle(program, "{spinner} {msg}, {elapsed}");
            }
        });
    }

    /// Verilator is done; so many units are to be compiled.
    pub(crate) fn compiles(&self, units: usize) {
        self.with(|state, program| {
            state.units = units;
            match &state.bar {
                Some(bar) => {
                    bar.set_length(units as u64);
                    bar.set_message("compiling");
                    state.restyle(program, "{bar:30} {pos} of {len} units compiled, {elapsed}");
                }
                None => {
                    let seconds = state.start.elapsed().as_secs();
                    state.line(program, &format!("Verilator took {seconds} s; {units} units to compile"));
                }
            }
        });
    }

    /// A unit is compiled.
    pub(crate) fn compiled(&self) {
        self.with(|state, program| {
            state.done += 1;
            match &state.bar {
                Some(bar) => bar.inc(1),
                None if state.shown.elapsed() >= LINE_EVERY && state.done < state.units => {
                    let (done, units, seconds) = (state.done, state.units, state.start.elapsed().as_secs());
                    state.line(program, &format!("{done} of {units} units compiled, {seconds} s"));
                }
                None => {}
            }
        });
    }

    /// The build has ended, well or not.
    pub(crate) fn ends(&self) {
        self.with(|state, _| {
            if let Some(bar) = state.bar.take() {
                bar.finish_and_clear();
            }
        });
    }
}

impl State {
    fn line(&mut self, program: &str, text: &str) {
        eprintln!("{program}: {text}");
        self.shown = Instant::now();
        self.lines.push(text.into());
    }

    fn restyle(&self, program: &str, template: &str) {
        let Some(bar) = &self.bar else { return };
        let style = ProgressStyle::with_template(&format!("{program}: {template}"));
        bar.set_style(style.expect("the template is well formed"));
        bar.enable_steady_tick(Duration::from_millis(200));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn without_a_terminal_a_build_is_shown_in_lines() {
        let progress = Progress::of(Some("test"), false);
        progress.begins("nic", std::path::Path::new("/cache"));
        progress.compiles(3);
        // As if the units took long.
        progress.state.lock().unwrap().shown -= 2 * LINE_EVERY;
        (0..3).for_each(|_| progress.compiled());
        progress.ends();
        let lines = progress.state.lock().unwrap().lines.join("\n");
        assert!(lines.contains("model of `nic`") && lines.contains("in /cache"), "{lines}");
        assert!(lines.contains("3 units to compile") && lines.contains("1 of 3 units compiled"), "{lines}");
        // The second came soon after the first, and after the last the caller goes on.
        assert!(!lines.contains("2 of 3") && !lines.contains("3 of 3"), "{lines}");
    }

    #[test]
    fn on_a_terminal_a_bar_counts_the_units() {
        let progress = Progress::of(Some("test"), true);
        progress.begins("nic", std::path::Path::new("/cache"));
        progress.compiles(3);
        progress.compiled();
        let bar = progress.state.lock().unwrap().bar.clone().unwrap();
        assert_eq!((bar.position(), bar.length()), (1, Some(3)));
        progress.ends();
        assert!(bar.is_finished());
        assert_eq!(progress.state.lock().unwrap().lines.len(), 1);
    }
}
