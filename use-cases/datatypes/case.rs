//! Datatypes: a message is unpacked into a strided array of the receiver's host, or comes from one of the sender's.

mod model;

use crate::bench::{window_of, Bench, Host, Program, Setting, KEY, PROCESS};
use crate::case::{ratios, value, Broken, Case, Measured, Mode, Row};
use anyhow::{bail, Result};
use spindle::events::EventKind;
use spindle::rule_table::Action;
use spindle::rvma::Posted;
use spindle::{ContextOptions, Overload};
use spindle_contract::params::Config;
use std::cell::Cell;
use std::rc::Rc;

const HANDLERS: &[(&str, &str)] = &[
    ("unpack.c", include_str!("../../handlers/examples/unpack.c")),
    ("gather.c", include_str!("handlers/gather.c")),
    ("blocks.c", include_str!("handlers/blocks.c")),
];
const MODES: &[Mode] = &[
    Mode { name: "rdma", about: "the message lands in one piece, and the host unpacks it" },
    Mode { name: "chunks", about: "the host unpacks each piece of the message while the next ones arrive" },
    Mode { name: "spin", about: "handlers write each block to its place" },
    Mode { name: "pack", about: "the sender's host packs an array, and puts the message" },
    Mode { name: "pack-chunks", about: "the sender's host packs a piece of the message while the one before leaves" },
    Mode { name: "gather", about: "handlers of the sender read the blocks, and put them side by side" },
    Mode { name: "blocks", about: "handlers of the sender put each block from host memory by itself" },
];
/// Bytes of the message, and of the one that warms the NICs: more packets than HPUs have threads.
const BYTES: usize = 1 << 20;
const WARM_BYTES: usize = 64 << 10;
/// The message on `sim`, with which tests are quick.
const QUICK_BYTES: usize = 256 << 10;
/// Bytes of a piece in modes `chunks` and `pack-chunks`; a multiple of all blocks.
const CHUNK: usize = 64 << 10;
/// Addresses of the windows of the message and of the one that warms the NICs.
const WINDOW: u64 = 0x70;
const WARM: u64 = 0x6F;
/// Cycles after which the NICs are idle.
const QUIET: u64 = 2000;

/// The case.
pub const CASE: Case = Case {
    name: "datatypes",
    figure: include_str!("figure.toml"),
    handlers: HANDLERS,
    source: include_str!("case.rs"),
    modes: MODES,
    run,
    summary,
    broken: BROKEN,
};

fn run(setting: &Setting, mode: &str, point: u64) -> Result<Measured> {
    let bench = setting.bench(2)?;
    let (block, bytes) = (point as usize, if setting.config.name == Config::SIM.name { QUICK_BYTES } else { BYTES });
    let cycles = match mode {
        "rdma" => by_host(&bench, block, bytes, bytes)?,
        "chunks" => by_host(&bench, block, bytes, CHUNK)?,
        "spin" => by_nic(&bench, block, bytes)?,
        "pack" => packed(&bench, block, bytes, bytes)?,
        "pack-chunks" => packed(&bench, block, bytes, CHUNK)?,
        "gather" => gathered(&bench, "gather.c", block, bytes)?,
        _ => gathered(&bench, "blocks.c", block, bytes)?,
    } as f64;
    let (bits, time) = (8.0 * bytes as f64, setting.ns(cycles));
    let values = [("completion_ns", time), ("bits_per_cycle", bits / cycles), ("gb_per_s", bits / time)];
    let instructions = bench.instructions([0, 1])?.map(|mean| ("instructions", mean));
    Measured::new(&bench, values.into_iter().chain(instructions))
}

fn summary(rows: &[Row]) -> Vec<(String, f64)> {
    const BLOCKS: [(u64, &str); 4] = [(64, "64"), (256, "256"), (1024, "1024"), (4096, "4096")];
    let pairs = [
        ("rdma", "spin", "over_rdma"),
        ("chunks", "spin", "over_chunks"),
        ("pack", "gather", "over_pack"),
        ("pack-chunks", "gather", "over_pack_chunks"),
        ("pack", "blocks", "blocks_over_pack"),
        ("pack-chunks", "blocks", "blocks_over_pack_chunks"),
    ];
    let mut figures = ratios(rows, "completion_ns", &BLOCKS, &pairs);
    for (block, text) in BLOCKS {
        for (mode, key) in [("spin", "unpack"), ("gather", "gather"), ("blocks", "blocks")] {
            let rate = value(rows, mode, "pcie", block, "bits_per_cycle");
            figures.extend(rate.map(|rate| (format!("{key}_{text}"), rate)));
        }
    }
    let instructions = value(rows, "spin", "pcie", 4096, "instructions");
    figures.extend(instructions.map(|mean| ("instructions_4096".into(), mean)));
    figures
}

const BROKEN: &[Broken] = &[
    Broken::new(
        "spin",
        "a block is as far from the next as it is long",
        "unpack.c",
        "offset += length + step - block;",
        "offset += length;",
    ),
    Broken::new(
        "gather",
        "a segment does not begin in the middle of its block",
        "gather.c",
        "offset = number * step + from,",
        "offset = number * step,",
    ),
    Broken::new("blocks", "all blocks go to the same place", "blocks.c", "to.offset = at;", "to.offset = 0;"),
];

