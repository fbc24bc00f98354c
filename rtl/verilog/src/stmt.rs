//! Statements: assignments under conditions.

use crate::expr::{Expr, SigId};
use num_bigint::BigUint;
use std::rc::Rc;

/// One label of a case: its value, and its name when it is a state.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Label {
    pub value: BigUint,
    pub name: Option<Rc<str>>,
}

#[derive(Debug, Clone)]
pub(crate) struct Arm {
    pub labels: Vec<Label>,
    pub body: Vec<Stmt>,
}

#[derive(Debug, Clone)]
pub(crate) enum Stmt {
    /// Bits `lo ..` of a signal get a value.
    Assign {
        sig: SigId,
        lo: usize,
        value: Expr,
        line: u32,
    },
    If {
        cond: Expr,
        then: Vec<Stmt>,
        other: Vec<Stmt>,
    },
    /// The first matching arm is taken; `default` is `None` when the arms name every state.
    Case {
        subject: Expr,
        arms: Vec<Arm>,
        default: Option<Vec<Stmt>>,
    },
}

impl Stmt {
    /// Calls `f` for every signal assigned here.
    pub fn targets(&self, f: &mut dyn FnMut(SigId, u32)) {
        match self {
            Stmt::Assign { sig, line, .. } => f(*sig, *line),
            Stmt::If { then, other, .. } => then.iter().chain(other).for_each(|s| s.targets(f)),
            Stmt::Case { arms, default, .. } => {
                arms.iter().flat_map(|a| &a.body).for_each(|s| s.targets(f));
                default.iter().flatten().for_each(|s| s.targets(f));
            }
        }
    }

    /// Calls `f` for every expression.
    pub fn exprs(&self, f: &mut dyn FnMut(&Expr)) {
        match self {
            Stmt::Assign { value, .. } => f(value),
            Stmt::If { cond, then, other } => {
                f(cond);
                then.iter().chain(other).for_each(|s| s.exprs(f));
            }
            Stmt::Case { subject, arms, default } => {
                f(subject);
                arms.iter().flat_map(|a| &a.body).for_each(|s| s.exprs(f));
                default.iter().flatten().for_each(|s| s.exprs(f));
            }
        }
    }

    /// Calls `f(signal, lo, width)` for every assignment.
    pub fn parts(&self, f: &mut dyn FnMut(SigId, usize, usize)) {
        match self {
            Stmt::Assign { sig, lo, value, .. } => f(*sig, *lo, value.width),
            Stmt::If { then, other, .. } => then.iter().chain(other).for_each(|s| s.parts(f)),
            Stmt::Case { arms, default, .. } => {
                arms.iter().flat_map(|a| &a.body).for_each(|s| s.parts(f));
                default.iter().flatten().for_each(|s| s.parts(f));
            }
        }
    }

    /// Lines of text, about.
    pub fn lines(&self) -> usize {
        let of = |stmts: &[Stmt]| stmts.iter().map(Stmt::lines).sum::<usize>();
        match self {
            Stmt::Assign { .. } => 1,
            Stmt::If { then, other, .. } if then.len() == 1 && other.is_empty() => of(then),
            Stmt::If { then, other, .. } => 2 + of(then) + of(other),
            Stmt::Case { arms, default, .. } => {
                2 + arms.iter().map(|arm| of(&arm.body).max(1)).sum::<usize>()
                    + of(default.as_deref().unwrap_or_default())
            }
        }
    }

    /// Replaces every expression.
    pub fn change(&mut self, f: &dyn Fn(&Expr) -> Expr) {
        match self {
            Stmt::Assign { value, .. } => *value = f(value),
            Stmt::If { cond, then, other } => {
                *cond = f(cond);
                then.iter_mut().chain(other).for_each(|s| s.change(f));
            }
            Stmt::Case { subject, arms, default } => {
                *subject = f(subject);
                arms.iter_mut().flat_map(|a| &mut a.body).for_each(|s| s.change(f));
                default.iter_mut().flatten().for_each(|s| s.change(f));
            }
        }
    }

    /// Calls `f` for every named label.
    pub fn labels(&self, f: &mut dyn FnMut(&Rc<str>, usize, &BigUint)) {
        match self {
            Stmt::Assign { .. } => {}
            Stmt::If { then, other, .. } => then.iter().chain(other).for_each(|s| s.labels(f)),
            Stmt::Case { subject, arms, default } => {
                for arm in arms {
                    for label in &arm.labels {
                        if let Some(name) = &label.name {
                            f(name, subject.width, &label.value);
                        }
                    }
                    arm.body.iter().for_each(|s| s.labels(f));
                }
                default.iter().flatten().for_each(|s| s.labels(f));
            }
        }
    }
}

/// The statements that assign one of the wanted signals, with the branches that contain none removed.
pub(crate) fn only(stmts: &[Stmt], wanted: &dyn Fn(SigId) -> bool) -> Vec<Stmt> {
    stmts.iter().filter_map(|s| keep(s, wanted)).collect()
}

fn keep(stmt: &Stmt, wanted: &dyn Fn(SigId) -> bool) -> Option<Stmt> {
    match stmt {
        Stmt::Assign { sig, .. } => wanted(*sig).then(|| stmt.clone()),
        Stmt::If { cond, then, other } => {
            let (then, other) = (only(then, wanted), only(other, wanted));
            match (then.is_empty(), other.is_empty()) {
                (true, true) => None,
                (true, false) => Some(Stmt::If { cond: Expr::not(cond.clone()), then: other, other: vec![] }),
                _ => Some(Stmt::If { cond: cond.clone(), then, other }),
            }
        }
        Stmt::Case { subject, arms, default } => {
            let mut found = false;
            stmt.targets(&mut |sig, _| found |= wanted(sig));
            found.then(|| Stmt::Case {
                subject: subject.clone(),
                arms: arms.iter().map(|a| Arm { labels: a.labels.clone(), body: only(&a.body, wanted) }).collect(),
                default: default.as_ref().map(|d| only(d, wanted)),
            })
        }
    }
}
