//! What sPIN promises of messages and packets, as a judge of the payload scheduler.
//!
//! The judge is given everything that passes the scheduler's ports, in order. It knows which message each frame belongs to
//! from whoever made the traffic, not from header fields. Each observation is checked against the rules of order;
//! [`Judge::finish`] checks that nothing that was owed is missing, and says what every counter must be.

use spindle_contract::descriptors::overload;
use spindle_contract::{descriptors::kind, events, memory_map as code, reasons};
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

/// What a context may have inside, and what becomes of the rest.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Limits {
    /// Most messages alive, 0 = no limit.
    pub messages: usize,
    /// Most packets inside, 0 = no limit.
    pub packets: usize,
    /// `descriptors::overload`.
    pub overload: u8,
    /// Bytes of user header that the header handler waits for.
    pub user_header: u64,
}

/// Where a message goes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Target {
    /// To the handlers of an execution context.
    Context(usize, Handlers, Limits),
    /// To a mailbox.
    Mailbox,
    /// Nowhere: each of its frames is dropped for this reason.
    Refused(usize),
}

/// A message as its sender knows it.
#[derive(Clone, Copy, Debug)]
pub struct Plan {
    /// Where it goes.
    pub target: Target,
    /// Its length; `None` = it ends with the frame that says so.
    pub bytes: Option<u64>,
    /// The rule wants its packets at the host too.
    pub to_host: bool,
    /// Frames of it will never come.
    pub lossy: bool,
}

/// A frame as its sender knows it.
#[derive(Clone, Copy, Debug)]
pub struct Sent {
    /// Its message.
    pub message: usize,
    /// Its head cell.
    pub pkt: u64,
    /// Its payload bytes.
    pub payload: u64,
    /// At offset 0 of its message.
    pub foremost: bool,
    /// The last of a message without a known length.
    pub ends: bool,
    /// The frame has a sequence number.
    pub sequenced: bool,
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

#[derive(Clone, Debug)]
struct Message {
    plan: Plan,
    joined: u64,
    arrived: u64,
    closed: bool,
    slot: Option<u64>,
    header: Run,
    header_end: Option<End>,
    completion: Run,
    /// A context had no room for its handlers: all is placed.
    bypassed: bool,
    /// A frame came when the context had its quota, so it may be placed instead of handled.
    may_bypass: bool,
    pending: bool,
    failed: bool,
    completion_failed: bool,
    aged: bool,
    reported: bool,
    dropped: u64,
    flow_control: bool,
    frames: Vec<u64>,
}

impl Message {
    fn new(plan: Plan) -> Self {
        let header = matches!(plan.target, Target::Context(_, Handlers { header: true, .. }, _));
        Message {
            plan,
            joined: 0,
            arrived: 0,
            closed: false,
            slot: None,
            header: Run::Never,
            header_end: (!header).then_some(End::Process),
            completion: Run::Never,
            bypassed: false,
            may_bypass: false,
            pending: false,
            failed: false,
            completion_failed: false,
            aged: false,
            reported: false,
            dropped: 0,
            flow_control: false,
            frames: vec![],
        }
    }

    fn complete(&self) -> bool {
        self.plan.bytes.map_or(self.closed, |bytes| self.arrived >= bytes)
    }
}

#[derive(Debug)]
struct Frame {
    sent: Sent,
    /// The message that it joined.
    message: Option<usize>,
    turned_away: bool,
    task: Run,
    dropped: bool,
    failed: bool,
    /// Dropped by the overload rule.
    lost: bool,
    /// Placed by the overload rule.
    bypassed: bool,
    /// A handler asked for its placement.
    commanded: bool,
    placement: Run,
    placed: bool,
    reason: usize,
    freed: bool,
    /// Frames and messages of its context when it came, and messages that had begun until then.
    others: usize,
    living: usize,
    begun: usize,
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
    /// MESSAGES_AGED.
    pub messages_aged: u64,
}

/// The end of a message as a process is informed of it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Report {
    /// `events::message`.
    pub code: u8,
    /// Execution context.
    pub context: usize,
    /// Its bytes.
    pub length: u64,
    /// Bytes dropped.
    pub dropped: u64,
    /// Flow control was triggered.
    pub flow_control: bool,
}

