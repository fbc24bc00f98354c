//! What a server answers: the bytes of each reply, and what the function hears.

use crate::dummy::{Dummy, KICK, SCRATCH};
use rustix::io::Errno;
use spindle::config_space::Layout;
use spindle::irq;
use spindle::vfio_user::channel::{Broken, Channel, Message};
use spindle::vfio_user::message::*;
use spindle::vfio_user::{Doorbell, Function, Host, MapRequest, Refusals, Server};
use spindle_contract::pci;
use std::fs::File;
use std::ops::Range;
use std::os::fd::OwnedFd;
use std::os::unix::fs::FileExt;
use std::os::unix::net::UnixStream;

/// A dummy that notes what it hears.
struct Noting {
    dummy: Dummy,
    heard: Vec<String>,
    /// Maps that it refuses.
    refuses: bool,
}

impl Noting {
    fn note(&mut self, what: impl Into<String>) {
        self.heard.push(what.into());
    }

    fn heard(&mut self) -> Vec<String> {
        std::mem::take(&mut self.heard)
    }
}

impl Function for Noting {
    fn read(&mut self, offset: u64, bytes: &mut [u8]) -> Result<(), Errno> {
        self.dummy.read(offset, bytes)
    }
    fn write(&mut self, offset: u64, bytes: &[u8]) -> Result<(), Errno> {
        self.dummy.write(offset, bytes)
    }
    fn reset(&mut self) {
        let reached = self.dummy.host.memory.write(0x1000, &[0]) != Err(Errno::ACCESS);
        self.note(if reached { "reset, with memory" } else { "reset" });
        self.dummy.reset();
    }
    fn own_region(&self) -> u64 {
        self.dummy.own_region()
    }
    fn read_own(&mut self, offset: u64, bytes: &mut [u8]) -> Result<(), Errno> {
        self.dummy.read_own(offset, bytes)
    }
    fn write_own(&mut self, offset: u64, bytes: &[u8]) -> Result<(), Errno> {
        self.dummy.write_own(offset, bytes)
    }
    fn doorbells(&self) -> Vec<Doorbell> {
        self.dummy.doorbells()
    }
    fn connected(&mut self) {
        self.note("connected");
    }
    fn leaving(&mut self) {
        self.note("leaving");
    }
    fn disconnected(&mut self) {
        self.note("disconnected");
    }
    fn map(&mut self, map: &MapRequest) -> Result<(), Errno> {
        self.note(format!("map {:#x}", map.range.start));
        match self.refuses {
            true => Err(Errno::PERM),
            false => Ok(()),
        }
    }
    fn unmap(&mut self, range: &Range<u64>) {
        let mapped = self.dummy.host.memory.touches(range);
        self.note(format!("unmap {:#x}..{:#x}{}", range.start, range.end, if mapped { "" } else { ", late" }));
    }
    fn interrupts_changed(&mut self) {
        self.note("interrupts");
    }
}

/// A server, its function and a client, in one thread.
struct Pair {
    server: Server,
    function: Noting,
    client: Channel,
    host: Host,
}

impl Pair {
    fn new() -> Pair {
        let mut pair = Pair::before_version();
        pair.request(Command::Version, &version_body(Capabilities::own()), vec![]).unwrap();
        assert_eq!(pair.function.heard(), ["connected"]);
        pair
    }

    fn before_version() -> Pair {
        let (ours, theirs) = UnixStream::pair().unwrap();
        let host = Host::new(pci::VECTORS);
        let server = Server::over(theirs, Layout::CARD, host.clone()).unwrap();
        let function = Noting { dummy: Dummy::new(host.clone()), heard: vec![], refuses: false };
        Pair { server, function, client: Channel::new(ours).unwrap(), host }
    }

    fn send(&mut self, header: Header, body: &[u8], fds: Vec<OwnedFd>) -> Option<Message> {
        self.client.send(header, &[body], fds).unwrap();
        self.server.service(&mut self.function);
        self.client.receive().unwrap()
    }

    /// The reply to a request, or its errno.
    fn ask(&mut self, command: u16, body: &[u8], fds: Vec<OwnedFd>) -> Result<Message, i32> {
        let header = Header { id: 0x7000 | command, command, ..Header::default() };
        let reply = self.send(header, body, fds).expect("a reply");
        assert_eq!((reply.header.id, reply.header.command), (header.id, command));
        match reply.header.flags {
            flags::REPLY => {
                assert_eq!(reply.header.error, 0);
                Ok(reply)
            }
            both if both == flags::REPLY | flags::ERROR => {
                assert!(reply.body.is_empty() && reply.fds.is_empty());
                Err(reply.header.error as i32)
            }
            other => panic!("a reply with flags {other:#x}"),
        }
    }

    fn request(&mut self, command: Command, body: &[u8], fds: Vec<OwnedFd>) -> Result<Message, i32> {
        self.ask(command as u16, body, fds)
    }

    fn body(&mut self, command: Command, body: &[u8]) -> Vec<u8> {
        self.request(command, body, vec![]).unwrap().body
    }

    /// The errno of a request that is refused.
    #[track_caller]
    fn refused(&mut self, command: Command, body: &[u8], fds: Vec<OwnedFd>) -> i32 {
        self.request(command, body, fds).expect_err("it is refused")
    }

