//! The model cache: its folder, the permissions of the folder, and the checks before a model is loaded.
//!
//! A model is machine code that the process executes, so its folder must belong to the user alone. A model lies in
//! `<top>-<key>.so` (`.a` if it is to be linked) beside its hash, `<top>-<key>.sha256`; `<top>-<source>.last` names the
//! key that the last build of a source had; `text-<key>.text` is the text of a design ([`crate::texts`]). Files that no process
//! has used for [`UNUSED_DAYS`] days are removed by the next build.

use crate::lock::Lock;
use anyhow::{bail, Context, Result};
use sha2::{Digest, Sha256};
use std::ffi::OsString;
use std::fs::{DirBuilder, File, OpenOptions};
use std::io::Read;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

/// Days after which an unused file is removed.
const UNUSED_DAYS: u64 = 30;
const DAY: Duration = Duration::from_secs(24 * 60 * 60);

/// An open cache.
pub(crate) struct Cache {
    folder: PathBuf,
}

/// A model whose hash is right, still open, so that the hashed bytes are the loaded ones.
pub(crate) struct Checked {
    pub file: File,
    pub path: PathBuf,
}

/// Where the cache is, and whether the user named the folder.
fn choose(variable: impl Fn(&str) -> Option<OsString>) -> Result<(PathBuf, bool)> {
    let folder = |name: &str| variable(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    if let Some(path) = folder("SPINDLE_CACHE") {
        return Ok((path, true));
    }
    // The base directory specification has relative paths ignored.
    let base = folder("XDG_CACHE_HOME").filter(|path| path.is_absolute());
    match base.or_else(|| Some(folder("HOME")?.join(".cache"))) {
        Some(base) => Ok((base.join("spindle/verilated"), false)),
        None => bail!(
            "there is no folder for compiled models: neither HOME nor XDG_CACHE_HOME is set; \
             set SPINDLE_CACHE to a folder of your own"
        ),
    }
}

/// Creates `folder` if it is missing and returns its real path, or says why no model may be loaded from it.
fn private_folder(folder: &Path, named: bool) -> Result<PathBuf> {
    let shown = folder.display();
    let advice = "set SPINDLE_CACHE to a folder of your own";
    DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(folder)
        .with_context(|| format!("cannot create the model cache {shown}; {advice}"))?;
    let link = std::fs::symlink_metadata(folder).with_context(|| format!("cannot open the model cache {shown}"))?;
    if link.is_symlink() {
        bail!("the model cache {shown} is a symbolic link; name its target in SPINDLE_CACHE");
    }
    let real = folder.canonicalize().with_context(|| format!("cannot open the model cache {shown}"))?;
    let found = std::fs::metadata(&real)?;
    let (user, group) = (rustix::process::geteuid().as_raw(), rustix::process::getegid().as_raw());
    if found.uid() != user {
        bail!("the model cache {shown} belongs to user {}, not to user {user} who runs this; {advice}", found.uid());
    }
    if found.mode() & 0o022 != 0 {
        bail!("other users may write to the model cache {shown}; run `chmod 700 {shown}` or {advice}");
    }
    // Who may rename a folder above can put another in its place. A folder that the user has named is the user's choice.
    for above in real.ancestors().skip(1).filter(|_| !named) {
        let found = std::fs::metadata(above)?;
        let sticky = found.mode() & 0o1000 != 0;
        let by_group = found.mode() & 0o020 != 0 && ![0, group].contains(&found.gid());
        if ![0, user].contains(&found.uid()) || !sticky && (by_group || found.mode() & 0o002 != 0) {
            bail!(
                "other users may replace the model cache {shown}, because they may write to {}; {advice}",
                above.display()
            );
        }
    }
    Ok(real)
}

impl Cache {
    /// The cache that the environment names.
    ///
    /// # Errors
    /// No folder is named, or users other than this one could have put models there.
    pub fn open() -> Result<Cache> {
        let (folder, named) = choose(|name| std::env::var_os(name))?;
        Ok(Cache { folder: private_folder(&folder, named)? })
    }

    /// A file of the cache.
    pub fn path(&self, name: &str) -> PathBuf {
        self.folder.join(name)
    }

    /// The folder.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// The model `name`, opened and checked; `None` if the model is absent or differs from what was built.
    pub fn object(&self, name: &str) -> Option<Checked> {
        self.checked(name, "so")
    }

    /// Likewise, with another end of the file's name.
    pub fn checked(&self, name: &str, end: &str) -> Option<Checked> {
        let path = self.path(&format!("{name}.{end}"));
        let record = self.path(&format!("{name}.sha256"));
        let wanted = std::fs::read_to_string(&record).ok()?;
        let no_link = rustix::fs::OFlags::NOFOLLOW.bits() as i32;
        let mut file = OpenOptions::new().read(true).custom_flags(no_link).open(&path).ok()?;
        if !file.metadata().is_ok_and(|found| found.is_file())
            || wanted.split_whitespace().next() != Some(&hash(&mut file)?)
        {
            return None;
        }
        touch(&path);
        touch(&record);
        Some(Checked { file, path })
    }

    /// Moves a model that was just built into the cache, with its hash. The caller holds the lock of `name`.
    pub fn keep(&self, name: &str, end: &str, built: &Path) -> Result<()> {
        let digest =
            File::open(built).ok().and_then(|mut file| hash(&mut file)).context("cannot read the built model")?;
        let fresh = built.with_extension("sha256");
        // In the format of sha256sum.
        std::fs::write(&fresh, format!("{digest}  {name}.{end}\n")).context("cannot write the hash of the model")?;
        std::fs::rename(built, self.path(&format!("{name}.{end}"))).context("cannot move the model into the cache")?;
        std::fs::rename(fresh, self.path(&format!("{name}.sha256"))).context("cannot move the hash into the cache")
    }

    /// The model that was last built of a source.
    pub fn last(&self, source: &str) -> Option<String> {
        let path = self.path(&format!("{source}.last"));
        let text = std::fs::read_to_string(&path).ok()?;
        touch(&path);
        Some(text.lines().next()?.to_string())
    }

    /// Notes which model was last built of a source, by which tools.
    pub fn set_last(&self, source: &str, model: &str, tools: &str, work: &Path) -> Result<()> {
        let fresh = work.join("last");
        std::fs::write(&fresh, format!("{model}\n{tools}\n")).context("cannot write to the model cache")?;
        std::fs::rename(fresh, self.path(&format!("{source}.last"))).context("cannot write to the model cache")
    }

    /// A folder to build in, which goes when the value is dropped, or with a later build if this process is killed.
    pub fn work(&self) -> Result<Work> {
        let name = format!("build-{}-{:08x}", std::process::id(), rand::random::<u32>());
        let lock = Lock::wait(&self.path(&format!("{name}.lock")), || ())?;
        let path = self.path(&name);
        DirBuilder::new().mode(0o700).create(&path).context("cannot create a folder in the model cache")?;
        Ok(Work { path, _lock: lock })
    }

    /// Removes leftovers of killed builds, and files that are no longer used. Work of running processes is not touched.
    pub fn sweep(&self) {
        let Ok(entries) = std::fs::read_dir(&self.folder) else { return };
        for entry in entries.flatten() {
            let (path, name) = (entry.path(), entry.file_name().to_string_lossy().into_owned());
            let age = entry.metadata().and_then(|found| found.modified()).ok();
            let age = age.and_then(|time| SystemTime::now().duration_since(time).ok()).unwrap_or_default();
            let is_work = |name: &str| name.starts_with("build-") || name.starts_with("lint-");
            if let Some(stem) = name.strip_suffix(".lock") {
                // Free, so its process has ended; dropping the lock removes the file.
                let lock = Lock::steal(&path);
                if lock.is_some() && is_work(stem) {
                    let _ = std::fs::remove_dir_all(self.path(stem));
                }
            } else if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                // A work folder without a lock is of a build that was killed while it ended, or of an earlier release.
                let stale = is_work(&name) && !self.path(&format!("{name}.lock")).exists() && age > DAY;
                if stale || name.starts_with("runtime-") && age > DAY * UNUSED_DAYS as u32 {
                    let _ = std::fs::remove_dir_all(&path);
                }
            } else if age > DAY * UNUSED_DAYS as u32
                && ["so", "a", "sha256", "last", "lint", "text"].iter().any(|kind| name.ends_with(&format!(".{kind}")))
            {
                let _ = std::fs::remove_file(&path);
            }
        }
    }
}

