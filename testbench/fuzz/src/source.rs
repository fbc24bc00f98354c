//! The choices of a case.

use crate::mutation;
use arbtest::arbitrary::Unstructured;

/// Numbers at whose neighbours fields and loops end.
const BORDERS: [u64; 25] = [
    0,
    1,
    2,
    3,
    4,
    7,
    8,
    12,
    15,
    16,
    20,
    24,
    31,
    32,
    63,
    64,
    127,
    128,
    255,
    256,
    1 << 12,
    1 << 16,
    1 << 20,
    1 << 31,
    1 << 32,
];

/// The choices of a case. When they are used up every further choice is the first one, so that each case ends.
pub struct Source<'a, 'b> {
    choices: &'a mut Unstructured<'b>,
}

impl<'a, 'b> Source<'a, 'b> {
    pub(crate) fn new(choices: &'a mut Unstructured<'b>) -> Self {
        Source { choices }
    }

    /// Whether all choices are used up: a loop over random steps ends here.
    pub fn is_empty(&self) -> bool {
        self.choices.is_empty()
    }

    /// A number below `limit`; 0 for a limit of 0.
    pub fn below(&mut self, limit: usize) -> usize {
        self.choices.int_in_range(0..=limit.saturating_sub(1)).unwrap_or(0)
    }

    /// True in one of `of` cases, false when the choices are used up.
    pub fn chance(&mut self, of: usize) -> bool {
        !self.is_empty() && self.below(of) == 0
    }

    /// One of these.
    ///
    /// # Panics
    /// There is none.
    pub fn pick<'c, T>(&mut self, of: &'c [T]) -> &'c T {
        &of[self.below(of.len())]
    }

    /// Any byte.
    pub fn byte(&mut self) -> u8 {
        self.choices.arbitrary().unwrap_or(0)
    }

    /// A number of 64 bits: small, near a border of what fields have, or any.
    pub fn number(&mut self) -> u64 {
        let border = BORDERS[self.below(BORDERS.len())];
        match self.below(8) {
            0 | 1 => self.below(64) as u64,
            2 => border,
            3 => border.wrapping_add(1),
            4 => border.wrapping_sub(1),
            5 => border.wrapping_neg(),
            6 => 1u64.checked_shl(self.below(64) as u32).unwrap_or(0),
            _ => self.choices.arbitrary().unwrap_or(0),
        }
    }

    /// The low 32 bits of [`Source::number`].
    pub fn word(&mut self) -> u32 {
        self.number() as u32
    }

    /// Up to `most` bytes.
    pub fn bytes(&mut self, most: usize) -> Vec<u8> {
        let length = self.below(most + 1);
        (0..length).map(|_| self.byte()).collect()
    }

    /// Up to eight of these words, with white space or nothing between them, and now and then other characters.
    pub fn text(&mut self, words: &[&str]) -> String {
        let count = 1 + self.below(8);
        self.words(words, count)
    }

    /// So many of these words, likewise.
    pub fn words(&mut self, words: &[&str], count: usize) -> String {
        let mut text = String::new();
        for _ in 0..count {
            match self.below(16) {
                0 => text.push(*self.pick(&['\t', '\n', '\0', 'é', '∞', '"', '\\', '%', '-', '_', '\u{202e}'])),
                1 => text.push(char::from(self.byte() & 0x7F)),
                2 => text += &self.number().to_string(),
                _ if !words.is_empty() => text.push_str(self.pick::<&str>(words)),
                _ => {}
            }
            text += ["", "", " "][self.below(3)];
        }
        text
    }

    /// An example with up to four mutations: bits, bytes and numbers changed, parts cut, doubled, moved, filled.
    pub fn mutated(&mut self, example: &[u8]) -> Vec<u8> {
        let mut bytes = example.to_vec();
        for _ in 0..self.below(5) {
            mutation::apply(&mut bytes, self);
        }
        bytes
    }

    /// A text likewise, where words may be inserted and replace others. What is no UTF-8 any more is replaced.
    pub fn mutated_text(&mut self, example: &str, words: &[&str]) -> String {
        let mut text = example.to_owned();
        for _ in 0..self.below(5) {
            if words.is_empty() || self.chance(2) {
                let mut bytes = text.into_bytes();
                mutation::apply(&mut bytes, self);
                text = String::from_utf8_lossy(&bytes).into_owned();
            } else {
                let word = *self.pick(words);
                mutation::put_word(&mut text, word, self);
            }
        }
        text
    }
}
