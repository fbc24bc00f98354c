//! Figures of networks: runs of `spindle network`, in one process and in ranks of MPI.

use super::measure::Figure;
use anyhow::{ensure, Context, Result};
use serde_json::Value;
use spindle_contract::params::Config;
use spindle_harness::{present_commit, Source};
use spindle_network::calibration::{compare_at_loss, lossy_motifs, measure, worst, Check, Compared, HOST_LATENCY};
use spindle_network::cases::Cases;
use spindle_network::model::{parameters, Calibration};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Whether results do not depend on the ranks.
pub const EQUAL: &[&str] = &["scale.ranks_equal"];
/// Times of eight NICs: they want two cores without other work.
pub const TIMES: &[&str] = &["scale.rtl_speedup_2_ranks", "scale.sync_overhead"];

/// The parameters of the calibrated model.
pub const CALIBRATION: &[&str] = &["scale.calibration"];
/// How far the calibrated model is from NICs.
pub const MODEL_ERRORS: [(&[&str], Check); 9] = [
    (&["scale.model_error.ping_pong"], Check::PingPong),
    (&["scale.model_error.rate"], Check::Rate),
    (&["scale.model_error.long"], Check::Long),
    (&["scale.model_error.incast"], Check::Incast),
    (&["scale.model_error.halo"], Check::Halo),
    (&["scale.model_error.sweep"], Check::Sweep),
    (&["scale.model_error.broadcast"], Check::Broadcast),
    (&["scale.model_error.allreduce"], Check::Allreduce),
    (&["scale.model_error.all_to_all"], Check::AllToAll),
];
/// How far it is from NICs while each cable loses this share of the frames: in the mean over motifs, and in the worst one.
pub const LOSSY_ERRORS: [(&[&str], f64); 2] = [
    (&["scale.model_error_at_loss.0_1.mean", "scale.model_error_at_loss.0_1.worst"], 0.001),
    (&["scale.model_error_at_loss.1.mean", "scale.model_error_at_loss.1.worst"], 0.01),
];
/// Nodes of these networks, and seeds of each motif.
const LOSSY_NODES: [usize; 2] = [4, 8];
const SEEDS: u64 = 6;
/// Goodput of an incast of 255 models, by the share of the frames that cables lose.
pub const INCAST: &[&str] = &["scale.incast.0", "scale.incast.0_1", "scale.incast.1"];
/// The study, and its payload in the cycles of a line of 128 Gb/s: 255 messages of 1 MiB, 64 bytes a cycle.
const INCAST_STUDY: &str = include_str!("../../../network/studies/incast256.toml");
const INCAST_CYCLES: f64 = (255u64 << 20) as f64 / 64.0;

/// Nodes of the networks on which models and NICs are compared. In a ping-pong and in rows of puts to the next node, more nodes show
/// nothing new.
fn compared(check: Check) -> &'static [usize] {
    match check {
        Check::PingPong | Check::Rate | Check::Long => &[2, 4],
        _ => &[4, 8, 16],
    }
}

/// Runs of a study, of which the best counts.
const RUNS: usize = 3;

/// Eight Verilated NICs, four a rank, with windows of 35 cycles.
const EIGHT: &str = include_str!("../../../network/studies/overhead8.toml");

/// What has to be the same: four Verilated NICs with two paths between them, and 64 stand-ins on a network that drops, marks and changes
/// frames. Cables lose frames in both.
const STUDIES: [(&str, &str); 2] = [
    (
        "four Verilated NICs",
        "[topology]\nkind = 'fat_tree'\ndown = [1, 4]\nup = [2]\n\
         [cables]\nloss = 0.02\n\
         [switches]\nrouting = 'adaptive'\n\
         [nodes]\nkind = 'nic'\n\
         [program]\nkind = 'puts'\npattern = 'all_to_all'\nmessages = 3\nbytes = 6000\nstart = 8000\n\
         [noise]\nevery_cycles = 2000\npause_cycles = [100, 300]\n",
    ),
    (
        "64 stand-ins",
        "[topology]\nkind = 'hyperx'\nshape = [4, 4]\nwidth = 2\nnodes = 4\n\
         [cables]\nloss = 0.004\ncorruption = 0.002\n\
         [switches]\nrouting = 'adaptive'\nqueue_bytes = 20000\nmark_bytes = 5000\n\
         [nodes]\nkind = 'stand_in'\n\
         [program]\nkind = 'asks'\nmessages = 12\nbytes = 4000\ntimeout_cycles = 3000\n",
    ),
];

