//! Branch target buffer: the target of a word that was a taken branch or jump the last time.

use super::bundles::PredictorUpdateSink;
use spindle_blocks::LutMemory;
use spindle_verilog::prelude::*;

/// A branch that was taken.
#[derive(LogicStruct, Copy, Clone, Debug, Default, PartialEq)]
struct Entry {
    /// Bits 13:5 of its word address.
    tag: Bits<9>,
    /// Target of the branch.
    target: Bits<14>,
}

/// What is known of an entry: apart, because a wrong prediction changes only this.
#[derive(LogicStruct, Copy, Clone, Debug, Default, PartialEq)]
struct Belief {
    /// The entry holds a prediction.
    valid: Bit,
    /// The prediction has to fail twice to be removed.
    sure: Bit,
}

/// Branch target buffer: 32 entries in LUT RAM, direct mapped by the low bits of the word address, full tag, one bit of
/// hysteresis.
///
/// | neighbour | ports |
/// |---|---|
/// | fetch | in `pc`; out `taken`, `target`, `sure`, in the same cycle |
/// | branch resolution (M1) | in `update`, with `was_hit` and `was_sure` as `taken` and `sure` were when `update.pc` was fetched |
/// | instruction memory | in `clear`: all entries are removed; takes 32 cycles, as after reset, in which nothing is predicted or entered |
///
/// `update` comes for every branch and jump that resolves, and, with `taken` low, for any other word that was fetched
/// as taken. It has effect from the next cycle on. A taken branch is entered as sure; a predicted branch that is not
/// taken becomes weak, and is removed if it was weak; a branch that was not predicted and is not taken changes nothing.
#[block(no_default)]
pub struct BranchPredictor {
    /// Word address that is fetched.
    pub pc: Signal<In, Bits<14>>,
    /// The word is a branch that is predicted taken.
    pub taken: Signal<Out, Bit>,
    /// Where it goes.
    pub target: Signal<Out, Bits<14>>,
    /// It would have to fail twice to be forgotten.
    pub sure: Signal<Out, Bit>,
    /// A branch, jump or prediction that is resolved.
    pub update: PredictorUpdateSink,
    /// Remove all entries.
    pub clear: Signal<In, Bit>,
    entries: LutMemory<Entry, 5>,
    beliefs: LutMemory<Belief, 5>,
    /// Row that is cleared.
    sweep: Reg<Bits<5>>,
    /// A row is cleared.
    sweeps: Reg<Bit>,
}

impl Default for BranchPredictor {
    fn default() -> Self {
        Self { sweeps: Reg::new(true), ..Self::blank() }
    }
}

#[hdl]
impl BranchPredictor {
    fn update(&mut self) {
        let sweeps = self.sweeps.q.val();
        let sweep = self.sweep.q.val();
        if self.clear.val() {
            self.sweep.d.next = bits::<5>(0);
            self.sweeps.d.next = true;
        } else if sweeps {
            self.sweep.d.next = sweep + 1;
            self.sweeps.d.next = !sweep.all();
        }

        let row = self.pc.val().get_bits::<5>(0);
        let entry = self.entries.read_data.val();
        let belief = self.beliefs.read_data.val();
        self.entries.read_address.next = row;
        self.beliefs.read_address.next = row;
        self.taken.next = !sweeps & belief.valid & (entry.tag == self.pc.val().get_bits::<9>(5));
        self.target.next = entry.target;
        self.sure.next = belief.sure;

        let at = self.update.pc.val().get_bits::<5>(0);
        let enters = self.update.valid.val() & self.update.taken.val();
        let fails = self.update.valid.val() & self.update.was_hit.val();
        self.entries.write_enable.next = enters;
        self.entries.write_address.next = at;
        self.entries.write_data.next =
            Entry { tag: self.update.pc.val().get_bits::<9>(5), target: self.update.target.val() };
        self.beliefs.write_enable.next = enters | fails | sweeps;
        self.beliefs.write_address.next = if sweeps { sweep } else { at };
        self.beliefs.write_data.next = Belief {
            valid: !sweeps & (self.update.taken.val() | self.update.was_sure.val()),
            sure: self.update.taken.val(),
        };
    }
}
