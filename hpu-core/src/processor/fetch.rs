//! Stages F and D of the instruction stream: the next word to fetch, and the facts about the word in D.

use super::branch_predictor::BranchPredictor;
use super::bundles::{Fetched, PredictorUpdateSink};
use super::stages::{block_in_code, word_of, Code};
use spindle_verilog::prelude::*;

/// Chooses the next program counter.
///
/// | neighbour | ports |
/// |---|---|
/// | instruction memory | out `address`, `enable`; the word is in D two edges later |
/// | threads | in `enter`, `enter_pc`, `enter_block`; in `code` of the thread that is fetched |
/// | M1 | in `redirect`, `redirect_pc`; in `drop`; in `update` of the predictor |
/// | issue | out `fetched`, `after` of D; in `hold` |
///
/// `enter` (another handler) and `redirect` (the same one, elsewhere) choose the address of the same cycle: its fetch
/// is in F in the next cycle, in D in the one after that. Both drop the instructions in F and D, and so does `drop`
/// alone, after which nothing is fetched until `enter` or `redirect`. With `hold` F and D stand still. The end of the
/// code is found here: a word from outside `code` is marked, and faults when it executes.
#[block]
pub struct Fetch {
    /// Image that is fetched, except in a cycle with `enter`.
    pub code: Signal<In, Code>,
    /// Continue with another handler.
    pub enter: Signal<In, Bit>,
    /// Its program counter.
    pub enter_pc: Signal<In, Bits<17>>,
    /// Its block of instruction memory.
    pub enter_block: Signal<In, Bits<9>>,
    /// Continue elsewhere.
    pub redirect: Signal<In, Bit>,
    /// New program counter.
    pub redirect_pc: Signal<In, Bits<17>>,
    /// Drop the instructions in F and D.
    pub drop: Signal<In, Bit>,
    /// The word in D stays there.
    pub hold: Signal<In, Bit>,
    /// A branch, jump or prediction that is resolved.
    pub update: PredictorUpdateSink,
    /// Word to fetch.
    pub address: Signal<Out, Bits<14>>,
    /// Fetch the word.
    pub enable: Signal<Out, Bit>,
    /// The instruction in D.
    pub fetched: Fetched,
    /// Program counter of the next word.
    pub after: Signal<Out, Bits<17>>,
    predictor: BranchPredictor,
    fetching: Reg<Bit>,
    fetch_pc: DFF<Bits<17>>,
    fetch_block: DFF<Bits<9>>,
    decoding: Reg<Bit>,
    decode_pc: DFF<Bits<17>>,
    decode_block: DFF<Bits<9>>,
    decode_after: DFF<Bits<17>>,
    decode_outside: DFF<Bit>,
    decode_predicted: DFF<Bit>,
    decode_target: DFF<Bits<14>>,
    decode_sure: DFF<Bit>,
}

#[hdl]
impl Fetch {
    fn update(&mut self) {
        let pc = self.fetch_pc.q.val();
        let code = self.code.val();

        self.predictor.pc.next = word_of(pc, self.fetch_block.q.val());
        self.update.join(&mut self.predictor.update);
        // A stale entry costs a correction, never more: a new image needs no clearing.
        self.predictor.clear.next = false;

        let sequential = pc + 2;
        let following = if self.predictor.taken.val() {
            (bits::<2>(0), self.predictor.target.val(), bits::<1>(0)).cat::<17>()
        } else {
            sequential
        };
        let same_handler_pc = if self.redirect.val() { self.redirect_pc.val() } else { following };
        let next_pc = if self.enter.val() { self.enter_pc.val() } else { same_handler_pc };
        let next_block =
            if self.enter.val() { self.enter_block.val() } else { block_in_code(same_handler_pc, code.base) };
        let leaves = self.enter.val() | self.redirect.val();
        self.address.next = word_of(next_pc, next_block);
        // At rest nothing is fetched.
        let moves = self.fetching.q.val() & !self.hold.val();
        self.enable.next = leaves | moves;
        if leaves | moves {
            self.fetch_pc.d.next = next_pc;
            self.fetch_block.d.next = next_block;
        }
        if leaves {
            self.fetching.d.next = true;
        } else if self.drop.val() {
            self.fetching.d.next = false;
        }

        if moves {
            self.decode_pc.d.next = pc;
            self.decode_block.d.next = self.fetch_block.q.val();
            self.decode_after.d.next = sequential;
            self.decode_outside.d.next = pc.get_bit(0) | (pc.get_bits::<16>(1) >= bit_cast::<16, 15>(code.size));
            self.decode_predicted.d.next = self.predictor.taken.val();
            self.decode_target.d.next = self.predictor.target.val();
            self.decode_sure.d.next = self.predictor.sure.val();
        }
        self.decoding.load(!self.hold.val(), self.fetching.q.val());
        self.decoding.load(leaves | self.drop.val(), false);
        self.fetched.valid.next = self.decoding.q.val();
        self.fetched.pc.next = self.decode_pc.q.val();
        self.fetched.block.next = self.decode_block.q.val();
        self.after.next = self.decode_after.q.val();
        self.fetched.outside.next = self.decode_outside.q.val();
        self.fetched.predicted.next = self.decode_predicted.q.val();
        self.fetched.predicted_target.next = self.decode_target.q.val();
        self.fetched.sure.next = self.decode_sure.q.val();
    }
}
