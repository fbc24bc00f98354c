//! `spindle report`: every figure of the simulated design, measured on the emitted Verilog, as JSON and as a table.
//!
//! A figure that cannot be measured is `null`, and `missing` has the reason; the others are measured all the same. `measured` says of each
//! figure how it was had. Areas come from synthesis and are added by `cargo xtask report`.

mod boards;
mod dummy;
mod host;
mod host_frames;
mod hpu;
mod line_rate;
mod measure;
mod put_context;
mod put_packet;
mod rvma;
mod rvma_network;
mod rvma_vs_rdma;
mod scale;
mod spin;
mod suites;

use anyhow::{anyhow, ensure, Context, Result};
pub use measure::Figure;
use serde_json::{json, Map, Value};
use spindle::Device;
use spindle_cli::session::Session;
use spindle_cli::table::table;
use spindle_contract::params::Config;
use spindle_harness::{Model, Source};
use spindle_hart::Hart;
use spindle_sim::{Options, SimDevice, SimHandle};
use std::path::{Path, PathBuf};
use std::time::Instant;

/// Bounds on the Verilog of the Alveo configuration, and on the seconds that it takes to make it.
const MOST_MODULES: usize = 200;
const MOST_BYTES: usize = 1_450_000;
const MOST_SECONDS: f64 = 5.0;
/// Cycles per put, and per frame of 64 bytes, of the command ring.
const MOST_RING: f64 = 8.0;
/// Bits per cycle of frames of 1500 bytes from and to host memory.
const LEAST_FRAMES: f64 = 450.0;
/// Placement may be late by one full-size segment: the moment of its look-up varies.
const MOST_LAG: f64 = 24.0;
/// Share error of two contexts with weights 1 and 3, in percent.
const MOST_UNFAIR: f64 = 5.0;
/// Cycles from a frame's first beat to its header handler.
const MOST_START: f64 = 24.0;
/// Times by which the 99th percentile of the latency may grow from idle to 80 % load.
const MOST_GROWTH: f64 = 4.0;
/// Cycles per smallest frame.
const MOST_MIN_FRAME: f64 = 2.0;
/// Last answer of a buffer's data to its record.
const MOST_COMPLETION: f64 = 8.0;
/// Payload of long puts, bits per cycle.
const LEAST_STREAM: f64 = 460.0;
/// Payload of puts of context memory, bits per cycle.
const LEAST_PUT_CONTEXT: f64 = 256.0;
/// Share of the wire's limit that long puts deliver, by the share of the frames that is lost.
const LEAST_GOODPUT: [(&str, f64); 4] = [
    ("rvma.goodput_at_loss.0", 0.95),
    ("rvma.goodput_at_loss.0_1", 0.90),
    ("rvma.goodput_at_loss.1", 0.70),
    ("rvma.goodput_at_loss.1_icrc", 0.95),
];
/// What RVMA saves at 8 bytes against RDMA on a wire of many paths.
const LEAST_REDUCTION: f64 = 0.458;
/// One-beat frames judged, and tasks handed over, per cycle; bits per cycle of 1024-byte echo, 95 % of the stream.
const LEAST_MATCHED: f64 = 0.6;
const LEAST_DISPATCHED: f64 = 1.0;
const LEAST_ECHO: f64 = 486.0;
/// Cycles between two handlers when one has to wait; cycles per instruction of the kernels.
const MOST_SWITCH: f64 = 2.0;
const MOST_STRAIGHT_CPI: f64 = 1.15;
const MOST_CPI: f64 = 1.30;
/// The least speed of the simulation of the default configuration: three quarters of that of a virtual machine of two cores.
const LEAST_SPEED: f64 = 60_000.0;

/// Two ranks of four NICs over one of eight, and what of their time is not the NICs'.
const LEAST_RANK_SPEEDUP: f64 = 1.8;
const MOST_SYNC_OVERHEAD: f64 = 0.05;
/// The share by which the time of calibrated models may be off that of NICs.
const MOST_MODEL_ERROR: f64 = 0.05;

/// Keys of [`verilog`] and [`simulation`].
const VERILOG: &[&str] =
    &["area.verilog_modules", "area.verilog_bytes", "area.verilog_modules_4_hpus", "elaboration.seconds"];
