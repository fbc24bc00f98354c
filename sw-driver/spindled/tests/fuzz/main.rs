//! Fuzzing of what clients of the daemon send, and of its arguments. See `docs/trust.md`.

mod arguments;
mod card;
mod directed;
mod requests;
mod share;
