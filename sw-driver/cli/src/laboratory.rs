//! Commands that other programs of the project carry out: `demo`, `report` and `compat` of `spindle-lab`,
//! `spindle-hart`, `spindle-use-cases`, and `spindle-network`.

use anyhow::{bail, Context, Result};
use std::ffi::OsString;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

/// Arguments that go to the other program as they are.
#[derive(clap::Args)]
#[command(disable_help_flag = true)]
pub struct Passed {
    /// Arguments of the command; `--help` lists them.
    #[arg(trailing_var_arg = true, allow_hyphen_values = true, value_name = "ARGUMENTS")]
    arguments: Vec<OsString>,
}

/// Starts `program` with the words `first` and the user's arguments; its exit status is ours.
///
/// # Errors
/// The program is not installed beside this one, and this one was not built in a checkout.
pub fn start(program: &str, first: &[&str], passed: &Passed) -> Result<ExitCode> {
    let mut command = command(program)?;
    let status = command.args(first).args(&passed.arguments).status();
    let status = status.with_context(|| format!("cannot start {}", command.get_program().to_string_lossy()))?;
    Ok(status.code().and_then(|code| u8::try_from(code).ok()).map_or(ExitCode::FAILURE, ExitCode::from))
}

/// Becomes `program`, with the user's arguments: signals of a launcher such as `mpirun` then reach the program itself.
///
/// # Errors
/// As of [`start`]; it returns in no other case.
pub fn replace(program: &str, passed: &Passed) -> Result<ExitCode> {
    let mut command = command(program)?;
    let error = command.args(&passed.arguments).exec();
    Err(error).with_context(|| format!("cannot start {}", command.get_program().to_string_lossy()))
}

/// The program beside this one; in a checkout, cargo builds the program first.
fn command(program: &str) -> Result<Command> {
    let own = std::env::current_exe().context("cannot find the folder of this program")?;
    let folder = own.parent().unwrap_or(Path::new("."));
    let beside = folder.join(format!("{program}{}", std::env::consts::EXE_SUFFIX));
    if beside.is_file() {
        return Ok(Command::new(beside));
    }
    let Some(manifest) = checkout(folder) else {
        bail!(
            "{program} is not installed; put it into {}, or run `cargo build --release` in a checkout",
            folder.display()
        );
    };
    let mut cargo = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    cargo.args(["run", "--quiet", "--package", program, "--manifest-path"]).arg(manifest).arg("--");
    Ok(cargo)
}

/// The manifest of the checkout in whose target folder this program lies.
fn checkout(folder: &Path) -> Option<PathBuf> {
    let manifests = folder.ancestors().map(|folder| folder.join("Cargo.toml"));
    let of_lab = |manifest: &PathBuf| manifest.with_file_name("testbench/lab/Cargo.toml").is_file();
    manifests.into_iter().find(of_lab)
}
