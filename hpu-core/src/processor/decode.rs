//! The decoder of RV32IMA, Zicsr (counters, read only), Zifencei, Zba, Zbb and Zbs, after the
//! [predecoder](super::predecode).

use super::alu::AluControl;
use super::bit_unit::BitControl;
use super::predecode::CodeWord;
use super::stages::Traits;
use spindle_verilog::prelude::*;

/// A decoded instruction. Of an illegal word only `traits.illegal` and `traits.breaks` mean anything: the rest may be
/// that of any instruction.
#[derive(LogicStruct, Copy, Clone, Debug, Default, PartialEq)]
pub struct Decoded {
    /// Its class.
    pub traits: Traits,
    /// Register that it writes, 0 = none.
    pub rd: Bits<5>,
    /// First register that it reads, 0 = none.
    pub rs1: Bits<5>,
    /// Second register that it reads, 0 = none.
    pub rs2: Bits<5>,
    /// `rs1` if it reads one: a field of the word, which is there before the instruction is understood.
    pub find_a: Bits<5>,
    /// The register is read.
    pub reads_a: Bit,
    /// `rs2` if it reads one, as early.
    pub find_b: Bits<5>,
    /// The register is read.
    pub reads_b: Bit,
    /// Address, or target of JAL and JALR, less the first operand; 0 for atomics.
    pub offset: Bits<32>,
    /// The offset of a load or store, plus 4.
    pub next_offset: Bits<13>,
    /// That of a JALR is 0.
    pub no_offset: Bit,
    /// Target of a branch or JAL less the program counter, halved.
    pub distance: Bits<17>,
    /// Operand a is the program counter: AUIPC, JAL.
    pub a_is_pc: Bit,
    /// It reads a counter or a constant, whose number are bits 31:20 of the word.
    pub counts: Bit,
    /// Bits 31:12 of operand b, if it is no register's: of the next address, a short immediate, a long one, a counter.
    pub upper: Bits<2>,
    /// Bits 11:0: of a long immediate, a short one, the next address, a counter.
    pub lower: Bits<2>,
    /// Bits 31:12, of which the immediate is made.
    pub field: Bits<20>,
    /// Bits 14:12.
    pub funct3: Bits<3>,
    /// Bits 31:27.
    pub funct5: Bits<5>,
    /// REV8, if it turns.
    pub reverses: Bit,
    /// For the ALU, whose result is b for LUI, links and counters.
    pub alu: AluControl,
    /// For the bit unit.
    pub unit: BitControl,
}

/// Operand b, if it is not a register.
#[hdl_fn]
pub fn second_operand(decoded: Decoded, link: Bits<32>, counter: Bits<32>) -> Bits<32> {
    let short = sext::<32, 12>(decoded.field.get_bits::<12>(8));
    let long = (decoded.field, bits::<12>(0)).cat::<32>();
    let upper = select(decoded.upper, [link, short, long, counter]);
    let lower = select(decoded.lower, [long, short, link, counter]);
    (upper.get_bits::<20>(12), lower.get_bits::<12>(0)).cat::<32>()
}

/// What is added to the first operand: I, S, J, anything for atomics. Of the operations that use it bit 3 is set in JAL
/// alone, bit 4 in stores.
#[hdl_fn]
fn offset(word: Bits<32>) -> Bits<32> {
    let sign = word.get_bit(31);
    let jumps = word.get_bit(3);
    let stores = word.get_bit(4);
    let low =
        if stores { word.get_bits::<5>(7) } else { (word.get_bits::<4>(21), word.get_bit(20) & !jumps).cat::<5>() };
    (
        repeat::<12>(sign),
        if jumps { word.get_bits::<8>(12) } else { repeat::<8>(sign) },
        if jumps { word.get_bit(20) } else { sign },
        word.get_bits::<6>(25),
        low,
    )
        .cat::<32>()
}

/// How far a branch (B) or JAL (J) goes, in half words: bit 4 distinguishes them. Bits beyond the
/// size of the code are left out.
#[hdl_fn]
fn distance(word: Bits<32>) -> Bits<17> {
    let jumps = !word.get_bit(4);
    (
        if jumps { word.get_bits::<6>(12) } else { repeat::<6>(word.get_bit(31)) },
        if jumps { word.get_bit(20) } else { word.get_bit(7) },
        word.get_bits::<6>(25),
        if jumps { word.get_bits::<4>(21) } else { word.get_bits::<4>(8) },
    )
        .cat::<17>()
}

