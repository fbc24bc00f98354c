//! `--message-field` and `--message-end`: messages that a field of the frame names.

use anyhow::{bail, ensure, Context, Result};
use spindle::rule::MessageRule;
use spindle::rule_table::Action;
use spindle::{ContextId, Rule};

/// What names the messages of a run.
#[derive(clap::Args, Clone, Debug, Default)]
pub struct MessageFieldArguments {
    /// Four bytes of the frame that name its message, such as 'udp[10:4]' or 'ip.src': handlers run per message. The packets of a
    /// message come in order, until --message-end holds for one. Frames without the header are left to other rules.
    #[arg(long, value_name = "PLACE", conflicts_with = "messages")]
    message_field: Option<String>,
    /// One comparison that holds for the last packet of a message, such as 'udp[8:2] >= 0x8000'.
    #[arg(long, value_name = "RULE")]
    message_end: Option<String>,
}

impl MessageFieldArguments {
    /// Place and end as they were given, if both were.
    pub fn texts(&self) -> Option<(&str, &str)> {
        self.message_field.as_deref().zip(self.message_end.as_deref())
    }

    /// The rule of messages that a field names, for frames of these rules; `None` if the options are not given.
    pub fn rule(&self, rules: &[Rule]) -> Result<Option<MessageRule>> {
        match (&self.message_field, &self.message_end) {
            (None, None) => Ok(None),
            (Some(field), Some(end)) => {
                let rule =
                    MessageRule::parse(field, end).context("--message-field and --message-end are not understood")?;
                for wanted in rules {
                    ensure!(
                        !rule.of(wanted, ContextId(0)).0.alternatives().is_empty(),
                        "--match '{}' takes no frame that has the headers of --message-field and --message-end; take one of them out",
                        wanted.text()
                    );
                }
                Ok(Some(rule))
            }
            (Some(_), None) => bail!(
                "--message-field needs --message-end: a message that a field names has no \
                length, so a test has to end it"
            ),
            (None, Some(_)) => bail!(
                "--message-end needs --message-field: messages of the Spindle header have a \
                length; give the four bytes that name the message"
            ),
        }
    }
}

/// The rule and what becomes of its frames: messages by field if there are any, else `packets`.
pub fn delivery(by_field: Option<&MessageRule>, rule: &Rule, context: ContextId, packets: Action) -> (Rule, Action) {
    match by_field {
        Some(by_field) => {
            let (rule, delivery) = by_field.of(rule, context);
            (rule, Action::Deliver(delivery))
        }
        None => (rule.clone(), packets),
    }
}
