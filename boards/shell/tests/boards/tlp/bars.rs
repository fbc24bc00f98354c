//! The BARs: reads and writes of every shape, in order.

use super::bench::{Bench, PATIENCE};
use super::link::LinkPace;
use super::packet::{Completion, Request};
use super::registers::initial;
use rand::Rng;
use rand_chacha::ChaCha8Rng;
use spindle_blocks::CsrResponse;
use spindle_contract::registers::{global, shell};
use spindle_harness::run_with_wave_on_failure;
use spindle_verilog::prelude::*;
use std::collections::HashMap;

/// BARs as the core shows them: the registers, and both halves of a 64-bit BAR 2.
pub const REGISTERS: u8 = 1;
pub const MSIX: u8 = 0b1100;

/// A read of one DW of the registers.
pub fn read(address: u64) -> Request {
    Request {
        write: false,
        wide: false,
        address: 0xF000_0000 + address,
        first: 15,
        last: 0,
        words: 1,
        data: vec![],
        requester: 0x0018,
        tag: 3,
        marks: 0,
        poisoned: false,
        digest: false,
        bars: REGISTERS,
    }
}

/// A write of one DW of the registers.
pub fn write(address: u64, word: u32) -> Request {
    Request { write: true, data: word.to_le_bytes().to_vec(), ..read(address) }
}

/// A request of a random shape.
pub fn random(rng: &mut ChaCha8Rng, write: bool) -> Request {
    let words = match rng.random_range(0..4) {
        0 | 1 => 1,
        2 => rng.random_range(1..=4),
        _ => rng.random_range(1..=if write { 32 } else { 100 }),
    };
    let contiguous = [15u8, 14, 12, 8, 7, 3, 1, 6, 2, 4];
    let first = match (words, rng.random_range(0..4)) {
        (1, 0) => rng.random_range(0..16),
        (1, _) => contiguous[rng.random_range(0..10)],
        _ => contiguous[rng.random_range(0..4)],
    };
    let last = if words == 1 { 0 } else { [15, 7, 3, 1][rng.random_range(0..4)] };
    let wide = rng.random_range(0..3) == 0;
    let low = 0x2000 + 4 * rng.random_range(0..0x100u64);
    Request {
        write,
        wide,
        address: low + if wide { 0x38_00A0_0000 } else { 0xF000_0000 },
        first,
        last,
        words,
        data: if write { (0..4 * words).map(|_| rng.random()).collect() } else { vec![] },
        requester: rng.random(),
        tag: rng.random(),
        marks: rng.random::<u32>() & 0x0074_3000,
        poisoned: write && rng.random_range(0..20) == 0,
        digest: rng.random_range(0..8) == 0,
        bars: if rng.random_range(0..10) == 0 { 0 } else { REGISTERS },
    }
}

/// Naive completions of a read: cut at each multiple of 128 bytes.
fn expected(request: &Request, id: u16, word: impl Fn(u32) -> u32) -> Vec<Completion> {
    let header = Completion {
        id,
        status: 0,
        byte_count: 0,
        requester: request.requester,
        tag: request.tag,
        lower: 0,
        poisoned: false,
        marks: request.marks,
        data: None,
    };
    // The bytes of the read, from the first one that is enabled to the last one.
    let enables: Vec<bool> = (0..4 * request.words)
        .map(|i| {
            let of = match i / 4 {
                0 => request.first,
                n if n + 1 == request.words => request.last,
                _ => 15,
            };
            of >> (i % 4) & 1 == 1
        })
        .collect();
    let first = enables.iter().position(|e| *e).unwrap_or(0);
    let last = enables.iter().rposition(|e| *e).unwrap_or(0);
    if request.bars == 0 {
        return vec![Completion { status: 1, byte_count: (last + 1 - first) as u16, ..header }];
    }
    let mut list = vec![];
    let mut at = 0;
    while at < 4 * request.words {
        let address = request.address as usize % (1 << 20) + at;
        let bytes = (4 * request.words - at).min(128 - address % 128);
        let dw = |i: usize| match request.first {
            0 if request.words == 1 => 0,
            _ => word((address + 4 * i) as u32),
        };
        let data = (0..bytes / 4).flat_map(|i| dw(i).to_le_bytes()).collect();
        let from = if at == 0 { first } else { at };
        let lower = (request.address as usize + from) as u8 & 0x7F;
        list.push(Completion { byte_count: (last + 1 - from) as u16, lower, data: Some(data), ..header.clone() });
        at += bytes;
    }
    list
}

