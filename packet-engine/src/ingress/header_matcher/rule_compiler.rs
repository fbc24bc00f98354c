//! Rule compiler: keeps the rules that the driver staged, and writes the tables of a set from them.
//!
//! | neighbour | ports |
//! |---|---|
//! | registers | in `rule_index`, `rule`, `rule_write`: a one-cycle pulse; not while `busy` |
//! | header extractor | in `start` (pulse), `target` (held until done) / out `busy` |
//! | rule tables | out `row`, `flag_row`, `row_address` (set, literals), `row_write` |
//! | header matcher | out `winner`, `winner_address` (set, rule), `winner_write`: what the rule says |
//!
//! Takes [`RuleCompiler::cycles`]: for each value of the literals of a table, one cycle for each rule, whose bits are shifted
//! into the row of every table; then the row is written, beside the next one's making. Tables of fewer literals take each of
//! their rows several times. What is staged stays staged.

use super::types::{MatchRule, RuleAction, BROAD, NARROW, ROWS, RULE_LANES};
use spindle_blocks::{RamStyle, SdpMemory};
use spindle_contract::params::{MATCH_FLAGS, MATCH_TERMS};
use spindle_verilog::prelude::*;

/// Values of eight terms.
const BROAD_VALUES: usize = 256;
/// Values of the flags, which are more than those of four terms.
const FLAG_VALUES: usize = 1 << MATCH_FLAGS;

/// Does this value of eight literals keep a rule alive?
#[hdl_fn]
pub fn keeps(value: Bits<8>, positive: Bits<8>, negative: Bits<8>) -> Bit {
    !((positive & !value) | (negative & value)).any()
}

/// The compiler. See the module text.
#[block]
pub struct RuleCompiler {
    /// Slot of the rule to stage.
    pub rule_index: Signal<In, Bits<6>>,
    /// The rule.
    pub rule: Signal<In, MatchRule>,
    /// Stage it.
    pub rule_write: Signal<In, Bit>,
    /// Write a set.
    pub start: Signal<In, Bit>,
    /// Set to write.
    pub target: Signal<In, Bit>,
    /// Not done yet.
    pub busy: Signal<Out, Bit>,
    /// Row for the tables of terms, the lowest table in the lowest bits.
    pub row: Signal<Out, Bits<ROWS>>,
    /// Row for the table of flags.
    pub flag_row: Signal<Out, Bits<RULE_LANES>>,
    /// Set and value of the literals.
    pub row_address: Signal<Out, Bits<9>>,
    /// Write it.
    pub row_write: Signal<Out, Bit>,
    /// What a rule says.
    pub winner: Signal<Out, RuleAction>,
    /// Set and number of the rule.
    pub winner_address: Signal<Out, Bits<7>>,
    /// Write it.
    pub winner_write: Signal<Out, Bit>,
    rules: SdpMemory<MatchRule, 6>,
    running: Reg<Bit>,
    value: DFF<Bits<8>>,
    slot: DFF<Bits<6>>,
    read: Reg<Bit>,
    read_slot: DFF<Bits<6>>,
    read_value: DFF<Bits<8>>,
    read_last: DFF<Bit>,
    made: Reg<Bit>,
    made_value: DFF<Bits<8>>,
    lanes: DFF<Bits<ROWS>>,
    flag_lanes: DFF<Bits<RULE_LANES>>,
    _last_rule: u64,
    _last_value: u64,
    _in_blocks: bool,
}

impl RuleCompiler {
    /// For `rules` rules, kept in a memory of this kind, and tables of this kind.
    pub fn new(rules: usize, style: RamStyle) -> Self {
        let in_blocks = style == RamStyle::Block;
        Self {
            rules: SdpMemory::new(style, 1),
            _last_rule: rules as u64 - 1,
            _last_value: Self::values(style) as u64 - 1,
            _in_blocks: in_blocks,
            ..Self::blank()
        }
    }

