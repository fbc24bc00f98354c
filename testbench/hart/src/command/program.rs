//! The ELF file of `spindle hart`: checked before anything is simulated.

use super::memory::{size_of, split};
use anyhow::{bail, ensure, Context, Result};
use object::elf::EF_RISCV_RVC;
use object::{Architecture, BinaryFormat, FileFlags, Object, ObjectKind, ObjectSection, ObjectSymbol, SymbolKind};
use spindle_contract::memory_map::{base, CODE};
use std::ops::Range;

/// The instruction set of the processor, as compilers name it.
const BUILD: &str = "-march=rv32ima_zicsr_zifencei_zba_zbb_zbs -mabi=ilp32";

/// A linked program for the processor.
pub struct Program<'a> {
    elf: object::File<'a>,
}

impl<'a> Program<'a> {
    /// Reads a program.
    ///
    /// # Errors
    /// The file is no program, or none that the processor can run.
    pub fn parse(file: &'a [u8]) -> Result<Program<'a>> {
        ensure!(file.starts_with(b"\x7fELF"), "it is no ELF file; give a linked program");
        let elf = object::File::parse(file).context("its ELF file is damaged; build it again")?;
        let (machine, bits) = (elf.architecture(), if elf.is_64() { 64 } else { 32 });
        ensure!(elf.format() == BinaryFormat::Elf, "it is no ELF file; give a linked program");
        ensure!(
            matches!(machine, Architecture::Riscv32 | Architecture::Riscv64),
            "it is for another machine ({machine:?}), not for RISC-V; build it with riscv64-unknown-elf-gcc {BUILD}"
        );
        ensure!(
            machine == Architecture::Riscv32 && bits == 32,
            "it is for 64-bit RISC-V, the processor has 32 bits; build it with {BUILD}"
        );
        ensure!(elf.is_little_endian(), "it is big-endian, the processor is little-endian; build it with {BUILD}");
        match elf.kind() {
            ObjectKind::Executable => {}
            ObjectKind::Relocatable => bail!(
                "it is an object file; link it first: riscv64-unknown-elf-gcc {BUILD} -nostdlib -static -Wl,-Ttext={:#x}",
                base(CODE)
            ),
            ObjectKind::Dynamic => bail!("it is position-independent; link it with -static -no-pie"),
            kind => bail!("it is no linked program ({kind:?}); link it first"),
        }
        if let FileFlags::Elf { e_flags, .. } = elf.flags() {
            ensure!(
                e_flags & EF_RISCV_RVC == 0,
                "it has compressed instructions (RVC), which the processor does not implement; \
                 compile all of it, libraries included, with {BUILD}"
            );
        }
        Ok(Program { elf })
    }

    /// The file.
    pub fn elf(&self) -> &object::File<'a> {
        &self.elf
    }

    /// A number, or the address of a symbol.
    fn address(&self, place: &str) -> Result<u32> {
        if place.starts_with(|first: char| first.is_ascii_digit()) {
            let digits = place.replace('_', "");
            let hexadecimal = digits.strip_prefix("0x").or_else(|| digits.strip_prefix("0X"));
            let number = hexadecimal.map_or_else(|| digits.parse(), |digits| u32::from_str_radix(digits, 16));
            return number.ok().with_context(|| {
                format!("`{place}` is no address; give 32 bits, decimal or in hexadecimal after 0x, or a symbol")
            });
        }
        let found = self.symbol(place);
        found.with_context(|| format!("the program has no symbol `{place}`; give one that it has, or an address"))
    }

    fn symbol(&self, name: &str) -> Option<u32> {
        let symbol = self.elf.symbols().find(|symbol| symbol.name() == Ok(name) && !symbol.is_undefined());
        symbol.map(|symbol| symbol.address() as u32)
    }

