//! `python`: the Python module of the driver: its wheel, and its tests with served and simulated cards.

use crate::process::{quiet, target_folder, venv_program, visible};
use crate::{install, setup};
use anyhow::{ensure, Context, Result};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The module's crate.
const CRATE: &str = "sw-driver/python";

/// Arguments of `python`.
#[derive(clap::Args)]
pub struct Options {
    /// Build the optimised wheel in target/wheels, and nothing else.
    #[arg(long)]
    wheel: bool,
}

/// Builds the wheel, or builds, installs and tests the module.
pub fn run(options: &Options) -> Result<()> {
    setup::run(&setup::Options { no_network: true, ..Default::default() })?;
    if options.wheel {
        let wheel = build(&target_folder().join("wheels"), &["--release"])?;
        println!("python: pip install {}", wheel.display());
        return Ok(());
    }
    install::tree(false)?;
    visible(&mut pytest()?)
}

/// The tests, with the module installed in the checkout's environment, and with the programs and libraries of [`install::tree`].
pub fn pytest() -> Result<Command> {
    let wheel = build(&install::apart().join("wheels"), &[])?;
    let mut pip = Command::new(venv_program("python"));
    pip.args(["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--force-reinstall", "--no-deps"]);
    quiet(pip.arg(wheel))?;
    let installed = std::path::absolute(install::apart().join("root/usr"))?;
    let mut tests = Command::new(venv_program("python"));
    tests.args(["-m", "pytest", "-q", CRATE]);
    tests.env("SPINDLE_PROGRAMS", installed.join("bin")).env("LD_LIBRARY_PATH", installed.join("lib"));
    Ok(tests)
}

/// Builds a wheel into an empty folder.
fn build(folder: &Path, arguments: &[&str]) -> Result<PathBuf> {
    if folder.exists() {
        fs::remove_dir_all(folder).with_context(|| format!("cannot remove {}", folder.display()))?;
    }
    let mut maturin = Command::new(venv_program("maturin"));
    maturin.args(["build", "--quiet", "--locked", "--manifest-path"]).arg(Path::new(CRATE).join("Cargo.toml"));
    maturin.arg("--interpreter").arg(std::path::absolute(venv_program("python"))?);
    // Apart from other builds, as the libraries of an installation: the module needs `librvma` without its simulator.
    maturin.arg("--target-dir").arg(std::path::absolute(install::apart())?);
    visible(maturin.arg("--out").arg(folder).args(arguments))?;
    let mut wheels: Vec<PathBuf> =
        fs::read_dir(folder)?.map(|entry| Ok(entry?.path())).collect::<std::io::Result<_>>()?;
    ensure!(wheels.len() == 1, "maturin left {} files in {}, not one wheel", wheels.len(), folder.display());
    Ok(wheels.remove(0))
}
