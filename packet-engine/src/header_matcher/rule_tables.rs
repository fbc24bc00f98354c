//! Rule tables: thirteen rules over all literals, as look-ups instead of masks.
//!
//! | neighbour | ports |
//! |---|---|
//! | header matcher | in `literals` (terms, then flags), `bank`; out `hits`: the rules that hold, same cycle |
//! | rule compiler | in `row`, `row_address` (set, four literals), `row_write` |
//!
//! The literals are cut into groups of four. A table of 2 × 16 rows tells for four literals which of the rules they do not
//! break; a rule holds when no group breaks it. Thirteen rules, because a LUT RAM of 32 rows is fourteen bits wide on
//! UltraScale+ and five times thirteen are 64 and one over. One half of every table judges while the other one is written.

use super::types::{GROUPS, RULE_GROUP, RULE_ROWS};
use spindle_blocks::LutMemory;
use spindle_contract::params::MATCH_LITERALS;
use spindle_verilog::prelude::*;

/// The tables. See the module text.
#[derive(LogicBlock, Default)]
pub struct RuleTables {
    #[allow(missing_docs)]
    pub clock: Signal<In, Clock>,
    /// What holds of the frame.
    pub literals: Signal<In, Bits<MATCH_LITERALS>>,
    /// The set that judges it.
    pub bank: Signal<In, Bit>,
    /// The rules that hold.
    pub hits: Signal<Out, Bits<RULE_GROUP>>,
    /// A row of every table.
    pub row: Signal<In, Bits<RULE_ROWS>>,
    /// Its set and literals.
    pub row_address: Signal<In, Bits<5>>,
    /// Write it.
    pub row_write: Signal<In, Bit>,
    tables: [LutMemory<Bits<RULE_GROUP>, 5>; GROUPS],
}

impl Logic for RuleTables {
    #[hdl]
    fn update(&mut self) {
        let literals = bit_cast::<88, MATCH_LITERALS>(self.literals.val());
        let mut hits: Bits<RULE_GROUP> = !bits::<RULE_GROUP>(0);
        for g in 0..GROUPS {
            self.tables[g].clock.next = self.clock.val();
            self.tables[g].write_enable.next = self.row_write.val();
            self.tables[g].write_address.next = self.row_address.val();
            self.tables[g].write_data.next = self.row.val().get_bits::<RULE_GROUP>(RULE_GROUP * g);
            self.tables[g].read_address.next = (self.bank.val(), literals.get_bits::<4>(4 * g)).cat::<5>();
            hits = hits & self.tables[g].read_data.val();
        }
        self.hits.next = hits;
    }
}
