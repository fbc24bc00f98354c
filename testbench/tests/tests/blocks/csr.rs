//! `CsrBlock`: AXI4-Lite on one side, a register file with random answer times on the other.

use crate::blocks::common::Dut;
use rand::Rng;
use rand_chacha::ChaCha8Rng;
use spindle_blocks::CsrBlock;
use spindle_harness::{run_with_wave_on_failure, WaveContext};
use std::collections::HashMap;

const OKAY: u64 = 0;
const SLVERR: u64 = 2;
const DECERR: u64 = 3;

/// Addresses from here on answer with an error, from twice here on not at all.
const UNKNOWN: u64 = 0x4000;
const SILENT: u64 = 0x8000;

/// The register file behind the slave.
#[derive(Default)]
struct Registers {
    words: HashMap<u64, u64>,
    /// Cycles until the answer to the access under way.
    delay: Option<u64>,
    /// The request that must stay as it is.
    held: Option<[u8; 7]>,
    writes: u64,
}

impl Registers {
    /// Looks at the request, drives the answer of this cycle.
    fn cycle(&mut self, dut: &mut Dut, rng: &mut ChaCha8Rng, slowest: u64) {
        let raw: [u8; 7] = dut.bytes("csr");
        let all = raw.iter().rev().fold(0u64, |n, b| n << 8 | *b as u64);
        let (valid, write, address, data) =
            (all & 1 == 1, all >> 1 & 1 == 1, all >> 2 & 0xF_FFFF, all >> 22 & 0xFFFF_FFFF);
        dut.set_bytes("csr_answer", &[0; 5]);
        if !valid {
            assert!(
                self.delay.is_none() || self.held.is_none_or(|_| address >= SILENT),
                "the request fell before its answer"
            );
            (self.delay, self.held) = (None, None);
            return;
        }
        assert_eq!(address & 3, 0, "address not aligned");
        if let Some(held) = self.held {
            assert_eq!(held, raw, "the request changed before its answer");
        }
        self.held = Some(raw);
        let delay = *self.delay.get_or_insert_with(|| rng.random_range(0..=slowest));
        if delay > 0 || address >= SILENT {
            self.delay = Some(delay.saturating_sub(1));
            return;
        }
        let error = address >= UNKNOWN;
        let mut read = 0;
        if !error && write {
            self.words.insert(address, data);
            self.writes += 1;
        } else if !error {
            read = self.words.get(&address).copied().unwrap_or(0);
        }
        let answer = 1 | (error as u64) << 1 | read << 2;
        dut.set_bytes("csr_answer", &answer.to_le_bytes()[..5]);
        (self.delay, self.held) = (None, None);
    }
}

/// Plays one access and returns (response, data, cycles from the last channel taken to the response offered).
fn access(
    dut: &mut Dut,
    registers: &mut Registers,
    rng: &mut ChaCha8Rng,
    write: Option<(u64, u64)>,
    address: u64,
    slowest: u64,
) -> (u64, u64, u64) {
    // Random order and distance of the two write channels, random patience with the response.
    let (a_at, w_at) = (rng.random_range(0..4), rng.random_range(0..4));
    let patience = rng.random_range(0..3);
    let (mut a_sent, mut w_sent, mut answered) = (false, write.is_none(), 0);
    let mut since_taken = 0;
    for cycle in 0..2000 {
        let (a, w) = if write.is_some() { ("bar_aw", "bar_b") } else { ("bar_ar", "bar_r") };
        dut.set(&format!("{a}valid"), (!a_sent && cycle >= a_at) as u64);
        dut.set(&format!("{a}addr"), address);
        dut.set("bar_wvalid", (!w_sent && cycle >= w_at) as u64);
        let (data, strobe) = write.unwrap_or_default();
        dut.set("bar_wdata", data);
        dut.set("bar_wstrb", strobe);
        dut.eval();
        let valid = dut.high(&format!("{w}valid"));
        assert!(!valid || (a_sent && w_sent), "a response before the request");
        answered += valid as u64;
        dut.set(&format!("{w}ready"), (answered > patience) as u64);
        registers.cycle(dut, rng, slowest);
        dut.eval();
        let done = valid && answered > patience;
        let result = (dut.get(&format!("{w}resp")), dut.get("bar_rdata"));
        since_taken += (a_sent && w_sent && !valid) as u64;
        a_sent |= cycle >= a_at && dut.high(&format!("{a}ready"));
        w_sent |= cycle >= w_at && dut.high("bar_wready");
        dut.tick();
        if done {
            dut.set(&format!("{w}ready"), 0);
            return (result.0, result.1, since_taken + 1);
        }
    }
    panic!("no response to an access at {address:#x}");
}

