//! The fixed part of each body.

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
