//! The combiner against the model: every operation, alignment and constant.

use crate::hpu_core::fields::bits;
use hpu_core::cluster::combiner::Combiner;
use rand::Rng;
use rand_chacha::ChaCha8Rng;
use spindle_contract::memory_map::combine::{self, ADD, ADDS, ADDU, GF, MAX, MAXU, MIN, MINU};
use spindle_contract::memory_map::{COMMAND_HANDLES, HANDLE_BITS};
use spindle_harness::{run_with_wave_on_failure, Dut};
use spindle_model::combine::combine;

/// Everything but products.
const KINDS: [u32; 7] = [ADD, ADDS, ADDU, MIN, MINU, MAX, MAXU];

/// A combiner, and the piece of L1 that it writes to.
struct Bench {
    dut: Dut<Combiner>,
    rng: ChaCha8Rng,
    /// The memory, and that of the model.
    memory: Vec<u8>,
    model: Vec<u8>,
    /// L1 refuses with this chance in percent, never twice in a row.
    refuses: u32,
    refused: bool,
    /// Issuer of the command, and whether it has ended.
    issuer: (u64, u64),
    ended: bool,
    cycle: u64,
}

/// Numbers at which sums change, more often than others.
fn byte(rng: &mut ChaCha8Rng) -> u8 {
    let any = rng.random();
    [any, any, any, 0, 1, 0x7F, 0x80, 0xFF][rng.random_range(0..8)]
}

fn random(rng: &mut ChaCha8Rng, count: usize) -> Vec<u8> {
    // Whole words of ends of the range are as frequent.
    let words = [0u32, 1, 0x7FFF_FFFF, 0x8000_0000, 0xFFFF_FFFF, 0x8000, 0x7FFF, 0xFFFF];
    let mut bytes: Vec<u8> = (0..count).map(|_| byte(rng)).collect();
    for word in bytes.chunks_mut(4).filter(|word| word.len() == 4) {
        if rng.random_range(0..3) == 0 {
            word.copy_from_slice(&words[rng.random_range(0..8)].to_le_bytes());
        }
    }
    bytes
}

impl Bench {
    fn new(dut: Dut<Combiner>, rng: ChaCha8Rng) -> Self {
        let memory = vec![0x5A; 64 << 10];
        Self {
            dut,
            rng,
            model: memory.clone(),
            memory,
            refuses: 0,
            refused: false,
            issuer: (0, 0),
            ended: true,
            cycle: 0,
        }
    }

    /// One cycle, in which lanes come or not.
    fn step(&mut self, lanes: Option<(bool, &[u8])>) {
        self.dut.of_source.set(lanes.is_some_and(|lanes| !lanes.0));
        self.dut.of_destination.set(lanes.is_some_and(|lanes| lanes.0));
        let other: Vec<u8> = (0..64).map(|_| self.rng.random()).collect();
        self.dut.operand.set_bytes(lanes.map_or(&other, |lanes| lanes.1));
        let ready = self.refused || self.rng.random_range(0..100) >= self.refuses;
        self.dut.write.ready.set(ready);
        self.dut.eval();
        let writes = self.dut.write.write.is_high();
        if writes && ready {
            let (at, keep) = (64 * self.dut.write.beat.number() as usize, self.dut.write.keep.number());
            let data = self.dut.write.data.bytes();
            for i in (0..64).filter(|i| keep >> i & 1 == 1) {
                self.memory[at + i] = data[i];
            }
        }
        self.refused = writes && !ready;
        if self.dut.ended.valid.is_high() {
            assert!(!self.ended, "cycle {}: a command ends once", self.cycle);
            assert_eq!(self.dut.ended.number(), self.issuer.0 | self.issuer.1 << 3);
            assert!(self.memory == self.model, "cycle {}: its last byte is written when it ends", self.cycle);
            self.ended = true;
        }
        self.dut.tick();
        self.cycle += 1;
    }

    /// Combines a source with the bytes at an address; `gaps`: percent of cycles in which no lanes come.
    fn combine(&mut self, operation: u32, to: usize, source: &[u8], gaps: u32) {
        assert!(self.ended);
        let result = combine(operation, &self.model[to..to + source.len()], source).expect("it is legal");
        let what = format!("operation {operation:#x}, {} bytes at {to:#x}", source.len());
        let (first, end) = (to / 64, to + source.len());
        let beats = end.div_ceil(64) - first;
        let up = to.wrapping_neg() % 4;
        self.issuer = (self.rng.random_range(0..8), self.rng.random_range(0..COMMAND_HANDLES as u64));
        self.ended = false;
        self.dut.job.set_bytes(&bits(&[
            (self.issuer.0, 3),
            (self.issuer.1, HANDLE_BITS),
            (to as u64, 16),
            (beats as u64, 6),
            (end as u64 % 64, 6),
            (u64::from(operation & 0x1F), 5),
            (u64::from(operation >> 8), 8),
        ]));
        self.dut.job.valid.set(true);
        self.step(None);
        self.dut.job.valid.set(false);
        // The read DMA needs longer.
        (0..3).for_each(|_| self.step(None));
        let before = self.model.clone();
        self.model[to..end].copy_from_slice(&result);
        for i in 0..=beats {
            // Lane l is the byte of this address; others of the source hold anything.
            let address = |lane: usize| 64 * (first + i) + lane - up;
            let any = random(&mut self.rng, 64);
            let of_source: Vec<u8> = (0..64)
                .map(|lane| address(lane).checked_sub(to).and_then(|at| source.get(at)).copied().unwrap_or(any[lane]))
                .collect();
            let of_destination: Vec<u8> = (0..64).map(|lane| before[address(lane)]).collect();
            for lanes in [(false, of_source), (true, of_destination)] {
                while self.rng.random_range(0..100) < gaps {
                    self.step(None);
                }
                self.step(Some((lanes.0, &lanes.1)));
            }
        }
        (0..12).for_each(|_| self.step(None));
        assert!(self.ended, "{what}: it ends");
        let wrong = (0..self.memory.len()).find(|at| self.memory[*at] != self.model[*at]);
        assert_eq!(wrong, None, "{what}: the first wrong byte");
    }
}

