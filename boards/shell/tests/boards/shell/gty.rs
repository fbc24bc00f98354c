//! Bus-functional model of a GTY with its asynchronous 64b/66b gearbox, and of the PCS at the other end of its line, by the
//! words of clause 49. Bit 63 of a word and bit 1 of a header are the first on the line (UG578).
//!
//! The receiver begins at any bit of the line, and moves by one at each slip. Without a cable it hears noise; when the cable
//! is back it stays with the noise until its data path is reset. In its reset its clock stands.

use super::wire::Wire;
use crate::pcs::clause::{decode, encode, Kind, Scrambler};
use crate::pcs::line::Line;
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;
use spindle_harness::Model;
use spindle_shell_bench::pins;

pins! { Pins "gty0_"
    gtwiz_reset_all_in gtwiz_reset_tx_datapath_in gtwiz_reset_rx_datapath_in
    gtwiz_reset_tx_done_out gtwiz_reset_rx_done_out qpll0lock_out
    gtwiz_userdata_tx_in txheader_in gtwiz_userdata_rx_out rxheader_out rxheadervalid_out rxdatavalid_out rxgearboxslip_in
}

/// Cycles of `init_clk` from the end of a reset until the transceiver is ready.
const READY: u64 = 100;
/// Control blocks in succession after which the other end listens.
const LISTENS: u32 = 8;
/// Bits that a cycle takes of the line, with a slip.
const MOST_BITS: usize = 67;

/// The model: [`reset`](Self::reset) for each edge of `init_clk`, [`drive`](Self::drive) and [`sample`](Self::sample) for each
/// of the receiver's clock, [`take`](Self::take) for each of the transmitter's.
pub struct Gty {
    pins: Pins,
    rng: ChaCha8Rng,
    /// Frames.
    pub wire: Wire,
    /// Bits on their way to the card.
    pub line: Line,
    /// A cable is in.
    pub cable: bool,
    /// The receiver is locked to noise.
    stuck: bool,
    /// Cycles since the resets of transmitter and receiver ended.
    ready: [u64; 2],
    /// Resets of the receiver's data path.
    pub resets: u32,
    in_reset: bool,
    scrambler: Scrambler,
    descrambler: Scrambler,
    /// Control blocks in succession, until the other end listens.
    heard: u32,
}

impl Gty {
    pub fn new(model: &Model, seed: u64) -> Self {
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        let mut line = Line::new();
        line.bits.extend((0..rng.random_range(0..66)).map(|at| at % 3 == 0));
        Self {
            pins: Pins::of(model),
            wire: Wire::new(seed + 1),
            rng,
            line,
            cable: true,
            stuck: false,
            ready: [0; 2],
            resets: 0,
            in_reset: false,
            scrambler: Scrambler::default(),
            descrambler: Scrambler::default(),
            heard: 0,
        }
    }

    /// The receiver's clock has edges.
    pub fn receiver_runs(&self) -> bool {
        !self.in_reset
    }

    /// The other end hears the card, and the card reports no fault.
    pub fn is_up(&self) -> bool {
        self.heard == LISTENS && self.wire.is_up()
    }

    /// Resets; the state of the transceiver.
    pub fn reset(&mut self, model: &mut Model) {
        let pins = self.pins;
        let all = model.is_set(pins.gtwiz_reset_all_in);
        assert!(!model.is_set(pins.gtwiz_reset_tx_datapath_in), "nothing resets the transmitter alone");
        let rx = all || model.is_set(pins.gtwiz_reset_rx_datapath_in);
        self.resets += u32::from(rx && !self.in_reset && !all);
        self.in_reset = rx;
        // What the receiver locks to is decided when its reset ends.
        self.stuck |= !self.cable;
        self.stuck &= !(rx && self.cable);
        for (ready, resets) in self.ready.iter_mut().zip([all, rx]) {
            *ready = if resets { 0 } else { *ready + 1 };
        }
        model.set(pins.qpll0lock_out, (!all).into());
        model.set(pins.gtwiz_reset_tx_done_out, (self.ready[0] > READY).into());
        model.set(pins.gtwiz_reset_rx_done_out, (self.ready[1] > READY).into());
    }

    /// A block that arrives, before the next edge of the receiver's clock.
    pub fn drive(&mut self, model: &mut Model, now: u64) {
        while self.line.bits.len() < MOST_BITS {
            if self.stuck || !self.cable {
                self.wire.lost();
                let (header, payload) = (self.rng.random_range(0..4), self.rng.random());
                self.line.send(header, payload, &mut self.rng);
            } else {
                let word = self.wire.word(now);
                let ((header, payload), _) = encode(&word).expect("the wire has words that are blocks");
                let payload = self.scrambler.scramble(payload);
                self.line.send(header.into(), payload, &mut self.rng);
            }
        }
        let (header, payload) = self.line.receive();
        model.set(self.pins.rxheader_out, header >> 1 | (header & 1) << 1);
        model.set(self.pins.gtwiz_userdata_rx_out, payload.reverse_bits());
        model.set(self.pins.rxheadervalid_out, 1);
        model.set(self.pins.rxdatavalid_out, 1);
    }

    /// Whether the receiver is to slip.
    pub fn sample(&mut self, model: &Model) {
        if model.is_set(self.pins.rxgearboxslip_in) {
            self.line.slip();
        }
    }

    /// A block that leaves at the edge of the transmitter's clock to come.
    pub fn take(&mut self, model: &Model, now: u64) {
        let header = model.get(self.pins.txheader_in);
        let header = (header >> 1 & 1 | (header & 1) << 1) as u8;
        let payload = self.descrambler.descramble(model.get(self.pins.gtwiz_userdata_tx_in).reverse_bits());
        let (word, kind) = decode((header, payload));
        if self.ready[0] <= READY || !self.cable {
            self.heard = 0;
        } else if self.heard < LISTENS {
            self.heard = if kind == Kind::Control { self.heard + 1 } else { 0 };
        }
        if self.heard < LISTENS {
            self.wire.deaf();
        } else {
            assert!(header == 0b01 || header == 0b10, "a block with the header {header:#b}");
            self.wire.take(word, now);
        }
    }
}
