//! Blocks whose text shows how the back end groups, shares and leaves out: their golden texts are the point, and the comparison
//! of behaviour says that the groups are right.

use crate::verilog::common::{assert_lint_clean, differential};
use crate::verilog::hierarchy::Inverter;
use spindle_verilog::prelude::*;
use spindle_verilog::{black_box, custom_with};

/// Compares the text of a block that no model is made of.
fn golden(block: &mut impl Block, top: &str) {
    assert_lint_clean(&crate::source(block, top));
}

/// Registers by the lines of their statements: three lines share a block with others, four have one of their own.
#[block(no_default)]
struct Registers {
    pub go: Signal<In, Bit>,
    pub x: Signal<In, Bits<8>>,
    pub total: Signal<Out, Bits<8>>,
    pub marks: Signal<Out, Bits<3>>,
    pub age: Signal<Out, Bits<8>>,
    one: Reg<Bits<8>>,
    three: Reg<Bits<8>>,
    four: Reg<Bits<8>>,
    low: Reg<Bits<4>>,
    kept: [Reg<Bit>; 2],
    flag: Reg<Bit>,
    plain: DFF<Bits<8>>,
    older: DFF<Bits<8>>,
    level: DFF<Bit>,
    next: Reg<Bits<8>>,
}

impl Default for Registers {
    fn default() -> Self {
        Self {
            three: Reg::new(0x30.into()),
            kept: std::array::from_fn(|_| Reg::new(true).attr("KEEP", "TRUE").attr("DONT_TOUCH", "yes")),
            flag: Reg::new(true),
            ..Self::blank()
        }
    }
}

#[hdl]
impl Registers {
    fn update(&mut self) {
        let x = self.x.val();
        self.one.load(self.go.val(), x);
        self.three.d.next = self.three.q.val() + x;
        if self.go.val() {
            self.three.d.next = x;
        }
        if x.all() {
            self.three.d.next = self.one.q.val();
        }
        self.four.d.next = self.four.q.val() - x;
        if self.go.val() {
            self.four.d.next = x;
        }
        if x.all() {
            self.four.d.next = self.one.q.val();
        }
        if x.get_bit(0) {
            self.four.d.next = self.three.q.val();
        }
        if self.go.val() {
            self.low.d.next = x.get_bits::<4>(2);
            self.flag.d.next = x.get_bit(7);
        } else {
            self.flag.d.next = !self.flag.q.val();
        }
        for i in 0..2 {
            self.kept[i].load(x.get_bit(i), self.flag.q.val());
        }
        self.plain.d.next = x;
        if self.go.val() {
            self.older.d.next = self.plain.q.val();
            self.level.d.next = x.get_bit(1);
        } else {
            self.level.d.next = x.get_bit(3);
        }
        // The next value is read, so it has a wire.
        self.next.d.next = self.next.q.val() + 1;
        self.total.next = self.one.q.val() + self.three.q.val() + self.four.q.val() + self.next.d.val();
        self.marks.next =
            (self.kept[0].q.val() ^ self.flag.q.val(), self.kept[1].q.val(), self.level.q.val()).cat::<3>();
        self.age.next = self.older.q.val() ^ bit_cast::<8, 4>(self.low.q.val());
    }
}

differential!(registers, Registers::default(), reset, in [go x], out [total marks age]);

/// Two outputs; `carry` is often for no one.
#[block(combinational)]
struct Adder {
    pub x: Signal<In, Bits<8>>,
    pub y: Signal<In, Bits<8>>,
    pub sum: Signal<Out, Bits<8>>,
    pub carry: Signal<Out, Bit>,
}

#[hdl]
impl Adder {
    fn update(&mut self) {
        let sum = zext::<9, 8>(self.x.val()) + zext::<9, 8>(self.y.val());
        self.sum.next = sum.get_bits::<8>(0);
        self.carry.next = sum.get_bit(8);
    }
}

/// Which outputs of submodules go straight to what they are for, and which have a wire.
#[block(combinational)]
struct Wires {
    pub a: Signal<In, Bits<8>>,
    pub b: Signal<In, Bits<8>>,
    pub straight: Signal<Out, Bits<8>>,
    pub carry: Signal<Out, Bit>,
    pub low: Signal<Out, Bits<4>>,
    pub twice: Signal<Out, Bits<8>>,
    pub again: Signal<Out, Bits<8>>,
    pub named: Signal<Out, Bits<8>>,
    pub passed: Signal<Out, Bits<8>>,
    pub inner: Signal<Out, Bits<8>>,
    whole: Adder,
    part: Adder,
    shared: Adder,
    second: Adder,
    last: Adder,
    middle: Signal<Local, Bits<8>>,
    copied: Signal<Local, Bits<8>>,
}