/// What both ends share: the sender with two prepared puts, the receiver with an array.
struct Ends {
    sender: Host,
    receiver: Host,
    from: u64,
    array: u64,
    /// Of the message. The array has twice as many.
    bytes: usize,
}

impl Ends {
    fn new(bench: &Bench, bytes: usize) -> Result<Ends> {
        let (sender, receiver) = (bench.host(0), bench.host(1));
        let (from, array) = (sender.alloc(bytes)?, receiver.alloc(2 * bytes)?);
        receiver.write(array, &model::before(2 * bytes))?;
        sender.write(from, &model::message(bytes))?;
        // The sender takes acknowledgements.
        sender.listen()?;
        Ok(Ends { sender, receiver, from, array, bytes })
    }

    /// A window of the receiver that completes after `threshold` bytes, with a buffer of `size` bytes.
    fn window(&self, address: u64, threshold: usize, buffer: u64, size: usize) -> Result<Posted> {
        window(&self.receiver, address, threshold, buffer, size)
    }

    /// Sends the message that warms the NICs, then the one that is measured, and compares the array. `done` is the receiver's program:
    /// it ends when the host knows that the message of so many bytes has been unpacked. Returns cycles.
    fn measure(&self, bench: &Bench, block: usize, done: impl Fn(usize) -> Program) -> Result<u64> {
        let from = self.from;
        let prepare = |page, bytes, address| self.sender.prepare(page, from, bytes, &window_of(1, address, 0));
        let (bytes, array) = (self.bytes, 2 * self.bytes);
        let message = prepare(0, bytes, WINDOW)?;
        let warm = prepare(1, WARM_BYTES, WARM)?;
        let host = self.sender.clone();
        bench.run(vec![Box::pin(async move { host.fire(&warm).await }), done(WARM_BYTES)])?;
        bench.idle(QUIET);
        let (start, end) = (bench.now(), Rc::new(Cell::new(0)));
        let (host, seen, receiver, taken) = (self.sender.clone(), end.clone(), self.receiver.clone(), done(bytes));
        let sends: Program = Box::pin(async move { host.fire(&message).await });
        let takes: Program = Box::pin(async move {
            taken.await?;
            seen.set(receiver.now());
            Ok(())
        });
        bench.run(vec![sends, takes])?;
        let wanted = model::after(&model::message(bytes), block, 2 * block, array);
        bench.expect("the array", &self.receiver.read(self.array, array)?, &wanted)?;
        Ok(end.get() - start)
    }
}

/// A window that completes after `threshold` bytes, with a buffer of `size` bytes.
fn window(host: &Host, address: u64, threshold: usize, buffer: u64, size: usize) -> Result<Posted> {
    let window = host.nic(|nic| nic.init_window(PROCESS, address, KEY, threshold as u32))?;
    let posted = Posted { buffer, size: size as u32, record: host.alloc(64)? };
    Ok(host.nic(|nic| nic.post(window, posted))?)
}

/// The host unpacks the message in pieces. Packets arrive in order, so a piece is there when its last byte is; of the last piece the host
/// takes the record.
fn by_host(bench: &Bench, block: usize, bytes: usize, chunk: usize) -> Result<u64> {
    let ends = Ends::new(bench, bytes)?;
    let landing = ends.receiver.alloc(bytes)?;
    let message = model::message(bytes);
    // The last byte of a piece is another one until the piece is there.
    ends.receiver.write(landing, &message.iter().map(|byte| !byte).collect::<Vec<_>>())?;
    let posted = ends.window(WINDOW, bytes, landing, bytes)?;
    let warm = ends.window(WARM, WARM_BYTES, ends.receiver.alloc(WARM_BYTES)?, WARM_BYTES)?;
    ends.receiver.listen()?;
    let (receiver, array, tails) = (ends.receiver.clone(), ends.array, message);
    ends.measure(bench, block, |sent| {
        let (host, tails) = (receiver.clone(), tails.clone());
        Box::pin(async move {
            if sent < bytes {
                host.record(&warm).await?;
                return Ok(());
            }
            for from in (0..bytes).step_by(chunk) {
                let last = from + chunk - 1;
                if last + 1 < bytes {
                    host.bytes(landing + last as u64, &[tails[last]]).await?;
                } else {
                    host.record(&posted).await?;
                }
                host.blocks(chunk.div_ceil(block), chunk).await;
                for at in (from..from + chunk).step_by(block) {
                    host.write(array + 2 * at as u64, &host.read(landing + at as u64, block)?)?;
                }
            }
            Ok(())
        })
    })
}

