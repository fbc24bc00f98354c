//! The gearboxes, with clocks of which one is twice the other.

use super::xdma::Xdma;
use rand::Rng;
use rand_chacha::ChaCha8Rng;
use spindle_boards::hdl::gearbox::{BarGearbox, HostGearbox};
use spindle_harness::{run_with_wave_on_failure, Dut, WaveContext};
use std::collections::{HashMap, VecDeque};

/// A burst of the core.
#[derive(Clone, Debug)]
struct Burst {
    address: u64,
    beats: Vec<(Vec<u8>, u64)>,
}

impl Burst {
    fn random(rng: &mut ChaCha8Rng) -> Self {
        let count = rng.random_range(1..5u64);
        let address = rng.random_range(0..1u64 << 32) * 256 + 64 * rng.random_range(0..=4 - count);
        let mut beats: Vec<(Vec<u8>, u64)> =
            (0..count).map(|_| ((0..64).map(|_| rng.random()).collect(), u64::MAX)).collect();
        // Bytes before the first and after the last are not written.
        beats[0].1 &= u64::MAX << [0, 5, 31, 32, 33, 60][rng.random_range(0..6)];
        beats.last_mut().unwrap().1 &= u64::MAX >> [0, 5, 31, 32, 33, 60][rng.random_range(0..6)];
        Self { address, beats }
    }

    fn written(&self) -> impl Iterator<Item = (u64, u8)> + '_ {
        self.beats.iter().enumerate().flat_map(|(i, (data, strobes))| {
            let line = self.address + 64 * i as u64;
            (0..64).filter(move |byte| strobes >> byte & 1 == 1).map(move |byte| (line + byte, data[byte as usize]))
        })
    }
}

/// A cycle of the fast clock; every second one is an edge of the slow clock as well.
fn rise<B: spindle_verilog::ports::HasPorts>(dut: &Dut<B>, slow: bool) {
    let mut model = dut.model_mut();
    let (fast_clock, slow_clock) = (model.port("pcie_clock").unwrap(), model.port("core_clock").unwrap());
    for level in [1, 0] {
        model.set(fast_clock, level);
        model.set(slow_clock, if slow { level } else { 0 });
        model.eval();
    }
}

fn reset<B: spindle_verilog::ports::HasPorts>(dut: &Dut<B>) {
    for (level, cycles) in [(1, 8), (0, 4)] {
        for name in ["pcie_reset", "core_reset"] {
            let mut model = dut.model_mut();
            let port = model.port(name).unwrap();
            model.set(port, level);
        }
        (0..cycles).for_each(|cycle| rise(dut, cycle % 2 == 1));
    }
}

fn host(wave: &WaveContext) -> Dut<HostGearbox> {
    let dut = Dut::new(wave, HostGearbox::default(), "host_gearbox");
    dut.ignore_all();
    reset(&dut);
    dut
}

