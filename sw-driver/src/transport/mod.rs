//! Transports: the ways in which a program reaches a card.

#[cfg(test)]
pub(crate) mod fake;
pub mod owner;
pub mod pci;
