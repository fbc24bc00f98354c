//! The fate ports: the rule, the context, the message, the handlers and the end of each frame.
//!
//! The NIC reports them beside its trace points: `trace_join`, `trace_end`, `trace_task` (descriptors of those names in the
//! contract) and `trace_threads`, the hardware thread of each start of a handler, and `trace_mailbox`, the mailbox that
//! takes a frame.

use anyhow::Result;
use spindle_contract::descriptors::{Descriptor, DESCRIPTORS};
use spindle_harness::{Model, Port};

/// How a frame ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// Its handlers returned success.
    Handled,
    /// It was written to host memory.
    Placed,
    /// It was dropped, for this reason of `reasons::DROP_REASONS`.
    Dropped(usize),
}

/// A step of a frame through the NIC.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// The ingress join has the frame and its rule.
    Judged {
        /// Slot of the matching rule in the header matcher, and the rule's context if its action is one.
        rule: Option<(usize, Option<usize>)>,
        /// The frame goes on to the scheduler; else an [`Step::Ended`] of the same cycle gives the reason.
        passed: bool,
    },
    /// The frame joined a message of the message table.
    Joined {
        /// Slot of the message.
        slot: usize,
        /// The message begins with the frame.
        begins: bool,
    },
    /// A handler was sent to an HPU.
    Sent {
        /// 0 header, 1 payload, 2 completion.
        kind: u8,
        /// Slot of the message.
        slot: usize,
        /// HPU, counted over all clusters.
        unit: usize,
    },
    /// A handler fetched its first instruction.
    Started {
        /// HPU, counted over all clusters.
        unit: usize,
        /// Hardware thread.
        thread: u8,
    },
    /// A mailbox takes the frame.
    Bound {
        /// Number of the mailbox.
        mailbox: usize,
    },
    /// The frame came to its end.
    Ended(End),
}

/// A step, of a frame, in a cycle.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FateEvent {
    /// Cycle since reset.
    pub cycle: u64,
    /// Frame sequence number.
    pub frame: u16,
    /// What happened.
    pub step: Step,
}

/// A record on a port, with the layout of its descriptor.
struct Record {
    layout: &'static Descriptor,
    word: u64,
}

impl Record {
    fn get(&self, name: &str) -> u64 {
        let mut at = 0;
        for field in self.layout.fields {
            if field.name == name {
                return self.word >> at & ((1 << field.bits) - 1);
            }
            at += field.bits;
        }
        unreachable!("the descriptor {} has no field {name}", self.layout.name)
    }

    fn is(&self, name: &str) -> bool {
        self.get(name) == 1
    }
}

/// A port with a descriptor.
struct RecordPort {
    port: Port,
    layout: &'static Descriptor,
}

impl RecordPort {
    fn new(model: &Model, port: &str, descriptor: &str) -> Result<Self> {
        let layout = DESCRIPTORS.iter().find(|layout| layout.name == descriptor);
        Ok(Self {
            port: model.port(port)?,
            layout: layout.expect("the contract has the descriptors of the fate ports"),
        })
    }

    fn read(&self, model: &Model) -> Record {
        Record { layout: self.layout, word: model.get(self.port) }
    }
}

/// The fate ports of a NIC.
pub(crate) struct FatePorts {
    join: RecordPort,
    end: RecordPort,
    task: RecordPort,
    threads: Port,
    mailbox: Port,
    hpus: usize,
}

impl FatePorts {
    /// Looks the ports up; a cluster has `hpus` HPUs.
    ///
    /// # Errors
    /// The design was emitted without them.
    pub fn new(model: &Model, hpus: usize) -> Result<Self> {
        Ok(Self {
            join: RecordPort::new(model, "trace_join", "join_trace")?,
            end: RecordPort::new(model, "trace_end", "end_trace")?,
            task: RecordPort::new(model, "trace_task", "task_trace")?,
            threads: model.port("trace_threads")?,
            mailbox: model.port("trace_mailbox")?,
            hpus,
        })
    }

    /// Hands over the steps of this cycle, but [`Step::Started`] and [`Step::Bound`].
    pub fn sample(&self, model: &Model, mut sink: impl FnMut(u16, Step)) {
        let join = self.join.read(model);
        if join.is("valid") {
            let frame = join.get("frame") as u16;
            let of_context = join.get("action") == u64::from(spindle_contract::descriptors::action::CONTEXT);
            let context = of_context.then(|| join.get("context") as usize);
            let rule = join.is("ruled").then(|| (join.get("rule") as usize, context));
            let dropped = join.is("dropped");
            sink(frame, Step::Judged { rule, passed: !dropped });
            if dropped {
                sink(frame, Step::Ended(End::Dropped(join.get("reason") as usize)));
            }
        }
        let end = self.end.read(model);
        let frame = end.get("frame") as u16;
        if end.is("joined") {
            sink(frame, Step::Joined { slot: end.get("slot") as usize, begins: end.is("begins") });
        }
        let ends =
            [("handled", End::Handled), ("placed", End::Placed), ("dropped", End::Dropped(end.get("reason") as usize))];
        for (_, how) in ends.iter().filter(|(field, _)| end.is(field)) {
            sink(frame, Step::Ended(*how));
        }
        let task = self.task.read(model);
        if task.is("valid") {
            let unit = task.get("cluster") as usize * self.hpus + task.get("hpu") as usize;
            let (kind, slot) = (task.get("kind") as u8, task.get("slot") as usize);
            sink(task.get("frame") as u16, Step::Sent { kind, slot, unit });
        }
    }

    /// Mailbox that takes the frame of lane `looked_up` in this cycle.
    pub fn mailbox(&self, model: &Model) -> usize {
        model.get(self.mailbox) as usize
    }

    /// Hardware thread of the handler that starts on an HPU in this cycle.
    pub fn thread(&self, model: &Model, unit: usize) -> u8 {
        (model.get(self.threads) >> unit & 1) as u8
    }
}
