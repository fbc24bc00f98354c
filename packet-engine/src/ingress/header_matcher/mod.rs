//! Header matcher: finds the first rule that holds for a frame.
//!
//! | neighbour | ports |
//! |---|---|
//! | parser | in `beat`; in `parsed`, `parsed_flags` one cycle before, `bad_icrc` one cycle after; no ready |
//! | ingress join | out `matched`: one pulse per `parsed`, [`LATENCY`] cycles later, with the fields of the rule's action; no ready |
//! | registers | in `word_*`, `term_*`, `rule_*`: a pulse of `*_write` puts an entry into a slot, without effect yet |
//! | registers | in `host_window`, `host_unmatched`: effective for the frames whose `matched` comes in this cycle |
//! | registers | in `commit` (pulse) / out `committing`: the slots decide once `committing` falls; no other pulse until then |
//!
//! ```text
//! beats -> extractor -> term_tables x 16 -> rule_tables -> first rule -> action
//!              ^            ^   parsed_flags --^                           ^
//!              +-- term_compiler (staged)      +---- rule_compiler (staged) --+
//! ```
//!
//! A word is extracted from the frame ([`extractor`]); word w has the terms 5w to 5w + 4. A term holds when
//! `low <= (word & mask) <= high`. A rule holds when it is valid, all its positive literals hold and none of its negative ones
//! does; literals are the 80 terms and 5 flags of the parser. A rule without literals holds for every frame. The valid rule
//! with the lowest number wins. No rule: dropped as NO_RULE; action DROP: RULE_DROP. Action HOST passes the frame on to the host
//! window, and so does `host_unmatched` for a frame without a rule that is no Spindle packet; while `host_window` is low, such
//! frames are dropped as RULE_DROP and NO_RULE. A frame that the parser drops keeps its reason.
//! The fields of `rule_action` are those of `registers::rule_action`.
//!
//! One frame per cycle, never stalls, also while a set is written; a stage without a frame rests. Stages, from the cycle after the
//! last beat: words and terms; rules (`parsed_valid` comes here); the first rule; its action.
//!
//! Why tables: `docs/decisions/0002-header-matcher-tables.md`. A term reads one word only, and each word can come from many places in the
//! frame. Comparing a nibble with any value is one bit of LUT RAM, whose second half is the shadow copy.

pub mod extractor;
pub mod rule_compiler;
pub mod rule_tables;
pub mod term_compiler;
pub mod term_tables;
pub mod types;
pub mod word;

use crate::bundles::{FrameDescSink, FrameDescSource, ParserBeatSink};
use extractor::HeaderExtractor;
use rule_compiler::RuleCompiler;
use rule_tables::RuleTables;
use spindle_blocks::{RamStyle, SdpMemory};
use spindle_contract::descriptors::action;
use spindle_contract::params::{MATCH_LITERALS, MATCH_TERMS, MATCH_WORDS, MESSAGE_WORDS, WORD_TERMS};
use spindle_contract::reasons;
use spindle_contract::registers::packet;
use spindle_verilog::prelude::*;
use term_compiler::TermCompiler;
use term_tables::TermTables;
use types::{Candidate, MatchRule, MatchSource, MatchTerm, RuleAction, RULE_LANES};

/// Cycles from `parsed_valid` to `matched_valid`.
pub const LATENCY: usize = 2;
/// First bit of the words that can be a message id.
const MESSAGE_AT: usize = 32 * (MATCH_WORDS - MESSAGE_WORDS);