const SIMULATION: &[&str] = &["sim.build_seconds", "sim.cycles_per_second"];

/// Arguments of `spindle report`.
#[derive(clap::Args)]
pub struct ReportArguments {
    /// File for the figures.
    #[arg(long, value_name = "REPORT.json")]
    json: Option<PathBuf>,
    /// Configuration whose cycles and throughput are measured; the speed of the simulation is that of `sim`.
    #[arg(long, default_value = "alveo")]
    config: String,
    /// Folder with C sources of a program with a `main` that returns 0, to be run by a handler processor: `hpu.bench`.
    #[arg(long, value_name = "DIR")]
    bench: Option<PathBuf>,
    /// File in which `scale.calibration` is entered for the configuration.
    #[arg(long, value_name = "CALIBRATION.json")]
    calibration: Option<PathBuf>,
    /// Measure only figures whose key begins like this, for example `spin.` or `throughput.`.
    #[arg(long, value_name = "KEY")]
    only: Option<String>,
}

impl ReportArguments {
    /// Whether one of the keys is asked for.
    fn wants(&self, keys: &[&str]) -> bool {
        self.only.as_ref().is_none_or(|start| keys.iter().any(|key| key.starts_with(start.as_str())))
    }
}

/// The figures so far: a tree for the file and rows for the table.
#[derive(Default)]
pub struct Report {
    tree: Map<String, Value>,
    measured: Map<String, Value>,
    missing: Map<String, Value>,
    rows: Vec<[String; 3]>,
}

impl Report {
    /// Enters `value` at the dotted `key`.
    fn set(&mut self, key: &str, value: Value) {
        let mut place = &mut self.tree;
        let mut parts: Vec<&str> = key.split('.').collect();
        let last = parts.pop().expect("a split has at least one part");
        for part in parts {
            let inner = place.entry(part).or_insert_with(|| Value::Object(Map::new()));
            place = inner.as_object_mut().expect("no figure has the name of a group");
        }
        place.insert(last.into(), value);
    }

    /// Enters figures, or `null` for each of `keys` with the reason.
    pub fn enter(&mut self, keys: &[&str], figures: Result<Vec<Figure>>) {
        match figures {
            Ok(figures) => {
                for Figure { key, value, how } in figures {
                    self.rows.push([key.into(), text(&value), how.clone()]);
                    self.measured.insert(key.into(), how.into());
                    self.set(key, value);
                }
            }
            Err(error) => {
                let reason = format!("{error:#}");
                eprintln!("spindle: not measured: {}: {reason}", keys.join(", "));
                for key in keys {
                    self.rows.push([(*key).into(), "-".into(), "not measured".into()]);
                    self.missing.insert((*key).into(), reason.clone().into());
                    self.set(key, Value::Null);
                }
            }
        }
    }

    /// Writes the file.
    pub fn write(self, path: &Path) -> Result<()> {
        let text = serde_json::to_string_pretty(&self.json())?;
        std::fs::write(path, text + "\n").with_context(|| format!("cannot write {}", path.display()))
    }

    /// The whole file.
    fn json(mut self) -> Value {
        self.tree.insert("measured".into(), self.measured.into());
        self.tree.insert("missing".into(), self.missing.into());
        self.tree.into()
    }
}

/// A number as the table shows it.
fn text(value: &Value) -> String {
    match value.as_f64() {
        Some(number) if value.is_f64() && number.abs() < 1.0 => format!("{number:.4}"),
        Some(number) if value.is_f64() => format!("{number:.2}"),
        _ => value.to_string(),
    }
}

