//! `dist`: a release in `target/dist`: the command with a linked model, the C library, the SDK, examples, the book, licences.
//!
//! With `--try`, the release is unpacked into a Debian that has nothing but a compiler for RISC-V, and used there.

use crate::process::{cargo_command, quiet, target_folder, visible};
use crate::{book, setup};
use anyhow::{ensure, Context, Result};
use clap::Args;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

/// Contents and trial of the release.
#[derive(Args)]
pub struct Options {
    /// Unpack the release in this folder, a Debian 12 with a compiler for RISC-V, and use it there. Needs root. An absent
    /// folder is made with debootstrap.
    #[arg(long = "try", value_name = "FOLDER")]
    try_in: Option<PathBuf>,
    /// Leave the book out.
    #[arg(long)]
    no_book: bool,
}

/// Files and folders of the release, and where they are in the checkout. Of a folder, the files that git knows.
const CONTENTS: &[(&str, &str)] = &[
    ("include/rvma.h", "sw-driver/rvma/include/rvma.h"),
    ("include/rvma_sim.h", "sw-driver/rvma/include/rvma_sim.h"),
    ("include/rvma_exchange.h", "sw-driver/rvma/include/rvma_exchange.h"),
    ("include/rvma_end.h", "sw-driver/rvma/include/rvma_end.h"),
    ("include/rvma_eager.h", "sw-driver/rvma/include/rvma_eager.h"),
    ("include/rvma_rendezvous.h", "sw-driver/rvma/include/rvma_rendezvous.h"),
    ("include/rvma_ring.h", "sw-driver/rvma/include/rvma_ring.h"),
    ("include/rvma_call.h", "sw-driver/rvma/include/rvma_call.h"),
    ("include/spindle_registers.h", "sw-driver/include/generated/spindle_registers.h"),
    ("sdk/include", "handlers/include"),
    ("sdk/lib", "handlers/lib"),
    ("sdk/generated", "handlers/generated"),
    ("sdk/handler.ld", "handlers/handler.ld"),
    ("sdk/README.md", "handlers/README.md"),
    ("examples/handlers", "handlers/examples"),
    ("examples/rvma/two_nodes.c", "sw-driver/rvma/examples/two_nodes.c"),
    ("examples/rvma/protocols.c", "sw-driver/rvma/examples/protocols.c"),
    ("examples/kernel.pcap", "testbench/captures/kernel.pcap"),
    ("LICENSE-APACHE", "LICENSE-APACHE"),
    ("LICENSE-MIT", "LICENSE-MIT"),
];

const README: &str = "\
# Spindle VERSION

An FPGA SmartNIC with sPIN packet handlers and RVMA mailboxes: the simulated card of configuration `sim`, the handler SDK and
the C library, for x86-64 Linux with glibc 2.36 or later (Debian 12).

Handlers are compiled by `riscv64-unknown-elf-gcc` (`apt-get install gcc-riscv64-unknown-elf`) or Clang with LLD. The simulated
card is linked into the program: neither Verilator nor a C++ compiler is needed.

    bin/spindle build examples/handlers/icmp_echo.c
    bin/spindle run examples/handlers/icmp_echo.c --pcap examples/kernel.pcap --match icmp --out answers.pcap

A C program on two simulated NICs:

    cc -I include examples/rvma/two_nodes.c -L lib -lspindle_rvma -Wl,-rpath,$PWD/lib -o two_nodes && ./two_nodes

| folder | content |
|---|---|
| `bin` | the command `spindle` |
| `lib`, `include` | the RVMA library, its headers, the register map |
| `sdk` | C headers and libraries of handlers; `spindle` carries a copy |
| `examples` | handlers, a C program for RVMA, a capture |
| `book` | the documentation: open `book/index.html` |

The commands `demo`, `report`, `compat` and `hart` are those of a checkout. Spindle is licensed under MIT or Apache-2.0, at your choice.
";

