//! The loop: sockets, clients, interrupts.

use crate::card::{window, Card, Peer, Station, ADMIN};
use crate::control::Connection;
use crate::quota::Quota;
use crate::share::{Client, Share};
use anyhow::{bail, Context, Result};
use rustix::event::{poll, PollFd, PollFlags, Timespec};
use rustix::net::sockopt::socket_peercred;
use spindle::config_space::Layout;
use spindle::vfio_user::{Host, Refusals, Server};
use spindle::{irq, SharedCard};
use spindle_contract::pci::VECTORS;
use std::fs::{self, Permissions};
use std::ops::Range;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};

/// Processes with sockets of their own.
const NAMED_PROCESSES: usize = 15;
/// Connections to `control.sock` at once.
const MOST_CONNECTIONS: usize = 32;
/// Longest sleep of the loop: a signal that ends the daemon is noticed by then.
const NAP: Timespec = Timespec { tv_sec: 0, tv_nsec: 100_000_000 };

/// How the daemon runs.
#[derive(Clone, Debug)]
pub struct Options {
    /// Folder of the sockets.
    pub sockets: PathBuf,
    /// Who the card is, if that is known.
    pub station: Option<Station>,
    /// Nodes that processes can put to.
    pub nodes: Vec<(usize, Peer)>,
    /// Cycles of a packet and its acknowledgement.
    pub round_trip: u64,
    /// Limits of a client.
    pub quota: Quota,
}

/// A client and its server.
#[derive(Debug)]
pub struct Slot {
    server: Server,
    /// The client.
    pub client: Client,
    /// Its connection is to be ended.
    pub evicted: bool,
}

/// A socket of the daemon, which goes with it.
#[derive(Debug)]
struct Socket {
    listener: UnixListener,
    path: PathBuf,
}

impl Socket {
    fn bind(folder: &Path, name: &str, mode: u32) -> Result<Socket> {
        let path = folder.join(name);
        if UnixStream::connect(&path).is_ok() {
            bail!("another spindled listens at {}; end it, or choose another folder", path.display());
        }
        let _ = fs::remove_file(&path);
        let listener = UnixListener::bind(&path)
            .with_context(|| format!("cannot listen at {}; give a folder that exists", path.display()))?;
        fs::set_permissions(&path, Permissions::from_mode(mode)).context("cannot set the rights of a socket")?;
        listener.set_nonblocking(true)?;
        Ok(Socket { listener, path })
    }

    fn accept(&self) -> Option<UnixStream> {
        self.listener.accept().ok().map(|(stream, _)| stream)
    }
}

impl Drop for Socket {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.path);
    }
}

/// The daemon.
pub struct Daemon {
    card: Card,
    options: Options,
    shares: Socket,
    /// A socket for each process from 1 on, for clients that others know by the number of their process.
    processes: Vec<Socket>,
    admin: Socket,
    control: Socket,
    slots: Vec<Slot>,
    refused: Refusals,
    connections: Vec<Connection>,
    vectors: Vec<OwnedFd>,
}

/// Process and user at the other end of a socket.
fn peer(stream: &UnixStream) -> (u32, u32) {
    socket_peercred(stream).map_or((0, u32::MAX), |peer| (peer.pid.as_raw_nonzero().get() as u32, peer.uid.as_raw()))
}

impl Daemon {
    /// Takes a card, and listens in the folder of the options.
    pub fn new(card: SharedCard, options: Options) -> Result<Daemon> {
        let count = card.lock().vectors().min(VECTORS);
        let vectors = (0..count).map(|vector| card.lock().interrupt(vector)).collect::<spindle::Result<_>>()?;
        let mut card = Card::open(card)?;
        for (number, peer) in &options.nodes {
            card.set_node(*number, *peer)?;
        }
        if let Some(station) = options.station {
            card.set_station(station, options.round_trip)?;
        }
        let socket = |name: &str, mode: u32| Socket::bind(&options.sockets, name, mode);
        let (shares, admin, control) =
            (socket("card.sock", 0o660)?, socket("admin.sock", 0o600)?, socket("control.sock", 0o660)?);
        let last = card.device.info().processes.min(NAMED_PROCESSES + 1);
        let processes = (ADMIN + 1..last).map(|process| socket(&format!("process{process}.sock"), 0o660));
        let processes = processes.collect::<Result<_>>()?;
        let (slots, refused, connections) = (Vec::new(), Refusals::default(), Vec::new());
        Ok(Daemon { card, options, shares, processes, admin, control, slots, refused, connections, vectors })
    }

