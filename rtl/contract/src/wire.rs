//! Headers of frames, and records in host memory.
//!
//! Each header is declared once. The declaration gives the byte offsets, the table of the documentation and of the C header, a value that
//! software parses and emits, and the extractors of the hardware (`spindle_blocks::headers`). All fields are big-endian.

use spindle_contract_macros::headers;

/// Ethernet: bytes of the header without VLAN tag.
pub const ETH_BYTES: usize = ethernet::BYTES;
/// Bytes that an 802.1Q tag adds.
pub const VLAN_BYTES: usize = 4;
/// EtherType of IPv4.
pub const ETHERTYPE_IPV4: u16 = 0x0800;
/// EtherType of an 802.1Q tag.
pub const ETHERTYPE_VLAN: u16 = 0x8100;
/// Bytes of an IPv4 header without options.
pub const IPV4_BYTES: usize = ipv4::BYTES;
/// IPv4 protocol number of ICMP.
pub const IP_ICMP: u8 = 1;
/// IPv4 protocol number of UDP.
pub const IP_UDP: u8 = 17;
/// IPv4 protocol number of TCP.
pub const IP_TCP: u8 = 6;
/// Bytes of a UDP header.
pub const UDP_BYTES: usize = udp::BYTES;
/// Bytes of the ICMP echo header.
pub const ICMP_BYTES: usize = icmp::BYTES;

/// Version in the first nibble of the Spindle header.
pub const SPINDLE_VERSION: u8 = 1;
/// Bytes of the Spindle header (6 words of 8 bytes).
pub const SPINDLE_BYTES: usize = spindle::BYTES;
/// Bytes of the header of a GET (8 words of 8 bytes): the Spindle header and the reply.
pub const SPINDLE_GET_BYTES: usize = SPINDLE_BYTES + get_reply::BYTES;
/// Bytes of the ICRC, which follows the payload of a Spindle packet with the flag ICRC.
///
/// The ICRC is the CRC-32C (polynomial 0x1EDC6F41, reflected, register and result inverted: `123456789` gives 0xE3069283) of all bytes
/// from the first one of the Spindle header to the last one of the payload, of a GET with its reply address. Its lowest byte is sent
/// first, as Ethernet, iSCSI and SCTP send theirs. IPv4 and UDP lengths count it. No bit is masked: nothing that it covers changes on
/// the way.
pub const ICRC_BYTES: usize = 4;
/// Bytes of a frame without VLAN tag up to the payload of a PUT.
pub const HEADER_BYTES: usize = spindle::START + SPINDLE_BYTES;

/// A field of a header.
#[derive(Clone, Copy, Debug)]
pub struct Field {
    /// Name.
    pub name: &'static str,
    /// First bit, counted from the most significant bit of the first byte of the header.
    pub at: usize,
    /// Width in bits.
    pub bits: usize,
    /// Meaning.
    pub doc: &'static str,
}

/// The `bits` bits from bit `at` on, big-endian.
fn get(bytes: &[u8], at: usize, bits: usize) -> u64 {
    (at..at + bits).fold(0, |value, bit| value << 1 | u64::from(bytes[bit / 8] >> (7 - bit % 8) & 1))
}

/// Writes the `bits` bits from bit `at` on, big-endian.
fn put(bytes: &mut [u8], at: usize, bits: usize, value: u64) {
    for bit in 0..bits {
        let (byte, mask) = ((at + bit) / 8, 0x80 >> ((at + bit) % 8));
        if value >> (bits - 1 - bit) & 1 == 1 {
            bytes[byte] |= mask;
        } else {
            bytes[byte] &= !mask;
        }
    }
}

headers! {
    ethernet 0 "the Ethernet header without VLAN tag" {
        dst 48 "destination MAC address";
        src 48 "source MAC address";
        ethertype 16 "EtherType";
    }
    ipv4 14 "the IPv4 header without options" {
        version 4 "version, 4";
        ihl 4 "header length in words of 4 bytes";
        dscp 6 "differentiated services";
        ecn 2 "congestion notification";
        total_length 16 "bytes of the packet, the header included";
        identification 16 "identification";
        evil 1 "zero";
        dont_fragment 1 "the packet must not be fragmented";
        fragment 14 "more fragments, fragment offset";
        ttl 8 "hops left";
        protocol 8 "protocol";
        checksum 16 "checksum of the header";
        src 32 "source address";
        dst 32 "destination address";
    }
    udp 34 "the UDP header" {
        src_port 16 "source port";
        dst_port 16 "destination port";
        length 16 "bytes of the datagram, the header included";
        checksum 16 "checksum; 0: none";
    }
    icmp 34 "the ICMP echo header" {
        kind 8 "type";
        code 8 "code";
        checksum 16 "checksum";
        identifier 16 "identifier";
        sequence 16 "sequence number";
    }
    spindle 42 "the Spindle header" {
        version 4 "version";
        words 4 "header length in words of 8 bytes";
        opcode 8 "operation";
        flags 16 "flag bits";
        psn 32 "packet sequence number per (source NIC, destination NIC)";
        src_nid 32 "source node";
        src_pid 16 "source process";
        dst_pid 16 "destination process";
        addr 64 "RVMA mailbox address, also sPIN's match bits";
        key 32 "mailbox key";
        msg_id 32 "message, unique per (src_nid, src_pid) while live";
        msg_len 32 "message length in bytes";
        msg_off 32 "offset of this packet in the message";
        buf_off 32 "base offset of the message in the buffer";
        payload_len 16 "bytes that follow";
        epoch 16 "low bits of the target epoch, valid with EPOCH_VALID";
    }
    get_reply 90 "the reply address that follows the Spindle header of a GET" {
        addr 64 "mailbox address of the initiator";
        offset 32 "offset in the buffer of the initiator";
        key 32 "mailbox key of the initiator";
    }
}

