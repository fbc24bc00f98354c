//! Completion: turns a complete buffer into its record in host memory, and tells the epochs.
//!
//! | neighbour | ports |
//! |---|---|
//! | counters | in `completion`, `completion_valid` (no ready); out `completion_room` |
//! | DMA writer | out `record`, `record_valid`; in `record_ready` |
//! | epochs | out `retired`, `retired_valid`; in `retired_ready` |
//!
//! `completion_valid` → `record_valid`: 1 cycle. A record is 16 bytes in one write of its own (contract,
//! `wire::RECORD_*`): length u32, status u8, 0, epoch u16, buffer pointer u64, little-endian. Its address goes out only
//! after the counters have seen the last byte, so it never overtakes data.

use crate::types::{Origin, OwnWrite, Retired, Transfer, QUEUE_BITS, QUEUE_STOP, RECORD};
use spindle_blocks::desc::Completion;
use spindle_blocks::Fifo;
use spindle_contract::wire::RECORD_BYTES;
use spindle_verilog::prelude::*;

/// The completion unit. See the module text.
#[derive(LogicBlock, Default)]
pub struct CompletionUnit {
    /// Core clock.
    pub clock: Signal<In, Clock>,
    /// Synchronous reset, active high.
    pub reset: Signal<In, Bit>,
    /// Complete buffer.
    pub completion: Signal<In, Completion>,
    /// There is one.
    pub completion_valid: Signal<In, Bit>,
    /// There is room for four.
    pub completion_room: Signal<Out, Bit>,
    /// Its record.
    pub record: Signal<Out, OwnWrite>,
    /// There is one.
    pub record_valid: Signal<Out, Bit>,
    /// It is taken.
    pub record_ready: Signal<In, Bit>,
    /// The buffer, when its record has been handed on.
    pub retired: Signal<Out, Retired>,
    /// There is one.
    pub retired_valid: Signal<Out, Bit>,
    /// One may come.
    pub retired_ready: Signal<In, Bit>,
    waiting: Fifo<Completion, QUEUE_BITS>,
}

impl Logic for CompletionUnit {
    #[hdl]
    fn update(&mut self) {
        clocks!(self, clock, reset, waiting);
        self.waiting.write.next = self.completion.val();
        self.waiting.write_valid.next = self.completion_valid.val();
        self.completion_room.next = self.waiting.level.val() < QUEUE_STOP;

        let done = self.waiting.read.val();
        let valid = self.waiting.read_valid.val() & self.retired_ready.val();
        self.record_valid.next = valid;
        self.record.next = OwnWrite {
            transfer: Transfer {
                address: done.record,
                last_line: bits::<11>(0),
                offset: bits::<6>(0),
                origin: Origin {
                    kind: bits::<3>(RECORD),
                    posted: false,
                    slot: done.buffer,
                    frame: done.frame,
                    tag: bits::<10>(0),
                    has_slot: false,
                    msg_slot: bits::<8>(0),
                    color: false,
                    length: bits::<16>(RECORD_BYTES as u64),
                },
            },
            data: bit_cast::<256, 128>((done.address, done.epoch, bits::<8>(0), done.status, done.length).cat::<128>()),
        };
        self.waiting.read_ready.next = self.record_ready.val() & self.retired_ready.val();
        self.retired.next =
            Retired { mailbox: done.mailbox, slot: done.buffer, base: done.address, length: done.length };
        self.retired_valid.next = valid & self.record_ready.val();
    }
}
