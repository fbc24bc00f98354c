//! The handler processor and its units.

pub mod hpu;
pub mod isa;
pub mod units;
pub mod units_state;
