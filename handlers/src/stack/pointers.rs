//! Functions whose address an image holds: only they can be called through a pointer.
//!
//! An address is a word of the initialised data, or the sum of a LUI or AUIPC and an ADDI of the same function, in whatever order its
//! branches run. The linker keeps such pairs, so there is no third way to an address, short of arithmetic.

use super::walk::{immediate, upper_immediate, AUIPC, BRANCH, LUI, OP_IMM, STORE};
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::ops::Range;

/// Starts of those functions. `functions` maps a start to name and end, `data` holds the words of initialised sections.
pub fn taken(
    words: &HashMap<u32, u32>,
    functions: &BTreeMap<u32, (String, u32)>,
    data: impl Iterator<Item = u32>,
) -> BTreeSet<u32> {
    let mut taken: BTreeSet<u32> = data.filter(|word| functions.contains_key(word)).collect();
    for range in ranges(functions) {
        let (mut uppers, mut additions) = (BTreeSet::new(), BTreeSet::new());
        // An addition of zero is mostly a move: it counts only if the last write of its register was a LUI or AUIPC.
        let mut last = HashMap::new();
        for at in range.step_by(4) {
            let Some(word) = words.get(&at).copied() else { continue };
            let (rd, rs1) = (word >> 7 & 31, word >> 15 & 31);
            let upper = match word & 0x7f {
                LUI => Some(upper_immediate(word)),
                AUIPC => Some(at.wrapping_add(upper_immediate(word))),
                OP_IMM if word >> 12 & 7 == 0 && immediate(word) == 0 => {
                    taken.extend(last.get(&rs1).filter(|sum| functions.contains_key(sum)));
                    None
                }
                OP_IMM if word >> 12 & 7 == 0 => {
                    additions.insert((rs1, immediate(word)));
                    None
                }
                // They have no destination.
                STORE | BRANCH => continue,
                _ => None,
            };
            match upper {
                Some(upper) => {
                    uppers.insert((rd, upper));
                    last.insert(rd, upper);
                }
                None => drop(last.remove(&rd)),
            }
        }
        for (register, upper) in uppers {
            let sums = additions.iter().filter(|(rs1, _)| *rs1 == register).map(|(_, low)| upper.wrapping_add(*low));
            taken.extend(sums.filter(|sum| functions.contains_key(sum)));
        }
    }
    taken
}

/// Where functions lie; those that overlap are one, so that each instruction is looked at once.
fn ranges(functions: &BTreeMap<u32, (String, u32)>) -> Vec<Range<u32>> {
    let mut ranges: Vec<Range<u32>> = Vec::new();
    for (start, (_, end)) in functions {
        match ranges.last_mut() {
            Some(last) if *start < last.end => last.end = last.end.max(*end),
            _ => ranges.push(*start..*end),
        }
    }
    ranges
}
