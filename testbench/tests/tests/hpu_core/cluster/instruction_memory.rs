//! Instruction memory against an array of words.

use crate::hpu_core::fields::code_word;
use crate::hpu_core::processor::isa;
use crate::hpu_core::processor::units::word_of;
use hpu_core::cluster::instruction_memory::InstructionMemory;
use rand::seq::IndexedRandom;
use rand::Rng;
use rand_chacha::ChaCha8Rng;
use spindle_harness::{run_with_wave_on_failure, Dut};

#[test]
fn every_hpu_reads_while_the_host_writes() {
    run_with_wave_on_failure("instruction_memory", |wave| {
        let mut rng = wave.rng();
        let dut = Dut::new(wave, InstructionMemory::new(2, 4096), "instruction_memory");
        let table = isa::table();
        // Instructions and constants.
        let word = |rng: &mut ChaCha8Rng| match table.choose(rng) {
            Some(instruction) if rng.random_bool(0.7) => word_of(rng, instruction),
            _ => rng.random(),
        };
        let write = |at: u64, data: u32| {
            dut.imem.write.set(true);
            dut.imem.address.set(at);
            dut.imem.data.set_bytes(&code_word(data).to_le_bytes()[..5]);
        };
        // No two words are likely to be the same, so that a word names its address.
        let mut words: Vec<u32> = (0..1024).map(|_| word(&mut rng)).collect();
        for (at, word) in words.iter().enumerate() {
            write(at as u64, *word);
            dut.tick();
        }
        let mut fetched = [[None; 2]; 2];
        let mut loaded = [[None; 2]; 2];
        let mut waits = [None; 2];
        for cycle in 0..20_000u64 {
            let writes = rng.random_range(0..4) == 0;
            // Times of a few words, of which many are read while they are written, and times of all.
            let first = cycle / 64 * 16 % 1024;
            let few = cycle / 512 % 2 == 0;
            // Addresses wrap at the size of the memory.
            let address = |rng: &mut ChaCha8Rng| {
                let word = if few { first + rng.random_range(0..16) } else { rng.random_range(0..1024) };
                word + 1024 * rng.random_range(0..16)
            };
            let (at, data) = (address(&mut rng), word(&mut rng));
            write(at, data);
            dut.imem.write.set(writes);
            // A load that waits stays as it is.
            let wanted: [(u64, bool, u64, bool); 2] = std::array::from_fn(|h| {
                let (fetch, code) = (address(&mut rng), address(&mut rng));
                let (code, valid) = waits[h].unwrap_or_else(|| (code, rng.random_bool(0.7)));
                waits[h] = (valid && writes).then_some((code, valid));
                (fetch, rng.random_bool(0.7), code, valid)
            });
            for (h, (fetch, enable, code, valid)) in wanted.iter().enumerate() {
                dut.fetch[h].address.set(*fetch);
                dut.fetch[h].enable.set(*enable);
                dut.code[h].address.set(*code);
                dut.code[h].valid.set(*valid);
            }
            dut.eval();
            for (h, (fetch, enable, code, valid)) in wanted.into_iter().enumerate() {
                if let Some(word) = fetched[h][1] {
                    assert_eq!(dut.fetch[h].data.number(), code_word(word), "cycle {cycle}, HPU {h}");
                }
                if let Some(word) = loaded[h][1] {
                    assert_eq!(dut.code[h].data.number() as u32, word, "cycle {cycle}, HPU {h}");
                }
                assert_eq!(dut.code[h].ready.is_high(), !writes);
                if enable {
                    fetched[h] = [Some(words[fetch as usize % 1024]), fetched[h][0]];
                }
                loaded[h] = [(valid && !writes).then_some(words[code as usize % 1024]), loaded[h][0]];
            }
            if writes {
                words[at as usize % 1024] = data;
            }
            dut.tick();
        }
    });
}
