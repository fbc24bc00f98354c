//! Right checksums for frames whose sender left them to its network card: all that a frame has ([`fix`]), those that a handler
//! leaves to the NIC ([`send`]), or the one that its sender names ([`insert`]).

use crate::packet_engine::parser::ones_complement_sum;
use etherparse::{NetSlice, SlicedPacket, TransportSlice};

/// Computes the IPv4, UDP and ICMP checksums of a frame anew and says whether one changed. A UDP checksum of 0 ("none")
/// stays; frames that are cut, fragments and everything but IPv4 stay as they are.
pub fn fix(frame: &mut [u8]) -> bool {
    let before = frame.to_vec();
    let Ok(packet) = SlicedPacket::from_ethernet(&before) else { return false };
    let Some(NetSlice::Ipv4(ip)) = &packet.net else { return false };
    let at = |slice: &[u8]| slice.as_ptr() as usize - before.as_ptr() as usize;
    let header = at(ip.header().slice());
    store(frame, header + 10, &[], header..header + ip.header().slice().len());
    if ip.header().is_fragmenting_payload() {
        return frame != before;
    }
    match &packet.transport {
        Some(TransportSlice::Udp(udp)) if udp.checksum() != 0 => {
            let (start, length) = (at(udp.slice()), udp.slice().len());
            let mut pseudo = before[header + 12..header + 20].to_vec();
            pseudo.extend_from_slice(&[0, 17, (length >> 8) as u8, length as u8]);
            store(frame, start + 6, &pseudo, start..start + length);
            if frame[start + 6..start + 8] == [0, 0] {
                frame[start + 6..start + 8].fill(0xff);
            }
        }
        Some(TransportSlice::Icmpv4(icmp)) => {
            let start = at(icmp.slice());
            store(frame, start + 2, &[], start..start + icmp.slice().len());
        }
        _ => {}
    }
    frame != before
}

/// Inserts the checksums of a frame that a handler sends with the flag CHECKSUM, and says whether it has one of its transport: of a
/// UDP datagram, TCP segment or ICMP message in an IPv4 packet without options. What the fields held does not count.
pub fn send(frame: &mut [u8]) -> bool {
    let get16 = |frame: &[u8], at: usize| usize::from(frame[at]) << 8 | usize::from(frame[at + 1]);
    let starts_with = |at: usize, bytes: &[u8]| frame.get(at..at + bytes.len()) == Some(bytes);
    let header = if starts_with(12, &[0x81, 0]) { 18 } else { 14 };
    if !starts_with(header - 2, &[8, 0, 0x45]) || frame.len() < header + 20 {
        return false;
    }
    let total = get16(frame, header + 2);
    let (transport, end) = (header + 20, header + total);
    if total < 20 || end > frame.len() {
        return false;
    }
    store(frame, header + 10, &[], header..transport);
    let length = end - transport;
    let protocol = frame[header + 9];
    // The offset of the field, and the least length.
    let (field, least) = match protocol {
        1 => (2, 8),
        6 => (16, 20),
        17 => (6, 8),
        _ => return false,
    };
    let fragment = get16(frame, header + 6) & 0x3FFF != 0;
    if fragment || length < least || protocol == 17 && get16(frame, transport + 4) != length {
        return false;
    }
    let mut pseudo = vec![];
    if protocol != 1 {
        pseudo.extend_from_slice(&frame[header + 12..transport]);
        pseudo.extend_from_slice(&[0, protocol, (length >> 8) as u8, length as u8]);
    }
    store(frame, transport + field, &pseudo, transport..end);
    if protocol == 17 && frame[transport + field..transport + field + 2] == [0, 0] {
        frame[transport + field..transport + field + 2].fill(0xff);
    }
    true
}

/// Inserts the checksum that a `virtio_net_hdr` describes: of the bytes from `start` on, with what the field at `start + offset`
/// holds. A checksum of 0 is written as 0xFFFF.
pub fn insert(frame: &mut [u8], start: usize, offset: usize) {
    let sum = match !ones_complement_sum(&frame[start..]) {
        0 => 0xFFFF,
        sum => sum,
    };
    frame[start + offset..start + offset + 2].copy_from_slice(&sum.to_be_bytes());
}

