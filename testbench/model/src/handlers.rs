//! What the shipped handlers do, said once more without them: from the bytes of a frame to the bytes of its answer.
//!
//! Nothing here is shared with the C sources, the SDK or the driver; headers are found by `etherparse`.

use crate::packet_engine::parser::ones_complement_sum;
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

/// The checksum is computed anew over the whole message; of the two forms of zero the answer has 0xffff.
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
    let start = ip + 20;
    let end = start + icmp.slice().len();
    let mut answer = turned(frame, ip);
    answer[start..start + 4].fill(0);
    let sum = match !ones_complement_sum(&answer[start..end]) {
        0 => 0xffff,
        sum => sum,
    };
    answer[start + 2..start + 4].copy_from_slice(&sum.to_be_bytes());
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
    use crate::frames::{echo_request, udp, Ends};

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