#[test]
fn bursts_of_512_bits_are_bursts_of_256() {
    run_with_wave_on_failure("host_gearbox", |wave| {
        let mut rng = wave.rng();
        let dut = host(wave);
        let (engine, mut xdma) = (&dut.engine, Xdma::new(32, 32));
        let mut bytes: HashMap<u64, u8> = HashMap::new();
        // Whole writes in order, how far the newest has gone; reads with their beats that have come.
        let (mut writes, mut reads): (VecDeque<Burst>, VecDeque<(u64, u64, u64)>) = Default::default();
        let mut write: Option<Burst> = None;
        let mut sent: Option<(Burst, usize)> = None;
        let mut read: Option<(u64, u64)> = None;
        let (mut answered, mut read_back) = (0, 0);
        let mut data_offered = false;
        let mut ready = [true; 2];
        for cycle in 0..60_000u64 {
            let slow = cycle % 2 == 1;
            let pace = [100, 70, 30][(cycle / 4000 % 3) as usize];
            xdma.pace = [100, 60, 90, 20][(cycle / 3000 % 4) as usize];
            let ends = cycle > 50_000;
            if !slow {
                // Inputs of the core change after its edge, which was the one before.
                let chance = |rng: &mut ChaCha8Rng| rng.random_range(0..100) < pace;
                if !ends && write.is_none() && writes.len() < 12 && chance(&mut rng) {
                    write = Some(Burst::random(&mut rng));
                }
                if !ends && read.is_none() && reads.len() < 12 && chance(&mut rng) {
                    let burst = Burst::random(&mut rng);
                    read = Some((burst.address, burst.beats.len() as u64));
                }
                data_offered = sent.is_some() && (data_offered || chance(&mut rng));
                engine.awvalid.set(write.is_some());
                if let Some(burst) = &write {
                    engine.awaddr.set(burst.address);
                    engine.awlen.set(burst.beats.len() - 1);
                }
                engine.wvalid.set(data_offered);
                if let Some((burst, at)) = &sent {
                    engine.wdata.set(&burst.beats[*at].0);
                    engine.wstrb.set(burst.beats[*at].1);
                    engine.wlast.set(at + 1 == burst.beats.len());
                }
                engine.arvalid.set(read.is_some());
                if let Some((address, beats)) = read {
                    engine.araddr.set(address);
                    engine.arlen.set(beats - 1);
                }
                ready = [chance(&mut rng), chance(&mut rng)];
                engine.bready.set(ready[0]);
                engine.rready.set(ready[1]);
            }
            xdma.drive(&dut.pcie, &mut rng, true);
            dut.eval();
            xdma.sample(&dut.pcie, &mut rng);
            if slow {
                if engine.bvalid.is_high() && ready[0] {
                    assert_eq!((engine.bid.number(), engine.bresp.number()), (0, 0));
                    let burst = writes.pop_front().expect("an answer to a write");
                    // The XDMA has the burst under the address of its first half that is written.
                    let first = burst.written().map(|(at, _)| at & !31).next().unwrap_or(burst.address + 32);
                    let halves = xdma.written(first).expect("the burst came");
                    let strobed = |half: &(Vec<u8>, u64)| half.1 != 0;
                    if burst.written().next().is_some() {
                        assert!(strobed(&halves[0]) && strobed(halves.last().unwrap()), "{burst:x?}");
                    } else {
                        assert_eq!(halves.len(), 2 * burst.beats.len() - 1, "{burst:x?}");
                    }
                    for (i, (data, strobes)) in halves.iter().enumerate() {
                        for byte in (0..32).filter(|byte| strobes >> byte & 1 == 1) {
                            bytes.insert(first + 32 * i as u64 + byte, data[byte as usize]);
                        }
                    }
                    for (at, byte) in burst.written() {
                        assert_eq!(bytes.remove(&at), Some(byte), "byte {at:#x} of {burst:x?}");
                    }
                    assert!(bytes.is_empty(), "bytes that no burst wrote");
                    answered += 1;
                }
                if engine.rvalid.is_high() && ready[1] {
                    let (address, beats, at) = reads.front_mut().expect("a beat of a read");
                    assert_eq!(engine.rdata.bytes(), Xdma::data(*address + 64 * *at, 64));
                    assert_eq!((engine.rresp.number(), engine.rlast.is_high()), (0, *at + 1 == *beats));
                    *at += 1;
                    if at == beats {
                        reads.pop_front();
                        read_back += 1;
                    }
                }
                let taken = (engine.awready.is_high(), engine.wready.is_high(), engine.arready.is_high());
                if data_offered && taken.1 {
                    data_offered = false;
                    let (burst, at) = sent.as_mut().expect("a beat was offered");
                    *at += 1;
                    if *at == burst.beats.len() {
                        writes.extend(sent.take().map(|(burst, _)| burst));
                    }
                }
                if write.is_some() && taken.0 {
                    assert!(sent.is_none(), "an address before the data of the burst before");
                    sent = write.take().map(|burst| (burst, 0));
                }
                if let Some((address, beats)) = read.filter(|_| taken.2) {
                    reads.push_back((address, beats, 0));
                    read = None;
                }
            }
            rise(&dut, slow);
        }
        assert!(writes.is_empty() && reads.is_empty() && sent.is_none() && xdma.is_idle());
        assert!(answered > 2000 && read_back > 2000, "{answered} {read_back}");
    });
}

