//! Fuzzing of the reader of machine code that bounds the stack of handlers. See `docs/trust.md`.

mod directed;
mod stack;
