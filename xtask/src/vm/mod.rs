//! `vm`: a virtual machine with a stock Debian kernel, in which the driver uses the served NIC through VFIO and through sysfs.
//!
//! | file | content |
//! |---|---|
//! | `fetch.rs` | QEMU and the kernel, as packages of Debian, without root |
//! | `initramfs.rs` | the machine's only file system: two static programs, modules, an image |
//! | `machine.rs` | the served NIC, QEMU, and the bound on both |
//!
//! The first program of the machine is `spindle-guest` (testbench/guest). What it prints goes to `target/vm/serial.log`.

mod fetch;
mod initramfs;
mod machine;

use crate::process::{cargo_command, quiet, target_folder, visible};
use anyhow::{ensure, Context, Result};
use clap::Args;
use serde_json::json;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Instant;

/// The machine.
#[derive(Args)]
pub struct Options {
    /// Use a card that is served at this socket already, instead of `spindle serve`.
    #[arg(long, value_name = "PATH")]
    socket: Option<PathBuf>,
    /// Print all that the machine prints.
    #[arg(long)]
    verbose: bool,
}

/// The target of the machine's programs: with its C library in them, as the machine has none.
const TARGET: &str = "x86_64-unknown-linux-gnu";
/// Modules of the kernel, in the order in which they are loaded.
const MODULES: [&str; 5] = [
    "virt/lib/irqbypass.ko.xz",
    "drivers/vfio/vfio.ko.xz",
    "drivers/vfio/vfio_iommu_type1.ko.xz",
    "drivers/vfio/pci/vfio-pci-core.ko.xz",
    "drivers/vfio/pci/vfio-pci.ko.xz",
];

/// Boots the machine; whether all of its checks passed.
pub fn run(options: &Options) -> Result<bool> {
    let folder = std::path::absolute(target_folder().join("vm"))?;
    fs::create_dir_all(&folder)?;
    let qemu = fetch::qemu(&folder)?;
    let kernel = fetch::kernel(&folder)?;
    let programs = build(&folder)?;
    let initramfs = folder.join("initramfs.cpio");
    fs::write(&initramfs, archive(&programs, &folder, &kernel)?)?;
    let served = match &options.socket {
        Some(socket) => machine::Card::at(socket),
        None => machine::Card::serve(&folder)?,
    };
    let start = Instant::now();
    let log = machine::boot(&qemu, &kernel.image, &initramfs, &served, &folder.join("serial.log"))?;
    let seconds = start.elapsed().as_secs_f64();
    if options.verbose {
        println!("{log}");
    }
    judge(&log, seconds, &kernel.version, &folder)
}

/// Builds the two programs of the machine.
fn build(folder: &Path) -> Result<PathBuf> {
    let to = folder.join("build");
    let packages = ["--package", "spindle-cli", "--package", "spindle-guest"];
    visible(
        cargo_command()
            .args(["build", "--quiet", "--no-default-features", "--target", TARGET, "--target-dir"])
            .arg(&to)
            .args(packages)
            .env("RUSTFLAGS", "-C target-feature=+crt-static -C strip=symbols"),
    )?;
    Ok(to.join(TARGET).join("debug"))
}

/// Images of handlers, which are built before the machine begins.
const IMAGES: [(&str, &str); 2] = [
    ("ping_pong.elf", "handlers/examples/ping_pong.c"),
    ("foreign_access.elf", "handlers/examples/faulty/foreign_access.c"),
];

/// An image.
fn image(folder: &Path, name: &str, source: &str) -> Result<Vec<u8>> {
    let to = folder.join(name);
    let build =
        ["run", "--quiet", "--package", "spindle-cli", "--no-default-features", "--", "build", source, "--output"];
    quiet(cargo_command().args(build).arg(&to))?;
    fs::read(&to).with_context(|| format!("cannot read {}", to.display()))
}

/// The machine's file system.
fn archive(programs: &Path, folder: &Path, kernel: &fetch::Kernel) -> Result<Vec<u8>> {
    let read = |path: &Path| fs::read(path).with_context(|| format!("cannot read {}", path.display()));
    let mut archive = initramfs::Archive::default();
    for name in ["dev", "proc", "sys", "tmp"] {
        archive.folder(name);
    }
    archive.console();
    archive.program("init", &read(&programs.join("spindle-guest"))?);
    archive.program("spindle", &read(&programs.join("spindle"))?);
    for (name, source) in IMAGES {
        archive.file(name, &image(folder, name, source)?);
    }
    let mut list = String::new();
    for module in MODULES {
        let name = Path::new(module).file_name().context("a module has a name")?.to_string_lossy().into_owned();
        archive.file(&name, &read(&kernel.modules.join(module))?);
        list += &(name + "\n");
    }
    archive.file("modules", list.as_bytes());
    Ok(archive.finish())
}

/// Prints the machine's checks, and leaves `vm.json`.
fn judge(log: &str, seconds: f64, kernel: &str, folder: &Path) -> Result<bool> {
    let lines: Vec<&str> = log.lines().map(|line| line.trim_end_matches('\r')).collect();
    for line in lines.iter().filter(|line| ["check: ", "FAILED: ", "guest: "].iter().any(|head| line.starts_with(head)))
    {
        println!("vm: {line}");
    }
    let last = lines.iter().find_map(|line| line.strip_prefix("guest: passed: "));
    ensure!(
        last.is_some() || lines.iter().any(|line| line.starts_with("guest: FAILED: ")),
        "the machine did not come to its end; see {}",
        folder.join("serial.log").display()
    );
    let passed = last.is_some();
    let checks = lines.iter().filter(|line| line.starts_with("check: ")).count();
    let mut host = json!({"vm_checks": checks});
    if passed {
        host["vm_seconds"] = json!((seconds * 10.0).round() / 10.0);
    }
    // In the form of the report, from which `cargo xtask figures --from` takes its figures.
    let result = json!({"host": host, "kernel": kernel});
    fs::write(folder.join("vm.json"), serde_json::to_string_pretty(&result)? + "\n")?;
    println!("vm: {} in {seconds:.1} s (kernel {kernel})", if passed { "passed" } else { "FAILED" });
    Ok(passed)
}
