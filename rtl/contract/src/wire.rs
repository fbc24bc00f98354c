//! Bytes on the wire: offsets and values of the headers that the NIC reads and writes. All fields are big-endian.

/// Ethernet: bytes of the header without VLAN tag.
pub const ETH_BYTES: usize = 14;
/// Bytes that an 802.1Q tag adds.
pub const VLAN_BYTES: usize = 4;
/// EtherType of IPv4.
pub const ETHERTYPE_IPV4: u16 = 0x0800;
/// EtherType of an 802.1Q tag.
pub const ETHERTYPE_VLAN: u16 = 0x8100;
/// Bytes of an IPv4 header without options.
pub const IPV4_BYTES: usize = 20;
/// IPv4 protocol number of ICMP.
pub const IP_ICMP: u8 = 1;
/// IPv4 protocol number of UDP.
pub const IP_UDP: u8 = 17;
/// Bytes of a UDP header.
pub const UDP_BYTES: usize = 8;
/// Bytes of the ICMP echo header.
pub const ICMP_BYTES: usize = 8;

/// Version in the first nibble of the Spindle header.
pub const SPINDLE_VERSION: u8 = 1;
/// Bytes of the Spindle header (6 words of 8 bytes).
pub const SPINDLE_BYTES: usize = 48;
/// Bytes of the header of a GET (8 words of 8 bytes).
pub const SPINDLE_GET_BYTES: usize = 64;

/// A header field: byte offset from the start of the Spindle header and width in bits.
#[derive(Clone, Copy, Debug)]
pub struct Field {
    /// Name.
    pub name: &'static str,
    /// Offset in bytes.
    pub offset: usize,
    /// Width in bits.
    pub bits: usize,
    /// Meaning.
    pub doc: &'static str,
}

