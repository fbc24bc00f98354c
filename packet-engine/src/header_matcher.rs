//! Header matcher: finds the rule that wants a frame.
//!
//! | neighbour | ports |
//! |---|---|
//! | parser | in `parsed`, `parsed_words`, `parsed_drop`, `parsed_reason`, `parsed_valid`; no ready |
//! | ingress join | out `matched` (with `action`, `context`, `per_message`, `rule`), `matched_drop`, `matched_reason`, `matched_valid`: one pulse per pulse, [`LATENCY`] cycles later; no ready |
//! | registers | in `term_index`, `term_word`, `term_mask`, `term_low`, `term_high`, `term_write`; `rule_index`, `rule_positive`, `rule_negative`, `rule_action`, `rule_write`: a pulse of `*_write` writes the entry, which holds for frames that arrive from the next cycle on |
//!
//! A term holds for a frame when `low <= (word & mask) <= high`. A rule holds when it is valid, all its positive terms hold and
//! none of its negative ones does; a rule without terms holds for every frame. The valid rule with the lowest number wins. No
//! rule: dropped as NO_RULE; action 0 or 3: RULE_DROP. A frame that the parser drops keeps its reason. The fields of
//! `rule_action` are those of the register RULE_ACTION.
//!
//! One frame per cycle, never stalls. Stages: select and mask the words; compare; evaluate the rules; choose the first.

use spindle_blocks::desc::PacketDesc;
use spindle_contract::descriptors::action;
use spindle_contract::params::MATCH_TERMS;
use spindle_contract::reasons;
use spindle_verilog::prelude::*;

/// Cycles from `parsed_valid` to `matched_valid`.
pub const LATENCY: usize = 4;

const DROP: u64 = action::DROP as u64;
/// The encoding that no action has; such a rule drops.
const UNDEFINED: u64 = 3;
/// Rules are chosen in groups of this many.
const GROUP: usize = 8;

/// What travels beside the matching.
#[derive(LogicStruct, Copy, Clone, Debug, Default, PartialEq)]
pub struct Candidate {
    desc: PacketDesc,
    drop: Bit,
    reason: Bits<5>,
}

/// What a rule says when it wins.
#[derive(LogicStruct, Copy, Clone, Debug, Default, PartialEq)]
pub struct RuleAction {
    action: Bits<2>,
    context: Bits<4>,
    per_message: Bit,
}

/// One word of sixteen; a tree of two-way choices maps to the fewest LUTs.
#[hdl_fn]
pub fn pick(words: Bits<512>, number: Bits<4>) -> Bits<32> {
    let eight = if number.get_bit(3) { words.get_bits::<256>(256) } else { words.get_bits::<256>(0) };
    let four = if number.get_bit(2) { eight.get_bits::<128>(128) } else { eight.get_bits::<128>(0) };
    let two = if number.get_bit(1) { four.get_bits::<64>(64) } else { four.get_bits::<64>(0) };
    if number.get_bit(0) {
        two.get_bits::<32>(32)
    } else {
        two.get_bits::<32>(0)
    }
}

/// The lowest set bit.
#[hdl_fn]
pub fn lowest(x: Bits<8>) -> Bits<8> {
    let below_2 = x.get_bit(0) | x.get_bit(1);
    let below_4 = below_2 | x.get_bit(2) | x.get_bit(3);
    let below_6 = below_4 | x.get_bit(4) | x.get_bit(5);
    (
        x.get_bit(7) & !x.get_bit(6) & !below_6,
        x.get_bit(6) & !below_6,
        x.get_bit(5) & !x.get_bit(4) & !below_4,
        x.get_bit(4) & !below_4,
        x.get_bit(3) & !x.get_bit(2) & !below_2,
        x.get_bit(2) & !below_2,
        x.get_bit(1) & !x.get_bit(0),
        x.get_bit(0),
    )
        .cat::<8>()
}

