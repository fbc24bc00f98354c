//! What the parts of the matcher hand to one another.

use spindle_blocks::desc::PacketDesc;
use spindle_contract::params::{MATCH_LITERALS, MATCH_TERMS, WORD_TERMS};
use spindle_verilog::prelude::*;

/// Most rules: the bits of a row of a rule table.
pub const RULE_LANES: usize = 64;
/// Rule tables of eight terms.
pub const BROAD: usize = MATCH_TERMS / 8;
/// Rule tables of four terms.
pub const NARROW: usize = MATCH_TERMS / 4;
/// Bits of a row of all rule tables of terms.
pub const ROWS: usize = NARROW * RULE_LANES;
/// Bits of a row of a term table.
pub const ROW: usize = 4 * WORD_TERMS;
/// Bits of a row of the term table of the lowest nibble.
pub const LOW_ROW: usize = 2 * WORD_TERMS;

/// Where an extracted word comes from, as in WORD_SOURCE: half-word numbers, the even half's in the low five bits.
#[derive(LogicStruct, Copy, Clone, Debug, Default, PartialEq)]
pub struct MatchSource {
    /// Of a frame without tag.
    pub plain: Bits<10>,
    /// Of a frame with a tag.
    pub with_tag: Bits<10>,
    /// Field `order` of WORD_SOURCE.
    pub order: Bits<2>,
}

/// A staged term.
#[derive(LogicStruct, Copy, Clone, Debug, Default, PartialEq)]
pub struct MatchTerm {
    /// Bits that count.
    pub mask: Bits<32>,
    /// Lowest value.
    pub low: Bits<32>,
    /// Highest value.
    pub high: Bits<32>,
}

/// A row of the term tables of a word.
#[derive(LogicStruct, Copy, Clone, Debug, Default, PartialEq)]
pub struct TermRow {
    /// Of the lowest nibble, with a bit for each term: not below the lower bound, not above the upper.
    pub lowest: Bits<10>,
    /// Of each of the seven others, with a bit for each term: above the lower bound, equal to it, below the upper, equal to it.
    pub upper: Bits<140>,
}

/// The action of a rule.
#[derive(LogicStruct, Copy, Clone, Debug, Default, PartialEq)]
pub struct RuleAction {
    /// `descriptors::action`.
    pub action: Bits<2>,
    /// Execution context.
    pub context: Bits<4>,
    /// What a message is.
    pub message: Bits<2>,
    /// Which word is the message id, if one is.
    pub message_word: Bits<2>,
    /// Term that ends a message.
    pub end_term: Bits<7>,
    /// The rule has such a term.
    pub has_end: Bit,
    /// The packet also goes to the host.
    pub to_host: Bit,
}

/// A staged rule.
#[derive(LogicStruct, Copy, Clone, Debug, Default, PartialEq)]
pub struct MatchRule {
    /// Literals that must hold.
    pub positive: Bits<MATCH_LITERALS>,
    /// Literals that must not hold.
    pub negative: Bits<MATCH_LITERALS>,
    /// Its action.
    pub says: RuleAction,
    /// The rule takes part.
    pub valid: Bit,
}

/// What travels beside the matching.
#[derive(LogicStruct, Copy, Clone, Debug, Default, PartialEq)]
pub struct Candidate {
    /// From the parser.
    pub desc: PacketDesc,
    /// The frame is dropped.
    pub drop: Bit,
    /// Reason of the drop.
    pub reason: Bits<6>,
}
