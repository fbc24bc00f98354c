//! What the shipped handlers do, said once more without them: from the bytes of a frame to the bytes of its answer.
//!
//! Nothing here is shared with the C sources, the SDK or the driver; headers are found by `etherparse`.

use crate::checksums;
use etherparse::{LaxNetSlice, LaxSlicedPacket, NetSlice, SlicedPacket, TransportSlice};
use spindle_contract::params::SLOT_BYTES;
use std::net::Ipv4Addr;

/// What becomes of a frame that a handler gets.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// It is answered by this frame.
    Answer(Vec<u8>),
    /// It is handled without an answer, and these bytes stand in the host region, from this offset.
    ToHost(usize, Vec<u8>),
    /// The handler drops it.
    Drop,
    /// It is passed on to its mailbox.
    Proceed,
}

/// Circumstances of a frame that a handler can see.
#[derive(Clone, Copy, Debug)]
pub struct Circumstances {
    /// Sequence number of the frame.
    pub number: u16,
    /// Bytes of the host region.
    pub host_bytes: usize,
}

/// A model of a handler.
pub type Handler = fn(&[u8], Circumstances) -> Outcome;

/// The model of a shipped handler by the name of its source file. The faulty examples have none: they never answer.
pub fn by_name(name: &str) -> Option<Handler> {
    match name {
        "ping_pong" => Some(ping_pong),
        "icmp_echo" => Some(icmp_echo),
        "dns" => Some(dns),
        "place" => Some(|_, _| Outcome::Proceed),
        "udp_to_host" => Some(udp_to_host),
        "firewall" => Some(firewall),
        _ => None,
    }
}

/// Byte offset of the IPv4 header, if the frame holds IPv4 without options and fragments.
fn ipv4_offset(frame: &[u8], packet: &SlicedPacket) -> Option<usize> {
    let Some(NetSlice::Ipv4(ip)) = &packet.net else { return None };
    let header = ip.header();
    let plain = header.ihl() == 5 && !header.is_fragmenting_payload();
    plain.then(|| header.slice().as_ptr() as usize - frame.as_ptr() as usize)
}

/// The frame with MAC and IP addresses exchanged.
fn turned(frame: &[u8], ip: usize) -> Vec<u8> {
    let mut answer = frame.to_vec();
    answer[0..6].copy_from_slice(&frame[6..12]);
    answer[6..12].copy_from_slice(&frame[0..6]);
    answer[ip + 12..ip + 16].copy_from_slice(&frame[ip + 16..ip + 20]);
    answer[ip + 16..ip + 20].copy_from_slice(&frame[ip + 12..ip + 16]);
    answer
}

fn ping_pong(frame: &[u8], _: Circumstances) -> Outcome {
    let Ok(packet) = SlicedPacket::from_ethernet(frame) else { return Outcome::Drop };
    let (Some(ip), Some(TransportSlice::Udp(_)), true) =
        (ipv4_offset(frame, &packet), &packet.transport, frame.len() <= SLOT_BYTES)
    else {
        return Outcome::Drop;
    };
    let mut answer = turned(frame, ip);
    let udp = ip + 20;
    answer[udp..udp + 2].copy_from_slice(&frame[udp + 2..udp + 4]);
    answer[udp + 2..udp + 4].copy_from_slice(&frame[udp..udp + 2]);
    Outcome::Answer(answer)
}

/// The checksums are those that the NIC inserts.
fn icmp_echo(frame: &[u8], _: Circumstances) -> Outcome {
    let Ok(packet) = SlicedPacket::from_ethernet(frame) else { return Outcome::Drop };
    let (Some(ip), Some(TransportSlice::Icmpv4(icmp)), true) =
        (ipv4_offset(frame, &packet), &packet.transport, frame.len() <= SLOT_BYTES)
    else {
        return Outcome::Drop;
    };
    if (icmp.type_u8(), icmp.code_u8()) != (8, 0) {
        return Outcome::Drop;
    }
    let mut answer = turned(frame, ip);
    answer[ip + 20] = 0;
    checksums::send(&mut answer);
    Outcome::Answer(answer)
}

/// Tailroom and address of `dns`.
const DNS_TAILROOM: usize = 64;
/// What `dns` answers each name with.
pub const DNS_ADDRESS: [u8; 4] = [10, 0, 0, 1];

