//! Steps of loops and helper functions, which are written where they are read.

use crate::verilog::common::differential;
use spindle_verilog::prelude::*;

#[hdl_fn]
fn majority(x: Bits<3>) -> bool {
    let a = x.get_bit(0);
    let b = x.get_bit(1);
    let c = x.get_bit(2);
    (a & b) | (a & c) | (b & c)
}

#[derive(LogicBlock, Default)]
struct Steps {
    pub sets: Signal<In, Bits<8>>,
    pub clear: Signal<In, Bits<8>>,
    pub marks: Signal<In, Bits<8>>,
    pub at: Signal<In, Bits<3>>,
    pub lanes: Signal<In, Bits<64>>,
    pub marked: Signal<Out, Bits<8>>,
    pub any: Signal<Out, Bits<8>>,
    pub most: Signal<Out, Bits<2>>,
    pub twice: Signal<Out, Bits<8>>,
    pub named: Signal<Out, Bits<8>>,
}

impl Logic for Steps {
    #[hdl]
    fn update(&mut self) {
        let mut marked: Bits<8> = self.marks.val();
        let mut any: Bits<8> = bits::<8>(0);
        let mut twice: Bits<8> = bits::<8>(0);
        for i in 0..8 {
            let raises = self.sets.val().get_bit(i);
            let clears = self.clear.val().get_bit(i) & (self.at.val().index() == i);
            if raises {
                marked = marked.replace_bit(i, true);
            }
            if clears {
                marked = marked.replace_bit(i, false);
            }
            let lane = self.lanes.val().get_bits::<8>(8 * i);
            any = any | lane;
            // Each step reads the one before it twice.
            twice = (twice << 1) ^ twice ^ lane;
        }
        self.marked.next = marked;
        self.any.next = any;
        self.twice.next = twice;
        let low = majority(self.sets.val().get_bits::<3>(0));
        let high = majority(self.sets.val().get_bits::<3>(5));
        self.most.next = (high, low).cat::<2>();
        // A block's own names stay.
        let named = self.clear.val() ^ self.sets.val();
        self.named.next = named + 1;
    }
}

differential!(steps, Steps::default(), in [sets clear marks at lanes], out [marked any most twice named]);

#[test]
fn steps_are_written_where_they_are_read() {
    let text = spindle_verilog::emit(&mut Steps::default(), "steps").unwrap().to_string();
    let flat = text.split_whitespace().collect::<Vec<_>>().join(" ");
    for there in [
        "(clear[7] & (at == 3'd7)) ? 1'b0 : sets[7] ? 1'b1 : marks[7], (clear[6] &",
        "lanes[7:0] | lanes[15:8] | lanes[23:16]",
        "(sets[5] & sets[6]) | (sets[5] & sets[7]) | (sets[6] & sets[7])",
        "named_2 = clear ^ sets;",
        "assign twice = {twice_6[6:0], 1'b0} ^ twice_6 ^ lanes[63:56];",
    ] {
        assert!(flat.contains(there), "{there} is not in {text}");
    }
    for gone in ["lane_", "clears", "majority", "marked_"] {
        assert!(!flat.contains(gone), "{gone} is in {text}");
    }
}
