//! A client of vfio-user and whatever a server answers: every call ends with a value that the caller can use, or with an
//! error; once the server is gone it stays gone.

use spindle::transport::vfio_user::UserCard;
use spindle::vfio_user::message::*;
use spindle::vfio_user::Client;
use spindle::{Bar, Card, Error, HostMemory};
use spindle_fuzz::Source;
use std::io::Write;
use std::net::Shutdown;
use std::os::unix::net::UnixStream;
use std::time::Duration;

/// A server answers at once, or is gone: nothing waits in this test.
const LIMIT: Duration = Duration::from_secs(20);

/// Bodies of answers to the requests with which a card is opened, in their order, and those that follow.
fn bodies(source: &mut Source) -> Vec<Vec<u8>> {
    let mut own = Capabilities::own();
    match source.below(6) {
        0 => own.window = Some([source.number(), source.number()]),
        1 => own.process = Some(source.number() as usize),
        2 => own.max_msg_fds = source.word(),
        _ => own.window = Some([4 << 30, 8 << 30]),
    }
    let region = |bytes: u64, index: u32| {
        RegionInfo { argsz: RegionInfo::BYTES as u32, flags: 3, index, cap_offset: 0, size: bytes, offset: 0 }.bytes()
    };
    let read = |data: &[u8]| {
        let access = RegionAccess { offset: 0, region: 0, count: data.len() as u32 };
        [access.bytes(), data.to_vec()].concat()
    };
    let regions = if source.chance(3) { 10 } else { 9 };
    let mut bodies = vec![version_body(own), DeviceInfo { argsz: 16, flags: 3, regions, irqs: 5 }.bytes()];
    bodies.push(region(1 << 20, 0));
    if regions > 9 {
        bodies.push(region(24, 9));
    }
    bodies.push(read(&[0x34, 0x12, 0xF0, 0x10]));
    let vectors = if source.chance(4) { source.word() } else { 16 };
    bodies.push(IrqInfo { argsz: 16, flags: 1, index: 2, count: vectors }.bytes());
    bodies.push(RegionAccess { offset: 4, region: 7, count: 2 }.bytes());
    let errors = u32::from(source.chance(2));
    bodies.push(IrqInfo { argsz: 16, flags: 1, index: 3, count: errors }.bytes());
    for _ in 0..10 {
        let body = match source.below(6) {
            0 => Vec::new(),
            1 => region(source.number(), source.below(12) as u32),
            2 => IrqInfo { argsz: 16, flags: 1, index: 2, count: source.word() }.bytes(),
            3 => {
                let entry =
                    IoEventFd { offset: source.number(), size: 4, fd: source.word(), flags: 1, ..IoEventFd::default() };
                let head = RegionIoFds { argsz: 56, flags: 0, index: 0, count: source.word() };
                [head.bytes(), entry.bytes()].concat()
            }
            4 => read(&source.bytes(12)),
            _ => read(&source.word().to_le_bytes()),
        };
        bodies.push(body);
    }
    bodies
}

/// Everything that the server sends.
fn answers(source: &mut Source) -> Vec<u8> {
    let mut bytes = Vec::new();
    for (number, body) in bodies(source).into_iter().enumerate() {
        let body = if source.chance(12) { source.mutated(&body) } else { body };
        let mut header = Header {
            id: number as u16 + 1,
            command: 0,
            size: (Header::BYTES + body.len()) as u32,
            flags: flags::REPLY,
            error: 0,
        };
        match source.below(60) {
            0 => (header.flags, header.error) = (flags::REPLY | flags::ERROR, source.word()),
            1 => header.flags = flags::REQUEST,
            2 => header.id = source.word() as u16,
            3 => header.size = source.word(),
            _ => {}
        }
        bytes.extend(header.bytes());
        bytes.extend(body);
    }
    if source.chance(6) {
        source.mutated(&bytes)
    } else {
        bytes
    }
}

/// Calls of a client, then of the card over it.
fn use_client(mut client: Client, source: &mut Source) -> bool {
    for _ in 0..4 {
        match source.below(7) {
            0 => drop(client.info()),
            1 => drop(client.region(source.word())),
            2 => {
                let mut bytes = [0; 12];
                drop(client.read(0, source.number(), &mut bytes));
            }
            3 => drop(client.write(0, source.number(), &[1, 2, 3, 4])),
            4 => drop(client.interrupts(2)),
            5 => {
                if let Ok(doorbells) = client.doorbells(0) {
                    assert!(doorbells.is_empty(), "no descriptor came with the answer");
                }
            }
            _ => drop(client.reset()),
        }
    }
    let lost = matches!(client.info(), Err(Error::Gone { .. }));
    if lost {
        assert!(matches!(client.write(0, 0, &[0]), Err(Error::Gone { .. })), "once gone, a server is gone");
    }
    !lost
}

fn use_card(client: Client, source: &mut Source) -> bool {
    let Ok(mut card) = UserCard::over(client) else { return false };
    for _ in 0..4 {
        match source.below(8) {
            0 => drop(card.read32(source.word() & 0xF_FFFF)),
            1 => drop(card.write32(source.word(), 7)),
            2 => drop(card.alloc(source.below(8192) + 1, 64)),
            3 => drop(card.interrupt(source.word() as usize)),
            4 => drop(card.kick(source.word(), source.word())),
            5 => drop(card.pause(source.below(500) as u64)),
            6 => {
                let start = source.number();
                let range = start..start.saturating_add(source.number());
                if card.map(&range).is_ok() {
                    drop(card.unmap(&range));
                }
            }
            _ => assert!(card.vectors() <= 2048, "{} vectors", card.vectors()),
        }
    }
    true
}

#[test]
fn fuzz_vfio_user_client() {
    spindle_fuzz::run("vfio_user_client", 2500, |source| {
        let (ours, mut server) = UnixStream::pair().expect("sockets can be had");
        let answers = answers(source);
        server.set_nonblocking(true).expect("a socket need not block");
        // What does not fit was not needed.
        let _ = server.write_all(&answers);
        let _ = server.shutdown(Shutdown::Write);
        match Client::over(ours, "unix:test".into(), LIMIT) {
            Ok(client) if source.chance(3) => use_client(client, source),
            Ok(client) => use_card(client, source),
            Err(error) => {
                assert!(!error.to_string().is_empty());
                false
            }
        }
    });
}
