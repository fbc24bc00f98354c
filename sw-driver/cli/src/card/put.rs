//! `spindle put` and `spindle get`: messages to and from windows of other nodes.

use super::events::refusal;
use super::listener::{self, Listener};
use super::live::{Live, Patience, Stop};
use super::network::NetworkArguments;
use super::values::{bytes, number, seconds, word};
use anyhow::{bail, ensure, Context, Result};
use spindle::put::Reply;
use spindle::window::WindowOptions;
use spindle::{EventKind, HostMemory, Kind, Put, Stream, Target};
use std::io::{Read, Write};
use std::path::{Path, PathBuf};

/// Places of the event ring that reports the ends of puts.
const RECORDS: usize = 256;

/// A window of another node.
#[derive(clap::Args, Clone, Debug)]
pub struct TargetArguments {
    /// Number of the node.
    #[arg(long)]
    node: u8,
    /// Process there.
    #[arg(long, value_name = "PROCESS", default_value_t = 0)]
    to_process: u16,
    /// Address of the window.
    #[arg(long, value_parser = number)]
    address: u64,
    /// Key of the window.
    #[arg(long, default_value = "0", value_parser = word)]
    key: u32,
    /// First byte in the buffer.
    #[arg(long, value_name = "BYTE", default_value = "0", value_parser = word)]
    offset: u32,
}

impl TargetArguments {
    fn target(&self, kind: Kind) -> Target {
        Target {
            node: self.node,
            process: self.to_process,
            address: self.address,
            key: self.key,
            offset: self.offset,
            kind,
        }
    }
}

/// Arguments of `spindle put`.
#[derive(clap::Args, Clone, Debug)]
pub struct PutArguments {
    /// File to put; `-` is standard input.
    #[arg(value_name = "FILE")]
    file: PathBuf,
    #[command(flatten)]
    target: TargetArguments,
    /// The window is managed: messages lie one after another there.
    #[arg(long, conflicts_with_all = ["stream", "epoch"])]
    managed: bool,
    /// The window is a stream, which begins with this put: messages are taken in their order.
    #[arg(long, conflicts_with = "epoch")]
    stream: bool,
    /// The window is tagged: put into the buffer of this epoch.
    #[arg(long)]
    epoch: Option<u16>,
    /// Bytes of a message; a longer file is put as several [default: the whole file is one].
    #[arg(long, value_name = "BYTES", value_parser = bytes)]
    split: Option<u32>,
    /// Process that puts.
    #[arg(long, default_value_t = 0)]
    process: usize,
    /// Seconds within which every message must be acknowledged.
    #[arg(long, value_name = "SECONDS", default_value = "10", value_parser = seconds)]
    timeout: f64,
    #[command(flatten)]
    network: NetworkArguments,
}

/// The bytes of a file, or of standard input.
fn read(path: &Path) -> Result<Vec<u8>> {
    let mut content = Vec::new();
    if path.as_os_str() == "-" {
        std::io::stdin().lock().read_to_end(&mut content).context("cannot read standard input")?;
    } else {
        content = std::fs::read(path).with_context(|| format!("cannot read {}", path.display()))?;
    }
    Ok(content)
}

impl PutArguments {
    /// The bytes to put, read before the card is opened.
    ///
    /// # Errors
    /// The file cannot be read, or is too large.
    pub fn content(&self) -> Result<Vec<u8>> {
        let content = read(&self.file)?;
        let end = content.len() as u64 + u64::from(self.target.offset);
        ensure!(
            u32::try_from(end).is_ok(),
            "{} has {} bytes; a window has at most {} bytes",
            self.file.display(),
            content.len(),
            u32::MAX
        );
        Ok(content)
    }

    fn kind(&self) -> Kind {
        match self.epoch {
            Some(epoch) => Kind::Tagged(epoch),
            None if self.managed => Kind::Managed,
            None => Kind::Bound,
        }
    }
}

/// Puts a file, and waits until the other node has acknowledged every message.
///
/// # Errors
/// The other node refuses a message or does not answer.
pub fn put(arguments: &PutArguments, content: &[u8], live: &mut Live, out: &mut dyn Write, stop: &Stop) -> Result<()> {
    arguments.network.clone().with_node(arguments.target.node).apply(live)?;
    live.as_process(arguments.process, |live| {
        let mut listener = Listener::open(live, arguments.process, RECORDS)?;
        let done = put_all(arguments, content, live, &mut listener, stop);
        listener.close(live)?;
        done
    })?;
    let target = &arguments.target;
    writeln!(out, "put {} bytes to {:#x} of node {}: acknowledged", content.len(), target.address, target.node)?;
    Ok(())
}

