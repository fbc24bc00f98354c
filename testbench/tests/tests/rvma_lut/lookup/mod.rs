//! From an address to a mailbox.

pub mod catch_all;
pub mod mailbox_table;
