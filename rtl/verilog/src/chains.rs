//! Joins values that are put together bit by bit.
//!
//! A loop that sets one part of a value after the other lowers to a wire for each step. Each wire repeats all parts of the one before.
//! If only the next step reads a step, its parts replace it, and one concatenation remains.

use crate::build::{Item, Role, Sig};
use crate::expr::{Expr, Kind, SigId};
use std::collections::{HashMap, HashSet};

/// The items with such chains joined. A step under a condition is two wires, which a first pass makes one.
pub(crate) fn joined(items: &[Item], sigs: &[Sig]) -> Vec<Item> {
    pass(&pass(items, sigs), sigs)
}

fn pass(items: &[Item], sigs: &[Sig]) -> Vec<Item> {
    let local = |sig: SigId| matches!(sigs[sig].role, Role::Let | Role::Var);
    // From the last item to the first, those that something reads, and how many items read each signal.
    let mut readers = vec![0usize; sigs.len()];
    let mut live = vec![];
    for item in items.iter().rev() {
        let mut read: HashSet<SigId> = HashSet::new();
        let mut note = |e: &Expr| e.reads(&mut |id, _, _| _ = read.insert(id));
        match item {
            Item::Wire(sig, _) if local(*sig) && readers[*sig] == 0 => continue,
            Item::Wire(_, e) => note(e),
            Item::Top(s) => s.exprs(&mut note),
        }
        read.into_iter().for_each(|id| readers[id] += 1);
        live.push(item);
    }
    let mut steps: HashMap<SigId, Expr> = HashMap::new();
    let mut joined = vec![];
    for item in live.into_iter().rev() {
        joined.push(match item {
            Item::Wire(sig, whole @ Expr { kind: Kind::Concat(_) | Kind::Mux(..), .. }) => {
                let twice = read_twice(whole);
                let expr = with_steps(whole, &|id| steps.get(&id).filter(|_| readers[id] == 1 && !twice.contains(&id)));
                if local(*sig) && is_step(&expr) {
                    steps.insert(*sig, expr.clone());
                }
                Item::Wire(*sig, expr)
            }
            other => other.clone(),
        });
    }
    joined
}

/// Signals of which a bit is read more than once, or a computed one.
fn read_twice(e: &Expr) -> HashSet<SigId> {
    let mut seen: HashMap<SigId, Vec<(usize, usize)>> = HashMap::new();
    e.reads(&mut |id, lo, width| seen.entry(id).or_default().push((lo, lo.saturating_add(width))));
    seen.retain(|_, reads| {
        reads.sort_unstable();
        reads.windows(2).any(|pair| pair[1].0 < pair[0].1) || reads[0].1 == usize::MAX
    });
    seen.into_keys().collect()
}

/// The expression with parts of signals replaced by parts of their steps.
fn with_steps<'a>(e: &Expr, step: &dyn Fn(SigId) -> Option<&'a Expr>) -> Expr {
    match e.kind {
        Kind::Sig(id, lo) => step(id).map_or_else(|| e.clone(), |step| Expr::slice(step.clone(), lo, e.width)),
        _ => e.with_operands(&|x| with_steps(x, step)),
    }
}

/// Whether any part of the value can be had without computing something twice.
fn is_step(expr: &Expr) -> bool {
    match &expr.kind {
        Kind::Concat(members) => members.iter().all(|m| m.width == 1 || m.is_plain() || m.value().is_some()),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn signals() -> Vec<Sig> {
        let names = [("a", Role::In), ("x", Role::Let), ("y", Role::Let), ("z", Role::Out)];
        names.map(|(name, role)| Sig::of(name, 8, role)).to_vec()
    }

    fn part(sig: SigId, lo: usize, width: usize) -> Expr {
        Expr::slice(Expr::sig(sig, 8), lo, width)
    }

    /// Two bits of `a` after six of `sig`.
    fn step(sig: SigId) -> Expr {
        Expr::concat(vec![part(sig, 0, 6), part(0, 0, 2)])
    }

    fn values(items: &[(SigId, Expr)]) -> Vec<(SigId, Expr)> {
        let items: Vec<Item> = items.iter().map(|(sig, e)| Item::Wire(*sig, e.clone())).collect();
        let joined = joined(&items, &signals()).into_iter();
        joined.map(|item| if let Item::Wire(sig, e) = item { (sig, e) } else { unreachable!("no statement") }).collect()
    }

    #[test]
    fn a_step_that_only_the_next_one_reads_joins_it() {
        let chain = values(&[(1, step(0)), (2, step(1)), (3, step(2))]);
        let whole = Expr::concat(vec![part(0, 0, 2), part(0, 0, 2), part(0, 0, 2), part(0, 0, 2)]);
        assert_eq!(chain.last(), Some(&(3, whole)));
    }

    #[test]
    fn a_step_that_others_read_stays() {
        let chain = values(&[(1, step(0)), (2, step(1)), (3, Expr::concat(vec![part(1, 0, 4), part(2, 0, 4)]))]);
        // The value `x` has two readers; `y`, which has one, gives its parts.
        assert_eq!(chain.last(), Some(&(3, Expr::concat(vec![part(1, 0, 4), part(1, 0, 2), part(0, 0, 2)]))));
    }

    #[test]
    fn bits_read_twice_are_not_joined() {
        let overlap = Expr::concat(vec![part(1, 0, 5), part(1, 4, 3)]);
        assert_eq!(values(&[(1, step(0)), (3, overlap.clone())]).last(), Some(&(3, overlap)));
        let beside = Expr::concat(vec![part(1, 0, 4), part(1, 5, 3), part(0, 7, 1)]);
        let joined = Expr::concat(vec![part(0, 0, 2), part(0, 0, 2), part(0, 3, 3), part(0, 7, 1)]);
        assert_eq!(values(&[(1, step(0)), (3, beside)]).last(), Some(&(3, joined)));
        assert!(
            read_twice(&Expr::slice_at(Expr::sig(1, 8), Expr::sig(0, 3), 1)).contains(&1),
            "a computed bit is any bit"
        );
        assert!(read_twice(&part(1, 0, 8)).is_empty());
    }

    #[test]
    fn a_step_has_parts_that_cost_nothing() {
        let sum = |width: usize| {
            Expr::new(width, Kind::Bin(crate::expr::Op::Add, Box::new(part(0, 0, width)), Box::new(part(1, 0, width))))
        };
        assert!(is_step(&Expr::concat(vec![part(0, 0, 4), Expr::number(3, 5u8), sum(1)])));
        assert!(!is_step(&Expr::concat(vec![part(0, 0, 4), sum(4)])), "a part of a sum is computed again");
        assert!(!is_step(&part(0, 0, 4)));
    }

    #[test]
    fn what_nothing_reads_goes() {
        assert_eq!(values(&[(1, step(0)), (3, step(0))]), [(3, step(0))]);
        assert_eq!(values(&[(1, part(0, 0, 8)), (2, step(1)), (3, step(0))]), [(3, step(0))]);
    }
}
