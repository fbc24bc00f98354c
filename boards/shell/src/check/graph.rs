//! The netlist as a graph: what drives a net, and what a cell reads for it.

use super::boxes::{Boxes, Pin};
use super::netlist::{Bit, Cell, Direction, Name, Netlist};
use std::collections::HashMap;

/// What drives a net.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) enum Driver {
    /// Bit of a port of the top.
    Port { port: usize, bit: usize },
    /// Bit of a register.
    Register { cell: usize, bit: usize },
    /// Bit of a read port of a memory.
    Read { cell: usize, port: usize, bit: usize },
    /// Output of a black box.
    Box { cell: usize, pin: usize, bit: usize },
    /// Output of logic.
    Logic { cell: usize, bit: usize },
}

/// An input of a cell.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Load<'n> {
    pub cell: usize,
    pub port: &'n str,
    pub bit: usize,
}

/// What a register has at a name: index into the names of the netlist, and bit there.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct NamedBit {
    pub name: usize,
    pub bit: usize,
}

/// A netlist with its drivers and names.
pub(crate) struct Graph<'n> {
    pub netlist: &'n Netlist,
    pub boxes: &'n Boxes,
    drivers: HashMap<u32, Driver>,
    names: HashMap<u32, NamedBit>,
}

/// Pins of a register that are not data: the pin and what it is.
pub(crate) const CONTROLS: &[(&str, &str)] = &[
    ("EN", "enable"),
    ("SRST", "reset"),
    ("ARST", "reset"),
    ("ALOAD", "load"),
    ("AD", "load"),
    ("SET", "set"),
    ("CLR", "reset"),
];

pub(crate) fn is_register(cell: &Cell) -> bool {
    const KINDS: &[&str] =
        &["$dff", "$dffe", "$sdff", "$sdffe", "$sdffce", "$adff", "$adffe", "$aldff", "$aldffe", "$dffsr", "$dffsre"];
    KINDS.contains(&cell.kind.as_str())
}

pub(crate) fn is_memory(cell: &Cell) -> bool {
    cell.kind == "$mem_v2"
}

/// Logic whose output bits depend on the same bits of its inputs only.
fn is_bitwise(kind: &str) -> bool {
    ["$and", "$or", "$xor", "$xnor", "$not", "$pos", "$buf", "$mux"].contains(&kind)
}

/// Logic of any kind: a cell of yosys that holds nothing.
fn is_logic(cell: &Cell) -> bool {
    const OTHERS: &[&str] = &[
        "$add",
        "$sub",
        "$mul",
        "$div",
        "$mod",
        "$divfloor",
        "$modfloor",
        "$neg",
        "$eq",
        "$ne",
        "$eqx",
        "$nex",
        "$lt",
        "$le",
        "$gt",
        "$ge",
        "$reduce_and",
        "$reduce_or",
        "$reduce_xor",
        "$reduce_xnor",
        "$reduce_bool",
        "$logic_not",
        "$logic_and",
        "$logic_or",
        "$shl",
        "$shr",
        "$sshl",
        "$sshr",
        "$shift",
        "$shiftx",
        "$pmux",
        "$bmux",
        "$demux",
        "$pow",
        "$tribuf",
    ];
    is_bitwise(&cell.kind) || OTHERS.contains(&cell.kind.as_str())
}

impl<'n> Graph<'n> {
    /// Fails with a sentence at a cell of no known kind.
    pub fn new(netlist: &'n Netlist, boxes: &'n Boxes) -> Result<Self, String> {
        let mut drivers = HashMap::new();
        for (port, of) in netlist.ports.iter().enumerate().filter(|(_, p)| p.direction != Direction::Output) {
            for (bit, net) in of.bits.iter().enumerate().filter_map(|(i, b)| Some((i, b.net()?))) {
                drivers.insert(net, Driver::Port { port, bit });
            }
        }
        for (at, cell) in netlist.cells.iter().enumerate() {
            let width = cell.number("WIDTH").max(1);
            let output = if is_register(cell) { "Q" } else { "Y" };
            if is_memory(cell) {
                for (i, net) in nets(cell.bits("RD_DATA")) {
                    drivers.insert(net, Driver::Read { cell: at, port: i / width, bit: i % width });
                }
            } else if is_register(cell) || is_logic(cell) {
                for (bit, net) in nets(cell.bits(output)) {
                    let register = Driver::Register { cell: at, bit };
                    drivers.insert(net, if is_register(cell) { register } else { Driver::Logic { cell: at, bit } });
                }
            } else if boxes.has(&cell.kind) {
                let outputs = cell.connections.iter().enumerate();
                for (pin, (_, bits)) in
                    outputs.filter(|(_, (p, _))| cell.directions.get(*p) == Some(&Direction::Output))
                {
                    for (bit, net) in nets(bits) {
                        drivers.insert(net, Driver::Box { cell: at, pin, bit });
                    }
                }
            } else {
                let (name, kind) = (&cell.name, &cell.kind);
                return Err(format!(
                    "cell `{name}` is a `{kind}`, whose clocks are not known; add it to check/boxes.rs"
                ));
            }
        }
        let mut names: HashMap<u32, NamedBit> = HashMap::new();
        for (name, of) in netlist.names.iter().enumerate() {
            for (bit, net) in nets(&of.bits) {
                let better = |old: &NamedBit| {
                    let old = &netlist.names[old.name];
                    let rank = |n: &Name| (n.register, n.synchroniser, n.path.len());
                    rank(of) > rank(old) || (rank(of) == rank(old) && of.path < old.path)
                };
                if names.get(&net).is_none_or(better) {
                    names.insert(net, NamedBit { name, bit });
                }
            }
        }
        Ok(Self { netlist, boxes, drivers, names })
    }

