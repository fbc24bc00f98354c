//! The server: a listening socket, one client at a time, and a function that the caller owns.
//!
//! Nothing here waits. The thread that owns the function, such as the one that steps a simulated card, calls [`Server::service`] every
//! few cycles, or polls [`Server::poll_fds`] when there is nothing else to do. Connections follow one another; a second client at the
//! same time is refused with `EBUSY`.

use super::channel::{Broken, Channel, Message};
use super::function::{Function, Host};
use super::message::{flags, parse_version, version_answer, Capabilities, Command, Header, MAJOR};
use super::served::{Reply, Served};
use crate::config_space::Layout;
use crate::{irq, Error, Result};
use rustix::event::{poll, PollFd, PollFlags, Timespec};
use rustix::io::Errno;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};

/// Requests that one call of [`Server::service`] handles at most: a client that floods the server does not stop its caller.
const MOST_REQUESTS: usize = 64;
/// Clients that wait for their refusal.
const MOST_REFUSED: usize = 4;

/// A listening socket and its client.
#[derive(Debug)]
pub struct Server {
    listener: Option<UnixListener>,
    path: Option<PathBuf>,
    served: Served,
    client: Option<Client>,
    refused: Refusals,
}

#[derive(Debug)]
struct Client {
    channel: Channel,
    agreed: bool,
}

/// Clients for whom there is no function: the first message of each is answered with `EBUSY`.
#[derive(Debug, Default)]
pub struct Refusals(Vec<Channel>);

impl Refusals {
    /// Takes a client; beyond a few that wait, a client is left without an answer.
    pub fn add(&mut self, stream: UnixStream) {
        if let Ok(channel) = Channel::new(stream) {
            self.push(channel);
        }
    }

    fn push(&mut self, channel: Channel) {
        if self.0.len() < MOST_REFUSED {
            self.0.push(channel);
        }
    }

    /// What to poll for.
    pub fn poll_fds(&self) -> impl Iterator<Item = PollFd<'_>> {
        self.0.iter().map(|channel| PollFd::from_borrowed_fd(channel.fd(), PollFlags::IN))
    }

    /// Answers those whose message is there.
    pub fn service(&mut self) {
        self.0.retain_mut(|channel| match channel.receive() {
            Ok(None) => true,
            Ok(Some(message)) => {
                let _ = channel.send(error_header(&message.header, Errno::BUSY), &[], Vec::new());
                false
            }
            Err(_) => false,
        });
    }
}

impl Server {
    /// Listens at a path. A socket that a server left there, and nothing listens at, is replaced.
    ///
    /// # Errors
    /// [`Error::Busy`]: another server listens there. [`Error::Transport`]: the socket cannot be made.
    pub fn bind(path: &Path, layout: Layout, host: Host) -> Result<Server> {
        let failed = |source: std::io::Error| Error::Transport {
            action: format!("listen at {}", path.display()),
            source,
            cure: "give a path of at most 107 bytes in a folder that you can write".into(),
        };
        if UnixStream::connect(path).is_ok() {
            return Err(Error::Busy {
                address: format!("unix:{}", path.display()),
                owner: "another server that listens there".into(),
            });
        }
        if std::fs::symlink_metadata(path)
            .is_ok_and(|found| std::os::unix::fs::FileTypeExt::is_socket(&found.file_type()))
        {
            std::fs::remove_file(path).map_err(failed)?;
        }
        let listener = UnixListener::bind(path).map_err(failed)?;
        let mut server = Server::new(listener, layout, host).map_err(failed)?;
        server.path = Some(path.into());
        Ok(server)
    }

    /// Serves the clients of a socket that listens already.
    pub fn new(listener: UnixListener, layout: Layout, host: Host) -> std::io::Result<Server> {
        listener.set_nonblocking(true)?;
        let served = Served::new(layout, host, Capabilities::own());
        Ok(Server { listener: Some(listener), path: None, served, client: None, refused: Refusals::default() })
    }

    /// Serves one client, which is connected already. After its end there is no other.
    pub fn over(stream: UnixStream, layout: Layout, host: Host) -> std::io::Result<Server> {
        let client = Some(Client { channel: Channel::new(stream)?, agreed: false });
        let served = Served::new(layout, host, Capabilities::own());
        Ok(Server { listener: None, path: None, served, client, refused: Refusals::default() })
    }

    /// Announces to clients the process whose share the function is, if it is no whole card, and the addresses that they may use.
    pub fn announce(&mut self, process: Option<usize>, window: std::ops::Range<u64>) {
        self.served.own.process = process;
        self.served.own.window = Some([window.start, window.end]);
    }

    /// Whether a client is connected.
    pub fn connected(&self) -> bool {
        self.client.is_some()
    }

