//! What the parser says of a frame, written byte by byte as the standards do.

use crate::icrc;
use spindle_contract::params::{MAX_FRAME, MIN_FRAME};
use spindle_contract::reasons;
use spindle_contract::wire::*;

/// The fields of `packet_desc` that the parser fills in, except `version`, `frame` and `stamp`; `msg_id` of a raw frame is
/// its number, which one frame alone does not know: 0.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[allow(missing_docs)]
pub struct Parsed {
    pub length: u16,
    pub is_vlan: bool,
    pub is_ipv4: bool,
    pub is_udp: bool,
    pub is_icmp: bool,
    pub is_spindle: bool,
    pub l3_offset: usize,
    pub payload_offset: usize,
    pub ip_src: u32,
    pub ip_dst: u32,
    pub src_port: u16,
    pub dst_port: u16,
    pub opcode: u8,
    pub flags: u16,
    pub psn: u32,
    pub src_nid: u32,
    pub src_pid: u16,
    pub dst_pid: u16,
    pub addr: u64,
    pub key: u32,
    pub msg_id: u32,
    pub msg_len: u32,
    pub msg_off: u32,
    pub buf_off: u32,
    pub payload_len: u16,
    pub epoch: u16,
    pub ecn: u8,
}

impl Parsed {
    /// Flags of the rule language, flag 0 lowest.
    pub fn flags(&self) -> u32 {
        let flags = [self.is_vlan, self.is_ipv4, self.is_udp, self.is_icmp, self.is_spindle];
        flags.iter().enumerate().fold(0, |word, (i, flag)| word | u32::from(*flag) << i)
    }
}

/// What becomes of a frame in the parser.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// It is well formed.
    Accept(Box<Parsed>),
    /// It is dropped for this reason (`spindle_contract::reasons`).
    Drop(usize),
}

fn u16_at(bytes: &[u8], at: usize) -> u16 {
    u16::from_be_bytes([bytes[at], bytes[at + 1]])
}

fn u32_at(bytes: &[u8], at: usize) -> u32 {
    u32::from_be_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]])
}

/// Ones' complement sum of big-endian words; an odd byte at the end is the high half of a word.
pub fn ones_complement_sum(bytes: &[u8]) -> u16 {
    let mut sum = 0u32;
    for pair in bytes.chunks(2) {
        sum += u32::from(pair[0]) << 8 | u32::from(*pair.get(1).unwrap_or(&0));
        sum = (sum & 0xFFFF) + (sum >> 16);
    }
    sum as u16
}

/// What the node table has for the source of a frame.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SourceEntry {
    /// Address of the node, if the table has the node.
    pub ip: Option<u32>,
    /// The node must use the ICRC.
    pub requires: bool,
}

/// Parses a frame that the MAC delivered as good; `spindle_port` is the UDP port of Spindle transport. The node table is empty, and
/// sources are not checked.
pub fn parse(frame: &[u8], spindle_port: u16) -> Verdict {
    parse_of(frame, spindle_port, SourceEntry::default(), false)
}

/// The same with an entry of the node table for the frame's source, which is checked if `check` is set.
pub fn parse_of(frame: &[u8], spindle_port: u16, source: SourceEntry, check: bool) -> Verdict {
    match examine(frame, spindle_port).and_then(|parsed| integrity(frame, parsed, source, check)) {
        Ok(parsed) => Verdict::Accept(Box::new(parsed)),
        Err(reason) => Verdict::Drop(reason),
    }
}

/// The source and the ICRC of a Spindle packet that is well formed.
fn integrity(frame: &[u8], p: Parsed, source: SourceEntry, check: bool) -> Result<Parsed, usize> {
    if !p.is_spindle {
        return Ok(p);
    }
    if check && source.ip != Some(p.ip_src) {
        return Err(reasons::BAD_SOURCE);
    }
    let has_icrc = p.flags & flag::ICRC != 0;
    if source.ip.is_some() && source.requires && !has_icrc {
        return Err(reasons::ICRC_MISSING);
    }
    let start = p.l3_offset + IPV4_BYTES + UDP_BYTES;
    let end = p.payload_offset + usize::from(p.payload_len) + if has_icrc { ICRC_BYTES } else { 0 };
    if has_icrc && !icrc::intact(&frame[start..end]) {
        return Err(reasons::BAD_ICRC);
    }
    Ok(p)
}

fn examine(frame: &[u8], spindle_port: u16) -> Result<Parsed, usize> {
    let mut p = Parsed { length: frame.len().min(usize::from(u16::MAX)) as u16, ..Parsed::default() };

    // Ethernet.
    if frame.len() < MIN_FRAME {
        return Err(reasons::RUNT);
    }
    p.is_vlan = u16_at(frame, 12) == ETHERTYPE_VLAN;
    p.l3_offset = ETH_BYTES + if p.is_vlan { VLAN_BYTES } else { 0 };
    if frame.len() < p.l3_offset {
        return Err(reasons::RUNT);
    }
    let ethertype = u16_at(frame, p.l3_offset - 2);
    let is_ip = ethertype == ETHERTYPE_IPV4;
    if is_ip && frame.len() < p.l3_offset + IPV4_BYTES {
        return Err(reasons::RUNT);
    }
    if frame.len() > MAX_FRAME {
        return Err(reasons::TOO_LONG);
    }
    p.payload_offset = p.l3_offset;
    p.payload_len = (frame.len() - p.l3_offset) as u16;

    if is_ip {
        internet(frame, spindle_port, &mut p)?;
    }
    if !p.is_spindle {
        (p.src_nid, p.src_pid, p.dst_pid) = (p.ip_src, p.src_port, p.dst_port);
        p.msg_len = u32::from(p.payload_len);
    }
    Ok(p)
}

