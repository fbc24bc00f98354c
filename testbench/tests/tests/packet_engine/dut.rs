//! A block under test, with descriptors by field name.

use crate::packet_engine::schedule::message_index::hash;
use spindle_contract::descriptors::{action, Descriptor, DESCRIPTORS};
use spindle_contract::wire::opcode;
use spindle_harness::{Model, Port, Source, WaveContext};
use spindle_verilog::prelude::Block;
use std::collections::HashMap;

/// The text of a block, ready for Verilator, or why it cannot be had. With `SPINDLE_EMIT=<folder>` it is written there too.
pub fn design(block: &mut impl Block, top: &str) -> Result<Source, String> {
    let design = spindle_verilog::emit(block, top).map_err(|e| e.to_string())?;
    if let Ok(folder) = std::env::var("SPINDLE_EMIT") {
        let folder = std::path::Path::new(&folder).join(top);
        std::fs::create_dir_all(&folder).expect("SPINDLE_EMIT must name a folder that can be written");
        design.write_dir(&folder).expect("the emitted text can be written");
    }
    Ok(Source::new(top, design.modules.iter().map(|m| (format!("{}.sv", m.name), m.text.clone())).collect()))
}

/// A descriptor as name → value.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Record(pub HashMap<&'static str, u64>);

impl Record {
    pub fn new(fields: &[(&'static str, u64)]) -> Self {
        Record(fields.iter().copied().collect())
    }

    pub fn get(&self, name: &str) -> u64 {
        *self.0.get(name).unwrap_or_else(|| panic!("the record has no field {name}"))
    }

    fn layout(name: &str) -> &'static Descriptor {
        DESCRIPTORS.iter().find(|d| d.name == name).unwrap_or_else(|| panic!("there is no descriptor {name}"))
    }

    /// The bytes of the descriptor; fields that were not given are zero.
    pub fn pack(&self, descriptor: &str) -> Vec<u8> {
        let layout = Self::layout(descriptor);
        for name in self.0.keys() {
            assert!(layout.fields.iter().any(|f| f.name == *name), "{descriptor} has no field {name}");
        }
        let mut bytes = vec![0; layout.bits().div_ceil(8)];
        let mut at = 0;
        for field in layout.fields {
            let value = self.0.get(field.name).copied().unwrap_or(0);
            assert!(field.bits == 64 || value >> field.bits == 0, "{descriptor}.{}: {value} is too large", field.name);
            for bit in 0..field.bits {
                bytes[(at + bit) / 8] |= ((value >> bit & 1) as u8) << ((at + bit) % 8);
            }
            at += field.bits;
        }
        bytes
    }

    /// All fields of a descriptor.
    pub fn unpack(descriptor: &str, bytes: &[u8]) -> Self {
        let mut at = 0;
        let mut record = Record::default();
        for field in Self::layout(descriptor).fields {
            let value =
                (0..field.bits).fold(0u64, |v, bit| v | (bytes[(at + bit) / 8] as u64 >> ((at + bit) % 8) & 1) << bit);
            record.0.insert(field.name, value);
            at += field.bits;
        }
        record
    }
}

/// Which way the packet with these fields goes, by the rules of the wire and of the rule language: what the ingress join says beside it.
pub fn intake(of: impl Fn(&str) -> u64) -> u64 {
    let code = of("opcode") as u8;
    let mailbox = of("action") == u64::from(action::MAILBOX);
    let by_field = of("by_field") == 1 && !mailbox;
    let served = [opcode::PUT, opcode::GET, opcode::GET_RESP].contains(&code);
    let whole = of("is_spindle") == 0 || code == opcode::GET || of("msg_len") == of("payload_len");
    let single = !by_field && (whole || (of("per_message") == 0 && !mailbox));
    let class = u128::from(of("opcode") & 7) | u128::from(by_field) << 3;
    let names = [("context", 5), ("src_nid", 9), ("src_pid", 41), ("msg_id", 57)];
    let key = names.iter().fold(class | u128::from(mailbox) << 4, |key, (name, at)| key | u128::from(of(name)) << at);
    let flags = [mailbox, served, by_field, single, mailbox && served && whole];
    let flags = flags.iter().enumerate().fold(0, |word, (bit, flag)| word | u64::from(*flag) << bit);
    flags | hash(key) << 5
}

/// A loaded model whose ports are looked up by name.
pub struct Dut {
    pub model: Model,
    ports: HashMap<String, Port>,
}

impl Dut {
    /// Emits, compiles and loads a block, and resets it.
    pub fn new(wave: &WaveContext, block: &mut impl Block, top: &str) -> Self {
        Self::load(wave, design(block, top), top)
    }

    /// The same of a block that is made here, on a thread of its own: an engine is larger than the stack of a test.
    pub fn of_large<B: Block>(
        wave: &WaveContext,
        make: impl FnOnce() -> B + Send + 'static,
        top: &'static str,
    ) -> Self {
        Self::load(wave, crate::large::on_large_stack(move || design(&mut make(), top)), top)
    }

    fn load(wave: &WaveContext, design: Result<Source, String>, top: &str) -> Self {
        let mut model = design
            .map_err(anyhow::Error::msg)
            .and_then(|source| wave.model(&source))
            .unwrap_or_else(|e| panic!("{top}: {e:#}"));
        model.reset(3);
        Self { model, ports: HashMap::new() }
    }

    fn port(&mut self, name: &str) -> Port {
        if let Some(port) = self.ports.get(name) {
            return *port;
        }
        let port = self.model.port(name).unwrap_or_else(|e| panic!("{e:#}"));
        self.ports.insert(name.to_string(), port);
        port
    }

    pub fn set(&mut self, name: &str, value: u64) {
        let port = self.port(name);
        self.model.set(port, value);
    }

    pub fn get(&mut self, name: &str) -> u64 {
        let port = self.port(name);
        self.model.get(port)
    }

    pub fn high(&mut self, name: &str) -> bool {
        self.get(name) == 1
    }

    pub fn set_bytes(&mut self, name: &str, bytes: &[u8]) {
        let port = self.port(name);
        self.model.set_bytes(port, bytes);
    }

    pub fn bytes(&mut self, name: &str) -> Vec<u8> {
        let port = self.port(name);
        self.model.get_bytes(port).to_vec()
    }

    /// Sets a port; beside a packet for the scheduler also which way it goes, as the ingress join does.
    pub fn put(&mut self, port: &str, descriptor: &str, record: &Record) {
        self.set_bytes(port, &record.pack(descriptor));
        if port == "packet" {
            self.set("packet_intake", intake(|field| record.0.get(field).copied().unwrap_or(0)));
        }
    }

    pub fn record(&mut self, port: &str, descriptor: &str) -> Record {
        let bytes = self.bytes(port);
        Record::unpack(descriptor, &bytes)
    }

    pub fn eval(&mut self) {
        self.model.eval();
    }

    pub fn tick(&mut self) {
        self.model.tick();
    }
}
