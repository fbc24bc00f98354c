//! Worst-case stack depth of the handlers of an image, from its machine code: the same for every compiler, for libraries and for
//! assembly.
//!
//! Each function is walked along its branches with the depth of the stack pointer; a call adds what the callee needs. What cannot be
//! bounded is named instead of guessed: recursion, calls through pointers, frames whose size is computed. An HPU knows no compressed
//! instructions, so every instruction is one word.

use object::read::elf::{FileHeader, SectionHeader, Sym};
use object::{elf, Endianness};
use serde::Serialize;
use spindle::image::ENTRY_SYMBOLS;
use std::collections::{BTreeMap, HashMap, HashSet};

/// Stack of a handler.
#[derive(Clone, Debug, Serialize, PartialEq, Eq)]
pub struct HandlerStack {
    /// Its symbol.
    pub handler: &'static str,
    /// Bytes at most; `None` if `unbounded` says why there is no bound.
    pub bytes: Option<u32>,
    /// Bytes of what could be followed.
    pub at_least: u32,
    /// The deepest chain of calls, from the handler on.
    pub path: Vec<String>,
    /// What has no bound or could not be followed, a sentence for each function.
    pub unbounded: Vec<String>,
}

/// Code of an image by function.
pub struct Code {
    words: HashMap<u32, u32>,
    /// Start: name and end.
    functions: BTreeMap<u32, (String, u32)>,
}

/// What a function does by itself.
#[derive(Default)]
struct Body {
    depth: u32,
    /// Target and depth at the call.
    calls: Vec<(u32, u32)>,
    unbounded: Vec<&'static str>,
}

/// What a function and all that it calls do.
#[derive(Clone, Default)]
struct Total {
    depth: u32,
    path: Vec<String>,
    unbounded: Vec<String>,
}

impl Code {
    /// The code of an image, which [`spindle::Image::parse`] has accepted.
    pub fn of(file: &[u8]) -> object::Result<Code> {
        let header = elf::FileHeader32::<Endianness>::parse(file)?;
        let endian = header.endian()?;
        let sections = header.sections(endian, file)?;
        let mut words = HashMap::new();
        let mut ends = Vec::new();
        for section in sections.iter().filter(|s| s.sh_flags(endian) & elf::SHF_EXECINSTR != 0) {
            let start = section.sh_addr(endian);
            let bytes = section.data(endian, file)?;
            ends.push((start, start.wrapping_add(bytes.len() as u32)));
            let word = |chunk: &[u8]| u32::from_le_bytes(chunk.try_into().expect("chunks of four"));
            words.extend((start..).step_by(4).zip(bytes.chunks_exact(4).map(word)));
        }
        let table = sections.symbols(endian, file, elf::SHT_SYMTAB)?;
        let mut found: BTreeMap<u32, (String, u32)> = BTreeMap::new();
        for symbol in table.iter() {
            let name = String::from_utf8_lossy(table.symbol_name(endian, symbol)?).into_owned();
            // Labels that the compiler made are no functions; labels of assembly may be.
            let label = symbol.st_type() == elf::STT_NOTYPE && !symbol.is_local() && !name.starts_with(['.', '$']);
            let address = symbol.st_value(endian);
            if (symbol.st_type() == elf::STT_FUNC || label) && words.contains_key(&address) {
                let known = found.entry(address).or_default();
                // Of several names of a function, a handler's counts.
                if known.0.is_empty() || ENTRY_SYMBOLS.contains(&name.as_str()) {
                    known.0 = name;
                }
                known.1 = known.1.max(address + symbol.st_size(endian));
            }
        }
        let starts: Vec<u32> = found.keys().copied().collect();
        for (start, (_, end)) in &mut found {
            if end == start {
                let section = ends.iter().find(|(from, to)| (from..to).contains(&start)).map_or(*start, |(_, to)| *to);
                *end = starts.iter().copied().find(|next| next > start).map_or(section, |next| next.min(section));
            }
        }
        Ok(Code { words, functions: found })
    }

