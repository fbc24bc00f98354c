//! Rule tables: up to 64 rules over all literals, as look-ups instead of masks.
//!
//! | neighbour | ports |
//! |---|---|
//! | header matcher | in `terms`, `bank`, `valid`; one cycle later `flags` / out `hits`: the rules that hold, the last one highest |
//! | rule compiler | in `row`, `flag_row`, `row_address` (set, literals), `row_write` |
//!
//! The terms are cut into groups. A table has, for each value of the terms of a group, the rules that the value does not break; a
//! rule holds when neither a group nor the flags break it. One half of every table judges while the other one is written. Never
//! stalls.
//!
//! A device short of LUTs has ten tables of eight terms each in block RAM, whose read is the register between terms and rules;
//! others have that register, and after it twenty tables of four terms in LUT RAM. The flags come too late for block RAM.

use super::types::{BROAD, NARROW, ROWS, RULE_LANES};
use spindle_blocks::{replicate, LutMemory, RamStyle, SdpMemory};
use spindle_contract::params::{MATCH_FLAGS, MATCH_TERMS};
use spindle_verilog::prelude::*;

/// The tables. See the module text.
#[block(no_reset)]
pub struct RuleTables {
    /// Terms that hold of the frame.
    pub terms: Signal<In, Bits<MATCH_TERMS>>,
    /// The set that judges it.
    pub bank: Signal<In, Bit>,
    /// There is a frame.
    pub valid: Signal<In, Bit>,
    /// Its flags, in the next cycle.
    pub flags: Signal<In, Bits<MATCH_FLAGS>>,
    /// The rules that hold, in the next cycle; the first in the lowest bit that is used, the last in the highest.
    pub hits: Signal<Out, Bits<RULE_LANES>>,
    /// A row of every table.
    pub row: Signal<In, Bits<ROWS>>,
    /// A row of the flags' table.
    pub flag_row: Signal<In, Bits<RULE_LANES>>,
    /// Set and literals; narrower tables take the low bits of the literals.
    pub row_address: Signal<In, Bits<9>>,
    /// Write it.
    pub row_write: Signal<In, Bit>,
    broad: Vec<SdpMemory<Bits<RULE_LANES>, 9>>,
    narrow: Vec<LutMemory<Bits<RULE_LANES>, 5>>,
    of_flags: LutMemory<Bits<RULE_LANES>, 6>,
    held: DFF<Bits<MATCH_TERMS>>,
    held_bank: DFF<Bit>,
    _in_blocks: bool,
}

impl RuleTables {
    /// Tables in memories of this kind.
    pub fn new(style: RamStyle) -> Self {
        let in_blocks = style == RamStyle::Block;
        Self {
            broad: replicate(if in_blocks { BROAD } else { 0 }),
            narrow: replicate(if in_blocks { 0 } else { NARROW }),
            _in_blocks: in_blocks,
            ..Self::blank()
        }
    }
}

#[hdl]
impl RuleTables {
    fn update(&mut self) {
        let terms = self.terms.val();
        let row = self.row.val();
        let address = self.row_address.val();
        let target = address.get_bit(8);
        self.held_bank.d.next = self.bank.val();

        // Flags.
        let bank = self.held_bank.q.val();
        self.of_flags.write(self.row_write.val(), (target, address.get_bits::<5>(0)).cat::<6>(), self.flag_row.val());
        self.of_flags.read_address.next = (bank, self.flags.val()).cat::<6>();
        let mut hits: Bits<RULE_LANES> = self.of_flags.read_data.val();

        // Terms.
        if self._in_blocks {
            for t in 0..BROAD {
                self.broad[t].write(self.row_write.val(), address, row.get_bits::<RULE_LANES>(RULE_LANES * t));
                self.broad[t].read(self.valid.val(), (self.bank.val(), terms.get_bits::<8>(8 * t)).cat::<9>());
                hits = hits & self.broad[t].read_data.val();
            }
        } else {
            self.held.load(self.valid.val(), terms);
            for t in 0..NARROW {
                self.narrow[t].write_enable.next = self.row_write.val();
                self.narrow[t].write_address.next = (target, address.get_bits::<4>(0)).cat::<5>();
                self.narrow[t].write_data.next = row.get_bits::<RULE_LANES>(RULE_LANES * t);
                self.narrow[t].read_address.next = (bank, self.held.q.val().get_bits::<4>(4 * t)).cat::<5>();
                hits = hits & self.narrow[t].read_data.val();
            }
        }
        self.hits.next = hits;
    }
}
