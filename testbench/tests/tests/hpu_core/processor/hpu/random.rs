//! Random programs: every instruction, hazards of every distance, branches both ways, all regions.
//!
//! Operands come mostly from a few registers, which change from block to block, so that neighbours depend on one another;
//! registers get fresh values often, or most would end at zero or minus one.

use rand::Rng;
use rand_chacha::ChaCha8Rng;
use spindle_contract::memory_map::{base, CONTEXT, PACKET, RETURN_ADDRESS, SCRATCH, STACK};
use spindle_hart::assembler::*;
use spindle_hart::Hart;

// Registers with a fixed duty; all others are operands.
const SCRATCH_REGISTER: u32 = 3;
const CONTEXT_REGISTER: u32 = 8;
const PACKET_REGISTER: u32 = 9;
const COUNT: u32 = 18;
const POINTER: u32 = 19;
/// Link of the subroutines.
const LINK: u32 = 5;
const RESERVED: [u32; 8] = [SP, SCRATCH_REGISTER, TP, CONTEXT_REGISTER, PACKET_REGISTER, COUNT, POINTER, LINK];

/// What distinguishes an instruction from others: opcode, funct3, and the bits that say more.
pub fn kind(word: u32) -> (u32, u32, u32) {
    let (opcode, funct3, funct7) = (word & 0x7F, word >> 12 & 7, word >> 25);
    match opcode {
        0x33 => (opcode, funct3, funct7),
        0x13 if funct3 == 1 && funct7 == 0x30 => (opcode, funct3, word >> 20),
        0x13 if funct3 & 3 == 1 => (opcode, funct3, funct7),
        0x2F => (opcode, funct3, word >> 27),
        0x73 => (opcode, funct3, word >> 20),
        0x37 | 0x17 | 0x6F => (opcode, 0, 0),
        _ => (opcode, funct3, 0),
    }
}

/// Every kind of instruction that a program may hold.
pub fn all_kinds() -> Vec<u32> {
    let mut words = vec![lui(1, 1), auipc(1, 1), jal(1, 4), jalr(1, 1, 0), FENCE, FENCE_I, zext_h(1, 1)];
    words.extend(OPS.iter().chain(&BIT_OPS).map(|code| op(*code, 1, 1, 1)));
    words.extend(SHIFTS.iter().chain(&UNARY).map(|(funct3, code)| op_imm(*funct3, 1, 1, *code)));
    words.extend([0, 2, 3, 4, 6, 7].map(|funct3| op_imm(funct3, 1, 1, 0)));
    words.extend([LB, LH, LW, LBU, LHU].map(|funct3| load(funct3, 1, 1, 0)));
    words.extend([SB, SH, SW].map(|funct3| store(funct3, 1, 1, 0)));
    words.extend([0, 1, 4, 5, 6, 7].map(|funct3| branch(funct3, 1, 1, 4)));
    words.extend(AMOS.iter().chain(&[LR, SC]).map(|funct5| amo(*funct5, 1, 1, 0)));
    words.extend(COUNTERS.map(|csr| csrr(1, csr)));
    words
}

/// Counters that can be read.
const COUNTERS: [u32; 6] = [0xC00, 0xC01, 0xC02, 0xC80, 0xC81, 0xC82];

/// Sizes of the regions that a program may use.
#[derive(Clone, Copy, Debug)]
pub struct Sizes {
    pub packet: u32,
    pub scratch: u32,
    pub context: u32,
}

/// A program under construction.
pub struct Generator<'a> {
    rng: &'a mut ChaCha8Rng,
    sizes: Sizes,
    /// Registers that are used most.
    window: Vec<u32>,
    out: Vec<u32>,
    /// Where the subroutines begin, as indices into `out`.
    subroutines: Vec<usize>,
}

/// A program of `items` pieces, about twice as many instructions. It begins at its first word.
pub fn program(rng: &mut ChaCha8Rng, sizes: Sizes, items: usize) -> Vec<u32> {
    let mut generator = Generator { rng, sizes, window: vec![6, 7, 10], out: vec![], subroutines: vec![] };
    generator.whole(items);
    generator.out
}

