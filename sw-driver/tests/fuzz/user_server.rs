//! A server of vfio-user and what any client sends it: each whole request is answered once and in order, until the server
//! leaves the client; the function is only asked for bytes that it has.

use rustix::io::Errno;
use spindle::config_space::Layout;
use spindle::vfio_user::message::*;
use spindle::vfio_user::{Doorbell, Function, Host, Server};
use spindle_contract::pci;
use spindle_fuzz::Source;
use std::io::{ErrorKind, Read, Write};
use std::os::unix::net::UnixStream;

/// A function whose BAR is all zeros.
struct Zeros {
    left: u32,
}

const OWN_BYTES: u64 = 24;

impl Function for Zeros {
    fn read(&mut self, offset: u64, bytes: &mut [u8]) -> Result<(), Errno> {
        assert!(offset + bytes.len() as u64 <= u64::from(Layout::CARD.registers), "{offset:#x}, {} bytes", bytes.len());
        Ok(())
    }

    fn write(&mut self, offset: u64, bytes: &[u8]) -> Result<(), Errno> {
        assert!(offset + bytes.len() as u64 <= u64::from(Layout::CARD.registers), "{offset:#x}, {} bytes", bytes.len());
        Err(Errno::PERM)
    }

    fn reset(&mut self) {}

    fn own_region(&self) -> u64 {
        OWN_BYTES
    }

    fn read_own(&mut self, offset: u64, bytes: &mut [u8]) -> Result<(), Errno> {
        assert!(offset + bytes.len() as u64 <= OWN_BYTES);
        Ok(())
    }

    fn write_own(&mut self, offset: u64, bytes: &[u8]) -> Result<(), Errno> {
        assert!(offset + bytes.len() as u64 <= OWN_BYTES);
        Ok(())
    }

    fn doorbells(&self) -> Vec<Doorbell> {
        vec![Doorbell { offset: 64, value: 1 }]
    }

    fn leaving(&mut self) {
        self.left += 1;
    }
}

/// The body of a request, which is more or less what the request wants.
fn body(command: u16, source: &mut Source) -> Vec<u8> {
    let small = |source: &mut Source| source.below(12) as u32;
    let size = |source: &mut Source| *source.pick(&[0, 4, 16, 20, 24, 32, 40, 64, 4096, u32::MAX]);
    let body = match Command::of(command) {
        Some(Command::Version) => version_body(Capabilities::own()),
        Some(Command::DmaMap) => {
            let (offset, address, size) = (source.number(), source.number(), source.number());
            DmaMap { argsz: 32, flags: small(source), offset, address, size }.bytes()
        }
        Some(Command::DmaUnmap) => {
            DmaUnmap { argsz: 24, flags: small(source), address: source.number(), size: source.number() }.bytes()
        }
        Some(Command::GetInfo) => DeviceInfo { argsz: size(source), ..DeviceInfo::default() }.bytes(),
        Some(Command::GetRegionInfo) => {
            RegionInfo { argsz: size(source), index: small(source), ..RegionInfo::default() }.bytes()
        }
        Some(Command::GetRegionIoFds) => {
            RegionIoFds { argsz: size(source), flags: 0, index: small(source), count: source.word() }.bytes()
        }
        Some(Command::GetIrqInfo) => {
            IrqInfo { argsz: size(source), index: small(source), ..IrqInfo::default() }.bytes()
        }
        Some(Command::SetIrqs) => {
            let flags = *source.pick(&[0x21, 0x22, 0x24, 0x29, 0x31, 0]);
            let (index, start, count) = (source.below(6) as u32, source.word(), source.word());
            [SetIrqs { argsz: 20, flags, index, start, count }.bytes(), source.bytes(20)].concat()
        }
        Some(Command::RegionRead) => {
            RegionAccess { offset: source.number(), region: small(source), count: size(source) }.bytes()
        }
        Some(Command::RegionWrite) => {
            let data = source.bytes(24);
            let offset = source.number() & 0xFFF;
            let access = RegionAccess { offset, region: small(source), count: data.len() as u32 };
            [access.bytes(), data].concat()
        }
        _ => Vec::new(),
    };
    if source.chance(3) {
        source.mutated(&body)
    } else {
        body
    }
}