/// The program beside this one.
fn program() -> Result<PathBuf> {
    let own = std::env::current_exe().context("cannot find the folder of this program")?;
    let program = own.with_file_name("spindle-network");
    ensure!(program.is_file(), "spindle-network is not beside this program; run `cargo build --workspace --bins`");
    Ok(program)
}

/// Result and run of a study in so many ranks; one of them does without MPI.
fn run(folder: &Path, study: &str, ranks: usize) -> Result<(Value, Value)> {
    let (file, out) = (folder.join("study.toml"), folder.join("result.json"));
    std::fs::write(&file, study).context("cannot write a study")?;
    let program = program()?;
    let mut command = match ranks {
        1 => Command::new(&program),
        _ => {
            let mut command = Command::new("mpirun");
            // The report may be made as root, in a container.
            command.envs([("OMPI_ALLOW_RUN_AS_ROOT", "1"), ("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1")]);
            command.args(["--oversubscribe", "-n", &ranks.to_string()]).arg(&program);
            command
        }
    };
    command.arg(&file).arg("--quiet").arg("--out").arg(&out).stdin(Stdio::null());
    let output = command.output().context("cannot run a network; `cargo xtask setup` installs what networks need")?;
    let errors = String::from_utf8_lossy(&output.stderr);
    ensure!(output.status.success(), "a network of {ranks} ranks failed: {}", errors.trim_end());
    let text = std::fs::read(&out).context("the network left no result")?;
    let mut all: Value = serde_json::from_slice(&text).context("the result of a network is no JSON")?;
    Ok((all["result"].take(), all["run"].take()))
}

/// Whether the results of 1, 2 and 4 ranks are the same.
pub fn equal() -> Result<Vec<Figure>> {
    let folder = tempfile::tempdir().context("cannot make a folder for studies")?;
    let mut equal = true;
    for (_, study) in STUDIES {
        let (first, _) = run(folder.path(), study, 1)?;
        for ranks in [2, 4] {
            equal &= run(folder.path(), study, ranks)?.0 == first;
        }
    }
    let names = STUDIES.map(|(name, _)| name).join(" and ");
    let how = format!("{names}, with loss and adaptive routing: end, frames and digests on 1, 2 and 4 ranks");
    Ok(vec![Figure::new(EQUAL[0], equal, how)])
}

/// How much faster two ranks are than one, and what of their time is not the NICs'.
pub fn times() -> Result<Vec<Figure>> {
    let folder = tempfile::tempdir().context("cannot make a folder for studies")?;
    let number = |run: &Value, key: &str| run[key].as_f64().with_context(|| format!("the run has no `{key}`"));
    let (mut one, mut two, mut overhead) = (f64::INFINITY, f64::INFINITY, f64::INFINITY);
    for _ in 0..RUNS {
        one = one.min(number(&run(folder.path(), EIGHT, 1)?.1, "seconds")?);
        let (_, pair) = run(folder.path(), EIGHT, 2)?;
        two = two.min(number(&pair, "seconds")?);
        overhead = overhead.min(number(&pair, "overhead")?);
    }
    let how = format!("eight NICs of configuration sim, windows of 35 cycles, best of {RUNS}");
    Ok(vec![
        Figure::new(TIMES[0], one / two, format!("{how}: seconds on one rank over those on two, two cores")),
        Figure::new(TIMES[1], overhead, format!("{how}: share of two ranks' time that is not the NICs'")),
    ])
}

