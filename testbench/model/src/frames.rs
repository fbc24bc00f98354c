//! Frames for tests and demonstrations: UDP, ICMP echo and Spindle transport over IPv4 over Ethernet.
//!
//! `etherparse` builds the headers and their checksums; only the Spindle header is laid out here, from the offsets in the
//! contract.

use crate::icrc;
use etherparse::PacketBuilder;
use spindle_contract::wire;

/// Addresses of one direction of a conversation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ends {
    /// Source MAC.
    pub src_mac: [u8; 6],
    /// Destination MAC.
    pub dst_mac: [u8; 6],
    /// Source IPv4 address.
    pub src_ip: [u8; 4],
    /// Destination IPv4 address.
    pub dst_ip: [u8; 4],
    /// VLAN id, if tagged.
    pub vlan: Option<u16>,
}

impl Default for Ends {
    fn default() -> Self {
        Self {
            src_mac: [0x02, 0, 0, 0, 0, 0x01],
            dst_mac: [0x02, 0, 0, 0, 0, 0x02],
            src_ip: [10, 77, 0, 1],
            dst_ip: [10, 77, 0, 2],
            vlan: None,
        }
    }
}

impl Ends {
    fn ip(&self) -> etherparse::PacketBuilderStep<etherparse::IpHeaders> {
        let ethernet = PacketBuilder::ethernet2(self.src_mac, self.dst_mac);
        match self.vlan {
            None => ethernet.ipv4(self.src_ip, self.dst_ip, 64),
            Some(id) => ethernet.single_vlan(etherparse::VlanId::try_new(id).expect("a VLAN id has 12 bits")).ipv4(
                self.src_ip,
                self.dst_ip,
                64,
            ),
        }
    }
}

/// Bytes of the headers of a UDP frame without VLAN tag.
pub const UDP_HEADERS: usize = wire::ETH_BYTES + wire::IPV4_BYTES + wire::UDP_BYTES;

fn built(build: impl FnOnce(&mut Vec<u8>) -> Result<(), etherparse::err::packet::BuildWriteError>) -> Vec<u8> {
    let mut bytes = Vec::new();
    build(&mut bytes).expect("a payload of at most 9000 bytes fits an IPv4 packet");
    bytes
}

/// A UDP frame with a right checksum.
pub fn udp(ends: &Ends, src_port: u16, dst_port: u16, payload: &[u8]) -> Vec<u8> {
    built(|bytes| ends.ip().udp(src_port, dst_port).write(bytes, payload))
}

/// A UDP frame without checksum (0 on the wire).
pub fn udp_without_checksum(ends: &Ends, src_port: u16, dst_port: u16, payload: &[u8]) -> Vec<u8> {
    let mut bytes = udp(ends, src_port, dst_port, payload);
    let checksum = bytes.len() - payload.len() - 2;
    bytes[checksum..checksum + 2].fill(0);
    bytes
}

/// A DNS query with recursion for a name, of this record type, with bytes after the question as additional records have them.
pub fn dns_query(ends: &Ends, src_port: u16, id: u16, name: &str, kind: u16, additional: &[u8]) -> Vec<u8> {
    let mut query = id.to_be_bytes().to_vec();
    query.extend([1, 0, 0, 1, 0, 0, 0, 0, 0, u8::from(!additional.is_empty())]);
    for label in name.split('.').filter(|label| !label.is_empty()) {
        query.push(label.len() as u8);
        query.extend(label.bytes());
    }
    query.push(0);
    query.extend(kind.to_be_bytes());
    query.extend([0, 1]);
    query.extend(additional);
    udp(ends, src_port, 53, &query)
}

/// An ICMP echo request.
pub fn echo_request(ends: &Ends, id: u16, sequence: u16, payload: &[u8]) -> Vec<u8> {
    built(|bytes| ends.ip().icmpv4_echo_request(id, sequence).write(bytes, payload))
}

/// The Spindle header of one packet, as in `wire.md`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SpindleHeader {
    /// Operation.
    pub opcode: u8,
    /// Flags.
    pub flags: u16,
    /// Packet sequence number.
    pub psn: u32,
    /// Source node.
    pub src_nid: u32,
    /// Source process.
    pub src_pid: u16,
    /// Destination process.
    pub dst_pid: u16,
    /// Mailbox address.
    pub addr: u64,
    /// Mailbox key.
    pub key: u32,
    /// Message.
    pub msg_id: u32,
    /// Bytes of the message.
    pub msg_len: u32,
    /// Offset of this packet in the message.
    pub msg_off: u32,
    /// Offset of the message in the buffer.
    pub buf_off: u32,
    /// Payload bytes.
    pub payload_len: u16,
    /// Epoch tag.
    pub epoch: u16,
}

