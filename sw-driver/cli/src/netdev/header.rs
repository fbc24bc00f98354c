//! The `virtio_net_hdr` in front of each frame of the interface: who computes and who has checked its checksum.

use spindle::tap::HEADER_BYTES;

/// The checksum field holds the sum of the pseudo header, and the rest is to be added.
const NEEDS_CHECKSUM: u8 = 1;
/// The checksum was found right.
const DATA_VALID: u8 = 2;
/// Greatest offset of either kind that the card takes.
const MOST: u16 = 254;

/// What the header says.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Header {
    /// The checksum of layer 4 was found right.
    pub checked: bool,
    /// The checksum is to be inserted: first byte of the sum, and the offset of the field from there.
    pub checksum: Option<(u16, u16)>,
}

impl Header {
    /// Of a frame from the system.
    pub fn parse(bytes: &[u8; HEADER_BYTES]) -> Header {
        let half = |at: usize| u16::from_ne_bytes([bytes[at], bytes[at + 1]]);
        Header {
            checked: bytes[0] & DATA_VALID != 0,
            checksum: (bytes[0] & NEEDS_CHECKSUM != 0).then(|| (half(6), half(8))),
        }
    }

    /// For a frame to the system.
    pub fn bytes(&self) -> [u8; HEADER_BYTES] {
        let mut bytes = [0; HEADER_BYTES];
        if self.checked {
            bytes[0] = DATA_VALID;
        }
        if let Some((start, offset)) = self.checksum {
            bytes[0] |= NEEDS_CHECKSUM;
            bytes[6..8].copy_from_slice(&start.to_ne_bytes());
            bytes[8..10].copy_from_slice(&offset.to_ne_bytes());
        }
        bytes
    }
}

/// The checksum that the card inserts into a frame. One that the card cannot insert is computed here.
pub fn inserted(header: &Header, frame: &mut [u8]) -> Option<(u16, u16)> {
    let (start, offset) = header.checksum?;
    if start.is_multiple_of(2) && offset.is_multiple_of(2) && start <= MOST && offset <= MOST {
        return Some((start, offset));
    }
    let (start, offset) = (usize::from(start), usize::from(offset));
    // A header that leads out of the frame is the sender's mistake; the receiver finds the checksum wrong.
    let sum = checksum(frame.get(start..)?);
    frame.get_mut(start + offset..start + offset + 2)?.copy_from_slice(&sum.to_be_bytes());
    None
}

/// The Internet checksum; 0 is sent as its other form, as UDP wants it.
fn checksum(bytes: &[u8]) -> u16 {
    let words = bytes.chunks(2).map(|pair| u32::from(pair[0]) << 8 | u32::from(*pair.get(1).unwrap_or(&0)));
    let mut sum: u64 = words.map(u64::from).sum();
    while sum > 0xFFFF {
        sum = (sum & 0xFFFF) + (sum >> 16);
    }
    match !(sum as u16) {
        0 => 0xFFFF,
        sum => sum,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_header_is_bytes_and_back() {
        for header in [
            Header::default(),
            Header { checked: true, checksum: None },
            Header { checked: false, checksum: Some((34, 16)) },
        ] {
            assert_eq!(Header::parse(&header.bytes()), header);
        }
    }

    #[test]
    fn a_checksum_that_the_card_cannot_insert_is_computed() {
        // 20 bytes of an IPv4 header whose checksum is known to be b861.
        let ip = [0x45, 0, 0, 0x73, 0, 0, 0x40, 0, 0x40, 0x11, 0, 0, 0xC0, 0xA8, 0, 1, 0xC0, 0xA8, 0, 0xC7];
        let mut frame = [&[0; 15][..], &ip].concat();
        let header = |start, offset| Header { checked: false, checksum: Some((start, offset)) };
        assert_eq!(inserted(&header(14, 10), &mut frame), Some((14, 10)));
        assert_eq!(frame[25..27], [0, 0]);
        assert_eq!(inserted(&header(15, 10), &mut frame), None);
        assert_eq!(frame[25..27], [0xB8, 0x61]);
        // Out of the frame: nothing happens.
        let before = frame.clone();
        assert_eq!(inserted(&header(33, 301), &mut frame), None);
        assert_eq!(inserted(&header(1001, 1), &mut frame), None);
        assert_eq!(frame, before);
        assert_eq!(inserted(&Header::default(), &mut frame), None);
    }
}
