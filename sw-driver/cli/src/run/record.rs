//! Inputs of a run: command line, versions, capture, rules, seeds, files. Part of the JSON report, so that a run can be
//! repeated.

use super::pacing::PacingReport;
use super::RunArguments;
use serde::Serialize;
use sha2::{Digest, Sha256};
use spindle_sdk::Handler;
use spindle_sim::capture::Capture;
use std::collections::BTreeMap;
use std::path::Path;

/// The capture that was played.
#[derive(Clone, Debug, Serialize)]
pub struct CaptureRecord {
    /// Path as given.
    pub file: String,
    /// `pcap` or `pcapng`.
    pub format: &'static str,
    /// SHA-256 of the file.
    pub sha256: String,
    /// Packets played.
    pub packets: usize,
    /// Their bytes without FCS.
    pub bytes: usize,
    /// Packets left out because the capture holds only their first bytes.
    pub truncated: usize,
    /// Interfaces that packets were captured on.
    pub interfaces: usize,
    /// Time from the first packet to the last in the capture.
    pub seconds: f64,
}

impl CaptureRecord {
    /// Of a capture that was read from a file with this hash.
    pub fn of(path: &Path, sha256: String, capture: &Capture) -> CaptureRecord {
        let time =
            |packet: Option<&spindle_sim::capture::Captured>| packet.map(|packet| packet.time).unwrap_or_default();
        let packets = &capture.packets;
        CaptureRecord {
            file: path.display().to_string(),
            format: capture.format.name(),
            sha256,
            packets: packets.len(),
            bytes: packets.iter().map(|packet| packet.bytes.len()).sum(),
            truncated: capture.truncated,
            interfaces: capture.interfaces,
            seconds: time(packets.last()).saturating_sub(time(packets.first())).as_secs_f64(),
        }
    }
}

/// Hexadecimal SHA-256.
pub fn sha256(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Versions of what took part.
#[derive(Clone, Debug, Serialize)]
pub struct Versions {
    /// This program.
    pub spindle: &'static str,
    /// The contract between driver and card.
    pub contract: u32,
    /// Verilator, if one is installed.
    pub verilator: Option<String>,
    /// Compiler of the handler and its target; `None` for an ELF image.
    pub compiler: Option<String>,
}

/// A run.
#[derive(Clone, Debug, Serialize)]
pub struct Record {
    /// Words of the command line, the program first.
    pub command: Vec<String>,
    /// Versions.
    pub versions: Versions,
    /// Name of the configuration.
    pub config: String,
    /// SHA-256 of the handler's ELF image.
    pub image_sha256: String,
    /// The capture.
    pub capture: CaptureRecord,
    /// Rules in the order of the card; those of a shipped handler if none was given.
    pub rules: Vec<String>,
    /// Handlers run per message.
    pub messages: bool,
    /// Seed of random gaps, of the host's latencies and of TX; `None` = seed 1, and even gaps.
    pub seed: Option<u64>,
    /// When packets enter.
    pub pacing: PacingReport,
    /// Percentage of cycles in which TX is ready.
    pub tx_ready: u32,
    /// Cycle budget of a handler.
    pub watchdog: u32,
    /// Faults and prints came by an event ring.
    pub event_ring: bool,
    /// Output files by option.
    pub files: BTreeMap<&'static str, String>,
}

impl Record {
    /// Of a run of these arguments.
    pub fn of(
        arguments: &RunArguments,
        handler: &Handler,
        capture: CaptureRecord,
        rules: Vec<String>,
        messages: bool,
    ) -> Record {
        let files = arguments.outputs().into_iter();
        Record {
            command: std::env::args_os().map(|word| word.to_string_lossy().into_owned()).collect(),
            versions: Versions {
                spindle: env!("CARGO_PKG_VERSION"),
                contract: spindle_contract::VERSION,
                verilator: spindle_harness::verilator_version(),
                compiler: handler.compiler.clone(),
            },
            config: arguments.config.clone(),
            image_sha256: sha256(&handler.elf),
            capture,
            rules,
            messages,
            seed: arguments.seed,
            pacing: arguments.pacing.report(arguments.seed),
            tx_ready: arguments.tx_ready,
            watchdog: arguments.watchdog,
            event_ring: arguments.event_ring,
            files: files.map(|(option, path)| (option, path.display().to_string())).collect(),
        }
    }
}
