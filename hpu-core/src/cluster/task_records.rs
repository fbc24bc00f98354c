//! Task records: the task of each bank of each HPU, for blocks that see commands and ends one at a time.
//!
//! | neighbour | ports |
//! |---|---|
//! | loader | in `write`, `write_index`, `write_limits`, `write_payload_len` |
//! | command unit | in `command_index`, `command_read`; out `command_limits`, one cycle later and until the next read |
//! | reporter | in `ending_index`; out `ended_task`, in the same cycle |
//!
//! An index is {HPU, bank}. A record is read from the cycle after its write on. The limits are three and a half block
//! RAMs wide; on a device that runs out of block RAM first, they are in LUT RAM.

use crate::types::{EndedTask, Limits};
use spindle_blocks::ram::{LutMemory, RamStyle, SdpMemory};
use spindle_contract::params::Config;
use spindle_verilog::prelude::*;

/// The records. See the module text.
#[block(no_reset)]
pub struct TaskRecords {
    /// Write a record.
    pub write: Signal<In, Bit>,
    /// Index of the record.
    pub write_index: Signal<In, Bits<5>>,
    /// Task, and limits of its commands.
    pub write_limits: Signal<In, Limits>,
    /// Payload bytes of its packet.
    pub write_payload_len: Signal<In, Bits<16>>,
    /// Record that the command unit reads,
    pub command_index: Signal<In, Bits<5>>,
    /// in this cycle.
    pub command_read: Signal<In, Bit>,
    /// Limits of the command.
    pub command_limits: Signal<Out, Limits>,
    /// Record that the reporter reads.
    pub ending_index: Signal<In, Bits<5>>,
    /// Task that ended.
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
        self.limits.write(self.write.val(), self.write_index.val(), self.write_limits.val());
        self.limits.read(self.command_read.val(), self.command_index.val());
        self.command_limits.next = self.limits.read_data.val();
    }
}