/// Measures everything, prints the table, writes the file.
pub fn report(arguments: &ReportArguments) -> Result<()> {
    let config = spindle_cli::config::config(&arguments.config)?;
    let mut report = Report::default();
    report.set(
        "config",
        json!({ "name": config.name, "clusters": config.clusters, "hpus": config.hpus, "clock_mhz": config.clock_mhz }),
    );
    if arguments.wants(VERILOG) {
        progress("elaborating");
        report.enter(VERILOG, verilog(&config));
    }
    if arguments.wants(SIMULATION) {
        progress("building the model of configuration `sim` anew");
        report.enter(SIMULATION, simulation());
    }
    if arguments.wants(host::KEYS) {
        progress("a served NIC of configuration `sim`");
        report.enter(host::KEYS, host::measure());
    }
    if arguments.wants(scale::EQUAL) {
        progress("networks on 1, 2 and 4 ranks");
        report.enter(scale::EQUAL, scale::equal());
    }
    if arguments.wants(scale::TIMES) {
        progress("a network of eight NICs on 1 and 2 ranks");
        report.enter(scale::TIMES, scale::times());
    }
    if arguments.wants(scale::INCAST) {
        progress("an incast of 255 models");
        report.enter(scale::INCAST, scale::incast());
    }
    if arguments.wants(hpu::CYCLES) || arguments.wants(hpu::CPI) || arguments.wants(&["hpu.bench"]) {
        progress("the handler processor alone");
        processor(&mut report, &config, arguments.bench.as_deref());
    }
    for (length, keys) in &boards::LINE_RATES {
        if arguments.wants(keys) {
            progress(&format!("frames of {length} bytes through a U280 with configuration `{}`", config.name));
            report.enter(keys, boards::line_rate_of(&config, *length, keys));
        }
    }
    if arguments.wants(&boards::LATENCIES) {
        progress("latency of the shell's crossings");
        report.enter(&boards::LATENCIES, boards::latencies());
    }
    progress(&format!("building the model of configuration `{}`", config.name));
    let source = spindle_sim::source(&config);
    let all = measure::MEASUREMENTS.into_iter().chain(rvma::MEASUREMENTS).chain(host_frames::MEASUREMENTS);
    let all = all.chain(line_rate::MEASUREMENTS);
    for (name, keys, measure) in all.chain(spin::MEASUREMENTS) {
        if !arguments.wants(keys) {
            continue;
        }
        progress(name);
        let figures = source
            .as_ref()
            .map_err(|error| anyhow!("{error:#}"))
            .and_then(|source| open(source, &config))
            .and_then(|mut session| measure(&mut session));
        report.enter(keys, figures);
    }
    for (name, keys, measure) in rvma_network::MEASUREMENTS {
        if !arguments.wants(keys) {
            continue;
        }
        progress(name);
        let figures = source.as_ref().map_err(|error| anyhow!("{error:#}")).and_then(|source| measure(source, &config));
        report.enter(keys, figures);
    }

    let mut on_networks = |keys: &[&str], name: &str, measure: &dyn Fn(&Source) -> Result<Vec<Figure>>| {
        if arguments.wants(keys) {
            progress(name);
            report.enter(keys, source.as_ref().map_err(|error| anyhow!("{error:#}")).and_then(measure));
        }
    };
    on_networks(scale::CALIBRATION, "the parameters of the calibrated model", &|source| {
        scale::calibration(source, &config, arguments.calibration.as_deref())
    });
    for (keys, check) in scale::MODEL_ERRORS {
        on_networks(keys, "models against NICs", &|source| scale::model_error(source, &config, keys[0], check));
    }
    for (keys, loss) in scale::LOSSY_ERRORS {
        let name = format!("models against NICs on cables that lose {loss} of the frames");
        on_networks(keys, &name, &|source| scale::lossy_error(source, &config, keys, loss));
    }

    println!("{}", table(["figure", "value", "how it was measured"], report.rows.clone(), false));
    let complaints = complaints(&report);
    complaints.iter().for_each(|complaint| println!("missed: {complaint}"));
    if let Some(path) = &arguments.json {
        report.write(path)?;
    }
    ensure!(
        complaints.is_empty(),
        "{} bounds are missed; the lines that begin with `missed` name them",
        complaints.len()
    );
    Ok(())
}

fn progress(text: &str) {
    eprintln!("spindle: {text}");
}

/// A NIC after reset, from a text that is built already or is built now.
fn open(source: &Source, config: &Config) -> Result<Session> {
    let card = SimHandle::new(SimDevice::new(source, config, Options::default())?);
    let device = Device::open(card.clone(), card.clone())?;
    Ok(Session { config: *config, card, device })
}

