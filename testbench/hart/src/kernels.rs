//! The kernels of the handler processor's figures: compiled, run, checked.
//!
//! A kernel works on one packet in its slot, with its data in the scratchpad, and no one else uses L1. It is run twice:
//! cold, when the branch predictor knows nothing of it, and warm, right after that.

use super::assembler::{NOP, RET};
use super::bench::Hart;
use super::loader::Start;
use super::timing::Timing;
use anyhow::{ensure, Context, Result};
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;
use spindle::Image;
use spindle_contract::memory_map::{self as map, base};
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Lengths of the packets.
pub const LENGTHS: [usize; 3] = [64, 512, 1500];

/// Code generation: loops stay as they are written.
const FLAGS: [&str; 7] =
    ["-mabi=ilp32", "-O2", "-fno-unroll-loops", "-ffreestanding", "-fno-common", "-ffunction-sections", "-std=gnu11"];

/// For what, by preference.
const ARCHITECTURES: [&str; 2] = ["-march=rv32ima_zicsr_zba_zbb_zbs", "-march=rv32ima_zicsr_zba_zbb"];
/// For what the compiler's own library is there.
const LIBRARY: [&str; 2] = ["-march=rv32im", "-mabi=ilp32"];

/// What a kernel has in front of it, and what it leaves.
#[derive(Clone, PartialEq, Eq)]
struct Data {
    packet: Vec<u8>,
    scratch: Vec<u8>,
    code: u8,
}

/// A kernel.
pub struct Kernel {
    /// Its name.
    pub name: &'static str,
    source: &'static str,
    prepare: fn(&mut Data),
    expect: fn(&mut Data),
}

macro_rules! kernels { ($($name:ident $prepare:ident;)*) => {
    /// All kernels.
    pub const KERNELS: &[Kernel] = &[$(Kernel {
        name: stringify!($name),
        source: include_str!(concat!("../../../handlers/kernels/", stringify!($name), ".c")),
        prepare: $prepare,
        expect: $name,
    }),*];
} }
kernels! {
    ping_pong nothing;
    aggregate nothing;
    filtering flow_table;
    histogram nothing;
    memcpy nothing;
    crc32 nothing;
}

fn nothing(_: &mut Data) {}

fn word(bytes: &[u8], index: usize) -> u32 {
    u32::from_le_bytes(bytes[4 * index..][..4].try_into().expect("four bytes"))
}

fn put(bytes: &mut [u8], index: usize, value: u32) {
    bytes[4 * index..][..4].copy_from_slice(&value.to_le_bytes());
}

fn words(bytes: &[u8]) -> impl Iterator<Item = u32> + '_ {
    bytes.chunks_exact(4).map(|bytes| u32::from_le_bytes(bytes.try_into().expect("four bytes")))
}

fn ping_pong(data: &mut Data) {
    let packet = data.packet.clone();
    for (to, from, bytes) in [(0, 6, 6), (6, 0, 6), (26, 30, 4), (30, 26, 4), (34, 36, 2), (36, 34, 2)] {
        data.packet[to..to + bytes].copy_from_slice(&packet[from..from + bytes]);
    }
}

fn aggregate(data: &mut Data) {
    let sum = words(&data.packet).fold(0, u32::wrapping_add);
    put(&mut data.scratch, 0, sum);
    put(&mut data.scratch, 1, words(&data.packet).max().unwrap_or_default());
}

fn memcpy(data: &mut Data) {
    let whole = data.packet.len() / 4 * 4;
    data.scratch[..whole].copy_from_slice(&data.packet[..whole]);
}

fn histogram(data: &mut Data) {
    const BINS: usize = 64;
    for value in words(&data.packet) {
        for (index, more) in [(value as usize % BINS, 1), (BINS, value)] {
            let sum = word(&data.scratch, index).wrapping_add(more);
            put(&mut data.scratch, index, sum);
        }
    }
}

fn crc32(data: &mut Data) {
    let mut crc = u32::MAX;
    for byte in &data.packet {
        crc ^= u32::from(*byte);
        for _ in 0..8 {
            crc = if crc & 1 == 1 { crc >> 1 ^ 0xEDB8_8320 } else { crc >> 1 };
        }
    }
    put(&mut data.scratch, 0, !crc);
}

/// Bytes of a flow: the aligned words that hold most of the addresses, and the ports.
const FLOW: std::ops::Range<usize> = 28..40;
const BUCKETS: usize = 16;
const BUCKET_ENTRIES: usize = 8;

