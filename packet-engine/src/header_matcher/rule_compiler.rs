//! Rule compiler: keeps the rules that the driver staged, and writes the tables of a set from them.
//!
//! | neighbour | ports |
//! |---|---|
//! | registers | in `rule_index`, `rule`, `rule_write`: a one-cycle pulse; not while `busy` |
//! | header extractor | in `start` (pulse), `target` (held until done) / out `busy` |
//! | rule tables | out `row`, `row_address`, `row_write` (a bit for each group of thirteen rules) |
//! | header matcher | out `winner`, `winner_address` (set, rule), `winner_write`: what the rule says |
//!
//! Takes 16 × 13 cycles for each group of rules and 2 more: for each value of four literals, one cycle for each rule of the
//! group, whose bits are shifted into the row of every group of literals; then the row is written, beside the next one's
//! making. What is staged stays staged.

use super::types::{MatchRule, RuleAction, GROUPS, RULE_GROUP, RULE_ROWS};
use spindle_blocks::{RamStyle, SdpMemory};
use spindle_contract::params::MATCH_LITERALS;
use spindle_verilog::prelude::*;

const LAST_RULE: u64 = RULE_GROUP as u64 - 1;
const LAST_VALUE: u64 = 15;
/// Most groups of rules.
pub const MOST_GROUPS: usize = 5;

/// Does this value of four literals keep a rule alive?
#[hdl_fn]
pub fn keeps(value: Bits<4>, positive: Bits<4>, negative: Bits<4>) -> Bit {
    !((positive & !value) | (negative & value)).any()
}

/// The compiler. See the module text.
#[derive(LogicBlock, Default)]
pub struct RuleCompiler {
    #[allow(missing_docs)]
    pub clock: Signal<In, Clock>,
    #[allow(missing_docs)]
    pub reset: Signal<In, Bit>,
    /// Slot of the rule to stage.
    pub rule_index: Signal<In, Bits<6>>,
    /// The rule.
    pub rule: Signal<In, MatchRule>,
    /// Stage it.
    pub rule_write: Signal<In, Bit>,
    /// Write a set.
    pub start: Signal<In, Bit>,
    /// This one.
    pub target: Signal<In, Bit>,
    /// Not done yet.
    pub busy: Signal<Out, Bit>,
    /// Row for the tables.
    pub row: Signal<Out, Bits<RULE_ROWS>>,
    /// Set and value of the literals.
    pub row_address: Signal<Out, Bits<5>>,
    /// The groups of rules that take it.
    pub row_write: Signal<Out, Bits<MOST_GROUPS>>,
    /// What a rule says.
    pub winner: Signal<Out, RuleAction>,
    /// Set and number of the rule.
    pub winner_address: Signal<Out, Bits<7>>,
    /// Write it.
    pub winner_write: Signal<Out, Bit>,
    rules: SdpMemory<MatchRule, 6>,
    running: Reg<Bit>,
    group: DFF<Bits<3>>,
    value: DFF<Bits<4>>,
    rule_of_group: DFF<Bits<4>>,
    slot: DFF<Bits<6>>,
    /// Slot of the group's first rule.
    first_slot: DFF<Bits<6>>,
    read: Reg<Bit>,
    read_slot: DFF<Bits<6>>,
    read_group: DFF<Bits<3>>,
    read_value: DFF<Bits<4>>,
    read_last: DFF<Bit>,
    made: Reg<Bit>,
    made_group: DFF<Bits<3>>,
    made_value: DFF<Bits<4>>,
    lanes: DFF<Bits<RULE_ROWS>>,
    _last_group: u64,
}

impl RuleCompiler {
    /// For `rules` rules, which are kept in a memory of this kind.
    pub fn new(rules: usize, style: RamStyle) -> Self {
        Self {
            rules: SdpMemory::new(style, 1),
            _last_group: rules.div_ceil(RULE_GROUP) as u64 - 1,
            ..Default::default()
        }
    }
}

