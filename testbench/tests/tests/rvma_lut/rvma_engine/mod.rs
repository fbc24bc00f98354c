//! The engine as a whole.

pub mod agents;
pub mod bench;
pub mod directed;
pub mod figures;
pub mod host_side;
pub mod modes;
pub mod operations;
pub mod pending;
pub mod streams;
pub mod tagged;
pub mod traffic;
