//! Waves of failing tests: a test runs without recording, and if it fails it runs again with recording on, for the last
//! cycles before the failure: a wave of a million cycles fills a disk, and its beginning is of no use.

use crate::model::Model;
use crate::source::Source;
use crate::substitute::mutants_run;
use anyhow::{Context, Result};
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;
use spindle_testing::{repeated, seed_of, seed_of_run, variation, with_seeds};
use std::cell::RefCell;
use std::panic::{catch_unwind, resume_unwind, AssertUnwindSafe};
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::Arc;

/// Cycles before the failure that a wave holds, at least.
const WINDOW: u64 = 20_000;

/// What a test gets from [`run_with_wave_on_failure`].
pub struct WaveContext {
    name: String,
    /// Folder for waves; `None` = do not record.
    folder: Option<PathBuf>,
    /// Cycles in which the recordings of the models begin, in the order in which they are made; 0 for all others.
    starts: Vec<u64>,
    /// The cycle that each model had come to when it was dropped.
    ends: RefCell<Vec<Arc<AtomicU64>>>,
}

impl WaveContext {
    /// The seed of this run, by its name and the variation; the same in the recorded repetition. A test that asks for it is a
    /// random one, and runs under every variation.
    pub fn seed(&self) -> u64 {
        seed_of_run(&self.name)
    }

    /// A generator seeded with [`WaveContext::seed`].
    pub fn rng(&self) -> ChaCha8Rng {
        ChaCha8Rng::seed_from_u64(self.seed())
    }

    /// Whether this run is being recorded.
    pub fn recording(&self) -> bool {
        self.folder.is_some()
    }

    /// Builds `source` and makes an instance of it, with a wave open if this run is being recorded.
    pub fn model(&self, source: &Source) -> Result<Model> {
        let recording = self.recording();
        let library = Model::build(&source.clone().with_trace(recording || source.options.trace))?;
        let mut model = library.instance_with_seed(seed_of(&self.name, variation()));
        let number = self.ends.borrow().len();
        let end = Arc::new(AtomicU64::new(0));
        self.ends.borrow_mut().push(end.clone());
        model.report_last_cycle(end);
        if let Some(folder) = &self.folder {
            let suffix = if number == 0 { String::new() } else { format!(".{number}") };
            std::fs::create_dir_all(folder)
                .with_context(|| format!("cannot create the wave folder {}", folder.display()))?;
            let path = folder.join(format!("{}{suffix}.vcd", self.name.replace(['/', ':', ' '], "_")));
            let start = self.starts.get(number).copied().unwrap_or(0);
            model.trace_open_at(&path, start)?;
            println!("{}: wave {} from cycle {start} on", self.name, path.display());
        }
        Ok(model)
    }
}

/// Runs `test` under every variation of this run, as [`with_seeds`] does. If it panics, runs it again with waves recorded
/// (tests are deterministic in their seed), prints where they are and the command that repeats it, and lets the first panic go
/// on. With `SPINDLE_VCD=<folder>` the first run records.
///
/// Models must come from [`WaveContext::model`] and randomness from [`WaveContext::rng`] or [`WaveContext::seed`].
pub fn run_with_wave_on_failure(name: &str, test: impl Fn(&WaveContext)) {
    with_seeds(|| run(name, &test));
}

/// Runs `test` under the variation of this thread.
fn run(name: &str, test: &impl Fn(&WaveContext)) {
    let context = |folder, starts| WaveContext { name: name.to_owned(), folder, starts, ends: RefCell::default() };
    if let Some(folder) = std::env::var_os("SPINDLE_VCD") {
        return test(&context(Some(folder.into()), vec![]));
    }
    let first = context(None, vec![]);
    let Err(failure) = catch_unwind(AssertUnwindSafe(|| test(&first))) else { return };
    if mutants_run() {
        resume_unwind(failure);
    }
    let starts = first.ends.borrow().iter().map(|end| end.load(Ordering::Relaxed).saturating_sub(WINDOW)).collect();
    let folder = wave_folder();
    eprintln!("{name}: failed; running it again with waves in {}", folder.display());
    if !repeated(|| test(&context(Some(folder), starts))) {
        eprintln!("{name}: the recorded repetition passed, so this test depends on more than its seed");
    }
    resume_unwind(failure)
}

/// Where waves of failed tests go: `waves` in the cargo target folder that the test executable lies in.
pub fn wave_folder() -> PathBuf {
    let exe = std::env::current_exe().unwrap_or_default();
    // Cargo marks its target folder.
    let target = exe.ancestors().find(|folder| folder.join("CACHEDIR.TAG").exists()).map(PathBuf::from);
    let target = target.or_else(|| std::env::var_os("CARGO_TARGET_DIR").map(PathBuf::from));
    target.unwrap_or_else(|| "target".into()).join("waves")
}
