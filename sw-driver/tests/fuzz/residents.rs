//! The list of residents that an earlier program left in the card: a good one comes back, and whatever else lies there with
//! a right checksum is a list of contexts that the card can have, or none; no call of the driver panics over it.

use spindle::resident::{Effect, ResidentRule};
use spindle::{Bar, ContextId, ContextOptions, Device, HostMemory, Image, Result};
use spindle_contract::memory_map::{base, CODE};
use spindle_contract::params::{Config, L1_SCRATCH_BASE, L1_SCRATCH_BYTES};
use spindle_contract::registers::{self, global, hpu};
use spindle_fuzz::Source;
use std::cell::RefCell;
use std::collections::HashMap;

const WORDS: [&str; 20] = [
    "context",
    "mailbox",
    "host",
    "packets",
    "messages",
    "field",
    "\t",
    "\n",
    "\r\n",
    "0",
    "31",
    "32",
    "-1",
    "+1",
    "255",
    "18446744073709551615",
    "9223372036854775808",
    "udp",
    "é",
    "",
];

/// A card whose context memory can be read and written word by word.
#[derive(Default)]
struct State {
    registers: HashMap<u32, u32>,
    words: HashMap<u32, u32>,
    next: u64,
    cycle: u32,
}

pub struct Table(RefCell<State>);

impl Table {
    /// The card of `config`, whose list of residents is this text.
    pub fn new(config: &Config, text: &str, active: u32) -> Table {
        let mut state = State { registers: registers::identity(config).collect(), next: 0x1000, ..State::default() };
        let room = (config.l2_bytes / 16).min(4096);
        let bytes = [&(text.len() as u32).to_le_bytes()[..], text.as_bytes()].concat();
        for (at, chunk) in (0..).zip(bytes.chunks(4)) {
            let mut word = [0; 4];
            word[..chunk.len()].copy_from_slice(chunk);
            state.words.insert((config.l2_bytes - room) as u32 + 4 * at, u32::from_le_bytes(word));
        }
        // FNV-1a, as the list has it.
        let sum = text.bytes().fold(0x811C_9DC5u32, |sum, byte| (sum ^ u32::from(byte)).wrapping_mul(0x0100_0193));
        state.registers.insert(global::BASE + global::SCRATCH, sum.max(1));
        state.registers.insert(hpu::BASE + hpu::CTX_ACTIVE, active);
        Table(RefCell::new(state))
    }
}

impl Bar for &Table {
    fn read32(&mut self, address: u32) -> Result<u32> {
        let state = &mut *self.0.borrow_mut();
        state.cycle = state.cycle.wrapping_add(1000);
        Ok(match address {
            address if address == global::BASE + global::CYCLE_LO => state.cycle,
            address if address == hpu::BASE + hpu::L2_DATA => {
                let at = state.registers.entry(hpu::BASE + hpu::L2_ADDR).or_default();
                *at = at.wrapping_add(4);
                state.words.get(&at.wrapping_sub(4)).copied().unwrap_or(0)
            }
            address => state.registers.get(&address).copied().unwrap_or(0),
        })
    }

    fn write32(&mut self, address: u32, value: u32) -> Result<()> {
        let state = &mut *self.0.borrow_mut();
        if address == hpu::BASE + hpu::L2_DATA {
            let at = state.registers.entry(hpu::BASE + hpu::L2_ADDR).or_default();
            *at = at.wrapping_add(4);
            state.words.insert(at.wrapping_sub(4), value);
        } else if [global::SCRATCH].map(|register| global::BASE + register).contains(&address)
            || [hpu::L2_ADDR, hpu::CTX_ACTIVE].map(|register| hpu::BASE + register).contains(&address)
        {
            state.registers.insert(address, value);
        }
        Ok(())
    }
}

impl HostMemory for &Table {
    fn alloc(&mut self, bytes: usize, align: usize) -> Result<u64> {
        let mut state = self.0.borrow_mut();
        let start = state.next.next_multiple_of(align as u64);
        state.next = start + bytes as u64;
        Ok(start)
    }

    fn free(&mut self, _: u64) -> Result<()> {
        Ok(())
    }

    fn read(&self, _: u64, bytes: &mut [u8]) -> Result<()> {
        bytes.fill(0);
        Ok(())
    }

    fn write(&mut self, _: u64, _: &[u8]) -> Result<()> {
        Ok(())
    }
}

