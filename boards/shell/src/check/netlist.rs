//! A flattened netlist as yosys writes it (`write_json`).

use serde::Deserialize;
use std::collections::BTreeMap;

/// A bit of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Bit {
    /// A net, by its number.
    Net(u32),
    /// A constant 0.
    Zero,
    /// A constant 1.
    One,
    /// Unknown, or not connected.
    Unknown,
}

impl Bit {
    /// The net; none for a constant.
    pub fn net(self) -> Option<u32> {
        match self {
            Self::Net(net) => Some(net),
            _ => None,
        }
    }
}

/// Direction of a port.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Direction {
    /// Into the module.
    Input,
    /// Out of it.
    Output,
    /// Both.
    Inout,
}

/// A port of the top.
#[derive(Clone, Debug)]
pub struct Port {
    /// Name.
    pub name: String,
    /// Direction.
    pub direction: Direction,
    /// Nets, the lowest bit first.
    pub bits: Vec<Bit>,
}

/// A cell: a register, logic, a memory or a black box.
#[derive(Clone, Debug)]
pub struct Cell {
    /// Name over the whole hierarchy.
    pub name: String,
    /// Levels of the hierarchy, the last one the name in its module.
    pub path: Vec<String>,
    /// Type; those of yosys begin with `$`.
    pub kind: String,
    /// Parameters: bits, or text.
    pub parameters: BTreeMap<String, String>,
    /// Connections by port, the lowest bit first.
    pub connections: BTreeMap<String, Vec<Bit>>,
    /// Directions by port.
    pub directions: BTreeMap<String, Direction>,
    /// A memory that the source puts into block RAM.
    pub block_ram: bool,
}

impl Cell {
    /// The bits of a port; none if there is no such port.
    pub fn bits(&self, port: &str) -> &[Bit] {
        self.connections.get(port).map_or(&[], Vec::as_slice)
    }

    /// A parameter as a number; 0 if there is none.
    pub fn number(&self, parameter: &str) -> usize {
        let text = self.parameters.get(parameter).map_or("", String::as_str);
        text.chars().fold(0, |sum, c| sum * 2 + usize::from(c == '1'))
    }

    /// Bit `at` of a parameter.
    pub fn flag(&self, parameter: &str, at: usize) -> bool {
        self.parameters.get(parameter).and_then(|text| text.chars().rev().nth(at)) == Some('1')
    }
}

/// A name of nets.
#[derive(Clone, Debug)]
pub struct Name {
    /// Levels of the hierarchy, the last one the name in its module.
    pub path: Vec<String>,
    /// Nets, the lowest bit first.
    pub bits: Vec<Bit>,
    /// Marked `ASYNC_REG`.
    pub synchroniser: bool,
    /// The name that a register has in its module.
    pub register: bool,
}

/// A flattened module.
#[derive(Clone, Debug)]
pub struct Netlist {
    /// Name of the module.
    pub top: String,
    /// Ports.
    pub ports: Vec<Port>,
    /// Cells.
    pub cells: Vec<Cell>,
    /// Names that the source gives.
    pub names: Vec<Name>,
}

#[derive(Deserialize)]
struct RawFile {
    modules: BTreeMap<String, RawModule>,
}

#[derive(Deserialize)]
struct RawModule {
    #[serde(default)]
    ports: BTreeMap<String, RawPort>,
    #[serde(default)]
    cells: BTreeMap<String, RawCell>,
    #[serde(default)]
    netnames: BTreeMap<String, RawName>,
}

#[derive(Deserialize)]
struct RawPort {
    direction: Direction,
    bits: Vec<RawBit>,
}

#[derive(Deserialize)]
struct RawCell {
    #[serde(rename = "type")]
    kind: String,
    #[serde(default)]
    parameters: BTreeMap<String, String>,
    #[serde(default)]
    attributes: BTreeMap<String, String>,
    #[serde(default)]
    port_directions: BTreeMap<String, Direction>,
    #[serde(default)]
    connections: BTreeMap<String, Vec<RawBit>>,
}

