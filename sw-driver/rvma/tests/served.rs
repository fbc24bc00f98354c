//! The C example in two processes, each with a served card; a cable joins the cards.

use spindle_contract::params::Config;
use spindle_sim::serve::{End, NicServer, ServeOptions, TimeMode};
use std::io::{BufRead, BufReader, Read};
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

/// Socket of a served card, for the process that serves it.
const SOCKET: &str = "SPINDLE_TEST_SOCKET";
/// Path of its cable.
const CABLE: &str = "SPINDLE_TEST_CABLE";
/// Longest time of the two programs.
const LIMIT: Duration = Duration::from_secs(240);

/// A process that is ended with the test, and its output, which it must be able to write to its end.
struct Process(Child, Option<BufReader<ChildStdout>>);

impl Drop for Process {
    fn drop(&mut self) {
        // The end of its standard input stops a server in order.
        drop(self.0.stdin.take());
        // As long as the server may write.
        let _output = self.1.take();
        let until = Instant::now() + Duration::from_secs(5);
        while Instant::now() < until {
            if let Ok(Some(_)) = self.0.try_wait() {
                return;
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Not a test of its own: the server of one card, in a process that `serve` starts.
#[test]
fn server_of_a_card() {
    let (Some(socket), Some(cable)) = (std::env::var_os(SOCKET), std::env::var_os(CABLE)) else { return };
    let options = ServeOptions {
        socket: socket.into(),
        config: Config::SIM,
        time: TimeMode::Free,
        end: End::Link(cable.into()),
        waves: false,
        keep: false,
        seed: 1,
    };
    let mut server = NicServer::open(&options).unwrap();
    println!("serving");
    server.run(std::io::stdin().as_fd()).unwrap();
}

/// Serves a card in a process of its own; returns when its socket is there.
fn serve(socket: &Path, cable: &Path) -> Process {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", "server_of_a_card", "--nocapture"]).env(SOCKET, socket).env(CABLE, cable);
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let mut output = BufReader::new(child.stdout.take().unwrap());
    let ready = output.by_ref().lines().map_while(Result::ok).any(|line| line.contains("serving"));
    let process = Process(child, Some(output));
    assert!(ready, "the server of {} ended", socket.display());
    process
}

/// The compiled example.
fn example(folder: &Path) -> PathBuf {
    let (here, output) = (Path::new(env!("CARGO_MANIFEST_DIR")), folder.join("exchange"));
    let library = library();
    let mut command = Command::new("cc");
    command.args(["-Wall", "-Wextra", "-Werror", "-I"]).arg(here.join("include"));
    command.arg(here.join("examples/exchange.c")).arg("-L").arg(&library).arg("-lspindle_rvma");
    assert!(command.arg("-o").arg(&output).status().unwrap().success());
    output
}

fn library() -> PathBuf {
    std::env::current_exe().unwrap().parent().unwrap().to_path_buf()
}

#[test]
fn two_processes_exchange_a_mebibyte() {
    let folder = tempfile::tempdir().unwrap();
    let cable = folder.path().join("cable");
    let sockets = ["a", "b"].map(|name| folder.path().join(name));
    let servers = sockets.each_ref().map(|socket| serve(socket, &cable));
    let program = example(folder.path());
    let start = Instant::now();
    let mut programs = [0, 1].map(|node: usize| {
        let mut command = Command::new(&program);
        command.arg(format!("unix:{}", sockets[node].display())).arg(node.to_string());
        command.env("LD_LIBRARY_PATH", library()).stdout(Stdio::piped()).stderr(Stdio::piped());
        Process(command.spawn().unwrap(), None)
    });
    for (node, program) in programs.iter_mut().enumerate() {
        let status = loop {
            if let Some(status) = program.0.try_wait().unwrap() {
                break Some(status);
            }
            if start.elapsed() > LIMIT {
                let _ = program.0.kill();
                break None;
            }
            std::thread::sleep(Duration::from_millis(20));
        };
        let (mut words, mut errors) = (String::new(), String::new());
        program.0.stdout.take().unwrap().read_to_string(&mut words).unwrap();
        program.0.stderr.take().unwrap().read_to_string(&mut errors).unwrap();
        assert!(status.is_some_and(|status| status.success()), "node {node}: {status:?}\n{words}{errors}");
        assert_eq!(words, format!("node {node}: 1048576 bytes sent, 1048576 bytes received\n"));
    }
    println!("exchanged after {:.1} s", start.elapsed().as_secs_f64());
    drop(servers);
}
