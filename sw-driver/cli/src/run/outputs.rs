//! Output files of a run: all are opened before the run, and each is complete or absent after it.
//!
//! A file is written under a temporary name beside its own and renamed when it is complete, so a run that fails or is
//! killed leaves neither half a file nor damage to an older one. Devices and pipes are written directly, and `-` is
//! standard output.

use anyhow::{bail, ensure, Context, Result};
use std::fs::{File, Metadata, OpenOptions, Permissions};
use std::io::{BufWriter, Write};
use std::os::unix::fs::{FileTypeExt, MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use tempfile::NamedTempFile;

/// Name of standard output.
const STANDARD: &str = "-";

/// An output of [`Outputs`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Slot(usize);

/// What a path names: files that exist by device and inode, others by the canonical path that they will have.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Identity {
    Inode(u64, u64),
    Path(PathBuf),
}

/// Where the bytes of an output go.
enum Target {
    /// A temporary file, and the name that it gets.
    Temporary(NamedTempFile, PathBuf),
    /// A device or a pipe.
    Direct(File),
    Standard,
}

struct Output {
    /// Option and path, for messages.
    title: String,
    /// `None` once the output is complete or has failed.
    target: Option<Target>,
}

/// The temporary files of a run, for removal when the program is killed.
pub type Leftovers = Arc<Mutex<Vec<PathBuf>>>;

/// All outputs of a run.
#[derive(Default)]
pub struct Outputs {
    outputs: Vec<Output>,
    taken: Vec<(Identity, String)>,
    failures: Vec<String>,
    leftovers: Leftovers,
}

impl Outputs {
    /// Registers a file that the run reads: no output may overwrite it.
    pub fn input(&mut self, option: &str, path: &Path) {
        if let Ok(metadata) = std::fs::metadata(path) {
            if metadata.is_file() {
                self.taken.push((inode(&metadata), format!("{option} {}", path.display())));
            }
        }
    }

    /// Opens an output.
    ///
    /// # Errors
    /// The path cannot be written, or names the same file as an input or another output.
    pub fn open(&mut self, option: &str, path: &Path) -> Result<Slot> {
        let title = format!("{option} {}", path.display());
        let target = self.target(path, &title).with_context(|| format!("cannot write {title}"))?;
        if let Target::Temporary(file, _) = &target {
            self.leftovers.lock().expect("no holder of the list panics").push(file.path().to_owned());
        }
        self.outputs.push(Output { title, target: Some(target) });
        Ok(Slot(self.outputs.len() - 1))
    }

    /// Opens an output if its option was given.
    ///
    /// # Errors
    /// As for [`Outputs::open`].
    pub fn open_if(&mut self, option: &str, path: Option<&PathBuf>) -> Result<Option<Slot>> {
        path.map(|path| self.open(option, path)).transpose()
    }

    /// Registers an output that another writer opens by its path, as the model does with a wave.
    ///
    /// # Errors
    /// As for [`Outputs::open`].
    pub fn external(&mut self, option: &str, path: &Path) -> Result<()> {
        let title = format!("{option} {}", path.display());
        let cannot = || format!("cannot write {title}");
        self.destination(path, &title).with_context(cannot)?;
        // Opened for appending, so a file that exists stays as it is until the writer opens it; a new one is not left empty.
        let exists = path.exists();
        OpenOptions::new().append(true).create(true).open(path).with_context(cannot)?;
        if !exists {
            std::fs::remove_file(path).with_context(cannot)?;
        }
        Ok(())
    }