/// See the head of this file.
#[derive(Debug, Default)]
pub struct Judge {
    messages: Vec<Message>,
    /// The messages that lived under each number, the last of them last: one that aged begins anew with its next frame.
    lives: Vec<Vec<usize>>,
    frames: HashMap<u64, Frame>,
    owners: HashMap<u64, u64>,
    /// Frames inside, by context.
    inside: HashMap<usize, usize>,
    /// Messages that live, or have just ended, by context, and how many began.
    living: HashMap<usize, Vec<usize>>,
    begun: HashMap<usize, usize>,
    counts: Counts,
}

macro_rules! must {
    ($condition:expr, $($text:tt)*) => { if !$condition { return Err(format!($($text)*)); } };
}

impl Judge {
    /// A message that will be sent; gives its number.
    pub fn message(&mut self, plan: Plan) -> usize {
        self.messages.push(Message::new(plan));
        self.lives.push(vec![self.messages.len() - 1]);
        self.lives.len() - 1
    }

    /// The message that lives, or lived last, under a number.
    fn current(&self, number: usize) -> usize {
        *self.lives[number].last().expect("each number has a message")
    }

    /// A frame is taken by the scheduler.
    pub fn arrives(&mut self, frame: u64, sent: Sent) {
        let (mut others, mut living, mut begun) = (0, 0, 0);
        if let Target::Context(context, ..) = self.messages[self.current(sent.message)].plan.target {
            let inside = self.inside.entry(context).or_default();
            others = *inside;
            *inside += 1;
            living = self.living(context);
            begun = self.begun.get(&context).copied().unwrap_or(0);
        }
        let entry = Frame {
            sent,
            message: None,
            turned_away: false,
            task: Run::Never,
            dropped: false,
            failed: false,
            lost: false,
            bypassed: false,
            commanded: false,
            placement: Run::Never,
            placed: false,
            reason: 0,
            freed: false,
            others,
            living,
            begun,
        };
        self.frames.insert(frame, entry);
        self.owners.insert(sent.pkt, frame);
    }

    fn look(&mut self, frame: u64) -> Result<(&mut Frame, &mut Message), String> {
        let entry = self.frames.get_mut(&frame).ok_or(format!("frame {frame} has not arrived"))?;
        let index = entry.message.ok_or(format!("frame {frame} has joined no message"))?;
        Ok((entry, &mut self.messages[index]))
    }

    /// A message under this number lives.
    fn alive(&self, number: usize) -> bool {
        let index = self.current(number);
        self.messages[index].joined > 0 && !self.over(index)
    }

    /// The message has ended.
    fn over(&self, index: usize) -> bool {
        let message = &self.messages[index];
        let owed = match message.plan.target {
            Target::Context(_, handlers, _) => {
                handlers.completion && message.completion != Run::Ended && self.may_complete(message)
            }
            _ => false,
        };
        message.aged || (message.complete() && !owed && message.frames.iter().all(|f| self.frames[f].freed))
    }

    fn may_complete(&self, message: &Message) -> bool {
        !message.failed && !message.bypassed && matches!(message.header_end, Some(End::Process | End::Proceed))
    }

