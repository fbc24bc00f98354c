//! Lines of declarations: what shares one, and how long it may be.

use super::{header, print_declared, COLUMNS};

/// The lines of a port list.
fn ports(ports: &[(&str, &str, &str)]) -> Vec<String> {
    let ports: Vec<_> = ports.iter().map(|(way, kind, name)| (*way, kind.to_string(), name.to_string())).collect();
    let text = header("", &ports, &[]);
    let list = text.split_once("(\n").and_then(|(_, list)| list.strip_suffix("\n);\n"));
    list.expect("a list of ports").split(",\n").map(str::to_string).collect()
}

#[test]
fn elements_of_an_array_share_a_line() {
    let bits = "logic [7:0] ";
    assert_eq!(
        ports(&[("input ", bits, "d_0"), ("input ", bits, "d_1"), ("input ", bits, "d_2")]),
        ["  input logic [7:0] d_0, d_1, d_2"]
    );
    // What is not the next element of the same array has a line of its own.
    for other in [
        ("input ", bits, "d_2"),
        ("input ", bits, "e_1"),
        ("input ", "logic ", "d_1"),
        ("output", bits, "d_1"),
        ("input ", bits, "d"),
    ] {
        let lines = ports(&[("input ", bits, "d_0"), other]);
        assert_eq!(
            lines,
            ["  input logic [7:0] d_0".to_string(), format!("  {} {}{}", other.0.trim(), other.1, other.2)]
        );
    }
    assert_eq!(ports(&[("inout ", bits, "pad")]), ["  inout wire [7:0] pad"]);
}

#[test]
fn a_line_of_ports_has_120_columns_at_most() {
    // `  output logic x_0, x_1,` has 22 columns without the stems.
    let lines = |stem: usize| {
        let stem = "x".repeat(stem);
        ports(&[("output", "logic ", &format!("{stem}_0")), ("output", "logic ", &format!("{stem}_1"))])
    };
    assert_eq!(lines(49).iter().map(String::len).collect::<Vec<_>>(), [COLUMNS - 1]);
    assert_eq!(lines(50).len(), 2);
}

fn declared(list: &[(&str, &str)]) -> String {
    let mut list: Vec<_> = list.iter().map(|(kind, name)| (kind.to_string(), name.to_string())).collect();
    let mut out = String::new();
    print_declared(&mut list, &mut out);
    assert!(list.is_empty(), "what is printed is taken");
    out
}

#[test]
fn declarations_of_one_type_in_a_row_share_a_line() {
    assert_eq!(declared(&[]), "");
    assert_eq!(declared(&[("logic ", "a"), ("logic ", "b")]), "  logic a, b;\n");
    assert_eq!(
        declared(&[("logic ", "a"), ("logic [1:0] ", "b"), ("logic ", "c")]),
        "  logic a;\n  logic [1:0] b;\n  logic c;\n"
    );
    // Signals with an initial value are apart, so that the lines do not depend on equal widths.
    assert_eq!(
        declared(&[("logic ", "a"), ("logic ", "b = 1'b0"), ("logic ", "c = 1'b1"), ("logic ", "d")]),
        "  logic a;\n  logic b = 1'b0, c = 1'b1;\n  logic d;\n"
    );
}

#[test]
fn a_line_of_declarations_has_120_columns_at_most() {
    // `  logic a, b;` has 11 columns without the names.
    let lines = |second: usize| declared(&[("logic ", &"a".repeat(50)), ("logic ", &"b".repeat(second))]);
    assert_eq!(lines(59).lines().map(str::len).collect::<Vec<_>>(), [COLUMNS]);
    assert_eq!(lines(60).lines().map(str::len).collect::<Vec<_>>(), [59, 69]);
}
