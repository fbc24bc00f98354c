//! Results of long tool runs, kept under the hash of everything they depend on.

use crate::process::target_folder;
use anyhow::Result;
use serde::{de::DeserializeOwned, Serialize};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::{Path, PathBuf};

/// The hash of what a run depends on. A hasher that changes with the compiler costs a run, never a wrong result.
pub struct Key(DefaultHasher);

impl Key {
    /// Starts with the tool's version and the recipe.
    pub fn new(parts: &[&str]) -> Key {
        let mut hasher = DefaultHasher::new();
        parts.hash(&mut hasher);
        Key(hasher)
    }

    /// Adds the names and contents of `files`.
    pub fn files(mut self, folder: &Path, files: &str) -> Result<Key> {
        for file in files.split(' ') {
            (file, std::fs::read(folder.join(file))?).hash(&mut self.0);
        }
        Ok(self)
    }

    fn path(&self) -> PathBuf {
        target_folder().join(format!("synth/cache/{:016x}.json", self.0.finish()))
    }

    /// Where a large file of the same run is kept, which `what` names.
    pub fn beside(&self, what: &str) -> PathBuf {
        self.path().with_extension(what)
    }
}

/// The result kept under `key`, or that of `run`, which is then kept; and whether it was there.
pub fn cached<T: Serialize + DeserializeOwned>(key: &Key, run: impl FnOnce() -> Result<T>) -> Result<(T, bool)> {
    let path = key.path();
    let kept = std::fs::read_to_string(&path).ok().and_then(|text| serde_json::from_str(&text).ok());
    if let Some(kept) = kept {
        return Ok((kept, true));
    }
    let result = run()?;
    std::fs::create_dir_all(path.parent().expect("the cache is a folder"))?;
    // Never a half-written result, even if two runs meet.
    let partial = path.with_extension(format!("{}.partial", std::process::id()));
    std::fs::write(&partial, serde_json::to_string(&result)?)?;
    std::fs::rename(&partial, &path)?;
    Ok((result, false))
}
