//! The whole NIC of the default configuration, driven through its driver: answers, mailboxes, counters, faults, budgets.

mod accounting;
mod answers;
mod bench;
mod budgets;
mod commands;
mod context_puts;
mod delivered;
mod delivery;
mod events;
mod fates;
mod faults;
mod gets;
mod mailboxes;
mod network;
mod overload;
mod random_messages;
mod reliable;
mod repetition;
mod rvma_traffic;
mod scripted;
mod sequence_numbers;
mod trace;
mod windows;