/// The figures of the handler processor.
fn processor(report: &mut Report, config: &Config, bench: Option<&Path>) {
    let mut hart = spindle_hart::open(config, 1);
    let mut on_bench = |measure: &dyn Fn(&mut Hart) -> Result<Vec<Figure>>| match &mut hart {
        Ok(hart) => measure(hart),
        Err(error) => Err(anyhow!("{error:#}")),
    };
    report.enter(hpu::CYCLES, on_bench(&hpu::cycles));
    report.enter(hpu::CPI, on_bench(&hpu::kernels));
    report.enter(&["hpu.bench"], on_bench(&|hart| hpu::bench(hart, bench)));
}

/// Size of the Verilog, the time that it takes, and that its modules do not grow in number with the HPUs.
fn verilog(config: &Config) -> Result<Vec<Figure>> {
    let emit = |config: Config| spindle_nic::emit(&config);
    let timed = || {
        let start = Instant::now();
        emit(*config).map(|design| (start.elapsed().as_secs_f64(), design))
    };
    let (mut seconds, design) = timed()?;
    for _ in 0..2 {
        seconds = seconds.min(timed()?.0);
    }
    let bytes: usize = design.modules.iter().map(|module| module.text.len()).sum();
    let few = emit(Config { clusters: 1, hpus: 4, ..*config })?.module_count();
    Ok(vec![
        Figure::new("area.verilog_modules", design.module_count(), "distinct modules of the whole NIC"),
        Figure::new("area.verilog_bytes", bytes, "bytes of their text"),
        Figure::new("area.verilog_modules_4_hpus", few, "the same with one cluster of 4 HPUs"),
        Figure::new("elaboration.seconds", seconds, "elaboration and emission, wall clock, best of 3"),
    ])
}

/// Builds the model of the default configuration from nothing, and times it.
fn simulation() -> Result<Vec<Figure>> {
    let source = spindle_sim::source(&Config::SIM)?;
    let cache = tempfile::tempdir().context("cannot make a folder for the model")?;
    let usual = std::env::var_os("SPINDLE_CACHE");
    std::env::set_var("SPINDLE_CACHE", cache.path());
    let start = Instant::now();
    let built = Model::build(&source);
    let seconds = start.elapsed().as_secs_f64();
    // The model stays loaded when its folder goes.
    let session = built.and_then(|_| open(&source, &Config::SIM));
    match usual {
        Some(path) => std::env::set_var("SPINDLE_CACHE", path),
        None => std::env::remove_var("SPINDLE_CACHE"),
    }
    let speed = measure::speed(&mut session?)?;
    ensure!(speed > 0.0, "the simulation did not move; its clock may be broken");
    Ok(vec![
        Figure::new("sim.build_seconds", seconds, "model of configuration sim, Verilator and compiler, nothing cached"),
        Figure::new(
            "sim.cycles_per_second",
            speed,
            "configuration sim answering pings of 64 to 1514 bytes, no wave, best of 5",
        ),
    ])
}