/// One beat of 512 bits in each cycle of the core, both ways, and the latencies of the module text.
#[test]
fn bandwidth_and_latency() {
    run_with_wave_on_failure("host_gearbox_timing", |wave| {
        let dut = host(wave);
        let (engine, pcie) = (&dut.engine, &dut.pcie);
        engine.awlen.set(3);
        engine.arlen.set(3);
        engine.wstrb.set(u64::MAX);
        pcie.awready.set(true);
        pcie.wready.set(true);
        pcie.arready.set(true);
        engine.rready.set(true);
        engine.bready.set(true);
        engine.awvalid.set(true);
        engine.wvalid.set(true);
        let (mut taken, mut given, mut wide, mut narrow, mut at) = (0, 0, 0, 0, 0);
        for cycle in 0..400 {
            let slow = cycle % 2 == 1;
            engine.wlast.set(at == 3);
            pcie.rvalid.set(true);
            pcie.rlast.set(narrow % 8 == 7);
            dut.eval();
            let counts = cycle >= 40;
            if slow {
                if engine.wready.is_high() {
                    at = (at + 1) % 4;
                    taken += u64::from(counts);
                }
                wide += u64::from(counts && engine.rvalid.is_high());
            }
            given += u64::from(counts && pcie.wvalid.is_high());
            narrow += u64::from(pcie.rready.is_high());
            rise(&dut, slow);
        }
        // 360 cycles of the fast clock are 180 of the core's.
        assert_eq!((taken, given, wide), (180, 360, 180));

        // Latency of each way, alone: offered after the first edge of the reader's clock that follows the edge that took the
        // word. `common` is whether that edge is one of both clocks.
        for (down, common, fast_edges) in [(true, true, 1), (false, false, 1), (false, true, 2)] {
            reset(&dut);
            engine.awvalid.set(false);
            engine.wvalid.set(false);
            pcie.rvalid.set(false);
            pcie.awready.set(false);
            if common {
                rise(&dut, false);
            }
            engine.arvalid.set(down);
            pcie.bvalid.set(!down);
            rise(&dut, common);
            engine.arvalid.set(false);
            pcie.bvalid.set(false);
            let mut edges = 0;
            loop {
                dut.eval();
                if if down { pcie.arvalid.is_high() } else { engine.bvalid.is_high() } {
                    break;
                }
                assert!(edges < 10, "nothing comes");
                rise(&dut, common == (edges % 2 == 1));
                edges += 1;
            }
            assert_eq!(edges, fast_edges, "down: {down}, common: {common}");
        }
    });
}

