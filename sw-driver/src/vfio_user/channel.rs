//! A Unix socket that carries whole messages with file descriptors, and never blocks.
//!
//! A message is read with two calls, header and body, and never a byte further: file descriptors that arrive belong to the message.
//! A message that is not complete is kept until the rest arrives; one that the socket does not take is kept until it does.

use super::message::{Header, MAX_FDS, MAX_MESSAGE};
use rustix::event::PollFlags;
use rustix::io::Errno;
use rustix::net::{
    recvmsg, sendmsg, RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, ReturnFlags, SendAncillaryBuffer,
    SendAncillaryMessage, SendFlags,
};
use std::collections::VecDeque;
use std::io::{self, IoSlice, IoSliceMut};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::net::UnixStream;

/// A message, received.
#[derive(Debug)]
pub struct Message {
    /// Its header.
    pub header: Header,
    /// What follows the header.
    pub body: Vec<u8>,
    /// Its file descriptors.
    pub fds: Vec<OwnedFd>,
    /// It came with more file descriptors than [`MAX_FDS`]; those beyond are closed.
    pub fds_lost: bool,
}

/// Why a channel is of no use any more.
#[derive(Debug)]
pub enum Broken {
    /// The other side closed its socket.
    Closed,
    /// The socket failed.
    Socket(io::Error),
    /// A header whose size cannot be: where the next message begins is unknown.
    Size(Header),
}

impl From<io::Error> for Broken {
    fn from(error: io::Error) -> Broken {
        Broken::Socket(error)
    }
}

/// A message, or a part of one, that waits for the socket.
#[derive(Debug)]
struct Outgoing {
    bytes: Vec<u8>,
    sent: usize,
    fds: Vec<OwnedFd>,
}

/// A socket that carries messages.
#[derive(Debug)]
pub struct Channel {
    stream: UnixStream,
    incoming: Vec<u8>,
    fds: Vec<OwnedFd>,
    fds_lost: bool,
    outgoing: VecDeque<Outgoing>,
}

impl Channel {
    /// Carries messages over this socket from now on.
    pub fn new(stream: UnixStream) -> io::Result<Channel> {
        stream.set_nonblocking(true)?;
        Ok(Channel { stream, incoming: Vec::new(), fds: Vec::new(), fds_lost: false, outgoing: VecDeque::new() })
    }

    /// The socket.
    pub fn fd(&self) -> BorrowedFd<'_> {
        self.stream.as_fd()
    }

    /// What to poll the socket for.
    pub fn interest(&self) -> PollFlags {
        match self.outgoing.is_empty() {
            true => PollFlags::IN,
            false => PollFlags::OUT,
        }
    }

    /// Whether messages wait for the socket.
    pub fn congested(&self) -> bool {
        !self.outgoing.is_empty()
    }

    /// The next message, if all of it is there.
    pub fn receive(&mut self) -> Result<Option<Message>, Broken> {
        let header = loop {
            if let Some(header) = Header::parse(&self.incoming) {
                break header;
            }
            if !self.read_up_to(Header::BYTES)? {
                return Ok(None);
            }
        };
        let size = header.size as usize;
        if !(Header::BYTES..=MAX_MESSAGE).contains(&size) {
            return Err(Broken::Size(header));
        }
        while self.incoming.len() < size {
            if !self.read_up_to(size)? {
                return Ok(None);
            }
        }
        let body = self.incoming.split_off(Header::BYTES);
        self.incoming.clear();
        let fds = std::mem::take(&mut self.fds);
        Ok(Some(Message { header, body, fds, fds_lost: std::mem::take(&mut self.fds_lost) }))
    }

    /// Reads once, until there are at most so many bytes; false if nothing is there.
    fn read_up_to(&mut self, size: usize) -> Result<bool, Broken> {
        let have = self.incoming.len();
        self.incoming.resize(size, 0);
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(MAX_FDS))];
        let mut control = RecvAncillaryBuffer::new(&mut space);
        let mut into = [IoSliceMut::new(&mut self.incoming[have..])];
        let received = recvmsg(&self.stream, &mut into, &mut control, RecvFlags::CMSG_CLOEXEC | RecvFlags::DONTWAIT);
        for message in control.drain() {
            if let RecvAncillaryMessage::ScmRights(fds) = message {
                self.fds.extend(fds);
            }
        }
        if self.fds.len() > MAX_FDS {
            self.fds.truncate(MAX_FDS);
            self.fds_lost = true;
        }
        let bytes = received.as_ref().map_or(0, |received| received.bytes);
        self.incoming.truncate(have + bytes);
        match received {
            Ok(received) if received.bytes == 0 => Err(Broken::Closed),
            Ok(received) => {
                self.fds_lost |= received.flags.contains(ReturnFlags::CTRUNC);
                Ok(true)
            }
            Err(Errno::AGAIN | Errno::INTR) => Ok(false),
            Err(Errno::CONNRESET) => Err(Broken::Closed),
            Err(error) => Err(Broken::Socket(error.into())),
        }
    }

    /// Sends a message as far as the socket takes it, and keeps the rest.
    pub fn send(&mut self, mut header: Header, parts: &[&[u8]], fds: Vec<OwnedFd>) -> Result<(), Broken> {
        let body: usize = parts.iter().map(|part| part.len()).sum();
        header.size = (Header::BYTES + body) as u32;
        let mut bytes = header.bytes();
        parts.iter().for_each(|part| bytes.extend_from_slice(part));
        self.outgoing.push_back(Outgoing { bytes, sent: 0, fds });
        self.flush()
    }

    /// Sends what waits, as far as the socket takes it.
    pub fn flush(&mut self) -> Result<(), Broken> {
        while let Some(first) = self.outgoing.front_mut() {
            let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(MAX_FDS))];
            let mut control = SendAncillaryBuffer::new(&mut space);
            let fds: Vec<BorrowedFd<'_>> = first.fds.iter().map(AsFd::as_fd).collect();
            if !fds.is_empty() && !control.push(SendAncillaryMessage::ScmRights(&fds)) {
                let error = format!("{} file descriptors do not fit in a message; at most {MAX_FDS}", fds.len());
                return Err(Broken::Socket(io::Error::other(error)));
            }
            let part = [IoSlice::new(&first.bytes[first.sent..])];
            match sendmsg(&self.stream, &part, &mut control, SendFlags::NOSIGNAL | SendFlags::DONTWAIT) {
                Ok(sent) => {
                    first.sent += sent;
                    // They go with the first byte that is sent.
                    first.fds.clear();
                    if first.sent == first.bytes.len() {
                        self.outgoing.pop_front();
                    }
                }
                Err(Errno::AGAIN | Errno::INTR) => return Ok(()),
                Err(Errno::PIPE | Errno::CONNRESET) => return Err(Broken::Closed),
                Err(error) => return Err(Broken::Socket(error.into())),
            }
        }
        Ok(())
    }
}
