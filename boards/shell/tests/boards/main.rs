//! Tests of the boards.

mod data;
mod host_side;
mod ip;
mod tlp;
mod xdc;
