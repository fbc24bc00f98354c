//! Shadow line: the pointers of a process' rings in host memory, which the card reads when KICK is written.
//!
//! `doorbell_command::OPEN_SHADOW` names the line. The host writes the words, then KICK, with any value. The card reads the line
//! and acts as if the words had been written to `RING_TAIL` and `EVENT_HEAD`. A kick is idempotent, and kicks that come before
//! the line is read are one, so an eventfd can ring it. A word of a ring that is not open must be 0. A process that kicks does
//! not write the two registers itself: an older kick could take effect later.

/// Bytes of the line, and its alignment.
pub const BYTES: usize = 64;
/// Word: RING_TAIL.
pub const WORD_RING_TAIL: usize = 0;
/// Word: EVENT_HEAD, with its bit `arm`. The other words are 0.
pub const WORD_EVENT_HEAD: usize = 1;
