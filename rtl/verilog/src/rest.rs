//! Computes local values only under the conditions of their readers.
//!
//! `if valid { q.d.next = f(x) }` needs `f(x)` only while `valid` is high, but lowers to a wire that always has the value of `f(x)`. That
//! costs nothing in hardware; a simulator computes `f(x)` in every cycle. Here a local value that is read only under a condition is
//! computed under that condition, and is unknown otherwise; synthesis chooses any value for an unknown one. The operands of such a value
//! are then read under the condition as well, so that whole cones of logic are skipped.

use crate::build::{Role, Sig};
use crate::expr::{Expr, Kind, Op, SigId};
use crate::module::Piece;
use crate::stmt::Stmt;
use std::collections::HashMap;

/// Least work, in operations on words of the simulating machine, that is worth a condition of its own.
const LEAST_WORK: usize = 16;

/// Conditions and what they must be, outermost first.
type Path = Vec<(Expr, bool)>;

/// What is known of the readers of a signal: nothing yet, or the conditions common to all of them.
type Readers = HashMap<SigId, Path>;

/// Puts every local value worth it under the conditions of its readers. `stmts` and `exprs` are what else reads.
pub(crate) fn rested<'a>(
    pieces: Vec<Piece>,
    sigs: &[Sig],
    stmts: impl Iterator<Item = &'a Stmt>,
    exprs: impl Iterator<Item = &'a Expr>,
) -> Vec<Piece> {
    let mut readers = Readers::new();
    stmts.for_each(|stmt| of_stmt(stmt, &mut vec![], &mut readers));
    exprs.for_each(|expr| of_expr(expr, &mut vec![], &mut readers));
    let local: HashMap<SigId, usize> = pieces
        .iter()
        .enumerate()
        .map(|(at, piece)| (piece.target(), at))
        .filter(|(sig, _)| matches!(sigs[*sig].role, Role::Let | Role::Var))
        .collect();
    // A local value is looked at when all that reads it has been.
    let order = readers_last(&pieces, &local);
    let mut pieces: Vec<Option<Piece>> = pieces.into_iter().map(Some).collect();
    for at in order.iter().rev() {
        let piece = pieces[*at].take().expect("a piece stands in the order once");
        let sig = piece.target();
        let path = match local.contains_key(&sig) {
            true => readers.get(&sig).cloned().unwrap_or_default(),
            false => vec![],
        };
        piece.read(&path, &mut readers);
        pieces[*at] = Some(match path.is_empty() || piece.work() < LEAST_WORK {
            true => piece,
            false => piece.under(&path, sigs[sig].width()),
        });
    }
    // A condition may be declared after the value that now reads it.
    let order = readers_last(&pieces.iter().flatten().cloned().collect::<Vec<_>>(), &local);
    order.into_iter().filter_map(|at| pieces[at].take()).collect()
}

/// The numbers of the pieces in their order, except that a local value precedes its readers.
fn readers_last(pieces: &[Piece], local: &HashMap<SigId, usize>) -> Vec<usize> {
    fn place(at: usize, pieces: &[Piece], local: &HashMap<SigId, usize>, done: &mut [bool], order: &mut Vec<usize>) {
        if std::mem::replace(&mut done[at], true) {
            return;
        }
        let mut read = vec![];
        pieces[at].exprs(&mut |e| e.reads(&mut |sig, _, _| read.extend(local.get(&sig))));
        read.into_iter().for_each(|before| place(before, pieces, local, done, order));
        order.push(at);
    }
    let (mut done, mut order) = (vec![false; pieces.len()], vec![]);
    (0..pieces.len()).for_each(|at| place(at, pieces, local, &mut done, &mut order));
    order
}

impl Piece {
    fn target(&self) -> SigId {
        let (Piece::Value(sig, _) | Piece::Block(sig, _)) = self;
        *sig
    }

    /// Calls `f` for every expression.
    pub(crate) fn exprs(&self, f: &mut dyn FnMut(&Expr)) {
        match self {
            Piece::Value(_, e) => f(e),
            Piece::Block(_, stmts) => stmts.iter().for_each(|s| s.exprs(f)),
        }
    }

    fn read(&self, path: &Path, readers: &mut Readers) {
        for (depth, (cond, _)) in path.iter().enumerate() {
            of_expr(cond, &mut path[..depth].to_vec(), readers);
        }
        let mut path = path.clone();
        match self {
            Piece::Value(_, e) => of_expr(e, &mut path, readers),
            Piece::Block(_, stmts) => stmts.iter().for_each(|s| of_stmt(s, &mut path, readers)),
        }
    }

    fn work(&self) -> usize {
        let mut sum = 0;
        self.exprs(&mut |e| sum += work(e));
        sum
    }

    /// The piece, computed under conditions.
    fn under(self, path: &Path, width: usize) -> Piece {
        let (sig, mut stmts) = match self {
            Piece::Value(sig, value) => (sig, vec![Stmt::Assign { sig, lo: 0, value, line: 0 }]),
            Piece::Block(sig, stmts) => (sig, stmts),
        };
        for (cond, holds) in path.iter().rev() {
            let cond = if *holds { cond.clone() } else { Expr::not(cond.clone()) };
            stmts = vec![Stmt::If { cond, then: stmts, other: vec![] }];
        }
        stmts.insert(0, Stmt::Assign { sig, lo: 0, value: Expr::new(width, Kind::Unknown), line: 0 });
        Piece::Block(sig, stmts)
    }
}

