//! Signals of `self`: reads, assignment targets, join and link, and the register macros.

use super::frame::squash;
use super::{Lower, Lowered, Val};
use crate::build::Role;
use crate::expr::{Expr, SigId};
use crate::stmt::Stmt;
use crate::ty::Ty;
use syn::{Expr as Ast, Member};

/// Whether an expression is `self.a[i].b`.
pub(super) fn is_self_path(expr: &Ast) -> bool {
    match expr {
        Ast::Path(path) => path.path.is_ident("self"),
        Ast::Field(field) => is_self_path(&field.base),
        Ast::Index(index) => is_self_path(&index.expr),
        Ast::Paren(inner) => is_self_path(&inner.expr),
        _ => false,
    }
}

impl Lower<'_> {
    /// `self.a[1].b` as `["a$1", "b"]`.
    pub(super) fn segments(&mut self, expr: &Ast) -> Lowered<Vec<String>> {
        match expr {
            Ast::Paren(inner) => self.segments(&inner.expr),
            Ast::Path(path) if path.path.is_ident("self") => Ok(vec![]),
            Ast::Field(field) => {
                let Member::Named(name) = &field.member else {
                    return self.refuse(expr, "tuples are not part of the language");
                };
                let mut segments = self.segments(&field.base)?;
                segments.push(name.to_string());
                Ok(segments)
            }
            Ast::Index(index) => {
                let mut segments = self.segments(&index.expr)?;
                let n = match self.value(&index.index, None)? {
                    Val::Int(n) => n,
                    _ => {
                        return self.refuse(
                            &index.index,
                            "an array index is a constant; loop over the array and compare, or use get_bits",
                        )
                    }
                };
                match segments.last_mut() {
                    Some(last) => last.push_str(&format!("${n}")),
                    None => return self.refuse(expr, "`self` has no index"),
                }
                Ok(segments)
            }
            other => self.refuse(other, "this is not a signal of the block; signals start with `self.`"),
        }
    }

    /// The longest leading part of a path that names a signal, and the rest.
    fn resolve(&mut self, at: &Ast, segments: &[String]) -> Lowered<(SigId, Vec<String>)> {
        for end in (1..=segments.len()).rev() {
            if let Some(id) = self.body.by_key.get(&segments[..end].join(".")) {
                return Ok((*id, segments[end..].to_vec()));
            }
        }
        self.refuse(at, format!("`{}` is not a signal of this block or of a submodule", squash(at)))
    }

    /// `self.a.b.val()`.
    pub(super) fn read_signal(&mut self, call: &syn::ExprMethodCall) -> Lowered<Val> {
        if !is_self_path(&call.receiver) {
            return self.refuse(call, ".val() reads a signal of `self`; a local has no .val()");
        }
        let segments = self.segments(&call.receiver)?;
        if let Some((value, ty)) = self.body.constants.get(&segments.join(".")) {
            return Ok(Val::Hw(Expr::number(ty.width(), value.clone()), ty.clone()));
        }
        let (id, rest) = self.resolve(&call.receiver, &segments)?;
        if !rest.is_empty() {
            return self.refuse(call, format!("`{}` is a field: write .val() before it", rest.join(".")));
        }
        let line = self.line(call);
        self.note_read(id, line);
        Ok(Val::Hw(self.body.read(id), self.body.sigs[id].ty.clone()))
    }

    /// The signal, first bit and type that `self.a.b.next.field` names.
    pub(super) fn target(&mut self, left: &Ast) -> Lowered<(SigId, usize, Ty)> {
        if !is_self_path(left) {
            return self.refuse(left, "only `self.signal.next` and `let mut` locals can be assigned");
        }
        let segments = self.segments(left)?;
        // A signal or a submodule may itself be called `next`: the word counts where a signal ends before it.
        let ends = |at: &usize| segments[*at] == "next" && self.body.by_key.contains_key(&segments[..*at].join("."));
        let next = (0..segments.len()).find(ends).or_else(|| segments.iter().position(|s| s == "next"));
        let Some(next) = next else {
            return self.refuse(left, format!("assign to `.next`: write `{}.next = ...`", squash(left)));
        };
        let (id, rest) = self.resolve(left, &segments[..next])?;
        if !rest.is_empty() {
            return self.refuse(left, format!("`{}` is not a signal of this block or of a submodule", squash(left)));
        }
        let sig = &self.body.sigs[id];
        let refusal = match sig.role {
            Role::In => Some("is an input of this block and cannot be assigned"),
            Role::SubOut => Some("is an output of a submodule and cannot be assigned"),
            Role::RegQ => Some("is the present value of a register; assign `.d.next`"),
            _ => None,
        };
        if let Some(refusal) = refusal {
            let message = format!("`{}` {refusal}", sig.key);
            return self.refuse(left, message);
        }
        let (mut lo, mut ty) = (0, sig.ty.clone());
        for field in &segments[next + 1..] {
            match ty.field(field) {
                Some((offset, inner)) => (lo, ty) = (lo + offset, inner),
                None => return self.refuse(left, format!("{} has no field `{field}`", ty.text())),
            }
        }
        Ok((id, lo, ty))
    }

    pub(super) fn drive(&mut self, sig: SigId, value: Expr, line: u32) {
        self.push(Stmt::Assign { sig, lo: 0, value, line });
    }

    /// No macro is part of the language.
    pub(super) fn refuse_macro(&self, mac: &syn::Macro) -> Lowered<()> {
        let name = mac.path.segments.last().map(|s| s.ident.to_string()).unwrap_or_default();
        self.refuse(
            mac,
            format!("the macro `{name}!` is not part of the language; #[block] wires clocks and registers"),
        )
    }

    /// Signals below a name, by the rest of their names.
    pub(super) fn leaves(&self, name: &str) -> Vec<(String, SigId)> {
        let below = |key: &String| {
            let rest = key.strip_prefix(name)?;
            (rest.is_empty() || rest.starts_with(['.', '$'])).then(|| rest.to_string())
        };
        let mut leaves: Vec<_> = self.body.by_key.iter().filter_map(|(key, id)| Some((below(key)?, *id))).collect();
        leaves.sort_by_key(|(_, id)| *id);
        leaves
    }

    /// `Type::join(&mut self.a, &mut self.b)` and `Type::link(..)`.
    pub(super) fn link(&mut self, call: &syn::ExprCall) -> Lowered<()> {
        let name = match call.func.as_ref() {
            Ast::Path(path) if path.path.segments.len() > 1 => path.path.segments.last().map(|s| s.ident.to_string()),
            _ => None,
        };
        let ends: Vec<&Ast> = call
            .args
            .iter()
            .filter_map(|a| match a {
                Ast::Reference(r) => Some(r.expr.as_ref()),
                _ => None,
            })
            .collect();
        let (Some("join" | "link"), [first, second]) = (name.as_deref(), ends.as_slice()) else {
            let message = "a call as a statement is `Type::join(&mut self.a, &mut self.b)` or link; helper functions return a value";
            return self.refuse(call, message);
        };
        let joins = name.as_deref() == Some("join");
        let line = self.line(call);
        let a = self.segments(first)?.join(".");
        let b = self.segments(second)?.join(".");
        let leaves = self.leaves(&a);
        if leaves.is_empty() {
            return self.refuse(*first, format!("`{}` is not an interface of this block", squash(*first)));
        }
        for (rest, id) in leaves {
            let Some(other) = self.body.by_key.get(&format!("{b}{rest}")).copied() else {
                return self.refuse(
                    *second,
                    format!("`{}` has no signal `{}`", squash(*second), rest.trim_start_matches('.')),
                );
            };
            // The signal that is driven: a join pairs an output with an input, a link two of a kind.
            let input = matches!(self.body.sigs[id].role, Role::In | Role::SubIn);
            let (from, to) = if joins == input { (other, id) } else { (id, other) };
            self.note_read(from, line);
            let value = self.body.read(from);
            let width = self.body.sigs[to].width();
            if value.width != width {
                return self.refuse(
                    call,
                    format!("`{}` and `{}` differ in width", self.body.sigs[from].key, self.body.sigs[to].key),
                );
            }
            self.drive(to, value, line);
        }
        Ok(())
    }
}
