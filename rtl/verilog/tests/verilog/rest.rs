//! Values that rest while no one wants them.

use crate::verilog::common::differential;
use spindle_verilog::prelude::*;

#[block]
struct Resting {
    pub valid: Signal<In, Bit>,
    pub odd: Signal<In, Bit>,
    pub a: Signal<In, Bits<512>>,
    pub b: Signal<In, Bits<512>>,
    pub held: Signal<Out, Bits<512>>,
    pub chosen: Signal<Out, Bits<512>>,
    pub ever: Signal<Out, Bits<512>>,
    pub both: Signal<Out, Bits<512>>,
    kept: DFF<Bits<512>>,
}

#[hdl]
impl Resting {
    fn update(&mut self) {
        let a = self.a.val();
        let b = self.b.val();
        // Read in a register's branch alone, through a second value.
        let sum = a + b;
        let turned = (sum << 8) | (sum >> 504);
        // Read by one side of a condition, which is declared after it.
        let masked = (a & b) ^ (a >> 3);
        // Read in a branch and outside.
        let shared = a - b;
        // Read in two branches with a condition in common.
        let twice = (a | b) + a;
        let wanted = self.odd.val() ^ self.valid.val();
        let mut both: Bits<512> = b;
        if self.valid.val() {
            self.kept.d.next = turned;
            if self.odd.val() {
                both = twice;
            } else {
                both = twice ^ shared;
            }
        }
        if self.reset.val() {
            self.kept.d.next = bits::<512>(0);
        }
        self.both.next = both;
        self.chosen.next = if wanted { b } else { masked };
        self.held.next = self.kept.q.val();
        self.ever.next = shared;
    }
}

differential!(resting, Resting::default(), reset, in [valid odd a b], out [held chosen ever both]);

#[test]
fn what_rests_stands_under_the_condition_of_its_readers() {
    let text = spindle_verilog::emit(&mut Resting::default(), "resting").unwrap().to_string();
    let flat = text.split_whitespace().collect::<Vec<_>>().join(" ");
    for rests in [
        "turned = 'x; if (valid) turned = {sum[503:0], 8'd0} | {504'd0, sum[511:504]};",
        "masked = 'x; if (!wanted) masked = (a & b) ^ {3'd0, a[511:3]};",
        "twice = 'x; if (valid) twice = (a | b) + a;",
        "sum = 'x; if (valid) sum = a + b;",
    ] {
        assert!(flat.contains(rests), "{rests} is not in {text}");
    }
    assert!(flat.contains("shared = a - b;") && !flat.contains("shared = 'x"), "{text}");
    let place = |what: &str| flat.find(what).unwrap();
    assert!(place("wire wanted") < place("if (!wanted)"), "{text}");
}
