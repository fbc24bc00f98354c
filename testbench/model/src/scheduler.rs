//! What sPIN promises of messages and packets, as a judge of the payload scheduler.
//!
//! The judge is told everything that passes the scheduler's ports, in order. It knows which message each frame belongs to from
//! whoever made the traffic, not from header fields. Each observation is checked against the rules of order; [`Judge::finish`]
//! checks that nothing that was owed is missing, and says what every counter must be.

use spindle_contract::{descriptors::kind, memory_map as code, reasons};
use std::collections::HashMap;

/// Which handlers a context has.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Handlers {
    /// Header handler.
    pub header: bool,
    /// Payload handler.
    pub payload: bool,
    /// Completion handler.
    pub completion: bool,
}

/// Where a message goes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Target {
    /// To the handlers of an execution context.
    Context(Handlers),
    /// To a mailbox.
    Mailbox,
    /// Nowhere: each of its frames is dropped for this reason.
    Refused(usize),
}

/// What a handler's end means.
#[derive(Clone, Copy, Debug, PartialEq)]
enum End {
    Process,
    Drop,
    Proceed,
    Fail,
}

#[derive(Clone, Copy, Debug, Default, PartialEq)]
enum Run {
    #[default]
    Never,
    Running,
    Ended,
}

#[derive(Debug)]
struct Message {
    target: Target,
    bytes: u64,
    arrived: u64,
    slot: Option<u64>,
    header: Run,
    header_end: Option<End>,
    completion: Run,
    failed: bool,
    completion_failed: bool,
    dropped: u64,
    flow_control: bool,
    frames: Vec<u64>,
}

#[derive(Debug)]
struct Frame {
    message: usize,
    pkt: u64,
    payload: u64,
    task: Run,
    dropped: bool,
    failed: bool,
    /// A handler asked for its placement.
    commanded: bool,
    placement: Run,
    placed: bool,
    reason: usize,
    freed: bool,
}

/// What the counters must say.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Counts {
    /// FRAMES_HANDLED.
    pub handled: u64,
    /// FRAMES_PLACED.
    pub placed: u64,
    /// DROPS.
    pub drops: [u64; 32],
    /// FRAMES_TO_HPU.
    pub to_hpu: u64,
    /// FRAMES_TO_MAILBOX.
    pub to_mailbox: u64,
    /// MESSAGES_DONE.
    pub messages_done: u64,
    /// MESSAGES_FAILED.
    pub messages_failed: u64,
}

/// See the head of this file.
#[derive(Debug, Default)]
pub struct Judge {
    messages: Vec<Message>,
    frames: HashMap<u64, Frame>,
    owners: HashMap<u64, u64>,
}

macro_rules! must {
    ($condition:expr, $($text:tt)*) => { if !$condition { return Err(format!($($text)*)); } };
}

impl Judge {
    /// A message of that many bytes; gives its number.
    pub fn message(&mut self, target: Target, bytes: u64) -> usize {
        let header = matches!(target, Target::Context(Handlers { header: true, .. }));
        self.messages.push(Message {
            target,
            bytes,
            arrived: 0,
            slot: None,
            header: Run::Never,
            header_end: (!header).then_some(End::Process),
            completion: Run::Never,
            failed: false,
            completion_failed: false,
            dropped: 0,
            flow_control: false,
            frames: vec![],
        });
        self.messages.len() - 1
    }

    /// A frame is taken by the scheduler.
    pub fn arrives(&mut self, frame: u64, message: usize, pkt: u64, payload: u64) {
        let entry = Frame {
            message,
            pkt,
            payload,
            task: Run::Never,
            dropped: false,
            failed: false,
            commanded: false,
            placement: Run::Never,
            placed: false,
            reason: 0,
            freed: false,
        };
        self.frames.insert(frame, entry);
        self.owners.insert(pkt, frame);
        self.messages[message].frames.push(frame);
        self.messages[message].arrived += payload;
    }

    fn look(&mut self, frame: u64) -> Result<(&mut Frame, &mut Message), String> {
        let entry = self.frames.get_mut(&frame).ok_or(format!("frame {frame} has not arrived"))?;
        let message = &mut self.messages[entry.message];
        Ok((entry, message))
    }

    /// The number of the message's slot must not change while it lives.
    fn slot(message: &mut Message, slot: u64) -> Result<(), String> {
        must!(*message.slot.get_or_insert(slot) == slot, "the message moved to slot {slot}");
        Ok(())
    }

