//! Commands of the host and of handlers.

pub mod command_rings;
mod command_rings_alone;
pub mod doorbell;
mod doorbell_alone;
mod kick_table;
pub mod kicks;
pub mod put_arbiter;
mod ring_posts;
pub mod ring_sends;