/// The matcher. See the module text.
#[derive(LogicBlock)]
pub struct HeaderMatcher {
    #[allow(missing_docs)]
    pub clock: Signal<In, Clock>,
    #[allow(missing_docs)]
    pub reset: Signal<In, Bit>,
    /// Frame from the parser.
    pub parsed: Signal<In, PacketDesc>,
    /// Its match words.
    pub parsed_words: Signal<In, Bits<512>>,
    /// It is dropped already.
    pub parsed_drop: Signal<In, Bit>,
    /// Why.
    pub parsed_reason: Signal<In, Bits<5>>,
    /// There is a frame.
    pub parsed_valid: Signal<In, Bit>,
    /// Frame with its rule.
    pub matched: Signal<Out, PacketDesc>,
    /// It is dropped.
    pub matched_drop: Signal<Out, Bit>,
    /// Why.
    pub matched_reason: Signal<Out, Bits<5>>,
    /// There is a frame.
    pub matched_valid: Signal<Out, Bit>,
    /// Term to write.
    pub term_index: Signal<In, Bits<5>>,
    /// Match word that the term looks at.
    pub term_word: Signal<In, Bits<4>>,
    /// Bits of the word that count.
    pub term_mask: Signal<In, Bits<32>>,
    /// Lowest value.
    pub term_low: Signal<In, Bits<32>>,
    /// Highest value.
    pub term_high: Signal<In, Bits<32>>,
    /// Write the term.
    pub term_write: Signal<In, Bit>,
    /// Rule to write; numbers beyond the last rule are ignored.
    pub rule_index: Signal<In, Bits<6>>,
    /// Terms that must hold.
    pub rule_positive: Signal<In, Bits<32>>,
    /// Terms that must not hold.
    pub rule_negative: Signal<In, Bits<32>>,
    /// Action.
    pub rule_action: Signal<In, Bits<32>>,
    /// Write the rule.
    pub rule_write: Signal<In, Bit>,
    word: [DFF<Bits<4>>; MATCH_TERMS],
    mask: [DFF<Bits<32>>; MATCH_TERMS],
    low: [DFF<Bits<32>>; MATCH_TERMS],
    high: [DFF<Bits<32>>; MATCH_TERMS],
    positive: Vec<DFF<Bits<32>>>,
    negative: Vec<DFF<Bits<32>>>,
    action: Vec<DFF<RuleAction>>,
    enabled: Vec<Reg<Bit>>,
    line: [DFF<Candidate>; LATENCY],
    line_valid: [Reg<Bit>; LATENCY],
    masked: [DFF<Bits<32>>; MATCH_TERMS],
    not_below: DFF<Bits<32>>,
    not_above: DFF<Bits<32>>,
    hits: DFF<Bits<64>>,
    found: DFF<Bit>,
    winner: DFF<RuleAction>,
    winner_rule: DFF<Bits<6>>,
    _rules: usize,
}

impl HeaderMatcher {
    /// A matcher with `rules` rules, 1 to 64.
    pub fn new(rules: usize) -> Self {
        assert!((1..=64).contains(&rules), "HeaderMatcher: {rules} rules; choose 1 to 64");
        Self {
            clock: Default::default(),
            reset: Default::default(),
            parsed: Default::default(),
            parsed_words: Default::default(),
            parsed_drop: Default::default(),
            parsed_reason: Default::default(),
            parsed_valid: Default::default(),
            matched: Default::default(),
            matched_drop: Default::default(),
            matched_reason: Default::default(),
            matched_valid: Default::default(),
            term_index: Default::default(),
            term_word: Default::default(),
            term_mask: Default::default(),
            term_low: Default::default(),
            term_high: Default::default(),
            term_write: Default::default(),
            rule_index: Default::default(),
            rule_positive: Default::default(),
            rule_negative: Default::default(),
            rule_action: Default::default(),
            rule_write: Default::default(),
            word: std::array::from_fn(|_| Default::default()),
            mask: std::array::from_fn(|_| Default::default()),
            low: std::array::from_fn(|_| Default::default()),
            high: std::array::from_fn(|_| Default::default()),
            positive: (0..rules).map(|_| Default::default()).collect(),
            negative: (0..rules).map(|_| Default::default()).collect(),
            action: (0..rules).map(|_| Default::default()).collect(),
            enabled: (0..rules).map(|_| Default::default()).collect(),
            line: std::array::from_fn(|_| Default::default()),
            line_valid: std::array::from_fn(|_| Default::default()),
            masked: std::array::from_fn(|_| Default::default()),
            not_below: Default::default(),
            not_above: Default::default(),
            hits: Default::default(),
            found: Default::default(),
            winner: Default::default(),
            winner_rule: Default::default(),
            _rules: rules,
        }
    }
}

impl Default for HeaderMatcher {
    fn default() -> Self {
        Self::new(spindle_contract::params::Config::SIM.match_rules)
    }
}

