//! Waves of failing tests: a test runs without recording, and if it fails it runs again with recording on.

use crate::compile::cache_folder;
use crate::model::Model;
use crate::seed::seed_from_env;
use crate::source::Source;
use anyhow::{Context, Result};
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;
use std::cell::Cell;
use std::panic::{catch_unwind, resume_unwind, AssertUnwindSafe};
use std::path::PathBuf;

/// What a test gets from [`run_with_wave_on_failure`].
pub struct WaveContext {
    name: String,
    seed: u64,
    /// Folder for waves; `None` = do not record.
    folder: Option<PathBuf>,
    models: Cell<u32>,
}

impl WaveContext {
    /// The seed of this run, the same in the recorded repetition.
    pub fn seed(&self) -> u64 {
        self.seed
    }

    /// A generator seeded with [`WaveContext::seed`].
    pub fn rng(&self) -> ChaCha8Rng {
        ChaCha8Rng::seed_from_u64(self.seed)
    }

    /// Whether this run is being recorded.
    pub fn recording(&self) -> bool {
        self.folder.is_some()
    }

    /// Builds `source` and makes an instance of it, with a wave open if this run is being recorded.
    pub fn model(&self, source: &Source) -> Result<Model> {
        let recording = self.recording();
        let library = Model::build(&source.clone().with_trace(recording || source.options.trace))?;
        let mut model = library.instance_with_seed(self.seed);
        if let Some(folder) = &self.folder {
            let number = self.models.replace(self.models.get() + 1);
            let suffix = if number == 0 { String::new() } else { format!(".{number}") };
            std::fs::create_dir_all(folder)
                .with_context(|| format!("cannot create the wave folder {}", folder.display()))?;
            let path = folder.join(format!("{}{suffix}.vcd", self.name));
            model.trace_open(&path)?;
            println!("{}: wave {}", self.name, path.display());
        }
        Ok(model)
    }
}

/// Runs `test`. If it panics, runs it again with waves recorded (tests are deterministic in their seed), prints where
/// they are and which seed to use, and lets the first panic go on. With `SPINDLE_VCD=<folder>` the first run records.
///
/// Models must come from [`WaveContext::model`] and randomness from [`WaveContext::rng`] or [`WaveContext::seed`].
pub fn run_with_wave_on_failure(name: &str, test: impl Fn(&WaveContext)) {
    let seed = seed_from_env(name);
    let context = |folder| WaveContext { name: name.replace(['/', ':', ' '], "_"), seed, folder, models: Cell::new(0) };
    if let Some(folder) = std::env::var_os("SPINDLE_VCD") {
        return test(&context(Some(folder.into())));
    }
    let Err(failure) = catch_unwind(AssertUnwindSafe(|| test(&context(None)))) else { return };
    let folder = match cache_folder() {
        Ok(cache) => cache.with_file_name("waves"),
        Err(error) => {
            eprintln!("{name}: no wave: {error:#}");
            resume_unwind(failure)
        }
    };
    eprintln!("{name}: failed; running it again with waves in {}", folder.display());
    if catch_unwind(AssertUnwindSafe(|| test(&context(Some(folder))))).is_ok() {
        eprintln!("{name}: the recorded repetition passed, so this test depends on more than its seed");
    }
    eprintln!("{name}: repeat with SPINDLE_SEED={seed}");
    resume_unwind(failure)
}
