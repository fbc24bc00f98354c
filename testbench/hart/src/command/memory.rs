//! The memories of the bench: what is loaded into them, and what a program left there.

use crate::Hart;
use anyhow::{bail, ensure, Context, Result};
use object::elf::SHF_ALLOC;
use object::{Object, ObjectSection, SectionFlags};
use spindle_contract::memory_map::{self as map, base, REGION_SHIFT};
use spindle_contract::params::{L1_SCRATCH_BASE, L1_STACK_BASE};
use std::ops::Range;

/// L1 address and bytes of the scratchpad on the bench.
pub const SCRATCH: (u32, u32) = (L1_SCRATCH_BASE as u32, 0x2000);
/// The packet slots, as one region.
pub const PACKET: (u32, u32) = (0, L1_STACK_BASE as u32);

/// The regions in which a program may lie, with their bytes.
fn loadable(scratch: (u32, u32)) -> [(u32, u32); 4] {
    let code = crate::CODE_BYTES as u32;
    let context = crate::L2_BYTES as u32;
    [(map::CODE, code), (map::PACKET, PACKET.1), (map::SCRATCH, scratch.1), (map::CONTEXT, context)]
}

/// Bytes of a region that a program can read; none = there is no such memory.
pub fn size_of(region: u32) -> Option<u32> {
    let all = loadable(SCRATCH).into_iter().chain([(map::STACK, Hart::stack_bytes())]);
    all.into_iter().find(|(number, _)| *number == region).map(|(_, bytes)| bytes)
}

fn name_of(region: u32) -> &'static str {
    map::REGIONS.iter().find(|known| known.number == region).map_or("unknown", |known| known.name)
}

/// The memories, for `--help`.
pub fn help() -> String {
    let line = |(region, note): (u32, &str)| {
        let bytes = size_of(region).unwrap_or(0);
        format!("\n  {:8} {:#010x}  {bytes:6} bytes  {note}", name_of(region), base(region))
    };
    let notes = [
        (map::CODE, "instructions and constants; a program cannot store there"),
        (map::PACKET, "L1"),
        (map::SCRATCH, "L1"),
        (map::CONTEXT, "L2, answers after eight cycles"),
        (map::STACK, "L1; sp starts at its end; nothing can be linked there"),
    ];
    format!(
        "Memories, zero before the program is loaded:{}\n\nBuild programs with\n  \
         riscv64-unknown-elf-gcc -march=rv32ima_zicsr_zifencei_zba_zbb_zbs -mabi=ilp32 -nostdlib -static \
         -Wl,-Ttext={:#x} -Wl,-Tdata={:#x}",
        notes.map(line).concat(),
        base(map::CODE),
        base(map::CONTEXT)
    )
}

/// The region of an address, and its offset there.
pub fn split(address: u32) -> (u32, u32) {
    (address >> REGION_SHIFT, address & ((1 << REGION_SHIFT) - 1))
}

/// The sections that a program has in memory. Not its segments: linkers put the file's own header into the first one, before
/// the code.
fn sections<'data, 'file>(
    elf: &'file object::File<'data>,
) -> impl Iterator<Item = object::Section<'data, 'file>> + use<'data, 'file> {
    elf.sections().filter(|section| {
        let SectionFlags::Elf { sh_flags } = section.flags() else { return false };
        sh_flags & u64::from(SHF_ALLOC) != 0 && section.size() != 0
    })
}

/// Checks that every section lies in one memory. `scratch`: L1 address and bytes of the sections linked to the scratchpad.
///
/// # Errors
/// One does not, or there is none.
pub fn check(elf: &object::File, scratch: (u32, u32)) -> Result<()> {
    ensure!(sections(elf).next().is_some(), "the file has no section to load; do not strip its section headers");
    for section in sections(elf) {
        let name = section.name().unwrap_or("?");
        fits(name, section.address(), section.size(), scratch)?;
        section.data().with_context(|| format!("the file is damaged in section {name}"))?;
    }
    Ok(())
}

/// Puts every section into its region, those without content in the file as zeros.
///
/// # Errors
/// Those of [`check`].
pub fn load(hart: &mut Hart, elf: &object::File, scratch: (u32, u32)) -> Result<()> {
    check(elf, scratch)?;
    for section in sections(elf) {
        // The memory of a section without content may hold bytes of a program that ran before.
        let mut data = section.data()?.to_vec();
        data.resize(section.size() as usize, 0);
        place(hart, section.address() as u32, &data, scratch);
    }
    Ok(())
}

