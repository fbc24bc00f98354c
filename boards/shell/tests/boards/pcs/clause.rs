//! Clause 49 word for word: blocks by the rows of figure 49-7, scrambler bit by bit, both state diagrams.

use crate::mac64::characters::{Character, ERROR};
use rand::Rng;
use rand_chacha::ChaCha8Rng;

pub type Word = [Character; 8];

/// A block: header and payload, the first bit on the wire in bit 0.
pub type Block = (u8, u64);

pub const DATA: u8 = 0b10;
pub const CONTROL: u8 = 0b01;
pub const ERRORS: Word = [(0xFE, true); 8];

/// Control characters with codes, table 49-1.
const CODES: [(u8, u8); 8] =
    [(0x07, 0x00), (0xFE, 0x1E), (0x1C, 0x2D), (0x3C, 0x33), (0x7C, 0x4B), (0xBC, 0x55), (0xDC, 0x66), (0xF7, 0x78)];

/// A row of figure 49-7: the type field, and what the lanes have. `D` data, `C` a character with a code, `O` an ordered set,
/// `S` a start, `T` an end.
const ROWS: [(u8, &str); 15] = [
    (0x1E, "CCCCCCCC"),
    (0x2D, "CCCCODDD"),
    (0x33, "CCCCSDDD"),
    (0x66, "ODDDSDDD"),
    (0x55, "ODDDODDD"),
    (0x78, "SDDDDDDD"),
    (0x4B, "ODDDCCCC"),
    (0x87, "TCCCCCCC"),
    (0x99, "DTCCCCCC"),
    (0xAA, "DDTCCCCC"),
    (0xB4, "DDDTCCCC"),
    (0xCC, "DDDDTCCC"),
    (0xD2, "DDDDDTCC"),
    (0xE1, "DDDDDDTC"),
    (0xFF, "DDDDDDDT"),
];

#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Kind {
    Control,
    Start,
    Data,
    Terminate,
    Error,
}

fn kind_of(kind: u8) -> Kind {
    match kind {
        0x1E | 0x2D | 0x55 | 0x4B => Kind::Control,
        0x33 | 0x66 | 0x78 => Kind::Start,
        _ => Kind::Terminate,
    }
}

fn fits(class: char, (byte, control): Character) -> bool {
    match class {
        'D' => !control,
        'C' => control && CODES.iter().any(|c| c.0 == byte),
        'O' => control && (byte == 0x9C || byte == 0x5C),
        'S' => control && byte == 0xFB,
        _ => control && byte == 0xFD,
    }
}

/// Where a lane's field is in a block of this row: its first bit and its width. Data bytes and ordered sets come in order
/// after the type field, codes at the places that they have in a block of eight.
fn field(row: &str, lane: usize) -> Option<(usize, usize)> {
    let class = row.as_bytes()[lane] as char;
    let byte_shift = usize::from(row.contains('T'));
    match class {
        'D' => Some((8 * (lane + byte_shift), 8)),
        'C' => Some((8 + 7 * lane, 7)),
        'O' => Some((if lane == 0 { 32 } else { 36 }, 4)),
        _ => None,
    }
}

/// The block of a word, and what it is; none if there is no row.
pub fn encode(word: &Word) -> Option<(Block, Kind)> {
    if word.iter().all(|c| !c.1) {
        let payload = u64::from_le_bytes(word.map(|c| c.0));
        return Some(((DATA, payload), Kind::Data));
    }
    let (kind, row) =
        ROWS.into_iter().find(|(_, row)| row.chars().zip(word).all(|(class, character)| fits(class, *character)))?;
    // Eight control characters are other than an error; beside an ordered set, a start or an end any of them is valid.
    if kind == 0x1E && word.contains(&ERROR) {
        return None;
    }
    let mut payload = u64::from(kind);
    for (lane, (class, (byte, _))) in row.chars().zip(word).enumerate() {
        if let Some((at, _)) = field(row, lane) {
            let value = match class {
                'C' => CODES.iter().find(|c| c.0 == *byte).unwrap().1,
                'O' => {
                    if *byte == 0x9C {
                        0
                    } else {
                        0xF
                    }
                }
                _ => *byte,
            };
            payload |= u64::from(value) << at;
        }
    }
    Some(((CONTROL, payload), kind_of(kind)))
}

