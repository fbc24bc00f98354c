//! Fuzzing of what the tools of boards read: board files, and constraints that are read back. See `docs/trust.md`.

mod board_file;
mod constraints;
mod directed;
