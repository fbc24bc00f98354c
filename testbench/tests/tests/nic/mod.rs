//! The whole NIC of the default configuration, driven through its driver: answers, mailboxes, counters, faults, budgets.

pub mod accounting;
pub mod answers;
pub mod bench;
pub mod budgets;
pub mod commands;
pub mod context_puts;
pub mod delivered;
pub mod delivery;
pub mod events;
pub mod fates;
pub mod faults;
pub mod frames;
pub mod gets;
pub mod interrupts;
pub mod mailboxes;
pub mod network;
pub mod overload;
pub mod random_messages;
pub mod reliable;
pub mod repetition;
pub mod reset;
pub mod rvma_traffic;
pub mod scripted;
pub mod sequence_numbers;
pub mod trace;
pub mod windows;
