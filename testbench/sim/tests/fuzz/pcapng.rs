//! pcapng: sections of either byte order, interfaces with their options, packets in all three kinds of blocks, and blocks
//! that a reader passes over.

use crate::capture::{check_damaged, File, Order};
use spindle_fuzz::Source;
use spindle_sim::capture::{Captured, Format};
use std::collections::BTreeSet;
use std::time::Duration;

const SECTION: u32 = 0x0A0D_0D0A;
const BYTE_ORDER: u32 = 0x1A2B_3C4D;
const INTERFACE: u32 = 1;
const PACKET: u32 = 2;
const SIMPLE: u32 = 3;
const ENHANCED: u32 = 6;
/// Blocks that hold no packet: names, statistics, secrets, a custom block, one that no one knows.
const OTHERS: [u32; 5] = [4, 5, 10, 0xBAD, 0x7777];

/// An interface, as a reader has to take its packets.
struct Interface {
    /// Units in a second.
    units: u128,
    offset: i64,
    fcs: usize,
    limit: u32,
    ethernet: bool,
}

/// A file that grows block by block.
struct Writer {
    file: File,
    order: Order,
    section: usize,
    interfaces: Vec<Interface>,
    used: BTreeSet<(usize, usize)>,
    last: Duration,
}

impl Writer {
    fn block(&mut self, kind: u32, body: &[u8]) {
        let padded = body.len().next_multiple_of(4);
        let length = self.order.word(12 + padded as u32);
        self.file.bytes.extend(self.order.word(kind));
        self.file.bytes.extend(length);
        self.file.bytes.extend(body);
        self.file.bytes.resize(self.file.bytes.len() + padded - body.len(), 0);
        self.file.bytes.extend(length);
    }

    fn option(&self, code: u16, value: &[u8]) -> Vec<u8> {
        let mut option = [self.order.half(code), self.order.half(value.len() as u16)].concat();
        option.extend(value);
        option.resize(option.len().next_multiple_of(4), 0);
        option
    }

    fn section(&mut self, source: &mut Source) {
        self.order = Order { big_endian: source.chance(2) };
        self.section += 1;
        self.interfaces.clear();
        // The length of a section is known, or not.
        let length = if source.chance(2) { [0xFF; 8] } else { [0; 8] };
        let mut body = self.order.word(BYTE_ORDER).to_vec();
        body.extend([self.order.half(1), self.order.half(0)].concat());
        body.extend(length);
        if source.chance(2) {
            body.extend(self.option(4, b"a test"));
        }
        self.block(SECTION, &body);
    }

    fn interface(&mut self, source: &mut Source) {
        let mut interface = Interface { units: 1_000_000, offset: 0, fcs: 0, limit: 0, ethernet: true };
        if source.chance(8) {
            interface.ethernet = false;
        }
        if source.chance(3) {
            interface.limit = *source.pick(&[1, 20, 40, 65_535]);
        }
        let link: u16 = if interface.ethernet { 1 } else { 101 };
        let mut body = [self.order.half(link), [0; 2]].concat();
        body.extend(self.order.word(interface.limit));
        if source.chance(2) {
            let code = match source.below(3) {
                0 => 9,
                1 => source.below(28) as u8,
                _ => 0x80 | source.below(90) as u8,
            };
            let base = if code & 0x80 == 0 { 10u128 } else { 2 };
            interface.units = base.pow(u32::from(code & 0x7F));
            body.extend(self.option(9, &[code]));
        }
        if source.chance(4) {
            body.extend(self.option(2, "eth 0 é".as_bytes()));
        }
        if source.chance(4) {
            interface.offset = source.number() as i64;
            let bytes = match self.order.big_endian {
                true => interface.offset.to_be_bytes(),
                false => interface.offset.to_le_bytes(),
            };
            body.extend(self.option(14, &bytes));
        }
        if source.chance(4) {
            interface.fcs = *source.pick(&[0, 4, 2, 16]);
            body.extend(self.option(13, &[interface.fcs as u8]));
        }
        // The mark at the end of the options may be missing.
        if source.chance(2) {
            body.extend([0; 4]);
        }
        self.interfaces.push(interface);
        self.block(INTERFACE, &body);
    }

    fn packet(&mut self, source: &mut Source) {
        let kind = *source.pick(&[ENHANCED, ENHANCED, SIMPLE, PACKET]);
        let number = if kind == SIMPLE { 0 } else { source.below(self.interfaces.len()) };
        let Some(interface) = self.interfaces.get(number).filter(|interface| interface.ethernet) else { return };
        let mut bytes = source.bytes(48);
        bytes.push(source.byte());
        let original = bytes.len();
        let limit = if interface.limit == 0 { original } else { interface.limit as usize };
        let taken = if kind == SIMPLE || !source.chance(8) { limit } else { source.below(original + 1) };
        bytes.truncate(taken);
        let units = source.number();
        if kind != SIMPLE {
            let nanoseconds = u128::from(units) * 1_000_000_000 / interface.units;
            let seconds = (nanoseconds / 1_000_000_000) as u64;
            let seconds = i128::from(seconds) + i128::from(interface.offset);
            let seconds = seconds.clamp(0, u64::MAX.into()) as u64;
            self.last = Duration::new(seconds, (nanoseconds % 1_000_000_000) as u32);
        }
        let word = |value: u32| self.order.word(value);
        let lengths = [word(bytes.len() as u32), word(original as u32)].concat();
        let time = [word((units >> 32) as u32), word(units as u32)].concat();
        let mut body = match kind {
            SIMPLE => word(original as u32).to_vec(),
            PACKET => [[self.order.half(number as u16), [0; 2]].concat(), time, lengths].concat(),
            _ => [word(number as u32).to_vec(), time, lengths].concat(),
        };
        body.extend(&bytes);
        if kind == ENHANCED && source.chance(3) {
            body.resize(body.len().next_multiple_of(4), 0);
            body.extend(self.option(1, b"a comment"));
        }
        self.used.insert((self.section, number));
        if bytes.len() < original {
            self.file.truncated += 1;
        } else {
            let fcs = if original > interface.fcs { interface.fcs } else { 0 };
            bytes.truncate(original - fcs);
            self.file.packets.push(Captured { time: self.last, bytes });
        }
        self.block(kind, &body);
    }
}

fn file(source: &mut Source) -> File {
    let mut writer = Writer {
        file: File::default(),
        order: Order { big_endian: false },
        section: 0,
        interfaces: Vec::new(),
        used: BTreeSet::new(),
        last: Duration::ZERO,
    };
    writer.section(source);
    writer.file.may_end();
    writer.interface(source);
    writer.file.may_end();
    for _ in 0..source.below(8) {
        match source.below(12) {
            0 => writer.section(source),
            1 => {
                let body = source.bytes(20);
                let kind = *source.pick(&OTHERS);
                writer.block(kind, &body);
            }
            2 => writer.interface(source),
            _ => writer.packet(source),
        }
        writer.file.may_end();
    }
    writer.file.interfaces = writer.used.len();
    writer.file
}

#[test]
fn fuzz_pcapng() {
    spindle_fuzz::run("pcapng", 3000, |source| {
        let file = file(source);
        file.check(Format::PcapNg, source);
        check_damaged(&source.mutated(&file.bytes))
    });
}
