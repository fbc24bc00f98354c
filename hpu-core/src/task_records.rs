//! Task records: whose task each bank of each HPU runs, for those who see commands and endings one at a time.
//!
//! | neighbour | ports |
//! |---|---|
//! | loader | in `write`, `write_index`, `write_limits` |
//! | command unit | in `command_index`; out `command_limits` |
//! | reporter | in `ending_index`; out `ending_origin` |
//!
//! An index is {HPU, bank}. Reads are asynchronous; a record is seen from the cycle after its write on.

use crate::types::{Limits, Origin};
use spindle_blocks::ram::LutMemory;
use spindle_verilog::prelude::*;

/// The records. See the module text.
#[derive(LogicBlock, Default)]
pub struct TaskRecords {
    /// Core clock.
    pub clock: Signal<In, Clock>,
    /// Write a record.
    pub write: Signal<In, Bit>,
    /// Which one.
    pub write_index: Signal<In, Bits<5>>,
    /// Whose task it is, and what its commands may.
    pub write_limits: Signal<In, Limits>,
    /// Record that the command unit reads.
    pub command_index: Signal<In, Bits<5>>,
    /// What the command may.
    pub command_limits: Signal<Out, Limits>,
    /// Record that the reporter reads.
    pub ending_index: Signal<In, Bits<5>>,
    /// Whose task ended.
    pub ending_origin: Signal<Out, Origin>,
    origins: LutMemory<Origin, 5>,
    limits: LutMemory<Limits, 5>,
}

impl Logic for TaskRecords {
    #[hdl]
    fn update(&mut self) {
        self.origins.clock.next = self.clock.val();
        self.origins.write_enable.next = self.write.val();
        self.origins.write_address.next = self.write_index.val();
        self.origins.write_data.next = self.write_limits.val().origin;
        self.limits.clock.next = self.clock.val();
        self.limits.write_enable.next = self.write.val();
        self.limits.write_address.next = self.write_index.val();
        self.limits.write_data.next = self.write_limits.val();
        self.limits.read_address.next = self.command_index.val();
        self.command_limits.next = self.limits.read_data.val();
        self.origins.read_address.next = self.ending_index.val();
        self.ending_origin.next = self.origins.read_data.val();
    }
}
