//! The constructors fold constants and simplify; what they make must mean what was asked for. Meaning is computed here bit by
//! bit, without the arithmetic of the constructors.

use super::{Expr, Kind, Op, Reduce, Shift};
use num_bigint::BigUint;
use rand::Rng;
use rand_chacha::ChaCha8Rng;
use spindle_testing::{seeded_rng, share, with_seeds};

/// A value, the lowest bit first.
type Bits = Vec<bool>;

const WIDTHS: [usize; 13] = [1, 2, 3, 7, 8, 9, 31, 32, 33, 63, 64, 65, 130];
const OPS: [Op; 16] = [
    Op::Add,
    Op::Sub,
    Op::Mul,
    Op::And,
    Op::Or,
    Op::Xor,
    Op::LogicAnd,
    Op::LogicOr,
    Op::Eq,
    Op::Ne,
    Op::Lt,
    Op::Le,
    Op::Gt,
    Op::Ge,
    Op::SignedLt,
    Op::SignedMul,
];
const SHIFTS: [Shift; 3] = [Shift::Left, Shift::Right, Shift::Arithmetic];
const REDUCES: [Reduce; 3] = [Reduce::Any, Reduce::All, Reduce::Xor];

/// Whether the operands are single bits. Every operator is named, so a new one does not compile before it is here.
fn of_one_bit(op: Op) -> bool {
    match op {
        Op::LogicAnd | Op::LogicOr => true,
        Op::Add | Op::Sub | Op::Mul | Op::And | Op::Or | Op::Xor | Op::SignedMul => false,
        Op::Eq | Op::Ne | Op::Lt | Op::Le | Op::Gt | Op::Ge | Op::SignedLt => false,
    }
}

fn number(bits: &[bool]) -> BigUint {
    bits.iter().rev().fold(BigUint::ZERO, |number, bit| (number << 1) + u8::from(*bit))
}

fn bits(number: &BigUint, width: usize) -> Bits {
    (0..width).map(|at| number.bit(at as u64)).collect()
}

/// Bit `at`; zero after the end.
fn bit(x: &[bool], at: usize) -> bool {
    x.get(at).copied().unwrap_or(false)
}

fn sum(a: &[bool], b: &[bool], mut carry: bool) -> Bits {
    a.iter()
        .zip(b)
        .map(|(a, b)| {
            let ones = u8::from(*a) + u8::from(*b) + u8::from(carry);
            carry = ones > 1;
            ones % 2 == 1
        })
        .collect()
}

fn inverse(x: &[bool]) -> Bits {
    x.iter().map(|bit| !bit).collect()
}

/// The highest bit that differs decides.
fn less(a: &[bool], b: &[bool]) -> bool {
    (0..a.len()).rev().find(|at| a[*at] != b[*at]).is_some_and(|at| b[at])
}

fn operated(op: Op, a: &[bool], b: &[bool]) -> Bits {
    let each = |f: fn(bool, bool) -> bool| a.iter().zip(b).map(|(a, b)| f(*a, *b)).collect();
    match op {
        Op::Add => sum(a, b, false),
        Op::Sub => sum(a, &inverse(b), true),
        Op::Mul | Op::SignedMul => (0..b.len()).filter(|at| b[*at]).fold(vec![false; a.len()], |product, at| {
            let part: Bits = (0..a.len()).map(|to| to >= at && a[to - at]).collect();
            sum(&product, &part, false)
        }),
        Op::And | Op::LogicAnd => each(|a, b| a && b),
        Op::Or | Op::LogicOr => each(|a, b| a || b),
        Op::Xor => each(|a, b| a != b),
        Op::Eq => vec![a == b],
        Op::Ne => vec![a != b],
        Op::Lt => vec![less(a, b)],
        Op::Le => vec![!less(b, a)],
        Op::Gt => vec![less(b, a)],
        Op::Ge => vec![!less(a, b)],
        Op::SignedLt => {
            let (sign_a, sign_b) = (a[a.len() - 1], b[b.len() - 1]);
            vec![if sign_a == sign_b { less(a, b) } else { sign_a }]
        }
    }
}