    /// Serves clients until `ends` is true, or the card is gone.
    ///
    /// # Errors
    /// The card is gone.
    pub fn run(&mut self, ends: impl Fn() -> bool) -> Result<()> {
        while !ends() {
            self.wait();
            self.service()?;
        }
        Ok(())
    }

    fn wait(&self) {
        let mut fds: Vec<PollFd<'_>> = [&self.shares, &self.admin, &self.control]
            .map(|socket| PollFd::new(&socket.listener, PollFlags::IN))
            .into();
        fds.extend(self.vectors.iter().map(|event| PollFd::new(event, PollFlags::IN)));
        fds.extend(self.slots.iter().flat_map(|slot| slot.server.poll_fds()));
        fds.extend(self.refused.poll_fds());
        fds.extend(self.connections.iter().map(|connection| {
            let interest = if connection.congested() { PollFlags::OUT } else { PollFlags::IN };
            PollFd::from_borrowed_fd(connection.stream().as_fd(), interest)
        }));
        let _ = poll(&mut fds, Some(&NAP));
    }

    /// Handles what is there.
    fn service(&mut self) -> Result<()> {
        self.interrupts();
        while let Some(stream) = self.shares.accept() {
            self.share(stream, ADMIN + 1..self.card.device.info().processes);
        }
        for process in ADMIN + 1..ADMIN + 1 + self.processes.len() {
            while let Some(stream) = self.processes[process - ADMIN - 1].accept() {
                self.share(stream, process..process + 1);
            }
        }
        while let Some(stream) = self.admin.accept() {
            self.share(stream, ADMIN..ADMIN + 1);
        }
        while let Some(stream) = self.control.accept() {
            self.connect(stream);
        }
        self.refused.service();
        self.clients();
        let (card, slots, round_trip) = (&mut self.card, &mut self.slots, self.options.round_trip);
        self.connections.retain_mut(|connection| connection.service(card, slots, round_trip));
        match self.card.failure() {
            None => Ok(()),
            Some(error) => {
                for slot in &self.slots {
                    slot.client.host.interrupts.report_error();
                }
                Err(error.into())
            }
        }
    }

    fn interrupts(&mut self) {
        let fired = self.vectors.iter().enumerate().filter(|(_, event)| irq::take(event) > 0);
        let fired = fired.fold(0, |all, (vector, _)| all | 1 << vector);
        if fired != 0 {
            self.slots.iter().for_each(|slot| slot.client.interrupt(fired));
        }
    }

    /// The first of these processes that no client has.
    fn free(&self, mut processes: Range<usize>) -> Option<usize> {
        processes.find(|process| self.slots.iter().all(|slot| slot.client.process != *process))
    }

    /// Gives a client one of these processes; a client for whom there is none is refused.
    fn share(&mut self, stream: UnixStream, processes: Range<usize>) {
        let free = self.free(processes.clone()).or_else(|| {
            // A client may have gone since it was served: who connects after its end finds its process free.
            self.clients();
            self.free(processes)
        });
        let Some(process) = free else {
            log::warn!("a client with pid {} finds no free process", peer(&stream).0);
            return self.refused.add(stream);
        };
        let (peer, host) = (peer(&stream), Host::new(VECTORS));
        match Server::over(stream, Layout::CARD, host.clone()) {
            Ok(mut server) => {
                server.announce((process != ADMIN).then_some(process), window(process));
                self.slots.push(Slot { server, client: Client::new(process, host, peer), evicted: false });
            }
            Err(error) => log::warn!("a client cannot be served: {error}"),
        }
    }

    fn connect(&mut self, stream: UnixStream) {
        let user = peer(&stream).1;
        let trusted = user == 0 || user == rustix::process::getuid().as_raw();
        if self.connections.len() < MOST_CONNECTIONS {
            self.connections.extend(Connection::new(stream, trusted));
        }
    }

    /// Serves each client in turn; those that are gone leave their process.
    fn clients(&mut self) {
        let (card, quota) = (&mut self.card, &self.options.quota);
        self.slots.retain_mut(|Slot { server, client, evicted }| {
            let mut share = Share { card, quota, client };
            server.service(&mut share);
            if *evicted {
                server.disconnect(&mut share);
            }
            server.connected()
        });
    }
}

impl Drop for Daemon {
    fn drop(&mut self) {
        let (card, quota) = (&mut self.card, &self.options.quota);
        for Slot { server, client, .. } in &mut self.slots {
            server.disconnect(&mut Share { card, quota, client });
        }
    }
}
