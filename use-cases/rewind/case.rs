//! Epochs of one-sided communication, and the return to the last one after an origin's death in the middle of the next.

mod model;

use crate::bench::{window_of, Bench, Host, Program, Setting, KEY, PROCESS};
use crate::case::{ratios, value, Case, Measured, Mode, Row, HOSTS};
use crate::cost::Work;
use anyhow::{ensure, Context, Result};
use spindle::rvma::{Posted, Window};
use spindle_contract::wire::status;
use std::cell::Cell;
use std::rc::Rc;

const MODES: &[Mode] = &[
    Mode {
        name: "rvma",
        about: "a buffer for each epoch; the NIC remembers the last ones, and REWIND names the one before",
    },
    Mode { name: "rdma", about: "one buffer; the target copies each epoch before the origin may begin the next" },
];
/// The target, the origin that dies, and the one that takes over.
const TARGET: usize = 0;
const ORIGIN: usize = 1;
const SPARE: usize = 2;
/// Epochs that are measured, after one that is not.
const EPOCHS: usize = 4;
/// Buffers that are posted: of all epochs, of the one in which the origin dies, and of its repetition.
const BUFFERS: usize = EPOCHS + 3;
/// Address of the target's window, and of the window in which an origin is allowed the next epoch.
const WINDOW: u64 = 0x300;
const GO: u64 = 0x301;
/// Bytes of a permission.
const PERMISSION: usize = 8;
const QUIET: u64 = 1000;

/// The case.
pub const CASE: Case = Case {
    name: "rewind",
    figure: include_str!("figure.toml"),
    handlers: &[],
    source: include_str!("case.rs"),
    modes: MODES,
    run,
    summary,
    broken: &[],
};

fn run(setting: &Setting, mode: &str, point: u64) -> Result<Measured> {
    let bench = setting.bench(3)?;
    let bytes = point as usize;
    let target = Target::new(&bench, mode, bytes)?;
    bench.hosts().iter().try_for_each(Host::listen)?;
    target.epochs(&bench, ORIGIN, 0..1)?;
    let epochs = target.epochs(&bench, ORIGIN, 1..EPOCHS + 1)?;
    let recovery = target.death(&bench, EPOCHS + 1)?;
    let again = target.epochs(&bench, SPARE, EPOCHS + 1..EPOCHS + 2)?;
    Measured::new(
        &bench,
        [
            ("epoch_ns", setting.ns(epochs as f64 / EPOCHS as f64)),
            ("recovery_ns", setting.ns(recovery as f64)),
            ("recovery_cycles", recovery as f64),
            ("repeated_epoch_ns", setting.ns(again as f64)),
        ],
    )
}

fn summary(rows: &[Row]) -> Vec<(String, f64)> {
    const SIZES: [(u64, &str); 2] = [(4096, "4k"), (262_144, "256k")];
    let mut figures = ratios(rows, "recovery_ns", &SIZES, &[("rdma", "rvma", "recovery")]);
    figures.extend(ratios(rows, "epoch_ns", &SIZES, &[("rdma", "rvma", "epoch")]));
    for (host, ending) in HOSTS {
        for (bytes, text) in SIZES {
            let cycles = value(rows, "rvma", host, bytes, "recovery_cycles");
            figures.extend(cycles.map(|cycles| (format!("recovery_cycles_{text}{ending}"), cycles)));
        }
    }
    figures
}

/// The target's host and its memory.
struct Target {
    host: Host,
    bytes: usize,
    /// With a buffer for each epoch: the window and its buffers, in the order in which they complete.
    rvma: Option<(Window, Vec<Posted>)>,
    /// With one buffer: the buffer, and the copy of the last epoch.
    buffer: u64,
    copy: u64,
}

impl Target {
    fn new(bench: &Bench, mode: &str, bytes: usize) -> Result<Target> {
        let host = bench.host(TARGET);
        let (buffer, copy) = (host.alloc(bytes)?, host.alloc(bytes)?);
        if mode == "rdma" {
            host.endless_window(WINDOW, buffer, bytes)?;
            return Ok(Target { host, bytes, rvma: None, buffer, copy });
        }
        let window = host.nic(|nic| nic.init_window(PROCESS, WINDOW, KEY, bytes as u32))?;
        let post = |_| -> Result<Posted> {
            let posted = Posted { buffer: host.alloc(bytes)?, size: bytes as u32, record: host.alloc(64)? };
            host.nic(|nic| nic.post(window, posted))?;
            Ok(posted)
        };
        let buffers = (0..BUFFERS).map(post).collect::<Result<_>>()?;
        Ok(Target { host, bytes, rvma: Some((window, buffers)), buffer, copy })
    }

    /// The buffer of an epoch. That in which the origin died has had one of its own.
    fn posted(&self, epoch: usize) -> Option<Posted> {
        let (_, buffers) = self.rvma.as_ref()?;
        buffers.get(epoch + usize::from(epoch > EPOCHS)).copied()
    }