/// Writes the checksum of `pseudo` and the bytes in `range` at `offset`, which lies in the range.
fn store(frame: &mut [u8], offset: usize, pseudo: &[u8], range: std::ops::Range<usize>) {
    frame[offset..offset + 2].fill(0);
    let covered = [pseudo, &frame[range]].concat();
    let sum = !ones_complement_sum(&covered);
    frame[offset..offset + 2].copy_from_slice(&sum.to_be_bytes());
}

#[cfg(test)]
mod tests {
    use super::{fix, insert, send};
    use crate::frames::{echo_request, udp, udp_without_checksum, Ends};

    /// A UDP frame whose field holds the sum of the pseudo header becomes the frame of an independent packet builder.
    #[test]
    fn an_inserted_checksum_is_the_packet_builders() {
        for payload in [&b""[..], b"a", b"some bytes", &[0xff; 301]] {
            let whole = udp(&Ends::default(), 7, 9, payload);
            let length = (whole.len() - 34) as u16;
            let pseudo = [&whole[26..34], &[0, 17], &length.to_be_bytes()].concat();
            let mut frame = whole.clone();
            frame[40..42].copy_from_slice(&super::ones_complement_sum(&pseudo).to_be_bytes());
            insert(&mut frame, 34, 6);
            assert_eq!(frame, whole);
        }
        let mut ones = [0, 0, 0xFF, 0xFE, 0, 1];
        insert(&mut ones, 0, 0);
        assert_eq!(ones, [0xFF, 0xFF, 0xFF, 0xFE, 0, 1]);
    }

    /// The frames of an independent packet builder come back, whatever their fields held.
    #[test]
    fn a_sent_frame_has_the_checksums_of_the_packet_builder() {
        for payload in [&b""[..], b"a", b"some bytes", &[0xff; 301]] {
            for vlan in [None, Some(5)] {
                let ends = Ends { vlan, ..Ends::default() };
                let start = if vlan.is_some() { 18 } else { 14 };
                for (whole, field) in [(udp(&ends, 7, 9, payload), 26), (echo_request(&ends, 1, 2, payload), 22)] {
                    let mut frame = whole.clone();
                    frame[start + 10..start + 12].fill(0x5A);
                    frame[start + field..start + field + 2].fill(0xA5);
                    // Padding does not count.
                    frame.extend([0xEE; 9]);
                    assert!(send(&mut frame));
                    assert_eq!(frame[..whole.len()], whole);
                }
            }
        }
        // What has no checksums, or only that of the header, beside it.
        let whole = udp(&Ends::default(), 7, 9, b"some bytes");
        let spoiled = |at: usize, value: u8| {
            let mut frame = whole.clone();
            frame[24..26].fill(0x5A);
            frame[at] = value;
            let before = frame.clone();
            (send(&mut frame), frame == before, frame[34..] == before[34..])
        };
        for (at, value) in [(12, 9), (14, 0x46), (14, 0x65), (16, 1), (17, 19), (17, 39)] {
            assert_eq!(spoiled(at, value), (false, true, true), "byte {at} = {value}");
        }
        for (at, value) in [(20, 0x20), (21, 1), (23, 2), (23, 6), (17, 37), (39, 17), (39, 19)] {
            assert_eq!(spoiled(at, value), (false, false, true), "byte {at} = {value}");
        }
    }

    #[test]
    fn fixing_restores_what_was_broken() {
        for payload in [&b""[..], b"a", b"some bytes", &[0xff; 301]] {
            let ends = Ends::default();
            for (whole, checksum) in [(udp(&ends, 7, 9, payload), 40), (echo_request(&ends, 1, 2, payload), 36)] {
                for at in [24, checksum] {
                    let mut broken = whole.clone();
                    broken[at] ^= 0x55;
                    // 0 would mean that there is none.
                    broken[at + 1] |= 1;
                    fix(&mut broken);
                    assert_eq!(broken, whole);
                }
                assert!(!fix(&mut whole.clone()));
            }
            assert!(!fix(&mut udp_without_checksum(&ends, 7, 9, payload)));
        }
        assert!(!fix(&mut [0; 30]));
    }
}
