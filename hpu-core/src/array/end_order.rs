//! End order: the end of a task does not overtake a command on its way to the packet engine.
//!
//! | neighbour | ports |
//! |---|---|
//! | clusters, through multiplexers | in `command`; in `ending` |
//! | packet engine | out `place`: the commands; out `task_done`: the ends |
//!
//! Both are queues, a word per cycle each, latency 1 cycle. An end waits until no command is left, so the scheduler has taken
//! all commands that came in before it or in its cycle; a cluster gives the end of a handler only after the handler's
//! commands. Commands that come later delay an end too, but not one that has been offered.

use spindle_blocks::{Command, LutFifo, TaskDone};
use spindle_verilog::prelude::*;

/// The end order. See the module text.
#[block]
pub struct EndOrder {
    /// A PLACE, REDIRECT or TASK command, or a packet that is being put.
    pub command: Sink<Command>,
    /// The end of a task.
    pub ending: Sink<TaskDone>,
    /// The oldest command.
    pub place: Source<Command>,
    /// The oldest end, offered while no command is left.
    pub task_done: Source<TaskDone>,
    /// The packet engine knows late in a cycle whether it takes a command. Two words, as in a skid buffer, in LUT RAM.
    commands: LutFifo<Command, 1>,
    /// Ends of tasks wait for the scheduler here, which must not keep an HPU from its next task.
    endings: LutFifo<TaskDone, 4>,
    /// The oldest end has been offered in the cycle before, and not been taken.
    offered: Reg<Bit>,
}

#[hdl]
impl EndOrder {
    fn update(&mut self) {
        self.command.join(&mut self.commands.write);
        self.commands.read.join(&mut self.place);
        self.ending.join(&mut self.endings.write);
        let may_leave = !self.commands.read.valid.val() | self.offered.q.val();
        let offers = self.endings.read.valid.val() & may_leave;
        self.offered.d.next = offers & !self.task_done.ready.val();
        self.task_done.offer(offers, self.endings.read.val());
        self.endings.read.ready.next = self.task_done.ready.val() & may_leave;
    }
}
