//! Tests of the boards.

mod data;
