//! Finds yosys, for proofs, for netlists and for mapping.

pub use spindle_proof::yosys;