/// See the head of this file.
#[block]
pub struct HeaderMatcher {
    /// Beat of a frame.
    pub beat: ParserBeatSink,
    /// Flags of the frame whose `parsed` comes in the next cycle.
    pub parsed_flags: Signal<In, Bits<5>>,
    /// Frame from the parser.
    pub parsed: FrameDescSink,
    /// The frame that the parser passed in the last cycle is dropped as BAD_ICRC.
    pub bad_icrc: Signal<In, Bit>,
    /// Frame with its rule.
    pub matched: FrameDescSource,
    /// Extracted word to stage.
    pub word_index: Signal<In, Bits<4>>,
    /// WORD_SOURCE.
    pub word_source: Signal<In, Bits<22>>,
    /// Stage it.
    pub word_write: Signal<In, Bit>,
    /// Slot of the term to stage.
    pub term_index: Signal<In, Bits<7>>,
    /// Bits of the word that count.
    pub term_mask: Signal<In, Bits<32>>,
    /// Lowest value.
    pub term_low: Signal<In, Bits<32>>,
    /// Highest value.
    pub term_high: Signal<In, Bits<32>>,
    /// Stage the term.
    pub term_write: Signal<In, Bit>,
    /// Slot of the rule to stage.
    pub rule_index: Signal<In, Bits<6>>,
    /// Literals that must hold.
    pub rule_positive: Signal<In, Bits<MATCH_LITERALS>>,
    /// Literals that must not hold.
    pub rule_negative: Signal<In, Bits<MATCH_LITERALS>>,
    /// RULE_ACTION.
    pub rule_action: Signal<In, Bits<32>>,
    /// Stage the rule.
    pub rule_write: Signal<In, Bit>,
    /// Let what is staged decide.
    pub commit: Signal<In, Bit>,
    /// The staged set does not decide yet.
    pub committing: Signal<Out, Bit>,
    /// There is a window for the frames for the host.
    pub host_window: Signal<In, Bit>,
    /// Frames without a rule go to the host.
    pub host_unmatched: Signal<In, Bit>,
    extractor: HeaderExtractor,
    term_compiler: TermCompiler,
    rule_compiler: RuleCompiler,
    term_tables: [TermTables; MATCH_WORDS],
    rule_tables: RuleTables,
    says: SdpMemory<RuleAction, 7>,
    /// Stages with a frame, the first in bit 0: without one a stage rests.
    frame: Reg<Bits<4>>,
    /// The set of the frame in each stage.
    set: [DFF<Bit>; 3],
    terms: [DFF<Bits<MATCH_TERMS>>; 4],
    message_words: [DFF<Bits<128>>; 4],
    hits: DFF<Bits<RULE_LANES>>,
    found: [DFF<Bit>; 2],
    rule: [DFF<Bits<6>>; 2],
    line: [DFF<Candidate>; LATENCY],
    line_valid: [Reg<Bit>; LATENCY],
    _rules: usize,
}

impl HeaderMatcher {
    /// A matcher with `rules` rules, 1 to 64, that keeps what the driver stages, what rules say and, if
    /// it is block RAM, which rules hold in memories of this kind.
    pub fn new(rules: usize, staged: RamStyle) -> Self {
        assert!((1..=64).contains(&rules), "HeaderMatcher: {rules} rules; choose 1 to 64");
        Self {
            term_compiler: TermCompiler::new(staged),
            rule_compiler: RuleCompiler::new(rules, staged),
            rule_tables: RuleTables::new(staged),
            says: SdpMemory::new(staged, 1),
            _rules: rules,
            ..Self::blank()
        }
    }
}

#[hdl]
impl HeaderMatcher {
    fn update(&mut self) {
        self.stage_sets();
        let terms = self.judge_terms();
        self.judge_rules(terms);
        self.find_first();
        self.read_action();
        self.describe();
    }