/// A query of one question for an IPv4 address, with whatever follows the question: the answer has the question and one record.
fn dns(frame: &[u8], _: Circumstances) -> Outcome {
    let Ok(packet) = SlicedPacket::from_ethernet(frame) else { return Outcome::Drop };
    let (Some(ip), Some(TransportSlice::Udp(udp)), true) =
        (ipv4_offset(frame, &packet), &packet.transport, frame.len() <= SLOT_BYTES)
    else {
        return Outcome::Drop;
    };
    let query = udp.payload();
    // Not a response, opcode 0, not truncated; one question.
    if query.len() < 12 || query[2] & 0xFA != 0 || query[4..6] != [0, 1] {
        return Outcome::Drop;
    }
    let mut at = 12;
    while let Some(length) = query.get(at).filter(|length| **length != 0) {
        at += 1 + usize::from(*length);
    }
    if query.get(at..at + 5) != Some(&[0, 0, 1, 0, 1]) {
        return Outcome::Drop;
    }
    let mut message = query[..at + 5].to_vec();
    message[2] = 0x84 | query[2] & 1;
    message[3] = 0;
    message[6..12].copy_from_slice(&[0, 1, 0, 0, 0, 0]);
    message.extend([0xC0, 12, 0, 1, 0, 1, 0, 0, 0, 60, 0, 4]);
    message.extend(DNS_ADDRESS);
    let (transport, end) = (ip + 20, ip + 28 + message.len());
    if end > SLOT_BYTES.min(frame.len() + DNS_TAILROOM) {
        return Outcome::Drop;
    }
    let mut answer = turned(frame, ip);
    answer.truncate(ip + 28);
    answer.extend(message);
    answer[ip + 2..ip + 4].copy_from_slice(&((end - ip) as u16).to_be_bytes());
    answer[transport..transport + 2].copy_from_slice(&frame[transport + 2..transport + 4]);
    answer[transport + 2..transport + 4].copy_from_slice(&frame[transport..transport + 2]);
    answer[transport + 4..transport + 6].copy_from_slice(&((end - transport) as u16).to_be_bytes());
    checksums::send(&mut answer);
    Outcome::Answer(answer)
}

fn udp_to_host(frame: &[u8], circumstances: Circumstances) -> Outcome {
    const SLOT: usize = 2048;
    const HEADER: usize = 32;
    let Ok(packet) = SlicedPacket::from_ethernet(frame) else { return Outcome::Drop };
    let (Some(ip), Some(TransportSlice::Udp(udp)), true) =
        (ipv4_offset(frame, &packet), &packet.transport, frame.len() <= SLOT_BYTES)
    else {
        return Outcome::Drop;
    };
    let slots = circumstances.host_bytes / SLOT;
    if slots == 0 || udp.payload().len() > SLOT - HEADER {
        return Outcome::Drop;
    }
    let source = u32::from_be_bytes([frame[ip + 12], frame[ip + 13], frame[ip + 14], frame[ip + 15]]);
    let words = [
        udp.payload().len() as u32,
        source,
        udp.source_port().into(),
        udp.destination_port().into(),
        circumstances.number.into(),
    ];
    let mut record: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
    record.resize(HEADER, 0);
    record.extend_from_slice(udp.payload());
    Outcome::ToHost(usize::from(circumstances.number) % slots * SLOT, record)
}

/// Prefixes of sources that `firewall` drops, with their bits.
pub const DENIED: [(Ipv4Addr, u32); 3] =
    [(Ipv4Addr::new(192, 0, 2, 0), 24), (Ipv4Addr::new(10, 9, 0, 0), 16), (Ipv4Addr::new(203, 0, 113, 128), 25)];

