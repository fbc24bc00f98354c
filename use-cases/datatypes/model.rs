//! What unpacking a vector type must leave: block i of the message at i * stride, and what lay between the blocks.

/// The message.
pub fn message(bytes: usize) -> Vec<u8> {
    (0..bytes).map(|i| (i * 13 + i / 255 + i / 65535 + 5) as u8).collect()
}

/// What lies in the array before.
pub fn before(bytes: usize) -> Vec<u8> {
    (0..bytes).map(|i| (i ^ i >> 8) as u8 | 0x80).collect()
}

/// The array after the message has been unpacked, byte by byte.
pub fn after(message: &[u8], block: usize, stride: usize, bytes: usize) -> Vec<u8> {
    let mut array = before(bytes);
    for (i, byte) in message.iter().enumerate() {
        array[i / block * stride + i % block] = *byte;
    }
    array
}
