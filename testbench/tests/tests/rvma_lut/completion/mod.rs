//! Completed buffers, their records, events and receive maps.

mod buffer_reclaim_alone;
pub mod complete_events;
mod completion_unit_alone;
mod counters_alone;
pub mod epochs;
mod epochs_alone;
pub mod event_rings;
mod event_rings_alone;
mod frame_events_alone;
mod frame_places_alone;
pub mod frames;
pub mod moderation;
mod moderation_alone;
pub mod receive_maps;
mod receive_maps_alone;