/// The word of a block, and what it is; bits between the fields are not looked at.
pub fn decode((header, payload): Block) -> (Word, Kind) {
    if header == DATA {
        return (payload.to_le_bytes().map(|byte| (byte, false)), Kind::Data);
    }
    let row = ROWS.into_iter().find(|row| row.0 == payload as u8);
    let (Some((kind, row)), CONTROL) = (row, header) else { return (ERRORS, Kind::Error) };
    let mut word = ERRORS;
    for (lane, class) in row.chars().enumerate() {
        let value = field(row, lane).map_or(0, |(at, width)| (payload >> at & ((1 << width) - 1)) as u8);
        word[lane] = match class {
            'D' => (value, false),
            'S' => (0xFB, true),
            'T' => (0xFD, true),
            'O' => match value {
                0 => (0x9C, true),
                0xF => (0x5C, true),
                _ => return (ERRORS, Kind::Error),
            },
            _ => match CODES.iter().find(|c| c.1 == value) {
                Some((byte, _)) => (*byte, true),
                None => return (ERRORS, Kind::Error),
            },
        };
    }
    if kind == 0x1E && word.contains(&ERROR) {
        return (ERRORS, Kind::Error);
    }
    (word, kind_of(kind))
}

/// Eight error characters.
pub fn error_block() -> Block {
    (CONTROL, (0..8).fold(0x1E, |block, lane| block | 0x1E << (8 + 7 * lane)))
}

/// Figure 49-16.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum TxState {
    Init,
    C,
    D,
    T,
    E,
}

impl TxState {
    /// The state after a word of this kind.
    pub fn next(self, kind: Kind) -> Self {
        match (self, kind) {
            (Self::Init | Self::C | Self::T, Kind::Control) => Self::C,
            (Self::Init | Self::C | Self::T, Kind::Start) => Self::D,
            (Self::D | Self::E, Kind::Data) => Self::D,
            (Self::D | Self::E, Kind::Terminate) => Self::T,
            (Self::E, Kind::Control) => Self::C,
            _ => Self::E,
        }
    }
}

/// Figure 49-17: the state after a block of one kind before one of another.
pub fn rx_next(state: TxState, kind: Kind, following: Kind) -> TxState {
    let ends = kind == Kind::Terminate && matches!(following, Kind::Start | Kind::Control);
    match (state, kind) {
        (TxState::Init | TxState::C | TxState::T, Kind::Control) => TxState::C,
        (TxState::Init | TxState::C | TxState::T, Kind::Start) => TxState::D,
        (TxState::D | TxState::E, Kind::Data) => TxState::D,
        (TxState::D | TxState::E, Kind::Terminate) if ends => TxState::T,
        (TxState::E, Kind::Control) => TxState::C,
        _ => TxState::E,
    }
}

/// The scrambler 1 + x^39 + x^58, a bit at a time.
#[derive(Default)]
pub struct Scrambler {
    state: u64,
}

impl Scrambler {
    fn step(&mut self, bit: u64, scrambles: bool) -> u64 {
        let out = bit ^ (self.state >> 38 & 1) ^ (self.state >> 57 & 1);
        self.state = self.state << 1 | if scrambles { out } else { bit };
        out
    }

    pub fn scramble(&mut self, payload: u64) -> u64 {
        (0..64).fold(0, |word, i| word | self.step(payload >> i & 1, true) << i)
    }

    pub fn descramble(&mut self, payload: u64) -> u64 {
        (0..64).fold(0, |word, i| word | self.step(payload >> i & 1, false) << i)
    }
}

/// A random word: a row of the figure, data, or nearly one of them.
pub fn random_word(rng: &mut ChaCha8Rng) -> Word {
    let row = match rng.random_range(0..24) {
        n @ 0..15 => ROWS[n].1,
        15..18 => "CCCCCCCC",
        _ => "DDDDDDDD",
    };
    let mut word = ERRORS;
    for (lane, class) in row.chars().enumerate() {
        word[lane] = match class {
            'D' => (rng.random(), false),
            'C' => {
                let idle = rng.random_bool(0.8);
                (if idle { 7 } else { CODES[rng.random_range(1..8)].0 }, true)
            }
            'O' => (if rng.random_bool(0.8) { 0x9C } else { 0x5C }, true),
            'S' => (0xFB, true),
            _ => (0xFD, true),
        };
    }
    if rng.random_bool(0.1) {
        let some = [0xFE, 0x07, 0x9C, 0xFB, 0xFD, 0x06, 0x00, 0x5C];
        word[rng.random_range(0..8)] = (some[rng.random_range(0..8)], rng.random());
    }
    word
}
