//! An XGMII as a sequence of characters: frames are written and read one character at a time, by the words of clause 46.

use rand::Rng;
use rand_chacha::ChaCha8Rng;
use std::collections::VecDeque;

/// A character, and whether it is a control character.
pub type Character = (u8, bool);

pub const IDLE: Character = (0x07, true);
pub const START: Character = (0xFB, true);
pub const END: Character = (0xFD, true);
pub const ERROR: Character = (0xFE, true);

/// CRC-32 bit by bit.
pub fn bitwise_crc(bytes: &[u8]) -> u32 {
    let mut state = u32::MAX;
    for byte in bytes {
        state ^= u32::from(*byte);
        for _ in 0..8 {
            state = if state & 1 == 1 { state >> 1 ^ 0xEDB8_8320 } else { state >> 1 };
        }
    }
    !state
}

/// The frame with padding to 60 bytes and FCS.
pub fn with_fcs(frame: &[u8]) -> Vec<u8> {
    let mut bytes = frame.to_vec();
    if bytes.len() < 60 {
        bytes.resize(60, 0);
    }
    let fcs = crc32fast::hash(&bytes);
    if bytes.len() < 300 {
        assert_eq!(fcs, bitwise_crc(&bytes), "the two models of the FCS differ");
    }
    bytes.extend(fcs.to_le_bytes());
    bytes
}

/// Start, preamble, start delimiter, these bytes, end.
pub fn characters_of(bytes: &[u8]) -> Vec<Character> {
    let mut all = vec![START];
    all.extend([(0x55, false); 6]);
    all.push((0xD5, false));
    all.extend(bytes.iter().map(|byte| (*byte, false)));
    all.push(END);
    all
}

/// A column with a fault: 1 local, 2 remote.
pub fn fault(kind: u8) -> Vec<Character> {
    vec![(0x9C, true), (0, false), (0, false), (kind, false)]
}

/// Random bytes.
pub fn random_frame(rng: &mut ChaCha8Rng, length: usize) -> Vec<u8> {
    let mut frame = vec![0; length];
    rng.fill(&mut frame[..]);
    frame
}

/// Eight characters as data and control bits.
pub fn word_of(characters: &[Character]) -> (u64, u64) {
    let data = characters.iter().rev().fold(0, |word, c| word << 8 | u64::from(c.0));
    let control = characters.iter().rev().fold(0, |word, c| word << 1 | u64::from(c.1));
    (data, control)
}

/// The characters of a word.
pub fn characters_in(data: u64, control: u64) -> [Character; 8] {
    std::array::from_fn(|i| ((data >> (8 * i)) as u8, control >> i & 1 == 1))
}

/// What came on an XGMII.
#[derive(Debug, PartialEq, Clone)]
pub enum Item {
    /// Bytes from after the start delimiter to before the end, and the characters from the last end to the start.
    Frame { bytes: Vec<u8>, gap: Option<usize> },
    /// A frame with error characters, which ended with an end; how many of them.
    Broken { bytes: Vec<u8>, errors: usize },
    /// A frame that did not end: characters before something that is no part of a frame.
    Cut { bytes: Vec<u8> },
    /// A column with a fault.
    Fault(u8),
}

/// Reads an XGMII character by character; panics when a rule of the clause is broken.
#[derive(Default)]
pub struct Reader {
    pub items: VecDeque<Item>,
    position: usize,
    frame: Option<(Vec<Character>, Option<usize>)>,
    /// Position of the last end.
    end: Option<usize>,
    column: Option<Vec<u8>>,
}

impl Reader {
    pub fn read(&mut self, characters: &[Character]) {
        for character in characters {
            self.take(*character);
            self.position += 1;
        }
    }

    fn take(&mut self, (byte, control): Character) {
        let aligned = self.position.is_multiple_of(4);
        if let Some(column) = &mut self.column {
            assert!(!control, "a control character inside a fault column");
            column.push(byte);
            if column.len() == 3 {
                assert_eq!(&column[..2], &[0, 0]);
                self.items.push_back(Item::Fault(byte));
                self.column = None;
            }
            return;
        }
        if let Some((inside, gap)) = &mut self.frame {
            if !control || (byte, control) == ERROR {
                inside.push((byte, control));
                return;
            }
            // A fault may cut a frame anywhere, its preamble too.
            let cut = (byte, control) != END;
            let preamble = inside.len().min(6);
            assert!(cut || inside.len() >= 7, "the preamble is cut");
            assert!(inside[..preamble].iter().all(|c| *c == (0x55, false)), "preamble: {:?}", &inside[..preamble]);
            assert!(inside.get(6).is_none_or(|c| *c == (0xD5, false)), "start delimiter");
            let errors = inside.iter().filter(|c| c.1).count();
            let bytes = inside.iter().skip(7).filter(|c| !c.1).map(|c| c.0).collect();
            let gap = *gap;
            self.items.push_back(if cut {
                Item::Cut { bytes }
            } else if errors > 0 {
                Item::Broken { bytes, errors }
            } else {
                Item::Frame { bytes, gap }
            });
            self.frame = None;
            if (byte, control) == END {
                self.end = Some(self.position);
                return;
            }
        }
        match (byte, control) {
            START => {
                assert!(aligned, "a start in lane {}", self.position % 8);
                self.frame = Some((vec![], self.end.map(|end| self.position - end)));
            }
            IDLE => {}
            (0x9C, true) => {
                assert!(aligned, "a fault column in lane {}", self.position % 8);
                self.column = Some(vec![]);
            }
            other => panic!("{other:02x?} between frames"),
        }
    }
}
