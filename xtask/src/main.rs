//! `cargo xtask`: the few commands a newcomer needs. It depends on no crate of the project, its tests apart, and
//! starts them as processes, so that it works before anything else compiles.

#[cfg(test)]
#[macro_use(assert_eq)]
extern crate spindle_testing;

mod blocks;
mod boards;
mod book;
mod budgets;
mod cache;
mod compat;
mod dist;
mod figures;
mod fuzz;
mod independent;
mod install;
mod lint;
mod mutants;
mod netlist;
mod network;
mod nextpnr;
mod outputs;
mod pictures;
mod pnr;
mod process;
mod python;
mod report;
mod results;
mod rust_mutants;
mod same;
mod seeds;
mod setup;
mod skips;
mod soak;
mod studies;
mod synth;
mod test;
mod timing;
mod tree;
mod vm;
mod yosys;

use anyhow::Result;
use clap::{Parser, Subcommand};

#[derive(Parser)]
#[command(name = "cargo xtask", about = "Set-up, demo, test, synth, boards, pnr and report.")]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Install what the project needs; quick when everything is there.
    Setup(setup::Options),
    /// Set up, build and run the demonstration; arguments after `--` go to `spindle demo`.
    Demo {
        #[arg(last = true)]
        arguments: Vec<String>,
    },
    /// Run every check of the project and print one closing line.
    Test(test::Options),
    /// Synthesise the emitted Verilog and compare areas with the budgets.
    Synth(synth::Options),
    /// Estimate the period of each block from its mapped netlist, and compare it with the budgets.
    Timing(timing::Options),
    /// Check boards without Vivado: board files, scripts, clock crossings, constraints, and the areas of the shells.
    Boards(boards::Options),
    /// Place and route blocks on an ECP5-85k: the clock rates that open tools can measure.
    Pnr(pnr::Options),
    /// Compile the examples of a PsPIN or FPsPIN checkout as they are, run them on the simulated NIC and judge them.
    Compat(compat::Options),
    /// Build driver, command line, C library and SDK in a copy of the tree without test bench and hardware.
    Independent,
    /// Render the docs as a book in target/book and check its links.
    Book,
    /// Install programs, libraries and headers below a prefix.
    Install(install::Options),
    /// Build the Python module, install it in .venv and test it; or build its wheel.
    Python(python::Options),
    /// Pack a release in target/dist.
    Dist(dist::Options),
    /// Lint the emitted Verilog with Verilator, and the words, links and names of sources and docs.
    Lint(lint::Options),
    /// Compare the emitted Verilog with that of another commit, apart from the order of statements and from names.
    Same(same::Options),
    /// Measure, synthesise, place and route, and write target/report/report.json.
    Report(report::Options),
    /// Change the emitted Verilog of blocks in small ways and see which changes the tests notice.
    Mutants(mutants::Options),
    /// Change the Rust sources of contract, driver and back end in small ways and see which changes the tests notice.
    RustMutants(rust_mutants::Options),
    /// Give each parser of outside data many random cases, and fill the table of their numbers in docs/trust.md.
    Fuzz(fuzz::Options),
    /// Fill the figure tables of README and docs.
    Figures(figures::Options),
    /// Draw the pictures of README and docs.
    Pictures(pictures::Options),
    /// Run random traffic, configuration and faults on the whole NIC, and check it every million cycles.
    Soak(soak::Options),
    /// Run the studies of networks that have cases, and fill their tables in docs/scale.md (half an hour).
    Studies(studies::Options),
    /// Boot a stock Debian kernel in QEMU, and use the served NIC there through VFIO and sysfs. Fetches packages, without root.
    Vm(vm::Options),
}

fn main() -> std::process::ExitCode {
    let run = || -> Result<bool> {
        process::enter_checkout()?;
        process::choose_model_cache()?;
        match Arguments::parse().command {
            Command::Setup(options) => setup::run(&options).map(|()| true),
            Command::Demo { arguments } => {
                setup::run(&setup::Options { no_network: true, ..Default::default() })?;
                process::cargo(["run", "--quiet", "--package", "spindle-lab", "--", "demo"], &arguments).map(|()| true)
            }
            Command::Test(options) => test::run(&options),
            Command::Synth(options) => synth::run(&options),
            Command::Timing(options) => timing::run(&options),
            Command::Boards(options) => boards::run(&options),
            Command::Pnr(options) => pnr::run(&options),
            Command::Compat(options) => compat::run(&options).map(|()| true),
            Command::Independent => independent::run().map(|()| true),
            Command::Book => book::run().map(|_| true),
            Command::Install(options) => install::run(&options).map(|()| true),
            Command::Python(options) => python::run(&options).map(|()| true),
            Command::Dist(options) => dist::run(&options).map(|()| true),
            Command::Lint(options) => lint::run(&options),
            Command::Same(options) => same::run(&options),
            Command::Report(options) => report::run(&options),
            Command::Mutants(options) => mutants::run(&options),
            Command::RustMutants(options) => rust_mutants::run(&options),
            Command::Fuzz(options) => fuzz::run(&options),
            Command::Figures(options) => figures::run(&options),
            Command::Pictures(options) => pictures::run(&options),
            Command::Soak(options) => soak::run(&options).map(|()| true),
            Command::Studies(options) => studies::run(&options).map(|()| true),
            Command::Vm(options) => vm::run(&options),
        }
    };
    match run() {
        Ok(true) => std::process::ExitCode::SUCCESS,
        Ok(false) => std::process::ExitCode::FAILURE,
        Err(error) => {
            eprintln!("error: {error:#}");
            std::process::ExitCode::FAILURE
        }
    }
}
