//! Writes small local values where they are read.
//!
//! A loop or a helper function names its local values once and lowers to a wire for each turn and each call: `same_0`, `same_1`, and so on.
//! Many of these are another name for a part of a signal, or a step that only the next step reads; they are replaced by their values. A
//! value that a block names outside of loops and helpers keeps its wire.

use crate::build::{Role, Sig};
use crate::expr::{Expr, Kind, Op, SigId};
use crate::module::Piece;
use std::collections::{HashMap, HashSet};

/// Words of a value that is written into a larger one.
const FEW_WORDS: usize = 5;

/// Words of a chain of one operator.
const CHAIN_WORDS: usize = 32;

/// How often each signal is read, and whether by a computed index.
#[derive(Default)]
pub(crate) struct Readers {
    reads: HashMap<SigId, usize>,
    picked: HashSet<SigId>,
}

impl Readers {
    pub fn note(&mut self, e: &Expr) {
        e.reads(&mut |sig, _, width| {
            *self.reads.entry(sig).or_default() += 1;
            if width == usize::MAX {
                self.picked.insert(sig);
            }
        });
    }
}

/// The values that may stand for their signals.
pub(crate) struct Steps(HashMap<SigId, Expr>);

impl Steps {
    /// Parts of signals and constants, which may be read often, or what is read once. Pieces come after those that they read.
    pub fn new(pieces: &[Piece], sigs: &[Sig], readers: &Readers, only_parts: bool) -> Steps {
        let mut steps = Steps(HashMap::new());
        for piece in pieces {
            let Piece::Value(sig, value) = piece else { continue };
            let local = sigs[*sig].step && matches!(sigs[*sig].role, Role::Let | Role::Var);
            let wanted = match only_parts {
                true => matches!(value.kind, Kind::Sig(..) | Kind::Const(_)),
                false => readers.reads.get(sig) == Some(&1),
            };
            if local && wanted && !readers.picked.contains(sig) {
                let value = steps.written_out(&steps.standing_for(value));
                steps.0.insert(*sig, value);
            }
        }
        steps
    }

    /// The value of a signal that is another name for a whole step.
    pub fn standing_for(&self, e: &Expr) -> Expr {
        match &e.kind {
            Kind::Sig(sig, 0) => self.0.get(sig).filter(|value| value.width == e.width).unwrap_or(e).clone(),
            _ => e.clone(),
        }
    }

    /// The expression with signals replaced by their values.
    pub fn written_out(&self, e: &Expr) -> Expr {
        self.go(e, None)
    }

    /// `chain`: the operator that the expression is the left operand of.
    fn go(&self, e: &Expr, chain: Option<Op>) -> Expr {
        match &e.kind {
            Kind::Sig(sig, lo) => match self.0.get(sig) {
                Some(value) if self.fits(value, *lo, e.width, chain) => Expr::slice(value.clone(), *lo, e.width),
                _ => e.clone(),
            },
            Kind::Bin(op, a, b) => {
                let (a, b) = (self.go(a, Some(*op)), self.go(b, None));
                Expr::bin(*op, a, b)
            }
            _ => e.with_operands(&|x| self.go(x, None)),
        }
    }

    fn fits(&self, value: &Expr, lo: usize, width: usize, chain: Option<Op>) -> bool {
        let whole = lo == 0 && width == value.width;
        match &value.kind {
            Kind::Sig(..) | Kind::Const(_) => true,
            Kind::Bin(op, ..) if Some(*op) == chain => whole && words(value) <= CHAIN_WORDS,
            Kind::Mux(..) => false,
            _ => whole && words(value) <= FEW_WORDS,
        }
    }
}

/// Names and numbers in an expression.
fn words(e: &Expr) -> usize {
    let mut sum = usize::from(matches!(e.kind, Kind::Const(_) | Kind::State(..) | Kind::Sig(..) | Kind::Pick(..)));
    e.operands(&mut |x| sum += words(x));
    sum
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The sum of this many signals.
    fn sum(words: usize) -> Expr {
        (0..words).map(|_| Expr::sig(0, 8)).reduce(|a, b| Expr::bin(Op::Add, a, b)).expect("there is a word")
    }

    /// A step `x` with a value, and what becomes of an expression that reads it.
    fn inlined(value: &Expr, reader: &Expr) -> Expr {
        let mut step = Sig::of("x", value.width, Role::Let);
        step.step = true;
        let sigs = [Sig::of("a", 8, Role::In), step];
        let mut readers = Readers::default();
        readers.note(reader);
        let pieces = [Piece::Value(1, value.clone())];
        Steps::new(&pieces, &sigs, &readers, false).written_out(reader)
    }

    #[test]
    fn a_step_of_a_few_words_is_written_where_it_is_read() {
        let reader = |x: Expr| Expr::bin(Op::Xor, Expr::sig(0, 8), x);
        for words in [1, 2, FEW_WORDS] {
            assert_eq!(inlined(&sum(words), &reader(Expr::sig(1, 8))), reader(sum(words)), "{words}");
        }
        let kept = reader(Expr::sig(1, 8));
        assert_eq!(inlined(&sum(FEW_WORDS + 1), &kept), kept);
        let choice =
            Expr::new(8, Kind::Mux(Box::new(Expr::sig(0, 1)), Box::new(sum(1)), Box::new(Expr::number(8, 0u8))));
        assert_eq!(inlined(&choice, &kept), kept, "a choice inside an expression hides what it chooses");
    }

    #[test]
    fn a_chain_goes_on_for_more_words() {
        let reader = |x: Expr| Expr::bin(Op::Add, x, Expr::sig(0, 8));
        assert_eq!(inlined(&sum(CHAIN_WORDS), &reader(Expr::sig(1, 8))), reader(sum(CHAIN_WORDS)));
        for (words, kept) in [
            (CHAIN_WORDS + 1, reader(Expr::sig(1, 8))),
            // Not on the right, where it would need parentheses, and not in a chain of another operator.
            (FEW_WORDS + 1, Expr::bin(Op::Add, Expr::sig(0, 8), Expr::sig(1, 8))),
            (FEW_WORDS + 1, Expr::bin(Op::Sub, Expr::sig(1, 8), Expr::sig(0, 8))),
        ] {
            assert_eq!(inlined(&sum(words), &kept), kept);
        }
    }

    #[test]
    fn a_part_of_a_sum_is_not_computed_apart() {
        let kept = Expr::bin(Op::Xor, Expr::sig(0, 4), Expr::slice(Expr::sig(1, 8), 2, 4));
        assert_eq!(inlined(&sum(2), &kept), kept);
        let low = Expr::bin(Op::Xor, Expr::sig(0, 4), Expr::slice(Expr::sig(1, 8), 0, 4));
        assert_eq!(inlined(&sum(2), &low), low);
        // Parts of signals are.
        let part = Expr::slice(Expr::sig(0, 8), 1, 7);
        let reader = Expr::bin(Op::Xor, Expr::sig(0, 4), Expr::slice(Expr::sig(1, 7), 2, 4));
        assert_eq!(inlined(&part, &reader), Expr::bin(Op::Xor, Expr::sig(0, 4), Expr::slice(Expr::sig(0, 8), 3, 4)));
    }

    #[test]
    fn what_is_read_twice_keeps_its_name() {
        let twice = Expr::bin(Op::Xor, Expr::sig(1, 8), Expr::sig(1, 8));
        assert_eq!(inlined(&sum(2), &twice), twice);
    }
}