/// The bounds that are not kept, one sentence each.
fn complaints(report: &Report) -> Vec<String> {
    let number = |key: &str| {
        let mut parts = key.split('.');
        let first = report.tree.get(parts.next()?)?;
        parts.try_fold(first, |place, part| place.get(part))?.as_f64()
    };
    let mut complaints = Vec::new();
    let mut most = |key: &str, limit: f64| {
        if let Some(value) = number(key).filter(|value| *value > limit) {
            complaints.push(format!("{key} is {value}, the most is {limit}"));
        }
    };
    most("area.verilog_modules", MOST_MODULES as f64);
    most("area.verilog_bytes", MOST_BYTES as f64);
    most("elaboration.seconds", MOST_SECONDS);
    most("throughput.stream_bubbles", 0.0);
    most("throughput.placement_lag", MOST_LAG);
    most("hpu.start_cycles", 1.0);
    most("scale.sync_overhead", MOST_SYNC_OVERHEAD);
    scale::MODEL_ERRORS.iter().for_each(|(keys, _)| most(keys[0], MOST_MODEL_ERROR));
    most("host.ring_put_cycles", MOST_RING);
    most("host.ring_frame_cycles", MOST_RING);
    most("hpu.switch_cycles", MOST_SWITCH);
    for key in hpu::CPI {
        most(key, if hpu::STRAIGHT.contains(key) { MOST_STRAIGHT_CPI } else { MOST_CPI });
    }
    most("spin.fairness", MOST_UNFAIR);
    most("cycles.rvma_min_frame", MOST_MIN_FRAME);
    most("cycles.rvma_min_frame_random", MOST_MIN_FRAME);
    most("cycles.last_beat_to_completion", MOST_COMPLETION);
    most("cycles.handler_to_handler", 1.0);
    for length in [64, 128] {
        most(&format!("cycles.first_beat_to_header_handler.{length}"), MOST_START);
    }
    for length in spin::LATENCIES {
        let idle = number(&format!("spin.latency.{length}.idle.p99"));
        if let Some(idle) = idle {
            most(&format!("spin.latency.{length}.load_80.p99"), MOST_GROWTH * idle);
        }
    }
    let mut least = |key: &str, limit: f64| {
        if let Some(value) = number(key).filter(|value| *value < limit) {
            complaints.push(format!("{key} is {value:.2}, the least is {limit}"));
        }
    };
    least("scale.rtl_speedup_2_ranks", LEAST_RANK_SPEEDUP);
    least("sim.cycles_per_second", LEAST_SPEED);
    least("host.send_frame_1500_bits_per_cycle", LEAST_FRAMES);
    least("host.frame_receive_1500_bits_per_cycle", LEAST_FRAMES);
    least("spin.match_packets_per_cycle", LEAST_MATCHED);
    least("spin.dispatch_per_cycle", LEAST_DISPATCHED);
    least("rvma.vs_rdma.8.reduction_adaptive", LEAST_REDUCTION);
    least("rvma.stream_bits_per_cycle", LEAST_STREAM);
    put_context::KEYS.iter().for_each(|key| least(key, LEAST_PUT_CONTEXT));
    LEAST_GOODPUT.into_iter().for_each(|(key, limit)| least(key, limit));
    least("throughput.pingpong_1024_bits_per_cycle", LEAST_ECHO);
    if report.tree.get("scale").and_then(|scale| scale.get("ranks_equal")) == Some(&Value::Bool(false)) {
        complaints.push("the result of a network depends on the number of ranks".into());
    }
    if number("area.verilog_modules") != number("area.verilog_modules_4_hpus") {
        complaints.push("the number of modules grows with the number of HPUs".into());
    }
    complaints
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_missing_is_null_and_says_why() {
        let mut report = Report::default();
        report.enter(&["a.b.64", "a.b.128"], Ok(vec![Figure::new("a.b.64", 7, "counted")]));
        report.enter(&["a.c", "d"], Err(anyhow!("no tool")));
        let json = report.json();
        assert_eq!(json["a"]["b"]["64"], 7);
        assert_eq!((&json["a"]["c"], &json["d"]), (&Value::Null, &Value::Null));
        assert_eq!(
            (json["missing"]["a.c"].as_str(), json["measured"]["a.b.64"].as_str()),
            (Some("no tool"), Some("counted"))
        );
    }

    #[test]
    fn bounds_are_compared() {
        let mut report = Report::default();
        let figures = |modules: usize, few: usize, speed: f64| {
            Ok(vec![
                Figure::new("area.verilog_modules", modules, ""),
                Figure::new("area.verilog_modules_4_hpus", few, ""),
                Figure::new("sim.cycles_per_second", speed, ""),
            ])
        };
        report.enter(&[], figures(160, 160, LEAST_SPEED));
        assert!(complaints(&report).is_empty());
        report.enter(&[], figures(MOST_MODULES + 1, MOST_MODULES, LEAST_SPEED - 1.0));
        assert_eq!(complaints(&report).len(), 3);
        report.enter(&[], Ok(vec![Figure::new("hpu.cpi.filtering", 1.16, ""), Figure::new("hpu.cpi.crc32", 1.16, "")]));
        assert_eq!(complaints(&report).len(), 4);
        let figures = |equal: bool, speedup: f64, overhead: f64| {
            let times = [Figure::new(scale::TIMES[0], speedup, ""), Figure::new(scale::TIMES[1], overhead, "")];
            Ok(Vec::from([Figure::new(scale::EQUAL[0], equal, "")]).into_iter().chain(times).collect())
        };
        report.enter(&[], figures(true, 1.8, 0.05));
        assert_eq!(complaints(&report).len(), 4);
        report.enter(&[], figures(false, 1.79, 0.06));
        assert_eq!(complaints(&report).len(), 7);
    }
}
