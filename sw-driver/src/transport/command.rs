//! The command register of a PCI function.

use rustix::fd::AsFd;
use rustix::io::{pread, pwrite};
use std::io;

/// Its offset in the configuration space.
const COMMAND: u64 = 4;
/// The function answers accesses of its memory.
pub(crate) const MEMORY: u16 = 1 << 1;
/// The function accesses memory itself.
pub(crate) const BUS_MASTER: u16 = 1 << 2;

/// Sets and clears bits; `config` is a file in which the configuration space begins at `offset`.
pub(crate) fn change(config: impl AsFd, offset: u64, set: u16, clear: u16) -> io::Result<()> {
    let mut bytes = [0; 2];
    pread(&config, &mut bytes, offset + COMMAND)?;
    let value = u16::from_le_bytes(bytes) & !clear | set;
    pwrite(&config, &value.to_le_bytes(), offset + COMMAND)?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bits_are_set_and_cleared_and_others_stay() {
        use std::os::unix::fs::FileExt;
        let file = tempfile::tempfile().unwrap();
        for offset in [0, 0x7000_0000] {
            for (before, set, clear, after) in [
                (0, 0, 0, 0),
                (0, MEMORY, 0, 2),
                (0, MEMORY | BUS_MASTER, 0, 6),
                (0xFFFF, 0, BUS_MASTER, 0xFFFB),
                (0x0146, MEMORY, BUS_MASTER, 0x0142),
                (0x0100, BUS_MASTER, BUS_MASTER, 0x0104),
            ] {
                let bytes = [[0xAA; 4], [(before & 0xFF) as u8, (before >> 8) as u8, 0xAA, 0xAA]].concat();
                file.write_all_at(&bytes, offset).unwrap();
                change(&file, offset, set, clear).unwrap();
                let mut back = [0; 8];
                file.read_exact_at(&mut back, offset).unwrap();
                let expected = [0xAA, 0xAA, 0xAA, 0xAA, (after & 0xFF) as u8, (after >> 8) as u8, 0xAA, 0xAA];
                assert_eq!(back, expected, "{before:#x} {set:#x} {clear:#x}");
            }
        }
        let (read, _write) = std::io::pipe().unwrap();
        assert!(change(&read, 0, MEMORY, 0).is_err(), "a pipe has no places");
    }
}