    /// A task is handed to the array.
    pub fn task(
        &mut self,
        task: u8,
        frame: u64,
        pkt: u64,
        slot: u64,
        dropped: u64,
        flow_control: bool,
    ) -> Result<(), String> {
        let (all_ended, others) = {
            let index =
                self.frames.get(&frame).ok_or(format!("a task for frame {frame}, which has not arrived"))?.message;
            let open = self.messages[index].frames.iter().filter(|f| !self.frames[f].freed).count();
            let idle = self.messages[index]
                .frames
                .iter()
                .all(|f| self.frames[f].task != Run::Running && self.frames[f].placement != Run::Running);
            (idle, open)
        };
        let (entry, message) = self.look(frame)?;
        let Target::Context(handlers) = message.target else {
            return Err(format!("a task for frame {frame}, which no context wants"));
        };
        must!(entry.pkt == pkt && !entry.freed, "task of frame {frame} names packet {pkt}, which is not its own");
        Self::slot(message, slot)?;
        match task {
            kind::HEADER => {
                must!(handlers.header, "a header handler that does not exist");
                must!(message.header == Run::Never, "a second header handler for frame {frame}'s message");
                message.header = Run::Running;
                entry.task = Run::Running;
            }
            kind::PAYLOAD => {
                must!(handlers.payload, "a payload handler that does not exist");
                must!(
                    message.header_end == Some(End::Process),
                    "a payload handler for frame {frame} before its header handler allowed it"
                );
                must!(message.completion == Run::Never, "a payload handler behind the completion handler");
                must!(entry.payload > 0, "a payload handler for frame {frame}, which has no payload");
                must!(entry.task == Run::Never, "a second payload handler for frame {frame}");
                entry.task = Run::Running;
            }
            kind::COMPLETION => {
                must!(handlers.completion, "a completion handler that does not exist");
                must!(message.completion == Run::Never, "a second completion handler");
                must!(
                    message.arrived == message.bytes,
                    "a completion handler with {} of {} bytes",
                    message.arrived,
                    message.bytes
                );
                must!(!message.failed, "a completion handler for a failed message");
                must!(
                    matches!(message.header_end, Some(End::Process | End::Proceed)),
                    "a completion handler without leave"
                );
                must!(all_ended, "a completion handler while a handler or a placement of its message is under way");
                must!(others <= message.frames.len(), "packets were lost");
                must!(dropped == message.dropped, "dropped_bytes is {dropped}, not {}", message.dropped);
                must!(flow_control == message.flow_control, "flow_control is wrong");
                message.completion = Run::Running;
            }
            _ => return Err(format!("a task of kind {task}")),
        }
        Ok(())
    }

    /// A handler ends.
    pub fn returns(&mut self, task: u8, frame: u64, value: u8, fault: bool) -> Result<(), String> {
        let (entry, message) = self.look(frame)?;
        match task {
            kind::HEADER => {
                let end = match value {
                    _ if fault => End::Fail,
                    code::SPIN_PROCESS_DATA | code::SPIN_PROCESS_DATA_PENDING => End::Process,
                    code::SPIN_DROP | code::SPIN_DROP_PENDING => End::Drop,
                    code::SPIN_PROCEED | code::SPIN_PROCEED_PENDING => End::Proceed,
                    _ => End::Fail,
                };
                message.header = Run::Ended;
                message.header_end = Some(end);
                message.failed |= end == End::Fail;
                // Its own payload handler is still to come.
                entry.task = Run::Never;
            }
            kind::PAYLOAD => {
                entry.task = Run::Ended;
                match value {
                    code::SPIN_SUCCESS if !fault => {}
                    code::SPIN_DROP if !fault => {
                        entry.dropped = true;
                        message.dropped += entry.payload;
                    }
                    _ => {
                        entry.failed = true;
                        message.failed = true;
                    }
                }
            }
            _ => {
                message.completion = Run::Ended;
                message.completion_failed =
                    fault || (value != code::SPIN_SUCCESS && value != code::SPIN_SUCCESS_PENDING);
            }
        }
        Ok(())
    }

    /// A running header or payload handler asks for the placement of its packet.
    pub fn commands(&mut self, frame: u64) -> Result<(), String> {
        self.look(frame)?.0.commanded = true;
        Ok(())
    }

