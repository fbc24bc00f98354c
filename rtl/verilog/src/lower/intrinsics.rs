//! Functions with a form that suits six-input LUTs and carry chains: multiplexers, wide comparisons, searches, sums with a carry.
//!
//! A block names the function; its form is chosen here. A port to a device with other cells changes this file only.

use super::frame::squash;
use super::wiring::is_self_path;
use super::{Lower, Lowered, Val};
use crate::build::Role;
use crate::expr::{Expr, Op, Reduce};
use crate::ty::{clog2, Ty};
use syn::{Expr as Ast, ExprCall};

/// Up to this width two values are compared by LUTs alone.
const NARROW: usize = 12;
/// Bits of two values whose difference is one LUT.
const PER_LUT: usize = 3;
/// LUTs of a comparison whose results meet in one carry chain.
const CHAIN: usize = 16;
/// Values among which one LUT chooses, which takes two bits of the index.
const CHOICE: usize = 4;

impl Lower<'_> {
    /// A call of one of [`INTRINSICS`](crate::language::INTRINSICS); `widths` are its generic arguments.
    pub(super) fn intrinsic(
        &mut self,
        call: &ExprCall,
        name: &str,
        widths: [Option<usize>; 2],
        hint: Option<&Ty>,
    ) -> Lowered<Val> {
        let args: Vec<&Ast> = call.args.iter().collect();
        match (name, args.as_slice()) {
            ("select" | "select_hot", [index, values]) => self.choice(call, name, index, values, hint),
            ("ne" | "eq", [a, b]) => {
                let (a, b) = self.pair(a, b, None)?;
                let differ = self.differ(name, a, b);
                Ok(Val::Hw(if name == "ne" { differ } else { Expr::not(differ) }, Ty::Bits(1)))
            }
            ("add_with_carry", [a, b, carry]) => {
                let (a, b) = self.pair(a, b, widths[1].map(Ty::Bits))?;
                let carry = self.condition(carry)?;
                let sum = self.sum(a, b, carry);
                self.of_width(call, name, sum, widths[0])
            }
            ("first_set" | "lowest_set" | "byte_swap" | "byte_mask" | "count_ones", [x]) => {
                let given = if matches!(name, "lowest_set" | "byte_swap") { widths[0] } else { widths[1] };
                let same = hint.filter(|_| matches!(name, "lowest_set" | "byte_swap")).cloned();
                let ty = given.map(Ty::Bits).or(same);
                let value = self.value(x, ty.as_ref())?;
                let x = self.hw(value, ty.as_ref(), x)?;
                let x = self.step(&format!("{name}_of"), x);
                match name {
                    "lowest_set" => Ok(Val::Hw(self.lowest(x.clone()), Ty::Bits(x.width))),
                    "byte_swap" if !x.width.is_multiple_of(8) => {
                        self.refuse(call, format!("byte_swap takes whole bytes, this has {} bits", x.width))
                    }
                    "byte_swap" => {
                        let bytes = (0..x.width / 8).map(|i| Expr::slice(x.clone(), 8 * i, 8));
                        Ok(Val::Hw(Expr::concat(bytes.collect()), Ty::Bits(x.width)))
                    }
                    "byte_mask" => {
                        let lanes = bits_of(&x).into_iter().rev().map(|lane| Expr::repeat(8, lane));
                        self.of_width(call, name, Expr::concat(lanes.collect()), widths[0])
                    }
                    "first_set" => {
                        let number = self.first(bits_of(&x));
                        self.at_least(call, name, number, widths[0], hint)
                    }
                    _ => {
                        let ones = self.ones(&x);
                        self.at_least(call, name, ones, widths[0], hint)
                    }
                }
            }
            _ => self.refuse(call, format!("{name} has other arguments; see the list in rtl/verilog/README.md")),
        }
    }

    /// A result whose width follows from the arguments; `written` is the width in the call.
    fn of_width(&mut self, call: &ExprCall, name: &str, value: Expr, written: Option<usize>) -> Lowered<Val> {
        match written {
            Some(width) if width != value.width => {
                self.refuse(call, format!("{name} gives {} bits here, but {width} are written", value.width))
            }
            _ => {
                let ty = Ty::Bits(value.width);
                Ok(Val::Hw(value, ty))
            }
        }
    }

    /// A number in the width that is written or expected, which must hold it.
    fn at_least(
        &mut self,
        call: &ExprCall,
        name: &str,
        value: Expr,
        written: Option<usize>,
        hint: Option<&Ty>,
    ) -> Lowered<Val> {
        match written.or(hint.map(Ty::width)) {
            None => self.refuse(call, format!("the width of the result is not known here; write {name}::<M, N>(x)")),
            Some(width) if width < value.width => {
                self.refuse(call, format!("{name} gives {} bits here, which do not fit in {width}", value.width))
            }
            Some(width) => Ok(Val::Hw(Expr::resize(value, width), Ty::Bits(width))),
        }
    }

    /// The expression, or a wire that holds it if it is more than a word.
    fn step(&mut self, name: &str, value: Expr) -> Expr {
        if value.is_plain() {
            return value;
        }
        let ty = Ty::Bits(value.width);
        self.step_of(name, value, ty)
    }

    fn step_of(&mut self, name: &str, value: Expr, ty: Ty) -> Expr {
        let id = self.body.wire(&self.wire_name(name), ty, Role::Let, true);
        self.body.items.push(crate::build::Item::Wire(id, value));
        self.body.read(id)
    }

    /// `select` and `select_hot`.
    fn choice(&mut self, call: &ExprCall, name: &str, index: &Ast, values: &Ast, hint: Option<&Ty>) -> Lowered<Val> {
        let mut list = values;
        while let Ast::Paren(inner) = list {
            list = &inner.expr;
        }
        let elements: Vec<Ast> = match list {
            Ast::Array(array) => array.elems.iter().cloned().collect(),
            Ast::MethodCall(call) if call.method == "vals" => self.signals(&call.receiver)?,
            _ => {
                let message =
                    format!("{name} takes its values side by side: `{name}(index, [a, b])`, or `self.x.vals()`");
                return self.refuse(values, message);
            }
        };
        let value = self.value(index, None)?;
        let index = self.hw(value, None, index)?;
        let count = elements.len();
        let most = if name == "select" { 1usize << index.width.min(32) } else { index.width };
        if count == 0 || count > most {
            return self.refuse(call, format!("{name} has {count} values, but its {} bits name {most}", index.width));
        }
        // A value without a type of its own takes that of the others.
        let mut ty = hint.cloned();
        let mut words = vec![None; count];
        for flexible in [false, true] {
            for (number, element) in elements.iter().enumerate() {
                if Self::flexible(element) != flexible {
                    continue;
                }
                let value = self.value(element, ty.as_ref())?;
                if let (None, Val::Hw(_, found)) = (&ty, &value) {
                    ty = Some(found.clone());
                }
                let word = self.hw(value, ty.as_ref(), element)?;
                words[number] = Some(match word.is_plain() {
                    true => word,
                    false => {
                        let ty = ty.clone().unwrap_or(Ty::Bits(word.width));
                        self.step_of(&format!("{name}_{number}"), word, ty)
                    }
                });
            }
        }
        let ty = ty.expect("a value has a type");
        let words: Vec<Expr> = words.into_iter().flatten().collect();
        let index = self.step(&format!("{name}_index"), index);
        let result = match name {
            "select_hot" => {
                let terms = words.into_iter().zip(bits_of(&index)).map(|(word, bit)| gated(word, bit));
                terms.reduce(|a, b| Expr::bin(Op::Or, a, b)).expect("there is a value")
            }
            _ => self.select(index, words),
        };
        Ok(Val::Hw(result, ty))
    }

    /// `self.x[0].val()`, `self.x[1].val()` and so on, as many as there are.
    fn signals(&mut self, array: &Ast) -> Lowered<Vec<Ast>> {
        if !is_self_path(array) {
            return self.refuse(array, ".vals() reads an array of signals of `self`");
        }
        let key = self.segments(array)?.join(".");
        let body = &self.body;
        let known = |i: &usize| {
            let key = format!("{key}${i}");
            body.by_key.contains_key(&key) || body.constants.contains_key(&key)
        };
        let count = (0..).take_while(known).count();
        if count == 0 {
            return self.refuse(array, format!("`{}` is no array of signals", squash(array)));
        }
        Ok((0..count).map(|i| syn::parse_quote!(#array[#i].val())).collect())
    }

    /// One of the words by its number; zero if there is no such word. Four words are a sum of products, one LUT per bit, which mappers
    /// do not always find in nested two-way choices.
    fn select(&mut self, index: Expr, mut words: Vec<Expr>) -> Expr {
        let width = words[0].width;
        if let Some(number) = index.value() {
            let number = usize::try_from(number).unwrap_or(usize::MAX);
            return if number < words.len() { words.swap_remove(number) } else { Expr::number(width, 0u8) };
        }
        let digit_bits = index.width.min(2);
        let digit = Expr::slice(index.clone(), 0, digit_bits);
        let last = index.width <= 2;
        let mut groups = vec![];
        for group in words.chunks(CHOICE.min(1 << digit_bits)) {
            let sum = match group {
                [zero, one] if digit_bits == 1 => Expr::mux(digit.clone(), one.clone(), zero.clone()),
                group => {
                    let terms = group.iter().enumerate().map(|(number, word)| {
                        let chosen = Expr::bin(Op::Eq, digit.clone(), Expr::number(digit_bits, number));
                        gated(word.clone(), chosen)
                    });
                    terms.reduce(|a, b| Expr::bin(Op::Or, a, b)).expect("a group has a value")
                }
            };
            groups.push(if last { sum } else { self.step("select_group", sum) });
        }
        match last {
            true => groups.remove(0),
            false => self.select(Expr::slice(index.clone(), 2, index.width - 2), groups),
        }
    }

    /// Whether two values differ. A LUT compares three bits of both, and carry chains join the LUTs. The mapper makes twice as many LUTs of
    /// `!=`.
    fn differ(&mut self, name: &str, a: Expr, b: Expr) -> Expr {
        let width = a.width;
        if width <= NARROW || a.value().is_some() || b.value().is_some() {
            return Expr::bin(Op::Ne, a, b);
        }
        let difference = self.step(&format!("{name}_difference"), Expr::bin(Op::Xor, a, b));
        let luts: Vec<Expr> = (0..width.div_ceil(PER_LUT))
            .map(|i| {
                let part = PER_LUT.min(width - PER_LUT * i);
                Expr::reduce(Reduce::Any, Expr::slice(difference.clone(), PER_LUT * i, part))
            })
            .collect();
        let chains = luts.len().div_ceil(CHAIN);
        let carries = luts.chunks(luts.len().div_ceil(chains)).map(|chain| {
            // The sum of all ones and any number but zero has a carry.
            let found = Expr::concat(chain.iter().rev().cloned().collect());
            let ones = Expr::not(Expr::number(chain.len(), 0u8));
            let sum = self.sum(found, ones, Expr::bit(false));
            let sum = self.step(&format!("{name}_chain"), sum);
            Expr::slice(sum, chain.len(), 1)
        });
        carries.reduce(|a, b| Expr::bin(Op::Or, a, b)).expect("there is a chain")
    }

    /// `a + b + carry` with the carry out: one carry chain, whose lowest cell makes the carry in.
    fn sum(&mut self, a: Expr, b: Expr, carry: Expr) -> Expr {
        let width = a.width + 1;
        if carry.truth() == Some(false) {
            return Expr::bin(Op::Add, Expr::resize(a, width), Expr::resize(b, width));
        }
        let below = |x: Expr, bit: Expr| Expr::concat(vec![Expr::bit(false), x, bit]);
        let sum = Expr::bin(Op::Add, below(a, Expr::bit(true)), below(b, carry));
        let sum = self.step("add_with_carry_sum", sum);
        Expr::slice(sum, 1, width)
    }

    /// Number of the first bit that is set; that of the last one if no other is.
    fn first(&mut self, bits: Vec<Expr>) -> Expr {
        let none = |bits: &[Expr]| {
            let some = bits.iter().cloned().reduce(|a, b| Expr::bin(Op::Or, a, b));
            Expr::not(some.expect("there is a bit"))
        };
        match bits.as_slice() {
            [] | [_] => Expr::number(1, 0u8),
            [zero, _] => Expr::not(zero.clone()),
            [zero, one, rest @ ..] if rest.len() <= 2 => {
                // Among four: 1 or 3, and not 2.
                let odd = match rest {
                    [two, _] => Expr::bin(Op::Or, one.clone(), Expr::not(two.clone())),
                    _ => one.clone(),
                };
                let low = Expr::bin(Op::And, Expr::not(zero.clone()), odd);
                Expr::concat(vec![none(&bits[..2]), low])
            }
            _ => {
                let groups: Vec<&[Expr]> = bits.chunks(CHOICE).collect();
                let some: Vec<Expr> = groups.iter().map(|group| any_of(group)).collect();
                let group = self.first(some);
                let group = self.step("first_set_group", group);
                let mut within = vec![];
                for bits in groups {
                    let number = self.first(bits.to_vec());
                    within.push(Expr::resize(number, 2));
                }
                let number = self.select(group.clone(), within);
                Expr::concat(vec![group, number])
            }
        }
    }

    /// The lowest bit that is set, alone.
    fn lowest(&mut self, x: Expr) -> Expr {
        let bits = bits_of(&x);
        let below = self.below(&bits);
        let alone = bits.into_iter().zip(below).map(|(bit, below)| Expr::bin(Op::And, bit, Expr::not(below)));
        Expr::concat(alone.rev().collect())
    }

    /// For each bit whether one below it is set, by groups of four.
    fn below(&mut self, bits: &[Expr]) -> Vec<Expr> {
        let groups: Vec<&[Expr]> = bits.chunks(CHOICE).collect();
        let mut before = vec![Expr::bit(false); groups.len()];
        if groups.len() > 1 {
            let some = Expr::concat(groups.iter().rev().map(|group| any_of(group)).collect());
            let some = self.step("lowest_set_groups", some);
            before = self.below(&bits_of(&some));
        }
        let mut all = vec![];
        for (group, before) in groups.into_iter().zip(before) {
            let before = self.step("lowest_set_before", before);
            for place in 0..group.len() {
                let lower = group[..place].iter().cloned().fold(before.clone(), |a, b| Expr::bin(Op::Or, a, b));
                all.push(lower);
            }
        }
        all
    }

    /// How many bits are set: of four by LUTs, these counts by a tree of adders.
    fn ones(&mut self, x: &Expr) -> Expr {
        let bits = bits_of(x);
        let mut counts: Vec<Expr> = vec![];
        for group in bits.chunks(CHOICE) {
            let pairs: Vec<(Expr, Expr)> = group
                .chunks(2)
                .map(|pair| match pair {
                    [a, b] => (Expr::bin(Op::And, a.clone(), b.clone()), Expr::bin(Op::Xor, a.clone(), b.clone())),
                    _ => (Expr::bit(false), pair[0].clone()),
                })
                .collect();
            let count = match pairs.as_slice() {
                [(both, one), (other_both, other_one)] => {
                    let carry = Expr::bin(Op::And, one.clone(), other_one.clone());
                    let two = Expr::bin(Op::Xor, Expr::bin(Op::Xor, both.clone(), other_both.clone()), carry);
                    let four = Expr::bin(Op::And, both.clone(), other_both.clone());
                    Expr::concat(vec![four, two, Expr::bin(Op::Xor, one.clone(), other_one.clone())])
                }
                _ => Expr::concat(vec![pairs[0].0.clone(), pairs[0].1.clone()]),
            };
            counts.push(self.step("count_ones_of_four", count));
        }
        while counts.len() > 1 {
            let mut sums = vec![];
            for pair in counts.chunks(2) {
                sums.push(match pair {
                    [a, b] => {
                        let width = a.width.max(b.width) + 1;
                        let sum = Expr::bin(Op::Add, Expr::resize(a.clone(), width), Expr::resize(b.clone(), width));
                        self.step("count_ones_sum", sum)
                    }
                    _ => pair[0].clone(),
                });
            }
            counts = sums;
        }
        let count = counts.remove(0);
        let width = clog2(x.width + 1);
        Expr::resize(count, width)
    }
}

/// The value where the bit is set, else zero.
fn gated(value: Expr, bit: Expr) -> Expr {
    let width = value.width;
    Expr::bin(Op::And, value, Expr::repeat(width, bit))
}

/// Bit by bit, the lowest first.
fn bits_of(x: &Expr) -> Vec<Expr> {
    (0..x.width).map(|i| Expr::slice(x.clone(), i, 1)).collect()
}

/// Whether one of them is set.
fn any_of(bits: &[Expr]) -> Expr {
    Expr::reduce(Reduce::Any, Expr::concat(bits.iter().rev().cloned().collect()))
}