    /// What the driver stages, and the change of sets.
    fn stage_sets(&mut self) {
        self.extractor.commit.next = self.commit.val();
        self.extractor.compiling.next = self.term_compiler.busy.val() | self.rule_compiler.busy.val();
        self.committing.next = self.extractor.committing.val();
        self.term_compiler.word_index.next = self.word_index.val();
        self.term_compiler.word_source.next = unpack::<MatchSource, 22>(self.word_source.val());
        self.term_compiler.word_write.next = self.word_write.val();
        self.term_compiler.term_index.next = self.term_index.val();
        self.term_compiler.term.next =
            MatchTerm { mask: self.term_mask.val(), low: self.term_low.val(), high: self.term_high.val() };
        self.term_compiler.term_write.next = self.term_write.val();
        self.term_compiler.start.next = self.extractor.start.val();
        self.term_compiler.target.next = self.extractor.target.val();
        let action = self.rule_action.val();
        self.rule_compiler.rule_index.next = self.rule_index.val();
        self.rule_compiler.rule.next = MatchRule {
            positive: self.rule_positive.val(),
            negative: self.rule_negative.val(),
            says: RuleAction {
                action: action.get_bits::<2>(0),
                context: action.get_bits::<4>(4),
                message: action.get_bits::<2>(8),
                message_word: action.get_bits::<2>(12),
                end_term: action.get_bits::<7>(16),
                has_end: action.get_bit(23),
                to_host: action.get_bit(24),
            },
            valid: action.get_bit(31),
        };
        self.rule_compiler.rule_write.next = self.rule_write.val();
        self.rule_compiler.start.next = self.extractor.start.val();
        self.rule_compiler.target.next = self.extractor.target.val();
    }

    /// Stage 1: words and terms.
    fn judge_terms(&mut self) -> Bits<MATCH_TERMS> {
        self.beat.join(&mut self.extractor.beat);
        self.extractor.source.next = self.term_compiler.source.val();
        self.extractor.source_word.next = self.term_compiler.source_word.val();
        self.extractor.source_write.next = self.term_compiler.source_write.val();
        let words = self.extractor.words.val();
        let mut terms: Bits<MATCH_TERMS> = bits::<MATCH_TERMS>(0);
        for w in 0..MATCH_WORDS {
            self.term_tables[w].word.next = words.get_bits::<32>(32 * w);
            self.term_tables[w].bank.next = self.extractor.words_set.val();
            self.term_tables[w].row.next = self.term_compiler.row.val();
            self.term_tables[w].row_address.next = self.term_compiler.row_address.val();
            self.term_tables[w].row_write.next = self.term_compiler.row_write.val().get_bit(w);
            terms.set_bits::<WORD_TERMS>(WORD_TERMS * w, self.term_tables[w].holds.val());
        }
        self.set[0].d.next = self.extractor.words_set.val();
        let frame = self.frame.q.val();
        self.frame.d.next = (frame.get_bits::<3>(0), self.beat.valid.val() & self.beat.last.val()).cat::<4>();
        if frame.get_bit(0) {
            self.terms[0].d.next = terms;
            self.message_words[0].d.next = words.get_bits::<128>(MESSAGE_AT);
        }
        for i in 1..4 {
            if frame.get_bit(i) {
                self.terms[i].d.next = self.terms[i - 1].q.val();
                self.message_words[i].d.next = self.message_words[i - 1].q.val();
            }
        }
        for i in 1..3 {
            self.set[i].d.next = self.set[i - 1].q.val();
        }
        terms
    }

    /// Stage 2: rules; the tables have the terms already. The last rule is in the highest lane.
    fn judge_rules(&mut self, terms: Bits<MATCH_TERMS>) {
        let frame = self.frame.q.val();
        self.rule_tables.terms.next = terms;
        self.rule_tables.bank.next = self.extractor.words_set.val();
        self.rule_tables.valid.next = frame.get_bit(0);
        self.rule_tables.flags.next = self.parsed_flags.val();
        self.rule_tables.row.next = self.rule_compiler.row.val();
        self.rule_tables.flag_row.next = self.rule_compiler.flag_row.val();
        self.rule_tables.row_address.next = self.rule_compiler.row_address.val();
        self.rule_tables.row_write.next = self.rule_compiler.row_write.val();
        let mut hits: Bits<RULE_LANES> = bits::<RULE_LANES>(0);
        for r in 0..self._rules {
            hits = hits.replace_bit(r, self.rule_tables.hits.val().get_bit(RULE_LANES - self._rules + r));
        }
        self.hits.load(frame.get_bit(1), hits);
    }