fn put_all(
    arguments: &PutArguments,
    content: &[u8],
    live: &mut Live,
    listener: &mut Listener,
    stop: &Stop,
) -> Result<()> {
    let buffer = live.device.memory.alloc(content.len().max(1), 64)?;
    live.device.memory.write(buffer, content)?;
    let mut target = arguments.target.target(arguments.kind());
    let mut stream = Stream::new(target);
    let length = arguments.split.map_or(content.len().max(1), |split| split as usize);
    let pieces: Vec<&[u8]> = if content.is_empty() { vec![content] } else { content.chunks(length).collect() };
    let mut at = buffer;
    for piece in pieces {
        let bytes = piece.len() as u32;
        let put = match arguments.stream {
            true => live.device.put_next(arguments.process, at, bytes, &mut stream)?,
            false => live.device.put(arguments.process, at, bytes, &target)?,
        };
        at += u64::from(bytes);
        target.offset = target.offset.wrapping_add(bytes);
        acknowledged(live, listener, put, &Patience::new(stop, Some(arguments.timeout)))?;
    }
    live.device.memory.free(buffer)?;
    Ok(())
}

/// Waits for the end of a put or get.
fn acknowledged(live: &mut Live, listener: &mut Listener, put: Put, patience: &Patience) -> Result<()> {
    let end = listener.wait(live, patience, |live, ring| {
        while let Some(event) = listener::next(live, ring)? {
            if let EventKind::Put { number, acknowledged, refusal, .. } = event.kind {
                if number == put.number {
                    return Ok(Some((acknowledged, refusal)));
                }
            }
        }
        Ok(None)
    })?;
    match end {
        Some((true, _)) => Ok(()),
        Some((false, Some(code))) => bail!("the node refuses the message: {}", refusal(code)),
        Some((false, None)) => {
            bail!("the node does not answer, or the message could not be read; check --node and --peer")
        }
        None => bail!(
            "no acknowledgement within the time; the window may have no buffer, or the node may not be there; the card \
             tries on until it is reset"
        ),
    }
}

/// Arguments of `spindle get`.
#[derive(clap::Args, Clone, Debug)]
pub struct GetArguments {
    /// Bytes to get.
    #[arg(value_parser = bytes)]
    length: u32,
    #[command(flatten)]
    target: TargetArguments,
    /// Get from the oldest buffer that is not complete, as it is now, instead of the one that was completed last.
    #[arg(long)]
    active: bool,
    /// File to write; `-` is standard output.
    #[arg(long, short, value_name = "FILE", default_value = "-")]
    pub output: PathBuf,
    /// Process that gets.
    #[arg(long, default_value_t = 0)]
    process: usize,
    /// Address of the window of this process into which the bytes come.
    #[arg(long, value_name = "ADDRESS", default_value = "0x5350_4e44_4745_5400", value_parser = number)]
    reply_address: u64,
    /// Seconds within which the bytes must come.
    #[arg(long, value_name = "SECONDS", default_value = "10", value_parser = seconds)]
    timeout: f64,
    #[command(flatten)]
    network: NetworkArguments,
}

/// Gets bytes of a window of another node.
///
/// # Errors
/// The other node refuses the get or does not answer.
pub fn get(arguments: &GetArguments, live: &mut Live, out: &mut dyn Write, stop: &Stop) -> Result<()> {
    arguments.network.clone().with_node(arguments.target.node).apply(live)?;
    let content = live.as_process(arguments.process, |live| {
        let mut listener = Listener::open(live, arguments.process, RECORDS)?;
        let content = get_through(arguments, live, &mut listener, stop);
        listener.close(live)?;
        content
    })?;
    out.write_all(&content)?;
    out.flush()?;
    Ok(())
}

/// Opens the window of the answer for as long as it takes.
fn get_through(arguments: &GetArguments, live: &mut Live, listener: &mut Listener, stop: &Stop) -> Result<Vec<u8>> {
    let options = WindowOptions {
        address: arguments.reply_address,
        threshold: arguments.length,
        event: true,
        ..WindowOptions::default()
    };
    let window = live.device.open_window(arguments.process, &options)?;
    let content = (|| {
        let posted = live.device.post_buffer(window, arguments.length)?;
        let source = arguments.target.target(Kind::Bound);
        let reply = Reply { address: arguments.reply_address, key: 0, offset: 0 };
        let get = match arguments.active {
            true => live.device.get_active(arguments.process, arguments.length, &source, &reply)?,
            false => live.device.get(arguments.process, arguments.length, &source, &reply)?,
        };
        let patience = Patience::new(stop, Some(arguments.timeout));
        acknowledged(live, listener, get, &patience)?;
        let completed = listener.wait(live, &patience, |live, ring| {
            listener::skip(live, ring)?;
            Ok(live.device.poll(&posted)?)
        })?;
        ensure!(completed.is_some(), "the node has taken the get, and its bytes did not come within the time");
        let mut content = vec![0; arguments.length as usize];
        live.device.memory.read(posted.buffer, &mut content)?;
        Ok(content)
    })();
    live.device.close_window(window)?;
    content
}
