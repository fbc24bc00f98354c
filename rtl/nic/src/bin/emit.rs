//! `emit`: the SystemVerilog of the NIC or of its blocks, for the tools that take Verilog.

use clap::{Parser, ValueEnum};
use spindle_contract::params::Config;
use spindle_nic::ExportError;
use std::path::PathBuf;
use std::process::ExitCode;

/// Writes the SystemVerilog of the NIC.
#[derive(Parser)]
struct Arguments {
    /// Configuration: sim, kintex7, alveo or alveo32.
    #[arg(long, default_value = "alveo", value_parser = config)]
    config: Config,
    /// Folder to write to.
    #[arg(long, value_name = "DIR")]
    out: PathBuf,
    /// What to write.
    #[arg(long, value_enum, default_value_t = What::Nic)]
    what: What,
}

#[derive(Clone, Copy, PartialEq, ValueEnum)]
enum What {
    /// The NIC with its parameter sheet.
    Nic,
    /// Each separately synthesised block, in a folder of its own.
    Blocks,
    /// Blocks, and the NIC in the folder `nic` beside them.
    All,
    /// One handler processor with its retirement port (RVFI).
    Processor,
}

fn config(name: &str) -> Result<Config, String> {
    Config::by_name(name).ok_or_else(|| {
        let names: Vec<_> = Config::ALL.iter().map(|config| config.name).collect();
        format!("there is no such configuration; there are {}", names.join(", "))
    })
}

fn run(arguments: &Arguments) -> Result<(), ExportError> {
    let Arguments { config, out, what } = arguments;
    if matches!(what, What::Blocks | What::All) {
        for (folder, design) in spindle_nic::export_blocks(config, out)? {
            println!("{}: {} modules", folder.display(), design.module_count());
        }
    }
    let (folder, design) = match what {
        What::Blocks => return Ok(()),
        What::Nic => (out.clone(), spindle_nic::export(config, out)?),
        What::All => (out.join("nic"), spindle_nic::export(config, &out.join("nic"))?),
        What::Processor => (out.clone(), spindle_nic::export_processor(config, out)?),
    };
    println!("{}: {} modules, top {}", folder.display(), design.module_count(), design.top);
    Ok(())
}

fn main() -> ExitCode {
    match run(&Arguments::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}