    fn write(&mut self, region: u32, offset: u64, data: &[u8]) -> Result<Message, i32> {
        let access = RegionAccess { offset, region, count: data.len() as u32 };
        self.request(Command::RegionWrite, &[&access.bytes(), data].concat(), vec![])
    }

    fn read(&mut self, region: u32, offset: u64, count: u32) -> Result<Vec<u8>, i32> {
        let access = RegionAccess { offset, region, count };
        let reply = self.request(Command::RegionRead, &access.bytes(), vec![])?;
        assert_eq!(reply.body[..RegionAccess::BYTES], access.bytes());
        Ok(reply.body[RegionAccess::BYTES..].to_vec())
    }
}

fn code(error: Errno) -> i32 {
    error.raw_os_error()
}

fn eventfd() -> OwnedFd {
    irq::create().unwrap()
}

fn copy_of(fd: &OwnedFd) -> OwnedFd {
    irq::duplicate(fd).unwrap()
}

/// A file of a page of this byte.
fn page(byte: u8) -> File {
    let file = tempfile::tempfile().unwrap();
    file.write_all_at(&[byte; 4096], 0).unwrap();
    file
}

const CONFIG: u32 = 7;
const TIME: u32 = pci::TIME_REGION as u32;

#[test]
fn a_client_agrees_on_a_version_before_anything_else() {
    let mut pair = Pair::before_version();
    pair.server.announce(Some(5), 0x1000..0x9000);
    assert!(pair.server.connected());
    let body = pair.body(Command::Version, &version_body(Capabilities::default()));
    let (version, capabilities) = parse_version(&body).unwrap();
    assert_eq!((version.major, version.minor), (MAJOR, MINOR));
    assert_eq!((capabilities.max_msg_fds, capabilities.max_data_xfer_size), (16, 1 << 20));
    assert_eq!((capabilities.process, capabilities.window), (Some(5), Some([0x1000, 0x9000])));
    assert_eq!(pair.function.heard(), ["connected"]);
    assert_eq!(pair.refused(Command::Version, &version_body(Capabilities::own()), vec![]), code(Errno::INVAL));
    assert_eq!(pair.function.heard(), Vec::<String>::new(), "it has agreed already");

    for (command, body, errno) in [
        (Command::GetInfo, vec![0; 16], Errno::INVAL),
        (Command::Version, vec![0; 3], Errno::INVAL),
        (Command::Version, vec![1, 0, 0, 0], Errno::OPNOTSUPP),
    ] {
        let mut pair = Pair::before_version();
        assert_eq!(pair.refused(command, &body, vec![]), code(errno));
        assert!(!pair.server.connected());
        assert_eq!(pair.function.heard(), ["leaving", "interrupts", "disconnected"]);
        assert!(matches!(pair.client.receive(), Err(Broken::Closed)));
    }
}

#[test]
fn a_device_reports_its_regions_and_interrupts() {
    let mut pair = Pair::new();
    let info = |regions: u32| DeviceInfo { argsz: 16, flags: 3, regions, irqs: 5 }.bytes();
    assert_eq!(pair.body(Command::GetInfo, &[]), info(10));
    pair.function.dummy.steps = false;
    assert_eq!(pair.body(Command::GetInfo, &[0xFF; 16]), info(9));
    for (index, flags, count) in [(0, 0, 0), (1, 0, 0), (2, 1, 16), (3, 1, 1), (4, 1, 1)] {
        let request = IrqInfo { argsz: 16, index, ..IrqInfo::default() };
        let expected = IrqInfo { argsz: 16, flags, index, count };
        assert_eq!(pair.body(Command::GetIrqInfo, &request.bytes()), expected.bytes(), "{index}");
    }
    let request = IrqInfo { argsz: 16, index: 5, ..IrqInfo::default() };
    assert_eq!(pair.refused(Command::GetIrqInfo, &request.bytes(), vec![]), code(Errno::INVAL));
}

#[test]
fn a_region_reports_its_size_and_its_own_kind() {
    let mut pair = Pair::new();
    let ask = |index: u32, argsz: u32| RegionInfo { argsz, index, ..RegionInfo::default() }.bytes();
    let region =
        |index: u32, flags: u32, size: u64| RegionInfo { argsz: 32, flags, index, cap_offset: 0, size, offset: 0 };
    for (index, size) in [(0, 1 << 20), (1, 0), (2, 4096), (3, 0), (6, 0), (7, 4096), (8, 0)] {
        let expected = region(index, if size > 0 { 3 } else { 0 }, size);
        assert_eq!(pair.body(Command::GetRegionInfo, &ask(index, 32)), expected.bytes(), "{index}");
    }
    // The device's own has a capability, which comes if there is room.
    let own = RegionInfo { argsz: 48, flags: 0xB, cap_offset: 32, ..region(9, 0, pci::TIME_REGION_BYTES) };
    let capability = TypeCapability { id: 2, version: 1, next: 0, kind: 0x8000_1AF4, subtype: 1 };
    for (argsz, expected) in [
        (32, own.bytes()),
        (47, own.bytes()),
        (48, [own.bytes(), capability.bytes()].concat()),
        (u32::MAX, [own.bytes(), capability.bytes()].concat()),
    ] {
        assert_eq!(pair.body(Command::GetRegionInfo, &ask(9, argsz)), expected, "{argsz}");
    }
    assert_eq!(pair.refused(Command::GetRegionInfo, &ask(10, 32), vec![]), code(Errno::INVAL));
    pair.function.dummy.steps = false;
    assert_eq!(pair.refused(Command::GetRegionInfo, &ask(9, 48), vec![]), code(Errno::INVAL));
}

