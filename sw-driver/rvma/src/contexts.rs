//! Handlers of a process: images in execution contexts, the rules that start them, and what they report.

use crate::node::{refused, Node};
use crate::process::Nic;
use crate::waiting::Sign;
use anyhow::Result;
use spindle::counters::ContextCounters;
use spindle::rule_table::Action;
use spindle::{ContextId, ContextOptions, EventKind, Image, Outcome, Rule};
use std::sync::atomic::{AtomicBool, Ordering};

/// Nanoseconds that [`Context::unload`] waits for live messages.
const DRAIN: u64 = 1_000_000;

/// An image in an execution context. It ends with its last owner.
pub struct Context {
    nic: Nic,
    id: ContextId,
    unloaded: AtomicBool,
}

impl Context {
    /// Loads an image and activates its context.
    ///
    /// # Errors
    /// The image cannot run on the card, there is no room, or host memory of the options is not registered.
    pub fn load(nic: &Nic, image: &[u8], options: ContextOptions) -> Result<Context> {
        let image = Image::parse(image).map_err(spindle::Error::from)?;
        if let Some((start, bytes)) = options.host_region {
            if !nic.covers(&(start..start.saturating_add(bytes.into()))) {
                return refused("the host memory of the context is not registered; register it first");
            }
        }
        let options = ContextOptions { process: nic.process() as u8, ..options };
        let mut driver = nic.node().driver();
        let id = driver.install(&image, &options)?;
        driver.activate(id)?;
        Ok(Context { nic: nic.clone(), id, unloaded: AtomicBool::new(false) })
    }

    /// Its number on the card.
    pub fn number(&self) -> usize {
        self.id.0
    }

    /// Likewise, for the driver.
    pub fn id(&self) -> ContextId {
        self.id
    }

    /// Has its handlers run on the frames of a rule.
    ///
    /// # Errors
    /// The card has no room for the rule.
    pub fn connect(&self, rule: Rule, action: Action) -> Result<()> {
        self.live()?;
        self.nic.node().change_rules(|rules| rules.push((self.id, rule, action)))
    }

    /// Takes its rules back.
    ///
    /// # Errors
    /// The card is gone.
    pub fn disconnect(&self) -> Result<()> {
        self.nic.node().change_rules(|rules| rules.retain(|(context, ..)| *context != self.id))
    }

    /// Bytes of its memory.
    ///
    /// # Errors
    /// They are not in its memory.
    pub fn read_state(&self, offset: usize, bytes: &mut [u8]) -> Result<()> {
        self.live()?;
        Ok(self.nic.node().driver().read_state(self.id, offset, bytes)?)
    }

    /// What its tasks have used since it was loaded, and which of its frames were dropped.
    ///
    /// # Errors
    /// It is unloaded, or the card does not answer.
    pub fn counters(&self) -> Result<ContextCounters> {
        self.live()?;
        Ok(self.nic.node().driver().context_counters(self.id)?)
    }

    /// Runs its image's `task_handler` with this argument after so many cycles of the card, 0 = at once.
    ///
    /// # Errors
    /// The delay is 2^31 cycles or more, the image has no task handler, or 16 tasks of the context wait.
    pub fn start_task(&self, argument: u64, delay: u32) -> Result<()> {
        self.live()?;
        Ok(self.nic.node().driver().start_task(self.id, argument, delay)?)
    }

    /// Cancels one task of it that waits with this argument.
    ///
    /// # Errors
    /// None does.
    pub fn cancel_task(&self, argument: u64) -> Result<()> {
        self.live()?;
        if self.nic.node().driver().cancel_task(self.id, argument)? {
            return Ok(());
        }
        crate::node::argument(format!(
            "no task of the context waits with the argument {argument:#x}; it has begun, or was not started"
        ))
    }

    /// Writes bytes of its memory.
    ///
    /// # Errors
    /// They are not in its memory.
    pub fn write_state(&self, offset: usize, bytes: &[u8]) -> Result<()> {
        self.live()?;
        Ok(self.nic.node().driver().write_state(self.id, offset, bytes)?)
    }

    fn live(&self) -> Result<()> {
        if self.unloaded.load(Ordering::Acquire) {
            return refused("the context is unloaded; load the image again");
        }
        Ok(())
    }

    /// Ends the context.
    ///
    /// # Errors
    /// Messages of it are alive.
    pub fn unload(&self) -> Result<()> {
        self.live()?;
        self.disconnect()?;
        let node = self.nic.node();
        node.driver().deactivate(self.id)?;
        let drained =
            node.until(DRAIN, Sign::default(), || Ok((node.driver().live_messages(self.id)? == 0).then_some(())))?;
        if drained.is_none() {
            return refused(format!(
                "messages of context {} are alive; unload it again when they have ended",
                self.id.0
            ));
        }
        node.driver().remove(self.id)?;
        self.unloaded.store(true, Ordering::Release);
        Ok(())
    }
}

