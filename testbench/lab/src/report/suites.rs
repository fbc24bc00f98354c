//! Programs of the user on one handler processor: a folder with a `main`, CoreMark, or Embench, as their authors give them out.
//!
//! The functions that these suites ask of a platform are the SDK's (`bench/`); nothing of theirs is changed. Code lies
//! in instruction memory, everything else in L1. What a suite says is timed is measured; of a plain program, all of
//! `main`.

use anyhow::{bail, ensure, Context, Result};
use serde::Serialize;
use spindle_contract::memory_map::WATCHDOG_MOST;
use spindle_contract::params::L1_TASK_BASE;
use spindle_hart::kernels::Program;
use spindle_hart::load;
use spindle_hart::{Hart, Start, Timing};
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// L1 as one scratchpad, up to the task page.
const DATA: (u32, u32) = (0, L1_TASK_BASE as u32);
/// Where Debian's picolibc has the headers and, for a 32-bit processor, the libraries of C. Embench needs them.
const LIBC: &str = "/usr/lib/picolibc/riscv64-unknown-elf";
/// Loops as if for 1 MHz; there are no caches to warm up.
const EMBENCH: [&str; 3] = ["-DCPU_MHZ=1", "-DWARMUP_HEAT=0", "-DGLOBAL_SCALE_FACTOR=1"];

/// What a program took.
#[derive(Debug, Serialize)]
pub struct Score {
    cycles: u64,
    instructions: u64,
    cpi: f64,
    /// CoreMark's figure of merit: turns per second and MHz.
    #[serde(skip_serializing_if = "Option::is_none")]
    coremark_per_mhz: Option<f64>,
}

enum Suite {
    Plain,
    CoreMark,
    Embench,
}

fn suite(folder: &Path) -> Suite {
    if folder.join("core_main.c").exists() && folder.join("coremark.h").exists() {
        Suite::CoreMark
    } else if folder.join("support/beebsc.c").exists() && folder.join("src").is_dir() {
        Suite::Embench
    } else {
        Suite::Plain
    }
}

/// The measurements of a folder.
pub fn describe(folder: &Path) -> &'static str {
    match suite(folder) {
        Suite::Plain => "main, first run,",
        Suite::CoreMark => "CoreMark, the timed part,",
        Suite::Embench => "each benchmark's timed part at CPU_MHZ 1",
    }
}

/// Builds and runs the programs of a folder; the scores by name. Of a suite, a program that cannot be had is left out with a message.
///
/// # Errors
/// Nothing in the folder can be built, ends in time, and says that its result is right.
pub fn run(hart: &mut Hart, folder: &Path) -> Result<BTreeMap<String, Score>> {
    let sdk = tempfile::tempdir().context("cannot make a folder for the SDK")?;
    spindle_sdk::files::unpack(sdk.path())?;
    let bench = sdk.path().join("bench");
    let program = |sources: Vec<PathBuf>, include: Vec<PathBuf>| Program {
        sources: sources.into_iter().chain([bench.join("start.c")]).collect(),
        include,
        script: Some(bench.join("bench.ld")),
        ..Program::default()
    };
    let one = |name: &str, score: Score| BTreeMap::from([(name.to_string(), score)]);
    match suite(folder) {
        Suite::Plain => {
            let sources = c_files(folder)?;
            ensure!(!sources.is_empty(), "there are no .c files in {}", folder.display());
            Ok(one("main", measure(hart, &program(sources, vec![folder.into()]), sdk.path())?))
        }
        Suite::CoreMark => {
            let port = bench.join("coremark");
            let sources = c_files(folder)?.into_iter().chain(c_files(&port)?).collect();
            let program = program(sources, vec![folder.into(), port]);
            Ok(one("coremark", measure(hart, &program, sdk.path())?))
        }
        Suite::Embench => {
            let (board, support) = (bench.join("embench"), folder.join("support"));
            let libc = Path::new(LIBC);
            let libraries = libc.join("lib/release/rv32im/ilp32");
            if !libraries.is_dir() {
                bail!("Embench needs a C library: apt-get install picolibc-riscv64-unknown-elf (1 GB), then run this again");
            }
            let mut scores = BTreeMap::new();
            for entry in folders(&folder.join("src"))? {
                let name = entry.file_name().unwrap_or_default().to_string_lossy().into_owned();
                let mut sources = c_files(&entry)?;
                sources.extend([support.join("main.c"), support.join("beebsc.c"), board.join("boardsupport.c")]);
                let include = vec![entry, support.clone(), board.clone(), libc.join("include")];
                let libraries = ["libm.a", "libc.a"].map(|name| libraries.join(name).into_os_string());
                let arguments = EMBENCH.map(OsString::from).into_iter().chain(libraries).collect();
                let program = Program { arguments, ..program(sources, include) };
                match measure(hart, &program, sdk.path()) {
                    Ok(score) => _ = scores.insert(name, score),
                    Err(error) => eprintln!("spindle: {name} is left out: {error:#}"),
                }
            }
            ensure!(!scores.is_empty(), "no benchmark of {} could be run", folder.display());
            Ok(scores)
        }
    }
}

fn entries(folder: &Path) -> Result<Vec<PathBuf>> {
    let read = std::fs::read_dir(folder).with_context(|| format!("cannot read {}", folder.display()))?;
    let mut paths = read.map(|entry| Ok(entry?.path())).collect::<Result<Vec<PathBuf>>>()?;
    paths.sort();
    Ok(paths)
}

fn c_files(folder: &Path) -> Result<Vec<PathBuf>> {
    let paths = entries(folder)?;
    Ok(paths.into_iter().filter(|path| path.extension().is_some_and(|extension| extension == "c")).collect())
}

fn folders(folder: &Path) -> Result<Vec<PathBuf>> {
    Ok(entries(folder)?.into_iter().filter(|path| path.is_dir()).collect())
}

/// Builds and runs one program.
fn measure(hart: &mut Hart, program: &Program, sdk: &Path) -> Result<Score> {
    let file = program.link(sdk)?;
    let elf = object::File::parse(&*file).context("the compiler's program cannot be read")?;
    hart.l1[DATA.0 as usize..][..DATA.1 as usize].fill(0);
    load(hart, &elf, DATA)?;
    hart.timing = Timing::IDLE;
    // The watchdog comes first.
    hart.patience = 2 * u64::from(WATCHDOG_MOST);
    let before = hart.instructions;
    let code_size = 4 * hart.code.len() as u32;
    let ending = hart.run(Start { code_size, watchdog: WATCHDOG_MOST, scratch: DATA, ..Start::default() });
    ensure!(ending.cause == 0, "main faults: {ending:x?}");
    ensure!(ending.code == 0, "main returns {}", ending.code);
    let result = |index: usize| {
        let at = DATA.0 as usize + 4 * index;
        hart.l1[at..at + 4].iter().rev().fold(0, |word, byte| word << 8 | u64::from(*byte))
    };
    let (cycles, instructions) = match result(0) {
        0 => (ending.cycles.into(), hart.instructions - before),
        cycles => (cycles, result(1)),
    };
    Ok(Score {
        cycles,
        instructions,
        cpi: cycles as f64 / instructions as f64,
        coremark_per_mhz: (result(2) != 0).then(|| result(2) as f64 * 1e6 / cycles as f64),
    })
}
