//! Buffers of mailboxes.

mod windows_alone;