#[test]
fn registers_answer_while_memory_is_enabled_and_read_ones_otherwise() {
    let mut pair = Pair::new();
    assert_eq!(pair.read(0, 0, 4), Ok(vec![0xFF; 4]));
    assert_eq!(pair.read(2, 0, 3), Ok(vec![0xFF; 3]));
    pair.write(0, SCRATCH.into(), &[1, 2, 3, 4]).unwrap();
    pair.write(2, 0, &[9; 16]).unwrap();
    pair.write(CONFIG, 4, &[2]).unwrap();
    assert_eq!(pair.read(0, 0, 4), Ok(b"DNPS".to_vec()));
    assert_eq!(pair.read(0, SCRATCH.into(), 4), Ok(vec![0; 4]), "no write came through before");
    assert_eq!(pair.read(2, 0, 16), Ok(vec![0; 16]));
    pair.write(0, SCRATCH.into(), &[1, 2, 3, 4]).unwrap();
    pair.write(2, 4090, &[9; 6]).unwrap();
    assert_eq!(pair.read(0, SCRATCH.into(), 4), Ok(vec![1, 2, 3, 4]));
    assert_eq!(pair.read(2, 4089, 7), Ok(vec![0, 9, 9, 9, 9, 9, 9]));
    // The space of the configuration answers always.
    pair.write(CONFIG, 4, &[0]).unwrap();
    assert_eq!(pair.read(CONFIG, 0, 4), Ok(vec![0xF4, 0x1A, 0xF0, 0x10]));
    pair.write(CONFIG, 4, &[2]).unwrap();
    // The last bytes, and those after them.
    for (region, bytes) in [(2, 4096), (CONFIG, 4096)] {
        assert_eq!(pair.read(region, bytes - 2, 2).map(|data| data.len()), Ok(2));
        for (offset, count) in [(bytes - 2, 3), (bytes, 1), (u64::MAX, 2), (0, 0)] {
            assert_eq!(pair.read(region, offset, count), Err(code(Errno::INVAL)), "{offset:#x} {count}");
            assert_eq!(pair.write(region, offset, &vec![0; count as usize]).err(), Some(code(Errno::INVAL)));
        }
    }
    let access = RegionAccess { offset: SCRATCH.into(), region: 0, count: 4 }.bytes();
    for data in [&[][..], &[0; 3], &[0; 5]] {
        let body = [&access[..], data].concat();
        assert_eq!(pair.refused(Command::RegionWrite, &body, vec![]), code(Errno::INVAL));
    }
    // The function's own errors.
    assert_eq!(pair.read(0, 0x30, 4), Err(code(Errno::PERM)));
    assert_eq!(pair.write(0, 0x30, &[0; 4]).err(), Some(code(Errno::PERM)));
}

#[test]
fn the_time_of_a_card_is_a_region_of_its_own() {
    let mut pair = Pair::new();
    pair.write(TIME, pci::TIME_RUN, &100u64.to_le_bytes()).unwrap();
    assert_eq!(pair.read(TIME, pci::TIME_CYCLE, 8), Ok(100u64.to_le_bytes().to_vec()));
    assert_eq!(pair.read(TIME, 0x28, 8), Err(code(Errno::INVAL)));
    assert_eq!(pair.write(TIME, 0x28, &[0; 8]).err(), Some(code(Errno::INVAL)));
    assert_eq!(pair.read(TIME, pci::TIME_REGION_BYTES, 1), Err(code(Errno::INVAL)));
}

#[test]
fn a_posted_write_has_no_reply() {
    let mut pair = Pair::new();
    pair.write(CONFIG, 4, &[2]).unwrap();
    let access = RegionAccess { offset: SCRATCH.into(), region: 0, count: 4 }.bytes();
    let header = Header { id: 1, command: Command::RegionWrite as u16, flags: flags::NO_REPLY, ..Header::default() };
    assert!(pair.send(header, &[&access[..], &[5, 0, 0, 0]].concat(), vec![]).is_none());
    assert_eq!(pair.read(0, SCRATCH.into(), 4), Ok(vec![5, 0, 0, 0]));
    assert!(pair.send(header, &access, vec![]).is_none(), "nor has one that is refused");
    assert_eq!(pair.read(0, SCRATCH.into(), 4), Ok(vec![5, 0, 0, 0]));
}

