//! Command rings: commands that a process leaves for the NIC in host memory.
//!
//! A ring has a power of two of commands of [`BYTES`] bytes, and is aligned to its size. The host writes 0 to `RING_TAIL` and
//! opens the ring (`doorbell_command::OPEN_COMMANDS`). Command n (from 0) is in slot n modulo the number of slots. `RING_TAIL` is
//! the number of commands that the host has written, `RING_DONE` the number that the NIC has carried out, in order. A command that
//! cannot be carried out stops its ring, and `RING_DONE` has the reason; the next write of `RING_TAIL` reads the command from
//! memory and tries it again.

/// Bytes of a command; a ring is aligned to its own size, so no command crosses a line of 64 bytes.
pub const BYTES: usize = 32;
/// Most commands of a ring.
pub const MAX_COMMANDS: usize = 1 << 15;
spindle_contract_macros::words! {
    HEAD "first word of a command" {
        code 7:0 "code";
        mailbox 31:16 "mailbox"
    }
}

/// Words of a command, little-endian: [`Head`].
pub const WORD_CODE: usize = 0;
/// Bytes of the buffer.
pub const WORD_SIZE: usize = 1;
/// Host address of the buffer, low half; the high half follows.
pub const WORD_BUFFER: usize = 2;
/// Host address of its completion record, low half; the high half follows.
pub const WORD_RECORD: usize = 4;

/// Code: nothing.
pub const NOTHING: u8 = 0;
/// Code: posts a buffer, as `doorbell_command::POST_BUFFER`.
pub const POST_BUFFER: u8 = crate::registers::doorbell_command::POST_BUFFER as u8;
