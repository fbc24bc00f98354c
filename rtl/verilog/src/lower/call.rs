//! Calls: methods of `Bits`, the functions of the language, and `#[hdl_fn]` helpers.

use super::frame::{squash, Binding, Frame};
use super::stages::is_self;
use super::{Lower, Lowered, Val};
use crate::expr::{Expr, Op, Reduce, Shift};
use crate::language::INTRINSICS;
use crate::ty::Ty;
use syn::{Expr as Ast, PathArguments};

impl Lower<'_> {
    pub(super) fn method(&mut self, call: &syn::ExprMethodCall, hint: Option<&Ty>) -> Lowered<Val> {
        let name = call.method.to_string();
        if let Some(value) = self.constant_call(call) {
            return Ok(value);
        }
        if is_self(&call.receiver) {
            return match self.stage(call)? {
                Some(value) => Ok(value),
                None => self.refuse(call, format!("the stage `{name}` returns nothing; call it as a statement")),
            };
        }
        match name.as_str() {
            "val" => return self.read_signal(call),
            "cat" => return self.cat(call, hint),
            _ => {}
        }
        let args: Vec<&Ast> = call.args.iter().collect();
        let inner = if matches!(name.as_str(), "into" | "to_bits") {
            None
        } else {
            hint.filter(|_| name == "clone" || name == "replace_bit")
        };
        let receiver = self.value(&call.receiver, inner)?;
        match (name.as_str(), receiver, args.as_slice()) {
            ("clone", value, []) => Ok(value),
            ("into", Val::Int(n), []) => match hint {
                Some(hint) => Ok(Val::Hw(self.sized(n, hint.width(), &call.receiver)?, hint.clone())),
                None => Ok(Val::Int(n)),
            },
            ("into", Val::Hw(x, ty), []) => {
                let ty = match (hint, ty) {
                    (Some(hint), Ty::Index(_)) => return Ok(Val::Hw(Expr::resize(x, hint.width()), hint.clone())),
                    (Some(hint), _) if hint.width() == x.width => hint.clone(),
                    (Some(hint), ty) => {
                        let (has, wants) = (x.width, hint.width());
                        let sizes = format!("this has {has} bits ({}), {wants} are expected", ty.text());
                        return self.refuse(call, format!(".into() does not change the width: {sizes}; use bit_cast"));
                    }
                    (None, _) => Ty::Bits(x.width),
                };
                Ok(Val::Hw(x, ty))
            }
            ("to_bits", value, []) => {
                let width = self.turbofish(call.turbofish.as_ref(), 0)?;
                match (value, width.map(Ty::Bits).or(hint.cloned())) {
                    (Val::Int(n), Some(ty)) => Ok(Val::Hw(self.sized(n, ty.width(), &call.receiver)?, ty)),
                    (Val::Int(n), None) => Ok(Val::Int(n)),
                    (Val::Hw(x, _), Some(ty)) => Ok(Val::Hw(Expr::resize(x, ty.width()), ty)),
                    (Val::Hw(x, _), None) => Ok(Val::Hw(x.clone(), Ty::Bits(x.width))),
                    (Val::List(_), _) => self.refuse(call, "a table needs an index here"),
                }
            }
            ("min", Val::Int(a), [b]) => Ok(Val::Int(a.min(self.int(b)?))),
            ("max", Val::Int(a), [b]) => Ok(Val::Int(a.max(self.int(b)?))),
            ("index" | "to_u8" | "to_u16" | "to_u32" | "to_u64" | "to_u128", Val::Int(n), []) => Ok(Val::Int(n)),
            (_, Val::Int(n), _) => {
                self.refuse(call, format!("the width of {n} is not known here; write bits::<N>({n})"))
            }
            (_, Val::List(_), _) => self.refuse(call, "a table needs an index here"),
            ("index" | "to_u8" | "to_u16" | "to_u32" | "to_u64" | "to_u128", Val::Hw(x, _), []) => {
                let width = x.width;
                if name == "index" && width > 32 {
                    return self.refuse(
                        call,
                        format!(".index() takes at most 32 bits, this has {width}; cut it with bit_cast"),
                    );
                }
                Ok(Val::Hw(x, Ty::Index(width)))
            }
            ("any", Val::Hw(x, _), []) => Ok(Val::Hw(Expr::reduce(Reduce::Any, x), Ty::Bits(1))),
            ("all", Val::Hw(x, _), []) => Ok(Val::Hw(Expr::reduce(Reduce::All, x), Ty::Bits(1))),
            ("xor", Val::Hw(x, _), []) => Ok(Val::Hw(Expr::reduce(Reduce::Xor, x), Ty::Bits(1))),
            ("get_bits", Val::Hw(x, _), [offset]) => {
                let width = match (self.turbofish(call.turbofish.as_ref(), 0)?, hint) {
                    (Some(width), _) => width,
                    (None, Some(hint)) => hint.width(),
                    (None, None) => {
                        return self.refuse(call, "the number of bits is not known here; write get_bits::<N>(offset)")
                    }
                };
                self.part(call, x, offset, width)
            }
            ("get_bit", Val::Hw(x, _), [index]) => self.part(call, x, index, 1),
            ("replace_bit", Val::Hw(x, ty), [index, bit]) => {
                let bit = self.condition(bit)?;
                match self.value(index, None)? {
                    Val::Int(n) if n >= 0 && (n as usize) < x.width => {
                        Ok(Val::Hw(Expr::splice(x, n as usize, bit), ty))
                    }
                    Val::Int(n) => self.refuse(call, format!("bit {n} lies outside a value of {} bits", x.width)),
                    Val::Hw(index, _) => {
                        let width = x.width;
                        let one = Expr::shift(Shift::Left, Expr::number(width, 1u8), index.clone());
                        let cleared = Expr::bin(Op::And, x, Expr::not(one));
                        let set = Expr::shift(Shift::Left, Expr::resize(bit, width), index);
                        Ok(Val::Hw(Expr::bin(Op::Or, cleared, set), ty))
                    }
                    Val::List(_) => self.refuse(call, "a table needs an index here"),
                }
            }
            _ => {
                let message =
                    "is not part of the language, or has other arguments; see the list in rtl/verilog/README.md";
                self.refuse(call, format!("the method `{name}` {message}"))
            }
        }
    }

    /// `get_bits` and `get_bit`.
    fn part(&mut self, call: &syn::ExprMethodCall, x: Expr, offset: &Ast, width: usize) -> Lowered<Val> {
        let ty = Ty::Bits(width);
        match self.value(offset, None)? {
            Val::Int(n) => {
                let limit = if call.method == "get_bit" { x.width as i128 - 1 } else { x.width as i128 };
                if n < 0 || n > limit {
                    return self.refuse(call, format!("bit {n} lies outside a value of {} bits", x.width));
                }
                self.narrow_read(&call.receiver, &x, n as usize, width);
                Ok(Val::Hw(Expr::slice(x, n as usize, width), ty))
            }
            Val::Hw(offset, Ty::Index(_)) => Ok(Val::Hw(Expr::slice_at(x, offset, width), ty)),
            _ => self.refuse(offset, "an offset is a constant or `x.val().index()`"),
        }
    }

    fn cat(&mut self, call: &syn::ExprMethodCall, hint: Option<&Ty>) -> Lowered<Val> {
        let mut receiver = call.receiver.as_ref();
        while let Ast::Paren(inner) = receiver {
            receiver = &inner.expr;
        }
        let Ast::Tuple(tuple) = receiver else {
            return self.refuse(call, "`cat` joins the members of a tuple: `(high, low).cat::<N>()`");
        };
        let mut members = vec![];
        for member in &tuple.elems {
            let value = self.value(member, None)?;
            members.push(self.hw(value, None, member)?);
        }
        let result = Expr::concat(members);
        let width = self.turbofish(call.turbofish.as_ref(), 0)?.or(hint.map(|h| h.width()));
        match width {
            Some(width) if width != result.width => {
                self.refuse(call, format!("the members have {} bits, but cat::<{width}> is written", result.width))
            }
            _ => {
                let ty = Ty::Bits(result.width);
                Ok(Val::Hw(result, ty))
            }
        }
    }

    pub(super) fn call(&mut self, call: &syn::ExprCall, hint: Option<&Ty>) -> Lowered<Val> {
        let Ast::Path(path) = call.func.as_ref() else {
            return self.refuse(call, "only named functions can be called");
        };
        let key = squash(path);
        if let Some(source) = self.frame().functions.get(key.as_str()).copied() {
            return self.inline(call, &key, source);
        }
        if let Some(value) = self.constant_call(call) {
            return Ok(value);
        }
        let last = path.path.segments.last().expect("a path has a segment");
        let name = last.ident.to_string();
        let generics = match &last.arguments {
            PathArguments::AngleBracketed(arguments) => Some(arguments),
            _ => None,
        };
        let args: Vec<&Ast> = call.args.iter().collect();
        if name == "default" && args.is_empty() {
            return match hint {
                Some(hint) => Ok(Val::Hw(Expr::number(hint.width(), 0u8), hint.clone())),
                None => Ok(Val::Int(0)),
            };
        }
        if INTRINSICS.contains(&name.as_str()) {
            let widths = [self.turbofish(generics, 0)?, self.turbofish(generics, 1)?];
            return self.intrinsic(call, &name, widths, hint);
        }
        match (name.as_str(), args.as_slice()) {
            ("bits", [n]) => {
                let width = self.turbofish(generics, 0)?.or(hint.map(|h| h.width()));
                match (self.value(n, None)?, width) {
                    (Val::Int(n), None) => Ok(Val::Int(n)),
                    (Val::Int(value), Some(width)) => Ok(Val::Hw(self.sized(value, width, n)?, Ty::Bits(width))),
                    (Val::Hw(x, Ty::Index(_)), Some(width)) => Ok(Val::Hw(Expr::resize(x, width), Ty::Bits(width))),
                    _ => self.refuse(call, "bits::<N>(n) makes a constant; use bit_cast for signals"),
                }
            }
            ("bit_cast" | "zext" | "trunc" | "sext" | "unsigned_cast", [x]) => {
                let width = self.turbofish(generics, 0)?.or(hint.map(|h| h.width()));
                let from = self.turbofish(generics, 1)?.map(Ty::Bits);
                let value = self.value(x, from.as_ref())?;
                let value = self.hw(value, from.as_ref(), x)?;
                let Some(width) = width else {
                    return self
                        .refuse(call, format!("the width of the result is not known here; write {name}::<M, N>(x)"));
                };
                if name == "zext" && width < value.width || name == "trunc" && width > value.width {
                    return self.refuse(
                        call,
                        format!("{name} from {} to {width} bits goes the wrong way; use bit_cast", value.width),
                    );
                }
                let result = if name == "sext" { Expr::sext(value, width) } else { Expr::resize(value, width) };
                Ok(Val::Hw(result, Ty::Bits(width)))
            }
            ("signed_lt", [a, b]) => {
                let width = self.turbofish(generics, 0)?.map(Ty::Bits);
                let (a, b) = self.pair(a, b, width)?;
                Ok(Val::Hw(Expr::bin(Op::SignedLt, a, b), Ty::Bits(1)))
            }
            ("sra", [a, amount]) => {
                let value = self.value(a, hint)?;
                let a = self.hw(value, hint, a)?;
                let value = self.value(amount, None)?;
                let amount = self.hw(value, None, amount)?;
                let ty = Ty::Bits(a.width);
                Ok(Val::Hw(Expr::shift(Shift::Arithmetic, a, amount), ty))
            }
            ("mul" | "mul_signed", [a, b]) => {
                let width = self.turbofish(generics, 0)?.or(hint.map(|h| h.width()));
                let (ta, tb) = (self.turbofish(generics, 1)?.map(Ty::Bits), self.turbofish(generics, 2)?.map(Ty::Bits));
                let value = self.value(a, ta.as_ref())?;
                let x = self.hw(value, ta.as_ref(), a)?;
                let value = self.value(b, tb.as_ref())?;
                let y = self.hw(value, tb.as_ref(), b)?;
                let Some(width) = width else {
                    return self.refuse(call, "the width of the product is not known here; write mul::<P, A, B>(a, b)");
                };
                // Signed operands are printed as such, so that synthesis sees the narrow product.
                let product = if name == "mul_signed" {
                    Expr::bin(Op::SignedMul, Expr::sext(x, width), Expr::sext(y, width))
                } else {
                    Expr::bin(Op::Mul, Expr::resize(x, width), Expr::resize(y, width))
                };
                Ok(Val::Hw(product, Ty::Bits(width)))
            }
            ("repeat", [bit]) => {
                let bit = self.condition(bit)?;
                match self.turbofish(generics, 0)?.or(hint.map(|h| h.width())) {
                    Some(width) => Ok(Val::Hw(Expr::repeat(width, bit), Ty::Bits(width))),
                    None => self.refuse(call, "the number of copies is not known here; write repeat::<N>(bit)"),
                }
            }
            ("pack", [x]) => {
                let value = self.value(x, None)?;
                let value = self.hw(value, None, x)?;
                let ty = Ty::Bits(value.width);
                Ok(Val::Hw(value, ty))
            }
            ("unpack", [x]) => {
                let ty = match generics.and_then(|g| g.args.first()) {
                    Some(syn::GenericArgument::Type(syn::Type::Infer(_))) | None => hint.cloned(),
                    Some(syn::GenericArgument::Type(ty)) => self.type_of(ty)?,
                    Some(other) => return self.refuse(other, "the first argument of unpack is a type"),
                };
                let Some(ty) = ty else {
                    return self.refuse(call, "the type is not known here; write unpack::<T, N>(x)");
                };
                let bits = Ty::Bits(ty.width());
                let value = self.value(x, Some(&bits))?;
                let value = self.hw(value, Some(&bits), x)?;
                Ok(Val::Hw(value, ty))
            }
            _ => self.refuse(
                call,
                format!("`{key}` is not a function of the language; mark it #[hdl_fn], or give it constant arguments"),
            ),
        }
    }

    pub(super) fn pair(&mut self, a: &Ast, b: &Ast, width: Option<Ty>) -> Lowered<(Expr, Expr)> {
        let value = self.value(a, width.as_ref())?;
        let ty = match (&value, width) {
            (_, Some(width)) => Some(width),
            (Val::Hw(_, ty), None) => Some(ty.clone()),
            _ => None,
        };
        let x = self.hw(value, ty.as_ref(), a)?;
        let value = self.value(b, ty.as_ref())?;
        let y = self.hw(value, ty.as_ref(), b)?;
        Ok((x, y))
    }

    /// Inlines an `#[hdl_fn]`: parameters and locals become wires named after the function.
    fn inline(&mut self, call: &syn::ExprCall, key: &str, source: fn() -> crate::describe::FnSource) -> Lowered<Val> {
        if self.frames.len() > 32 {
            return self.refuse(call, format!("`{key}` calls itself; hardware functions cannot be recursive"));
        }
        let function = source();
        let name = key.rsplit("::").next().unwrap_or(key);
        if function.params.len() != call.args.len() {
            return self.refuse(call, format!("`{name}` takes {} arguments", function.params.len()));
        }
        let prefix = format!("{name}_");
        let mut bound = vec![];
        for ((param, descriptor), arg) in function.params.iter().zip(&call.args) {
            let ty = Ty::of(descriptor);
            let value = self.value(arg, Some(&ty))?;
            let mut expr = self.hw(value, Some(&ty), arg)?;
            if !expr.is_plain() {
                let id = self.wire(&format!("{name}_{param}"), ty.clone(), expr);
                expr = self.body.read(id);
            }
            bound.push((param.to_string(), Binding::Value(Val::Hw(expr, ty))));
        }
        let result = Ty::of(&function.result);
        self.frames.push(Frame::new(&function.body, prefix));
        for (param, value) in bound {
            self.bind(&param, value);
        }
        let value = self.parse().and_then(|block| {
            self.tail(&block, &mut |this, tail| {
                if this.wants_block(tail)? {
                    return this.let_value("result", tail, Some(result.clone()));
                }
                let value = this.value(tail, Some(&result))?;
                this.typed(value, &result, tail)
            })
        });
        self.frames.pop();
        value
    }
}