/// Measures the parameters of the calibrated model, and enters them in `file`, if there is one.
pub fn calibration(source: &Source, config: &Config, file: Option<&Path>) -> Result<Vec<Figure>> {
    let measured = measure(source, config, &present_commit(40)?)?;
    let value = serde_json::to_value(&measured)?;
    if let Some(path) = file {
        let cannot = || format!("{} is no calibration; name another file", path.display());
        let mut all = match std::fs::read(path) {
            Ok(text) => serde_json::from_slice::<Calibration>(&text).with_context(cannot)?,
            Err(_) => Calibration::new(),
        };
        all.insert(config.name.into(), measured);
        let text = serde_json::to_string_pretty(&all)? + "\n";
        std::fs::write(path, text).with_context(|| format!("cannot write {}", path.display()))?;
    }
    let how =
        format!("cycles of two NICs on a cable, and of eight at a switch for an incast and a handler; host memory {HOST_LATENCY} cycles");
    Ok(vec![Figure::new(CALIBRATION[0], value, how)])
}

/// How far models are from NICs in motifs of a kind.
pub fn model_error(source: &Source, config: &Config, key: &'static str, check: Check) -> Result<Vec<Figure>> {
    let nodes = compared(check);
    let (farthest, count) = worst(source, config, &parameters(config.name)?, check, nodes, false)?;
    let how = format!("worst of {count} runs on {nodes:?} nodes at one switch, without loss: {farthest}");
    Ok(vec![Figure::new(key, farthest.error(), how)])
}

/// How far models are from NICs in the mean over seeds, while cables lose frames: the mean and the worst of all motifs.
pub fn lossy_error(source: &Source, config: &Config, keys: &[&'static str], loss: f64) -> Result<Vec<Figure>> {
    let parameters = parameters(config.name)?;
    let motifs = || LOSSY_NODES.iter().flat_map(|nodes| lossy_motifs(*nodes, config));
    let all = motifs().map(|motif| {
        let compared = compare_at_loss(source, config, &parameters, &motif, loss, SEEDS)?;
        log::debug!("loss {loss}: {compared}, {:.4}", compared.error());
        Ok(compared)
    });
    let all = all.collect::<Result<Vec<Compared>>>()?;
    let farthest = all.iter().max_by(|a, b| a.error().total_cmp(&b.error())).context("no motif")?;
    let mean = all.iter().map(Compared::error).sum::<f64>() / all.len() as f64;
    let how = format!(
        "{} motifs on {LOSSY_NODES:?} nodes at one switch, loss {loss} on each cable, means over {SEEDS} seeds",
        all.len()
    );
    Ok(vec![
        Figure::new(keys[0], mean, format!("mean of {how}")),
        Figure::new(keys[1], farthest.error(), format!("worst of {how}: {farthest}")),
    ])
}

/// Goodput of an incast of 255 models through switches that mark, as a share of the line's rate.
pub fn incast() -> Result<Vec<Figure>> {
    let cases = Cases::parse("incast256.toml", INCAST_STUDY)?.context("the incast has no cases")?;
    let folder = tempfile::tempdir().context("cannot make a folder for a study")?;
    let (file, out) = (folder.path().join("incast256.toml"), folder.path().join("out"));
    std::fs::write(&file, INCAST_STUDY).context("cannot write a study")?;
    let mut command = Command::new(program()?);
    let output = command.arg(&file).arg("--quiet").arg("--out").arg(&out).stdin(Stdio::null()).output();
    let output = output.context("cannot run a network; `cargo xtask setup` installs what networks need")?;
    let errors = String::from_utf8_lossy(&output.stderr);
    ensure!(output.status.success(), "the incast failed: {}", errors.trim_end());
    let figure = |key: &'static str| {
        let loss = key.rsplit('.').next().unwrap_or_default().replace('_', ".");
        let settings = [("loss".to_string(), loss.clone())].into();
        let case =
            cases.result(&out, &settings)?.with_context(|| format!("the incast has no result for loss {loss}"))?;
        let how = format!(
            "255 models put 1 MiB each to one, share of 128 Gb/s: {} cycles, {} frames dropped and {} lost",
            case.cycles, case.frames.dropped, case.frames.lost
        );
        Ok(Figure::new(key, INCAST_CYCLES / case.cycles as f64, how))
    };
    INCAST.iter().map(|key| figure(key)).collect()
}