/// The ALU's control. Of operations without a result of the ALU only the comparison of branches, MIN and MAX counts.
#[hdl_fn]
fn control(word: Bits<32>) -> AluControl {
    let bitwise = word.get_bit(4);
    let first = word.get_bit(0);
    let second = word.get_bit(1);
    let fills = bitwise & !word.get_bits::<2>(2).any();
    let widens = fills & second;
    AluControl {
        shift_add: word.get_bits::<2>(0),
        invert: bitwise,
        alone: word.get_bit(2),
        pick: word.get_bits::<2>(4),
        less: fills & !first & !second,
        logic: word.get_bits::<2>(2),
        second: second & word.get_bits::<2>(2).any(),
        whole: if bitwise { word.get_bit(3) & first } else { second & first },
        shift: !bitwise & !second,
        one_hot: bitwise & (if word.get_bit(3) { !word.get_bit(2) & !second } else { word.get_bit(2) }),
        single: !bitwise & second & !first,
        extend: widens,
        narrow: first & !word.get_bit(20),
        signed: widens & first,
        arithmetic: !bitwise & !second & first,
        bytes: fills & !second & first,
    }
}

/// Decoder: combinational.
///
/// | ports | meaning |
/// |---|---|
/// | in `code` | the instruction, predecoded |
/// | out `decoded` | its meaning |
///
/// `traits.illegal` is exact: a word of no listed instruction, or one with a reserved field. Fields of FENCE and
/// FENCE.I are free, as the specification asks of simple implementations. The encoding of the
/// operations: [`operation`](super::predecode::operation).
#[block(combinational)]
pub struct Decoder {
    /// The instruction.
    pub code: Signal<In, CodeWord>,
    /// Its meaning.
    pub decoded: Signal<Out, Decoded>,
}

#[hdl]
impl Decoder {
    fn update(&mut self) {
        let code = self.code.val();
        let word = code.word;
        let f3 = word.get_bits::<3>(12);
        let none: Bits<5> = bits::<5>(0);
        let other = code.other;
        // By bits 5:4: LUI, AUIPC, jumps, counters; fences, stores, branches; late results.
        let early = other & !word.get_bit(5) & !word.get_bit(4);
        let between = other & !word.get_bit(5) & word.get_bit(4);
        let late = other & word.get_bit(5);
        let low = word.get_bits::<2>(0).any();

        let jumps = early & (word.get_bit(3) | word.get_bit(0));
        let fences = between & !word.get_bit(6);
        let plain = if word.get_bit(5) {
            word.get_bit(4)
        } else if word.get_bit(4) {
            word.get_bit(3)
        } else {
            !word.get_bit(3) & !low
        };
        self.decoded.next.traits = Traits {
            load: late & word.get_bit(1),
            store: between & word.get_bit(1),
            atomic: late & word.get_bit(0),
            accesses: other & word.get_bits::<2>(4).any() & low,
            jumps,
            to_register: early & word.get_bit(0),
            branches: between & word.get_bit(3),
            multiplies: late & word.get_bit(4) & word.get_bit(3),
            divides: late & !word.get_bit(4) & word.get_bit(3),
            bits_unit: late & word.get_bit(4) & !word.get_bit(3),
            fences,
            refetches: fences & f3.get_bit(0),
            illegal: !code.legal,
            breaks: !code.legal & other,
            late,
            plain: code.legal & (!other | plain),
        };
        self.decoded.next.rd = if between { none } else { word.get_bits::<5>(7) };
        let find_a = word.get_bits::<5>(15);
        let reads_a = !other | word.get_bits::<2>(5).any() | word.get_bit(0);
        self.decoded.next.rs1 = if reads_a { find_a } else { none };
        self.decoded.next.find_a = find_a;
        self.decoded.next.reads_a = reads_a;
        let find_b = word.get_bits::<5>(20);
        let reads_b = word.get_bit(6);
        self.decoded.next.rs2 = if reads_b { find_b } else { none };
        self.decoded.next.find_b = find_b;
        self.decoded.next.reads_b = reads_b;
        let offset = offset(word);
        let atomic = word.get_bit(5) & word.get_bit(0);
        // After each sum, so that it becomes a reset of a register.
        let next = sext::<13, 12>(offset.get_bits::<12>(0)) + 4;
        self.decoded.next.offset = if atomic { bits::<32>(0) } else { offset };
        self.decoded.next.next_offset = if atomic { bits::<13>(4) } else { next };
        self.decoded.next.no_offset = !offset.get_bits::<12>(0).any();
        self.decoded.next.distance = distance(word);
        self.decoded.next.a_is_pc = early & (word.get_bit(3) | !word.get_bit(2));
        self.decoded.next.counts = early & word.get_bit(1);
        // Of a word that reads rs2, or that has no second operand, these do not count.
        let short = !other | word.get_bit(1);
        self.decoded.next.upper = (other & !word.get_bit(3) & !word.get_bit(0), short).cat::<2>();
        self.decoded.next.lower = (other & (word.get_bit(3) | low), short).cat::<2>();
        self.decoded.next.field = word.get_bits::<20>(12);
        self.decoded.next.funct3 = f3;
        self.decoded.next.funct5 = word.get_bits::<5>(27);
        self.decoded.next.reverses = word.get_bit(29) & word.get_bit(27);
        self.decoded.next.alu = control(word);
        self.decoded.next.unit =
            BitControl { ones: word.get_bit(21), second: if f3.get_bit(2) { f3.get_bit(1) } else { word.get_bit(20) } };
    }
}
