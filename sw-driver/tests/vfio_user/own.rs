//! Own client and own server.

use crate::dummy::{Served, DONE, KICK, REFUSES, SCRATCH};
use crate::{copy, soon};
use rustix::io::Errno;
use spindle::transport::vfio_user::UserCard;
use spindle::vfio_user::Client;
use spindle::{irq, open, Bar, Card, Error, HostMemory};
use spindle_contract::{pci, registers};
use std::sync::atomic::Ordering;
use std::time::Duration;

const LIMIT: Duration = Duration::from_secs(5);

#[test]
fn registers_identity_and_time() {
    let served = Served::new();
    let card = open(&format!("unix:{}", served.path().display())).unwrap();
    let mut card = card.lock();
    let identity = card.identity();
    assert_eq!((identity.transport, identity.pci), ("vfio-user", Some((pci::VENDOR, pci::DEVICE))));
    assert_eq!(card.read32(0).unwrap(), registers::MAGIC);
    for value in [0, 1, u32::MAX, 0x1234_5678] {
        card.write32(SCRATCH, value).unwrap();
        assert_eq!(card.read32(SCRATCH).unwrap(), value);
    }
    assert!(matches!(card.read32(REFUSES).unwrap_err(), Error::Bar { address: REFUSES, .. }));
    assert!(card.read32(2).is_err() && card.read32(1 << 20).is_err() && card.write32(1 << 20, 0).is_err());
    assert_eq!(card.read32(SCRATCH).unwrap(), 0x1234_5678, "a refusal ends nothing");
    assert!(card.time_moves_by_calls());
    assert_eq!((card.vectors(), card.process()), (pci::VECTORS, None));
}

#[test]
fn a_pause_is_so_many_cycles() {
    let served = Served::new();
    let mut client = Client::connect(&served.path()).unwrap();
    let cycle = |client: &mut Client| {
        let mut cycle = [0; 8];
        client.read(pci::TIME_REGION as u32, pci::TIME_CYCLE, &mut cycle).unwrap();
        u64::from_le_bytes(cycle)
    };
    assert_eq!(cycle(&mut client), 0);
    let run = 1 + pci::TIME_MOST;
    assert!(client.write(pci::TIME_REGION as u32, pci::TIME_RUN, &run.to_le_bytes()).is_err());
    drop(client);
    let served = Served::with(|dummy| dummy.cycle = 5);
    let mut card = UserCard::open(&served.path()).unwrap();
    card.pause(10_000).unwrap();
    drop(card);
    soon("the connection ends", || {
        let Ok(mut client) = Client::connect(&served.path()) else { return false };
        cycle(&mut client) == 10_005
    });
}

#[test]
fn memory_of_the_card_and_of_the_program() {
    let served = Served::new();
    let mut card = UserCard::open(&served.path()).unwrap();
    let from = card.alloc(5000, 64).unwrap();
    let to = card.alloc(5000, 4096).unwrap();
    let data: Vec<u8> = (0..5000).map(|i| (i * 31 % 251) as u8).collect();
    card.write(from, &data).unwrap();
    assert_eq!(copy(&mut card, from, to, 5000, 0), 1);
    let mut back = vec![0; 5000];
    card.read(to, &mut back).unwrap();
    assert_eq!(back, data);
    assert!(from >= 4 << 30);

    // Memory of the program at its own address: not before it is mapped, and not after.
    let heap = vec![0x5Au8; 9000];
    let range = heap.as_ptr() as u64 + 1000..heap.as_ptr() as u64 + 6000;
    let refused = 0x8000_0000 | Errno::FAULT.raw_os_error() as u32;
    assert_eq!(copy(&mut card, from, range.start, 5000, 0), refused);
    card.map(&range).unwrap();
    assert_eq!(copy(&mut card, from, range.start, 5000, 0), 1);
    let mut seen = vec![0; 9000];
    read_own(heap.as_ptr() as u64, &mut seen);
    assert!(seen[..1000] == [0x5A; 1000] && seen[1000..6000] == data && seen[6000..] == [0x5A; 3000]);
    card.unmap(&range).unwrap();
    assert_eq!(copy(&mut card, to, range.start, 5000, 0), refused);
    card.free(from).unwrap();
    assert!(card.free(from).is_err());
    assert_eq!(card.alloc(5000, 64).unwrap(), from, "what was given back comes again");
}