    /// What to poll for: if any is ready, [`Server::service`] has something to do.
    pub fn poll_fds(&self) -> Vec<PollFd<'_>> {
        let mut fds: Vec<PollFd<'_>> =
            self.listener.iter().map(|listener| PollFd::new(listener, PollFlags::IN)).collect();
        if let Some(client) = &self.client {
            fds.push(PollFd::from_borrowed_fd(client.channel.fd(), client.channel.interest()));
        }
        fds.extend(self.refused.poll_fds());
        fds.extend(self.served.doorbells.iter().map(|(_, fd)| PollFd::new(fd, PollFlags::IN)));
        fds
    }

    /// Handles what is there, and returns whether anything was.
    pub fn service(&mut self, function: &mut dyn Function) -> bool {
        let mut fds = self.poll_fds();
        if !matches!(poll(&mut fds, Some(&Timespec::default())), Ok(ready) if ready > 0) {
            return false;
        }
        // A client that has gone makes room for the next one.
        self.serve_client(function);
        self.accept(function);
        self.refused.service();
        self.ring_doorbells(function);
        self.serve_client(function);
        true
    }

    /// Ends the connection of the client, if there is one: its memory is not used any more.
    pub fn disconnect(&mut self, function: &mut dyn Function) {
        if self.client.take().is_some() {
            self.served.forget(function);
        }
    }

    fn accept(&mut self, function: &mut dyn Function) {
        while let Some(Ok((stream, _))) = self.listener.as_ref().map(UnixListener::accept) {
            let Ok(channel) = Channel::new(stream) else { continue };
            // The client may have gone since it was served: who connects after its end finds the card free.
            self.serve_client(function);
            if self.client.is_none() {
                self.client = Some(Client { channel, agreed: false });
            } else {
                self.refused.push(channel);
            }
        }
    }

    fn ring_doorbells(&mut self, function: &mut dyn Function) {
        for (doorbell, fd) in &self.served.doorbells {
            if irq::take(fd) > 0 && self.served.config.answers() {
                if let Err(error) = function.write(doorbell.offset, &doorbell.value.to_le_bytes()) {
                    log::debug!("doorbell at {:#x}: {error}", doorbell.offset);
                }
            }
        }
    }

    fn serve_client(&mut self, function: &mut dyn Function) {
        for _ in 0..MOST_REQUESTS {
            let Some(client) = &mut self.client else { return };
            let flushed = client.channel.flush();
            // A client that does not read its replies gets no more of them.
            if flushed.is_ok() && client.channel.congested() {
                return;
            }
            match flushed.and_then(|()| client.channel.receive()) {
                Ok(None) => return,
                Ok(Some(message)) => {
                    if !self.handle(function, message) {
                        return self.disconnect(function);
                    }
                }
                Err(broken) => {
                    if let Broken::Size(header) = &broken {
                        let _ = client.channel.send(error_header(header, Errno::MSGSIZE), &[], Vec::new());
                    }
                    log::debug!("connection ends: {broken:?}");
                    return self.disconnect(function);
                }
            }
        }
    }

    /// Handles a message; false: the connection ends.
    fn handle(&mut self, function: &mut dyn Function, message: Message) -> bool {
        let header = message.header;
        if header.flags & flags::KIND != flags::REQUEST {
            log::debug!("a reply to nothing; the connection ends");
            return false;
        }
        let client = self.client.as_mut().expect("a message comes from the client");
        let (answer, goes_on) = if client.agreed {
            (self.served.answer(function, message), true)
        } else {
            let answer = agree(&mut self.served, &message);
            client.agreed = answer.is_ok();
            (answer, client.agreed)
        };
        if goes_on && header.command == Command::Version as u16 && answer.is_ok() {
            function.connected();
        }
        if let Err(error) = &answer {
            log::debug!("command {} refused: {error}", header.command);
        }
        if header.flags & flags::NO_REPLY != 0 {
            return goes_on;
        }
        let (header, reply) = match answer {
            Ok(reply) => (Header { flags: flags::REPLY, error: 0, ..header }, reply),
            Err(error) => (error_header(&header, error), Reply::default()),
        };
        client.channel.send(header, &[&reply.body], reply.fds).is_ok() && goes_on
    }
}

/// Agrees on a version with a client.
fn agree(served: &mut Served, message: &Message) -> std::result::Result<Reply, Errno> {
    if message.header.command != Command::Version as u16 {
        return Err(Errno::INVAL);
    }
    let (version, capabilities) = parse_version(&message.body).ok_or(Errno::INVAL)?;
    if version.major != MAJOR {
        return Err(Errno::OPNOTSUPP);
    }
    served.client = capabilities;
    Ok(version_answer(version.minor, served.own.clone()).into())
}

fn error_header(request: &Header, error: Errno) -> Header {
    Header { flags: flags::REPLY | flags::ERROR, error: error.raw_os_error() as u32, ..*request }
}

impl Drop for Server {
    fn drop(&mut self) {
        if let Some(path) = &self.path {
            let _ = std::fs::remove_file(path);
        }
    }
}
