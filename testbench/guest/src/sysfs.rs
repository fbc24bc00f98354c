//! The card through sysfs, without its driver.

use crate::checks::Checks;
use anyhow::{ensure, Context, Result};
use spindle::transport::pci::Function;
use spindle::transport::sysfs::SysfsCard;
use spindle::{Card, Device, HostMemory, SharedCard};
use std::path::Path;

/// Runs the checks.
pub fn check(checks: &mut Checks, address: &str) {
    checks.run("sysfs: unbind", || unbind(address));
    let Some(card) = checks.run("sysfs: open", || open(address)) else { return };
    checks.run("sysfs: buffer", || buffer(&card));
    checks.run("sysfs: reset", || {
        card.lock().reset()?;
        Ok(((), "done".into()))
    });
    checks.run("sysfs: end", || end(card));
}

fn unbind(address: &str) -> Result<((), String)> {
    let function = Function::find(Path::new("/"), address)?;
    let refusal = SysfsCard::open(address).err().context("a bound card was opened")?.to_string();
    ensure!(refusal.contains("open it as") && refusal.contains("through VFIO"), "{refusal}");
    function.release()?;
    ensure!(function.driver().is_none(), "the function has a driver");
    Ok(((), "no driver".into()))
}

fn open(address: &str) -> Result<(SharedCard, String)> {
    let mut card = SysfsCard::open(address)?;
    let memory = card.alloc(4096, 4096)?;
    let files = std::fs::read_dir("/dev/hugepages")?.count();
    ensure!(card.vectors() == 0 && files == 1, "{} vectors, {files} files of huge pages", card.vectors());
    Ok((SharedCard::new(card), format!("memory at the physical address {memory:#x}")))
}

/// The card writes a completion record to a physical address.
fn buffer(card: &SharedCard) -> Result<((), String)> {
    let mut nic = Device::open(card.clone(), card.clone())?;
    let window = nic.init_window(0, 0x2000, 0, 64)?;
    let posted = nic.post_buffer(window, 64)?;
    nic.close_window(window)?;
    let record = nic.wait(&posted, 2_000_000)?;
    ensure!(record.buffer == posted.buffer, "the record names {:#x}", record.buffer);
    Ok(((), format!("the record of {:#x} came, seen by polling", posted.buffer)))
}

fn end(card: SharedCard) -> Result<((), String)> {
    drop(card);
    let files = std::fs::read_dir("/dev/hugepages")?.count();
    ensure!(files == 0, "{files} files of huge pages are left after the reset");
    Ok(((), "the card was reset, and its memory is free".into()))
}
