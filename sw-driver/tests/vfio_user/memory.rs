//! Memory of clients: what is reached, and that nothing else is.

use crate::copy;
use crate::dummy::{Served, SCRATCH};
use crate::hostile::works;
use rustix::fs::{fcntl_add_seals, ftruncate, memfd_create, MemfdFlags, SealFlags};
use rustix::io::Errno;
use spindle::transport::vfio_user::UserCard;
use spindle::vfio_user::Client;
use spindle::{Bar, Card, HostMemory};
use std::fs::File;
use std::ops::Range;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::fs::FileExt;

const BASE: u64 = 0x10_0000_0000;
const PAGE: u64 = 4096;
const GUARD: u8 = 0xA5;

fn failed(error: Errno) -> u32 {
    0x8000_0000 | error.raw_os_error() as u32
}

/// A file of guard bytes.
fn guarded(pages: u64, seals: SealFlags) -> File {
    let fd = memfd_create("test", MemfdFlags::ALLOW_SEALING | MemfdFlags::CLOEXEC).unwrap();
    let file = File::from(fd);
    file.write_all_at(&vec![GUARD; (pages * PAGE) as usize], 0).unwrap();
    fcntl_add_seals(&file, seals).unwrap();
    file
}

/// Offsets at which a file has no guard byte.
fn changed(file: &File) -> Option<Range<u64>> {
    let mut bytes = vec![0; file.metadata().unwrap().len() as usize];
    file.read_exact_at(&mut bytes, 0).unwrap();
    let first = bytes.iter().position(|byte| *byte != GUARD)? as u64;
    Some(first..bytes.iter().rposition(|byte| *byte != GUARD).unwrap() as u64 + 1)
}

#[test]
fn what_is_not_mapped_is_not_written() {
    let served = Served::new();
    let mut card = UserCard::open(&served.path()).unwrap();
    let source = card.alloc(2 * PAGE as usize, 64).unwrap();
    // Sealed: mapped. Not sealed: written by calls. Both between guards.
    for seals in [SealFlags::SHRINK, SealFlags::empty()] {
        let file = guarded(4, seals);
        card.map_file(file.as_fd(), PAGE, &(BASE..BASE + PAGE)).unwrap();
        for (to, bytes) in [
            (BASE - 1, 2),
            (BASE - PAGE, 64),
            (BASE + PAGE - 63, 64),
            (BASE + PAGE, 1),
            (BASE - PAGE, 3 * PAGE as u32 / 2),
            (0, 64),
            (u64::MAX - 10, 64),
        ] {
            assert_eq!(copy(&mut card, source, to, bytes, 0), failed(Errno::FAULT), "{to:#x}");
            assert_eq!(changed(&file), None, "{to:#x}: a part of a refused write was written");
        }
        assert_eq!(copy(&mut card, source, BASE + 10, 20, 0), 1);
        assert_eq!(changed(&file), Some(PAGE + 10..PAGE + 30));
        card.unmap_file(&(BASE..BASE + PAGE)).unwrap();
        file.write_all_at(&[GUARD; 64], PAGE).unwrap();
        assert_eq!(copy(&mut card, source, BASE + 10, 20, 0), failed(Errno::FAULT));
        assert_eq!(changed(&file), None, "written after the reply to an unmap");
    }
}

#[test]
fn a_master_that_is_off_and_rights_that_lack_stop_writes() {
    let served = Served::new();
    let mut client = Client::connect(&served.path()).unwrap();
    let file = guarded(1, SealFlags::SHRINK);
    client.map(file.as_fd(), 0, &(BASE..BASE + PAGE)).unwrap();
    let memory = &served.host.memory;
    assert_eq!(memory.write(BASE, &[1]), Err(Errno::ACCESS));
    client.write(7, 4, &4u16.to_le_bytes()).unwrap();
    memory.write(BASE, &[1]).unwrap();
    // Asleep.
    client.write(7, 0x44, &3u16.to_le_bytes()).unwrap();
    assert_eq!(memory.write(BASE + 1, &[1]), Err(Errno::ACCESS));
    client.write(7, 0x44, &0u16.to_le_bytes()).unwrap();
    memory.write(BASE + 1, &[1]).unwrap();
    // A function-level reset.
    client.write(7, 0x58, &0x8000u16.to_le_bytes()).unwrap();
    assert_eq!(memory.write(BASE + 2, &[1]), Err(Errno::ACCESS));
    assert_eq!(served.resets.load(std::sync::atomic::Ordering::Relaxed), 1);
    assert_eq!(changed(&file), Some(0..2));
}

