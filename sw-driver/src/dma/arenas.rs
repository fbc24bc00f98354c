//! An allocator of pieces in memory that a card reaches.

use super::{SharedMemory, HUGE_PAGE};
use crate::{Error, Result};
use std::collections::BTreeMap;

/// Shared memory that the card reaches, and its free pieces.
#[derive(Debug)]
struct Arena {
    memory: SharedMemory,
    /// Free pieces: start and bytes, as offsets. Neighbours are joined.
    free: BTreeMap<usize, usize>,
}

impl Arena {
    fn take(&mut self, base: u64, bytes: usize, align: usize) -> Option<usize> {
        let start_in = |start: usize| ((base + start as u64).next_multiple_of(align as u64) - base) as usize;
        let (hole, size) = self
            .free
            .iter()
            .map(|(start, size)| (*start, *size))
            .find(|(start, size)| start_in(*start) + bytes <= start + size)?;
        let start = start_in(hole);
        self.free.remove(&hole);
        if start > hole {
            self.free.insert(hole, start - hole);
        }
        if start + bytes < hole + size {
            self.free.insert(start + bytes, hole + size - start - bytes);
        }
        Some(start)
    }

    fn give_back(&mut self, mut start: usize, mut bytes: usize) {
        if let Some((before, size)) = self.free.range(..start).next_back().map(|(before, size)| (*before, *size)) {
            if before + size == start {
                self.free.remove(&before);
                (start, bytes) = (before, bytes + size);
            }
        }
        if let Some(size) = self.free.remove(&(start + bytes)) {
            bytes += size;
        }
        self.free.insert(start, bytes);
    }
}

/// All memory of a program that a card reaches by `alloc`, by the card's addresses.
#[derive(Debug, Default)]
pub struct Arenas {
    arenas: BTreeMap<u64, Arena>,
    pieces: BTreeMap<u64, usize>,
}

impl Arenas {
    /// Zeroed memory; if no arena has room, `grow` makes memory of at least so many bytes and the address by which the card
    /// knows it, which is aligned to a huge page.
    pub fn alloc(
        &mut self,
        bytes: usize,
        align: usize,
        grow: impl FnOnce(usize) -> Result<(SharedMemory, u64)>,
    ) -> Result<u64> {
        if !align.is_power_of_two() || bytes > isize::MAX as usize / 2 || align > isize::MAX as usize / 2 {
            return Err(Error::Memory(format!(
                "{bytes} bytes aligned to {align} cannot be had; align to a power of two"
            )));
        }
        let bytes = bytes.max(1);
        let mut found =
            self.arenas.iter_mut().find_map(|(base, arena)| Some((*base, arena.take(*base, bytes, align)?)));
        if found.is_none() {
            // An alignment of more than a huge page is had by more memory.
            let (memory, base) = grow(if align > HUGE_PAGE { bytes + align } else { bytes })?;
            let free = BTreeMap::from([(0, memory.bytes())]);
            let arena = self.arenas.entry(base).insert_entry(Arena { memory, free }).into_mut();
            found = arena.take(base, bytes, align).map(|offset| (base, offset));
        }
        let (base, offset) = found.ok_or_else(|| Error::Memory(format!("an arena of {bytes} bytes is too small")))?;
        self.arenas[&base].memory.write(offset, &vec![0; bytes])?;
        let address = base + offset as u64;
        self.pieces.insert(address, bytes);
        Ok(address)
    }

    /// Gives a piece back.
    ///
    /// # Errors
    /// No piece begins at this address.
    pub fn free(&mut self, address: u64) -> Result<()> {
        let bytes = self.pieces.remove(&address).ok_or_else(|| {
            Error::Memory(format!(
                "nothing was allocated at {address:#x}; give the address that the allocation returned"
            ))
        })?;
        let (base, arena) = self.arenas.range_mut(..=address).next_back().expect("a piece lies in an arena");
        arena.give_back((address - base) as usize, bytes);
        Ok(())
    }

    /// The memory in which the card's address lies, and the offset there.
    fn locate(&self, address: u64) -> Result<(&SharedMemory, usize)> {
        self.arenas
            .range(..=address)
            .next_back()
            .map(|(base, arena)| (&arena.memory, (address - base) as usize))
            .filter(|(memory, offset)| *offset < memory.bytes())
            .ok_or_else(|| Error::Memory(format!("{address:#x} lies in no memory that was allocated for the card")))
    }

