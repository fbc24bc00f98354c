//! The wire of a MAC of 64 bits: words of an XGMII, as IEEE 802.3 has them, from and to frames.
//!
//! Its own check sequence, bit by bit, so that it does not trust that of the MAC.

use crate::pcs::clause::Word;
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;
use spindle_shell_bench::shell::Frame;
use std::collections::VecDeque;

const IDLE: u8 = 0x07;
const START: u8 = 0xFB;
const TERMINATE: u8 = 0xFD;
const SEQUENCE: u8 = 0x9C;
/// Least characters between two frames.
const GAP: usize = 12;

/// The check sequence of IEEE 802.3.
fn fcs(bytes: &[u8]) -> [u8; 4] {
    let mut crc = u32::MAX;
    for byte in bytes {
        crc ^= u32::from(*byte);
        for _ in 0..8 {
            crc = if crc & 1 == 1 { crc >> 1 ^ 0xEDB8_8320 } else { crc >> 1 };
        }
    }
    (!crc).to_le_bytes()
}

/// Both directions.
pub struct Wire {
    rng: ChaCha8Rng,
    /// Frames of the wire that have not come.
    pub incoming: VecDeque<Frame>,
    /// Frames that were sent, and are not taken.
    pub sent: Vec<Frame>,
    /// Frames that came, as their last word moved.
    pub arrived: Vec<Frame>,
    /// A cable from the transmitter to the receiver.
    pub looped: bool,
    /// Characters on their way to the card, and the frame that ends with them.
    line: VecDeque<(u8, bool)>,
    ends: Option<Frame>,
    /// The frame that is leaving.
    leaving: Option<(Vec<u8>, u64)>,
    gap: usize,
    /// Words since the card reported a fault.
    since_fault: u32,
}

impl Wire {
    pub fn new(seed: u64) -> Self {
        Self {
            rng: ChaCha8Rng::seed_from_u64(seed),
            incoming: VecDeque::new(),
            sent: vec![],
            arrived: vec![],
            looped: false,
            line: VecDeque::new(),
            ends: None,
            leaving: None,
            gap: GAP,
            since_fault: 0,
        }
    }

    /// What a PCS hands on that finds no blocks: a local fault. The frame on its way is lost.
    pub fn lost(&mut self) -> Word {
        self.line.clear();
        self.ends = None;
        let column = [(SEQUENCE, true), (0, false), (0, false), (1, false)];
        std::array::from_fn(|lane| column[lane % 4])
    }

    /// The next word for the card.
    pub fn word(&mut self, now: u64) -> Word {
        if self.line.is_empty() {
            if let Some(frame) = self.incoming.pop_front() {
                // Frames begin in lane 0 or 4.
                if self.rng.random() {
                    self.line.extend([(IDLE, true); 4]);
                }
                self.line.push_back((START, true));
                self.line.extend([(0x55, false); 6]);
                self.line.push_back((0xD5, false));
                let mut bytes = frame.bytes.clone();
                bytes.resize(bytes.len().max(60), 0);
                let mut check = fcs(&bytes);
                check[0] ^= u8::from(frame.bad);
                self.line.extend(bytes.iter().chain(&check).map(|byte| (*byte, false)));
                self.line.push_back((TERMINATE, true));
                self.line.extend([(IDLE, true); GAP]);
                self.ends = Some(frame);
            }
        }
        let word = [(); 8].map(|()| self.line.pop_front().unwrap_or((IDLE, true)));
        if word.contains(&(TERMINATE, true)) {
            self.arrived.extend(self.ends.take().map(|frame| Frame { at: now, ..frame }));
        }
        word
    }

    /// The other end hears nothing of what leaves.
    pub fn deaf(&mut self) {
        (self.leaving, self.gap, self.since_fault) = (None, GAP, 0);
    }

    /// The card has reported no fault for 128 columns, which is when 46.3.4 ends it.
    pub fn is_up(&self) -> bool {
        self.since_fault >= 64
    }

    /// A frame is leaving.
    pub fn is_sending(&self) -> bool {
        self.leaving.is_some()
    }

    /// No frame is under way in either direction.
    pub fn is_idle(&self) -> bool {
        self.incoming.is_empty() && self.ends.is_none() && self.leaving.is_none()
    }

    /// A word of the card.
    pub fn take(&mut self, word: Word, now: u64) {
        let reports_fault = word[0] == (SEQUENCE, true);
        self.since_fault = if reports_fault { 0 } else { self.since_fault.saturating_add(1) };
        for (lane, (byte, control)) in word.into_iter().enumerate() {
            match (&mut self.leaving, control) {
                (None, true) if byte == START => {
                    assert!(lane == 0 || lane == 4, "a frame begins in lane {lane}");
                    assert!(self.gap >= GAP - 4, "a gap of {} characters", self.gap);
                    self.leaving = Some((vec![], now));
                }
                (None, true) => self.gap += 1,
                (None, false) => assert!(reports_fault, "a character {byte:#x} outside of a frame"),
                (Some((bytes, _)), false) => bytes.push(byte),
                (Some(_), true) => {
                    let (bytes, first) = self.leaving.take().expect("there is one");
                    self.gap = 1;
                    self.end(bytes, byte != TERMINATE, first);
                }
            }
        }
    }

    fn end(&mut self, bytes: Vec<u8>, broken: bool, first: u64) {
        let start = [0x55, 0x55, 0x55, 0x55, 0x55, 0x55, 0xD5];
        assert_eq!(bytes[..7], start, "the preamble");
        let (frame, check) = bytes[7..].split_at(bytes.len() - 11);
        let bad = broken || check != fcs(frame);
        assert!(bad || frame.len() >= 60, "a frame of {} bytes", frame.len());
        let frame = Frame { bytes: frame.to_vec(), bad, at: first };
        if self.looped {
            self.incoming.push_back(frame.clone());
        }
        self.sent.push(frame);
    }
}
