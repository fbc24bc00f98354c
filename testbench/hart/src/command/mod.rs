//! `spindle hart`: one handler processor with its memories, for programs that are no handlers.
//!
//! A program starts at its entry point with the registers of a handler. It ends by a store to `tohost`, as the public
//! instruction tests do, by returning, by a fault, or at the limit of cycles.

mod memory;
mod program;
mod signature;

pub use memory::load;

use crate::{Ending, Hart, Start, Timing};
use anyhow::{bail, Context, Result};
use clap::builder::NonEmptyStringValueParser;
use memory::{Bench, PACKET, SCRATCH};
use program::Program;
use signature::Output;
use spindle_contract::memory_map::{self as map, FAULT_WATCHDOG, WATCHDOG_MOST};
use spindle_contract::params::Config;
use spindle_harness::{Model, Progress, Source};
use spindle_sim::instructions::{Disassembly, Tracer};
use std::path::PathBuf;
use std::process::ExitCode;

/// Exit status if there is no result of the program: it was refused, it faulted, or it did not end. Programs like `env` and
/// `timeout` use the same.
const NO_RESULT: u8 = 125;
/// Cycles after the store to `tohost` in which older stores arrive in their memories, with any delays.
const DRAIN: u64 = 1000;

/// Arguments of `spindle hart`.
#[derive(clap::Args)]
#[command(after_help = memory::help(), after_long_help = format!("{}\n\n{}", memory::help(), EXIT_STATUS))]
pub struct HartArguments {
    /// A linked 32-bit RISC-V program (ELF).
    program: PathBuf,
    /// First instruction: a symbol or an address [default: the ELF file's entry point].
    #[arg(long, value_name = "PLACE", value_parser = NonEmptyStringValueParser::new())]
    entry: Option<String>,
    /// Address of the result: a store of 1 ends the program with success, a store of 2 x CODE + 1 with exit status CODE. A
    /// symbol or an address [default: the symbol `tohost`, if the program has it].
    #[arg(long, value_name = "PLACE", value_parser = NonEmptyStringValueParser::new())]
    tohost: Option<String>,
    /// After the program has ended, write the memory from BEGIN up to END to FILE, in the format of the RISC-V architecture
    /// tests: one word per line, in hexadecimal. BEGIN and END are symbols or addresses.
    #[arg(long, num_args = 3, value_names = ["BEGIN", "END", "FILE"], value_parser = NonEmptyStringValueParser::new())]
    signature: Option<Vec<String>>,
    /// Bytes in a line of the signature.
    #[arg(long, value_name = "BYTES", default_value_t = 4, requires = "signature", value_parser = clap::value_parser!(u8).range(1..=64))]
    signature_granularity: u8,
    /// After the program has ended, write the bytes from BEGIN up to END to FILE as they are, or to standard output in
    /// hexadecimal if FILE is `-`. May be given several times.
    #[arg(
        long,
        num_args = 3,
        value_names = ["BEGIN", "END", "FILE"],
        value_parser = NonEmptyStringValueParser::new(),
        action = clap::ArgAction::Append
    )]
    dump: Vec<String>,
    /// Write a line for each instruction that retires.
    #[arg(long, value_name = "FILE")]
    trace: Option<PathBuf>,
    /// Random delays in memories and answers, from this seed [default: every memory answers as in an idle cluster].
    #[arg(long, value_name = "SEED")]
    delays: Option<u64>,
    /// Give up after so many cycles.
    #[arg(
        long,
        value_name = "CYCLES",
        default_value_t = 10_000_000,
        value_parser = clap::value_parser!(u32).range(1..=i64::from(WATCHDOG_MOST))
    )]
    limit: u32,
}

const EXIT_STATUS: &str = "\
Exit status:
  CODE  the program stored 2 x CODE + 1 to tohost (1 is success, so 0), or returned CODE in a0[7:0]; 255 for a larger CODE
  125   no result: the program cannot be loaded, faulted, or did not end within the limit
  2     the command line is wrong";

/// The processor of `config` on its bench, with everything that a seed decides from `seed`.
pub fn open(config: &Config, seed: u64) -> Result<Hart> {
    let design = spindle_nic::emit_hpu(config).context("cannot emit the handler processor")?;
    let library = Model::build_with(&Source::from(design), &Progress::stderr("spindle"))?;
    Hart::new(library.instance_with_seed(seed), seed, 0)
}

/// Runs a program; its result is the exit status.
pub fn hart(arguments: &HartArguments) -> ExitCode {
    match run(arguments) {
        Ok(status) => status.into(),
        Err(error) => {
            eprintln!("spindle: {error:#}");
            NO_RESULT.into()
        }
    }
}

