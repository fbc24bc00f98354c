//! What `#[block]` and `#[hdl] impl` add: implicit clocks, joined bundles and stages of `update()`.

use super::frame::{squash, Binding, Frame};
use super::{Lower, Lowered, Val};
use crate::build::Role;
use crate::describe::StageSource;
use crate::expr::Kind;
use crate::ty::Ty;
use syn::{spanned::Spanned, Expr as Ast};

/// Whether an expression is `self` alone.
pub(super) fn is_self(expr: &Ast) -> bool {
    matches!(expr, Ast::Path(path) if path.path.is_ident("self"))
}

impl Lower<'_> {
    /// Clock and reset of every part, and registers that hold.
    pub(super) fn implicit(&mut self) -> Lowered<()> {
        let Some(block) = self.block else { return Ok(()) };
        let line = self.frame().source.line;
        let registers = self.body.registers.iter().map(|r| {
            let key = &self.body.sigs[r.q].key;
            key.strip_suffix(".q").unwrap_or(key).to_string()
        });
        let instances = self.body.instances.iter().map(|i| i.key.clone());
        for key in registers.chain(instances).collect::<Vec<_>>() {
            let field = key.split(['$', '.']).next().unwrap_or(&key);
            let Some((_, clock, reset)) = block.parts.iter().find(|(name, _, _)| *name == field) else { continue };
            for (port, source) in [("clock", clock), ("reset", reset)] {
                let Some(pin) = self.body.by_key.get(&format!("{key}.{port}")).copied() else { continue };
                let Some(source) = self.body.by_key.get(*source).copied() else {
                    let message =
                        format!("`{key}` has a {port}, but its block has none; write #[block] without no_reset");
                    let file = crate::design::relative(self.frame().source.file);
                    return Err(crate::error::EmitError::new(&file, line, message).into());
                };
                let value = self.body.read(source);
                self.drive(pin, value, line);
            }
            let pin = |port: &str| self.body.by_key.get(&format!("{key}.{port}")).copied();
            if let (Some(d), Some(q)) = (pin("d"), pin("q")) {
                if self.body.sigs[q].role == Role::RegQ {
                    let q = self.body.read(q);
                    self.drive(d, q, line);
                }
            }
        }
        Ok(())
    }

    /// `self.a.join(&mut self.b)`: `a` offers, `b` takes.
    pub(super) fn join(&mut self, call: &syn::ExprMethodCall) -> Lowered<()> {
        let Some(Ast::Reference(to)) = call.args.first() else {
            return self.refuse(call, "write `self.a.join(&mut self.b)`: the bundle that offers first");
        };
        let (from, to) = (call.receiver.as_ref(), to.expr.as_ref());
        let line = self.line(call);
        let (a, b) = (self.segments(from)?.join("."), self.segments(to)?.join("."));
        let (leaves, others) = (self.leaves(&a), self.leaves(&b));
        for (leaves, at) in [(&leaves, from), (&others, to)] {
            if leaves.is_empty() {
                return self.refuse(at, format!("`{}` is not a bundle of this block or of a submodule", squash(at)));
            }
        }
        // One of them may be a part of the other (`part_of`).
        let names = if leaves.len() <= others.len() { &leaves } else { &others };
        for (rest, _) in names.clone() {
            let [first, second] = [(&leaves, from), (&others, to)]
                .map(|(leaves, at)| leaves.iter().find(|(name, _)| *name == rest).map(|(_, signal)| *signal).ok_or(at));
            let (first, second) = match (first, second) {
                (Ok(first), Ok(second)) => (first, second),
                (Err(at), _) | (_, Err(at)) => {
                    let signal = if rest.is_empty() { "payload" } else { rest.trim_start_matches('.') };
                    return self.refuse(at, format!("`{}` has no signal `{signal}`", squash(at)));
                }
            };
            // What the first bundle offers is an input of this block or an output of a submodule.
            let (from, to) = match self.body.sigs[first].role {
                Role::In | Role::SubOut => (first, second),
                _ => (second, first),
            };
            self.note_read(from, line);
            let value = self.body.read(from);
            if value.width != self.body.sigs[to].width() {
                let (from, to) = (&self.body.sigs[from].key, &self.body.sigs[to].key);
                let message = format!("`{from}` and `{to}` differ in width");
                return self.refuse(call, message);
            }
            self.drive(to, value, line);
        }
        Ok(())
    }

    /// `self.stage(a, b)`: the stage's statements stand where it is called.
    pub(super) fn stage(&mut self, call: &syn::ExprMethodCall) -> Lowered<Option<Val>> {
        let name = call.method.to_string();
        let found = self.block.and_then(|block| block.stages.iter().find(|stage| stage.name == name));
        let Some(stage) = found else {
            return self
                .refuse(call, format!("`{name}` is not a stage of this block; write it into the same #[hdl] impl"));
        };
        if self.frames.len() > 32 {
            return self.refuse(call, format!("`{name}` calls itself; hardware functions cannot be recursive"));
        }
        let mut bound = vec![];
        for ((param, descriptor), arg) in stage.params.iter().zip(&call.args) {
            bound.push((param.to_string(), Binding::Value(self.argument(param, descriptor.as_ref(), arg)?)));
        }
        self.frames.push(Frame::new(&stage.body, String::new()));
        for (param, value) in bound {
            self.bind(&param, value);
        }
        let value = self.stage_body(stage);
        self.frames.pop();
        value
    }

    fn argument(
        &mut self,
        param: &str,
        descriptor: Option<&rust_hdl_core::prelude::TypeDescriptor>,
        arg: &Ast,
    ) -> Lowered<Val> {
        let Some(descriptor) = descriptor else {
            return Ok(Val::Int(self.int(arg)?));
        };
        let ty = Ty::of(descriptor);
        let value = self.value(arg, Some(&ty))?;
        let group = is_record(&value);
        let mut expr = self.hw(value, Some(&ty), arg)?;
        if !group && !expr.is_plain() {
            let id = self.wire(param, ty.clone(), expr);
            expr = self.body.read(id);
        }
        Ok(Val::Hw(expr, ty))
    }

    fn stage_body(&mut self, stage: &StageSource) -> Lowered<Option<Val>> {
        let block = self.parse()?;
        let Some(descriptor) = &stage.result else {
            return self.statements(&block).map(|()| None);
        };
        let result = Ty::of(descriptor);
        let value = self.tail(&block, &mut |this, tail| {
            if let Ast::Struct(node) = tail {
                return this.record(node, &result);
            }
            if this.wants_block(tail)? {
                return this.let_value(stage.name, tail, Some(result.clone()));
            }
            let value = this.value(tail, Some(&result))?;
            this.typed(value, &result, tail)
        })?;
        Ok(Some(value))
    }

    /// A structure that a stage returns: every field that is not a signal becomes a wire with the field's name.
    fn record(&mut self, node: &syn::ExprStruct, result: &Ty) -> Lowered<Val> {
        let mut fields = node.clone();
        for field in &mut fields.fields {
            let syn::Member::Named(name) = &field.member else { continue };
            let Some((_, ty)) = result.field(&name.to_string()) else { continue };
            let name = name.to_string();
            if matches!(&field.expr, Ast::Path(path) if path.path.get_ident().is_some()) {
                continue;
            }
            let value = self.let_value(&name, &field.expr, Some(ty))?;
            // A name that no author can write.
            let local = format!("__{name}");
            self.bind(&local, Binding::Value(value));
            let local = syn::Ident::new(&local, field.expr.span());
            field.expr = syn::parse_quote!(#local);
        }
        self.value(&Ast::Struct(fields), Some(result))
    }
}

/// Whether a value is put together of signals, so that a name for the whole would hide them.
pub(super) fn is_record(value: &Val) -> bool {
    let Val::Hw(expr, Ty::Named(_)) = value else { return false };
    matches!(&expr.kind, Kind::Concat(parts) if parts.iter().all(|part| part.is_plain()))
}