#[derive(Deserialize)]
struct RawName {
    hide_name: u8,
    bits: Vec<RawBit>,
    #[serde(default)]
    attributes: BTreeMap<String, String>,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum RawBit {
    Net(u32),
    Constant(String),
}

fn bits(raw: Vec<RawBit>) -> Vec<Bit> {
    let bit = |raw| match raw {
        RawBit::Net(net) => Bit::Net(net),
        RawBit::Constant(text) => match text.as_str() {
            "0" => Bit::Zero,
            "1" => Bit::One,
            _ => Bit::Unknown,
        },
    };
    raw.into_iter().map(bit).collect()
}

impl Netlist {
    /// The module `top` of what `write_json` wrote.
    ///
    /// # Errors
    /// A sentence: the text is no netlist, or has no such module.
    pub fn parse(text: &str, top: &str) -> Result<Self, String> {
        let mut file: RawFile = serde_json::from_str(text).map_err(|e| format!("yosys wrote no netlist: {e}"))?;
        let module = file.modules.remove(top).ok_or_else(|| format!("the netlist has no module `{top}`"))?;
        let port = |(name, raw): (String, RawPort)| Port { name, direction: raw.direction, bits: bits(raw.bits) };
        let path = |name: &str, attributes: &BTreeMap<String, String>| match attributes.get("hdlname") {
            Some(path) => path.split(' ').map(str::to_owned).collect(),
            None => vec![name.to_owned()],
        };
        let cell = |(name, raw): (String, RawCell)| Cell {
            path: path(&name, &raw.attributes),
            name,
            kind: raw.kind,
            parameters: raw.parameters,
            connections: raw.connections.into_iter().map(|(port, raw)| (port, bits(raw))).collect(),
            directions: raw.port_directions,
            block_ram: raw.attributes.get("ram_style").is_some_and(|style| style == "block"),
        };
        let name = |(name, raw): (String, RawName)| Name {
            path: path(&name, &raw.attributes),
            bits: bits(raw.bits),
            synchroniser: raw.attributes.get("ASYNC_REG").is_some_and(|value| value == "TRUE"),
            register: raw.attributes.contains_key(super::yosys::REGISTER),
        };
        Ok(Self {
            top: top.to_owned(),
            ports: module.ports.into_iter().map(port).collect(),
            cells: module.cells.into_iter().filter(|(_, c)| c.kind != "$scopeinfo").map(cell).collect(),
            names: module.netnames.into_iter().filter(|(_, n)| n.hide_name == 0).map(name).collect(),
        })
    }

    /// The port of that name.
    pub fn port(&self, name: &str) -> Option<&Port> {
        self.ports.iter().find(|port| port.name == name)
    }

    /// The cell of that name.
    pub fn cell(&self, name: &str) -> Option<&Cell> {
        self.cells.iter().find(|cell| cell.name == name)
    }
}

/// Whether a name fits a pattern in which `*` stands for any text.
pub fn fits(pattern: &str, name: &str) -> bool {
    let Some((begin, rest)) = pattern.split_once('*') else { return pattern == name };
    let Some(mut name) = name.strip_prefix(begin) else { return false };
    let mut parts: Vec<&str> = rest.split('*').collect();
    let end = parts.pop().unwrap_or_default();
    for part in parts {
        let Some(at) = name.find(part) else { return false };
        name = &name[at + part.len()..];
    }
    name.ends_with(end)
}

#[cfg(test)]
mod tests {
    use super::fits;

    #[test]
    fn a_star_is_any_text() {
        for (pattern, name) in
            [("a", "a"), ("*", ""), ("a*", "abc"), ("*c", "abc"), ("a*b*c", "a1b2bc"), ("*b*", "abc")]
        {
            assert!(fits(pattern, name), "{pattern} {name}");
        }
        for (pattern, name) in [("a", "ab"), ("a*c", "ab"), ("ab*ba", "aba"), ("*b*b*", "abc"), ("", "a")] {
            assert!(!fits(pattern, name), "{pattern} {name}");
        }
    }
}
