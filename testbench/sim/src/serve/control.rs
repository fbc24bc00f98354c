//! The second socket of a served card: waves on demand, while a driver has the first one.
//!
//! A client sends one line, `wave CYCLES FORMAT SIGNALS`, and gets one: `done` with a descriptor of the file, or `error` with a
//! sentence. The server opens no file by a client's name.

use crate::waves::WaveRequest;
use crate::SimDevice;
use anyhow::{bail, ensure, Context, Result};
use rustix::event::{PollFd, PollFlags};
use rustix::net::{
    recvmsg, sendmsg, RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer, SendAncillaryMessage,
    SendFlags,
};
use spindle_harness::WaveScope;
use std::fs::File;
use std::io::{IoSlice, IoSliceMut, Read, Seek, Write};
use std::mem::MaybeUninit;
use std::os::fd::AsFd;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::time::Duration;
use tempfile::TempDir;

/// Longest line.
const LINE: usize = 4096;
/// How long a server may take to accept a request. The recording itself takes as long as its cycles.
const PATIENCE: Duration = Duration::from_secs(10);

/// Where the second socket of a card lies.
pub fn path_of(socket: &Path) -> PathBuf {
    let mut path = socket.as_os_str().to_owned();
    path.push(".control");
    path.into()
}

/// A wave that a client requests.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Order {
    /// Cycles, from now on.
    pub cycles: u64,
    /// FST, not VCD.
    pub fst: bool,
    /// All signals, not the interfaces alone.
    pub all: bool,
}

impl Order {
    fn line(&self) -> String {
        let format = if self.fst { "fst" } else { "vcd" };
        format!("wave {} {format} {}\n", self.cycles, if self.all { "all" } else { "interfaces" })
    }

    fn parse(line: &str) -> Option<Order> {
        let words: Vec<&str> = line.split_whitespace().collect();
        let ["wave", cycles, format @ ("vcd" | "fst"), signals @ ("all" | "interfaces")] = words[..] else {
            return None;
        };
        Some(Order {
            cycles: cycles.parse().ok().filter(|cycles| *cycles > 0)?,
            fst: format == "fst",
            all: signals == "all",
        })
    }
}

/// A client, and the line that it has sent so far.
struct Client {
    stream: UnixStream,
    line: Vec<u8>,
    recording: Option<Recording>,
}

struct Recording {
    folder: TempDir,
    file: PathBuf,
    end: u64,
}

/// The server's side.
pub struct Control {
    listener: UnixListener,
    path: PathBuf,
    client: Option<Client>,
}

impl Control {
    /// Listens beside the socket of a card, which this server has: whatever is there was left.
    ///
    /// # Errors
    /// There can be no socket.
    pub fn bind(socket: &Path) -> Result<Control> {
        let path = path_of(socket);
        let _ = std::fs::remove_file(&path);
        let listener = UnixListener::bind(&path)
            .and_then(|listener| listener.set_nonblocking(true).map(|()| listener))
            .with_context(|| format!("cannot listen at {}; give --socket a shorter path", path.display()))?;
        Ok(Control { listener, path, client: None })
    }

    /// Whether a wave is being recorded.
    pub fn records(&self) -> bool {
        self.client.as_ref().is_some_and(|client| client.recording.is_some())
    }

    /// What to poll for.
    pub fn poll_fds(&self) -> Vec<PollFd<'_>> {
        match &self.client {
            // One client after another; the others wait.
            Some(client) => vec![PollFd::new(&client.stream, PollFlags::IN)],
            None => vec![PollFd::new(&self.listener, PollFlags::IN)],
        }
    }

    /// Handles what is there.
    pub fn service(&mut self, sim: &mut SimDevice) {
        if self.client.is_none() {
            let accepted = self.listener.accept().ok().map(|(stream, _)| stream);
            let stream = accepted.filter(|stream| stream.set_nonblocking(true).is_ok());
            self.client = stream.map(|stream| Client { stream, line: Vec::new(), recording: None });
        }
        let Some(client) = &mut self.client else { return };
        let over = match client.step(sim) {
            Ok(over) => over,
            Err(error) => {
                let _ = client.stream.write_all(format!("error {error:#}\n").as_bytes());
                true
            }
        };
        if over {
            if client.recording.is_some() {
                let _ = sim.wave_close();
            }
            self.client = None;
        }
    }
}

impl Drop for Control {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.path);
    }
}