/// How a program ended.
enum Outcome {
    /// It stored this to `tohost`.
    Stored(u32),
    /// It returned or faulted, or its budget is used up.
    Ended(Ending),
}

fn run(arguments: &HartArguments) -> Result<u8> {
    let name = arguments.program.display();
    let file = std::fs::read(&arguments.program).with_context(|| format!("cannot read {name}"))?;
    let program = Program::parse(&file).with_context(|| format!("{name} cannot run"))?;
    memory::check(program.elf(), SCRATCH).with_context(|| format!("{name} cannot be loaded"))?;
    let entry = program.entry(arguments.entry.as_deref())?;
    let tohost = program.tohost(arguments.tohost.as_deref())?;
    let outputs = outputs(arguments, &program)?;
    let disassembly = arguments.trace.as_ref().map(|_| Disassembly::of(&file)).transpose()?;
    let mut tracer = match (disassembly, &arguments.trace) {
        (Some(disassembly), Some(path)) => Some(Tracer::create(path, disassembly, 1)?),
        _ => None,
    };

    let mut hart = open(&Config::SIM, arguments.delays.unwrap_or(1))?;
    if arguments.delays.is_some() {
        hart.timing = Timing::BUSY;
    }
    load(&mut hart, program.elf(), SCRATCH)?;
    hart.queue(Start {
        entry,
        code_size: 4 * hart.code.len() as u32,
        watchdog: arguments.limit,
        packet: PACKET,
        scratch: SCRATCH,
        state: (0, hart.l2.len() as u32),
        ..Start::default()
    });
    let outcome = simulate(&mut hart, tohost, tracer.as_mut());
    if let (Some(tracer), Some(path)) = (tracer, &arguments.trace) {
        eprintln!("spindle: {} instructions in {}", tracer.finish(None)?, path.display());
    }
    let (cycles, instructions) = (hart.busy_cycles, hart.instructions);
    println!(
        "{cycles} cycles, {instructions} instructions, {:.2} cycles per instruction",
        cycles as f64 / instructions.max(1) as f64
    );
    if matches!(outcome, Outcome::Stored(_)) {
        hart.keep_retired = false;
        hart.steps(DRAIN);
    }
    let bench = Bench::of(&hart);
    for output in outputs {
        output.write(&bench)?;
    }
    match outcome {
        Outcome::Stored(1) => {
            println!("passed");
            Ok(0)
        }
        Outcome::Stored(value) if value & 1 == 1 => {
            println!("failed: test {}", value >> 1);
            Ok(u8::try_from(value >> 1).unwrap_or(u8::MAX))
        }
        Outcome::Stored(value) => bail!(
            "{name} stored {value:#x} to tohost, which is no result: \
             1 is success, 2 x CODE + 1 a failure; there are no system calls of a host"
        ),
        Outcome::Ended(ending) if ending.cause == 0 => {
            println!("returned {}", ending.code);
            Ok(ending.code)
        }
        Outcome::Ended(ending) if ending.cause == FAULT_WATCHDOG => bail!(
            "{name} has not ended after {} cycles, at {}; give it more by --limit (at most {WATCHDOG_MOST})",
            arguments.limit,
            program.place(ending.pc)
        ),
        Outcome::Ended(ending) => {
            let cause =
                map::FAULTS.iter().find(|fault| fault.1 == ending.cause).map_or("unknown fault", |fault| fault.2);
            bail!("{name} faulted: {cause}; pc {}, address {:#010x}", program.place(ending.pc), ending.address)
        }
    }
}

/// Runs to the end or the store to `tohost`.
fn simulate(hart: &mut Hart, tohost: Option<u32>, mut tracer: Option<&mut Tracer>) -> Outcome {
    loop {
        hart.step();
        for retired in std::mem::take(&mut hart.retired) {
            if let Some(tracer) = &mut tracer {
                tracer.retired(&retired);
            }
            let stored = retired.store().filter(|store| Some(store.address) == tohost && store.data != 0);
            if let Some(store) = stored {
                return Outcome::Stored(store.data);
            }
        }
        if let Some(ending) = hart.endings.first() {
            return Outcome::Ended(*ending);
        }
    }
}

/// Everything that is to be written after the end, with its files already there: a file that cannot be written is no
/// surprise after minutes.
fn outputs(arguments: &HartArguments, program: &Program) -> Result<Vec<Output>> {
    let range = |words: &[String]| program.range(&words[0], &words[1]);
    let mut outputs = vec![];
    if let Some(words) = &arguments.signature {
        let range = range(words).context("--signature")?;
        outputs.push(Output::signature(range, words[2].as_ref(), arguments.signature_granularity.into())?);
    }
    for words in arguments.dump.chunks_exact(3) {
        outputs.push(Output::dump(range(words).context("--dump")?, words[2].as_ref())?);
    }
    Ok(outputs)
}
