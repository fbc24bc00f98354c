//! What a client sends: the bytes of each request, and what it makes of answers that a good server does not give.

use crate::dummy::Served;
use crate::hostile::Raw;
use rustix::io::Errno;
use spindle::transport::vfio_user::UserCard;
use spindle::vfio_user::channel::{Channel, Message};
use spindle::vfio_user::client::Region;
use spindle::vfio_user::message::*;
use spindle::vfio_user::Client;
use spindle::{irq, Bar, Card, Error, HostMemory, Result};
use spindle_contract::pci;
use spindle_contract::registers::{global, MAGIC};
use std::io::Write;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::time::Duration;

/// An answer: a body, or an errno.
type Answer = std::result::Result<Vec<u8>, Errno>;

/// A call of a client.
type Call = fn(&mut Client) -> Result<()>;

/// The server's end of a connection, whose answers are written before the requests come.
struct Script {
    channel: Channel,
    /// Number of the next request that has an answer.
    next: u16,
}

impl Script {
    /// A client whose server can do this.
    fn client(server: Capabilities) -> (Client, Script) {
        let (ours, theirs) = UnixStream::pair().unwrap();
        let mut script = Script { channel: Channel::new(theirs).unwrap(), next: 1 };
        script.answer(Ok(version_body(server)), vec![]);
        let client = Client::over(ours, "unix:test".into(), Duration::from_secs(5)).unwrap();
        let version = script.request();
        assert_eq!((version.header.command, version.body), (1, version_body(Capabilities::own())));
        (client, script)
    }

    /// A card whose server gives these answers to the requests with which it is opened.
    fn card(server: Capabilities, answers: Vec<Vec<u8>>) -> (Result<UserCard>, Script) {
        let (client, mut script) = Script::client(server);
        answers.into_iter().for_each(|answer| script.answer(Ok(answer), vec![]));
        (UserCard::over(client), script)
    }

    /// The same, of a card that can be opened. The server goes before the card, which then waits for no answer.
    fn opened(server: Capabilities, answers: Vec<Vec<u8>>) -> (UserCard, Script) {
        let (card, script) = Script::card(server, answers);
        (card.unwrap(), script)
    }

    fn answer(&mut self, answer: Answer, fds: Vec<OwnedFd>) {
        let (flags, error) = match &answer {
            Ok(_) => (flags::REPLY, 0),
            Err(error) => (flags::REPLY | flags::ERROR, error.raw_os_error() as u32),
        };
        let header = Header { id: self.next, command: 0, size: 0, flags, error };
        self.channel.send(header, &[&answer.unwrap_or_default()], fds).unwrap();
        self.next += 1;
    }

    /// The next request.
    fn request(&mut self) -> Message {
        self.channel.receive().unwrap().expect("a request")
    }

    /// The next requests: command and body.
    fn requests(&mut self, count: usize) -> Vec<(u16, Vec<u8>)> {
        (0..count).map(|_| self.request()).map(|message| (message.header.command, message.body)).collect()
    }

    fn is_empty(&mut self) -> bool {
        self.channel.receive().unwrap().is_none()
    }
}

fn access(region: u32, offset: u64, count: u32) -> Vec<u8> {
    RegionAccess { offset, region, count }.bytes()
}

fn region(bytes: u64) -> Vec<u8> {
    RegionInfo { argsz: 32, flags: 3, size: bytes, ..RegionInfo::default() }.bytes()
}

fn interrupts(index: u32, count: u32) -> Vec<u8> {
    IrqInfo { argsz: 16, flags: 1, index, count }.bytes()
}

/// The answers with which a card without a time of its own is opened: 0x1000 bytes of registers, four vectors.
fn opening() -> Vec<Vec<u8>> {
    vec![
        DeviceInfo { argsz: 16, flags: 3, regions: 9, irqs: 5 }.bytes(),
        region(0x1000),
        [access(7, 0, 4), vec![0xF4, 0x1A, 0xF0, 0x10]].concat(),
        interrupts(2, 4),
        access(7, 4, 2),
        interrupts(3, 0),
    ]
}

/// A card that is open, and its server.
fn card() -> (UserCard, Script) {
    let (card, mut script) = Script::opened(Capabilities::own(), opening());
    script.requests(6);
    (card, script)
}