#[test]
fn interrupts_are_given_fired_and_taken_back() {
    let mut pair = Pair::new();
    let set =
        |flags: u32, index: u32, start: u32, count: u32| SetIrqs { argsz: 20, flags, index, start, count }.bytes();
    const TRIGGER: u32 = 0x20;
    const EVENTFD: u32 = TRIGGER | 4;
    let fds: Vec<OwnedFd> = (0..3).map(|_| eventfd()).collect();
    let copies = |fds: &[OwnedFd]| fds.iter().map(copy_of).collect::<Vec<_>>();
    pair.request(Command::SetIrqs, &set(EVENTFD, 2, 13, 3), copies(&fds)).unwrap();
    assert_eq!(pair.function.heard(), ["interrupts"]);
    let interrupts = pair.host.interrupts.clone();
    assert_eq!([12, 13, 14, 15, 16].map(|vector| interrupts.fire(vector)), [false, true, true, true, false]);
    assert_eq!(fds.iter().map(irq::take).collect::<Vec<_>>(), [1, 1, 1]);
    assert!(irq::signal(interrupts.eventfd(14).unwrap()) && interrupts.eventfd(0).is_none());
    assert!(interrupts.eventfd(16).is_none());
    assert_eq!(fds.iter().map(irq::take).collect::<Vec<_>>(), [0, 1, 0]);
    // Fired by the client: all of a range, or those of it that it names.
    pair.request(Command::SetIrqs, &set(TRIGGER | 1, 2, 14, 2), vec![]).unwrap();
    assert_eq!(fds.iter().map(irq::take).collect::<Vec<_>>(), [0, 1, 1]);
    let body = [&set(TRIGGER | 2, 2, 13, 3)[..], &[1, 0, 7]].concat();
    pair.request(Command::SetIrqs, &body, vec![]).unwrap();
    assert_eq!(fds.iter().map(irq::take).collect::<Vec<_>>(), [1, 0, 1]);
    // One is taken back, then all.
    pair.request(Command::SetIrqs, &set(EVENTFD, 2, 14, 1), vec![]).unwrap();
    assert_eq!([13, 14, 15].map(|vector| interrupts.fire(vector)), [true, false, true]);
    pair.request(Command::SetIrqs, &set(TRIGGER | 1, 2, 0, 0), vec![]).unwrap();
    assert_eq!([13, 14, 15].map(|vector| interrupts.fire(vector)), [false; 3]);
    pair.request(Command::SetIrqs, &set(EVENTFD, 2, 0, 1), copies(&fds[..1])).unwrap();
    pair.request(Command::SetIrqs, &set(EVENTFD, 2, 0, 0), vec![]).unwrap();
    assert!(!interrupts.fire(0));
    // The error and the request of the device.
    pair.request(Command::SetIrqs, &set(EVENTFD, 3, 0, 1), copies(&fds[..1])).unwrap();
    assert!(interrupts.report_error() && !interrupts.request_back());
    pair.request(Command::SetIrqs, &set(EVENTFD, 4, 0, 1), copies(&fds[1..2])).unwrap();
    assert!(interrupts.request_back());
    assert_eq!(fds.iter().map(irq::take).collect::<Vec<_>>(), [2, 1, 1]);
    pair.function.heard();
    let invalid = code(Errno::INVAL);
    for (body, fds, errno) in [
        (set(EVENTFD, 2, 13, 4), copies(&fds), invalid),
        (set(EVENTFD, 2, 0, 2), copies(&fds), invalid),
        (set(EVENTFD, 2, 16, 1), copies(&fds[..1]), invalid),
        (set(EVENTFD, 5, 0, 0), vec![], invalid),
        (set(EVENTFD, 2, u32::MAX, u32::MAX), vec![], invalid),
        // A pipe is no eventfd.
        (set(EVENTFD, 2, 0, 1), vec![std::io::pipe().unwrap().1.into()], invalid),
        (set(TRIGGER | 2, 2, 0, 1), vec![], invalid),
        (set(0x10 | 1, 2, 0, 1), vec![], code(Errno::OPNOTSUPP)),
        (set(0x08 | 1, 2, 0, 1), vec![], code(Errno::OPNOTSUPP)),
        (set(TRIGGER, 2, 0, 1), vec![], invalid),
    ] {
        assert_eq!(pair.refused(Command::SetIrqs, &body, fds), errno, "{body:x?}");
    }
    assert_eq!(pair.function.heard(), Vec::<String>::new(), "nothing has changed");
}