/// One place at a time; after so many steps as there are bits, nothing changes any more.
fn shifted(op: Shift, a: &[bool], amount: &[bool]) -> Bits {
    let steps = (0..amount.len()).filter(|at| amount[*at]).map(|at| 1usize << at.min(16)).sum::<usize>();
    (0..steps.min(a.len())).fold(a.to_vec(), |mut x, _| {
        match op {
            Shift::Left => {
                x.pop();
                x.insert(0, false);
            }
            Shift::Right => {
                x.remove(0);
                x.push(false);
            }
            Shift::Arithmetic => {
                x.remove(0);
                x.push(a[a.len() - 1]);
            }
        }
        x
    })
}

fn reduced(op: Reduce, x: &[bool]) -> bool {
    match op {
        Reduce::Any => x.contains(&true),
        Reduce::All => !x.contains(&false),
        Reduce::Xor => x.iter().filter(|bit| **bit).count() % 2 == 1,
    }
}

fn part(x: &[bool], lo: usize, width: usize) -> Bits {
    (lo..lo + width).map(|at| bit(x, at)).collect()
}

fn extended(x: &[bool], width: usize) -> Bits {
    (0..width).map(|at| bit(x, at) || (at >= x.len() && x[x.len() - 1])).collect()
}

/// What an expression means, as Verilog has it with operands of exact widths.
fn meaning(e: &Expr, signals: &[Bits]) -> Bits {
    let go = |x: &Expr| meaning(x, signals);
    let value = match &e.kind {
        Kind::Const(value) | Kind::State(_, value) => {
            assert!(value.bits() <= e.width as u64, "{value} has more than {} bits", e.width);
            bits(value, e.width)
        }
        Kind::Unknown => panic!("no one asked for any value"),
        Kind::Sig(id, lo) => {
            assert!(lo + e.width <= signals[*id].len(), "signal {id} ends before bit {}", lo + e.width);
            part(&signals[*id], *lo, e.width)
        }
        Kind::Pick(id, index) => {
            assert!(1 << index.width <= signals[*id].len(), "the index of signal {id} reaches beyond its end");
            shifted(Shift::Right, &signals[*id], &go(index))[..1].to_vec()
        }
        Kind::Not(x) => inverse(&go(x)),
        Kind::Reduce(op, x) => vec![reduced(*op, &go(x))],
        Kind::Bin(op, a, b) => {
            assert_eq!(a.width, b.width, "operands of {op:?}");
            operated(*op, &go(a), &go(b))
        }
        Kind::Shift(op, a, amount) => shifted(*op, &go(a), &go(amount)),
        Kind::Mux(c, a, b) => {
            assert_eq!((c.width, a.width), (1, b.width), "operands of a choice");
            if go(c)[0] {
                go(a)
            } else {
                go(b)
            }
        }
        Kind::Concat(members) => members.iter().rev().flat_map(go).collect(),
        Kind::Repeat(n, x) => go(x).repeat(*n),
        Kind::Low(x) => {
            assert!(x.width >= e.width);
            part(&go(x), 0, e.width)
        }
        Kind::Extend(x) => extended(&go(x), e.width),
    };
    assert_eq!(value.len(), e.width, "{e:?}");
    value
}

/// Values at which something changes.
fn corners(width: usize) -> Vec<Bits> {
    let most = inverse(&vec![false; width]);
    let one = bits(&BigUint::from(1u8), width);
    let mut top = vec![false; width];
    top[width - 1] = true;
    let two = sum(&one, &one, false);
    let below_most = sum(&most, &inverse(&one), true);
    let mut all = vec![vec![false; width], one, two, inverse(&top), top, below_most, most];
    all.push((0..width).map(|at| at % 3 == 0).collect());
    all.sort();
    all.dedup();
    all
}

fn constant(value: &[bool]) -> Expr {
    Expr::number(value.len(), number(value))
}

fn state(value: &[bool]) -> Expr {
    Expr::new(value.len(), Kind::State("NAMED".into(), number(value)))
}

/// The forms in which an operand can come, signals last: what it is may decide how it is folded.
const FORMS: usize = 6;