#[test]
fn each_request_has_its_body() {
    let (mut client, mut script) = Script::client(Capabilities::own());
    assert_eq!(client.address(), "unix:test");
    assert_eq!(client.server(), &Capabilities::own());
    let info = DeviceInfo { argsz: 16, flags: 3, regions: 10, irqs: 5 };
    for answer in [info.bytes(), access(3, 8, 4), vec![], vec![], interrupts(2, 77), vec![], vec![]] {
        script.answer(Ok(answer), vec![]);
    }
    assert_eq!(client.info().unwrap(), info);
    client.write(3, 8, &[1, 2, 3, 4]).unwrap();
    let file = std::fs::File::open("/dev/null").unwrap();
    client.map(file.as_fd(), 0x5000, &(0x1000..0x3000)).unwrap();
    client.unmap(&(0x1000..0x3000)).unwrap();
    assert_eq!(client.interrupts(2).unwrap(), 77);
    client.clear_interrupts(2).unwrap();
    client.reset().unwrap();
    let expected = [
        (4, DeviceInfo { argsz: 16, ..DeviceInfo::default() }.bytes()),
        (10, [access(3, 8, 4), vec![1, 2, 3, 4]].concat()),
        (2, DmaMap { argsz: 32, flags: 3, offset: 0x5000, address: 0x1000, size: 0x2000 }.bytes()),
        (3, DmaUnmap { argsz: 24, flags: 0, address: 0x1000, size: 0x2000 }.bytes()),
        (7, IrqInfo { argsz: 16, index: 2, ..IrqInfo::default() }.bytes()),
        (8, SetIrqs { argsz: 20, flags: 0x21, index: 2, start: 0, count: 0 }.bytes()),
        (13, vec![]),
    ];
    for (number, (command, body)) in (2..).zip(expected) {
        let request = script.request();
        let header = Header { id: number, command, size: 16 + body.len() as u32, flags: 0, error: 0 };
        assert_eq!((request.header, &request.body), (header, &body));
        assert_eq!(request.fds.len(), usize::from(command == 2));
    }
    assert!(script.is_empty());
}

#[test]
fn a_refusal_is_an_error_and_the_connection_goes_on() {
    let (mut client, mut script) = Script::client(Capabilities::own());
    let refusals: [(Call, &str); 10] = [
        (|client| client.info().map(drop), "information about the device"),
        (|client| client.region(0).map(drop), "information about a region"),
        (|client| client.read(0, 0, &mut [0; 4]), "a read"),
        (|client| client.write(0, 0, &[0; 4]), "a write"),
        (|client| client.map(std::fs::File::open("/dev/null").unwrap().as_fd(), 0, &(0..1)), "a map of memory"),
        (|client| client.unmap(&(0..1)), "to take memory back"),
        (|client| client.interrupts(2).map(drop), "information about interrupts"),
        (|client| client.clear_interrupts(2), "to take eventfds back"),
        (|client| client.doorbells(0).map(drop), "eventfds of registers"),
        (|client| client.reset(), "a reset"),
    ];
    for (request, name) in refusals {
        script.answer(Err(Errno::PERM), vec![]);
        match request(&mut client).unwrap_err() {
            Error::Refused { request, why } => {
                assert_eq!(request, name);
                assert!(why.contains("not permitted"), "{why}");
            }
            other => panic!("{name}: {other}"),
        }
    }
    // An error without a number.
    let header = Header { id: script.next, flags: flags::REPLY | flags::ERROR, ..Header::default() };
    script.channel.send(header, &[], vec![]).unwrap();
    script.next += 1;
    match client.reset().unwrap_err() {
        Error::Refused { request: "a reset", why } => assert_eq!(why, "it gives no reason"),
        other => panic!("{other}"),
    }
    script.answer(Ok(interrupts(2, 5)), vec![]);
    assert_eq!(client.interrupts(2).unwrap(), 5);
}

#[test]
fn a_posted_write_waits_for_no_answer() {
    let (mut client, mut script) = Script::client(Capabilities::own());
    client.post(0, 0x40, &[1, 2, 3, 4]).unwrap();
    let request = script.request();
    assert_eq!((request.header.command, request.header.flags), (10, flags::NO_REPLY));
    assert_eq!(request.body, [access(0, 0x40, 4), vec![1, 2, 3, 4]].concat());
}

