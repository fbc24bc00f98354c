//! Event rings: the NIC reports events to a process in host memory.
//!
//! A ring has a power of two of records of [`BYTES`] bytes, and is aligned to its size. The host zeroes the ring, writes 0 to
//! `EVENT_HEAD` and opens the ring (`doorbell_command::OPEN_RING`). Record n (from 1) is in slot n - 1 modulo the number of
//! records, and is complete when its last word reads n. `EVENT_HEAD` is the number of records that the host has read; the NIC
//! does not overwrite a record before that. An event that finds the ring full is lost; a [`LOST`] record has the number of lost
//! events as soon as there is room.

/// Bytes of a record; a ring is aligned to its own size, so no record crosses a line of 64 bytes.
pub const BYTES: usize = 32;
/// Most records of a ring.
pub const MAX_RECORDS: usize = 1 << 15;
spindle_contract_macros::words! {
    HEAD "first word of a record" {
        kind 3:0 "kind";
        context 11:8 "execution context";
        code 23:16 "by kind";
        flags 31:24 "by kind"
    }
    HANDLER "place of a handler: `length` of a fault and of a print" {
        hpu 7:0 "HPU of the cluster";
        cluster 15:8 "cluster";
        msg_slot 23:16 "message slot"
    }
    PACKET "packet of a handler: `source` of a fault and of a print" {
        frame 15:0 "frame";
        handler 17:16 "kind of handler"
    }
    HOST_PUT "`source` of a put" {
        node 7:0 "node";
        number 31:16 "number that RESULT gave, or cookie of a command of the command ring"
    }
    FRAME_CODE "`code` of a frame" {
        ip_checksum 0 "IPv4 without options and fragments, its header checksum is right";
        l4_checksum 1 "UDP or ICMP, its checksum is there and right";
        vlan 2 "the frame has an 802.1Q tag";
        ruled 3 "a rule sent the frame to the host; else no rule matched";
        host_error 4 "host memory refused a part of the frame: its bytes are undefined"
    }
    RECEIVED "`source` of a frame" {
        frame 15:0 "frame number";
        rule 21:16 "rule that matched"
    }
}

/// Words of a record, little-endian: [`Head`].
pub const WORD_KIND: usize = 0;
/// `id`.
pub const WORD_ID: usize = 1;
/// `length`.
pub const WORD_LENGTH: usize = 2;
/// `extra`.
pub const WORD_EXTRA: usize = 3;
/// `source`.
pub const WORD_SOURCE: usize = 4;
/// `user`, low half; the high half follows.
pub const WORD_USER: usize = 5;
/// Sequence number.
pub const WORD_SEQUENCE: usize = 7;

macro_rules! kinds { ($($konst:ident $num:literal $name:literal $doc:literal;)*) => {
    $(#[doc = $doc] pub const $konst: u8 = $num;)*
    /// Name, number and meaning of each kind.
    pub const KINDS: &[(&str, u8, &str)] = &[$(($name, $num, $doc)),*];
} }
kinds! {
    MESSAGE 1 "message" "a message ended: code 0 done, 1 dropped, 2 failed, 3 aged; id = message, length = its bytes, extra = dropped \
        bytes, source = node, user = match bits, flags bit 0 = flow control was triggered, bit 1 = it was a task, which failed: user = its \
        argument, id, length and source 0";
    FAULT 2 "fault" "a handler was ended: code = cause, id = pc, length = HPU [7:0], cluster [15:8], message slot [23:16], extra = \
        address of the access, source = frame [15:0], kind of handler [17:16]";
    PRINT 3 "print" "a handler printed: code = characters, user = the characters, the first in [7:0], source as in fault, length as \
        in fault";
    USER 4 "user" "a handler's EVENT command: user and length as it gave them";
    COMPLETE 5 "complete" "a handler's COMPLETE command";
    PUT 7 "put" "a put of the host is over: code 0 acknowledged, 1 failed; id = message, length = its bytes, extra = code of the \
        refusal, 0 if the destination did not answer or the data could not be read, source [7:0] = node, [31:16] = number that RESULT \
        gave it, user = mailbox address";
    BUFFER 8 "buffer" "a buffer ended before it was full, its record follows; or a buffer of a mailbox with mode EVENT is complete, \
        after its record: code = status of the record, id = mailbox, length = bytes placed, extra = high-water mark: the end of the \
        last byte placed, as an offset in the buffer; of a complete buffer its length, source = epoch, user = buffer pointer";
    FRAME 9 "frame" "a frame for the host lies in a window FRAMES, after the answer to its last byte: code as in frame_code, id = \
        mailbox, length = bytes of the frame, extra = cycle of its first beat, source = frame number [15:0], rule [21:16], user = \
        host address";
    SENT 10 "sent" "a frame of SEND_FRAME has been read, and all frames of the process before it: code 0 sent, 1 its bytes could not \
        be read and the frame was not sent; id = commands of the ring up to this one, modulo 2^16, source = cookie";
    LOST 6 "lost" "length = events that found the ring full since the record before";
}

/// Codes of [`MESSAGE`].
pub mod message {
    /// All handlers ended well.
    pub const DONE: u8 = 0;
    /// The header handler dropped it, or there was no room.
    pub const DROPPED: u8 = 1;
    /// A handler failed.
    pub const FAILED: u8 = 2;
    /// It made no progress for too long.
    pub const AGED: u8 = 3;
    /// Flag: something was dropped for lack of room.
    pub const FLOW_CONTROL: u8 = 1;
    /// Flag: no message, but a task that failed.
    pub const TASK: u8 = 2;
}

/// Operations of `HostAtomic`.
pub mod atomic {
    /// Compare and swap.
    pub const COMPARE_AND_SWAP: u8 = 0;
    /// Fetch and add.
    pub const FETCH_AND_ADD: u8 = 1;
}
