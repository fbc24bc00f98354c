//! The figures of the host's side: a served NIC, seen by a driver at the other end of its socket.

use super::dummy::{self, Dummy};
use super::measure::Figure;
use anyhow::{ensure, Context, Result};
use spindle::moderation::InterruptOptions;
use spindle::window::WindowOptions;
use spindle::{irq, Bar, Device, SharedCard};
use spindle_contract::registers::global;
use spindle_sim::serve::exercise::exercise;
use spindle_sim::serve::{Background, ServeOptions, TimeMode};
use spindle_sim::transport;
use std::os::fd::AsFd;
use std::path::Path;
use std::time::{Duration, Instant};

/// Keys of [`measure`].
pub const KEYS: &[&str] = &[
    "host.serve_read_us",
    "host.serve_write_us",
    "host.doorbell_to_interrupt_us",
    "host.dummy_read_us",
    "host.dummy_write_us",
    "host.dummy_interrupt_us",
    "host.step_equals_inprocess",
];

/// Accesses of a run, and runs; the best one counts.
const ACCESSES: u32 = 200;
const RUNS: usize = 5;

/// Register accesses, and the comparison of time by steps with a card in process.
pub fn measure() -> Result<Vec<Figure>> {
    let folder = tempfile::tempdir().context("cannot make a folder for sockets")?;
    let free = Background::start(ServeOptions::at(&folder.path().join("free.sock")))?;
    let card = free.card()?;
    let (read, write) = accesses(&card)?;
    let interrupt = doorbell_to_interrupt(&card)?;
    drop(card);
    let (dummy_read, dummy_write, dummy_interrupt) = of_dummy(&folder.path().join("dummy.sock"))?;
    let time = TimeMode::Step;
    let step = Background::start(ServeOptions { time, ..ServeOptions::at(&folder.path().join("step.sock")) })?;
    let equal = exercise(&step.card()?)? == exercise(&transport::open("sim:sim")?)?;
    ensure!(equal, "a card that is served by steps takes other cycles or writes other bytes than one in process");
    let how = format!("configuration sim, served; {ACCESSES} accesses, best of {RUNS}");
    Ok(vec![
        Figure::new("host.serve_read_us", read, format!("{how}: a register read, until its value is there")),
        Figure::new("host.serve_write_us", write, format!("{how}: a register write, posted")),
        Figure::new(
            "host.doorbell_to_interrupt_us",
            interrupt,
            "configuration sim, served; from the write that arms an interrupt, a record being unread, to the eventfd, best of 50",
        ),
        Figure::new("host.dummy_read_us", dummy_read, "the same read of a card without a NIC: the socket alone"),
        Figure::new("host.dummy_write_us", dummy_write, "the same write of a card without a NIC"),
        Figure::new("host.dummy_interrupt_us", dummy_interrupt, "from a write to its eventfd, of a card without a NIC"),
        Figure::new(
            "host.step_equals_inprocess",
            equal,
            "a program over a socket and in process: cycles, memory, counters",
        ),
    ])
}

/// Microseconds of a read of a register, and of a posted write.
fn accesses(card: &SharedCard) -> Result<(f64, f64)> {
    let mut card = card.clone();
    let register = global::BASE + global::SCRATCH;
    let read = best(|| (0..ACCESSES).try_for_each(|_| card.read32(register).map(drop)))?;
    // Writes are posted: the read after them ends when the card has taken the last one.
    let write = best(|| {
        (0..ACCESSES).try_for_each(|value| card.write32(register, value))?;
        ensure!(card.read32(register)? == ACCESSES - 1, "the card has another value than the last one written");
        Ok(())
    })?;
    Ok((read, write))
}

/// The same of a card without a NIC, and the microseconds from a write to the interrupt that the write fires.
fn of_dummy(socket: &Path) -> Result<(f64, f64, f64)> {
    let _served = Dummy::start(socket)?;
    let mut card = spindle::transport::open(&format!("unix:{}", socket.display()))?;
    let (read, write) = accesses(&card)?;
    let event = card.lock().interrupt(0)?;
    let interrupt = best_interrupt(&event, || Ok(card.write32(dummy::FIRE, 1)?))?;
    Ok((read, write, interrupt))
}

/// Microseconds from the write of a doorbell to the interrupt that the card requests for it.
fn doorbell_to_interrupt(card: &SharedCard) -> Result<f64> {
    const PROCESS: usize = 1;
    let mut device = Device::open(card.clone(), card.clone())?;
    let mut ring = device.open_ring(PROCESS, 64)?;
    let options = WindowOptions { address: 1, key: 1, threshold: 64, event: true, ..WindowOptions::default() };
    let window = device.open_window(PROCESS, &options)?;
    device.post_buffer(window, 64)?;
    // The buffer comes back with a record, which stays unread.
    device.inc_epoch(window)?;
    device.set_interrupt(PROCESS, Some(InterruptOptions::default()))?;
    // The vector of the process after reset.
    let event = card.lock().interrupt(1 + PROCESS)?;
    best_interrupt(&event, || Ok(device.arm(&mut ring)?))
}

/// Microseconds from the begin of `ring` to the interrupt, in the best of 50 runs.
fn best_interrupt(event: &impl AsFd, mut ring: impl FnMut() -> Result<()>) -> Result<f64> {
    let mut best = f64::INFINITY;
    for _ in 0..50 {
        irq::take(event);
        let start = Instant::now();
        ring()?;
        ensure!(irq::wait(event.as_fd(), Duration::from_secs(10))? > 0, "no interrupt came within 10 s");
        best = best.min(start.elapsed().as_secs_f64());
    }
    Ok(best * 1e6)
}

/// Microseconds of an access in the best run.
fn best<E: Into<anyhow::Error>>(mut run: impl FnMut() -> Result<(), E>) -> Result<f64> {
    let mut best = f64::INFINITY;
    for _ in 0..RUNS {
        let start = Instant::now();
        run().map_err(Into::into)?;
        best = best.min(start.elapsed().as_secs_f64());
    }
    Ok(best * 1e6 / f64::from(ACCESSES))
}
