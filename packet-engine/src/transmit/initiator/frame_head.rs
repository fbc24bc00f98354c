//! The headers of a frame that the NIC makes itself: fields, checksum, and the bytes they become.

use spindle_blocks::headers::{header_bytes, HeaderFields, HEADER_BITS};
use spindle_blocks::{CommandIssuer, FrameJob, PutDesc};
use spindle_contract::descriptors::{array_address, put_op};
use spindle_contract::params::SEGMENT_BYTES;
use spindle_contract::wire::{self, flag, opcode};
use spindle_verilog::prelude::*;

/// Bytes of Ethernet, IPv4, UDP and Spindle header: one beat and [`SECOND_BYTES`] bytes.
pub const HEADER_BYTES: usize = wire::HEADER_BYTES;
/// Header bytes in the second beat.
pub const SECOND_BYTES: usize = HEADER_BYTES - 64;
/// Header bits in the second beat.
pub const SECOND_BITS: usize = 8 * SECOND_BYTES;
/// Payload bytes that the second beat has room for.
pub const SECOND_ROOM: usize = 64 - SECOND_BYTES;
/// Bytes that a GET carries after the header that it shares with a PUT.
pub const GET_BYTES: usize = wire::SPINDLE_GET_BYTES - wire::SPINDLE_BYTES;
/// What an IPv4 packet has besides the payload.
pub const IP_OVERHEAD: usize = HEADER_BYTES - wire::ETH_BYTES;
/// What a UDP datagram has besides the payload.
pub const UDP_OVERHEAD: usize = wire::UDP_BYTES + wire::SPINDLE_BYTES;
/// The two, of a packet with ICRC.
pub const IP_WITH_ICRC: u64 = (IP_OVERHEAD + wire::ICRC_BYTES) as u64;
/// See [`IP_WITH_ICRC`].
pub const UDP_WITH_ICRC: u64 = (UDP_OVERHEAD + wire::ICRC_BYTES) as u64;
/// Payload bytes of a full segment.
pub const SEGMENT: u64 = SEGMENT_BYTES as u64;

/// Hops that a frame may take.
const HOPS: u64 = 64;
/// First 16-bit word of the IPv4 header, for its checksum: version, length, no type of service. A frame that is ECN-capable has
/// [`wire::ECN_CAPABLE`] more.
pub const IP_FIRST: u64 = 0x4500;
/// Fourth word of the IPv4 header: do not fragment.
pub const IP_FRAGMENT: u64 = 0x4000;
/// Fifth word of the IPv4 header: hops, UDP.
pub const IP_PROTOCOL: u64 = HOPS << 8 | wire::IP_UDP as u64;
/// UDP source ports are these and the low bits of the message number, so that paths differ by message.
const PORT_BASE: u64 = 0xC000;
const PUT_WORDS: u64 = wire::SPINDLE_BYTES as u64 / 8;
const GET_WORDS: u64 = wire::SPINDLE_GET_BYTES as u64 / 8;

/// An entry of the node table.
#[derive(LogicStruct, Copy, Clone, Debug, Default, PartialEq)]
pub struct NodeEntry {
    /// The table has the node.
    pub present: Bit,
    /// Its MAC address, the first byte in the high bits.
    pub mac: Bits<48>,
    /// Its IPv4 address.
    pub ip: Bits<32>,
    /// Its UDP port for Spindle transport.
    pub port: Bits<16>,
    /// Frames for it get an ICRC.
    pub icrc: Bit,
}

/// A row of the node table.
#[derive(LogicStruct, Copy, Clone, Debug, Default, PartialEq)]
pub struct NodeRow {
    /// The node.
    pub entry: NodeEntry,
    /// Sum of the halves of its IPv4 address, and of the bytes of the ICRC if it gets one: its share of header checksums.
    pub sum: Bits<18>,
}

/// What the parser needs of an entry of the node table.
#[derive(LogicStruct, Copy, Clone, Debug, Default, PartialEq)]
pub struct SourceEntry {
    /// The table has the node.
    pub present: Bit,
    /// Its IPv4 address.
    pub ip: Bits<32>,
    /// It must use the ICRC.
    pub requires_icrc: Bit,
}

