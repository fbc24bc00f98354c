//! Expressions and statements as text.

use crate::build::Sig;
use crate::expr::{Expr, Kind, Op, Reduce, Shift};
use crate::stmt::{Label, Stmt};
use crate::ty::clog2;
use crate::types;
use num_bigint::BigUint;
use std::fmt::Write;

/// `[7:0] `, or nothing for one bit.
pub(crate) fn range(width: usize) -> String {
    if width == 1 {
        String::new()
    } else {
        format!("[{}:0] ", width - 1)
    }
}

/// `8'd3`, `8'h1f`, `1'b0`.
pub(crate) fn number(width: usize, value: &BigUint) -> String {
    if width == 1 {
        format!("1'b{value}")
    } else if *value < BigUint::from(10u8) {
        format!("{width}'d{value}")
    } else {
        format!("{width}'h{value:x}")
    }
}

/// The number as the whole of a value: zeros have no width.
pub(crate) fn filling(width: usize, value: &BigUint) -> String {
    match *value == BigUint::ZERO && width > 1 {
        true => "'0".to_string(),
        false => number(width, value),
    }
}

/// Prints with the names of one module.
pub(crate) struct Printer<'a> {
    pub sigs: &'a [Sig],
    /// Signals declared with their structure types, whose parts are fields.
    pub typed: Vec<bool>,
}

fn operator(op: Op) -> &'static str {
    match op {
        Op::Add => "+",
        Op::Sub => "-",
        Op::Mul | Op::SignedMul => "*",
        Op::And => "&",
        Op::Or => "|",
        Op::Xor => "^",
        Op::LogicAnd => "&&",
        Op::LogicOr => "||",
        Op::Eq => "==",
        Op::Ne => "!=",
        Op::Lt | Op::SignedLt => "<",
        Op::Le => "<=",
        Op::Gt => ">",
        Op::Ge => ">=",
    }
}

/// Operators of which a chain needs no parentheses.
fn is_chain(op: Op) -> bool {
    matches!(op, Op::Add | Op::And | Op::Or | Op::Xor | Op::LogicAnd | Op::LogicOr)
}

/// Columns of an expression on one line.
const LINE: usize = 100;

