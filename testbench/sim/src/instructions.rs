//! Traces of instructions: one line for each instruction that retires, with what it did.

use crate::{MemoryAccess, Retired};
use anyhow::{ensure, Context, Result};
use std::collections::HashMap;
use std::fmt::Write as _;
use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::Path;
use std::process::Command;

/// Programs that disassemble, by preference.
const DISASSEMBLERS: [&str; 4] =
    ["riscv64-unknown-elf-objdump", "riscv32-unknown-elf-objdump", "riscv64-linux-gnu-objdump", "llvm-objdump"];
const REGISTERS: [&str; 32] = [
    "zero", "ra", "sp", "gp", "tp", "t0", "t1", "t2", "s0", "s1", "a0", "a1", "a2", "a3", "a4", "a5", "a6", "a7", "s2",
    "s3", "s4", "s5", "s6", "s7", "s8", "s9", "s10", "s11", "t3", "t4", "t5", "t6",
];

/// The text of an image's instructions.
#[derive(Clone, Default)]
pub struct Disassembly {
    instructions: HashMap<u32, String>,
    /// Functions, by the address where they start.
    functions: HashMap<u32, String>,
}

impl Disassembly {
    /// Disassembles an ELF image.
    ///
    /// # Errors
    /// No disassembler is installed, or none takes the image.
    pub fn of(elf: &[u8]) -> Result<Disassembly> {
        let folder = tempfile::tempdir()?;
        let path = folder.path().join("image.elf");
        std::fs::write(&path, elf)?;
        let mut reported = String::new();
        for program in DISASSEMBLERS {
            match Command::new(program).args(["-d", "-z", "-M", "no-aliases"]).arg(&path).output() {
                Ok(output) if output.status.success() => {
                    return Ok(Disassembly::parse(&String::from_utf8_lossy(&output.stdout)))
                }
                Ok(output) => {
                    reported = format!("; {program} says: {}", String::from_utf8_lossy(&output.stderr).trim())
                }
                Err(_) => {}
            }
        }
        anyhow::bail!(
            "a trace needs a disassembler; install one of {}: `apt-get install binutils-riscv64-unknown-elf`{reported}",
            DISASSEMBLERS.join(", ")
        )
    }

    /// Reads what `objdump -d` prints: `10000000 <header_handler>:` and `10000000:\t00052783\tlw\ta5,0(a0)`.
    fn parse(listing: &str) -> Disassembly {
        let mut disassembly = Disassembly::default();
        for line in listing.lines() {
            if let Some((address, name)) = line.strip_suffix(">:").and_then(|line| line.split_once(" <")) {
                if let Ok(address) = u32::from_str_radix(address.trim(), 16) {
                    disassembly.functions.insert(address, name.to_owned());
                }
            } else if let Some((address, rest)) = line.split_once(':') {
                // Clang's objdump separates the word and the instruction by blanks before its tab.
                let text = rest.trim_start().split_once(char::is_whitespace).map(|(_, text)| text.trim());
                if let (Ok(address), Some(text)) = (u32::from_str_radix(address.trim(), 16), text) {
                    disassembly.instructions.insert(address, text.replace('\t', " "));
                }
            }
        }
        disassembly
    }

    /// The instruction at an address.
    pub fn text(&self, address: u32) -> &str {
        self.instructions.get(&address).map_or("?", String::as_str)
    }

    /// The function that starts at an address.
    pub fn function(&self, address: u32) -> Option<&str> {
        self.functions.get(&address).map(String::as_str)
    }
}

/// Writes the lines.
pub struct Tracer {
    disassembly: Disassembly,
    hpus: usize,
    file: BufWriter<Box<dyn Write + Send>>,
    /// The first error; what comes after it is not written.
    result: Result<(), std::io::Error>,
    lines: u64,
}

impl Tracer {
    /// Starts a file; a cluster has `hpus` HPUs.
    pub fn create(path: &Path, disassembly: Disassembly, hpus: usize) -> Result<Tracer> {
        let file = File::create(path).with_context(|| format!("cannot write the trace {}", path.display()))?;
        Ok(Tracer::new(Box::new(file), disassembly, hpus))
    }

    /// Starts a trace in an output that is open; a cluster has `hpus` HPUs.
    pub fn new(output: Box<dyn Write + Send>, disassembly: Disassembly, hpus: usize) -> Tracer {
        let mut file = BufWriter::new(output);
        let result = writeln!(
            file,
            "{:>9}  {:<6} {:<8}  {:<8}  {:<32}  register and memory",
            "cycle", "c.h.t", "pc", "word", "instruction"
        );
        Tracer { disassembly, hpus, file, result, lines: 0 }
    }