/// BAR accesses pass unchanged and in order.
#[test]
fn bar_accesses_pass() {
    run_with_wave_on_failure("bar_gearbox", |wave| {
        let mut rng = wave.rng();
        let dut = Dut::new(wave, BarGearbox::default(), "bar_gearbox");
        dut.ignore_all();
        reset(&dut);
        let (pcie, core) = (&dut.pcie, &dut.core);
        // Channels: address, data and answer of writes, address and data of reads. What was offered and has not come out.
        let mut inside: [VecDeque<Vec<u8>>; 5] = Default::default();
        let mut offers: [Option<Vec<u8>>; 5] = Default::default();
        let mut ready = [false; 5];
        let mut passed = [0; 5];
        let widths = [10, 37, 2, 10, 35];
        for cycle in 0..30_000u64 {
            let slow = cycle % 2 == 1;
            let pace = [100, 60, 20][(cycle / 2000 % 3) as usize];
            for i in 0..5 {
                let toward_host = i == 2 || i == 4;
                // An input changes after an edge of its clock.
                let source_moves = !toward_host || !slow;
                let sink_moves = toward_host || !slow;
                if source_moves && offers[i].is_none() && rng.random_range(0..100) < pace {
                    offers[i] = Some((0..widths[i]).map(|_| rng.random()).collect());
                }
                if sink_moves {
                    ready[i] = rng.random_range(0..100) < pace;
                }
            }
            let set_address = |word: &[u8], write: bool| {
                let (id, len, size) = (word[0] & 15, word[9], word[0] >> 5);
                let (ids, addresses, lens, sizes) = if write {
                    (&pcie.awid, &pcie.awaddr, &pcie.awlen, &pcie.awsize)
                } else {
                    (&pcie.arid, &pcie.araddr, &pcie.arlen, &pcie.arsize)
                };
                ids.set(id);
                addresses.set_bytes(&word[1..9]);
                lens.set(len);
                sizes.set(size);
            };
            pcie.awvalid.set(offers[0].is_some());
            offers[0].iter().for_each(|word| set_address(word, true));
            pcie.wvalid.set(offers[1].is_some());
            if let Some(word) = &offers[1] {
                pcie.wdata.set_bytes(&word[..32]);
                pcie.wstrb.set_bytes(&word[32..36]);
                pcie.wlast.set(word[36] & 1 == 1);
            }
            core.bvalid.set(offers[2].is_some());
            if let Some(word) = &offers[2] {
                core.bid.set(word[0] & 15);
                core.bresp.set(word[1] & 3);
            }
            pcie.arvalid.set(offers[3].is_some());
            offers[3].iter().for_each(|word| set_address(word, false));
            core.rvalid.set(offers[4].is_some());
            if let Some(word) = &offers[4] {
                core.rdata.set_bytes(&word[..32]);
                core.rid.set(word[32] & 15);
                core.rresp.set(word[33] & 3);
                core.rlast.set(word[34] & 1 == 1);
            }
            core.awready.set(ready[0]);
            core.wready.set(ready[1]);
            pcie.bready.set(ready[2]);
            core.arready.set(ready[3]);
            pcie.rready.set(ready[4]);
            dut.eval();
            let of_address = |id: u64, address: Vec<u8>, len: u64, size: u64| {
                [vec![(id | size << 5) as u8], address, vec![len as u8]].concat()
            };
            let out = [
                core.awvalid.is_high().then(|| {
                    of_address(core.awid.number(), core.awaddr.bytes(), core.awlen.number(), core.awsize.number())
                }),
                core.wvalid
                    .is_high()
                    .then(|| [core.wdata.bytes(), core.wstrb.bytes(), vec![core.wlast.is_high().into()]].concat()),
                pcie.bvalid.is_high().then(|| vec![pcie.bid.number() as u8, pcie.bresp.number() as u8]),
                core.arvalid.is_high().then(|| {
                    of_address(core.arid.number(), core.araddr.bytes(), core.arlen.number(), core.arsize.number())
                }),
                pcie.rvalid.is_high().then(|| {
                    let rest = [pcie.rid.number() as u8, pcie.rresp.number() as u8, pcie.rlast.is_high().into()];
                    [pcie.rdata.bytes(), rest.to_vec()].concat()
                }),
            ];
            let taken =
                [&pcie.awready, &pcie.wready, &core.bready, &pcie.arready, &core.rready].map(|port| port.is_high());
            for i in 0..5 {
                let toward_host = i == 2 || i == 4;
                let (source_edge, sink_edge) = (!toward_host || slow, toward_host || slow);
                if sink_edge && ready[i] {
                    if let Some(word) = &out[i] {
                        assert_eq!(inside[i].pop_front().as_ref(), Some(word), "channel {i}, cycle {cycle}");
                        passed[i] += 1;
                    }
                }
                if source_edge && taken[i] {
                    if let Some(mut word) = offers[i].take() {
                        // Only bits that the channel has.
                        match i {
                            0 | 3 => word[0] &= 0xEF,
                            1 => word[36] &= 1,
                            2 => word = vec![word[0] & 15, word[1] & 3],
                            _ => {
                                word[32] &= 15;
                                word[33] &= 3;
                                word[34] &= 1;
                            }
                        }
                        inside[i].push_back(word);
                    }
                }
            }
            rise(&dut, slow);
        }
        assert!(passed.iter().all(|count| *count > 2000) && inside.iter().all(|queue| queue.len() <= 4), "{passed:?}");
    });
}
