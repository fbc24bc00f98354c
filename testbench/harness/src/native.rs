//! Shared objects of C++ that is no model, in the cache of the models: built once for the same inputs, checked before they are
//! loaded, and removed when they are no longer used.

use crate::cache::{Cache, Checked};
use crate::lock::Lock;
use anyhow::{Context, Result};
use sha2::{Digest, Sha256};
use std::os::fd::IntoRawFd;
use std::path::{Path, PathBuf};

/// The cache's folder, in which programs of the project may keep folders of their own.
///
/// # Errors
/// No folder is named, or users other than this one could have put files there.
pub fn cache_folder() -> Result<PathBuf> {
    Ok(Cache::open()?.folder().to_path_buf())
}

/// Opens the shared object `name` of these inputs for the rest of the process's life. Unless the cache has it, `build` makes it in
/// the folder that it gets, and returns its path there; another process that needs the same one waits.
///
/// # Errors
/// That of the build; the object cannot be loaded.
pub fn shared_object(
    name: &str,
    inputs: &[&str],
    build: impl FnOnce(&Path) -> Result<PathBuf>,
) -> Result<&'static libloading::Library> {
    let cache = Cache::open()?;
    let Checked { file, path } = built(&cache, &named(name, inputs), build)?;
    // The file stays open, since the loader takes two libraries of the same name for one.
    let fd = file.into_raw_fd();
    // SAFETY: loading runs the object's initialisers. The file has the hash that this crate recorded when `build` made it, in a folder
    // of this user alone.
    let library = unsafe { libloading::Library::new(format!("/proc/self/fd/{fd}")) }
        .with_context(|| format!("cannot open {}; delete it and try again", path.display()))?;
    Ok(Box::leak(Box::new(library)))
}

fn named(name: &str, inputs: &[&str]) -> String {
    let mut hash = Sha256::new();
    for input in inputs {
        // The length in front keeps ("ab", "c") apart from ("a", "bc").
        hash.update((input.len() as u64).to_le_bytes());
        hash.update(input);
    }
    let key: String = hash.finalize().iter().take(12).map(|byte| format!("{byte:02x}")).collect();
    format!("{name}-{key}")
}

fn built(cache: &Cache, name: &str, build: impl FnOnce(&Path) -> Result<PathBuf>) -> Result<Checked> {
    if let Some(object) = cache.object(name) {
        return Ok(object);
    }
    let _lock = Lock::wait(&cache.path(&format!("{name}.lock")), || ())?;
    // The process that held the lock may have built it.
    if let Some(object) = cache.object(name) {
        return Ok(object);
    }
    cache.sweep();
    let work = cache.work()?;
    cache.keep(name, "so", &build(work.path())?)?;
    cache.object(name).with_context(|| format!("`{name}` changed while it was built; try again"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_depend_on_all_inputs() {
        let name = named("shim", &["a", "bc"]);
        assert_eq!(name, named("shim", &["a", "bc"]));
        assert!(name.starts_with("shim-"));
        for other in [named("shim", &["ab", "c"]), named("shim", &["a"]), named("shin", &["a", "bc"])] {
            assert_ne!(name, other);
        }
    }
}