    /// Stage 3: the first rule that holds. A set that was never written has no rules.
    fn find_first(&mut self) {
        let compiled = self.extractor.compiled.val();
        let ruled = if self.set[1].q.val() { compiled.get_bit(1) } else { compiled.get_bit(0) };
        let held = self.hits.q.val();
        if self.frame.q.val().get_bit(2) {
            self.found[0].d.next = held.any() & ruled;
            self.rule[0].d.next = first_set::<6, 64>(held) & repeat::<6>(held.any());
        }
    }

    /// Stage 4: the rule's action.
    fn read_action(&mut self) {
        self.says.write_enable.next = self.rule_compiler.winner_write.val();
        self.says.write_address.next = self.rule_compiler.winner_address.val();
        self.says.write_data.next = self.rule_compiler.winner.val();
        self.says.read(self.frame.q.val().get_bit(3), (self.set[2].q.val(), self.rule[0].q.val()).cat::<7>());
        self.found[1].d.next = self.found[0].q.val();
        self.rule[1].d.next = self.rule[0].q.val();
    }

    /// The descriptor of the frame, which passes beside the stages, with its rule.
    fn describe(&mut self) {
        if self.parsed.valid.val() {
            self.line[0].d.next =
                Candidate { desc: self.parsed.val(), drop: self.parsed.drop.val(), reason: self.parsed.reason.val() };
        }
        self.line_valid[0].d.next = self.parsed.valid.val();
        let mut compared: Candidate = self.line[0].q.val();
        if self.bad_icrc.val() {
            compared.drop = true;
            compared.reason = bits::<6>(reasons::BAD_ICRC);
        }
        self.line[1].load(self.line_valid[0].q.val(), compared);
        self.line_valid[1].d.next = self.line_valid[0].q.val();
        let candidate = self.line[1].q.val();
        let ruled = self.found[1].q.val();
        let winner = if ruled { self.says.read_data.val() } else { RuleAction::default() };
        let held_terms = bit_cast::<128, MATCH_TERMS>(self.terms[3].q.val());
        let message_words = self.message_words[3].q.val();
        let upper = if winner.message_word.get_bit(0) {
            message_words.get_bits::<32>(96)
        } else {
            message_words.get_bits::<32>(64)
        };
        let lower = if winner.message_word.get_bit(0) {
            message_words.get_bits::<32>(32)
        } else {
            message_words.get_bits::<32>(0)
        };
        let by_field = winner.message == bits(packet::RuleAction::MESSAGE_FIELD);
        let host_window = self.host_window.val();
        let unmatched = !ruled & self.host_unmatched.val() & host_window & !candidate.desc.is_spindle;
        let windowless = (winner.action == bits(action::HOST)) & !host_window;
        self.matched.next = candidate.desc;
        self.matched.next.action = if unmatched { bits::<2>(action::HOST) } else { winner.action };
        self.matched.next.ruled = ruled & !candidate.drop;
        self.matched.next.context = winner.context;
        self.matched.next.per_message = winner.message == bits(packet::RuleAction::MESSAGE_HEADER);
        self.matched.next.rule = self.rule[1].q.val();
        self.matched.next.by_field = by_field;
        if by_field {
            self.matched.next.msg_id = if winner.message_word.get_bit(1) { upper } else { lower };
        }
        self.matched.next.ends = winner.has_end & held_terms.get_bit(winner.end_term.index());
        self.matched.next.to_host = winner.to_host;
        self.matched.drop.next = candidate.drop | (!unmatched & (winner.action == bits(action::DROP))) | windowless;
        self.matched.reason.next = if candidate.drop {
            candidate.reason
        } else if !ruled {
            bits::<6>(reasons::NO_RULE)
        } else {
            bits::<6>(reasons::RULE_DROP)
        };
        self.matched.valid.next = self.line_valid[1].q.val();
    }
}
