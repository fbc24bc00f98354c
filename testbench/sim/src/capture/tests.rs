//! Tests of captures: both formats there and back, cut and damaged files.

use super::*;
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;

fn sample() -> Vec<Captured> {
    (1..5u8)
        .map(|n| Captured {
            time: Duration::from_nanos(1_000_000_007 * u64::from(n)),
            bytes: vec![n; 60 + usize::from(n)],
        })
        .collect()
}

fn file(format: Format) -> Vec<u8> {
    let sample = sample();
    let packets = sample.iter().map(|packet| Annotated {
        time: packet.time,
        bytes: &packet.bytes,
        comment: Some(format!("number {}", packet.bytes[0]).into()),
    });
    let mut file = Vec::new();
    write_to(&mut file, format, Some("a comment"), packets).unwrap();
    file
}

fn refused(file: &[u8], words: &[&str]) {
    let error = format!("{:#}", parse(file, Truncated::Refuse).unwrap_err());
    for word in words {
        assert!(error.contains(word), "`{word}` is missing: {error}");
    }
}

#[test]
fn what_is_written_is_read() {
    let folder = tempfile::tempdir().unwrap();
    for (name, format) in [("a.pcap", Format::Pcap), ("a.PcapNG", Format::PcapNg)] {
        let path = folder.path().join(name);
        write(&path, &sample()).unwrap();
        let capture = read_with(&path, Truncated::Refuse).unwrap();
        assert_eq!(capture, Capture { packets: sample(), format, truncated: 0, interfaces: 1 });
    }
}

#[test]
fn a_cut_file_names_the_packet() {
    let classic = file(Format::Pcap);
    refused(&classic[..classic.len() - 10], &["packet 4", "3 whole packets"]);
    let pcapng = file(Format::PcapNg);
    // Blocks: section, interface, four packets.
    refused(&pcapng[..pcapng.len() - 10], &["block 6", "ends inside", "3 packets come before"]);
}

#[test]
fn absurd_lengths_and_foreign_files_are_refused() {
    let mut bytes = file(Format::Pcap);
    bytes[24 + 8..24 + 12].copy_from_slice(&0x7fff_ffffu32.to_le_bytes());
    refused(&bytes, &["packet 1"]);
    refused(b"GIF89a, surely not a capture file", &["not a pcap"]);
    refused(b"\x1f\x8b\x08\x00", &["gunzip"]);
    refused(b"\x34\xcd\xb2\xa1 and the rest of a header", &["modified pcap", "editcap"]);
}

/// A block of pcapng, little-endian.
fn block(kind: u32, body: &[u8]) -> Vec<u8> {
    let length = (12 + body.len().next_multiple_of(4)) as u32;
    let mut block = [kind.to_le_bytes(), length.to_le_bytes()].concat();
    block.extend_from_slice(body);
    block.resize(block.len().next_multiple_of(4), 0);
    block.extend(length.to_le_bytes());
    block
}

fn section() -> Vec<u8> {
    block(0x0A0D_0D0A, &[&0x1A2B_3C4Du32.to_le_bytes()[..], &[1, 0, 0, 0], &[0xff; 8]].concat())
}

/// An interface: link type, snap length, options in the order code, length, value, without an end mark.
fn interface(link_type: u16, snap_length: u32, options: &[u8]) -> Vec<u8> {
    block(1, &[&link_type.to_le_bytes()[..], &[0, 0], &snap_length.to_le_bytes(), options].concat())
}

fn packet(interface: u32, units: u64, original: u32, bytes: &[u8]) -> Vec<u8> {
    let words = [interface, (units >> 32) as u32, units as u32, bytes.len() as u32, original];
    let head: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
    block(6, &[&head[..], bytes].concat())
}

/// Interfaces of several resolutions, an offset, an FCS, a packet without a time stamp.
#[test]
fn time_stamps_follow_their_interface() {
    let resolution = |code: u8| vec![9, 0, 1, 0, code, 0, 0, 0];
    let offset = [&[14, 0, 8, 0][..], &(-5i64).to_le_bytes()].concat();
    let fcs = [&resolution(9)[..], &[13, 0, 1, 0, 4, 0, 0, 0]].concat();
    let file = [
        section(),
        interface(1, 0, &[]),
        interface(1, 0, &resolution(9)),
        interface(1, 0, &[resolution(0x80 | 20), offset].concat()),
        interface(1, 0, &fcs),
        packet(0, 7_000_001, 60, &[1; 60]),
        packet(1, 7_000_000_001, 60, &[2; 60]),
        packet(2, 12 << 20 | 1 << 19, 60, &[3; 60]),
        packet(3, 1, 64, &[4; 64]),
        block(3, &[&61u32.to_le_bytes()[..], &[5; 61]].concat()),
    ]
    .concat();
    let capture = parse(&file, Truncated::Refuse).unwrap();
    let times: Vec<u128> = capture.packets.iter().map(|packet| packet.time.as_nanos()).collect();
    assert_eq!(times, [7_000_001_000, 7_000_000_001, 7_500_000_000, 1, 1]);
    let lengths: Vec<usize> = capture.packets.iter().map(|packet| packet.bytes.len()).collect();
    assert_eq!((lengths, capture.interfaces), (vec![60, 60, 60, 60, 61], 4));
}

