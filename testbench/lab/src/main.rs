//! `spindle-lab`: the commands `demo`, `report`, `compat` and `soak`.

#[cfg(test)]
#[macro_use(assert_eq)]
extern crate spindle_testing;

mod compat;
mod demo;
#[cfg(test)]
mod examples;
mod judge;
mod report;
mod served;
mod soak;

use clap::{Parser, Subcommand};
use std::process::ExitCode;

#[derive(Parser)]
#[command(name = "spindle", version, about = "Demonstrates and measures the emitted NIC.")]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Play real traffic and a put through the NIC, compare every byte, show the latency of every stage.
    Demo(demo::DemoArguments),
    /// Compile the examples of a PsPIN or FPsPIN checkout as they are, run them on the simulated NIC and judge their results.
    Compat(compat::CompatArguments),
    /// Measure cycles, throughput, size and speed of the emitted NIC.
    Report(report::ReportArguments),
    /// Run random traffic, configuration and faults on the whole NIC, and check it every million cycles.
    Soak(soak::SoakArguments),
}

fn main() -> ExitCode {
    let result = match Arguments::parse().command {
        Command::Demo(arguments) => demo::demo(&arguments),
        Command::Compat(arguments) => compat::compat(&arguments),
        Command::Report(arguments) => report::report(&arguments),
        Command::Soak(arguments) => soak::soak(&arguments),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("spindle: {error:#}");
            ExitCode::FAILURE
        }
    }
}
