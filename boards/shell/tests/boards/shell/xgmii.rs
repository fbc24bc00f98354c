//! Bus-functional model of `ten_gig_eth_pcs_pma`: words of the XGMII on both sides.

use super::wire::Wire;
use spindle_harness::Model;
use spindle_shell_bench::pins;

pins! { Pins "pcs0_" reset resetdone_out xgmii_txd xgmii_txc xgmii_rxd xgmii_rxc core_status }

/// Cycles from the end of a reset to block lock.
const LOCK: u64 = 100;

/// The model. One call of [`drive`](Self::drive) and one of [`sample`](Self::sample) for each edge of `coreclk_out`.
pub struct Xgmii {
    pins: Pins,
    /// Frames.
    pub wire: Wire,
    /// A cable is in.
    pub cable: bool,
    /// Cycles since the reference clock is there and the cable is in.
    locked: u64,
}

impl Xgmii {
    pub fn new(model: &Model, seed: u64) -> Self {
        Self { pins: Pins::of(model), wire: Wire::new(seed), cable: true, locked: 0 }
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
        let word = if locked { self.wire.word(now) } else { self.wire.lost() };
        let control = (0..8).fold(0, |control, lane| control | u64::from(word[lane].1) << lane);
        model.set(self.pins.xgmii_rxd, u64::from_le_bytes(word.map(|(byte, _)| byte)));
        model.set(self.pins.xgmii_rxc, control);
    }

    /// What moves at the edge to come; the model has settled.
    pub fn sample(&mut self, model: &Model, now: u64) {
        if model.is_set(self.pins.reset) {
            self.wire.deaf();
            return;
        }
        let (bytes, control) = (model.get(self.pins.xgmii_txd).to_le_bytes(), model.get(self.pins.xgmii_txc));
        self.wire.take(std::array::from_fn(|lane| (bytes[lane], control >> lane & 1 == 1)), now);
    }
}
