//! Messages of vfio-user: the header, the fixed part of each body, and what the two sides agree on.
//!
//! A message is a header of 16 bytes and a body; all numbers are little-endian. The kernel's structures of VFIO are reused by the
//! protocol, so their constants come from `vfio-bindings`.

mod agreement;
mod bodies;

pub use agreement::*;
pub use bodies::*;

/// Version that this module speaks.
pub const MAJOR: u16 = 0;
/// Minor version that this module speaks.
pub const MINOR: u16 = 1;
/// Bytes of data in one REGION_READ or REGION_WRITE.
pub const MAX_DATA: usize = 1 << 20;
/// Bytes of a message: the data, and more than any fixed part needs.
pub const MAX_MESSAGE: usize = MAX_DATA + 256;
/// File descriptors in one message: as many as QEMU accepts to be announced.
pub const MAX_FDS: usize = 16;

/// Requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u16)]
pub enum Command {
    /// Agrees on a version; the first message.
    Version = 1,
    /// Gives the server memory of the client.
    DmaMap = 2,
    /// Takes memory back.
    DmaUnmap = 3,
    /// How many regions and interrupts there are.
    GetInfo = 4,
    /// Size and kind of a region.
    GetRegionInfo = 5,
    /// Eventfds that stand for writes of registers.
    GetRegionIoFds = 6,
    /// Number and kind of interrupts.
    GetIrqInfo = 7,
    /// Gives, takes back or triggers interrupts.
    SetIrqs = 8,
    /// Reads a region.
    RegionRead = 9,
    /// Writes a region.
    RegionWrite = 10,
    /// The server reads memory of the client.
    DmaRead = 11,
    /// The server writes memory of the client.
    DmaWrite = 12,
    /// Resets the function.
    Reset = 13,
}

impl Command {
    const ALL: [Command; 13] = {
        use Command::*;
        [
            Version,
            DmaMap,
            DmaUnmap,
            GetInfo,
            GetRegionInfo,
            GetRegionIoFds,
            GetIrqInfo,
            SetIrqs,
            RegionRead,
            RegionWrite,
            DmaRead,
            DmaWrite,
            Reset,
        ]
    };

    /// The request of a number, if the protocol has one.
    pub fn of(number: u16) -> Option<Command> {
        Command::ALL.into_iter().find(|command| *command as u16 == number)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bodies_have_the_sizes_of_the_protocol() {
        let sizes =
            [Header::BYTES, DmaMap::BYTES, DmaUnmap::BYTES, RegionInfo::BYTES, IoEventFd::BYTES, SetIrqs::BYTES];
        assert_eq!(sizes, [16, 32, 24, 32, 40, 20]);
        let map = DmaMap { argsz: 32, flags: 3, offset: 1 << 40, address: u64::MAX, size: 4096 };
        assert_eq!(DmaMap::parse(&map.bytes()), Some(map));
        assert_eq!(DmaMap::parse(&map.bytes()[..31]), None);
        assert_eq!((Command::of(13), Command::of(14), Command::of(0)), (Some(Command::Reset), None, None));
    }

    #[test]
    fn each_request_has_its_number() {
        let numbers: Vec<u16> = (0..20).filter(|number| Command::of(*number).is_some()).collect();
        assert_eq!(numbers, (1..14).collect::<Vec<u16>>());
        for number in 1..14 {
            assert_eq!(Command::of(number).map(|command| command as u16), Some(number));
        }
    }

    #[test]
    fn numbers_of_a_body_lie_one_after_another_with_the_low_byte_first() {
        let header = Header { id: 0x0201, command: 0x0403, size: 0x0807_0605, flags: 0x0C0B_0A09, error: 0x100F_0E0D };
        assert_eq!(header.bytes(), (1..17).collect::<Vec<u8>>());
        assert_eq!(Header::parse(&header.bytes()), Some(header));
        assert_eq!(Header::parse(&[header.bytes(), vec![9]].concat()), Some(header), "what follows is not read");
        assert_eq!((Header::parse(&header.bytes()[..15]), Header::parse(&[])), (None, None));
    }
}
