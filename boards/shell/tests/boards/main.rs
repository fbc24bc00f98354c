//! Tests of the boards.