    /// The handlers that the image has.
    pub fn handlers(&self) -> Vec<HandlerStack> {
        let mut known = HashMap::new();
        let handler = |(name, address): (&'static str, u32)| {
            let total = self.total(address, &mut known, &mut Vec::new());
            HandlerStack {
                handler: name,
                bytes: total.unbounded.is_empty().then_some(total.depth),
                at_least: total.depth,
                path: total.path,
                unbounded: total.unbounded,
            }
        };
        let address = |name: &'static str| {
            self.functions.iter().find(|(_, (function, _))| function == name).map(|(address, _)| (name, *address))
        };
        ENTRY_SYMBOLS.into_iter().filter_map(address).map(handler).collect()
    }

    /// A function and everything below it.
    fn total(&self, start: u32, known: &mut HashMap<u32, Total>, above: &mut Vec<u32>) -> Total {
        if let Some(total) = known.get(&start) {
            return total.clone();
        }
        let Some((name, _)) = self.functions.get(&start) else {
            let unbounded = vec![format!("{start:#010x} is called and has no symbol")];
            return Total { unbounded, ..Total::default() };
        };
        if above.contains(&start) {
            return Total { unbounded: vec![format!("{name} is recursive")], ..Total::default() };
        }
        above.push(start);
        let body = self.body(start);
        let mut total = Total {
            depth: body.depth,
            path: Vec::new(),
            unbounded: body.unbounded.iter().map(|what| format!("{name} {what}")).collect(),
        };
        for (target, depth) in body.calls {
            let below = self.total(target, known, above);
            if depth + below.depth > total.depth || (total.path.is_empty() && depth + below.depth == total.depth) {
                total.depth = depth + below.depth;
                total.path = below.path;
            }
            for sentence in below.unbounded {
                if !total.unbounded.contains(&sentence) {
                    total.unbounded.push(sentence);
                }
            }
        }
        total.path.insert(0, name.clone());
        above.pop();
        known.insert(start, total.clone());
        total
    }

    /// Walks a function along all of its branches.
    fn body(&self, start: u32) -> Body {
        let end = self.functions[&start].1;
        let mut walk = Walk {
            code: self,
            start,
            end,
            body: Body::default(),
            seen: HashSet::new(),
            jumps: Vec::new(),
            frame_pointer: None,
        };
        walk.follow(vec![(start, 0)]);
        // A jump through a register with a frame open, or beside code that nothing else reaches, goes through a table of the function's
        // own labels. Otherwise it is a call as the last act.
        if let Some(depth) = walk.jumps.iter().copied().max() {
            let rest = |walk: &Walk| (start..end).step_by(4).find(|at| !walk.seen.contains(at));
            if depth == 0 && rest(&walk).is_none() {
                walk.problem("calls through a pointer");
            }
            while let Some(at) = rest(&walk) {
                walk.follow(vec![(at, depth)]);
            }
        }
        walk.body
    }
}

/// The walk through one function.
struct Walk<'a> {
    code: &'a Code,
    start: u32,
    end: u32,
    body: Body,
    seen: HashSet<u32>,
    /// Depths at jumps through registers.
    jumps: Vec<u32>,
    /// Depth that the frame pointer stands for.
    frame_pointer: Option<u32>,
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
            if at >= self.end || !self.seen.insert(at) {
                continue;
            }
            let Some(word) = self.code.words.get(&at).copied() else { continue };
            let next = self.step(at, word, depth, &mut work);
            if let Some(depth) = next {
                self.body.depth = self.body.depth.max(depth);
                work.push((at + 4, depth));
            }
        }
    }

    /// One instruction: other places to go on at, and the depth behind it if it can be followed by the next.
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
                    self.problem("calls through a pointer");
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

    /// An instruction that writes the stack pointer: the depth behind it.
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
        let word = *self.code.words.get(&before)?;
        (word & 0x7f == AUIPC && word >> 7 & 31 == register).then(|| before.wrapping_add(word & 0xffff_f000))
    }

    /// The constant in a register, if the instructions right before `at` put it there.
    fn constant(&self, at: u32, register: u32) -> Option<u32> {
        let mut low = 0;
        for before in (1..=8).map(|i| at.wrapping_sub(4 * i)).take_while(|before| *before >= self.start) {
            let word = *self.code.words.get(&before)?;
            let (opcode, rd, rs1) = (word & 0x7f, word >> 7 & 31, word >> 15 & 31);
            match opcode {
                BRANCH | JAL | JALR => return None,
                STORE => {}
                _ if rd != register => {}
                LUI => return Some((word & 0xffff_f000).wrapping_add(low)),
                OP_IMM if word >> 12 & 7 == 0 && rs1 == 0 => return Some(immediate(word).wrapping_add(low)),
                OP_IMM if word >> 12 & 7 == 0 && rs1 == register => low = immediate(word).wrapping_add(low),
                _ => return None,
            }
        }
        None
    }
}

const OP_IMM: u32 = 0x13;
const AUIPC: u32 = 0x17;
const STORE: u32 = 0x23;
const OP: u32 = 0x33;
const LUI: u32 = 0x37;
const BRANCH: u32 = 0x63;
const JALR: u32 = 0x67;
const JAL: u32 = 0x6f;
const FENCE: u32 = 0x0f;
const SYSTEM: u32 = 0x73;
/// `csrrw x0, cycle, x0`: assemblers write it for `unimp`.
const UNIMPLEMENTED: u32 = 0xc000_1073;

/// Offset of a load or operand of OP-IMM, sign-extended.
fn immediate(word: u32) -> u32 {
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
