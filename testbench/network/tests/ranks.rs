//! Studies in one process and in several: the results are the same, whatever carries the messages.

mod common;

use common::there;
use serde_json::Value;
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

const PROGRAM: &str = env!("CARGO_BIN_EXE_spindle-network");

/// A study in so many ranks: result and run, or the error's words.
fn study(text: &str, ranks: usize, mpi: &[&str]) -> Result<(Value, Value), String> {
    let folder = tempfile::tempdir().unwrap();
    let (file, out) = (folder.path().join("study.toml"), folder.path().join("result.json"));
    std::fs::write(&file, text).unwrap();
    let output = command(&file, ranks, mpi).arg("--out").arg(&out).output().unwrap();
    let words = String::from_utf8_lossy(&output.stderr).replace(&folder.path().display().to_string(), "");
    if !output.status.success() {
        return Err(words);
    }
    let mut all: Value = serde_json::from_slice(&std::fs::read(out).unwrap()).unwrap();
    all["result"]["study"].take();
    Ok((all["result"].take(), all["run"].take()))
}

/// The command that runs a study in so many ranks; with one, without MPI.
fn command(file: &Path, ranks: usize, mpi: &[&str]) -> Command {
    let mut command = Command::new(if ranks == 1 { PROGRAM } else { "mpirun" });
    if ranks > 1 {
        // Root in a container is the usual user of continuous integration.
        command.envs([("OMPI_ALLOW_RUN_AS_ROOT", "1"), ("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1")]);
        command.args(["--oversubscribe", "-n", &ranks.to_string()]).args(mpi).arg(PROGRAM);
    }
    command.arg(file).arg("--quiet").stdin(Stdio::null());
    command
}

/// Checks that all numbers of ranks give one result, and returns it.
fn same(text: &str, ranks: &[usize]) -> Value {
    let (first, _) = study(text, 1, &[]).unwrap();
    for ranks in ranks {
        let (result, run) = study(text, *ranks, &[]).unwrap();
        assert_eq!(run["ranks"], *ranks);
        assert!(run["lookahead_ns"].as_f64().unwrap() > 100.0, "{run}");
        assert!(result == first, "{ranks} ranks:\n{result:#}\none:\n{first:#}");
    }
    first
}

const STAND_INS: &str = "[topology]\nkind = 'hyperx'\nshape = [4, 4]\nwidth = 2\nnodes = 4\n\
                         [cables]\nloss = 0.004\ncorruption = 0.002\n\
                         [switches]\nrouting = 'adaptive'\nqueue_bytes = 20000\nmark_bytes = 5000\n\
                         [nodes]\nkind = 'stand_in'\n\
                         [program]\nkind = 'asks'\nmessages = 12\nbytes = 4000\ntimeout_cycles = 3000\n";

#[test]
fn a_network_of_64_nodes_is_the_same_on_1_2_and_4_ranks() {
    if !there() {
        return;
    }
    let result = same(STAND_INS, &[2, 4]);
    // All of it was there to be the same.
    for count in ["lost", "corrupted", "marked", "delivered"] {
        assert!(result["frames"][count].as_u64().unwrap() > 0, "{count}: {}", result["frames"]);
    }
    let answered = |node: &Value| node["answered"] == 12;
    assert!(result["nodes"].as_array().unwrap().iter().all(answered));
    // Another seed is another network.
    let (other, _) = study(&format!("{STAND_INS}[run]\nseed = 2\n"), 1, &[]).unwrap();
    assert!(other["digest"] != result["digest"] && other["end_cycle"] != result["end_cycle"]);
}

#[test]
fn a_network_of_1024_nodes_is_the_same_on_1_2_and_4_ranks() {
    if !there() {
        return;
    }
    let text = "[topology]\nkind = 'fat_tree'\ndown = [16, 8, 8]\nup = [8, 8]\n\
                [switches]\nrouting = 'adaptive'\n\
                [nodes]\nkind = 'stand_in'\ncount = 1024\n\
                [program]\nkind = 'asks'\nmessages = 6\nbytes = 3000\n";
    let result = same(text, &[2, 4]);
    let frames = &result["frames"];
    let all = 1024 * 6 * 2;
    assert_eq!((frames["sent"].as_u64(), frames["delivered"].as_u64()), (Some(all), Some(all)));
    assert_eq!(result["nodes"].as_array().unwrap().len(), 1024);
}

#[test]
fn four_verilated_nics_are_the_same_on_1_2_and_4_ranks() {
    if !there() {
        return;
    }
    // Two paths between all leaves, and cables that lose.
    let text = "[topology]\nkind = 'fat_tree'\ndown = [1, 4]\nup = [2]\n\
                [cables]\nloss = 0.02\n\
                [switches]\nrouting = 'adaptive'\n\
                [nodes]\nkind = 'nic'\nconfig = 'sim'\n\
                [program]\nkind = 'puts'\npattern = 'all_to_all'\nmessages = 3\nbytes = 6000\nstart = 6500\n";
    let result = same(text, &[2, 4]);
    assert!(result["frames"]["lost"].as_u64().unwrap() > 0, "{}", result["frames"]);
    assert!(result["nodes"].as_array().unwrap().iter().all(|node| node["messages"] == 3));
}