    /// Copies to the program.
    pub fn read(&self, address: u64, to: &mut [u8]) -> Result<()> {
        let (memory, offset) = self.locate(address)?;
        memory.read(offset, to)
    }

    /// Copies from the program.
    pub fn write(&self, address: u64, from: &[u8]) -> Result<()> {
        let (memory, offset) = self.locate(address)?;
        memory.write(offset, from)
    }

    /// Every arena, with the card's address.
    pub fn iter(&self) -> impl Iterator<Item = (u64, &SharedMemory)> {
        self.arenas.iter().map(|(base, arena)| (*base, &arena.memory))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_are_zero_aligned_apart_and_come_again() {
        let (mut arenas, mut next) = (Arenas::default(), 4u64 << 30);
        let mut grown = 0;
        let mut alloc = |arenas: &mut Arenas, bytes: usize, align: usize| {
            arenas.alloc(bytes, align, |bytes| {
                grown += 1;
                let memory = SharedMemory::new(bytes)?;
                let base = next;
                next += memory.bytes() as u64;
                Ok((memory, base))
            })
        };
        let mut pieces: Vec<(u64, usize)> = Vec::new();
        for round in 0..60usize {
            let (bytes, align) = (1 + round * 977 % 5000, 1 << (round % 13));
            let address = alloc(&mut arenas, bytes, align).unwrap();
            assert_eq!(address % align as u64, 0);
            assert!(pieces.iter().all(|(at, size)| address + bytes as u64 <= *at || at + *size as u64 <= address));
            let mut back = vec![9; bytes];
            arenas.read(address, &mut back).unwrap();
            assert!(back.iter().all(|byte| *byte == 0));
            arenas.write(address, &vec![0xA5; bytes]).unwrap();
            pieces.push((address, bytes));
            if round % 3 == 2 {
                let (address, _) = pieces.swap_remove(round % pieces.len());
                arenas.free(address).unwrap();
                assert!(arenas.free(address).unwrap_err().to_string().contains("nothing was allocated"));
            }
        }
        for (address, _) in pieces {
            arenas.free(address).unwrap();
        }
        // All pieces are joined again: the whole arena is one.
        assert_eq!(alloc(&mut arenas, HUGE_PAGE, HUGE_PAGE).unwrap(), 4 << 30);
        assert_eq!(alloc(&mut arenas, HUGE_PAGE + 1, 4 << 20).unwrap() % (4 << 20), 0);
        assert_eq!(grown, 2);
        assert!(arenas.read(1, &mut [0]).unwrap_err().to_string().contains("no memory that was allocated"));
        assert!(arenas.alloc(1, 3, |_| unreachable!()).is_err());
    }

    /// Arenas of one huge page each, from 4 GiB on with a gap of a huge page after each.
    fn grow(next: &mut u64) -> impl FnOnce(usize) -> Result<(SharedMemory, u64)> + '_ {
        move |bytes| {
            let memory = SharedMemory::new(bytes)?;
            let base = *next;
            *next += memory.bytes() as u64 + HUGE_PAGE as u64;
            Ok((memory, base))
        }
    }

