//! Served NICs in a network: a C program on four of them, a driver over a socket and in process, and what ends a run.

mod common;

use common::command::{command, result};
use common::there;
use serde_json::Value;
use spindle::rule_table::Action;
use spindle::{Bar, Device, HostMemory, Kind, SharedCard, Target};
use spindle_contract::params::Config;
use spindle_network::endpoint::{Endpoint, VALUES};
use spindle_network::engine::{Network, Physics, Ranks};
use spindle_network::noise::Noise;
use spindle_network::programs::{set_up, CLEARED};
use spindle_network::rtl::{Host, Rtl, Setting};
use spindle_network::served::{Serving, Time};
use spindle_network::topology::{Shape, Topology};
use std::io::Read;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// Longest time of a run whose models are there: many times what a run takes on two cores without other work.
const LIMIT: Duration = Duration::from_secs(120);
/// Longest time until sockets appear: a model may have to be built.
const BUILD: Duration = Duration::from_secs(600);

/// A process that ends with the test.
struct Process(Child);

impl Drop for Process {
    fn drop(&mut self) {
        if let Ok(None) = self.0.try_wait() {
            let _ = self.0.kill();
            let _ = self.0.wait();
        }
    }
}

impl Process {
    fn start(command: &mut Command) -> Process {
        Process(command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap())
    }

