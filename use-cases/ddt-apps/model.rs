//! What unpacking must leave, by loops over the bytes of each type.

/// The message.
pub fn message(bytes: usize) -> Vec<u8> {
    (0..bytes).map(|i| (i * 13 + i / 255 + i / 65535 + 5) as u8).collect()
}

/// What lies in memory before.
pub fn before(bytes: usize) -> Vec<u8> {
    (0..bytes).map(|i| (i ^ i >> 8) as u8 | 0x80).collect()
}

/// Places in memory of the bytes of a message, in their order.
pub fn places(point: u64) -> Vec<usize> {
    let mut places = Vec::new();
    match point {
        // MILC: 40 planes, 32 rows of 6 sites of 8, 18 floats each.
        1 => (0..40 * 32).for_each(|row| places.extend((0..6 * 72).map(|i| row / 32 * 20480 + row % 32 * 8 * 72 + i))),
        // NAS MG: a face of a cube of 130 doubles.
        2 => (0..130).for_each(|row| places.extend((0..130 * 8).map(|i| row * 130 * 130 * 8 + i))),
        // NAS LU: five doubles of each of 64 x 64 points, 66 points apart.
        3 => (0..64 * 64).for_each(|n| places.extend((0..40).map(|i| (n / 64 * 66 + n % 64) * 5 * 8 * 8 + i))),
        // Particles: three numbers of position and a tag each of some of 256.
        _ => {
            for group in 0..16 {
                let chosen = |i: usize| 4 * i + i % 3;
                (0..48).for_each(|i| places.extend((0..24).map(|byte| group * 8192 + chosen(i) * 24 + byte)));
                (0..48).for_each(|i| places.extend((0..4).map(|byte| group * 8192 + 6144 + chosen(i) * 4 + byte)));
            }
        }
    }
    places
}

/// Memory after the message has been unpacked.
pub fn after(message: &[u8], places: &[usize], bytes: usize) -> Vec<u8> {
    let mut memory = before(bytes);
    message.iter().zip(places).for_each(|(byte, at)| memory[*at] = *byte);
    memory
}
