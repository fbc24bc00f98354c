//! The client: requests to a server, one at a time, with a bound on every wait.
//!
//! A server that closes its socket, breaks the protocol, or does not answer within the limit is gone, and stays so for this client: every
//! later call is [`Error::Gone`]. A request that the server refuses is [`Error::Refused`], and the connection goes on.

use super::channel::{Broken, Channel, Message};
use super::message::*;
use crate::{irq, Error, Result};
use rustix::event::PollFlags;
use rustix::io::Errno;
use std::io;
use std::os::fd::BorrowedFd;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::{Duration, Instant};

mod requests;

/// How long a server may take for an answer. The only wait of the driver that is measured in the host's time.
pub const ANSWER_LIMIT: Duration = Duration::from_secs(10);

/// A region of a function.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Region {
    /// Its bytes; 0: the function does not have the region.
    pub bytes: u64,
    /// Kind and the vendor's number, of a region that is the device's own.
    pub kind: Option<(u32, u32)>,
}

/// A connection to a server.
#[derive(Debug)]
pub struct Client {
    channel: Channel,
    address: String,
    server: Capabilities,
    number: u16,
    limit: Duration,
    gone: Option<String>,
}

impl Client {
    /// Connects to the server of a socket and agrees on the protocol.
    ///
    /// # Errors
    /// [`Error::Transport`]: nothing listens there. [`Error::Permission`]: the socket is not this user's. [`Error::Busy`]: the server has
    /// a client. [`Error::Gone`]: no answer.
    pub fn connect(path: &Path) -> Result<Client> {
        Client::connect_within(path, ANSWER_LIMIT)
    }

    /// As [`Client::connect`], with another bound on every wait.
    pub fn connect_within(path: &Path, limit: Duration) -> Result<Client> {
        let stream = UnixStream::connect(path).map_err(|source| match source.kind() {
            io::ErrorKind::PermissionDenied => Error::Permission {
                path: path.display().to_string(),
                cure: "become a member of the socket's group, or run as its owner".into(),
            },
            _ => Error::Transport {
                action: format!("connect to {}", path.display()),
                source,
                cure: "start `spindle serve` or `spindled` at this path".into(),
            },
        })?;
        Client::over(stream, format!("unix:{}", path.display()), limit)
    }

    /// Agrees on the protocol over a socket that is connected; `address` names the card in errors.
    pub fn over(stream: UnixStream, address: String, limit: Duration) -> Result<Client> {
        let channel = Channel::new(stream).map_err(|source| Error::Transport {
            action: format!("use the socket of {address}"),
            source,
            cure: "open the card again".into(),
        })?;
        let mut client = Client { channel, address, server: Capabilities::default(), number: 0, limit, gone: None };
        let reply = match client.exchange(Command::Version, &[&version_body(Capabilities::own())], &[])? {
            Ok(reply) => reply,
            Err(error) if error == Errno::BUSY.raw_os_error() => {
                return Err(Error::Busy { address: client.address, owner: "another client of its server".into() })
            }
            Err(error) => return Err(refused("the protocol's version", error)),
        };
        match parse_version(&reply.body) {
            Some((version, capabilities)) if version.major == MAJOR => client.server = capabilities,
            _ => return Err(client.lost("its server speaks another version of vfio-user")),
        }
        Ok(client)
    }

    /// Address of the card.
    pub fn address(&self) -> &str {
        &self.address
    }

    /// What the server can do.
    pub fn server(&self) -> &Capabilities {
        &self.server
    }

    /// Bounds every wait from now on.
    pub fn set_limit(&mut self, limit: Duration) {
        self.limit = limit;
    }

    /// Ends the use of the card, and returns the error that says so: now and for every later call.
    pub fn lost(&mut self, why: impl Into<String>) -> Error {
        let why = self.gone.get_or_insert(why.into()).clone();
        Error::Gone { address: self.address.clone(), why }
    }

