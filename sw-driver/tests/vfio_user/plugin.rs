//! Cards of a shared library, and cards of several owners. The library's cards are served ones.

use crate::copy;
use crate::dummy::{Served, DONE, SCRATCH};
use spindle::plugin::{Factory, PluginCard, Table, ABI};
use spindle::transport::vfio_user::UserCard;
use spindle::vfio_user::Client;
use spindle::{open, Bar, Card, Error, HostMemory, Result};
use spindle_contract::pci;
use std::os::fd::AsFd;
use std::path::Path;

/// Opens the socket of an address, or fails as the address names.
struct Sockets;

impl Factory for Sockets {
    fn open(address: &str, node: u32) -> Result<Box<dyn Card>> {
        match address {
            "argument" => Err(Error::Argument(format!("no node {node}"))),
            "memory" => Err(Error::Memory("there is none".into())),
            "panic" => panic!("as the test wants it"),
            "long" => Err(Error::Plugin("x".repeat(2000))),
            "zeros" => Err(Error::Plugin("a\0b".into())),
            path => Ok(Box::new(UserCard::open(Path::new(path))?)),
        }
    }
}

static TABLE: Table = Table::of::<Sockets>();

fn plugin(address: &str) -> Result<PluginCard> {
    // SAFETY: the table is that of this program.
    unsafe { PluginCard::open(&TABLE, address, 7) }
}

#[test]
fn errors_of_a_library_keep_their_kind_and_sentence() {
    let error = |address: &str| plugin(address).err().expect("it is refused");
    let argument = error("argument");
    assert!(matches!(&argument, Error::Argument(text) if text == "no node 7"), "{argument}");
    let memory = error("memory");
    assert!(matches!(&memory, Error::Memory(text) if text == "there is none"), "{memory}");
    let panic = error("panic");
    assert!(matches!(&panic, Error::Plugin(text) if text.contains("reason is on standard error")), "{panic}");
    let long = error("long");
    assert!(matches!(&long, Error::Plugin(text) if *text == "x".repeat(511)), "{long}");
    let zeros = error("zeros");
    assert!(matches!(&zeros, Error::Plugin(text) if text == "a b"), "{zeros}");
    let absent = error("/nonexistent/nic0.sock");
    assert!(matches!(&absent, Error::Plugin(text) if text.contains("start `spindle serve`")), "{absent}");
    let address = error("a\0b");
    assert!(matches!(&address, Error::Argument(text) if text == "an address has no zero bytes"), "{address}");
}

#[test]
fn a_library_of_another_layout_is_refused() {
    let words = [ABI + 1; 64];
    // SAFETY: of another layout only the first word is read.
    let refused = unsafe { PluginCard::open(words.as_ptr().cast(), "argument", 0) };
    assert_eq!(
        refused.err().expect("it is refused").to_string(),
        "the library of the card has interface 2, this program has 1; install both from one release"
    );
}

#[test]
fn every_call_reaches_the_card_of_the_library() {
    let served = Served::with(|dummy| dummy.cycle = 5);
    let path = served.path().display().to_string();
    let mut card = plugin(&path).unwrap();
    let identity = card.identity();
    assert_eq!((identity.address.as_str(), identity.transport, identity.pci), (path.as_str(), "sim", None));
    assert_eq!((card.vectors(), card.process(), card.time_moves_by_calls()), (0, None, true));
    assert_eq!(card.interrupt(0).unwrap_err().to_string(), "this card has no interrupts; poll");
    assert!(card.kick(SCRATCH, 1).unwrap().is_none());
    card.write32(SCRATCH, 0x1234).unwrap();
    assert_eq!(card.read32(SCRATCH).unwrap(), 0x1234);
    assert!(card.read32(2).is_err() && card.write32(2, 0).is_err());

    let from = card.alloc(100, 64).unwrap();
    let to = card.alloc(100, 4096).unwrap();
    assert_eq!((from % 64, to % 4096), (0, 0));
    let data: Vec<u8> = (1..101).collect();
    card.write(from, &data).unwrap();
    assert_eq!(copy(&mut card, from, to, 100, 0), 1);
    let mut back = vec![0; 100];
    card.read(to, &mut back).unwrap();
    assert_eq!(back, data);
    assert!(card.alloc(1, 3).is_err() && card.read(1, &mut [0]).is_err() && card.write(1, &[0]).is_err());
    card.free(to).unwrap();
    assert!(card.free(to).is_err());

    let own = vec![0u8; 4096];
    let range = own.as_ptr() as u64..own.as_ptr() as u64 + 64;
    assert_ne!(copy(&mut card, from, range.start, 64, 0), 1);
    card.map(&range).unwrap();
    assert_eq!(copy(&mut card, from, range.start, 64, 0), 1);
    card.unmap(&range).unwrap();
    assert_ne!(copy(&mut card, from, range.start, 64, 0), 1);
    assert!(card.unmap(&range).is_err());
    let refused = card.map_file(std::fs::File::open("/dev/null").unwrap().as_fd(), 0, &range).unwrap_err().to_string();
    assert!(refused.starts_with("the transport sim cannot give the card memory of another program"), "{refused}");

    card.pause(9000).unwrap();
    card.reset().unwrap();
    assert_eq!((card.read32(SCRATCH).unwrap(), card.read32(DONE).unwrap()), (0, 0));
    drop(card);
    crate::soon("the connection has ended with the card", || {
        let Ok(mut client) = Client::connect(&served.path()) else { return false };
        let mut cycle = [0; 8];
        client.read(pci::TIME_REGION as u32, pci::TIME_CYCLE, &mut cycle).unwrap();
        u64::from_le_bytes(cycle) == 9005
    });
}

#[test]
fn owners_of_a_card_have_the_same_registers_and_memory() {
    let served = Served::new();
    let mut card = open(&format!("unix:{}", served.path().display())).unwrap();
    let mut other = card.clone();
    card.write32(SCRATCH, 7).unwrap();
    assert_eq!(other.read32(SCRATCH).unwrap(), 7);
    let memory = card.alloc(64, 64).unwrap();
    HostMemory::write(&mut other, memory, b"spindle").unwrap();
    let mut back = [0; 7];
    HostMemory::read(&card, memory, &mut back).unwrap();
    assert_eq!(&back, b"spindle");
    other.free(memory).unwrap();
    assert!(card.free(memory).is_err());
    assert!(card.read32(2).is_err() && card.write32(2, 0).is_err() && card.alloc(1, 3).is_err());
    assert_eq!(format!("{other:?}"), format!("SharedCard({:?})", card.lock().identity()));
}
