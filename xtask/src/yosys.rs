//! Yosys: the recipes, and reading what it prints.

use anyhow::{Context, Result};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::collections::BTreeMap;

/// What a design costs on a device. `bram36` counts a half block as 0.5.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Area {
    pub lut: u64,
    pub ff: u64,
    pub bram36: f64,
    pub uram: u64,
    pub dsp: u64,
    /// Cells of no known kind, which would make the figures above too small.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub unknown: BTreeMap<String, u64>,
}

impl Area {
    /// Adds `times` times another area.
    pub fn add_area(&mut self, other: &Area, times: u64) {
        self.lut += times * other.lut;
        self.ff += times * other.ff;
        self.bram36 += times as f64 * other.bram36;
        self.uram += times * other.uram;
        self.dsp += times * other.dsp;
    }

    fn add(&mut self, cell: &str, count: u64) {
        if let Some(luts) = luts(cell) {
            self.lut += luts * count;
        } else if cell.starts_with("FD") {
            self.ff += count;
        } else if cell.starts_with("RAMB36") {
            self.bram36 += count as f64;
        } else if cell.starts_with("RAMB18") {
            self.bram36 += 0.5 * count as f64;
        } else if cell.starts_with("URAM") {
            self.uram += count;
        } else if cell.starts_with("DSP48") {
            self.dsp += count;
        } else if !["CARRY", "MUXF", "BUFG", "GND", "VCC", "$scopeinfo"].iter().any(|free| cell.starts_with(free)) {
            *self.unknown.entry(cell.into()).or_default() += count;
        }
    }
}

/// LUTs that a cell takes; distributed memories by their data sheets. An inverter is counted although a real mapper
/// absorbs it.
fn luts(cell: &str) -> Option<u64> {
    Some(match cell {
        "LUT1" | "LUT2" | "LUT3" | "LUT4" | "LUT5" | "LUT6" | "INV" | "SRL16E" | "SRLC16E" | "SRLC32E" => 1,
        "RAM32X1S" | "RAM64X1S" => 1,
        "LUT6_2" => 1,
        "RAM32X1D" | "RAM64X1D" | "RAM128X1S" => 2,
        "RAM32M" | "RAM64M" | "RAM128X1D" | "RAM256X1S" => 4,
        "RAM32M16" | "RAM64M8" | "RAM256X1D" | "RAM512X1S" => 8,
        _ => return None,
    })
}

/// The cells of the flattened `top` in what `stat -json` reports.
pub fn area(stat: &str, top: &str) -> Result<Area> {
    let stat: Value = serde_json::from_str(stat).context("yosys wrote a `stat -json` that is no JSON")?;
    let modules = stat["modules"].as_object().context("yosys reported no modules")?;
    let module = modules.iter().find(|(name, _)| name.trim_start_matches('\\') == top);
    let (_, module) = module.with_context(|| format!("yosys reported no module `{top}`"))?;
    let mut area = Area::default();
    for (cell, count) in module["num_cells_by_type"].as_object().context("yosys reported a module without cells")? {
        // Newer versions wrap the number in an object.
        let count = count.as_u64().or_else(|| count["count"].as_u64()).context("a cell count is no number")?;
        area.add(cell.trim_start_matches('\\'), count);
    }
    Ok(area)
}

/// The length that `ltp` prints.
pub fn levels(log: &str) -> Result<u64> {
    let found = log.lines().filter_map(|line| line.split_once("(length=")?.1.split(')').next()?.parse().ok()).max();
    found.context("yosys printed no longest path")
}

/// The lines of the longest path in what `ltp` prints: cells and the signals between them.
pub fn longest_path(log: &str) -> String {
    let path = log.lines().skip_while(|line| !line.contains("(length="));
    path.map(|line| format!("{line}\n")).collect()
}

/// The files in another order, the package first; order 0 is the given one.
pub fn file_order(files: &str, order: u64) -> String {
    let mut files: Vec<&str> = files.split(' ').collect();
    let fixed = files.iter().take_while(|file| file.ends_with("_pkg.sv")).count();
    // A Lehmer generator: the same orders on every machine.
    let mut state = order;
    for last in (fixed + 1..files.len()).rev().filter(|_| order > 0) {
        state = (state * 48_271 + 11) % 0x7FFF_FFFF;
        files.swap(last, fixed + (state % (last - fixed + 1) as u64) as usize);
    }
    files.join(" ")
}

/// Latches, combinational loops and undriven wires make the run fail; they are looked for before anything is mapped. The
/// modules `boxes` are left out.
pub fn check_script(files: &str, top: &str, boxes: &[&str]) -> String {
    let boxed: String = boxes.iter().map(|module| format!("blackbox {module}; ")).collect();
    format!(
        "read_verilog -sv {files}; hierarchy -check -top {top}; {boxed}proc; flatten; opt_clean; \
         select -assert-none t:$dlatch t:$adlatch t:$dlatchsr t:$sr; check -assert"
    )
}