/// Operand of this value: a constant, a named state, signal `id`, or something of that signal.
fn operand(form: usize, id: usize, value: &[bool]) -> (Expr, Bits) {
    let width = value.len();
    let signal = || Expr::sig(id, width);
    match form {
        0 => (constant(value), value.to_vec()),
        1 => (state(value), value.to_vec()),
        2 => (signal(), value.to_vec()),
        3 => (Expr::not(signal()), inverse(value)),
        // A sum is no plain word.
        4 => (Expr::bin(Op::Add, signal(), signal()), sum(value, value, false)),
        _ => {
            let low = width.div_ceil(2);
            let parts = vec![Expr::number(width - low, 1u8), Expr::slice(signal(), 0, low)];
            let high = bits(&BigUint::from(1u8), width - low);
            (Expr::concat(parts), [&value[..low], &high].concat())
        }
    }
}

#[test]
fn operators_keep_their_meaning() {
    for (op, width) in OPS.into_iter().flat_map(|op| WIDTHS.map(|width| (op, width))) {
        if of_one_bit(op) && width > 1 {
            continue;
        }
        let corners = corners(width);
        for (form_a, form_b) in (0..FORMS).flat_map(|a| (0..FORMS).map(move |b| (a, b))) {
            for (a, b) in corners.iter().flat_map(|a| corners.iter().map(move |b| (a, b))) {
                let ((left, left_value), (right, right_value)) = (operand(form_a, 0, a), operand(form_b, 1, b));
                let made = Expr::bin(op, left.clone(), right.clone());
                let wanted = operated(op, &left_value, &right_value);
                assert_eq!(
                    meaning(&made, &[a.clone(), b.clone()]),
                    wanted,
                    "{op:?} of {left:?} and {right:?}: {made:?}"
                );
            }
        }
    }
}

/// By less than the width, the width, more, and a number that no machine word holds.
#[test]
fn shifts_keep_their_meaning() {
    for (op, width) in SHIFTS.into_iter().flat_map(|op| WIDTHS.map(|width| (op, width))) {
        let amounts = [0, 1, width - 1, width, width + 1, 2 * width].map(|n| bits(&BigUint::from(n), 9));
        let far = [70, 8].map(|width| inverse(&vec![false; width]));
        for (value, form) in corners(width).iter().flat_map(|value| (0..FORMS).map(move |form| (value, form))) {
            for (amount, is_constant) in amounts.iter().chain(&far).flat_map(|n| [(n, true), (n, false)]) {
                let (shifts, shifts_value) = operand(form, 0, value);
                let by = operand(if is_constant { 0 } else { 2 }, 1, amount).0;
                let made = Expr::shift(op, shifts.clone(), by.clone());
                let wanted = shifted(op, &shifts_value, amount);
                assert_eq!(
                    meaning(&made, &[value.clone(), amount.clone()]),
                    wanted,
                    "{op:?} of {shifts:?} by {by:?}: {made:?}"
                );
            }
        }
    }
}

