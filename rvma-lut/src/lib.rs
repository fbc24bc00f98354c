//! Mailbox table, buffer queue, placement, DMA and completion.