/// Also of packets of which the lengths or the transport are no good: what counts is the source.
fn firewall(frame: &[u8], _: Circumstances) -> Outcome {
    if frame.len() > SLOT_BYTES {
        return Outcome::Drop;
    }
    let packet = LaxSlicedPacket::from_ethernet(frame);
    let source = match packet.as_ref().map(|packet| &packet.net) {
        Ok(Some(LaxNetSlice::Ipv4(ip))) => Some(ip.header().source_addr()),
        _ => None,
    };
    let differs = |a: Ipv4Addr, b: Ipv4Addr| (a.to_bits() ^ b.to_bits()).leading_zeros();
    match source {
        Some(source) if DENIED.iter().any(|(prefix, bits)| differs(source, *prefix) >= *bits) => Outcome::Drop,
        _ => Outcome::Answer(frame.to_vec()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::frames::{dns_query, echo_request, udp, Ends};
    use crate::packet_engine::parser::ones_complement_sum;

    const ANY: Circumstances = Circumstances { number: 5, host_bytes: 8192 };

    #[test]
    fn an_answered_answer_is_the_question() {
        for vlan in [None, Some(7)] {
            let frame = udp(&Ends { vlan, ..Ends::default() }, 1000, 9, b"hello");
            let Outcome::Answer(answer) = ping_pong(&frame, ANY) else { panic!("no answer") };
            assert_ne!(answer, frame);
            assert_eq!(ping_pong(&answer, ANY), Outcome::Answer(frame));
        }
    }

    #[test]
    fn echo_answers_have_right_checksums_even_of_zeros() {
        for payload in [vec![], vec![1, 2, 3], vec![0; 40]] {
            for (id, sequence) in [(0, 0), (1, 2), (0xf7ff, 0)] {
                let frame = echo_request(&Ends::default(), id, sequence, &payload);
                let Outcome::Answer(answer) = icmp_echo(&frame, ANY) else { panic!("no answer") };
                assert_eq!(ones_complement_sum(&answer[34..]), 0xffff, "{id} {sequence} {payload:?}");
                assert_eq!((answer[34], &answer[38..]), (0, &frame[38..]));
            }
        }
    }

    #[test]
    fn a_name_has_an_address() {
        let ends = Ends::default();
        let frame = dns_query(&ends, 5353, 0xBEEF, "www.example.org", 1, &[0; 11]);
        let Outcome::Answer(answer) = dns(&frame, ANY) else { panic!("no answer") };
        let record = [&b"\xC0\x0C\0\x01\0\x01\0\0\0\x3C\0\x04"[..], &DNS_ADDRESS].concat();
        let question = b"\x03www\x07example\x03org\0\0\x01\0\x01";
        let message = [&b"\xBE\xEF\x85\0\0\x01\0\x01\0\0\0\0"[..], question, &record].concat();
        let back =
            Ends { src_mac: ends.dst_mac, dst_mac: ends.src_mac, src_ip: ends.dst_ip, dst_ip: ends.src_ip, ..ends };
        assert_eq!(answer, udp(&back, 53, 5353, &message));
        // Another type; an answer; two questions; a name without end.
        let drops = |at: usize, value: u8| {
            let mut frame = frame.clone();
            frame[at] = value;
            dns(&frame, ANY) == Outcome::Drop
        };
        assert_eq!(dns(&dns_query(&ends, 1, 2, "a.b", 28, &[]), ANY), Outcome::Drop);
        assert!(drops(44, 0x81) && drops(44, 3) && drops(44, 9) && drops(47, 2) && drops(47, 0) && drops(54, 63));
        assert_eq!(dns(&udp(&ends, 1, 53, &[0; 11]), ANY), Outcome::Drop);
    }

    #[test]
    fn payloads_go_to_the_slot_of_their_number() {
        let frame = udp(&Ends::default(), 1000, 9, b"hello");
        let Outcome::ToHost(offset, record) = udp_to_host(&frame, ANY) else { panic!("not to host") };
        assert_eq!((offset, &record[..4], &record[32..]), (2048, &5u32.to_le_bytes()[..], &b"hello"[..]));
        assert_eq!(udp_to_host(&frame, Circumstances { host_bytes: 100, ..ANY }), Outcome::Drop);
    }

    #[test]
    fn the_firewall_looks_behind_tags() {
        for (src_ip, passes) in [
            ([192, 0, 2, 1], false),
            ([192, 0, 3, 1], true),
            ([10, 9, 255, 255], false),
            ([10, 10, 0, 0], true),
            ([203, 0, 113, 127], true),
            ([203, 0, 113, 128], false),
        ] {
            for vlan in [None, Some(7)] {
                let mut frame = udp(&Ends { vlan, src_ip, ..Ends::default() }, 1000, 9, b"hello");
                for tags in 0..2 {
                    let expected = if passes { Outcome::Answer(frame.clone()) } else { Outcome::Drop };
                    assert_eq!(firewall(&frame, ANY), expected, "{src_ip:?}, {tags} further tags");
                    frame.splice(12..12, [0x88, 0xa8, 0, 3]);
                }
            }
        }
        let arp = [&[0xff; 12][..], &[8, 6], &[192, 0, 2, 1, 192, 0, 2, 1].repeat(6)].concat();
        assert_eq!(firewall(&arp, ANY), Outcome::Answer(arp));
        assert_eq!(firewall(&[0; 2049], ANY), Outcome::Drop);
    }

    #[test]
    fn what_a_handler_does_not_want_is_dropped() {
        let ping = echo_request(&Ends::default(), 1, 1, b"x");
        assert_eq!(ping_pong(&ping, ANY), Outcome::Drop);
        assert_eq!(icmp_echo(&udp(&Ends::default(), 1, 2, b"x"), ANY), Outcome::Drop);
        assert_eq!(ping_pong(&udp(&Ends::default(), 1, 2, &[0; 2100]), ANY), Outcome::Drop);
        assert_eq!(ping_pong(&[0; 20], ANY), Outcome::Drop);
    }
}
