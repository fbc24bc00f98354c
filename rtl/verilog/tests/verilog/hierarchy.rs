//! Submodules: generic by number and by type, arrays, nested arrays, interfaces, and ports with awkward names.

use crate::verilog::common::differential;
use spindle_verilog::prelude::*;

#[block(combinational)]
pub struct Inverter<const N: usize> {
    pub x: Signal<In, Bits<N>>,
    pub y: Signal<Out, Bits<N>>,
}

#[hdl]
impl<const N: usize> Inverter<N> {
    fn update(&mut self) {
        self.y.next = !self.x.val();
    }
}

/// Generic by type, with a register inside.
#[block]
struct Hold<T: Synth> {
    pub d: Signal<In, T>,
    pub next: Signal<In, Bit>,
    pub q: Signal<Out, T>,
    held: Reg<T>,
}

#[hdl]
impl<T: Synth> Hold<T> {
    fn update(&mut self) {
        if self.next.val() {
            self.held.d.next = self.d.val();
        }
        self.q.next = self.held.q.val();
    }
}

#[derive(Copy, Clone, Debug, Default, PartialEq, LogicStruct)]
struct Pair {
    low: Bits<8>,
    high: Bits<3>,
}

/// Two rows of inverters.
#[block(combinational)]
struct Row {
    pub x: Signal<In, Bits<8>>,
    pub y: Signal<Out, Bits<8>>,
    cells: [Inverter<8>; 2],
}

#[hdl]
impl Row {
    fn update(&mut self) {
        self.cells[0].x.next = self.x.val();
        self.cells[1].x.next = self.cells[0].y.val() + 1;
        self.y.next = self.cells[1].y.val();
    }
}

/// Arrays of signals and submodules; submodules and registers called `next`, ports called `d`, `q` and `next`.
#[block(no_default)]
struct Tree {
    pub a: Signal<In, Bits<8>>,
    pub b: Signal<In, Bits<8>>,
    pub load: Signal<In, Bit>,
    pub rows_out: Signal<Out, Bits<24>>,
    pub words_out: Signal<Out, Bits<32>>,
    pub pair_out: Signal<Out, Pair>,
    pub next_out: Signal<Out, Bits<8>>,
    pub chain_out: Signal<Out, Bits<8>>,
    rows: [Row; 3],
    words: [Signal<Local, Bits<8>>; 4],
    chain: Vec<Hold<Bits<8>>>,
    pair: Hold<Pair>,
    next: Reg<Bits<8>>,
    _n: usize,
}

impl Default for Tree {
    fn default() -> Self {
        Self { chain: (0..3).map(|_| Hold::default()).collect(), next: Reg::new(0x5A.into()), _n: 3, ..Self::blank() }
    }
}

#[hdl]
impl Tree {
    fn update(&mut self) {
        for i in 0..3 {
            self.rows[i].x.next = self.a.val() + bits::<8>(i as u64);
        }
        self.rows_out.next = (self.rows[2].y.val(), self.rows[1].y.val(), self.rows[0].y.val()).cat::<24>();
        for i in 0..4 {
            self.words[i].next = self.b.val() << (i as u64);
        }
        self.words_out.next =
            (self.words[3].val(), self.words[2].val(), self.words[1].val(), self.words[0].val()).cat::<32>();
        self.pair.d.next = Pair { low: self.a.val(), high: self.b.val().get_bits::<3>(2) };
        self.pair.next.next = self.load.val();
        self.pair_out.next = self.pair.q.val();
        self.next.d.next = self.next.q.val() + self.a.val();
        self.next_out.next = self.next.q.val();
        for i in 0..self._n {
            self.chain[i].next.next = self.load.val() | self.a.val().get_bit(i);
            if i == 0 {
                self.chain[i].d.next = self.b.val();
            } else {
                self.chain[i].d.next = self.chain[i - 1].q.val();
            }
        }
        self.chain_out.next = self.chain[self._n - 1].q.val();
    }
}

differential!(trees, Tree::default(), reset, in [a b load], out [rows_out words_out pair_out next_out chain_out]);

