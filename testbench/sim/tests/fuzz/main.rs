//! Fuzzing of what the simulated card reads from outside: captures. See `docs/trust.md`.

mod capture;
mod classic;
mod directed;
mod pcapng;
