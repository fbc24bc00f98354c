//! What yosys writes with `write_json`: modules, ports, cells and the nets between them.

use serde::{Deserialize, Deserializer};
use std::borrow::Cow;
use std::collections::{BTreeMap, HashMap};

/// A whole file.
#[derive(Deserialize)]
pub struct Netlist<'a> {
    #[serde(borrow)]
    pub modules: HashMap<Cow<'a, str>, Module<'a>>,
}

/// One module.
#[derive(Deserialize)]
pub struct Module<'a> {
    #[serde(borrow)]
    pub ports: BTreeMap<Cow<'a, str>, Port<'a>>,
    #[serde(borrow)]
    pub cells: HashMap<Cow<'a, str>, Cell<'a>>,
    /// Names of nets.
    #[serde(borrow, default)]
    pub netnames: HashMap<Cow<'a, str>, Name>,
}

/// A port of a module.
#[derive(Deserialize)]
pub struct Port<'a> {
    #[serde(borrow)]
    pub direction: Cow<'a, str>,
    pub bits: Vec<Bit>,
}

/// An instance of a cell or of a module.
#[derive(Deserialize)]
pub struct Cell<'a> {
    #[serde(borrow, rename = "type")]
    pub kind: Cow<'a, str>,
    /// Numbers as strings of bits.
    #[serde(borrow, default)]
    pub parameters: HashMap<Cow<'a, str>, serde_json::Value>,
    /// Among them `src`, the place in the source.
    #[serde(borrow, default)]
    pub attributes: HashMap<Cow<'a, str>, serde_json::Value>,
    #[serde(borrow, default)]
    pub port_directions: HashMap<Cow<'a, str>, Cow<'a, str>>,
    #[serde(borrow)]
    pub connections: HashMap<Cow<'a, str>, Vec<Bit>>,
}

/// The bits that have a name.
#[derive(Deserialize)]
pub struct Name {
    pub bits: Vec<Bit>,
}

/// One bit of a connection.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Bit {
    /// The number of a net.
    Net(u64),
    /// "0", "1" or "x".
    Constant,
}

impl<'de> Deserialize<'de> for Bit {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Bit, D::Error> {
        #[derive(Deserialize)]
        #[serde(untagged)]
        enum Form {
            Net(u64),
            Constant(serde::de::IgnoredAny),
        }
        Ok(match Form::deserialize(deserializer)? {
            Form::Net(net) => Bit::Net(net),
            Form::Constant(_) => Bit::Constant,
        })
    }
}

impl Cell<'_> {
    /// The bits of all pins of this direction.
    pub fn bits<'b>(&'b self, direction: &'b str) -> impl Iterator<Item = Bit> + 'b {
        let pins = self.connections.iter().filter(move |(pin, _)| self.port_directions[*pin] == direction);
        pins.flat_map(|(_, bits)| bits.iter().copied())
    }

    /// File and line in the source.
    pub fn source(&self) -> Option<(&str, &str)> {
        // Further places are those of the tool's own mapping rules.
        let place = self.attributes.get("src")?.as_str()?.split('|').next()?;
        let (file, lines) = place.rsplit_once(':')?;
        Some((file, lines.split(['.', '-']).next()?))
    }

    /// Whether a parameter is a number other than 0, or the word "TRUE".
    pub fn is_set(&self, parameter: &str) -> bool {
        let text = self.parameters.get(parameter).and_then(|value| value.as_str()).unwrap_or_default().trim();
        text == "TRUE" || !text.is_empty() && text.chars().all(|c| "01".contains(c)) && text.contains('1')
    }
}