/// Holds of three widths, which are one module, and a second one of the same width as the first.
#[block]
struct Widths {
    pub a: Signal<In, Bits<16>>,
    pub load: Signal<In, Bit>,
    pub wide_out: Signal<Out, Bits<16>>,
    pub middle_out: Signal<Out, Bits<8>>,
    pub narrow_out: Signal<Out, Bits<3>>,
    pub again_out: Signal<Out, Bits<16>>,
    wide: Hold<Bits<16>>,
    middle: Hold<Bits<8>>,
    narrow: Hold<Bits<3>>,
    again: Hold<Bits<16>>,
}

#[hdl]
impl Widths {
    fn update(&mut self) {
        self.wide.d.next = self.a.val();
        self.wide.next.next = self.load.val();
        self.wide_out.next = self.wide.q.val();
        self.middle.d.next = self.a.val().get_bits::<8>(4);
        self.middle.next.next = !self.load.val();
        self.middle_out.next = self.middle.q.val();
        self.narrow.d.next = self.a.val().get_bits::<3>(13);
        self.narrow.next.next = self.load.val();
        self.narrow_out.next = self.narrow.q.val();
        self.again.d.next = self.wide.q.val();
        self.again.next.next = self.load.val();
        self.again_out.next = self.again.q.val();
    }
}

differential!(three_widths, Widths::default(), reset, in [a load], out [wide_out middle_out narrow_out again_out]);

#[derive(LogicInterface, Default)]
#[join = "BusSlave"]
struct BusMaster {
    pub data: Signal<Out, Bits<8>>,
    pub ready: Signal<In, Bit>,
}

#[derive(LogicInterface, Default)]
#[join = "BusMaster"]
struct BusSlave {
    pub data: Signal<In, Bits<8>>,
    pub ready: Signal<Out, Bit>,
}

#[derive(LogicBlock, Default)]
struct Source {
    pub x: Signal<In, Bits<8>>,
    pub taken: Signal<Out, Bit>,
    pub bus: BusMaster,
}

impl Logic for Source {
    #[hdl]
    fn update(&mut self) {
        self.bus.data.next = self.x.val() + 3;
        self.taken.next = self.bus.ready.val();
    }
}

#[derive(LogicBlock, Default)]
struct Sink {
    pub y: Signal<Out, Bits<8>>,
    pub bus: BusSlave,
}

impl Logic for Sink {
    #[hdl]
    fn update(&mut self) {
        self.y.next = !self.bus.data.val();
        self.bus.ready.next = self.bus.data.val().xor();
    }
}

/// Passes an interface through to a submodule.
#[derive(LogicBlock, Default)]
struct Wrapped {
    pub y: Signal<Out, Bits<8>>,
    pub bus: BusSlave,
    inner: Sink,
}

impl Logic for Wrapped {
    #[hdl]
    fn update(&mut self) {
        BusSlave::link(&mut self.bus, &mut self.inner.bus);
        self.y.next = self.inner.y.val();
    }
}

#[derive(LogicBlock, Default)]
struct Joined {
    pub x: Signal<In, Bits<8>>,
    pub y: Signal<Out, Bits<8>>,
    pub taken: Signal<Out, Bit>,
    source: Source,
    sink: Wrapped,
}

impl Logic for Joined {
    #[hdl]
    fn update(&mut self) {
        self.source.x.next = self.x.val();
        BusMaster::join(&mut self.source.bus, &mut self.sink.bus);
        self.y.next = self.sink.y.val();
        self.taken.next = self.source.taken.val();
    }
}

differential!(interfaces, Joined::default(), in [x], out [y taken]);

#[test]
fn shapes_that_differ_in_a_width_are_one_module() {
    let design = spindle_verilog::emit(&mut Tree::default(), "tree").unwrap();
    let holds: Vec<_> = design.modules.iter().filter(|m| m.name.starts_with("hold")).collect();
    assert_eq!(holds.len(), 1, "{:?}", design.modules.iter().map(|m| &m.name).collect::<Vec<_>>());
    assert!(holds[0].text.contains("parameter int WIDTH"), "{}", holds[0].text);
    let top = &design.modules.last().unwrap().text;
    for width in [8, 11] {
        assert!(top.contains(&format!("hold #(.WIDTH({width}))")), "{top}");
    }
}
