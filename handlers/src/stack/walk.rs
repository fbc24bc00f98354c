//! One function: how deep its stack gets along its branches, and at which depth it calls whom.

use std::collections::{HashMap, HashSet};

/// What a function does by itself.
#[derive(Default)]
pub struct Body {
    /// Deepest point, calls apart.
    pub depth: u32,
    /// Target and depth at the call.
    pub calls: Vec<(u32, u32)>,
    /// Depths at calls through a pointer.
    pub pointers: Vec<u32>,
    /// Reason for a missing bound: the predicate of a sentence about the function.
    pub unbounded: Vec<&'static str>,
}

/// Walks the function from `start` to `end` along all of its branches; `words` holds the code. Each instruction takes one of `steps`.
pub fn body(words: &HashMap<u32, u32>, start: u32, end: u32, steps: &mut usize) -> Body {
    let body = Body::default();
    let mut walk =
        Walk { words, start, end, body, seen: HashSet::new(), jumps: Vec::new(), frame_pointer: None, steps };
    walk.follow(vec![(start, 0)]);
    // A jump through a register with a frame open, or beside code that nothing else reaches, goes through a table of the function's own
    // labels. Otherwise the jump is a tail call.
    if let Some(depth) = walk.jumps.iter().copied().max() {
        let rest = |walk: &Walk, from: u32| (from..end).step_by(4).find(|at| !walk.seen.contains(at));
        if depth == 0 && rest(&walk, start).is_none() {
            walk.body.pointers.push(depth);
        }
        let mut next = start;
        while let Some(at) = rest(&walk, next).filter(|_| *walk.steps > 0) {
            walk.follow(vec![(at, depth)]);
            next = at;
        }
    }
    if *walk.steps == 0 {
        walk.problem("lies in code that overlaps too often to be followed");
    }
    walk.body
}

/// The walk through one function.
struct Walk<'a> {
    words: &'a HashMap<u32, u32>,
    start: u32,
    end: u32,
    body: Body,
    seen: HashSet<u32>,
    /// Depths at jumps through registers.
    jumps: Vec<u32>,
    /// Depth of the frame pointer.
    frame_pointer: Option<u32>,
    /// Instructions that may still be walked.
    steps: &'a mut usize,
}

const RA: u32 = 1;
const SP: u32 = 2;
const FP: u32 = 8;
/// The ABI keeps the stack pointer at multiples of this.
const STACK_ALIGN: i32 = 16;