#[test]
fn memory_is_given_with_its_rights_and_taken_back_whole() {
    let mut pair = Pair::new();
    pair.write(CONFIG, 4, &[6]).unwrap();
    let map = |flags: u32, address: u64, size: u64| DmaMap { argsz: 32, flags, offset: 0, address, size }.bytes();
    let unmap = |flags: u32, address: u64, size: u64| DmaUnmap { argsz: 24, flags, address, size }.bytes();
    let fd = |byte: u8| vec![OwnedFd::from(page(byte))];
    for (flags, address) in [(1, 0x1000), (2, 0x2000), (3, 0x3000)] {
        let body = map(flags, address, 0x1000);
        assert_eq!(pair.request(Command::DmaMap, &body, fd(flags as u8)).unwrap().body, Vec::<u8>::new());
        assert_eq!(pair.function.heard(), [format!("map {address:#x}")]);
    }
    let memory = pair.host.memory.clone();
    let mut byte = [0];
    for (address, reads, writes) in [(0x1000, true, false), (0x2FFF, false, true), (0x3FFF, true, true)] {
        assert_eq!(memory.write(address, &[7]).is_ok(), writes, "{address:#x}");
        assert_eq!(memory.read(address, &mut byte).is_ok(), reads, "{address:#x}");
    }
    assert_eq!(byte, [7]);
    // Over several maps; none of the bytes is written if one may not be.
    memory.write(0x2FFE, &[1, 2, 3, 4]).unwrap();
    assert_eq!(memory.write(0x3FFE, &[9, 9, 9]), Err(Errno::FAULT));
    let mut bytes = [0; 2];
    memory.read(0x3000, &mut bytes).unwrap();
    assert_eq!(bytes, [3, 4]);
    memory.read(0x3FFE, &mut bytes).unwrap();
    assert_eq!(bytes, [3, 7]);
    assert_eq!(memory.read(u64::MAX, &mut [0; 2]), Err(Errno::FAULT));
    // Memory that only the client reaches.
    pair.request(Command::DmaMap, &map(3, 0x8000, 0x1000), vec![]).unwrap();
    assert_eq!((memory.read(0x8000, &mut byte), memory.write(0x8000, &byte)), (Err(Errno::FAULT), Err(Errno::FAULT)));
    assert_eq!(memory.ranges(), [0x1000..0x2000, 0x2000..0x3000, 0x3000..0x4000, 0x8000..0x9000]);
    for (range, touches) in [
        (0..0x1000, false),
        (0..0x1001, true),
        (0x3FFF..0x4001, true),
        (0x4000..0x8000, false),
        (0x9000..0xA000, false),
    ] {
        assert_eq!(memory.touches(&range), touches, "{range:x?}");
    }
    pair.function.heard();
    let (invalid, unsupported) = (code(Errno::INVAL), code(Errno::OPNOTSUPP));
    for (body, fds, errno) in [
        (map(0, 0x10_0000, 0x1000), fd(1), invalid),
        (map(4 | 3, 0x10_0000, 0x1000), fd(1), invalid),
        (map(3, 0x10_0000, 0), fd(1), invalid),
        (map(3, u64::MAX, 2), fd(1), invalid),
        (map(3, 0x10_0000, 0x1000), [fd(1), fd(2)].into_iter().flatten().collect(), invalid),
        (map(3, 0x3FFF, 1), fd(1), code(Errno::EXIST)),
        (map(3, 0xFFF, 2), fd(1), code(Errno::EXIST)),
    ] {
        assert_eq!(pair.refused(Command::DmaMap, &body, fds), errno, "{body:x?}");
    }
    assert_eq!(pair.function.heard(), Vec::<String>::new(), "the function has heard of none");
    pair.function.refuses = true;
    assert_eq!(pair.refused(Command::DmaMap, &map(3, 0x10_0000, 0x1000), fd(1)), code(Errno::PERM));
    assert_eq!((pair.function.heard(), memory.ranges().len()), (vec!["map 0x100000".to_owned()], 4));
    for (body, errno) in [
        (unmap(0, 0x1001, 0x1000), invalid),
        (unmap(0, 0x1000, 0xFFF), invalid),
        (unmap(1, 0x1000, 0x1000), unsupported),
        (unmap(2, 0x1000, 0), invalid),
        (unmap(4, 0, 1), invalid),
        (unmap(6, 0, 0), unsupported),
    ] {
        assert_eq!(pair.refused(Command::DmaUnmap, &body, vec![]), errno, "{body:x?}");
    }
    assert_eq!((pair.function.heard(), memory.ranges().len()), (vec![], 4));
    for (body, left, heard) in [
        (unmap(0, 0x4000, 0x1000), 4, vec![]),
        (unmap(0, 0x1000, 0x2000), 2, vec!["unmap 0x1000..0x3000".to_owned()]),
        (unmap(0, 0, u64::MAX), 0, vec!["unmap 0x0..0xffffffffffffffff".to_owned()]),
    ] {
        assert_eq!(pair.body(Command::DmaUnmap, &body), body);
        assert_eq!((memory.ranges().len(), pair.function.heard()), (left, heard));
    }
    pair.function.refuses = false;
    // A map that the table refuses after the function has taken it.
    let sealed = rustix::fs::memfd_create("test", rustix::fs::MemfdFlags::ALLOW_SEALING).unwrap();
    rustix::fs::fcntl_add_seals(&sealed, rustix::fs::SealFlags::SHRINK).unwrap();
    assert_eq!(pair.refused(Command::DmaMap, &map(3, 0x1000, 0x1000), vec![sealed]), invalid);
    assert_eq!(pair.function.heard(), ["map 0x1000", "unmap 0x1000..0x2000, late"]);
    for all in [UNMAP_ALL, 1 << 2] {
        pair.request(Command::DmaMap, &map(3, 0x1000, 0x1000), fd(1)).unwrap();
        pair.body(Command::DmaUnmap, &unmap(all, 0, 0));
        assert!(memory.ranges().is_empty());
    }
}

