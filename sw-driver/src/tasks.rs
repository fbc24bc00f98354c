//! Tasks that the host starts: a run of a context's task handler without a packet, now or later.

use crate::access::halves;
use crate::context::ContextId;
use crate::{Bar, Device, Error, HostMemory, Registers, Result};
use spindle_contract::memory_map::TASK_CANCEL;
use spindle_contract::params::WAITING_TASKS;
use spindle_contract::registers::packet;

/// Cycles within which a start is carried out. It waits while the RVMA engine takes no events.
const START_CYCLES: u64 = 1_000_000;

/// Tasks of all contexts since the reset. Each start that was not refused is counted by one other number, or waits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TaskCounters {
    /// Have begun.
    pub begun: u32,
    /// Starts and cancellations, of handlers and of the host, that had no effect.
    pub refused: u32,
    /// Were cancelled while they waited.
    pub cancelled: u32,
    /// Ended while they waited, with their context.
    pub dissolved: u32,
}

impl<B: Bar, M: HostMemory> Device<B, M> {
    /// Starts a task of a context, with this argument, after so many cycles of the card; 0 = at once. The image's `task_handler`
    /// runs.
    ///
    /// # Errors
    /// The delay is 2^31 cycles or more. The context is not active, its image has no task handler, or [`WAITING_TASKS`] of its tasks
    /// wait. The card does not answer.
    pub fn start_task(&mut self, context: ContextId, argument: u64, delay: u32) -> Result<()> {
        if delay >= TASK_CANCEL {
            return Err(Error::Argument(format!(
                "a task cannot wait for {delay} cycles; at most {}, and its handler may start the next one",
                TASK_CANCEL - 1
            )));
        }
        if self.command_task(context, argument, delay)? {
            return Ok(());
        }
        Err(Error::Argument(format!(
            "context {} takes no task: {WAITING_TASKS} of its tasks wait, or it is not active, or its image has no \
             task_handler; activate it, or try again later",
            context.0
        )))
    }

    /// Cancels one task of the context that waits with this argument; whether there was one.
    ///
    /// # Errors
    /// The card has no such context, or does not answer.
    pub fn cancel_task(&mut self, context: ContextId, argument: u64) -> Result<bool> {
        self.command_task(context, argument, TASK_CANCEL)
    }

    /// Counters of tasks that handlers or the host started.
    pub fn task_counters(&mut self) -> Result<TaskCounters> {
        let mut read = |offset: u32| self.bar.read32(packet::BASE + offset);
        Ok(TaskCounters {
            begun: read(packet::TASKS_BEGUN)?,
            refused: read(packet::TASKS_REFUSED)?,
            cancelled: read(packet::TASKS_CANCELLED)?,
            dissolved: read(packet::TASKS_DISSOLVED)?,
        })
    }

    /// Writes the doorbell of tasks, and waits for the card; whether it started or cancelled one.
    fn command_task(&mut self, context: ContextId, argument: u64, delay: u32) -> Result<bool> {
        self.check_context(context)?;
        let [low, high] = halves(argument);
        for (register, value) in [
            (packet::TASK_ARGUMENT, low),
            (packet::TASK_ARGUMENT + 4, high),
            (packet::TASK_DELAY, delay),
            (packet::TASK_START, context.0 as u32),
        ] {
            self.bar.write32(packet::BASE + register, value)?;
        }
        let mut patience = self.patience(START_CYCLES)?;
        loop {
            let start = self.bar.read::<packet::TaskStart>()?;
            if !start.busy() {
                return Ok(!start.refused());
            }
            if self.is_over(&mut patience)? {
                return Err(Error::Timeout { what: "the start of a task".into(), cycles: START_CYCLES });
            }
        }
    }
}