#[test]
fn data_of_a_read_are_as_many_as_were_asked_for() {
    let (mut client, mut script) = Script::client(Capabilities::own());
    script.answer(Ok([access(2, 6, 3), vec![7, 8, 9]].concat()), vec![]);
    let mut data = [0; 3];
    client.read(2, 6, &mut data).unwrap();
    assert_eq!(data, [7, 8, 9]);
    assert_eq!(script.requests(1), [(9, access(2, 6, 3))]);
    for wrong in [2, 4] {
        let (mut client, mut script) = Script::client(Capabilities::own());
        script.answer(Ok([access(2, 6, 3), vec![7; wrong]].concat()), vec![]);
        let error = client.read(2, 6, &mut data).unwrap_err().to_string();
        assert!(error.contains("its server answered a read with another number of bytes"), "{error}");
        assert_eq!(client.reset().unwrap_err().to_string(), error, "it is gone");
    }
}

#[test]
fn a_region_is_asked_again_if_it_has_more_to_say() {
    let (mut client, mut script) = Script::client(Capabilities::own());
    let info = |argsz: u32, cap_offset: u32| RegionInfo { argsz, flags: 3, index: 9, cap_offset, size: 64, offset: 0 };
    let capability =
        |id: u16, next: u32| TypeCapability { id, version: 1, next, kind: 0x8000_1AF4, subtype: id.into() };
    let own = [info(48, 32).bytes(), capability(2, 0).bytes()].concat();
    script.answer(Ok(info(48, 32).bytes()), vec![]);
    script.answer(Ok(own), vec![]);
    assert_eq!(client.region(9).unwrap(), Region { bytes: 64, kind: Some((0x8000_1AF4, 2)) });
    let ask = |argsz: u32| (5, RegionInfo { argsz, index: 9, ..RegionInfo::default() }.bytes());
    assert_eq!(script.requests(2), [ask(32), ask(48)]);
    // Lists of capabilities: one after another, one that goes back, one of other kinds, one that is cut.
    let two = [capability(5, 48), capability(2, 0)];
    for (offset, capabilities, kind) in [
        (32, &two[..], Some((0x8000_1AF4, 2))),
        (48, &two[..], Some((0x8000_1AF4, 2))),
        (0, &two[..], None),
        (31, &two[..], None),
        (49, &two[..], None),
        (32, &[capability(5, 32)][..], None),
        (32, &[capability(5, 31)][..], None),
        (32, &[capability(5, 0)][..], None),
        (32, &[][..], None),
    ] {
        let body = capabilities.iter().flat_map(|capability| capability.bytes());
        script.answer(Ok(info(32, offset).bytes().into_iter().chain(body).collect()), vec![]);
        assert_eq!(client.region(9).unwrap(), Region { bytes: 64, kind }, "{offset} {capabilities:?}");
        assert_eq!(script.requests(1), [ask(32)]);
    }
    // More than a message can have is not asked for.
    script.answer(Ok(info(MAX_MESSAGE as u32 + 1, 0).bytes()), vec![]);
    assert_eq!(client.region(9).unwrap(), Region { bytes: 64, kind: None });
    // A size that changes each time.
    script.answer(Ok(info(48, 0).bytes()), vec![]);
    script.answer(Ok(info(49, 0).bytes()), vec![]);
    let error = client.region(9).unwrap_err().to_string();
    assert!(error.contains("its server changes the size of what it reports"), "{error}");
    assert_eq!(script.requests(3).last(), Some(&ask(48)));
}

#[test]
fn eventfds_are_given_as_many_at_once_as_the_server_takes() {
    for (most, parts) in [(0, vec![1; 5]), (1, vec![1; 5]), (2, vec![2, 2, 1]), (5, vec![5]), (u32::MAX, vec![5])] {
        let server = Capabilities { max_msg_fds: most, ..Capabilities::own() };
        let (mut client, mut script) = Script::client(server);
        let events: Vec<OwnedFd> = (0..5).map(|_| irq::create().unwrap()).collect();
        let fds: Vec<_> = events.iter().map(AsFd::as_fd).collect();
        parts.iter().for_each(|_| script.answer(Ok(vec![]), vec![]));
        client.set_interrupts(2, 7, &fds).unwrap();
        let mut start = 7;
        for count in parts {
            let request = script.request();
            let expected = SetIrqs { argsz: 20, flags: 0x24, index: 2, start, count }.bytes();
            assert_eq!((request.header.command, request.body), (8, expected), "{most}");
            for (event, fd) in events[start as usize - 7..].iter().zip(&request.fds) {
                assert!(irq::signal(fd));
                assert_eq!(irq::take(event), 1);
            }
            assert_eq!(request.fds.len(), count as usize);
            start += count;
        }
        assert!(script.is_empty());
    }
    // More than fit in a message, of a server that would take any number.
    let server = Capabilities { max_msg_fds: 100, ..Capabilities::own() };
    let (mut client, mut script) = Script::client(server);
    let event = irq::create().unwrap();
    (0..2).for_each(|_| script.answer(Ok(vec![]), vec![]));
    client.set_interrupts(2, 0, &[event.as_fd(); 17]).unwrap();
    assert_eq!((script.request().fds.len(), script.request().fds.len()), (16, 1));
}

