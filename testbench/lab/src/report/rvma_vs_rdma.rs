//! Put and completion by RVMA, and by the same NIC used the RDMA way.
//!
//! Both begin when the doorbell of a command is written whose arguments stand in the page already, and end when the
//! receiver's host sees in its memory that all bytes are there. Software takes no time, registers answer as the card
//! does, host memory after the cycles of its model.
//!
//! * **RVMA**: a put; the record of the buffer ends it, whatever the order in which the packets come.
//! * **RDMA**, ordered: a put into memory whose address was exchanged long ago, and right after it a send of one byte
//!   into a receive that was posted before; the record of the receive ends it.
//! * **RDMA**, adaptive: the send could overtake the put, so it leaves when the put has been acknowledged.
//!
//! Every packet is acknowledged. Memory of RDMA is a window that never completes, a receive a window that completes
//! with each message: both run through the same pipelines.

use super::measure::Figure;
use super::rvma_network::{pair, Node};
use anyhow::{bail, ensure, Result};
use spindle::events::EventRing;
use spindle::reliable::Reliability;
use spindle::rvma::{Posted, Window};
use spindle::window::{Counting, WindowOptions};
use spindle::{Bar, EventKind, HostMemory};
use spindle_contract::params::Config;
use spindle_contract::registers::{doorbell, doorbell_command, doorbell_error, PAGE};
use spindle_contract::wire::status;
use spindle_harness::Source;
use spindle_sim::{Routing, WireOptions};

macro_rules! keys {
    ($($size:literal),*) => {
        /// Keys of a size: RVMA and RDMA with ordered routing, the same with adaptive, and what RVMA saves there.
        const SIZES: [(usize, [&str; 5]); 5] = [$(($size, [
            concat!("rvma.vs_rdma.", $size, ".rvma_ordered"),
            concat!("rvma.vs_rdma.", $size, ".rdma_ordered"),
            concat!("rvma.vs_rdma.", $size, ".rvma_adaptive"),
            concat!("rvma.vs_rdma.", $size, ".rdma_adaptive"),
            concat!("rvma.vs_rdma.", $size, ".reduction_adaptive"),
        ])),*];
        /// All of them.
        pub const KEYS: &[&str] = &[$(
            concat!("rvma.vs_rdma.", $size, ".rvma_ordered"),
            concat!("rvma.vs_rdma.", $size, ".rdma_ordered"),
            concat!("rvma.vs_rdma.", $size, ".rvma_adaptive"),
            concat!("rvma.vs_rdma.", $size, ".rdma_adaptive"),
            concat!("rvma.vs_rdma.", $size, ".reduction_adaptive"),
        )*];
    };
}
keys!(8, 64, 512, 4096, 65536);

/// Puts of each kind; the figures are their means.
const ROUNDS: usize = 16;
/// Bound of each wait, and cycles after which nothing of a put is under way any more.
const PATIENCE: u64 = 20_000;
const QUIET: u64 = 1000;
const KEY: u32 = 0x5EED;
/// Addresses of the windows.
const REMOTE_MEMORY: u64 = 1;
const RECEIVES: u64 = 2;
const RVMA_WINDOWS: u64 = 16;
/// Processes whose doorbell pages hold the arguments of puts and sends.
const PUTS: usize = 0;
const SENDS: usize = 1;

/// Two NICs with everything prepared that both ways need.
struct Setting {
    sender: Node,
    receiver: Node,
    /// Ends of the sender's puts.
    ring: EventRing,
    /// Bytes to send, and where they lie.
    data: Vec<u8>,
    from: u64,
    /// Where RDMA writes to, and the window of its receives.
    remote: u64,
    receives: Window,
}

