//! What starts a task, and a task that is due.

use spindle_blocks::{Command, CommandIssuer};
use spindle_contract::memory_map::TASK_CANCEL;
use spindle_verilog::prelude::*;

/// Bit of a delay that makes the start a cancellation.
pub const CANCEL: usize = TASK_CANCEL.trailing_zeros() as usize;
const _: () = assert!(TASK_CANCEL == 1 << 31);

/// A task that the host starts, or cancels.
#[derive(LogicStruct, Copy, Clone, Debug, Default, PartialEq)]
pub struct HostTask {
    /// Its context.
    pub context: Bits<4>,
    /// Its argument.
    pub argument: Bits<64>,
    /// Cycles until it is due; bit 31: it is cancelled.
    pub delay: Bits<32>,
}

/// A task that a handler or the host starts, or cancels.
#[derive(LogicStruct, Copy, Clone, Debug, Default, PartialEq)]
pub struct TaskStart {
    /// The task.
    pub task: HostTask,
    /// Frame sequence number of the handler's packet.
    pub frame: Bits<16>,
    /// The handler's command, unless the host starts it.
    pub issuer: CommandIssuer,
    /// The host starts it.
    pub by_host: Bit,
}

/// A task that waits.
#[derive(LogicStruct, Copy, Clone, Debug, Default, PartialEq)]
pub struct WaitingTask {
    /// Its argument.
    pub argument: Bits<64>,
    /// The cycle in which it is due.
    pub deadline: Bits<32>,
    /// Frame sequence number of the handler's packet.
    pub frame: Bits<16>,
}

/// A task that is due, on its way to a message slot.
#[derive(LogicStruct, Copy, Clone, Debug, Default, PartialEq)]
pub struct DueTask {
    /// Its context.
    pub context: Bits<4>,
    /// The rest; `deadline` is when it was due.
    pub task: WaitingTask,
}

/// The start that a handler commands.
#[hdl_fn]
pub fn start_of(command: Command) -> TaskStart {
    TaskStart {
        task: HostTask { context: command.context, argument: command.address, delay: command.offset },
        frame: command.frame,
        issuer: command.issuer,
        by_host: false,
    }
}

/// The start that the host wrote.
#[hdl_fn]
pub fn start_of_host(start: HostTask) -> TaskStart {
    TaskStart { task: start, frame: bits::<16>(0), issuer: CommandIssuer::default(), by_host: true }
}

/// Number of bits that are set.
#[hdl_fn]
pub fn count_of(used: Bits<16>) -> Bits<5> {
    let mut count: Bits<5> = bits::<5>(0);
    for i in 0..16 {
        count = count + zext::<5, 1>(used.get_bit(i).into());
    }
    count
}