macro_rules! codes { ($(#[doc = $mdoc:literal] $module:ident $table:ident: $ty:ty { $($name:ident $value:expr, $doc:literal;)* })*) => { $(
    #[doc = $mdoc]
    pub mod $module {
        $(#[doc = $doc] pub const $name: $ty = $value;)*
    }
    #[doc = concat!($mdoc, " Name, value and meaning.")]
    pub const $table: &[(&str, $ty, &str)] = &[$((stringify!($name), $value, $doc)),*];
)* } }
codes! {
    /// Opcodes of the Spindle header.
    opcode OPCODES: u8 {
        PUT 1, "writes into a mailbox";
        GET 2, "reads from a mailbox";
        GET_RESP 3, "answers a GET: a PUT into the initiator's mailbox";
        ACK 4, "acknowledges packets";
        NACK 5, "refuses a packet";
        CTRL 6, "controls the sequence numbers: OPEN, NOP";
    }
    /// Flag bits of the Spindle header.
    flag FLAGS: u16 {
        ACK_REQ 1 << 0, "the sender requests an acknowledgement of this packet";
        UNSEQ 1 << 1, "`psn` is ignored, and no acknowledgement is sent";
        EPOCH_VALID 1 << 2, "`epoch` is valid (TAGGED mode)";
        MANAGED 1 << 3, "the receiver chooses the offset";
        RETX 1 << 4, "the packet is a retransmission";
        ECN_ECHO 1 << 5, "ACK: packets of the source were marked by a switch since the last ACK; bits 23:16 of `key` count all of them";
        ICRC 1 << 6, "4 bytes follow the payload, which `payload_len` does not count: the CRC-32C of Spindle header and payload";
        ACTIVE 1 << 7, "GET: reads the oldest buffer that is not complete, instead of the buffer completed last";
    }
    /// NACK codes: below 16 the sender tries again, from 16 on the operation has failed.
    nack NACKS: u8 {
        NO_BUFFER 1, "no buffer is posted";
        BUSY 2, "the receiver is out of message slots or of packet buffer";
        PSN_WINDOW 3, "the sequence number is outside the receive window";
        NO_MAILBOX 16, "there is no such mailbox";
        CLOSED 17, "the mailbox is closed";
        BAD_KEY 18, "the key is wrong";
        OUT_OF_BOUNDS 19, "the message ends after the end of the buffer";
        STALE_EPOCH 20, "the epoch is over";
        NO_CONTEXT 21, "there is no such execution context";
        HANDLER_FAILED 22, "the handler failed";
        BAD_VERSION 23, "the version is unknown";
        NO_PEER 24, "the receiver keeps the sequence numbers of another node in the entry of the sender: the high half of `addr` \
            names the sender, which gives the destination up";
    }
}
/// Highest opcode that this version knows; a frame with a higher opcode is malformed.
pub const LAST_OPCODE: u8 = opcode::CTRL;

/// The NACK code for a reason of `reasons`; `None` if no NACK is sent.
pub const fn nack_of(reason: usize) -> Option<u8> {
    use crate::reasons as r;
    match reason {
        r::NO_POSTED_BUFFER => Some(nack::NO_BUFFER),
        r::NO_BUFFER | r::NO_MESSAGE_SLOT | r::QUOTA | r::PAUSED | r::HOST_ERROR => Some(nack::BUSY),
        r::PSN_WINDOW => Some(nack::PSN_WINDOW),
        r::NO_MAILBOX => Some(nack::NO_MAILBOX),
        r::CLOSED => Some(nack::CLOSED),
        r::BAD_KEY => Some(nack::BAD_KEY),
        r::OUT_OF_BOUNDS => Some(nack::OUT_OF_BOUNDS),
        r::STALE_EPOCH => Some(nack::STALE_EPOCH),
        r::NO_CONTEXT => Some(nack::NO_CONTEXT),
        r::HANDLER_FAIL => Some(nack::HANDLER_FAILED),
        r::UNSUPPORTED => Some(nack::BAD_VERSION),
        r::NO_PEER => Some(nack::NO_PEER),
        _ => None,
    }
}

/// CTRL packets: the code is in `msg_id`.
pub mod control {
    /// Takes its PSN and goes no further.
    pub const NOP: u32 = 0;
    /// Begins an incarnation of the sender, whose number is in `key`, at PSN 0; its own PSN is ignored.
    pub const OPEN: u32 = 1;
}
/// IPv4 field `ecn` of a packet whose sender obeys marks: ECT(0) of RFC 3168.
pub const ECN_CAPABLE: u8 = 2;
/// IPv4 field `ecn` of a packet that met a full queue in a switch: CE of RFC 3168.
pub const ECN_MARKED: u8 = 3;
/// Sequence numbers, from the lowest that has not been accepted, that a receiver takes from a peer.
pub const PSN_WINDOW: usize = 1024;

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
