//! A card served by the command, and drivers of it.
#![allow(dead_code)]

use rustix::process::{kill_process, Pid, Signal};
use spindle::rule_table::Action;
use spindle::rvma::Posted;
use spindle::{Device, HostMemory, Kind, SharedCard, Target};
use spindle_contract::wire::status;
use spindle_sim::address;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};
use tempfile::TempDir;

pub const PROCESS: usize = 2;
pub const MAILBOX: u64 = 0x77;
pub const KEY: u32 = 0xBEEF;
/// Bound of each wait, in cycles.
pub const LIMIT: u64 = 2_000_000;

/// A server. It is ended when dropped.
pub struct Served {
    child: Child,
    pub socket: PathBuf,
    folder: Option<TempDir>,
}

impl Served {
    /// Starts one at a socket of its own.
    pub fn start(options: &[&str]) -> Served {
        let folder = tempfile::tempdir().unwrap();
        let mut served = Served::start_at(&folder.path().join("nic.sock"), options);
        served.folder = Some(folder);
        served
    }

    /// Starts one, and waits until it serves.
    pub fn start_at(socket: &Path, options: &[&str]) -> Served {
        Served::run(Served::command(socket, options), socket)
    }

    /// Starts a command that serves at this socket, and waits until it serves.
    pub fn run(mut command: Command, socket: &Path) -> Served {
        let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        assert!(line.starts_with("serving a card"), "{line}");
        Served { child, socket: socket.into(), folder: None }
    }

    pub fn command(socket: &Path, options: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_spindle"));
        command.arg("serve").arg("--socket").arg(socket).args(options);
        command
    }

    /// Ends the server by SIGTERM; whether it ended in order.
    pub fn stop(mut self) -> bool {
        kill_process(Pid::from_child(&self.child), Signal::TERM).unwrap();
        let end = Instant::now() + Duration::from_secs(20);
        while Instant::now() < end {
            if let Some(status) = self.child.try_wait().unwrap() {
                return status.success();
            }
            std::thread::sleep(Duration::from_millis(5));
        }
        false
    }

    /// Ends the server by SIGKILL, which leaves its sockets.
    pub fn kill(mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
        assert!(self.socket.exists());
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Opens a served card, when its server has noticed that the last driver is gone.
pub fn open(socket: &Path) -> SharedCard {
    let end = Instant::now() + Duration::from_secs(20);
    loop {
        match spindle::transport::open(&format!("unix:{}", socket.display())) {
            Ok(card) => return card,
            Err(error) if Instant::now() > end => panic!("{error}"),
            Err(_) => std::thread::sleep(Duration::from_millis(5)),
        }
    }
}

pub type Nic = Device<SharedCard, SharedCard>;

/// The driver of node `number` of two.
pub fn opened(card: &SharedCard, number: usize) -> Nic {
    let mut device = Device::open(card.clone(), card.clone()).unwrap();
    let own = address(number);
    device.set_identity(number as u32, own.mac, own.ip).unwrap();
    (0..2).for_each(|node| device.set_node(node, Some(address(node))).unwrap());
    device.add_rule(&"spindle".parse().unwrap(), Action::Mailbox).unwrap();
    device.set_receive(true).unwrap();
    device
}

/// A window that waits for a message.
pub struct Receiving(Posted);

/// Opens a window for a message of this length.
pub fn receives(device: &mut Nic, length: usize) -> Receiving {
    let window = device.init_window(PROCESS, MAILBOX, KEY, length as u32).unwrap();
    Receiving(device.post_buffer(window, length as u32).unwrap())
}

impl Receiving {
    /// The message.
    pub fn wait(&self, device: &mut Nic) -> Vec<u8> {
        let completed = device.wait(&self.0, LIMIT).unwrap();
        assert_eq!(completed.status, status::DONE);
        let mut bytes = vec![0; completed.length as usize];
        device.memory.read(self.0.buffer, &mut bytes).unwrap();
        bytes
    }
}

/// Puts a message to node 1, and waits until it has left.
pub fn put(device: &mut Nic, data: &[u8]) {
    let memory = device.memory.alloc(data.len(), 64).unwrap();
    device.memory.write(memory, data).unwrap();
    let target = Target { node: 1, process: PROCESS as u16, address: MAILBOX, key: KEY, offset: 0, kind: Kind::Bound };
    let put = device.put(PROCESS, memory, data.len() as u32, &target).unwrap();
    device.wait_put(&put, LIMIT).unwrap();
}
