//! Header check: from the header window and the sums to a descriptor, flags and a verdict.
//!
//! | neighbour | ports |
//! |---|---|
//! | header window | in `header`, `valid` |
//! | parser | in `vlan`, `bad_frame`, `disabled`, `frame_end`, `frame`, `stamp`, `ip_end`: with `valid` |
//! | transport sum | in `transport_sum`, `transport_carry`: of that frame, 1 cycle later |
//! | node table | in `source_present`, `source_ip`, `source_requires`: the entry of the frame's source, with `valid` |
//! | PSN filter | out `early_spindle`, `early_peer`, `early_row`: 1 cycle after `valid` |
//! | header matcher | out `parsed_flags` 1 cycle, `parsed` 2 cycles after `valid` |
//!
//! One frame per cycle, never stalls. Stage 1 compares and adds, stage 2 combines.

use crate::bundles::FrameDescSource;
use spindle_blocks::checksum::{balanced, sum_of_ten};
use spindle_blocks::desc::PacketDesc;
use spindle_blocks::headers::*;
use spindle_contract::params::MAX_FRAME;
use spindle_contract::reasons;
use spindle_contract::wire::{flag, ipv4, opcode, ETHERTYPE_IPV4, IP_ICMP, IP_UDP, LAST_OPCODE, SPINDLE_VERSION};
use spindle_verilog::prelude::*;

const LIMIT: u64 = MAX_FRAME as u64;

/// Facts of stage 1 about a frame.
#[derive(LogicStruct, Copy, Clone, Debug, Default, PartialEq)]
pub struct Facts {
    frame: Bits<16>,
    stamp: Bits<32>,
    vlan: Bit,
    disabled: Bit,
    bad_frame: Bit,
    runt: Bit,
    too_long: Bit,
    length: Bits<14>,
    /// Bytes after the Ethernet header.
    raw_len: Bits<14>,
    ip: Bit,
    ip_header_good: Bit,
    no_options: Bit,
    no_fragment: Bit,
    is_udp: Bit,
    is_icmp: Bit,
    below_header: Bit,
    below_28: Bit,
    past_end: Bit,
    /// Total length less IP header.
    ip_payload: Bits<16>,
    /// Total length less IP header and 8 bytes of UDP or ICMP.
    transport_payload: Bits<16>,
    summed: Bit,
    port_match: Bit,
    /// The frame has more than one beat.
    beats: Bit,
    transport_good: Bit,
    /// The UDP length that the Spindle header announces.
    announced: Bits<17>,
    get: Bit,
    /// The node table has the source with another address, or not at all.
    stranger: Bit,
    /// The source must use the ICRC, and the frame has none.
    bare: Bit,
}

/// Layers that a frame has and that are parsed.
#[derive(LogicStruct, Copy, Clone, Debug, Default, PartialEq)]
struct Layers {
    /// IPv4 without options and fragments.
    plain: Bit,
    udp: Bit,
    icmp: Bit,
    spindle: Bit,
}