#[hdl]
impl Wires {
    fn update(&mut self) {
        let a = self.a.val();
        let b = self.b.val();
        self.whole.x.next = a;
        self.whole.y.next = b;
        self.straight.next = self.whole.sum.val();
        self.carry.next = self.whole.carry.val();
        self.part.x.next = b;
        self.part.y.next = b;
        self.low.next = self.part.sum.val().get_bits::<4>(0);
        self.shared.x.next = self.part.sum.val();
        self.shared.y.next = a ^ b;
        self.twice.next = self.shared.sum.val();
        self.again.next = self.shared.sum.val();
        // A second name is not needed.
        let sum = self.second.sum.val();
        self.second.x.next = bits::<8>(7);
        self.second.y.next = a;
        self.named.next = !sum;
        self.last.x.next = a;
        self.last.y.next = bits::<8>(0);
        self.middle.next = self.last.sum.val();
        self.inner.next = self.middle.val() + 1;
        // Not the output of a submodule, though it is read once.
        self.copied.next = self.b.val();
        self.passed.next = self.copied.val() + 2;
    }
}

differential!(wires, Wires::default(), in [a b], out [straight carry low twice again named passed inner]);

/// Gives every cell a word and a level of its own, and a word to all.
#[block(combinational)]
struct Spread {
    pub seed: Signal<In, Bits<8>>,
    pub word: [Signal<Out, Bits<8>>; 3],
    pub level: [Signal<Out, Bit>; 3],
}

#[hdl]
impl Spread {
    fn update(&mut self) {
        for i in 0..3 {
            self.word[i].next = self.seed.val() + bits::<8>(i * 50 + 3);
            self.level[i].next = self.seed.val().get_bit(i);
        }
    }
}

/// Takes a nibble; `spare` is for no one.
#[block(combinational)]
struct Cell {
    pub nibble: Signal<In, Bits<4>>,
    pub level: Signal<In, Bit>,
    pub word: Signal<In, Bits<8>>,
    pub mixed: Signal<Out, Bits<8>>,
    pub spare: Signal<Out, Bit>,
}

#[hdl]
impl Cell {
    fn update(&mut self) {
        let nibble = zext::<8, 4>(self.nibble.val());
        self.mixed.next = if self.level.val() { nibble + self.word.val() } else { nibble };
        self.spare.next = self.nibble.val().any();
    }
}

/// Loops around single instances. Only a part of a word goes to a cell, and two loops leave an output open.
#[block(combinational)]
struct Loops {
    pub seed: Signal<In, Bits<8>>,
    pub ways: [Signal<In, Bits<8>>; 3],
    pub first: Signal<Out, Bits<8>>,
    pub mixed: [Signal<Out, Bits<8>>; 3],
    pub low: Signal<Out, Bits<4>>,
    pub turned: Signal<Out, Bits<8>>,
    before: Inverter<8>,
    cells: [Cell; 3],
    spread: Spread,
    others: [Cell; 2],
    lone: [Inverter<8>; 1],
    after: Inverter<8>,
}

#[hdl]
impl Loops {
    fn update(&mut self) {
        self.spread.seed.next = self.seed.val();
        self.before.x.next = self.seed.val();
        self.first.next = self.before.y.val();
        for i in 0..3 {
            self.cells[i].nibble.next = self.spread.word[i].val().get_bits::<4>(0);
            self.cells[i].level.next = self.spread.level[i].val();
            self.cells[i].word.next = self.seed.val();
            self.mixed[i].next = self.cells[i].mixed.val() ^ self.ways[i].val();
        }
        for i in 0..2 {
            self.others[i].nibble.next = bits::<4>(9);
            self.others[i].level.next = self.seed.val().get_bit(i + 2);
            self.others[i].word.next = self.cells[i].mixed.val();
        }
        self.low.next = self.others[0].mixed.val().get_bits::<4>(0) ^ self.others[1].mixed.val().get_bits::<4>(3);
        self.lone[0].x.next = self.ways[0].val();
        self.after.x.next = self.lone[0].y.val();
        self.turned.next = self.after.y.val();
    }
}

/// The ports of [`Loops`] without arrays, which the comparison does not name.
#[block(combinational)]
struct FlatLoops {
    pub seed: Signal<In, Bits<8>>,
    pub ways: Signal<In, Bits<24>>,
    pub first: Signal<Out, Bits<8>>,
    pub mixed: Signal<Out, Bits<24>>,
    pub low: Signal<Out, Bits<4>>,
    pub turned: Signal<Out, Bits<8>>,
    loops: Loops,
}

#[hdl]
impl FlatLoops {
    fn update(&mut self) {
        self.loops.seed.next = self.seed.val();
        for i in 0..3 {
            self.loops.ways[i].next = self.ways.val().get_bits::<8>(8 * i);
        }
        self.first.next = self.loops.first.val();
        self.mixed.next = (self.loops.mixed[2].val(), self.loops.mixed[1].val(), self.loops.mixed[0].val()).cat::<24>();
        self.low.next = self.loops.low.val();
        self.turned.next = self.loops.turned.val();
    }
}

