//! Statements.

use super::frame::Binding;
use super::stages::{is_record, is_self};
use super::{Lower, Lowered, Stop, Val};
use crate::build::{Item, Role};
use crate::expr::{Expr, SigId};
use crate::language::assignments;
use crate::stmt::Stmt;
use crate::ty::Ty;
use std::collections::HashMap;
use syn::{spanned::Spanned, Expr as Ast, Pat};

/// `base.name`, on the line of `base`.
fn field(base: &Ast, name: &str) -> Ast {
    Ast::Field(syn::ExprField {
        attrs: vec![],
        base: Box::new(base.clone()),
        dot_token: Default::default(),
        member: syn::Member::Named(syn::Ident::new(name, base.span())),
    })
}

impl Lower<'_> {
    pub(super) fn statement(&mut self, statement: &syn::Stmt) -> Lowered<()> {
        match statement {
            syn::Stmt::Local(local) => self.local(local),
            syn::Stmt::Expr(expr, _) => self.effect(expr),
            syn::Stmt::Macro(m) => self.refuse_macro(&m.mac),
            syn::Stmt::Item(item) => {
                self.refuse(item, "items inside update() are not part of the language; move it outside the function")
            }
        }
    }

    /// An expression that stands as a statement.
    pub(super) fn effect(&mut self, expr: &Ast) -> Lowered<()> {
        match expr {
            Ast::Assign(assign) => self.assign(&assign.left, &assign.right),
            Ast::If(node) => self.if_statement(node),
            Ast::Match(node) => self.match_statement(node),
            Ast::ForLoop(node) => self.for_loop(node),
            Ast::Block(block) => self.scoped(|this| this.statements(&block.block)),
            Ast::Paren(inner) => self.effect(&inner.expr),
            Ast::Macro(node) => self.refuse_macro(&node.mac),
            Ast::Call(call) => self.link(call),
            Ast::MethodCall(call) if call.method == "set_bits" => self.set_bits(call),
            Ast::MethodCall(call) if call.method == "join" => self.join(call),
            Ast::MethodCall(call) if is_self(&call.receiver) => self.stage(call).map(|_| ()),
            Ast::MethodCall(call) => self.short_form(call),
            Ast::Tuple(tuple) if tuple.elems.is_empty() => Ok(()),
            Ast::While(node) => self.refuse(node, "`while` is not part of the language; use `for i in 0..N`"),
            Ast::Loop(node) => self.refuse(node, "`loop` is not part of the language; use `for i in 0..N`"),
            Ast::Return(node) => self.refuse(node, "`return` is not part of the language; use if / else"),
            Ast::Binary(node) => {
                self.refuse(node, "operators such as `+=` are not part of the language; write `x = x + y`")
            }
            other => self.no_statement(other),
        }
    }

    fn no_statement(&self, at: &impl Spanned) -> Lowered<()> {
        self.refuse(at, "this statement is not part of the language; write an assignment, if, match, for or let")
    }

    pub(super) fn statements(&mut self, block: &syn::Block) -> Lowered<()> {
        block.stmts.iter().try_for_each(|s| self.statement(s))
    }

    fn local(&mut self, local: &syn::Local) -> Lowered<()> {
        let (pat, ty) = match &local.pat {
            Pat::Type(typed) => (typed.pat.as_ref(), Some(typed.ty.as_ref())),
            pat => (pat, None),
        };
        let Some(init) = &local.init else {
            return self.refuse(local, "a `let` needs a value; write `let x = ...;`");
        };
        let hint = match ty {
            Some(ty) => self.type_of(ty)?,
            None => None,
        };
        match pat {
            Pat::Wild(_) => self.value(&init.expr, hint.as_ref()).map(|_| ()),
            Pat::Ident(ident) if ident.subpat.is_none() && ident.by_ref.is_none() => {
                let name = ident.ident.to_string();
                if let Some(reason) = crate::names::reserved(&name) {
                    return self.refuse(ident, format!("`{name}` {reason}; give the local another name"));
                }
                match ident.mutability {
                    Some(_) => self.variable(&name, &init.expr, hint, ident),
                    None => {
                        let value = self.let_value(&name, &init.expr, hint)?;
                        self.bind(&name, Binding::Value(value));
                        Ok(())
                    }
                }
            }
            other => self.refuse(other, "a `let` binds one plain name; take tuples and structs apart by fields"),
        }
    }

    /// The value of an immutable `let`: a constant stays one, anything else becomes a wire.
    pub(super) fn let_value(&mut self, name: &str, init: &Ast, hint: Option<Ty>) -> Lowered<Val> {
        if self.wants_block(init)? {
            let ty = match &hint {
                Some(ty) => ty.clone(),
                None => self.type_of_branches(init)?,
            };
            let id = self.body.wire(&self.wire_name(name), ty.clone(), Role::Var, self.is_step());
            let statements = self.block_for(id, init, &ty)?;
            self.body.items.extend(statements.into_iter().map(Item::Top));
            return Ok(Val::Hw(self.body.read(id), ty));
        }
        let mut value = self.value(init, hint.as_ref())?;
        if let Some(hint) = &hint {
            value = self.typed(value, hint, init)?;
        }
        // What a stage returns is a structure of signals that have names: one more for the whole would hide them.
        if matches!(init, Ast::MethodCall(call) if is_self(&call.receiver)) && is_record(&value) {
            return Ok(value);
        }
        match value {
            Val::Hw(expr, ty) if expr.value().is_none() => {
                let id = self.wire(name, ty.clone(), expr);
                Ok(Val::Hw(self.body.read(id), ty))
            }
            constant => Ok(constant),
        }
    }

    /// The statements that give `sig` the value of an expression.
    pub(super) fn block_for(&mut self, sig: SigId, init: &Ast, ty: &Ty) -> Lowered<Vec<Stmt>> {
        let outer = std::mem::take(&mut self.open);
        let result = self.branch(&mut |this| this.assign_into(sig, 0, init, ty));
        self.open = outer;
        result
    }

    fn variable(&mut self, name: &str, init: &Ast, hint: Option<Ty>, at: &syn::PatIdent) -> Lowered<()> {
        let number = self.variables;
        self.variables += 1;
        let line = self.line(at);
        let value = self.value(init, hint.as_ref())?;
        let (expr, ty) = match (value, hint) {
            (value, Some(hint)) => (self.hw(value, Some(&hint), init)?, hint),
            (Val::Hw(expr, ty), None) => (expr, ty),
            (_, None) => return self.refuse(at, format!("give `{name}` a type: `let mut {name}: Bits<N> = ...;`")),
        };
        if self.versioned.contains(&number) {
            let expr = if expr.is_plain() {
                expr
            } else {
                let id = self.wire(name, ty.clone(), expr);
                self.body.read(id)
            };
            self.versions.insert(number, expr);
            self.bind(name, Binding::Versions { number, name: name.to_string(), ty });
        } else {
            let sig = self.body.wire(&self.wire_name(name), ty, Role::Var, self.is_step());
            // A variable lives at the top: a declaration in a branch would otherwise leave the other branches unassigned.
            self.body.items.push(Item::Top(Stmt::Assign { sig, lo: 0, value: expr, line }));
            self.bind(name, Binding::Variable { number, sig });
        }
        Ok(())
    }

    fn assign(&mut self, left: &Ast, right: &Ast) -> Lowered<()> {
        let mut names = vec![];
        let mut root = left;
        while let Ast::Field(field) = root {
            let syn::Member::Named(member) = &field.member else { break };
            names.push(member.to_string());
            root = &field.base;
        }
        if let Ast::Path(path) = root {
            if let Some(ident) = path.path.get_ident().filter(|i| *i != "self") {
                names.reverse();
                return self.assign_local(&ident.to_string(), &names, left, right);
            }
        }
        let (sig, lo, ty) = self.target(left)?;
        self.assign_into(sig, lo, right, &ty)
    }

    /// A call that stands for assignments.
    fn short_form(&mut self, call: &syn::ExprMethodCall) -> Lowered<()> {
        let Some((guarded, ports)) = assignments(&call.method.to_string(), call.args.len()) else {
            return self.no_statement(call);
        };
        let target = |port: &str| {
            let receiver = call.receiver.as_ref();
            let base = if port.is_empty() { receiver.clone() } else { field(receiver, port) };
            field(&base, "next")
        };
        let mut assign = |this: &mut Self| {
            ports.iter().try_for_each(|(port, argument)| this.assign(&target(port), &call.args[*argument]))
        };
        if guarded {
            self.branches(&call.args[0], &mut assign, None)
        } else {
            assign(self)
        }
    }

    fn assign_local(&mut self, name: &str, fields: &[String], left: &Ast, right: &Ast) -> Lowered<()> {
        let binding = match self.frame().find(name) {
            Some(binding) => binding.clone(),
            None => {
                return self
                    .refuse(left, format!("`{name}` is not declared; write `let mut {name}: Bits<N> = ...;` before"))
            }
        };
        let whole = match &binding {
            Binding::Variable { sig, .. } => self.body.sigs[*sig].ty.clone(),
            Binding::Versions { ty, .. } => ty.clone(),
            Binding::Value(_) => {
                return self.refuse(left, format!("`{name}` is not mutable; declare it with `let mut`"))
            }
        };
        let (mut lo, mut ty) = (0, whole.clone());
        for field in fields {
            match ty.field(field) {
                Some((offset, inner)) => (lo, ty) = (lo + offset, inner),
                None => return self.refuse(left, format!("{} has no field `{field}`", ty.text())),
            }
        }
        match binding {
            Binding::Variable { number, sig } => {
                // A read in the new value comes first and makes the write too late.
                let value = if self.wants_block(right)? { None } else { Some(self.value(right, Some(&ty))?) };
                if self.read_before(sig, lo, ty.width()).is_some() {
                    return Err(Stop::Version(number));
                }
                match value {
                    Some(value) => {
                        let value = self.hw(value, Some(&ty), right)?;
                        let line = self.line(left);
                        self.push(Stmt::Assign { sig, lo, value, line });
                        Ok(())
                    }
                    None => self.assign_into(sig, lo, right, &ty),
                }
            }
            Binding::Versions { number, name, .. } => {
                let value = self.value(right, Some(&ty))?;
                let value = self.hw(value, Some(&ty), right)?;
                let now = self.versions[&number].clone();
                let next = Expr::splice(now, lo, value);
                self.new_version(number, &name, whole, next);
                Ok(())
            }
            Binding::Value(_) => Ok(()),
        }
    }

    fn new_version(&mut self, number: usize, name: &str, ty: Ty, value: Expr) {
        let id = self.wire(name, ty, value);
        let read = self.body.read(id);
        self.versions.insert(number, read);
    }

    /// Assigns an expression to part of a signal; `match` and long `if` chains become statements.
    pub(super) fn assign_into(&mut self, sig: SigId, lo: usize, right: &Ast, ty: &Ty) -> Lowered<()> {
        match right {
            Ast::Paren(inner) => return self.assign_into(sig, lo, &inner.expr, ty),
            Ast::Block(block) if self.wants_block(right)? => {
                return self
                    .scoped(|this| this.tail(&block.block, &mut |this, tail| this.assign_into(sig, lo, tail, ty)));
            }
            Ast::If(node) if self.wants_block(right)? => {
                let Some((_, other)) = &node.else_branch else {
                    return self.refuse(node, "an `if` used as a value needs an `else`");
                };
                return self.branches(
                    &node.cond,
                    &mut |this| this.tail(&node.then_branch, &mut |this, tail| this.assign_into(sig, lo, tail, ty)),
                    Some(&mut |this| this.assign_into(sig, lo, other, ty)),
                );
            }
            Ast::Match(node) if self.wants_block(right)? => {
                return self.match_arms(node, &mut |this, arm| this.assign_into(sig, lo, arm, ty));
            }
            _ => {}
        }
        let value = self.value(right, Some(ty))?;
        let value = self.hw(value, Some(ty), right)?;
        let line = self.line(right);
        if let Some(read) = self.read_before(sig, lo, value.width) {
            let name = &self.body.sigs[sig].key;
            let cure = "read it only after its last assignment, or use a `let mut`";
            return self.refuse(right, format!("`{name}` is assigned here but read before in line {read}; {cure}"));
        }
        self.push(Stmt::Assign { sig, lo, value, line });
        Ok(())
    }

    /// Runs the statements of a block and gives its last expression to `f`.
    pub(super) fn tail<T>(
        &mut self,
        block: &syn::Block,
        f: &mut dyn FnMut(&mut Self, &Ast) -> Lowered<T>,
    ) -> Lowered<T> {
        match block.stmts.split_last() {
            Some((syn::Stmt::Expr(tail, None), before)) => {
                before.iter().try_for_each(|s| self.statement(s))?;
                f(self, tail)
            }
            _ => self.refuse(block, "this block is used as a value; end it with an expression without `;`"),
        }
    }

    fn if_statement(&mut self, node: &syn::ExprIf) -> Lowered<()> {
        match &node.else_branch {
            Some((_, other)) => self.branches(
                &node.cond,
                &mut |this| this.statements(&node.then_branch),
                Some(&mut |this| this.effect(other)),
            ),
            None => self.branches(&node.cond, &mut |this| this.statements(&node.then_branch), None),
        }
    }

    #[allow(clippy::type_complexity)]
    fn branches(
        &mut self,
        cond: &Ast,
        then: &mut dyn FnMut(&mut Self) -> Lowered<()>,
        other: Option<&mut dyn FnMut(&mut Self) -> Lowered<()>>,
    ) -> Lowered<()> {
        let cond = self.condition(cond)?;
        match (cond.truth(), other) {
            (Some(true), _) => self.scoped(|this| then(this)),
            (Some(false), Some(other)) => self.scoped(|this| other(this)),
            (Some(false), None) => Ok(()),
            (None, other) => {
                let reads = self.reads.clone();
                let versions = self.versions.clone();
                let then = self.branch(then)?;
                let reads_then = std::mem::replace(&mut self.reads, reads);
                let versions_then = std::mem::replace(&mut self.versions, versions.clone());
                let other = match other {
                    Some(other) => self.branch(other)?,
                    None => vec![],
                };
                self.merge_reads(reads_then);
                let versions_other = std::mem::replace(&mut self.versions, versions);
                self.join_versions(&[versions_then, versions_other], &mut |mut values| {
                    let b = values.pop().expect("two branches");
                    let a = values.pop().expect("two branches");
                    Expr::mux(cond.clone(), a, b)
                });
                if !then.is_empty() || !other.is_empty() {
                    self.push(Stmt::If { cond, then, other });
                }
                Ok(())
            }
        }
    }

    pub(super) fn merge_reads(&mut self, other: super::Reads) {
        for (id, list) in other {
            let mine = self.reads.entry(id).or_default();
            for read in list {
                if !mine.contains(&read) {
                    mine.push(read);
                }
            }
        }
    }

    /// Makes a new version of every variable that the branches left with different values.
    pub(super) fn join_versions(
        &mut self,
        branches: &[HashMap<usize, Expr>],
        select: &mut dyn FnMut(Vec<Expr>) -> Expr,
    ) {
        let mut numbers: Vec<usize> = self.versions.keys().copied().collect();
        numbers.sort_unstable();
        for number in numbers {
            let before = &self.versions[&number];
            let values: Vec<Expr> = branches.iter().map(|b| b.get(&number).unwrap_or(before).clone()).collect();
            if values.iter().all(|v| v == before) {
                continue;
            }
            let found = self.frame().scopes.iter().rev().flat_map(|s| s.values()).find_map(|b| match b {
                Binding::Versions { number: n, name, ty } if *n == number => Some((name.clone(), ty.clone())),
                _ => None,
            });
            if let Some((name, ty)) = found {
                let joined = select(values);
                self.new_version(number, &name, ty, joined);
            }
        }
    }

    fn for_loop(&mut self, node: &syn::ExprForLoop) -> Lowered<()> {
        let name = match node.pat.as_ref() {
            Pat::Ident(ident) => Some(ident.ident.to_string()),
            Pat::Wild(_) => None,
            other => return self.refuse(other, "a `for` binds one plain name"),
        };
        for i in self.range(&node.expr)? {
            self.loops.push(i);
            let result = self.scoped(|this| {
                if let Some(name) = &name {
                    this.bind(name, Binding::Value(Val::Int(i)));
                }
                this.statements(&node.body)
            });
            self.loops.pop();
            result?;
        }
        Ok(())
    }

    fn range(&mut self, expr: &Ast) -> Lowered<Vec<i128>> {
        const LIMIT: i128 = 65536;
        match expr {
            Ast::Paren(inner) => self.range(&inner.expr),
            Ast::MethodCall(call) if call.method == "rev" => {
                let mut values = self.range(&call.receiver)?;
                values.reverse();
                Ok(values)
            }
            Ast::Range(range) => {
                let from = match &range.start {
                    Some(start) => self.int(start)?,
                    None => 0,
                };
                let Some(end) = &range.end else {
                    return self.refuse(expr, "a `for` needs an end: write `for i in 0..N`");
                };
                let to = self.int(end)? + matches!(range.limits, syn::RangeLimits::Closed(_)) as i128;
                if to - from > LIMIT {
                    return self.refuse(
                        expr,
                        format!("this loop would unroll {} times; at most {LIMIT} are allowed", to - from),
                    );
                }
                Ok((from..to).collect())
            }
            other => self.refuse(other, "a `for` runs over a range of constants: write `for i in 0..N`"),
        }
    }

    /// `x.set_bits::<M>(offset, value)` on a `let mut`.
    fn set_bits(&mut self, call: &syn::ExprMethodCall) -> Lowered<()> {
        let name = match call.receiver.as_ref() {
            Ast::Path(path) => path.path.get_ident().map(|i| i.to_string()),
            _ => None,
        };
        let binding = name.as_deref().and_then(|n| self.frame().find(n)).cloned();
        let (Some(name), Some(binding), [offset, value]) = (name, binding, &call.args.iter().collect::<Vec<_>>()[..])
        else {
            return self.refuse(call, "`set_bits` changes a `let mut` local: write `x.set_bits::<N>(offset, value);`");
        };
        let lo = self.int(offset)? as usize;
        let width = self.turbofish(call.turbofish.as_ref(), 0)?;
        let hint = width.map(Ty::Bits);
        let value_at = value;
        let value = self.value(value, hint.as_ref())?;
        let value = self.hw(value, hint.as_ref(), value_at)?;
        let line = self.line(call);
        let whole = match &binding {
            Binding::Variable { sig, .. } => self.body.sigs[*sig].width(),
            Binding::Versions { ty, .. } => ty.width(),
            Binding::Value(_) => {
                return self.refuse(call, format!("`{name}` is not mutable; declare it with `let mut`"))
            }
        };
        if lo + value.width > whole {
            return self
                .refuse(call, format!("bits {lo}..{} lie outside `{name}`, which has {whole}", lo + value.width));
        }
        match binding {
            Binding::Variable { number, sig } => {
                if self.read_before(sig, lo, value.width).is_some() {
                    return Err(Stop::Version(number));
                }
                self.push(Stmt::Assign { sig, lo, value, line });
            }
            Binding::Versions { number, name, ty } => {
                let next = Expr::splice(self.versions[&number].clone(), lo, value);
                self.new_version(number, &name, ty, next);
            }
            Binding::Value(_) => {}
        }
        Ok(())
    }
}
