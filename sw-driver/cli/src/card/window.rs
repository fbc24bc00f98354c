//! `spindle window`: a window of this card, and what arrives there.

use super::events::status_name;
use super::listener::{self, Listener};
use super::live::{Live, Patience, Stop};
use super::network::NetworkArguments;
use super::values::{bytes, number, seconds, word};
use anyhow::{ensure, Result};
use spindle::rvma::{Completed, Posted, Window};
use spindle::window::{Counting, WindowOptions};
use spindle::{EventRing, HostMemory};
use spindle_contract::wire::status;
use std::collections::VecDeque;
use std::io::Write;
use std::path::PathBuf;

/// Places of the event ring, which reports complete buffers: more than there are buffers.
const RECORDS: usize = 2048;

/// Arguments of `spindle window`.
#[derive(clap::Args, Clone, Debug)]
pub struct Arguments {
    /// Address of the window.
    #[arg(long, value_parser = number)]
    address: u64,
    /// Key that senders must know.
    #[arg(long, default_value = "0", value_parser = word)]
    key: u32,
    /// Process of the window.
    #[arg(long, default_value_t = 0)]
    process: usize,
    /// Bytes of a buffer.
    #[arg(long, value_name = "BYTES", default_value = "64K", value_parser = bytes)]
    size: u32,
    /// Bytes that complete a buffer [default: all of them; of a managed window or stream: when fewer are free, 1].
    #[arg(long, value_name = "N", value_parser = word)]
    threshold: Option<u32>,
    /// The threshold counts messages [default then: 1].
    #[arg(long, conflicts_with_all = ["managed", "stream"])]
    operations: bool,
    /// Buffers that are posted at a time.
    #[arg(long, value_name = "N", default_value_t = 4, value_parser = clap::value_parser!(u32).range(1..=1024))]
    buffers: u32,
    /// Messages lie one after another in the buffer.
    #[arg(long, conflicts_with = "stream")]
    managed: bool,
    /// As --managed, in the order in which their sender put them.
    #[arg(long)]
    stream: bool,
    /// End after so many buffers.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    count: Option<u64>,
    /// End after so many seconds.
    #[arg(long, value_name = "SECONDS", value_parser = seconds)]
    timeout: Option<f64>,
    /// File for the bytes; `-` is standard output.
    #[arg(long, short, value_name = "FILE", default_value = "-")]
    pub output: PathBuf,
    #[command(flatten)]
    network: NetworkArguments,
}

impl Arguments {
    fn options(&self) -> WindowOptions {
        let managed = self.managed || self.stream;
        let threshold = self.threshold.unwrap_or(if managed || self.operations { 1 } else { self.size });
        let counting = if self.operations { Counting::Operations } else { Counting::Bytes };
        let options = WindowOptions {
            address: self.address,
            key: self.key,
            threshold,
            counting,
            managed,
            event: true,
            ..WindowOptions::default()
        };
        if self.stream {
            options.stream()
        } else {
            options
        }
    }

    /// Checks what the card would refuse in its own words.
    ///
    /// # Errors
    /// The threshold is larger than a buffer.
    pub fn check(&self) -> Result<()> {
        let threshold = self.options().threshold;
        ensure!(
            threshold > 0,
            "a window with a --threshold of 0 would be complete before anything comes; give at least 1"
        );
        ensure!(
            self.operations || threshold <= self.size,
            "a buffer of {} bytes never has the {threshold} bytes of --threshold; raise --size",
            self.size
        );
        Ok(())
    }
}

/// Opens the window, writes what arrives, closes the window.
///
/// # Errors
/// The card refuses the window, does not answer, or the output cannot be written.
pub fn run(arguments: &Arguments, live: &mut Live, out: &mut dyn Write, stop: &Stop) -> Result<()> {
    arguments.network.apply(live)?;
    live.as_process(arguments.process, |live| {
        let mut listener = Listener::open(live, arguments.process, RECORDS)?;
        let received = through(arguments, live, &mut listener, out, stop);
        listener.close(live)?;
        received
    })
}

/// Opens the window for as long as it takes.
fn through(
    arguments: &Arguments,
    live: &mut Live,
    listener: &mut Listener,
    out: &mut dyn Write,
    stop: &Stop,
) -> Result<()> {
    let window = live.device.open_window(arguments.process, &arguments.options())?;
    let mut posted = VecDeque::new();
    let received = receive(arguments, live, (window, listener), &mut posted, out, stop);
    live.device.close_window(window)?;
    received?;
    rest(arguments, live, listener, &posted, out)
}

/// Looks for the record of a buffer.
fn completed(live: &mut Live, ring: &mut EventRing, posted: &Posted) -> Result<Option<Completed>> {
    listener::skip(live, ring)?;
    Ok(live.device.poll(posted)?)
}

fn receive(
    arguments: &Arguments,
    live: &mut Live,
    (window, listener): (Window, &mut Listener),
    posted: &mut VecDeque<Posted>,
    out: &mut dyn Write,
    stop: &Stop,
) -> Result<()> {
    for _ in 0..arguments.buffers {
        posted.push_back(live.device.post_buffer(window, arguments.size)?);
    }
    eprintln!("spindle: window {:#x} of process {} is open", arguments.address, arguments.process);
    let patience = Patience::new(stop, arguments.timeout);
    let mut left = arguments.count.unwrap_or(u64::MAX);
    while left > 0 {
        // Buffers complete in the order in which they were posted.
        let Some(oldest) = posted.front().copied() else { break };
        let record = listener.wait(live, &patience, |live, ring| completed(live, ring, &oldest))?;
        let Some(completed) = record else { break };
        write(live, &oldest, &completed, out)?;
        left -= 1;
        posted.rotate_left(1);
        live.device.post(window, oldest)?;
    }
    Ok(())
}

/// Writes the bytes of a buffer.
fn write(live: &Live, posted: &Posted, completed: &Completed, out: &mut dyn Write) -> Result<()> {
    let mut bytes = vec![0; completed.length.min(posted.size) as usize];
    live.device.memory.read(posted.buffer, &mut bytes)?;
    out.write_all(&bytes)?;
    out.flush()?;
    eprintln!(
        "spindle: buffer of epoch {}: {}, {} bytes",
        completed.epoch,
        status_name(completed.status),
        completed.length
    );
    Ok(())
}

/// How long the records of buffers may take to come after their window was closed.
const LAST_RECORDS_SECONDS: f64 = 2.0;

/// Writes what the buffers of a managed window have that were not complete when it was closed: their bytes have no gaps.
fn rest(
    arguments: &Arguments,
    live: &mut Live,
    listener: &mut Listener,
    posted: &VecDeque<Posted>,
    out: &mut dyn Write,
) -> Result<()> {
    let patience = Patience::new(&Stop::default(), Some(LAST_RECORDS_SECONDS));
    for buffer in posted {
        let record = listener.wait(live, &patience, |live, ring| completed(live, ring, buffer))?;
        let Some(completed) = record.filter(|completed| completed.length > 0) else { continue };
        if completed.status == status::DONE || arguments.managed || arguments.stream {
            write(live, buffer, &completed, out)?;
        } else {
            eprintln!("spindle: {} bytes of a buffer that was not complete are dropped", completed.length);
        }
    }
    Ok(())
}