#[test]
fn a_reset_keeps_maps_and_what_the_host_has_switched() {
    let mut pair = Pair::new();
    pair.write(CONFIG, 4, &[6]).unwrap();
    let map = DmaMap { argsz: 32, flags: 3, offset: 0, address: 0x1000, size: 0x1000 }.bytes();
    pair.request(Command::DmaMap, &map, vec![page(1).into()]).unwrap();
    pair.write(0, SCRATCH.into(), &[1; 4]).unwrap();
    pair.function.heard();
    assert_eq!(pair.body(Command::Reset, &[]), Vec::<u8>::new());
    assert_eq!(pair.function.heard(), ["reset"], "it reaches no memory meanwhile");
    assert_eq!(pair.read(0, SCRATCH.into(), 4), Ok(vec![0; 4]), "memory is still enabled");
    pair.host.memory.write(0x1000, &[5]).unwrap();
    // By the configuration space: that is reset too.
    pair.write(CONFIG, 0x58, &[0, 0x80]).unwrap();
    assert_eq!(pair.function.heard(), ["reset"]);
    assert_eq!(pair.host.memory.write(0x1000, &[5]), Err(Errno::ACCESS));
    assert_eq!(pair.read(0, 0, 4), Ok(vec![0xFF; 4]));
    assert_eq!(pair.host.memory.ranges().len(), 1);
    pair.write(CONFIG, 4, &[4]).unwrap();
    pair.host.memory.write(0x1000, &[5]).unwrap();
}

#[test]
fn what_a_client_gave_is_forgotten_when_it_goes() {
    let mut pair = Pair::new();
    pair.write(CONFIG, 4, &[6]).unwrap();
    pair.write(2, 0, &[9; 16]).unwrap();
    let file = page(1);
    for address in [0x1000, 0x4000] {
        let map = DmaMap { argsz: 32, flags: 3, offset: 0, address, size: 0x1000 }.bytes();
        pair.request(Command::DmaMap, &map, vec![file.try_clone().unwrap().into()]).unwrap();
    }
    let set = SetIrqs { argsz: 20, flags: 0x24, index: 2, start: 0, count: 1 }.bytes();
    pair.request(Command::SetIrqs, &set, vec![eventfd()]).unwrap();
    let doorbells = RegionIoFds { argsz: 1000, flags: 0, index: 0, count: 0 }.bytes();
    pair.request(Command::GetRegionIoFds, &doorbells, vec![]).unwrap();
    let fds = pair.server.poll_fds().len();
    pair.function.heard();
    pair.server.disconnect(&mut pair.function);
    assert_eq!(
        pair.function.heard(),
        ["leaving", "unmap 0x1000..0x2000", "unmap 0x4000..0x5000", "interrupts", "disconnected"]
    );
    assert!(pair.host.memory.ranges().is_empty() && !pair.host.interrupts.fire(0));
    assert_eq!(pair.host.memory.write(0x1000, &[0]), Err(Errno::ACCESS));
    assert!(!pair.server.connected());
    assert_eq!(pair.server.poll_fds().len(), fds - 2, "neither the client nor its doorbell");
    pair.server.disconnect(&mut pair.function);
    assert_eq!(pair.function.heard(), Vec::<String>::new());
    assert!(matches!(pair.client.receive(), Err(Broken::Closed)));
}

#[test]
fn an_eventfd_of_a_register_is_a_write_while_memory_is_enabled() {
    let mut pair = Pair::new();
    let ask = |index: u32, argsz: u32, flags: u32| RegionIoFds { argsz, flags, index, count: 0 }.bytes();
    // 16 bytes, and 40 for each.
    let head = |argsz: u32, index: u32, count: u32| RegionIoFds { argsz, flags: 0, index, count }.bytes();
    let short = pair.request(Command::GetRegionIoFds, &ask(0, 55, 0), vec![]).unwrap();
    assert_eq!((short.body, short.fds.len()), (head(56, 0, 1), 0));
    let whole = pair.request(Command::GetRegionIoFds, &ask(0, 56, 0), vec![]).unwrap();
    let entry = IoEventFd { offset: KICK.into(), size: 4, fd: 0, kind: 0, flags: 1, padding: 0, value: 1 };
    assert_eq!(whole.body, [head(56, 0, 1), entry.bytes()].concat());
    let [event] = &whole.fds[..] else { panic!("one eventfd") };
    // The same one again.
    let again = pair.request(Command::GetRegionIoFds, &ask(0, 1000, 0), vec![]).unwrap();
    assert!(irq::signal(&again.fds[0]));
    assert_eq!(irq::take(event), 1);
    for index in [2, CONFIG, TIME] {
        let none = pair.request(Command::GetRegionIoFds, &ask(index, 1000, 0), vec![]).unwrap();
        assert_eq!((none.body, none.fds.len()), (head(16, index, 0), 0));
    }
    for (index, flags) in [(1, 0), (10, 0), (0, 1)] {
        assert_eq!(pair.refused(Command::GetRegionIoFds, &ask(index, 1000, flags), vec![]), code(Errno::INVAL));
    }
    let kicks = |pair: &Pair| pair.function.dummy.registers[KICK as usize / 4];
    assert!(irq::signal(event));
    assert!(pair.server.service(&mut pair.function));
    assert_eq!(kicks(&pair), 0, "memory is not enabled");
    pair.write(CONFIG, 4, &[2]).unwrap();
    assert!(irq::signal(event) && irq::signal(event));
    assert!(pair.server.service(&mut pair.function));
    assert_eq!(kicks(&pair), 1, "signals that come together are one write");
    assert!(!pair.server.service(&mut pair.function), "nothing is there");
    assert_eq!(kicks(&pair), 1);
}