    fn values(style: RamStyle) -> usize {
        if style == RamStyle::Block {
            BROAD_VALUES
        } else {
            FLAG_VALUES
        }
    }

    /// Cycles from `start` until it is done.
    pub fn cycles(rules: usize, style: RamStyle) -> usize {
        Self::values(style) * rules + 2
    }
}

#[hdl]
impl RuleCompiler {
    fn update(&mut self) {
        // What is staged.
        self.rules.write(self.rule_write.val(), self.rule_index.val(), self.rule.val());
        self.rules.read(self.running.q.val(), self.slot.q.val());

        // The walk: values, rules.
        let last_rule = self.slot.q.val() == self._last_rule;
        if self.start.val() {
            self.running.d.next = true;
            self.value.d.next = bits::<8>(0);
            self.slot.d.next = bits::<6>(0);
        } else if self.running.q.val() {
            if !last_rule {
                self.slot.d.next = self.slot.q.val() + 1;
            } else {
                self.slot.d.next = bits::<6>(0);
                self.value.d.next = self.value.q.val() + 1;
                self.running.d.next = self.value.q.val() != self._last_value;
            }
        }

        // A rule and a value make one bit of each row, which enters at the top.
        self.read.d.next = self.running.q.val();
        self.read_slot.d.next = self.slot.q.val();
        self.read_value.d.next = self.value.q.val();
        self.read_last.d.next = last_rule;
        let rule = self.rules.read_data.val();
        let positive = rule.positive;
        let negative = rule.negative;
        let value = self.read_value.q.val();
        if self.read.q.val() {
            let held = self.lanes.q.val();
            let mut lanes: Bits<ROWS> = bits::<ROWS>(0);
            if self._in_blocks {
                for t in 0..BROAD {
                    let kept = keeps(value, positive.get_bits::<8>(8 * t), negative.get_bits::<8>(8 * t)) & rule.valid;
                    let lane = held.get_bits::<63>(RULE_LANES * t + 1);
                    lanes.set_bits::<RULE_LANES>(RULE_LANES * t, (kept, lane).cat::<RULE_LANES>());
                }
            } else {
                for t in 0..NARROW {
                    let wanted = zext::<8, 4>(positive.get_bits::<4>(4 * t));
                    let unwanted = zext::<8, 4>(negative.get_bits::<4>(4 * t));
                    let kept = keeps(value, wanted, unwanted) & rule.valid;
                    let lane = held.get_bits::<63>(RULE_LANES * t + 1);
                    lanes.set_bits::<RULE_LANES>(RULE_LANES * t, (kept, lane).cat::<RULE_LANES>());
                }
            }
            self.lanes.d.next = lanes;
            let wanted = zext::<8, MATCH_FLAGS>(positive.get_bits::<MATCH_FLAGS>(MATCH_TERMS));
            let unwanted = zext::<8, MATCH_FLAGS>(negative.get_bits::<MATCH_FLAGS>(MATCH_TERMS));
            let kept = keeps(value, wanted, unwanted);
            self.flag_lanes.d.next = (kept, self.flag_lanes.q.val().get_bits::<63>(1)).cat::<RULE_LANES>();
        }
        self.winner.next = rule.says;
        self.winner_address.next = (self.target.val(), self.read_slot.q.val()).cat::<7>();
        // Once for each value: it says the same every time.
        self.winner_write.next = self.read.q.val();

        // A row is complete.
        self.made.d.next = self.read.q.val() & self.read_last.q.val();
        self.made_value.d.next = value;
        self.row.next = self.lanes.q.val();
        self.flag_row.next = self.flag_lanes.q.val();
        self.row_address.next = (self.target.val(), self.made_value.q.val()).cat::<9>();
        self.row_write.next = self.made.q.val();
        self.busy.next = self.running.q.val() | self.read.q.val() | self.made.q.val();
    }
}
