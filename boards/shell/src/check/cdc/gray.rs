//! Is a register the Gray code of a counter? Then one of its bits at most changes at an edge.
//!
//! The form that is recognised: the register takes `n ^ (n >> 1)`, where `n` is the next value of a counter that is
//! registered at the same edges, is reset with it, and stays or goes up by one.

use crate::check::graph::{nets, Driver, Graph};
use crate::check::netlist::{Bit, Cell};

/// A bit of a register: its cell, and the bit there.
type Place = (usize, usize);

/// Whether the register of this name is the Gray code of a counter.
pub(super) fn is_gray(graph: &Graph, name: usize) -> bool {
    let places: Option<Vec<Place>> = graph.netlist.names[name].bits.iter().map(|bit| register(graph, *bit)).collect();
    let Some(places) = places else { return false };
    let Some(next) = decoded(graph, &places) else { return false };
    counter(graph, &places, &next)
}

fn register(graph: &Graph, bit: Bit) -> Option<Place> {
    match graph.driver(bit)? {
        Driver::Register { cell, bit } => Some((cell, bit)),
        _ => None,
    }
}

fn data(graph: &Graph, (cell, bit): Place) -> Bit {
    graph.cell(cell).bits("D")[bit]
}

fn enable(cell: &Cell) -> Option<(Bit, bool)> {
    Some((*cell.bits("EN").first()?, cell.flag("EN_POLARITY", 0)))
}

fn reset(cell: &Cell) -> (Option<Bit>, bool) {
    (cell.bits("SRST").first().copied(), cell.flag("SRST_POLARITY", 0))
}

/// The two operands of an exclusive or; the net itself and 0 if it is none.
fn operands(graph: &Graph, bit: Bit) -> [Bit; 2] {
    if let Some(driver @ Driver::Logic { cell, .. }) = graph.driver(bit) {
        if graph.cell(cell).kind == "$xor" {
            let inputs = graph.inputs(driver);
            return [inputs[0], inputs.get(1).copied().unwrap_or(Bit::Zero)];
        }
    }
    [bit, Bit::Zero]
}

/// The number whose Gray code the registers take, from the top bit down: each bit is that of the code, or it and the bit
/// above it are the operands of the exclusive or.
fn decoded(graph: &Graph, places: &[Place]) -> Option<Vec<Bit>> {
    let mut number = vec![Bit::Zero; places.len()];
    let mut above = Bit::Zero;
    for (at, place) in places.iter().enumerate().rev() {
        let [a, b] = operands(graph, data(graph, *place));
        number[at] = match () {
            () if a == above => b,
            () if b == above => a,
            () => return None,
        };
        above = number[at];
    }
    Some(number)
}

/// Whether `next` is the next value of a counter that moves with `places`.
fn counter(graph: &Graph, places: &[Place], next: &[Bit]) -> bool {
    let of = graph.cell(places[0].0);
    let same = |cell: &Cell| cell.bits("CLK") == of.bits("CLK") && reset(cell) == reset(of);
    if !places.iter().all(|(cell, _)| same(graph.cell(*cell)) && enable(graph.cell(*cell)) == enable(of)) {
        return false;
    }
    let moves_with = |cell: &Cell| same(cell) && enable(cell) == enable(of);
    // The counter takes `next`, one more or the same by an enable of both registers, or by the operand that is added.
    if increments(graph, next).is_some_and(|old| takes(graph, &old, next, moves_with)) {
        return true;
    }
    // A multiplexer has the old value and one more; the counter takes its output, or one more when it is selected.
    let Some(choices) = next.iter().map(|bit| selected(graph, *bit)).collect::<Option<Vec<_>>>() else { return false };
    let select = choices[0].select;
    let [old, raised]: [Vec<Bit>; 2] =
        [choices.iter().map(|c| c.off).collect(), choices.iter().map(|c| c.on).collect()];
    choices.iter().all(|choice| choice.select == select)
        && increments(graph, &raised).is_some_and(|base| base == old)
        && (takes(graph, &old, next, moves_with)
            || enable(of).is_none()
                && takes(graph, &old, &raised, |cell| same(cell) && enable(cell) == Some((select, true))))
}

/// The inputs of a multiplexer.
struct Choice {
    select: Bit,
    off: Bit,
    on: Bit,
}

fn selected(graph: &Graph, bit: Bit) -> Option<Choice> {
    let Some(driver @ Driver::Logic { cell, .. }) = graph.driver(bit) else { return None };
    if graph.cell(cell).kind != "$mux" {
        return None;
    }
    let inputs = graph.inputs(driver);
    Some(Choice { select: inputs[2], off: inputs[0], on: inputs[1] })
}

/// Whether `old` are outputs of registers of the wanted kind that take `next`.
fn takes(graph: &Graph, old: &[Bit], next: &[Bit], wanted: impl Fn(&Cell) -> bool) -> bool {
    old.iter().zip(next).all(|(old, next)| {
        register(graph, *old).is_some_and(|place| wanted(graph.cell(place.0)) && data(graph, place) == *next)
    })
}

/// The value to which at most one is added for `sum`.
fn increments(graph: &Graph, sum: &[Bit]) -> Option<Vec<Bit>> {
    let Some(Driver::Logic { cell, bit: 0 }) = graph.driver(sum[0]) else { return None };
    let cell = graph.cell(cell);
    if cell.kind != "$add" || cell.bits("Y").get(..sum.len()) != Some(sum) {
        return None;
    }
    let padded = |port: &str| -> Vec<Bit> {
        let bits = cell.bits(port).iter().copied().chain(std::iter::repeat(Bit::Zero));
        bits.take(sum.len()).collect()
    };
    let [a, b] = ["A", "B"].map(padded);
    let at_most_one = |bits: &[Bit]| nets(&bits[1..]).next().is_none() && bits[1..].iter().all(|b| *b == Bit::Zero);
    match () {
        () if at_most_one(&b) => Some(a),
        () if at_most_one(&a) => Some(b),
        () => None,
    }
}