#[test]
fn clients_for_whom_there_is_no_function_are_refused() {
    let mut refusals = Refusals::default();
    let mut clients: Vec<Channel> = (0..5)
        .map(|_| {
            let (ours, theirs) = UnixStream::pair().unwrap();
            refusals.add(theirs);
            Channel::new(ours).unwrap()
        })
        .collect();
    assert_eq!(refusals.poll_fds().count(), 4, "a few wait");
    assert!(matches!(clients[4].receive(), Err(Broken::Closed)), "the fifth is left");
    refusals.service();
    assert_eq!(refusals.poll_fds().count(), 4, "their messages are not there");
    let version = Header { id: 9, command: Command::Version as u16, ..Header::default() };
    clients[1].send(version, &[&version_body(Capabilities::own())], vec![]).unwrap();
    clients.swap_remove(0);
    refusals.service();
    assert_eq!(refusals.poll_fds().count(), 2, "one has its answer, one is gone");
    let answer = clients[1].receive().unwrap().unwrap();
    assert_eq!((answer.header.id, answer.header.flags), (9, flags::REPLY | flags::ERROR));
    assert_eq!(answer.header.error as i32, code(Errno::BUSY));
    assert!(matches!(clients[1].receive(), Err(Broken::Closed)));
}

#[test]
fn a_message_keeps_its_descriptors_and_those_beyond_sixteen_are_closed() {
    let (ours, theirs) = UnixStream::pair().unwrap();
    let (mut from, mut to) = (Channel::new(ours).unwrap(), Channel::new(theirs).unwrap());
    assert!(to.receive().unwrap().is_none());
    let header = Header { id: 1, command: 2, flags: 3, error: 4, size: 0 };
    let events: Vec<OwnedFd> = (0..16).map(|_| eventfd()).collect();
    from.send(header, &[b"one", b"", b"two"], events.iter().map(copy_of).collect()).unwrap();
    from.send(Header { id: 2, ..header }, &[], vec![]).unwrap();
    assert!(!from.congested());
    let first = to.receive().unwrap().unwrap();
    assert_eq!((first.header, &first.body[..]), (Header { size: 22, ..header }, &b"onetwo"[..]));
    assert_eq!((first.fds.len(), first.fds_lost), (16, false));
    for (event, other) in events.iter().zip(&first.fds) {
        assert!(irq::signal(other));
        assert_eq!(irq::take(event), 1, "in their order");
    }
    let second = to.receive().unwrap().unwrap();
    assert_eq!((second.header.id, second.header.size, second.fds.len()), (2, 16, 0));
    let many = (0..32).map(|_| eventfd()).collect();
    let Broken::Socket(error) = from.send(header, &[], many).unwrap_err() else { panic!("an error of the socket") };
    assert!(error.to_string().contains("32 file descriptors do not fit in a message; at most 16"), "{error}");
    drop(from);
    assert!(matches!(to.receive(), Err(Broken::Closed)));
}

#[test]
fn a_socket_that_is_full_keeps_messages_until_there_is_room() {
    use rustix::event::PollFlags;
    let (ours, theirs) = UnixStream::pair().unwrap();
    let (mut from, mut to) = (Channel::new(ours).unwrap(), Channel::new(theirs).unwrap());
    assert_eq!(from.interest(), PollFlags::IN);
    let body = vec![7; MAX_DATA];
    from.send(Header { id: 1, ..Header::default() }, &[&body], vec![eventfd()]).unwrap();
    from.send(Header { id: 2, ..Header::default() }, &[b"small"], vec![eventfd(), eventfd()]).unwrap();
    assert!(from.congested());
    assert_eq!(from.interest(), PollFlags::OUT);
    let mut received = Vec::new();
    while received.len() < 2 {
        from.flush().unwrap();
        received.extend(to.receive().unwrap());
    }
    assert!(!from.congested());
    assert_eq!(from.interest(), PollFlags::IN);
    assert!(received[0].body == body);
    assert_eq!((received[0].header.id, received[0].fds.len()), (1, 1));
    assert_eq!((received[1].header.id, received[1].fds.len(), &received[1].body[..]), (2, 2, &b"small"[..]));
    drop(to);
    assert!(matches!(from.send(Header::default(), &[], vec![]), Err(Broken::Closed)));
}

#[test]
fn a_message_may_have_as_many_bytes_as_its_data_and_its_head_need() {
    let (ours, theirs) = UnixStream::pair().unwrap();
    let (mut from, mut to) = (Channel::new(ours).unwrap(), Channel::new(theirs).unwrap());
    let body = vec![7; MAX_MESSAGE - Header::BYTES];
    from.send(Header { id: 1, ..Header::default() }, &[&body], vec![]).unwrap();
    let received = loop {
        from.flush().unwrap();
        if let Some(message) = to.receive().unwrap() {
            break message;
        }
    };
    assert_eq!(received.body.len(), body.len());
    from.send(Header { id: 2, ..Header::default() }, &[&body, &[0]], vec![]).unwrap();
    match to.receive() {
        Err(Broken::Size(header)) => assert_eq!((header.id, header.size as usize), (2, MAX_MESSAGE + 1)),
        other => panic!("{other:?}"),
    }
}

