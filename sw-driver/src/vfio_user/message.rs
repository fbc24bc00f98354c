//! Messages of vfio-user: the header, the fixed part of each body, and what the two sides agree on.
//!
//! A message is a header of 16 bytes and a body; all numbers are little-endian. The kernel's structures of VFIO are reused by the
//! protocol, so their constants come from `vfio-bindings`.

use serde::{Deserialize, Serialize};

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
/// Bytes that a client should map at once: a page.
const PAGE_BYTES: u64 = 4096;

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

/// Declares the fixed part of a message: a structure of little-endian numbers.
macro_rules! body {
    ($(#[$doc:meta])* $name:ident { $($(#[$field_doc:meta])* $field:ident: $type:ty,)* }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
        pub struct $name {
            $($(#[$field_doc])* pub $field: $type,)*
        }

        impl $name {
            /// Bytes in a message.
            pub const BYTES: usize = 0 $(+ size_of::<$type>())*;

            /// The structure at the start of these bytes; `None` if they are too few.
            pub fn parse(bytes: &[u8]) -> Option<$name> {
                let mut at = 0;
                $(
                    let end = at + size_of::<$type>();
                    let $field = <$type>::from_le_bytes(bytes.get(at..end)?.try_into().ok()?);
                    at = end;
                )*
                let _ = at;
                Some($name { $($field,)* })
            }

            /// Its bytes.
            pub fn bytes(&self) -> Vec<u8> {
                let mut bytes = Vec::with_capacity(Self::BYTES);
                $(bytes.extend_from_slice(&self.$field.to_le_bytes());)*
                bytes
            }
        }
    };
}

body! {
    /// Header of every message.
    Header {
        /// Number that a reply repeats.
        id: u16,
        /// [`Command`].
        command: u16,
        /// Bytes of the message with this header.
        size: u32,
        /// [`flags`].
        flags: u32,
        /// Error number of a reply with [`flags::ERROR`].
        error: u32,
    }
}

/// Flags of a header.
pub mod flags {
    /// Bits of the kind of message.
    pub const KIND: u32 = 0xF;
    /// Kind: a request.
    pub const REQUEST: u32 = 0;
    /// Kind: a reply.
    pub const REPLY: u32 = 1;
    /// A request that wants no reply: a posted write.
    pub const NO_REPLY: u32 = 1 << 4;
    /// A reply to a request that was refused.
    pub const ERROR: u32 = 1 << 5;
}

body! {
    /// VERSION, both directions; JSON with [`Capabilities`] follows, ended by a zero byte.
    Version {
        /// Major version.
        major: u16,
        /// Minor version.
        minor: u16,
    }
}

body! {
    /// DMA_MAP. The file comes with the message; without one, only the client itself reaches the memory.
    DmaMap {
        /// Bytes of this structure.
        argsz: u32,
        /// Bit 0: the server may read, bit 1: it may write.
        flags: u32,
        /// Where the memory begins in the file.
        offset: u64,
        /// Address by which the device knows it.
        address: u64,
        /// Bytes.
        size: u64,
    }
}

body! {
    /// DMA_UNMAP and its reply.
    DmaUnmap {
        /// Bytes of this structure.
        argsz: u32,
        /// Bit 1: everything.
        flags: u32,
        /// First address.
        address: u64,
        /// Bytes.
        size: u64,
    }
}

/// Flag of [`DmaUnmap`]: everything; address and size are 0.
pub const UNMAP_ALL: u32 = 1 << 1;

body! {
    /// DEVICE_GET_INFO and its reply.
    DeviceInfo {
        /// Bytes of this structure.
        argsz: u32,
        /// `VFIO_DEVICE_FLAGS_*`.
        flags: u32,
        /// Regions.
        regions: u32,
        /// Kinds of interrupts.
        irqs: u32,
    }
}

body! {
    /// DEVICE_GET_REGION_INFO and its reply; capabilities follow.
    RegionInfo {
        /// Bytes of this structure and its capabilities.
        argsz: u32,
        /// `VFIO_REGION_INFO_FLAG_*`.
        flags: u32,
        /// The region.
        index: u32,
        /// Offset of the first capability in this structure; 0: none.
        cap_offset: u32,
        /// Bytes of the region.
        size: u64,
        /// Offset of the region in the file that comes with the reply.
        offset: u64,
    }
}

body! {
    /// Capability of a region that is the device's own kind.
    TypeCapability {
        /// `VFIO_REGION_INFO_CAP_TYPE`.
        id: u16,
        /// Its version.
        version: u16,
        /// Offset of the next capability; 0: none.
        next: u32,
        /// Kind: `VFIO_REGION_TYPE_PCI_VENDOR_TYPE` with the vendor.
        kind: u32,
        /// The vendor's number.
        subtype: u32,
    }
}

body! {
    /// DEVICE_GET_REGION_IO_FDS and its reply; [`IoEventFd`]s follow.
    RegionIoFds {
        /// Bytes of this structure and what follows.
        argsz: u32,
        /// 0.
        flags: u32,
        /// The region.
        index: u32,
        /// Number of [`IoEventFd`]s.
        count: u32,
    }
}

body! {
    /// A register whose write an eventfd stands for.
    IoEventFd {
        /// Offset of the register in its region.
        offset: u64,
        /// Its bytes.
        size: u64,
        /// The eventfd among those of the message.
        fd: u32,
        /// 0.
        kind: u32,
        /// Bit 0: the eventfd stands for a write of `value` alone.
        flags: u32,
        /// 0.
        padding: u32,
        /// What is written.
        value: u64,
    }
}

/// Flag of [`IoEventFd`]: for this value alone (KVM_IOEVENTFD_FLAG_DATAMATCH).
pub const DATA_MATCH: u32 = 1;

body! {
    /// DEVICE_GET_IRQ_INFO and its reply.
    IrqInfo {
        /// Bytes of this structure.
        argsz: u32,
        /// `VFIO_IRQ_INFO_*`.
        flags: u32,
        /// Kind of interrupt.
        index: u32,
        /// Number of interrupts of this kind.
        count: u32,
    }
}

body! {
    /// DEVICE_SET_IRQS; bytes may follow, and eventfds come with it.
    SetIrqs {
        /// Bytes of this structure and what follows.
        argsz: u32,
        /// `VFIO_IRQ_SET_*`.
        flags: u32,
        /// Kind of interrupt.
        index: u32,
        /// First of them.
        start: u32,
        /// How many.
        count: u32,
    }
}

body! {
    /// REGION_READ, REGION_WRITE and their replies; data may follow.
    RegionAccess {
        /// Offset in the region.
        offset: u64,
        /// The region.
        region: u32,
        /// Bytes.
        count: u32,
    }
}

/// What a side can do, as both say in VERSION.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Agreement {
    /// The capabilities.
    #[serde(default)]
    pub capabilities: Capabilities,
}

/// Limits and extensions of a side. A field that is missing has the protocol's default.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Capabilities {
    /// File descriptors in a message.
    #[serde(default = "one")]
    pub max_msg_fds: u32,
    /// Bytes of a read or write.
    #[serde(default = "max_data")]
    pub max_data_xfer_size: u64,
    /// Page size, as crate and QEMU expect it.
    #[serde(default)]
    pub migration: Migration,
    /// Spindle's own: addresses that the client may use for its memory, first and after the last; without it, any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub window: Option<[u64; 2]>,
    /// Spindle's own: the process whose doorbell page BAR 0 is; without it, BAR 0 is the whole card.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub process: Option<usize>,
}

/// The part of the capabilities about migration, of which only the page size is used.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Migration {
    /// Bytes of a page.
    #[serde(default = "page")]
    pub pgsize: u64,
}

