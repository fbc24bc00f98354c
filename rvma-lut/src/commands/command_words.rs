//! Words of a doorbell page by number, and the states of the command unit.

use crate::completion::receive_maps::{NUMBER as MAP_NUMBER, WORD as MAP_WORD};
use crate::prelude::*;
use spindle_contract::registers::{self, doorbell, mailbox_mode};

macro_rules! words {
    ($($name:ident)*) => { $(pub(crate) const $name: usize = doorbell::$name as usize / 4;)* };
}

words! {
    ADDR_LO ADDR_HI KEY THRESHOLD MODE BUFFER_LO BUFFER_HI SIZE RECORD_LO RECORD_HI MAILBOX COUNT LENGTH OFFSET NODE TARGET_PID
    COMMAND RESULT VALUE_LO VALUE_HI VALUE_LENGTH EVENT_HEAD RING_TAIL RING_DONE
    IRQ KICK
}
/// Staged words ADDR_LO to TARGET_PID; those after COUNT are read for PUT and GET only.
pub(crate) const ARGUMENTS: usize = TARGET_PID + 1;

/// Bits of MODE that are defined.
pub(crate) const MODE_BITS: u32 = mailbox_mode::OPS
    | mailbox_mode::TAGGED
    | mailbox_mode::MANAGED
    | mailbox_mode::CATCH_ALL
    | mailbox_mode::SPILL
    | mailbox_mode::NACK_OFF
    | mailbox_mode::DROP
    | mailbox_mode::FRAMES
    | mailbox_mode::EVENT;
/// Bits of MODE beside FRAMES that are given for a mailbox of frames.
pub(crate) const FRAMES_WITH: u32 = mailbox_mode::MANAGED | mailbox_mode::NACK_OFF;
/// Bits of MODE that a mailbox of frames has or excludes.
pub(crate) const FRAMES_MASK: u32 = MODE_BITS & !(mailbox_mode::FRAMES | mailbox_mode::EVENT);
/// Position of a receive map's number in COUNT, and the bits of COUNT that READ_MAP and FREE_MAP use.
pub(crate) const MAP_SHIFT: usize = registers::MAP_SHIFT as usize;
pub(crate) const MAP_BITS: u64 = (((1 << MAP_NUMBER) - 1) << MAP_SHIFT) | ((1 << MAP_WORD) - 1);

/// States of the command unit.
#[derive(LogicState, Copy, Clone, Debug, PartialEq)]
pub enum CommandState {
    /// Waits for a command.
    Idle,
    /// Fetches the staged registers.
    Fetch,
    /// Checks the arguments.
    Check,
    /// Checks the memory against the regions of the process.
    Permit,
    /// Sends a request to the mailbox table.
    Request,
    /// Waits for the table's result.
    Result,
    /// Decides by the table's result.
    Decide,
    /// Has the mailbox's queue changed.
    Queue,
    /// Makes the mailbox visible to packets.
    Insert,
    /// Reads the epochs.
    Query,
    /// Makes packets find the mailbox closed.
    Closing,
    /// Has buffers taken back.
    Reclaim,
    /// Removes the mailbox from the table.
    Remove,
    /// Hands a put or get on.
    Put,
    /// Writes VALUE_LENGTH.
    Length,
    /// Writes VALUE_LO.
    Low,
    /// Writes VALUE_HI.
    High,
    /// Has an event ring or a command ring opened or closed.
    Ring,
    /// Has a receive map read, or given back.
    Map,
    /// Clears RING_DONE of an opened command ring.
    Clear,
    /// Writes RESULT.
    Finish,
}
