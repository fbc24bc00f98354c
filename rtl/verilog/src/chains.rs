//! Joins values that are put together bit by bit.
//!
//! A loop that sets one part of a value after the other lowers to a wire for each step, each repeating all the parts of the one before. If nothing but the
//! next step reads a step, the parts can be written in its place; what is left is one concatenation.

use crate::build::{Item, Role, Sig};
use crate::expr::{Expr, Kind, SigId};
use std::collections::{HashMap, HashSet};

/// The items with such chains joined. The steps stay, unread.
pub(crate) fn joined(items: &[Item], sigs: &[Sig]) -> Vec<Item> {
    let mut readers = vec![0usize; sigs.len()];
    for item in items {
        let mut read: HashSet<SigId> = HashSet::new();
        let mut note = |e: &Expr| e.reads(&mut |id, _, _| _ = read.insert(id));
        match item {
            Item::Wire(_, e) => note(e),
            Item::Top(s) => s.exprs(&mut note),
        }
        read.into_iter().for_each(|id| readers[id] += 1);
    }
    let mut steps: HashMap<SigId, Expr> = HashMap::new();
    items
        .iter()
        .map(|item| match item {
            Item::Wire(sig, Expr { kind: Kind::Concat(members), .. }) => {
                let members = members.iter().map(|member| match member.kind {
                    Kind::Sig(id, lo) if readers[id] == 1 => match steps.get(&id) {
                        Some(step) => Expr::slice(step.clone(), lo, member.width),
                        None => member.clone(),
                    },
                    _ => member.clone(),
                });
                let expr = Expr::concat(members.collect());
                if matches!(sigs[*sig].role, Role::Let | Role::Var) && is_step(&expr) {
                    steps.insert(*sig, expr.clone());
                }
                Item::Wire(*sig, expr)
            }
            other => other.clone(),
        })
        .collect()
}

/// Whether any part of the value can be had without computing something twice.
fn is_step(expr: &Expr) -> bool {
    match &expr.kind {
        Kind::Concat(members) => members.iter().all(|m| m.width == 1 || m.is_plain() || m.value().is_some()),
        _ => false,
    }
}
