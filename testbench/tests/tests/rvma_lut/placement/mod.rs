//! Buffers of mailboxes.

mod binding_alone;
mod buffer_queue_alone;
mod holds_alone;
mod placement_alone;
mod windows_alone;
