//! Messages that a field of the frame names.

use super::{parse, Literal, Rule, Source, SyntaxError, Term};
use crate::rule_table::{Delivery, Message};
use crate::ContextId;

/// What names a message and what ends it, besides the rule that chooses its frames.
///
/// The packets of such a message must arrive in order; the next packet of that name after the last one begins a new message.
///
/// ```
/// use spindle::rule::{MessageRule, Rule};
/// use spindle::ContextId;
/// let slmp = MessageRule::parse("udp[10:4]", "udp[8:2] >= 0x8000")?;
/// let (rule, delivery) = slmp.of(&"udp.dport == 9330".parse()?, ContextId(0));
/// assert!(delivery.end.is_some() && rule.alternatives().len() == 1);
/// # Ok::<(), spindle::rule::SyntaxError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MessageRule {
    field: Source,
    end: Term,
    /// The headers of both are there.
    headers: Vec<Literal>,
}

impl MessageRule {
    /// Of the place of four bytes that names the message, such as `udp[10:4]`, and the test of its last packet, such as
    /// `udp[8:2] >= 0x8000`.
    ///
    /// # Errors
    /// The place does not have four bytes, or the end is not one comparison.
    pub fn parse(field: &str, end: &str) -> Result<MessageRule, SyntaxError> {
        let (field, mut headers) = parse::word(field)?;
        let rule: Rule = end.parse()?;
        let wrong = || {
            SyntaxError::new(
                end,
                0,
                "the end of a message is one comparison without `!`, `!=` and `||`, such as `udp[8:2] >= 0x8000`",
            )
        };
        let [alternative] = rule.alternatives() else { return Err(wrong()) };
        let mut ends = None;
        for literal in &alternative.positive {
            match literal {
                Literal::Flag(_) => headers.push(*literal),
                Literal::Term(term) if ends.is_none() => ends = Some(*term),
                Literal::Term(_) => return Err(wrong()),
            }
        }
        let end = ends.filter(|_| alternative.negative.is_empty()).ok_or_else(wrong)?;
        headers.sort();
        headers.dedup();
        Ok(MessageRule { field, end, headers })
    }

    /// What a rule becomes, and what it does: its frames go to the context, if they have the headers that the field and the end are
    /// looked for in.
    pub fn of(&self, rule: &Rule, context: ContextId) -> (Rule, Delivery) {
        let message = Message::Field(self.field);
        (rule.with(&self.headers), Delivery { context, message, end: Some(self.end), to_host: false })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_ends() {
        let slmp = MessageRule::parse("udp[10:4]", "udp[8:2] >= 0x8000").unwrap();
        assert_eq!(slmp.field, Source::Frame { offset: 44, behind_tag: true });
        assert_eq!((slmp.end.low, slmp.end.high, slmp.headers.len()), (0x8000_0000, 0xffff_0000, 1));
        let (rule, _) = slmp.of(&Rule::any(), ContextId(3));
        assert_eq!(rule.alternatives()[0].positive, slmp.headers);
        assert!(MessageRule::parse("ip.src", "frame.len < 100").unwrap().headers.len() == 1);
    }

    #[test]
    fn what_the_card_cannot_do_is_refused() {
        for (field, end, column, words) in [
            ("udp.dport", "udp[8] == 1", 1, "32 bits"),
            ("udp", "udp[8] == 1", 1, "32 bits"),
            ("udp[10:4] == 3", "udp[8] == 1", 11, "should end"),
            ("udp[11:4]", "udp[8] == 1", 5, "even"),
            ("nonsense", "udp[8] == 1", 1, "no field"),
            ("", "udp[8] == 1", 1, "four bytes"),
            ("udp[10:4]", "udp", 1, "one comparison"),
            ("udp[10:4]", "udp[8] == 1 || udp[8] == 2", 1, "one comparison"),
            ("udp[10:4]", "udp[8] == 1 && udp[12] == 2", 1, "one comparison"),
            ("udp[10:4]", "udp[8] != 1", 1, "one comparison"),
            ("udp[10:4]", "udp[8] = 1", 8, "=="),
        ] {
            let error = MessageRule::parse(field, end).unwrap_err();
            assert!(error.to_string().contains(words), "{field} {end}: {error}");
            assert_eq!(error.column(), column, "{field} {end}: {error}");
        }
    }
}