    /// Where the program starts.
    ///
    /// # Errors
    /// No instruction of the program is there.
    pub fn entry(&self, place: Option<&str>) -> Result<u32> {
        let entry = match place {
            Some(place) => self.address(place).context("--entry")?,
            None => self.elf.entry() as u32,
        };
        let hint = "define `_start` there or give a symbol by --entry";
        let ((region, offset), bytes) = (split(entry), size_of(CODE).unwrap_or(0));
        ensure!(
            region == CODE && offset < bytes,
            "the entry point {entry:#010x} lies outside the code region ({:#010x} up to {:#010x}); link the code at {:#x}, and {hint}",
            base(CODE),
            base(CODE) + bytes,
            base(CODE)
        );
        ensure!(
            entry.is_multiple_of(4),
            "the entry point {entry:#010x} is misaligned: instructions lie at multiples of 4; {hint}"
        );
        let holds = |start: u64, size: u64| start <= u64::from(entry) && u64::from(entry) - start < size;
        ensure!(
            self.elf.sections().any(|section| holds(section.address(), section.size())),
            "the program has no code at its entry point {entry:#010x}; {hint}"
        );
        Ok(entry)
    }

    /// Where the program stores its result: the place that was given, else the symbol `tohost`, if the program has it.
    ///
    /// # Errors
    /// No store can get there.
    pub fn tohost(&self, place: Option<&str>) -> Result<Option<u32>> {
        let address = match place {
            Some(place) => Some(self.address(place).context("--tohost")?),
            None => self.symbol("tohost"),
        };
        let Some(address) = address else { return Ok(None) };
        let (region, offset) = split(address);
        ensure!(
            region != CODE,
            "tohost at {address:#010x} lies in the code region, where the processor cannot store; link its section (`.tohost`) to {:#x}",
            base(spindle_contract::memory_map::CONTEXT)
        );
        ensure!(
            size_of(region).is_some_and(|bytes| offset < bytes),
            "tohost at {address:#010x} lies in no memory; link its section to {:#x} or give another place by --tohost",
            base(spindle_contract::memory_map::CONTEXT)
        );
        Ok(Some(address))
    }

    /// The addresses from `begin` up to `end`, in one memory.
    ///
    /// # Errors
    /// They are in none, or in the wrong order.
    pub fn range(&self, begin: &str, end: &str) -> Result<Range<u32>> {
        let range = self.address(begin)?..self.address(end)?;
        let Range { start, end } = range;
        ensure!(start < end, "the range from {start:#010x} up to {end:#010x} is empty; give its begin before its end");
        let (region, offset) = split(start);
        let Some(bytes) = size_of(region) else { bail!("there is no memory at {start:#010x}; see --help") };
        ensure!(
            u64::from(offset) + u64::from(end - start) <= u64::from(bytes),
            "the range from {start:#010x} up to {end:#010x} leaves its memory, which ends at {:#010x}",
            base(region) + bytes
        );
        Ok(range)
    }

    /// An address with the function it is in.
    pub fn place(&self, address: u32) -> String {
        let code = self.elf.symbols().filter(|symbol| {
            matches!(symbol.kind(), SymbolKind::Text | SymbolKind::Label | SymbolKind::Unknown)
                && !symbol.is_undefined()
                && symbol.name().is_ok_and(|name| !name.is_empty() && !name.starts_with('$'))
        });
        let in_section = |section: &object::Section| {
            section.address() <= u64::from(address) && u64::from(address) - section.address() < section.size()
        };
        let inside = self.elf.sections().find(in_section).map(|section| section.index());
        let nearest = code
            .filter(|symbol| inside.is_some() && symbol.section_index() == inside)
            .filter(|symbol| symbol.address() <= u64::from(address))
            .max_by_key(|symbol| (symbol.address(), symbol.is_global()));
        match nearest.and_then(|symbol| Some((symbol.name().ok()?, address - symbol.address() as u32))) {
            Some((name, offset)) => format!("{address:#010x} ({name}+{offset:#x})"),
            None => format!("{address:#010x}"),
        }
    }
}