#[test]
fn maps_overlap_nowhere_and_unmaps_cover_whole_maps() {
    let served = Served::new();
    let mut client = Client::connect(&served.path()).unwrap();
    let file = guarded(8, SealFlags::SHRINK);
    let pages = |range: Range<u64>| BASE + range.start * PAGE..BASE + range.end * PAGE;
    client.map(file.as_fd(), 0, &pages(2..4)).unwrap();
    client.map(file.as_fd(), 0, &pages(4..6)).unwrap();
    for overlap in [1..3, 3..4, 5..7, 0..8, 2..4] {
        assert!(client.map(file.as_fd(), 0, &pages(overlap.clone())).is_err(), "{overlap:?}");
    }
    let reach_end = client.map(file.as_fd(), 7 * PAGE, &pages(10..12));
    assert!(reach_end.is_err(), "beyond the end of a sealed file");
    let empty = BASE..BASE;
    assert!(client.map(file.as_fd(), 0, &empty).is_err());
    assert!(client.map(file.as_fd(), u64::MAX, &pages(10..12)).is_err());
    assert!(client.unmap(&pages(3..6)).is_err(), "a part of a map");
    assert_eq!(served.host.memory.ranges(), [pages(2..4), pages(4..6)]);
    client.unmap(&pages(100..200)).unwrap();
    client.unmap(&(BASE..0xFFFF_FFFF_0110_0000)).unwrap();
    assert!(served.host.memory.ranges().is_empty());
}

#[test]
fn a_file_of_many_maps_is_mapped_once() {
    let served = Served::new();
    let mut card = UserCard::open(&served.path()).unwrap();
    let file = guarded(1026, SealFlags::SHRINK);
    for page in 0..1026 {
        let start = BASE + page * PAGE;
        let other: OwnedFd = file.as_fd().try_clone_to_owned().unwrap();
        card.map_file(other.as_fd(), (1025 - page) * PAGE, &(start..start + PAGE)).unwrap();
    }
    assert_eq!((served.host.memory.ranges().len(), served.host.memory.mapped_files()), (1026, 1));
    // An access over many maps, which lie the other way round in the file.
    let source = card.alloc(10 * PAGE as usize, 64).unwrap();
    card.write(source, &vec![1; 10 * PAGE as usize]).unwrap();
    assert_eq!(copy(&mut card, source, BASE + PAGE / 2, 8 * PAGE as u32, 0), 1);
    assert_eq!(changed(&file), Some(1017 * PAGE..1026 * PAGE));
    card.unmap_file(&(BASE..BASE + 1026 * PAGE)).unwrap();
    assert_eq!(served.host.memory.mapped_files(), 1, "the card's own arena");
}

#[test]
fn a_file_that_shrinks_is_an_error_of_its_accesses() {
    let served = Served::new();
    let mut card = UserCard::open(&served.path()).unwrap();
    let source = card.alloc(PAGE as usize, 64).unwrap();
    let file = guarded(4, SealFlags::empty());
    card.map_file(file.as_fd(), 0, &(BASE..BASE + 4 * PAGE)).unwrap();
    assert_eq!(copy(&mut card, source, BASE + 2 * PAGE, PAGE as u32, 0), 1);
    ftruncate(&file, PAGE).unwrap();
    assert_eq!(copy(&mut card, BASE + 2 * PAGE, source, PAGE as u32, 0), failed(Errno::IO));
    assert_eq!(copy(&mut card, BASE, source, PAGE as u32, 0), 1, "what is left of it is reached");
    card.write32(SCRATCH, 3).unwrap();
    assert_eq!(card.read32(SCRATCH).unwrap(), 3);
    // A sealed one cannot shrink.
    let sealed = guarded(4, SealFlags::SHRINK);
    assert_eq!(ftruncate(&sealed, PAGE), Err(Errno::PERM));
    drop(card);
    works(&served);
}

#[test]
fn files_that_cannot_be_written_are_errors() {
    let served = Served::new();
    let mut card = UserCard::open(&served.path()).unwrap();
    let source = card.alloc(64, 64).unwrap();
    let path = served.path().with_file_name("read-only");
    std::fs::write(&path, vec![GUARD; 4096]).unwrap();
    let file = File::open(&path).unwrap();
    card.map_file(file.as_fd(), 0, &(BASE..BASE + PAGE)).unwrap();
    assert_eq!(copy(&mut card, source, BASE, 64, 0), failed(Errno::IO));
    assert_eq!(copy(&mut card, BASE, source, 64, 0), 1);
    assert_eq!(changed(&file), None);
    let (read, _write) = std::io::pipe().unwrap();
    card.map_file(read.as_fd(), 0, &(BASE + PAGE..BASE + 2 * PAGE)).unwrap();
    assert_eq!(copy(&mut card, BASE + PAGE, source, 64, 0), failed(Errno::IO));
    assert_eq!(card.read32(0).unwrap(), spindle_contract::registers::MAGIC);
}
