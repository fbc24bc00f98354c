//! Bodies described with rust-hdl's own `#[hdl_gen]`, such as the widgets of rust-hdl-widgets.
//!
//! rust-hdl's syntax tree names signals by text (`bus$data$next`, `taps[i]$q`) and has literals without a width of their
//! own. This file finds the signals again and gives every literal the width of its sibling or target, after which a stock
//! body is lowered to the same statements as an `#[hdl]` body. Signals may be read before they are written: a read gives
//! the settled value in rust-hdl's simulator and in the assignments that come out.

use crate::build::{Body, Item, Role};
use crate::error::{EmitError, Result};
use crate::expr::{Expr, Kind, Op, Reduce, Shift, SigId};
use crate::names::state_name;
use crate::stmt::{Arm, Label, Stmt};
use crate::ty::Ty;
use num_bigint::BigUint;
use rust_hdl_core::ast::{
    VerilogBlock, VerilogBlockOrConditional, VerilogExpression as Ast, VerilogLink, VerilogLinkDetails, VerilogLiteral,
    VerilogMatch, VerilogOp, VerilogOpUnary, VerilogStatement,
};
use rust_hdl_core::prelude::{TypeDescriptor, TypeKind};
use std::collections::HashMap;

/// A value: a number takes the width that its context requires.
enum Val {
    Number(BigUint),
    Hw(Expr),
    /// `signed_cast(x)`: only comparisons ask for the sign.
    Signed(Expr),
}

struct Stock {
    body: Body,
    /// Values of the enclosing loop variables.
    loops: Vec<(String, usize)>,
    /// `State$Idle` with its width, number and Rust name.
    states: HashMap<String, (usize, usize, String)>,
}

/// Lowers rust-hdl's syntax tree.
pub(crate) fn lower(block: &VerilogBlock, body: Body) -> Result<Body> {
    let mut states = HashMap::new();
    for ty in body.sigs.iter().map(|s| &s.ty).chain(body.constants.values().map(|c| &c.1)) {
        if let Ty::Named(descriptor) = ty {
            collect_states(descriptor, &mut states);
        }
    }
    let mut stock = Stock { body, loops: vec![], states };
    let stmts = stock.block(block)?;
    stock.body.items = stmts.into_iter().map(Item::Top).collect();
    Ok(stock.body)
}

fn collect_states(descriptor: &TypeDescriptor, states: &mut HashMap<String, (usize, usize, String)>) {
    match &descriptor.kind {
        TypeKind::Enum(names) => {
            let width = Ty::of(descriptor).width();
            for (number, name) in names.iter().enumerate() {
                states.insert(name.replace("::", "$"), (width, number, name.clone()));
            }
        }
        TypeKind::Composite(fields) => fields.iter().for_each(|f| collect_states(&f.kind, states)),
        _ => {}
    }
}

fn number_of(literal: &VerilogLiteral) -> BigUint {
    crate::describe::literal_value(literal)
}

impl Stock {
    fn refuse<T>(&self, message: impl Into<String>) -> Result<T> {
        Err(EmitError::new(&self.body.file, 0, message))
    }

    /// `taps[i+1]$d$next` as the key `taps$2.d`.
    fn key(&self, name: &str) -> Result<String> {
        let name = name.trim_start_matches('$').trim_end_matches('$').replace('.', "$");
        let name = name.strip_suffix("$next").unwrap_or(&name);
        let mut key = String::new();
        let mut rest = name;
        while let Some((head, tail)) = rest.split_once('[') {
            let Some((index, tail)) = tail.split_once(']') else { break };
            key.push_str(&head.replace('$', "."));
            key.push_str(&format!("${}", self.index(index)?));
            rest = tail;
        }
        key.push_str(&rest.replace('$', "."));
        Ok(key)
    }

    /// An array index: numbers, loop variables, `+`, `-` and `*`.
    fn index(&self, text: &str) -> Result<usize> {
        let value = syn::parse_str(text).ok().and_then(|e| self.constant(&e));
        match value {
            Some(n) => Ok(n),
            None => self.refuse(format!(
                "the index `{text}` is not a number or a loop variable; describe the block with #[hdl]"
            )),
        }
    }

