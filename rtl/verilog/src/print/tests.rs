//! Parentheses, line ends and the forms of conditions, against texts written by hand.

use super::{filling, number, range, Printer};
use crate::build::{Role, Sig};
use crate::expr::{Expr, Kind, Op, Reduce, Shift, SigId};
use crate::stmt::{Arm, Label, Stmt};
use num_bigint::BigUint;

const A: SigId = 0;
const P: SigId = 2;
const WIDE: SigId = 7;

fn signals() -> Vec<Sig> {
    let widths = [("a", 8), ("b", 8), ("p", 1), ("q", 1), ("at", 3), ("two", 2), ("code", 20), ("wide", 320)];
    widths.map(|(name, width)| Sig::of(name, width, Role::Local)).to_vec()
}

fn signal(name: &str) -> Expr {
    let signals = signals();
    let id = signals.iter().position(|sig| sig.name == name).expect("a signal of the tests");
    Expr::sig(id, signals[id].width())
}

fn a() -> Expr {
    signal("a")
}

fn b() -> Expr {
    signal("b")
}

fn p() -> Expr {
    signal("p")
}

fn q() -> Expr {
    signal("q")
}

fn expr(e: &Expr) -> String {
    let sigs = signals();
    Printer { sigs: &sigs, typed: vec![false; sigs.len()] }.expr(e)
}

fn statements(stmts: &[Stmt], indent: usize, arrow: &str) -> String {
    let sigs = signals();
    let mut out = String::new();
    Printer { sigs: &sigs, typed: vec![false; sigs.len()] }.stmts(stmts, indent, arrow, &|sig| sig, &mut out);
    out
}

#[test]
fn numbers_are_short() {
    assert_eq!([1, 2, 8].map(range), ["", "[1:0] ", "[7:0] "]);
    for (width, value, as_operand, as_whole) in [
        (1, 0u8, "1'b0", "1'b0"),
        (1, 1, "1'b1", "1'b1"),
        (8, 0, "8'd0", "'0"),
        (8, 9, "8'd9", "8'd9"),
        (8, 10, "8'ha", "8'ha"),
        (12, 200, "12'hc8", "12'hc8"),
    ] {
        let value = BigUint::from(value);
        assert_eq!((number(width, &value).as_str(), filling(width, &value).as_str()), (as_operand, as_whole));
    }
}

#[test]
fn parentheses_stand_where_operators_differ() {
    let bin = Expr::bin;
    let low = |x: Expr| Expr::new(4, Kind::Low(Box::new(x)));
    let sum = bin(Op::Add, a(), b());
    for (e, text) in [
        (bin(Op::Add, sum.clone(), a()), "a + b + a"),
        (bin(Op::Add, a(), sum.clone()), "a + (a + b)"),
        (bin(Op::Sub, bin(Op::Sub, a(), b()), a()), "(a - b) - a"),
        (bin(Op::Sub, sum.clone(), a()), "(a + b) - a"),
        (bin(Op::LogicOr, bin(Op::LogicOr, p(), q()), p()), "p || q || p"),
        (bin(Op::LogicOr, bin(Op::LogicAnd, p(), q()), p()), "(p && q) || p"),
        (bin(Op::Eq, sum.clone(), a()), "(a + b) == a"),
        (bin(Op::SignedLt, sum.clone(), a()), "$signed(a + b) < $signed(a)"),
        (bin(Op::And, Expr::reduce(Reduce::Any, a()), p()), "(|a) & p"),
        (Expr::reduce(Reduce::All, sum.clone()), "&(a + b)"),
        (Expr::reduce(Reduce::Xor, a()), "^a"),
        (Expr::not(p()), "!p"),
        (Expr::not(a()), "~a"),
        (Expr::not(sum.clone()), "~(a + b)"),
        // Yosys takes a sign before a cast to belong to the size of the cast.
        (Expr::not(low(sum.clone())), "~(4'(a + b))"),
        (Expr::reduce(Reduce::Any, low(sum.clone())), "|(4'(a + b))"),
        (Expr::shift(Shift::Left, sum.clone(), signal("at")), "(a + b) << at"),
        (Expr::shift(Shift::Right, a(), bin(Op::Add, signal("at"), signal("at"))), "a >> (at + at)"),
        (bin(Op::Add, Expr::shift(Shift::Right, a(), signal("at")), b()), "(a >> at) + b"),
        // An arithmetic shift is a call, which needs none.
        (
            bin(Op::Add, Expr::shift(Shift::Arithmetic, sum.clone(), signal("at")), b()),
            "$unsigned($signed(a + b) >>> at) + b",
        ),
        (Expr::mux(bin(Op::LogicAnd, p(), q()), sum.clone(), b()), "(p && q) ? (a + b) : b"),
        (bin(Op::Add, Expr::mux(p(), a(), b()), a()), "(p ? a : b) + a"),
        (Expr::mux(p(), a(), Expr::mux(q(), b(), sum.clone())), "p ? a :\n    q ? b : (a + b)"),
        (Expr::repeat(3, p()), "{3{p}}"),
        (Expr::sext(sum.clone(), 12), "$unsigned(12'($signed(a + b)))"),
        (Expr::slice_at(a(), signal("at"), 1), "a[at]"),
        (Expr::slice_at(a(), signal("two"), 1), "a[{1'b0, two}]"),
        (Expr::slice(a(), 3, 1), "a[3]"),
        (Expr::slice(a(), 3, 5), "a[7:3]"),
        (Expr::new(8, Kind::Unknown), "'x"),
    ] {
        assert_eq!(expr(&e), text);
    }
}

