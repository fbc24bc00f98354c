//! Clock crossings: what is right is listed, what is wrong is a sentence.

use super::{fixtures, netlist};
use crate::yosys::yosys;
use spindle_boards::check::cdc::{self, Report, Rules};

/// What is found in a top of [`fixtures::top`] with this body.
fn judge(body: &str, rules: &Rules) -> Option<Report> {
    let netlist = netlist(&yosys()?, &[("top.v".into(), fixtures::top(body))], "top", &[]);
    Some(cdc::check(&netlist, rules).unwrap_or_else(|sentence| panic!("{sentence}")))
}

/// The list of a body without a finding.
fn right(body: &str, rules: &Rules, wanted: &str) {
    let Some(report) = judge(body, rules) else { return };
    assert_eq!(report.findings, Vec::<String>::new(), "{body}");
    assert_eq!(cdc::list(&report), wanted, "{body}");
}

/// The only finding in a body.
fn wrong(body: &str, wanted: &str) {
    let Some(report) = judge(body, &Rules::default()) else { return };
    assert_eq!(report.findings, [wanted], "{body}");
}

const SENT: &str = "  always @(posedge a) if (reset_a) sent <= 0; else sent <= d;\n";

#[test]
fn levels_and_gray_code_are_listed() {
    let level = format!(
        "{SENT}  wire seen;\n  level one(.clock(b), .reset(reset_b), .level(sent[2]), .seen(seen));\n  \
         always @(posedge b) taken <= taken + seen;"
    );
    right(&level, &Rules::default(), "a -> b\n  level        sent[2] -> one.near\n");
    right(fixtures::GRAY, &Rules::default(), "a -> b\n  gray         sent[3:0] -> near[3:0]\n");
    // The code of the counter's next value, whether it counts or not.
    let always = fixtures::GRAY.replace("else if (d[0]) begin", "else begin").replace("count + 1", "count + d[0]");
    right(&always, &Rules::default(), "a -> b\n  gray         sent[3:0] -> near[3:0]\n");
    // The counter stays by a multiplexer.
    let chosen = "  wire [3:0] next = d[0] ? count + 4'd1 : count;";
    let stays =
        fixtures::GRAY.replace("  wire [3:0] next = count + 1;", chosen).replace("else if (d[0]) begin", "else begin");
    right(&stays, &Rules::default(), "a -> b\n  gray         sent[3:0] -> near[3:0]\n");
    let without_reset = fixtures::GRAY.replace("if (reset_a) begin count <= 0; sent <= 0; end else if", "if");
    right(&without_reset, &Rules::default(), "a -> b\n  gray         sent[3:0] -> near[3:0]\n");
}

