//! The payload scheduler: rules of sPIN, exact cycle counts, random traffic against a judge.

pub mod bench;
pub mod latency;
pub mod random;
pub mod spin;
pub mod tasks;
pub mod traffic;
