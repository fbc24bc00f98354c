//! Served NICs on a cable, each with a daemon, in threads of the test.

use rustix::event::{eventfd, EventfdFlags};
use spindle::transport::vfio_user::UserCard;
use spindle::vfio_user::Client;
use spindle::{irq, Device, Node, SharedCard};
use spindle_sim::serve::{End, NicServer, ServeOptions};
use spindled::card::{Peer, Station};
use spindled::{Daemon, Options, Quota};
use std::os::fd::{AsFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

pub type Driver = Device<SharedCard, SharedCard>;

/// A thread that ends when the value is dropped.
pub struct Running {
    thread: Option<JoinHandle<()>>,
    end: Box<dyn Fn()>,
}

impl Drop for Running {
    fn drop(&mut self) {
        (self.end)();
        let ended = self.thread.take().is_none_or(|thread| thread.join().is_ok());
        assert!(ended || std::thread::panicking(), "a server has panicked");
    }
}

/// Fails unless a condition holds within a minute.
pub fn soon(what: &str, mut condition: impl FnMut() -> bool) {
    let begin = Instant::now();
    while !condition() {
        assert!(begin.elapsed() < Duration::from_secs(60), "{what}");
        std::thread::sleep(Duration::from_millis(2));
    }
}

/// A served card; its number is that of its node. The cards of a folder are on one cable.
pub fn serve(folder: &Path, number: usize) -> (PathBuf, Running) {
    let socket = folder.join(format!("nic{number}.sock"));
    let options = ServeOptions { end: End::Link(folder.join("cable")), ..ServeOptions::at(&socket) };
    let stop = eventfd(0, EventfdFlags::NONBLOCK | EventfdFlags::CLOEXEC).unwrap();
    let stops: OwnedFd = stop.try_clone().unwrap();
    // The model may have to be built, which takes minutes.
    let (opened, is_open) = std::sync::mpsc::channel();
    let thread = std::thread::spawn(move || {
        let mut server = NicServer::open(&options).unwrap();
        opened.send(()).unwrap();
        server.run(stops.as_fd()).unwrap();
    });
    is_open.recv().expect("a card that is served");
    let end = Box::new(move || {
        irq::signal(&stop);
    });
    (socket, Running { thread: Some(thread), end })
}

fn node(number: usize) -> Node {
    Node {
        mac: [2, 0, 0, 0, 0, number as u8 + 1],
        ip: [10, 0, 0, number as u8 + 1],
        port: spindle_contract::params::SPINDLE_PORT,
    }
}

/// A daemon that owns a served card.
pub fn own_card(folder: &Path, number: usize, nic: PathBuf) -> (PathBuf, Running) {
    let sockets = folder.join(format!("spindled{number}"));
    std::fs::create_dir(&sockets).unwrap();
    let Node { mac, ip, .. } = node(number);
    let options = Options {
        sockets: sockets.clone(),
        station: Some(Station { nid: number as u32, mac, ip }),
        nodes: (0..2).map(|number| (number, Peer { node: node(number), icrc: true })).collect(),
        round_trip: 20_000,
        quota: Quota { mailboxes: 8, ..Quota::default() },
    };
    let ends = Arc::new(AtomicBool::new(false));
    let end = ends.clone();
    let thread = std::thread::spawn(move || {
        let card = spindle::open(&format!("unix:{}", nic.display())).unwrap();
        Daemon::new(card, options).unwrap().run(|| ends.load(Ordering::Relaxed)).unwrap();
    });
    (sockets, Running { thread: Some(thread), end: Box::new(move || end.store(true, Ordering::Relaxed)) })
}

/// A share of a daemon, and its process.
pub fn share(sockets: &Path) -> (Driver, usize) {
    let card = SharedCard::new(UserCard::over(Client::connect(&sockets.join("card.sock")).unwrap()).unwrap());
    let process = card.lock().process().unwrap();
    (Device::share(card.clone(), card).unwrap(), process)
}