    fn constant(&self, expr: &syn::Expr) -> Option<usize> {
        match expr {
            syn::Expr::Paren(inner) => self.constant(&inner.expr),
            syn::Expr::Lit(syn::ExprLit { lit: syn::Lit::Int(n), .. }) => n.base10_parse().ok(),
            syn::Expr::Path(path) => {
                let name = path.path.get_ident()?.to_string();
                self.loops.iter().rev().find(|(n, _)| *n == name).map(|l| l.1)
            }
            syn::Expr::Binary(b) => {
                let (x, y) = (self.constant(&b.left)?, self.constant(&b.right)?);
                match b.op {
                    syn::BinOp::Add(_) => x.checked_add(y),
                    syn::BinOp::Sub(_) => x.checked_sub(y),
                    syn::BinOp::Mul(_) => x.checked_mul(y),
                    _ => None,
                }
            }
            _ => None,
        }
    }

    fn signal(&self, name: &str) -> Result<SigId> {
        let key = self.key(name)?;
        match self.body.by_key.get(&key) {
            Some(id) => Ok(*id),
            None => self.refuse(format!("`{key}` is not a signal of this block or of a submodule")),
        }
    }

    fn target(&self, expr: &Ast) -> Result<SigId> {
        match expr {
            Ast::Signal(name) => self.signal(name),
            Ast::Paren(inner) => self.target(inner),
            _ => self.refuse("only signals can be assigned"),
        }
    }

    fn block(&mut self, block: &VerilogBlock) -> Result<Vec<Stmt>> {
        let mut out = vec![];
        for statement in block {
            self.statement(statement, &mut out)?;
        }
        Ok(out)
    }

    fn statement(&mut self, statement: &VerilogStatement, out: &mut Vec<Stmt>) -> Result<()> {
        match statement {
            VerilogStatement::Assignment(left, right) => {
                let sig = self.target(left)?;
                let value = self.hw(right, self.body.sigs[sig].width())?;
                out.push(Stmt::Assign { sig, lo: 0, value, line: 0 });
            }
            VerilogStatement::SliceAssignment { base, width, offset, replacement } => {
                let sig = self.target(base)?;
                let value = self.hw(replacement, *width)?;
                let Some(lo) = self.number(offset)? else { return self.refuse("a field lies at a constant offset") };
                out.push(Stmt::Assign { sig, lo, value, line: 0 });
            }
            VerilogStatement::If(node) => {
                let cond = self.hw(&node.test, 1)?;
                let then = self.block(&node.then)?;
                let other = match &node.otherwise {
                    VerilogBlockOrConditional::Block(block) => self.block(block)?,
                    VerilogBlockOrConditional::Conditional(next) => {
                        let mut other = vec![];
                        self.statement(next, &mut other)?;
                        other
                    }
                    VerilogBlockOrConditional::None => vec![],
                };
                out.push(Stmt::If { cond, then, other });
            }
            VerilogStatement::Match(node) => out.push(self.case(node)?),
            VerilogStatement::Loop(node) => {
                for i in node.from.as_usize()..node.to.as_usize() {
                    self.loops.push((node.index.clone(), i));
                    let body = self.block(&node.block);
                    self.loops.pop();
                    out.extend(body?);
                }
            }
            VerilogStatement::Comment(_) => {}
            VerilogStatement::Link(links) => links.iter().try_for_each(|link| self.link(link, out))?,
            VerilogStatement::Macro(block) => out.extend(self.block(block)?),
        }
        Ok(())
    }

    fn link(&self, link: &VerilogLink, out: &mut Vec<Stmt>) -> Result<()> {
        let ends = |d: &VerilogLinkDetails| -> Result<(SigId, SigId)> {
            let end = |owner: &str| self.signal(&format!("{owner}{}", d.my_name));
            Ok((end(&d.owner_name)?, end(&d.other_name)?))
        };
        let (from, sig) = match link {
            VerilogLink::Forward(d) => ends(d)?,
            VerilogLink::Backward(d) => {
                let (owner, other) = ends(d)?;
                (other, owner)
            }
            VerilogLink::Bidirectional(_) => {
                return self.refuse("bidirectional links are not supported; use a hand-written module")
            }
        };
        if self.body.sigs[from].width() != self.body.sigs[sig].width() {
            return self
                .refuse(format!("`{}` and `{}` differ in width", self.body.sigs[from].key, self.body.sigs[sig].key));
        }
        out.push(Stmt::Assign { sig, lo: 0, value: self.body.read(from), line: 0 });
        Ok(())
    }

    fn case(&mut self, node: &VerilogMatch) -> Result<Stmt> {
        let subject = match self.value(&node.test, None)? {
            Val::Hw(expr) | Val::Signed(expr) => expr,
            Val::Number(_) => return self.refuse("a match on a number has one arm only; remove it"),
        };
        let (mut arms, mut default, mut seen): (Vec<Arm>, Option<Vec<Stmt>>, Vec<BigUint>) = (vec![], None, vec![]);
        for case in &node.cases {
            let body = self.block(&case.block)?;
            if case.condition == "default" {
                default = Some(body);
                break;
            }
            let label = self.label(&case.condition, subject.width)?;
            if !seen.contains(&label.value) {
                seen.push(label.value.clone());
                arms.push(Arm { labels: vec![label], body });
            }
        }
        Ok(Stmt::Case { subject, arms, default })
    }

