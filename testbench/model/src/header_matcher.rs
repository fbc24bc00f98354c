//! What the header matcher decides.

use spindle_contract::descriptors::action;
use spindle_contract::params::{MATCH_TERMS, MATCH_WORDS};
use spindle_contract::reasons;

/// A match term: holds when `low <= (word & mask) <= high`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Term {
    /// Match word.
    pub word: usize,
    /// Bits that count.
    pub mask: u32,
    /// Lowest value.
    pub low: u32,
    /// Highest value.
    pub high: u32,
}

/// A match rule.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Rule {
    /// Takes part.
    pub valid: bool,
    /// Terms that must hold.
    pub positive: u32,
    /// Terms that must not hold.
    pub negative: u32,
    /// `descriptors::action`.
    pub action: u8,
    /// Execution context.
    pub context: u8,
    /// The Spindle header names the message.
    pub per_message: bool,
}

/// What becomes of a frame that the parser accepted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Match {
    /// The number of the winning rule.
    Rule(usize),
    /// It is dropped for this reason.
    Drop(usize),
}

/// The rule that wins among `rules`, for the match words of a frame.
pub fn matches(words: &[u32; MATCH_WORDS], terms: &[Term; MATCH_TERMS], rules: &[Rule]) -> Match {
    let holds = |t: usize| (terms[t].low..=terms[t].high).contains(&(words[terms[t].word] & terms[t].mask));
    let wants = |r: &Rule| {
        r.valid
            && (0..MATCH_TERMS)
                .all(|t| (r.positive >> t & 1 == 0 || holds(t)) && (r.negative >> t & 1 == 0 || !holds(t)))
    };
    match rules.iter().position(wants) {
        None => Match::Drop(reasons::NO_RULE),
        Some(r) if matches!(rules[r].action, action::CONTEXT | action::MAILBOX) => Match::Rule(r),
        Some(_) => Match::Drop(reasons::RULE_DROP),
    }
}
