//! Classic pcap, in either byte order and with either unit of time.

use crate::capture::{check_damaged, File, Order};
use spindle_fuzz::Source;
use spindle_sim::capture::{Captured, Format};
use std::time::Duration;

/// First number of the file, by the unit of its time stamps.
const MICROSECONDS: u32 = 0xA1B2_C3D4;
const NANOSECONDS: u32 = 0xA1B2_3C4D;
const ETHERNET: u32 = 1;

fn file(source: &mut Source) -> File {
    let order = Order { big_endian: source.chance(2) };
    let (magic, unit) = if source.chance(2) { (NANOSECONDS, 1) } else { (MICROSECONDS, 1000) };
    let limit = *source.pick(&[65_535u32, 40, 96, 262_144]);
    let mut file = File { interfaces: 1, ..File::default() };
    file.bytes.extend(order.word(magic));
    file.bytes.extend(order.half(2));
    file.bytes.extend(order.half(4));
    for word in [0, 0, limit, ETHERNET] {
        file.bytes.extend(order.word(word));
    }
    file.may_end();
    for _ in 0..source.below(6) {
        let mut bytes = source.bytes(64);
        bytes.push(source.byte());
        let (seconds, fraction) = (source.word(), source.below((1_000_000_000 / unit) as usize) as u32);
        let original = bytes.len() as u32;
        bytes.truncate(limit as usize);
        for word in [seconds, fraction, bytes.len() as u32, original] {
            file.bytes.extend(order.word(word));
        }
        file.bytes.extend(&bytes);
        if bytes.len() < original as usize {
            file.truncated += 1;
        } else {
            file.packets.push(Captured { time: Duration::new(seconds.into(), fraction * unit), bytes });
        }
        file.may_end();
    }
    file
}

#[test]
fn fuzz_pcap() {
    spindle_fuzz::run("pcap", 3000, |source| {
        let file = file(source);
        file.check(Format::Pcap, source);
        check_damaged(&source.mutated(&file.bytes))
    });
}
