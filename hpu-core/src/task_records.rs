//! Task records: whose task each bank of each HPU runs, for those who see commands and endings one at a time.
//!
//! | neighbour | ports |
//! |---|---|
//! | loader | in `write`, `write_index`, `write_origin`, `write_host` |
//! | mover | in `command_index`; out `command_origin`, `command_host` |
//! | reporter | in `ending_index`; out `ending_origin` |
//!
//! An index is {HPU, bank}. Reads are asynchronous; a record is seen from the cycle after its write on.

use crate::types::{HostRegion, Origin};
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
    /// Whose task it is.
    pub write_origin: Signal<In, Origin>,
    /// Host region of its context.
    pub write_host: Signal<In, HostRegion>,
    /// Record that the mover reads.
    pub command_index: Signal<In, Bits<5>>,
    /// Whose command it is.
    pub command_origin: Signal<Out, Origin>,
    /// Host region of its context.
    pub command_host: Signal<Out, HostRegion>,
    /// Record that the reporter reads.
    pub ending_index: Signal<In, Bits<5>>,
    /// Whose task ended.
    pub ending_origin: Signal<Out, Origin>,
    origins: [LutMemory<Origin, 5>; 2],
    hosts: LutMemory<HostRegion, 5>,
}

impl Logic for TaskRecords {
    #[hdl]
    fn update(&mut self) {
        for i in 0..2 {
            self.origins[i].clock.next = self.clock.val();
            self.origins[i].write_enable.next = self.write.val();
            self.origins[i].write_address.next = self.write_index.val();
            self.origins[i].write_data.next = self.write_origin.val();
        }
        self.hosts.clock.next = self.clock.val();
        self.hosts.write_enable.next = self.write.val();
        self.hosts.write_address.next = self.write_index.val();
        self.hosts.write_data.next = self.write_host.val();
        self.origins[0].read_address.next = self.command_index.val();
        self.hosts.read_address.next = self.command_index.val();
        self.origins[1].read_address.next = self.ending_index.val();
        self.command_origin.next = self.origins[0].read_data.val();
        self.command_host.next = self.hosts.read_data.val();
        self.ending_origin.next = self.origins[1].read_data.val();
    }
}