fn one() -> u32 {
    1
}

fn max_data() -> u64 {
    MAX_DATA as u64
}

fn page() -> u64 {
    PAGE_BYTES
}

impl Default for Migration {
    fn default() -> Self {
        Migration { pgsize: PAGE_BYTES }
    }
}

impl Default for Capabilities {
    fn default() -> Self {
        Capabilities {
            max_msg_fds: one(),
            max_data_xfer_size: max_data(),
            migration: Migration::default(),
            window: None,
            process: None,
        }
    }
}

impl Capabilities {
    /// What this module can do.
    pub fn own() -> Capabilities {
        Capabilities { max_msg_fds: MAX_FDS as u32, ..Capabilities::default() }
    }
}

/// Body of VERSION, as a client sends it.
pub fn version_body(capabilities: Capabilities) -> Vec<u8> {
    version_answer(MINOR, capabilities)
}

/// Body of the answer to a client of a minor version: never a later one than the client's, which QEMU, of minor version 0, refuses.
pub fn version_answer(client: u16, capabilities: Capabilities) -> Vec<u8> {
    let mut body = Version { major: MAJOR, minor: client.min(MINOR) }.bytes();
    let text = serde_json::to_string(&Agreement { capabilities }).expect("numbers are JSON");
    body.extend_from_slice(text.as_bytes());
    body.push(0);
    body
}

/// Version and capabilities of a VERSION; `None` if they are not to be understood. No JSON at all is the defaults.
pub fn parse_version(body: &[u8]) -> Option<(Version, Capabilities)> {
    let version = Version::parse(body)?;
    let text = &body[Version::BYTES..];
    let text = text.strip_suffix(&[0]).unwrap_or(text);
    if text.is_empty() {
        return Some((version, Capabilities::default()));
    }
    let agreement: Agreement = serde_json::from_slice(text).ok()?;
    Some((version, agreement.capabilities))
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
    fn capabilities_may_be_missing() {
        assert_eq!(parse_version(&[0, 0, 1, 0]).unwrap().1, Capabilities::default());
        assert_eq!(parse_version(b"\0\0\x01\0{}\0").unwrap().1, Capabilities::default());
        assert_eq!(parse_version(b"\0\0\x01\0{\"capabilities\":{\"twin_socket\":{}}}").unwrap().1.max_msg_fds, 1);
        assert_eq!(parse_version(&version_body(Capabilities::own())).unwrap().1, Capabilities::own());
        let minor = |client| parse_version(&version_answer(client, Capabilities::own())).unwrap().0.minor;
        assert_eq!((minor(0), minor(MINOR), minor(9)), (0, MINOR, MINOR));
        assert!(parse_version(b"\0\0\x01\0{\0").is_none() && parse_version(&[0]).is_none());
    }
}
