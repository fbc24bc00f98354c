//! What a mailbox and a posted buffer take in the memories of the engine, by the widths of their entries.

use crate::completion::counters::CountEntry;
use crate::completion::epochs::{EpochEntry, HistoryEntry};
use crate::lookup::mailbox_table::Facts;
use crate::lookup::stash::Way;
use crate::placement::queue_types::{QueueEntry, WaitingBuffer};
use crate::placement::windows::{WindowEntry, WINDOW_BITS};
use crate::types::{RecordEntry, HISTORY_BITS, MAILBOX_BITS};
use rust_hdl_core::prelude::Synth;

/// Bits of the number of a mailbox, by which its place in the hash table is found.
const LOCATION: usize = 12;
/// Bits of a link between buffers.
const LINK: usize = 14;
/// Completed buffers that are remembered of a mailbox.
const REMEMBERED: usize = 1 << (HISTORY_BITS - MAILBOX_BITS);
/// Buffers of a window, and mailboxes that share one.
const WINDOW: usize = 4;
const MAILBOXES_PER_WINDOW: usize = 1 << (MAILBOX_BITS - WINDOW_BITS);

/// Bits of a mailbox: address, process, key, mode, queue, epoch.
pub const MAILBOX: usize = Way::BITS + LOCATION + Facts::BITS + QueueEntry::BITS + EpochEntry::BITS;
/// Bits of the history of a mailbox.
pub const HISTORY: usize = REMEMBERED * HistoryEntry::BITS;
/// Bits of the window of a TAGGED mailbox.
pub const TAGGED: usize = WINDOW * WindowEntry::BITS;
/// Bits of a window and of its place in the list of free ones, by the mailboxes that share it.
pub const TAGGED_SHARE: usize = (TAGGED + WINDOW_BITS).div_ceil(MAILBOXES_PER_WINDOW);
/// Bits of a posted buffer: address, size and threshold, counts, record, links of the queue and of the epochs, complete, high-water mark.
pub const BUFFER: usize = WaitingBuffer::BITS + CountEntry::BITS + RecordEntry::BITS + 2 * LINK + 1 + 32;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_page_of_costs_has_the_widths() {
        let page = include_str!("../../docs/rvma-cost.md");
        let rows = [
            ("a mailbox: address, process, key, mode, queue, epoch", MAILBOX),
            ("history of eight completed buffers, per mailbox", HISTORY),
            ("share of the windows of TAGGED mailboxes, per mailbox", TAGGED_SHARE),
            ("a posted buffer: address, size, counts, record, links, high-water mark", BUFFER),
        ];
        for (what, bits) in rows {
            let row = format!("| {what} | {bits} | {} |", bits.div_ceil(8));
            assert!(page.contains(&row), "docs/rvma-cost.md needs the row\n{row}");
        }
    }
}
