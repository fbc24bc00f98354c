//! A block under test: its ports by name, structs packed and unpacked.

use spindle_harness::{Model, Port, PortDirection, Source, WaveContext};
use spindle_verilog::prelude::Block;
use std::cell::RefCell;
use std::collections::HashMap;

/// A loaded model.
pub struct Dut {
    pub model: Model,
    ports: RefCell<HashMap<String, Port>>,
}

impl Dut {
    /// Emits, compiles, loads and resets a block.
    pub fn new(wave: &WaveContext, block: &mut impl Block, top: &str) -> Self {
        let design = spindle_verilog::emit(block, top).unwrap_or_else(|error| panic!("{top}: {error}"));
        let source = Source::from_text(top, design.to_string());
        let mut model = wave.model(&source).unwrap_or_else(|error| panic!("{top}: {error:#}"));
        // Inputs rest during the reset, so that no memory is written.
        let inputs: Vec<_> = model
            .library()
            .ports()
            .iter()
            .filter(|port| port.direction == PortDirection::Input)
            .map(|port| port.name.clone())
            .collect();
        for name in inputs {
            let port = model.port(&name).unwrap_or_else(|error| panic!("{error}"));
            model.set_bytes(port, &vec![0; (port.width() as usize).div_ceil(8)]);
        }
        if model.has_port("reset") {
            model.reset(3);
        }
        Self { model, ports: RefCell::default() }
    }

    fn port(&self, name: &str) -> Port {
        let find = || self.model.port(name).unwrap_or_else(|error| panic!("{error:#}"));
        *self.ports.borrow_mut().entry(name.to_string()).or_insert_with(find)
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

    pub fn bytes(&self, name: &str) -> Vec<u8> {
        self.model.get_bytes(self.port(name)).to_vec()
    }
}