/// Checks that a section lies in one memory.
fn fits(name: &str, start: u64, size: u64, scratch: (u32, u32)) -> Result<()> {
    let (region, offset) = split(start as u32);
    let memory = loadable(scratch).into_iter().find(|(number, _)| *number == region && start <= u64::from(u32::MAX));
    let Some((_, bytes)) = memory else {
        bail!(
            "there is no memory for section {name} at {start:#010x} ({size} bytes); \
             link code at {:#x}, data at {:#x} (packet), {:#x} (scratch) or {:#x} (context)",
            base(map::CODE),
            base(map::PACKET),
            base(map::SCRATCH),
            base(map::CONTEXT)
        );
    };
    ensure!(
        u64::from(offset).checked_add(size).is_some_and(|end| end <= u64::from(bytes)),
        "section {name} does not fit: it has {size} bytes from {start:#010x} on, \
         and the {} region ends at {:#010x} ({bytes} bytes); make it smaller or link it elsewhere",
        name_of(region),
        base(region) + bytes
    );
    Ok(())
}

fn place(hart: &mut Hart, start: u32, data: &[u8], scratch: (u32, u32)) {
    let (region, offset) = split(start);
    let memory = match region {
        map::CODE => {
            for (at, byte) in (offset as usize..).zip(data) {
                let (word, shift) = (&mut hart.code[at / 4], at % 4 * 8);
                *word = *word & !(0xFF << shift) | u32::from(*byte) << shift;
            }
            return;
        }
        map::PACKET => &mut hart.l1[PACKET.0 as usize..],
        map::SCRATCH => &mut hart.l1[scratch.0 as usize..],
        _ => &mut hart.l2[..],
    };
    memory[offset as usize..][..data.len()].copy_from_slice(data);
}

/// The memories after the run.
pub struct Bench<'a> {
    hart: &'a Hart,
    code: Vec<u8>,
}

impl<'a> Bench<'a> {
    /// Those of a processor on which one program has run.
    pub fn of(hart: &'a Hart) -> Bench<'a> {
        Bench { hart, code: hart.code.iter().flat_map(|word| word.to_le_bytes()).collect() }
    }

    /// The bytes of a range that [`Program::range`](super::program::Program::range) has accepted.
    pub fn bytes(&self, range: &Range<u32>) -> &[u8] {
        let (region, offset) = split(range.start);
        let stack = self.hart.begins.first().map_or(0, |begin| self.hart.bank_memory(begin.bank).0);
        let memory = match region {
            map::CODE => &self.code[..],
            map::PACKET => &self.hart.l1[PACKET.0 as usize..],
            map::SCRATCH => &self.hart.l1[SCRATCH.0 as usize..],
            map::STACK => &self.hart.l1[stack..],
            _ => &self.hart.l2[..],
        };
        &memory[offset as usize..][..range.len()]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;
    use std::process::Command;

    #[test]
    fn a_program_before_leaves_nothing_in_zeroed_variables() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("program.elf");
        let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/programs/result.S");
        let compiler = Command::new("riscv64-unknown-elf-gcc")
            .args(["-march=rv32ima", "-mabi=ilp32", "-nostdlib", "-static", "-DRESULT_AT=tohost", "-DBSS_BYTES=8"])
            .args(["-Wl,-Ttext=0x10000000", "-Wl,-Tdata=0x40000000", "-Wl,-Tbss=0x30000004"])
            .arg("-o")
            .args([&path, &source])
            .status();
        let Ok(status) = compiler else {
            println!("skipped: riscv64-unknown-elf-gcc is not installed; run `cargo xtask setup`");
            return;
        };
        assert!(status.success());
        let file = std::fs::read(&path).unwrap();
        let mut hart = crate::command::open(&spindle_contract::params::Config::SIM, 1).unwrap();
        hart.l1.fill(0xEE);
        hart.l2.fill(0xEE);
        load(&mut hart, &object::File::parse(&*file).unwrap(), SCRATCH).unwrap();
        let scratch = &hart.l1[SCRATCH.0 as usize..][..16];
        assert_eq!(scratch, [[0xEE; 4], [0; 4], [0; 4], [0xEE; 4]].concat());
        assert_eq!(hart.l2[..4], 0xDEAD_BEEFu32.to_le_bytes());
        assert_eq!(hart.l2[28..32], [0xEE; 4], "after the data");
    }
}