/// A table full of flows, the packet's own the last in its bucket.
fn flow_table(data: &mut Data) {
    let mut rng = ChaCha8Rng::seed_from_u64(7);
    for index in 0..BUCKETS * BUCKET_ENTRIES * 4 {
        put(&mut data.scratch, index, rng.random());
    }
    let hash = words(&data.packet[FLOW]).fold(0, |hash, word| hash ^ word).to_le_bytes();
    let bucket = usize::from(hash.iter().fold(0, |hash, byte| hash ^ byte)) % BUCKETS;
    let entry = (bucket * BUCKET_ENTRIES + BUCKET_ENTRIES - 1) * 16;
    data.scratch[entry..entry + 12].copy_from_slice(&data.packet[FLOW]);
    put(&mut data.scratch, entry / 4 + 3, map::SPIN_PROCEED.into());
}

fn filtering(data: &mut Data) {
    data.code = map::SPIN_PROCEED;
}

/// A UDP packet without options, its data random.
fn frame(length: usize, rng: &mut ChaCha8Rng) -> Vec<u8> {
    let mut bytes: Vec<u8> = (0..length).map(|_| rng.random()).collect();
    bytes[12..14].copy_from_slice(&[0x08, 0x00]);
    bytes[14] = 0x45;
    bytes[20..22].fill(0);
    bytes[23] = 17;
    bytes
}

/// Cycles of a kernel and of how many instructions they are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Run {
    /// Bytes of the packet.
    pub length: usize,
    /// Instructions.
    pub instructions: u64,
    /// Cycles of the first run.
    pub cold: u32,
    /// Cycles of the second one.
    pub warm: u32,
}

impl Run {
    /// Cycles of an instruction in the first run.
    pub fn cold_cpi(&self) -> f64 {
        f64::from(self.cold) / self.instructions as f64
    }

    /// Cycles of an instruction in the second run.
    pub fn warm_cpi(&self) -> f64 {
        f64::from(self.warm) / self.instructions as f64
    }
}

/// The compiler, unless `SPINDLE_CC` names another.
fn compiler() -> PathBuf {
    std::env::var_os("SPINDLE_CC").map_or_else(|| "riscv64-unknown-elf-gcc".into(), PathBuf::from)
}

/// What a compiler makes a program of.
#[derive(Default)]
pub struct Program {
    /// C files.
    pub sources: Vec<PathBuf>,
    /// Folders of headers.
    pub include: Vec<PathBuf>,
    /// Further arguments.
    pub arguments: Vec<OsString>,
    /// Linker script, if not that of handlers.
    pub script: Option<PathBuf>,
}

impl Program {
    /// Compiles and links it against the SDK in the folder `sdk`.
    ///
    /// # Errors
    /// There is no compiler, or it refuses the sources.
    pub fn link(&self, sdk: &Path) -> Result<Vec<u8>> {
        let folder = tempfile::tempdir().context("cannot make a folder for the compiler")?;
        let library = run(Command::new(compiler()).args(LIBRARY).arg("-print-libgcc-file-name"))?;
        let output = folder.path().join("program.elf");
        let script = self.script.clone().unwrap_or_else(|| sdk.join("handler.ld"));
        let build = |architecture: &str| {
            let mut command = Command::new(compiler());
            command.arg(architecture).args(FLAGS).args(self.include.iter().flat_map(|path| [Path::new("-I"), path]));
            command.arg("-I").arg(sdk.join("include")).args(&self.sources).arg(sdk.join("lib/memory.c"));
            command.args(&self.arguments).arg(library.trim());
            command.args(["-nostdlib", "-static", "-Wl,--gc-sections", "-Wl,--no-warn-rwx-segments"]);
            command.arg("-L").arg(sdk.join("generated")).arg("-T").arg(&script).arg("-o").arg(&output);
            run(&mut command)
        };
        // Some compilers die of a constant that single-bit instructions could make.
        build(ARCHITECTURES[0]).or_else(|error| {
            if error.to_string().contains("internal compiler error") {
                build(ARCHITECTURES[1])
            } else {
                Err(error)
            }
        })?;
        Ok(std::fs::read(&output)?)
    }
}

/// Compiles and links one C file to an image.
fn compile(source: &Path) -> Result<Image> {
    let sdk = tempfile::tempdir().context("cannot make a folder for the SDK")?;
    spindle_sdk::files::unpack(sdk.path())?;
    let program = Program { sources: vec![source.to_path_buf()], ..Program::default() };
    Image::parse(&program.link(sdk.path())?).context("the compiler's image cannot be read")
}