/// Reads memory that the card writes, which no reference does.
fn read_own(address: u64, bytes: &mut [u8]) {
    use std::os::unix::fs::FileExt;
    std::fs::File::open("/proc/self/mem").unwrap().read_exact_at(bytes, address).unwrap();
}

#[test]
fn each_vector_has_its_eventfd_and_a_reset_keeps_them() {
    let served = Served::new();
    let mut card = UserCard::open(&served.path()).unwrap();
    let memory = card.alloc(4096, 64).unwrap();
    let fds: Vec<_> = (0..pci::VECTORS).map(|vector| card.interrupt(vector).unwrap()).collect();
    assert!(card.interrupt(pci::VECTORS).is_err());
    for round in 0..2 {
        for (vector, fd) in fds.iter().enumerate() {
            assert_eq!(copy(&mut card, memory, memory + 64, 64, vector as u32), 1);
            assert_eq!(irq::wait(fd, LIMIT).unwrap(), 1, "vector {vector} in round {round}");
            assert!(fds.iter().all(|fd| irq::take(fd) == 0));
        }
        card.write32(SCRATCH, 7).unwrap();
        card.reset().unwrap();
        assert_eq!((card.read32(SCRATCH).unwrap(), card.read32(DONE).unwrap()), (0, 0));
    }
}

#[test]
fn an_eventfd_rings_a_register() {
    let served = Served::new();
    let mut card = UserCard::open(&served.path()).unwrap();
    assert!(card.kick(SCRATCH, 1).unwrap().is_none() && card.kick(KICK, 2).unwrap().is_none());
    let kick = card.kick(KICK, 1).unwrap().expect("the dummy has this doorbell");
    assert_eq!(card.read32(KICK).unwrap(), 0);
    assert!(irq::signal(&kick));
    soon("the register is written", || card.read32(KICK).unwrap() == 1);
}

#[test]
fn one_client_at_a_time_and_one_after_another() {
    let served = Served::new();
    for round in 0..4 {
        let mut card = UserCard::open(&served.path()).unwrap();
        let begin = std::time::Instant::now();
        for _ in 0..10 {
            let error = UserCard::open(&served.path()).unwrap_err();
            assert!(matches!(error, Error::Busy { .. }), "{error}");
        }
        assert!(begin.elapsed() < LIMIT);
        assert_eq!(card.read32(SCRATCH).unwrap(), 0, "the card was reset in between");
        card.write32(SCRATCH, 9).unwrap();
        let memory = card.alloc(64, 64).unwrap();
        assert_eq!(copy(&mut card, memory, memory, 64, 0), 1);
        drop(card);
        soon("the server notices the end", || served.resets.load(Ordering::Relaxed) > round);
        assert!(served.host.memory.ranges().is_empty());
    }
}

#[test]
fn a_bound_address_is_busy_and_a_stale_one_is_taken() {
    use spindle::config_space::Layout;
    use spindle::vfio_user::{Host, Server};
    let served = Served::new();
    let again = Server::bind(&served.path(), Layout::CARD, Host::new(1)).unwrap_err();
    assert!(matches!(again, Error::Busy { .. }), "{again}");
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("stale.sock");
    drop(std::os::unix::net::UnixListener::bind(&path).unwrap());
    assert!(path.exists());
    drop(Server::bind(&path, Layout::CARD, Host::new(1)).unwrap());
    assert!(!path.exists(), "a server takes its socket away");
    std::fs::write(&path, "a file").unwrap();
    assert!(Server::bind(&path, Layout::CARD, Host::new(1)).is_err());
    assert_eq!(std::fs::read_to_string(&path).unwrap(), "a file");
}
