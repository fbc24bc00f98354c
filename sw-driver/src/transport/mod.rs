//! Transports: the ways in which a program reaches a card.

mod bar;
mod clock;
#[cfg(test)]
pub(crate) mod fake;
mod owner;
mod pages;
pub mod pci;
pub mod vfio;
