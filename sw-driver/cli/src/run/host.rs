//! The host region of the handler: filled before the run, written to a file after it.

use super::HOST_BYTES;
use crate::session::Session;
use anyhow::{ensure, Context, Result};
use spindle::HostMemory;
use std::path::PathBuf;

/// Arguments of host memory.
#[derive(clap::Args)]
pub struct HostArguments {
    /// Fill the start of the handler's host region (1 MiB, else zero) with the bytes of a file before the run.
    #[arg(long, value_name = "FILE")]
    pub host_file: Option<PathBuf>,
    /// Write the handler's host region (1 MiB) to a file after the run.
    #[arg(long, value_name = "FILE")]
    pub host_out: Option<PathBuf>,
}

impl HostArguments {
    /// The bytes at the start of the region.
    ///
    /// # Errors
    /// The file cannot be read or is larger than the region.
    pub fn content(&self) -> Result<Vec<u8>> {
        let Some(path) = &self.host_file else { return Ok(Vec::new()) };
        let content = std::fs::read(path).with_context(|| format!("cannot read --host-file {}", path.display()))?;
        ensure!(
            content.len() <= HOST_BYTES as usize,
            "--host-file {} has {} bytes; the handler's host region has {HOST_BYTES}",
            path.display(),
            content.len()
        );
        Ok(content)
    }
}

/// The bytes of the region.
///
/// # Errors
/// The host memory refuses.
pub fn region(session: &Session, host: u64) -> Result<Vec<u8>> {
    let mut region = vec![0; HOST_BYTES as usize];
    session.device.memory.read(host, &mut region)?;
    Ok(region)
}