impl Drop for Context {
    fn drop(&mut self) {
        // A context that is unloaded, and a card that is gone, need nothing; live messages keep a context until the next reset.
        let _ = self.unload();
    }
}

impl Node {
    /// Changes the rules of contexts. Windows' own rules stay, and the rule of mailboxes is the last one.
    fn change_rules(&self, change: impl FnOnce(&mut Vec<(ContextId, Rule, Action)>)) -> Result<()> {
        let mut rules = self.rules();
        let before = rules.clone();
        change(&mut rules);
        let mailboxes: Rule = "spindle".parse().map_err(spindle::Error::from)?;
        let all = rules.iter().map(|(_, rule, action)| (rule, *action)).chain([(&mailboxes, Action::Mailbox)]);
        let done = self.driver().replace_rules(all);
        if done.is_err() {
            *rules = before;
        }
        Ok(done?)
    }
}

/// `SPIN_Event`. What a field has depends on the kind ([`kind`]).
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Event {
    /// A number of [`kind`].
    pub kind: u8,
    /// How a message ended, the cause of a fault, or the status of a buffer.
    pub code: u8,
    /// Number of the context on the card.
    pub context: u16,
    /// Number of the message or mailbox, or the program counter of a fault.
    pub id: u32,
    /// Bytes of the message, buffer or text, or how many events were lost.
    pub length: u32,
    reserved: u32,
    /// The handler's 64 bits, match bits, the address of a fault or of a buffer, the argument of a task.
    pub user: u64,
    /// What a handler printed; the first [`Event::length`] bytes count.
    pub text: [u8; 8],
}

/// Kinds of events.
pub mod kind {
    /// A message ended: `SPIN_MESSAGE`.
    pub const MESSAGE: u8 = 1;
    /// A handler was ended: `SPIN_FAULT`.
    pub const FAULT: u8 = 2;
    /// A handler printed: `SPIN_PRINT`.
    pub const PRINT: u8 = 3;
    /// A handler's event: `SPIN_USER`.
    pub const USER: u8 = 4;
    /// A handler completed its message: `SPIN_COMPLETE`.
    pub const COMPLETE: u8 = 5;
    /// A buffer of a window ended: `SPIN_BUFFER`.
    pub const BUFFER: u8 = 6;
    /// Events found no room: `SPIN_LOST`.
    pub const LOST: u8 = 7;
    /// An event that the library does not know: `SPIN_OTHER`.
    pub const OTHER: u8 = 8;
    /// A task failed: `SPIN_TASK_FAILED`.
    pub const TASK_FAILED: u8 = 9;
}

impl Event {
    /// So many events that the library could not keep.
    pub fn lost(count: u32) -> Event {
        Event { kind: kind::LOST, length: count, ..Event::default() }
    }

    /// The event of a program; `None`: it is the library's own.
    pub fn of(event: &spindle::Event) -> Option<Event> {
        let base = Event { context: event.context.0 as u16, ..Event::default() };
        Some(match &event.kind {
            EventKind::Put { .. } => return None,
            EventKind::Message { outcome, id, length, match_bits, .. } => {
                let code = match outcome {
                    Outcome::Done => 0,
                    Outcome::Dropped => 1,
                    Outcome::Failed => 2,
                    Outcome::Aged => 3,
                };
                Event { kind: kind::MESSAGE, code, id: *id, length: *length, user: *match_bits, ..base }
            }
            EventKind::TaskFailed { argument } => Event { kind: kind::TASK_FAILED, user: *argument, ..base },
            EventKind::Fault(fault) => {
                Event { kind: kind::FAULT, code: fault.cause, id: fault.pc, user: fault.address.into(), ..base }
            }
            EventKind::Print(print) => {
                let mut text = [0; 8];
                let length = print.text.len().min(text.len());
                text[..length].copy_from_slice(&print.text[..length]);
                Event { kind: kind::PRINT, length: length as u32, text, ..base }
            }
            EventKind::User { user, length } => Event { kind: kind::USER, user: *user, length: *length, ..base },
            EventKind::Complete { user, length } => {
                Event { kind: kind::COMPLETE, user: *user, length: *length, ..base }
            }
            EventKind::Buffer { mailbox, status, length, buffer, .. } => {
                Event { kind: kind::BUFFER, code: *status, id: *mailbox, length: *length, user: *buffer, ..base }
            }
            EventKind::Lost(count) => Event::lost(*count),
            EventKind::Unknown(code) => Event { kind: kind::OTHER, code: *code, ..base },
            _ => Event { kind: kind::OTHER, ..base },
        })
    }
}

impl Nic {
    /// The next event of the process that is not the library's own, at most `limit` nanoseconds of the card's time.
    ///
    /// # Errors
    /// None came, or the card is gone.
    pub fn next_event(&self, limit: u64) -> Result<Event> {
        match self.node().until(limit, self.event(), || self.take_event())? {
            Some(event) => Ok(event),
            None => Err(self.timeout(format!("an event of process {}", self.process()), limit)),
        }
    }
}
