//! Arguments of `spindle run`.

use super::host::HostArguments;
use super::pacing::PacingArguments;
use super::variables::VariableArguments;
use crate::fate_file::FateArguments;
use crate::konata::KonataArguments;
use crate::message_field::MessageFieldArguments;
use crate::pictures::PictureArguments;
use crate::waves::WaveArguments;
use spindle_sdk::Sources;
use spindle_sim::capture::Truncated;
use std::path::{Path, PathBuf};

/// Arguments of `spindle run`.
#[derive(clap::Args)]
pub struct RunArguments {
    #[command(flatten)]
    pub sources: Sources,
    /// Capture whose packets are played in: pcap or pcapng, Ethernet.
    #[arg(long, value_name = "IN.pcap")]
    pub pcap: PathBuf,
    /// Packets of which the capture holds only the first bytes: refuse the capture, or skip such packets.
    #[arg(long, value_enum, default_value_t = TruncatedArgument::Refuse)]
    pub truncated: TruncatedArgument,
    /// Packets for the handler, such as 'udp.dport == 9999 && ip.src in 10.0.0.0/8'; may be given several times. Without it, a
    /// shipped handler gets the packets of its default rule and any other handler gets all packets.
    #[arg(long = "match", value_name = "RULE")]
    pub rules: Vec<String>,
    /// The Spindle header names the message: handlers run per message instead of per packet.
    #[arg(long)]
    pub messages: bool,
    #[command(flatten)]
    pub message_field: MessageFieldArguments,
    /// Capture to write the answers to; with the suffix .pcapng, a comment with each answer names its request, its latency and its rule.
    #[arg(long, value_name = "OUT.pcap")]
    pub out: Option<PathBuf>,
    #[command(flatten)]
    pub waves: WaveArguments,
    /// Trace to write: a line for each instruction (the first use builds a model with a retirement port).
    #[arg(long, value_name = "TRACE.txt")]
    pub trace: Option<PathBuf>,
    #[command(flatten)]
    pub konata: KonataArguments,
    #[command(flatten)]
    pub fates: FateArguments,
    /// Report to write as JSON; `-` is standard output, and the text report then goes to standard error.
    #[arg(long, value_name = "REPORT.json")]
    pub json: Option<PathBuf>,
    #[command(flatten)]
    pub pictures: PictureArguments,
    /// Configuration of the NIC: sim, kintex7, alveo or alveo32.
    #[arg(long, default_value = "sim")]
    pub config: String,
    /// Recompute IPv4, UDP and ICMP checksums before playing: captures of a sender with offloads have unfinished ones.
    #[arg(long)]
    pub fix_checksums: bool,
    /// Cycles after the last frame before the run gives up on packets that are still inside.
    #[arg(long, default_value_t = 2_000_000)]
    pub cycles_limit: u64,
    /// Make the gaps random (0 to twice --gap, or around --rate), from this seed; also the seed of the host's latencies and of TX.
    #[arg(long)]
    pub seed: Option<u64>,
    /// Percentage of cycles in which the wire is ready for frames of the NIC.
    #[arg(long, default_value_t = 100, value_parser = clap::value_parser!(u32).range(1..=100))]
    pub tx_ready: u32,
    #[command(flatten)]
    pub pacing: PacingArguments,
    /// Cycle budget of a handler.
    #[arg(long, default_value_t = 100_000)]
    pub watchdog: u32,
    #[command(flatten)]
    pub variables: VariableArguments,
    #[command(flatten)]
    pub host: HostArguments,
    /// The card writes faults and prints to an event ring in host memory instead of queues that the host reads by registers: none is lost
    /// at high rates, and each message costs a write to host memory.
    #[arg(long)]
    pub event_ring: bool,
    /// Exit with success even if handlers faulted.
    #[arg(long)]
    pub allow_faults: bool,
    /// Faults to list for each function and cause; all are counted.
    #[arg(long, value_name = "LINES", default_value_t = 3)]
    pub fault_lines: usize,
}

/// Choice of `--truncated`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum TruncatedArgument {
    /// The capture is refused.
    Refuse,
    /// Such packets are left out and counted.
    Skip,
}

impl From<TruncatedArgument> for Truncated {
    fn from(argument: TruncatedArgument) -> Truncated {
        match argument {
            TruncatedArgument::Refuse => Truncated::Refuse,
            TruncatedArgument::Skip => Truncated::Skip,
        }
    }
}

impl RunArguments {
    /// Files that the run writes, by option.
    pub fn outputs(&self) -> Vec<(&'static str, &Path)> {
        let all = [
            ("--out", &self.out),
            ("--vcd", &self.waves.vcd),
            ("--trace", &self.trace),
            ("--konata", &self.konata.konata),
            ("--fates", &self.fates.fates),
            ("--timeline", &self.pictures.timeline),
            ("--html", &self.pictures.html),
            ("--plot", &self.pictures.plot),
            ("--json", &self.json),
            ("--host-out", &self.host.host_out),
        ];
        all.into_iter().filter_map(|(option, path)| Some((option, path.as_deref()?))).collect()
    }

    /// Files that the run reads, by option.
    pub fn inputs(&self) -> Vec<(&'static str, PathBuf)> {
        let mut inputs = vec![("--pcap", self.pcap.clone())];
        inputs.extend(self.sources.files.iter().map(|file| ("the handler", file.clone())));
        inputs.extend(self.variables.files().into_iter().map(|file| ("--set-file", file)));
        inputs.extend(self.host.host_file.iter().map(|file| ("--host-file", file.clone())));
        inputs
    }
}
