//! Arguments of `spindle run`.

use crate::toolchain::Sources;
use std::path::PathBuf;

/// Arguments of `spindle run`.
#[derive(clap::Args)]
pub struct RunArguments {
    #[command(flatten)]
    pub sources: Sources,
    /// Capture whose packets are played in.
    #[arg(long, value_name = "IN.pcap")]
    pub pcap: PathBuf,
    /// Packets for the handler, such as 'udp.dport == 9999 && ip.src in 10.0.0.0/8'; may be given several times. Without it, a
    /// shipped handler gets the packets it is meant for and any other handler gets all.
    #[arg(long = "match", value_name = "RULE")]
    pub rules: Vec<String>,
    /// The Spindle header names the message: handlers run per message instead of per packet.
    #[arg(long)]
    pub messages: bool,
    /// Capture to write the answers to.
    #[arg(long, value_name = "OUT.pcap")]
    pub out: Option<PathBuf>,
    /// Wave to record (large, and slow).
    #[arg(long, value_name = "WAVE.vcd")]
    pub vcd: Option<PathBuf>,
    /// Trace to write: a line for each instruction (needs a model of its own, built the first time).
    #[arg(long, value_name = "TRACE.txt")]
    pub trace: Option<PathBuf>,
    /// Report to write as JSON.
    #[arg(long, value_name = "REPORT.json")]
    pub json: Option<PathBuf>,
    /// Configuration of the NIC: sim, kintex7 or alveo.
    #[arg(long, default_value = "sim")]
    pub config: String,
    /// Compute IPv4, UDP and ICMP checksums anew before playing: captures of a sender with offloads have unfinished ones.
    #[arg(long)]
    pub fix_checksums: bool,
    /// Cycles after which packets that are still inside are given up.
    #[arg(long, default_value_t = 2_000_000)]
    pub cycles_limit: u64,
    /// Make the gaps random (0 to twice --gap), from this seed; also the seed of the host's latencies and of TX.
    #[arg(long)]
    pub seed: Option<u64>,
    /// Percentage of cycles in which the wire takes what the NIC sends.
    #[arg(long, default_value_t = 100, value_parser = clap::value_parser!(u32).range(1..=100))]
    pub tx_ready: u32,
    /// Idle cycles before each packet.
    #[arg(long, default_value_t = 200, value_parser = clap::value_parser!(u64).range(..=1_000_000_000))]
    pub gap: u64,
    /// Cycle budget of a handler.
    #[arg(long, default_value_t = 100_000)]
    pub watchdog: u32,
}
