//! Task records: whose task each bank of each HPU runs, for those who see commands and endings one at a time.
//!
//! | neighbour | ports |
//! |---|---|
//! | loader | in `write`, `write_index`, `write_limits`, `write_payload_len` |
//! | command unit | in `command_index`, `command_read`; out `command_limits`, one cycle later and until the next read |
//! | reporter | in `ending_index`; out `ended_task`, in the same cycle |
//!
//! An index is {HPU, bank}. A record is seen from the cycle after its write on. What commands may is as wide as three and a half block RAMs, which stand for 128 LUTs
//! where LUTs run out first.

use crate::types::{EndedTask, Limits};
use spindle_blocks::ram::{LutMemory, RamStyle, SdpMemory};
use spindle_contract::params::Config;
use spindle_verilog::prelude::*;

/// The records. See the module text.
#[block(no_reset)]
pub struct TaskRecords {
    /// Write a record.
    pub write: Signal<In, Bit>,
    /// Which one.
    pub write_index: Signal<In, Bits<5>>,
    /// Whose task it is, and what its commands may.
    pub write_limits: Signal<In, Limits>,
    /// Payload bytes of its packet.
    pub write_payload_len: Signal<In, Bits<16>>,
    /// Record that the command unit reads,
    pub command_index: Signal<In, Bits<5>>,
    /// in this cycle.
    pub command_read: Signal<In, Bit>,
    /// What the command may.
    pub command_limits: Signal<Out, Limits>,
    /// Record that the reporter reads.
    pub ending_index: Signal<In, Bits<5>>,
    /// Whose task ended.
    pub ended_task: Signal<Out, EndedTask>,
    tasks: LutMemory<EndedTask, 5>,
    limits: SdpMemory<Limits, 5>,
}

impl TaskRecords {
    /// For the device of a configuration.
    pub fn new(config: &Config) -> Self {
        Self { limits: SdpMemory::new(RamStyle::spare(config), 1), ..Self::blank() }
    }
}

#[hdl]
impl TaskRecords {
    fn update(&mut self) {
        self.tasks.write_enable.next = self.write.val();
        self.tasks.write_address.next = self.write_index.val();
        self.tasks.write_data.next =
            EndedTask { origin: self.write_limits.val().origin, payload_len: self.write_payload_len.val() };
        self.tasks.read_address.next = self.ending_index.val();
        self.ended_task.next = self.tasks.read_data.val();
        self.limits.write_enable.next = self.write.val();
        self.limits.write_address.next = self.write_index.val();
        self.limits.write_data.next = self.write_limits.val();
        self.limits.read_enable.next = self.command_read.val();
        self.limits.read_address.next = self.command_index.val();
        self.command_limits.next = self.limits.read_data.val();
    }
}