#[test]
fn doorbells_come_with_the_descriptors_that_they_name() {
    let (mut client, mut script) = Script::client(Capabilities::own());
    let entry = |offset: u64, fd: u32| IoEventFd { offset, size: 4, fd, flags: 1, value: 9, ..IoEventFd::default() };
    let head = |count: u32| RegionIoFds { argsz: 136, flags: 0, index: 0, count }.bytes();
    let entries = [entry(0x10, 1), entry(0x20, 0), entry(0x30, 2)];
    let body: Vec<u8> = entries.iter().flat_map(|entry| entry.bytes()).collect();
    let events: Vec<OwnedFd> = (0..2).map(|_| irq::create().unwrap()).collect();
    let copies = || events.iter().map(|event| irq::duplicate(event).unwrap()).collect::<Vec<_>>();
    script.answer(Ok([head(3), body.clone()].concat()), copies());
    let doorbells = client.doorbells(0).unwrap();
    assert_eq!(doorbells.iter().map(|doorbell| doorbell.0).collect::<Vec<_>>(), entries[..2], "the third has none");
    assert!(irq::signal(&doorbells[0].1));
    assert_eq!(events.iter().map(irq::take).collect::<Vec<_>>(), [0, 1]);
    let request = RegionIoFds { argsz: 16 + 16 * 40, flags: 0, index: 0, count: 0 };
    assert_eq!(script.requests(1), [(6, request.bytes())]);
    script.answer(Ok([head(1), body].concat()), copies());
    assert_eq!(client.doorbells(0).unwrap().len(), 1, "as many as the server names");
}

#[test]
fn replies_that_are_too_short_end_the_connection() {
    let calls: [(Call, usize); 4] = [
        (|client| client.info().map(drop), 15),
        (|client| client.region(0).map(drop), 31),
        (|client| client.interrupts(2).map(drop), 15),
        (|client| client.doorbells(0).map(drop), 15),
    ];
    for (call, bytes) in calls {
        let (mut client, mut script) = Script::client(Capabilities::own());
        script.answer(Ok(vec![0; bytes]), vec![]);
        let error = call(&mut client).unwrap_err().to_string();
        assert!(error.contains("its server sent a reply that is too short"), "{error}");
    }
}

#[test]
fn answers_that_break_the_protocol_end_the_connection() {
    let reply = Header { id: 2, command: 0, size: 16, flags: flags::REPLY, error: 0 };
    for (header, words) in [
        (Header { id: 3, ..reply }, "its server answered a request that was not sent"),
        (Header { id: 1, ..reply }, "its server answered a request that was not sent"),
        (Header { size: 15, ..reply }, "its server sent a message of 15 bytes"),
        (Header { size: MAX_MESSAGE as u32 + 1, ..reply }, "its server sent a message of 1048833 bytes"),
    ] {
        let (ours, mut theirs) = UnixStream::pair().unwrap();
        let version = version_body(Capabilities::own());
        let first = Header { id: 1, size: (16 + version.len()) as u32, ..reply };
        theirs.write_all(&[first.bytes(), version, header.bytes()].concat()).unwrap();
        let mut client = Client::over(ours, "unix:test".into(), Duration::from_secs(5)).unwrap();
        let error = client.reset().unwrap_err().to_string();
        assert_eq!(error, format!("the card unix:test is gone: {words}; open it again when it is back"));
        assert_eq!(client.info().unwrap_err().to_string(), error);
    }
}