/// Packs a release, and tries it on request.
pub fn run(options: &Options) -> Result<()> {
    setup::run(&setup::Options { no_network: true, ..Default::default() })?;
    let start = Instant::now();
    // Both programs in one call: their features are those of each.
    let features = "spindle-cli/linked,spindle-rvma/linked";
    visible(cargo_command().args([
        "build",
        "--release",
        "-p",
        "spindle-cli",
        "-p",
        "spindle-rvma",
        "--features",
        features,
    ]))?;
    println!("dist: built in {:.0} s", start.elapsed().as_secs_f64());

    let name = format!("spindle-{}-x86_64", env!("CARGO_PKG_VERSION"));
    let dist = std::path::absolute(target_folder().join("dist"))?;
    let folder = dist.join(&name);
    let _ = fs::remove_dir_all(&folder);
    for (to, from) in CONTENTS {
        copy_known(Path::new(from), &folder.join(to))?;
    }
    for (to, built) in [("bin/spindle", "spindle"), ("lib/libspindle_rvma.so", "libspindle_rvma.so")] {
        let to = folder.join(to);
        fs::create_dir_all(to.parent().context("a file has a folder")?)?;
        quiet(Command::new("strip").arg("-o").arg(&to).arg(target_folder().join("release").join(built)))?;
    }
    fs::write(folder.join("README.md"), README.replace("VERSION", env!("CARGO_PKG_VERSION")))?;
    if !options.no_book {
        copy_all(&book::run()?, &folder.join("book"))?;
    }
    let archive = dist.join(format!("{name}.tar.gz"));
    // Nothing of this machine or day: the same files give the same archive.
    let plain = ["--sort=name", "--owner=0", "--group=0", "--numeric-owner", "--mtime=2000-01-01", "-czf"];
    quiet(Command::new("tar").current_dir(&dist).args(plain).arg(&archive).arg(&name))?;
    let megabytes = fs::metadata(&archive)?.len() as f64 / 1e6;
    println!("dist: {} ({megabytes:.1} MB)", archive.display());
    match &options.try_in {
        Some(root) => try_in(root, &archive, &name),
        None => Ok(()),
    }
}

/// Copies a file, or the files of a folder that git knows.
fn copy_known(from: &Path, to: &Path) -> Result<()> {
    let listed = quiet(Command::new("git").args(["ls-files", "-z", "--cached"]).arg(from))?;
    let files: Vec<&str> = listed.split('\0').filter(|path| !path.is_empty()).collect();
    ensure!(!files.is_empty(), "git knows no {}", from.display());
    for file in files {
        let below = Path::new(file).strip_prefix(from)?;
        let to = if below.as_os_str().is_empty() { to.to_path_buf() } else { to.join(below) };
        fs::create_dir_all(to.parent().context("a file has a folder")?)?;
        fs::copy(file, &to).with_context(|| format!("cannot copy {file}"))?;
    }
    Ok(())
}

fn copy_all(from: &Path, to: &Path) -> Result<()> {
    fs::create_dir_all(to)?;
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let to = to.join(entry.file_name());
        if entry.path().is_dir() {
            copy_all(&entry.path(), &to)?;
        } else {
            fs::copy(entry.path(), to)?;
        }
    }
    Ok(())
}

/// Uses the release where only a compiler for RISC-V is installed.
fn try_in(root: &Path, archive: &Path, name: &str) -> Result<()> {
    if !root.exists() {
        println!("dist: making a Debian in {} (some minutes)", root.display());
        let packages = "--include=gcc-riscv64-unknown-elf";
        quiet(Command::new("debootstrap").args(["--variant=minbase", packages, "bookworm"]).arg(root))?;
    }
    let inside = |script: &str| {
        let mut command = Command::new("chroot");
        command.arg(root).args(["/usr/bin/env", "-i", "PATH=/usr/bin:/bin", "HOME=/nonexistent", "sh", "-ec", script]);
        command
    };
    for tool in ["verilator", "g++", "c++", "cargo"] {
        ensure!(
            quiet(&mut inside(&format!("command -v {tool}"))).is_err(),
            "{tool} is installed in {}",
            root.display()
        );
    }
    fs::copy(archive, root.join("release.tar.gz")).context("cannot copy the release")?;
    quiet(&mut inside("rm -rf /release && mkdir /release && tar -xzf /release.tar.gz -C /release"))?;
    let example = "examples/handlers/icmp_echo.c";
    for words in [
        "--version".to_owned(),
        format!("build {example} --output /tmp/icmp_echo.elf"),
        format!("run {example} --pcap examples/kernel.pcap --match icmp --out /tmp/answers.pcap"),
        "run /tmp/icmp_echo.elf --pcap examples/kernel.pcap --match icmp --vcd /tmp/wave.vcd".to_owned(),
    ] {
        let start = Instant::now();
        let output = quiet(&mut inside(&format!("cd /release/{name} && bin/spindle {words}")))?;
        println!("{output}dist: `spindle {words}`: {:.1} s", start.elapsed().as_secs_f64());
    }
    Ok(())
}
