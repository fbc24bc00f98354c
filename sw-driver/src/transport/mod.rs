//! Transports: the ways in which a program reaches a card.

mod bar;
mod clock;
mod command;
#[cfg(test)]
pub(crate) mod fake;
mod open;
mod owner;
mod pages;
pub mod pci;
pub mod sysfs;
pub mod vfio;
pub mod vfio_user;

pub use open::{open, FORMS};
