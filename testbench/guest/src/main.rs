//! The first program of a virtual machine that `cargo xtask vm` boots: it loads VFIO's modules, finds the card, checks the
//! driver's kernel transports on it and switches the machine off. Each check is a line, and the last line counts them.
//!
//! | file | content |
//! |---|---|
//! | `machine.rs` | mounts, modules, the end of the machine |
//! | `checks.rs` | runs checks and counts them |
//! | `vfio.rs` | the card through VFIO |
//! | `sysfs.rs` | the same card through sysfs |
//! | `refused.rs` | what the kernel refuses |
//! | `victim.rs` | a program that is killed while the card works for it |

mod checks;
mod machine;
mod refused;
mod sysfs;
mod vfio;
mod victim;

use anyhow::Result;
use checks::Checks;
use spindle::transport::pci::Function;
use spindle_contract::pci;
use std::path::Path;

fn main() -> Result<()> {
    let arguments: Vec<String> = std::env::args().collect();
    match (arguments.get(1).map(String::as_str), arguments.get(2)) {
        (Some("victim"), Some(address)) => victim::work(address),
        (Some("stranger"), Some(address)) => refused::stranger(address),
        (Some("limited"), Some(address)) => refused::limited(address),
        _ if std::process::id() == 1 => first_program(),
        _ => anyhow::bail!("spindle-guest is the first program of a virtual machine; `cargo xtask vm` boots one"),
    }
}

fn first_program() -> Result<()> {
    let mut checks = Checks::default();
    let passed = machine::begin().and_then(|()| all(&mut checks));
    if let Err(error) = passed {
        checks.fail("the machine", &error);
    }
    checks.close();
    machine::switch_off()
}

fn all(checks: &mut Checks) -> Result<()> {
    machine::load_modules()?;
    let address = find_card()?;
    println!("guest: the card is {address}");
    vfio::check(checks, &address);
    sysfs::check(checks, &address);
    Ok(())
}

/// The only function with the card's numbers.
fn find_card() -> Result<String> {
    for entry in std::fs::read_dir("/sys/bus/pci/devices")? {
        let address = entry?.file_name().to_string_lossy().into_owned();
        if Function::find(Path::new("/"), &address)?.ids() == Some((pci::VENDOR, pci::DEVICE)) {
            return Ok(address);
        }
    }
    anyhow::bail!("the machine has no card")
}
