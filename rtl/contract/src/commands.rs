//! Command rings: commands that a process leaves for the NIC in host memory.
//!
//! A ring has a power of two of commands of [`BYTES`] bytes, and is aligned to its size. The host writes 0 to `RING_TAIL` and
//! opens the ring (`doorbell_command::OPEN_COMMANDS`). Command n (from 0) is in slot n modulo the number of slots. `RING_TAIL` is
//! the number of commands that the host has written, `RING_DONE` the number that the NIC has carried out, in order. A command that
//! cannot be carried out stops its ring, and `RING_DONE` has the reason; the next write of `RING_TAIL` reads the command from
//! memory and tries it again.
//!
//! | words | POST_BUFFER | PUT | GET | SEND_FRAME |
//! |---|---|---|---|---|
//! | 0 | code, mailbox | code, flags, cookie | code, flags, cookie | code, flags, cookie |
//! | 1 | bytes of the buffer | bytes | bytes | bytes of the frame |
//! | 2, 3 | address of the buffer | address of the bytes | address of the reply mailbox | address of the frame |
//! | 4, 5 | address of the record | target mailbox | source mailbox | 4: checksum |
//! | 6 | | key | key | |
//! | 7 | | offset in the buffer | offset in the buffer | |
//! | 8 | | node, process | node, process | |
//! | 9 | | | offset of the reply | |
//! | 10 | | epoch, or ordinal | key of the reply mailbox | |
//!
//! Words that have no meaning are 0.

/// Bytes of a command: one beat. A ring is aligned to its own size.
pub const BYTES: usize = 64;
/// Most commands of a ring.
pub const MAX_COMMANDS: usize = 1 << 14;
spindle_contract_macros::words! {
    HEAD "first word of POST_BUFFER" {
        code 7:0 "code";
        mailbox 31:16 "mailbox"
    }
    SEND "first word of PUT, GET and SEND_FRAME" {
        code 7:0 "code";
        flags 15:8 "PUT: TAGGED and MANAGED of the target, as in MODE. GET: bit 0 = from the oldest buffer that is not complete. \
            SEND_FRAME: bit 0 = an event SENT when the frame has been read, bit 1 = insert the checksum";
        cookie 31:16 "PUT, GET: number of the put in its event. SEND_FRAME: returned by the event"
    }
    TARGET "word 8 of PUT and GET" {
        node 7:0 "node table index";
        process 31:16 "process there"
    }
    CHECKSUM "word 4 of SEND_FRAME with the flag CHECKSUM: the ones' complement sum of the bytes from `start` to the end, with what the \
        field holds, is inverted and written to the field, 0 as 0xFFFF" {
        start 15:0 "first byte of the sum: even, at most 254";
        offset 31:16 "offset of the field from `start`: even, at most 254; the field lies in the frame"
    }
}

/// Words of a command, little-endian: [`Head`] or [`Send`].
pub const WORD_CODE: usize = 0;
/// Bytes of the buffer, of the put or get, or of the frame.
pub const WORD_SIZE: usize = 1;
/// Host address of the buffer, low half; the high half follows. GET: address of the reply mailbox.
pub const WORD_BUFFER: usize = 2;
/// POST_BUFFER: host address of the completion record, low half; the high half follows.
pub const WORD_RECORD: usize = 4;
/// PUT, GET: address of the remote mailbox, low half; the high half follows.
pub const WORD_ADDR: usize = 4;
/// SEND_FRAME: [`Checksum`].
pub const WORD_CHECKSUM: usize = 4;
/// PUT, GET: key of the remote mailbox.
pub const WORD_KEY: usize = 6;
/// PUT, GET: offset in the remote buffer.
pub const WORD_OFFSET: usize = 7;
/// PUT, GET: [`Target`].
pub const WORD_TARGET: usize = 8;
/// GET: offset in the buffer of the reply mailbox.
pub const WORD_REPLY_OFFSET: usize = 9;
/// PUT to a TAGGED mailbox: epoch; to a stream: ordinal. GET: key of the reply mailbox.
pub const WORD_EPOCH: usize = 10;

/// Code: nothing.
pub const NOTHING: u8 = 0;
/// Code: posts a buffer, as `doorbell_command::POST_BUFFER`.
pub const POST_BUFFER: u8 = crate::registers::doorbell_command::POST_BUFFER as u8;
/// Code: puts host memory into a remote mailbox, as `doorbell_command::PUT`. Its end is the event PUT, with the cookie as number.
pub const PUT: u8 = crate::registers::doorbell_command::PUT as u8;
/// Code: gets from a remote mailbox, as `doorbell_command::GET`. Its end is the event PUT, with the cookie as number.
pub const GET: u8 = crate::registers::doorbell_command::GET as u8;
/// Code: sends a frame as it is. The process needs its bit in `rvma.SENDERS`.
pub const SEND_FRAME: u8 = 16;

/// SEND_FRAME, flag: the event SENT when the frame has been read. Frames of a process are read in order, so it also says that the
/// frames before have been read.
pub const FRAME_EVENT: u32 = 1;
/// SEND_FRAME, flag: insert the checksum.
pub const FRAME_CHECKSUM: u32 = 2;
/// Bytes of the shortest frame that SEND_FRAME takes: the Ethernet header. The MAC pads to 60 bytes.
pub const MIN_FRAME: usize = 14;
/// Bytes of the longest frame that SEND_FRAME takes: one read of host memory.
pub const MAX_FRAME: usize = 8192;
/// Largest `start` and largest `offset` of [`Checksum`].
pub const MAX_CHECKSUM: u32 = 254;
