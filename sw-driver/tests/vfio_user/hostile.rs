//! Peers that hang, die, flood, or break the protocol; cards that leave.

use crate::dummy::{Dummy, Served, SCRATCH};
use crate::soon;
use rustix::io::Errno;
use spindle::config_space::Layout;
use spindle::transport::vfio_user::UserCard;
use spindle::vfio_user::channel::Channel;
use spindle::vfio_user::message::*;
use spindle::vfio_user::{Client, Host, Server};
use spindle::{Bar, Card, Error, HostMemory};
use std::io::{Read, Write};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::Path;
use std::time::{Duration, Instant};

/// A client that sends what a test gives it.
pub struct Raw(pub UnixStream);

impl Raw {
    pub fn connect(path: &Path) -> Raw {
        let stream = UnixStream::connect(path).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(5))).unwrap();
        Raw(stream)
    }

    /// Connected, with the version agreed. A server that has not noticed the end of the client before is tried again.
    pub fn agreed(path: &Path) -> Raw {
        for _ in 0..1000 {
            let mut raw = Raw::connect(path);
            raw.send(Command::Version as u16, 0, &version_body(Capabilities::default()));
            let (header, body) = raw.receive().expect("an answer to VERSION");
            if header.error as i32 != Errno::BUSY.raw_os_error() {
                assert_eq!((header.flags, parse_version(&body).unwrap().0.minor), (flags::REPLY, MINOR));
                return raw;
            }
            std::thread::sleep(Duration::from_millis(2));
        }
        panic!("the server has a client all the time");
    }

    pub fn send(&mut self, command: u16, flags: u32, body: &[u8]) {
        let size = (Header::BYTES + body.len()) as u32;
        let header = Header { id: command ^ 0x1234, command, size, flags, error: 0 };
        self.0.write_all(&[&header.bytes()[..], body].concat()).unwrap();
    }

    /// A reply; `None`: the server has closed the connection.
    pub fn receive(&mut self) -> Option<(Header, Vec<u8>)> {
        let mut bytes = [0; Header::BYTES];
        self.0.read_exact(&mut bytes).ok()?;
        let header = Header::parse(&bytes).unwrap();
        let mut body = vec![0; header.size as usize - Header::BYTES];
        self.0.read_exact(&mut body).ok()?;
        Some((header, body))
    }

    /// The errno of the reply to a request; 0: no error.
    pub fn errno(&mut self, command: u16, body: &[u8]) -> i32 {
        self.send(command, 0, body);
        let (header, _) = self.receive().expect("a reply");
        assert_eq!((header.id, header.command), (command ^ 0x1234, command));
        assert_eq!(header.flags & flags::ERROR != 0, header.error != 0);
        header.error as i32
    }
}

/// Whether another client can use the card.
pub fn works(served: &Served) {
    assert!(served.lives());
    soon("another client can use the card", || {
        let Ok(mut card) = UserCard::open(&served.path()) else { return false };
        card.write32(SCRATCH, 77).unwrap();
        card.read32(SCRATCH).unwrap() == 77
    });
}

#[test]
fn a_client_that_breaks_the_protocol_is_answered_or_left() {
    let served = Served::new();
    let mut raw = Raw::agreed(&served.path());
    let unsupported = Errno::OPNOTSUPP.raw_os_error();
    let invalid = Errno::INVAL.raw_os_error();
    // Unknown requests: their bodies are passed over.
    for (command, body) in [(0, 100), (14, 16), (99, 4000), (u16::MAX, 0), (11, 16), (12, 20)] {
        assert_eq!(raw.errno(command, &vec![0x55; body]), unsupported, "command {command}");
    }
    // Bodies that are too short, and a second VERSION.
    for command in [1, 2, 3, 5, 6, 7, 8, 9, 10] {
        assert_eq!(raw.errno(command, &[0; 3]), invalid, "command {command}");
    }
    let access = |offset: u64, region: u32, count: u32| RegionAccess { offset, region, count }.bytes();
    for (offset, region, count) in [
        (1 << 20, 0, 4),
        ((1 << 20) - 2, 0, 4),
        (u64::MAX, 0, 4),
        (0, 1, 4),
        (0, 10, 4),
        (0, u32::MAX, 4),
        (0, 0, 0),
        (0, 0, u32::MAX),
        (4094, 7, 4),
    ] {
        assert_eq!(raw.errno(9, &access(offset, region, count)), invalid, "{offset:#x} of {region}, {count}");
    }
    assert_eq!(raw.errno(10, &[&access(0, 0, 8)[..], &[0; 4]].concat()), invalid, "fewer bytes than announced");
    let irqs = |index, start, count, flags| SetIrqs { argsz: 20, flags, index, start, count }.bytes();
    for (index, start, count, flags) in [
        (5, 0, 1, 0x21),
        (2, 0, 17, 0x21),
        (2, u32::MAX, 2, 0x21),
        (2, 0, 1, 0x24 | 3),
        (2, 0, 4, 0x22),
        (0, 0, 1, 0x21),
    ] {
        assert_eq!(raw.errno(8, &irqs(index, start, count, flags)), invalid, "{index} {start} {count} {flags:#x}");
    }
    assert_eq!(raw.errno(13, &[]), 0, "the stream is still in step");
    drop(raw);
    works(&served);
}

