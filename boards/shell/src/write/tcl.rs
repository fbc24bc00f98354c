//! Tcl: the settings of a board, its IP, the NIC as an IP of its own; and the scripts that read them.

use crate::data::Board;
use crate::ip::{Direction, Instance};
use crate::write::xdc::Timing;
use spindle_contract::params::Config;
use spindle_contract::registers::BAR_BITS;
use std::fmt::Write;

/// The scripts, the same for every board: name and text.
pub const SCRIPTS: [(&str, &str); 6] = [
    ("common.tcl", include_str!("../../../tcl/common.tcl")),
    ("build.tcl", include_str!("../../../tcl/build.tcl")),
    ("compare.tcl", include_str!("../../../tcl/compare.tcl")),
    ("program.tcl", include_str!("../../../tcl/program.tcl")),
    ("flash.tcl", include_str!("../../../tcl/flash.tcl")),
    ("package.tcl", include_str!("../../../tcl/package.tcl")),
];

/// A word of Tcl that stands for the text: as it is, or in braces.
///
/// # Panics
/// If the text has a brace or a backslash, which no name or value of a board has.
pub fn word(text: &str) -> String {
    assert!(!text.contains(['{', '}', '\\']), "`{text}` cannot be a word of Tcl");
    let plain = |c: char| c.is_ascii_alphanumeric() || "_./:+-~,=".contains(c);
    match !text.is_empty() && text.chars().all(plain) {
        true => text.to_string(),
        false => format!("{{{text}}}"),
    }
}

fn list<'a>(words: impl IntoIterator<Item = &'a str>) -> String {
    format!("{{{}}}", words.into_iter().map(word).collect::<Vec<_>>().join(" "))
}

/// A dictionary in a variable, an entry a line; values are words already.
fn dictionary(variable: &str, entries: &[(&str, String)]) -> String {
    let mut out = format!("set {variable} {{\n");
    entries.iter().for_each(|(name, value)| _ = writeln!(out, "    {name} {value}"));
    out.push_str("}\n");
    out
}

/// What a project is made of.
#[derive(Debug, Clone, Copy)]
pub struct Sources<'a> {
    /// The top; empty if the board has none yet.
    pub top: &'a str,
    /// Files below `rtl`, in the order in which they are read.
    pub rtl: &'a [String],
    /// Constraints, likewise.
    pub xdc: &'a [&'a str],
    /// Clocks and crossings that the constraints name.
    pub timing: &'a Timing,
}

/// `settings.tcl`: what the scripts need to know of a board.
pub fn settings(board: &Board, instances: &[Instance], sources: &Sources) -> String {
    let licences: Vec<&str> = instances.iter().filter_map(|instance| instance.ip.licence).collect();
    let licence = if licences.is_empty() { "see which one Vivado names".to_string() } else { licences.join("; ") };
    let flash = &board.flash;
    let clocks = sources.timing.clocks.iter().map(|clock| format!("{} {}", word(&clock.pin), clock.mhz));
    let crossings = sources.timing.crossings.iter().map(|crossing| crossing.cells.as_str());
    let entries = [
        ("board", word(&board.name)),
        ("title", word(&board.title)),
        ("part", word(&board.part)),
        ("top", word(sources.top)),
        ("licence", word(&licence)),
        ("flash_part", word(&flash.part)),
        ("flash_interface", word(&flash.interface)),
        ("flash_size_mib", flash.size_mib.to_string()),
        ("flash_offset", format!("{:#010x}", flash.offset)),
        ("golden_end", format!("{:#010x}", flash.golden_end)),
        ("clocks", format!("{{{}}}", clocks.collect::<Vec<_>>().join(" "))),
        ("crossings", list(crossings)),
        ("xdc", list(sources.xdc.iter().copied())),
        ("rtl", list(sources.rtl.iter().map(String::as_str))),
    ];
    format!("# Settings of the {}. Written by spindle export.\n{}", board.title, dictionary("spindle", &entries))
}

/// `ip.tcl`: name, settings and ports of each IP. Settings are groups, set one after the other: a preset comes first.
pub fn ip(board: &Board, instances: &[Instance]) -> String {
    let mut out = format!(
        "# The IP of the {}: settings, and the ports that the design was checked with. Written by spindle export.\n\
         # build.tcl makes the IP and compares it with these tables.\n",
        board.title
    );
    for instance in instances {
        let _ = writeln!(out, "\n# {}\ndict set spindle_ip {} {{", instance.ip.source, instance.module);
        let _ = writeln!(out, "    name {}", instance.ip.name);
        let _ = writeln!(out, "    versions {}", list(instance.ip.versions.iter().copied()));
        let _ = writeln!(out, "    licence {}", word(instance.ip.licence.unwrap_or("")));
        let (preset, others): (Vec<_>, Vec<_>) = instance.settings.iter().partition(|(name, _)| *name == "PRESET");
        out.push_str("    settings {\n");
        for group in [preset, others].iter().filter(|group| !group.is_empty()) {
            out.push_str("        {\n");
            group.iter().for_each(|(name, value)| _ = writeln!(out, "            CONFIG.{name} {}", word(value)));
            out.push_str("        }\n");
        }
        out.push_str("    }\n    ports {\n");
        for port in &instance.ports {
            let direction = match port.direction {
                Direction::In => "input",
                Direction::Out => "output",
                Direction::InOut => "inout",
            };
            let _ = writeln!(out, "        {} {{{direction} {}}}", port.name, port.width);
        }
        out.push_str("    }\n}\n");
    }
    out
}

/// `nic.tcl`: what `package.tcl` needs to know of the NIC.
pub fn nic(config: &Config, part: &str, rtl: &[String]) -> String {
    let entries = [
        ("configuration", word(config.name)),
        ("part", word(part)),
        ("version", format!("{}.0", spindle_contract::VERSION)),
        ("bar_bytes", (1u64 << BAR_BITS).to_string()),
        ("rtl", list(rtl.iter().map(String::as_str))),
    ];
    format!("# The NIC as an IP for block designs. Written by spindle export.\n{}", dictionary("nic", &entries))
}

/// `ooc.xdc`: the clock of the NIC out of context.
pub fn out_of_context(config: &Config) -> String {
    let period = 1000.0 / f64::from(config.clock_mhz);
    format!("# The clock of the NIC out of context.\ncreate_clock -name core -period {period:.3} [get_ports clock]\n")
}