/// Runs the compiler; its words are the error.
fn run(command: &mut Command) -> Result<String> {
    let name = compiler().display().to_string();
    let output = command.output().with_context(|| {
        format!("{name} cannot be run; apt-get install gcc-riscv64-unknown-elf, or name a compiler in SPINDLE_CC")
    })?;
    ensure!(output.status.success(), "{name} says: {}", String::from_utf8_lossy(&output.stderr).trim_end());
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

/// Puts an image at the start of instruction memory and says how to start it.
fn install(hart: &mut Hart, image: &Image) -> Result<Start> {
    let entry = image.entries[0].context("there is no header_handler")?;
    // Elsewhere first, so that the branch predictor forgets what stood here.
    let span = image.code.len().div_ceil(4) + 32;
    hart.program(0, &vec![NOP; span]);
    hart.program(4 * span, &[RET]);
    for _ in 0..3 {
        ensure!(hart.run(Start::default()).cause == 0, "the words that clear the predictor fault");
    }
    let code: Vec<u32> =
        image.code.chunks(4).map(|part| part.iter().rev().fold(0, |w, b| w << 8 | u32::from(*b))).collect();
    hart.program(0, &code);
    hart.l2[..image.state.len()].copy_from_slice(&image.state);
    Ok(Start { entry, ..Start::default() })
}

impl Kernel {
    /// Runs the kernel on packets of all [`LENGTHS`], cold and warm.
    ///
    /// # Errors
    /// It does not compile, or its result is not what it should be.
    pub fn measure(&self, hart: &mut Hart) -> Result<Vec<Run>> {
        let folder = tempfile::tempdir()?;
        let path = folder.path().join(format!("{}.c", self.name));
        std::fs::write(&path, self.source)?;
        let image = compile(&path)?;
        hart.timing = Timing::IDLE;
        LENGTHS.iter().map(|length| self.run(hart, &image, *length)).collect()
    }

    fn run(&self, hart: &mut Hart, image: &Image, length: usize) -> Result<Run> {
        let mut rng = ChaCha8Rng::seed_from_u64(length as u64);
        let mut start = install(hart, image)?;
        let mut data = Data { packet: frame(length, &mut rng), scratch: vec![0; start.scratch.1 as usize], code: 0 };
        (self.prepare)(&mut data);
        let mut expected = data.clone();
        (self.expect)(&mut expected);
        start.packet.1 = length as u32;
        let (packet, l3) = (base(map::PACKET), base(map::PACKET) + 14);
        for (offset, value) in [
            (map::TASK_PACKET, packet),
            (map::TASK_PACKET_LEN, length as u32),
            (map::TASK_FRAME_LEN, length as u32),
            (map::TASK_L3, l3),
            (map::TASK_SCRATCH_SIZE, start.scratch.1),
        ] {
            put(&mut start.task, offset as usize / 4, value);
        }
        let (packet, scratch) = (start.packet.0 as usize, start.scratch.0 as usize);
        let mut cycles = [0; 2];
        let mut instructions = 0;
        for cycles in &mut cycles {
            hart.l1[packet..packet + length].copy_from_slice(&data.packet);
            hart.l1[scratch..scratch + data.scratch.len()].copy_from_slice(&data.scratch);
            hart.commands.writes.clear();
            let before = hart.instructions;
            let ending = hart.run(start.clone());
            ensure!(ending.cause == 0, "{} faults: {ending:x?}", self.name);
            let found = Data {
                packet: hart.l1[packet..packet + length].to_vec(),
                scratch: hart.l1[scratch..scratch + data.scratch.len()].to_vec(),
                code: ending.code,
            };
            ensure!(found == expected, "{} of {length} bytes does not do what it should", self.name);
            let sent: Vec<(u32, u32)> = hart.commands.writes.iter().map(|write| (write.offset, write.data)).collect();
            let send = [
                (map::CMD_SOURCE, base(map::PACKET)),
                (map::CMD_LENGTH, length as u32),
                (map::CMD_ISSUE, map::command::SEND_PACKET.into()),
            ];
            ensure!(sent == if self.name == "ping_pong" { &send[..] } else { &[] }, "{} sends {sent:x?}", self.name);
            *cycles = ending.cycles;
            instructions = hart.instructions - before;
        }
        Ok(Run { length, instructions, cold: cycles[0], warm: cycles[1] })
    }

    /// Of all runs the one with the most cycles for an instruction, cold.
    ///
    /// # Panics
    /// There are no runs.
    pub fn worst(runs: &[Run]) -> Run {
        *runs.iter().max_by(|a, b| a.cold_cpi().total_cmp(&b.cold_cpi())).expect("a kernel has runs")
    }
}
