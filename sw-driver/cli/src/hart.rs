//! `spindle hart`: one handler processor with its memories, for programs that are no handlers.
//!
//! Sections are loaded where their addresses say: code region, packet region, scratchpad, context memory. The program starts at its entry point with
//! the registers of a handler and ends by returning, by a fault, or by a store to `--tohost`, as the public instruction tests do.

use crate::session::elaborate;
use crate::trace::{Disassembly, Tracer};
use anyhow::{anyhow, bail, ensure, Context, Result};
use object::elf::SHF_ALLOC;
use object::{Object, ObjectSection, ObjectSymbol, SectionFlags};
use spindle_contract::memory_map::{self as map, base, REGION_SHIFT, WATCHDOG_MOST};
use spindle_contract::params::{Config, L1_SCRATCH_BASE, L1_STACK_BASE};
use spindle_harness::{Model, Progress, Source};
use spindle_sim::hart::{Hart, Start, Timing};
use std::path::PathBuf;

/// L1 address and bytes of the scratchpad on the bench.
const SCRATCH: (u32, u32) = (L1_SCRATCH_BASE as u32, 0x2000);
/// The packet slots, as one region.
const PACKET: (u32, u32) = (0, L1_STACK_BASE as u32);

/// Arguments of `spindle hart`.
#[derive(clap::Args)]
pub struct HartArguments {
    /// A linked 32-bit RISC-V program.
    program: PathBuf,
    /// First instruction: a symbol or an address; else the ELF file's entry point.
    #[arg(long, value_name = "PLACE")]
    entry: Option<String>,
    /// A store of anything but 0 there ends the program: 1 = passed, else 2 x the number of the failed test + 1. A symbol or an address.
    #[arg(long, value_name = "PLACE")]
    tohost: Option<String>,
    /// Write a line for each instruction that retires.
    #[arg(long, value_name = "FILE")]
    trace: Option<PathBuf>,
    /// Random delays in memories and answers, from this seed; else everything answers as in an idle cluster.
    #[arg(long)]
    delays: Option<u64>,
    /// Give up after so many cycles.
    #[arg(long, default_value_t = 10_000_000, value_parser = clap::value_parser!(u32).range(1..=i64::from(WATCHDOG_MOST)))]
    limit: u32,
}

/// The processor of `config` on its bench, with everything that a seed decides from `seed`.
pub fn open(config: &Config, seed: u64) -> Result<Hart> {
    let design = elaborate(|| spindle_nic::emit_hpu(config)).context("cannot emit the handler processor")?;
    let source = Source::from_text(design.top.clone(), design.to_string());
    let library = Model::build_with(&source, &Progress::stderr("spindle"))?;
    Hart::new(library.instance_with_seed(seed), seed, 0)
}