#[test]
fn messages_between_ranks_may_go_over_tcp() {
    if !there() {
        return;
    }
    // A quantum over TCP takes several times as long as over shared memory.
    let text = STAND_INS.replace("messages = 12", "messages = 3");
    let (one, _) = study(&text, 1, &[]).unwrap();
    let (two, run) = study(&text, 2, &["--mca", "btl", "tcp,self"]).unwrap();
    assert_eq!(run["ranks"], 2);
    assert!(one == two);
}

#[test]
fn ranks_that_the_topology_has_no_parts_for_are_refused_once() {
    if !there() {
        return;
    }
    let text = "[topology]\nkind = 'star'\nnodes = 4\n[nodes]\nkind = 'stand_in'\n\
                [program]\nkind = 'asks'\nmessages = 1\nbytes = 64\n";
    let words = study(text, 2, &[]).unwrap_err();
    assert_eq!(words.matches("2 ranks, but the topology can be cut into 1 at most").count(), 1, "{words}");
}

#[test]
fn without_ns3_the_command_says_what_installs_it() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("study.toml");
    std::fs::write(&file, STAND_INS).unwrap();
    // No program is found, and no module is in the cache.
    let bare = |arguments: &[&str]| {
        let cache = folder.path().join("cache");
        let mut command = Command::new(PROGRAM);
        command.arg(&file).args(arguments).env("PATH", "/nowhere").env("SPINDLE_CACHE", cache);
        command.output().unwrap()
    };
    let Output { status, stderr, stdout } = bare(&[]);
    let words = String::from_utf8_lossy(&stderr);
    assert!(!status.success() && stdout.is_empty());
    assert!(
        words.contains("ns-3 is not installed; `cargo xtask setup` installs") && words.lines().count() == 1,
        "{words}"
    );
    let checked = bare(&["--check"]);
    assert!(checked.status.success() && String::from_utf8_lossy(&checked.stdout).contains("64 nodes, 16 switches"));
}

#[test]
fn a_study_that_does_not_end_names_the_nodes() {
    if !there() {
        return;
    }
    let text = "[topology]\nkind = 'star'\nnodes = 3\n[cables]\nloss = 1.0\n[nodes]\nkind = 'stand_in'\n\
                [program]\nkind = 'asks'\nmessages = 1\nbytes = 64\n[run]\ncycles = 5000\n";
    let words = study(text, 1, &[]).unwrap_err();
    assert!(words.contains("programs of nodes 0, 1, 2 have not ended") && words.contains("`cycles`"), "{words}");
}

#[test]
fn a_rank_that_dies_ends_the_run_and_is_named() {
    if !there() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("study.toml");
    // Long enough to be met in its midst.
    std::fs::write(
        &file,
        STAND_INS.replace("messages = 12", "messages = 100000000") + "[run]\ncycles = 1000000000000\n",
    )
    .unwrap();
    let mut child = command(&file, 2, &[]).stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    let victim = rank_of(child.id(), 1);
    // In the loop of the run, not in its preparations.
    std::thread::sleep(Duration::from_secs(2));
    let status = Command::new("kill").args(["-KILL", &victim.to_string()]).status().unwrap();
    assert!(status.success());
    let killed = Instant::now();
    while child.try_wait().unwrap().is_none() {
        if killed.elapsed() > Duration::from_secs(60) {
            let _ = child.kill();
            panic!("the run goes on a minute after the end of a rank");
        }
        std::thread::sleep(Duration::from_millis(50));
    }
    let Output { status, stderr, .. } = child.wait_with_output().unwrap();
    let words = String::from_utf8_lossy(&stderr);
    assert!(!status.success());
    assert!(words.contains("rank 1") && words.contains("signal 9"), "{words}");
    assert!(words.contains("rank 0 is ended after cycle"), "{words}");
}

/// The process of a rank that a launcher has started.
fn rank_of(launcher: u32, rank: u32) -> u32 {
    let start = Instant::now();
    while start.elapsed() < Duration::from_secs(30) {
        for entry in std::fs::read_dir("/proc").unwrap().flatten() {
            let Some(process) = entry.file_name().to_str().and_then(|name| name.parse::<u32>().ok()) else { continue };
            let read = |name| std::fs::read(entry.path().join(name)).unwrap_or_default();
            let status = String::from_utf8_lossy(&read("status")).into_owned();
            let of_launcher = status.lines().any(|line| {
                line.split_once(':').is_some_and(|(key, value)| key == "PPid" && value.trim() == launcher.to_string())
            });
            let wanted = format!("OMPI_COMM_WORLD_RANK={rank}");
            if of_launcher && read("environ").split(|byte| *byte == 0).any(|line| line == wanted.as_bytes()) {
                return process;
            }
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    panic!("mpirun has started no rank {rank}");
}