impl Printer<'_> {
    /// Part of a signal.
    pub fn part(&self, sig: usize, lo: usize, width: usize) -> String {
        let name = &self.sigs[sig].name;
        let field = self.typed[sig].then(|| types::path(&self.sigs[sig].ty, lo, width)).flatten();
        if lo == 0 && width == self.sigs[sig].width() {
            name.clone()
        } else if let Some(field) = field {
            format!("{name}{field}")
        } else if width == 1 {
            format!("{name}[{lo}]")
        } else {
            format!("{name}[{}:{lo}]", lo + width - 1)
        }
    }

    /// An expression that stands alone on the right side of an assignment.
    pub fn whole(&self, e: &Expr) -> String {
        match &e.kind {
            Kind::Const(value) => filling(e.width, value),
            _ => self.expr(e),
        }
    }

    pub fn expr(&self, e: &Expr) -> String {
        match &e.kind {
            Kind::Const(value) => number(e.width, value),
            Kind::Unknown => "'x".to_string(),
            Kind::State(name, _) => name.to_string(),
            Kind::Sig(id, lo) => self.part(*id, *lo, e.width),
            Kind::Pick(id, index) => {
                // The low part of a signal has a shorter index than the signal, which tools warn about.
                let whole = Expr::resize((**index).clone(), clog2(self.sigs[*id].width()));
                format!("{}[{}]", self.sigs[*id].name, self.expr(&whole))
            }
            Kind::Not(x) => {
                let sign = if e.width == 1 { "!" } else { "~" };
                match x.kind {
                    // Yosys takes the sign to belong to the size of a cast.
                    Kind::Low(..) => format!("{sign}({})", self.expr(x)),
                    _ => format!("{sign}{}", self.operand(x, None)),
                }
            }
            Kind::Reduce(op, x) => {
                let sign = match op {
                    Reduce::Any => "|",
                    Reduce::All => "&",
                    Reduce::Xor => "^",
                };
                match x.kind {
                    Kind::Low(..) => format!("{sign}({})", self.expr(x)),
                    _ => format!("{sign}{}", self.operand(x, None)),
                }
            }
            Kind::Bin(op @ (Op::SignedLt | Op::SignedMul), a, b) => {
                format!("$signed({}) {} $signed({})", self.expr(a), operator(*op), self.expr(b))
            }
            Kind::Bin(op, a, b) => {
                let (a, b) = (self.operand(a, Some(*op)), self.operand(b, None));
                // A long chain goes on in the next line.
                let column = a.rsplit('\n').next().map_or(0, str::len);
                let line = if is_chain(*op) && column + b.len() > LINE { "\n    " } else { " " };
                format!("{a}{line}{} {b}", operator(*op))
            }
            Kind::Shift(op, a, amount) => {
                let amount = match amount.value() {
                    Some(n) => n.to_string(),
                    None => self.operand(amount, None),
                };
                match op {
                    Shift::Left => format!("{} << {amount}", self.operand(a, None)),
                    Shift::Right => format!("{} >> {amount}", self.operand(a, None)),
                    Shift::Arithmetic => format!("$unsigned($signed({}) >>> {amount})", self.expr(a)),
                }
            }
            Kind::Mux(c, a, b) => {
                let rest = match b.kind {
                    Kind::Mux(..) => format!("\n    {}", self.expr(b)),
                    _ => format!(" {}", self.operand(b, None)),
                };
                format!("{} ? {} :{rest}", self.operand(c, None), self.operand(a, None))
            }
            Kind::Concat(members) => {
                let members: Vec<String> = members.iter().map(|m| self.expr(m)).collect();
                let line = members.join(", ");
                if line.len() > LINE {
                    format!("{{\n    {}\n  }}", members.join(",\n    "))
                } else {
                    format!("{{{line}}}")
                }
            }
            Kind::Repeat(n, x) => format!("{{{n}{{{}}}}}", self.expr(x)),
            Kind::Low(x) => format!("{}'({})", e.width, self.expr(x)),
            Kind::Extend(x) => format!("$unsigned({}'($signed({})))", e.width, self.expr(x)),
        }
    }

    /// An operand: in parentheses unless it is one word or continues a chain of the same operator.
    fn operand(&self, e: &Expr, chain: Option<Op>) -> String {
        let text = self.expr(e);
        let open = match &e.kind {
            Kind::Bin(op, ..) => !(chain == Some(*op) && is_chain(*op)),
            Kind::Mux(..) | Kind::Reduce(..) => true,
            Kind::Shift(op, ..) => *op != Shift::Arithmetic,
            _ => false,
        };
        if open {
            format!("({text})")
        } else {
            text
        }
    }

    /// An assignment; its further lines stand at the indentation.
    fn assignment(&self, stmt: &Stmt, indent: usize, arrow: &str, target: &dyn Fn(usize) -> usize) -> Option<String> {
        let Stmt::Assign { sig, lo, value, .. } = stmt else { return None };
        let text = format!("{} {arrow} {};", self.part(target(*sig), *lo, value.width), self.whole(value));
        Some(text.replace('\n', &format!("\n{}", " ".repeat(indent.saturating_sub(2)))))
    }

    /// Statements at an indentation; `arrow` is `=` or `<=`, `target` renames what is assigned.
    pub fn stmts(&self, stmts: &[Stmt], indent: usize, arrow: &str, target: &dyn Fn(usize) -> usize, out: &mut String) {
        for stmt in stmts {
            let pad = " ".repeat(indent);
            match stmt {
                Stmt::Assign { .. } => {
                    let text = self.assignment(stmt, indent, arrow, target).unwrap_or_default();
                    let _ = writeln!(out, "{pad}{text}");
                }
                Stmt::If { .. } => {
                    out.push_str(&pad);
                    self.if_chain(stmt, indent, arrow, target, out);
                }
                Stmt::Case { subject, arms, default } => {
                    let _ = writeln!(out, "{pad}case ({})", self.expr(subject));
                    let full =
                        subject.width < 20 && arms.iter().map(|a| a.labels.len()).sum::<usize>() >= 1 << subject.width;
                    let quiet = default.as_ref().is_none_or(|d| d.is_empty());
                    // Arms that say nothing are one `default`.
                    let silent = quiet && arms.iter().any(|arm| arm.body.is_empty());
                    // Without a `_` arm the states are all named: the last one also stands for codes that never occur.
                    let last = if default.is_none() && !full && !silent && arrow == "=" {
                        arms.len().checked_sub(1)
                    } else {
                        None
                    };
                    for (i, arm) in arms.iter().enumerate() {
                        if quiet && arm.body.is_empty() {
                            continue;
                        }
                        let label = match last {
                            Some(n) if n == i => "default".to_string(),
                            _ => arm.labels.iter().map(|l| self.label(l, subject.width)).collect::<Vec<_>>().join(", "),
                        };
                        self.arm(&label, &arm.body, indent + 2, arrow, target, out);
                    }
                    match default {
                        _ if silent => self.arm("default", &[], indent + 2, arrow, target, out),
                        Some(body) if !(full && body.is_empty()) => {
                            self.arm("default", body, indent + 2, arrow, target, out)
                        }
                        None if last.is_none() && !full => self.arm("default", &[], indent + 2, arrow, target, out),
                        _ => {}
                    }
                    let _ = writeln!(out, "{pad}endcase");
                }
            }
        }
    }

    fn label(&self, label: &Label, width: usize) -> String {
        match &label.name {
            Some(name) => name.to_string(),
            None => number(width, &label.value),
        }
    }

    fn arm(
        &self,
        label: &str,
        body: &[Stmt],
        indent: usize,
        arrow: &str,
        target: &dyn Fn(usize) -> usize,
        out: &mut String,
    ) {
        let pad = " ".repeat(indent);
        match body {
            [] => {
                let _ = writeln!(out, "{pad}{label}: ;");
            }
            [one @ (Stmt::Assign { .. } | Stmt::If { .. })] => {
                let _ = write!(out, "{pad}{label}: ");
                self.one(one, indent, arrow, target, out);
            }
            _ => {
                let _ = writeln!(out, "{pad}{label}: begin");
                self.stmts(body, indent + 2, arrow, target, out);
                let _ = writeln!(out, "{pad}end");
            }
        }
    }

    /// An assignment or a condition, appended to its line.
    pub fn one(&self, stmt: &Stmt, indent: usize, arrow: &str, target: &dyn Fn(usize) -> usize, out: &mut String) {
        match self.assignment(stmt, indent, arrow, target) {
            Some(text) => {
                let _ = writeln!(out, "{text}");
            }
            None => self.if_chain(stmt, indent, arrow, target, out),
        }
    }

    fn if_chain(&self, stmt: &Stmt, indent: usize, arrow: &str, target: &dyn Fn(usize) -> usize, out: &mut String) {
        let Stmt::If { cond, then, other } = stmt else { return };
        let pad = " ".repeat(indent);
        // Conditions one inside the other are one.
        let (mut cond, mut then) = (cond.clone(), then);
        while let (true, [Stmt::If { cond: inner, then: further, other }]) = (other.is_empty(), then.as_slice()) {
            if !other.is_empty() {
                break;
            }
            (cond, then) = (Expr::bin(Op::And, cond, inner.clone()), further);
        }
        let _ = write!(out, "if ({}) ", self.expr(&cond).replace('\n', &format!("\n{pad}")));
        // A branch of one assignment has no `begin`, and neither has a condition after `else`.
        let lone = matches!(then.as_slice(), [Stmt::Assign { .. }]);
        match then.as_slice() {
            [one] if lone => self.one(one, indent, arrow, target, out),
            then => {
                out.push_str("begin\n");
                self.stmts(then, indent + 2, arrow, target, out);
            }
        }
        let end = match (lone, other.is_empty()) {
            (true, true) => return,
            (true, false) => pad.clone(),
            (false, true) => {
                let _ = writeln!(out, "{pad}end");
                return;
            }
            (false, false) => format!("{pad}end "),
        };
        match other.as_slice() {
            [one @ (Stmt::Assign { .. } | Stmt::If { .. })] => {
                let _ = write!(out, "{end}else ");
                self.one(one, indent, arrow, target, out);
            }
            body => {
                let _ = writeln!(out, "{end}else begin");
                self.stmts(body, indent + 2, arrow, target, out);
                let _ = writeln!(out, "{pad}end");
            }
        }
    }
}

#[cfg(test)]
mod tests;
