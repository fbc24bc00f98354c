//! The back end's corpus: every construct of the hardware language on random vectors, rust-hdl's simulator against
//! Verilator; every refusal with its sentence; sharing of modules, determinism and lint.

mod arithmetic;
mod bundles;
mod clocked;
mod common;
mod control;
mod hierarchy;
mod loops;
mod refused;
mod refused_blocks;
mod rest;
mod slices;
mod steps;
mod stock;
mod structs;
mod whole;