/// Operations on machine words, about.
fn work(e: &Expr) -> usize {
    let words = e.width.div_ceil(32);
    match &e.kind {
        Kind::Const(_) | Kind::State(..) | Kind::Sig(..) | Kind::Unknown => 0,
        Kind::Pick(_, x) => 1 + work(x),
        Kind::Not(x) | Kind::Low(x) | Kind::Extend(x) | Kind::Repeat(_, x) => words + work(x),
        Kind::Reduce(_, x) => x.width.div_ceil(32) + work(x),
        Kind::Bin(Op::Mul | Op::SignedMul, a, b) => words * words + work(a) + work(b),
        Kind::Bin(_, a, b) => a.width.div_ceil(32) + work(a) + work(b),
        Kind::Shift(_, a, b) => 2 * words + work(a) + work(b),
        Kind::Mux(c, a, b) => words + work(c) + work(a) + work(b),
        Kind::Concat(members) => words + members.iter().map(|m| 1 + work(m)).sum::<usize>(),
    }
}

fn of_stmt(stmt: &Stmt, path: &mut Path, readers: &mut Readers) {
    match stmt {
        Stmt::Assign { value, .. } => of_expr(value, path, readers),
        Stmt::If { cond, then, other } => {
            of_expr(cond, path, readers);
            for (branch, holds) in [(then, true), (other, false)] {
                path.push((cond.clone(), holds));
                branch.iter().for_each(|s| of_stmt(s, path, readers));
                path.pop();
            }
        }
        Stmt::Case { subject, arms, default } => {
            of_expr(subject, path, readers);
            arms.iter().flat_map(|arm| &arm.body).for_each(|s| of_stmt(s, path, readers));
            default.iter().flatten().for_each(|s| of_stmt(s, path, readers));
        }
    }
}

fn of_expr(e: &Expr, path: &mut Path, readers: &mut Readers) {
    match &e.kind {
        Kind::Sig(sig, _) => note(*sig, path, readers),
        Kind::Pick(sig, index) => {
            note(*sig, path, readers);
            of_expr(index, path, readers);
        }
        Kind::Mux(cond, a, b) => {
            of_expr(cond, path, readers);
            for (branch, holds) in [(a, true), (b, false)] {
                path.push(((**cond).clone(), holds));
                of_expr(branch, path, readers);
                path.pop();
            }
        }
        _ => e.operands(&mut |x| of_expr(x, path, readers)),
    }
}

/// One more reader: what is common to all stays.
fn note(sig: SigId, path: &Path, readers: &mut Readers) {
    readers
        .entry(sig)
        .and_modify(|known| {
            let common = known.iter().zip(path).take_while(|(a, b)| a == b).count();
            known.truncate(common);
        })
        .or_insert_with(|| path.clone());
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::expr::{Reduce, Shift};

    #[test]
    fn work_is_counted_in_words_of_32_bits() {
        let sig = |id: SigId, width: usize| Expr::sig(id, width);
        let new = |width: usize, kind: Kind| Expr::new(width, kind);
        let boxed = |e: Expr| Box::new(e);
        let wide = || sig(0, 70);
        let sum = || Expr::bin(Op::Add, wide(), wide());
        assert_eq!(work(&sum()), 3, "the operand of the cases that follow");
        for (e, wanted) in [
            (wide(), 0),
            (Expr::number(70, 5u8), 0),
            (new(70, Kind::Unknown), 0),
            (new(1, Kind::Pick(0, boxed(Expr::bin(Op::Add, sig(1, 6), sig(1, 6))))), 2),
            (new(70, Kind::Not(boxed(sum()))), 6),
            (new(70, Kind::Not(boxed(wide()))), 3),
            (new(40, Kind::Low(boxed(sum()))), 5),
            (new(100, Kind::Extend(boxed(sum()))), 7),
            (new(64, Kind::Repeat(64, boxed(sig(0, 1)))), 2),
            (new(1, Kind::Reduce(Reduce::Any, boxed(sum()))), 6),
            (Expr::bin(Op::Mul, wide(), sum()), 12),
            (Expr::bin(Op::Sub, sum(), Expr::bin(Op::Sub, sum(), sum())), 15),
            // A comparison works on its operands, not on its bit.
            (Expr::bin(Op::Lt, wide(), sum()), 6),
            (new(70, Kind::Shift(Shift::Left, boxed(sum()), boxed(Expr::bin(Op::Add, sig(1, 6), sig(1, 6))))), 10),
            (new(70, Kind::Mux(boxed(Expr::bin(Op::Eq, wide(), wide())), boxed(sum()), boxed(sum()))), 12),
            (new(140, Kind::Concat(vec![sum(), wide()])), 10),
        ] {
            assert_eq!(work(&e), wanted, "{e:?}");
        }
    }

    /// A local value of this many words of work, which only the branch of a condition reads: whether it rests.
    fn rests(words: usize, reader: impl Fn(Expr) -> Stmt) -> bool {
        let width = 32 * words;
        let sigs = [("a", 32 * words, Role::In), ("x", width, Role::Let), ("y", width, Role::Out), ("p", 1, Role::In)];
        let sigs = sigs.map(|(name, width, role)| Sig::of(name, width, role));
        let value = Expr::bin(Op::Add, Expr::sig(0, width), Expr::sig(0, width));
        let pieces = vec![Piece::Value(1, value)];
        let rested = rested(pieces, &sigs, [reader(Expr::sig(1, width))].iter(), [].iter());
        matches!(rested[..], [Piece::Block(1, _)])
    }

    #[test]
    fn only_much_work_has_a_condition_of_its_own() {
        let set = |value: Expr| Stmt::Assign { sig: 2, lo: 0, value, line: 0 };
        let branch = |value: Expr| Stmt::If { cond: Expr::sig(3, 1), then: vec![set(value)], other: vec![] };
        assert!(!rests(LEAST_WORK - 1, branch) && rests(LEAST_WORK, branch));
        assert!(!rests(LEAST_WORK, set), "what is always read is always computed");
    }
}
