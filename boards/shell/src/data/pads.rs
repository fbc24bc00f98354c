//! Pins of the board at the ports of a top, through the constraints that rust-hdl's signals carry.

use super::{Board, Clock};
use crate::write::xdc::period;
use rust_hdl_core::prelude::{Constraint, Direction, PeriodicTiming, PinConstraint, Signal, SignalType, Synth, Timing};

impl Board {
    /// Gives each bit of a port its location, its I/O standard, and its clock; an error names a bit without a pin.
    pub fn constrain<D: Direction, T: Synth>(&self, port: &str, signal: &mut Signal<D, T>) -> Result<(), String> {
        for index in 0..T::BITS {
            let bit = if T::BITS == 1 { port.to_owned() } else { format!("{port}[{index}]") };
            let pin = self.used_pins().find(|p| p.port == bit);
            let pin = pin.ok_or_else(|| format!("board `{}` has no pin for `{bit}`", self.name))?;
            signal.add_location(index, &pin.loc);
            if let Some(standard) = &pin.iostandard {
                signal.add_signal_type(index, SignalType::Custom(standard.clone()));
            }
            if let Some(clock) = self.used_clocks().find(|c| c.port == bit) {
                signal.add_constraint(PinConstraint { index, constraint: periodic(clock) });
            }
        }
        Ok(())
    }
}

fn periodic(clock: &Clock) -> Constraint {
    Constraint::Timing(Timing::Periodic(PeriodicTiming {
        net: clock.name.clone(),
        period_nanoseconds: period(clock.mhz),
        duty_cycle: 50.0,
    }))
}
