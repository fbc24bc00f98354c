//! Tasks that wait, as a list for each context.
//!
//! The model is given what the block reports, in order, and checks each report against the lists: which starts had room, which task is
//! due, which one is cancelled, and which ones end with their context.

use spindle_contract::params::WAITING_TASKS;

/// A task that waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Waiting {
    /// Its argument.
    pub argument: u64,
    /// The cycle in which it is due, modulo 2^32.
    pub deadline: u32,
    /// Frame of the handler's packet.
    pub frame: u16,
}

/// See the head of this file.
#[derive(Clone, Debug)]
pub struct TaskTimers {
    /// Tasks of each context that wait.
    pub waiting: Vec<Vec<Waiting>>,
    /// The task that is offered.
    offered: Option<(usize, Waiting)>,
}

impl TaskTimers {
    /// No task waits in any of so many contexts.
    pub fn new(contexts: usize) -> Self {
        Self { waiting: vec![vec![]; contexts], offered: None }
    }

    /// A start was carried out, `alive` = the context takes tasks, if that is certain.
    ///
    /// # Errors
    /// It was refused although there was room, or not refused although there was none.
    pub fn starts(&mut self, context: usize, task: Waiting, refused: bool, alive: Option<bool>) -> Result<(), String> {
        let room = self.waiting.get(context).is_some_and(|list| list.len() < WAITING_TASKS);
        if alive.is_some_and(|alive| refused == (room && alive)) || (!refused && !room) {
            return Err(format!("context {context} refused {task:?}: {refused}, room {room}, alive {alive:?}"));
        }
        if !refused {
            self.waiting[context].push(task);
        }
        Ok(())
    }

    /// A cancellation was carried out, `alive` = the context takes tasks, if that is certain; else its tasks may be about to end.
    ///
    /// # Errors
    /// It missed a task that waits, or found one that does not.
    pub fn cancels(&mut self, context: usize, argument: u64, missed: bool, alive: Option<bool>) -> Result<(), String> {
        let found = self.waiting.get(context).and_then(|list| list.iter().position(|task| task.argument == argument));
        if missed && alive != Some(true) {
            return Ok(());
        }
        if found.is_none() != missed {
            return Err(format!("context {context}: the cancellation of {argument:#x} missed: {missed}, {found:?}"));
        }
        if let Some(at) = found {
            self.waiting[context].swap_remove(at);
        }
        Ok(())
    }

    /// A task is offered in this cycle for the first time; how late it is.
    ///
    /// # Errors
    /// No such task waits, or it is not due.
    pub fn offers(&mut self, context: usize, task: Waiting, now: u32) -> Result<u32, String> {
        let late = now.wrapping_sub(task.deadline);
        if !self.waiting[context].contains(&task) || late > u32::MAX / 2 {
            return Err(format!(
                "context {context}: {task:?} is offered in cycle {now}; {:?} wait",
                self.waiting[context]
            ));
        }
        self.offered = Some((context, task));
        Ok(late)
    }

    /// The task that was offered has a message slot, or is due anew.
    pub fn judged(&mut self, taken: bool, now: u32) {
        let (context, task) = self.offered.take().expect("a task was offered");
        let list = &mut self.waiting[context];
        let at = list.iter().position(|other| *other == task).expect("it waits");
        if taken {
            list.swap_remove(at);
        } else {
            list[at].deadline = now;
        }
    }

    /// All tasks of a context end; how many.
    pub fn dissolves(&mut self, context: usize) -> usize {
        std::mem::take(&mut self.waiting[context]).len()
    }
}
