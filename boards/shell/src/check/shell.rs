//! What the checks know of the project's own blocks and of the tops.

use super::cdc::Rules;

/// Buses of the project's blocks that cross with a guard.
///
/// The names are those of fields in the blocks; a block that renames one fails its test and the check of each top.
pub fn rules() -> Rules {
    let why = "the pointer that says so is seen after the word was written, and the writer waits for the reader's";
    let fifo = Rules::default().held("lut_0.words", "head", "written.near", why);
    fifo.held("block_0.words", "block_0.fetched", "written.near", why)
}
