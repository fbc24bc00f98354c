//! Instruction words, as the simulation crate encodes them.

pub use spindle_sim::hart::assembler::*;
