//! The header in front of each frame of the network interface: the checksum of a frame becomes right, by the card or by the
//! program, and nothing else of the frame changes.

use spindle::tap::HEADER_BYTES;
use spindle_cli::netdev::header::{inserted, Header};

/// The sum of 16-bit words with the carry added again.
fn sum(bytes: &[u8]) -> u32 {
    let words = bytes.chunks(2).map(|pair| u32::from(pair[0]) << 8 | u32::from(*pair.get(1).unwrap_or(&0)));
    words.fold(0, |sum, word| (sum + word) % 0xFFFF)
}

#[test]
fn fuzz_interface_header() {
    spindle_fuzz::run("interface_header", 5000, |source| {
        let bytes: [u8; HEADER_BYTES] =
            std::array::from_fn(|at| if at == 0 { source.byte() & 7 } else { source.byte() });
        let mut header = Header::parse(&bytes);
        if source.chance(2) {
            // Offsets that lie in the frame.
            header.checksum = header.checksum.map(|(start, offset)| (start % 40, offset % 40));
        }
        assert_eq!(Header::parse(&header.bytes()), header);
        let before = source.bytes(120);
        let mut frame = before.clone();
        let left = inserted(&header, &mut frame);
        let Some((start, offset)) = header.checksum else {
            assert_eq!((left, frame), (None, before));
            return false;
        };
        let at = usize::from(start) + usize::from(offset);
        if left.is_some() {
            // The card inserts it.
            assert!(start % 2 == 0 && offset % 2 == 0 && start < 256 && offset < 256);
            assert_eq!((left, frame), (header.checksum, before));
        } else if at + 2 > before.len() {
            assert_eq!(frame, before, "a field outside of the frame is left alone");
        } else {
            let field = u16::from_be_bytes([frame[at], frame[at + 1]]);
            assert_ne!(field, 0, "zero is no checksum");
            assert_eq!((u32::from(field) + sum(&before[start.into()..])) % 0xFFFF, 0, "{header:?}");
            assert_eq!((&frame[..at], &frame[at + 2..]), (&before[..at], &before[at + 2..]));
        }
        true
    });
}
