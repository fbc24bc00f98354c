//! What hosts, buses and wires cost: `host-cost.toml`, in cycles of the card.

use anyhow::{bail, Context, Result};
use serde::Deserialize;
use std::collections::BTreeMap;

/// The file.
const FILE: &str = include_str!("../host-cost.toml");

/// A constant and where it comes from.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Constant {
    /// Nanoseconds.
    pub ns: f64,
    /// Publication, section; or the command that measures it.
    pub source: String,
    /// Q read there, R recalled, M measured here.
    pub evidence: String,
}

/// Rates of a processor on its memory, in bytes per nanosecond.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Memory {
    /// Machine and command.
    pub source: String,
    /// As of [`Constant`].
    pub evidence: String,
    /// Contiguous copy.
    pub copy: f64,
    /// Destination ^= source.
    pub xor: f64,
    /// Multiply-add in GF(2^8).
    pub gf: f64,
    /// Sum of 32-bit words.
    pub add: f64,
    /// Test of a word of each row of 64 bytes; bytes of rows.
    pub filter: f64,
    /// Search of a pattern of four bytes in 48 bytes of each row of 64; bytes of rows.
    pub search: f64,
    /// Nanoseconds for each block of a strided copy, beside its bytes.
    pub block_ns: f64,
}

/// The file, read.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Costs {
    /// Processor time for each message sent or taken.
    pub overhead: Constant,
    /// SipHash-2-4 of 32 bytes, and the comparison with a tag.
    pub siphash: Constant,
    /// Buses by name.
    pub bus: BTreeMap<String, Constant>,
    /// Wires by name.
    pub wire: BTreeMap<String, Constant>,
    /// Rates of the processor.
    pub memory: Memory,
}

impl Costs {
    /// The constants of the file.
    ///
    /// # Errors
    /// The file is wrong.
    pub fn load() -> Result<Costs> {
        toml::from_str(FILE).context("use-cases/host-cost.toml is wrong")
    }

    /// Every constant by its name in the file: nanoseconds, and bytes per nanosecond.
    pub fn values(&self) -> BTreeMap<String, f64> {
        let Costs { overhead, siphash, bus, wire, memory } = self;
        let Memory { source: _, evidence: _, copy, xor, gf, add, filter, search, block_ns } = memory;
        let rates = [
            ("copy", copy),
            ("xor", xor),
            ("gf", gf),
            ("add", add),
            ("filter", filter),
            ("search", search),
            ("block_ns", block_ns),
        ];
        let mut values: BTreeMap<String, f64> =
            rates.iter().map(|(name, rate)| (format!("memory.{name}"), **rate)).collect();
        values.extend([("overhead".to_string(), overhead.ns), ("siphash".to_string(), siphash.ns)]);
        for (kind, constants) in [("bus", bus), ("wire", wire)] {
            values.extend(constants.iter().map(|(name, constant)| (format!("{kind}.{name}"), constant.ns)));
        }
        values
    }
}

/// A host and its bus by name: what a figure compares.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum HostKind {
    /// A card on PCIe, software that takes time.
    Pcie,
    /// A card on the processor's chip, software that takes time.
    Integrated,
    /// A card on PCIe, software that takes no time: what is left is the card's.
    Free,
}

impl HostKind {
    /// All of them.
    pub const ALL: [HostKind; 3] = [HostKind::Pcie, HostKind::Integrated, HostKind::Free];

    /// Name on command lines and in figures.
    pub fn name(self) -> &'static str {
        match self {
            HostKind::Pcie => "pcie",
            HostKind::Integrated => "integrated",
            HostKind::Free => "free",
        }
    }

    /// The host of this name.
    ///
    /// # Errors
    /// There is none.
    pub fn by_name(name: &str) -> Result<HostKind> {
        match HostKind::ALL.into_iter().find(|kind| kind.name() == name) {
            Some(kind) => Ok(kind),
            None => bail!("there is no host `{name}`; there are pcie, integrated and free"),
        }
    }
}

/// Costs of a host in cycles of the card.
#[derive(Clone, Copy, Debug)]
pub struct HostCost {
    /// Of a transaction on the bus.
    pub bus: u64,
    /// Of software, for each message sent or taken.
    pub overhead: u64,
    /// Of software, for the check of a tag.
    pub check: u64,
    /// Cycles per byte.
    copy: f64,
    xor: f64,
    gf: f64,
    add: f64,
    filter: f64,
    search: f64,
    /// Cycles per block.
    block: f64,
}

/// What a processor does with bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Work {
    /// A contiguous copy.
    Copy,
    /// Destination ^= source.
    Xor,
    /// Multiply-add in GF(2^8).
    Gf,
    /// Sum of 32-bit words.
    Add,
    /// Test of a word of each row of 64 bytes.
    Filter,
    /// Search of a pattern of four bytes in the text of each row of 64 bytes.
    Search,
}

impl HostCost {
    /// The costs of a host at a clock.
    ///
    /// # Errors
    /// The file lacks its bus.
    pub fn new(costs: &Costs, kind: HostKind, clock_mhz: u32) -> Result<HostCost> {
        let per_ns = f64::from(clock_mhz) / 1000.0;
        let bus = match kind {
            HostKind::Integrated => "integrated",
            HostKind::Pcie | HostKind::Free => "pcie",
        };
        let bus = costs.bus.get(bus).with_context(|| format!("use-cases/host-cost.toml has no bus `{bus}`"))?;
        let software = if kind == HostKind::Free { 0.0 } else { per_ns };
        Ok(HostCost {
            bus: (bus.ns * per_ns).round() as u64,
            overhead: (costs.overhead.ns * software).round() as u64,
            check: (costs.siphash.ns * software).round() as u64,
            copy: software / costs.memory.copy,
            xor: software / costs.memory.xor,
            gf: software / costs.memory.gf,
            add: software / costs.memory.add,
            filter: software / costs.memory.filter,
            search: software / costs.memory.search,
            block: costs.memory.block_ns * software,
        })
    }

    /// Cycles of work on so many bytes.
    pub fn work(&self, work: Work, bytes: usize) -> u64 {
        let rate = match work {
            Work::Copy => self.copy,
            Work::Xor => self.xor,
            Work::Gf => self.gf,
            Work::Add => self.add,
            Work::Filter => self.filter,
            Work::Search => self.search,
        };
        (rate * bytes as f64).ceil() as u64
    }

    /// Cycles of a strided copy.
    pub fn blocks(&self, blocks: usize, bytes: usize) -> u64 {
        (self.block * blocks as f64 + self.copy * bytes as f64).ceil() as u64
    }
}
