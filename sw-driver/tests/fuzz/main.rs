//! Fuzzing of what the driver reads from outside: images, rules, events and records of a card, everything a card answers,
//! and vfio-user on both sides. See `docs/trust.md`.

mod calls;
mod card;
mod directed;
mod elf;
mod events;
mod image;
mod rule;
mod user_client;
mod user_server;
