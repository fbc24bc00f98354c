//! A cable to another served card: a Unix socket that keeps frames whole and in order.
//!
//! Both servers name the same path. The first one listens, the second one connects; when one of them ends, the other one keeps its
//! end, and a server that is started again takes the place. A lock beside the socket decides who listens.

use super::{from_mac, Wire, LONGEST};
use crate::{SentFrame, WireFrame};
use anyhow::{Context, Result};
use rustix::event::{PollFd, PollFlags};
use rustix::fs::{flock, FlockOperation};
use rustix::io::Errno;
use rustix::net::{
    accept_with, bind, connect, listen, recv, send, socket_with, AddressFamily, RecvFlags, SendFlags, SocketAddrUnix,
    SocketFlags, SocketType,
};
use std::collections::VecDeque;
use std::fs::File;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// Frames that wait for the other end, at most. A frame for which there is no place is lost, as in a switch.
const MOST_WAITING: usize = 1024;
/// Time between two attempts to find the other end.
const ATTEMPT_EVERY: Duration = Duration::from_millis(50);

/// An end of a cable.
pub struct Link {
    path: PathBuf,
    listener: Option<OwnedFd>,
    peer: Option<OwnedFd>,
    attempted: Instant,
    waiting: VecDeque<Vec<u8>>,
    lost: u64,
    buffer: Vec<u8>,
}

impl Link {
    /// Takes an end of the cable at this path.
    ///
    /// # Errors
    /// There can be no socket at this path.
    pub fn open(path: &Path) -> Result<Link> {
        let mut link = Link {
            path: path.into(),
            listener: None,
            peer: None,
            attempted: Instant::now(),
            waiting: VecDeque::new(),
            lost: 0,
            buffer: vec![0; LONGEST + 1],
        };
        link.take_an_end().with_context(|| {
            format!(
                "there can be no cable at {}; give a path of at most 107 bytes in a folder that you can write",
                path.display()
            )
        })?;
        Ok(link)
    }

    /// Whether the other end is there.
    pub fn connected(&self) -> bool {
        self.peer.is_some()
    }

    /// Frames that were lost, because the other end was missing or too slow.
    pub fn lost(&self) -> u64 {
        self.lost
    }

    /// Connects to the other end, or listens for it.
    fn take_an_end(&mut self) -> Result<()> {
        self.attempted = Instant::now();
        let lock = File::create(lock_path(&self.path))?;
        // The holder only connects and binds, so the wait is short.
        flock(&lock, FlockOperation::LockExclusive)?;
        let address = SocketAddrUnix::new(&self.path)?;
        let own = socket()?;
        match connect(&own, &address) {
            Ok(()) => self.peer = Some(own),
            // Nothing listens: the socket is one that a server left.
            Err(Errno::CONNREFUSED | Errno::NOENT) => {
                match std::fs::remove_file(&self.path) {
                    Err(error) if error.kind() != std::io::ErrorKind::NotFound => return Err(error.into()),
                    _ => {}
                }
                let own = socket()?;
                bind(&own, &address)?;
                listen(&own, 1)?;
                self.listener = Some(own);
            }
            // The queue of the other end is full: a third server.
            Err(error) => return Err(error.into()),
        }
        Ok(())
    }

    /// Finds the other end again, if it is missing.
    fn repair(&mut self) {
        if self.peer.is_some() {
            return;
        }
        if let Some(listener) = &self.listener {
            self.peer = accept_with(listener, SocketFlags::NONBLOCK | SocketFlags::CLOEXEC).ok();
        } else if self.attempted.elapsed() >= ATTEMPT_EVERY {
            if let Err(error) = self.take_an_end() {
                log::debug!("no cable at {}: {error:#}", self.path.display());
            }
        }
    }

    /// The other end is gone; what waits for it is lost with it.
    fn unplug(&mut self) {
        self.peer = None;
        self.lost += self.waiting.len() as u64;
        self.waiting.clear();
        log::info!("the other end of {} is gone", self.path.display());
    }

    /// Sends what waits, as far as the socket takes it.
    fn flush(&mut self) {
        while let (Some(peer), Some(frame)) = (&self.peer, self.waiting.front()) {
            match send(peer, frame, SendFlags::NOSIGNAL | SendFlags::DONTWAIT) {
                Ok(_) => drop(self.waiting.pop_front()),
                Err(Errno::AGAIN | Errno::INTR | Errno::NOBUFS) => return,
                Err(_) => self.unplug(),
            }
        }
    }
}

fn lock_path(path: &Path) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(".lock");
    name.into()
}

fn socket() -> Result<OwnedFd> {
    let flags = SocketFlags::NONBLOCK | SocketFlags::CLOEXEC;
    Ok(socket_with(AddressFamily::UNIX, SocketType::SEQPACKET, flags, None)?)
}

impl Wire for Link {
    fn send(&mut self, frame: SentFrame) -> Result<()> {
        self.repair();
        if self.peer.is_none() || self.waiting.len() >= MOST_WAITING {
            self.lost += 1;
            return Ok(());
        }
        self.waiting.push_back(frame.bytes);
        self.flush();
        Ok(())
    }