/// Flattens `top`, unmapped, and writes what drives each net to `file`.
pub fn drivers_script(files: &str, top: &str, file: &str) -> String {
    format!("read_verilog -sv {files}; hierarchy -check -top {top}; proc; flatten; opt_clean; write_json {file}")
}

/// Maps the flattened block to `family`; writes the cell counts to `<run>-stat.json` and the netlist for `ltp`.
/// The modules `boxes` are left out of it and counted as cells of their own.
pub fn map_script(files: &str, top: &str, family: &str, boxes: &[&str], run: &str) -> String {
    let boxed = if boxes.is_empty() {
        String::new()
    } else {
        format!("hierarchy -check -top {top}; blackbox {}; ", boxes.join(" "))
    };
    format!(
        "read_verilog -sv {files}; {boxed}synth_xilinx -family {family} -flatten -abc9 -noiopad -noclkbuf -top {top}; \
         delete t:$scopeinfo; tee -q -o {run}-stat.json stat -json; select {top}; write_rtlil -selected {run}-top.il"
    )
}

/// After [`map_script`]: writes the mapped netlist, without the places of nets in the source, to `<run>-netlist.json`.
pub fn netlist_script(run: &str) -> String {
    format!("; setattr -unset src w:*; write_json -selected {run}-netlist.json")
}

/// Writes the ports of `top`, and nothing of what is in it, to `file`.
pub fn ports_script(files: &str, top: &str, file: &str) -> String {
    format!(
        "read_verilog -sv {files}; hierarchy -check -top {top}; blackbox {top}; hierarchy -top {top}; write_json {file}"
    )
}

/// Maps the block in its wrapper of registers to an ECP5.
pub fn ecp5_script(files: &str, options: &str) -> String {
    format!("read_verilog -sv {files} pnr_wrapper.v; synth_ecp5 -abc9 {options}-top pnr_wrapper -json ecp5.json")
}

/// A `techmap` of LUT RAMs to their reads; has to lie in the block's folder as [`LUTRAM_READS_FILE`].
pub const LUTRAM_READS: &str = include_str!("lutram_reads.v");
/// See [`LUTRAM_READS`].
pub const LUTRAM_READS_FILE: &str = "lutram_reads.v";

/// Longest path between registers, in cells. Flip-flops, memories and boxes must go first, or `ltp` walks through them,
/// and so must the write pins of LUT RAMs.
pub fn levels_script(boxes: &[&str], run: &str) -> String {
    let boxes: String = boxes.iter().map(|module| format!(" t:{module}")).collect();
    format!(
        "read_rtlil {run}-top.il; techmap -map {LUTRAM_READS_FILE}; read_verilog -lib +/xilinx/cells_sim.v; \
         delete t:FD* t:RAMB* t:URAM* t:SRL* t:DSP48*{boxes}; ltp"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_are_counted_by_kind() {
        let stat = r#"{ "modules": { "\\top": { "num_cells_by_type": {
            "LUT6": 10, "FDRE": 3, "RAMB18E2": 1, "RAM64M8": 1, "CARRY8": 5, "RAMB36E2": 1, "URAM288": 2, "part": 4 } } } }"#;
        let mut sum = area(stat, "top").unwrap();
        assert_eq!((sum.lut, sum.ff, sum.bram36, sum.uram), (10 + 8, 3, 1.5, 2));
        assert_eq!(sum.unknown["part"], 4);
        let other = sum.clone();
        sum.add_area(&other, 2);
        assert_eq!((sum.lut, sum.bram36, sum.uram), (54, 4.5, 6));
    }

    #[test]
    fn unknown_cells_are_reported_not_swallowed() {
        let stat = r#"{ "modules": { "top": { "num_cells_by_type": { "$_DLATCH_P_": 2 } } } }"#;
        assert_eq!(area(stat, "top").unwrap().unknown["$_DLATCH_P_"], 2);
        assert!(area(stat, "other").unwrap_err().to_string().contains("`other`"));
    }

    #[test]
    fn orders_are_permutations_that_begin_with_the_package() {
        let files = "top_pkg.sv a.sv b.sv c.sv d.sv e.sv";
        assert_eq!(file_order(files, 0), files);
        let orders: Vec<String> = (0..4).map(|order| file_order(files, order)).collect();
        for order in &orders {
            let mut sorted: Vec<&str> = order.split(' ').collect();
            assert_eq!(sorted.remove(0), "top_pkg.sv");
            sorted.sort_unstable();
            assert_eq!(sorted.join(" "), "a.sv b.sv c.sv d.sv e.sv");
            assert_eq!(orders.iter().filter(|other| *other == order).count(), 1, "{order}");
        }
        assert_eq!(file_order("a.sv", 3), "a.sv");
    }

    #[test]
    fn longest_path_is_found() {
        let log = "2. Executing LTP pass.\n\nLongest topological path in top (length=9):\n   0: \\a\n";
        assert_eq!(levels(log).unwrap(), 9);
        assert!(levels("nothing").is_err());
    }
}