#[test]
fn requests_of_every_shape_are_carried_out_in_order() {
    for batch in 0..4 {
        run_with_wave_on_failure(&format!("tlp_bars_{batch}"), |wave| {
            let mut rng = wave.rng();
            let mut bench = Bench::new(wave, LinkPace::random(&mut rng));
            bench.root.id = rng.random();
            bench.configure(true);
            bench.registers.delay = [0, 0, 3, 12][batch];
            bench.registers.errors = vec![0x2040, 0x2044, 0x23F8];
            bench.steps(5);
            let mut model: HashMap<u32, u32> = HashMap::new();
            let mut answers = vec![];
            for _ in 0..1500 {
                let is_write = rng.random();
                let request = random(&mut rng, is_write);
                bench.link.send(request.packet());
                let errors = &bench.registers.errors;
                let word = |model: &HashMap<u32, u32>, at: u32| match errors.contains(&at) {
                    true => u32::MAX,
                    false => model.get(&at).copied().unwrap_or_else(|| initial(at)),
                };
                if !is_write {
                    answers.extend(expected(&request, bench.root.id, |at| word(&model, at)));
                } else if request.bars != 0 && !request.poisoned {
                    for (i, byte) in request.data.iter().enumerate() {
                        let of = match i / 4 {
                            0 => request.first,
                            n if n + 1 == request.words => request.last,
                            _ => 15,
                        };
                        let at = (request.address as u32 % (1 << 20)) + i as u32 / 4 * 4;
                        if of >> (i % 4) & 1 == 1 && !errors.contains(&at) {
                            let shift = 8 * (i % 4);
                            let old = word(&model, at);
                            model.insert(at, old & !(0xFF << shift) | (*byte as u32) << shift);
                        }
                    }
                }
                if rng.random_range(0..20) == 0 {
                    bench.steps(rng.random_range(0..200));
                }
            }
            let end = bench.dut.cycle() + 2_000_000;
            while bench.completions.len() < answers.len() && bench.dut.cycle() < end {
                bench.step();
            }
            for (i, expected) in answers.iter().enumerate() {
                assert_eq!(bench.completions.pop_front().as_ref(), Some(expected), "completion {i}");
            }
            bench.steps(3000);
            assert!(bench.completions.is_empty());
            for (at, word) in &model {
                assert_eq!(bench.registers.word(*at), *word, "register {at:x}");
            }
            assert!(bench
                .registers
                .words
                .keys()
                .all(|at| model.contains_key(at) || bench.registers.errors.contains(at)));
            assert_eq!((bench.events[0], bench.events[3], bench.events[4]), (0, 0, 0));
        });
    }
}

#[test]
fn latencies_of_registers_are_those_of_the_text() {
    run_with_wave_on_failure("tlp_bar_latencies", |wave| {
        let mut bench = Bench::new(wave, LinkPace::FULL);
        bench.steps(5);
        for _ in 0..2 {
            bench.link.send(read(0x24).packet());
            bench.completion(50);
            assert_eq!(bench.registers.asked - bench.link.taken, TO_REGISTER, "read");
            assert_eq!(bench.link.began - bench.registers.answered, TO_COMPLETION);
            bench.link.send(write(0x28, 5).packet());
            bench.steps(30);
            assert_eq!(bench.registers.asked - bench.link.taken, TO_REGISTER, "write");
        }
    });
}

/// Request on `m_axis_rx` → address on `bar`.
const TO_REGISTER: u64 = 6;
/// `bar.rvalid` → completion on `s_axis_tx`.
const TO_COMPLETION: u64 = 3;

#[test]
fn a_silent_register_costs_its_patience_and_nothing_more() {
    run_with_wave_on_failure("tlp_silent", |wave| {
        let mut bench = Bench::new(wave, LinkPace::FULL);
        bench.registers.silent = vec![0x30];
        bench.steps(5);
        bench.link.send(read(0x30).packet());
        let sent = bench.dut.cycle();
        assert_eq!(bench.completion(PATIENCE + 50).data, Some(vec![0xFF; 4]));
        assert!(bench.dut.cycle() - sent < PATIENCE + 20);
        // While the NIC owes its answer, registers read all ones at once.
        bench.link.send(read(0x20).packet());
        assert_eq!(bench.completion(40).data, Some(vec![0xFF; 4]));
        bench.registers.awake = true;
        bench.steps(10);
        bench.link.send(read(0x20).packet());
        assert_eq!(bench.completion(40).data, Some(initial(0x20).to_le_bytes().to_vec()));
        assert_eq!(bench.events[5], 2);
    });
}

#[test]
fn the_page_of_the_shell_is_reached_beside_the_registers() {
    run_with_wave_on_failure("tlp_shell_page", |wave| {
        let mut bench = Bench::new(wave, LinkPace::FULL);
        bench.registers.silent = vec![0x30];
        bench.steps(5);
        // The page answers while the NIC is silent.
        bench.link.send(read(0x30).packet());
        bench.completion(PATIENCE + 50);
        let shell = |bench: &mut Bench, request: Request, answer: Option<(u32, bool)>| {
            bench.link.send(request.packet());
            let mut seen = vec![];
            for _ in 0..PATIENCE + 50 {
                let asked = bench.dut.csr.get();
                if asked.valid {
                    let word = if asked.write { asked.wdata.to_u64() } else { 0 };
                    seen.push((asked.addr.to_u64(), asked.write, word));
                }
                let (rdata, error) = answer.unwrap_or_default();
                let ack = asked.valid && answer.is_some();
                let rdata = bits(if ack { rdata } else { 0 });
                bench.dut.csr_answer.set(CsrResponse { ack, error: ack && error, rdata });
                bench.step();
            }
            seen.dedup();
            seen
        };
        let page = shell::BASE as u64;
        for (address, answer) in [(page, Some((0x1234, false))), (page + 0xFFC, Some((5, true))), (page + 8, None)] {
            let seen = shell(&mut bench, read(address), answer);
            assert_eq!(seen, [(address, false, 0)]);
            let word = answer.filter(|(_, error)| !error).map_or(u32::MAX, |(word, _)| word);
            assert_eq!(bench.completion(1).data, Some(word.to_le_bytes().to_vec()));
        }
        let word = (global::BASE + global::SHELL) as u64;
        assert_eq!(shell(&mut bench, read(word), Some((page as u32, false))), [(word, false, 0)]);
        assert_eq!(bench.completion(1).data, Some((page as u32).to_le_bytes().to_vec()));
        assert_eq!(shell(&mut bench, write(page + 4, 77), Some((0, false))), [(page + 4, true, 77)]);
        assert_eq!(shell(&mut bench, Request { first: 3, ..write(page + 4, 77) }, Some((0, false))), []);
        assert_eq!(bench.registers.log, [(0x30, None)]);
    });
}
