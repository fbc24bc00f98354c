//! Outputs that cross engines are registered: the check and its exceptions.
//!
//! Levels are counted per engine, so a path that leaves one engine in the middle of its logic and goes on in the next
//! would be counted in neither. Yosys flattens each engine, unmapped; here every output bit is followed back to what
//! drives it. A flip-flop, an inverted flip-flop or a constant is fine, anything else has to stand in `outputs.toml`.

use crate::netlist::{Bit, Cell, Module, Netlist};
use anyhow::{bail, Context, Result};
use serde::Deserialize;
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

/// The modules of the emitted NIC that the check covers.
pub const ENGINES: &[&str] = &["packet_engine", "rvma_engine", "hpu_array"];

/// An output that may carry logic.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Exception {
    engine: String,
    port: String,
    reason: String,
    /// Input ports that may reach it without a register between.
    #[serde(default)]
    through: BTreeSet<String>,
    /// The one family in whose configuration it is needed; none = in all.
    family: Option<String>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Exceptions {
    output: Vec<Exception>,
}

/// What stands between the registers and one output port.
#[derive(Debug, Default, PartialEq)]
struct Cone {
    /// The most cells in a row.
    depth: usize,
    /// Input ports that reach it.
    inputs: BTreeSet<String>,
}

fn is_register(cell: &Cell) -> bool {
    cell.kind.contains("dff") || cell.kind == "$ff"
}

/// An inverter of one bit: the next LUT absorbs the inverter.
fn is_inverter(cell: &Cell) -> bool {
    ["$not", "$logic_not"].contains(&&*cell.kind) && cell.bits("input").count() == 1
}

/// The cones of all output ports that are no registers.
fn cones(module: &Module) -> BTreeMap<String, Cone> {
    let mut drivers: HashMap<u64, &Cell> = HashMap::new();
    for cell in module.cells.values() {
        for bit in cell.bits("output") {
            if let Bit::Net(net) = bit {
                drivers.insert(net, cell);
            }
        }
    }
    let mut inputs: HashMap<u64, &str> = HashMap::new();
    for (name, port) in module.ports.iter().filter(|(_, port)| port.direction == "input") {
        let nets = port.bits.iter().filter_map(|bit| if let Bit::Net(net) = bit { Some(*net) } else { None });
        inputs.extend(nets.map(|net| (net, &**name)));
    }
    let registered = |bit: Bit| match bit {
        Bit::Net(net) => drivers.get(&net).is_some_and(|cell| is_register(cell)),
        Bit::Constant => true,
    };
    let mut found = BTreeMap::new();
    for (name, port) in module.ports.iter().filter(|(_, port)| port.direction == "output") {
        let mut cone = Cone::default();
        let mut seen = HashSet::new();
        let inverted = |bit: Bit| match bit {
            Bit::Net(net) => drivers.get(&net).is_some_and(|c| is_inverter(c) && c.bits("input").all(registered)),
            Bit::Constant => false,
        };
        let bits = port.bits.iter().copied().filter(|bit| !(registered(*bit) || inverted(*bit)));
        let mut work: Vec<(Bit, usize)> = bits.map(|bit| (bit, 0)).collect();
        if work.is_empty() {
            continue;
        }
        while let Some((bit, depth)) = work.pop() {
            let Bit::Net(net) = bit else { continue };
            if !seen.insert(net) {
                continue;
            }
            if let Some(input) = inputs.get(&net) {
                cone.inputs.insert((*input).to_string());
            } else if let Some(cell) = drivers.get(&net).filter(|cell| !is_register(cell)) {
                cone.depth = cone.depth.max(depth + 1);
                work.extend(cell.bits("input").map(|bit| (bit, depth + 1)));
            }
        }
        found.insert(name.to_string(), cone);
    }
    found
}

