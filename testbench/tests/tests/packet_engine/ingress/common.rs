//! A block under test, and packed descriptors.

use spindle_contract::descriptors::DESCRIPTORS;
use spindle_harness::{Model, Port, Source};
use spindle_verilog::prelude::Block;
use std::cell::RefCell;
use std::collections::HashMap;

/// A loaded model whose ports are looked up by name.
pub struct Dut {
    pub model: Model,
    ports: RefCell<HashMap<String, Port>>,
}

/// The text of a block, ready for Verilator.
pub fn source(block: &mut impl Block, top: &str) -> Source {
    let design = spindle_verilog::emit(block, top).unwrap_or_else(|e| panic!("{top}: {e}"));
    if let Ok(folder) = std::env::var("SPINDLE_EMIT") {
        let folder = std::path::Path::new(&folder).join(top);
        std::fs::create_dir_all(&folder).expect("SPINDLE_EMIT must name a folder that can be written");
        design.write_dir(&folder).expect("the emitted text can be written");
    }
    Source::new(top, design.modules.iter().map(|m| (format!("{}.sv", m.name), m.text.clone())).collect())
}

impl Dut {
    /// Emits, compiles, loads and resets a block.
    pub fn new(block: &mut impl Block, top: &str) -> Self {
        let library = Model::build(&source(block, top)).unwrap_or_else(|e| panic!("{top}: {e:#}"));
        let mut model = library.instance();
        model.reset(3);
        Self { model, ports: RefCell::default() }
    }

    fn port(&self, name: &str) -> Port {
        *self
            .ports
            .borrow_mut()
            .entry(name.to_string())
            .or_insert_with(|| self.model.port(name).unwrap_or_else(|e| panic!("{e:#}")))
    }

    pub fn set(&mut self, name: &str, value: u64) {
        let port = self.port(name);
        self.model.set(port, value);
    }

    pub fn get(&self, name: &str) -> u64 {
        self.model.get(self.port(name))
    }

    pub fn high(&self, name: &str) -> bool {
        self.get(name) == 1
    }

    pub fn set_bytes(&mut self, name: &str, bytes: &[u8]) {
        let port = self.port(name);
        self.model.set_bytes(port, bytes);
    }

    pub fn bytes(&self, name: &str) -> &[u8] {
        self.model.get_bytes(self.port(name))
    }

    pub fn eval(&mut self) {
        self.model.eval();
    }

    pub fn tick(&mut self) {
        self.model.tick();
    }

    /// A field of a packed descriptor on a port.
    pub fn field(&self, port: &str, descriptor: &str, field: &str) -> u64 {
        get_field(self.bytes(port), descriptor, field)
    }
}

fn place_of(descriptor: &str, field: &str) -> (usize, usize) {
    let d = DESCRIPTORS.iter().find(|d| d.name == descriptor).unwrap_or_else(|| panic!("no descriptor {descriptor}"));
    let mut low = 0;
    for f in d.fields {
        if f.name == field {
            return (low, f.bits);
        }
        low += f.bits;
    }
    panic!("{descriptor} has no field {field}")
}

/// A field of a packed descriptor.
pub fn get_field(bytes: &[u8], descriptor: &str, field: &str) -> u64 {
    let (low, width) = place_of(descriptor, field);
    (0..width).fold(0, |n, i| n | u64::from(bytes[(low + i) / 8] >> ((low + i) % 8) & 1) << i)
}

/// Sets a field of a packed descriptor.
pub fn set_field(bytes: &mut [u8], descriptor: &str, field: &str, value: u64) {
    let (low, width) = place_of(descriptor, field);
    assert!(width == 64 || value >> width == 0, "{descriptor}.{field} has {width} bits, {value} does not fit");
    for i in 0..width {
        let (byte, bit) = ((low + i) / 8, (low + i) % 8);
        bytes[byte] = bytes[byte] & !(1 << bit) | ((value >> i & 1) as u8) << bit;
    }
}

/// A packed descriptor of zeros.
pub fn packed(descriptor: &str) -> Vec<u8> {
    let bits: usize = DESCRIPTORS.iter().find(|d| d.name == descriptor).map_or(0, |d| d.bits());
    vec![0; bits.div_ceil(8)]
}