#[test]
fn sizes_that_cannot_be_end_the_connection() {
    let served = Served::new();
    for size in [0, 15, MAX_MESSAGE as u32 + 1, u32::MAX] {
        let mut raw = Raw::agreed(&served.path());
        let header = Header { id: 9, command: 9, size, flags: 0, error: 0 };
        raw.0.write_all(&header.bytes()).unwrap();
        let (header, _) = raw.receive().expect("an answer");
        assert_eq!((header.id, header.error as i32), (9, Errno::MSGSIZE.raw_os_error()));
        assert!(raw.receive().is_none(), "the connection ends");
    }
    let mut raw = Raw::connect(&served.path());
    assert_eq!(raw.errno(13, &[]), Errno::INVAL.raw_os_error(), "a request before the version");
    assert!(raw.receive().is_none());
    let mut raw = Raw::connect(&served.path());
    assert_eq!(raw.errno(1, &[9, 0, 0, 0]), Errno::OPNOTSUPP.raw_os_error(), "another major version");
    assert!(raw.receive().is_none());
    let mut raw = Raw::agreed(&served.path());
    raw.send(9, flags::REPLY, &[]);
    assert!(raw.receive().is_none(), "a reply to nothing");
    works(&served);
}

#[test]
fn a_message_may_come_byte_by_byte_and_many_at_once() {
    let served = Served::new();
    let mut raw = Raw::agreed(&served.path());
    let access = RegionAccess { offset: 0, region: 7, count: 2 }.bytes();
    let header = Header { id: 5, command: 9, size: 32, flags: 0, error: 0 };
    let message = [header.bytes(), access].concat();
    for byte in &message {
        raw.0.write_all(&[*byte]).unwrap();
        std::thread::sleep(Duration::from_micros(300));
    }
    let (_, body) = raw.receive().unwrap();
    assert_eq!(&body[16..], &spindle_contract::pci::VENDOR.to_le_bytes());
    raw.0.write_all(&message.repeat(200)).unwrap();
    for _ in 0..200 {
        assert_eq!(raw.receive().unwrap().0.error, 0);
    }
}

#[test]
fn peers_that_die_leave_the_card_to_others() {
    let served = Served::new();
    let header = Header { id: 1, command: 10, size: 1000, flags: 0, error: 0 };
    for cut in [0, 3, 16, 17, 100] {
        let mut raw = Raw::agreed(&served.path());
        let message = [&header.bytes()[..], &[0; 984]].concat();
        raw.0.write_all(&message[..cut]).unwrap();
        drop(raw);
        works(&served);
    }
    drop(UnixStream::connect(served.path()).unwrap());
    works(&served);
}

#[test]
fn a_client_that_reads_no_replies_stops_only_itself() {
    // The server in this thread: each of its calls must return.
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("card.sock");
    let host = Host::new(16);
    let mut server = Server::bind(&path, Layout::CARD, host.clone()).unwrap();
    let mut dummy = Dummy::new(host);
    let mut channel = Channel::new(UnixStream::connect(&path).unwrap()).unwrap();
    let request = |command: Command| Header { command: command as u16, ..Header::default() };
    channel.send(request(Command::Version), &[&version_body(Capabilities::own())], Vec::new()).unwrap();
    let read = RegionAccess { offset: 0, region: 2, count: 4096 }.bytes();
    let begin = Instant::now();
    let mut longest = Duration::ZERO;
    for _ in 0..5000 {
        if !channel.congested() {
            channel.send(request(Command::RegionRead), &[&read], Vec::new()).unwrap();
        }
        let call = Instant::now();
        server.service(&mut dummy);
        longest = longest.max(call.elapsed());
    }
    assert!(server.connected() && begin.elapsed() < Duration::from_secs(10) && longest < Duration::from_secs(1));
    // When the client reads again, all replies come, in order.
    let mut replies = 0;
    while replies < 50 {
        let _ = channel.flush();
        server.service(&mut dummy);
        if let Some(message) = channel.receive().unwrap() {
            assert_eq!(message.header.flags, flags::REPLY);
            replies += 1;
        }
        assert!(begin.elapsed() < Duration::from_secs(20));
    }
}