/// See the head of this file.
pub fn compare(source: &Source, config: &Config) -> Result<Vec<Figure>> {
    let mut cycles = [[[0.0; 2]; 2]; SIZES.len()];
    for (i, routing) in [Routing::Ordered, Routing::Adaptive].into_iter().enumerate() {
        let mut setting = Setting::new(source, config, routing)?;
        for (k, (size, _)) in SIZES.iter().enumerate() {
            cycles[k][i] = [setting.rvma(k, *size)?, setting.rdma(*size, routing)?];
        }
    }
    let mut figures = Vec::new();
    for ((_, keys), [ordered, adaptive]) in SIZES.iter().zip(cycles) {
        let how = |routing| {
            let WireOptions { paths, latency, step, .. } = wire(routing);
            let most = latency + (paths - 1) * step;
            format!("doorbell to completion seen in host memory, mean of {ROUNDS}; paths of {latency} to {most} cycles: {paths}")
        };
        let values = [ordered[0], ordered[1], adaptive[0], adaptive[1]];
        for ((key, value), routing) in
            keys.iter().zip(values).zip([Routing::Ordered, Routing::Ordered, Routing::Adaptive, Routing::Adaptive])
        {
            figures.push(Figure::new(key, value, how(routing)));
        }
        figures.push(Figure::new(keys[4], 1.0 - adaptive[0] / adaptive[1], "1 - rvma_adaptive / rdma_adaptive"));
    }
    Ok(figures)
}

fn wire(routing: Routing) -> WireOptions {
    let paths = if routing == Routing::Ordered { 1 } else { 4 };
    WireOptions { routing, paths, latency: 250, step: 50, ..WireOptions::default() }
}

impl Setting {
    fn new(source: &Source, config: &Config, routing: Routing) -> Result<Setting> {
        let [mut sender, mut receiver] = pair(source, config, wire(routing), 1, Reliability::default())?;
        let (most, _) = SIZES[SIZES.len() - 1];
        let counted = |address, threshold| WindowOptions {
            address,
            key: KEY,
            threshold,
            counting: Counting::Operations,
            ..Default::default()
        };
        // More operations than are ever done.
        let window = receiver.open_window(PUTS, &counted(REMOTE_MEMORY, u32::MAX))?;
        let remote = receiver.post_buffer(window, most as u32)?.buffer;
        let receives = receiver.open_window(PUTS, &counted(RECEIVES, 1))?;
        let ring = sender.open_ring(PUTS, 64)?;
        let data: Vec<u8> = (0..most).map(|i| (i * 7 + i / 251) as u8).collect();
        let from = sender.memory.alloc(most, 64)?;
        Ok(Setting { sender, receiver, ring, data, from, remote, receives })
    }

    /// Other bytes than those of the last round, for the sender to put.
    fn next_round(&mut self, size: usize) -> Result<()> {
        self.data.iter_mut().for_each(|byte| *byte = byte.wrapping_add(101));
        Ok(self.sender.memory.write(self.from, &self.data[..size])?)
    }

    /// Stages a put on the page of a process.
    fn stage(&mut self, process: usize, address: u64, size: usize) -> Result<()> {
        let page = doorbell::BASE + process as u32 * PAGE;
        for (register, value) in [
            (doorbell::BUFFER_LO, self.from as u32),
            (doorbell::BUFFER_HI, (self.from >> 32) as u32),
            (doorbell::LENGTH, size as u32),
            (doorbell::NODE, 1),
            (doorbell::TARGET_PID, PUTS as u32),
            (doorbell::ADDR_LO, address as u32),
            (doorbell::ADDR_HI, (address >> 32) as u32),
            (doorbell::KEY, KEY),
            (doorbell::OFFSET, 0),
            (doorbell::MODE, 0),
        ] {
            self.sender.bar.write32(page + register, value)?;
        }
        Ok(())
    }

    /// Has the card carry the command out; repeats it while the card is busy with an earlier one.
    fn command(&mut self, process: usize) -> Result<()> {
        let page = doorbell::BASE + process as u32 * PAGE;
        loop {
            self.sender.bar.write32(page + doorbell::COMMAND, doorbell_command::PUT)?;
            let result = self.sender.bar.read32(page + doorbell::RESULT)?;
            match result >> 16 & 0xff {
                _ if result >> 31 == 1 => return Ok(()),
                doorbell_error::NONE => return Ok(()),
                doorbell_error::BUSY => {}
                code => bail!("a put was refused with {code}"),
            }
        }
    }

