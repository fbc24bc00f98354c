//! Commands of the host and of handlers.

pub mod command_rings;
mod command_rings_alone;
pub mod doorbell;
mod kick_table;
pub mod kicks;
pub mod put_arbiter;
pub mod ring_sends;
