//! Frames, as a MAC and the core see them.

use rand::Rng;
use rand_chacha::ChaCha8Rng;

/// A frame, and whether its end says that it is bad.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Frame {
    /// Bytes without check sequence.
    pub bytes: Vec<u8>,
    /// `user` with `last`.
    pub bad: bool,
}

/// A good frame of `length` bytes: number, then noise.
pub fn frame(rng: &mut ChaCha8Rng, number: u32, length: usize) -> Frame {
    let mut bytes = vec![0; length];
    rng.fill(&mut bytes[..]);
    let number = number.to_le_bytes();
    let shown = length.min(4);
    bytes[..shown].copy_from_slice(&number[..shown]);
    Frame { bytes, bad: false }
}

/// A length that is interesting: short ones, ends of beats, long ones.
pub fn length(rng: &mut ChaCha8Rng, longest: usize) -> usize {
    let length = match rng.random_range(0..10) {
        0..4 => rng.random_range(14..=130),
        4..6 => 64 * rng.random_range(1..=8),
        6..8 => 64 * rng.random_range(1..=8) + rng.random_range(1..=63),
        8 => rng.random_range(14..=1518),
        _ => rng.random_range(14..=longest),
    };
    length.min(longest)
}

/// `frames` are some of `sent`, in their order, without one twice.
#[track_caller]
pub fn assert_some_of(frames: &[Frame], sent: &[Frame]) {
    let mut rest = sent.iter();
    for (i, frame) in frames.iter().enumerate() {
        assert!(rest.any(|other| other == frame), "frame {i} of {} bytes was not sent, or not then", frame.bytes.len());
    }
}