/// A stream of requests, seldom damaged, and the numbers of those that want an answer up to where the stream breaks.
fn requests(source: &mut Source) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut count = 0;
    while count == 0 || (count < 12 && !source.is_empty()) {
        let command = if count == 0 && !source.chance(8) { Command::Version as u16 } else { source.below(15) as u16 };
        let body = body(command, source);
        let flags = if source.chance(8) { flags::NO_REPLY } else { 0 };
        let size = (Header::BYTES + body.len()) as u32;
        let size = if source.chance(40) { source.word() } else { size };
        let header = Header { id: count, command, size, flags, error: 0 };
        bytes.extend(header.bytes());
        bytes.extend(body);
        count += 1;
    }
    if source.chance(8) {
        source.mutated(&bytes)
    } else {
        bytes
    }
}

/// The numbers of the requests of a stream that are whole and want an answer, as far as the stream can be followed.
fn expected(mut bytes: &[u8]) -> Vec<u16> {
    let mut ids = Vec::new();
    while let Some(header) = Header::parse(bytes) {
        let size = header.size as usize;
        if header.flags & flags::KIND != flags::REQUEST
            || !(Header::BYTES..=MAX_MESSAGE).contains(&size)
            || size > bytes.len()
        {
            break;
        }
        if header.flags & flags::NO_REPLY == 0 {
            ids.push(header.id);
        }
        bytes = &bytes[size..];
    }
    ids
}

#[test]
fn fuzz_vfio_user_server() {
    spindle_fuzz::run("vfio_user_server", 2500, |source| {
        let (mut client, theirs) = UnixStream::pair().expect("sockets can be had");
        client.set_nonblocking(true).expect("a socket need not block");
        let mut server = Server::over(theirs, Layout::CARD, Host::new(pci::VECTORS)).expect("a socket can be served");
        let mut function = Zeros { left: 0 };
        let bytes = requests(source);
        // Few streams come in small pieces: each look costs system calls.
        let slow = source.chance(8);
        let mut waiting = &bytes[..];
        let mut answers = Vec::new();
        // Whatever moves, moves within so many looks.
        for look in 0.. {
            assert!(look < 1000, "the server goes on for ever");
            let part = if slow { 1 + source.below(40) } else { waiting.len() }.min(waiting.len());
            let sent = client.write(&waiting[..part]).unwrap_or(0);
            waiting = &waiting[sent..];
            let served = server.service(&mut function);
            let mut part = [0; 1 << 16];
            let read = loop {
                match client.read(&mut part) {
                    Ok(0) => break 0,
                    Ok(read) => answers.extend_from_slice(&part[..read]),
                    Err(error) if error.kind() == ErrorKind::WouldBlock => break 1,
                    Err(_) => break 0,
                }
            };
            if !server.connected() || (waiting.is_empty() && !served && read == 1) {
                break;
            }
        }
        let lives = server.connected();
        assert_eq!(function.left, u32::from(!lives), "what a client that goes had is forgotten once");
        let mut rest = &answers[..];
        let mut ids = Vec::new();
        let mut good = 0;
        while !rest.is_empty() {
            let header = Header::parse(rest).expect("an answer has a header");
            let size = header.size as usize;
            assert!(
                header.flags & flags::KIND == flags::REPLY && (Header::BYTES..=rest.len()).contains(&size),
                "{header:?}"
            );
            assert_eq!(header.flags & flags::ERROR != 0, header.error != 0, "{header:?}");
            ids.push(header.id);
            good += u32::from(header.error == 0);
            rest = &rest[size..];
        }
        let expected = expected(&bytes);
        if lives {
            assert_eq!(ids, expected, "every request is answered");
        } else {
            // A size that cannot be is answered too, before the connection ends.
            let known = ids.len().min(expected.len());
            assert_eq!(ids[..known], expected[..known], "answers come in order");
        }
        good > 1
    });
}