impl Walk<'_> {
    fn problem(&mut self, what: &'static str) {
        if !self.body.unbounded.contains(&what) {
            self.body.unbounded.push(what);
        }
    }

    fn follow(&mut self, mut work: Vec<(u32, u32)>) {
        while let Some((at, depth)) = work.pop() {
            if at >= self.end || *self.steps == 0 || !self.seen.insert(at) {
                continue;
            }
            *self.steps -= 1;
            let Some(word) = self.words.get(&at).copied() else { continue };
            let next = self.step(at, word, depth, &mut work);
            if let Some(depth) = next {
                self.body.depth = self.body.depth.max(depth);
                work.push((at.saturating_add(4), depth));
            }
        }
    }

    /// One instruction: other places where execution may continue, and the depth after the instruction if the next one can follow.
    fn step(&mut self, at: u32, word: u32, depth: u32, work: &mut Vec<(u32, u32)>) -> Option<u32> {
        let (rd, rs1) = (word >> 7 & 31, word >> 15 & 31);
        match word & 0x7f {
            BRANCH => {
                self.jump(at.wrapping_add(branch_offset(word)), depth, work);
                Some(depth)
            }
            JAL => self.transfer(at.wrapping_add(jump_offset(word)), rd, depth, work),
            JALR => match self.upper_half(at, rs1) {
                Some(upper) => self.transfer(upper.wrapping_add(immediate(word)), rd, depth, work),
                None if rd != 0 => {
                    self.body.pointers.push(depth);
                    Some(depth)
                }
                None => {
                    if rs1 != RA {
                        self.jumps.push(depth);
                    }
                    None
                }
            },
            // ebreak and ecall end a handler, and so does what compilers use as an instruction that never is.
            SYSTEM if word >> 12 & 7 == 0 || word == UNIMPLEMENTED => None,
            0 => None,
            // Stores and fences have no destination.
            STORE | FENCE => Some(depth),
            opcode if rd == SP => Some(self.adjust(at, word, opcode, depth)),
            OP_IMM if rd == FP && rs1 == SP && word >> 12 & 7 == 0 => {
                self.frame_pointer = Some(depth.wrapping_sub(immediate(word)));
                Some(depth)
            }
            _ => Some(depth),
        }
    }

    /// An instruction that writes the stack pointer: the depth after the instruction.
    fn adjust(&mut self, at: u32, word: u32, opcode: u32, depth: u32) -> u32 {
        let (rs1, rs2, funct3) = (word >> 15 & 31, word >> 20 & 31, word >> 12 & 7);
        let change = match (opcode, funct3) {
            (OP_IMM, 0) if rs1 == SP => Some(immediate(word)),
            (OP_IMM, 0) if rs1 == FP => {
                self.frame_pointer.map(|fp| depth.wrapping_sub(fp).wrapping_add(immediate(word)))
            }
            // Rounding down to a larger alignment costs up to the difference.
            (OP_IMM, 7) if rs1 == SP => Some((immediate(word) as i32 + STACK_ALIGN).min(0) as u32),
            (OP, 0) => {
                let other = if rs1 == SP { rs2 } else { rs1 };
                let value = self.constant(at, other).filter(|_| rs1 == SP || rs2 == SP);
                value.map(|value| if word >> 30 & 1 == 1 { value.wrapping_neg() } else { value })
            }
            _ => None,
        };
        match change {
            // Above where it began the stack pointer is only on paths that we do not understand.
            Some(change) => u32::try_from(i64::from(depth) - i64::from(change as i32)).unwrap_or(0),
            None => {
                self.problem("has a frame of variable size");
                depth
            }
        }
    }

    /// A jump or call to a known address.
    fn transfer(&mut self, target: u32, rd: u32, depth: u32, work: &mut Vec<(u32, u32)>) -> Option<u32> {
        if rd == 0 {
            self.jump(target, depth, work);
            return None;
        }
        if rd != RA {
            self.problem("saves registers by a library routine");
        }
        self.body.calls.push((target, depth));
        Some(depth)
    }

    /// To a place in the function, or to another function as the last act.
    fn jump(&mut self, target: u32, depth: u32, work: &mut Vec<(u32, u32)>) {
        if (self.start..self.end).contains(&target) {
            work.push((target, depth));
        } else {
            self.body.calls.push((target, depth));
        }
    }

    /// What an AUIPC right before `at` put into the register.
    fn upper_half(&self, at: u32, register: u32) -> Option<u32> {
        let before = at.wrapping_sub(4);
        let word = *self.words.get(&before)?;
        (word & 0x7f == AUIPC && word >> 7 & 31 == register).then(|| before.wrapping_add(upper_immediate(word)))
    }

    /// The constant in a register, if the instructions right before `at` put it there.
    fn constant(&self, at: u32, register: u32) -> Option<u32> {
        let mut low = 0;
        for before in (1..=8).map(|i| at.wrapping_sub(4 * i)).take_while(|before| *before >= self.start) {
            let word = *self.words.get(&before)?;
            let (opcode, rd, rs1) = (word & 0x7f, word >> 7 & 31, word >> 15 & 31);
            match opcode {
                BRANCH | JAL | JALR => return None,
                STORE => {}
                _ if rd != register => {}
                LUI => return Some(upper_immediate(word).wrapping_add(low)),
                OP_IMM if word >> 12 & 7 == 0 && rs1 == 0 => return Some(immediate(word).wrapping_add(low)),
                OP_IMM if word >> 12 & 7 == 0 && rs1 == register => low = immediate(word).wrapping_add(low),
                _ => return None,
            }
        }
        None
    }
}

pub const OP_IMM: u32 = 0x13;
pub const AUIPC: u32 = 0x17;
pub const STORE: u32 = 0x23;
const OP: u32 = 0x33;
pub const LUI: u32 = 0x37;
pub const BRANCH: u32 = 0x63;
const JALR: u32 = 0x67;
const JAL: u32 = 0x6f;
const FENCE: u32 = 0x0f;
const SYSTEM: u32 = 0x73;
/// `csrrw x0, cycle, x0`: assemblers write it for `unimp`.
const UNIMPLEMENTED: u32 = 0xc000_1073;

/// Operand of LUI and AUIPC.
pub fn upper_immediate(word: u32) -> u32 {
    word & 0xffff_f000
}

/// Offset of a load or operand of OP-IMM, sign-extended.
pub fn immediate(word: u32) -> u32 {
    (word as i32 >> 20) as u32
}

/// Offset of a conditional branch.
fn branch_offset(word: u32) -> u32 {
    (word as i32 >> 31 << 12) as u32 | (word >> 7 & 1) << 11 | (word >> 25 & 63) << 5 | (word >> 8 & 15) << 1
}

/// Offset of JAL.
fn jump_offset(word: u32) -> u32 {
    (word as i32 >> 31 << 20) as u32 | (word & 0xf_f000) | (word >> 20 & 1) << 11 | (word >> 21 & 0x3ff) << 1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn offsets_are_sign_extended() {
        // As an assembler puts them: j . - 4; beq x0, x0, . - 8; addi x2, x2, -16.
        assert_eq!(jump_offset(0xffdf_f06f) as i32, -4);
        assert_eq!(branch_offset(0xfe00_0ce3) as i32, -8);
        assert_eq!(immediate(0xff01_0113) as i32, -16);
    }
}
