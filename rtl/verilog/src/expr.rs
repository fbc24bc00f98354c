//! Expressions of exact width.
//!
//! Every expression knows its width and every operand has the width its operator asks for, so Verilog's rules for
//! extending operands never come into play. Constructors fold constants and push part selects down to signals.

use num_bigint::BigUint;
use std::rc::Rc;

/// Index of a signal in its module.
pub(crate) type SigId = usize;

/// Operators on two operands of equal width.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Op {
    Add,
    Sub,
    Mul,
    And,
    Or,
    Xor,
    LogicAnd,
    LogicOr,
    Eq,
    Ne,
    Lt,
    Le,
    Gt,
    Ge,
    SignedLt,
    SignedMul,
}

/// Shifts; the amount has its own width.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Shift {
    Left,
    Right,
    Arithmetic,
}

/// Reductions to one bit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Reduce {
    Any,
    All,
    Xor,
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Kind {
    Const(BigUint),
    /// Any value at all.
    Unknown,
    /// A named state, printed as a `localparam`.
    State(Rc<str>, BigUint),
    /// Bits `lo ..` of a signal.
    Sig(SigId, usize),
    /// One bit of a signal, chosen by an expression that cannot reach beyond its end: that of a low part is shorter.
    Pick(SigId, Box<Expr>),
    Not(Box<Expr>),
    Reduce(Reduce, Box<Expr>),
    Bin(Op, Box<Expr>, Box<Expr>),
    Shift(Shift, Box<Expr>, Box<Expr>),
    Mux(Box<Expr>, Box<Expr>, Box<Expr>),
    /// First member most significant.
    Concat(Vec<Expr>),
    Repeat(usize, Box<Expr>),
    /// The low bits of a wider expression.
    Low(Box<Expr>),
    /// Sign extension.
    Extend(Box<Expr>),
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Expr {
    pub width: usize,
    pub kind: Kind,
}

fn mask(width: usize) -> BigUint {
    (BigUint::from(1u8) << width) - 1u8
}

impl Expr {
    pub fn new(width: usize, kind: Kind) -> Expr {
        Expr { width, kind }
    }

    pub fn number(width: usize, value: impl Into<BigUint>) -> Expr {
        Expr::new(width, Kind::Const(value.into() & mask(width)))
    }

    pub fn bit(value: bool) -> Expr {
        Expr::number(1, value as u8)
    }

    pub fn sig(id: SigId, width: usize) -> Expr {
        Expr::new(width, Kind::Sig(id, 0))
    }

    /// The value, when it is a constant.
    pub fn value(&self) -> Option<&BigUint> {
        match &self.kind {
            Kind::Const(v) | Kind::State(_, v) => Some(v),
            _ => None,
        }
    }

    fn is_number(&self, n: u8) -> bool {
        self.value() == Some(&BigUint::from(n))
    }

    /// A constant truth value.
    pub fn truth(&self) -> Option<bool> {
        (self.width == 1).then(|| self.value().map(|v| *v != BigUint::ZERO)).flatten()
    }

    /// Whether it prints as one word: a constant, a signal or a part of one.
    pub fn is_plain(&self) -> bool {
        matches!(self.kind, Kind::Const(_) | Kind::State(..) | Kind::Sig(..))
    }

    pub fn not(x: Expr) -> Expr {
        let width = x.width;
        match x.kind {
            Kind::Const(v) => Expr::number(width, v ^ mask(width)),
            Kind::Not(inner) => *inner,
            Kind::Bin(Op::Eq, a, b) => Expr::new(1, Kind::Bin(Op::Ne, a, b)),
            Kind::Bin(Op::Ne, a, b) => Expr::new(1, Kind::Bin(Op::Eq, a, b)),
            kind => Expr::new(width, Kind::Not(Box::new(Expr::new(width, kind)))),
        }
    }

    pub fn reduce(op: Reduce, x: Expr) -> Expr {
        if x.width == 1 {
            return x;
        }
        if let Some(v) = x.value() {
            return Expr::bit(match op {
                Reduce::Any => *v != BigUint::ZERO,
                Reduce::All => *v == mask(x.width),
                Reduce::Xor => v.count_ones() % 2 == 1,
            });
        }
        Expr::new(1, Kind::Reduce(op, Box::new(x)))
    }

    /// Both operands have the same width.
    pub fn bin(op: Op, a: Expr, b: Expr) -> Expr {
        debug_assert_eq!(a.width, b.width);
        let width = match op {
            Op::Add | Op::Sub | Op::Mul | Op::SignedMul | Op::And | Op::Or | Op::Xor => a.width,
            _ => 1,
        };
        if let (Some(x), Some(y)) = (a.value(), b.value()) {
            let sign = |v: &BigUint| v.bit(a.width as u64 - 1);
            return match op {
                Op::Add => Expr::number(width, x + y),
                Op::Sub => Expr::number(width, x + (BigUint::from(1u8) << width) - y),
                Op::Mul | Op::SignedMul => Expr::number(width, x * y),
                Op::And | Op::LogicAnd => Expr::number(width, x & y),
                Op::Or | Op::LogicOr => Expr::number(width, x | y),
                Op::Xor => Expr::number(width, x ^ y),
                Op::Eq => Expr::bit(x == y),
                Op::Ne => Expr::bit(x != y),
                Op::Lt => Expr::bit(x < y),
                Op::Le => Expr::bit(x <= y),
                Op::Gt => Expr::bit(x > y),
                Op::Ge => Expr::bit(x >= y),
                Op::SignedLt => Expr::bit(if sign(x) == sign(y) { x < y } else { sign(x) }),
            };
        }
        if width == 1 && a.width == 1 {
            match (op, a.truth(), b.truth()) {
                (Op::And | Op::LogicAnd, Some(true), _) | (Op::Or | Op::LogicOr, Some(false), _) => return b,
                (Op::And | Op::LogicAnd, _, Some(true)) | (Op::Or | Op::LogicOr, _, Some(false)) => return a,
                (Op::And | Op::LogicAnd, Some(false), _) | (Op::And | Op::LogicAnd, _, Some(false)) => {
                    return Expr::bit(false)
                }
                (Op::Or | Op::LogicOr, Some(true), _) | (Op::Or | Op::LogicOr, _, Some(true)) => {
                    return Expr::bit(true)
                }
                (Op::Eq, Some(true), _) | (Op::Ne, Some(false), _) => return b,
                (Op::Eq, _, Some(true)) | (Op::Ne, _, Some(false)) => return a,
                (Op::Eq, Some(false), _) | (Op::Ne, Some(true), _) => return Expr::not(b),
                (Op::Eq, _, Some(false)) | (Op::Ne, _, Some(true)) => return Expr::not(a),
                _ => {}
            }
        }
        match op {
            Op::Add | Op::Or | Op::Xor if a.is_number(0) => return b,
            Op::Add | Op::Sub | Op::Or | Op::Xor if b.is_number(0) => return a,
            Op::And if a.is_number(0) || b.is_number(0) => return Expr::number(width, 0u8),
            // No unsigned number is below zero: these are constants, and tools warn about them.
            Op::Lt if b.is_number(0) => return Expr::bit(false),
            Op::Ge if b.is_number(0) => return Expr::bit(true),
            Op::Gt if a.is_number(0) => return Expr::bit(false),
            Op::Le if a.is_number(0) => return Expr::bit(true),
            Op::Gt if b.value() == Some(&mask(b.width)) => return Expr::bit(false),
            Op::Le if b.value() == Some(&mask(b.width)) => return Expr::bit(true),
            Op::Lt if a.value() == Some(&mask(a.width)) => return Expr::bit(false),
            Op::Ge if a.value() == Some(&mask(a.width)) => return Expr::bit(true),
            _ => {}
        }
        Expr::new(width, Kind::Bin(op, Box::new(a), Box::new(b)))
    }

    /// `a << amount` and its kin at the width of `a`.
    pub fn shift(op: Shift, a: Expr, amount: Expr) -> Expr {
        let width = a.width;
        if let Some(n) = amount.value() {
            let n = usize::try_from(n).unwrap_or(usize::MAX).min(width);
            return match op {
                Shift::Left if n == 0 => a,
                Shift::Left => Expr::concat(vec![Expr::slice(a, 0, width - n), Expr::number(n, 0u8)]),
                Shift::Right => Expr::slice(a, n, width),
                Shift::Arithmetic => {
                    let n = n.min(width - 1);
                    Expr::sext(Expr::slice(a, n, width - n), width)
                }
            };
        }
        Expr::new(width, Kind::Shift(op, Box::new(a), Box::new(amount)))
    }

    pub fn mux(c: Expr, a: Expr, b: Expr) -> Expr {
        debug_assert_eq!(a.width, b.width);
        match c.truth() {
            Some(true) => a,
            Some(false) => b,
            None if a == b => a,
            None if a.truth() == Some(true) && b.truth() == Some(false) => c,
            None if a.truth() == Some(false) && b.truth() == Some(true) => Expr::not(c),
            None if matches!(a.kind, Kind::Concat(_)) || matches!(b.kind, Kind::Concat(_)) => Expr::mux_parts(c, a, b),
            None => Expr::new(a.width, Kind::Mux(Box::new(c), Box::new(a), Box::new(b))),
        }
    }

    /// A choice between values that differ in one place chooses there.
    fn mux_parts(c: Expr, a: Expr, b: Expr) -> Expr {
        let mut ends = vec![0];
        for e in [&a, &b] {
            let Kind::Concat(members) = &e.kind else { continue };
            let mut end = 0;
            for member in members.iter().rev() {
                end += member.width;
                ends.push(end);
            }
        }
        ends.push(a.width);
        ends.sort_unstable();
        ends.dedup();
        // Runs of parts that are the same in both, and of parts that are not: where they begin, lowest first.
        let mut runs: Vec<(usize, bool)> = vec![];
        for part in ends.windows(2) {
            let cut = |e: &Expr| Expr::slice(e.clone(), part[0], part[1] - part[0]);
            let same = cut(&a) == cut(&b);
            if runs.last().is_none_or(|(_, last)| *last != same) {
                runs.push((part[0], same));
            }
        }
        if runs.len() == 1 || runs.iter().filter(|(_, same)| !same).count() > 1 {
            return Expr::new(a.width, Kind::Mux(Box::new(c), Box::new(a), Box::new(b)));
        }
        let ends = runs.iter().skip(1).map(|(lo, _)| *lo).chain([a.width]);
        let parts = runs.iter().zip(ends).map(|((lo, same), end)| {
            let cut = |e: &Expr| Expr::slice(e.clone(), *lo, end - lo);
            if *same {
                cut(&a)
            } else {
                Expr::mux(c.clone(), cut(&a), cut(&b))
            }
        });
        Expr::concat(parts.collect::<Vec<_>>().into_iter().rev().collect())
    }

    pub fn concat(members: Vec<Expr>) -> Expr {
        let mut flat: Vec<Expr> = vec![];
        let mut todo: Vec<Expr> = members.into_iter().rev().collect();
        while let Some(member) = todo.pop() {
            match member.kind {
                _ if member.width == 0 => {}
                Kind::Concat(inner) => todo.extend(inner.into_iter().rev()),
                _ => {
                    let joined = match flat.last_mut() {
                        Some(last) => join(last, &member),
                        None => false,
                    };
                    if !joined {
                        flat.push(member);
                    }
                }
            }
        }
        if flat.len() == 1 {
            return flat.remove(0);
        }
        Expr::new(flat.iter().map(|m| m.width).sum(), Kind::Concat(flat))
    }

    pub fn repeat(n: usize, x: Expr) -> Expr {
        match x.truth() {
            _ if n == 1 => x,
            Some(bit) => Expr::number(n, if bit { mask(n) } else { BigUint::ZERO }),
            None => Expr::new(n * x.width, Kind::Repeat(n, Box::new(x))),
        }
    }

    /// Zero extension or truncation.
    pub fn resize(x: Expr, width: usize) -> Expr {
        if width <= x.width {
            return Expr::slice(x, 0, width);
        }
        match x.value() {
            Some(v) => Expr::number(width, v.clone()),
            None => Expr::concat(vec![Expr::number(width - x.width, 0u8), x]),
        }
    }

    /// Sign extension or truncation.
    pub fn sext(x: Expr, width: usize) -> Expr {
        if width <= x.width {
            return Expr::slice(x, 0, width);
        }
        if x.is_plain() {
            let sign = Expr::slice(x.clone(), x.width - 1, 1);
            return Expr::concat(vec![Expr::repeat(width - x.width, sign), x]);
        }
        Expr::new(width, Kind::Extend(Box::new(x)))
    }

    /// Bits `lo .. lo + width`; bits beyond the end are zero.
    pub fn slice(x: Expr, lo: usize, width: usize) -> Expr {
        if width == 0 || lo >= x.width {
            return Expr::number(width, 0u8);
        }
        if lo + width > x.width {
            let inner = x.width - lo;
            return Expr::resize(Expr::slice(x, lo, inner), width);
        }
        if lo == 0 && width == x.width {
            return x;
        }
        let part = |e: Box<Expr>| Expr::slice(*e, lo, width);
        match x.kind {
            Kind::Const(v) | Kind::State(_, v) => Expr::number(width, v >> lo),
            Kind::Sig(id, base) => Expr::new(width, Kind::Sig(id, base + lo)),
            Kind::Concat(members) => {
                let mut pieces = vec![];
                let mut top = members.iter().map(|m| m.width).sum::<usize>();
                for member in members {
                    let bottom = top - member.width;
                    let (from, to) = (lo.max(bottom), (lo + width).min(top));
                    if from < to {
                        pieces.push(Expr::slice(member, from - bottom, to - from));
                    }
                    top = bottom;
                }
                Expr::concat(pieces)
            }
            Kind::Repeat(_, inner) if inner.width == 1 => Expr::repeat(width, *inner),
            Kind::Not(inner) => Expr::not(part(inner)),
            Kind::Bin(op @ (Op::And | Op::Or | Op::Xor), a, b) => Expr::bin(op, part(a), part(b)),
            Kind::Bin(op @ (Op::Add | Op::Sub | Op::Mul | Op::SignedMul), a, b) if lo == 0 => {
                Expr::bin(op, part(a), part(b))
            }
            Kind::Mux(c, a, b) => Expr::mux(*c, part(a), part(b)),
            Kind::Low(inner) => Expr::slice(*inner, lo, width),
            kind => {
                let whole = Expr::new(x.width, kind);
                if lo == 0 {
                    return Expr::new(width, Kind::Low(Box::new(whole)));
                }
                let amount = Expr::number(crate::ty::clog2(lo + 1).max(1), lo);
                let shifted = Expr::new(whole.width, Kind::Shift(Shift::Right, Box::new(whole), Box::new(amount)));
                Expr::new(width, Kind::Low(Box::new(shifted)))
            }
        }
    }

    /// `width` bits from a computed offset; bits beyond the end are zero.
    pub fn slice_at(x: Expr, offset: Expr, width: usize) -> Expr {
        if let Some(n) = offset.value() {
            let lo = usize::try_from(n).unwrap_or(usize::MAX);
            return Expr::slice(x, lo.min(1 << 24), width);
        }
        if let Kind::Sig(id, 0) = x.kind {
            if width == 1 && x.width.is_power_of_two() && x.width > 1 {
                let needed = crate::ty::clog2(x.width);
                if offset.width <= needed {
                    return Expr::new(1, Kind::Pick(id, Box::new(Expr::resize(offset, needed))));
                }
            }
        }
        if width > x.width {
            let inner = x.width;
            return Expr::resize(Expr::slice_at(x, offset, inner), width);
        }
        let whole = x.width;
        let shifted = Expr::shift(Shift::Right, x, offset);
        if whole == width {
            shifted
        } else {
            Expr::new(width, Kind::Low(Box::new(shifted)))
        }
    }

    /// `x` with bits `lo ..` replaced.
    pub fn splice(x: Expr, lo: usize, value: Expr) -> Expr {
        let high = lo + value.width;
        let top = Expr::slice(x.clone(), high, x.width - high);
        Expr::concat(vec![top, value, Expr::slice(x, 0, lo)])
    }

    /// Calls `f(signal, lo, width)` for every read.
    pub fn reads(&self, f: &mut dyn FnMut(SigId, usize, usize)) {
        match &self.kind {
            Kind::Sig(id, lo) => f(*id, *lo, self.width),
            Kind::Pick(id, _) => f(*id, 0, usize::MAX),
            _ => {}
        }
        self.operands(&mut |x| x.reads(f));
    }

    /// Calls `f` for every operand.
    pub fn operands(&self, f: &mut dyn FnMut(&Expr)) {
        match &self.kind {
            Kind::Const(_) | Kind::State(..) | Kind::Sig(..) | Kind::Unknown => {}
            Kind::Pick(_, x)
            | Kind::Not(x)
            | Kind::Reduce(_, x)
            | Kind::Repeat(_, x)
            | Kind::Low(x)
            | Kind::Extend(x) => f(x),
            Kind::Bin(_, a, b) | Kind::Shift(_, a, b) => {
                f(a);
                f(b);
            }
            Kind::Mux(c, a, b) => {
                f(c);
                f(a);
                f(b);
            }
            Kind::Concat(members) => members.iter().for_each(f),
        }
    }

    /// The expression with other operands of the same widths.
    pub fn with_operands(&self, f: &dyn Fn(&Expr) -> Expr) -> Expr {
        let go = |x: &Expr| Box::new(f(x));
        let kind = match &self.kind {
            Kind::Const(_) | Kind::State(..) | Kind::Sig(..) | Kind::Unknown => self.kind.clone(),
            Kind::Pick(id, index) => Kind::Pick(*id, go(index)),
            Kind::Not(x) => return Expr::not(f(x)),
            Kind::Reduce(op, x) => return Expr::reduce(*op, f(x)),
            Kind::Bin(op, a, b) => return Expr::bin(*op, f(a), f(b)),
            Kind::Shift(op, a, b) => return Expr::shift(*op, f(a), f(b)),
            Kind::Mux(c, a, b) => return Expr::mux(f(c), f(a), f(b)),
            Kind::Concat(members) => return Expr::concat(members.iter().map(f).collect()),
            Kind::Repeat(n, x) => return Expr::repeat(*n, f(x)),
            Kind::Low(x) => Kind::Low(go(x)),
            Kind::Extend(x) => Kind::Extend(go(x)),
        };
        Expr::new(self.width, kind)
    }

    /// The expression with other signals in place of some.
    pub fn renamed(&self, other: &dyn Fn(SigId) -> Option<SigId>) -> Expr {
        let mut expr = self.with_operands(&|x| x.renamed(other));
        if let Kind::Sig(id, _) | Kind::Pick(id, _) = &mut expr.kind {
            *id = other(*id).unwrap_or(*id);
        }
        expr
    }

    /// Calls `f` for every named state.
    pub fn states(&self, f: &mut dyn FnMut(&str, usize, &BigUint)) {
        if let Kind::State(name, value) = &self.kind {
            f(name, self.width, value);
        }
        self.operands(&mut |x| x.states(f));
    }
}

/// Merges a member of a concatenation into the one before it: neighbouring parts of one signal, and zeros.
fn join(last: &mut Expr, member: &Expr) -> bool {
    match (&mut last.kind, &member.kind) {
        (Kind::Sig(a, lo), Kind::Sig(b, low)) if a == b && *lo == low + member.width => {
            *lo = *low;
            last.width += member.width;
            true
        }
        (Kind::Const(a), Kind::Const(b)) if *a == BigUint::ZERO && *b == BigUint::ZERO => {
            last.width += member.width;
            true
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests;