    /// What reads each net; none stands for a port of the top.
    pub fn loads(&self) -> HashMap<u32, Vec<Option<Load<'n>>>> {
        let mut loads: HashMap<u32, Vec<Option<Load>>> = HashMap::new();
        for (cell, of) in self.netlist.cells.iter().enumerate() {
            let is_input = |port: &String| of.directions.get(port) != Some(&Direction::Output);
            for (port, bits) in of.connections.iter().filter(|(port, _)| is_input(port)) {
                for (bit, net) in nets(bits) {
                    loads.entry(net).or_default().push(Some(Load { cell, port, bit }));
                }
            }
        }
        for port in self.netlist.ports.iter().filter(|port| port.direction != Direction::Input) {
            for (_, net) in nets(&port.bits) {
                loads.entry(net).or_default().push(None);
            }
        }
        loads
    }

    pub fn cell(&self, cell: usize) -> &'n Cell {
        &self.netlist.cells[cell]
    }

    /// What drives a bit; none for a constant and for a net that nothing drives.
    pub fn driver(&self, bit: Bit) -> Option<Driver> {
        self.drivers.get(&bit.net()?).copied()
    }

    /// Name of a net.
    pub fn named(&self, bit: Bit) -> Option<NamedBit> {
        self.names.get(&bit.net()?).copied()
    }

    /// Whether a net has a name that is marked as a synchroniser.
    pub fn marked(&self, bit: Bit) -> bool {
        self.named(bit).is_some_and(|named| self.netlist.names[named.name].synchroniser)
    }

    /// The output bit of a register.
    pub fn output(&self, cell: usize, bit: usize) -> Bit {
        self.cell(cell).bits("Q")[bit]
    }

    /// Name and direction-sorted position of a box's pin.
    pub fn pin(&self, cell: usize, pin: usize) -> (&'n str, Pin) {
        let cell = self.cell(cell);
        let name = cell.connections.keys().nth(pin).expect("the pin is one of the cell");
        (name, self.boxes.pin(&cell.kind, name))
    }

    /// The bits that logic, an asynchronous read or a buffer reads for its output.
    pub fn inputs(&self, driver: Driver) -> Vec<Bit> {
        match driver {
            Driver::Logic { cell, bit } => {
                let cell = self.cell(cell);
                let ports = cell.connections.iter().filter(|(port, _)| *port != "Y");
                if !is_bitwise(&cell.kind) {
                    return ports.flat_map(|(_, bits)| bits.iter().copied()).collect();
                }
                let of = |port: &str| {
                    let bits = cell.bits(port);
                    // An operand that is shorter than the result is extended.
                    bits.get(bit).or(if cell.flag(&format!("{port}_SIGNED"), 0) { bits.last() } else { None }).copied()
                };
                let select = cell.bits("S").first().copied();
                [of("A"), of("B"), select].into_iter().flatten().collect()
            }
            Driver::Read { cell, port, .. } => {
                let cell = self.cell(cell);
                let address = cell.number("ABITS");
                cell.bits("RD_ADDR")[port * address..(port + 1) * address].to_vec()
            }
            Driver::Box { cell, pin, bit } => match self.pin(cell, pin).1 {
                Pin::Through(input) => {
                    let bits = self.cell(cell).bits(&input);
                    bits.get(bit).or(bits.first()).copied().into_iter().collect()
                }
                _ => vec![],
            },
            _ => vec![],
        }
    }

    /// The bit from which buffers make this one; unknown if nothing goes into a buffer.
    pub fn before_buffers(&self, mut bit: Bit) -> Bit {
        // A ring of buffers does not end; no ring is longer than the netlist.
        for _ in 0..self.netlist.cells.len() {
            match self.driver(bit) {
                Some(driver @ Driver::Box { cell, pin, .. }) if matches!(self.pin(cell, pin).1, Pin::Through(_)) => {
                    bit = self.inputs(driver).first().copied().unwrap_or(Bit::Unknown);
                }
                _ => return bit,
            }
        }
        bit
    }

    /// Bits of a name as text: `base[3:0]`, `base[2]`, or `base` of a name of one bit, and where none are given. `separator`
    /// stands between levels.
    pub fn span(&self, name: usize, bits: &[usize], separator: &str) -> String {
        let of = &self.netlist.names[name];
        let base = of.path.join(separator);
        let (least, most) = (bits.iter().min().copied().unwrap_or(0), bits.iter().max().copied().unwrap_or(0));
        match () {
            () if of.bits.len() == 1 || bits.is_empty() => base,
            () if least == most => format!("{base}[{least}]"),
            () => format!("{base}[{most}:{least}]"),
        }
    }
}

/// Nets among bits, each with its place.
pub(crate) fn nets(bits: &[Bit]) -> impl Iterator<Item = (usize, u32)> + '_ {
    bits.iter().enumerate().filter_map(|(i, bit)| Some((i, bit.net()?)))
}