impl Client {
    /// Goes on with the request; true: the client is done with.
    fn step(&mut self, sim: &mut SimDevice) -> Result<bool> {
        let mut bytes = [0; 256];
        match self.stream.read(&mut bytes) {
            Ok(0) => return Ok(true),
            Ok(length) => self.line.extend(&bytes[..length]),
            Err(error) if error.kind() == std::io::ErrorKind::WouldBlock => {}
            Err(_) => return Ok(true),
        }
        ensure!(self.line.len() <= LINE, "a request is one line of at most {LINE} bytes");
        match &self.recording {
            Some(recording) if sim.cycle() >= recording.end => {
                sim.wave_close()?;
                let recording = self.recording.take().expect("it was there");
                let file = File::open(&recording.file).context("the recorded wave is gone")?;
                drop(recording.folder);
                hand_over(&self.stream, &file)?;
                Ok(true)
            }
            None if self.line.ends_with(b"\n") => {
                let line = String::from_utf8_lossy(&self.line).into_owned();
                self.recording = Some(start(sim, &line)?);
                Ok(false)
            }
            _ => Ok(false),
        }
    }
}

fn start(sim: &mut SimDevice, line: &str) -> Result<Recording> {
    let Some(order) = Order::parse(line) else {
        bail!("`{}` is no request; send wave CYCLES vcd|fst all|interfaces", line.trim_end());
    };
    let folder = tempfile::tempdir().context("the server cannot make a folder for the wave")?;
    let file = folder.path().join(if order.fst { "wave.fst" } else { "wave.vcd" });
    let end = sim.cycle().saturating_add(order.cycles);
    let scope = if order.all { WaveScope::All } else { WaveScope::Groups };
    sim.wave_open(&file, &WaveRequest { scope, window: sim.cycle()..end })
        .context("the server records no waves; start it with --waves")?;
    Ok(Recording { folder, file, end })
}

/// Sends the descriptor of a file.
fn hand_over(stream: &UnixStream, file: &File) -> Result<()> {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut ancillary = SendAncillaryBuffer::new(&mut space);
    let fds = [file.as_fd()];
    ensure!(ancillary.push(SendAncillaryMessage::ScmRights(&fds)), "there is no room for a descriptor");
    sendmsg(stream, &[IoSlice::new(b"done\n")], &mut ancillary, SendFlags::NOSIGNAL).context("the client is gone")?;
    Ok(())
}

/// Has the served card at `socket` record a wave, waits for it, and copies it to `to`. Returns its bytes.
///
/// # Errors
/// No server is there, it records no waves, or the file cannot be written.
pub fn record(socket: &Path, order: &Order, to: &Path) -> Result<u64> {
    let path = path_of(socket);
    let mut stream = UnixStream::connect(&path).with_context(|| {
        format!(
            "no served card is at {}; start one with `spindle serve --waves --socket {}`",
            path.display(),
            socket.display()
        )
    })?;
    stream.set_write_timeout(Some(PATIENCE))?;
    stream.write_all(order.line().as_bytes()).context("the server takes no request")?;
    let mut bytes = [0; LINE];
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut ancillary = RecvAncillaryBuffer::new(&mut space);
    let received = recvmsg(&stream, &mut [IoSliceMut::new(&mut bytes)], &mut ancillary, RecvFlags::CMSG_CLOEXEC)
        .context("the server does not answer")?;
    let file = ancillary.drain().find_map(|message| match message {
        RecvAncillaryMessage::ScmRights(mut fds) => fds.next(),
        _ => None,
    });
    let line = String::from_utf8_lossy(&bytes[..received.bytes]).trim_end().to_owned();
    let Some(file) = file else {
        bail!("{}", line.strip_prefix("error ").unwrap_or("the server ended before the wave was complete"));
    };
    let mut file = File::from(file);
    file.rewind()?;
    let cannot = || format!("cannot write {}", to.display());
    let mut output = File::create(to).with_context(cannot)?;
    std::io::copy(&mut file, &mut output).with_context(cannot)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_order_is_a_line_and_back() {
        for order in [Order { cycles: 100, fst: true, all: false }, Order { cycles: 1, fst: false, all: true }] {
            assert_eq!(Order::parse(&order.line()), Some(order));
        }
        for line in ["", "wave", "wave 0 vcd all", "wave 5 png all", "wave 5 vcd all more", "wave x vcd all"] {
            assert_eq!(Order::parse(line), None, "{line}");
        }
    }
}
