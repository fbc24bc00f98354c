//! Colours of names: two texts are the same up to renaming if refinement gives their statements the same colours.
//!
//! Every name starts with the colour of its kind. In each round the colour of a name becomes a hash of its colour and of the
//! multiset of statements and positions in which the name stands, the other names of the statement counting by their colours
//! (Weisfeiler and Leman, 1968). Refinement cannot distinguish names that stand in the same places, such as those of
//! identical instances, for which either order will do.

use super::tokens::{Name, Piece, Statement};
use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};

/// Rounds after which refinement gives up: the diameter of a design is smaller.
const ROUNDS: usize = 64;

/// A text with the colours of its names.
pub struct Coloured<'s> {
    statements: &'s [Statement],
    /// The names of each statement by position.
    uses: Vec<Vec<(u64, usize)>>,
    colours: Vec<u64>,
    /// Colour of each statement without its names.
    skeletons: Vec<u64>,
}

fn hash(value: impl Hash) -> u64 {
    let mut hasher = DefaultHasher::new();
    value.hash(&mut hasher);
    hasher.finish()
}

impl<'s> Coloured<'s> {
    /// The first colours; names for which `fixed` holds keep their text.
    pub fn new(statements: &'s [Statement], fixed: impl Fn(&Name) -> bool) -> Self {
        let mut numbers: HashMap<&Name, usize> = HashMap::new();
        let (mut colours, mut uses, mut skeletons) = (vec![], vec![], vec![]);
        for statement in statements {
            let mut of_statement = vec![];
            let mut skeleton = vec![];
            for (position, piece) in statement.pieces.iter().enumerate() {
                match piece {
                    Piece::Text(text) => skeleton.push((position, text)),
                    Piece::Name(name) => {
                        let number = *numbers.entry(name).or_insert_with(|| {
                            let kind = std::mem::discriminant(name);
                            colours.push(if fixed(name) { hash(name) } else { hash(kind) });
                            colours.len() - 1
                        });
                        of_statement.push((position as u64, number));
                    }
                }
            }
            skeletons.push(hash((statement.pieces.len(), skeleton)));
            uses.push(of_statement);
        }
        Self { statements, uses, colours, skeletons }
    }

    /// The colour of each statement.
    pub fn of_statements(&self) -> Vec<u64> {
        let colour = |(skeleton, uses): (&u64, &Vec<(u64, usize)>)| {
            let names: Vec<(u64, u64)> = uses.iter().map(|(position, name)| (*position, self.colours[*name])).collect();
            hash((skeleton, names))
        };
        self.skeletons.iter().zip(&self.uses).map(colour).collect()
    }

    /// One round.
    fn refine(&mut self) {
        let mut sums = vec![0u64; self.colours.len()];
        for (statement, uses) in self.of_statements().into_iter().zip(&self.uses) {
            for (position, name) in uses {
                sums[*name] = sums[*name].wrapping_add(hash((statement, position)));
            }
        }
        for (colour, sum) in self.colours.iter_mut().zip(sums) {
            *colour = hash((*colour, sum));
        }
    }

    fn kinds(&self) -> usize {
        self.colours.iter().collect::<std::collections::HashSet<_>>().len()
    }
}

/// Statements of either text without a partner in the other, from the first round in which there are any.
pub fn differences<'s>(mut a: Coloured<'s>, mut b: Coloured<'s>) -> Option<[Vec<&'s Statement>; 2]> {
    for _ in 0..ROUNDS {
        let unmatched = unmatched(&a, &b);
        if unmatched.iter().any(|side| !side.is_empty()) {
            return Some(unmatched);
        }
        let before = a.kinds();
        a.refine();
        b.refine();
        if a.kinds() == before {
            break;
        }
    }
    let unmatched = unmatched(&a, &b);
    unmatched.iter().any(|side| !side.is_empty()).then_some(unmatched)
}

fn unmatched<'s>(a: &Coloured<'s>, b: &Coloured<'s>) -> [Vec<&'s Statement>; 2] {
    let (of_a, of_b) = (a.of_statements(), b.of_statements());
    let mut balance: HashMap<u64, i64> = HashMap::new();
    of_a.iter().for_each(|colour| *balance.entry(*colour).or_default() += 1);
    of_b.iter().for_each(|colour| *balance.entry(*colour).or_default() -= 1);
    let mut left = |colours: &[u64], statements: &'s [Statement], sign: i64| {
        let mut found = vec![];
        for (colour, statement) in colours.iter().zip(statements) {
            let count = balance.get_mut(colour).expect("every colour was counted");
            if *count * sign > 0 {
                *count -= sign;
                found.push(statement);
            }
        }
        found
    };
    [left(&of_a, a.statements, 1), left(&of_b, b.statements, -1)]
}