    /// A placement is handed to the RVMA engine.
    pub fn placement(&mut self, frame: u64, pkt: u64, slot: Option<u64>) -> Result<(), String> {
        let (entry, message) = self.look(frame)?;
        must!(entry.pkt == pkt && !entry.freed, "placement of frame {frame} names packet {pkt}, which is not its own");
        must!(entry.placement == Run::Never, "a second placement of frame {frame}");
        let single = message.target == Target::Mailbox && entry.payload == message.bytes;
        must!(slot.is_none() == single, "frame {frame} must {}have a slot", if single { "not " } else { "" });
        if let Some(slot) = slot {
            Self::slot(message, slot)?;
        }
        let wanted = message.target == Target::Mailbox || message.header_end == Some(End::Proceed) || entry.commanded;
        must!(wanted, "a placement of frame {frame} that nobody asked for");
        entry.placement = Run::Running;
        Ok(())
    }

    /// The RVMA engine is done with a placement.
    pub fn placed(&mut self, frame: u64, placed: bool, reason: usize) -> Result<(), String> {
        let (entry, message) = self.look(frame)?;
        entry.placement = Run::Ended;
        entry.placed = placed;
        entry.reason = reason;
        message.flow_control |= !placed && reason == reasons::NO_POSTED_BUFFER;
        Ok(())
    }

    /// The cells of a packet return; gives its frame.
    pub fn freed(&mut self, pkt: u64) -> Result<u64, String> {
        let frame = self.owners.remove(&pkt).ok_or(format!("packet {pkt} is freed, but nobody has it"))?;
        let (entry, message) = self.look(frame)?;
        must!(entry.task != Run::Running, "frame {frame} is freed while its handler runs");
        must!(entry.placement != Run::Running, "frame {frame} is freed while it is being placed");
        let waits = message.header_end.is_none() && !matches!(message.target, Target::Refused(_));
        must!(!waits, "frame {frame} is freed before the header handler returned");
        entry.freed = true;
        Ok(frame)
    }

    /// Checks that nothing is missing, and counts.
    pub fn finish(&self) -> Result<Counts, String> {
        let mut counts = Counts::default();
        for (number, frame) in &self.frames {
            must!(frame.freed, "frame {number} was never freed: {frame:?} of {:?}", self.messages[frame.message]);
            let message = &self.messages[frame.message];
            let end = message.header_end;
            match message.target {
                Target::Refused(reason) => {
                    counts.drops[reason] += 1;
                    continue;
                }
                Target::Mailbox => {
                    counts.to_mailbox += 1;
                    must!(frame.placement == Run::Ended, "frame {number} was never placed");
                }
                Target::Context(handlers) => {
                    counts.to_hpu += 1;
                    let owed = end == Some(End::Process) && handlers.payload && frame.payload > 0;
                    must!(!owed || message.failed || frame.task == Run::Ended, "frame {number} had no payload handler");
                    let owed = end == Some(End::Proceed) || frame.commanded;
                    must!(!owed || frame.placement == Run::Ended, "frame {number} was never placed");
                }
            }
            // A frame of a failed message counts as failed unless its own handler had ended well.
            let untouched = frame.task == Run::Never && message.failed && end != Some(End::Proceed);
            if frame.placed {
                counts.placed += 1;
            } else if frame.failed || untouched {
                counts.drops[reasons::HANDLER_FAIL] += 1;
            } else if frame.dropped || end == Some(End::Drop) {
                counts.drops[reasons::HANDLER_DROP] += 1;
            } else if frame.placement == Run::Ended {
                counts.drops[frame.reason] += 1;
            } else {
                counts.handled += 1;
            }
        }
        for message in self.messages.iter().filter(|m| !m.frames.is_empty() && !matches!(m.target, Target::Refused(_)))
        {
            must!(message.arrived == message.bytes, "the traffic is incomplete");
            if let Target::Context(handlers) = message.target {
                must!(
                    !handlers.header || message.header == Run::Ended,
                    "a message without its header handler: {message:?}"
                );
                let owed = handlers.completion
                    && !message.failed
                    && matches!(message.header_end, Some(End::Process | End::Proceed));
                must!(owed == (message.completion == Run::Ended), "a completion handler is missing: {message:?}");
            }
            if message.failed || message.completion_failed {
                counts.messages_failed += 1;
            } else {
                counts.messages_done += 1;
            }
        }
        Ok(counts)
    }
}