    /// A frame of a context joins its message, or is turned away for a reason; with it the overload rule may drop it.
    pub fn psn_commit(&mut self, frame: u64, accepted: bool, dropped: Option<usize>) -> Result<(), String> {
        let sent = self.frames.get(&frame).ok_or(format!("a PSN commit of frame {frame}, which has not arrived"))?.sent;
        let number = sent.message;
        let alive = self.alive(number);
        let index = self.current(number);
        let plan = self.messages[index].plan;
        let Target::Context(context, _, limits) = plan.target else {
            return self.commit_of_context(frame, accepted, dropped);
        };
        let begun = self.begun.entry(context).or_default();
        let entry = self.frames.get_mut(&frame).ok_or("it is there")?;
        // What left since it came counts, what came since it came does not: the decision fell in between.
        let packets_full = limits.packets > 0 && entry.others >= limits.packets;
        let living = entry.living + *begun - entry.begun;
        if !accepted {
            let reason = dropped.ok_or(format!("frame {frame} is turned away without a reason"))?;
            let room = !packets_full && (alive || limits.messages == 0 || living < limits.messages);
            let why = match reason {
                reasons::QUOTA => !alive && !room && limits.overload == overload::DROP,
                reasons::PAUSED => !room && limits.overload == overload::PAUSE,
                reasons::MESSAGE_AGED | reasons::BAD_TRANSPORT => plan.lossy,
                reasons::NO_MESSAGE_SLOT => !alive,
                _ => false,
            };
            must!(why, "frame {frame} is turned away for reason {reason}, of {plan:?}, alive {alive}");
            entry.turned_away = true;
            self.counts.drops[reason] += 1;
            return Ok(());
        }
        let mut index = index;
        if !alive {
            if self.messages[index].joined > 0 {
                must!(self.messages[index].aged, "frame {frame} begins its message anew: {:?}", self.messages[index]);
                index = self.messages.len();
                self.messages.push(Message::new(plan));
                self.lives[number].push(index);
            }
            *begun += 1;
            self.living.entry(context).or_default().push(index);
        }
        let message = &mut self.messages[index];
        must!(!message.complete(), "frame {frame} joins a complete message");
        entry.message = Some(index);
        message.frames.push(frame);
        message.joined += 1;
        message.arrived += sent.payload;
        message.closed |= sent.ends;
        if dropped == Some(reasons::QUOTA) && alive {
            must!(
                packets_full && limits.overload == overload::DROP,
                "frame {frame} is dropped, although there was room"
            );
            must!(!(limits.user_header > 0 && sent.foremost), "the packet with the user header is dropped");
            entry.lost = true;
            message.dropped += sent.payload;
            message.flow_control = true;
        }
        message.may_bypass |= limits.overload == overload::PLACE && (packets_full || limits.messages > 0);
        let header = message.header_end.is_none();
        let short = limits.user_header > sent.payload;
        if header && message.header == Run::Never && sent.foremost && limits.user_header > 0 && short {
            message.header_end = Some(End::Fail);
            message.header = Run::Ended;
            message.failed = true;
        }
        Ok(())
    }

    fn commit_of_context(&mut self, frame: u64, accepted: bool, dropped: Option<usize>) -> Result<(), String> {
        let index = self.current(self.frames[&frame].sent.message);
        let entry = self.frames.get_mut(&frame).ok_or("it is there")?;
        match self.messages[index].plan.target {
            Target::Refused(reason) => {
                must!(!accepted && dropped == Some(reason), "frame {frame} had to be dropped for reason {reason}");
                entry.turned_away = true;
                self.counts.drops[reason] += 1;
            }
            _ => must!(accepted == entry.placed, "frame {frame} was placed: {}, accepted: {accepted}", entry.placed),
        }
        Ok(())
    }

    /// A frame for a mailbox belongs to its message as soon as it arrives: its PSN commit comes later.
    pub fn joins_mailbox(&mut self, frame: u64) {
        let index = self.current(self.frames[&frame].sent.message);
        let entry = self.frames.get_mut(&frame).expect("it has arrived");
        entry.message = Some(index);
        let message = &mut self.messages[index];
        message.frames.push(frame);
        message.joined += 1;
        message.arrived += entry.sent.payload;
    }

