//! Declarations of vendor blocks, for tools that do not have the vendor's library: Verilator and yosys.

use crate::ip::{Direction, Port};
use std::fmt::Write;

/// The declaration of a module without a body. `parameters` are names with defaults.
pub fn declaration(module: &str, parameters: &[(&str, &str)], ports: &[Port]) -> String {
    // Nothing inside reads the inputs or drives the outputs.
    let mut out = String::from("/* verilator lint_off UNUSED */\n/* verilator lint_off UNDRIVEN */\n(* blackbox *)\n");
    let list: Vec<String> = parameters.iter().map(|(name, value)| format!("\tparameter {name} = {value}")).collect();
    let list = if list.is_empty() { String::new() } else { format!("#(\n{}\n) ", list.join(",\n")) };
    let ports: Vec<String> = ports.iter().map(|port| format!("\t{}", declared(port))).collect();
    let _ = write!(out, "module {module} {list}(\n{}\n);\nendmodule\n", ports.join(",\n"));
    out.push_str("/* verilator lint_on UNDRIVEN */\n/* verilator lint_on UNUSED */\n");
    out
}

/// `input wire [3:0] name`.
fn declared(port: &Port) -> String {
    let direction = match port.direction {
        Direction::In => "input",
        Direction::Out => "output",
        Direction::InOut => "inout",
    };
    let range = if port.width == 1 { String::new() } else { format!("[{}:0] ", port.width - 1) };
    format!("{direction} wire {range}{}", port.name)
}
