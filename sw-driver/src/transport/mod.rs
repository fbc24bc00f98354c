//! Transports: the ways in which a program reaches a card.

mod bar;
mod clock;
mod command;
#[cfg(test)]
pub(crate) mod fake;
mod owner;
mod pages;
pub mod pci;
pub mod sysfs;
pub mod vfio;
