//! Studies in one process and in several: the results are the same, whatever carries the messages.

mod common;

use common::command::{command, same, study_with, PROGRAM};
use common::there;
use serde_json::Value;
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

/// A study in so many ranks: result and run, or the error's words.
fn study(text: &str, ranks: usize, mpi: &[&str]) -> Result<(Value, Value), String> {
    study_with(text, ranks, mpi, &[])
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
fn nics_among_models_are_the_same_on_1_2_and_4_ranks() {
    if !there() {
        return;
    }
    let with = |shape: &str, background: &str| {
        format!(
            "[topology]\nkind = 'torus'\nshape = {shape}\nnodes = 2\n\
             [switches]\nrouting = 'adaptive'\nqueue_bytes = 1000000\n\
             [nodes]\nkind = 'nic'\ncount = 4\nconfig = 'sim'\n{background}\
             [program]\nkind = 'puts'\npattern = 'half'\nmessages = 1\nbytes = 40000\nstart = 6500\n"
        )
    };
    let beside = "[background]\ncount = 12\npattern = 'all_to_all'\nmessages = 11\nbytes = 16384\n";
    let result = same(&with("[8]", beside), &[2, 4]);
    let nodes = result["nodes"].as_array().unwrap();
    let messages = |node: &Value| node["messages"].as_u64().unwrap();
    assert_eq!(nodes.iter().map(messages).collect::<Vec<_>>(), [vec![1; 4], vec![11; 12]].concat());
    // Models on both sides of the NICs' switches send past them, over the NICs' cable.
    let (alone, _) = study(&with("[2]", ""), 1, &[]).unwrap();
    let mean = |result: &Value| -> u64 {
        result["nodes"].as_array().unwrap().iter().filter_map(|node| node["mean_cycles"].as_u64()).sum::<u64>() / 4
    };
    let (loaded, idle) = (mean(&result), mean(&alone));
    assert!(loaded > idle + 100, "{loaded} cycles among models, {idle} without");
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

const NOISE: &str = "[noise]\nevery_cycles = 2000\npause_cycles = [100, 900]\n";

#[test]
fn pauses_of_hosts_lengthen_a_run_and_are_the_same_on_1_and_2_ranks() {
    if !there() {
        return;
    }
    // Without losses: what is asked again after a timeout would hide the pauses.
    let text = STAND_INS
        .replace("loss = 0.004\ncorruption = 0.002\n", "")
        .replace("queue_bytes = 20000\nmark_bytes = 5000\n", "");
    let (quiet, _) = study(&text, 1, &[]).unwrap();
    let (longer, _) = study(&format!("{text}{NOISE}"), 1, &[]).unwrap();
    let end = |result: &Value| result["end_cycle"].as_u64().unwrap();
    assert_eq!((&quiet["frames"]["dropped"], &longer["frames"]["dropped"]), (&0.into(), &0.into()));
    assert!(end(&longer) > end(&quiet) + 100, "{} and {}", end(&longer), end(&quiet));
    let noisy = same(&format!("{STAND_INS}{NOISE}"), &[2]);
    assert!(noisy["nodes"].as_array().unwrap().iter().all(|node| node["answered"] == 12));
    // The pauses have a seed of their own; without one, that of the run.
    let (other, _) = study(&format!("{STAND_INS}{NOISE}seed = 2\n"), 1, &[]).unwrap();
    assert!(other["digest"] != noisy["digest"]);
    let (run_seed, _) = study(&format!("{STAND_INS}{NOISE}seed = 1\n"), 1, &[]).unwrap();
    assert!(run_seed == noisy);
}

const NICS: &str = "[topology]\nkind = 'fat_tree'\ndown = [1, 2]\nup = [1]\n\
                    [nodes]\nkind = 'nic'\nconfig = 'sim'\n\
                    [program]\nkind = 'puts'\npattern = 'all_to_all'\nmessages = 4\nbytes = 3000\nstart = 8000\n";

#[test]
fn hosts_of_verilated_nics_pause_too() {
    if !there() {
        return;
    }
    let (quiet, _) = study(NICS, 1, &[]).unwrap();
    // About half of the time.
    let noisy = same(&format!("{NICS}[noise]\nevery_cycles = 400\npause_cycles = [150, 200]\n"), &[2]);
    let mean = |result: &Value| result["nodes"][0]["mean_cycles"].as_u64().unwrap();
    assert!(mean(&noisy) > mean(&quiet) + 50, "{noisy:#}\n{quiet:#}");
    assert!(noisy["nodes"].as_array().unwrap().iter().all(|node| node["messages"] == 4));
}

#[test]
fn fates_and_waves_of_a_nic_are_those_of_its_node() {
    if !there() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let file = |name: &str| folder.path().join(name);
    let of = |node: u32, name: &str| format!("{node}={}", file(name).display());
    // Each rank writes those of its nodes.
    let arguments =
        ["--fates".into(), of(0, "0.csv"), "--fates".into(), of(1, "1.jsonl"), "--wave".into(), of(1, "1.vcd")];
    let (result, _) = study_with(NICS, 2, &[], &arguments).unwrap();
    let (untraced, _) = study(NICS, 1, &[]).unwrap();
    assert!(result == untraced, "records change nothing");
    let csv = std::fs::read_to_string(file("0.csv")).unwrap();
    assert_eq!(csv.lines().count() as u64, 1 + result["nodes"][0]["frames"].as_u64().unwrap());
    let fates: Vec<Value> = std::fs::read_to_string(file("1.jsonl"))
        .unwrap()
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    let node = &result["nodes"][1];
    assert_eq!(fates.len() as u64, node["frames"].as_u64().unwrap());
    let bytes: u64 = fates.iter().map(|fate| fate["bytes"].as_u64().unwrap()).sum();
    assert_eq!(bytes, node["bytes"].as_u64().unwrap());
    // Four messages of three segments each, and acknowledgements, which a mailbox does not take.
    let placed: Vec<_> = fates.iter().filter(|fate| fate["disposition"] == "placed").collect();
    assert!(placed.len() >= 12 && placed.iter().all(|fate| fate["mailbox"].is_u64()), "{fates:#?}");
    assert!(placed.len() < fates.len() && fates.iter().all(|fate| fate["disposition"] != "inside"), "{fates:#?}");
    assert!(fates.is_sorted_by_key(|fate| fate["arrival"].as_u64().unwrap()));
    let wave = std::fs::read_to_string(file("1.vcd")).unwrap();
    assert!(wave.contains("$enddefinitions") && wave.contains("rx_valid") && wave.lines().count() > 1000);
}

#[test]
fn records_that_no_node_has_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("study.toml");
    let refused = |text: &str, arguments: &[&str], wanted: &str| {
        std::fs::write(&file, text).unwrap();
        let output = Command::new(PROGRAM).arg(&file).arg("--check").args(arguments).output().unwrap();
        let words = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(!output.status.success() && words.contains(wanted), "{words}");
    };
    refused(NICS, &["--fates", "2=a.csv"], "fates of node 2, and there are 2 nodes, from 0 on");
    refused(NICS, &["--wave", "2=a.vcd"], "a wave of node 2, and there are 2 nodes");
    refused(NICS, &["--fates", "1=a.txt"], "let it end in .csv, .json or .jsonl");
    refused(NICS, &["--fates", "a.csv"], "write the node's number, `=` and a file");
    refused(NICS, &["--fates", "1=a.csv", "--fates", "1=b.csv"], "fates of node 1 twice");
    refused(STAND_INS, &["--fates", "1=a.csv"], "a stand-in or a model has no waves and no fates");
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