macro_rules! fields { ($($konst:ident $name:literal $off:literal $bits:literal $doc:literal;)*) => {
    $(#[doc = concat!("Byte offset of `", $name, "`: ", $doc, ".")] pub const $konst: usize = $off;)*
    /// All fields of the Spindle header in order.
    pub const SPINDLE_FIELDS: &[Field] = &[$(Field { name: $name, offset: $off, bits: $bits, doc: $doc }),*];
} }
fields! {
    OFF_VERSION "version_hlen" 0 8 "version (high nibble) and header length in 8-byte words (low nibble)";
    OFF_OPCODE "opcode" 1 8 "operation";
    OFF_FLAGS "flags" 2 16 "flag bits";
    OFF_PSN "psn" 4 32 "packet sequence number per (source NIC, destination NIC)";
    OFF_SRC_NID "src_nid" 8 32 "source node";
    OFF_SRC_PID "src_pid" 12 16 "source process";
    OFF_DST_PID "dst_pid" 14 16 "destination process";
    OFF_ADDR "addr" 16 64 "RVMA mailbox address, also sPIN's match bits";
    OFF_KEY "key" 24 32 "mailbox key";
    OFF_MSG_ID "msg_id" 28 32 "message, unique per (src_nid, src_pid) while live";
    OFF_MSG_LEN "msg_len" 32 32 "total message length in bytes";
    OFF_MSG_OFF "msg_off" 36 32 "offset of this packet within the message";
    OFF_BUF_OFF "buf_off" 40 32 "base offset of the message in the buffer";
    OFF_PAYLOAD_LEN "payload_len" 44 16 "bytes that follow";
    OFF_EPOCH "epoch" 46 16 "low bits of the target epoch, valid with EPOCH_VALID";
}

/// Opcodes.
pub mod opcode {
    /// Write into a mailbox.
    pub const PUT: u8 = 1;
    /// Read from a mailbox.
    pub const GET: u8 = 2;
    /// Answer to a GET: a PUT into the initiator's mailbox.
    pub const GET_RESP: u8 = 3;
    /// Acknowledgement.
    pub const ACK: u8 = 4;
    /// Refusal.
    pub const NACK: u8 = 5;
    /// Control: OPEN, NOP.
    pub const CTRL: u8 = 6;
    /// Highest opcode that this version knows; above it a frame is malformed.
    pub const LAST: u8 = CTRL;
}

/// Flag bits of the Spindle header.
pub mod flag {
    /// The sender wants an acknowledgement now.
    pub const ACK_REQ: u16 = 1 << 0;
    /// `psn` is ignored, no acknowledgement.
    pub const UNSEQ: u16 = 1 << 1;
    /// `epoch` is valid (TAGGED mode).
    pub const EPOCH_VALID: u16 = 1 << 2;
    /// Receiver-managed placement.
    pub const MANAGED: u16 = 1 << 3;
    /// A retransmission.
    pub const RETX: u16 = 1 << 4;
    /// The receiver saw congestion marks.
    pub const ECN_ECHO: u16 = 1 << 5;
    /// A CRC-32C follows the payload.
    pub const ICRC: u16 = 1 << 6;
    /// GET: from the oldest buffer that is not complete, instead of the one completed last.
    pub const ACTIVE: u16 = 1 << 7;
    /// All defined bits.
    pub const ALL: u16 = 0xff;
}

/// CTRL packets: the code is in `msg_id`.
pub mod control {
    /// Takes its PSN and goes no further.
    pub const NOP: u32 = 0;
    /// Begins an incarnation of the sender, whose number is in `key`, at PSN 0; its own PSN is ignored.
    pub const OPEN: u32 = 1;
}
/// Sequence numbers, from the lowest that has not been accepted, that a receiver takes from a peer.
pub const PSN_WINDOW: usize = 1024;

/// NACK codes.
pub mod nack {
    /// Retryable: no buffer posted.
    pub const NO_BUFFER: u8 = 1;
    /// Retryable: out of message slots or packets.
    pub const BUSY: u8 = 2;
    /// Retryable: outside the receive window.
    pub const PSN_WINDOW: u8 = 3;
    /// Terminal: no such mailbox.
    pub const NO_MAILBOX: u8 = 16;
    /// Terminal: mailbox closed.
    pub const CLOSED: u8 = 17;
    /// Terminal: wrong key.
    pub const BAD_KEY: u8 = 18;
    /// Terminal: past the end of the buffer.
    pub const OUT_OF_BOUNDS: u8 = 19;
    /// Terminal: epoch is over.
    pub const STALE_EPOCH: u8 = 20;
    /// Terminal: no such execution context.
    pub const NO_CONTEXT: u8 = 21;
    /// Terminal: the handler failed.
    pub const HANDLER_FAILED: u8 = 22;
    /// Terminal: unknown version.
    pub const BAD_VERSION: u8 = 23;

    /// The code for a reason of `reasons`; `None` if nobody is told.
    pub const fn of(reason: usize) -> Option<u8> {
        use crate::reasons as r;
        match reason {
            r::NO_POSTED_BUFFER => Some(NO_BUFFER),
            r::NO_BUFFER | r::NO_MESSAGE_SLOT | r::QUOTA | r::PAUSED | r::HOST_ERROR => Some(BUSY),
            r::PSN_WINDOW => Some(self::PSN_WINDOW),
            r::NO_MAILBOX => Some(self::NO_MAILBOX),
            r::CLOSED => Some(self::CLOSED),
            r::BAD_KEY => Some(self::BAD_KEY),
            r::OUT_OF_BOUNDS => Some(self::OUT_OF_BOUNDS),
            r::STALE_EPOCH => Some(self::STALE_EPOCH),
            r::NO_CONTEXT => Some(self::NO_CONTEXT),
            r::HANDLER_FAIL => Some(HANDLER_FAILED),
            r::UNSUPPORTED => Some(BAD_VERSION),
            _ => None,
        }
    }
}

/// Entries of the node table (nid → MAC, IPv4 address, UDP port).
pub const NODE_TABLE_ENTRIES: usize = 256;

/// Completion record in host memory (16 bytes, 16-aligned, little-endian): offset of the length (u32).
pub const RECORD_LENGTH: usize = 0;
/// Offset of the status (u8); 0 = not complete yet, the host zeroes it before posting.
pub const RECORD_STATUS: usize = 4;
/// Offset of the epoch (u16).
pub const RECORD_EPOCH: usize = 6;
/// Offset of the buffer pointer (u64).
pub const RECORD_BUFFER: usize = 8;
/// Bytes of a record.
pub const RECORD_BYTES: usize = 16;
/// Record status.
pub mod status {
    /// Threshold reached.
    pub const DONE: u8 = 1;
    /// Cut by `inc_epoch`.
    pub const PARTIAL: u8 = 2;
    /// Returned by `close`.
    pub const CANCELLED: u8 = 3;
}