#[test]
fn a_server_of_another_version_or_with_a_client_is_an_error() {
    let over = |answer: Header, body: Vec<u8>| {
        let (ours, mut theirs) = UnixStream::pair().unwrap();
        let header = Header { id: 1, size: (16 + body.len()) as u32, ..answer };
        theirs.write_all(&[header.bytes(), body].concat()).unwrap();
        Client::over(ours, "unix:test".into(), Duration::from_secs(5)).unwrap_err()
    };
    let reply = Header { flags: flags::REPLY, ..Header::default() };
    for body in [vec![1, 0, 0, 0], vec![0, 0, 1], b"\0\0\x01\0nonsense\0".to_vec()] {
        let error = over(reply, body).to_string();
        assert!(error.contains("its server speaks another version of vfio-user"), "{error}");
    }
    let refusal = |error: Errno| {
        let flags = flags::REPLY | flags::ERROR;
        over(Header { flags, error: error.raw_os_error() as u32, ..Header::default() }, vec![])
    };
    assert!(matches!(refusal(Errno::BUSY), Error::Busy { .. }));
    assert!(matches!(refusal(Errno::PERM), Error::Refused { request: "the protocol's version", .. }));
}

#[test]
fn a_request_of_the_server_is_declined() {
    let (ours, mut theirs) = UnixStream::pair().unwrap();
    let version = version_body(Capabilities::own());
    let first = Header { id: 1, size: (16 + version.len()) as u32, flags: flags::REPLY, ..Header::default() };
    let own = Header { id: 0x77, command: 11, size: 16, flags: 0, error: 0 };
    let reply = Header { id: 2, size: 16, flags: flags::REPLY, ..Header::default() };
    theirs.write_all(&[first.bytes(), version, own.bytes(), reply.bytes()].concat()).unwrap();
    let mut client = Client::over(ours, "unix:test".into(), Duration::from_secs(5)).unwrap();
    client.reset().unwrap();
    let mut raw = Raw(theirs);
    assert_eq!((raw.receive().unwrap().0.command, raw.receive().unwrap().0.command), (1, 13));
    let (declined, body) = raw.receive().unwrap();
    let error = Errno::OPNOTSUPP.raw_os_error() as u32;
    assert_eq!(declined, Header { flags: flags::REPLY | flags::ERROR, error, ..own });
    assert_eq!(body, Vec::<u8>::new());
}

#[test]
fn a_card_is_switched_on_when_it_is_opened_and_off_when_it_is_dropped() {
    let (card, mut script) = Script::opened(Capabilities::own(), opening());
    assert_eq!(card.identity().address, "unix:test");
    assert_eq!((card.identity().transport, card.identity().pci), ("vfio-user", Some((0x1AF4, 0x10F0))));
    assert_eq!((card.vectors(), card.process(), card.time_moves_by_calls()), (4, None, false));
    let requests = script.requests(6);
    assert_eq!(requests[1], (5, RegionInfo { argsz: 32, ..RegionInfo::default() }.bytes()));
    assert_eq!(requests[2], (9, access(7, 0, 4)));
    assert_eq!(requests[4], (10, [access(7, 4, 2), vec![6, 0]].concat()));
    script.answer(Ok(access(7, 4, 2)), vec![]);
    drop(card);
    assert_eq!(script.requests(1), [(10, [access(7, 4, 2), vec![0, 0]].concat())]);
}

#[test]
fn a_card_has_at_most_as_many_vectors_as_msix() {
    let with = |vectors: u32| {
        let mut answers = opening();
        answers[3] = interrupts(2, vectors);
        Script::card(Capabilities { process: Some(9), ..Capabilities::own() }, answers)
    };
    let (card, script) = with(2048);
    assert_eq!(card.as_ref().map(|card| (card.vectors(), card.process())).unwrap(), (2048, Some(9)));
    drop(script);
    let error = with(2049).0.unwrap_err().to_string();
    assert!(error.contains("its server reports 2049 interrupt vectors, where MSI-X has at most 2048"), "{error}");
}