/// Inversion, reductions, widths and parts of every form of operand.
#[test]
fn parts_keep_their_meaning() {
    for width in WIDTHS {
        for (value, form) in corners(width).iter().flat_map(|value| (0..FORMS).map(move |form| (value, form))) {
            let (x, x_value) = operand(form, 0, value);
            let holds_with = |index: &[bool], made: Expr, wanted: Bits, call: &str| {
                assert_eq!(meaning(&made, &[value.clone(), index.to_vec()]), wanted, "{call} of {x:?}: {made:?}");
            };
            let holds = |made: Expr, wanted: Bits, call: &str| holds_with(&[], made, wanted, call);
            holds(Expr::not(x.clone()), inverse(&x_value), "not");
            holds(Expr::not(Expr::not(x.clone())), x_value.clone(), "not not");
            for op in REDUCES {
                holds(Expr::reduce(op, x.clone()), vec![reduced(op, &x_value)], "a reduction");
            }
            for other in [1, width, width + 1, width.div_ceil(2), 2 * width + 3] {
                holds(Expr::resize(x.clone(), other), part(&x_value, 0, other), "resize");
                let signed = if other > width { extended(&x_value, other) } else { part(&x_value, 0, other) };
                holds(Expr::sext(x.clone(), other), signed, "sext");
                holds(Expr::repeat(other, x.clone()), x_value.repeat(other), "repeat");
                for lo in [0, 1, width / 2, width - 1, width, width + 5] {
                    holds(Expr::slice(x.clone(), lo, other), part(&x_value, lo, other), "slice");
                    let at = Expr::number(9, lo as u32);
                    holds(Expr::slice_at(x.clone(), at, other), part(&x_value, lo, other), "slice_at");
                    // An index of just the bits that reach every place of a signal, and a longer one.
                    for index in [width.next_power_of_two().ilog2().max(1) as usize, 9] {
                        let at = bits(&BigUint::from(lo), index);
                        let wanted = part(&shifted(Shift::Right, &x_value, &at), 0, other);
                        holds_with(&at, Expr::slice_at(x.clone(), Expr::sig(1, index), other), wanted, "slice_at");
                    }
                }
            }
            for lo in [0, width / 2, width - 1] {
                let new = vec![true; (width - lo).min(3)];
                let mut wanted = x_value.clone();
                wanted[lo..lo + new.len()].copy_from_slice(&new);
                holds(Expr::splice(x.clone(), lo, constant(&new)), wanted, "splice");
            }
        }
    }
}

/// An expression of these signals that random calls of the constructors make, and its value.
fn random(rng: &mut ChaCha8Rng, signals: &[Bits], width: usize, depth: usize) -> (Expr, Bits) {
    if depth == 0 || rng.random_bool(0.15) {
        let id = rng.random_range(0..signals.len());
        let corner = |rng: &mut ChaCha8Rng| {
            let corners = corners(width);
            corners[rng.random_range(0..corners.len())].clone()
        };
        return match rng.random_range(0..4) {
            0 => {
                let value = corner(rng);
                (constant(&value), value)
            }
            1 => {
                let value = corner(rng);
                (state(&value), value)
            }
            _ => {
                let lo = rng.random_range(0..signals[id].len());
                let x = Expr::sig(id, signals[id].len());
                (Expr::slice(x, lo, width), part(&signals[id], lo, width))
            }
        };
    }
    let of = |rng: &mut ChaCha8Rng, width: usize| random(rng, signals, width, depth - 1);
    match rng.random_range(0..12) {
        0 | 1 => {
            let op = OPS[rng.random_range(0..OPS.len())];
            let is_bit =
                of_one_bit(op) || matches!(op, Op::Eq | Op::Ne | Op::Lt | Op::Le | Op::Gt | Op::Ge | Op::SignedLt);
            let operands = if of_one_bit(op) || !is_bit { width } else { WIDTHS[rng.random_range(0..WIDTHS.len())] };
            if is_bit && width != 1 {
                return of(rng, width);
            }
            let ((a, x), (b, y)) = (of(rng, operands), of(rng, operands));
            (Expr::bin(op, a, b), operated(op, &x, &y))
        }
        2 => {
            let op = SHIFTS[rng.random_range(0..3)];
            let by = rng.random_range(1..9);
            let ((a, x), (n, y)) = (of(rng, width), of(rng, by));
            (Expr::shift(op, a, n), shifted(op, &x, &y))
        }
        3 => {
            let (a, x) = of(rng, width);
            (Expr::not(a), inverse(&x))
        }
        4 if width == 1 => {
            let op = REDUCES[rng.random_range(0..3)];
            let operand = WIDTHS[rng.random_range(0..WIDTHS.len())];
            let (a, x) = of(rng, operand);
            (Expr::reduce(op, a), vec![reduced(op, &x)])
        }
        // A choice between two values, often of the same parts.
        4..=6 => {
            let ((c, choice), (a, x)) = (of(rng, 1), of(rng, width));
            let (b, y) = if rng.random() {
                of(rng, width)
            } else {
                let lo = rng.random_range(0..width);
                let span = rng.random_range(1..=width - lo);
                let (other, z) = of(rng, span);
                let mut y = x.clone();
                y[lo..lo + z.len()].copy_from_slice(&z);
                (Expr::splice(a.clone(), lo, other), y)
            };
            (Expr::mux(c, a, b), if choice[0] { x } else { y })
        }
        7 | 8 if width > 1 => {
            let low = rng.random_range(1..width);
            let ((a, x), (b, y)) = (of(rng, width - low), of(rng, low));
            (Expr::concat(vec![a, b]), [y, x].concat())
        }
        9 => {
            let inner = rng.random_range(1..2 * width + 1);
            let (a, x) = of(rng, inner);
            if rng.random() {
                (Expr::resize(a, width), part(&x, 0, width))
            } else {
                let value = if width > inner { extended(&x, width) } else { part(&x, 0, width) };
                (Expr::sext(a, width), value)
            }
        }
        10 if width.is_multiple_of(2) => {
            let (a, x) = of(rng, width / 2);
            (Expr::repeat(2, a), x.repeat(2))
        }
        _ => {
            let from = if rng.random() { WIDTHS[rng.random_range(0..WIDTHS.len())] } else { width + 3 };
            let (a, x) = of(rng, from);
            if rng.random() {
                let lo = rng.random_range(0..from + 2);
                (Expr::slice(a, lo, width), part(&x, lo, width))
            } else {
                let (at, lo) = of(rng, 3);
                (Expr::slice_at(a, at, width), part(&shifted(Shift::Right, &x, &lo), 0, width))
            }
        }
    }
}