    fn label(&self, text: &str, width: usize) -> Result<Label> {
        if let Some((_, number, name)) = self.states.get(text) {
            return Ok(Label { value: BigUint::from(*number), name: Some(state_name(name).into()) });
        }
        match syn::parse_str::<syn::LitInt>(text).ok().and_then(|n| n.base10_parse::<u128>().ok()).map(BigUint::from) {
            Some(value) if value.bits() as usize <= width => Ok(Label { value, name: None }),
            _ => self.refuse(format!(
                "the pattern `{text}` is not a state or a number of {width} bits; describe the block with #[hdl]"
            )),
        }
    }

    /// A constant, when the expression is one.
    fn number(&self, expr: &Ast) -> Result<Option<usize>> {
        Ok(match self.value(expr, None)? {
            Val::Number(n) => usize::try_from(n).ok(),
            Val::Hw(e) | Val::Signed(e) => e.value().and_then(|n| usize::try_from(n).ok()),
        })
    }

    /// A value of exactly this width.
    fn hw(&self, expr: &Ast, width: usize) -> Result<Expr> {
        let value = self.value(expr, Some(width))?;
        let expr = self.sized(value, width)?;
        match expr.width == width {
            true => Ok(expr),
            false => {
                self.refuse(format!("an expression has {} bits where {width} are expected; use bit_cast", expr.width))
            }
        }
    }

    fn sized(&self, value: Val, width: usize) -> Result<Expr> {
        match value {
            Val::Hw(expr) | Val::Signed(expr) => Ok(expr),
            Val::Number(n) if n.bits() as usize <= width => Ok(Expr::number(width, n)),
            Val::Number(n) => self.refuse(format!("the number {n} does not fit in {width} bits")),
        }
    }

    fn any_width(&self, expr: &Ast, hint: Option<usize>) -> Result<Expr> {
        match (self.value(expr, hint)?, hint) {
            (Val::Hw(e) | Val::Signed(e), _) => Ok(e),
            (number, Some(width)) => self.sized(number, width),
            (Val::Number(n), None) => self.refuse(format!("the width of {n} is not known here; cast it with bits")),
        }
    }

    fn value(&self, expr: &Ast, hint: Option<usize>) -> Result<Val> {
        Ok(Val::Hw(match expr {
            Ast::Literal(literal) => return Ok(Val::Number(number_of(literal))),
            Ast::Paren(inner) => return self.value(inner, hint),
            Ast::Unsigned(inner) => self.any_width(inner, hint)?,
            Ast::Signed(inner) => return Ok(Val::Signed(self.any_width(inner, hint)?)),
            Ast::Signal(name) => return self.named(name),
            Ast::Cast(inner, width) => match self.value(inner, None)? {
                Val::Hw(e) | Val::Signed(e) => Expr::resize(e, *width),
                number => self.sized(number, *width)?,
            },
            Ast::Unary(op, inner) => {
                let x = |hint| self.any_width(inner, hint);
                match op {
                    VerilogOpUnary::Not => Expr::not(x(hint)?),
                    VerilogOpUnary::Neg => {
                        let x = x(hint)?;
                        Expr::bin(Op::Sub, Expr::number(x.width, 0u8), x)
                    }
                    VerilogOpUnary::All => Expr::reduce(Reduce::All, x(None)?),
                    VerilogOpUnary::Any => Expr::reduce(Reduce::Any, x(None)?),
                    VerilogOpUnary::Xor => Expr::reduce(Reduce::Xor, x(None)?),
                }
            }
            Ast::Index(base, index) => self.part(base, index, 1)?,
            Ast::Slice(base, width, offset) => self.part(base, offset, *width)?,
            Ast::IndexReplace(base, index, bit) => {
                let (base, bit) = (self.any_width(base, hint)?, self.hw(bit, 1)?);
                match self.number(index)? {
                    Some(n) if n < base.width => Expr::splice(base, n, bit),
                    Some(n) => return self.refuse(format!("bit {n} lies outside a value of {} bits", base.width)),
                    None => {
                        let (index, width) = (self.any_width(index, None)?, base.width);
                        let hole = Expr::not(Expr::shift(Shift::Left, Expr::number(width, 1u8), index.clone()));
                        let set = Expr::shift(Shift::Left, Expr::resize(bit, width), index);
                        Expr::bin(Op::Or, Expr::bin(Op::And, base, hole), set)
                    }
                }
            }
            Ast::Binary(a, op, b) => self.binary(a, op, b, hint)?,
        }))
    }

