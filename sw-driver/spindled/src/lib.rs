//! `spindled` owns a card and gives each client process its share of it.
//!
//! A client connects to `card.sock` and speaks vfio-user. It gets a process of the card for as long as the connection lasts. At
//! `process1.sock` to `process15.sock` it gets this process, if the process is free, so that other nodes can know its number:
//!
//! | of the client's function | is |
//! |---|---|
//! | BAR 0 | at the card's own addresses: the doorbell page of the process, and what every process may read |
//! | MSI-X | the card's vector numbers; the vector of the process fires |
//! | DMA_MAP | memory of the client on the card, in the client's window of addresses, registered as a region of the process |
//! | GET_REGION_IO_FDS | an eventfd that writes KICK, without the daemon where the card's transport can |
//!
//! Every process may read the global page, the counters of the RVMA engine and the last refusal; no other page answers.
//! Every process is confined to its regions. What processes share, and could exhaust, has quotas ([`quota`]). When a client goes, or
//! resets its function, its rings and windows are closed first, which waits for the writes that are under way; then its memory is
//! taken back.
//!
//! `admin.sock` is the card for its administrator, as process 0: all registers but those by which the daemon keeps the clients apart. The
//! `spindle` command loads handlers, sets rules and reads counters there. `control.sock` answers questions in JSON ([`control`]).
//!
//! | module | |
//! |---|---|
//! | [`daemon`] | the loop: sockets, clients, interrupts |
//! | [`card`] | the card, its processes and their addresses |
//! | [`share`] | the function of a client |
//! | [`bell`] | the doorbell page of a client: commands, and what has to be closed |
//! | [`quota`] | limits |
//! | [`control`] | requests in JSON |
//! | [`arguments`] | values of the command line |
#![warn(missing_docs)]

#[cfg(test)]
#[macro_use(assert_eq)]
extern crate spindle_testing;

pub mod arguments;
pub mod bell;
pub mod card;
pub mod control;
pub mod daemon;
pub mod quota;
pub mod share;

pub use daemon::{Daemon, Options};
pub use quota::Quota;
