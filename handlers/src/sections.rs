//! Sections of an image.

use object::read::elf::{FileHeader, SectionHeader};
use object::{elf, Endianness};
use serde::Serialize;

/// Bytes by kind of section.
#[derive(Clone, Copy, Debug, Default, Serialize, PartialEq, Eq)]
pub struct Sections {
    /// Instructions.
    pub code: u32,
    /// Constants.
    pub rodata: u32,
    /// Initialised variables.
    pub data: u32,
    /// Zeroed variables.
    pub bss: u32,
}

impl Sections {
    /// Of an image that [`Image::parse`] has accepted.
    pub fn of(file: &[u8]) -> object::Result<Sections> {
        let header = elf::FileHeader32::<Endianness>::parse(file)?;
        let endian = header.endian()?;
        let mut sum = Sections::default();
        for section in header.sections(endian, file)?.iter() {
            let flags = section.sh_flags(endian);
            let kind = match flags & (elf::SHF_ALLOC | elf::SHF_WRITE | elf::SHF_EXECINSTR) {
                elf::SHF_ALLOC => &mut sum.rodata,
                flags if flags & elf::SHF_ALLOC == 0 => continue,
                flags if flags & elf::SHF_EXECINSTR != 0 => &mut sum.code,
                _ if section.sh_type(endian) == elf::SHT_NOBITS => &mut sum.bss,
                _ => &mut sum.data,
            };
            *kind = kind.saturating_add(section.sh_size(endian));
        }
        Ok(sum)
    }
}
