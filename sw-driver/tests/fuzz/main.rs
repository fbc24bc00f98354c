//! Fuzzing of what the driver reads from outside: images, rules, addresses, lists of residents, events and records of a card,
//! everything a card answers, and vfio-user on both sides. See `docs/trust.md`.

#[macro_use(assert_eq)]
extern crate spindle_testing;

mod address;
mod calls;
mod card;
mod directed;
mod elf;
mod events;
mod image;
mod residents;
mod rule;
mod user_client;
mod user_server;