differential!(loops_of_parts, FlatLoops::default(), in [seed ways], out [first mixed low turned]);

#[derive(Copy, Clone, Debug, Default, PartialEq, LogicStruct)]
struct Header {
    kind: Bits<4>,
    // A word of C++, which no field of the model can be called.
    short: Bit,
    length: Bits<11>,
}

#[derive(Copy, Clone, Debug, Default, PartialEq, LogicStruct)]
struct Packet {
    header: Header,
    body: Bits<20>,
    first: Bit,
    last: Bit,
}

/// Parts of fields, up to the end of the field and beyond.
#[block]
struct Parts {
    pub x: Signal<In, Packet>,
    pub at: Signal<In, Bits<2>>,
    pub top: Signal<Out, Bits<6>>,
    pub mark: Signal<Out, Bit>,
    pub across: Signal<Out, Bits<5>>,
    pub whole: Signal<Out, Packet>,
    pub length: Signal<Out, Bits<11>>,
    held: Reg<Packet>,
    picked: DFF<Bits<4>>,
}

#[hdl]
impl Parts {
    fn update(&mut self) {
        let x = self.x.val();
        self.top.next = x.body.get_bits::<6>(14);
        self.mark.next =
            x.header.length.get_bit(10) ^ x.header.short ^ self.picked.q.val().get_bit(self.at.val().index());
        // Two fields at once have no name.
        self.across.next = pack::<Header, 16>(x.header).get_bits::<5>(2);
        if x.last {
            self.held.d.next.header.length = x.header.length + 1;
            self.held.d.next.first = x.first;
            self.picked.d.next = x.header.kind;
        } else {
            self.held.d.next = x;
        }
        self.whole.next = self.held.q.val();
        self.length.next = self.held.q.val().header.length;
    }
}

differential!(parts_of_fields, Parts::default(), reset, in [x at], out [top mark across whole length]);

/// A delay with a hand-written body, whose width is a parameter of one module.
#[block(no_reset)]
struct Delay<const N: usize> {
    pub x: Signal<In, Bits<N>>,
    pub y: Signal<Out, Bits<N>>,
}

impl<const N: usize> Logic for Delay<N> {
    fn update(&mut self) {
        if self.clock.pos_edge() {
            self.y.next = self.x.val();
        }
    }

    fn connect(&mut self) {
        self.y.connect();
    }

    fn hdl(&self) -> Verilog {
        let body = "\n  always @(posedge clock) y <= x;   \n\n";
        custom_with("delay", &[("WIDTH", N)], &[("x", "WIDTH"), ("y", "WIDTH")], body)
    }
}

/// Delays of two widths.
#[block(no_reset)]
struct Delays {
    pub x: Signal<In, Bits<8>>,
    pub y: Signal<Out, Bits<8>>,
    pub low: Signal<Out, Bits<3>>,
    wide: Delay<8>,
    narrow: Delay<3>,
}

#[hdl]
impl Delays {
    fn update(&mut self) {
        self.wide.x.next = self.x.val();
        self.y.next = self.wide.y.val();
        self.narrow.x.next = self.x.val().get_bits::<3>(5);
        self.low.next = self.narrow.y.val();
    }
}

differential!(hand_written_modules, Delays::default(), clocked, in [x], out [y low]);

#[test]
fn hand_written_top() {
    // As the top of a design the module has its values as defaults.
    golden(&mut Delay::<5>::default(), "corpus_hand_written_top");
}

/// A pad of both directions, which a vendor's library brings.
#[block(combinational)]
struct Pad {
    pub from: Signal<In, Bit>,
    pub open: Signal<In, Bit>,
    pub to: Signal<Out, Bit>,
    pub pin: Signal<InOut, Bit>,
}

impl Logic for Pad {
    fn update(&mut self) {}

    fn connect(&mut self) {
        self.to.connect();
        self.pin.connect();
    }

    fn hdl(&self) -> Verilog {
        let declaration = "(* blackbox *)\nmodule PAD #(parameter DRIVE = 4) (\n  input from,\n  input open,\n  \
                           output to,\n  inout pin\n);\nendmodule";
        black_box("PAD", &[("DRIVE", "12")], declaration)
    }
}

/// Two pads side by side: an array of what has a pin of both directions is no loop. Nothing in the language connects such a pin, so
/// that each is a net of its own.
#[block(combinational)]
struct Pads {
    pub x: Signal<In, Bits<2>>,
    pub y: Signal<Out, Bits<2>>,
    pads: [Pad; 2],
}

