//! `match`, as a statement and as a value.

use super::{Lower, Lowered, Val};
use crate::expr::{Expr, Kind, Op};
use crate::stmt::{Arm, Label, Stmt};
use crate::ty::Ty;
use num_bigint::BigUint;
use rust_hdl_core::prelude::TypeKind;
use std::collections::HashSet;
use syn::{Expr as Ast, Pat};

/// The labels of each arm that can be reached; `None` for `_`.
struct Arms<'x> {
    arms: Vec<(Vec<Label>, &'x Ast)>,
    default: Option<&'x Ast>,
}

impl Lower<'_> {
    pub(super) fn match_statement(&mut self, node: &syn::ExprMatch) -> Lowered<()> {
        self.match_arms(node, &mut |this, body| this.effect(body))
    }

    /// Lowers the arms with `f` under a case, or the one arm that a constant chooses.
    pub(super) fn match_arms(
        &mut self,
        node: &syn::ExprMatch,
        f: &mut dyn FnMut(&mut Self, &Ast) -> Lowered<()>,
    ) -> Lowered<()> {
        let (subject, ty) = match self.subject(node)? {
            (Some(chosen), _, _) => return self.scoped(|this| f(this, chosen)),
            (None, subject, ty) => (subject, ty),
        };
        let arms = self.arms(node, &subject, &ty)?;
        let reads = self.reads.clone();
        let versions = self.versions.clone();
        let mut all_reads = vec![];
        let mut all_versions = vec![];
        let mut lowered = vec![];
        for (labels, body) in &arms.arms {
            let body = self.branch(&mut |this| f(this, body))?;
            lowered.push(Arm { labels: labels.clone(), body });
            all_reads.push(std::mem::replace(&mut self.reads, reads.clone()));
            all_versions.push(std::mem::replace(&mut self.versions, versions.clone()));
        }
        let default = match arms.default {
            Some(body) => {
                let body = self.branch(&mut |this| f(this, body))?;
                all_reads.push(std::mem::replace(&mut self.reads, reads));
                all_versions.push(std::mem::replace(&mut self.versions, versions));
                Some(body)
            }
            None => None,
        };
        for reads in all_reads {
            self.merge_reads(reads);
        }
        self.join_versions(&all_versions, &mut |mut values| {
            let mut result = values.pop().expect("a match has an arm");
            let labelled = &arms.arms[..values.len()];
            for ((labels, _), value) in labelled.iter().zip(values).rev() {
                result = Expr::mux(any_label(&subject, labels), value, result);
            }
            result
        });
        if lowered.iter().any(|a| !a.body.is_empty()) || default.as_ref().is_some_and(|d| !d.is_empty()) {
            self.push(Stmt::Case { subject, arms: lowered, default });
        }
        Ok(())
    }

    pub(super) fn match_value(&mut self, node: &syn::ExprMatch, hint: Option<&Ty>) -> Lowered<Val> {
        let (subject, ty) = match self.subject(node)? {
            (Some(chosen), _, _) => return self.value(chosen, hint),
            (None, subject, ty) => (subject, ty),
        };
        let arms = self.arms(node, &subject, &ty)?;
        let mut bodies: Vec<(Option<&Vec<Label>>, &Ast)> = arms.arms.iter().map(|(l, b)| (Some(l), *b)).collect();
        bodies.extend(arms.default.map(|b| (None, b)));
        let mut values = vec![];
        let mut ty = hint.cloned();
        for (_, body) in &bodies {
            let value = self.value(body, ty.as_ref())?;
            if let (None, Val::Hw(_, found)) = (&ty, &value) {
                ty = Some(found.clone());
            }
            values.push(value);
        }
        let Some(ty) = ty else {
            return self.refuse(node, "the width of this `match` is not known; write bits::<N>(n) in an arm");
        };
        let mut result: Option<Expr> = None;
        for ((labels, body), value) in bodies.into_iter().zip(values).rev() {
            let value = self.hw(value, Some(&ty), body)?;
            result = Some(match (result, labels) {
                (Some(rest), Some(labels)) => Expr::mux(any_label(&subject, labels), value, rest),
                // The last arm of an exhaustive match needs no comparison.
                _ => value,
            });
        }
        match result {
            Some(expr) => Ok(Val::Hw(expr, ty)),
            None => self.refuse(node, "this `match` has no arm that can be reached"),
        }
    }

    /// The value matched on, and the arm it chooses when it is a constant.
    fn subject<'x>(&mut self, node: &'x syn::ExprMatch) -> Lowered<(Option<&'x Ast>, Expr, Ty)> {
        let (expr, ty) = match self.value(&node.expr, None)? {
            Val::Int(n) if n >= 0 => (Expr::number(127, n as u128), Ty::Index(127)),
            Val::Int(_) | Val::List(_) => {
                return self.refuse(&node.expr, "`match` takes a state, a Bit, `.index()` or `.to_u64()`")
            }
            Val::Hw(expr, ty) => (expr, ty),
        };
        let fine = match &ty {
            Ty::Index(_) | Ty::Bits(1) => true,
            Ty::Bits(_) => false,
            Ty::Named(d) => matches!(d.kind, TypeKind::Enum(_)),
        };
        if !fine {
            return self.refuse(
                &node.expr,
                format!("`match` takes a state, a Bit, `.index()` or `.to_u64()`, not {}", ty.text()),
            );
        }
        let Some(value) = expr.value().cloned() else { return Ok((None, expr, ty)) };
        for arm in &node.arms {
            let mut labels = vec![];
            let all = self.pattern(&arm.pat, &expr, &mut labels)?;
            if all || labels.iter().any(|l| l.value == value) {
                return Ok((Some(&arm.body), expr, ty));
            }
        }
        self.refuse(node, "no arm of this `match` takes the constant")
    }

    fn arms<'x>(&mut self, node: &'x syn::ExprMatch, subject: &Expr, ty: &Ty) -> Lowered<Arms<'x>> {
        let mut seen: HashSet<BigUint> = HashSet::new();
        let mut result = Arms { arms: vec![], default: None };
        for arm in &node.arms {
            if let Some((_, guard)) = &arm.guard {
                return self.refuse(guard.as_ref(), "guards are not part of the language; use an `if` inside the arm");
            }
            let mut labels = vec![];
            if self.pattern(&arm.pat, subject, &mut labels)? {
                result.default = Some(&arm.body);
                break;
            }
            // Rust takes the first arm that fits, and Verilog tools warn about labels that come twice.
            labels.retain(|l| seen.insert(l.value.clone()));
            if !labels.is_empty() {
                result.arms.push((labels, &arm.body));
            }
        }
        let states = match ty {
            Ty::Named(d) => match &d.kind {
                TypeKind::Enum(states) => states.len() as u128,
                _ => u128::MAX,
            },
            _ if subject.width < 100 => 1 << subject.width,
            _ => u128::MAX,
        };
        if result.default.is_none() && (seen.len() as u128) < states {
            return self.refuse(node, "this `match` does not name every value; add `_ => ...`");
        }
        Ok(result)
    }

    /// Adds the labels of a pattern; true when it takes everything.
    fn pattern(&mut self, pat: &Pat, subject: &Expr, labels: &mut Vec<Label>) -> Lowered<bool> {
        let at: Ast = match pat {
            Pat::Wild(_) => return Ok(true),
            Pat::Paren(inner) => return self.pattern(&inner.pat, subject, labels),
            Pat::Or(or) => {
                let mut all = false;
                for case in &or.cases {
                    all |= self.pattern(case, subject, labels)?;
                }
                return Ok(all);
            }
            Pat::Lit(lit) => Ast::Lit(lit.clone()),
            Pat::Path(path) => Ast::Path(path.clone()),
            Pat::Ident(ident) if ident.ident.to_string().starts_with(char::is_uppercase) => {
                let name = &ident.ident;
                syn::parse_quote!(#name)
            }
            Pat::Ident(ident) => return self.refuse(ident, "a pattern cannot bind a name; use `_`"),
            Pat::Range(range) => {
                return self.refuse(range, "range patterns are not part of the language; use if with comparisons")
            }
            other => return self.refuse(other, "a pattern is a state, a number, a constant, `a | b` or `_`"),
        };
        let (value, name) = match self.pattern_value(pat, &at)? {
            Val::Int(n) if n >= 0 => (BigUint::from(n as u128), None),
            Val::Hw(expr, _) => match expr.kind {
                Kind::State(name, value) => (value, Some(name)),
                Kind::Const(value) => (value, None),
                _ => return self.refuse(pat, "a pattern is a constant"),
            },
            _ => return self.refuse(pat, "a pattern is not negative"),
        };
        if value.bits() as usize > subject.width {
            return self
                .refuse(pat, format!("the pattern {value} does not fit in the {} bits matched on", subject.width));
        }
        labels.push(Label { value, name });
        Ok(false)
    }

    /// Patterns name constants only, whatever locals are called.
    fn pattern_value(&mut self, pat: &Pat, at: &Ast) -> Lowered<Val> {
        match pat {
            Pat::Lit(_) => self.value(at, None),
            _ => match self.constant_call(at) {
                Some(value) => Ok(value),
                None => self.refuse(pat, "this pattern is not a constant that the back end knows"),
            },
        }
    }

    /// Whether an expression reads better as statements: a `match` on a signal, or an `if` with more than two levels or
    /// locals of its own.
    pub(super) fn wants_block(&mut self, expr: &Ast) -> Lowered<bool> {
        Ok(match expr {
            Ast::Paren(inner) => self.wants_block(&inner.expr)?,
            Ast::Match(_) => true,
            Ast::Block(block) => match block.block.stmts.last() {
                Some(syn::Stmt::Expr(tail, None)) => self.wants_block(tail)?,
                _ => false,
            },
            Ast::If(_) => depth(expr) > 2,
            _ => false,
        })
    }

    /// The type of the first branch that has one.
    pub(super) fn type_of_branches(&mut self, expr: &Ast) -> Lowered<Ty> {
        let mut found = None;
        let mut todo = vec![expr];
        while let Some(next) = todo.pop() {
            match next {
                Ast::Paren(inner) => todo.push(&inner.expr),
                Ast::If(node) => {
                    todo.extend(node.else_branch.as_ref().map(|(_, e)| e.as_ref()));
                    if let Some(syn::Stmt::Expr(tail, None)) = node.then_branch.stmts.last() {
                        if node.then_branch.stmts.len() == 1 {
                            todo.push(tail);
                        }
                    }
                }
                Ast::Match(node) => todo.extend(node.arms.iter().rev().map(|a| a.body.as_ref())),
                Ast::Block(block) if block.block.stmts.len() == 1 => {
                    if let Some(syn::Stmt::Expr(tail, None)) = block.block.stmts.last() {
                        todo.push(tail);
                    }
                }
                Ast::Block(_) => {}
                other => {
                    // A trial: the wires it makes are unread and vanish.
                    if let Ok(Val::Hw(_, ty)) = self.value(other, None) {
                        found = Some(ty);
                        break;
                    }
                }
            }
        }
        match found {
            Some(ty) => Ok(ty),
            None => self.refuse(expr, "the width of this value is not known; give the `let` a type"),
        }
    }
}

/// Levels of nested `if`; a block with locals counts as many.
fn depth(expr: &Ast) -> usize {
    let tail = |block: &syn::Block| match block.stmts.as_slice() {
        [syn::Stmt::Expr(tail, None)] => depth(tail),
        _ => 3,
    };
    match expr {
        Ast::Paren(inner) => depth(&inner.expr),
        Ast::Match(_) => 3,
        Ast::Block(block) => tail(&block.block),
        Ast::If(node) => 1 + tail(&node.then_branch).max(node.else_branch.as_ref().map_or(0, |(_, e)| depth(e))),
        _ => 0,
    }
}

fn any_label(subject: &Expr, labels: &[Label]) -> Expr {
    labels
        .iter()
        .map(|label| {
            let kind = match &label.name {
                Some(name) => Kind::State(name.clone(), label.value.clone()),
                None => Kind::Const(label.value.clone()),
            };
            Expr::bin(Op::Eq, subject.clone(), Expr::new(subject.width, kind))
        })
        .reduce(|a, b| Expr::bin(Op::LogicOr, a, b))
        .unwrap_or_else(|| Expr::bit(false))
}
