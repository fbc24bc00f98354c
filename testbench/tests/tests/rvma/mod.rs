//! The RVMA engine against its model, on the emitted Verilog.

#![allow(clippy::single_range_in_vec_init)] // a list of address ranges that happens to have one member

mod agents;
mod atomics;
mod bench;
mod catch_all;
mod command_ring;
mod cuts;
mod directed;
mod doorbell;
mod events;
mod figures;
mod gets;
mod host_side;
mod maps;
mod modes;
mod operations;
mod put_join;
mod reads;
mod regions;
mod shapes;
mod streams;
mod table;
mod tagged;
mod traffic;