#[test]
fn every_operation_at_every_byte() {
    run_with_wave_on_failure("combiner", |wave| {
        let mut rng = wave.rng();
        let mut bench = Bench::new(Dut::new(wave, Combiner::default(), "combiner"), wave.rng());
        let mut operations: Vec<u32> =
            KINDS.iter().flat_map(|kind| (0..3).map(|size| combine::operation(*kind, size))).collect();
        operations.push(combine::operation(GF, 0) | 1 << combine::CONSTANT_SHIFT);
        operations.push(combine::operation(GF, 0) | 0xA7 << combine::CONSTANT_SHIFT);
        for operation in operations {
            let size = 1 << (operation & 3);
            for offset in 0..64 {
                bench.refuses = [0, 30, 100][rng.random_range(0..3)];
                let gaps = [0, 0, 40][rng.random_range(0..3)];
                // Every length modulo 64 with every size comes at some offset; one and two elements at each.
                let to = 64 * rng.random_range(1..1000) + offset;
                let length = [size, 2 * size, size * (offset + 1), size * rng.random_range(1..160 / size + 1)]
                    [rng.random_range(0..4)];
                bench.model[to - 8..to + length + 8].copy_from_slice(&random(&mut rng, length + 16));
                bench.memory.copy_from_slice(&bench.model);
                bench.combine(operation, to, &random(&mut rng, length), gaps);
            }
            for length in (size..=64 + size).step_by(size) {
                let to = 64 * rng.random_range(1..1000) + rng.random_range(0..64);
                bench.model[to..to + length].copy_from_slice(&random(&mut rng, length));
                bench.memory.copy_from_slice(&bench.model);
                bench.combine(operation, to, &random(&mut rng, length), 0);
            }
        }
    });
}

/// 2,048 bytes in every lane of every group; with constants, every byte with every constant.
#[test]
fn every_constant_times_every_byte() {
    run_with_wave_on_failure("combiner_constants", |wave| {
        let mut rng = wave.rng();
        let mut bench = Bench::new(Dut::new(wave, Combiner::default(), "combiner"), wave.rng());
        for constant in 0..256u32 {
            let to = 64 * rng.random_range(0..900) + rng.random_range(0..64) + 64;
            let shift: u8 = rng.random();
            let source: Vec<u8> = (0..=255u8).map(|byte| byte.wrapping_mul(77).wrapping_add(shift)).collect();
            bench.combine(combine::operation(GF, 0) | constant << combine::CONSTANT_SHIFT, to, &source, 0);
        }
        // The longest ones.
        for operation in [combine::operation(ADDS, 2), combine::operation(MAX, 1), combine::operation(ADDU, 0)] {
            for to in [2048, 4097, 6207] {
                bench.model[to..to + 2048].copy_from_slice(&random(&mut rng, 2048));
                bench.memory.copy_from_slice(&bench.model);
                bench.combine(operation, to, &random(&mut rng, 2048), 0);
            }
        }
    });
}

/// Signed and unsigned ends of the range, all pairs of them, for each size.
#[test]
fn sums_at_the_ends_of_the_range() {
    run_with_wave_on_failure("combiner_ends", |wave| {
        let mut bench = Bench::new(Dut::new(wave, Combiner::default(), "combiner"), wave.rng());
        for size in 0..3 {
            let bytes = 1 << size;
            let top = 1u64 << (8 * bytes - 1);
            let ends = [0, 1, 2, top - 2, top - 1, top, top + 1, 2 * top - 2, 2 * top - 1];
            let pairs: Vec<(u64, u64)> = ends.iter().flat_map(|a| ends.map(|b| (*a, b))).collect();
            let of = |number: u64| number.to_le_bytes()[..bytes].to_vec();
            let destination: Vec<u8> = pairs.iter().flat_map(|pair| of(pair.0)).collect();
            let source: Vec<u8> = pairs.iter().flat_map(|pair| of(pair.1)).collect();
            for kind in KINDS {
                for offset in 0..4 {
                    let to = 0x1000 + 61 + offset;
                    bench.model[to..to + destination.len()].copy_from_slice(&destination);
                    bench.memory.copy_from_slice(&bench.model);
                    bench.combine(combine::operation(kind, size), to, &source, 0);
                }
            }
        }
    });
}
