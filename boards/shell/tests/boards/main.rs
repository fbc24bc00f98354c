//! Tests of the boards.

mod check;
mod data;
mod ethernet;
mod host_side;
mod ip;
mod mac64;
mod pcs;
mod project;
mod shell;
mod si5324;
mod tlp;
mod wire_side;
mod xdc;
mod yosys;