    fn target(&mut self, path: &Path, title: &str) -> Result<Target> {
        if path.as_os_str() == STANDARD {
            let standard = Identity::Path(STANDARD.into());
            self.claim(standard, title)?;
            return Ok(Target::Standard);
        }
        let Some(destination) = self.destination(path, title)? else {
            return Ok(Target::Direct(OpenOptions::new().write(true).open(path)?));
        };
        let (folder, name) = (destination.parent().unwrap_or(Path::new("/")), destination.file_name());
        let prefix = format!(".{}.", name.unwrap_or_default().to_string_lossy());
        // The permissions of a new file, as the umask leaves them, or those of the file that is replaced.
        let existing = std::fs::metadata(&destination).ok().map(|metadata| metadata.permissions());
        let file = tempfile::Builder::new()
            .prefix(&prefix)
            .suffix(".partial")
            .permissions(Permissions::from_mode(0o666))
            .tempfile_in(folder)
            .with_context(|| format!("its folder {} takes no new file", folder.display()))?;
        if let Some(permissions) = existing {
            file.as_file().set_permissions(permissions)?;
        }
        Ok(Target::Temporary(file, destination))
    }

    /// The canonical path of a regular file, `None` for a device or a pipe. The path is claimed.
    fn destination(&mut self, path: &Path, title: &str) -> Result<Option<PathBuf>> {
        match std::fs::metadata(path) {
            Ok(metadata) if metadata.is_dir() => bail!("it is a folder; give the name of a file"),
            Ok(metadata) if metadata.is_file() => {
                self.claim(inode(&metadata), title)?;
                // A rename would replace a file that may not be written.
                OpenOptions::new().append(true).open(path)?;
                Ok(Some(path.canonicalize()?))
            }
            Ok(metadata) => {
                // A device such as /dev/null takes any number of outputs.
                if metadata.file_type().is_fifo() {
                    self.claim(inode(&metadata), title)?;
                }
                Ok(None)
            }
            Err(_) => {
                let name = path.file_name().context("the path ends without the name of a file")?;
                let folder = match path.parent() {
                    Some(folder) if folder != Path::new("") => folder,
                    _ => Path::new("."),
                };
                let folder = folder
                    .canonicalize()
                    .with_context(|| format!("the folder {} cannot be used; create it first", folder.display()))?;
                let destination = folder.join(name);
                self.claim(Identity::Path(destination.clone()), title)?;
                Ok(Some(destination))
            }
        }
    }

    fn claim(&mut self, identity: Identity, title: &str) -> Result<()> {
        if let Some((_, other)) = self.taken.iter().find(|(taken, _)| *taken == identity) {
            bail!("{other} is the same file; give each input and output a file of its own");
        }
        self.taken.push((identity, title.to_owned()));
        Ok(())
    }

    /// The temporary files, for removal when the program is killed.
    pub fn leftovers(&self) -> Leftovers {
        self.leftovers.clone()
    }

    /// Some output goes to standard output, so a report for readers goes elsewhere.
    pub fn on_standard_output(&self) -> bool {
        self.outputs.iter().any(|output| matches!(output.target, Some(Target::Standard)))
    }

    /// A second handle on an output, for writing while the run goes on; [`Outputs::write`] completes the output.
    ///
    /// # Errors
    /// The system has no file handle left.
    pub fn stream(&self, slot: Slot) -> Result<Box<dyn Write + Send>> {
        Ok(match &self.outputs[slot.0].target {
            Some(Target::Temporary(file, _)) => Box::new(file.as_file().try_clone()?),
            Some(Target::Direct(file)) => Box::new(file.try_clone()?),
            Some(Target::Standard) => Box::new(std::io::stdout()),
            None => bail!("{} is complete", self.outputs[slot.0].title),
        })
    }

    /// Writes the rest of an output and completes it. A failure is kept for [`Outputs::finish`]; returns whether there was none.
    pub fn write(&mut self, slot: Slot, write: impl FnOnce(&mut dyn Write) -> Result<()>) -> bool {
        let output = &mut self.outputs[slot.0];
        let Some(target) = output.target.take() else { return false };
        let result = complete(target, write);
        if let Err(error) = &result {
            self.failures.push(format!("{}: {error:#}", output.title));
        }
        result.is_ok()
    }

    /// Keeps the failure of an output that another writer wrote, for [`Outputs::finish`].
    pub fn failed(&mut self, option: &str, error: &anyhow::Error) {
        self.failures.push(format!("{option}: {error:#}"));
    }

