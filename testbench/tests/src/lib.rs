//! Cycle-level tests of the emitted design.
