//! The doorbell's commands as the command unit sees them: its states, staged words, codes and errors as the constants of a block.

use crate::completion::receive_maps::{NUMBER as MAP_NUMBER, WORD as MAP_WORD};
use spindle_contract::registers::{doorbell, doorbell_command, doorbell_error, mailbox_mode};
use spindle_contract::wire::flag;
use spindle_verilog::prelude::*;

/// The words ADDR_LO to TARGET_PID are fetched, but those behind COUNT only where they are used.
pub(crate) const ARGUMENTS: usize = doorbell::TARGET_PID as usize / 4 + 1;
pub(crate) const LAST: u64 = ARGUMENTS as u64 - 1;
pub(crate) const LAST_SHORT: u64 = COUNT as u64;
pub(crate) const ADDR_LO: usize = doorbell::ADDR_LO as usize / 4;
pub(crate) const ADDR_HI: usize = doorbell::ADDR_HI as usize / 4;
pub(crate) const KEY: usize = doorbell::KEY as usize / 4;
pub(crate) const THRESHOLD: usize = doorbell::THRESHOLD as usize / 4;
pub(crate) const MODE: usize = doorbell::MODE as usize / 4;
pub(crate) const BUFFER_LO: usize = doorbell::BUFFER_LO as usize / 4;
pub(crate) const BUFFER_HI: usize = doorbell::BUFFER_HI as usize / 4;
pub(crate) const SIZE: usize = doorbell::SIZE as usize / 4;
pub(crate) const RECORD_LO: usize = doorbell::RECORD_LO as usize / 4;
pub(crate) const RECORD_HI: usize = doorbell::RECORD_HI as usize / 4;
pub(crate) const MAILBOX: usize = doorbell::MAILBOX as usize / 4;
pub(crate) const COUNT: usize = doorbell::COUNT as usize / 4;
pub(crate) const LENGTH: usize = doorbell::LENGTH as usize / 4;
pub(crate) const OFFSET: usize = doorbell::OFFSET as usize / 4;
pub(crate) const NODE: usize = doorbell::NODE as usize / 4;
pub(crate) const TARGET_PID: usize = doorbell::TARGET_PID as usize / 4;
pub(crate) const RESULT: u64 = doorbell::RESULT as u64 / 4;
pub(crate) const VALUE_LO: u64 = doorbell::VALUE_LO as u64 / 4;
pub(crate) const VALUE_HI: u64 = doorbell::VALUE_HI as u64 / 4;
pub(crate) const VALUE_LENGTH: u64 = doorbell::VALUE_LENGTH as u64 / 4;
pub(crate) const RING_DONE: u64 = doorbell::RING_DONE as u64 / 4;
pub(crate) const INIT_WINDOW: u64 = doorbell_command::INIT_WINDOW as u64;
pub(crate) const POST_BUFFER: u64 = doorbell_command::POST_BUFFER as u64;
pub(crate) const CLOSE: u64 = doorbell_command::CLOSE as u64;
pub(crate) const INC_EPOCH: u64 = doorbell_command::INC_EPOCH as u64;
pub(crate) const GET_EPOCH: u64 = doorbell_command::GET_EPOCH as u64;
pub(crate) const GET_BUF_PTRS: u64 = doorbell_command::GET_BUF_PTRS as u64;
pub(crate) const REWIND: u64 = doorbell_command::REWIND as u64;
pub(crate) const PUT: u64 = doorbell_command::PUT as u64;
pub(crate) const GET: u64 = doorbell_command::GET as u64;
pub(crate) const OPEN_RING: u64 = doorbell_command::OPEN_RING as u64;
pub(crate) const OPEN_COMMANDS: u64 = doorbell_command::OPEN_COMMANDS as u64;
pub(crate) const POST_MAPPED: u64 = doorbell_command::POST_MAPPED as u64;
pub(crate) const READ_MAP: u64 = doorbell_command::READ_MAP as u64;
pub(crate) const FREE_MAP: u64 = doorbell_command::FREE_MAP as u64;
pub(crate) const UNSUPPORTED: u64 = doorbell_error::UNSUPPORTED as u64;
pub(crate) const TABLE_FULL: u64 = doorbell_error::TABLE_FULL as u64;
pub(crate) const EXISTS: u64 = doorbell_error::EXISTS as u64;
pub(crate) const NO_MAILBOX: u64 = doorbell_error::NO_MAILBOX as u64;
pub(crate) const NO_SLOT: u64 = doorbell_error::NO_SLOT as u64;
pub(crate) const BAD_ARGUMENT: u64 = doorbell_error::BAD_ARGUMENT as u64;
pub(crate) const OUT_OF_REGION: u64 = doorbell_error::OUT_OF_REGION as u64;
pub(crate) const NO_MAP: u64 = doorbell_error::NO_MAP as u64;
pub(crate) const NOTHING: u64 = doorbell_error::NOTHING as u64;
pub(crate) const OPS: u64 = mailbox_mode::OPS as u64;
pub(crate) const MANAGED: u64 = mailbox_mode::MANAGED as u64;
pub(crate) const TAGGED: u64 = mailbox_mode::TAGGED as u64;
pub(crate) const EPOCH_FLAG: u64 = flag::EPOCH_VALID as u64;
pub(crate) const MANAGED_FLAG: u64 = flag::MANAGED as u64;
pub(crate) const ACTIVE_FLAG: u64 = flag::ACTIVE as u64;
/// MODE bits that there are.
pub(crate) const MODE_BITS: u64 =
    OPS | TAGGED | MANAGED | CATCH_ALL | SPILL | (mailbox_mode::NACK_OFF | mailbox_mode::DROP) as u64;
pub(crate) const CATCH_ALL: u64 = mailbox_mode::CATCH_ALL as u64;
pub(crate) const SPILL: u64 = mailbox_mode::SPILL as u64;

/// Where the number of a receive map stands in COUNT, and the bits there that are used.
pub(crate) const MAP_SHIFT: usize = spindle_contract::registers::MAP_SHIFT as usize;
pub(crate) const MAP_BITS: u64 = (((1 << MAP_NUMBER) - 1) << MAP_SHIFT) | ((1 << MAP_WORD) - 1);

/// States of the command unit.
#[derive(LogicState, Copy, Clone, Debug, PartialEq)]
pub enum CommandState {
    /// Waits for a command.
    Idle,
    /// Fetches the staged registers.
    Fetch,
    /// Looks at them.
    Check,
    /// May the process name that memory?
    Permit,
    /// Asks the table.
    Request,
    /// Waits for its answer.
    Result,
    /// Looks at it.
    Decide,
    /// Has the mailbox's queue changed.
    Queue,
    /// Makes the mailbox visible.
    Insert,
    /// Asks the epochs.
    Query,
    /// Makes packets find the mailbox closed.
    Closing,
    /// Has buffers taken back.
    Reclaim,
    /// Removes the mailbox.
    Remove,
    /// Hands on a put.
    Put,
    /// Writes the length of what was found.
    Length,
    /// Writes its address, or the epoch.
    Low,
    /// Its high half.
    High,
    /// Has an event ring or a command ring opened or closed.
    Ring,
    /// Has a receive map read, or given back.
    Map,
    /// No command of the ring has been carried out.
    Clear,
    /// Writes the result.
    Finish,
}