#[hdl]
impl Pads {
    fn update(&mut self) {
        for i in 0..2 {
            self.pads[i].from.next = self.x.val().get_bit(i);
            self.pads[i].open.next = self.x.val().get_bit(1 - i);
        }
        self.y.next = (self.pads[1].to.val(), self.pads[0].to.val()).cat::<2>();
    }
}

#[test]
fn black_boxes() {
    crate::source(&mut Pads::default(), "corpus_black_boxes");
}

/// A name for every case: acronyms, digits, states, the same local twice, and what a helper function shares with its caller.
#[derive(Copy, Clone, Debug, PartialEq, LogicState)]
enum DMAState {
    Idle,
    ReadL1Cache,
    WriteDMA,
}

#[hdl_fn]
fn parity_of(value: Bits<8>) -> Bit {
    let folded = value ^ (value >> 4);
    let again = folded ^ (folded >> 2);
    (again ^ (again >> 1)).get_bit(0)
}

#[block]
struct RDMAReadL1 {
    pub value: Signal<In, Bits<8>>,
    pub go: Signal<In, Bit>,
    pub odd: Signal<Out, Bit>,
    pub total: Signal<Out, Bits<8>>,
    pub state_out: Signal<Out, DMAState>,
    state: Reg<DMAState>,
    folded: Reg<Bits<8>>,
}

#[hdl]
impl RDMAReadL1 {
    fn update(&mut self) {
        match self.state.q.val() {
            DMAState::Idle => {
                if self.go.val() {
                    self.state.d.next = DMAState::ReadL1Cache;
                }
            }
            DMAState::ReadL1Cache => self.state.d.next = DMAState::WriteDMA,
            DMAState::WriteDMA => {
                if parity_of(self.folded.q.val()) {
                    self.state.d.next = DMAState::Idle;
                }
            }
        }
        self.folded.load(self.go.val(), self.value.val());
        let sum = self.value.val() + self.folded.q.val();
        let sum = (sum << 1) + sum;
        self.odd.next = parity_of(self.value.val()) ^ parity_of(sum);
        self.total.next = sum;
        self.state_out.next = self.state.q.val();
    }
}

/// One inside another, so that the inner one is named after its type.
#[block]
struct Named {
    pub value: Signal<In, Bits<8>>,
    pub go: Signal<In, Bit>,
    pub odd: Signal<Out, Bit>,
    pub total: Signal<Out, Bits<8>>,
    pub state_out: Signal<Out, DMAState>,
    reader: RDMAReadL1,
}

#[hdl]
impl Named {
    fn update(&mut self) {
        self.reader.value.next = self.value.val();
        self.reader.go.next = self.go.val();
        self.odd.next = self.reader.odd.val();
        self.total.next = self.reader.total.val();
        self.state_out.next = self.reader.state_out.val();
    }
}

differential!(names, Named::default(), reset, in [value go], out [odd total state_out]);

/// A choice of two levels is an expression; one of three levels, or with locals of its own, is a block of statements.
#[block(combinational)]
struct Choices {
    pub a: Signal<In, Bits<8>>,
    pub b: Signal<In, Bits<8>>,
    pub go: Signal<In, Bits<3>>,
    pub two: Signal<Out, Bits<8>>,
    pub three: Signal<Out, Bits<8>>,
    pub nested: Signal<Out, Bits<8>>,
    pub locals: Signal<Out, Bits<8>>,
    pub full: Signal<Out, Bits<8>>,
    pub some: Signal<Out, Bits<8>>,
}

#[hdl]
impl Choices {
    fn update(&mut self) {
        let a = self.a.val();
        let b = self.b.val();
        let go = self.go.val();
        let two = if go.get_bit(0) {
            a
        } else if go.get_bit(1) {
            b
        } else {
            a + b
        };
        self.two.next = two ^ 1;
        let three = if go.get_bit(0) {
            a
        } else if go.get_bit(1) {
            b
        } else if go.get_bit(2) {
            a - b
        } else {
            a + b
        };
        self.three.next = three ^ 1;
        self.nested.next = if go.get_bit(0) {
            if go.get_bit(1) {
                if go.get_bit(2) {
                    a
                } else {
                    b
                }
            } else {
                a & b
            }
        } else {
            a | b
        };
        self.locals.next = if go.all() {
            let sum = a + b;
            sum ^ (sum >> 1)
        } else {
            b
        };
        match go.get_bits::<2>(0).index() {
            0 => self.full.next = a,
            1 | 2 => self.full.next = b,
            3 => self.full.next = a ^ b,
            _ => self.full.next = a & b,
        }
        self.some.next = a;
        match go.index() {
            1 => {}
            2 | 5 => self.some.next = b,
            6 => {
                if a.any() {
                    self.some.next = a + 1;
                }
            }
            _ => {}
        }
    }
}

differential!(choices, Choices::default(), in [a b go], out [two three nested locals full some]);