#[test]
fn registers_lie_in_the_bar_and_their_refusals_are_errors_of_registers() {
    let (mut card, mut script) = card();
    script.answer(Ok([access(0, 0xFFC, 4), vec![1, 2, 3, 4]].concat()), vec![]);
    assert_eq!(card.read32(0xFFC).unwrap(), 0x0403_0201);
    card.write32(0xFFC, 0x0807_0605).unwrap();
    assert_eq!(script.requests(2), [(9, access(0, 0xFFC, 4)), (10, [access(0, 0xFFC, 4), vec![5, 6, 7, 8]].concat())]);
    for address in [1, 2, 0x1000, 0xFFE, u32::MAX - 3] {
        for (result, name) in [(card.read32(address).map(drop), "read"), (card.write32(address, 0), "write")] {
            match result.unwrap_err() {
                Error::Bar { access, address: at, why } => {
                    assert_eq!((access, at), (name, address));
                    assert_eq!(why, "the BAR has 4096 bytes, and registers are aligned to 4");
                }
                other => panic!("{other}"),
            }
        }
    }
    assert!(script.is_empty());
    script.next += 1;
    script.answer(Err(Errno::PERM), vec![]);
    match card.read32(8).unwrap_err() {
        Error::Bar { access: "read", address: 8, why } => assert!(why.contains("not permitted"), "{why}"),
        other => panic!("{other}"),
    }
    // Ones are a value while the first register is right.
    let word = |value: u32| Ok([access(0, 0, 4), value.to_le_bytes().to_vec()].concat());
    script.answer(word(u32::MAX), vec![]);
    script.answer(word(MAGIC), vec![]);
    assert_eq!(card.read32(8).unwrap(), u32::MAX);
    let magic = u64::from(global::BASE + global::MAGIC);
    assert_eq!(script.requests(3), [(9, access(0, 8, 4)), (9, access(0, 8, 4)), (9, access(0, magic, 4))]);
    script.answer(word(u32::MAX), vec![]);
    script.answer(word(u32::MAX), vec![]);
    let error = card.read32(8).unwrap_err().to_string();
    assert!(error.contains("its registers read all ones"), "{error}");
}

/// The answers of a card that has a region of this kind and mode in the place of the time.
fn timed(kind: (u32, u32), mode: u64) -> Vec<Vec<u8>> {
    let mut answers = opening();
    answers[0] = DeviceInfo { argsz: 16, flags: 3, regions: 10, irqs: 5 }.bytes();
    let info = RegionInfo { argsz: 32, flags: 3, index: 9, cap_offset: 32, size: 64, offset: 0 };
    let capability = TypeCapability { id: 2, version: 1, next: 0, kind: kind.0, subtype: kind.1 };
    answers.insert(2, [info.bytes(), capability.bytes()].concat());
    if kind == OWN_KIND {
        answers.insert(3, [access(9, pci::TIME_MODE, 8), mode.to_le_bytes().to_vec()].concat());
    }
    answers
}

const OWN_KIND: (u32, u32) = (0x8000_1AF4, pci::TIME_REGION_KIND);

#[test]
fn time_moves_by_calls_if_the_server_has_the_region_and_its_mode() {
    for (kind, mode, moves) in [
        (OWN_KIND, 1, true),
        (OWN_KIND, 1 << 63, true),
        (OWN_KIND, 0, false),
        ((0x8000_1AF5, pci::TIME_REGION_KIND), 1, false),
        ((0x8000_1AF4, 2), 1, false),
    ] {
        let (card, _script) = Script::opened(Capabilities::own(), timed(kind, mode));
        assert_eq!(card.time_moves_by_calls(), moves, "{kind:x?} {mode}");
    }
    let (mut card, mut script) = Script::opened(Capabilities::own(), timed(OWN_KIND, 1));
    script.requests(8);
    card.pause(0).unwrap();
    let run = |cycles: u64| (10, [access(9, pci::TIME_RUN, 8), cycles.to_le_bytes().to_vec()].concat());
    for (cycles, parts) in [(1, vec![1]), (4096, vec![4096]), (4097, vec![4096, 1]), (10_000, vec![4096, 4096, 1808])] {
        parts.iter().for_each(|_| script.answer(Ok(access(9, pci::TIME_RUN, 8)), vec![]));
        card.pause(cycles).unwrap();
        assert_eq!(script.requests(parts.len()), parts.into_iter().map(run).collect::<Vec<_>>());
    }
    assert!(script.is_empty());
}

#[test]
fn a_card_whose_time_runs_is_slept_for_a_little() {
    let (mut card, mut script) = card();
    let begin = std::time::Instant::now();
    card.pause(u64::MAX).unwrap();
    assert!((Duration::from_millis(10)..Duration::from_secs(5)).contains(&begin.elapsed()));
    card.pause(0).unwrap();
    assert!(script.is_empty());
}

