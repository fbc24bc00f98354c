//! The PCS on the emitted Verilog, against blocks that are written and read by the tables of clause 49.

pub mod clause;
mod decode;
mod encode;
pub mod line;
mod parts;