    #[test]
    fn pieces_fill_the_first_hole_that_has_room() {
        let (mut arenas, mut next) = (Arenas::default(), 4u64 << 30);
        let base = next;
        let mut alloc = |arenas: &mut Arenas, bytes: usize, align: usize| {
            arenas.alloc(bytes, align, grow(&mut next)).unwrap().wrapping_sub(base)
        };
        assert_eq!(alloc(&mut arenas, 100, 64), 0);
        assert_eq!(alloc(&mut arenas, 1, 1), 100);
        assert_eq!(alloc(&mut arenas, 8, 4096), 4096);
        assert_eq!(alloc(&mut arenas, 3995, 1), 101, "exactly between the two");
        assert_eq!(alloc(&mut arenas, 0, 1), 4104, "no bytes are one");
        assert_eq!(alloc(&mut arenas, 8, 8), 4112);
        assert_eq!(alloc(&mut arenas, 7, 1), 4105);
        // Holes are joined with their neighbours, in any order.
        for offset in [100, 4096, 101] {
            arenas.free(base + offset).unwrap();
        }
        assert_eq!(alloc(&mut arenas, 4004, 2), 100);
        arenas.free(base + 100).unwrap();
        assert_eq!(alloc(&mut arenas, 4005, 4), 4120, "a byte more does not fit");
        // What is left is filled to the last byte, and then there is another arena.
        let rest = HUGE_PAGE - 4120 - 4005;
        assert_eq!(alloc(&mut arenas, rest - 1, 1), 4120 + 4005);
        assert_eq!(alloc(&mut arenas, 4004, 1), 100);
        assert_eq!(alloc(&mut arenas, 1, 1), HUGE_PAGE as u64 - 1);
        assert_eq!(alloc(&mut arenas, 1, 1), 2 * HUGE_PAGE as u64);
        assert_eq!(arenas.iter().map(|(base, _)| base).collect::<Vec<_>>(), [base, base + 2 * HUGE_PAGE as u64]);
        // Addresses belong to the arena that has them.
        arenas.write(base + HUGE_PAGE as u64 - 1, &[7]).unwrap();
        arenas.write(base + 2 * HUGE_PAGE as u64, &[8]).unwrap();
        let mut byte = [0];
        arenas.read(base + HUGE_PAGE as u64 - 1, &mut byte).unwrap();
        assert_eq!(byte, [7]);
        for outside in [base - 1, base + HUGE_PAGE as u64, base + 3 * HUGE_PAGE as u64, u64::MAX] {
            let sentence = format!("host memory: {outside:#x} lies in no memory that was allocated for the card");
            assert_eq!(arenas.read(outside, &mut byte).unwrap_err().to_string(), sentence);
            assert_eq!(arenas.write(outside, &byte).unwrap_err().to_string(), sentence);
        }
        let sentence = arenas.free(base + 1).unwrap_err().to_string();
        assert!(sentence.contains("nothing was allocated at 0x100000001"), "{sentence}");
    }

    #[test]
    fn what_was_given_back_comes_again_with_zeros() {
        let (mut arenas, mut next) = (Arenas::default(), 4u64 << 30);
        let address = arenas.alloc(64, 64, grow(&mut next)).unwrap();
        arenas.write(address, &[0xFF; 64]).unwrap();
        arenas.free(address).unwrap();
        assert_eq!(arenas.alloc(64, 64, |_| unreachable!("there is room")).unwrap(), address);
        let mut bytes = [1; 64];
        arenas.read(address, &mut bytes).unwrap();
        assert_eq!(bytes, [0; 64]);
    }

    #[test]
    fn sizes_and_alignments_that_cannot_be_are_refused() {
        let mut arenas = Arenas::default();
        let most = isize::MAX as usize / 2;
        for (bytes, align) in [(1, 0), (1, 3), (most + 1, 1), (usize::MAX, 64), (1, 1 << 62), (1, 1 << 63)] {
            let error = arenas.alloc(bytes, align, |_| unreachable!("it is refused before")).unwrap_err().to_string();
            assert_eq!(
                error,
                format!("host memory: {bytes} bytes aligned to {align} cannot be had; align to a power of two")
            );
        }
        // Memory that is less than was asked for, and none.
        let error = arenas.alloc(2 * HUGE_PAGE, 64, |_| Ok((SharedMemory::new(1)?, 4 << 30))).unwrap_err().to_string();
        assert!(error.contains("an arena of 4194304 bytes is too small"), "{error}");
        let error = arenas.alloc(2 * HUGE_PAGE, 64, |_| Err(Error::Memory("none".into()))).unwrap_err().to_string();
        assert_eq!(error, "host memory: none");
        assert_eq!(arenas.alloc(1, 1, |_| unreachable!("the small one is there")).unwrap(), 4 << 30);
        // A larger alignment needs more memory, a huge page does not.
        let mut asked = Vec::new();
        for (bytes, align) in [(HUGE_PAGE, HUGE_PAGE), (1, 2 * HUGE_PAGE)] {
            let _ = arenas.alloc(bytes, align, |bytes| {
                asked.push(bytes);
                Err(Error::Memory("none".into()))
            });
        }
        assert_eq!(asked, [HUGE_PAGE, 2 * HUGE_PAGE + 1]);
    }
}