#[test]
fn an_interrupt_is_asked_for_once() {
    let (mut card, mut script) = card();
    script.answer(Ok(vec![]), vec![]);
    let (first, second) = (card.interrupt(3).unwrap(), card.interrupt(3).unwrap());
    let request = script.request();
    let expected = SetIrqs { argsz: 20, flags: 0x24, index: 2, start: 3, count: 1 }.bytes();
    assert_eq!((request.header.command, request.body), (8, expected));
    assert!(script.is_empty());
    assert!(irq::signal(&request.fds[0]));
    assert_eq!((irq::take(&second), irq::take(&first)), (1, 0), "both are the same eventfd");
    assert_eq!(card.interrupt(4).unwrap_err().to_string(), "the card has no vector 4; it has 4");
    // One that the server refuses is asked for again.
    for _ in 0..2 {
        script.answer(Err(Errno::INVAL), vec![]);
        assert!(matches!(card.interrupt(0), Err(Error::Refused { .. })));
    }
}

#[test]
fn errors_of_a_card_are_watched_if_the_server_reports_them() {
    let mut answers = opening();
    answers[5] = interrupts(3, 1);
    answers.push(vec![]);
    let (mut card, mut script) = Script::opened(Capabilities::own(), answers);
    script.requests(6);
    let request = script.request();
    let expected = SetIrqs { argsz: 20, flags: 0x24, index: 3, start: 0, count: 1 }.bytes();
    assert_eq!((request.header.command, request.body), (8, expected));
    card.pause(0).unwrap();
    assert!(irq::signal(&request.fds[0]));
    let error = card.pause(0).unwrap_err().to_string();
    assert!(error.contains("its server reports an error of the card"), "{error}");
    assert_eq!(card.read32(0).unwrap_err().to_string(), error);
}

#[test]
fn doorbells_are_asked_for_once_and_found_by_place_and_value() {
    let (mut card, mut script) = card();
    let entry = |offset: u64, value: u64, fd: u32| {
        IoEventFd { offset, size: 4, fd, flags: 1, value, ..IoEventFd::default() }.bytes()
    };
    let head = RegionIoFds { argsz: 96, flags: 0, index: 0, count: 2 }.bytes();
    let events: Vec<OwnedFd> = (0..2).map(|_| irq::create().unwrap()).collect();
    let copies = events.iter().map(|event| irq::duplicate(event).unwrap()).collect();
    script.answer(Ok([head, entry(0x40, 1, 0), entry(0x80, 2, 1)].concat()), copies);
    assert!(card.kick(0x40, 2).unwrap().is_none() && card.kick(0x80, 1).unwrap().is_none());
    assert!(irq::signal(card.kick(0x80, 2).unwrap().expect("it is one of them")));
    assert_eq!(events.iter().map(irq::take).collect::<Vec<_>>(), [0, 1]);
    script.requests(1);
    assert!(script.is_empty());
    // A server that does not know the request has none; another error is one.
    let (mut none, mut script) = self::card();
    script.answer(Err(Errno::OPNOTSUPP), vec![]);
    assert!(none.kick(0x40, 1).unwrap().is_none() && none.kick(0x40, 1).unwrap().is_none());
    script.requests(1);
    assert!(script.is_empty());
    let (mut gone, script) = self::card();
    drop(script);
    assert!(matches!(gone.kick(0x40, 1), Err(Error::Gone { .. })));
}