/// Signals whose names have these lengths, in one expression.
fn long(lengths: &[usize], join: impl Fn(Vec<Expr>) -> Expr) -> Vec<String> {
    let sigs: Vec<Sig> = lengths.iter().map(|length| Sig::of(&"x".repeat(*length), 8, Role::Local)).collect();
    let e = join((0..sigs.len()).map(|id| Expr::sig(id, 8)).collect());
    let text = Printer { sigs: &sigs, typed: vec![false; sigs.len()] }.expr(&e);
    text.lines().map(|line| line.replace(&"x".repeat(9), "").replace('x', "")).collect()
}

#[test]
fn an_expression_of_100_columns_is_one_line() {
    let chain = |op: Op| move |members: Vec<Expr>| members.into_iter().reduce(|a, b| Expr::bin(op, a, b)).unwrap();
    // 98 columns of names and a comma with its space.
    assert_eq!(long(&[40, 58], Expr::concat), ["{, }"]);
    assert_eq!(long(&[40, 59], Expr::concat), ["{", "    ,", "    ", "  }"]);
    // A chain counts the last line so far and the next operand.
    assert_eq!(long(&[50, 50], chain(Op::Add)), [" + "]);
    assert_eq!(long(&[50, 51], chain(Op::Add)), ["", "    + "]);
    assert_eq!(long(&[50, 51, 43], chain(Op::Or)), ["", "    |  | "]);
    assert_eq!(long(&[50, 51, 44], chain(Op::Or)), ["", "    | ", "    | "]);
    // What is no chain stays on its line.
    assert_eq!(long(&[80, 80], chain(Op::Sub)), [" - "]);
    assert_eq!(long(&[80, 80], chain(Op::Lt)), [" < "]);
}

fn set(sig: SigId, value: Expr) -> Stmt {
    Stmt::Assign { sig, lo: 0, value, line: 0 }
}

fn when(cond: Expr, then: Vec<Stmt>, other: Vec<Stmt>) -> Stmt {
    Stmt::If { cond, then, other }
}

#[test]
fn conditions_have_their_short_forms() {
    let one = || vec![set(A, b())];
    let two = || vec![set(A, b()), set(P, q())];
    for (stmt, text) in [
        (Stmt::Assign { sig: A, lo: 4, value: Expr::slice(b(), 0, 4), line: 0 }, "a[7:4] = b[3:0];\n"),
        (set(A, Expr::number(8, 0u8)), "a = '0;\n"),
        (when(p(), one(), vec![]), "if (p) a = b;\n"),
        (when(p(), two(), vec![]), "if (p) begin\n  a = b;\n  p = q;\nend\n"),
        (when(p(), one(), one()), "if (p) a = b;\nelse a = b;\n"),
        (when(p(), one(), two()), "if (p) a = b;\nelse begin\n  a = b;\n  p = q;\nend\n"),
        (when(p(), two(), one()), "if (p) begin\n  a = b;\n  p = q;\nend else a = b;\n"),
        (when(p(), one(), vec![when(q(), one(), vec![])]), "if (p) a = b;\nelse if (q) a = b;\n"),
        // Conditions one inside the other are one, unless an `else` hangs on one of them.
        (when(p(), vec![when(q(), one(), vec![])], vec![]), "if (p & q) a = b;\n"),
        (when(p(), vec![when(q(), one(), one())], vec![]), "if (p) begin\n  if (q) a = b;\n  else a = b;\nend\n"),
        (when(p(), vec![when(q(), one(), vec![])], one()), "if (p) begin\n  if (q) a = b;\nend else a = b;\n"),
    ] {
        assert_eq!(statements(std::slice::from_ref(&stmt), 0, "="), text);
    }
    let broken = Expr::concat(vec![a(); 40]);
    let text = statements(&[when(p(), vec![set(WIDE, broken)], vec![])], 4, "<=");
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!((lines[0], lines[1], lines[40], lines[41]), ("    if (p) wide <= {", "      a,", "      a", "    };"));
}

