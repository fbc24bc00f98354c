//! A card, a daemon that owns it, each in a thread.

use crate::model::Model;
use rustix::event::{poll, Timespec};
use spindle::config_space::Layout;
use spindle::transport::vfio_user::UserCard;
use spindle::vfio_user::{Client, Host, Server};
use spindle::{Device, Node, SharedCard};
use spindle_contract::params::SPINDLE_PORT;
use spindle_contract::pci;
use spindled::card::Peer;
use spindled::{Daemon, Options, Quota};
use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};
use tempfile::TempDir;

/// The node that the daemon is given at its start.
const CHECKED: Peer =
    Peer { node: Node { mac: [2, 0, 0, 0, 0, 7], ip: [10, 0, 0, 7], port: SPINDLE_PORT }, icrc: true };

pub type Driver = Device<SharedCard, SharedCard>;

pub struct Setup {
    folder: TempDir,
    pub model: Model,
    ends: [Arc<AtomicBool>; 2],
    threads: [Option<JoinHandle<()>>; 2],
}

/// Fails unless a condition holds within a few seconds.
pub fn soon(what: &str, mut condition: impl FnMut() -> bool) {
    let begin = Instant::now();
    while !condition() {
        assert!(begin.elapsed() < Duration::from_secs(5), "{what}");
        std::thread::sleep(Duration::from_millis(1));
    }
}

impl Setup {
    pub fn new(quota: Quota) -> Setup {
        let folder = tempfile::tempdir().unwrap();
        let host = Host::new(pci::VECTORS);
        let path = folder.path().join("nic0.sock");
        let mut server = Server::bind(&path, Layout::CARD, host.clone()).unwrap();
        let model = Model::new(host);
        let mut served = model.clone();
        let ends: [Arc<AtomicBool>; 2] = Default::default();
        let end = ends[0].clone();
        let card = std::thread::spawn(move || {
            while !end.load(Ordering::Relaxed) {
                let _ = poll(&mut server.poll_fds(), Some(&Timespec { tv_sec: 0, tv_nsec: 10_000_000 }));
                server.service(&mut served);
            }
        });
        let (sockets, end) = (folder.path().to_path_buf(), ends[1].clone());
        let daemon = std::thread::spawn(move || {
            let options = Options { sockets, station: None, nodes: vec![(7, CHECKED)], round_trip: 4096, quota };
            let card = spindle::open(&format!("unix:{}", path.display())).unwrap();
            let mut daemon = Daemon::new(card, options).unwrap();
            let _ = daemon.run(|| end.load(Ordering::Relaxed));
        });
        let setup = Setup { folder, model, ends, threads: [Some(card), Some(daemon)] };
        // The answer to a question comes after all sockets have been made.
        soon("the daemon answers", || setup.answers());
        setup
    }

    /// Whether the daemon answers a question.
    fn answers(&self) -> bool {
        let Ok(stream) = UnixStream::connect(self.path("control.sock")) else { return false };
        stream.set_read_timeout(Some(Duration::from_secs(5))).unwrap();
        let asked = (&stream).write_all(b"{\"request\":\"identify\"}\n").is_ok();
        asked && (&stream).read(&mut [0; 1]).is_ok_and(|bytes| bytes == 1)
    }

    pub fn path(&self, socket: &str) -> PathBuf {
        self.folder.path().join(socket)
    }

    /// The share of a client, and its process.
    pub fn share(&self) -> (Driver, usize) {
        self.share_at("card.sock").unwrap()
    }

    /// The share that a socket of the daemon gives.
    pub fn share_at(&self, socket: &str) -> spindle::Result<(Driver, usize)> {
        let card = SharedCard::new(UserCard::over(Client::connect(&self.path(socket))?)?);
        let process = card.lock().process().expect("a share has a process");
        Ok((Device::share(card.clone(), card)?, process))
    }

    /// Ends the card (0) or the daemon (1).
    pub fn end(&mut self, which: usize) {
        self.ends[which].store(true, Ordering::Relaxed);
        if let Some(thread) = self.threads[which].take() {
            assert!(thread.join().is_ok() || std::thread::panicking(), "a thread has panicked");
        }
    }
}

impl Drop for Setup {
    fn drop(&mut self) {
        self.end(1);
        self.end(0);
    }
}
