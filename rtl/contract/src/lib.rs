//! The single source of every number that two places of Spindle must agree on.
//!
//! | module | what it fixes |
//! |---|---|
//! | [`params`] | configurations (`alveo`, `alveo32`, `kintex7`, `sim`) and the legal range of each parameter |
//! | [`wire`] | Ethernet, IPv4, UDP, ICMP and the Spindle transport header |
//! | [`descriptors`] | what one block hands to the next |
//! | [`commands`] | commands in host memory |
//! | [`events`] | records of the event rings in host memory |
//! | [`registers`] | CSR pages and doorbell pages of the BAR |
//! | [`memory_map`] | what a handler sees: regions, task page, command port, return codes, faults |
//! | [`pci`] | the card as a PCI function: identity, BARs, vectors |
//! | [`shadow`] | pointers of rings in host memory |
//! | [`reasons`] | why a frame was dropped; trace points |
//!
//! The RTL, the driver, the handler SDK, the models and the documentation all read these tables. `cargo run -p
//! spindle-contract --bin generate` writes the C header and the register pages; with `--check` it only compares.
#![no_std]
#![warn(missing_docs)]

pub mod commands;
pub mod descriptors;
pub mod events;
pub mod memory_map;
pub mod params;
pub mod pci;
pub mod reasons;
pub mod registers;
pub mod shadow;
pub mod wire;

/// Version of the contract. Every descriptor, register block and generated file carries it.
pub const VERSION: u32 = 1;
