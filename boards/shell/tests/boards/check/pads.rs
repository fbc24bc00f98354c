//! Pads with a constant: HBM_CATTRIP that is not driven by 0 destroys cards.

use super::netlist;
use crate::yosys::yosys;
use spindle_boards::check::boxes::Boxes;
use spindle_boards::check::pads;
use spindle_boards::data::Board;

/// The findings in a top of the U50 whose pad gets this.
fn judge(cattrip: &str) -> Option<Vec<String>> {
    let text = format!(
        "(* blackbox *) module OBUF(input I, output O); endmodule
module top(input d, output hbm_cattrip, output sc_uart_txd);
  OBUF txd(.I(1'b1), .O(sc_uart_txd));
  {cattrip}
endmodule
"
    );
    let netlist = netlist(&yosys()?, &[("top.v".into(), text)], "top", &[]);
    let board = Board::named("u50").unwrap();
    Some(pads::check(&board, &netlist, &Boxes::primitives()).unwrap())
}

#[test]
fn constants_have_to_be_driven() {
    let Some(found) = judge("OBUF trip(.I(1'b0), .O(hbm_cattrip));") else { return };
    assert_eq!(found, Vec::<String>::new());
    for (text, what) in [
        ("", "is not driven"),
        ("wire open; OBUF trip(.I(open), .O(hbm_cattrip));", "is not driven"),
        ("OBUF trip(.O(hbm_cattrip));", "is not driven"),
        ("OBUF trip(.I(1'b1), .O(hbm_cattrip));", "is driven by 1"),
        ("OBUF trip(.I(d), .O(hbm_cattrip));", "is driven by a signal"),
    ] {
        let found = judge(text).expect("the tool is there");
        let line = Board::named("u50").unwrap().pin("hbm_cattrip").unwrap().line;
        let place = format!("boards/u50/board.toml:{line}");
        assert_eq!(found, [format!("{place}: `hbm_cattrip` {what}, and has to be driven by the constant 0")], "{text}");
    }
}
