//! Which bits a list of statements assigns on every path.

use crate::expr::SigId;
use crate::stmt::Stmt;

/// Bits of `sig` that are assigned whatever the conditions.
pub(crate) fn assigned(stmts: &[Stmt], sig: SigId, width: usize) -> Vec<bool> {
    let mut bits = vec![false; width];
    for stmt in stmts {
        match stmt {
            Stmt::Assign { sig: target, lo, value, .. } if *target == sig => bits[*lo..lo + value.width].fill(true),
            Stmt::Assign { .. } => {}
            Stmt::If { then, other, .. } => {
                let (a, b) = (assigned(then, sig, width), assigned(other, sig, width));
                bits.iter_mut().zip(a.iter().zip(&b)).for_each(|(bit, (a, b))| *bit |= *a && *b);
            }
            Stmt::Case { arms, default, .. } => {
                let mut all = vec![true; width];
                for body in arms.iter().map(|a| &a.body).chain(default) {
                    let arm = assigned(body, sig, width);
                    all.iter_mut().zip(&arm).for_each(|(bit, a)| *bit &= *a);
                }
                bits.iter_mut().zip(&all).for_each(|(bit, a)| *bit |= *a);
            }
        }
    }
    bits
}