/// Who we are.
#[derive(LogicStruct, Copy, Clone, Debug, Default, PartialEq)]
pub struct LocalNode {
    /// Node.
    pub nid: Bits<32>,
    /// MAC address.
    pub mac: Bits<48>,
    /// IPv4 address.
    pub ip: Bits<32>,
}

/// The command that caused a frame.
#[derive(LogicStruct, Copy, Clone, Debug, Default, PartialEq)]
pub struct FrameIssuer {
    /// The command.
    pub command: CommandIssuer,
    /// Frame number of the issuer's packet.
    pub frame: Bits<16>,
}

/// A frame that is to be made.
#[derive(LogicStruct, Copy, Clone, Debug, Default, PartialEq)]
pub struct FrameHead {
    /// The frame is a GET: its payload is `reply`.
    pub get: Bit,
    /// The frame has a payload that is sent,
    pub data: Bit,
    /// which is read from host memory, else from context memory or from a packet.
    pub from_host: Bit,
    /// No headers: the payload is a frame of `ip_len` bytes.
    pub raw: Bit,
    /// There is no such node: the payload is taken, nothing is sent.
    pub bad: Bit,
    /// Last segment.
    pub last: Bit,
    /// Payload bytes of this frame, those of a GET included.
    pub size: Bits<11>,
    /// The node.
    pub node: NodeEntry,
    /// The frame is ECN-capable.
    pub ecn: Bit,
    /// IPv4 total length.
    pub ip_len: Bits<16>,
    /// UDP length.
    pub udp_len: Bits<16>,
    /// IPv4 header checksum.
    pub checksum: Bits<16>,
    /// Spindle opcode.
    pub opcode: Bits<8>,
    /// Spindle flags.
    pub flags: Bits<16>,
    /// Sequence number.
    pub psn: Bits<32>,
    /// Epoch tag.
    pub epoch: Bits<16>,
    /// Source process.
    pub src_pid: Bits<16>,
    /// Destination process.
    pub dst_pid: Bits<16>,
    /// Mailbox.
    pub addr: Bits<64>,
    /// Key.
    pub key: Bits<32>,
    /// Message.
    pub msg_id: Bits<32>,
    /// Bytes of the message.
    pub msg_len: Bits<32>,
    /// Offset in the message.
    pub msg_off: Bits<32>,
    /// Offset of the message in the buffer.
    pub buf_off: Bits<32>,
    /// GET: reply mailbox, offset and key, the first byte on the wire in the high bits.
    pub reply: Bits<128>,
    /// Who asked.
    pub issuer: FrameIssuer,
    /// The frame has a send record: its end is not the end of the put.
    pub tracked: Bit,
    /// Send record; of a put of a packet that has none: the packet.
    pub record: Bits<10>,
    /// The payload is a packet's.
    pub of_packet: Bit,
    /// No frame: the put is over,
    pub over: Bit,
    /// and has failed.
    pub failed: Bit,
}

/// All frames of a put or get that is not acknowledged.
#[hdl_fn]
pub fn unsequenced(put: PutDesc) -> FrameJob {
    let get = put.op == bits(put_op::GET);
    let answer = put.op == bits(put_op::GET_RESP);
    FrameJob {
        opcode: if get {
            bits::<8>(opcode::GET)
        } else if answer {
            bits::<8>(opcode::GET_RESP)
        } else {
            bits::<8>(opcode::PUT)
        },
        flags: put.flags | bits::<16>(flag::UNSEQ),
        node: put.node,
        src_pid: put.src_pid,
        dst_pid: put.dst_pid,
        addr: put.addr,
        key: put.key,
        buf_off: put.buf_off,
        msg_len: put.length,
        msg_off: bits::<32>(0),
        left: put.length & repeat::<32>(!get),
        single: get,
        msg_id: put.reply_key,
        numbered: answer,
        psn: bits::<32>(0),
        epoch: put.reply_key.get_bits::<16>(0) & repeat::<16>((put.flags & bits::<16>(flag::EPOCH_VALID)).any()),
        from_host: put.from_host,
        host_address: put.host_address,
        reply_addr: put.reply_addr,
        reply_off: put.reply_off,
        reply_key: put.reply_key,
        context: put.context,
        issuer: put.issuer,
        frame: put.frame,
        tracked: false,
        record: packet_of(put),
        of_packet: is_of_packet(put),
        over: false,
        failed: false,
    }
}

