//! The arguments of waves: file, signals, cycles.

use crate::session::Session;
use anyhow::{bail, ensure, Context, Result};
use spindle_harness::WaveScope;
use spindle_sim::WaveRequest;
use std::ops::Range;
use std::path::PathBuf;

/// Arguments that record a wave.
#[derive(clap::Args)]
pub struct WaveArguments {
    /// Wave to record: FST if the name ends in .fst, else VCD; with a save file <WAVE>.gtkw for GTKWave. The model that
    /// records is built the first time, and half as fast.
    #[arg(long, value_name = "WAVE")]
    pub vcd: Option<PathBuf>,
    /// Signals of the wave: `interfaces` (streams, descriptors, handler starts), `all` (large), or paths of instances or signals such as
    /// nic.packet_engine.parser or 'nic.rx_*'; several by commas.
    #[arg(long, value_name = "SCOPE", default_value = "interfaces", requires = "vcd")]
    vcd_scope: String,
    /// Cycles of the wave, counted from reset: FROM..TO, FROM.. or ..TO.
    #[arg(long, value_name = "FROM..TO", requires = "vcd", value_parser = window)]
    vcd_window: Option<Range<u64>>,
}

/// Reads `FROM..TO`; either number may be left out.
fn window(text: &str) -> Result<Range<u64>> {
    let (from, to) = text.split_once("..").context("give two cycles, as in 1000..2000")?;
    let number = |digits: &str, otherwise: u64| match digits.trim() {
        "" => Ok(otherwise),
        digits => digits.replace('_', "").parse().with_context(|| format!("`{digits}` is no cycle; give a number")),
    };
    let window = number(from, 0)?..number(to, u64::MAX)?;
    ensure!(!window.is_empty(), "the window {text} holds no cycle; give a TO that is larger than FROM");
    Ok(window)
}

/// Reads `interfaces`, `all` or paths.
fn scope(text: &str) -> Result<WaveScope> {
    let paths: Vec<String> = text.split(',').map(|path| path.trim().to_string()).collect();
    if paths.iter().any(String::is_empty) {
        bail!("--vcd-scope {text} has an empty path; give `interfaces`, `all` or paths such as nic.packet_engine");
    }
    match paths.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["interfaces"] => Ok(WaveScope::Groups),
        ["all"] => Ok(WaveScope::All),
        ref words if words.contains(&"all") || words.contains(&"interfaces") => {
            bail!("--vcd-scope {text} mixes paths with `all` or `interfaces`; give one of these words alone, or paths")
        }
        _ => Ok(WaveScope::Paths(paths)),
    }
}

impl WaveArguments {
    /// The wave to record; `None` without the option.
    pub fn request(&self) -> Result<Option<WaveRequest>> {
        let window = self.vcd_window.clone().unwrap_or(0..u64::MAX);
        let request = || Ok(WaveRequest { scope: scope(&self.vcd_scope)?, window });
        self.vcd.as_ref().map(|_| request()).transpose()
    }

    /// Starts the recording.
    pub fn open(&self, session: &Session, request: Option<&WaveRequest>) -> Result<()> {
        let (Some(path), Some(request)) = (&self.vcd, request) else { return Ok(()) };
        session.card.sim().wave_open(path, request)
    }

    /// Ends the recording and reports which cycles are in the file.
    pub fn close(&self, session: &Session, request: Option<&WaveRequest>, first: u64) -> Result<()> {
        let (Some(path), Some(request)) = (&self.vcd, request) else { return Ok(()) };
        session.card.sim().wave_close()?;
        let end = session.card.sim().cycle();
        let (from, to) = (first.max(request.window.start), end.min(request.window.end));
        if from >= to {
            eprintln!(
                "spindle: the wave is empty: the run took cycles {first} to {end}; give a --vcd-window among them"
            );
        } else {
            let save = path.with_extension("gtkw");
            eprintln!(
                "spindle: wave of cycles {from} to {to} in {}, signals in groups in {}",
                path.display(),
                save.display()
            );
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn windows_may_be_open_and_not_empty() {
        assert_eq!(window("10..20").unwrap(), 10..20);
        assert_eq!(window("1_000..").unwrap(), 1000..u64::MAX);
        assert_eq!(window("..7").unwrap(), 0..7);
        for (bad, words) in [("7", "two cycles"), ("9..9", "no cycle"), ("9..3", "larger"), ("a..3", "`a` is no cycle")]
        {
            let error = format!("{:#}", window(bad).unwrap_err());
            assert!(error.contains(words), "{bad}: {error}");
        }
    }

    #[test]
    fn scopes_are_words_or_paths() {
        assert_eq!(scope("interfaces").unwrap(), WaveScope::Groups);
        assert_eq!(scope("all").unwrap(), WaveScope::All);
        assert_eq!(scope("nic.a, nic.b").unwrap(), WaveScope::Paths(vec!["nic.a".into(), "nic.b".into()]));
        assert!(scope("all,nic.a").unwrap_err().to_string().contains("alone"));
        assert!(scope("nic.a,").unwrap_err().to_string().contains("empty path"));
    }
}