/// See the head of this file.
#[block]
pub struct HeaderCheck {
    /// Header without tag, byte 0 lowest.
    pub header: Signal<In, Bits<720>>,
    /// The frame has one.
    pub vlan: Signal<In, Bit>,
    /// The MAC marked the frame.
    pub bad_frame: Signal<In, Bit>,
    /// Reception was off.
    pub disabled: Signal<In, Bit>,
    /// Index of the frame's last byte.
    pub frame_end: Signal<In, Bits<14>>,
    /// Number of the frame.
    pub frame: Signal<In, Bits<16>>,
    /// Cycle of its first beat.
    pub stamp: Signal<In, Bits<32>>,
    /// There is a frame.
    pub valid: Signal<In, Bit>,
    /// Index of the last byte that IPv4 claims.
    pub ip_end: Signal<In, Bits<17>>,
    /// What the transport checksum covers, first half.
    pub transport_sum: Signal<In, Bits<16>>,
    /// Second half.
    pub transport_carry: Signal<In, Bits<16>>,
    /// The source counts.
    pub check_source: Signal<In, Bit>,
    /// The node table has the frame's source node,
    pub source_present: Signal<In, Bit>,
    /// with this IPv4 address.
    pub source_ip: Signal<In, Bits<32>>,
    /// and that node must use the ICRC.
    pub source_requires: Signal<In, Bit>,
    /// Descriptor, and the decision to drop the frame.
    pub parsed: FrameDescSource,
    /// Flags of the rule language, flag 0 lowest, of the frame whose descriptor comes in the next cycle.
    pub parsed_flags: Signal<Out, Bits<5>>,
    /// A frame of at least two beats goes to the Spindle port, malformed or not.
    pub early_spindle: Signal<Out, Bit>,
    /// Low bits of its source.
    pub early_peer: Signal<Out, Bits<8>>,
    /// Bits 9 to 6 of its sequence number.
    pub early_row: Signal<Out, Bits<4>>,
    /// UDP port of Spindle transport.
    pub spindle_port: Signal<In, Bits<16>>,
    facts: DFF<Facts>,
    kept_header: DFF<Bits<720>>,
    ip_sum: DFF<Bits<16>>,
    ip_carry: DFF<Bits<16>>,
    facts_valid: Reg<Bit>,
    desc: DFF<PacketDesc>,
    drop: DFF<Bit>,
    reason: DFF<Bits<6>>,
    done: Reg<Bit>,
}

#[hdl]
impl HeaderCheck {
    fn update(&mut self) {
        self.compare();
        let layers = self.judge();
        self.describe(layers);
        self.parsed_flags.next =
            (layers.spindle, layers.icmp, layers.udp, layers.plain, self.facts.q.val().vlan).cat::<5>();
        self.parsed.next = self.desc.q.val();
        self.parsed.drop.next = self.drop.q.val();
        self.parsed.reason.next = self.reason.q.val();
        self.parsed.valid.next = self.done.q.val();
    }

    /// Stage 1: compares and adds.
    fn compare(&mut self) {
        let header = self.header.val();
        let frame_end = self.frame_end.val();
        let vlan = self.vlan.val();
        let ip = ethernet_ethertype(header) == bits(ETHERTYPE_IPV4);
        let ihl = ipv4_ihl(header);
        let total = ipv4_total_length(header);
        let op = spindle_opcode(header);
        let get = op == bits(opcode::GET);
        let sp_flags = spindle_flags(header);
        let sp_words = spindle_words(header);
        let header_and_udp = if get { bits::<7>(72) } else { bits::<7>(56) };
        let has_icrc = (sp_flags & bits::<16>(flag::ICRC)).any();
        let overhead = header_and_udp | (bits::<4>(0), has_icrc, bits::<2>(0)).cat::<7>();
        let shortest = (ip, vlan).cat::<2>();
        self.facts.d.next = Facts {
            frame: self.frame.val(),
            stamp: self.stamp.val(),
            vlan,
            disabled: self.disabled.val(),
            bad_frame: self.bad_frame.val(),
            runt: (frame_end < 13)
                | ((shortest == 1) & (frame_end < 17))
                | ((shortest == 2) & (frame_end < 33))
                | ((shortest == 3) & (frame_end < 37)),
            too_long: frame_end >= LIMIT,
            length: frame_end + 1,
            raw_len: frame_end - (if vlan { bits::<14>(17) } else { bits::<14>(13) }),
            ip,
            ip_header_good: (ipv4_version(header) == 4) & (ihl >= 5),
            no_options: ihl == 5,
            no_fragment: !ipv4_fragment(header).any(),
            is_udp: ipv4_protocol(header) == bits(IP_UDP),
            is_icmp: ipv4_protocol(header) == bits(IP_ICMP),
            below_header: total < (bits::<10>(0), ihl, bits::<2>(0)).cat::<16>(),
            below_28: total < 28,
            past_end: self.ip_end.val() > zext::<17, 14>(frame_end),
            ip_payload: total - 20,
            transport_payload: total - 28,
            summed: udp_checksum(header).any(),
            beats: frame_end.get_bits::<8>(6).any(),
            port_match: udp_dst_port(header) == self.spindle_port.val(),
            transport_good: (spindle_version(header) == bits(SPINDLE_VERSION))
                & (op != 0)
                & (op <= bits(LAST_OPCODE))
                & (sp_words == (if get { bits::<4>(8) } else { bits::<4>(6) })),
            announced: zext::<17, 16>(spindle_payload_len(header)) + zext::<17, 7>(overhead),
            get,
            stranger: self.check_source.val()
                & (!self.source_present.val() | ne(self.source_ip.val(), ipv4_src(header))),
            bare: self.source_present.val() & self.source_requires.val() & !has_icrc,
        };
        self.facts_valid.d.next = self.valid.val();
        self.kept_header.d.next = header;
        let ip_sum = sum_of_ten(header.get_bits::<160>(8 * ipv4::START));
        self.ip_sum.d.next = ip_sum.get_bits::<16>(0);
        self.ip_carry.d.next = ip_sum.get_bits::<16>(16);
    }