    /// Waits for the end, at most until then: whether it was a success, output and errors.
    fn end(&mut self, until: Instant) -> (bool, String, String) {
        while self.0.try_wait().unwrap().is_none() {
            if Instant::now() > until {
                let _ = self.0.kill();
                let (_, words, errors) = self.words();
                panic!("a process goes on after {LIMIT:?}: {words}{errors}");
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        self.words()
    }

    fn words(&mut self) -> (bool, String, String) {
        let (mut words, mut errors) = (String::new(), String::new());
        self.0.stdout.take().unwrap().read_to_string(&mut words).unwrap();
        self.0.stderr.take().unwrap().read_to_string(&mut errors).unwrap();
        (self.0.wait().unwrap().success(), words, errors)
    }
}

/// The folder of the C library that belongs to this test.
fn library() -> PathBuf {
    std::env::current_exe().unwrap().parent().unwrap().to_path_buf()
}

/// The example, compiled by the system's compiler.
fn ring(folder: &Path) -> PathBuf {
    let rvma = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../sw-driver/rvma");
    let program = folder.join("ring");
    let mut command = Command::new("cc");
    command.args(["-Wall", "-Wextra", "-Werror", "-I"]).arg(rvma.join("include")).arg(rvma.join("examples/ring.c"));
    command.arg("-L").arg(library()).arg("-lspindle_rvma").arg("-o").arg(&program);
    let output = command.output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    program
}

/// The study of four nodes, with its sockets in this folder.
fn served4(folder: &Path, changes: &[(&str, &str)]) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("studies/served4.toml");
    let mut text = std::fs::read_to_string(path).unwrap();
    let folder = format!("sockets = \"{}\"", folder.display());
    for (from, to) in [("sockets = \"/tmp/spindle\"", folder.as_str())].iter().chain(changes) {
        assert!(text.contains(from), "{from}");
        text = text.replacen(from, to, 1);
    }
    text
}

/// A run of a study with served nodes, until it listens at all sockets.
fn serve(folder: &Path, text: &str, nodes: usize, ranks: usize, arguments: &[String]) -> Process {
    let file = folder.join("study.toml");
    std::fs::write(&file, text).unwrap();
    let mut run = command(&file, ranks, &[]);
    let mut run = Process::start(run.args(arguments).arg("--out").arg(folder.join("result.json")));
    let begin = Instant::now();
    let listens = |node: usize| UnixStream::connect(folder.join(format!("nic{node}.sock"))).is_ok();
    while !(0..nodes).all(listens) {
        if run.0.try_wait().unwrap().is_some() {
            panic!("the run has ended: {:?}", run.words());
        }
        assert!(begin.elapsed() < BUILD, "there are no sockets");
        std::thread::sleep(Duration::from_millis(20));
    }
    run
}

/// The C program on four nodes: the result of the run, without digests.
fn run_ring(folder: &Path, text: &str, ranks: usize, arguments: &[String]) -> Value {
    let program = ring(folder);
    let mut run = serve(folder, text, 4, ranks, arguments);
    let begin = Instant::now();
    let mut programs: Vec<Process> = (0..4)
        .map(|node| {
            let mut command = Command::new(&program);
            command.arg(format!("unix:{}", folder.join(format!("nic{node}.sock")).display()));
            Process::start(command.args([node.to_string(), "4".into()]).env("LD_LIBRARY_PATH", library()))
        })
        .collect();
    // Part of the ring by part, number by number, as the program makes them.
    let number = |node: u64, at: u64| (node + 1) * 1_000_003 + at * 7;
    let sum: u64 = (0..4).flat_map(|node| (0..256).map(move |at| number(node, at))).sum();
    for (node, program) in programs.iter_mut().enumerate() {
        let (good, words, errors) = program.end(begin + LIMIT);
        assert!(good, "node {node}: {words}{errors}");
        assert_eq!(words, format!("node {node} of 4: 2 rounds of 4096 bytes, sum {sum}\n"));
    }
    // The run ends by itself.
    let (good, _, errors) = run.end(begin + LIMIT);
    assert!(good, "{errors}");
    assert!((0..4).all(|node| !folder.join(format!("nic{node}.sock")).exists()), "a socket is left");
    println!("{ranks} ranks: {:.1} s", begin.elapsed().as_secs_f64());
    let (mut result, _) = result(&folder.join("result.json"));
    // Messages of each opening of a card differ in the time of day.
    result["digest"].take();
    for node in result["nodes"].as_array_mut().unwrap() {
        assert_eq!(node["clients"], 1);
        assert!(node["frames"].as_u64().unwrap() > 2 * 3, "two messages of three segments: {node}");
        node["digest"].take();
    }
    let frames = &result["frames"];
    assert_eq!((&frames["sent"], &frames["dropped"], &frames["lost"]), (&frames["delivered"], &0.into(), &0.into()));
    result
}

#[test]
fn a_c_program_runs_on_four_nodes_of_a_fat_tree_in_the_same_cycles_on_1_and_2_ranks() {
    if !there() {
        return;
    }
    let folders = [(); 2].map(|()| tempfile::tempdir().unwrap());
    let [one, two] = [1, 2].map(|ranks| {
        let folder = folders[ranks - 1].path();
        run_ring(folder, &served4(folder, &[]), ranks, &[])
    });
    // With `step`, when programs and servers get the processor changes nothing.
    assert!(one == two, "{one:#}\n{two:#}");
}

/// A study whose time goes on by itself, instead of with the programs.
const FREE: (&str, &str) = ("time = \"step\"", "time = \"free\"");

#[test]
fn a_c_program_runs_while_two_ranks_go_on_by_themselves() {
    if !there() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    run_ring(folder.path(), &served4(folder.path(), &[FREE]), 2, &[]);
}

#[test]
fn a_c_program_runs_while_the_network_goes_on_by_itself_and_leaves_fates_and_waves() {
    if !there() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let file = |name: &str| folder.path().join(name);
    let of = |node: u32, name: &str| format!("{node}={}", file(name).display());
    let arguments = ["--fates".into(), of(1, "fates.jsonl"), "--wave".into(), of(2, "wave.vcd")];
    // The wave is of few cycles per second.
    let result = run_ring(folder.path(), &served4(folder.path(), &[FREE]), 1, &arguments);
    let fates = std::fs::read_to_string(file("fates.jsonl")).unwrap();
    let fates: Vec<Value> = fates.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    // Frames that come before the program has switched reception on are none of the NIC's.
    assert!(fates.len() as u64 <= result["nodes"][1]["frames"].as_u64().unwrap());
    let placed = fates.iter().filter(|fate| fate["disposition"] == "placed" && fate["mailbox"].is_u64());
    let bytes: u64 = placed.map(|fate| fate["bytes"].as_u64().unwrap()).sum();
    assert!(bytes > 2 * 4096, "both rounds: {bytes} bytes");
    assert!(fates.iter().all(|fate| fate["bytes"].as_u64().unwrap() > 0));
    let wave = std::fs::read_to_string(file("wave.vcd")).unwrap();
    assert!(wave.contains("$enddefinitions") && wave.contains("rx_valid") && wave.lines().count() > 1000);
}

const BYTES: u32 = 5000;
/// Cycle in which the programs begin to send: hosts that pause are set up late.
const START: u64 = 20_000;
/// Cycles after which the last acknowledgements have left.
const LINGER: u64 = 2000;

/// A host's program by any transport: it exchanges messages with the other node. The cycles after each step.
fn exchange<B: Bar, M: HostMemory>(
    device: &mut Device<B, M>,
    number: usize,
    run: &dyn Fn(u64),
) -> anyhow::Result<Vec<u64>> {
    let mut cycles = vec![];
    set_up(device, number, 2, Action::Mailbox)?;
    let window = device.init_window(0, 1, 2, BYTES)?;
    let posted = [device.post_buffer(window, BYTES)?, device.post_buffer(window, BYTES)?];
    device.set_receive(true)?;
    cycles.push(device.cycle()?);
    anyhow::ensure!(cycles[0] < START && START > CLEARED, "set up in cycle {}", cycles[0]);
    run(START - cycles[0]);
    // The read engine cuts its requests at pages.
    let memory = device.memory.alloc(8192, 4096)?;
    device.memory.write(memory, &vec![number as u8 + 1; BYTES as usize])?;
    let target = Target { node: 1 - number as u8, process: 0, address: 1, key: 2, offset: 0, kind: Kind::Bound };
    for posted in posted {
        device.put(0, memory, BYTES, &target)?;
        cycles.push(device.cycle()?);
        while device.poll(&posted)?.is_none() {
            run(10);
        }
        cycles.push(device.cycle()?);
        let mut got = vec![0; BYTES as usize];
        device.memory.read(posted.buffer, &mut got)?;
        anyhow::ensure!(got.iter().all(|byte| *byte == 2 - number as u8), "wrong bytes at node {number}");
    }
    run(LINGER);
    Ok(cycles)
}

fn setting(noise: Option<Noise>) -> Setting {
    let config = Config::SIM;
    let source = spindle_sim::source(&config).unwrap();
    Setting { config, source, nodes: 2, host_latency: (80, 80), wave: None, fates: None, noise }
}

/// Runs until all programs have ended: the cycles that they saw, and the digests of what the nodes received.
fn cycles(
    endpoint: impl FnMut(u32) -> anyhow::Result<Box<dyn Endpoint>>,
    seen: std::sync::mpsc::Receiver<(usize, Vec<u64>)>,
) -> (Vec<(usize, Vec<u64>)>, Vec<u64>) {
    // Two nodes below two switches.
    let topology = Topology::new(&Shape::FatTree { down: vec![1, 2], up: vec![1] }).unwrap();
    let physics = Physics::default();
    let mut network = Network::new(Ranks::join().unwrap(), &topology, physics, endpoint).unwrap();
    network.begin().unwrap();
    let mut end = 0;
    while !network.done().unwrap() {
        end += 64 * physics.window;
        assert!(end < 200_000, "the programs go on");
        network.run(end).unwrap();
    }
    let digests = network.reports().unwrap().iter().map(|report| report.digest).collect();
    network.finish().unwrap();
    drop(network);
    let mut seen: Vec<_> = seen.iter().collect();
    seen.sort();
    (seen, digests)
}

fn in_process(noise: Option<Noise>) -> (Vec<(usize, Vec<u64>)>, Vec<u64>) {
    let (see, seen) = std::sync::mpsc::channel();
    let endpoint = move |node: u32| -> anyhow::Result<Box<dyn Endpoint>> {
        let see = see.clone();
        let program = move |host: &mut Host| -> anyhow::Result<[u64; VALUES]> {
            let card = host.card.clone();
            let seen = exchange(&mut host.device, host.number, &|cycles| card.sim().run(cycles))?;
            see.send((host.number, seen))?;
            Ok([0; VALUES])
        };
        Ok(Box::new(Rtl::new(node as usize, &setting(noise), Box::new(program))?))
    };
    cycles(endpoint, seen)
}

fn over_sockets(time: Time, noise: Option<Noise>) -> (Vec<(usize, Vec<u64>)>, Vec<u64>) {
    let folder = tempfile::tempdir().unwrap();
    let serving = Serving { sockets: folder.path().display().to_string(), time, place: "study.toml:1".into() };
    let (see, seen) = std::sync::mpsc::channel();
    let hosts = [0, 1].map(|number| {
        let (see, socket) = (see.clone(), serving.socket(number));
        std::thread::spawn(move || {
            while !socket.exists() {
                std::thread::sleep(Duration::from_millis(5));
            }
            // One of them is late, which makes no difference.
            std::thread::sleep(Duration::from_millis(200 * number as u64));
            let card: SharedCard = spindle::open(&format!("unix:{}", socket.display())).unwrap();
            let mut device = Device::open(card.clone(), card.clone()).unwrap();
            let seen = exchange(&mut device, number, &|cycles| card.lock().pause(cycles).unwrap()).unwrap();
            see.send((number, seen)).unwrap();
        })
    });
    drop(see);
    let result = cycles(|node| Ok(Box::new(Rtl::serve(node as usize, &setting(noise), &serving)?)), seen);
    hosts.into_iter().for_each(|host| host.join().unwrap());
    result
}

#[test]
fn a_driver_over_a_socket_takes_the_cycles_of_one_in_process() {
    if !there() {
        return;
    }
    let (local, served) = (in_process(None), over_sockets(Time::Step, None));
    assert_eq!(local.0.len(), 2);
    assert_eq!(local.0, served.0);
    // The client's end resets its NIC, which has received everything by then.
    assert_eq!(local.1, served.1);
}

#[test]
fn pauses_of_a_served_host_take_time_of_its_nic() {
    if !there() {
        return;
    }
    let noise = Noise { every: 400, least: 150, most: 200, seed: 3 };
    let (quiet, noisy) = (over_sockets(Time::Step, None), over_sockets(Time::Step, Some(noise)));
    assert!(noisy == over_sockets(Time::Step, Some(noise)), "the pauses are those of the seed");
    for ((_, quiet), (_, noisy)) in quiet.0.iter().zip(&noisy.0) {
        assert!(noisy[0] > quiet[0] + 500, "set up in cycle {}, and with pauses in {}", quiet[0], noisy[0]);
        assert!(noisy.last() > quiet.last(), "{noisy:?}, {quiet:?}");
    }
}

#[test]
fn a_run_whose_clients_stay_ends_at_its_limit() {
    if !there() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let sockets = format!("sockets = '{}'", folder.path().display());
    let text = format!(
        "[topology]\nkind = 'cable'\n[nodes]\nkind = 'served'\ntime = 'free'\n{sockets}\n[run]\ncycles = 5000\n"
    );
    let mut run = serve(folder.path(), &text, 2, 1, &[]);
    // Without a client time stands still: a run of so few cycles would be over.
    std::thread::sleep(Duration::from_millis(1500));
    assert!(run.0.try_wait().unwrap().is_none());
    let card = spindle::open(&format!("unix:{}", folder.path().join("nic1.sock").display())).unwrap();
    let (good, _, errors) = run.end(Instant::now() + LIMIT);
    assert!(!good && errors.contains("the clients of nodes 0, 1 have not left"), "{errors}");
    assert!(!folder.path().join("nic1.sock").exists());
    drop(card);
}

#[test]
fn sockets_that_another_run_has_are_refused_with_file_and_line() {
    if !there() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let text = served4(folder.path(), &[]);
    let first = serve(folder.path(), &text, 4, 1, &[]);
    let line = 1 + text.lines().position(|line| line.starts_with("sockets")).unwrap();
    let file = folder.path().join("study.toml");
    let refused = |ranks| {
        let mut second = Process::start(&mut command(&file, ranks, &[]));
        let (good, _, errors) = second.end(Instant::now() + LIMIT);
        let wanted = format!("study.toml:{line}: node ");
        assert!(!good && errors.contains(&wanted) && errors.contains("another server"), "{errors}");
    };
    refused(1);
    refused(2);
    drop(first);
    // What a killed run leaves is replaced; a run that is stopped leaves nothing.
    assert!(folder.path().join("nic0.sock").exists());
    let mut third = serve(folder.path(), &text, 4, 1, &[]);
    let killed = Command::new("kill").args(["-INT", &third.0.id().to_string()]).status().unwrap();
    assert!(killed.success());
    let (good, _, errors) = third.end(Instant::now() + LIMIT);
    assert!(!good && errors.contains("stopped after cycle 0"), "{errors}");
    assert!((0..4).all(|node| !folder.path().join(format!("nic{node}.sock")).exists()));
    // A folder that is not there.
    std::fs::write(&file, served4(&folder.path().join("absent"), &[])).unwrap();
    let (good, _, errors) = Process::start(&mut command(&file, 1, &[])).end(Instant::now() + LIMIT);
    assert!(!good && errors.contains(&format!("study.toml:{line}: there is no folder")), "{errors}");
}