#[test]
fn other_links_and_missing_interfaces_are_named() {
    let name = [2, 0, 2, 0, b'l', b'o', 0, 0];
    let start = [section(), interface(1, 0, &[]), interface(113, 0, &name)].concat();
    refused(
        &[&start[..], &packet(0, 0, 60, &[0; 60]), &packet(1, 0, 60, &[0; 60])].concat(),
        &["packet 2", "`lo`", "not Ethernet"],
    );
    refused(&[&start[..], &packet(7, 0, 60, &[0; 60])].concat(), &["packet 1", "interface 7", "does not describe"]);
    // An interface without packets does no harm.
    assert_eq!(parse(&[&start[..], &packet(0, 0, 60, &[0; 60])].concat(), Truncated::Refuse).unwrap().packets.len(), 1);
    let mut damaged = [&start[..], &packet(0, 0, 60, &[0; 60])].concat();
    let end = damaged.len();
    damaged[end - 4] ^= 8;
    refused(&damaged, &["block 4", "at its start and"]);
}

/// The header of the file states the snap length, or not: either way, packets that were cut are named, or left out.
#[test]
fn packets_captured_in_part() {
    let mut classic = file(Format::Pcap);
    classic[24 + 12..24 + 16].copy_from_slice(&1500u32.to_le_bytes());
    refused(&classic, &["packet 1 was captured in part (61 of 1500 bytes", "snap length of 65535", "--truncated skip"]);
    classic[16..20].copy_from_slice(&61u32.to_le_bytes());
    refused(&classic, &["61 of 1500 bytes", "snap length of 61"]);
    let capture = parse(&classic, Truncated::Skip).unwrap();
    assert_eq!((capture.truncated, &capture.packets[..]), (1, &sample()[1..]));

    let pcapng = [section(), interface(1, 64, &[]), packet(0, 0, 60, &[1; 60]), packet(0, 0, 90, &[1; 64])].concat();
    refused(&pcapng, &["packet 2 was captured in part (64 of 90 bytes", "snap length of 64"]);
    let capture = parse(&pcapng, Truncated::Skip).unwrap();
    assert_eq!((capture.truncated, capture.packets.len()), (1, 1));
}

/// Every byte of a file wrong in several ways, every length, and random damage: a sentence or packets, never a panic.
#[test]
fn damaged_files_do_not_panic() {
    let mut random = ChaCha8Rng::seed_from_u64(1);
    let options = [2, 0, 2, 0, b'l', b'o', 0, 0, 9, 0, 1, 0, 9, 0, 0, 0, 14, 0, 8, 0, 1, 2, 3, 4, 5, 6, 7, 8];
    let own = [
        section(),
        interface(1, 64, &options),
        packet(0, 1 << 40, 60, &[1; 60]),
        block(3, &[&60u32.to_le_bytes()[..], &[5; 60]].concat()),
        block(2, &[0; 24]),
        section(),
    ]
    .concat();
    for good in [file(Format::Pcap), file(Format::PcapNg), own] {
        let judge = |bytes: &[u8]| {
            for policy in [Truncated::Refuse, Truncated::Skip] {
                match parse(bytes, policy) {
                    Ok(capture) => {
                        assert!(capture.packets.iter().all(|packet| (1..=LONGEST).contains(&packet.bytes.len())))
                    }
                    Err(error) => assert!(!format!("{error:#}").is_empty()),
                }
            }
        };
        for at in 0..good.len() {
            for value in [0x00, 0x01, 0x7f, 0x80, 0xff] {
                let mut bytes = good.clone();
                bytes[at] = value;
                judge(&bytes);
            }
            judge(&good[..at]);
        }
        for _ in 0..2000 {
            let mut bytes = good.clone();
            for _ in 0..random.random_range(1..8) {
                let at = random.random_range(0..bytes.len());
                bytes[at] = random.random();
            }
            judge(&bytes);
        }
    }
}