fn slave(wave: &WaveContext) -> Dut {
    let mut dut = Dut::new(wave, &mut CsrBlock::default(), "csr_block");
    dut.reset();
    dut
}

#[test]
fn random_accesses() {
    run_with_wave_on_failure("random_accesses", |wave| {
        let mut rng = wave.rng();
        let (mut dut, mut registers) = (slave(wave), Registers::default());
        let mut expected: HashMap<u64, u64> = HashMap::new();
        let mut writes = 0;
        for n in 0..4000 {
            let address = rng.random_range(0..32) * 4 + if rng.random_range(0..8) == 0 { UNKNOWN } else { 0 };
            let skew = rng.random_range(0..4);
            if rng.random() {
                let data = rng.random::<u32>() as u64;
                let strobe = if rng.random_range(0..8) == 0 { rng.random_range(0..15) } else { 15 };
                let (response, _, _) =
                    access(&mut dut, &mut registers, &mut rng, Some((data, strobe)), address + skew, 5);
                let wanted = if strobe != 15 {
                    SLVERR
                } else if address >= UNKNOWN {
                    DECERR
                } else {
                    OKAY
                };
                assert_eq!(response, wanted, "write {n} to {address:#x} with strobe {strobe:#x}");
                if wanted == OKAY {
                    expected.insert(address, data);
                    writes += 1;
                }
            } else {
                let (response, data, _) = access(&mut dut, &mut registers, &mut rng, None, address + skew, 5);
                assert_eq!(response, if address >= UNKNOWN { DECERR } else { OKAY }, "read {n} of {address:#x}");
                assert_eq!(data, expected.get(&address).copied().unwrap_or(0), "read {n} of {address:#x}");
            }
        }
        assert_eq!((registers.writes, &registers.words), (writes, &expected), "a write was lost, doubled or invented");
    });
}

#[test]
fn cycles_of_an_access() {
    run_with_wave_on_failure("cycles_of_an_access", |wave| {
        let mut rng = wave.rng();
        let (mut dut, mut registers) = (slave(wave), Registers::default());
        for _ in 0..20 {
            assert_eq!(access(&mut dut, &mut registers, &mut rng, Some((1, 15)), 8, 0).2, 3);
            assert_eq!(access(&mut dut, &mut registers, &mut rng, None, 8, 0).2, 3);
        }
    });
}

#[test]
fn silence_ends_after_1024_cycles() {
    run_with_wave_on_failure("silence_ends_after_1024_cycles", |wave| {
        let mut rng = wave.rng();
        let (mut dut, mut registers) = (slave(wave), Registers::default());
        for write in [None, Some((7, 15))] {
            let (response, _, cycles) = access(&mut dut, &mut registers, &mut rng, write, SILENT, 0);
            assert_eq!((response, cycles), (SLVERR, 1026));
            // The slave still serves others.
            assert_eq!(access(&mut dut, &mut registers, &mut rng, Some((9, 15)), 4, 3).0, OKAY);
            let (response, data, _) = access(&mut dut, &mut registers, &mut rng, None, 4, 3);
            assert_eq!((response, data), (OKAY, 9));
        }
    });
}

/// A read and a write that wait together take turns, so that neither starves.
#[test]
fn reads_and_writes_take_turns() {
    run_with_wave_on_failure("reads_and_writes_take_turns", |wave| {
        let mut rng = wave.rng();
        let (mut dut, mut registers) = (slave(wave), Registers::default());
        for name in ["bar_arvalid", "bar_awvalid", "bar_wvalid", "bar_rready", "bar_bready"] {
            dut.set(name, 1);
        }
        dut.set("bar_araddr", 0);
        dut.set("bar_awaddr", 4);
        dut.set("bar_wstrb", 15);
        let mut order = vec![];
        for _ in 0..400 {
            dut.eval();
            registers.cycle(&mut dut, &mut rng, 3);
            dut.eval();
            if dut.high("bar_rvalid") {
                order.push('r');
            }
            if dut.high("bar_bvalid") {
                order.push('w');
            }
            dut.tick();
        }
        assert!(order.len() > 50, "{order:?}");
        assert!(order.windows(2).all(|pair| pair[0] != pair[1]), "{order:?}");
    });
}
