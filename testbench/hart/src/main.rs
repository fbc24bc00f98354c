//! `spindle-hart`: any RISC-V program on one handler processor, outside the NIC.

use clap::Parser;
use spindle_hart::command::{hart, HartArguments};
use std::process::ExitCode;

/// Run any RISC-V program on one handler processor, outside the NIC: instruction tests, benchmarks.
#[derive(Parser)]
#[command(name = "spindle hart", version)]
struct Arguments {
    #[command(flatten)]
    hart: HartArguments,
}

fn main() -> ExitCode {
    hart(&Arguments::parse().hart)
}
