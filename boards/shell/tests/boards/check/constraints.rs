//! Constraints against a netlist: names that mean nothing, and crossings without a bound, are found.

use super::{fixtures, netlist};
use crate::yosys::yosys;
use spindle_boards::check::boxes::{Boxes, Pin};
use spindle_boards::check::cdc::{self, Rules};
use spindle_boards::check::constraints::{self, Outcome};

/// A top with a clock from a pad, a vendor block that makes another, a synchroniser and a Gray counter between them.
fn top() -> String {
    format!(
        "{level}
(* blackbox *) module IBUFDS(input I, input IB, output O); endmodule
(* blackbox *) module vendor(input refclk, output clk, input [1:0] tdata); endmodule
module core(input a, input b, input reset_a, input reset_b, input [3:0] d, output [1:0] out, output lit);
  reg [3:0] sent = 0;
  reg [3:0] taken = 0;
  assign out = taken[1:0];
{gray}
  reg flag = 0;
  wire seen;
  always @(posedge b) flag <= d[3];
  level back(.clock(a), .reset(reset_a), .level(flag), .seen(seen));
  reg [1:0] kept = 0;
  always @(posedge a) kept <= kept + seen;
  assign lit = kept[1];
endmodule
module top(input board_clk_p, input board_clk_n, input [3:0] d, output lit);
  wire a, b;
  wire [1:0] out;
  IBUFDS pad(.I(board_clk_p), .IB(board_clk_n), .O(a));
  vendor mac(.refclk(a), .clk(b), .tdata(out));
  core shell(.a(a), .b(b), .reset_a(d[0]), .reset_b(d[1]), .d(d), .out(out), .lit(lit));
endmodule
",
        level = fixtures::LEVEL,
        gray = fixtures::GRAY
    )
}

const CLOCK: &str = "create_clock -name board_clk -period 10.000 [get_ports {board_clk_p}]\n";
const MAC: &str = "[get_clocks -of_objects [get_pins {mac/clk}]]";

fn cells(pattern: &str) -> String {
    format!("[get_cells -hierarchical -filter {{NAME =~ {pattern}}}]")
}

/// Constraints without a fault, a line each.
fn lines() -> Vec<String> {
    let (near, back) = (cells("*shell/near*"), cells("*back/near*"));
    vec![
        CLOCK.trim().to_owned(),
        "set_false_path -from [get_ports {d[3]}]".to_owned(),
        format!("set_property ASYNC_REG TRUE {near}"),
        format!("set_max_delay -datapath_only -from [get_clocks {{board_clk}}] -to {near} 3.103"),
        format!("set_bus_skew -from [get_clocks {{board_clk}}] -to {near} 3.103"),
        format!("set_max_delay -datapath_only -from {MAC} -to {back} 3.103"),
    ]
}

fn judge(lines: &[String]) -> Option<Outcome> {
    let netlist = netlist(&yosys()?, &[("top.v".into(), top())], "top", &[]);
    let mut boxes = Boxes::primitives();
    let pins = [("refclk", Pin::Clock), ("clk", Pin::Clock), ("tdata", Pin::Of("clk".into()))];
    boxes.add("vendor", pins.map(|(name, pin)| (name.to_owned(), pin)));
    let rules = Rules { boxes, ..Rules::default() }.port("d", "");
    let report = cdc::check(&netlist, &rules).unwrap_or_else(|sentence| panic!("{sentence}"));
    Some(
        constraints::check(&lines.join("\n"), &netlist, &rules, &report)
            .unwrap_or_else(|sentence| panic!("{sentence}")),
    )
}

#[test]
fn what_is_right_resolves() {
    let Some(outcome) = judge(&lines()) else { return };
    let pair = |from: &str, to: &str| outcome.pairs[&(from.to_owned(), to.to_owned())].bounded;
    assert_eq!((pair("board_clk_p", "mac/clk"), pair("mac/clk", "board_clk_p")), (1, 1));
    assert_eq!((outcome.names, outcome.findings), (9, vec![]));
}

#[test]
fn what_is_wrong_is_found() {
    for (line, from, to, sentence) in [
        (0, "board_clk_p", "board_clk_q", "line 1: `get_ports board_clk_q` finds nothing in `top`; correct the name"),
        (1, "d[3]", "d[4]", "line 2: `get_ports d[4]` finds nothing in `top`; correct the name"),
        (
            1,
            "get_ports {d[3]}",
            "get_pins {mac/tkeep}",
            "line 2: `get_pins mac/tkeep` finds nothing in `top`; correct the name",
        ),
        (
            2,
            "*shell/near*",
            "*shell/nearer*",
            "line 3: no cell of the netlist is called `*shell/nearer*`; correct the pattern",
        ),
        (
            3,
            "get_clocks {board_clk}",
            "get_clocks {core_clk}",
            "line 4: `get_clocks core_clk` finds nothing in `top`; correct the name",
        ),
        (
            4,
            "get_clocks {board_clk}",
            "get_clocks -of_objects [get_pins {mac/clk}]",
            "line 5: no crossing from `mac/clk` ends at `*shell/near*`; remove set_bus_skew, or correct it",
        ),
        (5, "mac/clk", "mac/tdata", "line 6: set_max_delay is not from a clock to cells; write it so"),
        (
            5,
            "*back/near*",
            "*back/far*",
            "line 6: no crossing from `mac/clk` ends at `*back/far*`; remove set_max_delay, or correct it",
        ),
    ] {
        let mut lines = lines();
        assert!(lines[line].contains(from), "{from}");
        lines[line] = lines[line].replace(from, to);
        let Some(outcome) = judge(&lines) else { return };
        assert!(outcome.findings.iter().any(|found| found == sentence), "{sentence}: {:?}", outcome.findings);
    }
}

#[test]
fn a_crossing_without_a_bound_is_found() {
    let begin =
        "the crossing from `shell.sent[3:0]` (clock `board_clk_p`) to `shell.near[3:0]` (clock `mac/clk`) has no ";
    let end = "; add it to the crossings of the shell";
    for (line, missing) in [(3, "set_max_delay"), (4, "set_bus_skew")] {
        let mut lines = lines();
        lines.remove(line);
        let Some(outcome) = judge(&lines) else { return };
        assert_eq!(outcome.findings, [format!("{begin}{missing}{end}")]);
    }
    let Some(outcome) = judge(&lines()[..1]) else { return };
    let back = "the crossing from `shell.flag` (clock `mac/clk`) to `shell.back.near` (clock `board_clk_p`) has no set_max_delay";
    let both = format!("{begin}set_max_delay and no set_bus_skew{end}");
    assert_eq!(outcome.findings, [both, format!("{back}{end}")]);
}
