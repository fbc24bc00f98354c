//! `nic_ip.v`: the NIC with a top in plain Verilog. IP packager and block designs take no SystemVerilog there (UG1118).

use spindle_verilog::Module;
use std::fmt::Write;

/// Name of the wrapper.
pub const TOP: &str = "nic_ip";

/// The wrapper of the module `nic`, with its attributes.
///
/// # Errors
/// A port that plain Verilog cannot have.
pub fn text(nic: &Module) -> Result<String, String> {
    let header = nic.text.split_once("module nic (\n").and_then(|(_, rest)| rest.split_once("\n);\n"));
    let (header, _) = header.ok_or("the NIC has no list of ports; it was not emitted for synthesis")?;
    if !header.contains("X_INTERFACE_INFO") {
        return Err("the NIC has no interface attributes; emit it with spindle_nic::with_interfaces".into());
    }
    let mut ports = String::new();
    let mut pins = vec![];
    for line in header.lines().map(str::trim) {
        if line.starts_with("(*") {
            let _ = writeln!(ports, "  {line}");
            continue;
        }
        let (direction, rest) = line.split_once(" logic ").ok_or(format!("`{line}` is no port of plain Verilog"))?;
        let _ = writeln!(ports, "  {direction} wire {rest}");
        let name = rest.trim_end_matches(',').rsplit(' ').next().unwrap_or(rest);
        if rest.trim_end_matches(',').contains(',') {
            return Err(format!("`{line}` has several ports; the wrapper takes one a line"));
        }
        pins.push(format!("    .{name}({name})"));
    }
    let mut out = format!(
        "// The NIC with a top in plain Verilog, for the IP packager. Written by spindle export.\nmodule {TOP} (\n"
    );
    let _ = write!(out, "{ports});\n  nic nic (\n{}\n  );\nendmodule\n", pins.join(",\n"));
    Ok(out)
}