/// Contexts of a list: number, name, and bytes of each memory.
type Contexts = Vec<(usize, String, [usize; 3])>;

/// A list as a program leaves it, its contexts with their bytes, and its rules.
fn list(source: &mut Source, config: &Config) -> (String, Contexts, Vec<ResidentRule>) {
    let (mut text, mut contexts, mut rules) = (String::new(), Vec::new(), Vec::new());
    for number in 0..source.below(4) {
        let name = *source.pick(&["ping pong.elf", "x", "", "é"]);
        let bytes = [64 << source.below(4), 64 << source.below(4), 64 << source.below(4)];
        let places = [64 * number * 8, 64 * number * 8, L1_SCRATCH_BASE + 64 * number * 8];
        let pieces: Vec<String> = places.iter().zip(bytes).map(|(place, bytes)| format!("{place}\t{bytes}")).collect();
        text += &format!("context\t{number}\t{}\t{}\t{name}\n", source.below(config.processes), pieces.join("\t"));
        contexts.push((number, name.to_owned(), bytes));
    }
    for _ in 0..source.below(4) {
        let rule = *source.pick(&["udp.dport == 9 || icmp", "", "spindle", "vlan"]);
        let context = ContextId(source.below(config.contexts));
        let (field, end) = ("udp[10:4]".to_owned(), "udp[8] == 1".to_owned());
        let (line, effect) = match source.below(5) {
            0 => ("mailbox".into(), Effect::Mailbox),
            1 => ("host".into(), Effect::Host),
            2 => (format!("packets\t{}", context.0), Effect::Packets(context)),
            3 => (format!("messages\t{}", context.0), Effect::Messages(context)),
            _ => (format!("field\t{}\t{field}\t{end}", context.0), Effect::Field { context, field, end }),
        };
        text += &format!("{line}\t{rule}\n");
        rules.push(ResidentRule { rule: rule.into(), effect });
    }
    (text, contexts, rules)
}

/// What programs do with residents.
fn use_residents(device: &mut Device<&Table, &Table>, source: &mut Source) {
    let context = ContextId(source.below(34));
    let image = Image { code: vec![0x13; 64], entries: [Some(base(CODE)), None, None, None], ..Image::default() };
    for _ in 0..3 {
        match source.below(7) {
            0 => drop(device.install(&image, &ContextOptions::default())),
            1 => drop(device.load_resident("new", &image, &ContextOptions::default(), |context| {
                vec![ResidentRule { rule: "udp".into(), effect: Effect::Packets(context) }]
            })),
            2 => drop((device.stop_resident(context), device.remove_resident(context))),
            3 => drop(device.read_state(context, 0, &mut [0; 8])),
            4 => drop(device.write_state(context, 4 * source.below(64), &[1; 4])),
            5 => drop(device.add_resident_rule(ResidentRule { rule: "icmp".into(), effect: Effect::Mailbox })),
            _ => drop((device.activate(context), device.strangers())),
        }
    }
}

#[test]
fn fuzz_resident_list() {
    spindle_fuzz::run("resident_list", 2500, |source| {
        let config = *source.pick(&Config::ALL);
        let (text, contexts, rules) = list(source, &config);
        let table = Table::new(&config, &text, (1 << contexts.len()) - 1);
        let device = Device::attach(&table, &table).expect("the card can be attached to");
        let read: Vec<_> =
            device.residents().iter().map(|known| (known.context.0, known.name.clone(), known.bytes())).collect();
        assert_eq!((read, device.resident_rules()), (contexts, &rules[..]), "{text:?}");
        assert!(device.strangers().is_empty());
        let damaged = if source.chance(4) { source.text(&WORDS) } else { source.mutated_text(&text, &WORDS) };
        let table = Table::new(&config, &damaged, source.word());
        let mut device = Device::attach(&table, &table).expect("the card can be attached to");
        for resident in device.residents() {
            let [code, state, scratch] = resident.bytes();
            assert!(resident.context.0 < config.contexts && scratch <= L1_SCRATCH_BYTES, "{resident:?}");
            assert!(code <= config.imem_bytes && state <= config.l2_bytes, "{resident:?}");
        }
        let taken = !device.residents().is_empty() || !device.resident_rules().is_empty();
        use_residents(&mut device, source);
        taken
    });
}
