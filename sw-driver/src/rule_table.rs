//! Match rules in the card: slots for rules and for the terms that they share.

use crate::rule::{Conjunction, Rule, Term};
use crate::{Bar, ContextId, Device, Error, HostMemory, Result};
use spindle_contract::descriptors::action;
use spindle_contract::params::MATCH_TERMS;
use spindle_contract::registers::packet;

/// What becomes of the frames that a rule wants.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// Dropped and counted.
    Drop,
    /// Handlers of this context run; each frame is a message.
    Context(ContextId),
    /// Handlers of this context run; the Spindle header names the message.
    ContextPerMessage(ContextId),
    /// Placed through the mailbox that the Spindle header names.
    Mailbox,
}

impl Action {
    /// Value of the register RULE_ACTION, valid.
    fn bits(self) -> u32 {
        let (action, context, per_message) = match self {
            Action::Drop => (action::DROP, 0, 0),
            Action::Context(context) => (action::CONTEXT, context.0, 0),
            Action::ContextPerMessage(context) => (action::CONTEXT, context.0, 1),
            Action::Mailbox => (action::MAILBOX, 0, 1),
        };
        1 << 31 | per_message << 8 | (context as u32) << 4 | u32::from(action)
    }
}

/// Which slots are taken. Rules are only added and cleared together, so terms need no count of users.
pub(crate) struct RuleTable {
    terms: Vec<Term>,
    rules: usize,
    slots: usize,
}

impl RuleTable {
    pub(crate) fn new(slots: usize) -> Self {
        RuleTable { terms: Vec::new(), rules: 0, slots }
    }

    /// Slots of the terms of `alternatives`, new ones appended to `terms`.
    fn masks(terms: &mut Vec<Term>, alternatives: &[Conjunction]) -> Vec<(u32, u32)> {
        let mut slot = |term: &Term| {
            let found = terms.iter().position(|known| known == term);
            found.unwrap_or_else(|| {
                terms.push(*term);
                terms.len() - 1
            })
        };
        // A slot beyond the hardware's is refused by the caller; it must not overflow the shift here.
        let mut mask = |terms: &[Term]| {
            terms.iter().fold(0, |mask, term| mask | 1u64.checked_shl(slot(term) as u32).unwrap_or(0)) as u32
        };
        alternatives.iter().map(|alternative| (mask(&alternative.positive), mask(&alternative.negative))).collect()
    }
}

impl<B: Bar, M: HostMemory> Device<B, M> {
    /// Adds a rule behind those that are there: the first rule that matches decides.
    pub fn add_rule(&mut self, rule: &Rule, action: Action) -> Result<()> {
        let mut terms = self.rules.terms.clone();
        let masks = RuleTable::masks(&mut terms, rule.alternatives());
        if terms.len() > MATCH_TERMS {
            let new = terms.len() - self.rules.terms.len();
            return Err(Error::Full {
                what: "the terms of the rule",
                wanted: new,
                free: MATCH_TERMS - self.rules.terms.len(),
                cure: "use fewer distinct tests",
            });
        }
        let free = self.rules.slots - self.rules.rules;
        if masks.len() > free {
            return Err(Error::Full {
                what: "the alternatives of the rule",
                wanted: masks.len(),
                free,
                cure: "use fewer rules or `||`",
            });
        }
        for (slot, term) in terms.iter().enumerate().skip(self.rules.terms.len()) {
            let staging = [
                (packet::TERM_WORD, term.word as u32),
                (packet::TERM_MASK, term.mask),
                (packet::TERM_LOW, term.low),
                (packet::TERM_HIGH, term.high),
                (packet::TERM_COMMIT, slot as u32),
            ];
            self.stage(&staging)?;
        }
        self.rules.terms = terms;
        for (positive, negative) in masks {
            let slot = self.rules.rules as u32;
            self.stage(&[
                (packet::RULE_POSITIVE, positive),
                (packet::RULE_NEGATIVE, negative),
                (packet::RULE_ACTION, action.bits()),
                (packet::RULE_COMMIT, slot),
            ])?;
            self.rules.rules += 1;
        }
        Ok(())
    }

    /// Removes all rules.
    pub fn clear_rules(&mut self) -> Result<()> {
        for slot in 0..self.rules.slots as u32 {
            self.stage(&[(packet::RULE_ACTION, 0), (packet::RULE_COMMIT, slot)])?;
        }
        self.rules = RuleTable::new(self.rules.slots);
        Ok(())
    }

    fn stage(&mut self, writes: &[(u32, u32)]) -> Result<()> {
        writes.iter().try_for_each(|(register, value)| self.bar.write32(packet::BASE + register, *value))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn terms_are_shared() {
        let mut terms = Vec::new();
        let first: Rule = "udp.dport == 9 && ip.src in 10.0.0.0/8".parse().unwrap();
        let second: Rule = "udp.dport == 10 && ip.src in 10.0.0.0/8".parse().unwrap();
        RuleTable::masks(&mut terms, first.alternatives());
        let before = terms.len();
        let masks = RuleTable::masks(&mut terms, second.alternatives());
        assert_eq!(terms.len(), before + 1);
        assert_eq!(masks.len(), 1);
        assert_eq!(masks[0].0.count_ones() as usize, second.alternatives()[0].positive.len());
    }
}