    /// Stage 2: the verdict. Returns the layers that the frame has.
    fn judge(&mut self) -> Layers {
        let h = self.kept_header.q.val();
        let f = self.facts.q.val();
        let plain = f.ip & f.no_options & f.no_fragment;
        let udp = plain & f.is_udp;
        let icmp = plain & f.is_icmp;
        let spindle = udp & f.port_match;
        let udp_len = udp_length(h);
        let transport_intact = balanced(self.transport_sum.val(), self.transport_carry.val());
        let bad_ip_length = f.ip & (!f.ip_header_good | f.below_header | f.past_end | ((udp | icmp) & f.below_28));
        let bad_ip_checksum = f.ip & f.no_options & !balanced(self.ip_sum.q.val(), self.ip_carry.q.val());
        let bad_udp_length = udp & (f.ip_payload != udp_len);
        let bad_udp_checksum = udp & f.summed & !transport_intact;
        let bad_icmp_checksum = icmp & !transport_intact;
        let bad_transport = spindle & (!f.transport_good | (f.announced != zext::<17, 16>(udp_len)));
        let bad_source = spindle & f.stranger;
        let icrc_missing = spindle & f.bare;
        self.reason.d.next = if f.disabled {
            bits::<6>(reasons::RX_DISABLED)
        } else if f.bad_frame {
            bits::<6>(reasons::BAD_FRAME)
        } else if f.runt {
            bits::<6>(reasons::RUNT)
        } else if f.too_long {
            bits::<6>(reasons::TOO_LONG)
        } else if bad_ip_length {
            bits::<6>(reasons::BAD_IP_LENGTH)
        } else if bad_ip_checksum {
            bits::<6>(reasons::BAD_IP_CHECKSUM)
        } else if bad_udp_length {
            bits::<6>(reasons::BAD_UDP_LENGTH)
        } else if bad_udp_checksum {
            bits::<6>(reasons::BAD_UDP_CHECKSUM)
        } else if bad_icmp_checksum {
            bits::<6>(reasons::BAD_ICMP_CHECKSUM)
        } else if bad_transport {
            bits::<6>(reasons::BAD_TRANSPORT)
        } else if bad_source {
            bits::<6>(reasons::BAD_SOURCE)
        } else {
            bits::<6>(reasons::ICRC_MISSING)
        };
        self.drop.d.next = f.disabled
            | f.bad_frame
            | f.runt
            | f.too_long
            | bad_ip_length
            | bad_ip_checksum
            | bad_udp_length
            | bad_udp_checksum
            | bad_icmp_checksum
            | bad_transport
            | bad_source
            | icrc_missing;
        self.done.d.next = self.facts_valid.q.val();
        self.early_spindle.next = self.facts_valid.q.val() & spindle & f.beats;
        self.early_peer.next = spindle_src_nid(h).get_bits::<8>(0);
        self.early_row.next = spindle_psn(h).get_bits::<4>(6);
        Layers { plain, udp, icmp, spindle }
    }

