//! What the header matcher decides.

use spindle_contract::descriptors::action;
use spindle_contract::params::{MATCH_BYTES, MATCH_FLAGS, MATCH_TERMS, MATCH_WORDS, WORD_TERMS};
use spindle_contract::reasons;

/// Where an extracted word comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Source {
    /// The big-endian word at this byte of a frame without, and at that byte of a frame with a VLAN tag.
    Frame {
        /// Byte without tag.
        untagged: usize,
        /// Byte with tag.
        tagged: usize,
    },
    /// The length of the frame.
    Length,
}

/// A match term: holds when `low <= (word & mask) <= high`; which word, its slot says.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Term {
    /// Bits that count.
    pub mask: u32,
    /// Lowest value.
    pub low: u32,
    /// Highest value.
    pub high: u32,
}

/// A match rule. Literals are the terms, then the flags.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Rule {
    /// Takes part.
    pub valid: bool,
    /// Literals that must hold.
    pub positive: u128,
    /// Literals that must not hold.
    pub negative: u128,
    /// `descriptors::action`.
    pub action: u8,
    /// Execution context.
    pub context: u8,
    /// What a message is: field `message` of RULE_ACTION.
    pub message: u32,
    /// The extracted word that is the message id, less the first that can be.
    pub message_word: usize,
    /// The term that marks the last packet of a message.
    pub end: Option<usize>,
    /// The packet also goes to the host.
    pub to_host: bool,
}

/// Everything that is committed together.
#[derive(Clone, Debug)]
pub struct RuleSet {
    /// By extracted word.
    pub sources: [Source; MATCH_WORDS],
    /// By slot.
    pub terms: [Term; MATCH_TERMS],
    /// By slot.
    pub rules: Vec<Rule>,
    /// There is a host window.
    pub host_window: bool,
    /// Frames without a rule that are no Spindle packets go to it.
    pub host_unmatched: bool,
}

/// Number of the flag `spindle`.
const SPINDLE_FLAG: u32 = 4;

impl RuleSet {
    /// Nothing matches.
    pub fn empty(rules: usize) -> Self {
        RuleSet {
            sources: [Source::Length; MATCH_WORDS],
            terms: [Term::default(); MATCH_TERMS],
            rules: vec![Rule::default(); rules],
            host_window: false,
            host_unmatched: false,
        }
    }
}

/// What a rule is matched against.
#[derive(Clone, Copy, Debug)]
pub struct Headers<'a> {
    /// The frame.
    pub frame: &'a [u8],
    /// It has a VLAN tag.
    pub vlan: bool,
    /// Flags of the rule language, flag 0 lowest.
    pub flags: u32,
}

/// What becomes of a frame that the parser accepted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Match {
    /// It is passed on.
    Rule {
        /// The number of the winning rule.
        number: usize,
        /// The message id, if it is a field.
        message_id: Option<u32>,
        /// It ends its message.
        ends: bool,
    },
    /// It goes to the host window without a rule.
    Unmatched,
    /// It is dropped for this reason.
    Drop(usize),
}

/// The extracted word; bytes after the frame's end are 0.
pub fn extract(source: Source, headers: &Headers) -> u32 {
    match source {
        Source::Length => headers.frame.len() as u32,
        Source::Frame { untagged, tagged } => {
            let at = if headers.vlan { tagged } else { untagged };
            assert!(at + 4 <= MATCH_BYTES, "beyond what words are extracted from");
            (at..at + 4).fold(0, |word, i| word << 8 | u32::from(headers.frame.get(i).copied().unwrap_or(0)))
        }
    }
}

/// The rule that wins.
pub fn matches(set: &RuleSet, headers: &Headers) -> Match {
    let word = |w: usize| extract(set.sources[w], headers);
    let literal = |l: usize| match l.checked_sub(MATCH_TERMS) {
        Some(flag) => headers.flags >> flag & 1 == 1,
        None => (set.terms[l].low..=set.terms[l].high).contains(&(word(l / WORD_TERMS) & set.terms[l].mask)),
    };
    let wants = |r: &Rule| {
        let literals = 0..MATCH_TERMS + MATCH_FLAGS;
        let kept = |l: usize| match (r.positive >> l & 1, r.negative >> l & 1) {
            (0, 0) => true,
            (1, 0) => literal(l),
            (0, _) => !literal(l),
            _ => false,
        };
        r.valid && literals.into_iter().all(kept)
    };
    match set.rules.iter().position(wants) {
        None if set.host_window && set.host_unmatched && headers.flags >> SPINDLE_FLAG & 1 == 0 => Match::Unmatched,
        None => Match::Drop(reasons::NO_RULE),
        Some(number) if set.rules[number].action == action::DROP => Match::Drop(reasons::RULE_DROP),
        Some(number) if set.rules[number].action != action::HOST || set.host_window => {
            let rule = &set.rules[number];
            let by_field = rule.message == spindle_contract::registers::packet::RuleAction::MESSAGE_FIELD;
            let first = MATCH_WORDS - spindle_contract::params::MESSAGE_WORDS;
            Match::Rule {
                number,
                message_id: by_field.then(|| word(first + rule.message_word)),
                ends: rule.end.is_some_and(literal),
            }
        }
        Some(_) => Match::Drop(reasons::RULE_DROP),
    }
}