#[test]
fn a_bus_crosses_with_a_guard() {
    // A word that stands still from the rise of `full` until it is taken.
    let body = format!(
        "{SENT}  reg full = 0; wire seen; reg was = 0;
  always @(posedge a) if (reset_a) full <= 0; else full <= d[1];
  level valid(.clock(b), .reset(1'b0), .level(full), .seen(seen));
  always @(posedge b) begin was <= seen; if (seen & ~was) taken <= sent; end"
    );
    let reason = "the word stands still while `full` is up";
    let rules = Rules::default().held("sent", "taken", "valid.near", reason);
    let wanted = format!(
        "a -> b\n  level        full -> valid.near\n  held         sent[3:0] -> taken[3:0], guarded by valid.near: {reason}\n"
    );
    right(&body, &rules, &wanted);
    // The guard has to be there, between the same clocks in the same direction, and the names have to be of one instance.
    let finding =
        "register `sent[3:0]` (clock `a`) reaches register `taken[3:0]` (clock `b`) without a synchroniser; use one, \
                   or a bus with a handshake";
    wrong(&body, finding);
    for other in ["valid.far", "*.other", "near"] {
        let Some(report) = judge(&body, &Rules::default().held("sent", "taken", other, reason)) else { return };
        assert_eq!(report.findings, [finding], "{other}");
    }
    let backwards = body.replace("posedge a) if (reset_a) full <= 0; else full <= d[1]", "posedge b) full <= ~full");
    let backwards = backwards.replace("level valid(.clock(b)", "assign more = seen;\n  level valid(.clock(a)");
    let backwards = backwards.replace("was <= seen; if (seen & ~was)", "if (full)");
    let Some(report) = judge(&backwards, &rules) else { return };
    assert_eq!(report.findings, [finding], "a guard in the other direction");
}

#[test]
fn clocks_with_common_edges_need_no_synchroniser() {
    let body = format!("{SENT}  always @(posedge b) taken <= sent + 1;");
    right(&body, &Rules::default().related("a", "b"), "a -> b\n  timed        4 bits: common edges\n");
}

#[test]
fn ports_belong_to_the_clock_that_reads_them() {
    let both = "  always @(posedge a) sent <= d;\n  always @(posedge b) taken <= d;";
    wrong(both, "port `d` is read by registers of a and b; say which clock it has, or synchronise it");
    let rules = Rules::default().port("d", "a");
    let Some(report) = judge(both, &rules) else { return };
    let finding =
        "port `d[3:0]` (clock `a`) reaches register `taken[3:0]` (clock `b`) without a synchroniser; use one, or a \
                   bus with a handshake";
    assert_eq!(report.findings, [finding]);
    // A port that only a synchroniser reads has no clock.
    let alone = "  wire seen;\n  level one(.clock(b), .reset(reset_b), .level(d[0]), .seen(seen));\n  \
                 always @(posedge b) taken <= {4{seen}};";
    right(alone, &Rules::default(), "no clock -> b\n  level        d[0] -> one.near\n");
}

#[test]
fn a_missing_synchroniser_is_found() {
    wrong(
        &format!("{SENT}  always @(posedge b) if (sent[1]) taken <= taken + 1;"),
        "register `sent[1]` (clock `a`) reaches register `taken[3:0]` (clock `b`) without a synchroniser; use one, or a bus with \
         a handshake",
    );
    // Through the words of a memory, and its write port.
    let memory = "  reg [3:0] words [0:7];
  always @(posedge a) words[d] <= d;
  always @(posedge b) taken <= words[taken[2:0]];";
    wrong(
        memory,
        "memory `words` (clock `a`) reaches register `taken[3:0]` (clock `b`) without a synchroniser; use one, or a bus with a \
         handshake",
    );
}

#[test]
fn a_reset_of_another_clock_is_found() {
    let body = format!("{SENT}  always @(posedge b) if (sent[0]) taken <= 0; else taken <= taken + 1;");
    wrong(
        &body,
        "register `sent[0]` (clock `a`) reaches register `taken[3:0]` (clock `b`) without a synchroniser; use one, or a bus with \
         a handshake",
    );
}

#[test]
fn logic_before_a_synchroniser_is_found() {
    let body = format!(
        "{SENT}  wire seen;\n  level one(.clock(b), .reset(reset_b), .level(sent[0] & sent[1]), .seen(seen));\n  \
         always @(posedge b) taken <= {{4{{seen}}}};"
    );
    wrong(
        &body,
        "register `sent[1:0]` (clock `a`) passes logic on its way to the synchroniser register `one.near` (clock `b`); put a \
         register before it",
    );
}

#[test]
fn a_bus_through_synchronisers_of_single_bits_is_found() {
    let two = |second: &str| {
        format!(
            "{SENT}  wire [1:0] seen;
  level low(.clock(b), .reset(reset_b), .level(sent[0]), .seen(seen[0]));
  level high(.clock(b), .reset(reset_b), .level({second}), .seen(seen[1]));
  always @(posedge b) taken <= {{2'd0, seen}};"
        )
    };
    wrong(
        &two("sent[1]"),
        "bits of register `sent[1:0]` (clock `a`) are synchronised apart, by register `high.near` and register `low.near` \
         (clock `b`): they are seen in different cycles; use Gray code and one synchroniser, or a handshake",
    );
    wrong(
        &two("sent[0]"),
        "register `sent[0]` (clock `a`) is synchronised twice, by register `high.near` and register `low.near` (clock `b`): the \
         two may differ for a cycle; use one synchroniser",
    );
}

#[test]
fn a_bus_that_is_no_gray_code_is_found() {
    let finding = "register `sent[3:0]` (clock `a`) crosses bit by bit into register `near[3:0]` (clock `b`), and is no Gray code \
                   of a counter: its bits are seen in different cycles; use Gray code or a handshake";
    for (from, to) in [
        // Binary; a code of something that jumps; a code that is off by a shift; a code that is not reset with its counter.
        ("next ^ (next >> 1)", "next"),
        ("count + 1", "count + 2"),
        ("count + 1", "count + d"),
        ("count + 1", "d + 1"),
        ("next >> 1", "next >> 2"),
        ("next >> 1", "next << 1"),
        ("begin count <= 0; sent <= 0; end", "count <= 0;"),
        ("next ^ (next >> 1);\n", "next ^ (next >> 1);\n    if (d[1]) count <= 7;\n"),
    ] {
        let body = fixtures::GRAY.replace(from, to);
        assert_ne!(body, fixtures::GRAY, "{from}");
        wrong(&body, finding);
    }
}

#[test]
fn a_single_register_is_found() {
    let chain = |declarations: &str, edges: &str| {
        format!(
            "{SENT}  (* ASYNC_REG = \"TRUE\" *) reg near = 0; {declarations}\n  \
             always @(posedge b) begin near <= sent[0]; {edges} end"
        )
    };
    let begin = "register `sent[0]` (clock `a`) goes into register `near` (clock `b`), ";
    for (declarations, edges, fault) in [
        ("", "taken <= taken + near;", "and logic reads this register; put a second one between, marked ASYNC_REG"),
        (
            "reg far = 0;",
            "far <= near; taken[0] <= far;",
            "after which the second register is not marked ASYNC_REG; mark it",
        ),
        ("", "taken[0] <= near;", "after which the second register is not marked ASYNC_REG; mark it"),
        (
            "(* ASYNC_REG = \"TRUE\" *) reg far = 0;",
            "far <= ~near; taken[0] <= far;",
            "and logic reads this register; put a second one between, marked ASYNC_REG",
        ),
    ] {
        wrong(&chain(declarations, edges), &format!("{begin}{fault}"));
    }
    let elsewhere = chain(
        "(* ASYNC_REG = \"TRUE\" *) reg far = 0; assign more = far; always @(posedge a) far <= near;",
        "taken <= taken + 1;",
    );
    if let Some(report) = judge(&elsewhere, &Rules::default()) {
        let back =
            "register `near` (clock `b`) goes into register `far` (clock `a`), which is the only register of the \
                    synchroniser and a port; put a second one after it";
        let fault = "after which the second register has another clock; give it the same one";
        assert_eq!(report.findings, [back.to_owned(), format!("{begin}{fault}")]);
    }
    let to_port = "  (* ASYNC_REG = \"TRUE\" *) reg near = 0;\n  always @(posedge b) near <= sent[0];\n  \
                   always @(posedge a) sent <= d;\n  always @* taken = {3'd0, near};";
    wrong(
        to_port,
        &format!("{begin}which is the only register of the synchroniser and a port; put a second one after it"),
    );
    // Not marked at all.
    let plain = format!("{SENT}  reg near = 0; reg far = 0; always @(posedge b) begin near <= sent[0]; far <= near; taken[0] <= far; end");
    wrong(
        &plain,
        "register `sent[0]` (clock `a`) reaches register `near` (clock `b`) without a synchroniser; use one, or a bus with a \
         handshake",
    );
}
