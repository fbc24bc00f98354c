//! Datatypes: a message is unpacked into a strided array of the receiver's host.

mod model;

use crate::bench::{window_of, Bench, Host, Program, Setting, KEY, PROCESS};
use crate::case::{ratios, value, Broken, Case, Measured, Mode, Row};
use anyhow::{bail, Result};
use spindle::events::EventKind;
use spindle::rule_table::Action;
use spindle::rvma::Posted;
use spindle::{ContextOptions, Overload};
use std::cell::Cell;
use std::rc::Rc;

const HANDLERS: &[(&str, &str)] = &[("unpack.c", include_str!("../../handlers/examples/unpack.c"))];
const MODES: &[Mode] = &[
    Mode { name: "rdma", about: "the message lands in one piece, and the host unpacks it" },
    Mode { name: "chunks", about: "the host unpacks each piece of the message while the next ones arrive" },
    Mode { name: "spin", about: "handlers write each block to its place" },
];
/// Bytes of the message, and of the one that warms the NICs: more packets than HPUs have threads.
const BYTES: usize = 1 << 20;
const WARM_BYTES: usize = 64 << 10;
/// Bytes of a piece in mode `chunks`; a multiple of all blocks.
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
    let cycles = match mode {
        "rdma" => by_host(&bench, point as usize, BYTES)?,
        "chunks" => by_host(&bench, point as usize, CHUNK)?,
        _ => by_nic(&bench, point as usize)?,
    } as f64;
    let (bits, time) = (8.0 * BYTES as f64, setting.ns(cycles));
    Measured::new(
        &bench,
        [("completion_ns", time), ("unpack_bits_per_cycle", bits / cycles), ("gb_per_s", bits / time)],
    )
}

fn summary(rows: &[Row]) -> Vec<(String, f64)> {
    const BLOCKS: [(u64, &str); 4] = [(64, "64"), (256, "256"), (1024, "1024"), (4096, "4096")];
    let pairs = [("rdma", "spin", "over_rdma"), ("chunks", "spin", "over_chunks")];
    let mut figures = ratios(rows, "completion_ns", &BLOCKS, &pairs);
    for (block, text) in BLOCKS {
        let rate = value(rows, "spin", "pcie", block, "unpack_bits_per_cycle");
        figures.extend(rate.map(|rate| (format!("unpack_{text}"), rate)));
    }
    figures
}

const BROKEN: &[Broken] = &[Broken::new(
    "spin",
    "a block is as far from the next as it is long",
    "unpack.c",
    "offset += length + step - block;",
    "offset += length;",
)];

/// What both ends share: the sender with two prepared puts, the receiver with an array.
struct Ends {
    sender: Host,
    receiver: Host,
    from: u64,
    array: u64,
}

/// Bytes of the array.
const ARRAY: usize = 2 * BYTES;

impl Ends {
    fn new(bench: &Bench) -> Result<Ends> {
        let (sender, receiver) = (bench.host(0), bench.host(1));
        let (from, array) = (sender.alloc(BYTES)?, receiver.alloc(ARRAY)?);
        receiver.write(array, &model::before(ARRAY))?;
        sender.write(from, &model::message(BYTES))?;
        // The sender takes acknowledgements.
        sender.listen()?;
        Ok(Ends { sender, receiver, from, array })
    }

    /// A window of the receiver that completes after `threshold` bytes, with a buffer of `size` bytes.
    fn window(&self, address: u64, threshold: usize, buffer: u64, size: usize) -> Result<Posted> {
        let host = &self.receiver;
        let window = host.nic(|nic| nic.init_window(PROCESS, address, KEY, threshold as u32))?;
        let posted = Posted { buffer, size: size as u32, record: host.alloc(64)? };
        Ok(host.nic(|nic| nic.post(window, posted))?)
    }

    /// Sends the message that warms the NICs, then the one that is measured, and compares the array. `done` is the receiver's program:
    /// it ends when the host knows that the message of so many bytes has been unpacked. Returns cycles.
    fn measure(&self, bench: &Bench, block: usize, done: impl Fn(usize) -> Program) -> Result<u64> {
        let from = self.from;
        let prepare = |page, bytes, address| self.sender.prepare(page, from, bytes, &window_of(1, address, 0));
        let message = prepare(0, BYTES, WINDOW)?;
        let warm = prepare(1, WARM_BYTES, WARM)?;
        let host = self.sender.clone();
        bench.run(vec![Box::pin(async move { host.fire(&warm).await }), done(WARM_BYTES)])?;
        bench.idle(QUIET);
        let (start, end) = (bench.now(), Rc::new(Cell::new(0)));
        let (host, seen, receiver, taken) = (self.sender.clone(), end.clone(), self.receiver.clone(), done(BYTES));
        let sends: Program = Box::pin(async move { host.fire(&message).await });
        let takes: Program = Box::pin(async move {
            taken.await?;
            seen.set(receiver.now());
            Ok(())
        });
        bench.run(vec![sends, takes])?;
        let wanted = model::after(&model::message(BYTES), block, 2 * block, ARRAY);
        bench.expect("the array", &self.receiver.read(self.array, ARRAY)?, &wanted)?;
        Ok(end.get() - start)
    }
}

/// The host unpacks the message in pieces. Packets arrive in order, so a piece is there when its last byte is; of the last piece the host
/// takes the record.
fn by_host(bench: &Bench, block: usize, chunk: usize) -> Result<u64> {
    let ends = Ends::new(bench)?;
    let landing = ends.receiver.alloc(BYTES)?;
    let message = model::message(BYTES);
    // The last byte of a piece is another one until the piece is there.
    ends.receiver.write(landing, &message.iter().map(|byte| !byte).collect::<Vec<_>>())?;
    let posted = ends.window(WINDOW, BYTES, landing, BYTES)?;
    let warm = ends.window(WARM, WARM_BYTES, ends.receiver.alloc(WARM_BYTES)?, WARM_BYTES)?;
    ends.receiver.listen()?;
    let (receiver, array, tails) = (ends.receiver.clone(), ends.array, message);
    ends.measure(bench, block, |bytes| {
        let (host, tails) = (receiver.clone(), tails.clone());
        Box::pin(async move {
            if bytes < BYTES {
                host.record(&warm).await?;
                return Ok(());
            }
            for from in (0..BYTES).step_by(chunk) {
                let last = from + chunk - 1;
                if last + 1 < BYTES {
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
fn by_nic(bench: &Bench, block: usize) -> Result<u64> {
    let ends = Ends::new(bench)?;
    let handler = bench.compile(HANDLERS, "unpack.c")?;
    let host = &ends.receiver;
    let events = host.nic(|nic| nic.open_ring(PROCESS, 64))?;
    let options = ContextOptions {
        host_region: Some((ends.array, ARRAY as u32)),
        overload: Overload::Pause,
        ..ContextOptions::default()
    };
    let context = host.install(&handler.image, "spindle", &options, Action::ContextPerMessage)?;
    host.set_word(context, &handler, "block_length", block as u32)?;
    host.set_word(context, &handler, "stride", 2 * block as u32)?;
    ends.window(WINDOW, BYTES, ends.array, ARRAY)?;
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
