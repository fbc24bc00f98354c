//! What both formats of captures have in common: a file that a writer of the test's own makes, and what a damaged one may
//! become.

use spindle_fuzz::Source;
use spindle_sim::capture::{parse, write_to, Annotated, Capture, Captured, Format, Truncated};
use std::time::Duration;

/// Time stamps that both formats can hold in nanoseconds.
const LATEST: Duration = Duration::from_secs(u32::MAX as u64);

/// A file, and what a reader makes of it.
#[derive(Default)]
pub struct File {
    pub bytes: Vec<u8>,
    /// Packets that are there as a whole.
    pub packets: Vec<Captured>,
    /// Packets that were captured in part.
    pub truncated: usize,
    /// Interfaces that packets are of.
    pub interfaces: usize,
    /// Lengths at which the file may end, and the packets up to there, those captured in part included.
    pub ends: Vec<(usize, usize)>,
}

/// Numbers in the byte order of a file or a section.
#[derive(Clone, Copy)]
pub struct Order {
    pub big_endian: bool,
}

impl Order {
    pub fn half(self, value: u16) -> [u8; 2] {
        if self.big_endian {
            value.to_be_bytes()
        } else {
            value.to_le_bytes()
        }
    }

    pub fn word(self, value: u32) -> [u8; 4] {
        if self.big_endian {
            value.to_be_bytes()
        } else {
            value.to_le_bytes()
        }
    }
}

impl File {
    /// The next place at which the file may end.
    pub fn may_end(&mut self) {
        self.ends.push((self.bytes.len(), self.packets.len() + self.truncated));
    }

    /// A good file is read as it was written, as a whole and up to any byte.
    pub fn check(&self, format: Format, source: &mut Source) {
        let whole = parse(&self.bytes, Truncated::Skip).unwrap_or_else(|error| panic!("{error:#}"));
        let File { packets, truncated, interfaces, .. } = self;
        let wanted = Capture { packets: packets.clone(), format, truncated: *truncated, interfaces: *interfaces };
        assert_eq!(whole, wanted);
        match parse(&self.bytes, Truncated::Refuse) {
            Ok(capture) => assert_eq!((capture, self.truncated), (wanted, 0)),
            Err(error) => {
                assert!(self.truncated > 0 && format!("{error:#}").contains("--truncated skip"), "{error:#}");
            }
        }
        let cut = source.below(self.bytes.len() + 1);
        let last = self.ends.iter().rfind(|end| end.0 <= cut);
        match (parse(&self.bytes[..cut], Truncated::Skip), last) {
            (Ok(capture), Some(end)) => {
                let packets = capture.packets.len() + capture.truncated;
                assert_eq!((cut, packets), *end, "a file that ends inside of a packet is whole");
            }
            (Ok(_), None) => panic!("a file of {cut} bytes is whole"),
            (Err(error), last) => {
                assert!(last.is_none_or(|end| end.0 < cut), "{error:#}");
                let words = format!("{error:#}");
                let before = last.map_or(0, |end| end.1);
                let counted =
                    words.contains(&format!("{before} packets")) || words.contains(&format!("{before} whole"));
                assert!(counted || last.is_none(), "{before} packets come before the cut: {words}");
            }
        }
    }
}

/// Whatever bytes are read as packets is bounded by them, and is the same when it is written and read again.
pub fn check_damaged(bytes: &[u8]) -> bool {
    let capture = match parse(bytes, Truncated::Skip) {
        Ok(capture) => capture,
        Err(error) => {
            assert!(parse(bytes, Truncated::Refuse).is_err() && !error.to_string().is_empty());
            return false;
        }
    };
    let sum: usize = capture.packets.iter().map(|packet| packet.bytes.len()).sum();
    assert!(sum <= bytes.len(), "{sum} bytes of packets in a file of {}", bytes.len());
    assert!(capture.packets.iter().all(|packet| (1..=65_535).contains(&packet.bytes.len())));
    match parse(bytes, Truncated::Refuse) {
        Ok(refused) => assert_eq!((&refused, capture.truncated), (&capture, 0)),
        Err(_) => assert!(capture.truncated > 0),
    }
    for format in [Format::Pcap, Format::PcapNg] {
        let mut file = Vec::new();
        let packets = capture.packets.iter().map(|packet| Annotated {
            time: packet.time,
            bytes: &packet.bytes,
            comment: Some("é".repeat(packet.bytes.len()).into()),
        });
        match write_to(&mut file, format, None, packets) {
            Ok(()) => {
                let again = parse(&file, Truncated::Refuse).unwrap_or_else(|error| panic!("{error:#}"));
                assert_eq!(again.packets, capture.packets);
            }
            // Classic pcap has 32 bits for seconds, pcapng 64 for nanoseconds.
            Err(error) => {
                assert!(capture.packets.iter().any(|packet| packet.time > LATEST), "{error:#}");
            }
        }
    }
    true
}