/// A folder of the cache in which a model is built.
pub(crate) struct Work {
    path: PathBuf,
    /// Released after the folder is gone.
    _lock: Lock,
}

impl Work {
    /// The folder.
    pub fn path(&self) -> &Path {
        &self.path
    }
}

impl Drop for Work {
    fn drop(&mut self) {
        // Already moved into the cache, or of no use.
        let _ = std::fs::remove_dir_all(&self.path);
    }
}

/// Marks a file or folder as used now.
pub(crate) fn touch(path: &Path) {
    let _ = File::open(path).and_then(|file| file.set_modified(SystemTime::now()));
}

fn hash(file: &mut File) -> Option<String> {
    let (mut hash, mut block) = (Sha256::new(), vec![0; 1 << 16]);
    loop {
        match file.read(&mut block).ok()? {
            0 => return Some(hash.finalize().iter().map(|byte| format!("{byte:02x}")).collect()),
            count => hash.update(&block[..count]),
        }
    }
}

/// A cache of a test's own.
#[cfg(test)]
pub(crate) fn temporary() -> (tempfile::TempDir, Cache) {
    let outer = tempfile::tempdir().unwrap();
    let folder = private_folder(&outer.path().join("cache"), false).unwrap();
    (outer, Cache { folder })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::{symlink, PermissionsExt};

    fn chosen(variables: &[(&str, &str)]) -> Result<(PathBuf, bool)> {
        choose(|name| variables.iter().find(|variable| variable.0 == name).map(|variable| variable.1.into()))
    }

    #[test]
    fn the_folder_is_the_users_and_never_a_shared_one() {
        let path = |variables: &[_]| chosen(variables).unwrap().0;
        let home = ("HOME", "/home/a");
        assert_eq!(path(&[home, ("SPINDLE_CACHE", "/x"), ("XDG_CACHE_HOME", "/y")]), Path::new("/x"));
        assert_eq!(path(&[home, ("XDG_CACHE_HOME", "/y")]), Path::new("/y/spindle/verilated"));
        assert_eq!(path(&[home, ("XDG_CACHE_HOME", "relative")]), Path::new("/home/a/.cache/spindle/verilated"));
        let error = chosen(&[("TMPDIR", "/tmp"), ("HOME", "")]).unwrap_err().to_string();
        assert!(error.contains("set SPINDLE_CACHE"), "{error}");
    }

    fn set_mode(path: &Path, mode: u32) {
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).unwrap();
    }

    #[test]
    fn only_a_folder_that_no_other_user_can_write_is_taken() {
        let outer = tempfile::tempdir().unwrap();
        let folder = outer.path().join("a/verilated");
        let real = private_folder(&folder, false).unwrap();
        assert_eq!(std::fs::metadata(&real).unwrap().mode() & 0o777, 0o700);
        let refusal = |path: &Path, named| private_folder(path, named).unwrap_err().to_string();
        for mode in [0o720, 0o702, 0o777] {
            set_mode(&folder, mode);
            assert!(refusal(&folder, true).contains("other users may write"), "{mode:o}");
        }
        set_mode(&folder, 0o755);
        private_folder(&folder, false).unwrap();
        let link = outer.path().join("link");
        symlink(&folder, &link).unwrap();
        assert!(refusal(&link, true).contains("symbolic link"));
        // Another user could rename it.
        set_mode(&outer.path().join("a"), 0o777);
        assert!(refusal(&folder, false).contains("may replace"));
        private_folder(&folder, true).unwrap();
        set_mode(&outer.path().join("a"), 0o1777);
        private_folder(&folder, false).unwrap();
    }

    #[test]
    fn a_folder_of_another_user_is_refused() {
        let outer = tempfile::tempdir().unwrap();
        let given = rustix::process::geteuid().is_root();
        let folder = if given { outer.path().to_path_buf() } else { PathBuf::from("/usr") };
        if given {
            // Only root can give a folder away; to all others those of root are foreign.
            std::os::unix::fs::chown(&folder, Some(12_345), None).unwrap();
        }
        let error = private_folder(&folder, true).unwrap_err().to_string();
        assert!(error.contains("belongs to user"), "{error}");
    }

    fn keep(cache: &Cache, name: &str, text: &str) {
        let work = cache.work().unwrap();
        let built = work.path().join("model.so");
        std::fs::write(&built, text).unwrap();
        cache.keep(name, "so", &built).unwrap();
    }

    #[test]
    fn an_object_that_is_not_what_was_built_is_not_opened() {
        let (_outer, cache) = temporary();
        assert!(cache.object("m").is_none());
        keep(&cache, "m", "the model");
        let path = cache.object("m").unwrap().path;
        std::fs::write(&path, "the mod").unwrap();
        assert!(cache.object("m").is_none(), "truncated");
        std::fs::write(&path, "the m0del").unwrap();
        assert!(cache.object("m").is_none(), "changed");
        std::fs::remove_file(&path).unwrap();
        let elsewhere = cache.path("elsewhere");
        std::fs::write(&elsewhere, "the model").unwrap();
        symlink(&elsewhere, &path).unwrap();
        assert!(cache.object("m").is_none(), "a link");
        keep(&cache, "m", "the model");
        std::fs::remove_file(cache.path("m.sha256")).unwrap();
        assert!(cache.object("m").is_none(), "no hash");
    }

    #[test]
    fn what_killed_builds_have_left_is_swept_and_what_lives_is_not() {
        let (_outer, cache) = temporary();
        keep(&cache, "m", "the model");
        let work = cache.work().unwrap();
        let other = Lock::wait(&cache.path("held.lock"), || ()).unwrap();
        for name in ["build-dead", "build-fresh", "build-old"] {
            std::fs::create_dir(cache.path(name)).unwrap();
            std::fs::write(cache.path(name).join("half.o"), "").unwrap();
        }
        for name in ["build-dead.lock", "stale.lock"] {
            std::fs::write(cache.path(name), "").unwrap();
        }
        let age = |name: &str, days| {
            let file = File::open(cache.path(name)).unwrap();
            file.set_modified(SystemTime::now() - DAY * days).unwrap();
        };
        age("build-old", 2);
        keep(&cache, "unused", "a model");
        age("unused.so", UNUSED_DAYS as u32 + 1);
        age("unused.sha256", UNUSED_DAYS as u32 + 1);
        cache.sweep();
        let mut left: Vec<String> = std::fs::read_dir(&cache.folder)
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        left.sort();
        let name = work.path().file_name().unwrap().to_str().unwrap().to_string();
        let mut wanted = vec!["build-fresh".into(), name.clone(), format!("{name}.lock"), "held.lock".into()];
        wanted.extend(["m.sha256", "m.so"].map(String::from));
        wanted.sort();
        assert_eq!(left, wanted);
        drop((work, other));
        assert!(!cache.path(&name).exists() && !cache.path("held.lock").exists());
    }

    #[test]
    fn use_keeps_a_model() {
        let (_outer, cache) = temporary();
        keep(&cache, "m", "the model");
        for kind in ["so", "sha256"] {
            let file = File::open(cache.path(&format!("m.{kind}"))).unwrap();
            file.set_modified(SystemTime::now() - DAY * 40).unwrap();
        }
        cache.object("m").unwrap();
        cache.sweep();
        assert!(cache.object("m").is_some());
    }
}
