//! Memories against an array of words.

use crate::blocks::common::{random_bytes, Dut};
use rand::Rng;
use rand_chacha::ChaCha8Rng;
use spindle_blocks::{ByteRam, LutRam, Ram1w2r, RamStyle, SdpRam, TdpRam};
use spindle_harness::run_with_wave_on_failure;

/// A read port as it should behave: a pipeline of `latency` places that holds its last word.
struct ReadPort {
    pipe: Vec<Option<Vec<u8>>>,
}

impl ReadPort {
    fn new(latency: usize) -> Self {
        Self { pipe: vec![None; latency] }
    }

    /// What the output shows in this cycle, if anything was ever read.
    fn shows(&self) -> Option<&Vec<u8>> {
        self.pipe.last().and_then(Option::as_ref)
    }

    /// A clock edge; `read` when the port reads.
    fn edge(&mut self, read: Option<Vec<u8>>) {
        for i in (1..self.pipe.len()).rev() {
            self.pipe[i] = self.pipe[i - 1].clone();
        }
        if read.is_some() {
            self.pipe[0] = read;
        }
    }
}

/// A few addresses, so that ports meet often, and now and then any.
fn address(rng: &mut ChaCha8Rng, depth: usize) -> usize {
    if rng.random_range(0..4) > 0 {
        rng.random_range(0..4)
    } else {
        rng.random_range(0..depth)
    }
}

/// Writes the strobed bytes; a strobe of all ones is the whole word, however wide.
fn write_bytes(word: &mut [u8], data: &[u8], strobe: u64) {
    for (i, byte) in word.iter_mut().enumerate() {
        if strobe == u64::MAX || strobe.checked_shr(i as u32).unwrap_or(0) & 1 == 1 {
            *byte = data[i];
        }
    }
}

/// One write port with strobes (or an enable), R read ports with an enable each.
fn simple<const BYTES: usize>(
    dut: &mut Dut,
    rng: &mut ChaCha8Rng,
    depth: usize,
    latency: usize,
    strobes: bool,
    reads: &[[&str; 3]],
) {
    let mut words = vec![vec![0u8; BYTES]; depth];
    let mut ports: Vec<ReadPort> = reads.iter().map(|_| ReadPort::new(latency)).collect();
    for cycle in 0..6000 {
        let at = address(rng, depth);
        let data: [u8; BYTES] = random_bytes(rng);
        let strobe = if !strobes {
            [0, u64::MAX][rng.random_range(0..2)]
        } else {
            rng.random::<u64>() & rng.random::<u64>() & (u64::MAX >> (64 - BYTES))
        };
        dut.set("write_address", at as u64);
        dut.set_bytes("write_data", &data);
        if strobes {
            dut.set_bytes("write_strobe", &strobe.to_le_bytes()[..BYTES.div_ceil(8)]);
        } else {
            dut.set("write_enable", strobe & 1);
        }
        let asked: Vec<Option<usize>> =
            reads.iter().map(|_| rng.random_bool(0.7).then(|| address(rng, depth))).collect();
        for (names, asked) in reads.iter().zip(&asked) {
            dut.set(names[0], asked.is_some() as u64);
            dut.set(names[1], asked.unwrap_or_else(|| rng.random_range(0..depth)) as u64);
        }
        dut.eval();
        for (names, port) in reads.iter().zip(&ports) {
            if let Some(expected) = port.shows() {
                assert_eq!(&dut.bytes::<BYTES>(names[2])[..], &expected[..], "cycle {cycle}: {}", names[2]);
            }
        }
        for (port, asked) in ports.iter_mut().zip(&asked) {
            port.edge(asked.map(|a| words[a].clone()));
        }
        write_bytes(&mut words[at], &data, strobe);
        dut.tick();
    }
}

const ONE_READ: [[&str; 3]; 1] = [["read_enable", "read_address", "read_data"]];

#[test]
fn simple_dual_port() {
    run_with_wave_on_failure("simple_dual_port", |wave| {
        let mut rng = wave.rng();
        for (style, name) in
            [(RamStyle::Block, "block"), (RamStyle::Distributed, "distributed"), (RamStyle::Ultra, "ultra")]
        {
            for latency in [1, 2] {
                let mut dut =
                    Dut::new(wave, &mut SdpRam::<5, 72>::new(style, latency), &format!("sdp_{name}_{latency}"));
                simple::<9>(&mut dut, &mut rng, 32, latency, false, &ONE_READ);
            }
        }
        let mut dut = Dut::new(wave, &mut SdpRam::<5, 512>::with_depth(RamStyle::Block, 1, 20), "sdp_20x512");
        simple::<64>(&mut dut, &mut rng, 20, 1, false, &ONE_READ);
    });
}