    /// Stage 2: the descriptor. A header that is not there reads as zero.
    fn describe(&mut self, layers: Layers) {
        let h = self.kept_header.q.val();
        let f = self.facts.q.val();
        let l3_offset = if f.vlan { bits::<7>(18) } else { bits::<7>(14) };
        let behind_l3 = if layers.spindle {
            if f.get {
                bits::<7>(92)
            } else {
                bits::<7>(76)
            }
        } else if layers.udp | layers.icmp {
            bits::<7>(28)
        } else {
            bits::<7>(0)
        };
        let ip_src = if layers.plain { ipv4_src(h) } else { bits::<32>(0) };
        let ip_dst = if layers.plain { ipv4_dst(h) } else { bits::<32>(0) };
        let src_port = if layers.udp { udp_src_port(h) } else { bits::<16>(0) };
        let dst_port = if layers.udp { udp_dst_port(h) } else { bits::<16>(0) };
        let opcode = if layers.spindle { spindle_opcode(h) } else { bits::<8>(0) };
        let flags = if layers.spindle { spindle_flags(h) } else { bits::<16>(0) };
        let psn = if layers.spindle { spindle_psn(h) } else { bits::<32>(0) };
        let sp_src_nid = if layers.spindle { spindle_src_nid(h) } else { bits::<32>(0) };
        let sp_src_pid = if layers.spindle { spindle_src_pid(h) } else { bits::<16>(0) };
        let sp_dst_pid = if layers.spindle { spindle_dst_pid(h) } else { bits::<16>(0) };
        let sp_msg_len = if layers.spindle { spindle_msg_len(h) } else { bits::<32>(0) };
        let msg_off = if layers.spindle { spindle_msg_off(h) } else { bits::<32>(0) };
        let payload_len = if layers.spindle {
            spindle_payload_len(h)
        } else if layers.udp | layers.icmp {
            f.transport_payload
        } else if f.ip {
            ipv4_total_length(h)
        } else {
            zext::<16, 14>(f.raw_len)
        };
        self.desc.d.next = PacketDesc {
            version: bits::<4>(spindle_contract::VERSION),
            frame: f.frame,
            stamp: f.stamp,
            length: f.length,
            is_vlan: f.vlan,
            is_ipv4: layers.plain,
            is_udp: layers.udp,
            is_icmp: layers.icmp,
            is_spindle: layers.spindle,
            l3_offset: trunc::<6, 7>(l3_offset),
            payload_offset: l3_offset + behind_l3,
            ip_src,
            ip_dst,
            src_port,
            dst_port,
            opcode,
            flags,
            psn,
            src_nid: if layers.spindle { sp_src_nid } else { ip_src },
            src_pid: if layers.spindle { sp_src_pid } else { src_port },
            dst_pid: if layers.spindle { sp_dst_pid } else { dst_port },
            addr: if layers.spindle { spindle_addr(h) } else { bits::<64>(0) },
            key: if layers.spindle { spindle_key(h) } else { bits::<32>(0) },
            msg_id: if layers.spindle { spindle_msg_id(h) } else { zext::<32, 16>(f.frame) },
            msg_len: if layers.spindle { sp_msg_len } else { zext::<32, 16>(payload_len) },
            msg_off,
            buf_off: if layers.spindle { spindle_buf_off(h) } else { bits::<32>(0) },
            payload_len,
            epoch: if layers.spindle { spindle_epoch(h) } else { bits::<16>(0) },
            l4_good: (layers.udp & f.summed) | layers.icmp,
            ecn: if layers.plain { ipv4_ecn(h) } else { bits::<2>(0) },
            ..Default::default()
        };
    }
}