impl Logic for RuleCompiler {
    #[hdl]
    fn update(&mut self) {
        regs!(self, clock, reset, running, read, made);
        dffs!(self, clock, group, value, rule_of_group, slot, first_slot);
        dffs!(self, clock, read_slot, read_group, read_value, read_last, made_group, made_value, lanes);

        // What is staged.
        self.rules.clock.next = self.clock.val();
        self.rules.write_enable.next = self.rule_write.val();
        self.rules.write_address.next = self.rule_index.val();
        self.rules.write_data.next = self.rule.val();
        self.rules.read_enable.next = self.running.q.val();
        self.rules.read_address.next = self.slot.q.val();

        // The walk: groups of rules, values, rules. The last group reaches beyond the last rule; its surplus is not looked at.
        let last_rule = self.rule_of_group.q.val() == LAST_RULE;
        let last_value = self.value.q.val() == LAST_VALUE;
        let next_slot = self.slot.q.val() + 1;
        if self.start.val() {
            self.running.d.next = true;
            self.group.d.next = bits::<3>(0);
            self.value.d.next = bits::<4>(0);
            self.rule_of_group.d.next = bits::<4>(0);
            self.slot.d.next = bits::<6>(0);
            self.first_slot.d.next = bits::<6>(0);
        } else if self.running.q.val() {
            if !last_rule {
                self.rule_of_group.d.next = self.rule_of_group.q.val() + 1;
                self.slot.d.next = next_slot;
            } else {
                self.rule_of_group.d.next = bits::<4>(0);
                self.value.d.next = self.value.q.val() + 1;
                if last_value {
                    self.group.d.next = self.group.q.val() + 1;
                    self.slot.d.next = next_slot;
                    self.first_slot.d.next = next_slot;
                    self.running.d.next = self.group.q.val() != self._last_group;
                } else {
                    self.slot.d.next = self.first_slot.q.val();
                }
            }
        }

        // A rule and a value make one bit of each row.
        self.read.d.next = self.running.q.val();
        self.read_slot.d.next = self.slot.q.val();
        self.read_group.d.next = self.group.q.val();
        self.read_value.d.next = self.value.q.val();
        self.read_last.d.next = last_rule;
        let rule = self.rules.read_data.val();
        let positive = bit_cast::<88, MATCH_LITERALS>(rule.positive);
        let negative = bit_cast::<88, MATCH_LITERALS>(rule.negative);
        let value = self.read_value.q.val();
        if self.read.q.val() {
            let mut lanes: Bits<RULE_ROWS> = bits::<RULE_ROWS>(0);
            for g in 0..GROUPS {
                let kept = keeps(value, positive.get_bits::<4>(4 * g), negative.get_bits::<4>(4 * g)) & rule.valid;
                let lane = self.lanes.q.val().get_bits::<12>(RULE_GROUP * g + 1);
                lanes.set_bits::<RULE_GROUP>(RULE_GROUP * g, (kept, lane).cat::<RULE_GROUP>());
            }
            self.lanes.d.next = lanes;
        }
        self.winner.next = rule.says;
        self.winner_address.next = (self.target.val(), self.read_slot.q.val()).cat::<7>();
        // The surplus of the last group wraps to slot 0, whose own turn is over by then: it says the same again.
        self.winner_write.next = self.read.q.val();

        // A row is complete.
        self.made.d.next = self.read.q.val() & self.read_last.q.val();
        self.made_group.d.next = self.read_group.q.val();
        self.made_value.d.next = value;
        self.row.next = self.lanes.q.val();
        self.row_address.next = (self.target.val(), self.made_value.q.val()).cat::<5>();
        let mut write: Bits<MOST_GROUPS> = bits::<MOST_GROUPS>(0);
        for g in 0..MOST_GROUPS {
            write = write.replace_bit(g, self.made.q.val() & (self.made_group.q.val() == g as u64));
        }
        self.row_write.next = write;
        self.busy.next = self.running.q.val() | self.read.q.val() | self.made.q.val();
    }
}