/// The put is one of a packet's bytes.
#[hdl_fn]
pub fn is_of_packet(put: PutDesc) -> Bit {
    (put.op == bits(put_op::PUT)) & !put.from_host & put.host_address.get_bit(array_address::OF_PACKET)
}

/// The packet that such a put names.
#[hdl_fn]
pub fn packet_of(put: PutDesc) -> Bits<10> {
    put.host_address.get_bits::<10>(array_address::PACKET)
}

/// IPv4 total length of a packet with a payload of `size` bytes.
#[hdl_fn]
pub fn ip_length(size: Bits<11>, icrc: Bit) -> Bits<11> {
    size + if icrc { bits::<11>(IP_WITH_ICRC) } else { bits::<11>(IP_OVERHEAD as u64) }
}

/// UDP length of a packet with a payload of `size` bytes.
#[hdl_fn]
pub fn udp_length_of(size: Bits<11>, icrc: Bit) -> Bits<11> {
    size + if icrc { bits::<11>(UDP_WITH_ICRC) } else { bits::<11>(UDP_OVERHEAD as u64) }
}

/// The IPv4 header checksum of headers whose 16-bit words have this sum.
#[hdl_fn]
pub fn header_checksum(sum: Bits<19>) -> Bits<16> {
    let low = bit_cast::<17, 16>(sum.get_bits::<16>(0));
    let carries = bit_cast::<17, 3>(sum.get_bits::<3>(16));
    // The carries leave at most one carry, since they are 7 at most: the sum with it stands beside the sum without it.
    let folded = low + carries;
    let carried = low + (carries + 1);
    !(if folded.get_bit(16) { carried.get_bits::<16>(0) } else { folded.get_bits::<16>(0) })
}

/// The headers of the frame, byte 0 in bits 7:0.
#[hdl_fn]
pub fn frame_header(head: FrameHead, own: LocalNode) -> Bits<HEADER_BITS> {
    let fields = HeaderFields {
        ethernet_dst: head.node.mac,
        ethernet_src: own.mac,
        ethernet_ethertype: bits::<16>(wire::ETHERTYPE_IPV4),
        ipv4_version: bits::<4>(4),
        ipv4_ihl: bits::<4>(5),
        ipv4_ecn: bits::<2>(wire::ECN_CAPABLE) & repeat::<2>(head.ecn),
        ipv4_total_length: head.ip_len,
        ipv4_dont_fragment: bits::<1>(1),
        ipv4_ttl: bits::<8>(HOPS),
        ipv4_protocol: bits::<8>(wire::IP_UDP),
        ipv4_checksum: head.checksum,
        ipv4_src: own.ip,
        ipv4_dst: head.node.ip,
        udp_src_port: bits::<16>(PORT_BASE) | zext::<16, 14>(head.msg_id.get_bits::<14>(0)),
        udp_dst_port: head.node.port,
        udp_length: head.udp_len,
        spindle_version: bits::<4>(wire::SPINDLE_VERSION),
        spindle_words: if head.get { bits::<4>(GET_WORDS) } else { bits::<4>(PUT_WORDS) },
        spindle_opcode: head.opcode,
        spindle_flags: (head.flags & !bits::<16>(flag::ICRC)) | (bits::<16>(flag::ICRC) & repeat::<16>(head.node.icrc)),
        spindle_psn: head.psn,
        spindle_src_nid: own.nid,
        spindle_src_pid: head.src_pid,
        spindle_dst_pid: head.dst_pid,
        spindle_addr: head.addr,
        spindle_key: head.key,
        spindle_msg_id: head.msg_id,
        spindle_msg_len: head.msg_len,
        spindle_msg_off: head.msg_off,
        spindle_buf_off: head.buf_off,
        spindle_payload_len: if head.get { bits::<16>(0) } else { zext::<16, 11>(head.size) },
        spindle_epoch: head.epoch,
        ..Default::default()
    };
    header_bytes(fields)
}

/// The 16 bytes after the header of a GET, byte 0 in bits 7:0.
#[hdl_fn]
pub fn get_beat(head: FrameHead) -> Bits<128> {
    (byte_swap(head.reply.get_bits::<64>(0)), byte_swap(head.reply.get_bits::<64>(64))).cat::<128>()
}