    fn check(&mut self) -> Result<()> {
        match self.gone.clone() {
            Some(why) => Err(self.lost(why)),
            None => Ok(()),
        }
    }

    fn broken(&mut self, broken: Broken) -> Error {
        let why = match broken {
            Broken::Closed => "its server closed the connection".to_string(),
            Broken::Socket(error) => format!("its socket failed: {error}"),
            Broken::Size(header) => format!("its server sent a message of {} bytes", header.size),
        };
        self.lost(why)
    }

    fn wait(&mut self, end: Instant, interest: PollFlags) -> Result<()> {
        let left = end.saturating_duration_since(Instant::now());
        match irq::ready(self.channel.fd(), interest, left) {
            Ok(true) => Ok(()),
            Ok(false) => {
                let limit = self.limit.as_secs_f32();
                Err(self.lost(format!("its server has not answered for {limit} s")))
            }
            Err(error) => Err(self.broken(Broken::Socket(error))),
        }
    }

    /// Sends a request; returns its number.
    fn send(
        &mut self,
        command: Command,
        parts: &[&[u8]],
        fds: &[BorrowedFd<'_>],
        flags: u32,
        end: Instant,
    ) -> Result<u16> {
        self.check()?;
        self.number = self.number.wrapping_add(1);
        let fds = fds.iter().map(irq::duplicate).collect::<Result<_>>()?;
        let header = Header { id: self.number, command: command as u16, flags, ..Header::default() };
        let mut sent = self.channel.send(header, parts, fds);
        while sent.is_ok() && self.channel.congested() {
            self.wait(end, PollFlags::OUT)?;
            sent = self.channel.flush();
        }
        match sent {
            // A server that refuses and closes may have answered before.
            Ok(()) | Err(Broken::Closed) => Ok(self.number),
            Err(broken) => Err(self.broken(broken)),
        }
    }

    /// A request and its reply, or the errno of the reply.
    fn exchange(
        &mut self,
        command: Command,
        parts: &[&[u8]],
        fds: &[BorrowedFd<'_>],
    ) -> Result<std::result::Result<Message, i32>> {
        let end = Instant::now() + self.limit;
        let number = self.send(command, parts, fds, flags::REQUEST, end)?;
        loop {
            let message = match self.channel.receive() {
                Ok(Some(message)) => message,
                Ok(None) => {
                    self.wait(end, PollFlags::IN)?;
                    continue;
                }
                Err(broken) => return Err(self.broken(broken)),
            };
            let header = message.header;
            if header.flags & flags::KIND == flags::REQUEST {
                self.decline(header)?;
                continue;
            }
            if header.id != number {
                return Err(self.lost("its server answered a request that was not sent"));
            }
            return Ok(match header.flags & flags::ERROR {
                0 => Ok(message),
                _ => Err(header.error as i32),
            });
        }
    }

    /// A request of the server (it would read memory by messages): declined.
    fn decline(&mut self, request: Header) -> Result<()> {
        let error = Errno::OPNOTSUPP.raw_os_error() as u32;
        let reply = Header { flags: flags::REPLY | flags::ERROR, error, ..request };
        self.channel.send(reply, &[], Vec::new()).map_err(|broken| self.broken(broken))
    }

    fn call(&mut self, command: Command, name: &'static str, body: &[u8], fds: &[BorrowedFd<'_>]) -> Result<Message> {
        self.exchange(command, &[body], fds)?.map_err(|error| refused(name, error))
    }

    /// The structure at the start of a reply.
    fn parsed<T>(&mut self, parsed: Option<T>) -> Result<T> {
        parsed.ok_or_else(|| self.lost("its server sent a reply that is too short"))
    }
}

/// A refusal with the error number of its reply, which may be any.
fn refused(request: &'static str, error: i32) -> Error {
    let why = match error {
        0 => "it gives no reason".to_string(),
        _ => io::Error::from_raw_os_error(error).to_string(),
    };
    Error::Refused { request, why }
}
