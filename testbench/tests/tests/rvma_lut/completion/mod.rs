//! Completed buffers, their records, events and receive maps.

pub mod epochs;
pub mod event_rings;
pub mod frames;
pub mod receive_maps;
