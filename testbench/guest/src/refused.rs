//! What the kernel refuses: a program without rights, memory beyond the limit, a card that the kernel takes back.

use anyhow::{bail, ensure, Context, Result};
use rustix::process::{setrlimit, Resource, Rlimit};
use rustix::thread::{set_capabilities, CapabilitySet, CapabilitySets};
use spindle::transport::pci::Function;
use spindle::transport::vfio::VfioCard;
use spindle::{Bar, Card, Error, HostMemory};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

/// A user without rights.
const STRANGER: u32 = 65534;
const LIMIT: u64 = 64 << 10;
const PATIENCE: Duration = Duration::from_secs(30);

/// Runs this program in another role; what it prints, which is the error that it expected.
fn other(role: &str, address: &str, user: u32) -> Result<String> {
    let output = Command::new("/proc/self/exe").args([role, address]).uid(user).output()?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr);
    ensure!(output.status.success(), "{}", text.trim());
    Ok(text.trim().into())
}

/// A user without rights gets the file and the cure.
pub fn permission(address: &str) -> Result<((), String)> {
    other("stranger", address, STRANGER).map(|seen| ((), seen))
}

/// The role of that user.
pub fn stranger(address: &str) -> Result<()> {
    match VfioCard::open(address) {
        Err(error @ Error::Permission { .. }) => println!("{error}"),
        Err(error) => bail!("another error: {error}"),
        Ok(_) => bail!("the card was opened"),
    }
    Ok(())
}

/// Memory beyond RLIMIT_MEMLOCK gets the limit and the cure.
pub fn memory_limit(address: &str) -> Result<((), String)> {
    other("limited", address, 0).map(|seen| ((), seen))
}

/// The role of the program with that limit.
pub fn limited(address: &str) -> Result<()> {
    let mut card = VfioCard::open(address)?;
    setrlimit(Resource::Memlock, Rlimit { current: Some(LIMIT), maximum: Some(LIMIT) })?;
    // With it, the limit does not count.
    let none = CapabilitySet::empty();
    set_capabilities(None, CapabilitySets { effective: none, permitted: none, inheritable: none })?;
    let error = card.alloc(1 << 20, 64).err().context("memory beyond the limit was mapped")?.to_string();
    ensure!(error.contains("RLIMIT_MEMLOCK is 64 KiB") && error.contains("ulimit -l"), "{error}");
    println!("{error}");
    Ok(())
}

/// The kernel takes the card from its owner, who learns of it and lets go; then the card comes back.
pub fn taken_back(address: &str) -> Result<((), String)> {
    let mut card = VfioCard::open(address)?;
    let function = Function::find(Path::new("/"), address)?;
    let remove = function.folder().join("remove");
    let kernel = std::thread::spawn(move || std::fs::write(remove, "1"));
    let start = Instant::now();
    let error = loop {
        match card.read32(0) {
            Err(error) => break error,
            Ok(_) => ensure!(start.elapsed() < PATIENCE, "the owner does not learn of it"),
        }
    };
    ensure!(matches!(error, Error::Gone { .. }), "another error: {error}");
    let after = card.alloc(1, 1).err().context("a card that is gone gives memory")?;
    ensure!(matches!(after, Error::Gone { .. }) && card.reset().is_err(), "another error: {after}");
    drop(card);
    kernel.join().map_err(|_| anyhow::anyhow!("the removal panicked"))??;
    ensure!(!function.folder().exists(), "the function is still there");
    std::fs::write("/sys/bus/pci/rescan", "1")?;
    function.bind(spindle::transport::pci::VFIO_PCI)?;
    VfioCard::open(address)?;
    Ok(((), error.to_string()))
}