#[test]
fn memory_of_a_card_lies_in_the_window_of_its_server() {
    let huge = 2u64 << 20;
    let server = Capabilities { window: Some([3 * huge + 1, 6 * huge]), ..Capabilities::own() };
    let (mut card, mut script) = Script::opened(server, opening());
    script.requests(6);
    script.answer(Ok(vec![]), vec![]);
    assert_eq!(card.alloc(huge as usize, 64).unwrap(), 4 * huge);
    let map = |address: u64| (2, DmaMap { argsz: 32, flags: 3, offset: 0, address, size: huge }.bytes());
    assert_eq!(script.requests(1), [map(4 * huge)]);
    // A map that is refused leaves the addresses for the next one.
    script.answer(Err(Errno::NOSPC), vec![]);
    assert!(matches!(card.alloc(64, 64), Err(Error::Refused { .. })));
    match card.alloc(huge as usize + 1, 64).unwrap_err() {
        Error::Full { wanted, free, .. } => assert_eq!((wanted as u64, free as u64), (2 * huge, huge)),
        other => panic!("{other}"),
    }
    script.answer(Ok(vec![]), vec![]);
    let last = card.alloc(64, 64).unwrap();
    assert_eq!((last, script.requests(2)), (5 * huge, vec![map(5 * huge); 2]));
    card.write(last, &[7; 64]).unwrap();
    match card.alloc(huge as usize, 64).unwrap_err() {
        Error::Full { free: 0, .. } => {}
        other => panic!("{other}"),
    }
    // Without a window it lies above 4 GiB.
    let (mut card, mut script) = self::card();
    script.answer(Ok(vec![]), vec![]);
    assert_eq!(card.alloc(1, 1).unwrap(), 4 << 30);
}

#[test]
fn a_reset_switches_the_card_on_again_and_waits_for_it() {
    let (mut card, mut script) = card();
    let word = |value: u32| [access(0, 0, 4), value.to_le_bytes().to_vec()].concat();
    for answer in [vec![], access(7, 4, 2), word(0), word(u32::MAX), word(MAGIC)] {
        script.answer(Ok(answer), vec![]);
    }
    card.reset().unwrap();
    let magic = (9, access(0, (global::BASE + global::MAGIC).into(), 4));
    let on = (10, [access(7, 4, 2), vec![6, 0]].concat());
    assert_eq!(script.requests(5), [(13, vec![]), on, magic.clone(), magic.clone(), magic]);
}

#[test]
fn memory_of_the_program_and_of_others_is_given_by_whole_pages_and_as_it_is() {
    let (mut card, mut script) = card();
    (0..6).for_each(|_| script.answer(Ok(vec![]), vec![]));
    card.map(&(0x1800..0x2800)).unwrap();
    let own = |address: u64| (2, DmaMap { argsz: 32, flags: 3, offset: address, address, size: 0x1000 }.bytes());
    assert_eq!(script.requests(2), [own(0x1000), own(0x2000)]);
    card.unmap(&(0x1800..0x2800)).unwrap();
    let back = |address: u64| (3, DmaUnmap { argsz: 24, flags: 0, address, size: 0x1000 }.bytes());
    assert_eq!(script.requests(2), [back(0x1000), back(0x2000)]);
    let file = std::fs::File::open("/dev/null").unwrap();
    card.map_file(file.as_fd(), 0x10, &(0x5000..0x5008)).unwrap();
    card.unmap_file(&(0x5000..0x5008)).unwrap();
    let map = DmaMap { argsz: 32, flags: 3, offset: 0x10, address: 0x5000, size: 8 };
    let unmap = DmaUnmap { argsz: 24, flags: 0, address: 0x5000, size: 8 };
    assert_eq!(script.requests(2), [(2, map.bytes()), (3, unmap.bytes())]);
}

#[test]
fn a_request_larger_than_the_socket_is_sent_whole() {
    let served = Served::new();
    let mut client = Client::connect(&served.path()).unwrap();
    client.write(7, 4, &[2]).unwrap();
    // The dummy takes words only.
    match client.write(0, 0, &vec![0; MAX_DATA]).unwrap_err() {
        Error::Refused { request: "a write", .. } => {}
        other => panic!("{other}"),
    }
    assert_eq!(client.interrupts(2).unwrap(), pci::VECTORS);
}

#[test]
fn a_socket_without_a_server_is_no_card() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("none.sock");
    let error = Client::connect(&path).unwrap_err().to_string();
    assert!(error.starts_with(&format!("cannot connect to {}: ", path.display())), "{error}");
    assert!(error.ends_with("start `spindle serve` or `spindled` at this path"), "{error}");
}

#[test]
fn numbers_of_requests_go_on_after_sixteen_bits() {
    let (mut client, mut script) = Script::client(Capabilities::own());
    for number in 2..(1u32 << 16) + 3 {
        client.post(0, 0, &[]).unwrap();
        assert_eq!(script.request().header.id, number as u16);
    }
    script.next = 3;
    script.answer(Ok(interrupts(2, 5)), vec![]);
    assert_eq!(client.interrupts(2).unwrap(), 5);
}
