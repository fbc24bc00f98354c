//! Tests of the boards.

mod check;
mod data;
mod host_side;
mod ip;
mod project;
mod shell;
mod tlp;
mod wire_side;
mod xdc;
mod yosys;
