//! From an address to a mailbox.

pub mod catch_all;
mod lookup_alone;
pub mod mailbox_table;
