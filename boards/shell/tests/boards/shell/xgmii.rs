//! Bus-functional model of `ten_gig_eth_pcs_pma`: words of the XGMII, as IEEE 802.3 has them, from and to frames.
//!
//! Its own check sequence, bit by bit, so that it does not trust that of the MAC.

use super::cmac::Frame;
use super::pins::pins;
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;
use spindle_harness::Model;
use std::collections::VecDeque;

pins! { Pins "pcs0_" reset resetdone_out xgmii_txd xgmii_txc xgmii_rxd xgmii_rxc core_status }

const IDLE: u8 = 0x07;
const START: u8 = 0xFB;
const TERMINATE: u8 = 0xFD;
const SEQUENCE: u8 = 0x9C;
/// Cycles from the end of a reset to block lock.
const LOCK: u64 = 100;
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

/// A character: byte, and whether it is one of control.
type Character = (u8, bool);

/// The model. One call of [`drive`](Self::drive) and one of [`sample`](Self::sample) for each edge of `coreclk_out`.
pub struct Xgmii {
    pins: Pins,
    rng: ChaCha8Rng,
    /// Frames of the wire that have not come.
    pub incoming: VecDeque<Frame>,
    /// Frames that were sent, and are not taken.
    pub sent: Vec<Frame>,
    /// Frames that came, as their last word moved.
    pub arrived: Vec<Frame>,
    /// A cable from the transmitter to the receiver.
    pub looped: bool,
    /// A cable is in.
    pub cable: bool,
    /// Cycles since the reference clock is there and the cable is in.
    locked: u64,
    /// Characters on their way to the card, and the frame that ends with them.
    line: VecDeque<Character>,
    ends: Option<Frame>,
    /// The frame that is leaving.
    leaving: Option<(Vec<u8>, u64)>,
    gap: usize,
    /// The card reports that it hears nothing.
    pub reports_fault: bool,
}

impl Xgmii {
    pub fn new(model: &Model, seed: u64) -> Self {
        Self {
            pins: Pins::of(model),
            rng: ChaCha8Rng::seed_from_u64(seed),
            incoming: VecDeque::new(),
            sent: vec![],
            arrived: vec![],
            looped: false,
            cable: true,
            locked: 0,
            line: VecDeque::new(),
            ends: None,
            leaving: None,
            gap: GAP,
            reports_fault: false,
        }
    }

    /// There is block lock.
    pub fn is_locked(&self) -> bool {
        self.locked > LOCK
    }

    /// Inputs of the shell for the next edge.
    pub fn drive(&mut self, model: &mut Model, now: u64) {
        let running = !model.is_set(self.pins.reset);
        self.locked = if running && self.cable { self.locked + 1 } else { 0 };
        let locked = self.locked > LOCK;
        model.set(self.pins.resetdone_out, running.into());
        model.set(self.pins.core_status, locked.into());
        let mut word = [(IDLE, true); 8];
        if !locked {
            // A PCS without block lock reports a local fault.
            let column = [(SEQUENCE, true), (0, false), (0, false), (1, false)];
            word[..4].copy_from_slice(&column);
            word[4..].copy_from_slice(&column);
            self.line.clear();
            self.ends = None;
        } else {
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
            for character in &mut word {
                *character = self.line.pop_front().unwrap_or((IDLE, true));
            }
            if word.contains(&(TERMINATE, true)) {
                self.arrived.extend(self.ends.take().map(|frame| Frame { at: now, ..frame }));
            }
        }
        let control = (0..8).fold(0, |control, lane| control | u64::from(word[lane].1) << lane);
        model.set(self.pins.xgmii_rxd, u64::from_le_bytes(word.map(|(byte, _)| byte)));
        model.set(self.pins.xgmii_rxc, control);
    }

    /// What moves at the edge to come; the model has settled.
    pub fn sample(&mut self, model: &Model, now: u64) {
        if model.is_set(self.pins.reset) {
            (self.leaving, self.gap) = (None, GAP);
            return;
        }
        let (word, control) = (model.get(self.pins.xgmii_txd).to_le_bytes(), model.get(self.pins.xgmii_txc));
        self.reports_fault = word[0] == SEQUENCE && control & 1 == 1;
        for (lane, byte) in word.into_iter().enumerate() {
            match (&mut self.leaving, control >> lane & 1 == 1) {
                (None, true) if byte == START => {
                    assert!(lane == 0 || lane == 4, "a frame begins in lane {lane}");
                    assert!(self.gap >= GAP - 4, "a gap of {} characters", self.gap);
                    self.leaving = Some((vec![], now));
                }
                (None, true) => self.gap += 1,
                (None, false) => assert!(self.reports_fault, "a character {byte:#x} outside of a frame"),
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
