//! Tests of the boards.

mod data;
mod host_side;
mod tlp;
mod xdc;