fn internet(frame: &[u8], spindle_port: u16, p: &mut Parsed) -> Result<(), usize> {
    let ip = &frame[p.l3_offset..];
    let header = usize::from(ip[0] & 15) * 4;
    let total = usize::from(u16_at(ip, 2));
    let fragment = u16_at(ip, 6) & 0x3FFF != 0;
    let plain = header == IPV4_BYTES && !fragment;
    let (is_udp, is_icmp) = (plain && ip[9] == IP_UDP, plain && ip[9] == IP_ICMP);
    let smallest = header + if is_udp || is_icmp { 8 } else { 0 };
    if ip[0] >> 4 != 4 || header < IPV4_BYTES || total < smallest || total > ip.len() {
        return Err(reasons::BAD_IP_LENGTH);
    }
    if header == IPV4_BYTES && ones_complement_sum(&ip[..IPV4_BYTES]) != 0xFFFF {
        return Err(reasons::BAD_IP_CHECKSUM);
    }
    let ip = &ip[..total];
    p.payload_len = total as u16;
    if !plain {
        return Ok(());
    }
    p.is_ipv4 = true;
    p.ecn = ip[1] & 3;
    p.ip_src = u32_at(ip, 12);
    p.ip_dst = u32_at(ip, 16);
    let body = &ip[IPV4_BYTES..];
    if is_udp {
        datagram(body, spindle_port, p)?;
    } else if is_icmp {
        if ones_complement_sum(body) != 0xFFFF {
            return Err(reasons::BAD_ICMP_CHECKSUM);
        }
        p.is_icmp = true;
        p.payload_offset = p.l3_offset + IPV4_BYTES + ICMP_BYTES;
        p.payload_len = (body.len() - ICMP_BYTES) as u16;
    }
    Ok(())
}

fn datagram(udp: &[u8], spindle_port: u16, p: &mut Parsed) -> Result<(), usize> {
    if usize::from(u16_at(udp, 4)) != udp.len() {
        return Err(reasons::BAD_UDP_LENGTH);
    }
    if u16_at(udp, 6) != 0 {
        let mut covered = vec![];
        covered.extend_from_slice(&p.ip_src.to_be_bytes());
        covered.extend_from_slice(&p.ip_dst.to_be_bytes());
        covered.extend_from_slice(&[0, IP_UDP]);
        covered.extend_from_slice(&(udp.len() as u16).to_be_bytes());
        covered.extend_from_slice(udp);
        if ones_complement_sum(&covered) != 0xFFFF {
            return Err(reasons::BAD_UDP_CHECKSUM);
        }
    }
    p.is_udp = true;
    p.src_port = u16_at(udp, 0);
    p.dst_port = u16_at(udp, 2);
    p.payload_offset = p.l3_offset + IPV4_BYTES + UDP_BYTES;
    p.payload_len = (udp.len() - UDP_BYTES) as u16;
    if p.dst_port == spindle_port {
        transport(&udp[UDP_BYTES..], p)?;
    }
    Ok(())
}

fn transport(s: &[u8], p: &mut Parsed) -> Result<(), usize> {
    if s.len() < SPINDLE_BYTES {
        return Err(reasons::BAD_TRANSPORT);
    }
    let spindle = Spindle::parse(s);
    let header = if spindle.opcode == opcode::GET { SPINDLE_GET_BYTES } else { SPINDLE_BYTES };
    let icrc = if spindle.flags & flag::ICRC != 0 { ICRC_BYTES } else { 0 };
    if (spindle.version, usize::from(spindle.words)) != (SPINDLE_VERSION, header / 8)
        || !(1..=LAST_OPCODE).contains(&spindle.opcode)
        || header + usize::from(spindle.payload_len) + icrc != s.len()
    {
        return Err(reasons::BAD_TRANSPORT);
    }
    p.is_spindle = true;
    p.opcode = spindle.opcode;
    p.flags = spindle.flags;
    p.psn = spindle.psn;
    p.src_nid = spindle.src_nid;
    p.src_pid = spindle.src_pid;
    p.dst_pid = spindle.dst_pid;
    p.addr = spindle.addr;
    p.key = spindle.key;
    p.msg_id = spindle.msg_id;
    p.msg_len = spindle.msg_len;
    p.msg_off = spindle.msg_off;
    p.buf_off = spindle.buf_off;
    p.payload_len = spindle.payload_len;
    p.epoch = spindle.epoch;
    p.payload_offset += header;
    Ok(())
}
