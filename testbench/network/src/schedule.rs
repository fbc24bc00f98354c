//! Which task of a motif a host does next.

use crate::motif::{Channel, Need, Task};
use std::collections::{BTreeMap, BTreeSet, VecDeque};

/// What a host's program still has to know of a task.
#[derive(Clone, Copy, Debug)]
struct Open {
    aside: bool,
    /// Needs that are not met.
    unmet: u8,
    taken: bool,
}

/// Which task a host does next: tasks in their order, and those aside as soon as they can be; of two, the one that comes first in the list.
/// A network has thousands of schedules with hundreds of tasks each, so a task takes few bytes.
#[derive(Debug)]
pub struct Schedule {
    open: Vec<Open>,
    /// Earliest cycles of tasks that have one.
    later: BTreeMap<u32, u64>,
    /// The first task that is not aside and not taken.
    next: usize,
    /// Tasks aside whose needs are met.
    aside: BTreeSet<u32>,
    got: BTreeMap<(u32, Channel), Count>,
    any: Count,
    /// Tasks of puts whose acknowledgements are waited for, in their order, each with the task that waits.
    acked: Vec<(u32, u32)>,
    left: usize,
}

/// Messages that came, and the tasks that wait until there are so many.
#[derive(Debug, Default)]
struct Count {
    came: u32,
    waiting: VecDeque<(u32, u32)>,
}

impl Count {
    /// One more; the tasks that waited for it.
    fn add(&mut self) -> impl Iterator<Item = u32> {
        self.came += 1;
        let met = self.waiting.partition_point(|(messages, _)| *messages <= self.came);
        self.waiting.drain(..met).map(|(_, task)| task).collect::<Vec<_>>().into_iter()
    }
}

impl Schedule {
    /// The tasks of a node, of which none has been done; without those of handlers.
    pub fn new(tasks: &[Task]) -> Schedule {
        let mut schedule = Schedule {
            open: Vec::with_capacity(tasks.len()),
            later: BTreeMap::new(),
            next: 0,
            aside: BTreeSet::new(),
            got: BTreeMap::new(),
            any: Count::default(),
            acked: vec![],
            left: tasks.len(),
        };
        for (k, task) in tasks.iter().enumerate() {
            let k = k as u32;
            if task.handler {
                schedule.open.push(Open { aside: true, unmet: 0, taken: true });
                schedule.left -= 1;
                continue;
            }
            for need in &task.needs {
                let (count, messages) = match *need {
                    Need::Any(messages) => (&mut schedule.any, messages),
                    Need::Got { from, channel, messages } => {
                        (schedule.got.entry((from, channel)).or_default(), messages)
                    }
                    Need::Acked(put) => {
                        schedule.acked.push((put, k));
                        continue;
                    }
                };
                let at = count.waiting.partition_point(|(others, _)| *others <= messages);
                count.waiting.insert(at, (messages, k));
            }
            if task.aside && task.needs.is_empty() {
                schedule.aside.insert(k);
            }
            let unmet = task.needs.len() as u8;
            schedule.open.push(Open { aside: task.aside, unmet, taken: false });
            if task.at > 0 {
                schedule.later.insert(k, task.at);
            }
        }
        schedule.acked.sort();
        schedule.acked.shrink_to_fit();
        schedule.skip();
        schedule
    }

    /// To the next task that has an order.
    fn skip(&mut self) {
        while self.open.get(self.next).is_some_and(|open| open.aside || open.taken) {
            self.next += 1;
        }
    }

    /// Every task has been taken.
    pub fn is_over(&self) -> bool {
        self.left == 0
    }

    fn met(&mut self, task: u32) {
        let open = &mut self.open[task as usize];
        open.unmet -= 1;
        if open.unmet == 0 && open.aside {
            self.aside.insert(task);
        }
    }

    /// A message has come.
    pub fn got(&mut self, from: u32, channel: Channel) {
        let of = self.got.get_mut(&(from, channel)).map(Count::add);
        for task in self.any.add().chain(of.into_iter().flatten()) {
            self.met(task);
        }
    }

    /// The put of a task has been acknowledged.
    pub fn acked(&mut self, task: u32) {
        let mut at = self.acked.partition_point(|(put, _)| *put < task);
        while let Some((_, waits)) = self.acked.get(at).copied().filter(|(put, _)| *put == task) {
            self.met(waits);
            at += 1;
        }
    }

    /// A task waits for the acknowledgement of this one's put.
    pub fn waits_for_ack(&self, task: u32) -> bool {
        self.acked.binary_search_by_key(&task, |(put, _)| *put).is_ok()
    }

    /// The task that can be done first, and its earliest cycle from the motif's start on.
    fn candidate(&self) -> Option<(u64, u32)> {
        let at = |task: u32| (self.later.get(&task).copied().unwrap_or(0), task);
        let ordered = self.open.get(self.next).filter(|open| open.unmet == 0).map(|_| at(self.next as u32));
        let aside = self.aside.first().map(|task| at(*task));
        ordered.into_iter().chain(aside).min()
    }

    /// The cycle from the motif's start on in which a task can be done, if no message comes; none if there is no such task.
    pub fn next(&self) -> Option<u64> {
        self.candidate().map(|(at, _)| at)
    }

    /// The task that can be done in this cycle, counted from the motif's start.
    pub fn first(&self, cycle: u64) -> Option<u32> {
        self.candidate().filter(|(at, _)| *at <= cycle).map(|(_, task)| task)
    }

    /// A task is done.
    pub fn take(&mut self, task: u32) {
        self.open[task as usize].taken = true;
        self.aside.remove(&task);
        self.left -= 1;
        self.skip();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tasks_aside_do_not_wait_for_those_before_them() {
        let got = |from, channel, messages| Need::Got { from, channel, messages };
        let first = Task { needs: vec![got(1, 0, 2)], ..Task::default() };
        let aside = Task { needs: vec![got(1, 3, 1), Need::Acked(2)], aside: true, ..Task::default() };
        let last = Task { at: 10, ..Task::default() };
        let mut schedule = Schedule::new(&[first, aside, last]);
        assert_eq!((schedule.first(99), schedule.next()), (None, None));
        schedule.got(1, 3);
        schedule.got(1, 0);
        assert_eq!(schedule.first(99), None);
        schedule.acked(2);
        assert_eq!(schedule.first(0), Some(1));
        schedule.take(1);
        schedule.got(1, 0);
        assert_eq!(schedule.first(0), Some(0));
        schedule.take(0);
        assert_eq!((schedule.first(9), schedule.next(), schedule.is_over()), (None, Some(10), false));
        assert_eq!(schedule.first(10), Some(2));
        schedule.take(2);
        assert!(schedule.is_over());
    }
}
