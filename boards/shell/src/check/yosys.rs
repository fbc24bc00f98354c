//! The netlist of a design, by yosys.

use super::netlist::Netlist;
use std::path::Path;
use std::process::Command;

/// Attribute of the names that registers have in their modules.
pub(super) const REGISTER: &str = "spindle_register";

/// Reads `files` (relative to the folder in which yosys runs) and writes the flattened `top`, unmapped, to `file`. The
/// modules `boxes` stay black boxes.
///
/// Enables and resets become pins of registers, constant shifts become wires, and memories become one cell each. Equal
/// logic is merged, so that equal enables are one net; equal registers are not: two synchronisers of one signal stay two.
pub fn script(files: &str, top: &str, boxes: &[&str], file: &str) -> String {
    let boxed: String = boxes.iter().map(|module| format!("blackbox {module}; ")).collect();
    format!(
        "read_verilog -sv {files}; hierarchy -check -top {top}; {boxed}proc; \
         setattr -set {REGISTER} 1 t:*dff* %co1:+[Q]; flatten; opt_expr; opt_dff; \
         opt_clean; opt_merge t:*dff* %n; opt_clean; memory_collect; opt_clean; write_json {file}"
    )
}

/// The flattened netlist of the Verilog `files` (name and text); they are written to `folder`, where yosys works, since
/// the packaged one sees relative paths only.
///
/// # Errors
/// A sentence, with the last words of yosys.
pub fn netlist(
    yosys: &Path,
    folder: &Path,
    files: &[(String, String)],
    top: &str,
    boxes: &[&str],
) -> Result<Netlist, String> {
    let cannot = |what: &Path, e: std::io::Error| format!("cannot use {}: {e}", what.display());
    std::fs::create_dir_all(folder).map_err(|e| cannot(folder, e))?;
    for (name, text) in files {
        let path = folder.join(name);
        std::fs::write(&path, text).map_err(|e| cannot(&path, e))?;
    }
    let names: Vec<&str> = files.iter().map(|(name, _)| name.as_str()).collect();
    let json = format!("{top}.netlist.json");
    let script = script(&names.join(" "), top, boxes, &json);
    let run = Command::new(yosys).args(["-q", "-p", &script]).current_dir(folder).output();
    let run = run.map_err(|e| cannot(yosys, e))?;
    if !run.status.success() {
        let log = String::from_utf8_lossy(&run.stderr).into_owned();
        let lines: Vec<&str> = log.trim_end().lines().collect();
        return Err(format!("yosys refuses `{top}`:\n{}", lines[lines.len().saturating_sub(10)..].join("\n")));
    }
    let path = folder.join(&json);
    let text = std::fs::read_to_string(&path).map_err(|e| cannot(&path, e))?;
    Netlist::parse(&text, top)
}