    fn now(&self) -> u64 {
        self.sender.memory.card().sim().cycle()
    }

    /// Runs cycle by cycle until the condition holds.
    fn wait(&mut self, what: &str, mut done: impl FnMut(&mut Self) -> Result<bool>) -> Result<()> {
        let start = self.now();
        while !done(self)? {
            ensure!(self.now() - start < PATIENCE, "{what} did not come in {PATIENCE} cycles");
            self.sender.memory.network().run(1);
        }
        Ok(())
    }

    /// Until the card has said that a put is over, and nothing is under way.
    fn settle(&mut self, puts: usize) -> Result<()> {
        for _ in 0..puts {
            self.acknowledged()?;
        }
        self.sender.memory.network().run(QUIET);
        ensure!(self.sender.poll_event(&mut self.ring)?.is_none(), "a put ended twice");
        Ok(())
    }

    /// Waits for the event of a put that has been acknowledged.
    fn acknowledged(&mut self) -> Result<()> {
        self.wait("an acknowledgement", |setting| {
            let Some(event) = setting.sender.poll_event(&mut setting.ring)? else { return Ok(false) };
            match event.kind {
                EventKind::Put { acknowledged: true, .. } => Ok(true),
                other => bail!("{other:?} instead of the end of a put"),
            }
        })
    }

    /// Waits for the record of a buffer.
    fn completed(&mut self, posted: &Posted, size: usize) -> Result<()> {
        let mut length = 0;
        self.wait("a record", |setting| {
            let Some(completed) = setting.receiver.poll(posted)? else { return Ok(false) };
            ensure!(completed.status == status::DONE, "a put ended as {completed:?}");
            length = completed.length as usize;
            Ok(true)
        })?;
        ensure!(length == size, "{length} bytes instead of {size}");
        Ok(())
    }

    /// Mean cycles of puts of `size` bytes into a window of their own.
    fn rvma(&mut self, number: usize, size: usize) -> Result<f64> {
        let address = RVMA_WINDOWS + number as u64;
        let window = self.receiver.init_window(PUTS, address, KEY, size as u32)?;
        let mut cycles = 0;
        for _ in 0..ROUNDS {
            let posted = self.receiver.post_buffer(window, size as u32)?;
            self.next_round(size)?;
            self.stage(PUTS, address, size)?;
            let start = self.now();
            self.command(PUTS)?;
            self.completed(&posted, size)?;
            cycles += self.now() - start;
            self.expect(posted.buffer, size)?;
            self.settle(1)?;
        }
        Ok(cycles as f64 / ROUNDS as f64)
    }

    /// Mean cycles of a write of `size` bytes and of the send that announces it.
    fn rdma(&mut self, size: usize, routing: Routing) -> Result<f64> {
        let mut cycles = 0;
        for _ in 0..ROUNDS {
            let posted = self.receiver.post_buffer(self.receives, 64)?;
            self.next_round(size)?;
            self.stage(PUTS, REMOTE_MEMORY, size)?;
            self.stage(SENDS, RECEIVES, 1)?;
            let start = self.now();
            self.command(PUTS)?;
            if routing == Routing::Adaptive {
                self.acknowledged()?;
            }
            self.command(SENDS)?;
            self.completed(&posted, 1)?;
            let remote = self.remote;
            self.wait("the data", |setting| setting.there(remote, size))?;
            cycles += self.now() - start;
            self.settle(usize::from(routing == Routing::Ordered))?;
        }
        Ok(cycles as f64 / ROUNDS as f64)
    }

    fn there(&self, buffer: u64, size: usize) -> Result<bool> {
        let mut got = vec![0; size];
        self.receiver.memory.read(buffer, &mut got)?;
        Ok(got == self.data[..size])
    }

    fn expect(&self, buffer: u64, size: usize) -> Result<()> {
        ensure!(self.there(buffer, size)?, "the record came before the data");
        Ok(())
    }
}