    fn living(&mut self, context: usize) -> usize {
        let mut living = self.living.remove(&context).unwrap_or_default();
        living.retain(|index| !self.over(*index));
        let count = living.len();
        self.living.insert(context, living);
        count
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
        let index = self
            .frames
            .get(&frame)
            .and_then(|f| f.message)
            .ok_or(format!("a task for frame {frame}, which no message has"))?;
        let all_ended = self.messages[index]
            .frames
            .iter()
            .all(|f| self.frames[f].task != Run::Running && self.frames[f].placement != Run::Running);
        let (entry, message) = self.look(frame)?;
        let Target::Context(_, handlers, limits) = message.plan.target else {
            return Err(format!("a task for frame {frame}, which no context wants"));
        };
        must!(entry.sent.pkt == pkt && !entry.freed, "task of frame {frame} names packet {pkt}, which is not its own");
        Self::slot(message, slot)?;
        must!(!message.bypassed, "a handler for a message of which none was to run");
        match task {
            kind::HEADER => {
                must!(handlers.header, "a header handler that does not exist");
                must!(message.header == Run::Never, "a second header handler for frame {frame}'s message");
                must!(
                    limits.user_header == 0 || (entry.sent.foremost && entry.sent.payload >= limits.user_header),
                    "a header handler for frame {frame}, which has no user header"
                );
                message.header = Run::Running;
                entry.task = Run::Running;
            }
            kind::PAYLOAD => {
                must!(handlers.payload, "a payload handler that does not exist");
                must!(
                    message.header_end == Some(End::Process),
                    "a payload handler for frame {frame} before its header handler allowed it"
                );
                must!(message.completion == Run::Never, "a payload handler after the completion handler");
                must!(entry.sent.payload > 0, "a payload handler for frame {frame}, which has no payload");
                must!(entry.task == Run::Never, "a second payload handler for frame {frame}");
                must!(!entry.lost && !entry.bypassed, "a payload handler for frame {frame} beyond the quota");
                entry.task = Run::Running;
            }
            kind::COMPLETION => {
                must!(handlers.completion, "a completion handler that does not exist");
                must!(message.completion == Run::Never, "a second completion handler");
                must!(message.complete(), "a completion handler of a message with {} bytes", message.arrived);
                must!(!message.failed, "a completion handler for a failed message");
                must!(
                    matches!(message.header_end, Some(End::Process | End::Proceed)),
                    "a completion handler without leave"
                );
                must!(all_ended, "a completion handler while a handler or a placement of its message is under way");
                must!(dropped == message.dropped, "dropped_bytes is {dropped}, not {}", message.dropped);
                must!(flow_control == message.flow_control || message.may_bypass, "flow_control is wrong");
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
                let codes = [code::SPIN_PROCESS_DATA_PENDING, code::SPIN_DROP_PENDING, code::SPIN_PROCEED_PENDING];
                message.pending |= !fault && codes.contains(&value);
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
                        message.dropped += entry.sent.payload;
                    }
                    _ => {
                        entry.failed = true;
                        message.failed = true;
                    }
                }
            }
            _ => {
                message.completion = Run::Ended;
                message.pending |= !fault && value == code::SPIN_SUCCESS_PENDING;
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
    pub fn placement(
        &mut self,
        frame: u64,
        pkt: u64,
        slot: Option<u64>,
        from_handler: bool,
        pending: bool,
    ) -> Result<(), String> {
        let (entry, message) = self.look(frame)?;
        must!(
            entry.sent.pkt == pkt && !entry.freed,
            "placement of frame {frame} names packet {pkt}, which is not its own"
        );
        must!(entry.placement == Run::Never, "a second placement of frame {frame}");
        let mailbox = message.plan.target == Target::Mailbox;
        let single = mailbox && message.plan.bytes == Some(entry.sent.payload);
        must!(slot.is_none() == single, "frame {frame} must {}have a slot", if single { "not " } else { "" });
        if let Some(slot) = slot {
            Self::slot(message, slot)?;
        }
        let proceeds = message.header_end == Some(End::Proceed);
        let wanted = mailbox || proceeds || entry.commanded || message.plan.to_host;
        if !wanted {
            // No one asked for it: the overload rule did, of the whole message or of this packet.
            must!(message.may_bypass, "a placement of frame {frame} that no one asked for");
            must!(entry.task == Run::Never, "frame {frame} has a handler and is placed");
            entry.bypassed = true;
            message.bypassed |= message.frames.first() == Some(&frame) && message.header == Run::Never;
            message.flow_control = true;
        }
        must!(
            from_handler != (mailbox || message.plan.to_host),
            "frame {frame} is placed with from_handler = {from_handler}"
        );
        // It may have been ordered before the header handler returned.
        let early = entry.commanded || message.plan.to_host || message.may_bypass;
        must!(!pending || message.pending, "frame {frame} is placed as pending");
        must!(
            pending || !message.pending || !proceeds || early,
            "frame {frame} is placed as if its message were not pending"
        );
        entry.placement = Run::Running;
        Ok(())
    }

    /// The RVMA engine is done with a placement.
    pub fn placed(&mut self, frame: u64, placed: bool, reason: usize) -> Result<(), String> {
        let (entry, message) = self.look(frame)?;
        entry.placement = Run::Ended;
        entry.placed = placed;
        entry.reason = reason;
        let unposted = !placed && reason == reasons::NO_POSTED_BUFFER;
        message.flow_control |= unposted;
        // The sequence number, if it has one, is free again, and the frame comes again.
        if unposted
            && entry.sent.sequenced
            && message.plan.target == Target::Mailbox
            && message.plan.bytes != Some(entry.sent.payload)
        {
            message.arrived -= entry.sent.payload;
        }
        Ok(())
    }

    /// The cells of a packet return; gives its frame.
    pub fn freed(&mut self, pkt: u64) -> Result<u64, String> {
        let frame = self.owners.remove(&pkt).ok_or(format!("packet {pkt} is freed, but is not in use"))?;
        let entry = self.frames.get_mut(&frame).ok_or("it has arrived")?;
        must!(entry.task != Run::Running, "frame {frame} is freed while its handler runs");
        must!(entry.placement != Run::Running, "frame {frame} is freed while it is being placed");
        must!(entry.message.is_some() || entry.turned_away, "frame {frame} is freed, but its PSN is not committed");
        entry.freed = true;
        let target = match entry.message {
            Some(index) => {
                let message = &self.messages[index];
                let leave = entry.lost || entry.bypassed || message.plan.lossy || message.bypassed;
                must!(
                    message.header_end.is_some() || leave,
                    "frame {frame} is freed before the header handler returned"
                );
                message.plan.target
            }
            None => {
                let number = entry.sent.message;
                self.messages[self.current(number)].plan.target
            }
        };
        if let Target::Context(context, ..) = target {
            *self.inside.entry(context).or_default() -= 1;
        }
        Ok(frame)
    }

    /// A process is informed of the end of the message that has this number.
    pub fn report(&mut self, number: usize, report: Report) -> Result<(), String> {
        // The first of its lives that is not reported yet.
        let unreported = |i: &&usize| self.messages[**i].joined > 0 && !self.messages[**i].reported;
        let index = *self.lives[number]
            .iter()
            .find(unreported)
            .ok_or(format!("an event of message {number}, which does not live"))?;
        let idle = self.messages[index]
            .frames
            .iter()
            .all(|f| self.frames[f].task != Run::Running && self.frames[f].placement != Run::Running);
        let arrived = self.messages[index].arrived;
        let may_complete = self.may_complete(&self.messages[index]);
        let message = &mut self.messages[index];
        let Target::Context(context, handlers, _) = message.plan.target else {
            return Err(format!("an event of message {number}, which no context has"));
        };
        must!(idle, "an event of message {number}, of which a handler or a placement is under way");
        must!(
            message.completion != Run::Running,
            "an event of message {number} before its completion handler returned"
        );
        message.reported = true;
        let code = if message.failed || message.completion_failed {
            events::message::FAILED
        } else if message.header_end == Some(End::Drop) {
            events::message::DROPPED
        } else if !message.complete() {
            events::message::AGED
        } else {
            events::message::DONE
        };
        if !message.complete() {
            must!(message.plan.lossy, "message {number} ended with {arrived} bytes: {message:?}");
            message.aged = true;
        } else if may_complete && handlers.completion && code == events::message::DONE {
            must!(message.completion == Run::Ended, "message {number} ended without its completion handler");
        }
        must!(!message.pending || code >= events::message::FAILED, "an event of message {number}, which is pending");
        // Each frame of a message that its header handler drops is dropped.
        let dropped = if message.header_end == Some(End::Drop) && code == events::message::DROPPED {
            arrived
        } else {
            message.dropped
        };
        let expected = Report {
            code,
            context,
            length: message.plan.bytes.unwrap_or(arrived),
            // What is placed instead of handled is not dropped with the message.
            dropped: if code == events::message::AGED || message.may_bypass { report.dropped } else { dropped },
            flow_control: if message.may_bypass { report.flow_control } else { message.flow_control },
        };
        must!(report == expected, "message {number}: {report:?} instead of {expected:?}, {message:?}");
        Ok(())
    }

    /// What a frame that joined a message counts as.
    fn count(&mut self, number: u64) -> Result<(), String> {
        let frame = &self.frames[&number];
        let message = &self.messages[frame.message.ok_or("it joined")?];
        let end = message.header_end;
        match message.plan.target {
            Target::Mailbox => {
                self.counts.to_mailbox += 1;
                must!(frame.placement == Run::Ended, "frame {number} was never placed");
            }
            Target::Context(_, handlers, _) => {
                self.counts.to_hpu += 1;
                let spared = frame.lost || frame.bypassed || message.bypassed || message.failed || message.aged;
                let owed = end == Some(End::Process) && handlers.payload && frame.sent.payload > 0;
                must!(!owed || spared || frame.task == Run::Ended, "frame {number} had no payload handler: {frame:?}");
                let owed = (end == Some(End::Proceed) && !message.aged) || frame.commanded || message.plan.to_host;
                must!(!owed || frame.lost || frame.placement == Run::Ended, "frame {number} was never placed");
            }
            Target::Refused(_) => return Err(format!("frame {number} joined a message that no one wants")),
        }
        // A frame of a failed message counts as failed unless its own handler had ended well.
        let untouched = frame.task == Run::Never && message.failed && end != Some(End::Proceed) && !frame.bypassed;
        let payload = matches!(message.plan.target, Target::Context(_, Handlers { payload: true, .. }, _));
        let nothing_to_do = end == Some(End::Process) && !payload;
        if frame.placed {
            self.counts.placed += 1;
        } else if frame.lost {
            self.counts.drops[reasons::QUOTA] += 1;
        } else if frame.failed || untouched {
            self.counts.drops[reasons::HANDLER_FAIL] += 1;
        } else if frame.dropped || (end == Some(End::Drop) && !frame.bypassed) {
            self.counts.drops[reasons::HANDLER_DROP] += 1;
        } else if frame.placement == Run::Ended {
            self.counts.drops[frame.reason] += 1;
        } else if message.aged && frame.task == Run::Never && !nothing_to_do {
            self.counts.drops[reasons::MESSAGE_AGED] += 1;
        } else {
            self.counts.handled += 1;
        }
        Ok(())
    }

    /// Checks that nothing is missing, and counts.
    pub fn finish(mut self) -> Result<Counts, String> {
        let mut numbers: Vec<u64> = self.frames.keys().copied().collect();
        numbers.sort_unstable();
        for number in numbers {
            must!(self.frames[&number].freed, "frame {number} was never freed: {:?}", self.frames[&number]);
            if !self.frames[&number].turned_away {
                self.count(number)?;
            }
        }
        for message in self.messages.iter().filter(|m| m.joined > 0) {
            must!(message.complete() || message.aged, "a message neither complete nor aged: {message:?}");
            if let Target::Context(_, handlers, _) = message.plan.target {
                let header = handlers.header && !message.bypassed && !message.aged;
                must!(!header || message.header == Run::Ended, "a message without its header handler: {message:?}");
                let owed = handlers.completion && !message.aged && self.may_complete(message);
                must!(owed == (message.completion == Run::Ended), "a completion handler is missing: {message:?}");
                must!(message.reported != message.pending || message.reported, "an event is missing: {message:?}");
                let reported = message.reported || message.pending;
                must!(reported, "an event is missing: {message:?}");
            }
            let tombstone = message.header_end == Some(End::Drop);
            if message.failed || message.completion_failed {
                self.counts.messages_failed += 1;
            } else if message.aged && !tombstone {
                self.counts.messages_aged += 1;
            } else {
                self.counts.messages_done += 1;
            }
        }
        Ok(self.counts)
    }
}