impl Default for SpindleHeader {
    fn default() -> Self {
        Self {
            opcode: wire::opcode::PUT,
            flags: wire::flag::UNSEQ,
            psn: 0,
            src_nid: 1,
            src_pid: 0,
            dst_pid: 0,
            addr: 0,
            key: 0,
            msg_id: 1,
            msg_len: 0,
            msg_off: 0,
            buf_off: 0,
            payload_len: 0,
            epoch: 0,
        }
    }
}

impl SpindleHeader {
    /// The header's bytes.
    pub fn to_bytes(&self) -> [u8; wire::SPINDLE_BYTES] {
        let mut bytes = [0; wire::SPINDLE_BYTES];
        let header = wire::Spindle {
            version: wire::SPINDLE_VERSION,
            words: (wire::SPINDLE_BYTES / 8) as u8,
            opcode: self.opcode,
            flags: self.flags,
            psn: self.psn,
            src_nid: self.src_nid,
            src_pid: self.src_pid,
            dst_pid: self.dst_pid,
            addr: self.addr,
            key: self.key,
            msg_id: self.msg_id,
            msg_len: self.msg_len,
            msg_off: self.msg_off,
            buf_off: self.buf_off,
            payload_len: self.payload_len,
            epoch: self.epoch,
        };
        header.emit(&mut bytes);
        bytes
    }
}

/// A Spindle frame, with its ICRC if the header has the flag; the UDP checksum is sent as 0, as `wire.md` says.
pub fn spindle(ends: &Ends, src_port: u16, spindle_port: u16, header: &SpindleHeader, payload: &[u8]) -> Vec<u8> {
    let mut datagram = header.to_bytes().to_vec();
    datagram.extend_from_slice(payload);
    icrc::seal(&mut datagram);
    udp_without_checksum(ends, src_port, spindle_port, &datagram)
}

/// A put of `data`, cut into segments of `segment` bytes in order of offset. `header` gives addresses and ids; lengths,
/// offsets and consecutive sequence numbers are filled in.
pub fn put_message(
    ends: &Ends,
    spindle_port: u16,
    header: &SpindleHeader,
    data: &[u8],
    segment: usize,
) -> Vec<Vec<u8>> {
    assert!(segment > 0 && !data.is_empty(), "a put needs bytes and a segment size");
    data.chunks(segment)
        .enumerate()
        .map(|(i, chunk)| {
            let header = SpindleHeader {
                psn: header.psn.wrapping_add(i as u32),
                msg_len: data.len() as u32,
                msg_off: (i * segment) as u32,
                payload_len: chunk.len() as u16,
                ..*header
            };
            spindle(ends, 49152 + (i as u16 & 0x3ff), spindle_port, &header, chunk)
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use etherparse::{SlicedPacket, TransportSlice};

    #[test]
    fn a_put_is_cut_at_segments() {
        let data: Vec<u8> = (0..3000u32).map(|i| i as u8).collect();
        let header = SpindleHeader { addr: 0x1122_3344_5566_7788, key: 9, ..Default::default() };
        let frames = put_message(&Ends::default(), 4795, &header, &data, 1408);
        assert_eq!(frames.len(), 3);
        let mut back = vec![0; data.len()];
        for frame in &frames {
            let sliced = SlicedPacket::from_ethernet(frame).unwrap();
            let Some(TransportSlice::Udp(datagram)) = sliced.transport else { panic!("not UDP") };
            assert_eq!((datagram.destination_port(), datagram.checksum()), (4795, 0));
            let datagram = datagram.payload();
            let offset =
                u32::from_be_bytes(datagram[wire::spindle::MSG_OFF..wire::spindle::MSG_OFF + 4].try_into().unwrap())
                    as usize;
            assert_eq!(datagram[wire::spindle::ADDR..wire::spindle::ADDR + 8], 0x1122_3344_5566_7788u64.to_be_bytes());
            let payload = &datagram[wire::SPINDLE_BYTES..];
            back[offset..offset + payload.len()].copy_from_slice(payload);
        }
        assert_eq!(back, data);
    }

    #[test]
    fn a_tag_shifts_the_headers() {
        let ends = Ends { vlan: Some(5), ..Default::default() };
        assert_eq!(udp(&ends, 1, 2, &[0; 10]).len(), UDP_HEADERS + wire::VLAN_BYTES + 10);
        assert_eq!(echo_request(&Ends::default(), 1, 2, &[7; 10]).len(), UDP_HEADERS + 10);
    }
}
