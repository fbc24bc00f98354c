//! What the back end refuses of blocks, bundles and stages.

use crate::verilog::refused::check;
use spindle_verilog::prelude::*;

macro_rules! refused {
    ($($test:ident: $block:ident says $($words:literal),+;)*) => {
        $(#[test] fn $test() {
            let source = include_str!("refused_blocks.rs");
            check(spindle_verilog::emit(&mut $block::default(), "top"), source, "refused_blocks.rs", &[$($words),+]);
        })*
    };
}

/// One word of buffer.
#[block]
struct Slot {
    write: Sink<Bits<8>>,
    read: Source<Bits<8>>,
    word: DFF<Bits<8>>,
    full: Reg<Bit>,
}

#[hdl]
impl Slot {
    fn update(&mut self) {
        let advance = self.read.ready.val() | !self.full.q.val();
        if advance {
            self.word.d.next = self.write.val();
            self.full.d.next = self.write.valid.val();
        }
        self.write.ready.next = advance;
        self.read.next = self.word.q.val();
        self.read.valid.next = self.full.q.val();
    }
}

#[block]
struct HalfDriven {
    x: Signal<In, Bits<8>>,
    out: Source<Bits<8>>,
}

#[hdl]
impl HalfDriven {
    fn update(&mut self) {
        // here
        self.out.next = self.x.val();
    }
}

#[block]
struct JoinedSometimes {
    go: Signal<In, Bit>,
    write: Sink<Bits<8>>,
    read: Source<Bits<8>>,
    slot: Slot,
}

#[hdl]
impl JoinedSometimes {
    fn update(&mut self) {
        if self.go.val() {
            self.write.join(&mut self.slot.write); // here
        }
        self.slot.read.join(&mut self.read);
    }
}

#[block(no_reset)]
struct Resetless {
    x: Signal<In, Bit>,
    y: Signal<Out, Bit>,
    held: Reg<Bit>,
}

#[hdl]
impl Resetless {
    fn update(&mut self) {
        // here
        self.held.d.next = self.x.val();
        self.y.next = self.held.q.val();
    }
}

#[block(combinational)]
struct Clockless {
    x: Signal<In, Bit>,
    y: Signal<Out, Bit>,
    held: DFF<Bit>,
}

#[hdl]
impl Clockless {
    fn update(&mut self) {
        // here
        self.held.d.next = self.x.val();
        self.y.next = self.held.q.val();
    }
}

#[block(combinational)]
struct ForeignMethod {
    x: Signal<In, Bits<8>>,
    y: Signal<Out, Bits<8>>,
}

impl ForeignMethod {
    fn double(&mut self, x: Bits<8>) -> Bits<8> {
        x + x
    }
}

#[hdl]
impl ForeignMethod {
    fn update(&mut self) {
        self.y.next = self.double(self.x.val()); // here
    }
}

#[block(combinational)]
struct WideConstant {
    x: Signal<In, Bits<4>>,
    y: Signal<Out, Bit>,
}

/// More than four bits hold.
const WIDE: u16 = 300;

#[hdl]
impl WideConstant {
    fn update(&mut self) {
        self.y.next = self.x.val() == bits(WIDE); // here
    }
}

refused! {
    bundle_without_valid: HalfDriven says "`out.valid` is never assigned", "give it a value";
    join_under_a_condition: JoinedSometimes says "is not assigned on every path";
    register_in_a_block_without_reset: Resetless says "`held` has a reset, but its block has none", "without no_reset";
    register_in_a_block_without_clock: Clockless says "`held.clock` is never assigned";
    method_that_is_no_stage: ForeignMethod says "`double` is not a stage of this block", "the same #[hdl] impl";
    constant_that_does_not_fit: WideConstant says "300 does not fit in 4 bits";
}
