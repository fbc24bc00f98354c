//! Commands of hosts and handlers: doorbells, command rings, puts.

pub mod command_arguments;
pub mod command_rings;
pub mod command_unit;
pub mod command_words;
pub mod doorbell;
pub mod kicks;
pub mod put_arbiter;
pub mod ring_posts;