impl Generator<'_> {
    fn any(&mut self) -> u32 {
        if self.rng.random_range(0..4) == 0 {
            self.rng.random_range(0..32)
        } else {
            self.window[self.rng.random_range(0..self.window.len())]
        }
    }

    fn destination(&mut self) -> u32 {
        loop {
            let register = self.any();
            if !RESERVED.contains(&register) {
                return register;
            }
        }
    }

    fn constant(&mut self) -> u32 {
        let corners = [0, 1, 2, 31, 32, 0xFF, 0x7FFF_FFFF, 0x8000_0000, 0x8000_0001, 0xFFFF_FFFE, 0xFFFF_FFFF];
        match self.rng.random_range(0..4) {
            0 => corners[self.rng.random_range(0..corners.len())],
            1 => self.rng.random_range(0..256),
            2 => 1 << self.rng.random_range(0..32),
            _ => self.rng.random(),
        }
    }

    fn pick<T: Copy>(&mut self, from: &[T]) -> T {
        from[self.rng.random_range(0..from.len())]
    }

    fn whole(&mut self, items: usize) {
        self.out.push(jal(0, 0));
        for _ in 0..6 {
            self.subroutines.push(self.out.len());
            self.shuffle_window();
            for _ in 0..self.rng.random_range(1..6) {
                self.simple();
            }
            self.out.push(jalr(0, LINK, 0));
        }
        self.out[0] = jal(0, 4 * self.out.len() as i32);
        self.out.extend([
            lui(CONTEXT_REGISTER, base(CONTEXT) >> 12),
            lui(PACKET_REGISTER, base(PACKET) >> 12),
            lui(SCRATCH_REGISTER, base(SCRATCH) >> 12),
        ]);
        for item in 0..items {
            if item % 16 == 0 {
                self.shuffle_window();
            }
            self.item(true);
        }
        // The return: without offset; bit 0 of its target is ignored.
        let low = self.rng.random_range(0..2);
        self.out.extend(li(POINTER, RETURN_ADDRESS | low));
        let rd = self.destination();
        self.out.push(jalr(rd, POINTER, 0));
    }

    fn shuffle_window(&mut self) {
        self.window.clear();
        while self.window.len() < 4 {
            let register = self.rng.random_range(1..32);
            if !RESERVED.contains(&register) {
                self.window.push(register);
            }
        }
    }

    /// Anything; `nest` = a loop or a branch may hold further items.
    fn item(&mut self, nest: bool) {
        match self.rng.random_range(0..100) {
            0..84 => self.simple(),
            84..88 => {
                let to = self.pick(&self.subroutines.clone());
                self.out.push(jal(LINK, 4 * (to as i32 - self.out.len() as i32)));
            }
            88..90 => self.indirect_call(),
            kind if nest => self.nested(kind),
            _ => self.simple(),
        }
    }

    /// A call through a register.
    fn indirect_call(&mut self) {
        let to = self.pick(&self.subroutines.clone());
        let distance = 4 * (to as i32 - self.out.len() as i32);
        let upper = (distance + 0x800) >> 12;
        let low = distance - (upper << 12) + self.rng.random_range(0..2);
        self.out.extend([auipc(POINTER, upper as u32 & 0xF_FFFF), jalr(LINK, POINTER, low)]);
    }

    fn nested(&mut self, kind: u32) {
        let at = self.out.len();
        match kind {
            90..95 => {
                self.out.push(0);
                self.items(1..5, false);
                let funct3 = self.pick(&[0, 1, 4, 5, 6, 7]);
                let a = self.any();
                let b = if self.rng.random_range(0..4) == 0 { a } else { self.any() };
                self.out[at] = branch(funct3, a, b, 4 * (self.out.len() - at) as i32);
            }
            95 => {
                self.out.push(0);
                self.items(1..4, false);
                self.out[at] = jal(self.destination(), 4 * (self.out.len() - at) as i32);
            }
            96 => {
                // Bit 0 of the target is ignored.
                self.out.extend([auipc(POINTER, 0), 0]);
                self.items(1..4, false);
                let low = self.rng.random_range(0..2);
                self.out[at + 1] = jalr(self.destination(), POINTER, 4 * (self.out.len() - at) as i32 + low);
            }
            _ => {
                let tight = self.rng.random();
                self.out.push(addi(COUNT, 0, self.rng.random_range(1..12)));
                let top = self.out.len();
                if tight {
                    self.items(0..3, false);
                } else {
                    self.items(2..12, true);
                }
                // A loop within this one would change its count.
                if self.out[top..].iter().any(|word| word >> 7 & 31 == COUNT && word & 0x7F == 0x13) {
                    return;
                }
                self.out.push(addi(COUNT, COUNT, -1));
                let back = -4 * (self.out.len() - top) as i32;
                self.out.push(branch(1, COUNT, 0, back));
            }
        }
    }

    fn items(&mut self, count: std::ops::Range<usize>, nest: bool) {
        for _ in 0..self.rng.random_range(count) {
            self.item(nest);
        }
    }

    /// One piece without control flow.
    fn simple(&mut self) {
        match self.rng.random_range(0..100) {
            0..9 => {
                let (rd, value) = (self.destination(), self.constant());
                self.out.extend(li(rd, value));
            }
            9..25 => {
                let code = self.pick(&OPS);
                self.register_op(code);
            }
            25..35 => {
                let code = self.pick(&BIT_OPS);
                self.register_op(code);
            }
            35..45 => self.immediate_op(),
            45..48 => {
                let (rd, upper) = (self.destination(), self.rng.random_range(0..1 << 20));
                self.out.push(if self.rng.random() { lui(rd, upper) } else { auipc(rd, upper) });
            }
            48..72 => self.fixed_access(),
            72..80 => self.computed_access(),
            80..83 => self.loaded_pointer(),
            83..86 => self.crossing_base(),
            86..92 => self.atomic(),
            92..94 => self.counter(),
            94..95 => {
                let word = self.pick(&[FENCE, FENCE, FENCE_I, NOP]);
                self.out.push(word);
            }
            _ => self.division(),
        }
    }

    fn register_op(&mut self, code: (u32, u32)) {
        let word = op(code, self.destination(), self.any(), self.any());
        self.out.push(word);
    }

    fn immediate_op(&mut self) {
        let (rd, a) = (self.destination(), self.any());
        let word = match self.rng.random_range(0..4) {
            0 => {
                let (funct3, code) = self.pick(&SHIFTS);
                op_imm(funct3, rd, a, code | self.rng.random_range(0..32))
            }
            1 => match self.rng.random_range(0..UNARY.len() + 1) {
                i if i < UNARY.len() => op_imm(UNARY[i].0, rd, a, UNARY[i].1),
                _ => zext_h(rd, a),
            },
            _ => op_imm(self.pick(&[0, 2, 3, 4, 6, 7]), rd, a, self.rng.random_range(-2048..2048)),
        };
        self.out.push(word);
    }

    /// Division and multiplication of fresh corner values.
    fn division(&mut self) {
        let (a, b) = (self.destination(), self.destination());
        let (x, y) = (self.constant(), self.constant());
        self.out.extend(li(a, x));
        self.out.extend(li(b, y));
        let code = (1, self.rng.random_range(0..8));
        let rd = self.destination();
        self.out.push(op(code, rd, a, b));
    }

    /// A counter is read, and its value, which no simulator knows, forgotten.
    fn counter(&mut self) {
        let rd = self.destination();
        let csr = self.pick(&COUNTERS);
        self.out.extend([csrr(rd, csr), op_imm(7, rd, rd, 0)]);
    }

    /// A region's register, its bytes below and above that register.
    fn region(&mut self) -> (u32, i32, i32) {
        match self.rng.random_range(0..4) {
            0 => (PACKET_REGISTER, 0, self.sizes.packet as i32),
            1 => (SCRATCH_REGISTER, 0, self.sizes.scratch as i32),
            2 => (CONTEXT_REGISTER, 0, self.sizes.context as i32),
            _ => (SP, -(Hart::stack_bytes() as i32), 0),
        }
    }

    /// An offset for `size` bytes: few words, so that loads meet what was stored; sometimes the region's last bytes.
    fn offset(&mut self, low: i32, high: i32, size: i32) -> i32 {
        let near = if low < 0 { high - 64 } else { low };
        match self.rng.random_range(0..12) {
            0 if high - size < 2048 => high - size,
            1 => low.max(-2048),
            2 => self.rng.random_range(low.max(-2048)..=(high - size).min(2047)),
            _ => self.rng.random_range(near..=near + 64 - size),
        }
    }

    fn access(&mut self, register: u32, offset: i32, funct3: u32, store_it: bool) {
        let word = if store_it {
            store(funct3 & 3, self.any(), register, offset)
        } else {
            load(funct3, self.destination(), register, offset)
        };
        self.out.push(word);
    }

    /// Loads and stores at fixed offsets, misaligned ones too; the task page and the code are only read.
    fn fixed_access(&mut self) {
        let funct3 = self.pick(&[LB, LH, LW, LW, LW, LBU, LHU]);
        let size = 1 << (funct3 & 3);
        match self.rng.random_range(0..12) {
            0 => {
                let offset = self.rng.random_range(0..=128 - size);
                self.access(TP, offset, funct3, false);
            }
            1 => {
                // Of code, only aligned ones.
                let back = (self.out.len() as i32 * 4).min(2048);
                self.out.push(auipc(POINTER, 0));
                let offset = self.rng.random_range(-back / size..64 / size) * size;
                self.access(POINTER, offset, funct3, false);
            }
            kind => {
                let (register, low, high) = self.region();
                let offset = self.offset(low, high, size);
                self.access(register, offset, funct3, kind > 6);
            }
        }
    }

    /// An access whose address is computed just before it.
    fn computed_access(&mut self) {
        let (register, low, _) = self.region();
        let funct3 = self.pick(&[LB, LH, LW, LBU, LHU]);
        let index = self.any();
        let low = if low < 0 { -1024 } else { 0 };
        self.out.extend([op_imm(7, POINTER, index, 0x1FF), add(POINTER, POINTER, register)]);
        let (offset, store_it) = (low + self.rng.random_range(0..256), self.rng.random());
        self.access(POINTER, offset, funct3, store_it);
    }

    /// A pointer goes through memory and is used as soon as it is back.
    fn loaded_pointer(&mut self) {
        let (keep, low, high) = self.region();
        let at = self.offset(low, high, 4);
        let (register, low, high) = self.region();
        let funct3 = self.pick(&[LB, LH, LW, LBU, LHU]);
        let offset = self.offset(low, high, 1 << (funct3 & 3));
        self.out.push(store(SW, register, keep, at));
        self.out.push(lw(POINTER, keep, at));
        let store_it = self.rng.random();
        self.access(POINTER, offset, funct3, store_it);
    }

    /// The base register is in one region, the address in the next.
    fn crossing_base(&mut self) {
        let region = self.pick(&[PACKET, SCRATCH, CONTEXT, STACK]);
        let beyond = self.rng.random_range(1..1024);
        self.out.extend([lui(POINTER, base(region) >> 12), addi(POINTER, POINTER, -beyond)]);
        let (funct3, offset) = (self.pick(&[LB, LH, LW, LBU, LHU]), beyond + self.rng.random_range(0..60));
        let store_it = self.rng.random();
        self.access(POINTER, offset, funct3, store_it);
    }

    /// AMOs and pairs of LR and SC; sometimes an SC without its LR.
    fn atomic(&mut self) {
        let (register, low, high) = self.region();
        let offset = self.offset(low, high, 4) & !3;
        self.out.push(addi(POINTER, register, offset));
        if self.rng.random_range(0..3) > 0 {
            let word = amo(self.pick(&AMOS), self.destination(), POINTER, self.any());
            self.out.push(word);
            return;
        }
        let ordering = self.rng.random_range(0..4) << 25;
        if self.rng.random_range(0..8) > 0 {
            let rd = self.destination();
            self.out.push(amo(LR, rd, POINTER, 0) | ordering);
            for _ in 0..self.rng.random_range(0..3) {
                let code = self.pick(&OPS);
                self.register_op(code);
            }
        }
        let word = amo(SC, self.destination(), POINTER, self.any()) | ordering;
        self.out.push(word);
    }
}