/// Handlers unpack. The host learns of the end by the event of the message.
fn by_nic(bench: &Bench, block: usize, bytes: usize) -> Result<u64> {
    let ends = Ends::new(bench, bytes)?;
    let handler = bench.compile(HANDLERS, "unpack.c")?;
    let host = &ends.receiver;
    let events = host.nic(|nic| nic.open_ring(PROCESS, 64))?;
    let options = ContextOptions {
        host_region: Some((ends.array, 2 * bytes as u32)),
        overload: Overload::Pause,
        ..ContextOptions::default()
    };
    let context = host.install(&handler.image, "spindle", &options, Action::ContextPerMessage)?;
    host.set_word(context, &handler, "block_length", block as u32)?;
    host.set_word(context, &handler, "stride", 2 * block as u32)?;
    ends.window(WINDOW, bytes, ends.array, 2 * bytes)?;
    ends.window(WARM, WARM_BYTES, host.alloc(2 * WARM_BYTES)?, 2 * WARM_BYTES)?;
    host.listen()?;
    let events = Rc::new(std::cell::RefCell::new(events));
    ends.measure(bench, block, |_| {
        let (host, events) = (ends.receiver.clone(), events.clone());
        Box::pin(async move {
            let event = host.until(|nic| Ok(nic.poll_event(&mut events.borrow_mut())?)).await?;
            match event.kind {
                EventKind::Message { dropped: 0, .. } => {}
                other => bail!("the message ended as {other:?}"),
            }
            host.overhead().await;
            Ok(())
        })
    })
}

/// The other direction: the sender's array, and the receiver's window for the message.
struct Sending {
    sender: Host,
    receiver: Host,
    bytes: usize,
    array: u64,
    landing: u64,
}

impl Sending {
    fn new(bench: &Bench, block: usize, bytes: usize) -> Result<Sending> {
        let (sender, receiver) = (bench.host(0), bench.host(1));
        let (array, landing) = (sender.alloc(2 * bytes)?, receiver.alloc(bytes)?);
        sender.write(array, &model::after(&model::message(bytes), block, 2 * block, 2 * bytes))?;
        receiver.listen()?;
        sender.listen()?;
        Ok(Sending { sender, receiver, bytes, array, landing })
    }

    /// A message that warms the NICs, then the one that is measured: cycles from the sender's first instruction to the end of the
    /// receiver's overhead for the record. `sends` is the sender's program for so many bytes to the window of this address.
    fn measure(&self, bench: &Bench, sends: impl Fn(usize, u64) -> Result<Program>) -> Result<u64> {
        let mut cycles = 0;
        for (bytes, address) in [(WARM_BYTES, WARM), (self.bytes, WINDOW)] {
            let posted = window(&self.receiver, address, bytes, self.landing, self.bytes)?;
            let sender = sends(bytes, address)?;
            bench.idle(QUIET);
            let (start, end) = (bench.now(), Rc::new(Cell::new(0)));
            let (host, seen) = (self.receiver.clone(), end.clone());
            let takes: Program = Box::pin(async move {
                host.record(&posted).await?;
                seen.set(host.now());
                Ok(())
            });
            bench.run(vec![sender, takes])?;
            bench.expect(
                "the message",
                &self.receiver.read(self.landing, bytes)?,
                &model::message(self.bytes)[..bytes],
            )?;
            self.receiver.write(self.landing, &vec![0; bytes])?;
            cycles = end.get() - start;
        }
        Ok(cycles)
    }
}

/// The sender's host packs a piece, has the NIC put it, and packs the next one meanwhile.
fn packed(bench: &Bench, block: usize, bytes: usize, chunk: usize) -> Result<u64> {
    let sending = Sending::new(bench, block, bytes)?;
    let from = sending.sender.alloc(bytes)?;
    sending.measure(bench, |bytes, address| {
        let (host, array) = (sending.sender.clone(), sending.array);
        Ok(Box::pin(async move {
            let chunk = chunk.min(bytes);
            for at in (0..bytes).step_by(chunk) {
                host.blocks(chunk.div_ceil(block), chunk).await;
                for at in (at..at + chunk).step_by(block) {
                    host.write(from + at as u64, &host.read(array + 2 * at as u64, block)?)?;
                }
                host.put(from + at as u64, chunk, &window_of(1, address, at)).await?;
            }
            Ok(())
        }))
    })
}

/// The sender's host starts a task, and its handlers send.
fn gathered(bench: &Bench, file: &str, block: usize, bytes: usize) -> Result<u64> {
    let sending = Sending::new(bench, block, bytes)?;
    let handler = bench.compile(HANDLERS, file)?;
    let host = &sending.sender;
    // A task lives as long as the message takes.
    let (host_region, watchdog) = (Some((sending.array, 2 * bytes as u32)), 1_000_000);
    let options = ContextOptions { host_region, watchdog, ..ContextOptions::default() };
    let context = host.nic(|nic| -> Result<_> {
        let context = nic.install(&handler.image, &options)?;
        nic.activate(context)?;
        Ok(context)
    })?;
    host.set_word(context, &handler, "block_length", block as u32)?;
    host.set_word(context, &handler, "stride", 2 * block as u32)?;
    sending.measure(bench, |bytes, address| {
        sending.sender.set_target(context, &handler, "target", &window_of(1, address, 0))?;
        let host = sending.sender.clone();
        Ok(Box::pin(async move { host.start_task(context, bytes as u64).await }))
    })
}
