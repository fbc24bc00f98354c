//! Memories against an array of words.

use crate::blocks::common::random_bytes;
use rand::Rng;
use rand_chacha::ChaCha8Rng;
use spindle_blocks::{ByteRam, LutRam, Ram1w2r, RamStyle, SdpRam, TdpRam};
use spindle_harness::{run_with_wave_on_failure, Dut};
use spindle_verilog::ports::{HasPorts, Wire};
use spindle_verilog::prelude::{Bit, Bits, In, Out};

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

/// A read port: enable, address, data.
type Read<'a, const A: usize, const W: usize> = (&'a Wire<In, Bit>, &'a Wire<In, Bits<A>>, &'a Wire<Out, Bits<W>>);

/// The ports of a memory that writes in one place: address, data, a setter of the strobe, the read ports.
struct Simple<'a, const A: usize, const W: usize> {
    address: &'a Wire<In, Bits<A>>,
    data: &'a Wire<In, Bits<W>>,
    strobe: &'a dyn Fn(u64),
    reads: &'a [Read<'a, A, W>],
}

/// One write port with strobes (or an enable), some read ports with an enable each.
fn simple<B: HasPorts, const A: usize, const W: usize, const BYTES: usize>(
    dut: &Dut<B>,
    memory: Simple<A, W>,
    rng: &mut ChaCha8Rng,
    depth: usize,
    latency: usize,
    strobes: bool,
) {
    let reads = memory.reads;
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
        memory.address.set(at);
        memory.data.set(&data);
        (memory.strobe)(strobe);
        let asked: Vec<Option<usize>> =
            reads.iter().map(|_| rng.random_bool(0.7).then(|| address(rng, depth))).collect();
        for ((enable, from, _), asked) in reads.iter().zip(&asked) {
            enable.set(asked.is_some());
            from.set(asked.unwrap_or_else(|| rng.random_range(0..depth)));
        }
        dut.eval();
        for (i, ((_, _, data), port)) in reads.iter().zip(&ports).enumerate() {
            if let Some(expected) = port.shows() {
                assert_eq!(&data.bytes(), expected, "cycle {cycle}: read port {i}");
            }
        }
        for (port, asked) in ports.iter_mut().zip(&asked) {
            port.edge(asked.map(|a| words[a].clone()));
        }
        write_bytes(&mut words[at], &data, strobe);
        dut.tick();
    }
}

/// A memory with an enable and one read port.
fn enabled<const A: usize, const W: usize, const BYTES: usize>(
    dut: &Dut<SdpRam<A, W>>,
    rng: &mut ChaCha8Rng,
    depth: usize,
    latency: usize,
) {
    let memory = Simple {
        address: &dut.write_address,
        data: &dut.write_data,
        strobe: &|strobe| dut.write_enable.set(strobe & 1 == 1),
        reads: &[(&dut.read_enable, &dut.read_address, &dut.read_data)],
    };
    simple::<_, A, W, BYTES>(dut, memory, rng, depth, latency, false);
}

/// A memory with a strobe for each byte and one read port.
fn strobed<const A: usize, const B: usize, const W: usize>(
    dut: &Dut<ByteRam<A, B, W>>,
    rng: &mut ChaCha8Rng,
    depth: usize,
    latency: usize,
) {
    let memory = Simple {
        address: &dut.write_address,
        data: &dut.write_data,
        strobe: &|strobe| dut.write_strobe.set(strobe),
        reads: &[(&dut.read_enable, &dut.read_address, &dut.read_data)],
    };
    simple::<_, A, W, B>(dut, memory, rng, depth, latency, true);
}

#[test]
fn simple_dual_port() {
    run_with_wave_on_failure("simple_dual_port", |wave| {
        let mut rng = wave.rng();
        for (style, name) in
            [(RamStyle::Block, "block"), (RamStyle::Distributed, "distributed"), (RamStyle::Ultra, "ultra")]
        {
            for latency in [1, 2] {
                let dut = Dut::new(wave, SdpRam::<5, 72>::new(style, latency), &format!("sdp_{name}_{latency}"));
                enabled::<5, 72, 9>(&dut, &mut rng, 32, latency);
            }
        }
        let dut = Dut::new(wave, SdpRam::<5, 512>::with_depth(RamStyle::Block, 1, 20), "sdp_20x512");
        enabled::<5, 512, 64>(&dut, &mut rng, 20, 1);
    });
}

#[test]
fn byte_enables() {
    run_with_wave_on_failure("byte_enables", |wave| {
        let mut rng = wave.rng();
        for latency in [1, 2] {
            let dut =
                Dut::new(wave, ByteRam::<5, 4, 32>::new(RamStyle::Block, latency), &format!("byte_ram_{latency}"));
            strobed(&dut, &mut rng, 32, latency);
        }
        let dut = Dut::new(wave, ByteRam::<4, 64, 512>::default(), "byte_ram_512");
        strobed(&dut, &mut rng, 16, 1);
    });
}

#[test]
fn one_write_two_reads() {
    run_with_wave_on_failure("one_write_two_reads", |wave| {
        let mut rng = wave.rng();
        for latency in [1, 2] {
            let dut = Dut::new(wave, Ram1w2r::<5, 576>::new(RamStyle::Block, latency), &format!("ram_1w2r_{latency}"));
            let reads = [(&dut.a_enable, &dut.a_address, &dut.a_data), (&dut.b_enable, &dut.b_address, &dut.b_data)];
            let memory = Simple {
                address: &dut.write_address,
                data: &dut.write_data,
                strobe: &|strobe| dut.write_enable.set(strobe & 1 == 1),
                reads: &reads,
            };
            simple::<_, 5, 576, 72>(&dut, memory, &mut rng, 32, latency, false);
        }
    });
}

#[test]
fn lut_ram_reads_at_once() {
    run_with_wave_on_failure("lut_ram_reads_at_once", |wave| {
        let mut rng = wave.rng();
        let dut = Dut::new(wave, LutRam::<5, 40, 3>::default(), "lut_ram_3r");
        let mut words = [[0u8; 5]; 32];
        for cycle in 0..6000 {
            let (at, data, enable) = (address(&mut rng, 32), random_bytes::<5>(&mut rng), rng.random_bool(0.6));
            dut.write_enable.set(enable);
            dut.write_address.set(at);
            dut.write_data.set_bytes(&data);
            for round in 0..2 {
                for r in 0..3 {
                    let from = address(&mut rng, 32);
                    dut.read_address[r].set(from);
                    dut.eval();
                    assert_eq!(dut.read_data[r].bytes(), words[from], "cycle {cycle}.{round}: port {r}");
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
        let dut = Dut::new(wave, TdpRam::<5, 4, 32>::default(), "tdp_ram");
        let ports = [
            (&dut.a_enable, &dut.a_address, &dut.a_strobe, &dut.a_write),
            (&dut.b_enable, &dut.b_address, &dut.b_strobe, &dut.b_write),
        ];
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
            for ((enable, address, strobe, write), work) in ports.iter().zip(&work) {
                enable.set(work.0);
                address.set(work.1);
                strobe.set(work.2);
                write.set(&work.3);
            }
            let advance: [bool; 2] = std::array::from_fn(|_| rng.random_bool(0.7));
            dut.a_advance.set(advance[0]);
            dut.b_advance.set(advance[1]);
            dut.eval();
            for (i, (read, shown)) in [&dut.a_read, &dut.b_read].into_iter().zip(&shown).enumerate() {
                if let Some(expected) = shown {
                    assert_eq!(&read.bytes(), expected, "cycle {cycle}: port {i}");
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
