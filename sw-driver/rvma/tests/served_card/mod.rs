//! Served cards for tests: each in a process of its own, which ends with the test.

use spindle_contract::params::Config;
use spindle_sim::serve::{End, NicServer, ServeOptions, TimeMode};
use std::io::{BufRead, BufReader, Read};
use std::os::fd::AsFd;
use std::path::Path;
use std::process::{Child, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

/// Socket of a served card, for the process that serves it.
const SOCKET: &str = "SPINDLE_TEST_SOCKET";
/// Path of its cable.
const CABLE: &str = "SPINDLE_TEST_CABLE";
/// A process that is ended with the test, and its output, which it must be able to write to its end.
pub struct Process(pub Child, pub Option<BufReader<ChildStdout>>);

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
        pace: None,
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
pub fn serve(socket: &Path, cable: &Path) -> Process {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", "served_card::server_of_a_card", "--nocapture"]).env(SOCKET, socket).env(CABLE, cable);
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let mut output = BufReader::new(child.stdout.take().unwrap());
    let ready = output.by_ref().lines().map_while(Result::ok).any(|line| line.contains("serving"));
    let process = Process(child, Some(output));
    assert!(ready, "the server of {} ended", socket.display());
    process
}

#[allow(dead_code, reason = "not every test that has served cards waits for programs")]
impl Process {
    /// Waits for the end of the process, at most so long from `start`: its status, output and errors, as far as they are piped.
    pub fn end(&mut self, start: Instant, limit: Duration) -> (Option<bool>, String, String) {
        let status = loop {
            if let Some(status) = self.0.try_wait().unwrap() {
                break Some(status.success());
            }
            if start.elapsed() > limit {
                let _ = self.0.kill();
                break None;
            }
            std::thread::sleep(Duration::from_millis(20));
        };
        let (mut words, mut errors) = (String::new(), String::new());
        if let Some(mut output) = self.0.stdout.take() {
            output.read_to_string(&mut words).unwrap();
        }
        if let Some(mut output) = self.0.stderr.take() {
            output.read_to_string(&mut errors).unwrap();
        }
        (status, words, errors)
    }
}
