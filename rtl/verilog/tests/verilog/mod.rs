//! The back end's corpus: every construct of the hardware language on random vectors, rust-hdl's simulator against
//! Verilator; every refusal with its sentence; sharing of modules, determinism and lint.

pub mod arithmetic;
pub mod bundles;
pub mod clocked;
pub mod common;
pub mod control;
pub mod hierarchy;
pub mod intrinsics;
pub mod layout;
pub mod loops;
pub mod operands;
pub mod refused;
pub mod refused_blocks;
pub mod rest;
pub mod short_forms;
pub mod slices;
pub mod steps;
pub mod stock;
pub mod structs;
pub mod whole;
