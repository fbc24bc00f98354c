//! Copies of the checkout's sources, in which cargo builds only what has changed.

use crate::process::quiet;
use anyhow::{ensure, Context, Result};
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// What a copy has of a file.
pub enum Copied {
    /// These contents.
    As(Vec<u8>),
    /// What is there already.
    AsItIs,
    /// Nothing.
    Absent,
}

/// Copies the files that git knows or would take to `tree`, as `change` wants each; `change` gets its path and contents. A file
/// that is equal is not written again, so that it keeps its time.
pub fn copy(tree: &Path, mut change: impl FnMut(&str, &[u8]) -> Result<Copied>) -> Result<()> {
    let listed = quiet(Command::new("git").args(["ls-files", "-z", "--cached", "--others", "--exclude-standard"]))?;
    // Git lists a file that was removed until that is committed.
    let files: Vec<&str> = listed.split('\0').filter(|path| !path.is_empty() && Path::new(path).is_file()).collect();
    ensure!(files.contains(&"Cargo.toml"), "git lists no Cargo.toml");
    let mut fresh = BTreeSet::new();
    for path in files {
        let contents = fs::read(path).with_context(|| format!("cannot read {path}"))?;
        let to = tree.join(path);
        match change(path, &contents)? {
            Copied::Absent => continue,
            Copied::As(contents) if fs::read(&to).ok().as_ref() != Some(&contents) => {
                fs::create_dir_all(to.parent().expect("a file has a folder"))?;
                fs::write(&to, contents).with_context(|| format!("cannot write {}", to.display()))?;
            }
            Copied::As(_) | Copied::AsItIs => (),
        }
        fresh.insert(to);
    }
    sweep(tree, &fresh)
}

/// Removes files of `folder` that are not in `fresh`.
fn sweep(folder: &Path, fresh: &BTreeSet<PathBuf>) -> Result<()> {
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() {
            sweep(&path, fresh)?;
            // Only an empty folder can be removed so.
            let _ = fs::remove_dir(&path);
        } else if !fresh.contains(&path) {
            fs::remove_file(&path)?;
        }
    }
    Ok(())
}
