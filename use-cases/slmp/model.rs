//! What a receiver of files must have in memory, and how it must answer.

/// Bytes of a segment, and of a file at most.
const SEGMENT: usize = 1408;
const LONGEST: usize = 2 << 20;

/// A file: other bytes for each number.
pub fn file(bytes: usize, number: u32) -> Vec<u8> {
    let word = |i: usize| (i as u32).wrapping_add(number << 22).wrapping_mul(2_654_435_761);
    (0..bytes).map(|i| (word(i) >> 15) as u8).collect()
}

fn packet(flags: u16, number: u32, place: u32, bytes: &[u8]) -> Vec<u8> {
    [&flags.to_be_bytes()[..], &number.to_be_bytes(), &place.to_be_bytes(), bytes].concat()
}

/// The packet that opens a file.
pub fn open(number: u32, bytes: usize) -> Vec<u8> {
    packet(0x4000, number, bytes as u32, &[])
}

/// The packets of a file, in its order.
pub fn segments(number: u32, file: &[u8]) -> Vec<Vec<u8>> {
    file.chunks(SEGMENT).enumerate().map(|(i, bytes)| packet(0, number, (i * SEGMENT) as u32, bytes)).collect()
}

/// The answer to the packet that opens a file.
pub fn opened(number: u32, bytes: usize) -> Vec<u8> {
    packet(0x6000, number, bytes as u32, &[])
}

/// The acknowledgement of a group.
pub fn acknowledgement(number: u32, group: usize) -> Vec<u8> {
    packet(0x2000, number, group as u32, &[])
}

/// The memory of the receiver: the file, what earlier ones have left, and after the longest file the number and the length.
pub fn memory(before: &[u8], number: u32, file: &[u8]) -> Vec<u8> {
    let mut memory = before.to_vec();
    memory[..file.len()].copy_from_slice(file);
    memory[LONGEST..LONGEST + 4].copy_from_slice(&number.to_le_bytes());
    memory[LONGEST + 4..LONGEST + 8].copy_from_slice(&(file.len() as u32).to_le_bytes());
    memory
}

/// Payloads that a receiver with this file open must ignore.
pub fn malformed(number: u32, bytes: usize) -> Vec<Vec<u8>> {
    let segment = |flags, number, place: usize, length: usize| packet(flags, number, place as u32, &vec![0xEE; length]);
    let last = (bytes - 1) / SEGMENT * SEGMENT;
    vec![
        vec![0xEE],
        segment(0, number, 0, 0)[..9].to_vec(),
        segment(0, number, 0, 0),
        segment(0, number, 0, SEGMENT - 1),
        segment(0, number, 0, SEGMENT + 1),
        segment(0, number, 1, SEGMENT),
        segment(0, number, SEGMENT / 2, SEGMENT),
        segment(0, number, last, bytes - last + 1),
        segment(0, number, last + SEGMENT, SEGMENT),
        segment(0, number, LONGEST, 8),
        segment(0, number, 0xFFFF_FFFF / SEGMENT * SEGMENT, SEGMENT),
        segment(0, number + 1, 0, SEGMENT),
        segment(0, 0, 0, SEGMENT),
        segment(0x2000, number, 0, SEGMENT),
        segment(0x0001, number, 0, SEGMENT),
        segment(0x4000, number, bytes, 1),
        // Another length, no length, too long, without number.
        segment(0x4000, number, bytes - 1, 0),
        segment(0x4000, number + 1, 0, 0),
        segment(0x4000, number + 1, LONGEST + 1, 0),
        segment(0x4000, 0, bytes, 0),
    ]
}

#[cfg(test)]
mod tests {
    use super::{file, segments};

    #[test]
    fn segments_have_the_file() {
        let file = file(5000, 3);
        let segments = segments(3, &file);
        assert_eq!(segments.len(), 4);
        assert_eq!(segments.iter().flat_map(|segment| segment[10..].to_vec()).collect::<Vec<_>>(), file);
        assert_eq!(segments[1][..10], [0, 0, 0, 0, 0, 3, 0, 0, 5, 128]);
    }
}