#[test]
fn a_server_that_hangs_is_gone_for_ever() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("hung.sock");
    let listener = UnixListener::bind(&path).unwrap();
    let begin = Instant::now();
    let error = Client::connect_within(&path, Duration::from_millis(200)).unwrap_err();
    assert!(matches!(error, Error::Gone { .. }) && error.to_string().contains("has not answered"), "{error}");
    assert!(begin.elapsed() < Duration::from_secs(5));

    // One that answers the version, and then nothing.
    let server = std::thread::spawn(move || {
        let (stream, _) = (listener.accept().unwrap(), listener.accept().unwrap()).1;
        let mut raw = Raw(stream);
        let (header, _) = raw.receive().unwrap();
        let body = version_body(Capabilities::own());
        let size = (16 + body.len()) as u32;
        let reply = Header { size, flags: flags::REPLY, ..header };
        raw.0.write_all(&[reply.bytes(), body].concat()).unwrap();
        let _ = raw.0.read_to_end(&mut Vec::new());
    });
    let mut client = Client::connect_within(&path, Duration::from_millis(200)).unwrap();
    let first = client.info().unwrap_err().to_string();
    let begin = Instant::now();
    for _ in 0..100 {
        assert_eq!(client.info().unwrap_err().to_string(), first);
        assert!(matches!(client.post(0, 0, &[0; 4]), Err(Error::Gone { .. })));
    }
    assert!(begin.elapsed() < Duration::from_millis(200), "once gone, no call waits");
    drop(client);
    server.join().unwrap();
}

#[test]
fn a_server_that_dies_is_gone_for_ever() {
    let mut served = Served::new();
    let mut card = UserCard::open(&served.path()).unwrap();
    let memory = card.alloc(64, 64).unwrap();
    served.stop();
    let first = card.read32(0).unwrap_err();
    assert!(matches!(first, Error::Gone { .. }), "{first}");
    for _ in 0..100 {
        assert!(matches!(card.write32(SCRATCH, 1), Err(Error::Gone { .. })));
        assert_eq!(card.read32(SCRATCH).unwrap_err().to_string(), first.to_string());
    }
    assert!(card.reset().is_err() && card.pause(1).is_err() && card.map(&(0..4096)).is_err());
    card.write(memory, &[1]).unwrap();
}

#[test]
fn a_card_of_ones_is_gone_for_ever() {
    let served = Served::new();
    let mut card = UserCard::open(&served.path()).unwrap();
    card.write32(SCRATCH, u32::MAX).unwrap();
    assert_eq!(card.read32(SCRATCH).unwrap(), u32::MAX, "ones in a register are a value");
    drop(card);
    let served = Served::with(|dummy| dummy.registers = [u32::MAX; 64]);
    let mut card = UserCard::open(&served.path()).unwrap();
    for _ in 0..3 {
        let error = card.read32(SCRATCH).unwrap_err();
        assert!(matches!(error, Error::Gone { .. }) && error.to_string().contains("all ones"), "{error}");
    }
}

#[test]
fn an_error_that_the_server_reports_ends_the_use_of_the_card() {
    let served = Served::new();
    let mut card = UserCard::open(&served.path()).unwrap();
    card.read32(0).unwrap();
    assert!(served.host.interrupts.report_error());
    for _ in 0..2 {
        let error = card.read32(0).unwrap_err();
        assert!(error.to_string().contains("reports an error"), "{error}");
    }
}

#[test]
fn error_numbers_of_a_server_may_be_any() {
    for errno in [0, 1, 133, 4096, i32::MAX as u32, u32::MAX] {
        let (ours, theirs) = UnixStream::pair().unwrap();
        let server = std::thread::spawn(move || {
            let mut raw = Raw(theirs);
            let (header, _) = raw.receive().unwrap();
            let reply = Header { size: 16, flags: flags::REPLY | flags::ERROR, error: errno, ..header };
            raw.0.write_all(&reply.bytes()).unwrap();
        });
        let error = Client::over(ours, "unix:test".into(), Duration::from_secs(5)).unwrap_err();
        assert!(matches!(error, Error::Refused { .. }), "{error}");
        server.join().unwrap();
    }
}
