//! A lock on a file. The system releases the lock when its process ends; the file is removed when the lock is released.

use anyhow::{Context, Result};
use std::fs::{File, OpenOptions, TryLockError};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// A held lock.
pub(crate) struct Lock {
    /// Closing the file releases the lock.
    _file: File,
    path: PathBuf,
}

impl Lock {
    /// Waits until the lock is free and takes it. `busy` is called once if another process holds it.
    pub fn wait(path: &Path, busy: impl FnOnce()) -> Result<Lock> {
        let mut busy = Some(busy);
        loop {
            let file = OpenOptions::new().create(true).append(true).open(path);
            let file = file.with_context(|| format!("cannot create the lock {}", path.display()))?;
            if let Err(TryLockError::WouldBlock) = file.try_lock() {
                busy.take().into_iter().for_each(|busy| busy());
                file.lock().with_context(|| format!("cannot take the lock {}", path.display()))?;
            }
            if let Some(lock) = Lock::of(file, path) {
                return Ok(lock);
            }
        }
    }

    /// Takes the lock of a file that exists; `None` if there is none or another process holds it.
    pub fn steal(path: &Path) -> Option<Lock> {
        let file = OpenOptions::new().append(true).open(path).ok()?;
        file.try_lock().ok()?;
        Lock::of(file, path)
    }

    /// The lock, unless its file was removed between opening and locking: then it protects nothing.
    fn of(file: File, path: &Path) -> Option<Lock> {
        let (open, named) = (file.metadata().ok()?, std::fs::symlink_metadata(path).ok()?);
        let same = (open.dev(), open.ino()) == (named.dev(), named.ino());
        // `try_lock` may have failed for want of support in the file system; a second lock of the same file is harmless.
        same.then(|| Lock { _file: file, path: path.to_path_buf() })
    }
}

impl Drop for Lock {
    fn drop(&mut self) {
        // While it is still locked, so that no other process can have taken this file for its own lock.
        let _ = std::fs::remove_file(&self.path);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lock_is_held_once_and_leaves_no_file() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("x.lock");
        assert!(Lock::steal(&path).is_none(), "no file, no lock");
        let held = Lock::wait(&path, || panic!("no other holder")).unwrap();
        assert!(Lock::steal(&path).is_none(), "it is held");
        drop(held);
        assert!(!path.exists());
        // The file of a killed process has no holder.
        std::fs::write(&path, "").unwrap();
        assert!(Lock::steal(&path).is_some());
        assert!(!path.exists());
    }

    #[test]
    fn threads_take_turns() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("x.lock");
        let inside = std::sync::atomic::AtomicU32::new(0);
        let order = std::sync::atomic::Ordering::SeqCst;
        std::thread::scope(|scope| {
            for _ in 0..8 {
                scope.spawn(|| {
                    for _ in 0..50 {
                        let _lock = Lock::wait(&path, || ()).unwrap();
                        assert_eq!(inside.fetch_add(1, order), 0);
                        std::thread::yield_now();
                        inside.fetch_sub(1, order);
                    }
                });
            }
        });
    }
}