/// One sentence for each output of `engine` that is neither registered nor listed, or listed wrongly.
fn judge(engine: &str, cones: &BTreeMap<String, Cone>, exceptions: &[Exception]) -> Vec<String> {
    let mut findings = Vec::new();
    let listed: Vec<&Exception> = exceptions.iter().filter(|e| e.engine == engine).collect();
    for (port, cone) in cones {
        let Some(exception) = listed.iter().find(|e| e.port == *port) else {
            let from = if cone.inputs.is_empty() { String::new() } else { format!(", reached by {:?}", cone.inputs) };
            findings.push(format!("output {engine}.{port} is no register: {} cells in a row{from}", cone.depth));
            continue;
        };
        for input in cone.inputs.difference(&exception.through) {
            findings.push(format!("output {engine}.{port} depends on input {input} without a register between"));
        }
    }
    for Exception { port, reason, .. } in listed {
        if !cones.contains_key(port) {
            findings
                .push(format!("outputs.toml lists {engine}.{port} (\"{reason}\"), which is a register or no output"));
        }
    }
    findings
}

/// Findings in the netlist that yosys wrote for `engine` in the configuration of a family.
pub fn check(engine: &str, family: &str, netlist: &str) -> Result<Vec<String>> {
    let mut exceptions: Exceptions =
        toml::from_str(include_str!("../outputs.toml")).context("xtask/outputs.toml cannot be read")?;
    if let Some(stray) = exceptions.output.iter().find(|e| !ENGINES.contains(&e.engine.as_str())) {
        bail!("xtask/outputs.toml: there is no engine `{}`", stray.engine);
    }
    exceptions.output.retain(|e| e.family.as_deref().is_none_or(|wanted| wanted == family));
    let netlist: Netlist = serde_json::from_str(netlist).context("yosys wrote a netlist that cannot be read")?;
    let module = netlist.modules.get(engine).with_context(|| format!("yosys wrote no module `{engine}`"))?;
    Ok(judge(engine, &cones(module), &exceptions.output))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// q is a flip-flop of net 3, n its inverse, y = q and input a, z a constant.
    const NETLIST: &str = r#"{ "modules": { "e": {
        "ports": {
            "a": { "direction": "input", "bits": [2] },
            "q": { "direction": "output", "bits": [4] },
            "n": { "direction": "output", "bits": [5] },
            "y": { "direction": "output", "bits": [4, 6] },
            "z": { "direction": "output", "bits": ["0"] } },
        "cells": {
            "r": { "type": "$dff", "port_directions": { "D": "input", "Q": "output" },
                   "connections": { "D": [3], "Q": [4] } },
            "i": { "type": "$logic_not", "port_directions": { "A": "input", "Y": "output" },
                   "connections": { "A": [4], "Y": [5] } },
            "g": { "type": "$and", "port_directions": { "A": "input", "B": "input", "Y": "output" },
                   "connections": { "A": [4], "B": [2], "Y": [6] } } } } } }"#;

    fn found() -> BTreeMap<String, Cone> {
        let netlist: Netlist = serde_json::from_str(NETLIST).unwrap();
        cones(&netlist.modules["e"])
    }

    fn exception(port: &str, through: &[&str]) -> Exception {
        let through = through.iter().map(|s| s.to_string()).collect();
        Exception { engine: "e".into(), port: port.into(), reason: "why".into(), through, family: None }
    }

    #[test]
    fn registers_inverters_and_constants_pass_and_gates_do_not() {
        let cone = Cone { depth: 1, inputs: BTreeSet::from(["a".to_string()]) };
        assert_eq!(found(), BTreeMap::from([("y".to_string(), cone)]));
    }

    #[test]
    fn exceptions_must_name_the_inputs_and_be_needed() {
        let cones = found();
        assert_eq!(judge("e", &cones, &[]).len(), 1);
        assert_eq!(judge("e", &cones, &[exception("y", &["a"])]), Vec::<String>::new());
        assert!(judge("e", &cones, &[exception("y", &[])])[0].contains("input a"));
        assert!(judge("e", &cones, &[exception("y", &["a"]), exception("q", &[])])[0].contains("e.q"));
    }

    #[test]
    fn the_projects_list_is_readable() {
        let list: Exceptions = toml::from_str(include_str!("../outputs.toml")).unwrap();
        assert!(list.output.iter().all(|e| ENGINES.contains(&e.engine.as_str()) && !e.reason.is_empty()));
    }
}