    /// Writes an instruction.
    pub fn retired(&mut self, retired: &Retired) {
        if self.result.is_ok() {
            let text = self.lines(retired);
            self.result = self.file.write_all(text.as_bytes());
            self.lines += 1;
        }
    }

    /// The line of an instruction, with the name of the function before its first one.
    fn lines(&self, retired: &Retired) -> String {
        let hart = format!("{}.{}.{}", retired.unit / self.hpus, retired.unit % self.hpus, retired.thread);
        let mut text = String::new();
        if let Some(name) = self.disassembly.function(retired.pc) {
            let _ = writeln!(text, "{:>9}  {hart:<6} {:08x} <{name}>:", "", retired.pc);
        }
        let instruction = self.disassembly.text(retired.pc);
        let _ = write!(
            text,
            "{:>9}  {hart:<6} {:08x}  {:08x}  {instruction:<32} ",
            retired.cycle, retired.pc, retired.insn
        );
        text.push_str(&annotations(retired));
        let mut text = text.trim_end().to_owned();
        text.push('\n');
        text
    }

    /// Ends the file, with a last line if there is a note; how many instructions it holds.
    pub fn finish(mut self, note: Option<&str>) -> Result<u64> {
        if let (Ok(()), Some(note)) = (&self.result, note) {
            self.result = writeln!(self.file, "# {note}");
        }
        self.result.and_then(|()| self.file.flush()).context("the trace could not be written")?;
        ensure!(self.lines > 0 || note.is_some(), "no instruction was executed, the trace is empty");
        Ok(self.lines)
    }
}

/// What an instruction did: ` a5=0000002a [60000000]->0000002a`.
pub fn annotations(retired: &Retired) -> String {
    let mut text = String::new();
    if let Some((register, value)) = retired.register() {
        let _ = write!(text, " {}={value:08x}", REGISTERS[usize::from(register) % 32]);
    }
    if let Some(load) = retired.load() {
        let _ = write!(text, " {}", memory(load, "->"));
    }
    if let Some(store) = retired.store() {
        let _ = write!(text, " {}", memory(store, "<-"));
    }
    for (holds, note) in [(retired.trap, " fault"), (retired.halt, " end")] {
        if holds {
            text.push_str(note);
        }
    }
    text
}

/// `[20000010]->0042`: as many digits as bytes were moved.
fn memory(access: MemoryAccess, arrow: &str) -> String {
    format!("[{:08x}]{arrow}{:0digits$x}", access.address, access.data, digits = 2 * access.bytes as usize)
}

#[cfg(test)]
mod tests {
    use super::*;

    const LISTING: &str = "
image.elf:     file format elf32-littleriscv

Disassembly of section .text:

10000000 <header_handler>:
10000000:\t00052783          \tlw\ta5,0(a0)
10000004:\t00f5a023          \tsw\ta5,0(a1)

10000008 <helper>:
10000008:\t00008067          \tjalr\tzero,0(ra)
";

    #[test]
    fn lines_say_what_an_instruction_did() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("trace");
        let mut tracer = Tracer::create(&path, Disassembly::parse(LISTING), 4).unwrap();
        let lw = Retired {
            cycle: 1234,
            unit: 6,
            thread: 1,
            insn: 0x0005_2783,
            intr: true,
            pc: 0x1000_0000,
            next_pc: 0x1000_0004,
            rd: (15, 0x2A),
            address: 0x6000_0000,
            read_mask: 0xF,
            read: 0x2A,
            ..Retired::default()
        };
        let store = Retired { rd: (0, 0), address: 0x4000_0002, read_mask: 0, write_mask: 3, written: 0x2A, ..lw };
        tracer.retired(&lw);
        tracer.retired(&Retired { pc: 0x1000_0004, trap: true, ..store });
        tracer.retired(&Retired { pc: 0x1000_0008, write_mask: 0, halt: true, ..store });
        assert_eq!(tracer.finish(None).unwrap(), 3);
        let text = std::fs::read_to_string(&path).unwrap();
        let lines: Vec<Vec<&str>> = text.lines().map(|line| line.split_whitespace().collect()).collect();
        assert_eq!(lines[1], ["1.2.1", "10000000", "<header_handler>:"]);
        assert_eq!(
            lines[2],
            ["1234", "1.2.1", "10000000", "00052783", "lw", "a5,0(a0)", "a5=0000002a", "[60000000]->0000002a"]
        );
        assert_eq!(lines[3][4..], ["sw", "a5,0(a1)", "[40000002]<-002a", "fault"]);
        assert_eq!(lines[4], ["1.2.1", "10000008", "<helper>:"]);
        assert_eq!(lines[5][4..], ["jalr", "zero,0(ra)", "end"]);
    }
}
