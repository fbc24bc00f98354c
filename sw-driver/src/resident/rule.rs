//! Rules that outlive the program that added them.

use crate::rule::MessageRule;
use crate::rule_table::Action;
use crate::{ContextId, Result, Rule};
use std::fmt;

/// Treatment of the frames of a [`ResidentRule`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Effect {
    /// Placed through the mailbox that the Spindle header names.
    Mailbox,
    /// The whole frame goes to the host, into the window of [`Device::frames_to_host`](crate::Device::frames_to_host); dropped while
    /// there is none.
    Host,
    /// Handlers of the context run; each frame is a message.
    Packets(ContextId),
    /// Handlers of the context run; the Spindle header names the message.
    Messages(ContextId),
    /// Handlers of the context run; these four bytes of the frame name the message, and this test ends it.
    Field {
        /// The context.
        context: ContextId,
        /// The four bytes, such as `udp[10:4]`.
        field: String,
        /// The test of the last packet, such as `udp[8:2] >= 0x8000`.
        end: String,
    },
}

impl Effect {
    /// The context whose handlers run.
    pub fn context(&self) -> Option<ContextId> {
        match self {
            Effect::Mailbox | Effect::Host => None,
            Effect::Packets(context) | Effect::Messages(context) | Effect::Field { context, .. } => Some(*context),
        }
    }
}

impl fmt::Display for Effect {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Effect::Mailbox => f.write_str("mailboxes"),
            Effect::Host => f.write_str("host"),
            Effect::Packets(context) => write!(f, "context {}, per packet", context.0),
            Effect::Messages(context) => write!(f, "context {}, per message", context.0),
            Effect::Field { context, field, .. } => write!(f, "context {}, per message of {field}", context.0),
        }
    }
}

/// A rule that outlives its program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ResidentRule {
    /// Text of the rule; empty: every frame.
    pub rule: String,
    /// Treatment of its frames.
    pub effect: Effect,
}

impl ResidentRule {
    /// The rule and its action.
    pub(super) fn parsed(&self) -> Result<(Rule, Action)> {
        let rule = if self.rule.is_empty() { Rule::any() } else { self.rule.parse()? };
        Ok(match &self.effect {
            Effect::Mailbox => (rule, Action::Mailbox),
            Effect::Host => (rule, Action::Host),
            Effect::Packets(context) => (rule, Action::Context(*context)),
            Effect::Messages(context) => (rule, Action::ContextPerMessage(*context)),
            Effect::Field { context, field, end } => {
                let (rule, delivery) = MessageRule::parse(field, end)?.of(&rule, *context);
                (rule, Action::Deliver(delivery))
            }
        })
    }
}