impl Logic for HeaderMatcher {
    #[hdl]
    fn update(&mut self) {
        dffs!(
            self,
            clock,
            word,
            mask,
            low,
            high,
            positive,
            negative,
            action,
            line,
            masked,
            not_below,
            not_above,
            hits,
            found,
            winner,
            winner_rule
        );
        regs!(self, clock, reset, enabled, line_valid);

        // Configuration.
        for t in 0..MATCH_TERMS {
            if self.term_write.val() & (self.term_index.val() == t as u64) {
                self.word[t].d.next = self.term_word.val();
                self.mask[t].d.next = self.term_mask.val();
                self.low[t].d.next = self.term_low.val();
                self.high[t].d.next = self.term_high.val();
            }
        }
        let action = self.rule_action.val();
        for r in 0..self._rules {
            if self.rule_write.val() & (self.rule_index.val() == r as u64) {
                self.positive[r].d.next = self.rule_positive.val();
                self.negative[r].d.next = self.rule_negative.val();
                self.enabled[r].d.next = action.get_bit(31);
                self.action[r].d.next.action = action.get_bits::<2>(0);
                self.action[r].d.next.context = action.get_bits::<4>(4);
                self.action[r].d.next.per_message = action.get_bit(8);
            }
        }

        // Stage 1: the word of each term, masked.
        let words = self.parsed_words.val();
        for t in 0..MATCH_TERMS {
            self.masked[t].d.next = pick(words, self.word[t].q.val()) & self.mask[t].q.val();
        }

        // Stage 2: compare.
        let mut not_below: Bits<32> = bits::<32>(0);
        let mut not_above: Bits<32> = bits::<32>(0);
        for t in 0..MATCH_TERMS {
            not_below = not_below.replace_bit(t, self.masked[t].q.val() >= self.low[t].q.val());
            not_above = not_above.replace_bit(t, self.masked[t].q.val() <= self.high[t].q.val());
        }
        self.not_below.d.next = not_below;
        self.not_above.d.next = not_above;

        // Stage 3: the rules that hold.
        let terms = self.not_below.q.val() & self.not_above.q.val();
        let mut hits: Bits<64> = bits::<64>(0);
        for r in 0..self._rules {
            let broken = (self.positive[r].q.val() & !terms) | (self.negative[r].q.val() & terms);
            hits = hits.replace_bit(r, self.enabled[r].q.val() & !broken.any());
        }
        self.hits.d.next = hits;

        // Stage 4: the first of them, within each group of eight and among the groups.
        let held = self.hits.q.val();
        let mut groups: Bits<8> = bits::<8>(0);
        for g in 0..8 {
            groups = groups.replace_bit(g, held.get_bits::<8>(GROUP * g).any());
        }
        let first_group = lowest(groups);
        let mut first: Bits<64> = bits::<64>(0);
        for g in 0..8 {
            first.set_bits::<8>(GROUP * g, lowest(held.get_bits::<8>(GROUP * g)) & repeat::<8>(first_group.get_bit(g)));
        }
        let mut winner: Bits<7> = bits::<7>(0);
        let mut number: Bits<6> = bits::<6>(0);
        for r in 0..self._rules {
            let chosen = first.get_bit(r);
            winner = winner | (pack::<RuleAction, 7>(self.action[r].q.val()) & repeat::<7>(chosen));
            number = number | (bits::<6>(r as u64) & repeat::<6>(chosen));
        }
        self.found.d.next = groups.any();
        self.winner.d.next = unpack::<RuleAction, 7>(winner);
        self.winner_rule.d.next = number;

        // The frame beside it.
        self.line[0].d.next.desc = self.parsed.val();
        self.line[0].d.next.drop = self.parsed_drop.val();
        self.line[0].d.next.reason = self.parsed_reason.val();
        self.line_valid[0].d.next = self.parsed_valid.val();
        for i in 1..LATENCY {
            self.line[i].d.next = self.line[i - 1].q.val();
            self.line_valid[i].d.next = self.line_valid[i - 1].q.val();
        }
        let candidate = self.line[3].q.val();
        let winner = self.winner.q.val();
        self.matched.next = candidate.desc;
        self.matched.next.action = winner.action;
        self.matched.next.context = winner.context;
        self.matched.next.per_message = winner.per_message;
        self.matched.next.rule = self.winner_rule.q.val();
        self.matched_drop.next =
            candidate.drop | !self.found.q.val() | (winner.action == DROP) | (winner.action == UNDEFINED);
        self.matched_reason.next = if candidate.drop {
            candidate.reason
        } else if !self.found.q.val() {
            bits::<5>(reasons::NO_RULE as u64)
        } else {
            bits::<5>(reasons::RULE_DROP as u64)
        };
        self.matched_valid.next = self.line_valid[3].q.val();
    }
}