    fn named(&self, name: &str) -> Result<Val> {
        if let Some((_, n)) = self.loops.iter().rev().find(|(loop_name, _)| loop_name == name) {
            return Ok(Val::Number(BigUint::from(*n)));
        }
        if let Some((width, number, state)) = self.states.get(name) {
            return Ok(Val::Hw(Expr::new(*width, Kind::State(state_name(state).into(), BigUint::from(*number)))));
        }
        let key = self.key(name)?;
        if let Some((value, ty)) = self.body.constants.get(&key) {
            return Ok(Val::Hw(Expr::number(ty.width(), value.clone())));
        }
        let id = self.signal(name)?;
        match self.body.sigs[id].role {
            Role::InOut => self.refuse(format!("`{key}` is bidirectional; use a hand-written module")),
            _ => Ok(Val::Hw(self.body.read(id))),
        }
    }

    fn part(&self, base: &Ast, offset: &Ast, width: usize) -> Result<Expr> {
        let base = self.any_width(base, None)?;
        match self.number(offset)? {
            Some(n) => Ok(Expr::slice(base, n, width)),
            None => Ok(Expr::slice_at(base, self.any_width(offset, None)?, width)),
        }
    }

    fn binary(&self, a: &Ast, op: &VerilogOp, b: &Ast, hint: Option<usize>) -> Result<Expr> {
        let (op, compares) = match op {
            VerilogOp::Shl | VerilogOp::Shr => {
                let kind = if matches!(op, VerilogOp::Shl) { Shift::Left } else { Shift::Right };
                let amount = match self.value(b, None)? {
                    Val::Number(n) => Expr::number((n.bits() as usize).max(1), n),
                    Val::Hw(e) | Val::Signed(e) => e,
                };
                return Ok(Expr::shift(kind, self.any_width(a, hint)?, amount));
            }
            VerilogOp::LogicalAnd => return Ok(Expr::bin(Op::LogicAnd, self.hw(a, 1)?, self.hw(b, 1)?)),
            VerilogOp::LogicalOr => return Ok(Expr::bin(Op::LogicOr, self.hw(a, 1)?, self.hw(b, 1)?)),
            VerilogOp::Add => (Op::Add, false),
            VerilogOp::Sub => (Op::Sub, false),
            VerilogOp::Mul => (Op::Mul, false),
            VerilogOp::BitXor => (Op::Xor, false),
            VerilogOp::BitAnd => (Op::And, false),
            VerilogOp::BitOr => (Op::Or, false),
            VerilogOp::Eq => (Op::Eq, true),
            VerilogOp::Ne => (Op::Ne, true),
            VerilogOp::Lt => (Op::Lt, true),
            VerilogOp::Le => (Op::Le, true),
            VerilogOp::Gt => (Op::Gt, true),
            VerilogOp::Ge => (Op::Ge, true),
        };
        let hint = if compares { None } else { hint };
        let (a, b) = (self.value(a, hint)?, self.value(b, hint)?);
        let signed = matches!(a, Val::Signed(_)) && matches!(b, Val::Signed(_));
        let width = |v: &Val| match v {
            Val::Hw(e) | Val::Signed(e) => Some(e.width),
            Val::Number(_) => None,
        };
        let Some(common) = width(&a).or(width(&b)).or(hint) else {
            return self.refuse("the width of these numbers is not known; cast one with bits");
        };
        let (a, b) = (self.sized(a, common)?, self.sized(b, common)?);
        if op == Op::Mul {
            // rust-hdl multiplies 16 by 16 bits to 32.
            return Ok(Expr::bin(op, Expr::resize(a, 32), Expr::resize(b, 32)));
        }
        // `Bits<N> + Bit` is the one operator of rust-hdl on two widths.
        let b = if op == Op::Add && b.width == 1 { Expr::resize(b, a.width) } else { b };
        if a.width != b.width {
            return self.refuse(format!("two operands have {} and {} bits; use bit_cast", a.width, b.width));
        }
        Ok(match (signed, op) {
            (true, Op::Lt) => Expr::bin(Op::SignedLt, a, b),
            (true, Op::Gt) => Expr::bin(Op::SignedLt, b, a),
            (true, Op::Ge) => Expr::not(Expr::bin(Op::SignedLt, a, b)),
            (true, Op::Le) => Expr::not(Expr::bin(Op::SignedLt, b, a)),
            _ => Expr::bin(op, a, b),
        })
    }
}
