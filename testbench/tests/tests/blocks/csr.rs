//! `CsrBlock`: AXI4-Lite on one side, a register file with random answer times on the other.

use rand::Rng;
use rand_chacha::ChaCha8Rng;
use spindle_blocks::desc::{CsrRequest, CsrResponse};
use spindle_blocks::CsrBlock;
use spindle_harness::{run_with_wave_on_failure, Dut, WaveContext};
use spindle_verilog::prelude::bits;
use std::collections::HashMap;

const OKAY: u64 = 0;
const SLVERR: u64 = 2;
const DECERR: u64 = 3;

/// Addresses from here on answer with an error, from twice here on, the upper half of the BAR, not at all.
const UNKNOWN: u64 = 0x4_0000;
const SILENT: u64 = 0x8_0000;

/// The register file of the slave.
#[derive(Default)]
struct Registers {
    words: HashMap<u64, u64>,
    /// Cycles until the answer to the access under way.
    delay: Option<u64>,
    /// The request that must stay as it is.
    held: Option<CsrRequest>,
    writes: u64,
}

impl Registers {
    /// Looks at the request, drives the answer of this cycle.
    fn cycle(&mut self, dut: &Dut<CsrBlock>, rng: &mut ChaCha8Rng, slowest: u64) {
        let raw = dut.csr.get();
        let (address, data) = (raw.addr.to_u64(), raw.wdata.to_u64());
        dut.csr_answer.set(CsrResponse::default());
        if !raw.valid {
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
        if !error && raw.write {
            self.words.insert(address, data);
            self.writes += 1;
        } else if !error {
            read = self.words.get(&address).copied().unwrap_or(0);
        }
        dut.csr_answer.set(CsrResponse { ack: true, error, rdata: bits(read) });
        (self.delay, self.held) = (None, None);
    }
}

/// Plays one access and returns (response, data, cycles from the last channel taken to the response offered).
fn access(
    dut: &Dut<CsrBlock>,
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
    let bar = &dut.bar;
    let [a_valid, ready] = if write.is_some() { [&bar.awvalid, &bar.bready] } else { [&bar.arvalid, &bar.rready] };
    let [a_ready, valid] = if write.is_some() { [&bar.awready, &bar.bvalid] } else { [&bar.arready, &bar.rvalid] };
    let (a_address, response) = if write.is_some() { (&bar.awaddr, &bar.bresp) } else { (&bar.araddr, &bar.rresp) };
    for cycle in 0..2000 {
        a_valid.set(!a_sent && cycle >= a_at);
        a_address.set(address);
        dut.bar.wvalid.set(!w_sent && cycle >= w_at);
        let (data, strobe) = write.unwrap_or_default();
        dut.bar.wdata.set(data);
        dut.bar.wstrb.set(strobe);
        dut.eval();
        let offered = valid.is_high();
        assert!(!offered || (a_sent && w_sent), "a response before the request");
        answered += offered as u64;
        ready.set(answered > patience);
        registers.cycle(dut, rng, slowest);
        dut.eval();
        let done = offered && answered > patience;
        let result = (response.number(), dut.bar.rdata.number());
        since_taken += (a_sent && w_sent && !offered) as u64;
        a_sent |= cycle >= a_at && a_ready.is_high();
        w_sent |= cycle >= w_at && dut.bar.wready.is_high();
        dut.tick();
        if done {
            ready.set(false);
            return (result.0, result.1, since_taken + 1);
        }
    }
    panic!("no response to an access at {address:#x}");
}

fn slave(wave: &WaveContext) -> Dut<CsrBlock> {
    let dut = Dut::new(wave, CsrBlock::default(), "csr_block");
    dut.reset();
    dut
}

#[test]
fn random_accesses() {
    run_with_wave_on_failure("random_accesses", |wave| {
        let mut rng = wave.rng();
        let (dut, mut registers) = (slave(wave), Registers::default());
        let mut expected: HashMap<u64, u64> = HashMap::new();
        let mut writes = 0;
        // Few words, so that what was written is read, but every bit of the address counts.
        let places: Vec<u64> = (0..32).map(|_| rng.random_range(0..UNKNOWN / 4) * 4).collect();
        for n in 0..4000 {
            let address = places[rng.random_range(0..32)] + if rng.random_range(0..8) == 0 { UNKNOWN } else { 0 };
            let skew = rng.random_range(0..4);
            if rng.random() {
                let data = rng.random::<u32>() as u64;
                let strobe = if rng.random_range(0..8) == 0 { rng.random_range(0..15) } else { 15 };
                let (response, _, _) = access(&dut, &mut registers, &mut rng, Some((data, strobe)), address + skew, 5);
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
                let (response, data, _) = access(&dut, &mut registers, &mut rng, None, address + skew, 5);
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
        let (dut, mut registers) = (slave(wave), Registers::default());
        for _ in 0..20 {
            assert_eq!(access(&dut, &mut registers, &mut rng, Some((1, 15)), 8, 0).2, 3);
            assert_eq!(access(&dut, &mut registers, &mut rng, None, 8, 0).2, 3);
        }
    });
}

#[test]
fn silence_ends_after_1024_cycles() {
    run_with_wave_on_failure("silence_ends_after_1024_cycles", |wave| {
        let mut rng = wave.rng();
        let (dut, mut registers) = (slave(wave), Registers::default());
        for write in [None, Some((7, 15))] {
            let (response, _, cycles) = access(&dut, &mut registers, &mut rng, write, SILENT, 0);
            assert_eq!((response, cycles), (SLVERR, 1026));
            // The slave still serves others.
            assert_eq!(access(&dut, &mut registers, &mut rng, Some((9, 15)), 4, 3).0, OKAY);
            let (response, data, _) = access(&dut, &mut registers, &mut rng, None, 4, 3);
            assert_eq!((response, data), (OKAY, 9));
        }
    });
}

/// A read and a write that wait together take turns, so that neither starves.
#[test]
fn reads_and_writes_take_turns() {
    run_with_wave_on_failure("reads_and_writes_take_turns", |wave| {
        let mut rng = wave.rng();
        let (dut, mut registers) = (slave(wave), Registers::default());
        for wire in [&dut.bar.arvalid, &dut.bar.awvalid, &dut.bar.wvalid, &dut.bar.rready, &dut.bar.bready] {
            wire.set(true);
        }
        dut.bar.araddr.set(0);
        dut.bar.awaddr.set(4);
        dut.bar.wstrb.set(15);
        let mut order = vec![];
        for _ in 0..400 {
            dut.eval();
            registers.cycle(&dut, &mut rng, 3);
            dut.eval();
            if dut.bar.rvalid.is_high() {
                order.push('r');
            }
            if dut.bar.bvalid.is_high() {
                order.push('w');
            }
            dut.tick();
        }
        assert!(order.len() > 50, "{order:?}");
        assert!(order.windows(2).all(|pair| pair[0] != pair[1]), "{order:?}");
    });
}