#[test]
fn byte_enables() {
    run_with_wave_on_failure("byte_enables", |wave| {
        let mut rng = wave.rng();
        for latency in [1, 2] {
            let mut dut =
                Dut::new(wave, &mut ByteRam::<5, 4, 32>::new(RamStyle::Block, latency), &format!("byte_ram_{latency}"));
            simple::<4>(&mut dut, &mut rng, 32, latency, true, &ONE_READ);
        }
        let mut dut = Dut::new(wave, &mut ByteRam::<4, 64, 512>::default(), "byte_ram_512");
        simple::<64>(&mut dut, &mut rng, 16, 1, true, &ONE_READ);
    });
}

#[test]
fn one_write_two_reads() {
    run_with_wave_on_failure("one_write_two_reads", |wave| {
        let mut rng = wave.rng();
        for latency in [1, 2] {
            let mut dut =
                Dut::new(wave, &mut Ram1w2r::<5, 576>::new(RamStyle::Block, latency), &format!("ram_1w2r_{latency}"));
            simple::<72>(
                &mut dut,
                &mut rng,
                32,
                latency,
                false,
                &[["a_enable", "a_address", "a_data"], ["b_enable", "b_address", "b_data"]],
            );
        }
    });
}

#[test]
fn lut_ram_reads_at_once() {
    run_with_wave_on_failure("lut_ram_reads_at_once", |wave| {
        let mut rng = wave.rng();
        let mut dut = Dut::new(wave, &mut LutRam::<5, 40, 3>::default(), "lut_ram_3r");
        let mut words = [[0u8; 5]; 32];
        for cycle in 0..6000 {
            let (at, data, enable) = (address(&mut rng, 32), random_bytes::<5>(&mut rng), rng.random_bool(0.6));
            dut.set("write_enable", enable as u64);
            dut.set("write_address", at as u64);
            dut.set_bytes("write_data", &data);
            for round in 0..2 {
                for r in 0..3 {
                    let from = address(&mut rng, 32);
                    dut.set(&format!("read_address_{r}"), from as u64);
                    dut.eval();
                    assert_eq!(
                        dut.bytes::<5>(&format!("read_data_{r}")),
                        words[from],
                        "cycle {cycle}.{round}: port {r}"
                    );
                }
            }
            if enable {
                words[at] = data;
            }
            dut.tick();
        }
    });
}

#[test]
fn true_dual_port() {
    run_with_wave_on_failure("true_dual_port", |wave| {
        let mut rng = wave.rng();
        let mut dut = Dut::new(wave, &mut TdpRam::<5, 4, 32>::default(), "tdp_ram");
        let mut words = vec![vec![0u8; 4]; 32];
        // The word that the array of each port fetched, and the one that its output shows.
        let mut fetched: [Option<Vec<u8>>; 2] = [None, None];
        let mut shown = fetched.clone();
        let mut met = 0;
        for cycle in 0..10_000 {
            let mut work: Vec<(bool, usize, u64, [u8; 4])> = (0..2)
                .map(|_| {
                    (
                        rng.random_bool(0.8),
                        address(&mut rng, 32),
                        if rng.random() { rng.random_range(0..16) } else { 0 },
                        random_bytes(&mut rng),
                    )
                })
                .collect();
            if work[0].1 == work[1].1 && work[0].2 != 0 && work[1].2 != 0 {
                work[1].2 = 0; // both writing one word is ruled out
            }
            met += (work[0].1 == work[1].1 && work[0].0 && work[1].0 && work[0].2 != work[1].2) as u32;
            for (name, (enable, at, strobe, data)) in ["a", "b"].iter().zip(&work) {
                dut.set(&format!("{name}_enable"), *enable as u64);
                dut.set(&format!("{name}_address"), *at as u64);
                dut.set(&format!("{name}_strobe"), *strobe);
                dut.set_bytes(&format!("{name}_write"), data);
            }
            let advance: [bool; 2] = std::array::from_fn(|_| rng.random_bool(0.7));
            dut.set("a_advance", advance[0] as u64);
            dut.set("b_advance", advance[1] as u64);
            dut.eval();
            for (name, shown) in ["a_read", "b_read"].iter().zip(&shown) {
                if let Some(expected) = shown {
                    assert_eq!(&dut.bytes::<4>(name)[..], &expected[..], "cycle {cycle}: {name}");
                }
            }
            for (port, (enable, at, _, _)) in work.iter().enumerate() {
                if advance[port] {
                    shown[port] = fetched[port].clone();
                }
                if *enable {
                    fetched[port] = Some(words[*at].clone());
                }
            }
            for (enable, at, strobe, data) in work {
                write_bytes(&mut words[at], &data, if enable { strobe } else { 0 });
            }
            dut.tick();
        }
        assert!(met > 500, "the ports met only {met} times");
    });
}

#[test]
#[should_panic(expected = "make W = 8 * B")]
fn wrong_width_is_refused() {
    let _ = ByteRam::<4, 4, 36>::default();
}

#[test]
#[should_panic(expected = "make W a multiple of B")]
fn bytes_of_different_widths_are_refused() {
    let _ = TdpRam::<4, 4, 34>::default();
}

#[test]
#[should_panic(expected = "read latency is 1 or 2")]
fn wrong_latency_is_refused() {
    let _ = SdpRam::<4, 8>::new(RamStyle::Block, 3);
}