    fn receive(&mut self) -> Result<Option<WireFrame>> {
        self.repair();
        self.flush();
        let Some(peer) = &self.peer else { return Ok(None) };
        match recv(peer, &mut self.buffer, RecvFlags::DONTWAIT) {
            Ok((0, _)) => self.unplug(),
            Ok((length, _)) if length <= LONGEST => return Ok(Some(from_mac(self.buffer[..length].to_vec()))),
            Ok((length, _)) => {
                log::warn!("a frame of {length} bytes or more came over {}; it is left out", self.path.display())
            }
            Err(Errno::AGAIN | Errno::INTR) => {}
            Err(_) => self.unplug(),
        }
        Ok(None)
    }

    fn poll_fds(&self) -> Vec<PollFd<'_>> {
        match (&self.peer, &self.listener) {
            (Some(peer), _) if self.waiting.is_empty() => vec![PollFd::new(peer, PollFlags::IN)],
            (Some(peer), _) => vec![PollFd::new(peer, PollFlags::IN | PollFlags::OUT)],
            (None, Some(listener)) => vec![PollFd::new(listener, PollFlags::IN)],
            (None, None) => vec![],
        }
    }
}

impl Drop for Link {
    /// A listener takes its socket away, so that the other end takes its place; a lock file without a holder does no harm.
    fn drop(&mut self) {
        if self.listener.is_some() {
            let _ = std::fs::remove_file(&self.path);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn frame(bytes: &[u8]) -> SentFrame {
        SentFrame { bytes: bytes.to_vec(), first: 0, last: 0 }
    }

    fn next(link: &mut Link) -> Option<Vec<u8>> {
        let end = Instant::now() + Duration::from_secs(5);
        while Instant::now() < end {
            if let Some(frame) = link.receive().unwrap() {
                return Some(frame.bytes);
            }
            std::thread::sleep(Duration::from_millis(1));
        }
        None
    }

    /// Waits until both ends know each other.
    fn joined(a: &mut Link, b: &mut Link) {
        let end = Instant::now() + Duration::from_secs(5);
        while !(a.connected() && b.connected()) {
            assert!(Instant::now() < end, "the ends do not meet");
            a.repair();
            b.repair();
        }
    }

    #[test]
    fn frames_pass_whole_and_in_order_in_both_directions() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("cable");
        let mut a = Link::open(&path).unwrap();
        a.send(frame(b"no other end")).unwrap();
        assert_eq!(a.lost(), 1);
        let mut b = Link::open(&path).unwrap();
        joined(&mut a, &mut b);
        for length in [60u8, 61, 200] {
            a.send(frame(&vec![length; length.into()])).unwrap();
            b.send(frame(&vec![length + 1; length.into()])).unwrap();
        }
        for length in [60u8, 61, 200] {
            assert_eq!(next(&mut b).unwrap(), vec![length; length.into()]);
            assert_eq!(next(&mut a).unwrap(), vec![length + 1; length.into()]);
        }
        // Short frames are filled up, as a MAC does.
        a.send(frame(&[7; 14])).unwrap();
        assert_eq!(next(&mut b).unwrap().len(), 60);
    }

    #[test]
    fn either_end_may_go_and_come_again() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("cable");
        let mut a = Link::open(&path).unwrap();
        for round in 0..4u8 {
            // The end that stays is the listener in even rounds only.
            let mut b = Link::open(&path).unwrap();
            joined(&mut a, &mut b);
            b.send(frame(&[round; 64])).unwrap();
            assert_eq!(next(&mut a).unwrap(), [round; 64]);
            if round % 2 == 0 {
                drop(std::mem::replace(&mut a, b));
            } else {
                drop(b);
            }
            let end = Instant::now() + Duration::from_secs(5);
            while a.connected() {
                assert!(a.receive().unwrap().is_none() && Instant::now() < end);
            }
        }
    }

    #[test]
    fn a_slow_end_costs_a_bounded_queue() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("cable");
        let (mut a, mut b) = (Link::open(&path).unwrap(), Link::open(&path).unwrap());
        joined(&mut a, &mut b);
        let sent = 4 * MOST_WAITING;
        for i in 0..sent {
            a.send(frame(&[&(i as u32).to_le_bytes()[..], &[0; 1000]].concat())).unwrap();
        }
        assert!(a.lost() > 0 && a.waiting.len() <= MOST_WAITING);
        let mut got = 0;
        while got + (a.lost() as usize) < sent {
            a.flush();
            let bytes = next(&mut b).expect("what was not lost arrives");
            assert_eq!(bytes[..4], (got as u32).to_le_bytes(), "in order");
            got += 1;
        }
    }

    #[test]
    fn a_socket_that_was_left_is_replaced() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("cable");
        let dead = socket().unwrap();
        bind(&dead, &SocketAddrUnix::new(&path).unwrap()).unwrap();
        drop(dead);
        assert!(path.exists());
        assert!(Link::open(&path).unwrap().listener.is_some());
    }
}
