//! Recording a wave: the model's text goes through a pipe to a thread that selects signals and writes the file.
//!
//! Verilator can only write every signal, as VCD. The thread reads that text, keeps the signals of the scope, and writes VCD
//! or FST; so one model serves both formats, and a wave of the interfaces is small.

use crate::wave_file::WaveFile;
use crate::wave_header::Header;
use crate::wave_save;
use anyhow::{anyhow, bail, Context, Result};
use std::io::{BufRead, BufReader, PipeReader, PipeWriter, Read};
use std::ops::Range;
use std::os::fd::{AsFd, BorrowedFd};
use std::path::{Path, PathBuf};
use std::sync::mpsc::{sync_channel, Receiver, SyncSender};
use std::thread::JoinHandle;

/// Which signals a wave holds.
///
/// A path names an instance or a signal from the top module on, such as `nic.packet_engine.parser`; a `*` in one of its
/// names stands for any letters. An instance selects all of its signals.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum WaveScope {
    /// Every signal.
    All,
    /// The signals of [`WaveOptions::groups`].
    Groups,
    /// The signals at these paths; a path without a signal is an error.
    Paths(Vec<String>),
}

/// Signals that stand together in the viewer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WaveGroup {
    /// Its title.
    pub name: String,
    /// Paths of its signals, as in [`WaveScope`].
    pub paths: Vec<String>,
}

/// How a wave is recorded.
#[derive(Clone, Debug)]
pub struct WaveOptions {
    /// Picoseconds of a clock cycle.
    pub period_ps: u64,
    /// Cycle, as [`crate::Model::cycle`] counts, that begins at time 0.
    pub origin: u64,
    /// Cycles that are recorded.
    pub window: Range<u64>,
    /// Signals that are recorded.
    pub scope: WaveScope,
    /// Groups of the GTKWave save file `<wave>.gtkw`; without groups none is written.
    pub groups: Vec<WaveGroup>,
}

impl Default for WaveOptions {
    /// Everything, by a clock of 250 MHz.
    fn default() -> Self {
        Self { period_ps: 4000, origin: 0, window: 0..u64::MAX, scope: WaveScope::All, groups: Vec::new() }
    }
}

/// A wave that is being recorded.
pub(crate) struct Recording {
    path: PathBuf,
    pipe: PipeWriter,
    thread: JoinHandle<Result<()>>,
    ready: Receiver<Result<()>>,
}

impl Recording {
    /// Creates the file and starts the thread that writes it.
    pub fn start(path: &Path, options: &WaveOptions) -> Result<Recording> {
        let no_wave = || format!("the wave {} cannot be written", path.display());
        let file = std::fs::File::create(path).with_context(no_wave)?;
        let (reader, pipe) = std::io::pipe().with_context(no_wave)?;
        let (sender, ready) = sync_channel(1);
        let (name, options) = (path.to_path_buf(), options.clone());
        let thread = std::thread::spawn(move || {
            let mut reader = BufReader::with_capacity(1 << 16, reader);
            let result = write(&mut reader, &name, file, &options, &sender);
            // A model that cannot get rid of its text would stop.
            let drained = std::io::copy(&mut reader, &mut std::io::sink());
            result.and(drained.map(|_| ()).context("the model's wave cannot be read"))
        });
        Ok(Recording { path: path.to_path_buf(), pipe, thread, ready })
    }

    /// Where the model writes.
    pub fn pipe(&self) -> BorrowedFd<'_> {
        self.pipe.as_fd()
    }

    /// Waits until the model's header is read and the file's written.
    pub fn wait_until_ready(&self) -> Result<()> {
        self.ready.recv().unwrap_or_else(|_| Err(anyhow!("the model wrote no header of a wave")))
    }

    /// Ends the file. The model must have closed the wave.
    pub fn finish(self) -> Result<()> {
        drop(self.pipe);
        let result = self.thread.join().map_err(|_| anyhow!("the thread that writes the wave panicked"))?;
        result.with_context(|| format!("the wave {} is not complete", self.path.display()))
    }

    /// The file.
    pub fn path(&self) -> &Path {
        &self.path
    }
}

/// Reads a wave from the model and writes its file.
fn write(
    reader: &mut BufReader<PipeReader>,
    path: &Path,
    file: std::fs::File,
    options: &WaveOptions,
    ready: &SyncSender<Result<()>>,
) -> Result<()> {
    let begin = || -> Result<WaveFile> {
        let header = Header::read(reader.by_ref())?;
        let chosen = select(&header, options)?;
        let names = header.chosen_names(&chosen);
        let out = WaveFile::create(path, file, &header, &chosen)?;
        if !options.groups.is_empty() {
            wave_save::write(path, options, &names)?;
        }
        Ok(out)
    };
    let mut out = match begin() {
        Ok(out) => out,
        Err(error) => {
            // The caller of `wait_until_ready` reports the error.
            let _ = ready.send(Err(error));
            return Ok(());
        }
    };
    let _ = ready.send(Ok(()));
    let mut line = Vec::new();
    loop {
        line.clear();
        if reader.read_until(b'\n', &mut line)? == 0 {
            return out.finish();
        }
        out.line(line.trim_ascii_end())?;
    }
}

/// Which variables of the header are kept.
fn select(header: &Header, options: &WaveOptions) -> Result<Vec<bool>> {
    let paths: Vec<&String> = match &options.scope {
        WaveScope::All => return Ok(vec![true; header.variables.len()]),
        WaveScope::Groups => options.groups.iter().flat_map(|group| &group.paths).collect(),
        WaveScope::Paths(paths) => paths.iter().collect(),
    };
    let mut chosen = vec![false; header.variables.len()];
    for path in &paths {
        let mut found = false;
        for (variable, chosen) in header.variables.iter().zip(&mut chosen) {
            if matches(path, &variable.path) {
                (*chosen, found) = (true, true);
            }
        }
        if !found && options.scope != WaveScope::Groups {
            bail!("the design has nothing at `{path}`; {}", header.advice(path));
        }
    }
    if !chosen.contains(&true) {
        bail!("the scope of the wave holds no signal of the design; choose another scope");
    }
    Ok(chosen)
}

/// Whether `path` names a signal, or an instance that contains the signal.
pub(crate) fn matches(path: &str, signal: &[String]) -> bool {
    let names: Vec<&str> = path.split('.').collect();
    names.len() <= signal.len() && names.iter().zip(signal).all(|(pattern, name)| glob(pattern, name))
}

/// Whether a pattern with `*` is all of `name`.
fn glob(pattern: &str, name: &str) -> bool {
    let Some((head, mut tail)) = pattern.split_once('*') else { return pattern == name };
    let Some(mut rest) = name.strip_prefix(head) else { return false };
    // Each part between two stars is looked for as early as possible; the last must be the end.
    while let Some((part, more)) = tail.split_once('*') {
        let Some(at) = rest.find(part) else { return false };
        (rest, tail) = (&rest[at + part.len()..], more);
    }
    rest.ends_with(tail)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_name_signals_instances_and_families() {
        let signal = ["nic", "hpu_array", "clusters[1]", "unit", "begun"].map(String::from);
        for path in ["nic", "nic.hpu_array", "nic.hpu_array.clusters[*].unit.begun", "*.hpu_*.*.u*t.*eg*", "nic.*_*"] {
            assert!(matches(path, &signal), "{path}");
        }
        for path in
            ["hpu_array", "nic.hpu", "nic.hpu_array.clusters[0]", "nic.hpu_array.*.unit.begun.x", "nic.*y_*y", "n*x"]
        {
            assert!(!matches(path, &signal), "{path}");
        }
    }
}