/// A case whose arms assign `p` what their label says, or nothing.
fn case(subject: &str, arms: &[(&[u8], bool)], default: Option<bool>, arrow: &str) -> String {
    let body = |says: bool| if says { vec![set(P, q())] } else { vec![] };
    let label = |value: &u8| Label { value: BigUint::from(*value), name: None };
    let arms = arms.iter().map(|(labels, says)| Arm { labels: labels.iter().map(label).collect(), body: body(*says) });
    let stmt = Stmt::Case { subject: signal(subject), arms: arms.collect(), default: default.map(body) };
    let text = statements(&[stmt], 0, arrow);
    let inside = text.strip_prefix(&format!("case ({subject})\n")).and_then(|text| text.strip_suffix("endcase\n"));
    inside
        .expect("a case begins and ends")
        .replace(&format!("p {arrow} q;"), "set")
        .lines()
        .map(str::trim)
        .collect::<Vec<_>>()
        .join(" / ")
}

#[test]
fn a_case_names_what_it_must() {
    const ALL: [(&[u8], bool); 4] = [(&[0], true), (&[1], true), (&[2], true), (&[3], true)];
    // Every number has an arm: nothing is left for a default, whether labels are together or apart.
    assert_eq!(case("two", &ALL, None, "="), "2'd0: set / 2'd1: set / 2'd2: set / 2'd3: set");
    assert_eq!(case("two", &[(&[0, 1, 2], true), (&[3], true)], None, "<="), "2'd0, 2'd1, 2'd2: set / 2'd3: set");
    assert_eq!(case("two", &ALL, Some(false), "="), "2'd0: set / 2'd1: set / 2'd2: set / 2'd3: set");
    // A default that says something stays.
    assert_eq!(case("two", &ALL[..2], Some(true), "="), "2'd0: set / 2'd1: set / default: set");
    // Three states of four codes: a value needs the last state to stand for the fourth, a register holds there.
    assert_eq!(case("two", &ALL[..3], None, "="), "2'd0: set / 2'd1: set / default: set");
    assert_eq!(case("two", &ALL[..3], None, "<="), "2'd0: set / 2'd1: set / 2'd2: set / default: ;");
    assert_eq!(case("two", &ALL[..3], Some(false), "="), "2'd0: set / 2'd1: set / 2'd2: set / default: ;");
    // Arms that say nothing are one default.
    assert_eq!(case("two", &[(&[0], true), (&[1], false), (&[2], false)], None, "="), "2'd0: set / default: ;");
    assert_eq!(case("two", &[(&[0], true), (&[1], false)], Some(true), "="), "2'd0: set / 2'd1: ; / default: set");
    // Of many codes no list of labels names all.
    assert_eq!(case("code", &ALL[..1], None, "<="), "20'd0: set / default: ;");
}

#[test]
fn arms_and_branches_of_several_lines_have_an_end() {
    let arm = Arm {
        labels: vec![Label { value: BigUint::from(1u8), name: Some("RUN".into()) }],
        body: vec![set(A, b()), set(P, q())],
    };
    let lone = Arm {
        labels: vec![Label { value: BigUint::from(2u8), name: None }],
        body: vec![when(p(), vec![set(A, b())], vec![])],
    };
    let stmt = Stmt::Case { subject: signal("two"), arms: vec![arm, lone], default: Some(vec![]) };
    let lines = [
        "  case (two)",
        "    RUN: begin",
        "      a <= b;",
        "      p <= q;",
        "    end",
        "    2'd2: if (p) a <= b;",
        "    default: ;",
        "  endcase",
    ];
    assert_eq!(statements(&[stmt], 2, "<=").lines().collect::<Vec<_>>(), lines);
}