    /// So many epochs of an origin: cycles from its first put to the last look of the target. Compares all of them.
    fn epochs(&self, bench: &Bench, origin: usize, epochs: std::ops::Range<usize>) -> Result<u64> {
        let (from, permission) = self.origin(bench, origin, epochs.start)?;
        bench.idle(QUIET);
        let (start, end) = (bench.now(), Rc::new(Cell::new(0)));
        let (host, bytes, seen) = (self.host.clone(), self.bytes, end.clone());
        let (buffer, copy, go) = (self.buffer, self.copy, GO + epochs.start as u64);
        let records: Option<Vec<Posted>> = epochs.clone().map(|epoch| self.posted(epoch)).collect();
        let ahead = records.is_some();
        let numbers = epochs.clone();
        let taker: Program = Box::pin(async move {
            for (at, epoch) in numbers.enumerate() {
                if let Some(records) = &records {
                    host.record(&records[at]).await?;
                    continue;
                }
                // Packets come in order: the last bytes say that all are there.
                let data = model::epoch(epoch, bytes);
                host.bytes(buffer + (bytes - 8) as u64, &data[bytes - 8..]).await?;
                let data = host.read(buffer, bytes)?;
                host.work(Work::Copy, bytes).await;
                host.write(copy, &data)?;
                host.put(copy + (bytes - PERMISSION) as u64, PERMISSION, &window_of(origin, go, 0)).await?;
            }
            seen.set(host.now());
            Ok(())
        });
        let host = bench.host(origin);
        let numbers = epochs.clone();
        let putter: Program = Box::pin(async move {
            for epoch in numbers {
                let data = model::epoch(epoch, bytes);
                let at = from + (if ahead { epoch % BUFFERS * bytes } else { 0 }) as u64;
                host.write(at, &data)?;
                host.put(at, bytes, &window_of(TARGET, WINDOW, 0)).await?;
                if !ahead {
                    host.bytes(permission, &data[bytes - PERMISSION..]).await?;
                }
            }
            Ok(())
        });
        let last = epochs.end - 1;
        bench.run(vec![taker, putter])?;
        bench.idle(QUIET);
        for epoch in epochs {
            let at = self.posted(epoch).map_or(self.copy, |posted| posted.buffer);
            if epoch == last || self.rvma.is_some() {
                bench.expect("an epoch", &self.host.read(at, bytes)?, &model::epoch(epoch, bytes))?;
            }
        }
        Ok(end.get() - start)
    }

    /// Memory of an origin, and where it is allowed the next epoch.
    fn origin(&self, bench: &Bench, origin: usize, first: usize) -> Result<(u64, u64)> {
        let host = bench.host(origin);
        let (from, permission) = (host.alloc(BUFFERS * self.bytes)?, host.alloc(PERMISSION)?);
        host.endless_window(GO + first as u64, permission, PERMISSION)?;
        Ok((from, permission))
    }

    /// An origin dies when half of its bytes of an epoch have arrived: cycles from the target's decision to go back until it has the epoch
    /// before. Compares that epoch and what has arrived.
    fn death(&self, bench: &Bench, epoch: usize) -> Result<u64> {
        let (bytes, half, before) = (self.bytes, self.bytes / 2, model::epoch(epoch - 1, self.bytes));
        let origin = bench.host(ORIGIN);
        let from = origin.alloc(half)?;
        origin.write(from, &model::epoch(epoch, half))?;
        bench.run(vec![Box::pin(async move { origin.put(from, half, &window_of(TARGET, WINDOW, 0)).await })])?;
        // The wire takes 58 bytes per cycle.
        bench.idle(QUIET + half as u64 / 32);
        let (start, end) = (bench.now(), Rc::new(Cell::new(0)));
        let (host, seen) = (self.host.clone(), end.clone());
        let Some((window, buffers)) = &self.rvma else {
            let (buffer, copy) = (self.buffer, self.copy);
            let wanted = model::over(epoch, half, &before);
            bench.expect("the buffer of a dead origin", &host.read(buffer, bytes)?, &wanted)?;
            bench.run(vec![Box::pin(async move {
                host.work(Work::Copy, bytes).await;
                host.write(buffer, &host.read(copy, bytes)?)?;
                seen.set(host.now());
                Ok(())
            })])?;
            bench.expect("the epoch before", &self.host.read(buffer, bytes)?, &before)?;
            return Ok(end.get() - start);
        };
        let (window, found) = (*window, Rc::new(Cell::new(None)));
        let address = found.clone();
        bench.run(vec![Box::pin(async move {
            host.overhead().await;
            // The partial buffer is the last one now.
            host.nic(|nic| nic.inc_epoch(window))?;
            address.set(host.nic(|nic| nic.rewind(window, 1))?);
            seen.set(host.now());
            Ok(())
        })])?;
        bench.idle(QUIET);
        let partial = buffers[epoch];
        let record = self.host.nic(|nic| nic.poll(&partial))?.context("the partial buffer has no record")?;
        ensure!(
            record.status == status::PARTIAL && record.length == half as u32,
            "the partial buffer ended as {record:?}"
        );
        let at = found.get().context("the NIC remembers no epoch before")?;
        bench.expect("the epoch before", &self.host.read(at, bytes)?, &before)?;
        bench.expect("what has arrived", &self.host.read(partial.buffer, half)?, &model::epoch(epoch, half))?;
        Ok(end.get() - start)
    }
}
