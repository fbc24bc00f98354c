//! Expressions: operators, paths, fields, conditions and types.

use super::frame::{squash, value_of, Binding};
use super::{Lower, Lowered, Val};
use crate::expr::{Expr, Op, Shift};
use crate::ty::Ty;
use num_bigint::BigUint;
use syn::{BinOp, Expr as Ast, Lit, UnOp};

impl Lower<'_> {
    /// The value of an expression; `hint` is the type its surroundings expect.
    pub(super) fn value(&mut self, expr: &Ast, hint: Option<&Ty>) -> Lowered<Val> {
        match expr {
            Ast::Paren(inner) => self.value(&inner.expr, hint),
            Ast::Group(inner) => self.value(&inner.expr, hint),
            Ast::Lit(lit) => self.literal(lit),
            Ast::Path(path) => self.path(path),
            Ast::Field(field) => self.field(expr, field),
            Ast::Index(index) => self.index(expr, index),
            Ast::Unary(unary) => self.unary(unary, hint),
            Ast::Binary(binary) => self.binary(binary, hint),
            Ast::Cast(cast) => self.cast(cast),
            Ast::Call(call) => self.call(call, hint),
            Ast::MethodCall(call) => self.method(call, hint),
            Ast::Struct(node) => self.structure(node),
            Ast::Block(block) => self.scoped(|this| this.tail(&block.block, &mut |this, tail| this.value(tail, hint))),
            Ast::If(node) => self.if_value(node, hint),
            Ast::Match(node) => self.match_value(node, hint),
            Ast::Closure(node) => self.refuse(node, "closures are not part of the language; write an #[hdl_fn]"),
            Ast::Return(node) => self.refuse(node, "`return` is not part of the language; use if / else"),
            Ast::Macro(node) => self.refuse(node, "macros are not part of the language; write an #[hdl_fn]"),
            Ast::Tuple(node) => self.refuse(node, "tuples are only used for concatenation: `(a, b).cat::<N>()`"),
            Ast::Reference(node) => {
                self.refuse(node, "references are only used for join and link; use the value itself")
            }
            other => {
                self.refuse(other, "this expression is not part of the language; see the list in rtl/verilog/README.md")
            }
        }
    }

    /// A hardware value of the expected type.
    pub(super) fn hw(&mut self, value: Val, hint: Option<&Ty>, at: &Ast) -> Lowered<Expr> {
        match (value, hint) {
            (Val::Hw(expr, ty), Some(hint)) => {
                if expr.width != hint.width() {
                    let message = format!(
                        "this is {} ({} bits), but {} ({} bits) is expected; use bit_cast",
                        ty.text(),
                        expr.width,
                        hint.text(),
                        hint.width()
                    );
                    return self.refuse(at, message);
                }
                Ok(expr)
            }
            (Val::Hw(expr, _), None) => Ok(expr),
            (Val::Int(n), Some(hint)) => self.sized(n, hint.width(), at),
            (Val::Int(n), None) => self.refuse(at, format!("the width of {n} is not known here; write bits::<N>({n})")),
            (Val::List(_), _) => self.refuse(at, "a table needs an index here"),
        }
    }

    /// The value with the expected type: integers get a width.
    pub(super) fn typed(&mut self, value: Val, hint: &Ty, at: &Ast) -> Lowered<Val> {
        let expr = self.hw(value, Some(hint), at)?;
        Ok(Val::Hw(expr, hint.clone()))
    }

    pub(super) fn sized(&self, n: i128, width: usize, at: &Ast) -> Lowered<Expr> {
        if n < 0 || (width < 127 && n >> width != 0) {
            return self.refuse(at, format!("the number {n} does not fit in {width} bits"));
        }
        Ok(Expr::number(width, n as u128))
    }

    /// An integer known when the design is built.
    pub(super) fn int(&mut self, expr: &Ast) -> Lowered<i128> {
        match self.value(expr, None)? {
            Val::Int(n) => Ok(n),
            Val::Hw(value, _) => match value.value().and_then(|v| i128::try_from(v.clone()).ok()) {
                Some(n) => Ok(n),
                None => self.refuse(
                    expr,
                    "this must be a constant; only literals, constants, parameters and loop variables are allowed",
                ),
            },
            Val::List(_) => self.refuse(expr, "a table needs an index here"),
        }
    }

    pub(super) fn condition(&mut self, expr: &Ast) -> Lowered<Expr> {
        if let Ast::Let(node) = expr {
            return self.refuse(node, "`if let` is not part of the language; use match");
        }
        let value = self.value(expr, Some(&Ty::Bits(1)))?;
        self.hw(value, Some(&Ty::Bits(1)), expr)
    }

    fn literal(&mut self, lit: &syn::ExprLit) -> Lowered<Val> {
        match &lit.lit {
            Lit::Bool(b) => Ok(Val::Hw(Expr::bit(b.value), Ty::Bits(1))),
            Lit::Int(n) => match n.base10_parse::<i128>() {
                Ok(n) => Ok(Val::Int(n)),
                Err(_) => self.refuse(lit, "this number is too large; build it by concatenation"),
            },
            other => self.refuse(other, "only integers, true and false are hardware literals"),
        }
    }

    fn path(&mut self, path: &syn::ExprPath) -> Lowered<Val> {
        if let Some(ident) = path.path.get_ident() {
            let name = ident.to_string();
            if let Some(binding) = self.frame().find(&name).cloned() {
                return match binding {
                    Binding::Value(value) => Ok(value),
                    Binding::Versions { number, ty, .. } => Ok(Val::Hw(self.versions[&number].clone(), ty)),
                    Binding::Variable { sig, .. } => {
                        let line = self.line(ident);
                        self.note_read(sig, line);
                        Ok(Val::Hw(self.body.read(sig), self.body.sigs[sig].ty.clone()))
                    }
                };
            }
        }
        self.table(path)
    }

    /// A value from the table of constants.
    fn table(&mut self, key: &(impl quote::ToTokens + syn::spanned::Spanned)) -> Lowered<Val> {
        let text = squash(key);
        match self.frame().constants.get(text.as_str()) {
            Some(value) => {
                let value = value_of(value);
                Ok(self.named_state(value))
            }
            None => self.refuse(
                key,
                format!("`{text}` is not a signal, a local, a constant or a function that the back end knows"),
            ),
        }
    }

    /// Gives a state its name, so that the output can print it.
    fn named_state(&self, value: Val) -> Val {
        let Val::Hw(expr, Ty::Named(descriptor)) = &value else { return value };
        let rust_hdl_core::prelude::TypeKind::Enum(states) = &descriptor.kind else { return value };
        let number = expr.value().and_then(|v| usize::try_from(v).ok()).unwrap_or(usize::MAX);
        match states.get(number) {
            Some(state) => {
                let name = crate::names::state_name(state);
                Val::Hw(
                    Expr::new(expr.width, crate::expr::Kind::State(name.into(), BigUint::from(number))),
                    Ty::Named(descriptor.clone()),
                )
            }
            None => value,
        }
    }

    pub(super) fn constant_call(&mut self, key: &(impl quote::ToTokens + syn::spanned::Spanned)) -> Option<Val> {
        let value = self.frame().constants.get(squash(key).as_str()).map(value_of)?;
        Some(self.named_state(value))
    }

    fn field(&mut self, whole: &Ast, field: &syn::ExprField) -> Lowered<Val> {
        if let Some(value) = self.constant_call(whole) {
            return Ok(value);
        }
        let syn::Member::Named(name) = &field.member else {
            return self.refuse(whole, "tuples are not part of the language");
        };
        if super::wiring::is_self_path(&field.base) {
            return self
                .refuse(whole, format!("`{}` is read without .val(); write `{}.val()`", squash(whole), squash(whole)));
        }
        match self.value(&field.base, None)? {
            Val::Hw(base, ty) => match ty.field(&name.to_string()) {
                Some((offset, inner)) => {
                    self.narrow_read(&field.base, &base, offset, inner.width());
                    Ok(Val::Hw(Expr::slice(base, offset, inner.width()), inner))
                }
                None => self.refuse(whole, format!("{} has no field `{name}`", ty.text())),
            },
            _ => self.refuse(whole, format!("a number has no field `{name}`")),
        }
    }

    fn index(&mut self, whole: &Ast, index: &syn::ExprIndex) -> Lowered<Val> {
        let n = self.int(&index.index)?;
        match self.value(&index.expr, None)? {
            Val::List(list) => match usize::try_from(n).ok().and_then(|n| list.get(n)) {
                Some(value) => Ok(value.clone()),
                None => {
                    self.refuse(whole, format!("index {n} lies outside the table, which has {} entries", list.len()))
                }
            },
            _ => self
                .refuse(whole, "only tables of constants and arrays of signals have an index; use get_bit or get_bits"),
        }
    }

    fn unary(&mut self, unary: &syn::ExprUnary, hint: Option<&Ty>) -> Lowered<Val> {
        match (&unary.op, self.value(&unary.expr, hint)?) {
            (UnOp::Not(_), Val::Hw(x, ty)) => Ok(Val::Hw(Expr::not(x), ty)),
            (UnOp::Neg(_), Val::Int(n)) => Ok(Val::Int(-n)),
            (UnOp::Not(_), Val::Int(_)) if hint.is_some() => {
                let x = self.value(&unary.expr, hint)?;
                let x = self.hw(x, hint, &unary.expr)?;
                Ok(Val::Hw(Expr::not(x), hint.cloned().unwrap_or(Ty::Bits(1))))
            }
            (UnOp::Not(_), Val::Int(_)) => {
                self.refuse(unary, "the width of this number is not known here; write bits::<N>(n)")
            }
            _ => self
                .refuse(unary, "this operator is not part of the language; use ! or a subtraction from bits::<N>(0)"),
        }
    }

    /// Whether the type of an expression comes from its surroundings.
    pub(super) fn flexible(expr: &Ast) -> bool {
        match expr {
            Ast::Paren(inner) => Self::flexible(&inner.expr),
            Ast::Unary(inner) => Self::flexible(&inner.expr),
            Ast::Binary(b) => Self::flexible(&b.left) && Self::flexible(&b.right),
            Ast::Lit(lit) => matches!(lit.lit, Lit::Int(_)),
            Ast::MethodCall(call) => {
                (call.method == "into" || call.method == "to_bits" || call.method == "get_bits" || call.method == "cat")
                    && call.turbofish.is_none()
            }
            Ast::Call(call) => match call.func.as_ref() {
                Ast::Path(p) => p.path.segments.last().is_some_and(|s| {
                    let open = s.arguments.is_none();
                    let name = s.ident.to_string();
                    open && matches!(
                        name.as_str(),
                        "bits"
                            | "bit_cast"
                            | "zext"
                            | "trunc"
                            | "sext"
                            | "repeat"
                            | "mul"
                            | "mul_signed"
                            | "unpack"
                            | "first_set"
                            | "count_ones"
                    ) || name == "default" && p.path.segments.first().is_some_and(|f| f.ident == "Default")
                }),
                _ => false,
            },
            Ast::If(node) => match node.then_branch.stmts.last() {
                Some(syn::Stmt::Expr(tail, None)) => Self::flexible(tail),
                _ => false,
            },
            Ast::Match(node) => node.arms.iter().all(|a| Self::flexible(&a.body)),
            Ast::Block(node) => match node.block.stmts.last() {
                Some(syn::Stmt::Expr(tail, None)) => Self::flexible(tail),
                _ => false,
            },
            _ => false,
        }
    }

    /// Two operands; an operand without a type of its own takes the other's.
    fn operands(&mut self, left: &Ast, right: &Ast, hint: Option<&Ty>) -> Lowered<(Val, Val)> {
        let sibling = |v: &Val| match v {
            Val::Hw(_, ty) => Some(ty.clone()),
            _ => None,
        };
        if Self::flexible(left) && !Self::flexible(right) {
            let b = self.value(right, hint)?;
            let ty = sibling(&b);
            let a = self.value(left, ty.as_ref().or(hint))?;
            Ok((a, b))
        } else {
            let a = self.value(left, hint)?;
            let ty = sibling(&a);
            let b = self.value(right, ty.as_ref().or(hint))?;
            Ok((a, b))
        }
    }

    fn binary(&mut self, node: &syn::ExprBinary, hint: Option<&Ty>) -> Lowered<Val> {
        let bit = Ty::Bits(1);
        match node.op {
            BinOp::And(_) | BinOp::Or(_) => {
                let op = if matches!(node.op, BinOp::And(_)) { Op::LogicAnd } else { Op::LogicOr };
                let a = self.condition(&node.left)?;
                // The right side may name hardware that a parameter left out.
                match (op, a.truth()) {
                    (Op::LogicAnd, Some(false)) | (Op::LogicOr, Some(true)) => return Ok(Val::Hw(a, bit)),
                    _ => {}
                }
                let b = self.condition(&node.right)?;
                Ok(Val::Hw(Expr::bin(op, a, b), bit))
            }
            BinOp::Shl(_) | BinOp::Shr(_) => self.shift(node, hint),
            BinOp::Eq(_) | BinOp::Ne(_) | BinOp::Lt(_) | BinOp::Le(_) | BinOp::Gt(_) | BinOp::Ge(_) => {
                let (a, b) = self.operands(&node.left, &node.right, None)?;
                self.compare(node, a, b)
            }
            _ => {
                let (a, b) = self.operands(&node.left, &node.right, hint)?;
                self.arithmetic(node, a, b)
            }
        }
    }

    fn shift(&mut self, node: &syn::ExprBinary, hint: Option<&Ty>) -> Lowered<Val> {
        let left = matches!(node.op, BinOp::Shl(_));
        let a = self.value(&node.left, hint)?;
        let amount = self.value(&node.right, None)?;
        match (a, amount) {
            (Val::Int(a), Val::Int(n)) if (0..127).contains(&n) => Ok(Val::Int(if left { a << n } else { a >> n })),
            (Val::Hw(a, ty), amount) => {
                let amount = match amount {
                    Val::Int(n) if n >= 0 => Expr::number(32, n.min(u32::MAX as i128) as u32),
                    Val::Hw(amount, _) => amount,
                    _ => return self.refuse(node, "a shift amount is a number or a signal"),
                };
                Ok(Val::Hw(Expr::shift(if left { Shift::Left } else { Shift::Right }, a, amount), ty))
            }
            _ => self.refuse(node, "the width of the shifted number is not known here; write bits::<N>(n)"),
        }
    }

    fn compare(&mut self, node: &syn::ExprBinary, a: Val, b: Val) -> Lowered<Val> {
        let op = match node.op {
            BinOp::Eq(_) => Op::Eq,
            BinOp::Ne(_) => Op::Ne,
            BinOp::Lt(_) => Op::Lt,
            BinOp::Le(_) => Op::Le,
            BinOp::Gt(_) => Op::Gt,
            _ => Op::Ge,
        };
        if let (Val::Int(a), Val::Int(b)) = (&a, &b) {
            let truth = match op {
                Op::Eq => a == b,
                Op::Ne => a != b,
                Op::Lt => a < b,
                Op::Le => a <= b,
                Op::Gt => a > b,
                _ => a >= b,
            };
            return Ok(Val::Hw(Expr::bit(truth), Ty::Bits(1)));
        }
        let (a, b, _) = self.same_width(node, a, b)?;
        Ok(Val::Hw(Expr::bin(op, a, b), Ty::Bits(1)))
    }

    fn arithmetic(&mut self, node: &syn::ExprBinary, a: Val, b: Val) -> Lowered<Val> {
        if let (Val::Int(a), Val::Int(b)) = (&a, &b) {
            let (a, b) = (*a, *b);
            let result = match node.op {
                BinOp::Add(_) => a.checked_add(b),
                BinOp::Sub(_) => a.checked_sub(b),
                BinOp::Mul(_) => a.checked_mul(b),
                BinOp::Div(_) => a.checked_div(b),
                BinOp::Rem(_) => a.checked_rem(b),
                BinOp::BitAnd(_) => Some(a & b),
                BinOp::BitOr(_) => Some(a | b),
                BinOp::BitXor(_) => Some(a ^ b),
                _ => None,
            };
            return match result {
                Some(n) => Ok(Val::Int(n)),
                None => self.refuse(node, "this constant cannot be computed; check the operator and its operands"),
            };
        }
        let op = match node.op {
            BinOp::Add(_) => Op::Add,
            BinOp::Sub(_) => Op::Sub,
            BinOp::BitAnd(_) => Op::And,
            BinOp::BitOr(_) => Op::Or,
            BinOp::BitXor(_) => Op::Xor,
            BinOp::Mul(_) => Op::Mul,
            _ => {
                return self
                    .refuse(node, "this operator is not part of the language; use + - & | ^ << >> and comparisons")
            }
        };
        let index = matches!(a, Val::Hw(_, Ty::Index(_))) || matches!(b, Val::Hw(_, Ty::Index(_)));
        if index {
            return self.index_arithmetic(node, op, a, b);
        }
        if op == Op::Mul {
            return match (&a, &b) {
                (Val::Hw(x, Ty::Bits(16)), Val::Hw(y, Ty::Bits(16))) => {
                    Ok(Val::Hw(Expr::bin(op, Expr::resize(x.clone(), 32), Expr::resize(y.clone(), 32)), Ty::Bits(32)))
                }
                _ => self.refuse(node, "`*` multiplies 16 by 16 bits only; write mul::<P, A, B>(a, b)"),
            };
        }
        // `Bits<N> + Bit` is the one operator of rust-hdl on two widths.
        if let (Op::Add, Val::Hw(x, ty), Val::Hw(carry, _)) = (op, &a, &b) {
            if carry.width == 1 && x.width > 1 {
                return Ok(Val::Hw(Expr::bin(op, x.clone(), Expr::resize(carry.clone(), x.width)), ty.clone()));
            }
        }
        let (a, b, ty) = self.same_width(node, a, b)?;
        Ok(Val::Hw(Expr::bin(op, a, b), ty))
    }

    /// Arithmetic on `.index()`: wide enough never to wrap.
    fn index_arithmetic(&mut self, node: &syn::ExprBinary, op: Op, a: Val, b: Val) -> Lowered<Val> {
        let widen = |v: &Val| match v {
            Val::Int(n) if *n >= 0 => Some(Expr::number((128 - n.leading_zeros() as usize).max(1), *n as u128)),
            Val::Hw(e, _) => Some(e.clone()),
            _ => None,
        };
        let (Some(a), Some(b)) = (widen(&a), widen(&b)) else {
            return self.refuse(node, "an index is never negative; use Bits arithmetic, which wraps");
        };
        let width = match op {
            Op::Add => a.width.max(b.width) + 1,
            Op::Mul => a.width + b.width,
            Op::And | Op::Or | Op::Xor => a.width.max(b.width),
            _ => return self.refuse(node, "subtract before .index(), where the width defines how the result wraps"),
        };
        let (wide_a, wide_b) = (Expr::resize(a.clone(), width), Expr::resize(b.clone(), width));
        let power = b.value().filter(|v| op == Op::Mul && v.count_ones() == 1).and_then(|v| v.trailing_zeros());
        let expr = match power {
            Some(n) => Expr::shift(Shift::Left, wide_a, Expr::number(32, n as u32)),
            None => Expr::bin(op, wide_a, wide_b),
        };
        Ok(Val::Hw(expr, Ty::Index(width)))
    }

    fn same_width(&mut self, node: &syn::ExprBinary, a: Val, b: Val) -> Lowered<(Expr, Expr, Ty)> {
        match (a, b) {
            (Val::Hw(a, ta), Val::Hw(b, tb)) => {
                if let (Ty::Index(_), _) | (_, Ty::Index(_)) = (&ta, &tb) {
                    let width = a.width.max(b.width);
                    return Ok((Expr::resize(a, width), Expr::resize(b, width), Ty::Index(width)));
                }
                if a.width != b.width {
                    return self.refuse(
                        node,
                        format!(
                            "the operands are {} ({} bits) and {} ({} bits); use bit_cast",
                            ta.text(),
                            a.width,
                            tb.text(),
                            b.width
                        ),
                    );
                }
                Ok((a, b, ta))
            }
            (Val::Hw(a, ty), Val::Int(n)) => {
                let (a, b) = self.beside(a, &ty, n, &node.right)?;
                Ok((a, b, ty))
            }
            (Val::Int(n), Val::Hw(b, ty)) => {
                let (b, a) = self.beside(b, &ty, n, &node.left)?;
                Ok((a, b, ty))
            }
            _ => self.refuse(node, "the width of these operands is not known; write bits::<N>(n)"),
        }
    }

    /// A number beside a hardware value; an index grows to hold it.
    fn beside(&mut self, x: Expr, ty: &Ty, n: i128, at: &Ast) -> Lowered<(Expr, Expr)> {
        if let (Ty::Index(_), true) = (ty, n >= 0) {
            let needed = (128 - n.leading_zeros() as usize).max(x.width);
            return Ok((Expr::resize(x, needed), Expr::number(needed, n as u128)));
        }
        let number = self.sized(n, x.width, at)?;
        Ok((x, number))
    }

    fn cast(&mut self, cast: &syn::ExprCast) -> Lowered<Val> {
        let target = squash(&cast.ty);
        let bits = match target.as_str() {
            "u8" => 8,
            "u16" => 16,
            "u32" => 32,
            "u64" | "usize" => 64,
            "u128" => 126,
            _ => return self.refuse(cast, "`as` converts to u64 or usize only; use bit_cast for widths"),
        };
        match self.value(&cast.expr, None)? {
            Val::Int(n) => Ok(Val::Int(n & ((1i128 << bits) - 1))),
            Val::Hw(x, _) => {
                let width = x.width.min(bits);
                Ok(Val::Hw(Expr::resize(x, width), Ty::Index(width)))
            }
            Val::List(_) => self.refuse(cast, "a table needs an index here"),
        }
    }

    fn structure(&mut self, node: &syn::ExprStruct) -> Lowered<Val> {
        let key = squash(&node.path);
        if key == "Clock" {
            return self.refuse(
                node,
                "a clock is not built from bits; connect a clock input, and use an enable for conditions",
            );
        }
        let Some(ty) = self.frame().types.get(key.as_str()).cloned() else {
            return self.refuse(node, format!("`{key}` is not a hardware structure; derive LogicStruct for it"));
        };
        let mut result = match &node.rest {
            Some(rest) => {
                let value = self.value(rest, Some(&ty))?;
                self.hw(value, Some(&ty), rest)?
            }
            None => Expr::number(ty.width(), 0u8),
        };
        for field in &node.fields {
            let syn::Member::Named(name) = &field.member else {
                return self.refuse(field, "structure fields have names");
            };
            let Some((offset, inner)) = ty.field(&name.to_string()) else {
                return self.refuse(field, format!("{} has no field `{name}`", ty.text()));
            };
            let value = self.value(&field.expr, Some(&inner))?;
            let value = self.hw(value, Some(&inner), &field.expr)?;
            result = Expr::splice(result, offset, value);
        }
        Ok(Val::Hw(result, ty))
    }

    fn if_value(&mut self, node: &syn::ExprIf, hint: Option<&Ty>) -> Lowered<Val> {
        let cond = self.condition(&node.cond)?;
        let Some((_, other)) = &node.else_branch else {
            return self.refuse(node, "an `if` used as a value needs an `else`");
        };
        match cond.truth() {
            Some(true) => self.scoped(|this| this.tail(&node.then_branch, &mut |this, tail| this.value(tail, hint))),
            Some(false) => self.value(other, hint),
            None => {
                let then =
                    self.scoped(|this| this.tail(&node.then_branch, &mut |this, tail| this.value(tail, hint)))?;
                let ty = match &then {
                    Val::Hw(_, ty) => Some(ty.clone()),
                    _ => hint.cloned(),
                };
                let second = self.value(other, ty.as_ref())?;
                let ty = match (ty, &second) {
                    (Some(ty), _) => ty,
                    (None, Val::Hw(_, ty)) => ty.clone(),
                    _ => {
                        return self.refuse(node, "the width of this `if` is not known; write bits::<N>(n) in a branch")
                    }
                };
                let then_at =
                    Ast::Block(syn::ExprBlock { attrs: vec![], label: None, block: node.then_branch.clone() });
                if let (Ty::Index(a), Val::Hw(x, Ty::Index(b)), Val::Hw(y, _)) = (&ty, &second, &then) {
                    let width = *a.max(b);
                    let joined = Expr::mux(cond, Expr::resize(y.clone(), width), Expr::resize(x.clone(), width));
                    return Ok(Val::Hw(joined, Ty::Index(width)));
                }
                let a = self.hw(then, Some(&ty), &then_at)?;
                let b = self.hw(second, Some(&ty), other)?;
                Ok(Val::Hw(Expr::mux(cond, a, b), ty))
            }
        }
    }

    /// The type written in a `let`; `None` for plain Rust integers.
    pub(super) fn type_of(&mut self, ty: &syn::Type) -> Lowered<Option<Ty>> {
        const INTEGERS: [&str; 11] = ["u8", "u16", "u32", "u64", "u128", "usize", "i8", "i16", "i32", "i64", "isize"];
        let key = squash(ty);
        if INTEGERS.contains(&key.as_str()) || key == "_" {
            return Ok(None);
        }
        match self.frame().types.get(key.as_str()) {
            Some(ty) => Ok(Some(ty.clone())),
            None => self.refuse(ty, format!("`{key}` is not a hardware type")),
        }
    }

    /// A width given as a generic argument.
    pub(super) fn generic(&mut self, argument: &syn::GenericArgument) -> Lowered<Option<usize>> {
        let value = match argument {
            syn::GenericArgument::Type(syn::Type::Infer(_)) => return Ok(None),
            syn::GenericArgument::Type(ty) => {
                if let syn::Type::Path(p) = ty {
                    if let Some(Binding::Value(Val::Int(n))) =
                        p.path.get_ident().and_then(|i| self.frame().find(&i.to_string()))
                    {
                        return Ok(Some(*n as usize));
                    }
                }
                self.table(ty)?
            }
            syn::GenericArgument::Const(Ast::Lit(lit)) => self.literal(lit)?,
            syn::GenericArgument::Const(expr) => match self.constant_call(expr) {
                Some(value) => value,
                None => self.value(expr, None)?,
            },
            other => return self.refuse(other, "a width is a constant"),
        };
        match value {
            Val::Int(n) if n > 0 => Ok(Some(n as usize)),
            _ => self.refuse(argument, "a width is a number above zero"),
        }
    }

    pub(super) fn turbofish(
        &mut self,
        arguments: Option<&syn::AngleBracketedGenericArguments>,
        at: usize,
    ) -> Lowered<Option<usize>> {
        match arguments.and_then(|a| a.args.iter().nth(at)) {
            Some(argument) => self.generic(argument),
            None => Ok(None),
        }
    }
}