/// Runs a program.
pub fn hart(arguments: &HartArguments) -> Result<()> {
    let name = arguments.program.display();
    let file = std::fs::read(&arguments.program).with_context(|| format!("cannot read {name}"))?;
    let elf = object::File::parse(&*file).with_context(|| format!("{name} is no ELF file; give a linked program"))?;
    ensure!(
        elf.architecture() == object::Architecture::Riscv32,
        "{name} is not for 32-bit RISC-V; build it with -march=rv32ima_zicsr_zba_zbb_zbs -mabi=ilp32"
    );
    let entry = match &arguments.entry {
        Some(place) => address(&elf, place)?,
        None => elf.entry() as u32,
    };
    let tohost = arguments.tohost.as_ref().map(|place| address(&elf, place)).transpose()?;

    let mut hart = open(&Config::SIM, arguments.delays.unwrap_or(1))?;
    if arguments.delays.is_some() {
        hart.timing = Timing::BUSY;
    }
    load(&mut hart, &elf, SCRATCH)?;
    let mut tracer = match &arguments.trace {
        Some(path) => Some(Tracer::create(path, Disassembly::of(&file)?, 1)?),
        None => None,
    };
    let state = (0, hart.l2.len() as u32);
    let code_size = 4 * hart.code.len() as u32;
    hart.queue(Start {
        entry,
        code_size,
        watchdog: arguments.limit,
        packet: PACKET,
        scratch: SCRATCH,
        state,
        ..Start::default()
    });

    let mut told = None;
    while hart.endings.is_empty() && told.is_none() {
        ensure!(
            hart.model.cycle() < u64::from(arguments.limit) + 10_000,
            "{name} has not ended after {} cycles",
            arguments.limit
        );
        hart.step();
        for retired in std::mem::take(&mut hart.retired) {
            if tohost == Some(retired.address) && retired.write_mask != 0 && retired.written != 0 {
                told = Some(retired.written);
            }
            if let Some(tracer) = &mut tracer {
                tracer.retired(&retired);
            }
        }
    }
    if let (Some(tracer), Some(path)) = (tracer, &arguments.trace) {
        eprintln!("spindle: {} instructions in {}", tracer.finish(None)?, path.display());
    }
    let (cycles, instructions) = (hart.busy_cycles, hart.instructions);
    println!(
        "{cycles} cycles, {instructions} instructions, {:.2} cycles per instruction",
        cycles as f64 / instructions.max(1) as f64
    );
    match (told, hart.endings.first()) {
        (Some(1), _) => println!("passed"),
        (Some(value), _) if value & 1 == 1 => bail!("test {} of {name} failed", value >> 1),
        (Some(value), _) => bail!("{name} told {value:#x}, which is no result: 1 = passed, 2 x test + 1 = failed"),
        (None, Some(ending)) if ending.cause == 0 => println!("returned {}", ending.code),
        (None, Some(ending)) => {
            let cause =
                map::FAULTS.iter().find(|fault| fault.1 == ending.cause).map_or("unknown fault", |fault| fault.2);
            bail!("{name} faulted: {cause}; pc {:#010x}, address {:#010x}", ending.pc, ending.address)
        }
        (None, None) => unreachable!("the loop ends with one of them"),
    }
    Ok(())
}

/// A number, or the address of a symbol.
fn address(elf: &object::File, place: &str) -> Result<u32> {
    let digits = place.strip_prefix("0x");
    if let Ok(address) = digits.map_or_else(|| place.parse(), |digits| u32::from_str_radix(digits, 16)) {
        return Ok(address);
    }
    let symbol = elf.symbols().find(|symbol| symbol.name() == Ok(place));
    let symbol =
        symbol.ok_or_else(|| anyhow!("the program has no symbol `{place}`; give one that it has, or an address"))?;
    Ok(symbol.address() as u32)
}

/// Puts every section that a program has in memory into its region. Not the segments: linkers put the file's own header into the first one, in front of
/// the code. `scratch`: L1 address and bytes of what is linked to the scratchpad.
pub fn load(hart: &mut Hart, elf: &object::File, scratch: (u32, u32)) -> Result<()> {
    for section in elf.sections() {
        let SectionFlags::Elf { sh_flags } = section.flags() else { continue };
        let (start, data) = (section.address() as u32, section.data()?);
        if sh_flags & u64::from(SHF_ALLOC) == 0 || data.is_empty() {
            continue;
        }
        let (region, offset) = (start >> REGION_SHIFT, (start & ((1 << REGION_SHIFT) - 1)) as usize);
        let memory = match region {
            map::CODE => {
                ensure!(offset % 4 == 0, "the section at {start:#010x} does not begin at a multiple of 4");
                let limit = 4 * hart.code.len();
                ensure!(offset + data.len() <= limit, "the code ends behind the {limit} bytes of instruction memory");
                let words: Vec<u32> = data
                    .chunks(4)
                    .map(|bytes| {
                        let mut word = [0; 4];
                        word[..bytes.len()].copy_from_slice(bytes);
                        u32::from_le_bytes(word)
                    })
                    .collect();
                hart.program(offset, &words);
                continue;
            }
            map::PACKET => &mut hart.l1[PACKET.0 as usize..][..PACKET.1 as usize],
            map::SCRATCH => &mut hart.l1[scratch.0 as usize..][..scratch.1 as usize],
            map::CONTEXT => &mut hart.l2[..],
            _ => bail!(
                "there is no memory to load at {start:#010x}; link code at {:#x}, data at {:#x} (packet), {:#x} (scratch) or {:#x} (context)",
                base(map::CODE),
                base(map::PACKET),
                base(map::SCRATCH),
                base(map::CONTEXT)
            ),
        };
        let limit = memory.len();
        let place = memory.get_mut(offset..offset + data.len());
        place
            .ok_or_else(|| anyhow!("the section at {start:#010x} ends behind the {limit} bytes of its region"))?
            .copy_from_slice(data);
    }
    Ok(())
}
