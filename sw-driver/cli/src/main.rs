//! The `spindle` command: builds handlers, runs them on the cycle-accurate NIC, exports the NIC as Verilog.

use clap::{CommandFactory, Parser, Subcommand};
use spindle_cli::laboratory::{self, Passed};
use spindle_cli::sentence::sentence;
use spindle_cli::{build, card, generate, info, netdev};
#[cfg(feature = "sim")]
use spindle_cli::{export, run, serve};
use std::process::ExitCode;

#[derive(Parser)]
#[command(name = "spindle", version, about = "An FPGA SmartNIC with sPIN handlers and RVMA mailboxes.")]
struct Arguments {
    /// Card for commands that use one: 0000:65:00.0, sysfs:0000:65:00.0 or unix:/run/spindle/nic0.sock [default: that of
    /// the variable SPINDLE_CARD, else the only card].
    #[arg(long, global = true, value_name = "ADDRESS")]
    card: Option<String>,
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Compile and load a handler, play a capture into the NIC, report the fate of every packet.
    #[cfg(feature = "sim")]
    Run(Box<run::RunArguments>),
    /// Write the NIC as SystemVerilog with a file list and the parameter sheet, or the project of a board for Vivado.
    #[cfg(feature = "sim")]
    Export(export::ExportArguments),
    /// Serve the simulated NIC as a PCI function to other programs, over vfio-user.
    #[cfg(feature = "sim")]
    Serve(serve::ServeArguments),
    /// Have a served card record a wave.
    #[cfg(feature = "sim")]
    Wave(serve::WaveArguments),
    /// Make a card a network interface of Linux, over TAP.
    Netdev(netdev::NetdevArguments),
    /// Play real traffic and a put through the NIC, compare every byte, show the latency of every stage.
    Demo(Passed),
    /// Compile a handler to an ELF image; report its size and its stack.
    Build(build::BuildArguments),
    /// Compile the examples of a PsPIN or FPsPIN checkout as they are, run them on the simulated NIC and judge their results.
    Compat(Passed),
    /// Run any RISC-V program on one handler processor, outside the NIC: instruction tests, benchmarks.
    Hart(Passed),
    /// Measure cycles, throughput, size and speed of the emitted NIC.
    Report(Passed),
    /// Run a use case of the papers against its baselines, and draw its figure: `list` shows all.
    UseCase(Passed),
    /// Simulate a network of NICs cycle by cycle, on ns-3, as a study says; `mpirun -n N spindle network` does it in N processes.
    Network(Passed),
    /// Show a card, if --card or SPINDLE_CARD names one; else list the configurations, the fields of the rule language and the
    /// drop reasons.
    Info(info::InfoArguments),
    /// Refused: the flash of a card is written over JTAG, by the scripts of `spindle export --board`.
    Flash {
        /// The image.
        image: Option<std::path::PathBuf>,
    },
    /// List the handlers that come with this program.
    Handlers,
    #[command(flatten)]
    Card(card::CardCommand),
    /// Print the completions of a shell: `spindle completions bash > /usr/share/bash-completion/completions/spindle`.
    Completions {
        /// The shell.
        shell: clap_complete::Shell,
    },
    /// Write a man page for each command into a folder.
    Man {
        /// The folder.
        folder: std::path::PathBuf,
    },
}

/// Why there is no `spindle flash` yet.
const FLASH: &str = "a card cannot write its own flash yet; write it over JTAG with flash.tcl, which \
                     `spindle export --board BOARD --out DIR` puts into DIR";

/// Exit status of a wrong use of the command line, as of clap.
const USAGE: u8 = 2;

impl Command {
    /// Whether `--card` means something for the command.
    fn uses_card(&self) -> bool {
        #[cfg(feature = "sim")]
        if matches!(self, Command::Wave(_)) {
            return true;
        }
        matches!(self, Command::Netdev(_) | Command::Info(_) | Command::Flash { .. } | Command::Card(_))
    }
}

fn main() -> ExitCode {
    env_logger::Builder::from_env(env_logger::Env::default().default_filter_or("info")).init();
    let Arguments { card, command } = Arguments::parse();
    let card = card.as_deref();
    if card.is_some() && !command.uses_card() {
        eprintln!("spindle: this command uses no card; leave --card out");
        return ExitCode::from(USAGE);
    }
    let result = match command {
        #[cfg(feature = "sim")]
        Command::Run(arguments) => run::run(&arguments).map(|()| ExitCode::SUCCESS),
        #[cfg(feature = "sim")]
        Command::Export(arguments) => export::export(&arguments).map(|()| ExitCode::SUCCESS),
        #[cfg(feature = "sim")]
        Command::Serve(arguments) => serve::serve(&arguments).map(|()| ExitCode::SUCCESS),
        #[cfg(feature = "sim")]
        Command::Wave(arguments) => serve::wave(&arguments, card).map(|()| ExitCode::SUCCESS),
        Command::Netdev(arguments) => netdev::command(&arguments, card).map(|()| ExitCode::SUCCESS),
        Command::Demo(passed) => laboratory::start("spindle-lab", &["demo"], &passed),
        Command::Build(arguments) => build::build(&arguments).map(|()| ExitCode::SUCCESS),
        Command::Compat(passed) => laboratory::start("spindle-lab", &["compat"], &passed),
        Command::Hart(passed) => laboratory::start("spindle-hart", &[], &passed),
        Command::Report(passed) => laboratory::start("spindle-lab", &["report"], &passed),
        Command::UseCase(passed) => laboratory::start("spindle-use-cases", &[], &passed),
        Command::Network(passed) => laboratory::replace("spindle-network", &passed),
        Command::Info(arguments) => info::info(&arguments, card).map(|()| ExitCode::SUCCESS),
        Command::Flash { .. } => Err(anyhow::anyhow!(FLASH)),
        Command::Handlers => info::handlers().map(|()| ExitCode::SUCCESS),
        Command::Card(command) => command.run(card).map(|()| ExitCode::SUCCESS),
        Command::Completions { shell } => {
            generate::completions(shell, Arguments::command()).map(|()| ExitCode::SUCCESS)
        }
        Command::Man { folder } => generate::man(&folder, Arguments::command()).map(|()| ExitCode::SUCCESS),
    };
    match result {
        Ok(status) => status,
        Err(error) => {
            eprintln!("spindle: {}", sentence(&error));
            failure(&error)
        }
    }
}

/// The exit status of an error: a run that a signal ended has the status that shells give it.
fn failure(error: &anyhow::Error) -> ExitCode {
    #[cfg(feature = "sim")]
    if let Some(ended) = error.downcast_ref::<run::Interrupted>() {
        return ended.status().into();
    }
    let _ = error;
    ExitCode::FAILURE
}