    /// Ends the outputs: those that were not completed are removed.
    ///
    /// # Errors
    /// The failures of all outputs, in one sentence.
    pub fn finish(self) -> Result<()> {
        let count = self.failures.len();
        let outputs = if count == 1 { "output was" } else { "outputs were" };
        ensure!(count == 0, "{count} {outputs} not written: {}", self.failures.join("; "));
        Ok(())
    }
}

fn inode(metadata: &Metadata) -> Identity {
    Identity::Inode(metadata.dev(), metadata.ino())
}

fn complete(target: Target, write: impl FnOnce(&mut dyn Write) -> Result<()>) -> Result<()> {
    let through = |file: &File, write: &mut dyn FnMut(&mut dyn Write) -> Result<()>| {
        let mut buffered = BufWriter::new(file);
        write(&mut buffered)?;
        buffered.flush().map_err(anyhow::Error::from)
    };
    let mut write = Some(write);
    let mut once = |to: &mut dyn Write| write.take().map_or(Ok(()), |write| write(to));
    match target {
        Target::Temporary(file, destination) => {
            through(file.as_file(), &mut once)?;
            file.persist(&destination).map_err(|error| error.error)?;
        }
        Target::Direct(file) => through(&file, &mut once)?,
        Target::Standard => {
            let mut standard = std::io::stdout().lock();
            once(&mut standard)?;
            standard.flush()?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_whole_or_absent() {
        let folder = tempfile::tempdir().unwrap();
        let [whole, failed, never] = ["whole", "failed", "never"].map(|name| folder.path().join(name));
        std::fs::write(&failed, "older").unwrap();
        let mut outputs = Outputs::default();
        let slots =
            [("--a", &whole), ("--b", &failed), ("--c", &never)].map(|(o, path)| outputs.open(o, path).unwrap());
        assert!(outputs.write(slots[0], |file| Ok(file.write_all(b"all of it")?)));
        assert!(!outputs.write(slots[1], |file| {
            file.write_all(b"half of")?;
            bail!("no more")
        }));
        assert!(outputs.finish().unwrap_err().to_string().contains("1 output was not written: --b"));
        assert_eq!(std::fs::read_to_string(&whole).unwrap(), "all of it");
        assert_eq!(std::fs::read_to_string(&failed).unwrap(), "older");
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 2, "no temporary file is left");
        assert_eq!(std::fs::metadata(&whole).unwrap().permissions().mode() & 0o600, 0o600);
    }

    #[test]
    fn two_names_of_one_file_are_one_file() {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        std::fs::write(path("in"), "input").unwrap();
        std::fs::hard_link(path("in"), path("hard")).unwrap();
        std::os::unix::fs::symlink(path("in"), path("soft")).unwrap();
        std::fs::create_dir(path("folder")).unwrap();
        let mut outputs = Outputs::default();
        outputs.input("--pcap", &path("in"));
        for name in ["in", "hard", "soft", "folder/../in"] {
            let error = format!("{:#}", outputs.open("--out", &path(name)).unwrap_err());
            assert!(error.contains("--pcap") && error.contains("same file"), "{error}");
        }
        outputs.open("--out", &path("new")).unwrap();
        let error = format!("{:#}", outputs.open("--json", &path("folder/../new")).unwrap_err());
        assert!(error.contains("--out"), "{error}");
        outputs.open("--json", Path::new("-")).unwrap();
        assert!(outputs.open("--trace", Path::new("-")).is_err() && outputs.on_standard_output());
        assert!(format!("{:#}", outputs.open("--x", &path("folder")).unwrap_err()).contains("is a folder"));
        assert!(format!("{:#}", outputs.open("--x", &path("no/file")).unwrap_err()).contains("create it first"));
        for _ in 0..2 {
            outputs.open("--x", Path::new("/dev/null")).unwrap();
        }
    }
}
