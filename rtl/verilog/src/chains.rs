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
