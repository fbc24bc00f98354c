//! The `spindle` command: runs handlers on the cycle-accurate NIC, exports the NIC as Verilog, demonstrates and measures it.

mod build;
mod check;
mod compat;
mod demo;
#[cfg(test)]
mod examples;
mod export;
mod fate_file;
mod fates;
mod fpspin_host;
mod hart;
mod info;
mod judge;
mod konata;
mod message_field;
mod pictures;
mod play;
mod prints;
mod report;
mod run;
mod sdk;
mod session;
mod source_lines;
mod stack;
mod summary;
mod table;
mod toolchain;
mod trace;
mod unseen;
mod waves;

use clap::{Parser, Subcommand};
use std::process::ExitCode;

#[derive(Parser)]
#[command(
    name = "spindle",
    version,
    about = "An FPGA SmartNIC with sPIN handlers and RVMA mailboxes, simulated cycle by cycle."
)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Compile and load a handler, play a capture into the NIC, report what became of every packet.
    Run(Box<run::RunArguments>),
    /// Write the NIC as SystemVerilog with a file list and the parameter sheet.
    Export(export::ExportArguments),
    /// Play real traffic and a put through the NIC, compare every byte, show the latency of every stage.
    Demo(demo::DemoArguments),
    /// Compile a handler to an ELF image; report its size and its stack.
    Build(build::BuildArguments),
    /// Compile the examples of a PsPIN or FPsPIN checkout as they are, run them on the simulated NIC and judge what they do.
    Compat(compat::CompatArguments),
    /// Run any RISC-V program on one handler processor, outside the NIC: instruction tests, benchmarks.
    Hart(hart::HartArguments),
    /// Measure cycles, throughput, size and speed of the emitted NIC.
    Report(report::ReportArguments),
    /// List the configurations, the fields of the rule language and the drop reasons.
    Info,
    /// List the handlers that come with this program.
    Handlers,
}

fn main() -> ExitCode {
    let result = match Arguments::parse().command {
        Command::Run(arguments) => run::run(&arguments),
        Command::Export(arguments) => export::export(&arguments),
        Command::Demo(arguments) => demo::demo(&arguments),
        Command::Build(arguments) => build::build(&arguments),
        Command::Compat(arguments) => compat::compat(&arguments),
        // Its exit status is the program's.
        Command::Hart(arguments) => return hart::hart(&arguments),
        Command::Report(arguments) => report::report(&arguments),
        Command::Info => info::info(),
        Command::Handlers => info::handlers(),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("spindle: {error:#}");
            error.downcast_ref::<run::Interrupted>().map_or(ExitCode::FAILURE, |ended| ended.status().into())
        }
    }
}
