//! Output files of a run.

use super::RunArguments;
use crate::play::Played;
use crate::session::Session;
use crate::summary::Summary;
use anyhow::{bail, Context, Result};
use spindle_sim::capture::{self, Captured};
use std::time::Duration;

/// Writes what the user asked for.
pub fn write_files(arguments: &RunArguments, session: &Session, played: &Played, summary: &Summary) -> Result<()> {
    if let Some(path) = &arguments.out {
        let packets: Vec<_> = played
            .replies
            .iter()
            .map(|reply| Captured {
                time: Duration::from_nanos(session.nanoseconds(reply.frame.first as f64) as u64),
                bytes: reply.frame.bytes.clone(),
            })
            .collect();
        capture::write(path, &packets)?;
        eprintln!("spindle: {} answers in {}", packets.len(), path.display());
    }
    if let Some(path) = &arguments.json {
        let text = serde_json::to_string_pretty(summary)?;
        std::fs::write(path, text + "\n").with_context(|| format!("cannot write {}", path.display()))?;
    }
    if let Some(path) = &arguments.vcd {
        if !path.exists() {
            bail!("the wave {} was not written; check that its folder exists", path.display());
        }
        eprintln!("spindle: wave in {}", path.display());
    }
    Ok(())
}