/// Sends bytes with descriptors, as one call does.
fn send_raw(stream: &UnixStream, bytes: &[u8], fds: &[OwnedFd]) {
    use rustix::net::{sendmsg, SendAncillaryBuffer, SendAncillaryMessage, SendFlags};
    let mut space = [std::mem::MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(20))];
    let mut control = SendAncillaryBuffer::new(&mut space);
    let fds: Vec<_> = fds.iter().map(std::os::fd::AsFd::as_fd).collect();
    assert!(control.push(SendAncillaryMessage::ScmRights(&fds)));
    sendmsg(stream, &[std::io::IoSlice::new(bytes)], &mut control, SendFlags::empty()).unwrap();
}

#[test]
fn descriptors_that_come_in_parts_belong_to_one_message() {
    for (first, second, kept, lost) in [(8, 8, 16, false), (8, 9, 16, true), (17, 0, 16, true), (0, 16, 16, false)] {
        let (ours, theirs) = UnixStream::pair().unwrap();
        let mut to = Channel::new(theirs).unwrap();
        let events: Vec<OwnedFd> = (0..17).map(|_| eventfd()).collect();
        let header = Header { id: 1, command: Command::SetIrqs as u16, size: 20, ..Header::default() };
        send_raw(&ours, &header.bytes(), &events[..first]);
        assert!(to.receive().unwrap().is_none());
        send_raw(&ours, b"body", &events[..second]);
        let message = to.receive().unwrap().unwrap();
        assert_eq!((message.fds.len(), message.fds_lost, &message.body[..]), (kept, lost, &b"body"[..]));
        // The next message begins anew.
        send_raw(&ours, &Header { size: 16, ..header }.bytes(), &events[..1]);
        let message = to.receive().unwrap().unwrap();
        assert_eq!((message.fds.len(), message.fds_lost), (1, false));
    }
    // A request that has lost some is refused.
    let (ours, theirs) = UnixStream::pair().unwrap();
    let host = Host::new(16);
    let mut server = Server::over(theirs, Layout::CARD, host.clone()).unwrap();
    let mut dummy = Dummy::new(host);
    let version = version_body(Capabilities::own());
    let header = |command: Command, bytes: usize| Header {
        command: command as u16,
        size: (Header::BYTES + bytes) as u32,
        ..Header::default()
    };
    send_raw(&ours, &[header(Command::Version, version.len()).bytes(), version].concat(), &[]);
    let events: Vec<OwnedFd> = (0..17).map(|_| eventfd()).collect();
    let set = SetIrqs { argsz: 20, flags: 0x24, index: 2, start: 0, count: 16 }.bytes();
    send_raw(&ours, &[header(Command::SetIrqs, set.len()).bytes(), set].concat(), &events);
    server.service(&mut dummy);
    let mut client = Channel::new(ours).unwrap();
    assert_eq!(client.receive().unwrap().unwrap().header.error, 0);
    assert_eq!(client.receive().unwrap().unwrap().header.error as i32, code(Errno::INVAL));
}

#[test]
fn a_client_that_sends_many_requests_at_once_is_answered_in_parts() {
    let mut pair = Pair::new();
    let header = Header { command: Command::GetInfo as u16, ..Header::default() };
    for id in 0..150 {
        pair.client.send(Header { id, ..header }, &[], vec![]).unwrap();
    }
    let mut answered = 0;
    // Twice in a call the server looks at its client, each time at 64 requests.
    for answers in [128, 22, 0] {
        assert_eq!(pair.server.service(&mut pair.function), answers > 0);
        let before = answered;
        while let Some(reply) = pair.client.receive().unwrap() {
            assert_eq!(reply.header.id, answered);
            answered += 1;
        }
        assert_eq!(answered - before, answers);
    }
}

#[test]
fn a_read_has_at_most_as_many_bytes_as_a_message_of_data() {
    let (ours, theirs) = UnixStream::pair().unwrap();
    let host = Host::new(1);
    let layout = Layout { registers: 1 << 21, vectors: 1 };
    let mut server = Server::over(theirs, layout, host.clone()).unwrap();
    let mut dummy = Dummy::new(host);
    let mut client = Channel::new(ours).unwrap();
    let mut ask = |command: Command, body: &[u8]| {
        let header = Header { command: command as u16, ..Header::default() };
        client.send(header, &[body], vec![]).unwrap();
        loop {
            server.service(&mut dummy);
            if let Some(reply) = client.receive().unwrap() {
                break (reply.header.error as i32, reply.body.len());
            }
        }
    };
    assert_eq!(ask(Command::Version, &version_body(Capabilities::own())).0, 0);
    let read = |count: usize| RegionAccess { offset: 0, region: 0, count: count as u32 }.bytes();
    assert_eq!(ask(Command::RegionRead, &read(MAX_DATA)), (0, MAX_DATA + RegionAccess::BYTES));
    assert_eq!(ask(Command::RegionRead, &read(MAX_DATA + 1)), (code(Errno::INVAL), 0));
}

#[test]
fn a_peer_that_leaves_messages_unread_has_closed_the_channel() {
    let (ours, theirs) = UnixStream::pair().unwrap();
    let mut from = Channel::new(ours).unwrap();
    from.send(Header::default(), &[], vec![]).unwrap();
    drop(theirs);
    assert!(matches!(from.receive(), Err(Broken::Closed)));
    assert!(matches!(from.send(Header::default(), &[], vec![]), Err(Broken::Closed)));
}