/// What one constructor makes is the operand of the next, and is taken apart again when a statement copies an expression.
#[test]
fn nested_expressions_keep_their_meaning() {
    with_seeds(|| {
        let mut rng = seeded_rng("nested_expressions");
        for _ in 0..share(12_000) {
            let signals: Vec<Bits> = [1, 8, 32, 65]
                .map(|width| {
                    let density = [0.0, 0.5, 0.5, 1.0][rng.random_range(0..4)];
                    (0..width).map(|_| rng.random_bool(density)).collect()
                })
                .into();
            let width = WIDTHS[rng.random_range(0..9)];
            let (made, wanted) = random(&mut rng, &signals, width, 4);
            assert_eq!(meaning(&made, &signals), wanted, "{made:?}");
            let copied = made.with_operands(&|x| x.clone());
            assert_eq!(meaning(&copied, &signals), wanted, "{copied:?} of {made:?}");
        }
    });
}

/// What is simpler than it was asked for reads better, and tools do not warn about it.
#[test]
fn the_shortest_form_is_made() {
    let sig = Expr::sig;
    let (a, b) = (|| sig(0, 8), || sig(1, 8));
    let (p, q) = (|| sig(2, 1), || sig(3, 1));
    let number = |value: u8| Expr::number(8, value);
    let bin = |op: Op, a: Expr, b: Expr| Expr::new(1, Kind::Bin(op, Box::new(a), Box::new(b)));
    let mux = |c: Expr, a: Expr, b: Expr| Expr::new(a.width, Kind::Mux(Box::new(c), Box::new(a), Box::new(b)));
    let low = |width: usize, x: Expr| Expr::new(width, Kind::Low(Box::new(x)));
    let pick = |index: Expr| Expr::new(1, Kind::Pick(0, Box::new(index)));
    let shift = |x: Expr, by: Expr| Expr::new(x.width, Kind::Shift(Shift::Right, Box::new(x), Box::new(by)));
    let cat = Expr::concat;
    let sum = || Expr::bin(Op::Add, a(), b());
    let not_p = || Expr::new(1, Kind::Not(Box::new(p())));
    for (made, wanted) in [
        // Neutral operands.
        (Expr::bin(Op::Add, number(0), a()), a()),
        (Expr::bin(Op::Sub, a(), number(0)), a()),
        (Expr::bin(Op::Or, number(0), a()), a()),
        (Expr::bin(Op::Xor, a(), number(0)), a()),
        (Expr::bin(Op::And, a(), number(0)), number(0)),
        (Expr::bin(Op::LogicAnd, p(), Expr::bit(true)), p()),
        (Expr::bin(Op::LogicOr, Expr::bit(true), p()), Expr::bit(true)),
        // Comparisons that say nothing, or say it in other words.
        (Expr::bin(Op::Ge, a(), number(0)), Expr::bit(true)),
        (Expr::bin(Op::Gt, a(), number(255)), Expr::bit(false)),
        (Expr::bin(Op::Eq, p(), Expr::bit(true)), p()),
        (Expr::bin(Op::Ne, Expr::bit(true), p()), not_p()),
        (Expr::not(Expr::not(a())), a()),
        (Expr::not(Expr::bin(Op::Eq, a(), b())), bin(Op::Ne, a(), b())),
        (Expr::not(Expr::bin(Op::Ne, a(), b())), bin(Op::Eq, a(), b())),
        // Choices.
        (Expr::mux(p(), a(), a()), a()),
        (Expr::mux(p(), Expr::bit(true), Expr::bit(false)), p()),
        (Expr::mux(p(), Expr::bit(false), Expr::bit(true)), not_p()),
        (Expr::mux(p(), Expr::bit(false), q()), mux(p(), Expr::bit(false), q())),
        (Expr::mux(p(), q(), Expr::bit(true)), mux(p(), q(), Expr::bit(true))),
        // Values that differ in one place are chosen there, and as a whole if they differ in two.
        (Expr::mux(p(), cat(vec![a(), b()]), cat(vec![a(), number(7)])), cat(vec![a(), mux(p(), b(), number(7))])),
        (
            Expr::mux(p(), cat(vec![a(), q(), b()]), cat(vec![b(), q(), a()])),
            mux(p(), cat(vec![a(), q(), b()]), cat(vec![b(), q(), a()])),
        ),
        // Neighbours and zeros of a concatenation are one member.
        (cat(vec![Expr::slice(a(), 4, 4), Expr::slice(a(), 0, 4)]), a()),
        (cat(vec![number(0), Expr::bit(false), a()]), Expr::new(17, Kind::Concat(vec![Expr::number(9, 0u8), a()]))),
        (cat(vec![cat(vec![p(), a()]), q()]), Expr::new(10, Kind::Concat(vec![p(), a(), q()]))),
        // A part is taken of the operands where that is the same.
        (
            Expr::slice(Expr::bin(Op::And, a(), b()), 2, 3),
            Expr::bin(Op::And, Expr::slice(a(), 2, 3), Expr::slice(b(), 2, 3)),
        ),
        (Expr::slice(sum(), 0, 3), Expr::bin(Op::Add, Expr::slice(a(), 0, 3), Expr::slice(b(), 0, 3))),
        (Expr::slice(sum(), 2, 3), low(3, shift(sum(), Expr::number(2, 2u8)))),
        (Expr::shift(Shift::Right, a(), Expr::number(2, 3u8)), Expr::resize(Expr::slice(a(), 3, 5), 8)),
        (Expr::sext(a(), 10), cat(vec![Expr::repeat(2, Expr::slice(a(), 7, 1)), a()])),
        // A bit by an index that cannot reach beyond the end.
        (Expr::slice_at(a(), sig(1, 3), 1), pick(sig(1, 3))),
        (Expr::slice_at(a(), sig(1, 2), 1), pick(Expr::resize(sig(1, 2), 3))),
        (Expr::slice_at(a(), sig(1, 4), 1), low(1, shift(a(), sig(1, 4)))),
        (Expr::slice_at(sig(0, 7), sig(1, 3), 1), low(1, shift(sig(0, 7), sig(1, 3)))),
        (Expr::slice_at(a(), sig(1, 3), 2), low(2, shift(a(), sig(1, 3)))),
        (Expr::slice_at(a(), sig(1, 3), 8), shift(a(), sig(1, 3))),
        (Expr::slice_at(p(), sig(1, 3), 1), shift(p(), sig(1, 3))),
        (Expr::slice_at(Expr::slice(a(), 1, 4), sig(1, 2), 1), low(1, shift(Expr::slice(a(), 1, 4), sig(1, 2)))),
    ] {
        assert_eq!(made, wanted);
    }
}
